"""Newton's method for a squared or smoothed hinge on a table that stays in a core's cache, without a return to Python.

Minimises ``ridge theta^2 / 2 + linear'theta + sum_i share_i loss(rows_i theta)``, the loss a squared hinge, or a
smoothed one while its width shrinks. ``rows`` (m, q) are times their sign, C-contiguous float64. `solve` goes on to the
hinge itself: the steps are those of `margins.soft_margin` and `margins.interior_point`, for few columns.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .interior_point import step
from .losses import SMOOTHED_HINGE, derivatives

#: Curvature less than this share of the largest is left out of the second derivatives.
_FLAT = 1e-3


@summing_kernel
def _evaluate(loss, rows, share, linear, ridge, theta, width, gradient, hessian, scaled):  # type: ignore[no-untyped-def]
    """The value; writes the gradient and the Hessian. ``scaled`` (m, q) is room to work in."""
    q = theta.size
    value = 0.0
    for j in range(q):
        value += (linear[j] + 0.5 * ridge[j] * theta[j]) * theta[j]
        gradient[j] = linear[j] + ridge[j] * theta[j]
    flat = _FLAT * 0.25 / width if loss == SMOOTHED_HINGE else 0.0
    bent = 0
    for i in range(rows.shape[0]):
        margin = 0.0
        for j in range(q):
            margin += rows[i, j] * theta[j]
        cost, slope, curvature = derivatives(loss, width, margin)
        value += share[i] * cost
        pull = share[i] * slope
        for j in range(q):
            gradient[j] += pull * rows[i, j]
        if curvature > flat:
            root = np.sqrt(share[i] * curvature)
            for j in range(q):
                scaled[bent, j] = root * rows[i, j]
            bent += 1
    hessian[:] = np.dot(scaled[:bent].T, scaled[:bent])
    for j in range(q):
        hessian[j, j] += ridge[j]
    return value


@summing_kernel
def _solve(hessian, right, out):  # type: ignore[no-untyped-def]
    """Write ``hessian^-1 right``, from its lower half, which becomes the Cholesky factor; directions without curvature
    are held."""
    q = right.size
    largest = 0.0
    for j in range(q):
        largest = max(largest, hessian[j, j])
    for j in range(q):
        own = hessian[j, j]
        for k in range(j):
            hessian[j, j] -= hessian[j, k] * hessian[j, k]
        if hessian[j, j] <= 1e-13 * own or hessian[j, j] <= 1e-300 * largest:
            hessian[j, j] = np.inf
        root = np.sqrt(hessian[j, j])
        hessian[j, j] = root
        for i in range(j + 1, q):
            for k in range(j):
                hessian[i, j] -= hessian[i, k] * hessian[j, k]
            hessian[i, j] /= root
    for j in range(q):
        out[j] = right[j]
        for k in range(j):
            out[j] -= hessian[j, k] * out[k]
        out[j] /= hessian[j, j]
    for j in range(q - 1, -1, -1):
        for k in range(j + 1, q):
            out[j] -= hessian[k, j] * out[k]
        out[j] /= hessian[j, j]


@kernel
def follow(loss, rows, share, linear, ridge, theta, width, last, shrink, most):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum at each width from ``width`` down to ``last``; the last width reached."""
    q = theta.size
    gradient, direction, new = np.empty(q), np.empty(q), np.empty(q)
    hessian, scaled = np.empty((q, q)), np.empty(rows.shape)
    while True:
        value = _evaluate(loss, rows, share, linear, ridge, theta, width, gradient, hessian, scaled)
        for _ in range(most):
            _solve(hessian, gradient, direction)
            decrement = 0.0
            for j in range(q):
                decrement += gradient[j] * direction[j]
            enough = 0.2 * width * width if loss == SMOOTHED_HINGE else 0.0
            if not decrement > max(enough, 1e-15 * abs(value)):
                break
            length, found = 1.0, False
            while length > 1e-6 and not found:
                for j in range(q):
                    new[j] = theta[j] - length * direction[j]
                reached = _evaluate(loss, rows, share, linear, ridge, new, width, gradient, hessian, scaled)
                found = reached <= value - 1e-4 * length * decrement
                length *= 0.3
            if not found:
                break
            theta[:] = new
            value = reached
        if width <= last:
            return width
        width /= shrink


_MOST_STEPS, _MOST_ROUNDS = 100, 30
#: Rows for each unknown from which on the search begins with every fourth of them.
_SAMPLED = 40


@summing_kernel
def _factorised_hessian(rows, weight, ridge, factor):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of ``rows' weight rows + ridge``; whether there is one."""
    m, q = rows.shape
    factor[:] = 0.0
    for j in range(q):
        factor[j, j] = ridge[j]
    for i in range(m):
        for j in range(q):
            scaled = weight[i] * rows[i, j]
            for k in range(j + 1):
                factor[j, k] += scaled * rows[i, k]
    for j in range(q):
        for k in range(j):
            factor[j, j] -= factor[j, k] * factor[j, k]
        if not factor[j, j] > 0.0:
            return False
        factor[j, j] = np.sqrt(factor[j, j])
        for i in range(j + 1, q):
            for k in range(j):
                factor[i, j] -= factor[i, k] * factor[j, k]
            factor[i, j] /= factor[j, j]
    return True


@summing_kernel
def _settled(rows, share, linear, constant, ridge, theta, used, width, good):  # type: ignore[no-untyped-def]
    """Move ``theta`` and ``used`` to the minimum by the interior point method; whether the gap came to be ``good``."""
    m, q = rows.shape
    left, slack, spare, give = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    factor = np.empty((q, q))
    for i in range(m):
        short = 1.0
        for j in range(q):
            short -= rows[i, j] * theta[j]
        root = np.hypot(short, 2.0 * width)
        slack[i] = 0.5 * (short + root) if short > 0 else 2.0 * width * width / (root - short)
        spare[i] = width * width / slack[i]
        used[i] = slack[i] / (slack[i] + spare[i])
        left[i] = spare[i] / (slack[i] + spare[i])
    for _ in range(_MOST_STEPS):
        for i in range(m):
            give[i] = share[i] / (slack[i] / left[i] + spare[i] / used[i])
        if not _factorised_hessian(rows, give, ridge, factor):
            return False
        for i in range(m):
            give[i] /= share[i]
        if step(rows, share, linear, ridge, False, give, factor, theta, used, left, slack, spare) == 0.0:
            return False
        gap, size = 0.0, constant
        for j in range(q):
            size += (linear[j] + 0.5 * ridge[j] * theta[j]) * theta[j]
        for i in range(m):
            gap += share[i] * (used[i] * spare[i] + left[i] * slack[i])
            size += share[i] * slack[i]
        if gap <= good * size:
            return True
    return False


@kernel
def solve(rows, share, ridge, theta, used, first, last, shrink, near_widths, good):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum and write every row's multiplier divided by its bound; whether it was found."""
    m, q = rows.shape
    linear = np.zeros(q)
    if m >= _SAMPLED * q:  # a sample is enough for the first widths
        some = rows[::4].copy()
        first = follow(
            SMOOTHED_HINGE, some, share[::4] * 4.0, linear, ridge, theta, first, first / shrink, shrink, _MOST_STEPS
        )
    width = follow(SMOOTHED_HINGE, rows, share, linear, ridge, theta, first, last, shrink, _MOST_STEPS)
    short = 1.0 - rows @ theta
    near = np.abs(short) < near_widths * width
    pulling = (short > 0.0) & ~near
    for _ in range(_MOST_ROUNDS):
        chosen = np.flatnonzero(near)
        linear[:] = 0.0
        constant = 0.0
        for i in range(m):
            if pulling[i]:
                constant += share[i]
                for j in range(q):
                    linear[j] -= share[i] * rows[i, j]
        multipliers = np.empty(chosen.size)
        own, own_share = rows[chosen], share[chosen]
        if not _settled(own, own_share, linear, constant, ridge, theta, multipliers, width / shrink, good):
            return False
        short = 1.0 - rows @ theta
        crossed = False
        for i in range(m):
            if not near[i] and (short[i] > 0.0) != pulling[i]:
                near[i], pulling[i], crossed = True, False, True
        if not crossed:
            used[:] = np.where(pulling, 1.0, 0.0)
            used[chosen] = multipliers
            return True
    return False
