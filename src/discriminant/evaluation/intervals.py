"""Confidence intervals: of a proportion, of a mean, on a transformed scale, from resamples, and of tables of counts.

Measures of a table of counts (`TableSample`): Wilson's interval for proportions; for others Jeffreys's interval of the
table with two classes, and the BCa bootstrap of the table (Efron 1987) with more. Rows in clusters: the variance
between clusters of the linearised measure, for proportions as a number of independent rows worth as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit, ndtr, ndtri, stdtr, stdtrit

from ..arrays import Array
from ..data import check_choice, check_integer, check_number, check_weights, encoded, has_fractions, label_column
from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from ..results import Result, metric_name, shown

#: Cells of tables that are worked on at once.
_MOST_CELLS = 4_000_000
#: Share of a count that it is moved by to see how a measure responds.
_STEP = 1e-4

Scale = Literal["linear", "logit", "fisher"]


#: What a measure may be transformed by: there and back, and how steep it is there.
_SCALES: dict[str, tuple[Callable[[float], float], Callable[[float], float], Callable[[float], float]]] = {
    "linear": (lambda v: v, lambda t: t, lambda _: 1.0),
    "logit": (logit, expit, lambda v: 1 / (v * (1 - v))),
    "fisher": (math.atanh, math.tanh, lambda v: 1 / (1 - v * v)),
}


_BOUNDS = {"linear": (-math.inf, math.inf), "logit": (0.0, 1.0), "fisher": (-1.0, 1.0)}


@dataclass(frozen=True)
class Interval:
    """A confidence interval: its ends, its level and how it was made.

    Where there is none, the ends are NaN and ``method`` says why.

    See Also
    --------
    Estimate : A value with its interval.

    Examples
    --------
    >>> found = wilson_interval(0.9, 50)
    >>> low, high = found
    >>> print(found)
    0.7864 to 0.9565 (95 %, Wilson)
    >>> 0.8 in found
    True
    """

    low: float
    high: float
    level: float
    method: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if math.isnan(self.low):
            return self.method
        return f"{self.low:.4g} to {self.high:.4g} ({100 * self.level:g} %, {self.method})"

    def within(self, floor: float, ceiling: float) -> Interval:
        """The interval cut off where the measure ends.

        Parameters
        ----------
        floor, ceiling : float
            Its range.

        Returns
        -------
        Interval
            Not wider than this one.
        """
        return self.mapped(lambda end: min(max(end, floor), ceiling))

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """The interval of an increasing function of the measure.

        Parameters
        ----------
        function : callable
            Of one number.

        Returns
        -------
        Interval
            Of the same level.
        """
        return Interval(function(self.low), function(self.high), self.level, self.method)


def no_interval(level: float, reason: str) -> Interval:
    """An interval that could not be made, with the reason."""
    return Interval(math.nan, math.nan, level, f"not available: {reason}")


def check_level(level: Any) -> float:
    """The level as a float between 0 and 1."""
    check_number("level", level, 0, 1, open_below=True)
    if level == 1:
        raise ParameterError("level must be below 1: an interval that is always right says nothing.")
    return float(level)


def quantile(level: float, degrees: float = math.inf) -> float:
    """How many standard errors an interval of this level reaches to either side."""
    upper = 0.5 + level / 2
    return float(ndtri(upper) if math.isinf(degrees) else stdtrit(degrees, upper))


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """A number found from rows, with its confidence interval and how that was made.

    Attributes
    ----------
    value : float
        NaN where it is undefined; ``note`` says why.
    low, high, level : float
        The confidence interval and its level.
    method : str
        How the interval was made, or why there is none.
    metric : str
        What was measured.
    of : label or str
        Of what: a class, or "overall", "macro", "micro" or "weighted".
    note : str
    standard_error, degrees : float
        Where they are known; ``t`` and ``p_value`` are then those of the test that the true value is 0.

    See Also
    --------
    Interval : Its ends alone.

    Examples
    --------
    >>> print(Estimate.by_standard_error(0.9, 0.02, 9))
    0.9000 ± 0.0452
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    metric: str = ""
    of: Any = "overall"
    note: str = ""
    standard_error: float = math.nan
    degrees: float = math.inf

    @classmethod
    def by_interval(cls, metric: str, of: Any, value: float, interval: Interval, note: str = "") -> Estimate:
        """A measure with its interval; where the measure is undefined, so is the interval.

        Parameters
        ----------
        metric : str
            What was measured.
        of : label or str
            Of which class or average.
        value : float
            NaN where it is undefined.
        interval : Interval
            Of the value.
        note : str, default=""
            Why it is undefined.

        Returns
        -------
        Estimate
            Without a standard error.
        """
        if math.isnan(value):
            interval = no_interval(interval.level, note or "undefined")
        return cls(value, interval.low, interval.high, interval.level, interval.method, metric, of, note)

    @classmethod
    def by_standard_error(
        cls, value: float, standard_error: float, degrees: float, level: float = 0.95, method: str = "Student's t"
    ) -> Estimate:
        """A mean, or a difference of means, with the interval of Student's t.

        Parameters
        ----------
        value, standard_error, degrees : float
            The mean, its standard error, and the degrees of freedom of that.
        level : float, default=0.95
            Of the interval.
        method : str, default="Student's t"
            What to call it.

        Returns
        -------
        Estimate
            Without a name.
        """
        reach = quantile(level, degrees) * standard_error
        found = Interval(value - reach, value + reach, level, method)
        if math.isnan(standard_error):
            found = no_interval(level, "the scores do not tell how they vary")
        return cls(value, found.low, found.high, level, found.method, standard_error=standard_error, degrees=degrees)

    def interval(self, level: float | None = None) -> Interval:
        """The confidence interval; one of another level by the standard error.

        Parameters
        ----------
        level : float, optional
            Another than its own.

        Returns
        -------
        Interval
            Around the value.
        """
        if level is None or check_level(level) == self.level:
            return Interval(self.low, self.high, self.level, self.method)
        return Estimate.by_standard_error(self.value, self.standard_error, self.degrees, level, self.method).interval()

    def around(self, value: float) -> Estimate:
        """Another value with the same standard error.

        Parameters
        ----------
        value : float
            The other value, in the place of this one.

        Returns
        -------
        Estimate
            Of no name.
        """
        return Estimate.by_standard_error(value, self.standard_error, self.degrees, self.level, self.method)

    @property
    def reach(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def t(self) -> float:
        """The value in standard errors."""
        if self.standard_error == 0:
            return math.copysign(math.inf, self.value) if self.value else 0.0
        return self.value / self.standard_error

    @property
    def p_value(self) -> float:
        """Two-sided test that the true value is 0."""
        return float(2 * stdtr(self.degrees, -abs(self.t)))

    def __str__(self) -> str:
        if not self.metric:
            return f"{self.value:.4f}" + (f" ± {self.reach:.4f}" if math.isfinite(self.reach) else "")
        name = metric_name(self.metric) + ("" if self.of == "overall" else f" of {shown(self.of)}")
        if math.isnan(self.value):
            return f"{name}: undefined ({self.note})"
        return f"{name}: {self.value:.4f} ({self.low:.4f} to {self.high:.4f}, {self.method})"


def wilson_interval(
    share: float, n: float, level: float = 0.95, degrees: float = math.inf, method: str = "Wilson"
) -> Interval:
    """Wilson's score interval of a proportion.

    Parameters
    ----------
    share : float
        The proportion found.
    n : float
        How many independent rows it is a proportion of. Weights are frequencies: their sum.
    level : float, default=0.95
        Of confidence.
    degrees : float, default=inf
        Degrees of freedom of the variance behind ``n``, where it was estimated from clusters.
    method : str, default="Wilson"
        What the interval is called.

    Returns
    -------
    Interval
        Within 0 and 1.

    See Also
    --------
    ConfusionMatrix.interval : Of the measures of a confusion matrix.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22.

    Examples
    --------
    >>> print(wilson_interval(0.9, 50))
    0.7864 to 0.9565 (95 %, Wilson)
    """
    if math.isnan(share) or not n > 0:
        return no_interval(level, "the measure is undefined")
    square = quantile(level, degrees) ** 2
    centre = (share + square / (2 * n)) / (1 + square / n)
    reach = math.sqrt(square * (share * (1 - share) / n + square / (4 * n * n))) / (1 + square / n)
    low, high = (0.0 if share == 0 else centre - reach), (1.0 if share == 1 else centre + reach)
    return Interval(max(low, 0.0), min(high, 1.0), level, method)


def normal_interval(
    value: float, variance: float, level: float, method: str, degrees: float = math.inf, scale: Scale = "linear"
) -> Interval:
    """The interval ``value +- quantile * sd``, reached on a scale on which the measure has no bounds."""
    check_choice("scale", scale, tuple(_SCALES))
    if not (math.isfinite(value) and math.isfinite(variance) and variance >= 0):
        return no_interval(level, "the measure or its variance is undefined")
    low, high = _BOUNDS[scale]
    if not low < value < high:
        return no_interval(level, f"the measure is {value:g}, at the end of its range")
    there, back, slope = _SCALES[scale]
    reach = quantile(level, degrees) * math.sqrt(variance) * slope(value)
    return Interval(float(back(there(value) - reach)), float(back(there(value) + reach)), level, method)


def newcombe_variance(auc: float, n_positive: float, n_negative: float) -> float:
    """The variance of an AUC by its true value alone (Newcombe 2006, method 5)."""
    factor = 1 + ((n_positive + n_negative) / 2 - 1) * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return auc * (1 - auc) * factor / (n_positive * n_negative)


def newcombe_interval(
    auc: float,
    n_positive: float,
    n_negative: float,
    level: float,
    ratio: float = 1.0,
    degrees: float = math.inf,
    method: str = "Newcombe's score interval: no two rows of a pair are misordered",
) -> Interval:
    """Newcombe's score interval of an AUC (his method 5), which has a width also where no pair is misordered.

    ``ratio`` multiplies the variance, and ``degrees`` are its degrees of freedom.
    """
    from scipy.optimize import brentq  # slow to load

    square = quantile(level, degrees) ** 2 * ratio

    def excess(true: float) -> float:
        return (auc - true) ** 2 - square * newcombe_variance(true, n_positive, n_negative)

    near = 1e-9 * auc * (1 - auc) + 1e-12
    low = 0.0 if auc <= near else float(brentq(excess, 0.0, auc - near))
    high = 1.0 if auc >= 1 - near else float(brentq(excess, auc + near, 1.0))
    return Interval(low, high, level, method)


def bca_interval(value: float, resampled: Array, acceleration: float, level: float, method: str) -> Interval:
    """The bias-corrected and accelerated bootstrap interval (Efron 1987).

    Resamples in which the measure is undefined are left out; with more than a tenth of them there is no interval.
    """
    kept = resampled[np.isfinite(resampled)]
    if math.isnan(value):
        return no_interval(level, "the measure is undefined")
    if kept.size < 0.9 * resampled.size:
        return no_interval(level, f"undefined in {1 - kept.size / resampled.size:.0%} of the resamples")
    if np.ptp(kept) < 1e-12 * max(1.0, abs(value)):
        return no_interval(level, "every resample gives the same value")
    # Ties count half: measures of counts have few values. The bias is kept within what resamples can tell.
    below = np.count_nonzero(kept < value - 1e-12) + 0.5 * np.count_nonzero(np.abs(kept - value) <= 1e-12)
    bias = float(ndtri(np.clip(below / kept.size, 0.5 / kept.size, 1 - 0.5 / kept.size)))
    reach = quantile(level)
    tails = [bias + (bias + z) / (1 - acceleration * (bias + z)) for z in (-reach, reach)]
    low, high = np.quantile(kept, ndtr(tails))
    return Interval(float(low), float(high), level, method)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """How rows were drawn: their weights, and the clusters in which they were drawn together.

    Whole weights are frequencies: a row of weight 3 is three independent rows. Weights that are not whole numbers, as
    those of surveys, are importances: each row is one draw whatever its weight, a cluster of its own.
    """

    n_rows: int
    weight: Array | None = None
    clusters: Array | None = None  #: the number of each row's cluster
    n_clusters: int = 0
    is_weighted_by_importance: bool = False

    @classmethod
    def read(cls, sample_weight: Any, groups: Any, n_rows: int) -> SamplingDesign:
        """The design that weights and groups of the rows tell; rows without groups are independent."""
        weight = check_weights(sample_weight, n_rows)
        if groups is None:
            return cls.of_importances(weight) if has_fractions(weight) else cls(n_rows, weight)
        found, codes = encoded(label_column("groups", groups))
        if len(codes) != n_rows:
            raise InputError(f"groups has {len(codes)} values for {n_rows} rows: give the group of each row.")
        if len(found) < 2:
            raise DegenerateDataError(
                f"All rows are of one group, {found[0]!r}: how much groups differ cannot be seen. Leave ",
                Setting("groups"),
                " out, or give one label for each independent unit.",
            )
        return cls(n_rows, weight, codes, len(found))

    @classmethod
    def of_importances(cls, weight: Array, rows: Array | None = None) -> SamplingDesign:
        """Each row is one draw; ``rows`` are their numbers where some come several times."""
        if np.count_nonzero(weight) < 2:
            return cls(len(weight), weight)  # one draw shows nothing of how draws vary
        drawn = np.arange(len(weight)) if rows is None else rows
        clusters = np.zeros(len(weight), dtype=np.int64)  # rows without weight add nothing to any cluster
        found, clusters[weight > 0] = np.unique(drawn[weight > 0], return_inverse=True)
        return cls(len(weight), weight, clusters, len(found), True)

    @property
    def effective_rows(self) -> float:
        """The effective sample size of the weights (Kish 1965): ``(sum w)^2 / sum w^2``."""
        return float(self.weights.sum() ** 2 / (self.weights @ self.weights))

    @property
    def weights(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def is_large(self) -> bool:
        """Whether there are so many independent rows that what a model expects of others tells nothing more."""
        return self.clusters is None and self.total_weight > ENOUGH_ROWS

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance between clusters."""
        return math.inf if self.clusters is None else float(self.n_clusters - 1)

    @property
    def words(self) -> str:
        """What the method of an interval has to say of clusters."""
        if self.is_weighted_by_importance:
            return f", {self.n_clusters:,} weighted rows"
        return "" if self.clusters is None else f", {self.n_clusters:,} clusters"

    def by_cluster(self, cells: Array, n_cells: int) -> Any:
        """The weight that each cluster (row) has in each cell (column), where ``cells`` is the cell of each row."""
        shape = self.n_clusters, n_cells
        return sp.csr_matrix((self.weights, (self.clusters, cells)), shape=shape)

    def sums(self, values: Array) -> Array:
        """The sum of values of the rows in each cluster."""
        assert self.clusters is not None
        return np.bincount(self.clusters, weights=values, minlength=self.n_clusters)

    def variance(self, influence: Array) -> float:
        """The variance of a measure from the influence of its rows."""
        if self.clusters is None:
            return float(self.weights @ np.square(influence))
        sums = self.sums(self.weights * influence)
        return float(sums @ sums)

    def worth(self, deviations: Array, squares: float) -> float:
        """How many independent rows the clusters are worth: those whose mean would have as large a variance.

        ``squares`` is the weighted sum of the squared deviations. Where there are none it is told by the sizes of the
        clusters.
        """
        sums = self.sums(self.weights * deviations)
        between = float(sums @ sums) * self.n_clusters / (self.n_clusters - 1)
        if squares > 0 and between > 0:
            return squares * self.total_weight / between
        sizes = self.sums(self.weights)
        return float(sizes.sum() ** 2 / (sizes @ sizes))


#: Rows that are added to those seen as a model expects them (see `Mean.interval`): as many as make Wilson's interval.
_EXPECTED_ROWS = 2.0
#: Rows added to these for the wider limits, where a model is twice as sure as it should be. Two covered the log-loss
#: of an overconfident model of 5 % and 95 % of 1,000 rows in 0.87 of samples, ten in 0.93.
_OVERCONFIDENT_ROWS: Final = 10.0
#: What the lower limit has of the symmetric one: with all of it 99 % of samples were covered, with none 90 % in some
#: settings, since the skewness is itself estimated from the large losses that were seen.
_SYMMETRIC_SHARE: Final = 0.25
#: From so many independent rows on they would change nothing, and are not asked for.
ENOUGH_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Mean:
    """A weighted mean of values of rows, which can be merged with that of other rows.

    ``squares`` and ``cubes`` are weighted sums of powers of the deviations from the mean. ``expected`` has the sums
    over rows of the value, its square and its cube that a model expects: by its probabilities, then by probabilities of
    half the log-odds; None where nothing is expected.
    """

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    expected: Array | None = None

    @classmethod
    def of(cls, values: Array, weight: Array | None = None, expected: Array | None = None) -> Mean:
        """The mean of these values."""
        weights = np.ones(len(values)) if weight is None else weight
        total = float(weights.sum())
        if total == 0:
            return cls()
        mean = float(weights @ values) / total
        shifted = values - mean
        powers = float(weights @ np.square(shifted)), float(weights @ (shifted * np.square(shifted)))
        return cls(total, mean, *powers, expected)

    def merged(self, other: Mean) -> Mean:
        """The mean of both (Chan, Golub & LeVeque)."""
        a, b = self.weight, other.weight
        total = a + b
        if a == 0 or b == 0:
            return self if b == 0 else other
        shift = other.mean - self.mean
        squares = self.squares + other.squares + shift * shift * a * b / total
        cubes = self.cubes + other.cubes + shift**3 * a * b * (a - b) / total**2
        cubes += 3 * shift * (a * other.squares - b * self.squares) / total
        expected = None if self.expected is None or other.expected is None else self.expected + other.expected
        return Mean(total, self.mean + shift * b / total, squares, cubes, expected)

    def interval(self, level: float, draws: float | None = None, degrees: float | None = None) -> Interval:
        """The interval of a mean whose values may be skewed, as those of a loss are.

        As in Wilson's interval the variance belongs to the mean that is looked for: a larger one has a larger
        variance, by the ratio of the third to the second central moment for each unit. Few rows may not have seen the
        losses that matter, so that these moments are taken of the rows seen and of two that are as the model expects;
        wider of two intervals: of these alone, and of ten more for which it is twice as sure as it should be. The lower
        end is moved a quarter of the way to that of the symmetric interval. ``draws`` is the number of independent
        rows, by default the weight, ``degrees`` what is known of the variance.
        """
        n = self.weight if draws is None else draws
        if not n > 1:
            return no_interval(level, "a mean of one row has no spread")
        reach = quantile(level, n - 1 if degrees is None else degrees) / math.sqrt(n)
        added = (
            [(0.0, 0.0)]
            if self.expected is None or n > ENOUGH_ROWS
            else [(_EXPECTED_ROWS, 0.0), (_EXPECTED_ROWS, _OVERCONFIDENT_ROWS)]
        )
        ends = [self._ends(reach, n, rows) for rows in added]
        return Interval(
            min(end[0] for end in ends), max(end[1] for end in ends), level, "Student's t, for skewed losses"
        )

    def _ends(self, reach: float, n: float, added: tuple[float, float]) -> tuple[float, float]:
        """The means that are ``reach`` standard deviations from this one, each by its own variance."""
        moments = np.array([0.0, self.squares, self.cubes]) * n / self.weight
        for rows, (e1, e2, e3) in zip(added, np.zeros((2, 3)) if self.expected is None else self.expected, strict=True):
            m, e1, e2, e3 = self.mean, e1 / self.weight, e2 / self.weight, e3 / self.weight
            moments += rows * np.array([e1 - m, e2 - m * (2 * e1 - m), e3 - m * (3 * e2 - m * (3 * e1 - m))])
        first, second, third = moments / (n + sum(added))
        variance = second - first * first
        # what is expected comes as raw sums, whose differences keep an error of their own size
        rounding = 1e-24 * (self.mean**2 + second) + 1e-14 * self.mean**2 * sum(added) / (n + sum(added))
        if not variance > rounding:
            return self.mean, self.mean  # every row has the same value, whatever its class
        slope = (third - first * (3 * second - 2 * first * first)) / variance
        centre = self.mean + reach * reach * slope / 2
        half = math.hypot(reach * math.sqrt(max(variance - first * slope, 0.0)), reach * reach * slope / 2)
        low = (1 - _SYMMETRIC_SHARE) * (centre - half) + _SYMMETRIC_SHARE * (self.mean - reach * math.sqrt(variance))
        return low, centre + half


def mean_interval(
    values: Array, design: SamplingDesign, level: float, expected: Array | None = None
) -> tuple[float, Interval]:
    """The weighted mean of values of rows with its interval; in clusters with as many rows as they are worth."""
    found = Mean.of(values, design.weight, expected)
    if design.clusters is None:
        return found.mean, found.interval(level)
    interval = found.interval(level, design.worth(values - found.mean, found.squares), design.degrees)
    return found.mean, replace(interval, method=f"{interval.method}{design.words}")


@dataclass(frozen=True)
class Margins:
    """What a table of counts says about each class against all others; float64.

    ``tp`` and ``truth`` have shape (..., K): rows of the class that were predicted so, and all rows of the class.
    ``columns`` has shape (..., A): rows that were given each prediction.
    """

    tp: Array
    truth: Array
    columns: Array

    @property
    def predicted(self) -> Array:
        """Rows predicted as each class."""
        return self.columns[..., : self.truth.shape[-1]]

    @property
    def total(self) -> Array:
        return self.truth.sum(axis=-1)

    @property
    def covered(self) -> Array:
        """Rows predicted as any class."""
        return self.predicted.sum(axis=-1)

    @property
    def negative(self) -> Array:
        """Rows of other classes; exactly 0 where there are none, whatever the weights."""
        return self.truth.sum(axis=-1, keepdims=True) - self.truth

    @property
    def predicted_negative(self) -> Array:
        """Rows predicted as anything else; exactly 0 where there are none."""
        return self.columns.sum(axis=-1, keepdims=True) - self.predicted

    def combined(self, coefficients: dict[str, float]) -> Array:
        return np.asarray(sum(c * getattr(self, name) for name, c in coefficients.items()))


Statistic = Callable[[Margins], Array]


def margins(tables: Any) -> Margins:
    """The margins of tables (..., K, A)."""
    counts = np.asarray(tables, dtype=np.float64)
    tp = np.diagonal(counts[..., : counts.shape[-2]], axis1=-2, axis2=-1)
    return Margins(tp, counts.sum(axis=-1), counts.sum(axis=-2))


class TableSample:
    """A table of counts as a sample: how far measures of it may be from those of the population.

    Parameters
    ----------
    counts : array of shape (K, A)
    by_cluster : sparse matrix of shape (clusters, K A), optional
        What each cluster adds to the table. Without it every counted row is a draw of its own.
    """

    def __init__(self, counts: Array, by_cluster: Any = None) -> None:
        self.counts = np.asarray(counts, dtype=np.float64)
        self.margins = margins(self.counts)
        self.by_cluster = by_cluster

    def share_intervals(
        self, share: Statistic, base: Statistic, level: float, method: str = "Wilson"
    ) -> list[Interval]:
        """Wilson's intervals of proportions; in clusters with the number of independent rows worth as much.

        That number is ``p (1 - p) / variance``, with the linearised variance between clusters; for p of 0 or 1, where
        there is no variance to see, it is ``(sum of sizes)^2 / sum of squared sizes`` of the clusters.
        """
        values, bases = share(self.margins), base(self.margins)
        if self.by_cluster is None:
            return [
                wilson_interval(float(p), float(n), level, method=method) for p, n in zip(values, bases, strict=True)
            ]
        variances = self._clustered_variance(share)
        sizes = self.by_cluster @ cell_response(base, self.counts)
        method = f"{method}, effective rows by {self.by_cluster.shape[0]:,} clusters"
        found = []
        for p, variance, size in zip(values, variances, sizes.T, strict=True):
            inside = 0 < p < 1 and variance > 0
            n = p * (1 - p) / variance if inside else size.sum() ** 2 / max(float(size @ size), 1e-300)
            degrees = max(float(np.count_nonzero(size > 1e-9 * size.max())) - 1, 1.0)
            found.append(wilson_interval(float(p), float(n), level, degrees, method))
        return found

    def intervals(
        self, statistic: Statistic, scales: list[Scale], level: float, random_state: Any, n_resamples: int = 2_000
    ) -> list[Interval]:
        """Intervals of any smooth measures of the table; ``statistic`` gives several, each with a scale.

        Independent rows: Jeffreys's interval for two classes, else the BCa bootstrap, the table drawn again from a
        multinomial distribution. Clusters: linearised variance between clusters, on the scale.
        """
        check_integer("n_resamples", n_resamples, 1)
        values = statistic(self.margins)
        if self.by_cluster is not None:
            n_clusters, variances = self.by_cluster.shape[0], self._clustered_variance(statistic)
            method = f"linearised between {n_clusters:,} clusters, Student's t"
            return [
                normal_interval(float(value), float(variance), level, method, n_clusters - 1.0, scale)
                for value, variance, scale in zip(values, variances, scales, strict=True)
            ]
        if self.counts.sum() < 2:
            return [no_interval(level, "the rows' weights sum to less than two") for _ in values]
        if len(self.counts) == 2:
            return self._jeffreys_intervals(statistic, values, level, random_state, n_resamples)
        # Efron's acceleration, from the influence of each cell's rows.
        influence, cells = cell_response(statistic, self.counts), self.counts.ravel()
        second, third = cells @ influence**2, cells @ influence**3
        acceleration = np.divide(third, 6 * second**1.5, out=np.zeros_like(third), where=second > 0)
        resampled = self._resampled(statistic, np.random.default_rng(random_state), n_resamples)
        method = f"BCa bootstrap of the table, {n_resamples:,} resamples"
        return [
            bca_interval(float(value), column, float(a), level, method)
            for value, column, a in zip(values, resampled.T, acceleration, strict=True)
        ]

    def _jeffreys_intervals(
        self, statistic: Statistic, values: Array, level: float, random_state: Any, n_draws: int
    ) -> list[Interval]:
        """Quantiles of the measures in tables drawn from the posterior; the prior of a class is worth one row.

        With few rows in a cell resamples of the table show too little variation, or leave the measure undefined: of 100
        rows, 5 % of one class, the BCa bootstrap covered kappa in 69 % of the 62 % of samples that had an interval. An
        interval reaches to the estimate, also at the end of its range (Brown, Cai & DasGupta 2001).
        """
        prior = 1 / self.counts.shape[1]
        tables = np.random.default_rng(random_state).dirichlet(self.counts.ravel() + prior, n_draws)
        drawn = statistic(margins(tables.reshape(-1, *self.counts.shape)))
        method, tails = f"Jeffreys, {n_draws:,} draws", (0.5 - level / 2, 0.5 + level / 2)
        return [
            no_interval(level, "the measure is undefined")
            if math.isnan(value)
            else Interval(min(value, low), max(value, high), level, method)
            for value, low, high in zip(values.tolist(), *np.quantile(drawn, tails, axis=0).tolist(), strict=True)
        ]

    def _clustered_variance(self, statistic: Statistic) -> Array:
        sums = self.by_cluster @ cell_response(statistic, self.counts)
        return np.square(sums).sum(axis=0) * len(sums) / (len(sums) - 1)

    def _resampled(self, statistic: Statistic, rng: np.random.Generator, n_resamples: int) -> Array:
        flat = self.counts.ravel()
        filled = np.flatnonzero(flat)
        n, shares = max(round(flat.sum()), 1), flat[filled] / flat.sum()
        found, most = [], max(1, _MOST_CELLS // flat.size)
        for start in range(0, n_resamples, most):
            size = min(most, n_resamples - start)
            tables = np.zeros((size, flat.size))
            tables[:, filled] = rng.multinomial(n, shares, size=size)
            found.append(statistic(margins(tables.reshape(size, *self.counts.shape))))
        return np.concatenate(found)


def cell_response(statistic: Statistic, counts: Array) -> Array:
    """How measures change with one more row in each cell, (cells, measures).

    A row of cell (i, j) adds to the margins of its row and its column, and to the diagonal if i = j.
    """
    K, A = counts.shape
    found = margins(counts)
    vector = np.concatenate((found.tp, found.truth, found.columns))
    # Derivatives in each entry of the margins, by differences; 0 for entries that are 0.
    step = _STEP * vector
    upper, lower = (
        statistic(Margins(*np.split(vector + sign * np.diag(step), [K, 2 * K], axis=1))) for sign in (1.0, -1.0)
    )
    change = (upper - lower).reshape(len(vector), -1)
    slope = np.divide(change, 2 * step[:, None], out=np.zeros_like(change), where=step[:, None] > 0)
    tp, truth, columns = np.split(slope, [K, 2 * K])
    response = truth[:, None, :] + columns[None, :, :]
    response[np.arange(K), np.arange(K)] += tp
    return response.reshape(K * A, -1)
