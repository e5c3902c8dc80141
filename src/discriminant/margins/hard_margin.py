"""The hyperplane with the widest margin between two classes, exactly.

``min |w|^2 / 2`` over w and b with ``sign_i (w'x_i + b) >= 1`` for every row. Few rows matter: the problem is solved
for some of them by a method of active sets, and rows that its answer leaves short of 1 are added until there are none.
Where thousands of rows may matter, changing the active set step by step would take minutes. Coordinate ascent in the
dual then guesses at it; what comes of the guess is judged like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import LabelledRows, as_rows
from ..data.rows import SparseRows
from ..engine import one_blas_thread
from ..errors import DegenerateDataError, LabelError, NotSeparableError
from .active_set import Search
from .convex_hulls import (
    CentredRows,
    CommonPoint,
    centred,
    common_point,
    equal_rows,
    halfway,
    meets,
    points_of,
    separator,
    starting_rows,
    to_add,
)  # fmt: skip
from .dual_coordinate import likely_support
from .problem import MarginProblem

Array = np.ndarray[Any, Any]

#: A row has reached 1 if it falls short by no more than this.
_REACHED = 1e-10
#: With more rows and columns than this there may be so many support vectors that they are guessed at first.
_MANY = 1_000
#: There are no more of them than columns, and one, but for rows that occur several times; a longer guess is none.
_REPEATED = 2


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
        ``1 / |coef|``, the distance of the nearest rows: half the width of the gap between the classes.
    duality_gap : float
        A proven bound on how far ``|coef|^2`` is from its minimum, relative to it.
    support : array of int
        The rows with a positive multiplier, in ascending order. They are at distance ``margin``, maybe among others.
    iterations : int
        Changes of the active set.
    """

    coef: Array
    intercept: float
    alpha: Array
    margin: float
    duality_gap: float
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
    0.7071
    >>> found.support
    array([1, 2])
    """
    rows = as_rows(X)
    sign = _checked(sign, rows.n_rows)
    view = centred(rows, movable=fit_intercept)
    chosen, active = _start(view, sign, fit_intercept)
    steps = 0
    while True:
        block = view.take(chosen)
        with one_blas_thread():
            search = Search(points_of(view, block), sign[chosen], fit_intercept, active)
            if not search.succeeds():
                raise _no_margin(view, sign, chosen, search.cancelling, fit_intercept)
            coef, alpha = search.active.corrected(block)
        scores = view.project(coef)
        intercept = halfway(scores, sign) if fit_intercept else 0.0
        reached = sign * (scores + intercept)
        added = to_add(reached, reached < 1 - _REACHED, chosen)
        active, steps = search.active.members, steps + search.steps
        if not added.size:
            break
        chosen = np.concatenate((chosen, added))
    every = np.zeros(len(sign))
    every[chosen] = alpha / view.scale**2
    gap = _duality_gap(coef, alpha, float(reached.min()))
    coef, intercept = view.plane_in_units(coef, intercept)
    margin = float(1 / np.linalg.norm(coef))
    return MaximumMargin(coef, intercept, every, margin, gap, np.flatnonzero(every), steps)


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
    return starting_rows(sign, rows.n_columns), []


def _checked(sign: Any, n_rows: int) -> Array:
    values = np.asarray(sign, dtype=np.float64)
    if values.shape != (n_rows,) or set(np.unique(values)) != {-1.0, 1.0}:
        raise LabelError(
            f"sign must hold -1 or 1 for each of {n_rows} rows, and both of them; got shape {values.shape} with the "
            f"values {np.unique(values)[:5].tolist()}."
        )
    return values


def _duality_gap(coef: Array, alpha: Array, least: float) -> float:
    """How far ``|coef|^2`` may be from its minimum: stretched until every row reaches 1, against the dual's value."""
    squared = float(coef @ coef)
    primal, dual = squared / 2 / least**2, float(alpha.sum()) - squared / 2
    return max(0.0, (primal - dual) / primal)


def _no_margin(
    view: CentredRows, sign: Array, chosen: Array, cancelling: Array | None, fit_intercept: bool
) -> DegenerateDataError:
    """The error for classes without a separating hyperplane, with its proof; or for a margin too thin to compute."""
    found = _common(view, sign, chosen, cancelling, fit_intercept) or separator(view, sign, fit_intercept)
    if isinstance(found, CommonPoint):
        return NotSeparableError(_in_words(found), witness=found)
    return DegenerateDataError(
        f"The classes are separable, but the widest margin cannot be computed: it is about {found.margin:.1g}, too "
        f"thin beside values of size {view.scale:.1g}. Bring the columns to like units."
    )


def _common(
    view: CentredRows, sign: Array, chosen: Array, cancelling: Array | None, fit_intercept: bool
) -> CommonPoint | None:
    """A point of both hulls, a row that both classes have if there is one; None if rounding leaves room for doubt."""
    twins = equal_rows(view, sign)
    if twins is not None:
        chosen, cancelling = twins, np.ones(2)
    if cancelling is None:
        return None
    found = common_point(view, sign, chosen, cancelling, cones=not fit_intercept)
    return found if meets(view, found) else None


def _in_words(point: CommonPoint) -> str:
    first, second = (f"{len(rows)} row{'s' * (len(rows) != 1)}" for rows in (point.rows_first, point.rows_second))
    plane, means = ("hyperplane through the origin", "sum") if point.cones else ("hyperplane", "mean")
    return (
        f"No {plane} separates the two classes: there is a point that is a weighted {means} of {first} of one class "
        f"and of {second} of the other (see this error's witness). Use a soft margin, or add columns that tell the "
        "classes apart."
    )
