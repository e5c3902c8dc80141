"""Pieces of files: the smallest parts that can be read by themselves, by any process that sees the file.

A Parquet file is cut at its row groups, whose numbers of rows are known beforehand. They are decoded batch by batch and
in one thread each (the scanner of whole datasets reads ahead by gigabytes), from the mapped file, so that what is held
at a time is a batch of decoded columns, however large the group. An Arrow file is cut at its record batches.

All other tables (`tables.open_table`: text, JSON, workbooks, databases) can be read from their beginning only, and take
long to parse. They are decoded once, to Parquet in a temporary folder, which vanishes with the last that reads it, at
the end of the process, and when decoding fails or is interrupted.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import ColumnError, InputError
from ..results import quoted

#: Rows of a row group of what is decoded.
_DECODED_ROWS = 1 << 16


@dataclass(frozen=True)
class Piece(ABC):
    """Consecutive rows of a file; ``start`` is the number of the first one in the whole dataset."""

    path: str
    n_rows: int
    start: int

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """The columns as pyarrow record batches of at most so many rows, in order."""


@dataclass(frozen=True)
class RowGroup(Piece):
    """A row group of a Parquet file."""

    number: int

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with _plainly(self.path):
            file = _parquet(self.path, list(columns))
            options = {"row_groups": [self.number], "columns": list(columns), "use_threads": False}
            yield from file.iter_batches(rows, **options)


@dataclass(frozen=True)
class RecordBatch(Piece):
    """A record batch of an Arrow (IPC, Feather) file."""

    number: int

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        with _plainly(self.path, "Arrow"):
            batch = _arrow(self.path).get_batch(self.number).select(list(columns))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def _arrow(path: str) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(path))


def _parquet(path: str, coded: list[str] | None = None) -> Any:
    """A Parquet file; texts of the columns ``coded`` are read as codes, as they are stored."""
    import pyarrow.parquet as parquet  # slow to load

    return parquet.ParquetFile(path, memory_map=True, pre_buffer=False, read_dictionary=coded)


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
    types: dict[str, Any]
    kind: type[RowGroup] | type[RecordBatch]
    counts: list[int]

    @classmethod
    def of(cls, path: str) -> Opened:
        """The file, by what it begins with."""
        with _plainly(path), open(path, "rb") as file:
            arrow = file.read(6) == b"ARROW1"
        with _plainly(path, "Arrow" if arrow else "Parquet"):
            if arrow:
                reader = _arrow(path)
                counts = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
                return cls(path, _types(reader.schema), RecordBatch, counts)
            groups = (file := _parquet(path)).metadata
            counts = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
            return cls(path, _types(file.schema_arrow), RowGroup, counts)


def is_partitioned(path: str) -> bool:
    """Whether a file can be read in pieces, by what it begins with."""
    with _plainly(path, "a table"), open(path, "rb") as file:
        return file.read(6).startswith((b"PAR1", b"ARROW1"))


def _types(schema: Any) -> dict[str, Any]:
    return dict(zip(schema.names, schema.types, strict=True))


def pieces_of(paths: Sequence[str]) -> tuple[dict[str, Any], tuple[Piece, ...]]:
    """The types of the columns, and the pieces of all files; refuses files that differ in their columns."""
    files = [Opened.of(path) for path in paths]
    pieces, start = list[Piece](), 0
    for file in files:
        _refuse_other_columns(file.path, file.types, files[0].path, files[0].types)
        for number, n_rows in enumerate(file.counts):
            if n_rows:
                pieces.append(file.kind(file.path, n_rows, start, number))
                start += n_rows
    return files[0].types, tuple(pieces)


class Decoded:
    """Tables that cannot be read in pieces, decoded to Parquet in a temporary folder while this object lives."""

    def __init__(self, tables: Sequence[Any], labels: str | None) -> None:
        self.labels = labels
        self.folder = tempfile.mkdtemp(prefix="discriminant-")
        remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        try:
            self.paths = [self._decoded(table, number) for number, table in enumerate(tables)]
        except BaseException:
            remove()
            raise

    def _decoded(self, table: Any, number: int) -> str:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        path, writer = os.path.join(self.folder, f"{number:06}.parquet"), None
        try:
            for batch in table.batches(_DECODED_ROWS):
                writer = writer or parquet.ParquetWriter(path, self._schema(batch.schema), compression="none")
                writer.write_table(batch.cast(writer.schema), row_group_size=_DECODED_ROWS)
        except OSError as error:
            raise InputError(
                f"{table.label} cannot be decoded to {self.folder!r}: {error.strerror or error}. Make room, or set "
                "TMPDIR to a folder that has more."
            ) from error
        except pa.ArrowException as error:
            raise InputError(
                f"{table.label} changes the type of a column on the way: {error}. Leave the column out, or write it as "
                "one type."
            ) from error
        finally:
            if writer is not None:
                writer.close()
        return path

    def _schema(self, found: Any) -> Any:
        """Whole numbers as floats, for the rows to come may have others; labels stay what they are."""
        import pyarrow as pa

        whole = (field.name for field in found if pa.types.is_integer(field.type) and field.name != self.labels)
        for name in whole:
            found = found.set(found.get_field_index(name), pa.field(name, pa.float64()))
        return found


def _refuse_other_columns(path: str, found: Mapping[str, Any], first: str, types: Mapping[str, Any]) -> None:
    absent = [name for name in types if name not in found]
    if absent:
        raise ColumnError(f"{path!r} has no column {quoted(absent, 5)}, which {first!r} has. Write it again with them.")
    other = next((name for name in types if kind_of(found[name]) != kind_of(types[name])), None)
    if other is not None:
        raise ColumnError(
            f"Column {other!r} is {found[other]} in {path!r}, but {types[other]} in {first!r}. Give it one type in all "
            "files."
        )


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
