"""Logistic regression of the same rows under many weightings, such as those of bootstrap resamples.

All fits take their Newton steps together: the linear predictors of all weightings are one matrix product, and so are
their Hessians, whose entries are sums of products of two columns with the curvatures. They start at the fit of the
summed weights, from which resamples need about three steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..arrays import Array

#: Products of pairs of columns are stored for all rows: 40 columns make 820.
MAX_COLUMNS: Final = 40
#: Rows times weightings in one block of working arrays. The memory allocator reuses arrays of 256 kB; with larger ones
#: most of the time is spent on new memory pages (exp and division: 1 against 5 ns for each number).
BLOCK_VALUES: Final = 1 << 15
#: Diagonal of a singular Hessian, relative to its largest entry.
MIN_CURVATURE: Final = 1e-12
MAX_HALVINGS: Final = 20
#: The largest change of a linear predictor in the last step of a fit that has converged.
MAX_LAST_STEP: Final = 1e-3


@dataclass(frozen=True)
class WeightedFits:
    """Coefficients of each weighting (B, p), and which fits converged; the others are separated or singular."""

    theta: Array
    converged: Array


def logistic_fits(Z: Array, y: Array, weights: Array, tol: float = 1e-12, max_iter: int = 50) -> WeightedFits:
    """Maximum likelihood of two classes for each row of ``weights`` (B, n), by Newton steps with step halving.

    Parameters
    ----------
    Z : array of shape (n, p)
        Columns, with one of ones for the intercept.
    y : array of shape (n,)
        1 for the second class, 0 for the first.
    weights : array of shape (B, n)
        The weight of each row in each fit.
    tol : float, default=1e-12
        A fit ends when half its squared Newton decrement is below this share of its total weight.
    max_iter : int, default=50
        Maximum number of Newton steps.
    """
    weights = weights.astype(np.float64, copy=False)
    step = max(1, BLOCK_VALUES // len(Z))
    upper = np.triu_indices(Z.shape[1])
    rows = _Rows(Z, y, upper, Z[:, upper[0]] * Z[:, upper[1]])
    start, limits = np.zeros((1, Z.shape[1])), (tol, max_iter)
    if len(weights) > 1:
        pooled = _fits(rows, weights.sum(axis=0)[None], start, *limits)
        start = np.where(pooled.converged, pooled.theta, 0.0)
    parts = [_fits(rows, weights[i : i + step], start, *limits) for i in range(0, len(weights), step)]
    return WeightedFits(np.concatenate([one.theta for one in parts]), np.concatenate([one.converged for one in parts]))


@dataclass(frozen=True)
class _Rows:
    """Columns, outcomes, and the products of pairs of columns: ``pairs`` of the upper triangle."""

    Z: Array
    y: Array
    upper: tuple[Array, Array]
    pairs: Array


def _fits(rows: _Rows, W: Array, start: Array, tol: float, max_iter: int) -> WeightedFits:
    B, (Z, y) = len(W), (rows.Z, rows.y)
    total, theta, converged = W.sum(axis=1), np.repeat(start, B, axis=0), np.zeros(B, dtype=bool)
    active = np.flatnonzero(total > 0)
    scores = theta @ Z.T
    loss = _loss(y, W, scores)
    for _ in range(max_iter):
        if not active.size:
            break
        own = W[active]
        P = logistic(scores[active])
        gradient = (own * (P - y)) @ Z
        step = np.linalg.solve(_hessians(own * P * (1 - P), rows), gradient[:, :, None])[:, :, 0]
        gain = 0.5 * np.einsum("bp,bp->b", gradient, step)
        change = step @ Z.T
        theta[active], scores[active], loss[active] = _descended(
            (y, own), (theta[active], scores[active], loss[active]), (step, change)
        )
        done = gain <= tol * total[active]
        # Under separation the gain vanishes, while the scores grow by about 1 in every step.
        done[done] = np.abs(change[done]).max(axis=1, initial=0.0) < MAX_LAST_STEP
        converged[active[done]] = True
        active = active[~done]
    return WeightedFits(theta, converged)


def _hessians(curvature: Array, rows: _Rows) -> Array:
    """The Hessians (B, p, p), with a small ridge that makes singular ones invertible."""
    p, (first, second) = rows.Z.shape[1], rows.upper
    entries, H = curvature @ rows.pairs, np.empty((len(curvature), p, p))
    H[:, first, second] = H[:, second, first] = entries
    diagonal = np.arange(p)
    H[:, diagonal, diagonal] += MIN_CURVATURE * np.maximum(entries.max(axis=1), np.finfo(float).tiny)[:, None]
    return H


def _descended(
    data: tuple[Array, Array], at: tuple[Array, Array, Array], steps: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Coefficients, scores and losses after Newton steps with step halving, from those before."""
    (y, W), (theta, scores, loss), (step, change) = data, at, steps
    length = np.ones((len(theta), 1))
    moved = scores - change
    value = _loss(y, W, moved)
    for _ in range(MAX_HALVINGS):
        rises = np.flatnonzero(~(value <= loss * (1 + 1e-12) + 1e-12))
        if not rises.size:
            break
        length[rises] /= 2
        moved[rises] = scores[rises] - length[rises] * change[rises]
        value[rises] = _loss(y, W[rises], moved[rises])
    return theta - length * step, moved, value


def logistic(scores: Array) -> Array:
    """The logistic function; a third of the time of scipy's."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-scores))


def _loss(y: Array, W: Array, scores: Array) -> Array:
    """Weighted log-losses. The two terms of log(1 + exp(scores)) take a fifth of the time of numpy's logaddexp."""
    losses = np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores))) - y * scores
    return np.asarray(np.einsum("bn,bn->b", W, losses))
