"""The column of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..data.labels import encode_labels
from ..data.naming import shown
from ..errors import ColumnError, InputError, LabelError
from .coding import arrow_table, distinct_texts, is_numeric
from .findings import Finding
from .sources import listed
from .table import is_text

Array = np.ndarray[Any, Any]

#: More classes than this, with few rows each, are not classes.
_MOST_CLASSES = 20
_FEWEST_ROWS_PER_CLASS = 5


@dataclass(frozen=True)
class Target:
    """The classes of the training rows: what the column is called, what its values are, and which there are."""

    name: str | None
    kind: Literal["text", "integer", "boolean"]
    classes: tuple[Any, ...]

    def describe(self) -> str:
        """One line in words."""
        return f"{self.name or 'labels'}: {len(self.classes)} classes, {listed(self.classes, 10)}"

    def labels(self, batch: Any, codes: Sequence[str]) -> tuple[Array, Array]:
        """The labels of the rows that have one, and which rows those are."""
        if self.name is None:
            labels, present = whole_labels(batch.y), np.ones(len(batch.y), dtype=bool)
        else:
            labels, present = raw_labels(arrow_table(batch)[self.name], self.name, codes, self.classes)
        if self.kind == "text" and labels.dtype.kind != "U":
            labels = np.array([str(v) for v in labels.tolist()])
        known = set(self.classes)
        unknown = (
            [label for label in encode_labels(labels, len(labels))[0].tolist() if label not in known]
            if labels.size
            else []
        )
        if unknown:
            raise LabelError(
                f"Target {self.name!r} has the class {shown(unknown[0])}, which training had not. "
                f"Classes: {listed(self.classes, 10)}."
            )
        return labels, present


def learn_target(
    labels: Array, name: str | None, label: str, n_missing: int = 0
) -> tuple[Target, Array, list[Finding]]:
    """The target, the class code of each label, and what was found."""
    if not labels.size:
        raise InputError(f"Target {name!r} of {label} is missing in every row. Name another column.")
    findings = []
    if n_missing:
        said = f"{n_missing:,} rows have no {name!r} and were left out."
        findings.append(Finding("warning", "target missing", name, said))
    if labels.dtype.kind == "f":
        raise _not_classes(np.unique(labels), labels, name)
    classes, codes = encode_labels(labels, len(labels))
    if classes.size > _MOST_CLASSES and labels.size < _FEWEST_ROWS_PER_CLASS * classes.size:
        raise _not_classes(classes, labels, name)
    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) < 2:
        raise LabelError(
            f"Target {name!r} has only one class, {shown(classes[0])}: nothing can be told apart. Check the column, "
            "and whether rows of the other classes were filtered out."
        )
    for single in classes[counts == 1]:
        said = f"Class {shown(single)} of {name!r} has a single row: nothing can be learned or checked from it."
        findings.append(Finding("warning", "single row", name, said))
    kind = {"b": "boolean", "i": "integer", "u": "integer"}.get(classes.dtype.kind, "text")
    return Target(name, kind, tuple(classes.tolist())), codes, findings  # type: ignore[arg-type]


def _not_classes(values: Array, labels: Array, name: str | None) -> InputError:
    examples = listed(values[:3].tolist())
    what = "continuous" if labels.dtype.kind in "fiu" else "like free text or an identifier"
    return InputError(
        f"Target {name!r} looks {what}: {values.size:,} different values in {labels.size:,} rows, such as "
        f"{examples}. A classifier needs a few classes: cut it into ranges first, or name another column."
    )


def raw_labels(values: Any, name: str | None, codes: Sequence[str], classes: Sequence[Any] = ()) -> tuple[Array, Array]:
    """The labels of the rows that have one, as text, whole numbers or booleans, and which rows those are."""
    import pyarrow as pa

    kind = values.type
    if is_text(kind) or pa.types.is_null(kind):
        return _text_labels(values, codes, classes)
    if pa.types.is_boolean(kind) or is_numeric(kind):
        numbers = np.asarray(values.cast(pa.float64()).to_numpy())
        present = ~np.isnan(numbers)
        return _typed(values, numbers, present), present
    raise ColumnError(f"Target {name!r} holds {kind}: classes are text, whole numbers or true and false.")


def _typed(values: Any, numbers: Array, present: Array) -> Array:
    """Numbers as their owner meant them: whole ones are integers, also where gaps made them floats."""
    import pyarrow as pa

    if pa.types.is_boolean(values.type):
        return numbers[present].astype(bool)
    if pa.types.is_integer(values.type):
        return np.asarray(values.drop_null().to_numpy())
    return whole_labels(numbers[present])


def whole_labels(labels: Array) -> Array:
    """Labels that are whole numbers as integers, others as they are."""
    exact = np.abs(labels) < 2**53
    return labels.astype(np.int64) if exact.all() and np.all(np.mod(labels, 1) == 0) else labels


def _text_labels(values: Any, codes: Sequence[str], classes: Sequence[Any]) -> tuple[Array, Array]:
    texts, index = distinct_texts(values)
    known = set(classes)
    trimmed = [text if text in known else text.strip() for text in texts]
    missing = missing_texts(trimmed, codes, known)
    present = np.array([text not in missing for text in trimmed] + [False])[index]
    return np.array([*trimmed, ""])[index[present]], present


def missing_texts(texts: Sequence[str], codes: Sequence[str], levels: Any = ()) -> set[str]:
    """Those of the texts that stand for a missing value.

    A sign such as ``-`` or ``?`` is a level like the others beside another sign, such as ``+``.
    """
    found = {text for text in texts if text in codes and text not in levels}
    signs = {text for text in texts if text and not any(map(str.isalnum, text))}
    return found - signs if signs - set(codes) else found
