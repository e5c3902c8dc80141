"""The report of a comparison or evaluation on a table: the answer in plain words, the evidence, and its limits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import as_rows, encode_labels
from ..decision.costs import read_costs
from ..errors import ParameterError
from ..estimators.coefficients import CoefficientTable
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation
from ..results import Finding, count, listed, metric_name, percent, plain, several
from ..tables.schema import Schema
from ..tables.training import TrainingTable
from ..validation.comparison import BASELINE, Comparison
from ..validation.cross_validation import METRICS
from ..validation.learning_curve import LearningCurve
from .page import Section, between, drawing, measured, quoted, short, significant, write_page
from .sections import (
    WORDS,
    Thresholds,
    calibration_section,
    coefficients_section,
    confusion_section,
    confusions,
    data_section,
    is_better,
    models_section,
    precision_at,
    regions_section,
    reproduction_section,
    rivals,
    roc_section,
    thresholds_of,
    thresholds_section,
)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows the models were fitted to, and what is known about them."""

    X: Any
    y: Array
    names: tuple[str, ...]
    weights: Array | None = None
    schema: Schema | None = None
    findings: tuple[Finding, ...] = ()
    n_dropped: int = 0

    @property
    def target(self) -> str | None:
        """The name of the column of classes."""
        return None if self.schema is None or self.schema.target is None else self.schema.target.name


def training_rows(given: Any) -> TrainingRows:
    """Training rows, however they were given."""
    if isinstance(given, TrainingTable):
        shared = ("X", "y", "weights", "schema", "findings", "n_dropped")
        return TrainingRows(names=given.schema.names, **{name: getattr(given, name) for name in shared})
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        raise ParameterError(
            f"training must be what read_training() returns, (X, y) or (X, y, names), got {type(given).__name__}."
        )
    rows = as_rows(given[0])
    classes, codes = encode_labels(given[1], rows.n_rows)
    own = rows.names or tuple(f"x{j}" for j in range(rows.n_columns))
    names = own if len(given) == 2 or given[2] is None else tuple(map(str, given[2]))
    if len(names) != rows.n_columns:
        raise ParameterError(f"training names {len(names)} columns, but X has {rows.n_columns}.")
    return TrainingRows(given[0], classes[codes], names)


#: A class with less than this share of the rows of the most frequent one is called rare.
_RARE = 0.8


@dataclass(frozen=True)
class Costs:
    """What each action costs where each class is true: rows classes, columns actions."""

    values: Array
    classes: list[Any]
    actions: list[Any]


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that the parts of a report read: what `write_report` was given, and what follows from it."""

    comparison: Comparison | None
    training: Any
    given_evaluation: Evaluation | None = None
    model: Any = None
    model_name: str | None = None
    coefficients: CoefficientTable | None = None
    given_costs: Any = None
    learning_curve: LearningCurve | None = None
    command: str | None = None
    random_state: Any = 0

    def __post_init__(self) -> None:
        for name, value, kind, maker in (
            ("comparison", self.comparison, Comparison, "compare"),
            ("evaluation", self.given_evaluation, Evaluation, "evaluate"),
            ("learning_curve", self.learning_curve, LearningCurve, "learning_curve"),
        ):
            if value is not None and not isinstance(value, kind):
                raise ParameterError(f"{name} must be what {maker}() returns, or None, got {type(value).__name__}.")
        if self.comparison is None and self.given_evaluation is None:
            raise ParameterError("There is nothing to report: give a comparison, an evaluation, or both.")

    @cached_property
    def rows(self) -> TrainingRows | None:
        """The training rows, however they were given."""
        return None if self.training is None else training_rows(self.training)

    @cached_property
    def winner(self) -> str:
        """The name of the model that the report is about."""
        if self.comparison is None:
            return self.model_name or ("the model" if self.model is None else type(self.model).__name__)
        ranking = self.comparison.ranking
        if self.model_name is not None and self.model_name not in ranking:
            raise ParameterError(f"{self.model_name!r} is not among the models compared: {', '.join(ranking)}.")
        return self.model_name or self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """The one given, or that of the winner's out-of-fold predictions."""
        if self.given_evaluation is not None:
            return self.given_evaluation
        assert self.comparison is not None
        return self.comparison.cross_validation.evaluation(self.winner, self.given_costs, self.comparison.level)

    @property
    def evaluated_on(self) -> str:
        """Which rows the evaluation is of, in words."""
        if self.given_evaluation is not None or self.comparison is None:
            return "the rows of the evaluation"
        found = self.comparison.cross_validation
        if self.winner not in found.out_of_fold:
            return "the rows held out in the comparison"
        folds = found.n_splits // len(found.out_of_fold[self.winner].codes)
        return f"all rows, each predicted by a fit to the other folds ({folds} folds)"

    @property
    def confusion(self) -> ConfusionMatrix:
        """The confusion matrix of the evaluation."""
        if self.evaluation.confusion is None:
            raise ParameterError("The evaluation has no confusion matrix: give predictions to evaluation_of as well.")
        return self.evaluation.confusion

    @cached_property
    def costs(self) -> Costs | None:
        """The costs given, for the classes of the evaluation."""
        if self.given_costs is None:
            return None
        values, actions = read_costs(self.given_costs).aligned(self.evaluation.classes)
        if values.ndim == 3:
            raise ParameterError("A report needs one table of costs for all rows, got one for each row.")
        return Costs(values, [plain(label) for label in self.evaluation.classes], actions)

    @property
    def classes(self) -> list[Any]:
        return self.evaluation.classes.tolist()

    @property
    def has_rare_class(self) -> bool:
        """Whether some class has clearly fewer rows than the most frequent one."""
        rows = self.confusion.counts.sum(axis=1)
        return bool(rows[rows > 0].min() < _RARE * rows.max())

    @property
    def rare_class(self) -> Any:
        """The class that accuracy says least about: one it hides, else the rarest, else the one found least often."""
        confusion = self.confusion
        if confusion.hidden_class is not None:
            return confusion.hidden_class
        rows, recall = confusion.counts.sum(axis=1), confusion.recall
        by = rows if self.has_rare_class else recall
        return plain(confusion.classes[int(np.argmin(np.where(rows > 0, by, np.inf)))])

    @property
    def target(self) -> str:
        """How sentences call what is predicted."""
        name = None if self.rows is None else self.rows.target
        return "the class" if name is None else f"“{name}”"

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """The winner's accuracy with its interval: by cross-validation, if its classes are those of the comparison."""
        validation = None if self.comparison is None else self.comparison.cross_validation
        if validation is None or (self.costs is not None and self.winner not in validation.decided_by_costs):
            found = self.evaluation["accuracy"]
            return found.value, found.low, found.high
        assert self.comparison is not None
        return validation.mean(self.winner), *validation.interval(self.winner, level=self.comparison.level)

    def validated(self, metric: str) -> tuple[float, float, float] | None:
        """A ranking measure or the loss of the comparison as its table has it: the AUC is the mean of the splits."""
        if self.comparison is None or (metric != self.comparison.metric and metric != "auc"):
            return None
        validation = self.comparison.cross_validation
        ends = validation.interval(self.winner, metric, self.comparison.level)
        return validation.mean(self.winner, metric), *ends

    @cached_property
    def class_rows(self) -> Array:
        """The rows of each class, or the sums of their weights: in training, where that is known."""
        if self.rows is not None:
            classes, codes = encode_labels(self.rows.y, len(self.rows.y))
            found = dict(zip(classes.tolist(), np.bincount(codes, weights=self.rows.weights).tolist(), strict=True))
            return np.array([found.get(label, 0.0) for label in self.classes])
        return self.confusion.counts.sum(axis=1)


def title_of(data: ReportData) -> str:
    """The question as a title."""
    name = None if data.rows is None else data.rows.target
    return "How well can the classes be told apart?" if name is None else f"How well can “{name}” be predicted?"


def answer_section(data: ReportData) -> dict[str, Any]:
    """The answer: three bullets and what to do, then a paragraph and the numbers it rests on."""
    sentences = [_question(data), *_result(data), _errors(data), _costs(data)]
    return {
        "bullets": [_rightness(data), _rare_class(data), _standing(data)],
        "recommendation": _recommendation(data),
        "sentences": [s for s in sentences if s],
        "keys": _key_figures(data),
    }


def _rightness(data: ReportData) -> str:
    accuracy, *ends = data.accuracy
    interval, (label, share) = between("accuracy", *ends), data.confusion.most_frequent
    sure = f" ({interval})" if interval else ""
    unseen = "rows it has not seen" if data.comparison is not None else data.evaluated_on
    return (
        f"{data.winner} gives the right class to {percent(accuracy)} of {unseen}{sure}; always naming {quoted(label)} "
        f"would be right for {percent(share)}."
    )


def _rare_class(data: ReportData) -> str:
    """What the class gets that accuracy says least about."""
    label = data.rare_class
    recall, precision = data.evaluation["recall", label], data.evaluation["precision", label]
    interval = between("recall", recall.low, recall.high)
    named = "" if math.isnan(precision.value) else f"; precision {percent(precision.value)}"
    rows = data.confusion.counts.sum(axis=1)
    share = float(rows[data.confusion.classes.tolist().index(label)] / rows.sum())
    return (
        f"Recall of {quoted(label)} ({percent(share)} of the rows): {percent(recall.value)}"
        f"{f' ({interval})' if interval else ''}{named}."
    )


def _standing(data: ReportData) -> str:
    """How the model stands among the others; its errors, where it is alone."""
    comparison, winner = data.comparison, data.winner
    if comparison is None or len(comparison.ranking) <= 2:
        return _errors(data)
    if not is_better(comparison, winner, BASELINE):
        return _nothing_learned(data, comparison, winner)
    return _ties(comparison, winner)


def _errors(data: ReportData) -> str:
    most = confusions(data)
    if not most:
        return "On the rows it was judged by it made no error at all."
    rate = data.evaluation["error_rate"].value
    return f"Of 100 rows {data.winner} misjudges about {100 * rate:.1f}; most often {most[0]}."


def _recommendation(data: ReportData) -> str:
    """What to do, as far as the rows tell."""
    comparison, winner, hidden = data.comparison, data.winner, data.confusion.hidden_class
    if not _has_learned(data):
        better = None if comparison is None else comparison.recommended
        if better is not None:
            return f"Take {better} instead of {winner}: it is better than the baseline beyond chance."
        return (
            f"Do not decide by {winner if comparison is None else 'any of these models'} yet: look for columns that "
            "tell the classes apart, or for more rows."
        )
    if comparison is not None and is_better(comparison, comparison.best, winner):
        return f"Take {comparison.best} rather than {winner}, unless other grounds speak for it."
    use = f"Use {winner}" if comparison is not None else f"{winner} can be used on rows like these"
    if hidden is not None and data.costs is None:
        return (
            f"{use}, but not as it decides by itself if {quoted(hidden)} matters: say what missing it costs, or move "
            "its threshold."
        )
    tied = [] if comparison is None else rivals(comparison, winner)
    if tied:
        return f"{use}. {listed(tied)} would serve as well: take whichever is easiest to explain and to run."
    return f"{use}."


def _has_learned(data: ReportData) -> bool:
    """Whether the model is better than one that knows no column, beyond chance."""
    if data.comparison is not None:
        return is_better(data.comparison, data.winner, BASELINE)
    balanced = data.evaluation["balanced_accuracy"]
    return bool((balanced.value if math.isnan(balanced.low) else balanced.low) > 1 / len(data.classes))


def _question(data: ReportData) -> str:
    names = [quoted(label) for label in data.classes]
    either = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    classes = either if len(names) <= 4 else f"{len(names)} classes"
    if data.rows is None:
        return f"The question is how well {data.target} ({classes}) is predicted."
    columns, n_rows = several(len(data.rows.names), "column"), count(len(data.rows.y))
    if data.comparison is None:
        n_rows, asked = count(data.evaluation.n_rows), f"The question is how well {data.winner} predicts {data.target}"
        return f"{asked} ({classes}) of {n_rows} rows from {columns}."
    return f"The question is whether {data.target} ({classes}) can be predicted from {columns}, given {n_rows} rows."


def _result(data: ReportData) -> list[str]:
    comparison, winner = data.comparison, data.winner
    accuracy, *ends = data.accuracy
    interval = between("accuracy", *ends)
    level = data.evaluation.level if comparison is None else comparison.level
    sure = f" ({100 * level:g} % interval {interval})" if interval else ""
    label, share = data.confusion.most_frequent
    no_less = ", as often or more often" if accuracy <= share else ""
    always = f"Always naming {quoted(label)}, the most frequent class, would be right for {percent(share)}{no_less}."
    if comparison is None:
        return [
            f"{winner} gave the right class to {percent(accuracy)} of {data.evaluated_on}{sure}.",
            always,
            _hidden(data),
        ]
    if not is_better(comparison, winner, BASELINE):
        return [_nothing_learned(data, comparison, winner), _hidden(data)]
    found = f"the right class for {percent(accuracy)} of rows it has not seen{sure}"
    n_models = len(comparison.ranking) - 1
    first = (
        f"{winner} did best of {several(n_models, 'model')}" if winner == comparison.best else f"{winner} was chosen"
    )
    best = f"{first}: it gives {found}." if n_models > 1 else f"{winner} gives {found}."
    return [best, always, _hidden(data), _compared_by(comparison, winner), _ties(comparison, winner)]


def _compared_by(comparison: Comparison, winner: str) -> str:
    """What the models were compared by, and what is left of the winner's figure after correction for the choice."""
    metric, chosen = comparison.metric, comparison.chosen
    value = comparison.cross_validation.mean(winner, metric)
    found = [] if metric in ("accuracy", "error_rate") else [f"where it reaches {measured(metric, value)}"]
    if chosen is not None and chosen.model == winner:
        corrected, ends = measured(metric, chosen.value), between(metric, chosen.low, chosen.high)
        interval = f" ({100 * chosen.level:g} % confidence interval {ends})" if ends else ""
        choice = f" after correction for choosing among {chosen.n_models} models" if chosen.n_models > 1 else ""
        found.append(f"expected on new rows: {corrected}{choice}{interval}")
    return f"The models were compared by {metric_name(metric)}, {'; '.join(found)}." if found else ""


def _hidden(data: ReportData) -> str:
    """The class that the accuracy hides, if there is one."""
    label = data.confusion.hidden_class
    if label is None:
        return ""
    recall, balanced = data.evaluation["recall", label], data.evaluation["balanced_accuracy"]
    interval = between("recall", recall.low, recall.high)
    return (
        f"Accuracy hides that of the rows of {quoted(label)} only {percent(recall.value)} were found"
        f"{f' ({interval})' if interval else ''}: were all classes equally frequent, {percent(balanced.value)} of the "
        "rows would be right."
    )


def _nothing_learned(data: ReportData, comparison: Comparison, winner: str) -> str:
    metric, (label, share) = metric_name(comparison.metric), data.confusion.most_frequent
    always = f"the baseline by {metric} (majority class {quoted(label)}: {percent(share)} of the rows)"
    if any(is_better(comparison, name, BASELINE) for name in comparison.ranking):
        return f"{winner}, which was chosen, is not clearly better than {always}. Other models are better."
    by_auc = " ".join(comparison.better_by_auc())
    return f"No model is clearly better than {always}.{f' {by_auc}' if by_auc else ''}"


def _ties(comparison: Comparison, winner: str) -> str:
    tied = rivals(comparison, winner)
    better = [name for name in comparison.ranking if is_better(comparison, name, winner)]
    if better:
        return f"{listed(better)} did better, by more than chance."
    if not tied:
        return "Its lead over the others is more than chance." if len(comparison.ranking) > 2 else ""
    verb = "is" if len(tied) == 1 else "are"
    return f"{listed(tied)} {verb} not significantly different from it: choose the simplest of them."


def _costs(data: ReportData) -> str:
    if data.costs is None:
        return "No costs were given, so that every error counts alike; the part on costs shows what changes if not."
    evaluation = data.evaluation
    if "cost" not in evaluation:
        return "Costs were given, but the evaluation was made without them."
    cost = evaluation["cost"]
    interval = between("cost", cost.low, cost.high)
    words = f"Under the costs given a row costs {significant(cost.value, 3)} on average"
    by_costs = ", each given the class of least expected cost" if evaluation.calibration else ""
    always = ""
    if evaluation.cheapest is not None:
        answer, least = evaluation.cheapest
        always = f"; always {quoted(answer)} would cost {significant(least, 3)}"
    return f"{words}{f' ({interval})' if interval else ''}{by_costs}{always}."


def _key_figures(data: ReportData) -> list[dict[str, str]]:
    (label, share), evaluation = data.confusion.most_frequent, data.evaluation
    found: list[tuple[str, str, Sequence[float]]] = [("accuracy", "", data.accuracy)]
    found.append(("majority", f"Always {quoted(label)}", (share, math.nan, math.nan)))
    wanted = [("recall", f"Recall of {quoted(data.rare_class)}", evaluation["recall", data.rare_class])]
    others = ("balanced_accuracy", "auc", "log_loss", "cost")
    wanted += [(metric, "", evaluation[metric]) for metric in others if metric in evaluation]
    found += [(metric, called, (one.value, one.low, one.high)) for metric, called, one in wanted]
    found = [(metric, called, data.validated(metric) or value) for metric, called, value in found]
    return [
        {"metric": metric, "called": called, "value": measured(metric, value), "interval": between(metric, *ends)}
        for metric, called, (value, *ends) in found
        if not math.isnan(value)
    ]


#: A class with fewer rows than this is called poor.
_FEW_ROWS = 20


def conclusions_section(data: ReportData) -> dict[str, Any]:
    """What the section on the limits of the conclusion shows."""
    from ..figures import learning_curve

    curve = data.learning_curve
    return {
        "noise": _noise(data),
        "costs": _other_costs(data),
        "shares": _other_shares(data.confusion, data.evaluation.positive),
        "rows": _more_rows(data),
        "drawing": None if curve is None else drawing("plot-learning", learning_curve, curve),
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
            words.append(f"Judged by {metric_name(metric)}, {best} comes first.")
    return words


def _order_sentence(comparison: Comparison, winner: str) -> str:
    tied = rivals(comparison, winner)
    if not is_better(comparison, winner, BASELINE):
        return f"Columns that tell the classes apart would: with these {winner} is not clearly better than nothing."
    if tied:
        return f"Another draw of rows could put {listed(tied)} before {winner}: their differences are within noise."
    return f"Another draw of rows would hardly change the order: no other model is within noise of {winner}."


def _other_costs(data: ReportData) -> list[str]:
    every = thresholds_of(data) if len(data.classes) == 2 else []
    if not every:
        return [
            "Costs move the boundary between every pair of classes. The sliders show it for each class against the "
            "others; with a table of costs the decision of least expected cost is taken."
        ]
    strict, lenient = (_best_words(every[0], ratio) for ratio in (0.1, 10.0))
    return [f"If a false alarm costs ten times a miss, {strict}; if a miss costs ten times a false alarm, {lenient}."]


def _best_words(found: Thresholds, ratio: float) -> str:
    place, label = found.best(ratio), quoted(found.label)
    if found.never(place):
        return f"it is best never to name {label}"
    threshold, sensitivity = short(float(found.values[place])), percent(float(found.sensitivity[place]))
    return f"the best threshold for {label} is {threshold} and finds {sensitivity} of the class"


def _other_shares(confusion: ConfusionMatrix, positive: Any) -> list[str]:
    recalls = confusion.recall
    if np.isnan(recalls).any():
        return ["Some class has no rows here: what happens where it is frequent cannot be told."]
    equal = f"Were all classes equally frequent, {percent(float(recalls.mean()))} of the rows would be right."
    if positive is None:
        return [f"{equal} Accuracy moves towards the recall of whatever class becomes more frequent."]
    # How the precision of the positive class changes where the class is rarer.
    k = confusion.classes.tolist().index(positive)
    sensitivity, specificity = float(recalls[k]), float(confusion.specificity[k])
    share = float(confusion.counts[k].sum() / confusion.total)
    now, rarer = (precision_at(part, sensitivity, specificity) for part in (share, share / 10))
    return [
        equal,
        f"Of the rows called {quoted(confusion.classes[k])}, {percent(now)} are right at its present share of "
        f"{percent(share)}; were it ten times rarer, {percent(rarer)} would be, with the same model and threshold.",
    ]


def _more_rows(data: ReportData) -> list[str]:
    words = [_curve_sentence(data)]
    pairs = zip(data.classes, data.class_rows.tolist(), strict=True)
    poor = [f"{quoted(label)} ({count(n)})" for label, n in pairs if n < _FEW_ROWS]
    if poor:
        named = listed(poor, most=5)
        words.append(f"Few rows are of {named}: what is said of so rare a class may change with a few more rows.")
    return words


def _curve_sentence(data: ReportData) -> str:
    curve, (_, low, high) = data.learning_curve, data.accuracy
    if curve is None:
        known = (
            f"The accuracy is known to lie between {percent(low)} and {percent(high)}; four times as many rows would "
            "about halve that width. "
        )
        return f"{'' if math.isnan(low) else known}Whether more rows would make a better model, a learning curve tells."
    return (
        f"With {count(int(curve.sizes[-1]))} training rows the error is {percent(curve.validation().value)}; endless "
        f"rows would bring it to about {percent(curve.limit.value)}, {100 * curve.estimation.value:.1f} points less "
        f"(give or take {100 * curve.estimation.reach:.1f})."
    )


#: Address, heading and content of each section, in the order in which they are read.
SECTIONS: tuple[tuple[str, str, Callable[[ReportData], dict[str, Any]]], ...] = (
    ("answer", "The answer", answer_section),
    ("data", "The data", data_section),
    ("models", "The comparison", models_section),
    ("coefficients", "What the model has learned", coefficients_section),
    ("confusion", "Where it is right and wrong", confusion_section),
    ("roc", "How well its scores rank rows", roc_section),
    ("calibration", "Whether its probabilities come true", calibration_section),
    ("thresholds", "Costs and thresholds", thresholds_section),
    ("regions", "Decision regions", regions_section),
    ("conclusions", "What would change the conclusion", conclusions_section),
    ("reproduction", "How to reproduce this", reproduction_section),
)


def write_report(
    path: str | os.PathLike[str], comparison: Any, training: Any, *, evaluation: Any = None, model: Any = None,
    model_name: str | None = None, coefficients: Any = None, costs: Any = None, learning_curve: Any = None,
    command: str | None = None, random_state: Any = 0,
    source: str | os.PathLike[str] | None = None, title: str | None = None,
) -> Path:  # fmt: skip
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
    coefficients : CoefficientTable, optional
        What the model has learned, where it cannot tell itself: one from a file has no standard errors, but its file
        may. Default: `coefficient_table` of the model.
    costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`.
    learning_curve : LearningCurve, optional
        Of the winner: whether more rows would help.
    command : str, optional
        What made the report, for those who want to make it again.
    random_state : int, default=0
        The one that dealt the folds.
    source : str or path, optional
        The file of the rows: its name stands below the title.
    title : str, optional
        Stands above the page. Default: a question after the column of classes.

    Returns
    -------
    Path
        The path of the file.

    See Also
    --------
    compare : Makes the comparison.
    evaluate : Makes the evaluation of one model.
    discriminant.report.raster_page.write_raster_report : The report of an image.

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
    >>> "98.0 %" in text
    True
    """
    given = (evaluation, model, model_name, coefficients, costs, learning_curve, command, random_state)
    data = ReportData(comparison, training, *given)
    made = [Section(name, heading, content(data)) for name, heading, content in SECTIONS]
    sections = [section for section in made if section.content and "absent" not in section.content]
    words = dict(sorted(WORDS.items(), key=lambda item: item[1][0].lower()))
    n_rows = data.evaluation.n_rows if data.rows is None else len(data.rows.y)
    facts = [] if source is None else [Path(source).name]
    facts += [f"{count(n_rows)} rows", several(len(data.classes), "class", "classes")]
    if data.evaluation.positive is not None:
        facts.append(f"positive class {quoted(data.evaluation.positive)}")
    if data.comparison is not None:
        facts.append(several(len(data.comparison.ranking) - 1, "model") + " and a baseline")
    return write_page(path, "report.html", title or title_of(data), facts, sections, words=words)
