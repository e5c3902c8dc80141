"""
LDA and QDA
===========

With a common covariance the log-odds are linear. With a covariance for each class they are quadratic, and the
boundary curves around the class with the smaller variance.

*Reproduces G2 and G3: "Modelos de clasificación lineales", LDA and QDA.*
"""

import numpy as np

import discriminant as d
from discriminant import figures

rng = np.random.default_rng(0)
covariances = ([[1, 0], [0, 1]], [[3, 1.5], [1.5, 1]], [[0.3, 0], [0, 3]])
X = np.concatenate(
    [rng.multivariate_normal(m, c, 100) for m, c in zip([(0, 0), (4, 2), (-3, 3)], covariances, strict=True)]
)
y = np.repeat(["round", "long", "tall"], 100)
figures.decision_regions(d.LinearDiscriminantAnalysis().fit(X, y), X, y).show()

# %%
# With a covariance for each class:

qda = d.QuadraticDiscriminantAnalysis().fit(X, y)
figures.decision_regions(qda, X, y).show()
