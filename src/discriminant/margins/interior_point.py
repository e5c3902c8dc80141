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
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from ..data.rows import dense_rows
from ..kernels import interior_point as kernels
from ..kernels import moments
from .problem import MarginFit, MarginProblem, balanced, finished, from_multipliers

Array = np.ndarray[Any, Any]

_MOST_STEPS = 100
#: From this gap on, relative to the minimum, it is worth guessing which rows are at the corner.
_WORTH_A_GUESS = 1e-3
#: A gap like this, relative to the minimum, is nothing but rounding.
_ROUNDING = 1e-14
#: Equations that hold to this are solved.
_ROUNDING_OF_EQUATIONS = 1e-11
#: With a gap of this size, relative to the minimum, it is not worth keeping multipliers off their bounds,
_CLEAR = 1e-10
#: and with one of this size it is not worth beginning anew.
_GOOD = 1e-9
#: More rows at the corner than this for each unknown are no longer a guess that could be right.
_HELD_PER_UNKNOWN = 3


@dataclass(frozen=True)
class HingeProgramme:
    """The problem of a few rows.

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

    def minimise(self, theta: Array, width: float) -> tuple[Array, Array]:
        """The minimum: theta, and the multipliers divided by ``share``.

        Begins at ``theta``, at which rows within ``width`` of the corner matter. If that leads nowhere, begins anew.
        """
        found = self._from(theta, width)
        if not found[0] <= _GOOD * (self.constant + self._value(found[1])):
            found = min(found, self._from(np.zeros_like(theta), 1.0), key=_gap)
        return found[1], found[2]

    def _from(self, theta: Array, width: float) -> tuple[float, Array, Array]:
        state = _Interior(self, theta, width)
        found = self._with_gap(state.theta, state.used)
        guess = np.empty(0)
        for _ in range(_MOST_STEPS):
            if not state.advance():
                break
            size = self.constant + self._value(state.theta)
            found = min(found, self._with_gap(state.theta.copy(), state.used.copy()), key=_gap)
            if state.gap < _WORTH_A_GUESS * size:
                before, guess = guess, np.concatenate(self._sides(state))
                # A guess that still changes is not right yet.
                exact = self._exact(state) if np.array_equal(before, guess) else None
                found = found if exact is None else min(self._with_gap(*exact), found, key=_gap)
            if min(found[0], state.gap) <= _ROUNDING * size:
                break
        return self._cleared(found, state)

    def _cleared(self, found: tuple[float, Array, Array], state: _Interior) -> tuple[float, Array, Array]:
        """The point with multipliers at their bounds that are next to them, unless that makes the bound worse."""
        gap, theta, used = found
        above, full = self._sides(state)
        cleared = self._with_gap(theta, np.where(full, 1.0, np.where(above, used, 0.0)))
        return cleared if cleared[0] <= max(2 * gap, _CLEAR * (self.constant + self._value(theta))) else found

    def _sides(self, state: _Interior) -> tuple[Array, Array]:
        """Which rows seem to have a multiplier above 0, and which of them the largest there is."""
        above = state.used > state.spare * state.used.max()
        return above, np.zeros_like(above) if self.squared else above & (state.left < state.slack)

    def _value(self, theta: Array) -> float:
        slack = np.maximum(1.0 - self.rows @ theta, 0.0)
        losses = slack**2 if self.squared else slack
        return float(self.linear @ theta + 0.5 * self.ridge @ theta**2 + self.share @ losses)

    def _with_gap(self, theta: Array, used: Array) -> tuple[float, Array, Array]:
        """A point and its multipliers behind the distance of their values, the bound on that to the minimum."""
        pull = self.linear - (self.share * used) @ self.rows
        curved = self.ridge > 0
        bent = 0.25 * used**2 if self.squared else 0.0
        dual = self.share @ (used - bent) - 0.5 * np.sum(pull[curved] ** 2 / self.ridge[curved])
        # Multipliers whose sides do not balance are no bound yet: making them so costs about this much.
        unbalanced = float(np.abs(pull[~curved]).sum()) * (1.0 + float(np.abs(theta[~curved]).sum()))
        gap = self._value(theta) - float(dual) + unbalanced
        return gap if np.isfinite(gap) else np.inf, theta, used

    def _exact(self, state: _Interior) -> tuple[Array, Array] | None:
        """The solution with the rows at the corner that seem to be there; None if there is no such solution."""
        above, full = self._sides(state)
        held = above & ~full
        if np.count_nonzero(held) > _HELD_PER_UNKNOWN * len(self.ridge):
            return None
        theta, multipliers = self._held(self.rows[held], self.share[held], self.share[full] @ self.rows[full])
        used = np.where(full, 1.0, 0.0)
        used[held] = multipliers / self.share[held]
        within = np.isfinite(used).all() and used.min() >= 0 and (self.squared or used.max() <= 1)
        return (theta, used) if within else None

    def _held(self, rows: Array, share: Array, pull: Array) -> tuple[Array, Array]:
        """theta that minimises the quadratic part with ``rows`` at the corner, and their multipliers.

        Equal rows share theirs equally.
        """
        q, m = len(self.ridge), len(rows)
        system = np.zeros((q + m, q + m))
        system[:q, :q] = np.diag(self.ridge)
        system[:q, q:], system[q:, :q] = rows.T, rows
        if self.squared:
            system[q:, q:] = np.diag(-0.5 / share)
        # Both kinds of unknowns at their own scale.
        scale = np.sqrt(float(self.ridge.max()) / max(float(np.abs(rows).max(initial=0.0)), 1e-300))
        units = np.concatenate((np.ones(q), np.full(m, scale)))
        target = np.concatenate((pull - self.linear, np.ones(m)))
        scaled = system * units * units[:, None]
        try:
            found = units * np.linalg.solve(scaled, target * units)
        except np.linalg.LinAlgError:
            found = np.full(q + m, np.nan)
        if not np.abs(system @ found - target).max() < _ROUNDING_OF_EQUATIONS:
            found = units * lstsq(scaled, target * units, lapack_driver="gelsy")[0]
        return found[:q], -found[q:]


def _gap(found: tuple[float, Array, Array]) -> float:
    return found[0]


class _Interior:
    """A point with everything positive that will be, and the steps from it."""

    def __init__(self, corner: HingeProgramme, theta: Array, width: float) -> None:
        self.corner, self.theta = corner, theta.copy()
        short = 1.0 - corner.rows @ theta
        root = np.hypot(short, 2.0 * width)
        # Positive with slack - spare = short and slack * spare = width^2, without cancellation.
        self.slack = np.where(short > 0, 0.5 * (short + root), 2.0 * width**2 / (root - np.minimum(short, 0.0)))
        self.spare = width**2 / self.slack
        whole = self.slack + self.spare
        self.used = 2.0 * self.slack if corner.squared else self.slack / whole
        self.left = self.spare / whole

    @property
    def gap(self) -> float:
        """How far the values of this point and of its multipliers are apart, once their equations hold."""
        products = self.used * self.spare
        return float(self.corner.share @ (products if self.corner.squared else products + self.left * self.slack))

    def advance(self) -> bool:
        """Take a step; whether there was one."""
        corner = self.corner
        bend = 0.5 if corner.squared else self.slack / self.left
        give = 1.0 / (bend + self.spare / self.used)
        hessian = (corner.rows * (corner.share * give)[:, None]).T @ corner.rows
        hessian[np.diag_indices(len(hessian))] += corner.ridge
        scale = np.sqrt(np.diagonal(hessian))
        try:
            factor = np.linalg.cholesky(hessian / scale / scale[:, None]) * scale[:, None]
        except np.linalg.LinAlgError:
            return False
        problem = corner.rows, corner.share, corner.linear, corner.ridge, corner.squared
        state = self.theta, self.used, self.left, self.slack, self.spare
        return bool(kernels.step(*problem, give, factor, *state) > 0)


#: Multiplications of a step that rows can be settled with at most.
_MOST_WORK = 1e9
#: Up to this many columns they are not reduced to the dimensions of fewer rows: inner products would cost digits.
_FEW_COLUMNS = 200
_CORRECTIONS = 2


def affordable(problem: MarginProblem, n_rows: int) -> bool:
    """Whether this many rows can be settled together."""
    return n_rows * float(min(n_rows, problem.objective.shape[1])) ** 2 <= _MOST_WORK


@dataclass(frozen=True)
class WorkingSet:
    """Where settling begins.

    Attributes
    ----------
    theta : array of shape (1, q)
    near : array of bool
        Rows that may change sides.
    pulling : array of bool
        Others that have their full multiplier; none for the squared loss, whose multipliers have no largest value.
    width : float
        About how far from the corner rows are that matter at ``theta``; 1 if it is not known to be good.
    """

    theta: Array
    near: Array
    pulling: Array
    width: float = 1.0


def solve_working_sets(problem: MarginProblem, start: WorkingSet, tol: float, max_iter: int, solver: str) -> MarginFit:
    """The solution from there. Rows that cannot be afforded any more stay where they are."""
    theta, near, pulling = start.theta, start.near.copy(), start.pulling.copy()
    for iteration in range(1, max_iter + 1):
        alpha = np.where(pulling, problem.cost, 0.0)
        chosen = np.flatnonzero(near)
        own = problem.objective.n_columns <= max(len(chosen), _FEW_COLUMNS)  # whether the unknowns are theta itself
        programme = _programme(problem, chosen, alpha, own)
        point, used = programme.minimise(*(theta[0], start.width) if own else (np.zeros(len(programme.ridge)), 1.0))
        alpha[near] = problem.cost[near] * used
        if own:
            fit = _at(problem, point[None], alpha, tol, iteration, solver)
        else:
            tried = [balanced(alpha, problem.sign) if problem.fit_intercept else alpha]
            tried.append(_corrected(problem, tried[0], chosen))
            fits = [from_multipliers(problem, each, tol, iteration, solver) for each in tried]
            fit = min(fits, key=lambda fit: fit.solution.excess)
        theta = fit.solution.theta
        crossed = ~near & ((fit.slacks > 0) != pulling)
        if not (crossed.any() or fit.solution.converged):
            crossed = _next(problem, theta, near)
        if not crossed.any() or not (own or affordable(problem, int(np.count_nonzero(near | crossed)))):
            break
        near |= crossed
        pulling &= ~crossed
    return fit


def _next(problem: MarginProblem, theta: Array, near: Array) -> Array:
    """As many rows again as are near, those closest to the corner: with too few of them there may be no minimum."""
    short = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    short[near] = np.inf
    count = min(max(np.count_nonzero(near), 1), np.count_nonzero(~near))
    joining = np.zeros_like(near)
    joining[np.argsort(short, kind="stable")[:count]] = True
    return joining


def _at(problem: MarginProblem, theta: Array, alpha: Array, tol: float, iteration: int, solver: str) -> MarginFit:
    alpha = balanced(alpha, problem.sign) if problem.fit_intercept else alpha
    slacks = problem.slacks(problem.objective.scores(theta)[:, 0])
    return finished(problem, theta, alpha, problem.pull(alpha), slacks, tol, iteration, solver)


def _programme(problem: MarginProblem, chosen: Array, pulling: Array, own: bool) -> HingeProgramme:
    """The problem of the chosen rows, while others pull with these multipliers."""
    linear, share = problem.pull(pulling)[0], problem.cost / problem.total
    rows, linear, ridge = standard_rows(problem, chosen, linear) if own else _reduced(problem, chosen, linear)
    return HingeProgramme(rows, share[chosen], linear, ridge, float(pulling.sum()) / problem.total, problem.squared)


def standard_rows(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """Some rows, standardised and times their sign, with the intercept's 1 last; linear pull and ridge."""
    objective = problem.objective
    table, standard = problem.data.rows, objective.standardised
    block = table.block(0, table.n_rows) if len(chosen) == table.n_rows else table.take(chosen)
    rows = np.empty((len(chosen), objective.shape[1]))
    moments.standardise(dense_rows(block), standard.centre, standard.scale, problem.sign[chosen], rows)
    return rows, linear, objective.ridge[0]


def _reduced(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """The same in as many dimensions as there are rows, if they are fewer than the columns.

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
    """The multipliers with those between their bounds corrected until their rows are at the corner to the last digit.

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
    return balanced(alpha, problem.sign) if problem.fit_intercept else alpha


def _centred(problem: MarginProblem, chosen: Array) -> Any:
    """Some rows, sparse ones as they are."""
    block = problem.data.rows.take(chosen)
    return block.astype(np.float64) if sp.issparse(block) else block - problem.objective.standardised.centre


def _inner(rows: Any) -> Array:
    """The inner products of rows."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else np.asarray(products)
