"""Ridge problems with more columns than rows, in as many dimensions as there are rows.

A ridge penalty leaves no coefficients outside the span of the (centred, scaled) rows ``Z = U S V'``: with ``v = V u``
the scores are those of the rows ``U S`` and the penalty that of u (Hastie & Tibshirani 2004). The problem of p columns
becomes one of at most n, for one product ``Z Z'``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import LabelledRows, as_rows
from ..data.rows import dense_rows
from ..objective import Objective, Standardisation

Array = np.ndarray[Any, Any]

#: With more rows the decomposition of ``Z Z'`` costs more than passes over the columns.
_MOST_ROWS = 2_000
#: Directions with less than this share of the largest singular value are rounding.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class Rotation:
    """A problem in the span of its rows, and the way from its parameters to those of all columns and back."""

    objective: Objective
    directions: Array  #: (p, r)
    penalised: Array

    def to_columns(self, theta: Array) -> Array:
        """Parameters (..., C, r + 1) as those of all columns."""
        r = self.directions.shape[1]
        return np.concatenate((theta[..., :r] @ self.directions.T / self.penalised, theta[..., r:]), axis=-1)

    def from_columns(self, theta: Array) -> Array:
        """The part of parameters of all columns that lies in the span of the rows."""
        p = len(self.penalised)
        return np.concatenate((theta[..., :p] * self.penalised @ self.directions, theta[..., p:]), axis=-1)


def is_wide(objective: Objective) -> bool:
    """Whether a smooth problem is better solved in the span of its rows."""
    n, p = objective.data.rows.shape
    return n < p and n <= _MOST_ROWS and objective.penalty.l2 > 0 and objective.penalty.l1 == 0


def rotated(objective: Objective) -> Rotation:
    """The problem in the span of its rows."""
    data, standard = objective.data, objective.standardised
    penalised = objective.penalised[0, : objective.n_columns]
    Z = (dense_rows(data.rows.block(0, data.n_rows)) - standard.centre) / (standard.scale * penalised)
    squares, left = np.linalg.eigh(Z @ Z.T)
    kept = squares > _ROUNDING**2 * max(squares[-1], np.finfo(float).tiny)
    values = np.sqrt(squares[kept])
    rows = np.ascontiguousarray(left[:, kept] * values)
    r = rows.shape[1]
    own = replace(
        objective,
        data=LabelledRows(as_rows(rows), data.classes, data.codes, data.weight),
        standard=Standardisation(np.zeros(r), np.ones(r)),
        spread=None,
    )
    return Rotation(own, Z.T @ left[:, kept] / values, penalised)
