"""Which of two scores tells the classes apart better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtr

from ..data import check_weights
from .coding import as_labels, coded, codes_among, label_column, ordered, same_length
from .curves import row_influences, row_variance
from .intervals import Interval, check_level, normal_interval
from .many import check_scores, positive_code
from .ranked import auc, rank_rows
from .sampling import Clusters, read_clusters

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class AucComparison:
    """Two AUCs of the same rows and their difference, first minus second."""

    auc_a: float
    auc_b: float
    difference: float
    standard_error: float
    interval: Interval
    z: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"AUC {self.auc_a:.4f} against {self.auc_b:.4f}: difference {self.difference:.4f} ({self.interval}), "
            f"z = {self.z:.3f}, p = {self.p_value:.4g}"
        )


def compare_auc(
    y: Any,
    score_a: Any,
    score_b: Any,
    positive: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    level: float = 0.95,
) -> AucComparison:
    """The difference of the AUCs of two scores of the same rows, with DeLong's interval and test.

    The test is of equal AUCs, two-sided; it takes into account that both scores saw the same rows.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [3, 1, 6, 2, 4, 8, 5, 7])
    >>> found.auc_a, found.auc_b, round(found.p_value, 3)
    (0.9375, 0.875, 0.712)
    """
    check_level(level)
    labels = label_column("y", y)
    a, b = check_scores(score_a, "score_a", 1), check_scores(score_b, "score_b", 1)
    same_length(y=labels, score_a=a, score_b=b)
    weight, clusters = check_weights(sample_weight, len(labels)), read_clusters(groups, len(labels))
    names = as_labels(ordered(coded(labels)[0]))
    is_positive = codes_among("y", labels, names) == positive_code(positive, names)
    values, influences = zip(*(_auc_by_row(is_positive, s, weight, clusters) for s in (a, b)), strict=True)
    difference = values[0] - values[1]
    variance = row_variance(influences[0] - influences[1], weight, clusters)
    return _compared(values[0], values[1], difference, variance, clusters, level)


def _auc_by_row(
    is_positive: Array, scores: Array, weight: Array | None, clusters: Clusters | None
) -> tuple[float, Array]:
    ranked, place = rank_rows(is_positive, scores, weight)
    return auc(ranked), row_influences(ranked, is_positive, place, clusters)[0]


def _compared(
    a: float, b: float, difference: float, variance: float, clusters: Clusters | None, level: float
) -> AucComparison:
    degrees, words = (math.inf, "") if clusters is None else (clusters.degrees, f", {clusters.words}")
    interval = normal_interval(difference, variance, level, f"DeLong, correlated{words}", degrees)
    error = math.sqrt(variance) if variance >= 0 else math.nan
    if error > 0:
        z = difference / error
        # The test has the degrees of freedom of the interval, so that the two cannot contradict each other.
        tail = ndtr(-abs(z)) if clusters is None else stdtr(degrees, -abs(z))
        return AucComparison(a, b, difference, error, interval, z, float(2 * tail))
    same = difference == 0  # scores in the same order cannot differ; any other difference without spread is not tested
    return AucComparison(a, b, difference, error, interval, 0.0 if same else math.nan, 1.0 if same else math.nan)
