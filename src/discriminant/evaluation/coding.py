"""Labels of truth and prediction counted against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import check_weights, encode_labels
from ..data.rows import consecutive_runs, is_missing
from ..decision.posteriors import label_array
from ..engine import side_by_side
from ..errors import InputError, LabelError
from ..kernels import counting as kernels
from ..results import plain, shown

Array = np.ndarray[Any, Any]

#: Integers are counted as they stand while a table of their range has at most this many cells.
_MOST_CELLS = 1 << 16
#: Rows that a worker counts at once, and how many such parts there may be.
_PART_ROWS, _MOST_PARTS = 1 << 18, 32


@dataclass(frozen=True)
class CrossTable:
    """How often each label of the truth met each label of the prediction; labels in no particular order."""

    truth: list[Any]
    prediction: list[Any]
    counts: Array

    def arranged(self, rows: list[Any], columns: list[Any]) -> Array:
        """The counts with these labels of rows and columns; labels that did not occur count 0."""
        out = np.zeros((len(rows), len(columns)), dtype=self.counts.dtype)
        row, column = position_of(rows), position_of(columns)
        chosen = np.ix_([row[label] for label in self.truth], [column[label] for label in self.prediction])
        out[chosen] = self.counts
        return out


def cross_table(y: Any, predicted: Any, sample_weight: Any = None) -> CrossTable:
    """The cross table of two label columns: int64 counts, or float64 sums of weights."""
    truth, prediction = label_column("y", y), label_column("predicted", predicted)
    same_length(y=truth, predicted=prediction)
    weight = check_weights(sample_weight, len(truth))
    if weight is None and truth.dtype.kind in "iub" and prediction.dtype.kind in "iub":
        least = min(int(truth.min()), int(prediction.min()))
        size = max(int(truth.max()), int(prediction.max())) - least + 1
        if size * size <= _MOST_CELLS:
            return _integer_table(truth, prediction, least, size)
    rows, row_codes = coded(truth)
    columns, column_codes = coded(prediction)
    cell = row_codes * np.int64(len(columns)) + column_codes
    counts = np.bincount(cell, weights=weight, minlength=len(rows) * len(columns))
    return CrossTable(rows, columns, counts.reshape(len(rows), len(columns)))


def label_column(name: str, labels: Any) -> Array:
    """One label for each row as an array that keeps its types: numbers beside text stay numbers."""
    if labels is None:
        raise LabelError(f"{name} is None: give one label for each row.")
    values = np.asarray(labels)
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        values = np.asarray(labels, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise LabelError(f"{name} must be one column of labels, got shape {values.shape}.")
    if values.size == 0:
        raise LabelError(f"{name} is empty: there is nothing to evaluate.")
    return values


def outcome_column(outcome: Any) -> Array:
    """Whether something came true in each row; refuses what does not say so, such as -1 and 1 or labels of classes."""
    values = np.asarray(outcome)
    if values.ndim != 1:
        raise InputError(f"outcome must be True or False for each row, got shape {values.shape}.")
    if values.dtype.kind in "biuf":
        sound = (values == 0) | (values == 1)
    else:
        sound = np.array([not is_missing(value) and value in (False, True) for value in values.tolist()], dtype=bool)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(
            f"outcome must be True or False (or 1 and 0) for each row: row {row} has {shown(values[row])}. Of labels "
            "give y == label."
        )
    return values.astype(bool)


def same_length(**columns: Any) -> None:
    """Refuse columns that do not have one value for each row."""
    lengths = {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"Columns differ in length: {listed}. Give one value for each row in every one of them.")


def coded(labels: Array) -> tuple[list[Any], Array]:
    """The labels that occur, and the number of each row's label among them."""
    if labels.dtype == object and len({type(label) for label in labels.tolist()}) > 1:
        return _coded_mixture(labels.tolist())
    found, codes = encode_labels(labels, len(labels))
    return found.tolist(), codes


def codes_among(name: str, labels: Any, classes: Array, remedy: str = "") -> Array:
    """The code of each label among ``classes``; refuses a label that is not there, and says in which row it stands."""
    found, codes = coded(label_column(name, labels))
    position = position_of(classes.tolist())
    unknown = [label for label in found if label not in position]
    if unknown:
        row = int(np.flatnonzero(codes == found.index(unknown[0]))[0])
        raise unknown_label(name, unknown[0], classes.tolist(), f"row {row}" + (f"; {remedy}" if remedy else ""))
    return np.array([position[label] for label in found], dtype=np.int32)[codes]


def unknown_label(name: str, label: Any, classes: list[Any], more: str = "") -> LabelError:
    """The error that names a label which is not among the classes."""
    listed = ", ".join(map(repr, classes[:8])) + (", ..." if len(classes) > 8 else "")
    where = f" ({more.strip()})" if more.strip() else ""
    return LabelError(f"{name} has the label {shown(label)}, which is not among the classes {listed}{where}.")


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


def as_labels(labels: list[Any]) -> Array:
    """Labels as an array of their own type."""
    return label_array([plain(label) for label in labels])


def position_of(labels: list[Any]) -> dict[Any, int]:
    return {label: place for place, label in enumerate(labels)}


def _coded_mixture(values: list[Any]) -> tuple[list[Any], Array]:
    """Labels of several types, such as numbers beside the word "abstain", in the order they come."""
    position: dict[Any, int] = {}
    codes = np.fromiter((position.setdefault(value, len(position)) for value in values), np.int32, len(values))
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise LabelError(f"A label is missing (None or NaN): row {missing[0]}. Drop the rows without a label.")
    return list(position), codes


def _integer_table(truth: Array, prediction: Array, least: int, size: int) -> CrossTable:
    starts = range(0, len(truth), _PART_ROWS)

    def of_part(part: range) -> Array:
        out = np.zeros((4, size, size), dtype=np.int64)
        for start in part:
            where = slice(start, start + _PART_ROWS)
            kernels.count_pairs(_int64(truth[where]), _int64(prediction[where]), least, out)
        return out.sum(axis=0)

    counts = np.sum(side_by_side(of_part, consecutive_runs(starts, _MOST_PARTS)), axis=0)
    rows, columns = np.flatnonzero(counts.any(axis=1)), np.flatnonzero(counts.any(axis=0))
    boolean = truth.dtype.kind == "b" and prediction.dtype.kind == "b"
    names = [(bool(label) if boolean else label) for label in range(least, least + size)]
    return CrossTable([names[i] for i in rows], [names[j] for j in columns], counts[np.ix_(rows, columns)])


def _int64(labels: Array) -> Array:
    return np.ascontiguousarray(labels, dtype=np.int64)
