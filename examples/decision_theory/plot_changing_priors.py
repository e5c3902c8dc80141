"""
Prior shift
===========

A model trained with 20 % positive rows is applied to a population with 2 %. The class densities remain correct, but
the priors do not, so the threshold changes.

*Not in the notes: a decision that changes with the priors (D2).*
"""

import numpy as np

import discriminant as d
from discriminant import figures
from discriminant.datasets import crossed_normals

data = crossed_normals()
model = d.LinearDiscriminantAnalysis().fit(data.X, data.y)
decisions = {
    f"prior of the second class {share:.0%}": d.Decision(priors={"first": 1 - share, "second": share})
    for share in (0.5, 0.2, 0.02)
}
figures.moving_boundary(model, data.X, data.y, decisions).show()

# %%
# Unknown priors of the target population can be estimated from unlabelled rows by EM.

rng = np.random.default_rng(0)
kept = (data.y == "first") | (rng.random(len(data.y)) < 0.1)
print(d.estimate_priors(d.posterior(model, data.X[kept])))
print(f"true share of the second class: {np.mean(data.y[kept] == 'second'):.3f}")
