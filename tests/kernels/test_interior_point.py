"""The compiled interior point method: its linear algebra by LAPACK's, its minimum by SciPy's programmes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from discriminant.kernels import interior_point, smoothed_hinge
from discriminant.kernels.losses import SQUARED_HINGE


def positive_definite(q, seed=0):
    root = np.random.default_rng(seed).normal(size=(q, q + 3))
    return root @ root.T


def small_problem(seed, squared=False):
    """Rows times their sign with the intercept's column last, shares, linear part, ridge."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    rows = np.column_stack((rng.normal(size=(30, 3)) * sign[:, None] + 0.3, sign))
    return rows, rng.uniform(0.5, 1.5, 30) / 30, np.zeros(4), np.array([0.1, 0.2, 0.3, 0.0]), squared


def value(problem, theta):
    rows, share, linear, ridge, squared = problem
    slack = np.maximum(1 - rows @ theta, 0)
    return linear @ theta + 0.5 * ridge @ theta**2 + share @ (slack**2 if squared else slack)


def by_quadratic_programme(problem):
    """The minimum in theta and the slacks, by sequential least squares."""
    rows, share, linear, ridge, squared = problem
    m, q = rows.shape
    constraints = np.column_stack((rows, np.eye(m)))
    found = minimize(
        lambda z: linear @ z[:q] + 0.5 * ridge @ z[:q] ** 2 + share @ (z[q:] ** 2 if squared else z[q:]),
        np.append(np.zeros(q), np.ones(m)),
        jac=lambda z: np.concatenate((linear + ridge * z[:q], 2 * share * z[q:] if squared else share)),
        bounds=[(None, None)] * q + [(0, None)] * m,
        constraints=[{"type": "ineq", "fun": lambda z: constraints @ z - 1, "jac": lambda _: constraints}],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1_000},
    )
    assert found.success, found.message
    return found.fun


@pytest.mark.parametrize("q", [1, 2, 7, 30])
def test_a_cholesky_factor_solves_as_lapack_does(q):
    matrix, right = positive_definite(q), np.arange(1.0, q + 1)
    factor, out = matrix.copy(), np.empty(q)
    assert interior_point.cholesky(factor, 1e-13) == 0
    assert_allclose(np.tril(factor), np.linalg.cholesky(matrix), rtol=1e-10)
    interior_point.solve_factored(factor, right, out)
    assert_allclose(out, np.linalg.solve(matrix, right), rtol=1e-9)


def test_directions_without_curvature_are_held():
    matrix = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    out = np.empty(3)
    assert interior_point.cholesky(matrix, 1e-13) == 1
    interior_point.solve_factored(matrix, np.array([4.0, 4.0, 6.0]), out)
    assert_allclose(out, [2.0, 0.0, 2.0])


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_steps_lead_to_the_minimum_of_a_quadratic_programme(seed, squared):
    problem = small_problem(seed, squared)
    rows, share, _, ridge, _ = problem
    theta, state = np.zeros(4), np.empty((4, 30))
    interior_point.begin(problem, theta, 1.0, state)
    unchanged, gaps = np.zeros_like(state), []
    for _ in range(30):
        gaps.append(interior_point.gap_after(problem, state, unchanged, 0.0))
        if gaps[-1] < 1e-12:
            break
        weight = interior_point.weights(problem, state)
        factor = np.linalg.cholesky((rows * (share * weight)[:, None]).T @ rows + np.diag(ridge))
        assert interior_point.step(problem, state, theta, weight, factor) > 0
        assert (state[[0, 3]] > 0).all()
    assert gaps[-1] < 1e-12
    assert_allclose(value(problem, theta), by_quadratic_programme(problem), rtol=1e-7)
    gradient = ridge * theta - (share * state[0]) @ rows
    assert_allclose(gradient, 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_a_table_in_cache_is_solved_to_the_minimum(seed):
    problem = small_problem(seed)
    rows, share, _, ridge, _ = problem
    theta, dual = np.zeros(4), np.empty(30)
    assert smoothed_hinge.solve(rows, share, ridge, theta, dual, 0.5, 0.03, 6.0, 10.0, 1e-12)
    assert_allclose(value(problem, theta), by_quadratic_programme(problem), rtol=1e-7)
    assert dual.min() >= 0
    assert dual.max() <= 1 + 1e-12
    assert_allclose(ridge * theta - (share * dual) @ rows, 0, atol=1e-8)


def test_the_squared_hinge_by_newtons_method_alone():
    problem = small_problem(0, squared=True)
    theta = np.zeros(4)
    smoothed_hinge.follow(SQUARED_HINGE, problem, theta, 1.0, 1.0, 6.0)
    assert_allclose(value(problem, theta), by_quadratic_programme(problem), rtol=1e-9)
