"""From rows to functions of them and to class scores, from scores to the best class or to probabilities, and products
of CSR rows both ways.

Shapes: ``scores`` (rows, K) float64; every loop over classes or columns is the inner, contiguous one. Places of
nonzeros are read as unsigned: Numba would count negative ones from the end, and looking for them took half of a pass.

Numba calls the C library for an exponential and for a logarithm, one number at a time, 5 ns each. `exponential`,
`logarithm` and `log_one_plus` are plain arithmetic, which the compiler spreads over vector lanes: 1.4 to 2.1 ns, with
an error of a unit or two in the last place.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel

#: So many log-densities of each class are looked at together: they stay in the innermost cache.
_TOGETHER = 256
#: Its logarithm is a number that is still normal; what is smaller does not count beside the largest, which is 1.
_LEAST = -708.0
#: Adding it leaves the nearest whole number in the last bits.
_ROUNDER = 1.5 * 2.0**52
#: A whole number among the last bits of this one's, as a number.
_WHOLE, _WHOLE_BITS = 2.0**52, 0x4330000000000000
_ONE_BITS, _FRACTION_BITS, _BIAS = 0x3FF0000000000000, 0xFFFFFFFFFFFFF, 1023
_LOG2_E = 1.4426950408889634
#: The logarithm of 2 in two parts, of which the first has so few digits that its multiples are exact.
_LN2, _LN2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10


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


def _subtract_squared_lengths(sphered, offsets, out):  # type: ignore[no-untyped-def]
    d = sphered.reshape(-1, *offsets.shape) - offsets
    out -= 0.5 * np.einsum("ikj,ikj->ik", d, d)


@summing_kernel(in_numpy=_subtract_squared_lengths)
def subtract_squared_lengths(sphered, offsets, out):  # type: ignore[no-untyped-def]
    """Subtract ``|sphered_k - offset_k|^2 / 2``; ``sphered`` holds the K sphered copies side by side."""
    width = offsets.shape[1]
    for i in range(sphered.shape[0]):
        for k in range(offsets.shape[0]):
            total = 0.0
            for j in range(width):
                d = sphered[i, k * width + j] - offsets[k, j]
                total += d * d
            out[i, k] -= 0.5 * total


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


def _piecewise_polynomials(u, breaks, origins, coefficients, first, out):  # type: ignore[no-untyped-def]
    piece, made = np.searchsorted(breaks, u, side="right"), out[:, first : first + coefficients.shape[2]]
    step = (u - origins[piece])[:, None]
    made[...] = coefficients[piece, -1]
    for d in range(coefficients.shape[1] - 2, -1, -1):
        made *= step
        made += coefficients[piece, d]


@kernel(in_numpy=_piecewise_polynomials)
def piecewise_polynomials(u, breaks, origins, coefficients, first, out):  # type: ignore[no-untyped-def]
    """Write polynomials of ``u`` (rows,) to the columns of ``out`` from ``first`` on.

    ``coefficients`` (pieces, powers, functions) are those of the powers of what ``u`` exceeds the piece's origin by.
    """
    n_powers, n_functions = coefficients.shape[1:]
    for i in range(u.size):
        piece = 0
        while piece < breaks.size and not u[i] < breaks[piece]:  # NaN belongs to the last
            piece += 1
        step = u[i] - origins[piece]
        for o in range(n_functions):
            out[i, first + o] = coefficients[piece, n_powers - 1, o]
        for d in range(n_powers - 2, -1, -1):
            for o in range(n_functions):
                out[i, first + o] = out[i, first + o] * step + coefficients[piece, d, o]


def _column_products(factors, outputs, out):  # type: ignore[no-untyped-def]
    out[...] = factors[:, outputs[:, 0]]
    for further in outputs.T[1:]:
        out *= factors[:, further]


@kernel(in_numpy=_column_products)
def column_products(factors, outputs, out):  # type: ignore[no-untyped-def]
    """Write products of columns to ``out``: of those whose numbers stand in each row of ``outputs``."""
    for i in range(factors.shape[0]):
        for o in range(outputs.shape[0]):
            product = factors[i, np.uint64(outputs[o, 0])]
            for f in range(1, outputs.shape[1]):
                product *= factors[i, np.uint64(outputs[o, f])]
            out[i, o] = product


def _csr_places_increase(indices, indptr, width):  # type: ignore[no-untyped-def]
    filled = indptr[:-1] < indptr[1:]
    first, last = indptr[:-1][filled], indptr[1:][filled] - 1
    falls = np.append(False, indices[1:] <= indices[:-1])
    falls[first] = False
    return not falls[: indptr[-1]].any() and (indices[first] >= 0).all() and (indices[last] < width).all()


@kernel(in_numpy=_csr_places_increase)
def csr_places_increase(indices, indptr, width):  # type: ignore[no-untyped-def]
    """Whether the places of each row's nonzeros increase and lie within ``width``: one look at each of them."""
    for i in range(indptr.size - 1):
        places = indices[indptr[i] : indptr[i + 1]]
        falls = np.int32(0)  # collected without a branch, in vector lanes
        for e in range(1, places.size):
            falls |= np.int32(places[e] <= places[e - 1])
        if falls or (places.size and (places[0] < 0 or places[-1] >= width)):
            return False
    return True


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


@kernel
def exponential(x):  # type: ignore[no-untyped-def]
    """Of a number that is not positive; below -708 that of -708."""
    x = _LEAST if x < _LEAST else x
    rounded = x * _LOG2_E + _ROUNDER
    twos = rounded - _ROUNDER
    r = (x - twos * _LN2) - twos * _LN2_REST
    series = 1 / 39916800.0 + r * (1 / 479001600.0)
    series = 1 / 362880.0 + r * (1 / 3628800.0 + r * series)
    series = 1 / 5040.0 + r * (1 / 40320.0 + r * series)
    series = 1 / 120.0 + r * (1 / 720.0 + r * series)
    series = 1 / 6.0 + r * (1 / 24.0 + r * series)
    series = 1.0 + (r + r * r * (0.5 + r * series))
    exponent = np.float64(rounded).view(np.int64) << np.int64(52)
    return series * np.int64(exponent + np.int64(_ONE_BITS)).view(np.float64)


@kernel
def logarithm(x):  # type: ignore[no-untyped-def]
    """Of a number that is not negative."""
    bits = np.float64(x).view(np.int64)
    twos = np.int64((bits >> np.int64(52)) | np.int64(_WHOLE_BITS)).view(np.float64) - (_WHOLE + _BIAS)
    m = np.int64((bits & np.int64(_FRACTION_BITS)) | np.int64(_ONE_BITS)).view(np.float64)
    above = m > 1.4142135623730951
    m, twos = (0.5 * m, twos + 1.0) if above else (m, twos)
    f = (m - 1.0) / (m + 1.0)
    q = f * f
    series = 1 / 19.0 + q * (1 / 21.0)
    series = 1 / 15.0 + q * (1 / 17.0 + q * series)
    series = 1 / 11.0 + q * (1 / 13.0 + q * series)
    series = 1 / 7.0 + q * (1 / 9.0 + q * series)
    series = 1 / 3.0 + q * (1 / 5.0 + q * series)
    found = twos * _LN2 + (twos * _LN2_REST + (2.0 * f + 2.0 * f * q * series))
    return found if x > 0.0 else (-np.inf if x == 0.0 else np.nan)


@summing_kernel
def log_one_plus(x):  # type: ignore[no-untyped-def]
    """The logarithm of 1 + x, to all digits of a small x; x between 0 and 1."""
    f = x / (2.0 + x)
    q = f * f
    series = 1 / 31.0 + q * (1 / 33.0)
    series = 1 / 27.0 + q * (1 / 29.0 + q * series)
    series = 1 / 23.0 + q * (1 / 25.0 + q * series)
    series = 1 / 19.0 + q * (1 / 21.0 + q * series)
    series = 1 / 15.0 + q * (1 / 17.0 + q * series)
    series = 1 / 11.0 + q * (1 / 13.0 + q * series)
    series = 1 / 7.0 + q * (1 / 9.0 + q * series)
    series = 1 / 3.0 + q * (1 / 5.0 + q * series)
    return 2.0 * (f + f * q * series)


@summing_kernel
def tempered_losses(logs, codes, weight, priors, roots, losses):  # type: ignore[no-untyped-def]
    """Add to ``losses`` (S, R, H) the loss of each of S settings at the temperatures ``roots[r] / 2**h``.

    ``logs`` (K, n, S) are log-densities. Only the smallest temperature of each root needs exponentials: those of twice
    the temperature are their squares.
    """
    K, n, S = logs.shape
    step, halvings = max(1, _TOGETHER // S), losses.shape[2]
    powers, best, own, sums = np.empty((K, step * S)), np.empty(step * S), np.empty(step * S), np.empty(step * S)
    for start in range(0, n, step):
        count = min(step, n - start)
        _relative(logs, codes, start, count, best, own)
        for r in range(roots.size):
            t = roots[r] * 0.5 ** (halvings - 1)
            for k in range(K):
                for i in range(count):
                    for s in range(S):
                        powers[k, i * S + s] = exponential((logs[k, start + i, s] - best[i * S + s]) * t)
            for h in range(halvings - 1, -1, -1):
                _square(powers, priors, sums, count * S)
                for place in range(count * S):
                    sums[place] = logarithm(sums[place]) - t * own[place]
                for i in range(count):
                    for s in range(S):
                        losses[s, r, h] += weight[start + i] * sums[i * S + s]
                t *= 2.0


@kernel
def _relative(logs, codes, start, count, best, own):  # type: ignore[no-untyped-def]
    """The largest log-density of each row and setting, and that of the row's own class compared with it."""
    K, _, S = logs.shape
    best[: count * S] = logs[0, start : start + count].ravel()
    for k in range(1, K):
        for i in range(count):
            for s in range(S):
                best[i * S + s] = max(best[i * S + s], logs[k, start + i, s])
    for i in range(count):
        for s in range(S):
            own[i * S + s] = logs[codes[start + i], start + i, s] - best[i * S + s]


@kernel
def _square(powers, priors, sums, count):  # type: ignore[no-untyped-def]
    """Sum up powers over the classes, by their priors, and square them."""
    sums[:count] = 0.0
    for k in range(len(priors)):
        for place in range(count):
            power = powers[k, place]
            sums[place] += priors[k] * power
            powers[k, place] = power * power
