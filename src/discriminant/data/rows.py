"""Rows of numbers, read in blocks: arrays, frames and CSR matrices in memory, and the interface of streamed rows.

Tables are not copied: each block is sliced and converted on demand, so that float32 stays float32 in memory and frames
are never converted as a whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..arrays import Array, Frame, MatrixLike, RowBlock, SparseMatrix
from ..dependencies import Deferred
from ..engine import OverBlocks, in_order, map_rows
from ..errors import ColumnError, DtypeError, InputError, Part
from .blocks import consecutive_runs, dense_parts, is_sparse, largest_of_columns, rows_of_width, stratified_subsample
from .labels import is_missing

if TYPE_CHECKING:
    from scipy.sparse import csr_array

nw: Any = Deferred("narwhals.stable.v2")  # slow to import, and not needed for arrays

#: Rows are reduced in at most this many partitions: more of them balance the load of threads better, but cost more
#: merging.
MAX_PARTITIONS: Final = 32


R = TypeVar("R")


class AnyRows(Protocol):
    """The interface of rows that are read in blocks, in memory (`Rows`) or streamed (`StreamedRows`)."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, if there are any."""

    @property
    def is_indicator(self) -> Array | None:
        """Which columns of a coded table are indicators of levels or missing values, if known."""

    @property
    def redundant(self) -> Array | None:
        """Which columns of a coded table are linear functions of others by construction, if known."""

    def column_label(self, j: int) -> str:
        """Column ``j`` in error messages."""

    def number_label(self, j: int) -> str:
        """The ``j``-th numeric column in error messages."""

    def refuse_nonfinite(self) -> None:
        """Raise an `InputError` for the first NaN or infinity, if there is one."""

    def largest_values(self) -> Array:
        """The largest absolute value of each column of numbers."""

    def map_blocks(self, function: Callable[[Any, slice], R], n_jobs: int | None = None) -> Iterator[R]:
        """The function's results for all blocks and their row ranges, in order; it may run on other machines."""

    def fill(self, out: Array, write: Callable[[Any, Array], bool], n_jobs: int | None = None) -> list[int]:
        """Fill ``out`` block by block with ``write``; returns the starts of blocks for which it returned False."""


class Rows(ABC):
    """``n_rows`` x ``n_columns`` numbers that are read in blocks, with optional column ``names``.

    For coded tables the boolean arrays ``is_indicator`` and ``redundant`` flag the columns that are level indicators,
    and those that are linear functions of others because every level of a category has a column.

    Estimators accept rows in place of an array, and ``rows[index]`` keeps the names. ``rows.values`` is the array or
    CSR matrix for other libraries.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None = None
    is_indicator: Array | None = None
    redundant: Array | None = None

    @abstractmethod
    def block(self, start: int, stop: int) -> Any:
        """Rows ``start`` to ``stop``: a C-contiguous float32 or float64 array, or a CSR matrix."""

    def subsample(self, step: int) -> Rows:
        """A subsample of one row of every ``step``, see `stratified_subsample`."""
        return self if step == 1 else self[stratified_subsample(self.n_rows, step)]

    @abstractmethod
    def take(self, chosen: Array) -> Any:
        """The chosen rows as a block."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, chosen: Any) -> Rows:
        """Rows by index, with the column names."""
        chosen = chosen[0] if isinstance(chosen, tuple) else chosen  # scikit-learn uses [rows, ...]
        return as_rows(self.take(chosen), self.names)

    def number_label(self, j: int) -> str:
        """The ``j``-th numeric column in error messages."""
        return self.column_label(j)

    def column_label(self, j: int) -> str:
        """Column ``j`` in error messages."""
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    @cached_property
    def block_rows(self) -> int:
        """Rows of a block; depends on the number of columns only, not on the number of threads."""
        return rows_of_width(self.n_columns)

    def in_blocks(self, n_rows: int) -> Self:
        """The same rows in blocks of at most ``n_rows``, for passes with much computation per row."""
        if n_rows >= self.block_rows:
            return self
        rows = copy(self)
        rows.__dict__.pop("partitions", None)
        rows.block_rows = n_rows
        return rows

    @cached_property
    def partitions(self) -> list[range]:
        """Partitions, as runs of block starts; each is reduced by one worker, and results are merged in order.

        They depend on the shape only, so that results do not depend on the number of threads.
        """
        starts = range(0, self.n_rows, self.block_rows)
        # A partition's statistic may be p x p: with fewer than p rows merging would cost more than computing it.
        count = max(1, min(MAX_PARTITIONS, len(starts), self.n_rows // max(self.n_columns, 1)))
        return consecutive_runs(starts, count)

    def edges(self, starts: range) -> Iterator[tuple[int, int]]:
        """Start and stop of each block of a partition."""
        for start in starts:
            yield start, min(start + self.block_rows, self.n_rows)

    def blocks(self, partition: range) -> Iterator[tuple[Any, slice]]:
        """The blocks of a partition with their row ranges."""
        for start, stop in self.edges(partition):
            yield self.block(start, stop), slice(start, stop)

    def map_blocks(self, function: Callable[[Any, slice], R], n_jobs: int | None = None) -> Iterator[R]:
        for found in in_order(OverBlocks(self.blocks, function), self.partitions, n_jobs):
            yield from found

    def fill(self, out: Array, write: Callable[[Any, Array], bool], n_jobs: int | None = None) -> list[int]:
        failed = list[int]()

        def over_block(block: RowBlock, where: slice) -> None:
            if not write(block, out[where]):
                failed.append(where.start)

        map_rows(self, over_block, n_jobs)
        return failed

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Raise an `InputError` for the first NaN or infinity, if there is one; ``label`` names its column."""
        for partition in self.partitions:
            for block, where in self.blocks(partition):
                bad = ~np.isfinite(block)
                if bad.any():
                    i, j = np.argwhere(bad)[0]
                    raise_nonfinite(block[i, j], where.start + int(i), (label or self.column_label)(int(j)))

    def largest_values(self) -> Array:
        """The largest absolute value of each column of numbers."""
        blocks = (block for partition in self.partitions for block, _ in self.blocks(partition))
        return np.asarray(np.max([largest_of_columns(block) for block in blocks], axis=0))


def raise_nonfinite(value: float, row: int, column: str) -> None:
    """Raise the error about a NaN or infinity."""
    what = "NaN" if np.isnan(value) else "infinity"
    raise InputError(
        f"Input X contains {what}: {column}, row {row}. All values must be finite: drop such rows or impute them, for "
        "example with sklearn.impute.SimpleImputer."
    )


class StreamedRows(AnyRows, ABC):
    """Rows that are streamed in every pass, with their labels, from files or from other machines."""

    @abstractmethod
    def labelled(self, classes: Array | None = None) -> Any:
        """The rows with their labels as `TrainingData`."""

    @abstractmethod
    def viewed(self, view: Callable[[Any, int], Any]) -> Any:
        """The rows with each block transformed by ``view(block, start)``."""

    @abstractmethod
    def gathered(self, *who: Part) -> Any:
        """All rows with their labels as `LabelledRows`; raises an error before reading if they do not fit in memory."""

    @abstractmethod
    def learned(self, options: Any) -> Any:
        """The schema learned from all rows, and its findings."""

    @abstractmethod
    def coded(self, schema: Any) -> StreamedRows:
        """The rows encoded by a schema."""


def is_rows(X: MatrixLike) -> TypeGuard[AnyRows]:
    """Whether these are `Rows` or `StreamedRows`."""
    return isinstance(X, Rows | StreamedRows)


def is_streamed(X: MatrixLike) -> TypeGuard[StreamedRows]:
    """Whether this is a dataset that is streamed in every pass."""
    return isinstance(X, StreamedRows)


class MatrixRows(Rows):
    """Rows of a matrix, dense or sparse."""

    def __init__(
        self,
        values: Any,
        names: Sequence[str] | None = None,
        is_indicator: Array | None = None,
        redundant: Array | None = None,
    ) -> None:
        self.values = values
        self.n_rows, self.n_columns = values.shape
        self.names = None if names is None else tuple(names)
        self.is_indicator, self.redundant = is_indicator, redundant

    def __getitem__(self, chosen: Any) -> Self:
        """Rows by slice, index or mask, with the column names; scikit-learn uses ``rows[index, ...]``."""
        values = self.values[chosen[0] if isinstance(chosen, tuple) else chosen]
        return type(self)(values, self.names, self.is_indicator, self.redundant)


class DenseRows(MatrixRows):
    """Rows of a NumPy array."""

    @property
    def dtype(self) -> Any:
        own = self.values.dtype
        return own if own in (np.float32, np.float64) else np.dtype(np.float64)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype, copy=copy)

    def block(self, start: int, stop: int) -> Array:
        # Kernels require aligned numbers, but a buffer may start at any byte; np.matrix becomes an array.
        return np.require(self.values[start:stop], self.dtype, ["C", "ALIGNED", "ENSUREARRAY"])

    def take(self, chosen: Array) -> Array:
        return np.ascontiguousarray(self.values[chosen], dtype=self.dtype)


class FrameRows(Rows):
    """Rows of a pandas, polars or pyarrow frame with numeric columns."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape
        self.names = tuple(map(str, frame.columns))
        _refuse_columns_that_are_not_numbers(frame)
        single = all(dtype == nw.Float32 for dtype in frame.schema.values())
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def block(self, start: int, stop: int) -> Array:
        values = self.frame[start:stop].to_numpy()
        if values.dtype == object:  # missing values of a nullable column become NaN
            values = _floats([[np.nan if is_missing(v) else v for v in row] for row in values])
        return np.ascontiguousarray(values, dtype=self.dtype)

    def take(self, chosen: Array) -> Array:
        return FrameRows(self.frame[chosen.tolist(), :]).block(0, len(chosen))


class SparseRows(MatrixRows):
    """Rows of a CSR matrix."""

    @cached_property
    def block_rows(self) -> int:
        return rows_of_width(1 + self.values.nnz // max(self.n_rows, 1))

    def block(self, start: int, stop: int) -> Any:
        from scipy.sparse import csr_matrix  # already imported if rows are sparse

        whole, first, last = self.values, self.values.indptr[start], self.values.indptr[stop]
        part = (whole.data[first:last], whole.indices[first:last], whole.indptr[start : stop + 1] - first)
        return csr_matrix(part, shape=(stop - start, self.n_columns), copy=False)

    def take(self, chosen: Array) -> Any:
        return self.values[chosen]

    @property
    def partitions(self) -> list[range]:
        """Partitions; statistics of sparse rows have the size of one row, so that small partitions are efficient."""
        return consecutive_runs(range(0, self.n_rows, self.block_rows), MAX_PARTITIONS)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        bad = np.flatnonzero(~np.isfinite(self.values.data))
        if bad.size:
            row = int(np.searchsorted(self.values.indptr, bad[0], side="right")) - 1
            column = (label or self.column_label)(int(self.values.indices[bad[0]]))
            raise_nonfinite(self.values.data[bad[0]], row, column)


def is_dask(X: MatrixLike) -> bool:
    """Whether this is a Dask array, frame or series; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_spark(X: MatrixLike) -> bool:
    """Whether this is a Spark frame; does not import Spark."""
    return type(X).__module__.startswith("pyspark.") and hasattr(X, "mapInArrow")


def is_collection(X: MatrixLike) -> bool:
    """Whether this is a Dask or Spark table, which `partitions.frames` reads."""
    return is_dask(X) or is_spark(X)


def two_valued(rows: Rows) -> tuple[Array, Array, Array]:
    """Which columns have exactly two distinct values, the lower value, and the difference to the other."""
    low, high, two = np.full(rows.n_columns, np.inf), np.full(rows.n_columns, -np.inf), np.ones(rows.n_columns, bool)
    for X in _dense_blocks(rows):
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    for X in _dense_blocks(rows):
        two &= (np.equal(X, low) | np.equal(X, high)).all(axis=0)
        if not two.any():
            break
    return two & (high > low), low, high - low


def _dense_blocks(rows: Rows) -> Iterator[Array]:
    for partition in rows.partitions:
        for block, _ in rows.blocks(partition):
            yield from (X for X, _ in dense_parts(block))


def as_frame(X: MatrixLike) -> Any:
    """``X`` as a narwhals frame if it is a frame in memory (pandas, polars, pyarrow, ...); else None."""
    try:
        frame = nw.from_native(X, pass_through=True)
        named = isinstance(frame, nw.DataFrame) and frame.schema is not None
    except nw.exceptions.DuplicateError as error:
        raise ColumnError(f"Several columns of X have the same name. {error} Rename them.") from error
    return frame if named else None


def as_rows(
    X: MatrixLike, names: Sequence[str] | None = None, is_indicator: Array | None = None, redundant: Array | None = None
) -> Rows:
    """``X`` as `Rows`; raises an error unless it is a numeric table. The other parameters describe its columns."""
    if isinstance(X, Rows):
        return X
    if is_streamed(X):
        raise InputError("X is a streamed dataset, but rows in memory are required. Use an array or a data frame.")
    rows: Rows
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        rows = DenseRows(_numeric_table(X), names, is_indicator, redundant)
    elif is_sparse(X):
        rows = SparseRows(csr_of_floats(X), names, is_indicator, redundant)
    elif (frame := as_frame(X)) is not None:
        rows = FrameRows(frame)
    else:
        rows = DenseRows(_numeric_table(array_from(X)), names)
    if 0 in rows.shape:
        what = "feature(s)" if rows.n_columns == 0 else "sample(s)"
        empty = "" if rows.n_columns == 0 else ": X is empty"
        raise InputError(f"Found array with 0 {what} (shape={rows.shape}) while a minimum of 1 is required{empty}.")
    return rows


def array_from(X: MatrixLike) -> Array:
    """``X`` as an array; raises an error if it is masked, lazy or not rectangular."""
    if isinstance(X, np.ma.MaskedArray):
        raise InputError("X is a masked array, which is not supported. Drop the masked rows or impute them.")
    if isinstance(nw.from_native(X, pass_through=True, allow_series=True), nw.LazyFrame):
        raise InputError("X is a lazy data frame. Collect it first: X.collect().")
    try:
        return np.asarray(X)
    except (ValueError, TypeError, OverflowError) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"X is not a table: {reason}. Every row needs the same number of values.") from error


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
        raise DtypeError(f"X contains dates or durations ({values.dtype}). Convert them to numbers first.")
    return _floats(values)


def _floats(values: ArrayLike) -> Array:
    """Objects or text as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError as error:
        raise InputError("X has integers above the largest float, 1.8e308. Rescale the column.") from error
    except (TypeError, ValueError) as error:
        raise DtypeError(
            f"X has values that are not numbers (dtype {np.asarray(values).dtype}): {error}. Encode text columns "
            "first, for example with sklearn.preprocessing.OneHotEncoder."
        ) from error


def csr_of_floats(X: SparseMatrix) -> csr_array:
    """A sparse matrix as CSR of float32 or float64 in canonical form; raises an error if it is inconsistent."""
    if X.ndim != 2:
        raise InputError(f"Expected a 2D sparse matrix, got {X.ndim}D. Reshape your data to one row per case.")
    if np.iscomplexobj(X):
        raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
    try:
        csr = _sound(X) if X.format == "csr" else _sound(_sound(X).tocsr())
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(
            f"X is an inconsistent sparse matrix: {error}. Construct a valid one, for example with "
            "scipy.sparse.csr_array((values, (rows, columns)), shape)."
        ) from error
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _sound(X: SparseMatrix) -> SparseMatrix:
    """The same sparse matrix with checked indices, which compiled code does not check.

    Cached flags of the matrix are ignored: its arrays may have been changed after construction.
    """
    if X.format in ("csr", "csc", "bsr"):
        whole = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        whole.check_format(full_check=True)
        return whole
    return type(X)((X.data, (X.row, X.col)), shape=X.shape, copy=False) if X.format == "coo" else X


def _refuse_columns_that_are_not_numbers(frame: Frame) -> None:
    wrong = {name: str(dtype) for name, dtype in frame.schema.items() if not _holds_numbers(frame, name, dtype)}
    if wrong:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(wrong.items())[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ColumnError(
            f"Expected numeric columns, got {listed}{more}. Encode text and categories, for example with "
            "sklearn.preprocessing.OneHotEncoder, convert dates to numbers, or use NaiveBayes, which takes categories."
        )


def _holds_numbers(frame: Frame, name: str, dtype: Any) -> bool:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return True
    if dtype != nw.Object:
        return False
    values = frame[name].to_numpy()
    return all(isinstance(v, (int, float, np.number, np.bool_)) or is_missing(v) for v in values)
