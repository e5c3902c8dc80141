"""Training data: rows with class labels and weights, in memory or streamed.

Fits use the protocol `TrainingData`. It has two implementations: `LabelledRows` here, with arrays in memory, and
`partitions.training.LabelledPartitions`, whose rows are streamed in every pass. A fit computes statistics of all rows
(`TrainingData.reduce`), uses a subsample in memory (`TrainingData.sample`) or, if necessary, all rows in memory
(`TrainingData.gather`).

Weights are frequencies: a row with weight 3 counts as three rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..engine import Reduction, Statistic, in_order, merged_in_order
from ..errors import InputError, LabelError, ParameterError, Part, Setting
from ..results import shown
from .blocks import Block, is_sparse, stratified_subsample
from .checks import check_weights, has_fractions
from .labels import encode_labels
from .rows import AnyRows, Rows, as_rows, is_streamed

S = TypeVar("S", bound=Statistic)


class TrainingData(Protocol):
    """Rows with a class label and a weight each."""

    @property
    def rows(self) -> AnyRows:
        """The rows without their labels."""

    @property
    def classes(self) -> Array:
        """The class labels, sorted."""

    @property
    def n_rows(self) -> int: ...

    @property
    def is_streamed(self) -> bool:
        """Whether rows are streamed in every pass; otherwise they are in memory, and `gather` is free."""

    @property
    def class_weights(self) -> Array:
        """Total weight of each class; without weights its number of rows."""

    @property
    def total_weight(self) -> float:
        """Total weight of all rows."""

    @property
    def smallest_weight(self) -> float:
        """The smallest positive weight."""

    @property
    def largest_weight(self) -> float:
        """The largest weight."""

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers, that is, frequencies."""

    @property
    def has_offset(self) -> bool:
        """Whether the rows have offsets, known parts of their scores."""

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the rows; 0 without clusters."""

    def reduce(self, statistic: S, n_jobs: int | None = None) -> S:
        """The statistic of all rows, by one pass; ``statistic`` is an empty one and is not changed."""

    def reduce_and_sample(self, statistic: S, n_jobs: int | None = None) -> S:
        """`reduce` before a `sample`: streamed rows are read once for both."""

    def sample(self, step: int = 1) -> LabelledRows:
        """A subsample of about one row of every ``step`` in memory; bounded in size for streamed rows."""

    def gather(self, *who: Part) -> LabelledRows:
        """All rows in memory; ``who`` names the model that needs them, for the error if they do not fit in memory."""

    def times(self, factors: Array) -> TrainingData:
        """The rows with their weights multiplied by a factor for each class."""

    def against(self, sides: Array) -> TrainingData:
        """The rows of a binary problem; ``sides`` has -1, 1, or 0 (excluded) for each class."""

    def in_units(self, units: Array) -> TrainingData:
        """The rows with their columns divided by ``units``."""

    def in_clusters(self, labels: ArrayLike, parameter: str = "clusters") -> LabelledRows:
        """The rows with their cluster labels; clusters of streamed rows are one of their columns."""

    def has_same_rows(self, other: TrainingData) -> bool:
        """Whether both have the same classes, labels, weights and offsets; for streamed rows in a subsample."""


@dataclass(frozen=True)
class LabelledRows:
    """Training data in memory: rows with class codes and optional weights, offsets and clusters."""

    rows: Rows
    classes: Array
    codes: Array
    weight: Array | None = None
    offset: Array | None = None
    cluster: Array | None = None
    is_streamed: ClassVar[bool] = False

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def weight_of(self, chosen: Array | slice) -> Array:
        """The weights of the chosen rows; 1 without weights."""
        weight: Array = (np.ones(self.n_rows) if self.weight is None else self.weight)[chosen]
        return weight

    def sample(self, step: int = 1) -> LabelledRows:
        return (
            self if step == 1 else self._with_rows(self.rows.subsample(step), stratified_subsample(self.n_rows, step))
        )

    def gather(self, *who: Part) -> LabelledRows:  # noqa: ARG002
        return self

    def take(self, chosen: Array) -> LabelledRows:
        """The chosen rows, copied."""
        return self._with_rows(self.rows[chosen], chosen)

    def _with_rows(self, rows: Rows, chosen: Array | slice) -> LabelledRows:
        own = (self.weight, self.offset, self.cluster)
        known = (None if values is None else values[chosen] for values in own)
        return LabelledRows(rows, self.classes, np.ascontiguousarray(self.codes[chosen]), *known)

    @property
    def class_weights(self) -> Array:
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def smallest_weight(self) -> float:
        return 1.0 if self.weight is None else float(self.weight[self.weight > 0].min())

    @property
    def largest_weight(self) -> float:
        return 1.0 if self.weight is None else float(self.weight.max())

    @property
    def has_whole_weights(self) -> bool:
        return not has_fractions(self.weight)

    @property
    def has_offset(self) -> bool:
        return self.offset is not None

    @property
    def n_clusters(self) -> int:
        return 0 if self.cluster is None else int(self.cluster.max()) + 1

    def reduce(self, statistic: S, n_jobs: int | None = None) -> S:
        return merged_in_order(in_order(Reduction(self.blocks, statistic), self.partitions, n_jobs))

    def reduce_and_sample(self, statistic: S, n_jobs: int | None = None) -> S:
        return self.reduce(statistic, n_jobs)

    def has_same_rows(self, other: TrainingData) -> bool:
        own, others = (
            (rows.classes, rows.codes, rows.weight_of(slice(None)), 0.0 if rows.offset is None else rows.offset)
            for rows in (self, other.sample())
        )
        return all(np.array_equal(one, two) for one, two in zip(own, others, strict=True))

    def in_clusters(self, labels: ArrayLike, parameter: str = "clusters") -> LabelledRows:
        groups = np.asarray(labels)
        if groups.shape != (self.n_rows,):
            found = f" must have one label for each of the {self.n_rows} rows, got shape {groups.shape}."
            raise ParameterError(Setting(parameter), found)
        return replace(self, cluster=np.unique(groups, return_inverse=True)[1])

    def times(self, factors: Array) -> LabelledRows:
        return replace(self, weight=self.weight_of(slice(None)) * factors[self.codes])

    def against(self, sides: Array) -> LabelledRows:
        side = sides[self.codes]
        data = self if side.all() else self.take(np.flatnonzero(side))
        return replace(data, classes=np.arange(2), codes=(side[side != 0] > 0).astype(np.int32))

    def in_units(self, units: Array) -> LabelledRows:
        values = self.rows.block(0, self.n_rows)
        divided = values.multiply(1 / units).tocsr() if is_sparse(values) else values / units
        return replace(self, rows=as_rows(divided, self.rows.names))

    @property
    def partitions(self) -> list[range]:
        """The partitions that workers reduce, see `Rows.partitions`."""
        return self.rows.partitions

    def blocks(self, partition: range) -> Iterator[Block]:
        """The blocks of one partition, in order."""
        ones = np.ones(min(self.rows.block_rows, self.n_rows))
        for start, stop in self.rows.edges(partition):
            weight = ones[: stop - start] if self.weight is None else self.weight[start:stop]
            known = (None if own is None else own[start:stop] for own in (self.offset, self.cluster))
            yield Block(self.rows.block(start, stop), self.codes[start:stop], weight, start, *known)


def with_offset(data: TrainingData, offset: ArrayLike | None, one_score: bool = False) -> TrainingData:
    """The rows with offsets of their scores: one per row (two classes, or ``one_score``), or one per row and class."""
    if offset is None:
        return data
    data = data.gather("offset=")
    values, n_classes = np.array(offset, dtype=np.float64), len(data.classes)
    shape = (data.n_rows,) if n_classes == 2 or one_score else (data.n_rows, n_classes)
    if values.shape != shape:
        remedy = "Give one number per row, or one per row and class."
        raise InputError(f"offset must have shape {shape}, got {values.shape}. {remedy}")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(f"offset contains NaN or infinity: row {row}. Every offset must be a finite number.")
    return replace(data, offset=values)


def labelled_rows(
    X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None, classes: Array | None = None
) -> LabelledRows:
    """``X``, ``y`` and ``sample_weight`` validated and combined, without copying ``X``."""
    rows = as_rows(X)
    found, codes = encode_labels(y, rows.n_rows, classes)
    if classes is None and found.size < 2:
        raise LabelError(
            f"y has only one class, {shown(found[0])}; a classifier needs at least two. Check the label column."
        )
    return LabelledRows(rows, found, codes, check_weights(sample_weight, rows.n_rows))


def training_data(
    X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None = None, classes: Array | None = None
) -> TrainingData:
    """`labelled_rows`, or a streamed dataset with its own labels and weights."""
    if not is_streamed(X):
        return labelled_rows(X, y, sample_weight, classes)
    if y is not None or sample_weight is not None:
        raise InputError("A dataset contains its labels and weights as columns. Omit y and sample_weight.")
    data: TrainingData = X.labelled(classes)
    return data
