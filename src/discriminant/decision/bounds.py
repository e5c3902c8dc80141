"""Distances between normal classes, and what they say about the error of the best classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.parameters import check_number
from ..errors import ParameterError
from .gaussians import Gaussian, GaussianPairs, named_gaussians
from .posteriors import kept_priors, label_array
from .priors import check_priors, equal_priors

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ChernoffDistance:
    """``distance = -log of the integral of first^s second^(1 - s)`` at the exponent ``s``."""

    s: float
    distance: float


@dataclass(frozen=True, eq=False)
class ClassDistances:
    """How far apart normal classes are, pair by pair; matrices have shape (K, K) in the order of ``classes``.

    Attributes
    ----------
    classes : array of shape (K,)
    bhattacharyya : ``(d' S^-1 d) / 8 + log(|S| / sqrt(|S1| |S2|)) / 2`` with S the mean of the two covariances
    kl : ``kl[i, j]`` is KL(class i || class j)
    """

    classes: Array
    bhattacharyya: Array
    kl: Array

    @property
    def jeffries_matusita(self) -> Array:
        """``2 (1 - exp(-B))``: from 0, the same distribution, to 2, no overlap."""
        return -2 * np.expm1(-self.bhattacharyya)

    @property
    def divergence(self) -> Array:
        """``KL(i || j) + KL(j || i)``."""
        return self.kl + self.kl.T

    @property
    def transformed_divergence(self) -> Array:
        """``2 (1 - exp(-divergence / 8))``: from 0 to 2."""
        return -2 * np.expm1(-self.divergence / 8)

    @property
    def nearest(self) -> tuple[Any, Any]:
        """The two classes that are hardest to tell apart, by the Bhattacharyya distance."""
        first, second = np.triu_indices(len(self.classes), 1)
        pair = int(np.argmin(self.bhattacharyya[first, second]))
        return self.classes[first[pair]], self.classes[second[pair]]


@dataclass(frozen=True, eq=False)
class ErrorBounds:
    """Bounds on the error of the best classifier of normal classes.

    Matrices have shape (K, K): the error of telling class i from class j, with their priors scaled to sum to 1.

    Attributes
    ----------
    classes, priors : arrays of shape (K,)
    lower : ``(1 - sqrt(1 - 4 p1 p2 exp(-2 B))) / 2``
    bhattacharyya : ``sqrt(p1 p2) exp(-B)``, an upper bound
    chernoff : ``p1^s p2^(1 - s) exp(-k(s))`` at the best s, the tighter upper bound
    exponents : that s, the exponent of class i
    """

    classes: Array
    priors: Array
    lower: Array
    bhattacharyya: Array
    chernoff: Array
    exponents: Array

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds on the error among all classes together.

        It is at most the sum of the errors of all pairs, at least that sum divided by K - 1, and at least that of any
        one pair.
        """
        first, second = np.triu_indices(len(self.classes), 1)
        share = self.priors[first] + self.priors[second]
        lower, upper = share * self.lower[first, second], share * self.chernoff[first, second]
        least = max(lower.max(), lower.sum() / (len(self.classes) - 1))
        return float(least), float(min(upper.sum(), 1 - self.priors.max()))


def bhattacharyya(first: Gaussian, second: Gaussian) -> float:
    """The Bhattacharyya distance between two normal distributions.

    Examples
    --------
    >>> bhattacharyya(Gaussian(0, 1), Gaussian(2, 1))
    0.5
    """
    return float(_pair(first, second).bhattacharyya()[0])


def chernoff(first: Gaussian, second: Gaussian, s: float | None = None) -> ChernoffDistance:
    """The Chernoff distance between two normal distributions, at the exponent s or at the one that makes it largest.

    Parameters
    ----------
    first, second : Gaussian
    s : float in [0, 1], optional
        Exponent of the first density; the second has ``1 - s``.

    Examples
    --------
    >>> chernoff(Gaussian(0, 1), Gaussian(2, 1))
    ChernoffDistance(s=0.5, distance=0.5)
    """
    pair = _pair(first, second)
    if s is None:
        best = _best_exponents(pair, np.zeros(1))
    else:
        check_number("s", s, 0, 1)
        best = np.array([float(s)])
    return ChernoffDistance(float(best[0]), float(pair.exponent(best)[0]))


def class_distances(gaussians: Any) -> ClassDistances:
    """The distances between normal classes, pair by pair.

    Parameters
    ----------
    gaussians : dict of Gaussian by class, list of Gaussian, or a fitted Gaussian model

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


def error_bounds(gaussians: Any, priors: Any = None) -> ErrorBounds:
    """Bounds on the Bayes error of normal classes, pair by pair and of all together.

    Parameters
    ----------
    gaussians : dict of Gaussian by class, list of Gaussian, or a fitted Gaussian model
    priors : array-like or dict, optional
        Default: those of the model, or equal ones.

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
    _refuse_empty_pair(share, classes)
    p1, p2 = share[first] / (share[first] + share[second]), share[second] / (share[first] + share[second])
    affinity = np.sqrt(p1 * p2) * np.exp(-pairs.bhattacharyya())
    s, upper = _chernoff_bounds(pairs, p1, p2)
    exponents = np.full((len(labels), len(labels)), 0.5)
    exponents[first, second], exponents[second, first] = s, 1 - s
    # (1 - sqrt(1 - x)) / 2 without its cancellation for small x
    square = 4 * affinity**2
    lower = square / (2 * (1 + np.sqrt(np.maximum(1 - square, 0.0))))
    low, geometric, best = (_symmetric(values, len(labels)) for values in (lower, affinity, upper))
    return ErrorBounds(classes, share, low, geometric, best, exponents)


def _pair(first: Any, second: Any) -> GaussianPairs:
    _, gaussians = named_gaussians([first, second])
    return GaussianPairs.of(gaussians, np.array([0]), np.array([1]))


def _all_pairs(gaussians: Any) -> tuple[list[Any], GaussianPairs, Array, Array]:
    labels, listed = named_gaussians(gaussians)
    if len(labels) < 2:
        raise ParameterError(f"Distances need at least two classes, got {labels}.")
    first, second = np.triu_indices(len(labels), 1)
    return labels, GaussianPairs.of(listed, first, second), first, second


def _refuse_empty_pair(share: Array, classes: Array) -> None:
    if np.count_nonzero(share == 0) > 1:
        k, j = np.flatnonzero(share == 0)[:2]
        raise ParameterError(
            f"Classes {classes[k]!r} and {classes[j]!r} both have prior 0: leave out those that do not occur."
        )


def _symmetric(values: Array, size: int) -> Array:
    """Values of pairs as a symmetric matrix with 0 on its diagonal."""
    out = np.zeros((size, size))
    out[np.triu_indices(size, 1)] = values
    return out + out.T


def _chernoff_bounds(pairs: GaussianPairs, p1: Array, p2: Array) -> tuple[Array, Array]:
    """The best exponent of each pair and the bound there."""
    with np.errstate(divide="ignore"):
        log_odds = np.log(p1) - np.log(p2)
    s = _best_exponents(pairs, log_odds)
    return s, p1**s * p2 ** (1 - s) * np.exp(-pairs.exponent(s))


def _best_exponents(pairs: GaussianPairs, log_odds: Array) -> Array:
    """Where ``s log_odds - exponent(s)`` is least on [0, 1]: its slope rises, so bisection finds its root."""
    low, high = np.zeros(len(log_odds)), np.ones(len(log_odds))
    for _ in range(60):
        middle = (low + high) / 2
        rising = log_odds - pairs.exponent_slope(middle) >= 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return _snapped((low + high) / 2)


def _snapped(s: Array) -> Array:
    """Exponents at the ends exactly, where bisection only comes near."""
    return np.where(s < 1e-15, 0.0, np.where(s > 1 - 1e-15, 1.0, s))
