"""Class weights, means and scatter in one pass: what every moment model is read from.

`ClassMoments` sums up rows at one of three grains of scatter:

==========  ============  ===========================================================
grain       shape         scatter about the class means, summed over
==========  ============  ===========================================================
diagonal    (K, p)        rows of each class, columns on their own (naive Bayes)
pooled      (1, p, p)     all rows (LDA, least squares, Fisher)
class       (K, p, p)     rows of each class (QDA)
==========  ============  ===========================================================

Every block is centred on its own class means before it is multiplied, and means are combined by their differences
(Chan, Golub & LeVeque 1979): an offset of 1e8 costs no digits, and nothing is ever subtracted that was added before.
`ThinMoments` keeps the rows themselves instead, where they are fewer than the columns; `FoldMoments` keeps the moments
of each cross-validation fold. `Needs` says what a model wants, so that one pass serves several.

Statistics are pure: shrinkage and other regularisation happen when they are read.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, Rows, check_shapes, fold_of_rows, require
from ..engine import reduce, workspace
from ..errors import NotReadyError, ParameterError
from ..kernels import csr_parts
from ..kernels import moments as kernels
from .covariance import Scatter, ThinScatter, row_span

Grain = Literal["diagonal", "pooled", "class"]
#: Weight of each class at each level of one categorical column.
LevelCounts = dict[Any, Array]

#: Rows are centred and multiplied in parts of this many numbers.
_CACHED_NUMBERS = 200_000


class ClassMoments:
    """Weights, means and scatter of K classes in p columns.

    Parameters
    ----------
    n_classes, n_columns : int
    grain : {"diagonal", "pooled", "class"}
        How much of the scatter is kept.
    fourth : bool
        Also keep what Ledoit-Wolf shrinkage needs: for each class the sums of ``|z|^4`` and ``|z|^2 z`` over the
        centred rows z. Needs grain "class".
    pools : int
        Pool the scatter in this many equal runs of consecutive classes instead of over all: the folds of
        `FoldMoments`.

    Attributes
    ----------
    counts : array of shape (K,)
        Rows seen.
    weight : array of shape (K,)
        Their total weight.
    mean : array of shape (K, p)
    scatter : array, see the grains above

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant.data import Block
    >>> moments = ClassMoments(n_classes=2, n_columns=1)
    >>> moments.update(Block(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1]), np.ones(3)))
    >>> moments.weight, moments.mean.ravel(), moments.scatter.ravel()
    (array([2., 1.]), array([2., 9.]), array([2.]))
    """

    def __init__(
        self, n_classes: int, n_columns: int, grain: Grain = "pooled", fourth: bool = False, pools: int = 1
    ) -> None:
        if fourth and grain != "class":
            raise ValueError("fourth-order moments are kept beside scatter per class: grain must be 'class'")
        self.grain, self.fourth, self.pools = grain, fourth, pools
        self.counts = np.zeros(n_classes, dtype=np.int64)
        self.weight = np.zeros(n_classes)
        self.mean = np.zeros((n_classes, n_columns))
        groups = pools if grain == "pooled" else n_classes
        self.scatter = np.zeros((groups, n_columns) if grain == "diagonal" else (groups, n_columns, n_columns))
        if fourth:
            self.fourth_power = np.zeros(n_classes)
            self.cubed = np.zeros((n_classes, n_columns))

    def _check_parts(self) -> None:
        scatter = {"diagonal": "Kp", "pooled": "gpp", "class": "Kpp"}[self.grain]
        more = {"fourth_power": "K", "cubed": "Kp"} if self.fourth else {}
        sizes = check_shapes(self, weight="K", mean="Kp", scatter=scatter, **more)
        counts, pools = self.counts, self.pools
        require(isinstance(counts, np.ndarray) and counts.dtype.kind == "i", self, "counts are no whole numbers")
        require(counts.shape == self.weight.shape, self, "counts")
        require(type(pools) is int and pools > 0 and sizes["K"] % pools == 0, self, "number of pools")
        require(sizes.get("g", pools) == pools, self, "number of scatter matrices")

    def fresh(self) -> Self:
        """An empty statistic of the same kind."""
        return type(self)(self.n_classes, self.n_columns, self.grain, self.fourth, self.pools)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        sums = block.sparse and self.grain == "diagonal"
        for part in [block] if sums else block.dense_parts():
            if self.fourth and self.n_rows:  # fourth powers are moved to a new mean by `merge` only
                own = self.fresh()
                own.update(part)
                self.merge(own)
                continue
            counts = np.bincount(part.codes, minlength=self.n_classes)
            added = self._add_sparse_squares(part) if sums else self._add_centred(part, counts)
            self._absorb_means(counts, *added)

    def merge(self, other: Self) -> None:
        """Add what another statistic of the same kind has seen."""
        if self.fourth:
            self._merge_fourth(other)
        self.scatter += other.scatter
        self._absorb_means(other.counts, other.weight, other.mean)

    def at(self, grain: Grain) -> ClassMoments:
        """The same moments at a grain they hold."""
        if grain == self.grain:
            return self
        if self.grain != "class":
            raise ValueError(f"moments at grain {self.grain!r} do not hold grain {grain!r}")
        coarse = copy.copy(self)
        coarse.grain, coarse.fourth = grain, False
        if grain == "pooled":
            coarse.scatter = self.scatter.reshape(self.pools, -1, *self.scatter.shape[1:]).sum(axis=1)
        else:
            coarse.scatter = self._class_diagonals().copy()
        return coarse

    def without_fourth(self) -> ClassMoments:
        """The same moments without those of fourth order."""
        plain = copy.copy(self)
        plain.fourth = False
        return plain

    def part(self, f: int) -> ClassMoments:
        """The moments of pool ``f`` by themselves."""
        classes, groups = (
            slice(f * n // self.pools, (f + 1) * n // self.pools) for n in (self.n_classes, len(self.scatter))
        )
        own = self._of_classes(classes)
        own.scatter, own.pools = self.scatter[groups], 1
        return own

    def only_present(self) -> ClassMoments:
        """The moments of the classes that have been seen."""
        if self.present.all():
            return self
        some = self._of_classes(self.present)
        if self.grain != "pooled":
            some.scatter = self.scatter[self.present]
        return some

    def within(self) -> Scatter:
        """The scatter about the class means, pooled over the classes."""
        return Scatter(self.at("pooled").scatter.sum(axis=0))

    def of_class(self, k: int) -> Scatter:
        """The scatter of one class about its mean."""
        return Scatter(self.at("class").scatter[k])

    def column_scatter(self) -> Array:
        """The diagonal of the scatter about the class means."""
        return (self.scatter if self.grain == "diagonal" else self._class_diagonals()).sum(axis=0)

    def mean_fourth_power(self) -> float:
        """The mean of ``|z|^4`` over the rows z centred on their class means (asked for by Ledoit-Wolf)."""
        return float(self.fourth_power.sum()) / self.total_weight

    @property
    def n_classes(self) -> int:
        return int(self.mean.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.mean.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def total_weight(self) -> float:
        return float(self.weight.sum())

    @property
    def present(self) -> Array:
        """Which classes have been seen."""
        return self.weight > 0

    def overall_mean(self) -> Array:
        """The mean of all rows."""
        return self.centre(self.weight / self.total_weight)

    def centre(self, shares: Array) -> Array:
        """The class means averaged with these shares; what a common offset would round away is kept."""
        first = self.mean[int(np.argmax(shares))]
        return first + shares @ np.where(shares[:, None] > 0, self.mean - first, 0.0)

    def total(self) -> Scatter:
        """The scatter of all rows about their overall mean: within plus between classes."""
        steps = np.where(self.present[:, None], self.mean - self.overall_mean(), 0.0)
        return self.within().plus(np.sqrt(self.weight)[:, None] * steps)

    def column_variances(self) -> Array:
        """The variance of each column over all rows, within plus between classes."""
        steps = np.where(self.present[:, None], self.mean - self.overall_mean(), 0.0)
        return (self.column_scatter() + self.weight @ steps**2) / self.total_weight

    def finite(self) -> bool:
        """Whether all moments are finite, as they are exactly when the rows were and nothing overflowed."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.column_scatter()).all())

    def _of_classes(self, chosen: Any) -> ClassMoments:
        some = copy.copy(self)
        some.counts, some.weight, some.mean = self.counts[chosen], self.weight[chosen], self.mean[chosen]
        if self.fourth:
            some.fourth_power, some.cubed = self.fourth_power[chosen], self.cubed[chosen]
        return some

    def _class_diagonals(self) -> Array:
        return np.diagonal(self.scatter, axis1=1, axis2=2)

    def _add_centred(self, block: Block, counts: Array) -> tuple[Array, Array]:
        """Add the block's scatter about its own class means; return those and their weights."""
        X, codes, weight = block.X, block.codes, block.weight
        totals, means = np.zeros(self.n_classes), np.zeros(self.mean.shape)
        kernels.class_means(X, codes, weight, totals, means)
        if self.grain == "diagonal":
            kernels.class_squares(X, codes, weight, means, self.scatter)
        elif len(self.scatter) == 1 and not self.fourth:
            self._add_pooled(X, codes, weight, means)
        else:
            self._add_by_group(X, codes, weight, means, counts)
        return totals, means

    def _add_pooled(self, X: Array, codes: Array, weight: Array, means: Array) -> None:
        """Add the scatter of all rows, a part at a time that stays in a core's cache between its two steps."""
        step = max(256, _CACHED_NUMBERS // self.n_columns)
        for start in range(0, len(X), step):
            part = slice(start, min(start + step, len(X)))
            centred = workspace((part.stop - start, self.n_columns))
            kernels.centred_rows(X[part], codes[part], weight[part], means, centred)
            self.scatter[0] += centred.T @ centred

    def _add_by_group(self, X: Array, codes: Array, weight: Array, means: Array, counts: Array) -> None:
        """Add the scatter of each group of classes, their rows brought together first."""
        ends = np.cumsum(counts.reshape(len(self.scatter), -1).sum(axis=1))
        starts = np.concatenate(([0], ends[:-1]))
        centred = workspace(X.shape)
        size = self.n_classes // len(self.scatter)
        kernels.centred_rows_by_group(X, codes, weight, means, size, starts.copy(), centred)
        for g in np.flatnonzero(ends > starts):
            own = centred[starts[g] : ends[g]]
            self.scatter[g] += own.T @ own
            if self.fourth:
                self._start_fourth(int(g), own, weight[codes == g])

    def _add_sparse_squares(self, block: Block) -> tuple[Array, Array]:
        csr, codes, weight = block.X, block.codes, block.weight
        totals, means, stored = np.zeros(self.n_classes), np.zeros(self.mean.shape), np.zeros(self.mean.shape)
        kernels.csr_class_sums(csr_parts(csr), codes, weight, totals, means, stored)
        seen = (totals > 0)[:, None]
        np.divide(means, totals[:, None], out=means, where=seen)
        squares, left = np.zeros(self.mean.shape), np.zeros(self.mean.shape)
        kernels.csr_class_squares(csr_parts(csr), codes, weight, means, squares, left)
        absent = totals[:, None] - stored
        squares += absent * means**2
        left -= absent * means
        # What rounding left between the sums' mean and the true one, so that equal values have no scatter.
        np.divide(left, totals[:, None], out=left, where=seen)
        self.scatter += np.maximum(squares - totals[:, None] * left**2, 0.0)
        means += left
        return totals, means

    def _absorb_means(self, counts: Array, weight: Array, mean: Array) -> None:
        """Combine the class means with those of other rows, and add the scatter between the two."""
        if not self.weight.any():  # nothing to combine with
            self.mean, self.weight, self.counts = mean, weight, self.counts + counts
            return
        step, share = self._step_towards(weight, mean)
        factor = self.weight * share
        if self.grain == "diagonal":
            self.scatter += factor[:, None] * step**2
        elif factor.any():
            root = (np.sqrt(factor)[:, None] * step).reshape(len(self.scatter), -1, self.n_columns)
            for g in np.flatnonzero(factor.reshape(len(root), -1).any(axis=1)):
                self.scatter[g] += root[g].T @ root[g]
        # A class seen for the first time takes the mean as it is: a difference from 0 would only round it.
        self.mean = np.where((self.weight == 0)[:, None], mean, self.mean + share[:, None] * step)
        self.weight = self.weight + weight
        self.counts = self.counts + counts

    def _step_towards(self, weight: Array, mean: Array) -> tuple[Array, Array]:
        """Difference of the class means from ours, and the share of the way our means have to go."""
        total = self.weight + weight
        share = np.divide(weight, total, out=np.zeros_like(total), where=total > 0)
        return np.where(((weight > 0) & (self.weight > 0))[:, None], mean - self.mean, 0.0), share

    def _start_fourth(self, k: int, centred: Array, weight: Array) -> None:
        """Set the fourth-order sums of class k from its rows ``sqrt(w) z``."""
        counted = weight > 0
        squared = np.einsum("ij,ij->i", centred, centred)[counted]
        self.fourth_power[k] = squared**2 @ (1 / weight[counted])
        self.cubed[k] = (squared / np.sqrt(weight[counted])) @ centred[counted]

    def _merge_fourth(self, other: Self) -> None:
        step, share = self._step_towards(other.weight, other.mean)
        own_power, own_cubed = self._fourth_about(share[:, None] * step)
        other_power, other_cubed = other._fourth_about((share - 1)[:, None] * step)
        self.fourth_power = own_power + other_power
        self.cubed = own_cubed + other_cubed

    def _fourth_about(self, step: Array) -> tuple[Array, Array]:
        """The fourth-order sums about ``mean + step`` (binomial expansion; the rows' first moments vanish)."""
        squared = np.einsum("kj,kj->k", step, step)
        spread = np.einsum("kij,kj->ki", self.scatter, step)
        trace = np.trace(self.scatter, axis1=1, axis2=2)
        power = (
            4 * np.einsum("kj,kj->k", spread, step)
            + self.weight * squared**2
            - 4 * np.einsum("kj,kj->k", self.cubed, step)
            + 2 * squared * trace
        )
        cubed = self.cubed - (trace + self.weight * squared)[:, None] * step - 2 * spread
        return self.fourth_power + power, cubed


class ThinMoments(ClassMoments):
    """The rows themselves, kept while there are fewer of them than columns.

    A p x p matrix would be larger than the data and of lower rank than it looks.
    """

    def __init__(
        self, n_classes: int, n_columns: int, grain: Grain = "pooled", fourth: bool = False, pools: int = 1
    ) -> None:
        self.grain, self.fourth, self.pools = grain, fourth, pools  # what they keep once they outnumber the columns
        self.mean = np.zeros((n_classes, n_columns))
        self.X, self.codes, self.row_weight = np.empty((0, n_columns)), np.empty(0, dtype=np.int32), np.empty(0)
        self._append(self.X, self.codes, self.row_weight)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            self._append(part.X.astype(np.float64), part.codes, part.weight)

    def merge(self, other: Self) -> None:
        """Add what another statistic of the same kind has seen."""
        self._append(other.X, other.codes, other.row_weight)

    def at(self, grain: Grain) -> ClassMoments:
        if grain == "diagonal":
            return self.dense(grain)
        same = copy.copy(self)
        same.grain = grain
        return same

    def part(self, f: int) -> ThinMoments:
        """The moments of pool ``f`` by themselves."""
        n_classes = self.n_classes // self.pools
        own, some = self.codes // n_classes == f, ThinMoments(n_classes, self.n_columns, self.grain, self.fourth)
        some._append(self.X[own], self.codes[own] % n_classes, self.row_weight[own])
        return some

    def in_row_span(self) -> ThinMoments:
        """The same rows, centred, in the coordinates of their own span: no more columns than rows."""
        centred = self.X - self.overall_mean()
        size = max(float(np.abs(centred).max()), np.finfo(float).tiny)
        rows = row_span(centred / size)[0] * size
        found = ThinMoments(self.n_classes, rows.shape[1], self.grain, self.fourth, self.pools)
        found._append(rows, self.codes, self.row_weight)
        return found

    def dense(self, grain: Grain | None = None) -> ClassMoments:
        """The same moments without the rows."""
        moments = ClassMoments(*self.mean.shape, grain or self.grain, self.fourth and grain is None, self.pools)
        if self.n_rows:
            moments.update(Block(self.X, self.codes, self.row_weight))
        return moments

    def only_present(self) -> ThinMoments:
        seen = self.present
        if seen.all():
            return self
        some = ThinMoments(int(seen.sum()), self.n_columns, self.grain, self.fourth, self.pools)
        some._append(self.X, (np.cumsum(seen, dtype=np.int32) - np.int32(1))[self.codes], self.row_weight)
        return some

    def within(self) -> ThinScatter:
        return ThinScatter(np.sqrt(self.row_weight)[:, None] * self._centred())

    def total(self) -> ThinScatter:
        centred = self.X - self.overall_mean()
        centred -= self.row_weight @ centred / self.total_weight
        return ThinScatter(np.sqrt(self.row_weight)[:, None] * centred)

    def of_class(self, k: int) -> ThinScatter:
        return ThinScatter(self.within().root[self.codes == k])

    def column_scatter(self) -> Array:
        return self.within().diagonal()

    def mean_fourth_power(self) -> float:
        centred = self._centred()
        squared = np.einsum("ij,ij->i", centred, centred)
        return float(self.row_weight @ squared**2) / self.total_weight

    def _centred(self) -> Array:
        """The rows less their class means, centred twice.

        A mean is rounded to the size of the values. What that leaves would be a direction of its own, and a
        pseudo-inverse would blow it up.
        """
        centred = self.X - self.mean[self.codes]
        left, totals = np.zeros(self.mean.shape), np.zeros(self.n_classes)
        kernels.class_means(centred, self.codes, self.row_weight, totals, left)
        return centred - left[self.codes]

    def _append(self, X: Array, codes: Array, weight: Array) -> None:
        self.X = np.concatenate((self.X, X))
        self.codes = np.concatenate((self.codes, codes))
        self.row_weight = np.concatenate((self.row_weight, weight))
        self.counts = np.bincount(self.codes, minlength=self.n_classes)
        self.weight, self.mean = np.zeros(self.n_classes), np.zeros(self.mean.shape)
        kernels.class_means(self.X, self.codes, self.row_weight, self.weight, self.mean)


class RowsLeftOut:
    """Stands where a model keeps training rows as its statistic, which a file does not carry.

    The model predicts as before; whatever needs the rows says that they are not there.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotReadyError(
            "This model was fitted to fewer rows than columns: its statistic is the rows themselves, which a stored "
            "model does not carry. It predicts; for anything else fit it again."
        )


class TableMoments(ClassMoments):
    """`ClassMoments` of the numeric columns (each on its own) and a table of level counts for each categorical one.

    Levels need not be known beforehand: merging takes the union.
    """

    def __init__(self, n_classes: int, n_numeric: int, n_categorical: int) -> None:
        super().__init__(n_classes, n_numeric, "diagonal")
        self.tables: list[LevelCounts] = [{} for _ in range(n_categorical)]

    def _check_parts(self) -> None:
        super()._check_parts()
        require(self.grain == "diagonal" and not self.fourth and self.pools == 1, self, "kind")
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

    def in_row_span(self) -> FoldMoments:
        """The same folds in few columns, where rows are kept; distances are as before."""
        thin = isinstance(self.cells, ThinMoments) and self.cells.n_rows
        return self.with_cells(self.cells.in_row_span()) if thin else self

    def folds(self) -> list[Any]:
        """The moments of each fold by themselves."""
        return [self.cells.part(f) for f in range(self.n_folds)]

    def whole(self) -> Any:
        """The moments of all rows."""
        first, *others = self.folds()
        return functools.reduce(_sum, others, copy.deepcopy(first))

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


def column_moments(rows: Rows, weight: Array | None = None, grain: Any = "diagonal") -> tuple[Array, Array]:
    """The means of the columns, and their variances, or covariances with the ``grain`` "pooled"."""
    each = None if weight is None else np.asarray(weight, dtype=np.float64)
    together = LabelledRows(rows, np.array([0]), np.zeros(rows.n_rows, dtype=np.int32), each)
    found = reduce(together, ClassMoments(1, rows.n_columns, grain=grain))
    return found.mean[0], found.scatter[0] / found.weight[0]
