"""Levels and columns too rare to learn from.

A level of one row tells that row, not its class: maximum likelihood gives it an infinite coefficient, and where
cross-validation holds the row out its column does not vary. Such levels are pooled before any model sees them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..tables import Column, Table, TrainingTable

_SHARE = 20  #: a level is not rare if it has one row in so many
_LOOKED_AT = 5000


def without_rare(training: TrainingTable, table: Table, least: int) -> TrainingTable:
    """The training table with levels of fewer than ``least`` rows pooled, and columns that hardly vary left out."""
    from ..tables import Schema

    if least < 1:
        raise ParameterError(f"--rare must be at least 1, got {least}.")
    least = min(least, len(training.y) // _SHARE)
    schema, findings = training.schema, []
    if least < 2 or schema.width is not None:
        return training
    columns, first = [], 0
    for column in schema.columns:
        coded = training.X[:, first : first + len(column.outputs)]
        first += len(column.outputs)
        kept, said = _steady(column, _differing(coded, least), least)
        columns.append(kept)
        findings += said
    if not findings or not any(column.outputs for column in columns):
        return training
    thinner: Schema = replace(schema, columns=tuple(columns))
    X, _ = thinner.encode_batch(table.read().take(training.rows))
    return replace(training, X=X, schema=thinner, findings=(*training.findings, *findings))


def _differing(coded: Any, least: int) -> list[int]:
    """For each coded column, in how many rows it differs from its most frequent value (or in how many at least)."""
    import numpy as np
    import scipy.sparse as sp

    def differs(values: Any) -> int:
        return len(values) - int(np.unique(values, return_counts=True)[1].max())

    if sp.issparse(coded):
        found: list[int] = np.diff(coded.tocsc().indptr).tolist()
        return found
    some = [differs(values[:_LOOKED_AT]) for values in coded.T]
    return [n if n >= least else differs(values) for n, values in zip(some, coded.T, strict=True)]


def _steady(column: Column, differing: list[int], least: int) -> tuple[Column, list[Any]]:
    """The column without its rare parts, and findings that say what was done."""
    from ..tables import Finding

    if not column.outputs or min(differing) >= least:
        return column, []
    if column.kind != "category":
        own = differing[0]
        if own < least:
            said = f"Column {column.name!r} is left out: it is the same in all but {own} rows."
            return replace(column, dropped=f"the same in all but {own} rows"), [
                Finding("warning", "hardly varies", column.name, said)
            ]
        said = f"Column {column.name!r} has {differing[1]} missing values: too few to be marked by a column."
        return replace(column, missing_column=False), [Finding("note", "missing", column.name, said)]
    return _pooled(column, dict(zip(column.coded_levels, differing, strict=False)), differing[-1], least)


def _pooled(column: Column, rows: dict[str, int], missing: int, least: int) -> tuple[Column, list[Any]]:
    """The column with its rare levels counted as ``(other)``, or as the reference level where that were rare too."""
    from ..tables import Finding

    rare = [level for level in column.levels if level != column.reference and rows[level] < least]
    total = sum(rows[level] for level in rare) + sum(n for level, n in rows.items() if level not in column.levels)
    levels = tuple(level for level in column.levels if level not in rare)
    pooled = column.pooled + len(rare) if total >= least else 0
    marked = column.missing_column and missing >= least
    kept = replace(column, levels=levels, pooled=pooled, missing_column=marked)
    where = "(other)" if pooled else "(missing)" if marked else repr(column.reference)
    parts = [f"{len(rare)} of its levels have fewer than {least} rows each and count as {where}"] * bool(rare)
    if column.missing_column and not marked:
        parts.append(f"values are missing in {missing} of the rows, too few for a level of their own")
    said = f"Column {column.name!r}: {'; '.join(parts) or f'few rows are {where}'}."
    if not kept.outputs:
        kept = replace(kept, dropped=f"nearly all rows have {column.reference!r}")
        said = f"Column {column.name!r} is left out: nearly all rows have {column.reference!r}."
    return kept, [Finding("note", "rare levels", column.name, said)]
