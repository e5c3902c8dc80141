"""A file as it comes: what its content is, whatever its name says, and its bytes, to be read again and again.

What can be read once only (standard input, a pipe, a stream) or is packed goes through a temporary file.
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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import DiscriminantError, InputError, Message
from ..files import working_folder
from ..results import Finding, quoted, suggestion

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

#: What the bytes at a place tell.
_SIGNATURES = (
    (0, b"PAR1", "parquet"),
    (0, b"ARROW1", "arrow"),
    (0, b"\xff\xff\xff\xff", "arrow"),
    (0, b"SQLite format 3\0", "sqlite"),
    (8, b"DUCK", "duckdb"),
    (0, b"\xd0\xcf\x11\xe0", "workbook"),
    (0, b"PK\x03\x04", "zip"),
)
_UNPACK, _SAVE = "Unpack it first.", "Save the table as CSV or Parquet first."
#: The same of what is not read, with what to do.
_NOT_READ = (
    (0, b"%PDF", "a PDF document", "Give the table it was made from, or copy it into a spreadsheet."),
    (0, b"FEA1", "a Feather file of version 1", "Write it again as Feather of version 2 or as Parquet."),
    (0, b"\x93NUMPY", "a NumPy array", "Load it with numpy.load and fit the model in Python."),
    (0, b"\x89HDF", "an HDF5 file", _SAVE),
    (0, b"RDX", "an R data file", _SAVE),
    (0, b"X\n\0", "an R data file", _SAVE),
    (0, b"$FL2", "an SPSS file", _SAVE),
    (0, b"<stata_dta>", "a Stata file", _SAVE),
    (0, b"Obj\x01", "an Avro file", _SAVE),
    (0, b"ORC", "an ORC file", _SAVE),
    (0, b"\x89PNG", "an image", "Satellite images have commands of their own: discriminant raster."),
    (0, b"\xff\xd8\xff", "an image", "Satellite images have commands of their own: discriminant raster."),
    (0, b"II*\0", "a TIFF image", "Satellite images have commands of their own: discriminant raster."),
    (0, b"MM\0*", "a TIFF image", "Satellite images have commands of their own: discriminant raster."),
    (0, b"\xfd7zXZ", "packed by xz", _UNPACK),
    (0, b"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    (0, b"Rar!", "a RAR archive", _UNPACK),
    (257, b"ustar", "a tar archive", _UNPACK),
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

        def begins(place: int, sign: bytes) -> bool:
            return head[place:].startswith(sign) and (self._binary or not sign.isalnum())

        for place, sign, what, advice in _NOT_READ:
            if begins(place, sign):
                raise InputError(f"{self.label} is {what}, which is not read here. {advice}")
        for place, sign, name in _SIGNATURES:
            if begins(place, sign):
                return name if name != "zip" or self.compression else self._zip_content()
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


def open_source(source: Any) -> InputFile:
    """The file of this name, standard input for ``-``, or what a binary stream holds."""
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
        return _unpacked(InputFile(path, str(path)))
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
