"""The objective in its identifiable parameters, and its minima under linear constraints.

A column that is a linear function of the intercept and earlier columns is aliased: its coefficient is 0 by convention,
as in R's `glm`, and has no standard error. All inference uses the parameters of the other columns
(`EstimableObjective`), whose information matrix is regular. For a submodel the estimable columns are determined again:
an aliased column may become estimable if other columns are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, dense_rows
from ..moments.covariance import factorised
from ..objective import Objective
from ..solvers.line_search import line_search

#: Relative accuracy of constraints.
CONSTRAINT_TOLERANCE: Final = 1e-10
#: A column is a linear function of others if their regression leaves at most this share of its sum of squares.
NESTED_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class EstimableObjective:
    """An objective as a function of its estimable parameters, an array (functions, columns).

    Attributes
    ----------
    objective : Objective
    columns : tuple of int
        Indices of the estimable columns of ``theta``, in ascending order, with the intercept's last.
    """

    objective: Objective
    columns: tuple[int, ...]

    @classmethod
    def of(cls, objective: Objective, left_out: Iterable[int] = ()) -> EstimableObjective:
        """The estimable parameters of an objective without the columns ``left_out``; all are estimable with a ridge."""
        whole = cls(objective, tuple(range(objective.shape[1])))
        return whole if objective.penalty.l2 > 0 else whole.without(left_out)

    @cached_property
    def gram(self) -> Array:
        """The weighted Gram matrix of the columns, to which the Hessian at 0 is proportional."""
        width = self.objective.shape[1]
        return self.objective.value_gradient_hessian(np.zeros(self.objective.shape))[2][:width, :width]

    def without(self, left_out: Iterable[int]) -> EstimableObjective:
        """The submodel without these columns, in its estimable parameters."""
        missing = set(left_out)
        rest = [j for j in range(self.objective.shape[1]) if j not in missing]
        if n := self.objective.n_intercepts:  # first, so that a constant column is aliased and not the intercept
            rest = [*rest[-n:], *rest[:-n]]
        order = np.array(rest, dtype=int)
        aliased = {rest[j] for j in factorised(self.gram[np.ix_(order, order)]).aliased}
        found = EstimableObjective(self.objective, tuple(sorted(set(rest) - aliased)))
        vars(found)["gram"] = self.gram
        return found

    @property
    def shape(self) -> tuple[int, int]:
        return self.objective.n_linear_predictors, len(self.columns)

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]

    @cached_property
    def aliased(self) -> tuple[int, ...]:
        """Columns that are not estimable."""
        return tuple(j for j in range(self.objective.n_columns) if j not in self.columns)

    @cached_property
    def places(self) -> Array:
        """Indices of the parameters in the objective's ``theta.ravel()``."""
        width = self.objective.shape[1]
        first = width * np.arange(self.objective.n_linear_predictors)
        return np.add.outer(first, np.array(self.columns, dtype=int)).ravel()

    def whole(self, theta: Array) -> Array:
        """The objective's parameters, with 0 for the other columns."""
        found = np.zeros(self.objective.shape)
        found[:, self.columns] = theta
        return found

    def nearest(self, whole: Array) -> Array:
        """The least-squares approximation of the scores of all columns; exact if the other columns are aliased."""
        if len(self.columns) == self.objective.shape[1]:
            return whole
        own = np.array(self.columns, dtype=int)
        others = np.setdiff1d(np.arange(self.objective.shape[1]), own)
        across = factorised(self.gram[np.ix_(own, own)]).solve(self.gram[np.ix_(others, own)])
        return np.asarray(whole[:, own] + whole[:, others] @ across)

    def value_gradient_hessian(self, theta: Array) -> tuple[float, Array, Array]:
        """The objective, its gradient and Hessian in these parameters."""
        value, gradient, hessian = self.objective.value_gradient_hessian(self.whole(theta))
        return value, gradient[:, self.columns], hessian[np.ix_(self.places, self.places)]

    def minimum(self, start: Array) -> tuple[Array, float]:
        """The point and the value of the minimum, by Newton's method."""
        return constrained_minimum(self, start, np.zeros((0, start.size)), np.zeros(0))


def is_nested(smaller: Objective, larger: Objective) -> bool:
    """Whether the columns of one objective, with its intercept, are linear functions of those of another.

    Both have the same rows; for streamed data a subsample is used.
    """
    pair = [(objective, objective.data.sample()) for objective in (larger, smaller)]
    counted = pair[0][1].weight_of(slice(None)) > 0
    widths = [objective.shape[1] for objective, _ in pair]
    products = np.zeros((sum(widths), sum(widths)))
    for start, stop in pair[0][1].rows.edges(range(pair[0][1].n_rows)):
        columns = [_standard_columns(*one, start, stop) for one in pair]
        both = np.concatenate(columns, axis=1)[counted[start:stop]]
        products += both.T @ both
    own, other = slice(widths[0]), slice(widths[0], None)
    across = products[own, other].T
    explained = np.einsum("ij,ij->i", factorised(products[own, own]).solve(across), across)
    total = np.diagonal(products[other, other])
    return bool((total - explained <= NESTED_TOLERANCE * np.maximum(total, np.finfo(float).tiny)).all())


def _standard_columns(objective: Objective, data: LabelledRows, start: int, stop: int) -> Array:
    """Rows in standardised columns, with the intercept's."""
    standard = objective.standardised
    rows = (dense_rows(data.rows.block(start, stop)) - standard.centre) / standard.scale
    return np.column_stack((rows, np.ones(len(rows)))) if objective.fit_intercept else rows


def constrained_minimum(
    objective: Objective | EstimableObjective,
    theta: Array,
    constraints: Array,
    values: Array,
    tol: float = 1e-12,
    max_iter: int = 100,
) -> tuple[Array, float]:
    """The minimiser and minimum of the objective subject to ``constraints @ theta.ravel() == values``.

    Newton's method with line search in the null space of the constraints. It also converges for separated classes,
    where the objective decreases to a limit as parameters grow.

    Parameters
    ----------
    objective : Objective or EstimableObjective
    theta : array
        A point near the minimum; it need not satisfy the constraints.
    constraints : array of shape (m, n_parameters)
        Linearly independent.
    values : array of shape (m,)
    tol : float
        Relative suboptimality at which to stop.
    max_iter : int

    Returns
    -------
    theta : array
    value : float
    """
    free = np.linalg.qr(constraints.T, mode="complete")[0][:, len(constraints) :]
    theta, (value, gradient, hessian) = _feasible_start(objective, theta, constraints, values)
    for _ in range(max_iter if free.shape[1] else 0):
        along = free.T @ gradient.ravel()
        step = factorised(free.T @ hessian @ free).solve(along[None])[0]
        decrement = float(along @ step)
        if decrement <= tol * max(abs(value), 1e-300):
            break
        direction = (free @ step).reshape(theta.shape)
        moved = line_search(objective.value_gradient_hessian, theta, value, direction, decrement)
        if moved is None:
            break
        theta, (value, gradient, hessian) = moved
    return theta, value


def _feasible_start(
    objective: Objective | EstimableObjective, theta: Array, constraints: Array, values: Array
) -> tuple[Array, tuple[float, Array, Array]]:
    """A point that satisfies the constraints, and the objective there.

    The better of the minimum of the quadratic model at ``theta`` and the feasible point nearest to 0: far from the
    minimum the objective is nearly linear, and the quadratic model is poor.
    """
    found = objective.value_gradient_hessian(theta)
    missing = values - constraints @ theta.ravel()
    if np.abs(missing).max(initial=0.0) <= CONSTRAINT_TOLERANCE * (1 + np.abs(values).max(initial=0.0)):
        return theta, found
    candidates = [np.linalg.lstsq(constraints, values, rcond=None)[0].reshape(theta.shape)]
    across = factorised(found[2]).solve(constraints)
    inner = constraints @ across.T
    if np.linalg.cond(inner) < 1 / np.finfo(float).eps:
        near = theta + (np.linalg.solve(inner, missing) @ across).reshape(theta.shape)
        # A second step removes rounding errors in the constraints.
        rest = np.linalg.lstsq(constraints, values - constraints @ near.ravel(), rcond=None)[0]
        candidates.append(near + rest.reshape(theta.shape))
    places = [(point, objective.value_gradient_hessian(point)) for point in candidates]
    return min(places, key=lambda place: place[1][0] if np.isfinite(place[1][0]) else np.inf)
