"""What happens at other thresholds, other costs and other shares of the classes, for the sliders and in print.

One class stands against all others. A row is called positive where its score reaches the threshold. Costs are in units
of one false alarm: a false alarm costs 1, a miss costs ``ratio``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.curves import RankedScores, Roc, Rocs, expected_costs
from ..results import percent, plain
from .page import drawing, quoted, short

if TYPE_CHECKING:
    from .table_report import Costs, ReportData

Array = np.ndarray[Any, Any]

#: Probabilities a threshold can be set to; finer at the ends, where those of rare classes lie.
_FINE = np.array([0.001, 0.002, 0.005])
PROBABILITIES = np.concatenate(([0.0], _FINE, np.arange(1, 100) / 100, 1 - _FINE[::-1], [1.0]))
_MARGIN_STEPS = 121
#: Costs of a miss in false alarms that the slider offers, and those that are printed.
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)
PRINTED_RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Hits and false alarms of one class at each threshold."""

    label: Any
    values: Array
    hits: Array
    alarms: Array
    n_positive: float
    n_negative: float

    @property
    def share(self) -> float:
        """The share of the class among the rows."""
        return self.n_positive / (self.n_positive + self.n_negative)

    @property
    def sensitivity(self) -> Array:
        return self.hits / self.n_positive

    @property
    def specificity(self) -> Array:
        return 1 - self.alarms / self.n_negative

    def costs(self, ratio: float, share: float | None = None) -> Array:
        """The cost of 100 rows at each threshold, in false alarms, where the class has this share of the rows."""
        share = self.share if share is None else share
        return 100 * (share * (1 - self.sensitivity) * ratio + (1 - share) * (1 - self.specificity))

    def best(self, ratio: float, share: float | None = None) -> int:
        """The place of the threshold of least cost; of several the highest, as `Roc.best_threshold` has it."""
        costs = self.costs(ratio, share)
        return int(np.flatnonzero(costs <= costs.min() * (1 + 1e-9) + 1e-12)[-1])

    def never(self, place: int) -> bool:
        """Whether no row reaches the threshold at this place."""
        return not self.hits[place] + self.alarms[place] > 0


def precision_at(share: float, sensitivity: float, specificity: float) -> float:
    """Of the rows called positive, the share that is of a class with this share; NaN where none is called so."""
    right = share * sensitivity
    called = right + (1 - share) * (1 - specificity)
    return right / called if called > 0 else math.nan


def thresholds_of(data: ReportData) -> list[Thresholds]:
    """The thresholds of each class that has rows on both sides; empty without scores."""
    curve = data.evaluation.roc
    if curve is None:
        return []
    curves: dict[Any, Roc] = dict(curve) if isinstance(curve, Rocs) else {plain(curve.positive): curve}
    sided = {label: one.ranked for label, one in curves.items() if not one.undefined}
    return [_at(label, ranked, _grid(data, label, ranked)) for label, ranked in sided.items()]


def _grid(data: ReportData, label: Any, ranked: RankedScores) -> Array:
    """Thresholds in even steps, and the cheapest of all for every ratio that is offered."""
    own = cost_ratio(data.costs, label)
    cheapest = _cheapest(ranked, RATIOS if own is None else (*RATIOS, own))
    if data.evaluation.calibration:
        decided = [] if own is None else [1 / (1 + own)]
        return np.unique(np.concatenate((PROBABILITIES, cheapest, decided)))
    high, low = float(ranked.values[0]), float(ranked.values[-1])
    # 0, where a margin changes sides, is among them, and so is one that no row reaches.
    beyond = high + (high - low) / _MARGIN_STEPS
    return np.unique([*np.linspace(low, high, _MARGIN_STEPS), 0.0 if low < 0 < high else low, beyond, *cheapest])


def _cheapest(ranked: RankedScores, ratios: Sequence[float]) -> list[float]:
    """The threshold of least cost for each ratio, unless that is to name no row; see `_in_short`."""
    found = []
    for ratio in ratios:
        costs = np.array([[0.0, 1.0], [ratio, 0.0]])
        place = int(np.argmin(expected_costs(ranked.positive, ranked.negative, costs, None)))
        if place:  # 0 is above all scores
            below = float(ranked.values[place]) if place < len(ranked.values) else -math.inf
            found.append(_in_short(float(ranked.values[place - 1]), below))
    return found


def _in_short(threshold: float, below: float) -> float:
    """The threshold in three digits, rounded down, if no score is passed on the way; ``below`` is the next one."""
    if threshold == 0:
        return threshold
    step = 10.0 ** (math.floor(math.log10(abs(threshold))) - 2)
    rounded = float(f"{math.floor(threshold / step) * step:.3g}")
    return rounded if below < rounded <= threshold else threshold


def _at(label: Any, ranked: RankedScores, values: Array) -> Thresholds:
    reached = np.searchsorted(-ranked.values.astype(np.float64), -values, side="right")
    hits, alarms = (np.append(0.0, counts)[reached] for counts in (ranked.true_positives, ranked.false_positives))
    return Thresholds(label, values, hits, alarms, ranked.n_positive, ranked.n_negative)


def cost_ratio(costs: Costs | None, label: Any) -> float | None:
    """What missing the class costs, in false alarms, under costs of two classes; None where that is not a ratio."""
    if costs is None or len(costs.classes) != 2 or not set(costs.classes) <= set(costs.actions):
        return None
    k = costs.classes.index(label)
    by_action = [[costs.values[i, costs.actions.index(name)] for name in costs.classes] for i in range(2)]
    miss = by_action[k][1 - k] - by_action[k][k]
    alarm = by_action[1 - k][k] - by_action[1 - k][1 - k]
    return float(miss / alarm) if miss > 0 and alarm > 0 else None


def standard_place(found: Thresholds, are_probabilities: bool, ratio: float | None = None) -> int:
    """The place of the threshold that decided: that of the costs, else one half; a margin of 0."""
    return int(np.argmin(np.abs(found.values - (1 / (1 + (ratio or 1.0)) if are_probabilities else 0.0))))


def thresholds_section(data: ReportData) -> dict[str, Any]:
    """What the section on costs and thresholds shows."""
    every = thresholds_of(data)
    table = _cost_table(data.costs)
    if not every:
        reason = "There are no scores of held-out rows, so that other thresholds cannot be tried."
        return {"every": [], "reason": reason, "cost_table": table}
    # First comes the second of two classes, else the one that is missed most often.
    recall = dict(zip(data.confusion.classes.tolist(), data.confusion.recall.tolist(), strict=True))
    first = every[0] if len(every) == 1 else min(every, key=lambda found: recall[found.label])
    ratio, are_probabilities = cost_ratio(data.costs, first.label), bool(data.evaluation.calibration)
    return {
        "every": every,
        "reason": "",
        "cost_table": table,
        "first": every.index(first),
        "label": quoted(first.label),
        "sentence": _best_sentence(data, first, ratio),
        "printed": [_printed(first, r) for r in PRINTED_RATIOS],
        "state": _state(every, first, ratio, are_probabilities),
        "drawing": drawing("plot-thresholds", _cost_figure, first, ratio, are_probabilities),
    }


def _cost_table(costs: Costs | None) -> dict[str, Any] | None:
    if costs is None:
        return None
    rows = zip(map(str, costs.classes), [[short(v) for v in row] for row in costs.values.tolist()], strict=True)
    return {"actions": [str(action) for action in costs.actions], "rows": list(rows)}


def _best_sentence(data: ReportData, found: Thresholds, ratio: float | None) -> str:
    """The threshold of least cost for the costs in force, with its interval."""
    curve = data.evaluation.roc
    roc = curve[found.label] if isinstance(curve, Rocs) else curve
    assert roc is not None
    interval = roc.best_threshold(cost_fp=1.0, cost_fn=ratio or 1.0, level=data.evaluation.level).interval
    place, miss = found.best(ratio or 1.0), f"missing a row of {quoted(found.label)} costs"
    known = f" ({100 * interval.level:g} % interval {short(interval.low)} to {short(interval.high)})"
    if ratio is None:
        given = f"If {miss} as much as a false alarm, it is"
    else:
        given = f"Under the costs given {miss} {short(ratio)} times as much as a false alarm; it is then"
    if found.never(place):
        return f"{given} cheapest on these rows never to name the class."
    return (
        f"{given} cheapest on these rows to set the threshold to {short(float(found.values[place]))}"
        f"{known if math.isfinite(interval.low) else ''}, which finds {percent(float(found.sensitivity[place]))} of "
        f"the class and takes {percent(1 - float(found.specificity[place]))} of the others for it."
    )


def _printed(found: Thresholds, ratio: float) -> dict[str, str]:
    place = found.best(ratio)
    return {
        "ratio": f"{ratio:g} : 1" if ratio >= 1 else f"1 : {1 / ratio:g}",
        "threshold": "never" if found.never(place) else short(float(found.values[place])),
        "sensitivity": percent(float(found.sensitivity[place])),
        "specificity": percent(float(found.specificity[place])),
        "cost": f"{found.costs(ratio)[place]:.2f}",
    }


def _state(every: list[Thresholds], first: Thresholds, ratio: float | None, are_probabilities: bool) -> dict[str, Any]:
    """What the page's sliders start from, as plain values."""
    ratios = sorted({*RATIOS, ratio or 1.0})
    return {
        "first": every.index(first),
        "ratios": ratios,
        "ratio": ratios.index(ratio or 1.0),
        "classes": [
            {
                "label": str(found.label),
                "thresholds": [float(f"{value:.6g}") for value in found.values],
                "hits": found.hits.tolist(),
                "alarms": found.alarms.tolist(),
                "positive": found.n_positive,
                "negative": found.n_negative,
                "start": standard_place(found, are_probabilities, ratio),
            }
            for found in every
        ],
    }


def _cost_figure(found: Thresholds, ratio: float | None, are_probabilities: bool) -> Any:
    """Cost against threshold; the sliders move its line and its point."""
    from ..figures import theme

    place = standard_place(found, are_probabilities, ratio)
    costs = found.costs(ratio or 1.0)
    made = theme.figure(f"Cost of 100 rows by threshold for {theme.written(found.label)}", height=340, showlegend=False)
    made.add_scatter(
        x=found.values, y=costs, mode="lines", line=theme.line(0), name="cost",
        hovertemplate="threshold %{x:.3g}<br>cost of 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    made.add_scatter(
        x=[found.values[place]], y=[costs[place]], mode="markers", name="chosen",
        marker={"color": theme.colour(4), "size": 13, "line": {"color": "white", "width": 2}},
        hovertemplate="chosen threshold %{x:.3g}<br>cost of 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    what = "threshold (probability)" if are_probabilities else "threshold (score)"
    made.update_xaxes(**theme.axis(what))
    made.update_yaxes(**theme.axis("cost of 100 rows, in false alarms", rangemode="tozero"))
    return made
