"""The intervals of the studies are those of an evaluation; those of clusters and bootstrapped ones cover."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit
from tests.studies.evaluation import MEASURES, PRIOR, log_odds, sample_intervals, true_values

from discriminant.evaluation import evaluation_of

SHIFT, N = 1.5, 250


def sample(rng, n=N):
    y = rng.random(n) < PRIOR
    return y.astype(int), expit(log_odds(rng.normal(size=n) + SHIFT * y, SHIFT))


def of_measures(evaluation, names):
    return {name: evaluation[("f1", 1) if name == "f1" else name] for name in names}


def test_simulated_intervals_are_those_of_an_evaluation():
    y, p = sample(np.random.default_rng(0))
    found, true_error = sample_intervals(y, p, p)
    assert true_error == 0
    for name, estimate in of_measures(evaluation_of(y, posterior=p), MEASURES).items():
        assert (estimate.low, estimate.high) == pytest.approx(tuple(found[name].within(0, np.inf)), rel=1e-12), name


def sampled_cluster(rng, n_clusters, size):
    """Rows in clusters that share their class and half of their noise."""
    y = np.repeat(rng.random(n_clusters) < PRIOR, size)
    noise = np.sqrt(0.5) * (np.repeat(rng.normal(size=n_clusters), size) + rng.normal(size=n_clusters * size))
    return y.astype(int), expit(log_odds(SHIFT * y + noise, SHIFT)), np.repeat(np.arange(n_clusters), size)


def covered(replications, make):
    truth, hits = true_values(SHIFT, 1.0), Counter()
    for r in range(replications):
        for name, found in of_measures(make(np.random.default_rng(r)), truth).items():
            hits[name] += found.low <= truth[name] <= found.high
    return {name: hits[name] / replications for name in truth}


@pytest.mark.slow
def test_intervals_of_an_evaluation_cover_bootstrapped_ones_among_them():
    def make(rng):
        y, p = sample(rng)
        return evaluation_of(y, posterior=p, random_state=rng)

    found = covered(1_000, make)
    assert {"kappa", "balanced_accuracy"} <= set(found)
    for name, share in found.items():
        assert 0.93 < share < 0.97, (name, share)


@pytest.mark.slow
def test_intervals_of_clusters_cover_where_those_of_rows_do_not():
    def make(rng):
        y, p, groups = sampled_cluster(rng, 80, 4)
        return evaluation_of(y, posterior=p, groups=groups)

    def wrong(rng):
        y, p, _ = sampled_cluster(rng, 80, 4)
        return evaluation_of(y, posterior=p, random_state=rng)

    for name, share in covered(1_000, make).items():
        assert 0.925 < share < 0.975, (name, share)
    assert max(covered(200, wrong).values()) < 0.9
