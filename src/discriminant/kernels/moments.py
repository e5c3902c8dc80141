"""Class sums and class-centred rows of one block, dense and CSR.

Shapes: ``X`` (rows, p) C-contiguous float32 or float64, ``codes`` (rows,) in 0..K-1, ``weight`` (rows,), everything
that is summed into is float64.
"""

from __future__ import annotations

import numpy as np

from . import kernel


def _class_means(X, codes, weight, totals, means):  # type: ignore[no-untyped-def]
    present, first = np.unique(codes, return_index=True)
    means[present] = X[first]
    parts = weight[:, None] * (X - means[codes])
    cells = codes[:, None] * np.int64(X.shape[1]) + np.arange(X.shape[1])
    totals += np.bincount(codes, weight, len(means))
    sums = np.bincount(cells.ravel(), parts.ravel(), means.size).reshape(means.shape)
    seen = totals > 0
    means[seen] += sums[seen] / totals[seen, None]


@kernel(in_numpy=_class_means)
def class_means(X, codes, weight, totals, means):  # type: ignore[no-untyped-def]
    """Add each class's weight to ``totals`` and write its mean to ``means``; classes without rows are left alone.

    Sums are taken from the first row of the class: differences keep the digits that sums of large values would round
    away, and the mean of equal values is that value.
    """
    seen = np.zeros(means.shape[0], dtype=np.bool_)
    for i in range(X.shape[0]):
        c = codes[i]
        if not seen[c]:
            seen[c] = True
            for j in range(X.shape[1]):
                means[c, j] = X[i, j]
    sums = np.zeros(means.shape)
    for i in range(X.shape[0]):
        c = codes[i]
        w = weight[i]
        totals[c] += w
        for j in range(X.shape[1]):
            sums[c, j] += w * (X[i, j] - means[c, j])
    for c in range(means.shape[0]):
        if totals[c] > 0:
            for j in range(X.shape[1]):
                means[c, j] += sums[c, j] / totals[c]


def _centred_rows(X, codes, weight, means, out):  # type: ignore[no-untyped-def]
    np.multiply(np.sqrt(weight)[:, None], X - means[codes], out=out)


@kernel(in_numpy=_centred_rows)
def centred_rows(X, codes, weight, means, out):  # type: ignore[no-untyped-def]
    """Write ``sqrt(weight) * (x - mean of its class)`` to ``out``, rows in their order."""
    for i in range(X.shape[0]):
        c = codes[i]
        root = np.sqrt(weight[i])
        for j in range(X.shape[1]):
            out[i, j] = root * (X[i, j] - means[c, j])


@kernel
def centred_rows_by_group(X, codes, weight, means, size, cursor, out):  # type: ignore[no-untyped-def]
    """Write the same rows by groups of ``size`` classes: group g starts at ``cursor[g]``, which moves to its end."""
    for i in range(X.shape[0]):
        c = codes[i]
        root = np.sqrt(weight[i])
        row = cursor[c // size]
        cursor[c // size] += 1
        for j in range(X.shape[1]):
            out[row, j] = root * (X[i, j] - means[c, j])


@kernel
def class_squares(X, codes, weight, means, squares):  # type: ignore[no-untyped-def]
    """Add each class's weighted squared distance from its mean, column by column, to ``squares``."""
    for i in range(X.shape[0]):
        c = codes[i]
        w = weight[i]
        for j in range(X.shape[1]):
            d = X[i, j] - means[c, j]
            squares[c, j] += w * d * d


@kernel
def csr_class_sums(data, indices, indptr, codes, weight, totals, sums, stored):  # type: ignore[no-untyped-def]
    """Add each class's weight to ``totals``, its weighted sum to ``sums`` and its stored entries' to ``stored``."""
    for i in range(indptr.size - 1):
        c = codes[i]
        w = weight[i]
        totals[c] += w
        for e in range(indptr[i], indptr[i + 1]):
            sums[c, indices[e]] += w * data[e]
            stored[c, indices[e]] += w


@kernel
def csr_class_squares(data, indices, indptr, codes, weight, means, squares, left):  # type: ignore[no-untyped-def]
    """Add the stored entries' part of `class_squares`, and to ``left`` the sums of their distances from the mean.

    The zeros' parts are ``(total - stored) * mean**2`` and ``-(total - stored) * mean``.
    """
    for i in range(indptr.size - 1):
        c = codes[i]
        w = weight[i]
        for e in range(indptr[i], indptr[i + 1]):
            d = data[e] - means[c, indices[e]]
            squares[c, indices[e]] += w * d * d
            left[c, indices[e]] += w * d


@kernel
def standardise(X, centre, scale, sign, out):  # type: ignore[no-untyped-def]
    """Write ``sign * (x - centre) / scale`` of every row, and its sign in the columns that ``X`` does not have."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = sign[i] * ((X[i, j] - centre[j]) / scale[j])
        for j in range(X.shape[1], out.shape[1]):
            out[i, j] = sign[i]


@kernel
def centre_and_spread(X, centre, spread):  # type: ignore[no-untyped-def]
    """Write the mean and the standard deviation of every column; differences keep the digits of small spreads."""
    n, p = X.shape
    for j in range(p):
        centre[j], spread[j] = 0.0, 0.0
    for i in range(n):
        for j in range(p):
            centre[j] += (X[i, j] - X[0, j]) / n
    for j in range(p):
        centre[j] += X[0, j]
    for i in range(n):
        for j in range(p):
            spread[j] += (X[i, j] - centre[j]) ** 2 / n
    for j in range(p):
        spread[j] = np.sqrt(spread[j])
