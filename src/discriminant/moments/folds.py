"""Moments of cross-validation folds, and specifications of the moments that models require."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from ..data import Block, fold_of_rows, require
from ..engine import Statistic
from ..errors import ParameterError
from .statistic import ClassMoments, CovarianceStructure, RowMoments, RowsLeftOut

M = TypeVar("M", bound=Statistic)


class FoldMoments:
    """The moments of each fold, stored as those of K F classes ("cells": class k of fold f is cell f K + k).

    The fold of a row depends on its index only, not on blocks or chunks: each F consecutive rows contain every fold
    once, in a pseudo-random order.

    Parameters
    ----------
    cells : ClassMoments or RowMoments
        An empty statistic of K F classes in F pools.
    n_folds : int
    first_row : int
        Index of the first row: the number of rows of earlier calls of ``partial_fit``.
    """

    def __init__(self, cells: ClassMoments, n_folds: int, first_row: int = 0) -> None:
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
        """Add the rows of another statistic of the same kind."""
        self.cells.merge(other.cells)

    def with_cells(self, cells: ClassMoments) -> FoldMoments:
        """The same folds with other cells."""
        return FoldMoments(cells, self.n_folds, self.first_row)

    def in_row_span(self) -> FoldMoments:
        """The same folds projected onto the span of the rows, if they are row-backed; distances do not change."""
        if isinstance(self.cells, RowMoments) and self.cells.n_rows:
            return self.with_cells(self.cells.in_row_span())
        return self

    def folds(self) -> list[Any]:
        """The moments of each fold."""
        return [self.cells.pool(f) for f in range(self.n_folds)]

    def whole(self) -> Any:
        """The moments of all rows."""
        first, *others = self.folds()
        return functools.reduce(_sum, others, copy.deepcopy(first))

    def splits(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of training and held-out moments.

        Training moments are merged from the folds before and after, not subtracted from the total: subtraction would
        lose the precision of folds whose values are much smaller than another's.
        """
        folds = self.folds()
        after = [folds[0].fresh()]
        for fold in reversed(folds[1:]):
            after.append(_sum(copy.deepcopy(fold), after[-1]))
        before = folds[0].fresh()
        for fold in folds:
            yield _sum(copy.deepcopy(before), after.pop()), fold
            before = _sum(before, fold)


def _sum(first: M, second: M) -> M:
    first.merge(second)
    return first


@dataclass(frozen=True)
class MomentsSpec:
    """The moments that a model requires: covariance structure, fourth-order sums, and number of folds (0: none)."""

    structure: CovarianceStructure
    fourth: bool = False
    folds: int = 0

    def statistic(self, n_rows: int, n_classes: int, n_columns: int, first_row: int = 0) -> Any:
        """An empty statistic with these moments, for a pass over ``n_rows`` rows."""
        row_backed = n_rows < n_columns and self.structure != "diagonal"
        structure: CovarianceStructure = "class" if self.fourth else self.structure
        kind = RowMoments if row_backed else ClassMoments
        if not self.folds:
            return kind(n_classes, n_columns, structure, self.fourth)
        cells = kind(n_classes * self.folds, n_columns, structure, self.fourth, pools=self.folds)
        return FoldMoments(cells, self.folds, first_row)


def combined_spec(needs: Iterable[MomentsSpec]) -> MomentsSpec:
    """The smallest specification that contains all of these."""
    specs = list(needs)
    structures = {spec.structure for spec in specs}
    folds = {spec.folds for spec in specs if spec.folds}
    if len(folds) > 1:
        raise ParameterError(f"Models fitted together must use the same number of folds, got {sorted(folds)}.")
    # The scatter of each class determines the pooled and the diagonal one, which do not determine each other.
    structure = structures.pop() if len(structures) == 1 else "class"
    return MomentsSpec(structure, any(spec.fourth for spec in specs), max(folds, default=0))


def merged(first: Any, second: Any) -> Any:
    """The statistic of the rows of both, which are not changed."""
    if isinstance(first, FoldMoments):
        return first.with_cells(merged(first.cells, second.cells))
    both_row_backed = isinstance(first, RowMoments) and isinstance(second, RowMoments)
    if both_row_backed and first.n_rows + second.n_rows < first.n_columns:
        return _sum(copy.deepcopy(first), second)
    if isinstance(second, RowMoments):
        second = second.dense()
    return _sum(first.dense() if isinstance(first, RowMoments) else copy.deepcopy(first), second)


def projected(moments: Any, needs: MomentsSpec) -> Any:
    """The moments of one model's specification, from moments collected for several models."""
    if isinstance(moments, FoldMoments):
        if not needs.folds:
            return projected(moments.whole(), needs)
        return moments.with_cells(projected(moments.cells, needs))
    return moments if needs.fourth else moments.with_structure(needs.structure).without_fourth()
