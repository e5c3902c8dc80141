"""
Regularisation path
===================

With an L1 penalty, columns enter the model one after the other as the penalty decreases. Cross-validation selects the
penalty strength.

*Reproduces L10: "Classificação linear", section 6.1.2.*
"""

from sklearn.datasets import load_breast_cancer

import discriminant as d
from discriminant import figures

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
path = d.LogisticRegressionPath(l1_ratio=1.0, n_alphas=40).fit(X, y)
chosen = d.LogisticRegressionCV(l1_ratio=1.0, n_alphas=40, random_state=0).fit(X, y)
print(f"selected alpha {chosen.alpha_:.4g}, selected columns {int((chosen.coef_ != 0).sum())} of {X.shape[1]}")
figures.regularisation_path(path, chosen, most=6).show()
