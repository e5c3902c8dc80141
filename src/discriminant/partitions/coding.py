"""How the columns of a dataset are coded: levels, missing values and labels, learned in a pass over its rows.

What is decided is what `tables.training` decides of a table in memory: the same learner asks statistics of the columns
(`tables.passes`) in the place of the columns. Labels, and weights if there are any, are read first, as they are narrow:
which rows have a class, and which classes are left out, has to be known before levels are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..errors import ColumnError, InputError, Setting
from ..results import Finding, quoted
from ..tables.delimited import MISSING_CODES
from ..tables.passes import PassFacts, RowPart
from ..tables.schema import Column, Schema, Target, complete_rows, is_numeric, raw_labels
from ..tables.sources import is_text, without_views
from ..tables.training import (
    ColumnLearner,
    LearningOptions,
    fewest_rows,
    first_reading,
    incomplete_left_out,
    learn_target,
)
from .pieces import LISTED, Piece

#: Batches of columns that are learned from.
_ROWS = 1 << 15


@dataclass(frozen=True)
class Written:
    """How the files of a dataset are written, as far as it matters to what their columns mean.

    ``codes`` are the texts that stand for missing values, none where files have types, ``label`` is how messages call
    the dataset.
    """

    label: str = "the dataset"
    codes: tuple[str, ...] = ()
    decimal: str = "."
    findings: tuple[Finding, ...] = ()
    #: Lines of text that were left out.
    skipped: int = 0
    #: What a row of SVMlight takes in memory, about.
    row_bytes: int = 0


@dataclass(frozen=True)
class Learned:
    """How rows are coded, what is worth knowing of them, how many were left out, and for gaps in which columns."""

    schema: Schema
    findings: tuple[Finding, ...]
    n_dropped: int = 0
    complete: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Choosing:
    """Which rows of a batch are coded: those with a class, where that is known, and with no gap where that matters."""

    target: Schema | None = None
    complete: tuple[Column, ...] = ()
    codes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return (*([self.label] if self.label else ()), *(column.name for column in self.complete))

    @property
    def label(self) -> str | None:
        """The column of labels, None where they do not matter; that of SVMlight has no name of its own."""
        if self.target is None or self.target.target is None:
            return None
        return self.target.target.name or LISTED[0]

    def __call__(self, batch: Any) -> tuple[Array | None, Array | None]:
        """Which rows are chosen, None for all, and the class codes of these, None where classes are not known."""
        wanted, classes = np.ones(batch.num_rows, dtype=bool), None
        if self.target is not None and self.label is not None:
            classes = self.target.class_codes(batch.column(self.label))
            wanted &= classes >= 0
        if self.complete:
            table = without_views(pa.Table.from_batches([batch]))
            wanted &= complete_rows(self.complete, table, self.codes, refuse=False)
        if wanted.all():
            return None, classes
        return wanted, None if classes is None else classes[wanted]


@dataclass(frozen=True)
class _Statistics:
    """From a span to statistics of some of its columns."""

    wanted: Mapping[str, Any]
    choosing: Choosing
    weight: str | None
    batches: Callable[[Sequence[Piece], Sequence[str], int], Iterator[tuple[Piece, int, Any]]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        beside = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((*self.wanted, *self.choosing.columns, *beside)))

    def __call__(self, span: tuple[Piece, ...]) -> dict[str, Any]:
        found = {name: empty.fresh() for name, empty in self.wanted.items()}
        for _, start, batch in self.batches(span, self.columns, _ROWS):
            chosen, classes = self.choosing(batch)
            numbers = np.arange(start, start + batch.num_rows)
            if chosen is not None:
                batch, numbers = batch.filter(pa.array(chosen)), numbers[chosen]
            if not numbers.size:
                continue
            weight = None if self.weight is None else np.asarray(batch.column(self.weight).cast(pa.float64()))
            part, table = RowPart(numbers, weight, classes), without_views(pa.Table.from_batches([batch]))
            for name, statistic in found.items():
                statistic.update(table[name].combine_chunks(), part)
        return found


@dataclass(frozen=True)
class _LabelCounts:
    """From a span to the rows of each label as it is written; None is the label of those that have none."""

    target: str
    batches: Callable[[Sequence[Piece], Sequence[str], int], Iterator[tuple[Piece, int, Any]]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that is read."""
        return (self.target,)

    def __call__(self, span: tuple[Piece, ...]) -> dict[Any, int]:
        found: dict[Any, int] = {}
        for _, _, batch in self.batches(span, [self.target], 4 * _ROWS):
            for value, rows in zip(*_value_counts(batch.column(self.target)), strict=True):
                found[value] = found.get(value, 0) + rows
        return found


def _value_counts(values: Any) -> tuple[list[Any], list[int]]:
    """The different values, NaN as None, and how many rows have each."""
    counts = values.value_counts()
    different = counts.field(0)
    if pa.types.is_dictionary(different.type):
        different = different.dictionary_decode()
    return [None if value != value else value for value in different.to_pylist()], counts.field(1).to_pylist()


class Learning:
    """Learns how the rows of a dataset are coded."""

    def __init__(self, rows: Any, options: LearningOptions, batches: Any) -> None:
        self.rows, self.options, self.batches = rows, options, batches
        self.written: Written = rows.written
        self.types = {name: rows.types[name] for name in rows.roles.features}
        for name in (*options.drop, *options.types):
            if name not in rows.types:
                raise ColumnError(f"{self.written.label} has no column {name!r}. Columns: {quoted(rows.types, 20)}.")
        for name, kind in self.types.items():
            if rows.schema is None:
                self._refuse_unusable(name, kind)

    def _refuse_unusable(self, name: str, kind: Any) -> None:
        usable = (is_text, is_numeric, pa.types.is_boolean, pa.types.is_temporal, pa.types.is_null)
        if name not in self.options.drop and not any(test(kind) for test in usable):
            said = f"Column {name!r} holds {kind}: expected numbers, text or true and false. Leave it out with "
            raise ColumnError(said, Setting("drop", [name]), ".")

    def columns(self) -> Learned:
        """The coding of the columns by all rows, whatever their labels are."""
        if self.rows.schema is not None:
            return Learned(self.rows.schema, self.written.findings)
        learner = self._learner(Choosing(), self.rows.n_rows)
        schema = Schema(
            learner.learn(list(self.types)), None, self.options.missing, self.written.codes or MISSING_CODES
        )
        return Learned(schema, (*self.written.findings, *learner.findings))

    def table(self) -> Learned:
        """The coding of the columns and of the labels, by the rows that have one."""
        target, n_rows, findings = self._target()
        if self.rows.schema is not None:  # sparse rows
            schema = replace(self.rows.schema, target=replace(target, name=None))
            return Learned(schema, (*self.written.findings, *findings), self.rows.n_rows - n_rows)
        codes = self.written.codes or MISSING_CODES
        choosing = Choosing(Schema((), target, missing_codes=codes), codes=self.written.codes)
        while True:
            learner = self._learner(choosing, n_rows)
            columns = learner.learn(list(self.types))
            gaps = self._gaps(columns)
            if not gaps:
                break
            choosing = replace(choosing, complete=(*choosing.complete, *gaps))
            before, n_rows = n_rows, self._rows_of(choosing)
            findings.append(incomplete_left_out(before - n_rows, n_rows, self.written.label))
        schema = Schema(columns, target, self.options.missing, codes)
        found = (*self.written.findings, *findings, *learner.findings)
        return Learned(schema, found, self.rows.n_rows - n_rows, choosing.complete)

    def _gaps(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """The columns that have gaps, if these matter; refused where they are to be."""
        matters = self.options.missing != "indicator"
        gaps = tuple(column for column in columns if matters and column.dropped is None and column.missing)
        if gaps and self.options.missing == "refuse":
            raise InputError(
                f"Column {gaps[0].name!r} has {gaps[0].missing:,} missing values, and missing values are refused. "
                "Fill them in, leave the column out, or choose ", Setting("missing", "indicator"), ".",
            )  # fmt: skip
        return gaps

    def _target(self) -> tuple[Target, int, list[Finding]]:
        """The classes, how many rows have one, and what was found."""
        name, counts, options = self.rows.roles.target, dict[Any, int](), self.options
        if name is None:
            columns = f". Columns: {quoted(self.rows.types, 20)}."
            raise ColumnError("Name the target, the column of classes, with ", Setting("target"), columns)
        for part in self._run(_LabelCounts(name, self.batches)):
            for value, rows in part.items():
                counts[value] = counts.get(value, 0) + rows
        if not counts:
            raise InputError(f"{self.written.label} has columns but no rows. Give at least one row.")
        kind = self.rows.types[name]
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        values = without_views(pa.table({name: pa.array(list(counts), kind)}))[name]
        labels, present = raw_labels(values, name, self.written.codes)
        each = np.array(list(counts.values()))
        n_missing, each = int(each[~present].sum()), each[present]
        findings, left_out = list[Finding](), tuple[Any, ...]()
        as_written = name in options.types
        while True:
            target, classes, found = learn_target(
                labels, name, self.written.label, options, n_missing, as_written, each
            )
            if not target.left_out:
                return replace(target, left_out=left_out), int(each.sum()), findings + found
            findings += [finding for finding in found if finding.kind in ("class left out", "target missing")]
            left_out, n_missing, wanted = (*left_out, *target.left_out), 0, classes >= 0
            labels, each = labels[wanted], each[wanted]

    def _learner(self, choosing: Choosing, n_rows: int) -> ColumnLearner:
        options, codes, weight = self.options, self.written.codes, self.rows.roles.weight
        types = {name: kind for name, kind in self.types.items() if name not in options.drop}
        first = {name: first_reading(name, kind, codes, options) for name, kind in types.items()}
        readings = {name: column for name, column in first.items() if column is not None}

        def read(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
            total = {name: empty.fresh() for name, empty in wanted.items()}
            for part in self._run(_Statistics(wanted, choosing, weight, self.batches)):
                for name, statistic in part.items():
                    total[name].merge(statistic)
            return total

        facts = PassFacts(read, readings, types, n_rows, codes, fewest_rows(options, n_rows), weight is not None)
        return ColumnLearner(facts, codes, options, self.written.decimal)

    def _rows_of(self, choosing: Choosing) -> int:
        return sum(self._run(_ChosenRows(choosing, self.batches)))

    def _run(self, task: Any) -> Iterator[Any]:
        return iter(self.rows.watched.in_order(task, self.rows.spans))


@dataclass(frozen=True)
class _ChosenRows:
    """From a span to how many of its rows are chosen."""

    choosing: Choosing
    batches: Callable[[Sequence[Piece], Sequence[str], int], Iterator[tuple[Piece, int, Any]]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.choosing.columns

    def __call__(self, span: tuple[Piece, ...]) -> int:
        n_rows = 0
        for _, _, batch in self.batches(span, self.columns, _ROWS):
            chosen, _ = self.choosing(batch)
            n_rows += batch.num_rows if chosen is None else int(np.count_nonzero(chosen))
        return n_rows
