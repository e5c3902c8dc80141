"""
From log-odds to a probability
==============================

The log-odds are a line; the sigmoid bends it into a probability that is one half where the line is zero.

*Replays L7: "Classificazione discriminativa", la funzione sigmoide; "Classificação linear", section 6.1.*
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
# More rows, less doubt about the curve:

data = avocados()
figures.decision_regions(d.LogisticRegression().fit(data.X, data.y), data.X, data.y).show()
print(np.round(d.LogisticRegression().fit(data.X, data.y).coef_, 3))
