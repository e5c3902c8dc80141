"""The state of the Table page: a file, the table and models chosen, their comparison, a decision, a model file."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..engine import ProgressOption
from ..errors import InputError
from ..results import Finding, listed
from ..workflow.columns import ColumnImportance, permutation_importance
from ..workflow.comparing import ComparedModels, ComparisonOptions, compare, models_for
from ..workflow.describing import known_class_order
from ..workflow.exploring import (
    ClassDecision,
    FittedInUse,
    WrittenPredictions,
    coefficients_of,
    data_section,
    shared_coding,
    write_predictions,
)
from ..workflow.reporting import validation_report
from ..workflow.stored import StoredModel, open_model
from ..workflow.tables import LabelledTable, Preparation, Reading, Roles, read_labelled, source_file
from ..workflow.validating import quick_validation

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..estimators.coefficients import CoefficientTable
    from ..report.table_report import TableReport
    from ..report.validation_page import ValidationReport
    from ..tables import TrainingTable
    from ..tables.files import InputFile
    from ..validation.comparison import Comparison

#: The types of a target: its classes are numbers, or text as it is written.
TARGET_TYPES: Final = ("number", "category")
#: Bootstrap resamples of the tab Validate: some seconds for the models of the page.
RESAMPLES: Final = 100


@dataclass(frozen=True)
class TableFile:
    """An open file with its columns; its target is not chosen yet."""

    path: Path
    label: str  #: the name of the file in code to copy
    columns: tuple[str, ...]

    @classmethod
    def opened(cls, path: Path, label: str) -> TableFile:
        """Open a file and read its columns."""
        columns = tuple(Reading().open(source_file(path, label)).columns)
        if not columns:
            raise InputError(f"{label} has labels but no named columns (SVMlight). Use the command line for this file.")
        return cls(path, label, columns)

    @property
    def source(self) -> InputFile:
        """The file as the library opens it."""
        return source_file(self.path, self.label)

    @property
    def likely_target(self) -> str:
        """The last column, which usually contains the classes."""
        return self.columns[-1]


@dataclass(frozen=True, eq=False)
class Table:
    """A labelled table, and the models to compare."""

    file: TableFile
    target: str
    drop: tuple[str, ...]
    models: tuple[str, ...]
    labelled: LabelledTable
    types: Mapping[str, str] = field(default_factory=dict)  #: the declared types of columns

    @classmethod
    def read(
        cls,
        file: TableFile,
        target: str,
        drop: Sequence[str],
        models: Sequence[str] | None,
        types: Mapping[str, str] | None = None,
    ) -> Table:
        """Read a table and code its rows for these models; None for the default models."""
        own = {name: kind for name, kind in (types or {}).items() if name not in drop}
        preparation = Preparation(drop=list(drop), types=[f"{name}={kind}" for name, kind in own.items()])
        labelled = read_labelled(file.source, Roles(target), preparation=preparation, coding=shared_coding(models))
        names = models or models_for(labelled, None)[0]
        return cls(file, target, tuple(drop), tuple(names), labelled, own)

    @property
    def training(self) -> TrainingTable:
        """The coded rows with their labels."""
        return self.labelled.training

    @property
    def classes(self) -> list[Any]:
        """The classes in order."""
        return list(self.labelled.class_rows)

    @property
    def known_order(self) -> list[Any] | None:
        """The order of classes whose names are those of a known scale; None of others."""
        return known_class_order(self.labelled)

    @property
    def order(self) -> list[Any] | None:
        """The order of the classes, if the ordinal model is among those chosen."""
        return self.known_order if "ordinal" in self.models else None

    def described(self) -> dict[str, Any]:
        """The section Data of the report."""
        return data_section(self.labelled)

    def class_shares(self) -> dict[Any, float]:
        """The class shares of the training data."""
        rows = self.labelled.class_rows
        return {label: n / sum(rows.values()) for label, n in rows.items()}

    def compared(self, ranking: Ranking | None = None, progress: ProgressOption = None) -> Compared:
        """The comparison of the chosen models; a ranking by costs is also the decision."""
        made, _ = models_for(self.labelled, self.models, order=self.order)
        ranking = ranking or Ranking()
        decision = ranking.decision(self.class_shares())
        positive = None if decision is None or len(self.classes) > 2 else decision.label
        options = ComparisonOptions(
            metric=ranking.metric, costs=None if decision is None else decision.costs(), positive=positive
        )
        return Compared(self, compare(self.labelled, made, options, progress=progress), ranking, decision)

    def python(self) -> str:
        """The Python code that reads the table."""
        drop = f", drop={list(self.drop)!r}" if self.drop else ""
        types = f", types={dict(self.types)!r}" if self.types else ""
        coding = shared_coding(self.models)
        return (
            f"training = read_training(open_table({self.file.label!r}{types}), {self.target!r}{drop}, "
            f"coding={coding!r})\n"
            "print(training.schema.describe())\n"
        )

    def words(self) -> list[str]:
        """The command-line arguments that read the table."""
        drop = [word for name in self.drop for word in ("--drop", name)]
        types = [word for name, kind in self.types.items() for word in ("--types", f"{name}={kind}")]
        return [self.file.label, "--target", self.target, *drop, *types]

    def code(self) -> tuple[str, str]:
        """The Python code and the command that read the table."""
        imports = "from discriminant import open_table, read_training\n\n"
        return imports + self.python(), shlex.join(["discriminant", "describe", *self.words()])


@dataclass(frozen=True)
class Ranking:
    """The measure that ranks the models; None is the default. For the cost: the class whose misses cost more."""

    metric: str | None = None
    label: Any = None
    cost_ratio: float = 1.0

    def decision(self, shares: Mapping[Any, float]) -> ClassDecision | None:
        """The decision of least expected cost, if the models are ranked by it."""
        return ClassDecision(self.label, shares, self.cost_ratio) if self.metric == "cost" else None


@dataclass
class Scenario:
    """The row of the tab What if, the values that were changed in it, and the columns that stay fixed."""

    row: int | None = None
    values: dict[str, Any] = field(default_factory=dict)
    fixed: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Compared:
    """A comparison of models on a table, and the decision that was chosen for all of them."""

    table: Table
    models: ComparedModels
    ranking: Ranking = Ranking()
    decision: ClassDecision | None = None
    scenario: Scenario = field(default_factory=Scenario)
    predicted: list[Path] = field(default_factory=list)  #: the file that was predicted last
    reports: dict[str, TableReport] = field(default_factory=dict)
    validations: dict[str, ValidationReport] = field(default_factory=dict)
    importances: dict[str, tuple[str, list[ColumnImportance]]] = field(default_factory=dict)

    @property
    def comparison(self) -> Comparison:
        """The comparison itself."""
        return self.models.comparison

    @property
    def made(self) -> dict[str, BaseEstimator]:
        """The models by name."""
        return self.models.made

    @property
    def positive(self) -> Any:
        """The positive class; None of more than two."""
        return self.comparison.cross_validation.positive

    def with_positive(self, label: Hashable) -> Compared:
        """The same comparison with another positive class, which does not change the ranking of the models."""
        validation = replace(self.comparison.cross_validation, positive=label)
        comparison = replace(self.comparison, cross_validation=validation)
        return Compared(
            self.table,
            replace(self.models, comparison=comparison),
            self.ranking,
            scenario=self.scenario,
            predicted=self.predicted,
        )

    def deciding_as(self, other: Compared) -> Compared:
        """The same comparison with the positive class and the decision of another one, unless costs rank the models."""
        if self.ranking.metric == "cost":
            return self
        found = self if other.positive == self.positive else self.with_positive(other.positive)
        found.decision = other.decision
        return found

    def in_use(self, name: str) -> FittedInUse:
        """A model, fitted to all rows, with the decision."""
        return FittedInUse(self.models.fit(name), self.decision)

    def data(self, name: str) -> TableReport:
        """The contents of the report of a model; what its figures need is computed here, in a thread."""
        if name not in self.reports:
            found = self.models.report(name)
            _ = found.evaluation, found.rows, found.class_rows
            self.reports[name] = found
        return self.reports[name]

    def validated(self, name: str) -> ValidationReport:
        """The internal validation, effects and diagnostics of a model, computed once."""
        if name not in self.validations:
            fitted = self.models.fit(name)
            self.validations[name] = validation_report(fitted, quick_validation(fitted, RESAMPLES))
        return self.validations[name]

    def importance(self, name: str, progress: ProgressOption = None) -> tuple[str, list[ColumnImportance]]:
        """The measure and the importance of each column for a model, computed once."""
        if name not in self.importances:
            self.importances[name] = permutation_importance(self.models.fit(name), progress)
        return self.importances[name]

    def write_report(self, name: str, path: Path) -> Path:
        """Write the report of the comparison and of a model, with the decision."""
        models, findings = self.models, list(self.table.training.findings)
        if self.decision is not None:
            models = replace(models, costs=self.decision.costs(adjusted=False))
            findings.append(Finding("note", "decision", None, f"Decision: {self.decision}"))
        command = next(line for line in self.code(name)[1].splitlines() if " compare " in line)
        return models.write_report(name, path, command, str(self.table.file.path), findings)

    def save(self, name: str, path: Path) -> Path:
        """Write the file of a model, with the decision."""
        self.in_use(name).save(path)
        return path

    def predict(self, name: str, source: Path, target: Path) -> WrittenPredictions:
        """Write the predictions of a model for the rows of another file."""
        return self.in_use(name).predict(source, target)

    def code(self, name: str) -> tuple[str, str]:
        """The comparison, a model and the decision, as Python and as commands."""
        return self._python(name), self._commands(name)

    def _python(self, name: str) -> str:
        classes = {type(model).__name__ for model in self.made.values()}
        positive = "" if self.positive is None else f", positive={self.positive!r}"
        ranked = self.ranking.decision(self.table.class_shares())
        positive += f", metric={self.comparison.metric!r}" + ("" if ranked is None else f", costs={ranked.costs()!r}")
        models = "".join(f"    {one!r}: {model.__repr__(N_CHAR_MAX=10**6)},\n" for one, model in self.made.items())
        chosen = f"models[{name!r}]"
        if self.decision is not None:
            classes |= {"Decision", "DecisionClassifier"}
            rule = self.decision.rule
            given = {"priors": rule.priors, "thresholds": rule.thresholds}
            more = "".join(f", {key}={value!r}" for key, value in given.items() if value is not None)
            chosen = f"DecisionClassifier({chosen}, Decision({rule.costs!r}{more}))"
        imports = ", ".join([*sorted(classes), "compare", "open_table", "read_training", "save"])
        return (
            f"from discriminant import {imports}\n\n{self.table.python()}models = {{\n{models}}}\n"
            f'comparison = compare(models, training.rows, training.y{positive}, on_failure="leave_out")\n'
            "print(comparison)\n"
            f"model = {chosen}.fit(training.rows, training.y)\n"
            "save(model, 'model.dsc', schema=training.schema, training=training.seen())\n"
        )

    def _commands(self, name: str) -> str:
        ranked, decided = self.ranking.decision(self.table.class_shares()), self.decision
        used = {} if decided is None else {"costs.csv": decided.costs(adjusted=False)}
        files = used if ranked is None or decided == ranked else {"ranking-costs.csv": ranked.costs(), **used}
        compared_by, costs = ([word for name in list(own)[:1] for word in ("--costs", name)] for own in (files, used))
        words = self.table.words()
        positive = [] if self.positive is None else ["--positive", str(self.positive)]
        order = [] if self.table.order is None else ["--ordered", ",".join(map(str, self.table.order))]
        metric = ["--metric", self.comparison.metric.replace("_", "-")]
        compared = [*words, "--models", ",".join(self.made), *order, *positive, *metric, *compared_by]
        compared += ["--report", "report.html"]
        own = order if name in ("ordinal", "auto") else []
        commands = [
            ["discriminant", "compare", *compared],
            ["discriminant", "fit", *words, "--model", name, *own, "-o", "model.dsc"],
            ["discriminant", "predict", "model.dsc", "new.csv", *costs, "-o", "predictions.csv"],
        ]
        lines = list(map(shlex.join, commands))
        written = [f"printf '%s\\n' {shlex.join(_csv_lines(own))} > {name}" for name, own in files.items()]
        return "\n".join([*written, *lines])


def compared(
    table: Table,
    models: Sequence[str],
    before: Compared | None,
    ranking: Ranking | None = None,
    progress: ProgressOption = None,
) -> Compared:
    """The comparison of these models on a table, with the decision of the comparison before."""
    if table.models != tuple(models):
        table = Table.read(table.file, table.target, table.drop, models, table.types)
    found = table.compared(ranking, progress)
    if before is not None:
        found = found.deciding_as(before)
    found.data(found.comparison.best_model)
    return found


def _csv_lines(costs: dict[Any, dict[Any, float]]) -> list[str]:
    """The lines of a file of costs: true classes down, predicted ones across."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["truth", *costs])
    writer.writerows([true, *(f"{own.get(action, 0.0):.6g}" for action in costs)] for true, own in costs.items())
    return text.getvalue().splitlines()


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model file, and its name in code to copy."""

    path: Path
    label: str
    stored: StoredModel

    @classmethod
    def opened(cls, path: Path, label: str) -> ModelFile:
        """Open a model file; it contains no code that is run."""
        return cls(path, label, open_model(path))

    @cached_property
    def coefficients(self) -> CoefficientTable | None:
        """The coefficients of the model, if it has any."""
        return coefficients_of(self.stored)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Name and value of what the file records."""
        noted, schema = self.stored.training, self.stored.schema
        levels = {} if self.coefficients is None else self.coefficients.reference_levels
        found = [
            ("Model", repr(self.stored.model)),
            ("Target", "" if schema.target is None else schema.target.name or ""),
            ("Classes", listed(list(map(str, self.stored.classes)), 10)),
            ("Training data", str(noted.get("data", ""))),
            ("Rows", f"{noted['rows']:,}" if isinstance(noted.get("rows"), int) else ""),
            ("Columns", listed([column.name for column in schema.used], 20)),
            ("Reference levels", listed([f"{column} = {level}" for column, level in levels.items()], 20)),
        ]
        return [(name, value) for name, value in found if value]

    def predict(self, source: Path, target: Path) -> WrittenPredictions:
        """Write the predictions for the rows of a file."""
        return write_predictions(self.stored, source, target)

    def code(self) -> tuple[str, str]:
        """The Python code and the command."""
        python = (
            f"from discriminant import load, open_table\n\nmodel = load({self.label!r})\n"
            "rows = open_table('new.csv', types=model.encoder_.schema_.types).read()\nprint(model.predict(rows))\n"
        )
        return python, shlex.join(["discriminant", "predict", self.label, "new.csv", "-o", "predictions.csv"])
