"""Reads a labelled table: coded rows, labels, and the schema that codes further rows in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import Rows, check_weights, exact_array, is_sparse
from ..errors import ColumnError, InputError, ParameterError, Setting, WeightError
from ..results import Finding, quoted, several
from .classes import learn_target
from .column import Coding, Column, Policy
from .copies import Copies
from .dialect import MISSING_CODES
from .facts import TableFacts
from .labels import raw_labels, whole_labels
from .layouts import Values
from .learning import ColumnLearner, LearningOptions, incomplete_rows
from .readers import TableReader
from .schema import Schema
from .sources import TableSource, open_table
from .svmlight import SvmlightReader
from .values import as_floats, complete_rows

if TYPE_CHECKING:
    from .schema import Coded

#: Values of a block whose sums and extremes are found in the cache.
BLOCK_VALUES: Final = 1 << 16


@dataclass(frozen=True)
class TrainingTable:
    """Coded rows, labels, the schema and the findings about a table.

    Attributes
    ----------
    X : float64 array in C order, or CSR matrix, of shape (n_rows, n_coded)
    y : array of shape (n_rows,)
        The labels.
    codes : array of int32 of shape (n_rows,)
        The class codes of the labels, by ``schema.target.classes``.
    schema : Schema
        Codes further rows in the same way.
    findings : tuple of Finding
        Data issues.
    weights, groups : array of shape (n_rows,), or None
    row_numbers : array of int
        The rows of the table in X; the others have no label, or missing values under ``missing="drop"``.
    n_dropped : int
        The number of the others.
    times : array of shape (n_rows,), or None
        The column that orders the rows in time, as numbers.
    """

    X: Coded
    y: Array
    codes: Array
    schema: Schema
    findings: tuple[Finding, ...]
    weights: Array | None
    groups: Array | None
    row_numbers: Array
    n_dropped: int
    times: Array | None = None

    @property
    def rows(self) -> Rows:
        """X with the names of its columns, which a model fitted to these rows uses in its messages and results."""
        return self.schema.rows(self.X)

    def seen(self) -> dict[str, list[float]]:
        """The means and ranges of the coded columns and the class proportions, for explanations of new rows."""
        means, lowest, highest = _column_ranges(self.X)
        counts = np.bincount(self.codes, weights=self.weights)
        found = {"means": means, "lowest": lowest, "highest": highest, "shares": counts / counts.sum()}
        return {name: values.tolist() for name, values in found.items()}


def _column_ranges(X: Coded) -> tuple[Array, Array, Array]:
    """Mean, lowest and highest value of each column."""
    if is_sparse(X):
        return np.ravel(X.mean(axis=0)), X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    step = max(BLOCK_VALUES // X.shape[1], 1)
    blocks = [X[start : start + step] for start in range(0, len(X), step)]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda block: (block.sum(axis=0), block.min(axis=0), block.max(axis=0)), blocks))
    sums, lowest, highest = zip(*found, strict=True)
    return np.sum(sums, axis=0) / len(X), np.min(lowest, axis=0), np.max(highest, axis=0)


def read_training(
    table: TableReader | TableSource,
    target: str | None = None,
    *,
    missing: Policy = "indicator",
    drop: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    time: str | None = None,
    max_levels: int = 50,
    rare: int = 5,
    drop_classes_below: int = 1,
    coding: Coding = "reference",
    by_type: bool = False,
) -> TrainingTable:
    """Read the rows and labels of a table, coded as numbers, with the schema that codes further rows in the same way.

    Parameters
    ----------
    table : TableReader, or a source for `open_table`
        An open table, or a file or frame.
    target : str, optional
        The column of classes; not needed if the table was opened with it.
    missing : {"indicator", "drop", "refuse"}, default="indicator"
        Impute missing numbers with the mean and add an indicator column, with missing categories as a level of their
        own. Or drop incomplete rows, or refuse them.
    drop : list of str, default=()
        Columns to drop.
    types : dict, optional
        Types of columns that should not be inferred: ``"number"``, ``"category"``, ``"boolean"``, ``"date"``,
        ``"date-dmy"`` and ``"date-mdy"`` for dates with the day or the month first, or ``"text"`` for words. In
        a declared column no number is a missing-value code, and no level another spelling.
    weights, groups : str, optional
        Columns of row weights, and of groups of dependent rows for validation.
    time : str, optional
        A column of numbers or dates by which rows are ordered in validation (`forward_chaining`). It is also a feature
        unless it is dropped.
    max_levels : int, default=50
        Levels of a category that are coded, the most frequent ones; the others are pooled as ``(other)``.
    rare : int, default=5
        Levels with fewer rows than this are pooled as ``(other)``, or coded as the reference level if all of them
        together have fewer. Numbers that differ from their most frequent value in fewer rows are dropped, and so are
        indicators of fewer missing values. A twentieth of the rows is never rare; 1 codes everything.
    drop_classes_below : int, default=1
        Classes with fewer rows than this are dropped, here and in evaluations. 1 keeps all.
    coding : {"reference", "full", "sparse"}, default="reference"
        Which levels of a category have a coded column. All but the most frequent, so that a coefficient compares a
        level with it: for maximum likelihood and inference. Or all, so that a penalty treats them alike. "sparse" is
        the same, but of categories with more than ``max_levels`` levels each level of two or more rows has a sparse
        column, whose effect a ridge shrinks towards the mean of the levels; other levels have this mean.
    by_type : bool, default=False
        Infer types from the storage types alone: numbers are numbers (not codes), text of a frame and Booleans are
        categories.

    Returns
    -------
    TrainingTable
        With rows ``X``, labels ``y``, ``schema`` and ``findings``.

    See Also
    --------
    open_table : Opens a table with a given dialect.
    TableEncoder : Codes frames as a step of a scikit-learn pipeline.

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
    kinds = {} if types is None else types
    options = LearningOptions(missing, drop, kinds, max_levels, rare, drop_classes_below, coding, by_type)
    if not isinstance(table, TableReader):
        table = open_table(table, target, types=types)
    if isinstance(table, SvmlightReader):
        return _sparse_training(table, (target, weights, groups, time), options)
    target = table.target if target is None else target
    if target is None:
        columns = f". Columns: {quoted(table.columns, 20)}."
        remedy = "Set ", Setting("target"), " to the name of the class column"
        raise ColumnError("No target column was given. ", *remedy, columns)
    roles = [name for name in (target, weights, groups) if name is not None]
    for name in (*roles, *([] if time is None else [time]), *options.drop, *options.types):
        table.known(name, "target" if name == target else "column")
    if len(set(roles)) < len(roles) or target in options.drop:
        raise ParameterError(f"Target, weights and groups must be different columns that are not dropped, got {roles}.")
    options = replace(options, types={**table.types, **options.types})
    return _training(table, _Roles(target, weights, groups, time), options)


class _Roles(NamedTuple):
    """The columns of classes, weights, groups and times."""

    target: str
    weights: str | None
    groups: str | None
    time: str | None


def _training(table: TableReader, roles: _Roles, options: LearningOptions) -> TrainingTable:
    """The coded rows of a table with named columns; the coding is learned again if rows are dropped."""
    codes = table.missing_codes
    target, weights, groups, time = roles
    data = table.read()
    n_rows = data.num_rows
    labels, present = raw_labels(data[target], target, codes)
    rows = np.flatnonzero(present)
    data = data if rows.size == n_rows else data.filter(present)
    findings, left_out, n_missing = list[Finding](), tuple[Any, ...](), n_rows - rows.size
    while True:
        learned, classes, found = learn_target(labels, target, table.label, options, n_missing)
        if learned.left_out:
            findings += [finding for finding in found if finding.kind in ("rare class", "missing target")]
            left_out, n_missing, wanted = (*left_out, *learned.left_out), 0, classes >= 0
            data, rows, labels = data.filter(wanted), rows[wanted], labels[wanted]
            continue
        row_weights = None if weights is None else column_weights(data[weights], weights)
        learner = ColumnLearner(TableFacts(data, codes, classes, row_weights), codes, options, table.decimal)
        columns = learner.learn([name for name in data.column_names if name not in (target, weights, groups)])
        needs_complete = options.missing != "indicator"
        gaps = [column for column in columns if needs_complete and column.dropped is None and column.missing]
        kept = complete_rows(gaps, data, codes, options.missing == "refuse")
        findings += found
        if kept.all():
            break
        n_kept = int(np.count_nonzero(kept))
        findings.append(incomplete_rows(kept.size - n_kept, n_kept, table.label))
        data, rows, labels, n_missing = data.filter(kept), rows[kept], labels[kept], 0
    schema = Schema(columns, replace(learned, left_out=left_out), options.missing, codes or MISSING_CODES)
    X = schema.encode_batch(data)[0]
    # Copies within a group are held out together.
    copies = Copies.of(X, classes) if groups is None else None
    found = [finding for finding in learner.findings if (finding.kind, finding.column) != ("time order", time)]
    findings += found if copies is None else _without_copies(found, copies, schema)
    return TrainingTable(
        X=X,
        y=exact_array(learned.classes)[classes],
        codes=classes,
        schema=schema,
        findings=(*table.findings, *findings),
        weights=row_weights,
        groups=None if groups is None else column_groups(data[groups], groups, codes),
        row_numbers=rows,
        n_dropped=n_rows - rows.size,
        times=None if time is None else _times(learner.recognised(time), data[time], codes),
    )


def _without_copies(findings: Sequence[Finding], copies: Copies, schema: Schema) -> list[Finding]:
    """The finding about copies, and the others: numbers that repeat only because their rows do are no leakage."""
    numbers = {output: j for j, output in enumerate(schema.names)}

    def holds(finding: Finding) -> bool:
        if finding.kind != "possible leakage" or finding.column not in numbers:
            return True
        return copies.separates_classes(numbers[finding.column])

    return [copies.finding(), *filter(holds, findings)]


def column_weights(values: Values, name: str) -> Array | None:
    """The row weights in a column."""
    try:
        numbers = values.cast(pa.float64()) if pa.types.is_decimal(values.type) else values
        return check_weights(np.asarray(numbers.to_numpy()), len(values))
    except WeightError as error:
        raise WeightError(f"Column {name!r}: {error}") from error


def column_groups(values: Values, name: str, codes: Sequence[str]) -> Array:
    """The groups in a column."""
    labels, present = raw_labels(values, name, codes)
    if not present.all():
        count = several(int(np.count_nonzero(~present)), "missing value")
        raise ColumnError(
            f"Group column {name!r} has {count}, the first in row {int(np.argmin(present))}. Expected a group for "
            "every row: fill in or remove these rows."
        )
    return labels


def _times(column: Column, values: Values, codes: Sequence[str]) -> Array:
    """A column that orders the rows in time, as numbers."""
    if column.kind not in ("number", "date"):
        raise ColumnError(f"Time column {column.name!r} has text. Expected numbers or dates: give another column.")
    numbers = as_floats(column, values, codes)
    if (missing := np.isnan(numbers)).any():
        count = several(int(np.count_nonzero(missing)), "missing value")
        raise ColumnError(
            f"Time column {column.name!r} has {count}. Expected a time for every row: fill in or remove these rows."
        )
    return numbers


def _sparse_training(table: SvmlightReader, roles: Sequence[str | None], options: LearningOptions) -> TrainingTable:
    if any(name is not None for name in roles):
        raise ColumnError(f"{table.label} is SVMlight text without named columns: leave target and other roles out.")
    rows = table.read()
    n_rows = rows.num_rows
    found, classes, findings = learn_target(whole_labels(rows.y), None, table.label, options)
    numbers = np.flatnonzero(classes >= 0)
    rows, classes = rows.filter(numbers) if numbers.size < n_rows else rows, classes[numbers]
    first = int(not (rows.X.indices == 0).any())
    if rows.X.shape[1] == first:
        raise InputError(f"{table.label} has labels only. Expected at least one column: add column:value pairs.")
    schema = Schema((), found, width=rows.X.shape[1] - first, first=first)
    X, y = schema.encode_batch(rows)[0], exact_array(found.classes)[classes]
    return TrainingTable(X, y, classes, schema, tuple(findings), None, None, numbers, n_rows - numbers.size)
