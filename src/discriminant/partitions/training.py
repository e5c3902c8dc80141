"""Streamed training data: labels, weights and rows that are read from disk in each pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, TrainingData, as_rows
from ..engine import Reduction, Statistic, merged_in_order
from ..errors import InputError, Model, ParameterError, Part, Setting
from .fragments import Partition
from .reading import ClassTotals, Reading, ReadingCodes, Sampling, Survey

if TYPE_CHECKING:
    from .dataset import PartitionedRows
    from .reading import RowBlock

#: Size of a sample. With 50 columns it has 160,000 rows: its Hessian is within 1 to 2 % of that of all rows.
SAMPLE_BYTES: Final = 1 << 26
#: Rows that a model needs in memory are gathered up to this size.
MAX_GATHERED_BYTES: Final = 1 << 30
S = TypeVar("S", bound=Statistic)


def refuse_gathering(n_bytes: int, *who: Part) -> None:
    """Raise an `InputError` if rows do not fit into the memory that a model needs them in."""
    if n_bytes > MAX_GATHERED_BYTES:
        needs = f" needs all rows in memory, and they need {n_bytes / 1e9:.1f} GB. Use "
        streamed = (Model("LogisticRegression"), ", ", Model("LinearDiscriminantAnalysis"), " or another model ")
        raise InputError(*(who or ("This",)), needs, *streamed, "that supports streaming.")


class _Ranges:
    """Sums and ranges of columns, as a statistic of rows."""

    def __init__(self, n_columns: int) -> None:
        self.n_rows, self.total = 0, np.zeros(n_columns)
        self.lowest, self.highest = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)

    def fresh(self) -> _Ranges:
        return _Ranges(self.total.size)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            self._add(part.n_rows, part.X.sum(axis=0), part.X.min(axis=0), part.X.max(axis=0))

    def merge(self, other: _Ranges) -> None:
        """Add the rows of another statistic."""
        self._add(other.n_rows, other.total, other.lowest, other.highest)

    def _add(self, n_rows: int, total: Array, lowest: Array, highest: Array) -> None:
        self.n_rows, self.total = self.n_rows + n_rows, self.total + total
        self.lowest, self.highest = np.minimum(self.lowest, lowest), np.maximum(self.highest, highest)


@dataclass(frozen=True)
class LabelledPartitions:
    """Streamed training data: the rows of a dataset, with class codes and weights that are computed while reading."""

    rows: PartitionedRows
    classes: Array
    survey: Survey
    factors: Array | None = None
    #: For a binary problem of two sets of classes: the side of each class, and the rows with all classes.
    sides: Array | None = None
    of: LabelledPartitions | None = None
    is_streamed: ClassVar[bool] = True

    @cached_property
    def _reading(self) -> Reading:
        rows, clusters = self.rows, {label: number for number, label in enumerate(self.survey.clusters)}
        weighting = (self.factors, self.sides, clusters, rows.view, rows.held)
        return Reading(rows.roles, rows.schema, rows.row_filter, self._labels, *weighting)

    @property
    def _labels(self) -> tuple[Any, ...]:
        return tuple((self.classes if self.of is None else self.of.classes).tolist())

    @property
    def blocks(self) -> Callable[[Partition], Iterator[Block]]:
        """From a partition to its blocks; can be sent to workers."""
        return self._reading.labelled

    @cached_property
    def _totals(self) -> list[ClassTotals]:
        """The totals of each class, or of each side of a binary problem."""
        found = [self.survey.classes.get(label, ClassTotals()) for label in self._labels]
        factors = np.ones(len(found)) if self.factors is None else self.factors
        found = [
            ClassTotals(
                own.rows, own.weight * factor, own.least * factor if own.rows else math.inf, own.largest * factor
            )
            for own, factor in zip(found, factors.tolist(), strict=True)
        ]
        if self.sides is None:
            return found
        sides = {-1: ClassTotals(), 1: ClassTotals(), 0: ClassTotals()}
        for own, side in zip(found, self.sides.tolist(), strict=True):
            sides[side] = sides[side].plus(own)
        return [sides[-1], sides[1]]

    @property
    def n_rows(self) -> int:
        """The number of labelled rows."""
        return sum(own.rows for own in self._totals)

    @property
    def class_weights(self) -> Array:
        """Total weight of each class."""
        return np.array([own.weight for own in self._totals])

    @property
    def total_weight(self) -> float:
        """Total weight of all rows."""
        return float(self.class_weights.sum())

    @property
    def smallest_weight(self) -> float:
        """The smallest positive weight."""
        return min(own.least for own in self._totals)

    @property
    def largest_weight(self) -> float:
        """The largest weight."""
        return max(own.largest for own in self._totals)

    @property
    def has_whole_weights(self) -> bool:
        """Whether all weights are integers, which count rows."""
        return self.survey.has_whole_weights

    @property
    def has_offset(self) -> bool:
        """Whether columns have known parts of the scores."""
        return bool(self.rows.roles.offset)

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the rows, 0 if none are known."""
        return len(self.survey.clusters)

    def has_same_rows(self, other: TrainingData) -> bool:
        """Whether the samples of two datasets have the same classes, labels, weights and offsets, row by row."""
        return self.n_rows == other.n_rows and self.sample().has_same_rows(other)

    def in_clusters(self, labels: object, parameter: str = "clusters") -> NoReturn:  # noqa: ARG002
        """Raise an error: clusters are a column."""
        message = " of a dataset must be one of its columns: give open_dataset(..., cluster='column')."
        raise ParameterError(Setting(parameter), message)

    def times(self, factors: Array) -> LabelledPartitions:
        """The rows with their weights multiplied by a factor of their class."""
        return replace(self, factors=factors if self.factors is None else self.factors * factors)

    def against(self, sides: Array) -> LabelledPartitions:
        """The rows as those of two classes, by the side of each class: -1 or 1, 0 for no part in the problem."""
        return replace(self, classes=np.arange(2), sides=sides, of=self)

    def in_units(self, units: Array) -> LabelledPartitions:
        """The rows with their columns divided by ``units``."""
        return replace(self, rows=self.rows.viewed(partial(_divided, units)))

    def reduce(self, statistic: S, n_jobs: int | None = None) -> S:
        """The statistic of all rows, merged in the order of the partitions."""
        task = Reduction(self.blocks, statistic)
        return merged_in_order(self.rows.watched.in_order(task, self.rows.partitions, n_jobs))

    def reduce_and_sample(self, statistic: S, n_jobs: int | None = None) -> S:
        """The same; the sample is read in the same pass unless it is known."""
        if "_sample" in vars(self) or self.of is not None:
            return self.reduce(statistic, n_jobs)
        vars(self)["_sample"], total = self._sampled(self._sample_step, statistic)
        assert total is not None
        return total

    def sample(self, step: int = 1) -> LabelledRows:
        """About one row of every ``step`` in memory, at most those of the sample."""
        return self._sample.sample(max(1, step // self._sample_step))

    def gather(self, *who: Part) -> LabelledRows:
        """All rows in memory; more than 1 GB is refused before anything is read."""
        refuse_gathering(self.rows.n_bytes, *who)
        return self._gathered

    @cached_property
    def _gathered(self) -> LabelledRows:
        return self._sampled(1)[0]

    @property
    def _sample_step(self) -> int:
        return max(1, -(-self.rows.n_bytes // SAMPLE_BYTES))

    @cached_property
    def _sample(self) -> LabelledRows:
        """A systematic sample of the rows of all partitions."""
        if self.of is None or self.sides is None:
            return self._sampled(self._sample_step)[0]
        return self.of.sample().against(self.sides)

    def seen(self) -> dict[str, list[float]]:
        """Means and ranges of the columns and class proportions, by one pass."""
        whole, shares = self.reduce(_Ranges(self.rows.n_columns)), self.class_weights
        found = {"means": whole.total / whole.n_rows, "lowest": whole.lowest, "highest": whole.highest}
        return {name: own.tolist() for name, own in (found | {"shares": shares / shares.sum()}).items()}

    def _sampled(self, step: int, statistic: S | None = None) -> tuple[LabelledRows, S | None]:
        rows, total, n_sampled = self.rows, None, 0
        is_sparse = rows.schema is not None and rows.schema.sparse
        # Dense rows are copied into place, so that the sample is not in memory twice.
        X = np.empty((0 if is_sparse else -(-rows.n_rows // step), rows.n_columns))
        parts, beside = list[Any](), list[Any]()
        task = Sampling(self._reading, rows.n_rows, step, statistic)
        for found, partial_total in self.rows.watched.in_order(task, self.rows.partitions):
            for part, *others in found:
                if is_sparse:
                    parts.append(part)
                else:
                    X[n_sampled : n_sampled + len(part)] = part
                n_sampled += part.shape[0]
                beside.append(others)
            if total is None:
                total = partial_total
            elif partial_total is not None:
                total.merge(partial_total)
        codes, weight, *known = (np.concatenate(own) for own in zip(*beside, strict=True))
        is_unweighted = rows.roles.weight is None and self.factors is None
        offset, cluster = known.pop(0) if rows.roles.offset else None, known.pop() if rows.roles.cluster else None
        whole = as_rows(_stacked(parts) if is_sparse else X[:n_sampled], rows.names, rows.is_indicator, rows.redundant)
        sample = LabelledRows(whole, self.classes, codes, None if is_unweighted else weight, offset, cluster)
        return sample if rows.held is None else sample.take(np.flatnonzero(weight)), total

    def codes_and_weights(self) -> tuple[Array, Array]:
        """The class code and weight of each row, from a pass over their columns only."""
        parts = list(self.rows.watched.in_order(ReadingCodes(self._reading), self.rows.partitions))
        codes, weight = (np.concatenate(own) for own in zip(*parts, strict=True))
        return codes, weight


def _divided(units: Array, X: Array, start: int) -> Array:  # noqa: ARG001
    return X / units


def _stacked(parts: list[RowBlock]) -> RowBlock:
    from scipy.sparse import vstack  # slow to load

    return vstack(parts, "csr")
