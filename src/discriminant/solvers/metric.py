"""Approximate inverse Hessians that cost next to nothing: from moments of the rows, or from the Hessian's diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import reduce
from ..moments import ClassMoments
from ..moments.scatter import factorised
from ..objective import Objective
from .quasi_newton import Metric

Array = np.ndarray[Any, Any]

#: Up to this many columns a p x p matrix is worth its factorisation.
_MOST_COLUMNS = 2_000
_SAMPLE_ROWS = 20_000


def moment_metric(objective: Objective, theta: Array) -> Metric:
    """Inverse of ``A x S + ridge``: S the covariance of the rows, A the curvature of the loss at the class shares.

    Where S would be too large, the inverse of the Hessian's diagonal.
    """
    p = objective.n_columns
    if p > _MOST_COLUMNS:
        diagonal = objective.column_curvatures(theta)
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())
        return lambda gradient: gradient / diagonal
    values, turn = np.linalg.eigh(_curvature_at_shares(objective))
    spread = np.zeros((objective.shape[1], objective.shape[1]))
    spread[:p, :p] = _covariance(objective)
    spread[p:, p:] = 1.0
    ridge = np.diag(objective.ridge[0])
    factors = [factorised(max(value, 1e-8) * spread + ridge) for value in values]

    def metric(gradient: Array) -> Array:
        turned = turn.T @ gradient
        return turn @ np.concatenate([f.solve(row[None]) for f, row in zip(factors, turned, strict=True)])

    return metric


def _curvature_at_shares(objective: Objective) -> Array:
    """The loss's second derivatives where every row has the probabilities of the class shares."""
    data = objective.data
    shares = np.bincount(data.codes, weights=data.weight, minlength=len(data.classes)) / objective.total_weight
    if objective.n_functions == 1:
        return np.array([[shares[0] * shares[1]]])
    contrasts = objective.contrasts
    return contrasts @ (np.diag(shares) - np.outer(shares, shares)) @ contrasts.T


def _covariance(objective: Objective) -> Array:
    """Covariance of the standardised rows, from a sample."""
    data, scale = objective.data, objective.standardised.scale
    step = max(1, data.n_rows // max(_SAMPLE_ROWS, 10 * data.rows.n_columns))
    sample = data.every(step)
    moments = reduce(sample, ClassMoments(len(data.classes), data.rows.n_columns), objective.n_jobs)
    objective.passes[0] += objective.share / step
    return moments.total().as_matrix() / moments.total_weight / np.outer(scale, scale)
