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
from .vectors import copy_into, inner, multiply, places

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
    penalty, q = 0.0, theta.size
    for j in range(q):
        gradient[j] = linear[j] + ridge[j] * theta[j]
        penalty += (linear[j] + 0.5 * ridge[j] * theta[j]) * theta[j]
    flat = _FLAT * 0.25 / width if loss == SMOOTHED_HINGE else 0.0
    origin, first, none = np.zeros(q), np.ones(share.size), np.zeros(share.size)
    value, _, kept = add_newton(loss, width, rows, origin, theta, 0.0, first, share, none, gradient, flat, scaled)
    products = np.dot(scaled[:kept].T, scaled[:kept])
    for j in range(q):
        copy_into(hessian[j], products[j])
        hessian[j, j] += ridge[j]
    return value + penalty


@kernel
def follow(loss, problem, theta, width, last, shrink):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum at each width from ``width`` down to ``last``; the last width, and the steps."""
    q, steps = theta.size, 0
    gradient, direction, new = np.empty(q), np.empty(q), np.empty(q)
    hessian, scaled = np.empty((q, q)), np.empty(problem[0].shape)
    while True:
        value = _evaluate(loss, width, problem, theta, gradient, hessian, scaled)
        for _ in range(_MOST_STEPS):
            cholesky(hessian, _ROUNDING)
            solve_factored(hessian, gradient, direction)
            decrement = inner(gradient, direction)
            enough = 0.2 * width * width if loss == SMOOTHED_HINGE else 0.0
            if not decrement > max(enough, 1e-15 * abs(value)):
                break
            length, found = 1.0, False
            while length > 1e-6 and not found:
                for j in range(q):
                    new[j] = theta[j] - length * direction[j]
                reached = _evaluate(loss, width, problem, new, gradient, hessian, scaled)
                found = reached <= value - 1e-4 * length * decrement
                length *= 0.3
            if not found:
                break
            copy_into(theta, new)
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
        for j in range(q):
            for k in range(j):
                hessian[j, k] = 0.0
            hessian[j, j] = ridge[j]
        for i in range(m):
            for j in range(q):
                scaled = share[i] * weight[i] * rows[i, j]
                for k in range(j + 1):
                    hessian[j, k] += scaled * rows[i, k]
        if cholesky(hessian, 0.0) or step(problem, state, theta, weight, hessian) == 0.0:
            return 0
        size = constant + inner(share, state[2])
        for j in range(q):
            size += (linear[j] + 0.5 * ridge[j] * theta[j]) * theta[j]
        if gap_after(problem, state, unchanged, 0.0) <= good * size:
            return taken + 1
    return 0


@kernel
def _chosen(rows, share, chosen):  # type: ignore[no-untyped-def]
    """Some rows, and their shares."""
    own, shares = np.empty((chosen.size, rows.shape[1])), np.empty(chosen.size)
    for k in range(chosen.size):
        copy_into(own[k], rows[chosen[k]])
        shares[k] = share[chosen[k]]
    return own, shares


@kernel
def _pulls(rows, share, pulling, linear):  # type: ignore[no-untyped-def]
    """Write the gradient of the rows beyond the kink to ``linear``; the sum of their shares."""
    constant = 0.0
    for j in range(linear.size):
        linear[j] = 0.0
    for i in range(share.size):
        if pulling[i]:
            constant += share[i]
            for j in range(linear.size):
                linear[j] -= share[i] * rows[i, j]
    return constant


@kernel
def solve(rows, share, ridge, theta, used, first, last, shrink, near_widths, good):  # type: ignore[no-untyped-def]
    """Move ``theta`` to the minimum and write every row's multiplier divided by its bound; the steps, 0 if lost."""
    m, q = rows.shape
    steps, linear, margins = 0, np.zeros(q), np.empty(m)
    near, pulling = np.empty(m, np.bool_), np.empty(m, np.bool_)
    if m >= _SAMPLED * q:
        own, shares = _chosen(rows, share, np.arange(0, m, 4))
        for i in range(shares.size):
            shares[i] *= 4.0
        first, steps = follow(SMOOTHED_HINGE, (own, shares, linear, ridge, False), theta, first, first / shrink, shrink)
    width, more = follow(SMOOTHED_HINGE, (rows, share, linear, ridge, False), theta, first, last, shrink)
    steps += more
    multiply(rows, theta, margins)
    for i in range(m):
        near[i] = abs(1.0 - margins[i]) < near_widths * width
        pulling[i] = margins[i] < 1.0 and not near[i]
    for _ in range(_MOST_ROUNDS):
        chosen, constant = places(near), _pulls(rows, share, pulling, linear)
        state = np.empty((4, chosen.size))
        own, shares = _chosen(rows, share, chosen)
        more = _interior_point((own, shares, linear, ridge, False), constant, theta, state, width / shrink, good)
        if more == 0:
            return 0
        steps, violating = steps + more, 0
        multiply(rows, theta, margins)
        for i in range(m):
            used[i] = 1.0 if pulling[i] else 0.0
            if not near[i] and (margins[i] < 1.0) != pulling[i]:
                near[i], pulling[i] = True, False
                violating += 1
        if violating == 0:
            for k in range(chosen.size):
                used[chosen[k]] = state[0, k]
            return steps
    return 0
