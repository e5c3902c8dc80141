"""Class labels as codes 0..K-1 in sorted order of the classes, row weights, and rows with both, in blocks.

Weights are read as frequencies: weight 3 means the row stands there three times. `LabelledRows` is the one form in
which data reach the statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError, LabelError, WeightError
from ..results import quoted, shown
from .rows import Array, Rows, as_rows, dense_parts, is_missing

#: Integer labels are coded by a look-up table while their range is at most this.
_TABLE_RANGE = 1 << 20
#: Text of a fixed width is coded without a Python string per row up to this width and this many classes.
_MIXED_WIDTH = 32
_MIXED_CLASSES = 4096
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def encode_labels(y: Any, n_rows: int, classes: Array | None = None) -> tuple[Array, Array]:
    """The classes, sorted, and the code of each label.

    With ``classes`` given (they must be sorted) the labels have to be among them.

    >>> encode_labels(["b", "a", "b"], 3)
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1], dtype=int32))
    """
    labels = _label_array(y, n_rows)
    if labels.dtype.kind in "iub":
        found, codes = _encode_integers(labels)
    else:
        found, codes = _encode_text(labels) or _encode_by_dictionary(labels)
    return (found, codes) if classes is None else (classes, _positions(found, classes)[codes])


def sorted_classes(classes: Any) -> Array:
    """Declared classes, each once, in sorted order."""
    listed = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else None
    if not listed or np.ndim(classes) != 1:
        raise LabelError(f"classes= must be a list of class labels, got {classes!r}.")
    return encode_labels(classes, len(listed))[0]


def _label_array(y: Any, n_rows: int) -> Array:
    if y is None:
        raise LabelError("requires y to be passed, but the target y is None: give one class label per row.")
    labels = _array_of(y)
    if labels.ndim != 1:
        try:
            from sklearn.utils.validation import column_or_1d  # slow to load

            labels = column_or_1d(labels, warn=True)
        except ValueError as error:
            raise LabelError(f"{error} Give one class label per row.") from error
    if labels.shape[0] != n_rows:
        raise InputError(
            f"X and y differ in length: found input variables with inconsistent numbers of samples: "
            f"[{n_rows}, {labels.shape[0]}]. Give exactly one label per row."
        )
    if labels.dtype.kind == "f":
        _refuse_continuous(labels)
    elif labels.dtype.kind not in "iubUSO":
        raise LabelError(f"Unknown label type: {labels.dtype}. Labels may be strings, integers or booleans.")
    return labels


def _array_of(y: Any) -> Array:
    """The labels as an array; text is not made of what is not text."""
    labels = np.asarray(y)
    if labels.dtype.kind in "US" and not isinstance(y, np.ndarray):
        objects = np.asarray(y, dtype=object)
        if not all(isinstance(label, (str, bytes)) for label in objects.ravel()):
            return objects
    return labels


def _refuse_continuous(labels: Array) -> None:
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise LabelError(f"Input y contains NaN or infinity: row {row}. Drop the rows without a label.")
    try:
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(labels)
    except ValueError as error:
        raise LabelError(f"{error} Labels must be classes: strings, integers or whole numbers.") from error


def _encode_integers(labels: Array) -> tuple[Array, Array]:
    if labels.dtype.kind == "b":
        classes, codes = _encode_integers(labels.view(np.uint8))
        return classes.astype(bool), codes
    low, high = int(labels.min()), int(labels.max())
    if high - low >= _TABLE_RANGE:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int32)
    offsets = labels if low == 0 else labels.astype(np.int64) - low
    present = np.bincount(offsets) > 0
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    codes = offsets.astype(np.int32) if present.all() else rank[offsets]
    return (np.flatnonzero(present) + low).astype(labels.dtype), codes


def _encode_text(labels: Array) -> tuple[Array, Array] | None:
    """Text of a fixed width, told apart by a number mixed from its characters; None where that does not suit."""
    width = labels.dtype.itemsize // 4
    if labels.dtype.kind != "U" or not 0 < width <= _MIXED_WIDTH or not labels.dtype.isnative:
        return None
    letters = np.ascontiguousarray(labels).view(np.uint32).reshape(-1, width)
    mixed = letters[:, 0].astype(np.uint64)
    for column in range(1, width):
        mixed *= _MIXER
        mixed += letters[:, column]
    distinct = np.unique(mixed)
    if distinct.size > _MIXED_CLASSES:
        return None
    places = np.searchsorted(distinct, mixed)
    a_row = np.empty(distinct.size, dtype=np.int64)
    a_row[places] = np.arange(labels.size)
    texts = labels[a_row]
    order = np.argsort(texts)
    rank = np.empty(distinct.size, dtype=np.int32)
    rank[order] = np.arange(distinct.size)
    classes, codes = texts[order], rank[places]
    # Two texts may mix to one number, once in a very long while.
    return (classes, codes) if np.array_equal(classes[codes], labels) else None


def _encode_by_dictionary(labels: Array) -> tuple[Array, Array]:
    values = labels.tolist()
    distinct = set(values)
    if labels.dtype == object and any(map(is_missing, distinct)):
        _refuse_missing(values)
    try:
        ordered = sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in distinct})
        raise LabelError(f"Labels mix types that have no common order ({', '.join(kinds)}): use one type.") from error
    position = {value: code for code, value in enumerate(ordered)}
    codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
    return np.array(ordered, dtype=labels.dtype), codes


def _refuse_missing(values: list[Any]) -> None:
    for row, value in enumerate(values):
        if is_missing(value):
            raise LabelError(f"Input y contains NaN or None: row {row}. Drop the rows without a label.")


def _positions(found: Array, classes: Array) -> Array:
    position = {value: code for code, value in enumerate(classes.tolist())}
    unknown = [value for value in found.tolist() if value not in position]
    if unknown:
        raise LabelError(
            f"Label {unknown[0]!r} is not among the classes of this model ({quoted(classes, 8)}). Classes must be "
            "declared in the first call: partial_fit(X, y, classes=[...])."
        )
    return np.array([position[value] for value in found.tolist()], dtype=np.int32)


def check_offset(offset: Any, n_rows: int, n_classes: int) -> Array | None:
    """Known parts of the scores as float64: one for each row, or one for each row and class."""
    if offset is None:
        return None
    values = np.asarray(offset, dtype=np.float64)
    wanted = [(n_rows,)] if n_classes == 2 else [(n_rows, n_classes)]
    if values.shape not in wanted:
        raise InputError(f"offset must have shape {wanted[0]}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"offset contains NaN or infinity: row {int(np.argwhere(~np.isfinite(values))[0][0])}.")
    return values


def check_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """The weights as float64, or None where every row counts once."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.dtype.kind not in "fiub":
        raise WeightError(f"sample_weight must be numbers, got dtype {weight.dtype}.")
    weight = np.full(n_rows, weight, dtype=np.float64) if weight.ndim == 0 else weight.astype(np.float64, copy=False)
    if weight.ndim != 1:
        raise WeightError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if weight.shape[0] != n_rows:
        raise WeightError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): give exactly one weight per row."
        )
    if not np.isfinite(weight).all():
        raise WeightError(f"sample_weight contains NaN or infinity: row {int(np.argmin(np.isfinite(weight)))}.")
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise WeightError(f"Weights must not be negative: row {row} has weight {weight[row]:g}. Use 0 to leave it out.")
    if not weight.any():
        raise WeightError("All weights are zero: there is no row left to learn from.")
    return weight


@dataclass(frozen=True)
class Block:
    """Some consecutive rows with their class codes and weights; ``start`` is the number of the first one."""

    X: Any
    codes: Array
    weight: Array
    start: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    def dense_parts(self) -> Iterator[Block]:
        """The same rows as dense blocks."""
        for part, where in dense_parts(self.X):
            yield Block(part, self.codes[where], self.weight[where], self.start + where.start)


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a class code and a weight each."""

    rows: Rows
    classes: Array
    codes: Array
    weight: Array | None = None

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def every(self, step: int) -> LabelledRows:
        """Every ``step``-th row with its label and weight."""
        weight = None if self.weight is None else self.weight[::step]
        return LabelledRows(self.rows.every(step), self.classes, np.ascontiguousarray(self.codes[::step]), weight)

    def take(self, chosen: Array) -> LabelledRows:
        """The chosen rows, copied."""
        weight = None if self.weight is None else self.weight[chosen]
        return LabelledRows(self.rows[chosen], self.classes, self.codes[chosen], weight)

    @property
    def spans(self) -> list[range]:
        return self.rows.spans

    @cached_property
    def _ones(self) -> Array:
        return np.ones(min(self.rows.block_rows, self.n_rows))

    def blocks(self, span: range) -> Iterator[Block]:
        """The blocks of one span, in order."""
        for start, stop in self.rows.edges(span):
            weight = self._ones[: stop - start] if self.weight is None else self.weight[start:stop]
            yield Block(self.rows.block(start, stop), self.codes[start:stop], weight, start)


def labelled_rows(X: Any, y: Any, sample_weight: Any = None, classes: Array | None = None) -> LabelledRows:
    """``X``, ``y`` and ``sample_weight`` checked and brought together, without copying ``X``."""
    rows = as_rows(X)
    found, codes = encode_labels(y, rows.n_rows, classes)
    if classes is None and found.size < 2:
        raise LabelError(
            f"y has only one class, {shown(found[0])}: a classifier needs at least two classes. Check the label column."
        )
    return LabelledRows(rows, found, codes, check_weights(sample_weight, rows.n_rows))
