"""
Comparison of ROC curves
========================

An ROC curve shows the true positive rate against the false positive rate over all thresholds. The area under it
is the probability that a positive row has a higher score than a negative one.

*Reproduces E5: "Classificação linear", section 7.7.*
"""

import discriminant as d
from discriminant import figures
from discriminant.datasets import worked_example

given = worked_example("two-roc-curves").given
curves = {name: d.roc(given["y"], given[name]) for name in "AB"}
print({name: round(curve.auc, 4) for name, curve in curves.items()})
figures.roc_curve(curves).show()

# %%
# Costs determine the optimal threshold; here a false negative costs five times as much as a false positive.

figures.cost_curve(curves["A"], cost_fn=5).show()
