"""
Rejection and the risk-coverage curve
=====================================

Rows near the boundary are misclassified nearly half of the time. The risk-coverage curve shows the error rate
of the accepted rows when uncertain ones are rejected.

*Reproduces D5: an action "abstain" with its cost. The figure is not in the notes.*
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import discriminant as d
from discriminant import figures

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
columns = ["mean radius", "mean texture", "mean smoothness"]
X, X_new, y, y_new = train_test_split(X[columns], y, test_size=0.5, random_state=0)
model = d.LinearDiscriminantAnalysis().fit(X, y)
decision = d.Decision(reject_cost=0.1)
action = decision.decide(d.posterior(model, X_new))
print({str(kind): int((action == kind).sum()) for kind in sorted(set(action.tolist()), key=str)})

# %%
# The error rate of the accepted rows decreases as more uncertain rows are rejected.

figures.risk_coverage(d.risk_coverage(y_new, model.predict_proba(X_new))).show()
