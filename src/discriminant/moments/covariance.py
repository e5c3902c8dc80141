"""Scatter, the covariance read from it, how far to shrink it, and the rules that follow in closed form.

A `Covariance` is a factorisation ``covariance = (W W')^-1`` behind two maps: rows go ``to_sphere`` (``x W``, where
the covariance is the identity) and directions come back ``from_sphere`` (``W u``). Everything LDA, QDA, Fisher and
least squares need from a covariance goes through these two.

Whether columns are collinear is decided on the correlation scale, so it does not depend on the units of the columns.

A covariance S = scatter / n may be shrunk towards ``(tr S / p) I``: by the formula of Ledoit & Wolf (2004), by that of
Chen, Wiesel, Eldar & Hero (2010), or by held-out likelihood. All of it is algebra on p x p matrices, O(p^3).

Collinearity is told by the equation of a column that is a linear function of others, and by the variance inflation of
one that nearly is: ``1 / (1 - R^2)`` of its regression on the others, the diagonal of the inverse correlations, which
multiplies the variance of its coefficient. The condition index is the root of the largest over the smallest eigenvalue
of the correlations (Belsley, Kuh & Welsch 1980).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm

from ..arrays import Array
from ..data import Rows, as_rows
from ..errors import InputError
from ..results import Finding, listed, number, quoted, shown
from ..rules import DiagonalRule, LinearRule, QuadraticRule

if TYPE_CHECKING:
    from .statistic import FoldMoments


#: Up to this many columns BLAS is called directly.
_SMALL_FACTOR = 64

_EPS = float(np.finfo(np.float64).eps)
#: Directions with less than this share of the largest singular value of rows are rounding.
_NO_DIRECTION = 1e-8
#: Rows with so many times their number of columns have their axes from the products of rows, where eigenvalues of these
#: are above this share of the largest: that costs four of 16 digits.
_WIDE, _TELLING = 4, 1e-4
#: The values of shrinkage that "cv" tries.
SHRINKAGE_GRID = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 19)))
#: The usual reading: above it a coefficient says little by itself.
_INFLATED = 10.0
#: Of more columns than this the correlations take longer to look through than to learn from.
_MOST_COLUMNS = 1000
#: Longer equations are told by the columns on their right side, of which so many are named.
_MOST_TERMS = 4
_MOST_EQUATIONS = 5
#: Standardised coefficients below this are rounding.
_NO_PART = 1e-7


class Covariance(ABC):
    """A factorised covariance matrix of rank ``rank``."""

    rank: int
    #: log-determinant (of the part of full rank, where the rank is not full)
    log_determinant: float
    #: columns that are linear functions of columns before them
    aliased: tuple[int, ...] = ()

    @abstractmethod
    def to_sphere(self, rows: Array) -> Array:
        """``rows @ W``: uncorrelated, with unit variances."""

    @abstractmethod
    def from_sphere(self, directions: Array) -> Array:
        """``W @ directions``: directions of the original space, one a column."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of a normal distribution with mean 0 and this covariance."""

    def solve(self, rows: Array) -> Array:
        """``rows @ covariance^-1`` (its pseudo-inverse where the rank is not full)."""
        return self.from_sphere(self.to_sphere(rows).T).T


def _solve_lower(factor: Array, right: Array, transposed: bool = False) -> Array:
    """``factor^-1 right``, or with the transposed factor."""
    if len(factor) <= _SMALL_FACTOR and right.size:
        # SciPy's own function costs several times as much here, and wakes BLAS threads for nothing.
        return dtrsm(1.0, factor, right, lower=1, trans_a=int(transposed))
    return solve_triangular(factor, right, lower=True, trans=int(transposed), check_finite=False)


class CholeskyCovariance(Covariance):
    """A covariance of full rank: ``scale * L L' * scale`` with ``L`` the Cholesky factor of the correlations."""

    def __init__(self, scale: Array, factor: Array) -> None:
        self.scale = scale
        self.factor = factor
        self.rank = len(scale)
        self.log_determinant = 2 * float(np.log(np.diagonal(factor)).sum() + np.log(scale).sum())

    def to_sphere(self, rows: Array) -> Array:
        return _solve_lower(self.factor, (rows / self.scale).T).T

    def from_sphere(self, directions: Array) -> Array:
        return _solve_lower(self.factor, directions, transposed=True) / self.scale[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return (rng.standard_normal((n, self.rank)) @ self.factor.T) * self.scale


class SpectralCovariance(Covariance):
    """Eigenvalues ``values`` along ``basis`` in scaled columns, and ``rest`` in every direction orthogonal to them.

    With ``rest`` = 0 those directions have no variance and are left out of the inverse.
    """

    def __init__(self, scale: Array, basis: Array, values: Array, rest: float, aliased: tuple[int, ...] = ()) -> None:
        self.scale, self.basis, self.values, self.rest = scale, basis, values, rest
        self.aliased = aliased
        p, r = basis.shape
        self.rank = p if rest > 0 else r
        self.log_determinant = float(np.log(values).sum() + 2 * np.log(scale).sum())
        if rest > 0:
            self.log_determinant += (p - r) * float(np.log(rest))
            self._excess = 1 / np.sqrt(values) - 1 / np.sqrt(rest)

    def to_sphere(self, rows: Array) -> Array:
        scaled = rows / self.scale
        along = scaled @ self.basis
        if self.rest == 0:
            return along / np.sqrt(self.values)
        return scaled / np.sqrt(self.rest) + (along * self._excess) @ self.basis.T

    def from_sphere(self, directions: Array) -> Array:
        if self.rest == 0:
            return (self.basis / np.sqrt(self.values)) @ directions / self.scale[:, None]
        along = self.basis.T @ directions
        back = directions / np.sqrt(self.rest) + self.basis @ (self._excess[:, None] * along)
        return back / self.scale[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        noise = rng.standard_normal((n, len(self.scale)))
        along = noise @ self.basis
        root = np.sqrt(self.values) - np.sqrt(self.rest)
        return (np.sqrt(self.rest) * noise + (along * root) @ self.basis.T) * self.scale


class Scatter:
    """A sum of outer products of centred rows, a p x p ``matrix``."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[0])

    def plus(self, rows: Array) -> Scatter:
        """This scatter with the outer products of more rows added."""
        return Scatter(self.matrix + rows.T @ rows)

    def without(self, columns: Array) -> Scatter:
        """The same with these columns set to 0, as if they did not vary at all."""
        matrix = self.matrix.copy()
        matrix[columns], matrix[:, columns] = 0.0, 0.0
        return Scatter(matrix)

    def diagonal(self) -> Array:
        """The sums of squares of the columns."""
        return np.diagonal(self.matrix).copy()

    def relative_norm(self) -> float:
        """The sum of the squares of all entries (the trace of the square), in units of the squared trace."""
        relative = self.matrix / (self.trace() or 1.0)
        return float(np.vdot(relative, relative))

    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvectors, one a column, and eigenvalues of the scatter; those that are 0 may be left out."""
        values, basis = np.linalg.eigh(self.matrix)
        return basis, np.maximum(values, 0.0)

    def along(self, basis: Array) -> Array:
        """``u' scatter u`` for each column u of ``basis``."""
        return np.einsum("ij,ij->j", basis, self.matrix @ basis)

    def covariance(
        self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0, units: Array | None = None
    ) -> Covariance:
        """`shrunk`, factorised; with ``units`` the ridge is ``ridge diag(units^2)``."""
        matrix = self.shrunk(divisor, shrinkage)
        matrix[np.diag_indices(self.n_columns)] += ridge if units is None else ridge * units**2
        return factorised(matrix)

    def shrunk(self, divisor: float = 1.0, shrinkage: float = 0.0) -> Array:
        """``(1 - shrinkage) S + shrinkage (tr S / p) I`` with S = scatter / divisor, a p x p matrix."""
        matrix = self.matrix * ((1 - shrinkage) / divisor)
        if shrinkage:
            matrix[np.diag_indices(self.n_columns)] += shrinkage * self.mean_variance(divisor)
        return matrix

    def trace(self) -> float:
        return float(self.diagonal().sum())

    def mean_variance(self, divisor: float) -> float:
        """The average of the variances, the scale of the shrinkage target."""
        return self.trace() / divisor / self.n_columns


class ThinScatter(Scatter):
    """Scatter as ``root' root`` with fewer rows than columns."""

    def __init__(self, root: Array) -> None:
        self.root = root

    @property
    def matrix(self) -> Array:  # type: ignore[override]
        return self.root.T @ self.root

    @property
    def n_columns(self) -> int:
        return int(self.root.shape[1])

    def plus(self, rows: Array) -> ThinScatter:
        return ThinScatter(np.concatenate((self.root, rows)))

    def without(self, columns: Array) -> ThinScatter:
        root = self.root.copy()
        root[:, columns] = 0.0
        return ThinScatter(root)

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->j", self.root, self.root)

    def relative_norm(self) -> float:
        relative = self.root / (np.sqrt(self.trace()) or 1.0)
        gram = relative @ relative.T
        return float(np.vdot(gram, gram))

    def spectrum(self) -> tuple[Array, Array]:
        return _principal_axes(self.root)

    def along(self, basis: Array) -> Array:
        projected = self.root @ basis
        return np.einsum("ij,ij->j", projected, projected)

    def covariance(
        self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0, units: Array | None = None
    ) -> Covariance:
        rest = shrinkage * self.mean_variance(divisor) + ridge
        # Without shrinkage the inverse must not depend on the units: axes of the standardised columns.
        scale = np.ones(self.n_columns) if rest > 0 else standard_deviations(self.diagonal() / divisor)
        scale = scale if units is None else units
        basis, values = _principal_axes(self.root / scale)
        return SpectralCovariance(scale, basis, (1 - shrinkage) / divisor * values + rest, rest)


#: A share of its variance that elimination may leave, by rounding, to a column that follows from others.
_MOST_SWEPT_ROUNDING = 1e-10


def factorised(matrix: Array) -> Covariance:
    """A covariance matrix, positive definite or not quite, as a `Covariance`."""
    scale = standard_deviations(np.diagonal(matrix))
    correlation = matrix / np.outer(scale, scale)
    tolerance = 8 * _EPS * max(len(scale), 8)
    try:
        factor = np.linalg.cholesky(correlation)
        if np.diagonal(factor).min() ** 2 > tolerance:
            return CholeskyCovariance(scale, factor)
    except np.linalg.LinAlgError:
        pass  # not of full rank: the spectrum below tells which directions are there
    values, basis = np.linalg.eigh(correlation)
    kept = values > tolerance * values[-1]
    aliased = _aliased_columns(correlation, tolerance)
    while len(aliased) < int((~kept).sum()) and tolerance < _MOST_SWEPT_ROUNDING:
        tolerance *= 2  # the sweep adds up rounding that the spectrum does not have
        aliased = _aliased_columns(correlation, tolerance)
    return SpectralCovariance(scale, basis[:, kept], values[kept], 0.0, aliased)


def standard_deviations(variances: Array) -> Array:
    """Standard deviations to divide by; 1 where there is no variance."""
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def _aliased_columns(correlation: Array, tolerance: float) -> tuple[int, ...]:
    """Columns that are linear functions of earlier ones: those a Cholesky sweep leaves no variance for."""
    remaining = correlation.copy()
    aliased = []
    for j in range(len(remaining)):
        if remaining[j, j] <= tolerance:
            aliased.append(j)
            continue
        row = remaining[j, j + 1 :]
        remaining[j + 1 :, j + 1 :] -= np.outer(row, row) / remaining[j, j]
    return tuple(aliased)


def _principal_axes(root: Array) -> tuple[Array, Array]:
    """Eigenvectors and positive eigenvalues of ``root' root``, from the singular values of the root."""
    if _WIDE * len(root) <= root.shape[1] and (found := _axes_by_gram_matrix(root)) is not None:
        return found
    _, singular, axes = np.linalg.svd(root, full_matrices=False)
    kept = singular > singular[0] * _EPS * max(root.shape) if singular[0] > 0 else np.zeros(len(singular), bool)
    return axes[kept].T, singular[kept] ** 2


def _axes_by_gram_matrix(root: Array) -> tuple[Array, Array] | None:
    """The same from ``root root'``, in a fifth of the time (56 x 2,000); None where squares cost too many digits."""
    squares, left = np.linalg.eigh(root @ root.T)
    squares, left = squares[::-1], left[:, ::-1]
    kept = squares > _TELLING * squares[0]
    # Directions that the squares do not show have to be none at all.
    rest = np.linalg.norm(left[:, ~kept].T @ root, axis=1)
    if not squares[0] > 0 or not (rest <= np.sqrt(squares[0]) * _EPS * max(root.shape)).all():
        return None
    return root.T @ (left[:, kept] / np.sqrt(squares[kept])), squares[kept]


def row_span(rows: Array, exact: bool = False) -> tuple[Array, Array]:
    """Few rows of many columns in the coordinates of their own span, and ``back``.

    The directions of the span are ``rows.T @ back``: as large as the rows, where mostly a few products are wanted.
    Those below 1e-8 of the largest are rounding, unless the span is to be ``exact``: without a penalty it would count.
    """
    if exact:
        axes, squares = _principal_axes(rows)
        turned = rows @ axes
        return turned, turned / squares
    squares, left = np.linalg.eigh(rows @ rows.T)
    kept = squares > _NO_DIRECTION**2 * max(squares[-1], np.finfo(float).tiny)
    values = np.sqrt(squares[kept])
    return np.ascontiguousarray(left[:, kept] * values), left[:, kept] / values


def oas(scatter: Scatter, n: float) -> float:
    """Oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero 2010), as scikit-learn computes it."""
    p = scatter.n_columns
    mean_square = scatter.relative_norm() / p**2  # in units of the squared trace, which cancels
    squared_mean = 1 / p**2
    distance = (n + 1) * (mean_square - squared_mean / p)
    return 1.0 if distance <= 0 else min((mean_square + squared_mean) / distance, 1.0)


def ledoit_wolf(scatter: Scatter, n: float, mean_fourth_power: float) -> float:
    """Ledoit & Wolf (2004); ``mean_fourth_power`` is the mean of ``|z|^4`` over the centred rows."""
    p, trace = scatter.n_columns, scatter.trace() / n
    fourth = mean_fourth_power / trace / trace if trace > 0 else 0.0
    if trace > 0 and not 0 < fourth < np.inf:
        raise InputError(
            "Ledoit-Wolf shrinkage needs fourth powers of the values, which are too large or too small to be "
            "represented. Use other units."
        )
    noise = (fourth - scatter.relative_norm()) / (n * p)
    distance = scatter.relative_norm() / p - 1 / p**2
    return 0.0 if distance <= 0 or noise <= 0 else min(noise / distance, 1.0)


def cross_validated(folds: FoldMoments) -> tuple[float, Array]:
    """The shrinkage with the best held-out Gaussian likelihood, and the mean loss at each value of the grid.

    Needs nothing but the moments of the folds: a held-out fold's likelihood under a normal distribution is a function
    of the fold's own moments. Fewer rows than columns are rotated to their own span once, for all folds.
    """
    losses, weight, n_columns = np.zeros(len(SHRINKAGE_GRID)), 0.0, folds.cells.n_columns
    for train, held in folds.in_row_span().splits():
        divisor = train.total_weight - np.count_nonzero(train.present)
        if divisor > 0 and held.total_weight > 0:
            known = train.present & held.present
            steps = np.where(known[:, None], np.sqrt(held.weight)[:, None] * (held.mean - train.mean), 0.0)
            unseen = held.within().plus(steps)
            losses += _gaussian_losses(train.within(), divisor, unseen, held.total_weight, n_columns)
            weight += held.total_weight
    losses /= max(weight, 1.0)
    return float(SHRINKAGE_GRID[int(np.argmin(losses))]), losses


def _gaussian_losses(fitted: Scatter, divisor: float, unseen: Scatter, n: float, n_columns: int) -> Array:
    """Minus log-likelihood (up to a constant) of the unseen rows at each value of the grid.

    Of all ``n_columns`` directions the scatters may know only those that have any variance.
    """
    target = fitted.trace() / divisor / n_columns
    if target <= 0:
        return np.zeros(len(SHRINKAGE_GRID))
    basis, values = fitted.spectrum()
    along = unseen.along(basis)
    across = max(unseen.trace() - float(along.sum()), 0.0)
    missing = n_columns - len(values)
    rest = SHRINKAGE_GRID * target
    variances = (1 - SHRINKAGE_GRID)[:, None] * values / divisor + rest[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_determinant = np.log(variances).sum(axis=1) + (missing * np.log(rest) if missing else 0.0)
        distance = (along / variances).sum(axis=1) + (across / rest if missing else 0.0)
        losses = 0.5 * (n * log_determinant + distance)
    if missing or fitted.covariance(divisor).rank < n_columns:
        losses[SHRINKAGE_GRID == 0] = np.inf  # a flat distribution gives rows outside it no likelihood at all
    return losses


#: A variance below this share of the mean variance is rounding: its covariance has no inverse.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class ClassSpectra:
    """Covariances of K classes in their principal axes, from which those at every shrinkage follow.

    With the pooling l (Friedman 1989) class k has the scatter ``(1 - l) scatter_k + l scatter`` over the same mixture
    of weights; at l = 1 all have one, and what depends on the class is linear.

    Parameters
    ----------
    means : array of shape (K, p)
    axes, variances : arrays of shape (G, p, p) and (G, p)
        For each class, or for all of them (G = 1).
    n_columns : int
        All directions, of which those beyond p have no variance; over them all the variance is averaged to shrink to.
    """

    means: Array
    axes: Array
    variances: Array
    n_columns: int

    @classmethod
    def of(cls, means: Array, covariances: Array, n_columns: int) -> ClassSpectra:
        """Of the covariances of each class, or of the one they share."""
        variances, axes = np.linalg.eigh(covariances)
        return cls(means, axes, np.maximum(variances, 0.0), n_columns)

    @classmethod
    def pooled(cls, means: Array, scatter: Array, weight: Array, pooling: float, n_columns: int) -> ClassSpectra:
        """From the scatter of each class."""
        whole, total = scatter.sum(axis=0), weight.sum()
        if pooling == 1:
            return cls.of(means, whole[None] / total, n_columns)
        parts = ((1 - pooling) * weight + pooling * total)[:, None, None]
        return cls.of(means, ((1 - pooling) * scatter + pooling * whole) / parts, n_columns)

    def shrunk(self, shrinkages: Array) -> tuple[Array, Array]:
        """Variances along the axes at each shrinkage, (G, S, p), and log-determinants; NaN where one is singular."""
        targets = (self.variances.sum(axis=1) / self.n_columns)[:, None, None]
        rest, flat = shrinkages[:, None] * targets, self.n_columns - self.variances.shape[1]
        moved = (1 - shrinkages)[:, None] * self.variances[:, None] + rest
        least = np.minimum(moved.min(axis=2, keepdims=True), rest if flat else np.inf)
        moved = np.where(least > _LEAST_VARIANCE * targets, moved, np.nan)
        determinants = np.log(moved).sum(axis=2)
        if flat:
            determinants += flat * np.log(np.where(rest > 0, rest, np.nan))[:, :, 0]
        return moved, determinants

    def log_densities(self, rows: Array, shrinkages: Array) -> Array:
        """Of each row in each class, (rows, S, K), but for what all classes share; NaN where there is none."""
        variances, determinants = self.shrunk(shrinkages)
        if len(self.axes) == 1:
            along, centres = rows @ self.axes[0], self.means @ self.axes[0]
            scaled = centres / variances[0][:, None]
            found = (along @ scaled.reshape(-1, along.shape[1]).T).reshape(len(rows), *scaled.shape[:2])
            return found - 0.5 * (scaled * centres).sum(axis=2)
        found = np.empty((len(self.means), len(rows), len(shrinkages)))
        for k, (mean, axes, own) in enumerate(zip(self.means, self.axes, variances, strict=True)):
            along = (rows - mean) @ axes
            np.matmul(np.square(along, out=along), (-0.5 / own).T, out=found[k])
            found[k] -= 0.5 * determinants[k]
        return found.transpose(1, 2, 0)

    def rule(self, shrinkage: float, temperature: float, log_priors: Array) -> LinearRule | QuadraticRule:
        """Of ``log prior + temperature * log density``."""
        (own,), (determinants,) = (part.swapaxes(0, 1) for part in self.shrunk(np.array([shrinkage])))
        origin = np.zeros(self.means.shape[1])
        if len(self.axes) == 1:
            coef = temperature * (self.means @ self.axes[0] / own[0]) @ self.axes[0].T
            return LinearRule(origin, coef, log_priors - 0.5 * np.einsum("kp,kp->k", coef, self.means))
        spheres = self.axes / np.sqrt(own / temperature)[:, None]
        return QuadraticRule(origin, self.means, spheres, log_priors - 0.5 * temperature * determinants)


@dataclass(frozen=True)
class Directions:
    """Discriminant directions, best first, in MASS's normalisation: within-class covariance is the identity.

    ``singular[l]**2`` is the variance of the class means along direction l, in units of the variance within, weighted
    by N * prior / (K - 1).
    """

    centre: Array
    scalings: Array
    singular: Array

    def coordinates(self, rows: Array, rank: int | None = None) -> Array:
        return (rows - self.centre) @ self.scalings[:, :rank]


def discriminant_directions(means: Array, centre: Array, priors: Array, n: float, covariance: Covariance) -> Directions:
    """The directions in which the class means differ most, compared with the spread within classes."""
    factor = np.sqrt(n * priors / (len(means) - 1))
    between = covariance.to_sphere(factor[:, None] * (means - centre))
    left, singular, axes = np.linalg.svd(between, full_matrices=False)
    tolerance = 1e-12 * singular[0] + np.finfo(float).tiny
    kept = np.flatnonzero(singular > tolerance)[: len(means) - 1]
    # A direction has no sign of its own: the class that lies farthest out shall lie on the positive side.
    farthest = left[np.abs(left[:, kept]).argmax(axis=0), kept]
    scalings = covariance.from_sphere((axes[kept] * np.sign(farthest)[:, None]).T)
    return Directions(centre, scalings, singular[kept])


def nearest_centroid_rule(means: Array, log_priors: Array, directions: Directions, rank: int | None) -> LinearRule:
    """The class whose mean is nearest in the first ``rank`` directions, the prior taken into account."""
    centroids = directions.coordinates(means, rank)
    coef = centroids @ directions.scalings[:, :rank].T
    return LinearRule(directions.centre, coef, log_priors - 0.5 * np.einsum("kr,kr->k", centroids, centroids))


def gaussian_quadratic_rule(
    means: Array, covariances: list[Covariance], log_priors: Array, centre: Array, temperature: float = 1.0
) -> QuadraticRule:
    """The class of highest log-density, times the temperature, plus log-prior, each class with its own covariance."""
    constants = log_priors - 0.5 * temperature * np.array([c.log_determinant for c in covariances])
    spheres = np.stack([c.from_sphere(np.eye(len(centre))) for c in covariances])
    return QuadraticRule(centre, means - centre, np.sqrt(temperature) * spheres, constants)


def gaussian_diagonal_rule(means: Array, variances: Array, log_priors: Array) -> DiagonalRule:
    """The same with independent columns."""
    return DiagonalRule(means, variances, log_priors - 0.5 * np.log(2 * np.pi * variances).sum(axis=1))


@dataclass(frozen=True)
class Collinearity:
    """What is collinear among columns.

    Attributes
    ----------
    equations : dict of int to str
        Columns that are linear functions of columns before them, and which.
    inflation : array of shape (n_columns,)
        Variance inflation of the other columns; NaN for these.
    condition : float
        Condition index of the other columns.
    """

    equations: dict[int, str]
    inflation: Array
    condition: float


def collinearity(rows: Rows, names: Sequence[str], weight: Array | None = None) -> Collinearity:
    """Which columns are linear functions of others, and how nearly the rest is."""
    from .statistic import column_moments  # which needs this module

    with np.errstate(over="ignore", invalid="ignore"):
        means, covariance = column_moments(rows, weight, "pooled")
    if not np.isfinite(covariance).all():  # squares of numbers this large are none: nothing can be said
        return Collinearity({}, np.full(len(names), np.nan), np.nan)
    scale = np.sqrt(np.diagonal(covariance))
    constant = scale <= 0
    scale = np.where(constant, 1.0, scale)
    correlation = covariance / scale / scale[:, None]
    aliased = {*factorised(covariance).aliased, *np.flatnonzero(constant).tolist()}
    kept = [j for j in range(len(names)) if j not in aliased]
    equations = {}
    for j in sorted(aliased):
        before = [i for i in kept if i < j]
        part = np.linalg.lstsq(correlation[np.ix_(before, before)], correlation[before, j], rcond=None)[0]
        own = {i: float(b * scale[j] / scale[i]) for i, b in zip(before, part, strict=True) if abs(b) > _NO_PART}
        rest = float(means[j]) - sum(b * float(means[i]) for i, b in own.items())
        equations[j] = _equation(names, j, own, rest if abs(rest) > _NO_PART * max(abs(means[j]), scale[j]) else 0.0)
    values, axes = np.linalg.eigh(correlation[np.ix_(kept, kept)])
    inflation = np.full(len(names), np.nan)
    inflation[kept] = (axes**2 / np.maximum(values, np.finfo(float).tiny)).sum(axis=1)
    return Collinearity(equations, inflation, float(np.sqrt(values[-1] / values[0])) if kept else 1.0)


def _equation(names: Sequence[str], j: int, own: dict[int, float], constant: float) -> str:
    """``'total' = 'age' + 2 'height' - 3``; of many terms the columns alone."""
    if len(own) > _MOST_TERMS:
        largest = sorted(own, key=lambda i: -abs(own[i]))
        return f"{shown(names[j])} from {listed([shown(names[i]) for i in largest], _MOST_TERMS)}"
    terms = [(value, f" {shown(names[i])}") for i, value in own.items()] + [(constant, "")]
    written = ""
    for value, name in terms:
        if value == 0 and (name or written):
            continue
        size = "" if name and number(abs(value)) == "1" else number(abs(value))
        sign = ("-" if value < 0 else "") if not written else (" - " if value < 0 else " + ")
        written += f"{sign}{f'{size}{name}'.strip()}"
    return f"{shown(names[j])} = {written}"


def collinearity_findings(X: Any, names: Sequence[str], weight: Array | None = None) -> list[Finding]:
    """What to beware of among the columns of a table, in words; nothing of sparse ones."""
    if sp.issparse(X):
        return []
    rows = as_rows(X)
    if rows.n_rows <= len(names):
        said = f"There are no more rows ({rows.n_rows:,}) than columns ({len(names):,}): every column is a linear "
        said += "function of others, and single coefficients cannot be read."
        return [Finding("warning", "collinear", None, said)]
    if len(names) > _MOST_COLUMNS:
        return []
    found = collinearity(rows, names, weight)
    inflated = [int(j) for j in np.argsort(-np.nan_to_num(found.inflation)) if found.inflation[j] > _INFLATED]
    findings = []
    if found.equations:
        told = list(found.equations.values())
        more = [f"and {len(told) - _MOST_EQUATIONS} more"] if len(told) > _MOST_EQUATIONS else []
        said = f"Linear functions of other columns, which add nothing: {'; '.join(told[:_MOST_EQUATIONS] + more)}."
        findings.append(Finding("warning", "collinear", None, f"{said} Leave them out to read single coefficients."))
    if inflated:
        said = (
            f"Nearly linear functions of other columns: {quoted([names[j] for j in inflated])} (variance inflation up "
            f"to {found.inflation[inflated[0]]:,.0f}, condition index {found.condition:,.0f}). Their single "
            "coefficients are uncertain, even where predictions are good."
        )
        findings.append(Finding("note", "collinear", None, said))
    return findings
