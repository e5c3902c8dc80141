"""A classifier from given weights: its geometry, its losses, and the likelihood at any parameters."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from discriminant import (
    FisherDiscriminant,
    LinearClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    load,
    save,
)
from discriminant.errors import ColumnError, LabelError, ParameterError
from helpers import normal_classes

LINE = LinearClassifier([3.0, 4.0], -10.0, classes=["below", "above"])
POINTS = np.array([[0.0, 0.0], [3.0, 4.0], [2.0, 1.0]])


def test_distances_of_rows_and_of_the_origin():
    assert_allclose(LINE.distance(POINTS), [-2, 3, 0])
    assert LINE.origin_distance == 2
    assert_array_equal(LINE.predict(POINTS[:2]), ["below", "above"])


def test_the_nearest_point_lies_on_the_hyperplane_at_that_distance():
    nearest = LINE.project(POINTS)
    assert_allclose(LINE.distance(nearest), 0, atol=1e-12)
    assert_allclose(np.linalg.norm(POINTS - nearest, axis=1), np.abs(LINE.distance(POINTS)))


def test_the_weights_are_at_right_angles_to_the_hyperplane():
    one, other = LINE.project(np.random.default_rng(0).normal(size=(2, 2)))
    assert LINE.coef_[0] @ (one - other) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "of_margin"),
    [
        ("zero-one", lambda m: (m < 0).astype(float)),
        ("perceptron", lambda m: np.maximum(-m, 0)),
        ("hinge", lambda m: np.maximum(1 - m, 0)),
        ("squared_hinge", lambda m: np.maximum(1 - m, 0) ** 2),
        ("squared", lambda m: (1 - m) ** 2 / 2),
        ("logistic", lambda m: np.log1p(np.exp(-m))),
        ("squared_sigmoid", lambda m: (1 - 1 / (1 + np.exp(-m))) ** 2),
    ],
)
def test_losses_are_those_of_the_margin(loss, of_margin):
    X, codes = normal_classes(50, 3, 2, 0)
    w, b = np.array([0.5, -1.0, 0.3]), 0.2
    margin = (2 * codes - 1) * (X @ w + b)
    model = LinearClassifier(w, b)
    assert_allclose(model.losses(X, codes, loss), of_margin(margin), rtol=1e-10, atol=1e-14)
    assert_allclose(model.losses(sp.csr_array(X), codes, loss), of_margin(margin), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
def test_the_log_likelihood_at_the_optimum_is_that_of_the_fit(K):
    X, y = normal_classes(200, 2, K, 1)
    y = np.array(["b", "a", "c"])[y]
    weight = np.random.default_rng(0).integers(1, 4, 200)
    fit = LogisticRegression(0.1).fit(X, y, weight)
    given = LinearClassifier.of(fit)
    own = -given.losses(X, y)
    assert given.log_likelihood(X, y, weight) == pytest.approx(float(own @ weight))
    assert_allclose(own, fit.predict_log_proba(X)[np.arange(200), np.searchsorted(fit.classes_, y)], rtol=1e-9)
    assert_array_equal(given.predict(X), fit.predict(X))


def test_it_is_an_estimator_that_learns_nothing(tmp_path):
    X, y = normal_classes(30, 2, 2, 0)
    model = LinearClassifier([1, 1], classes=[1, 0]).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert_array_equal(clone(model).predict(X), model.predict(pd.DataFrame(X)))
    save(model, tmp_path / "given.dsc")
    assert_array_equal(load(tmp_path / "given.dsc").predict_proba(X), model.predict_proba(X))
    assert_array_equal(model.predict_proba(X)[:, 0] < 0.5, model.predict(X) == 0)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: LinearClassifier([0, 0]).distance(POINTS), ParameterError, "coef"),
        (lambda: LinearClassifier([1, np.nan]).predict(POINTS), ParameterError, "coef"),
        (lambda: LinearClassifier([1, 1], [1, 2]).predict(POINTS), ParameterError, "intercept"),
        (lambda: LinearClassifier([1, 1], classes="a").predict(POINTS), ParameterError, "classes"),
        (lambda: LINE.predict(POINTS[:, :1]), ColumnError, r"1.*2|2.*1"),
        (lambda: LINE.losses(POINTS, ["below", "above", "beside"]), LabelError, "beside"),
        (lambda: LINE.losses(POINTS, ["below"] * 3, "cubic"), ParameterError, "loss"),
        (lambda: LinearClassifier(np.eye(3), np.zeros(3)).distance(np.eye(3)), LabelError, "3"),
        (lambda: LinearClassifier.of(QuadraticDiscriminantAnalysis().fit(*normal_classes(40, 2, 2, 0))),
         ParameterError, "QuadraticDiscriminantAnalysis"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_scatter_matrices_add_up_and_are_attributes():
    X, y = normal_classes(60, 3, 2, 0)
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in (0, 1))
    steps = means - X.mean(axis=0)
    between = sum(np.count_nonzero(y == k) * np.outer(steps[k], steps[k]) for k in (0, 1))
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, FisherDiscriminant):
        model = kind().fit(X, y)
        assert_allclose(model.scatter_within_, within, rtol=1e-9, atol=1e-9)
        assert_allclose(model.scatter_between_, between, rtol=1e-9, atol=1e-9)
        assert_allclose(model.scatter_total_, within + between, rtol=1e-9, atol=1e-9)
