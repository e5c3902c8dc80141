"""
The reference class of multinomial logistic regression
======================================================

The model with K - 1 log-odds against a reference class and the softmax with one score fixed at 0 are the same:
another reference class changes the coefficients, but not the probabilities.

*Reproduces L9: "Clasificadores discriminativos básicos", múltiples clases; "Modelos de clasificación lineales",
section II.*
"""

import numpy as np
from sklearn.datasets import load_iris

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

odds = worked_example("softmax")
print("log-odds", odds.given["log-odds"], "-> probabilities", np.round(odds.numbers["posterior"], 4))

# %%
X, y = load_iris(return_X_y=True)
X, y = X[:, :2], np.array(["setosa", "versicolor", "virginica"])[y]
first, last = (d.LogisticRegression(alpha=1e-3, reference=label).fit(X, y) for label in ("setosa", "virginica"))
print("largest difference of probabilities:", np.abs(first.predict_proba(X) - last.predict_proba(X)).max().round(12))

# %%
figures.decision_regions(last, X, y).show()
