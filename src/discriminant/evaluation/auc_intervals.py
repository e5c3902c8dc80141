"""Intervals of an AUC: Newcombe's score interval, and DeLong's variance as a score interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from .intervals import Interval, no_interval, quantile


def newcombe_variance(auc: float, n_positive: float, n_negative: float) -> float:
    """The variance of an AUC as a function of its true value (Newcombe 2006, method 5)."""
    factor = 1 + ((n_positive + n_negative) / 2 - 1) * ((1 - auc) / (2 - auc) + auc / (1 + auc))
    return auc * (1 - auc) * factor / (n_positive * n_negative)


def newcombe_interval(
    auc: float, sides: tuple[float, float], level: float, ratio: float = 1.0, degrees: float = math.inf
) -> Interval:
    """Newcombe's score interval of an AUC (his method 5), which has a positive width even if no pair is misordered.

    ``sides`` are the positive and negative rows; ``ratio`` multiplies the variance, and ``degrees`` are its degrees of
    freedom.
    """
    from scipy.optimize import brentq  # slow to load

    square = quantile(level, degrees) ** 2 * ratio

    def excess(true: float) -> float:
        return (auc - true) ** 2 - square * newcombe_variance(true, *sides)

    near = 1e-9 * auc * (1 - auc) + 1e-12
    low = 0.0 if auc <= near else float(brentq(excess, 0.0, auc - near))
    high = 1.0 if auc >= 1 - near else float(brentq(excess, auc + near, 1.0))
    return Interval(low, high, level, "Newcombe's score interval")


#: Weight of Newcombe's variance, in rows, in its mean with DeLong's.
PRIOR_ROWS: Final = 2.0


@dataclass(frozen=True)
class AucVariance:
    """DeLong's variance of an AUC, or that between clusters, and the precision of this estimate.

    ``rows`` are its effective rows, ``sides`` the independent positive and negative rows. If classes hardly overlap,
    DeLong's variance is determined by the few misordered rows: Newcombe's variance, which depends on the AUC only, is
    added with the weight of `PRIOR_ROWS` rows.
    """

    value: float
    rows: float
    sides: tuple[float, float]
    degrees: float = math.inf
    words: str = ""

    def ratio(self, auc: float) -> float:
        """The ratio of the mean of both variances to Newcombe's; NaN if that is 0."""
        newcombe = newcombe_variance(auc, *self.sides)
        if not newcombe > 0 or self.value == 0:
            return math.nan
        return (self.rows * self.value / newcombe + PRIOR_ROWS) / (self.rows + PRIOR_ROWS)

    def inflation(self, auc: float) -> float:
        """The ratio of the mean of both variances to this one, at least 1."""
        if self.value == 0:
            return 1.0
        return max(self.ratio(auc) * newcombe_variance(auc, *self.sides) / self.value, 1.0)


def auc_interval(auc: float, variance: AucVariance, level: float) -> Interval:
    """The score interval of an AUC: the variance is that of the AUC at each limit, not of the estimate.

    It depends on the AUC as Newcombe's variance does (his method 5). The interval is a range if the variance has fewer
    than `MIN_EFFECTIVE_ROWS` effective rows or no pair is misordered. Equal scores have an AUC of 0.5.

    References
    ----------
    Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2.
    Statistics in Medicine 25.
    """
    if auc in (0.0, 1.0):
        found = newcombe_interval(auc, variance.sides, level)
        return found.as_range("no two rows of a pair are misordered")
    method = f"DeLong, score interval{variance.words}"
    if variance.value == 0:
        return Interval(auc, auc, level, method)
    ratio = variance.ratio(auc)
    if math.isnan(ratio):
        return no_interval(level, "the variance of the AUC is undefined")
    found = newcombe_interval(auc, variance.sides, level, ratio, variance.degrees)
    return replace(found, method=method).resting_on(variance.rows)
