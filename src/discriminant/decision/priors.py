"""Class priors, and other numbers that come one for each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.naming import plain, shown
from ..errors import ParameterError

Array = np.ndarray[Any, Any]


def check_priors(priors: Any, classes: Array) -> Array:
    """The prior of each class, given in class order or by name.

    >>> check_priors({"b": 0.25, "a": 0.75}, np.array(["a", "b"]))
    array([0.75, 0.25])
    """
    values = one_for_each_class("priors", priors, classes)
    if not (values >= 0).all():
        k = int(np.argmin(values >= 0))
        raise ParameterError(f"priors must be non-negative: class {shown(classes[k])} has {values[k]:g}.")
    if not abs(values.sum() - 1) <= 1e-6:
        raise ParameterError(f"priors must sum to 1, got {values.sum():.6g}. Divide them by their sum.")
    return values


def equal_priors(classes: Array) -> Array:
    """The same prior for every class."""
    return np.full(len(classes), 1 / len(classes))


def one_for_each_class(name: str, given: Any, classes: Array, default: float | None = None) -> Array:
    """Numbers given in class order or by name, in class order; names left out get ``default``, if there is one."""
    if isinstance(given, Mapping):
        given = _by_name(name, given, [plain(label) for label in classes], default)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be numbers, one for each class, got {given!r}.") from error
    if values.shape != (len(classes),):
        came = f"{len(values)} values" if values.ndim == 1 else f"shape {values.shape}"
        raise ParameterError(
            f"{name} must give one number for each of the {len(classes)} classes {_listed(classes)}, got {came}."
        )
    return values


def _by_name(name: str, given: Mapping[Any, Any], known: list[Any], default: float | None) -> list[Any]:
    unknown = [plain(label) for label in given if label not in known]
    if unknown:
        raise ParameterError(f"{name} names {unknown[0]!r}, which is not a class. Classes: {known}.")
    missing = [label for label in known if label not in given]
    if missing and default is None:
        raise ParameterError(f"{name} misses class {missing[0]!r}. Classes: {known}.")
    return [given.get(label, default) for label in known]


def _listed(classes: Array) -> str:
    return str([plain(label) for label in classes])
