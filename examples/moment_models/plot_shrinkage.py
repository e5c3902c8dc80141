"""
Shrinkage of the covariance
===========================

With few rows and many columns, the estimate of the covariance has a high variance. Shrinkage towards a multiple of the
identity reduces the error rate; the cross-validated likelihood selects the amount of shrinkage.

*Not in the notes; on G2.*
"""

import numpy as np

import discriminant as d
from discriminant import figures

rng = np.random.default_rng(0)
p, shift = 30, np.r_[np.full(5, 0.9), np.zeros(25)]


def drawn(n):
    """Rows of two normal classes that differ in five of thirty columns."""
    y = np.arange(n) % 2
    return rng.normal(size=(n, p)) + np.outer(y, shift), y


X, y = drawn(50)
held_X, held_y = drawn(5_000)
models = {
    "no shrinkage": d.LinearDiscriminantAnalysis(),
    "cross-validated": d.LinearDiscriminantAnalysis(shrinkage="cv"),
    "Ledoit-Wolf": d.LinearDiscriminantAnalysis(shrinkage="ledoit-wolf"),
}
found = {name: d.evaluate(model.fit(X, y), held_X, held_y) for name, model in models.items()}
for name, one in found.items():
    print(f"{name}: shrinkage {models[name].shrinkage_:.2f}. {one.headline}")

# %%
figures.roc_curve({name: one.roc for name, one in found.items()}).show()

# %%
# Without shrinkage, the probabilities from 50 rows are overconfident:

figures.calibration_curve(found["no shrinkage"].calibration).show()

# %%
figures.calibration_curve(found["cross-validated"].calibration).show()
