"""Kernels that take dense and CSR rows alike give the same for both, and what NumPy gives."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.kernels import dual_coordinate, perceptron


def both_forms(n=40, p=6, seed=0):
    X = np.random.default_rng(seed).integers(-2, 3, size=(n, p)).astype(float)
    X[3] = 0.0
    csr = sp.csr_array(X)
    return X, (X, (csr.data, csr.indices, csr.indptr))


def test_rows_are_added():
    X, forms = both_forms()
    chosen, amounts = np.array([0, 3, 7, 7]), np.array([1.0, 5.0, -2.0, 0.5])
    for rows in forms:
        coef = np.ones(6)
        dual_coordinate.add_rows(rows, chosen, amounts, coef)
        assert_allclose(coef, 1 + amounts @ X[chosen])


def test_a_sweep_sets_each_variable_to_its_best_value():
    """Against the ascent written out in Python; an intercept's proximal term counts like a column of its own."""
    X, forms = both_forms()
    sign = np.where(X @ np.arange(6) > 1, 1.0, -1.0)
    upper, proximal, order = np.full(40, 0.7), 0.05, np.random.default_rng(1).permutation(40)
    alpha, coef, bias = np.zeros(40), np.zeros(6), 0.0
    for i in order:
        slope = 1 - sign[i] * (X[i] @ coef + bias)
        new = np.clip(alpha[i] + slope / (X[i] @ X[i] + proximal), 0, upper[i])
        coef += (new - alpha[i]) * sign[i] * X[i]
        bias += (new - alpha[i]) * sign[i] * proximal
        alpha[i] = new
    fixed = sign, upper, np.zeros(40), (X**2).sum(axis=1)
    for rows in forms:
        ascent = np.zeros(40), np.zeros(6), np.zeros(40, dtype=np.int64), np.zeros(40, dtype=np.int64)
        reached, _ = dual_coordinate.sweep_over(rows, order, fixed, ascent, 0.0, proximal, 0)
        assert_allclose(ascent[0], alpha, atol=1e-13)
        assert_allclose(ascent[1], coef, atol=1e-13)
        assert_allclose(reached, bias, atol=1e-13)


def test_a_walk_is_the_perceptron_rule_written_out():
    X, forms = both_forms()
    sides = np.where(X @ np.arange(6) > 1, 1.0, -1.0)
    order = np.arange(40)
    weights, total, updates = np.zeros(7), np.zeros(7), 0
    for x, side in zip(np.column_stack((X, np.ones(40))), sides, strict=True):
        if side * (x @ weights) <= 0:
            weights, updates = weights + side * x, updates + 1
        total += weights
    for rows in forms:
        learned = np.zeros(7), np.zeros(7), np.zeros(2, dtype=np.int64), np.zeros(1)
        rule = 1.0, True
        assert perceptron.walk(rows, order, sides, rule, learned, 0, 10**6) == 40
        assert_array_equal(learned[0], weights)
        assert_array_equal(learned[2], [40, updates])
        assert_allclose(learned[0] - learned[1] / 40, total / 40)
        wrong = np.count_nonzero(sides * (X @ weights[:-1] + weights[-1]) <= 0)
        assert perceptron.mistakes(rows, order, sides, rule, weights, learned[3]) == wrong


def test_a_score_that_is_not_finite_is_reported_by_its_place():
    X, _ = both_forms()
    X[5, 2] = np.nan
    learned = np.zeros(7), np.zeros(0), np.zeros(2, dtype=np.int64), np.zeros(1)
    rule = 1.0, False
    assert perceptron.walk(X, np.arange(40), np.ones(40), rule, learned, 0, 10**6) == -6
    assert perceptron.mistakes(X, np.arange(40), np.ones(40), rule, learned[0], learned[3]) == -6
