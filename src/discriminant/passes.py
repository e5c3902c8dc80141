"""Statistics of the rows at given coefficients: the sums of an objective over one pass.

A pass processes a dense block in one compiled call (`kernels.losses`) if there is a kernel for it, and otherwise in
parts that stay in a core's cache; sparse blocks use kernels for CSR rows. In single precision
(`Objective.in_single_precision`) the products of dense rows are float32 products of BLAS; losses, derivatives and sums
over parts are float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np
import scipy.sparse as sp

from .arrays import Array, NumericMatrix
from .data import Block, SparseRows
from .engine import workspace
from .kernels import csr_parts
from .kernels import losses as loss_kernels
from .kernels import scores as kernels

if TYPE_CHECKING:
    from .objective import Objective

# Blocks are divided into parts of this many bytes, which are read several times and stay in a core's cache.
PART_BYTES: Final = 1_000_000


@dataclass(frozen=True)
class Form:
    """The shape of an objective's parameters, which statistics carry to other processes instead of the objective."""

    contrasts: Array
    n_columns: int
    fit_intercept: bool

    @property
    def n_linear_predictors(self) -> int:
        return int(self.contrasts.shape[0])

    @property
    def n_scores(self) -> int:
        return int(self.contrasts.shape[1])

    @cached_property
    def shape(self) -> tuple[int, int]:
        return self.n_linear_predictors, self.n_columns + self.fit_intercept

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]


class Pass:
    """A statistic of the rows at given coefficients, updated with parts of blocks that stay in a core's cache.

    A subclass sets its sums to 0 in `reset`, names them in ``summed``, and adds rows in `add`. A function
    ``each(total, part)`` replaces a subclass with the sums named here.
    """

    densify = False
    summed: tuple[str, ...] = ("value", "products", "sums")

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, each: Callable[[Any, Block], None] | None = None
    ) -> None:
        self.form, self.intercept, self.each = objective.form, intercept, each
        self.loss, self.standard, self.single = objective.loss, objective.standardised, objective.single
        # Rounded coefficients are another point next to this one, whose loss and gradient are consistent.
        self.coef = coef.astype(self.dtype).astype(np.float64) if self.single else coef
        self.by_column = np.ascontiguousarray(coef.T, dtype=self.dtype)
        #: Added to the products of rows with the coefficients; rows are centred first if that keeps more digits.
        self.shift = intercept if self.standard.needs_centering else intercept - self.coef @ self.standard.centre
        #: Products of sparse rows are summed column by column.
        self.order: Literal["C", "F"] = "F" if isinstance(objective.data.rows, SparseRows) else "C"
        self.reset()

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The type of the products with rows."""
        return np.float32 if self.single else np.float64

    def reset(self) -> None:
        """Set all sums to 0."""
        self.value: Any = 0.0
        self.products, self.sums = np.zeros(self.coef.shape, order=self.order), np.zeros(len(self.coef))

    def fresh(self) -> Self:
        empty = object.__new__(type(self))
        vars(empty).update(vars(self))
        empty.reset()
        return empty

    def merge(self, other: Self) -> None:
        for name in self.summed:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def update(self, block: Block) -> None:
        for part in self.parts(block, self.densify):
            self.add(part)

    def add(self, part: Block) -> None:
        """Add some rows: an array, centred if `Standardisation.needs_centering`, or a CSR matrix."""
        if self.each is not None:
            self.each(self, part)

    def parts(self, block: Block, densify: bool) -> Iterator[Block]:
        if block.sparse and not densify:
            yield block
            return
        width = max(block.X.shape[1], len(self.coef)) if self.single else block.X.shape[1]
        step = max(64, PART_BYTES // (np.dtype(self.dtype).itemsize * width))
        for start in range(0, block.n_rows, step):
            where = slice(start, start + step)
            X = block.X[where].toarray() if block.sparse else block.X[where]
            if self.standard.needs_centering:
                X = X - self.standard.centre
            yield block.part(where, X.astype(self.dtype, copy=False))

    def with_ones(self, part: Block) -> Array:
        """Centred dense rows, with a column of ones if there are intercepts; in the thread's workspace."""
        p, width = part.X.shape[1], self.form.shape[1]
        rows = workspace((part.n_rows, width))
        np.subtract(part.X, 0.0 if self.standard.needs_centering else self.standard.centre, out=rows[:, :p])
        rows[:, p:] = 1.0
        return rows

    def scores(self, part: Block) -> Array:
        """The scores of some rows, including offsets."""
        scores, offset = self.linear_scores(part.X), part.offset
        if offset is not None:  # the scores of several points are adjacent
            scores += offset[:, None] if offset.ndim == 1 else np.tile(offset, scores.shape[1] // offset.shape[1])
        return scores

    def row_slopes(self, part: Block) -> Array:
        """The derivatives of each row's loss in the linear predictors."""
        slopes: Array = self.loss.evaluate(self.scores(part), part.codes)[1] @ self.form.contrasts.T
        return slopes

    def row_gradients(self, part: Block, slopes: Array) -> Array:
        """The gradient of each dense row's loss with these `row_slopes` in the parameters, in the units of the data."""
        return (slopes[:, :, None] * self.with_ones(part)[:, None, :]).reshape(part.n_rows, -1)

    def row_covariances(self, part: Block) -> Array:
        """The model's covariance matrices of `row_slopes`."""
        curvatures = self.loss.curvatures(self.scores(part), part.codes)
        return np.asarray(self.loss.curvature_matrices(curvatures, self.form.contrasts))

    def row_leverages(self, part: Block, bread: Array, columns: Array, scale: Array) -> Array:
        """``Z B Z'`` of each dense row: Z has the derivatives of its linear predictors in parameters of these columns,
        divided by ``scale``, and B is the matrix ``bread``.
        """
        x, C = self.with_ones(part)[:, columns] / scale, self.form.n_linear_predictors
        blocks = bread.reshape(C, len(columns), C, len(columns))
        products = np.stack([x @ blocks[a, :, b] for a in range(C) for b in range(C)], axis=1)
        return np.einsum("nki,ni->nk", products, x).reshape(-1, C, C)

    def linear_scores(self, X: NumericMatrix) -> Array:
        if sp.issparse(X):
            scores = np.empty((X.shape[0], len(self.coef)))
            kernels.csr_scores(csr_parts(X), self.by_column, scores)
            scores += self.intercept
        else:
            # A single score is a matrix-vector product, which BLAS does faster than a matrix with one column.
            scores = (X @ self.coef[0])[:, None] if len(self.coef) == 1 else X @ self.by_column
            scores = scores.astype(np.float64, copy=False)
            scores += self.shift
        return scores

    def inputs(self, block: Block) -> tuple[Array, Array, Array, Array]:
        """The arguments of kernels for dense rows: the rows, their centre, coefficients and intercepts."""
        coef, intercept = np.ascontiguousarray(self.coef), np.ascontiguousarray(self.intercept)
        return block.X, self.standard.centre, coef, intercept

    def add_products(self, X: NumericMatrix, slopes: Array) -> None:
        """Add ``slopes' (x - centre)`` and the sums of the slopes."""
        sums = slopes.sum(axis=0)
        self.sums += sums
        if sp.issparse(X):
            self.products = np.asfortranarray(self.products)
            kernels.csr_add_products(csr_parts(X), slopes, self.products.T)
            return
        slopes = slopes.astype(X.dtype, copy=False)
        self.products += slopes[:, 0] @ X if slopes.shape[1] == 1 else slopes.T @ X
        if not self.standard.needs_centering:
            self.products -= np.outer(sums, self.standard.centre)


def offsets_of(block: Block) -> Array:
    """The offsets of a block, (rows, scores), or (rows, 0) without any."""
    offset = np.empty((block.n_rows, 0)) if block.offset is None else block.offset
    return np.ascontiguousarray(offset, dtype=np.float64).reshape(block.n_rows, -1)


@cache
def class_pairs(n_scores: int) -> tuple[Array, Array]:
    """The first and second members of all pairs of scores; cached, because small fits take hundreds of microseconds."""
    first, second = np.triu_indices(n_scores, 1)
    return first, second


class GradientPass(Pass):
    """The loss and its derivatives in the coefficients."""

    def update(self, block: Block) -> None:
        if block.sparse or self.single:
            for part in self.parts(block, densify=False):
                values, slopes = self.loss.evaluate(self.scores(part), part.codes)
                self.value += float(part.weight @ values)
                slopes *= part.weight[:, None]
                self.add_products(part.X, slopes)
            return
        rows, sums = (*self.inputs(block), offsets_of(block), block.codes, block.weight), (self.products, self.sums)
        self.value += loss_kernels.add_gradient(self.loss.code, self.loss.width, *rows, *sums)


class HessianPass(GradientPass):
    """The loss and its first and second derivatives in the coefficients.

    For several scores they are the sum over pairs of classes of ``p_i p_j (q_i - q_j)(q_i - q_j)' (x) x x'``, with the
    contrasts q: a sum of squares without cancellation for probabilities close to 1.
    """

    summed = (*GradientPass.summed, "squares")

    def reset(self) -> None:
        super().reset()
        n_scores, width = self.form.n_scores, self.form.shape[1]
        self.squares = np.zeros((max(n_scores * (n_scores - 1) // 2, 1), width, width))

    def update(self, block: Block) -> None:
        super().update(block)
        if self.form.n_scores > 1:
            for part in self.parts(block, densify=True):
                self._add_classes(part)
        elif block.sparse:
            for part in self.parts(block, densify=True):
                self._add_scaled_rows(part)
        else:
            self._add_scaled_rows(block)

    def _add_scaled_rows(self, block: Block) -> None:
        scaled, loss = workspace((block.n_rows, self.form.shape[1])), self.loss
        rows = *self.inputs(block), offsets_of(block), block.codes, block.weight
        kept = loss_kernels.write_scaled_rows(loss.code, loss.width, *rows, loss.negligible_curvature, scaled)
        self.squares[0] += scaled[:kept].T @ scaled[:kept]

    def _add_classes(self, part: Block) -> None:
        roots = np.sqrt(self.loss.curvatures(self.scores(part), part.codes))
        rows = self.with_ones(part) * np.sqrt(part.weight)[:, None]
        for square, i, j in zip(self.squares, *class_pairs(self.form.n_scores), strict=True):
            scaled = rows * (roots[:, i] * roots[:, j])[:, None]
            square += scaled.T @ scaled

    @property
    def hessian(self) -> Array:
        """The second derivatives in all parameters."""
        if self.form.n_scores == 1:
            return self.squares[0]
        first, second = class_pairs(self.form.n_scores)
        difference = (self.form.contrasts[:, first] - self.form.contrasts[:, second]).T
        mixed = np.tensordot(difference[:, :, None] * difference[:, None, :], self.squares, axes=(0, 0))
        return mixed.transpose(0, 2, 1, 3).reshape(self.form.n_parameters, -1)


class LargestScorePass(Pass):
    """The largest difference between the scores of a row, or the largest absolute score."""

    def add(self, part: Block) -> None:
        scores = self.scores(part)
        widths = np.abs(scores) if scores.shape[1] == 1 else np.ptp(scores, axis=1)
        self.value = max(self.value, float(widths.max()))

    def merge(self, other: Self) -> None:
        self.value = max(self.value, other.value)


class HessianProductPass(Pass):
    """The Hessian of the mean loss times a direction, given as coefficients."""

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, kept: Array | None, point: Pass | None
    ) -> None:
        super().__init__(objective, coef, intercept)
        #: The curvatures of all rows in memory, computed at ``point`` if that is given.
        self.kept, self.point = kept, point

    def update(self, block: Block) -> None:
        if block.sparse or self.single:
            for part in self.parts(block, densify=False):
                curvatures = self._curvatures(part)
                if self.point is not None:
                    curvatures[:] = self.loss.curvatures(self.point.scores(part), part.codes)
                change = self.linear_scores(part.X)
                self.loss.multiply(curvatures, part.weight, change)
                self.add_products(part.X, change)
            return
        code, curvatures = self.loss.code, self._curvatures(block)
        if self.point is not None:
            rows = *self.point.inputs(block), offsets_of(block), block.codes
            loss_kernels.write_curvatures(code, self.loss.width, *rows, curvatures)
        loss_kernels.add_hessian_product(code, *self.inputs(block), curvatures, block.weight, self.products, self.sums)

    def _curvatures(self, block: Block) -> Array:
        """The kept curvatures of the rows, or an array for them."""
        if self.kept is None:
            return np.empty((block.n_rows, self.form.n_scores))
        return self.kept[block.start : block.start + block.n_rows]


class ClassHessiansPass(Pass):
    """The blocks on the Hessian's diagonal, one for each score."""

    densify = True
    summed = ("hessians",)

    def reset(self) -> None:
        self.hessians = np.zeros((len(self.coef), self.form.shape[1], self.form.shape[1]))

    def add(self, part: Block) -> None:
        rows, curvatures = self.with_ones(part), self.loss.curvatures(self.scores(part), part.codes)
        factors = self.loss.diagonal_curvatures(curvatures, np.eye(self.form.n_scores))
        for hessian, factor in zip(self.hessians, factors.T, strict=True):
            scaled = rows * np.sqrt(part.weight * factor)[:, None]
            hessian += scaled.T @ scaled


class DiagonalPass(Pass):
    """The diagonal of the Hessian, and its entries for the columns and the intercepts."""

    summed = ("squares", "crossed", "sums")

    def reset(self) -> None:
        self.squares, self.crossed = np.zeros((2, self.form.n_columns, self.form.n_linear_predictors))
        self.sums = np.zeros(self.form.n_linear_predictors)

    def add(self, part: Block) -> None:
        X, curvatures = part.X, self.loss.curvatures(self.scores(part), part.codes)
        factor = self.loss.diagonal_curvatures(curvatures, self.form.contrasts) * part.weight[:, None]
        self.sums += factor.sum(axis=0)
        if part.sparse:
            kernels.csr_add_squares(csr_parts(X), factor, self.squares)
            kernels.csr_add_products(csr_parts(X), factor, self.crossed)
        else:
            centred = X if self.standard.needs_centering else X - self.standard.centre
            self.squares += (centred**2).T @ factor
            self.crossed += centred.T @ factor


class LossesPass(Pass):
    """The loss and its derivatives at several points, whose coefficients are stacked."""

    def reset(self) -> None:
        super().reset()
        self.value = np.zeros(len(self.coef) // self.form.n_scores)

    def add(self, part: Block) -> None:
        values, slopes = self.loss.evaluate(self.scores(part).reshape(-1, self.form.n_scores), part.codes)
        self.value += part.weight @ values.reshape(part.n_rows, -1)
        self.add_products(part.X, slopes.reshape(part.n_rows, -1) * part.weight[:, None])


class MemberHessianPass(Pass):
    """Second derivatives of the loss in some parameters (a mask)."""

    densify = True
    summed = ("matrix",)

    def __init__(self, objective: Objective, coef: Array, intercept: Array, members: Array) -> None:
        #: For each linear predictor, the columns of its members and their places in the matrix.
        self.columns = [np.flatnonzero(mask) for mask in members]
        self.places = np.split(np.arange(members.sum()), np.cumsum(members.sum(axis=1))[:-1])
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        size = sum(map(len, self.columns))
        self.matrix = np.zeros((size, size))

    def add(self, part: Block) -> None:
        rows, curvatures = self.with_ones(part), self.loss.curvatures(self.scores(part), part.codes)
        factor = self.loss.curvature_matrices(curvatures, self.form.contrasts) * part.weight[:, None, None]
        members = [rows[:, columns] for columns in self.columns]
        for a, (of_a, at_a) in enumerate(zip(members, self.places, strict=True)):
            root = of_a * np.sqrt(factor[:, a, a, None])
            self.matrix[np.ix_(at_a, at_a)] += root.T @ root  # NumPy computes only half of it
            for b, (of_b, at_b) in enumerate(zip(members[:a], self.places[:a], strict=True)):
                product = (of_a * factor[:, a, b, None]).T @ of_b
                self.matrix[np.ix_(at_a, at_b)] += product
                self.matrix[np.ix_(at_b, at_a)] += product.T
