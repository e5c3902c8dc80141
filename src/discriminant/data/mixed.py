"""Rows with a distribution for each column: Gaussian, categorical, Bernoulli, counts or multinomial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, get_args

import numpy as np

from ..arrays import Array, MatrixLike, RowBlock
from ..errors import ColumnError, InputError, ParameterError, Setting
from ..results import capitalised
from .blocks import is_sparse
from .labels import is_missing
from .rows import DenseRows, FrameRows, MatrixRows, Rows, SparseRows, array_from, as_frame, as_rows, nw, raise_nonfinite

Distribution = Literal["gaussian", "categorical", "bernoulli", "counts", "multinomial"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


@dataclass(frozen=True)
class MixedBlock:
    """A block of rows: numeric columns as an array (or CSR matrix), categorical columns as lists of values."""

    numbers: Any
    levels: list[list[Any]]


class MixedRows(Rows):
    """Rows in memory with a distribution for each column."""

    def __init__(self, table: Any, distributions: tuple[Distribution, ...], names: Iterable[str] | None = None) -> None:
        self.table = table
        self.distributions = distributions
        self.n_rows, self.n_columns = table.shape
        names = map(str, table.columns) if isinstance(table, nw.DataFrame) else names
        self.names = None if names is None else tuple(names)
        self.numeric_columns = [j for j, kind in enumerate(distributions) if kind != "categorical"]
        self.level_columns = [j for j, kind in enumerate(distributions) if kind == "categorical"]
        self._numbers = self._numeric_rows()

    def block(self, start: int, stop: int) -> MixedBlock:
        numbers = np.empty((stop - start, 0)) if self._numbers is None else self._numbers.block(start, stop)
        kinds = [self.distributions[j] for j in self.numeric_columns]
        _refuse_values(numbers, start, kinds, self.number_label, self.refuse_nonfinite)
        return MixedBlock(numbers, [self._levels(j, start, stop) for j in self.level_columns])

    def take(self, chosen: Array) -> MixedBlock:
        return self[chosen].block(0, len(chosen))

    def __getitem__(self, chosen: Any) -> MixedRows:
        frame = isinstance(self.table, nw.DataFrame)
        return MixedRows(
            self.table[chosen.tolist(), :] if frame else self.table[chosen], self.distributions, self.names
        )

    def number_label(self, j: int) -> str:
        return self.column_label(self.numeric_columns[j])

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        if self._numbers is not None:
            self._numbers.refuse_nonfinite(label or self.number_label)

    def largest_values(self) -> Array:
        return np.zeros(1) if self._numbers is None else self._numbers.largest_values()

    def _numeric_rows(self) -> Rows | None:
        if not self.numeric_columns:
            return None
        if isinstance(self.table, nw.DataFrame):
            return FrameRows(self.table[:, self.numeric_columns])
        whole = len(self.numeric_columns) == self.n_columns
        return as_rows(self.table if whole else self.table[:, self.numeric_columns])

    def _levels(self, j: int, start: int, stop: int) -> list[Any]:
        column = self.table[start:stop, j]
        values: list[Any] = column.to_list() if isinstance(self.table, nw.DataFrame) else column.tolist()
        try:
            distinct = set(values)
            sorted(distinct, key=lambda level: (type(level).__name__, level))
        except TypeError as error:
            label = capitalised(self.column_label(j))
            raise InputError(f"{label} has values that are not categories: {error}. Use text or numbers.") from error
        if any(map(is_missing, distinct)):
            row = start + next(i for i, value in enumerate(values) if is_missing(value))
            raise InputError(
                f"Missing value in {self.column_label(j)}, row {row}. Drop the row or encode missing values as a "
                "level, for example 'missing'."
            )
        return values


#: Valid values of each distribution, as a test and in words.
_VALUES: dict[str, tuple[Callable[[Any], Any], str]] = {
    # Unseen levels are coded as shares between 0 and 1.
    "bernoulli": (lambda v: (v >= 0) & (v <= 1), "from 0 to 1"),
    "counts": (lambda v: ~(v < 0), "0 or more"),
    "multinomial": (lambda v: ~(v < 0), "0 or more"),
}


def _refuse_values(
    numbers: RowBlock,
    start: int,
    kinds: Sequence[str],
    label: Callable[[int], str],
    refuse_nonfinite: Callable[..., None],
) -> None:
    """Raise an error for values outside the range of a column's distribution (``kinds``)."""
    for kind, (allowed, wanted) in _VALUES.items():
        places = [place for place, own in enumerate(kinds) if own == kind]
        if places:
            part = numbers if len(places) == numbers.shape[1] else numbers[:, places]
            wrong = ~allowed(part.data if is_sparse(part) else part)
            if not wrong.any():
                continue
            if is_sparse(part):
                entries, e = part.tocoo(), int(np.argmax(wrong))
                row, place, value = entries.row[e], entries.col[e], entries.data[e]
            else:
                row, place = np.argwhere(wrong)[0]
                value = part[row, place]
            if not np.isfinite(value):
                refuse_nonfinite()
            raise InputError(
                f"Row {start + row} has {value:g} in {label(places[place])}; the distribution {kind!r} requires values "
                f"{wanted}. Choose another distribution for the column."
            )


@dataclass(frozen=True)
class MixedView:
    """A function that splits blocks of numbers into numeric and categorical columns."""

    distributions: tuple[Distribution, ...]
    names: tuple[str, ...] | None = None

    def __call__(self, X: Array, start: int) -> MixedBlock:
        numeric = [j for j, kind in enumerate(self.distributions) if kind != "categorical"]
        numbers = X if len(numeric) == X.shape[1] else np.ascontiguousarray(X[:, numeric])
        kinds = [self.distributions[j] for j in numeric]
        _refuse_values(numbers, start, kinds, lambda place: self._label(numeric[place]), self._refuse_nothing)
        levels = [j for j, kind in enumerate(self.distributions) if kind == "categorical"]
        for j in levels:
            if np.isnan(X[:, j]).any():
                raise_nonfinite(np.nan, start + int(np.argmax(np.isnan(X[:, j]))), self._label(j))
        return MixedBlock(numbers, [X[:, j].tolist() for j in levels])

    def _label(self, j: int) -> str:
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    def _refuse_nothing(self) -> None:
        """NaN and infinity are found in the sums of the statistic, which reports them."""


def column_distributions(
    table: Any, distributions: str | Sequence[str] | Mapping[Any, str], names: Sequence[str] | None = None
) -> tuple[Distribution, ...]:
    """The distribution of each column: the requested one, or by default that of the column's type."""
    labels = list(table.columns) if isinstance(table, nw.DataFrame) else list(names or range(table.shape[1]))
    if isinstance(distributions, Mapping):
        requested: dict[Any, Any] = dict(distributions)
        unknown = [label for label in requested if label not in labels]
        if unknown:
            raise ColumnError(f"distributions has the key {unknown[0]!r}, which is not a column of {labels[:20]}.")
    elif isinstance(distributions, str):
        requested = dict.fromkeys(labels, distributions)
    else:
        each = list(distributions) if isinstance(distributions, Iterable) else []
        if len(each) != len(labels):
            raise ParameterError(
                Setting("distributions"),
                f" must be 'auto', a name, or one name for each of the {len(labels)} columns; got {distributions!r} "
                f"({len(each)} columns).",
            )
        requested = dict(zip(labels, each, strict=True))
    for label, kind in requested.items():
        if kind not in (*DISTRIBUTIONS, "auto"):
            raise ParameterError(f"Column {label!r}: distribution {kind!r} is not one of {DISTRIBUTIONS}.")
    return tuple(
        own if requested.get(label, "auto") == "auto" else requested[label]
        for label, own in zip(labels, _by_type(table), strict=True)
    )


def as_table(X: MatrixLike) -> Any:
    """``X`` as a narwhals frame, a CSR matrix or a 2D array of any type."""
    if isinstance(X, MatrixRows):
        return X.values
    frame = None if is_sparse(X) or isinstance(X, np.ndarray) else as_frame(X)
    if frame is not None:
        if 0 in frame.shape:
            raise InputError(f"X is empty: it has {frame.shape[0]} rows and {frame.shape[1]} columns.")
        return frame
    if not is_sparse(X):
        values = array_from(X)
        if values.dtype.kind in "OUS" and values.ndim == 2 and 0 not in values.shape:
            return values
    rows = as_rows(X)
    assert isinstance(rows, (DenseRows, SparseRows))
    return rows.values


def _by_type(table: Any) -> Iterator[Distribution]:
    if isinstance(table, nw.DataFrame):
        for name, dtype in table.schema.items():
            if dtype.is_temporal() or dtype.is_nested():
                what = "dates or times" if dtype.is_temporal() else "lists or structures"
                raise ColumnError(f"Column {name!r} contains {what} ({dtype}). Convert it to numbers or categories.")
            yield "bernoulli" if dtype == nw.Boolean else "gaussian" if dtype.is_numeric() else "categorical"
    elif not is_sparse(table) and table.dtype.kind in "OUS":
        for j in range(table.shape[1]):
            kinds = set(map(type, table[:, j].tolist()))
            numbers = all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds)
            yield "gaussian" if numbers else "categorical"
    else:
        yield from repeat("gaussian", table.shape[1])
