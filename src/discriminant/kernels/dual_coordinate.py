"""Coordinate ascent in the dual of a support vector machine, one row at a time (Hsieh et al. 2008).

Of each row, ``fixed`` holds ``(sign, upper, diagonal, squares)``: the dual variable lies between 0 and ``upper``; with
``diagonal > 0`` the loss is ``slack^2 / (2 diagonal)``, else ``upper * slack``; ``squares`` is the row's squared
length. ``ascent`` holds ``(alpha, coef, rest, due)``: the variables, ``coef`` always the sum of ``alpha * sign * row``,
and the shrinking: rows whose variable stays at a bound are not looked at again for a while, each time a longer one.
``rest`` counts the sweeps to skip, ``due`` says in which sweep a row's turn comes. ``bias`` is the intercept, which
moves by ``proximal`` times the change of ``sum alpha * sign``.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .rows import add, dot, prefetch

#: Rows whose turn comes so many rows later are fetched into the cache meanwhile.
_AHEAD = 2
#: Sweeps a row at its bound is left out at most.
_LONGEST_REST = 15


@kernel
def shuffled_due(due, sweep, order, state):  # type: ignore[no-untyped-def]
    """Write the rows whose turn it is to ``order`` in random order; their number and the generator's next state."""
    count = 0
    for i in range(due.size):
        if due[i] <= sweep:
            order[count] = i
            count += 1
    for k in range(count - 1):
        state ^= state << np.uint64(13)  # Marsaglia's xorshift
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = k + np.int64(state % np.uint64(count - k))
        order[k], order[j] = order[j], order[k]
    return count, state


@kernel
def row_squares(data, indptr, out):  # type: ignore[no-untyped-def]
    """Write the sum of squares of every CSR row."""
    for i in range(out.size):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            total += data[e] * data[e]
        out[i] = total


@kernel
def _turn(i, score, fixed, ascent, proximal, sweep):  # type: ignore[no-untyped-def]
    """Set the variable of one row to its best value; the change times the sign, and the row's share of the gap."""
    sign, upper, diagonal, squares = fixed
    alpha, _, rest, due = ascent
    short = 1.0 - sign[i] * score
    slack, old, curvature = max(short, 0.0), alpha[i], diagonal[i]
    if curvature > 0.0:
        gap = 0.5 * (slack * slack / curvature + curvature * old * old) - old * short
    else:
        gap = upper[i] * slack - old * short
    slope, bend = short - curvature * old, squares[i] + proximal + curvature
    # A row of zeros without an intercept never gets closer to its kink.
    new = min(max(old + slope / bend, 0.0), upper[i]) if bend > 0.0 else upper[i]
    if new == old:
        rest[i] = min(2 * rest[i] + 1, _LONGEST_REST)
        due[i] = sweep + 1 + rest[i]
        return 0.0, gap
    rest[i] = 0
    alpha[i] = new
    return (new - old) * sign[i], gap


@summing_kernel
def sweep_over(rows, order, fixed, ascent, bias, proximal, sweep):  # type: ignore[no-untyped-def]
    """Take turns with the rows in ``order``; the new bias and the rows' shares of the duality gap as they were met."""
    gap = 0.0
    coef = ascent[1]
    for k in range(order.size):
        prefetch(rows, order[min(k + _AHEAD, order.size - 1)])
        i = order[k]
        change, share = _turn(i, bias + dot(rows, i, coef), fixed, ascent, proximal, sweep)
        gap += share
        if change != 0.0:
            bias += proximal * change
            add(rows, i, change, coef)
    return bias, gap


@kernel
def add_rows(rows, chosen, amounts, coef):  # type: ignore[no-untyped-def]
    """Add the chosen rows times their amounts to ``coef``."""
    for k in range(chosen.size):
        add(rows, chosen[k], amounts[k], coef)
