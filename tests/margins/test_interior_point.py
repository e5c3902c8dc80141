"""The interior point method of hinges: its minimum by SciPy's programmes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from discriminant.margins.interior_point import HingeProgramme


def small_programme(seed, squared=False):
    """Rows times their sign with the intercept's column last, shares, linear part, ridge."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    rows = np.column_stack((rng.normal(size=(30, 3)) * sign[:, None] + 0.3, sign))
    share = rng.uniform(0.5, 1.5, 30) / 30
    return HingeProgramme(rows, share, np.zeros(4), np.array([0.1, 0.2, 0.3, 0.0]), squared=squared)


def parts(programme):
    return programme.rows, programme.share, programme.linear, programme.ridge, programme.squared


def value(programme, theta):
    rows, share, linear, ridge, squared = parts(programme)
    slack = np.maximum(1 - rows @ theta, 0)
    return linear @ theta + 0.5 * ridge @ theta**2 + share @ (slack**2 if squared else slack)


def by_quadratic_programme(programme):
    """The minimum in theta and the slacks, by sequential least squares."""
    rows, share, linear, ridge, squared = parts(programme)
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


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_steps_lead_to_the_minimum_of_a_quadratic_programme(seed, squared):
    programme, steps = small_programme(seed, squared), [0]
    theta, dual = programme.minimise(np.zeros(4), 1.0, steps)
    assert 0 < steps[0] <= 30
    assert_allclose(value(programme, theta), by_quadratic_programme(programme), rtol=1e-7)
    assert dual.min() >= 0
    assert squared or dual.max() <= 1 + 1e-12
    assert_allclose(programme.ridge * theta - (programme.share * dual) @ programme.rows, 0, atol=1e-8)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("n", "p"), [(1, 1), (2, 0), (1, 5), (40, 1), (40, 12)])
def test_programmes_of_any_shape_have_a_minimum(n, p, squared):
    rng = np.random.default_rng([n, p])
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    rows = np.column_stack((np.where(rng.random((n, p)) < 0.5, 0.0, rng.normal(size=(n, p))), np.ones(n)))
    rows, share, ridge = rows * sign[:, None], np.full(n, 1 / n), np.append(np.ones(p), 0.1)
    theta, dual = HingeProgramme(rows, share, np.zeros(p + 1), ridge, squared=squared).minimise(
        np.zeros(p + 1), 1.0, [0]
    )
    assert ((dual >= 0) & (squared | (dual <= 1 + 1e-9))).all()
    assert_allclose(ridge * theta, (share * dual) @ rows, atol=1e-6)
