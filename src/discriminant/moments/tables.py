"""Moments of numeric columns and level counts of categorical ones, in one mergeable statistic."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data import Block
from .statistic import ClassMoments

Array = np.ndarray[Any, Any]
#: Weight of each class at each level of one categorical column.
LevelCounts = dict[Any, Array]


class TableMoments(ClassMoments):
    """`ClassMoments` of the numeric columns (each on its own) and a table of level counts for each categorical one.

    Levels need not be known beforehand: merging takes the union.
    """

    def __init__(self, n_classes: int, n_numeric: int, n_categorical: int) -> None:
        super().__init__(n_classes, n_numeric, "diagonal")
        self.tables: list[LevelCounts] = [{} for _ in range(n_categorical)]

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


def count_levels(values: list[Any], codes: Array, weight: Array, n_classes: int) -> LevelCounts:
    """The weight of each class at each level."""
    place = {level: i for i, level in enumerate(dict.fromkeys(values))}
    cells = np.fromiter(map(place.__getitem__, values), np.int64, len(values)) * n_classes + codes
    counts = np.bincount(cells, weights=weight, minlength=len(place) * n_classes).reshape(-1, n_classes)
    return dict(zip(place, counts, strict=True))


def level_log_probabilities(table: LevelCounts, weight: Array, alpha: float) -> tuple[list[Any], Array]:
    """The levels in order, and log P(level | class) with ``alpha`` added to each count.

    A last row of zeros stands for levels never seen: they say nothing for or against any class.
    """
    table = {level: counts for level, counts in table.items() if counts.any()}  # not those of weightless rows
    levels = sorted(table, key=lambda level: (type(level).__name__, level))
    counts = np.stack([table[level] for level in levels])
    with np.errstate(divide="ignore"):
        log_probability = np.log((counts + alpha) / (weight + alpha * len(levels)))
    return levels, np.concatenate((log_probability, np.zeros((1, len(weight)))))


def _add_counts(table: LevelCounts, more: LevelCounts) -> None:
    for level, counts in more.items():
        table[level] = table[level] + counts if level in table else counts
