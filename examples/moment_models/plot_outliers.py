"""
Rows that are too correct
=========================

Ten rows of the second class lie far away on their own side. Squared error punishes them for being so right,
and turns the boundary into the first class; the likelihood does not care.

*Replays G1 and L11: "Classificação linear", sections 3 and 6.2.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

data = worked_example("far-rows").given["data"]
squares = d.LeastSquaresClassifier().fit(data.X, data.y)
figures.boundary(squares, data.X, data.y).show()

# %%
# Logistic regression, with a weak penalty because a line separates these classes:

logistic = d.LogisticRegression(alpha=1e-3).fit(data.X, data.y)
figures.boundary(logistic, data.X, data.y).show()
for model in (squares, logistic):
    print(type(model).__name__, (model.predict(data.X) != data.y).sum(), "rows wrong")
