"""The line search that all descents share: backtracking until the objective decreases enough (Armijo 1966)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np

from ..arrays import Array

# The share of the decrease predicted by the slope that a step must bring.
SUFFICIENT_DECREASE: Final = 1e-4
# A value this many relative units above another is as good: rounding of the sums over the rows.
ROUNDING: Final = 4 * np.finfo(float).eps
# Trial points of a search: after more reductions a step gains only rounding.
MAX_TRIALS: Final = 40

#: What an evaluation returns: a tuple whose first entry is the value.
Evaluation = TypeVar("Evaluation", bound=tuple[float, *tuple[object, ...]])


def decreases_enough(new: Array | float, value: Array | float, predicted: Array | float) -> Array:
    """Armijo's condition: ``new`` is below ``value`` by a share of the predicted decrease. Numbers or arrays."""
    return np.less_equal(new, value - SUFFICIENT_DECREASE * np.asarray(predicted) + ROUNDING * np.abs(value))


def shortened(length: Array | float, predicted: Array | float, change: Array | float) -> Array:
    """The minimum of the interpolating parabola, kept between a tenth and a half of the last step length.

    ``predicted`` is the decrease that the slope at the start predicts over the whole step, ``change`` the observed
    change of the value.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.asarray(change) + predicted
        length = np.asarray(length)
        guess = np.where(np.isfinite(error) & (error > 0), 0.5 * length * predicted / error, 0.0)
    return np.clip(guess, 0.1 * length, 0.5 * length)


def line_search(
    evaluate: Callable[[Array], Evaluation], theta: Array, value: float, direction: Array, decrement: float
) -> tuple[Array, Evaluation] | None:
    """The first trial point along ``-direction`` that decreases the function enough, and its evaluation.

    Parameters
    ----------
    evaluate : function from a point to a tuple
        The first entry is the value of the function to be minimised.
    theta : array
        Start of the search.
    value : float
        The function there.
    direction : array
    decrement : float
        ``gradient'direction``, the negative slope of the function at the start.

    Returns
    -------
    (array, tuple) or None
        The point and what ``evaluate`` returned; None where any further decrease is rounding.
    """
    length = 1.0
    for _ in range(MAX_TRIALS):
        new = theta - length * direction
        found = evaluate(new)
        if decreases_enough(found[0], value, length * decrement):
            return new, found
        if length * decrement < ROUNDING * abs(value):
            return None
        length = float(shortened(length, length * decrement, found[0] - value))
    return None
