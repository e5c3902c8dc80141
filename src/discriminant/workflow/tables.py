"""Labelled tables: opened, with their rows coded, in memory or streamed from disk."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..errors import ParameterError
from ..results import Finding

if TYPE_CHECKING:
    from ..arrays import Array, Classifier
    from ..evaluation import ConfusionMatrix
    from ..formula import Formula
    from ..partitions.coding import Learned
    from ..partitions.dataset import PartitionedRows
    from ..partitions.training import LabelledPartitions
    from ..tables import TableReader, TrainingTable
    from ..tables.column import Coding
    from ..tables.files import InputFile
    from ..tables.schema import Schema

TableSource: TypeAlias = "str | Sequence[str] | InputFile"  #: what `Reading.open` opens
_SIZE = re.compile(r"([0-9.]+)\s*([kKMGT]?)i?B?", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How a table is read; see `open_table`."""

    table: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None

    def open(
        self,
        data: TableSource,
        types: dict[str, str] | None = None,
        missing_codes: Sequence[str] | None = None,
        target: str | None = None,
    ) -> TableReader:
        """Open a table, or several files as one; ``types`` declares columns."""
        from ..tables import open_table

        settings = self.settings(missing_codes)
        if isinstance(data, Sequence) and not isinstance(data, str):
            from ..tables.readers import SeveralTables

            return SeveralTables(
                data, lambda path, more: open_table(path, target, types={**(types or {}), **more} or None, **settings)
            )
        return open_table(data, target, types=types or None, **settings)

    def settings(self, missing_codes: Sequence[str] | None = None) -> dict[str, Any]:
        """The parameters of `open_table` for texts and databases."""
        own = {field.name: getattr(self, field.name) for field in fields(Reading)}
        return {**own, "missing_codes": missing_codes or None}


def source_file(path: str | Path, label: str) -> InputFile:
    """A file with its name in messages."""
    from ..tables.files import open_source

    return open_source(path, label)


@dataclass(frozen=True)
class Roles:
    """Which columns are the target, row weights, groups and times."""

    target: str | None = None
    weights: str | None = None
    groups: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Preparation(Reading):
    """How a table is read and its columns and classes are prepared; None is the default, which depends on a formula."""

    drop: Sequence[str] | None = None
    types: Sequence[str] | None = None
    missing: str | None = None
    missing_codes: list[str] | None = None
    rare: int | None = None
    max_levels: int | None = None
    drop_classes_below: int = 1

    @property
    def declared(self) -> dict[str, str]:
        """The declared types of columns."""
        return name_value_pairs("--types", self.types or ())

    def treatment(self, by_formula: bool) -> dict[str, Any]:
        """How missing values, rare levels and rare classes are treated; with a formula as R does."""
        defaults = {"missing": "indicator", "rare": 5, "max_levels": 50}
        if by_formula:
            defaults = {"missing": "drop", "rare": 1, "max_levels": 2**31 - 1}
        given = {name: getattr(self, name) for name in defaults}
        return {
            **{name: default if given[name] is None else given[name] for name, default in defaults.items()},
            "drop_classes_below": self.drop_classes_below,
        }


def name_value_pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Texts of the form ``NAME=VALUE`` as a dict, split at the last ``=``."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"{option} takes NAME=VALUE, got {text!r}.")
        found[name] = value
    return found


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Rows in memory with their labels, schema and findings."""

    files: TableSource
    roles: Roles
    table: TableReader
    training: TrainingTable
    formula: Formula | None = None
    is_streamed: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        """How rows are coded."""
        return self.training.schema

    @property
    def rows(self) -> Any:
        """The coded rows, with the names of their columns where the table has names."""
        return self.training.X if self.schema.width is not None else self.training.rows

    @property
    def labels(self) -> Array:
        """The class of each row."""
        return self.training.y

    @property
    def weights(self) -> dict[str, Any]:
        """The row weights as a parameter of `fit`."""
        return {} if self.training.weights is None else {"sample_weight": self.training.weights}

    @property
    def groups(self) -> dict[str, Any]:
        """The groups of the rows as a parameter of `fit`."""
        return {} if self.training.groups is None else {"groups": self.training.groups}

    @property
    def n_rows(self) -> int:
        """Number of rows with a label."""
        return len(self.training.y)

    @property
    def read_as(self) -> str:
        """Format and dialect of the table."""
        return self.table.read_as

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows of each class."""
        import numpy as np

        classes = classes_of(self.schema)
        return dict(zip(classes, np.bincount(self.training.codes, minlength=len(classes)).tolist(), strict=True))

    @property
    def source(self) -> dict[str, Any]:
        """The origin of the rows, for results and model files."""
        return _source(self, self.table.label, self.table.fingerprint)

    def seen(self) -> dict[str, list[float]]:
        """Means and ranges of the coded columns, and class proportions."""
        return self.training.seen()

    def confusion(self, model: Classifier) -> ConfusionMatrix:
        """The confusion matrix of a fitted model on these rows."""
        from ..evaluation import ConfusionMatrix

        return ConfusionMatrix.of(self.labels, model.predict(self.rows), model.classes_, self.training.weights)


@dataclass(frozen=True, eq=False)
class StreamedTable:
    """Rows streamed from disk in every pass, with their labels, schema and findings."""

    rows: PartitionedRows
    training: Learned
    is_streamed: ClassVar[bool] = True
    labels: ClassVar[None] = None
    formula: ClassVar[None] = None
    weights: ClassVar[dict[str, Any]] = {}
    groups: ClassVar[dict[str, Any]] = {}

    @property
    def schema(self) -> Schema:
        """How rows are coded."""
        return self.training.schema

    @cached_property
    def data(self) -> LabelledPartitions:
        """The rows with their labels."""
        return self.rows.labelled()

    @property
    def n_rows(self) -> int:
        """Number of rows with a label."""
        return self.rows.n_rows - self.training.n_dropped

    @property
    def read_as(self) -> str:
        """How the files are read."""
        return f"{len(self.rows.fragments):,} fragments, streamed from disk"

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows of each class."""
        found = self.data.survey.classes
        return {label: found[label][0] for label in classes_of(self.schema)}

    @property
    def source(self) -> dict[str, Any]:
        """The origin of the rows, for results and model files."""
        return _source(self, self.rows.format.label, None)

    def seen(self) -> dict[str, list[float]]:
        """Means and ranges of the coded columns, and class proportions."""
        return self.data.seen()

    def confusion(self, model: Classifier) -> ConfusionMatrix:
        """The confusion matrix of a fitted model on these rows."""
        from ..evaluation import evaluate

        found = evaluate(model, self.rows).confusion
        assert found is not None
        return found


AnyLabelled = LabelledTable | StreamedTable


def classes_of(schema: Schema) -> list[Any]:
    """The classes of the target, in their order."""
    assert schema.target is not None
    return list(schema.target.classes)


def _source(labelled: AnyLabelled, label: str, sha256: str | None) -> dict[str, Any]:
    target = labelled.schema.target
    return {
        "data": label,
        "sha256": sha256,
        "rows": labelled.n_rows,
        "rows_left_out": labelled.training.n_dropped,
        "target": None if target is None else target.name,
        "columns": labelled.rows.shape[1],
    }


def severest_first(findings: Sequence[Finding]) -> list[Finding]:
    """Warnings before notes."""
    return sorted(findings, key=lambda finding: finding.severity != "warning")


def read_labelled(
    data: TableSource,
    roles: Roles,
    preparation: Preparation = Preparation(),
    coding: Coding = "reference",
    formula: str | None = None,
) -> LabelledTable:
    """Read a table into memory and code its rows."""
    from ..tables import read_training

    table = preparation.open(data, preparation.declared, preparation.missing_codes, roles.target)
    drop, shared = list(preparation.drop or ()), preparation.treatment(formula is not None)
    if formula is None:
        columns = {name: value for name, value in vars(roles).items() if value is not None}
        return LabelledTable(data, roles, table, read_training(table, drop=drop, coding=coding, **columns, **shared))
    from ..formula import Formula

    parsed = Formula.parse(formula, table.columns, [roles.weights, roles.groups, *drop])
    if roles.target not in (None, parsed.target):
        raise ParameterError(f"--target {roles.target!r} contradicts --formula, whose target is {parsed.target!r}.")
    training = parsed.training(table, weights=roles.weights, groups=roles.groups, **shared)
    return LabelledTable(data, Roles(parsed.target, roles.weights, roles.groups), table, training, parsed)


@dataclass(frozen=True)
class Streaming:
    """Whether files are streamed instead of read into memory, and on which executor."""

    dask: str | None = None
    spark: str | None = None
    memory: str | None = None
    checkpoint: str | None = None

    def is_needed(self, files: str | list[str]) -> bool:
        """Whether files are streamed: an executor or a checkpoint is given, or they exceed the memory budget."""
        if self.dask is not None and self.spark is not None:
            raise ParameterError("--dask and --spark are alternatives. Give one of them.")
        if self.dask is not None or self.spark is not None or self.checkpoint is not None:
            return True
        if isinstance(files, str) and not os.path.isfile(files):
            return False
        from ..partitions.fragments import fits

        return not fits([files] if isinstance(files, str) else files, self.n_bytes())

    def n_bytes(self) -> int | None:
        """The memory budget; None is the available memory."""
        if self.memory is None:
            return None
        found = _SIZE.fullmatch(self.memory.strip())
        if found is None:
            raise ParameterError(f"--memory takes a size such as 500MB or 4GB, got {self.memory!r}.")
        return int(float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " "))

    def dataset(self, files: str | list[str], roles: Roles, settings: Mapping[str, Any]) -> PartitionedRows:
        """The files as streamed rows; ``settings`` are for the reader."""
        from ..partitions.opening import open_dataset

        reading = {name: value for name, value in settings.items() if value is not None}
        executor = self.dask or self.spark or "threads"
        rows = open_dataset(files, target=roles.target, weight=roles.weights, executor=executor, reading=reading)
        return rows if self.checkpoint is None else rows.checkpointed(self.checkpoint)

    def labelled(self, files: str | list[str], roles: Roles, preparation: Preparation, coding: Coding) -> StreamedTable:
        """The files with their rows coded and labelled while they are read."""
        from ..tables.learning import LearningOptions

        types = preparation.declared
        rows = self.dataset(files, roles, {**preparation.settings(preparation.missing_codes), "types": types})
        treatment = LearningOptions(
            drop=list(preparation.drop or ()), types=types, coding=coding, **preparation.treatment(False)
        )
        learned = rows.learned(treatment, labels=True)
        return StreamedTable(rows.coded(learned.schema, learned.complete), learned)

    def coded(
        self, files: str | list[str], reading: Reading, schema: Schema, weights: str | None = None
    ) -> PartitionedRows:
        """The files coded by the schema of a model."""
        target = None if schema.target is None else schema.target.name
        types = schema.types if schema.width is None else {}
        return self.dataset(files, Roles(target, weights), {**reading.settings(), "types": types}).coded(schema)

    def finish(self) -> None:
        """Remove the checkpoint of a completed fit."""
        if self.checkpoint is not None:
            with suppress(FileNotFoundError):
                os.remove(self.checkpoint)


def read_or_stream(
    files: str | list[str],
    roles: Roles,
    preparation: Preparation = Preparation(),
    streaming: Streaming = Streaming(),
    coding: Coding = "reference",
) -> AnyLabelled:
    """A labelled table: read into memory, or streamed if it exceeds the memory budget."""
    if streaming.is_needed(files):
        return streaming.labelled(files, roles, preparation, coding)
    return read_labelled(files, roles, preparation, coding)
