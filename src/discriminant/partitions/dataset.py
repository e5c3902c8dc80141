"""Rows of files that are streamed from disk in each pass, accepted by estimators like rows in memory.

`PartitionedRows` are a list of fragments and the roles of columns; they hold no row. Consecutive fragments form a
partition: a worker reads a partition, its statistic is small, and statistics are merged in the order of the partitions.
Partitions depend on the files only, and so does every bit of a result, whichever worker reads which of them.

Labels are converted to class codes while they are read, so the classes have to be known first: a *survey* reads the
columns of labels, weights and clusters only. What solvers need beforehand (column scales, an initial Hessian, signs of
separation) comes from a *sample* of at most 64 MB, read when it is first needed.

The cost of a pass is decoding and transposing columns, about a microsecond for 50 numbers, whatever is computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import (
    LabelledRows,
    StreamedRows,
    consecutive_runs,
    dense_rows,
    label_array,
    largest_of_columns,
    ordered,
    raise_nonfinite,
)
from ..engine import Executor, OverBlocks, Threads
from ..errors import ColumnError, InputError, LabelError, Part
from ..results import listed, quoted, suggestion
from ..tables.layouts import kind_of
from .coding import CodingLearner, Learned, RowFilter, SourceFormat
from .executors import ExecutorLike, Watched, executor_of
from .fragments import Fragment, Partition
from .reading import Reading, Roles, Survey, Surveying
from .training import LabelledPartitions, refuse_gathering

if TYPE_CHECKING:
    from ..tables.column import Column
    from ..tables.learning import LearningOptions
    from ..tables.schema import Schema
    from .cache import Decoded
    from .reading import RowBlock

#: Partitions of a dataset, each with a statistic to merge.
MAX_PARTITIONS: Final = 1024
#: Memory of the Hessians of all partitions, unless fewer than this many partitions would be left to read in parallel.
MAX_STATISTIC_BYTES: Final = 1 << 31
MIN_PARTITIONS: Final = 64

R = TypeVar("R")


@dataclass(frozen=True)
class PartitionedRows(StreamedRows):
    """Rows of files that are streamed from disk; created by `open_dataset`, and accepted by estimators like an array.

    Attributes
    ----------
    names : tuple of str
        The columns that models learn from.
    n_rows, n_columns : int
    n_partitions : int
        The number of parts that are read in parallel. Results depend on it in their last digits, not on the workers.

    See Also
    --------
    open_dataset : Opens files.
    """

    roles: Roles
    fragments: tuple[Fragment, ...]
    executor: Executor = field(default_factory=Threads)
    #: The types of all columns, and the format of the files.
    types: Mapping[str, pa.DataType] = field(default_factory=dict, repr=False)
    format: SourceFormat = field(default_factory=SourceFormat, repr=False)
    #: The coding of columns; None if they are plain numbers.
    schema: Schema | None = field(default=None, repr=False)
    #: Rows with missing values in these columns are dropped.
    complete: tuple[Column, ...] = field(default=(), repr=False)
    #: Decoded files, which are deleted with the last reference to them.
    decoded: Decoded | None = field(default=None, repr=False)
    #: A transformation of blocks, given their rows and the number of the first.
    view: Callable[[Array, int], Any] | None = None
    #: The held-out fold and the number of folds: rows of this fold have no weight.
    held: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.roles.features:
            raise ColumnError(
                "No feature column is left. Expected at least one column besides labels, weights, offsets and clusters."
            )

    @property
    def names(self) -> tuple[str, ...] | None:
        """The features, None if they have numbers only."""
        if not self.roles.named:
            return None
        return self.roles.features if self.schema is None else self.schema.names

    @cached_property
    def is_indicator(self) -> Array | None:
        """Which coded columns are indicators of levels or missing values."""
        return None if self.schema is None or self.schema.width is not None else self.schema.marked()[0]

    @cached_property
    def redundant(self) -> Array | None:
        """Which coded columns follow from others."""
        return None if self.schema is None or self.schema.width is not None else self.schema.marked()[1]

    @cached_property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(fragment.n_rows for fragment in self.fragments)

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return len(self.roles.features if self.schema is None else self.schema.names)

    @property
    def n_bytes(self) -> int:
        """The approximate size of the rows in memory; of sparse rows that of the nonzero values."""
        is_sparse = self.schema is not None and self.schema.sparse
        row_bytes = self.format.row_bytes or 16 * len(self.roles.features)
        return self.n_rows * (row_bytes if is_sparse else 8 * self.n_columns)

    @property
    def n_partitions(self) -> int:
        """The number of parts that are read in parallel."""
        return len(self.partitions)

    @cached_property
    def partitions(self) -> list[Partition]:
        """Runs of consecutive fragments."""
        if getattr(self.executor, "one_fragment_per_task", False):
            return [(fragment,) for fragment in self.fragments]
        runs = consecutive_runs(range(len(self.fragments)), max_partitions(self.n_columns))
        return [self.fragments[run.start : run.stop] for run in runs]

    def on(self, executor: ExecutorLike) -> PartitionedRows:
        """The same rows, read by another executor.

        Parameters
        ----------
        executor : Dask client, Spark session, address or name
            As in `open_dataset`.

        Returns
        -------
        PartitionedRows
        """
        return replace(self, executor=executor_of(executor))

    @cached_property
    def watched(self) -> Executor:
        """The executor, with progress on a terminal."""
        return Watched(self.executor, count(1))

    def checkpointed(self, path: str | os.PathLike[str]) -> PartitionedRows:
        """The same rows, with the results of passes stored in a file until you remove it.

        An interrupted fit that is run again continues from there, with bit-identical results. Results that do not
        match, because the files or the model have changed, are computed again.

        Parameters
        ----------
        path : str or path
            A new file, or that of the interrupted fit.

        Returns
        -------
        PartitionedRows
        """
        from .checkpoint import Checkpointed

        return replace(self, executor=Checkpointed(self.executor, path))

    def __getstate__(self) -> dict[str, Any]:
        """The state without the cluster and the decoded files, which belong to the process."""
        state = {name: value for name, value in vars(self).items() if name != "watched"}
        return state | {"executor": Threads(), "decoded": None}

    @property
    def blocks(self) -> Callable[[Partition], Iterator[tuple[RowBlock, slice]]]:
        """From a partition to its rows, without labels, and their numbers; can be sent to workers."""
        self._refuse_text()
        schema = None if self.schema is None else replace(self.schema, target=None)
        if schema is not None and schema.missing == "drop":
            raise InputError("Rows with missing values are dropped by this schema. Create it with missing='indicator'.")
        roles = replace(self.roles, target=None, weight=None, offset=(), cluster=None)
        return Reading(roles, schema, view=self.view).blocks

    def viewed(self, view: Callable[[Any, int], Any]) -> PartitionedRows:
        """The same rows with their blocks transformed.

        Parameters
        ----------
        view : function
            From a block and the number of its first row to the transformed block; it may be sent to workers.

        Returns
        -------
        PartitionedRows
        """
        return replace(self, view=view)

    def without_fold(self, number: int, n_folds: int) -> PartitionedRows:
        """The rows without those of a fold, by `fold_of_rows`.

        Parameters
        ----------
        number, n_folds : int
            The held-out fold, and the number of folds.

        Returns
        -------
        PartitionedRows
        """
        return replace(self, held=(number, n_folds))

    def learned(self, options: LearningOptions, labels: bool = False) -> Learned:
        """Learn the coding of the columns from a sample and passes over all rows.

        Parameters
        ----------
        options : LearningOptions
            As `read_training` takes them.
        labels : bool, default=False
            Whether to learn the classes, too: rows without a label and rare classes are then dropped.

        Returns
        -------
        Learned
            With ``schema`` and ``findings``.
        """
        learner = CodingLearner(self, options)
        return learner.table() if labels else learner.columns()

    def coded(self, schema: Schema, complete: Sequence[Column] | None = None) -> PartitionedRows:
        """The same rows coded by a schema, with the names of the coded columns.

        Parameters
        ----------
        schema : Schema
            The schema of the training data, see `learned`.
        complete : sequence of Column, optional
            Rows with missing values in these are dropped. Default: all used columns, if the schema drops such rows.

        Returns
        -------
        PartitionedRows
        """
        if schema.width is not None:
            return replace(self, schema=schema)
        columns = [column.name for column in schema.used]
        missing = [name for name in columns if name not in self.types]
        if missing:
            raise ColumnError(
                f"Columns required by the model are missing from the data: {quoted(missing)}. Add them to all files."
            )
        target = self.roles.target if schema.target is None else schema.target.name
        if target is not None and target not in self.types:
            target = None
        roles = replace(self.roles, features=tuple(columns), target=target)
        if complete is None:
            complete = schema.used if schema.missing == "drop" else ()
        return replace(self, roles=roles, schema=schema, complete=tuple(complete))

    @property
    def row_filter(self) -> RowFilter | None:
        """The selection of labelled and complete rows; None if labels are not coded by a schema."""
        if self.schema is None or (self.schema.target is None and not self.complete):
            return None
        return RowFilter(self.schema, self.complete, self.schema.missing_codes)

    def _refuse_text(self) -> None:
        roles = self.roles
        numbers = [*(roles.features if self.schema is None else ()), *roles.offset]
        numbers += [] if roles.weight is None else [roles.weight]
        kinds = {name: self.types[name] for name in numbers if name in self.types}
        wrong = [f"{name!r} ({kind})" for name, kind in kinds.items() if kind_of(kind) not in ("number", "boolean")]
        if wrong:
            raise ColumnError(
                f"Expected columns of numbers, got {listed(wrong, 5)}. Encode them with "
                "TableEncoder().fit(dataset).transform(dataset), or drop them with open_dataset(..., drop=[...])."
            )

    def labelled(self, classes: Array | None = None) -> LabelledPartitions:
        """The rows with their labels.

        Parameters
        ----------
        classes : array, optional
            The possible classes, if they are known.

        Returns
        -------
        LabelledPartitions
        """
        if self.roles.target is None:
            raise LabelError("The dataset has no column of labels. Give one: open_dataset(..., target='column').")
        self._refuse_text()
        survey = self._survey()
        found = label_array(ordered(list(survey.classes))) if classes is None else classes
        if len(found) < 2:
            raise LabelError(
                f"Target {self.roles.target!r} has only one class, {found.tolist()}. Expected two or more: check the "
                "column."
            )
        unknown = [label for label in survey.classes if label not in found.tolist()]
        if unknown:
            raise LabelError(f"Unseen class {unknown[0]!r}. Expected classes of the model: {found.tolist()[:8]}.")
        return LabelledPartitions(self, found, survey)

    def gathered(self, *who: Part) -> LabelledRows:
        """All rows with their labels in memory, for models that need them.

        Parameters
        ----------
        *who : parts of a message
            The model: rows that do not fit are refused before anything is read.

        Returns
        -------
        LabelledRows
        """
        refuse_gathering(self.n_bytes, *who)
        return self.labelled().gather(*who)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def column_label(self, j: int) -> str:
        """The name of column ``j`` in messages."""
        return f"column {self.names[j]!r}" if self.names else f"column {j}"

    number_label = column_label

    def map_blocks(self, function: Callable[[Any, slice], R], n_jobs: int | None = None) -> Iterator[R]:
        """The function of each block and the numbers of its rows, in order; it may be sent to workers."""
        for found in self.executor.in_order(OverBlocks(self.blocks, function), self.partitions, n_jobs):
            yield from found

    def fill(self, out: Array, write: Callable[[Any, Array], bool], n_jobs: int | None = None) -> list[int]:
        """Let ``write`` fill each block of ``out``; returns the first rows of blocks for which it is False."""
        failed = list[int]()
        for where, values, is_valid in self.map_blocks(partial(_written, write, out[:0]), n_jobs):
            out[where] = values
            failed += [] if is_valid else [where.start]
        return failed

    def refuse_nonfinite(self) -> None:
        """Raise an `InputError` that names the first NaN or infinite value, if there is one."""
        for _, found in self._extremes():
            if found is not None:
                raise_nonfinite(found[0], found[1], self.column_label(found[2]))

    def largest_values(self) -> Array:
        """The largest absolute value of each column."""
        return np.max([largest for largest, _ in self._extremes()], axis=0)

    def _extremes(self) -> Iterator[tuple[Array, tuple[float, int, int] | None]]:
        return replace(self, view=None).map_blocks(_extremes)

    def _survey(self) -> Survey:
        survey, reading = Survey(), Reading(self.roles, row_filter=self.row_filter, held=self.held)
        for part in self.watched.in_order(Surveying(reading), self.partitions):
            survey.merge(part)
        if not survey.classes:
            raise InputError("The files have no rows. Give at least one row.")
        return survey


def max_partitions(n_columns: int) -> int:
    """The largest number of partitions of rows with this many columns."""
    return min(MAX_PARTITIONS, max(MIN_PARTITIONS, MAX_STATISTIC_BYTES // (8 * (n_columns + 1) ** 2)))


def roles_of(types: Mapping[str, pa.DataType | None], given: Roles, others: bool, drop: Sequence[str]) -> Roles:
    """The roles of the columns of these types, with all ``others`` as features; unknown names raise a `ColumnError`."""
    beside = [name for name in (given.target, given.weight, *given.offset, given.cluster) if name is not None]
    for name in (*beside, *drop, *given.features):
        if name not in types:
            raise ColumnError(f"The dataset has no column {name!r}.{suggestion(name, list(types))}")
    features = tuple(name for name in types if name not in {*beside, *drop}) if others else given.features
    return replace(given, features=features)


def _extremes(block: RowBlock, where: slice) -> tuple[Array, tuple[float, int, int] | None]:
    """The largest absolute value of each column of a block, and the first nonfinite value with its place."""
    largest = largest_of_columns(block)
    if np.isfinite(largest).all():
        return largest, None
    values = dense_rows(block)
    i, j = np.argwhere(~np.isfinite(values))[0]
    return largest, (float(values[i, j]), where.start + int(i), int(j))


def _written(
    write: Callable[[Any, Array], bool], like: Array, block: RowBlock, where: slice
) -> tuple[slice, Array, bool]:
    """The place of a block, the values that ``write`` computes, and whether they are valid; ``like`` has their type."""
    values = np.empty((where.stop - where.start, *like.shape[1:]), like.dtype)
    return where, values, write(block, values)
