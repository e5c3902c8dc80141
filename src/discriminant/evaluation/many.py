"""Curves of many classes, one against the rest, and their averages."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from ..data import check_weights
from ..engine import side_by_side
from ..errors import DtypeError, InputError, LabelError, ParameterError
from ..results import plain, shown
from .coding import as_labels, coded, codes_among, label_column, ordered, same_length
from .curves import JointVariance, PrecisionRecall, Roc, binary_roc, row_influences, row_variance
from .intervals import Interval, check_level, no_interval, normal_interval
from .ranked import rank_rows
from .sampling import Clusters, read_clusters
from .thresholds import ClusteredRows

Array = np.ndarray[Any, Any]
Curve = TypeVar("Curve", Roc, PrecisionRecall)

#: Classes that are worked on side by side: each needs a few columns of memory.
_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with the code of their class and a score for each class."""

    codes: Array
    scores: Array
    weight: Array | None
    clusters: Clusters | None

    def against_rest(self, k: int) -> tuple[Roc, tuple[Array, Array]]:
        """The curve of one class, and the influence of each row on its AUC and its average precision."""
        is_positive = self.codes == k
        ranked, place = rank_rows(is_positive, np.ascontiguousarray(self.scores[:, k]), self.weight)
        influences = row_influences(ranked, is_positive, place, self.clusters)
        if self.clusters is None:
            return Roc(ranked), influences
        rows = ClusteredRows(self.clusters, is_positive, place, self.weight)
        return Roc(ranked, None, self._between(self.clusters, *influences, rows)), influences

    def variance(self, influence: Array) -> float:
        return row_variance(influence, self.weight, self.clusters)

    def pooled(self) -> Roc:
        """The curve of all pairs of row and class; the pairs of a row vary together."""
        n, K = self.scores.shape
        is_positive = (self.codes[:, None] == np.arange(K)).ravel()
        weight = None if self.weight is None else np.repeat(self.weight, K)
        ranked, place = rank_rows(is_positive, self.scores.ravel(), weight)
        of_pairs = row_influences(ranked, is_positive, place, None)
        variances = [self.variance(values.reshape(n, K).sum(axis=1)) for values in of_pairs]
        words, degrees = ("the pairs of a row together", math.inf)
        if self.clusters is not None:
            words, degrees = self.clusters.words, self.clusters.degrees
        return Roc(ranked, None, JointVariance(variances[0], variances[1], words, degrees))

    def _between(self, clusters: Clusters, of_auc: Array, of_precision: Array, rows: ClusteredRows) -> JointVariance:
        variances = self.variance(of_auc), self.variance(of_precision)
        return JointVariance(*variances, clusters.words, clusters.degrees, rows)


@dataclass(frozen=True)
class Averaged:
    """A measure averaged over classes, with its variance."""

    value: float
    variance: float
    clusters: Clusters | None = None
    undefined: str = ""
    words: str = ""  #: what else to say of the variance

    def interval(self, level: float, method: str) -> Interval:
        if self.undefined:
            return no_interval(level, self.undefined)
        method, degrees = f"{method}, logit scale{self.words}", math.inf
        if self.clusters is not None:
            method, degrees = f"{method}, {self.clusters.words}", self.clusters.degrees
        return normal_interval(self.value, self.variance, level, method, degrees, "logit")


@dataclass(frozen=True, eq=False)
class ClassCurves(Mapping[Any, Curve], Generic[Curve]):
    """A curve for each class, found by its label."""

    curves: dict[Any, Curve]
    average: Averaged
    rows: ScoredRows | None = None

    def __getitem__(self, label: Any) -> Curve:
        if plain(label) not in self.curves:
            raise LabelError(f"{shown(label)} is not among the classes {list(self.curves)}.")
        return self.curves[plain(label)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def measured(self, level: float) -> list[tuple[Any, float, Interval, str]]:
        """The measure of the mean and of each class, with intervals, and why there is none."""
        mean = ("macro", self.average.value, self._mean_interval(level), self.average.undefined)
        return [mean, *(row for curve in self.values() for row in curve.measured(level))]

    @abstractmethod
    def _mean_interval(self, level: float) -> Interval: ...

    def _pooled(self) -> Roc:
        if self.rows is None:
            raise ParameterError("The micro average pools rows of all classes, which a stream does not keep.")
        return self.rows.pooled()


class Rocs(ClassCurves[Roc]):
    """The ROC curve of each class against the rest; ``auc`` is the macro average, ``micro`` pools all classes."""

    @property
    def auc(self) -> float:
        """The mean AUC of the classes; NaN if one is undefined."""
        return self.average.value

    def auc_interval(self, level: float = 0.95) -> Interval:
        """A confidence interval of the mean AUC: DeLong's, the covariances between classes included.

        Where no class overlaps with the rest it is the mean of the classes' intervals: the true mean can lie beyond it
        only if that of some class lies beyond its own.
        """
        check_level(level)
        if self.auc in (0.0, 1.0):
            low, high = np.mean([tuple(curve.auc_interval(level)) for curve in self.values()], axis=0)
            return Interval(float(low), float(high), level, "mean of the classes' Newcombe intervals")
        return self.average.interval(level, "DeLong")

    _mean_interval = auc_interval

    @cached_property
    def micro(self) -> Roc:
        """The curve of all pairs of row and class: does a row's own class score above the others, anywhere?"""
        return self._pooled()

    def __repr__(self) -> str:
        lines = [f"  {curve!r}" for curve in self.values()]
        return "\n".join([f"ROC curves of {len(self)} classes: mean AUC {self.auc:.4f}, {self.auc_interval()}", *lines])


class PrecisionRecalls(ClassCurves[PrecisionRecall]):
    """The precision-recall curve of each class against the rest; ``average_precision`` is the mean over classes."""

    @property
    def average_precision(self) -> float:
        """The mean average precision of the classes; NaN if one is undefined."""
        return self.average.value

    def average_precision_interval(self, level: float = 0.95) -> Interval:
        """A confidence interval of the mean average precision."""
        return self.average.interval(check_level(level), "infinitesimal jackknife")

    _mean_interval = average_precision_interval

    @cached_property
    def micro(self) -> PrecisionRecall:
        """The curve of all pairs of row and class."""
        return self._pooled().precision_recall

    def __repr__(self) -> str:
        head = f"precision-recall curves of {len(self)} classes: mean average precision {self.average_precision:.4f}"
        return "\n".join([f"{head}, {self.average_precision_interval()}", *(f"  {c!r}" for c in self.values())])


def roc(
    y: Any, score: Any, positive: Any = None, sample_weight: Any = None, groups: Any = None, classes: Any = None
) -> Roc | Rocs:
    """The ROC curve of scores, or one for each class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score : array-like of shape (n_rows,) or (n_rows, K)
        Any numbers that are larger where the positive class is likelier; for more than two classes a column for each,
        in sorted order of the labels.
    positive : label, optional
        The class that large scores stand for. Default: the second of two. For more classes with a single score it says
        which class is told from all others.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies: weight 3 means three rows.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent: intervals are then those between groups.
    classes : array-like, optional
        What the columns of ``score`` stand for, if not the sorted labels of ``y``.

    Returns
    -------
    Roc, or Rocs for a score for each of three or more classes

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.auc
    0.75
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    found = _curves(y, score, positive, sample_weight, groups, classes)
    return found if isinstance(found, Roc) else found[0]


def precision_recall(
    y: Any, score: Any, positive: Any = None, sample_weight: Any = None, groups: Any = None, classes: Any = None
) -> PrecisionRecall | PrecisionRecalls:
    """The precision-recall curve of scores, or one for each class; parameters as for `roc`.

    Examples
    --------
    >>> curve = precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(curve.average_precision, 4)
    0.8333
    """
    found = _curves(y, score, positive, sample_weight, groups, classes)
    return found.precision_recall if isinstance(found, Roc) else found[1]


def _curves(
    y: Any, score: Any, positive: Any, sample_weight: Any, groups: Any, classes: Any
) -> Roc | tuple[Rocs, PrecisionRecalls]:
    labels, scores = label_column("y", y), check_scores(score)
    same_length(y=labels, score=scores)
    weight, clusters = check_weights(sample_weight, len(labels)), read_clusters(groups, len(labels))
    names = as_labels(ordered(coded(labels)[0])) if classes is None else as_labels(list(classes))
    if scores.ndim == 2 and scores.shape[1] != len(names):
        raise InputError(
            f"score has {scores.shape[1]} columns, expected {len(names)}: one for each of the classes "
            f"{names.tolist()}, in this order."
        )
    if scores.ndim == 2 and len(names) > 2:
        return class_curves(ScoredRows(codes_among("y", labels, names), scores, weight, clusters), names)
    k = positive_code(positive, names)
    column = scores if scores.ndim == 1 else np.ascontiguousarray(scores[:, k])
    return binary_roc(codes_among("y", labels, names) == k, column, weight, clusters, plain(names[k]))


def class_curves(rows: ScoredRows, classes: Array) -> tuple[Rocs, PrecisionRecalls]:
    """Both curves of each class against the rest, with the mean AUC and the mean average precision."""
    K = len(classes)
    rocs: dict[Any, Roc] = {}
    influence = np.zeros((2, len(rows.codes)))
    for start in range(0, K, _AT_ONCE):
        chosen = list(range(start, min(start + _AT_ONCE, K)))
        for k, (curve, of_rows) in zip(chosen, side_by_side(rows.against_rest, chosen), strict=True):
            label = plain(classes[k])
            rocs[label] = Roc(curve.ranked, label, curve.clustered)
            influence += np.stack(of_rows) / K
    precisions = {label: curve.precision_recall for label, curve in rocs.items()}
    undefined = "; ".join(filter(None, (curve.undefined for curve in rocs.values())))
    variances = [rows.variance(values) for values in influence]
    of_auc = Averaged(float(np.mean([c.auc for c in rocs.values()])), variances[0], rows.clusters, undefined)
    mean_precision = float(np.mean([c.average_precision for c in precisions.values()]))
    of_precision = Averaged(mean_precision, variances[1], rows.clusters, undefined)
    return Rocs(rocs, of_auc, rows), PrecisionRecalls(precisions, of_precision, rows)


def check_scores(score: Any, name: str = "score", most_columns: int | None = None) -> Array:
    """Scores as a float array, one column or one for each class; refuses what has no order."""
    values = np.asarray(score)
    if values.dtype.kind not in "fiub":
        raise DtypeError(f"{name} must be numbers, got dtype {values.dtype}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or (values.ndim == 2 and most_columns == 1):
        raise InputError(f"{name} must have one number for each row, got shape {values.shape}.")
    finite = np.isfinite(values)
    if not finite.all():
        row, *column = (int(i) for i in np.argwhere(~finite)[0])
        where = f", column {column[0]}" if column else ""
        what = "NaN" if np.isnan(values[row, *column]) else "infinity"
        raise InputError(f"{name} contains {what}: row {row}{where}. Scores must be finite, or rows have no order.")
    return values


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
