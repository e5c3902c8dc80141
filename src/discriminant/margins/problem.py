"""The support vector machine of two classes (Cortes & Vapnik 1995): primal, dual, and what algorithms return.

``|w|^2 / 2 + sum_i cost_i loss(slack_i)``, slack_i = max(1 - sign_i (w'x_i + b), 0), the loss its first or second
power, cost_i = C times the weight of the row. The intercept b is free. The dual has a variable alpha_i for each row,

``max sum alpha - |sum alpha_i sign_i x_i|^2 / 2 [- sum alpha_i^2 / (4 cost_i)]``, sum alpha_i sign_i = 0,

with 0 <= alpha_i <= cost_i for the plain slack and alpha_i >= 0 for its square. Every alpha gives a lower bound on the
minimum, and every w an upper one: the gap between the two says how good a solution is at least.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, SparseRows, dense_rows
from ..engine import in_order
from ..kernels import moments
from ..objective import ElasticNet, Hinge, Objective, SquaredHinge
from ..solvers.smooth import Solution

#: Rows whose slack is below this may be meant to be at the kink of the hinge.
_AT_KINK = 1e-8
#: So many numbers stay in a core's cache; of so many columns at least products are made at once.
_CACHED, _LEAST_COLUMNS = 200_000, 64
#: Up to this many rows, and with more columns than this many times the rows, inner products cost less than sweeps.
_MOST_WIDE_ROWS, _COLUMNS_PER_ROW = 1_000, 4


@dataclass(frozen=True)
class MarginProblem:
    """Rows of two classes (codes 0 and 1) to be separated with a wide margin."""

    data: LabelledRows
    C: float
    squared: bool = False
    fit_intercept: bool = True
    n_jobs: int | None = None
    #: Rows of fewer columns with the same inner products, where they are known
    span: Array | None = None
    #: Newton steps and sweeps over the rows so far, by whatever algorithm
    steps: list[int] = field(default_factory=lambda: [0])

    @cached_property
    def sign(self) -> Array:
        return 2.0 * self.data.codes - 1.0

    @cached_property
    def cost(self) -> Array:
        """What a unit of slack costs, for each row."""
        weight = np.ones(self.data.n_rows) if self.data.weight is None else self.data.weight
        return self.C * weight

    @cached_property
    def upper(self) -> Array:
        """The largest multiplier of each row."""
        return np.full(self.data.n_rows, np.inf) if self.squared else self.cost

    @cached_property
    def diagonal(self) -> Array:
        """What the square of the slack adds to the curvature of the dual in each multiplier."""
        with np.errstate(divide="ignore"):
            # A row of weight 0 is curved so much that its multiplier stays 0.
            return np.minimum(0.5 / self.cost, 1e300) if self.squared else np.zeros(self.data.n_rows)

    @cached_property
    def total(self) -> float:
        """What the mean loss of `objective` has to be multiplied by."""
        return self.C * self.data.total_weight

    @cached_property
    def objective(self) -> Objective:
        """The same problem divided by ``total``: mean loss plus L2 penalty."""
        loss, penalty = SquaredHinge() if self.squared else Hinge(), ElasticNet(1 / self.total)
        return Objective(self.data, loss, penalty, self.fit_intercept, n_jobs=self.n_jobs)

    def slacks(self, scores: Array) -> Array:
        return np.maximum(1.0 - self.sign * scores, 0.0)

    def primal(self, theta: Array, slacks: Array) -> float:
        """The value at a point with these slacks."""
        losses = slacks**2 if self.squared else slacks
        return float(self.cost @ losses) + 0.5 * self.total * float((self.objective.ridge * theta**2).sum())

    def dual(self, alpha: Array, pull: Array) -> float:
        """The dual value; ``pull`` is the gradient in theta (without intercept) of ``-sum alpha * margin / total``."""
        curved = self.objective.ridge[:, : self.objective.n_columns]
        conjugate = 0.25 * float(np.sum(alpha[alpha > 0] ** 2 / self.cost[alpha > 0])) if self.squared else 0.0
        return float(alpha.sum()) - conjugate - 0.5 * self.total * float((pull**2 / curved).sum())

    def pull(self, alpha: Array) -> Array:
        """What the rows with multipliers ``alpha`` add to the gradient in theta, intercept included."""
        return self.objective.products((-alpha * self.sign / self.C)[:, None])

    def balanced(self, alpha: Array) -> Array:
        """The multipliers, with an intercept those of the heavier side scaled so that ``sum alpha * sign = 0``."""
        excess = float(alpha @ self.sign) if self.fit_intercept else 0.0
        heavier = self.sign == np.sign(excess)
        total = float(alpha[heavier].sum())
        return alpha if total == 0 else np.where(heavier, alpha * max(1 - abs(excess) / total, 0.0), alpha)

    def best_intercept(self, scores: Array) -> float:
        """The intercept that costs least with these scores of the rows without one."""
        kinks = self.sign - scores
        order = np.argsort(kinks, kind="stable")
        kinks, cost, positive = kinks[order], self.cost[order], self.sign[order] > 0
        # Far down, the slope is that of all rows of sign 1; at each row's kink one of them stops, or another begins.
        before, after = np.where(positive, 0.0, cost), np.where(positive, cost, 0.0)
        if not self.squared:
            slope = np.cumsum(cost) - after.sum()
            return float(kinks[min(int(np.searchsorted(slope, 0.0)), len(slope) - 1)])
        left = np.stack((before, before * kinks)).cumsum(axis=1)
        right = np.stack((after, after * kinks))
        right = right.sum(axis=1, keepdims=True) - right.cumsum(axis=1)
        weight, moment = left + right
        place = min(int(np.searchsorted(weight * kinks - moment, 0.0)), len(kinks) - 1)
        if place == 0 or weight[place - 1] == 0:
            return float(kinks[place])
        return float(moment[place - 1] / weight[place - 1])


def is_wide(problem: MarginProblem) -> bool:
    """Whether the rows are few, dense, and better told by their inner products."""
    rows, (n, p) = problem.data.rows, problem.data.rows.shape
    return n <= _MOST_WIDE_ROWS and p > _COLUMNS_PER_ROW * n and not isinstance(rows, SparseRows)


def standard_rows(problem: MarginProblem, chosen: Array) -> Array:
    """Some rows, standardised and times their sign, with the intercept's 1 last."""
    objective = problem.objective
    table, standard = problem.data.rows, objective.standardised
    block = table.block(0, table.n_rows) if len(chosen) == table.n_rows else table.take(chosen)
    rows = np.empty((len(chosen), objective.shape[1]))
    moments.standardise(dense_rows(block), standard.centre, standard.scale, problem.sign[chosen], rows)
    return rows


def inner_products(problem: MarginProblem) -> Array:
    """The inner products of dense rows, centred, by columns that stay in a core's cache."""
    table, centre = problem.data.rows, problem.objective.standardised.centre
    rows = table.block(0, table.n_rows)
    step = max(_LEAST_COLUMNS, _CACHED // table.n_rows)

    def of_columns(start: int) -> Array:
        part = rows[:, start : start + step] - centre[start : start + step]
        return part @ part.T

    problem.objective.passes[0] += 1
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
    #: What the columns were divided by, if margins are not in their units.
    spread: Any = 1.0

    @property
    def margin(self) -> float:
        """Its width."""
        return float(2 / np.linalg.norm(self.coef * self.spread))

    def in_units_of_data(self, spread: Array) -> MarginFit:
        """The hyperplane of the columns themselves, after one of the columns divided by ``spread``."""
        return replace(self, centre=self.centre * spread, coef=self.coef / spread, spread=spread)


@dataclass(frozen=True)
class Stop:
    """Where a solver stops: within this relative duality gap, or else for this reason."""

    solver: str
    tol: float
    reason: str = "no further descent"


def finished(problem: MarginProblem, stop: Stop, theta: Array, alpha: Array, slacks: Array, pull: Array) -> MarginFit:
    """What was reached at ``theta`` with balanced multipliers, given its slacks and the multipliers' `pull`."""
    objective = problem.objective
    # Rows at the kink fall short of it by rounding; with a large C even that is dear, and a longer theta costs less.
    short = 0.0 if problem.squared else 2.0 * float(slacks[alpha < problem.cost].max(initial=0.0))
    if 0.0 < short < _AT_KINK:
        longer = (1.0 + short) * theta, np.maximum(slacks - short * (1.0 - slacks), 0.0)
        theta, slacks = min((theta, slacks), longer, key=lambda point: problem.primal(*point))
    primal = problem.primal(theta, slacks)
    gap = max(primal - problem.dual(alpha, pull[:, : objective.n_columns]), 0.0)
    excess = gap / max(primal, 1e-300)
    coef, constant = objective.linear(theta)
    solution = Solution(
        theta=theta,
        objective=primal,
        gradient_norm=float(np.abs(objective.ridge * theta + pull).max()),
        excess=excess,
        duality_gap=gap,
        passes=objective.passes[0],
        iterations=problem.steps[0],
        converged=excess <= stop.tol,
        reason="optimal" if excess <= stop.tol else stop.reason,
        solver=stop.solver,
    )
    return MarginFit(objective.standardised.centre, coef[0], float(constant[0]), alpha, slacks, solution)


def at_point(problem: MarginProblem, stop: Stop, theta: Array, alpha: Array) -> MarginFit:
    """What is reached at ``theta`` with these multipliers, once they are balanced."""
    alpha = problem.balanced(alpha)
    slacks = problem.slacks(problem.objective.scores(theta)[:, 0])
    return finished(problem, stop, theta, alpha, slacks, problem.pull(alpha))


def from_multipliers(problem: MarginProblem, stop: Stop, alpha: Array) -> MarginFit:
    """What is reached with the coefficients that balanced multipliers imply, and the best intercept for them."""
    objective, pull = problem.objective, problem.pull(alpha)
    p = objective.n_columns
    theta = np.zeros(objective.shape)
    theta[:, :p] = -pull[:, :p] / objective.ridge[:, :p]
    scores = objective.scores(theta)[:, 0]
    if problem.fit_intercept:
        theta[0, p] = problem.best_intercept(scores)
        scores = scores + theta[0, p]
    return finished(problem, stop, theta, alpha, problem.slacks(scores), pull)


def better(first: MarginFit, second: MarginFit) -> MarginFit:
    """The one with the smaller duality gap, the first of equals."""
    return min(first, second, key=lambda fit: fit.solution.excess)
