"""The objective in the parameters that the rows identify, and its minima under linear constraints.

A column that is a linear function of the intercept and of columns before it is aliased: its coefficient is 0 by
convention, as in R's `glm`, and has no standard error. All inference works in the parameters of the other columns
(`EstimableObjective`), whose information matrix is regular: covariances, profile likelihoods, tests of terms and their
degrees of freedom. For a submodel it is determined again which columns are estimable: without the column that an
aliased column followed from, it may be estimable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, dense_rows
from ..moments.covariance import factorised
from ..objective import Objective
from ..solvers.smooth import line_search

#: Constraints hold when they are met to this accuracy, relative to their values.
CONSTRAINT_TOLERANCE: Final = 1e-10
#: A column is a linear function of others if they leave no more than this share of its sum of squares.
NESTED_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class EstimableObjective:
    """An objective as a function of its estimable parameters, an array (functions, columns).

    Attributes
    ----------
    objective : Objective
    columns : tuple of int
        Places of the estimable columns among those of ``theta``, in ascending order; the intercept's is the last.
    """

    objective: Objective
    columns: tuple[int, ...]

    @classmethod
    def of(cls, objective: Objective, left_out: Iterable[int] = ()) -> EstimableObjective:
        """The estimable parameters of an objective, without the columns that are ``left_out``.

        With a ridge all parameters are estimable.
        """
        whole = cls(objective, tuple(range(objective.shape[1])))
        return whole if objective.penalty.l2 > 0 else whole.without(left_out)

    @cached_property
    def gram(self) -> Array:
        """Products of the columns, weighted: whether columns are collinear does not depend on the coefficients.

        At 0, where no row's curvature has vanished, the Hessian of each function is a multiple of them.
        """
        width = self.objective.shape[1]
        return self.objective.value_gradient_hessian(np.zeros(self.objective.shape))[2][:width, :width]

    def without(self, left_out: Iterable[int]) -> EstimableObjective:
        """The submodel that lacks these columns of the rows, in its own estimable parameters."""
        missing = set(left_out)
        rest = [j for j in range(self.objective.shape[1]) if j not in missing]
        if self.objective.fit_intercept:  # it goes first: a constant column is aliased to it, not the other way round
            rest = [rest[-1], *rest[:-1]]
        order = np.array(rest, dtype=int)
        aliased = {rest[j] for j in factorised(self.gram[np.ix_(order, order)]).aliased}
        found = EstimableObjective(self.objective, tuple(sorted(set(rest) - aliased)))
        vars(found)["gram"] = self.gram
        return found

    @property
    def shape(self) -> tuple[int, int]:
        return self.objective.n_functions, len(self.columns)

    @property
    def n_parameters(self) -> int:
        return self.shape[0] * self.shape[1]

    @cached_property
    def aliased(self) -> tuple[int, ...]:
        """Columns of the rows that are not estimable."""
        return tuple(j for j in range(self.objective.n_columns) if j not in self.columns)

    @cached_property
    def places(self) -> Array:
        """Places of the parameters in the objective's ``theta.ravel()``."""
        width = self.objective.shape[1]
        return np.add.outer(width * np.arange(self.objective.n_functions), np.array(self.columns, dtype=int)).ravel()

    def whole(self, theta: Array) -> Array:
        """The objective's parameters: 0 for those of other columns."""
        found = np.zeros(self.objective.shape)
        found[:, self.columns] = theta
        return found

    def nearest(self, whole: Array) -> Array:
        """The parameters whose scores are nearest to those of parameters of all columns, in the mean square.

        They are the same scores where all columns that are left out follow from these.
        """
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

    Both have the same rows. Of datasets their samples decide.
    """
    pair = [(objective, objective.data.every(1)) for objective in (larger, smaller)]
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
    """Some rows in standardised columns, with the intercept's."""
    standard = objective.standardised
    rows = (dense_rows(data.rows.block(start, stop)) - standard.centre) / standard.scale
    return np.column_stack((rows, np.ones(len(rows)))) if objective.fit_intercept else rows


def constrained_minimum(
    objective: Any, theta: Array, constraints: Array, values: Array, tol: float = 1e-12, max_iter: int = 100
) -> tuple[Array, float]:
    """The point and the value of the least objective with ``constraints @ theta.ravel() == values``.

    Newton's method with line search in the directions that the constraints leave free. It also serves separated
    classes, where the objective falls towards its limit as parameters grow.

    Parameters
    ----------
    objective : Objective or EstimableObjective
        What is minimised, by its ``value_gradient_hessian``.
    theta : array
        A point near to the minimum; it need not meet the constraints.
    constraints : array of shape (m, n_parameters)
        Linearly independent.
    values : array of shape (m,)
    tol : float
        Relative distance of the objective from its minimum to stop at.
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
    objective: Any, theta: Array, constraints: Array, values: Array
) -> tuple[Array, tuple[float, Array, Array]]:
    """A point that meets the constraints, and the objective there.

    It is the minimum of the quadratic model at ``theta``, or the feasible point nearest to 0 where that is better: far
    from its minimum the objective is nearly linear, and the quadratic model useless.
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
        # Once more: what rounding left of the constraints.
        rest = np.linalg.lstsq(constraints, values - constraints @ near.ravel(), rcond=None)[0]
        candidates.append(near + rest.reshape(theta.shape))
    places = [(point, objective.value_gradient_hessian(point)) for point in candidates]
    return min(places, key=lambda place: place[1][0] if np.isfinite(place[1][0]) else np.inf)
