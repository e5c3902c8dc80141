"""Scatter as a matrix and as its thin root are one thing, and a covariance inverts what it was made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.moments.covariance import CholeskyCovariance, RowScatter, Scatter, SpectralCovariance, factorised

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(12, 20))
THIN, DENSE = RowScatter(ROOT), Scatter(ROOT.T @ ROOT)
ROWS = RNG.normal(size=(5, 20))


@pytest.mark.parametrize(
    "read",
    [
        lambda s: s.n_columns,
        lambda s: s.matrix,
        lambda s: s.diagonal(),
        lambda s: s.trace(),
        lambda s: s.relative_squared_norm(),
        lambda s: s.mean_variance(7.0),
        lambda s: s.along(ROWS.T),
        lambda s: s.plus(ROWS).matrix,
        lambda s: s.without(np.array([3, 7])).matrix,
        lambda s: s.shrunk(7.0, 0.3),
        lambda s: s.covariance(7.0, 0.3).solve(ROWS),
        lambda s: s.covariance(7.0, 0.3).log_determinant,
        lambda s: s.covariance(7.0, 0.0, 0.4).solve(ROWS),
        lambda s: s.covariance(7.0, 0.0, 0.4).log_determinant,
        lambda s: s.covariance(7.0, 1.0).solve(ROWS),
        lambda s: s.covariance(7.0).rank,
        lambda s: np.sort(s.spectrum()[1])[-12:],
    ],
)
def test_thin_and_dense_scatter_agree(read):
    assert_allclose(read(THIN), read(DENSE), rtol=1e-9, atol=1e-10)


def test_pseudo_inverse_of_thin_and_dense_scatter_agree():
    """Both invert the correlations, in the space they have."""
    assert_allclose(THIN.covariance(7.0).solve(ROWS), DENSE.covariance(7.0).solve(ROWS), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", [THIN, DENSE], ids=["thin", "dense"])
def test_scatter_is_not_changed_by_reading_it(kind):
    before = kind.matrix.copy()
    kind.shrunk(2.0, 0.5)
    kind.without(np.array([0]))
    kind.plus(ROWS)
    kind.covariance(2.0, 0.5)
    assert_array_equal(kind.matrix, before)


COVARIANCES = {
    "cholesky": DENSE.covariance(7.0, 0.3),
    "spectral with a rest": THIN.covariance(7.0, 0.3),
    "spectral without a rest": THIN.covariance(7.0),
}
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES.values(), ids=COVARIANCES)


@every_covariance
def test_sphering_makes_the_covariance_the_identity(covariance):
    spread = THIN.shrunk(7.0, 0.3 if covariance.rank == 20 else 0.0)
    sphere = covariance.whiten(np.eye(20))
    inverse = sphere @ sphere.T
    assert_allclose(spread @ inverse @ spread, spread, rtol=1e-8, atol=1e-8)


@every_covariance
def test_there_and_back_is_the_inverse(covariance):
    there = covariance.whiten(ROWS)
    assert_allclose(covariance.from_whitened(there.T).T, covariance.solve(ROWS), rtol=1e-10)
    back = covariance.from_whitened(np.eye(there.shape[1]))
    assert_allclose(back.T, covariance.whiten(np.eye(20)).T, rtol=1e-7, atol=1e-9)


@every_covariance
def test_drawn_rows_have_the_covariance(covariance):
    spread = THIN.shrunk(7.0, 0.3 if covariance.rank == 20 else 0.0)
    drawn = covariance.draw(100_000, np.random.default_rng(1))
    assert drawn.shape == (100_000, 20)
    assert_allclose(np.cov(drawn.T), spread, atol=5 * np.sqrt(2 / 100_000) * np.diag(spread).max())


def test_full_rank_is_factorised_by_cholesky():
    matrix = DENSE.shrunk(7.0, 0.3)
    covariance = factorised(matrix)
    assert isinstance(covariance, CholeskyCovariance)
    assert covariance.rank == 20
    assert covariance.aliased == ()
    assert_allclose(covariance.solve(ROWS), np.linalg.solve(matrix, ROWS.T).T, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_columns_that_follow_from_others_are_found_in_any_units(scale):
    rows = RNG.normal(size=(50, 5))
    rows[:, 2] = rows[:, 0] - 3 * rows[:, 1]
    rows[:, 4] = 2 * rows[:, 3]
    rows[:, 2] *= scale
    rows[:, 3] *= scale
    covariance = factorised(rows.T @ rows / 49)
    assert isinstance(covariance, SpectralCovariance)
    assert covariance.rank == 3
    assert covariance.aliased == (2, 4)


def test_a_column_without_variance_is_no_direction():
    covariance = factorised(np.diag([1.0, 0.0, 4.0]))
    assert covariance.rank == 2
    assert covariance.aliased == (1,)
    assert_allclose(covariance.solve(np.ones((1, 3))), [[1, 0, 0.25]])


def test_log_determinant_survives_values_beyond_the_range_of_determinants():
    p = 400
    matrix = np.diag(np.full(p, 1e-3))
    assert np.linalg.det(matrix) == 0
    assert_allclose(factorised(matrix).log_determinant, p * np.log(1e-3), rtol=1e-12)
