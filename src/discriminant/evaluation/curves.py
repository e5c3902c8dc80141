"""ROC and precision-recall curves of two classes: exact at every threshold, ties and weights included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..data.parameters import check_number
from ..errors import ParameterError
from ..results import shown
from .frames import frame_of
from .intervals import Interval, check_level, newcombe_interval, no_interval, normal_interval
from .ranked import (
    RankedScores,
    auc,
    auc_influence,
    auc_variance,
    average_precision,
    average_precision_influence,
    rank,
    rank_rows,
)
from .sampling import Clusters
from .thresholds import BestThreshold, ClusteredRows, best_threshold, threshold_costs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class JointVariance:
    """Variances of the AUC and the average precision of rows that are not independent, and what they vary with."""

    auc: float
    average_precision: float
    words: str
    degrees: float
    rows: ClusteredRows | None = None  #: for what has no variance and is drawn again instead


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """What both curves are made of.

    Attributes
    ----------
    ranked : RankedScores
        Each distinct score with the weight of its positive and negative rows.
    positive : label
        The class that high scores stand for.
    clustered : JointVariance or None
    """

    ranked: RankedScores
    positive: Any = None
    clustered: JointVariance | None = None

    @property
    def undefined(self) -> str:
        """Why there is no curve, or an empty string."""
        missing = [
            words
            for words, weight in (
                (f"no row is of class {shown(self.positive)}", self.ranked.n_positive),
                (f"every row is of class {shown(self.positive)}", self.ranked.n_negative),
            )
            if not weight > 0
        ]
        return "; ".join(missing)

    def _interval(self, value: float, variance: float, level: float, method: str, scale: Any) -> Interval:
        """The interval by the variance of independent rows, or by that of clusters where there are any."""
        if self.undefined:
            return no_interval(level, self.undefined)
        if self.clustered is None:
            if not min(self.ranked.n_positive, self.ranked.n_negative) > 1:
                return no_interval(level, "one side has only one row, or weights that sum to no more than one")
            return normal_interval(value, variance, level, f"{method}, {scale} scale", scale=scale)
        method = f"{method}, {scale} scale, {self.clustered.words}"
        return normal_interval(value, variance, level, method, self.clustered.degrees, scale)


@dataclass(frozen=True, eq=False)
class Roc(ScoreCurve):
    """The ROC curve: for every threshold the shares of positive and of negative rows that reach it.

    Made by `roc`. A row is called positive where its score is at least the threshold.

    Attributes
    ----------
    thresholds : array
        Infinity, then the distinct scores from the largest down.
    tpr, fpr : arrays
        The share of positive and of negative rows at or above each threshold.
    auc : float
        The area under the curve; NaN without positive or negative rows.
    """

    @cached_property
    def thresholds(self) -> Array:
        return np.append(np.inf, self.ranked.values).astype(self.ranked.values.dtype, copy=False)

    @cached_property
    def tpr(self) -> Array:
        return _shares(self.ranked.true_positives)

    @cached_property
    def fpr(self) -> Array:
        return _shares(self.ranked.false_positives)

    @cached_property
    def auc(self) -> float:
        return auc(self.ranked)

    @cached_property
    def auc_variance(self) -> float:
        """DeLong's variance of the AUC, or that between clusters."""
        return auc_variance(self.ranked) if self.clustered is None else self.clustered.auc

    def auc_interval(self, level: float = 0.95, scale: Literal["logit", "linear"] = "logit") -> Interval:
        """A confidence interval of the AUC by DeLong's variance.

        Parameters
        ----------
        level : float
        scale : {"logit", "linear"}
            "logit" stays within 0 and 1. Where positive and negative scores do not overlap the variance is 0, and
            Newcombe's score interval is given.
        """
        check_level(level)
        if self.auc in (0.0, 1.0) and not self.undefined:
            return newcombe_interval(self.auc, *self._draws(), level)
        return self._interval(self.auc, self.auc_variance, level, "DeLong", scale)

    def _draws(self) -> tuple[float, float]:
        """Independent positive and negative draws; of clusters no more than there are."""
        most = math.inf if self.clustered is None else self.clustered.degrees + 1
        return min(self.ranked.n_positive, most), min(self.ranked.n_negative, most)

    def measured(self, level: float) -> list[tuple[Any, float, Interval, str]]:
        """The class, its AUC, the interval, and why there is none."""
        return [(self.positive, self.auc, self.auc_interval(level), self.undefined)]

    def partial_auc(
        self, max_fpr: float | None = None, fpr_range: tuple[float, float] | None = None, standardised: bool = False
    ) -> float:
        """The area under a part of the curve.

        Parameters
        ----------
        max_fpr : float, optional
            From a false positive rate of 0 to this one.
        fpr_range : pair of floats, optional
            Between these two.
        standardised : bool
            McClish's form: 0.5 for scores that tell nothing, 1 for perfect ones.
        """
        low, high = self._fpr_range(max_fpr, fpr_range)
        if self.undefined:
            return math.nan
        inside = (self.fpr > low) & (self.fpr < high)
        x = np.concatenate(([low], self.fpr[inside], [high]))
        # At a vertical step the curve starts from its top on the left end, and stops at its foot on the right end.
        y = np.concatenate(([self._tpr_at(low, "right")], self.tpr[inside], [self._tpr_at(high, "left")]))
        area = float(np.trapezoid(y, x))
        if not standardised:
            return area
        least, most = (high**2 - low**2) / 2, high - low
        return 0.5 * (1 + (area - least) / (most - least))

    def _fpr_range(self, max_fpr: float | None, fpr_range: tuple[float, float] | None) -> tuple[float, float]:
        if (max_fpr is None) == (fpr_range is None):
            raise ParameterError("partial_auc needs max_fpr or fpr_range, one of them.")
        low, high = fpr_range if fpr_range is not None else (0.0, max_fpr or 0.0)
        check_number("the lower end of fpr_range", low, 0, 1)
        check_number("max_fpr" if fpr_range is None else "the upper end of fpr_range", high, low, 1, open_below=True)
        return float(low), float(high)

    def _tpr_at(self, fpr: float, side: Literal["left", "right"]) -> float:
        """The height of the curve at a false positive rate, on this side of a vertical step."""
        after = int(np.searchsorted(self.fpr, fpr, side=side))
        if side == "right" and self.fpr[after - 1] == fpr:
            return float(self.tpr[after - 1])
        if side == "left" and self.fpr[after] == fpr:
            return float(self.tpr[after])
        return float(np.interp(fpr, self.fpr[after - 1 : after + 1], self.tpr[after - 1 : after + 1]))

    def best_threshold(
        self,
        cost_fp: float = 1.0,
        cost_fn: float = 1.0,
        prior: float | None = None,
        costs: Any = None,
        level: float = 0.95,
        random_state: Any = 0,
    ) -> BestThreshold:
        """The threshold with the lowest expected cost on these rows, with a bootstrap interval.

        Parameters
        ----------
        cost_fp, cost_fn : float
            Costs of calling a negative row positive and of missing a positive one.
        prior : float, optional
            The share of positive rows where the threshold will be used. Default: that of these rows.
        costs : array-like of shape (2, 2), dict or frame, optional
            Instead of the two: rows the truth, columns the decision, negative first, or both by name as for `Decision`.
        level : float
        random_state : int or Generator
        """
        table = threshold_costs(cost_fp, cost_fn, costs, self.positive)
        rows = None if self.clustered is None else self.clustered.rows
        return best_threshold(self.ranked, table, prior, check_level(level), random_state, rows)

    @property
    def precision_recall(self) -> PrecisionRecall:
        """The precision-recall curve of the same scores."""
        return PrecisionRecall(self.ranked, self.positive, self.clustered)

    def to_frame(self) -> Any:
        """The curve as a pandas frame, or a dict of arrays without pandas."""
        return frame_of({"threshold": self.thresholds, "fpr": self.fpr, "tpr": self.tpr})

    def __repr__(self) -> str:
        interval = self.auc_interval()
        of = "" if self.positive is None else f" of class {shown(self.positive)}"
        return f"ROC curve{of}: AUC {self.auc:.4f}, {interval}"


@dataclass(frozen=True, eq=False)
class PrecisionRecall(ScoreCurve):
    """The precision-recall curve: for every threshold which share of what reaches it is positive, and of the positive.

    Made by `precision_recall`.

    Attributes
    ----------
    thresholds : array
        The distinct scores from the smallest up.
    precision, recall : arrays
        At each threshold; then 1 and 0, where no row is called positive.
    average_precision : float
        The mean over positive rows of the precision at their score.
    """

    @cached_property
    def thresholds(self) -> Array:
        return self.ranked.values[::-1]

    @cached_property
    def precision(self) -> Array:
        predicted = self.ranked.true_positives + self.ranked.false_positives
        share = np.divide(self.ranked.true_positives, predicted, out=np.zeros(len(predicted)), where=predicted > 0)
        return np.append(share[::-1], 1.0)

    @cached_property
    def recall(self) -> Array:
        return _shares(self.ranked.true_positives)[::-1]

    @cached_property
    def average_precision(self) -> float:
        return average_precision(self.ranked)

    @cached_property
    def average_precision_variance(self) -> float:
        """The variance of the average precision by its derivative in the weights of the rows."""
        if self.clustered is not None:
            return self.clustered.average_precision
        n = self.ranked.n_positive + self.ranked.n_negative
        return average_precision_influence(self.ranked, n).variance(self.ranked)

    def average_precision_interval(self, level: float = 0.95, scale: Literal["logit", "linear"] = "logit") -> Interval:
        """A confidence interval of the average precision (infinitesimal jackknife)."""
        variance = math.nan if self.undefined else self.average_precision_variance
        return self._interval(self.average_precision, variance, check_level(level), "infinitesimal jackknife", scale)

    def measured(self, level: float) -> list[tuple[Any, float, Interval, str]]:
        """The class, its average precision, the interval, and why there is none."""
        return [(self.positive, self.average_precision, self.average_precision_interval(level), self.undefined)]

    def to_frame(self) -> Any:
        """The curve as a pandas frame, or a dict of arrays without pandas."""
        thresholds = np.append(self.thresholds, np.inf)
        return frame_of({"threshold": thresholds, "precision": self.precision, "recall": self.recall})

    def __repr__(self) -> str:
        interval = self.average_precision_interval()
        of = "" if self.positive is None else f" of class {shown(self.positive)}"
        return f"precision-recall curve{of}: average precision {self.average_precision:.4f}, {interval}"


def binary_roc(
    is_positive: Array, scores: Array, weight: Array | None, clusters: Clusters | None, positive: Any = None
) -> Roc:
    """The ROC curve of checked rows."""
    if clusters is None:
        return Roc(rank(is_positive, scores, weight), positive)
    ranked, place = rank_rows(is_positive, scores, weight)
    of_auc, of_precision = row_influences(ranked, is_positive, place, clusters)
    variances = [row_variance(values, weight, clusters) for values in (of_auc, of_precision)]
    rows = ClusteredRows(clusters, is_positive, place, weight)
    return Roc(ranked, positive, JointVariance(variances[0], variances[1], clusters.words, clusters.degrees, rows))


def row_influences(
    ranked: RankedScores, is_positive: Array, place: Array, clusters: Clusters | None
) -> tuple[Array, Array]:
    """The influence of each row on the AUC and on the average precision; NaN where these are undefined."""
    if not ranked.two_sided:
        nothing = np.full(len(place), np.nan)
        return nothing, nothing
    if clusters is None:
        draws = ranked.n_positive, ranked.n_negative, ranked.n_positive + ranked.n_negative
    else:
        sides = [np.count_nonzero(clusters.sums(side)) for side in (is_positive, ~is_positive)]
        draws = float(sides[0]), float(sides[1]), float(clusters.count)
    of_auc = auc_influence(ranked, draws[0], draws[1]).of_rows(is_positive, place)
    return of_auc, average_precision_influence(ranked, draws[2]).of_rows(is_positive, place)


def row_variance(influence: Array, weight: Array | None, clusters: Clusters | None) -> float:
    """The variance of a measure from the influence of its rows."""
    weights = np.ones(len(influence)) if weight is None else weight
    if clusters is None:
        return float(weights @ np.square(influence))
    sums = clusters.sums(weights * influence)
    return float(sums @ sums)


def _shares(counts: Array) -> Array:
    """Running counts, from 0, as shares of the last one."""
    total = counts[-1]
    return np.append(0.0, counts / total if total > 0 else np.full(len(counts), np.nan))
