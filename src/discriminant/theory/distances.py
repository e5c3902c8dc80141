"""Entropy, divergences and distances between distributions, and bounds on the Bayes error.

Maximum likelihood minimises ``cross_entropy(p, q)`` between the empirical distribution p and the model q, and therefore
the divergence, since ``cross_entropy(p, q) = entropy(p) + kl_divergence(p, q)``. The error bounds are those of Chernoff
(1952) and Bhattacharyya (1943).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, entr, rel_entr

from ..arrays import Array, PerClass
from ..data import check_number, label_array
from ..decision.posteriors import check_priors, equal_priors, kept_priors
from ..errors import InputError, ParameterError
from ..results import Result, plain, printed_columns
from .densities import probabilities
from .distributions import Gaussian, GaussianPairs, Gaussians, named_gaussians

#: A table of probabilities, by value or along the last axis, or a normal distribution.
Distribution: TypeAlias = "ArrayLike | Mapping[Any, float] | Gaussian"


def entropy(p: Distribution, base: float | None = None) -> Any:
    """The entropy ``-sum p log p`` of a distribution, or the differential entropy of a `Gaussian`.

    Parameters
    ----------
    p : array-like of shape (..., n_values), dict of probabilities, or Gaussian
        The last axis of an array contains the probabilities of a distribution.
    base : float, optional
        Base of the logarithm; default e (nats), ``base=2`` for bits.

    Returns
    -------
    float, or array of shape (...)
        One value per distribution.

    See Also
    --------
    cross_entropy : Entropy of one distribution relative to another.

    Examples
    --------
    >>> entropy([0.5, 0.5], base=2)
    1.0
    """
    unit = _unit(base)
    if isinstance(p, Gaussian):
        return 0.5 * (p.dimension * (1 + np.log(2 * np.pi)) + p.log_determinant) / unit
    return _plain(entr(_tables(p)[0]).sum(axis=-1) / unit)


def kl_divergence(p: Distribution, q: Distribution, base: float | None = None) -> Any:
    """The Kullback-Leibler divergence ``KL(p || q) = sum p log(p / q)``; infinite if q is 0 where p is not.

    Parameters
    ----------
    p, q : array-like of shape (..., n_values), dict of probabilities, or Gaussian
        True and approximating distribution, of one kind.
    base : float, optional
        Base of the logarithm. Default: e (nats).

    Returns
    -------
    float, or array of shape (...)
        0 for equal distributions, else positive.

    See Also
    --------
    js_divergence : A symmetric divergence.

    References
    ----------
    Kullback and Leibler (1951), On information and sufficiency.

    Examples
    --------
    >>> round(kl_divergence([0.5, 0.5], [0.9, 0.1]), 4)
    0.5108
    >>> kl_divergence([0.5, 0.5], [1.0, 0.0])
    inf
    >>> kl_divergence(Gaussian(0, 1), Gaussian(1, 1))
    0.5
    """
    unit = _unit(base)
    gaussians = _gaussians(p, q)
    if gaussians is not None:
        return float(gaussians.kl_forward()[0] / unit)
    first, second = _tables(p, q)
    return _plain(rel_entr(first, second).sum(axis=-1) / unit)


def cross_entropy(p: Distribution, q: Distribution, base: float | None = None) -> Any:
    """The cross-entropy ``-sum p log q``, the mean code length for p with a code optimal for q.

    Parameters
    ----------
    p, q : array-like of shape (..., n_values), dict of probabilities, or Gaussian
        Two distributions of one kind.
    base : float, optional
        Base of the logarithm; default e (nats).

    Returns
    -------
    float, or array of shape (...)
        In nats, or units of the base.

    See Also
    --------
    entropy : Its minimum over q.
    kl_divergence : The excess over the entropy.

    Examples
    --------
    >>> cross_entropy([0.5, 0.5], [0.25, 0.75], base=2) - kl_divergence([0.5, 0.5], [0.25, 0.75], base=2)
    1.0
    """
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        p, q = _tables(p, q)
    return entropy(p, base) + kl_divergence(p, q, base)


def js_divergence(p: Distribution, q: Distribution, base: float | None = None) -> Any:
    """The Jensen-Shannon divergence: ``KL(p || m) / 2 + KL(q || m) / 2`` with ``m = (p + q) / 2``.

    It is symmetric and at most log 2. For two Gaussians it is computed by one-dimensional integration to rounding.

    Parameters
    ----------
    p, q : array-like of shape (..., n_values), dict of probabilities, or Gaussian
        Both of one kind: tables over the same values, or normal distributions.
    base : float, optional
        Base of the logarithm; with 2 it is in bits and at most 1.

    Returns
    -------
    float, or array of shape (...)
        From 0 to log 2.

    See Also
    --------
    kl_divergence : The asymmetric divergence it is based on.

    References
    ----------
    Lin (1991), Divergence measures based on the Shannon entropy.

    Examples
    --------
    >>> js_divergence([1, 0], [0, 1], base=2)
    1.0
    >>> round(js_divergence(Gaussian(0, 1), Gaussian(1, 1)), 6)
    0.111421
    """
    gaussians = _gaussians(p, q)
    if gaussians is not None:
        return float(gaussians.jensen_shannon()[0] / _unit(base))
    first, second = _tables(p, q)
    middle = (first + second) / 2
    return (kl_divergence(first, middle, base) + kl_divergence(second, middle, base)) / 2


def _unit(base: float | None) -> float:
    """The logarithm of the base, by which results in nats are divided."""
    if base is None:
        return 1.0
    if not isinstance(base, Real) or not 1 < float(base) < np.inf:
        raise ParameterError(f"base must be a number above 1, for example 2 for bits, got {base!r}.")
    return float(np.log(float(base)))


def _gaussians(p: Distribution, q: Distribution) -> GaussianPairs | None:
    """The pair (p, q) of Gaussians; None for tables."""
    if isinstance(p, Gaussian) and isinstance(q, Gaussian):
        if p.dimension != q.dimension:
            raise ParameterError(f"p has {p.dimension} columns, q has {q.dimension}. Use the same columns.")
        return GaussianPairs.of([p, q], np.array([0]), np.array([1]))
    if isinstance(p, Gaussian) or isinstance(q, Gaussian):
        raise ParameterError("p and q must be of one kind: two Gaussians or two tables of probabilities.")
    return None


def _tables(*given: Distribution) -> list[Array]:
    """Distributions as arrays over the same values; values missing from a dict have probability 0."""
    named = [one for one in given if isinstance(one, Mapping)]
    if named and len(named) < len(given):
        raise ParameterError("p and q must be of one kind: two dicts or two arrays.")
    values = list(dict.fromkeys(value for one in named for value in one))
    arrays = [one for one in given if not isinstance(one, (Mapping, Gaussian))]
    rows = [[one.get(value, 0.0) for value in values] for one in named] if named else arrays
    tables = [probabilities(name, one) for name, one in zip("pq", rows, strict=False)]
    if tables[0].shape[-1] != tables[-1].shape[-1]:
        raise InputError(
            f"p has {tables[0].shape[-1]} values, q has {tables[-1].shape[-1]}. Use the same values in both."
        )
    return tables


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, repr=False)
class ChernoffDistance(Result):
    """``distance = -log of the integral of first^s second^(1 - s)`` at the exponent ``s``.

    Attributes
    ----------
    s, distance : float
        The exponent of the first density, and the distance there.

    See Also
    --------
    chernoff : Computes it.
    """

    s: float
    distance: float

    def __str__(self) -> str:
        return f"Chernoff distance {self.distance:.6g} at the exponent {self.s:.4g}"


@dataclass(frozen=True, eq=False, repr=False)
class ClassDistances(Result):
    """Pairwise distances between normal classes; matrices have shape (K, K) in the order of ``classes``.

    Attributes
    ----------
    classes : array of shape (K,)
    bhattacharyya : ``(d' S^-1 d) / 8 + log(|S| / sqrt(|S1| |S2|)) / 2`` with S the mean of the two covariances
    kl : ``kl[i, j]`` is KL(class i || class j)

    See Also
    --------
    class_distances : Computes them.
    """

    classes: Array
    bhattacharyya: Array
    kl: Array

    @property
    def jeffries_matusita(self) -> Array:
        """``2 (1 - exp(-B))``, from 0 (equal distributions) to 2 (no overlap)."""
        return -2 * np.expm1(-self.bhattacharyya)

    @property
    def divergence(self) -> Array:
        """``KL(i || j) + KL(j || i)``."""
        return self.kl + self.kl.T

    @property
    def transformed_divergence(self) -> Array:
        """``2 (1 - exp(-divergence / 8))``, from 0 to 2."""
        return -2 * np.expm1(-self.divergence / 8)

    @property
    def nearest(self) -> tuple[Any, Any]:
        """The two classes with the smallest Bhattacharyya distance."""
        first, second = np.triu_indices(len(self.classes), 1)
        pair = int(np.argmin(self.bhattacharyya[first, second]))
        return self.classes[first[pair]], self.classes[second[pair]]

    def _columns(self) -> dict[str, list[Any]]:
        measures = ("bhattacharyya", "jeffries_matusita", "divergence", "transformed_divergence")
        return _pair_columns(self, measures)

    def __str__(self) -> str:
        nearest = " and ".join(str(plain(label)) for label in self.nearest)
        head = f"Distances between {len(self.classes)} classes; closest classes: {nearest}"
        return "\n".join([head, *printed_columns(self._columns(), names=2)])


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBounds(Result):
    """Bounds on the Bayes error of normal classes.

    Matrices have shape (K, K): bounds for the pair of classes i and j, with their priors scaled to sum to 1.

    Attributes
    ----------
    classes, priors : arrays of shape (K,)
    lower : ``(1 - sqrt(1 - 4 p1 p2 exp(-2 B))) / 2``
    bhattacharyya : upper bound ``sqrt(p1 p2) exp(-B)``, at most the smaller prior
    chernoff : upper bound ``p1^s p2^(1 - s) exp(-k(s))`` at the optimal s
    exponents : the optimal s, the exponent of class i

    See Also
    --------
    error_bounds : Computes them.
    """

    classes: Array
    priors: Array
    lower: Array
    bhattacharyya: Array
    chernoff: Array
    exponents: Array

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds on the Bayes error of all classes.

        It is at most the sum of the pairwise errors, at least this sum divided by K - 1, and at least each of them.
        """
        first, second = np.triu_indices(len(self.classes), 1)
        share = self.priors[first] + self.priors[second]
        lower, upper = share * self.lower[first, second], share * self.chernoff[first, second]
        least = max(lower.max(), lower.sum() / (len(self.classes) - 1))
        return float(least), float(min(upper.sum(), 1 - self.priors.max()))

    def _columns(self) -> dict[str, list[Any]]:
        return _pair_columns(self, ("lower", "bhattacharyya", "chernoff", "exponents"))

    def __str__(self) -> str:
        low, high = self.interval
        head = f"Bounds on the Bayes error of these normal classes: {low:.4g} to {high:.4g}"
        return "\n".join([head, *printed_columns(self._columns(), names=2)])


def _pair_columns(found: ClassDistances | ErrorBounds, measures: tuple[str, ...]) -> dict[str, list[Any]]:
    """A table with one row per pair of classes."""
    first, second = np.triu_indices(len(found.classes), 1)
    names = {"first": found.classes[first].tolist(), "second": found.classes[second].tolist()}
    return names | {name: getattr(found, name)[first, second].tolist() for name in measures}


def bhattacharyya(first: Gaussian, second: Gaussian) -> float:
    """The Bhattacharyya distance between two normal distributions.

    Parameters
    ----------
    first, second : Gaussian
        With the same number of columns.

    Returns
    -------
    float
        0 for equal distributions, else positive.

    See Also
    --------
    chernoff : The generalisation to other exponents than one half.

    References
    ----------
    Bhattacharyya (1943), On a measure of divergence between two statistical populations.

    Examples
    --------
    >>> bhattacharyya(Gaussian(0, 1), Gaussian(2, 1))
    0.5
    """
    return float(_pair(first, second).bhattacharyya()[0])


def chernoff(first: Gaussian, second: Gaussian, s: float | None = None) -> ChernoffDistance:
    """The Chernoff distance between two normal distributions, at exponent s or at the maximising exponent.

    Parameters
    ----------
    first, second : Gaussian
        With the same number of columns.
    s : float in [0, 1], optional
        Exponent of the first density; the second has ``1 - s``.

    Returns
    -------
    ChernoffDistance
        The exponent and the distance.

    See Also
    --------
    bhattacharyya : Its value at exponent one half.

    References
    ----------
    Chernoff (1952), A measure of asymptotic efficiency for tests of a hypothesis.

    Examples
    --------
    >>> chernoff(Gaussian(0, 1), Gaussian(2, 1))
    Chernoff distance 0.5 at the exponent 0.5
    """
    pair = _pair(first, second)
    if s is None:
        best = _best_exponents(pair, np.zeros(1))
    else:
        check_number("s", s, 0, 1)
        best = np.array([float(s)])
    return ChernoffDistance(float(best[0]), float(pair.exponent(best)[0]))


def unbiased_bhattacharyya(gaussians: Gaussians, counts: ArrayLike) -> Array:
    """Bias-corrected Bhattacharyya distances of normal classes with estimated parameters.

    Sampling error increases the differences of means and decreases the determinants of covariances, increasingly with
    the number of columns. Both biases are known exactly for two classes with equal covariances and row counts
    (Lachenbruch & Mickey 1968; the determinant of a Wishart matrix) and are subtracted; the mean of two covariances has
    Satterthwaite's degrees of freedom.

    Parameters
    ----------
    gaussians : dict of Gaussian by class, list of Gaussian, or fitted Gaussian model
        Class distributions, with covariances with divisor n - 1.
    counts : array-like of shape (K,)
        Number of rows of each class.

    Returns
    -------
    array of shape (K, K)
        At least 0; NaN if a class has too few rows for a correction.

    See Also
    --------
    class_distances : Distances without correction.

    References
    ----------
    Lachenbruch, P. A. & Mickey, M. R. (1968). Estimation of error rates in discriminant analysis. Technometrics 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = [rng.normal(size=(30, 8)) for _ in range(2)]  # two samples of one distribution
    >>> gaussians = [Gaussian(rows.mean(axis=0), np.cov(rows.T)) for rows in same]
    >>> round(float(class_distances(gaussians).bhattacharyya[0, 1]), 2)
    0.39
    >>> round(float(unbiased_bhattacharyya(gaussians, [30, 30])[0, 1]), 2)
    0.0
    """
    labels, pairs, first, second = _all_pairs(gaussians)
    n, p = np.asarray(counts, dtype=np.float64), pairs.shift.shape[1]
    own = n - 1
    joint = 4 / (1 / own[first] + 1 / own[second])
    means = pairs.mean_distance()
    chance = p * (1 / n[first] + 1 / n[second])
    with np.errstate(invalid="ignore"):
        unbiased = np.where(joint > p + 1, (joint - p - 1) / joint * means, np.nan) - chance
        logs = pairs.bhattacharyya() - means / 8
        biases = [_log_determinant_bias(df, p) for df in (joint, own[first], own[second])]
        logs = logs - 0.5 * (biases[0] - 0.5 * (biases[1] + biases[2]))
    return _symmetric(np.maximum(unbiased / 8 + logs, 0.0), len(labels))


def _log_determinant_bias(df: Array, p: int) -> Array:
    """The bias of the log-determinant of an estimated covariance; NaN with too few rows."""
    terms = (df[:, None] - np.arange(p)) / 2
    return np.where(df >= p, digamma(np.maximum(terms, 0.5)).sum(axis=1) - p * np.log(df / 2), np.nan)


def class_distances(gaussians: Gaussians) -> ClassDistances:
    """Pairwise distances between normal classes.

    Parameters
    ----------
    gaussians : dict of Gaussian by class, list of Gaussian, or fitted Gaussian model
        Class distributions.

    Returns
    -------
    ClassDistances
        A matrix for each measure.

    See Also
    --------
    error_bounds : Bounds on the Bayes error from distances.
    discriminant.raster.class_separability : Separability of training areas.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> found = class_distances(QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True)))
    >>> found.jeffries_matusita.round(3)
    array([[0.   , 2.   , 2.   ],
           [2.   , 0.   , 1.719],
           [2.   , 1.719, 0.   ]])
    """
    labels, pairs, first, second = _all_pairs(gaussians)
    distance, kl = _symmetric(pairs.bhattacharyya(), len(labels)), np.zeros((len(labels), len(labels)))
    kl[first, second], kl[second, first] = pairs.kl_forward(), pairs.kl_backward()
    return ClassDistances(label_array(labels), distance, kl)


def error_bounds(gaussians: Gaussians, priors: PerClass | None = None) -> ErrorBounds:
    """Bounds on the Bayes error of normal classes, for each pair and for all classes.

    Parameters
    ----------
    gaussians : dict of Gaussian by class, list of Gaussian, or fitted Gaussian model
        Class distributions.
    priors : array-like or dict, optional
        Class priors. Default: those of the model, or equal priors.

    Returns
    -------
    ErrorBounds
        For each pair and for all classes.

    See Also
    --------
    bayes_error : The Bayes error.
    class_distances : The distances used by the bounds.

    Examples
    --------
    >>> found = error_bounds([Gaussian(0, 1), Gaussian(2, 1)])
    >>> low, high = found.interval
    >>> round(low, 4), round(high, 4)
    (0.1025, 0.3033)
    """
    labels, pairs, first, second = _all_pairs(gaussians)
    classes = label_array(labels)
    kept = kept_priors(gaussians) if priors is None else priors
    share = equal_priors(classes) if kept is None else check_priors(kept, classes)
    if np.count_nonzero(share == 0) > 1:
        k, j = np.flatnonzero(share == 0)[:2]
        first_label, second_label = plain(classes[k]), plain(classes[j])
        raise ParameterError(
            f"Classes {first_label!r} and {second_label!r} both have prior 0. Omit classes that do not occur."
        )
    p1, p2 = share[first] / (share[first] + share[second]), share[second] / (share[first] + share[second])
    affinity = np.sqrt(p1 * p2) * np.exp(-pairs.bhattacharyya())
    with np.errstate(divide="ignore"):
        s = _best_exponents(pairs, np.log(p1) - np.log(p2))
    upper = p1**s * p2 ** (1 - s) * np.exp(-pairs.exponent(s))
    exponents = np.full((len(labels), len(labels)), 0.5)
    exponents[first, second], exponents[second, first] = s, 1 - s
    # (1 - sqrt(1 - x)) / 2 without cancellation for small x
    square = 4 * affinity**2
    lower = square / (2 * (1 + np.sqrt(np.maximum(1 - square, 0.0))))
    # The majority-class error is an upper bound.
    least = np.minimum(p1, p2)
    bounds = lower, np.minimum(affinity, least), np.minimum(upper, least)
    low, geometric, best = (_symmetric(values, len(labels)) for values in bounds)
    return ErrorBounds(classes, share, low, geometric, best, exponents)


def _pair(first: Gaussian, second: Gaussian) -> GaussianPairs:
    _, gaussians = named_gaussians([first, second])
    return GaussianPairs.of(gaussians, np.array([0]), np.array([1]))


def _all_pairs(gaussians: Gaussians) -> tuple[list[Any], GaussianPairs, Array, Array]:
    labels, listed = named_gaussians(gaussians)
    if len(labels) < 2:
        raise ParameterError(f"Distances require at least two classes, got {labels}. Add a class.")
    first, second = np.triu_indices(len(labels), 1)
    return labels, GaussianPairs.of(listed, first, second), first, second


def _symmetric(values: Array, size: int) -> Array:
    """Values of pairs as a symmetric matrix with zero diagonal."""
    out = np.zeros((size, size))
    out[np.triu_indices(size, 1)] = values
    return out + out.T


def _best_exponents(pairs: GaussianPairs, log_odds: Array) -> Array:
    """The minimiser of the convex function ``s log_odds - exponent(s)`` on [0, 1], by bisection of its derivative."""
    low, high = np.zeros(len(log_odds)), np.ones(len(log_odds))
    for _ in range(60):
        middle = (low + high) / 2
        rising = log_odds - pairs.exponent_slope(middle) >= 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    s = (low + high) / 2
    # Exactly at the ends of the interval, which bisection only approaches.
    return np.where(s < 1e-15, 0.0, np.where(s > 1 - 1e-15, 1.0, s))
