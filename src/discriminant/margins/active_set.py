"""The widest margin between a few points of two signs, by a method of active sets (Goldfarb & Idnani 1983).

The dual problem looks for the nearest points of the two convex hulls. A state is a set of points held at exactly 1,
that is ``sign (w'x + b) = 1``, with multipliers that are all positive:

- the point that falls short of 1 by most enters: its multiplier rises, and those of the others change with it;
- one whose multiplier reaches 0 leaves, until the point that enters has reached 1;
- if that point is an affine combination of the active ones and no multiplier falls, they can rise for ever. The rates
  at which they do are the weights of a point that both hulls have in common: there is no margin.

Every step raises the dual objective, so no set comes twice. Where many points are held, as when there are more columns
than rows, single steps would be slow. A *leap* takes in many points at once and lets all go whose multipliers would be
negative; it is taken only if it raises the dual objective too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, qr_delete, solve_triangular

from .convex_hulls import Points

Array = np.ndarray[Any, Any]

_EPS = float(np.finfo(np.float64).eps)
#: A point has reached 1 if it falls short by no more than this, or than the rounding of its score.
_REACHED = 1e-12
#: The dual objective has risen if it did by this part.
_RISE = 1e-10
#: A leap takes in at least this many points; fewer enter one by one.
_LEAP = 8
#: Steps for each point and dimension after which rounding must have the upper hand.
_PATIENCE = 20
#: Corrections of the multipliers by the residuals of the rows themselves.
_CORRECTIONS = 3


class Active:
    """Points held at exactly 1, in a QR decomposition.

    With an intercept the points are seen from the first of them, the *base*: holding it decides the intercept, and the
    others become differences from it. Without an intercept they are seen from the origin.
    """

    def __init__(self, points: Points, sign: Array, fit_intercept: bool, members: list[int]) -> None:
        self.points, self.sign, self.fit_intercept = points, sign, fit_intercept
        self.members = list(members)
        self._decompose()

    def _decompose(self) -> None:
        self.q, self.r = qr(self._from_base(self.points.values[self._others]).T, mode="economic")

    @property
    def _others(self) -> list[int]:
        return self.members[1:] if self.fit_intercept else self.members

    @property
    def _base_sign(self) -> float:
        return float(self.sign[self.members[0]]) if self.fit_intercept else 0.0

    def _from_base(self, values: Array) -> Array:
        return values - self.points.values[self.members[0]] if self.fit_intercept else values

    @property
    def independent(self) -> bool:
        """Whether no member is an affine combination of those before it, as far as rounding can tell."""
        return bool(self.apart.all())

    @property
    def apart(self) -> Array:
        """Which members are certain not to be affine combinations of those before them."""
        within = np.zeros(self.r.shape[1])
        within[: len(self.r)] = np.abs(np.diag(self.r))
        others = within > self.points.rounding(np.linalg.norm(self.r, axis=0))
        return np.append(True, others) if self.fit_intercept else others

    def solved(self) -> tuple[Array, Array]:
        """The shortest direction that holds the members at 1, and their multipliers."""
        inner = solve_triangular(self.r, self.sign[self._others] - self._base_sign, trans="T")
        return self.q @ inner, self._multipliers(solve_triangular(self.r, inner))

    def _multipliers(self, of_differences: Array) -> Array:
        others = self.sign[self._others] * of_differences
        return np.append(-self._base_sign * of_differences.sum(), others) if self.fit_intercept else others

    def scores(self, direction: Array, values: Array) -> Array:
        """``w'x + b`` of points, b such that the base is held."""
        return np.asarray(self._from_base(values) @ direction + self._base_sign)

    def parts(self, number: int) -> tuple[Array, Array, bool]:
        """A point as a combination of the members' and a rest orthogonal to them, and whether the rest is nothing."""
        point = self._from_base(self.points.values[number])
        inner = self.q.T @ point
        rest = point - self.q @ inner
        again = self.q.T @ rest  # once more removes what rounding left
        rest, inner = rest - self.q @ again, inner + again
        full = self.q.shape[0] == self.q.shape[1]
        return inner, rest, full or bool(np.linalg.norm(rest) <= self.points.rounding(np.linalg.norm(point)))

    def falls(self, number: int, inner: Array) -> Array:
        """How fast the multipliers of the members fall as that of an entering point rises."""
        share = solve_triangular(self.r, inner)
        others = self.sign[self._others] * share
        falls = np.append(self._base_sign * (1 - share.sum()), others) if self.fit_intercept else others
        return np.asarray(self.sign[number] * falls)

    def add(self, number: int, inner: Array, rest: Array) -> None:
        length = np.linalg.norm(rest)
        self.q = np.column_stack((self.q, rest / length))
        self.r = np.block([[self.r, inner[:, None]], [np.zeros((1, len(inner))), length]])
        self.members.append(number)

    def remove(self, position: int) -> None:
        del self.members[position]
        if self.fit_intercept and position == 0:
            self._decompose()
            return
        left = self.r.shape[1] - 1
        q, r = qr_delete(self.q, self.r, position - 1 if self.fit_intercept else position, which="col")
        self.q, self.r = q[:, :left], r[:left]

    def corrected(self, block: Any) -> tuple[Array, Array]:
        """The direction and all multipliers in the space of a block, whose rows are held at 1 rather than their points.

        The direction is a small difference of large multiples of rows, so summing them up would lose digits. It is done
        only where points have other coordinates than rows, in spaces so wide that the difference is not small.
        """
        rows, sign = block[self.members], self.sign[self.members]
        direction, alpha = self.solved()
        for _ in range(_CORRECTIONS):
            missing = sign - np.asarray(rows @ (direction if self.points.own else rows.T @ (alpha * sign)))
            missing = missing[1:] - missing[0] if self.fit_intercept else missing
            inner = solve_triangular(self.r, missing, trans="T")
            direction = direction + self.q @ inner
            alpha = alpha + self._multipliers(solve_triangular(self.r, inner))
        every = np.zeros(len(self.sign))
        every[self.members] = np.maximum(alpha, 0.0)
        return direction if self.points.own else np.asarray(block.T @ (every * self.sign)), every


class Search:
    """The way to the widest margin of some points.

    Attributes
    ----------
    active : Active
    alpha : array
        Multipliers of the active points.
    direction : array
    cancelling : array or None
        Where there is no margin: weights of all points, with which the two signs cancel each other.
    steps : int
    """

    def __init__(self, points: Points, sign: Array, fit_intercept: bool, members: list[int]) -> None:
        self.points, self.sign, self.fit_intercept = points, sign, fit_intercept
        self._norms = np.linalg.norm(points.values, axis=1)
        self._reach = points.values.shape[1]
        self.cancelling: Array | None = None
        self.steps = 0
        start = (self._settled(members, dropping=True) if members else None) or self._nearest_pair()
        if start.independent:
            self._go_on_from(start)
        else:  # two points at the same place, or one at the origin
            self._cancel(start.members, np.ones(len(start.members)))

    def succeeds(self) -> bool:
        """Go all the way; False if there is no margin, or if rounding makes it impossible to tell."""
        patience = _PATIENCE * sum(self.points.values.shape)
        fresh = True
        while self.cancelling is None and self.steps < patience:
            short = self._shortfalls()
            worst = int(np.argmax(short))
            if short[worst] > 0:
                fresh = self._leaps(short)
                if not fresh:
                    self._enter(worst)
            elif fresh:
                return True
            else:
                self._go_on_from(self._settled(self.active.members) or self.active)
                fresh = True
        return False

    def _go_on_from(self, active: Active) -> None:
        self.active = active
        self.direction, self.alpha = active.solved()
        if self.points.rounding(self._norms[active.members].max()) * np.linalg.norm(self.direction) > 1:
            self._cancel(active.members, self.alpha)

    def _cancel(self, members: list[int], weights: Array) -> None:
        self.cancelling = np.zeros(len(self.sign))
        self.cancelling[members] = np.maximum(weights, 0.0)

    def _nearest_pair(self) -> Active:
        """A state to begin with: two points of different sign that are near each other, or the one nearest to 0."""
        values = self.points.values
        if not self.fit_intercept:
            return Active(self.points, self.sign, False, [int(np.argmin(self._norms))])
        positive, negative = np.flatnonzero(self.sign > 0), np.flatnonzero(self.sign < 0)
        first = _nearest(values, positive, values[negative].mean(axis=0))
        second = _nearest(values, negative, values[first])
        return Active(self.points, self.sign, True, [first, second])

    def _settled(self, members: list[int], dropping: bool = False) -> Active | None:
        """The members without those whose multipliers would be negative.

        None if nobody is left, or if some are combinations of others, unless these may be dropped too.
        """
        while members:
            active = Active(self.points, self.sign, self.fit_intercept, members)
            staying = active.apart
            if staying.all():
                staying = active.solved()[1] > 0
                if staying.all():
                    return active
            elif not dropping:
                return None
            members = [member for member, stays in zip(members, staying, strict=True) if stays]
        return None

    def _shortfalls(self) -> Array:
        """How far each point is short of 1, less what is rounding; negative for those that reached it."""
        score = self.active.scores(self.direction, self.points.values)
        rounding = 8 * _EPS * np.linalg.norm(self.direction) * (self._norms + self._norms[self.active.members[0]])
        short = 1 - self.sign * score - _REACHED - rounding
        short[self.active.members] = -1.0
        return np.asarray(short)

    def _leaps(self, short: Array) -> bool:
        """Take in as many of the points short of 1 as there is room for, if that raises the objective."""
        room = min(self._reach, self.points.values.shape[1] + self.fit_intercept - len(self.active.members))
        if room < _LEAP or np.count_nonzero(short > 0) < _LEAP:
            return False
        order = np.argsort(-short, kind="stable")[:room]
        self.steps += 1
        active = self._settled(self.active.members + order[short[order] > 0].tolist())
        if active is None or not active.solved()[1].sum() > (1 + _RISE) * self.alpha.sum():
            self._reach = min(self._reach, room) // 2
            return False
        self._reach = min(2 * self._reach, self.points.values.shape[1])
        self._go_on_from(active)
        return True

    def _enter(self, number: int) -> None:
        """Let one point in, and others out on the way."""
        while True:
            self.steps += 1
            inner, rest, nothing = self.active.parts(number)
            falls = self.active.falls(number, inner)
            short = 1 - self.sign[number] * self.active.scores(self.direction, self.points.values[number])
            whole = np.inf if nothing else max(float(short), 0.0) / float(rest @ rest)
            position, step = self._first_to_leave(falls, nothing)
            if not min(whole, step) < np.inf:
                self._cancel([*self.active.members, number], np.append(-falls, 1.0))
                return
            if whole <= step:
                self.active.add(number, inner, rest)
                self._go_on_from(self.active)
                return
            self.alpha = np.delete(self.alpha - step * falls, position)
            if not nothing:
                self.direction = self.direction + step * self.sign[number] * rest
            self.active.remove(position)

    def _first_to_leave(self, falls: Array, nothing: bool) -> tuple[int, float]:
        """The member whose multiplier is the first to reach 0, and when it does."""
        falling = falls > (self.points.blur * np.abs(falls).max() if nothing else 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            when = np.where(falling, np.maximum(self.alpha, 0.0) / falls, np.inf)
        position = int(np.argmin(when))
        return position, float(when[position])


def _nearest(values: Array, among: Array, to: Array) -> int:
    return int(among[np.argmin(np.linalg.norm(values[among] - to, axis=1))])
