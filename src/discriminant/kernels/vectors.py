"""What kernels do to whole vectors and matrices, in loops.

NumPy's expressions run no faster within a kernel, and each is compiled for itself: an array assigned to ``out[:]`` took
5 s, because errors of broadcasting are then compiled, too, with the text of their messages; a loop takes 0.03 s.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel


@kernel
def copy_into(target, source):  # type: ignore[no-untyped-def]
    """Write a vector over another."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def copy_matrix_into(target, source):  # type: ignore[no-untyped-def]
    """Write a matrix over another."""
    for k in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[k, j] = source[k, j]


@summing_kernel
def inner(a, b):  # type: ignore[no-untyped-def]
    """The inner product of two vectors."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@summing_kernel
def summed(a):  # type: ignore[no-untyped-def]
    """The sum of a vector."""
    total = 0.0
    for i in range(a.size):
        total += a[i]
    return total


@kernel
def multiply(matrix, vector, out):  # type: ignore[no-untyped-def]
    """Write the product of a matrix and a vector."""
    for i in range(matrix.shape[0]):
        out[i] = inner(matrix[i], vector)


@kernel
def places(marks):  # type: ignore[no-untyped-def]
    """Where the marks are set."""
    found, size = np.empty(marks.size, np.int64), 0
    for i in range(marks.size):
        if marks[i]:
            found[size] = i
            size += 1
    return found[:size]
