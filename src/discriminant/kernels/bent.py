"""Newton's method for a squared or smoothed hinge on a table that stays in a core's cache, without a return to Python.

Minimises ``ridge theta^2 / 2 + linear'theta + sum_i share_i loss(rows_i theta)``, the loss a squared hinge, or a
smoothed one while its width shrinks. ``rows`` (m, q) are times their sign, C-contiguous float64.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
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
