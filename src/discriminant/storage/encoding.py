"""Values as JSON: plain ones as they are, everything else as an object with one key that says what it is.

=================================  ====================================================================
``{"float": "nan"}``               nan, inf or -inf (finite floats are JSON numbers)
``{"tuple": [...]}``               lists are JSON lists
``{"dict": [[key, value], ...]}``  keys of any kind
``{"bytes": "00ff"}``
``{"scalar": ["<f8", 0.5]}``       a NumPy number, truth value or text with its type
``{"array": "arrays/0.npy"}``      an array in an entry of its own
``{"turned": [..., [1, 0]]}``      one whose axes lie in memory in this order, and are so in the entry
``{"objects": [[2], ["a", 1]]}``   an array of Python objects: shape and values, which are single ones
``{"object": ["Name", {...}]}``    a known class (`registry`) and its parts by name
=================================  ====================================================================
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import is_single
from ..errors import ModelFileError
from . import registry
from .archive import NUMBERS, array_bytes, array_name, read_array

#: How a single text of NumPy's is marked, whose own type has the number of its letters.
_TEXT = "<U"
#: As many keys may have one hash by chance (-1 and -2, powers of two); of a file made to be slow, thousands have.
_MOST_EQUAL_HASHES = 64
#: Axes of an array.
_MOST_AXES = 8


class Encoder:
    """Values to JSON; arrays gather in ``arrays`` by the name of their entry."""

    def __init__(self) -> None:
        self.arrays: dict[str, bytes] = {}

    def encode(self, value: Any, where: str) -> Any:
        """The JSON of a value; ``where`` is how a message calls it."""
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

    def _scalar(self, value: Any, where: str) -> Any:
        name = _TEXT if isinstance(value, str) else value.dtype.str
        if name != _TEXT and name not in NUMBERS:
            raise ModelFileError(f"{where} is a {value.dtype}, which a model file cannot hold. Use a plain number.")
        return {"scalar": [name, self.encode(value.item(), where)]}

    def _array(self, values: Array, where: str) -> Any:
        if values.dtype.kind == "O":
            single = values.ravel().tolist()
            for value in single:
                if not is_single(value):
                    raise ModelFileError(registry.refusal(value, where))
            return {"objects": [list(values.shape), self._each(single, where)]}
        name, axes = array_name(len(self.arrays)), _axes_in_memory(values)
        self.arrays[name] = array_bytes(values.transpose(axes), where)
        return {"array": name} if axes == sorted(axes) else {"turned": [name, axes]}


class Decoder:
    """JSON back to values. Each array is taken once: what comes out is no larger than what is in the file."""

    def __init__(self, arrays: dict[str, bytes]) -> None:
        self.arrays = dict(arrays)

    def decode(self, node: Any) -> Any:
        """The value that was encoded so."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ModelFileError(f"Expected one key that says what a value is, got {sorted(node)[:5]}.")
        ((tag, content),) = node.items()
        if tag not in _READERS:
            raise ModelFileError(f"{tag!r} is not a kind of value this version knows.")
        return _READERS[tag](self, content)

    def finish(self) -> None:
        """Refuse arrays that nothing asked for."""
        for name in self.arrays:
            raise ModelFileError(f"{name} belongs to no part of the model.")

    def _list(self, content: Any) -> list[Any]:
        if not isinstance(content, list):
            raise ModelFileError(f"Expected a list of values, got {type(content).__name__}.")
        return [self.decode(item) for item in content]

    def _dict(self, content: Any) -> dict[Any, Any]:
        pairs = [(self.decode(key), self.decode(value)) for key, value in content]
        if pairs and Counter(hash(key) for key, _ in pairs).most_common(1)[0][1] > _MOST_EQUAL_HASHES:
            raise ModelFileError("A dict has keys that were made to be slow to look up.")
        return dict(pairs)

    def _scalar(self, content: Any) -> Any:
        name, node = content
        value = self.decode(node)
        if name == _TEXT and isinstance(value, str):
            return np.str_(value)
        if name not in NUMBERS or not isinstance(value, (bool, int, float)):
            raise ModelFileError(f"{str(name)[:20]!r} is not the type of this single value.")
        return NUMBERS[name].type(value)

    def _array(self, name: Any) -> Array:
        content = self.arrays.pop(name, None)
        if content is None:
            raise ModelFileError(f"The array {name!r} is missing, or asked for twice.")
        return read_array(name, content)

    def _turned(self, content: Any) -> Array:
        name, axes = content
        values = self._array(name)
        if not isinstance(axes, list) or sorted(axes) != list(range(values.ndim)):
            raise ModelFileError(f"The axes of {name} do not fit its shape {values.shape}.")
        return values.transpose(np.argsort(axes))

    def _objects(self, content: Any) -> Array:
        shape, values = content[0], self._list(content[1])
        sizes = isinstance(shape, list) and len(shape) <= _MOST_AXES and all(type(n) is int and n >= 0 for n in shape)
        if not sizes or math.prod(shape) != len(values) or not all(map(is_single, values)):
            raise ModelFileError(f"{len(values)} values do not fill an array of objects.")
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.reshape(shape)

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
    "objects": Decoder._objects,
    "object": Decoder._object,
}


def _axes_in_memory(values: Array) -> list[int]:
    """The axes from the slowest to the fastest: sums of products may depend on them in the last digit."""
    strides = np.empty_like(values, order="K").strides
    return sorted(range(values.ndim), key=lambda axis: -strides[axis])


def _nonfinite(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"{text!r} is not one of nan, inf and -inf.")
    return float(text)
