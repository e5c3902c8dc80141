"""Support vector machines on a table that stays in a core's cache, without a return to Python.

Minimises ``ridge theta^2 / 2 + linear'theta + sum_i share_i loss(rows_i theta)``. The loss is a squared hinge, or a
smoothed one while its width shrinks (`follow`); `solve` goes on to the hinge itself. The steps are those of
`margins.soft_margin` and `margins.interior_point`. ``rows`` (m, q) are times their sign, C-contiguous float64.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .interior_point import begin, cholesky, gap_after, solve_factored, step, weights
from .losses import SMOOTHED_HINGE, add_newton

#: Curvature less than this share of the largest is left out of the second derivatives.
_FLAT = 1e-3
_MOST_STEPS, _MOST_ROUNDS = 100, 30
#: From this many rows for each unknown on, the first widths are followed on every fourth row only.
_SAMPLED = 40
#: Pivots of a Hessian this small, relative to its diagonal, are rounding.
_ROUNDING = 1e-13


@summing_kernel
def _evaluate(loss, width, problem, theta, gradient, hessian, scaled):  # type: ignore[no-untyped-def]
    """The value; writes the gradient and the Hessian. ``scaled`` (m, q) is room to work in."""
    rows, share, linear, ridge, _ = problem
    gradient[:] = linear + ridge * theta
    flat = _FLAT * 0.25 / width if loss == SMOOTHED_HINGE else 0.0
    origin, first, none = np.zeros(theta.size), np.ones(share.size), np.zeros(share.size)
    value, _, kept = add_newton(loss, width, rows, origin, theta, 0.0, first, share, none, gradient, flat, scaled)
    hessian[:] = np.dot(scaled[:kept].T, scaled[:kept]) + np.diag(ridge)
    return value + np.sum((linear + 0.5 * ridge * theta) * theta)


@kernel
def follow(loss, problem, theta, width, last, shrink):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum at each width from ``width`` down to ``last``; the last width, and the steps."""
    q, steps = theta.size, 0
    gradient, direction = np.empty(q), np.empty(q)
    hessian, scaled = np.empty((q, q)), np.empty(problem[0].shape)
    while True:
        value = _evaluate(loss, width, problem, theta, gradient, hessian, scaled)
        for _ in range(_MOST_STEPS):
            cholesky(hessian, _ROUNDING)
            solve_factored(hessian, gradient, direction)
            decrement = np.dot(gradient, direction)
            enough = 0.2 * width * width if loss == SMOOTHED_HINGE else 0.0
            if not decrement > max(enough, 1e-15 * abs(value)):
                break
            length, found = 1.0, False
            while length > 1e-6 and not found:
                new = theta - length * direction
                reached = _evaluate(loss, width, problem, new, gradient, hessian, scaled)
                found = reached <= value - 1e-4 * length * decrement
                length *= 0.3
            if not found:
                break
            theta[:] = new
            value = reached
            steps += 1
        if width <= last:
            return width, steps
        width /= shrink


@summing_kernel
def _interior_point(problem, constant, theta, state, width, good):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum of the hinge; the steps, 0 if the gap relative to the value is not ``good``."""
    rows, share, linear, ridge, _ = problem
    m, q = rows.shape
    hessian, unchanged = np.empty((q, q)), np.zeros(state.shape)
    begin(problem, theta, width, state)
    for taken in range(_MOST_STEPS):
        weight = weights(problem, state)
        hessian[:] = np.diag(ridge)
        for i in range(m):
            for j in range(q):
                scaled = share[i] * weight[i] * rows[i, j]
                for k in range(j + 1):
                    hessian[j, k] += scaled * rows[i, k]
        if cholesky(hessian, 0.0) or step(problem, state, theta, weight, hessian) == 0.0:
            return 0
        size = constant + np.sum((linear + 0.5 * ridge * theta) * theta) + np.sum(share * state[2])
        if gap_after(problem, state, unchanged, 0.0) <= good * size:
            return taken + 1
    return 0


@kernel
def solve(rows, share, ridge, theta, used, first, last, shrink, near_widths, good):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum and write every row's multiplier divided by its bound; the steps, 0 if lost."""
    m, q = rows.shape
    steps = 0
    linear = np.zeros(q)
    if m >= _SAMPLED * q:
        sample = (rows[::4].copy(), share[::4] * 4.0, linear, ridge, False)
        first, steps = follow(SMOOTHED_HINGE, sample, theta, first, first / shrink, shrink)
    width, more = follow(SMOOTHED_HINGE, (rows, share, linear, ridge, False), theta, first, last, shrink)
    steps += more
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
        state = np.empty((4, chosen.size))
        own = (rows[chosen], share[chosen], linear, ridge, False)
        more = _interior_point(own, constant, theta, state, width / shrink, good)
        if more == 0:
            return 0
        steps += more
        short = 1.0 - rows @ theta
        violating = ~near & ((short > 0.0) != pulling)
        if not violating.any():
            used[:] = np.where(pulling, 1.0, 0.0)
            used[chosen] = state[0]
            return steps
        near |= violating
        pulling &= ~violating
    return 0
