"""The threshold of minimum expected cost, with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..arrays import Array, RandomState
from ..data import check_number, label_array
from ..decision.costs import CostsLike, read_costs
from ..errors import ParameterError
from ..results import Result, shown
from .intervals import Interval, no_interval
from .ranking import RankedScores
from .sampling import SamplingDesign

#: Number of resamples of the interval, and of cells of neighbouring scores: precision of the limits against time.
_RESAMPLES: Final = 1_000
_CELLS: Final = 2_000

#: A sampling design, its positive rows, and the place of each row's score among the ranked ones.
ClusteredRows = tuple[SamplingDesign, Array, Array]


@dataclass(frozen=True, repr=False)
class BestThreshold(Result):
    """The threshold with the minimum expected cost.

    Attributes
    ----------
    threshold : float
        Rows with at least this score are predicted positive; infinity: no row.
    cost : float
        The expected cost per row at this threshold, on the rows on which it was chosen, so it is slightly optimistic.
    tpr, fpr : float
        The rates at this threshold.
    interval : Interval
        Of the threshold.

    See Also
    --------
    ThresholdCurve.best_threshold : Finds it.
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


def threshold_costs(cost_fp: float, cost_fn: float, costs: CostsLike | None, positive: Hashable | None = None) -> Array:
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
        raise ParameterError(f"costs has the classes {found.classes}, but the curve is of class {shown(positive)}.")
    sides = sorted(found.classes, key=lambda label: label == positive)
    values, actions = found.aligned(label_array(sides))
    if set(actions) != set(sides):
        raise ParameterError(f"costs has the actions {actions}, but a threshold decides between the classes {sides}.")
    return values[:, [actions.index(label) for label in sides]]


def expected_costs(positive: Array, negative: Array, costs: Array, prior: float | None) -> Array:
    """The cost per row at each threshold: above all scores, then at each distinct score."""
    m, n = positive.sum(), negative.sum()
    share = m / (m + n) if prior is None else prior
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, fpr = (np.append(0.0, np.cumsum(counts)) / counts.sum() for counts in (positive, negative))
    of_positive = costs[1, 0] + (costs[1, 1] - costs[1, 0]) * tpr
    of_negative = costs[0, 0] + (costs[0, 1] - costs[0, 0]) * fpr
    return share * of_positive + (1 - share) * of_negative


def threshold_interval(
    ranked: RankedScores,
    rows: ClusteredRows | None,
    cost: Callable[[Array, Array], Array],
    level: float,
    seed: RandomState,
) -> Interval:
    """The percentile bootstrap range of the threshold; ``cost`` returns the cost at each threshold for counts of both
    outcomes.

    The minimum of a step function is not smooth in the rows, and the bootstrap is only approximate: in simulations 95 %
    ranges covered in 97 to 98 % of samples.
    """
    starts, values = _cell_starts(ranked), ranked.values
    cutoffs = np.append(np.inf, values[np.append(starts[1:], len(values)) - 1])
    draw, found = _resampling(ranked, rows, starts, np.random.default_rng(seed)), np.empty(_RESAMPLES)
    for r in range(_RESAMPLES):
        expected = cost(*draw().reshape(2, -1))
        found[r] = np.nan if np.isnan(expected).any() else cutoffs[np.argmin(expected)]
    kept = found[~np.isnan(found)]
    if kept.size < 0.9 * _RESAMPLES:
        return no_interval(level, "too many resamples have only positive or only negative rows")
    low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2], method="inverted_cdf")
    of_what = "" if rows is None else f" of {rows[0].n_clusters:,} clusters"
    interval = Interval(float(low), float(high), level, f"percentile bootstrap{of_what}, {_RESAMPLES:,} resamples")
    return interval.as_range("minimum of a step function")


def _resampling(
    ranked: RankedScores, rows: ClusteredRows | None, starts: Array, rng: np.random.Generator
) -> Callable[[], Array]:
    """Resamples rows or clusters with replacement; returns the counts of each cell, positive rows first."""
    if rows is None:
        cells = np.concatenate([np.add.reduceat(side, starts) for side in (ranked.positive, ranked.negative)])
        total = cells.sum()
        return lambda: rng.multinomial(round(total), cells / total).astype(np.float64)
    design, is_positive, place = rows
    cell = np.searchsorted(starts, place, side="right") - 1 + len(starts) * ~is_positive
    by_cluster, count = design.by_cluster(cell, 2 * len(starts)), design.n_clusters
    return lambda: np.asarray(rng.multinomial(count, np.full(count, 1 / count)) @ by_cluster, dtype=np.float64)


def _cell_starts(ranked: RankedScores) -> Array:
    """The starts of cells with about equal numbers of rows; with few distinct scores, each is a cell."""
    if len(ranked.values) <= _CELLS:
        return np.arange(len(ranked.values))
    running = np.cumsum(ranked.positive + ranked.negative)
    return np.unique(np.append(0, np.searchsorted(running, running[-1] * np.arange(1, _CELLS) / _CELLS)))
