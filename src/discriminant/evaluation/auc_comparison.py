"""Comparison of the AUCs of two scores of the same rows (DeLong, DeLong & Clarke-Pearson 1988)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from scipy.special import stdtr

from ..arrays import ArrayLike
from ..data import codes_among, encoded, label_array, label_column, ordered, same_length
from ..results import Result, p_value
from .curves import curve_by_rows
from .inputs import code_of_large_scores, score_column
from .intervals import Interval, check_level, normal_interval
from .sampling import SamplingDesign


@dataclass(frozen=True, repr=False)
class AucComparison(Result):
    """Two AUCs of the same rows and their difference, first minus second.

    Attributes
    ----------
    auc_a, auc_b, difference, standard_error : float
        The areas, and their difference with its standard error.
    degrees, rows, method : float, float, str
        The degrees of freedom and the effective rows of the standard error, and its method.

    See Also
    --------
    compare_auc : Makes it.
    """

    auc_a: float
    auc_b: float
    difference: float
    standard_error: float
    degrees: float
    rows: float
    method: str

    def interval(self, level: float = 0.95) -> Interval:
        """The confidence interval of the difference.

        Parameters
        ----------
        level : float, default=0.95
            Of confidence.

        Returns
        -------
        Interval
            Symmetric around the difference.
        """
        found = normal_interval(self.difference, self.standard_error**2, check_level(level), self.method, self.degrees)
        return found.resting_on(self.rows)

    @property
    def z(self) -> float:
        """The difference in standard errors; 0 for scores in the same order, whose AUCs are equal."""
        if self.difference == 0:
            return 0.0
        return self.difference / self.standard_error if self.standard_error > 0 else math.nan

    @property
    def p_value(self) -> float:
        """The p-value of the two-sided test of equal AUCs, with the degrees of freedom of the interval."""
        return float(2 * stdtr(self.degrees, -abs(self.z)))

    def _columns(self) -> dict[str, list[Any]]:
        low, high = self.interval()
        names = ("auc_a", "auc_b", "difference", "standard_error", "z", "p_value")
        return {**{name: [getattr(self, name)] for name in names}, "low": [low], "high": [high]}

    def __str__(self) -> str:
        return (
            f"AUC {self.auc_a:.4f} against {self.auc_b:.4f}: difference {self.difference:.4f} ({self.interval()}), "
            f"z = {self.z:.3f}, {p_value(self.p_value, name='p')}"
        )


def compare_auc(
    y: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    positive: Hashable | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> AucComparison:
    """The difference of the AUCs of two scores of the same rows, with DeLong's interval and test.

    The test is of equal AUCs, two-sided; it allows for the correlation of two scores of the same rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    score_a, score_b : array-like of shape (n_rows,)
        The two scores.
    positive : label, optional
        The class with the larger scores; of two the second by default.
    sample_weight : array-like of shape (n_rows,), optional
        Frequency weights.
    groups : array-like of shape (n_rows,), optional
        The cluster of each row; variances are then between clusters.

    Returns
    -------
    AucComparison
        Both AUCs, their difference with its interval, and the test.

    See Also
    --------
    roc : The curve of one score.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), see `roc`.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [3, 1, 6, 2, 4, 8, 5, 7])
    >>> found.auc_a, found.auc_b, round(found.p_value, 3)
    (0.9375, 0.875, 0.712)
    """
    labels = label_column("y", y)
    a, b = score_column("score_a", score_a), score_column("score_b", score_b)
    same_length(y=labels, score_a=a, score_b=b)
    design = SamplingDesign.read(sample_weight, groups, len(labels))
    names = label_array(ordered(encoded(labels)[0]))
    is_positive = codes_among("y", labels, names) == code_of_large_scores(positive, names)
    (curve_a, of_a), (curve_b, of_b) = (curve_by_rows(is_positive, s, design) for s in (a, b))
    influence = of_a[0] - of_b[0]
    variance, rows = design.variance(influence), design.rows_behind(influence)
    error = math.sqrt(variance) if variance >= 0 else math.nan
    method = f"DeLong, correlated{design.words}"
    return AucComparison(curve_a.auc, curve_b.auc, curve_a.auc - curve_b.auc, error, design.degrees, rows, method)
