"""
Perfect separation
==================

If a line separates the classes, the likelihood has no maximum and the coefficients diverge. The fit reports
this; Firth's penalised likelihood and LDA have finite estimates.

*Reproduces L11: "Modelos de clasificación lineales", diferencias entre LDA y logistic regression.*
"""

import warnings

import discriminant as d
from discriminant import figures
from discriminant.datasets import far_rows

data = far_rows(far=0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    d.LogisticRegression().fit(data.X, data.y)
print(caught[0].message)

# %%
firth = d.LogisticRegression(firth=True).fit(data.X, data.y)
print("Firth:", firth.coef_.round(2), " LDA:", d.LinearDiscriminantAnalysis().fit(data.X, data.y).coef_.round(2))
figures.coefficients(firth).show()
