"""Ridge logistic regression of few rows with many columns, in the span of the rows: Newton's method on the Gram matrix.

Coefficients are ``w = Z' u``, scores ``K u + intercept`` with ``K = Z Z'`` (n, n): columns are read twice, for K and
for w. A step solves ``(ridge I + W K) du + W 1 db = -(slopes + ridge u)``, W the curvatures of the rows, by the
symmetric matrix ``ridge I + W^1/2 K W^1/2`` (Rasmussen & Williams 2006, algorithm 3.1); the equation of the intercept
is that ``u`` sums to 0. Of the digits of a step those of ``W K / ridge`` are lost.
"""

from __future__ import annotations

import numpy as np

from . import kernel, summing_kernel
from .interior_point import solve_factored
from .losses import mean_logistic_loss
from .vectors import inner, multiply, summed

#: Steps are halved so often at most.
_HALVINGS = 30


@summing_kernel
def _direction(gram, u, rest, images, root, ridge, intercept, change):  # type: ignore[no-untyped-def]
    """Write the change of u by Newton's step; that of the intercept. ``images`` are ``gram @ rest``."""
    n = u.size
    system, side, solved, shift = np.empty((n, n)), np.empty(n), np.empty(n), 0.0
    for i in range(n):
        for j in range(n):
            system[i, j] = root[i] * root[j] * gram[i, j]
        system[i, i] += ridge
        side[i] = root[i] * images[i]
    factor = np.linalg.cholesky(system)  # LAPACK's: n may be some hundreds
    solve_factored(factor, side, solved)
    for i in range(n):
        change[i] = (root[i] * solved[i] - rest[i]) / ridge
    if intercept:
        solve_factored(factor, root, solved)
        shift = (summed(u) + summed(change)) / inner(root, solved)
        for i in range(n):
            change[i] -= shift * root[i] * solved[i]
    return shift


@kernel
def minimise_in_row_span(gram, codes, weight, offset, ridge, intercept, tol, most):  # type: ignore[no-untyped-def]
    """Minimise mean loss plus ``ridge / 2 |w|^2`` from 0; ``weight`` sums to 1.

    Returns u, the intercept, the objective, the square of its gradient's length, half the Newton decrement there, and
    the steps. Steps end when that half is a share ``tol`` of the objective, or no step descends.
    """
    n = codes.size
    u, constant, product, scores, ahead = np.zeros(n), 0.0, np.zeros(n), offset.copy(), np.empty(n)
    slopes, curves, rest, images = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    root, change, moved = np.empty(n), np.empty(n), np.empty(n)
    loss, steps = mean_logistic_loss(scores, codes, weight, slopes, curves), 0
    while True:
        value = loss + 0.5 * ridge * inner(u, product)
        for i in range(n):
            rest[i], root[i] = slopes[i] + ridge * u[i], np.sqrt(curves[i])
        multiply(gram, rest, images)
        pull = summed(slopes)
        squares = inner(rest, images) + intercept * pull * pull
        if squares == 0.0 or not np.isfinite(value + squares):
            return u, constant, value, squares, 0.0, steps
        shift = _direction(gram, u, rest, images, root, ridge, intercept, change)
        decrement = -(inner(images, change) + shift * pull)
        if not decrement > 0.0 or 0.5 * decrement <= tol * value or steps == most:
            return u, constant, value, squares, 0.5 * abs(decrement), steps
        multiply(gram, change, moved)
        length = 1.0
        for _ in range(_HALVINGS):
            norm = 0.0
            for i in range(n):
                ahead[i] = scores[i] + length * (moved[i] + shift)
                norm += (u[i] + length * change[i]) * (product[i] + length * moved[i])
            loss = mean_logistic_loss(ahead, codes, weight, slopes, curves)
            if loss + 0.5 * ridge * norm <= value - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            return u, constant, value, squares, 0.5 * decrement, steps
        for i in range(n):
            u[i], product[i], scores[i] = u[i] + length * change[i], product[i] + length * moved[i], ahead[i]
        constant, steps = constant + length * shift, steps + 1
