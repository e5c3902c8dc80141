"""
Why Fisher divides by the spread
================================

Projected on the line between their means, these classes overlap: they are long in that direction. Fisher's
direction weighs the distance of the means by the spread within the classes.

*Replays G6: "Classificação linear", section 5.*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals

data = crossed_normals()
means = d.MinimumDistance().fit(data.X, data.y)
fisher = d.FisherDiscriminant().fit(data.X, data.y)
figures.projections({"difference of means": means, "Fisher": fisher}, data.X, data.y).show()

# %%
# The same direction comes from least squares with the targets N/N1 and -N/N2.

n = len(data.y)
first = data.y == "first"
target = np.where(first, -n / first.sum(), n / (~first).sum())
coef = np.linalg.lstsq(np.column_stack((np.ones(n), data.X)), target, rcond=None)[0][1:]
print("ratio of coefficients:", (coef / fisher.coef_[0]).round(6))

# %%
figures.projected_histograms(fisher, data.X, data.y).show()
