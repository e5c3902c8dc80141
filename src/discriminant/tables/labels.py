"""Labels of a table: the classes of the training rows, and the class of each row of another table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import exact_array
from ..errors import ColumnError
from ..results import quoted
from .layouts import Values, is_numeric, is_text
from .levels import UNSEEN_PLACE, LevelPlaces, ValueType
from .values import distinct_texts

#: Integers below this are exact as floats.
MAX_EXACT_INTEGER: Final = 2**53


@dataclass(frozen=True)
class Target:
    """The class column: its name, the type of its values, and the classes of the training rows.

    ``spellings`` are pairs of another spelling in the table and its class; rows of the classes ``left_out`` are
    excluded.
    """

    name: str | None
    kind: Literal["text", "integer", "boolean"]
    classes: tuple[Any, ...]
    spellings: tuple[tuple[str, str], ...] = ()
    left_out: tuple[Any, ...] = ()

    def describe(self) -> str:
        """One line in words."""
        return f"{self.name or 'labels'}: {len(self.classes)} classes, {quoted(self.classes, 10)}"


def raw_labels(
    values: Values, name: str | None, codes: Sequence[str], classes: Sequence[object] = ()
) -> tuple[Array, Array]:
    """The labels of the labelled rows as text, integers or Booleans, and a mask of these rows."""
    kind = values.type
    if is_text(kind) or pa.types.is_null(kind):
        return _text_labels(values, codes, classes)
    if pa.types.is_floating(kind):  # gaps turn integers into floats
        numbers = np.asarray(values.cast(pa.float64()).to_numpy())
        present = ~np.isnan(numbers)
        return whole_labels(numbers[present]), present
    if pa.types.is_boolean(kind) or is_numeric(kind):
        given = values.drop_null()
        given = _without_decimals(given) if pa.types.is_decimal(kind) else given
        return np.asarray(given.to_numpy()), np.asarray(values.is_valid().to_numpy())
    raise ColumnError(
        f"Target {name!r} has values of type {kind}. Expected text, integers or booleans: convert the column."
    )


def _without_decimals(decimals: Values) -> Values:
    """Decimals as integers; as text if they are whole but too large, else as floats."""
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return decimals.cast(kind)
    return decimals.cast(pa.string() if decimals.type.scale == 0 else pa.float64())


def whole_labels(labels: Array) -> Array:
    """Float labels as integers, if all are whole."""
    is_exact = np.abs(labels) < MAX_EXACT_INTEGER
    return labels.astype(np.int64) if is_exact.all() and np.all(np.mod(labels, 1) == 0) else labels


def _text_labels(values: Values, codes: Sequence[str], classes: Sequence[object]) -> tuple[Array, Array]:
    texts, index = distinct_texts(values)
    known = set(classes)
    trimmed = [text if text in known else text.strip() for text in texts]
    missing = missing_texts(trimmed, codes, known)
    present = np.array([text not in missing for text in trimmed] + [False])[index]
    return np.array([*trimmed, ""])[index[present]], present


def respelled(labels: Array, spellings: Mapping[str, str]) -> Array:
    """The labels with one spelling per class."""
    if not spellings or not labels.size:
        return labels
    distinct, index = np.unique(labels, return_inverse=True)
    return np.array([spellings.get(label, label) for label in distinct.tolist()])[index]


_KINDS_OF_LABELS = {"U": "text", "b": "boolean"}


def as_classes(labels: Array, target: Target) -> Array:
    """Labels that were read as a different type from training, as the classes with the same meaning.

    A reader may convert text to numbers or Booleans if a table has no other classes, and vice versa.
    """
    if not labels.size or _KINDS_OF_LABELS.get(labels.dtype.kind, "integer") == target.kind:
        return labels
    known = (*target.classes, *target.left_out)
    texts = {str(label): place for place, label in enumerate(known)}
    places = LevelPlaces(texts | {text: texts[label] for text, label in target.spellings if label in texts})
    kind: ValueType = {"U": "text", "b": "truth"}.get(labels.dtype.kind, "number")  # type: ignore[assignment]
    distinct, index = np.unique(labels, return_inverse=True)
    meant = [(str(label), places.place(str(label), kind)) for label in distinct.tolist()]
    return exact_array([text if place in (None, UNSEEN_PLACE) else known[place] for text, place in meant])[index]


def missing_texts(texts: Collection[str], codes: Sequence[str], levels: Collection[object] = ()) -> set[str]:
    """The texts that stand for a missing value.

    A sign such as ``-`` or ``?`` is a level if another sign, such as ``+``, occurs.
    """
    found = {text for text in texts if text in codes and text not in levels}
    signs = {text for text in texts if text and not any(map(str.isalnum, text))}
    return found - signs if signs - set(codes) else found
