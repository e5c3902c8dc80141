"""Where a table comes from: a file or standard input, its format told by its first bytes."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DiscriminantError, InputError

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

_BY_ENDING = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".zstd": "zstd",
}


class Source:
    """Bytes that can be read again and again, and how messages call them."""

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        with self.plainly("opened"), open(path, "rb") as file:
            self._head = file.read(64)
        if not self._head:
            raise InputError(f"{label} is empty: 0 bytes. Give a table with a header and rows.")
        self.found = _content(self._head)
        self.format = self._agreed_format()

    @property
    def compression(self) -> str | None:
        return self.found if self.found in COMPRESSIONS else None

    def open(self) -> Any:
        """The bytes, decompressed, as a stream that pyarrow reads without Python in between."""
        import pyarrow as pa

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
        ending = _BY_ENDING.get(self.path.suffix.lower(), "any")
        binary = ending not in ("text", "svmlight", "any")
        if (binary and ending != self.found) or (ending in ("text", "svmlight") and self.found is not None):
            raise InputError(
                f"{self.label} is not what its name says: the name ends in {self.path.suffix}, the content "
                f"{'is ' + self.found if self.found else 'looks like text'}. Rename the file by its content."
            )
        if self.found is None:
            return "text" if ending == "any" else ending
        if self.found in COMPRESSIONS:
            return _BY_ENDING.get(Path(self.path.stem).suffix.lower(), "text")
        return self.found


def _content(head: bytes) -> str | None:
    """The format that these first bytes are typical of, or None for text."""
    return next((name for magic, name in _BY_CONTENT if head.startswith(magic)), None)


def open_source(source: Any) -> Source:
    """The file of this name, standard input for ``-``, or what a binary stream holds."""
    if hasattr(source, "read"):
        return _spooled(source, "<stream>")
    if str(source) == "-":
        return _spooled(sys.stdin.buffer, "<standard input>")
    path = Path(source).expanduser()
    label = str(path)
    try:
        _refuse_what_is_no_file(path, label)
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{label!r} cannot be the name of a file: {error}.") from error
    return Source(path, label)


def _refuse_what_is_no_file(path: Path, label: str) -> None:
    if path.is_dir():
        raise InputError(f"{label} is a directory, not a file. Give the file of the table.")
    if not path.exists():
        folder = path.parent if path.parent.is_dir() else Path()
        hint = suggestion(path.name, (entry.name for entry in folder.iterdir()))
        raise InputError(f"{label} does not exist.{hint}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{label} cannot be read: no permission. Check who may read the file.")


def _spooled(stream: Any, label: str) -> Source:
    """A stream can be read once only, and a table may have to be read again: it goes through a temporary file."""
    handle, name = tempfile.mkstemp(prefix="discriminant-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        source = Source(Path(name), label)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, (TypeError, OSError)):
            raise InputError(f"{label} cannot be read: {error}. Give a stream of bytes.") from error
        raise
    weakref.finalize(source, os.unlink, name)
    return source


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """A hint at the names that are near the wanted one, or nothing."""
    names = list(names)
    by_fold = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(wanted.casefold(), by_fold, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_fold[name]) for name in near)}?" if near else ""


def listed(names: Iterable[Any], most: int = 5) -> str:
    """Some names as a message lists them."""
    names = list(names)
    text = ", ".join(repr(name) for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
