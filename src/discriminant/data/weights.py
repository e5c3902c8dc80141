"""Row weights, read as frequencies: weight 3 means the row stands there three times."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, WeightError
from .rows import Array


def check_offset(offset: Any, n_rows: int, n_classes: int) -> Array | None:
    """Known parts of the scores as float64: one for each row, or one for each row and class."""
    if offset is None:
        return None
    values = np.asarray(offset, dtype=np.float64)
    wanted = [(n_rows,)] if n_classes == 2 else [(n_rows, n_classes)]
    if values.shape not in wanted:
        raise InputError(f"offset must have shape {wanted[0]}, got {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"offset contains NaN or infinity: row {int(np.argwhere(~np.isfinite(values))[0][0])}.")
    return values


def check_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """The weights as float64, or None where every row counts once."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.dtype.kind not in "fiub":
        raise WeightError(f"sample_weight must be numbers, got dtype {weight.dtype}.")
    weight = np.full(n_rows, weight, dtype=np.float64) if weight.ndim == 0 else weight.astype(np.float64, copy=False)
    if weight.ndim != 1:
        raise WeightError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if weight.shape[0] != n_rows:
        raise WeightError(
            f"sample_weight.shape == {weight.shape}, expected ({n_rows},): give exactly one weight per row."
        )
    if not np.isfinite(weight).all():
        raise WeightError(f"sample_weight contains NaN or infinity: row {int(np.argmin(np.isfinite(weight)))}.")
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise WeightError(f"Weights must not be negative: row {row} has weight {weight[row]:g}. Use 0 to leave it out.")
    if not weight.any():
        raise WeightError("All weights are zero: there is no row left to learn from.")
    return weight
