"""Scatter matrices, factorised covariances, shrinkage, and the closed-form rules of discriminant analysis.

A `Covariance` is a factorisation ``covariance = (W W')^-1`` with two maps: `Covariance.whiten` takes rows x to ``x W``,
whose covariance is the identity, and `Covariance.from_whitened` takes directions u to ``W u``. LDA, QDA, Fisher's
discriminant and least squares use only these two.

Collinearity is determined from correlations, so that it does not depend on the units of the columns.

A covariance S = scatter / n may be shrunk towards ``(tr S / p) I``: by the formula of Ledoit & Wolf (2004), that of
Chen, Wiesel, Eldar & Hero (2010), or by cross-validated likelihood. All computations are on p x p matrices, O(p^3).

The variance inflation factor of a column is ``1 / (1 - R^2)`` of its regression on the others, a diagonal entry of the
inverse correlations; it multiplies the variance of the coefficient. The condition index is the square root of the ratio
of the largest to the smallest eigenvalue of the correlations (Belsley, Kuh & Welsch 1980).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.blas import dtrsm

from ..arrays import Array
from ..errors import InputError
from ..rules import DiagonalRule, LinearRule, QuadraticRule

if TYPE_CHECKING:
    from .folds import FoldMoments


_EPS: Final = float(np.finfo(np.float64).eps)
#: Directions whose singular value is a smaller share of the largest are rounding.
MIN_SINGULAR_SHARE: Final = 1e-8
#: Shrinkage values tried by "cv".
SHRINKAGE_GRID: Final = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 19)))


class Covariance(ABC):
    """A factorised covariance matrix."""

    rank: int
    #: log-determinant, of the positive eigenvalues if the rank is not full
    log_determinant: float
    #: columns that are linear functions of earlier columns
    aliased: tuple[int, ...] = ()

    @abstractmethod
    def whiten(self, rows: Array) -> Array:
        """``rows @ W``, uncorrelated with unit variances."""

    @abstractmethod
    def from_whitened(self, directions: Array) -> Array:
        """``W @ directions``, whose columns are directions in the original space."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` random rows of a normal distribution with mean 0 and this covariance."""

    def solve(self, rows: Array) -> Array:
        """``rows @ covariance^-1`` (the pseudo-inverse if the rank is not full)."""
        return self.from_whitened(self.whiten(rows).T).T


def _solve_lower(factor: Array, right: Array, transposed: bool = False) -> Array:
    """``factor^-1 right``, or with the transposed factor; for small matrices several times faster than SciPy.

    The factor is transposed, because BLAS would copy an array that is not in Fortran order.
    """
    return np.asarray(dtrsm(1.0, factor.T, right, lower=0, trans_a=int(not transposed))) if right.size else right


class CholeskyCovariance(Covariance):
    """A covariance of full rank: ``scale * L L' * scale`` with ``L`` the Cholesky factor of the correlations."""

    def __init__(self, scale: Array, factor: Array) -> None:
        self.scale = scale
        self.factor = factor
        self.rank = len(scale)
        self.log_determinant = 2 * float(np.log(np.diagonal(factor)).sum() + np.log(scale).sum())

    def whiten(self, rows: Array) -> Array:
        return _solve_lower(self.factor, (rows / self.scale).T).T

    def from_whitened(self, directions: Array) -> Array:
        return _solve_lower(self.factor, directions, transposed=True) / self.scale[:, None]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return (rng.standard_normal((n, self.rank)) @ self.factor.T) * self.scale


class SpectralCovariance(Covariance):
    """Eigenvalues ``values`` along ``basis`` in scaled columns, and ``rest`` in all orthogonal directions.

    If ``rest`` is 0, those directions have no variance, and the inverse is a pseudo-inverse.
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

    def whiten(self, rows: Array) -> Array:
        scaled = rows / self.scale
        along = scaled @ self.basis
        if self.rest == 0:
            return along / np.sqrt(self.values)
        return scaled / np.sqrt(self.rest) + (along * self._excess) @ self.basis.T

    def from_whitened(self, directions: Array) -> Array:
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
        """The scatter with the outer products of more rows added."""
        return Scatter(self.matrix + rows.T @ rows)

    def without(self, columns: Array) -> Scatter:
        """The scatter with these columns set to 0."""
        matrix = self.matrix.copy()
        matrix[columns], matrix[:, columns] = 0.0, 0.0
        return Scatter(matrix)

    def diagonal(self) -> Array:
        """The sums of squares of the columns."""
        return np.diagonal(self.matrix).copy()

    def relative_squared_norm(self) -> float:
        """The squared Frobenius norm divided by the squared trace."""
        relative = self.matrix / (self.trace() or 1.0)
        return float(np.vdot(relative, relative))

    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvectors (columns) and eigenvalues; zero eigenvalues may be omitted."""
        values, basis = np.linalg.eigh(self.matrix)
        return basis, np.maximum(values, 0.0)

    def along(self, basis: Array) -> Array:
        """``u' scatter u`` for each column u of ``basis``."""
        return np.einsum("ij,ij->j", basis, self.matrix @ basis)

    def covariance(
        self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0, units: Array | None = None
    ) -> Covariance:
        """`shrunk` plus a ridge, factorised; with ``units`` the ridge is ``ridge diag(units^2)``."""
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
        """The mean of the variances, the shrinkage target."""
        return self.trace() / divisor / self.n_columns


class RowScatter(Scatter):
    """A scatter matrix ``root' root`` of fewer rows than columns, stored as its root."""

    def __init__(self, root: Array) -> None:
        self.root = root

    @property
    def matrix(self) -> Array:  # type: ignore[override]
        return self.root.T @ self.root

    @property
    def n_columns(self) -> int:
        return int(self.root.shape[1])

    def plus(self, rows: Array) -> RowScatter:
        return RowScatter(np.concatenate((self.root, rows)))

    def without(self, columns: Array) -> RowScatter:
        root = self.root.copy()
        root[:, columns] = 0.0
        return RowScatter(root)

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->j", self.root, self.root)

    def relative_squared_norm(self) -> float:
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
        # Without shrinkage the pseudo-inverse must not depend on units: use standardised columns.
        scale = np.ones(self.n_columns) if rest > 0 else standard_deviations(self.diagonal() / divisor)
        scale = scale if units is None else units
        basis, values = _principal_axes(self.root / scale)
        return SpectralCovariance(scale, basis, (1 - shrinkage) / divisor * values + rest, rest)


#: The variance share that elimination may leave to an aliased column by rounding.
MAX_SWEEP_ROUNDING: Final = 1e-10


def factorised(matrix: Array) -> Covariance:
    """A positive semidefinite covariance matrix as a `Covariance`."""
    scale = standard_deviations(np.diagonal(matrix))
    correlation = matrix / np.outer(scale, scale)
    tolerance = 8 * _EPS * max(len(scale), 8)
    try:
        factor = np.linalg.cholesky(correlation)
        if np.diagonal(factor).min() ** 2 > tolerance:
            return CholeskyCovariance(scale, factor)
    except np.linalg.LinAlgError:
        pass  # not of full rank
    values, basis = np.linalg.eigh(correlation)
    kept = values > tolerance * values[-1]
    aliased = _aliased_columns(correlation, tolerance)
    while len(aliased) < int((~kept).sum()) and tolerance < MAX_SWEEP_ROUNDING:
        tolerance *= 2  # the sweep accumulates rounding that the spectrum does not have
        aliased = _aliased_columns(correlation, tolerance)
    return SpectralCovariance(scale, basis[:, kept], values[kept], 0.0, aliased)


def standard_deviations(variances: Array) -> Array:
    """Standard deviations for scaling; 1 for constant columns."""
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def _aliased_columns(correlation: Array, tolerance: float) -> tuple[int, ...]:
    """Columns that are linear functions of earlier ones: those without variance left in a Cholesky sweep."""
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
    _, singular, axes = np.linalg.svd(root, full_matrices=False)
    kept = singular > singular[0] * _EPS * max(root.shape) if singular[0] > 0 else np.zeros(len(singular), bool)
    return axes[kept].T, singular[kept] ** 2


def row_span(rows: Array, exact: bool = False) -> tuple[Array, Array]:
    """The coordinates of few rows with many columns in their span, and the weights of the rows in its directions.

    The directions of the span are ``rows.T @ row_weights``; they are not computed, because they have the size of the
    rows. Directions below `MIN_SINGULAR_SHARE` are dropped as rounding unless the span has to be ``exact``, for
    problems without a penalty.
    """
    if exact:
        axes, squares = _principal_axes(rows)
        coordinates = rows @ axes
        return coordinates, coordinates / squares
    squares, left = np.linalg.eigh(rows @ rows.T)
    kept = squares > MIN_SINGULAR_SHARE**2 * max(squares[-1], np.finfo(float).tiny)
    values = np.sqrt(squares[kept])
    return np.ascontiguousarray(left[:, kept] * values), left[:, kept] / values


def oas(scatter: Scatter, n: float) -> float:
    """Oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero 2010), as scikit-learn computes it."""
    p = scatter.n_columns
    mean_square = scatter.relative_squared_norm() / p**2  # relative to the squared trace, which cancels
    squared_mean = 1 / p**2
    distance = (n + 1) * (mean_square - squared_mean / p)
    return 1.0 if distance <= 0 else min((mean_square + squared_mean) / distance, 1.0)


def ledoit_wolf(scatter: Scatter, n: float, mean_fourth_power: float) -> float:
    """Ledoit & Wolf (2004); ``mean_fourth_power`` is the mean of ``|z|^4`` over the centred rows."""
    p, trace = scatter.n_columns, scatter.trace() / n
    fourth = mean_fourth_power / trace / trace if trace > 0 else 0.0
    if trace > 0 and not 0 < fourth < np.inf:
        raise InputError(
            "Ledoit-Wolf shrinkage uses fourth powers of the values, which overflow or underflow. Rescale the columns "
            "to values near 1."
        )
    noise = (fourth - scatter.relative_squared_norm()) / (n * p)
    distance = scatter.relative_squared_norm() / p - 1 / p**2
    return 0.0 if distance <= 0 or noise <= 0 else min(noise / distance, 1.0)


def cross_validated(folds: FoldMoments) -> tuple[float, Array]:
    """The shrinkage with the highest held-out Gaussian likelihood, and the mean loss at each value of the grid.

    The likelihood of a held-out fold is a function of its moments. Fewer rows than columns are projected onto their
    span once for all folds.
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
    """Minus the log-likelihood (up to a constant) of held-out rows at each value of the grid.

    Scatters may be restricted to the directions with variance among all ``n_columns``.
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
        losses[SHRINKAGE_GRID == 0] = np.inf  # a singular distribution has density 0 outside its support
    return losses


#: A covariance is singular if its smallest variance is a smaller share of the mean variance.
MIN_VARIANCE_SHARE: Final = 1e-12


@dataclass(frozen=True)
class ClassSpectra:
    """Covariances of K classes in their principal axes, which give the covariances at every shrinkage.

    With pooling l (Friedman 1989) class k has the scatter ``(1 - l) scatter_k + l scatter``, divided by the same
    mixture of weights. At l = 1 there is one covariance and rules are linear.

    Parameters
    ----------
    means : array of shape (K, p)
    axes, variances : arrays of shape (G, p, p) and (G, p)
        For each class, or common to all (G = 1).
    n_columns : int
        Number of all directions, including those beyond p without variance; the shrinkage target averages over them.
    """

    means: Array
    axes: Array
    variances: Array
    n_columns: int

    @classmethod
    def of(cls, means: Array, covariances: Array, n_columns: int) -> ClassSpectra:
        """From the covariance of each class, or a common one."""
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
        """Variances along the axes at each shrinkage, (G, S, p), and log-determinants; NaN if singular."""
        targets = (self.variances.sum(axis=1) / self.n_columns)[:, None, None]
        rest, flat = shrinkages[:, None] * targets, self.n_columns - self.variances.shape[1]
        shrunk = (1 - shrinkages)[:, None] * self.variances[:, None] + rest
        smallest = np.minimum(shrunk.min(axis=2, keepdims=True), rest if flat else np.inf)
        shrunk = np.where(smallest > MIN_VARIANCE_SHARE * targets, shrunk, np.nan)
        determinants = np.log(shrunk).sum(axis=2)
        if flat:
            determinants += flat * np.log(np.where(rest > 0, rest, np.nan))[:, :, 0]
        return shrunk, determinants

    def log_densities(self, rows: Array, shrinkages: Array) -> Array:
        """Log-densities (rows, S, K) up to a constant for each row and shrinkage; NaN if singular."""
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
        """The rule with scores ``log prior + temperature * log density``."""
        (own,), (determinants,) = (part.swapaxes(0, 1) for part in self.shrunk(np.array([shrinkage])))
        origin = np.zeros(self.means.shape[1])
        if len(self.axes) == 1:
            coef = temperature * (self.means @ self.axes[0] / own[0]) @ self.axes[0].T
            return LinearRule(origin, coef, log_priors - 0.5 * np.einsum("kp,kp->k", coef, self.means))
        spheres = self.axes / np.sqrt(own / temperature)[:, None]
        return QuadraticRule(origin, self.means, spheres, log_priors - 0.5 * temperature * determinants)


@dataclass(frozen=True)
class Directions:
    """Discriminant directions in decreasing order, normalised as in R's MASS to identity within-class covariance.

    ``singular[l]**2`` is the ratio of between-class to within-class variance along direction l, with class weights
    N * prior / (K - 1).
    """

    centre: Array
    scalings: Array
    singular: Array

    def coordinates(self, rows: Array, rank: int | None = None) -> Array:
        return (rows - self.centre) @ self.scalings[:, :rank]


def discriminant_directions(means: Array, centre: Array, priors: Array, n: float, covariance: Covariance) -> Directions:
    """The directions that maximise the ratio of between-class to within-class variance."""
    factor = np.sqrt(n * priors / (len(means) - 1))
    between = covariance.whiten(factor[:, None] * (means - centre))
    left, singular, axes = np.linalg.svd(between, full_matrices=False)
    tolerance = 1e-12 * singular[0] + np.finfo(float).tiny
    kept = np.flatnonzero(singular > tolerance)[: len(means) - 1]
    # The sign of a direction is arbitrary: the most distant class mean gets a positive coordinate.
    farthest = left[np.abs(left[:, kept]).argmax(axis=0), kept]
    scalings = covariance.from_whitened((axes[kept] * np.sign(farthest)[:, None]).T)
    return Directions(centre, scalings, singular[kept])


def nearest_centroid_rule(means: Array, log_priors: Array, directions: Directions, rank: int | None) -> LinearRule:
    """The rule of the nearest class mean in the first ``rank`` directions, adjusted for the priors."""
    centroids = directions.coordinates(means, rank)
    coef = centroids @ directions.scalings[:, :rank].T
    return LinearRule(directions.centre, coef, log_priors - 0.5 * np.einsum("kr,kr->k", centroids, centroids))


def gaussian_quadratic_rule(
    means: Array, covariances: list[Covariance], log_priors: Array, centre: Array, temperature: float = 1.0
) -> QuadraticRule:
    """The rule with scores log-density times temperature plus log-prior, and a covariance for each class."""
    constants = log_priors - 0.5 * temperature * np.array([c.log_determinant for c in covariances])
    spheres = np.stack([c.from_whitened(np.eye(len(centre))) for c in covariances])
    return QuadraticRule(centre, means - centre, np.sqrt(temperature) * spheres, constants)


def gaussian_diagonal_rule(means: Array, variances: Array, log_priors: Array) -> DiagonalRule:
    """The rule with scores log-density plus log-prior for independent columns."""
    return DiagonalRule(means, variances, log_priors - 0.5 * np.log(2 * np.pi * variances).sum(axis=1))
