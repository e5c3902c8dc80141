"""From rows to class scores, from scores to the best class or to probabilities, and products of CSR rows both ways.

Shapes: ``scores`` (rows, K) float64; every loop over classes or columns is the inner, contiguous one. Places of
nonzeros are read as unsigned: Numba would count negative ones from the end, and looking for them took half of a pass.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel


def _diagonal_scores(X, means, halved_precisions, constants, out):  # type: ignore[no-untyped-def]
    for k, mean in enumerate(means):
        out[:, k] = constants[k] - (X - mean) ** 2 @ halved_precisions[k]


@summing_kernel(in_numpy=_diagonal_scores)
def diagonal_scores(X, means, halved_precisions, constants, out):  # type: ignore[no-untyped-def]
    """Write ``constant_k - sum_j (x_j - mean_kj)^2 * precision_kj / 2``."""
    for i in range(X.shape[0]):
        for k in range(means.shape[0]):
            total = 0.0
            for j in range(X.shape[1]):
                d = X[i, j] - means[k, j]
                total += d * d * halved_precisions[k, j]
            out[i, k] = constants[k] - total


def _squared_length_scores(sphered, offsets, constants, out):  # type: ignore[no-untyped-def]
    d = sphered.reshape(-1, *offsets.shape) - offsets
    np.subtract(constants, 0.5 * np.einsum("ikj,ikj->ik", d, d), out=out)


@summing_kernel(in_numpy=_squared_length_scores)
def squared_length_scores(sphered, offsets, constants, out):  # type: ignore[no-untyped-def]
    """Write ``constant_k - |sphered_k - offset_k|^2 / 2``; ``sphered`` holds the K sphered copies side by side."""
    width = offsets.shape[1]
    for i in range(sphered.shape[0]):
        for k in range(offsets.shape[0]):
            total = 0.0
            for j in range(width):
                d = sphered[i, k * width + j] - offsets[k, j]
                total += d * d
            out[i, k] = constants[k] - 0.5 * total


def _best_classes(scores, out):  # type: ignore[no-untyped-def]
    out[:] = scores.argmax(axis=1)
    return bool(np.isfinite(scores.max(axis=1)).all())


@kernel(in_numpy=_best_classes)
def best_classes(scores, out):  # type: ignore[no-untyped-def]
    """Write the column of the largest score of each row; return whether every row had a finite one."""
    sound = True
    for i in range(scores.shape[0]):
        best = 0
        undefined = np.isnan(scores[i, 0])
        for k in range(1, scores.shape[1]):
            undefined |= np.isnan(scores[i, k])
            if scores[i, k] > scores[i, best]:
                best = k
        out[i] = best
        sound &= not undefined and np.isfinite(scores[i, best])
    return sound


def _subtract_row_maximum(scores):  # type: ignore[no-untyped-def]
    top = scores.max(axis=1, keepdims=True)
    scores -= top
    return bool(np.isfinite(top).all())


@kernel(in_numpy=_subtract_row_maximum)
def subtract_row_maximum(scores):  # type: ignore[no-untyped-def]
    """Shift each row so that its largest score is 0; return whether every row had a finite one."""
    sound = True
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        undefined = np.isnan(top)
        for k in range(1, scores.shape[1]):
            undefined |= np.isnan(scores[i, k])
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            scores[i, k] -= top
        sound &= not undefined and np.isfinite(top)
    return sound


def _divide_rows_by_sum(values):  # type: ignore[no-untyped-def]
    total = values[:, 0].copy()
    for column in values.T[1:]:
        total += column
    values /= total[:, None]


@kernel(in_numpy=_divide_rows_by_sum)
def divide_rows_by_sum(values):  # type: ignore[no-untyped-def]
    """Scale each row to sum to 1, in place."""
    for i in range(values.shape[0]):
        total = 0.0
        for k in range(values.shape[1]):
            total += values[i, k]
        for k in range(values.shape[1]):
            values[i, k] /= total


@summing_kernel
def csr_scores(data, indices, indptr, coef, out):  # type: ignore[no-untyped-def]
    """Write ``rows @ coef`` (p, C) to ``out`` (rows, C)."""
    if coef.shape[1] == 1:  # the usual case, without a loop over one column
        for i in range(indptr.size - 1):
            total = 0.0
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                total += data[e] * coef[np.uint64(indices[e]), 0]
            out[i, 0] = total
        return
    for i in range(indptr.size - 1):
        for c in range(coef.shape[1]):
            out[i, c] = 0.0
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, j = data[e], np.uint64(indices[e])
            for c in range(coef.shape[1]):
                out[i, c] += value * coef[j, c]


@kernel
def csr_add_products(data, indices, indptr, residual, out):  # type: ignore[no-untyped-def]
    """Add ``rows' @ residual`` (rows, C) to ``out`` (p, C)."""
    if residual.shape[1] == 1:
        for i in range(indptr.size - 1):
            pull = residual[i, 0]
            for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint64(indices[e]), 0] += data[e] * pull
        return
    for i in range(indptr.size - 1):
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, j = data[e], np.uint64(indices[e])
            for c in range(residual.shape[1]):
                out[j, c] += value * residual[i, c]


@summing_kernel
def softmax_curvature_products(probability, weight, change):  # type: ignore[no-untyped-def]
    """Multiply each row's ``change`` (K,) by ``weight (diag(p) - p p')``, in place."""
    for i in range(change.shape[0]):
        mean = 0.0
        for k in range(change.shape[1]):
            mean += probability[i, k] * change[i, k]
        for k in range(change.shape[1]):
            change[i, k] = weight[i] * probability[i, k] * (change[i, k] - mean)


@kernel
def softmax_shortfalls(scores, codes, values):  # type: ignore[no-untyped-def]
    """Shift each row so that its largest score is 0; write by how much its own class's score falls short of that."""
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            scores[i, k] -= top
        values[i] = -scores[i, codes[i]]


@summing_kernel
def softmax_slopes(scores, codes, values):  # type: ignore[no-untyped-def]
    """Turn exponentials of shifted scores into ``p - e_y``, and add the logarithm of each row's sum to its value."""
    for i in range(scores.shape[0]):
        total = 0.0
        for k in range(scores.shape[1]):
            total += scores[i, k]
        values[i] += np.log(total)
        share = 1.0 / total
        for k in range(scores.shape[1]):
            scores[i, k] *= share
        scores[i, codes[i]] -= 1.0


@kernel
def csr_add_squares(data, indices, indptr, weight, out):  # type: ignore[no-untyped-def]
    """Add the weighted squares (rows, C) of each column to ``out`` (p, C)."""
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            square = data[e] * data[e]
            j = indices[e]
            for c in range(weight.shape[1]):
                out[j, c] += square * weight[i, c]
