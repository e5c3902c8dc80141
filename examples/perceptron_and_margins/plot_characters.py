"""
Character recognition with the perceptron
=========================================

Rosenblatt's machine recognised letters with 20 x 20 photocells. In this example the letters are simulated. A
one-vs-rest perceptron recognises most of them, and its weights are shown as images.

*Reproduces L1 and C1: "Clasificadores discriminativos básicos", el perceptrón.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import characters

train, test = characters(1000), characters(200, random_state=1)
figures.images(train.X[:10], (20, 20), train.y[:10]).show()

# %%
model = d.Perceptron(max_iter=50).fit(train.X, train.y)
print(f"test accuracy: {model.score(test.X, test.y):.1%}")

# %%
# Positive weights (orange) and negative weights (blue) of each perceptron:

figures.images(model.coef_, (20, 20), model.classes_).show()
