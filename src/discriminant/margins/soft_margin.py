"""Soft-margin support vector machines: which algorithm, and Newton's method on the smoothed hinge.

==========================================================  =======
problem                                                     solver
==========================================================  =======
up to 200 columns                                           newton
up to 1,000 columns, dense, five times as many rows         newton
all others                                                  dual
==========================================================  =======

"newton" is for many more rows than columns. The hinge is smoothed within a width of its kink, which gives it second
derivatives (Chapelle 2007), and the width shrinks by a factor of 6 at a time: first on a sample of the rows, then on
all of them. Near the optimum only rows close to the kink matter; all others are on one side of it for good, where the
hinge is straight. So the rows near the kink become a working set that is solved exactly (`interior_point`). The number
of passes does not depend on C. "dual" is `dual_coordinate`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.rows import SparseRows
from ..kernels import smoothed_hinge as kernels
from ..losses import SmoothedHinge, SquaredHinge
from ..moments.covariance import factorised
from ..objective import Objective
from ..solvers import newton
from . import dual_coordinate
from .interior_point import WorkingSet, solve_working_sets, standard_rows
from .problem import MarginFit, MarginProblem, balanced, finished

Array = np.ndarray[Any, Any]

_FIRST_WIDTH, _SHRINK = 1.0, 6.0
#: Every so-many-th row makes a sample, if that leaves enough rows.
_SAMPLES = (64, 8)
#: Rows within this many widths of the corner take part in the end.
_NEAR = 10.0
#: The end is played with at most this many rows, or this share of them.
_FEW_ROWS, _FEW = 4_000, 0.05
#: With up to this many rows for each unknown, all of them take part.
_ALL_ROWS = 6
#: Up to this many numbers stay in a core's cache.
_SMALL = 400_000
#: There, and with up to this many unknowns, the end begins below a width and stops at a relative gap.
_FEW_UNKNOWNS, _LAST_WIDTH, _AS_GOOD_AS_EXACT = 64, 0.03, 1e-12
#: A multiplier this close to a bound, relative to it, is at the bound.
_NEXT_TO = 1e-8
_MOST_STEPS = 60


def minimise(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The widest margin of a problem with few enough columns for a Hessian."""
    objective = problem.objective
    theta, width, n_rows = np.zeros(objective.shape), _FIRST_WIDTH, problem.data.n_rows
    small = n_rows * objective.n_columns <= _SMALL
    if small and objective.n_parameters <= _FEW_UNKNOWNS:
        found = _in_cache(problem, tol)
        if found is not None:
            return found
    if problem.squared:
        return _squared(problem, tol, max_iter)
    if small or n_rows <= _ALL_ROWS * objective.n_parameters:
        everyone = np.ones(n_rows, dtype=bool)
        return solve_working_sets(problem, WorkingSet(theta, everyone, ~everyone, width), tol, max_iter, "newton")
    theta, width = _from_samples(objective, theta, width)
    theta, width = _on_all_rows(objective, theta, width)
    return solve_working_sets(problem, _start(problem, theta, width), tol, max_iter, "newton")


def _start(problem: MarginProblem, theta: Array, width: float) -> WorkingSet:
    """The rows near the corner, at least one more than there are unknowns, and those beyond it."""
    short = 1.0 - problem.sign * problem.objective.scores(theta)[:, 0]
    enough = min(problem.objective.n_parameters, len(short) - 1)
    near = np.abs(short) <= max(_NEAR * _SHRINK * width, np.partition(np.abs(short), enough)[enough])
    return WorkingSet(theta, near, (short > 0) & ~near, width)


def _in_cache(problem: MarginProblem, tol: float) -> MarginFit | None:
    """The same in one compiled loop, for a table that stays in a core's cache; None if rounding is in the way."""
    objective, everyone = problem.objective, np.arange(problem.data.n_rows)
    rows, _, ridge = standard_rows(problem, everyone, np.zeros(objective.n_parameters))
    theta, used, share = np.zeros(len(ridge)), np.empty(len(rows)), problem.cost / problem.total
    widths = _FIRST_WIDTH / 2, _LAST_WIDTH, _SHRINK, _NEAR
    if problem.squared:
        kernels.follow(
            SquaredHinge.code, rows, share, np.zeros_like(ridge), ridge, theta, 1.0, 1.0, _SHRINK, _MOST_STEPS
        )
        used = 2.0 * np.maximum(1.0 - rows @ theta, 0.0)
    elif kernels.solve(rows, share, ridge, theta, used, *widths, _AS_GOOD_AS_EXACT):
        used = np.where(used > 1 - _NEXT_TO, 1.0, np.where(used > _NEXT_TO * used.max(), used, 0.0))
    else:
        return None
    alpha = problem.cost * used
    alpha = balanced(alpha, problem.sign) if problem.fit_intercept else alpha
    slacks = np.maximum(1.0 - rows @ theta, 0.0)
    pull = -(alpha / problem.total) @ rows
    fit = finished(problem, theta[None], alpha, pull[None], slacks, tol, 1, "newton")
    return fit if fit.solution.converged else None


def _squared(problem: MarginProblem, tol: float, max_iter: int) -> MarginFit:
    """The squared hinge has second derivatives of its own."""
    objective = problem.objective
    reached = newton.minimise(objective, np.zeros(objective.shape), min(tol, 1e-14), max_iter)
    slacks = problem.slacks(objective.scores(reached.theta)[:, 0])
    alpha = 2.0 * problem.cost * slacks
    if problem.fit_intercept:
        alpha = balanced(alpha, problem.sign)
    fit = finished(
        problem, reached.theta, alpha, problem.pull(alpha), slacks, tol, reached.iterations, "newton", reached.reason
    )  # fmt: skip
    if fit.solution.converged:
        return fit
    # Where slacks are small and C is large, the multipliers are lost in the slacks' rounding.
    everyone = np.ones(len(slacks), dtype=bool)
    again = solve_working_sets(problem, WorkingSet(np.zeros(objective.shape), everyone, ~everyone), tol, 1, "newton")
    return min(again, fit, key=lambda fit: fit.solution.excess)


def _from_samples(objective: Objective, theta: Array, width: float) -> tuple[Array, float]:
    """WorkingSet from samples, as far as their solution is close to that of all rows."""
    for step in _SAMPLES:
        n_rows = objective.data.n_rows // step
        if n_rows < 20 * objective.n_parameters:
            continue
        part = objective.every(step)
        while width**2 > objective.n_parameters / n_rows / 4:
            theta = _settled(part, theta, width)
            width /= _SHRINK
        width *= _SHRINK
    return theta, width


def _on_all_rows(objective: Objective, theta: Array, width: float) -> tuple[Array, float]:
    """Go on with all rows until few enough of them are near the corner."""
    while True:
        theta = _settled(objective, theta, width)
        short = np.abs(1.0 - (2.0 * objective.data.codes - 1.0) * objective.scores(theta)[:, 0])
        near = np.count_nonzero(short < _NEAR * width)
        width /= _SHRINK
        if near <= max(_FEW_ROWS, _FEW * objective.data.n_rows) or width < 1e-6:
            return theta, width


def _settled(objective: Objective, theta: Array, width: float) -> Array:
    """The minimum at this width, as closely as it is worth before the next."""
    bent = replace(objective, loss=SmoothedHinge(width), standard=objective.standardised)
    return _newton(bent.value_gradient_hessian, theta, 0.1 * width**2)


def _newton(evaluate: Any, theta: Array, enough: float) -> Array:
    """Damped Newton steps until the next would gain less than ``enough``; it is taken if it is no loss."""
    value, gradient, hessian = evaluate(theta)
    for _ in range(_MOST_STEPS):
        direction = factorised(hessian).solve(gradient.ravel()[None])[0].reshape(gradient.shape)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > max(2 * enough, 1e-16 * abs(value)):
            return theta
        length = 1.0
        while True:
            new = theta - length * direction
            reached = evaluate(new)
            if reached[0] <= value - 1e-4 * length * decrement:
                break
            if length < 1e-6:
                return theta
            length *= 0.3
        theta, (value, gradient, hessian) = new, reached
    return theta


_ALWAYS, _DENSE, _ROWS_PER_COLUMN = 200, 1_000, 5


def soft_margin(problem: MarginProblem, solver: str, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem by the named solver, or "auto"."""
    name = _choice(problem) if solver == "auto" else solver
    if name == "newton":
        return minimise(problem, tol, max_iter)
    return dual_coordinate.maximise(problem, tol, max_iter, seed)


def _choice(problem: MarginProblem) -> str:
    n, p = problem.data.n_rows, problem.data.rows.n_columns
    dense = not isinstance(problem.data.rows, SparseRows)
    tall = p <= _ALWAYS or (dense and p <= _DENSE and n >= _ROWS_PER_COLUMN * p)
    return "newton" if tall else "dual"
