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

"newton" is for many more rows than columns. The hinge is smoothed within a width of its kink, which gives it second
derivatives (Chapelle 2007), and the width shrinks by a factor of 6 at a time: first on a sample of the rows, then on
all of them. Near the optimum only rows close to the kink matter; all others are on one side of it for good, where the
hinge is straight. So the rows near the kink become a working set that is solved exactly (`interior_point`). The number
of passes does not depend on C. "dual" is `dual_coordinate`. "active-set" is `active_set`; where it comes to no end the
others follow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..data import SparseRows
from ..kernels import smoothed_hinge as kernels
from ..moments.covariance import factorised
from ..objective import Objective, SmoothedHinge, SquaredHinge
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
_MOST_STEPS = 60


def soft_margin(problem: MarginProblem, solver: str, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem by the named solver, or "auto"."""
    n, p = problem.data.rows.shape
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
    theta, width = _on_all_rows(problem, *_on_samples(problem, np.zeros(objective.shape), _FIRST_WIDTH))
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
        squares = (rows, share, np.zeros(len(ridge)), ridge, True)
        _, steps = kernels.follow(SquaredHinge.code, squares, theta, 1.0, 1.0, _SHRINK)
        dual = 2.0 * np.maximum(1.0 - rows @ theta, 0.0)
    else:
        widths = _FIRST_WIDTH / 2, _LAST_WIDTH, _SHRINK, _NEAR
        steps = kernels.solve(rows, share, ridge, theta, dual, *widths, _AS_GOOD_AS_EXACT)
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


def _on_all_rows(problem: MarginProblem, theta: Array, width: float) -> tuple[Array, float]:
    """Go on with all rows until few enough of them are near the kink."""
    objective = problem.objective
    while True:
        theta = _smoothed_minimum(objective, theta, width, problem.steps)
        short = np.abs(1.0 - problem.sign * objective.scores(theta)[:, 0])
        near = np.count_nonzero(short < _NEAR * width)
        width /= _SHRINK
        if near <= max(_FEW_ROWS, _FEW * objective.data.n_rows) or width < 1e-6:
            return theta, width


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
