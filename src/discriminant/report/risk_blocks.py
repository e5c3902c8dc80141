"""Blocks on predicted risks, which several reports have: calibration, decision curves and groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ..evaluation.by_group import GroupMeasures
from ..evaluation.decision_curve import DecisionCurve
from ..evaluation.intervals import RANGE_MARK, RANGE_NOTE
from ..evaluation.smooth_calibration import CalibrationCurve
from ..results import count, decimal, metric_name, p_value
from .page import Block, Blocks, drawing, table_block

#: Measures of the table of groups.
GROUP_MEASURES: Final = ("auc", "brier", "calibration_slope", "rps", "somers_d", "accuracy")


def with_ends(value: float, low: float, high: float, is_range: bool) -> str:
    """A measure with the ends of its interval."""
    ends = "" if math.isnan(low) else f" ({decimal(low, 3)} to {decimal(high, 3)}{RANGE_MARK * is_range})"
    return f"{decimal(value, 3)}{ends}"


def calibration_blocks(curves: Mapping[str, CalibrationCurve], words: str, place: str = "plot-calibration") -> Blocks:
    """Smooth calibration curves by name; ``place`` is the address of the figure."""
    from ..figures import smooth_calibration

    return [Block("words", words), drawing(place, smooth_calibration, curves)]


def decision_blocks(found: DecisionCurve, words: str) -> Blocks:
    """The net benefit of one or several models."""
    from ..figures import decision_curve

    return [Block("words", words), drawing("plot-decision", decision_curve, found)]


def group_blocks(found: GroupMeasures, value: str) -> Blocks:
    """Measures by group; ``value`` is the heading of their column."""
    from ..figures import group_measures

    known = {name for name, _ in found.measures}
    shown = [name for name in GROUP_MEASURES if name in known]
    chosen = [row for name in shown for row in found.of(name)]
    rows = [
        [
            metric_name(row.measure),
            str(row.group),
            count(row.n_rows),
            with_ends(row.value, row.low, row.high, row.is_range),
            with_ends(row.difference, row.difference_low, row.difference_high, row.is_range),
            p_value(row.p_adjusted, 3),
        ]
        for row in chosen
    ]
    head = ["Measure", found.by, "Rows", value, "Difference from the rest", "p (Holm)"]
    return [
        table_block("Measures by group", head, rows, text_columns=(0, 1)),
        drawing("plot-groups", group_measures, found, shown),
        *(Block("remark", f"{note}.") for note in found.notes),
        *([Block("remark", RANGE_NOTE)] if any(row.is_range for row in chosen) else []),
    ]
