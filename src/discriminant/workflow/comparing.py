"""Compare models on the same folds of a labelled table, and fit some of them to all rows."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import AliasWarning, Message, ParameterError
from ..estimators.registry import common_coding
from ..results import Finding
from .fitting import FittedModel
from .models import ModelSpec, with_settings
from .tables import LabelledTable

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..engine import ProgressOption
    from ..evaluation.by_group import GroupMeasures
    from ..report import TableReport
    from ..validation.comparison import Comparison


__all__ = [
    "ComparedModels",
    "ComparisonOptions",
    "common_coding",
    "compare",
    "default_n_folds",
    "known_metric",
    "models_for",
]

CostTable = Mapping[Hashable, Mapping[Hashable, float]]  #: costs by true class, then by action


@dataclass(frozen=True)
class ComparisonOptions:
    """How models are compared; None is the default for the table."""

    folds: int | None = None
    repeats: int = 1
    metric: str | None = None
    margin: float | None = None
    costs: CostTable | None = None
    positive: Hashable | None = None


@dataclass(eq=False)
class ComparedModels:
    """A comparison, its unfitted models, and those fitted to all rows so far."""

    labelled: LabelledTable
    comparison: Comparison
    made: dict[str, BaseEstimator]
    unsuited: dict[str, Message] = field(default_factory=dict)  #: models excluded because of the size of the table
    costs: CostTable | None = None
    by: str | None = None  #: column whose values are groups of the report
    fitted: dict[str, FittedModel] = field(default_factory=dict)

    def fit(self, name: str) -> FittedModel:
        """A model of the comparison, fitted to all rows."""
        if name not in self.fitted:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AliasWarning)  # with a penalty every level has a column
                model = self.made[name].fit(self.labelled.rows, self.labelled.labels, **self.labelled.weights)
            self.fitted[name] = FittedModel(model, name, self.labelled)
        return self.fitted[name]

    def report(self, name: str) -> TableReport:
        """The contents of the report of the comparison and of one model."""
        from ..report import TableReport

        training, model = self.labelled.training, self.fit(name).model
        groups = None if self.by is None else self._by_group(name, self.by)
        return TableReport(
            self.comparison, training, model=model, model_name=name, given_costs=self.costs, by_group=groups
        )

    def _by_group(self, name: str, by: str) -> GroupMeasures:
        """Measures of the out-of-fold predictions of a model by the values of a column."""
        from ..evaluation.by_group import predictions_by_group
        from ..evaluation.predictions import EvaluationOptions
        from .validating import column_of

        found = self.comparison.cross_validation
        rows = found.labelled_predictions(name, decide=self.costs is not None)
        order = getattr(self.made[name], "classes_order", None)
        asked = EvaluationOptions(
            costs=self.costs, positive=found.positive, level=self.comparison.level, classes_order=order
        )
        return predictions_by_group(rows, column_of(self.labelled, by), asked, by)

    def write_report(
        self, name: str, path: str | Path, command: str, source: str, findings: Sequence[Finding] | None = None
    ) -> Path:
        """Write the report of the comparison and of one model."""
        from ..report import write_report

        report = replace(self.report(name), command=command, source=source)
        if findings is not None:
            report = replace(report, training=replace(self.labelled.training, findings=tuple(findings)))
        return write_report(path, report)


def known_metric(metric: str | None) -> str | None:
    """The metric with underscores, as the library names it."""
    from ..validation.scoring import METRICS

    name = None if metric is None else metric.replace("-", "_")
    if name not in (None, *METRICS):
        raise ParameterError(f"--metric must be one of {', '.join(METRICS).replace('_', '-')}; got {metric!r}.")
    return name


def models_for(
    labelled: LabelledTable,
    names: Sequence[str] | None,
    settings: Mapping[str, str] | None = None,
    order: Sequence[Hashable] | None = None,
) -> tuple[dict[str, BaseEstimator], dict[str, Message]]:
    """The models with these names, or those that suit the size of the table; and why others are excluded.

    Each setting is for the models that have the parameter. With an ``order`` of the classes the ordinal model is one of
    the default models, and a family of the pool.
    """
    from ..validation.default_models import default_models

    settings = settings or {}
    if names is None:
        made, unsuited = default_models(labelled.training.X, len(labelled.class_rows), order is not None)
        if order is not None:
            made |= {name: ModelSpec(name, order=order).new(labelled) for name in ("auto", "ordinal") if name in made}
    else:
        made, unsuited = {name: ModelSpec(name, order=order).new(labelled) for name in names}, {}
    parameters = {name: model.get_params(deep=False) for name, model in made.items()}
    for unknown in set(settings).difference(*parameters.values()):
        raise ParameterError(f"--set {unknown}: none of {', '.join(made)} has this parameter.")
    for name, model in made.items():
        own = {key: value for key, value in settings.items() if key in parameters[name]}
        with_settings(model, name, own, list(labelled.class_rows))
    return made, unsuited


def default_n_folds(labelled: LabelledTable) -> tuple[int, int]:
    """The number of folds that classes and groups allow, and the usual number for this many rows."""
    from ..validation.splits import default_folds, usual_folds

    smallest = min(labelled.class_rows.values())
    return default_folds(labelled.n_rows, smallest, labelled.training.groups), usual_folds(labelled.n_rows)


def compare(
    labelled: LabelledTable,
    made: dict[str, BaseEstimator],
    options: ComparisonOptions = ComparisonOptions(),
    *,
    progress: ProgressOption = None,
    keep: Literal["predictions", "posteriors"] = "posteriors",
    on_failure: Literal["raise", "leave_out"] = "leave_out",
) -> ComparedModels:
    """Compare models by cross-validation, or by forward chaining if the table has times."""
    from ..folds import forward_chaining
    from ..validation import comparison

    training = labelled.training
    splits: Any = options.folds
    if training.times is not None:
        splits = forward_chaining(training.times, training.y, options.folds or default_n_folds(labelled)[0])
    found = comparison.compare(
        made,
        labelled.rows,
        training.y,
        splits,
        options.repeats,
        options.metric,
        groups=training.groups,
        costs=options.costs,
        sample_weight=training.weights,
        margin=options.margin,
        progress=progress,
        keep=keep,
        on_failure=on_failure,
        positive=options.positive,
    )
    return ComparedModels(labelled, found, made, costs=options.costs)
