"""Pieces of files: the smallest parts that can be read by themselves, by any process that sees the file.

A Parquet file is cut at its row groups, whose numbers of rows are known beforehand. They are decoded batch by batch and
in one thread each (the scanner of whole datasets reads ahead by gigabytes), from the mapped file, so that what is held
at a time is a batch of decoded columns, however large the group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import ColumnError, InputError
from ..results import quoted


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
            file = _parquet(self.path)
            options = {"row_groups": [self.number], "columns": list(columns), "use_threads": False}
            yield from file.iter_batches(rows, **options)


def _parquet(path: str) -> Any:
    import pyarrow.parquet as parquet  # slow to load

    return parquet.ParquetFile(path, memory_map=True, pre_buffer=False)


@contextmanager
def _plainly(path: str) -> Iterator[None]:
    """Name the file that cannot be read."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
        raise InputError(
            f"{path!r} cannot be read as Parquet: {reason}. Check that the file is whole, or write it again."
        ) from error


def row_groups(paths: Sequence[str]) -> tuple[dict[str, Any], tuple[RowGroup, ...]]:
    """The types of the columns, and the row groups of all files; refuses files that differ in their columns."""
    types: dict[str, Any] = {}
    pieces, start = list[RowGroup](), 0
    for path in paths:
        with _plainly(path):
            file = _parquet(path)
            found = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            counts = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        types = types or found
        _refuse_other_columns(path, found, paths[0], types)
        for number, n_rows in enumerate(counts):
            if n_rows:
                pieces.append(RowGroup(path, n_rows, start, number))
                start += n_rows
    return types, tuple(pieces)


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
