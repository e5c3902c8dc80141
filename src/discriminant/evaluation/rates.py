"""Every measure of a confusion matrix, as a function of the margins of the table (`Margins`).

All measures need only the diagonal and the margins. The arrays may have leading axes: the formula of the estimate is
also that of its bootstrap. A measure whose denominator is 0 is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast

import numpy as np

from ..arrays import Array, RandomState
from ..data import check_choice, check_number
from ..errors import ParameterError
from .intervals import Interval, Scale, no_interval
from .table_sample import Margins, Statistic, TableSample

Average = Literal["macro", "micro", "weighted"]
Undefined = Literal["nan", "skip"]

AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted")


@dataclass(frozen=True)
class Rate:
    """A ratio of counts of each class, and the reason for a denominator of 0."""

    part: dict[str, float]
    base: dict[str, float]
    undefined: str

    def of(self, counts: Margins) -> Array:
        return ratio(counts.combined(self.part), self.base_of(counts))

    def base_of(self, counts: Margins) -> Array:
        return counts.combined(self.base)


_ABSENT, _ALONE = "no row is of class {label}", "every row is of class {label}"


_NEITHER = "no row is of class {label} or was predicted so"


RATES = {
    "f1": Rate({"tp": 2}, {"truth": 1, "predicted": 1}, _NEITHER),
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


def named_rate(metric: str, m: float = 1.0) -> Rate:
    """The rate with this name; "f" is F_m = (m + 1) P R / (R + m P), with m = beta^2 in the other convention."""
    if metric == "f":
        check_number("m", m, 0)
        return Rate({"tp": 1 + m}, {"truth": m, "predicted": 1}, RATES["f1" if m > 0 else "precision"].undefined)
    if metric not in RATES:
        raise ParameterError(f"Unknown measure {metric!r}. Expected one of: 'f', {_quoted(RATES)}, {_quoted(OVERALL)}.")
    return RATES[metric]


def averaged(counts: Margins, rate: Rate, how: Average, undefined: Undefined = "nan") -> Array:
    """The rate averaged over classes.

    "macro": every class counts the same; "weighted": by its rows; "micro": counts are added before dividing. An
    undefined rate of a class makes macro and weighted averages NaN; "skip" excludes the class.
    """
    check_choice("undefined", undefined, ("nan", "skip"))
    check_choice("how", how, AVERAGES)
    if how == "micro":
        return ratio(counts.combined(rate.part).sum(axis=-1), rate.base_of(counts).sum(axis=-1))
    values = rate.of(counts)
    weight = np.ones(values.shape) if how == "macro" else counts.truth
    counted = (weight > 0) & ~np.isnan(values) if undefined == "skip" else weight > 0
    weight = np.where(counted, weight, 0.0)
    return ratio((weight * np.where(counted, values, 0.0)).sum(axis=-1), weight.sum(axis=-1))


@dataclass(frozen=True)
class Overall:
    """A measure of the whole table.

    A proportion of rows has ``base``, its denominator in `Margins`; another measure has a transformation to an
    unbounded scale.
    """

    of: Statistic
    base: Literal["total", "covered"] | None = None
    scale: Scale = "logit"
    undefined: str = "truth or prediction is the same for every row"


def _average(metric: str, how: str) -> Statistic:
    rate = named_rate(metric)
    return lambda counts: averaged(counts, rate, cast(Average, how))


def _mcc(counts: Margins) -> Array:
    """The correlation of truth and prediction (Matthews 1975), for any number of classes (Gorodkin 2004)."""
    of_truth = (counts.truth * counts.negative).sum(axis=-1)
    of_prediction = (counts.columns * (counts.columns.sum(axis=-1, keepdims=True) - counts.columns)).sum(axis=-1)
    return ratio(_beyond_chance(counts), np.sqrt(of_truth) * np.sqrt(of_prediction))


def _beyond_chance(counts: Margins) -> Array:
    return counts.total * counts.tp.sum(axis=-1) - (counts.truth * counts.predicted).sum(axis=-1)


OVERALL = {
    "accuracy": Overall(_average("recall", "micro"), "total"),
    "error_rate": Overall(_average("fnr", "micro"), "total"),
    "coverage": Overall(lambda counts: ratio(counts.covered, counts.columns.sum(axis=-1)), "total"),
    "selective_accuracy": Overall(_average("precision", "micro"), "covered", undefined="no row was given a class"),
    "balanced_accuracy": Overall(_average("recall", "macro")),
    # Agreement beyond that of independent labels with the same margins (Cohen 1960).
    "kappa": Overall(
        lambda counts: ratio(_beyond_chance(counts), (counts.truth * counts.predicted_negative).sum(axis=-1)),
        scale="fisher",
    ),
    "mcc": Overall(_mcc, scale="fisher"),
}


#: Micro averages that are proportions of rows, by the measure of the whole table that they equal.
MICRO_SHARES: Final = {"recall": "accuracy", "fnr": "error_rate", "precision": "selective_accuracy"}


def ratio(part: Array, base: Array) -> Array:
    """``part / base``; NaN if the base is 0."""
    part, base = np.asarray(part, dtype=np.float64), np.asarray(base, dtype=np.float64)
    return np.divide(part, base, out=np.full(np.broadcast(part, base).shape, np.nan), where=base != 0)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def table_statistic(metric: str, of: str | int) -> Statistic:
    """A measure of a table, given as ("kappa", "overall"), ("recall", "macro") or, for one class, ("recall", 1)."""
    if isinstance(of, int):
        rate = named_rate(metric)
        return lambda counts: rate.of(counts)[..., of]
    return OVERALL[metric].of if of == "overall" else _average(metric, of)


#: With three classes or more and fewer rows of one, resamples show too little variation of a mean over classes: with 10
#: rows in 200 of the rarest class 79 % of intervals of the balanced accuracy covered.
MIN_CLASS_ROWS: Final = 15.0


def share_interval(sample: TableSample, metric: str, level: float) -> Interval:
    """The interval of a proportion of the whole table."""
    share, base = OVERALL[metric].of, cast(str, OVERALL[metric].base)
    return sample.share_intervals(lambda c: share(c)[..., None], lambda c: getattr(c, base)[..., None], level)[0]


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
    sample: TableSample, wanted: list[tuple[str, str]], level: float, random_state: RandomState
) -> list[Interval]:
    """The intervals of measures that are no proportions, given as ("kappa", "overall") or ("recall", "macro")."""
    functions = [table_statistic(metric, of) for metric, of in wanted]
    shares = {
        i: MICRO_SHARES[metric] for i, (metric, of) in enumerate(wanted) if of == "micro" and metric in MICRO_SHARES
    }
    scales: list[Scale] = [OVERALL[metric].scale if of == "overall" else "logit" for metric, of in wanted]
    found = sample.intervals(
        lambda counts: np.stack([function(counts) for function in functions], axis=-1), scales, level, random_state
    )
    truth = sample.margins.truth
    is_too_rare = sample.by_cluster is None and len(truth) > 2 and truth.min(initial=math.inf) < MIN_CLASS_ROWS
    for i, (metric, of) in enumerate(wanted):
        if i in shares:
            found[i] = share_interval(sample, shares[i], level)
        elif math.isnan(found[i].low):
            # At the end of its range every resample leaves the measure there.
            metric, of = ("recall", "macro") if metric == "balanced_accuracy" else (metric, of)
            if of in ("macro", "weighted"):
                found[i] = _mean_of_limits(sample, metric, of, level) or found[i]
            else:
                found[i] = _with_most_errors(sample, functions[i], level) or found[i]
        elif is_too_rare and (of == "macro" or metric == "balanced_accuracy"):
            reason = f"the rarest class has {truth.min():g} rows, of which at least {MIN_CLASS_ROWS:g} are needed"
            found[i] = no_interval(level, reason)
        elif (metric, of) == ("f1", "macro") and sample.by_cluster is None and not sample.margins.predicted.all():
            found[i] = no_interval(level, "no row was assigned to one of the classes")
    return found


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

    They are distributed over the classes in proportion to their rows; the margins of the table stay.
    """
    counts, right = sample.margins, share_interval(sample, "selective_accuracy", level)
    value = float(function(counts))
    end = 0.0 if value < 0.5 else 1.0
    if float(OVERALL["selective_accuracy"].of(counts)) != 1 or not abs(value - end) <= 1e-12:
        return None
    worst = float(function(Margins(right.low * counts.tp, counts.truth, counts.columns)))
    return Interval(min(worst, end), max(worst, end), level, f"{right.method}, of the errors")
