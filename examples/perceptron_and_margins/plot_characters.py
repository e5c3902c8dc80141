"""
Reading letters with 400 photocells
===================================

Rosenblatt's machine looked at letters through 20 x 20 photocells. These are made anew; a perceptron for each
letter against the rest reads most of them, and its weights can be looked at.

*Replays L1 and C1: "Clasificadores discriminativos básicos", el perceptrón.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import characters

train, test = characters(1000), characters(200, random_state=1)
figures.images(train.X[:10], (20, 20), train.y[:10]).show()

# %%
model = d.Perceptron(max_iter=50).fit(train.X, train.y)
print(f"new letters read: {model.score(test.X, test.y):.1%}")

# %%
# What each perceptron looks for (orange) and what speaks against its letter (blue):

figures.images(model.coef_, (20, 20), model.classes_).show()
