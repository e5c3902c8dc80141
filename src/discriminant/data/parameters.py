"""Parameters of estimators, numbers within bounds and names among those allowed; arrays whose shapes fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError, Setting


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, open_below: bool = False
) -> None:
    """Refuse what is not a number from ``least`` to ``most`` (above ``least``, if ``open_below``)."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    if not number or not least <= float(value) <= most or (open_below and float(value) == least):
        raise ParameterError(Setting(name), f" must be {_range(least, most, open_below)}, got {value!r}.")


def check_integer(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ParameterError(Setting(name), f" must be a whole number, at least {least}, got {value!r}.")


def check_choice(name: str, value: Any, allowed: Sequence[str | bool | None]) -> None:
    """Refuse what is none of the names (or None, True, False) that are ``allowed``."""
    if not (value is None or isinstance(value, (str, bool))) or value not in allowed:
        options = " or ".join(map(repr, allowed)) if len(allowed) == 2 else "one of " + ", ".join(map(repr, allowed))
        raise ParameterError(Setting(name), f" must be {options}, got {value!r}.")


def _range(least: float, most: float, open_below: bool) -> str:
    if math.isfinite(most):
        return f"a number {'above' if open_below else 'from'} {least:g} {'and up to' if open_below else 'to'} {most:g}"
    if not math.isfinite(least):
        return "a number"
    return "a positive number" if open_below and least == 0 else f"a number, {least:g} or above"


def require(holds: Any, whole: Any, reason: str) -> None:
    """Refuse an object whose parts do not fit each other, as they may come out of a file."""
    if not holds:
        raise InputError(f"The parts of a {type(whole).__name__} do not fit each other: {reason}.")


def check_shapes(whole: Any, **shapes: str) -> dict[str, int]:
    """The length that each letter of the shapes stands for; refuses parts that are not arrays of floats so shaped.

    >>> from types import SimpleNamespace
    >>> check_shapes(SimpleNamespace(centre=np.zeros(3), coef=np.zeros((2, 3))), centre="p", coef="Kp")
    {'p': 3, 'K': 2}
    """
    sizes: dict[str, int] = {}
    for name, letters in shapes.items():
        array = getattr(whole, name)
        require(isinstance(array, np.ndarray) and array.dtype == np.float64, whole, f"{name} is no array of floats")
        require(array.ndim == len(letters), whole, f"{name} has {array.ndim} dimensions instead of {len(letters)}")
        for letter, length in zip(letters, array.shape, strict=True):
            require(sizes.setdefault(letter, length) == length, whole, f"{name} has the wrong shape {array.shape}")
    return sizes
