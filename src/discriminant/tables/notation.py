"""Notation of numbers and dates written as text: how the texts of a column are parsed.

A `Notation` has the decimal and thousands separators, the currency or unit, or the format of dates. It is inferred from
all distinct texts of a training column (`recognition`), stored with the column and applied by one function, so that
prediction parses a value as training did. Dates and times are days since 1970-01-01, times of day are hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from ..errors import InputError
from .layouts import Values, is_numeric

DateOrder = Literal["ymd", "dmy", "mdy", "digits", "time"]
#: Replacements before texts are parsed: variants of spaces, minus signs and apostrophes.
SPACES = ("[\\s\u00a0\u2000-\u200b\u202f\u205f\u3000]+", " ")
ALIKE = (("[\u2212\u2012\u2013]", "-"), ("[\u2019\u00b4]", "'"))
MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12} | {
    name: month
    for month, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_MICROSECONDS_PER_HOUR: Final = _MICROSECONDS_PER_DAY / 24
#: Two-digit years below this are in the 21st century, as in POSIX.
_FIRST_YEAR_OF_1900S: Final = 69
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))? ?(?P<half>(?:[AaPp]\.?[Mm]\.?)?) ?"
    r"(?P<zone>(?:Z|UTC|GMT|[-+]\d{2}(?::?\d{2})?)?)"
)
_TIME_OF_DATE = rf"(?:(?:T|,? ){_CLOCK})?"
_MONTH, _YEAR = r"(?P<month>\d{1,2}|[A-Za-zÀ-ÿ]{3,9}\.?)", r"(?P<year>\d{4}|'?\d{2})"
_DATES: dict[str, str] = {
    "ymd": r"(?P<year>\d{4})(?:[-/. ](?P<month>\d{1,2}|[A-Za-z]{3,9})(?:[-/. ](?P<day>\d{1,2}))?)" + _TIME_OF_DATE,
    "dmy": rf"(?:[A-Za-z]{{2,9}},? )?(?P<day>\d{{1,2}})(?:[-/.]| |\. ){_MONTH}[-/. ,]{{1,2}}{_YEAR}{_TIME_OF_DATE}",
    "mdy": rf"(?:[A-Za-z]{{2,9}},? )?{_MONTH}[-/. ](?P<day>\d{{1,2}})[-/. ,]{{1,2}}{_YEAR}{_TIME_OF_DATE}",
    "digits": r"\+?(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
    "time": _CLOCK,
}
#: Arrow's CSV reader parses these as integers, too.
_HEXADECIMAL = r"^\s*0[xX][0-9a-fA-F]{1,15}\s*$"


@dataclass(frozen=True)
class Notation:
    """How the texts of a column are parsed as numbers or dates; `PLAIN` is that of plain numbers.

    Attributes
    ----------
    decimal, grouping : str
        The decimal separator, and the thousands separator, empty if there is none.
    affix : str
        A currency before or after the number, or a unit after it, as most values have it; it is optional.
    date : {"ymd", "dmy", "mdy", "digits", "time"}, optional
        The order of year, month and day if the texts are dates; ``"digits"`` for ``20201231``, ``"time"`` for times of
        day.
    sentinels : tuple of float
        Numbers that stand for missing values.
    """

    decimal: str = "."
    grouping: str = ""
    affix: str = ""
    date: DateOrder | None = None
    sentinels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        is_known = self.decimal in (".", ",") and self.grouping in ("", ".", ",", " ", "'")
        if not is_known or self.decimal == self.grouping or self.date not in (None, *get_args(DateOrder)):
            raise InputError(f"{self!r} is invalid. Expected the notation of a column: use Schema.to_dict().")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Notation:
        """The notation from the values of ``dataclasses.asdict``."""
        return cls(**{**values, "sentinels": tuple(map(float, values["sentinels"]))})

    @classmethod
    def of_dates(cls, kind: pa.DataType) -> Notation:
        """The notation of text values of a column whose training values had an Arrow type."""
        if is_numeric(kind):
            return DAY_NUMBERS
        return cls(date="time" if pa.types.is_time(kind) or pa.types.is_duration(kind) else "ymd")

    @property
    def as_text(self) -> bool:
        """Whether values have to be read as text, because they are not plain numbers."""
        return self.date is not None or replace(self, sentinels=()) != PLAIN

    @cached_property
    def pattern(self) -> str:
        """The regular expression of a text of this notation, with named groups for its parts."""
        if self.date is not None:
            return f"^{_DATES[self.date]}$"
        affix = re.escape(self.affix)
        affix = f"(?:{f'(?i:{affix})' if len(affix) > 1 else affix})?"
        point, group = re.escape(self.decimal), re.escape(self.grouping)
        between = r"\d{2,3}" if self.grouping == "," else r"\d{3}"  # 12,34,567 in India
        whole = rf"[1-9]\d{{0,2}}(?:{group}{between})*{group}\d{{3}}|\d+" if group else r"\d+"
        number = rf"(?P<number>(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?)"
        before = rf"(?P<open>\(?) ?(?P<sign>[-+]?) ?{affix} ?(?P<inner>[-+]?) ?"
        return rf"^{before}{number} ?{affix}(?P<after>-?) ?{affix}(?P<close>\)?)$"

    def read(self, texts: Values) -> Array:
        """The numbers of an Arrow array of texts, with sentinels; NaN for texts that cannot be parsed."""
        alike = compute.replace_substring_regex(texts, *SPACES)
        if not compute.all(compute.string_is_ascii(texts)).as_py():
            for pattern, plain in ALIKE:
                alike = compute.replace_substring_regex(alike, pattern, plain)
        found = compute.extract_regex(compute.utf8_trim_whitespace(alike), self.pattern)
        valid = _as_numpy(found.is_valid())
        numbers = np.full(len(texts), np.nan)
        if valid.any():
            parts = found.filter(pa.array(valid))
            numbers[valid] = self._numbers(parts) if self.date is None else _dates(parts, self.date)
        if self.date is None and not valid.all():
            for place in np.flatnonzero(_as_numpy(compute.match_substring_regex(texts, _HEXADECIMAL))):
                numbers[place] = int(texts[int(place)].as_py(), 16)
        return numbers

    def without_sentinels(self, numbers: Array) -> Array:
        """The numbers with sentinels replaced by NaN."""
        return np.where(np.isin(numbers, self.sentinels), np.nan, numbers) if self.sentinels else numbers

    def _numbers(self, parts: pa.StructArray) -> Array:
        digits = _part(parts, "number")
        if self.grouping:
            digits = compute.replace_substring(digits, self.grouping, "")
        numbers = _as_numpy(compute.replace_substring(digits, self.decimal, ".").cast(pa.float64()))
        is_open, is_closed = _equals(parts, "open", "("), _equals(parts, "close", ")")
        n_signs = sum(_equals(parts, name, "-").astype(int) for name in ("sign", "inner", "after")) + is_open
        is_invalid = (is_open != is_closed) | (n_signs > 1) | ~np.isfinite(numbers)
        return np.where(is_invalid, np.nan, np.where(n_signs > 0, -numbers, numbers))


#: Plain numbers.
PLAIN = Notation()
#: Days written as integers, such as 20201231.
DAY_NUMBERS = Notation(date="digits")


def _as_numpy(values: Values) -> Array:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _part(parts: pa.StructArray, name: str) -> Values:
    """A named group of the matches of a pattern; empty texts if the pattern has no such group."""
    names = {field.name for field in parts.type}
    return parts.field(name) if name in names else pa.array([""] * len(parts), pa.large_string())


def _equals(parts: pa.StructArray, name: str, text: str) -> Array:
    return _as_numpy(compute.equal(_part(parts, name), text))


def _part_as_floats(parts: pa.StructArray, name: str, default: float) -> Array:
    texts = compute.replace_substring(_part(parts, name), ",", ".")
    return _as_numpy(compute.if_else(compute.equal(texts, ""), str(default), texts).cast(pa.float64()))


def _mapped(texts: Values, function: Callable[[str], int]) -> Array:
    """The function of each text, called once per distinct text."""
    words, index = np.unique(_as_numpy(texts).astype(str), return_inverse=True)
    return np.array([function(str(word)) for word in words], dtype=np.int64)[index]


def _dates(parts: pa.StructArray, order: str) -> Array:
    """Days since 1970-01-01, or hours since midnight for times of day; NaN for invalid dates."""
    hour, minute, second = (_part_as_floats(parts, name, 0) for name in ("hour", "minute", "second"))
    half = _as_numpy(compute.utf8_lower(compute.utf8_slice_codeunits(_part(parts, "half"), 0, 1)))
    is_half_day = half != ""
    is_invalid = (hour > np.where(is_half_day, 12, 24)) | (minute > 59) | (second > 60)
    hour = np.where(is_half_day, hour % 12, hour) + 12 * (half == "p")
    zone = _mapped(_part(parts, "zone"), _zone_minutes)
    microseconds = (hour * 60 + minute - zone) * 60_000_000 + np.round(second * 1e6)
    if order == "time":
        return np.where(is_invalid, np.nan, microseconds / _MICROSECONDS_PER_HOUR)
    days, is_valid = _days(parts)
    return np.where(
        is_invalid | ~is_valid, np.nan, (days * _MICROSECONDS_PER_DAY + microseconds) / _MICROSECONDS_PER_DAY
    )


def _days(parts: pa.StructArray) -> tuple[Array, Array]:
    """The days since 1970-01-01 of year, month and day, and which of them exist."""
    years = _part(parts, "year")
    year = _as_numpy(compute.utf8_ltrim(years, "'").cast(pa.float64())).astype(np.int64)
    is_short = _as_numpy(compute.utf8_length(years)) < 4
    year = np.where(is_short, np.where(year < _FIRST_YEAR_OF_1900S, 2000, 1900) + year, year)
    month, day = _mapped(_part(parts, "month"), _month), _part_as_floats(parts, "day", 1).astype(np.int64)
    is_valid = (month >= 1) & (month <= 12) & (day >= 1)
    first = (year - 1970).astype("M8[Y]").astype("M8[M]") + (np.where(is_valid, month, 1) - 1).astype("m8[M]")
    length = ((first + np.timedelta64(1, "M")).astype("M8[D]") - first.astype("M8[D]")).astype(np.int64)
    return first.astype("M8[D]").astype(np.int64) + day - 1, is_valid & (day <= length)


def _month(word: str) -> int:
    """The number of a month written as digits or by name; 0 for other words."""
    return int(word) if word.isdigit() else MONTHS.get(word.casefold()[:3], 0)


def _zone_minutes(zone: str) -> int:
    """The offset from UTC in minutes."""
    if zone[:1] not in ("+", "-"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:]))


def days_of_arrow(values: Values) -> Array:
    """Arrow dates and timestamps as days since 1970-01-01, times of day and durations as hours; NaN if missing."""
    kind = values.type
    is_clock = pa.types.is_time(kind) or pa.types.is_duration(kind)
    if pa.types.is_date(kind):
        values = values.cast(pa.timestamp("s"))
    unit = pa.time64("us") if pa.types.is_time(kind) else pa.duration("us") if is_clock else pa.timestamp("us")
    if pa.types.is_timestamp(kind):
        unit = pa.timestamp("us", kind.tz)
    whole = values.cast(unit, safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
    return _as_numpy(whole) / (_MICROSECONDS_PER_HOUR if is_clock else _MICROSECONDS_PER_DAY)


def iso_day(days: float) -> str:
    """The date that is this many days after 1970-01-01, in ISO 8601."""
    return str(np.datetime64(round(days), "D"))
