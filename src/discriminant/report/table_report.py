"""The report of a comparison or an evaluation on a table: its data, summary and sections."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Classifier, MatrixLike, RandomState
from ..data import as_rows, encode_labels
from ..decision.costs import read_costs
from ..errors import ParameterError
from ..estimators.coefficients import CoefficientTable
from ..evaluation.by_group import GroupMeasures
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation
from ..evaluation.intervals import Estimate
from ..results import Finding, count, plain, several
from ..tables.schema import Schema
from ..tables.training import TrainingTable
from ..validation.comparison import Comparison
from ..validation.cross_validation import BASELINE
from ..validation.learning_curve import LearningCurve
from .cost_thresholds import Costs, thresholds_section
from .page import Section, between, measured, quoted, write_page
from .risk_blocks import decision_section, groups_section
from .sections import (
    WORDS,
    calibration_section,
    coefficients_section,
    confusion_section,
    confusions,
    data_section,
    models_section,
    regions_section,
    reproduction_section,
    roc_section,
)
from .sentences import (
    Standing,
    accuracy_sentence,
    class_sentence,
    confidence_sentence,
    cost_sentence,
    error_sentence,
    evaluated_recommendation,
)

#: Training rows as a report takes them.
Training: TypeAlias = TrainingTable | tuple[MatrixLike, ArrayLike] | tuple[MatrixLike, ArrayLike, Sequence[str]]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training data of the models, with names, weights and findings."""

    X: MatrixLike
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


def training_rows(given: Training) -> TrainingRows:
    """Training rows from what `read_training` returns, or from ``(X, y)`` or ``(X, y, names)``."""
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


# A class is rare if it has less than this share of the rows of the majority class.
RARE_CLASS_RATIO: Final = 0.8
#: Measures of probabilities and scores, which do not depend on costs.
PROBABILISTIC: Final = ("auc", "log_loss", "brier")


@dataclass(frozen=True, eq=False)
class TableReport:
    """The parts of the report of a table, and the quantities derived from them.

    Parameters
    ----------
    comparison : Comparison or None
        The result of `compare`; None for the report of one evaluated model.
    training : TrainingTable, (X, y), (X, y, names) or None
        The training data of the models.
    given_evaluation : Evaluation, optional
        The evaluation of the best model on held-out data. Default: of the out-of-fold predictions of the comparison.
    model : fitted classifier, optional
        The best model, fitted to all rows, for coefficients and decision regions.
    model_name : str, optional
        The name of the model in the comparison. Default: the best.
    coefficients : CoefficientTable, optional
        For a model without standard errors, such as one from a file. Default: `coefficient_table` of the model.
    given_costs : array, dict or frame, optional
        Rows true classes, columns actions, as for `Decision`.
    learning_curve : LearningCurve, optional
        The learning curve of the best model.
    command : str, optional
        The command that wrote the report, to reproduce it.
    random_state : int, default=0
        The random state of the cross-validation.
    source : str or path, optional
        The file of the rows; its name is part of the subtitle.
    title : str, optional
        The title of the page. Default: "Classification of" and the name of the target.
    by_group : GroupMeasures, optional
        The measures of the model by group.

    See Also
    --------
    write_report : Writes it.

    Examples
    --------
    >>> from discriminant import LabelledPredictions, evaluation_of
    >>> TableReport(None, None, evaluation_of(LabelledPredictions(["a", "b"], ["a", "b"]))).classes
    ['a', 'b']
    """

    comparison: Comparison | None
    training: Training | None
    given_evaluation: Evaluation | None = None
    model: Classifier | None = None
    model_name: str | None = None
    coefficients: CoefficientTable | None = None
    given_costs: Any = None
    learning_curve: LearningCurve | None = None
    command: str | None = None
    random_state: RandomState = 0
    source: str | os.PathLike[str] | None = None
    title: str | None = None
    by_group: GroupMeasures | None = None

    def __post_init__(self) -> None:
        for name, value, kind, maker in (
            ("comparison", self.comparison, Comparison, "compare"),
            ("given_evaluation", self.given_evaluation, Evaluation, "evaluate"),
            ("learning_curve", self.learning_curve, LearningCurve, "learning_curve"),
        ):
            if value is not None and not isinstance(value, kind):
                raise ParameterError(f"{name} must be the result of {maker}() or None, got {type(value).__name__}.")
        if self.comparison is None and self.given_evaluation is None:
            raise ParameterError("A report needs a comparison or an evaluation, got neither.")

    @cached_property
    def rows(self) -> TrainingRows | None:
        """The training rows; None if they were not given."""
        return None if self.training is None else training_rows(self.training)

    @cached_property
    def winner(self) -> str:
        """The name of the reported model."""
        if self.comparison is None:
            return self.model_name or ("model" if self.model is None else type(self.model).__name__)
        ranking = self.comparison.ranking
        if self.model_name is not None and self.model_name not in ranking:
            raise ParameterError(
                f"model_name {self.model_name!r} must be one of the compared models: {', '.join(ranking)}."
            )
        return self.model_name or self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """The given evaluation, or that of the out-of-fold predictions."""
        if self.given_evaluation is not None:
            return self.given_evaluation
        assert self.comparison is not None
        return self.comparison.cross_validation.evaluation(self.winner, self.given_costs, self.comparison.level)

    @property
    def evaluated_on(self) -> str:
        """The rows of the evaluation, as text."""
        if self.given_evaluation is not None or self.comparison is None:
            return "the evaluation data"
        found = self.comparison.cross_validation
        if self.winner not in found.out_of_fold:
            return "the held-out rows of the comparison"
        folds = found.n_splits // self.n_repeats
        return f"out-of-fold predictions ({folds} folds{self.part})"

    @property
    def n_repeats(self) -> int:
        """How often every row was held out; 1 if predictions were not kept."""
        if self.comparison is None or self.given_evaluation is not None:
            return 1
        kept = self.comparison.cross_validation.out_of_fold.get(self.winner)
        return 1 if kept is None else len(kept.codes)

    @property
    def part(self) -> str:
        """The repeat that counts of rows refer to, if rows were held out repeatedly."""
        return f", first of {self.n_repeats} repeats" if self.n_repeats > 1 else ""

    @property
    def confusion(self) -> ConfusionMatrix:
        """The confusion matrix of the evaluation."""
        if self.evaluation.confusion is None:
            raise ParameterError("The evaluation has no confusion matrix. Give predictions to evaluation_of.")
        return self.evaluation.confusion

    @cached_property
    def costs(self) -> Costs | None:
        """The given costs, for the classes of the evaluation."""
        if self.given_costs is None:
            return None
        values, actions = read_costs(self.given_costs).aligned(self.evaluation.classes)
        if values.ndim == 3:
            raise ParameterError("given_costs must be one cost table for all rows, got one per row.")
        return Costs(values, [plain(label) for label in self.evaluation.classes], actions)

    @property
    def classes(self) -> list[Any]:
        """The classes of the evaluation."""
        return self.evaluation.classes.tolist()

    @property
    def has_rare_class(self) -> bool:
        """Whether some class has clearly fewer rows than the most frequent one."""
        rows = self.confusion.counts.sum(axis=1)
        return bool(rows[rows > 0].min() < RARE_CLASS_RATIO * rows.max())

    @property
    def rare_class(self) -> Any:
        """The class that accuracy hides, else the rarest class, else the class with the lowest recall."""
        confusion = self.confusion
        if confusion.hidden_class is not None:
            return confusion.hidden_class
        rows, recall = confusion.counts.sum(axis=1), confusion.recall
        by = rows if self.has_rare_class else recall
        return plain(confusion.classes[int(np.argmin(np.where(rows > 0, by, np.inf)))])

    @property
    def target(self) -> str:
        """The name of the target in quotes, or "the class"."""
        name = None if self.rows is None else self.rows.target
        return "the class" if name is None else quoted(name)

    def measure(self, metric: str, of: Hashable | None = None) -> Estimate:
        """A measure of the model, the same in the whole report.

        It is that of the comparison, over all repeats and with the AUC as the mean over folds; or that of the
        evaluation, if the comparison does not have it or if other decisions or other rows were evaluated.

        Parameters
        ----------
        metric : str
            Its name.
        of : label, optional
            The class, for a rate of a class.

        Returns
        -------
        Estimate
            With its interval.
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
        """The rank of the model among the compared models."""
        return None if self.comparison is None else Standing.of(self.comparison, self.winner)

    @property
    def lowest(self) -> tuple[Any, float] | None:
        """The class that accuracy hides, and its recall, if no costs were given."""
        label = self.confusion.hidden_class
        return None if label is None or self.costs is not None else (label, self.evaluation["recall", label].value)

    @property
    def is_decided_by_costs(self) -> bool:
        """Whether the evaluated decisions minimise expected cost."""
        if self.evaluation.is_decided_by_costs or self.comparison is None or self.given_evaluation is not None:
            return self.evaluation.is_decided_by_costs
        return self.winner in self.comparison.cross_validation.decided_by_costs

    @property
    def has_two_aucs(self) -> bool:
        """Whether the report has the mean AUC of the splits and the AUC of all rows pooled."""
        own = self.comparison is not None and self.given_evaluation is None and self.evaluation.roc is not None
        return own and self.comparison is not None and "auc" in self.comparison.cross_validation.metrics

    @property
    def is_weighted(self) -> bool:
        """Whether rows of a class are counted by their weights."""
        return self.evaluation.total_weight != self.evaluation.n_rows

    @cached_property
    def class_rows(self) -> Array:
        """The rows of each class, or the sums of their weights; of the training data, if known."""
        return self._class_sums(None if self.rows is None else self.rows.weights)

    @cached_property
    def class_counts(self) -> Array:
        """The unweighted number of rows of each class; of the training data, if known."""
        return self._class_sums(None)

    def _class_sums(self, weights: Array | None) -> Array:
        if self.rows is None:
            return self.confusion.counts.sum(axis=1)
        classes, codes = encode_labels(self.rows.y, len(self.rows.y))
        found = dict(zip(classes.tolist(), np.bincount(codes, weights=weights).tolist(), strict=True))
        return np.array([found.get(label, 0) for label in self.classes])


def title_of(data: TableReport) -> str:
    """The default title."""
    return f"Classification of {data.target}"


def answer_section(data: TableReport) -> dict[str, Any]:
    """The summary: at most four bullets (first the costs, if they rank), a recommendation, and the main measures."""
    others = [_accuracy(data), _rare_class(data), _standing(data)]
    bullets = [_costs(data), *others] if _is_ranked_by_cost(data) else [*others, _costs(data)]
    return {
        "bullets": [bullet for bullet in bullets if bullet],
        "recommendation": " ".join(filter(None, [_recommendation(data), calibration_warning(data)])),
        "keys": _key_figures(data),
    }


def _is_ranked_by_cost(data: TableReport) -> bool:
    """Whether the models are ranked by expected cost."""
    own = data.comparison if data.given_evaluation is None and data.costs is not None else None
    return own is not None and own.metric == "cost"


def _accuracy(data: TableReport) -> str:
    is_given = data.given_evaluation is not None or data.comparison is None
    name = f"{'Accuracy' if is_given else 'Held-out accuracy'} of {data.winner}"
    if not _is_ranked_by_cost(data):
        name = _introduced(data, "Held-out accuracy") or name
    return accuracy_sentence(name, data.accuracy, data.confusion.most_frequent)


def _introduced(data: TableReport, name: str) -> str:
    """The name of a measure with the model as the best or the chosen one; empty without a better model or baseline."""
    if data.comparison is None or data.standing is None:
        return ""
    best = data.comparison.best_model
    if data.winner not in (best, BASELINE):
        return f"Chosen model: {data.winner} (best: {best}). {name}"
    return f"Best model: {data.winner}. {name}" if data.standing.beats_baseline and not data.standing.better else ""


def _rare_class(data: TableReport) -> str:
    """Recall and precision of the class that accuracy shows least."""
    label, rows = data.rare_class, data.confusion.counts.sum(axis=1)
    share = float(rows[data.confusion.classes.tolist().index(label)] / rows.sum())
    return class_sentence(label, share, data.measure("recall", label), data.measure("precision", label), data.part)


def _standing(data: TableReport) -> str:
    """The rank of the model among the others; its errors, if it is alone."""
    if data.standing is not None and not data.standing.beats_baseline:
        return data.standing.against_baseline(data.confusion.most_frequent)
    if data.standing is None or data.standing.n_models < 2:
        most = confusions(data)
        return error_sentence(data.winner, 1 - data.accuracy.value, len(most), most[0] if most else None)
    return data.standing.sentence


def _recommendation(data: TableReport) -> str:
    if data.standing is None:
        return evaluated_recommendation(data.winner, data.evaluation, data.lowest)
    return data.standing.recommendation(data.lowest)


def calibration_warning(data: TableReport) -> str:
    """That the probabilities on which thresholds and costs depend are poorly calibrated; else empty."""
    return confidence_sentence(data.evaluation.calibration_line, data.winner, data.evaluation.level)


def _costs(data: TableReport) -> str:
    """The mean cost; empty without costs."""
    if data.costs is None:
        return ""
    if "cost" not in data.evaluation:
        return "Costs were given, but the evaluation was made without them."
    cost, cheapest, is_least = data.measure("cost"), data.evaluation.cheapest, data.is_decided_by_costs
    name = "Mean cost per row"
    if _is_ranked_by_cost(data):
        name = "Held-out expected cost per row"
        name = _introduced(data, name) or f"{name} of {data.winner}"
    return cost_sentence(name, cost, cheapest, is_least)


def _key_figures(data: TableReport) -> list[dict[str, str]]:
    share, rare = data.confusion.most_frequent[1], data.rare_class
    found: list[tuple[str, str, Estimate]] = [
        ("accuracy", "", data.accuracy),
        ("majority", "Majority-class accuracy", Estimate(share, math.nan, math.nan, data.accuracy.level, "")),
        ("recall", f"Recall of {quoted(rare)}{data.part}", data.measure("recall", rare)),
    ]
    others = ("balanced_accuracy", "auc", "log_loss", "rps", "mean_absolute_error", "kappa_quadratic", "cost")
    for metric in others:
        if metric in data.evaluation:
            called = "AUC (mean over folds)" if metric == "auc" and data.has_two_aucs else ""
            found.append((metric, called, data.measure(metric)))
    if _is_ranked_by_cost(data):
        found.sort(key=lambda one: one[0] != "cost")
    return [
        {
            "metric": metric,
            "called": called,
            "value": measured(metric, one.value),
            "interval": between(metric, one.low, one.high, one.is_range),
        }
        for metric, called, one in found
        if not math.isnan(one.value)
    ]


#: Address, title and content of each section, in their order.
SECTIONS: tuple[tuple[str, str, Callable[[TableReport], dict[str, Any]]], ...] = (
    ("answer", "Summary", answer_section),
    ("data", "Data", data_section),
    ("models", "Model comparison", models_section),
    ("coefficients", "Coefficients", coefficients_section),
    ("confusion", "Performance", confusion_section),
    ("roc", "ROC and precision-recall", roc_section),
    ("calibration", "Calibration", calibration_section),
    ("decision", "Decision curve", decision_section),
    ("thresholds", "Costs and thresholds", thresholds_section),
    ("groups", "Performance by group", groups_section),
    ("regions", "Decision regions", regions_section),
    ("reproduction", "Reproducing this report", reproduction_section),
)


def write_report(path: str | os.PathLike[str], report: TableReport) -> Path:
    """Write a report as one HTML file that works offline, and return its path.

    Parameters
    ----------
    path : str or path
        The file; it is written completely or not at all.
    report : TableReport
        The parts of the report.

    Returns
    -------
    Path
        The path of the file.

    See Also
    --------
    compare : Compare models.
    evaluate : Evaluate one model.
    discriminant.report.raster_page.write_raster_report : Write the report of an image.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis, compare
    >>> from discriminant.report import TableReport, write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis()
    >>> report = TableReport(compare({"LDA": model}, X, y), (X, y), model=model.fit(X, y))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_report(f"{folder}/iris.html", report).read_text(encoding="utf-8")
    >>> "98.0 %" in text
    True
    """
    made = [Section(name, heading, content(report)) for name, heading, content in SECTIONS]
    sections = [section for section in made if section.content and "skipped" not in section.content]
    n_rows = report.evaluation.n_rows if report.rows is None else len(report.rows.y)
    facts = [] if report.source is None else [Path(report.source).name]
    facts += [f"{count(n_rows)} rows", several(len(report.classes), "class", "classes")]
    if report.evaluation.positive is not None:
        facts.append(f"positive class {quoted(report.evaluation.positive)}")
    if report.comparison is not None:
        facts.append(several(len(report.comparison.ranking) - 1, "model") + " and a baseline")
    words = dict(sorted(WORDS.items(), key=lambda item: item[1][0].lower()))
    return write_page(path, "report.html", report.title or title_of(report), facts, sections, words=words)
