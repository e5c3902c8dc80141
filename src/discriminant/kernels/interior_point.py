"""A step of the interior point method of `margins.interior_point`, whose docstring has the problem and its letters.

``rows`` (m, q) C-contiguous; all other arrays of rows (m,), of unknowns (q,).
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel

#: Steps go this part of the way to the point where something positive would become 0.
_SHORT_OF_ZERO = 0.995


@summing_kernel
def _solve_factored(factor, right, out):  # type: ignore[no-untyped-def]
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
def _direction(rows, share, squared, state, give, factor, short, pull, target, cross, change, right):  # type: ignore[no-untyped-def]
    """Write the changes that bring all products to ``target``, as far as lines go.

    ``state`` and ``change`` are (theta; used, left, slack, spare); ``cross`` (2, m) the products of the changes before.
    """
    _, used, left, slack, spare = state
    d_theta, d_used, d_slack, d_spare = change
    m, q = rows.shape
    right[:] = pull
    for i in range(m):
        # First what slack and spare would change by if the multiplier stayed, then what the multiplier adds.
        d_spare[i] = (target - used[i] * spare[i] - cross[0, i]) / used[i]
        d_slack[i] = 0.0 if squared else (target - left[i] * slack[i] + cross[1, i]) / left[i]
        d_used[i] = short[i] - slack[i] + spare[i] + d_spare[i] - d_slack[i]
        amount = share[i] * give[i] * d_used[i]
        for j in range(q):
            right[j] += amount * rows[i, j]
    _solve_factored(factor, right, d_theta)
    for i in range(m):
        margin = 0.0
        for j in range(q):
            margin += rows[i, j] * d_theta[j]
        d_used[i] = give[i] * (d_used[i] - margin)
        d_slack[i] = 0.5 * d_used[i] if squared else d_slack[i] + slack[i] / left[i] * d_used[i]
        d_spare[i] -= spare[i] / used[i] * d_used[i]


@kernel
def _room(squared, state, change):  # type: ignore[no-untyped-def]
    """How far one can go before something is 0."""
    _, used, left, slack, spare = state
    _, d_used, d_slack, d_spare = change
    length = np.inf
    for i in range(used.size):
        if d_used[i] < 0.0:
            length = min(length, -used[i] / d_used[i])
        if d_spare[i] < 0.0:
            length = min(length, -spare[i] / d_spare[i])
        if not squared:
            if d_used[i] > 0.0:
                length = min(length, left[i] / d_used[i])
            if d_slack[i] < 0.0:
                length = min(length, -slack[i] / d_slack[i])
    return length


@kernel
def gap_after(share, squared, used, left, slack, spare, d_used, d_slack, d_spare, length):  # type: ignore[no-untyped-def]
    """The sum of the products, each times its row's share, after a step of some length."""
    total = 0.0
    for i in range(used.size):
        multiplier = used[i] + length * d_used[i]
        total += share[i] * multiplier * (spare[i] + length * d_spare[i])
        if not squared:
            total += share[i] * (left[i] - length * d_used[i]) * (slack[i] + length * d_slack[i])
    return total


@summing_kernel
def step(rows, share, linear, ridge, squared, give, factor, theta, used, left, slack, spare):  # type: ignore[no-untyped-def]
    """Take Mehrotra's step in place; its length, 0 if there is none. ``factor`` is that of the unknowns' Hessian."""
    m, q = rows.shape
    state = (theta, used, left, slack, spare)
    change = (np.empty(q), np.empty(m), np.empty(m), np.empty(m))
    short, pull, right, cross = np.empty(m), np.empty(q), np.empty(q), np.zeros((2, m))
    for j in range(q):
        pull[j] = -linear[j] - ridge[j] * theta[j]
    for i in range(m):
        margin = 0.0
        amount = share[i] * used[i]
        for j in range(q):
            margin += rows[i, j] * theta[j]
            pull[j] += amount * rows[i, j]
        short[i] = 1.0 - margin
    d_theta, d_used, d_slack, d_spare = change
    _direction(rows, share, squared, state, give, factor, short, pull, 0.0, cross, change, right)
    ahead = min(1.0, _room(squared, state, change))
    gap = gap_after(share, squared, used, left, slack, spare, d_used, d_slack, d_spare, 0.0)
    then = gap_after(share, squared, used, left, slack, spare, d_used, d_slack, d_spare, ahead)
    mean = gap / share.sum() / (1.0 if squared else 2.0)
    target = (then / max(gap, 1e-300)) ** 3 * mean
    for i in range(m):
        cross[0, i] = d_used[i] * d_spare[i]
        cross[1, i] = d_used[i] * d_slack[i]
    _direction(rows, share, squared, state, give, factor, short, pull, target, cross, change, right)
    length = min(1.0, _SHORT_OF_ZERO * _room(squared, state, change))
    if length < 1e-6 or not np.isfinite(d_theta.sum()):
        return 0.0
    for j in range(q):
        theta[j] += length * d_theta[j]
    for i in range(m):
        used[i] += length * d_used[i]
        left[i] -= length * d_used[i]
        slack[i] += length * d_slack[i]
        spare[i] += length * d_spare[i]
    return length
