"""
Model comparison
================

Models are compared on held-out data, with confidence intervals and a correction for the selection of the best model.
For rare classes, precision and recall are more informative than the ROC curve.

*Not in the notes; on E5 and E6.*
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
# Performance of one model on held-out data:

held_out = found.cross_validation.evaluation("ridge")
figures.precision_recall_curve(held_out.precision_recall).show()
