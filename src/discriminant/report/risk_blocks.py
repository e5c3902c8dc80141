"""Blocks on predicted risks, which several reports have: calibration, decision curves and groups.

The sections on the held-out predictions of compared models consist of these blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import DiscriminantError
from ..evaluation.by_group import GroupMeasures
from ..evaluation.decision_curve import DecisionCurve, decision_curve
from ..evaluation.intervals import RANGE_MARK, RANGE_NOTE
from ..evaluation.recalibration import CalibrationCurve, calibration_curve
from ..results import count, decimal, metric_name, p_value, plain
from ..validation.cross_validation import BASELINE
from .page import Block, Blocks, drawing, quoted, table_block

if TYPE_CHECKING:
    from .table_report import TableReport


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


#: Models in the figure of decision curves, and classes in that of calibration curves.
MAX_CURVES: Final = 5


def smooth_calibration_blocks(data: TableReport) -> Blocks:
    """Smooth calibration curves of the model: of the positive class, or of each of several classes."""
    posterior = _posterior(data, data.winner)
    if posterior is None:
        return []
    assert data.comparison is not None
    found, curves = data.comparison.cross_validation, dict[str, CalibrationCurve]()
    positive = data.evaluation.positive
    for k, label in enumerate(map(plain, found.classes)):
        if (positive is None or label == positive) and len(curves) < MAX_CURVES:
            try:
                shared: dict[str, Any] = {"sample_weight": found.weights, "groups": found.groups}
                curves[str(label)] = calibration_curve(found.truth == k, posterior[:, k], **shared)
            except DiscriminantError:  # predictions that are equal, or separate the classes
                continue
    if not curves:
        return []
    lines = [f"{quoted(label)}: {str(curve).partition(': ')[2]}." for label, curve in curves.items()]
    words = f"Smooth calibration of {data.evaluated_on}. {' '.join(lines)}"
    return calibration_blocks(curves, words, "plot-smooth-calibration")


def decision_section(data: TableReport) -> dict[str, Any]:
    """The section on the net benefit of the compared models; of two classes."""
    found = _decision_curve(data)
    if found is None:
        return {"skipped": "Decision curves need held-out probabilities of two classes."}
    lead = f"Net benefit of predicting {quoted(data.evaluation.positive)}, from {data.evaluated_on}."
    return {"blocks": decision_blocks(found, lead)}


def groups_section(data: TableReport) -> dict[str, Any]:
    """The section on measures by group."""
    if data.by_group is None:
        return {"skipped": "No column of groups was given."}
    return {"blocks": group_blocks(data.by_group, "Value")}


def _decision_curve(data: TableReport) -> DecisionCurve | None:
    positive = data.evaluation.positive
    if data.comparison is None or data.given_evaluation is not None or positive is None:
        return None
    found = data.comparison.cross_validation
    classes = [plain(label) for label in found.classes]
    if len(classes) != 2:
        return None
    k, models = classes.index(positive), dict[str, Array]()
    for name in (data.winner, *data.comparison.ranking):
        posterior = None if name == BASELINE else _posterior(data, name)
        if posterior is not None and len(models) < MAX_CURVES:
            models[name] = posterior[:, k]
    if not models:
        return None
    shared: dict[str, Any] = {"sample_weight": found.weights, "groups": found.groups}
    try:
        return decision_curve(found.truth == k, models, costs=_decision_costs(data, k), **shared)
    except DiscriminantError:  # costs of wrong decisions that are below those of correct ones
        return None


def _decision_costs(data: TableReport, k: int) -> Array | None:
    """The costs of the two classes as decisions, the positive one second; None if there are other decisions."""
    if data.costs is None or list(data.costs.actions) != data.costs.classes:
        return None
    order = [1 - k, k]
    return np.asarray(data.costs.values)[np.ix_(order, order)]


def _posterior(data: TableReport, name: str) -> Array | None:
    """The held-out probabilities of a model, of the first repeat."""
    if data.comparison is None or data.given_evaluation is not None:
        return None
    kept = data.comparison.cross_validation.out_of_fold.get(name)
    if kept is None or kept.posterior is None or not np.isfinite(kept.posterior[0]).all():
        return None
    return np.asarray(kept.posterior[0])
