"""What the values of a column are: numbers and dates written as text, sentinels, codes, spellings of one level.

A `Notation` says how texts read as numbers: decimal and thousands signs, currencies and units, dates. It is found from
all different texts of a column, kept with the column and applied by one function, so that prediction reads a value as
training did. Dates and times are days since 1970-01-01, times of day are hours.

Each rule errs on the side of what is written: it acts where a reader of the whole column would not hesitate, and what
it does is told with the option that undoes it. Rules see the different values of a column and how many rows have each.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from ..errors import InputError

DateOrder = Literal["ymd", "dmy", "mdy", "digits", "time"]
#: What is done to texts before they are read: spaces, minus signs and apostrophes are written in many ways.
SPACES = ("[\\s\u00a0\u2000-\u200b\u202f\u205f\u3000]+", " ")
ALIKE = (("[\u2212\u2012\u2013]", "-"), ("[\u2019\u00b4]", "'"))
_CURRENCIES = frozenset(
    re.findall(
        r"\S+",
        "USD EUR GBP JPY CNY RMB CHF CAD AUD NZD SEK NOK DKK ISK CZK HUF RON BGN RUB UAH TRY ILS AED SAR EGP "
        "PLN ZAR NGN KES INR PKR BDT LKR THB VND IDR MYR SGD PHP HKD TWD KRW MXN BRL ARS CLP COP PEN US$ A$ C$ R$ HK$ "
        "FR. KR ZŁ KČ FT RS",
    )
)
MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12} | {
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
        alike = compute.replace_substring_regex(texts, *SPACES)
        if not compute.all(compute.string_is_ascii(texts)).as_py():
            for pattern, plain in ALIKE:
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
        numbers = _floats(compute.replace_substring(digits, self.decimal, "."))
        opened, closed = parts.are("open", "("), parts.are("close", ")")
        minus = [parts.are(name, "-") for name in ("sign", "inner", "after")]
        signs = sum(each.astype(int) for each in (*minus, opened))
        odd = (opened != closed) | (signs > 1) | ~np.isfinite(numbers)
        return np.where(odd, np.nan, np.where(signs > 0, -numbers, numbers))


#: Whole numbers that Arrow's reader of text takes for such.
_HEXADECIMAL = r"^\s*0[xX][0-9a-fA-F]{1,15}\s*$"
#: Plain numbers.
PLAIN = Notation()
#: Days written as whole numbers, such as 20201231.
DAY_NUMBERS = Notation(date="digits")


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
        return _floats(filled)


def _floats(texts: Any) -> Array:
    """Texts of numbers as floats, infinite where they are too large for one."""
    try:
        return np.asarray(texts.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:  # older versions refuse what is too large or too small
        return np.array([float(text) for text in texts.to_pylist()])


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
    year = _floats(compute.utf8_ltrim(parts["year"], "'")).astype(np.int64)
    short = np.asarray(compute.utf8_length(parts["year"]).to_numpy()) < 4
    year = np.where(short, np.where(year < 69, 2000, 1900) + year, year)  # as POSIX reads two digits
    month, day = _months(parts["month"]), parts.whole("day", 1).astype(np.int64)
    on_calendar = (month >= 1) & (month <= 12) & (day >= 1)
    first = (year - 1970).astype("M8[Y]").astype("M8[M]") + (np.where(on_calendar, month, 1) - 1).astype("m8[M]")
    length = ((first + np.timedelta64(1, "M")).astype("M8[D]") - first.astype("M8[D]")).astype(np.int64)
    return first.astype("M8[D]").astype(np.int64) + day - 1, on_calendar & (day <= length)


def _months(texts: Any) -> Array:
    """The numbers of months, written as digits or by name; 0 for other words."""
    words, index = np.unique(np.asarray(texts.to_numpy(zero_copy_only=False), dtype=str), return_inverse=True)
    months = [int(word) if word.isdigit() else MONTHS.get(word.casefold()[:3], 0) for word in words]
    return np.array(months, dtype=np.int64)[index]


def _zone_minutes(texts: Any) -> Array:
    words, index = np.unique(np.asarray(texts.to_numpy(zero_copy_only=False), dtype=str), return_inverse=True)
    minutes = []
    for word in words:
        digits = word[1:].replace(":", "").ljust(4, "0") if word[:1] in "+-" and word else "0000"
        minutes.append((-1 if word[:1] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:])))
    return np.array(minutes, dtype=np.int64)[index]


#: So many texts are looked at for an affix, and for digits before all are read.
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
    pattern = {" ": SPACES[0], "'": f"'|{ALIKE[1][0]}"}.get(sign, re.escape(sign))
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


#: Words among numbers are strays where they are at most this share of the different values and of the rows,
_STRAY = 0.2
#: and there are at least so many different numbers.
_FEWEST_NUMBERS = 5
#: Whole numbers that are at most so many may be codes.
MOST_CODES = 10
_MOST_NOMINAL = 20
_DIGIT = re.compile("[0-9]")
_PADDED = re.compile(r"0\d+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NOMINAL = frozenset(
    _WORD.findall(
        "area blood branch brand category center centre channel clinic cluster code colour color country county "
        "department dept district ethnic ethnicity gender hospital id industry language make marital nationality "
        "occupation party product profession race region religion sector sex shop site species state status store "
        "supplier team treatment type vendor ward zone"
    )
)
_POSTCODE = re.compile(
    r"(?:^|[_\W])(?:zip|plz|(?:zip|post|postal)[ ._-]?codes?)(?:$|[_\W\d])|Zip$|[zZ]ipCode|[pP]ost(?:al)?Code",
    re.IGNORECASE,
)
#: Beside one of these words a number is counted or measured.
_MEASURED = frozenset(
    _WORD.findall("age amount count days grade level n num number rate rank score size stage total year years")
)
#: Missing values of programs and formats: 16 and 32 bit integers, netCDF, rasters of float32, the largest numbers;
#: to 15 digits, since not every reader of text rounds the last ones rightly.
_FILL_VALUES = frozenset(
    f"{sign * value:.15g}"
    for sign in (-1, 1)
    for value in (
        32768.0,
        2147483647.0,
        2147483648.0,
        1e20,
        1e30,
        9.969209968386869e36,
        3.4028234663852886e38,
        sys.float_info.max,
    )
)


_FILL_DAYS = tuple(
    float(np.datetime64(day).astype(int))
    for day in ("0001-01-01", "1753-01-01", "1899-12-30", "1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31")
)


@dataclass(frozen=True)
class Reading:
    """How the texts of a column read: as numbers or dates, and which of them cannot be read, with their rows."""

    kind: str
    notation: Notation
    unread: dict[str, int]
    example: tuple[str, float]  #: a text and the number that it is
    unsure: bool = False  #: whether day and month, or thousands and decimals, cannot be told apart


def read_texts(texts: Sequence[str], rows: Sequence[int], decimal: str, written: bool) -> Reading | None:
    """How the different texts of a column read as numbers or dates, or None where they are words or codes.

    ``rows`` says how many rows have each; ``written`` whether the text comes from a file, where everything is text.
    """
    first = texts[:_LOOKED_AT]
    if 2 * sum(_DIGIT.search(text) is not None for text in first) < len(first) or not texts:
        return None
    if len(texts) > len(first) and not _promising(pa.array(first, pa.large_string()), decimal):
        return None
    reading = best_reading(texts, rows, decimal)
    if reading is None or not _strays_only(texts, rows, reading):
        return None
    plain = reading.kind == "number" and not reading.notation.as_text
    padded = sum(_PADDED.fullmatch(text.strip()) is not None for text in texts)
    if reading.kind == "number" and not reading.notation.affix and padded > 0.05 * len(texts):
        return None
    whole = plain and not reading.unread and all(text.strip().lstrip("+-").isdigit() for text in texts)
    return None if whole and not written and len(texts) <= MOST_CODES else reading


def _promising(values: Any, decimal: str) -> bool:
    """Whether half of the first texts read as numbers or as dates."""
    found = [reading[1] for reading in (number_notation(values, decimal), date_notation(values)) if reading]
    return any(np.count_nonzero(~np.isnan(numbers)) >= 0.5 * len(values) for numbers in found)


def best_reading(
    texts: Sequence[str], rows: Sequence[int], decimal: str, kinds: Iterable[str] = ("number", "date")
) -> Reading | None:
    """The reading of most of the texts; numbers rather than dates where they read as many."""
    values = pa.array(texts, pa.large_string())
    number = number_notation(values, decimal) if "number" in kinds else None
    date = date_notation(values) if "date" in kinds else None
    counts = [0 if each is None else np.count_nonzero(~np.isnan(each[1])) for each in (number, date)]
    if max(counts) == 0:
        return None
    kind = "date" if counts[1] > counts[0] else "number"
    notation, numbers, unsure = date if kind == "date" else number  # type: ignore[misc]
    return reading_of(kind, notation, numbers, texts, rows, unsure)


def reading_of(
    kind: str, notation: Notation, numbers: Array, texts: Sequence[str], rows: Sequence[int], unsure: bool = False
) -> Reading | None:
    """What a notation made of the texts; None if nothing."""
    missed = np.isnan(numbers)
    if missed.all():
        return None
    unread = {text: count for text, count, unreadable in zip(texts, rows, missed, strict=True) if unreadable}
    readable = np.flatnonzero(~missed).tolist()
    first = next((i for i in readable if not texts[i].strip().replace(".", "", 1).isdigit()), readable[0])
    return Reading(kind, notation, unread, (texts[first], float(numbers[first])), unsure)


def _strays_only(texts: Sequence[str], rows: Sequence[int], reading: Reading) -> bool:
    """Whether what cannot be read is little enough to be a slip, or is one word that says there is no value."""
    words, numbers = len(reading.unread), len(texts) - len(reading.unread)
    affix = reading.notation.affix
    known = not affix or affix in "%‰°" or is_currency(affix)
    if not words:
        return known or numbers >= _FEWEST_NUMBERS
    share = sum(reading.unread.values()) / max(sum(rows), 1)
    return numbers >= _FEWEST_NUMBERS and words <= _STRAY * len(texts) and (share <= _STRAY or words == 1)


def date_sentinels(values: Array) -> tuple[float, ...]:
    """Days that stand for missing dates, such as 9999-12-31: further from the others than these from each other."""
    others = values[~np.isnan(values) & ~np.isin(values, _FILL_DAYS)]
    if not others.size:
        return ()
    low, high = others.min(), others.max()
    there = set(_FILL_DAYS).intersection(np.unique(values).tolist())
    return tuple(sorted(day for day in there if max(low - day, day - high) > max(high - low, 365)))


def sentinels(values: Array, lowest: float, highest: float) -> tuple[float, ...]:
    """Numbers that stand for missing values: -999, 9999, 99.9 and the like, apart from all other values.

    A sentinel is further from the others than these are from each other, or negative (-99 or less) among numbers none
    of which is. 98, 97, 88 and 77 are sentinels beside 99.
    """
    if not (_is_sentinel(lowest) or _is_sentinel(highest)):
        return ()
    different = np.unique(values[np.isfinite(values)])
    ends = {float(value) for value in (*different[:8], *different[-8:])}
    main = {value for value in ends if _is_sentinel(value)}
    beside = {value: _beside(value) & ends for value in main}
    others = different[~np.isin(different, [*main, *set().union(*beside.values())])]
    if others.size < 2:
        return ()
    low, high = float(others[0]), float(others[-1])

    def apart(value: float) -> bool:
        with np.errstate(over="ignore"):
            far = max(low - value, value - high) > np.float64(high) - low
        return bool(far or (value <= -99 and low >= 0))

    found = {value for value in main if apart(value)}
    found |= {value for each in found for value in beside[each] if apart(value)}
    return tuple(sorted(found))


def may_be_sentinel(value: float, is_day: bool) -> bool:
    """Whether a number, or a day, is one that is used for missing values."""
    return value in _FILL_DAYS if is_day else _is_sentinel(value)


def _is_sentinel(value: float) -> bool:
    if f"{value:.15g}" in _FILL_VALUES:
        return True
    if (abs(value) < 99 and value != -9) or not str(abs(value)).startswith("9"):
        return False  # most are no such numbers, and all digits take longer
    return set(np.format_float_positional(abs(value), trim="-").replace(".", "")) == {"9"}


def _beside(value: float) -> set[float]:
    """The sentinels that are used beside one of nines: 98, 97, 88 and 77 beside 99."""
    if f"{value:.15g}" in _FILL_VALUES or value != int(value):
        return set()
    sign, digits = (-1.0 if value < 0 else 1.0), len(str(abs(int(value))))
    each = (abs(value) - 1, abs(value) - 2, float("8" * digits), float("7" * digits))
    return {sign * other for other in each}


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def is_nominal(name: str, n_values: int) -> bool:
    """Whether a few whole numbers are the codes of something that has no order, by the column's name."""
    words = set(words_of(name))
    return 2 < n_values <= _MOST_NOMINAL and bool(words & _NOMINAL) and not words & _MEASURED


def is_postcode(name: str) -> bool:
    """Whether a column is called a postal code: whole numbers there are no amounts.

    >>> is_postcode("ZIP code"), is_postcode("zipcode"), is_postcode("zipper")
    (True, True, False)
    """
    return _POSTCODE.search(name) is not None


def spelling_key(text: str) -> str:
    """What spellings of one level have in common: case and spaces do not count."""
    return " ".join(text.split()).casefold()


#: A spelling is a slip where it has at most this share of the rows of the usual one.
_SLIP = 0.1


def same_spellings(counts: Mapping[str, int], known: Mapping[str, Any]) -> dict[str, str]:
    """Which levels are another spelling of a level, and of which: case and spaces differ.

    Letters that change their case within a word may mean something (``hId`` and ``hid``, genotypes ``AA``, ``Aa`` and
    ``aa``): such spellings are one level only where one of them is rare. ``known`` are words that mean one thing in any
    case; where all levels are among them, those that mean the same are one level.
    """
    keys = {level: spelling_key(level) for level in counts}
    alike = set(keys.values()) <= set(known) and len(set(keys.values())) > 2
    groups: dict[str, list[str]] = {}
    for level, key in keys.items():
        groups.setdefault(known[key] if alike else key, []).append(level)
    found = {}
    for levels in groups.values():
        usual = max(levels, key=lambda level: (counts[level], level == level.strip(), len(level), level))
        for level in levels:
            if level != usual and (keys[level] in known or _is_same(level, usual, counts)):
                found[level] = usual
    return found


def with_other_cases(spellings: Mapping[str, str], counts: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """The spellings of a column, and those that may come: where case did not count in training, it never does."""
    if not spellings:
        return ()
    forms = (str.lower, str.upper, str.capitalize, str.title)
    cases = {form(text): spellings.get(text, text) for text in counts for form in forms}
    return tuple(({case: level for case, level in cases.items() if case not in counts} | dict(spellings)).items())


def _is_same(level: str, usual: str, counts: Mapping[str, int]) -> bool:
    bare, other = " ".join(level.split()), " ".join(usual.split())
    if bare == other:
        return True
    plain = all(text in (text.lower(), text.upper(), text.capitalize(), text.title()) for text in (bare, other))
    genotype = len(bare) == 2 and any(text == text.capitalize() != text.upper() for text in (bare, other))
    slip = counts[level] <= _SLIP * counts[usual]
    return (plain and len(bare) > 2) or (slip and not genotype)


#: Misspelled words are looked for among so many levels.
_MOST_LEVELS = 200


def misspellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Rare words that are one slip (a letter more, less, another, or two exchanged) from a frequent one."""
    words = {level: spelling_key(level) for level in counts if len(level) > 2 and not any(map(str.isdigit, level))}
    if len(words) > _MOST_LEVELS:
        return {}
    found = {}
    for rare, key in words.items():
        near = [level for level, other in words.items() if counts[level] >= 10 * counts[rare] and _one_slip(key, other)]
        if near:
            found[rare] = max(near, key=lambda level: counts[level])
    return found


def _one_slip(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1 or short == long:
        return False
    start = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    rest, other = short[start:], long[start:]
    if len(short) < len(long):
        return rest == other[1:]
    return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
