"""Parameters of estimators: numbers within bounds."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from ..errors import ParameterError, Setting


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


def _range(least: float, most: float, open_below: bool) -> str:
    if math.isfinite(most):
        return f"a number {'above' if open_below else 'from'} {least:g} {'and up to' if open_below else 'to'} {most:g}"
    if not math.isfinite(least):
        return "a number"
    return "a positive number" if open_below and least == 0 else f"a number, {least:g} or above"
