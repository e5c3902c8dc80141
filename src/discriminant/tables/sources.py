"""Where a table comes from: a file, standard input or a frame, and how its rows are read, whole or in batches.

What a file is, is told by its content, whatever its name says. What can be read once only (standard input, a pipe, a
stream) or is packed goes through a temporary file, so that its bytes can be read again and again.

Parquet, Arrow, SVMlight and frames are read here; delimited text, records (workbooks, JSON, SQLite) and DuckDB have
modules of their own.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
import zipfile
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import as_frame, check_integer
from ..errors import ColumnError, DiscriminantError, InputError, Message, ParameterError, Part, Setting
from ..files import working_folder
from ..results import Finding, quoted, suggestion

if TYPE_CHECKING:
    from .delimited import Dialect, DialectOptions


#: The dialect is found in this much of the text,
_SAMPLE_BYTES = 1 << 20
#: or, where a line is longer, in this much.
_MOST_SAMPLE_BYTES = 1 << 24
#: What a file is shows in its first bytes.
_HEAD_BYTES = 4096

#: What is read, as messages call it, with the endings of such files.
FORMATS = {
    "text": ("delimited text", (".csv", ".tsv", ".tab")),
    "svmlight": ("SVMlight text", (".svm", ".svmlight", ".libsvm")),
    "json": ("JSON", (".json", ".jsonl", ".ndjson")),
    "parquet": ("Parquet", (".parquet", ".pq")),
    "arrow": ("Arrow", (".arrow", ".arrows", ".feather", ".ipc")),
    "workbook": ("a workbook", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")),
    "sqlite": ("an SQLite database", (".sqlite", ".sqlite3")),
    "duckdb": ("a DuckDB database", (".duckdb", ".ddb")),
}
_TEXTS = ("text", "svmlight", "json")
_BY_ENDING = {ending: name for name, (_, endings) in FORMATS.items() for ending in endings}
_COMPRESSIONS = {
    "gzip": (b"\x1f\x8b", (".gz",)),
    "bz2": (b"BZh", (".bz2",)),
    "zstd": (b"\x28\xb5\x2f\xfd", (".zst", ".zstd")),
}
PACKED_ENDINGS = {ending: name for name, (_, endings) in _COMPRESSIONS.items() for ending in endings}

#: Where the bytes that tell a format stand, if not at the beginning.
_PLACES = {b"DUCK": 8, b"ustar": 257}
_SIGNATURES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"SQLite format 3\0": "sqlite",
    b"DUCK": "duckdb",
    b"\xd0\xcf\x11\xe0": "workbook",
    b"PK\x03\x04": "zip",
}
_UNPACK, _SAVE = "Unpack it first.", "Save the table as CSV or Parquet first."
_RASTER = "Satellite images have commands of their own: discriminant raster."
#: The same of what is not read, with what to do.
_NOT_READ: tuple[tuple[Any, ...], ...] = (
    ("a PDF document", "Give the table it was made from, or copy it into a spreadsheet.", b"%PDF"),
    ("a Feather file of version 1", "Write it again as Feather of version 2 or as Parquet.", b"FEA1"),
    ("a NumPy array", "Load it with numpy.load and fit the model in Python.", b"\x93NUMPY"),
    ("an HDF5 file", _SAVE, b"\x89HDF"),
    ("an R data file", _SAVE, b"RDX", b"X\n\0"),
    ("an SPSS file", _SAVE, b"$FL2"),
    ("a Stata file", _SAVE, b"<stata_dta>"),
    ("an Avro file", _SAVE, b"Obj\x01"),
    ("an ORC file", _SAVE, b"ORC"),
    ("an image", _RASTER, b"\x89PNG", b"\xff\xd8\xff"),
    ("a TIFF image", _RASTER, b"II*\0", b"MM\0*"),
    ("packed by xz", _UNPACK, b"\xfd7zXZ"),
    ("a 7-Zip archive", _UNPACK, b"7z\xbc\xaf"),
    ("a RAR archive", _UNPACK, b"Rar!"),
    ("a tar archive", _UNPACK, b"ustar"),
)
#: Control characters that text has not: names of columns may begin like a file of another kind.
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_PAGE = re.compile(r"<(!doctype|html|head|body|table|meta|\?xml)\b", re.IGNORECASE)
#: What libraries raise at content they cannot read.
_FAILURES: tuple[type[Exception], ...] = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    OverflowError,
    MemoryError,
)
_CHECK = "Check that the file is whole and of the format its name says."
_JSON = re.compile(r'\{\s*["}]|\[\s*[\[{"\]]')


class InputFile:
    """Bytes that can be read again and again, and how messages call them.

    ``origin`` is the file that these bytes were made from, where they were: it is what a fingerprint is taken of.
    ``known`` is the format where it need not be found out.
    """

    def __init__(self, path: Path, label: str, origin: InputFile | None = None, known: str | None = None) -> None:
        self.path = path
        self.label = label
        self.origin = origin
        self.findings: list[Finding] = [] if origin is None else origin.findings
        with self.plainly("opened"), open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
        if not head:
            raise InputError(f"{label} is empty: 0 bytes. Give a table with a header and rows.")
        signs = ((name, sign) for name, (sign, _) in _COMPRESSIONS.items() if known is None and _BINARY.search(head))
        self.compression = next((name for name, sign in signs if head.startswith(sign)), None)
        if self.compression:
            with self.plainly("read"), self.open() as stream:
                head = stream.read(_HEAD_BYTES)
        self._binary = _BINARY.search(head) is not None and not marked_encoding(head)
        self.format = known or self._content(head)

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
        if self.origin is not None:
            return self.origin.sha256()
        with self.plainly("read"), open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def plainly(self, done: str, *errors: type[Exception], advice: str = _CHECK) -> Iterator[None]:
        """Turn whatever goes wrong inside into an `InputError` about this source; ``errors`` are those of a library."""
        try:
            yield
        except DiscriminantError:
            raise
        except PermissionError as error:
            raise InputError(f"{self.label} cannot be read: no permission. Check who may read the file.") from error
        except (*_FAILURES, *errors) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{self.label} cannot be {done}: {reason[0][:300].rstrip('.')}. {advice}") from error

    def note(self, kind: str, *message: Any) -> None:
        """Remember what is worth knowing about the file, once."""
        if kind not in [found.kind for found in self.findings]:
            self.findings.append(Finding("note", kind, None, Message(*message)))

    def _content(self, head: bytes) -> str:
        """The format, told by the first bytes; what is not read is refused by its name."""

        def begins(sign: bytes) -> bool:
            return head[_PLACES.get(sign, 0) :].startswith(sign) and (self._binary or not sign.isalnum())

        for what, advice, *signs in _NOT_READ:
            if any(map(begins, signs)):
                raise InputError(f"{self.label} is {what}, which is not read here. {advice}")
        found = next((name for sign, name in _SIGNATURES.items() if begins(sign)), None)
        if found is not None:
            return found if found != "zip" or self.compression else self._zip_content()
        text = head.decode(marked_encoding(head) or "utf-8", errors="replace").lstrip()
        if _PAGE.match(text):
            raise InputError(
                f"{self.label} is an HTML or XML page, not a table. Open it in a browser or spreadsheet to see what it "
                "says; a table in it can be saved as CSV or .xlsx from there."
            )
        promised = self._named().endswith(FORMATS["json"][1])
        return "json" if _JSON.match(text) or (promised and text.startswith(("[", "{"))) else "text"

    def _named(self) -> str:
        """The name that was given, in small letters and without what says that it is packed."""
        path = self.path if self.origin is None else self.origin.path
        return (path.stem if path.suffix.lower() in PACKED_ENDINGS else path.name).lower()

    def _zip_content(self) -> str:
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = archive.namelist()
                kind = archive.read("mimetype")[:100].decode("latin-1") if "mimetype" in names else ""
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError) as error:
            raise InputError(
                f"{self.label} is a workbook or ZIP archive that is damaged: {error}. Copy or download it again."
            ) from error
        if {"xl/workbook.xml", "xl/workbook.bin"} & set(names) or kind.endswith("opendocument.spreadsheet"):
            return "workbook"
        if {"model.json", "model.sha256"} <= set(names):
            raise InputError(
                f"{self.label} is a model file, not a table. Where a command takes both, the model comes first."
            )
        raise InputError(f"{self.label} is a ZIP archive of {quoted(names, 3)}, which is not read here. {_UNPACK}")

    def compare_with_name(self) -> None:
        """Note a name that promises something else than there is."""
        named = self if self.origin is None else self.origin
        packed = PACKED_ENDINGS.get(named.path.suffix.lower())
        promised = _BY_ENDING.get(Path(self._named()).suffix)
        if self.format == "text" and promised == "svmlight":
            self.format = promised
        if promised in (None, self.format) and packed in (None, named.compression):
            return
        if promised not in (None, *_TEXTS) and self.format == "text" and self._binary:
            raise InputError(
                f"{self.label} is not {FORMATS[str(promised)][0]}, as its name says, nor any other table that is known "
                "here. It may be damaged: copy or download it again."
            )
        found = FORMATS[self.format][0]
        is_packed = f", packed by {named.compression}" if named.compression else ""
        self.note("name", f"{self.label} is {found}{is_packed}, whatever its name says: it is read so.")
        self.label = f"{self.label} ({found})"


def open_source(source: Any, label: str | None = None) -> InputFile:
    """The file of this name, which messages call ``label``, standard input for ``-``, or what a binary stream holds."""
    if isinstance(source, InputFile):
        return source
    if hasattr(source, "read"):
        return _unpacked(_spooled_stream(source, "<stream>"))
    if str(source) in ("-", "/dev/stdin", "/dev/fd/0"):
        if sys.stdin is None:
            raise InputError("Standard input is closed: there is no table to read. Give a file, or pipe one in.")
        return _unpacked(_spooled_stream(sys.stdin.buffer, "<standard input>"))
    path = Path(source).expanduser()
    try:
        mode = path.stat().st_mode
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: no permission. Check who may read the folder.") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(_absent(path)) from error
    except (ValueError, OSError) as error:
        raise InputError(f"{str(path)!r} cannot be the name of a file: {error}.") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a directory, not a file. Give the file of the table.")
    if stat.S_ISREG(mode):
        return _unpacked(InputFile(path, label or str(path)))
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _is_terminal(path)):
        raise InputError(f"{path} is a device, not a file. Give the file of the table.")
    try:
        with open(path, "rb") as stream:
            return _unpacked(_spooled_stream(stream, str(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}. Give a file or a pipe.") from error


def _absent(path: Path) -> str:
    if path.is_symlink():
        return f"{path} is a link to {os.readlink(path)}, which does not exist."
    near = ""
    with suppress(OSError):
        folder = path.parent if path.parent.is_dir() else Path()
        near = suggestion(path.name, (entry.name for entry in folder.iterdir()))
    return f"{path} does not exist.{near}"


def _is_terminal(path: Path) -> bool:
    try:
        with open(path, "rb", buffering=0) as device:
            return device.isatty()
    except OSError:
        return False


def spooled(
    write: Callable[[Any], None], label: str, origin: InputFile | None = None, known: str | None = None
) -> InputFile:
    """A temporary file that ``write`` fills; it is removed when nobody needs it any more."""
    with ExitStack() as stack:
        path = stack.enter_context(working_folder(Path(tempfile.gettempdir()))) / "spooled"
        try:
            with open(path, "wb") as file:
                write(file)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise InputError(
                f"There is no room for a temporary copy of {label} in {tempfile.gettempdir()}: {error.strerror}. Free "
                "some space there, or name another folder in the environment variable TMPDIR."
            ) from error
        source = InputFile(path, label, origin, known)
        weakref.finalize(source, stack.pop_all().close)
    return source


def _spooled_stream(stream: Any, label: str) -> InputFile:
    """A stream can be read once only, and a table may have to be read again."""
    try:
        return spooled(lambda file: shutil.copyfileobj(stream, file, 1 << 20), label)
    except (TypeError, OSError) as error:
        raise InputError(f"{label} cannot be read: {error}. Give a stream of bytes.") from error


def _unpacked(file: InputFile) -> InputFile:
    """The file itself if its content can be read as a stream, else its content."""
    if file.compression and file.format not in _TEXTS:
        with file.plainly("read"), file.open() as stream:
            file = spooled(lambda copy: shutil.copyfileobj(stream, copy, 1 << 20), file.label, file)
    file.compare_with_name()
    return file


def marked_encoding(sample: bytes) -> str | None:
    """The encoding that a byte-order mark or the places of zero bytes tell."""
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = sample[:2048]
    half = len(head) // 2
    for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        if head[first::2].count(0) > 0.6 * half and not head[1 - first :: 2].count(0):
            return name
    return None


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


_HEADER = Setting("header", True)


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
            self.known(name, "target" if name == columns.target else "column")
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
            said = f"{self.label} has no {what} {name!r}.{suggestion(str(name), self.columns)} "
            said = f"{said}Columns: {quoted(self.columns, 20)}."
            if self.dialect is None or self.dialect.header:
                raise ColumnError(said)
            raise ColumnError(f"{said} Its first line was taken as a row: if it names the columns, give ", _HEADER, ".")
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
            return without_views(self._file.read(columns=list(self.columns)))

    def _stream(self) -> Iterator[Any]:
        with self._reading():
            yield from map(without_views, self._file.iter_batches(batch_size=_PARQUET_ROWS, columns=list(self.columns)))


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
            return without_views(data)

    def _stream(self) -> Iterator[Any]:
        with self._reading():
            reader = self._open()
            count = getattr(reader, "num_record_batches", None)
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                batch.validate()
                yield without_views(batch.select(list(self.columns)))


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


def without_views(data: Any) -> Any:
    """A table or record batch with its texts laid out as all of Arrow's functions take them."""
    viewed = [i for i, field in enumerate(data.schema) if pa.types.is_string_view(_plain_type(field.type))]
    if not viewed:
        return data
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    for i in viewed:
        try:
            texts = table.column(i).cast(pa.large_string())
        except pa.ArrowNotImplementedError:  # before Arrow 19
            texts = pa.array(table.column(i).to_pylist(), pa.large_string())
        coded = pa.types.is_dictionary(table.schema.types[i])
        table = table.set_column(i, table.column_names[i], texts.dictionary_encode() if coded else texts)
    return table


def _plain_type(kind: Any) -> Any:
    """The type of the values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
    return without_views(data.select(list(range(len(names)))).rename_columns(names).replace_schema_metadata(None))


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
        import scipy.sparse as sp  # slow to load

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
    from .delimited import DialectOptions

    dialect = DialectOptions(delimiter, encoding, header, quote, decimal, missing_codes)
    wanted = ColumnOptions(target, columns, {} if types is None else types)
    frame = None if isinstance(source, (str, bytes, os.PathLike, InputFile)) else as_frame(source)
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
    from .delimited import (
        DelimitedReader,  # they are made of what stands here
        find_dialect,
    )

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
