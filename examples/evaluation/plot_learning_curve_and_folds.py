"""
Held-out rows tell the truth
============================

On the rows it has learned from, a model flatters itself. Held out in turn, every row judges once; the
learning curve says whether more rows would help.

*Replays E6 and D7: "Classificação linear", section 6.1.2; "Clasificadores discriminativos básicos", tipos de
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
