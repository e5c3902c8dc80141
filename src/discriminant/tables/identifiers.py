"""Columns that identify rows or groups of rows, and columns by which rows are ordered.

A column of whole numbers identifies rows if its values are nearly all different and

- its name is that of row numbers or of an identifier, or
- none is negative, and many are neighbours (differ by one) although hardly any two are equal. Of independent
  measurements two are equal about as often as they are neighbours; numbers that were given to rows are never equal,
  whatever share of the rows a sample has kept and in whatever order; or
- none is negative, they increase (or decrease) from row to row, and are spread evenly over their range
  (Kolmogorov-Smirnov test), as the row numbers of any random sample are.

A column with the name of an identifier and repeated values identifies groups of rows, such as the visits of a patient.

`Numbering` holds what is asked for this. It is of bounded size and is merged over the parts of a table: of many values
it keeps those of a hashed sample of blocks of 64 consecutive numbers, in which neighbours stay neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

import numpy as np
import pyarrow as pa

from ..arrays import Array

#: A column called an identifier with more different numbers than this identifies rows or groups of them.
MAX_NAMED_CODES: Final = 20
#: Fewer rows do not show what a column is.
MIN_ROWS: Final = 20
#: The least share of different values in a column that identifies rows.
MIN_DISTINCT_SHARE: Final = 0.9
#: Neighbours that show that values were given to rows: as many by chance, without a tie, have a probability of 2**-12
#: if values increase from row to row, and of 2**-64 otherwise.
MIN_NEIGHBOURS_IN_ORDER: Final = 12
MIN_NEIGHBOURS: Final = 64
#: Ties for each neighbour up to which values were given to rows, of which a few were copied.
MAX_TIES_PER_NEIGHBOUR: Final = 0.05
#: Quantile of order 0.99 of the Kolmogorov-Smirnov statistic times the root of the sample size.
KS_QUANTILE: Final = 1.63
#: Numbers that were given to rows need not be spread quite evenly.
MIN_KS_DISTANCE: Final = 0.05
#: Share of steps against the order up to which rows are ordered.
MAX_STEPS_BACK: Final = 0.02

_SAMPLE_VALUES: Final = 1 << 14
_BLOCK: Final = 64

_ID_NAME = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|rownum)$|^id(?:[_\W]|$)", re.IGNORECASE)
_ROW_NAME = re.compile(
    r"index|idx|unnamed: ?\d+(?:_level_\d+)?(?:\.\d+)?|level_0|_c0|_id_?|nr\.?|no\.?|seq(?:uence)?|serial"
    r"|row|(?:row|line|obs|observation|record|case|sample|seq(?:uence)?|serial)[ ._-]?"
    r"(?:names?|num(?:ber)?s?|nr|no|n|idx|index|ids?)\.?",
    re.IGNORECASE,
)
_GROUP_NAME = re.compile(
    r"patient|subject|subj|participant|person|respondent|user|customer|client|household|hhid|student|pupil|animal"
    r"|(?:patient|subject|subj|participant|person|customer|client|household|student|pupil|animal)[ ._-]?"
    r"(?:num(?:ber)?|nr|no|code|key)\.?",
    re.IGNORECASE,
)
_TIME_NAME = re.compile(
    r"(?:^|[_\W])(?:date|time|timestamp|datetime|year|yr|month|week|day|quarter|period|epoch)(?:$|[_\W])", re.IGNORECASE
)
#: What R calls a column without a name; a coordinate where another column has the name of the other one.
_UNNAMED: Final = re.compile(r"X(?:\.\d+)?")
_NAMED_BY_PLACE: Final = re.compile(r"column_\d+")

Role = Literal["rows", "groups"]


def is_named_id(name: str) -> bool:
    """Whether a column is called an identifier."""
    return _ID_NAME.search(name) is not None or name.endswith(("Id", "ID"))


def is_named_group(name: str) -> bool:
    """Whether a column is called as what has several rows: an identifier, a patient, a customer."""
    return is_named_id(name) or _GROUP_NAME.fullmatch(name) is not None


def is_named_time(name: str) -> bool:
    """Whether a column of numbers is called a time."""
    return _TIME_NAME.search(name) is not None


def is_named_row(name: str, names: Collection[str]) -> bool:
    """Whether a column is called as row numbers are, among the columns of these names.

    >>> is_named_row("Unnamed: 0", []), is_named_row("X", ["X", "age"]), is_named_row("X", ["X", "Y"])
    (True, True, False)
    """
    others = {other.casefold() for other in names if other != name}
    if _UNNAMED.fullmatch(name):
        return bool(others) and "y" not in others
    if name == "column_1":  # without a name in a table whose other columns have one
        return bool(others) and not any(map(_NAMED_BY_PLACE.fullmatch, others))
    return _ROW_NAME.fullmatch(name.strip()) is not None or is_named_id(name)


@dataclass
class Order:
    """How often the values of a column rise, and fall, from one row to the next."""

    first: float | None = None
    last: float | None = None
    rises: int = 0
    falls: int = 0

    def update(self, values: Array) -> None:
        """Add the present values of further rows."""
        if values.size:
            steps = values[1:] > values[:-1], values[1:] < values[:-1]
            rises, falls = (int(np.count_nonzero(each)) for each in steps)
            self.merge(Order(values[0].item(), values[-1].item(), rises, falls))

    def merge(self, other: Order) -> None:
        """Add the rows that follow."""
        if other.first is None:
            return
        if self.last is not None:
            self.rises += other.first > self.last
            self.falls += other.first < self.last
        self.first = other.first if self.first is None else self.first
        self.last = other.last
        self.rises += other.rises
        self.falls += other.falls

    @property
    def is_ordered(self) -> bool:
        """Whether rows are in the order of these values, or in the opposite one."""
        steps = self.rises + self.falls
        return steps >= 2 and min(self.rises, self.falls) <= MAX_STEPS_BACK * steps


@dataclass
class Numbering:
    """Whole numbers of a column: their order, and the counts of those in a sample of blocks of numbers."""

    rows: int = 0
    low: int = 0
    high: int = 0
    order: Order = field(default_factory=Order)
    values: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    counts: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Blocks are in the sample whose hash is below ``2**64 >> halvings``.
    halvings: int = 0

    @classmethod
    def of(cls, values: Array) -> Self:
        """Of all present values in the order of their rows."""
        found = cls()
        found.update(values)
        return found

    @classmethod
    def of_counts(cls, values: Array, counts: Array) -> Self:
        """Of different values with their rows, whose order is unknown."""
        found = cls()
        found._add(values, counts)
        return found

    def update(self, values: Array) -> None:
        """Add the present values of further rows."""
        if values.size:
            self.order.update(values)
            self._add(*np.unique(values, return_counts=True))

    def merge(self, other: Numbering) -> None:
        """Add the rows that follow."""
        self.order.merge(other.order)
        self._extend(other.rows, other.low, other.high)
        self.halvings = max(self.halvings, other.halvings)
        self._keep(np.concatenate([self.values, other.values]), np.concatenate([self.counts, other.counts]))

    def _add(self, values: Array, counts: Array) -> None:
        self._extend(int(counts.sum()), int(values.min()), int(values.max()))
        self._keep(np.concatenate([self.values, values]), np.concatenate([self.counts, counts]))

    def _extend(self, rows: int, low: int, high: int) -> None:
        if rows:
            self.low, self.high = (min(self.low, low), max(self.high, high)) if self.rows else (low, high)
            self.rows += rows

    def _keep(self, values: Array, counts: Array) -> None:
        """Keep the values of the blocks that are in the sample, and fewer blocks where these are too many."""
        if self.halvings:
            kept = self._sampled(values)
            values, counts = values[kept], counts[kept]
        self.values, place = np.unique(values, return_inverse=True)
        self.counts = np.bincount(place, counts, self.values.size).astype(np.int64)
        while self.values.size > _SAMPLE_VALUES and self.halvings < 63:
            self.halvings += 1
            kept = self._sampled(self.values)
            self.values, self.counts = self.values[kept], self.counts[kept]

    def _sampled(self, values: Array) -> Array:
        word = np.floor_divide(values, _BLOCK).astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        return np.asarray(word >> np.uint64(64 - self.halvings) == 0)

    @property
    def distinct_share(self) -> float:
        """The share of different values among the values."""
        return self.values.size / max(int(self.counts.sum()), 1)

    @property
    def n_distinct(self) -> int:
        """How many different values there are, about where not all are kept."""
        return self.values.size if not self.halvings else round(self.distinct_share * self.rows)

    @property
    def is_consecutive(self) -> bool:
        """Whether every whole number from the lowest to the highest occurs once."""
        return self.high - self.low == self.rows - 1 and self.distinct_share == 1

    @property
    def is_given(self) -> bool:
        """Whether the values were given to the rows one by one, by how they are spaced and ordered."""
        if self.rows < MIN_ROWS or self.distinct_share < MIN_DISTINCT_SHARE:
            return False
        if self.is_consecutive:
            return True
        ties, neighbours = int(self.counts.sum()) - self.values.size, int(np.count_nonzero(np.diff(self.values) == 1))
        in_order = (self.order.rises > 0) != (self.order.falls > 0)
        enough = MIN_NEIGHBOURS_IN_ORDER if in_order else MIN_NEIGHBOURS
        spaced = neighbours >= enough and ties <= MAX_TIES_PER_NEIGHBOUR * neighbours
        in_strict_order = max(self.order.rises, self.order.falls) == self.rows - 1
        return self.low >= 0 and (spaced or (in_strict_order and self._is_even))

    @property
    def _is_even(self) -> bool:
        """Whether values are spread evenly over their range, as far as the Kolmogorov-Smirnov test shows."""
        n, width = self.values.size, max(self.high - self.low, 1)
        expected = (self.values - self.low).astype(np.float64) / width
        distance = np.abs(expected - (np.arange(n) + 0.5) / n).max()
        return bool(distance <= max(KS_QUANTILE / np.sqrt(n), MIN_KS_DISTANCE))

    def role(self, name: str, names: Collection[str]) -> Role | None:
        """What a column of these numbers identifies, if anything, by its name among others and by its values."""
        few = self.n_distinct <= min(MAX_NAMED_CODES, self.rows - 1)
        if self.rows < MIN_ROWS or few:
            return None
        if self.is_given or (is_named_row(name, names) and self.distinct_share >= MIN_DISTINCT_SHARE):
            return "rows"
        return "groups" if is_named_group(name) else None


def whole_numbers(values: Any, floats: Array) -> Array | None:
    """The present values of an arrow column as whole numbers, with all digits; None where some are not whole.

    ``floats`` are the same values as floats, NaN where missing.
    """
    present = ~np.isnan(floats)
    if pa.types.is_signed_integer(values.type) or pa.types.is_unsigned_integer(values.type):
        exact = values.fill_null(0).cast(pa.uint64() if pa.types.is_uint64(values.type) else pa.int64())
        return np.asarray(exact.to_numpy()).astype(np.int64)[present]
    numbers = floats[present]
    if not np.array_equal(numbers, np.floor(numbers)) or (numbers.size and np.abs(numbers).max() >= 2.0**63):
        return None
    return numbers.astype(np.int64)
