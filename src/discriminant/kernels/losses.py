"""Losses of a margin, and their passes over dense rows, which read every row once.

A loss is named by a code, and by a width where it is smoothed. Shapes: ``X`` (rows, p) C-contiguous float32 or float64,
``centre`` and ``coef`` (p,), ``codes`` (rows,) 0 or 1, ``weight`` and ``offset`` (rows,).
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .scores import exponential, log_one_plus

LOGISTIC, SQUARED_HINGE, SMOOTHED_HINGE, SQUARED, SQUARED_SIGMOID = 0, 1, 2, 3, 4


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
def losses_of_scores(loss, width, scores, codes, weight, values, slopes):  # type: ignore[no-untyped-def]
    """Add the losses of several scores of a row, each with its ``weight``, to ``values``; write the slopes."""
    for i in range(scores.shape[0]):
        sign = 2.0 * codes[i] - 1.0
        for k in range(scores.shape[1]):
            value, slope, _ = derivatives(loss, width, sign * scores[i, k])
            values[k] += weight[i, k] * value
            slopes[i, k] = sign * weight[i, k] * slope


@kernel
def values_and_slopes(loss, width, margins, values, slopes):  # type: ignore[no-untyped-def]
    """Write the value and the first derivative at each margin."""
    for i in range(margins.size):
        values[i], slopes[i], _ = derivatives(loss, width, margins[i])


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
