"""Errors of fits that fail because of their training data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ..data import TrainingData
from ..engine import quiet_numbers
from ..errors import DegenerateDataError, DiscriminantError, InputError, WeightError

# Fourth powers of larger values, and of the inverses of smaller ones, overflow.
MAX_MAGNITUDE: Final = 1e75


@contextmanager
def computable(data: TrainingData) -> Iterator[None]:
    """Replace numerical errors inside by an error that names the column or the weights at fault.

    NumPy's overflow warnings are suppressed, because an overflow ends in such an error.
    """
    try:
        with quiet_numbers():
            yield
    except (ValueError, ArithmeticError) as error:
        data.rows.refuse_nonfinite()
        if isinstance(error, DiscriminantError):
            raise
        extreme = extreme_values(data)
        if extreme is not None:
            raise extreme from error
        if isinstance(error, (np.linalg.LinAlgError, ArithmeticError)):
            raise DegenerateDataError(
                f"The fit failed numerically ({error}). Standardise the columns, and remove nearly collinear ones."
            ) from error
        raise


def extreme_values(data: TrainingData) -> InputError | None:
    """The error for values or weights whose products overflow or underflow, if there are any."""
    largest, least, most = data.rows.largest_values(), data.smallest_weight, data.largest_weight
    j, faint = int(np.argmax(largest)), np.flatnonzero((largest > 0) & (largest < 1 / MAX_MAGNITUDE))
    if largest[j] > MAX_MAGNITUDE:
        label = data.rows.number_label(j)
        return InputError(
            f"Values of {label} are too large: their products overflow. Maximum: {largest[j]:.1g}. Rescale the column."
        )
    if most > MAX_MAGNITUDE or least < 1 / MAX_MAGNITUDE:
        return WeightError(
            f"Weights from {least:.1g} to {most:.1g} overflow when multiplied. Scale them to sum to the number of rows."
        )
    if faint.size:
        label = data.rows.number_label(int(faint[0]))
        return InputError(
            f"Values of {label} are too small: their products underflow. Maximum: {largest[faint[0]]:.1g}. Rescale "
            "the column."
        )
    return None


def check_finite(result: ArrayLike, data: TrainingData) -> None:
    """Raise an error for a result that is not finite, naming NaN and infinity in the rows."""
    if not np.isfinite(result).all():
        data.rows.refuse_nonfinite()
        raise InputError("Values of X are too large: their scores overflow. Rescale the columns.")
