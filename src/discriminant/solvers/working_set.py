"""The working set of proximal Newton steps: the Hessian of few columns, and the penalised quadratic model it makes.

Rows and columns of the Hessian join as parameters become members; its intercepts are eliminated (Schur complement), and
the model is minimised by coordinate descent with jumps over the support (`kernels.coordinate`). A renewal costs a pass
and a weighted Gram matrix of the members; a step costs nothing but algebra on the members.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..data import Block
from ..engine import workspace
from ..kernels import coordinate as kernels
from ..losses import Softmax
from ..objective import Objective, Pass

if TYPE_CHECKING:
    from .coordinate import ProximalNewton

Array = np.ndarray[Any, Any]

#: After this many sweeps of coordinate descent, a jump to the minimum over the support; and so on.
_MOST_SWEEPS, _MOST_JUMPS = 50, 40
#: A Gram matrix costs this many passes for a column's worth of columns (dense), from a measurement on 20,000 x 500.
_GRAM_COST = 0.009


class WorkingHessian:
    """The Hessian of the mean loss in the parameters of the working set, at a point not too long ago.

    Parameters are numbered as in ``theta.ravel()``; intercepts are always members.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.waste = np.inf
        self.theta = np.full(objective.shape, np.nan)
        is_intercept = np.zeros(objective.shape, dtype=bool)
        is_intercept[:, objective.n_columns :] = True
        self.is_intercept = is_intercept.ravel()
        self.is_member = self.is_intercept.copy()

    @cached_property
    def members(self) -> Array:
        return np.flatnonzero(self.is_member)

    @property
    def cost(self) -> float:
        """What a fresh one costs, in passes."""
        share, entries = len(self.members) / self.objective.shape[1], _stored_entries(self.objective)
        if entries is None:
            return 1 + share + _GRAM_COST * len(self.members) * share
        return 1 + share**2 * max(entries / self.objective.data.n_rows, 1.0)

    def renew(self, theta: Array, members: Array) -> None:
        """Compute it afresh at ``theta`` for these members (a mask) and the intercepts."""
        self.theta, self.waste = theta.copy(), 0.0
        self._set_members(members | self.is_intercept)
        self._keep(self._gram(self.is_member))

    def extend(self, members: Array) -> None:
        """Add members, with the curvature they had at the point of the last renewal."""
        before, old = self.members, self.matrix
        new = members & ~self.is_member
        self._set_members(self.is_member | new)
        place_old, place_new = np.searchsorted(self.members, before), np.flatnonzero(new[self.members])
        matrix = np.empty((len(self.members), len(self.members)))
        matrix[np.ix_(place_old, place_old)] = old
        cross = self._gram(new)
        matrix[place_new] = cross
        matrix[:, place_new] = cross.T
        self._keep(matrix)

    def _set_members(self, members: Array) -> None:
        self.is_member = members
        self.__dict__.pop("members", None)

    def _gram(self, rows: Array) -> Array:
        """Rows of the Hessian: second derivatives in these parameters (a mask) and all members."""
        objective = self.objective
        total: _Gram = objective.reduce(_Gram(objective, *objective.linear(self.theta), rows, self.is_member))
        return total.finished()

    def _keep(self, matrix: Array) -> None:
        """Keep the matrix, and what is left of it once intercepts follow their optimum (the Schur complement)."""
        self.matrix = matrix
        self.free = self.is_intercept[self.members]
        self.inverse = np.linalg.pinv(matrix[np.ix_(self.free, self.free)], rcond=1e-10, hermitian=True)
        border = matrix[np.ix_(~self.free, self.free)]
        self.follow = border @ self.inverse
        self.reduced = matrix[np.ix_(~self.free, ~self.free)] - self.follow @ border.T
        # A column that the intercepts explain has no curvature of its own, only rounding.
        own = matrix.diagonal()[~self.free]
        flat = self.reduced.diagonal() <= 1e-12 * own
        self.reduced[flat] = 0.0
        self.reduced[:, flat] = 0.0

    def step(self, descent: ProximalNewton) -> tuple[Array, float, float]:
        """Where the penalised model at the descent's point is least, how much is gained there, and its curvature.

        The curvature is that along the step, of the matrix as it is; the model's is the descent's factor times it.
        """
        columns, free, factor = self.members[~self.free], self.members[self.free], descent.curvature_factor
        theta, slope = descent.point.theta.ravel(), descent.point.slope.ravel()
        ridge, l1 = descent.objective.ridge.ravel()[columns] / factor, descent.problem.l1.ravel()[columns] / factor
        origin = theta[columns]
        slope, rise = slope[columns] / factor, slope[free] / factor
        before = slope + ridge * origin - self.follow @ rise
        x, after = self._least(before, origin, ridge, l1, 1e-3 * descent.problem.tol * abs(descent.value) / factor)
        change = x - origin
        own = float(rise @ self.inverse @ rise)
        gain = 0.5 * own - 0.5 * float(change @ (before + after)) - float(l1 @ (np.abs(x) - np.abs(origin)))
        curvature = own + float(change @ (after - before - ridge * change))
        new = theta.copy()
        new[columns] = x
        new[free] -= self.inverse @ rise + self.follow.T @ change
        return new.reshape(descent.point.theta.shape), gain * factor, curvature

    def _least(self, before: Array, origin: Array, ridge: Array, l1: Array, enough: float) -> tuple[Array, Array]:
        """Coefficients that minimise the model, and its gradient there."""
        x = origin.copy()
        for _ in range(_MOST_JUMPS):
            after = before.copy()
            sweeps = kernels.minimise_quadratic(self.reduced, ridge, l1, origin, after, x, enough, 1e-4, _MOST_SWEEPS)
            if sweeps < _MOST_SWEEPS:
                break
            x = self._jump(after, ridge, l1, x)
        return x, after

    def _jump(self, gradient: Array, ridge: Array, l1: Array, x: Array) -> Array:
        """The minimum over the coefficients that are not 0, or the first point on the way there where one becomes 0.

        Sweeps creep where columns are nearly collinear; once they have settled the signs, this is what is left to do.
        """
        support = np.flatnonzero(x)
        matrix = self.reduced[np.ix_(support, support)] + np.diag(ridge[support])
        slope = gradient[support] + l1[support] * np.sign(x[support])
        try:
            change = -cho_solve(cho_factor(matrix), slope)
        except np.linalg.LinAlgError:
            return x
        part = np.where(change * x[support] < 0, -x[support] / np.where(change == 0, 1.0, change), np.inf)
        length = min(1.0, part.min(initial=np.inf))
        new = x.copy()
        new[support] = np.where(part <= length, 0.0, x[support] + length * change)
        return new


class _Gram(Pass):
    """Second derivatives of the loss in some parameters and the members, in standardised columns."""

    summed = ("matrix",)

    def __init__(self, objective: Objective, coef: Array, intercept: Array, rows: Array, members: Array) -> None:
        self.rows, self.members, shape = rows, members, objective.shape
        absent = ((0, 0), (0, objective.n_columns + 1 - shape[1]))
        #: Place of each parameter in the matrix, -1 where it has none; with a column for intercepts in any case.
        self.row_of, self.column_of = (
            np.pad(np.where(mask, np.cumsum(mask) - 1, -1).reshape(shape), absent, constant_values=-1)
            for mask in (rows, members)
        )
        self.columns = np.flatnonzero(members.reshape(shape).any(axis=0))
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        self.matrix = np.zeros((self.rows.sum(), self.members.sum()))

    def update(self, block: Block) -> None:
        """Products are taken of whole blocks, which matrix products like better than parts."""
        self.factors: list[Array] = []
        super().update(block)
        factor = np.concatenate(self.factors)
        if block.sparse:
            self._add_sparse(block.X, factor)
        elif self.objective.n_functions == 1:
            self._add_square(block.X, np.sqrt(factor[:, 0, 0]))
        else:
            self._add_pairs(block.X, factor)

    def add(self, part: Block) -> None:
        self.factors.append(self._factors(self.scores(part), part.codes, part.weight))

    def _factors(self, scores: Array, codes: Array, weight: Array) -> Array:
        """Weighted second derivatives of each row's loss in its scores, (rows, C, C)."""
        if not isinstance(self.loss, Softmax):
            return (weight * self.loss.curvature(scores, codes))[:, None, None]
        probability = self.loss.probabilities(scores)
        factor = np.eye(probability.shape[1]) - probability[:, None, :]
        return factor * (probability * weight[:, None])[:, :, None]

    def _gathered(self, X: Array, factor: Array) -> Array:
        out = workspace((len(X), len(self.columns)))
        kernels.gather(X, self.columns, self.standard.centre, self.standard.scale, factor, out)
        return out

    def _add_square(self, X: Array, root: Array) -> None:
        gathered = self._gathered(X, root)
        if len(self.matrix) == len(self.columns):
            self.matrix += gathered.T @ gathered
        else:
            self.matrix += gathered[:, self.rows[self.columns]].T @ gathered

    def _add_pairs(self, X: Array, factor: Array) -> None:
        gathered = self._gathered(X, np.ones(len(X)))
        for a, row_of in enumerate(self.row_of[:, self.columns]):
            mine = gathered[:, row_of >= 0]
            for b, column_of in enumerate(self.column_of[:, self.columns]):
                others = gathered[:, column_of >= 0]
                here = np.ix_(row_of[row_of >= 0], column_of[column_of >= 0])
                self.matrix[here] += (mine * factor[:, a, b, None]).T @ others

    def _add_sparse(self, X: Any, factor: Array) -> None:
        for a, row_of in enumerate(self.row_of):
            for b, column_of in enumerate(self.column_of):
                weight = np.ascontiguousarray(factor[:, a, b])
                kernels.csr_add_gram(X.data, X.indices, X.indptr, weight, row_of, column_of, self.matrix)

    def finished(self) -> Array:
        """The matrix in standardised columns, divided by the total weight."""
        if _stored_entries(self.objective) is not None:
            scale = self.objective.parameter_scale
            self.matrix /= scale[self.rows][:, None]
            self.matrix /= scale[self.members]
        self.matrix /= self.objective.total_weight
        return self.matrix


def _stored_entries(objective: Objective) -> int | None:
    """Entries that sparse rows store; None for dense rows."""
    return getattr(getattr(objective.data.rows, "values", None), "nnz", None)
