"""Intervals of the measures of a confusion matrix, each by the method that fits it."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from ..errors import LabelError, ParameterError
from ..results import shown
from . import rates
from .intervals import Interval, Scale
from .rates import RATES, Average, Statistic, averaged, named_rate
from .sampling import TableSample

Array = np.ndarray[Any, Any]

AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted")
#: Measures of the whole table that are proportions of rows, and how many rows they are proportions of.
SHARES: dict[str, Statistic] = {
    "accuracy": lambda counts: counts.total,
    "error rate": lambda counts: counts.total,
    "coverage": lambda counts: counts.total,
    "accuracy when decided": lambda counts: counts.predicted.sum(axis=-1),
}
_SCALES: dict[str, Scale] = {"kappa": "fisher", "mcc": "fisher"}


def share_interval(sample: TableSample, metric: str, level: float) -> Interval:
    """The interval of a proportion of the whole table."""
    share, base = rates.OVERALL[metric], SHARES[metric]
    return sample.share_intervals(lambda c: share(c)[..., None], lambda c: base(c)[..., None], level)[0]


def class_intervals(sample: TableSample, metric: str, level: float) -> list[Interval]:
    """The interval of a rate of each class.

    F1 is an increasing function of the Jaccard index, ``2 J / (1 + J)``, which is a proportion: that of the rows of
    the class among the rows that are of the class or were predicted so.
    """
    if metric != "f1":
        return sample.shares(RATES[metric], level)
    return [
        found.mapped(lambda j: 2 * j / (1 + j), found.method.replace("Wilson", "Wilson of the Jaccard index"))
        for found in sample.shares(RATES["jaccard"], level)
    ]


def other_intervals(
    sample: TableSample, wanted: list[tuple[str, str]], level: float, random_state: Any
) -> list[Interval]:
    """The intervals of measures that are no proportions, given as ("kappa", "overall") or ("recall", "macro")."""
    functions = [_overall(metric) if of == "overall" else _average(metric, of) for metric, of in wanted]
    scales: list[Scale] = [_SCALES.get(metric, "logit") for metric, _ in wanted]
    found = sample.intervals(_stacked(functions), scales, level, random_state)
    return [
        (_at_the_end(sample, metric, of, level) if math.isnan(interval.low) else None) or interval
        for (metric, of), interval in zip(wanted, found, strict=True)
    ]


def _at_the_end(sample: TableSample, metric: str, of: str, level: float) -> Interval | None:
    """The interval of a measure at the end of its range, where every resample leaves it; None if it is elsewhere."""
    if metric == "balanced accuracy":
        metric, of = "recall", "macro"
    if of in ("macro", "weighted"):
        return _mean_of_limits(sample, metric, of, level)
    return _with_most_errors(sample, _overall(metric) if of == "overall" else _average(metric, of), level)


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
    counts, right = sample.margins, share_interval(sample, "accuracy when decided", level)
    value = float(function(counts))
    end = 0.0 if value < 0.5 else 1.0
    if float(rates.accuracy_when_decided(counts)) != 1 or not abs(value - end) <= 1e-12:
        return None
    worst = float(function(rates.Margins(right.low * counts.tp, counts.truth, counts.columns)))
    return Interval(min(worst, end), max(worst, end), level, f"{right.method}, of the errors")


def table_interval(
    sample: TableSample, classes: list[Any], metric: str, of: Any, level: float, random_state: Any, m: float
) -> Interval:
    """The interval of one measure; see `ConfusionMatrix.interval`."""
    if metric in SHARES:
        return share_interval(sample, metric, level)
    if metric in rates.OVERALL:
        return other_intervals(sample, [(metric, "overall")], level, random_state)[0]
    rate = named_rate(metric, m)
    if of in AVERAGES and of not in classes and (metric != "f" or m == 1):
        return other_intervals(sample, [("f1" if metric == "f" else metric, of)], level, random_state)[0]
    if of in AVERAGES and of not in classes:
        function = _stacked([lambda counts: averaged(counts, rate, cast(Average, of))])
        return sample.intervals(function, ["logit"], level, random_state)[0]
    k = _place(of, classes, metric)
    if metric == "f" and m != 1:
        return sample.intervals(lambda counts: rate.of(counts)[..., [k]], ["logit"], level, random_state)[0]
    return class_intervals(sample, "f1" if metric == "f" else metric, level)[k]


def _place(of: Any, classes: list[Any], metric: str) -> int:
    if of is None:
        raise ParameterError(f"{metric} is a rate of a class: give of=, one of {classes} or of {list(AVERAGES)}.")
    if of not in classes:
        raise LabelError(f"{shown(of)} is not among the classes {classes}, nor an average {list(AVERAGES)}.")
    return classes.index(of)


def _overall(metric: str) -> Statistic:
    return rates.OVERALL[metric]


def _average(metric: str, of: str) -> Statistic:
    rate = named_rate(metric)
    return lambda counts: averaged(counts, rate, cast(Average, of))


def _stacked(functions: list[Statistic]) -> Statistic:
    return lambda counts: np.stack([np.asarray(function(counts)) for function in functions], axis=-1)
