"""The file itself: a zip of ``model.json``, its checksum and the arrays, none of them compressed.

Nothing in it can grow when it is read: entries are stored as they are, so together they are no larger than the file,
and an array's header must account for its entry byte by byte before memory is set aside for it. ``model.json`` holds
the SHA-256 of every array, ``model.sha256`` that of ``model.json``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelFileError

Array = np.ndarray[Any, Any]

DOCUMENT, CHECKSUM = "model.json", "model.sha256"
#: Read and written as they are; objects would need pickle.
ARRAY_KINDS = "biufcSUmM"
#: A parsed document takes up to some twenty times its text.
_MOST_DOCUMENT_BYTES = 32 << 20
_ARRAY_NAME = re.compile(r"arrays/\d{1,5}\.npy")
_END_SIZE, _END_MARK, _LARGE_END_MARK, _LARGE_END_SIZE = 22, b"PK\x05\x06", b"PK\x06\x07", 20
#: The list of entries: where its length stands in the end of a file, and what 65,535 entries of ours take.
_LIST_SIZE_AT, _MOST_LIST_BYTES = 12, 65_535 * 64
_REMEDY = "Copy it again from where it was saved, or save the model again."


def array_name(number: int) -> str:
    """The entry of the array of this number."""
    return f"arrays/{number}.npy"


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def array_bytes(values: Array) -> bytes:
    """The array as the content of a ``.npy`` file, its type kept."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(values, order="C"), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def pack(document: dict[str, Any], arrays: dict[str, bytes]) -> bytes:
    """The file of a document and its arrays."""
    listed = {**document, "arrays": {name: digest(content) for name, content in arrays.items()}}
    text = json.dumps(listed, allow_nan=False, indent=1).encode("ascii")
    if len(text) > _MOST_DOCUMENT_BYTES:
        raise ModelFileError(
            f"The model holds {len(text):,} bytes of names, levels and other text; a model file takes at most "
            f"{_MOST_DOCUMENT_BYTES:,}. Fit it without column names, or with fewer levels."
        )
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=False) as file:
            for name, content in {DOCUMENT: text, CHECKSUM: digest(text).encode("ascii"), **arrays}.items():
                file.writestr(_entry(name), content)
    except zipfile.LargeZipFile as error:
        raise ModelFileError(
            f"The model is too large for a file ({len(arrays):,} arrays, {sum(map(len, arrays.values())):,} bytes): at "
            "most 65,533 arrays and 2 GB can be stored."
        ) from error
    return out.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # equal models give equal files
    entry.external_attr = 0o644 << 16
    return entry


def unpack(file: Any, check_version: Callable[[dict[str, Any]], None]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The document of an open file and the content of its arrays, by name, after every check that needs no decoding."""
    size = _whole_size(file)
    with zipfile.ZipFile(file) as archive:
        entries = _entries(archive, size)
        document = _document(archive, entries)
        check_version(document)
        listed = document.get("arrays")
        if not isinstance(listed, dict) or not all(map(_ARRAY_NAME.fullmatch, listed)):
            raise ModelFileError(f"The list of arrays in {DOCUMENT} cannot be read. {_REMEDY}")
        _compare(set(entries) - {DOCUMENT, CHECKSUM}, set(listed))
        contents = {name: archive.read(entries[name]) for name in listed}
    for name, content in contents.items():
        if digest(content) != listed[name]:
            raise ModelFileError(f"The file was altered: the checksum of {name} does not match. {_REMEDY}")
    return document, contents


def _whole_size(file: Any) -> int:
    """The file's length, if it ends as a model file does; the end also bounds the list of entries."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - _END_SIZE - _LARGE_END_SIZE, 0))
    tail = file.read()
    end, before = tail[-_END_SIZE:], tail[:-_END_SIZE]
    file.seek(0)
    if file.read(2) != b"PK":
        raise ModelFileError("This is not a model file. Give a file written by discriminant.save (.dsc).")
    ends_here = len(end) == _END_SIZE and end[:4] == _END_MARK and before[:4] != _LARGE_END_MARK
    if not ends_here or struct.unpack_from("<I", end, _LIST_SIZE_AT)[0] > _MOST_LIST_BYTES:
        raise ModelFileError(f"The model file is cut off or was changed by another program. {_REMEDY}")
    return int(size)


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if entry.filename in entries:
            raise ModelFileError(f"The file holds {entry.filename!r} twice. {_REMEDY}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise ModelFileError(f"{entry.filename!r} is compressed or encrypted, as in no model file. {_REMEDY}")
        entries[entry.filename] = entry
    if sum(entry.file_size for entry in entries.values()) > size:
        raise ModelFileError(f"The entries claim more bytes than the file's {size:,}. {_REMEDY}")
    return entries


def _document(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    for name in (DOCUMENT, CHECKSUM):
        if name not in entries:
            raise ModelFileError(f"The file has no {name}: it is not a model file. {_REMEDY}")
    if entries[DOCUMENT].file_size > _MOST_DOCUMENT_BYTES:
        raise ModelFileError(f"{DOCUMENT} has {entries[DOCUMENT].file_size:,} bytes, more than any model file's.")
    text = archive.read(entries[DOCUMENT])
    if digest(text).encode("ascii") != archive.read(entries[CHECKSUM]):
        raise ModelFileError(f"The file was altered: the checksum of {DOCUMENT} does not match. {_REMEDY}")
    document = json.loads(text, parse_constant=_no_constant)
    if not isinstance(document, dict):
        raise ModelFileError(f"{DOCUMENT} does not describe a model. {_REMEDY}")
    return document


def _no_constant(name: str) -> Any:
    raise ModelFileError(f"{DOCUMENT} holds {name}, which is not JSON. {_REMEDY}")


def _compare(found: set[str], listed: set[str]) -> None:
    for name in sorted(found - listed):
        raise ModelFileError(f"The file holds {name!r}, which belongs to no model. {_REMEDY}")
    for name in sorted(listed - found):
        raise ModelFileError(f"The file misses {name!r}. {_REMEDY}")


def read_array(name: str, content: bytes) -> Array:
    """The array of a ``.npy`` file, which may hold numbers, text and dates but no Python objects."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError(f"{name} has an unknown header. {_REMEDY}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or dtype.kind not in ARRAY_KINDS:
        raise ModelFileError(f"{name} holds {dtype}, which no model file does. {_REMEDY}")
    announced, there = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if min(shape, default=0) < 0 or announced != there:
        raise ModelFileError(f"{name} announces {announced:,} bytes and has {there:,}. {_REMEDY}")
    stream.seek(0)
    values: Array = np.lib.format.read_array(stream, allow_pickle=False)
    if dtype.kind == "U":
        values.tolist()  # bytes that are no text show here, not later in a prediction
    return values
