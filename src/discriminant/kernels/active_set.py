"""The dual of a support vector machine solved face by face (Moré & Toraldo 1991), in one compiled loop.

A *face* is the set of multipliers between their bounds, all others fixed at theirs. Sweeps of coordinate ascent tell
which face is likely, Newton's step solves it, intercept included, and multipliers that leave their bounds on the way
stay at them. Rows that violate their condition at the solution of a face join by the next sweep. ``rows`` is a dense
table; ``fixed`` and ``ascent`` are those of `dual_coordinate`.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .dual_coordinate import shuffled_due, sweep_over
from .interior_point import cholesky, solve_factored
from .rows import add, dot

#: Sweeps before the first face; one before each of the others.
_FIRST_SWEEPS = 12
_MOST_ROUNDS, _MOST_FACES, _MOST_REFINEMENTS = 60, 60, 3
#: A face of more rows for each unknown is not worth a system: the hinge has no solution with so many at its kink.
_ROWS_PER_UNKNOWN = 4
#: Pivots this small, relative to their diagonal, are rounding: such a row depends on others of its face.
_ROUNDING = 1e-13
#: Sides whose multipliers differ by this much of their sum balance.
_BALANCED = 1e-14
#: A step to the nearest bound goes so much farther, and is clipped: it arrives in spite of rounding.
_BEYOND = 1e-12
#: Conditions that hold to the first are those of the solution, but for rounding; to the second, there is none left.
_HOLDS, _EXACT = 1e-9, 1e-14


@summing_kernel
def _direction(rows, fixed, alpha, coef, face, proximal):  # type: ignore[no-untyped-def]
    """From here to the solution of a face: the changes of its multipliers, and the intercept there.

    ``proximal`` times the square of ``sum alpha * sign`` changes nothing where that sum is 0, and makes the system
    definite where the rows of the face tell of no more than their differences. 0: without an intercept.
    """
    sign, _, diagonal, _ = fixed
    m, own = face.size, rows[face]
    system = np.dot(own, own.T) + proximal
    short, change, bias = np.empty(m), np.empty(m), 0.0
    for k in range(m):
        i = face[k]
        system[k, k] += diagonal[i]
        short[k] = sign[i] * (1.0 - diagonal[i] * alpha[i]) - dot(rows, i, coef)
    cholesky(system, _ROUNDING)
    solve_factored(system, short, change)
    if proximal > 0.0:
        pull, excess = np.empty(m), np.sum(sign * alpha)
        solve_factored(system, np.ones(m), pull)
        bias = (np.sum(change) + excess) / np.sum(pull)
        change -= bias * pull
        bias -= proximal * excess
    return change * sign[face], bias


@summing_kernel
def _gain(rows, fixed, alpha, coef, bias, face, new, moved):  # type: ignore[no-untyped-def]
    """What the dual gains by new values on a face, at a given intercept; writes their coefficients to ``moved``."""
    sign, _, diagonal, _ = fixed
    moved[:] = coef
    gain = 0.0
    for k in range(face.size):
        i = face[k]
        change = new[k] - alpha[i]
        add(rows, i, change * sign[i], moved)
        gain += change * (1.0 - bias * sign[i] - 0.5 * diagonal[i] * (new[k] + alpha[i]))
    return gain - 0.5 * np.sum((moved - coef) * (moved + coef))


@kernel
def _to_first_bound(alpha, upper, change):  # type: ignore[no-untyped-def]
    """How much of a change leaves all multipliers within their bounds, 1 at most."""
    length = 1.0
    for k in range(alpha.size):
        if change[k] != 0.0:
            room = alpha[k] if change[k] < 0.0 else upper[k] - alpha[k]
            length = min(length, room / abs(change[k]))
    return length


@summing_kernel
def _with_all_at_bounds(rows, fixed, alpha, coef, proximal):  # type: ignore[no-untyped-def]
    """The intercept in the middle of those that violate least, and whether the multipliers balance."""
    if proximal == 0.0:
        return 0.0, True
    sign, low, high, pull = fixed[0], -np.inf, np.inf, 0.0
    for i in range(sign.size):
        kink = sign[i] - dot(rows, i, coef)
        pull += sign[i] * alpha[i]
        if (alpha[i] > 0.0) == (sign[i] > 0.0):
            high = min(high, kink)
        else:
            low = max(low, kink)
    return 0.5 * (low + high), abs(pull) <= _BALANCED * np.sum(alpha)


@kernel
def _solve_face(rows, fixed, alpha, coef, proximal):  # type: ignore[no-untyped-def]
    """Move to the solution of the face, or of a smaller one; the intercept there, and whether there is one."""
    moved, bias = np.empty_like(coef), 0.0
    for _ in range(_MOST_FACES):
        face = np.flatnonzero((alpha > 0.0) & (alpha < fixed[1]))
        if face.size > _ROWS_PER_UNKNOWN * (coef.size + 1):
            break
        if face.size == 0:
            return _with_all_at_bounds(rows, fixed, alpha, coef, proximal)
        change, bias = _direction(rows, fixed, alpha, coef, face, proximal)
        if not np.isfinite(np.sum(change) + bias):
            break
        here, upper = alpha[face], fixed[1][face]
        wanted = here + change
        new = np.minimum(np.maximum(wanted, 0.0), upper)
        inside = np.all(new == wanted)
        if not _gain(rows, fixed, alpha, coef, bias, face, new, moved) > 0.0 and not inside:
            length = _to_first_bound(here, upper, change) * (1.0 + _BEYOND)
            new = np.minimum(np.maximum(here + length * change, 0.0), upper)
            _gain(rows, fixed, alpha, coef, bias, face, new, moved)
        alpha[face] = new
        coef[:] = moved
        if inside:
            return bias, True
    return bias, False


@summing_kernel
def _violation(rows, fixed, alpha, coef, bias):  # type: ignore[no-untyped-def]
    """By how much the condition of a row is violated at most."""
    sign, upper, diagonal, _ = fixed
    worst = 0.0
    for i in range(sign.size):
        short = 1.0 - sign[i] * (bias + dot(rows, i, coef)) - diagonal[i] * alpha[i]
        if (alpha[i] > 0.0 or short > 0.0) and (alpha[i] < upper[i] or short < 0.0):
            worst = max(worst, abs(short))
    return worst


@kernel
def _refine(rows, fixed, alpha, coef, bias, proximal, violation):  # type: ignore[no-untyped-def]
    """Solve the face once more for what rounding has left, as long as that helps; the intercept."""
    for _ in range(_MOST_REFINEMENTS):
        if violation <= _EXACT:
            break
        tried, moved = alpha.copy(), coef.copy()
        at, found = _solve_face(rows, fixed, tried, moved, proximal)
        left = _violation(rows, fixed, tried, moved, at)
        if not (found and left < 0.5 * violation):
            break
        alpha[:], coef[:] = tried, moved
        bias, violation = at, left
    return bias


@kernel
def solve(rows, fixed, alpha, coef, proximal, weak, state):  # type: ignore[no-untyped-def]
    """Move ``alpha`` and ``coef`` to the solution; the intercept there and the rounds it took, 0 if there is no end.

    ``weak`` is the intercept's proximal weight in the sweeps, ``proximal`` that of the faces; ``state`` the random
    generator's.
    """
    n = alpha.size
    rest, due, order = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    ascent, bias, sweep = (alpha, coef, rest, due), 0.0, 0
    for taken in range(_MOST_ROUNDS):
        for _ in range(_FIRST_SWEEPS if taken == 0 else 1):
            count, state = shuffled_due(due, sweep, order, state)
            bias, _ = sweep_over(rows, order[:count], fixed, ascent, bias, weak, sweep)
            bias += weak * np.sum(alpha * fixed[0])
            sweep += 1
        at, found = _solve_face(rows, fixed, alpha, coef, proximal)
        bias = at if found else bias
        violation = _violation(rows, fixed, alpha, coef, bias)
        if found and violation <= _HOLDS:
            return _refine(rows, fixed, alpha, coef, bias, proximal, violation), taken + 1
        due[:] = sweep
    return bias, 0
