"""Scores in order: for each distinct score how many positive and negative rows have it, and what follows from that.

ROC, precision and recall, AUC, average precision and risk against coverage are functions of this table. It is made by
sorting the positive and the negative scores by themselves and merging them: sorting values is several times faster
than sorting row numbers. Row numbers are sorted only where rows have weights or belong together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..engine import side_by_side
from ..kernels import counting as kernels

Array = np.ndarray[Any, Any]

#: So few rows are sorted before a thread has woken up.
_FEW_ROWS = 100_000
#: Only an AUC this close to 0 or 1 can be rounding of scores that do not overlap.
_NEAR_THE_END = 1e-9


@dataclass(frozen=True)
class RankedScores:
    """Distinct scores, largest first, with the weight of the positive and of the negative rows that have them."""

    values: Array
    positive: Array
    negative: Array

    @cached_property
    def n_positive(self) -> float:
        return float(self.positive.sum())

    @cached_property
    def n_negative(self) -> float:
        return float(self.negative.sum())

    @cached_property
    def true_positives(self) -> Array:
        """Positive rows with at least this score."""
        return np.cumsum(self.positive)

    @cached_property
    def false_positives(self) -> Array:
        """Negative rows with at least this score."""
        return np.cumsum(self.negative)

    @cached_property
    def placements(self) -> tuple[Array, Array]:
        """For a positive row the share of negatives below, for a negative row the share of positives above."""
        of_positive, of_negative = np.full((2, len(self.values)), np.nan)
        if self.two_sided:
            kernels.placements(self.positive, self.negative, of_positive, of_negative)
        return of_positive, of_negative

    @property
    def two_sided(self) -> bool:
        """Whether there are positive and negative rows."""
        return self.n_positive > 0 and self.n_negative > 0


@dataclass(frozen=True)
class Influence:
    """How much one more row moves a measure: a positive and a negative row of each distinct score."""

    positive: Array
    negative: Array

    def variance(self, ranked: RankedScores) -> float:
        """The variance of the measure, if every row is a draw of its own."""
        return float(ranked.positive @ np.square(self.positive) + ranked.negative @ np.square(self.negative))

    def of_rows(self, is_positive: Array, place: Array) -> Array:
        """The influence of each row, where its score is the ``place``-th."""
        return np.where(is_positive, self.positive[place], self.negative[place])


def rank(is_positive: Array, scores: Array, weight: Array | None = None) -> RankedScores:
    """The ranked scores of rows."""
    if weight is not None:
        return rank_rows(is_positive, scores, weight)[0]
    size = len(scores)
    n_jobs = 1 if size < _FEW_ROWS else None
    parts = side_by_side(lambda chosen: np.sort(scores[chosen]), [is_positive, ~is_positive], n_jobs)
    values, positive, negative = np.empty(size, dtype=scores.dtype), np.empty(size), np.empty(size)
    count = kernels.merge_scores(*parts, values, positive, negative)
    if count < size // 2:  # many ties: do not hold on to the empty rest
        return RankedScores(values[:count].copy(), positive[:count].copy(), negative[:count].copy())
    return RankedScores(values[:count], positive[:count], negative[:count])


def rank_rows(is_positive: Array, scores: Array, weight: Array | None) -> tuple[RankedScores, Array]:
    """The ranked scores, and the place of each row's score among them."""
    order = np.argsort(-scores)
    sorted_scores = scores[order]
    starts = np.flatnonzero(np.append(True, sorted_scores[1:] != sorted_scores[:-1]))
    weights = np.ones(len(scores)) if weight is None else weight[order]
    positive = np.add.reduceat(np.where(is_positive[order], weights, 0.0), starts)
    negative = np.add.reduceat(np.where(is_positive[order], 0.0, weights), starts)
    place = np.empty(len(scores), dtype=np.intp)
    place[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(scores)))
    # A row of weight 0 is not there, nor is a score that only such rows have: its place is that of a neighbour.
    there = positive + negative > 0
    ranked = RankedScores(sorted_scores[starts][there], positive[there], negative[there])
    return ranked, np.maximum(np.cumsum(there) - 1, 0)[place]


def auc(ranked: RankedScores) -> float:
    """The probability that a positive row scores above a negative one, ties counting half; NaN without either."""
    if not ranked.two_sided:
        return math.nan
    value = float(kernels.placement_moments(ranked.positive, ranked.negative, 0.0)[0]) / ranked.n_positive
    return _without_rounding(value, ranked) if min(value, 1 - value) < _NEAR_THE_END else value


def _without_rounding(value: float, ranked: RankedScores) -> float:
    """An AUC near 0 or 1, which is exactly that where the two sides do not overlap: sums of weights are rounded."""
    of_positive, of_negative = np.flatnonzero(ranked.positive), np.flatnonzero(ranked.negative)
    if of_positive[-1] < of_negative[0]:
        return 1.0
    return 0.0 if of_negative[-1] < of_positive[0] else value


def auc_variance(ranked: RankedScores) -> float:
    """DeLong's variance of the AUC: that of `auc_influence` for independent rows, without its arrays."""
    value, m, n = auc(ranked), ranked.n_positive, ranked.n_negative
    if not (m > 1 and n > 1):
        return math.nan
    _, of_positive, _, of_negative = kernels.placement_moments(ranked.positive, ranked.negative, value)
    return float(of_positive / (m * (m - 1)) + of_negative / (n * (n - 1)))


def auc_influence(ranked: RankedScores, n_positive: float, n_negative: float) -> Influence:
    """The influence of rows on the AUC (DeLong, DeLong & Clarke-Pearson 1988).

    ``n_positive`` and ``n_negative`` are the numbers of independent draws: rows, or clusters that have such rows. They
    are what the variance is corrected for (n / (n - 1)); for rows it is then DeLong's.
    """
    value = auc(ranked)
    of_positive, of_negative = ranked.placements
    return Influence(
        (of_positive - value) / ranked.n_positive * _correction(n_positive),
        (of_negative - value) / ranked.n_negative * _correction(n_negative),
    )


def average_precision(ranked: RankedScores) -> float:
    """The mean, over positive rows, of the precision at their score; NaN without positive rows."""
    if not ranked.n_positive > 0:
        return math.nan
    return float(ranked.positive @ _precision(ranked)) / ranked.n_positive


def average_precision_influence(ranked: RankedScores, n: float) -> Influence:
    """The influence of rows on the average precision: its derivative in their weights.

    A row changes the precision at its own score and at all lower ones. ``n`` is the number of independent draws.
    """
    value, precision = average_precision(ranked), _precision(ranked)
    predicted = np.maximum(ranked.true_positives + ranked.false_positives, 1e-300)
    gained = _from_below(ranked.positive / predicted)
    lost = _from_below(ranked.positive * precision / predicted)
    scale = _correction(n) / ranked.n_positive
    return Influence((precision + gained - lost - value) * scale, -lost * scale)


def _precision(ranked: RankedScores) -> Array:
    predicted = ranked.true_positives + ranked.false_positives
    return np.divide(ranked.true_positives, predicted, out=np.zeros(len(predicted)), where=predicted > 0)


def _from_below(values: Array) -> Array:
    """Sums over this and all lower scores."""
    return np.cumsum(values[::-1])[::-1]


def _correction(n: float) -> float:
    return math.sqrt(n / (n - 1)) if n > 1 else math.nan
