"""Figures of held-out rows are those of an evaluation of them, and differences are paired."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import ShuffleSplit
from tests.helpers import normal_classes

from discriminant import GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from discriminant.evaluation import LabelledPredictions, compare_auc, evaluation_of, wilson_interval
from discriminant.evaluation.intervals import MIN_EFFECTIVE_ROWS
from discriminant.evaluation.sampling import SamplingDesign
from discriminant.validation.comparison import compare
from discriminant.validation.cross_validation import cross_validate
from discriminant.validation.held_out import AreaOfRows, HeldOutRows
from discriminant.validation.paired import mcnemar, mcnemar_p_value

MODELS = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis(), "NB": GaussianNB()}
METRICS = ["accuracy", "error_rate", "log_loss", "brier"]


def ends(found):
    return found.value, found.low, found.high


@pytest.mark.parametrize("grouped", [False, True])
def test_figures_are_those_of_an_evaluation_of_the_same_predictions(grouped):
    X, y = normal_classes(180)
    groups = np.arange(180) // 4 if grouped else None
    found = cross_validate(MODELS, X, y, groups=groups, metrics=METRICS, keep="posteriors")
    for name in MODELS:
        evaluation = evaluation_of(LabelledPredictions(y, posterior=found.posteriors(name), groups=groups))
        for metric in METRICS:
            np.testing.assert_allclose(ends(found.estimate(name, metric)), ends(evaluation[metric]), rtol=1e-9)


def test_perfect_models_are_not_certain():
    rng = np.random.default_rng(0)
    y = np.arange(189) % 2
    found = compare({"LDA": LinearDiscriminantAnalysis()}, rng.normal(size=(189, 2)) + 20 * y[:, None], y)
    validation = found.cross_validation
    assert validation.mean("LDA") == 1.0
    assert tuple(validation.interval("LDA")) == pytest.approx(tuple(wilson_interval(1.0, 189)))
    by_area = compare(
        {"LDA": LinearDiscriminantAnalysis()}, rng.normal(size=(189, 2)) + 20 * y[:, None], y, metric="auc"
    )
    assert 0.95 < by_area.cross_validation.interval("LDA", "auc").low < 1.0
    pair = by_area.difference("LDA", "baseline")
    assert 0.45 < pair.low < pair.difference == 0.5
    assert pair.p_value < 1e-6


def test_intervals_are_never_narrower_than_binomial():
    """The folds of a majority-class model are equal, but its interval is that of all rows."""
    X, y = normal_classes(300)
    found = cross_validate(DummyClassifier(), X, y, repeats=3)
    assert np.ptp(found.scores("DummyClassifier")) < 0.05
    assert ends(found.estimate("DummyClassifier"))[1:] == pytest.approx(
        tuple(wilson_interval(found.mean("DummyClassifier"), 300)), rel=1e-9
    )


@pytest.mark.parametrize("metric", [*METRICS, "auc"])
def test_repeats_do_not_make_rows(metric):
    """Identical repeats do not change any interval or test."""
    X, y = normal_classes(150)
    fold = np.arange(150) % 5
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(5)]
    once, thrice = (cross_validate(MODELS, X, y, splits * times, metrics=metric) for times in (1, 3))
    np.testing.assert_allclose(ends(thrice.estimate("LDA", metric)), ends(once.estimate("LDA", metric)), rtol=1e-9)
    pairs = [found.difference("LDA", "NB", metric) for found in (once, thrice)]
    np.testing.assert_allclose(*(list(vars(pair).values()) for pair in pairs), rtol=1e-9, atol=1e-12)


def test_differences_of_accuracies_are_mcnemars():
    X, y = normal_classes(200)
    found = cross_validate(MODELS, X, y, keep="predictions")
    pair = found.difference("QDA", "NB")
    test = mcnemar(y, found.predictions("QDA"), found.predictions("NB"))
    expected = test.difference, test.low, test.high, test.p_value
    assert (pair.difference, pair.low, pair.high, pair.p_value) == pytest.approx(expected, rel=1e-9)
    errors = cross_validate(MODELS, X, y, metrics="error_rate").difference("NB", "QDA", "error_rate")
    assert (errors.difference, errors.low, errors.high, errors.p_value) == pytest.approx(expected, rel=1e-9)


def test_differences_of_losses_are_students():
    X, y = normal_classes(200)
    found = cross_validate(MODELS, X, y, metrics="log_loss", keep="posteriors")
    losses = [-np.log(found.posteriors(name)[np.arange(200), y]) for name in ("LDA", "NB")]
    gap = losses[0] - losses[1]
    rows = 200 / stats.kurtosis(gap, fisher=False)
    expected = stats.t(2 * rows if rows >= MIN_EFFECTIVE_ROWS else max(rows, 2.5), gap.mean(), stats.sem(gap))
    pair = found.difference("LDA", "NB", "log_loss")
    assert pair.is_range == (rows < MIN_EFFECTIVE_ROWS)
    assert pair.p_value == pytest.approx(2 * min(expected.cdf(0), expected.sf(0)), rel=1e-9)
    assert (pair.low, pair.high) == pytest.approx(expected.interval(0.95), rel=1e-9)


def test_groups_widen_the_intervals_of_dependent_rows():
    X, y = normal_classes(60)
    rows = np.repeat(np.arange(60), 5)
    metrics = [*METRICS, "auc"]
    alone = cross_validate(MODELS, X, y, cv=5, metrics=metrics)
    copied = cross_validate(MODELS, X[rows], y[rows], cv=5, groups=rows, metrics=metrics)
    for metric in metrics:
        assert copied.estimate("LDA", metric).half_width == pytest.approx(
            alone.estimate("LDA", metric).half_width, rel=0.5
        )
        pair = copied.difference("LDA", "NB", metric)
        assert pair.high - pair.low > 0


def brute_force_area(found, fold, y, score):
    right, pairs, of_pairs = 0.0, 0, []
    for f in np.unique(fold):
        for i in np.flatnonzero((fold == f) & (y == 1)):
            for j in np.flatnonzero((fold == f) & (y == 0)):
                win = (score[i] > score[j]) + 0.5 * (score[i] == score[j])
                right, pairs = right + win, pairs + 1
                of_pairs.append((i, j, win))
    area = right / pairs
    variance = 0.0
    for i, j, win in of_pairs:
        for k, m, other in of_pairs:
            if i == k or j == m:
                variance += (win - area) * (other - area)
    return area, variance / pairs**2


def area(fold, y, score):
    rows = HeldOutRows(fold, np.arange(len(y)), y, SamplingDesign(len(y)), 1.0)
    return AreaOfRows(rows, score[:, None], (1,))


def test_areas_compare_rows_of_a_split_alone():
    rng = np.random.default_rng(0)
    y, fold, score = rng.integers(0, 2, 40), np.arange(40) % 4, rng.normal(size=40).round(1)
    score += y + 100 * fold  # scores of the splits' models are on scales of their own
    found = area(fold, y, score)
    value, variance = brute_force_area(found, fold, y, score)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.variance == pytest.approx(variance * 40 / 39, rel=1e-9)


def test_areas_of_one_split_are_delongs():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    a, b = rng.normal(size=400) + y, rng.normal(size=400) + 0.8 * y
    pair = area(np.zeros(400, dtype=int), y, a).minus(area(np.zeros(400, dtype=int), y, b), 0.95)
    expected = compare_auc(y, a, b)
    assert pair.difference == pytest.approx(expected.difference, rel=1e-12)
    assert pair.p_value == pytest.approx(expected.p_value, rel=0.05)
    assert (pair.low, pair.high) == pytest.approx(tuple(expected.interval()), rel=0.05)


def test_rows_that_are_never_held_out_are_not_counted():
    X, y = normal_classes(100)
    found = cross_validate(MODELS, X, y, ShuffleSplit(3, test_size=0.2, random_state=0))
    rows = found.pooled["LDA"]["accuracy"].rows
    distinct = rows.once * rows.design.total_weight
    assert 20 < distinct < 60
    assert tuple(found.interval("LDA")) == pytest.approx(tuple(wilson_interval(found.mean("LDA"), distinct)))


def test_mcnemars_test_is_continued_between_whole_numbers():
    grid = [mcnemar_p_value(first, 3.0) for first in np.linspace(3, 15, 49)]
    assert all(earlier >= later for earlier, later in pairwise(grid))
    assert mcnemar_p_value(0, 0) == 1.0
