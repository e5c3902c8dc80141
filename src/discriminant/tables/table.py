"""A table that can be read whole or in batches, wherever it comes from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..data.parameters import check_integer
from ..errors import ColumnError, InputError, ParameterError
from .dialect import Dialect, refuse_same_names
from .sources import Source, listed, suggestion

#: What a column can be declared to be.
DECLARED_KINDS = ("number", "category", "boolean")
_PARQUET_ROWS = 65536


class Table(ABC):
    """Rows under named columns.

    Attributes
    ----------
    label : str
        How messages call the table.
    columns : tuple of str
        The columns that are read.
    target : str or None
        The column of classes, if one was named.
    types : dict
        What columns were declared to be: ``number``, ``category`` or ``boolean``.
    dialect : Dialect or None
        How the text is written, for text tables.
    n_rows : int or None
        The number of rows, where it is known: for a text table, after it has been read.
    skipped : int
        Ragged rows left out while reading.
    """

    dialect: Dialect | None = None
    n_rows: int | None = None
    skipped: int = 0

    def __init__(self, label: str, names: Sequence[str], target: Any, columns: Any, types: Any) -> None:
        self.label = label
        self.columns = _chosen(names, columns, target, label)
        self.target = None if target is None else self.known(target)
        self.types = _declared(types)
        for name in self.types:
            self.known(name)

    def known(self, name: str, what: str = "column") -> str:
        """The name itself, or a `ColumnError` with those that come near."""
        if name not in self.columns:
            raise ColumnError(
                f"{self.label} has no {what} {name!r}.{suggestion(str(name), self.columns)} "
                f"Columns: {listed(self.columns, 20)}."
            )
        return name

    def read(self) -> Any:
        """All rows as a pyarrow table; text of text files is as written, also where it stands for missing."""
        data = self._read()
        self.n_rows = data.num_rows
        if not data.num_rows:
            raise InputError(self._why_empty())
        return data

    def batches(self, rows: int = 65536) -> Iterator[Any]:
        """The rows as pyarrow tables of ``rows`` rows each, the last one shorter, in constant memory."""
        check_integer("rows", rows, 1)
        count = 0
        for batch in _recut(self._stream(), rows):
            count += batch.num_rows
            yield batch
        self.n_rows = count
        if not count:
            raise InputError(self._why_empty())

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the file, or of the columns of a frame."""
        return self._fingerprint()

    @abstractmethod
    def _read(self) -> Any:
        """All rows as a pyarrow table."""

    @abstractmethod
    def _stream(self) -> Iterator[Any]:
        """The rows as pyarrow tables or record batches of any size."""

    @abstractmethod
    def _fingerprint(self) -> str:
        """A hash of all there is."""

    def _why_empty(self) -> str:
        return f"{self.label} has columns but no rows. Give at least one row."


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, source: Source, target: Any, columns: Any, types: Any) -> None:
        import pyarrow.parquet as parquet

        self.source = source
        with source.plainly("read as Parquet"):
            self._file = parquet.ParquetFile(str(source.path), memory_map=True)
            names = self._file.schema_arrow.names
        super().__init__(source.label, names, target, columns, types)
        self.n_rows = self._file.metadata.num_rows

    def _read(self) -> Any:
        with self.source.plainly("read as Parquet"):
            return self._file.read(columns=list(self.columns))

    def _stream(self) -> Iterator[Any]:
        with self.source.plainly("read as Parquet"):
            yield from self._file.iter_batches(batch_size=_PARQUET_ROWS, columns=list(self.columns))

    def _fingerprint(self) -> str:
        return self.source.sha256()


class ArrowTable(Table):
    """An Arrow (IPC) or Feather file, or an Arrow stream."""

    def __init__(self, source: Source, target: Any, columns: Any, types: Any) -> None:
        self.source = source
        with source.plainly("read as Arrow"):
            names = self._open().schema.names
        super().__init__(source.label, names, target, columns, types)

    def _open(self) -> Any:
        import pyarrow as pa

        file = pa.memory_map(str(self.source.path))
        streamed = file.read(4) == b"\xff\xff\xff\xff"
        file.seek(0)
        return pa.ipc.open_stream(file) if streamed else pa.ipc.open_file(file)

    def _read(self) -> Any:
        with self.source.plainly("read as Arrow"):
            data = self._open().read_all().select(list(self.columns))
            data.validate()
            return data

    def _stream(self) -> Iterator[Any]:
        with self.source.plainly("read as Arrow"):
            reader = self._open()
            count = getattr(reader, "num_record_batches", None)
            batches = reader if count is None else map(reader.get_batch, range(count))
            for batch in batches:
                batch.validate()
                yield batch.select(list(self.columns))

    def _fingerprint(self) -> str:
        return self.source.sha256()


class FrameTable(Table):
    """A frame that is in memory already."""

    def __init__(self, data: Any, target: Any, columns: Any, types: Any, label: str = "<frame>") -> None:
        super().__init__(label, data.column_names, target, columns, types)
        self._data = data.select(list(self.columns))
        self.n_rows = data.num_rows

    def _read(self) -> Any:
        return self._data

    def _stream(self) -> Iterator[Any]:
        yield self._data

    def _fingerprint(self) -> str:
        import pyarrow as pa

        sink = _HashSink()
        with pa.PythonFile(sink, "w") as file, pa.ipc.new_stream(file, self._data.schema) as writer:
            writer.write_table(self._data)
        return sink.digest.hexdigest()


class _HashSink:
    """A file that only remembers the hash of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True


def is_text(kind: Any) -> bool:
    """Whether an arrow type is text, as it is or by codes."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return True
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _chosen(names: Sequence[str], columns: Any, target: Any, label: str) -> tuple[str, ...]:
    """The columns to read, in the order of the table; the target is among them."""
    refuse_same_names(names, label)
    if columns is None:
        return tuple(names)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ParameterError(f"columns must be a list of column names, got {columns!r}.")
    wanted = [*columns, *([] if target is None else [target])]
    absent = [name for name in columns if name not in names]
    if absent:
        raise ColumnError(
            f"{label} has no column {absent[0]!r}.{suggestion(str(absent[0]), names)} Columns: {listed(names, 20)}."
        )
    return tuple(name for name in names if name in wanted)


def _declared(types: Any) -> dict[str, str]:
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise ParameterError(f"types must say what columns are, such as {{'zip': 'category'}}, got {types!r}.")
    for name, kind in types.items():
        if kind not in DECLARED_KINDS:
            raise ParameterError(f"types: column {name!r} can be one of {DECLARED_KINDS}, got {kind!r}.")
    return dict(types)


def _recut(parts: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in tables of ``rows`` rows; where the types change on the way, a shorter one ends before."""
    import pyarrow as pa

    held: list[Any] = []
    for part in parts:
        piece = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        if held and held[0].schema != piece.schema:
            yield from _cut(held, rows, everything=True)
            held = []
        held.append(piece)
        if sum(table.num_rows for table in held) >= rows:
            yield from _cut(held, rows, everything=False)
    yield from _cut(held, rows, everything=True)


def _cut(held: list[Any], rows: int, everything: bool) -> Iterator[Any]:
    """Cut tables of ``rows`` rows off what is held, and keep the rest there unless everything has to go."""
    import pyarrow as pa

    if not held:
        return
    whole = pa.concat_tables(held)
    start = 0
    while whole.num_rows - start >= rows:
        yield whole.slice(start, rows)
        start += rows
    held[:] = [whole.slice(start)] if start < whole.num_rows else []
    if everything and held:
        yield held.pop()
