"""The curves of each class against the rest, with macro and micro averages; `roc` makes these or a single curve."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..arrays import Array, ArrayLike
from ..data import codes_among, encoded, label_array, label_column, ordered, same_length
from ..engine import parallel_map
from ..errors import LabelError, ParameterError
from ..results import columns_of, jsonable, plain, shown
from .curves import PRECISION_RANGE, Areas, DependentVariance, ThresholdCurve, binary_curve, curve_by_rows
from .inputs import class_scores, code_of_large_scores, positive_code
from .intervals import Estimate, Interval, check_level, no_interval, normal_interval
from .ranking import rank_rows, row_influences
from .sampling import SamplingDesign

#: Number of classes computed in parallel: more are faster, but each needs a few columns of memory.
_CLASSES_AT_ONCE: Final = 4


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with the code of their class and a score for each class."""

    codes: Array
    scores: Array
    design: SamplingDesign

    def against_rest(self, k: int, label: Hashable) -> tuple[ThresholdCurve, tuple[Array, Array]]:
        """The curve of one class, and the influence of each row on its AUC and its average precision."""
        return curve_by_rows(self.codes == k, np.ascontiguousarray(self.scores[:, k]), self.design, label)

    def pooled(self) -> ThresholdCurve:
        """The curve of all pairs of row and class; the pairs of a row vary together."""
        n, K = self.scores.shape
        is_positive = (self.codes[:, None] == np.arange(K)).ravel()
        weight = None if self.design.weight is None else np.repeat(self.design.weight, K)
        ranked, place = rank_rows(is_positive, self.scores.ravel(), weight)
        of_pairs = row_influences(ranked, is_positive, place, SamplingDesign(n * K, weight))
        of_rows = [values.reshape(n, K).sum(axis=1) for values in of_pairs]
        together = DependentVariance.of(self.design, of_rows, ", the pairs of a row together")
        draws = self.design.total_weight if self.design.clusters is None else float(self.design.n_clusters)
        return ThresholdCurve(ranked, None, replace(together, sides=(draws, draws)))


@dataclass(frozen=True, eq=False, repr=False)
class ClassCurves(Areas, Mapping[Any, ThresholdCurve]):
    """The curves of each class against the rest, found by its label.

    Attributes
    ----------
    auc, average_precision : float
        Macro averages: the means over classes; NaN if that of a class is undefined.
    micro : ThresholdCurve
        The curve of all pairs of a row and a class: a pair is positive if the row is of the class.

    See Also
    --------
    roc : Makes them.
    """

    by_class: dict[Any, ThresholdCurve]
    variances: DependentVariance  #: of the means over classes
    rows: ScoredRows | None = None

    def __getitem__(self, label: Hashable) -> ThresholdCurve:
        if plain(label) not in self.by_class:
            raise LabelError(f"{shown(label)} is not among the classes {list(self.by_class)}.")
        return self.by_class[plain(label)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.by_class)

    def __len__(self) -> int:
        return len(self.by_class)

    @property
    def auc(self) -> float:
        return float(np.mean([curve.auc for curve in self.values()]))

    @property
    def average_precision(self) -> float:
        return float(np.mean([curve.average_precision for curve in self.values()]))

    @property
    def undefined(self) -> str:
        """The reason why the means are undefined, or an empty string."""
        return "; ".join(filter(None, (curve.undefined for curve in self.values())))

    @cached_property
    def micro(self) -> ThresholdCurve:
        if self.rows is None:
            raise ParameterError(
                "The micro average requires rows in memory, which a streamed evaluation does not have."
            )
        return self.rows.pooled()

    def auc_interval(self, level: float = 0.95) -> Interval:
        """A confidence interval of the mean AUC: DeLong's, including the covariances between classes. If no class
        overlaps with the rest it is the mean of the intervals of the classes: the true mean can lie beyond it
        only if the true AUC of some class lies beyond its interval.

        Parameters
        ----------
        level : float, default=0.95
            Of confidence.

        Returns
        -------
        Interval
            Of the macro average.
        """
        return self._interval("auc", level, "DeLong", without_overlap=(0.0, 1.0))

    def average_precision_interval(self, level: float = 0.95) -> Interval:
        """A range of the mean average precision, which is not a confidence interval.

        Parameters
        ----------
        level : float, default=0.95
            Level of the interval.

        Returns
        -------
        Interval
            On the logit scale, so within 0 and 1.
        """
        found = self._interval("average_precision", level, "infinitesimal jackknife", without_overlap=(1.0,))
        return found if self.auc == 1 else found.as_range(PRECISION_RANGE)

    def _interval(self, area: str, level: float, method: str, without_overlap: tuple[float, ...]) -> Interval:
        """The interval of a mean; at the mean AUCs ``without_overlap`` it is the mean of the limits of the classes."""
        check_level(level)
        if self.undefined:
            return no_interval(level, self.undefined)
        if self.auc in without_overlap:
            ends = [tuple(getattr(curve, f"{area}_interval")(level)) for curve in self.values()]
            low, high = np.mean(ends, axis=0)
            mean = Interval(float(low), float(high), level, "mean of the classes' Newcombe intervals")
            return mean.as_range("no class overlaps with the rest")
        found, value = self.variances, getattr(self, area)
        method = f"{method}, logit scale{found.words}"
        interval = normal_interval(value, getattr(found, area), level, method, found.degrees, "logit")
        return interval.resting_on(found.auc_rows if area == "auc" else found.precision_rows)

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """The mean AUC, that of each class, and the same for the average precision.

        Parameters
        ----------
        level : float, default=0.95
            Of their intervals.

        Returns
        -------
        list of Estimate
            The means have the name "macro".
        """
        of_each = [self._areas("macro", level), *(curve.estimates(level) for curve in self.values())]
        return [found for of_area in zip(*of_each, strict=True) for found in of_area]

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.estimates(), ("metric", "of", "value", "low", "high", "method"))

    def to_dict(self) -> dict[str, Any]:
        """The means with their intervals, and the curves of each class, as plain values for JSON.

        Returns
        -------
        dict
            Curves by label.
        """
        return {name: jsonable(value) for name, value in (self._areas_in_json() | {"curves": self.by_class}).items()}

    def __str__(self) -> str:
        head = f"curves of {len(self)} classes, means: {self._areas_in_words()}"
        return "\n".join([head, *(f"  {curve}" for curve in self.values())])


Curves = ThresholdCurve | ClassCurves


def class_curves(rows: ScoredRows, classes: Array) -> ClassCurves:
    """The curves of each class against the rest."""
    labels = [plain(label) for label in classes]
    curves: dict[Any, ThresholdCurve] = {}
    influence = np.zeros((2, len(rows.codes)))
    for start in range(0, len(labels), _CLASSES_AT_ONCE):
        chosen = list(range(start, min(start + _CLASSES_AT_ONCE, len(labels))))
        for curve, of_rows in parallel_map(lambda k: rows.against_rest(k, labels[k]), chosen):
            curves[curve.positive] = curve
            influence += np.stack(of_rows) / len(labels)
    return ClassCurves(curves, DependentVariance.of(rows.design, [*influence]), rows)


def roc(
    y: ArrayLike,
    score: ArrayLike,
    positive: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    classes: Iterable[Hashable] | None = None,
) -> Curves:
    """The ROC and precision-recall curve of scores, or those of each class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score : array-like of shape (n_rows,) or (n_rows, K)
        Scores that increase with the probability of the positive class; for more than two classes a column for each, in
        sorted order of the labels.
    positive : label, optional
        The positive class, against all others. With a single score it is the class with the larger scores, by default
        the second of two. With a score for each class the default is the rarer of two classes (the second, if both are
        equally frequent); with more classes, a curve for each class.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies: weight 3 means three rows.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent; intervals are then based on the variation between groups.
    classes : array-like, optional
        Classes of the columns of ``score``, if not the sorted labels of ``y``.

    Returns
    -------
    ThresholdCurve or ClassCurves
        The latter for three or more classes without ``positive``.

    See Also
    --------
    compare_auc : Whether one score is better than another.

    References
    ----------
    DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
    receiver operating characteristic curves. Biometrics 44. Davis, J. & Goadrich, M. (2006). The relationship between
    precision-recall and ROC curves. ICML.

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.auc, round(curve.average_precision, 4)
    (0.75, 0.8333)
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    labels = label_column("y", y)
    names = label_array(ordered(encoded(labels)[0]) if classes is None else list(classes))
    scores = class_scores("score", score, names)
    same_length(y=labels, score=scores)
    design = SamplingDesign.read(sample_weight, groups, len(labels))
    codes = codes_among("y", labels, names)
    if scores.ndim == 1:
        k: int | None = code_of_large_scores(positive, names)
    else:
        k = positive_code(positive, names, np.bincount(codes, design.weight, len(names)))
    if k is None:
        return class_curves(ScoredRows(codes, scores, design), names)
    column = scores if scores.ndim == 1 else np.ascontiguousarray(scores[:, k])
    return binary_curve(codes == k, column, design, plain(names[k]))


#: The curves also have precision and recall: an alias.
precision_recall = roc
