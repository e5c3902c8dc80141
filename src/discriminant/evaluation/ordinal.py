"""Measures of predictions of ordered classes, with intervals.

=====================  ==========================================================================================
measure                definition
=====================  ==========================================================================================
rps                    ranked probability score: the mean over the K - 1 thresholds of the squared difference of the
                       predicted probability of a class up to the threshold and its indicator (Epstein 1969)
mean_absolute_error    mean distance, in classes, between the predicted and the true class
kappa_linear           weighted kappa (Cohen 1968): 1 minus the mean disagreement, divided by that of independent
kappa_quadratic        labels with the same shares; disagreement is the distance of the classes or its square
somers_d               concordant minus discordant pairs of rows of different classes, as a share of these pairs; rows
                       are ordered by their expected rank
=====================  ==========================================================================================

Intervals of kappa and Somers' D come from the influence of each row, on Fisher's scale (Fleiss, Cohen & Everitt 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..data import class_order, position_of, without_repeats
from .intervals import Interval, normal_interval
from .predictions import CheckedPredictions
from .probabilities import RowLosses, expected_moments
from .sampling import Mean, SamplingDesign, mean_interval

Measured = dict[str, tuple[float, Interval]]


def class_ranks(order: Sequence[Any], classes: Array) -> Array:
    """The rank of each of the classes, 0 for the lowest; the order must have each class once."""
    codes = class_order(classes, None, without_repeats(order))
    return np.argsort(np.asarray(codes))


def ordinal_measures(rows: CheckedPredictions, order: Sequence[Any], level: float) -> Measured:
    """The measures that the rows allow: of probabilities, and of predicted classes."""
    rank, found = class_ranks(order, rows.classes), Measured()
    if len(rank) < 2:
        return found
    truth, guess = rank[rows.codes], _predicted_ranks(rows.predicted, rank, rows.classes)
    by_rank = None if rows.posterior is None else _by_rank(rows.posterior, rank)
    if by_rank is not None:
        losses = _rank_losses(by_rank, truth, rows.design)
        found["rps"] = mean_interval(losses.values, rows.design, level, losses.expected)
        found["somers_d"] = _somers_d(by_rank @ np.arange(len(rank)), truth, rows.design, level)
    if guess is not None:
        losses = _distances(by_rank, truth, guess, rows.design)
        found["mean_absolute_error"] = mean_interval(losses.values, rows.design, level, losses.expected)
        found |= _weighted_kappas(truth, guess, rows.design, level, len(rank))
    return found


class OrdinalSums:
    """Sums over streamed rows from which the measures follow; Somers' D from a histogram of the expected ranks."""

    def __init__(self, order: Sequence[Any], classes: Array, n_bins: int) -> None:
        self.classes, self.rank, self.n_bins = classes, class_ranks(order, classes), n_bins
        K = len(classes)
        self.rps, self.error, self.is_decided = Mean(), Mean(), True
        self.table, self.histogram = np.zeros((K, K)), np.zeros((K, n_bins))

    def update(self, codes: Array, posterior: Array | None, predicted: Array, weight: Array | None) -> None:
        """Add rows."""
        truth, guess = self.rank[codes], _predicted_ranks(predicted, self.rank, self.classes)
        design, by_rank = SamplingDesign(len(codes), weight), None
        if posterior is not None:
            by_rank = _by_rank(posterior, self.rank)
            losses = _rank_losses(by_rank, truth, design)
            self.rps = self.rps.merged(Mean.of(losses.values, weight, losses.expected))
            place = by_rank @ np.linspace(0, self.n_bins, len(self.rank))
            cells = np.clip(place.astype(np.intp), 0, self.n_bins - 1) + self.n_bins * truth
            self.histogram += np.bincount(cells, weight, self.histogram.size).reshape(self.histogram.shape)
        self.is_decided &= guess is not None
        if guess is not None:
            losses = _distances(by_rank, truth, guess, design)
            self.error = self.error.merged(Mean.of(losses.values, weight, losses.expected))
            self.table += np.bincount(truth * len(self.rank) + guess, weight, self.table.size).reshape(self.table.shape)

    def merge(self, other: Self) -> None:
        """Add the rows of other sums."""
        self.rps, self.error = self.rps.merged(other.rps), self.error.merged(other.error)
        self.is_decided &= other.is_decided
        self.table, self.histogram = self.table + other.table, self.histogram + other.histogram

    def measures(self, level: float) -> Measured:
        """The measures of all rows added; cells with their weights stand for the rows."""
        found = Measured()
        if self.rps.weight:
            truth, place = np.nonzero(self.histogram)
            design = SamplingDesign(len(truth), self.histogram[truth, place])
            found["rps"] = self.rps.mean, self.rps.interval(level)
            found["somers_d"] = _somers_d(place, truth, design, level)
        if self.is_decided and self.error.weight:
            truth, guess = np.nonzero(self.table)
            design = SamplingDesign(len(truth), self.table[truth, guess])
            found["mean_absolute_error"] = self.error.mean, self.error.interval(level)
            found |= _weighted_kappas(truth, guess, design, level, len(self.rank))
        return found

    @property
    def somers_d_error(self) -> float:
        """Upper bound of the error of Somers' D: the share of pairs of different classes within one bin."""
        within, of_class = self.histogram.sum(axis=0), self.histogram.sum(axis=1)
        pairs = of_class.sum() ** 2 - of_class @ of_class
        return float((within @ within - np.square(self.histogram).sum()) / pairs) if pairs > 0 else 0.0


def _predicted_ranks(predicted: Array | None, rank: Array, classes: Array) -> Array | None:
    """The ranks of predicted classes; None with other actions, or without predictions."""
    known = position_of(classes.tolist())
    labels = [] if predicted is None else predicted.tolist()
    return rank[[known[label] for label in labels]] if labels and all(label in known for label in labels) else None


def _by_rank(posterior: Array, rank: Array) -> Array:
    found = np.empty_like(posterior)
    found[:, rank] = posterior
    return found


def _distance_table(K: int) -> Array:
    return np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(np.float64)


def _rank_losses(posterior: Array, truth: Array, design: SamplingDesign) -> RowLosses:
    """The ranked probability score of each row."""
    K = posterior.shape[1]
    below, is_below = np.cumsum(posterior, axis=1)[:, :-1], np.tri(K).T[:, :-1]
    by_class = np.stack([np.square(below - own).mean(axis=1) for own in is_below], axis=1)
    expected = None if design.is_large else expected_moments(by_class, posterior, design.weight)
    return RowLosses(by_class[np.arange(len(truth)), truth], expected)


def _distances(posterior: Array | None, truth: Array, guess: Array, design: SamplingDesign) -> RowLosses:
    """The number of classes between the predicted and the true class of each row."""
    distance = _distance_table(int(max(truth.max(), guess.max())) + 1 if posterior is None else posterior.shape[1])
    expected = None
    if posterior is not None and not design.is_large:
        expected = expected_moments(distance[guess], posterior, design.weight)
    return RowLosses(distance[truth, guess], expected)


def _weighted_kappas(truth: Array, guess: Array, design: SamplingDesign, level: float, K: int) -> Measured:
    powers = {"kappa_linear": 1, "kappa_quadratic": 2}
    distance = _distance_table(K)
    return {name: _weighted_kappa(distance**power, truth, guess, design, level) for name, power in powers.items()}


def _weighted_kappa(
    disagreement: Array, truth: Array, guess: Array, design: SamplingDesign, level: float
) -> tuple[float, Interval]:
    K, total = len(disagreement), design.total_weight
    shares = np.bincount(truth * K + guess, design.weights, K * K).reshape(K, K) / total
    of_truth, of_guess = shares.sum(axis=1), shares.sum(axis=0)
    observed, by_truth, by_guess = (
        float((shares * disagreement).sum()),
        disagreement @ of_guess,
        of_truth @ disagreement,
    )
    chance = float(of_truth @ by_truth)
    if chance == 0:
        return np.nan, normal_interval(np.nan, np.nan, level, "")
    value = 1 - observed / chance
    margins = by_truth[:, None] + by_guess[None] - 2 * chance
    influence = -((disagreement - observed) - observed / chance * margins) / chance
    variance = design.variance(influence[truth, guess] / total)
    method = f"infinitesimal jackknife, Fisher scale{design.words}"
    return value, normal_interval(value, variance, level, method, design.degrees, "fisher")


def _somers_d(score: Array, truth: Array, design: SamplingDesign, level: float) -> tuple[float, Interval]:
    weight, total = design.weights, design.total_weight
    concordance, comparable = np.zeros(len(score)), np.zeros(len(score))
    for k in np.unique(truth):
        own = truth == k
        order = np.argsort(score[own])
        values, sums = score[own][order], np.append(0.0, np.cumsum(weight[own][order]))
        below, not_above = sums[np.searchsorted(values, score)], sums[np.searchsorted(values, score, side="right")]
        # The weight of rows of class k with lower scores minus that of rows with higher scores.
        concordance += np.sign(truth - k) * (below - (sums[-1] - not_above))
        comparable += np.where(own, 0.0, sums[-1])
    pairs = float(weight @ comparable)
    if pairs == 0:
        return np.nan, normal_interval(np.nan, np.nan, level, "")
    value = float(weight @ concordance) / pairs
    influence = 2 * (concordance - value * comparable) * total / pairs
    method = f"infinitesimal jackknife, Fisher scale{design.words}"
    interval = normal_interval(value, design.variance(influence / total), level, method, design.degrees, "fisher")
    return value, interval
