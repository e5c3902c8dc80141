"""What the functions of `rows` do to dense rows and to CSR ones, by the types that Numba finds.

Places of nonzeros are read as unsigned: where they might be
negative, Numba would count them from the end, and looking at the sign took a quarter of a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from . import REGROUP
from .rows import add, dot, dot_and_square, prefetch

#: Array elements in a cache line of 64 bytes, for numbers of 8 and of 4 bytes.
_WIDE, _NARROW = 8, 16


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


@overload(dot, jit_options={"fastmath": REGROUP})
def _dot(rows, i, vector):  # type: ignore[no-untyped-def]  # noqa: ARG001
    def dense(rows, i, vector):  # type: ignore[no-untyped-def]
        total = 0.0
        for j in range(rows.shape[1]):
            total += rows[i, j] * vector[j]
        return total

    def csr(rows, i, vector):  # type: ignore[no-untyped-def]
        data, indices, indptr = rows
        total = 0.0
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[e] * vector[np.uint64(indices[e])]
        return total

    return csr if isinstance(rows, types.BaseTuple) else dense


@overload(add)
def _add(rows, i, factor, vector):  # type: ignore[no-untyped-def]  # noqa: ARG001
    def dense(rows, i, factor, vector):  # type: ignore[no-untyped-def]
        for j in range(rows.shape[1]):
            vector[j] += factor * rows[i, j]

    def csr(rows, i, factor, vector):  # type: ignore[no-untyped-def]
        data, indices, indptr = rows
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            vector[np.uint64(indices[e])] += factor * data[e]

    return csr if isinstance(rows, types.BaseTuple) else dense


@overload(dot_and_square, jit_options={"fastmath": REGROUP})
def _dot_and_square(rows, i, vector):  # type: ignore[no-untyped-def]  # noqa: ARG001
    def dense(rows, i, vector):  # type: ignore[no-untyped-def]
        total = square = 0.0
        for j in range(rows.shape[1]):
            total += rows[i, j] * vector[j]
            square += rows[i, j] * rows[i, j]
        return total, square

    def csr(rows, i, vector):  # type: ignore[no-untyped-def]
        data, indices, indptr = rows
        total = square = 0.0
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[e] * vector[np.uint64(indices[e])]
            square += data[e] * data[e]
        return total, square

    return csr if isinstance(rows, types.BaseTuple) else dense


@overload(prefetch)
def _prefetch(rows, i):  # type: ignore[no-untyped-def]  # noqa: ARG001
    def dense(rows, i):  # type: ignore[no-untyped-def]
        pass

    def csr(rows, i):  # type: ignore[no-untyped-def]
        data, indices, indptr = rows
        for e in range(indptr[i], indptr[i + 1], _WIDE):
            _fetch(data, e)
        for e in range(indptr[i], indptr[i + 1], _NARROW):
            _fetch(indices, e)

    return csr if isinstance(rows, types.BaseTuple) else dense
