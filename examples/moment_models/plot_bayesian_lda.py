"""
What would a Bayesian LDA do?
=============================

LDA puts estimates in the place of means and covariance, as if they were known. A Bayesian integrates them out: classes
have multivariate t densities, wider the fewer rows they have. On six rows it is less sure of itself; on six hundred it
is LDA.

*Replays G2: "Modelos de clasificación lineales", section I.B, Discusión.*
"""

import numpy as np

import discriminant as d
from discriminant import figures

X, y = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0])[:, None], np.repeat(["a", "b"], 3)
plug_in = d.LinearDiscriminantAnalysis().fit(X, y)
figures.decision_regions(plug_in, X, y).show()

# %%
# The same six rows with their parameters integrated out:

bayesian = d.BayesianLinearDiscriminantAnalysis().fit(X, y)
figures.decision_regions(bayesian, X, y).show()
print("at 4.5:", plug_in.predict_proba([[4.5]]).round(3), bayesian.predict_proba([[4.5]]).round(3))

# %%
# Log-loss of rows not seen, four columns, mean of 40 draws of the training rows:

rng = np.random.default_rng(1)


def drawn(n):
    """Rows of two normal classes in four columns."""
    y = np.arange(n) % 2
    return rng.normal(size=(n, 4)) + 1.2 * y[:, None], y


held_X, held_y = drawn(2_000)
for n in (8, 12, 20, 50, 600):
    losses = []
    for _ in range(40):
        rows = drawn(n)
        for kind in (d.LinearDiscriminantAnalysis, d.BayesianLinearDiscriminantAnalysis):
            log = kind().fit(*rows).predict_log_proba(held_X)
            losses.append(-log[np.arange(2_000), held_y].mean())
    plug_in_loss, bayesian_loss = np.reshape(losses, (-1, 2)).mean(axis=0)
    print(f"{n:>4} rows: LDA {plug_in_loss:.3f}, Bayesian {bayesian_loss:.3f}")
