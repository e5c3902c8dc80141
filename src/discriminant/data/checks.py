"""Validation of weights, of estimator parameters, and of objects read from files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError, ParameterError, Setting, WeightError
from ..results import shortened
from .labels import is_single


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """The weights as float64, or None if there are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight)
    except Exception as error:  # each library of frames has errors of its own
        raise WeightError(
            f"sample_weight cannot be converted to an array: {error}. Give one number per row."
        ) from error
    if weight.dtype.kind not in "fiub":
        raise WeightError(f"sample_weight must be numeric, got dtype {weight.dtype}. Give one number per row.")
    weight = np.full(n_rows, weight, dtype=np.float64) if weight.ndim == 0 else weight.astype(np.float64)
    if weight.ndim != 1:
        raise WeightError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if weight.shape[0] != n_rows:
        raise WeightError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): give exactly one weight per row."
        )
    if not np.isfinite(weight).all():
        row = int(np.argmin(np.isfinite(weight)))
        raise WeightError(f"sample_weight contains NaN or infinity: row {row}. Use 0 to exclude a row.")
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise WeightError(
            f"Weights must not be negative: row {row} has weight {weight[row]:g}. Use 0 to exclude a row."
        )
    if not weight.any():
        raise WeightError("All weights are zero: at least two rows need a positive weight.")
    return weight


def has_fractions(weight: Array | None) -> TypeGuard[Array]:
    """Whether some weights are not whole numbers, so that they are importances and not frequencies."""
    return weight is not None and not np.array_equal(weight, np.rint(weight))


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, open_below: bool = False
) -> None:
    """Raise an error unless the value is a number from ``least`` to ``most`` (above ``least`` if ``open_below``)."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    if not number or not least <= float(value) <= most or (open_below and float(value) == least):
        raise ParameterError(Setting(name), f" must be {_range(least, most, open_below)}, got {value!r}.")


def check_integer(name: str, value: Any, least: int) -> None:
    """Raise an error unless the value is an integer of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ParameterError(Setting(name), f" must be an integer of at least {least}, got {value!r}.")


def check_choice(name: str, value: Any, allowed: Sequence[str | bool | None]) -> None:
    """Raise an error unless the value is one of ``allowed``."""
    if not (value is None or isinstance(value, (str, bool))) or value not in allowed:
        options = " or ".join(map(repr, allowed)) if len(allowed) == 2 else "one of " + ", ".join(map(repr, allowed))
        raise ParameterError(Setting(name), f" must be {options}, got {value!r}.")


def _range(least: float, most: float, open_below: bool) -> str:
    if math.isfinite(most):
        return f"a number {'above' if open_below else 'from'} {least:g} {'and up to' if open_below else 'to'} {most:g}"
    if not math.isfinite(least):
        return "a number"
    return "a positive number" if open_below and least == 0 else f"a number of at least {least:g}"


def require(holds: bool, whole: Any, reason: str) -> None:
    """Raise an error about an inconsistent object, which may come from a file, unless the condition holds."""
    if not holds:
        raise InputError(
            f"Inconsistent {type(whole).__name__}: {reason}. The model file may be damaged: copy it again, or save the "
            "model again."
        )


def check_types(record: Any) -> None:
    """Raise an error unless the fields of a dataclass, which may come from a file, have their declared types."""
    for name, declared in get_type_hints(type(record)).items():
        value = getattr(record, name)
        require(_is_of(value, declared), record, f"{name} is {shortened(repr(value), 40)}")


def _is_of(value: Any, declared: Any) -> bool:
    """Whether a value has a declared type: a class, literal, union, tuple or dict."""
    kind, inner = get_origin(declared), get_args(declared)
    if kind in (Union, UnionType):
        return any(_is_of(value, one) for one in inner)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind is tuple:
        return isinstance(value, tuple) and all(_is_of(one, inner[0]) for one in value)
    if kind in (dict, Mapping):
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_is_of(key, inner[0]) and _is_of(one, inner[1]) for key, one in pairs)
    if declared in (int, float):
        return isinstance(value, (int, declared)) and not isinstance(value, bool)
    return is_single(value) if declared is Any else isinstance(value, kind or declared)


def check_shapes(whole: Any, **shapes: str) -> dict[str, int]:
    """The length of each dimension, named by letters; raises an error unless attributes are floats of these shapes.

    >>> from types import SimpleNamespace
    >>> check_shapes(SimpleNamespace(centre=np.zeros(3), coef=np.zeros((2, 3))), centre="p", coef="Kp")
    {'p': 3, 'K': 2}
    """
    sizes: dict[str, int] = {}
    for name, letters in shapes.items():
        array = getattr(whole, name)
        require(isinstance(array, np.ndarray) and array.dtype == np.float64, whole, f"{name} is not a float array")
        require(array.ndim == len(letters), whole, f"{name} has {array.ndim} dimensions instead of {len(letters)}")
        for letter, length in zip(letters, array.shape, strict=True):
            require(sizes.setdefault(letter, length) == length, whole, f"{name} has the wrong shape {array.shape}")
    return sizes
