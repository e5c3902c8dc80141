"""Measures of held-out rows, their intervals, and the differences of two models.

The estimand is the mean, over the models of the splits, of their error on new rows. The losses of held-out rows vary
around it like those of test rows (central limit theorem of cross-validation: Bayle, Bayle, Janson & Mackey
2020): measures have the intervals of `evaluation`, and differences those of paired rows. A row counts once for any
number of repeats, which do not add rows. The variance due to the training rows is not included (Bates, Hastie &
Tibshirani 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from ..arrays import Array
from ..data import has_fractions
from ..evaluation.intervals import Interval, no_interval, normal_interval, quantile, wilson_interval
from ..evaluation.ranking import AucVariance, auc_interval
from ..evaluation.rates import OVERALL, class_intervals, other_intervals, table_statistic
from ..evaluation.sampling import Mean, SamplingDesign
from ..evaluation.table_sample import Statistic, TableSample, cell_response, margins
from .labelled_table import LabelledTable
from .paired import (
    MIN_DEGREES,
    PairedDifference,
    known_degrees,
    mcnemar_p_value,
    paired_shares_interval,
    t_test_p_value,
)
from .splits import Split

#: Maximum share of the variance of an AUC that is subtracted for single pairs of rows, for samples with few pairs.
MAX_PAIR_SHARE: Final = 0.5
#: The AUC of scores that do not depend on the class.
CHANCE: Final = 0.5
#: An AUC this close to 0 or 1 is 0 or 1 up to rounding, unless there are a billion pairs.
_AUC_ROUNDING: Final = 1e-9
#: Maximum pairs of a split, times classes, for which the variance of the AUC is corrected; with more the correction is
#: small.
_MAX_CORRECTED_PAIRS: Final = 1_000_000


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """The held-out rows of all splits, one split after another; a row has an entry for each split that holds it out.

    Attributes
    ----------
    split, row, truth : arrays of shape (entries,)
        The number of the split and of the row, and the code of its class.
    design : SamplingDesign
        Weights and clusters of the entries.
    once : float
        Weight of the rows divided by that of the entries: 1 if every row is held out once.
    """

    split: Array
    row: Array
    truth: Array
    design: SamplingDesign
    once: float

    def draws(self, deviations: Array) -> float:
        """The number of independent rows; for clusters the equivalent number."""
        if self.design.clusters is None:
            return self.design.total_weight * self.once
        return self.design.worth(deviations, float(self.design.weights @ np.square(deviations)))

    @cached_property
    def tests(self) -> list[Array]:
        """The entries of each split."""
        order = np.argsort(self.split, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.split[order])) + 1)

    def rows_behind(self, influence: Array) -> float:
        """The effective rows that a variance rests on; a row counts once for any number of repeats."""
        found = self.design.rows_behind(influence)
        return found * self.once if self.design.clusters is None else found

    def degrees(self, draws: float) -> float:
        return draws - 1 if self.design.clusters is None else self.design.degrees

    def variance(self, influence: Array, of_pairs: float = 0.0) -> float:
        """The variance of a measure from the influences of its rows; a row counts once for any number of repeats.

        ``of_pairs`` is the part of the squares that is due to single pairs of rows (see `AreaOfRows`).
        """
        variance = self.design.variance(influence)
        if self.design.clusters is not None:
            return variance * self.design.n_clusters / (self.design.n_clusters - 1)
        n = self.design.total_weight * self.once
        of_pairs = min(of_pairs, MAX_PAIR_SHARE * variance)
        return (variance - of_pairs) / self.once * n / (n - 1) if n > 1 else math.nan


def held_out_rows(table: LabelledTable, splits: list[Split]) -> HeldOutRows:
    """The test rows of all splits, one split after another."""
    index = np.concatenate([split.test for split in splits])
    number = np.repeat(np.arange(len(splits)), [len(split.test) for split in splits])
    weight = table.weights_of(index)
    design = SamplingDesign(len(index), weight)
    if table.groups is not None:
        found, clusters = np.unique(table.groups[index], return_inverse=True)
        design = SamplingDesign(len(index), weight, clusters, len(found)) if len(found) > 1 else design
    elif has_fractions(table.weight) and weight is not None:
        design = SamplingDesign.of_importances(weight, index)
    rows = np.unique(index)
    once = float(len(rows) if weight is None else table.weights_of(rows).sum())  # type: ignore[union-attr]
    return HeldOutRows(number, index, table.codes[index], design, once / max(design.total_weight, 1e-300))


@dataclass(frozen=True, eq=False)
class ShareOfRows:
    """A share of rows, such as the accuracy: whether each row counts."""

    rows: HeldOutRows
    values: Array

    @cached_property
    def value(self) -> float:
        return Mean.of(self.values, self.rows.design.weight).mean

    def interval(self, level: float) -> Interval:
        """Wilson's interval, as that of an evaluation."""
        n = self.rows.draws(self.values - self.value)
        return wilson_interval(self.value, n, level, self.rows.design.degrees, f"Wilson{self.rows.design.words}")

    def minus(self, other: ShareOfRows, level: float) -> PairedDifference:
        """The difference with Agresti & Min's interval and McNemar's mid-p test."""
        gap = self.values.astype(np.float64) - other.values
        weights, difference = self.rows.design.weights, self.value - other.value
        n = self.rows.draws(gap - difference)
        scale = n / weights.sum()
        only = float(weights @ (gap > 0)) * scale, float(weights @ (gap < 0)) * scale
        low, high = paired_shares_interval(*only, n, level, self.rows.design.degrees)
        found = PairedDifference(difference, low, high, mcnemar_p_value(*only))
        return found.resting_on(self.rows.rows_behind(gap - difference))


@dataclass(frozen=True, eq=False)
class MeanOfRows:
    """A mean over rows, such as the log-loss, with the moments expected by the model (see `Mean`)."""

    rows: HeldOutRows
    values: Array
    expected: Array | None

    @cached_property
    def mean(self) -> Mean:
        return Mean.of(self.values, self.rows.design.weight, self.expected)

    @property
    def value(self) -> float:
        return self.mean.mean

    def interval(self, level: float) -> Interval:
        deviations = self.values - self.value
        n, rows = self.rows.draws(deviations), self.rows.rows_behind(deviations)
        found = self.mean.interval(level, n, self.rows.degrees(n), rows)
        return replace(found, method=f"{found.method}{self.rows.design.words}")

    def minus(self, other: MeanOfRows, level: float) -> PairedDifference:
        """The difference with Student's t, with degrees of freedom for the kurtosis of the differences of rows."""
        gap = self.values - other.values
        found = Mean.of(gap, self.rows.design.weight)
        n = self.rows.draws(gap - found.mean)
        if not n > 1:
            return PairedDifference(found.mean, math.nan, math.nan, math.nan)
        rows = self.rows.rows_behind(gap - found.mean)
        degrees = known_degrees(rows, self.rows.degrees(n))
        error = math.sqrt(found.squares / found.weight / (n - 1))
        half_width = quantile(level, degrees) * error
        p = t_test_p_value(found.mean, error, degrees)
        ends = PairedDifference(found.mean, found.mean - half_width, found.mean + half_width, p, False, error, degrees)
        return ends.resting_on(rows if error > 0 else 0.0)  # without variance no row decides


@dataclass(frozen=True, eq=False)
class AreaOfRows:
    """The AUC of pairs of rows of the same split: scores of different fits are not compared.

    For more than two classes it is the mean of each against the rest. ``scores`` has a column for each class.
    """

    rows: HeldOutRows
    scores: Array
    classes: tuple[int, ...]

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """For each entry and class the correctly ordered pairs and all pairs of the entry; all pairs by class."""
        columns = [self._placements(k, self.scores[:, j]) for j, k in enumerate(self.classes)]
        right, pairs = (np.column_stack(part) for part in zip(*columns, strict=True))
        weights = self.rows.design.weights
        of_class = self.rows.truth[:, None] == np.array(self.classes)
        return right, pairs, np.where(of_class, weights[:, None] * pairs, 0.0).sum(axis=0)

    def _placements(self, k: int, score: Array) -> tuple[Array, Array]:
        """For each entry the weight of its correctly ordered pairs in the split, and of all its pairs there."""
        split, weights, positive = self.rows.split, self.rows.design.weights, self.rows.truth == k
        order = np.lexsort((score, split))
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = np.any([values[order][1:] != values[order][:-1] for values in (split, score)], axis=0)
        place = np.empty_like(order)
        place[order] = np.cumsum(is_new) - 1
        won, pairs = np.zeros(len(order)), np.zeros(len(order))
        for own, sign in ((positive, 1.0), (~positive, -1.0)):
            others = np.where(own, 0.0, weights)
            tied = np.bincount(place, others)
            totals = np.bincount(split, others)
            total = totals[split]
            below = (np.cumsum(tied) - tied / 2)[place] - (np.cumsum(totals) - totals)[split]
            won[own] = (below if sign > 0 else total - below)[own]
            pairs[own] = total[own]
        return won, pairs

    @cached_property
    def _areas(self) -> Array:
        right, _, total = self._parts
        own = self.rows.truth[:, None] == np.array(self.classes)
        won = (self.rows.design.weights[:, None] * right * own).sum(axis=0)
        found = np.divide(won, total, out=np.full(len(total), np.nan), where=total > 0)
        # Sums of weights are rounded; an order without errors has an AUC of exactly 1.
        return np.where(np.abs(found - np.rint(found)) < _AUC_ROUNDING, np.rint(found), found)

    @property
    def value(self) -> float:
        return float(self._areas.mean())

    @cached_property
    def influence(self) -> Array:
        """The influence of each row on the AUC."""
        right, pairs, total = self._parts
        return ((right - self._areas * pairs) / (total * len(self.classes))).sum(axis=1)

    def _squares_of_pairs(self, other: AreaOfRows | None = None) -> float:
        """The sum of squared influences of single pairs, which the influences of both rows of a pair contain."""
        found, weights = 0.0, self.rows.design.weights
        for test in self.rows.tests:
            weight = weights[test]
            if len(self.classes) * len(test) ** 2 > _MAX_CORRECTED_PAIRS:
                continue
            moved = np.zeros((len(test), len(test)))
            for sign, one in ((1.0, self), (-1.0, other)):
                if one is not None:
                    moved += sign * one._moved(test)
            both = moved + moved.T
            found += float(weight @ np.square(both) @ weight) / 2
        return found

    def _moved(self, test: Array) -> Array:
        """The influence of each pair of a positive (row) and a negative row (column) of a split."""
        truth, total = self.rows.truth[test], self._parts[2]
        moved = np.zeros((len(test), len(test)))
        for j, k in enumerate(self.classes):
            score = self.scores[test, j]
            wins = 0.5 * ((score[:, None] > score).astype(float) + (score[:, None] >= score))
            is_pair = (truth == k)[:, None] & (truth != k)
            moved += np.where(is_pair, wins - self._areas[j], 0.0) / (total[j] * len(self.classes))
        return moved

    @cached_property
    def variance(self) -> float:
        """DeLong's variance with pairs within splits alone.

        The influences of the rows of small splits contain those of single pairs twice, which is subtracted.
        """
        return self.rows.variance(self.influence, self._squares_of_pairs())

    @cached_property
    def _sides(self) -> list[tuple[float, float]]:
        """Independent rows, or clusters, of each class and of the others."""
        design = self.rows.design
        scale = self.rows.once if design.clusters is None else 1.0
        found = (design.sides(self.rows.truth == k) for k in self.classes)
        return [(own * scale, others * scale) for own, others in found]

    def interval(self, level: float) -> Interval:
        """That of an evaluation, of pairs within splits; a range if it includes the AUC of chance."""
        if math.isnan(self.value):
            return no_interval(level, "a class was never held out together with another")
        rows, words = self.rows.rows_behind(self.influence), f" within splits{self.rows.design.words}"
        if self.value in (0.0, 1.0) or len(self.classes) == 1:
            variance = self.variance if self.influence.any() else 0.0
            ends = [
                auc_interval(self.value, AucVariance(variance, rows, sides, self._degrees, words), level)
                for sides in self._sides
            ]
            low, high = np.mean([tuple(end) for end in ends], axis=0)
            found = replace(ends[0], low=float(low), high=float(high))
        else:
            method = f"DeLong{words}, logit scale"
            found = normal_interval(self.value, self.variance, level, method, self.rows.design.degrees, "logit")
            found = found.resting_on(rows)
        if found.low <= CHANCE < found.high:
            return found.as_range("not better than chance")
        return found

    @property
    def _degrees(self) -> float:
        """Degrees of freedom of the variance of an AUC of two classes (Satterthwaite), or those between clusters."""
        if self.rows.design.clusters is not None:
            return self.rows.design.degrees
        positive = self.rows.truth == self.classes[0]
        squares = self.rows.design.weights * np.square(self.influence)
        parts = np.array([squares[positive].sum(), squares[~positive].sum()])
        known = np.maximum(np.array(self._sides[0]) - 1, 1e-9)
        return float(parts.sum() ** 2 / (np.square(parts) / known).sum()) if parts.any() else math.inf

    def minus(self, other: AreaOfRows, level: float) -> PairedDifference:
        """The difference with DeLong's variance, or by the two intervals if there is no variance."""
        influence = self.influence - other.influence
        found = _difference_of(self, other, influence, self._squares_of_pairs(other), level)
        if other.influence.any() or not self.influence.any():
            return found
        ends = ModelMeasure(self, True, self).interval(level)  # all scores of the other are equal
        return replace(found, low=ends.low - other.value, high=ends.high - other.value, is_range=ends.is_range)


#: Measures of the table of true and predicted classes.
TABLE_MEASURES = ("balanced_accuracy", "f1")


@dataclass(frozen=True)
class TableMeasure:
    """A measure of the table of true and predicted classes: overall, the macro average, or of one class."""

    metric: str
    of: str | int

    @classmethod
    def named(cls, metric: str, positive: int | None) -> TableMeasure:
        """F1 is that of the positive class; without one, the mean over the classes."""
        return cls(metric, "overall" if metric in OVERALL else "macro" if positive is None else positive)

    @property
    def statistic(self) -> Statistic:
        return table_statistic(self.metric, self.of)

    def value(self, counts: Array) -> float:
        """The measure of a table with true classes as rows."""
        return float(self.statistic(margins(counts)))

    def interval(self, sample: TableSample, level: float) -> Interval:
        """That of an evaluation."""
        if isinstance(self.of, int):
            return class_intervals(sample, self.metric, level)[self.of]
        return other_intervals(sample, [(self.metric, self.of)], level, 0)[0]


@dataclass(frozen=True, eq=False)
class MeasureOfTable:
    """A measure of the table of true and predicted classes, with the predicted codes."""

    rows: HeldOutRows
    codes: Array
    measure: TableMeasure
    n_classes: int

    @cached_property
    def _cells(self) -> Array:
        return self.rows.truth * self.n_classes + self.codes

    @cached_property
    def _counts(self) -> Array:
        counts = np.bincount(self._cells, self.rows.design.weights, self.n_classes**2)
        return counts.reshape(self.n_classes, self.n_classes)

    @cached_property
    def value(self) -> float:
        return self.measure.value(self._counts)

    @cached_property
    def influence(self) -> Array:
        """The influence of each row on the measure."""
        found: Array = cell_response(self.measure.statistic, self._counts)[self._cells, 0]
        return found

    def interval(self, level: float) -> Interval:
        """That of an evaluation."""
        design = self.rows.design
        sample = TableSample(self._counts * self.rows.once)
        if design.clusters is not None:
            sample = TableSample(self._counts, design.by_cluster(self._cells, self.n_classes**2))
        return self.measure.interval(sample, level)

    def minus(self, other: MeasureOfTable, level: float) -> PairedDifference:
        """The difference with its linearised variance."""
        return _difference_of(self, other, self.influence - other.influence, 0.0, level)


def _difference_of(
    one: AreaOfRows | MeasureOfTable,
    other: AreaOfRows | MeasureOfTable,
    influence: Array,
    squares_of_pairs: float,
    level: float,
) -> PairedDifference:
    """The difference of two measures with the variance of its influences; without variance, by the two intervals."""
    difference, rows = one.value - other.value, one.rows.rows_behind(influence)
    variance = one.rows.variance(influence, squares_of_pairs)
    kept = variance / one.rows.variance(influence) if variance > 0 else 1.0
    degrees = max(kept**2 * known_degrees(rows, one.rows.design.degrees), MIN_DEGREES)
    error = math.sqrt(variance)
    half_width = quantile(level, degrees) * error
    if error <= 1e-12:
        rows = 0.0
        if difference != 0:
            mine, theirs = one.interval(level), other.interval(level)
            half_width = math.hypot(mine.high - mine.low, theirs.high - theirs.low)
    low, high = max(difference - half_width, -1.0), min(difference + half_width, 1.0)
    p = t_test_p_value(difference, half_width / quantile(level, degrees), degrees)
    return PairedDifference(difference, low, high, p, False, error, degrees).resting_on(rows)


#: Confidence level of the conditions under which the difference of two models has a test (`difference_of`). The higher
#: it is, the less they depend on the difference itself, and the more differences of weak models have no test.
CONDITION_LEVEL: Final = 0.9999


@dataclass(frozen=True, eq=False)
class ModelMeasure:
    """A measure of a model on held-out rows, and its AUC, which shows whether the model is better than chance.

    Rules fitted to noise change with single training rows, and held-out rows are not independent of them: intervals of
    the AUC of a useless model cover in 80 % of samples. The condition is on the AUC for every measure: it
    detects weak models best, and depends less on the measure than a condition on the measure itself, which would select
    samples.
    Shares of rows have no condition, and neither have the baseline and models without scores.
    """

    measure: Pooled
    more_is_better: bool
    area: AreaOfRows | None = None

    def is_above_chance(self, level: float) -> bool:
        """Whether the interval of the AUC is above chance, or there is no AUC."""
        return self.area is None or not self.area.interval(level).low <= CHANCE

    def interval(self, level: float) -> Interval:
        """The interval of the measure; a range where the model is not better than chance."""
        found = self.measure.interval(level)
        if self.area is None or isinstance(self.measure, ShareOfRows):
            return found
        if not self.is_above_chance(level):
            return found.as_range("not better than chance")
        if found.is_range:
            return found
        value = self.measure.value
        share = conditional_half_width(self.area.interval(level), self.area.value, CHANCE)
        share = 1 - (1 - share) * self._squared_correlation
        if self.more_is_better:
            return replace(found, high=value + share * (found.high - value))
        return replace(found, low=value - share * (value - found.low))

    @cached_property
    def _squared_correlation(self) -> float:
        """That of the row values of the measure and of the AUC; 0 without variance."""
        assert self.area is not None
        measure, area = row_values(self.measure) - self.measure.value, self.area.influence
        weights = self.measure.rows.design.weights
        variances = (weights @ np.square(measure)) * (weights @ np.square(area))
        return float((weights @ (measure * area)) ** 2 / variances) if variances > 0 else 0.0


def difference_of(one: ModelMeasure, other: ModelMeasure, baseline: Pooled | None, level: float) -> PairedDifference:
    """The difference of two measures of the same kind; a range where its interval and its test have no known level.

    The difference from the baseline (``baseline`` is None), or of models without one, has an interval where the models
    are better than chance. Two equal models that are hardly better than the baseline are different: without the samples
    in which one of them happens to be worse than chance, intervals of their difference cover in 98 to 99 %. What is
    tested instead is the advantage over the baseline that both have in common, estimated with the least variance, which
    is uncorrelated with the difference. Only where the two evidently differ, the worse one has to be better than chance
    by itself.
    """
    found: PairedDifference = one.measure.minus(other.measure, level)  # type: ignore[arg-type]
    if isinstance(one.measure, ShareOfRows):
        return found
    weakest = [one, other]
    if baseline is not None:
        sign = 1.0 if one.more_is_better else -1.0
        first, second = (model.measure.minus(baseline, level) for model in (one, other))  # type: ignore[arg-type]
        if not has_common_advantage(found, first, second, sign):
            return replace(found, is_range=True)
        differ = abs(found.difference) > quantile(CONDITION_LEVEL) * found.standard_error
        weakest = [] if not differ else [other if sign * found.difference > 0 else one]
    return found if all(model.is_above_chance(level) for model in weakest) else replace(found, is_range=True)


def has_common_advantage(
    pair: PairedDifference, first: PairedDifference, second: PairedDifference, sign: float
) -> bool:
    """Whether two models are better than the baseline by their common advantage, given their difference from it.

    ``first - b pair`` has the least variance where b is the covariance with the difference over its variance.
    """
    square = pair.standard_error**2
    covariance = (first.standard_error**2 + square - second.standard_error**2) / 2
    slope = covariance / square if square > 0 else 0.0
    advantage = sign * (first.difference - slope * pair.difference)
    error = math.sqrt(max(first.standard_error**2 - slope * covariance, 0.0))
    return advantage > quantile(CONDITION_LEVEL) * error


def conditional_half_width(interval: Interval, value: float, bound: float) -> float:
    """The share of the upper half-width that an interval needs if it is given only above a bound.

    Samples with a low estimate have no interval, and the upper ends of the others are then conservative: intervals of
    the AUC that are given in 80 to 98 % of samples cover in up to 98 % of these. The share leads to the upper limit
    conditional on there being an interval (Weinstein, Fithian & Benjamini 2013), for a normal estimate.
    """
    from scipy.optimize import brentq  # slow to load

    if not bound < interval.low < value:
        return 1.0
    half_width, upper = quantile(interval.level), 0.5 + interval.level / 2
    excess = half_width * ((value - bound) / (value - interval.low) - 1)

    def remaining(half: float) -> float:
        return float(ndtri(upper * ndtr(excess + half))) - half

    return float(brentq(remaining, 0.0, half_width)) / half_width if remaining(0.0) > 0 else 0.0


Pooled = ShareOfRows | MeanOfRows | AreaOfRows | MeasureOfTable


def row_values(measure: Pooled) -> Array:
    """Values of the rows whose mean is the measure, exactly or to first order."""
    if isinstance(measure, ShareOfRows | MeanOfRows):
        return measure.values
    return measure.value + measure.rows.design.total_weight * measure.influence
