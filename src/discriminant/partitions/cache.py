"""Tables that can be read from their beginning only, decoded once to Parquet on local disk, while somebody reads them.

Text, JSON, workbooks and databases (`tables.open_table`), SVMlight, and streams of Arrow (relations of DuckDB, cursors
of databases, frames) take longer to parse than to compute with, and a fit reads its rows several times. They are
written to a folder of our own among the temporary files, which vanishes with the last that reads it, at the end of the
process, at a signal, and when decoding fails; what a killed process left is removed by the next (`working_folder`).

Where the types of a column contradict each other, within a text or from one text to the next, the texts are decoded
again with that column as text, as a table in memory would be.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError, ParameterError, Setting
from ..files import working_folder
from ..results import Finding
from ..tables import open_table
from ..tables.schema import whole_labels
from ..tables.sources import SvmlightReader, TableReader
from .coding import Written
from .pieces import LISTED, Opened, kind_of

#: Rows of a row group of what is decoded.
_ROWS = 1 << 16


class Decoded:
    """Tables and streams, decoded to Parquet in a temporary folder while this object lives.

    ``files`` are what was written, in order; ``written`` is how the texts among them are.
    """

    def __init__(self, sources: Sequence[Any], reading: Mapping[str, Any] | None = None) -> None:
        self._reading, self._findings, self._skipped = dict(reading or {}), list[Finding](), 0
        self._codes: tuple[str, ...] = ()
        self._decimal = "."
        #: Of SVMlight: the lowest and the highest column, rows, and values.
        self.columns, self.n_rows, self.n_values = (np.inf, -1), 0, 0
        with ExitStack() as stack:
            self.folder = stack.enter_context(working_folder(Path(tempfile.gettempdir())))
            parts = {number: self._decoded(source, number, {}) for number, source in enumerate(sources)}
            for number, types in _as_text(parts).items():
                if not isinstance(sources[number], Opened):
                    for file in parts[number]:
                        os.remove(file.path)
                    parts[number] = self._decoded(sources[number], number, types)
            self.files = [file for number in parts for file in parts[number]]
            weakref.finalize(self, stack.pop_all().close)

    def written(self, label: str) -> Written:
        """How the texts are written."""
        codes, row_bytes = tuple(self._codes), 16 * -(-self.n_values // max(self.n_rows, 1))
        return Written(label, codes, self._decimal, tuple(self._findings), self._skipped, row_bytes)

    def _decoded(self, source: Any, number: int, types: Mapping[str, str]) -> list[Opened]:
        """The files of one source; what can be read where it stands stays there."""
        if isinstance(source, Opened):
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
                writer.write_table(batch, row_group_size=_ROWS)
            if writer is not None:
                writer.close()
        except OSError as error:
            with suppress(Exception):
                writer.close()  # type: ignore[union-attr]
            raise InputError(
                f"{label} cannot be decoded to {str(self.folder)!r}: {error.strerror or error}. Make room, or set "
                "TMPDIR to a folder that has more."
            ) from error
        except BaseException:
            with suppress(Exception):
                writer.close()  # type: ignore[union-attr]
            raise
        return [Opened.of(path, label) for path in paths]

    def _opened(self, source: Any, types: Mapping[str, str]) -> tuple[str, Iterable[Any]]:
        """How messages call a source, and its rows in batches."""
        if not isinstance(source, (str, os.PathLike)):
            return "<stream>", _streamed(source)
        table = open_table(source, **self._reading | {"types": {**self._reading.get("types", {}), **types} or None})
        if isinstance(table, SvmlightReader):
            return table.label, self._listed(table)
        return table.label, self._noted(table)

    def _noted(self, table: TableReader) -> Iterator[Any]:
        yield from table.batches(_ROWS)
        if table.dialect is not None and not self._codes:
            self._codes, self._decimal = tuple(table.dialect.missing), table.dialect.decimal
        self._findings += [finding for finding in table.findings if finding not in self._findings]
        self._skipped += table.skipped

    def _listed(self, table: SvmlightReader) -> Iterator[Any]:
        """The rows of SVMlight as lists of columns and values."""
        for batch in table.batches(_ROWS):
            X = batch.X.tocsr()
            if X.nnz:
                lowest, highest = self.columns
                self.columns = min(lowest, int(X.indices.min())), max(highest, int(X.indices.max()))
            self.n_rows, self.n_values = self.n_rows + X.shape[0], self.n_values + X.nnz
            offsets = pa.array(X.indptr.astype(np.int32))
            lists = (pa.ListArray.from_arrays(offsets, pa.array(own)) for own in (X.indices.astype(np.int32), X.data))
            yield pa.table(dict(zip(LISTED, (pa.array(whole_labels(batch.y)), *lists), strict=True)))


def _writer(path: str, schema: Any) -> Any:
    import pyarrow.parquet as parquet  # slow to load

    try:
        return parquet.ParquetWriter(path, schema, compression="none")
    except pa.ArrowException as error:
        raise InputError(f"The rows cannot be kept on disk: {error}. Leave out the column of that type.") from error


def is_stream(source: Any) -> bool:
    """Whether this is something whose rows come as a stream of Arrow: a relation, a cursor, a frame."""
    names = ("__arrow_c_stream__", "fetch_record_batch", "fetch_arrow_reader")
    return not isinstance(source, (str, bytes, os.PathLike)) and any(hasattr(source, name) for name in names)


def _streamed(source: Any) -> Iterator[Any]:
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
    else:
        reader = getattr(source, "fetch_record_batch", None) or source.fetch_arrow_reader
        reader = reader()
    try:
        for batch in reader:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise InputError(f"The stream of rows broke off: {str(error).splitlines()[0]}. Check the query.") from error


def _as_text(parts: Mapping[int, Sequence[Opened]]) -> dict[int, dict[str, str]]:
    """The columns of each source that have to be read as text, since they are not of one kind throughout."""
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
    """Refuse options of reading that `open_table` does not have."""
    known = ("table", "delimiter", "encoding", "header", "quote", "decimal", "missing_codes", "types", "on_ragged")
    for name in reading or ():
        if name not in known:
            raise ParameterError(Setting("reading"), f" has options of open_table, {', '.join(known)}; got {name!r}.")
