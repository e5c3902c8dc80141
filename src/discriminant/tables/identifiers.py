"""Columns that identify rows or groups of rows, and columns by which rows are ordered.

A column of integers identifies rows if its values are nearly all distinct and

- its name is that of row numbers or of an identifier, or
- none is negative, and many are neighbours (differ by one) although hardly any two are equal. Of independent
  measurements, ties are about as frequent as neighbours; assigned numbers have no ties, whatever share of the rows was
  sampled and in whatever order; or
- none is negative, they increase (or decrease) from row to row, and they are uniform over their range
  (Kolmogorov-Smirnov test), like the row numbers of a random sample.

A column with the name of an identifier and repeated values identifies groups of rows, such as the visits of a patient.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
import pyarrow as pa

from ..arrays import Array
from .layouts import Values

#: A column named as an identifier with more distinct numbers than this identifies rows or groups of rows.
MAX_NAMED_CODES: Final = 20
#: With fewer rows, the role of a column cannot be recognised.
MIN_ROWS: Final = 20
#: Least share of distinct values of a row identifier.
MIN_DISTINCT_SHARE: Final = 0.9
#: Neighbours from which values are assigned numbers: as many by chance, without a tie, have a probability of 2**-12 if
#: values increase from row to row, and of 2**-64 otherwise.
MIN_NEIGHBOURS_IN_ORDER: Final = 12
MIN_NEIGHBOURS: Final = 64
#: Ties per neighbour up to which values are assigned numbers of which a few were copied.
MAX_TIES_PER_NEIGHBOUR: Final = 0.05
#: The 0.99 quantile of the Kolmogorov-Smirnov statistic times the root of the sample size.
KS_QUANTILE: Final = 1.63
#: Assigned numbers may deviate this much from a uniform distribution.
MIN_KS_DISTANCE: Final = 0.05
#: Share of steps against the order up to which rows are ordered.
MAX_REVERSED_SHARE: Final = 0.02

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
#: The name that R gives to a column without one; a coordinate if another column is called y.
_UNNAMED: Final = re.compile(r"X(?:\.\d+)?")
_NUMBERED: Final = re.compile(r"column_\d+")

Role = Literal["rows", "groups"]


def is_named_id(name: str) -> bool:
    """Whether the name is that of an identifier."""
    return _ID_NAME.search(name) is not None or name.endswith(("Id", "ID"))


def is_named_group(name: str) -> bool:
    """Whether the name is that of a unit with several rows: an identifier, a patient, a customer."""
    return is_named_id(name) or _GROUP_NAME.fullmatch(name) is not None


def is_named_time(name: str) -> bool:
    """Whether the name is that of a time."""
    return _TIME_NAME.search(name) is not None


def is_named_row(name: str, names: Collection[str]) -> bool:
    """Whether the name is that of row numbers, in a table with columns of these names.

    >>> is_named_row("Unnamed: 0", []), is_named_row("X", ["X", "age"]), is_named_row("X", ["X", "Y"])
    (True, True, False)
    """
    others = {other.casefold() for other in names if other != name}
    if _UNNAMED.fullmatch(name):
        return bool(others) and "y" not in others
    if name == "column_1":  # the only column without a name
        return bool(others) and not any(map(_NUMBERED.fullmatch, others))
    return _ROW_NAME.fullmatch(name.strip()) is not None or is_named_id(name)


def is_ordered(values: Array) -> bool:
    """Whether rows are in increasing or decreasing order of these values, up to a few exceptions."""
    n_up, n_down = _steps(values)
    return n_up + n_down >= 2 and min(n_up, n_down) <= MAX_REVERSED_SHARE * (n_up + n_down)


def _steps(values: Array) -> tuple[int, int]:
    """How often the values increase, and decrease, from one row to the next."""
    return int(np.count_nonzero(values[1:] > values[:-1])), int(np.count_nonzero(values[1:] < values[:-1]))


@dataclass(frozen=True)
class Numbering:
    """The integers of a column: the number of rows with one, the sorted distinct values, and steps up and down."""

    rows: int
    values: Array
    n_up: int
    n_down: int

    @classmethod
    def of(cls, values: Array) -> Self:
        """Of all present values, at least one, in the order of their rows."""
        return cls(values.size, np.unique(values), *_steps(values))

    @property
    def distinct_share(self) -> float:
        """The share of distinct values among the values."""
        return self.values.size / self.rows

    @property
    def is_assigned(self) -> bool:
        """Whether the values were assigned to the rows one by one, by their spacing and order."""
        if self.rows < MIN_ROWS or self.distinct_share < MIN_DISTINCT_SHARE:
            return False
        n_ties, n_neighbours = self.rows - self.values.size, int(np.count_nonzero(np.diff(self.values) == 1))
        if not n_ties and n_neighbours == self.rows - 1:
            return True
        is_monotone = (self.n_up > 0) != (self.n_down > 0)
        is_dense = n_neighbours >= (MIN_NEIGHBOURS_IN_ORDER if is_monotone else MIN_NEIGHBOURS)
        is_spaced = is_dense and n_ties <= MAX_TIES_PER_NEIGHBOUR * n_neighbours
        is_strictly_monotone = max(self.n_up, self.n_down) == self.rows - 1
        return bool(self.values[0] >= 0) and (is_spaced or (is_strictly_monotone and self._is_uniform))

    @property
    def _is_uniform(self) -> bool:
        """Whether a Kolmogorov-Smirnov test does not reject that values are uniform over their range."""
        n, width = self.values.size, max(int(self.values[-1]) - int(self.values[0]), 1)
        expected = (self.values - self.values[0]).astype(np.float64) / width
        distance = np.abs(expected - (np.arange(n) + 0.5) / n).max()
        return bool(distance <= max(KS_QUANTILE / np.sqrt(n), MIN_KS_DISTANCE))

    def role(self, name: str, names: Collection[str]) -> Role | None:
        """What a column of these numbers identifies, if anything, by its name among others and by its values."""
        if self.rows < MIN_ROWS or self.values.size <= min(MAX_NAMED_CODES, self.rows - 1):
            return None
        if self.is_assigned or (is_named_row(name, names) and self.distinct_share >= MIN_DISTINCT_SHARE):
            return "rows"
        return "groups" if is_named_group(name) else None


def integers_of(values: Values, floats: Array) -> Array | None:
    """The present values of an Arrow column as exact integers; None if some are not whole.

    ``floats`` are the same values as floats, NaN if missing.
    """
    present = ~np.isnan(floats)
    if pa.types.is_integer(values.type):
        exact = values.fill_null(0).cast(pa.uint64() if pa.types.is_uint64(values.type) else pa.int64())
        return np.asarray(exact.to_numpy()).astype(np.int64)[present]
    numbers = floats[present]
    if not np.array_equal(numbers, np.floor(numbers)) or (numbers.size and np.abs(numbers).max() >= 2.0**63):
        return None
    return numbers.astype(np.int64)
