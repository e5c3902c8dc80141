"""Columns of a table that is read part by part: statistics of bounded size that can be merged, and answers from them.

One pass over all columns answers nearly everything that is asked while a coding is learned (`facts.Facts`). A column is
read once more, alone, where it has more different texts than are kept (their counts are then exact for the frequent
ones), where its lowest or highest number looks like a sentinel, or where numbers turn out to be days.

Whether two columns are equal, or missing in the same rows, is told by sums over rows of a random number of the row
times a hash of the value, modulo 2**64 (Carter & Wegman 1979): they do not depend on how the rows are cut, and
different columns have the same sum with a probability of about 2**-60. How many different texts there are where not all
are kept is estimated from the 1,024 smallest of their hashes (Bar-Yossef et al. 2002), within a few percent.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ..arrays import Array
from .facts import FEWEST_ROWS, FIRST_DAY, LAST_DAY, Levels, Range, hashed, range_of_numbers, seem_missing
from .identifiers import Numbering, Order, whole_numbers
from .levels import UNSEEN_PLACE, LevelPlaces
from .recognition import DAY_NUMBERS, may_be_sentinel
from .schema import Column, distinct_texts, is_numeric, read_numbers
from .sources import is_text

#: So many different texts of a column are counted; where there are more, half of them, the most frequent.
_MOST_TEXTS = 1 << 16
#: So many different numbers of a column are counted; a column that has more is one of numbers.
_MOST_NUMBERS = 256
#: So many of the lowest and of the highest different numbers are looked at for sentinels.
_ENDS = 24
_SMALLEST_HASHES = 1024
_WORD = (1 << 64) - 1
#: In the place of the class of rows of several classes, and of the key of texts that are not listed.
_SEVERAL, _OTHERS = -1, None


@dataclass(frozen=True)
class RowPart:
    """Rows of a batch: their numbers in the whole table and, if known, weights and class codes."""

    numbers: Array
    weight: Array | None = None
    classes: Array | None = None

    @property
    def words(self) -> Array:
        """A random number of 64 bits for each row, that of its number (Steele, Lea & Flood 2014)."""
        word = self.numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        word ^= word >> np.uint64(30)
        word *= np.uint64(0xBF58476D1CE4E5B9)
        word ^= word >> np.uint64(27)
        word *= np.uint64(0x94D049BB133111EB)
        return word ^ (word >> np.uint64(31))


def _sum(words: Array) -> int:
    return int(words.sum(dtype=np.uint64)) if words.size else 0


@dataclass
class Entry:
    """The rows of one value: how many, their weight, the sum of their words, and the class that they all have."""

    rows: int = 0
    weight: float = 0.0
    words: int = 0
    klass: int | None = None

    def add(self, other: Entry) -> None:
        self.rows += other.rows
        self.weight += other.weight
        self.words = (self.words + other.words) & _WORD
        if other.klass is not None:
            self.klass = other.klass if self.klass in (None, other.klass) else _SEVERAL

    @classmethod
    def sum_of(cls, entries: Iterable[Entry]) -> Self:
        """The rows of several values."""
        whole = cls()
        for entry in entries:
            whole.add(entry)
        return whole


def grouped(index: Array, n_groups: int, part: RowPart, words: Array) -> list[Entry]:
    """The rows of each group, by the group of each row."""
    rows = np.bincount(index, minlength=n_groups)
    weight = rows.astype(np.float64) if part.weight is None else np.bincount(index, part.weight, n_groups)
    # Halves of words are added exactly in floats, as there are not that many rows.
    halves = (words & np.uint64(0xFFFFFFFF), words >> np.uint64(32))
    low, high = (np.bincount(index, half.astype(np.float64), n_groups) for half in halves)
    first = np.full(n_groups, _SEVERAL)
    if part.classes is not None:
        first[index[::-1]] = part.classes[::-1]
        first[np.bincount(index, part.classes != first[index], n_groups) > 0] = _SEVERAL
    found = zip(rows.tolist(), weight.tolist(), low.tolist(), high.tolist(), first.tolist(), strict=True)
    return [
        Entry(n, weighed, (int(under) + (int(over) << 32)) & _WORD, klass if n else None)
        for n, weighed, under, over, klass in found
    ]


class Texts:
    """The different texts of a column and their rows. Of very many the most frequent ones, or those that are wanted."""

    def __init__(self, wanted: frozenset[str] | None = None) -> None:
        self.wanted = wanted
        self.entries: dict[str | None, Entry] = {}
        self.empty = Entry()
        #: The smallest hashes of all texts, where some were left out.
        self.smallest: list[int] | None = None

    def fresh(self) -> Texts:
        return Texts(self.wanted)

    def update(self, values: Any, part: RowPart) -> None:
        """Add a part of the column."""
        texts, index = distinct_texts(values)
        found = grouped(index, len(texts) + 1, part, part.words)
        self.empty.add(found.pop())
        for text, entry in zip(texts, found, strict=True):
            if entry.rows:
                self._put(text if self.wanted is None or text in self.wanted else _OTHERS, entry)
        self._keep_to_size()

    def merge(self, other: Texts) -> None:
        self.empty.add(other.empty)
        for text, entry in other.entries.items():
            self._put(text, entry)
        if other.smallest is not None:
            self.smallest = _smallest((*(self.smallest or ()), *other.smallest))
        self._keep_to_size()

    def _put(self, text: str | None, entry: Entry) -> None:
        known = self.entries.get(text)
        if known is None:
            self.entries[text] = replace(entry)
        else:
            known.add(entry)

    def _keep_to_size(self) -> None:
        if self.wanted is None and len(self.entries) > _MOST_TEXTS:
            self.smallest = self._hashes()
            kept = sorted(self.entries, key=lambda text: (-self.entries[text].rows, text))[: _MOST_TEXTS // 2]
            self.entries = {text: self.entries[text] for text in kept}

    def _hashes(self) -> list[int]:
        return _smallest((*(self.smallest or ()), *(_hash_of(text) for text in self.entries if text is not None)))

    @property
    def n_different(self) -> int:
        """How many different texts there are, exactly where none was left out."""
        if self.smallest is None:
            return len(self.entries)
        hashes = self._hashes()
        return round((_SMALLEST_HASHES - 1) * 2**64 / hashes[-1])


def _hash_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _smallest(hashes: Iterable[int]) -> list[int]:
    return heapq.nsmallest(_SMALLEST_HASHES, set(hashes))


class Numbers:
    """The numbers of a column: range, mean, sums of words, and the rows of each number where there are few."""

    def __init__(self, column: Column, codes: Sequence[str], most: int = _MOST_NUMBERS) -> None:
        self.column, self.codes, self.most = column, codes, most
        self.rows = self.missing = 0
        self.low, self.high, self.mean = np.inf, -np.inf, 0.0
        self.days = True
        #: None where some numbers are not whole.
        self.numbering: Numbering | None = Numbering()
        self.order: Order | None = Order()
        #: Sums of words: of rows times values, of values, and of rows without a value.
        self.product = self.content = 0
        self.empty = Entry()
        self.counts: dict[float, Entry] | None = {}
        #: The lowest and the highest number of each class, while these do not overlap.
        self.ends: dict[int, tuple[float, float]] | None = {}

    def fresh(self) -> Numbers:
        return Numbers(self.column, self.codes, self.most)

    def update(self, values: Any, part: RowPart) -> None:
        """Add a part of the column."""
        numbers = read_numbers(self.column, values, self.codes)[0]
        own = range_of_numbers(self.column.name, numbers, int(part.numbers[0]) if part.numbers.size else 0)
        words, whole = part.words, None if self.numbering is None else whole_numbers(values, numbers)
        if own[0]:
            missing = np.isnan(numbers)
            self.empty.add(grouped(np.zeros(own[0], dtype=np.int64), 1, _chosen(part, missing), words[missing])[0])
            numbers, words, part = numbers[~missing], words[~missing], _chosen(part, ~missing)
        self._add_range(own, numbers.size)
        if not numbers.size:
            return
        self._number_rows(whole, numbers)
        self.days = self.days and self._all_days(own, values)
        hashes = hashed(numbers)
        self.content = (self.content + _sum(hashes)) & _WORD
        self.product = (self.product + _sum(hashes * words)) & _WORD
        if self.counts is not None:
            different, index = np.unique(numbers, return_inverse=True)
            self._add_counts(
                different, grouped(index, different.size, part, words) if different.size <= self.most else []
            )
        if self.ends is not None and part.classes is not None:
            of_class = {int(klass): numbers[part.classes == klass] for klass in np.unique(part.classes)}
            self._add_ends({klass: (float(own.min()), float(own.max())) for klass, own in of_class.items()})

    def merge(self, other: Numbers) -> None:
        self.empty.add(other.empty)
        self._add_range((other.missing, other.low, other.high, other.mean), other.rows)
        self.days = self.days and other.days
        if self.numbering is None or other.numbering is None:
            self.numbering = None
        else:
            self.numbering.merge(other.numbering)
        if self.order is None or other.order is None:
            self.order = None
        else:
            self.order.merge(other.order)
        self.content = (self.content + other.content) & _WORD
        self.product = (self.product + other.product) & _WORD
        if other.counts is None or self.counts is None:
            self.counts = None
        else:
            self._add_counts(np.array(list(other.counts)), list(other.counts.values()))
        if other.ends is None or self.ends is None:
            self.ends = None
        else:
            self._add_ends(other.ends)

    def _number_rows(self, whole: Array | None, numbers: Array) -> None:
        """Add the present values of further rows, as whole numbers where they are."""
        assert self.order is not None
        self.order.update(numbers)
        if whole is None or self.numbering is None:
            self.numbering = None
        else:
            self.numbering.update(whole)

    def _add_range(self, own: Range, rows: int) -> None:
        missing, low, high, mean = own
        self.missing += missing
        if rows:
            self.low, self.high = min(self.low, low), max(self.high, high)
            share = rows / (self.rows + rows)
            self.mean = self.mean * (1 - share) + mean * share
            self.rows += rows

    def _all_days(self, own: Range, values: Any) -> bool:
        """Whether all numbers are days such as 20201231."""
        if self.column.kind != "number" or not FIRST_DAY <= own[1] <= own[2] <= LAST_DAY:
            return False
        return (
            is_numeric(values.type)
            and not read_numbers(replace(self.column, kind="date", notation=DAY_NUMBERS), values, ())[1]
        )

    def _add_counts(self, different: Array, entries: list[Entry]) -> None:
        assert self.counts is not None
        if len(different) > self.most:
            self.counts = None
            return
        for value, entry in zip(different.tolist(), entries, strict=True):
            self.counts.setdefault(value, Entry()).add(entry)
        if len(self.counts) > self.most:
            self.counts = None

    def _add_ends(self, found: Mapping[int, tuple[float, float]]) -> None:
        assert self.ends is not None
        for klass, (low, high) in found.items():
            known = self.ends.get(klass, (low, high))
            self.ends[klass] = min(known[0], low), max(known[1], high)
        in_order = sorted(self.ends.values())
        if any(high >= low for (_, high), (low, _) in pairwise(in_order)):
            self.ends = None

    @property
    def range(self) -> Range:
        nothing = np.nan
        return (
            (self.missing, self.low, self.high, self.mean) if self.rows else (self.missing, nothing, nothing, nothing)
        )

    @classmethod
    def of_entries(cls, column: Column, values: Array, entries: Sequence[Entry], empty: Entry, most: int) -> Numbers:
        """The statistic of a column whose different values, as numbers, are known with their rows."""
        found = cls(column, (), most)
        there = ~np.isnan(values)
        found.empty = Entry.sum_of([empty, *(entry for entry, here in zip(entries, there, strict=True) if not here)])
        found.missing = found.empty.rows
        kept, values = [entry for entry, here in zip(entries, there, strict=True) if here], values[there]
        if not kept:
            return found
        rows = np.array([entry.rows for entry in kept])
        found.rows, found.low, found.high = int(rows.sum()), float(values.min()), float(values.max())
        found.mean = float(np.average(values, weights=rows))
        whole = np.array_equal(values, np.floor(values)) and np.abs(values).max() < 2.0**63
        found.numbering = Numbering.of_counts(values.astype(np.int64), rows) if whole else None
        found.order, found.days = None, False
        words = [int(word) for word in hashed(values)]
        found.content = sum(word * entry.rows for word, entry in zip(words, kept, strict=True)) & _WORD
        found.product = sum(word * entry.words for word, entry in zip(words, kept, strict=True)) & _WORD
        by_value: dict[float, Entry] = {}
        for value, entry in zip(values.tolist(), kept, strict=True):
            by_value.setdefault(value, Entry()).add(entry)
        found.counts = by_value if len(by_value) <= most else None
        for value, entry in by_value.items():
            if entry.klass == _SEVERAL or found.ends is None:
                found.ends = None
                break
            found._add_ends({entry.klass or 0: (value, value)})
        return found


def _chosen(part: RowPart, chosen: Array) -> RowPart:
    weight, classes = (None if own is None else own[chosen] for own in (part.weight, part.classes))
    return RowPart(part.numbers[chosen], weight, classes)


class Ends:
    """The lowest and the highest different numbers of a column, with their rows."""

    def __init__(self, column: Column, codes: Sequence[str]) -> None:
        self.column, self.codes, self.counts = column, codes, dict[float, int]()

    def fresh(self) -> Ends:
        return Ends(self.column, self.codes)

    def update(self, values: Any, part: RowPart) -> None:  # noqa: ARG002
        """Add a part of the column."""
        numbers = read_numbers(self.column, values, self.codes)[0]
        different, rows = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        ends = np.unique(np.r_[: min(_ENDS, different.size), max(different.size - _ENDS, 0) : different.size])
        self._put(dict(zip(different[ends].tolist(), rows[ends].tolist(), strict=True)))

    def merge(self, other: Ends) -> None:
        self._put(other.counts)

    def _put(self, counts: Mapping[float, int]) -> None:
        for value, rows in counts.items():
            self.counts[value] = self.counts.get(value, 0) + rows
        in_order = sorted(self.counts)
        for value in in_order[_ENDS:-_ENDS]:
            del self.counts[value]


#: What a pass is asked for: a statistic of each of some columns.
Reading = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class PassFacts:
    """Answers from statistics of columns that ``read`` makes in a pass over the rows.

    Parameters
    ----------
    read : callable
        From empty statistics by column to those of all rows.
    first : dict of Column
        How columns of numbers are read first, by name; all others are counted as texts.
    types : dict
        The arrow types of the columns.
    """

    def __init__(
        self, read: Reading, first: Mapping[str, Column], types: Mapping[str, Any], n_rows: int, codes: Sequence[str],
        least: int, weighted: bool,
    ) -> None:  # fmt: skip
        self._read, self._types, self.n_rows, self._codes, self._weighted = read, types, n_rows, codes, weighted
        self._most = max(_MOST_NUMBERS, least)
        wanted = {name: Numbers(first[name], codes, self._most) if name in first else Texts() for name in types}
        self._found = read(wanted)
        many = {name: own for name, own in self._found.items() if isinstance(own, Texts) and own.smallest is not None}
        self._all_texts = {name: own.n_different for name, own in many.items()}
        listed = {
            name: Texts(frozenset(text for text in own.entries if text is not None)) for name, own in many.items()
        }
        self._found = {**self._found, **(read(listed) if listed else {})}
        self._numbers: dict[tuple[Any, ...], Numbers] = {}
        self._ends: dict[str, Mapping[float, int]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._types)

    def type_of(self, name: str) -> Any:
        return self._types[name]

    def levels(self, name: str) -> Levels:
        found = self._found[name]
        if isinstance(found, Numbers):  # codes of a category
            counts = found.counts or {}
            texts = distinct_texts(pa.array(list(counts), pa.float64()).cast(self._types[name], safe=False))[0]
            entries, rest, n_rest = list(counts.values()), Entry(), 0
        else:
            rest = found.entries.get(_OTHERS, Entry())
            listed = {text: entry for text, entry in found.entries.items() if text is not None}
            texts, entries = list(listed), list(listed.values())
            n_rest = max(self._all_texts[name] - len(texts), 1) if rest.rows else 0
        weights = [entry.weight for entry in entries] if self._weighted else None
        rows = [entry.rows for entry in entries]
        return Levels(texts, rows, weights, found.empty.rows, n_rest, rest.rows, rest.weight)

    def are_days(self, column: Column) -> bool:
        found = self._found[column.name]
        return isinstance(found, Numbers) and found.days and found.low < found.high

    def few_values(self, column: Column) -> Array | None:
        counts = self._numbers_of(column).counts
        return None if counts is None else np.array(sorted(counts))

    def range_of(self, column: Column, look: bool) -> tuple[tuple[float, ...], Range]:
        found = self._numbers_of(column)
        if not look or not found.rows:
            return (), found.range
        if found.counts is not None:
            values = np.array(list(found.counts))
            self._ends[column.name] = {value: entry.rows for value, entry in found.counts.items()}
        elif not any(may_be_sentinel(value, column.kind == "date") for value in (found.low, found.high)):
            return (), found.range
        else:
            ends = self._read({column.name: Ends(column, self._codes)})[column.name]
            self._ends[column.name], values = ends.counts, np.array(list(ends.counts))
        numbers = seem_missing(column, values, found.range)
        if not numbers:
            return (), found.range
        notation = replace(column.notation, sentinels=column.notation.sentinels + numbers)
        return numbers, self._numbers_of(replace(column, notation=notation)).range

    def rows_with(self, column: Column, numbers: Sequence[float]) -> int:
        return sum(self._ends[column.name].get(value, 0) for value in numbers)

    def numbering(self, column: Column) -> Numbering | None:
        found = self._numbers_of(column).numbering
        return found if found is not None and found.rows else None

    def order(self, column: Column) -> Order:
        found = self._numbers_of(column).order
        if found is None:  # of different values with their rows
            found = self._read({column.name: Numbers(column, self._codes, self._most)})[column.name].order
        assert found is not None
        return found

    def differing(self, column: Column, least: int) -> int:
        found = self._numbers_of(column)
        if found.counts is None:
            return max(self._most, least)
        return found.rows - max((entry.rows for entry in found.counts.values()), default=0)

    def duplicates(self, columns: Iterable[Column]) -> dict[str, str]:
        first, found = dict[Hashable, str](), dict[str, str]()
        for column in columns:
            other = first.setdefault(self._signature(column), column.name)
            if other != column.name:
                found[column.name] = other
        return found

    def missing_rows(self, column: Column) -> Hashable:
        return (self._groups(column)[1] if column.kind == "category" else self._numbers_of(column).empty).words

    def tells_classes_apart(self, column: Column) -> bool:
        if self.n_rows < FEWEST_ROWS:
            return False
        if column.kind == "category":
            groups, empty = self._groups(column)
            return _one_class_each([*groups, empty], self.n_rows)
        found = self._numbers_of(column)
        if found.counts is not None and _one_class_each([*found.counts.values(), found.empty], self.n_rows):
            return True
        if not found.ends or found.empty.klass == _SEVERAL:
            return False
        # Missing values are one value more, above all others.
        last = max(found.ends, key=lambda klass: found.ends[klass][1])  # type: ignore[index]
        return found.empty.klass in (None, last) or found.empty.klass not in found.ends

    def _numbers_of(self, column: Column) -> Numbers:
        """The numbers of a column that is read in this way."""
        found = self._found[column.name]
        if isinstance(found, Numbers) and (found.column.kind, found.column.notation) == (column.kind, column.notation):
            return found
        key = (column.name, column.kind, column.notation)
        if key not in self._numbers:
            self._numbers[key] = self._other_reading(column, found)
        return self._numbers[key]

    def _other_reading(self, column: Column, found: Texts | Numbers) -> Numbers:
        whole = found.counts if isinstance(found, Numbers) else None if found.wanted is not None else found.entries
        if whole is None or (isinstance(found, Numbers) and column.notation.date == "digits"):
            wanted = {column.name: Numbers(column, self._codes, self._most)}
            found_again: Numbers = self._read(wanted)[column.name]
            return found_again
        if isinstance(found, Numbers):
            values = column.notation.without_sentinels(np.array(list(whole), dtype=np.float64))
        else:
            kind = self._types[column.name]
            texts = pa.array(list(whole), pa.large_string() if is_text(kind) else pa.string())
            values = read_numbers(column, texts, self._codes)[0]
        return Numbers.of_entries(column, values, list(whole.values()), found.empty, self._most)

    def _signature(self, column: Column) -> Hashable:
        """Equal for columns that say the same in every row."""
        if column.kind != "category":
            found = self._numbers_of(column)
            return False, found.product, found.empty.words
        groups, empty = self._groups(column)
        return True, tuple(sorted(entry.words for entry in groups)), empty.words, column.pooled

    def _groups(self, column: Column) -> tuple[list[Entry], Entry]:
        """The rows of each level of a category, those of all rarer ones together, and those without a value."""
        found = self._found[column.name]
        if isinstance(found, Numbers):
            texts, counts = self.levels(column.name).texts, found.counts or {}
            entries: dict[Any, Entry] = dict(zip(texts, counts.values(), strict=True))
        else:
            entries = found.entries
        places = LevelPlaces({level: place for place, level in enumerate(column.levels)})
        groups: dict[int, Entry] = {}
        empty = replace(found.empty)
        for text, entry in entries.items():
            place = UNSEEN_PLACE if text is None else places.place(text, "text")
            if place == UNSEEN_PLACE and text is not None and text.strip() in self._codes:
                empty.add(entry)
            else:
                groups.setdefault(UNSEEN_PLACE if place is None else place, Entry()).add(entry)
        return list(groups.values()), empty


def _one_class_each(groups: Sequence[Entry], n_rows: int) -> bool:
    """Whether each group has rows of one class only, and groups are large."""
    there = [entry for entry in groups if entry.rows]
    return len(there) <= n_rows / 5 and all(entry.klass != _SEVERAL for entry in there)
