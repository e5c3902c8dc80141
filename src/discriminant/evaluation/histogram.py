"""Scores in a histogram, for rows that are never all in memory: ROC curves of known resolution."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit

from ..data import check_weights
from ..data.parameters import check_integer, check_number
from ..errors import InputError, ParameterError
from .coding import outcome_column, same_length
from .curves import Roc
from .ranked import RankedScores

Array = np.ndarray[Any, Any]


def _score_column(score: Any) -> Array:
    scores = np.asarray(score)
    if scores.ndim != 1 or scores.dtype.kind not in "fiub":
        raise InputError(f"score must be one number for each row, got shape {scores.shape}, dtype {scores.dtype}.")
    return scores.astype(np.float64, copy=False)


class ScoreHistogram:
    """Counts of positive and negative rows by score, which can be added to and merged.

    The ROC curve of it is exact at the ends of the bins; between them rows of a bin count as ties, so that the AUC is
    known up to `auc_error`.

    Parameters
    ----------
    low, high : float
        Where bins of equal width begin and end, on the scale. What lies beyond is counted in the outer bins.
    n_bins : int
    scale : {"logit", "linear"}
        "logit" is for probabilities: bins of equal width in log-odds are as fine near 0 and 1 as in the middle.

    Examples
    --------
    >>> found = ScoreHistogram().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> found.auc, found.auc_error
    (0.75, 0.0)
    """

    def __init__(
        self,
        low: float = -20.0,
        high: float = 20.0,
        n_bins: int = 16_384,
        scale: Literal["logit", "linear"] = "logit",
    ) -> None:
        check_number("low", low)
        check_number("high", high, low, open_below=True)
        check_integer("n_bins", n_bins, 1)
        if scale not in ("logit", "linear"):
            raise ParameterError(f"scale must be 'logit' or 'linear', got {scale!r}.")
        self.low, self.high, self.n_bins, self.scale = low, high, n_bins, scale
        #: Weights of negative rows, then of positive rows, in each bin.
        self.counts = np.zeros((2, n_bins))

    def update(self, outcome: Any, score: Any, sample_weight: Any = None) -> ScoreHistogram:
        """Add rows: whether each is positive, and its score; returns the histogram itself."""
        positive, scores = outcome_column(outcome), _score_column(score)
        same_length(outcome=positive, score=scores)
        place = self._bins(scores) + self.n_bins * positive
        weight = check_weights(sample_weight, len(scores))
        self.counts += np.bincount(place, weight, minlength=2 * self.n_bins).reshape(2, -1)
        return self

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """Add the rows of another histogram; returns the histogram itself."""
        if self._kind != other._kind:
            raise ParameterError(f"Histograms with different bins cannot be merged: {self._kind} and {other._kind}.")
        self.counts = self.counts + other.counts
        return self

    def __add__(self, other: ScoreHistogram) -> ScoreHistogram:
        if not isinstance(other, ScoreHistogram):
            return NotImplemented
        return ScoreHistogram(*self._kind).merge(self).merge(other)

    @property
    def _kind(self) -> tuple[float, float, int, Literal["logit", "linear"]]:
        return self.low, self.high, self.n_bins, self.scale

    def _bins(self, scores: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = logit(scores) if self.scale == "logit" else scores
        if np.isnan(moved).any():
            row = int(np.argmax(np.isnan(moved)))
            wanted = "a probability" if self.scale == "logit" else "a number"
            raise InputError(f"score must be {wanted}: row {row} has {scores[row]:g}.")
        position = (moved - self.low) * (self.n_bins / (self.high - self.low))
        return np.clip(position, 0, self.n_bins - 1).astype(np.intp)

    @property
    def edges(self) -> Array:
        """The lower ends of the bins, as scores; the first one takes all that lies below the second."""
        ends = self.low + (self.high - self.low) * np.arange(self.n_bins) / self.n_bins
        lower = expit(ends) if self.scale == "logit" else ends
        lower[0] = 0.0 if self.scale == "logit" else -math.inf
        return lower

    @property
    def ranked(self) -> RankedScores:
        """The filled bins as distinct scores: their lower ends, largest first."""
        filled = np.flatnonzero(self.counts.any(axis=0))[::-1]
        return RankedScores(self.edges[filled], self.counts[1, filled], self.counts[0, filled])

    @property
    def roc(self) -> Roc:
        """The ROC curve at the lower ends of the bins."""
        return Roc(self.ranked)

    @property
    def auc(self) -> float:
        """The AUC with the rows of a bin as ties."""
        return self.roc.auc

    @property
    def auc_error(self) -> float:
        """The most by which the AUC of the rows themselves may differ: half the share of pairs within one bin."""
        negative, positive = self.counts
        pairs = positive.sum() * negative.sum()
        return float(positive @ negative / (2 * pairs)) if pairs > 0 else math.nan

    def __repr__(self) -> str:
        return (
            f"histogram of scores: {self.counts[1].sum():,.6g} positive, {self.counts[0].sum():,.6g} negative rows in "
            f"{self.n_bins:,} bins ({self.scale} scale), AUC {self.auc:.4f} within {self.auc_error:.1g}"
        )
