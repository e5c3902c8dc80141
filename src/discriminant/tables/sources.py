"""Where a table comes from: a file, standard input or a frame, and how its rows are read, whole or in batches.

The format of a file is told by its first bytes. Parquet, Arrow and frames are read here; text has modules of its own.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..data.checks import check_integer
from ..data.rows import as_frame
from ..errors import ColumnError, DiscriminantError, InputError, ParameterError, Part, Setting
from ..results import quoted, suggestion

if TYPE_CHECKING:
    from .dialect import Dialect

Array = np.ndarray[Any, Any]

#: The dialect is found in this much of the text,
_SAMPLE_BYTES = 1 << 20
#: or, where a line is longer, in this much.
_MOST_SAMPLE_BYTES = 1 << 24

_BY_CONTENT = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bz2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "an Excel workbook or ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
    (b"FEA1", "a Feather file of version 1"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x89PNG", "an image"),
)
COMPRESSIONS = ("gzip", "bz2", "zstd")
_READABLE = ("parquet", "arrow", *COMPRESSIONS)

_ENDINGS = {
    "text": (".csv", ".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".arrows", ".feather", ".ipc"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "gzip": (".gz",),
    "bz2": (".bz2",),
    "zstd": (".zst", ".zstd"),
}
_BY_ENDING = {ending: name for name, endings in _ENDINGS.items() for ending in endings}


class InputFile:
    """Bytes that can be read again and again, and how messages call them."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        with self.plainly("opened"), open(path, "rb") as file:
            self._head = file.read(64)
        if not self._head:
            raise InputError(f"{label} is empty: 0 bytes. Give a table with a header and rows.")
        self.found = next((name for magic, name in _BY_CONTENT if self._head.startswith(magic)), None)
        self.compression = self.found if self.found in COMPRESSIONS else None
        self.format = self._agreed_format()

    def open(self) -> Any:
        """The bytes, decompressed, as a stream that pyarrow reads without Python in between."""
        return pa.input_stream(str(self.path), compression=self.compression)

    def sample(self) -> tuple[bytes, bool]:
        """The first bytes, decompressed, and whether they are all there are."""
        with self.plainly("read"), self.open() as stream:
            sample = stream.read(_SAMPLE_BYTES)
            while len(sample) < _MOST_SAMPLE_BYTES and b"\n" not in sample and b"\r" not in sample:
                more = stream.read(_SAMPLE_BYTES)
                if not more:
                    return sample, True
                sample += more
            return sample, not stream.read(1)

    def sha256(self) -> str:
        with self.plainly("read"), open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def plainly(self, done: str) -> Iterator[None]:
        """Turn whatever goes wrong inside into an `InputError` about this source."""
        try:
            yield
        except DiscriminantError:
            raise
        except PermissionError as error:
            raise InputError(f"{self.label} cannot be read: no permission. Check who may read the file.") from error
        except (OSError, ValueError, TypeError, KeyError, LookupError, EOFError, OverflowError, MemoryError) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(
                f"{self.label} cannot be {done}: {reason[0][:300]}. Check that the file is whole and of the format its "
                "name says."
            ) from error

    def _agreed_format(self) -> str:
        """The format that the name and the content agree on."""
        if self.found is not None and self.found not in _READABLE:
            raise InputError(
                f"{self.label} is {self.found}, which is not read here. Save the table as CSV or Parquet first."
            )
        ending = _BY_ENDING.get(self.path.suffix.lower())
        promised = None if ending in ("text", "svmlight") else ending
        if ending is not None and promised != self.found:
            raise InputError(
                f"{self.label} is not what its name says: the name ends in {self.path.suffix}, the content "
                f"{'is ' + self.found if self.found else 'looks like text'}. Rename the file by its content."
            )
        if self.compression:
            return _BY_ENDING.get(Path(self.path.stem).suffix.lower(), "text")
        return self.found or ending or "text"


def open_source(source: Any) -> InputFile:
    """The file of this name, standard input for ``-``, or what a binary stream holds."""
    if hasattr(source, "read"):
        return _spooled(source, "<stream>")
    if str(source) == "-":
        return _spooled(sys.stdin.buffer, "<standard input>")
    path = Path(source).expanduser()
    try:
        directory, there = path.is_dir(), path.exists()
        folder = path.parent if path.parent.is_dir() else Path()
        near = "" if there else suggestion(path.name, (entry.name for entry in folder.iterdir()))
    except (ValueError, OSError) as error:
        raise InputError(f"{str(path)!r} cannot be the name of a file: {error}.") from error
    if directory:
        raise InputError(f"{path} is a directory, not a file. Give the file of the table.")
    if not there:
        raise InputError(f"{path} does not exist.{near}")
    return InputFile(path, str(path))


def _spooled(stream: Any, label: str) -> InputFile:
    """A stream can be read once only, and a table may have to be read again: it goes through a temporary file."""
    handle, name = tempfile.mkstemp(prefix="discriminant-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        source = InputFile(Path(name), label)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, (TypeError, OSError)):
            raise InputError(f"{label} cannot be read: {error}. Give a stream of bytes.") from error
        raise
    weakref.finalize(source, os.unlink, name)
    return source


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
DECLARED_KINDS = ("number", "category", "boolean")
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
    """

    dialect: Dialect | None = None
    n_rows: int | None = None

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
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    on_ragged: str = "refuse",
) -> TableReader:
    """The table of a file, of standard input or of a frame, ready to be read whole or in batches.

    Parameters
    ----------
    source : path, "-", binary stream or frame
        A file: delimited text (also compressed by gzip, bzip2 or zstd), Parquet, Arrow or Feather, SVMlight. ``"-"`` is
        standard input. A pandas, polars or pyarrow frame is taken as it is.
    target : str, optional
        The column of classes.
    delimiter, encoding, header, quote, decimal, missing : optional
        How the text is written. What is not given is found out from its first megabyte, see ``table.dialect``.
        ``missing`` lists what stands for a missing value. They apply to text only.
    columns : list of str, optional
        Read only these, and the target.
    types : dict, optional
        What columns are, where it should not be found out: ``"number"``, ``"category"`` or ``"boolean"``.
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
    from .delimited import DelimitedReader  # they are made of what stands here
    from .dialect import DialectOptions, find_dialect

    dialect = DialectOptions(delimiter, encoding, header, quote, decimal, missing)
    wanted = ColumnOptions(target, columns, {} if types is None else types)
    frame = None if isinstance(source, (str, bytes, os.PathLike)) else as_frame(source)
    if frame is not None:
        dialect.refuse_for("a frame")
        return FrameReader(as_arrow(frame), wanted)
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "read"):
        raise InputError(
            f"A table is read from a file, standard input ('-') or a frame, got {type(source).__name__}. Make it a "
            "pandas, polars or pyarrow frame first."
        )
    file = open_source(source)
    if file.format in ("parquet", "arrow"):
        dialect.refuse_for(file.format)
        return ParquetReader(file, wanted) if file.format == "parquet" else ArrowReader(file, wanted)
    sample, whole = file.sample()
    known_ending = file.path.suffix.lower() in (".csv", ".tsv", ".tab")
    if file.format == "svmlight" or (not (known_ending or dialect.given) and looks_like_svmlight(sample)):
        dialect.refuse_for("SVMlight")
        return SvmlightReader(file, wanted)
    found = find_dialect(sample, whole, dialect, known={*wanted.wanted, *wanted.types}, label=file.label)
    return DelimitedReader(file, found, wanted, on_ragged, fixed=dialect.encoding is not None)
