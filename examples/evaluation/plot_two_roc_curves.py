"""
Which classifier ranks better?
==============================

All thresholds at once: the share of positives found against the share of negatives taken for them. The area
under the curve is the probability that a positive row stands above a negative one.

*Replays E5: "Classificação linear", section 7.7.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

given = worked_example("two-roc-curves").given
curves = {name: d.roc(given["y"], given[name]) for name in "AB"}
print({name: round(curve.auc, 4) for name, curve in curves.items()})
figures.roc_curve(curves).show()

# %%
# Costs choose a threshold: missing a positive is five times as bad here.

figures.cost_curve(curves["A"], cost_fn=5).show()
