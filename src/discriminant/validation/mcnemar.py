"""McNemar's test: two classifiers on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from ..errors import ParameterError
from ..evaluation.inputs import coded, label_column, position_of, same_length
from ..evaluation.intervals import check_level, quantile

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class McNemar:
    """How two classifiers differ on the same rows.

    Attributes
    ----------
    first_only, second_only : int
        Rows only the first, or only the second, gets right (the cells b and c of the four-fold table).
    n_rows : int
    p_value : float
        Two-sided test that both are right equally often.
    difference, lower, upper : float
        Accuracy of the first minus that of the second, and its confidence interval (Agresti & Min 2005).
    level : float
    method : str
        How the p-value was computed.
    """

    first_only: int
    second_only: int
    n_rows: int
    p_value: float
    difference: float
    lower: float
    upper: float
    level: float
    method: str

    def __str__(self) -> str:
        return (
            f"McNemar ({self.method}): {self.first_only} rows only the first gets right, {self.second_only} only the "
            f"second, of {self.n_rows}; difference {self.difference:.4f} ({100 * self.level:g} % interval "
            f"{self.lower:.4f} to {self.upper:.4f}), p = {self.p_value:.4g}"
        )


def mcnemar(
    y: Any, first: Any, second: Any, method: Literal["mid-p", "exact"] = "mid-p", level: float = 0.95
) -> McNemar:
    """McNemar's test of the predictions of two classifiers on the same rows.

    Only rows on which one is right and the other wrong tell them apart; if both were equally good, each such row would
    be a toss of a fair coin. "exact" is the binomial test, which is cautious; "mid-p" counts the observed outcome
    half, and holds its level better (Fagerland, Lydersen & Laake 2013).

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    first, second : array-like of shape (n_rows,)
        What the two classifiers predict.
    method : {"mid-p", "exact"}
    level : float
        Confidence level of the interval of the difference.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> test = mcnemar([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 1, 1])
    >>> test.first_only, test.second_only, round(test.p_value, 4)
    (3, 1, 0.375)
    """
    level = check_level(level)
    truth, a, b = (label_column(name, labels) for name, labels in (("y", y), ("first", first), ("second", second)))
    same_length(y=truth, first=a, second=b)
    right, other = _agree(a, truth), _agree(b, truth)
    only = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(other & ~right))
    difference, reach = _shrunken_difference(*only, truth.size, level)
    return McNemar(
        *only,
        truth.size,
        _coin_test(*only, method),
        (only[0] - only[1]) / truth.size,
        max(difference - reach, -1.0),
        min(difference + reach, 1.0),
        level,
        method,
    )


def _agree(predicted: Array, truth: Array) -> Array:
    """Which predictions are right; they may be of several types, such as numbers beside the word "abstain"."""
    (found, codes), (classes, own) = coded(predicted), coded(truth)
    position = position_of(classes)
    return np.array([position.get(label, -1) for label in found])[codes] == own


def _coin_test(b: int, c: int, method: str) -> float:
    if method not in ("mid-p", "exact"):
        raise ParameterError(f"method must be 'mid-p' or 'exact', got {method!r}.")
    fewer, tosses = min(b, c), b + c
    below = 2 * float(stats.binom.cdf(fewer, tosses, 0.5))
    return min(below - (float(stats.binom.pmf(fewer, tosses, 0.5)) if method == "mid-p" else 0.0), 1.0)


def _shrunken_difference(b: int, c: int, n: int, level: float) -> tuple[float, float]:
    """Centre and reach of the interval: Wald's after half a row has been added to each of the four cells."""
    n, disagreeing, difference = n + 2, b + c + 1, b - c
    spread = np.sqrt(disagreeing - difference**2 / n) / n
    return difference / n, float(quantile(level) * spread)
