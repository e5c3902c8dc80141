"""The threshold that costs least, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from ..data.parameters import check_number
from ..errors import ParameterError
from .intervals import Interval, no_interval
from .ranked import RankedScores

Array = np.ndarray[Any, Any]

#: Resamples of the interval, and how many cells of neighbouring scores are drawn.
_RESAMPLES, _CELLS = 1_000, 2_000


@dataclass(frozen=True)
class BestThreshold:
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


def best_threshold(
    ranked: RankedScores,
    cost_fp: float,
    cost_fn: float,
    prior: float | None,
    costs: Any,
    level: float,
    random_state: Any,
) -> BestThreshold:
    """See `Roc.best_threshold`."""
    table = threshold_costs(cost_fp, cost_fn, costs)
    if prior is not None:
        check_number("prior", prior, 0, 1)
    expected = expected_costs(ranked.positive, ranked.negative, table, prior)
    if np.isnan(expected).all():
        return BestThreshold(nan, nan, nan, nan, no_interval(level, "there are only positive or only negative rows"))
    best = int(np.argmin(expected))
    tpr = ranked.positive[:best].sum() / ranked.n_positive
    fpr = ranked.negative[:best].sum() / ranked.n_negative
    interval = _interval(ranked, table, prior, level, random_state)
    return BestThreshold(float(_cutoffs(ranked.values)[best]), float(expected[best]), float(tpr), float(fpr), interval)


def threshold_costs(cost_fp: float, cost_fn: float, costs: Any) -> Array:
    if costs is None:
        check_number("cost_fp", cost_fp, 0)
        check_number("cost_fn", cost_fn, 0)
        return np.array([[0.0, cost_fp], [cost_fn, 0.0]])
    table = np.asarray(costs, dtype=np.float64)
    if table.shape != (2, 2) or not np.isfinite(table).all():
        raise ParameterError(
            "costs must be four numbers [[true negative, false positive], [false negative, true positive]], got "
            f"{costs!r}."
        )
    return table


def _cutoffs(values: Array) -> Array:
    """The thresholds that can be chosen: above all scores, then at each of them."""
    return np.append(np.inf, values)


def expected_costs(positive: Array, negative: Array, costs: Array, prior: float | None) -> Array:
    """The cost of a row at each cutoff, for one table of counts or a stack of them (cells last)."""
    m, n = positive.sum(axis=-1, keepdims=True), negative.sum(axis=-1, keepdims=True)
    share = m / (m + n) if prior is None else prior
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, fpr = _running(positive) / m, _running(negative) / n
    of_positive = costs[1, 0] + (costs[1, 1] - costs[1, 0]) * tpr
    of_negative = costs[0, 0] + (costs[0, 1] - costs[0, 0]) * fpr
    return share * of_positive + (1 - share) * of_negative


def _running(counts: Array) -> Array:
    """Counts at or above each cutoff; 0 above all scores."""
    return np.concatenate((np.zeros((*counts.shape[:-1], 1)), np.cumsum(counts, axis=-1)), axis=-1)


def _interval(ranked: RankedScores, costs: Array, prior: float | None, level: float, random_state: Any) -> Interval:
    """The percentile bootstrap interval.

    The minimum of a step function is not smooth in the rows, so the bootstrap is only approximate here: in simulations
    its 95 % intervals covered in 97 to 98 % of the cases.
    """
    starts = _cell_starts(ranked)
    cells = np.stack([np.add.reduceat(side, starts) for side in (ranked.positive, ranked.negative)])
    cutoffs = _cutoffs(ranked.values[np.append(starts[1:], len(ranked.values)) - 1])
    rng, total = np.random.default_rng(random_state), cells.sum()
    found = np.empty(_RESAMPLES)
    for r in range(_RESAMPLES):
        drawn = rng.multinomial(round(total), cells.ravel() / total).reshape(cells.shape).astype(np.float64)
        expected = expected_costs(drawn[0], drawn[1], costs, prior)
        found[r] = np.nan if np.isnan(expected).any() else cutoffs[np.argmin(expected)]
    kept = found[~np.isnan(found)]
    if kept.size < 0.9 * _RESAMPLES:
        return no_interval(level, "too many resamples have only positive or only negative rows")
    low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
    return Interval(float(low), float(high), level, f"percentile bootstrap, {_RESAMPLES:,} resamples")


def _cell_starts(ranked: RankedScores) -> Array:
    """Where cells of about equally many rows begin; every distinct score is one where there are few."""
    if len(ranked.values) <= _CELLS:
        return np.arange(len(ranked.values))
    running = np.cumsum(ranked.positive + ranked.negative)
    return np.unique(np.append(0, np.searchsorted(running, running[-1] * np.arange(1, _CELLS) / _CELLS)))
