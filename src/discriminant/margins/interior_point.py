"""The support vector machine of a working set of rows: an interior point method with a crossover to the exact solution.

All rows outside the working set stay on one side of the hinge point (margin 1): their multipliers are 0 or at the upper
bound, so they contribute a constant gradient. The quadratic programme of the working set is

``min  ridge theta^2 / 2 + linear'theta + sum_i share_i loss(slack_i)``,  rows theta + slack - surplus = 1,

with slack and surplus variables that are not negative. The multiplier of a row is ``share * dual``. The solution has
``dual * surplus = 0`` and, for the hinge, ``upper_slack * slack = 0`` with ``upper_slack = 1 - dual``; for the squared
hinge ``dual = 2 slack``. Mehrotra's (1992) predictor-corrector method keeps all variables positive while these
complementary products go to 0. Equal rows and degenerate solutions do no harm. Near the solution the active set is
estimated; if its equations have a solution whose duality gap is smaller, that solution is exact to the last digit.

A pass over all rows then finds rows outside the working set that are on the wrong side of the hinge point. They join,
and the problem is solved again (decomposition by working sets, Osuna, Freund & Girosi 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, lstsq

from ..arrays import Array, NumericMatrix
from ..data import is_sparse
from ..losses import SmoothedHinge
from .problem import HINGE_ROUNDING, MarginFit, MarginProblem, Stop, at_point, better, from_multipliers, standard_rows

MAX_STEPS: Final = 100
# A step goes this share of the way to the boundary (Mehrotra's usual value); a shorter one than the second ends.
BOUNDARY_SHARE: Final = 0.995
MIN_STEP_LENGTH: Final = 1e-6
# Duality gaps, relative to the minimum: below the first, the crossover is tried at each step; at the second, only
# rounding is left; above the third, a start is given up for one at 0; below the fourth, multipliers near a bound are
# set to the bound.
CROSSOVER_GAP: Final = 1e-3
ROUNDING_GAP: Final = 1e-14
ACCEPTED_START_GAP: Final = 1e-9
BOUND_GAP: Final = 1e-10
# Equations with a smaller residual are solved.
MAX_RESIDUAL: Final = 1e-11
# An active set with more rows at the hinge point per unknown is not tried: it cannot be correct.
MAX_ACTIVE_ROWS_PER_UNKNOWN: Final = 3
# Working sets are limited to this many multiplications a step, about a second.
MAX_STEP_OPERATIONS: Final = 1e9
# Up to this many columns the unknowns are the coefficients themselves, even of fewer rows: inner products cost digits.
MAX_DIRECT_COLUMNS: Final = 200
CORRECTIONS: Final = 2


_gap = itemgetter(0)


@dataclass(frozen=True)
class HingeProgramme:
    """The quadratic programme of a working set.

    Attributes
    ----------
    rows : array of shape (m, q)
        Rows times their sign, with the intercept's column last if there is one.
    share : array of shape (m,)
        Weight of each row in the mean loss, above 0.
    linear, ridge : arrays of shape (q,)
        Gradient of the rows outside the working set, and second derivative of the penalty (0 for the intercept only).
    constant : float
        Value that the rows outside the working set add.
    squared : bool
        Whether the loss is the squared hinge.
    """

    rows: Array
    share: Array
    linear: Array
    ridge: Array
    constant: float = 0.0
    squared: bool = False

    def minimise(self, theta: Array, width: float, steps: list[int]) -> tuple[Array, Array]:
        """The minimum: theta, and the multipliers divided by ``share``; adds the steps taken to ``steps``.

        Starts at ``theta``, where rows within ``width`` of the hinge point matter, and again at 0 if that fails.
        """
        with np.errstate(all="ignore"):  # products that overflow end the iterations
            found = self._solve_from(theta, width, steps)
            if not found[0] <= ACCEPTED_START_GAP * (self.constant + self._value(found[1])):
                found = min(found, self._solve_from(np.zeros_like(theta), 1.0, steps), key=_gap)
        return found[1], found[2]

    def _solve_from(self, theta: Array, width: float, steps: list[int]) -> tuple[float, Array, Array]:
        """The iterate of the smallest gap, behind that gap; multipliers near their bounds are set to them."""
        state = self._start(theta, width)
        found, guess = self._with_gap(theta, state[0]), np.empty(0)
        for _ in range(MAX_STEPS):
            moved = self._step(theta, state)
            if moved is None:
                break
            theta, state = moved
            steps[0] += 1
            gap, size = self._complementarity(state), self.constant + self._value(theta)
            found = min(found, self._with_gap(theta, state[0]), key=_gap)
            if gap < CROSSOVER_GAP * size:
                before, guess = guess, np.concatenate(self._active(state))
                # A set that still changes is not yet the active set of the solution.
                exact = self._exact(state) if np.array_equal(before, guess) else None
                found = found if exact is None else min(exact, found, key=_gap)
            if min(found[0], gap) <= ROUNDING_GAP * size:
                break
        least, theta, dual = found
        positive, bounded = self._active(state)
        at_bounds = self._with_gap(theta, np.where(bounded, 1.0, np.where(positive, dual, 0.0)))
        allowed = max(2 * least, BOUND_GAP * (self.constant + self._value(theta)))
        return at_bounds if at_bounds[0] <= allowed else found

    def _start(self, theta: Array, width: float) -> Array:
        """The state (dual, upper slack, slack, surplus) of each row at which slack times surplus is ``width^2``."""
        slack, slope = SmoothedHinge(width).value_and_slope(self.rows @ theta)
        surplus = width**2 / slack
        return np.array((2 * slack if self.squared else -slope, surplus / (slack + surplus), slack, surplus))

    def _step(self, theta: Array, state: Array) -> tuple[Array, Array] | None:
        """The next iterate by Mehrotra's predictor-corrector method; None if there is none."""
        dual, upper_slack, slack, surplus = state
        slack_rate = np.full(len(dual), 0.5) if self.squared else slack / upper_slack
        weight = 1.0 / (slack_rate + surplus / dual)
        hessian = (self.rows * (self.share * weight)[:, None]).T @ self.rows + np.diag(self.ridge)
        try:
            factor = cho_factor(hessian, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        descent = (self.share * dual) @ self.rows - self.linear - self.ridge * theta
        residual = 1.0 - self.rows @ theta - slack + surplus

        def direction(target: float, surplus_product: Array | float, slack_product: Array | float) -> tuple[Array, ...]:
            """The changes that bring all complementary products to ``target``, given their second-order terms."""
            d_surplus = (target - dual * surplus - surplus_product) / dual
            d_slack = 0.0 * dual if self.squared else (target - upper_slack * slack + slack_product) / upper_slack
            d_dual = residual + d_surplus - d_slack
            d_theta = cho_solve(factor, descent + (self.share * weight * d_dual) @ self.rows, check_finite=False)
            d_dual = weight * (d_dual - self.rows @ d_theta)
            return d_theta, np.array(
                (d_dual, -d_dual, d_slack + slack_rate * d_dual, d_surplus - surplus / dual * d_dual)
            )

        gap = self._complementarity(state)
        _, change = direction(0.0, 0.0, 0.0)
        # The predictor shows how far the complementary products can be reduced.
        ratio = self._complementarity(state + min(1.0, self._max_step_length(state, change)) * change) / max(
            gap, 1e-300
        )
        target = ratio**3 * gap / float(self.share.sum()) / (1 if self.squared else 2)
        d_theta, change = direction(target, change[0] * change[3], change[0] * change[2])
        length = min(1.0, BOUNDARY_SHARE * self._max_step_length(state, change))
        if not (length >= MIN_STEP_LENGTH and np.isfinite(d_theta).all()):
            return None
        return theta + length * d_theta, state + length * change

    def _max_step_length(self, state: Array, change: Array) -> float:
        """The step length at which the first variable becomes 0."""
        bounded = [0, 3] if self.squared else slice(None)  # of the squared hinge, slack and upper slack follow the dual
        state, change = state[bounded], change[bounded]
        return float(np.min(-state / change, where=change < 0, initial=np.inf))

    def _complementarity(self, state: Array) -> float:
        """The sum of the complementary products, each times the share of its row."""
        dual, upper_slack, slack, surplus = state
        products = dual * surplus if self.squared else dual * surplus + upper_slack * slack
        return float(self.share @ products)

    def _active(self, state: Array) -> tuple[Array, Array]:
        """Masks of the rows whose multiplier seems to be above 0, and of those whose multiplier is the largest."""
        dual, upper_slack, slack, surplus = state
        positive = dual > surplus * dual.max()
        return positive, np.zeros_like(positive) if self.squared else positive & (upper_slack < slack)

    def _value(self, theta: Array) -> float:
        slack = np.maximum(1.0 - self.rows @ theta, 0.0)
        losses = slack**2 if self.squared else slack
        return float(self.linear @ theta + 0.5 * self.ridge @ theta**2 + self.share @ losses)

    def _with_gap(self, theta: Array, dual: Array) -> tuple[float, Array, Array]:
        """A point and its multipliers behind their duality gap, which bounds the distance to the minimum."""
        gradient = self.linear - (self.share * dual) @ self.rows
        curved = self.ridge > 0
        conjugate = 0.25 * dual**2 if self.squared else 0.0
        value = self.share @ (dual - conjugate) - 0.5 * np.sum(gradient[curved] ** 2 / self.ridge[curved])
        # Multipliers whose sides do not balance are no bound yet: balancing them costs about this much.
        unbalanced = float(np.abs(gradient[~curved]).sum()) * (1.0 + float(np.abs(theta[~curved]).sum()))
        gap = self._value(theta) - float(value) + unbalanced
        return gap if np.isfinite(gap) else np.inf, theta, dual

    def _exact(self, state: Array) -> tuple[float, Array, Array] | None:
        """The solution of the estimated active set, behind its gap; None if it is not feasible."""
        positive, bounded = self._active(state)
        free = positive & ~bounded
        if np.count_nonzero(free) > MAX_ACTIVE_ROWS_PER_UNKNOWN * len(self.ridge):
            return None
        theta, multipliers = self._equality_constrained(
            self.rows[free], self.share[free], self.share[bounded] @ self.rows[bounded]
        )
        dual = np.where(bounded, 1.0, 0.0)
        dual[free] = multipliers / self.share[free]
        if not (np.isfinite(dual).all() and dual.min() >= 0 and (self.squared or dual.max() <= 1)):
            return None
        # With a large C the rounding of slacks at the hinge point costs more than a theta that is longer by as much.
        slack = 0.0 if self.squared else float(np.max(1.0 - self.rows[~bounded] @ theta, initial=0.0))
        longer = (1.0 + 4.0 * slack if slack < HINGE_ROUNDING else 1.0) * theta
        return min(self._with_gap(theta, dual), self._with_gap(longer, dual), key=_gap)

    def _equality_constrained(self, rows: Array, share: Array, gradient_of_bounded: Array) -> tuple[Array, Array]:
        """theta that minimises the quadratic part with ``rows`` at margin 1, and their multipliers.

        Equal rows share theirs equally.
        """
        q, m = len(self.ridge), len(rows)
        below = np.diag(-0.5 / share) if self.squared else np.zeros((m, m))
        system = np.block([[np.diag(self.ridge), rows.T], [rows, below]])
        # Both kinds of unknowns at their own scale.
        scale = np.sqrt(float(self.ridge.max()) / max(float(np.abs(rows).max(initial=0.0)), 1e-300))
        units = np.concatenate((np.ones(q), np.full(m, scale)))
        target = np.concatenate((gradient_of_bounded - self.linear, np.ones(m)))
        scaled = system * units * units[:, None]
        try:
            found = units * np.linalg.solve(scaled, target * units)
        except np.linalg.LinAlgError:
            found = np.full(q + m, np.nan)
        if not np.abs(system @ found - target).max() < MAX_RESIDUAL:
            found = units * lstsq(scaled, target * units, lapack_driver="gelsy")[0]
        return found[:q], -found[q:]


def affordable(problem: MarginProblem, n_rows: int) -> bool:
    """Whether a working set may have this many rows."""
    return n_rows * float(min(n_rows, problem.objective.shape[1])) ** 2 <= MAX_STEP_OPERATIONS


@dataclass(frozen=True)
class WorkingSet:
    """The first working set of a search.

    Attributes
    ----------
    theta : array of shape (1, q)
    members : array of bool
        Rows whose multipliers are unknown.
    bounded : array of bool
        Other rows whose multiplier is at its upper bound; none for the squared hinge.
    width : float
        Approximate distance from the hinge point within which rows matter at ``theta``; 1 for a poor ``theta``.
    """

    theta: Array
    members: Array
    bounded: Array
    width: float = 1.0


def solve_working_sets(problem: MarginProblem, start: WorkingSet, stop: Stop, max_iter: int) -> MarginFit:
    """The solution by working sets that grow as long as they are affordable."""
    theta, members, bounded = start.theta, start.members.copy(), start.bounded.copy()
    for _ in range(max_iter):
        chosen = np.flatnonzero(members)
        is_direct = problem.objective.n_columns <= max(len(chosen), MAX_DIRECT_COLUMNS)  # theta itself is unknown
        alpha = np.where(bounded, problem.cost, 0.0)
        linear, ridge = problem.hinge_gradient(alpha)[0], problem.objective.ridge[0]
        if is_direct:
            rows = standard_rows(problem, chosen)
        else:
            rows, linear, ridge = _reduced(problem, chosen, linear)
        share, constant = problem.cost[chosen] / problem.objective_scale, float(alpha.sum()) / problem.objective_scale
        programme = HingeProgramme(rows, share, linear, ridge, constant, problem.squared)
        first, width = (theta[0], start.width) if is_direct else (np.zeros(len(programme.ridge)), 1.0)
        point, dual = programme.minimise(first, width, problem.steps)
        alpha[members] = problem.cost[members] * dual
        if is_direct:
            fit = at_point(problem, stop, point[None], alpha)
        else:
            tried = problem.balanced(alpha), _corrected(problem, problem.balanced(alpha), chosen)
            fit = better(*(from_multipliers(problem, stop, each) for each in tried))
        theta = fit.solution.theta
        joining = ~members & ((fit.slacks > 0) != bounded)
        if not (joining.any() or fit.solution.converged):
            joining = _nearest_others(problem, theta, members)
        if not joining.any() or not (is_direct or affordable(problem, int(np.count_nonzero(members | joining)))):
            break
        members |= joining
        bounded &= ~joining
    return fit


def _nearest_others(problem: MarginProblem, theta: Array, members: Array) -> Array:
    """A mask of as many other rows as there are members, those closest to margin 1.

    With too few rows the working set may have no minimum.
    """
    distance = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    distance[members] = np.inf
    count = min(max(np.count_nonzero(members), 1), np.count_nonzero(~members))
    joining = np.zeros_like(members)
    joining[np.argsort(distance, kind="stable")[:count]] = True
    return joining


def _reduced(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """Rows, linear term and ridge in as many dimensions as there are rows, for fewer rows than columns.

    Only the inner products of the rows and of the linear term matter; the penalty is that of a length.
    """
    p, unit = problem.objective.n_columns, np.sqrt(problem.objective_scale)
    gradient = linear[:p] * problem.objective.standardised.scale * unit
    rows = _centred(problem, chosen) * unit
    products = np.empty((len(chosen) + 1, len(chosen) + 1))
    products[:-1, :-1] = _inner(rows)
    products[-1, :-1] = products[:-1, -1] = rows @ gradient
    products[-1, -1] = gradient @ gradient
    values, basis = np.linalg.eigh(products)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    points = np.ascontiguousarray(basis[:, kept] * np.sqrt(values[kept]))
    signed = points[:-1] * problem.sign[chosen, None]
    ridge, last = np.ones(points.shape[1]), points[-1]
    if not problem.fit_intercept:
        return signed, last, ridge
    return np.column_stack((signed, problem.sign[chosen])), np.append(last, linear[p]), np.append(ridge, 0.0)


def _corrected(problem: MarginProblem, alpha: Array, chosen: Array) -> Array:
    """The multipliers, with those between their bounds corrected until their rows have margin 1 to the last digit.

    Inner products have half the digits of the rows themselves.
    """
    bound = np.inf if problem.squared else problem.cost[chosen]
    free = chosen[(alpha[chosen] > 0) & (alpha[chosen] < bound)]
    sign, rows, m = problem.sign[free], _centred(problem, free), len(free)
    diagonal = problem.diagonal[free]
    system = np.zeros((m + problem.fit_intercept, m + problem.fit_intercept))
    system[:m, :m] = _inner(rows) + np.diag(diagonal)
    system[m:, :m], system[:m, m:] = 1.0, 1.0
    for _ in range(CORRECTIONS if m else 0):
        gradient = problem.hinge_gradient(alpha)[0, : rows.shape[1]]
        coef = -problem.objective_scale * gradient * problem.objective.standardised.scale
        residual = sign - rows @ coef - diagonal * alpha[free] * sign
        target = np.append(residual, -float(alpha @ problem.sign)) if problem.fit_intercept else residual
        change = lstsq(system, target, lapack_driver="gelsy")[0][:m]
        alpha = alpha.copy()
        alpha[free] = np.clip(alpha[free] + sign * change, 0.0, problem.upper[free])
    return problem.balanced(alpha)


def _centred(problem: MarginProblem, chosen: Array) -> NumericMatrix:
    """Some rows less the centre; sparse rows are not centred."""
    block = problem.rows.take(chosen)
    return block.astype(np.float64) if sp.issparse(block) else block - problem.objective.standardised.centre


def _inner(rows: NumericMatrix) -> Array:
    """The inner products of rows."""
    products = rows @ rows.T
    return products.toarray() if is_sparse(products) else np.asarray(products)
