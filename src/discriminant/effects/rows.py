"""The rows that effects are averaged over, with some of their columns set to other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..data import Rows, as_frame, as_rows, check_weights, dense_rows
from ..errors import ColumnError, InputError
from ..results import number, plain, quoted, suggestion

#: Groups by a column of numbers: its values, or ranges if it has more values.
MAX_NUMBERS: Final = 12
N_RANGES: Final = 5
#: Groups by a column of text: with more values it is an identifier.
MAX_LEVELS: Final = 100
#: The group of rows without a value.
MISSING: Final = "missing"
#: Rows that are read at a time: their coded columns, probabilities and derivatives fit in some megabytes.
BLOCK_ROWS: Final = 8192


@dataclass(frozen=True)
class Shift:
    """A change of a numeric column: ``amount`` is added to its values."""

    amount: float


#: Groups of rows: columns, or labels.
By = str | Sequence[str] | ArrayLike | None
#: Columns with the value that all rows get, or the shift of their values.
Changes = Mapping[str, Any]


class FrameTable:
    """Rows of a frame."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self.frame = frame
        self.n_rows, self.columns = len(frame), list(frame.columns)

    def values(self, name: str) -> Array:
        """The values of a column."""
        return np.asarray(self.frame[name].to_numpy())

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame[name].dtype.is_numeric()

    def taken(self, rows: Array) -> Any:
        """Some rows, by their numbers."""
        return self.frame[rows.tolist(), :].to_native()

    def changed(self, part: slice, changes: Changes) -> Any:
        """A run of rows with the changes made."""
        frame = self.frame[part.start : part.stop]
        new = [self._changed_column(name, change).alias(name) for name, change in changes.items()]
        return (frame.with_columns(*new) if new else frame).to_native()

    def _changed_column(self, name: str, change: Any) -> nw.Expr:
        if isinstance(change, Shift):
            return nw.col(name).cast(nw.Float64()) + change.amount
        dtype = self.frame[name].dtype
        has_fraction = dtype.is_integer() and not float(change).is_integer()
        return nw.lit(change, dtype=nw.Float64() if has_fraction else dtype)


class MatrixTable:
    """Rows of a numeric matrix; its columns are called x0, x1, ... where they have no names."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n_rows = rows.n_rows
        self.columns = [f"x{j}" for j in range(rows.n_columns)] if rows.names is None else list(rows.names)

    def values(self, name: str) -> Array:
        """The values of a column."""
        j = self.columns.index(name)
        starts = range(0, self.n_rows, BLOCK_ROWS)
        return np.concatenate([self._block(slice(start, start + BLOCK_ROWS))[:, j] for start in starts])

    def is_numeric(self, name: str) -> bool:
        """All columns hold numbers."""
        return name in self.columns

    def taken(self, rows: Array) -> Any:
        """Some rows, by their numbers."""
        return self._named(dense_rows(self.rows.take(rows)))

    def changed(self, part: slice, changes: Changes) -> Any:
        """A run of rows with the changes made."""
        values = self._block(part)
        if changes:
            values = np.array(values, dtype=np.float64)
        for name, change in changes.items():
            j = self.columns.index(name)
            values[:, j] = values[:, j] + change.amount if isinstance(change, Shift) else change
        return self._named(values)

    def _block(self, part: slice) -> Array:
        return dense_rows(self.rows.block(part.start, min(part.stop, self.n_rows)))

    def _named(self, values: Array) -> Array | Rows:
        return values if self.rows.names is None else as_rows(values, self.rows.names)


class Population:
    """The rows that are averaged over, with weights and groups."""

    def __init__(self, data: MatrixLike, weights: ArrayLike | None = None, by: By = None) -> None:
        frame = as_frame(data)
        self.table = MatrixTable(as_rows(data)) if frame is None else FrameTable(frame)
        self.n_rows, self.columns = self.table.n_rows, self.table.columns
        if self.n_rows == 0:
            raise InputError("data has no rows. Give at least one row to average over.")
        given = check_weights(weights, self.n_rows)
        self.weights = np.ones(self.n_rows) if given is None else given
        self.gaps: list[str] = []  #: columns whose rows without a value were left out
        self.notes: list[str] = []  #: on the groups
        self.groups, self.labels = np.zeros(self.n_rows, dtype=np.intp), [None]
        if by is not None:
            names = self._group_columns(by)
            self.groups, self.labels = self._labelled(by) if names is None else self._grouped(names)

    def _group_columns(self, by: By) -> list[str] | None:
        """Names of columns, if these are some and not a label for each row."""
        if isinstance(by, str):
            return [by]
        if not isinstance(by, list | tuple):
            return None
        names = [name for name in by if isinstance(name, str)]
        return names if len(names) == len(by) != self.n_rows else None

    def _labelled(self, by: By) -> tuple[Array, list[Any]]:
        labels = np.asarray(by)
        if labels.shape != (self.n_rows,):
            raise InputError(f"by has shape {labels.shape}, expected ({self.n_rows},) or names of columns.")
        found, codes = np.unique(labels, return_inverse=True)
        return codes, [plain(label) for label in found]

    def _grouped(self, names: list[str]) -> tuple[Array, list[Any]]:
        columns = [self._column_groups(name) for name in names]
        kept, codes = np.unique(np.column_stack([own for own, _ in columns]), axis=0, return_inverse=True)
        keys = [[labels[place] for place, (_, labels) in zip(row, columns, strict=True)] for row in kept.tolist()]
        return codes.ravel(), [key[0] if len(names) == 1 else ", ".join(map(str, key)) for key in keys]

    def _column_groups(self, name: str) -> tuple[Array, list[Any]]:
        """The group of each row by a column, and the labels of the groups: its values, or ranges between quantiles."""
        values = [MISSING if value is None or value != value else value for value in self.values(name).tolist()]
        labels = sorted(set(values) - {MISSING}, key=lambda value: (str(type(value)), value))
        is_numeric = self.is_numeric(name)
        if len(labels) <= (MAX_NUMBERS if is_numeric else MAX_LEVELS):
            labels = [*labels, MISSING]
            places = {value: place for place, value in enumerate(labels)}
            return np.array([places[value] for value in values]), labels
        if not is_numeric:
            wrong = f"Column {name!r} of by has {len(labels):,} values, expected at most {MAX_LEVELS}."
            raise ColumnError(f"{wrong} Give a column of categories, or of numbers.")
        numbers = np.array([np.nan if value == MISSING else value for value in values], dtype=np.float64)
        ends = np.unique(np.nanquantile(numbers, np.linspace(0, 1, N_RANGES + 1)))
        codes = np.where(np.isnan(numbers), len(ends) - 1, np.searchsorted(ends[1:-1], numbers))
        self.notes.append(f"{name}: ranges between quantiles, because it has {len(labels):,} values")
        ranges = [f"({number(low)}, {number(high)}]" for low, high in pairwise(ends)]
        return codes, ["[" + ranges[0][1:], *ranges[1:], MISSING]

    def require(self, name: str) -> None:
        """Refuse a column that the rows do not have."""
        if name not in self.columns:
            near = suggestion(name, self.columns)
            raise ColumnError(f"data has no column {name!r}.{near} Columns: {quoted(self.columns, 20)}.")

    def values(self, name: str) -> Array:
        """The values of a column."""
        self.require(name)
        return self.table.values(name)

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers."""
        self.require(name)
        return self.table.is_numeric(name)

    def deviation(self, name: str) -> float:
        """The weighted standard deviation of a numeric column."""
        counted = self.weights > 0
        values, weights = self.values(name)[counted].astype(np.float64), self.weights[counted]
        mean = np.average(values, weights=weights)
        return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))

    def observed(self, name: str) -> Population:
        """The same with weight 0 for rows without a value of a numeric column, which cannot be moved."""
        is_missing = np.isnan(self.values(name).astype(np.float64))
        if not is_missing.any():
            return self
        if not self.weights[~is_missing].any():
            raise ColumnError(f"Column {name!r} has no values in data. Give rows with values.")
        if name not in self.gaps:
            self.gaps.append(name)
        own = copy(self)
        vars(own).pop("group_weights", None)
        own.weights = np.where(is_missing, 0.0, self.weights)
        return own

    def blocks(self, changes: Changes) -> Iterator[tuple[slice, Any]]:
        """Runs of rows with the changes made, as the model takes them."""
        for name in changes:
            self.require(name)
        for start in range(0, self.n_rows, BLOCK_ROWS):
            part = slice(start, min(start + BLOCK_ROWS, self.n_rows))
            yield part, self.table.changed(part, changes)

    @cached_property
    def group_weights(self) -> Array:
        """The sum of the weights of each group."""
        return np.bincount(self.groups, self.weights, minlength=len(self.labels))
