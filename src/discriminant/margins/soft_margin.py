"""Soft-margin support vector machines: which algorithm, and Newton's method on the smoothed hinge.

==========================================================  ==========
problem                                                     solver
==========================================================  ==========
up to 1,000 dense rows, four times as many columns          active-set
64 columns or more, a table that stays in a core's cache    active-set
up to 200 columns                                           newton
up to 1,000 columns, dense, five times as many rows         newton
all others                                                  dual
==========================================================  ==========

Of a dataset, whose rows are read anew in every pass, the rows near the kink are brought together, and two more stand
for all those beyond it: the means of either class, as heavy as all of them. For hyperplanes that leave these rows
beyond the kink that is the same problem, and its multipliers are some of the whole's: the gap is proven all the same.

"newton" is for many more rows than columns. The hinge is smoothed within a width of its kink, which gives it second
derivatives (Chapelle 2007), and the width shrinks by a factor of 6 at a time: first on a sample of the rows, then on
all of them. Near the optimum only rows close to the kink matter; all others are on one side of it for good, where the
hinge is straight. So the rows near the kink become a working set that is solved exactly (`interior_point`). The number
of passes does not depend on C. "dual" is `dual_coordinate`. "active-set" is `active_set`; where it comes to no end the
others follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, Source, SparseRows, as_rows
from ..engine import reduce
from ..errors import InputError
from ..kernels import hinge
from ..moments.covariance import factorised
from ..moments.statistic import ClassMoments
from ..objective import Objective, SmoothedHinge
from ..solvers.smooth import line_search, minimise_newton
from . import active_set, dual_coordinate
from .interior_point import WorkingSet, solve_working_sets
from .problem import MarginFit, MarginProblem, Stop, better, finished, is_wide, standard_rows

#: Up to this many columns Newton's method is the fastest for any table; up to the second number for dense ones with so
#: many rows for each column. Hessians of more columns, or of sparse rows, cost more than the ascent in the dual.
_ALWAYS, _DENSE, _ROWS_PER_COLUMN = 200, 1_000, 5
#: The first width covers the whole margin; shrinking by 6 takes about three Newton steps a width.
_FIRST_WIDTH, _SHRINK = 1.0, 6.0
#: Every so-many-th row makes a sample, if that leaves enough rows.
_SAMPLES = (64, 8)
#: Rows within this many widths of the kink make the working set,
_NEAR = 10.0
#: which may have this many rows, or this share of them.
_FEW_ROWS, _FEW = 4_000, 0.05
#: With up to this many rows for each unknown, all of them are in the working set.
_ALL_ROWS = 6
#: Up to this many numbers stay in a core's cache.
_SMALL = 400_000
#: There, and with up to this many unknowns, all is done in compiled code: the working set is solved from this width on,
#: to this duality gap relative to the value.
_FEW_UNKNOWNS, _LAST_WIDTH, _AS_GOOD_AS_EXACT = 64, 0.03, 1e-12
#: A multiplier this close to a bound, relative to it, is at the bound.
_NEXT_TO = 1e-8
#: Of a dataset, rows near the kink are brought together up to this size,
_GATHERED_BYTES = 1 << 30
#: so often at most.
_MOST_ROUNDS = 8
_MOST_STEPS = 60


def soft_margin(problem: MarginProblem, solver: str, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem by the named solver, or "auto"."""
    n, p = problem.data.rows.shape
    if isinstance(problem.data.rows, Source):
        return _by_passes(problem, tol, max_iter)
    if solver == "active-set" or (solver == "auto" and (is_wide(problem) or _is_small(problem))):
        found = active_set.maximise(problem, tol, seed)
        if found is not None:
            return found
    dense = not isinstance(problem.data.rows, SparseRows)
    tall = p <= _ALWAYS or (dense and p <= _DENSE and n >= _ROWS_PER_COLUMN * p)
    if solver == "newton" or (solver == "auto" and tall):
        return minimise(problem, tol, max_iter)
    return dual_coordinate.maximise(problem, tol, max_iter, seed)


def _is_small(problem: MarginProblem) -> bool:
    """Whether the table stays in a core's cache, and has so many columns that a Hessian of them costs more."""
    n, p = problem.data.rows.shape
    return n * p <= _SMALL and p > _FEW_UNKNOWNS - problem.fit_intercept


def minimise(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The solution of a problem with few enough columns for a Hessian, by the smoothed hinge."""
    objective, stop = problem.objective, Stop("newton", tol)
    n_rows = problem.data.n_rows
    small = n_rows * objective.n_columns <= _SMALL
    if small and objective.n_parameters <= _FEW_UNKNOWNS:
        found = _in_cache(problem, stop)
        if found is not None and found.solution.converged:
            return found
    if problem.squared:
        return _squared(problem, stop, max_iter)
    if small or n_rows <= _ALL_ROWS * objective.n_parameters:
        return solve_working_sets(problem, _every_row(problem), stop, max_iter)
    theta, width = _on_all_rows(problem, *_on_samples(problem, np.zeros(objective.shape), _FIRST_WIDTH), _at_hand)
    short = 1.0 - problem.sign * objective.scores(theta)[:, 0]
    # The rows near the kink, at least one more than there are unknowns; those beyond it are bounded.
    enough = min(objective.n_parameters, n_rows - 1)
    near = np.abs(short) <= max(_NEAR * _SHRINK * width, np.partition(np.abs(short), enough)[enough])
    return solve_working_sets(problem, WorkingSet(theta, near, (short > 0) & ~near, width), stop, max_iter)


def _every_row(problem: MarginProblem) -> WorkingSet:
    everyone = np.ones(problem.data.n_rows, dtype=bool)
    return WorkingSet(np.zeros(problem.objective.shape), everyone, ~everyone)


def _in_cache(problem: MarginProblem, stop: Stop) -> MarginFit | None:
    """The same in one compiled loop, for a table that stays in a core's cache; None if rounding is in the way."""
    rows, ridge = standard_rows(problem, np.arange(problem.data.n_rows)), problem.objective.ridge[0]
    theta, dual, share = np.zeros(len(ridge)), np.zeros(len(rows)), problem.cost / problem.total
    if problem.squared:
        steps = hinge.minimise_squared(rows, share, ridge, theta)
        dual = 2.0 * np.maximum(1.0 - rows @ theta, 0.0)
    else:
        widths = _FIRST_WIDTH / 2, _LAST_WIDTH, _SHRINK, _NEAR
        steps = hinge.solve(rows, share, ridge, theta, dual, *widths, _AS_GOOD_AS_EXACT)
        if steps == 0:
            return None
        dual = np.where(dual > 1 - _NEXT_TO, 1.0, np.where(dual > _NEXT_TO * dual.max(), dual, 0.0))
    problem.steps[0] += steps
    problem.objective.passes[0] += steps
    alpha = problem.balanced(problem.cost * dual)
    slacks, pull = np.maximum(1.0 - rows @ theta, 0.0), -(alpha / problem.total) @ rows
    return finished(problem, stop, theta[None], alpha, slacks, pull[None])


def _squared(problem: MarginProblem, stop: Stop, max_iter: int) -> MarginFit:
    """The squared hinge has second derivatives of its own."""
    objective = problem.objective
    reached = minimise_newton(objective, np.zeros(objective.shape), min(stop.tol, 1e-14), max_iter)
    slacks = problem.slacks(objective.scores(reached.theta)[:, 0])
    alpha = problem.balanced(2.0 * problem.cost * slacks)
    problem.steps[0] += reached.iterations
    fit = finished(problem, replace(stop, reason=reached.reason), reached.theta, alpha, slacks, problem.pull(alpha))
    if fit.solution.converged:
        return fit
    # Where slacks are small and C is large, the multipliers are lost in the slacks' rounding.
    return better(solve_working_sets(problem, _every_row(problem), stop, 1), fit)


def _on_samples(problem: MarginProblem, theta: Array, width: float) -> tuple[Array, float]:
    """Begin on samples, as far as their solution is close to that of all rows."""
    objective = problem.objective
    for step in _SAMPLES:
        n_rows = objective.data.n_rows // step
        if n_rows < 20 * objective.n_parameters:
            continue
        part = objective.every(step)
        while width**2 > objective.n_parameters / n_rows / 4:
            theta = _smoothed_minimum(part, theta, width, problem.steps)
            width /= _SHRINK
        width *= _SHRINK
    return theta, width


def _on_all_rows(
    problem: MarginProblem, theta: Array, width: float, near: Callable[[MarginProblem, Array, float], tuple[int, int]]
) -> tuple[Array, float]:
    """Go on with all rows until few enough are ``near`` the kink, which has their number and how many there may be."""
    while True:
        theta = _smoothed_minimum(problem.objective, theta, width, problem.steps)
        found, most = near(problem, theta, _NEAR * width)
        width /= _SHRINK
        if found <= most or width < 1e-6:
            return theta, width


def _at_hand(problem: MarginProblem, theta: Array, within: float) -> tuple[int, int]:
    short = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    return int(np.count_nonzero(short < within)), max(_FEW_ROWS, int(_FEW * problem.data.n_rows))


def _smoothed_minimum(objective: Objective, theta: Array, width: float, steps: list[int]) -> Array:
    """The minimum at this width, by damped Newton steps, as closely as it is worth before the next."""
    smoothed = replace(objective, loss=SmoothedHinge(width), standard=objective.standardised)
    value, gradient, hessian = smoothed.value_gradient_hessian(theta)
    for _ in range(_MOST_STEPS):
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
    """The rows within some distance of the kink of a hyperplane, and the moments of those beyond it, by class."""

    coef: Array
    constant: float
    within: float
    keep: bool
    found: int = 0
    slack: float = 0.0
    rows: list[Block] = field(default_factory=list)
    beyond: Any = None

    def fresh(self) -> Self:
        """An empty one of the same hyperplane."""
        return replace(self, found=0, slack=0.0, rows=[], beyond=ClassMoments(2, len(self.coef), "diagonal"))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for part in block.dense_parts():
            short = 1.0 - (2.0 * part.codes - 1.0) * (part.X @ self.coef + self.constant)
            near = np.flatnonzero((np.abs(short) <= self.within) & (part.weight > 0))
            self.found += len(near)
            self.slack += float(part.weight @ np.maximum(short, 0.0))
            if self.keep:
                far = np.flatnonzero(short > self.within)
                self.beyond.update(Block(np.ascontiguousarray(part.X[far]), part.codes[far], part.weight[far]))
                self.rows.append(Block(part.X[near], part.codes[near], part.weight[near]))

    def merge(self, other: Self) -> None:
        """Add what another one has seen."""
        self.found += other.found
        self.slack += other.slack
        self.rows += other.rows
        self.beyond.merge(other.beyond)

    def problem(self, whole: MarginProblem) -> MarginProblem:
        """The problem of the rows that are near, with two more for all that are beyond."""
        there = np.flatnonzero(self.beyond.weight)
        X = np.concatenate([*(block.X for block in self.rows), self.beyond.mean[there]])
        codes = np.concatenate([*(block.codes for block in self.rows), there.astype(np.int32)])
        weight = np.concatenate([*(block.weight for block in self.rows), self.beyond.weight[there]])
        data = LabelledRows(as_rows(X), whole.data.classes, codes, weight)
        return replace(whole, data=data, steps=[0])


def _by_passes(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The solution of a problem whose rows are read anew in every pass; it has no multipliers of single rows."""
    objective, none = problem.objective, np.empty(0)
    if problem.squared:
        reached = minimise_newton(objective, np.zeros(objective.shape), min(tol, 1e-14), max_iter)
        coef, constant = objective.linear(reached.theta)
        solution = replace(reached, objective=problem.total * reached.objective)
        return MarginFit(objective.standardised.centre, coef[0], float(constant[0]), none, none, solution)
    theta, width = _on_all_rows(problem, *_on_samples(problem, np.zeros(objective.shape), _FIRST_WIDTH), _counted)
    within = _NEAR * _SHRINK * width
    for _ in range(_MOST_ROUNDS):
        fit = soft_margin(_near_rows(problem, theta, within).problem(problem), "newton", tol, max_iter)
        problem.steps[0] += fit.solution.iterations
        dual = fit.solution.objective - (fit.solution.duality_gap or 0.0)
        theta = _theta_of(problem, fit)
        slack = _near_rows(problem, theta, within, keep=False).slack
        primal = problem.C * slack + 0.5 * problem.total * float((objective.ridge * theta**2).sum())
        gap = max(primal - dual, 0.0)
        if gap <= tol * primal:
            break
        within *= 2.0
    excess = gap / max(primal, 1e-300)
    solution = replace(
        fit.solution,
        theta=theta,
        objective=primal,
        excess=excess,
        duality_gap=gap,
        passes=objective.passes[0],
        iterations=problem.steps[0],
        converged=excess <= tol,
        reason="optimal" if excess <= tol else "no further descent",
    )
    return replace(fit, alpha=none, slacks=none, solution=solution)


def _theta_of(problem: MarginProblem, fit: MarginFit) -> Array:
    """The parameters of a hyperplane."""
    standard, theta = problem.objective.standardised, np.zeros(problem.objective.shape)
    theta[0, : len(fit.coef)] = fit.coef * standard.scale
    if problem.fit_intercept:
        theta[0, -1] = fit.constant + fit.coef @ (standard.centre - fit.centre)
    return theta


def _counted(problem: MarginProblem, theta: Array, within: float) -> tuple[int, int]:
    found = _near_rows(problem, theta, within, keep=False).found
    return found, int(min(max(_FEW_ROWS, _FEW * problem.data.n_rows), _most_rows(problem) / _SHRINK))


def _most_rows(problem: MarginProblem) -> int:
    return _GATHERED_BYTES // (8 * max(problem.data.rows.n_columns, 1))


def _near_rows(problem: MarginProblem, theta: Array, within: float, keep: bool = True) -> _NearRows:
    objective = problem.objective
    coef, constant = objective.linear(theta)
    level = float(constant[0] - coef[0] @ objective.standardised.centre)
    problem.objective.passes[0] += 1
    if keep and _near_rows(problem, theta, within, keep=False).found > _most_rows(problem):
        raise InputError(
            f"More than {_most_rows(problem):,} rows are near the margin, which the hinge has to bring together. Use "
            "the squared hinge, which passes over them."
        )
    return reduce(problem.data, _NearRows(coef[0], level, within, keep), problem.n_jobs)
