"""What probabilities are worth: log-loss, Brier score, calibration, and risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from scipy.special import betainc, expit, logit

from ..arrays import Array
from ..data import (
    LabelledRows,
    as_rows,
    check_choice,
    check_integer,
    check_number,
    check_weights,
    codes_among,
    is_missing,
    label_column,
    same_length,
)
from ..decision.posteriors import as_posterior
from ..engine import map_rows
from ..errors import InputError, ParameterError
from ..kernels import counting as kernels
from ..objective import Logistic, Objective
from ..results import Result, aligned, jsonable, plain, shown
from ..solvers.smooth import named_solver
from .confusion import Mergeable, ratio
from .curves import RankedScores, number_column, rank
from .intervals import Interval, SamplingDesign, check_level, no_interval, quantile

#: A probability of 0 for what happened would cost infinitely much; it is counted as this one.
LEAST = float(np.finfo(np.float64).eps)


def outcome_column(outcome: Any) -> Array:
    """Whether something came true in each row; refuses what does not say so, such as -1 and 1 or labels of classes."""
    values = np.asarray(outcome)
    if values.ndim != 1:
        raise InputError(f"outcome must be True or False for each row, got shape {values.shape}.")
    if values.dtype.kind in "biuf":
        sound = (values == 0) | (values == 1)
    else:
        sound = np.array([not is_missing(value) and value in (False, True) for value in values.tolist()], dtype=bool)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(
            f"outcome must be True or False (or 1 and 0) for each row: row {row} has {shown(values[row])}. Of labels "
            "give y == label."
        )
    return values.astype(bool)


def check_probability(probability: Any) -> Array:
    """One probability for each row as float64."""
    p = number_column("probability", probability)
    sound = (p >= 0) & (p <= 1)
    if not sound.all():
        row = int(np.argmin(sound))
        raise InputError(f"probability must be from 0 to 1, row {row} has {p[row]:g}.")
    return p


def read_posterior(posterior: Any, classes: Any) -> tuple[Array, Array]:
    """The classes and the probabilities of the rows, checked.

    Those of an array are kept as they came: dividing a row by its sum would break ties between rows in the last digit.
    """
    found = as_posterior(posterior, classes)
    if isinstance(posterior, np.ndarray) and posterior.dtype.kind == "f":
        return found.classes, np.ascontiguousarray(posterior, dtype=np.float64)
    return found.classes, found.probabilities


def log_losses(posterior: Array, codes: Array | None = None) -> Array:
    """Minus the logarithm of the probability of a row's class, limited where it is 0; without codes of every class."""
    own = posterior if codes is None else posterior[np.arange(len(codes)), codes]
    return -np.log(np.maximum(own, LEAST))


def brier_scores(posterior: Array, codes: Array | None = None) -> Array:
    """The sum over classes of ``(p - y)^2``, for two half of it; without codes for every class a row may be of."""
    total = np.einsum("ij,ij->i", posterior, posterior)
    own = posterior if codes is None else posterior[np.arange(len(codes)), codes]
    scores = np.square(1.0 - own) + np.maximum((total[:, None] if codes is None else total) - np.square(own), 0.0)
    return 0.5 * scores if posterior.shape[1] == 2 else scores


#: Measures of probabilities that are means over rows.
LOSSES: dict[str, Callable[..., Array]] = {"log_loss": log_losses, "brier": brier_scores}


def expected_moments(values: Array, posterior: Array, weight: Array | None = None) -> Array:
    """The sums over rows of the value, its square and its cube that a model expects, for `Mean`.

    ``values`` are those for each class a row may be of. The first row is by the model's own probabilities, the second
    by probabilities of half the log-odds: as if it were twice as sure as it should be.
    """
    sure = np.maximum(posterior, LEAST)
    found = np.empty((2, 3))
    for i, odds in enumerate((sure, np.sqrt(sure))):
        powers = odds * ((1.0 if weight is None else weight) / odds.sum(axis=1))[:, None]
        for j in range(3):
            powers *= values
            found[i, j] = powers.sum()
    return found


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The loss of each row, and the sums of `expected_moments`, or None where they are not needed."""

    values: Array
    expected: Array | None


def row_losses(posterior: Array, codes: Array, design: SamplingDesign) -> dict[str, RowLosses]:
    """The log-loss and the Brier score of each row, computed on threads."""
    values = {name: np.empty(len(codes)) for name in LOSSES}

    def write(block: Array, where: slice) -> None:
        for name, losses in LOSSES.items():
            values[name][where] = losses(block, codes[where])

    map_rows(as_rows(posterior), write)
    expected = {
        name: None if design.is_large else expected_moments(losses(posterior), posterior, design.weight)
        for name, losses in LOSSES.items()
    }
    return {name: RowLosses(own, expected[name]) for name, own in values.items()}


Binning = Literal["quantile", "width"]


#: Equal bins that probabilities are collected in; coarser bins are made of them.
FINE_BINS = 1_000


#: Log-odds beyond this are rounding of the probability, not information.
_MOST_LOG_ODDS = 36.0


@dataclass(frozen=True, repr=False)
class BrierParts(Result):
    """The Brier score in parts: ``score = reliability - resolution + uncertainty + within``.

    reliability: how far observed shares are from predicted ones (0 is best); resolution: how far they are from the
    overall share (more is better); uncertainty: that of the outcome itself; within: what bins hide by their width.

    Parameters
    ----------
    score, reliability, resolution, uncertainty : float
        The score, and the parts named above.

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
    """Predicted probabilities and outcomes in bins, which can be added to and merged.

    Parameters
    ----------
    edges : array-like, optional
        Ends of the bins, from 0 to 1. Default: 1,000 bins of equal width.

    Attributes
    ----------
    low, high : arrays of shape (bins,)
        Where each bin begins and ends; a probability on the border of two is in the upper one.
    weight : array of shape (bins,)
        Rows in each bin, or the sum of their weights.
    predicted, observed : arrays of shape (bins,)
        The mean predicted probability and the share of rows for which the outcome came true; NaN in empty bins.

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

    def __init__(self, edges: Any = None) -> None:
        self.edges = ends = np.linspace(0, 1, FINE_BINS + 1) if edges is None else np.asarray(edges, dtype=np.float64)
        if ends.ndim != 1 or len(ends) < 2 or ends[0] != 0 or ends[-1] != 1 or not (np.diff(ends) > 0).all():
            raise ParameterError(f"edges must be ends of bins, rising from 0 to 1, got {edges!r}.")
        self.low, self.high = self.edges[:-1], self.edges[1:]
        #: For each bin: weight, and weighted sums of p, y, p^2 and p y.
        self.sums = np.zeros((len(self.low), 5))
        self._made_of_finer = False

    @classmethod
    def of(cls, outcome: Any, probability: Any, sample_weight: Any = None) -> CalibrationBins:
        """The bins of these rows: whether the outcome came true, and how probable it was said to be.

        Parameters
        ----------
        outcome : array-like of shape (n_rows,)
            Whether it came true: True or False, 1 or 0.
        probability : array-like of shape (n_rows,)
            How probable it was said to be.
        sample_weight : array-like of shape (n_rows,), optional
            Frequencies.

        Returns
        -------
        CalibrationBins
            1,000 of equal width.
        """
        return cls().update(outcome, probability, sample_weight)

    def update(self, outcome: Any, probability: Any, sample_weight: Any = None) -> CalibrationBins:
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
        came_true, p = outcome_column(outcome), check_probability(probability)
        same_length(outcome=came_true, probability=p)
        weight = check_weights(sample_weight, len(p))
        if self._made_of_finer:
            raise ParameterError("Coarse bins cannot be added to: update the fine ones they were made of.")
        if np.array_equal(self.edges, np.linspace(0, 1, FINE_BINS + 1)):
            self.sums += posterior_bins(p[:, None], np.where(came_true, 0, 1), weight)[0]
        else:
            place = np.clip(np.searchsorted(self.edges, p, side="right") - 1, 0, len(self.low) - 1)
            of_rows = np.stack((np.ones(len(p)), p, came_true, p * p, p * came_true))
            for j, values in enumerate(of_rows if weight is None else of_rows * weight):
                self.sums[:, j] += np.bincount(place, values, minlength=len(self.low))
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of other bins; returns the bins themselves.

        Parameters
        ----------
        other : CalibrationBins
            Made with the same ends, for other rows.

        Returns
        -------
        CalibrationBins
            With the rows of both.
        """
        if not (np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)):
            raise ParameterError("Bins with different ends cannot be merged: merge the fine ones they were made of.")
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
        """Coarser bins made of these: of about equally many rows, or of equal width. Empty bins are left out.

        Parameters
        ----------
        n_bins : int, default=10
            How many at most.
        by : {"quantile", "width"}, default="quantile"
            Which of the two.

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
        # A bin's own rounding must not move it into the next coarse bin.
        target = np.minimum(np.floor(position * n_bins + 1e-9).astype(int), n_bins - 1)
        filled = np.unique(target[self.weight > 0])
        sums = np.stack([self.sums[target == b].sum(axis=0) for b in filled]) if filled.size else self.sums[:0]
        members = [np.flatnonzero(target == b) for b in filled]
        firsts, lasts = (np.array([own[end] for own in members], dtype=int) for end in (0, -1))
        made = copy(self)
        # Each reaches from the first to the last of some of these; what lies between two of them is empty.
        made.low, made.high, made.sums, made._made_of_finer = self.low[firsts], self.high[lasts], sums, True
        made.edges = np.append(made.low, made.high[-1:])
        return made

    def ece(self, n_bins: int | None = 10, by: Binning = "quantile") -> float:
        """The expected calibration error: the mean distance of predicted and observed shares over bins.

        ``n_bins=None`` takes these bins as they are. It is too large on average, most of all with few rows:
        `calibration_error` corrects for that.

        Parameters
        ----------
        n_bins : int or None, default=10
            Coarser bins to take the mean over.
        by : {"quantile", "width"}, default="quantile"
            How those are made.

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
        """The expected calibration error of these bins in the population, with a confidence interval.

        What is estimated is the mean, over these bins, of the distance between the mean probability of a bin and the
        true share of the outcome there: 0 if the probabilities are right on average in every bin, however rough the
        bins. `ece` is too large for it, the more so the fewer rows a bin has, since observed shares scatter; here the
        error is the one for which the ECE found is what would be expected of rows drawn anew, and the ends of the
        interval are the errors from which it is as far as chance allows.

        Parameters
        ----------
        n_bins, by : int or None, and {"quantile", "width"}, default=10 and "quantile"
            Coarser bins to take the mean over, and how those are made.
        level : float, default=0.95
            Of the interval.
        worth : float, default=1.0
            Independent rows that a row counts as, where rows are drawn in clusters.

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
        """The largest distance of predicted and observed shares over bins; ``n_bins=None``: over these.

        Parameters
        ----------
        n_bins : int or None, default=10
            Into how many bins, at most, to bring the rows first.
        by : {"quantile", "width"}, default="quantile"
            How those are made.

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
        """The Brier score of the outcome and its parts, by these bins or by coarser ones.

        Parameters
        ----------
        n_bins : int, optional
            Number of coarser bins.
        by : {"quantile", "width"}, default="quantile"
            How those are made.

        Returns
        -------
        BrierParts
            The score and what it is the sum of.
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
            A column of the table each.
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
        freed = f"what chance adds to the average taken off: {value:.4f} ({interval.low:.4f} to {interval.high:.4f})"
        return "\n".join([head, freed, *aligned(cells, left=0)])


#: Calibration errors that are tried, in units of the one found.
_TRIED = np.concatenate((np.linspace(0, 2, 33), np.geomspace(2.1, 20, 20)))


def mean_calibration_error(
    bins: Sequence[CalibrationBins], level: float, worth: float = 1.0, degrees: float = math.inf, words: str = ""
) -> tuple[float, Interval]:
    """The calibration error of bins, or of several classes' bins on average, corrected for chance, with its interval.

    The ECE is a weighted sum of distances of binomial shares from probabilities; its mean and variance are known for
    any true shares. These lie in the direction of the observed ones for the value and the lower end; for the upper end
    half-way to distances alike in all bins, of which chance shows the least.
    """
    filled = [part.sums[part.weight > 0] for part in bins]
    if not all(len(part) for part in filled):
        return math.nan, no_interval(level, "there are no rows")
    share = np.concatenate([part[:, 0] / part[:, 0].sum() for part in filled]) / len(filled)
    weight, p, y = np.concatenate([part[:, :3] for part in filled]).T
    gap, n = (y - p) / weight, worth * weight
    found = float(share @ np.abs(gap))
    even = (np.abs(gap) + found + 4 / n.sum()) / 2
    # Where a bin's outcomes were all alike, the true share can be on either side, and has more room on the other.
    room = np.where(gap > 0, 1 - p / weight, p / weight)
    even = np.copysign(even, np.where((room < even) & (n * even < 4), -gap, gap))
    value, low = _errors_at(found, share, n, p / weight, gap, (0.0, quantile(level, degrees)))
    _, high = _errors_at(found, share, n, p / weight, even, (0.0, -quantile(level, degrees)))
    return value, Interval(low, max(high, value), level, f"binomial shares in {len(gap)} bins, bias-corrected{words}")


def _errors_at(found: float, share: Array, n: Array, p: Array, gap: Array, distances: Sequence[float]) -> list[float]:
    """The calibration errors of which the ECE found is so many standard deviations too large."""
    true = np.clip(p + _TRIED[:, None] * gap, 0.0, 1.0)
    mean, variance = _distance_moments(n, p, true)
    deviation = np.sqrt(np.maximum(variance @ np.square(share), 1e-300))
    standing = np.minimum.accumulate((found - mean @ share) / deviation)
    errors = np.abs(true - p) @ share
    return [float(np.interp(-distance, -standing, errors)) if standing[0] > distance else 0.0 for distance in distances]


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
    out = np.zeros((posterior.shape[1], FINE_BINS, 5))
    weights = np.ones(len(codes)) if weight is None else weight
    kernels.bin_posterior(np.ascontiguousarray(posterior, dtype=np.float64), np.asarray(codes, np.int64), weights, out)
    return out


@dataclass(frozen=True, repr=False)
class CalibrationLine(Result):
    """Log-odds of the outcome as ``intercept + slope * log-odds predicted``; 0 and 1 where the model is right.

    A slope below 1 means probabilities that are too extreme (overconfident), above 1 underconfident ones. Whether the
    outcome is more (above 0) or less frequent than predicted is the intercept at slope 1, the calibration in the large.

    Parameters
    ----------
    intercept, slope : float
        Of the line.
    intercept_error, slope_error : float
        Their standard errors.
    in_the_large, in_the_large_error : float
        The intercept of the line with slope 1, and its standard error.

    See Also
    --------
    calibration_line : Fits it.

    References
    ----------
    Van Calster, B. et al. (2019). Calibration: the Achilles heel of predictive analytics. BMC Medicine 17.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    in_the_large: float = math.nan
    in_the_large_error: float = math.nan

    def __str__(self) -> str:
        return (
            f"calibration line: intercept {self.intercept:.4f} (standard error {self.intercept_error:.4f}), "
            f"slope {self.slope:.4f} ({self.slope_error:.4f}); calibration in the large (intercept at slope 1): "
            f"{self.in_the_large:.4f} ({self.in_the_large_error:.4f})"
        )


def calibration_line(outcome: Any, probability: Any, sample_weight: Any = None, groups: Any = None) -> CalibrationLine:
    """The logistic regression of an outcome on the log-odds it was predicted with.

    NaN where it has no finite solution: an outcome that never or always came true, constant probabilities, or
    probabilities that separate the outcomes perfectly.

    Parameters
    ----------
    outcome : array-like of shape (n_rows,)
        True or False, 1 or 0.
    probability : array-like of shape (n_rows,)
        Predicted, from 0 to 1.
    sample_weight : array-like of shape (n_rows,), optional
        Whole weights are frequencies; others are importances, with standard errors of the sandwich covariance.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent: standard errors are clustered.

    Returns
    -------
    CalibrationLine
        Intercept, slope and calibration in the large with their standard errors.

    See Also
    --------
    CalibrationBins : Where on the scale probabilities are off.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=5_000)
    >>> too_sure = p**2 / (p**2 + (1 - p) ** 2)
    >>> round(calibration_line(rng.uniform(size=5_000) < p, too_sure).slope, 2)
    0.51
    """
    came_true, p = outcome_column(outcome), check_probability(probability)
    same_length(outcome=came_true, probability=p)
    return calibration_line_of(came_true, p, SamplingDesign.read(sample_weight, groups, len(p)))


def calibration_line_of(came_true: Array, p: Array, design: SamplingDesign) -> CalibrationLine:
    """`calibration_line` of checked outcomes and probabilities."""
    weight = design.weight
    x, there = np.clip(logit(p), -_MOST_LOG_ODDS, _MOST_LOG_ODDS), slice(None) if weight is None else weight > 0
    in_the_large = _in_the_large(x, came_true, design)
    one, other = x[there][came_true[there]], x[there][~came_true[there]]
    # Both sides must be there, and neither lie wholly above the other.
    if not (one.size and other.size and one.min() < other.max() and other.min() < one.max()):
        return CalibrationLine(math.nan, math.nan, math.nan, math.nan, *in_the_large)
    rows = LabelledRows(as_rows(x[:, None]), np.array([False, True]), came_true.astype(np.int32), weight)
    objective = Objective(rows, Logistic())
    theta = named_solver("newton", objective)(objective, np.zeros(objective.shape), 1e-12, 100).theta
    coef, constant = objective.linear(theta)
    slope = float(coef[0, 0])
    intercept = float(constant[0]) - slope * float(objective.standardised.centre[0])
    columns = np.column_stack((np.ones_like(x), x))
    first, second = _logistic_errors(columns, came_true, expit(intercept + slope * x), design)
    return CalibrationLine(intercept, slope, float(first), float(second), *in_the_large)


def _logistic_errors(columns: Array, came_true: Array, p: Array, design: SamplingDesign) -> Array:
    """Standard errors at the maximum of a logistic likelihood: of clusters and importances by the sandwich (CR1)."""
    weights = design.weights
    bread = np.linalg.inv(columns.T @ (columns * (weights * p * (1 - p))[:, None]))
    if design.clusters is None:
        return np.sqrt(np.diagonal(bread))
    scores = columns * (weights * (came_true - p))[:, None]
    sums = np.column_stack([design.sums(column) for column in scores.T])
    covariance = bread @ (sums.T @ sums) @ bread * design.n_clusters / (design.n_clusters - 1)
    return np.sqrt(np.diagonal(covariance))


def _in_the_large(log_odds: Array, came_true: Array, design: SamplingDesign) -> tuple[float, float]:
    """The intercept of the logistic regression with slope 1, and its standard error; NaN where it is infinite."""
    from scipy.optimize import brentq  # slow to load

    weights = design.weights
    total = float(weights @ came_true)
    if not 0 < total < weights.sum():
        return math.nan, math.nan
    # The expected number of outcomes increases with the intercept, from none to all rows.
    far = 2 * _MOST_LOG_ODDS + 40.0
    found = float(brentq(lambda a: weights @ expit(a + log_odds) - total, -far, far, xtol=1e-12))
    errors = _logistic_errors(np.ones((len(log_odds), 1)), came_true, expit(found + log_odds), design)
    return found, float(errors[0])


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Result):
    """The share of errors among the rows that are decided, for every share of rows that are.

    Rows are decided in order of their largest posterior. Made by `risk_coverage`.

    Attributes
    ----------
    thresholds : array
        The least probability at which a row is decided, from the largest down.
    coverage : array
        The share of rows decided at each threshold.
    risk : array
        The share of errors among them.

    See Also
    --------
    risk_coverage : Makes it.
    """

    ranked: RankedScores  #: certainty, with the weight of right and of wrong rows

    @property
    def thresholds(self) -> Array:
        return self.ranked.values

    @cached_property
    def coverage(self) -> Array:
        return self.ranked.predicted / self.ranked.predicted[-1]

    @cached_property
    def risk(self) -> Array:
        return self.ranked.false_positives / self.ranked.predicted

    @property
    def area(self) -> float:
        """The mean risk over all coverages, rows of the same certainty decided together."""
        return float(np.diff(self.coverage, prepend=0.0) @ self.risk)

    def risk_at(self, coverage: float) -> float:
        """The risk where at least this share of rows is decided.

        Parameters
        ----------
        coverage : float
            Above 0, at most 1.

        Returns
        -------
        float
            Share of errors.
        """
        check_number("coverage", coverage, 0, 1, open_below=True)
        return float(self.risk[np.searchsorted(self.coverage, coverage - 1e-12)])

    def coverage_at(self, risk: float) -> float:
        """The largest coverage whose risk is no more than this; 0 if there is none.

        Parameters
        ----------
        risk : float
            From 0 to 1.

        Returns
        -------
        float
            Share of rows.
        """
        check_number("risk", risk, 0, 1)
        low_enough = np.flatnonzero(self.risk <= risk)
        return float(self.coverage[low_enough[-1]]) if low_enough.size else 0.0

    def _columns(self) -> dict[str, Array]:
        return {"threshold": self.thresholds, "coverage": self.coverage, "risk": self.risk}

    def to_dict(self) -> dict[str, Any]:
        """The area below the curve, and the curve, as plain values for JSON.

        Returns
        -------
        dict
            Lists, and the area as a number.
        """
        return {name: jsonable(values) for name, values in {"area": self.area, **self._columns()}.items()}

    def __str__(self) -> str:
        at = ", ".join(f"{self.risk_at(share):.4f} at {share:.0%}" for share in (1.0, 0.9, 0.75, 0.5))
        return f"risk against coverage: {at}"


def risk_coverage(y: Any, posterior: Any, classes: Any = None, sample_weight: Any = None) -> RiskCoverage:
    """The risk-coverage curve of the most probable classes.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    posterior : Posterior, or array or frame of shape (n_rows, K)
        Class probabilities.
    classes : array-like, optional
        What the columns of an array stand for. Default: 0, ..., K - 1.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each one counts as (1 if not given).

    Returns
    -------
    RiskCoverage
        At every distinct probability.

    See Also
    --------
    Decision : Abstains where a class is not probable enough.

    References
    ----------
    El-Yaniv, R. & Wiener, Y. (2010). On the foundations of noise-free selective classification. JMLR 11.

    Examples
    --------
    >>> curve = risk_coverage([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> curve.coverage, curve.risk
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    """
    names, probabilities = read_posterior(posterior, classes)
    labels = label_column("y", y)
    same_length(y=labels, posterior=probabilities)
    codes = codes_among("y", labels, names)
    return RiskCoverage(rank(*certainties(probabilities, codes), check_weights(sample_weight, len(codes))))


def certainties(posterior: Array, codes: Array) -> tuple[Array, Array]:
    """Whether each row's most probable class is its own, and how probable it is."""
    return posterior.argmax(axis=1) == codes, posterior.max(axis=1)
