"""Losses of a margin and softmax, and their passes over dense rows, which read every row once.

A loss of a margin is named by a code, and by a width where it is smoothed. Shapes: ``X`` (rows, p) C-contiguous float32
or float64, ``centre`` and ``coef`` (p,), ``codes`` (rows,) 0 or 1, ``weight`` and ``offset`` (rows,). Of softmax:
``coef`` and ``products`` (K, p), ``intercept`` and ``sums`` (K,), ``offset`` (rows, K or 0), scores that are known.

A pass of softmax takes a few rows at a time, which stay in the inner caches from their scores to their part in the
gradient. Products of so few columns are what BLAS is slow at: with 60,000 x 200 rows, 10 classes and two threads a pass
takes 15 ms, where it took 40 in NumPy's steps, which also wait for each other to hold the interpreter.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .scores import exponential, log_one_plus

LOGISTIC, SQUARED_HINGE, SMOOTHED_HINGE, SQUARED, SQUARED_SIGMOID = 0, 1, 2, 3, 4
#: Rows that are looked at together, a multiple of 8, and classes whose sums stay in registers for two of them.
_ROWS, _CLASSES = 32, 4


@kernel
def logistic_derivatives(margin):  # type: ignore[no-untyped-def]
    """Value, first and second derivative of ``log(1 + e^-m)``; nothing overflows."""
    decay = np.exp(-abs(margin))
    share = 1.0 / (1.0 + decay)
    value = np.log1p(decay) + max(-margin, 0.0)
    return value, -(decay if margin > 0 else 1.0) * share, decay * share * share


@summing_kernel
def mean_logistic_loss(scores, codes, weight, slopes, curves):  # type: ignore[no-untyped-def]
    """The mean of ``log(1 + e^-m)`` over rows; writes its weighted slopes and curvatures in the scores."""
    total = 0.0
    for i in range(scores.size):
        sign = 2.0 * codes[i] - 1.0
        margin = sign * scores[i]
        decay = exponential(-abs(margin))
        share = 1.0 / (1.0 + decay)
        total += weight[i] * (log_one_plus(decay) + max(-margin, 0.0))
        slopes[i] = -sign * weight[i] * (decay if margin > 0 else 1.0) * share
        curves[i] = weight[i] * (decay * share * share)
    return total


@kernel
def smoothed_hinge_derivatives(margin, width):  # type: ignore[no-untyped-def]
    """The same of ``(u + sqrt(u^2 + 4 width^2)) / 2``, u = 1 - m: the hinge, smoothed within ``width`` of its kink."""
    short = 1.0 - margin
    root = np.sqrt(short * short + 4.0 * width * width)
    # Far on the right side u + root would cancel.
    value = 0.5 * (short + root) if short > 0 else 2.0 * width * width / (root - short)
    return value, -value / root, 2.0 * width * width / (root * root * root)


@kernel
def squared_sigmoid_derivatives(margin):  # type: ignore[no-untyped-def]
    """The same of ``(1 - s)^2``, s = 1 / (1 + e^-m) the probability of the row's own class."""
    decay = np.exp(-abs(margin))
    wrong = (decay if margin > 0 else 1.0) / (1.0 + decay)
    spread = (1.0 - wrong) * wrong * wrong
    return wrong * wrong, -2.0 * spread, 2.0 * spread * (2.0 - 3.0 * wrong)


@kernel
def derivatives(loss, width, margin):  # type: ignore[no-untyped-def]
    """Value, first and second derivative of a loss in the margin."""
    if loss == LOGISTIC:
        return logistic_derivatives(margin)
    if loss == SMOOTHED_HINGE:
        return smoothed_hinge_derivatives(margin, width)
    if loss == SQUARED:
        return 0.5 * (1.0 - margin) * (1.0 - margin), margin - 1.0, 1.0
    if loss == SQUARED_SIGMOID:
        return squared_sigmoid_derivatives(margin)
    short = max(1.0 - margin, 0.0)
    return short * short, -2.0 * short, 2.0 if margin < 1.0 else 0.0


@kernel
def values_and_slopes(loss, width, margins, values, slopes):  # type: ignore[no-untyped-def]
    """Write the value and the first derivative at each margin."""
    for i in range(margins.size):
        values[i], slopes[i], _ = derivatives(loss, width, margins[i])


@summing_kernel
def _logistic_losses(margins, values, slopes):  # type: ignore[no-untyped-def]
    """Write values and slopes of ``log(1 + e^-m)``, in vector lanes."""
    for e in range(margins.size):
        margin = margins[e]
        decay = exponential(-abs(margin))
        values[e] = log_one_plus(decay) + max(-margin, 0.0)
        slopes[e] = -(decay if margin > 0 else 1.0) / (1.0 + decay)


@kernel
def losses_of_scores(loss, width, scores, codes, weight, values, slopes):  # type: ignore[no-untyped-def]
    """Add the losses of several scores of a row to ``values``, and write the slopes.

    ``weight`` has one column for each score, or one for all.
    """
    n, n_scores = scores.shape
    margins, found, slope = np.empty((n, n_scores)), np.empty((n, n_scores)), np.empty((n, n_scores))
    for i in range(n):
        sign = 2.0 * codes[i] - 1.0
        for k in range(n_scores):
            margins[i, k] = sign * scores[i, k]
    if loss == LOGISTIC:
        _logistic_losses(margins.ravel(), found.ravel(), slope.ravel())
    else:
        values_and_slopes(loss, width, margins.ravel(), found.ravel(), slope.ravel())
    for i in range(n):
        sign = 2.0 * codes[i] - 1.0
        for k in range(n_scores):
            own = weight[i, min(k, weight.shape[1] - 1)]
            values[k] += own * found[i, k]
            slopes[i, k] = sign * own * slope[i, k]


@kernel
def curvatures(loss, width, margins, out):  # type: ignore[no-untyped-def]
    """Write the second derivative at each margin."""
    for i in range(margins.size):
        _, _, out[i] = derivatives(loss, width, margins[i])


@summing_kernel
def add_gradient(loss, width, X, centre, coef, intercept, codes, weight, offset, gradient):  # type: ignore[no-untyped-def]
    """Add the sum over rows of ``slope * (x - centre)`` to ``gradient``; return the sums of losses and of slopes."""
    total, slopes = 0.0, 0.0
    for i in range(X.shape[0]):
        score = intercept + offset[i]
        for j in range(X.shape[1]):
            score += (X[i, j] - centre[j]) * coef[j]
        sign = 2.0 * codes[i] - 1.0
        value, slope, _ = derivatives(loss, width, sign * score)
        total += weight[i] * value
        pull = sign * weight[i] * slope
        slopes += pull
        for j in range(X.shape[1]):
            gradient[j] += pull * (X[i, j] - centre[j])
    return total, slopes


@summing_kernel
def add_hessian_product(X, centre, coef, intercept, bend, product):  # type: ignore[no-untyped-def]
    """Add the sum over rows of ``bend * score * (x - centre)`` to ``product``; return that of ``bend * score``."""
    pulls = 0.0
    for i in range(X.shape[0]):
        score = intercept
        for j in range(X.shape[1]):
            score += (X[i, j] - centre[j]) * coef[j]
        pull = bend[i] * score
        pulls += pull
        for j in range(X.shape[1]):
            product[j] += pull * (X[i, j] - centre[j])
    return pulls


@summing_kernel
def add_newton(loss, width, X, centre, coef, intercept, codes, weight, offset, gradient, flat, scaled):  # type: ignore[no-untyped-def]
    """The same, and the centred rows times the square root of their curvature (and that root last) in ``scaled``.

    Rows whose curvature is not above ``flat`` are left out there; the number of those written is returned last.
    """
    total, slopes, p, kept = 0.0, 0.0, X.shape[1], 0
    for i in range(X.shape[0]):
        score = intercept + offset[i]
        for j in range(p):
            score += (X[i, j] - centre[j]) * coef[j]
        sign = 2.0 * codes[i] - 1.0
        value, slope, curvature = derivatives(loss, width, sign * score)
        total += weight[i] * value
        pull = sign * weight[i] * slope
        slopes += pull
        if curvature > flat:
            root = np.sqrt(weight[i] * curvature)
            for j in range(p):
                centred = X[i, j] - centre[j]
                gradient[j] += pull * centred
                scaled[kept, j] = root * centred
            for j in range(p, scaled.shape[1]):
                scaled[kept, j] = root
            kept += 1
        elif pull != 0.0:
            for j in range(p):
                gradient[j] += pull * (X[i, j] - centre[j])
    return total, slopes, kept


@kernel
def _padded(coef, intercept):  # type: ignore[no-untyped-def]
    """Coefficients and intercepts of a multiple of four classes, of which those added never win."""
    K, p = coef.shape
    size = -(-K // _CLASSES) * _CLASSES
    coefs, intercepts = np.empty((size, p)), np.empty(size)
    for k in range(size):
        intercepts[k] = intercept[k] if k < K else -np.inf
        for j in range(p):
            coefs[k, j] = coef[k, j] if k < K else 0.0
    return coefs, intercepts


@kernel
def _centre_rows(X, start, centre, rows):  # type: ignore[no-untyped-def]
    """Write rows from ``start`` on, less the centre, and zeros where there are no more; how many there are."""
    count = min(_ROWS, X.shape[0] - start)
    for r in range(count):
        for j in range(centre.size):
            rows[r, j] = X[start + r, j] - centre[j]
    for r in range(count, _ROWS):
        for j in range(centre.size):
            rows[r, j] = 0.0
    return count


@summing_kernel
def _scores(rows, coef, intercept, scores):  # type: ignore[no-untyped-def]
    """Write the scores of a multiple of two rows for a multiple of four classes."""
    for r in range(0, _ROWS, 2):
        x, z = rows[r], rows[r + 1]
        for k in range(0, intercept.size, _CLASSES):
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            x0 = x1 = x2 = x3 = z0 = z1 = z2 = z3 = 0.0
            for j in range(x.size):
                x0 += x[j] * c0[j]
                x1 += x[j] * c1[j]
                x2 += x[j] * c2[j]
                x3 += x[j] * c3[j]
                z0 += z[j] * c0[j]
                z1 += z[j] * c1[j]
                z2 += z[j] * c2[j]
                z3 += z[j] * c3[j]
            scores[r, k], scores[r, k + 1] = x0 + intercept[k], x1 + intercept[k + 1]
            scores[r, k + 2], scores[r, k + 3] = x2 + intercept[k + 2], x3 + intercept[k + 3]
            scores[r + 1, k], scores[r + 1, k + 1] = z0 + intercept[k], z1 + intercept[k + 1]
            scores[r + 1, k + 2], scores[r + 1, k + 3] = z2 + intercept[k + 2], z3 + intercept[k + 3]


@summing_kernel
def _add_products(rows, slopes, products):  # type: ignore[no-untyped-def]
    """Add ``slopes' rows`` of a multiple of eight rows."""
    for r in range(0, _ROWS, 8):
        x0, x1, x2, x3 = rows[r], rows[r + 1], rows[r + 2], rows[r + 3]
        x4, x5, x6, x7 = rows[r + 4], rows[r + 5], rows[r + 6], rows[r + 7]
        for k in range(products.shape[0]):
            s0, s1, s2, s3 = slopes[r, k], slopes[r + 1, k], slopes[r + 2, k], slopes[r + 3, k]
            s4, s5, s6, s7 = slopes[r + 4, k], slopes[r + 5, k], slopes[r + 6, k], slopes[r + 7, k]
            product = products[k]
            for j in range(product.size):
                first = s0 * x0[j] + s1 * x1[j] + s2 * x2[j] + s3 * x3[j]
                product[j] += first + (s4 * x4[j] + s5 * x5[j] + s6 * x6[j] + s7 * x7[j])


@kernel
def _exponentials(values):  # type: ignore[no-untyped-def]
    """Of numbers that are not positive, in place."""
    for i in range(values.size):
        values[i] = exponential(values[i])


@summing_kernel
def _shift(scores):  # type: ignore[no-untyped-def]
    """Subtract the largest score of each row."""
    for r in range(_ROWS):
        top = scores[r, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[r, k])
        for k in range(scores.shape[1]):
            scores[r, k] -= top


@summing_kernel
def _divide_by_sums(scores, mass):  # type: ignore[no-untyped-def]
    """Divide rows by their sums, which are written."""
    for r in range(_ROWS):
        total = 0.0
        for k in range(scores.shape[1]):
            total += scores[r, k]
        share = 1.0 / total
        for k in range(scores.shape[1]):
            scores[r, k] *= share
        mass[r] = total


@kernel
def _shifted_scores(X, start, centre, coefs, intercepts, offset, rows, scores):  # type: ignore[no-untyped-def]
    """Write rows from ``start`` on and their scores, the largest of each row at 0; how many rows there are."""
    count = _centre_rows(X, start, centre, rows)
    _scores(rows, coefs, intercepts, scores)
    for r in range(count):
        for k in range(offset.shape[1]):
            scores[r, k] += offset[start + r, k]
    _shift(scores)
    return count


@kernel
def add_softmax_gradient(X, centre, coef, intercept, offset, codes, weight, products, sums):  # type: ignore[no-untyped-def]
    """Add the sum over rows of ``slopes' (x - centre)`` and of the slopes; return the sum of the losses."""
    coefs, intercepts = _padded(coef, intercept)
    rows, scores = np.empty((_ROWS, centre.size)), np.empty((_ROWS, intercepts.size))
    flat, mass, total = scores.reshape(-1), np.empty(_ROWS), 0.0
    for start in range(0, X.shape[0], _ROWS):
        count = _shifted_scores(X, start, centre, coefs, intercepts, offset, rows, scores)
        for r in range(count):
            total -= weight[start + r] * scores[r, codes[start + r]]
        _exponentials(flat)
        _divide_by_sums(scores, mass)
        for r in range(count):
            total += weight[start + r] * np.log(mass[r])
            scores[r, codes[start + r]] -= 1.0
            for k in range(sums.size):
                scores[r, k] *= weight[start + r]
                sums[k] += scores[r, k]
        _add_products(rows, scores, products)
    return total


@kernel
def softmax_probabilities(X, centre, coef, intercept, offset, out):  # type: ignore[no-untyped-def]
    """Write the probabilities of each row, (rows, K)."""
    coefs, intercepts = _padded(coef, intercept)
    rows, scores = np.empty((_ROWS, centre.size)), np.empty((_ROWS, intercepts.size))
    flat, mass = scores.reshape(-1), np.empty(_ROWS)
    for start in range(0, X.shape[0], _ROWS):
        count = _shifted_scores(X, start, centre, coefs, intercepts, offset, rows, scores)
        _exponentials(flat)
        _divide_by_sums(scores, mass)
        for r in range(count):
            for k in range(out.shape[1]):
                out[start + r, k] = scores[r, k]


@kernel
def add_softmax_hessian_product(X, centre, coef, intercept, probability, weight, products, sums):  # type: ignore[no-untyped-def]
    """Add the sum over rows of ``w (diag(p) - p p') change (x - centre)'``, change the scores of ``coef``."""
    coefs, intercepts = _padded(coef, intercept)
    rows, scores = np.empty((_ROWS, centre.size)), np.empty((_ROWS, intercepts.size))
    for start in range(0, X.shape[0], _ROWS):
        count = _centre_rows(X, start, centre, rows)
        _scores(rows, coefs, intercepts, scores)
        for r in range(count):
            share, mean = probability[start + r], 0.0
            for k in range(sums.size):
                mean += share[k] * scores[r, k]
            for k in range(sums.size):
                scores[r, k] = weight[start + r] * share[k] * (scores[r, k] - mean)
                sums[k] += scores[r, k]
        _add_products(rows, scores, products)
