"""Evaluate a stored model on labelled rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, ParameterError
from .stored import StoredModel, checked_metadata
from .tables import Roles

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..arrays import Array, MatrixLike
    from ..estimators.prediction_sets import PredictionSets
    from ..evaluation import Evaluation
    from ..evaluation.by_group import GroupMeasures
    from ..partitions.dataset import PartitionedRows
    from ..tables import TableReader, TrainingTable
    from .comparing import CostTable


def labelled_rows(
    stored: StoredModel, table: TableReader, roles: Roles = Roles(), missing_columns: str = "refuse"
) -> TrainingTable:
    """The rows of a table that have a class, coded for the model; ``n_dropped`` counts the others."""
    import numpy as np

    from ..tables import TrainingTable
    from ..tables.training import column_groups, column_weights

    extra = [name for name in (roles.weights, roles.groups) if name is not None]
    for name in extra:
        table.known(name, "column")
    target = stored.schema.target
    if target is not None and target.name is not None:
        table.known(target.name, "target")
    data = table.read()
    y, present = stored.schema.labels(data)
    if not present.any():
        raise InputError(f"{table.label}: no row has a class. Evaluation needs labelled rows.")
    if not present.all():
        data = data.filter(present)
    missing_codes = table.missing_codes
    weights = None if roles.weights is None else column_weights(data[roles.weights], roles.weights)
    groups = None if roles.groups is None else column_groups(data[roles.groups], roles.groups, missing_codes)
    used = {column.name for column in stored.schema.used}
    X, kept = stored.coded(data.drop_columns([name for name in extra if name not in used]), missing_columns)
    numbers = np.flatnonzero(present)
    if kept is not None:
        y, numbers = y[kept], numbers[kept]
        weights, groups = (None if values is None else values[kept] for values in (weights, groups))
    places = {label: place for place, label in enumerate(stored.classes)}
    codes = np.array([places[label] for label in y.tolist()], dtype=np.int32)
    n_dropped = int(np.count_nonzero(~present))
    return TrainingTable(X, y, codes, stored.schema, (), weights, groups, numbers, n_dropped)


@dataclass(frozen=True, eq=False)
class EvaluatedModel:
    """A stored model with its evaluation on labelled rows."""

    stored: StoredModel
    label: str  #: the name of the rows
    evaluation: Evaluation
    rows: TrainingTable | None = None  #: None if they are streamed
    costs: CostTable | None = None
    is_training: bool = False
    by_group: GroupMeasures | None = None

    def write_report(self, path: str | Path, command: str) -> None:
        """Write the report of the evaluation."""
        from ..report import TableReport, write_report

        assert self.rows is not None
        with checked_metadata(self.stored.path):
            report = TableReport(
                None,
                (getattr(self.rows.X, "values", self.rows.X), self.rows.y, self.stored.schema.names),
                given_evaluation=self.evaluation,
                model=self.stored.model,
                model_name=self.stored.name,
                coefficients=self.stored.coefficients,
                given_costs=self.costs,
                command=command,
                source=self.label,
                title=f"{self.stored.name} on {'training data' if self.is_training else 'held-out data'}",
            )
            write_report(path, report)


def calibrated_sets(stored: StoredModel, table: TableReader, coverage: float) -> PredictionSets:
    """The prediction sets of a stored model, calibrated by the labelled rows of a table."""
    from ..estimators.prediction_sets import PredictionSets

    if is_training_table(stored, table):
        raise ParameterError("--calibration is the training table. Prediction sets need held-out rows.")
    rows = labelled_rows(stored, table)
    return PredictionSets(stored.model, coverage, method="prefit").fit(rows.X, rows.y, rows.weights)


def is_training_table(stored: StoredModel, table: TableReader) -> bool:
    """Whether the model was fitted to this table."""
    return stored.training.get("sha256") == table.fingerprint


def outcome_probabilities(
    model: BaseEstimator, X: MatrixLike, y: Array, is_held_out: bool, positive: Hashable | None
) -> tuple[Array, Array]:
    """Whether rows are of the positive class, and its predicted probability; by cross-validation of training rows."""
    import numpy as np

    from ..evaluation.inputs import positive_code
    from ..validation.cross_validation import cross_validate

    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(model).__name__} does not predict probabilities. Use a calibrated or probabilistic model."
        )
    classes = model.classes_
    counts = np.array([np.count_nonzero(np.asarray(y) == label) for label in classes])
    k = positive_code(positive, classes, counts)
    if k is None:
        raise ParameterError(f"There are {len(classes)} classes. Name the positive one: --positive CLASS.")
    if is_held_out:
        found = model.predict_proba(X)
    else:
        found = cross_validate({"model": model}, X, y, keep="posteriors").posteriors("model")
    return np.asarray(y) == classes[k], np.asarray(found)[:, k]


def evaluate_rows(
    stored: StoredModel, rows: TrainingTable, costs: CostTable | None, positive: Hashable | None
) -> Evaluation:
    """The evaluation of what ``predict`` returns with the same costs."""
    from ..evaluation import EvaluationOptions, LabelledPredictions, evaluate, evaluation_of

    options = EvaluationOptions(costs=costs, positive=positive, classes_order=stored.order)
    if costs is None or not hasattr(stored.model, "predict_proba"):
        return evaluate(stored.model, rows.X, rows.y, rows.weights, rows.groups, options)
    posterior = stored.model.predict_proba(rows.X)
    predictions = LabelledPredictions(
        rows.y, posterior=posterior, classes=stored.classes, sample_weight=rows.weights, groups=rows.groups
    )
    return evaluation_of(predictions, options)


def evaluate_groups(
    stored: StoredModel,
    table: TableReader,
    rows: TrainingTable,
    by: str,
    judged: tuple[CostTable | None, Hashable | None],
) -> GroupMeasures:
    """The measures of each value of a column; ``judged`` are the costs and the positive class."""
    from ..evaluation import EvaluationOptions
    from ..evaluation.by_group import evaluate_by_group
    from .validating import groups_of

    labels = groups_of(table, by, rows.row_numbers)
    options = EvaluationOptions(costs=judged[0], positive=judged[1])
    return evaluate_by_group(
        stored.model, rows.X, rows.y, labels, options, name=by, sample_weight=rows.weights, groups=rows.groups
    )


def evaluate_streamed(stored: StoredModel, rows: PartitionedRows, positive: Hashable | None) -> EvaluatedModel:
    """A stored model with its evaluation on streamed rows."""
    from ..evaluation import EvaluationOptions, evaluate

    found = evaluate(stored.model, rows, options=EvaluationOptions(positive=positive, classes_order=stored.order))
    return EvaluatedModel(stored, rows.format.label, found)
