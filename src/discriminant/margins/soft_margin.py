"""Soft-margin support vector machines: the choice of a solver, and Newton's method on the smoothed hinge.

==========================================================  ==========
problem                                                     solver
==========================================================  ==========
up to 1,000 dense rows, four times as many columns          active-set
64 columns or more, up to 400,000 values                    active-set
up to 200 columns                                           newton
up to 1,000 columns, dense, five times as many rows         newton
all others                                                  dual
==========================================================  ==========

"newton" is for many more rows than columns. The hinge is smoothed within a width of the hinge point (margin 1), which
gives it second derivatives (Chapelle 2007), and the width shrinks by a factor of 6 at a time: first on samples of the
rows, then on all of them. Near the optimum only rows near the hinge point matter; on all others the hinge is linear. So
the rows near the hinge point become a working set that is solved exactly (`interior_point`). The number of passes does
not depend on C. "dual" is `dual_coordinate`. "active-set" is `active_set`; if it does not converge the others follow.

The rows of a streamed dataset near the hinge point are read into memory, and two further rows represent all rows with
larger slacks: their class means, with their total weights. For hyperplanes that leave these rows beyond the hinge point
this is the same problem, and its multipliers are feasible for the whole problem, so the duality gap remains a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, SparseRows, as_rows
from ..errors import InputError
from ..losses import SmoothedHinge
from ..moments.covariance import factorised
from ..moments.statistic import ClassMoments
from ..objective import Objective
from ..solvers.line_search import line_search
from ..solvers.newton import SAMPLE_ROWS_PER_PARAMETER, SAMPLE_STEPS, minimise_newton
from . import active_set, dual_coordinate
from .interior_point import WorkingSet, solve_working_sets
from .problem import MarginFit, MarginProblem, Stop, better, finished, is_wide

# Up to this many columns Newton's method is the fastest for any table; up to the second number for dense ones with this
# many rows for each column. Hessians of more columns, or of sparse rows, cost more than the ascent in the dual.
MAX_NEWTON_COLUMNS: Final = 200
MAX_DENSE_NEWTON_COLUMNS: Final = 1_000
NEWTON_ROWS_PER_COLUMN: Final = 5
# Tables of up to this many values, which stay in a core's cache, with this many parameters or more are solved by the
# active set method, whose systems have as many unknowns as there are support vectors at the hinge point.
MAX_ACTIVE_SET_VALUES: Final = 400_000
MIN_ACTIVE_SET_PARAMETERS: Final = 65
# The first width covers the whole margin; shrinking by 6 takes about three Newton steps a width, down to the last.
FIRST_WIDTH: Final = 1.0
WIDTH_RATIO: Final = 6.0
MIN_WIDTH: Final = 1e-6
MAX_NEWTON_STEPS: Final = 60
# Rows within this many widths of the hinge point make the working set, which may have this many rows, or this share.
NEAR_WIDTHS: Final = 10.0
MAX_NEAR_ROWS: Final = 4_000
MAX_NEAR_SHARE: Final = 0.05
# With up to this many rows, or this many for each parameter, all of them are in the working set.
MAX_DIRECT_ROWS: Final = 4_000
DIRECT_ROWS_PER_PARAMETER: Final = 6
# Of a streamed dataset, rows near the hinge point are read into memory up to this size, at most this many times.
MAX_GATHERED_BYTES: Final = 1 << 30
MAX_ROUNDS: Final = 8


def soft_margin(problem: MarginProblem, solver: str, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem by the named solver, or "auto"."""
    n, p = problem.data.rows.shape
    if problem.data.is_streamed:
        return _streamed_solution(problem, tol, max_iter)
    is_small = n * p <= MAX_ACTIVE_SET_VALUES and problem.objective.n_parameters >= MIN_ACTIVE_SET_PARAMETERS
    if solver == "active-set" or (solver == "auto" and (is_wide(problem) or is_small)):
        found = active_set.maximise(problem, tol, seed)
        if found is not None:
            return found
    dense = not isinstance(problem.data.rows, SparseRows)
    tall = p <= MAX_NEWTON_COLUMNS or (dense and p <= MAX_DENSE_NEWTON_COLUMNS and n >= NEWTON_ROWS_PER_COLUMN * p)
    if solver == "newton" or (solver == "auto" and tall):
        return minimise(problem, tol, max_iter)
    return dual_coordinate.maximise(problem, tol, max_iter, seed)


def minimise(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The solution of a problem with few enough columns for a Hessian, by the smoothed hinge."""
    objective, stop, n_rows = problem.objective, Stop("newton", tol), problem.data.n_rows
    if problem.squared:
        return _squared(problem, stop, max_iter)
    if n_rows <= max(MAX_DIRECT_ROWS, DIRECT_ROWS_PER_PARAMETER * objective.n_parameters):
        return solve_working_sets(problem, _every_row(problem), stop, max_iter)
    theta, width = _on_all_rows(problem, *_on_samples(problem), _near_in_memory)
    violation = 1.0 - problem.sign * objective.scores(theta)[:, 0]
    # The rows near the hinge point, at least one more than there are parameters; those beyond it are bounded.
    needed = min(objective.n_parameters, n_rows - 1)
    distance = max(NEAR_WIDTHS * WIDTH_RATIO * width, np.partition(np.abs(violation), needed)[needed])
    near = np.abs(violation) <= distance
    return solve_working_sets(problem, WorkingSet(theta, near, (violation > 0) & ~near, width), stop, max_iter)


def _every_row(problem: MarginProblem) -> WorkingSet:
    everyone = np.ones(problem.data.n_rows, dtype=bool)
    return WorkingSet(np.zeros(problem.objective.shape), everyone, ~everyone)


def _squared(problem: MarginProblem, stop: Stop, max_iter: int) -> MarginFit:
    """The solution for the squared hinge, which has second derivatives."""
    objective = problem.objective
    reached = minimise_newton(objective, np.zeros(objective.shape), min(stop.tol, 1e-14), max_iter)
    slacks = problem.slacks(objective.scores(reached.theta)[:, 0])
    alpha = problem.balanced(2.0 * problem.cost * slacks)
    problem.steps[0] += reached.iterations
    stop = replace(stop, reason=reached.reason)
    fit = finished(problem, stop, reached.theta, alpha, slacks, problem.hinge_gradient(alpha))
    if fit.solution.converged:
        return fit
    # Where slacks are small and C is large, the multipliers are lost in the slacks' rounding.
    return better(solve_working_sets(problem, _every_row(problem), stop, 1), fit)


def _on_samples(problem: MarginProblem) -> tuple[Array, float]:
    """The smoothed minimum of samples and its width, as far as it is close to that of all rows."""
    objective, width = problem.objective, FIRST_WIDTH
    theta = np.zeros(objective.shape)
    for step in SAMPLE_STEPS:
        n_rows = objective.data.n_rows // step
        if n_rows < SAMPLE_ROWS_PER_PARAMETER * objective.n_parameters:
            continue
        part = objective.sample(step)
        while width**2 > objective.n_parameters / n_rows / 4:
            theta = _smoothed_minimum(part, theta, width, problem.steps)
            width /= WIDTH_RATIO
        width *= WIDTH_RATIO
    return theta, width


def _on_all_rows(
    problem: MarginProblem,
    theta: Array,
    width: float,
    count_near: Callable[[MarginProblem, Array, float], tuple[int, int]],
) -> tuple[Array, float]:
    """The smoothed minimum of all rows at a width with few enough rows near the hinge point, and the next width.

    ``count_near`` returns how many rows are that near, and how many there may be.
    """
    while True:
        theta = _smoothed_minimum(problem.objective, theta, width, problem.steps)
        count, allowed = count_near(problem, theta, NEAR_WIDTHS * width)
        width /= WIDTH_RATIO
        if count <= allowed or width < MIN_WIDTH:
            return theta, width


def _near_in_memory(problem: MarginProblem, theta: Array, distance: float) -> tuple[int, int]:
    violation = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    return int(np.count_nonzero(violation < distance)), max(MAX_NEAR_ROWS, int(MAX_NEAR_SHARE * problem.data.n_rows))


def _smoothed_minimum(objective: Objective, theta: Array, width: float, steps: list[int]) -> Array:
    """The minimum at this width by damped Newton steps, as precise as the next width needs."""
    smoothed = replace(objective, loss=SmoothedHinge(width), standard=objective.standardised)
    value, gradient, hessian = smoothed.value_gradient_hessian(theta)
    for _ in range(MAX_NEWTON_STEPS):
        direction = factorised(hessian).solve(gradient.ravel()[None])[0].reshape(gradient.shape)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > max(0.2 * width**2, 1e-16 * abs(value)):
            return theta
        moved = line_search(smoothed.value_gradient_hessian, theta, value, direction, decrement)
        if moved is None:
            return theta
        theta, (value, gradient, hessian) = moved
        steps[0] += 1
    return theta


@dataclass
class _NearRows:
    """The rows near the hinge point of a hyperplane, and the moments of those with larger slacks, by class."""

    coef: Array
    constant: float
    distance: float
    keep: bool
    beyond: ClassMoments
    count: int = 0
    slack: float = 0.0
    rows: list[Block] = field(default_factory=list)

    def fresh(self) -> Self:
        """An empty one of the same hyperplane."""
        return replace(self, count=0, slack=0.0, rows=[], beyond=self.beyond.fresh())

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            violation = 1.0 - (2.0 * part.codes - 1.0) * (part.X @ self.coef + self.constant)
            near = np.flatnonzero((np.abs(violation) <= self.distance) & (part.weight > 0))
            self.count += len(near)
            self.slack += float(part.weight @ np.maximum(violation, 0.0))
            if self.keep:
                beyond = np.flatnonzero(violation > self.distance)
                X = np.ascontiguousarray(part.X[beyond])
                self.beyond.update(Block(X, part.codes[beyond], part.weight[beyond]))
                self.rows.append(Block(part.X[near], part.codes[near], part.weight[near]))

    def merge(self, other: Self) -> None:
        """Add the rows of another one."""
        self.count += other.count
        self.slack += other.slack
        self.rows += other.rows
        self.beyond.merge(other.beyond)

    def problem(self, whole: MarginProblem) -> MarginProblem:
        """The problem of the near rows, with one more for each class's rows beyond them."""
        present = np.flatnonzero(self.beyond.weight)
        X = np.concatenate([*(block.X for block in self.rows), self.beyond.mean[present]])
        codes = np.concatenate([*(block.codes for block in self.rows), present.astype(np.int32)])
        weight = np.concatenate([*(block.weight for block in self.rows), self.beyond.weight[present]])
        data = LabelledRows(as_rows(X), whole.data.classes, codes, weight)
        return replace(whole, data=data, steps=[0])


def _streamed_solution(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The solution for streamed rows, without multipliers of single rows."""
    objective, none = problem.objective, np.empty(0)
    if problem.squared:
        reached = minimise_newton(objective, np.zeros(objective.shape), min(tol, 1e-14), max_iter)
        coef, constant = objective.linear(reached.theta)
        solution = replace(reached, objective=problem.objective_scale * reached.objective)
        return MarginFit(objective.standardised.centre, coef[0], float(constant[0]), none, none, solution)
    theta, width = _on_all_rows(problem, *_on_samples(problem), _near_streamed)
    distance = NEAR_WIDTHS * WIDTH_RATIO * width
    for _ in range(MAX_ROUNDS):
        fit = soft_margin(_near_rows(problem, theta, distance, keep=True).problem(problem), "newton", tol, max_iter)
        problem.steps[0] += fit.solution.iterations
        dual = fit.solution.objective - (fit.solution.duality_gap or 0.0)
        theta = _theta_of(problem, fit)
        slack = _near_rows(problem, theta, distance).slack
        primal = problem.C * slack + 0.5 * problem.objective_scale * float((objective.ridge * theta**2).sum())
        gap = max(primal - dual, 0.0)
        if gap <= tol * primal:
            break
        distance *= 2.0
    suboptimality = gap / max(primal, 1e-300)
    solution = replace(
        fit.solution,
        theta=theta,
        objective=primal,
        suboptimality=suboptimality,
        duality_gap=gap,
        passes=objective.counter.count,
        iterations=problem.steps[0],
        converged=suboptimality <= tol,
        reason="optimal" if suboptimality <= tol else "no further descent",
    )
    return replace(fit, alpha=none, slacks=none, solution=solution)


def _theta_of(problem: MarginProblem, fit: MarginFit) -> Array:
    """The parameters of a hyperplane."""
    standard, theta = problem.objective.standardised, np.zeros(problem.objective.shape)
    theta[0, : len(fit.coef)] = fit.coef * standard.scale
    if problem.fit_intercept:
        theta[0, -1] = fit.constant + fit.coef @ (standard.centre - fit.centre)
    return theta


def _near_streamed(problem: MarginProblem, theta: Array, distance: float) -> tuple[int, int]:
    allowed = min(max(MAX_NEAR_ROWS, MAX_NEAR_SHARE * problem.data.n_rows), _max_gathered_rows(problem) / WIDTH_RATIO)
    return _near_rows(problem, theta, distance).count, int(allowed)


def _max_gathered_rows(problem: MarginProblem) -> int:
    return MAX_GATHERED_BYTES // (8 * max(problem.data.rows.n_columns, 1))


def _near_rows(problem: MarginProblem, theta: Array, distance: float, keep: bool = False) -> _NearRows:
    objective = problem.objective
    coef, constant = objective.linear(theta)
    constant_in_data = float(constant[0] - coef[0] @ objective.standardised.centre)
    objective.counter.add(1)
    if keep and _near_rows(problem, theta, distance).count > _max_gathered_rows(problem):
        raise InputError(
            f"More than {_max_gathered_rows(problem):,} rows are near the margin, which exceeds the memory budget of "
            "the hinge loss. Use the squared hinge loss, which streams them."
        )
    beyond = ClassMoments(2, objective.n_columns, "diagonal")
    found: _NearRows = problem.data.reduce(_NearRows(coef[0], constant_in_data, distance, keep, beyond), problem.n_jobs)
    return found
