"""The report of a comparison or evaluation on a table: the answer in plain words, the evidence, and its limits."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..results import listed, several
from ..validation.comparison import BASELINE, Comparison
from ..validation.cross_validation import METRICS
from .page import Drawing, Section, between, count, decimal, drawing, measured, percent, quoted, short, write_page
from .report_data import ReportData, gather
from .sections import (
    WORDS,
    calibration_section,
    coefficients_section,
    confused,
    confusion_section,
    data_section,
    is_better,
    models_section,
    regions_section,
    reproduction_section,
    rivals,
    roc_section,
    word,
)
from .thresholds import Thresholds, precision_at, thresholds_of, thresholds_section

Array = np.ndarray[Any, Any]


def title_of(data: ReportData) -> str:
    """The question as a title."""
    name = None if data.rows is None else data.rows.target
    return "How well can the classes be told apart?" if name is None else f"How well can “{name}” be predicted?"


def answer_section(data: ReportData) -> dict[str, Any]:
    """The one-paragraph answer and the numbers it rests on."""
    sentences = [_question(data), *_result(data), _errors(data), _costs(data)]
    return {"sentences": [s for s in sentences if s], "keys": _key_figures(data)}


def _question(data: ReportData) -> str:
    n_classes = len(data.classes)
    classes = _either(data) if n_classes <= 4 else f"{n_classes} classes"
    if data.rows is None:
        return f"The question is how well {data.target} ({classes}) is predicted."
    columns, n_rows = several(len(data.rows.names), "column"), count(len(data.rows.y))
    return f"The question is whether {data.target} ({classes}) can be predicted from {columns}, given {n_rows} rows."


def _either(data: ReportData) -> str:
    names = [quoted(label) for label in data.classes]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _result(data: ReportData) -> list[str]:
    comparison, winner = data.comparison, data.winner
    accuracy, *ends = data.accuracy
    interval = between("accuracy", *ends)
    level = data.evaluation.level if comparison is None else comparison.level
    sure = f" ({100 * level:g} % interval {interval})" if interval else ""
    if comparison is None:
        return [
            f"{winner} gave the right class to {percent(accuracy)} of {data.evaluated_on}{sure}.",
            _always_the_largest(data),
        ]
    if not is_better(comparison, winner, BASELINE):
        return [_nothing_learned(data)]
    found = f"the right class for {percent(accuracy)} of rows it has not seen{sure}"
    n_models = len(comparison.ranking) - 1
    first = (
        f"{winner} did best of {several(n_models, 'model')}" if winner == comparison.best else f"{winner} was chosen"
    )
    best = f"{first}: it gives {found}." if n_models > 1 else f"{winner} gives {found}."
    return [best, _always_the_largest(data), _other_measure(data), _ties(data)]


def _nothing_learned(data: ReportData) -> str:
    comparison = data.comparison
    assert comparison is not None
    share = percent(comparison.cross_validation.mean(BASELINE))
    always = f"always naming the most frequent class, which is right for {share} of the rows"
    if any(is_better(comparison, name, BASELINE) for name in comparison.ranking):
        return f"{data.winner}, which was chosen, is not clearly better than {always}; other models are."
    return (
        f"No model is clearly better than {always}. What these columns say about it, if anything, does not show in "
        "these rows."
    )


def _always_the_largest(data: ReportData) -> str:
    rows = data.class_rows
    share = float(rows.max() / rows.sum())
    return f"Always naming the most frequent class would be right for {percent(share)}."


def _other_measure(data: ReportData) -> str:
    """The measure that models were compared by, where it is not the accuracy."""
    comparison = data.comparison
    assert comparison is not None
    metric = comparison.metric
    if metric in ("accuracy", "error_rate"):
        return ""
    value = comparison.cross_validation.mean(data.winner, metric)
    return f"The models were compared by {word(metric).lower()}, where it reaches {measured(metric, value)}."


def _ties(data: ReportData) -> str:
    assert data.comparison is not None
    comparison, winner = data.comparison, data.winner
    tied = rivals(comparison, winner)
    better = [name for name in comparison.ranking if is_better(comparison, name, winner)]
    if better:
        return f"{listed(better)} did better, by more than chance."
    if not tied:
        return "Its lead over the others is more than chance." if len(comparison.ranking) > 2 else ""
    return (
        f"{listed(tied)} cannot be told apart from it with these rows: the choice among them may rest on other grounds."
    )


def _errors(data: ReportData) -> str:
    pairs = confused(data)
    if not pairs:
        return "On the rows it was judged by it made no error at all."
    error = data.evaluation["error_rate"].value
    return f"Of 100 rows it misjudges about {100 * error:.1f}; most often {pairs[0].words}."


def _costs(data: ReportData) -> str:
    if data.costs is None:
        return "No costs were given, so that every error counts alike; the part on costs shows what changes if not."
    evaluation = data.evaluation
    if "cost" not in evaluation:
        return "Costs were given, but the evaluation was made without them."
    cost = evaluation["cost"]
    words = f"Under the costs given a row costs {decimal(cost.value, 3)} on average"
    interval = between("cost", cost.low, cost.high)
    words += f" ({interval})" if interval else ""
    least = decimal(evaluation["cost_least_risk"].value, 3) if "cost_least_risk" in evaluation else None
    if least not in (None, decimal(cost.value, 3)):
        words += f"; taking the action of least expected cost brings it to {least}"
    return f"{words}."


def _key_figures(data: ReportData) -> list[dict[str, str]]:
    found = {"accuracy": data.accuracy}
    for metric in ("auc", "balanced_accuracy", "log_loss", "cost", "cost_least_risk"):
        if metric in data.evaluation:
            estimate = data.evaluation[metric]
            found[metric] = estimate.value, estimate.low, estimate.high
    return [
        {"metric": metric, "value": measured(metric, value), "interval": between(metric, *ends)}
        for metric, (value, *ends) in found.items()
        if not math.isnan(value)
    ]


#: A class with fewer rows than this is called poor.
_FEW_ROWS = 20


def conclusions_section(data: ReportData) -> dict[str, Any]:
    """What the section on the limits of the conclusion shows."""
    return {
        "noise": _noise(data),
        "costs": _other_costs(data),
        "shares": _other_shares(data),
        "rows": _more_rows(data),
        "drawing": _learning_drawing(data),
    }


def _noise(data: ReportData) -> list[str]:
    comparison, winner = data.comparison, data.winner
    if comparison is None:
        return ["Only one model was evaluated: whether another would do better was not asked."]
    words = [_order_sentence(comparison, winner)]
    validation = comparison.cross_validation
    for metric in validation.metrics:
        values = {name: validation.mean(name, metric) for name in validation.models}
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


def _other_costs(data: ReportData) -> list[str]:
    found = _of_two(data)
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


def _of_two(data: ReportData) -> Thresholds | None:
    """The thresholds of the second of two classes; None for more classes, or without scores."""
    every = thresholds_of(data) if len(data.classes) == 2 else []
    return every[0] if every else None


def _other_shares(data: ReportData) -> list[str]:
    evaluation = data.evaluation
    assert evaluation.confusion is not None
    recalls = evaluation.confusion.recall
    if np.isnan(recalls).any():
        return ["Some class has no rows here: what happens where it is frequent cannot be told."]
    equal = f"Were all classes equally frequent, {percent(float(recalls.mean()))} of the rows would be right."
    if len(recalls) != 2:
        return [f"{equal} Accuracy moves towards the recall of whatever class becomes more frequent."]
    return [equal, _rarer(data)]


def _rarer(data: ReportData) -> str:
    """How the precision of the second class changes where the class is rarer."""
    confusion = data.evaluation.confusion
    assert confusion is not None
    sensitivity, specificity = float(confusion.recall[1]), float(confusion.specificity[1])
    share = float(confusion.counts[1].sum() / confusion.total)
    now, rarer = (precision_at(part, sensitivity, specificity) for part in (share, share / 10))
    label = quoted(confusion.classes[1])
    return (
        f"Of the rows called {label}, {percent(now)} are right at its present share of {percent(share)}; "
        f"were it ten times rarer, {percent(rarer)} would be, with the same model and threshold."
    )


def _more_rows(data: ReportData) -> list[str]:
    words = [_curve_sentence(data)]
    rows = data.class_rows
    poor = [(label, n) for label, n in zip(data.classes, rows.tolist(), strict=True) if n < _FEW_ROWS]
    if poor:
        named = listed((f"{quoted(label)} ({count(n)})" for label, n in poor), most=5)
        words.append(f"Few rows are of {named}: what is said of so rare a class may change with a few more rows.")
    return words


def _curve_sentence(data: ReportData) -> str:
    curve = data.learning_curve
    if curve is None:
        return f"{_known_accuracy(data)}Whether more rows would make a better model, a learning curve tells."
    gap = curve.estimation
    return (
        f"With {count(int(curve.sizes[-1]))} training rows the error is {percent(curve.validation().value)}; endless "
        f"rows would bring it to about {percent(curve.limit.value)}, {100 * gap.value:.1f} points less (give or take "
        f"{100 * gap.reach:.1f})."
    )


def _known_accuracy(data: ReportData) -> str:
    _, low, high = data.accuracy
    if math.isnan(low):
        return ""
    return (
        f"The accuracy is known to lie between {percent(low)} and {percent(high)}; four times as many rows would "
        "about halve that width. "
    )


def _learning_drawing(data: ReportData) -> Drawing | None:
    if data.learning_curve is None:
        return None
    from ..figures import learning_curve

    return drawing("plot-learning", learning_curve, data.learning_curve)


#: Address, heading and content of each section, in the order in which they are read.
SECTIONS = (
    ("answer", "The answer", answer_section),
    ("data", "The data", data_section),
    ("models", "The models compared", models_section),
    ("coefficients", "What the winner has learned", coefficients_section),
    ("confusion", "Where it is right and wrong", confusion_section),
    ("roc", "How well its scores rank rows", roc_section),
    ("calibration", "Whether its probabilities come true", calibration_section),
    ("thresholds", "Costs and thresholds", thresholds_section),
    ("regions", "Decision regions", regions_section),
    ("conclusions", "What would change the conclusion", conclusions_section),
    ("reproduction", "How to reproduce this", reproduction_section),
)


def write_report(
    path: str | os.PathLike[str],
    comparison: Any,
    training: Any,
    *,
    evaluation: Any = None,
    model: Any = None,
    model_name: str | None = None,
    costs: Any = None,
    learning_curve: Any = None,
    command: str | None = None,
    random_state: Any = 0,
    title: str | None = None,
) -> Path:
    """Write what was found as one HTML file that opens without a network, and return its path.

    Parameters
    ----------
    path : str or path
        The file; it appears whole or not at all.
    comparison : Comparison or None
        What `compare` returned; None for the report of one model that was evaluated.
    training : TrainingTable, (X, y), (X, y, names) or None
        The rows the models were fitted to.
    evaluation : Evaluation, optional
        Of the winner on rows it has not seen. Default: of its out-of-fold predictions, as the comparison kept them.
    model : fitted classifier, optional
        The winner, fitted to all rows: for coefficients and decision regions.
    model_name : str, optional
        Which of the models compared it is. Default: the best.
    costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`.
    learning_curve : LearningCurve, optional
        Of the winner: whether more rows would help.
    command : str, optional
        What made the report, for those who want to make it again.
    random_state : int
        The one that dealt the folds.
    title : str, optional

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis, compare
    >>> from discriminant.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(f"{folder}/iris.html", compare({"LDA": model}, X, y), (X, y), model=model.fit(X, y))
    ...     text = path.read_text(encoding="utf-8")
    >>> "LDA gives the right class for 98.0 % of rows it has not seen" in text
    True
    """
    data = gather(
        comparison,
        training,
        evaluation=evaluation,
        model=model,
        model_name=model_name,
        costs=costs,
        learning_curve=learning_curve,
        command=command,
        random_state=random_state,
    )
    sections = [Section(name, heading, content(data)) for name, heading, content in SECTIONS]
    words = dict(sorted(WORDS.items(), key=lambda item: item[1][0].lower()))
    return write_page(path, "report.html", title or title_of(data), _facts(data), sections, words=words)


def _facts(data: ReportData) -> list[str]:
    n_rows = data.evaluation.n_rows if data.rows is None else len(data.rows.y)
    facts = [f"{count(n_rows)} rows", several(len(data.classes), "class", "classes")]
    if data.comparison is not None:
        facts.append(several(len(data.comparison.ranking) - 1, "model") + " and a baseline")
    return facts
