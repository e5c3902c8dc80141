"""
Outliers on the correct side
============================

Ten rows of the second class are far from the boundary on the correct side. The squared error penalises them and
shifts the boundary; logistic regression is hardly affected.

*Reproduces G1 and L11: "Classificação linear", sections 3 and 6.2.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

data = worked_example("far-rows").given["data"]
squares = d.LeastSquaresClassifier().fit(data.X, data.y)
figures.boundary(squares, data.X, data.y).show()

# %%
# Logistic regression, with a weak penalty because the classes are linearly separable:

logistic = d.LogisticRegression(alpha=1e-3).fit(data.X, data.y)
figures.boundary(logistic, data.X, data.y).show()
for model in (squares, logistic):
    print(type(model).__name__, (model.predict(data.X) != data.y).sum(), "errors")
