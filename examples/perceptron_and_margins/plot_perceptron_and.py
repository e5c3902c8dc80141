"""
Perceptron for AND
==================

The perceptron starts at w = 0, b = 0 and visits the four rows in turn; each misclassified row moves the line. With
sign(0) = 1 there are eleven updates, to w = (2, 1), b = -3.

*Reproduces L1: "Clasificadores discriminativos básicos", algoritmo de entrenamiento de Rosenblatt.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("and-perceptron")
data = example.given["data"]
for rule in ("sign", "nonpositive"):
    model = d.Perceptron(rule=rule, trace=True).fit(data.X, data.y)
    print(f"{rule}: {model.updates_} updates to w = {model.coef_[0]}, b = {model.intercept_[0]}")

# %%
# The updates with the first rule (press play):

model = d.Perceptron(trace=True).fit(data.X, data.y)
figures.perceptron_trace(model, data.X, data.y).show()
