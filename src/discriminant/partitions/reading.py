"""Tasks that read partitions: blocks of rows with codes, weights, offsets and clusters; surveys and samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from ..arrays import Array
from ..data import Block, as_rows, fold_of_rows, has_fractions, rows_of_width, stratified_subsample
from ..engine import Statistic
from ..errors import InputError, LabelError, WeightError
from ..kernels import transpose
from ..tables.layouts import Values
from .coding import RowFilter
from .fragments import SPARSE_COLUMNS, Batch, DenseBatch, Fragment, Partition, batches_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..tables.column import Policy
    from ..tables.schema import Schema
    from ..tables.svmlight import SparseBatch

    #: Rows of a block.
    RowBlock: TypeAlias = "Array | csr_matrix"

#: Rows per batch in passes over labels, weights and clusters only.
SURVEY_ROWS: Final = 1 << 17
#: Rows of a block of sparse rows.
SPARSE_BLOCK_ROWS: Final = 8192
S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Roles:
    """The roles of columns."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    offset: tuple[str, ...] = ()
    cluster: str | None = None
    #: Whether the features have names: columns of arrays have numbers.
    named: bool = True

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the survey reads."""
        return tuple(name for name in (self.target, self.weight, self.cluster) if name is not None)


def training_weight(held: tuple[int, int] | None, start: int, n_rows: int) -> Array | float:
    """1 for training rows, 0 for rows of the held-out fold."""
    return 1.0 if held is None else (fold_of_rows(start, n_rows, held[1]) != held[0]).astype(np.float64)


@dataclass(frozen=True)
class _RowNames:
    """The name of a row of a batch in messages."""

    fragment: Fragment
    start: int

    def __call__(self, row: int) -> str:
        number = self.start + row
        return f"row {number - self.fragment.start} of a part of {self.fragment.source!r} (row {number} of all)"


def labels_of(
    batch: Batch, roles: Roles, row_filter: RowFilter | None, row_name: Callable[[int], str]
) -> tuple[Batch, list[Any], Array]:
    """The rows with a label, the distinct labels, and the place of each row's label among them."""
    if row_filter is None or row_filter.target is None or row_filter.target.target is None:
        return batch, *encoded_column(batch, roles.target or "", row_name)
    mask, codes = row_filter(batch)
    assert codes is not None
    kept = batch if mask is None else batch.filter(mask)  # type: ignore[union-attr]
    return kept, list(row_filter.target.target.classes), codes


def encoded_column(batch: Batch, name: str, row_name: Callable[[int], str]) -> tuple[list[Any], Array]:
    """The distinct values of a column, and the place of each row's value among them."""
    column = batch.column(name)
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values, places = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    nan = [place for place, value in enumerate(values) if value != value]
    if column.null_count or nan:
        is_missing = column.is_null().to_numpy(zero_copy_only=False) | np.isin(places, nan)
        where = row_name(int(np.argmax(is_missing)))
        raise LabelError(f"Column {name!r} has no value in {where}. Expected a value in every row: remove such rows.")
    return values, places


def numbers_of(column: Values) -> Array:
    """A column of numbers as an array, NaN if missing."""
    column = column.cast("float64") if pa.types.is_decimal(column.type) else column
    return np.asarray(column.to_numpy(zero_copy_only=False))


def weights_of(batch: Batch, name: str | None, row_name: Callable[[int], str]) -> Array:
    """The weights of the rows of a batch, 1 without a column of weights."""
    if name is None:
        return np.ones(batch.num_rows)
    weight = numbers_of(batch.column(name)).astype(np.float64)
    is_wrong = ~(np.isfinite(weight) & (weight >= 0))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise WeightError(
            f"Weight column {name!r} has {weight[row]:g} in {row_name(row)}. Expected finite weights of at least 0: "
            "correct the value."
        )
    return weight


def sparse_rows(batch: pa.RecordBatch) -> SparseBatch:
    """Rows of SVMlight as a CSR matrix."""
    from scipy.sparse import csr_matrix

    from ..tables.svmlight import SparseBatch

    columns, values = (batch.column(name) for name in SPARSE_COLUMNS[1:])
    offsets = columns.offsets.to_numpy()
    places, numbers = columns.flatten().to_numpy(), values.flatten().to_numpy()
    width = int(places.max()) + 1 if places.size else 1
    X = csr_matrix((numbers, places, offsets - offsets[0]), shape=(batch.num_rows, width))
    return SparseBatch(X, np.empty(0))


@dataclass(frozen=True)
class Reading:
    """From a partition to blocks of rows; small, so that it can be sent to workers."""

    roles: Roles
    schema: Schema | None = None
    row_filter: RowFilter | None = None
    classes: tuple[Any, ...] = ()
    #: Factors of the weights of each class.
    factors: Array | None = None
    #: For a binary problem of two sets of classes: the side of each class, -1 or 1; side 0 has no weight.
    sides: Array | None = None
    clusters: Mapping[Any, int] = field(default_factory=dict)
    view: Callable[[Array, int], Any] | None = None
    held: tuple[int, int] | None = None

    def blocks(self, partition: Partition) -> Iterator[tuple[RowBlock, slice]]:
        """Blocks of rows with their numbers; a block is overwritten by the next one."""
        as_block = self._block_function()
        for _, start, batch in batches_of(partition, self.roles.features, self._block_rows):
            yield as_block(batch, start), slice(start, start + batch.num_rows)

    def labelled(self, partition: Partition) -> Iterator[Block]:
        """The same with codes, weights, offsets and clusters."""
        roles, as_block = self.roles, self._block_function()
        columns = (*roles.features, *roles.offset, *self.narrow_columns)
        for batch, codes, weight, start, row_name in self._coded(partition, columns, self._block_rows):
            if not batch.num_rows:
                continue
            weight = weight * training_weight(self.held, start, len(codes))
            weight = weight if self.factors is None else weight * self.factors[codes]
            if self.sides is not None:
                side = self.sides[codes]
                codes, weight = (side > 0).astype(np.int32), weight * (side != 0)
            X = as_block(batch, start)
            yield Block(X, codes, weight, start, self._offset(batch, row_name), self._cluster(batch, row_name))

    def _coded(
        self, partition: Partition, columns: tuple[str, ...], rows: int
    ) -> Iterator[tuple[Batch, Array, Array, int, Callable[[int], str]]]:
        """The labelled rows of each batch, their class codes and weights, the first row and the names of rows."""
        code_of = {label: code for code, label in enumerate(self.classes)}
        for fragment, start, batch in batches_of(partition, tuple(dict.fromkeys(columns)), rows):
            row_name = _RowNames(fragment, start)
            batch, labels, places = labels_of(batch, self.roles, self.row_filter, row_name)
            codes = np.array([code_of.get(label, -1) for label in labels], dtype=np.int32)[places]
            yield batch, codes, weights_of(batch, self.roles.weight, row_name), start, row_name

    @property
    def narrow_columns(self) -> tuple[str, ...]:
        """The columns of labels, weights and clusters, and those that select rows."""
        chosen = () if self.row_filter is None else self.row_filter.columns
        return tuple(dict.fromkeys((*self.roles.beside, *chosen)))

    def codes_and_weights(self, partition: Partition) -> tuple[Array, Array]:
        """The class codes and weights of the rows of a partition."""
        parts = self._coded(partition, self.narrow_columns, SURVEY_ROWS)
        codes, weight = zip(*((codes, weight) for _, codes, weight, _, _ in parts), strict=True)
        return np.concatenate(codes), np.concatenate(weight)

    @property
    def _block_rows(self) -> int:
        if self.schema is None:
            return rows_of_width(len(self.roles.features))
        if self.schema.width is not None:
            return SPARSE_BLOCK_ROWS
        return rows_of_width(len(self.schema.used) if self.schema.sparse else len(self.schema.names))

    def _block_function(self) -> Callable[[Any, int], RowBlock]:
        """A function from a batch, and the number of its first row, to a block, which the next call overwrites."""
        as_block, view = self._plain_block_function(), self.view
        return as_block if view is None else lambda batch, start: view(as_block(batch, start), start)

    def _plain_block_function(self) -> Callable[[Any, int], RowBlock]:
        # Memory is reused: new pages for every block took half as long as decoding.
        features, rows, schema = self.roles.features, self._block_rows, self.schema
        if schema is None:
            by_row, by_column = np.empty((rows, len(features))), np.empty((len(features), rows))

            def as_dense(batch: Batch, start: int) -> Array:  # noqa: ARG001
                if isinstance(batch, DenseBatch):
                    return np.asarray(as_rows(batch.X).block(0, batch.num_rows))
                for place, name in enumerate(features):
                    by_column[place, : batch.num_rows] = numbers_of(batch.column(name))
                transpose.transpose(by_column, X := by_row[: batch.num_rows])
                return X

            return as_dense
        if schema.width is not None:
            return lambda batch, start: schema.encode_batch(sparse_rows(batch))[0]  # noqa: ARG005
        # Incomplete rows have been dropped by now.
        policy: Policy = "indicator" if schema.missing == "drop" else schema.missing
        coding = replace(schema, missing=policy)
        if schema.sparse:
            return lambda batch, start: coding.encode_batch(batch, first_row=start)[0]
        coded = np.empty((rows, len(schema.names)))

        def as_coded(batch: pa.RecordBatch, start: int) -> Array:
            coding.code_into(batch, coded, start)
            return coded[: batch.num_rows]

        return as_coded

    def _offset(self, batch: Batch, row_name: Callable[[int], str]) -> Array | None:
        if not self.roles.offset:
            return None
        known = np.stack([numbers_of(batch.column(name)) for name in self.roles.offset], axis=1).astype(np.float64)
        is_wrong = ~np.isfinite(known).all(axis=1)
        if is_wrong.any():
            where = row_name(int(np.argmax(is_wrong)))
            raise InputError(f"The offset is NaN or infinite in {where}. Expected finite offsets: correct the value.")
        return known[:, 0] if known.shape[1] == 1 else known

    def _cluster(self, batch: Batch, row_name: Callable[[int], str]) -> Array | None:
        if self.roles.cluster is None:
            return None
        labels, places = encoded_column(batch, self.roles.cluster, row_name)
        return np.array([self.clusters[label] for label in labels], dtype=np.int64)[places]


class ClassTotals(NamedTuple):
    """The rows of a class, their weight, and the smallest positive and the largest weight of a row."""

    rows: int = 0
    weight: float = 0.0
    least: float = math.inf
    largest: float = 0.0

    def plus(self, other: ClassTotals) -> ClassTotals:
        """The totals of the rows of both."""
        rows, weight = self.rows + other.rows, self.weight + other.weight
        return ClassTotals(rows, weight, min(self.least, other.least), max(self.largest, other.largest))


@dataclass
class Survey:
    """The totals of each class, by label, and the clusters of the rows."""

    classes: dict[Any, ClassTotals] = field(default_factory=dict)
    clusters: dict[Any, None] = field(default_factory=dict)
    has_whole_weights: bool = True

    def add(self, labels: Sequence[Hashable], codes: Array, weight: Array) -> None:
        """Add rows with these ``labels``, numbered by ``codes``."""
        self.has_whole_weights &= not has_fractions(weight)
        for code, label in enumerate(labels):
            own = weight[codes == code]
            if own.size:
                least = float(own[own > 0].min(initial=math.inf))
                totals = ClassTotals(own.size, float(own.sum()), least, float(own.max()))
                self.classes[label] = self.classes.get(label, ClassTotals()).plus(totals)

    def merge(self, other: Survey) -> None:
        """Add the rows of another survey; labels and clusters are compared by value."""
        for label, totals in other.classes.items():
            self.classes[label] = self.classes.get(label, ClassTotals()).plus(totals)
        self.clusters.update(other.clusters)
        self.has_whole_weights &= other.has_whole_weights


@dataclass(frozen=True)
class Surveying:
    """From a partition to its survey."""

    reading: Reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return self.reading.narrow_columns

    def __call__(self, partition: Partition) -> Survey:
        survey, reading = Survey(), self.reading
        for fragment, start, batch in batches_of(partition, self.columns, SURVEY_ROWS):
            row_name = _RowNames(fragment, start)
            batch, labels, codes = labels_of(batch, reading.roles, reading.row_filter, row_name)
            weight = weights_of(batch, reading.roles.weight, row_name) * training_weight(
                reading.held, start, len(codes)
            )
            survey.add(labels, codes, weight)
            if reading.roles.cluster is not None:
                survey.clusters.update(dict.fromkeys(encoded_column(batch, reading.roles.cluster, row_name)[0]))
        return survey


@dataclass(frozen=True)
class ReadingCodes:
    """From a partition to the class codes and weights of its rows."""

    reading: Reading

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return self.reading.narrow_columns

    def __call__(self, partition: Partition) -> tuple[Array, Array]:
        return self.reading.codes_and_weights(partition)


@dataclass(frozen=True)
class Sampling(Generic[S]):
    """From a partition to a systematic sample of its rows, with their codes, weights, offsets and clusters."""

    reading: Reading
    n_rows: int
    step: int
    #: A statistic of all rows, computed in the same pass.
    statistic: S | None = None

    def __call__(self, partition: Partition) -> tuple[list[tuple[RowBlock, ...]], S | None]:
        numbers, found = stratified_subsample(self.n_rows, self.step), list[tuple[Any, ...]]()
        partial = None if self.statistic is None else self.statistic.fresh()
        for block in self.reading.labelled(partition):
            if partial is not None:
                partial.update(block)
            ends = np.searchsorted(numbers, (block.start, block.start + block.n_rows))
            sampled = numbers[slice(*ends)] - block.start
            beside = (own for own in (block.offset, block.cluster) if own is not None)
            found.append(tuple(own[sampled].copy() for own in (block.X, block.codes, block.weight, *beside)))
        return found, partial
