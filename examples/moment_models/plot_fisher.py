"""
Fisher's discriminant
=====================

Projected onto the difference of the means, these elongated classes overlap. Fisher's direction maximises the
ratio of between-class to within-class variance.

*Reproduces G6: "Classificação linear", section 5.*
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
# Least squares with the targets N/N1 and -N/N2 gives the same direction.

n = len(data.y)
first = data.y == "first"
target = np.where(first, -n / first.sum(), n / (~first).sum())
coef = np.linalg.lstsq(np.column_stack((np.ones(n), data.X)), target, rcond=None)[0][1:]
print("ratio of coefficients:", (coef / fisher.coef_[0]).round(6))

# %%
figures.projected_histograms(fisher, data.X, data.y).show()
