"""
Which model, and by how much?
=============================

Models compared on rows they have not seen, with an interval for every figure, and a winner that is corrected for
having been chosen. Rare positives are better judged by precision and recall than by the ROC curve.

*Our own, on E5 and E6.*
"""

from sklearn.datasets import load_breast_cancer

import discriminant as d
from discriminant import figures

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
columns = ["mean radius", "mean texture", "mean smoothness", "mean concavity"]
models = {
    "LDA": d.LinearDiscriminantAnalysis(),
    "QDA": d.QuadraticDiscriminantAnalysis(),
    "ridge": d.LogisticRegressionCV(),
}
found = d.compare(models, X[columns], y, random_state=0)
print(found)
figures.comparison(found).show()

# %%
# What one of them said of the rows held out:

held_out = found.cross_validation.evaluation("ridge")
figures.precision_recall_curve(held_out.precision_recall).show()
