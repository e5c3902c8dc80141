"""A fitted model in use: a decision on a positive class, changes of single rows, and predictions for files.

Problem: a model gives probabilities; which class is predicted depends on a threshold, or equivalently on what errors
cost and how frequent the classes are where the model is used. With prior odds that change by the factor k, and a
false negative that costs as much as r false positives, the expected cost is minimal if the positive class is predicted
where its probability under the training priors is at least 1 / (1 + r k) (Elkan 2001). Another threshold t corresponds
to the cost ratio for which it is the best one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..decision import Decision
from ..errors import DiscriminantError
from ..estimators.registry import common_coding
from ..results import Finding, percent, several
from .columns import table_columns
from .fitting import FittedModel, learned_values
from .stored import PredictionColumns, Predictions, StoredModel, numbered_batches, write_csv
from .tables import LabelledTable, Reading, severest_first, source_file

if TYPE_CHECKING:
    from ..arrays import Array
    from ..estimators.coefficients import CoefficientTable
    from ..estimators.counterfactuals import NearestChanges
    from ..estimators.explanations import Contributions, Nomogram
    from ..tables.column import Coding

#: Distance of thresholds from 0 and 1, which correspond to infinite costs.
MIN_THRESHOLD: Final = 1e-6
#: Rows of a table of predictions that are shown before it is downloaded.
PREVIEW_ROWS: Final = 10
Costs = dict[Any, dict[Any, float]]


def shared_coding(models: Sequence[str] | None) -> Coding:
    """The coding of categories that all of these models can use; None for the default models."""
    return common_coding(models and list(models))


def data_section(labelled: LabelledTable) -> dict[str, Any]:
    """The section Data of the report, before any model is fitted."""
    from ..report.sections import class_lines, collinear_columns, rows_section
    from ..report.table_report import training_rows

    rows, counts = training_rows(labelled.training), np.array(list(labelled.class_rows.values()))
    findings = severest_first([*labelled.training.findings, *collinear_columns(rows)])
    return rows_section(rows, class_lines(list(labelled.class_rows), counts), findings)


@dataclass(frozen=True)
class ClassDecision:
    """When a row is assigned to the positive class; ``shares`` are the class proportions of the training data."""

    label: Any
    shares: Mapping[Any, float]
    cost_ratio: float = 1.0  #: the cost of a false negative in units of a false positive
    share: float | None = None  #: of the class where the model is used; None: as in training
    threshold: float | None = None  #: under the training priors; None: that of the costs and the share

    @property
    def _odds_factor(self) -> float:
        """The prior odds of the class where the model is used, divided by those in training."""
        if self.share is None:
            return 1.0
        trained = self.shares[self.label]
        return self.share / (1 - self.share) * (1 - trained) / trained

    @property
    def cost_threshold(self) -> float:
        """The threshold of least expected cost under the training priors."""
        return 1 / (1 + self.cost_ratio * self._odds_factor)

    @property
    def applied_threshold(self) -> float:
        """The threshold under the training priors that decides."""
        return self.cost_threshold if self.threshold is None else self.threshold

    @property
    def adjusted_threshold(self) -> float:
        """The same threshold for probabilities that are adjusted to the share where the model is used."""
        t = min(max(self.applied_threshold, MIN_THRESHOLD), 1 - MIN_THRESHOLD)
        return t * self._odds_factor / (t * self._odds_factor + 1 - t)

    def costs(self, adjusted: bool = True) -> Costs:
        """The costs under which this threshold is the best one, of adjusted or of training probabilities."""
        if self.threshold is None and (adjusted or self.share is None):
            miss = self.cost_ratio
        else:
            t = self.adjusted_threshold
            miss = (1 - t) / t * (1.0 if adjusted else self._odds_factor)
        return {
            true: {action: miss if true == self.label else 1.0 for action in self.shares if action != true}
            for true in self.shares
        }

    @property
    def priors(self) -> dict[Any, float] | None:
        """The class proportions where the model is used; None if they are those of training."""
        if self.share is None:
            return None
        others = (1 - self.share) / (1 - self.shares[self.label])
        return {label: self.share if label == self.label else own * others for label, own in self.shares.items()}

    @property
    def rule(self) -> Decision:
        """The decision as the library applies it. Costs alone are a threshold only between two classes."""
        thresholds = {self.label: self.adjusted_threshold} if len(self.shares) > 2 else None
        return Decision(self.costs(), priors=self.priors, thresholds=thresholds)

    def __str__(self) -> str:
        share = "as in the training data" if self.share is None else percent(self.share)
        return (
            f"{self.label} is predicted where its probability is at least {self.applied_threshold:.3g} (cost "
            f"ratio, false negative : false positive: {self.cost_ratio:.3g} : 1; prevalence: {share})."
        )


@dataclass(frozen=True, eq=False)
class DecidedRow:
    """The prediction for a coded row, the reason, and the contributions of the columns.

    ``outside`` has the lowest and the highest training value of each number that the row exceeds; ``lead_threshold``
    is the log-odds from which the class is predicted, if a decision between two classes is in effect.
    """

    row: Array
    label: Any
    reason: str
    contributions: Contributions | None
    outside: dict[str, tuple[float, float]]
    lead_threshold: float | None = None


@dataclass(frozen=True, eq=False)
class FittedInUse:
    """A model fitted to a table in memory, with the decision that is applied to its probabilities."""

    fitted: FittedModel
    decision: ClassDecision | None = None

    @cached_property
    def stored(self) -> StoredModel:
        """The model as its file would hold it."""
        return StoredModel("", self.fitted.model, self.fitted.schema, {"training": self.fitted.table.seen()})

    @cached_property
    def _column_std(self) -> Array:
        from ..data import as_rows
        from ..moments.statistic import column_moments

        return np.sqrt(column_moments(as_rows(self.fitted.table.training.X), self.fitted.table.training.weights)[1])

    @property
    def first_row(self) -> int:
        """The number in the table of the first training row."""
        return int(self.fitted.table.training.row_numbers[0])

    def place_of(self, row: int) -> int | None:
        """The position of a row of the table among the training rows; None if it is not one of them."""
        found = np.flatnonzero(self.fitted.table.training.row_numbers == row)
        return int(found[0]) if len(found) else None

    def true_class(self, row: int) -> Any:
        """The class of a training row of the table."""
        place = self.place_of(row)
        assert place is not None
        return self.fitted.table.training.y[place]

    @cached_property
    def _whole(self) -> list[str]:
        """The numbers and dates whose training values, except imputed means, are whole."""
        X, found = self.fitted.table.training.X, []
        for column, where in table_columns(self.fitted.table):
            if column.kind in ("number", "boolean", "date"):
                own = X[:, [where.start]]
                values = own.toarray() if hasattr(own, "toarray") else np.asarray(own)
                if (values == np.round(values))[values != column.mean].all():
                    found.append(column.name)
        return found

    def coded_row(self, place: int) -> Array:
        """A training row as the model takes it."""
        X = self.fitted.table.training.X[place]
        return np.array(X.toarray().ravel() if hasattr(X, "toarray") else X, dtype=np.float64)

    def raw_values(self, row: Array) -> dict[str, Any]:
        """The values of the columns of a coded row: numbers, and levels of categories."""
        return {column.name: column.value(row[where]) for column, where in table_columns(self.fitted.table)}

    def decided(self, base: Array, values: Mapping[str, Any]) -> DecidedRow:
        """The prediction for a coded row with other values."""
        from ..estimators.explanations import contributions
        from ..results import plain

        model, schema, seen = self.fitted.model, self.fitted.table.schema, self.stored.training
        row, reason, added, rule, before = base.copy(), "", None, self._rule, self.raw_values(base)
        outside = dict[str, tuple[float, float]]()
        for column, where in table_columns(self.fitted.table):
            if column.name in values and values[column.name] != before[column.name]:
                row[where] = column.code(values[column.name])
            low, high = float(seen["lowest"][where][0]), float(seen["highest"][where][0])
            if column.kind in ("number", "date") and not low <= row[where][0] <= high:
                outside[column.name] = low, high
        rows = schema.rows(row[None])
        label = plain((model.predict(rows) if rule is None else rule.decide(self.stored.posterior(rows)))[0])
        if hasattr(model, "predict_proba"):
            reason = str((rule or Decision()).explain(self.stored.posterior(rows)))
        if hasattr(model, "decision_function"):
            added = contributions(model, row, seen["means"], schema, self.raw_values(row), label)
        threshold = None if added is None or added.unit != "log-odds" else self._lead_threshold(label)
        return DecidedRow(row, label, reason, added, outside, threshold)

    def _lead_threshold(self, label: Any) -> float | None:
        """The log-odds of a class of two from which it is predicted; None without a decision."""
        if self.decision is None or len(self.decision.shares) > 2:
            return None
        t = min(max(self.decision.applied_threshold, MIN_THRESHOLD), 1 - MIN_THRESHOLD)
        return math.log(t / (1 - t)) * (1 if label == self.decision.label else -1)

    @property
    def _rule(self) -> Decision | None:
        return None if self.decision is None else self.decision.rule

    def changes(self, row: Array, fixed: Sequence[str] = ()) -> NearestChanges:
        """The changes of a coded row that would alter its prediction; a search over all columns."""
        from ..estimators.counterfactuals import nearest_changes

        seen, rule = self.stored.training, self._rule
        return nearest_changes(
            self.fitted.model, row, self._column_std, seen["lowest"], seen["highest"], fixed=fixed, whole=self._whole,
            schema=self.fitted.table.schema,
            decide=None if rule is None else lambda X: rule.decide(self.stored.posterior(X)),
        )  # fmt: skip

    def nomogram(self) -> Nomogram | None:
        """The points of the columns, if the model has any."""
        from ..estimators.explanations import nomogram

        seen = self.stored.training
        try:
            return nomogram(self.fitted.model, seen["lowest"], seen["highest"], self.fitted.table.schema)
        except DiscriminantError:
            return None

    def predict(self, source: Path, target: Path) -> WrittenPredictions:
        """Write the predictions for the rows of a file."""
        return write_predictions(self.stored, source, target, self._rule)

    def save(self, path: Path) -> None:
        """Write the model file, with the decision in it."""
        if self.decision is None:
            self.fitted.save(path)
            return
        from sklearn.base import clone

        from ..estimators.decision import DecisionClassifier

        inner, table = self.fitted.model, self.fitted.table
        model = DecisionClassifier(clone(inner), self.decision.rule).fit(table.rows, table.labels, **table.weights)
        FittedModel(model, self.fitted.name, table).save(path, learned_values(inner, table.schema))


def coefficients_of(stored: StoredModel) -> CoefficientTable | None:
    """The coefficients of a stored model, as its file has them or as the model gives them."""
    from ..estimators.coefficients import coefficient_table

    try:
        return stored.coefficients or coefficient_table(stored.model, stored.schema.names, schema=stored.schema)
    except DiscriminantError:
        return None


@dataclass(frozen=True)
class WrittenPredictions:
    """How often each class was predicted, and the notes on the rows that were read."""

    counts: dict[str, int]
    notes: list[str]
    head: list[dict[str, Any]]  #: the first rows: the prediction, its probabilities and the columns of the file


def prediction_notes(stored: StoredModel, findings: Sequence[Finding] = ()) -> list[str]:
    """The notes on the rows that a model has coded: missing columns and values, unseen levels, skipped rows."""
    report = stored.report
    notes: list[str] = [str(finding.message) for finding in findings]
    if any((report.filled, report.new_missing, report.extra, report.missing_columns)):
        notes.append(f"{report.summary()}.")
    notes += [str(finding.message) for finding in stored.findings]
    if stored.n_incomplete:
        notes.append(f"{several(stored.n_incomplete, 'incomplete row')} without a prediction.")
    return notes


def write_predictions(
    stored: StoredModel, source: Path, target: Path, decision: Decision | None = None
) -> WrittenPredictions:
    """Write the rows of a file with their predictions as CSV; return the counts and the notes on the rows."""
    from pyarrow.types import is_nested

    stored = replace(stored, n_incomplete=0)  # notes are about this file alone
    table = stored.table(Reading(), source_file(source, source.name))
    head = next((batch.slice(0, PREVIEW_ROWS) for _, batch in numbered_batches(table, PREVIEW_ROWS)), None)
    made = {"prediction", *(f"probability_{label}" for label in stored.classes)}
    columns = [] if head is None else head.schema
    keep = [column.name for column in columns if column.name not in made and not is_nested(column.type)]
    predictions = Predictions(stored, decision, PredictionColumns(hasattr(stored.model, "predict_proba"), keep))
    write_csv(predictions.of(table), target)
    counts = {str(label): count for label, count in predictions.counts.items()}
    notes = prediction_notes(stored, table.findings)
    if head is None:
        return WrittenPredictions(counts, notes, [])
    answers = predictions.predicted(head)
    shown = answers.select([*(name for name in answers.column_names if name not in keep), *keep])
    return WrittenPredictions(counts, notes, shown.to_pylist())
