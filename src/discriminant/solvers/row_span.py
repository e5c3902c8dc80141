"""Problems with more columns than rows, solved in the span of the rows.

With a ridge penalty the coefficients are in the span of the centred, scaled rows ``Z = U S V'``. With ``v = V u`` the
scores are those of the rows ``U S`` and the penalty is that of u (Hastie & Tibshirani 2004). The problem with p columns
is thus reduced to at most n columns, at the cost of one product ``Z Z'``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..arrays import Array
from ..data import SparseRows, as_rows, dense_rows
from ..moments.covariance import row_span
from ..objective import Objective, Standardisation
from .solution import TracePoint

# With more rows the decomposition of ``Z Z'`` costs more than passes over the columns.
MAX_WIDE_ROWS: Final = 2_000
# A sparse matrix of up to this many values, 400 MB, is made dense for it.
MAX_DENSE_VALUES: Final = 5e7
# With a weaker ridge, directions computed from ``Z Z'`` have too few correct digits.
MIN_GRAM_RIDGE: Final = 1e-7


@dataclass(frozen=True)
class RowSpan:
    """A problem in the span of its rows, and the maps between its parameters and those of all columns."""

    objective: Objective
    rows: Array  #: Z (n, p), in the units of the penalty
    row_weights: Array  #: (n, r): an orthonormal basis of the span is ``Z' row_weights``
    penalty_factor: Array

    @classmethod
    def of(cls, objective: Objective) -> RowSpan:
        """The problem of an objective whose rows are in memory."""
        data, standard = objective.data.gather(), objective.standardised
        penalty_factor = objective.penalty_factor[0, : objective.n_columns]
        Z = dense_rows(data.rows.block(0, data.n_rows)) - standard.centre
        Z /= standard.scale * penalty_factor  # in place: allocating a new array took longer than the division
        rows, row_weights = row_span(Z, exact=objective.penalty.l2 < MIN_GRAM_RIDGE)
        own = replace(
            objective,
            data=replace(data, rows=as_rows(rows)),
            standard=Standardisation.none(rows.shape[1]),
            penalty_scale=None,
        )
        return cls(own, Z, row_weights, penalty_factor)

    def to_columns(self, theta: Array) -> Array:
        """Parameters (..., C, r + 1) as those of all columns."""
        r = self.row_weights.shape[1]
        return np.concatenate(
            (theta[..., :r] @ self.row_weights.T @ self.rows / self.penalty_factor, theta[..., r:]), axis=-1
        )

    def from_columns(self, theta: Array) -> Array:
        """The projection of parameters of all columns onto the span of the rows."""
        p = len(self.penalty_factor)
        return np.concatenate(
            (theta[..., :p] * self.penalty_factor @ self.rows.T @ self.row_weights, theta[..., p:]), axis=-1
        )

    def point_in_columns(self, point: TracePoint) -> TracePoint:
        """An iteration in all columns; the gradient is in the span of the rows."""
        r, gradient = self.row_weights.shape[1], point.gradient
        whole = gradient[..., :r] @ self.row_weights.T @ self.rows * self.penalty_factor
        return TracePoint(
            self.to_columns(point.theta), point.value, np.concatenate((whole, gradient[..., r:]), axis=-1)
        )


def is_wide(objective: Objective) -> bool:
    """Whether a smooth problem is better solved in the span of its rows."""
    rows = objective.data.rows
    n, p = rows.shape
    in_memory = not objective.data.is_streamed and (not isinstance(rows, SparseRows) or n * p <= MAX_DENSE_VALUES)
    return n < p and n <= MAX_WIDE_ROWS and in_memory and objective.penalty.l1 == 0
