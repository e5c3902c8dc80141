"""What the Table page works on: a file, what was chosen for it, and what the library made of these choices."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import CSVWriter

from ..arrays import Array
from ..data import as_rows
from ..decision import Decision, posterior
from ..engine import ProgressOption
from ..errors import DiscriminantError, InputError
from ..estimators.coefficients import coefficient_table, reference_levels
from ..estimators.counterfactuals import NearestChanges, nearest_changes
from ..estimators.explanations import Contributions, contributions
from ..estimators.registry import MODELS, common_coding, new_model
from ..files import whole_file
from ..moments.statistic import column_moments
from ..report import write_report
from ..report.sections import class_lines, collinear_columns, rows_section
from ..report.table_report import ReportData, training_rows
from ..results import listed
from ..storage import read_model_file, save
from ..tables import Schema, open_table, read_training
from ..tables.csv_injection import without_formulas
from ..tables.sources import open_source
from ..validation.comparison import Comparison, compare, default_models


@dataclass(frozen=True)
class TableFile:
    """A file that was opened: its columns are known, its target not yet."""

    path: Path
    label: str  #: what the file is called in code that is copied
    columns: tuple[str, ...]

    @classmethod
    def opened(cls, path: Path, label: str) -> TableFile:
        """A file with its columns; an error of the library where it cannot be read."""
        columns = tuple(open_table(open_source(path, label)).columns)
        if not columns:
            raise InputError(f"{label} has labels but no named columns (SVMlight). The command line takes it as it is.")
        return cls(path, label, columns)

    @property
    def likely_target(self) -> str:
        """The last column, where tables mostly have their classes."""
        return self.columns[-1]


@dataclass(frozen=True, eq=False)
class Table:
    """A table to learn from."""

    file: TableFile
    target: str
    drop: tuple[str, ...]
    models: tuple[str, ...]
    training: Any = field(repr=False)

    @classmethod
    def read(cls, file: TableFile, target: str, drop: Sequence[str], models: Sequence[str] | None) -> Table:
        """The table with its rows coded for these models; None for those that suit it."""
        coding = common_coding(None if models is None else list(models))
        training = read_training(open_table(open_source(file.path, file.label)), target, drop=list(drop), coding=coding)
        if models is None:
            models = list(default_models(training.X, len(np.unique(training.codes)))[0])
        return cls(file, target, tuple(drop), tuple(models), training)

    @property
    def rows(self) -> Any:
        """The coded rows, with the names of their columns where the table has names."""
        return self.training.X if self.training.schema.width is not None else self.training.rows

    @cached_property
    def classes(self) -> list[Any]:
        """The classes in their order."""
        found: list[Any] = list(self.training.schema.target.classes)
        return found

    def described(self) -> dict[str, Any]:
        """The report's section on the data."""
        rows = training_rows(self.training)
        counts = np.bincount(self.training.codes, minlength=len(self.classes))
        findings = [*self.training.findings, *collinear_columns(rows)]
        findings.sort(key=lambda found: found.severity != "warning")
        return rows_section(rows, class_lines(self.classes, counts), findings)

    def compared(self, progress: ProgressOption = None) -> Compared:
        """The comparison of the chosen models."""
        models = {name: new_model(name, self.training.schema) for name in self.models}
        found = compare(models, self.rows, self.training.y, on_failure="leave_out", progress=progress)
        return Compared(self, found, models)

    def python(self) -> str:
        """The same in Python, up to the rows."""
        drop = f", drop={list(self.drop)!r}" if self.drop else ""
        coding = common_coding(list(self.models))
        return (
            f"training = read_training(open_table({self.file.label!r}), {self.target!r}{drop}, coding={coding!r})\n"
            "print(training.schema.describe())\n"
        )

    def words(self) -> list[str]:
        """The arguments of a command that reads the table likewise."""
        return [self.file.label, "--target", self.target, *(word for name in self.drop for word in ("--drop", name))]

    def code(self) -> tuple[str, str]:
        """What was done so far, as Python and as a command."""
        imports = "from discriminant import open_table, read_training\n\n"
        return imports + self.python(), shlex.join(["discriminant", "describe", *self.words()])


def _answers(model: Any, rows: Any, kept: Any, n_rows: int) -> pa.Table:
    """The answer to each row and its probabilities; nothing for rows that the schema leaves out."""
    places = np.arange(n_rows) if kept is None else np.where(kept, np.cumsum(kept) - 1, -1)
    take = pa.array(places, mask=places < 0)
    columns = {"prediction": pa.array([str(label) for label in model.predict(rows).tolist()], pa.string())}
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(rows)
        columns |= {
            f"probability_{label}": pa.array(p) for label, p in zip(model.classes_, probabilities.T, strict=True)
        }
    return pa.table({name: values.take(take) for name, values in columns.items()})


@dataclass(frozen=True)
class WhatIfFound:
    """A decision on one row, in words, with what speaks for it and what would turn it."""

    label: Any
    why: str
    contributions: Contributions | None
    changes: NearestChanges


@dataclass(eq=False)
class Compared:
    """A comparison, and the model of it that is looked at."""

    table: Table
    comparison: Comparison
    made: dict[str, Any]
    fitted: dict[str, Any] = field(default_factory=dict)
    told: dict[str, ReportData] = field(default_factory=dict)

    @property
    def positive(self) -> Any:
        """The positive class; None of more than two."""
        return self.comparison.cross_validation.positive

    def with_positive(self, label: Any) -> Compared:
        """The same comparison with another positive class: what two classes are compared by does not depend on it."""
        validation = replace(self.comparison.cross_validation, positive=label)
        return Compared(self.table, replace(self.comparison, cross_validation=validation), self.made, self.fitted)

    def model(self, name: str) -> Any:
        """A model of the comparison, fitted to all rows."""
        if name not in self.fitted:
            self.fitted[name] = self.made[name].fit(self.table.rows, self.table.training.y)
        return self.fitted[name]

    def data(self, name: str) -> ReportData:
        """What the parts of a report read, of one of the models; the page draws what is worked out here."""
        if name not in self.told:
            found = ReportData(self.comparison, self.table.training, model=self.model(name), model_name=name)
            _ = found.evaluation, found.rows, found.class_rows
            self.told[name] = found
        return self.told[name]

    def write_report(self, name: str, path: Path) -> Path:
        """The report of the comparison and of a model."""
        return write_report(
            path,
            self.comparison,
            self.table.training,
            model=self.model(name),
            model_name=name,
            command=self.code(name)[1].splitlines()[0],
            source=self.table.file.path,
        )

    def save(self, name: str, path: Path) -> Path:
        """The file of a model, as ``discriminant fit`` writes it."""
        training = self.table.training
        noted = {"data": self.table.file.label, "rows": len(training.y), "target": self.table.target}
        save(
            self.model(name),
            path,
            schema=training.schema,
            training={**noted, "columns": training.X.shape[1], **training.seen()},
            name=name,
        )
        return path

    def code(self, name: str) -> tuple[str, str]:
        """The comparison and a model, as Python and as commands."""
        classes = sorted({MODELS[one] for one in self.made})
        imports = ", ".join([*classes, "compare", "open_table", "read_training", "save"])
        positive = "" if self.positive is None else f", positive={self.positive!r}"
        whole = {one: new_model(one, self.table.training.schema).__repr__(N_CHAR_MAX=10**6) for one in self.made}
        models = "".join(f"    {one!r}: {written},\n" for one, written in whole.items())
        python = (
            f"from discriminant import {imports}\n\n{self.table.python()}models = {{\n{models}}}\n"
            f'comparison = compare(models, training.rows, training.y{positive}, on_failure="leave_out")\n'
            "print(comparison)\n"
            f"model = models[{name!r}].fit(training.rows, training.y)\n"
            "save(model, 'model.dsc', schema=training.schema, training=training.seen())\n"
        )
        words = self.table.words()
        chosen = [] if self.positive is None else ["--positive", str(self.positive)]
        commands = [
            ["discriminant", "compare", *words, "--models", ",".join(self.made), *chosen, "--report", "report.html"],
            ["discriminant", "fit", *words, "--model", name, "-o", "model.dsc"],
        ]
        return python, "\n".join(map(shlex.join, commands))

    def place_of_row(self, row: Any) -> int | None:
        """Where a row of the table stands among those learned from, None where it does not."""
        found = np.flatnonzero(self.table.training.row_numbers == row)
        return int(found[0]) if len(found) else None

    def coded_row(self, row: int) -> Array:
        """A row of the table as models take it."""
        place = self.place_of_row(row)
        assert place is not None
        X = self.table.training.X[place]
        found: Array = np.array(X.toarray().ravel() if hasattr(X, "toarray") else X, dtype=np.float64)
        return found

    def raw_values(self, row: Array) -> dict[str, Any]:
        """The values of the columns of a coded row: numbers, and levels of categories."""
        return {column.name: column.value(row[places]) for column, places in self._places()}

    def _places(self) -> Iterator[tuple[Any, slice]]:
        first = 0
        for column in self.table.training.schema.used:
            yield column, slice(first, first + len(column.outputs))
            first += len(column.outputs)

    def what_if(self, name: str, base: Array, values: dict[str, Any], fixed: list[str]) -> WhatIfFound:
        """What is decided for a row with other values, why, and what would turn it."""
        model, schema, seen = self.model(name), self.table.training.schema, self._seen
        row = base.copy()
        for column, places in self._places():
            if column.name in values:
                row[places] = column.code(values[column.name])
        why, spoken = "", None
        if hasattr(model, "predict_proba"):
            why = str(Decision().explain(posterior(model, schema.rows(row[None]))))
        if hasattr(model, "decision_function"):
            spoken = contributions(model, row, seen["means"], schema, self.raw_values(row))
        changes = nearest_changes(model, row, self._spread, seen["lowest"], seen["highest"], fixed=fixed, schema=schema)
        return WhatIfFound(changes.label, why, spoken, changes)

    @cached_property
    def _seen(self) -> dict[str, list[float]]:
        seen: dict[str, list[float]] = self.table.training.seen()
        return seen

    @cached_property
    def _spread(self) -> Array:
        return np.sqrt(column_moments(as_rows(self.table.training.X), self.table.training.weights)[1])

    def predict(self, name: str, source: Path, target: Path) -> dict[str, int]:
        """Answers of a model to the rows of another file."""
        return write_predictions(self.model(name), self.table.training.schema, source, target)


@dataclass(frozen=True, eq=False)
class StoredTableModel:
    """A model from a file, with the schema of its rows and what was noted when it was fitted."""

    path: Path
    label: str
    model: Any
    schema: Schema
    noted: dict[str, Any]

    @classmethod
    def loaded(cls, path: Path, label: str) -> StoredTableModel:
        """The model of a file; nothing in it is run."""
        found = read_model_file(path)
        if found.schema is None:
            raise InputError(f"{path.name} has no schema, so that it cannot read tables. Save the model with one.")
        return cls(path, label, found.model, Schema.from_dict(found.schema), found.metadata)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What is known of it, in words."""
        noted, target = self.noted.get("training") or {}, self.schema.target
        classes = [] if target is None else [str(label) for label in target.classes]
        found = [
            ("Model", repr(self.model)),
            ("Predicts", "" if target is None or target.name is None else target.name),
            ("Classes", listed(classes, 10)),
            ("Learned from", str(noted.get("data", ""))),
            ("Rows", f"{noted['rows']:,}" if isinstance(noted.get("rows"), int) else ""),
            ("Columns", listed([column.name for column in self.schema.used], 20)),
            ("Reference levels", listed([f"{k} = {level}" for k, level in self.reference_levels.items()], 20)),
        ]
        return [(name, value) for name, value in found if value]

    @property
    def reference_levels(self) -> dict[str, str]:
        """What the coefficients of levels are compared with."""
        return reference_levels(self.model, self.schema) if hasattr(self.model, "coef_") else {}

    def coefficients(self) -> list[tuple[str, str, str]]:
        """Column, class and coefficient; empty where the model has none."""
        try:
            rows = coefficient_table(self.model, list(self.schema.names)).rows
        except DiscriminantError:
            return []
        return [(row.term, str(row.outcome), f"{row.estimate:.4g}") for row in rows]

    def predict(self, source: Path, target: Path) -> dict[str, int]:
        """Answers to the rows of a file."""
        return write_predictions(self.model, self.schema, source, target)

    def code(self) -> tuple[str, str]:
        """The same as Python and as a command."""
        python = (
            f"from discriminant import load, open_table\n\nmodel = load({self.label!r})\n"
            "rows = open_table('new.csv', types=model.encoder_.schema_.types).read()\nprint(model.predict(rows))\n"
        )
        return python, shlex.join(["discriminant", "predict", self.label, "new.csv", "-o", "predictions.csv"])


def write_predictions(model: Any, schema: Schema, source: Path, target: Path) -> dict[str, int]:
    """Write the answers to the rows of a file as a CSV, and return how often each was given."""
    table = open_table(open_source(source, source.name), types=schema.types)
    found: Counter[str] = Counter()
    with whole_file(target) as part:
        writer: Any = None
        for batch in table.batches():
            X, report = schema.encode_batch(batch)
            answers = _answers(model, schema.rows(X), report.kept, batch.num_rows)
            found.update(filter(None, answers["prediction"].to_pylist()))
            writer = writer or CSVWriter(str(part), answers.schema)
            writer.write_table(without_formulas(answers, "quote"))
        if writer is not None:
            writer.close()
    return dict(found)
