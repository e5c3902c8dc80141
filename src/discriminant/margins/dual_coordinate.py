"""Dual coordinate ascent for support vector machines with sparse rows or many columns.

One variable at a time is set to its best value, in an order shuffled anew in each sweep (Hsieh et al. 2008). Rows whose
variable rests at a bound are visited less and less often (shrinking), until a look at all rows says that the solution
is good.

The intercept would tie all variables together by ``sum alpha * sign = 0``. Instead a small multiple of the squared
distance to its last value is added, which makes it one more column; that value follows after every sweep (the proximal
point method, Rockafellar 1976). At the solution the distance is 0, and the condition holds.

Sweeps creep along in the directions in which rows depend on each other. Every few of them, the dual is maximised over
all combinations of the last steps (a small system of equations) and the result clipped to the bounds: where it gains,
the ascent goes on from there.

Rows tell their share of the duality gap as they are visited, so it is known about when to stop at no cost.

The ascent finds out fast which rows have multipliers at their bounds, but where C is large and columns are few, or of
unlike size, it takes very long for the others. If they are few enough, they make a working set that is solved exactly
(`interior_point`).
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..kernels import csr_parts
from ..kernels import dual_coordinate as kernels
from .interior_point import WorkingSet, affordable, solve_working_sets
from .problem import MarginFit, MarginProblem, Stop, better, from_multipliers

#: The proximal weight of the intercept, relative to the rows' mean square: small enough to change nothing, large enough
#: to keep the intercept from swinging.
PROXIMAL = 0.01
#: A subspace step is tried after so many sweeps, along so many steps, from a certain sweep on.
_BETWEEN_SUBSPACES, _STEPS, _FIRST_SUBSPACE = 4, 5, 8
#: It goes at most this many times as far as the steps did.
_FARTHEST = 1e3
#: After so many sweeps the coefficients are computed anew.
_BETWEEN_SUMS = 64
SEED = 88172645463325252
#: After so many sweeps the ascent is slow: what is left is tried as a working set.
_PATIENCE = (64, 256, 1024, 4096)
#: Most working sets, each with the rows that violated their condition after the one before.
_MOST_WORKING_SETS = 10
#: A guess at the support vectors is looked at after every so many sweeps, and so often at most.
_BETWEEN_LOOKS, _MOST_LOOKS = 8, 8


def maximise(problem: MarginProblem, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The solution of a soft-margin problem, for any number of columns."""
    ascent = _Ascent(problem, seed)
    for sweep in range(1, max_iter + 1):
        gap, dual = ascent.sweep()
        problem.steps[0] += 1
        if not np.isfinite(gap):
            raise OverflowError("The dual value is not a number.")
        if sweep >= _FIRST_SUBSPACE and sweep % _BETWEEN_SUBSPACES == 0:
            ascent.subspace_step()
        slow = sweep in _PATIENCE or sweep == max_iter
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
    """The solution with all rows in the working set that the ascent left between bounds or on the wrong side."""
    short = reached.slacks > 0
    bounded = np.zeros_like(short) if problem.squared else short & (reached.alpha >= problem.cost)
    members = ~bounded & ((reached.alpha > 0) | short)
    if not members.any() or not affordable(problem, int(np.count_nonzero(members))):
        return reached
    start = WorkingSet(np.zeros_like(reached.solution.theta), members, bounded)
    return better(reached, solve_working_sets(problem, start, stop, _MOST_WORKING_SETS))


def likely_support(problem: MarginProblem) -> Array:
    """The rows that seem to support the widest margin without any slack, whatever C; those that pull most come first.

    It is a guess without a proof: the ascent finds out fast which multipliers are above 0, long before it knows them.
    Where there is no such margin they rise for ever, and the guess is worth nothing.
    """
    ascent = _Ascent(problem, 0)
    ascent.upper = np.full_like(ascent.alpha, np.inf)
    now = ascent.alpha > 0
    for _ in range(_MOST_LOOKS):
        before = now
        for _ in range(_BETWEEN_LOOKS):
            ascent.sweep()
        ascent.subspace_step()
        now = ascent.alpha > 0
        if np.array_equal(now, before):
            break
    guess = np.flatnonzero(now)
    return guess[np.argsort(-ascent.alpha[guess], kind="stable")]


class _Ascent:
    """The state of the ascent: multipliers, and the coefficients and intercept they imply."""

    rows: Any  #: all of them, as the kernels read them

    def __init__(self, problem: MarginProblem, seed: int) -> None:
        self.problem, n = problem, problem.data.n_rows
        self.upper, self.diagonal = problem.upper, problem.diagonal
        rows, standard = problem.data.rows.block(0, n), problem.objective.standardised
        if sp.issparse(rows):
            self.rows, self.squares = csr_parts(rows), np.empty(n)
            kernels.row_squares(self.rows, self.squares)
        else:  # centred where a far centre would cost digits
            self.rows = rows - standard.centre if standard.far and problem.fit_intercept else rows
            self.squares = np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64)
        self.proximal = PROXIMAL * float(self.squares.mean()) if problem.fit_intercept else 0.0
        self.alpha, self.coef, self.bias = np.zeros(n), np.zeros(problem.data.rows.n_columns), 0.0
        self.order = np.empty(n, dtype=np.int64)
        self.rest, self.due = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.count, self.random = 0, SEED + seed
        self.past: deque[tuple[Array, Array]] = deque(maxlen=_STEPS)

    def sweep(self) -> tuple[float, float]:
        """Visit the rows whose turn it is; an estimate of the duality gap and the dual value."""
        turns, self.random = kernels.shuffled_due(self.due, self.count, self.order, self.random)
        fixed = self.problem.sign, self.upper, self.diagonal, self.squares
        ascent = self.alpha, self.coef, self.rest, self.due
        self.bias, gap = kernels.sweep_over(
            self.rows, self.order[:turns], fixed, ascent, self.bias, self.proximal, self.count
        )
        self.bias += self.proximal * float(self.alpha @ self.problem.sign)
        self.count += 1
        self.problem.objective.passes[0] += turns / len(self.alpha)
        return gap, float(self.alpha.sum()) - self._conjugate(self.alpha) - 0.5 * float(self.coef @ self.coef)

    def _conjugate(self, alpha: Array) -> float:
        """What the square of the slacks takes off the dual value."""
        return 0.5 * float(self.diagonal @ alpha**2) if self.problem.squared else 0.0

    def subspace_step(self) -> None:
        """Go to the best point in the span of the last steps, or of the last one, if that gains."""
        if self.count % _BETWEEN_SUMS == 0:
            self._sum_up()
        steps = [(self.alpha - alpha, self.coef - coef) for alpha, coef in self.past]
        self.past.append((self.alpha.copy(), self.coef.copy()))
        for chosen in (steps, steps[-1:]):
            if chosen and self._gains(chosen):
                self.past.append((self.alpha.copy(), self.coef.copy()))
                return

    def _gains(self, steps: list[tuple[Array, Array]]) -> bool:
        """Go to the best combination of these steps, clipped to the bounds, if the dual gains; whether it did."""
        sign = self.problem.sign
        by, along = np.array([step for step, _ in steps]), np.array([step for _, step in steps])
        tilt = by @ sign
        slope = by @ (1.0 - self.diagonal * self.alpha) - along @ self.coef - self.bias * tilt
        curvature = along @ along.T + self.proximal * np.outer(tilt, tilt)
        curvature += (by * self.diagonal) @ by.T if self.problem.squared else 0.0
        curvature[np.diag_indices(len(steps))] *= 1 + 1e-8
        try:
            amounts = np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:
            return False
        if not np.abs(amounts).max() < _FARTHEST:  # many times rounding: coef would no longer be alpha's
            return False
        wanted = self.alpha + amounts @ by
        alpha = np.clip(wanted, 0.0, self.upper)
        coef = self.coef + amounts @ along
        clipped = np.flatnonzero(alpha != wanted)
        kernels.add_rows(self.rows, clipped, ((alpha - wanted) * sign)[clipped], coef)
        change = alpha - self.alpha
        pull = float(change @ sign)
        gain = float(change.sum()) - self.bias * pull - 0.5 * self.proximal * pull**2
        gain -= 0.5 * float(coef @ coef - self.coef @ self.coef) + self._conjugate(alpha) - self._conjugate(self.alpha)
        if not gain > 0:
            return False
        self.alpha, self.coef = alpha, coef
        self.bias += self.proximal * pull
        return True

    def _sum_up(self) -> None:
        """Compute the coefficients anew: subspace steps multiply the rounding between them and the multipliers."""
        chosen, self.coef = np.flatnonzero(self.alpha), np.zeros_like(self.coef)
        kernels.add_rows(self.rows, chosen, (self.alpha * self.problem.sign)[chosen], self.coef)
        self.past.clear()

    def visit_all_again(self) -> None:
        """Give every row a turn again."""
        self._sum_up()
        self.due[:] = self.count
        self.rest[:] = 0
