"""What a report is made of, gathered from what was given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.checks import encode_labels
from ..data.rows import as_rows
from ..decision.costs import read_costs
from ..errors import ParameterError
from ..evaluation.evaluation import Evaluation
from ..results import Finding, plain
from ..tables.schema import Schema
from ..tables.training import TrainingTable
from ..validation.comparison import Comparison
from ..validation.cross_validation import CrossValidation
from ..validation.learning_curve import LearningCurve

Array = np.ndarray[Any, Any]


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

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """The winner's accuracy with its interval: by cross-validation, if models were compared."""
        if self.comparison is None:
            found = self.evaluation["accuracy"]
            return found.value, found.low, found.high
        validation = self.comparison.cross_validation
        return validation.mean(self.winner), *validation.interval(self.winner, level=self.comparison.level)

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
    *,
    evaluation: Any = None,
    model: Any = None,
    model_name: str | None = None,
    costs: Any = None,
    learning_curve: Any = None,
    command: str | None = None,
    random_state: Any = 0,
) -> ReportData:
    """What a report is made of; the evaluation is made of the comparison where none is given."""
    _check_kinds(comparison, evaluation, learning_curve)
    rows, winner = _training_rows(training), _winner(comparison, model, model_name)
    evaluated_on = "the rows of the evaluation"
    if evaluation is None:
        evaluation = comparison.cross_validation.evaluation(winner, costs, comparison.level)
        evaluated_on = _held_out_rows(comparison.cross_validation, winner)
    if evaluation.confusion is None:
        raise ParameterError("The evaluation has no confusion matrix: give predictions to evaluation_of as well.")
    known = None if costs is None else _checked_costs(costs, evaluation.classes)
    return ReportData(
        comparison, rows, evaluation, evaluated_on, model, winner, known, learning_curve, command, random_state
    )


def _held_out_rows(found: CrossValidation, winner: str) -> str:
    """Which rows an evaluation by cross-validation is of."""
    if winner not in found.out_of_fold:
        return "the rows held out in the comparison"
    folds = found.n_splits // len(found.out_of_fold[winner].codes)
    return f"all rows, each predicted by a fit to the other folds ({folds} folds)"


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
        shared = ("X", "y", "weights", "groups", "schema", "findings", "n_dropped")
        return TrainingRows(names=training.schema.names, **{name: getattr(training, name) for name in shared})
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
