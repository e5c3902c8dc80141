"""Normal distributions, those of fitted models, and distances between pairs.

For two normal distributions there is a basis in which the first has covariance I and the second a diagonal covariance.
With ``ratio`` the variances of the second and ``shift`` the difference of the means in this basis, all distances are
sums over axes, computed without cancellation.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtri
from scipy.special import fdtri, gammaincinv, ndtri

from ..arrays import Array, Classifier
from ..data import check_number
from ..errors import DegenerateDataError, InputError, Model, ParameterError
from ..moments.covariance import CholeskyCovariance, factorised
from ..results import plain

#: Trapezoidal rule for the Jensen-Shannon divergence, with errors of exp(-pi / step) and exp(-pi step steps).
STEP: Final = 0.075
N_STEPS: Final = 175


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution of p columns.

    Parameters
    ----------
    mean : array-like of shape (p,), or a number
        Mean vector.
    covariance : array-like of shape (p, p), or a number
        Positive definite covariance matrix, or the variance of a single column.

    See Also
    --------
    class_gaussians : The distributions of a fitted model.
    kl_divergence, bhattacharyya : Distances between two of them.

    Examples
    --------
    >>> Gaussian([0, 0], [[2, 1], [1, 2]]).log_density([[0, 0]]).round(4)
    array([-2.3872])
    """

    mean: Any
    covariance: Any
    discrete: ClassVar[bool] = False
    _covariance: CholeskyCovariance = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean, covariance = np.atleast_1d(_numbers(self.mean)), np.atleast_2d(_numbers(self.covariance))
        if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
            raise InputError(
                f"A Gaussian requires a mean of shape (p,) and a covariance of shape (p, p), got {mean.shape} and "
                f"{covariance.shape}."
            )
        largest = np.abs(covariance).max()
        if not np.abs(covariance - covariance.T).max() <= 1e-8 * largest:
            raise InputError("The covariance of a Gaussian must be symmetric. Use (covariance + covariance.T) / 2.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", (covariance + covariance.T) / 2)
        object.__setattr__(self, "_covariance", _full_rank_factor(self.covariance))

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def log_determinant(self) -> float:
        """The log-determinant of the covariance."""
        return self._covariance.log_determinant

    @cached_property
    def root(self) -> Array:
        """The lower triangular L with ``L L'`` the covariance."""
        return self._covariance.scale[:, None] * self._covariance.factor

    @cached_property
    def inverse_root(self) -> Array:
        """The inverse of `root`."""
        # LAPACK directly: SciPy's solve_triangular starts BLAS threads even for a 3 x 3 matrix.
        inverse, _ = dtrtri(self._covariance.factor, lower=1)
        return inverse / self._covariance.scale

    def log_density(self, X: ArrayLike) -> Array:
        """The logarithm of the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, p)
            Rows.

        Returns
        -------
        array of shape (n_rows,)
            Natural logarithms.
        """
        whitened = (np.asarray(X, dtype=np.float64) - self.mean) @ self.inverse_root.T
        constant = self.dimension * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * (constant + np.einsum("ij,ij->i", whitened, whitened))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` random rows of this distribution.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
            Random number generator.

        Returns
        -------
        array of shape (n, p)
            Rows.
        """
        return self.mean + self._covariance.draw(n, rng)

    def quantiles(self, shares: ArrayLike) -> Array:
        """Quantiles of a distribution of one column.

        Parameters
        ----------
        shares : array-like
            Probabilities from 0 to 1.

        Returns
        -------
        array
            One quantile per probability.
        """
        return self.mean[0] + np.sqrt(self.covariance[0, 0]) * ndtri(shares)


#: Normal class distributions: by class, in a list, or those of a fitted Gaussian model.
Gaussians: TypeAlias = "Mapping[Any, Gaussian] | Sequence[Gaussian] | Classifier"


def _numbers(values: ArrayLike) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A Gaussian requires numbers: {error}. Give a mean and a covariance.") from error
    if not np.isfinite(array).all():
        raise InputError("A Gaussian requires finite numbers, got NaN or infinity. Check mean and covariance.")
    return array


def _full_rank_factor(covariance: Array) -> CholeskyCovariance:
    variances = np.diagonal(covariance)
    if (variances <= 0).any():
        j = int(np.argmin(variances > 0))
        raise DegenerateDataError(f"The variance of column {j} is {variances[j]:g}. It must be positive.")
    factor = factorised(covariance)
    if not isinstance(factor, CholeskyCovariance):
        raise DegenerateDataError(
            f"The covariance is singular: rank {factor.rank} for {len(covariance)} columns. Use fewer columns or a "
            "model with shrinkage."
        )
    return factor


def class_gaussians(model: Classifier) -> dict[Any, Gaussian]:
    """The normal distribution of each class of a fitted Gaussian model.

    Parameters
    ----------
    model : fitted LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis or GaussianNB
        Of this package or of scikit-learn (there with ``store_covariance=True`` or ``solver="lsqr"``).

    Returns
    -------
    dict of Gaussian
        By class label.

    See Also
    --------
    class_distances : Distances between the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> found = class_gaussians(LinearDiscriminantAnalysis().fit(*load_iris(return_X_y=True)))
    >>> found[0].mean.round(3)
    array([5.006, 3.428, 1.462, 0.246])
    """
    means, variances = _attribute(model, "means_", "theta_"), _attribute(model, "variances_", "var_")
    covariances = _attribute(model, "covariances_", "covariance_")  # one for each class, or one for all
    if covariances is None and variances is not None:
        covariances = [np.diag(own) for own in variances]
    if means is None or covariances is None:
        raise ParameterError(
            f"{type(model).__name__} has no class means and covariances. Use a fitted Gaussian model (scikit-learn: "
            "with store_covariance=True), or a dict of Gaussian(mean, covariance) by class."
        )
    if isinstance(covariances, np.ndarray) and covariances.ndim == 2:
        covariances = [covariances] * len(means)
    found = {}
    for label, mean, covariance in zip(model.classes_, means, covariances, strict=True):
        try:
            found[plain(label)] = Gaussian(mean, covariance)
        except (InputError, DegenerateDataError) as error:
            raise type(error)(f"Class {plain(label)!r}: {error}") from error
    return found


def distance_limits(model: Classifier, share: float) -> Array:
    """Limits of the squared Mahalanobis distance that contain this share of new rows of each class.

    For normal classes with estimated means and covariances, the distance of a new row follows a multiple of the F
    distribution (Hotelling 1931). With p columns, N_k rows of the class and a covariance with v degrees of freedom
    (N_k - 1, or N - K if pooled), the limit is ``(1 + 1 / N_k) p v / (v - p + 1)`` times the F quantile with p and
    v - p + 1 degrees of freedom.

    Approximations are used for shrinkage g, which counts as ``v / (1 - g)^2`` degrees of freedom, for mixtures of
    covariances (Satterthwaite's degrees of freedom), and for naive Bayes (a gamma distribution with the mean and
    variance of a sum of p independent distances). For models without row counts (scikit-learn), the chi-square
    distribution is used.

    Parameters
    ----------
    model : fitted Gaussian model
        See `class_gaussians`.
    share : float
        Probability between 0 and 1, such as 0.99.

    Returns
    -------
    array of shape (n_classes,)
        In the order of `class_gaussians`.

    See Also
    --------
    class_gaussians : The distributions.
    discriminant.raster.classify_image : Rejects pixels beyond the limit.

    References
    ----------
    Hotelling, H. (1931). The generalization of Student's ratio. Annals of Mathematical Statistics 2.
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> model = QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> distance_limits(model, 0.99).round(2)  # chi-square: 13.28
    array([16.33, 16.33, 16.33])
    """
    check_number("share", share, 0, 1, open_below=True)
    n_classes, p = len(model.classes_), int(model.n_features_in_)
    counts = _class_counts(model)
    if counts is None:
        return np.full(n_classes, 2 * float(gammaincinv(p / 2, share)))
    if _attribute(model, "variances_", "var_") is not None:
        return np.array([_sum_of_distances(share, p, n) for n in counts])
    kept = np.broadcast_to(1.0 - np.asarray(getattr(model, "shrinkage_", 0.0)), n_classes)
    with np.errstate(divide="ignore"):
        degrees = _degrees_of_freedom(model, counts) / kept**2
    if (degrees < p).any():
        k = int(np.argmin(degrees))
        raise DegenerateDataError(
            f"Class {plain(model.classes_[k])!r} has {counts[k]:g} rows for {p} columns, too few for a distance limit. "
            "Use more rows, fewer columns, or ",
            Model("LinearDiscriminantAnalysis"),
            ".",
        )
    return np.array([_hotelling(share, p, n, df) for n, df in zip(counts, degrees, strict=True)])


def _class_counts(model: Classifier) -> Array | None:
    """The number of training rows of each class, if the model stores it."""
    if hasattr(model, "moments_"):
        moments = model.moments_
        return np.asarray((moments.whole() if hasattr(moments, "whole") else moments).weight)
    return _attribute(model, "class_count_")


def _degrees_of_freedom(model: Classifier, counts: Array) -> Array:
    """The degrees of freedom of each class's covariance: separate, pooled, or a mixture."""
    own, n_classes = counts - 1.0, len(counts)
    if hasattr(model, "pooling_"):
        share = np.where(np.eye(n_classes, dtype=bool), 1.0, model.pooling_)  # weights of the scatters in a mixture
        return np.square(share @ own) / (np.square(share) @ own)
    one_for_all = np.ndim(_attribute(model, "covariances_", "covariance_")) == 2
    return np.full(n_classes, own.sum()) if one_for_all else own


def _hotelling(share: float, p: int, n: float, df: float) -> float:
    """The quantile of the distance of a new row from a mean of n rows, for a covariance with df degrees of freedom."""
    if np.isinf(df):
        return (1 + 1 / n) * 2 * float(gammaincinv(p / 2, share))
    return (1 + 1 / n) * p * df / (df - p + 1) * float(fdtri(p, df - p + 1, share))


def _sum_of_distances(share: float, p: int, n: float) -> float:
    """The quantile of the sum of p independent squared distances, each with its own variance (divisor n)."""
    df = max(n - 1, 5.0)
    mean = (1 + 1 / n) * n / (n - 1) * df / (df - 2)
    variance = mean**2 * 2 * (df - 1) / (df - 4)
    scale = variance / (2 * mean)
    return scale * 2 * float(gammaincinv(p * mean / scale / 2, share))


def _attribute(model: Classifier, *names: str) -> Any:
    """The first of these attributes that the model has."""
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


@dataclass(frozen=True)
class GaussianPairs:
    """Pairs of normal distributions in bases that diagonalise both covariances; arrays have shape (n_pairs, p)."""

    shift: Array
    ratio: Array

    @classmethod
    def of(cls, gaussians: list[Gaussian], first: Array, second: Array) -> GaussianPairs:
        """The pairs ``gaussians[first[i]], gaussians[second[i]]``."""
        means = np.stack([g.mean for g in gaussians])
        roots = np.stack([g.root for g in gaussians])
        inverses = np.stack([g.inverse_root for g in gaussians])
        # Singular values of the product have twice the precision of eigenvalues of its square.
        axes, singular, _ = np.linalg.svd(inverses[first] @ roots[second])
        steps = inverses[first] @ (means[second] - means[first])[:, :, None]
        return cls((np.swapaxes(axes, 1, 2) @ steps)[:, :, 0], singular**2)

    def exponent(self, s: Array) -> Array:
        """The Chernoff distance ``-log of the integral of first^s second^(1 - s)`` of each pair."""
        s = s[:, None]
        mixed = (1 - s) + s * self.ratio
        means = s * (1 - s) * self.shift**2 / mixed
        # The logarithm of the arithmetic over the geometric mean of 1 and the ratio.
        near = np.abs(self.ratio - 1) < 0.5
        log_mixed = np.where(near, np.log1p(s * np.where(near, self.ratio - 1, 0.0)), np.log(mixed))
        return 0.5 * (means + np.maximum(log_mixed - s * np.log(self.ratio), 0.0)).sum(axis=1)

    def exponent_slope(self, s: Array) -> Array:
        """The derivative of `exponent`."""
        s = s[:, None]
        mixed, excess = (1 - s) + s * self.ratio, self.ratio - 1
        means = self.shift**2 * ((1 - 2 * s) * mixed - s * (1 - s) * excess) / mixed**2
        return 0.5 * (means + excess / mixed - np.log(self.ratio)).sum(axis=1)

    def bhattacharyya(self) -> Array:
        """The Bhattacharyya distance of each pair."""
        return self.exponent(np.full(len(self.shift), 0.5))

    def mean_distance(self) -> Array:
        """``(m1 - m2)' S^-1 (m1 - m2)`` of each pair, S the mean of the two covariances."""
        return (2 * self.shift**2 / (1 + self.ratio)).sum(axis=1)

    def jensen_shannon(self) -> Array:
        """The Jensen-Shannon divergence of each pair, to rounding.

        It is log 2 minus the mean of ``log(1 + ratio of the densities)``. By Mellin inversion this is an integral over
        t of a weight that decreases like exp(-pi t) times the integral of ``first^s second^(1 - s)`` at
        ``s = 1/2 + it``, which has a closed form. Both are analytic for |Im t| < 1/2, so that the trapezoidal rule has
        an error of exp(-pi / step).
        """
        t = np.arange(N_STEPS) * STEP
        weight = 2 * STEP / ((1 + 4 * t**2) * np.cosh(np.pi * t))
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


def _excess_over_log(ratio: Array) -> Array:
    """``r - 1 - log r``."""
    return np.maximum(ratio - 1 - np.log(ratio), 0.0)


def named_gaussians(given: Gaussians) -> tuple[list[Any], list[Gaussian]]:
    """Class labels and distributions from a dict, a list or a fitted Gaussian model."""
    if isinstance(given, Sequence):
        given = dict(enumerate(given))
    if not isinstance(given, Mapping):
        given = class_gaussians(given)
    for label, gaussian in given.items():
        if not isinstance(gaussian, Gaussian):
            raise ParameterError(
                f"Class {label!r} must be a Gaussian(mean, covariance), got {type(gaussian).__name__}."
            )
    refuse_other_dimensions(list(given), [g.dimension for g in given.values()])
    return list(given), list(given.values())


def refuse_other_dimensions(labels: Sequence[Hashable], dimensions: list[int]) -> None:
    """Raise an error unless all classes have the same number of columns."""
    for label, dimension in zip(labels, dimensions, strict=True):
        if dimension != dimensions[0]:
            raise ParameterError(
                f"Class {labels[0]!r} has {dimensions[0]} columns, class {label!r} has {dimension}. Use the same."
            )
