"""
The perceptron learns AND
=========================

From w = 0 and b = 0 the four rows are taken in turn; a row on the wrong side pulls the line towards itself.
With sign(0) = 1 it takes eleven updates to w = (2, 1), b = -3.

*Replays L1: "Clasificadores discriminativos básicos", algoritmo de entrenamiento de Rosenblatt.*
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
# Step by step, by the first rule (press play):

model = d.Perceptron(trace=True).fit(data.X, data.y)
figures.perceptron_trace(model, data.X, data.y).show()
