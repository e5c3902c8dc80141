"""
XOR: no line, and the proof
===========================

The four corners of a square, opposite ones of the same class. No line has them on its two sides, and that can be
shown: the centre of the square lies halfway between the two rows of either class. A product of the two columns makes
them separable.

*Replays L4: "Clasificadores discriminativos básicos", El perceptrón; "Classificazione discriminativa", separabilità
lineare.*
"""

import warnings

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import logic_gate

xor = logic_gate("xor")
print(d.linear_separability(xor.X, xor.y))

# %%
# The perceptron goes on for ever: on four rows it is soon seen to run in a circle.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    walking = d.Perceptron(trace=True, max_iter=50).fit(xor.X, xor.y)
print(said[0].message)
figures.perceptron_trace(walking, xor.X, xor.y, frames=12).show()

# %%
# With the product of the columns as a third one a plane does it:

more = np.column_stack((xor.X, xor.X.prod(axis=1)))
print(d.linear_separability(more, xor.y).separable)
figures.hyperplane(d.SupportVectorClassifier("hard").fit(more, xor.y), more, xor.y).show()
