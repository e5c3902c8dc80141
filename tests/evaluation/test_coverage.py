"""Intervals of 95 % hold the true value in about 95 % of samples."""

from collections import Counter

import numpy as np
import pytest
from scipy import integrate, stats

from discriminant.evaluation import evaluation_of

SHIFT, PRIOR, N = 1.5, 0.4, 250
REPLICATIONS = 2_000
OTHER, OWN = stats.norm(0, 1), stats.norm(SHIFT, 1)


def posterior(x):
    """The probability of class 1 at x by Bayes's rule."""
    return 1 / (1 + (1 - PRIOR) / PRIOR * np.exp(-SHIFT * x + SHIFT**2 / 2))


def true_values():
    """The measures in the population, by quadrature."""
    threshold = SHIFT / 2 + np.log((1 - PRIOR) / PRIOR) / SHIFT
    tp, fp = PRIOR * OWN.sf(threshold), (1 - PRIOR) * OTHER.sf(threshold)
    agreement, called = tp + 1 - PRIOR - fp, tp + fp
    by_chance = PRIOR * called + (1 - PRIOR) * (1 - called)

    def loss(x):
        p = posterior(x)
        return -PRIOR * OWN.pdf(x) * np.log(p) - (1 - PRIOR) * OTHER.pdf(x) * np.log1p(-p)

    def precision(x):
        true, false = PRIOR * OWN.sf(x), (1 - PRIOR) * OTHER.sf(x)
        return OWN.pdf(x) * true / (true + false)

    return {
        "accuracy": agreement,
        "auc": stats.norm.cdf(SHIFT / np.sqrt(2)),
        "kappa": (agreement - by_chance) / (1 - by_chance),
        "f1": 2 * tp / (called + PRIOR),
        "log_loss": integrate.quad(loss, -10, 12)[0],
        "average_precision": integrate.quad(precision, -8, 8)[0],
    }


def sampled_cluster(rng, n_clusters, size):
    """Rows in clusters that share their class and half of their noise."""
    y = np.repeat(rng.random(n_clusters) < PRIOR, size)
    noise = np.sqrt(0.5) * (np.repeat(rng.normal(size=n_clusters), size) + rng.normal(size=n_clusters * size))
    return y.astype(int), SHIFT * y + noise, np.repeat(np.arange(n_clusters), size)


def measured(evaluation):
    return {
        name: evaluation[("f1", 1) if name == "f1" else name]
        for name in ("accuracy", "auc", "kappa", "f1", "log_loss", "average_precision")
    }


def covered(replications, make):
    truth, hits = true_values(), Counter()
    for r in range(replications):
        for name, found in measured(make(np.random.default_rng(r))).items():
            hits[name] += found.low <= truth[name] <= found.high
    return {name: hits[name] / replications for name in truth}


@pytest.mark.slow
def test_intervals_of_independent_rows_cover():
    def make(rng):
        y = (rng.random(N) < PRIOR).astype(int)
        return evaluation_of(y, posterior=posterior(rng.normal(size=N) + SHIFT * y), random_state=rng)

    for name, share in covered(REPLICATIONS, make).items():
        assert 0.93 < share < 0.97, (name, share)


@pytest.mark.slow
def test_intervals_of_clusters_cover_where_those_of_rows_do_not():
    def make(rng):
        y, x, groups = sampled_cluster(rng, 80, 4)
        return evaluation_of(y, posterior=posterior(x), groups=groups)

    def wrong(rng):
        y, x, _ = sampled_cluster(rng, 80, 4)
        return evaluation_of(y, posterior=posterior(x), random_state=rng)

    for name, share in covered(1_000, make).items():
        assert 0.925 < share < 0.975, (name, share)
    assert max(covered(200, wrong).values()) < 0.9
