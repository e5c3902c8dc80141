"""A support vector machine with few rows, exactly: by an interior point method and a last step without rounding.

Rows that are on one side of their corner for good count as a constant pull. What is left is

``min  ridge theta^2 / 2 + linear'theta + sum_i share_i loss(slack_i)``,  rows theta + slack - spare = 1,

slack and spare not negative. A row's multiplier is ``share * used``; at the minimum ``used * spare = 0`` and, for the
plain slack, ``(1 - used) * slack = 0`` (for its square, ``used = 2 slack``). The method keeps all of these positive and
lets the products go to 0 together (Mehrotra 1992). It does not mind rows that are equal, or more of them at the corner
than there are unknowns. On the way it is guessed which rows end up exactly at the corner: if their equations have a
solution that proves to be the minimum, that is the answer to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from ..kernels import interior as kernels

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
class Corner:
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

    def __init__(self, corner: Corner, theta: Array, width: float) -> None:
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
