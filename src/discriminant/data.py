"""What comes in, checked once at the edge: rows, labels, weights, parameters of estimators, and shapes of arrays.

Rows of numbers may be a NumPy array, a pandas or polars frame, or a CSR matrix. `LabelledRows`, with a class code and a
weight for each row, is the one form in which data reach the statistics. Nothing is copied here. A block of rows is cut
out on demand and only that block is converted, so float32 stays float32 in memory and a frame never has a second, dense
twin. `MixedRows` reads columns of different distributions: numbers beside categories, counts and yes/no columns.

Class labels become codes 0..K-1 in sorted order of the classes. Weights are read as frequencies: weight 3 means the row
stands there three times.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Literal, Self, TypeGuard, Union, get_args, get_origin, get_type_hints

import numpy as np

from .arrays import Array
from .dependencies import Deferred
from .errors import ColumnError, DtypeError, InputError, LabelError, ParameterError, Part, Setting, WeightError
from .results import plain, shortened, shown

nw: Any = Deferred("narwhals.stable.v2")  # slow to load; a table that was coded from a file is no frame

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
    except BaseException as error:  # each library of frames has errors of its own; a panic of polars 1 is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
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
    offsets = (labels if low == 0 else labels.astype(wide) - wide(low)).astype(np.int64, copy=False)
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


def has_fractions(weight: Array | None) -> TypeGuard[Array]:
    """Whether weights are importances of rows: some are not whole numbers, and so no frequencies."""
    return weight is not None and not np.array_equal(weight, np.rint(weight))


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


#: A block of this size is worth the steps around it and, with its float64 working copy, small beside any cache.
_BLOCK_BYTES = 6_600_000
#: Wide rows: fewer than this many rows a block would make the p x p updates costlier than the rows themselves,
_WIDE_BLOCK_ROWS = 256
#: unless the block would then outgrow the memory we allow ourselves.
_WIDE_BLOCK_BYTES = 12_000_000
_MOST_BLOCK_ROWS = 16_384
_MOST_SPANS = 32


class Rows(ABC):
    """``n_rows`` x ``n_columns`` numbers that are read in blocks; ``names`` are those of the columns, if they have any.

    Of columns that code a table it may be known which are ``marks``, 1 in the rows of a level and else 0, and which are
    ``redundant``, the sum of others and a constant, because every level of a category has a column: arrays of bool.

    Rows of an array or a CSR matrix can be given to an estimator in its place, and what is taken from them by
    ``rows[index]`` keeps the names. Where another library wants the values themselves, they are ``rows.values``.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None = None
    marks: Array | None = None
    redundant: Array | None = None

    @abstractmethod
    def block(self, start: int, stop: int) -> Any:
        """Rows ``start`` to ``stop``: a C-contiguous float32 or float64 array, or a CSR matrix."""

    def every(self, step: int) -> Rows:
        """One row of every ``step``, by `drawn`."""
        return self if step == 1 else self[drawn(self.n_rows, step)]

    @abstractmethod
    def take(self, chosen: Array) -> Any:
        """The chosen rows as a block."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, chosen: Any) -> Rows:
        """Some rows, by their numbers, with the names of the columns."""
        chosen = chosen[0] if isinstance(chosen, tuple) else chosen  # scikit-learn asks for [rows, ...]
        return as_rows(self.take(chosen), self.names)

    def number_label(self, j: int) -> str:
        """How an error message calls the ``j``-th column of numbers."""
        return self.column_label(j)

    def column_label(self, j: int) -> str:
        """How an error message calls column ``j``."""
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    @cached_property
    def block_rows(self) -> int:
        """Rows of a block: a matter of their width alone, never of the number of threads."""
        return rows_of_width(self.n_columns)

    def in_blocks(self, n_rows: int) -> Self:
        """The same rows in blocks of at most so many, for passes that have much to do with each of them."""
        if n_rows >= self.block_rows:
            return self
        rows = copy(self)
        rows.__dict__.pop("spans", None)
        rows.block_rows = n_rows
        return rows

    @cached_property
    def spans(self) -> list[range]:
        """Consecutive runs of block starts; each is reduced by one worker, then they are merged in order.

        They depend on the shape alone, which is what makes results the same for any number of threads.
        """
        starts = range(0, self.n_rows, self.block_rows)
        # A span's statistic may be p x p: with fewer than p rows it would cost more to merge than to make.
        count = max(1, min(_MOST_SPANS, len(starts), self.n_rows // max(self.n_columns, 1)))
        return consecutive_runs(starts, count)

    def edges(self, starts: range) -> Iterator[tuple[int, int]]:
        """Start and stop of each block of a span."""
        for start in starts:
            yield start, min(start + self.block_rows, self.n_rows)

    def blocks(self, span: Any) -> Iterator[tuple[Any, slice]]:
        """The blocks of a span, and the numbers of their rows."""
        for start, stop in self.edges(span):
            yield self.block(start, stop), slice(start, stop)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Raise an `InputError` that names the first NaN or infinity, if there is one, and its column by ``label``."""
        for span in self.spans:
            for block, where in self.blocks(span):
                bad = ~np.isfinite(block)
                if bad.any():
                    i, j = np.argwhere(bad)[0]
                    raise_nonfinite(block[i, j], where.start + int(i), (label or self.column_label)(int(j)))

    def largest_values(self) -> Array:
        """The largest absolute value of each column of numbers."""
        blocks = (block for span in self.spans for block, _ in self.blocks(span))
        return np.max([largest_of_columns(block) for block in blocks], axis=0)


def largest_of_columns(block: Any) -> Array:
    largest = abs(block).max(axis=0)
    return np.asarray(largest.toarray()[0] if is_sparse(largest) else largest, dtype=np.float64)


def raise_nonfinite(value: float, row: int, column: str) -> None:
    what = "NaN" if np.isnan(value) else "infinity"
    raise InputError(
        f"Input X contains {what}: {column}, row {row}. Every value must be a finite number: "
        "drop such rows, or fill them in first (for example with sklearn.impute.SimpleImputer)."
    )


class Source(Rows):
    """Rows that are read anew in every pass, with labels beside them: they stand in files, or on other machines."""

    executor: Any  #: who reads them

    @abstractmethod
    def labelled(self, classes: Array | None = None) -> Any:
        """The rows with their labels: what `LabelledRows` is to rows in memory."""

    @abstractmethod
    def gathered(self, *who: Part) -> LabelledRows:
        """All rows, at hand, for those who cannot do without; refuses before reading what would not fit."""

    @abstractmethod
    def learned(self, options: Any) -> Any:
        """How the columns are to be coded, by all rows: a schema, and what was found."""

    @abstractmethod
    def coded(self, schema: Any) -> Source:
        """The rows as a schema codes them."""

    def block(self, start: int, stop: int) -> Any:
        raise self._far(f"rows {start} to {stop}")

    def every(self, step: int) -> Rows:
        raise self._far(f"every {step}-th row")

    def take(self, chosen: Array) -> Any:
        raise self._far(f"{len(chosen)} rows")

    def _far(self, wanted: str) -> InputError:
        return InputError(
            f"This needs {wanted} at hand, and a dataset is read from the beginning to the end. Give it rows in memory."
        )


class MatrixRows(Rows):
    """Rows of a matrix, dense or sparse."""

    def __init__(
        self,
        values: Any,
        names: Sequence[str] | None = None,
        marks: Array | None = None,
        redundant: Array | None = None,
    ) -> None:
        self.values = values
        self.n_rows, self.n_columns = values.shape
        self.names = None if names is None else tuple(names)
        self.marks, self.redundant = marks, redundant

    def __getitem__(self, chosen: Any) -> Self:
        """Some rows with the names: by a slice, their numbers or a mask. scikit-learn writes ``rows[index, ...]``."""
        values = self.values[chosen[0] if isinstance(chosen, tuple) else chosen]
        return type(self)(values, self.names, self.marks, self.redundant)


class DenseRows(MatrixRows):
    """Rows of a NumPy array."""

    @property
    def dtype(self) -> Any:
        own = self.values.dtype
        return own if own in (np.float32, np.float64) else np.dtype(np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype, copy=copy)

    def block(self, start: int, stop: int) -> Array:
        return np.ascontiguousarray(self.values[start:stop], dtype=self.dtype)

    def every(self, step: int) -> Self:
        if step == 1:
            return self
        values = self.values.take(drawn(self.n_rows, step), axis=0)  # in half the time of an index
        return type(self)(values, self.names, self.marks, self.redundant)

    def take(self, chosen: Array) -> Array:
        return np.ascontiguousarray(self.values[chosen], dtype=self.dtype)


class FrameRows(Rows):
    """Rows of a pandas, polars or pyarrow frame, all of whose columns are numbers."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape
        self.names = tuple(map(str, frame.columns))
        _refuse_columns_that_are_not_numbers(frame)
        single = all(dtype == nw.Float32 for dtype in frame.schema.values())
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def block(self, start: int, stop: int) -> Array:
        values = self.frame[start:stop].to_numpy()
        if values.dtype == object:  # a nullable column with holes: they become NaN and are named as such
            values = _floats([[np.nan if is_missing(v) else v for v in row] for row in values])
        return np.ascontiguousarray(values, dtype=self.dtype)

    def take(self, chosen: Array) -> Array:
        return FrameRows(self.frame[chosen.tolist(), :]).block(0, len(chosen))


class SparseRows(MatrixRows):
    """Rows of a CSR matrix."""

    @cached_property
    def block_rows(self) -> int:
        return rows_of_width(1 + self.values.nnz // max(self.n_rows, 1))

    def block(self, start: int, stop: int) -> Any:
        from scipy.sparse import csr_matrix  # slow to load, and loaded where rows are sparse

        whole, first, last = self.values, self.values.indptr[start], self.values.indptr[stop]
        part = (whole.data[first:last], whole.indices[first:last], whole.indptr[start : stop + 1] - first)
        return csr_matrix(part, shape=(stop - start, self.n_columns), copy=False)

    def take(self, chosen: Array) -> Any:
        return self.values[chosen]

    @property
    def spans(self) -> list[range]:
        """Statistics of sparse rows are of the size of a row: a few rows a span are enough."""
        return consecutive_runs(range(0, self.n_rows, self.block_rows), _MOST_SPANS)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        bad = np.flatnonzero(~np.isfinite(self.values.data))
        if bad.size:
            row = int(np.searchsorted(self.values.indptr, bad[0], side="right")) - 1
            column = (label or self.column_label)(int(self.values.indices[bad[0]]))
            raise_nonfinite(self.values.data[bad[0]], row, column)


def drawn(n_rows: int, step: int) -> Array:
    """The numbers of a sample: one row of each run of ``step``, drawn by a generator of fixed seed.

    Sorted rows have all their parts in it, and rows with a period cannot fool it, as they would every ``step``-th row.
    """
    starts = np.arange(0, n_rows, step)
    return np.minimum(starts + np.random.default_rng(step).integers(0, step, len(starts)), n_rows - 1)


def fold_of_rows(first: int, count: int, n_folds: int) -> Array:
    """The folds of ``count`` consecutive rows."""
    row = np.arange(first, first + count, dtype=np.int64)
    # A fixed, irregular sequence of non-negative integers (the mixing steps of SplitMix64).
    mixed = (row // n_folds).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (row + ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)) % n_folds


def rows_of_width(n_columns: int) -> int:
    """How many rows of this width make a good block."""
    row_bytes = 8 * max(n_columns, 1)
    wide = min(_WIDE_BLOCK_ROWS, max(_WIDE_BLOCK_BYTES // row_bytes, 1))
    return int(np.clip(_BLOCK_BYTES // row_bytes, wide, _MOST_BLOCK_ROWS))


def consecutive_runs(starts: range, most: int) -> list[range]:
    """The starts in at most ``most`` runs of about the same length."""
    count = min(most, len(starts))
    edges = np.linspace(0, len(starts), count + 1).astype(int)
    return [starts[a:b] for a, b in pairwise(edges)]


def dense_rows(block: Any) -> Array:
    """The block as a C-contiguous array."""
    return block.toarray(order="C") if is_sparse(block) else block


def dense_parts(block: Any) -> Iterator[tuple[Array, slice]]:
    """The block as one array, or a sparse one in parts that do not outgrow a dense block."""
    if not is_sparse(block):
        yield block, slice(0, len(block))
        return
    step = rows_of_width(block.shape[1])
    for start in range(0, block.shape[0], step):
        where = slice(start, min(start + step, block.shape[0]))
        yield block[where].toarray(order="C"), where


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix of SciPy; where SciPy was not loaded, nothing is."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_dask(X: Any) -> bool:
    """Whether this is a Dask array, frame or series; nothing is loaded to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def is_spark(X: Any) -> bool:
    """Whether this is a Spark frame."""
    return type(X).__module__.startswith("pyspark.") and hasattr(X, "mapInArrow")


def is_collection(X: Any) -> bool:
    """Whether this is a table that lies in partitions: `partitions.frames` reads them."""
    return is_dask(X) or is_spark(X)


def two_valued(rows: Rows) -> tuple[Array, Array, Array]:
    """Which columns have two different values, the lower one and the step to the other."""
    low, high, two = np.full(rows.n_columns, np.inf), np.full(rows.n_columns, -np.inf), np.ones(rows.n_columns, bool)
    for X in _dense_blocks(rows):
        low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
    for X in _dense_blocks(rows):
        two &= (np.equal(X, low) | np.equal(X, high)).all(axis=0)
        if not two.any():
            break
    return two & (high > low), low, high - low


def _dense_blocks(rows: Rows) -> Iterator[Array]:
    for span in rows.spans:
        for block, _ in rows.blocks(span):
            yield from (X for X, _ in dense_parts(block))


def as_frame(X: Any) -> Any:
    """``X`` as a narwhals frame, if it is a frame (pandas, polars, pyarrow, ...) that is all in memory; else None."""
    try:
        frame = nw.from_native(X, pass_through=True)
        named = isinstance(frame, nw.DataFrame) and frame.schema is not None
    except nw.exceptions.DuplicateError as error:
        raise ColumnError(f"Several columns of X have the same name. {error} Rename them.") from error
    return frame if named else None


def as_rows(
    X: Any, names: Sequence[str] | None = None, marks: Array | None = None, redundant: Array | None = None
) -> Rows:
    """``X`` as `Rows`; refuses what is not a table of numbers. The rest is what is known of the columns of a matrix."""
    if isinstance(X, Rows):
        return X
    rows: Rows
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        rows = DenseRows(_numeric_table(X), names, marks, redundant)
    elif is_sparse(X):
        rows = SparseRows(csr_of_floats(X), names, marks, redundant)
    elif (frame := as_frame(X)) is not None:
        rows = FrameRows(frame)
    else:
        rows = DenseRows(_numeric_table(array_from(X)), names)
    if 0 in rows.shape:
        what = "feature(s)" if rows.n_columns == 0 else "sample(s)"
        empty = "" if rows.n_columns == 0 else ": X is empty"
        raise InputError(f"Found array with 0 {what} (shape={rows.shape}) while a minimum of 1 is required{empty}.")
    return rows


def array_from(X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        raise InputError("X is a masked array, whose mask would be lost. Drop the masked rows or fill them in first.")
    if isinstance(nw.from_native(X, pass_through=True, allow_series=True), nw.LazyFrame):
        raise InputError("X is a lazy frame. Collect it first: X.collect().")
    try:
        return np.asarray(X)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"X cannot be read as a table: {error}. Every row needs the same number of values.") from error


def _numeric_table(values: Array) -> Array:
    if values.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {values.ndim}D array instead (shape {values.shape}). Reshape your data: "
            "X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if np.iscomplexobj(values):
        raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind in "mM":
        raise DtypeError(f"X holds dates or durations ({values.dtype}). Turn them into numbers first.")
    return _floats(values)


def _floats(values: Any) -> Array:
    """Objects or text as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError as error:
        raise InputError("X has whole numbers beyond the largest float, 1.8e308. Use larger units.") from error
    except (TypeError, ValueError) as error:
        raise DtypeError(
            f"X has values that are not numbers (dtype {np.asarray(values).dtype}): {error}. Encode text columns "
            "first, for example with sklearn.preprocessing.OneHotEncoder."
        ) from error


def csr_of_floats(X: Any) -> Any:
    """A sparse matrix as CSR of float32 or float64 in canonical form; refuses one whose parts do not fit each other."""
    if X.ndim != 2:
        raise InputError(f"Expected a 2D sparse matrix, got {X.ndim}D. Reshape your data to one row per case.")
    if np.iscomplexobj(X):
        raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
    try:
        csr = _sound(X) if X.format == "csr" else _sound(_sound(X).tocsr())
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(
            f"X is not a sound sparse matrix: {error}. Its parts do not fit each other: build it anew, for example "
            "with scipy.sparse.csr_array((values, (rows, columns)), shape)."
        ) from error
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _sound(X: Any) -> Any:
    """The same sparse matrix, its indices checked: compiled code would follow them anywhere.

    What the matrix says of itself is not trusted: its parts may have been changed after it was made.
    """
    if X.format in ("csr", "csc", "bsr"):
        whole = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
        whole.check_format(full_check=True)
        return whole
    return type(X)((X.data, (X.row, X.col)), shape=X.shape, copy=False) if X.format == "coo" else X


def _refuse_columns_that_are_not_numbers(frame: Any) -> None:
    wrong = {name: str(dtype) for name, dtype in frame.schema.items() if not _holds_numbers(frame, name, dtype)}
    if wrong:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(wrong.items())[:5])
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ColumnError(
            f"Expected columns of numbers, got {listed}{more}. Encode text and categories first (for example with "
            "sklearn.preprocessing.OneHotEncoder), turn dates into numbers, or use NaiveBayes, which reads categories."
        )


def _holds_numbers(frame: Any, name: str, dtype: Any) -> bool:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return True
    if dtype != nw.Object:
        return False
    values = frame[name].to_numpy()
    return all(isinstance(v, (int, float, np.number, np.bool_)) or is_missing(v) for v in values)


Distribution = Literal["gaussian", "categorical", "bernoulli", "counts", "multinomial"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)


@dataclass(frozen=True)
class MixedBlock:
    """The numeric columns of some rows as an array (or CSR matrix), the categorical ones as lists of values."""

    numbers: Any
    levels: list[list[Any]]


class MixedRows(Rows):
    """Rows whose columns have a distribution each."""

    def __init__(self, table: Any, distributions: tuple[Distribution, ...], names: Iterable[str] | None = None) -> None:
        self.table = table
        self.distributions = distributions
        self.n_rows, self.n_columns = table.shape
        names = map(str, table.columns) if isinstance(table, nw.DataFrame) else names
        self.names = None if names is None else tuple(names)
        self.numeric_columns = [j for j, kind in enumerate(distributions) if kind != "categorical"]
        self.level_columns = [j for j, kind in enumerate(distributions) if kind == "categorical"]
        self._numbers = self._numeric_rows()

    def block(self, start: int, stop: int) -> MixedBlock:
        numbers = np.empty((stop - start, 0)) if self._numbers is None else self._numbers.block(start, stop)
        kinds = [self.distributions[j] for j in self.numeric_columns]
        _refuse_values(numbers, start, kinds, self.number_label, self.refuse_nonfinite)
        return MixedBlock(numbers, [self._levels(j, start, stop) for j in self.level_columns])

    def take(self, chosen: Array) -> MixedBlock:
        return self[chosen].block(0, len(chosen))

    def __getitem__(self, chosen: Any) -> MixedRows:
        frame = isinstance(self.table, nw.DataFrame)
        return MixedRows(
            self.table[chosen.tolist(), :] if frame else self.table[chosen], self.distributions, self.names
        )

    def number_label(self, j: int) -> str:
        return self.column_label(self.numeric_columns[j])

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        if self._numbers is not None:
            self._numbers.refuse_nonfinite(label or self.number_label)

    def largest_values(self) -> Array:
        return np.zeros(1) if self._numbers is None else self._numbers.largest_values()

    def _numeric_rows(self) -> Rows | None:
        if not self.numeric_columns:
            return None
        if isinstance(self.table, nw.DataFrame):
            return FrameRows(self.table[:, self.numeric_columns])
        whole = len(self.numeric_columns) == self.n_columns
        return as_rows(self.table if whole else self.table[:, self.numeric_columns])

    def _levels(self, j: int, start: int, stop: int) -> list[Any]:
        column = self.table[start:stop, j]
        values = column.to_list() if isinstance(self.table, nw.DataFrame) else column.tolist()
        try:
            distinct = set(values)
            sorted(distinct, key=lambda level: (type(level).__name__, level))
        except TypeError as error:
            label = self.column_label(j).capitalize()
            raise InputError(f"{label} holds what is no category ({error}). Turn it into text or numbers.") from error
        if any(map(is_missing, distinct)):
            row = start + next(i for i, value in enumerate(values) if is_missing(value))
            raise InputError(
                f"Missing value in {self.column_label(j)}, row {row}. Drop the row, or make missing a level of its own "
                "(for example the word 'missing')."
            )
        return values

    def level_counts(self, j: int) -> Counter[Any]:
        """How many rows have each level of a column."""
        counts: Counter[Any] = Counter()
        for start in range(0, self.n_rows, _MOST_BLOCK_ROWS):
            counts.update(self._levels(j, start, min(start + _MOST_BLOCK_ROWS, self.n_rows)))
        return counts


def _refuse_values(
    numbers: Any, start: int, kinds: Sequence[str], label: Callable[[int], str], refuse_nonfinite: Callable[..., None]
) -> None:
    """Refuse values that a column's distribution cannot produce; ``kinds`` are those of the columns of numbers."""
    for kind, allowed, wanted in (
        # A share between 0 and 1 stands for a level that training had not.
        ("bernoulli", lambda v: (v >= 0) & (v <= 1), "from 0 to 1"),
        ("counts", lambda v: ~(v < 0), "0 or more"),
        ("multinomial", lambda v: ~(v < 0), "0 or more"),
    ):
        places = [place for place, own in enumerate(kinds) if own == kind]
        if places:
            part = numbers if len(places) == numbers.shape[1] else numbers[:, places]
            wrong = ~allowed(part.data if is_sparse(part) else part)
            if not wrong.any():
                continue
            if is_sparse(part):
                entries, e = part.tocoo(), int(np.argmax(wrong))
                row, place, value = entries.row[e], entries.col[e], entries.data[e]
            else:
                row, place = np.argwhere(wrong)[0]
                value = part[row, place]
            if not np.isfinite(value):
                refuse_nonfinite()
            raise InputError(
                f"Row {start + row} has {value:g} in {label(places[place])}, which is read as {kind}, "
                f"whose values are {wanted}. Give the column another distribution."
            )


@dataclass(frozen=True)
class MixedView:
    """From rows of numbers, the first of which is number ``start``, to columns of these distributions."""

    distributions: tuple[Distribution, ...]
    names: tuple[str, ...] | None = None

    def __call__(self, X: Array, start: int) -> MixedBlock:
        numeric = [j for j, kind in enumerate(self.distributions) if kind != "categorical"]
        numbers = X if len(numeric) == X.shape[1] else np.ascontiguousarray(X[:, numeric])
        kinds = [self.distributions[j] for j in numeric]
        _refuse_values(numbers, start, kinds, lambda place: self._label(numeric[place]), self._refuse_nothing)
        levels = [j for j, kind in enumerate(self.distributions) if kind == "categorical"]
        for j in levels:
            if np.isnan(X[:, j]).any():
                raise_nonfinite(np.nan, start + int(np.argmax(np.isnan(X[:, j]))), self._label(j))
        return MixedBlock(numbers, [X[:, j].tolist() for j in levels])

    def _label(self, j: int) -> str:
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    def _refuse_nothing(self) -> None:
        """What is no number shows in the sums, and is told by those who add them up."""


def column_distributions(
    table: Any, distributions: Any, names: Sequence[str] | None = None
) -> tuple[Distribution, ...]:
    """The distribution of each column: as asked for, and where nothing is asked for, by the column's type."""
    labels = list(table.columns) if isinstance(table, nw.DataFrame) else list(names or range(table.shape[1]))
    if isinstance(distributions, Mapping):
        asked: dict[Any, Any] = dict(distributions)
        unknown = [label for label in asked if label not in labels]
        if unknown:
            raise ColumnError(f"distributions names {unknown[0]!r}, which is not a column. Columns: {labels[:20]}.")
    elif isinstance(distributions, str):
        asked = dict.fromkeys(labels, distributions)
    else:
        each = list(distributions) if isinstance(distributions, Iterable) else []
        if len(each) != len(labels):
            raise ParameterError(
                Setting("distributions"),
                f" must be 'auto', a name, or one name for each column; X has {len(labels)} columns, got "
                f"{distributions!r} ({len(each)} columns).",
            )
        asked = dict(zip(labels, each, strict=True))
    for label, kind in asked.items():
        if kind not in (*DISTRIBUTIONS, "auto"):
            raise ParameterError(f"Column {label!r}: distribution {kind!r} is not one of {DISTRIBUTIONS}.")
    return tuple(
        own if asked.get(label, "auto") == "auto" else asked[label]
        for label, own in zip(labels, _by_type(table), strict=True)
    )


def as_table(X: Any) -> Any:
    """``X`` as a narwhals frame, a CSR matrix or a 2D array of any type."""
    if isinstance(X, MatrixRows):
        return X.values
    frame = None if is_sparse(X) or isinstance(X, np.ndarray) else as_frame(X)
    if frame is not None:
        if 0 in frame.shape:
            raise InputError(f"X is empty: {frame.shape[0]} rows, {frame.shape[1]} columns.")
        return frame
    if not is_sparse(X):
        values = array_from(X)
        if values.dtype.kind in "OUS" and values.ndim == 2 and 0 not in values.shape:
            return values
    rows = as_rows(X)
    assert isinstance(rows, (DenseRows, SparseRows))
    return rows.values


def _by_type(table: Any) -> Iterator[Distribution]:
    if isinstance(table, nw.DataFrame):
        for name, dtype in table.schema.items():
            if dtype.is_temporal() or dtype.is_nested():
                what = "dates or times" if dtype.is_temporal() else "lists or structures"
                raise ColumnError(f"Column {name!r} holds {what} ({dtype}). Turn it into numbers or categories first.")
            yield "bernoulli" if dtype == nw.Boolean else "gaussian" if dtype.is_numeric() else "categorical"
    elif not is_sparse(table) and table.dtype.kind in "OUS":
        for j in range(table.shape[1]):
            kinds = set(map(type, table[:, j].tolist()))
            numbers = all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds)
            yield "gaussian" if numbers else "categorical"
    else:
        yield from repeat("gaussian", table.shape[1])


@dataclass(frozen=True)
class Block:
    """Some consecutive rows with their class codes and weights; ``start`` is the number of the first one.

    Where they are known, ``offset`` is a part of each row's scores, ``cluster`` the number of the cluster it is of.
    """

    X: Any
    codes: Array
    weight: Array
    start: int = 0
    offset: Array | None = None
    cluster: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def sparse(self) -> bool:
        return is_sparse(self.X)

    def dense_parts(self) -> Iterator[Block]:
        """The same rows as dense blocks."""
        for part, where in dense_parts(self.X):
            yield self.part(where, part)

    def part(self, where: slice, X: Any) -> Block:
        """Some of the rows, whose columns are ``X``."""
        offset, cluster = (None if own is None else own[where] for own in (self.offset, self.cluster))
        return Block(X, self.codes[where], self.weight[where], self.start + where.start, offset, cluster)


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a class code and a weight each, perhaps with an offset of their scores and a cluster."""

    rows: Rows
    classes: Array
    codes: Array
    weight: Array | None = None
    offset: Array | None = None
    cluster: Array | None = None
    #: Who computes what is asked of all rows: threads here.
    executor: ClassVar[Any] = None

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def weight_of(self, chosen: Any) -> Array:
        """The weights of the chosen rows, 1 where there are none."""
        return np.ones(self.n_rows)[chosen] if self.weight is None else self.weight[chosen]

    def every(self, step: int) -> LabelledRows:
        """One row of every ``step`` with its label and weight."""
        return self if step == 1 else self._with_rows(self.rows.every(step), drawn(self.n_rows, step))

    def take(self, chosen: Array) -> LabelledRows:
        """The chosen rows, copied."""
        return self._with_rows(self.rows[chosen], chosen)

    def _with_rows(self, rows: Rows, chosen: Any) -> LabelledRows:
        own = (self.weight, self.offset, self.cluster)
        known = (None if values is None else values[chosen] for values in own)
        return LabelledRows(rows, self.classes, np.ascontiguousarray(self.codes[chosen]), *known)

    @property
    def class_weights(self) -> Array:
        """Total weight of each class, its number of rows where there are no weights."""
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)

    @property
    def total_weight(self) -> float:
        """That of all rows."""
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def least_weight(self) -> float:
        """That of the lightest row which counts at all."""
        return 1.0 if self.weight is None else float(self.weight[self.weight > 0].min())

    @property
    def largest_weight(self) -> float:
        """That of the heaviest row."""
        return 1.0 if self.weight is None else float(self.weight.max())

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers, which count rows."""
        return not has_fractions(self.weight)

    def has_same_rows(self, other: Any) -> bool:
        """Whether another table has the same classes, labels, weights and offsets, row by row."""
        own, others = (
            (rows.classes, rows.codes, rows.weight_of(slice(None)), 0.0 if rows.offset is None else rows.offset)
            for rows in (self, other.every(1))
        )
        return all(np.array_equal(one, two) for one, two in zip(own, others, strict=True))

    @property
    def n_clusters(self) -> int:
        """Into how many clusters the rows fall, 0 where none are known."""
        return 0 if self.cluster is None else int(self.cluster.max()) + 1

    def in_clusters(self, labels: Any, parameter: str = "clusters") -> LabelledRows:
        """The rows with the label of the cluster of each."""
        groups = np.asarray(labels)
        if groups.shape != (self.n_rows,):
            found = f" must have one label for each of the {self.n_rows} rows, got shape {groups.shape}."
            raise ParameterError(Setting(parameter), found)
        return replace(self, cluster=np.unique(groups, return_inverse=True)[1])

    def times(self, factors: Array) -> LabelledRows:
        """The rows with their weights multiplied by a factor of their class."""
        return replace(self, weight=self.weight_of(slice(None)) * factors[self.codes])

    @property
    def spans(self) -> list[range]:
        return self.rows.spans

    def blocks(self, span: range) -> Iterator[Block]:
        """The blocks of one span, in order."""
        ones = np.ones(min(self.rows.block_rows, self.n_rows))
        for start, stop in self.rows.edges(span):
            weight = ones[: stop - start] if self.weight is None else self.weight[start:stop]
            known = (None if own is None else own[start:stop] for own in (self.offset, self.cluster))
            yield Block(self.rows.block(start, stop), self.codes[start:stop], weight, start, *known)


def with_offset(data: LabelledRows, offset: Any) -> LabelledRows:
    """The rows with known parts of their scores: one for each row, or one for each row and class."""
    if offset is None:
        return data
    values, n_classes = np.array(offset, dtype=np.float64), len(data.classes)
    shape = (data.n_rows,) if n_classes == 2 else (data.n_rows, n_classes)
    if values.shape != shape:
        raise InputError(f"offset must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"offset contains NaN or infinity: row {int(np.argwhere(~np.isfinite(values))[0][0])}.")
    return replace(data, offset=values)


def labelled_rows(X: Any, y: Any, sample_weight: Any = None, classes: Array | None = None) -> LabelledRows:
    """``X``, ``y`` and ``sample_weight`` checked and brought together, without copying ``X``."""
    rows = as_rows(X)
    if isinstance(rows, Source):
        if y is not None or sample_weight is not None:
            raise InputError("A dataset has its labels and weights in columns: leave y and sample_weight out.")
        return rows.labelled(classes)
    found, codes = encode_labels(y, rows.n_rows, classes)
    if classes is None and found.size < 2:
        raise LabelError(
            f"y has only one class, {shown(found[0])}: a classifier needs at least two classes. Check the label column."
        )
    return LabelledRows(rows, found, codes, check_weights(sample_weight, rows.n_rows))
