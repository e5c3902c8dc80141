"""
The same posterior, another population
======================================

A model learned where one class in five was positive is used where it is one in fifty. Its densities stay
right, its priors do not: what changes is the threshold.

*Our own: a decision that changes with the priors (D2).*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals

data = crossed_normals()
model = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
decisions = {
    f"{share:.0%} are of the second class": d.Decision(priors={"first": 1 - share, "second": share})
    for share in (0.5, 0.2, 0.02)
}
figures.moving_boundary(model, data.X, data.y, decisions).show()

# %%
# Where the new shares are not known, they can be estimated from unlabelled rows, by EM.

rng = np.random.default_rng(0)
kept = (data.y == "first") | (rng.random(len(data.y)) < 0.1)
print(d.estimate_priors(d.posterior(model, data.X[kept])))
print(f"true share of the second class: {np.mean(data.y[kept] == 'second'):.3f}")
