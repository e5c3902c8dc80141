"""The hyperplane with the widest margin between two classes, exactly, by a method of active sets.

``min |w|^2 / 2`` over w and b with ``sign_i (w'x_i + b) >= 1`` for every row. Few rows matter: the problem is solved
for some of them, and rows that its answer leaves short of 1 are added until there are none.

The method is the dual one of Goldfarb & Idnani (1983); the dual problem looks for the nearest points of the two convex
hulls. A state is a set of rows held at exactly 1 with multipliers that are all positive:

- the row that falls short of 1 by most enters: its multiplier rises, and those of the others change with it;
- one whose multiplier reaches 0 leaves, until the row that enters has reached 1;
- if that row is an affine combination of the active ones and no multiplier falls, they can rise for ever. The rates at
  which they do are the weights of a point that both hulls have in common: there is no margin.

Every step raises the dual objective, so no set comes twice. Where many rows are held, as when there are more columns
than rows, single steps would be slow. A *block step* takes in many rows at once and lets all go whose multipliers would
be negative; it is taken only if it raises the dual objective too. Where thousands of rows may be held, coordinate
ascent in the dual guesses at the set to begin with; what comes of the guess is judged like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, qr_delete, solve_triangular

from ..arrays import Array
from ..data import LabelledRows, SparseRows, as_rows
from ..engine import one_blas_thread
from ..errors import DegenerateDataError, LabelError, NotSeparableError
from ..results import several
from . import convex_hulls as hulls
from .convex_hulls import CentredRows, CommonPoint, Hyperplane, RowPoints
from .dual_coordinate import likely_support
from .problem import MarginProblem

_EPS = float(np.finfo(np.float64).eps)
#: A row has reached 1 if it falls short by no more than this,
_REACHED = 1e-10
#: within the search by no more than this, or than the rounding of its score.
_REACHED_IN_SEARCH = 1e-12
#: With more rows and columns than this there may be so many support vectors that they are guessed at first.
_MANY = 1_000
#: There are no more of them than columns, and one, but for rows that occur several times; a longer guess is none.
_REPEATED = 2
#: The dual objective has risen if it did by this part.
_RISE = 1e-10
#: A block step takes in at least this many rows; fewer enter one by one.
_BLOCK = 8
#: Steps for each row and dimension after which rounding must have the upper hand.
_PATIENCE = 20
#: Corrections of the multipliers by the residuals of the rows themselves.
_CORRECTIONS = 3


@dataclass(frozen=True)
class MaximumMargin:
    """The hyperplane ``x @ coef + intercept = 0`` farthest from the rows of two classes.

    Attributes
    ----------
    coef : array of shape (p,)
        ``sum_i alpha_i sign_i x_i``.
    intercept : float
    alpha : array of shape (n,)
        Multipliers of the rows, 0 for all but the support vectors. With an intercept ``sum_i alpha_i sign_i = 0``.
    margin : float
        ``2 / |coef|``, the width of the gap between the classes: twice the distance of the nearest rows.
    duality_gap : float
        A proven bound on how far ``|coef|^2`` is from its minimum, relative to it.
    gradient_norm : float
        Largest derivative of the Lagrangian in coefficients and intercept, of the rows seen from their middle: by how
        much the first line above, and the balance of the multipliers, do not hold.
    support : array of int
        The rows with a positive multiplier, in ascending order, at distance ``margin / 2``; maybe others are, too.
    iterations : int
        Changes of the active set.
    """

    coef: Array
    intercept: float
    alpha: Array
    margin: float
    duality_gap: float
    gradient_norm: float
    support: Array
    iterations: int


def maximum_margin(X: Any, sign: Array, fit_intercept: bool = True) -> MaximumMargin:
    """The hyperplane with the widest margin between rows of sign -1 and rows of sign 1.

    Parameters
    ----------
    X : array, frame, CSR matrix or Rows of shape (n, p)
    sign : array of shape (n,)
        -1 and 1, both of them present.
    fit_intercept : bool
        Without it the hyperplane goes through the origin.

    Returns
    -------
    MaximumMargin

    Raises
    ------
    NotSeparableError
        If there is no such hyperplane; its ``witness`` is a `CommonPoint`.
    DegenerateDataError
        If there is one, but with a margin below some 1e-11 of the rows' size.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [3.0, 3.0]])
    >>> found = maximum_margin(X, np.array([-1, -1, 1, 1]))
    >>> found.coef.round(9), round(found.intercept, 9)
    (array([1., 1.]), -2.0)
    >>> round(found.margin, 4)
    1.4142
    >>> found.support
    array([1, 2])
    """
    rows = as_rows(X)
    sign = _checked(sign, rows.n_rows)
    return _in_view(hulls.centred(rows, movable=fit_intercept), sign, fit_intercept)


def _in_view(view: CentredRows, sign: Array, fit_intercept: bool) -> MaximumMargin:
    chosen, active = _start(view, sign, fit_intercept)
    steps = 0
    while True:
        block = view.take(chosen)
        with one_blas_thread():
            search = ActiveSetSearch(hulls.points_of(view, block), sign[chosen], fit_intercept, active)
            if not search.succeeds():
                raise _no_margin(view, sign, chosen, search.cancelling, fit_intercept)
            coef, multipliers = search.active.corrected(block)
        scores = view.project(coef)
        intercept = hulls.halfway(scores, sign, fit_intercept)
        reached = sign * (scores + intercept)
        added = hulls.to_add(reached, reached < 1 - _REACHED, chosen)
        active, steps = search.active.members, steps + search.steps
        if not added.size:
            break
        chosen = np.concatenate((chosen, added))
    alpha = np.zeros(len(sign))
    alpha[chosen] = multipliers / view.scale**2
    # The value of the plane, stretched until every row reaches 1, against that of the dual.
    squared = float(coef @ coef)
    primal, dual = squared / 2 / float(reached.min()) ** 2, float(multipliers.sum()) - squared / 2
    in_coef = float(np.abs(coef - np.asarray(block.T @ (multipliers * sign[chosen]))).max()) / view.scale
    residual = max(in_coef, fit_intercept * abs(float(alpha @ sign)))
    coef, intercept = view.plane_in_units(coef, intercept)
    gap, margin = max(0.0, (primal - dual) / primal), float(2 / np.linalg.norm(coef))
    support = np.sort(chosen[multipliers > 0])
    return MaximumMargin(coef, intercept, alpha, margin, gap, residual, support, steps)


def _start(view: CentredRows, sign: Array, fit_intercept: bool) -> tuple[Array, list[int]]:
    """Numbers of rows to begin with, and which of them are held at 1 at first."""
    rows = view.rows
    if min(rows.n_rows, rows.n_columns) > _MANY:
        near = rows if isinstance(rows, SparseRows) else as_rows(view.take(np.arange(rows.n_rows)))
        data = LabelledRows(near, np.array([-1, 1]), (sign > 0).astype(np.int32))
        with np.errstate(all="ignore"):  # what overflows makes a bad guess
            guess = likely_support(MarginProblem(data, 1.0, fit_intercept=fit_intercept))
        if len(guess) <= _REPEATED * rows.n_columns and len(set(sign[guess])) == 2:
            return guess, list(range(len(guess)))
    return hulls.starting_rows(sign, rows.n_columns), []


def _checked(sign: Any, n_rows: int) -> Array:
    values = np.asarray(sign, dtype=np.float64)
    if values.shape != (n_rows,) or set(np.unique(values)) != {-1.0, 1.0}:
        raise LabelError(
            f"sign must hold -1 or 1 for each of {n_rows} rows, and both of them; got shape {values.shape} with the "
            f"values {np.unique(values)[:5].tolist()}."
        )
    return values


def _no_margin(
    view: CentredRows, sign: Array, chosen: Array, cancelling: Array | None, fit_intercept: bool
) -> DegenerateDataError:
    """The error for classes without a separating hyperplane, with its proof; or for a margin too thin to compute."""
    twins = hulls.equal_rows(view, sign)
    if twins is not None:
        chosen, cancelling = twins, np.ones(2)
    common = None if cancelling is None else hulls.common_point(view, sign, chosen, cancelling, not fit_intercept)
    if common is not None and hulls.meets(view, common):
        return NotSeparableError(_in_words(common), witness=common)
    found = hulls.separator(view, sign, fit_intercept)
    if isinstance(found, Hyperplane):
        return DegenerateDataError(
            f"The classes are separable, but the widest margin cannot be computed: it is about {found.margin:.1g}, too "
            f"thin beside values of size {view.scale:.1g}. Bring the columns to like units."
        )
    return NotSeparableError(_in_words(found), witness=found)


def _in_words(point: CommonPoint) -> str:
    first, second = (several(len(rows), "row") for rows in (point.rows_first, point.rows_second))
    plane, means = ("hyperplane through the origin", "sum") if point.cones else ("hyperplane", "mean")
    return (
        f"No {plane} separates the two classes: there is a point that is a weighted {means} of {first} of one class "
        f"and of {second} of the other (see this error's witness). Use a soft margin, or add columns that tell the "
        "classes apart."
    )


class ActiveSet:
    """Points held at exactly 1, in a QR decomposition.

    With an intercept the points are seen from the first of them, the *base*: holding it decides the intercept, and the
    others become differences from it. Without an intercept they are seen from the origin.
    """

    def __init__(self, points: RowPoints, sign: Array, fit_intercept: bool, members: list[int]) -> None:
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


class ActiveSetSearch:
    """The way to the widest margin of some points.

    Attributes
    ----------
    active : ActiveSet
    alpha : array
        Multipliers of the active points.
    direction : array
    cancelling : array or None
        Where there is no margin: weights of all points, with which the two signs cancel each other.
    steps : int
    """

    def __init__(self, points: RowPoints, sign: Array, fit_intercept: bool, members: list[int]) -> None:
        self.points, self.sign, self.fit_intercept = points, sign, fit_intercept
        self._norms = np.linalg.norm(points.values, axis=1)
        self._reach = points.values.shape[1]
        self.cancelling: Array | None = None
        self.steps = 0
        start = (self._with_positive_multipliers(members, dropping=True) if members else None) or self._nearest_pair()
        if start.apart.all():
            self._go_on_from(start)
        else:  # two points at the same place, or one at the origin
            self._cancel(start.members, np.ones(len(start.members)))

    def succeeds(self) -> bool:
        """Go all the way; False if there is no margin, or if rounding makes it impossible to tell."""
        patience = _PATIENCE * sum(self.points.values.shape)
        fresh = True
        while self.cancelling is None and self.steps < patience:
            # How far each point is short of 1, less what is rounding; negative for those that reached it.
            score, members = self.active.scores(self.direction, self.points.values), self.active.members
            rounding = 8 * _EPS * np.linalg.norm(self.direction) * (self._norms + self._norms[members[0]])
            short = 1 - self.sign * score - _REACHED_IN_SEARCH - rounding
            short[members] = -1.0
            worst = int(np.argmax(short))
            if short[worst] > 0:
                fresh = self._takes_block(short)
                if not fresh:
                    self._enter(worst)
            elif fresh:
                return True
            else:
                self._go_on_from(self._with_positive_multipliers(members) or self.active)
                fresh = True
        return False

    def _go_on_from(self, active: ActiveSet) -> None:
        self.active = active
        self.direction, self.alpha = active.solved()
        if self.points.rounding(self._norms[active.members].max()) * np.linalg.norm(self.direction) > 1:
            self._cancel(active.members, self.alpha)

    def _cancel(self, members: list[int], weights: Array) -> None:
        self.cancelling = np.zeros(len(self.sign))
        self.cancelling[members] = np.maximum(weights, 0.0)

    def _nearest_pair(self) -> ActiveSet:
        """A state to begin with: two points of different sign that are near each other, or the one nearest to 0."""
        values = self.points.values
        if not self.fit_intercept:
            return ActiveSet(self.points, self.sign, False, [int(np.argmin(self._norms))])
        positive, negative = np.flatnonzero(self.sign > 0), np.flatnonzero(self.sign < 0)
        first = _nearest(values, positive, values[negative].mean(axis=0))
        second = _nearest(values, negative, values[first])
        return ActiveSet(self.points, self.sign, True, [first, second])

    def _with_positive_multipliers(self, members: list[int], dropping: bool = False) -> ActiveSet | None:
        """The members without those whose multipliers would be negative.

        None if nobody is left, or if some are combinations of others, unless these may be dropped too.
        """
        while members:
            active = ActiveSet(self.points, self.sign, self.fit_intercept, members)
            staying = active.apart
            if staying.all():
                staying = active.solved()[1] > 0
                if staying.all():
                    return active
            elif not dropping:
                return None
            members = [member for member, stays in zip(members, staying, strict=True) if stays]
        return None

    def _takes_block(self, short: Array) -> bool:
        """Take in as many of the points short of 1 as there is room for, if that raises the objective."""
        room = min(self._reach, self.points.values.shape[1] + self.fit_intercept - len(self.active.members))
        if room < _BLOCK or np.count_nonzero(short > 0) < _BLOCK:
            return False
        order = np.argsort(-short, kind="stable")[:room]
        self.steps += 1
        active = self._with_positive_multipliers(self.active.members + order[short[order] > 0].tolist())
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
            # The member whose multiplier is the first to reach 0 leaves, if that is before the point has reached 1.
            falling = falls > (self.points.blur * np.abs(falls).max() if nothing else 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                when = np.where(falling, np.maximum(self.alpha, 0.0) / falls, np.inf)
            position, step = int(np.argmin(when)), float(when.min())
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


def _nearest(values: Array, among: Array, to: Array) -> int:
    return int(among[np.argmin(np.linalg.norm(values[among] - to, axis=1))])
