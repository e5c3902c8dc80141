"""From what was counted and summed to measures with intervals: the same for rows in memory and for streams."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .calibration import CalibrationBins, CalibrationLine
from .counts import ConfusionMatrix
from .curves import PrecisionRecall, Roc
from .intervals import Interval
from .many import PrecisionRecalls, Rocs
from .measures import AVERAGES, SHARES, class_intervals, other_intervals, share_interval
from .report import Estimate, Evaluation, estimate
from .sampling import TableSample
from .selective import RiskCoverage

Array = np.ndarray[Any, Any]

_CLASS_RATES = ("recall", "precision", "f1", "specificity", "fnr", "fpr", "npv")
_OTHERS = ("balanced accuracy", "kappa", "mcc")


@dataclass
class Evidence:
    """What is known about some predictions."""

    classes: Array
    n_rows: int
    total_weight: float
    confusion: ConfusionMatrix | None = None
    table: TableSample | None = None
    means: dict[str, tuple[float, Interval]] = field(default_factory=dict)
    roc: Roc | Rocs | None = None
    precision_recall: PrecisionRecall | PrecisionRecalls | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    notes: list[str] = field(default_factory=list)

    def evaluation(self, level: float, random_state: Any) -> Evaluation:
        """All measures with their intervals."""
        estimates: list[Estimate] = []
        if self.confusion is not None and self.table is not None:
            estimates += _table_estimates(self.confusion, self.table, level, random_state)
        estimates += [estimate(name, "overall", *self._bounded(name)) for name in self.means]
        estimates += _curve_estimates(self.roc, self.precision_recall, level)
        notes = self.notes + [f"{row.note}." for row in estimates if row.note and row.of in ("macro", "overall")]
        return Evaluation(
            self.classes,
            self.n_rows,
            self.total_weight,
            level,
            estimates,
            self.confusion,
            self.roc,
            self.precision_recall,
            self.calibration,
            self.calibration_line,
            self.risk_coverage,
            list(dict.fromkeys(notes)),
        )

    def _bounded(self, name: str) -> tuple[float, Interval]:
        """A mean over rows with its interval, cut off where the measure ends; costs may be gains."""
        value, interval = self.means[name]
        most = {"log-loss": math.inf, "brier": 1.0 if len(self.classes) == 2 else 2.0}.get(name)
        return (value, interval) if most is None else (value, interval.within(0.0, most))


def _table_estimates(confusion: ConfusionMatrix, table: TableSample, level: float, random_state: Any) -> list[Estimate]:
    wanted = [(metric, "overall") for metric in _OTHERS]
    wanted += [(metric, how) for metric in _CLASS_RATES for how in AVERAGES]
    intervals = dict(zip(wanted, other_intervals(table, wanted, level, random_state), strict=True))
    found = [_share_estimate(confusion, table, metric, level) for metric in _reported_shares(confusion)]
    for metric in _OTHERS:
        value = confusion.overall(metric)
        reason = confusion.undefined(metric).get("overall", "")
        found.append(estimate(metric, "overall", value, intervals[metric, "overall"], reason))
    for metric in _CLASS_RATES:
        found += _class_estimates(confusion, table, metric, level)
        found += [_average_estimate(confusion, metric, how, intervals[metric, how]) for how in AVERAGES]
    return found


def _reported_shares(confusion: ConfusionMatrix) -> list[str]:
    """Coverage is of interest only where something else than a class can be predicted."""
    abstains = len(confusion.predictions) > len(confusion.classes)
    return [metric for metric in SHARES if abstains or metric in ("accuracy", "error rate")]


def _share_estimate(confusion: ConfusionMatrix, table: TableSample, metric: str, level: float) -> Estimate:
    reason = confusion.undefined(metric).get("overall", "")
    return estimate(metric, "overall", confusion.overall(metric), share_interval(table, metric, level), reason)


def _class_estimates(confusion: ConfusionMatrix, table: TableSample, metric: str, level: float) -> list[Estimate]:
    reasons = confusion.undefined(metric)
    intervals = class_intervals(table, metric, level)
    return [
        estimate(metric, label, float(value), interval, reasons.get(label, ""))
        for label, value, interval in zip(confusion.classes.tolist(), confusion.rate(metric), intervals, strict=True)
    ]


def _average_estimate(confusion: ConfusionMatrix, metric: str, how: Any, interval: Interval) -> Estimate:
    value = confusion.average(metric, how)
    reasons = list(confusion.undefined(metric).values())
    note = "; ".join(reasons[:3]) + (f" and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    return estimate(metric, how, value, interval, f"{how} {metric} is undefined: {note}" if np.isnan(value) else "")


def _curve_estimates(
    roc: Roc | Rocs | None, precision_recall: PrecisionRecall | PrecisionRecalls | None, level: float
) -> list[Estimate]:
    found = [] if roc is None else [estimate("auc", *row) for row in roc.measured(level)]
    if precision_recall is not None:
        found += [estimate("average precision", *row) for row in precision_recall.measured(level)]
    return found
