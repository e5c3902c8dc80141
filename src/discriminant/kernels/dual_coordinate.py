"""Coordinate ascent in the dual of a support vector machine, one row at a time.

The dual variable of row i lies between 0 and ``upper[i]``; ``coef`` is always the sum of ``alpha * sign * row``. With
``diagonal[i] > 0`` the loss is ``slack^2 / (2 diagonal)``, else ``upper * slack``. ``bias`` is the intercept, which
moves by ``give`` times the change of ``sum alpha * sign``.

Rows whose variable stays at a bound are not looked at again for a while, each time a longer one: ``rest`` counts the
sweeps to skip, ``due`` says in which sweep a row's turn comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from . import kernel, summing_kernel

#: Array elements in a cache line of 64 bytes, for numbers of 8 and of 4 bytes.
_WIDE, _NARROW = 8, 16
#: Rows whose turn comes so many rows later are fetched into the cache meanwhile.
_AHEAD = 2


def _fetching(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ARG001
    """Ask for an element to be brought into the cache, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.gep(context.make_array(signature.args[0])(context, builder, args[0]).data, [args[1]])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        hint = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = cgutils.get_or_insert_function(builder.module, hint, "llvm.prefetch.p0")
        # For reading, to be kept in all caches, data.
        builder.call(call, [builder.bitcast(place, byte), *(ir.Constant(word, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, index), generate


_fetch: Any = intrinsic(_fetching)


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
def _turn(i, score, sign, upper, diagonal, squares, give, alpha, rest, due, sweep, longest):  # type: ignore[no-untyped-def]
    """Set the variable of one row to its best value; the change times the sign, and the row's share of the gap."""
    short = 1.0 - sign[i] * score
    slack, old, bend = max(short, 0.0), alpha[i], diagonal[i]
    if bend > 0.0:
        gap = 0.5 * (slack * slack / bend + bend * old * old) - old * short
    else:
        gap = upper[i] * slack - old * short
    rise, fall = short - bend * old, squares[i] + give + bend
    # A row of zeros without an intercept never gets closer to its corner.
    new = min(max(old + rise / fall, 0.0), upper[i]) if fall > 0.0 else upper[i]
    if new == old:
        rest[i] = min(2 * rest[i] + 1, longest)
        due[i] = sweep + 1 + rest[i]
        return 0.0, gap
    rest[i] = 0
    alpha[i] = new
    return (new - old) * sign[i], gap


@summing_kernel
def csr_sweep(  # type: ignore[no-untyped-def]
    data, indices, indptr, rows, sign, upper, diagonal, squares, give, alpha, coef, bias, rest, due, sweep, longest
):
    """Take turns with the given CSR rows; the new bias and the rows' shares of the duality gap as they were met."""
    gap = 0.0
    for k in range(rows.size):
        ahead = rows[min(k + _AHEAD, rows.size - 1)]
        for e in range(indptr[ahead], indptr[ahead + 1], _WIDE):
            _fetch(data, e)
        for e in range(indptr[ahead], indptr[ahead + 1], _NARROW):
            _fetch(indices, e)
        i = rows[k]
        score = bias
        for e in range(indptr[i], indptr[i + 1]):
            score += data[e] * coef[indices[e]]
        change, share = _turn(
            i, score, sign, upper, diagonal, squares, give, alpha, rest, due, sweep, longest
        )  # fmt: skip
        gap += share
        if change != 0.0:
            bias += give * change
            for e in range(indptr[i], indptr[i + 1]):
                coef[indices[e]] += change * data[e]
    return bias, gap


@summing_kernel
def dense_sweep(  # type: ignore[no-untyped-def]
    X, rows, sign, upper, diagonal, squares, give, alpha, coef, bias, rest, due, sweep, longest
):
    """The same with dense rows."""
    gap = 0.0
    for k in range(rows.size):
        i = rows[k]
        score = bias
        for j in range(X.shape[1]):
            score += X[i, j] * coef[j]
        change, share = _turn(i, score, sign, upper, diagonal, squares, give, alpha, rest, due, sweep, longest)
        gap += share
        if change != 0.0:
            bias += give * change
            for j in range(X.shape[1]):
                coef[j] += change * X[i, j]
    return bias, gap


@kernel
def csr_add_rows(data, indices, indptr, rows, amounts, coef):  # type: ignore[no-untyped-def]
    """Add the given CSR rows times their amounts to ``coef``."""
    for k in range(rows.size):
        for e in range(indptr[rows[k]], indptr[rows[k] + 1]):
            coef[indices[e]] += amounts[k] * data[e]
