"""What is given beside the rows, checked: labels, weights and offsets, parameters of estimators, and shapes of arrays.

Class labels become codes 0..K-1 in sorted order of the classes. Weights are read as frequencies: weight 3 means the row
stands there three times.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import InputError, LabelError, ParameterError, Part, Setting, WeightError
from ..results import plain, shortened, shown

Array = np.ndarray[Any, Any]

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
    labels = _checked_labels(y, n_rows)
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


def exact_array(labels: Any) -> Array:
    """Labels as an array with every digit of whole numbers; NumPy makes floats of those on both sides of 2**63.

    >>> exact_array([0, 2**64 - 1])
    array([                   0, 18446744073709551615], dtype=uint64)
    """
    try:
        values = np.asarray(labels)
    except Exception as error:  # each library of frames has errors of its own
        raise LabelError(f"The labels cannot be read: {error}. Give text, integers or booleans.") from error
    whole = values.ndim == 1 and values.dtype.kind == "f" and not isinstance(labels, np.ndarray)
    if not whole or not all(isinstance(label, Integral) for label in labels):
        return values
    try:
        return np.array(labels, dtype=np.uint64)
    except OverflowError:
        return np.array(labels, dtype=object)


def _checked_labels(y: Any, n_rows: int) -> Array:
    if y is None:
        raise LabelError("requires y to be passed, but the target y is None: give one class label per row.")
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise LabelError("y is a masked array, whose mask would be lost. Drop the rows without a label.")
    labels = exact_array(y)
    if labels.dtype.kind in "US" and not isinstance(y, np.ndarray):  # text is not made of what is not text
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
        raise LabelError(f"Unknown label type: {labels.dtype}. Labels may be strings, integers or booleans.")
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
    wide = np.uint64 if labels.dtype == np.uint64 else np.int64
    offsets = labels if low == 0 else (labels.astype(wide) - wide(low)).astype(np.int64, copy=False)
    present = np.bincount(offsets) > 0
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    codes = offsets.astype(np.int32) if present.all() else rank[offsets]
    return (np.flatnonzero(present).astype(wide) + wide(low)).astype(labels.dtype), codes


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
    try:
        distinct = set(values)
    except TypeError as error:
        raise LabelError(f"Labels must be strings, integers or booleans ({error}).") from error
    if labels.dtype == object and any(map(is_missing, distinct)):
        row = next(row for row, value in enumerate(values) if is_missing(value))
        raise LabelError(f"Input y contains NaN or None: row {row}. Drop the rows without a label.")
    try:
        ordered = sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in distinct})
        raise LabelError(f"Labels mix types that have no common order ({', '.join(kinds)}): use one type.") from error
    position = position_of(ordered)
    codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
    return np.array(ordered, dtype=labels.dtype), codes


def is_missing(value: Any) -> bool:
    """Whether a value of a column or a label is None, NaN or pandas's NA."""
    pandas = sys.modules.get("pandas")
    if value is None or value is getattr(pandas, "NA", None):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array or the like, which is no single value
        return False


def is_single(value: Any) -> bool:
    """Whether a value is one number, text or nothing, as labels and levels are."""
    return value is None or isinstance(value, (bool, int, float, str, bytes, np.generic))


def _positions(found: Array, classes: Array) -> Array:
    position = position_of(classes.tolist())
    unknown = [value for value in found.tolist() if value not in position]
    if unknown:
        raise LabelError(
            f"Label {unknown[0]!r} is not among the classes of this model ({_listed(classes.tolist())}). Classes must "
            "be declared in the first call: partial_fit(X, y, classes=[...])."
        )
    return np.array([position[value] for value in found.tolist()], dtype=np.int32)


def label_array(labels: list[Any]) -> Array:
    """Labels as an array; text is not made of what is not text."""
    labels = [plain(label) for label in labels]
    kinds = {type(label) for label in labels}
    return exact_array(labels) if len(kinds) == 1 else np.array(labels, dtype=object)


def label_column(name: str, labels: Any) -> Array:
    """One label for each row as an array that keeps its types: numbers beside text stay numbers."""
    if labels is None:
        raise LabelError(f"{name} is None: give one label for each row.")
    values = exact_array(labels)
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        values = np.asarray(labels, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise LabelError(f"{name} must be one column of labels, got shape {values.shape}.")
    if values.size == 0:
        raise LabelError(f"{name} is empty: there is nothing to evaluate.")
    return values


def same_length(**columns: Any) -> None:
    """Refuse columns that do not have one value for each row."""
    lengths = {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"Columns differ in length: {listed}. Give one value for each row in every one of them.")


def encoded(labels: Array) -> tuple[list[Any], Array]:
    """The labels that occur, and the number of each row's label among them."""
    if labels.dtype == object and len({type(label) for label in labels.tolist()}) > 1:
        # Labels of several types, such as numbers beside the word "abstain", in the order they come.
        position: dict[Any, int] = {}
        codes = np.array([position.setdefault(label, len(position)) for label in labels.tolist()], np.int32)
        missing = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
        if missing:
            raise LabelError(f"A label is missing (None or NaN): row {missing[0]}. Drop the rows without a label.")
        return list(position), codes
    found, codes = encode_labels(labels, len(labels))
    return found.tolist(), codes


def codes_among(name: str, labels: Any, classes: Array, *remedy: Part) -> Array:
    """The code of each label among ``classes``; refuses a label that is not there, and says in which row it stands."""
    found, codes = encoded(label_column(name, labels))
    position = position_of(classes.tolist())
    unknown = [label for label in found if label not in position]
    if unknown:
        row = int(np.flatnonzero(codes == found.index(unknown[0]))[0])
        raise unknown_label(name, unknown[0], classes.tolist(), f"row {row}", *(("; ", *remedy) if remedy else ()))
    return np.array([position[label] for label in found], dtype=np.int32)[codes]


def _listed(classes: list[Any]) -> str:
    return ", ".join(map(repr, classes[:8])) + (", ..." if len(classes) > 8 else "")


def unknown_label(name: str, label: Any, classes: list[Any], *more: Part) -> LabelError:
    """The error that names a label which is not among the classes."""
    where = (" (", *more, ").") if more else (".",)
    return LabelError(f"{name} has the label {shown(label)}, which is not among the classes {_listed(classes)}", *where)


def ordered(*groups: list[Any]) -> list[Any]:
    """All labels, each once, sorted."""
    distinct = list(dict.fromkeys(label for group in groups for label in group))
    try:
        return sorted(distinct)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in distinct})
        raise LabelError(
            f"Labels of truth and prediction have no common order ({', '.join(kinds)}): use one type for both, or give "
            "classes= (and actions= for predictions that are not classes)."
        ) from error


def position_of(labels: list[Any]) -> dict[Any, int]:
    return {label: place for place, label in enumerate(labels)}


def check_offset(offset: Any, n_rows: int, n_classes: int) -> Array | None:
    """Known parts of the scores as float64: one for each row, or one for each row and class."""
    if offset is None:
        return None
    values = np.array(offset, dtype=np.float64)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    if values.shape != shape:
        raise InputError(f"offset must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"offset contains NaN or infinity: row {int(np.argwhere(~np.isfinite(values))[0][0])}.")
    return values


def check_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """The weights as float64, or None where every row counts once."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight)
    except Exception as error:  # each library of frames has errors of its own
        raise WeightError(f"sample_weight cannot be read: {error}. Give one number per row.") from error
    if weight.dtype.kind not in "fiub":
        raise WeightError(f"sample_weight must be numbers, got dtype {weight.dtype}.")
    weight = np.full(n_rows, weight, dtype=np.float64) if weight.ndim == 0 else weight.astype(np.float64)
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


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, open_below: bool = False
) -> None:
    """Refuse what is not a number from ``least`` to ``most`` (above ``least``, if ``open_below``)."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))
    if not number or not least <= float(value) <= most or (open_below and float(value) == least):
        raise ParameterError(Setting(name), f" must be {_range(least, most, open_below)}, got {value!r}.")


def check_integer(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ParameterError(Setting(name), f" must be a whole number, at least {least}, got {value!r}.")


def check_choice(name: str, value: Any, allowed: Sequence[str | bool | None]) -> None:
    """Refuse what is none of the names (or None, True, False) that are ``allowed``."""
    if not (value is None or isinstance(value, (str, bool))) or value not in allowed:
        options = " or ".join(map(repr, allowed)) if len(allowed) == 2 else "one of " + ", ".join(map(repr, allowed))
        raise ParameterError(Setting(name), f" must be {options}, got {value!r}.")


def _range(least: float, most: float, open_below: bool) -> str:
    if math.isfinite(most):
        return f"a number {'above' if open_below else 'from'} {least:g} {'and up to' if open_below else 'to'} {most:g}"
    if not math.isfinite(least):
        return "a number"
    return "a positive number" if open_below and least == 0 else f"a number, {least:g} or above"


def require(holds: Any, whole: Any, reason: str) -> None:
    """Refuse an object whose parts do not fit each other, as they may come out of a file."""
    if not holds:
        raise InputError(f"The parts of a {type(whole).__name__} do not fit each other: {reason}.")


def check_types(record: Any) -> None:
    """Refuse a dataclass whose fields are not of the types they declare, as they may come out of a file."""
    for name, declared in get_type_hints(type(record)).items():
        value = getattr(record, name)
        require(_is_of(value, declared), record, f"{name} is {shortened(repr(value), 40)}")


def _is_of(value: Any, declared: Any) -> bool:
    """Whether a value is of a declared type: a class, a literal, a union of them, or a tuple or dict of them."""
    kind, inner = get_origin(declared), get_args(declared)
    if kind in (Union, UnionType):
        return any(_is_of(value, one) for one in inner)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind is tuple:
        return isinstance(value, tuple) and all(_is_of(one, inner[0]) for one in value)
    if kind in (dict, Mapping):
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_is_of(key, inner[0]) and _is_of(one, inner[1]) for key, one in pairs)
    if declared in (int, float):
        return isinstance(value, (int, declared)) and not isinstance(value, bool)
    return is_single(value) if declared is Any else isinstance(value, kind or declared)


def check_shapes(whole: Any, **shapes: str) -> dict[str, int]:
    """The length that each letter of the shapes stands for; refuses parts that are not arrays of floats so shaped.

    >>> from types import SimpleNamespace
    >>> check_shapes(SimpleNamespace(centre=np.zeros(3), coef=np.zeros((2, 3))), centre="p", coef="Kp")
    {'p': 3, 'K': 2}
    """
    sizes: dict[str, int] = {}
    for name, letters in shapes.items():
        array = getattr(whole, name)
        require(isinstance(array, np.ndarray) and array.dtype == np.float64, whole, f"{name} is no array of floats")
        require(array.ndim == len(letters), whole, f"{name} has {array.ndim} dimensions instead of {len(letters)}")
        for letter, length in zip(letters, array.shape, strict=True):
            require(sizes.setdefault(letter, length) == length, whole, f"{name} has the wrong shape {array.shape}")
    return sizes
