"""What scores of several splits tell together, although the splits share most of their rows.

Two training parts of 10-fold cross-validation have 8/9 of their rows in common, so their scores vary together and the
usual standard error of a mean is too small. Nadeau & Bengio (2003) correct it: the variance of the mean of J scores is
``(1/J + n_test/n_train)`` times the variance between them, on J - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ..evaluation.intervals import Interval, check_level, no_interval, quantile

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean over splits with its standard error and degrees of freedom.

    Examples
    --------
    >>> print(Estimate(0.9, 0.02, 9).interval(level=0.95))
    0.8548 to 0.9452 (95 %, corrected resampled t)
    """

    value: float
    standard_error: float
    degrees: float

    def reach(self, level: float = 0.95) -> float:
        """How far the interval reaches to either side."""
        return quantile(level, self.degrees) * self.standard_error

    def interval(self, level: float = 0.95) -> Interval:
        """The values that are compatible with the scores."""
        level = check_level(level)
        if math.isnan(self.standard_error):
            return no_interval(level, "the scores do not tell how they vary")
        method = "mean over rows" if math.isinf(self.degrees) else "corrected resampled t"
        return Interval(self.value - self.reach(level), self.value + self.reach(level), level, method)

    def __str__(self) -> str:
        reach = f" ± {self.reach():.4f}" if math.isfinite(self.standard_error) else ""
        return f"{self.value:.4f}{reach}"

    @property
    def t(self) -> float:
        """The value in standard errors."""
        if self.standard_error == 0:
            return float(np.sign(self.value) * np.inf) if self.value else 0.0
        return self.value / self.standard_error

    @property
    def p_value(self) -> float:
        """Two-sided test that the true value is 0."""
        return float(2 * stats.t.sf(abs(self.t), self.degrees))


def corrected_mean(values: Array, ratio: float) -> Estimate:
    """The mean of scores of several splits; ``ratio`` is the size of a test part over that of its training part.

    Scores that are not defined (NaN) are left out; of a single one nothing is known but its value.
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return Estimate(float(known[0]) if known.size else np.nan, np.nan, np.nan)
    # Equal scores have no variance at all, not that of the rounding of their mean.
    variance = 0.0 if np.ptp(known) == 0 else float(known.var(ddof=1))
    return Estimate(float(known.mean()), float(np.sqrt((1 / known.size + ratio) * variance)), known.size - 1)


def holm(p_values: Array) -> Array:
    """P-values adjusted for their number by Holm's (1979) step-down rule.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
