"""The threshold that costs least, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.parameters import check_number
from ..decision.costs import CostTable, read_costs
from ..decision.posteriors import label_array
from ..errors import ParameterError
from ..results import shown
from .intervals import Interval, no_interval
from .ranked import RankedScores
from .sampling import Clusters

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


@dataclass(frozen=True, eq=False)
class ClusteredRows:
    """Rows drawn in clusters: the cluster of each, its side, the place of its score among all ranked, its weight."""

    clusters: Clusters
    is_positive: Array
    place: Array
    weight: Array | None

    def by_cell(self, starts: Array) -> Any:
        """What each cluster (row) adds to each cell of neighbouring scores, positive cells first, then negative."""
        cell = np.searchsorted(starts, self.place, side="right") - 1 + len(starts) * ~self.is_positive
        weights = np.ones(len(cell)) if self.weight is None else self.weight
        shape = self.clusters.count, 2 * len(starts)
        return sp.csr_matrix((weights, (self.clusters.codes, cell)), shape=shape)


def best_threshold(
    ranked: RankedScores,
    table: Array,
    prior: float | None,
    level: float,
    random_state: Any,
    clustered: ClusteredRows | None = None,
) -> BestThreshold:
    """See `Roc.best_threshold`."""
    if prior is not None:
        check_number("prior", prior, 0, 1)
    expected = expected_costs(ranked.positive, ranked.negative, table, prior)
    if np.isnan(expected).all():
        return BestThreshold(nan, nan, nan, nan, no_interval(level, "there are only positive or only negative rows"))
    best = int(np.argmin(expected))
    tpr = ranked.positive[:best].sum() / ranked.n_positive
    fpr = ranked.negative[:best].sum() / ranked.n_negative
    interval = _interval(ranked, table, prior, level, random_state, clustered)
    return BestThreshold(float(_cutoffs(ranked.values)[best]), float(expected[best]), float(tpr), float(fpr), interval)


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
    return found.values if found.classes is None else _negative_first(found, positive)


def _negative_first(found: CostTable, positive: Any) -> Array:
    """Named costs in the order of a curve whose positive class is this."""
    if positive not in (found.classes or []):
        raise ParameterError(f"costs names the classes {found.classes}, but the curve is of class {shown(positive)}.")
    sides = sorted(found.classes or [], key=lambda label: label == positive)
    values, actions = found.aligned(label_array(sides))
    if set(actions) != set(sides):
        raise ParameterError(
            f"costs has the actions {actions}: a threshold decides between the classes {sides}. Rows are true classes, "
            "columns are what is decided."
        )
    return values[:, [actions.index(label) for label in sides]]


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


def _interval(
    ranked: RankedScores,
    costs: Array,
    prior: float | None,
    level: float,
    random_state: Any,
    clustered: ClusteredRows | None,
) -> Interval:
    """The percentile bootstrap interval.

    The minimum of a step function is not smooth in the rows, so the bootstrap is only approximate here: in simulations
    its 95 % intervals covered in 97 to 98 % of the cases.
    """
    starts = _cell_starts(ranked)
    cutoffs = _cutoffs(ranked.values[np.append(starts[1:], len(ranked.values)) - 1])
    rng, found = np.random.default_rng(random_state), np.empty(_RESAMPLES)
    draw = _row_draws(ranked, starts, rng) if clustered is None else _cluster_draws(clustered, starts, rng)
    for r in range(_RESAMPLES):
        positive, negative = draw().reshape(2, -1)
        expected = expected_costs(positive, negative, costs, prior)
        found[r] = np.nan if np.isnan(expected).any() else cutoffs[np.argmin(expected)]
    kept = found[~np.isnan(found)]
    if kept.size < 0.9 * _RESAMPLES:
        return no_interval(level, "too many resamples have only positive or only negative rows")
    low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
    of_what = "" if clustered is None else f" of {clustered.clusters.words}"
    return Interval(float(low), float(high), level, f"percentile bootstrap{of_what}, {_RESAMPLES:,} resamples")


def _row_draws(ranked: RankedScores, starts: Array, rng: np.random.Generator) -> Callable[[], Array]:
    """Draws as many rows as there are; the counts of each cell, positive ones first."""
    cells = np.concatenate([np.add.reduceat(side, starts) for side in (ranked.positive, ranked.negative)])
    total = cells.sum()
    return lambda: rng.multinomial(round(total), cells / total).astype(np.float64)


def _cluster_draws(rows: ClusteredRows, starts: Array, rng: np.random.Generator) -> Callable[[], Array]:
    """Draws as many clusters as there are, each with all its rows."""
    cells, count = rows.by_cell(starts), rows.clusters.count
    return lambda: np.asarray(rng.multinomial(count, np.full(count, 1 / count)) @ cells, dtype=np.float64)


def _cell_starts(ranked: RankedScores) -> Array:
    """Where cells of about equally many rows begin; every distinct score is one where there are few."""
    if len(ranked.values) <= _CELLS:
        return np.arange(len(ranked.values))
    running = np.cumsum(ranked.positive + ranked.negative)
    return np.unique(np.append(0, np.searchsorted(running, running[-1] * np.arange(1, _CELLS) / _CELLS)))
