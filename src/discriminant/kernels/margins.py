"""The logistic loss and its passes over dense rows, which read every row once.

Shapes: ``X`` (rows, p) C-contiguous float32 or float64, ``centre`` and ``coef`` (p,), ``codes`` (rows,) 0 or 1,
``weight`` and ``offset`` (rows,).
"""

from __future__ import annotations

import numpy as np

from .compile import kernel, summing_kernel


@kernel
def logistic_terms(margin):  # type: ignore[no-untyped-def]
    """Value, first and second derivative of ``log(1 + e^-m)``; nothing overflows."""
    decay = np.exp(-abs(margin))
    share = 1.0 / (1.0 + decay)
    value = np.log1p(decay) + max(-margin, 0.0)
    return value, -(decay if margin > 0 else 1.0) * share, decay * share * share


@kernel
def logistic_values(margins, values, slopes):  # type: ignore[no-untyped-def]
    """Write the value and the first derivative at each margin."""
    for i in range(margins.size):
        values[i], slopes[i], _ = logistic_terms(margins[i])


@kernel
def logistic_curvatures(margins, out):  # type: ignore[no-untyped-def]
    """Write the second derivative at each margin."""
    for i in range(margins.size):
        _, _, out[i] = logistic_terms(margins[i])


@summing_kernel
def logistic_gradient(X, centre, coef, intercept, codes, weight, offset, gradient):  # type: ignore[no-untyped-def]
    """Add the sum over rows of ``slope * (x - centre)`` to ``gradient``; return the sums of losses and of slopes."""
    total, slopes = 0.0, 0.0
    for i in range(X.shape[0]):
        score = intercept + offset[i]
        for j in range(X.shape[1]):
            score += (X[i, j] - centre[j]) * coef[j]
        sign = 2.0 * codes[i] - 1.0
        value, slope, _ = logistic_terms(sign * score)
        total += weight[i] * value
        pull = sign * weight[i] * slope
        slopes += pull
        for j in range(X.shape[1]):
            gradient[j] += pull * (X[i, j] - centre[j])
    return total, slopes


@summing_kernel
def logistic_newton(X, centre, coef, intercept, codes, weight, offset, gradient, scaled):  # type: ignore[no-untyped-def]
    """The same, and the centred rows times the square root of their curvature (and that root last) in ``scaled``."""
    total, slopes, p = 0.0, 0.0, X.shape[1]
    for i in range(X.shape[0]):
        score = intercept + offset[i]
        for j in range(p):
            score += (X[i, j] - centre[j]) * coef[j]
        sign = 2.0 * codes[i] - 1.0
        value, slope, curvature = logistic_terms(sign * score)
        total += weight[i] * value
        pull = sign * weight[i] * slope
        slopes += pull
        root = np.sqrt(weight[i] * curvature)
        for j in range(p):
            centred = X[i, j] - centre[j]
            gradient[j] += pull * centred
            scaled[i, j] = root * centred
        for j in range(p, scaled.shape[1]):
            scaled[i, j] = root
    return total, slopes
