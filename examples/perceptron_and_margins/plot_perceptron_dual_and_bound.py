"""
Who taught the perceptron, and how long it may take
===================================================

In the dual form a row keeps count of the updates it caused, and w is the sum of the rows by these counts.
Their number can never exceed R² / γ²: the longest row over the widest margin.

*Replays L2 and L3: "Classificazione discriminativa", forma duale del percettrone; "Clasificadores
discriminativos básicos", análisis de convergencia.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

data = worked_example("or-perceptron").given["data"]
primal = d.Perceptron().fit(data.X, data.y)
dual = d.Perceptron(form="dual").fit(data.X, data.y)
print("alpha:", dual.alpha_, " w from it:", (dual.alpha_ * data.y) @ data.X, " w of the primal:", primal.coef_[0])

# %%
# The certificate:

print(primal.certificate())

# %%
figures.boundary(primal, data.X, data.y).show()
