"""What is asked of the columns of a labelled table while it is decided how to code them.

`TableFacts` answers from a table in memory; `passes.PassFacts` answers the same questions from statistics of a table
that is read once, part by part. Who decides (`training.ColumnLearner`) cannot tell which of them it asks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..results import Finding, percent, several
from .identifiers import MAX_NAMED_CODES, MIN_ROWS, Numbering, Order, whole_numbers
from .levels import MISSING_PLACE, LevelPlaces
from .recognition import PLAIN, Notation, date_sentinels, sentinels
from .schema import (
    Column,
    as_floats,
    distinct_texts,
    is_numeric,
    level_index,
    plain_floats,
    read_numbers,
    refuse_infinite,
    total,
)

#: Below this many rows a column may tell the classes apart by chance.
FEWEST_ROWS = 20
#: Columns are compared on this many rows first, and on all rows only if these do not decide it.
_SAMPLE_ROWS = 2000
#: Whole numbers of eight digits may be days.
FIRST_DAY, LAST_DAY = 1800_01_01, 2200_01_01
#: Whether a column of numbers varies enough shows in so many rows, as a rule.
_VARYING_ROWS = 5000
#: So many values of columns are looked at together: they stay in the cache.
_BLOCK_VALUES = 1 << 17
#: Fewer rows than this that repeat others change no figure.
_LEAST_SHARE = 0.05
#: The part of the different rows that two columns tell apart, and of the copies that are none once one is shuffled.
_TOLD_APART, _UNLIKE = 0.8, 0.5
#: Longer tables are not looked through: it would take as long as reading them.
_MOST_COMPARED = 100_000

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

    def numbering(self, column: Column) -> Numbering | None:
        """How the whole numbers of a column are spaced and ordered; None where they cannot identify anything."""

    def order(self, column: Column) -> Order:
        """How often the numbers of a column rise and fall from row to row."""

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
        self.n_rows = int(data.num_rows)
        self._whole = _Part(data, codes, classes)
        self._types = dict(zip(data.column_names, data.schema.types, strict=True))

    @property
    def names(self) -> list[str]:
        return list(self._types)

    def type_of(self, name: str) -> Any:
        return self._types[name]

    def levels(self, name: str) -> Levels:
        texts, index = distinct_texts(self.data[name])
        rows = np.bincount(index, minlength=len(texts) + 1)
        weights = None if self.weights is None else np.bincount(index, self.weights, len(texts) + 1)[:-1].tolist()
        return Levels(texts, rows[:-1].tolist(), weights, int(rows[-1]))

    def are_days(self, column: Column) -> bool:
        plain = Column(column.name, "number")
        for part in dict.fromkeys((self._first, self._whole)):
            numbers, place = part.numbers(plain)
            lowest, highest = (ends[place] for ends in numbers.ends)
            if not FIRST_DAY <= lowest < highest <= LAST_DAY:
                return False
            if read_numbers(column, part.data[column.name], ())[1]:
                return False
        return True

    def few_values(self, column: Column) -> Array | None:
        numbers, place = self._first.numbers(column)
        if numbers.different[place] > MAX_NAMED_CODES:
            return None
        values = np.unique(self._values(column))
        return values[~np.isnan(values)]

    def range_of(self, column: Column, look: bool) -> tuple[tuple[float, ...], Range]:
        numbers, place = self._whole.numbers(column)
        own, values = numbers.range_of(place, column.name), numbers.values[place]
        found = seem_missing(column, values, own) if look else ()
        return found, range_of_numbers(column.name, without(values, found)) if found else own

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        return int(np.count_nonzero(np.isin(self._values(column), numbers)))

    def numbering(self, column: Column) -> Numbering | None:
        numbers, place = self._first.numbers(column)
        few = numbers.different[place] <= min(MAX_NAMED_CODES, MIN_ROWS - 1)
        if few or not numbers.whole[place]:
            return None
        values = whole_numbers(self.data[column.name], self._values(column))
        return None if values is None or not values.size else Numbering.of(values)

    def order(self, column: Column) -> Order:
        found = Order()
        found.update(_present(self._values(column)))
        return found

    def differing(self, column: Column, least: int) -> int:
        for part in dict.fromkeys((self._first, self._whole)):
            numbers, place = part.numbers(column)
            differing = int(numbers.differing[place])
            if differing >= least:
                break
        return differing

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        found, first_of = dict[str, str](), dict[tuple[bool, bytes, int], list[Column]]()
        for column in columns:
            key = (column.kind == "category", self._sampled.comparable(column).tobytes(), column.pooled)
            for other in (alike := first_of.setdefault(key, [])):
                before, own = (self._whole.comparable(each) for each in (other, column))
                if np.array_equal(before, own, equal_nan=True):
                    found[column.name] = other.name
                    break
            else:
                alike.append(column)
        return found

    def missing_rows(self, column: Column) -> Hashable:
        return np.packbits(np.isnan(self._whole.comparable(column))).tobytes()

    def tells_classes_apart(self, column: Column) -> bool:
        if self.classes is None:
            return False
        return all(part.tells_classes_apart(column) for part in dict.fromkeys((self._sampled, self._whole)))

    def _values(self, column: Column) -> Array:
        numbers, place = self._whole.numbers(column)
        return numbers.values[place]

    @cached_property
    def _first(self) -> _Part:
        """Enough of the table to tell whether a column varies, as a rule."""
        return self._whole if self._whole.is_short else _Part(self.data.slice(0, _VARYING_ROWS), self.codes)

    @cached_property
    def _sampled(self) -> _Part:
        """The rows of a sample: taken once, since taking costs as much as there are columns."""
        if self.n_rows <= _SAMPLE_ROWS:
            return self._whole
        rows = np.unique(np.linspace(0, self.n_rows - 1, _SAMPLE_ROWS).astype(np.int64))
        return _Part(self.data.take(rows), self.codes, None if self.classes is None else self.classes[rows])


class _Part:
    """Rows of a table. Columns of a short one are read once and kept, those of plain numbers many at a time."""

    def __init__(self, data: Any, codes: Sequence[str], classes: Array | None = None) -> None:
        self.data, self.codes, self.classes = data, codes, classes
        self.is_short = data.num_rows <= _VARYING_ROWS
        #: By column and how it was read: the columns that were read with it, and its place among them.
        self._kept: dict[tuple[str, str, Notation], tuple[NumberColumns, int]] = {}

    def numbers(self, column: Column) -> tuple[NumberColumns, int]:
        """Columns of numbers of which this is one, and its place among them."""
        key = column.name, column.kind, column.notation
        if key in self._kept:
            return self._kept[key]
        if self.is_short and key[1:] == ("number", PLAIN) and column.name in self._blocks:
            names = self._blocks[column.name]
            values = np.array([plain_floats(each) for each in self.data.select(names).columns])
        else:
            names, values = [column.name], as_floats(column, self.data[column.name], self.codes)[None]
        found = NumberColumns(values, self.classes)
        if self.is_short:
            self._kept |= {(name, *key[1:]): (found, place) for place, name in enumerate(names)}
        return found, names.index(column.name)

    @cached_property
    def _blocks(self) -> dict[str, list[str]]:
        """By column of numbers: those of its type that are read with it."""
        alike: dict[int, list[str]] = {}
        for name, kind in zip(self.data.column_names, self.data.schema.types, strict=True):
            if is_numeric(kind):
                alike.setdefault(kind.id, []).append(name)
        step = max(_BLOCK_VALUES // max(self.data.num_rows, 1), 1)
        blocks = [names[start : start + step] for names in alike.values() for start in range(0, len(names), step)]
        return {name: block for block in blocks for name in block}

    def comparable(self, column: Column) -> Array:
        """The column as numbers that are equal where its values are; missing ones are NaN."""
        if column.kind != "category":
            numbers, place = self.numbers(column)
            return numbers.values[place]
        places = {level: place for place, level in enumerate(column.levels)}
        index, _ = level_index(column.name, self.data[column.name], LevelPlaces(places), self.codes, "text")
        # Numbered in the order in which they appear: equal for columns that group the rows alike.
        groups = pa.array(index).dictionary_encode().indices.to_numpy().astype(np.float64)
        groups[index == MISSING_PLACE] = np.nan
        return groups

    def tells_classes_apart(self, column: Column) -> bool:
        """Whether the column alone gives every row its class."""
        if column.kind == "category":
            return bool(tell_classes_apart(self.comparable(column)[None], self.classes, False)[0])
        numbers, place = self.numbers(column)
        return bool(numbers.tell_classes_apart[place])


class NumberColumns:
    """Columns of numbers, one in each row of a matrix: what is asked of one is found for all of them at once.

    NumPy takes longer to begin with a column than to look through some hundred values.
    """

    def __init__(self, values: Array, classes: Array | None = None) -> None:
        self.values, self._classes = values, classes

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """The lowest and the highest values; NaN where there is none."""
        gaps = np.isnan(self._totals)
        if gaps.all() or not self.values.size:
            lowest, highest = np.full((2, len(self.values)), np.nan)
        else:
            lowest, highest = self.values.min(axis=1), self.values.max(axis=1)
        for place in np.flatnonzero(gaps):
            present = _present(self.values[place])
            if present.size:
                lowest[place], highest[place] = present.min(), present.max()
        return lowest, highest

    @cached_property
    def _totals(self) -> Array:
        return total(self.values)

    def range_of(self, place: int, name: str, first_row: int = 0) -> Range:
        """Missing values, lowest and highest value and mean of a column; infinity is refused."""
        values, whole = self.values[place], float(self._totals[place])
        if math.isfinite(whole) and values.size:
            return (0, float(self.ends[0][place]), float(self.ends[1][place]), whole / values.size)
        refuse_infinite(name, values, first_row)
        present = _present(values)
        if not present.size:
            return (values.size, np.nan, np.nan, np.nan)
        lowest, highest = float(present.min()), float(present.max())
        largest = max(highest, -lowest)  # the sum may overflow where the mean does not
        mean = largest * (present / largest).mean() if largest > 1e300 else present.mean()
        return (values.size - present.size, lowest, highest, float(mean))

    @cached_property
    def _counts(self) -> tuple[Array, Array]:
        """How many different numbers there are, and in how many rows a number is not the most frequent one."""
        in_order = np.sort(self.values, axis=1)
        begins = np.ones(in_order.shape, dtype=bool)
        begins[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
        runs, missing = begins.sum(axis=1), np.isnan(in_order).sum(axis=1)  # each NaN is a run of one row
        rows = np.diff(np.flatnonzero(begins), append=begins.size)
        most = np.maximum.reduceat(rows, np.cumsum(runs) - runs) if rows.size else runs
        return runs - missing, np.maximum(in_order.shape[1] - missing - most, 0)

    @property
    def different(self) -> Array:
        """How many different numbers there are."""
        return self._counts[0]

    @property
    def differing(self) -> Array:
        """In how many rows numbers differ from the most frequent one."""
        return self._counts[1]

    @cached_property
    def whole(self) -> Array:
        """Which columns hold whole numbers alone, but for missing values."""
        return ((np.floor(self.values) == self.values) | np.isnan(self.values)).all(axis=1)

    @cached_property
    def tell_classes_apart(self) -> Array:
        """Which columns alone give every row its class."""
        return tell_classes_apart(self.values, self._classes, True)


def _present(values: Array) -> Array:
    return values[~np.isnan(values)]


def tell_classes_apart(columns: Array, codes: Array | None, ordered: bool) -> Array:
    """Which columns, one in each row of a matrix, alone give every row of the table its class.

    Either each value goes with one class only, and values repeat; or, where their order means something, each class has
    an interval of its own. Missing values (NaN) count as one value more.
    """
    if codes is None or codes.size < FEWEST_ROWS:
        return np.zeros(len(columns), dtype=bool)
    order = np.lexsort((np.broadcast_to(codes, columns.shape), columns))
    values, classes = np.take_along_axis(columns, order, axis=1), codes[order]
    other_class = classes[:, 1:] != classes[:, :-1]
    other_value = (values[:, 1:] != values[:, :-1]) & ~(np.isnan(values[:, 1:]) & np.isnan(values[:, :-1]))
    pure = ~(other_class & ~other_value).any(axis=1)
    if not pure.any():
        return pure
    runs, groups = (1 + np.count_nonzero(other, axis=1) for other in (other_class, other_value))
    return pure & ((ordered & (runs == np.unique(codes).size)) | (groups <= codes.size / 5))


def seem_missing(column: Column, values: Array, own: Range) -> tuple[float, ...]:
    """The numbers or days of a column that seem to stand for missing values."""
    return date_sentinels(values) if column.kind == "date" else sentinels(values, own[1], own[2])


def without(values: Array, numbers: Sequence[float]) -> Array:
    """The values with NaN in the place of these numbers."""
    return np.where(np.isin(values, numbers), np.nan, values)


def range_of_numbers(name: str, values: Array, first_row: int = 0) -> Range:
    """Missing values, lowest and highest value and mean; infinity is refused."""
    return NumberColumns(values[None]).range_of(0, name, first_row)


def hashed(values: Array) -> Array:
    """A word of 64 bits for each number."""
    word = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return word ^ (word >> np.uint64(29))


@dataclass(frozen=True)
class Copies:
    """The coded rows of a table, with the numbers of the ``first`` of equal ones, where many are copies of others.

    Where one is held out and another trained on, held-out figures are too good. Rows of a few categories, ages and the
    like are equal by chance, and no fault. Copies show in columns of many values: the two that have most of them nearly
    tell the different rows apart, and if one of the two is shuffled, most of what was equal is so no longer. Of few
    values, as many stay equal as were, and where one column follows from another the rest differs.
    """

    X: Array
    codes: Array
    first: Array

    @classmethod
    def of(cls, X: Array, codes: Array) -> Copies | None:
        """None where rows are not copied, or no more often than a few values make them equal."""
        n_rows = len(codes)
        if not isinstance(X, np.ndarray) or not 2 <= n_rows <= _MOST_COMPARED:
            return None
        first = np.unique(_words(X, codes), return_index=True)[1]
        copied = n_rows - first.size
        if copied < _LEAST_SHARE * n_rows:
            return None
        pair = X[:, np.argsort([-np.unique(column).size for column in X.T], kind="stable")[:2]]
        apart = np.unique(_words(pair)).size
        pair[:, 0] = np.random.default_rng(0).permutation(pair[:, 0])
        told = apart >= _TOLD_APART * first.size and np.unique(_words(pair)).size - apart >= _UNLIKE * copied
        return cls(X, codes, np.sort(first)) if told else None

    def finding(self) -> Finding:
        """What is told of them."""
        n_rows = len(self.codes)
        copied = n_rows - self.first.size
        said = (
            f"{several(copied, 'row')} ({percent(copied / n_rows)}) repeat other rows in all columns, the class "
            "included. If they are copies, rows that are held out have been seen in training, and what is measured on "
            "them is too good: take the copies out of the table."
        )
        return Finding("warning", "copies", None, said)

    def tell_apart(self, column: int) -> bool:
        """Whether a coded column of numbers tells the classes apart without error, copies counting once."""
        return bool(tell_classes_apart(self.X[None, self.first, column], self.codes[self.first], True)[0])


def _words(X: Array, codes: Array | None = None) -> Array:
    """A word of 64 bits for each row, with its class: the same for equal rows, and for others hardly ever."""
    odd = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    words = np.zeros(len(X), dtype=np.uint64) if codes is None else hashed(codes.astype(np.float64))
    step = max((1 << 20) // max(X.shape[1], 1), 1)
    for start in range(0, len(words), step):
        words[start : start + step] += hashed(np.ascontiguousarray(X[start : start + step])) @ odd
    return words
