"""Class labels: validation, encoding as 0..K-1 in sorted order of the classes, and comparison."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence, Sized
from numbers import Integral
from typing import Any, Final

import numpy as np

from ..arrays import Array, LabelsLike
from ..errors import InputError, LabelError, ParameterError, Part, Setting
from ..results import plain, quoted, shown

#: Integer labels within this range are encoded by a look-up table, others by sorting.
MAX_TABLE_RANGE: Final = 1 << 20


def encode_labels(y: LabelsLike | None, n_rows: int, classes: Array | None = None) -> tuple[Array, Array]:
    """The sorted classes and the code of each label; with ``classes`` (sorted), labels must be among them.

    >>> encode_labels(["b", "a", "b"], 3)
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1], dtype=int32))
    """
    labels = _checked_labels(y, n_rows)
    if labels.dtype.kind in "iub":
        found, codes = _encode_integers(labels)
    else:
        found, codes = _encode_by_dictionary(labels)
    return (found, codes) if classes is None else (classes, _positions(found, classes)[codes])


def sorted_classes(classes: LabelsLike) -> Array:
    """The given classes, each once, sorted."""
    listed = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else None
    if not listed or np.asarray(classes).ndim != 1:
        raise LabelError(f"classes must be a list of class labels, got {classes!r}.")
    return encode_labels(classes, len(listed))[0]


def class_order(classes: Array, given: Any, declared: list[Any] | None = None) -> Array | None:
    """The codes of the classes from the lowest to the highest, by the order given or declared; None without any."""
    known = position_of(classes.tolist())
    if given is None and declared is None:
        return None
    order = _checked_order(given, known) if given is not None else [label for label in declared or () if label in known]
    outside = [label for label in known if label not in order]
    if outside:
        raise LabelError(
            f"Class {shown(outside[0])} is not in the order of the classes, {order}. Add it to ",
            Setting("classes_order"), ".",
        )  # fmt: skip
    return np.array([known[label] for label in order])


def check_order(given: Any) -> None:
    """Raise an error unless this is None or a list of classes."""
    if given is not None and (isinstance(given, str) or np.ndim(given) != 1):
        raise ParameterError(Setting("classes_order"), f" must be a list of classes, got {given!r}.")


def without_repeats(given: Iterable[Hashable]) -> list[Any]:
    """An order of classes as a list; raises an error if it has a class twice."""
    order = [plain(label) for label in given]
    twice = [label for label in order if order.count(label) > 1]
    if twice:
        raise ParameterError(Setting("classes_order"), f" has class {shown(twice[0])} twice. List each class once.")
    return order


def _checked_order(given: Any, known: dict[Any, int]) -> list[Any]:
    order = without_repeats(given)
    absent = [label for label in order if label not in known]
    if absent == order and all(isinstance(label, int) for label in known):
        raise LabelError(
            f"None of the classes {quoted(order)} has rows: y has the integers {quoted(known)}. If scikit-learn's "
            "cross_val_predict encoded the labels, use discriminant.cross_validate, or encode them from the lowest to "
            "the highest class and leave out ", Setting("classes_order"), ".",
        )  # fmt: skip
    if absent:
        raise LabelError(f"Class {shown(absent[0])} has no rows. Leave it out of ", Setting("classes_order"), ".")
    return order


def declared_order(labels: Any) -> list[Any] | None:
    """The order of classes that a column declares: ordered categories of pandas, polars or Arrow; None without any.

    >>> import pandas as pd
    >>> declared_order(pd.Categorical(["low", "high"], ["low", "high"], ordered=True))
    ['low', 'high']
    """
    kind: Any = getattr(labels, "dtype", None)
    if getattr(kind, "ordered", False):
        return [plain(label) for label in kind.categories]
    if type(kind).__module__.partition(".")[0] == "polars" and type(kind).__name__ == "Enum":
        return list(kind.categories)
    arrow = getattr(labels, "type", None)
    if getattr(arrow, "ordered", False):
        whole = labels.unify_dictionaries().combine_chunks() if hasattr(labels, "chunks") else labels
        return list(whole.dictionary.to_pylist())
    return None


def exact_array(labels: LabelsLike) -> Array:
    """Labels as an array without rounding integers; NumPy converts integers on both sides of 2**63 to floats.

    >>> exact_array([0, 2**64 - 1])
    array([                   0, 18446744073709551615], dtype=uint64)
    """
    try:
        values = np.asarray(labels)
    except BaseException as error:  # frame libraries raise various errors; a panic of polars 1 is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise LabelError(f"Labels cannot be converted to an array: {error}. Use text, integers or booleans.") from error
    whole = values.ndim == 1 and values.dtype.kind == "f" and not isinstance(labels, np.ndarray)
    if not whole or not isinstance(labels, Iterable) or not all(isinstance(label, Integral) for label in labels):
        return values
    try:
        return np.array(labels, dtype=np.uint64)
    except OverflowError:
        return np.array(labels, dtype=object)


def _checked_labels(y: LabelsLike | None, n_rows: int) -> Array:
    if y is None:
        raise LabelError("requires y to be passed, but the target y is None. Give one class label per row.")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise LabelError("y is a masked array, which is not supported. Drop the rows without a label.")
    labels = exact_array(y)
    if labels.dtype.kind in "US" and not isinstance(y, np.ndarray):  # other types must not be converted to text
        objects = np.asarray(y, dtype=object)
        labels = labels if all(isinstance(label, (str, bytes)) for label in objects.ravel()) else objects
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
        raise LabelError(f"Unknown label type: {labels.dtype}. Use text, integers or booleans.")
    return labels


def _refuse_continuous(labels: Array) -> None:
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise LabelError(f"Input y contains NaN or infinity: row {row}. Drop the rows without a label.")
    try:
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(labels)
    except ValueError as error:
        raise LabelError(f"{error} Labels must be classes: text, integers or booleans.") from error


def _encode_integers(labels: Array) -> tuple[Array, Array]:
    if labels.dtype.kind == "b":
        classes, codes = _encode_integers(labels.view(np.uint8))
        return classes.astype(bool), codes
    low, high = int(labels.min()), int(labels.max())
    if high - low >= MAX_TABLE_RANGE:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int32)
    kind = np.uint64 if labels.dtype == np.uint64 else np.int64
    offsets = (labels if low == 0 else labels.astype(kind) - kind(low)).astype(np.int64, copy=False)
    present = np.bincount(offsets) > 0
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    codes = offsets.astype(np.int32) if present.all() else rank[offsets]
    return (np.flatnonzero(present).astype(kind) + kind(low)).astype(labels.dtype), codes


def _encode_by_dictionary(labels: Array) -> tuple[Array, Array]:
    values = labels.tolist()
    try:
        distinct = set(values)
    except TypeError as error:
        raise LabelError(f"Labels must be text, integers or booleans, got other types ({error}).") from error
    if labels.dtype == object and any(map(is_missing, distinct)):
        row = next(row for row, value in enumerate(values) if is_missing(value))
        raise LabelError(f"Input y contains NaN or None: row {row}. Drop the rows without a label.")
    try:
        ordered = sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in distinct})
        raise LabelError(f"Labels mix types that cannot be sorted: {', '.join(kinds)}. Use one type.") from error
    position = position_of(ordered)
    codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
    return np.array(ordered, dtype=labels.dtype), codes


def is_missing(value: Any) -> bool:
    """Whether a value or label is None, NaN or pandas.NA."""
    pandas = sys.modules.get("pandas")
    if value is None or value is getattr(pandas, "NA", None):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # not a scalar
        return False


def is_single(value: Any) -> bool:
    """Whether a value is a scalar that labels and levels may have: a number, text or None."""
    return value is None or isinstance(value, (bool, int, float, str, bytes, np.generic))


def _positions(found: Array, classes: Array) -> Array:
    position = position_of(classes.tolist())
    unknown = [value for value in found.tolist() if value not in position]
    if unknown:
        raise LabelError(
            f"Label {unknown[0]!r} is not a class of this model ({_listed(classes.tolist())}). Give all classes in the "
            "first call: partial_fit(X, y, classes=[...])."
        )
    return np.array([position[value] for value in found.tolist()], dtype=np.int32)


def label_array(labels: Sequence[Hashable]) -> Array:
    """Labels as an array; labels of several types are not converted to text."""
    values = [plain(label) for label in labels]
    kinds = {type(value) for value in values}
    return exact_array(values) if len(kinds) == 1 else np.array(values, dtype=object)


def label_column(name: str, labels: LabelsLike | None) -> Array:
    """A column of labels as an array that keeps their types: a mixture of text and numbers stays one."""
    if labels is None:
        raise LabelError(f"{name} is None. Give one label per row.")
    values = exact_array(labels)
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        values = np.asarray(labels, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise LabelError(f"{name} must be one column of labels, got shape {values.shape}.")
    if values.size == 0:
        raise LabelError(f"{name} is empty. Give at least one row.")
    return values


def same_length(**columns: Sized | None) -> None:
    """Raise an error unless all columns have the same length."""
    lengths = {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"Columns differ in length: {listed}. Give one value per row in each of them.")


def encoded(labels: Array) -> tuple[list[Any], Array]:
    """The distinct labels, and the index of each row's label among them."""
    if labels.dtype == object and len({type(label) for label in labels.tolist()}) > 1:
        # Labels of several types, such as numbers and the word "abstain", in order of appearance.
        position: dict[Any, int] = {}
        codes = np.array([position.setdefault(label, len(position)) for label in labels.tolist()], np.int32)
        missing = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
        if missing:
            raise LabelError(f"Missing label (None or NaN) in row {missing[0]}. Drop the rows without a label.")
        return list(position), codes
    found, codes = encode_labels(labels, len(labels))
    return found.tolist(), codes


def codes_among(name: str, labels: LabelsLike | None, classes: Array, *remedy: Part) -> Array:
    """The code of each label among ``classes``; the error about an unknown label names its row."""
    found, codes = encoded(label_column(name, labels))
    position = position_of(classes.tolist())
    unknown = [label for label in found if label not in position]
    if unknown:
        row = int(np.flatnonzero(codes == found.index(unknown[0]))[0])
        raise unknown_label(name, unknown[0], classes.tolist(), f"row {row}", *(("; ", *remedy) if remedy else ()))
    return np.array([position[label] for label in found], dtype=np.int32)[codes]


def _listed(classes: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, classes[:8])) + (", ..." if len(classes) > 8 else "")


def unknown_label(name: str, label: Hashable, classes: Sequence[Hashable], *more: Part) -> LabelError:
    """The error about a label that is not among the classes."""
    where = (" (", *more, ").") if more else (".",)
    return LabelError(
        f"{name} has the label {shown(label)}, which is not one of the classes {_listed(classes)}", *where
    )


def ordered(*groups: Iterable[Hashable]) -> list[Any]:
    """All distinct labels, sorted."""
    distinct = list(dict.fromkeys(label for group in groups for label in group))
    try:
        return sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in distinct})
        raise LabelError(
            f"True and predicted labels mix types that cannot be sorted: {', '.join(kinds)}. Use one type for both, "
            "or give classes= (and actions= for predictions that are not classes)."
        ) from error


def position_of(labels: Iterable[Hashable]) -> dict[Any, int]:
    """The index of each label."""
    return {label: place for place, label in enumerate(labels)}
