"""
Log-odds and the sigmoid
========================

The log-odds are linear; the sigmoid maps them to a probability, which is 0.5 where the log-odds are 0.

*Reproduces L7: "Classificazione discriminativa", la funzione sigmoide; "Classificação linear", section 6.1.*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import avocados, six_rows

data = six_rows()
model = d.LogisticRegression().fit(data.X, data.y)
print(
    f"log-odds {model.intercept_[0]:.3f} + {model.coef_[0, 0]:.3f} x; sum of y {data.y.sum()}, "
    f"sum of probabilities {model.predict_proba(data.X)[:, 1].sum():.6f}"
)
figures.decision_regions(model, data.X, data.y).show()

# %%
# With more rows the curve is estimated more precisely:

data = avocados()
figures.decision_regions(d.LogisticRegression().fit(data.X, data.y), data.X, data.y).show()
print(np.round(d.LogisticRegression().fit(data.X, data.y).coef_, 3))
