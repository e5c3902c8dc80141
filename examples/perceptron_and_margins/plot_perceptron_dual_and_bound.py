"""
Dual form and convergence bound of the perceptron
=================================================

In the dual form each row counts the updates that it has caused, and w is the sum of the rows weighted by these
counts and the labels. The number of updates is at most R² / γ², where R is the largest norm of a row and γ the
distance of the nearest row from the maximum-margin hyperplane.

*Reproduces L2 and L3: "Classificazione discriminativa", forma duale del percettrone; "Clasificadores
discriminativos básicos", análisis de convergencia.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

data = worked_example("or-perceptron").given["data"]
primal = d.Perceptron().fit(data.X, data.y)
dual = d.Perceptron(form="dual").fit(data.X, data.y)
print("alpha:", dual.alpha_, " w of the dual:", (dual.alpha_ * data.y) @ data.X, " w of the primal:", primal.coef_[0])

# %%
# The convergence bound:

print(primal.certificate())

# %%
figures.boundary(primal, data.X, data.y).show()
