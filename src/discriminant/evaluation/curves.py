"""ROC and precision-recall curves, exact at every threshold, ties and weights included; AUC and average precision.

All are functions of the scores in order: for each distinct score how many positive and negative rows have it. That
table is made by sorting the positive and the negative scores by themselves and merging them: sorting values is several
times faster than sorting row numbers. Row numbers are sorted only where rows have weights or belong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ..arrays import Array
from ..data import check_choice, check_number, codes_among, encoded, label_array, label_column, ordered, same_length
from ..decision.costs import read_costs
from ..engine import side_by_side
from ..errors import DtypeError, InputError, LabelError, ParameterError, Setting
from ..kernels import counting as kernels
from ..results import Result, columns_of, jsonable, metric_name, p_value, plain, shown
from .intervals import (
    Estimate,
    Interval,
    SamplingDesign,
    check_level,
    newcombe_interval,
    newcombe_variance,
    no_interval,
    normal_interval,
)

#: So few rows are sorted before a thread has woken up.
_FEW_ROWS = 100_000


#: Scores at which the precision of a distribution is averaged.
_QUANTILES = 2_000


#: Only an AUC this close to 0 or 1 can be rounding of scores that do not overlap.
_NEAR_THE_END = 1e-9


#: Rows of Newcombe's variance that are added to those that DeLong's rests on. Without them the interval of the AUC
#: covered in 0.82 to 0.92 of samples of 50 positive rows and an AUC of 0.98 or more, with two in at least 0.94.
PRIOR_ROWS: Final = 2.0
#: With fewer positive rows the average precision is estimated with too large a bias for an interval: of 5 rows in 100,
#: intervals covered in 0.86 to 0.91 of samples.
MIN_PRECISION_ROWS: Final = 10


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
    def predicted(self) -> Array:
        """Rows with at least this score."""
        return self.true_positives + self.false_positives

    @cached_property
    def precision(self) -> Array:
        """The share of positive rows among those with at least this score."""
        return self.true_positives / self.predicted

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
    if min(value, 1 - value) < _NEAR_THE_END:
        # It is exactly 0 or 1 where the two sides do not overlap: sums of weights are rounded.
        of_positive, of_negative = np.flatnonzero(ranked.positive), np.flatnonzero(ranked.negative)
        value = 1.0 if of_positive[-1] < of_negative[0] else 0.0 if of_negative[-1] < of_positive[0] else value
    return value


def auc_variance(ranked: RankedScores) -> float:
    """DeLong's variance of the AUC: that of `auc_influence` for independent rows, without its arrays."""
    value, m, n = auc(ranked), ranked.n_positive, ranked.n_negative
    if not (m > 1 and n > 1):
        return math.nan
    _, of_positive, _, of_negative = kernels.placement_moments(ranked.positive, ranked.negative, value)
    return float(of_positive / (m * (m - 1)) + of_negative / (n * (n - 1)))


def auc_influence(ranked: RankedScores, n_positive: float, n_negative: float) -> Array:
    """How much one more row of each distinct score moves the AUC (DeLong, DeLong & Clarke-Pearson 1988).

    The first row of the array is for negative rows, the second for positive ones.

    ``n_positive`` and ``n_negative`` are the numbers of independent draws: rows, or clusters that have such rows. They
    are what the variance is corrected for (n / (n - 1)); for rows it is then DeLong's.
    """
    value, (of_positive, of_negative) = auc(ranked), ranked.placements
    of_positive = (of_positive - value) / ranked.n_positive * _correction(n_positive)
    return np.stack(((of_negative - value) / ranked.n_negative * _correction(n_negative), of_positive))


def auc_score_variance(ranked: RankedScores) -> tuple[float, float, float]:
    """The mean of DeLong's and Newcombe's variance: its ratio to Newcombe's, its degrees of freedom, and to DeLong's.

    DeLong's variance of classes that hardly overlap rests on the few rows that are misordered, and is too small in
    samples with few of them. `PRIOR_ROWS` rows of Newcombe's variance, which depends on the AUC alone, are added to the
    number of rows that DeLong's rests on, ``(sum u^2)^2 / sum u^4`` of their influences u.
    """
    value, m, n = auc(ranked), ranked.n_positive, ranked.n_negative
    of_negative, of_positive = np.square(auc_influence(ranked, m, n))
    parts = float(ranked.positive @ of_positive), float(ranked.negative @ of_negative)
    delong, fourth = sum(parts), ranked.positive @ np.square(of_positive) + ranked.negative @ np.square(of_negative)
    newcombe = newcombe_variance(value, m, n)
    if not (delong > 0 and newcombe > 0):
        return 1.0, min(m, n) - 1.0, 1.0
    rows = delong**2 / float(fourth)
    combined = (rows * delong + PRIOR_ROWS * newcombe) / (rows + PRIOR_ROWS)
    degrees = delong**2 / (parts[0] ** 2 / (m - 1) + parts[1] ** 2 / (n - 1))
    return combined / newcombe, degrees, combined / delong


def average_precision(ranked: RankedScores) -> float:
    """The mean, over positive rows, of the precision at their score; NaN without positive rows."""
    if not ranked.n_positive > 0:
        return math.nan
    return min(float(ranked.positive @ ranked.precision) / ranked.n_positive, 1.0)


def binormal_precision(area: float, share: float) -> float:
    """The average precision of normal scores of equal variance with this AUC and this share of positive rows."""
    above = (np.arange(_QUANTILES) + 0.5) / _QUANTILES  # the share of positive rows above a positive score
    shift = math.sqrt(2) * ndtri(area)
    found, alarms = share * above, (1 - share) * ndtr(ndtri(above) - shift)
    return float(np.mean(found / (found + alarms)))


def average_precision_influence(ranked: RankedScores, n: float) -> Array:
    """The influence on the average precision, as `auc_influence`: its derivative in the weights of rows.

    A row changes the precision at its own score and at all lower ones. ``n`` is the number of independent draws.
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
    """The influence of each row on the AUC and on the average precision; NaN where these are undefined."""
    if not ranked.two_sided:
        nothing = np.full(len(place), np.nan)
        return nothing, nothing
    if design.clusters is None:
        draws = ranked.n_positive, ranked.n_negative, ranked.n_positive + ranked.n_negative
    else:
        sides = [np.count_nonzero(design.sums(design.weights * side)) for side in (is_positive, ~is_positive)]
        draws = float(sides[0]), float(sides[1]), float(design.n_clusters)
    rows = is_positive.astype(np.intp), place
    return auc_influence(ranked, draws[0], draws[1])[rows], average_precision_influence(ranked, draws[2])[rows]


#: Resamples of the interval, and how many cells of neighbouring scores are drawn.
_RESAMPLES, _CELLS = 1_000, 2_000


@dataclass(frozen=True, repr=False)
class BestThreshold(Result):
    """The threshold with the lowest expected cost.

    Attributes
    ----------
    threshold : float
        Call a row positive where its score is at least this; infinity: call none positive.
    cost : float
        The expected cost of a row at this threshold, on the rows it was chosen on: new rows will cost a little more.
    tpr, fpr : float
        The rates there.
    interval : Interval
        Where the threshold may lie for other rows of the same kind.

    See Also
    --------
    Roc.best_threshold : Finds it.
    """

    threshold: float
    cost: float
    tpr: float
    fpr: float
    interval: Interval

    def __str__(self) -> str:
        return (
            f"best threshold {self.threshold:.4g} ({self.interval}): expected cost {self.cost:.4g} a row, "
            f"true positive rate {self.tpr:.4f}, false positive rate {self.fpr:.4f}"
        )


def threshold_costs(cost_fp: float, cost_fn: float, costs: Any, positive: Any = None) -> Array:
    """The four costs, rows the truth and columns the decision, negative first."""
    if costs is None:
        check_number("cost_fp", cost_fp, 0)
        check_number("cost_fn", cost_fn, 0)
        return np.array([[0.0, cost_fp], [cost_fn, 0.0]])
    wanted = "costs must be four numbers [[true negative, false positive], [false negative, true positive]]"
    try:
        found = read_costs(costs)
    except ParameterError as error:
        raise ParameterError(f"{wanted}, or named as for Decision: {error}") from error
    if found.values.shape != (2, 2):
        raise ParameterError(f"{wanted}, got {costs!r}.")
    if found.classes is None:
        return found.values
    if positive not in found.classes:
        raise ParameterError(f"costs names the classes {found.classes}, but the curve is of class {shown(positive)}.")
    sides = sorted(found.classes, key=lambda label: label == positive)
    values, actions = found.aligned(label_array(sides))
    if set(actions) != set(sides):
        raise ParameterError(
            f"costs has the actions {actions}: a threshold decides between the classes {sides}. Rows are true classes, "
            "columns are what is decided."
        )
    return values[:, [actions.index(label) for label in sides]]


def expected_costs(positive: Array, negative: Array, costs: Array, prior: float | None) -> Array:
    """The cost of a row at each threshold: above all scores, then at each of them, with the rows that have it."""
    m, n = positive.sum(), negative.sum()
    share = m / (m + n) if prior is None else prior
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, fpr = (np.append(0.0, np.cumsum(counts)) / counts.sum() for counts in (positive, negative))
    of_positive = costs[1, 0] + (costs[1, 1] - costs[1, 0]) * tpr
    of_negative = costs[0, 0] + (costs[0, 1] - costs[0, 0]) * fpr
    return share * of_positive + (1 - share) * of_negative


def _running(counts: Array) -> Array:
    """Counts at or above each cutoff; 0 above all scores."""
    return np.concatenate((np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1)), axis=-1)


def _row_draws(ranked: RankedScores, starts: Array, rng: np.random.Generator) -> Callable[[], Array]:
    """Draws as many rows as there are; the counts of each cell, positive ones first."""
    cells = np.concatenate([np.add.reduceat(side, starts) for side in (ranked.positive, ranked.negative)])
    total = cells.sum()
    return lambda: rng.multinomial(round(total), cells / total).astype(np.float64)


def _cluster_draws(
    design: SamplingDesign, is_positive: Array, place: Array, starts: Array, rng: np.random.Generator
) -> Callable[[], Array]:
    """Draws as many clusters as there are, each with all its rows; the counts of each cell as of `_row_draws`."""
    cell = np.searchsorted(starts, place, side="right") - 1 + len(starts) * ~is_positive
    cells, count = design.by_cluster(cell, 2 * len(starts)), design.n_clusters
    return lambda: np.asarray(rng.multinomial(count, np.full(count, 1 / count)) @ cells, dtype=np.float64)


def _cell_starts(ranked: RankedScores) -> Array:
    """Where cells of about equally many rows begin; every distinct score is one where there are few."""
    if len(ranked.values) <= _CELLS:
        return np.arange(len(ranked.values))
    running = np.cumsum(ranked.positive + ranked.negative)
    return np.unique(np.append(0, np.searchsorted(running, running[-1] * np.arange(1, _CELLS) / _CELLS)))


def class_scores(name: str, score: Any, classes: Array) -> Array:
    """Scores as a float array, one column or one for each class; refuses what has no order."""
    values = np.asarray(score)
    if values.dtype.kind not in "fiub":
        raise DtypeError(f"{name} must be numbers, got dtype {values.dtype}.")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must have one number for each row, got shape {values.shape}.")
    finite = np.isfinite(values)
    if not finite.all():
        row, *column = (int(i) for i in np.argwhere(~finite)[0])
        where = f", column {column[0]}" if column else ""
        what = "NaN" if np.isnan(values[row, *column]) else "infinity"
        raise InputError(f"{name} contains {what}: row {row}{where}. Scores must be finite, or rows have no order.")
    if values.ndim == 2 and values.shape[1] != len(classes):
        raise InputError(
            f"{name} has {values.shape[1]} columns, expected {len(classes)}: one for each of the classes "
            f"{classes.tolist()}, in this order."
        )
    return values


def score_column(name: str, score: Any) -> Array:
    """One score for each row."""
    shape = np.shape(score)
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(f"{name} must have one number for each row, got shape {shape}.")
    return class_scores(name, score, np.empty(0))


def number_column(name: str, numbers: Any) -> Array:
    """One number for each row as float64."""
    values = np.asarray(numbers)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise InputError(f"{name} must be one number for each row, got shape {values.shape}, dtype {values.dtype}.")
    return values.astype(np.float64, copy=False)


#: Sums of weights that differ by less are equal but for rounding.
_EQUAL_WEIGHTS = 1e-9


def positive_code(positive: Any, classes: Array, class_weights: Array) -> int | None:
    """The code of the positive class: the one named, or the rarer of two; the second of two of equal weight.

    None where none is named and there are not two: every class is then judged against the rest.
    """
    if positive is not None:
        return _code_of(positive, classes)
    if len(classes) != 2:
        return None
    first, second = class_weights
    return 0 if first < second * (1 - _EQUAL_WEIGHTS) else 1


def _code_of(positive: Any, classes: Array) -> int:
    names = classes.tolist()
    if plain(positive) not in names:
        listed = f"{names[:8]}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        raise LabelError(Setting("positive", plain(positive)), f" is not among the classes {listed}.")
    return names.index(plain(positive))


def _code_of_large_scores(positive: Any, classes: Array) -> int:
    """The code of the class that the large values of a single score stand for: the one named, or the second of two."""
    if positive is not None:
        return _code_of(positive, classes)
    names = classes.tolist()
    if len(names) == 2:
        return 1
    remedy = "Give a score for each class" if len(names) > 2 else "Name the class that large scores stand for"
    raise LabelError(
        f"y has {len(names)} class(es), {names[:8]}: with one score for each row, large scores must stand for one "
        f"of two. {remedy}, or ",
        Setting("positive"),
        ".",
    )


@dataclass(frozen=True, eq=False)
class JointVariance:
    """Variances of the AUC and the average precision of rows that are not independent, and what they vary with."""

    auc: float
    average_precision: float
    words: str
    degrees: float
    #: For what has no variance and is drawn again instead: the design, the side of each row, and the place of its score
    rows: tuple[SamplingDesign, Array, Array] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCurve(Result):
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

    kind: ClassVar[str]
    metric: ClassVar[str]

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """The area under the curve as an estimate, in a list as of several classes.

        Parameters
        ----------
        level : float, default=0.95
            Of its interval.

        Returns
        -------
        list of Estimate
            A single one.
        """
        value, interval = getattr(self, self.metric), getattr(self, f"{self.metric}_interval")
        return [Estimate.by_interval(self.metric, self.positive, value, interval(level), self.undefined)]

    def to_dict(self) -> dict[str, Any]:
        """The area with its interval, and the curve, as plain values for JSON.

        Returns
        -------
        dict
            Lists for the columns of the curve.
        """
        (found,) = self.estimates()
        area = {"positive": self.positive, self.metric: found.value, "low": found.low, "high": found.high}
        return {name: jsonable(values) for name, values in {**area, **self._columns()}.items()}

    def __str__(self) -> str:
        (found,) = self.estimates()
        of = "" if self.positive is None else f" of class {shown(self.positive)}"
        return f"{self.kind} curve{of}: {metric_name(self.metric)} {found.value:.4f}, {found.interval()}"

    @property
    def undefined(self) -> str:
        """Why there is no curve, or an empty string."""
        sides = ("no row", self.ranked.n_positive), ("every row", self.ranked.n_negative)
        return "; ".join(f"{rows} is of class {shown(self.positive)}" for rows, weight in sides if not weight > 0)

    def _without_overlap(self, area: float, level: float) -> Interval:
        """The interval of an AUC of 0 or 1; clusters are no more independent draws than there are."""
        most = math.inf if self.clustered is None else self.clustered.degrees + 1
        return newcombe_interval(area, min(self.ranked.n_positive, most), min(self.ranked.n_negative, most), level)

    def _interval(self, value: float, variance: float, level: float, method: str, scale: Any) -> Interval:
        """The interval by the variance of independent rows, or by that of clusters where there are any."""
        if self.undefined:
            return no_interval(level, self.undefined)
        if self.clustered is None:
            if not min(self.ranked.n_positive, self.ranked.n_negative) > 1:
                return no_interval(level, "one side has only one row, or weights that sum to no more than one")
            return normal_interval(value, variance, level, f"{method}, {scale} scale", scale=scale)
        method = f"{method}, {scale} scale{self.clustered.words}"
        return normal_interval(value, variance, level, method, self.clustered.degrees, scale)


@dataclass(frozen=True, eq=False, repr=False)
class Roc(ScoreCurve):
    """The ROC curve: for every threshold the shares of positive and of negative rows that reach it.

    Made by `roc`. A row is called positive where its score is at least the threshold.

    Attributes
    ----------
    thresholds : array
        Infinity, then the distinct scores from the largest down.
    tpr, fpr : arrays
        The share of positive and of negative rows at or above each threshold.
    ranked : RankedScores
        Each distinct score with the weight of its positive and negative rows.
    positive : label
        The class that high scores stand for.
    clustered : JointVariance or None
        Variances of rows that are not independent.
    auc : float
        The area under the curve; NaN without positive or negative rows.

    See Also
    --------
    roc : Makes it.
    """

    kind = "ROC"
    metric = "auc"

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

    def auc_interval(self, level: float = 0.95, scale: Literal["score", "logit", "linear"] = "score") -> Interval:
        """A confidence interval of the AUC by DeLong's variance.

        Parameters
        ----------
        level : float, default=0.95
            Its confidence.
        scale : {"score", "logit", "linear"}, default="score"
            "score": the variance belongs to the AUC that is looked for and is shrunk to Newcombe's, which depends on
            the AUC alone, where few rows are misordered; Student's t with few rows of a class. Rows in clusters have
            the interval of the logit scale. Where positive and negative scores do not overlap DeLong's variance is 0,
            and Newcombe's score interval is given on every scale.

        Returns
        -------
        Interval
            Of the area under the curve.

        References
        ----------
        DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
        receiver operating characteristic curves. Biometrics 44. Newcombe, R. G. (2006). Confidence intervals for an
        effect size measure based on the Mann-Whitney statistic. Part 2. Statistics in Medicine 25.
        """
        check_level(level)
        check_choice("scale", scale, ("score", "logit", "linear"))
        if self.auc in (0.0, 1.0) and not self.undefined:
            return self._without_overlap(self.auc, level)
        sides = self.ranked.n_positive, self.ranked.n_negative
        if scale != "score" or self.clustered is not None or not min(sides) > 1:
            return self._interval(self.auc, self.auc_variance, level, "DeLong", "logit" if scale == "score" else scale)
        ratio, degrees, _ = auc_score_variance(self.ranked)
        return newcombe_interval(self.auc, *sides, level, ratio, degrees, "DeLong, score interval")

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
        standardised : bool, default=False
            McClish's form: 0.5 for scores that tell nothing, 1 for perfect ones.

        Returns
        -------
        float
            NaN without positive or negative rows.

        References
        ----------
        McClish, D. K. (1989). Analyzing a portion of the ROC curve. Medical Decision Making 9.
        """
        if (max_fpr is None) == (fpr_range is None):
            raise ParameterError("partial_auc needs max_fpr or fpr_range, one of them.")
        low, high = fpr_range if fpr_range is not None else (0.0, max_fpr or 0.0)
        check_number("the lower end of fpr_range", low, 0, 1)
        check_number("max_fpr" if fpr_range is None else "the upper end of fpr_range", high, low, 1, open_below=True)
        if self.undefined:
            return math.nan
        # Each straight piece of the curve, cut off at both ends: its width times the height at its middle.
        start, stop = np.clip(self.fpr[:-1], low, high), np.clip(self.fpr[1:], low, high)
        width, rise = np.diff(self.fpr), np.diff(self.tpr)
        slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
        area = float((stop - start) @ (self.tpr[:-1] + slope * ((start + stop) / 2 - self.fpr[:-1])))
        if not standardised:
            return area
        least, most = (high**2 - low**2) / 2, high - low
        return 0.5 * (1 + (area - least) / (most - least))

    def best_threshold(
        self, cost_fp: float = 1.0, cost_fn: float = 1.0, prior: float | None = None, costs: Any = None,
        level: float = 0.95, random_state: Any = 0,
    ) -> BestThreshold:  # fmt: skip
        """The threshold with the lowest expected cost on these rows, with a bootstrap interval.

        Parameters
        ----------
        cost_fp, cost_fn : float, default=1.0
            Costs of calling a negative row positive and of missing a positive one.
        prior : float, optional
            The share of positive rows where the threshold will be used. Default: that of these rows.
        costs : array-like of shape (2, 2), dict or frame, optional
            Instead of the two: rows the truth, columns the decision, negative first, or both by name as for `Decision`.
        level : float, default=0.95
            Of the interval of the threshold.
        random_state : int or Generator, default=0
            Of the bootstrap.

        Returns
        -------
        BestThreshold
            The rates, the cost, and the interval.
        """
        table, ranked = threshold_costs(cost_fp, cost_fn, costs, self.positive), self.ranked
        check_level(level)
        if prior is not None:
            check_number("prior", prior, 0, 1)
        expected = expected_costs(ranked.positive, ranked.negative, table, prior)
        if np.isnan(expected).all():
            one_sided = no_interval(level, "there are only positive or only negative rows")
            return BestThreshold(math.nan, math.nan, math.nan, math.nan, one_sided)
        best = int(np.argmin(expected))
        tpr, fpr = float(self.tpr[best]), float(self.fpr[best])
        interval = self._threshold_interval(table, prior, level, random_state)
        return BestThreshold(float(self.thresholds[best]), float(expected[best]), tpr, fpr, interval)

    def _threshold_interval(self, costs: Array, prior: float | None, level: float, random_state: Any) -> Interval:
        """The percentile bootstrap interval.

        The minimum of a step function is not smooth in the rows, so the bootstrap is only approximate here: in
        simulations its 95 % intervals covered in 97 to 98 % of the cases.
        """
        starts, values = _cell_starts(self.ranked), self.ranked.values
        cutoffs = np.append(np.inf, values[np.append(starts[1:], len(values)) - 1])
        rng, found = np.random.default_rng(random_state), np.empty(_RESAMPLES)
        rows = None if self.clustered is None else self.clustered.rows
        draw = _row_draws(self.ranked, starts, rng) if rows is None else _cluster_draws(*rows, starts, rng)
        for r in range(_RESAMPLES):
            positive, negative = draw().reshape(2, -1)
            expected = expected_costs(positive, negative, costs, prior)
            found[r] = np.nan if np.isnan(expected).any() else cutoffs[np.argmin(expected)]
        kept = found[~np.isnan(found)]
        if kept.size < 0.9 * _RESAMPLES:
            return no_interval(level, "too many resamples have only positive or only negative rows")
        low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
        of_what = "" if rows is None else f" of {rows[0].n_clusters:,} clusters"
        return Interval(float(low), float(high), level, f"percentile bootstrap{of_what}, {_RESAMPLES:,} resamples")

    @property
    def precision_recall(self) -> PrecisionRecall:
        """The precision-recall curve of the same scores."""
        return PrecisionRecall(self.ranked, self.positive, self.clustered)

    def _columns(self) -> dict[str, Array]:
        return {"threshold": self.thresholds, "fpr": self.fpr, "tpr": self.tpr}


@dataclass(frozen=True, eq=False, repr=False)
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

    See Also
    --------
    precision_recall : Makes it.
    """

    kind = "precision-recall"
    metric = "average_precision"

    @cached_property
    def thresholds(self) -> Array:
        return self.ranked.values[::-1]

    @cached_property
    def precision(self) -> Array:
        return np.append(self.ranked.precision[::-1], 1.0)

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
        ranked = self.ranked
        of_negative, of_positive = average_precision_influence(ranked, ranked.n_positive + ranked.n_negative)
        return float(ranked.positive @ np.square(of_positive) + ranked.negative @ np.square(of_negative))

    def average_precision_interval(self, level: float = 0.95, scale: Literal["logit", "linear"] = "logit") -> Interval:
        """A confidence interval of the average precision (infinitesimal jackknife, Student's t).

        There is none with fewer than `MIN_PRECISION_ROWS` positive rows. Where few rows are misordered the variance is
        increased by as much as that of the AUC.
        Where all positive rows score above all negative ones it reaches down to the average precision that goes with
        the lower limit of the AUC, for normal scores of equal variance.

        Parameters
        ----------
        level : float, default=0.95
            How often such intervals hold the true value.
        scale : {"logit", "linear"}, default="logit"
            The first stays within 0 and 1.

        Returns
        -------
        Interval
            Of the mean precision.
        """
        if not self.undefined and auc(self.ranked) == 1:
            lowest, total = (
                self._without_overlap(1.0, check_level(level)),
                self.ranked.n_positive + self.ranked.n_negative,
            )
            return replace(lowest, low=binormal_precision(lowest.low, self.ranked.n_positive / total))
        value, variance, name = self.average_precision, math.nan, "infinitesimal jackknife"
        if self.undefined or self.clustered is not None:
            variance = variance if self.undefined else self.average_precision_variance
            return self._interval(value, variance, check_level(level), name, scale)
        rows = self.ranked.n_positive
        if rows < MIN_PRECISION_ROWS:
            reason = f"{rows:g} positive rows, of which at least {MIN_PRECISION_ROWS} are needed: use the AUC"
            return no_interval(check_level(level), reason)
        variance = self.average_precision_variance * max(auc_score_variance(self.ranked)[2], 1.0)
        return normal_interval(value, variance, check_level(level), f"{name}, {scale} scale", rows - 1, scale)

    def _columns(self) -> dict[str, Array]:
        thresholds = np.append(self.thresholds, np.inf)
        return {"threshold": thresholds, "precision": self.precision, "recall": self.recall}


def binary_roc(is_positive: Array, scores: Array, design: SamplingDesign, positive: Any = None) -> Roc:
    """The ROC curve of checked rows."""
    if design.clusters is None:
        return Roc(rank(is_positive, scores, design.weight), positive)
    return _roc_by_rows(is_positive, scores, design, positive)[0]


def _roc_by_rows(
    is_positive: Array, scores: Array, design: SamplingDesign, positive: Any = None
) -> tuple[Roc, tuple[Array, Array]]:
    """The curve, and the influence of each row on its AUC and its average precision."""
    ranked, place = rank_rows(is_positive, scores, design.weight)
    influences = row_influences(ranked, is_positive, place, design)
    if design.clusters is None:
        return Roc(ranked, positive), influences
    of_auc, of_precision = (design.variance(values) for values in influences)
    joint = JointVariance(of_auc, of_precision, design.words, design.degrees, (design, is_positive, place))
    return Roc(ranked, positive, joint), influences


def _shares(counts: Array) -> Array:
    """Running counts, from 0, as shares of the last one."""
    total = counts[-1]
    return np.append(0.0, counts / total if total > 0 else np.full(len(counts), np.nan))


Curve = TypeVar("Curve", Roc, PrecisionRecall)


#: Classes that are worked on side by side: each needs a few columns of memory.
_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with the code of their class and a score for each class."""

    codes: Array
    scores: Array
    design: SamplingDesign

    def against_rest(self, k: int, label: Any) -> tuple[Roc, tuple[Array, Array]]:
        """The curve of one class, and the influence of each row on its AUC and its average precision."""
        return _roc_by_rows(self.codes == k, np.ascontiguousarray(self.scores[:, k]), self.design, label)

    def pooled(self) -> Roc:
        """The curve of all pairs of row and class; the pairs of a row vary together."""
        n, K = self.scores.shape
        is_positive = (self.codes[:, None] == np.arange(K)).ravel()
        weight = None if self.design.weight is None else np.repeat(self.design.weight, K)
        ranked, place = rank_rows(is_positive, self.scores.ravel(), weight)
        of_pairs = row_influences(ranked, is_positive, place, SamplingDesign(n * K, weight))
        of_auc, of_precision = (self.design.variance(values.reshape(n, K).sum(axis=1)) for values in of_pairs)
        words = self.design.words or ", the pairs of a row together"
        return Roc(ranked, None, JointVariance(of_auc, of_precision, words, self.design.degrees))


@dataclass(frozen=True)
class MacroAverage:
    """A measure averaged over classes, with its variance and what is to be said of that."""

    value: float
    variance: float
    undefined: str = ""
    words: str = ""
    degrees: float = math.inf

    def interval(self, level: float, method: str) -> Interval:
        if self.undefined:
            return no_interval(level, self.undefined)
        method = f"{method}, logit scale{self.words}"
        return normal_interval(self.value, self.variance, level, method, self.degrees, "logit")


@dataclass(frozen=True, eq=False, repr=False)
class ClassCurves(Result, Mapping[Any, Curve], Generic[Curve]):
    """A curve for each class, found by its label."""

    curves: dict[Any, Curve]
    average: MacroAverage
    rows: ScoredRows | None = None

    kind: ClassVar[str]
    metric: ClassVar[str]

    def __getitem__(self, label: Any) -> Curve:
        if plain(label) not in self.curves:
            raise LabelError(f"{shown(label)} is not among the classes {list(self.curves)}.")
        return self.curves[plain(label)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def estimates(self, level: float = 0.95) -> list[Estimate]:
        """The mean area under the curves as an estimate, then that of each class.

        Parameters
        ----------
        level : float, default=0.95
            Of their intervals.

        Returns
        -------
        list of Estimate
            The mean has the name "macro".
        """
        interval = getattr(self, f"{self.metric}_interval")(level)
        mean = Estimate.by_interval(self.metric, "macro", self.average.value, interval, self.average.undefined)
        return [mean, *(found for curve in self.values() for found in curve.estimates(level))]

    def _mean_of_limits(self, level: float) -> Interval:
        """The interval of a mean of classes of which none overlaps with the rest."""
        ends = [tuple(getattr(curve, f"{self.metric}_interval")(level)) for curve in self.values()]
        low, high = np.mean(ends, axis=0)
        return Interval(float(low), float(high), level, "mean of the classes' Newcombe intervals")

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.estimates(), ("metric", "of", "value", "low", "high", "method"))

    def to_dict(self) -> dict[str, Any]:
        """The mean with its interval, and the curve of each class, as plain values for JSON.

        Returns
        -------
        dict
            Curves by label.
        """
        mean = self.estimates()[0]
        found = {self.metric: mean.value, "low": mean.low, "high": mean.high, "curves": self.curves}
        return {name: jsonable(value) for name, value in found.items()}

    def __str__(self) -> str:
        mean = self.estimates()[0]
        head = f"{self.kind} curves of {len(self)} classes: mean {metric_name(self.metric)} {mean.value:.4f}"
        return "\n".join([f"{head}, {mean.interval()}", *(f"  {curve}" for curve in self.values())])

    def _pooled(self) -> Roc:
        if self.rows is None:
            raise ParameterError("The micro average pools rows of all classes, which a stream does not keep.")
        return self.rows.pooled()


class Rocs(ClassCurves[Roc]):
    """The ROC curve of each class against the rest; ``auc`` is the macro average, ``micro`` pools all classes.

    See Also
    --------
    roc : Makes them.
    """

    kind, metric = Roc.kind, Roc.metric

    @property
    def auc(self) -> float:
        """The mean AUC of the classes; NaN if one is undefined."""
        return self.average.value

    def auc_interval(self, level: float = 0.95) -> Interval:
        """A confidence interval of the mean AUC: DeLong's, the covariances between classes included.

        Where no class overlaps with the rest it is the mean of the classes' intervals: the true mean can lie beyond it
        only if that of some class lies beyond its own.

        Parameters
        ----------
        level : float, default=0.95
            Of confidence.

        Returns
        -------
        Interval
            Of the macro average.
        """
        check_level(level)
        if self.auc in (0.0, 1.0):
            return self._mean_of_limits(level)
        return self.average.interval(level, "DeLong")

    @cached_property
    def micro(self) -> Roc:
        """The curve of all pairs of row and class: does a row's own class score above the others, anywhere?"""
        return self._pooled()


class PrecisionRecalls(ClassCurves[PrecisionRecall]):
    """The precision-recall curve of each class against the rest; ``average_precision`` is the mean over classes.

    See Also
    --------
    precision_recall : Makes them.
    """

    kind, metric = PrecisionRecall.kind, PrecisionRecall.metric

    @property
    def average_precision(self) -> float:
        """The mean average precision of the classes; NaN if one is undefined."""
        return self.average.value

    def average_precision_interval(self, level: float = 0.95) -> Interval:
        """A confidence interval of the mean average precision.

        Parameters
        ----------
        level : float, default=0.95
            How sure it has to be.

        Returns
        -------
        Interval
            On the logit scale, so within 0 and 1.
        """
        if all(curve.undefined == "" and auc(curve.ranked) == 1 for curve in self.values()):
            return self._mean_of_limits(check_level(level))
        return self.average.interval(check_level(level), "infinitesimal jackknife")

    @cached_property
    def micro(self) -> PrecisionRecall:
        """The curve of all pairs of row and class."""
        return self._pooled().precision_recall


def roc(
    y: Any, score: Any, positive: Any = None, sample_weight: Any = None, groups: Any = None, classes: Any = None
) -> Roc | Rocs:
    """The ROC curve of scores, or one for each class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score : array-like of shape (n_rows,) or (n_rows, K)
        Any numbers that are larger where the positive class is likelier; for more than two classes a column for each,
        in sorted order of the labels.
    positive : label, optional
        The positive class; of more than two it stands against the rest. With a single score it is the class that large
        scores stand for, by default the second of two. With a score for each class the default is the rarer of two
        (the second, if both are equally frequent), and of more a curve for each class.
    sample_weight : array-like of shape (n_rows,), optional
        Frequencies: weight 3 means three rows.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent: intervals are then those between groups.
    classes : array-like, optional
        What the columns of ``score`` stand for, if not the sorted labels of ``y``.

    Returns
    -------
    Roc or Rocs
        The latter for a score for each of three or more classes, of which none is named.

    See Also
    --------
    precision_recall : Where positive rows are rare.
    compare_auc : Whether one score is better than another.

    References
    ----------
    DeLong, E. R., DeLong, D. M. & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
    receiver operating characteristic curves. Biometrics 44.

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.auc
    0.75
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    found = _curves(y, score, positive, sample_weight, groups, classes)
    return found if isinstance(found, Roc) else found[0]


def precision_recall(
    y: Any, score: Any, positive: Any = None, sample_weight: Any = None, groups: Any = None, classes: Any = None
) -> PrecisionRecall | PrecisionRecalls:
    """The precision-recall curve of scores, or one for each class.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score : array-like of shape (n_rows,) or (n_rows, K)
        Larger where the positive class is likelier; a column for each of more than two classes.
    positive : label, optional
        Which class is to be found, as for `roc`.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    groups : array-like of shape (n_rows,), optional
        Which rows were drawn together.
    classes : array-like, optional
        Names of the columns of ``score``.

    Returns
    -------
    PrecisionRecall or PrecisionRecalls
        The latter for a score for each of three or more classes, of which none is named.

    See Also
    --------
    roc : The rates of both kinds of errors instead.

    References
    ----------
    Davis, J. & Goadrich, M. (2006). The relationship between precision-recall and ROC curves. ICML.

    Examples
    --------
    >>> curve = precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(curve.average_precision, 4)
    0.8333
    """
    found = _curves(y, score, positive, sample_weight, groups, classes)
    return found.precision_recall if isinstance(found, Roc) else found[1]


def _curves(
    y: Any, score: Any, positive: Any, sample_weight: Any, groups: Any, classes: Any
) -> Roc | tuple[Rocs, PrecisionRecalls]:
    labels = label_column("y", y)
    names = label_array(ordered(encoded(labels)[0]) if classes is None else list(classes))
    scores = class_scores("score", score, names)
    same_length(y=labels, score=scores)
    design = SamplingDesign.read(sample_weight, groups, len(labels))
    codes = codes_among("y", labels, names)
    if scores.ndim == 1:
        k: int | None = _code_of_large_scores(positive, names)
    else:
        k = positive_code(positive, names, np.bincount(codes, design.weight, len(names)))
    if k is None:
        return class_curves(ScoredRows(codes, scores, design), names)
    column = scores if scores.ndim == 1 else np.ascontiguousarray(scores[:, k])
    return binary_roc(codes == k, column, design, plain(names[k]))


def class_curves(rows: ScoredRows, classes: Array) -> tuple[Rocs, PrecisionRecalls]:
    """Both curves of each class against the rest, with the mean AUC and the mean average precision."""
    labels = [plain(label) for label in classes]
    rocs: dict[Any, Roc] = {}
    influence = np.zeros((2, len(rows.codes)))
    for start in range(0, len(labels), _AT_ONCE):
        chosen = list(range(start, min(start + _AT_ONCE, len(labels))))
        for curve, of_rows in side_by_side(lambda k: rows.against_rest(k, labels[k]), chosen):
            rocs[curve.positive] = curve
            influence += np.stack(of_rows) / len(labels)
    variances = [rows.design.variance(values) for values in influence]
    return macro_curves(rocs, variances, rows.design.words, rows)


def macro_curves(
    rocs: dict[Any, Roc], variances: Sequence[float], words: str, rows: ScoredRows | None = None
) -> tuple[Rocs, PrecisionRecalls]:
    """Both curves of each class; ``variances`` are those of the mean AUC and of the mean average precision."""
    precisions = {label: curve.precision_recall for label, curve in rocs.items()}
    undefined = "; ".join(filter(None, (curve.undefined for curve in rocs.values())))
    means = [curve.auc for curve in rocs.values()], [curve.average_precision for curve in precisions.values()]
    degrees = math.inf if rows is None else rows.design.degrees
    of_auc, of_precision = (
        MacroAverage(float(np.mean(values)), variance, undefined, words, degrees)
        for values, variance in zip(means, variances, strict=True)
    )
    return Rocs(rocs, of_auc, rows), PrecisionRecalls(precisions, of_precision, rows)


@dataclass(frozen=True, repr=False)
class AucComparison(Result):
    """Two AUCs of the same rows and their difference, first minus second.

    See Also
    --------
    compare_auc : Makes it.
    """

    auc_a: float
    auc_b: float
    difference: float
    standard_error: float
    interval: Interval
    z: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"AUC {self.auc_a:.4f} against {self.auc_b:.4f}: difference {self.difference:.4f} ({self.interval}), "
            f"z = {self.z:.3f}, {p_value(self.p_value, name='p')}"
        )


def compare_auc(
    y: Any, score_a: Any, score_b: Any, positive: Any = None, sample_weight: Any = None, groups: Any = None,
    level: float = 0.95,
) -> AucComparison:  # fmt: skip
    """The difference of the AUCs of two scores of the same rows, with DeLong's interval and test.

    The test is of equal AUCs, two-sided; it takes into account that both scores saw the same rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score_a, score_b : array-like of shape (n_rows,)
        The two scores.
    positive : label, optional
        The class that large scores stand for; of two the second by default.
    sample_weight : array-like of shape (n_rows,), optional
        How many equal rows each one stands for.
    groups : array-like of shape (n_rows,), optional
        The cluster of each row; variances are then those between clusters.
    level : float, default=0.95
        Of the interval of the difference.

    Returns
    -------
    AucComparison
        Both AUCs, their difference with its interval, and the test.

    See Also
    --------
    roc : The curve of one score.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), see `roc`.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [3, 1, 6, 2, 4, 8, 5, 7])
    >>> found.auc_a, found.auc_b, round(found.p_value, 3)
    (0.9375, 0.875, 0.712)
    """
    check_level(level)
    labels = label_column("y", y)
    a, b = score_column("score_a", score_a), score_column("score_b", score_b)
    same_length(y=labels, score_a=a, score_b=b)
    design = SamplingDesign.read(sample_weight, groups, len(labels))
    names = label_array(ordered(encoded(labels)[0]))
    is_positive = codes_among("y", labels, names) == _code_of_large_scores(positive, names)
    (roc_a, of_a), (roc_b, of_b) = (_roc_by_rows(is_positive, s, design) for s in (a, b))
    difference, variance = roc_a.auc - roc_b.auc, design.variance(of_a[0] - of_b[0])
    method = f"DeLong, correlated{design.words}"
    interval = normal_interval(difference, variance, level, method, design.degrees)
    error = math.sqrt(variance) if variance >= 0 else math.nan
    # Scores in the same order cannot differ; any other difference without spread is not tested.
    z, p = (0.0, 1.0) if difference == 0 else (math.nan, math.nan)
    if error > 0:
        z = difference / error
        # The test has the degrees of freedom of the interval, so that the two cannot contradict each other.
        p = float(2 * stdtr(design.degrees, -abs(z)))
    return AucComparison(roc_a.auc, roc_b.auc, difference, error, interval, z, p)
