"""Scatter as a matrix or as its thin root, and the covariance that is read from it.

A `Covariance` is a factorisation ``covariance = (W W')^-1`` behind two maps: rows go ``to_sphere`` (``x W``, where
the covariance is the identity) and directions come back ``from_sphere`` (``W u``). Everything LDA, QDA, Fisher and
least squares need from a covariance goes through these two.

Whether columns are collinear is decided on the correlation scale, so it does not depend on the units of the columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm

Array = np.ndarray[Any, Any]

#: Up to this many columns BLAS is called directly.
_SMALL_FACTOR = 64

_EPS = float(np.finfo(np.float64).eps)


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

    @cached_property
    def _excess(self) -> Array:
        return 1 / np.sqrt(self.values) - 1 / np.sqrt(self.rest)


class Scatter(ABC):
    """A sum of outer products of centred rows."""

    n_columns: int

    @abstractmethod
    def plus(self, rows: Array) -> Scatter:
        """This scatter with the outer products of more rows added."""

    @abstractmethod
    def without(self, columns: Array) -> Scatter:
        """The same with these columns set to 0, as if they did not vary at all."""

    @abstractmethod
    def diagonal(self) -> Array:
        """The sums of squares of the columns."""

    @abstractmethod
    def relative_norm(self) -> float:
        """The sum of the squares of all entries (the trace of the square), in units of the squared trace."""

    @abstractmethod
    def covariance(self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0) -> Covariance:
        """`shrunk`, factorised."""

    @abstractmethod
    def as_matrix(self) -> Array:
        """The p x p matrix itself."""

    @abstractmethod
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvectors, one a column, and eigenvalues of the scatter; those that are 0 may be left out."""

    @abstractmethod
    def along(self, basis: Array) -> Array:
        """``u' scatter u`` for each column u of ``basis``."""

    def shrunk(self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0) -> Array:
        """``(1 - shrinkage) S + shrinkage (tr S / p) I + ridge I`` with S = scatter / divisor, a p x p matrix."""
        matrix = self.as_matrix() * ((1 - shrinkage) / divisor)
        if shrinkage or ridge:
            matrix[np.diag_indices(self.n_columns)] += shrinkage * self.mean_variance(divisor) + ridge
        return matrix

    def trace(self) -> float:
        return float(self.diagonal().sum())

    def mean_variance(self, divisor: float) -> float:
        """The average of the variances, the scale of the shrinkage target."""
        return self.trace() / divisor / self.n_columns


@dataclass(frozen=True)
class DenseScatter(Scatter):
    """Scatter as a p x p matrix."""

    matrix: Array

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return int(self.matrix.shape[0])

    def as_matrix(self) -> Array:
        return self.matrix

    def without(self, columns: Array) -> DenseScatter:
        matrix = self.matrix.copy()
        matrix[columns], matrix[:, columns] = 0.0, 0.0
        return DenseScatter(matrix)

    def plus(self, rows: Array) -> DenseScatter:
        return DenseScatter(self.matrix + rows.T @ rows)

    def diagonal(self) -> Array:
        return np.diagonal(self.matrix).copy()

    def relative_norm(self) -> float:
        relative = self.matrix / (self.trace() or 1.0)
        return float(np.vdot(relative, relative))

    def spectrum(self) -> tuple[Array, Array]:
        values, basis = np.linalg.eigh(self.matrix)
        return basis, np.maximum(values, 0.0)

    def along(self, basis: Array) -> Array:
        return np.einsum("ij,ij->j", basis, self.matrix @ basis)

    def covariance(self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0) -> Covariance:
        return factorised(self.shrunk(divisor, shrinkage, ridge))


@dataclass(frozen=True)
class ThinScatter(Scatter):
    """Scatter as ``root' root`` with fewer rows than columns."""

    root: Array

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return int(self.root.shape[1])

    def as_matrix(self) -> Array:
        return self.root.T @ self.root

    def without(self, columns: Array) -> ThinScatter:
        root = self.root.copy()
        root[:, columns] = 0.0
        return ThinScatter(root)

    def plus(self, rows: Array) -> ThinScatter:
        return ThinScatter(np.concatenate((self.root, rows)))

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

    def covariance(self, divisor: float = 1.0, shrinkage: float = 0.0, ridge: float = 0.0) -> Covariance:
        rest = shrinkage * self.mean_variance(divisor) + ridge
        # Without shrinkage the inverse must not depend on the units: axes of the standardised columns.
        scale = np.ones(self.n_columns) if rest > 0 else _scale(self.diagonal() / divisor)
        basis, values = _principal_axes(self.root / scale)
        return SpectralCovariance(scale, basis, (1 - shrinkage) / divisor * values + rest, rest)


def factorised(matrix: Array) -> Covariance:
    """A covariance matrix, positive definite or not quite, as a `Covariance`."""
    scale = _scale(np.diagonal(matrix))
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
    return SpectralCovariance(scale, basis[:, kept], values[kept], 0.0, _aliased_columns(correlation, tolerance))


def _scale(variances: Array) -> Array:
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
    _, singular, axes = np.linalg.svd(root, full_matrices=False)
    kept = singular > singular[0] * _EPS * max(root.shape) if singular[0] > 0 else np.zeros(len(singular), bool)
    return axes[kept].T, singular[kept] ** 2
