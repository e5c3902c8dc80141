"""What models need from the data, so that one pass serves several, and the moments of each cross-validation fold."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np

from ..data import Block
from ..data.checks import require
from ..errors import ParameterError
from .statistic import ClassMoments, Grain, RowsLeftOut, ThinMoments

Array = np.ndarray[Any, Any]


class FoldMoments:
    """The moments of each fold, as those of K classes times F folds ("cells": class k of fold f is cell f K + k).

    A row's fold depends on its number alone, so blocks and chunks of any size give the same folds: each F consecutive
    rows hold every fold once, in an order that changes from group to group.

    Parameters
    ----------
    cells : ClassMoments or ThinMoments
        An empty statistic of K F classes in F pools.
    n_folds : int
    first_row : int
        The number of the first row that will be seen (rows seen by earlier calls of ``partial_fit``).
    """

    def __init__(self, cells: Any, n_folds: int, first_row: int = 0) -> None:
        self.cells = cells
        self.n_folds = n_folds
        self.first_row = first_row

    def _check_parts(self) -> None:
        require(type(self.n_folds) is int and type(self.first_row) is int, self, "number of folds")
        if not isinstance(self.cells, RowsLeftOut):
            require(type(self.cells) is ClassMoments and self.cells.pools == self.n_folds, self, "cells")

    @property
    def n_rows(self) -> int:
        return int(self.cells.n_rows)

    def fresh(self) -> Self:
        """An empty statistic of the same kind."""
        return type(self)(self.cells.fresh(), self.n_folds, self.first_row)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        n_classes = self.cells.n_classes // self.n_folds
        fold = fold_of_rows(self.first_row + block.start, block.n_rows, self.n_folds)
        self.cells.update(replace(block, codes=fold * n_classes + block.codes))

    def merge(self, other: Self) -> None:
        """Add what another statistic of the same kind has seen."""
        self.cells.merge(other.cells)

    def with_cells(self, cells: Any) -> FoldMoments:
        """The same folds with other cells."""
        return FoldMoments(cells, self.n_folds, self.first_row)

    def folds(self) -> list[Any]:
        """The moments of each fold by themselves."""
        return [self.cells.part(f) for f in range(self.n_folds)]

    def whole(self) -> Any:
        """The moments of all rows."""
        first, *others = self.folds()
        return reduce(_sum, others, copy.deepcopy(first))

    def splits(self) -> Iterator[tuple[Any, Any]]:
        """Moments of all rows but a fold's, and the fold's own.

        Merged from the folds before and after, never subtracted from the whole: subtraction would lose every digit
        of a fold whose values are small beside another's.
        """
        folds = self.folds()
        after = [folds[0].fresh()]
        for fold in reversed(folds[1:]):
            after.append(_sum(copy.deepcopy(fold), after[-1]))
        before = folds[0].fresh()
        for fold in folds:
            yield _sum(copy.deepcopy(before), after.pop()), fold
            before = _sum(before, fold)


def fold_of_rows(first: int, count: int, n_folds: int) -> Array:
    """The folds of ``count`` consecutive rows."""
    row = np.arange(first, first + count, dtype=np.int64)
    return (row + _scrambled(row // n_folds)) % n_folds


def _scrambled(numbers: Array) -> Array:
    """A fixed, irregular sequence of non-negative integers (the mixing steps of SplitMix64)."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(33)).astype(np.int64)


def _sum(first: Any, second: Any) -> Any:
    first.merge(second)
    return first


@dataclass(frozen=True)
class Needs:
    """The grain of scatter, whether fourth-order sums are wanted, and in how many folds (0: none)."""

    grain: Grain
    fourth: bool = False
    folds: int = 0

    def statistic(self, n_rows: int, n_classes: int, n_columns: int, first_row: int = 0) -> Any:
        """An empty statistic that answers them, for a pass over ``n_rows`` rows."""
        thin = n_rows < n_columns and self.grain != "diagonal"
        grain: Grain = "class" if self.fourth else self.grain
        kind = ThinMoments if thin else ClassMoments
        if not self.folds:
            return kind(n_classes, n_columns, grain, self.fourth)
        cells = kind(n_classes * self.folds, n_columns, grain, self.fourth, pools=self.folds)
        return FoldMoments(cells, self.folds, first_row)


def combined_needs(needs: Iterable[Needs]) -> Needs:
    """The smallest needs that answer all of these."""
    wanted = list(needs)
    grains = {need.grain for need in wanted}
    folds = {need.folds for need in wanted if need.folds}
    if len(folds) > 1:
        raise ParameterError(f"Models fitted together must use the same number of folds, got {sorted(folds)}.")
    # Scatter per class holds the other two; pooled and diagonal do not hold each other.
    grain = grains.pop() if len(grains) == 1 else "class"
    return Needs(grain, any(need.fourth for need in wanted), max(folds, default=0))


def merged(first: Any, second: Any) -> Any:
    """The statistic of the rows of both, which are left as they are."""
    if isinstance(first, FoldMoments):
        return first.with_cells(merged(first.cells, second.cells))
    both_thin = isinstance(first, ThinMoments) and isinstance(second, ThinMoments)
    if both_thin and first.n_rows + second.n_rows < first.n_columns:
        return _sum(copy.deepcopy(first), second)
    if isinstance(second, ThinMoments):
        second = second.dense()
    return _sum(first.dense() if isinstance(first, ThinMoments) else copy.deepcopy(first), second)


def narrowed(moments: Any, needs: Needs) -> Any:
    """What one model would have collected by itself, taken from moments that answer the needs of several."""
    if isinstance(moments, FoldMoments):
        if not needs.folds:
            return narrowed(moments.whole(), needs)
        return moments.with_cells(narrowed(moments.cells, needs))
    return moments if needs.fourth else moments.at(needs.grain).without_fourth()
