"""Dual coordinate ascent for support vector machines with sparse rows or many columns.

One multiplier at a time is set to its best value, in a new random order in each sweep (Hsieh et al. 2008). Rows whose
multiplier stays at a bound are visited less and less often (shrinking), until a pass over all rows confirms the
solution.

The intercept would tie all multipliers together by ``sum alpha * sign = 0``. Instead a small multiple of the squared
distance to its last value is added, which makes it one more column; that value is updated after every sweep (the
proximal point method, Rockafellar 1976). At the solution the distance is 0, and the condition holds.

Coordinate ascent is slow in directions in which rows depend on each other. So every few sweeps the dual is maximised
over all combinations of the last steps (a small linear system) and clipped to the bounds; the point is accepted if the
dual value rises.

The terms of the duality gap are summed as rows are visited, so an estimate of it costs nothing.

Coordinate ascent soon finds which multipliers are at their bounds, but with a large C and few columns, or columns of
different scale, the others converge slowly. If they are few enough, they become a working set that is solved exactly
(`interior_point`).
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..kernels import csr_parts
from ..kernels import dual_coordinate as kernels
from .interior_point import WorkingSet, affordable, solve_working_sets
from .problem import MarginFit, MarginProblem, Stop, better, from_multipliers, squared_lengths

# The proximal weight of the intercept, relative to the rows' mean square: small enough to converge fast, large enough
# to keep the intercept from oscillating.
PROXIMAL_WEIGHT: Final = 0.01
SEED: Final = 88172645463325252
# Subspace steps: the first and the following after this many sweeps, along this many steps.
FIRST_SUBSPACE_SWEEP: Final = 8
SWEEPS_PER_SUBSPACE_STEP: Final = 4
SUBSPACE_STEPS: Final = 5
# Multiples of a step in a combination: larger ones would multiply its rounding.
MAX_STEP_MULTIPLE: Final = 1e3
# After this many sweeps the coefficients are summed again, because of rounding.
SWEEPS_PER_SUM: Final = 64
# After these numbers of sweeps the ascent is slow: the undecided rows are tried as a working set.
WORKING_SET_SWEEPS: Final = (64, 256, 1024, 4096)
MAX_WORKING_SETS: Final = 10
# Estimates of the support vectors are compared after this many sweeps, at most this many times.
SWEEPS_PER_ESTIMATE: Final = 8
MAX_ESTIMATES: Final = 8


def maximise(problem: MarginProblem, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem with any number of columns."""
    ascent = DualAscent(problem, seed)
    for sweep in range(1, max_iter + 1):
        gap, dual = ascent.sweep()
        problem.steps[0] += 1
        if not np.isfinite(gap):
            raise OverflowError("The dual value is not a number.")
        if sweep >= FIRST_SUBSPACE_SWEEP and sweep % SWEEPS_PER_SUBSPACE_STEP == 0:
            ascent.subspace_step()
        slow = sweep in WORKING_SET_SWEEPS or sweep == max_iter
        if gap <= 0.9 * tol * dual or slow:
            stop = Stop("dual", tol, "max_iter")
            fit = from_multipliers(problem, stop, problem.balanced(ascent.alpha).copy())
            if slow and not fit.solution.converged:
                fit = _by_working_sets(problem, fit, stop)
            if fit.solution.converged:
                break
            ascent.visit_all_again()
    return fit


def _by_working_sets(problem: MarginProblem, reached: MarginFit, stop: Stop) -> MarginFit:
    """The solution with a working set of the rows between their bounds or on the wrong side of the hinge point."""
    has_slack = reached.slacks > 0
    bounded = np.zeros_like(has_slack) if problem.squared else has_slack & (reached.alpha >= problem.cost)
    members = ~bounded & ((reached.alpha > 0) | has_slack)
    if not members.any() or not affordable(problem, int(np.count_nonzero(members))):
        return reached
    start = WorkingSet(np.zeros_like(reached.solution.theta), members, bounded)
    return better(reached, solve_working_sets(problem, start, stop, MAX_WORKING_SETS))


def estimated_support(problem: MarginProblem) -> Array:
    """An estimate of the support vectors of the hard margin, largest multipliers first.

    Coordinate ascent soon finds which multipliers are above 0, long before their values. If the classes are not
    separable the multipliers diverge, and the estimate is useless.
    """
    ascent = DualAscent(problem, 0)
    ascent.upper = np.full_like(ascent.alpha, np.inf)
    support = ascent.alpha > 0
    for _ in range(MAX_ESTIMATES):
        before = support
        for _ in range(SWEEPS_PER_ESTIMATE):
            ascent.sweep()
        ascent.subspace_step()
        support = ascent.alpha > 0
        if np.array_equal(support, before):
            break
    estimate = np.flatnonzero(support)
    return estimate[np.argsort(-ascent.alpha[estimate], kind="stable")]


class DualAscent:
    """The state of the ascent: multipliers, and the coefficients and intercept they imply."""

    rows: Array | tuple[Any, ...]  #: all rows, in the form that kernels take

    def __init__(self, problem: MarginProblem, seed: int) -> None:
        self.problem, n = problem, problem.data.n_rows
        self.upper, self.diagonal = problem.upper, problem.diagonal
        rows, standard = problem.rows.block(0, n), problem.objective.standardised
        if not sp.issparse(rows) and standard.needs_centering and problem.fit_intercept:
            rows = rows - standard.centre
        self.squares = squared_lengths(rows)
        self.rows = csr_parts(rows) if sp.issparse(rows) else rows
        self.proximal = PROXIMAL_WEIGHT * float(self.squares.mean()) if problem.fit_intercept else 0.0
        self.alpha, self.coef, self.bias = np.zeros(n), np.zeros(problem.data.rows.n_columns), 0.0
        self.order = np.empty(n, dtype=np.int64)
        #: The number of sweeps for which a row was last skipped, and the sweep in which it is visited next.
        self.rest, self.due = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.count, self.random = 0, SEED + seed
        self.past: deque[tuple[Array, Array]] = deque(maxlen=SUBSPACE_STEPS)

    def sweep(self) -> tuple[float, float]:
        """Visit the rows that are due; an estimate of the duality gap, and the dual value."""
        n_due, self.random = kernels.shuffled_due(self.due, self.count, self.order, self.random)
        fixed = self.problem.sign, self.upper, self.diagonal, self.squares
        ascent = self.alpha, self.coef, self.rest, self.due
        self.bias, gap = kernels.sweep_over(
            self.rows, self.order[:n_due], fixed, ascent, self.bias, self.proximal, self.count
        )
        self.bias += self.proximal * float(self.alpha @ self.problem.sign)
        self.count += 1
        self.problem.objective.counter.add(n_due / len(self.alpha))
        return gap, float(self.alpha.sum()) - self._conjugate(self.alpha) - 0.5 * float(self.coef @ self.coef)

    def _conjugate(self, alpha: Array) -> float:
        """The squared hinge's term of the dual value."""
        return 0.5 * float(self.diagonal @ alpha**2) if self.problem.squared else 0.0

    def subspace_step(self) -> None:
        """Move to the best point in the span of the last steps, or of the last one, if the dual value rises."""
        if self.count % SWEEPS_PER_SUM == 0:
            self._sum_coefficients()
        steps = [(self.alpha - alpha, self.coef - coef) for alpha, coef in self.past]
        self.past.append((self.alpha.copy(), self.coef.copy()))
        for chosen in (steps, steps[-1:]):
            if chosen and self._take_combination(chosen):
                self.past.append((self.alpha.copy(), self.coef.copy()))
                return

    def _take_combination(self, steps: list[tuple[Array, Array]]) -> bool:
        """Move to the best combination of these steps, clipped to the bounds; False if the dual value does not rise."""
        sign = self.problem.sign
        in_alpha, in_coef = np.array([step for step, _ in steps]), np.array([step for _, step in steps])
        in_balance = in_alpha @ sign
        slope = in_alpha @ (1.0 - self.diagonal * self.alpha) - in_coef @ self.coef - self.bias * in_balance
        curvature = in_coef @ in_coef.T + self.proximal * np.outer(in_balance, in_balance)
        curvature += (in_alpha * self.diagonal) @ in_alpha.T if self.problem.squared else 0.0
        curvature[np.diag_indices(len(steps))] *= 1 + 1e-8
        try:
            multiples = np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:
            return False
        if not np.abs(multiples).max() < MAX_STEP_MULTIPLE:
            return False
        unbounded = self.alpha + multiples @ in_alpha
        alpha = np.clip(unbounded, 0.0, self.upper)
        coef = self.coef + multiples @ in_coef
        clipped = np.flatnonzero(alpha != unbounded)
        kernels.add_rows(self.rows, clipped, ((alpha - unbounded) * sign)[clipped], coef)
        change = alpha - self.alpha
        balance = float(change @ sign)
        gain = float(change.sum()) - self.bias * balance - 0.5 * self.proximal * balance**2
        gain -= 0.5 * float(coef @ coef - self.coef @ self.coef) + self._conjugate(alpha) - self._conjugate(self.alpha)
        if not gain > 0:
            return False
        self.alpha, self.coef = alpha, coef
        self.bias += self.proximal * balance
        return True

    def _sum_coefficients(self) -> None:
        """Compute the coefficients from the multipliers: subspace steps multiply the rounding between the two."""
        chosen, self.coef = np.flatnonzero(self.alpha), np.zeros_like(self.coef)
        kernels.add_rows(self.rows, chosen, (self.alpha * self.problem.sign)[chosen], self.coef)
        self.past.clear()

    def visit_all_again(self) -> None:
        """Make every row due."""
        self._sum_coefficients()
        self.due[:] = self.count
        self.rest[:] = 0
