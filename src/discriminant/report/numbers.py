"""Numbers as the report prints them."""

from __future__ import annotations

import math
from typing import Any

#: Measures that are shares of rows and read best in percent.
SHARES = {
    "accuracy",
    "error",
    "error rate",
    "balanced accuracy",
    "recall",
    "precision",
    "specificity",
    "f1",
    "coverage",
    "accuracy when decided",
}
#: Measures in units of their own, of any size.
COSTS = {"cost", "cost, least risk"}
NOTHING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"  #: as wide as a digit, so that columns align


def count(value: float) -> str:
    """A number of rows, or a sum of weights, with thousands set apart."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(value: float, digits: int = 1) -> str:
    """A share in percent; a dash where there is none."""
    return NOTHING if math.isnan(value) else f"{100 * value:.{digits}f} %"


def decimal(value: float, digits: int = 4) -> str:
    """A number to so many significant digits; a dash where there is none."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    size = 0 if value == 0 else math.floor(math.log10(abs(value)))
    if not -4 <= size < 6:
        return f"{value:.{digits - 1}e}".replace("-", _MINUS)
    return f"{value:.{max(digits - 1 - size, 0)}f}".replace("-", _MINUS)


def signed(value: float, digits: int) -> str:
    """A number with its sign; what rounds to 0 has none."""
    text = f"{value:+.{digits}f}".replace("-", _MINUS)
    return text if text.strip(f"+{_MINUS}0.") else text[1:]


def short(value: float) -> str:
    """A number to three digits at most, such as a threshold or a cost."""
    if math.isinf(value):
        return decimal(value)
    return NOTHING if math.isnan(value) else f"{value:.3g}".replace("-", _MINUS)


def measured(metric: str, value: float) -> str:
    """A measure as it reads best."""
    if metric in SHARES:
        return percent(value)
    if metric in COSTS:
        return decimal(value, 3)
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def between(metric: str, low: float, high: float) -> str:
    """The ends of an interval; an empty text where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    if metric in SHARES:
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    if metric in COSTS:
        return f"{decimal(low, 3)} to {decimal(high, 3)}"
    return f"{low:.3f} to {high:.3f}"


def significance(p: float) -> str:
    """A p-value; very small ones as what they are below."""
    if math.isnan(p):
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def several(n: int, what: str, many: str | None = None) -> str:
    """``1 row``, ``3 rows``."""
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def quoted(label: Any) -> str:
    """A class, action or column named in a sentence."""
    return f"“{label}”"
