"""Class distributions: normal ones, pairs of them, and any others that have a density and can be drawn from.

For two normal distributions there is a basis in which the first has covariance I and the second a diagonal one. With
``ratio`` the variances of the second and ``shift`` the difference of the means on those axes, every distance between
the two is a sum over axes. No matrix is inverted twice, and no two nearly equal logarithms are subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import fdtri, gammaincinv, ndtri

from ..arrays import Array
from ..data import as_rows, check_number, is_missing, label_array
from ..decision.posteriors import class_array
from ..errors import DegenerateDataError, InputError, Model, ParameterError
from ..moments.covariance import CholeskyCovariance, factorised
from ..results import plain

#: Of the trapezoidal rule for the Jensen-Shannon divergence: errors of exp(-pi / step), and of exp(-pi step steps).
_STEP, _STEPS = 0.075, 175


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution of p columns.

    Parameters
    ----------
    mean : array-like of shape (p,), or a number
        Of each column.
    covariance : array-like of shape (p, p), or a number: the variance
        Positive definite.

    See Also
    --------
    class_gaussians : Those of a fitted model.
    kl_divergence, bhattacharyya : How far two of them are apart.

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
                f"A Gaussian needs a mean of shape (p,) and a covariance of shape (p, p), got {mean.shape} and "
                f"{covariance.shape}."
            )
        largest = np.abs(covariance).max()
        if not np.abs(covariance - covariance.T).max() <= 1e-8 * largest:
            raise InputError("The covariance of a Gaussian must be symmetric.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", (covariance + covariance.T) / 2)
        object.__setattr__(self, "_covariance", _full_rank_factor(self.covariance))

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return len(self.mean)

    @property
    def log_determinant(self) -> float:
        """Of the covariance."""
        return self._covariance.log_determinant

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
        sphered = (np.asarray(X, dtype=np.float64) - self.mean) @ self.inverse_root.T
        constant = self.dimension * np.log(2 * np.pi) + self.log_determinant
        return -0.5 * (constant + np.einsum("ij,ij->i", sphered, sphered))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows of this distribution.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy.random.Generator
            What draws them.

        Returns
        -------
        array of shape (n, p)
            Rows.
        """
        return self.mean + self._covariance.draw(n, rng)

    def quantiles(self, shares: Any) -> Array:
        """Values of a single column below which these shares of the distribution lie.

        Parameters
        ----------
        shares : array-like
            From 0 to 1.

        Returns
        -------
        array
            One value for each share.
        """
        return self.mean[0] + np.sqrt(self.covariance[0, 0]) * ndtri(shares)


def _numbers(values: Any) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
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

    Returns
    -------
    dict of Gaussian
        By class.

    See Also
    --------
    class_distances : How far apart (Bhattacharyya, divergence).

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
            f"{type(model).__name__} has no class means and covariances to read. Give a fitted Gaussian model "
            "(scikit-learn's with store_covariance=True), or a dict of Gaussian(mean, covariance) by class."
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


def distance_limits(model: Any, share: float) -> Array:
    """The squared Mahalanobis distance within which this share of the rows of each class lies.

    Of rows that the model has not seen, if the classes are normal: means and covariances are estimates, so that the
    distance follows a multiple of the F distribution (Hotelling 1931), not the chi-square one. With p columns, N_k rows
    of the class and a covariance on v degrees of freedom (N_k - 1, or N - K of all classes together), the limit is
    ``(1 + 1 / N_k) p v / (v - p + 1)`` times its quantile on p and v - p + 1 degrees of freedom.

    Shrinkage towards a sphere by g counts as ``v / (1 - g)^2`` degrees of freedom, and a pooled covariance has those of
    Satterthwaite, which are approximations; so is the distribution of naive Bayes, a gamma distribution with the mean
    and variance of a sum of p independent distances. Of models that do not keep the number of their rows (those of
    scikit-learn), the chi-square distribution is taken.

    Parameters
    ----------
    model : fitted Gaussian model
        See `class_gaussians`.
    share : float
        Above 0 and below 1, such as 0.99.

    Returns
    -------
    array of shape (n_classes,)
        In the order of `class_gaussians`.

    See Also
    --------
    class_gaussians : The distributions themselves.
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
            f"Class {plain(model.classes_[k])!r} has {counts[k]:g} rows for {p} columns: how far from its mean a share "
            "of its rows lies is not known. Use more rows, fewer columns, or ",
            Model("LinearDiscriminantAnalysis"),
            ".",
        )
    return np.array([_hotelling(share, p, n, df) for n, df in zip(counts, degrees, strict=True)])


def _class_counts(model: Any) -> Array | None:
    """The rows of each class that a model has learned from, where it keeps them."""
    if hasattr(model, "moments_"):
        moments = model.moments_
        return np.asarray((moments.whole() if hasattr(moments, "whole") else moments).weight)
    return _attribute(model, "class_count_")


def _degrees_of_freedom(model: Any, counts: Array) -> Array:
    """Of the covariance of each class: its own, that of all classes, or a mixture of both."""
    own, n_classes = counts - 1.0, len(counts)
    if hasattr(model, "pooling_"):
        share = np.where(np.eye(n_classes, dtype=bool), 1.0, model.pooling_)  # the weight of each scatter in a mixture
        return np.square(share @ own) / (np.square(share) @ own)
    one_for_all = np.ndim(_attribute(model, "covariances_", "covariance_")) == 2
    return np.full(n_classes, own.sum()) if one_for_all else own


def _hotelling(share: float, p: int, n: float, df: float) -> float:
    """The quantile of the distance of a row from the mean of n others, the covariance having df degrees of freedom."""
    if np.isinf(df):
        return (1 + 1 / n) * 2 * float(gammaincinv(p / 2, share))
    return (1 + 1 / n) * p * df / (df - p + 1) * float(fdtri(p, df - p + 1, share))


def _sum_of_distances(share: float, p: int, n: float) -> float:
    """The same for the sum of p independent squared distances, each with a variance of its own (divided by n)."""
    df = max(n - 1, 5.0)
    mean = (1 + 1 / n) * n / (n - 1) * df / (df - 2)
    variance = mean**2 * 2 * (df - 1) / (df - 4)
    scale = variance / (2 * mean)
    return scale * 2 * float(gammaincinv(p * mean / scale / 2, share))


def _attribute(model: Any, *names: str) -> Any:
    """The first of these attributes that a model has."""
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


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
        # The logarithm of the arithmetic over the geometric mean of 1 and the ratio, which is never negative.
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
        """``-log of the integral of the geometric mean`` of each pair."""
        return self.exponent(np.full(len(self.shift), 0.5))

    def mean_distance(self) -> Array:
        """``(m1 - m2)' S^-1 (m1 - m2)`` of each pair, S the mean of the two covariances."""
        return (2 * self.shift**2 / (1 + self.ratio)).sum(axis=1)

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


class Density(Protocol):
    """The distribution of the rows of one class, such as a `Gaussian`."""

    @property
    def dimension(self) -> int:
        """The number of columns."""

    @property
    def discrete(self) -> bool:
        """Whether there are probabilities instead of densities."""

    def log_density(self, X: Any) -> Array:
        """The logarithm of the density, or of the probability, at each row."""

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` rows, an array of shape (n, dimension)."""


class FrozenDensity:
    """A frozen distribution of SciPy, or another with ``logpdf`` or ``logpmf`` and ``rvs``."""

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        self.discrete = not hasattr(frozen, "logpdf")
        self._log: Callable[[Array], Array] = frozen.logpmf if self.discrete else frozen.logpdf
        self.on_a_line = hasattr(frozen, "ppf")
        self.dimension = int(np.size(frozen.rvs(size=1, random_state=np.random.default_rng(0))))

    def log_density(self, X: Array) -> Array:
        return np.asarray(self._log(X[:, 0] if self.on_a_line else X)).reshape(len(X))

    def quantiles(self, shares: Any) -> Array:
        """Values below which these shares of the distribution of one number lie."""
        return np.asarray(self.frozen.ppf(shares), dtype=np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.frozen.rvs(size=n, random_state=rng), dtype=np.float64).reshape(n, self.dimension)


def _frozen(frozen: Any) -> FrozenDensity:
    """A frozen distribution; some multivariate ones, such as SciPy's dirichlet, do not take one case a row."""
    density = FrozenDensity(frozen)
    try:
        density.log_density(density.draw(density.dimension + 1, np.random.default_rng(0)))
    except ValueError as error:
        raise ParameterError(
            f"The log-density of {type(frozen).__name__} does not take rows of shape (n, {density.dimension}): "
            f"{error}. Give an object with logpdf(rows) and rvs(size, random_state)."
        ) from error
    return density


class TableDensity:
    """Probabilities of a finite number of values; a row holds the code of its value."""

    dimension = 1
    discrete = True

    def __init__(self, probabilities: Array) -> None:
        self.probabilities = probabilities

    def log_density(self, X: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[X[:, 0].astype(np.intp)])

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        codes = rng.choice(len(self.probabilities), size=n, p=self.probabilities)
        return codes[:, None].astype(np.float64)


@dataclass(frozen=True)
class ClassDensities:
    """The distribution of each class over rows of the same kind."""

    classes: Array
    densities: list[Density]
    values: list[Any] | None = None  #: what the codes of a table stand for

    @property
    def dimension(self) -> int:
        return self.densities[0].dimension

    @property
    def discrete(self) -> bool:
        return self.densities[0].discrete

    def log_joint(self, rows: Array, priors: Array) -> Array:
        """The log-density of each row plus the log-prior, for each class."""
        with np.errstate(divide="ignore"):
            return np.column_stack([density.log_density(rows) for density in self.densities]) + np.log(priors)

    def rows(self, X: Any) -> Array:
        """``X`` as the array the densities take; a single column may come flat."""
        flat = X if np.ndim(X) != 1 else np.reshape(np.asarray(X), (-1, 1))
        if self.values is not None:
            return self._coded(flat)
        table = as_rows(flat)
        if table.n_columns != self.dimension:
            raise InputError(f"X has {table.n_columns} columns, but the distributions have {self.dimension}.")
        table.refuse_nonfinite()
        block = table.block(0, table.n_rows)
        return np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)

    def _coded(self, X: Any) -> Array:
        assert self.values is not None
        cells = np.asarray(X, dtype=object)
        if cells.ndim != 2 or cells.shape[1] != 1:
            raise InputError(f"X must be one column of values of the table, got shape {cells.shape}.")
        position = {value: code for code, value in enumerate(self.values)}
        for row, value in enumerate(cells[:, 0]):
            if is_missing(value) or value not in position:
                raise InputError(f"Row {row} has the value {plain(value)!r}, which is not in the table: {self.values}.")
        return np.array([[position[value]] for value in cells[:, 0]], dtype=np.float64)


def class_densities(distributions: Any, classes: Any = None) -> ClassDensities:
    """Distributions in any of the accepted forms, by class."""
    labels, given = _by_class(distributions, classes)
    tables = [isinstance(one, (Mapping, list, tuple, np.ndarray)) for one in given]
    if any(tables):
        if not all(tables):
            raise ParameterError(
                f"Class {labels[tables.index(True)]!r} is a table, class {labels[tables.index(False)]!r} is not: give "
                "distributions of one kind."
            )
        values, shares = _common_values(labels, given)
        return ClassDensities(label_array(labels), [TableDensity(row) for row in shares], values)
    densities = [_density(label, one) for label, one in zip(labels, given, strict=True)]
    refuse_other_dimensions(labels, [density.dimension for density in densities])
    for label, density in zip(labels, densities, strict=True):
        if density.discrete != densities[0].discrete:
            raise ParameterError(
                f"Classes {labels[0]!r} and {label!r} mix a discrete with a continuous distribution: probabilities and "
                "densities cannot be compared."
            )
    return ClassDensities(label_array(labels), densities)


def _by_class(distributions: Any, classes: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(distributions, Mapping):
        labels, given = [plain(label) for label in distributions], list(distributions.values())
        if classes is not None:
            raise ParameterError("classes= is for distributions in a list; in a dict they have names already.")
    else:
        given = list(distributions) if isinstance(distributions, (list, tuple, np.ndarray)) else []
        labels = list(range(len(given))) if classes is None else [plain(label) for label in class_array(classes)]
    if len(given) < 2 or len(labels) != len(given):
        raise ParameterError(
            "distributions must be a list with one distribution for each of at least two classes, a dict by class, or "
            f"a table (K, n_values); got {len(given)} distributions and classes {labels}."
        )
    return labels, given


def _common_values(labels: list[Any], tables: list[Any]) -> tuple[list[Any], Array]:
    """The values of all tables, and the probabilities of each class over them."""
    named = [isinstance(table, Mapping) for table in tables]
    if all(named):
        values = list(dict.fromkeys(plain(value) for table in tables for value in table))
        rows = [[table.get(value, 0.0) for value in values] for table in tables]
    elif any(named):
        raise ParameterError("Some tables name their values, others do not: give a dict for every class, or for none.")
    else:
        values, rows = list(range(len(tables[0]))), [list(table) for table in tables]
    for label, row in zip(labels, rows, strict=True):
        if len(row) != len(values):
            raise ParameterError(f"The table of class {label!r} has {len(row)} values, expected {len(values)}.")
    found = np.stack([probabilities(f"class {k!r}", row, ParameterError) for k, row in zip(labels, rows, strict=True)])
    return values, found / found.sum(axis=1, keepdims=True)


def probabilities(name: str, given: Any, error: type[Exception] = InputError) -> Array:
    """Probabilities along the last axis as an array, checked."""
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as reason:
        raise error(f"{name} must be probabilities: {reason}.") from reason
    if table.ndim == 0 or table.shape[-1] == 0:
        raise error(f"{name} must be an array of probabilities, got {given!r}.")
    if not (table >= 0).all():
        place = tuple(int(i) for i in np.argwhere(~(table >= 0))[0])
        raise error(f"{name} must be probabilities: the entry {place} is {table[place]:g}.")
    total = table.sum(axis=-1)
    if not (np.abs(total - 1) <= 1e-6).all():
        worst = total.flat[int(np.abs(total - 1).argmax())]
        raise error(f"The probabilities of {name} must sum to 1, got {worst:.8g}. Divide them by their sum.")
    return table


def _density(label: Any, one: Any) -> Density:
    """A distribution by what it offers."""
    if hasattr(one, "ppf") and np.ndim(one.ppf(0.5)) > 0:
        raise ParameterError(
            f"Class {label!r} has {np.size(one.ppf(0.5))} distributions in one: its parameters are arrays. Give "
            "numbers, or Gaussian(mean, covariance) for several columns."
        )
    gaussian = one if isinstance(one, Gaussian) else _scipy_gaussian(one)
    if gaussian is not None:
        return gaussian
    if hasattr(one, "rvs") and (hasattr(one, "logpdf") or hasattr(one, "logpmf")):
        return _frozen(one)
    raise ParameterError(
        f"Class {label!r} has {one!r}, expected a frozen scipy.stats distribution such as scipy.stats.norm(0, 1), a "
        "Gaussian(mean, covariance), or a table of probabilities."
    )


def _scipy_gaussian(one: Any) -> Gaussian | None:
    """SciPy's normal distributions as ours, which have exact results."""
    name = type(one).__name__
    if name == "multivariate_normal_frozen":
        with suppress(DegenerateDataError):  # SciPy allows singular covariances
            return Gaussian(one.mean, one.cov)
    if name in ("rv_continuous_frozen", "rv_frozen") and getattr(one.dist, "name", "") == "norm":
        return Gaussian(float(one.mean()), float(one.var()))
    return None
