"""One call from a labelled table to rows, labels and the schema that codes further rows alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.labels import check_weights
from ..data.rows import Rows
from ..errors import ColumnError, InputError, ParameterError, Setting, WeightError
from ..results import Finding, quoted
from .coding import complete_rows
from .dialect import MISSING_CODES
from .files import SvmlightReader, open_table
from .learning import ColumnLearner, LearningOptions, learn_target
from .schema import Column, Policy, Schema, raw_labels, whole_labels
from .sources import TableReader

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TrainingTable:
    """Rows, labels and what was decided and found on the way.

    Attributes
    ----------
    X : float64 array in C order, or CSR matrix, of shape (n_rows, n_coded)
    y : array of shape (n_rows,)
        The labels.
    codes : array of int32 of shape (n_rows,)
        The places of the labels among ``schema.target.classes``.
    schema : Schema
        Codes further rows in the same way.
    findings : tuple of Finding
        What is worth knowing about the table.
    weights, groups : array of shape (n_rows,), or None
    row_numbers : array of int
        The rows of the table that X holds; the others had no label, or missing values under ``missing="drop"``.
    n_dropped : int
        How many others there were.
    """

    X: Any
    y: Array
    codes: Array
    schema: Schema
    findings: tuple[Finding, ...]
    weights: Array | None
    groups: Array | None
    row_numbers: Array
    n_dropped: int

    @property
    def rows(self) -> Rows:
        """X with the names of its columns: a model fitted to these rows knows them, and calls columns by name."""
        return self.schema.rows(self.X)


def read_training(
    table: Any,
    target: str | None = None,
    *,
    missing: Policy = "indicator",
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    max_levels: int = 50,
    rare: int = 5,
) -> TrainingTable:
    """The rows and labels of a table, coded as numbers, with the schema that codes further rows alike.

    Parameters
    ----------
    table : TableReader, or what `open_table` opens
        A table opened before, with its dialect put right, or a file or frame.
    target : str, optional
        The column of classes; not needed if the table was opened with it.
    missing : {"indicator", "drop", "refuse"}
        Missing numbers become the mean, and a column more marks them; missing categories are a level of their own. Or
        leave out incomplete rows, or refuse them.
    drop : list of str
        Columns to leave out.
    types : dict, optional
        What columns are: ``"number"``, ``"category"`` or ``"boolean"``.
    weights, groups : str, optional
        Columns of row weights, and of groups that belong together in validation.
    max_levels : int
        A category keeps this many levels, the most frequent ones; the others count as ``(other)``.
    rare : int
        Levels of fewer rows than this count as ``(other)``, or as the reference level where all of them together have
        fewer; numbers that differ from their most frequent value in fewer rows are left out, and so are marks of fewer
        missing values. A twentieth of the rows is never rare; 1 keeps everything.

    Returns
    -------
    TrainingTable

    Examples
    --------
    >>> import pandas as pd
    >>> from discriminant.tables import read_training
    >>> frame = pd.DataFrame({"age": [31, 40, 35, 22], "sex": ["f", "m", "m", "m"], "ill": ["y", "n", "n", "y"]})
    >>> training = read_training(frame, "ill")
    >>> training.X
    array([[31.,  1.],
           [40.,  0.],
           [35.,  0.],
           [22.,  0.]])
    >>> training.y
    array(['y', 'n', 'n', 'y'], dtype='<U1')
    """
    options = LearningOptions(missing, drop, {} if types is None else types, max_levels, rare)
    if not isinstance(table, TableReader):
        table = open_table(table, target, types=types)
    if isinstance(table, SvmlightReader):
        return _sparse_training(table, target, weights, groups)
    return _Training(table, target, weights, groups, options).coded()


class _Training:
    """A table on its way to rows and labels."""

    def __init__(self, table: TableReader, target: Any, weights: Any, groups: Any, options: LearningOptions) -> None:
        self.table = table
        target = table.target if target is None else target
        if target is None:
            columns = f". Columns: {quoted(table.columns, 20)}."
            raise ColumnError("Name the target, the column of classes, with ", Setting("target"), columns)
        self.target, self.weights, self.groups = target, weights, groups
        self.roles = [name for name in (target, weights, groups) if name is not None]
        for name in (*self.roles, *options.drop, *options.types):
            table.known(name, "target" if name == target else "column")
        if len(set(self.roles)) < len(self.roles) or target in options.drop:
            raise ParameterError(
                f"Target, weights and groups must be different columns that are not dropped, got {self.roles}."
            )
        self.options = replace(options, types={**table.types, **options.types})
        self.codes = () if table.dialect is None else table.dialect.missing

    def coded(self) -> TrainingTable:
        data = self.table.read()
        n_rows = data.num_rows
        labels, present = raw_labels(data[self.target], self.target, self.codes)
        rows = np.flatnonzero(present)
        data = data if rows.size == n_rows else data.filter(present)
        target, classes, findings = learn_target(labels, self.target, self.table.label, n_rows - rows.size)
        columns, found = self._learn(data, classes)
        kept = self._complete(data, columns)
        if not kept.all():
            said = f"{np.count_nonzero(~kept):,} rows with missing values were left out."
            data, rows = data.filter(kept), rows[kept]
            target, classes, again = learn_target(labels[kept], self.target, self.table.label)
            findings += [Finding("warning", "rows missing", None, said), *again]
            columns, found = self._learn(data, classes)
        schema = Schema(columns, target, self.options.missing, self.codes or MISSING_CODES)
        return TrainingTable(
            X=schema.encode_batch(data)[0],
            y=np.array(target.classes)[classes],
            codes=classes,
            schema=schema,
            findings=(*findings, *found),
            weights=None if self.weights is None else _weights(data[self.weights], self.weights),
            groups=None if self.groups is None else _groups(data[self.groups], self.groups, self.codes),
            row_numbers=rows,
            n_dropped=n_rows - rows.size,
        )

    def _learn(self, data: Any, classes: Array) -> tuple[tuple[Column, ...], list[Finding]]:
        learner = ColumnLearner(data, self.codes, self.options, classes)
        return learner.learn([name for name in data.column_names if name not in self.roles]), learner.findings

    def _complete(self, data: Any, columns: Sequence[Column]) -> Array:
        """Which rows miss nothing in the columns that are used, where it matters."""
        matters = self.options.missing != "indicator"
        used = [column for column in columns if matters and column.dropped is None and column.missing]
        kept = complete_rows(used, data, self.codes, self.options.missing == "refuse")
        if not kept.any():
            misses = f"Every row of {self.table.label} misses some value. Choose "
            raise InputError(misses, Setting("missing", "indicator"), ".")
        return kept


def _weights(values: Any, name: str) -> Array:
    try:
        weight = check_weights(np.asarray(values.to_numpy()), len(values))
    except WeightError as error:
        raise WeightError(f"Weights in column {name!r}: {error}") from error
    assert weight is not None
    return weight


def _groups(values: Any, name: str, codes: Sequence[str]) -> Array:
    labels, present = raw_labels(values, name, codes)
    if not present.all():
        raise ColumnError(
            f"Groups in column {name!r} are missing in {np.count_nonzero(~present):,} rows, the first row "
            f"{int(np.argmin(present))}. Every row needs a group."
        )
    return labels


def _sparse_training(table: SvmlightReader, target: Any, weights: Any, groups: Any) -> TrainingTable:
    if any(name is not None for name in (target, weights, groups)):
        raise ColumnError(f"{table.label} is SVMlight text: it has labels but no named columns. Leave the names out.")
    rows = table.read()
    found, classes, findings = learn_target(whole_labels(rows.y), None, table.label)
    first = int(not (rows.X.indices == 0).any())
    if rows.X.shape[1] == first:
        raise InputError(f"No column is left to learn from in {table.label}: its rows have labels only.")
    schema = Schema((), found, width=rows.X.shape[1] - first, first=first)
    X, _ = schema.encode_batch(rows)
    everything = np.arange(rows.num_rows)
    y = np.array(found.classes)[classes]
    return TrainingTable(X, y, classes, schema, tuple(findings), None, None, everything, 0)
