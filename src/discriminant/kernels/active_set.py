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
from .vectors import copy_into, inner, summed

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
    m, q = face.size, rows.shape[1]
    own, short, change, bias = np.empty((m, q)), np.empty(m), np.empty(m), 0.0
    for k in range(m):
        for j in range(q):
            own[k, j] = rows[face[k], j]
    system = np.dot(own, own.T)
    for k in range(m):
        i = face[k]
        for other in range(k + 1):
            system[k, other] += proximal
        system[k, k] += diagonal[i]
        short[k] = sign[i] * (1.0 - diagonal[i] * alpha[i]) - dot(rows, i, coef)
    cholesky(system, _ROUNDING)
    solve_factored(system, short, change)
    if proximal > 0.0:
        pull, excess = np.empty(m), inner(sign, alpha)
        solve_factored(system, np.ones(m), pull)
        bias = (summed(change) + excess) / summed(pull)
        for k in range(m):
            change[k] -= bias * pull[k]
        bias -= proximal * excess
    for k in range(m):
        change[k] *= sign[face[k]]
    return change, bias


@summing_kernel
def _gain(rows, fixed, alpha, coef, bias, face, new, moved):  # type: ignore[no-untyped-def]
    """What the dual gains by new values on a face, at a given intercept; writes their coefficients to ``moved``."""
    sign, _, diagonal, _ = fixed
    copy_into(moved, coef)
    gain = 0.0
    for k in range(face.size):
        i = face[k]
        change = new[k] - alpha[i]
        add(rows, i, change * sign[i], moved)
        gain += change * (1.0 - bias * sign[i] - 0.5 * diagonal[i] * (new[k] + alpha[i]))
    for j in range(coef.size):
        gain -= 0.5 * (moved[j] - coef[j]) * (moved[j] + coef[j])
    return gain


@kernel
def _to_first_bound(alpha, upper, face, change):  # type: ignore[no-untyped-def]
    """How much of a change leaves all multipliers of a face within their bounds, 1 at most."""
    length = 1.0
    for k in range(face.size):
        if change[k] != 0.0:
            room = alpha[face[k]] if change[k] < 0.0 else upper[face[k]] - alpha[face[k]]
            length = min(length, room / abs(change[k]))
    return length


@kernel
def _move(alpha, upper, face, change, length, new):  # type: ignore[no-untyped-def]
    """Write the multipliers of a face after a change of some length, held within their bounds; how many are held."""
    held = 0
    for k in range(face.size):
        wanted = alpha[face[k]] + length * change[k]
        new[k] = min(max(wanted, 0.0), upper[face[k]])
        held += new[k] != wanted
    return held


@kernel
def _between_bounds(alpha, upper):  # type: ignore[no-untyped-def]
    """The face: which multipliers are between their bounds."""
    face, size = np.empty(alpha.size, np.int64), 0
    for i in range(alpha.size):
        if 0.0 < alpha[i] < upper[i]:
            face[size] = i
            size += 1
    return face[:size]


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
    return 0.5 * (low + high), abs(pull) <= _BALANCED * summed(alpha)


@kernel
def _solve_face(rows, fixed, alpha, coef, proximal):  # type: ignore[no-untyped-def]
    """Move to the solution of the face, or of a smaller one; the intercept there, and whether there is one."""
    moved, new, upper, bias = np.empty(coef.size), np.empty(alpha.size), fixed[1], 0.0
    for _ in range(_MOST_FACES):
        face = _between_bounds(alpha, upper)
        if face.size > _ROWS_PER_UNKNOWN * (coef.size + 1):
            break
        if face.size == 0:
            return _with_all_at_bounds(rows, fixed, alpha, coef, proximal)
        change, bias = _direction(rows, fixed, alpha, coef, face, proximal)
        if not np.isfinite(summed(change) + bias):
            break
        inside = _move(alpha, upper, face, change, 1.0, new) == 0
        if not _gain(rows, fixed, alpha, coef, bias, face, new, moved) > 0.0 and not inside:
            length = _to_first_bound(alpha, upper, face, change) * (1.0 + _BEYOND)
            _move(alpha, upper, face, change, length, new)
            _gain(rows, fixed, alpha, coef, bias, face, new, moved)
        for k in range(face.size):
            alpha[face[k]] = new[k]
        copy_into(coef, moved)
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
        copy_into(alpha, tried)
        copy_into(coef, moved)
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
    ascent, bias, begun = (alpha, coef, rest, due), 0.0, 0
    for taken in range(_MOST_ROUNDS):
        for sweep in range(begun, _FIRST_SWEEPS + taken):
            count, state = shuffled_due(due, sweep, order, state)
            bias, _ = sweep_over(rows, order[:count], fixed, ascent, bias, weak, sweep)
            bias += weak * inner(alpha, fixed[0])
        begun = _FIRST_SWEEPS + taken
        at, found = _solve_face(rows, fixed, alpha, coef, proximal)
        bias = at if found else bias
        violation = _violation(rows, fixed, alpha, coef, bias)
        if found and violation <= _HOLDS:
            return _refine(rows, fixed, alpha, coef, bias, proximal, violation), taken + 1
        for i in range(n):
            due[i] = begun
    return bias, 0
