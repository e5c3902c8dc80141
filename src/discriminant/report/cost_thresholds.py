"""The section of a report on costs and thresholds.

One class is compared with all others: a row is predicted positive if its score is at least the threshold. Costs are in
units of one false positive: a false positive costs 1, a false negative costs ``ratio``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..evaluation.curves import expected_costs
from ..evaluation.ranking import RankedScores
from ..results import percent
from .page import drawing, quoted, short
from .sentences import prevalence_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from .table_report import TableReport


# Thresholds of probabilities: every percent, finer at the ends for rare classes.
_FINE: Final = np.array([0.001, 0.002, 0.005])
PROBABILITIES: Final = np.concatenate(([0.0], _FINE, np.arange(1, 100) / 100, 1 - _FINE[::-1], [1.0]))
# Thresholds of margins: as fine as the probabilities.
MARGIN_STEPS: Final = 121
#: Cost ratios (false negative to false positive) of the slider, and those of the printed table.
RATIOS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)
PRINTED_RATIOS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Costs:
    """The cost of each action (column) for each true class (row)."""

    values: Array
    classes: list[Any]
    actions: list[Any]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """True and false positives of one class at each threshold."""

    label: Hashable
    values: Array
    hits: Array  #: true positives
    alarms: Array  #: false positives
    n_positive: float
    n_negative: float

    @property
    def share(self) -> float:
        """The share of the class in the rows."""
        return self.n_positive / (self.n_positive + self.n_negative)

    @property
    def sensitivity(self) -> Array:
        """The sensitivity at each threshold."""
        return self.hits / self.n_positive

    @property
    def specificity(self) -> Array:
        """The specificity at each threshold."""
        return 1 - self.alarms / self.n_negative

    def costs(self, ratio: float, share: float | None = None) -> Array:
        """The cost per 100 rows at each threshold, in false positives, if the class has this share of the rows."""
        share = self.share if share is None else share
        return 100 * (share * (1 - self.sensitivity) * ratio + (1 - share) * (1 - self.specificity))

    def best(self, ratio: float, share: float | None = None) -> int:
        """The index of the threshold of minimum cost; the highest one, as in `best_threshold`."""
        costs = self.costs(ratio, share)
        return int(np.flatnonzero(costs <= costs.min() * (1 + 1e-9) + 1e-12)[-1])

    def never(self, place: int) -> bool:
        """Whether no row reaches this threshold."""
        return not self.hits[place] + self.alarms[place] > 0


def thresholds_of(data: TableReport) -> list[Thresholds]:
    """The thresholds of each class with positive and negative rows; empty without scores."""
    curve = data.evaluation.roc
    if curve is None:
        return []
    sided = {label: one.ranked for label, one in curve.by_class.items() if not one.undefined}
    return [_at(label, ranked, _grid(data, label, ranked)) for label, ranked in sided.items()]


def _grid(data: TableReport, label: Hashable, ranked: RankedScores) -> Array:
    """Thresholds in even steps, and the threshold of minimum cost for every cost ratio."""
    own = cost_ratio(data.costs, label)
    cheapest = _cheapest(ranked, RATIOS if own is None else (*RATIOS, own))
    if data.evaluation.calibration:
        decided = [] if own is None else [1 / (1 + own)]
        return np.unique(np.concatenate((PROBABILITIES, cheapest, decided)))
    high, low = float(ranked.values[0]), float(ranked.values[-1])
    # They include 0, the threshold of a margin, and one that no row reaches.
    beyond = high + (high - low) / MARGIN_STEPS
    return np.unique([*np.linspace(low, high, MARGIN_STEPS), 0.0 if low < 0 < high else low, beyond, *cheapest])


def _cheapest(ranked: RankedScores, ratios: Sequence[float]) -> list[float]:
    """The rounded threshold of minimum cost for each ratio, if some row reaches it."""
    found = []
    for ratio in ratios:
        costs = np.array([[0.0, 1.0], [ratio, 0.0]])
        place = int(np.argmin(expected_costs(ranked.positive, ranked.negative, costs, None)))
        if place:  # index 0 is above all scores
            below = float(ranked.values[place]) if place < len(ranked.values) else -math.inf
            found.append(_rounded(float(ranked.values[place - 1]), below))
    return found


def _rounded(threshold: float, below: float) -> float:
    """The threshold rounded down to three digits, if this changes no prediction; ``below`` is the next score."""
    if threshold == 0:
        return threshold
    step = 10.0 ** (math.floor(math.log10(abs(threshold))) - 2)
    rounded = float(f"{math.floor(threshold / step) * step:.3g}")
    return rounded if below < rounded <= threshold else threshold


def _at(label: Hashable, ranked: RankedScores, values: Array) -> Thresholds:
    """The true and false positives at these thresholds."""
    reached = np.searchsorted(-ranked.values.astype(np.float64), -values, side="right")
    hits, alarms = (np.append(0.0, counts)[reached] for counts in (ranked.true_positives, ranked.false_positives))
    return Thresholds(label, values, hits, alarms, ranked.n_positive, ranked.n_negative)


def cost_ratio(costs: Costs | None, label: Hashable) -> float | None:
    """The cost of a false negative in false positives, for costs of two classes; None if there is no such ratio."""
    if costs is None or len(costs.classes) != 2 or not set(costs.classes) <= set(costs.actions):
        return None
    k = costs.classes.index(label)
    by_action = [[costs.values[i, costs.actions.index(name)] for name in costs.classes] for i in range(2)]
    miss = by_action[k][1 - k] - by_action[k][k]
    alarm = by_action[1 - k][k] - by_action[1 - k][1 - k]
    return float(miss / alarm) if miss > 0 and alarm > 0 else None


def standard_place(found: Thresholds, are_probabilities: bool, ratio: float | None = None) -> int:
    """The index of the default threshold: that of the costs, else 0.5; 0 for margins."""
    return int(np.argmin(np.abs(found.values - (1 / (1 + (ratio or 1.0)) if are_probabilities else 0.0))))


def thresholds_section(data: TableReport) -> dict[str, Any]:
    """The section on costs and thresholds."""
    every = thresholds_of(data)
    table = _cost_table(data.costs)
    if not every:
        return {} if table is None else {"every": [], "cost_table": table}
    # The first class is the positive one, or else the class with the lowest recall.
    recall = dict(zip(data.confusion.classes.tolist(), data.confusion.recall.tolist(), strict=True))
    first = every[0] if len(every) == 1 else min(every, key=lambda found: recall[found.label])
    ratio, are_probabilities = cost_ratio(data.costs, first.label), bool(data.evaluation.calibration)
    return {
        "every": every,
        "evaluated_on": data.evaluated_on,
        "cost_table": table,
        "first": every.index(first),
        "label": quoted(first.label),
        "sentence": _best_sentence(data, first, ratio),
        "printed": [_printed(first, r) for r in PRINTED_RATIOS],
        "state": _state(every, first, ratio, are_probabilities),
        "prevalence": _prevalence(data),
        "drawing": drawing("plot-thresholds", cost_figure, first, ratio, are_probabilities),
    }


def _cost_table(costs: Costs | None) -> dict[str, Any] | None:
    if costs is None:
        return None
    rows = zip(map(str, costs.classes), [[short(v) for v in row] for row in costs.values.tolist()], strict=True)
    return {"actions": [str(action) for action in costs.actions], "rows": list(rows)}


def _best_sentence(data: TableReport, found: Thresholds, ratio: float | None) -> str:
    """The threshold of minimum cost, with its interval."""
    curve = data.evaluation.roc
    assert curve is not None
    interval = (
        curve.by_class[found.label]
        .best_threshold(cost_fp=1.0, cost_fn=ratio or 1.0, level=data.evaluation.level)
        .interval
    )
    place, of = found.best(ratio or 1.0), "equal costs" if ratio is None else f"the given costs ({_versus(ratio)})"
    if found.never(place):
        return f"Threshold of minimum cost for {of}: none (the class is never predicted)."
    known = f" (range {short(interval.low)} to {short(interval.high)})"
    return (
        f"Threshold of minimum cost for {of}: {short(float(found.values[place]))}"
        f"{known if math.isfinite(interval.low) else ''}; sensitivity {percent(float(found.sensitivity[place]))}, "
        f"specificity {percent(float(found.specificity[place]))}."
    )


def _versus(ratio: float) -> str:
    return f"{short(ratio)} : 1" if ratio >= 1 else f"1 : {short(1 / ratio)}"


def _prevalence(data: TableReport) -> str:
    """The precision of the positive class at other prevalences; empty without a positive class."""
    confusion, positive = data.confusion, data.evaluation.positive
    if positive is None or np.isnan(confusion.recall).any():
        return ""
    k = confusion.classes.tolist().index(positive)
    share = float(confusion.counts[k].sum() / confusion.total)
    return prevalence_sentence(positive, share, float(confusion.recall[k]), float(confusion.specificity[k]))


def _printed(found: Thresholds, ratio: float) -> dict[str, str]:
    place = found.best(ratio)
    return {
        "ratio": _versus(ratio),
        "threshold": "never" if found.never(place) else short(float(found.values[place])),
        "sensitivity": percent(float(found.sensitivity[place])),
        "specificity": percent(float(found.specificity[place])),
        "cost": f"{found.costs(ratio)[place]:.2f}",
    }


def _state(every: list[Thresholds], first: Thresholds, ratio: float | None, are_probabilities: bool) -> dict[str, Any]:
    """The initial state of the sliders, as plain values."""
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


def cost_figure(found: Thresholds, ratio: float | None, are_probabilities: bool) -> Figure:
    """Cost by threshold; the sliders move the line and the point."""
    from ..figures import theme

    place = standard_place(found, are_probabilities, ratio)
    costs = found.costs(ratio or 1.0)
    title = f"Cost per 100 rows by threshold for {theme.written(found.label)}"
    alt = "line of the cost by threshold, with the chosen threshold."
    made = theme.figure(title, height=340, showlegend=False, alt=alt)
    made.add_scatter(
        x=found.values, y=costs, mode="lines", line=theme.line(0), name="cost",
        hovertemplate="threshold %{x:.3g}<br>cost per 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    made.add_scatter(
        x=[found.values[place]], y=[costs[place]], mode="markers", name="chosen",
        marker={"color": theme.colour(4), "size": 13, "line": {"color": "white", "width": 2}},
        hovertemplate="chosen threshold %{x:.3g}<br>cost per 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    what = "threshold (probability)" if are_probabilities else "threshold (score)"
    made.update_xaxes(**theme.axis(what))
    made.update_yaxes(**theme.axis("cost per 100 rows (in false positives)", rangemode="tozero"))
    return made
