"""The support vector machine of two classes (Cortes & Vapnik 1995): primal, dual, and the result of its solvers.

``|w|^2 / 2 + sum_i cost_i loss(slack_i)``, slack_i = max(1 - sign_i (w'x_i + b), 0), where the loss is the first or
second power and cost_i = C times the weight of the row. The intercept b is not penalised. The dual has a variable
alpha_i for each row,

``max sum alpha - |sum alpha_i sign_i x_i|^2 / 2 [- sum alpha_i^2 / (4 cost_i)]``, sum alpha_i sign_i = 0,

with 0 <= alpha_i <= cost_i for the hinge and alpha_i >= 0 for the squared hinge. Every feasible alpha gives a lower
bound on the minimum, and every w an upper one: their difference, the duality gap, bounds the suboptimality.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, NumericMatrix
from ..data import Rows, SparseRows, TrainingData, dense_rows
from ..engine import in_order
from ..kernels import moments
from ..losses import Hinge, SquaredHinge
from ..objective import ElasticNet, Objective
from ..solvers.solution import Solution

# A smaller slack may be the rounding of a row at the hinge point (margin 1).
HINGE_ROUNDING: Final = 1e-8
# Inner products are summed over blocks of columns of this many values, which stay in a core's cache, and of at least
# this many columns.
CACHED_VALUES: Final = 200_000
MIN_BLOCK_COLUMNS: Final = 64
# Up to this many rows, and with more columns than this many times the rows, inner products cost less than sweeps.
MAX_GRAM_ROWS: Final = 1_000
MIN_GRAM_COLUMNS_PER_ROW: Final = 4


@dataclass(frozen=True)
class MarginProblem:
    """A support vector machine of rows with codes 0 and 1."""

    data: TrainingData
    C: float
    squared: bool = False
    fit_intercept: bool = True
    n_jobs: int | None = None
    #: Rows of fewer columns with the same inner products, if known.
    span: Array | None = None
    #: Newton steps and sweeps over the rows so far, of all algorithms.
    steps: list[int] = field(default_factory=lambda: [0])

    @cached_property
    def sign(self) -> Array:
        """-1 or 1 for each row."""
        return 2.0 * self.data.gather().codes - 1.0

    @cached_property
    def cost(self) -> Array:
        """C times the weight of each row."""
        return self.C * self.data.gather().weight_of(slice(None))

    @property
    def rows(self) -> Rows:
        """The rows in memory."""
        return self.data.gather().rows

    @cached_property
    def upper(self) -> Array:
        """The largest multiplier of each row."""
        return np.full(self.data.n_rows, np.inf) if self.squared else self.cost

    @cached_property
    def diagonal(self) -> Array:
        """The term that the squared hinge adds to the second derivative of the dual in each multiplier."""
        with np.errstate(divide="ignore"):
            # The second derivative of a row of weight 0 is so large that its multiplier stays 0.
            return np.minimum(0.5 / self.cost, 1e300) if self.squared else np.zeros(self.data.n_rows)

    @cached_property
    def objective_scale(self) -> float:
        """The primal value divided by that of `objective`."""
        return self.C * self.data.total_weight

    @cached_property
    def objective(self) -> Objective:
        """The same problem divided by ``objective_scale``: mean loss plus L2 penalty."""
        loss, penalty = SquaredHinge() if self.squared else Hinge(), ElasticNet(1 / self.objective_scale)
        return Objective(self.data, loss, penalty, self.fit_intercept, n_jobs=self.n_jobs)

    def slacks(self, scores: Array) -> Array:
        """The slack of each row with these scores."""
        return np.maximum(1.0 - self.sign * scores, 0.0)

    def primal(self, theta: Array, slacks: Array) -> float:
        """The primal value at a point with these slacks."""
        losses = slacks**2 if self.squared else slacks
        return float(self.cost @ losses) + 0.5 * self.objective_scale * float((self.objective.ridge * theta**2).sum())

    def dual(self, alpha: Array, hinge_gradient: Array) -> float:
        """The dual value of balanced multipliers; ``hinge_gradient`` is theirs, without the intercept."""
        ridge = self.objective.ridge[:, : self.objective.n_columns]
        conjugate = 0.25 * float(np.sum(alpha[alpha > 0] ** 2 / self.cost[alpha > 0])) if self.squared else 0.0
        return float(alpha.sum()) - conjugate - 0.5 * self.objective_scale * float((hinge_gradient**2 / ridge).sum())

    def hinge_gradient(self, alpha: Array) -> Array:
        """The gradient of ``-sum alpha * margin / total`` in theta, intercept included."""
        return self.objective.products((-alpha * self.sign / self.C)[:, None])

    def balanced(self, alpha: Array) -> Array:
        """The multipliers, with an intercept those of the heavier side scaled so that ``sum alpha * sign = 0``."""
        imbalance = float(alpha @ self.sign) if self.fit_intercept else 0.0
        heavier = self.sign == np.sign(imbalance)
        total = float(alpha[heavier].sum())
        return alpha if total == 0 else np.where(heavier, alpha * max(1 - abs(imbalance) / total, 0.0), alpha)

    def best_intercept(self, scores: Array) -> float:
        """The intercept of least loss, given the scores of the rows without one."""
        hinge_points = self.sign - scores
        order = np.argsort(hinge_points, kind="stable")
        hinge_points, cost, positive = hinge_points[order], self.cost[order], self.sign[order] > 0
        # At -infinity all rows of sign 1 have slack; at its hinge point a row of sign 1 loses its slack, and one of
        # sign -1 begins to have some.
        before, after = np.where(positive, 0.0, cost), np.where(positive, cost, 0.0)
        if not self.squared:
            slope = np.cumsum(cost) - after.sum()
            return float(hinge_points[min(int(np.searchsorted(slope, 0.0)), len(slope) - 1)])
        left = np.stack((before, before * hinge_points)).cumsum(axis=1)
        right = np.stack((after, after * hinge_points))
        right = right.sum(axis=1, keepdims=True) - right.cumsum(axis=1)
        weight, moment = left + right
        place = min(int(np.searchsorted(weight * hinge_points - moment, 0.0)), len(hinge_points) - 1)
        if place == 0 or weight[place - 1] == 0:
            return float(hinge_points[place])
        return float(moment[place - 1] / weight[place - 1])


def is_wide(problem: MarginProblem) -> bool:
    """Whether the rows are dense, and so few that the problem is solved from their inner products."""
    rows, (n, p) = problem.data.rows, problem.data.rows.shape
    return n <= MAX_GRAM_ROWS and p > MIN_GRAM_COLUMNS_PER_ROW * n and not isinstance(rows, SparseRows)


def squared_lengths(rows: NumericMatrix) -> Array:
    """The squared length of each row."""
    if sp.issparse(rows):
        exact = sp.csr_array(rows, dtype=np.float64)
        return np.asarray(exact.multiply(exact).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def standard_rows(problem: MarginProblem, chosen: Array) -> Array:
    """Some rows, standardised and times their sign, with the intercept's 1 last."""
    objective = problem.objective
    table, standard = problem.rows, objective.standardised
    block = table.block(0, table.n_rows) if len(chosen) == table.n_rows else table.take(chosen)
    rows = np.empty((len(chosen), objective.shape[1]))
    moments.standardise(dense_rows(block), standard.centre, standard.scale, problem.sign[chosen], rows)
    return rows


def inner_products(problem: MarginProblem) -> Array:
    """The inner products of dense, centred rows."""
    table, centre = problem.rows, problem.objective.standardised.centre
    rows = table.block(0, table.n_rows)
    step = max(MIN_BLOCK_COLUMNS, CACHED_VALUES // table.n_rows)

    def of_columns(start: int) -> Array:
        part = rows[:, start : start + step] - centre[start : start + step]
        return np.asarray(part @ part.T)

    problem.objective.counter.add(1)
    parts = in_order(of_columns, list(range(0, table.n_columns, step)), problem.n_jobs)
    total = next(parts)
    for part in parts:
        total += part
    return total


@dataclass(frozen=True)
class MarginFit:
    """A hyperplane ``(x - centre)'coef + constant`` with its multipliers and slacks."""

    centre: Array
    coef: Array
    constant: float
    alpha: Array
    slacks: Array
    solution: Solution
    #: The divisors of the columns, if the margin refers to scaled columns.
    column_std: Array | float = 1.0

    @property
    def margin(self) -> float:
        """Its width."""
        return float(2 / np.linalg.norm(self.coef * self.column_std))

    def in_units_of_data(self, column_std: Array) -> MarginFit:
        """The hyperplane in the units of the data, of one in columns divided by ``column_std``."""
        return replace(
            self, centre=self.centre * column_std, coef=self.coef / column_std, column_std=column_std
        )  # fmt: skip


@dataclass(frozen=True)
class Stop:
    """The relative duality gap at which a solver stops, and the reason it reports otherwise."""

    solver: str
    tol: float
    reason: str = "no further descent"


def finished(
    problem: MarginProblem, stop: Stop, theta: Array, alpha: Array, slacks: Array, hinge_gradient: Array
) -> MarginFit:
    """The result at ``theta`` with balanced multipliers, given its slacks and their `hinge_gradient`."""
    objective = problem.objective
    # Rows at the hinge point miss it by rounding. With a large C that costs more than a theta that is a little longer.
    slack = 0.0 if problem.squared else 2.0 * float(slacks[alpha < problem.cost].max(initial=0.0))
    if 0.0 < slack < HINGE_ROUNDING:
        longer = (1.0 + slack) * theta, np.maximum(slacks - slack * (1.0 - slacks), 0.0)
        theta, slacks = min((theta, slacks), longer, key=lambda point: problem.primal(*point))
    primal = problem.primal(theta, slacks)
    gap = max(primal - problem.dual(alpha, hinge_gradient[:, : objective.n_columns]), 0.0)
    suboptimality = gap / max(primal, 1e-300)
    coef, constant = objective.linear(theta)
    solution = Solution(
        theta=theta,
        objective=primal,
        gradient_norm=float(np.abs(objective.ridge * theta + hinge_gradient).max()),
        suboptimality=suboptimality,
        duality_gap=gap,
        passes=objective.counter.count,
        iterations=problem.steps[0],
        converged=suboptimality <= stop.tol,
        reason="optimal" if suboptimality <= stop.tol else stop.reason,
        solver=stop.solver,
    )
    return MarginFit(objective.standardised.centre, coef[0], float(constant[0]), alpha, slacks, solution)


def at_point(problem: MarginProblem, stop: Stop, theta: Array, alpha: Array) -> MarginFit:
    """The result at ``theta`` with these multipliers, once they are balanced."""
    alpha = problem.balanced(alpha)
    slacks = problem.slacks(problem.objective.scores(theta)[:, 0])
    return finished(problem, stop, theta, alpha, slacks, problem.hinge_gradient(alpha))


def from_multipliers(problem: MarginProblem, stop: Stop, alpha: Array) -> MarginFit:
    """The result with the coefficients that balanced multipliers imply, and the best intercept for them."""
    objective, gradient = problem.objective, problem.hinge_gradient(alpha)
    p = objective.n_columns
    theta = np.zeros(objective.shape)
    theta[:, :p] = -gradient[:, :p] / objective.ridge[:, :p]
    scores = objective.scores(theta)[:, 0]
    if problem.fit_intercept:
        theta[0, p] = problem.best_intercept(scores)
        scores = scores + theta[0, p]
    return finished(problem, stop, theta, alpha, problem.slacks(scores), gradient)


def better(first: MarginFit, second: MarginFit) -> MarginFit:
    """The fit with the smaller duality gap; the first if both are equal."""
    return min(first, second, key=lambda fit: fit.solution.suboptimality)
