"""The bias of choosing the best of several models by the measure that is reported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from ..results import Result, metric_name
from .held_out import Pooled, row_values

#: Bootstrap resamples, and the maximum number of groups of rows that are resampled: precision against time.
_N_RESAMPLES: Final = 1_000
_MAX_RESAMPLED_UNITS: Final = 2_000


def selection_bias(measures: Sequence[Pooled], more_is_better: bool, standard_error: float) -> float:
    """The optimism of the measure of the best of several models, which was chosen by this measure.

    The bootstrap bias correction of cross-validation (Tsamardinos, Greasidou & Borboudakis 2018), without new fits: a
    model is chosen on a bootstrap sample of rows and evaluated on the rows that are not in it. The estimate is the mean
    difference there between the model chosen by all rows and the one chosen by the sample. Rows of a cluster are drawn
    together. A measure that is not a mean of rows is linearised.

    The estimate is bounded by 0 and the expected maximum of as many independent measures with the standard error of the
    best one. Without the bound, one row with a huge loss under another model dominates: samples without this row choose
    the other model and evaluate it on this row.
    """
    rows, sign = measures[0].rows, 1.0 if more_is_better else -1.0
    if len(measures) < 2:
        return 0.0
    rng = np.random.default_rng(0)
    unit = np.unique(rows.row if rows.design.clusters is None else rows.design.clusters, return_inverse=True)[1]
    n = int(unit.max()) + 1
    if n > _MAX_RESAMPLED_UNITS:
        unit, n = rng.permutation(n)[unit] % _MAX_RESAMPLED_UNITS, _MAX_RESAMPLED_UNITS
    weights = rows.design.weights
    sizes = np.bincount(unit, weights)
    sums = sign * np.column_stack([np.bincount(unit, weights * row_values(measure)) for measure in measures])
    best, found = int(np.argmax(sums.sum(axis=0))), []
    for _ in range(_N_RESAMPLES):
        drawn = np.bincount(rng.integers(n, size=n), minlength=n)
        left = drawn == 0
        if sizes[left].any() and drawn @ sizes > 0:
            chosen = int(np.argmax(drawn @ sums))
            found.append((sums[left, best] - sums[left, chosen]).sum() / sizes[left].sum())
    most = expected_maximum(len(measures)) * standard_error
    return min(max(float(np.mean(found)), 0.0), most if math.isfinite(most) else math.inf) if found else 0.0


def expected_maximum(n: int) -> float:
    """The expected maximum of n independent standard normal variables (Blom 1958).

    >>> round(expected_maximum(2), 2), round(expected_maximum(10), 2)
    (0.59, 1.55)
    """
    return float(ndtri((n - 0.375) / (n + 0.25)))


@dataclass(frozen=True, repr=False)
class ChosenFigure(Result):
    """The measure of the best model as an estimate for new data, corrected for the selection of the model.

    Attributes
    ----------
    model, metric : str
        The model, and the metric by which it was chosen.
    n_models : int
        Number of models among which it was chosen.
    plain : float
        The uncorrected measure; it is the more optimistic, the more models and the fewer rows there are.
    value : float
        The bias-corrected measure; that of a single model is not corrected.
    low, high : float
        A range that includes the variance due to the training rows. It is not a confidence interval: it is designed to
        cover at least at the level, and covers in 93 % to 99 % of simulated samples. NaN for measures that are not
        means of rows (AUC, F1, balanced accuracy).
    level : float
        Of the range.
    """

    model: str
    metric: str
    n_models: int
    plain: float
    value: float
    low: float
    high: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """The figures, and a sentence with them."""
        return {**super().to_dict(), "sentence": str(self)}

    def __str__(self) -> str:
        ends = f"{in_units(self.metric, self.low, unit=False)} to {in_units(self.metric, self.high)}"
        details = [f"corrected for the choice among {self.n_models} models"] if self.n_models > 1 else []
        details += [] if math.isnan(self.low) else [f"range {ends}"]
        value = in_units(self.metric, self.value) + (f" ({', '.join(details)})" if details else "")
        return f"Expected {metric_name(self.metric)} of {self.model} on new data: {value}."


def in_units(metric: str, value: float, points: bool = False, unit: bool = True) -> str:
    """A measure as text: shares in percent, differences of shares in percentage points."""
    if metric not in ("accuracy", "error_rate", "balanced_accuracy", "f1"):
        return f"{value:.4f}"
    shown_value = round(100 * value, 1) + 0.0  # not -0.0
    return f"{shown_value:.1f}" + ((" points" if points else " %") if unit else "")
