"""Coding of the columns and labels of a dataset, learned in passes over its rows.

The labels are counted first, to know which rows have a class and which classes are dropped. A stratified sample of the
rows then gives the types of the columns, as all rows do for a table in memory (`tables.training`), and one more pass
counts levels, missing values, ranges and means (`tables.counting`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import random_words
from ..errors import ColumnError, InputError, Setting
from ..results import Finding, quoted
from ..tables.classes import learn_target
from ..tables.column import Column
from ..tables.counting import Counts, SampledFacts
from ..tables.dialect import MISSING_CODES
from ..tables.facts import TableFacts
from ..tables.labels import Target, raw_labels
from ..tables.layouts import TEXT, cast, is_text, kind_of, value_type, without_views
from ..tables.learning import ColumnLearner, LearningOptions, incomplete_rows, unsupported_type
from ..tables.schema import Schema
from ..tables.values import complete_rows, missing_refused
from .fragments import SPARSE_COLUMNS, Batch, Partition, batches_of

if TYPE_CHECKING:
    from .dataset import PartitionedRows

#: Rows per batch in passes that learn the coding.
BATCH_ROWS: Final = 1 << 15
#: Rows of the sample: what it does not show concerns few rows; 30 columns of it are examined in 0.1 s.
MAX_SAMPLE_ROWS: Final = 50_000
#: Memory of the sample, at 16 bytes per value.
MAX_SAMPLE_BYTES: Final = 1 << 25
_BYTES_PER_VALUE: Final = 16

R = TypeVar("R")


@dataclass(frozen=True)
class SourceFormat:
    """The format of the files of a dataset, as far as it concerns the meaning of values.

    ``codes`` are the missing-value codes, empty if files have types, ``label`` is the name of the dataset in messages.
    """

    label: str = "the dataset"
    codes: tuple[str, ...] = ()
    decimal: str = "."
    findings: tuple[Finding, ...] = ()
    #: Approximate memory of a row of SVMlight.
    row_bytes: int = 0


@dataclass(frozen=True)
class Learned:
    """The coding of rows, the findings, how many rows are dropped, and the columns that must be complete."""

    schema: Schema
    findings: tuple[Finding, ...]
    n_dropped: int = 0
    complete: tuple[Column, ...] = ()


class _Selected(NamedTuple):
    """The selected rows of a batch, their numbers in the dataset, and their class codes."""

    table: pa.Table
    numbers: Array
    classes: Array


@dataclass(frozen=True)
class RowFilter:
    """Selects the rows of a batch with a class, and without missing values in the ``complete`` columns."""

    target: Schema | None = None
    complete: tuple[Column, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns on which the selection depends."""
        return (*([self.label] if self.label else ()), *(column.name for column in self.complete))

    @property
    def label(self) -> str | None:
        """The column of labels, None if they are not needed."""
        if self.target is None or self.target.target is None:
            return None
        return self.target.target.name or SPARSE_COLUMNS[0]

    def __call__(self, batch: Batch) -> tuple[Array | None, Array | None]:
        """A mask of the selected rows, None for all, and their class codes, None if classes are not known."""
        mask, classes = np.ones(batch.num_rows, dtype=bool), None
        if self.target is not None and self.label is not None:
            classes = self.target.class_codes(batch.column(self.label))
            mask &= classes >= 0
        if self.complete:
            mask &= complete_rows(self.complete, without_views(batch), self.codes, refuse=False)
        if mask.all():
            return None, classes
        return mask, None if classes is None else classes[mask]

    def selected(self, partition: Partition, columns: Sequence[str], rows: int) -> Iterator[_Selected]:
        """The selected rows of a partition, batch by batch."""
        for _, start, batch in batches_of(partition, tuple(dict.fromkeys((*columns, *self.columns))), rows):
            mask, classes = self(batch)
            numbers = np.arange(batch.num_rows) if mask is None else np.flatnonzero(mask)
            table = without_views(batch).select(list(columns))
            table = table if mask is None else table.filter(pa.array(mask))
            yield _Selected(table, start + numbers, np.zeros(len(numbers), np.int32) if classes is None else classes)


@dataclass(frozen=True)
class _Scan(Generic[R]):
    """From a partition to the result of a function of its selected rows; small, so that it can be sent to workers."""

    function: Callable[[Iterator[_Selected]], R]
    read: tuple[str, ...]
    row_filter: RowFilter = RowFilter()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return tuple(dict.fromkeys((*self.read, *self.row_filter.columns)))

    def __call__(self, partition: Partition) -> R:
        return self.function(self.row_filter.selected(partition, self.read, BATCH_ROWS))


def _count_rows(parts: Iterator[_Selected]) -> int:
    return sum(len(part.numbers) for part in parts)


def _count_labels(name: str, parts: Iterator[_Selected]) -> Counter[Any]:
    """The rows of each label; None is the label of rows without one."""
    found: Counter[Any] = Counter()
    for part in parts:
        counts = part.table[name].combine_chunks().value_counts()
        labels, rows = counts.field(0), counts.field(1).to_pylist()
        labels = labels.dictionary_decode() if pa.types.is_dictionary(labels.type) else labels
        for label, n in zip(labels.to_pylist(), rows, strict=True):
            found[None if label != label else label] += n
    return found


def _sample_rows(shares: Array, parts: Iterator[_Selected]) -> list[tuple[pa.Table, Array]]:
    """A sample with the given share of each class, and its class codes."""
    found = []
    for part in parts:
        is_sampled = random_words(part.numbers).astype(np.float64) / 2.0**64 < shares[part.classes]
        if is_sampled.any():
            found.append((part.table.filter(pa.array(is_sampled)), part.classes[is_sampled]))
    return found


def _count_values(empty: Mapping[str, Counts], weight: str | None, parts: Iterator[_Selected]) -> dict[str, Counts]:
    """The counts of some columns."""
    found = {name: counts.fresh() for name, counts in empty.items()}
    for table, numbers, _ in parts:
        if table.num_rows:
            weights = None if weight is None else np.asarray(table[weight].cast(pa.float64()))
            for name, counts in found.items():
                counts.update(table[name].combine_chunks(), weights, int(numbers[0]))
    return found


class CodingLearner:
    """Learns the coding of the rows of a dataset."""

    def __init__(self, rows: PartitionedRows, options: LearningOptions) -> None:
        self.rows, self.options = rows, options
        self.format: SourceFormat = rows.format
        self.types = {name: rows.types[name] for name in rows.roles.features}
        for name in (*options.drop, *options.types):
            if name not in rows.types:
                raise ColumnError(f"{self.format.label} has no column {name!r}. Columns: {quoted(rows.types, 20)}.")
        for name, kind in self.types.items() if rows.schema is None else ():
            is_known = kind_of(kind) in ("number", "boolean", "text") or pa.types.is_temporal(kind)
            if not (is_known or pa.types.is_null(kind) or name in options.drop):
                raise unsupported_type(name, kind)

    def columns(self) -> Learned:
        """The coding of the columns by all rows, whatever their labels."""
        if self.rows.schema is not None:
            return Learned(self.rows.schema, self.format.findings)
        learner = self._learner(RowFilter(), self.rows.n_rows, np.array([self.rows.n_rows]))
        columns = learner.learn(list(self.types))
        schema = Schema(columns, None, self.options.missing, self.format.codes or MISSING_CODES)
        return Learned(schema, (*self.format.findings, *learner.findings))

    def table(self) -> Learned:
        """The coding of the columns and of the labels, by the labelled rows."""
        target, rows_of_class, findings = self._target()
        n_rows = int(rows_of_class.sum())
        if self.rows.schema is not None:  # sparse rows
            schema = replace(self.rows.schema, target=replace(target, name=None))
            return Learned(schema, (*self.format.findings, *findings), self.rows.n_rows - n_rows)
        codes = self.format.codes or MISSING_CODES
        row_filter = RowFilter(Schema((), target, missing_codes=codes), codes=self.format.codes)
        while True:
            learner = self._learner(row_filter, n_rows, rows_of_class)
            columns = learner.learn(list(self.types))
            incomplete = tuple(column for column in columns if column.dropped is None and column.missing)
            if not incomplete or self.options.missing == "indicator":
                break
            if self.options.missing == "refuse":
                raise InputError(*missing_refused(incomplete[0].name, incomplete[0].missing))
            row_filter = replace(row_filter, complete=(*row_filter.complete, *incomplete))
            before, n_rows = n_rows, sum(self._run(_Scan(_count_rows, (), row_filter)))
            findings.append(incomplete_rows(before - n_rows, n_rows, self.format.label))
        schema = Schema(columns, target, self.options.missing, codes)
        found = (*self.format.findings, *findings, *learner.findings)
        return Learned(schema, found, self.rows.n_rows - n_rows, row_filter.complete)

    def _target(self) -> tuple[Target, Array, list[Finding]]:
        """The classes, the rows of each, and the findings about them."""
        name, counts = self.rows.roles.target, Counter[Any]()
        if name is None:
            columns = f". Columns: {quoted(self.rows.types, 20)}."
            remedy = "Set ", Setting("target"), " to the name of the class column"
            raise ColumnError("No target column was given. ", *remedy, columns)
        for part in self._run(_Scan(partial(_count_labels, name), (name,))):
            counts.update(part)
        if not counts:
            raise InputError(f"{self.format.label} has columns but no rows. Give at least one row.")
        kind = value_type(self.rows.types[name])
        values = without_views(pa.table({name: pa.array(list(counts), kind)}))[name]
        labels, present = raw_labels(values, name, self.format.codes)
        rows = np.array(list(counts.values()))
        n_missing, rows = int(rows[~present].sum()), rows[present]
        findings, left_out = list[Finding](), tuple[Any, ...]()
        while True:
            target, classes, found = learn_target(labels, name, self.format.label, self.options, n_missing, rows)
            if not target.left_out:
                return replace(target, left_out=left_out), np.bincount(classes, rows), findings + found
            findings += [finding for finding in found if finding.kind in ("rare class", "missing target")]
            left_out, n_missing, wanted = (*left_out, *target.left_out), 0, classes >= 0
            labels, rows = labels[wanted], rows[wanted]

    def _learner(self, row_filter: RowFilter, n_rows: int, rows_of_class: Array) -> ColumnLearner:
        options, codes, weight = self.options, self.format.codes, self.rows.roles.weight
        types = {name: kind for name, kind in self.types.items() if name not in options.drop}
        plain = {name: TEXT if is_text(kind) else kind for name, kind in types.items()}
        most = min(MAX_SAMPLE_ROWS, MAX_SAMPLE_BYTES // (_BYTES_PER_VALUE * max(len(types), 1)))
        shares = most / len(rows_of_class) / np.maximum(rows_of_class, 1)
        # A part without rows, so that an empty sample has columns.
        empty = pa.table({name: pa.array([], kind) for name, kind in plain.items()})
        parts, classes = [empty], [np.empty(0, dtype=np.int32)]
        for found in self._run(_Scan(partial(_sample_rows, shares), tuple(types), row_filter)):
            for table, own in found:
                parts.append(cast(table, plain))
                classes.append(own)

        def count(wanted: Mapping[str, Counts]) -> Mapping[str, Counts]:
            total = {name: counts.fresh() for name, counts in wanted.items()}
            read = (*wanted, *([] if weight is None else [weight]))
            for part in self._run(_Scan(partial(_count_values, wanted, weight), read, row_filter)):
                for name, counts in part.items():
                    total[name].merge(counts)  # type: ignore[arg-type]
            return total

        known = None if row_filter.target is None else np.concatenate(classes)
        sample = TableFacts(pa.concat_tables(parts).combine_chunks(), codes, known, None)
        facts = SampledFacts(sample, types, n_rows, count, weight is not None)
        return ColumnLearner(facts, codes, options, self.format.decimal)

    def _run(self, task: _Scan[R]) -> Iterator[R]:
        return iter(self.rows.watched.in_order(task, self.rows.partitions))
