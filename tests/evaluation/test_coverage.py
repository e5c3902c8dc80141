"""The intervals of the studies are those of an evaluation; those of clusters and bootstrapped ones cover."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from tests.studies.evaluation import sample_intervals

from discriminant.evaluation import ConfusionMatrix, EvaluationOptions, LabelledPredictions, evaluation_of, roc
from discriminant.evaluation.intervals import MIN_EFFECTIVE_ROWS
from discriminant.evaluation.probabilities import LOSSES

PRIOR, SHIFT, N = 0.4, 1.5, 250
MEASURES = ("accuracy", "f1", "auc", "average_precision", "log_loss", "brier", "ece")


def log_odds(x):
    """The log-odds of class 1 at x by Bayes's rule."""
    return SHIFT * (x - SHIFT / 2) + math.log(PRIOR / (1 - PRIOR))


def true_values():
    """The measures in the population."""
    x = np.linspace(-12, 12 + SHIFT, 200_001)
    own, other = PRIOR * stats.norm.pdf(x - SHIFT), (1 - PRIOR) * stats.norm.pdf(x)
    p = expit(log_odds(x))
    posterior, weights = np.stack((1 - p, p), axis=1), np.stack((other, own), axis=1)
    threshold = SHIFT / 2 - math.log(PRIOR / (1 - PRIOR)) / SHIFT
    tp, fp = PRIOR * stats.norm.sf(threshold - SHIFT), (1 - PRIOR) * stats.norm.sf(threshold)
    predicted = tp + fp
    return {
        "accuracy": tp + (1 - PRIOR) - fp,
        "f1": 2 * tp / (predicted + PRIOR),
        "auc": stats.norm.cdf(SHIFT / math.sqrt(2)),
        "balanced_accuracy": (tp / PRIOR + 1 - fp / (1 - PRIOR)) / 2,
        "kappa": 1 - (PRIOR - tp + fp) / (PRIOR * (1 - predicted) + (1 - PRIOR) * predicted),
        **{name: np.trapezoid((by_class(posterior) * weights).sum(axis=1), x) for name, by_class in LOSSES.items()},
    }


def sample(rng, n=N):
    y = rng.random(n) < PRIOR
    return y.astype(int), expit(log_odds(rng.normal(size=n) + SHIFT * y))


def of_measures(evaluation, names):
    return {name: evaluation[("f1", 1) if name == "f1" else name] for name in names}


def test_simulated_intervals_are_those_of_an_evaluation():
    y, p = sample(np.random.default_rng(0))
    found, true_error = sample_intervals(y, p, p)
    assert true_error == 0
    for name, estimate in of_measures(evaluation_of(LabelledPredictions(y, posterior=p)), MEASURES).items():
        assert (estimate.low, estimate.high) == pytest.approx(tuple(found[name].within(0, np.inf)), rel=1e-12), name


def sampled_cluster(rng, n_clusters, size):
    """Rows in clusters that share their class and half of their noise."""
    y = np.repeat(rng.random(n_clusters) < PRIOR, size)
    noise = np.sqrt(0.5) * (np.repeat(rng.normal(size=n_clusters), size) + rng.normal(size=n_clusters * size))
    return y.astype(int), expit(log_odds(SHIFT * y + noise)), np.repeat(np.arange(n_clusters), size)


def covered(replications, make):
    truth, hits = true_values(), Counter()
    for r in range(replications):
        for name, found in of_measures(make(np.random.default_rng(r)), truth).items():
            hits[name] += found.low <= truth[name] <= found.high
    return {name: hits[name] / replications for name in truth}


@pytest.mark.slow
def test_intervals_of_an_evaluation_cover_bootstrapped_ones_among_them():
    def make(rng):
        y, p = sample(rng)
        return evaluation_of(LabelledPredictions(y, posterior=p), EvaluationOptions(random_state=rng))

    found = covered(1_000, make)
    assert {"kappa", "balanced_accuracy"} <= set(found)
    for name, share in found.items():
        assert 0.93 < share < 0.97, (name, share)


@pytest.mark.slow
def test_intervals_of_clusters_cover_where_those_of_rows_do_not():
    def make(rng):
        y, p, groups = sampled_cluster(rng, 80, 4)
        return evaluation_of(LabelledPredictions(y, posterior=p, groups=groups))

    def wrong(rng):
        y, p, _ = sampled_cluster(rng, 80, 4)
        return evaluation_of(LabelledPredictions(y, posterior=p), EvaluationOptions(random_state=rng))

    for name, share in covered(1_000, make).items():
        assert 0.925 < share < 0.975, (name, share)
    assert max(covered(200, wrong).values()) < 0.9


def test_an_interval_of_the_auc_that_rests_on_few_rows_is_a_range():
    """One of 50 positive rows scores below a tenth of the negative ones: DeLong's variance is that of a single row."""
    score = np.append(np.linspace(0, 1, 950), np.append(np.full(49, 2.0), 0.9))
    curve = roc(np.repeat([0, 1], [950, 50]), score)
    found, delong = curve.auc_interval(), curve.auc_interval(scale="logit")
    assert curve.effective_rows < MIN_EFFECTIVE_ROWS
    assert found.is_range
    assert found.low < delong.low < curve.auc < found.high


def test_an_interval_of_a_mean_that_rests_on_few_rows_is_a_range():
    y = np.repeat([0, 1], [150, 50])
    sure, unsure = np.where(y, 0.99, 0.01), np.where(y, 0.6, 0.3)
    sure[0] = 0.99
    unsure[::7] = 1 - unsure[::7]
    for p, few in ((sure, True), (unsure, False)):
        found = evaluation_of(LabelledPredictions(y, posterior=p))
        assert (found["log_loss"].is_range, found["brier"].is_range) == (few, few)


def test_average_precision_and_calibration_error_have_ranges():
    y, p = sample(np.random.default_rng(1))
    found = evaluation_of(LabelledPredictions(y, posterior=p))
    assert [name for name in MEASURES if of_measures(found, MEASURES)[name].is_range] == ["average_precision", "ece"]
    assert "not a confidence interval" in str(found)


def test_average_precision_has_an_interval_from_ten_positive_rows_on():
    rng = np.random.default_rng(0)
    for n_positive in (9, 10):
        y = np.repeat([0, 1], [200, n_positive])
        found = roc(y, rng.normal(size=len(y)) + y).average_precision_interval()
        assert np.isnan(found.low) == (n_positive < 10)


def test_a_mean_over_three_classes_has_an_interval_from_fifteen_rows_of_each_on():
    for rows in (14, 15):
        matrix = ConfusionMatrix.from_counts([[30, 5, 1], [4, 30, 2], [1, 1, rows - 2]], ["a", "b", "c"])
        assert np.isnan(matrix.interval("balanced_accuracy").low) == (rows < 15)
        assert np.isnan(matrix.interval("f1", "macro").low) == (rows < 15)
        assert np.isfinite(matrix.interval("kappa").low)
