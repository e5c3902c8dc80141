"""The report of a comparison or evaluation on a table: the answer in plain words, the evidence, and its limits."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..data import as_rows, encode_labels
from ..decision.costs import read_costs
from ..errors import ParameterError
from ..estimators.coefficients import CoefficientTable
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation
from ..evaluation.intervals import Estimate
from ..results import Finding, count, metric_name, percent, plain, several
from ..tables.schema import Schema
from ..tables.training import TrainingTable
from ..validation.comparison import Comparison
from ..validation.learning_curve import LearningCurve
from .page import Section, between, drawing, measured, quoted, short, write_page
from .sections import (
    WORDS,
    Thresholds,
    calibration_section,
    coefficients_section,
    confusion_section,
    confusions,
    data_section,
    models_section,
    regions_section,
    reproduction_section,
    roc_section,
    thresholds_of,
    thresholds_section,
)
from .sentences import (
    Standing,
    accuracy_sentence,
    best_by_metric,
    class_sentence,
    cost_sentence,
    equal_shares_sentence,
    error_sentence,
    evaluated_recommendation,
    few_rows_sentence,
    hidden_class_sentence,
    learning_sentence,
    precision_of_accuracy_sentence,
    prevalence_sentence,
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
#: Measures of probabilities and scores, which costs do not change.
PROBABILISTIC: Final = ("auc", "log_loss", "brier")


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
        folds = found.n_splits // self.n_repeats
        return f"all rows, each predicted by a fit to the other folds ({folds} folds{self.part})"

    @property
    def n_repeats(self) -> int:
        """How often every row was held out; 1 where predictions were not kept."""
        if self.comparison is None or self.given_evaluation is not None:
            return 1
        kept = self.comparison.cross_validation.out_of_fold.get(self.winner)
        return 1 if kept is None else len(kept.codes)

    @property
    def part(self) -> str:
        """What counts of rows are of, where rows were held out repeatedly."""
        return f", first of {self.n_repeats} repeats" if self.n_repeats > 1 else ""

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

    def measure(self, metric: str, of: Any = None) -> Estimate:
        """A measure of the model, the same wherever the report names it.

        That of the comparison where it has one, of all repeats and with the AUC as the mean of the splits; else, and
        where other decisions or other rows were evaluated, that of the evaluation.
        """
        evaluated = self.evaluation[metric if of is None else (metric, of)] if metric in self.evaluation else None
        if of is not None or self.comparison is None or self.given_evaluation is not None:
            return self.evaluation[metric if of is None else (metric, of)]
        validation = self.comparison.cross_validation
        decides_otherwise = self.costs is not None and self.winner not in validation.decided_by_costs
        is_other = metric not in validation.metrics or (decides_otherwise and metric not in PROBABILISTIC)
        if evaluated is not None and is_other:
            return evaluated
        return validation.estimate(self.winner, metric, self.comparison.level)

    @property
    def accuracy(self) -> Estimate:
        """The accuracy of the model."""
        return self.measure("accuracy")

    @cached_property
    def standing(self) -> Standing | None:
        """How the model stands among those it was compared with."""
        return None if self.comparison is None else Standing.of(self.comparison, self.winner)

    @property
    def lowest(self) -> tuple[Any, float] | None:
        """The class that accuracy hides, and its recall, where no costs were given."""
        label = self.confusion.hidden_class
        return None if label is None or self.costs is not None else (label, self.evaluation["recall", label].value)

    @property
    def is_decided_by_costs(self) -> bool:
        """Whether what was evaluated are decisions of least expected cost."""
        if self.evaluation.is_decided_by_costs or self.comparison is None or self.given_evaluation is not None:
            return self.evaluation.is_decided_by_costs
        return self.winner in self.comparison.cross_validation.decided_by_costs

    @property
    def has_two_aucs(self) -> bool:
        """Whether the AUC of the comparison, the mean of its splits, stands beside that of all rows pooled."""
        own = self.comparison is not None and self.given_evaluation is None and self.evaluation.roc is not None
        return own and self.comparison is not None and "auc" in self.comparison.cross_validation.metrics

    @property
    def is_weighted(self) -> bool:
        """Whether rows of a class are counted by their weights."""
        return self.evaluation.total_weight != self.evaluation.n_rows

    @cached_property
    def class_rows(self) -> Array:
        """The rows of each class, or the sums of their weights: in training, where that is known."""
        if self.rows is not None:
            classes, codes = encode_labels(self.rows.y, len(self.rows.y))
            found = dict(zip(classes.tolist(), np.bincount(codes, weights=self.rows.weights).tolist(), strict=True))
            return np.array([found.get(label, 0.0) for label in self.classes])
        return self.confusion.counts.sum(axis=1)

    @cached_property
    def class_counts(self) -> Array:
        """The rows of each class, whatever their weights: in training, where that is known."""
        if self.rows is None:
            return self.class_rows
        classes, codes = encode_labels(self.rows.y, len(self.rows.y))
        found = dict(zip(classes.tolist(), np.bincount(codes).tolist(), strict=True))
        return np.array([found.get(label, 0) for label in self.classes])


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
    rows = data.evaluated_on if data.given_evaluation is not None or data.comparison is None else "held-out rows"
    return accuracy_sentence(data.winner, rows, data.accuracy, data.confusion.most_frequent)


def _rare_class(data: ReportData) -> str:
    """What the class gets that accuracy says least about."""
    label, rows = data.rare_class, data.confusion.counts.sum(axis=1)
    share = float(rows[data.confusion.classes.tolist().index(label)] / rows.sum())
    return class_sentence(label, share, data.measure("recall", label), data.measure("precision", label), data.part)


def _standing(data: ReportData) -> str:
    """How the model stands among the others; its errors, where it is alone."""
    if data.standing is None or data.standing.n_models < 2:
        return _errors(data)
    return data.standing.against_baseline(data.confusion.most_frequent) or data.standing.sentence


def _errors(data: ReportData) -> str:
    """The error rate, of the decisions whose accuracy the report names."""
    most, right = confusions(data), data.accuracy.value
    return error_sentence(data.winner, 1 - right, len(most), most[0] if most else None)


def _recommendation(data: ReportData) -> str:
    """What to do, as far as the rows tell."""
    if data.standing is None:
        return evaluated_recommendation(data.winner, data.evaluation, data.lowest)
    return data.standing.recommendation(data.lowest)


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
    standing = data.standing
    if standing is None:
        return [_rightness(data), _hidden(data)]
    if not standing.beats_baseline:
        return [standing.against_baseline(data.confusion.most_frequent), _hidden(data)]
    assert data.comparison is not None
    best = f"Best of {several(standing.n_models, 'model')} by {standing.measure}: {data.comparison.best}."
    compared = [best, _compared_by(data.comparison, data.winner)] if standing.n_models > 1 else []
    return [_rightness(data), *compared, _hidden(data), standing.sentence]


def _compared_by(comparison: Comparison, winner: str) -> str:
    """The figure of the winner that the models were compared by, and what correction for the choice leaves of it."""
    metric, chosen = comparison.metric, comparison.chosen
    value = f"{metric_name(metric)[0].upper()}{metric_name(metric)[1:]} of {winner}: "
    value += measured(metric, comparison.cross_validation.mean(winner, metric))
    if chosen is None or chosen.model != winner:
        return f"{value}."
    ends = between(metric, chosen.low, chosen.high)
    interval = f" ({100 * chosen.level:g} % confidence interval {ends})" if ends else ""
    choice = f", corrected for choosing among {chosen.n_models} models" if chosen.n_models > 1 else ""
    return f"{value}; expected on new rows{choice}: {measured(metric, chosen.value)}{interval}."


def _hidden(data: ReportData) -> str:
    """The class that the accuracy hides, if there is one."""
    label = data.confusion.hidden_class
    if label is None:
        return ""
    return hidden_class_sentence(label, data.measure("recall", label), data.measure("balanced_accuracy"), data.part)


def _costs(data: ReportData) -> str:
    if data.costs is None:
        return "No costs were given: every error counts alike. Other costs: section Costs and thresholds."
    if "cost" not in data.evaluation:
        return "Costs were given, but the evaluation was made without them."
    return cost_sentence(data.measure("cost"), data.evaluation.cheapest, data.is_decided_by_costs)


def _key_figures(data: ReportData) -> list[dict[str, str]]:
    (label, share), rare = data.confusion.most_frequent, data.rare_class
    found: list[tuple[str, str, Estimate]] = [
        ("accuracy", "", data.accuracy),
        ("majority", f"Always {quoted(label)}", Estimate(share, math.nan, math.nan, data.accuracy.level, "")),
        ("recall", f"Recall of {quoted(rare)}{data.part}", data.measure("recall", rare)),
    ]
    others = ("balanced_accuracy", "auc", "log_loss", "cost")
    for metric in others:
        if metric in data.evaluation:
            called = "AUC (mean of the splits)" if metric == "auc" and data.has_two_aucs else ""
            found.append((metric, called, data.measure(metric)))
    return [
        {
            "metric": metric,
            "called": called,
            "value": measured(metric, one.value),
            "interval": between(metric, one.low, one.high),
        }
        for metric, called, one in found
        if not math.isnan(one.value)
    ]


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
    comparison, standing = data.comparison, data.standing
    if comparison is None or standing is None:
        return ["Only one model was evaluated: no other was compared with it."]
    validation = comparison.cross_validation
    means = {
        metric: {name: validation.mean(name, metric) for name in validation.models} for metric in validation.metrics
    }
    return [standing.order, *best_by_metric(means, data.winner)]


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
        return ["Some class has no rows here: the accuracy where it is frequent is unknown."]
    equal = equal_shares_sentence(float(recalls.mean()))
    if positive is None:
        return [f"{equal} Accuracy moves towards the recall of whatever class becomes more frequent."]
    k = confusion.classes.tolist().index(positive)
    share = float(confusion.counts[k].sum() / confusion.total)
    label, sensitivity, specificity = confusion.classes[k], float(recalls[k]), float(confusion.specificity[k])
    return [equal, prevalence_sentence(label, share, sensitivity, specificity)]


def _more_rows(data: ReportData) -> list[str]:
    return [_curve_sentence(data), few_rows_sentence(data.classes, data.class_counts.tolist())]


def _curve_sentence(data: ReportData) -> str:
    curve = data.learning_curve
    if curve is not None:
        return learning_sentence(int(curve.sizes[-1]), curve.validation(), curve.limit, curve.estimation)
    known = precision_of_accuracy_sentence(data.accuracy)
    return f"{f'{known} ' if known else ''}Whether more rows would make a better model is seen from a learning curve."


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
