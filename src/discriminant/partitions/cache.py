"""Decoded cache: tables that can only be read from the beginning, decoded once to Parquet on local disk.

Text, JSON, workbooks, databases (`tables.open_table`), SVMlight and Arrow streams (DuckDB relations, database cursors,
frames) take longer to parse than to compute with, and a fit reads its rows several times. They are written to a
temporary folder. It is deleted with the last reference to the dataset, when the process exits, on a signal, and if
decoding fails; a folder left by a killed process is removed the next time (`working_folder`).

If the types of a column differ within a text or between texts, these are decoded again with the column as text, like a
table in memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from ..errors import InputError, ParameterError, Setting
from ..files import working_folder
from ..results import Finding
from ..tables import open_table
from ..tables.labels import whole_labels
from ..tables.layouts import kind_of
from ..tables.readers import TableReader
from ..tables.svmlight import SvmlightReader
from .coding import SourceFormat
from .fragments import SPARSE_COLUMNS, DataFile

#: Rows of a decoded row group.
ROW_GROUP_ROWS: Final = 1 << 16


class ArrowStream(Protocol):
    """An object with Arrow data: a relation, a cursor, a frame."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The stream as a capsule."""


#: A file to decode, an open file that needs no decoding, or a stream.
Source: TypeAlias = "str | os.PathLike[str] | DataFile | ArrowStream"


class Decoded:
    """Tables and streams decoded to Parquet in a temporary folder, which is deleted with this object.

    ``files`` are the decoded files, in order.
    """

    def __init__(self, sources: Sequence[Source], reading: Mapping[str, Any] | None = None) -> None:
        self._reading, self._findings = dict(reading or {}), list[Finding]()
        self._codes: tuple[str, ...] = ()
        self._decimal = "."
        #: For SVMlight: the lowest and the highest column, and the numbers of rows and values.
        self.columns, self.n_rows, self.n_values = (np.inf, -1), 0, 0
        with ExitStack() as stack:
            self.folder = stack.enter_context(working_folder(Path(tempfile.gettempdir())))
            parts = {number: self._decoded(source, number, {}) for number, source in enumerate(sources)}
            for number, types in _as_text(parts).items():
                if not isinstance(sources[number], DataFile):
                    for file in parts[number]:
                        os.remove(file.path)
                    parts[number] = self._decoded(sources[number], number, types)
            self.files = [file for number in parts for file in parts[number]]
            weakref.finalize(self, stack.pop_all().close)

    def format(self, label: str) -> SourceFormat:
        """The format of the texts."""
        codes, row_bytes = tuple(self._codes), 16 * -(-self.n_values // max(self.n_rows, 1))
        return SourceFormat(label, codes, self._decimal, tuple(self._findings), row_bytes)

    def _decoded(self, source: Source, number: int, types: Mapping[str, str]) -> list[DataFile]:
        """The decoded files of one source."""
        if isinstance(source, DataFile):
            return [source]
        label, batches = self._opened(source, types)
        paths, writer, last = list[str](), None, None
        try:
            for batch in batches:
                if writer is None or batch.schema != last:
                    if writer is not None:
                        writer.close()
                    paths.append(str(self.folder / f"{number:06}-{len(paths):04}.parquet"))
                    writer, last = _writer(paths[-1], batch.schema), batch.schema
                writer.write_table(batch, row_group_size=ROW_GROUP_ROWS)
            if writer is not None:
                writer.close()
        except OSError as error:
            with suppress(Exception):
                writer.close()  # type: ignore[union-attr]
            raise InputError(
                f"{label} cannot be decoded to {str(self.folder)!r}: {error.strerror or error}. Free some space, "
                "or set TMPDIR to another folder."
            ) from error
        except BaseException:
            with suppress(Exception):
                writer.close()  # type: ignore[union-attr]
            raise
        return [DataFile.open(path, label) for path in paths]

    def _opened(self, source: Source, types: Mapping[str, str]) -> tuple[str, Iterable[pa.Table]]:
        """The name of a source in messages, and its rows in batches."""
        if not isinstance(source, (str, os.PathLike)):
            return "<stream>", _batches(source)
        table = open_table(source, **self._reading | {"types": {**self._reading.get("types", {}), **types} or None})
        if isinstance(table, SvmlightReader):
            return table.label, self._sparse_batches(table)
        return table.label, self._table_batches(table)

    def _table_batches(self, table: TableReader) -> Iterator[pa.Table]:
        yield from table.batches(ROW_GROUP_ROWS)
        if table.missing_codes and not self._codes:
            self._codes, self._decimal = table.missing_codes, table.decimal
        self._findings += [finding for finding in table.findings if finding not in self._findings]

    def _sparse_batches(self, table: SvmlightReader) -> Iterator[pa.Table]:
        """The rows of SVMlight as lists of columns and values."""
        for batch in table.batches(ROW_GROUP_ROWS):
            X = batch.X.tocsr()
            if X.nnz:
                lowest, highest = self.columns
                self.columns = min(lowest, int(X.indices.min())), max(highest, int(X.indices.max()))
            self.n_rows, self.n_values = self.n_rows + X.shape[0], self.n_values + X.nnz
            offsets = pa.array(X.indptr.astype(np.int32))
            lists = (pa.ListArray.from_arrays(offsets, pa.array(own)) for own in (X.indices.astype(np.int32), X.data))
            yield pa.table(dict(zip(SPARSE_COLUMNS, (pa.array(whole_labels(batch.y)), *lists), strict=True)))


def _writer(path: str, schema: pa.Schema) -> pa.parquet.ParquetWriter:
    import pyarrow.parquet as parquet  # slow to load

    try:
        return parquet.ParquetWriter(path, schema, compression="none")
    except pa.ArrowException as error:
        raise InputError(f"A column cannot be decoded to Parquet: {error}. Drop the column of this type.") from error


def is_stream(source: object) -> bool:
    """Whether this is an object with a stream of Arrow data: a relation, a cursor, a frame."""
    names = ("__arrow_c_stream__", "fetch_record_batch", "fetch_arrow_reader")
    return not isinstance(source, (str, bytes, os.PathLike)) and any(hasattr(source, name) for name in names)


def _batches(source: ArrowStream | DataFile) -> Iterator[pa.Table]:
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
    else:
        name = "fetch_record_batch" if hasattr(source, "fetch_record_batch") else "fetch_arrow_reader"
        reader = getattr(source, name)()
    try:
        for batch in reader:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise InputError(f"The stream of rows failed: {str(error).splitlines()[0]}. Check the query.") from error


def _as_text(parts: Mapping[int, Sequence[DataFile]]) -> dict[int, dict[str, str]]:
    """The columns of each source that have to be read as text, because their type differs elsewhere."""
    kinds: dict[str, set[str]] = {}
    for file in (file for files in parts.values() for file in files):
        for name, kind in file.types.items():
            kinds.setdefault(name, set()).add(kind_of(kind))
    mixed = {name for name, found in kinds.items() if len(found - {"null"}) > 1 and "text" in found}
    again = dict[int, dict[str, str]]()
    for number, files in parts.items():
        own = {name for file in files for name, kind in file.types.items() if kind_of(kind) not in ("text", "null")}
        if own & mixed and all(file.label != file.path for file in files):
            again[number] = dict.fromkeys(sorted(own & mixed), "category")
    return again


def check_reading(reading: Mapping[str, Any] | None) -> None:
    """Raise a `ParameterError` for options that `open_table` does not have."""
    known = ("table", "delimiter", "encoding", "header", "quote", "decimal", "missing_codes", "types")
    for name in reading or ():
        if name not in known:
            raise ParameterError(
                Setting("reading"), f" must have options of open_table, {', '.join(known)}, got {name!r}."
            )
