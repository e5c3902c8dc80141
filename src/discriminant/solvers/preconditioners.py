"""Preconditioners: approximate inverse Hessians, from cheap to precise."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from ..arrays import Array
from ..moments.covariance import factorised
from ..moments.statistic import ClassMoments
from ..objective import Objective
from .lbfgs import Preconditioner

# Up to this many columns a p x p matrix is worth its factorisation; beyond, preconditioners are diagonal.
MAX_MATRIX_COLUMNS: Final = 2_000
# Rows from which the covariance of the preconditioner is estimated: more do not improve it.
COVARIANCE_ROWS: Final = 8_000
# Curvatures of classes in a factor of this root of 2 share a factorisation: with a balanced table all do.
CURVATURES_PER_DOUBLING: Final = 1.0
# Rows that a sample needs to represent all, and rows of its rarest class for each parameter of a linear predictor.
MIN_SAMPLE_ROWS: Final = 4_000
MIN_CLASS_ROWS_PER_PARAMETER: Final = 3
# Rows for each column from which the blocks of a preconditioner are computed, if these cost no more than this many
# passes (in multiplications, which matrix products do faster) or no more multiplications.
BLOCK_ROWS_PER_COLUMN: Final = 20
MAX_BLOCK_PASSES: Final = 80
CHEAP_BLOCK_OPERATIONS: Final = 2e9


def min_sample_rows(objective: Objective) -> float:
    """The rows that a sample needs to represent all classes."""
    rarest = max(objective.class_weights.min() / objective.total_weight, 1e-300)
    return max(MIN_SAMPLE_ROWS, float(MIN_CLASS_ROWS_PER_PARAMETER * objective.shape[1] / rarest))


def moment_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """Inverse of ``A x S + ridge``: S the covariance of the rows, A the second derivatives at the class proportions.

    With too many columns for S, the inverse of the Hessian's diagonal.
    """
    p = objective.n_columns
    if p > MAX_MATRIX_COLUMNS:
        return diagonal_preconditioner(objective, theta)
    # 1. The loss's second derivatives where every row has the probabilities of the class proportions.
    shares, contrasts = objective.class_weights / objective.total_weight, objective.contrasts
    curvature = contrasts @ objective.loss.expected_curvature(shares) @ contrasts.T
    values, axes = np.linalg.eigh(curvature)
    # 2. The covariance of the standardised rows, and 1 for the intercept.
    covariance = np.zeros((objective.shape[1], objective.shape[1]))
    covariance[:p, :p] = _sample_covariance(objective) if objective.covariance is None else objective.covariance
    covariance[p:, p:] = 1.0
    # 3. One factorisation for curvatures of about the same size: a class needs none of its own.
    sizes = np.round(np.log2(np.maximum(values, 1e-8)) * CURVATURES_PER_DOUBLING)
    ridge, alike = np.diag(objective.ridge[0]), [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    factors = [factorised(max(values[own].mean(), 1e-8) * covariance + ridge) for own in alike]

    def precondition(gradient: Array) -> Array:
        rotated = (axes.T @ gradient).reshape(-1, *gradient.shape[-2:])
        for own, factor in zip(alike, factors, strict=True):
            rows = rotated[:, own]
            rotated[:, own] = factor.solve(rows.reshape(-1, rows.shape[-1])).reshape(rows.shape)
        solved: Array = axes @ rotated.reshape(gradient.shape)
        return solved

    return precondition


def _sample_covariance(objective: Objective) -> Array:
    """The covariance of the standardised columns, from a sample of the rows."""
    data, scale, p = objective.data, objective.standardised.scale, objective.n_columns
    step = max(1, data.n_rows // max(COVARIANCE_ROWS, 10 * p))
    moments = data.sample(step).reduce(ClassMoments(len(data.classes), p), objective.n_jobs)
    objective.counter.add(objective.share / step)
    return np.asarray(moments.total().matrix / moments.total_weight / np.outer(scale, scale))


def with_known_covariance(objective: Objective) -> Objective:
    """The same objective with the covariance of its columns, for fits at several strengths."""
    if objective.n_columns > MAX_MATRIX_COLUMNS:
        return objective
    return replace(objective, standard=objective.standardised, covariance=_sample_covariance(objective))


def inverse_hessian(hessian: Array) -> Preconditioner:
    """Gradient to inverse Hessian times gradient, for one gradient or several at once."""
    factors = factorised(hessian)
    return lambda gradient: factors.solve(gradient.reshape(-1, len(hessian))).reshape(gradient.shape)


def newton_preconditioner(objective: Objective, theta: Array) -> Preconditioner | None:
    """The inverse of the Hessian's blocks for each score, from a sample of the rows, or of its diagonal (many columns).

    None if the blocks cost too many passes: one matrix then serves all scores, as in `moment_preconditioner`.
    """
    (n, p), n_scores = objective.data.rows.shape, objective.contrasts.shape[1]
    rows = int(min(n, max(min_sample_rows(objective), BLOCK_ROWS_PER_COLUMN * p)))
    if p > MAX_MATRIX_COLUMNS:
        return diagonal_preconditioner(objective, theta)
    if rows * p > MAX_BLOCK_PASSES * n and n_scores * rows * p**2 > CHEAP_BLOCK_OPERATIONS:
        return None
    blocks, ridge = objective.sample(n // rows).class_hessians(theta), np.diag(objective.ridge[0])
    factors, contrasts = [factorised(block + ridge) for block in blocks], objective.contrasts

    def precondition(gradient: Array) -> Array:
        of_scores = (contrasts.T @ gradient).reshape(-1, contrasts.shape[1], gradient.shape[-1])
        solved = np.stack([factor.solve(of_scores[:, k]) for k, factor in enumerate(factors)], axis=1)
        return np.asarray((contrasts @ solved).reshape(gradient.shape))

    return precondition


def diagonal_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """The inverse of the Hessian's diagonal after the intercepts are eliminated.

    Sparse columns are not centred: all are correlated with the intercept, and through it with each other.
    """
    p, (diagonal, crossed) = objective.n_columns, objective.column_curvatures(theta)
    if objective.fit_intercept:
        shift = crossed[:, :p] / np.maximum(crossed[:, p:], 1e-300)
        diagonal[:, :p] = np.maximum(diagonal[:, :p] - shift * crossed[:, :p], objective.ridge[:, :p])
    diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())

    def precondition(gradient: Array) -> Array:
        solved: Array = gradient / diagonal
        if objective.fit_intercept:
            solved[..., :p] -= shift * gradient[..., p:] / diagonal[:, :p]
            solved[..., p] -= np.einsum("ij,...ij->...i", shift, solved[..., :p])
        return solved

    return precondition
