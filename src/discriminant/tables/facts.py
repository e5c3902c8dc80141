"""Facts about the columns of a labelled table from which their types and coding are inferred.

`TableFacts` derives them from a table in memory; `counting.SampledFacts` from a sample of a streamed table and from
counts of all its rows.

Numbers and dates that look like missing-value codes: -999, 9999, 99.9, 9999-12-31 and the like.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa

from ..arrays import Array
from .column import Column
from .copies import separates_classes
from .identifiers import MAX_NAMED_CODES, MIN_ROWS, Numbering, integers_of, is_ordered
from .levels import MISSING_PLACE, LevelPlaces
from .values import as_floats, distinct_texts, level_index, read_numbers, refuse_infinite, stripped_texts, total

#: Columns are compared on this many rows first, and on all rows only if these do not decide.
COMPARED_ROWS: Final = 2000
#: Whether a column of numbers varies is usually clear from this many rows.
FIRST_ROWS: Final = 5000
#: Integers of eight digits in this range may be days.
FIRST_DAY, LAST_DAY = 1800_01_01, 2200_01_01
#: Above this, the sum of values may overflow although the mean does not.
_LARGE: Final = 1e300


class Range(NamedTuple):
    """The number of missing values, and the range and mean of the others; NaN if there are none."""

    missing: int
    low: float = np.nan
    high: float = np.nan
    mean: float = np.nan

    @classmethod
    def of(cls, name: str, values: Array, first_row: int = 0) -> Self:
        """The range of a column of numbers; an infinite value raises an `InputError`."""
        whole, present = float(total(values)), values
        if not np.isfinite(whole):
            refuse_infinite(name, values, first_row)
            present = values[~np.isnan(values)]
        if not present.size:
            return cls(values.size)
        low, high = float(present.min()), float(present.max())
        largest = max(high, -low)
        mean = largest * (present / largest).mean() if largest > _LARGE else present.mean()
        return cls(values.size - present.size, low, high, float(mean))


@dataclass(frozen=True)
class Levels:
    """The distinct texts of a column with their rows and, if rows have weights, their weights.

    ``empty`` rows have no text. If there are very many texts, those that are not listed are counted: approximately how
    many they are, and their rows and weight.
    """

    texts: list[str]
    rows: list[int]
    weights: list[float] | None
    empty: int
    unlisted: int = 0
    unlisted_rows: int = 0
    unlisted_weight: float = 0.0


class TableFacts:
    """Facts about the columns of a table in memory; a `Column` has the notation by which its values are parsed.

    ``codes`` are the missing-value codes, ``classes`` the class code and ``weights`` the weight of each row, if known.
    """

    def __init__(self, data: pa.Table, codes: Sequence[str], classes: Array | None, weights: Array | None) -> None:
        self.data, self.codes, self.classes = data, codes, classes
        # Sums of very large weights would overflow.
        self.weights = None if weights is None else weights / weights.max()
        self.n_rows = int(data.num_rows)
        self.types: dict[str, pa.DataType] = dict(zip(data.column_names, data.schema.types, strict=True))

    def levels(self, name: str) -> Levels:
        """The distinct texts of a column."""
        texts, index = distinct_texts(self.data[name])
        rows = np.bincount(index, minlength=len(texts) + 1)
        weights = None if self.weights is None else np.bincount(index, self.weights, len(texts) + 1)[:-1].tolist()
        return Levels(texts, rows[:-1].tolist(), weights, int(rows[-1]))

    def are_days(self, column: Column) -> bool:
        """Whether all numbers are days such as 20201231."""
        numbers = self._values(Column(column.name, "number"))
        for values in (numbers[:FIRST_ROWS], numbers):
            present = values[~np.isnan(values)]
            if not present.size or not FIRST_DAY <= present.min() < present.max() <= LAST_DAY:
                return False
        return not read_numbers(column, self.data[column.name], ())[1]

    def few_values(self, column: Column) -> Array | None:
        """The distinct numbers of a column, if they are few enough to be codes."""
        values = self._values(column)
        for part in (values[:FIRST_ROWS], values):
            distinct = np.unique(part[~np.isnan(part)])
            if distinct.size > MAX_NAMED_CODES:
                return None
        return distinct

    def with_ranges(self, columns: Iterable[Column], declared: Iterable[str]) -> list[tuple[Column, Range]]:
        """The columns that are no categories with their sentinels, unless ``declared``, and their ranges."""
        return [self._with_range(each, each.name not in declared) for each in columns if each.has_numbers]

    def _with_range(self, column: Column, is_inferred: bool) -> tuple[Column, Range]:
        values = self._values(column)
        own = Range.of(column.name, values)
        found = sentinels_of(column, values, own) if is_inferred else ()
        if not found:
            return column, own
        return with_sentinels(column, found), Range.of(column.name, np.where(np.isin(values, found), np.nan, values))

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        """The number of rows with one of these numbers."""
        return int(np.count_nonzero(np.isin(self._values(column), numbers)))

    def numbering(self, column: Column) -> Numbering | None:
        """The spacing and order of the integers of a column; None if they cannot identify anything."""
        values = self._values(column)
        first = values[:FIRST_ROWS]
        first = first[~np.isnan(first)]
        is_small = np.unique(first).size <= min(MAX_NAMED_CODES, MIN_ROWS - 1)
        if is_small or not np.array_equal(np.floor(first), first):
            return None
        integers = integers_of(self.data[column.name], values)
        return None if integers is None else Numbering.of(integers)

    def is_ordered(self, column: Column) -> bool:
        """Whether rows are in increasing or decreasing order of a column of numbers."""
        values = self._values(column)
        return is_ordered(values[~np.isnan(values)])

    def n_differing(self, column: Column, enough: int) -> int:
        """The rows in which a column of numbers differs from its most frequent value, counted up to ``enough``."""
        values = self._values(column)
        for part in (values[:FIRST_ROWS], values):
            counts = np.unique(part[~np.isnan(part)], return_counts=True)[1]
            n_differing = int(counts.sum() - counts.max(initial=0))
            if n_differing >= enough:
                break
        return n_differing

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        """The columns that are equal to an earlier column in every row, with that column."""
        found, alike = dict[str, str](), dict[tuple[bool, bytes, int], list[Column]]()
        for column in columns:
            key = (column.has_numbers, self._sample.comparable(column).tobytes(), column.pooled)
            for other in (candidates := alike.setdefault(key, [])):
                if np.array_equal(self.comparable(other), self.comparable(column), equal_nan=True):
                    found[column.name] = other.name
                    break
            else:
                candidates.append(column)
        return found

    def missing_rows(self, column: Column) -> Hashable:
        """A key that is equal for columns that are missing in the same rows."""
        return np.packbits(np.isnan(self.comparable(column))).tobytes()

    def separates_classes(self, column: Column) -> bool:
        """Whether one column determines the class of every row."""
        if self._sample is not self and not self._sample.separates_classes(column):
            return False
        return separates_classes(self.comparable(column), self.classes, column.has_numbers)

    def comparable(self, column: Column) -> Array:
        """The column as numbers that are equal if its values are; NaN if missing."""
        if column.has_numbers:
            return self._values(column)
        if column.kind == "text":
            texts, index = stripped_texts(self.data[column.name], self.codes)
            return np.where(index == len(texts), np.nan, index)
        places = {level: place for place, level in enumerate(column.levels)}
        index, _ = level_index(column.name, self.data[column.name], LevelPlaces(places), self.codes, "text")
        # Numbered in order of appearance: equal for columns that group the rows alike.
        groups = pa.array(index).dictionary_encode().indices.to_numpy().astype(np.float64)
        groups[index == MISSING_PLACE] = np.nan
        return groups

    def _values(self, column: Column) -> Array:
        return as_floats(column, self.data[column.name], self.codes)

    @cached_property
    def _sample(self) -> TableFacts:
        """The facts about a sample of the rows."""
        if self.data.num_rows <= COMPARED_ROWS:
            return self
        rows = np.unique(np.linspace(0, self.data.num_rows - 1, COMPARED_ROWS).astype(np.int64))
        classes = None if self.classes is None else self.classes[rows]
        return TableFacts(self.data.take(rows), self.codes, classes, None)


def sentinels_of(column: Column, values: Array, own: Range) -> tuple[float, ...]:
    """The numbers or days of a column that look like missing-value codes."""
    if column.kind == "date":
        return date_sentinels(values)
    return number_sentinels(values, own.low, own.high) if column.kind == "number" else ()


def with_sentinels(column: Column, found: Sequence[float]) -> Column:
    """The column with further sentinels."""
    notation = column.notation
    return replace(column, notation=replace(notation, sentinels=(*notation.sentinels, *found)))


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
