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
from discriminant.datasets import worked_example

example = worked_example("bayesian-lda")
X, y = np.array(example.given["X"]), np.array(example.given["y"])
plug_in = d.LinearDiscriminantAnalysis().fit(X, y)
figures.decision_regions(plug_in, X, y).show()

# %%
# The same six rows with their parameters integrated out:

bayesian = d.BayesianLinearDiscriminantAnalysis().fit(X, y)
figures.decision_regions(bayesian, X, y).show()
for model in (plug_in, bayesian):
    print(type(model).__name__, "at 4.5:", model.predict_proba(example.given["point"]).round(4)[0])
print("expected of the first class:", dict(example.numbers))

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
