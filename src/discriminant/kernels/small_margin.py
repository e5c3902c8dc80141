"""A support vector machine on a table that stays in a core's cache, from start to end without a return to Python.

The steps are those of `solvers.smoothed_hinge` and `solvers.settle`, for the plain hinge and few columns.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .bent import follow
from .interior import step
from .losses import SMOOTHED_HINGE

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
