"""
Bayesian LDA
============

LDA treats estimated means and covariances as if they were known. Bayesian LDA integrates over their posterior
distribution: class densities become multivariate t distributions, which are wider with fewer rows. With six rows its
probabilities are less extreme; with six hundred they are nearly those of LDA.

*Reproduces G2: "Modelos de clasificación lineales", section I.B, Discusión.*
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
# The same six rows with parameters integrated out:

bayesian = d.BayesianLinearDiscriminantAnalysis().fit(X, y)
figures.decision_regions(bayesian, X, y).show()
for model in (plug_in, bayesian):
    print(type(model).__name__, "at 4.5:", model.predict_proba(example.given["point"]).round(4)[0])
print("expected for the first class:", dict(example.numbers))

# %%
# Held-out log-loss with four columns, mean of 40 random training sets:

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
