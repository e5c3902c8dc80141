"""Entropy, cross-entropy and divergences, of probability tables and of normal distributions.

Fitting a model q by maximum likelihood minimises ``cross_entropy(p, q)`` over the shares p of the data, and since
``cross_entropy(p, q) = entropy(p) + kl_divergence(p, q)``, it minimises the divergence.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import entr, rel_entr

from ..errors import InputError, ParameterError
from .gaussians import Gaussian, GaussianPairs

Array = np.ndarray[Any, Any]


def entropy(p: Any, base: float | None = None) -> Any:
    """The entropy of a distribution: ``-sum p log p``, or for a `Gaussian` the differential one.

    Parameters
    ----------
    p : array-like of shape (..., n_values), dict of probabilities, or Gaussian
        Of an array, the last axis holds the probabilities of a distribution.
    base : float, optional
        Of the logarithm; nats by default, ``base=2`` for bits.

    Examples
    --------
    >>> entropy([0.5, 0.5], base=2)
    1.0
    """
    unit = _unit(base)
    if isinstance(p, Gaussian):
        return 0.5 * (p.dimension * (1 + np.log(2 * np.pi)) + p.log_determinant) / unit
    return _plain(entr(_tables(p)[0]).sum(axis=-1) / unit)


def kl_divergence(p: Any, q: Any, base: float | None = None) -> Any:
    """The Kullback-Leibler divergence ``KL(p || q) = sum p log(p / q)``; infinite where q cannot produce what p does.

    Parameters
    ----------
    p, q : two distributions of one kind: arrays of shape (..., n_values), dicts of probabilities, or Gaussians
    base : float, optional
        Of the logarithm; nats by default.

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
    if _both_gaussian(p, q):
        return float(GaussianPairs.of([p, q], np.array([0]), np.array([1])).kl_forward()[0] / unit)
    first, second = _tables(p, q)
    return _plain(rel_entr(first, second).sum(axis=-1) / unit)


def cross_entropy(p: Any, q: Any, base: float | None = None) -> Any:
    """The cross-entropy ``-sum p log q``, the mean code length of draws from p with a code made for q.

    Parameters
    ----------
    p, q : two distributions of one kind: arrays of shape (..., n_values), dicts of probabilities, or Gaussians
    base : float, optional
        Of the logarithm; nats by default.

    Examples
    --------
    >>> cross_entropy([0.5, 0.5], [0.25, 0.75], base=2) - kl_divergence([0.5, 0.5], [0.25, 0.75], base=2)
    1.0
    """
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        p, q = _tables(p, q)
    return entropy(p, base) + kl_divergence(p, q, base)


def js_divergence(p: Any, q: Any, base: float | None = None) -> Any:
    """The Jensen-Shannon divergence: ``KL(p || m) / 2 + KL(q || m) / 2`` with ``m = (p + q) / 2``.

    It is symmetric and at most log 2. That of two Gaussians has no closed form: it is an integral over one variable,
    which is computed to rounding.

    Parameters
    ----------
    p, q : two distributions of one kind: arrays of shape (..., n_values), dicts of probabilities, or Gaussians
    base : float, optional
        Of the logarithm; nats by default.

    Examples
    --------
    >>> js_divergence([1, 0], [0, 1], base=2)
    1.0
    >>> round(js_divergence(Gaussian(0, 1), Gaussian(1, 1)), 6)
    0.111421
    """
    if _both_gaussian(p, q):
        return float(GaussianPairs.of([p, q], np.array([0]), np.array([1])).jensen_shannon()[0] / _unit(base))
    first, second = _tables(p, q)
    middle = (first + second) / 2
    return (kl_divergence(first, middle, base) + kl_divergence(second, middle, base)) / 2


def _unit(base: Any) -> float:
    """What a result in nats is divided by."""
    if base is None:
        return 1.0
    if not isinstance(base, Real) or not 1 < float(base) < np.inf:
        raise ParameterError(f"base must be a number above 1, for example 2 for bits, got {base!r}.")
    return float(np.log(float(base)))


def _both_gaussian(p: Any, q: Any) -> bool:
    gaussian = isinstance(p, Gaussian), isinstance(q, Gaussian)
    if any(gaussian) and not all(gaussian):
        raise ParameterError("p and q must be of one kind: two Gaussians or two tables of probabilities.")
    if all(gaussian) and p.dimension != q.dimension:
        raise ParameterError(f"p has {p.dimension} columns, q has {q.dimension}: expected the same.")
    return all(gaussian)


def _tables(*given: Any) -> list[Array]:
    """Distributions as arrays over the same values; a value that a dict leaves out has probability 0."""
    mappings = [isinstance(one, Mapping) for one in given]
    if any(mappings):
        if not all(mappings):
            raise ParameterError("p and q must be of one kind: two dicts or two arrays.")
        values = list(dict.fromkeys(value for one in given for value in one))
        given = tuple([one.get(value, 0.0) for value in values] for one in given)
    tables = [_table(name, one) for name, one in zip("pq", given, strict=False)]
    if tables[0].shape[-1] != tables[-1].shape[-1]:
        raise InputError(
            f"p has {tables[0].shape[-1]} values, q has {tables[-1].shape[-1]}: expected the same values in both."
        )
    return tables


def _table(name: str, given: Any) -> Array:
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be probabilities: {error}.") from error
    if table.ndim == 0 or table.shape[-1] == 0:
        raise InputError(f"{name} must be an array of probabilities, got {given!r}.")
    if not (table >= 0).all():
        place = tuple(int(i) for i in np.argwhere(~(table >= 0))[0])
        raise InputError(f"{name} must be probabilities: the entry {place} is {table[place]:g}.")
    total = table.sum(axis=-1)
    if not (np.abs(total - 1) <= 1e-6).all():
        worst = total.flat[int(np.abs(total - 1).argmax())]
        raise InputError(f"The probabilities of {name} must sum to 1, got {worst:.8g}. Divide them by their sum.")
    return table


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
