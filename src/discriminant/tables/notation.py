"""How the texts of a column read as numbers: decimal and thousands signs, currencies and units, dates, sentinels.

A notation is found from all different texts of a column, kept with the column and applied by one function, so that
prediction reads a value as training did. Dates and times are days since 1970-01-01, times of day are hours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..errors import InputError

Array = np.ndarray[Any, Any]

DateOrder = Literal["ymd", "dmy", "mdy", "digits", "time"]
#: What is done to texts before they are read: spaces, minus signs and apostrophes are written in many ways.
_SPACES = ("[\\s\u00a0\u2000-\u200b\u202f\u205f\u3000]+", " ")
_ALIKE = (("[\u2212\u2012\u2013]", "-"), ("[\u2019\u00b4]", "'"))
_CURRENCIES = frozenset(
    re.findall(
        r"\S+",
        "USD EUR GBP JPY CNY RMB CHF CAD AUD NZD SEK NOK DKK ISK CZK HUF RON BGN RUB UAH TRY ILS AED SAR EGP "
        "PLN ZAR NGN KES INR PKR BDT LKR THB VND IDR MYR SGD PHP HKD TWD KRW MXN BRL ARS CLP COP PEN US$ A$ C$ R$ HK$ "
        "FR. KR ZŁ KČ FT RS",
    )
)
_MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12} | {
    name: month
    for month, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAY = 86_400_000_000  #: microseconds
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))? ?(?P<half>(?:[AaPp]\.?[Mm]\.?)?) ?"
    r"(?P<zone>(?:Z|UTC|GMT|[-+]\d{2}(?::?\d{2})?)?)"
)
_LATER = rf"(?:(?:T|,? ){_CLOCK})?"
_MONTH, _YEAR = r"(?P<month>\d{1,2}|[A-Za-zÀ-ÿ]{3,9}\.?)", r"(?P<year>\d{4}|'?\d{2})"
_DATES: dict[str, str] = {
    "ymd": rf"(?P<year>\d{{4}})(?:[-/. ](?P<month>\d{{1,2}}|[A-Za-z]{{3,9}})(?:[-/. ](?P<day>\d{{1,2}}))?){_LATER}",
    "dmy": rf"(?:[A-Za-z]{{2,9}},? )?(?P<day>\d{{1,2}})(?:[-/.]| |\. ){_MONTH}[-/. ,]{{1,2}}{_YEAR}{_LATER}",
    "mdy": rf"(?:[A-Za-z]{{2,9}},? )?{_MONTH}[-/. ](?P<day>\d{{1,2}})[-/. ,]{{1,2}}{_YEAR}{_LATER}",
    "digits": r"\+?(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
    "time": _CLOCK,
}


@dataclass(frozen=True)
class Notation:
    """How the texts of one column read as numbers; that of plain numbers is `PLAIN`.

    Attributes
    ----------
    decimal, grouping : str
        The decimal sign, and the sign between thousands, empty where there is none.
    affix : str
        A currency before or after the number, or a unit after it, as most values have it; it may be left out.
    date : {"ymd", "dmy", "mdy", "digits", "time"}, optional
        The order of year, month and day, where the texts are dates; ``"digits"`` for ``20201231``, ``"time"`` for times
        of day.
    sentinels : tuple of float
        Numbers that stand for missing values.
    """

    decimal: str = "."
    grouping: str = ""
    affix: str = ""
    date: DateOrder | None = None
    sentinels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        signs = self.decimal in (".", ",") and self.grouping in ("", ".", ",", " ", "'")
        if not signs or self.decimal == self.grouping or self.date not in (None, *get_args(DateOrder)):
            raise InputError(f"No column is written like this: {self!r}.")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Notation:
        """The notation of which ``dataclasses.asdict`` gave these values."""
        return cls(**{**values, "sentinels": tuple(map(float, values["sentinels"]))})

    @property
    def as_text(self) -> bool:
        """Whether values have to be read as text: they are not written as plain numbers."""
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

    def read(self, texts: Any) -> Array:
        """The numbers of an arrow array of texts, sentinels as they are; NaN where a text cannot be read."""
        alike = compute.replace_substring_regex(texts, *_SPACES)
        if not compute.all(compute.string_is_ascii(texts)).as_py():
            for pattern, plain in _ALIKE:
                alike = compute.replace_substring_regex(alike, pattern, plain)
        found = compute.extract_regex(compute.utf8_trim_whitespace(alike), self.pattern)
        valid = np.asarray(found.is_valid().to_numpy(zero_copy_only=False))
        numbers = np.full(len(texts), np.nan)
        if valid.any():
            parts = _Parts(found.filter(pa.array(valid)))
            numbers[valid] = self._numbers(parts) if self.date is None else dates(parts, self.date)
        if self.date is None and not valid.all():
            for place in np.flatnonzero(np.asarray(compute.match_substring_regex(texts, _HEXADECIMAL))):
                numbers[place] = int(texts[int(place)].as_py(), 16)
        return numbers

    def without_sentinels(self, numbers: Array) -> Array:
        """The numbers with NaN in place of sentinels."""
        return np.where(np.isin(numbers, self.sentinels), np.nan, numbers) if self.sentinels else numbers

    def _numbers(self, parts: _Parts) -> Array:
        digits = parts["number"]
        if self.grouping:
            digits = compute.replace_substring(digits, self.grouping, "")
        numbers = compute.replace_substring(digits, self.decimal, ".").cast(pa.float64()).to_numpy()
        opened, closed = parts.are("open", "("), parts.are("close", ")")
        minus = [parts.are(name, "-") for name in ("sign", "inner", "after")]
        signs = sum(each.astype(int) for each in (*minus, opened))
        odd = (opened != closed) | (signs > 1) | ~np.isfinite(numbers)
        return np.where(odd, np.nan, np.where(signs > 0, -numbers, numbers))


#: Whole numbers that Arrow's reader of text takes for such.
_HEXADECIMAL = r"^\s*0[xX][0-9a-fA-F]{1,15}\s*$"
#: Plain numbers.
PLAIN = Notation()


class _Parts:
    """The parts of texts that a pattern tells apart, by name."""

    def __init__(self, found: Any) -> None:
        self._found = found
        self._names = {field.name for field in found.type}

    def __getitem__(self, name: str) -> Any:
        return self._found.field(name) if name in self._names else pa.array([""] * len(self._found), pa.large_string())

    def are(self, name: str, text: str) -> Array:
        return np.asarray(compute.equal(self[name], text).to_numpy(zero_copy_only=False))

    def whole(self, name: str, otherwise: float) -> Array:
        """The part as numbers; ``otherwise`` where it is empty."""
        texts = compute.replace_substring(self[name], ",", ".")
        filled = compute.if_else(compute.equal(texts, ""), str(otherwise), texts)
        return np.asarray(filled.cast(pa.float64()).to_numpy())


def dates(parts: _Parts, order: str) -> Array:
    """Days since 1970-01-01, or hours since midnight for times of day; NaN for what is not on the calendar."""
    hour, minute, second = (parts.whole(name, 0) for name in ("hour", "minute", "second"))
    half = compute.utf8_lower(compute.utf8_slice_codeunits(parts["half"], 0, 1))
    half_day = np.asarray(half.to_numpy(zero_copy_only=False)) != ""
    odd = (hour > np.where(half_day, 12, 24)) | (minute > 59) | (second > 60)
    hour = np.where(half_day, hour % 12, hour) + 12 * np.asarray(
        compute.equal(half, "p").to_numpy(zero_copy_only=False)
    )
    microseconds = (hour * 60 + minute - _zone_minutes(parts["zone"])) * 60_000_000 + np.round(second * 1e6)
    if order == "time":
        return np.where(odd, np.nan, microseconds / (_DAY / 24))
    days, on_calendar = _days(parts)
    return np.where(odd | ~on_calendar, np.nan, (days * _DAY + microseconds) / _DAY)


def days_of_arrow(values: Any) -> Array:
    """Arrow dates and timestamps as days since 1970-01-01, times of day and durations as hours; NaN where missing."""
    kind = values.type
    clock = pa.types.is_time(kind) or pa.types.is_duration(kind)
    if pa.types.is_date(kind):
        values = values.cast(pa.timestamp("s"))
    unit: Any = pa.time64("us") if pa.types.is_time(kind) else pa.duration("us") if clock else pa.timestamp("us")
    if pa.types.is_timestamp(kind):
        unit = pa.timestamp("us", kind.tz)
    whole = values.cast(unit, safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
    microseconds = np.asarray(whole.to_numpy(zero_copy_only=False))
    return microseconds / (_DAY / 24 if clock else _DAY)


def iso_day(days: float) -> str:
    """The day of so many days after 1970-01-01, as 2020-12-31."""
    return str(np.datetime64(round(days), "D"))


def _days(parts: _Parts) -> tuple[Array, Array]:
    """The days since 1970-01-01 of year, month and day, and which of them are on the calendar."""
    year = np.asarray(compute.utf8_ltrim(parts["year"], "'").cast(pa.float64()).to_numpy()).astype(np.int64)
    short = np.asarray(compute.utf8_length(parts["year"]).to_numpy()) < 4
    year = np.where(short, np.where(year < 69, 2000, 1900) + year, year)  # as POSIX reads two digits
    month, day = _months(parts["month"]), parts.whole("day", 1).astype(np.int64)
    on_calendar = (month >= 1) & (month <= 12) & (day >= 1)
    first = (year - 1970).astype("M8[Y]").astype("M8[M]") + (np.where(on_calendar, month, 1) - 1)
    length = ((first + 1).astype("M8[D]") - first.astype("M8[D]")).astype(np.int64)
    return first.astype("M8[D]").astype(np.int64) + day - 1, on_calendar & (day <= length)


def _months(texts: Any) -> Array:
    """The numbers of months, written as digits or by name; 0 for other words."""
    words, index = np.unique(np.asarray(texts.to_numpy(zero_copy_only=False), dtype=str), return_inverse=True)
    months = [int(word) if word.isdigit() else _MONTHS.get(word.casefold()[:3], 0) for word in words]
    return np.array(months, dtype=np.int64)[index]


def _zone_minutes(texts: Any) -> Array:
    words, index = np.unique(np.asarray(texts.to_numpy(zero_copy_only=False), dtype=str), return_inverse=True)
    minutes = []
    for word in words:
        digits = word[1:].replace(":", "").ljust(4, "0") if word[:1] in "+-" and word else "0000"
        minutes.append((-1 if word[:1] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:])))
    return np.array(minutes, dtype=np.int64)[index]


#: An affix is looked for in so many texts.
_LOOKED_AT = 1000
_POINTED, _UNPOINTED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+"), re.compile(r"[-+]?(0|[1-9]\d{0,2})")
_AFFIXED = re.compile(
    r"\(?\s*[-+]?\s*(?P<before>[^\d\s.,()+-]{0,4}\.?)\s*[-+]?[.,]?\d[\d.,' ]*?(?:[eE][-+]?\d+)?\s*"
    r"(?P<after>[^\d\s()+-][^\d()+]{0,11})?-?\s*\)?"
)


def date_notation(texts: Any) -> tuple[Notation, Array, bool] | None:
    """The notation that reads most of the texts as dates or times, what it reads, and whether another does as well.

    Day and month cannot be told apart where neither is ever above 12: between points and hyphens the day is taken to
    stand first, between slashes the month.
    """
    slashes = compute.sum(compute.match_substring(texts, "/")).as_py() or 0
    order = ["ymd", *(("mdy", "dmy") if slashes else ("dmy", "mdy")), "time"]
    read = {each: _dated(each).read(texts) for each in order}
    counts = {each: np.count_nonzero(~np.isnan(numbers)) for each, numbers in read.items()}
    best = max(order, key=lambda each: counts[each])
    if not counts[best]:
        return None
    rivals = {"dmy", "mdy"} - {best} if best in ("dmy", "mdy") else set()
    unsure = any(counts[other] == counts[best] and (read[other] != read[best]).any() for other in rivals)
    return _dated(best), read[best], unsure


def _dated(order: Any) -> Notation:
    return Notation(date=order)


def number_notation(texts: Any, decimal: str = ".") -> tuple[Notation, Array, bool] | None:
    """The notation that reads most of the texts as numbers, what it reads, and whether its thousands may be decimals.

    ``1,234`` is a thousand rather than a decimal where points are decimal signs or nothing tells; with any text that
    only a decimal comma explains it is a decimal. ``1.234`` is a thousand where the numbers below 1,000 have no point.
    """
    if decimal == "." and points_group(texts.to_pylist()):
        decimal = ","
    other = "," if decimal == "." else "."
    affix = _affix(texts.slice(0, _LOOKED_AT).to_pylist())
    best: tuple[Notation, Array] | None = None
    counts: dict[Notation, int] = {}
    signs = [sign for sign in (other, " ", "'") if _occurs(sign, texts)]
    pairs = [(decimal, group) for group in ("", *signs)]
    pairs += [(other, group) for group in ("", decimal, *signs) if other in signs and group != other]
    for point, group in pairs:
        notation = Notation(point, group, affix)
        numbers = notation.read(texts)
        counts[notation] = int(np.count_nonzero(~np.isnan(numbers)))
        if counts[notation] > (counts[best[0]] if best else 0):
            best = notation, numbers
    if best is None:
        return None
    decimals = (
        replace(best[0], decimal=best[0].grouping or ".", grouping="") if best[0].grouping in (".", ",") else None
    )
    return *best, decimals is not None and counts.get(decimals) == counts[best[0]]


def _occurs(sign: str, texts: Any) -> bool:
    """Whether a sign, however it is written, occurs in the texts."""
    pattern = {" ": _SPACES[0], "'": f"'|{_ALIKE[1][0]}"}.get(sign, re.escape(sign))
    return bool(compute.any(compute.match_substring_regex(texts, pattern)).as_py())


def points_group(texts: Iterable[str]) -> bool:
    """Whether points stand between thousands: three digits follow each, and whole numbers without are below 1,000."""
    with_point, without = 0, 0
    for text in texts:
        if _POINTED.fullmatch(text.strip()):
            with_point += 1
        elif _UNPOINTED.fullmatch(text.strip()):
            without += 1
        else:
            return False
    return with_point > 1 and without > 1


def _affix(texts: list[str]) -> str:
    """The currency or unit that most of the texts with one have."""
    found: Counter[str] = Counter()
    for text in texts:
        parts = _AFFIXED.fullmatch(text.strip())
        if parts:
            before, after = parts["before"], (parts["after"] or "").strip()
            found.update(filter(None, [before if is_currency(before) else "", after]))
    return found.most_common(1)[0][0] if found else ""


def is_currency(text: str) -> bool:
    """Whether a text is the sign or code of a currency."""
    signs = len(text) == 1 and unicodedata.category(text) == "Sc"
    return signs or text.upper() in _CURRENCIES
