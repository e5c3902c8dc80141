"""Single rows within a kernel: inner products and sums, for dense rows (an array) and for CSR ones.

CSR rows are the tuple ``(data, indices, indptr)``. What each function does to either is in `row_overloads`, which is
loaded with the compiler.
"""

from __future__ import annotations


def dot(rows, i, vector):  # type: ignore[no-untyped-def]
    """The inner product of row i and a vector, whose further elements do not count."""


def add(rows, i, factor, vector):  # type: ignore[no-untyped-def]
    """Add row i times a factor to a vector."""


def dot_and_square(rows, i, vector):  # type: ignore[no-untyped-def]
    """The inner products of row i with a vector and with itself."""


def prefetch(rows, i):  # type: ignore[no-untyped-def]
    """Ask for a CSR row to be brought into the cache."""
