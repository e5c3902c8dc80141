"""Rows of numbers, whatever they came in: NumPy array, pandas or polars frame, CSR matrix.

`LabelledRows`, with a class code and a weight for each row, is the one form in which data reach the statistics. Nothing
is copied here. A block of rows is cut out on demand and only that block is converted, so float32 stays
float32 in memory and a frame never has a second, dense twin. `MixedRows` reads columns of different distributions:
numbers beside categories, counts and yes/no columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any, Literal, Self, get_args

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from ..errors import ColumnError, DtypeError, InputError, LabelError, ParameterError, Setting
from ..results import shown
from .checks import check_weights, encode_labels, is_missing

Array = np.ndarray[Any, Any]

#: A block of this size is worth the steps around it and, with its float64 working copy, small beside any cache.
_BLOCK_BYTES = 6_600_000
#: Wide rows: fewer than this many rows a block would make the p x p updates costlier than the rows themselves,
_WIDE_BLOCK_ROWS = 256
#: unless the block would then outgrow the memory we allow ourselves.
_WIDE_BLOCK_BYTES = 12_000_000
_MOST_BLOCK_ROWS = 16_384
_MOST_SPANS = 32


class Rows(ABC):
    """``n_rows`` x ``n_columns`` numbers that are read in blocks; ``names`` are those of the columns, if they have any.

    Of columns that code a table it may be known which are ``marks``, 1 in the rows of a level and else 0, and which are
    ``redundant``, the sum of others and a constant, because every level of a category has a column: arrays of bool.

    Rows of an array or a CSR matrix can be given to an estimator in its place, and what is taken from them by
    ``rows[index]`` keeps the names. Where another library wants the values themselves, they are ``rows.values``.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None = None
    marks: Array | None = None
    redundant: Array | None = None

    @abstractmethod
    def block(self, start: int, stop: int) -> Any:
        """Rows ``start`` to ``stop``: a C-contiguous float32 or float64 array, or a CSR matrix."""

    @abstractmethod
    def every(self, step: int) -> Rows:
        """Every ``step``-th row."""

    @abstractmethod
    def take(self, chosen: Array) -> Any:
        """The chosen rows as a block."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, chosen: Any) -> Rows:
        """Some rows, by their numbers, with the names of the columns."""
        chosen = chosen[0] if isinstance(chosen, tuple) else chosen  # scikit-learn asks for [rows, ...]
        return as_rows(self.take(chosen), self.names)

    def number_label(self, j: int) -> str:
        """How an error message calls the ``j``-th column of numbers."""
        return self.column_label(j)

    def column_label(self, j: int) -> str:
        """How an error message calls column ``j``."""
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    @cached_property
    def block_rows(self) -> int:
        """Rows of a block: a matter of their width alone, never of the number of threads."""
        return rows_of_width(self.n_columns)

    @cached_property
    def spans(self) -> list[range]:
        """Consecutive runs of block starts; each is reduced by one worker, then they are merged in order.

        They depend on the shape alone, which is what makes results the same for any number of threads.
        """
        starts = range(0, self.n_rows, self.block_rows)
        # A span's statistic may be p x p: with fewer than p rows it would cost more to merge than to make.
        count = max(1, min(_MOST_SPANS, len(starts), self.n_rows // max(self.n_columns, 1)))
        return consecutive_runs(starts, count)

    def edges(self, starts: range) -> Iterator[tuple[int, int]]:
        """Start and stop of each block of a span."""
        for start in starts:
            yield start, min(start + self.block_rows, self.n_rows)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Raise an `InputError` that names the first NaN or infinity, if there is one, and its column by ``label``."""
        for span in self.spans:
            for start, stop in self.edges(span):
                block = self.block(start, stop)
                bad = ~np.isfinite(block)
                if bad.any():
                    i, j = np.argwhere(bad)[0]
                    _raise_nonfinite(block[i, j], start + int(i), (label or self.column_label)(int(j)))

    def largest_values(self) -> Array:
        """The largest absolute value of each column of numbers."""
        blocks = (self.block(start, stop) for span in self.spans for start, stop in self.edges(span))
        return np.max([_largest_of_columns(block) for block in blocks], axis=0)


def _largest_of_columns(block: Any) -> Array:
    largest = abs(block).max(axis=0)
    return np.asarray(largest.toarray()[0] if sp.issparse(largest) else largest, dtype=np.float64)


def _raise_nonfinite(value: float, row: int, column: str) -> None:
    what = "NaN" if np.isnan(value) else "infinity"
    raise InputError(
        f"Input X contains {what}: {column}, row {row}. Every value must be a finite number: "
        "drop such rows, or fill them in first (for example with sklearn.impute.SimpleImputer)."
    )


class MatrixRows(Rows):
    """Rows of a matrix, dense or sparse."""

    def __init__(
        self,
        values: Any,
        names: Sequence[str] | None = None,
        marks: Array | None = None,
        redundant: Array | None = None,
    ) -> None:
        self.values = values
        self.n_rows, self.n_columns = values.shape
        self.names = None if names is None else tuple(names)
        self.marks, self.redundant = marks, redundant

    def every(self, step: int) -> Self:
        return self[::step]

    def __getitem__(self, chosen: Any) -> Self:
        """Some rows with the names: by a slice, their numbers or a mask. scikit-learn writes ``rows[index, ...]``."""
        values = self.values[chosen[0] if isinstance(chosen, tuple) else chosen]
        return type(self)(values, self.names, self.marks, self.redundant)


class DenseRows(MatrixRows):
    """Rows of a NumPy array."""

    @property
    def dtype(self) -> Any:
        own = self.values.dtype
        return own if own in (np.float32, np.float64) else np.dtype(np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype, copy=copy)

    def block(self, start: int, stop: int) -> Array:
        return np.ascontiguousarray(self.values[start:stop], dtype=self.dtype)

    def take(self, chosen: Array) -> Array:
        return np.ascontiguousarray(self.values[chosen], dtype=self.dtype)


class FrameRows(Rows):
    """Rows of a pandas, polars or pyarrow frame, all of whose columns are numbers."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape
        self.names = tuple(map(str, frame.columns))
        _refuse_columns_that_are_not_numbers(frame)
        single = all(dtype == nw.Float32 for dtype in frame.schema.values())
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def block(self, start: int, stop: int) -> Array:
        values = self.frame[start:stop].to_numpy()
        if values.dtype == object:  # a nullable column with holes: they become NaN and are named as such
            values = _floats([[np.nan if is_missing(v) else v for v in row] for row in values])
        return np.ascontiguousarray(values, dtype=self.dtype)

    def every(self, step: int) -> FrameRows:
        return FrameRows(self.frame.gather_every(step))

    def take(self, chosen: Array) -> Array:
        return FrameRows(self.frame[chosen.tolist(), :]).block(0, len(chosen))


class SparseRows(MatrixRows):
    """Rows of a CSR matrix."""

    @cached_property
    def block_rows(self) -> int:
        return rows_of_width(1 + self.values.nnz // max(self.n_rows, 1))

    def block(self, start: int, stop: int) -> Any:
        whole, first, last = self.values, self.values.indptr[start], self.values.indptr[stop]
        part = (whole.data[first:last], whole.indices[first:last], whole.indptr[start : stop + 1] - first)
        return sp.csr_matrix(part, shape=(stop - start, self.n_columns), copy=False)

    def take(self, chosen: Array) -> Any:
        return self.values[chosen]

    @property
    def spans(self) -> list[range]:
        """Statistics of sparse rows are of the size of a row: a few rows a span are enough."""
        return consecutive_runs(range(0, self.n_rows, self.block_rows), _MOST_SPANS)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        bad = np.flatnonzero(~np.isfinite(self.values.data))
        if bad.size:
            row = int(np.searchsorted(self.values.indptr, bad[0], side="right")) - 1
            column = (label or self.column_label)(int(self.values.indices[bad[0]]))
            _raise_nonfinite(self.values.data[bad[0]], row, column)


def rows_of_width(n_columns: int) -> int:
    """How many rows of this width make a good block."""
    row_bytes = 8 * max(n_columns, 1)
    wide = min(_WIDE_BLOCK_ROWS, max(_WIDE_BLOCK_BYTES // row_bytes, 1))
    return int(np.clip(_BLOCK_BYTES // row_bytes, wide, _MOST_BLOCK_ROWS))


def consecutive_runs(starts: range, most: int) -> list[range]:
    """The starts in at most ``most`` runs of about the same length."""
    count = min(most, len(starts))
    edges = np.linspace(0, len(starts), count + 1).astype(int)
    return [starts[a:b] for a, b in pairwise(edges)]


def dense_rows(block: Any) -> Array:
    """The block as a C-contiguous array."""
    return block.toarray(order="C") if sp.issparse(block) else block


def dense_parts(block: Any) -> Iterator[tuple[Array, slice]]:
    """The block as one array, or a sparse one in parts that do not outgrow a dense block."""
    if not sp.issparse(block):
        yield block, slice(0, len(block))
        return
    step = rows_of_width(block.shape[1])
    for start in range(0, block.shape[0], step):
        where = slice(start, min(start + step, block.shape[0]))
        yield block[where].toarray(order="C"), where


def two_valued(rows: Rows) -> tuple[Array, Array, Array]:
    """Which columns have two different values, the lower one and the step to the other."""
    low, high, two = np.full(rows.n_columns, np.inf), np.full(rows.n_columns, -np.inf), np.ones(rows.n_columns, bool)
    for X in _dense_blocks(rows):
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    for X in _dense_blocks(rows):
        two &= (np.equal(X, low) | np.equal(X, high)).all(axis=0)
        if not two.any():
            break
    return two & (high > low), low, high - low


def _dense_blocks(rows: Rows) -> Iterator[Array]:
    for span in rows.spans:
        for start, stop in rows.edges(span):
            yield from (X for X, _ in dense_parts(rows.block(start, stop)))


def as_frame(X: Any) -> Any:
    """``X`` as a narwhals frame, if it is a frame (pandas, polars, pyarrow, ...) that is all in memory; else None."""
    try:
        frame = nw.from_native(X, pass_through=True)
        named = isinstance(frame, nw.DataFrame) and frame.schema is not None
    except nw.exceptions.DuplicateError as error:
        raise ColumnError(f"Several columns of X have the same name. {error} Rename them.") from error
    return frame if named else None


def as_rows(
    X: Any, names: Sequence[str] | None = None, marks: Array | None = None, redundant: Array | None = None
) -> Rows:
    """``X`` as `Rows`; refuses what is not a table of numbers. The rest is what is known of the columns of a matrix."""
    if isinstance(X, Rows):
        return X
    rows: Rows
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        rows = DenseRows(_numeric_table(X), names, marks, redundant)
    elif sp.issparse(X):
        rows = SparseRows(csr_of_floats(X), names, marks, redundant)
    elif (frame := as_frame(X)) is not None:
        rows = FrameRows(frame)
    else:
        rows = DenseRows(_numeric_table(array_from(X)), names)
    if 0 in rows.shape:
        what = "feature(s)" if rows.n_columns == 0 else "sample(s)"
        empty = "" if rows.n_columns == 0 else ": X is empty"
        raise InputError(f"Found array with 0 {what} (shape={rows.shape}) while a minimum of 1 is required{empty}.")
    return rows


def array_from(X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        raise InputError("X is a masked array, whose mask would be lost. Drop the masked rows or fill them in first.")
    if isinstance(nw.from_native(X, pass_through=True, allow_series=True), nw.LazyFrame):
        raise InputError("X is a lazy frame. Collect it first: X.collect().")
    try:
        return np.asarray(X)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"X cannot be read as a table: {error}. Every row needs the same number of values.") from error


def _numeric_table(values: Array) -> Array:
    if values.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {values.ndim}D array instead (shape {values.shape}). Reshape your data: "
            "X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if np.iscomplexobj(values):
        raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind in "mM":
        raise DtypeError(f"X holds dates or durations ({values.dtype}). Turn them into numbers first.")
    return _floats(values)


def _floats(values: Any) -> Array:
    """Objects or text as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError as error:
        raise InputError("X has whole numbers beyond the largest float, 1.8e308. Use larger units.") from error
    except (TypeError, ValueError) as error:
        raise DtypeError(
            f"X has values that are not numbers (dtype {np.asarray(values).dtype}): {error}. Encode text columns "
            "first, for example with sklearn.preprocessing.OneHotEncoder."
        ) from error


def csr_of_floats(X: Any) -> Any:
    """A sparse matrix as CSR of float32 or float64 in canonical form; refuses one whose parts do not fit each other."""
    if X.ndim != 2:
        raise InputError(f"Expected a 2D sparse matrix, got {X.ndim}D. Reshape your data to one row per case.")
    if np.iscomplexobj(X):
        raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
    try:
        csr = _sound(_sound(X).tocsr())
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(
            f"X is not a sound sparse matrix: {error}. Its parts do not fit each other: build it anew, for example "
            "with scipy.sparse.csr_array((values, (rows, columns)), shape)."
        ) from error
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _sound(X: Any) -> Any:
    """The same sparse matrix, its indices checked: compiled code would follow them anywhere.

    What the matrix says of itself is not trusted: its parts may have been changed after it was made.
    """
    if X.format in ("csr", "csc", "bsr"):
        whole = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        whole.check_format(full_check=True)
        return whole
    return type(X)((X.data, (X.row, X.col)), shape=X.shape, copy=False) if X.format == "coo" else X


def _refuse_columns_that_are_not_numbers(frame: Any) -> None:
    wrong = {name: str(dtype) for name, dtype in frame.schema.items() if not _holds_numbers(frame, name, dtype)}
    if wrong:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(wrong.items())[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ColumnError(
            f"Expected columns of numbers, got {listed}{more}. Encode text and categories first (for example with "
            "sklearn.preprocessing.OneHotEncoder), turn dates into numbers, or use NaiveBayes, which reads categories."
        )


def _holds_numbers(frame: Any, name: str, dtype: Any) -> bool:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return True
    if dtype != nw.Object:
        return False
    values = frame[name].to_numpy()
    return all(isinstance(v, (int, float, np.number, np.bool_)) or is_missing(v) for v in values)


Distribution = Literal["gaussian", "categorical", "bernoulli", "counts", "multinomial"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


@dataclass(frozen=True)
class MixedBlock:
    """The numeric columns of some rows as an array (or CSR matrix), the categorical ones as lists of values."""

    numbers: Any
    levels: list[list[Any]]


class MixedRows(Rows):
    """Rows whose columns have a distribution each."""

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
        self._check_values(numbers, start)
        return MixedBlock(numbers, [self._levels(j, start, stop) for j in self.level_columns])

    def every(self, step: int) -> MixedRows:
        return self[np.arange(0, self.n_rows, step)]

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
        values = column.to_list() if isinstance(self.table, nw.DataFrame) else column.tolist()
        try:
            distinct = set(values)
            sorted(distinct, key=lambda level: (type(level).__name__, level))
        except TypeError as error:
            label = self.column_label(j).capitalize()
            raise InputError(f"{label} holds what is no category ({error}). Turn it into text or numbers.") from error
        if any(map(is_missing, distinct)):
            row = start + next(i for i, value in enumerate(values) if is_missing(value))
            raise InputError(
                f"Missing value in {self.column_label(j)}, row {row}. Drop the row, or make missing a level of its own "
                "(for example the word 'missing')."
            )
        return values

    def level_counts(self, j: int) -> Counter[Any]:
        """How many rows have each level of a column."""
        counts: Counter[Any] = Counter()
        for start in range(0, self.n_rows, _MOST_BLOCK_ROWS):
            counts.update(self._levels(j, start, min(start + _MOST_BLOCK_ROWS, self.n_rows)))
        return counts

    def _check_values(self, numbers: Any, start: int) -> None:
        """Refuse values that a column's distribution cannot produce."""
        for kind, allowed, wanted in (
            # A share between 0 and 1 stands for a level that training had not.
            ("bernoulli", lambda v: (v >= 0) & (v <= 1), "from 0 to 1"),
            ("counts", lambda v: ~(v < 0), "0 or more"),
            ("multinomial", lambda v: ~(v < 0), "0 or more"),
        ):
            places = [place for place, j in enumerate(self.numeric_columns) if self.distributions[j] == kind]
            if places:
                part = numbers if len(places) == numbers.shape[1] else numbers[:, places]
                wrong = ~allowed(part.data if sp.issparse(part) else part)
                if not wrong.any():
                    continue
                if sp.issparse(part):
                    entries, e = part.tocoo(), int(np.argmax(wrong))
                    row, place, value = entries.row[e], entries.col[e], entries.data[e]
                else:
                    row, place = np.argwhere(wrong)[0]
                    value = part[row, place]
                if not np.isfinite(value):
                    self.refuse_nonfinite()
                raise InputError(
                    f"Row {start + row} has {value:g} in {self.number_label(places[place])}, which is read as {kind}, "
                    f"whose values are {wanted}. Give the column another distribution."
                )


def column_distributions(
    table: Any, distributions: Any, names: Sequence[str] | None = None
) -> tuple[Distribution, ...]:
    """The distribution of each column: as asked for, and where nothing is asked for, by the column's type."""
    labels = list(table.columns) if isinstance(table, nw.DataFrame) else list(names or range(table.shape[1]))
    if isinstance(distributions, Mapping):
        asked: dict[Any, Any] = dict(distributions)
        unknown = [label for label in asked if label not in labels]
        if unknown:
            raise ColumnError(f"distributions names {unknown[0]!r}, which is not a column. Columns: {labels[:20]}.")
    elif isinstance(distributions, str):
        asked = dict.fromkeys(labels, distributions)
    else:
        each = list(distributions) if isinstance(distributions, Iterable) else []
        if len(each) != len(labels):
            raise ParameterError(
                Setting("distributions"),
                f" must be 'auto', a name, or one name for each column; X has {len(labels)} columns, got "
                f"{distributions!r} ({len(each)} columns).",
            )
        asked = dict(zip(labels, each, strict=True))
    for label, kind in asked.items():
        if kind not in (*DISTRIBUTIONS, "auto"):
            raise ParameterError(f"Column {label!r}: distribution {kind!r} is not one of {DISTRIBUTIONS}.")
    return tuple(
        own if asked.get(label, "auto") == "auto" else asked[label]
        for label, own in zip(labels, _by_type(table), strict=True)
    )


def as_table(X: Any) -> Any:
    """``X`` as a narwhals frame, a CSR matrix or a 2D array of any type."""
    if isinstance(X, MatrixRows):
        return X.values
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
            if dtype.is_temporal() or dtype.is_nested():
                what = "dates or times" if dtype.is_temporal() else "lists or structures"
                raise ColumnError(f"Column {name!r} holds {what} ({dtype}). Turn it into numbers or categories first.")
            yield "bernoulli" if dtype == nw.Boolean else "gaussian" if dtype.is_numeric() else "categorical"
    elif not sp.issparse(table) and table.dtype.kind in "OUS":
        for j in range(table.shape[1]):
            kinds = set(map(type, table[:, j].tolist()))
            numbers = all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds)
            yield "gaussian" if numbers else "categorical"
    else:
        yield from repeat("gaussian", table.shape[1])


@dataclass(frozen=True)
class Block:
    """Some consecutive rows with their class codes and weights; ``start`` is the number of the first one."""

    X: Any
    codes: Array
    weight: Array
    start: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    def dense_parts(self) -> Iterator[Block]:
        """The same rows as dense blocks."""
        for part, where in dense_parts(self.X):
            yield Block(part, self.codes[where], self.weight[where], self.start + where.start)


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a class code and a weight each."""

    rows: Rows
    classes: Array
    codes: Array
    weight: Array | None = None

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def weight_of(self, chosen: Any) -> Array:
        """The weights of the chosen rows, 1 where there are none."""
        return np.ones(self.n_rows)[chosen] if self.weight is None else self.weight[chosen]

    def every(self, step: int) -> LabelledRows:
        """Every ``step``-th row with its label and weight."""
        weight = None if self.weight is None else self.weight[::step]
        return LabelledRows(self.rows.every(step), self.classes, np.ascontiguousarray(self.codes[::step]), weight)

    def take(self, chosen: Array) -> LabelledRows:
        """The chosen rows, copied."""
        weight = None if self.weight is None else self.weight[chosen]
        return LabelledRows(self.rows[chosen], self.classes, self.codes[chosen], weight)

    @property
    def spans(self) -> list[range]:
        return self.rows.spans

    def blocks(self, span: range) -> Iterator[Block]:
        """The blocks of one span, in order."""
        ones = np.ones(min(self.rows.block_rows, self.n_rows))
        for start, stop in self.rows.edges(span):
            weight = ones[: stop - start] if self.weight is None else self.weight[start:stop]
            yield Block(self.rows.block(start, stop), self.codes[start:stop], weight, start)


def labelled_rows(X: Any, y: Any, sample_weight: Any = None, classes: Array | None = None) -> LabelledRows:
    """``X``, ``y`` and ``sample_weight`` checked and brought together, without copying ``X``."""
    rows = as_rows(X)
    found, codes = encode_labels(y, rows.n_rows, classes)
    if classes is None and found.size < 2:
        raise LabelError(
            f"y has only one class, {shown(found[0])}: a classifier needs at least two classes. Check the label column."
        )
    return LabelledRows(rows, found, codes, check_weights(sample_weight, rows.n_rows))
