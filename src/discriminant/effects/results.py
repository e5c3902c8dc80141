"""What the verbs return: a table of estimates with standard errors, tests and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from scipy.special import ndtr, ndtri

from ..results import Result, aligned, columns_of, number, p_value, visible

#: Kinds of estimates whose interval is computed on a log scale; 1 is their value without an effect.
RATIOS: Final = ("ratio", "odds_ratio")


@dataclass(frozen=True)
class EffectEstimate:
    """One averaged prediction, comparison or slope.

    Attributes
    ----------
    outcome : label
        The class whose probability it is about.
    term : str
        The column that is compared or differentiated; empty for predictions.
    contrast : str
        The two values that are compared, "dP/dx" for slopes; for predictions the values that columns are set to.
    group : label or None
        The group of rows that is averaged over; None for all rows.
    estimate, std_error : float
        The estimate; its standard error by the delta method or from resamples, NaN where the model has none. Standard
        errors of ratios are those of their logarithm.
    z, p_value : float
        Wald's test of no effect: a difference or slope of 0, a ratio of 1. NaN for predictions.
    low, high : float
        Ends of the interval.
    at : dict
        The values that columns were set to.
    """

    outcome: Any
    term: str
    contrast: str
    group: Any
    estimate: float
    std_error: float
    z: float
    p_value: float
    low: float
    high: float
    at: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Effects(Result):
    """Averaged predictions, comparisons or slopes.

    Attributes
    ----------
    kind : {"prediction", "difference", "ratio", "odds_ratio", "slope"}
        What is estimated.
    level : float
        Confidence of the intervals.
    rows : list of EffectEstimate
        A row for each term, contrast, group and class.
    notes : list of str
        How standard errors were computed, and what limits them.

    See Also
    --------
    predictions : Averages of predicted probabilities.
    """

    kind: str
    level: float
    rows: list[EffectEstimate]
    notes: list[str] = field(default_factory=list)

    def _columns(self) -> Mapping[str, Any]:
        return columns_of(self.rows, [name for name in EffectEstimate.__dataclass_fields__ if name != "at"])

    def __str__(self) -> str:
        names = ["outcome", "term", "contrast", "group"]
        shown = [name for name in names if any(getattr(row, name) not in (None, "") for row in self.rows)]
        tested = self.kind != "prediction"
        head = [*shown, self.kind.replace("_", " "), "std. error", *(["z", "p"] if tested else [])]
        table = [[*head, f"[{100 * self.level:g} %", "interval]"]]
        for row in self.rows:
            tests = [number(row.z, 3), p_value(row.p_value)] if tested else []
            texts = [visible("" if getattr(row, name) is None else getattr(row, name)) for name in shown]
            numbers = [number(row.estimate), number(row.std_error)]
            table.append([*texts, *numbers, *tests, number(row.low), number(row.high)])
        return "\n".join([*aligned(table, left=len(shown)), *(f"note: {note}" for note in self.notes)])


def estimate_of(
    kind: str,
    value: float,
    error: float,
    level: float,
    labels: Mapping[str, Any],
    limits: tuple[float, float] | None = None,
) -> EffectEstimate:
    """One row of the table; ``value``, ``error`` and ``limits`` of ratios are on the log scale."""
    half_width = float(ndtri(0.5 + level / 2)) * error
    z = value / error if kind != "prediction" and error > 0 else math.nan
    low, high = (value - half_width, value + half_width) if limits is None else limits
    if kind in RATIOS:
        value, low, high = np.exp((value, low, high))
    elif kind == "prediction":
        low, high = np.clip((low, high), 0.0, 1.0)
    p = float(2 * ndtr(-abs(z)))
    own = labels["outcome"], labels["term"], labels["contrast"], labels["group"]
    return EffectEstimate(*own, float(value), error, float(z), p, float(low), float(high), labels["at"])
