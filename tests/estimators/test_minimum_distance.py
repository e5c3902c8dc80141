"""The nearest class mean, against scikit-learn's and by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import check_estimator

from discriminant.errors import ColumnError, InputError, LabelError
from discriminant.estimators.linear import MinimumDistance
from helpers import normal_classes


def test_scikit_learn_contract():
    outcomes = check_estimator(MinimumDistance(), on_skip=None, on_fail=None)
    assert {one["check_name"]: one["exception"] for one in outcomes if one["status"] == "failed"} == {}


@pytest.mark.parametrize("K", [2, 3, 6])
def test_it_is_scikit_learns_nearest_centroid(K):
    X, y = normal_classes(400, 5, K, seed=K)
    ours, theirs = MinimumDistance().fit(X, y), NearestCentroid().fit(X, y)
    np.testing.assert_allclose(ours.means_, theirs.centroids_, rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_scores_differ_by_half_the_squared_distances():
    X, y = normal_classes(200, 4, 3)
    model = MinimumDistance().fit(X, y)
    squared = ((X[:, None] - model.means_) ** 2).sum(axis=2)
    scores = model.decision_function(X)
    np.testing.assert_allclose(np.diff(scores, axis=1), -0.5 * np.diff(squared, axis=1), atol=1e-10)


def test_coefficients_give_the_scores():
    X, y = normal_classes(200, 4, 3)
    model = MinimumDistance().fit(X, y)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-10)


def test_weights_count_rows():
    X, y = normal_classes(120, 3, 3)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = MinimumDistance().fit(X, y, sample_weight=weight)
    repeated = MinimumDistance().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-12)


def test_streams_end_where_one_fit_does():
    X, y = normal_classes(300, 4, 3)
    stream = MinimumDistance()
    for part in np.array_split(np.arange(300), 5):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(stream.means_, MinimumDistance().fit(X, y).means_, rtol=1e-12)


def test_a_large_offset_costs_no_digits():
    X, y = normal_classes(300, 4, 3)
    near, far = MinimumDistance().fit(X, y), MinimumDistance().fit(X + 1e7, y)
    np.testing.assert_allclose(far.decision_function(X + 1e7), near.decision_function(X), atol=1e-6)


def test_a_constant_band_makes_no_difference():
    X, y = normal_classes(100, 3, 2)
    wide = np.column_stack((X, np.full(len(X), 7.0)))
    np.testing.assert_array_equal(MinimumDistance().fit(wide, y).predict(wide), MinimumDistance().fit(X, y).predict(X))


def test_bad_rows_are_named_and_leave_the_model_as_it_was():
    X, y = normal_classes(60, 3, 2)
    model = MinimumDistance().fit(X, y)
    before = clone(model).fit(X, y).means_
    broken = X.copy()
    broken[4, 1] = np.nan
    with pytest.raises(InputError, match="column 1, row 4"):
        model.fit(broken, y)
    np.testing.assert_array_equal(model.means_, before)
    with pytest.raises(LabelError, match="a"):
        MinimumDistance().fit(X, np.zeros(60, dtype=int))
    with pytest.raises(ColumnError, match="3"):
        model.predict(X[:, :2])
