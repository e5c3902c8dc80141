"""Ordinary least squares through the classifier's core is NumPy's, with the classical precision of its estimates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from least_squares import linear_regression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) @ RNG.normal(size=(3, 3)) + [1e3, -5.0, 0.0]
RESPONSE = X @ [1.0, -2.0, 0.5] + 3 + RNG.normal(size=80)


def by_hand(X, response, weight):
    design = np.column_stack([np.ones(len(X)), X])
    gram = design.T @ (weight[:, None] * design)
    solution = np.linalg.solve(gram, design.T @ (weight * response))
    residual = weight @ (response - design @ solution) ** 2
    variance = residual / (weight.sum() - design.shape[1])
    total = weight @ (response - np.average(response, weights=weight)) ** 2
    return solution, np.sqrt(variance * np.diag(np.linalg.inv(gram))), residual, total


@pytest.mark.parametrize("weight", [None, RNG.integers(1, 4, 80)], ids=["once", "weighted"])
def test_estimates_and_their_precision(weight):
    fit = linear_regression(X, RESPONSE, weight)
    solution, errors, residual, total = by_hand(X, RESPONSE, np.ones(80) if weight is None else weight)
    assert_allclose([fit.intercept, *fit.coef], solution, rtol=1e-6)
    assert_allclose([fit.intercept_std_error, *fit.std_error], errors, rtol=1e-6)
    assert_allclose(fit.residual_sum_of_squares, residual, rtol=1e-8)
    assert_allclose(fit.r_squared, 1 - residual / total, rtol=1e-9)


def test_an_integer_weight_is_a_repeated_row():
    weight = RNG.integers(0, 3, 80)
    weighted = linear_regression(X, RESPONSE, weight)
    repeated = linear_regression(np.repeat(X, weight, axis=0), np.repeat(RESPONSE, weight))
    assert_allclose(weighted.std_error, repeated.std_error, rtol=1e-8)
    assert_allclose(weighted.coef, repeated.coef, rtol=1e-8)
