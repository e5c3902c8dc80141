"""The answer in plain words, before any figure."""

from __future__ import annotations

import math
from typing import Any

from ..validation.text import listed
from .errors_part import confused
from .glossary import word
from .material import BASELINE, Material
from .models_part import is_better, rivals
from .numbers import between, count, decimal, measured, percent, quoted, several


def title_of(material: Material) -> str:
    """The question as a title."""
    name = None if material.rows is None else material.rows.target
    return "How well can the classes be told apart?" if name is None else f"How well can “{name}” be predicted?"


def answer_part(material: Material) -> dict[str, Any]:
    """The one-paragraph answer and the numbers it rests on."""
    sentences = [_question(material), *_result(material), _errors(material), _costs(material)]
    return {"sentences": [s for s in sentences if s], "keys": _key_figures(material)}


def _question(material: Material) -> str:
    n_classes = len(material.classes)
    classes = _either(material) if n_classes <= 4 else f"{n_classes} classes"
    if material.rows is None:
        return f"The question is how well {material.target} ({classes}) is predicted."
    columns, n_rows = several(len(material.rows.names), "column"), count(len(material.rows.y))
    return (
        f"The question is whether {material.target} ({classes}) can be predicted from {columns}, given {n_rows} rows."
    )


def _either(material: Material) -> str:
    names = [quoted(label) for label in material.classes]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _result(material: Material) -> list[str]:
    comparison = material.comparison
    if comparison is None:
        accuracy = material.evaluation["accuracy"]
        interval = between("accuracy", accuracy.low, accuracy.high)
        sure = f" ({100 * material.evaluation.level:g} % interval {interval})" if interval else ""
        return [
            f"{material.winner} gave the right class to {percent(accuracy.value)} of {material.evaluated_on}{sure}.",
            _always_the_largest(material),
        ]
    crossed, winner = comparison.cross_validation, material.winner
    if not is_better(comparison, winner, BASELINE):
        return [_nothing_learned(material)]
    low, high = crossed.interval(winner, "accuracy", comparison.level)
    found = (
        f"the right class for {percent(crossed.mean(winner))} of rows it has not seen ({100 * comparison.level:g} % "
        f"interval {between('accuracy', low, high)})"
    )
    n_models = len(comparison.ranking) - 1
    first = (
        f"{winner} did best of {several(n_models, 'model')}" if winner == comparison.best else f"{winner} was chosen"
    )
    best = f"{first}: it gives {found}." if n_models > 1 else f"{winner} gives {found}."
    return [best, _always_the_largest(material), _other_measure(material), _ties(material)]


def _nothing_learned(material: Material) -> str:
    comparison = material.comparison
    assert comparison is not None
    share = percent(comparison.cross_validation.mean(BASELINE))
    always = f"always naming the most frequent class, which is right for {share} of the rows"
    if any(is_better(comparison, name, BASELINE) for name in comparison.ranking):
        return f"{material.winner}, which was chosen, is not clearly better than {always}; other models are."
    return (
        f"No model is clearly better than {always}. What these columns say about it, if anything, does not show in "
        "these rows."
    )


def _always_the_largest(material: Material) -> str:
    rows = material.class_rows
    share = float(rows.max() / rows.sum())
    return f"Always naming the most frequent class would be right for {percent(share)}."


def _other_measure(material: Material) -> str:
    """The measure that models were compared by, where it is not the accuracy."""
    comparison = material.comparison
    assert comparison is not None
    metric = comparison.metric
    if metric in ("accuracy", "error"):
        return ""
    value = comparison.cross_validation.mean(material.winner, metric)
    return f"The models were compared by {word(metric).lower()}, where it reaches {measured(metric, value)}."


def _ties(material: Material) -> str:
    assert material.comparison is not None
    comparison, winner = material.comparison, material.winner
    tied = rivals(comparison, winner)
    better = [name for name in comparison.ranking if is_better(comparison, name, winner)]
    if better:
        return f"{listed(better)} did better, by more than chance."
    if not tied:
        return "Its lead over the others is more than chance." if len(comparison.ranking) > 2 else ""
    return (
        f"{listed(tied)} cannot be told apart from it with these rows: the choice among them may rest on other grounds."
    )


def _errors(material: Material) -> str:
    pairs = confused(material)
    if not pairs:
        return "On the rows it was judged by it made no error at all."
    error = material.evaluation["error rate"].value
    return f"Of 100 rows it misjudges about {100 * error:.1f}; most often {pairs[0].words}."


def _costs(material: Material) -> str:
    if material.costs is None:
        return "No costs were given, so that every error counts alike; the part on costs shows what changes if not."
    evaluation = material.evaluation
    if "cost" not in evaluation:
        return "Costs were given, but the evaluation was made without them."
    cost = evaluation["cost"]
    words = f"Under the costs given a row costs {decimal(cost.value, 3)} on average"
    interval = between("cost", cost.low, cost.high)
    words += f" ({interval})" if interval else ""
    if "cost, least risk" in evaluation:
        least = decimal(evaluation["cost, least risk"].value, 3)
        words += f"; taking the action of least expected cost brings it to {least}"
    return f"{words}."


def _key_figures(material: Material) -> list[dict[str, str]]:
    keys = [_accuracy_key(material)]
    for metric, name in (
        ("auc", "auc"),
        ("balanced accuracy", "balanced accuracy"),
        ("log-loss", "log_loss"),
        ("cost", "cost"),
        ("cost, least risk", "least risk"),
    ):
        if metric in material.evaluation:
            found = material.evaluation[metric]
            if not math.isnan(found.value):
                keys.append(_key(name, measured(metric, found.value), between(metric, found.low, found.high)))
    return keys


def _accuracy_key(material: Material) -> dict[str, str]:
    if material.comparison is not None:
        crossed = material.comparison.cross_validation
        low, high = crossed.interval(material.winner, "accuracy", material.comparison.level)
        return _key("accuracy", percent(crossed.mean(material.winner)), between("accuracy", low, high))
    found = material.evaluation["accuracy"]
    return _key("accuracy", percent(found.value), between("accuracy", found.low, found.high))


def _key(metric: str, value: str, interval: str) -> dict[str, str]:
    return {"metric": metric, "value": value, "interval": interval}
