"""Dual coordinate ascent for support vector machines with sparse rows or many columns.

One variable at a time is set to its best value, in an order shuffled anew in each sweep (Hsieh et al. 2008). Rows whose
variable rests at a bound are visited less and less often, until a look at all rows says that the solution is good.

The intercept would tie all variables together by ``sum alpha * sign = 0``. Instead it is drawn to its last value by a
weak spring, which makes it one more column, and the spring's other end follows after every sweep (the proximal point
method). At rest the spring is slack, and the condition holds.

Sweeps creep along in the directions in which rows depend on each other. Every few of them, the dual is maximised over
all combinations of the last steps (a small system of equations) and the result clipped to the bounds: where it gains,
the ascent goes on from there.

Rows tell their share of the duality gap as they are visited, so it is known about when to stop at no cost.

The ascent finds out fast which rows have multipliers at their bounds, but where C is large and columns are few, or of
unlike size, it takes very long for the others. If they are few enough, they are settled exactly (`interior_point`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import dual_coordinate as kernels
from .interior_point import WorkingSet, affordable, solve_working_sets
from .problem import MarginFit, MarginProblem, balanced, from_multipliers

Array = np.ndarray[Any, Any]

#: The spring's yield relative to a row's mean square: weak enough not to be felt, strong enough to hold.
_GIVE = 0.01
#: Sweeps a row at its bound is left out at most.
_LONGEST_REST = 15
#: A leap is tried after so many sweeps, along so many steps, from a certain sweep on.
_BETWEEN_LEAPS, _STEPS, _FIRST_LEAP = 4, 5, 8
#: It goes at most this many times as far as the steps did.
_FARTHEST_LEAP = 1e3
#: After so many sweeps the coefficients are computed anew.
_BETWEEN_SUMS = 64
_SEED = 88172645463325252
#: After so many sweeps the ascent is slow: it is tried to settle the rows that are left together.
_PATIENCE = (64, 256, 1024, 4096)
#: Rounds of settling, each with the rows that have crossed their corner.
_MOST_ROUNDS = 10
#: A guess at the support vectors is looked at after every so many sweeps, and so often at most.
_BETWEEN_LOOKS, _MOST_LOOKS = 8, 8


def maximise(problem: MarginProblem, tol: float, max_iter: int, seed: int = 0) -> MarginFit:
    """The widest margin, for any number of columns."""
    ascent = _Ascent(problem, seed)
    for sweep in range(1, max_iter + 1):
        gap, dual = ascent.sweep()
        if not np.isfinite(gap):
            raise OverflowError("The dual value is not a number.")
        if sweep >= _FIRST_LEAP and sweep % _BETWEEN_LEAPS == 0:
            ascent.leap()
        slow = sweep in _PATIENCE or sweep == max_iter
        if gap <= 0.9 * tol * dual or slow:
            fit = ascent.fit(tol, sweep)
            if slow and not fit.solution.converged:
                fit = ascent.settled(fit, tol, sweep)
            if fit.solution.converged or sweep == max_iter:
                return fit
            ascent.wake()
    raise AssertionError("unreachable")


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
        ascent.leap()
        now = ascent.alpha > 0
        if np.array_equal(now, before):
            break
    guess = np.flatnonzero(now)
    return guess[np.argsort(-ascent.alpha[guess], kind="stable")]


class _Ascent:
    """The state of the ascent: multipliers, and the coefficients and intercept they imply."""

    def __init__(self, problem: MarginProblem, seed: int) -> None:
        self.problem, n = problem, problem.data.n_rows
        self.upper = np.full(n, np.inf) if problem.squared else problem.cost
        with np.errstate(divide="ignore"):
            # A row of weight 0 is bent so much that its multiplier stays 0.
            self.diagonal = np.minimum(0.5 / problem.cost, 1e300) if problem.squared else np.zeros(n)
        self.rows = _whole(problem)
        self.squares = _squares(self.rows)
        self.give = _GIVE * float(self.squares.mean()) if problem.fit_intercept else 0.0
        self.alpha, self.coef, self.bias = np.zeros(n), np.zeros(problem.data.rows.n_columns), 0.0
        self.order = np.empty(n, dtype=np.int64)
        self.rest, self.due = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.count, self.state = 0, np.uint64(_SEED + seed)
        self.past: deque[tuple[Array, Array]] = deque(maxlen=_STEPS)

    def sweep(self) -> tuple[float, float]:
        """Visit the rows whose turn it is; an estimate of the duality gap and the dual value."""
        turns, state = kernels.shuffled_due(self.due, self.count, self.order, self.state)
        self.state = np.uint64(state)
        whom = (
            self.order[:turns], self.problem.sign, self.upper, self.diagonal, self.squares, self.give, self.alpha,
            self.coef, self.bias, self.rest, self.due, self.count, _LONGEST_REST,
        )  # fmt: skip
        if sp.issparse(self.rows):
            self.bias, gap = kernels.csr_sweep(self.rows.data, self.rows.indices, self.rows.indptr, *whom)
        else:
            self.bias, gap = kernels.dense_sweep(self.rows, *whom)
        self.bias += self.give * float(self.alpha @ self.problem.sign)
        self.count += 1
        self.problem.objective.passes[0] += turns / len(self.alpha)
        bent = 0.5 * float(np.sum(self.diagonal * self.alpha**2)) if self.problem.squared else 0.0
        return gap, float(self.alpha.sum()) - bent - 0.5 * float(self.coef @ self.coef)

    def leap(self) -> None:
        """Go to the best point in the span of the last steps, or of the last one, if that gains."""
        if self.count % _BETWEEN_SUMS == 0:
            self._sum_up()
        steps = [(self.alpha - alpha, self.coef - coef) for alpha, coef in self.past]
        self.past.append((self.alpha.copy(), self.coef.copy()))
        for chosen in (steps, steps[-1:]):
            if chosen and self._leapt(chosen):
                self.past.append((self.alpha.copy(), self.coef.copy()))
                return

    def _leapt(self, steps: list[tuple[Array, Array]]) -> bool:
        sign = self.problem.sign
        by, along = np.array([step for step, _ in steps]), np.array([step for _, step in steps])
        tilt = by @ sign
        bent = (by * self.diagonal) @ by.T if self.problem.squared else 0.0
        slope = by @ (1.0 - self.diagonal * self.alpha) - along @ self.coef - self.bias * tilt
        curvature = along @ along.T + self.give * np.outer(tilt, tilt) + bent
        curvature[np.diag_indices(len(steps))] *= 1 + 1e-8
        try:
            amounts = np.linalg.solve(curvature, slope)
        except np.linalg.LinAlgError:
            return False
        if not np.abs(amounts).max() < _FARTHEST_LEAP:  # many times rounding: coef would no longer be alpha's
            return False
        wanted = self.alpha + amounts @ by
        alpha = np.clip(wanted, 0.0, self.upper)
        coef = self.coef + amounts @ along
        clipped = np.flatnonzero(alpha != wanted)
        self._add_rows(clipped, ((alpha - wanted) * sign)[clipped], coef)
        change = alpha - self.alpha
        pull = float(change @ sign)
        gain = float(change.sum()) - self.bias * pull - 0.5 * self.give * pull**2
        gain -= 0.5 * float(coef @ coef - self.coef @ self.coef)
        gain -= 0.5 * float(self.diagonal @ (alpha**2 - self.alpha**2)) if self.problem.squared else 0.0
        if not gain > 0:
            return False
        self.alpha, self.coef = alpha, coef
        self.bias += self.give * pull
        return True

    def _sum_up(self) -> None:
        """Compute the coefficients anew from the multipliers: leaps multiply what rounding has put between them."""
        chosen, coef = np.flatnonzero(self.alpha), np.zeros_like(self.coef)
        self._add_rows(chosen, (self.alpha * self.problem.sign)[chosen], coef)
        self.coef = coef
        self.past.clear()

    def _add_rows(self, chosen: Array, amounts: Array, coef: Array) -> None:
        if sp.issparse(self.rows):
            parts = self.rows.data, self.rows.indices, self.rows.indptr
            kernels.csr_add_rows(*parts, chosen, amounts, coef)
        else:
            coef += amounts @ self.rows[chosen]

    def wake(self) -> None:
        """Give every row a turn again."""
        self._sum_up()
        self.due[:] = self.count
        self.rest[:] = 0

    def fit(self, tol: float, sweeps: int) -> MarginFit:
        """The solution as it stands, with the best intercept for its coefficients."""
        problem = self.problem
        alpha = balanced(self.alpha, problem.sign) if problem.fit_intercept else self.alpha.copy()
        return from_multipliers(problem, alpha, tol, sweeps, "dual", "max_iter")

    def settled(self, reached: MarginFit, tol: float, sweeps: int) -> MarginFit:
        """The solution with all rows settled that the ascent left between their bounds or on the wrong side."""
        problem = self.problem
        short = reached.slacks > 0
        pulling = np.zeros_like(short) if problem.squared else short & (reached.alpha >= problem.cost)
        near = ~pulling & ((reached.alpha > 0) | short)
        if not near.any() or not affordable(problem, int(np.count_nonzero(near))):
            return reached
        start = WorkingSet(np.zeros_like(reached.solution.theta), near, pulling)
        fit = solve_working_sets(problem, start, tol, _MOST_ROUNDS, "dual")
        solution = replace(fit.solution, iterations=sweeps, reason=reached.solution.reason)
        return min(reached, replace(fit, solution=solution), key=lambda fit: fit.solution.excess)


def _whole(problem: MarginProblem) -> Any:
    """All rows at once, centred where a far centre would cost digits."""
    rows = problem.data.rows.block(0, problem.data.n_rows)
    standard = problem.objective.standardised
    if sp.issparse(rows) or not (standard.far and problem.fit_intercept):
        return rows
    return rows - standard.centre


def _squares(rows: Any) -> Array:
    if not sp.issparse(rows):
        return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    out = np.empty(rows.shape[0])
    kernels.row_squares(rows.data, rows.indptr, out)
    return out
