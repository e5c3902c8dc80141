"""Kernels take tables without rows, with one column, of a single class and read-only ones, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.kernels import active_set, columns, dual_coordinate, moments, perceptron

SHAPES = {"n": st.integers(0, 40), "p": st.integers(0, 12), "classes": st.integers(1, 3)}
# The build is the same for all examples.
any_shape = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def rows_of(n, p, classes):
    """A read-only table with about half of its values 0, and codes of which some may not occur."""
    rng = np.random.default_rng([n, p, classes])
    X = np.where(rng.random((n, p)) < 0.5, 0.0, rng.normal(size=(n, p)))
    X.flags.writeable = False
    return X, rng.integers(0, classes, n).astype(np.int32)


def parts(matrix):
    return matrix.data, matrix.indices, matrix.indptr


@any_shape
@given(**SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_paths_of_an_l1_penalty(sparse, n, p, classes):
    X, codes = rows_of(n, p, classes)
    table = parts(sp.csc_matrix(X)) if sparse else np.ascontiguousarray(X.T)
    n_scores = 1 if classes < 3 else classes
    state, thetas, slopes = tuple(np.zeros((3, n_scores, p))), *np.empty((2, 2, n_scores, p))
    start = np.zeros((n_scores, n))
    rows = codes, np.full(n, 1 / max(n, 1)), start, (np.ones(p), np.zeros(p))
    columns.minimise_path(
        table, *rows, np.array([0.2, 0.2, 0.1, 0.05]), 1e-8, 50, state, thetas, slopes, np.empty((2, 6))
    )
    assert np.isfinite(thetas).all()
    assert np.abs(slopes[-1]).max(initial=0.0) <= 0.05 * 1.01
    columns.add_products(table, np.ones((n_scores, n)), slopes[0])
    assert_allclose(slopes[0], np.tile(X.sum(axis=0), (n_scores, 1)), atol=1e-12)


@any_shape
@given(**SHAPES)
@pytest.mark.parametrize("sparse", [False, True])
def test_ascents_and_walks(sparse, n, p, classes):
    X, codes = rows_of(n, p, classes)
    sign, squares, numbers = 2.0 * (codes > 0) - 1.0, (X**2).sum(axis=1), np.arange(n)
    rows = parts(sp.csr_matrix(X)) if sparse else X
    fixed, alpha, coef = (sign, np.ones(n), np.zeros(n), squares), np.zeros(n), np.zeros(p)
    ascent = alpha, coef, *np.zeros((2, n), dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    turns, _ = dual_coordinate.shuffled_due(ascent[3], 0, order, 1)
    assert_array_equal(np.sort(order[:turns]), numbers)
    dual_coordinate.sweep_over(rows, order, fixed, ascent, 0.0, 0.01, 0)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    assert_allclose(coef, (alpha * sign) @ X, atol=1e-12)
    if not sparse:
        active_set.solve(X, fixed, alpha, coef, 1.0, 0.01, 1)
        assert_allclose(coef, (alpha * sign) @ X, atol=1e-8)
    weights, clock = np.zeros(p + 1), np.zeros(2, dtype=np.int64)
    walked = perceptron.walk(rows, numbers, sign, (1.0, True), (weights, np.zeros(0), clock, np.zeros(1)), 0, 1 << 40)
    assert walked == clock[0] == n
    wrong = perceptron.mistakes(rows, numbers, sign, (1.0, True), weights, np.zeros(1))
    assert wrong == np.count_nonzero(sign * (X @ weights[:-1] + weights[-1]) <= 0)


@any_shape
@given(**SHAPES)
def test_classes_without_rows(n, p, classes):
    X, codes = rows_of(n, p, classes)
    totals, means = np.zeros(classes + 1), np.zeros((classes + 1, p))  # the last class has no rows
    moments.class_means(X, codes, np.ones(n), totals, means)
    assert_array_equal(totals, np.bincount(codes, minlength=classes + 1))
    assert_array_equal(means[-1], 0.0)
