"""The models compared: scores with intervals, and which differences are real."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..validation.compare import Comparison
from .drawing import drawing
from .glossary import word
from .material import BASELINE, Material
from .numbers import SHARES, between, measured, signed, significance


@dataclass(frozen=True)
class ModelLine:
    """A model, its scores, and how it stands against the best."""

    name: str
    scores: list[tuple[str, str]]  #: value and interval of each measure
    difference: str
    interval: str
    p_value: str
    verdict: str
    winner: bool


def models_part(material: Material) -> dict[str, Any]:
    """What the part on the models shows."""
    comparison = material.comparison
    if comparison is None:
        return {"compared": False}
    crossed = comparison.cross_validation
    drawn = drawing("plot-comparison", _figure, comparison)
    return {
        "compared": True,
        "metric": word(comparison.metric),
        "metrics": list(crossed.metrics),
        "lines": [_line(comparison, name, material.winner) for name in comparison.ranking],
        "level": f"{100 * comparison.level:g} %",
        "n_splits": crossed.n_splits,
        "sentence": comparison.sentence,
        "notes": crossed.notes,
        # The page says the sentence above the figure: its caption need not repeat it.
        "drawing": replace(drawn, explanation=drawn.explanation.replace(comparison.sentence, "").strip()),
    }


def _figure(comparison: Comparison) -> Any:
    from ..figures import comparison as comparison_figure

    figure = comparison_figure(comparison)
    crossed = comparison.cross_validation
    scores = np.concatenate([crossed.scores(name, comparison.metric) for name in crossed.models])
    if np.ptp(scores) < 1e-9:  # plotly finds no ticks between numbers that differ by rounding alone
        figure.update_xaxes(range=[scores[0] - 0.05, scores[0] + 0.05])
    return figure


def _line(comparison: Comparison, name: str, winner: str) -> ModelLine:
    crossed, level = comparison.cross_validation, comparison.level
    scores = []
    for metric in crossed.metrics:
        low, high = crossed.interval(name, metric, level)
        scores.append((measured(metric, crossed.mean(name, metric)), between(metric, low, high)))
    if name == comparison.best:
        return ModelLine(name, scores, "", "", "", "best", name == winner)
    pair, metric = comparison.difference(name, comparison.best), comparison.metric
    sign = 1 if pair.first == name else -1
    low, high = sorted((sign * pair.lower, sign * pair.upper))
    return ModelLine(
        name,
        scores,
        _difference(metric, sign * pair.difference),
        f"{_difference(metric, low)} to {_difference(metric, high)}",
        significance(pair.p_adjusted),
        "worse" if comparison.is_real(name, comparison.best) else "cannot be told apart",
        name == winner,
    )


def _difference(metric: str, value: float) -> str:
    """A difference of scores: of shares in points."""
    return signed(100 * value, 1) if metric in SHARES else signed(value, 3)


def is_better(comparison: Comparison, first: str, second: str) -> bool:
    """Whether the first of two models scores better, and by more than chance."""
    places = comparison.ranking.index(first), comparison.ranking.index(second)
    return places[0] < places[1] and comparison.is_real(first, second)


def rivals(comparison: Comparison, winner: str) -> list[str]:
    """The other models, the baseline excepted, that cannot be told apart from the winner."""
    others = [name for name in comparison.ranking if name not in (winner, BASELINE)]
    return [name for name in others if not comparison.is_real(winner, name)]
