"""
Distances from a hyperplane
===========================

w is the normal of the hyperplane w'x + b = 0, ``g(x) / |w|`` is the signed distance of x, and ``|b| / |w|``
that of the origin.

*Reproduces geometry: "Classificação linear", section 2.1.*
"""

import numpy as np
from sklearn.datasets import load_iris

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

example = worked_example("hyperplane")
line = d.LinearClassifier(example.given["coef"], example.given["intercept"])
print("distance of the origin", line.origin_distance, " of (5, 5):", line.distance([example.given["point"]])[0])

# %%
# With three columns it is a plane:

X, y = load_iris(return_X_y=True)
X, y = X[50:, [0, 2, 3]], np.array(["versicolor", "virginica"])[y[50:] - 1]
figures.hyperplane(d.LinearDiscriminantAnalysis().fit(X, y), X, y).show()
