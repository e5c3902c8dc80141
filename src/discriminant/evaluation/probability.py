"""What probabilities cost: log-loss and Brier score of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.rows import as_rows
from ..decision.posteriors import as_posterior
from ..engine import map_rows

Array = np.ndarray[Any, Any]

#: A probability of 0 for what happened would cost infinitely much; it is counted as this one.
LEAST = float(np.finfo(np.float64).eps)


def read_posterior(posterior: Any, classes: Any) -> tuple[Array, Array]:
    """The classes and the probabilities of the rows, checked.

    Those of an array are kept as they came: dividing a row by its sum would break ties between rows in the last digit.
    """
    found = as_posterior(posterior, classes)
    if isinstance(posterior, np.ndarray) and posterior.dtype.kind == "f":
        return found.classes, np.ascontiguousarray(posterior, dtype=np.float64)
    return found.classes, found.probabilities


def row_losses(posterior: Array, codes: Array) -> tuple[Array, Array]:
    """The log-loss and the Brier score of each row.

    The Brier score is the sum over classes of ``(p - y)^2``, for two classes half of it: ``(p - y)^2`` of either.
    """
    log_loss, brier = np.empty(len(codes)), np.empty(len(codes))
    half = 0.5 if posterior.shape[1] == 2 else 1.0

    def write(block: Array, where: slice) -> None:
        own = np.arange(len(block)), codes[where]
        log_loss[where] = -np.log(np.maximum(block[own], LEAST))
        miss = block.copy()
        miss[own] -= 1.0
        brier[where] = half * np.einsum("ij,ij->i", miss, miss)

    map_rows(as_rows(posterior), write)
    return log_loss, brier


def impossible_rows(posterior: Array, codes: Array) -> int:
    """How many rows gave their own class the probability 0."""
    return int(np.count_nonzero(posterior[np.arange(len(codes)), codes] <= 0))
