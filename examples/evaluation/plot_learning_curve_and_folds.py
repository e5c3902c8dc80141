"""
Cross-validation and learning curves
====================================

Training accuracy is optimistic. Cross-validation estimates the error rate on held-out data, and the learning
curve shows whether more training rows would help.

*Reproduces E6 and D7: "Classificação linear", section 6.1.2; "Clasificadores discriminativos básicos", tipos de
errores.*
"""

from sklearn.datasets import load_breast_cancer

import discriminant as d
from discriminant import figures

X, y = load_breast_cancer(return_X_y=True)
model = d.QuadraticDiscriminantAnalysis()
found = d.cross_validate(model, X, y, train_scores=True)
print(found)

# %%
figures.learning_curve(d.learning_curve(model, X, y)).show()
