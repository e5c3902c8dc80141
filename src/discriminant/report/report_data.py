"""What a report is made of, gathered from what was given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..data.labels import encode_labels
from ..data.rows import as_rows
from ..decision.costs import read_costs
from ..errors import ParameterError
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation, evaluation_of
from ..results import plain
from ..tables.learning import Finding
from ..tables.schema import Schema
from ..tables.training import TrainingTable
from ..validation.comparison import Comparison
from ..validation.learning_curve import LearningCurve
from ..validation.out_of_fold import Predictions, model_answers
from ..validation.splits import LabelledTable, labelled_table, plan_rounds

Array = np.ndarray[Any, Any]

BASELINE = "baseline"
_FOLDS = 10
_OTHER_PREDICTIONS = "not the predictions of the comparison, which had other folds or decided by costs"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows the models were fitted to, and what is known about them."""

    X: Any
    y: Array
    names: tuple[str, ...]
    weights: Array | None = None
    groups: Array | None = None
    schema: Schema | None = None
    findings: tuple[Finding, ...] = ()
    n_dropped: int = 0

    @property
    def target(self) -> str | None:
        """The name of the column of classes."""
        return None if self.schema is None or self.schema.target is None else self.schema.target.name


@dataclass(frozen=True)
class Costs:
    """What each action costs where each class is true: rows classes, columns actions."""

    values: Array
    classes: list[Any]
    actions: list[Any]


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that the parts of a report read."""

    comparison: Comparison | None
    rows: TrainingRows | None
    evaluation: Evaluation
    evaluated_on: str  #: which rows the evaluation is of, in words
    model: Any
    winner: str
    costs: Costs | None
    learning_curve: LearningCurve | None
    command: str | None
    random_state: Any

    @property
    def classes(self) -> list[Any]:
        return self.evaluation.classes.tolist()

    @property
    def target(self) -> str:
        """How sentences call what is predicted."""
        name = None if self.rows is None else self.rows.target
        return "the class" if name is None else f"“{name}”"

    @cached_property
    def class_rows(self) -> Array:
        """The rows of each class, or the sums of their weights: in training, where that is known."""
        if self.rows is not None:
            classes, codes = encode_labels(self.rows.y, len(self.rows.y))
            found = dict(zip(classes.tolist(), np.bincount(codes, weights=self.rows.weights).tolist(), strict=True))
            return np.array([found.get(label, 0.0) for label in self.classes])
        assert self.evaluation.confusion is not None
        return self.evaluation.confusion.counts.sum(axis=1)


def gather(
    comparison: Any,
    training: Any,
    evaluation: Any,
    model: Any,
    model_name: str | None,
    costs: Any,
    learning_curve: Any,
    command: str | None,
    random_state: Any,
) -> ReportData:
    """The material of a report; what is missing is made of the rest where that can be done."""
    _check_kinds(comparison, evaluation, learning_curve)
    rows = _training_rows(training)
    winner = _winner(comparison, model, model_name)
    if evaluation is None:
        evaluation, evaluated_on = _own_evaluation(comparison, rows, model, winner, costs, random_state)
    else:
        evaluated_on = "the rows of the evaluation"
    if evaluation.confusion is None:
        raise ParameterError("The evaluation has no confusion matrix: give predictions to evaluation_of as well.")
    return ReportData(
        comparison,
        rows,
        evaluation,
        evaluated_on,
        model,
        winner,
        None if costs is None else _checked_costs(costs, evaluation.classes),
        learning_curve,
        command,
        random_state,
    )


def _check_kinds(comparison: Any, evaluation: Any, learning_curve: Any) -> None:
    for name, value, kind, maker in (
        ("comparison", comparison, Comparison, "compare"),
        ("evaluation", evaluation, Evaluation, "evaluate"),
        ("learning_curve", learning_curve, LearningCurve, "learning_curve"),
    ):
        if value is not None and not isinstance(value, kind):
            raise ParameterError(f"{name} must be what {maker}() returns, or None, got {type(value).__name__}.")
    if comparison is None and evaluation is None:
        raise ParameterError("There is nothing to report: give a comparison, an evaluation, or both.")


def _training_rows(training: Any) -> TrainingRows | None:
    if training is None:
        return None
    if isinstance(training, TrainingTable):
        return TrainingRows(
            training.X,
            training.y,
            training.schema.names,
            training.weights,
            training.groups,
            training.schema,
            training.findings,
            training.n_dropped,
        )
    if not isinstance(training, tuple) or len(training) not in (2, 3):
        raise ParameterError(
            f"training must be what read_training() returns, (X, y) or (X, y, names), got {type(training).__name__}."
        )
    X, y = training[:2]
    rows = as_rows(X)
    classes, codes = encode_labels(y, rows.n_rows)
    return TrainingRows(X, classes[codes], _names(rows, training[2] if len(training) == 3 else None))


def _names(rows: Any, given: Any) -> tuple[str, ...]:
    if given is None:
        return rows.names or tuple(f"x{j}" for j in range(rows.n_columns))
    names = tuple(map(str, given))
    if len(names) != rows.n_columns:
        raise ParameterError(f"training names {len(names)} columns, but X has {rows.n_columns}.")
    return names


def _winner(comparison: Comparison | None, model: Any, model_name: str | None) -> str:
    if comparison is None:
        return model_name or ("the model" if model is None else type(model).__name__)
    if model_name is None:
        return comparison.best
    if model_name not in comparison.ranking:
        raise ParameterError(f"{model_name!r} is not among the models compared: {', '.join(comparison.ranking)}.")
    return model_name


def _checked_costs(costs: Any, classes: Array) -> Costs:
    values, actions = read_costs(costs).aligned(classes)
    if values.ndim == 3:
        raise ParameterError("A report needs one table of costs for all rows, got one for each row.")
    return Costs(values, [plain(label) for label in classes], actions)


def _own_evaluation(
    comparison: Comparison | None, rows: TrainingRows | None, model: Any, winner: str, costs: Any, random_state: Any
) -> tuple[Evaluation, str]:
    """The evaluation of the winner on rows it had not seen, from the best there is."""
    assert comparison is not None
    crossed = comparison.cross_validation
    if rows is not None and len(rows.y) == round(crossed.counts[0].sum()) and winner in crossed.kept_posteriors:
        posterior, codes = crossed.kept_posteriors[winner][0], crossed.kept_codes[winner][0]
        found = _evaluated(rows, crossed.classes, Predictions(codes, posterior), costs, comparison.level)
        return found, "the rows held out in the comparison"
    if rows is not None and model is not None:
        table = labelled_table(rows.X, rows.y, rows.weights)
        answers, folds = out_of_fold(model, table, crossed.n_splits, rows.groups, random_state)
        found = _evaluated(rows, table.classes, answers, costs, comparison.level)
        others = "" if _same_counts(found, crossed.confusion(winner)) else f"; {_OTHER_PREDICTIONS}"
        return found, f"all rows, each predicted by a fit to the other folds ({folds} folds{others})"
    confusion = crossed.confusion(winner)
    total = float(confusion.total)
    notes = ["Only predicted classes were kept in the comparison, no probabilities."]
    counted = crossed.classes, round(total), total, comparison.level
    return Evaluation.of_parts(*counted, confusion=confusion, notes=notes), "the rows held out in the comparison"


def _same_counts(evaluation: Evaluation, confusion: ConfusionMatrix) -> bool:
    found = evaluation.confusion
    assert found is not None
    return found.counts.shape == confusion.counts.shape and bool(np.allclose(found.counts, confusion.counts))


def _evaluated(rows: TrainingRows, classes: Array, answers: Predictions, costs: Any, level: float) -> Evaluation:
    return evaluation_of(
        rows.y,
        classes[answers.codes],
        answers.posterior,
        answers.scores,
        classes=classes,
        costs=costs,
        sample_weight=rows.weights,
        groups=rows.groups,
        level=level,
    )


def out_of_fold(
    model: Any, table: LabelledTable, n_splits: int, groups: Any, random_state: Any
) -> tuple[Predictions, int]:
    """What fits to the other folds say of each row, and the number of folds.

    The folds are those of `compare`, where it dealt each row once with the same random state.
    """
    rarest = int(np.bincount(table.codes).min())
    stratify = rarest >= 2
    folds = min(n_splits, _FOLDS, rarest if stratify else table.n_rows)
    (dealt,) = plan_rounds(table, folds, 1, groups, stratify, random_state)
    codes = np.empty(table.n_rows, dtype=np.int32)
    columns: dict[str, Array] = {}
    for split in dealt.splits:
        train = split.train
        fitted = clone(model).fit(table.rows(train), table.labels(train), **table.fitting(train))
        found = model_answers(type(model).__name__, fitted, table, split.test, posteriors=True)
        codes[split.test] = found.codes
        for name in ("posterior", "scores"):
            values = getattr(found, name)
            if values is not None:
                columns.setdefault(name, np.empty((table.n_rows, values.shape[1])))[split.test] = values
    scores = columns.get("scores")
    if scores is not None and not np.isfinite(scores).all():  # a fold without some class: its scores are unknown
        scores = None
    return Predictions(codes, columns.get("posterior"), scores), folds
