"""Class weights, means and scatter, the sufficient statistics of moment models, computed in one pass.

======  ============  ===========================================================
structure   shape         scatter about the class means, summed over
==========  ============  ===========================================================
diagonal    (K, p)        rows of each class, columns on their own (naive Bayes)
====
`ClassMoments` has one of three covariance structures:

==========  ============  ===========================================================
structure   shape         scatter about the class means, summed over
==========  ============  ===========================================================
diagonal    (K, p)        rows of each class, variances only (naive Bayes)
==========  ============  ===========================================================
structure   shape         scatter about the class means, summed over
==========  ============  ===========================================================
diagonal    (K, p)        rows of each class, columns on their own (naive Bayes)
pooled      (1, p, p)     all rows (LDA, least squares, Fisher)
class       (K, p, p)     rows of each class (QDA)
==========  ============  ===========================================================

Every block is centred on its class means before it is multiplied, and means are combined by their differences (Chan,
Golub & LeVeque 1983), so that an offset of 1e8 costs no precision. `RowMoments` keeps the rows themselves if they are
fewer than the columns; `FoldMoments` keeps the moments of each cross-validation fold. `MomentsSpec` lists the moments
that a model requires, so that one pass serves several models.

Statistics are not regularised: shrinkage is applied when models are estimated from them.
"""

from __future__ import annotations

import copy
from typing import Final, Literal, NoReturn, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, Rows, check_shapes, require
from ..engine import workspace
from ..errors import NotReadyError
from ..kernels import csr_parts
from ..kernels import moments as kernels
from .covariance import RowScatter, Scatter, row_span

CovarianceStructure = Literal["diagonal", "pooled", "class"]

#: Rows are centred and multiplied in blocks of this many values, which fit into a core's cache.
CACHED_VALUES: Final = 200_000


class ClassMoments:
    """Weights, means and scatter of K classes in p columns.

    Parameters
    ----------
    n_classes, n_columns : int
    structure : {"diagonal", "pooled", "class"}
        Structure of the scatter.
    fourth : bool
        Whether to keep the statistics of Ledoit-Wolf shrinkage: for each class the sums of ``|z|^4`` and ``|z|^2 z``
        over the centred rows z. Requires structure "class".
    pools : int
        Number of equal runs of consecutive classes over which scatter is pooled: the folds of `FoldMoments`.

    Attributes
    ----------
    counts : array of shape (K,)
        Number of rows.
    weight : array of shape (K,)
        Their total weight.
    mean : array of shape (K, p)
    scatter : array, see the structures above

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
        self,
        n_classes: int,
        n_columns: int,
        structure: CovarianceStructure = "pooled",
        fourth: bool = False,
        pools: int = 1,
    ) -> None:
        if fourth and structure != "class":
            raise ValueError("fourth-order moments require structure='class'")
        self.structure, self.fourth, self.pools = structure, fourth, pools
        self.counts = np.zeros(n_classes, dtype=np.int64)
        self.weight = np.zeros(n_classes)
        self.mean = np.zeros((n_classes, n_columns))
        groups = pools if structure == "pooled" else n_classes
        self.scatter = np.zeros((groups, n_columns) if structure == "diagonal" else (groups, n_columns, n_columns))
        if fourth:
            self.fourth_power = np.zeros(n_classes)
            self.cubed = np.zeros((n_classes, n_columns))

    def _check_parts(self) -> None:
        scatter = {"diagonal": "Kp", "pooled": "gpp", "class": "Kpp"}[self.structure]
        more = {"fourth_power": "K", "cubed": "Kp"} if self.fourth else {}
        sizes = check_shapes(self, weight="K", mean="Kp", scatter=scatter, **more)
        counts, pools = self.counts, self.pools
        require(isinstance(counts, np.ndarray) and counts.dtype.kind == "i", self, "counts are not integers")
        require(counts.shape == self.weight.shape, self, "counts")
        require(type(pools) is int and pools > 0 and sizes["K"] % pools == 0, self, "number of pools")
        require(sizes.get("g", pools) == pools, self, "number of scatter matrices")

    def fresh(self) -> Self:
        """An empty statistic of the same kind."""
        return type(self)(self.n_classes, self.n_columns, self.structure, self.fourth, self.pools)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        sums = block.sparse and self.structure == "diagonal"
        for part in [block] if sums else block.dense_parts():
            if self.fourth and self.n_rows:  # only `merge` shifts fourth-order sums to a new mean
                own = self.fresh()
                own.update(part)
                self.merge(own)
                continue
            counts = np.bincount(part.codes, minlength=self.n_classes)
            added = self._add_sparse_squares(part) if sums else self._add_centred(part, counts)
            self._absorb_means(counts, *added)

    def merge(self, other: Self) -> None:
        """Add what another statistic of the same kind contains."""
        if self.fourth:
            self._merge_fourth(other)
        self.scatter += other.scatter
        self._absorb_means(other.counts, other.weight, other.mean)

    def with_structure(self, structure: CovarianceStructure) -> ClassMoments:
        """The moments with another structure, which they must determine."""
        if structure == self.structure:
            return self
        if self.structure != "class":
            raise ValueError(f"moments with structure {self.structure!r} do not determine structure {structure!r}")
        coarse = copy.copy(self)
        coarse.structure, coarse.fourth = structure, False
        if structure == "pooled":
            coarse.scatter = self.scatter.reshape(self.pools, -1, *self.scatter.shape[1:]).sum(axis=1)
        else:
            coarse.scatter = self._class_diagonals().copy()
        return coarse

    def without_fourth(self) -> ClassMoments:
        """The moments without those of fourth order."""
        plain = copy.copy(self)
        plain.fourth = False
        return plain

    def pool(self, f: int) -> ClassMoments:
        """The moments of pool ``f`` by themselves."""
        classes, groups = (
            slice(f * n // self.pools, (f + 1) * n // self.pools) for n in (self.n_classes, len(self.scatter))
        )
        own = self._of_classes(classes)
        own.scatter, own.pools = self.scatter[groups], 1
        return own

    def only_present(self) -> ClassMoments:
        """The moments of the classes that have rows."""
        if self.present.all():
            return self
        some = self._of_classes(self.present)
        if self.structure != "pooled":
            some.scatter = self.scatter[self.present]
        return some

    def within(self) -> Scatter:
        """The scatter about the class means, pooled over the classes."""
        return Scatter(self.with_structure("pooled").scatter.sum(axis=0))

    def of_class(self, k: int) -> Scatter:
        """The scatter of one class about its mean."""
        return Scatter(self.with_structure("class").scatter[k])

    def column_scatter(self) -> Array:
        """The diagonal of the scatter about the class means."""
        return (self.scatter if self.structure == "diagonal" else self._class_diagonals()).sum(axis=0)

    def mean_fourth_power(self) -> float:
        """The mean of ``|z|^4`` over the rows z, centred on their class means."""
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
        """Which classes have rows with positive weight."""
        return self.weight > 0

    def overall_mean(self) -> Array:
        """The mean of all rows."""
        return self.centre(self.weight / self.total_weight)

    def centre(self, shares: Array) -> Array:
        """The average of the class means with these shares, computed without loss from a common offset."""
        first = self.mean[int(np.argmax(shares))]
        return first + shares @ np.where(shares[:, None] > 0, self.mean - first, 0.0)

    def total(self) -> Scatter:
        """The total scatter about the overall mean: within plus between classes."""
        steps = np.where(self.present[:, None], self.mean - self.overall_mean(), 0.0)
        return self.within().plus(np.sqrt(self.weight)[:, None] * steps)

    def column_variances(self) -> Array:
        """The variance of each column over all rows, within plus between classes."""
        steps = np.where(self.present[:, None], self.mean - self.overall_mean(), 0.0)
        return (self.column_scatter() + self.weight @ steps**2) / self.total_weight

    def is_finite(self) -> bool:
        """Whether all moments are finite, that is, all rows are finite and nothing overflowed."""
        return bool(np.isfinite(self.mean).all() and np.isfinite(self.column_scatter()).all())

    def _of_classes(self, chosen: Array | slice) -> ClassMoments:
        some = copy.copy(self)
        some.counts, some.weight, some.mean = self.counts[chosen], self.weight[chosen], self.mean[chosen]
        if self.fourth:
            some.fourth_power, some.cubed = self.fourth_power[chosen], self.cubed[chosen]
        return some

    def _class_diagonals(self) -> Array:
        return np.diagonal(self.scatter, axis1=1, axis2=2)

    def _add_centred(self, block: Block, counts: Array) -> tuple[Array, Array]:
        """Add the block's scatter about its class means; returns their weights and the means."""
        X, codes, weight = block.X, block.codes, block.weight
        totals, means = np.zeros(self.n_classes), np.zeros(self.mean.shape)
        kernels.class_means(X, codes, weight, totals, means)
        if self.structure == "diagonal":
            kernels.class_squares(X, codes, weight, means, self.scatter)
        elif len(self.scatter) == 1 and not self.fourth:
            self._add_pooled(X, codes, weight, means)
        else:
            self._add_by_group(X, codes, weight, means, counts)
        return totals, means

    def _add_pooled(self, X: Array, codes: Array, weight: Array, means: Array) -> None:
        """Add the pooled scatter, in parts that fit into a core's cache."""
        step = max(256, CACHED_VALUES // self.n_columns)
        for start in range(0, len(X), step):
            part = slice(start, min(start + step, len(X)))
            centred = workspace((part.stop - start, self.n_columns))
            kernels.centred_rows(X[part], codes[part], weight[part], means, centred)
            self.scatter[0] += centred.T @ centred

    def _add_by_group(self, X: Array, codes: Array, weight: Array, means: Array, counts: Array) -> None:
        """Add the scatter of each group of classes, after sorting rows by group."""
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
        zero_weight = totals[:, None] - stored
        squares += zero_weight * means**2
        left -= zero_weight * means
        # The rounding error of the mean; correcting for it gives equal values no scatter.
        np.divide(left, totals[:, None], out=left, where=seen)
        self.scatter += np.maximum(squares - totals[:, None] * left**2, 0.0)
        means += left
        return totals, means

    def _absorb_means(self, counts: Array, weight: Array, mean: Array) -> None:
        """Combine the class means with those of other rows, and add the scatter between them."""
        if not self.weight.any():
            self.mean, self.weight, self.counts = mean, weight, self.counts + counts
            return
        step, share = self._mean_differences(weight, mean)
        factor = self.weight * share
        if self.structure == "diagonal":
            self.scatter += factor[:, None] * step**2
        elif factor.any():
            root = (np.sqrt(factor)[:, None] * step).reshape(len(self.scatter), -1, self.n_columns)
            for g in np.flatnonzero(factor.reshape(len(root), -1).any(axis=1)):
                self.scatter[g] += root[g].T @ root[g]
        # The mean of a new class is copied: computing it as a difference from 0 would round it.
        self.mean = np.where((self.weight == 0)[:, None], mean, self.mean + share[:, None] * step)
        self.weight = self.weight + weight
        self.counts = self.counts + counts

    def _mean_differences(self, weight: Array, mean: Array) -> tuple[Array, Array]:
        """The differences of the class means, and the weight shares of the other rows."""
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
        step, share = self._mean_differences(other.weight, other.mean)
        own_power, own_cubed = self._fourth_about(share[:, None] * step)
        other_power, other_cubed = other._fourth_about((share - 1)[:, None] * step)
        self.fourth_power = own_power + other_power
        self.cubed = own_cubed + other_cubed

    def _fourth_about(self, step: Array) -> tuple[Array, Array]:
        """The fourth-order sums about ``mean + step`` (binomial expansion; first moments about the mean are 0)."""
        squared = np.einsum("kj,kj->k", step, step)
        scatter_step = np.einsum("kij,kj->ki", self.scatter, step)
        trace = np.trace(self.scatter, axis1=1, axis2=2)
        power = (
            4 * np.einsum("kj,kj->k", scatter_step, step)
            + self.weight * squared**2
            - 4 * np.einsum("kj,kj->k", self.cubed, step)
            + 2 * squared * trace
        )
        cubed = self.cubed - (trace + self.weight * squared)[:, None] * step - 2 * scatter_step
        return self.fourth_power + power, cubed


class RowMoments(ClassMoments):
    """Moments that keep the rows, used while there are fewer rows than columns.

    A p x p scatter matrix would be larger than the data and singular.
    """

    def __init__(
        self,
        n_classes: int,
        n_columns: int,
        structure: CovarianceStructure = "pooled",
        fourth: bool = False,
        pools: int = 1,
    ) -> None:
        self.structure, self.fourth, self.pools = (
            structure,
            fourth,
            pools,
        )  # what they keep once they outnumber the columns
        self.mean = np.zeros((n_classes, n_columns))
        self.X, self.codes, self.row_weight = np.empty((0, n_columns)), np.empty(0, dtype=np.int32), np.empty(0)
        self._append(self.X, self.codes, self.row_weight)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            self._append(part.X.astype(np.float64), part.codes, part.weight)

    def merge(self, other: Self) -> None:
        """Add what another statistic of the same kind contains."""
        self._append(other.X, other.codes, other.row_weight)

    def with_structure(self, structure: CovarianceStructure) -> ClassMoments:
        if structure == "diagonal":
            return self.dense(structure)
        same = copy.copy(self)
        same.structure = structure
        return same

    def pool(self, f: int) -> RowMoments:
        """The moments of pool ``f`` by themselves."""
        n_classes = self.n_classes // self.pools
        own, some = self.codes // n_classes == f, RowMoments(n_classes, self.n_columns, self.structure, self.fourth)
        some._append(self.X[own], self.codes[own] % n_classes, self.row_weight[own])
        return some

    def in_row_span(self) -> RowMoments:
        """The centred rows in coordinates of their span, with no more columns than rows."""
        centred = self.X - self.overall_mean()
        size = max(float(np.abs(centred).max()), np.finfo(float).tiny)
        rows = row_span(centred / size)[0] * size
        found = RowMoments(self.n_classes, rows.shape[1], self.structure, self.fourth, self.pools)
        found._append(rows, self.codes, self.row_weight)
        return found

    def dense(self, structure: CovarianceStructure | None = None) -> ClassMoments:
        """The moments without the rows."""
        moments = ClassMoments(
            *self.mean.shape, structure or self.structure, self.fourth and structure is None, self.pools
        )
        if self.n_rows:
            moments.update(Block(self.X, self.codes, self.row_weight))
        return moments

    def only_present(self) -> RowMoments:
        seen = self.present
        if seen.all():
            return self
        some = RowMoments(int(seen.sum()), self.n_columns, self.structure, self.fourth, self.pools)
        some._append(self.X, (np.cumsum(seen, dtype=np.int32) - np.int32(1))[self.codes], self.row_weight)
        return some

    def within(self) -> RowScatter:
        return RowScatter(np.sqrt(self.row_weight)[:, None] * self._centred())

    def total(self) -> RowScatter:
        centred = self.X - self.overall_mean()
        centred -= self.row_weight @ centred / self.total_weight
        return RowScatter(np.sqrt(self.row_weight)[:, None] * centred)

    def of_class(self, k: int) -> RowScatter:
        return RowScatter(self.within().root[self.codes == k])

    def column_scatter(self) -> Array:
        return self.within().diagonal()

    def mean_fourth_power(self) -> float:
        centred = self._centred()
        squared = np.einsum("ij,ij->i", centred, centred)
        return float(self.row_weight @ squared**2) / self.total_weight

    def _centred(self) -> Array:
        """The rows minus their class means, centred twice.

        The rounding error of the means would otherwise be a spurious direction, amplified by the pseudo-inverse.
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
    """Placeholder in stored models for row-backed moments, which model files do not contain.

    The model predicts as before; methods that need the rows raise an error.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotReadyError(
            "This stored model was fitted to fewer rows than columns, and model files do not contain training rows. It "
            "can predict; for anything else, fit it again."
        )


def column_moments(
    rows: Rows, weight: Array | None = None, structure: CovarianceStructure = "diagonal"
) -> tuple[Array, Array]:
    """The means of the columns, and their variances, or covariances with the ``structure`` "pooled"."""
    each = None if weight is None else np.asarray(weight, dtype=np.float64)
    together = LabelledRows(rows, np.array([0]), np.zeros(rows.n_rows, dtype=np.int32), each)
    found = together.reduce(ClassMoments(1, rows.n_columns, structure=structure))
    return found.mean[0], found.scatter[0] / found.weight[0]
