"""Differences of two classifiers on the same rows: intervals, tests, and McNemar's test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from scipy.special import betainc, betaln, stdtr

from ..arrays import Array, ArrayLike
from ..data import check_choice, encoded, label_column, position_of, same_length
from ..evaluation.intervals import MIN_EFFECTIVE_ROWS, check_level, quantile
from ..results import Result, p_value

#: Minimum degrees of freedom of a paired difference, for any heaviness of its tails.
MIN_DEGREES: Final = 2.5


@dataclass(frozen=True)
class PairedDifference:
    """A measure of one model minus that of another on the same rows, with its interval and the test that it is 0.

    ``is_range``: the interval is a range without a stated coverage, and the p-value not that of a test whose level is
    known, but a bound.
    """

    difference: float
    low: float
    high: float
    p_value: float
    is_range: bool = False
    standard_error: float = math.nan
    degrees: float = math.inf

    def resting_on(self, rows: float) -> PairedDifference:
        """The difference; with a range where fewer than `MIN_EFFECTIVE_ROWS` rows decide."""
        return self if rows >= MIN_EFFECTIVE_ROWS else replace(self, is_range=True)


def known_degrees(rows: float, most: float) -> float:
    """Degrees of freedom of a variance that rests on a number of effective rows.

    A variance of n values of kurtosis k is as precise as one of ``2 n / (k - 1)`` normal values, about twice the
    effective rows. If these are few, the kurtosis of the sample is too small, and half of that is used.
    """
    return max(min(2 * rows if rows >= MIN_EFFECTIVE_ROWS else rows, most), MIN_DEGREES)


def t_test_p_value(value: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(value / error)))


def paired_shares_interval(
    first_only: float, second_only: float, n: float, level: float, degrees: float = math.inf
) -> tuple[float, float]:
    """The interval of a difference of two shares of the same rows (Agresti & Min 2005).

    It is Wald's interval with half a row added to each of the four cells.
    """
    difference = first_only - second_only
    centre = difference / (n + 2)
    total = first_only + second_only + 1 - difference**2 / (n + 2)
    half_width = quantile(level, degrees) * math.sqrt(total) / (n + 2)
    return max(centre - half_width, -1.0), min(centre + half_width, 1.0)


def mcnemar_p_value(first_only: float, second_only: float, mid: bool = True) -> float:
    """The p-value of McNemar's two-sided test of the rows that only one of two models classifies correctly.

    Counts may be sums of weights.

    "mid" counts the observed outcome half. The binomial distribution is continued between whole numbers.
    """
    n, fewer = first_only + second_only, min(first_only, second_only)
    if n == 0:
        return 1.0
    below = float(betainc(n - fewer, fewer + 1, 0.5))
    log_choose = -math.log(n + 1) - float(betaln(n - fewer + 1, fewer + 1))
    at = math.exp(log_choose - n * math.log(2))
    return min(2 * below - (at if mid else 0.0), 1.0)


@dataclass(frozen=True, repr=False)
class McNemar(Result):
    """The difference of the accuracies of two classifiers on the same rows.

    Attributes
    ----------
    first_only, second_only : int
        Rows that only the first, or only the second, classifies correctly (the cells b and c of the four-fold table).
    n_rows : int
        All rows.
    p_value : float
        Of the two-sided test of equal accuracy.
    difference, low, high : float
        Accuracy of the first minus that of the second, and its confidence interval (Agresti & Min 2005).
    level : float
        Of the interval.
    method : str
        How the p-value was computed.
    """

    first_only: int
    second_only: int
    n_rows: int
    p_value: float
    difference: float
    low: float
    high: float
    level: float
    method: str

    def __str__(self) -> str:
        return (
            f"McNemar ({self.method}): correct only by the first: {self.first_only}, only by the second: "
            f"{self.second_only}, rows: {self.n_rows}; difference {self.difference:.4f} ({100 * self.level:g} % CI "
            f"{self.low:.4f} to {self.high:.4f}), {p_value(self.p_value, name='p')}"
        )


def mcnemar(
    y: ArrayLike, first: ArrayLike, second: ArrayLike, method: Literal["mid-p", "exact"] = "mid-p", level: float = 0.95
) -> McNemar:
    """McNemar's test of the predictions of two classifiers on the same rows.

    The test uses the rows that exactly one of the two classifies correctly; under the null hypothesis each of them is
    equally likely to be the first or the second. "exact" is the binomial test, which is conservative; "mid-p" counts
    the observed outcome half, and its level is closer to the nominal one (Fagerland, Lydersen & Laake 2013).

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    first, second : array-like of shape (n_rows,)
        Predictions of the two classifiers.
    method : {"mid-p", "exact"}, default="mid-p"
        How the p-value is computed.
    level : float, default=0.95
        Confidence level of the interval of the difference.

    Returns
    -------
    McNemar
        Counts, p-value, and the difference of the two accuracies with its interval.

    See Also
    --------
    compare : Cross-validates models, and applies this test to a hold-out set.
    compare_auc : The same question for two rankings.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 153-157.
    Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional. BMC Medical Research Methodology 13, 91.
    Agresti, A. & Min, Y. (2005). Simple improved confidence intervals for comparing matched proportions. Statistics in
    Medicine 24, 729-740.

    Examples
    --------
    >>> test = mcnemar([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 1, 1])
    >>> test.first_only, test.second_only, round(test.p_value, 4)
    (3, 1, 0.375)
    """
    level = check_level(level)
    check_choice("method", method, ("mid-p", "exact"))
    truth, a, b = (label_column(name, labels) for name, labels in (("y", y), ("first", first), ("second", second)))
    same_length(y=truth, first=a, second=b)
    right, other = _agree(a, truth), _agree(b, truth)
    only = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(other & ~right))
    low, high = paired_shares_interval(*only, truth.size, level)
    p, difference = mcnemar_p_value(*only, mid=method == "mid-p"), (only[0] - only[1]) / truth.size
    return McNemar(*only, truth.size, p, difference, low, high, level, method)


def _agree(predicted: Array, truth: Array) -> Array:
    """Which predictions are correct; labels may be of several types, such as numbers and "abstain"."""
    (found, codes), (classes, own) = encoded(predicted), encoded(truth)
    position = position_of(classes)
    return np.array([position.get(label, -1) for label in found])[codes] == own
