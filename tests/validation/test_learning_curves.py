"""Learning curves and the sources of error."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.tree import DecisionTreeClassifier
from tests.helpers import normal_classes

from discriminant import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression, QuadraticDiscriminantAnalysis
from discriminant.errors import ParameterError
from discriminant.estimators import moment_classifier
from discriminant.evaluation import wilson_interval
from discriminant.validation.fold_fits import ValidationTask
from discriminant.validation.learning_curve import error_sources, evenly_mixed, fit_power_law, learning_curve


def two_normals(n=2000, p=4, shift=0.6, seed=0):
    """Rows of two normal classes, and the error of the best rule."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, p)) + shift * y[:, None], y, float(norm.cdf(-shift * np.sqrt(p) / 2))


@pytest.fixture
def ladders(monkeypatch):
    """The training and test rows of every split that is scored."""
    seen = []
    result = ValidationTask.result
    monkeypatch.setattr(
        ValidationTask, "result", lambda self, split, *rest: seen.append(split) or result(self, split, *rest)
    )
    return seen


@pytest.mark.parametrize(
    "model",
    [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), DecisionTreeClassifier(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_errors_are_those_of_plain_fits_to_nested_rows(model, ladders):
    X, y = normal_classes(200)
    curve = learning_curve(model, X, y, sizes=[40, 80, 160], cv=5, n_jobs=1)
    assert len(ladders) == 15
    for s in range(5):
        steps = ladders[3 * s : 3 * s + 3]
        assert [len(split.train) for split in steps] == [40, 80, 160]
        for smaller, larger in pairwise(steps):
            assert set(smaller.train) <= set(larger.train)
            np.testing.assert_array_equal(smaller.test, larger.test)
        for step, split in enumerate(steps):
            fitted = clone(model).fit(X[split.train], y[split.train])
            assert curve.validation_errors[s, step] == pytest.approx(1 - fitted.score(X[split.test], y[split.test]))
            assert curve.train_errors[s, step] == pytest.approx(1 - fitted.score(X[split.train], y[split.train]))


def test_moment_models_read_each_split_once(monkeypatch):
    passes, collected = [], moment_classifier.collected
    monkeypatch.setattr(moment_classifier, "collected", lambda *given: passes.append(given) or collected(*given))
    X, y = normal_classes(200)
    learning_curve(GaussianNB(), X, y, cv=4)
    assert len(passes) == 4


def test_sizes_below_the_number_of_columns_are_fitted_by_themselves():
    X, y = normal_classes(150, p=20)
    model = LinearDiscriminantAnalysis(shrinkage=0.2)
    curve = learning_curve(model, X, y, sizes=[15, 100], cv=3)
    assert curve.validation_errors.shape == (3, 2)
    assert curve.validation_errors[:, 1].mean() < curve.validation_errors[:, 0].mean()


@given(counts=st.lists(st.integers(4, 60), min_size=2, max_size=4), seed=st.integers(0, 100))
def test_every_beginning_has_its_share_of_each_class(counts, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    order = evenly_mixed(codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(codes)))
    shares = np.array(counts) / len(codes)
    for m in range(1, len(codes) + 1):
        expected = m * shares
        assert np.abs(np.bincount(codes[order[:m]], minlength=len(counts)) - expected).max() <= len(counts)


@given(limit=st.floats(0, 0.4), scale=st.floats(0.5, 5), power=st.floats(0.5, 1.0), first=st.integers(20, 200))
def test_power_law_is_found_again(limit, scale, power, first):
    sizes = np.geomspace(first, 40 * first, 8)
    law = fit_power_law(sizes, limit + scale * sizes**-power)
    np.testing.assert_allclose(law.at(sizes), limit + scale * sizes**-power, rtol=1e-4)
    assert law.limit == pytest.approx(limit, abs=2e-3 * scale)


def test_shares_default_sizes_and_weights():
    X, y = normal_classes(200)
    shares = learning_curve(GaussianNB(), X, y, sizes=[0.25, 0.5, 1.0], cv=4)
    np.testing.assert_array_equal(shares.sizes, [38, 75, 150])
    default = learning_curve(GaussianNB(), X, y, sample_weight=np.ones(200))
    assert default.sizes[-1] == 160
    assert (np.diff(default.sizes) > 0).all()
    np.testing.assert_array_equal(default.validation_errors, learning_curve(GaussianNB(), X, y).validation_errors)


def test_curve_prints_and_exports():
    X, y = normal_classes(200)
    curve = learning_curve({"NB": GaussianNB()}, X, y, sizes=[50, 100, 160])
    assert "NB: limit" in str(curve)
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["sizes"][2]["size"] == 160
    frame = curve.to_frame()
    np.testing.assert_allclose(frame["validation_error"], curve.validation_errors.mean(axis=0))
    assert (frame["validation_low"] <= frame["validation_error"]).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sizes": [100]}, "at least two different numbers"),
        ({"sizes": [2, 50]}, "from 3 .* to 48"),
        ({"sizes": [10, 500]}, "got \\[10, 500\\]"),
        ({"sizes": [-1, 50]}, "got -1"),
        ({"sizes": "many"}, "must be a list"),
        ({"model": [GaussianNB(), LinearDiscriminantAnalysis()]}, "takes one model, got 2"),
    ],
)
def test_curves_that_cannot_be_are_refused(given, words):
    X, y = normal_classes(60)
    with pytest.raises(ParameterError, match=words):
        learning_curve(**{"model": GaussianNB(), "X": X, "y": y, **given})


def test_sources_of_a_known_problem():
    X, y, bayes = two_normals(4000)
    found = error_sources(LinearDiscriminantAnalysis(), X, y, bayes_error=bayes, cv=10)
    assert found.total.value == pytest.approx(bayes + found.approximation.value + found.estimation.value, abs=1e-12)
    assert found.approximation.interval().low < 0 < found.approximation.interval().high
    assert abs(found.estimation.value) < 0.01
    assert (found.optimisation.suboptimality, found.optimisation.changed, found.optimisation.error) == (0.0, 0.0, 0.0)


def test_a_model_of_the_wrong_kind_has_an_approximation_error():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1000)
    X = rng.normal(size=(2000, 2)) * np.where(y, 3.0, 0.7)[:, None]
    ratio = (3.0 / 0.7) ** 2
    cut = 2 * np.log(ratio) / (1 / 0.7**2 - 1 / 3.0**2)  # the squared radius at which the densities cross
    bayes = 0.5 * (np.exp(-cut / (2 * 0.49)) + 1 - np.exp(-cut / (2 * 9.0)))
    linear = error_sources(LinearDiscriminantAnalysis(), X, y, bayes_error=bayes)
    quadratic = error_sources(QuadraticDiscriminantAnalysis(), X, y, bayes_error=bayes)
    assert linear.approximation.interval().low > 0.1
    assert quadratic.approximation.interval().low < 0.01


def test_few_rows_for_many_columns_are_an_estimation_error():
    X, y, bayes = two_normals(400, p=60, shift=0.25)
    found = error_sources(LinearDiscriminantAnalysis(), X, y, bayes_error=bayes, sizes=[80, 120, 200, 320], repeats=3)
    assert found.estimation.value > 0.03
    assert found.total.value > bayes + 0.03


def test_a_solver_that_stops_early_has_an_optimisation_error():
    X, y, _ = two_normals(1500)
    X = X * np.array([1, 10, 100, 1000]) + 50
    early = error_sources(LogisticRegression(solver="gradient", tol=0.05), X, y, sizes=[300, 600, 1000], cv=3)
    full = error_sources(LogisticRegression(), X, y, sizes=[300, 600, 1000], cv=3)
    assert early.optimisation.suboptimality > 1e-4 > full.optimisation.suboptimality
    assert early.optimisation.changed > 0
    assert full.optimisation.changed == 0
    assert "above its minimum" in str(early)


def test_unknown_sources_are_reported_as_unknown():
    X, y, bayes = two_normals(300)
    found = error_sources({"theirs": SklearnLogistic()}, X, y)
    assert found.approximation is None
    assert "the Bayes error is not known" in str(found)
    assert found.optimisation.suboptimality is None
    assert found.optimisation.words in str(found)
    exported = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert exported["approximation"] is None

    class Known:
        error = bayes

    assert error_sources(GaussianNB(), X, y, bayes_error=Known()).bayes_error == bayes
    with pytest.raises(ParameterError, match="bayes_error"):
        error_sources(GaussianNB(), X, y, bayes_error=1.5)


def test_an_error_that_all_splits_share_is_not_certain():
    """Every split of two far classes has the error 0: Wilson's limit of all held-out rows stands above it."""
    y = np.arange(100) % 2
    X = np.random.default_rng(0).normal(size=(100, 2)) + 30 * y[:, None]
    curve = learning_curve(GaussianNB(), X, y, sizes=[40, 80])
    found = curve.validation()
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(wilson_interval(0.0, 100).high)
