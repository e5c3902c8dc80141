"""The file format: safetensors, with arrays as tensors and a JSON document in the metadata.

The safetensors parser accepts only files whose tensors cover all bytes without gaps or overlaps, so that reading needs
no more memory than the file. The metadata begin with a SHA-256 checksum of document and arrays. Numbers and texts of
the document are checked here, because Python's parser accepts numbers of any length.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from typing import Any, Final

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as safetensors_bytes

from ..arrays import Array
from ..errors import ModelFileError

# The key of the document in the metadata; the order of several keys would not be reproducible.
DOCUMENT: Final = "document"
# The numeric types of a file, by name.
NUMBERS: Final = {
    name: np.dtype(name)
    for name in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
# A parsed document takes up to twenty times the memory of its text.
MAX_DOCUMENT_BYTES: Final = 32 << 20
# Hexadecimal digits of a SHA-256 checksum.
DIGEST_LENGTH: Final = 64
# Product of the nonzero axes of an empty array.
MAX_EMPTY_SIZE: Final = 1 << 20
# Characters of a 64-bit integer with sign, and of a float.
MAX_INTEGER_DIGITS: Final = 20
MAX_FLOAT_DIGITS: Final = 32
# A surrogate as JSON escape, which is not a character.
_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")
_REMEDY = "Copy the file again, or save the model again."


def digest(text: str, arrays: dict[str, Array]) -> str:
    """The SHA-256 checksum of a document and its arrays, in hexadecimal digits."""
    found = hashlib.sha256(text.encode())
    for name, values in sorted(arrays.items()):
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).data)
    return found.hexdigest()


def pack(document: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """The content of the file of a document and its arrays, which are C-contiguous."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    try:
        n_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ModelFileError(f"Text contains an unpaired Unicode surrogate, {half!a}. Correct the text.") from None
    if n_bytes > MAX_DOCUMENT_BYTES:
        raise ModelFileError(
            f"Names and levels are too long: {n_bytes:,} bytes, maximum {MAX_DOCUMENT_BYTES:,}. Fit without column "
            "names, or with fewer levels."
        )
    _parsed(text)  # refuses what cannot be read
    return safetensors_bytes(arrays, {DOCUMENT: digest(text, arrays) + text})


def unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The document of a file and its arrays by name, after every check that needs no decoding."""
    # open() raises the errors of the operating system. "pread": truncation of a mapped file would end the process.
    with open(path, "rb"), safe_open(path, framework="np", backend="pread") as file:
        content = (file.metadata() or {}).get(DOCUMENT)
        if content is None:
            raise ModelFileError("It is not a model file. Use a file written by discriminant.save.")
        text = content[DIGEST_LENGTH:]
        if len(text) > MAX_DOCUMENT_BYTES:
            raise ModelFileError(
                f"Its document is too long: {len(text):,} characters, maximum {MAX_DOCUMENT_BYTES:,}. {_REMEDY}"
            )
        arrays = file.get_tensors()
    if digest(text, arrays) != content[:DIGEST_LENGTH]:
        raise ModelFileError(f"Its checksum does not match. {_REMEDY}")
    document = _parsed(text)
    if not isinstance(document, dict):
        raise ModelFileError(f"Its document is not a model. {_REMEDY}")
    for name, values in arrays.items():
        _check_array(name, values)
    return document, arrays


def _parsed(text: str) -> Any:
    """The JSON value of a text, with numbers of 64 bits; Python refuses deep nesting."""
    if _SURROGATE.search(text):
        raise ModelFileError("Text contains an unpaired Unicode surrogate. Correct the text.")
    return json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_finite)


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS or not -(2**63) <= int(text) < 2**64:
        raise ModelFileError(f"Integer {text[:40]} has more than 64 bits. Use a float or text.")
    return int(text)


def _finite(text: str) -> float:
    if len(text) > MAX_FLOAT_DIGITS or not math.isfinite(float(text)):
        raise ModelFileError(f"{text[:40]} is not a finite number of 64 bits. {_REMEDY}")
    return float(text)


def _check_array(name: str, values: Array) -> None:
    """Refuse unknown types, axes without values, and truth values other than 0 and 1."""
    if values.dtype.str not in NUMBERS or math.prod(filter(None, values.shape)) > max(values.size, MAX_EMPTY_SIZE):
        raise ModelFileError(f"Array {name} has an invalid type or shape: {values.dtype}, {values.shape}. {_REMEDY}")
    if values.dtype.kind == "b" and not (values.view(np.uint8) <= 1).all():
        raise ModelFileError(f"Array {name} has invalid booleans. {_REMEDY}")
