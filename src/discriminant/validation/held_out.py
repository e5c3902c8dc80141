"""What rows that were held out tell of a model, and of the difference between two.

The estimand is the mean, over the models of the splits, of their error on new rows. The losses of rows that were held
out vary around it as those of test rows do (central limit theorem of cross-validation: Bayle, Bayle, Janson & Mackey
2020), so that figures have the intervals of `evaluation`, and differences those of paired rows. A row counts once
however often it was held out: repeats make an estimate steadier, not the rows more. How much a fit to other training
rows would differ is not in these intervals (Bates, Hastie & Tibshirani 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc, betaln, stdtr

from ..evaluation.curves import rank_rows
from ..evaluation.intervals import (
    Interval,
    Mean,
    SamplingDesign,
    newcombe_interval,
    no_interval,
    normal_interval,
    quantile,
    wilson_interval,
)

Array = np.ndarray[Any, Any]

#: Degrees of freedom of a paired difference are no fewer, however heavy its tails.
_FEWEST_DEGREES = 2.5
#: No AUC of fewer than a billion pairs is this near to 0 or 1 without being there.
_ROUNDING = 1e-9
#: Pairs of a split for which the AUC's variance allows for pairs; of more it makes no difference.
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class PairedDifference:
    """A measure of one model minus that of another on the same rows, with its interval and the test that it is 0."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows while they were held out, split after split; a row is there as often as it was held out.

    Attributes
    ----------
    split, truth : arrays of shape (entries,)
        The number of the split, and the code of the class.
    design : SamplingDesign
        Weights and clusters of the entries.
    once : float
        The weight of the rows over that of the entries: 1 where every row is held out once.
    """

    split: Array
    truth: Array
    design: SamplingDesign
    once: float

    def draws(self, deviations: Array) -> float:
        """How many independent rows there are, or are worth as much where rows are in clusters."""
        if self.design.clusters is None:
            return self.design.total_weight * self.once
        return self.design.worth(deviations, float(self.design.weights @ np.square(deviations)))

    @cached_property
    def tests(self) -> list[Array]:
        """The entries of each split."""
        order = np.argsort(self.split, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.split[order])) + 1)

    def degrees(self, draws: float) -> float:
        return draws - 1 if self.design.clusters is None else self.design.degrees


@dataclass(frozen=True, eq=False)
class ShareOfRows:
    """A share of rows, such as those given their own class: whether each is one."""

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
        """By the rows on which the two differ: Agresti & Min's interval, McNemar's mid-p test."""
        gap = self.values.astype(np.float64) - other.values
        weights, difference = self.rows.design.weights, self.value - other.value
        n = self.rows.draws(gap - difference)
        scale = n / weights.sum()
        only = float(weights @ (gap > 0)) * scale, float(weights @ (gap < 0)) * scale
        low, high = paired_shares_interval(*only, n, level, self.rows.design.degrees)
        return PairedDifference(difference, low, high, mcnemar_p_value(*only))


@dataclass(frozen=True, eq=False)
class MeanOfRows:
    """A mean over rows, such as the log-loss, with what the model expects of it (see `Mean`)."""

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
        n = self.rows.draws(self.values - self.value)
        found = self.mean.interval(level, n, self.rows.degrees(n))
        return replace(found, method=f"{found.method}{self.rows.design.words}")

    def minus(self, other: MeanOfRows, level: float) -> PairedDifference:
        """Student's t of the differences of the rows, with the degrees of freedom that their tails leave.

        A variance from n values of kurtosis k is known as well as one from ``2 n / (k - 1)`` normal ones; half of that
        is taken, because the kurtosis of a sample is too small.
        """
        gap = self.values - other.values
        found, weights = Mean.of(gap, self.rows.design.weight), self.rows.design.weights
        n = self.rows.draws(gap - found.mean)
        if not n > 1:
            return PairedDifference(found.mean, math.nan, math.nan, math.nan)
        degrees = self.rows.degrees(n)
        if self.rows.design.clusters is None and found.squares > 0:
            kurtosis = float(weights @ (gap - found.mean) ** 4) * found.weight / found.squares**2
            degrees = min(degrees, max(n / max(kurtosis - 1, 1e-9), _FEWEST_DEGREES))
        error = math.sqrt(found.squares / found.weight / (n - 1))
        reach = quantile(level, degrees) * error
        p = _t_test(found.mean, error, degrees)
        return PairedDifference(found.mean, found.mean - reach, found.mean + reach, p)


def _t_test(value: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(value / error)))


@dataclass(frozen=True, eq=False)
class AreaOfRows:
    """The AUC of pairs of rows of the same split: scores of differently fitted models are not compared.

    Of more than two classes it is the mean of each against the rest. ``scores`` has a column for each.
    """

    rows: HeldOutRows
    scores: Array
    classes: tuple[int, ...]

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """For each entry and class how many of the pairs it is in are right, and how many there are; pairs by class."""
        shape = len(self.rows.truth), len(self.classes)
        right, pairs = np.zeros(shape), np.zeros(shape)
        weights = self.rows.design.weights
        for test in self.rows.tests:
            for j, k in enumerate(self.classes):
                positive = self.rows.truth[test] == k
                ranked, place = rank_rows(positive, np.ascontiguousarray(self.scores[test, j]), weights[test])
                if ranked.two_sided:
                    of_positive, of_negative = ranked.placements
                    share = np.where(positive, of_positive[place], of_negative[place])
                    pairs[test, j] = np.where(positive, ranked.n_negative, ranked.n_positive)
                    right[test, j] = share * pairs[test, j]
        of_class = self.rows.truth[:, None] == np.array(self.classes)
        return right, pairs, np.where(of_class, weights[:, None] * pairs, 0.0).sum(axis=0)

    @cached_property
    def _areas(self) -> Array:
        right, _, total = self._parts
        own = self.rows.truth[:, None] == np.array(self.classes)
        won = (self.rows.design.weights[:, None] * right * own).sum(axis=0)
        found = np.divide(won, total, out=np.full(len(total), np.nan), where=total > 0)
        # An order without errors is exactly that, however sums of weights are rounded.
        return np.where(np.abs(found - np.rint(found)) < _ROUNDING, np.rint(found), found)

    @property
    def value(self) -> float:
        return float(self._areas.mean())

    @cached_property
    def influence(self) -> Array:
        """How much each row moves the AUC."""
        right, pairs, total = self._parts
        return ((right - self._areas * pairs) / (total * len(self.classes))).sum(axis=1)

    def _squares_of_pairs(self, other: AreaOfRows | None = None) -> float:
        """The sum of squares of what single pairs move, which the influences of both their rows contain."""
        found, weights = 0.0, self.rows.design.weights
        for test in self.rows.tests:
            weight = weights[test]
            if len(test) ** 2 > _MOST_PAIRS:
                continue
            moved = np.zeros((len(test), len(test)))
            for sign, one in ((1.0, self), (-1.0, other)):
                if one is not None:
                    moved += sign * one._moved(test)
            both = moved + moved.T
            found += float(weight @ np.square(both) @ weight) / 2
        return found

    def _moved(self, test: Array) -> Array:
        """What each pair of a positive (row) and a negative row (column) of a split moves."""
        truth, total = self.rows.truth[test], self._parts[2]
        moved = np.zeros((len(test), len(test)))
        for j, k in enumerate(self.classes):
            score = self.scores[test, j]
            wins = 0.5 * ((score[:, None] > score).astype(float) + (score[:, None] >= score))
            is_pair = (truth == k)[:, None] & (truth != k)
            moved += np.where(is_pair, wins - self._areas[j], 0.0) / (total[j] * len(self.classes))
        return moved

    def _variance(self, influence: Array, of_pairs: float) -> float:
        """DeLong's variance with pairs within splits alone; a row counts once however often it was held out.

        The influences of rows of small splits contain those of single pairs twice. Half of that is taken off: all of it
        would be right on average, but leaves nothing in samples with few pairs.
        """
        design = self.rows.design
        variance = design.variance(influence)
        if design.clusters is not None:
            return variance * design.n_clusters / (design.n_clusters - 1)
        n = design.total_weight * self.rows.once
        return (variance - of_pairs / 2) / self.rows.once * n / (n - 1) if n > 1 else math.nan

    @cached_property
    def variance(self) -> float:
        return self._variance(self.influence, self._squares_of_pairs())

    def interval(self, level: float) -> Interval:
        if math.isnan(self.value):
            return no_interval(level, "a class was never held out together with another")
        if self.value in (0.0, 1.0):
            sizes = np.bincount(self.rows.truth, self.rows.design.weights)[list(self.classes)]
            total, scale = self.rows.design.total_weight, self.rows.once
            most = math.inf if self.rows.design.clusters is None else float(self.rows.design.n_clusters)
            ends = [
                tuple(newcombe_interval(self.value, min(own * scale, most), min((total - own) * scale, most), level))
                for own in sizes
            ]
            low, high = np.mean(ends, axis=0)
            return Interval(float(low), float(high), level, "Newcombe's score interval")
        method = f"DeLong within splits, logit scale{self.rows.design.words}"
        return normal_interval(self.value, self.variance, level, method, self.rows.design.degrees, "logit")

    def minus(self, other: AreaOfRows, level: float) -> PairedDifference:
        """By DeLong's variance of the difference; where no pair tells the two apart in another way, by their intervals.

        That is so for a perfect order of rows beside none at all: their difference is the same in every pair.
        """
        difference, degrees = self.value - other.value, self.rows.design.degrees
        gap = self._variance(self.influence - other.influence, self._squares_of_pairs(other))
        reach = quantile(level, degrees) * math.sqrt(gap)
        if gap <= 1e-24 and difference != 0:
            mine, theirs = self.interval(level), other.interval(level)
            reach = math.hypot(mine.high - mine.low, theirs.high - theirs.low)
        low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
        return PairedDifference(difference, low, high, _t_test(difference, reach / quantile(level, degrees), degrees))


def paired_shares_interval(
    first_only: float, second_only: float, n: float, level: float, degrees: float = math.inf
) -> tuple[float, float]:
    """The interval of a difference of two shares of the same rows (Agresti & Min 2005).

    It is Wald's after half a row has been added to each of the four cells.
    """
    difference = first_only - second_only
    centre = difference / (n + 2)
    spread = first_only + second_only + 1 - difference**2 / (n + 2)
    reach = quantile(level, degrees) * math.sqrt(spread) / (n + 2)
    return max(centre - reach, -1.0), min(centre + reach, 1.0)


def mcnemar_p_value(first_only: float, second_only: float, mid: bool = True) -> float:
    """McNemar's two-sided test of rows that only one of two gets right; counts may be sums of weights.

    "mid" counts the observed outcome half. The binomial distribution is continued between whole numbers.
    """
    tosses, fewer = first_only + second_only, min(first_only, second_only)
    if tosses == 0:
        return 1.0
    below = float(betainc(tosses - fewer, fewer + 1, 0.5))
    log_choose = -math.log(tosses + 1) - float(betaln(tosses - fewer + 1, fewer + 1))
    at = math.exp(log_choose - tosses * math.log(2))
    return min(2 * below - (at if mid else 0.0), 1.0)
