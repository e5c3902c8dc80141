"""The interior point method of `margins.interior_point` (Mehrotra 1992), and linear systems by Cholesky factors.

``problem`` is ``(rows, share, linear, ridge, squared)``: rows (m, q) times their sign, C-contiguous; share (m,);
linear and ridge (q,); whether slacks are squared. ``state`` (4, m) holds each row's multiplier divided by its share
(the *dual*), 1 minus the dual (its *room*), the slack and the surplus, all of them positive.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .losses import smoothed_hinge_derivatives
from .vectors import summed

_DUAL, _ROOM, _SLACK, _SURPLUS = range(4)
#: Steps go this part of the way to the point where something positive would become 0 (Mehrotra's usual 0.995).
_SHORT_OF_ZERO = 0.995


@summing_kernel
def cholesky(matrix, least):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor over the lower half of a matrix; the number of pivots that are nothing but rounding.

    These, not above ``least`` times their entry on the diagonal, become infinite, which holds their directions.
    """
    q, held = matrix.shape[0], 0
    for j in range(q):
        own = matrix[j, j]
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        if not matrix[j, j] > least * own:
            matrix[j, j] = np.inf
            held += 1
        matrix[j, j] = np.sqrt(matrix[j, j])
        for i in range(j + 1, q):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    return held


@summing_kernel
def solve_factored(factor, right, out):  # type: ignore[no-untyped-def]
    """Write ``(factor factor')^-1 right``, ``factor`` lower triangular."""
    q = right.size
    for j in range(q):
        total = right[j]
        for k in range(j):
            total -= factor[j, k] * out[k]
        out[j] = total / factor[j, j]
    for j in range(q - 1, -1, -1):
        out[j] /= factor[j, j]
        for k in range(j):
            out[k] -= factor[j, k] * out[j]


@summing_kernel
def begin(problem, theta, width, state):  # type: ignore[no-untyped-def]
    """Write the state at ``theta`` in which slack times surplus is ``width^2`` for every row."""
    rows, _, _, _, squared = problem
    for i in range(rows.shape[0]):
        margin = 0.0
        for j in range(theta.size):
            margin += rows[i, j] * theta[j]
        slack, slope, _ = smoothed_hinge_derivatives(margin, width)
        surplus = width * width / slack
        state[_DUAL, i] = 2.0 * slack if squared else -slope
        state[_ROOM, i] = surplus / (slack + surplus)
        state[_SLACK, i], state[_SURPLUS, i] = slack, surplus


@kernel
def weights(problem, state):  # type: ignore[no-untyped-def]
    """The weight of each row in the Hessian of the unknowns, without its share."""
    weight = np.empty(state.shape[1])
    for i in range(weight.size):
        own = 0.5 if problem[4] else state[_SLACK, i] / state[_ROOM, i]
        weight[i] = 1.0 / (own + state[_SURPLUS, i] / state[_DUAL, i])
    return weight


@kernel
def gap_after(problem, state, change, length):  # type: ignore[no-untyped-def]
    """The sum of the complementary products, each times its row's share, after a step of some length."""
    _, share, _, _, squared = problem
    total = 0.0
    for i in range(share.size):
        dual = state[_DUAL, i] + length * change[_DUAL, i]
        total += share[i] * dual * (state[_SURPLUS, i] + length * change[_SURPLUS, i])
        if not squared:
            room = state[_ROOM, i] - length * change[_DUAL, i]
            total += share[i] * room * (state[_SLACK, i] + length * change[_SLACK, i])
    return total


@summing_kernel
def _direction(problem, state, weight, factor, residuals, target, cross, change, d_theta):  # type: ignore[no-untyped-def]
    """Write the changes that bring all complementary products to ``target``, to first order.

    ``residuals`` are ``1 - rows theta`` (m,) and minus the gradient (q,); ``cross`` (2, m) the products of the changes
    of the predictor.
    """
    rows, share, _, _, squared = problem
    short, descent = residuals
    dual, room, slack, surplus = state[_DUAL], state[_ROOM], state[_SLACK], state[_SURPLUS]
    m, q = rows.shape
    right = descent.copy()
    for i in range(m):
        # First what slack and surplus would change by if the dual stayed, then what the dual's change adds.
        change[_SURPLUS, i] = (target - dual[i] * surplus[i] - cross[0, i]) / dual[i]
        change[_SLACK, i] = 0.0 if squared else (target - room[i] * slack[i] + cross[1, i]) / room[i]
        change[_DUAL, i] = short[i] - slack[i] + surplus[i] + change[_SURPLUS, i] - change[_SLACK, i]
        amount = share[i] * weight[i] * change[_DUAL, i]
        for j in range(q):
            right[j] += amount * rows[i, j]
    solve_factored(factor, right, d_theta)
    for i in range(m):
        margin = 0.0
        for j in range(q):
            margin += rows[i, j] * d_theta[j]
        d_dual = weight[i] * (change[_DUAL, i] - margin)
        change[_DUAL, i], change[_ROOM, i] = d_dual, -d_dual
        change[_SLACK, i] = 0.5 * d_dual if squared else change[_SLACK, i] + slack[i] / room[i] * d_dual
        change[_SURPLUS, i] -= surplus[i] / dual[i] * d_dual


@kernel
def _longest(squared, state, change):  # type: ignore[no-untyped-def]
    """How far one can go before something is 0."""
    length = np.inf
    for k in range(4):
        if squared and k in (_ROOM, _SLACK):  # free, and a multiple of the dual
            continue
        for i in range(state.shape[1]):
            if change[k, i] < 0.0:
                length = min(length, -state[k, i] / change[k, i])
    return length


@summing_kernel
def step(problem, state, theta, weight, factor):  # type: ignore[no-untyped-def]
    """Take Mehrotra's predictor-corrector step in place; its length, 0 if there is none.

    ``factor`` is the Cholesky factor of the Hessian, ``rows' (share weight) rows + ridge``.
    """
    rows, share, linear, ridge, squared = problem
    m, q = rows.shape
    short, descent, d_theta = np.empty(m), np.empty(q), np.empty(q)
    for j in range(q):
        descent[j] = -linear[j] - ridge[j] * theta[j]
    for i in range(m):
        margin = 0.0
        amount = share[i] * state[_DUAL, i]
        for j in range(q):
            margin += rows[i, j] * theta[j]
            descent[j] += amount * rows[i, j]
        short[i] = 1.0 - margin
    residuals, change, cross = (short, descent), np.zeros((4, m)), np.zeros((2, m))
    gap = gap_after(problem, state, change, 0.0)
    _direction(problem, state, weight, factor, residuals, 0.0, cross, change, d_theta)
    then = gap_after(problem, state, change, min(1.0, _longest(squared, state, change)))
    target = (then / max(gap, 1e-300)) ** 3 * gap / summed(share) / (1.0 if squared else 2.0)
    for i in range(m):
        cross[0, i], cross[1, i] = change[_DUAL, i] * change[_SURPLUS, i], change[_DUAL, i] * change[_SLACK, i]
    _direction(problem, state, weight, factor, residuals, target, cross, change, d_theta)
    length = min(1.0, _SHORT_OF_ZERO * _longest(squared, state, change))
    if length < 1e-6 or not np.isfinite(summed(d_theta)):
        return 0.0
    for j in range(q):
        theta[j] += length * d_theta[j]
    for k in range(4):
        for i in range(m):
            state[k, i] += length * change[k, i]
    return length
