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


def log_losses(posterior: Array, codes: Array) -> Array:
    """Minus the logarithm of each row's probability of its own class, limited where that is 0."""
    return -np.log(np.maximum(posterior[np.arange(len(codes)), codes], LEAST))


def brier_scores(posterior: Array, codes: Array) -> Array:
    """Each row's sum over classes of ``(p - y)^2``, for two classes half of it: ``(p - y)^2`` of either."""
    miss = posterior.copy()
    miss[np.arange(len(codes)), codes] -= 1.0
    squared = np.einsum("ij,ij->i", miss, miss)
    return 0.5 * squared if posterior.shape[1] == 2 else squared


def row_losses(posterior: Array, codes: Array) -> tuple[Array, Array]:
    """The log-loss and the Brier score of each row, computed on threads."""
    log_loss, brier = np.empty(len(codes)), np.empty(len(codes))

    def write(block: Array, where: slice) -> None:
        log_loss[where] = log_losses(block, codes[where])
        brier[where] = brier_scores(block, codes[where])

    map_rows(as_rows(posterior), write)
    return log_loss, brier


def impossible_rows(posterior: Array, codes: Array) -> int:
    """How many rows gave their own class the probability 0."""
    return int(np.count_nonzero(posterior[np.arange(len(codes)), codes] <= 0))
