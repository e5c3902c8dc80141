"""Commands on tables that do not fit into memory: their files are read anew in every pass, here or on a cluster."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import ParameterError
from .options import Checkpoint, DaskAddress, Memory, SparkAddress, TableOptions, TrainingOptions, pairs, told_findings

if TYPE_CHECKING:
    from ..partitions.coding import Learned
    from ..partitions.dataset import LabelledPartitions, PartitionedRows
    from ..tables.schema import Coding, Schema

_SIZE = re.compile(r"([0-9.]+)\s*([kKMGT]?)i?B?", re.IGNORECASE)


@dataclass(frozen=True)
class ScaleOptions:
    """Whether files are read by passes, and by whom."""

    dask: DaskAddress = None
    spark: SparkAddress = None
    memory: Memory = None
    checkpoint: Checkpoint = None

    def by_passes(self, files: str | list[str]) -> bool:
        """Whether the files are read anew in every pass: where somebody else reads them, or they are too large.

        Small tables are read once, into memory: results are the same.
        """
        if self.dask is not None and self.spark is not None:
            raise ParameterError("--dask and --spark both say who reads the files. Leave one out.")
        if self.dask is not None or self.spark is not None or self.checkpoint is not None:
            return True
        if isinstance(files, str) and not os.path.isfile(files):
            return False
        from ..partitions.sizes import fits

        return not fits([files] if isinstance(files, str) else files, self._bytes())

    def _bytes(self) -> int | None:
        if self.memory is None:
            return None
        found = _SIZE.fullmatch(self.memory.strip())
        if found is None:
            raise ParameterError(f"--memory takes a size such as 500MB or 4GB, got {self.memory!r}.")
        return int(float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " "))

    def dataset(
        self, files: str | list[str], reading: TableOptions, target: str | None, weights: str | None = None,
        types: dict[str, str] | None = None, missing_codes: list[str] | None = None,
    ) -> PartitionedRows:  # fmt: skip
        """The files as rows that are read in every pass."""
        from ..partitions.dataset import open_dataset

        given = {name: value for name, value in reading.reading(missing_codes).items() if value is not None}
        executor, reading_as = self.dask or self.spark or "threads", {**given, "types": types or {}}
        rows = open_dataset(files, target=target, weight=weights, executor=executor, reading=reading_as)
        return rows if self.checkpoint is None else rows.checkpointed(self.checkpoint)

    def training(
        self, files: str | list[str], options: TrainingOptions, target: str | None, weights: str | None, coding: Coding
    ) -> LabelledDataset:
        """The files with their rows coded and labelled, as they are read."""
        from ..tables.training import LearningOptions

        types = pairs("--types", options.types or ())
        rows = self.dataset(files, options, target, weights, types, options.missing_codes)
        settings = {"drop": list(options.drop or ()), "types": types, "coding": coding, **options.treatment(False)}
        learned = rows.learned(LearningOptions(**settings), labels=True)
        return LabelledDataset(rows.coded(learned.schema, learned.complete), learned)

    def done(self) -> None:
        """Remove the file of a fit that has come to its end."""
        if self.checkpoint is not None:
            with suppress(FileNotFoundError):
                os.remove(self.checkpoint)


def refuse_formula(formula: str | None) -> None:
    """Formulas take rows in memory."""
    if formula is not None:
        raise ParameterError(
            "--formula needs all rows in memory, and these files are read by passes. Give the columns themselves, "
            "with --model logistic, or a sample of the rows."
        )


def refuse_at_hand(files: str | list[str], model: Any, name: str) -> None:
    """Refuse a model that needs more rows at hand than there may be, before they are read."""
    from ..partitions.dataset import refuse_gathering
    from ..partitions.sizes import decoded_bytes

    if not getattr(model, "_takes_passes", False):
        size = decoded_bytes([files] if isinstance(files, str) else files)
        refuse_gathering(size, name)


@dataclass(frozen=True)
class LabelledDataset:
    """Files and what was learned of their columns: to commands what `Labelled` is."""

    rows: PartitionedRows
    training: Learned
    by_passes: ClassVar[bool] = True
    formula: ClassVar[None] = None
    weights: ClassVar[dict[str, Any]] = {}

    labels: ClassVar[None] = None

    def seen(self) -> dict[str, list[float]]:
        """What explanations of new rows compare with."""
        return self.data.seen()

    @cached_property
    def data(self) -> LabelledPartitions:
        """The rows with their labels."""
        return self.rows.labelled()

    @property
    def n_rows(self) -> int:
        """How many rows are learned from."""
        return self.rows.n_rows - self.training.n_dropped

    @property
    def class_rows(self) -> dict[Any, int]:
        """Rows of each class."""
        target, found = self.training.schema.target, self.data.survey.classes
        assert target is not None
        return {label: found[label][0] for label in target.classes}

    @property
    def read_as(self) -> str:
        """How the files are read, in words."""
        return f"{len(self.rows.pieces):,} pieces, read anew in every pass"

    def confusion(self, model: Any) -> Any:
        """What a fitted model says of these rows beside their classes."""
        from ..evaluation import evaluate

        return evaluate(model, self.rows).confusion

    @property
    def source(self) -> dict[str, Any]:
        """What table it was: values that go with results and into model files."""
        target = self.training.schema.target
        return {
            "data": self.rows.written.label,
            "sha256": None,
            "rows": self.n_rows,
            "rows_left_out": self.training.n_dropped,
            "lines_skipped": self.rows.written.skipped,
            "target": None if target is None else target.name,
            "columns": self.rows.n_columns,
        }

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is worth knowing about the table, the grave things first."""
        return told_findings(self.training.findings)


def coded_dataset(
    scale: ScaleOptions, files: str | list[str], reading: TableOptions, schema: Schema, weights: str | None = None
) -> Any:
    """Files as the schema of a model codes them."""
    target = None if schema.target is None else schema.target.name
    types = schema.types if schema.width is None else None
    return scale.dataset(files, reading, target, weights, types=types).coded(schema)
