"""Numbers and dates that look like missing-value codes: -999, 9999, 99.9, 9999-12-31 and the like."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from ..arrays import Array

#: Smallest absolute value of nines that is a code at any magnitude of the others, except for -9.
MIN_CODE: Final = 99
#: Distance in days from all other dates beyond which a date is a code.
MIN_DATE_GAP: Final = 365
#: Codes are among this many lowest and highest distinct values.
_N_EXTREMES: Final = 8
#: Missing values of programs and formats: 16 and 32 bit integers, netCDF, rasters of float32, the largest floats.
_FILLS = (2.0**15, 2.0**31 - 1, 2.0**31, 1e20, 1e30, 9.969209968386869e36, 3.4028234663852886e38, sys.float_info.max)
#: With either sign, to 15 digits, since not every parser rounds the last ones correctly.
_FILL_VALUES = frozenset(f"{sign * value:.15g}" for sign in (-1, 1) for value in _FILLS)
_FILL_DATES = ("0001-01-01", "1753-01-01", "1899-12-30", "1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31")
_FILL_DAYS = tuple(float(np.datetime64(day).astype(int)) for day in _FILL_DATES)


def date_sentinels(values: Array) -> tuple[float, ...]:
    """Days that stand for missing dates: further from the other dates than these are from each other."""
    others = values[~np.isnan(values) & ~np.isin(values, _FILL_DAYS)]
    if not others.size:
        return ()
    low, high = others.min(), others.max()
    present = set(_FILL_DAYS).intersection(np.unique(values).tolist())
    return tuple(sorted(day for day in present if max(low - day, day - high) > max(high - low, MIN_DATE_GAP)))


def number_sentinels(values: Array, lowest: float, highest: float) -> tuple[float, ...]:
    """Numbers that stand for missing values.

    A sentinel is further from the other values than these are from each other, or is -99 or less although no other
    value is negative. Next to 99 also 98, 97, 88 and 77 are sentinels.
    """
    if not (is_code(lowest) or is_code(highest)):
        return ()
    distinct = np.unique(values[np.isfinite(values)])
    extremes = {float(value) for value in (*distinct[:_N_EXTREMES], *distinct[-_N_EXTREMES:])}
    codes = {value: _related_codes(value) & extremes for value in extremes if is_code(value)}
    others = distinct[~np.isin(distinct, [*codes, *set().union(*codes.values())])]
    if others.size < 2:
        return ()
    low, high = float(others[0]), float(others[-1])

    def is_outlying(value: float) -> bool:
        with np.errstate(over="ignore"):
            is_distant = max(low - value, value - high) > np.float64(high) - low
        return bool(is_distant or (value <= -MIN_CODE and low >= 0))

    found = {value for value in codes if is_outlying(value)}
    found |= {related for value in found for related in codes[value] if is_outlying(related)}
    return tuple(sorted(found))


def is_code(value: float, is_day: bool = False) -> bool:
    """Whether a number, or a day, is in use as a missing-value code."""
    if is_day:
        return value in _FILL_DAYS
    if f"{value:.15g}" in _FILL_VALUES:
        return True
    if (abs(value) < MIN_CODE and value != -9) or not str(abs(value)).startswith("9"):
        return False  # few numbers pass, and writing all digits takes longer
    return set(np.format_float_positional(abs(value), trim="-").replace(".", "")) == {"9"}


def _related_codes(value: float) -> set[float]:
    """The codes in use next to a code of nines: 98, 97, 88 and 77 next to 99."""
    if f"{value:.15g}" in _FILL_VALUES or value != int(value):
        return set()
    sign, n_digits = (-1.0 if value < 0 else 1.0), len(str(abs(int(value))))
    related = (abs(value) - 1, abs(value) - 2, float("8" * n_digits), float("7" * n_digits))
    return {sign * other for other in related}
