"""The file format: safetensors, with arrays as tensors and a JSON document in the metadata.

The safetensors parser accepts only files whose tensors cover all bytes without gaps or overlaps, so that reading needs
no more memory than the file. The metadata begin with a SHA-256 checksum of document and arrays. Numbers and texts of
the document are checked here, because Python's parser accepts numbers of any length.

Values as JSON: plain values unchanged, others as an object with one key for the kind.

=================================  ====================================================================
``{"float": "nan"}``               nan, inf or -inf (finite floats are JSON numbers)
``{"tuple": [...]}``               lists are JSON lists
``{"dict": [[key, value], ...]}``  keys of any kind
``{"bytes": "00ff"}``
``{"scalar": ["<f8", 0.5]}``       a NumPy number, truth value or text with its type
``{"array": "0"}``                 the tensor of this name
``{"turned": ["0", [1, 0]]}``      a tensor with the axes in this order in memory and in the file
``{"values": ["O", [2], [...]]}``  an array of objects ("O"), text ("U") or bytes ("S"): shape and single values
``{"object": ["Name", {...}]}``    a known class (`registry`) and its parts by name
=================================  ====================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as safetensors_bytes

from ..arrays import Array
from ..data import is_single
from ..errors import ModelFileError
from . import registry

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
                f"Its metadata are too long: {len(text):,} characters, maximum {MAX_DOCUMENT_BYTES:,}. {_REMEDY}"
            )
        arrays = file.get_tensors()
    if digest(text, arrays) != content[:DIGEST_LENGTH]:
        raise ModelFileError(f"Its checksum does not match. {_REMEDY}")
    document = _parsed(text)
    if not isinstance(document, dict):
        raise ModelFileError(f"Its metadata do not describe a model. {_REMEDY}")
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


# The type of a single NumPy text.
_TEXT = "<U"
# Keys with equal hashes by chance (-1 and -2, powers of two); a malicious file has thousands.
_MAX_EQUAL_HASHES = 64
# Characters of an array of text, whose elements have the size of the longest.
MAX_CHARACTERS: Final = 1 << 26
#: A value of a JSON document.
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class Encoder:
    """Encoder of values to JSON; numeric arrays are collected in ``arrays`` by tensor name."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def encode(self, value: Any, where: str) -> Any:
        """The JSON of a value; ``where`` names it in messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._each(value, where)
        if kind is tuple:
            return {"tuple": self._each(value, where)}
        if kind is dict:
            return {"dict": [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()]}
        if kind is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if kind in (np.ndarray, np.memmap):
            return self._array(value, where)
        name, parts = registry.taken_apart(value, where)
        return {"object": [name, {part: self.encode(v, f"{where}.{part}") for part, v in parts.items()}]}

    def _each(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _scalar(self, value: np.generic, where: str) -> Any:
        name = _TEXT if isinstance(value, str) else value.dtype.str
        if name != _TEXT and name not in NUMBERS:
            raise ModelFileError(f"{where} is a {value.dtype}, which cannot be stored. Use a plain number.")
        return {"scalar": [name, self.encode(value.item(), where)]}

    def _array(self, values: Array, where: str) -> Any:
        kind = values.dtype.kind
        if kind in "OUS":
            single = values.ravel().tolist()
            for value in single:
                if not is_single(value):
                    raise ModelFileError(registry.refusal(value, where))
            if kind != "O" and len(single) * max(map(len, single), default=0) > MAX_CHARACTERS:
                raise ModelFileError(f"{where}, an array of {values.dtype}, is too long. Use shorter texts.")
            return {"values": [kind, list(values.shape), self._each(single, where)]}
        dtype = values.dtype.newbyteorder("<")
        if dtype.str not in NUMBERS:
            raise ModelFileError(f"{where} is an array of {values.dtype}, which cannot be stored. Use numbers or text.")
        name, axes = str(len(self.arrays)), _axes_in_memory(values)
        self.arrays[name] = np.asarray(values.transpose(axes), dtype, order="C")
        return {"array": name} if axes == sorted(axes) else {"turned": [name, axes]}


class Decoder:
    """Decoder of JSON to values; each array is used once, so that memory is bounded by the file."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = dict(arrays)

    def decode(self, node: Json) -> Any:
        """The decoded value."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ModelFileError(f"Expected an object with one key, got {sorted(node)[:5]}.")
        ((tag, content),) = node.items()
        if tag not in _READERS:
            raise ModelFileError(f"Unknown kind of value {tag!r}.")
        return _READERS[tag](self, content)

    def finish(self) -> None:
        """Refuse unused arrays."""
        for name in self.arrays:
            raise ModelFileError(f"Array {name} is unused.")

    def _list(self, content: Json) -> list[Any]:
        if not isinstance(content, list):
            raise ModelFileError(f"Expected a list of values, got {type(content).__name__}.")
        return [self.decode(item) for item in content]

    def _dict(self, content: Any) -> dict[Any, Any]:
        pairs = [(self.decode(key), self.decode(value)) for key, value in content]
        if pairs and Counter(hash(key) for key, _ in pairs).most_common(1)[0][1] > _MAX_EQUAL_HASHES:
            raise ModelFileError("A dict has too many keys with equal hashes.")
        return dict(pairs)

    def _scalar(self, content: Any) -> Any:
        name, node = content
        value = self.decode(node)
        if name == _TEXT and isinstance(value, str):
            return np.str_(value)
        if name not in NUMBERS or not isinstance(value, (bool, int, float)):
            raise ModelFileError(f"Invalid type {str(name)[:20]!r} of a single value.")
        return NUMBERS[name].type(value)

    def _array(self, name: Any) -> Array:
        values = self.arrays.pop(name, None)
        if values is None:
            raise ModelFileError(f"Array {name!r} is missing or used twice.")
        return values

    def _turned(self, content: Any) -> Array:
        name, axes = content
        values = self._array(name)
        if not isinstance(axes, list) or sorted(axes) != list(range(values.ndim)):
            raise ModelFileError(f"Invalid axes of array {name} of shape {values.shape}.")
        return values.transpose(np.argsort(axes))

    def _values(self, content: Any) -> Array:
        kind, shape, values = content[0], content[1], self._list(content[2])
        if kind not in _ELEMENTS or not all(map(_ELEMENTS[kind], values)):
            raise ModelFileError(f"Invalid array of kind {kind!r} with {len(values)} values.")
        if kind != "O" and len(values) * max(map(len, values), default=0) > MAX_CHARACTERS:
            raise ModelFileError(f"An array of {len(values)} texts is too long.")
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.astype(kind).reshape(shape)

    def _object(self, content: Any) -> Any:
        name, parts = content
        return registry.put_together(name, {part: self.decode(node) for part, node in parts.items()})


_READERS: dict[str, Any] = {
    "tuple": lambda self, content: tuple(self._list(content)),
    "float": lambda _, content: _nonfinite(content),
    "dict": Decoder._dict,
    "bytes": lambda _, content: bytes.fromhex(content),
    "scalar": Decoder._scalar,
    "array": Decoder._array,
    "turned": Decoder._turned,
    "values": Decoder._values,
    "object": Decoder._object,
}
# The elements of arrays of objects, text or bytes.
_ELEMENTS: dict[str, Callable[[Any], bool]] = {
    "O": is_single, "U": lambda value: type(value) is str, "S": lambda value: type(value) is bytes,
}  # fmt: skip


def _axes_in_memory(values: Array) -> list[int]:
    """The axes from the slowest to the fastest, on which the last digits of sums depend."""
    strides = np.empty_like(values, order="K").strides
    return sorted(range(values.ndim), key=lambda axis: -strides[axis])


def _nonfinite(text: Json) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"Expected nan, inf or -inf, got {text!r}.")
    return float(text)
