"""The result of an evaluation: every measure with its interval, and the curves and tables behind them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..results import plain, shown
from .calibration import CalibrationBins, CalibrationLine
from .counts import ConfusionMatrix
from .curves import PrecisionRecall, Roc
from .frames import frame_of
from .intervals import Interval
from .layout import WIDTH, aligned, name
from .many import PrecisionRecalls, Rocs
from .selective import RiskCoverage

Array = np.ndarray[Any, Any]

#: Rates of a class that the printed table shows; all of them are in `to_frame`.
_SHOWN = ("recall", "precision", "f1", "auc")
_MOST_CLASSES = 30


@dataclass(frozen=True)
class Estimate:
    """One measure: what it is of, its value, its interval and how that was made.

    Attributes
    ----------
    metric : str
    of : label or str
        A class, or "overall", "macro", "micro" or "weighted".
    value : float
        NaN where it is undefined; ``note`` says why.
    low, high : float
        The confidence interval.
    method : str
        How the interval was made, or why there is none.
    note : str
    """

    metric: str
    of: Any
    value: float
    low: float
    high: float
    method: str
    note: str = ""

    def __str__(self) -> str:
        of = "" if self.of == "overall" else f" of {shown(self.of)}"
        if math.isnan(self.value):
            return f"{self.metric}{of}: undefined ({self.note})"
        return f"{self.metric}{of}: {self.value:.4f} ({self.low:.4f} to {self.high:.4f}, {self.method})"


def estimate(metric: str, of: Any, value: float, interval: Interval, note: str = "") -> Estimate:
    """A measure with its interval; where it is undefined the interval says so too."""
    if math.isnan(value):
        return Estimate(metric, of, value, math.nan, math.nan, f"not available: {note or 'undefined'}", note)
    return Estimate(metric, of, value, interval.low, interval.high, interval.method, note)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How good predictions are. Made by `evaluate`, `evaluation_of` and `Evaluator.result`.

    Attributes
    ----------
    estimates : list of Estimate
        Every measure with its interval. ``evaluation["kappa"]`` and ``evaluation["recall", "setosa"]`` find one; a
        measure named by itself is that of the whole, or the macro average.
    confusion : ConfusionMatrix or None
    roc, precision_recall : curves, or None
        One curve for two classes; one for each class, found by its label, for more.
    calibration : dict of CalibrationBins
        For each class; empty without probabilities.
    calibration_line : CalibrationLine or None
        For two classes: intercept and slope of observed on predicted log-odds.
    risk_coverage : RiskCoverage or None
    notes : list of str
        What to know when reading the numbers, such as measures that are not available and why.
    """

    classes: Array
    n_rows: int
    total_weight: float
    level: float
    estimates: list[Estimate]
    confusion: ConfusionMatrix | None = None
    roc: Roc | Rocs | None = None
    precision_recall: PrecisionRecall | PrecisionRecalls | None = None
    calibration: dict[Any, CalibrationBins] = field(default_factory=dict)
    calibration_line: CalibrationLine | None = None
    risk_coverage: RiskCoverage | None = None
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, key: Any) -> Estimate:
        metric, of = key if isinstance(key, tuple) else (key, None)
        found = {row.of: row for row in self.estimates if row.metric == metric}
        there = list(found)
        if of is None and there:
            # A measure named by itself is that of the whole; a curve of two classes is of one of them.
            of = next((scope for scope in ("overall", "macro") if scope in found), there[0])
        if plain(of) in found:
            return found[plain(of)]
        if there:
            raise ParameterError(f"{metric} is not reported of {of!r}, only of {there[:10]}.")
        known = list(dict.fromkeys(found.metric for found in self.estimates))
        raise ParameterError(f"{metric!r} is not reported here. Reported: {', '.join(known)}. {' '.join(self.notes)}")

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except ParameterError:
            return False
        return True

    def of(self, of: Any) -> list[Estimate]:
        """All measures of one class, or of "overall", "macro", "micro" or "weighted"."""
        return [found for found in self.estimates if found.of == plain(of)]

    def to_frame(self) -> Any:
        """The measures as a pandas frame, one row for each, or a dict of columns without pandas."""
        names = list(Estimate.__dataclass_fields__)
        return frame_of({column: [getattr(row, column) for row in self.estimates] for column in names})

    def to_dict(self) -> dict[str, Any]:
        """Measures, confusion matrix, calibration and notes as plain values for JSON; NaN as None."""
        coarse = {str(label): bins.rebinned(10).to_dict() for label, bins in self.calibration.items()}
        return {
            "classes": self.classes.tolist(),
            "rows": self.n_rows,
            "total_weight": self.total_weight,
            "level": self.level,
            "estimates": [_plain_values(row) for row in self.estimates],
            "confusion": None if self.confusion is None else self.confusion.to_dict(),
            "calibration": coarse,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        weight = "" if self.total_weight == self.n_rows else f" of total weight {self.total_weight:,.6g}"
        rows = f"{self.n_rows:,} rows{weight}, {len(self.classes)} classes"
        head = f"evaluation on {rows}; {100 * self.level:g} % intervals"
        blocks = [[head, "=" * len(head)], self._overall_lines(), self._class_lines(), self._average_lines()]
        if self.confusion is not None:
            blocks.append(str(self.confusion).splitlines())
        if self.risk_coverage is not None:
            blocks.append([repr(self.risk_coverage)])
        blocks.append(_wrapped([f"note: {note}" for note in self.notes]))
        return "\n\n".join("\n".join(block) for block in blocks if block)

    __repr__ = __str__

    def _overall_lines(self) -> list[str]:
        rows = [["measure", "value", "low", "high", "interval by"]]
        for found in [*self.of("overall"), *self._areas()]:
            words = found.metric if found.of == "overall" else f"{found.metric} ({name(found.of, 14)})"
            rows.append([words, *map(_decimal, (found.value, found.low, found.high)), found.method])
        lines = aligned([row[:4] for row in rows])
        return [_cut(f"{line}  {row[4]}") for line, row in zip(lines, rows, strict=True)]

    def _areas(self) -> list[Estimate]:
        return [self[metric] for metric in ("auc", "average precision") if metric in self]

    def _class_lines(self) -> list[str]:
        return self._grid("class", self.classes.tolist()[:_MOST_CLASSES], shown) + self._left_out()

    def _left_out(self) -> list[str]:
        more = len(self.classes) - _MOST_CLASSES
        return [f"... and {more} more classes, see to_frame()"] if more > 0 else []

    def _average_lines(self) -> list[str]:
        return self._grid("average", ["macro", "micro", "weighted"], str)

    def _grid(self, title: str, scopes: list[Any], called: Callable[[Any], str]) -> list[str]:
        """A line for each scope, a column for each shown measure, with its interval in brackets."""
        by_key = {(found.metric, found.of): found for found in self.estimates}
        metrics = [metric for metric in _SHOWN if any((metric, scope) in by_key for scope in scopes)]
        if not metrics:
            return []
        rows = [[title, *metrics]]
        for scope in scopes:
            cells = [_bracketed(by_key.get((metric, scope))) for metric in metrics]
            rows.append([name(called(scope), 14), *cells])
        return aligned(rows)


def _decimal(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _bracketed(found: Estimate | None) -> str:
    if found is None or math.isnan(found.value):
        return "-"
    if math.isnan(found.low):
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _plain_values(row: Estimate) -> dict[str, Any]:
    values = {column: getattr(row, column) for column in Estimate.__dataclass_fields__}
    return {column: None if isinstance(v, float) and not math.isfinite(v) else v for column, v in values.items()}


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _wrapped(lines: list[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="      ")]
