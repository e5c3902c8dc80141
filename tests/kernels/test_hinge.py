"""The compiled steps for hinges of small tables end where the interior point method in NumPy does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discriminant.kernels import hinge
from discriminant.margins.interior_point import HingeProgramme


def small_programme(seed, squared, n=30):
    """Rows times their sign with the intercept's column last, shares, linear part, ridge."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rows = np.column_stack((rng.normal(size=(n, 3)) * sign[:, None] + 0.3, sign))
    share = rng.uniform(0.5, 1.5, n) / n
    return HingeProgramme(rows, share, np.zeros(4), np.array([0.1, 0.2, 0.3, 0.0]), squared=squared)


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("seed", range(3))
def test_the_hinge(seed, n):
    programme = small_programme(seed, squared=False, n=n)
    rows, share, ridge = programme.rows, programme.share, programme.ridge
    theta, dual = np.zeros(4), np.empty(n)
    assert hinge.solve(rows, share, ridge, theta, dual, 0.5, 0.03, 6.0, 10.0, 1e-12) > 0
    expected, _ = programme.minimise(np.zeros(4), 1.0, [0])
    assert_allclose(theta, expected, rtol=1e-5, atol=1e-7)
    assert dual.min() >= 0
    assert dual.max() <= 1 + 1e-12
    assert_allclose(ridge * theta - (share * dual) @ rows, 0, atol=1e-8)


def test_the_squared_hinge():
    programme = small_programme(0, squared=True)
    theta = np.zeros(4)
    hinge.minimise_squared(programme.rows, programme.share, programme.ridge, theta)
    expected, _ = programme.minimise(np.zeros(4), 1.0, [0])
    assert_allclose(theta, expected, rtol=1e-8)
