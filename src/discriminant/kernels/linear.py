"""Products of CSR rows with small dense matrices, both ways."""

from __future__ import annotations

from .compile import kernel


@kernel
def csr_scores(data, indices, indptr, coef, out):  # type: ignore[no-untyped-def]
    """Write ``rows @ coef`` (p, C) to ``out`` (rows, C)."""
    if coef.shape[1] == 1:  # the usual case, without a loop over one column
        for i in range(indptr.size - 1):
            total = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                total += data[e] * coef[indices[e], 0]
            out[i, 0] = total
        return
    for i in range(indptr.size - 1):
        for c in range(coef.shape[1]):
            out[i, c] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            value = data[e]
            j = indices[e]
            for c in range(coef.shape[1]):
                out[i, c] += value * coef[j, c]


@kernel
def csr_add_products(data, indices, indptr, residual, out):  # type: ignore[no-untyped-def]
    """Add ``rows' @ residual`` (rows, C) to ``out`` (p, C)."""
    if residual.shape[1] == 1:
        for i in range(indptr.size - 1):
            pull = residual[i, 0]
            for e in range(indptr[i], indptr[i + 1]):
                out[indices[e], 0] += data[e] * pull
        return
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            value = data[e]
            j = indices[e]
            for c in range(residual.shape[1]):
                out[j, c] += value * residual[i, c]


@kernel
def csr_add_squares(data, indices, indptr, weight, out):  # type: ignore[no-untyped-def]
    """Add the weighted squares (rows, C) of each column to ``out`` (p, C)."""
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            square = data[e] * data[e]
            j = indices[e]
            for c in range(weight.shape[1]):
                out[j, c] += square * weight[i, c]
