"""Facts about the columns of a streamed table: from a sample of its rows, and from counts of all rows.

The type of a column, its notation and sentinels, and duplicate, identifying and separating columns are inferred from
the sample. Levels with their rows, missing values, ranges and means are counted in one pass over all rows. So the
coding is that of a table in memory, except for what a sample of this size does not show.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from ..arrays import Array
from .column import Column
from .facts import Levels, Range, TableFacts, is_code, sentinels_of, with_sentinels
from .layouts import Values
from .values import distinct_texts, read_numbers

#: Distinct texts of a column that are counted; if there are more, only those of the sample are.
MAX_COUNTED_TEXTS: Final = 1 << 16


@dataclass
class TextCounts:
    """The rows and weight of each distinct text of a column; of very many texts only those of the sample."""

    sampled: frozenset[str]
    rows: Counter[str] = field(default_factory=Counter)
    weights: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    empty: int = 0
    unlisted_rows: int = 0
    unlisted_weight: float = 0.0

    def fresh(self) -> TextCounts:
        """Empty counts of the same column."""
        return TextCounts(self.sampled)

    def update(self, values: Values, weight: Array | None, first_row: int) -> None:  # noqa: ARG002
        """Add a part of the column."""
        texts, index = distinct_texts(values)
        rows = np.bincount(index, minlength=len(texts) + 1).tolist()
        weights = rows if weight is None else np.bincount(index, weight, len(texts) + 1).tolist()
        self.empty += rows.pop()
        self._add({text: n for text, n in zip(texts, rows, strict=True) if n}, dict(zip(texts, weights, strict=False)))

    def merge(self, other: TextCounts) -> None:
        """Add the counts of other rows."""
        self.empty += other.empty
        self.unlisted_rows += other.unlisted_rows
        self.unlisted_weight += other.unlisted_weight
        self._add(other.rows, other.weights)

    def _add(self, rows: Mapping[str, int], weights: Mapping[str, float]) -> None:
        for text, n in rows.items():
            self.rows[text] += n
            self.weights[text] += weights[text]
        if self.unlisted_rows or len(self.rows) > MAX_COUNTED_TEXTS:
            for text in [text for text in self.rows if text not in self.sampled]:
                self.unlisted_rows += self.rows.pop(text)
                self.unlisted_weight += self.weights.pop(text)

    def levels(self, n_distinct: int, is_weighted: bool) -> Levels:
        """The counts; ``n_distinct`` is the estimated number of distinct texts if not all are listed."""
        unlisted = max(n_distinct - len(self.rows), 1) if self.unlisted_rows else 0
        weights = [self.weights[text] for text in self.rows] if is_weighted else None
        counted = (list(self.rows), list(self.rows.values()), weights, self.empty)
        return Levels(*counted, unlisted, self.unlisted_rows, self.unlisted_weight)


@dataclass
class NumberCounts:
    """The range of a column of numbers, its sentinels, and the rows in which it differs from its ``mode``."""

    column: Column
    codes: Sequence[str]
    mode: float
    sentinels: Counter[float] = field(default_factory=Counter)
    n_present: int = 0
    range: Range = field(default_factory=lambda: Range(0))
    n_differing: int = 0

    def fresh(self) -> NumberCounts:
        """Empty counts of the same column."""
        return NumberCounts(self.column, self.codes, self.mode)

    def update(self, values: Values, weight: Array | None, first_row: int) -> None:  # noqa: ARG002
        """Add a part of the column."""
        notation = self.column.notation
        bare = replace(self.column, notation=replace(notation, sentinels=()))
        numbers = read_numbers(bare, values, self.codes)[0]
        found = Counter({value: int(np.count_nonzero(numbers == value)) for value in notation.sentinels})
        numbers = notation.without_sentinels(numbers)
        own = Range.of(self.column.name, numbers, first_row)
        n_differing = int(np.count_nonzero(numbers != self.mode)) - own.missing
        self.merge(NumberCounts(bare, (), 0.0, found, numbers.size - own.missing, own, n_differing))

    def merge(self, other: NumberCounts) -> None:
        """Add the counts of other rows."""
        self.sentinels.update(other.sentinels)
        self.n_differing += other.n_differing
        first, second, n_rows = self.range, other.range, self.n_present + other.n_present
        if not self.n_present or not other.n_present:
            first, second = (first, second) if self.n_present else (second, first)
            self.range = first._replace(missing=first.missing + second.missing)
        else:
            share = other.n_present / n_rows
            mean = first.mean * (1 - share) + second.mean * share
            low, high = min(first.low, second.low), max(first.high, second.high)
            self.range = Range(first.missing + second.missing, low, high, mean)
        self.n_present = n_rows


Counts: TypeAlias = TextCounts | NumberCounts
#: A pass over all rows, from empty counts of columns to their counts.
Counting: TypeAlias = Callable[[Mapping[str, Counts]], Mapping[str, Counts]]


class SampledFacts(TableFacts):
    """Facts from a sample of rows and, after `with_ranges`, from counts of all rows.

    ``types`` are the Arrow types of the columns in the whole table, ``n_rows`` its rows; ``counting`` makes the pass.
    """

    def __init__(
        self, sample: TableFacts, types: Mapping[str, pa.DataType], n_rows: int, counting: Counting, is_weighted: bool
    ) -> None:
        super().__init__(sample.data, sample.codes, sample.classes, None)
        self.n_rows, self.types, self._counting, self._is_weighted = n_rows, dict(types), counting, is_weighted
        self._counts: dict[str, Counts] = {}

    def with_ranges(self, columns: Iterable[Column], declared: Iterable[str]) -> list[tuple[Column, Range]]:
        known = {column.name: column for column in columns}
        inferred = [name for name, column in known.items() if column.has_numbers and name not in declared]
        for name in inferred:
            values = self._values(known[name])
            values = values[np.isfinite(values)]  # infinite values are refused, with their row, when rows are counted
            if found := sentinels_of(known[name], values, Range.of(name, values)):
                known[name] = with_sentinels(known[name], found)
        self._count(known.values())
        again = {name: self._with_unsampled_sentinels(known[name]) for name in inferred}
        again = {name: column for name, column in again.items() if column is not known[name]}
        if again:
            self._count(again.values())
        known |= again
        return [(known[name], own.range) for name, own in self._counts.items() if isinstance(own, NumberCounts)]

    def _count(self, columns: Iterable[Column]) -> None:
        self._counts |= self._counting({column.name: self._empty_counts(column) for column in columns})

    def _empty_counts(self, column: Column) -> Counts:
        if not column.has_numbers:
            return TextCounts(frozenset(distinct_texts(self.data[column.name])[0]))
        values = self._values(column)
        distinct, rows = np.unique(values[~np.isnan(values)], return_counts=True)
        return NumberCounts(column, self.codes, float(distinct[rows.argmax()]) if distinct.size else np.nan)

    def _with_unsampled_sentinels(self, column: Column) -> Column:
        """The column with sentinels that do not occur in the sample but are the lowest or highest number."""
        own = self._counts[column.name].range  # type: ignore[union-attr]
        if not any(is_code(value, column.kind == "date") for value in (own.low, own.high)):
            return column
        found = sentinels_of(column, np.append(self._values(column), (own.low, own.high)), own)
        return with_sentinels(column, found) if found else column

    def levels(self, name: str) -> Levels:
        counts = self._counts.get(name)
        if not isinstance(counts, TextCounts):
            return super().levels(name)
        rows = super().levels(name).rows if counts.unlisted_rows else []
        n_once, n_twice = rows.count(1), rows.count(2)
        # Chao's bias-corrected estimate of the number of distinct texts.
        estimate = len(rows) + n_once * (n_once - 1) // (2 * (n_twice + 1))
        return counts.levels(min(estimate, counts.unlisted_rows + len(counts.rows)), self._is_weighted)

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        counts = self._counts[column.name]
        return sum(counts.sentinels[value] for value in numbers) if isinstance(counts, NumberCounts) else 0

    def n_differing(self, column: Column, enough: int) -> int:  # noqa: ARG002
        counts = self._counts[column.name]
        return counts.n_differing if isinstance(counts, NumberCounts) else 0

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        found = super().duplicates(columns)
        return {name: other for name, other in found.items() if self._key(name) == self._key(other)}

    def _key(self, name: str) -> Hashable:
        """The counts of a column, equal for equal columns."""
        own = self._counts[name]
        return (tuple(sorted(own.rows.values())), own.empty) if isinstance(own, TextCounts) else own.range

    def missing_rows(self, column: Column) -> Hashable:
        return column.missing, super().missing_rows(column)
