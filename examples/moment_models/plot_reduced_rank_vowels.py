"""
Reduced-rank LDA
================

The data are eleven vowels in ten dimensions. The discriminant directions with the largest between-class variance
separate the classes best. On new speakers, two directions have a lower error rate than all ten.

*Reproduces G5 and G7: "Modelos de clasificación lineales", reduced rank LDA; data of Hastie, Tibshirani and
Friedman, section 4.3.3.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import vowels

train, test = vowels("train"), vowels("test")
model = d.LinearDiscriminantAnalysis().fit(train.X, train.y)
print("proportion of trace:", model.explained_variance_ratio_.round(3))

# %%
# The error rate with 1 to 10 directions, on training and test speakers:

for rank in range(1, 11):
    few = d.LinearDiscriminantAnalysis(rank=rank).fit(train.X, train.y)
    print(f"{rank:2d} directions: {1 - few.score(train.X, train.y):.3f} and {1 - few.score(test.X, test.y):.3f}")

# %%
# The first two directions:

figures.decision_regions(model, train.X, train.y).show()
