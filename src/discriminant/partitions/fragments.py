"""Fragments of files: the smallest parts that can be read separately, by any process with access to the file.

A Parquet file is split into its row groups, whose numbers of rows are known. They are decoded batch by batch in one
thread (the scanner of datasets reads gigabytes ahead), from the memory-mapped file, so that only one batch of decoded
columns is in memory, however large the group. An Arrow file is split into its record batches.

A NumPy array (``.npy``) is split into blocks of rows, and its columns are named x0, x1 and so on.

All other tables can only be read from the beginning: `cache` decodes them.

The decoded size of files decides whether a table fits into the available memory.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self, TypeAlias

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..errors import ColumnError, InputError
from ..results import quoted
from ..tables.files import COMPRESSIONS
from ..tables.layouts import Values, common_type, kind_of

_ARROW, _NUMPY = b"ARROW1", b"\x93NUMPY"
#: Rows of a fragment of an array.
ARRAY_ROWS: Final = 1 << 17
#: The columns of decoded SVMlight: the label, and lists of column numbers and of values.
SPARSE_COLUMNS = ("label", "columns", "values")


@dataclass(frozen=True)
class DenseBatch:
    """Rows as a matrix ``X``, with Arrow columns ``beside`` it: what a record batch is to rows in columns."""

    X: Array
    beside: Mapping[str, Values]

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def column(self, name: str) -> Values:
        return self.beside[name]

    def slice(self, start: int, length: int | None = None) -> DenseBatch:
        """Some of the rows, without a copy."""
        stop = self.num_rows if length is None else start + length
        return DenseBatch(self.X[start:stop], {name: own.slice(start, length) for name, own in self.beside.items()})


#: Some rows of a fragment.
Batch: TypeAlias = pa.RecordBatch | DenseBatch


@dataclass(frozen=True)
class Fragment(ABC):
    """Consecutive rows of a file; ``start`` is the number of the first one in the whole dataset."""

    path: str
    n_rows: int
    start: int
    number: int
    #: The file that this file was decoded from, if it was.
    label: str = ""

    @property
    def source(self) -> str:
        """The name of the file in messages."""
        return self.label or self.path

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        """The columns as record batches of at most ``rows`` rows, in order."""


#: Consecutive fragments that one task reads.
Partition: TypeAlias = tuple[Fragment, ...]


def batches_of(
    partition: Sequence[Fragment], columns: Sequence[str], rows: int
) -> Iterator[tuple[Fragment, int, Batch]]:
    """The batches of the fragments of a partition, each with the number of its first row."""
    for fragment in partition:
        start = fragment.start
        for batch in fragment.batches(columns, rows):
            if batch.num_rows:
                yield fragment, start, batch
            start += batch.num_rows


@dataclass(frozen=True)
class RowGroup(Fragment):
    """A row group of a Parquet file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        with _input_errors(self.path):
            file = _parquet(self.path, list(columns))
            yield from file.iter_batches(rows, row_groups=[self.number], columns=list(columns), use_threads=False)


@dataclass(frozen=True)
class RecordBatch(Fragment):
    """A record batch of an Arrow (IPC, Feather) file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        with _input_errors(self.path, "Arrow"):
            batch = pa.ipc.open_file(pa.memory_map(self.path)).get_batch(self.number).select(list(columns))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


@dataclass(frozen=True)
class ArrayRows(Fragment):
    """Rows of a NumPy array on disk; ``number`` is that of the first of them in the file.

    ``beside`` are further arrays by name, such as labels, whose rows are those of the whole dataset.
    """

    beside: tuple[tuple[str, str], ...] = ()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Batch]:
        with _input_errors(self.path, "NumPy"):
            others = {name: _array(path)[self.start :] for name, path in self.beside}
            own = _array_columns(_array(self.path)[self.number :])
            for first in range(0, self.n_rows, rows):
                where = slice(first, min(first + rows, self.n_rows))
                arrays = [_as_arrow((others[name] if name in others else own[name])[where]) for name in columns]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(path: str) -> Array:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise OSError(str(error)) from error
    if found.dtype.names is None and found.ndim not in (1, 2):
        raise OSError(f"it has {found.ndim} dimensions, expected 1 or 2")
    return np.asanyarray(found)


def _array_columns(whole: Array) -> dict[str, Array]:
    """The columns of an array by name, without copies."""
    if whole.dtype.names is not None:
        return {name: whole[name] for name in whole.dtype.names}
    return {"x0": whole} if whole.ndim == 1 else {f"x{j}": whole[:, j] for j in range(whole.shape[1])}


def _as_arrow(values: Array) -> pa.Array:
    if values.dtype.kind in "UO":
        return pa.array(values.tolist(), pa.string() if values.dtype.kind == "U" else None)
    return pa.array(np.ascontiguousarray(values))


def _parquet(path: str, encoded: list[str] | None = None) -> pa.parquet.ParquetFile:
    """A Parquet file; texts of the columns ``encoded`` are read as dictionaries, as they are stored."""
    import pyarrow.parquet as parquet  # slow to load

    with suppress(KeyError):  # a column of lists
        return parquet.ParquetFile(path, memory_map=True, pre_buffer=False, read_dictionary=encoded)
    return parquet.ParquetFile(path, memory_map=True, pre_buffer=False)


@contextmanager
def _input_errors(path: str, kind: str = "Parquet") -> Iterator[None]:
    """Raise a failure inside as an `InputError` that names the file."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
        raise InputError(
            f"{path!r} cannot be read as {kind}: {reason}. Check that the file is complete, or write it again."
        ) from error


@dataclass(frozen=True)
class DataFile:
    """A file with the types of its columns and the numbers of rows of its fragments."""

    path: str
    label: str
    types: dict[str, pa.DataType]
    kind: type[Fragment]
    counts: list[int]

    @classmethod
    def open(cls, path: str, label: str | None = None) -> Self:
        """The file, recognised by its first bytes; ``label`` is its name in messages, by default its path."""
        label = label or path
        with _input_errors(label), open(path, "rb") as file:
            head = file.read(6)
        if head.startswith(_NUMPY):
            with _input_errors(label, "NumPy"):
                whole = _array(path)
                types = {name: _as_arrow(values[:0]).type for name, values in _array_columns(whole).items()}
                counts = [min(ARRAY_ROWS, len(whole) - start) for start in range(0, len(whole), ARRAY_ROWS)]
                return cls(path, label, types, ArrayRows, counts)
        if head == _ARROW:
            with _input_errors(label, "Arrow"):
                reader = pa.ipc.open_file(pa.memory_map(path))
                counts = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
                return cls(path, label, _types(reader.schema), RecordBatch, counts)
        with _input_errors(label):
            groups = (parquet := _parquet(path)).metadata
            counts = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
            return cls(path, label, _types(parquet.schema_arrow), RowGroup, counts)

    def fragments(self, start: int) -> Iterator[Fragment]:
        """The fragments with rows, if the first row of the file has this number."""
        label, first = "" if self.label == self.path else self.label, 0
        for number, n_rows in enumerate(self.counts):
            if n_rows:
                yield self.kind(self.path, n_rows, start, first if self.kind is ArrayRows else number, label)
            start, first = start + n_rows, first + n_rows


def has_fragments(path: str) -> bool:
    """Whether a file can be read in fragments, by its first bytes."""
    with _input_errors(path, "a table"), open(path, "rb") as file:
        return file.read(6).startswith((b"PAR1", _ARROW, _NUMPY))


def _types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return dict(zip(schema.names, schema.types, strict=True))


def fragments_of(files: Sequence[DataFile], arrays: Mapping[str, str] = MappingProxyType({})) -> tuple[Fragment, ...]:
    """The fragments of all files; ``arrays`` are files of columns beside arrays, by name."""
    fragments, start = list[Fragment](), 0
    for file in files:
        fragments += file.fragments(start)
        start += sum(file.counts)
    beside = tuple(arrays.items())
    found = tuple(replace(each, beside=beside) if isinstance(each, ArrayRows) else each for each in fragments)
    for path in arrays.values():
        if not all(isinstance(each, ArrayRows) for each in found):
            raise ColumnError(f"{path!r} belongs to NumPy arrays (.npy), but other files were given. Name a column.")
        if (n_rows := sum(DataFile.open(path).counts)) != start:
            raise ColumnError(f"{path!r} has {n_rows:,} rows, expected {start:,}. Give one value for each row.")
    return found


def types_of(files: Sequence[DataFile], unwanted: Collection[str] = ()) -> dict[str, pa.DataType]:
    """The types of all columns; files with missing columns or columns of another kind raise a `ColumnError`."""
    types, first = dict[str, pa.DataType](), dict[str, str]()
    for file in files:
        for name, kind in file.types.items():
            first.setdefault(name, file.label)
            known = types.setdefault(name, kind)
            if name in unwanted or str(known) == str(kind):
                continue
            kinds = {kind_of(known), kind_of(kind)}
            if len(kinds - {"null"}) > 1:
                raise ColumnError(
                    f"Column {name!r} has type {kind} in {file.label!r}, but {known} in {first[name]!r}. Give it one "
                    "type in all files."
                )
            types[name] = common_type(known, kind) if "number" in kinds or "null" in kinds else known
    for file in files:
        missing = [name for name in types if name not in file.types and name not in unwanted]
        if missing:
            raise ColumnError(
                f"{file.label!r} has no column {quoted(missing, 5)}, but {first[missing[0]]!r} has. Write it again "
                "with them, or drop them: open_dataset(..., drop=[...])."
            )
    return types


#: Memory of a table in units of its decoded size: as columns, as coded rows, and in part for computations.
MEMORY_FACTOR: Final = 3
#: Size of decompressed text in units of the compressed file.
DECOMPRESSION_FACTOR: Final = 5
#: Available memory if the system does not report it.
DEFAULT_MEMORY: Final = 4 << 30
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def decoded_bytes(paths: Sequence[str]) -> int:
    """The approximate size of the decoded columns of files: 8 bytes per value, or the size of their text."""
    total = 0
    for path in paths:
        if has_fragments(path):
            file = DataFile.open(path)
            total += 8 * sum(file.counts) * len(file.types)
        else:
            total += os.path.getsize(path) * (DECOMPRESSION_FACTOR if Path(path).suffix in COMPRESSIONS else 1)
    return total


def available_bytes() -> int:
    """The memory available to this process, by the system and by the limits of its control group."""
    found = [DEFAULT_MEMORY]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])]
    for limit, used in _LIMITS:
        with suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            found.append(int((group / limit).read_text()) - int((group / used).read_text()))
    return max(min(found), 0)


def fits(paths: Sequence[str], memory: int | None = None) -> bool:
    """Whether files fit into ``memory``, by default the available memory, with all that is computed from them."""
    return MEMORY_FACTOR * decoded_bytes(paths) <= (available_bytes() if memory is None else memory)
