"""Where a table comes from: a file, standard input or a frame, and how its rows are read, whole or in batches.

Parquet, Arrow, SVMlight and frames are read here; delimited text, records (workbooks, JSON, SQLite) and DuckDB have
modules of their own.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..data.checks import check_integer
from ..data.rows import as_frame
from ..errors import ColumnError, InputError, ParameterError, Part, Setting
from ..results import Finding, quoted, suggestion
from .input_file import FORMATS, InputFile, open_source

if TYPE_CHECKING:
    from .dialect import Dialect, DialectOptions

Array = np.ndarray[Any, Any]

#: An arrow memory pool that takes pages of the usual size.
small_pages = pa.system_memory_pool()
#: Smaller matrices get their memory from NumPy.
_LARGE_BYTES = 1 << 26


def empty_matrix(n_rows: int, n_columns: int) -> Array:
    """A matrix of float64 in C order whose values are to be written."""
    n_bytes = 8 * n_rows * n_columns
    if n_bytes < _LARGE_BYTES:
        return np.empty((n_rows, n_columns))
    memory = pa.allocate_buffer(n_bytes, memory_pool=small_pages)
    return np.frombuffer(memory, dtype=np.float64).reshape(n_rows, n_columns)


#: What a column can be declared to be.
DECLARED_KINDS = ("number", "category", "boolean", "date", "date-dmy", "date-mdy")
_PARQUET_ROWS = 65536


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of a table are wanted, and what is said about them: the class column, and what others are."""

    target: str | None = None
    columns: Sequence[str] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.columns is not None and (isinstance(self.columns, str) or not isinstance(self.columns, Iterable)):
            raise ParameterError(Setting("columns"), f" must be a list of column names, got {self.columns!r}.")
        check_types(self.types)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that were named, with the target."""
        return (*(self.columns or ()), *([] if self.target is None else [self.target]))


def check_types(types: Any) -> None:
    """Refuse what does not say what columns are."""
    if not isinstance(types, Mapping):
        raise ParameterError(
            Setting("types"), f" must say what columns are, such as {{'zip': 'category'}}, got {types!r}."
        )
    for name, kind in types.items():
        if kind not in DECLARED_KINDS:
            raise ParameterError(
                Setting("types"), f": column {name!r} can be one of {', '.join(DECLARED_KINDS)}, got {kind!r}."
            )


class TableReader(ABC):
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
    stored_as_text : frozenset of str
        Columns whose values are all stored as text where numbers could be stored as such.
    unusable : dict
        Columns whose values are no single values, and what they are.
    """

    dialect: Dialect | None = None
    n_rows: int | None = None
    stored_as_text: frozenset[str] = frozenset()
    unusable: Mapping[str, str] = {}

    def __init__(
        self, label: str, names: Sequence[str], columns: ColumnOptions, source: InputFile | None = None
    ) -> None:
        self.label = label
        self.source = source
        self.columns = tuple(names)
        refuse_same_names(names, label)
        for name in (*columns.wanted, *columns.types):
            self.known(name)
        self.target = columns.target
        self.types = dict(columns.types)
        if columns.columns is not None:
            self.columns = tuple(name for name in names if name in columns.wanted)

    @property
    def skipped(self) -> int:
        """Ragged rows left out while reading."""
        return 0

    @property
    def read_as(self) -> str:
        """How the table is written, in words."""
        return "a frame" if self.source is None else FORMATS[self.source.format][0]

    @property
    def findings(self) -> list[Finding]:
        """What is worth knowing about the file that was opened."""
        return [] if self.source is None else self.source.findings

    def known(self, name: str, what: str = "column") -> str:
        """The name itself, or a `ColumnError` with those that come near."""
        if name not in self.columns:
            raise ColumnError(
                f"{self.label} has no {what} {name!r}.{suggestion(str(name), self.columns)} "
                f"Columns: {quoted(self.columns, 20)}."
            )
        return name

    def read(self) -> Any:
        """All rows as a pyarrow table; text of text files is as written, also where it stands for missing."""
        data = self._read()
        self._count(data.num_rows)
        return data

    def batches(self, rows: int = 65536) -> Iterator[Any]:
        """The rows as pyarrow tables of ``rows`` rows each, the last one shorter, in constant memory."""
        check_integer("rows", rows, 1)
        count = 0
        for batch in self._cut(self._stream(), rows):
            count += batch.num_rows
            yield batch
        self._count(count)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the file, or of the columns of a frame."""
        assert self.source is not None
        return self.source.sha256()

    @abstractmethod
    def _read(self) -> Any:
        """All rows as a pyarrow table."""

    def _stream(self) -> Iterator[Any]:
        """The rows as pyarrow tables or record batches of any size."""
        yield self._read()

    def _cut(self, parts: Iterator[Any], rows: int) -> Iterator[Any]:
        """The same rows in tables of ``rows`` rows; where the types change on the way, a shorter one ends before."""
        rest: Any = None
        for part in parts:
            table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
            if rest is not None and rest.schema != table.schema:
                yield rest
                rest = None
            whole = table if rest is None else pa.concat_tables([rest, table])
            full = whole.num_rows - whole.num_rows % rows
            yield from (whole.slice(start, rows) for start in range(0, full, rows))
            rest = whole.slice(full) if full < whole.num_rows else None
        if rest is not None:
            yield rest

    def _count(self, n_rows: int) -> None:
        """Remember the number of rows, once all are read."""
        self.n_rows = n_rows
        if not n_rows:
            raise InputError(*self._why_empty())

    def _why_empty(self) -> tuple[Part, ...]:
        return (f"{self.label} has columns but no rows. Give at least one row.",)


class ParquetReader(TableReader):
    """A Parquet file."""

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        import pyarrow.parquet as parquet

        self._reading = partial(source.plainly, "read as Parquet")
        with self._reading():
            self._file = parquet.ParquetFile(str(source.path), memory_map=True)
            names = self._file.schema_arrow.names
        super().__init__(source.label, names, columns, source)
        self.n_rows = self._file.metadata.num_rows

    def _read(self) -> Any:
        with self._reading():
            return self._file.read(columns=list(self.columns))

    def _stream(self) -> Iterator[Any]:
        with self._reading():
            yield from self._file.iter_batches(batch_size=_PARQUET_ROWS, columns=list(self.columns))


class ArrowReader(TableReader):
    """An Arrow (IPC) or Feather file, or an Arrow stream."""

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        self._reading = partial(source.plainly, "read as Arrow")
        self._path = str(source.path)
        with self._reading():
            names = self._open().schema.names
        super().__init__(source.label, names, columns, source)

    def _open(self) -> Any:
        file = pa.memory_map(self._path)
        streamed = file.read(4) == b"\xff\xff\xff\xff"
        file.seek(0)
        return pa.ipc.open_stream(file) if streamed else pa.ipc.open_file(file)

    def _read(self) -> Any:
        with self._reading():
            data = self._open().read_all().select(list(self.columns))
            data.validate()
            return data

    def _stream(self) -> Iterator[Any]:
        with self._reading():
            reader = self._open()
            count = getattr(reader, "num_record_batches", None)
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                batch.validate()
                yield batch.select(list(self.columns))


class FrameReader(TableReader):
    """A frame that is in memory already."""

    def __init__(self, data: Any, columns: ColumnOptions) -> None:
        super().__init__("<frame>", data.column_names, columns)
        self._data = data.select(list(self.columns))
        self.n_rows = data.num_rows

    def _read(self) -> Any:
        return self._data

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the columns as Arrow writes them."""
        sink = _HashSink()
        with pa.PythonFile(sink, "w") as file, pa.ipc.new_stream(file, self._data.schema) as writer:
            writer.write_table(self._data)
        return sink.digest.hexdigest()


class _HashSink(io.RawIOBase):
    """A file that only remembers the hash of what is written to it."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)


def is_text(kind: Any) -> bool:
    """Whether an arrow type is text, as it is or by codes."""
    plain = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(plain or pa.types.is_dictionary(kind))


def as_arrow(frame: Any) -> Any:
    """A narwhals frame as a pyarrow table, column by column where nothing has to be copied."""
    try:
        data = frame.to_arrow()
    except OverflowError as error:
        raise ColumnError(
            f"A column of the frame holds whole numbers of more than 64 bits ({error}). Make it text."
        ) from error
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise ColumnError(
            f"A column of the frame mixes types: {error.args[-1] if error.args else error}. Make it one type: numbers, "
            "text, or true and false."
        ) from error
    names = [str(name) for name in frame.columns]  # pandas appends its index
    return data.select(list(range(len(names)))).rename_columns(names).replace_schema_metadata(None)


def refuse_same_names(names: Sequence[str], label: str) -> None:
    """Raise a `ColumnError` if two columns have one name."""
    again = [name for name, count in Counter(names).items() if count > 1]
    if again:
        raise ColumnError(
            f"{label} has several columns of the same name: {quoted(again)}. Rename them, so that each can be told."
        )


_LINE = re.compile(rb"\s*[-+\w.,]+(\s+qid:\d+)?(\s+\d+:[-+\w.]+)+\s*(#.*)?")
_PART_BYTES = 1 << 24
#: A column number above this is a mistake, and would ask for as many coefficients.
_MOST_COLUMNS = 100_000_000


@dataclass(frozen=True)
class SparseBatch:
    """Rows of numbers in a CSR matrix, and their labels."""

    X: Any
    y: Array

    @property
    def num_rows(self) -> int:
        return int(self.X.shape[0])

    def slice(self, start: int, rows: int) -> SparseBatch:
        return SparseBatch(self.X[start : start + rows], self.y[start : start + rows])

    def filter(self, wanted: Array) -> SparseBatch:
        return SparseBatch(self.X[wanted], self.y[wanted])


def looks_like_svmlight(sample: bytes) -> bool:
    """Whether the first lines are labels with ``column:value`` pairs."""
    lines = [line for line in sample[: 1 << 16].splitlines()[:6] if line.strip() and not line.startswith(b"#")]
    if len(lines) > 1:
        del lines[-1]  # it may be cut
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


class SvmlightReader(TableReader):
    """An SVMlight file; its columns are numbered, and its labels are the target."""

    source: InputFile

    def __init__(self, source: InputFile, columns: ColumnOptions) -> None:
        if columns.columns is not None or columns.types:
            raise ParameterError("SVMlight columns have numbers, not names: columns= and types= do not apply.")
        if columns.target is not None:
            raise ColumnError(
                f"{source.label} is SVMlight text, whose labels stand first in each line: leave the target out, got "
                f"{columns.target!r}."
            )
        super().__init__(source.label, (), columns, source)

    def _read(self) -> SparseBatch:
        """All rows as a CSR matrix with labels; the width is that of the highest column number."""
        parts = list(self._stream()) or [SparseBatch(sp.csr_matrix((0, 0)), np.empty(0))]
        width = max(part.X.shape[1] for part in parts)
        for part in parts:
            part.X.resize(part.num_rows, width)
        return SparseBatch(sp.vstack([part.X for part in parts], "csr"), np.concatenate([part.y for part in parts]))

    def _cut(self, parts: Iterator[SparseBatch], rows: int) -> Iterator[SparseBatch]:
        """At most ``rows`` rows at a time, each part as wide as its highest column number."""
        for part in parts:
            yield from (part.slice(start, rows) for start in range(0, part.num_rows, rows))

    def _stream(self) -> Iterator[SparseBatch]:
        with self.source.plainly("read as SVMlight"), self.source.open() as stream:
            rest, line = b"", 1
            # A line end more, as the last line may have none.
            for part in chain(iter(lambda: stream.read(_PART_BYTES), b""), [b"\n"]):
                whole, end, rest = (rest + part).rpartition(b"\n")
                if whole.strip():
                    yield _parsed(whole + end, line, self.label)
                line += whole.count(b"\n") + len(end)

    def _why_empty(self) -> tuple[Part, ...]:
        return (f"{self.label} has no rows. Give at least one line with a label and column:value pairs.",)


def _parsed(text: bytes, line: int, label: str) -> SparseBatch:
    """The rows of some lines; a column's place is its number, whether the file counts from 0 or from 1."""
    from sklearn.datasets import load_svmlight_file

    def load(text: bytes) -> Any:
        try:
            return load_svmlight_file(io.BytesIO(text), zero_based=True)
        except (ValueError, OverflowError, TypeError, IndexError) as error:
            return error

    loaded = load(text)
    if isinstance(loaded, Exception):
        lines = text.splitlines()
        bad = bisect_left(range(1, len(lines)), True, key=lambda n: isinstance(load(b"\n".join(lines[:n])), Exception))
        raise InputError(
            f"Line {line + bad:,} of {label} is not SVMlight: {lines[bad][:60].decode('latin-1')!r}. Expected a label "
            f"and then column:value pairs with rising column numbers, such as '1 3:0.5 7:2' ({loaded})."
        ) from loaded
    X, y = loaded
    if X.shape[1] > _MOST_COLUMNS:
        raise InputError(f"{label} has column number {X.shape[1] - 1:,}; at most {_MOST_COLUMNS:,} are read.")
    return SparseBatch(X, y)


def open_table(
    source: Any,
    target: str | None = None,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    missing_codes: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    on_ragged: str = "refuse",
) -> TableReader:
    """The table of a file, of standard input or of a frame, ready to be read whole or in batches.

    Parameters
    ----------
    source : path, "-", binary stream or frame
        A file: delimited text, JSON, a workbook (Excel or OpenDocument), Parquet, Arrow or Feather, an SQLite or DuckDB
        database, SVMlight; also compressed by gzip, bzip2 or zstd. The content tells which. ``"-"`` is standard input;
        a pipe is read to its end first. A pandas, polars or pyarrow frame is taken as it is.
    target : str, optional
        The column of classes.
    table : str, optional
        Which table of a file that holds several: the sheet of a workbook (by default the first that is not empty), the
        table or view of a database (by default the only one), or an SQL query that begins with SELECT or WITH.
    delimiter, encoding, header, quote, decimal, missing_codes : optional
        How the text is written. What is not given is found out from its first megabyte, see ``table.dialect``.
        ``missing_codes`` lists what stands for a missing value, instead of NA, ``?`` and the like. They apply to text
        only; ``header`` also to workbooks, ``encoding`` also to JSON, ``missing_codes`` to all three and to SQLite.
    columns : list of str, optional
        Read only these, and the target.
    types : dict, optional
        What columns are, where it should not be found out, see `read_training`.
    on_ragged : {"refuse", "skip"}, default="refuse"
        What to do with lines that have another number of values: an error, or leave them out and count them.

    Returns
    -------
    TableReader
        With ``read()``, ``batches(rows)``, ``columns``, ``dialect`` and ``fingerprint``.

    See Also
    --------
    read_training : Opens a table and codes its rows as numbers.

    Examples
    --------
    >>> import io
    >>> from discriminant.tables import open_table
    >>> table = open_table(io.BytesIO(b"dose;group\\n0,5;a\\n1,25;b\\n"))
    >>> table.columns
    ('dose', 'group')
    >>> table.read()["dose"].to_pylist()
    [0.5, 1.25]
    """
    from .dialect import DialectOptions

    dialect = DialectOptions(delimiter, encoding, header, quote, decimal, missing_codes)
    wanted = ColumnOptions(target, columns, {} if types is None else types)
    frame = None if isinstance(source, (str, bytes, os.PathLike)) else as_frame(source)
    if frame is not None:
        dialect.refuse_for("a frame")
        _refuse_table(table, "a frame")
        return FrameReader(as_arrow(frame), wanted)
    if not isinstance(source, (str, os.PathLike, InputFile)) and not hasattr(source, "read"):
        raise InputError(
            f"A table is read from a file, standard input ('-') or a frame, got {type(source).__name__}. Make it a "
            "pandas, polars or pyarrow frame first."
        )
    return _file_table(open_source(source), table, dialect, wanted, on_ragged)


def _file_table(
    file: InputFile, table: str | None, dialect: DialectOptions, columns: ColumnOptions, on_ragged: str
) -> TableReader:
    """The table of a file, by its format."""
    if file.format not in ("workbook", "sqlite", "duckdb"):
        _refuse_table(table, FORMATS[file.format][0])
    if file.format in ("parquet", "arrow"):
        dialect.refuse_for(FORMATS[file.format][0])
        return ParquetReader(file, columns) if file.format == "parquet" else ArrowReader(file, columns)
    if file.format == "duckdb":
        from .databases import DuckDBReader

        dialect.refuse_for(FORMATS[file.format][0])
        return DuckDBReader(file, columns, table)
    if file.format in ("workbook", "sqlite", "json") and not (file.format == "json" and dialect.asks_for_text):
        from .records import open_records

        return open_records(file, table, dialect, columns)
    return _text_table(file, dialect, columns, on_ragged)


def _text_table(file: InputFile, dialect: DialectOptions, columns: ColumnOptions, on_ragged: str) -> TableReader:
    from .delimited import DelimitedReader  # they are made of what stands here
    from .dialect import find_dialect

    sample, whole = file.sample()
    known_ending = file.path.suffix.lower() in (".csv", ".tsv", ".tab")
    if file.format == "svmlight" or (not (known_ending or dialect.given) and looks_like_svmlight(sample)):
        dialect.refuse_for("SVMlight")
        return SvmlightReader(file, columns)
    found = find_dialect(sample, whole, dialect, known={*columns.wanted, *columns.types}, label=file.label)
    return DelimitedReader(file, found, columns, on_ragged, fixed=dialect.encoding is not None)


def _refuse_table(table: str | None, what: str) -> None:
    if table is not None:
        raise ParameterError(
            Setting("table"),
            f" names a sheet of a workbook or a table of a database, but this is {what}. Leave it out.",
        )
