"""Class weights at the levels of categorical columns, together with the moments of numeric columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..data import Block, require
from .statistic import ClassMoments

#: Weight of each class at each level of one categorical column.
LevelCounts = dict[Any, Array]


class TableMoments(ClassMoments):
    """Diagonal `ClassMoments` of the numeric columns and a table of level counts for each categorical column.

    Levels need not be known in advance: merging takes their union.
    """

    def __init__(self, n_classes: int, n_numeric: int, n_categorical: int) -> None:
        super().__init__(n_classes, n_numeric, "diagonal")
        self.tables: list[LevelCounts] = [{} for _ in range(n_categorical)]

    def _check_parts(self) -> None:
        super()._check_parts()
        require(self.structure == "diagonal" and not self.fourth and self.pools == 1, self, "kind")
        counts = (row for table in self.tables for row in table.values())
        require(all(row.shape == self.weight.shape for row in counts), self, "counts of levels")

    def fresh(self) -> Self:
        return type(self)(self.n_classes, self.n_columns, len(self.tables))

    def update(self, block: Block) -> None:
        """Add the rows of a block of mixed columns."""
        super().update(Block(block.X.numbers, block.codes, block.weight, block.start))
        for table, values in zip(self.tables, block.X.levels, strict=True):
            _add_counts(table, count_levels(values, block.codes, block.weight, self.n_classes))

    def merge(self, other: Self) -> None:
        super().merge(other)
        for table, more in zip(self.tables, other.tables, strict=True):
            _add_counts(table, more)

    def only_present(self) -> TableMoments:
        some: Any = super().only_present()
        if some is not self:
            seen = self.present
            some.tables = [{level: count[seen] for level, count in table.items()} for table in self.tables]
        return some


def count_levels(values: Sequence[Hashable], codes: Array, weight: Array, n_classes: int) -> LevelCounts:
    """The weight of each class at each level."""
    place = {level: i for i, level in enumerate(dict.fromkeys(values))}
    cells = np.fromiter(map(place.__getitem__, values), np.int64, len(values)) * n_classes + codes
    counts = np.bincount(cells, weights=weight, minlength=len(place) * n_classes).reshape(-1, n_classes)
    return dict(zip(place, counts, strict=True))


def level_log_probabilities(table: LevelCounts, weight: Array, alpha: float) -> tuple[list[Any], Array]:
    """The sorted levels, and log P(level | class) with ``alpha`` added to each count.

    The last row, of zeros, is for unseen levels, which do not change the scores.
    """
    table = {level: counts for level, counts in table.items() if counts.any()}  # levels of rows with positive weight
    levels = sorted(table, key=lambda level: (type(level).__name__, level))
    counts = np.stack([table[level] for level in levels])
    with np.errstate(divide="ignore"):
        log_probability = np.log((counts + alpha) / (weight + alpha * len(levels)))
    return levels, np.concatenate((log_probability, np.zeros((1, len(weight)))))


def _add_counts(table: LevelCounts, more: LevelCounts) -> None:
    for level, counts in more.items():
        table[level] = table[level] + counts if level in table else counts
