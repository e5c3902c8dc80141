"""What would change the conclusion: noise, costs, shares of the classes, and more rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..validation.answers import METRICS
from ..validation.compare import Comparison
from ..validation.text import listed
from .drawing import Drawing, drawing
from .glossary import word
from .material import BASELINE, Material
from .models_part import is_better, rivals
from .numbers import count, percent, quoted, short
from .thresholds import Thresholds, precision_at, thresholds_of

#: A class with fewer rows than this is called poor.
_FEW_ROWS = 20


def conclusions_part(material: Material) -> dict[str, Any]:
    """What the part on the limits of the conclusion shows."""
    return {
        "noise": _noise(material),
        "costs": _other_costs(material),
        "shares": _other_shares(material),
        "rows": _more_rows(material),
        "drawing": _learning_drawing(material),
    }


def _noise(material: Material) -> list[str]:
    comparison, winner = material.comparison, material.winner
    if comparison is None:
        return ["Only one model was evaluated: whether another would do better was not asked."]
    words = [_order_sentence(comparison, winner)]
    crossed = comparison.cross_validation
    for metric in crossed.metrics:
        values = {name: crossed.mean(name, metric) for name in crossed.models}
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        best = (max if METRICS[metric] else min)(known, key=lambda name: known[name])
        if best not in (winner, BASELINE):
            words.append(f"Judged by {word(metric).lower()}, {best} comes first.")
    return words


def _order_sentence(comparison: Comparison, winner: str) -> str:
    tied = rivals(comparison, winner)
    if not is_better(comparison, winner, BASELINE):
        return f"Columns that tell the classes apart would: with these {winner} is not clearly better than nothing."
    if tied:
        return f"Another draw of rows could put {listed(tied)} before {winner}: their differences are within noise."
    return f"Another draw of rows would hardly change the order: no other model is within noise of {winner}."


def _other_costs(material: Material) -> list[str]:
    found = _of_two(material)
    if found is None:
        return [
            "Costs move the boundary between every pair of classes. The sliders show it for each class against the "
            "others; with a table of costs the decision of least expected cost is taken."
        ]
    return [
        f"If a false alarm costs ten times a miss, {_best_words(found, 0.1)}; if a miss costs ten times a false alarm, "
        f"{_best_words(found, 10.0)}."
    ]


def _best_words(found: Thresholds, ratio: float) -> str:
    place, label = found.best(ratio), quoted(found.label)
    if found.never(place):
        return f"it is best never to name {label}"
    threshold, sensitivity = short(float(found.values[place])), percent(float(found.sensitivity[place]))
    return f"the best threshold for {label} is {threshold} and finds {sensitivity} of the class"


def _of_two(material: Material) -> Thresholds | None:
    """The thresholds of the second of two classes; None for more classes, or without scores."""
    every = thresholds_of(material) if len(material.classes) == 2 else []
    return every[0] if every else None


def _other_shares(material: Material) -> list[str]:
    evaluation = material.evaluation
    assert evaluation.confusion is not None
    recalls = evaluation.confusion.recall
    if np.isnan(recalls).any():
        return ["Some class has no rows here: what happens where it is frequent cannot be told."]
    equal = f"Were all classes equally frequent, {percent(float(recalls.mean()))} of the rows would be right."
    if len(recalls) != 2:
        return [f"{equal} Accuracy moves towards the recall of whatever class becomes more frequent."]
    return [equal, _rarer(material)]


def _rarer(material: Material) -> str:
    """How the precision of the second class changes where the class is rarer."""
    confusion = material.evaluation.confusion
    assert confusion is not None
    sensitivity, specificity = float(confusion.recall[1]), float(confusion.specificity[1])
    share = float(confusion.counts[1].sum() / confusion.total)
    now, rarer = (precision_at(part, sensitivity, specificity) for part in (share, share / 10))
    label = quoted(confusion.classes[1])
    return (
        f"Of the rows called {label}, {percent(now)} are right at its present share of {percent(share)}; "
        f"were it ten times rarer, {percent(rarer)} would be, with the same model and threshold."
    )


def _more_rows(material: Material) -> list[str]:
    words = [_curve_sentence(material)]
    rows = material.class_rows
    poor = [(label, n) for label, n in zip(material.classes, rows.tolist(), strict=True) if n < _FEW_ROWS]
    if poor:
        named = listed([f"{quoted(label)} ({count(n)})" for label, n in poor[:5]])
        more = f" and {len(poor) - 5} more" if len(poor) > 5 else ""
        words.append(f"Few rows are of {named}{more}: what is said of so rare a class may change with a few more rows.")
    return words


def _curve_sentence(material: Material) -> str:
    curve = material.learning_curve
    if curve is None:
        return f"{_known_accuracy(material)}Whether more rows would make a better model, a learning curve tells."
    gap = curve.estimation
    return (
        f"With {count(int(curve.sizes[-1]))} training rows the error is {percent(curve.validation().value)}; endless "
        f"rows would bring it to about {percent(curve.limit.value)}, {100 * gap.value:.1f} points less (give or take "
        f"{100 * gap.reach():.1f})."
    )


def _known_accuracy(material: Material) -> str:
    low, high = _accuracy_interval(material)
    if math.isnan(low):
        return ""
    return (
        f"The accuracy is known to lie between {percent(low)} and {percent(high)}; four times as many rows would "
        "about halve that width. "
    )


def _accuracy_interval(material: Material) -> tuple[float, float]:
    if material.comparison is None:
        found = material.evaluation["accuracy"]
        return found.low, found.high
    crossed = material.comparison.cross_validation
    low, high = crossed.interval(material.winner, "accuracy", material.comparison.level)
    return low, high


def _learning_drawing(material: Material) -> Drawing | None:
    if material.learning_curve is None:
        return None
    from ..figures import learning_curve

    return drawing("plot-learning", learning_curve, material.learning_curve)
