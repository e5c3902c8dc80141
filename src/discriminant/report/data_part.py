"""The rows: how many, of which classes, in which columns, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.labels import LabelledRows
from ..data.rows import as_rows
from ..engine import reduce
from ..moments import ClassMoments
from .material import Material, TrainingRows
from .numbers import count, decimal, percent

Array = np.ndarray[Any, Any]

#: Columns that are listed at once; the others can be unfolded.
SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class ClassLine:
    """A class and how many rows are of it."""

    label: str
    rows: str
    share: str
    width: float  #: of its bar, as a share of the longest


@dataclass(frozen=True)
class ColumnLine:
    """A column and what is known about it: in words where a schema tells, else its mean and standard deviation."""

    name: str
    kind: str = "number"
    missing: str = "0"
    words: str = ""
    mean: str = ""
    deviation: str = ""


def data_part(material: Material) -> dict[str, Any]:
    """What the part on the data shows."""
    rows = material.rows
    lines = [] if rows is None else _columns(rows)
    findings = () if rows is None else sorted(rows.findings, key=lambda found: found.severity != "warning")
    return {
        "n_rows": count(material.evaluation.n_rows if rows is None else len(rows.y)),
        "n_dropped": 0 if rows is None else rows.n_dropped,
        "n_columns": None if rows is None else len(lines),
        "n_coded": None if rows is None else len(rows.names),
        "classes": class_lines(material),
        "columns": lines[:SHOWN_COLUMNS],
        "more_columns": lines[SHOWN_COLUMNS:],
        "findings": findings,
        "known": rows is not None,
        "checked": rows is not None and rows.schema is not None,
        "in_words": any(line.words for line in lines),
    }


def class_lines(material: Material) -> list[ClassLine]:
    """Each class with its rows, in the order of the classes."""
    weight = material.class_rows
    total, most = float(weight.sum()), float(weight.max())
    return [
        ClassLine(str(label), count(n), percent(n / total), n / most)
        for label, n in zip(material.classes, weight.tolist(), strict=True)
    ]


def _columns(rows: TrainingRows) -> list[ColumnLine]:
    if rows.schema is not None and rows.schema.columns:
        return [_described(column) for column in rows.schema.columns]
    means, deviations = column_moments(rows)
    return [
        ColumnLine(name, mean=decimal(mean), deviation=decimal(deviation))
        for name, mean, deviation in zip(rows.names, means.tolist(), deviations.tolist(), strict=True)
    ]


def _described(column: Any) -> ColumnLine:
    words = column.describe().removeprefix(f"{column.name}: ")
    if column.dropped is None and column.kind == "number":
        words = f"mean {decimal(column.mean)}" if not column.missing else words.removeprefix("number; ")
    kind = {"boolean": "0 or 1"}.get(column.kind, column.kind)
    return ColumnLine(column.name, kind, count(column.missing), words)


def column_moments(rows: TrainingRows) -> tuple[Array, Array]:
    """The mean and the standard deviation of each column of numbers."""
    numbers = as_rows(rows.X)
    together = LabelledRows(numbers, np.array([0]), np.zeros(numbers.n_rows, dtype=np.int32), rows.weights)
    found = reduce(together, ClassMoments(1, numbers.n_columns, grain="diagonal"))
    return found.mean[0], np.sqrt(found.scatter[0] / found.weight[0])
