"""
Sampling from generative models
===============================

A generative model defines the distribution of rows, so new rows can be sampled, in this example irises from Gaussian
naive Bayes and from QDA.

*Reproduces G8 and G9: "Classificação linear", section 4.4; "Clasificadores discriminativos básicos",
clasificadores generativos.*
"""

import numpy as np
from sklearn.datasets import load_iris

import discriminant as d
from discriminant import figures

X, y = load_iris(return_X_y=True)
X, y = X[:, 2:], np.array(["setosa", "versicolor", "virginica"])[y]
naive, full = d.GaussianNB().fit(X, y), d.QuadraticDiscriminantAnalysis().fit(X, y)
figures.decision_regions(naive, X, y).show()

# %%
# Samples from both models: naive Bayes does not reproduce the correlation of petal length and width.

for model in (naive, full):
    drawn, labels = model.sample(2000, random_state=0)
    own = drawn[labels == "virginica"]
    print(type(model).__name__, "correlation of sampled petals:", np.corrcoef(own.T)[0, 1].round(2))
print("of the data:", np.corrcoef(X[y == "virginica"].T)[0, 1].round(2))

# %%
figures.decision_regions(full, X, y).show()
