"""
A model that can dream
======================

A generative model knows how rows come about, so it can make new ones: here of tumours, from normal classes
that are independent column by column, and from normal classes that are not.

*Replays G8 and G9: "Classificação linear", section 4.4; "Clasificadores discriminativos básicos",
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
# Rows drawn from both models: the naive one has lost that long petals are wide.

for model in (naive, full):
    drawn, labels = model.sample(2000, random_state=0)
    own = drawn[labels == "virginica"]
    print(type(model).__name__, "correlation of drawn petals:", np.corrcoef(own.T)[0, 1].round(2))
print("of real ones:", np.corrcoef(X[y == "virginica"].T)[0, 1].round(2))

# %%
figures.decision_regions(full, X, y).show()
