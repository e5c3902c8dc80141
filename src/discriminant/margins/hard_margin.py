"""The maximum-margin hyperplane of two classes, exact, by a dual active set method.

``min |w|^2 / 2`` over w and b with ``sign_i (w'x_i + b) >= 1`` for every row. Few rows matter: the problem is solved
for some of them, and rows with a margin below 1 are added until there are none.

The method is that of Goldfarb & Idnani (1983); the dual problem finds the nearest points of the two convex hulls. The
state is a set of rows with margin exactly 1, whose multipliers are all positive:

- the row of the smallest margin enters: its multiplier rises, and the others change with it;
- a row whose multiplier becomes 0 leaves, until the entering row has margin 1;
- if the entering row is an affine combination of the active ones and no multiplier falls, they diverge. Their rates are
  the weights of a point that both hulls have in common: there is no margin.

Every step raises the dual objective, so no set occurs twice. With many support vectors, as with more columns than rows,
single steps would be slow. A *block step* takes in many rows at once and drops all rows with negative multipliers; it
is accepted if the dual objective rises. With thousands of support vectors, dual coordinate ascent estimates the first
set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import qr, qr_delete, solve_triangular

from ..arrays import Array, ArrayLike, MatrixLike, NumericMatrix
from ..data import LabelledRows, Rows, SparseRows, as_rows
from ..engine import one_blas_thread
from ..errors import DegenerateDataError, LabelError, NotSeparableError
from ..results import several
from . import convex_hulls as hulls
from .convex_hulls import CentredRows, CommonPoint, Hyperplane, RowPoints
from .dual_coordinate import estimated_support
from .problem import MarginProblem

EPS: Final = float(np.finfo(np.float64).eps)
# A row has margin 1 if it misses it by less than this, or within the search by less than this plus rounding.
MARGIN_TOLERANCE: Final = 1e-10
SEARCH_TOLERANCE: Final = 1e-12
# With more rows and columns than this the support vectors are estimated first. An estimate of more than this many per
# column is discarded: there are at most p + 1 support vectors, and rows equal to them.
MIN_ESTIMATED_SIZE: Final = 1_000
MAX_ESTIMATE_PER_COLUMN: Final = 2
# A rise of the dual objective by a smaller share is rounding.
MIN_RISE: Final = 1e-10
# A block step takes in at least this many rows; fewer enter one by one.
MIN_BLOCK_ROWS: Final = 8
# After this many steps for each row and dimension only rounding can be the reason.
MAX_STEPS_PER_DIMENSION: Final = 20
# Corrections of the multipliers by the residuals of the rows themselves.
CORRECTIONS: Final = 3


@dataclass(frozen=True)
class MaximumMargin:
    """The hyperplane ``x @ coef + intercept = 0`` of maximum margin between two classes.

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
        Upper bound on the difference between ``|coef|^2`` and its minimum, relative to it.
    gradient_norm : float
        Largest derivative of the Lagrangian in coefficients and intercept, for centred rows: the error of the equations
        above.
    support : array of int
        The rows with a positive multiplier, in ascending order. Their distance is ``margin / 2``; others may have it
        too.
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


def maximum_margin(X: MatrixLike | Rows, sign: Array, fit_intercept: bool = True) -> MaximumMargin:
    """The hyperplane of maximum margin between rows of sign -1 and rows of sign 1.

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
    return _maximum_margin(hulls.centred(rows, movable=fit_intercept), sign, fit_intercept)


def _maximum_margin(view: CentredRows, sign: Array, fit_intercept: bool) -> MaximumMargin:
    chosen, active = _start(view, sign, fit_intercept)
    steps = 0
    while True:
        block = view.take(chosen)
        with one_blas_thread():
            search = ActiveSetSearch(hulls.points_of(view, block), sign[chosen], fit_intercept, active)
            if not search.find_margin():
                raise _no_margin(view, sign, chosen, search.cancelling, fit_intercept)
            coef, multipliers = search.active.corrected(block)
        scores = view.project(coef)
        intercept = hulls.halfway_intercept(scores, sign, fit_intercept)
        reached = sign * (scores + intercept)
        added = hulls.rows_to_add(reached, reached < 1 - MARGIN_TOLERANCE, chosen)
        active, steps = search.active.members, steps + search.steps
        if not added.size:
            break
        chosen = np.concatenate((chosen, added))
    alpha = np.zeros(len(sign))
    alpha[chosen] = multipliers / view.scale**2
    # The primal value of the plane, scaled to margins of at least 1, and the dual value.
    squared = float(coef @ coef)
    primal, dual = squared / 2 / float(reached.min()) ** 2, float(multipliers.sum()) - squared / 2
    in_coef = float(np.abs(coef - np.asarray(block.T @ (multipliers * sign[chosen]))).max()) / view.scale
    residual = max(in_coef, fit_intercept * abs(float(alpha @ sign)))
    coef, intercept = view.plane_in_units(coef, intercept)
    gap, margin = max(0.0, (primal - dual) / primal), float(2 / np.linalg.norm(coef))
    support = np.sort(chosen[multipliers > 0])
    return MaximumMargin(coef, intercept, alpha, margin, gap, residual, support, steps)


def _start(view: CentredRows, sign: Array, fit_intercept: bool) -> tuple[Array, list[int]]:
    """The indices of the initial rows, and the members of the first active set among them."""
    rows = view.rows
    if min(rows.n_rows, rows.n_columns) > MIN_ESTIMATED_SIZE:
        near = rows if isinstance(rows, SparseRows) else as_rows(view.take(np.arange(rows.n_rows)))
        data = LabelledRows(near, np.array([-1, 1]), (sign > 0).astype(np.int32))
        with np.errstate(all="ignore"):  # overflow makes a bad estimate
            estimate = estimated_support(MarginProblem(data, 1.0, fit_intercept=fit_intercept))
        if len(estimate) <= MAX_ESTIMATE_PER_COLUMN * rows.n_columns and len(set(sign[estimate])) == 2:
            return estimate, list(range(len(estimate)))
    return hulls.starting_rows(sign, rows.n_columns), []


def _checked(sign: ArrayLike, n_rows: int) -> Array:
    values = np.asarray(sign, dtype=np.float64)
    if values.shape != (n_rows,) or set(np.unique(values)) != {-1.0, 1.0}:
        raise LabelError(
            f"sign must be -1 or 1 for each of {n_rows} rows, with both values; got shape {values.shape} with the "
            f"values {np.unique(values)[:5].tolist()}."
        )
    return values


def _no_margin(
    view: CentredRows, sign: Array, chosen: Array, cancelling: Array | None, fit_intercept: bool
) -> DegenerateDataError:
    """The error for inseparable classes, with its proof; or for a margin too small to compute."""
    equal_pair = hulls.equal_rows(view, sign)
    if equal_pair is not None:
        chosen, cancelling = equal_pair, np.ones(2)
    common = None if cancelling is None else hulls.common_point(view, sign, chosen, cancelling, not fit_intercept)
    if common is not None and hulls.is_common_point(view, common):
        return NotSeparableError(_description(common), witness=common)
    found = hulls.separator(view, sign, fit_intercept)
    if isinstance(found, Hyperplane):
        return DegenerateDataError(
            f"The classes are separable, but the maximum margin cannot be computed. Margin: about {found.margin:.1g}; "
            f"magnitude of the values: {view.scale:.1g}. Standardise the columns."
        )
    return NotSeparableError(_description(found), witness=found)


def _description(point: CommonPoint) -> str:
    first, second = (several(len(rows), "row") for rows in (point.rows_first, point.rows_second))
    plane, means = ("hyperplane through the origin", "sum") if point.cones else ("hyperplane", "mean")
    return (
        f"No {plane} separates the two classes: a weighted {means} of {first} of one class equals a weighted "
        f"{means} of {second} of the other (attribute `witness` of this error). Use a soft margin, or add columns that "
        "separate the classes."
    )


class ActiveSet:
    """Points with margin exactly 1, in a QR decomposition.

    With an intercept the first of them is the origin, the *base*: its margin determines the intercept, and the others
    become differences from it.
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
    def is_independent(self) -> Array:
        """A mask of the members that are not affine combinations of those before them."""
        within = np.zeros(self.r.shape[1])
        within[: len(self.r)] = np.abs(np.diag(self.r))
        others = within > self.points.rounding(np.linalg.norm(self.r, axis=0))
        return np.append(True, others) if self.fit_intercept else others

    def solved(self) -> tuple[Array, Array]:
        """The shortest direction with margin 1 for all members, and their multipliers."""
        inner = solve_triangular(self.r, self.sign[self._others] - self._base_sign, trans="T")
        return self.q @ inner, self._multipliers(solve_triangular(self.r, inner))

    def _multipliers(self, of_differences: Array) -> Array:
        others = self.sign[self._others] * of_differences
        return np.append(-self._base_sign * of_differences.sum(), others) if self.fit_intercept else others

    def scores(self, direction: Array, values: Array) -> Array:
        """``w'x + b`` of points, with b from the base."""
        return np.asarray(self._from_base(values) @ direction + self._base_sign)

    def coordinates(self, number: int) -> tuple[Array, Array, bool]:
        """The coordinates of a point in the members' span, its residual, and whether the residual is rounding."""
        point = self._from_base(self.points.values[number])
        inner = self.q.T @ point
        residual = point - self.q @ inner
        correction = self.q.T @ residual  # reorthogonalised against rounding
        residual, inner = residual - self.q @ correction, inner + correction
        full = self.q.shape[0] == self.q.shape[1]
        rounding = self.points.rounding(float(np.linalg.norm(point)))
        return inner, residual, full or bool(np.linalg.norm(residual) <= rounding)

    def decrease_rates(self, number: int, inner: Array) -> Array:
        """The rates at which the members' multipliers fall as that of an entering point rises."""
        weights = solve_triangular(self.r, inner)
        others = self.sign[self._others] * weights
        rates = np.append(self._base_sign * (1 - weights.sum()), others) if self.fit_intercept else others
        return np.asarray(self.sign[number] * rates)

    def add(self, number: int, inner: Array, residual: Array) -> None:
        """Add a point with these coordinates and residual."""
        length = np.linalg.norm(residual)
        self.q = np.column_stack((self.q, residual / length))
        self.r = np.block([[self.r, inner[:, None]], [np.zeros((1, len(inner))), length]])
        self.members.append(number)

    def remove(self, position: int) -> None:
        """Remove the member at a position."""
        del self.members[position]
        if self.fit_intercept and position == 0:
            self._decompose()
            return
        left = self.r.shape[1] - 1
        q, r = qr_delete(self.q, self.r, position - 1 if self.fit_intercept else position, which="col")
        self.q, self.r = q[:, :left], r[:left]

    def corrected(self, block: NumericMatrix) -> tuple[Array, Array]:
        """The direction and all multipliers for the rows of a block instead of their points.

        The direction is a small difference of large multiples of rows: summing these would lose digits. It is summed
        only if points have other coordinates than rows, in high dimensions, where the difference is not small.
        """
        rows, sign = block[self.members], self.sign[self.members]
        direction, alpha = self.solved()
        for _ in range(CORRECTIONS):
            residual = sign - np.asarray(rows @ (direction if self.points.own else rows.T @ (alpha * sign)))
            residual = residual[1:] - residual[0] if self.fit_intercept else residual
            inner = solve_triangular(self.r, residual, trans="T")
            direction = direction + self.q @ inner
            alpha = alpha + self._multipliers(solve_triangular(self.r, inner))
        multipliers = np.zeros(len(self.sign))
        multipliers[self.members] = np.maximum(alpha, 0.0)
        return direction if self.points.own else np.asarray(block.T @ (multipliers * self.sign)), multipliers


class ActiveSetSearch:
    """The search for the maximum margin of some points.

    Attributes
    ----------
    active : ActiveSet
    alpha : array
        Multipliers of the active points.
    direction : array
    cancelling : array or None
        If there is no margin: weights of all points, with which the two signs cancel.
    steps : int
    """

    def __init__(self, points: RowPoints, sign: Array, fit_intercept: bool, members: list[int]) -> None:
        self.points, self.sign, self.fit_intercept = points, sign, fit_intercept
        self._norms = np.linalg.norm(points.values, axis=1)
        #: The most rows that a block step may take in.
        self._max_block = points.values.shape[1]
        self.cancelling: Array | None = None
        self.steps = 0
        start = (self._with_positive_multipliers(members, dropping=True) if members else None) or self._nearest_pair()
        if start.is_independent.all():
            self._set_active(start)
        else:  # two equal points, or one at the origin
            self._cancel(start.members, np.ones(len(start.members)))

    def find_margin(self) -> bool:
        """Search for the maximum margin; False if there is none, or if rounding makes that undecidable."""
        max_steps = MAX_STEPS_PER_DIMENSION * sum(self.points.values.shape)
        fresh = True
        while self.cancelling is None and self.steps < max_steps:
            # By how much the margin of each point is below 1, minus rounding; negative for margins of 1 or more.
            score, members = self.active.scores(self.direction, self.points.values), self.active.members
            rounding = 8 * EPS * np.linalg.norm(self.direction) * (self._norms + self._norms[members[0]])
            violation = 1 - self.sign * score - SEARCH_TOLERANCE - rounding
            violation[members] = -1.0
            worst = int(np.argmax(violation))
            if violation[worst] > 0:
                fresh = self._add_block(violation)
                if not fresh:
                    self._enter(worst)
            elif fresh:
                return True
            else:
                self._set_active(self._with_positive_multipliers(members) or self.active)
                fresh = True
        return False

    def _set_active(self, active: ActiveSet) -> None:
        self.active = active
        self.direction, self.alpha = active.solved()
        if self.points.rounding(self._norms[active.members].max()) * np.linalg.norm(self.direction) > 1:
            self._cancel(active.members, self.alpha)

    def _cancel(self, members: list[int], weights: Array) -> None:
        self.cancelling = np.zeros(len(self.sign))
        self.cancelling[members] = np.maximum(weights, 0.0)

    def _nearest_pair(self) -> ActiveSet:
        """The first state: two points of different sign that are near each other, or the one nearest to 0."""
        values = self.points.values
        if not self.fit_intercept:
            return ActiveSet(self.points, self.sign, False, [int(np.argmin(self._norms))])
        positive, negative = np.flatnonzero(self.sign > 0), np.flatnonzero(self.sign < 0)
        first = _nearest(values, positive, values[negative].mean(axis=0))
        second = _nearest(values, negative, values[first])
        return ActiveSet(self.points, self.sign, True, [first, second])

    def _with_positive_multipliers(self, members: list[int], dropping: bool = False) -> ActiveSet | None:
        """The members without those whose multipliers would be negative.

        None if none is left, or if some are affine combinations of others, unless these are dropped too.
        """
        while members:
            active = ActiveSet(self.points, self.sign, self.fit_intercept, members)
            kept = active.is_independent
            if kept.all():
                kept = active.solved()[1] > 0
                if kept.all():
                    return active
            elif not dropping:
                return None
            members = [member for member, is_kept in zip(members, kept, strict=True) if is_kept]
        return None

    def _add_block(self, violation: Array) -> bool:
        """Add as many violating points as the active set can take, if that raises the dual objective."""
        capacity = min(self._max_block, self.points.values.shape[1] + self.fit_intercept - len(self.active.members))
        if capacity < MIN_BLOCK_ROWS or np.count_nonzero(violation > 0) < MIN_BLOCK_ROWS:
            return False
        order = np.argsort(-violation, kind="stable")[:capacity]
        self.steps += 1
        active = self._with_positive_multipliers(self.active.members + order[violation[order] > 0].tolist())
        if active is None or not active.solved()[1].sum() > (1 + MIN_RISE) * self.alpha.sum():
            self._max_block = min(self._max_block, capacity) // 2
            return False
        self._max_block = min(2 * self._max_block, self.points.values.shape[1])
        self._set_active(active)
        return True

    def _enter(self, number: int) -> None:
        """Add one point, and remove members whose multipliers become 0 on the way."""
        while True:
            self.steps += 1
            inner, residual, is_dependent = self.active.coordinates(number)
            rates = self.active.decrease_rates(number, inner)
            violation = 1 - self.sign[number] * self.active.scores(self.direction, self.points.values[number])
            full_step = np.inf if is_dependent else max(float(violation), 0.0) / float(residual @ residual)
            # The member whose multiplier is the first to become 0 leaves, if that is before the point has margin 1.
            falling = rates > (self.points.relative_rounding * np.abs(rates).max() if is_dependent else 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(falling, np.maximum(self.alpha, 0.0) / rates, np.inf)
            position, step = int(np.argmin(steps)), float(steps.min())
            if not min(full_step, step) < np.inf:
                self._cancel([*self.active.members, number], np.append(-rates, 1.0))
                return
            if full_step <= step:
                self.active.add(number, inner, residual)
                self._set_active(self.active)
                return
            self.alpha = np.delete(self.alpha - step * rates, position)
            if not is_dependent:
                self.direction = self.direction + step * self.sign[number] * residual
            self.active.remove(position)


def _nearest(values: Array, among: Array, to: Array) -> int:
    return int(among[np.argmin(np.linalg.norm(values[among] - to, axis=1))])
