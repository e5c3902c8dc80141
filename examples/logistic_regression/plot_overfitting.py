"""
Underfitting and overfitting
============================

The true boundary is a parabola, and some labels are wrong. A line underfits; a polynomial of degree six
overfits: its training error falls to 0 while its error on test data increases.

*Reproduces L10 and E6: "Classificação linear", section 6.1.2, figure on overfitting.*
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import discriminant as d
from discriminant import figures
from discriminant.datasets import curved

data = curved(80)
found = d.degree_curve(d.LogisticRegression(alpha=1e-8), data.X, data.y)
print(found)
figures.degree_curve(found).show()

# %%
# Degree 2, the true model:


def polynomial(degree):
    """Logistic regression on all products of the columns up to a degree."""
    return make_pipeline(PolynomialFeatures(degree), StandardScaler(), d.LogisticRegression(alpha=1e-8))


figures.decision_regions(polynomial(2).fit(data.X, data.y), data.X, data.y).show()

# %%
# Degree 6:

figures.decision_regions(polynomial(6).fit(data.X, data.y), data.X, data.y).show()
