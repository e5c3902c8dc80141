"""Files and streams that tables are read from, and their formats.

The content determines the format, not the file name. Input that can be read only once (standard input, a
pipe, a stream) or is a compressed binary format is copied to a temporary file, so that it can be read repeatedly.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple, TypeAlias

import pyarrow as pa

from ..errors import DiscriminantError, InputError, Message, Part
from ..files import working_folder
from ..results import Finding, quoted, suggestion

#: The dialect of a text table is inferred from this many bytes,
SAMPLE_BYTES: Final = 1 << 20
#: or from up to this many if a line is longer than that.
MAX_SAMPLE_BYTES: Final = 1 << 24
#: The format is recognised by this many bytes.
_HEAD_BYTES: Final = 4096
_COPY_BYTES: Final = 1 << 20
#: Name of each format in messages, and its file extensions.
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
_TEXT_FORMATS = ("text", "svmlight", "json")
_FORMAT_OF_EXTENSION = {extension: name for name, (_, extensions) in FORMATS.items() for extension in extensions}
_COMPRESSION_SIGNATURES = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
#: Compression by file extension.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd"}


class _Signature(NamedTuple):
    """Bytes that identify a format; a format that cannot be read has advice."""

    name: str
    content: bytes
    advice: str = ""
    offset: int = 0


_UNPACK, _SAVE = "Unpack it first.", "Save the table as CSV or Parquet first."
_RASTER = "For satellite images use discriminant raster."
_SIGNATURES = (
    _Signature("parquet", b"PAR1"),
    _Signature("arrow", b"ARROW1"),
    _Signature("arrow", b"\xff\xff\xff\xff"),
    _Signature("sqlite", b"SQLite format 3\0"),
    _Signature("workbook", b"\xd0\xcf\x11\xe0"),
    _Signature("zip", b"PK\x03\x04"),
    _Signature("a PDF document", b"%PDF", "Give the table it was made from, or copy it into a spreadsheet."),
    _Signature("a Feather file of version 1", b"FEA1", "Write it again as Feather version 2 or Parquet."),
    _Signature("a model file", b'{"__metadata__":{"document"', "If a command takes both, give the model first.", 8),
    _Signature("a NumPy array", b"\x93NUMPY", "Load it with numpy.load and fit the model in Python."),
    _Signature("an HDF5 file", b"\x89HDF", _SAVE),
    _Signature("an R data file", b"RDX", _SAVE),
    _Signature("an R data file", b"X\n\0", _SAVE),
    _Signature("an SPSS file", b"$FL2", _SAVE),
    _Signature("a Stata file", b"<stata_dta>", _SAVE),
    _Signature("an Avro file", b"Obj\x01", _SAVE),
    _Signature("an ORC file", b"ORC", _SAVE),
    _Signature("an image", b"\x89PNG", _RASTER),
    _Signature("an image", b"\xff\xd8\xff", _RASTER),
    _Signature("a TIFF image", b"II*\0", _RASTER),
    _Signature("a TIFF image", b"MM\0*", _RASTER),
    _Signature("an xz archive", b"\xfd7zXZ", _UNPACK),
    _Signature("a 7-Zip archive", b"7z\xbc\xaf", _UNPACK),
    _Signature("a RAR archive", b"Rar!", _UNPACK),
    _Signature("a tar archive", b"ustar", _UNPACK, 257),
    _Signature("duckdb", b"DUCK", offset=8),
)
#: Control characters that text does not contain: the first column of a text table may have a name such as ORC.
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_MARKUP = re.compile(r"<(!doctype|html|head|body|table|meta|\?xml)\b", re.IGNORECASE)
_JSON = re.compile(r'\{\s*["}]|\[\s*[\[{"\]]')
#: What libraries raise for content that they cannot read.
_READ_ERRORS: tuple[type[Exception], ...] = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    OverflowError,
    MemoryError,
)
_CHECK = "Check that the file is complete and in the expected format."

#: What a table can be opened from, besides frames.
FileSource: TypeAlias = "str | os.PathLike[str] | BinaryIO | InputFile"


class InputFile:
    """A file that can be read repeatedly.

    ``label`` is its name in messages, ``origin`` the file that it was unpacked from, whose fingerprint it has.
    """

    def __init__(self, path: Path, label: str, origin: InputFile | None = None) -> None:
        self.path, self.label, self.origin = path, label, origin
        self.findings: list[Finding] = [] if origin is None else origin.findings
        with self.input_errors("opened"), open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
        if not head:
            raise InputError(f"{label} is empty: 0 bytes. Expected a table with a header and rows.")
        signatures = _COMPRESSION_SIGNATURES.items() if _BINARY.search(head) else ()
        self.compression = next((name for name, content in signatures if head.startswith(content)), None)
        if self.compression:
            with self.input_errors("read"), self.open() as stream:
                head = stream.read(_HEAD_BYTES)
        self._is_binary = _BINARY.search(head) is not None and not encoding_of_bytes(head)
        self.format = self._recognised(head)

    def open(self) -> pa.NativeFile:
        """The decompressed content as an Arrow stream."""
        return pa.input_stream(str(self.path), compression=self.compression)

    def sample(self) -> tuple[bytes, bool]:
        """The first bytes of the decompressed content, and whether they are all of it."""
        with self.input_errors("read"), self.open() as stream:
            sample = stream.read(SAMPLE_BYTES)
            while len(sample) < MAX_SAMPLE_BYTES and not re.search(rb"[\r\n]", sample):
                more = stream.read(SAMPLE_BYTES)
                if not more:
                    return sample, True
                sample += more
            return sample, not stream.read(1)

    def sha256(self) -> str:
        """The SHA-256 of the original file."""
        if self.origin is not None:
            return self.origin.sha256()
        with self.input_errors("read"), open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def input_errors(self, action: str, *errors: type[Exception], advice: str = _CHECK) -> Iterator[None]:
        """Raise any failure inside, also the ``errors`` of a library, as an `InputError` that names this file."""
        try:
            yield
        except DiscriminantError:
            raise
        except PermissionError as error:
            raise InputError(f"{self.label} cannot be read: permission denied. Check the file permissions.") from error
        except (*_READ_ERRORS, *errors) as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{self.label} cannot be {action}: {reason[0][:300].rstrip('.')}. {advice}") from error

    def note(self, kind: str, *message: Part) -> None:
        """Add a note about the file, once per kind."""
        if kind not in [found.kind for found in self.findings]:
            self.findings.append(Finding("note", kind, None, Message(*message)))

    def _recognised(self, head: bytes) -> str:
        """The format, from the first bytes; formats that cannot be read are refused by name."""
        for name, content, advice, offset in _SIGNATURES:
            if head[offset:].startswith(content) and (self._is_binary or not content.isalnum()):
                if advice:
                    raise InputError(f"{self.label} is {name}, which is not a supported table format. {advice}")
                return name if name != "zip" or self.compression else self._zip_content()
        text = head.decode(encoding_of_bytes(head) or "utf-8", errors="replace").lstrip()
        if _MARKUP.match(text):
            raise InputError(
                f"{self.label} is an HTML or XML page, not a table. Open it in a browser or spreadsheet, and save the "
                "table in it as CSV or .xlsx."
            )
        named_json = self._base_name().endswith(FORMATS["json"][1])
        return "json" if _JSON.match(text) or (named_json and text.startswith(("[", "{"))) else "text"

    def _base_name(self) -> str:
        """The original file name in lower case, without a compression extension."""
        path = self.path if self.origin is None else self.origin.path
        return (path.stem if path.suffix.lower() in COMPRESSIONS else path.name).lower()

    def _zip_content(self) -> str:
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = archive.namelist()
                kind = archive.read("mimetype")[:100].decode("latin-1") if "mimetype" in names else ""
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError) as error:
            raise InputError(f"{self.label} is a damaged workbook or ZIP archive: {error}. Copy it again.") from error
        if {"xl/workbook.xml", "xl/workbook.bin"} & set(names) or kind.endswith("opendocument.spreadsheet"):
            return "workbook"
        raise InputError(
            f"{self.label} is a ZIP archive with {quoted(names, 3)}, which is not a supported table format. {_UNPACK}"
        )

    def check_extension(self) -> None:
        """Note a file extension that does not match the content."""
        named = self if self.origin is None else self.origin
        compression = COMPRESSIONS.get(named.path.suffix.lower())
        expected = _FORMAT_OF_EXTENSION.get(Path(self._base_name()).suffix)
        if self.format == "text" and expected == "svmlight":
            self.format = expected
        if expected in (None, self.format) and compression in (None, named.compression):
            return
        if expected not in (None, *_TEXT_FORMATS) and self.format == "text" and self._is_binary:
            raise InputError(
                f"{self.label} is neither {FORMATS[str(expected)][0]}, as its extension suggests, nor another "
                "supported format. It may be damaged: copy or download it again."
            )
        found = FORMATS[self.format][0] + (f" compressed with {named.compression}" if named.compression else "")
        self.note("file extension", f"{self.label} is {found}, despite its extension, and is read as such.")
        self.label = f"{self.label} ({FORMATS[self.format][0]})"


def open_source(source: FileSource, label: str | None = None) -> InputFile:
    """The input file of a path, of standard input (``-``) or of a binary stream; ``label`` is its name in messages."""
    if isinstance(source, InputFile):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return _unpacked(_spooled(source, "<stream>"))
    if str(source) in ("-", "/dev/stdin", "/dev/fd/0"):
        if sys.stdin is None:
            raise InputError("Standard input is closed. Expected a table: give a file, or pipe one in.")
        return _unpacked(_spooled(sys.stdin.buffer, "<standard input>"))
    path = Path(source).expanduser()
    try:
        mode = path.stat().st_mode
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied. Check the folder permissions.") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(_not_found(path)) from error
    except (ValueError, OSError) as error:
        raise InputError(f"{str(path)!r} is not a valid file name: {error}. Give the file of a table.") from error
    if stat.S_ISREG(mode):
        return _unpacked(InputFile(path, label or str(path)))
    if not stat.S_ISFIFO(mode):
        found = "a directory" if stat.S_ISDIR(mode) else "a device"
        raise InputError(f"{path} is {found}, not a file. Give the file of a table.")
    try:
        with open(path, "rb") as stream:
            return _unpacked(_spooled(stream, str(path)))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}. Give a file or a pipe.") from error


def _not_found(path: Path) -> str:
    if path.is_symlink():
        return f"{path} is a link to {os.readlink(path)}, which does not exist. Correct the link."
    near = ""
    with suppress(OSError):
        folder = path.parent if path.parent.is_dir() else Path()
        near = suggestion(path.name, (entry.name for entry in folder.iterdir()))
    return f"{path} does not exist.{near or ' Check the path.'}"


def _spooled(stream: IO[bytes], label: str, origin: InputFile | None = None) -> InputFile:
    """A temporary copy of a stream; it is deleted when it is no longer referenced."""
    with ExitStack() as stack:
        path = stack.enter_context(working_folder(Path(tempfile.gettempdir()))) / "spooled"
        try:
            with open(path, "wb") as file:
                shutil.copyfileobj(stream, file, _COPY_BYTES)
        except (TypeError, OSError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise InputError(
                    f"There is not enough space for a temporary copy of {label} in {tempfile.gettempdir()}: "
                    f"{error.strerror}. Free some space, or set the environment variable TMPDIR to another folder."
                ) from error
            raise InputError(f"{label} cannot be read: {error}. Give a stream of bytes.") from error
        source = InputFile(path, label, origin)
        weakref.finalize(source, stack.pop_all().close)
    return source


def _unpacked(file: InputFile) -> InputFile:
    """The file itself if its content can be read as a stream, else a decompressed copy."""
    if file.compression and file.format not in _TEXT_FORMATS:
        with file.input_errors("read"), file.open() as stream:
            file = _spooled(stream, file.label, file)
    file.check_extension()
    return file


def encoding_of_bytes(sample: bytes) -> str | None:
    """The encoding implied by a byte-order mark or, for UTF-16, by the positions of zero bytes."""
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
