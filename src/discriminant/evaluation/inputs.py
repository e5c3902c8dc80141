"""Columns that are evaluated, checked: labels, outcomes, scores, probabilities and the groups of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import check_weights, encode_labels
from ..data.checks import is_missing
from ..decision.posteriors import as_posterior, label_array
from ..errors import DegenerateDataError, DtypeError, InputError, LabelError, Part, Setting
from ..results import plain, shown

Array = np.ndarray[Any, Any]


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


def encoded(labels: Array) -> tuple[list[Any], Array]:
    """The labels that occur, and the number of each row's label among them."""
    if labels.dtype == object and len({type(label) for label in labels.tolist()}) > 1:
        return _encoded_mixture(labels.tolist())
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


def unknown_label(name: str, label: Any, classes: list[Any], *more: Part) -> LabelError:
    """The error that names a label which is not among the classes."""
    listed = ", ".join(map(repr, classes[:8])) + (", ..." if len(classes) > 8 else "")
    where = (" (", *more, ")") if more else ()
    return LabelError(f"{name} has the label {shown(label)}, which is not among the classes {listed}", *where, ".")


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


def _encoded_mixture(values: list[Any]) -> tuple[list[Any], Array]:
    """Labels of several types, such as numbers beside the word "abstain", in the order they come."""
    position: dict[Any, int] = {}
    codes = np.fromiter((position.setdefault(value, len(position)) for value in values), np.int32, len(values))
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise LabelError(f"A label is missing (None or NaN): row {missing[0]}. Drop the rows without a label.")
    return list(position), codes


def class_scores(name: str, score: Any, classes: Array) -> Array:
    """Scores as a float array, one column or one for each class; refuses what has no order."""
    values = np.asarray(score)
    if values.dtype.kind not in "fiub":
        raise DtypeError(f"{name} must be numbers, got dtype {values.dtype}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must have one number for each row, got shape {values.shape}.")
    finite = np.isfinite(values)
    if not finite.all():
        row, *column = (int(i) for i in np.argwhere(~finite)[0])
        where = f", column {column[0]}" if column else ""
        what = "NaN" if np.isnan(values[row, *column]) else "infinity"
        raise InputError(f"{name} contains {what}: row {row}{where}. Scores must be finite, or rows have no order.")
    if values.ndim == 2 and values.shape[1] != len(classes):
        raise InputError(
            f"{name} has {values.shape[1]} columns, expected {len(classes)}: one for each of the classes "
            f"{classes.tolist()}, in this order."
        )
    return values


def score_column(name: str, score: Any) -> Array:
    """One score for each row."""
    shape = np.shape(score)
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"{name} must have one number for each row, got shape {shape}.")
    return class_scores(name, score, np.empty(0))


def number_column(name: str, numbers: Any) -> Array:
    """One number for each row as float64."""
    values = np.asarray(numbers)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise InputError(f"{name} must be one number for each row, got shape {values.shape}, dtype {values.dtype}.")
    return values.astype(np.float64, copy=False)


def positive_code(positive: Any, classes: Array) -> int:
    """The code of the positive class: the one named, or the second of two."""
    names = classes.tolist()
    if positive is None:
        if len(names) == 2:
            return 1
        remedy = "Give a score for each class" if len(names) > 2 else "Name the class that large scores stand for"
        raise LabelError(
            f"y has {len(names)} class(es), {names[:8]}: with one score for each row, large scores must stand for one "
            f"of two. {remedy}, or positive=."
        )
    if plain(positive) not in names:
        raise LabelError(f"positive={shown(positive)} is not among the classes {names}.")
    return names.index(plain(positive))


def check_probability(probability: Any) -> Array:
    """One probability for each row as float64."""
    p = number_column("probability", probability)
    sound = (p >= 0) & (p <= 1)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(f"probability must be from 0 to 1, row {row} has {p[row]:g}.")
    return p


def read_posterior(posterior: Any, classes: Any) -> tuple[Array, Array]:
    """The classes and the probabilities of the rows, checked.

    Those of an array are kept as they came: dividing a row by its sum would break ties between rows in the last digit.
    """
    found = as_posterior(posterior, classes)
    if isinstance(posterior, np.ndarray) and posterior.dtype.kind == "f":
        return found.classes, np.ascontiguousarray(posterior, dtype=np.float64)
    return found.classes, found.probabilities


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """How rows were drawn: their weights, and the clusters in which they were drawn together.

    Weights are frequencies: a row of weight 3 is three independent rows. Where weights are importances instead, each
    row is one draw whatever its weight: give every row a group of its own.
    """

    n_rows: int
    weight: Array | None = None
    clusters: Array | None = None  #: the number of each row's cluster
    n_clusters: int = 0

    @classmethod
    def read(cls, sample_weight: Any, groups: Any, n_rows: int) -> SamplingDesign:
        """The design that weights and groups of the rows tell; rows without groups are independent."""
        weight = check_weights(sample_weight, n_rows)
        if groups is None:
            return cls(n_rows, weight)
        found, codes = encoded(label_column("groups", groups))
        if len(codes) != n_rows:
            raise InputError(f"groups has {len(codes)} values for {n_rows} rows: give the group of each row.")
        if len(found) < 2:
            raise DegenerateDataError(
                f"All rows are of one group, {found[0]!r}: how much groups differ cannot be seen. Leave ",
                Setting("groups"),
                " out, or give one label for each independent unit.",
            )
        return cls(n_rows, weight, codes, len(found))

    @property
    def weights(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance between clusters."""
        return math.inf if self.clusters is None else float(self.n_clusters - 1)

    @property
    def words(self) -> str:
        """What the method of an interval has to say of clusters."""
        return "" if self.clusters is None else f", {self.n_clusters:,} clusters"

    def by_cluster(self, cells: Array, n_cells: int) -> Any:
        """The weight that each cluster (row) has in each cell (column), where ``cells`` is the cell of each row."""
        shape = self.n_clusters, n_cells
        return sp.csr_matrix((self.weights, (self.clusters, cells)), shape=shape)

    def sums(self, values: Array) -> Array:
        """The sum of values of the rows in each cluster."""
        assert self.clusters is not None
        return np.bincount(self.clusters, weights=values, minlength=self.n_clusters)

    def variance(self, influence: Array) -> float:
        """The variance of a measure from the influence of its rows."""
        if self.clusters is None:
            return float(self.weights @ np.square(influence))
        sums = self.sums(self.weights * influence)
        return float(sums @ sums)
