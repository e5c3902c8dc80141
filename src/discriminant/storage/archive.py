"""The file itself: a zip of ``model.json``, its checksum and the arrays, none of them compressed.

Nothing in it can grow when it is read: entries are stored as they are and lie one behind the other, so together they
are no larger than the file, and an array's header must account for its entry byte by byte before memory is set aside
for it. What a header or a number of the document may say is written down here and compared as text: NumPy's and
Python's own readers know more than a model needs, and some of it takes minutes or ends the process. ``model.json``
holds the SHA-256 of every array, ``model.sha256`` that of ``model.json``.
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

from ..arrays import Array
from ..errors import ModelFileError

DOCUMENT, CHECKSUM = "model.json", "model.sha256"
#: The types of numbers, by the text that stands for them in a file; objects would need pickle.
NUMBERS = {
    name: np.dtype(name)
    for name in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
#: Text and bytes, with the number of letters.
_TEXT, _MOST_LETTERS = re.compile(r"(?:<U|\|S)([1-9]\d{0,4})"), 10_000
#: The beginning of a ``.npy`` file as NumPy writes it, up to its values: type and shape.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([^']{3,7})', 'fortran_order': False, "
    rb"'shape': \((\d{1,10},|\d{1,10}(?:, \d{1,10}){1,7}|)\), \} *\n",
    re.DOTALL,
)
#: What the other axes of an array without values may make together.
_MOST_EMPTY = 1 << 20
#: A parsed document takes up to some twenty times its text.
_MOST_DOCUMENT_BYTES = 32 << 20
#: Digits of a whole number of 64 bits with its sign, and of a float as Python writes it.
_MOST_DIGITS, _MOST_FLOAT_DIGITS = 20, 32
_ARRAY_NAME = re.compile(r"arrays/\d{1,5}\.npy")
#: Bytes of an entry before its name; where the length in the beginning of a ``.npy`` file ends.
_ENTRY_HEAD, _LENGTH_ENDS = 30, 10
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


def array_type(name: str) -> np.dtype[Any] | None:
    """The type of array that this text stands for; None where no model file holds such arrays."""
    text = _TEXT.fullmatch(name)
    return np.dtype(name) if text and int(text[1]) <= _MOST_LETTERS else NUMBERS.get(name)


def array_bytes(values: Array, where: str = "This") -> bytes:
    """The array as the content of a ``.npy`` file, its type kept; ``where`` is how a message calls it."""
    dtype = values.dtype.newbyteorder("<")
    if array_type(dtype.str) is None:
        raise ModelFileError(
            f"{where} is an array of {values.dtype}, which a model file cannot hold. Use numbers, or text (str) of at "
            f"most {_MOST_LETTERS:,} letters."
        )
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(values, dtype, order="C"), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def pack(document: dict[str, Any], arrays: dict[str, bytes]) -> bytes:
    """The file of a document and its arrays."""
    listed = {**document, "arrays": {name: digest(content) for name, content in arrays.items()}}
    text = json.dumps(listed, allow_nan=False, indent=1).encode("ascii")
    _parsed(text)  # what cannot be read is not written
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
    _check_ends(file)
    with zipfile.ZipFile(file) as archive:
        entries = _entries(archive)
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


def _check_ends(file: Any) -> None:
    """Refuse what does not begin and end as a model file does; the end also bounds the list of entries."""
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


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The entries by name, which have to lie one behind the other from the file's first byte to the list of them."""
    entries: dict[str, zipfile.ZipInfo] = {}
    place = 0
    for entry in archive.infolist():
        if entry.header_offset != place:
            raise ModelFileError(f"{entry.filename!r} does not lie behind the entry before it. {_REMEDY}")
        place += _ENTRY_HEAD + len(entry.orig_filename.encode()) + entry.file_size
        if entry.filename in entries:
            raise ModelFileError(f"The file holds {entry.filename!r} twice. {_REMEDY}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size or entry.flag_bits & 1:
            raise ModelFileError(f"{entry.filename!r} is compressed or encrypted, as in no model file. {_REMEDY}")
        entries[entry.filename] = entry
    if place != archive.start_dir:
        raise ModelFileError(f"The file has bytes that belong to no entry. {_REMEDY}")
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
    document = _parsed(text)
    if not isinstance(document, dict):
        raise ModelFileError(f"{DOCUMENT} does not describe a model. {_REMEDY}")
    return document


def _parsed(text: bytes) -> Any:
    """The JSON of a document that has no longer numbers than a model needs; Python itself refuses a deep one."""
    document = json.loads(text.decode("ascii"), parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    if b"\\ud" in text.lower():
        _refuse_half_letters(document)
    return document


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS or not -(2**63) <= int(text) < 2**64:
        raise ModelFileError(f"{DOCUMENT} cannot hold whole numbers of more than 64 bits, such as {text[:40]}.")
    return int(text)


def _finite(text: str) -> float:
    if len(text) > _MOST_FLOAT_DIGITS or not math.isfinite(float(text)):
        raise ModelFileError(f"{DOCUMENT} holds {text[:40]}, which stands for no finite number of 64 bits.")
    return float(text)


def _refuse_half_letters(document: Any) -> None:
    """Refuse halves of letters (surrogates), which no output can show."""
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelFileError(
            f"{DOCUMENT} cannot hold half a letter (a surrogate): {error.object[error.start]!a}."
        ) from None


def _compare(found: set[str], listed: set[str]) -> None:
    for name in sorted(found - listed):
        raise ModelFileError(f"The file holds {name!r}, which belongs to no model. {_REMEDY}")
    for name in sorted(listed - found):
        raise ModelFileError(f"The file misses {name!r}. {_REMEDY}")


def read_array(name: str, content: bytes) -> Array:
    """The array of a ``.npy`` file, which holds numbers or text: nothing is left to NumPy's own reader of headers."""
    header = _HEADER.match(content)
    if header is None or int.from_bytes(header[1], "little") != header.end() - _LENGTH_ENDS:
        raise ModelFileError(f"{name} has an unknown header. {_REMEDY}")
    dtype = array_type(header[2].decode("latin-1"))
    if dtype is None:
        raise ModelFileError(f"{name} holds {header[2].decode('latin-1')!r}, which no model file does. {_REMEDY}")
    shape = tuple(map(int, header[3].replace(b",", b" ").split()))
    announced, there = math.prod(shape) * dtype.itemsize, len(content) - header.end()
    if announced != there or math.prod(filter(None, shape)) > max(there, _MOST_EMPTY):
        raise ModelFileError(f"{name} announces the shape {shape} of {dtype} and has {there:,} bytes. {_REMEDY}")
    values: Array = np.frombuffer(content, dtype, offset=header.end()).reshape(shape).copy()
    if not _is_sound(values):
        raise ModelFileError(f"{name} holds bytes that are neither numbers nor text. {_REMEDY}")
    return values


def _is_sound(values: Array) -> bool:
    """Whether truth values are 0 or 1 and letters are letters: NumPy takes both on trust."""
    if values.dtype.kind == "b":
        return bool((values.view(np.uint8) <= 1).all())
    if values.dtype.kind == "U" and values.size:
        letters = values.ravel().view(np.uint32)
        return bool(((letters < 0xD800) | ((letters > 0xDFFF) & (letters <= 0x10FFFF))).all())
    return True
