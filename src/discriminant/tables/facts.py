"""What is asked of the columns of a labelled table while it is decided how to code them.

`TableFacts` answers from a table in memory; `passes.PassFacts` answers the same questions from statistics of a table
that is read once, part by part. Who decides (`training.ColumnLearner`) cannot tell which of them it asks.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from ..arrays import Array
from .levels import MISSING_PLACE, LevelPlaces
from .recognition import Notation, date_sentinels, sentinels
from .schema import Column, as_floats, distinct_texts, level_index, read_numbers, refuse_infinite, total

#: A column called an id with more different numbers than this tells rows, or who they belong to, apart.
MOST_NAMED_CODES = 20
#: Below this many rows a column may tell the classes apart by chance.
FEWEST_ROWS = 20
_ID_NAME = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|index|rownum)$|^id(?:[_\W]|$)", re.IGNORECASE)
#: Columns are compared on this many rows first, and on all rows only if these do not decide it.
_SAMPLE_ROWS = 2000
#: Whole numbers of eight digits may be days.
FIRST_DAY, LAST_DAY = 1800_01_01, 2200_01_01
#: Whether a column of numbers varies enough shows in so many rows, as a rule.
_VARYING_ROWS = 5000

#: Missing values, the lowest and the highest value, and the mean of a column of numbers; NaN where there is none.
Range = tuple[int, float, float, float]


@dataclass(frozen=True)
class Levels:
    """The different texts of a column with their rows and, if rows have weights, the weights of these.

    ``empty`` rows have none. Of very many texts those that are not listed are counted: how many there are, about, and
    the rows and the weight that they have.
    """

    texts: list[str]
    rows: list[int]
    weights: list[float] | None
    empty: int
    unlisted: int = 0
    unlisted_rows: int = 0
    unlisted_weight: float = 0.0


class Facts(Protocol):
    """What is asked of columns; `Column` says how the values of one are to be read."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def names(self) -> list[str]:
        """All columns."""

    def type_of(self, name: str) -> Any:
        """The arrow type of a column."""

    def levels(self, name: str) -> Levels:
        """The different texts of a column."""

    def are_days(self, column: Column) -> bool:
        """Whether numbers such as 20201231 are all days."""

    def few_values(self, column: Column) -> Array | None:
        """The different numbers of a column, if there are no more than can be codes."""

    def range_of(self, column: Column, look: bool) -> tuple[tuple[float, ...], Range]:
        """The numbers that seem to stand for missing values, if one is to ``look`` for them, and the range without."""

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        """How many rows have one of these numbers."""

    def is_identifier(self, column: Column, own: Range) -> bool:
        """Whether a column of numbers tells rows apart."""

    def differing(self, column: Column, least: int) -> int:
        """In how many rows a column of numbers differs from its most frequent value; ``least`` or more are enough."""

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        """The columns that say in every row what one before them says, and which that is."""

    def missing_rows(self, column: Column) -> Hashable:
        """Equal for columns that are missing in the same rows."""

    def tells_classes_apart(self, column: Column) -> bool:
        """Whether one column alone gives every row its class."""


class TableFacts:
    """Answers from a table in memory.

    ``codes`` are the texts that stand for missing values, ``classes`` the class code of each row and ``weights`` its
    weight, if known.
    """

    def __init__(self, data: Any, codes: Sequence[str], classes: Array | None, weights: Array | None) -> None:
        self.data, self.codes, self.classes = data, codes, classes
        # Sums of huge weights would overflow.
        self.weights = None if weights is None else weights / weights.max()
        #: By column: how a short one was read, and its numbers. Reading for every question took as long as all answers.
        self._kept: dict[str, tuple[tuple[str, Notation], Array]] = {}

    @property
    def n_rows(self) -> int:
        return int(self.data.num_rows)

    @property
    def names(self) -> list[str]:
        return list(self.data.column_names)

    def type_of(self, name: str) -> Any:
        return self.data[name].type

    def levels(self, name: str) -> Levels:
        texts, index = distinct_texts(self.data[name])
        rows = np.bincount(index, minlength=len(texts) + 1)
        weights = None if self.weights is None else np.bincount(index, self.weights, len(texts) + 1)[:-1].tolist()
        return Levels(texts, rows[:-1].tolist(), weights, int(rows[-1]))

    def are_days(self, column: Column) -> bool:
        for values in (self.data[column.name].slice(0, _VARYING_ROWS), self.data[column.name]):
            ends = compute.min_max(values).as_py()
            if not ends["min"] or not FIRST_DAY <= ends["min"] < ends["max"] <= LAST_DAY:
                return False
            if read_numbers(column, values, ())[1]:
                return False
        return True

    def few_values(self, column: Column) -> Array | None:
        first = np.unique(self._first_values(column))
        if first.size > MOST_NAMED_CODES + 1:  # NaN is one
            return None
        values = first if self._is_short else np.unique(self._values(column))
        return values[~np.isnan(values)]

    def range_of(self, column: Column, look: bool) -> tuple[tuple[float, ...], Range]:
        values = self._values(column)
        own = range_of_numbers(column.name, values)
        found = seem_missing(column, values, own) if look else ()
        return found, range_of_numbers(column.name, without(values, found)) if found else own

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        return int(np.count_nonzero(np.isin(self._values(column), numbers)))

    def is_identifier(self, column: Column, own: Range) -> bool:
        if not may_number_rows(column.name, own, self.n_rows):
            return False
        exact = self.data[column.name]
        whole = pa.types.is_integer(exact.type)  # as floats, large numbers that differ may be one
        values = np.asarray(exact.drop_null().to_numpy()) if whole else self._values(column)
        values = values[~np.isnan(values)]
        return bool(np.all(np.floor(values) == values)) and numbers_are_identifier(column.name, values)

    def differing(self, column: Column, least: int) -> int:
        differing = _differing(self._first_values(column))
        return differing if self._is_short or differing >= least else _differing(self._values(column))

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        sample, found = self._sampled, dict[str, str]()
        first_of: dict[tuple[bool, bytes, int], list[Column]] = {}
        for column in columns:
            key = (column.kind == "category", self._comparable(column, sample).tobytes(), column.pooled)
            for other in (alike := first_of.setdefault(key, [])):
                before, own = (self._comparable(each, self.data) for each in (other, column))
                if np.array_equal(before, own, equal_nan=True):
                    found[column.name] = other.name
                    break
            else:
                alike.append(column)
        return found

    def missing_rows(self, column: Column) -> Hashable:
        return np.packbits(np.isnan(self._comparable(column, self.data))).tobytes()

    def tells_classes_apart(self, column: Column) -> bool:
        if self.classes is None:
            return False
        parts, ordered = [(self.data, self.classes)], column.kind != "category"
        if self._sampled is not self.data:
            parts.insert(0, (self._sampled, self.classes[self._sample]))
        return all(tells_classes_apart(self._comparable(column, data), classes, ordered) for data, classes in parts)

    @property
    def _is_short(self) -> bool:
        return self.n_rows <= _VARYING_ROWS

    def _values(self, column: Column) -> Array:
        if not self._is_short:
            return as_floats(column, self.data[column.name], self.codes)
        wanted = column.kind, column.notation
        if self._kept.get(column.name, (None,))[0] != wanted:
            self._kept[column.name] = wanted, as_floats(column, self.data[column.name], self.codes)
        return self._kept[column.name][1]

    def _first_values(self, column: Column) -> Array:
        """Enough of a column to tell whether it varies, as a rule."""
        if self._is_short:
            return self._values(column)
        return as_floats(column, self.data[column.name].slice(0, _VARYING_ROWS), self.codes)

    @cached_property
    def _sample(self) -> Array:
        return np.unique(np.linspace(0, self.n_rows - 1, min(self.n_rows, _SAMPLE_ROWS)).astype(np.int64))

    @cached_property
    def _sampled(self) -> Any:
        """The rows of the sample: taken once, since taking costs as much as there are columns."""
        return self.data.take(self._sample) if self.n_rows > _SAMPLE_ROWS else self.data

    def _comparable(self, column: Column, data: Any) -> Array:
        """The column as numbers that are equal where its values are; missing ones are NaN."""
        if column.kind != "category":
            return self._values(column) if data is self.data else as_floats(column, data[column.name], self.codes)
        places = {level: place for place, level in enumerate(column.levels)}
        index, _ = level_index(column.name, data[column.name], LevelPlaces(places), self.codes, "text")
        # Numbered in the order in which they appear: equal for columns that group the rows alike.
        groups = pa.array(index).dictionary_encode().indices.to_numpy().astype(np.float64)
        groups[index == MISSING_PLACE] = np.nan
        return groups


def _differing(values: Array) -> int:
    """In how many rows numbers differ from the most frequent one."""
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return int(counts.sum() - counts.max(initial=0))


def is_named_id(name: str) -> bool:
    """Whether a column is called an identifier."""
    return _ID_NAME.search(name) is not None or name.endswith(("Id", "ID"))


def may_number_rows(name: str, own: Range, n_rows: int) -> bool:
    """Whether the numbers of a column may tell rows apart, by their range or by its name."""
    missing, lowest, highest, _ = own
    surplus = highest - lowest - (n_rows - missing - 1)
    return abs(surplus) <= 2 * np.spacing(max(abs(lowest), abs(highest))) or is_named_id(name)


def numbers_are_identifier(name: str, values: Array) -> bool:
    """Whether whole numbers tell rows apart: consecutive and all different, or called an id and not just a few."""
    n = values.size
    if n < FEWEST_ROWS or not np.isfinite(values).all():
        return False
    n_different = np.unique(values).size
    consecutive = n_different == n and int(values.max()) - int(values.min()) == n - 1
    return bool(consecutive or (is_named_id(name) and n_different > min(MOST_NAMED_CODES, n - 1)))


def tells_classes_apart(values: Array, codes: Array, ordered: bool) -> bool:
    """Whether one column alone gives every row its class.

    Either each value goes with one class only, and values repeat; or, where their order means something, each class has
    an interval of its own. Missing values (NaN) count as one value more.
    """
    if codes.size < FEWEST_ROWS:
        return False
    order = np.lexsort((codes, values))
    values, codes = values[order], codes[order]
    other_class = codes[1:] != codes[:-1]
    other_value = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    if (other_class & ~other_value).any():
        return False
    runs, groups = 1 + np.count_nonzero(other_class), 1 + np.count_nonzero(other_value)
    return bool((ordered and runs == np.unique(codes).size) or groups <= codes.size / 5)


def seem_missing(column: Column, values: Array, own: Range) -> tuple[float, ...]:
    """The numbers or days of a column that seem to stand for missing values."""
    return date_sentinels(values) if column.kind == "date" else sentinels(values, own[1], own[2])


def without(values: Array, numbers: Sequence[float]) -> Array:
    """The values with NaN in the place of these numbers."""
    return np.where(np.isin(values, numbers), np.nan, values)


def range_of_numbers(name: str, values: Array, first_row: int = 0) -> Range:
    """Missing values, lowest and highest value and mean; infinity is refused."""
    whole = total(values)
    if np.isfinite(whole) and values.size:
        return (0, float(values.min()), float(values.max()), whole / values.size)
    refuse_infinite(name, values, first_row)
    present = values[~np.isnan(values)]
    if not present.size:
        return (values.size, np.nan, np.nan, np.nan)
    lowest, highest = float(present.min()), float(present.max())
    largest = max(highest, -lowest)  # the sum may overflow where the mean does not
    mean = largest * (present / largest).mean() if largest > 1e300 else present.mean()
    return (values.size - present.size, lowest, highest, float(mean))
