"""Rows whose columns have different distributions: numbers beside categories, counts and yes/no columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from ..errors import ColumnError, InputError, ParameterError
from .rows import Array, DenseRows, FrameRows, Rows, SparseRows, array_from, as_frame, as_rows, is_missing

Distribution = Literal["gaussian", "categorical", "bernoulli", "counts", "multinomial"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


@dataclass(frozen=True)
class MixedBlock:
    """The numeric columns of some rows as an array (or CSR matrix), the categorical ones as lists of values."""

    numbers: Any
    levels: list[list[Any]]


class MixedRows(Rows):
    """Rows read by a plan: one distribution for each column."""

    def __init__(self, table: Any, plan: tuple[Distribution, ...]) -> None:
        self.table = table
        self.plan = plan
        self.n_rows, self.n_columns = table.shape
        if isinstance(table, nw.DataFrame):
            self.names = tuple(map(str, table.columns))
        self.numeric_columns = [j for j, kind in enumerate(plan) if kind != "categorical"]
        self.level_columns = [j for j, kind in enumerate(plan) if kind == "categorical"]
        self._numbers = self._numeric_rows()

    def block(self, start: int, stop: int) -> MixedBlock:
        numbers = np.empty((stop - start, 0)) if self._numbers is None else self._numbers.block(start, stop)
        self._check_values(numbers, start)
        return MixedBlock(numbers, [self._levels(j, start, stop) for j in self.level_columns])

    def every(self, step: int) -> MixedRows:
        frame = isinstance(self.table, nw.DataFrame)
        return MixedRows(self.table.gather_every(step) if frame else self.table[::step], self.plan)

    def take(self, chosen: Array) -> MixedBlock:
        frame = isinstance(self.table, nw.DataFrame)
        return MixedRows(self.table[chosen.tolist(), :] if frame else self.table[chosen], self.plan).block(
            0, len(chosen)
        )

    def number_label(self, j: int) -> str:
        return self.column_label(self.numeric_columns[j])

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        if self._numbers is not None:
            self._numbers.refuse_nonfinite(label or self.number_label)

    def _numeric_rows(self) -> Rows | None:
        if not self.numeric_columns:
            return None
        if isinstance(self.table, nw.DataFrame):
            return FrameRows(self.table[:, self.numeric_columns])
        whole = len(self.numeric_columns) == self.n_columns
        return as_rows(self.table if whole else self.table[:, self.numeric_columns])

    def _levels(self, j: int, start: int, stop: int) -> list[Any]:
        if isinstance(self.table, nw.DataFrame):
            values = self.table[start:stop, j].to_list()
        else:
            values = self.table[start:stop, j].tolist()
        for i, value in enumerate(values):
            if is_missing(value):
                raise InputError(
                    f"Missing value in {self.column_label(j)}, row {start + i}. Drop the row, or make missing a level "
                    "of its own (for example the word 'missing')."
                )
        return values

    def _check_values(self, numbers: Any, start: int) -> None:
        """Refuse values that a column's distribution cannot produce."""
        for kind, allowed, wanted in (
            ("bernoulli", lambda v: (v == 0) | (v == 1), "0 or 1"),
            ("counts", lambda v: ~(v < 0), "0 or more"),
            ("multinomial", lambda v: ~(v < 0), "0 or more"),
        ):
            places = [place for place, j in enumerate(self.numeric_columns) if self.plan[j] == kind]
            if places:
                part = numbers if len(places) == numbers.shape[1] else numbers[:, places]
                wrong = ~allowed(part.data if sp.issparse(part) else part)
                if wrong.any():
                    self._raise_wrong_value(part, wrong, places, start, kind, wanted)

    def _raise_wrong_value(
        self, part: Any, wrong: Array, places: list[int], start: int, kind: str, wanted: str
    ) -> None:
        if sp.issparse(part):
            part = part.tocoo()
            e = int(np.argmax(wrong))
            row, place, value = int(part.row[e]), int(part.col[e]), part.data[e]
        else:
            row, place = (int(v) for v in np.argwhere(wrong)[0])
            value = part[row, place]
        if not np.isfinite(value):
            self.refuse_nonfinite()
        j = self.numeric_columns[places[place]]
        raise InputError(
            f"{self.column_label(j).capitalize()} is read as {kind}, whose values are {wanted}; "
            f"row {start + row} has {value:g}. Give the column another distribution."
        )


def plan_columns(table: Any, distributions: Any) -> tuple[Distribution, ...]:
    """The distribution of each column: as asked for, and where nothing is asked for, by the column's type."""
    labels = list(table.columns) if isinstance(table, nw.DataFrame) else list(range(table.shape[1]))
    asked: dict[Any, str] = {}
    if isinstance(distributions, Mapping):
        asked = dict(distributions)
        unknown = [label for label in asked if label not in labels]
        if unknown:
            raise ColumnError(f"distributions names {unknown[0]!r}, which is not a column. Columns: {labels[:20]}.")
    elif isinstance(distributions, str):
        asked = {} if distributions == "auto" else dict.fromkeys(labels, distributions)
    else:
        listed = list(distributions) if isinstance(distributions, Iterable) else []
        if len(listed) != len(labels):
            raise ParameterError(
                f"distributions must be 'auto', a name, or one name for each column; X has {len(labels)} columns, got "
                f"{distributions!r} ({len(listed)} columns)."
            )
        asked = dict(zip(labels, listed, strict=True))
    for label, kind in asked.items():
        if kind not in (*DISTRIBUTIONS, "auto"):
            raise ParameterError(f"Column {label!r}: distribution {kind!r} is not one of {DISTRIBUTIONS}.")
    return tuple(
        own if asked.get(label, "auto") == "auto" else asked[label]  # type: ignore[misc]
        for label, own in zip(labels, _by_type(table), strict=True)
    )


def as_table(X: Any) -> Any:
    """``X`` as a narwhals frame, a CSR matrix or a 2D array of any type."""
    frame = None if sp.issparse(X) or isinstance(X, np.ndarray) else as_frame(X)
    if frame is not None:
        if 0 in frame.shape:
            raise InputError(f"X is empty: {frame.shape[0]} rows, {frame.shape[1]} columns.")
        return frame
    if not sp.issparse(X):
        values = array_from(X)
        if values.dtype.kind in "OUS" and values.ndim == 2 and 0 not in values.shape:
            return values
    rows = as_rows(X)
    assert isinstance(rows, (DenseRows, SparseRows))
    return rows.values


def _by_type(table: Any) -> Iterator[Distribution]:
    if isinstance(table, nw.DataFrame):
        for name, dtype in table.schema.items():
            yield _by_frame_type(name, dtype)
    elif not sp.issparse(table) and table.dtype.kind in "OUS":
        for j in range(table.shape[1]):
            yield "gaussian" if all(_is_number(v) for v in table[:, j].tolist()) else "categorical"
    else:
        for _ in range(table.shape[1]):
            yield "gaussian"


def _by_frame_type(name: str, dtype: Any) -> Distribution:
    if dtype == nw.Boolean:
        return "bernoulli"
    if dtype.is_numeric():
        return "gaussian"
    if dtype.is_temporal():
        raise ColumnError(f"Column {name!r} holds dates or times ({dtype}). Turn it into numbers or categories first.")
    return "categorical"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
