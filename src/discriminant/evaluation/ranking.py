"""Ranked scores: the numbers of positive and negative rows of each distinct score, and statistics of them.

The table is made by sorting the positive and the negative scores separately and merging them: sorting values is
several times faster than sorting row numbers. Row numbers are sorted only for rows with weights or clusters.

An AUC has Newcombe's score interval, or a score interval with DeLong's variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from ..arrays import Array
from ..engine import parallel_map
from .intervals import Interval, no_interval, quantile
from .sampling import SamplingDesign, power_sums

#: With fewer rows, starting a thread takes longer than sorting.
_FEW_ROWS: Final = 100_000
#: Number of scores at which the precision of a distribution is averaged.
_QUANTILES: Final = 2_000
#: Only an AUC this close to 0 or 1 can be rounding of scores that do not overlap.
_NEAR_THE_END: Final = 1e-9
#: With fewer positive rows the average precision is estimated with too large a bias for an interval: of 5 rows in 100,
#: intervals covered in 0.86 to 0.91 of samples.
MIN_PRECISION_ROWS: Final = 10


@dataclass(frozen=True)
class RankedScores:
    """Distinct scores in decreasing order, with the weights of their positive and negative rows."""

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
    def predicted(self) -> Array:
        """Rows with at least this score."""
        return self.true_positives + self.false_positives

    @cached_property
    def precision(self) -> Array:
        """The share of positive rows among those with at least this score."""
        return self.true_positives / self.predicted

    @cached_property
    def placements(self) -> tuple[Array, Array]:
        """For a positive row the share of negative rows with lower scores, for a negative row the share of positive
        rows with higher scores.
        """
        if not self.two_sided:
            none = np.full(len(self.values), np.nan)
            return none, none
        negatives_below = self.n_negative - self.false_positives
        positives_above = self.true_positives - self.positive
        return (
            (negatives_below + 0.5 * self.negative) / self.n_negative,
            (positives_above + 0.5 * self.positive) / self.n_positive,
        )

    @property
    def two_sided(self) -> bool:
        """Whether there are positive and negative rows."""
        return self.n_positive > 0 and self.n_negative > 0


def rank(is_positive: Array, scores: Array, weight: Array | None = None) -> RankedScores:
    """The ranked scores of rows."""
    if weight is not None:
        return rank_rows(is_positive, scores, weight)[0]
    size = len(scores)
    n_jobs = 1 if size < _FEW_ROWS else None
    parts = parallel_map(lambda chosen: np.sort(scores[chosen]), [is_positive, ~is_positive], n_jobs)
    pooled = np.concatenate(parts)
    order = np.argsort(pooled, kind="stable")[::-1]  # merges the two sorted parts
    # The last place of each distinct score, largest score first. Scores may be infinite: no differences.
    ranked = pooled[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), np.arange(size)[-1:])
    positive = np.diff(np.cumsum(order < len(parts[0]))[ends], prepend=0).astype(np.float64)
    return RankedScores(ranked[ends], positive, np.diff(ends, prepend=-1) - positive)


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
    # Rows of weight 0 are excluded; a score that only such rows have gets the place of its neighbour.
    there = positive + negative > 0
    ranked = RankedScores(sorted_scores[starts][there], positive[there], negative[there])
    return ranked, np.maximum(np.cumsum(there) - 1, 0)[place]


def auc(ranked: RankedScores) -> float:
    """P(positive row scores above negative row), ties count half; NaN if one of them is missing."""
    if not ranked.two_sided:
        return math.nan
    value = float(ranked.positive @ ranked.placements[0]) / ranked.n_positive
    if min(value, 1 - value) < _NEAR_THE_END:
        # It is exactly 0 or 1 if scores do not overlap, whatever the rounding of sums of weights.
        of_positive, of_negative = np.flatnonzero(ranked.positive), np.flatnonzero(ranked.negative)
        value = 1.0 if of_positive[-1] < of_negative[0] else 0.0 if of_negative[-1] < of_positive[0] else value
    return value


def aucs(is_positive: Array, scores: Array, weights: Array) -> Array:
    """The AUCs (m, s) of rows of scores (m, n), each with several weightings of its rows (m, s, n)."""
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    weights = np.take_along_axis(weights, order[:, None], axis=2)
    negative = weights * ~is_positive[order][:, None]
    positive, below = weights - negative, np.cumsum(negative, axis=2)
    n_negative = below[:, :, -1]
    differs = ranked[:, 1:] != ranked[:, :-1]
    if not differs.all():
        # Half of the negative rows with the same score are below.
        place, ends = np.arange(scores.shape[1]), np.ones((len(scores), 1), dtype=bool)
        first = np.maximum.accumulate(np.where(np.hstack((ends, differs)), place, 0), axis=1)[:, None]
        is_last = np.hstack((differs, ends))[:, ::-1]
        last = np.minimum.accumulate(np.where(is_last, place[::-1], place[-1]), axis=1)[:, None, ::-1]
        before = np.take_along_axis(below, first, axis=2) - np.take_along_axis(negative, first, axis=2)
        below = (before + np.take_along_axis(below, last, axis=2)) / 2
    with np.errstate(invalid="ignore"):
        found = np.einsum("msn,msn->ms", positive, below) / (positive.sum(axis=2) * n_negative)
    for i, j in np.argwhere(np.minimum(found, 1 - found) < _NEAR_THE_END):
        found[i, j] = auc(rank(is_positive[order[i]], ranked[i], weights[i, j]))
    return found


def auc_variance(ranked: RankedScores) -> float:
    """DeLong's variance of the AUC: that of `auc_influence` for independent rows, without its arrays."""
    value, m, n = auc(ranked), ranked.n_positive, ranked.n_negative
    if not (m > 1 and n > 1):
        return math.nan
    of_positive, of_negative = (placement - value for placement in ranked.placements)
    between_positives, between_negatives = ranked.positive @ of_positive**2, ranked.negative @ of_negative**2
    return float(between_positives / (m * (m - 1)) + between_negatives / (n * (n - 1)))


def auc_influence(ranked: RankedScores, n_positive: float, n_negative: float) -> Array:
    """The influence of one more row of each distinct score on the AUC (DeLong, DeLong & Clarke-Pearson 1988).

    The first row of the array is for negative rows, the second for positive ones.

    ``n_positive`` and ``n_negative`` are the numbers of independent rows, or of clusters with such rows, for the
    correction n / (n - 1) of the variance; for rows it is DeLong's.
    """
    return np.stack(_influences(ranked, n_positive, n_negative))


def _influences(ranked: RankedScores, n_positive: float, n_negative: float) -> tuple[Array, Array]:
    """The two rows of `auc_influence`."""
    value, (of_positive, of_negative) = auc(ranked), ranked.placements
    of_negative = (of_negative - value) * (_correction(n_negative) / ranked.n_negative)
    return of_negative, (of_positive - value) * (_correction(n_positive) / ranked.n_positive)


def delong_variance(ranked: RankedScores) -> AucVariance:
    """DeLong's variance of the AUC of independent rows, with its degrees of freedom (Satterthwaite)."""
    m, n = ranked.n_positive, ranked.n_negative
    of_negative, of_positive = _influences(ranked, m, n)
    positive, positive_fourth = power_sums(of_positive, ranked.positive)
    negative, negative_fourth = power_sums(of_negative, ranked.negative)
    total, fourth = positive + negative, positive_fourth + negative_fourth
    if not total > 0:
        return AucVariance(total, math.inf, (m, n))
    degrees = total**2 / (positive**2 / (m - 1) + negative**2 / (n - 1))
    return AucVariance(total, total**2 / fourth, (m, n), degrees)


def average_precision(ranked: RankedScores) -> float:
    """The mean, over positive rows, of the precision at their score; NaN without positive rows."""
    if not ranked.n_positive > 0:
        return math.nan
    return min(float(ranked.positive @ ranked.precision) / ranked.n_positive, 1.0)


def binormal_precision(area: float, share: float) -> float:
    """The average precision of normal scores with equal variances, for this AUC and share of positive rows."""
    above = (np.arange(_QUANTILES) + 0.5) / _QUANTILES  # the share of positive rows above a positive score
    shift = math.sqrt(2) * ndtri(area)
    found, alarms = share * above, (1 - share) * ndtr(ndtri(above) - shift)
    return float(np.mean(found / (found + alarms)))


def average_precision_influence(ranked: RankedScores, n: float) -> Array:
    """The influence on the average precision, as `auc_influence`: its derivative in the weights of rows.

    A row changes the precision at its own score and at all lower ones. ``n`` is the number of independent rows.
    """
    value, precision, predicted = average_precision(ranked), ranked.precision, ranked.predicted
    # Sums over this and all lower scores.
    gained = np.cumsum((ranked.positive / predicted)[::-1])[::-1]
    lost = np.cumsum((ranked.positive * precision / predicted)[::-1])[::-1]
    return np.stack((-lost, precision + gained - lost - value)) * (_correction(n) / ranked.n_positive)


def _correction(n: float) -> float:
    return math.sqrt(n / (n - 1)) if n > 1 else math.nan


def row_influences(
    ranked: RankedScores, is_positive: Array, place: Array, design: SamplingDesign
) -> tuple[Array, Array]:
    """The influence of each row on the AUC and on the average precision; NaN if these are undefined."""
    if not ranked.two_sided:
        nothing = np.full(len(place), np.nan)
        return nothing, nothing
    if design.clusters is None:
        draws = ranked.n_positive, ranked.n_negative, ranked.n_positive + ranked.n_negative
    else:
        draws = *design.sides(is_positive), float(design.n_clusters)
    rows = is_positive.astype(np.intp), place
    return auc_influence(ranked, draws[0], draws[1])[rows], average_precision_influence(ranked, draws[2])[rows]


def newcombe_variance(auc: float, n_positive: float, n_negative: float) -> float:
    """The variance of an AUC as a function of its true value (Newcombe 2006, method 5)."""
    factor = 1 + ((n_positive + n_negative) / 2 - 1) * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return auc * (1 - auc) * factor / (n_positive * n_negative)


def newcombe_interval(
    auc: float, sides: tuple[float, float], level: float, ratio: float = 1.0, degrees: float = math.inf
) -> Interval:
    """Newcombe's score interval of an AUC (his method 5), which has a positive width even if no pair is misordered.

    ``sides`` are the positive and negative rows; ``ratio`` multiplies the variance, and ``degrees`` are its degrees of
    freedom.
    """
    from scipy.optimize import brentq  # slow to load

    square = quantile(level, degrees) ** 2 * ratio

    def excess(true: float) -> float:
        return (auc - true) ** 2 - square * newcombe_variance(true, *sides)

    near = 1e-9 * auc * (1 - auc) + 1e-12
    low = 0.0 if auc <= near else float(brentq(excess, 0.0, auc - near))
    high = 1.0 if auc >= 1 - near else float(brentq(excess, auc + near, 1.0))
    return Interval(low, high, level, "Newcombe's score interval")


#: Weight of Newcombe's variance, in rows, in its mean with DeLong's.
PRIOR_ROWS: Final = 2.0


@dataclass(frozen=True)
class AucVariance:
    """DeLong's variance of an AUC, or that between clusters, and the precision of this estimate.

    ``rows`` are its effective rows, ``sides`` the independent positive and negative rows. If classes hardly overlap,
    DeLong's variance is determined by the few misordered rows: Newcombe's variance, which depends on the AUC only, is
    added with the weight of `PRIOR_ROWS` rows.
    """

    value: float
    rows: float
    sides: tuple[float, float]
    degrees: float = math.inf
    words: str = ""

    def ratio(self, auc: float) -> float:
        """The ratio of the mean of both variances to Newcombe's; NaN if that is 0."""
        newcombe = newcombe_variance(auc, *self.sides)
        if not newcombe > 0 or self.value == 0:
            return math.nan
        return (self.rows * self.value / newcombe + PRIOR_ROWS) / (self.rows + PRIOR_ROWS)

    def inflation(self, auc: float) -> float:
        """The ratio of the mean of both variances to this one, at least 1."""
        if self.value == 0:
            return 1.0
        return max(self.ratio(auc) * newcombe_variance(auc, *self.sides) / self.value, 1.0)


def auc_interval(auc: float, variance: AucVariance, level: float) -> Interval:
    """The score interval of an AUC: the variance is that of the AUC at each limit, not of the estimate.

    It depends on the AUC as Newcombe's variance does (his method 5). The interval is a range if the variance has fewer
    than `MIN_EFFECTIVE_ROWS` effective rows or no pair is misordered. Equal scores have an AUC of 0.5.

    References
    ----------
    Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2.
    Statistics in Medicine 25.
    """
    if auc in (0.0, 1.0):
        found = newcombe_interval(auc, variance.sides, level)
        return found.as_range("no two rows of a pair are misordered")
    method = f"DeLong, score interval{variance.words}"
    if variance.value == 0:
        return Interval(auc, auc, level, method)
    ratio = variance.ratio(auc)
    if math.isnan(ratio):
        return no_interval(level, "the variance of the AUC is undefined")
    found = newcombe_interval(auc, variance.sides, level, ratio, variance.degrees)
    return replace(found, method=method).resting_on(variance.rows)
