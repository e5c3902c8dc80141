"""What a model needs from the data, so that several can be read from one pass."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from .folds import FoldMoments
from .statistic import ClassMoments, Grain, ThinMoments


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


def together(needs: Iterable[Needs]) -> Needs:
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
        return _added(copy.deepcopy(first), second)
    if isinstance(second, ThinMoments):
        second = second.dense()
    return _added(first.dense() if isinstance(first, ThinMoments) else copy.deepcopy(first), second)


def _added(total: Any, more: Any) -> Any:
    total.merge(more)
    return total


def narrowed(moments: Any, needs: Needs) -> Any:
    """What one model would have collected by itself, taken from moments that answer the needs of several."""
    if isinstance(moments, FoldMoments):
        if not needs.folds:
            return narrowed(moments.whole(), needs)
        return moments.with_cells(narrowed(moments.cells, needs))
    return moments if needs.fourth else moments.at(needs.grain).without_fourth()
