"""The support vector machine of a working set of rows, exactly: an interior point method and a crossover.

All rows outside the working set are on one side of the hinge's kink for good: their multipliers are 0 or at the upper
bound, and they count as a constant gradient. What is left is

``min  ridge theta^2 / 2 + linear'theta + sum_i share_i loss(slack_i)``,  rows theta + slack - surplus = 1,

slack and surplus not negative. A row's multiplier is ``share * dual``; at the minimum ``dual * surplus = 0`` and, for
the plain slack, ``(1 - dual) * slack = 0`` (for its square, ``dual = 2 slack``). The method keeps all of these positive
and lets the products go to 0 together (Mehrotra 1992). It does not mind rows that are equal, or more of them at the
kink than there are unknowns. On the way it is guessed which rows end up exactly at the kink: if their equations have a
solution that proves to be the minimum, that is the answer to the last digit (a crossover to an active set).

A pass over all rows then tells whether any row outside the working set is on the other side of its kink now; such rows
join, and the problem is solved once more (decomposition by working sets, Osuna, Freund & Girosi 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, lstsq

from ..arrays import Array
from .problem import MarginFit, MarginProblem, Stop, at_point, better, from_multipliers, standard_rows

_MOST_STEPS = 100
#: Duality gap, relative to the minimum, below which a crossover to the active set is tried at each step.
_CROSSOVER = 1e-3
#: A gap like this, relative to the minimum, is nothing but rounding.
_ROUNDING = 1e-14
#: Equations that hold to this are solved.
_SOLVED = 1e-11
#: With a gap of this size, relative to the minimum, multipliers next to a bound are set to the bound.
_AT_BOUND = 1e-10
#: A start is given up for one at 0 if it led to a gap, relative to the minimum, above this.
_GOOD = 1e-9
#: More rows at the kink than this for each unknown are no active set that could be right.
_HELD_PER_UNKNOWN = 3
#: Working sets are limited to this many multiplications a step, about a second.
_MOST_WORK = 1e9
#: Up to this many columns they are not reduced to the dimensions of fewer rows: inner products would cost digits.
_FEW_COLUMNS = 200
_CORRECTIONS = 2
#: Steps go this part of the way to the point where something positive would become 0 (Mehrotra's usual 0.995).
_SHORT_OF_ZERO = 0.995
#: A shorter step leads nowhere.
_SHORTEST = 1e-6


_gap = itemgetter(0)


@dataclass(frozen=True)
class _NewtonSystem:
    """The linear system of a step at one point: what all its right sides share."""

    programme: HingeProgramme
    state: Array
    weight: Array  #: of each row in the Hessian of the unknowns, without its share
    factor: Array  #: the Cholesky factor of that Hessian
    short: Array  #: ``1 - rows theta``
    descent: Array  #: minus the gradient

    def direction(self, target: float, by_surplus: Any, by_slack: Any) -> tuple[Array, Array]:
        """The changes of state and theta that bring all complementary products to ``target``, to first order.

        ``by_surplus`` and ``by_slack`` are the predictor's products of the dual's change with theirs.
        """
        (dual, room, slack, surplus), own = self.state, self.programme
        # First what slack and surplus would change by if the dual stayed, then what the dual's change adds.
        d_surplus = (target - dual * surplus - by_surplus) / dual
        d_slack = np.zeros_like(slack) if own.squared else (target - room * slack + by_slack) / room
        missing = self.short - slack + surplus + d_surplus - d_slack
        right = self.descent + (own.share * self.weight * missing) @ own.rows
        d_theta = cho_solve((self.factor, True), right, check_finite=False)
        d_dual = self.weight * (missing - own.rows @ d_theta)
        d_slack = 0.5 * d_dual if own.squared else d_slack + slack / room * d_dual
        return np.stack((d_dual, -d_dual, d_slack, d_surplus - surplus / dual * d_dual)), d_theta


@dataclass(frozen=True)
class HingeProgramme:
    """The quadratic programme of a working set.

    Attributes
    ----------
    rows : array of shape (m, q)
        Rows times their sign, with the intercept's column last if there is one.
    share : array of shape (m,)
        A row's part of the mean loss, above 0.
    linear, ridge : arrays of shape (q,)
        Gradient of the rows that are left out, and second derivative of the penalty (0 for the intercept alone).
    constant : float
        What the rows that are left out add to the value.
    squared : bool
        Whether the loss is the square of the slack.
    """

    rows: Array
    share: Array
    linear: Array
    ridge: Array
    constant: float = 0.0
    squared: bool = False

    def minimise(self, theta: Array, width: float, steps: list[int]) -> tuple[Array, Array]:
        """The minimum: theta, and the multipliers divided by ``share``; adds to the number of steps taken.

        Begins at ``theta``, at which rows within ``width`` of the kink matter. If that leads nowhere, begins at 0.
        """
        with np.errstate(all="ignore"):  # products that overflow end the way, and are looked for
            found = self._from(theta, width, steps)
            if not found[0] <= _GOOD * (self.constant + self._value(found[1])):
                found = min(found, self._from(np.zeros_like(theta), 1.0, steps), key=_gap)
        return found[1], found[2]

    def _from(self, theta: Array, width: float, steps: list[int]) -> tuple[float, Array, Array]:
        """The best point met on the way from ``theta``, behind its gap; multipliers next to their bounds are there."""
        theta, state = theta.copy(), self._state_at(theta, width)
        found, guess = self._with_gap(theta.copy(), state[0].copy()), np.empty(0)
        for _ in range(_MOST_STEPS):
            if not self._advance(theta, state):
                break
            steps[0] += 1
            # How far the values of this point and of its multipliers are apart, once their equations hold.
            gap, size = self._complementarity(state), self.constant + self._value(theta)
            found = min(found, self._with_gap(theta.copy(), state[0].copy()), key=_gap)
            if gap < _CROSSOVER * size:
                before, guess = guess, np.concatenate(self._active(state))
                # A set that still changes is not right yet.
                exact = self._exact(state) if np.array_equal(before, guess) else None
                found = found if exact is None else min(self._with_gap(*exact), found, key=_gap)
            if min(found[0], gap) <= _ROUNDING * size:
                break
        least, theta, dual = found
        above, full = self._active(state)
        at_bounds = self._with_gap(theta, np.where(full, 1.0, np.where(above, dual, 0.0)))
        return at_bounds if at_bounds[0] <= max(2 * least, _AT_BOUND * (self.constant + self._value(theta))) else found

    def _advance(self, theta: Array, state: Array) -> bool:
        """Take a step in place; whether there was one."""
        dual, room, slack, surplus = state
        weight = 1.0 / ((0.5 if self.squared else slack / room) + surplus / dual)
        hessian = (self.rows * (self.share * weight)[:, None]).T @ self.rows
        hessian[np.diag_indices(len(hessian))] += self.ridge
        scale = np.sqrt(np.diagonal(hessian))
        try:
            factor = np.linalg.cholesky(hessian / scale / scale[:, None]) * scale[:, None]
        except np.linalg.LinAlgError:
            return False
        short = 1.0 - self.rows @ theta
        descent = (self.share * dual) @ self.rows - self.linear - self.ridge * theta
        system = _NewtonSystem(self, state, weight, factor, short, descent)
        change, _ = system.direction(0.0, 0.0, 0.0)
        gap, then = self._complementarity(state), self._complementarity(state + self._longest(state, change) * change)
        # The predictor tells how far complementary products can be brought down (Mehrotra 1992).
        target = (then / max(gap, 1e-300)) ** 3 * gap / self.share.sum() / (1.0 if self.squared else 2.0)
        d_dual, _, d_slack, d_surplus = change
        change, d_theta = system.direction(target, d_dual * d_surplus, d_dual * d_slack)
        length = self._longest(state, change, _SHORT_OF_ZERO)
        if not (length >= _SHORTEST and np.isfinite(d_theta).all()):
            return False
        theta += length * d_theta
        state += length * change
        return True

    def _state_at(self, theta: Array, width: float) -> Array:
        """Each row's multiplier divided by its share (the *dual*), 1 minus the dual (its *room*), slack and surplus.

        All are positive (4, m), and slack times surplus is ``width^2`` for every row.
        """
        short = 1.0 - self.rows @ theta
        root = np.sqrt(short**2 + 4.0 * width**2)
        # Far on the right side short + root would cancel.
        slack = np.where(short > 0, 0.5 * (short + root), 2.0 * width**2 / (np.abs(short) + root))
        surplus = width**2 / slack
        return np.stack((2.0 * slack if self.squared else slack / root, surplus / (slack + surplus), slack, surplus))

    def _complementarity(self, state: Array) -> float:
        """The sum of the complementary products, each times its row's share."""
        dual, room, slack, surplus = state
        products = dual * surplus if self.squared else dual * surplus + room * slack
        return float(self.share @ products)

    def _longest(self, state: Array, change: Array, part: float = 1.0) -> float:
        """The part of the way to where something positive would become 0, 1 at most."""
        if self.squared:  # room is free, and slack a multiple of the dual
            state, change = state[[0, 3]], change[[0, 3]]
        falls = change < 0
        return min(1.0, part * float(np.min(-state[falls] / change[falls], initial=np.inf)))

    def _active(self, state: Array) -> tuple[Array, Array]:
        """Which rows seem to have a multiplier above 0, and which of them the largest there is."""
        dual, room, slack, surplus = state
        above = dual > surplus * dual.max()
        return above, np.zeros_like(above) if self.squared else above & (room < slack)

    def _value(self, theta: Array) -> float:
        slack = np.maximum(1.0 - self.rows @ theta, 0.0)
        losses = slack**2 if self.squared else slack
        return float(self.linear @ theta + 0.5 * self.ridge @ theta**2 + self.share @ losses)

    def _with_gap(self, theta: Array, dual: Array) -> tuple[float, Array, Array]:
        """A point and its multipliers behind the distance of their values, the bound on that to the minimum."""
        gradient = self.linear - (self.share * dual) @ self.rows
        curved = self.ridge > 0
        conjugate = 0.25 * dual**2 if self.squared else 0.0
        value = self.share @ (dual - conjugate) - 0.5 * np.sum(gradient[curved] ** 2 / self.ridge[curved])
        # Multipliers whose sides do not balance are no bound yet: making them so costs about this much.
        unbalanced = float(np.abs(gradient[~curved]).sum()) * (1.0 + float(np.abs(theta[~curved]).sum()))
        gap = self._value(theta) - float(value) + unbalanced
        return gap if np.isfinite(gap) else np.inf, theta, dual

    def _exact(self, state: Array) -> tuple[Array, Array] | None:
        """The solution with the rows at the kink that seem to be there; None if there is no such solution."""
        above, full = self._active(state)
        held = above & ~full
        if np.count_nonzero(held) > _HELD_PER_UNKNOWN * len(self.ridge):
            return None
        theta, multipliers = self._held(self.rows[held], self.share[held], self.share[full] @ self.rows[full])
        dual = np.where(full, 1.0, 0.0)
        dual[held] = multipliers / self.share[held]
        within = np.isfinite(dual).all() and dual.min() >= 0 and (self.squared or dual.max() <= 1)
        return (theta, dual) if within else None

    def _held(self, rows: Array, share: Array, pull: Array) -> tuple[Array, Array]:
        """theta that minimises the quadratic part with ``rows`` at the kink, and their multipliers.

        Equal rows share theirs equally.
        """
        q, m = len(self.ridge), len(rows)
        below = np.diag(-0.5 / share) if self.squared else np.zeros((m, m))
        system = np.block([[np.diag(self.ridge), rows.T], [rows, below]])
        # Both kinds of unknowns at their own scale.
        scale = np.sqrt(float(self.ridge.max()) / max(float(np.abs(rows).max(initial=0.0)), 1e-300))
        units = np.concatenate((np.ones(q), np.full(m, scale)))
        target = np.concatenate((pull - self.linear, np.ones(m)))
        scaled = system * units * units[:, None]
        try:
            found = units * np.linalg.solve(scaled, target * units)
        except np.linalg.LinAlgError:
            found = np.full(q + m, np.nan)
        if not np.abs(system @ found - target).max() < _SOLVED:
            found = units * lstsq(scaled, target * units, lapack_driver="gelsy")[0]
        return found[:q], -found[q:]


def affordable(problem: MarginProblem, n_rows: int) -> bool:
    """Whether a working set may have this many rows."""
    return n_rows * float(min(n_rows, problem.objective.shape[1])) ** 2 <= _MOST_WORK


@dataclass(frozen=True)
class WorkingSet:
    """Where the search begins.

    Attributes
    ----------
    theta : array of shape (1, q)
    members : array of bool
        Rows whose multipliers are sought.
    bounded : array of bool
        Others that have their full multiplier; none for the squared loss, whose multipliers have no largest value.
    width : float
        About how far from the kink rows are that matter at ``theta``; 1 if it is not known to be good.
    """

    theta: Array
    members: Array
    bounded: Array
    width: float = 1.0


def solve_working_sets(problem: MarginProblem, start: WorkingSet, stop: Stop, max_iter: int) -> MarginFit:
    """The solution from there, by working sets that grow as long as they can be afforded."""
    theta, members, bounded = start.theta, start.members.copy(), start.bounded.copy()
    for _ in range(max_iter):
        chosen = np.flatnonzero(members)
        own = problem.objective.n_columns <= max(len(chosen), _FEW_COLUMNS)  # whether the unknowns are theta itself
        alpha = np.where(bounded, problem.cost, 0.0)
        linear, ridge = problem.pull(alpha)[0], problem.objective.ridge[0]
        if own:
            rows = standard_rows(problem, chosen)
        else:
            rows, linear, ridge = _reduced(problem, chosen, linear)
        share, constant = problem.cost[chosen] / problem.total, float(alpha.sum()) / problem.total
        programme = HingeProgramme(rows, share, linear, ridge, constant, problem.squared)
        at, width = (theta[0], start.width) if own else (np.zeros(len(programme.ridge)), 1.0)
        point, dual = programme.minimise(at, width, problem.steps)
        alpha[members] = problem.cost[members] * dual
        if own:
            fit = at_point(problem, stop, point[None], alpha)
        else:
            tried = problem.balanced(alpha), _corrected(problem, problem.balanced(alpha), chosen)
            fit = better(*(from_multipliers(problem, stop, each) for each in tried))
        theta = fit.solution.theta
        joining = ~members & ((fit.slacks > 0) != bounded)
        if not (joining.any() or fit.solution.converged):
            joining = _nearest_others(problem, theta, members)
        if not joining.any() or not (own or affordable(problem, int(np.count_nonzero(members | joining)))):
            break
        members |= joining
        bounded &= ~joining
    return fit


def _nearest_others(problem: MarginProblem, theta: Array, members: Array) -> Array:
    """As many rows again as are members, those closest to the kink: with too few of them there may be no minimum."""
    short = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    short[members] = np.inf
    count = min(max(np.count_nonzero(members), 1), np.count_nonzero(~members))
    joining = np.zeros_like(members)
    joining[np.argsort(short, kind="stable")[:count]] = True
    return joining


def _reduced(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """Rows, linear pull and ridge in as many dimensions as there are rows, if they are fewer than the columns.

    Only the inner products of the rows and of the linear pull matter; the penalty is that of a length.
    """
    p, unit = problem.objective.n_columns, np.sqrt(problem.total)
    pull = linear[:p] * problem.objective.standardised.scale * unit
    rows = _centred(problem, chosen) * unit
    products = np.empty((len(chosen) + 1, len(chosen) + 1))
    products[:-1, :-1] = _inner(rows)
    products[-1, :-1] = products[:-1, -1] = rows @ pull
    products[-1, -1] = pull @ pull
    values, basis = np.linalg.eigh(products)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    points = basis[:, kept] * np.sqrt(values[kept])
    own = points[:-1] * problem.sign[chosen, None]
    ridge, last = np.ones(points.shape[1]), points[-1]
    if not problem.fit_intercept:
        return own, last, ridge
    return np.column_stack((own, problem.sign[chosen])), np.append(last, linear[p]), np.append(ridge, 0.0)


def _corrected(problem: MarginProblem, alpha: Array, chosen: Array) -> Array:
    """The multipliers with those between their bounds corrected until their rows are at the kink to the last digit.

    Inner products have half the digits of the rows themselves.
    """
    bound = np.inf if problem.squared else problem.cost[chosen]
    held = chosen[(alpha[chosen] > 0) & (alpha[chosen] < bound)]
    sign, rows, m = problem.sign[held], _centred(problem, held), len(held)
    bend = 0.5 / problem.cost[held] if problem.squared else np.zeros(m)
    system = np.zeros((m + problem.fit_intercept, m + problem.fit_intercept))
    system[:m, :m] = _inner(rows) + np.diag(bend)
    system[m:, :m], system[:m, m:] = 1.0, 1.0
    for _ in range(_CORRECTIONS if m else 0):
        coef = -problem.total * problem.pull(alpha)[0, : rows.shape[1]] * problem.objective.standardised.scale
        missing = sign - rows @ coef - bend * alpha[held] * sign
        target = np.append(missing, -float(alpha @ problem.sign)) if problem.fit_intercept else missing
        change = lstsq(system, target, lapack_driver="gelsy")[0][:m]
        alpha = alpha.copy()
        alpha[held] = np.clip(alpha[held] + sign * change, 0.0, np.inf if problem.squared else problem.cost[held])
    return problem.balanced(alpha)


def _centred(problem: MarginProblem, chosen: Array) -> Any:
    """Some rows, sparse ones as they are."""
    block = problem.data.rows.take(chosen)
    return block.astype(np.float64) if sp.issparse(block) else block - problem.objective.standardised.centre


def _inner(rows: Any) -> Array:
    """The inner products of rows."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else np.asarray(products)
