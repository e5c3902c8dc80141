"""Every measure that is a function of a table of counts, with its confidence interval.

A table has a row for each true class and a column for each class that can be predicted, in the same order; further
columns are actions that are no class ("abstain"). All measures need only its diagonal and its margins (`Margins`).
Arrays may have leading axes, so that the formula of the estimate is also that of its bootstrap. A measure whose
denominator is 0 is NaN.

Intervals: Wilson's for proportions, the BCa bootstrap of the table (Efron 1987) for other measures. Rows in clusters:
the variance between clusters of the linearised measure (Taylor linearisation), for proportions as a number of
independent rows worth as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from ..data.parameters import check_integer, check_number
from ..errors import LabelError, ParameterError
from ..results import shown
from .intervals import Interval, Scale, bca_interval, no_interval, normal_interval, wilson_interval

Array = np.ndarray[Any, Any]
Average = Literal["macro", "micro", "weighted"]
Undefined = Literal["nan", "skip"]

AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted")
#: Cells of tables that are worked on at once.
_MOST_CELLS = 4_000_000
#: Share of a count that it is moved by to see how a measure responds.
_STEP = 1e-4


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


@dataclass(frozen=True)
class Rate:
    """A ratio of counts of each class, and the words for a denominator of 0."""

    part: dict[str, float]
    base: dict[str, float]
    undefined: str

    def of(self, counts: Margins) -> Array:
        return ratio(self.part_of(counts), self.base_of(counts))

    def part_of(self, counts: Margins) -> Array:
        return counts.combined(self.part)

    def base_of(self, counts: Margins) -> Array:
        return counts.combined(self.base)


_ABSENT, _ALONE = "no row is of class {label}", "every row is of class {label}"
_NEITHER = "no row is of class {label} or was predicted so"

RATES = {
    "recall": Rate({"tp": 1}, {"truth": 1}, _ABSENT),
    "precision": Rate({"tp": 1}, {"predicted": 1}, "no row was predicted {label}"),
    "specificity": Rate({"negative": 1, "predicted": -1, "tp": 1}, {"negative": 1}, _ALONE),
    "fnr": Rate({"truth": 1, "tp": -1}, {"truth": 1}, _ABSENT),
    "fpr": Rate({"predicted": 1, "tp": -1}, {"negative": 1}, _ALONE),
    "npv": Rate(
        {"predicted_negative": 1, "truth": -1, "tp": 1}, {"predicted_negative": 1}, "every row was predicted {label}"
    ),
    "jaccard": Rate({"tp": 1}, {"truth": 1, "predicted": 1, "tp": -1}, _NEITHER),
}


def f_rate(m: float = 1.0) -> Rate:
    """F_m = (m + 1) P R / (R + m P), written in counts; m is beta squared in the other convention."""
    check_number("m", m, 0)
    return Rate({"tp": 1 + m}, {"truth": m, "predicted": 1}, _NEITHER if m > 0 else RATES["precision"].undefined)


def named_rate(metric: str, m: float = 1.0) -> Rate:
    """The rate of this name; "f" takes ``m``, "f1" is "f" with m = 1."""
    if metric in ("f", "f1"):
        return f_rate(m if metric == "f" else 1.0)
    if metric not in RATES:
        raise ParameterError(f"Unknown measure {metric!r}. Rates: 'f', 'f1', {_quoted(RATES)}; {_quoted(OVERALL)}.")
    return RATES[metric]


def averaged(counts: Margins, rate: Rate, how: Average, undefined: Undefined = "nan") -> Array:
    """The rate averaged over classes.

    "macro": every class counts the same; "weighted": by its rows; "micro": counts are added before dividing. A class
    for which the rate is undefined makes macro and weighted averages NaN; "skip" leaves it out.
    """
    if undefined not in ("nan", "skip"):
        raise ParameterError(f"undefined must be 'nan' or 'skip', got {undefined!r}.")
    if how == "micro":
        return ratio(rate.part_of(counts).sum(axis=-1), rate.base_of(counts).sum(axis=-1))
    if how not in ("macro", "weighted"):
        raise ParameterError(f"The average must be 'macro', 'micro' or 'weighted', got {how!r}.")
    values = rate.of(counts)
    weight = np.ones(values.shape) if how == "macro" else counts.truth
    counted = (weight > 0) & ~np.isnan(values) if undefined == "skip" else weight > 0
    weight = np.where(counted, weight, 0.0)
    return ratio((weight * np.where(counted, values, 0.0)).sum(axis=-1), weight.sum(axis=-1))


@dataclass(frozen=True)
class Overall:
    """A measure of the whole table.

    A proportion of rows has ``base``, the rows it is a proportion of; another measure a scale without bounds.
    """

    of: Statistic
    base: Statistic | None = None
    scale: Scale = "logit"
    undefined: str = "truth or prediction is the same for every row"


def _all_rows(counts: Margins) -> Array:
    return counts.total


def _covered_rows(counts: Margins) -> Array:
    return counts.predicted.sum(axis=-1)


def _coverage(counts: Margins) -> Array:
    return ratio(_covered_rows(counts), counts.columns.sum(axis=-1))


def _average(metric: str, how: str) -> Statistic:
    rate = named_rate(metric)
    return lambda counts: averaged(counts, rate, cast(Average, how))


def _kappa(counts: Margins) -> Array:
    """Agreement beyond that of independent labels with the same margins (Cohen 1960)."""
    return ratio(_beyond_chance(counts), (counts.truth * counts.predicted_negative).sum(axis=-1))


def _mcc(counts: Margins) -> Array:
    """The correlation of truth and prediction (Matthews 1975), for any number of classes (Gorodkin 2004)."""
    of_truth = (counts.truth * counts.negative).sum(axis=-1)
    of_prediction = (counts.columns * (counts.columns.sum(axis=-1, keepdims=True) - counts.columns)).sum(axis=-1)
    return ratio(_beyond_chance(counts), np.sqrt(of_truth) * np.sqrt(of_prediction))


def _beyond_chance(counts: Margins) -> Array:
    return counts.total * counts.tp.sum(axis=-1) - (counts.truth * counts.predicted).sum(axis=-1)


OVERALL = {
    "accuracy": Overall(_average("recall", "micro"), _all_rows),
    "error_rate": Overall(_average("fnr", "micro"), _all_rows),
    "coverage": Overall(_coverage, _all_rows),
    "selective_accuracy": Overall(_average("precision", "micro"), _covered_rows, undefined="no row was given a class"),
    "balanced_accuracy": Overall(_average("recall", "macro")),
    "kappa": Overall(_kappa, scale="fisher"),
    "mcc": Overall(_mcc, scale="fisher"),
}


def overall_measure(metric: str) -> Overall:
    """The measure of the whole table of this name."""
    if metric not in OVERALL:
        raise ParameterError(f"Unknown measure {metric!r}. Measures: {_quoted(OVERALL)}.")
    return OVERALL[metric]


def ratio(part: Array, base: Array) -> Array:
    """``part / base``, NaN where the base is 0."""
    part, base = np.asarray(part, dtype=np.float64), np.asarray(base, dtype=np.float64)
    return np.divide(part, base, out=np.full(np.broadcast(part, base).shape, np.nan), where=base != 0)


def _quoted(names: Any) -> str:
    return ", ".join(map(repr, names))


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
        sizes = self.by_cluster @ _cell_response(base, self.counts)
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

        Independent rows: BCa bootstrap, the table drawn again from a multinomial distribution. Clusters: linearised
        variance between clusters, on the scale.
        """
        check_integer("n_resamples", n_resamples, 1)
        values = statistic(self.margins)
        if self.by_cluster is not None:
            return self._linearised(values, statistic, scales, level)
        if self.counts.sum() < 2:
            return [no_interval(level, "the rows' weights sum to less than two") for _ in values]
        acceleration = _acceleration(_cell_response(statistic, self.counts), self.counts.ravel())
        resampled = self._resampled(statistic, np.random.default_rng(random_state), n_resamples)
        method = f"BCa bootstrap of the table, {n_resamples:,} resamples"
        return [
            bca_interval(float(value), column, float(a), level, method)
            for value, column, a in zip(values, resampled.T, acceleration, strict=True)
        ]

    def _linearised(self, values: Array, statistic: Statistic, scales: list[Scale], level: float) -> list[Interval]:
        count = self.by_cluster.shape[0]
        variances = self._clustered_variance(statistic)
        method = f"linearised between {count:,} clusters, Student's t"
        return [
            normal_interval(float(value), float(variance), level, method, count - 1.0, scale)
            for value, variance, scale in zip(values, variances, scales, strict=True)
        ]

    def _clustered_variance(self, statistic: Statistic) -> Array:
        sums = self.by_cluster @ _cell_response(statistic, self.counts)
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


def _cell_response(statistic: Statistic, counts: Array) -> Array:
    """How measures change with one more row in each cell, (cells, measures).

    A row of cell (i, j) adds to the margins of its row and its column, and to the diagonal if i = j.
    """
    K, A = counts.shape
    tp, truth, columns = np.split(_margin_response(statistic, margins(counts)), [K, 2 * K])
    response = truth[:, None, :] + columns[None, :, :]
    response[np.arange(K), np.arange(K)] += tp
    return response.reshape(K * A, -1)


def _margin_response(statistic: Statistic, counts: Margins) -> Array:
    """Derivatives of measures in each entry of the margins, by differences; 0 for entries that are 0."""
    vector = np.concatenate((counts.tp, counts.truth, counts.columns))
    K = len(counts.truth)
    step = _STEP * vector
    upper, lower = (
        statistic(Margins(*np.split(vector + sign * np.diag(step), [K, 2 * K], axis=1))) for sign in (1.0, -1.0)
    )
    change = (upper - lower).reshape(len(vector), -1)
    return np.divide(change, 2 * step[:, None], out=np.zeros_like(change), where=step[:, None] > 0)


def _acceleration(influence: Array, counts: Array) -> Array:
    """Efron's acceleration from the influence of each cell's rows."""
    second = counts @ influence**2
    third = counts @ influence**3
    return np.divide(third, 6 * second**1.5, out=np.zeros_like(third), where=second > 0)


def share_interval(sample: TableSample, metric: str, level: float) -> Interval:
    """The interval of a proportion of the whole table."""
    share, base = OVERALL[metric].of, cast(Statistic, OVERALL[metric].base)
    return sample.share_intervals(lambda c: share(c)[..., None], lambda c: base(c)[..., None], level)[0]


def class_intervals(sample: TableSample, metric: str, level: float) -> list[Interval]:
    """The interval of a rate of each class.

    F1 is an increasing function of the Jaccard index, ``2 J / (1 + J)``, which is a proportion: that of the rows of
    the class among the rows that are of the class or were predicted so.
    """
    if metric != "f1":
        return sample.share_intervals(RATES[metric].of, RATES[metric].base_of, level)
    jaccard = RATES["jaccard"]
    found = sample.share_intervals(jaccard.of, jaccard.base_of, level, "Wilson of the Jaccard index")
    return [interval.mapped(lambda j: 2 * j / (1 + j)) for interval in found]


def other_intervals(
    sample: TableSample, wanted: list[tuple[str, str]], level: float, random_state: Any
) -> list[Interval]:
    """The intervals of measures that are no proportions, given as ("kappa", "overall") or ("recall", "macro")."""
    functions = [_statistic(metric, of) for metric, of in wanted]
    scales: list[Scale] = [OVERALL[metric].scale if of == "overall" else "logit" for metric, of in wanted]
    found = sample.intervals(
        lambda counts: np.stack([function(counts) for function in functions], axis=-1), scales, level, random_state
    )
    return [
        (_at_the_end(sample, metric, of, level) if math.isnan(interval.low) else None) or interval
        for (metric, of), interval in zip(wanted, found, strict=True)
    ]


def _statistic(metric: str, of: str) -> Statistic:
    return OVERALL[metric].of if of == "overall" else _average(metric, of)


def _at_the_end(sample: TableSample, metric: str, of: str, level: float) -> Interval | None:
    """The interval of a measure at the end of its range, where every resample leaves it; None if it is elsewhere."""
    if metric == "balanced_accuracy":
        metric, of = "recall", "macro"
    if of in ("macro", "weighted"):
        return _mean_of_limits(sample, metric, of, level)
    return _with_most_errors(sample, _statistic(metric, of), level)


def _mean_of_limits(sample: TableSample, metric: str, how: str, level: float) -> Interval | None:
    """The interval of a mean of rates of classes that are all 0 or all 1: the mean of their limits.

    The true mean can lie beyond it only if the true rate of some class lies beyond that class's own limit, and then
    the class alone makes such a table too improbable.
    """
    values, truth = named_rate(metric).of(sample.margins), sample.margins.truth
    weight = np.ones(len(truth)) if how == "macro" else truth
    there = weight > 0
    if not there.any() or not ((values[there] == 0).all() or (values[there] == 1).all()):
        return None
    ends = np.array([tuple(interval) for interval in class_intervals(sample, metric, level)])[there]
    low, high = np.average(ends, axis=0, weights=weight[there])
    return Interval(float(low), float(high), level, "mean of the classes' Wilson limits")


def _with_most_errors(sample: TableSample, function: Statistic, level: float) -> Interval | None:
    """The interval of a measure of a table without errors: to where the most errors that Wilson's limit allows lead it.

    They are spread over the classes by their rows, and the margins of the table stay.
    """
    counts, right = sample.margins, share_interval(sample, "selective_accuracy", level)
    value = float(function(counts))
    end = 0.0 if value < 0.5 else 1.0
    if float(OVERALL["selective_accuracy"].of(counts)) != 1 or not abs(value - end) <= 1e-12:
        return None
    worst = float(function(Margins(right.low * counts.tp, counts.truth, counts.columns)))
    return Interval(min(worst, end), max(worst, end), level, f"{right.method}, of the errors")


def table_interval(
    sample: TableSample, classes: list[Any], metric: str, of: Any, level: float, random_state: Any, m: float
) -> Interval:
    """The interval of one measure; see `ConfusionMatrix.interval`."""
    if metric in OVERALL:
        if OVERALL[metric].base is not None:
            return share_interval(sample, metric, level)
        return other_intervals(sample, [(metric, "overall")], level, random_state)[0]
    rate = named_rate(metric, m)
    if metric == "f" and m == 1:
        metric = "f1"
    if of in AVERAGES and of not in classes:
        if metric != "f":
            return other_intervals(sample, [(metric, of)], level, random_state)[0]
        return sample.intervals(lambda c: averaged(c, rate, of)[..., None], ["logit"], level, random_state)[0]
    k = _place(of, classes, metric)
    if metric != "f":
        return class_intervals(sample, metric, level)[k]
    return sample.intervals(lambda c: rate.of(c)[..., [k]], ["logit"], level, random_state)[0]


def _place(of: Any, classes: list[Any], metric: str) -> int:
    if of is None:
        raise ParameterError(f"{metric} is a rate of a class: give of=, one of {classes} or of {list(AVERAGES)}.")
    if of not in classes:
        raise LabelError(f"{shown(of)} is not among the classes {classes}, nor an average {list(AVERAGES)}.")
    return classes.index(of)
