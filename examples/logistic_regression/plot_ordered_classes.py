"""
Ordered classes
===============

The severity of a disease depends on age. The proportional odds model has one coefficient and a threshold between each
pair of neighbouring classes; the probability of the middle class rises and then falls with age.

*Not in the notes; on L7 and L8.*
"""

import numpy as np
import pandas as pd

import discriminant as d
from discriminant import figures

rng = np.random.default_rng(0)
age = rng.uniform(20, 80, 500)
severity = np.digitize(0.1 * (age - 50) + rng.logistic(size=500), [-1.5, 1.5])
y = pd.Categorical.from_codes(severity, ["mild", "moderate", "severe"], ordered=True)
model = d.OrdinalLogisticRegression().fit(pd.DataFrame({"age": age}), y)
print(model.summary())

# %%
curves = model.category_curves("age")
figures.category_curves(curves).show()

# %%
# The cumulative probabilities have the same shape, shifted by the thresholds.
figures.category_curves(curves, cumulative=True).show()

# %%
# Brant's test of the assumption that the lines are parallel on the scale of the log-odds:
print(model.parallel_lines_test("brant"))
