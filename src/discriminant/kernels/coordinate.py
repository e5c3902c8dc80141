"""Coordinate descent on a quadratic with an L1 penalty, and the gathering of the columns it works on.

Columns are numbered 0..p-1; number p stands for the intercept, a column of ones.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel


@kernel
def gather(X, columns, centre, scale, factor, out):  # type: ignore[no-untyped-def]
    """Write ``factor * (x - centre) / scale`` of the columns asked for to ``out`` (rows, number of columns)."""
    p = X.shape[1]
    inverse = np.empty(columns.size)
    origin = np.zeros(columns.size)
    for k in range(columns.size):
        inverse[k] = 1.0
        if columns[k] < p:
            inverse[k] = 1.0 / scale[columns[k]]
            origin[k] = centre[columns[k]]
    for i in range(X.shape[0]):
        for k in range(columns.size):
            value = X[i, columns[k]] if columns[k] < p else 1.0
            out[i, k] = factor[i] * ((value - origin[k]) * inverse[k])


@kernel
def csr_add_gram(data, indices, indptr, factor, row_of, column_of, out):  # type: ignore[no-untyped-def]
    """Add ``factor * x_j * x_k`` to ``out[row_of[j], column_of[k]]``; a negative place means: not wanted."""
    p = row_of.size - 1
    rows, columns = np.empty(p + 1, dtype=np.int64), np.empty(p + 1, dtype=np.int64)
    row_values, column_values = np.empty(p + 1), np.empty(p + 1)
    for i in range(indptr.size - 1):
        n_rows = n_columns = 0
        for e in range(indptr[i], indptr[i + 1] + 1):
            j = indices[e] if e < indptr[i + 1] else p
            value = data[e] if e < indptr[i + 1] else 1.0
            if row_of[j] >= 0:
                rows[n_rows], row_values[n_rows] = row_of[j], factor[i] * value
                n_rows += 1
            if column_of[j] >= 0:
                columns[n_columns], column_values[n_columns] = column_of[j], value
                n_columns += 1
        for r in range(n_rows):
            for c in range(n_columns):
                out[rows[r], columns[c]] += row_values[r] * column_values[c]


@summing_kernel
def minimise_quadratic(matrix, ridge, l1, origin, gradient, x, enough, share, most):  # type: ignore[no-untyped-def]
    """Minimise ``gradient'd + d'(matrix + diag(ridge))d / 2 + sum l1 |x|``, d = x - origin, from ``x``, in place.

    ``gradient`` becomes that at the end. Sweeps go over all coordinates, then over those that are not 0 until these
    gain little, and so on; they end when a sweep over all gains less than ``enough`` or than ``share`` of the gain so
    far. Returns the number of sweeps.
    """
    size = x.size
    for j in range(size):
        change = x[j] - origin[j]
        if change != 0.0:
            gradient[j] += ridge[j] * change
            for k in range(size):
                gradient[k] += change * matrix[j, k]
    gained = 0.0
    over_all = True
    for sweep in range(most):
        gain = 0.0
        for j in range(size):
            curvature = matrix[j, j] + ridge[j]
            if not over_all and x[j] == 0.0:
                continue
            if curvature > 0.0:
                aim = x[j] - gradient[j] / curvature
                new = np.sign(aim) * max(abs(aim) - l1[j] / curvature, 0.0)
            else:
                new = 0.0 if l1[j] > 0.0 else x[j]
            change = new - x[j]
            if change == 0.0:
                continue
            gain -= change * (gradient[j] + 0.5 * curvature * change) + l1[j] * (abs(new) - abs(x[j]))
            x[j] = new
            gradient[j] += ridge[j] * change
            for k in range(size):
                gradient[k] += change * matrix[j, k]
        gained += gain
        little = gain <= max(enough, share * gained)
        if little and over_all:
            return sweep + 1
        over_all = little
    return most
