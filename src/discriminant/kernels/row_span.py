"""Ridge logistic regression of few rows with many columns, in the span of the rows: Newton's method on the Gram matrix.

Coefficients are ``w = Z' u``, scores ``K u + intercept`` with ``K = Z Z'`` (n, n): columns are read twice, for K and
for w. A step solves ``(ridge I + W K) du + W 1 db = -(slopes + ridge u)``, W the curvatures of the rows, by the
symmetric matrix ``ridge I + W^1/2 K W^1/2`` (Rasmussen & Williams 2006, algorithm 3.1); the equation of the intercept
is that ``u`` sums to 0. Of the digits of a step those of ``W K / ridge`` are lost.
"""

from __future__ import annotations

import numpy as np

from . import kernel
from .losses import logistic_derivatives

#: Steps are halved so often at most.
_HALVINGS = 30


@kernel
def _losses(scores, codes, weight, slopes, curves):  # type: ignore[no-untyped-def]
    """The mean loss; writes the weighted slopes and curvatures."""
    total = 0.0
    for i in range(scores.size):
        sign = 2.0 * codes[i] - 1.0
        value, slope, curve = logistic_derivatives(sign * scores[i])
        total += weight[i] * value
        slopes[i], curves[i] = sign * weight[i] * slope, weight[i] * curve
    return total


@kernel
def minimise_in_row_span(gram, codes, weight, offset, ridge, intercept, tol, most):  # type: ignore[no-untyped-def]
    """Minimise mean loss plus ``ridge / 2 |w|^2`` from 0; ``weight`` sums to 1.

    Returns u, the intercept, the objective, the square of its gradient's length, half the Newton decrement there, and
    the steps. Steps end when that half is a share ``tol`` of the objective, or no step descends.
    """
    n = codes.size
    u, constant, product, scores = np.zeros(n), 0.0, np.zeros(n), offset.copy()
    slopes, curves, system, sides = np.empty(n), np.empty(n), np.empty((n, n)), np.empty((n, 2))
    loss, steps = _losses(scores, codes, weight, slopes, curves), 0
    while True:
        value = loss + 0.5 * ridge * np.dot(u, product)
        rest = slopes + ridge * u
        images, root = np.dot(gram, rest), np.sqrt(curves)
        squares, decrement = np.dot(rest, images) + intercept * slopes.sum() ** 2, 0.0
        if squares == 0.0 or not np.isfinite(value + squares):
            return u, constant, value, squares, decrement, steps
        for i in range(n):
            for j in range(n):
                system[i, j] = root[i] * root[j] * gram[i, j]
            system[i, i] += ridge
            sides[i, 0], sides[i, 1] = root[i] * images[i], root[i]
        solved = np.linalg.solve(system, sides)
        change, shift = (root * solved[:, 0] - rest) / ridge, 0.0
        if intercept:
            follow = root * solved[:, 1]
            shift = (u + change).sum() / follow.sum()
            change = change - shift * follow
        decrement = -(np.dot(images, change) + shift * slopes.sum())
        if not decrement > 0.0 or 0.5 * decrement <= tol * value or steps == most:
            return u, constant, value, squares, 0.5 * abs(decrement), steps
        moved, length = np.dot(gram, change), 1.0
        for _ in range(_HALVINGS):
            ahead = scores + length * (moved + shift)
            loss = _losses(ahead, codes, weight, slopes, curves)
            there = loss + 0.5 * ridge * np.dot(u + length * change, product + length * moved)
            if there <= value - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            _losses(scores, codes, weight, slopes, curves)
            return u, constant, value, squares, 0.5 * decrement, steps
        u, product = u + length * change, product + length * moved
        constant, scores, steps = constant + length * shift, ahead, steps + 1
