"""Points for the values of each column, to score a row by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .console import Page, grid, shortened
from .modelfile import Answering

if TYPE_CHECKING:
    from ..tables import Column

_FULL = 100  #: points of the column that matters most
_PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def nomogram(answering: Answering) -> dict[str, Any] | None:
    """The points of a linear model of two classes; None where there are no such points, or infinitely many.

    The column whose values can move the score most has 100 points from one end of its range to the other; the sum of
    a row's points gives its score, and where scores are log-odds its probability.
    """
    model, training, schema = answering.model, answering.training, answering.schema
    if len(answering.classes) != 2 or not hasattr(model, "coef_") or "lowest" not in training or schema.sparse:
        return None
    if getattr(model, "separation_", None) is not None:
        return None
    coef = model.coef_[0].tolist()
    entries, first = [], 0
    for column in schema.used:
        own = coef[first : first + len(column.outputs)]
        entries.append((column.name, _effects(column, own, training["lowest"][first], training["highest"][first])))
        first += len(column.outputs)
    widest = max(_width(effects) for _, effects in entries)
    if not widest > 0:
        return None
    scale = _FULL / widest
    least = float(model.intercept_[0]) + sum(min(effects.values()) for _, effects in entries)
    return {
        "of": answering.classes[1],
        "columns": [
            {"column": name, "value": value, "points": scale * (effect - min(effects.values()))}
            for name, effects in sorted(entries, key=lambda entry: -_width(entry[1]))
            for value, effect in effects.items()
        ],
        "totals": _totals(model, scale, least, sum(scale * _width(effects) for _, effects in entries)),
    }


def _effects(column: Column, coef: Sequence[float], low: float, high: float) -> dict[str, float]:
    """What each value of a column adds to the score: each level, or the ends of a number's range."""
    if column.kind == "category":
        levels = [name[len(column.name) + 1 :] for name in column.outputs]
        return {str(column.reference): 0.0, **dict(zip(levels, coef, strict=True))}
    effects = {f"{low:g}": coef[0] * low, f"{high:g}": coef[0] * high}
    if column.missing_column:
        effects["(missing)"] = coef[0] * (column.mean or 0.0) + coef[1]
    return effects


def _width(effects: dict[str, float]) -> float:
    return max(effects.values()) - min(effects.values())


def _totals(model: Any, scale: float, least: float, most: float) -> list[dict[str, float]]:
    """The total points, of those a row can have, that stand for some probabilities where scores are log-odds."""
    from ..estimators.base import PosteriorClassifier

    if not isinstance(model, PosteriorClassifier):
        return [{"score": 0.0, "points": -scale * least}]
    points = {p: scale * (math.log(p / (1 - p)) - least) for p in _PROBABILITIES}
    return [{"probability": p, "points": total} for p, total in points.items() if 0 <= total <= most]


def nomogram_page(found: dict[str, Any]) -> Page:
    """The points to read."""
    from ..results import number

    rows = [[row["column"], row["value"], f"{row['points']:.1f}"] for row in found["columns"]]
    title = f"Points for {found['of']}; numbers between the ends of a range get points in proportion"
    points = shortened(title, ["column", "value", "points"], rows, names=2)
    if any("score" in row for row in found["totals"]):
        return [*points, f"Above {found['totals'][0]['points']:.1f} points in total: {found['of']}."]
    totals = [[f"{row['points']:.1f}", number(row["probability"])] for row in found["totals"]]
    return [*points, grid(f"Total points and the probability of {found['of']}", ["points", "probability"], totals, 0)]
