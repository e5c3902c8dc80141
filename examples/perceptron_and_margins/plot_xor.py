"""
XOR is not linearly separable
=============================

The corners of a square, with opposite corners in the same class, are not linearly separable, because the centre of
the square is the midpoint of the two rows of either class. The product of the two columns as a third column makes
them separable.

*Reproduces L4: "Clasificadores discriminativos básicos", El perceptrón; "Classificazione discriminativa",
separabilità lineare.*
"""

import warnings

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import logic_gate

xor = logic_gate("xor")
print(d.linear_separability(xor.X, xor.y))

# %%
# The perceptron does not converge; on four rows its cycle is detected early.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = d.Perceptron(trace=True, max_iter=50).fit(xor.X, xor.y)
print(caught[0].message)
figures.perceptron_trace(model, xor.X, xor.y, frames=12).show()

# %%
# With the product of the columns as a third column, a plane separates the classes:

more = np.column_stack((xor.X, xor.X.prod(axis=1)))
print(d.linear_separability(more, xor.y).separable)
figures.hyperplane(d.SupportVectorClassifier("hard").fit(more, xor.y), more, xor.y).show()
