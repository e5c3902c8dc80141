"""The evaluation of predictions: every measure with its interval, curves and calibration."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ..arrays import Array, RandomState
from ..errors import ParameterError
from ..results import (
    WIDTH,
    Result,
    aligned,
    columns_of,
    decimal,
    jsonable,
    metric_name,
    percent,
    plain,
    shortened,
    shown,
    unbroken,
)
from .calibration import CalibrationBins, mean_calibration_error
from .class_curves import Curves
from .confusion import ConfusionMatrix
from .intervals import Estimate, Interval
from .probabilities import RiskCoverage
from .rates import AVERAGES, OVERALL, class_intervals, other_intervals, share_interval
from .recalibration import CalibrationLine
from .table_sample import TableSample

Means = dict[str, tuple[float, Interval]]
_RANGE_NOTE: Final = "range, below in parentheses: not a confidence interval; its coverage is unknown"

_CLASS_RATES = ("recall", "precision", "f1", "specificity", "fnr", "fpr", "npv")
#: Columns of the table of measures.
_COLUMNS = ("metric", "of", "value", "low", "high", "method", "note")
#: Rates of a class that the printed table shows; all of them are in `to_frame`.
_SHOWN = ("recall", "precision", "f1", "auc")
_MAX_CLASSES = 30


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The performance of predictions. Returned by `evaluate`, `evaluation_of` and `Evaluator.result`.

    Attributes
    ----------
    classes : array of shape (K,)
        In sorted order.
    n_rows, total_weight : int, float
        Rows, and the sum of their weights.
    level : float
        Of all intervals.
    estimates : list of Estimate
        Every measure with its interval. ``evaluation["kappa"]`` and ``evaluation["recall", "setosa"]`` return one;
        without a class it is the overall measure, else that of the positive class, else the macro average.
    positive : label or None
        The positive class of curves, average precision, calibration error and thresholds. None for more than two
        classes without a given one; curves are then those of each class against the rest.
    confusion : ConfusionMatrix or None
        None if only scores were given.
    roc : ThresholdCurve, ClassCurves or None
        One curve, if there is a positive class; else one for each class.
    calibration : dict of CalibrationBins
        For each class; empty without probabilities.
    calibration_line : CalibrationLine or None
        Intercept and slope of observed on predicted log-odds of the positive class.
    risk_coverage : RiskCoverage or None
        None without probabilities.
    cheapest : pair of an action and a float, or None
        With costs, the action with the lowest mean cost if it is used for all rows, and that cost.
    is_decided_by_costs : bool
        Whether the predictions are decisions of minimum expected cost, made from probabilities.
    notes : list of str
        Notes on the measures, such as reasons why some are not available.

    See Also
    --------
    evaluate : Makes it.
    """

    classes: Array
    n_rows: int
    total_weight: float
    level: float
    estimates: list[Estimate] = field(default_factory=list)
    positive: Any = None
    confusion: ConfusionMatrix | None = None
    roc: Curves | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    cheapest: tuple[Any, float] | None = None
    is_decided_by_costs: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def precision_recall(self) -> Curves | None:
        """The same curves as ``roc``: they have precision and recall as well."""
        return self.roc

    def with_estimates(
        self,
        means: Means | None = None,
        sample: TableSample | None = None,
        clustered: tuple[float, float, str] = (1.0, math.inf, ""),
        random_state: RandomState = 0,
    ) -> Evaluation:
        """This evaluation with all available measures.

        Parameters
        ----------
        means : dict of pairs, optional
            Means over rows, such as the log-loss, with their intervals.
        sample : TableSample, optional
            The counts as a sample. Default: the counts of ``confusion``, for independent rows.
        clustered : tuple, default=(1.0, inf, "")
            Independent rows per row, the degrees of freedom of this ratio, and its description.
        random_state : int or Generator, default=0
            Of the bootstrap.

        Returns
        -------
        Evaluation
            With estimates, and notes on undefined ones.
        """
        estimates: list[Estimate] = []
        if self.confusion is not None:
            table = sample or TableSample(self.confusion.counts)
            estimates += _table_estimates(self.confusion, table, self.level, random_state)
        ends = {"log_loss": (0.0, math.inf), "brier": (0.0, 1.0 if len(self.classes) == 2 else 2.0), "rps": (0.0, 1.0)}
        ends["mean_absolute_error"] = (0.0, float(len(self.classes) - 1))
        for metric, (value, interval) in (means or {}).items():
            interval = interval.within(*ends[metric]) if metric in ends else interval  # costs may be negative
            estimates.append(Estimate.by_interval(metric, "overall", value, interval))
        estimates += [] if self.roc is None else self.roc.estimates(self.level)
        if self.calibration:
            estimates += _calibration_estimates(self.calibration, self.positive, self.level, *clustered)
        reasons = [f"{row.note}." for row in estimates if row.note and row.of in ("macro", "overall")]
        return replace(self, estimates=estimates, notes=list(dict.fromkeys([*self.notes, *reasons])))

    def _found(self, key: str | tuple[str, Hashable]) -> Estimate | None:
        metric, of = key if isinstance(key, tuple) else (key, None)
        found = {row.of: row for row in self.estimates if row.metric == metric}
        if of is None and found:
            of = next((scope for scope in ("overall", self.positive, "macro") if scope in found), next(iter(found)))
        return found.get(plain(of))

    def __contains__(self, key: str | tuple[str, Hashable]) -> bool:
        return self._found(key) is not None

    def __getitem__(self, key: str | tuple[str, Hashable]) -> Estimate:
        found = self._found(key)
        if found is not None:
            return found
        metric, of = key if isinstance(key, tuple) else (key, None)
        there = [row.of for row in self.estimates if row.metric == metric]
        if there:
            raise ParameterError(f"{metric} is not reported for {of!r}. Use one of {there[:10]}.")
        known = list(dict.fromkeys(row.metric for row in self.estimates))
        raise ParameterError(
            f"{metric!r} is not part of this evaluation. Expected one of: {', '.join(known)}. {' '.join(self.notes)}"
        )

    def of(self, of: Hashable | None) -> list[Estimate]:
        """All measures of one class, or of "overall", "macro", "micro" or "weighted".

        Parameters
        ----------
        of : label or str
            Which.

        Returns
        -------
        list of Estimate
            Empty if there are none.
        """
        return [found for found in self.estimates if found.of == plain(of)]

    @property
    def headline(self) -> str:
        """Accuracy and share of the majority class, the class of low recall, and costs, as text."""
        if self.confusion is None:
            return ""
        label, share = self.confusion.most_frequent
        accuracy, hidden = self["accuracy"], self.confusion.hidden_class
        no_better = ", at least as accurate" if accuracy.value <= share else ""
        parts = [f"Accuracy: {_in_percent(accuracy)}; majority class {shown(label)}: {percent(share)}{no_better}."]
        if hidden is not None:
            recall, balanced = _in_percent(self["recall", hidden]), percent(self["balanced_accuracy"].value)
            parts.append(f"Recall of {shown(hidden)}: {recall}; balanced accuracy: {balanced}.")
        if self.cheapest is not None and "cost" in self:
            answer, cost = self.cheapest
            parts.append(f"Mean cost per row: {self['cost'].value:.4g}; always predicting {shown(answer)}: {cost:.4g}.")
        return " ".join(parts)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.estimates, _COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Measures, confusion matrix, calibration and notes as plain values for JSON; NaN as None.

        Returns
        -------
        dict
            Calibration in ten bins of equal numbers of rows.
        """
        return {
            "classes": self.classes.tolist(),
            "positive": jsonable(self.positive),
            "rows": self.n_rows,
            "total_weight": self.total_weight,
            "level": self.level,
            "headline": self.headline,
            "estimates": [{name: jsonable(getattr(row, name)) for name in _COLUMNS} for row in self.estimates],
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
            "calibration": {str(label): bins.rebinned(10).to_dict() for label, bins in self.calibration.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        weight = "" if self.total_weight == self.n_rows else f" of total weight {self.total_weight:,.6g}"
        rows = f"{self.n_rows:,} rows{weight}, {len(self.classes)} classes"
        head = f"Evaluation: {rows}; {100 * self.level:g} % confidence intervals"
        summary = [line.replace("\xa0", " ") for line in textwrap.wrap(unbroken(self.headline), WIDTH)]
        of_classes = self._grid("class", self.classes.tolist()[:_MAX_CLASSES], shown)
        if len(self.classes) > _MAX_CLASSES:
            of_classes.append(f"... and {len(self.classes) - _MAX_CLASSES} more classes, see to_frame()")
        named = [] if self.positive is None else [f"positive class: {shown(self.positive)}"]
        blocks = [[head, "=" * len(head), *named], summary, self._overall_lines(), of_classes]
        blocks.append(self._grid("average", list(AVERAGES), str))
        blocks += [[str(part)] for part in (self.confusion, self.risk_coverage) if part is not None]
        wrapped = [textwrap.wrap(f"note: {note}", WIDTH, subsequent_indent="      ") for note in self.notes]
        blocks.append([line for lines in wrapped for line in lines])
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def _overall_lines(self) -> list[str]:
        rows, methods = [["measure", "value", "low", "high"]], ["interval method"]
        areas = [self[metric] for metric in ("auc", "average_precision", "ece") if metric in self]
        for found in [*self.of("overall"), *areas]:
            name = metric_name(found.metric)
            name += "" if found.of == "overall" else f" ({shortened(found.of, 14)})"
            rows.append([name, *map(decimal, (found.value, found.low, found.high))])
            methods.append(found.method)
        lines = [shortened(f"{line}  {method}", WIDTH) for line, method in zip(aligned(rows), methods, strict=True)]
        return lines + ([_RANGE_NOTE] if any(found.is_range for found in self.estimates) else [])

    def _grid(self, title: str, scopes: Sequence[Hashable], called: Callable[[Hashable], str]) -> list[str]:
        """A line for each scope, a column for each shown measure, with its interval in brackets."""
        by_key = {(found.metric, found.of): found for found in self.estimates}
        metrics = [metric for metric in _SHOWN if any((metric, scope) in by_key for scope in scopes)]
        if not metrics:
            return []
        rows = [[title, *map(metric_name, metrics)]]
        for scope in scopes:
            rows.append([shortened(called(scope), 14)])
            for found in (by_key.get((metric, scope)) for metric in metrics):
                interval = "" if found is None or math.isnan(found.low) else f" [{found.low:.3f}, {found.high:.3f}]"
                if found is not None and found.is_range:
                    interval = interval.replace("[", "(").replace("]", ")")
                rows[-1].append(decimal(None if found is None else found.value, 3) + interval)
        return aligned(rows)


def _in_percent(found: Estimate) -> str:
    ends = "" if math.isnan(found.low) else f" ({100 * found.low:.1f} to {percent(found.high)})"
    return f"{percent(found.value)}{ends}"


def _calibration_estimates(
    calibration: dict[Hashable, CalibrationBins], positive: Hashable | None, level: float, *clustered: Any
) -> list[Estimate]:
    """The calibration error in ten bins of equal numbers of rows: of the positive class, else of each class and their
    mean.
    """
    bins = {label: own.rebinned(10) for label, own in calibration.items() if positive is None or label == positive}
    wanted: dict[Any, list[CalibrationBins]] = {"macro": list(bins.values())} if len(bins) > 2 else {}
    wanted |= {label: [own] for label, own in bins.items()}
    return [
        Estimate.by_interval("ece", of, *mean_calibration_error(own, level, *clustered)) for of, own in wanted.items()
    ]


def _table_estimates(
    confusion: ConfusionMatrix, table: TableSample, level: float, random_state: RandomState
) -> list[Estimate]:
    """The measures of the whole matrix, then those of each class and their averages."""
    abstains = len(confusion.predictions) > len(confusion.classes)
    # Coverage is of interest only if abstentions are possible.
    overall = [name for name in OVERALL if abstains or name not in ("coverage", "selective_accuracy")]
    wanted = [(metric, "overall") for metric in overall if OVERALL[metric].base is None]
    wanted += [(metric, how) for metric in _CLASS_RATES for how in AVERAGES]
    intervals = dict(zip(wanted, other_intervals(table, wanted, level, random_state), strict=True))
    found = []
    for metric in overall:
        interval = intervals.get((metric, "overall")) or share_interval(table, metric, level)
        reason = confusion.undefined(metric).get("overall", "")
        found.append(Estimate.by_interval(metric, "overall", confusion.overall(metric), interval, reason))
    for metric in _CLASS_RATES:
        reasons, own = confusion.undefined(metric), class_intervals(table, metric, level)
        for label, value, interval in zip(confusion.classes.tolist(), confusion.rate(metric), own, strict=True):
            found.append(Estimate.by_interval(metric, label, float(value), interval, reasons.get(label, "")))
        for how in AVERAGES:
            value, note = confusion.average(metric, how), ""
            if np.isnan(value):
                more = f" and {len(reasons) - 3} more" if len(reasons) > 3 else ""
                note = f"{how} {metric_name(metric)} is undefined: {'; '.join(list(reasons.values())[:3])}{more}"
            found.append(Estimate.by_interval(metric, how, value, intervals[metric, how], note))
    return found
