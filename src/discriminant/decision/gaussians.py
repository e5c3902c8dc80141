"""Normal distributions, and pairs of them brought to axes on which both are uncorrelated.

For two normal distributions there is a basis in which the first has covariance I and the second a diagonal one. With
``ratio`` the variances of the second and ``shift`` the difference of the means on those axes, every distance between
the two is a sum over axes. No matrix is inverted twice, and no two nearly equal logarithms are subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from ..data.naming import plain
from ..errors import DegenerateDataError, InputError, ParameterError
from ..moments.scatter import CholeskyCovariance, factorised

Array = np.ndarray[Any, Any]

#: Of the trapezoidal rule for the Jensen-Shannon divergence: errors of exp(-pi / step), and of exp(-pi step steps).
_STEP, _STEPS = 0.075, 175


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution of p columns.

    Parameters
    ----------
    mean : array-like of shape (p,), or a number
    covariance : array-like of shape (p, p), or a number: the variance
        Positive definite.

    Examples
    --------
    >>> Gaussian([0, 0], [[2, 1], [1, 2]]).log_density([[0, 0]]).round(4)
    array([-2.3872])
    """

    mean: Any
    covariance: Any

    def __post_init__(self) -> None:
        mean, covariance = np.atleast_1d(_numbers(self.mean)), np.atleast_2d(_numbers(self.covariance))
        if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
            raise InputError(
                f"A Gaussian needs a mean of shape (p,) and a covariance of shape (p, p), got {mean.shape} and "
                f"{covariance.shape}."
            )
        largest = np.abs(covariance).max()
        if not np.abs(covariance - covariance.T).max() <= 1e-8 * largest:
            raise InputError("The covariance of a Gaussian must be symmetric.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", (covariance + covariance.T) / 2)
        object.__setattr__(self, "_factor", _full_rank_factor(self.covariance))

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def log_determinant(self) -> float:
        """Of the covariance."""
        return self._covariance.log_determinant

    @property
    def _covariance(self) -> CholeskyCovariance:
        return self._factor  # type: ignore[attr-defined]

    @cached_property
    def root(self) -> Array:
        """L with ``L L'`` the covariance, lower triangular."""
        return self._covariance.scale[:, None] * self._covariance.factor

    @cached_property
    def inverse_root(self) -> Array:
        """The inverse of `root`."""
        # SciPy's solve_triangular wakes BLAS threads even for a 3 x 3 matrix; the inverse itself needs none.
        inverse, _ = dtrtri(self._covariance.factor, lower=1)
        return inverse / self._covariance.scale

    def log_density(self, X: Any) -> Array:
        """The logarithm of the density at each row."""
        sphered = (np.asarray(X, dtype=np.float64) - self.mean) @ self.inverse_root.T
        constant = self.dimension * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * (constant + np.einsum("ij,ij->i", sphered, sphered))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of this distribution."""
        return self.mean + self._covariance.draw(n, rng)


def _numbers(values: Any) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A Gaussian needs numbers: {error}.") from error
    if not np.isfinite(array).all():
        raise InputError("A Gaussian needs finite numbers, got NaN or infinity.")
    return array


def _full_rank_factor(covariance: Array) -> CholeskyCovariance:
    variances = np.diagonal(covariance)
    if (variances <= 0).any():
        j = int(np.argmin(variances > 0))
        raise DegenerateDataError(f"The variance of column {j} is {variances[j]:g}: a Gaussian needs positive ones.")
    factor = factorised(covariance)
    if not isinstance(factor, CholeskyCovariance):
        raise DegenerateDataError(
            f"The covariance is singular: it has rank {factor.rank} for {len(covariance)} columns. Use fewer columns, "
            "or a model with shrinkage."
        )
    return factor


def class_gaussians(model: Any) -> dict[Any, Gaussian]:
    """The normal distribution of each class in a fitted Gaussian model, by class name.

    Parameters
    ----------
    model : fitted LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis or GaussianNB
        Of this package or of scikit-learn (there with ``store_covariance=True`` or ``solver="lsqr"``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> found = class_gaussians(LinearDiscriminantAnalysis().fit(*load_iris(return_X_y=True)))
    >>> found[0].mean.round(3)
    array([5.006, 3.428, 1.462, 0.246])
    """
    means = next((getattr(model, name) for name in ("means_", "theta_") if hasattr(model, name)), None)
    covariances = _class_covariances(model)
    if means is None or covariances is None:
        raise ParameterError(
            f"{type(model).__name__} has no class means and covariances to read. Give a fitted Gaussian model "
            "(scikit-learn's with store_covariance=True), or a dict of Gaussian(mean, covariance) by class."
        )
    if isinstance(covariances, np.ndarray) and covariances.ndim == 2:
        covariances = [covariances] * len(means)
    pairs = zip(model.classes_, means, covariances, strict=True)
    return {plain(label): _named_gaussian(label, mean, covariance) for label, mean, covariance in pairs}


def _class_covariances(model: Any) -> Any:
    """One covariance for all classes, or one for each."""
    for name in ("covariances_", "covariance_"):
        if hasattr(model, name):
            return getattr(model, name)
    for name in ("variances_", "var_"):
        if hasattr(model, name):
            return [np.diag(variances) for variances in getattr(model, name)]
    return None


def _named_gaussian(label: Any, mean: Array, covariance: Array) -> Gaussian:
    try:
        return Gaussian(mean, covariance)
    except (InputError, DegenerateDataError) as error:
        raise type(error)(f"Class {plain(label)!r}: {error}") from error


@dataclass(frozen=True)
class GaussianPairs:
    """Pairs of normal distributions on axes of their own; arrays have shape (n_pairs, p)."""

    shift: Array
    ratio: Array

    @classmethod
    def of(cls, gaussians: list[Gaussian], first: Array, second: Array) -> GaussianPairs:
        """The pairs ``gaussians[first[i]], gaussians[second[i]]``."""
        means = np.stack([g.mean for g in gaussians])
        roots = np.stack([g.root for g in gaussians])
        inverses = np.stack([g.inverse_root for g in gaussians])
        # Singular values of the product keep twice the digits of the eigenvalues of its square.
        axes, singular, _ = np.linalg.svd(inverses[first] @ roots[second])
        steps = inverses[first] @ (means[second] - means[first])[:, :, None]
        return cls((np.swapaxes(axes, 1, 2) @ steps)[:, :, 0], singular**2)

    def exponent(self, s: Array) -> Array:
        """``-log of the integral of first^s second^(1 - s)`` for each pair."""
        s = s[:, None]
        mixed = (1 - s) + s * self.ratio
        means = s * (1 - s) * self.shift**2 / mixed
        return 0.5 * (means + _log_arithmetic_over_geometric(s, self.ratio)).sum(axis=1)

    def exponent_slope(self, s: Array) -> Array:
        """The derivative of `exponent`."""
        s = s[:, None]
        mixed, excess = (1 - s) + s * self.ratio, self.ratio - 1
        means = self.shift**2 * ((1 - 2 * s) * mixed - s * (1 - s) * excess) / mixed**2
        return 0.5 * (means + excess / mixed - np.log(self.ratio)).sum(axis=1)

    def bhattacharyya(self) -> Array:
        """``-log of the integral of the geometric mean`` of each pair."""
        return self.exponent(np.full(len(self.shift), 0.5))

    def jensen_shannon(self) -> Array:
        """The Jensen-Shannon divergence of each pair, to rounding.

        It is log 2 less the mean of ``log(1 + ratio of the densities)``. By Mellin's inversion that is the integral
        over t of a weight that falls like exp(-pi t), times the integral of ``first^s second^(1 - s)`` at
        ``s = 1/2 + it``, which has a closed form. Both are analytic for |Im t| < 1/2: the trapezoidal rule errs by
        exp(-pi / step) only.
        """
        t = np.arange(_STEPS) * _STEP
        weight = 2 * _STEP / ((1 + 4 * t**2) * np.cosh(np.pi * t))
        weight[0] /= 2
        s = (0.5 + 1j * t)[:, None]
        found = np.empty(len(self.shift))
        for pair, (shift, ratio) in enumerate(zip(self.shift, self.ratio, strict=True)):
            means = (0.25 + t**2)[:, None] * shift**2 / (1 + s * (ratio - 1))
            exponent = 0.5 * (means + np.log1p(s * (ratio - 1)) - s * np.log(ratio)).sum(axis=1)
            size, turn = np.maximum(exponent.real, 0.0), exponent.imag
            found[pair] = weight @ (-np.expm1(-size) + 2 * np.exp(-size) * np.sin(turn / 2) ** 2)
        return np.clip(found, 0.0, np.log(2))

    def kl_forward(self) -> Array:
        """KL(first || second)."""
        return 0.5 * (_excess_over_log(1 / self.ratio) + self.shift**2 / self.ratio).sum(axis=1)

    def kl_backward(self) -> Array:
        """KL(second || first)."""
        return 0.5 * (_excess_over_log(self.ratio) + self.shift**2).sum(axis=1)


def _log_arithmetic_over_geometric(s: Array, ratio: Array) -> Array:
    """``log((1 - s) + s r) - s log r``, which is never negative."""
    near = np.abs(ratio - 1) < 0.5
    mean = np.where(near, np.log1p(s * np.where(near, ratio - 1, 0.0)), np.log((1 - s) + s * ratio))
    return np.maximum(mean - s * np.log(ratio), 0.0)


def _excess_over_log(ratio: Array) -> Array:
    """``r - 1 - log r``, which is never negative."""
    return np.maximum(ratio - 1 - np.log(ratio), 0.0)


def named_gaussians(given: Any) -> tuple[list[Any], list[Gaussian]]:
    """Class names and their distributions, from a dict, a list, or a fitted Gaussian model."""
    if isinstance(given, (list, tuple)):
        given = dict(enumerate(given))
    if not isinstance(given, Mapping):
        given = class_gaussians(given)
    for label, gaussian in given.items():
        if not isinstance(gaussian, Gaussian):
            raise ParameterError(f"Class {label!r} must be a Gaussian(mean, covariance), got {gaussian!r}.")
    refuse_other_dimensions(list(given), [g.dimension for g in given.values()])
    return list(given), list(given.values())


def refuse_other_dimensions(labels: list[Any], dimensions: list[int]) -> None:
    """Raise an error unless all classes have the same number of columns."""
    for label, dimension in zip(labels, dimensions, strict=True):
        if dimension != dimensions[0]:
            raise ParameterError(
                f"Class {labels[0]!r} has {dimensions[0]} columns, class {label!r} has {dimension}: expected the same."
            )
