"""What is worth knowing about a table before a model is fitted to it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Severity = Literal["note", "warning"]

#: Below this many rows a column may tell the classes apart by chance.
_FEWEST_ROWS = 20
_ID_NAME = re.compile(r"(?:^|[_\W])(?:id|uuid|guid|index|rownum)$", re.IGNORECASE)
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4})"
    r"([T ]\d{1,2}:\d{2}.*)?"
)


@dataclass(frozen=True)
class Finding:
    """One thing found in a table: how grave, in which column, of what kind, in plain words."""

    severity: Severity
    kind: str
    column: str | None
    message: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        return asdict(self)


def numbers_are_identifier(name: str, values: Array) -> bool:
    """Whether whole numbers number the rows: all different, and consecutive or called an id."""
    n = values.size
    if n < _FEWEST_ROWS or not np.isfinite(values).all():
        return False
    consecutive = values.max() - values.min() == n - 1
    named = _ID_NAME.search(name) is not None or name.endswith(("Id", "ID"))
    return bool((consecutive or named) and np.unique(values).size == n)


def looks_like_dates(levels: list[str]) -> bool:
    """Whether every one of some levels is written like a date."""
    return bool(levels) and all(_DATE.fullmatch(level) for level in levels)


def tells_classes_apart(values: Array, codes: Array, ordered: bool) -> bool:
    """Whether one column alone gives every row its class.

    Either each value goes with one class only, and values repeat; or, where their order means something, each class has
    an interval of its own. Missing values (NaN) count as one value more.
    """
    if codes.size < _FEWEST_ROWS:
        return False
    order = np.lexsort((codes, values))
    values, codes = values[order], codes[order]
    other_class = codes[1:] != codes[:-1]
    other_value = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    if (other_class & ~other_value).any():
        return False
    runs, groups = 1 + np.count_nonzero(other_class), 1 + np.count_nonzero(other_value)
    return bool((ordered and runs == np.unique(codes).size) or groups <= codes.size / 5)


def same_values(first: Array, second: Array) -> bool:
    """Whether two columns of numbers are equal in every row, missing values included."""
    return np.array_equal(first, second, equal_nan=True)


def by_first_appearance(codes: Array) -> Array:
    """Codes renumbered in the order in which they appear: equal for columns that group the rows alike."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.float64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]
