"""Calibration: predicted probabilities and observed frequencies in bins, and their bias-corrected distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from scipy.special import betainc

from ..arrays import Array, ArrayLike
from ..data import check_choice, check_integer, check_weights, same_length
from ..errors import ParameterError
from ..results import Result, aligned, plain
from .inputs import outcome_column, probability_column
from .intervals import Interval, check_level, no_interval, quantile
from .rates import ratio
from .table_sample import Mergeable

Binning = Literal["quantile", "width"]
#: Number of equal bins of probabilities, from which coarser bins are made.
FINE_BINS: Final = 1_000


@dataclass(frozen=True, repr=False)
class BrierParts(Result):
    """The decomposition of the Brier score: ``score = reliability - resolution + uncertainty + within``.

    reliability: distance of the observed frequencies from the predicted ones (0 is best); resolution: their distance
    from the overall share (more is better); uncertainty: the variance of the outcome; within: the part due to the width
    of the bins.

    Parameters
    ----------
    score, reliability, resolution, uncertainty : float
        The score and its parts.

    See Also
    --------
    CalibrationBins.brier : Computes them.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float

    @property
    def within(self) -> float:
        return self.score - (self.reliability - self.resolution + self.uncertainty)

    def __str__(self) -> str:
        parts = "reliability", "resolution", "uncertainty", "within"
        return f"Brier score {self.score:.4f}: " + ", ".join(f"{name} {getattr(self, name):.4f}" for name in parts)


class CalibrationBins(Mergeable, Result):
    """Predicted probabilities and outcomes in bins that can be updated and merged.

    Parameters
    ----------
    edges : array-like, optional
        Limits of the bins, from 0 to 1. Default: 1,000 bins of equal width.

    Attributes
    ----------
    low, high : arrays of shape (bins,)
        Limits of each bin; a probability equal to a limit is in the upper bin.
    weight : array of shape (bins,)
        Rows in each bin, or the sum of their weights.
    predicted, observed : arrays of shape (bins,)
        The mean predicted probability and the observed frequency of the outcome; NaN in empty bins.

    See Also
    --------
    calibration_line : Intercept and slope instead of bins.
    evaluate : Has the bins of every class.

    References
    ----------
    Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied Meteorology 12.

    Examples
    --------
    >>> found = CalibrationBins.of([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8, 0.9])
    >>> coarse = found.rebinned(2, by="width")
    >>> coarse.predicted.round(3), coarse.observed.round(3)
    (array([0.167, 0.8  ]), array([0.333, 0.667]))
    >>> round(found.ece(2, by="width"), 3)
    0.15
    """

    def __init__(self, edges: ArrayLike | None = None) -> None:
        self.edges = ends = np.linspace(0, 1, FINE_BINS + 1) if edges is None else np.asarray(edges, dtype=np.float64)
        if ends.ndim != 1 or len(ends) < 2 or ends[0] != 0 or ends[-1] != 1 or not (np.diff(ends) > 0).all():
            raise ParameterError(f"edges must be increasing bin limits from 0 to 1, got {edges!r}.")
        self.low, self.high = self.edges[:-1], self.edges[1:]
        #: For each bin: weight, and weighted sums of p, y, p^2 and p y.
        self.sums = np.zeros((len(self.low), 5))
        self._made_of_finer = False

    @classmethod
    def of(cls, outcome: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None = None) -> CalibrationBins:
        """The bins of these rows.

        Parameters
        ----------
        outcome : array-like of shape (n_rows,)
            Whether the outcome occurred: True or False, 1 or 0.
        probability : array-like of shape (n_rows,)
            Its predicted probability.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies.

        Returns
        -------
        CalibrationBins
            1,000 of equal width.
        """
        return cls().update(outcome, probability, sample_weight)

    def update(
        self, outcome: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> CalibrationBins:
        """Add rows; returns the bins themselves.

        Parameters
        ----------
        outcome, probability : array-like of shape (n_rows,)
            As for `of`.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies.

        Returns
        -------
        CalibrationBins
            With the new rows.
        """
        is_event, p = outcome_column(outcome), probability_column(probability)
        same_length(outcome=is_event, probability=p)
        weight = check_weights(sample_weight, len(p))
        if self._made_of_finer:
            raise ParameterError("Coarse bins cannot be updated. Update the fine bins of which they consist.")
        if np.array_equal(self.edges, np.linspace(0, 1, FINE_BINS + 1)):
            self.sums += posterior_bins(p[:, None], np.where(is_event, 0, 1), weight)[0]
        else:
            place = np.clip(np.searchsorted(self.edges, p, side="right") - 1, 0, len(self.low) - 1)
            of_rows = np.stack((np.ones(len(p)), p, is_event, p * p, p * is_event))
            for j, values in enumerate(of_rows if weight is None else of_rows * weight):
                self.sums[:, j] += np.bincount(place, values, minlength=len(self.low))
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of other bins; returns the bins themselves.

        Parameters
        ----------
        other : CalibrationBins
            Bins with the same limits, of other rows.

        Returns
        -------
        CalibrationBins
            With the rows of both.
        """
        if not (np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)):
            raise ParameterError(
                "Bins with different limits cannot be merged. Merge the fine bins of which they consist."
            )
        self.sums = self.sums + other.sums
        return self

    @property
    def weight(self) -> Array:
        return self.sums[:, 0]

    @property
    def predicted(self) -> Array:
        return ratio(self.sums[:, 1], self.weight)

    @property
    def observed(self) -> Array:
        return ratio(self.sums[:, 2], self.weight)

    def rebinned(self, n_bins: int = 10, by: Binning = "quantile") -> CalibrationBins:
        """Coarser bins, of about equal numbers of rows or of equal width. Empty bins are excluded.

        Parameters
        ----------
        n_bins : int, default=10
            Maximum number of bins.
        by : {"quantile", "width"}, default="quantile"
            Bins of equal numbers of rows, or of equal width.

        Returns
        -------
        CalibrationBins
            They cannot be updated.
        """
        check_integer("n_bins", n_bins, 1)
        check_choice("by", by, ("quantile", "width"))
        if by == "width":
            position = self.low
        else:
            position = (np.cumsum(self.weight) - self.weight / 2) / max(self.weight.sum(), 1e-300)
        # Rounding must not move a bin into the next coarse bin.
        target = np.minimum(np.floor(position * n_bins + 1e-9).astype(int), n_bins - 1)
        filled = np.unique(target[self.weight > 0])
        sums = np.stack([self.sums[target == b].sum(axis=0) for b in filled]) if filled.size else self.sums[:0]
        members = [np.flatnonzero(target == b) for b in filled]
        firsts, lasts = (np.array([own[end] for own in members], dtype=int) for end in (0, -1))
        made = copy(self)
        # Each extends from the first to the last of its fine bins; the gaps between coarse bins are empty.
        made.low, made.high, made.sums, made._made_of_finer = self.low[firsts], self.high[lasts], sums, True
        made.edges = np.append(made.low, made.high[-1:])
        return made

    def ece(self, n_bins: int | None = 10, by: Binning = "quantile") -> float:
        """The expected calibration error: the mean distance of predicted and observed frequencies over bins.

        ``n_bins=None`` uses these bins. The estimate is biased upwards, most of all with few rows: `calibration_error`
        corrects the bias.

        Parameters
        ----------
        n_bins : int or None, default=10
            Number of coarser bins.
        by : {"quantile", "width"}, default="quantile"
            Bins of equal numbers of rows, or of equal width.

        Returns
        -------
        float
            0 is best.
        """
        weight, distance = self._distances(n_bins, by)
        return float(weight @ distance / weight.sum()) if weight.size else math.nan

    def calibration_error(
        self, n_bins: int | None = 10, by: Binning = "quantile", level: float = 0.95, worth: float = 1.0
    ) -> tuple[float, Interval]:
        """The bias-corrected expected calibration error of these bins, with a range that is not a confidence interval.

        The estimated quantity is the mean over the bins of the distance between the mean probability and the true share
        of the outcome. It is 0 if the probabilities are correct on average in every bin. `ece` is biased upwards,
        because observed frequencies vary. The estimate is the error for which the observed ECE equals the expected one;
        the limits of the range are the errors for which it is at the limits of random variation. Ranges of 95 % cover
        in 93 % of samples or more, and in up to 100 % if the true error is 0.

        Parameters
        ----------
        n_bins, by : int or None, and {"quantile", "width"}, default=10 and "quantile"
            Number and kind of coarser bins.
        level : float, default=0.95
            Of the interval.
        worth : float, default=1.0
            Number of independent rows per row, for rows in clusters.

        Returns
        -------
        tuple
            The error, and its `Interval`; both within 0 and 1.

        References
        ----------
        Broecker, J. & Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather and
        Forecasting 22. Kumar, A., Liang, P. & Ma, T. (2019). Verified uncertainty calibration. NeurIPS 32.
        """
        bins = self if n_bins is None else self.rebinned(n_bins, by)
        return mean_calibration_error([bins], check_level(level), worth)

    def mce(self, n_bins: int | None = 10, by: Binning = "quantile") -> float:
        """The largest distance of predicted and observed frequencies over bins; ``n_bins=None``: over these.

        Parameters
        ----------
        n_bins : int or None, default=10
            Maximum number of coarser bins.
        by : {"quantile", "width"}, default="quantile"
            Bins of equal numbers of rows, or of equal width.

        Returns
        -------
        float
            NaN without rows.
        """
        distance = self._distances(n_bins, by)[1]
        return float(distance.max()) if distance.size else math.nan

    def _distances(self, n_bins: int | None, by: Binning) -> tuple[Array, Array]:
        bins = self if n_bins is None else self.rebinned(n_bins, by)
        filled = bins.weight > 0
        return bins.weight[filled], np.abs(bins.predicted - bins.observed)[filled]

    def brier(self, n_bins: int | None = None, by: Binning = "quantile") -> BrierParts:
        """The Brier score of the outcome and its decomposition, by these bins or coarser ones.

        Parameters
        ----------
        n_bins : int, optional
            Number of coarser bins.
        by : {"quantile", "width"}, default="quantile"
            Bins of equal numbers of rows, or of equal width.

        Returns
        -------
        BrierParts
            The score and its parts.
        """
        bins = self if n_bins is None else self.rebinned(n_bins, by)
        weight, p, y, p_squared, p_y = bins.sums[bins.weight > 0].T
        total = weight.sum()
        if not total > 0:
            return BrierParts(math.nan, math.nan, math.nan, math.nan)
        share = y.sum() / total
        score = (p_squared - 2 * p_y + y).sum() / total
        reliability = (np.square(p - y) / weight).sum() / total
        resolution = (weight * np.square(y / weight - share)).sum() / total
        return BrierParts(float(score), float(reliability), float(resolution), float(share * (1 - share)))

    def _columns(self) -> dict[str, Array]:
        ends = {"low": self.low, "high": self.high}
        return {**ends, "rows": self.weight, "predicted": self.predicted, "observed": self.observed}

    def to_dict(self) -> dict[str, Any]:
        """The filled bins as plain values for JSON.

        Returns
        -------
        dict of lists
            One list for each column of the table.
        """
        return {name: values[self.weight > 0].tolist() for name, values in self._columns().items()}

    def __str__(self) -> str:
        bins = self if len(self.weight) <= 20 else self.rebinned(10)
        columns = bins.to_dict()
        formats = ".3f", ".3f", ",.6g", ".4f", ".4f"
        cells = [list(columns)]
        for row in zip(*columns.values(), strict=True):
            cells.append([format(value, form) for value, form in zip(row, formats, strict=True)])
        how = "these bins" if bins is self else "10 bins of equally many rows"
        head = f"calibration: error {bins.ece(None):.4f} on average, {bins.mce(None):.4f} at most ({how})"
        value, interval = bins.calibration_error(None)
        freed = f"bias-corrected: {value:.4f} ({interval.low:.4f} to {interval.high:.4f})"
        return "\n".join([head, freed, *aligned(cells, left=0)])


#: Grid of calibration errors, relative to the estimate.
_TRIED = np.concatenate((np.linspace(0, 2, 33), np.geomspace(2.1, 20, 20)))


def mean_calibration_error(
    bins: Sequence[CalibrationBins], level: float, worth: float = 1.0, degrees: float = math.inf, words: str = ""
) -> tuple[float, Interval]:
    """The bias-corrected calibration error of bins, or its mean over the bins of several classes, with its interval.

    The ECE is a weighted sum of distances of binomial shares from probabilities; its mean and variance are known for
    any true shares. For the estimate and the lower limit, true shares differ from the probabilities in the direction of
    the observed ones; for the upper limit half-way to equal distances in all bins.
    """
    filled = [part.sums[part.weight > 0] for part in bins]
    if not all(len(part) for part in filled):
        return math.nan, no_interval(level, "there are no rows")
    share = np.concatenate([part[:, 0] / part[:, 0].sum() for part in filled]) / len(filled)
    weight, p, y = np.concatenate([part[:, :3] for part in filled]).T
    gap, n = (y - p) / weight, worth * weight
    found = float(share @ np.abs(gap))
    even = (np.abs(gap) + found + 4 / n.sum()) / 2
    # If all outcomes of a bin are equal, the true share can be on either side of it, at most `limit` away.
    limit = np.where(gap > 0, 1 - p / weight, p / weight)
    even = np.copysign(even, np.where((limit < even) & (n * even < 4), -gap, gap))
    value, low = _errors_at(found, share, n, p / weight, gap, (0.0, quantile(level, degrees)))
    _, high = _errors_at(found, share, n, p / weight, even, (0.0, -quantile(level, degrees)))
    method = f"binomial shares in {len(gap)} bins, bias-corrected{words}"
    return value, Interval(low, max(high, value), level, method).as_range("coverage varies")


def _errors_at(found: float, share: Array, n: Array, p: Array, gap: Array, distances: Sequence[float]) -> list[float]:
    """The calibration errors for which the observed ECE exceeds the expected one by these standard deviations."""
    true = np.clip(p + _TRIED[:, None] * gap, 0.0, 1.0)
    mean, variance = _distance_moments(n, p, true)
    deviation = np.sqrt(np.maximum(variance @ np.square(share), 1e-300))
    decreasing = np.minimum.accumulate((found - mean @ share) / deviation)
    errors = np.abs(true - p) @ share
    return [
        float(np.interp(-distance, -decreasing, errors)) if decreasing[0] > distance else 0.0 for distance in distances
    ]


def _distance_moments(n: Array, p: Array, true: Array) -> tuple[Array, Array]:
    """Mean and variance of ``|X / n - p|``, where X is binomial with the true shares."""

    def below(k: Array, n: Array) -> Array:
        inner = betainc(np.maximum(n - k, 1e-9), np.maximum(k + 1, 1e-9), 1 - true)
        return np.where(k < 0, 0.0, np.where(k >= n, 1.0, inner))

    middle = n * p
    last = np.floor(middle + 1e-12)
    short = middle * below(last, n) - n * true * below(last - 1, n - 1)
    mean = (n * true - middle + 2 * short) / n
    return mean, true * (1 - true) / n + np.square(true - p) - np.square(mean)


def bins_by_class(classes: Array, sums: Array) -> dict[Any, CalibrationBins]:
    """The bins of each class, from the sums of `posterior_bins`."""
    found = {plain(label): CalibrationBins() for label in classes}
    for bins, own in zip(found.values(), sums, strict=True):
        bins.sums = own
    return found


def posterior_bins(posterior: Array, codes: Array, weight: Array | None) -> Array:
    """The sums (K, bins, 5) of `CalibrationBins` of each class, from one pass over the rows."""
    p, n_classes = np.asarray(posterior, dtype=np.float64), posterior.shape[1]
    bins = np.minimum((p * FINE_BINS).astype(np.intp), FINE_BINS - 1) + FINE_BINS * np.arange(n_classes)
    is_class = np.asarray(codes)[:, None] == np.arange(n_classes)
    weights = np.ones((len(p), 1)) if weight is None else weight[:, None]
    terms = (np.ones_like(p), p, is_class, p**2, p * is_class)
    sums = [np.bincount(bins.ravel(), (weights * term).ravel(), n_classes * FINE_BINS) for term in terms]
    return np.stack(sums, axis=-1).reshape(n_classes, FINE_BINS, 5)
