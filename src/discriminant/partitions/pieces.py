"""Pieces of files: the smallest parts that can be read by themselves, by any process that sees the file.

A Parquet file is cut at its row groups, whose numbers of rows are known beforehand. They are decoded batch by batch and
in one thread each (the scanner of whole datasets reads ahead by gigabytes), from the mapped file, so that what is held
at a time is a batch of decoded columns, however large the group. An Arrow file is cut at its record batches.

An array of NumPy (`.npy`) is cut where it suits, and its columns are numbered, x0, x1 and so on.

All other tables can be read from their beginning only: `cache` decodes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ..errors import ColumnError, InputError
from ..results import quoted

_ARROW, _NUMPY = b"ARROW1", b"\x93NUMPY"
#: Rows of a piece of an array.
_ARRAY_ROWS = 1 << 17
#: The columns of decoded SVMlight: the label, and lists of column numbers and of values.
LISTED = ("label", "columns", "values")


@dataclass(frozen=True)
class Piece(ABC):
    """Consecutive rows of a file; ``start`` is the number of the first one in the whole dataset."""

    path: str
    n_rows: int
    start: int
    number: int
    #: What the file was made from, if it was.
    label: str = ""

    @property
    def called(self) -> str:
        """How messages call the file."""
        return self.label or self.path

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """The columns as pyarrow record batches of at most so many rows, in order."""


@dataclass(frozen=True)
class Slab:
    """What a record batch is to rows in columns: rows that stand as such, ``X``, and pyarrow columns beside them."""

    X: Any
    beside: Mapping[str, Any]

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def column(self, name: str) -> Any:
        return self.beside[name]

    def slice(self, start: int, length: int | None = None) -> Slab:
        """Some of the rows, where they stand."""
        stop = self.num_rows if length is None else start + length
        return Slab(self.X[start:stop], {name: own.slice(start, length) for name, own in self.beside.items()})


@dataclass(frozen=True)
class RowGroup(Piece):
    """A row group of a Parquet file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with _plainly(self.path):
            file = _parquet(self.path, list(columns))
            options = {"row_groups": [self.number], "columns": list(columns), "use_threads": False}
            yield from file.iter_batches(rows, **options)


@dataclass(frozen=True)
class RecordBatch(Piece):
    """A record batch of an Arrow (IPC, Feather) file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with _plainly(self.path, "Arrow"):
            batch = _arrow(self.path).get_batch(self.number).select(list(columns))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


@dataclass(frozen=True)
class ArrayRows(Piece):
    """Rows of a NumPy array on disk; ``number`` is that of the first of them in the file.

    ``beside`` are further arrays by name, such as labels, whose rows are those of the whole dataset.
    """

    beside: tuple[tuple[str, str], ...] = ()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        import pyarrow as pa

        with _plainly(self.path, "NumPy"):
            whole, others = _array(self.path), {name: _array(path) for name, path in self.beside}
            for first in range(0, self.n_rows, rows):
                stop = min(first + rows, self.n_rows)
                own, all_rows = (slice(place + first, place + stop) for place in (self.number, self.start))
                arrays = [
                    others[name][all_rows] if name in others else _array_column(whole, name, own) for name in columns
                ]
                yield pa.RecordBatch.from_arrays([_arrow_array(values) for values in arrays], names=list(columns))


def _array(path: str) -> Any:
    import numpy as np

    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise OSError(str(error)) from error
    if found.dtype.names is None and found.ndim not in (1, 2):
        raise OSError(f"it has {found.ndim} dimensions, and rows and columns are two")
    return found


def _array_column(whole: Any, name: str, rows: slice) -> Any:
    if whole.dtype.names is not None:
        return whole[name][rows]
    return whole[rows] if whole.ndim == 1 else whole[rows, int(name[1:])]


def _arrow_array(values: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(values.tolist() if values.dtype.kind in "UO" else np.ascontiguousarray(values))


def _array_types(whole: Any) -> dict[str, Any]:
    import pyarrow as pa

    if whole.dtype.names is not None:
        return {name: _arrow_array(whole[name][:0]).type for name in whole.dtype.names}
    kind = pa.string() if whole.dtype.kind == "U" else pa.from_numpy_dtype(whole.dtype)
    return {f"x{j}": kind for j in range(1 if whole.ndim == 1 else whole.shape[1])}


def _arrow(path: str) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(path))


def _parquet(path: str, coded: list[str] | None = None) -> Any:
    """A Parquet file; texts of the columns ``coded`` are read as codes, as they are stored."""
    import pyarrow.parquet as parquet  # slow to load

    with suppress(KeyError):  # a column of lists
        return parquet.ParquetFile(path, memory_map=True, pre_buffer=False, read_dictionary=coded)
    return parquet.ParquetFile(path, memory_map=True, pre_buffer=False)


@contextmanager
def _plainly(path: str, kind: str = "Parquet") -> Iterator[None]:
    """Name the file that cannot be read."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
        raise InputError(
            f"{path!r} cannot be read as {kind}: {reason}. Check that the file is whole, or write it again."
        ) from error


@dataclass(frozen=True)
class Opened:
    """A file's columns with their types, and its pieces with their numbers of rows."""

    path: str
    label: str
    types: dict[str, Any]
    kind: type[Piece]
    counts: list[int]

    @classmethod
    def of(cls, path: str, label: str | None = None) -> Opened:
        """The file, by what it begins with; ``label`` is how messages call it, if not by its path."""
        called = label or path
        with _plainly(called), open(path, "rb") as file:
            begins = file.read(6)
        if begins.startswith(_NUMPY):
            with _plainly(called, "NumPy"):
                whole = _array(path)
                n_rows, step = len(whole), _ARRAY_ROWS
                counts = [min(step, n_rows - start) for start in range(0, n_rows, step)]
                return cls(path, called, _array_types(whole), ArrayRows, counts)
        arrow = begins == _ARROW
        with _plainly(called, "Arrow" if arrow else "Parquet"):
            if arrow:
                reader = _arrow(path)
                counts = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
                return cls(path, called, _types(reader.schema), RecordBatch, counts)
            groups = (file := _parquet(path)).metadata
            counts = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
            return cls(path, called, _types(file.schema_arrow), RowGroup, counts)

    def pieces(self, start: int) -> Iterator[Piece]:
        """The pieces with rows, if the first row of the file has this number."""
        label, first = "" if self.label == self.path else self.label, 0
        for number, n_rows in enumerate(self.counts):
            if n_rows:
                yield self.kind(self.path, n_rows, start, first if self.kind is ArrayRows else number, label)
            start, first = start + n_rows, first + n_rows


def is_partitioned(path: str) -> bool:
    """Whether a file can be read in pieces, by what it begins with."""
    with _plainly(path, "a table"), open(path, "rb") as file:
        return file.read(6).startswith((b"PAR1", _ARROW, _NUMPY))


def _types(schema: Any) -> dict[str, Any]:
    return dict(zip(schema.names, schema.types, strict=True))


def pieces_of(files: Sequence[Opened], arrays: Mapping[str, str] = MappingProxyType({})) -> tuple[Piece, ...]:
    """The pieces of all files; ``arrays`` are files of columns beside arrays, by name."""
    pieces, start = list[Piece](), 0
    for file in files:
        pieces += file.pieces(start)
        start += sum(file.counts)
    for path in arrays.values():
        if not all(isinstance(piece, ArrayRows) for piece in pieces):
            raise ColumnError(f"{path!r} goes with rows of arrays (.npy), and there are others. Name a column of them.")
        if (n_rows := sum(Opened.of(path).counts)) != start:
            raise ColumnError(f"{path!r} has {n_rows:,} rows, and there are {start:,}. Give one value for each row.")
    beside = tuple(arrays.items())
    return tuple(replace(piece, beside=beside) if isinstance(piece, ArrayRows) else piece for piece in pieces)


def types_of(files: Sequence[Opened], unwanted: Collection[str] = ()) -> dict[str, Any]:
    """The types of all columns; refuses files that lack one that is wanted, or have it of another kind."""
    types, first = dict[str, Any](), dict[str, str]()
    for file in files:
        for name, kind in file.types.items():
            first.setdefault(name, file.label)
            known = types.setdefault(name, kind)
            if name in unwanted or str(known) == str(kind):
                continue
            merged = _wider(known, kind)
            if merged is None:
                raise ColumnError(
                    f"Column {name!r} is {kind} in {file.label!r}, but {known} in {first[name]!r}. Give it one type in "
                    "all files."
                )
            types[name] = merged
    for file in files:
        absent = [name for name in types if name not in file.types and name not in unwanted]
        if absent:
            raise ColumnError(
                f"{file.label!r} has no column {quoted(absent, 5)}, which {first[absent[0]]!r} has. Write it again "
                "with them, or leave them out: open_dataset(..., drop=[...])."
            )
    return types


def _wider(first: Any, second: Any) -> Any:
    """The type of a column that has both, None if they are not of one kind."""
    import pyarrow as pa

    if "null" in (kinds := (kind_of(first), kind_of(second))):
        return second if kinds[0] == "null" else first
    if kinds[0] != kinds[1]:
        return None
    if kinds[0] != "number":
        return first
    return pa.int64() if pa.types.is_integer(first) and pa.types.is_integer(second) else pa.float64()


def kind_of(kind: Any) -> str:
    """What a pyarrow type holds: numbers of whatever width are of one kind, and so are texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "boolean"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return "text" if any(is_text(kind) for is_text in texts) else str(kind)
