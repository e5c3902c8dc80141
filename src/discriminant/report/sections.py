"""The sections of a table's report: what each of them shows, as its template reads it.

In the section of costs and thresholds one class stands against all others. A row is called positive where its score
reaches the threshold. Costs are in units of one false alarm: a false alarm costs 1, a miss costs ``ratio``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..data import as_rows
from ..estimators.coefficients import INTERCEPT, CoefficientTable, coefficient_table, reference_notes
from ..evaluation.curves import RankedScores, Roc, Rocs, expected_costs
from ..evaluation.evaluation import NO_PROBABILITIES, NO_SCORES
from ..inference.likelihood import Coefficient
from ..moments.covariance import collinearity_findings
from ..moments.statistic import column_moments
from ..results import Finding, count, exponential, metric_name, p_value, percent, plain
from ..tables.training import imbalance_findings
from ..validation.comparison import Comparison
from .page import SHARES, between, drawing, measured, quoted, short, signed, significant, versions
from .sentences import calibration_sentences

if TYPE_CHECKING:
    from .table_report import Costs, ReportData, TrainingRows


#: How a measure is called in the report, and what it says.
WORDS: dict[str, tuple[str, str]] = {
    "accuracy": ("Accuracy", "The share of rows that are given their own class."),
    "error_rate": ("Error rate", "The share of rows that are given another class than their own."),
    "balanced_accuracy": ("Balanced accuracy", "The mean recall of the classes: rare classes count as much as others."),
    "auc": (
        "AUC",
        "How often a row of the class scores above a row of another class; 0.5 is guessing, 1 is never wrong.",
    ),
    "log_loss": (
        "Log-loss",
        "How surprised the probabilities are by the truth, on average; 0 is best, and sure errors cost most.",
    ),
    "brier": ("Brier score", "The mean squared distance of the probabilities from what came true; 0 is best."),
    "cost": ("Cost", "What a row costs on average under the costs given; less is better."),
    "majority": ("Most frequent class", "How often always naming the most frequent class would be right."),
    "recall": ("Recall", "Of the rows of a class, the share that is recognised; also called sensitivity."),
    "precision": ("Precision", "Of the rows that are given a class, the share that truly is of it."),
    "f1": ("F1", "The harmonic mean of recall and precision: high only where both are."),
    "sensitivity": ("Sensitivity", "Of the rows of the class, the share that is recognised."),
    "specificity": ("Specificity", "Of the rows of other classes, the share that is not taken for the class."),
    "interval": (
        "Interval",
        "The values that are compatible with the data; had the study been repeated, most such intervals would hold the "
        "true value.",
    ),
    "p (Holm)": (
        "p (Holm)",
        "How often chance alone makes a difference as large as this, corrected for the number of pairs looked at.",
    ),
    "odds ratio": (
        "Odds ratio",
        "What the odds of the class are multiplied by when the column grows by one, the others unchanged.",
    ),
    "coefficient": ("Coefficient", "What one unit more of the column adds to the score of the class."),
    "standardised": (
        "Per standard deviation",
        "What one standard deviation more of the column adds to the score; comparable between columns.",
    ),
    "odds per deviation": (
        "Odds ratio per standard deviation",
        "What the odds of the class are multiplied by with one standard deviation more of the column.",
    ),
    "out of fold": (
        "Held-out rows",
        "Rows that were put aside while the model was fitted, so that it could not learn them by heart.",
    ),
    "threshold": ("Threshold", "The score from which a row is given the class; lower means more hits and more alarms."),
    "calibration error": (
        "Calibration error",
        "How far predicted probabilities are from the true shares, on average over ten groups of rows.",
    ),
    "fingerprint": ("Fingerprint", "A number made of every value of the data: it differs if a single value does."),
}


#: Columns that are listed at once; the others can be unfolded.
SHOWN_COLUMNS = 20


def data_section(data: ReportData) -> dict[str, Any]:
    """What the section on the data shows."""
    rows = data.rows
    if rows is not None:
        findings = [] if data.comparison is None else _findings(data, rows)
        return rows_section(rows, class_lines(data.classes, data.class_rows), findings, data.comparison is not None)
    return _rows_content(count(data.evaluation.n_rows), class_lines(data.classes, data.class_rows))


def rows_section(
    rows: TrainingRows, classes: list[dict[str, Any]], findings: list[Finding], checked: bool = True
) -> dict[str, Any]:
    """What is shown of rows to learn from."""
    lines = _columns(rows)
    return {
        **_rows_content(count(len(rows.y)), classes),
        "n_dropped": rows.n_dropped,
        "n_columns": len(lines),
        "n_coded": len(rows.names),
        "columns": lines[:SHOWN_COLUMNS],
        "more_columns": lines[SHOWN_COLUMNS:],
        "findings": findings,
        "known": True,
        "checked": checked,
        "in_words": any(line["words"] for line in lines),
    }


def _rows_content(n_rows: str, classes: list[dict[str, Any]]) -> dict[str, Any]:
    """What is shown of rows that are not known themselves."""
    unknown: dict[str, Any] = dict.fromkeys(("n_columns", "n_coded"), None)
    unknown |= {name: [] for name in ("columns", "more_columns", "findings")}
    unknown |= dict.fromkeys(("known", "checked", "in_words"), False)
    return {**unknown, "n_rows": n_rows, "n_dropped": 0, "classes": classes}


def _findings(data: ReportData, rows: TrainingRows) -> list[Finding]:
    """What to beware of in the rows that models were compared on, the grave things first."""
    if data.comparison is None:
        return []
    own = () if rows.schema is not None else imbalance_findings(data.classes, data.class_rows)
    findings = [*rows.findings, *own, *collinear_columns(rows)]
    return sorted(findings, key=lambda found: found.severity != "warning")


def collinear_columns(rows: TrainingRows) -> list[Finding]:
    """Columns that others tell, those excepted that are there because every level of a category has a column."""
    X, names = rows.X, np.array(rows.names, dtype=object)
    if rows.schema is not None and rows.schema.used:
        needed = ~np.array([one for column in rows.schema.used for one in column.redundant])
        X, names = (X, names) if needed.all() else (X[:, needed], names[needed])
    return collinearity_findings(X, names.tolist(), rows.weights)


def class_lines(classes: Sequence[Any], weight: Array) -> list[dict[str, Any]]:
    """Each class with its rows, in the order of the classes; the width of its bar is a share of the longest."""
    total, most = float(weight.sum()), float(weight.max())
    return [
        {"label": str(label), "rows": count(n), "share": percent(n / total), "width": n / most}
        for label, n in zip(classes, weight.tolist(), strict=True)
    ]


def _columns(rows: TrainingRows) -> list[dict[str, str]]:
    """What is known about each column: in words where a schema tells, else its mean and standard deviation."""
    if rows.schema is not None and rows.schema.columns:
        return [_described(column) for column in rows.schema.columns]
    means, variances = column_moments(as_rows(rows.X), rows.weights)
    return [
        {"name": name, "words": "", "mean": significant(mean), "deviation": significant(deviation)}
        for name, mean, deviation in zip(rows.names, means.tolist(), np.sqrt(variances).tolist(), strict=True)
    ]


def _described(column: Any) -> dict[str, str]:
    words = column.words
    if column.dropped is None and column.kind == "number":
        words = column.missing_words or f"mean {significant(column.mean)}"
    kind = {"boolean": "0 or 1"}.get(column.kind, column.kind)
    return {"name": column.name, "kind": kind, "missing": count(column.missing), "words": words}


def models_section(data: ReportData) -> dict[str, Any]:
    """What the section on the models shows."""
    comparison = data.comparison
    if comparison is None:
        return {}
    validation = comparison.cross_validation
    return {
        "metric": metric_name(comparison.metric),
        "metrics": list(validation.metrics),
        "lines": [_line(comparison, name, data.winner) for name in comparison.ranking],
        "level": f"{100 * comparison.level:g} %",
        "n_splits": validation.n_splits,
        "sentence": comparison.sentence,
        "notes": [*_notes(comparison), *validation.notes],
        "drawing": drawing("plot-comparison", _comparison_figure, comparison),
    }


def _notes(comparison: Comparison) -> list[str]:
    """The best model's figure after correction for the choice, and which models were left out."""
    chosen = [] if comparison.chosen is None else [str(comparison.chosen)]
    return chosen + [f"{name} was left out: {reason}" for name, reason in comparison.left_out.items()]


def _comparison_figure(comparison: Comparison) -> Any:
    from ..figures import comparison as comparison_figure

    figure = comparison_figure(comparison, sentence=False)  # the page says it above the figure
    validation = comparison.cross_validation
    scores = np.concatenate([validation.scores(name, comparison.metric) for name in validation.models])
    if np.ptp(scores) < 1e-9:  # plotly finds no ticks between numbers that differ by rounding alone
        figure.update_xaxes(range=[scores[0] - 0.05, scores[0] + 0.05])
    return figure


def _line(comparison: Comparison, name: str, winner: str) -> dict[str, Any]:
    """A model, its scores with their intervals, and how it stands against the best."""
    validation, metric, best = comparison.cross_validation, comparison.metric, comparison.best
    scores = [
        (measured(one, validation.mean(name, one)), between(one, *validation.interval(name, one, comparison.level)))
        for one in validation.metrics
    ]
    line = {"name": name, "scores": scores, "winner": name == winner}
    if name == best:
        return line | {"difference": "", "interval": "", "p_value": "", "verdict": "best"}
    pair = comparison.difference(name, best)
    sign = 1 if pair.first == name else -1
    low, high = sorted((sign * pair.low, sign * pair.high))
    return line | {
        "difference": _difference(metric, sign * pair.difference),
        "interval": f"{_difference(metric, low)} to {_difference(metric, high)}",
        "p_value": p_value(pair.p_adjusted, 3),
        "verdict": "worse" if comparison.is_real(name, best) else "not significantly different",
    }


def _difference(metric: str, value: float) -> str:
    """A difference of scores: of shares in points."""
    return signed(100 * value, 1) if metric in SHARES else signed(value, 3)


#: Terms that are listed, the largest effects first.
SHOWN_TERMS = 30


def coefficients_section(data: ReportData) -> dict[str, Any]:
    """What the section on the coefficients shows."""
    from ..figures import coefficients

    if data.model is None:
        return {"absent": "No fitted model was given to the report."}
    model = next((one for one in (data.model, getattr(data.model, "estimator_", None)) if hasattr(one, "coef_")), None)
    if model is None:
        reason = (
            f"{data.winner} has no coefficients: its boundaries are not linear in the columns, or it combines other "
            "models. What it does shows in the confusion matrix and in the decision regions."
        )
        return {"absent": reason}
    n_columns = np.shape(model.coef_)[-1]
    rows = data.rows if data.rows is not None and len(data.rows.names) == n_columns else None
    names = None if rows is None else rows.names
    schema = None if data.rows is None else data.rows.schema
    table = data.coefficients or coefficient_table(model, names, data.evaluation.level, schema)
    unit = np.full(n_columns, np.nan)
    if rows is not None:
        unit = np.sqrt(column_moments(as_rows(rows.X), rows.weights)[1])
    effects = [row for row in table.rows if row.term != INTERCEPT]
    ranked = sorted(zip(effects, cycle(unit.tolist()), strict=False), key=lambda pair: -_size(*pair))
    return {
        "terms": [_term(row, deviation) for row, deviation in ranked[:SHOWN_TERMS]],
        "left_out": max(len(ranked) - SHOWN_TERMS, 0),
        "inferred": table.has_errors,
        "tested": table.has_errors and table.interval == "confidence",
        "with_odds": table.log_odds,
        "with_outcomes": len(table.outcomes) > 1,
        "reference": "" if table.reference is None else quoted(table.reference),
        "with_standardised": not np.isnan(unit).all(),
        "about": quoted(effects[0].outcome) if effects else "",
        "reason": _no_errors(model, table),
        "reference_levels": reference_notes(table.reference_levels),
        "drawing": drawing("plot-coefficients", coefficients, table, spread=None if rows is None else unit),
    }


def _no_errors(model: Any, table: CoefficientTable) -> str:
    """Why there are no standard errors or confidence intervals; empty where there are some."""
    if table.has_errors:
        return "" if table.interval == "confidence" else "; ".join(table.notes)
    if hasattr(model, "summary"):
        return f"There are no intervals: {table.reason}"
    return "This kind of model estimates its coefficients without standard errors."


def _term(row: Coefficient, deviation: float) -> dict[str, str]:
    """The effect of a column on the score of a class, as it is printed."""
    known = not math.isnan(row.low)
    low, high = _odds(row.low), _odds(row.high)
    return {
        "name": row.term,
        "outcome": str(row.outcome),
        "estimate": significant(row.estimate),
        "interval": f"{significant(row.low)} to {significant(row.high)}" if known else "",
        "odds": _odds(math.nan if math.isnan(row.odds_ratio) else row.estimate),
        "odds_interval": f"{low} to {high}" if known else "",
        "odds_per_sd": _odds(row.estimate * deviation),
        "p_value": p_value(row.p_value, 3),
        "standardised": significant(row.estimate * deviation),
    }


#: Logarithms of odds ratios that are written like other numbers: further from 1 than the last digit, and no overflow.
_MIN_LOG_ODDS, _MAX_LOG_ODDS = 0.01, 700.0


def _odds(log: float) -> str:
    """An odds ratio by its logarithm, as it is printed."""
    if _MIN_LOG_ODDS <= abs(log) <= _MAX_LOG_ODDS:
        return significant(math.exp(log))
    return exponential(log).replace("inf", "∞").replace("-", "−")  # noqa: RUF001


def _size(row: Coefficient, deviation: float = math.nan) -> float:
    """An effect in standard errors, or per standard deviation of its column; infinite ones come first."""
    if math.isinf(row.estimate):
        return math.inf
    if not math.isnan(row.std_error):
        return row.size if math.isfinite(row.size) else 0.0
    return abs(row.estimate) if math.isnan(deviation) else abs(row.estimate * deviation)


#: Remarks of an evaluation that other sections make themselves.
_SAID_ELSEWHERE = (NO_PROBABILITIES, NO_SCORES)
CLASS_MEASURES = ("recall", "precision", "f1", "auc")
_NO_SCORES = "There are no scores to draw it from: the model's probabilities or margins of held-out rows were not kept."
_NO_PROBABILITIES = (
    "Calibration is a matter of probabilities, and this model gives none: its scores are distances from the boundary. "
    "Calibrated probabilities can be learned from held-out rows with DecisionClassifier(calibration=…)."
)


def confusions(data: ReportData) -> list[str]:
    """Every pair of classes that was confused, with how many rows of how many, the most frequent first."""
    counts = data.confusion.counts
    found = [
        (float(counts[i, j]), quoted(truth), f"{quoted(prediction)} ({count(counts[i, j])} of {count(counts[i].sum())}")
        for i, truth in enumerate(data.confusion.classes.tolist())
        for j, prediction in enumerate(data.confusion.predictions.tolist())
        if i != j and counts[i, j] > 0
    ]
    ranked = sorted(found, key=lambda pair: -pair[0])
    return [f"{truth} taken for {rows} rows of {truth})" for _, truth, rows in ranked]


def confusion_section(data: ReportData) -> dict[str, Any]:
    """What the section on right and wrong answers shows."""
    from ..figures import confusion as confusion_figure

    evaluation = data.evaluation
    return {
        "evaluated_on": data.evaluated_on,
        "is_held_out": data.comparison is not None and data.given_evaluation is None,
        "counted": "Weight" if data.is_weighted else "Rows",
        "n_rows": count(evaluation.n_rows),
        "worst": confusions(data)[:3],
        "classes": _class_lines(data),
        "measures": _measures(data),
        "notes": [note for note in evaluation.notes if note not in _SAID_ELSEWHERE],
        "drawing": drawing("plot-confusion", confusion_figure, data.confusion),
    }


def _measures(data: ReportData) -> list[str]:
    """The measures of each class; the AUC of the positive class is given with its curve."""
    known = {found.metric for found in data.evaluation.estimates}
    return [m for m in CLASS_MEASURES if m in known and (m != "auc" or data.evaluation.positive is None)]


def _class_lines(data: ReportData) -> list[dict[str, Any]]:
    lines = []
    for label, rows in zip(data.classes, data.confusion.counts.sum(axis=1).tolist(), strict=True):
        found = [data.evaluation[metric, label] for metric in _measures(data)]
        cells = [(measured(one.metric, one.value), between(one.metric, one.low, one.high)) for one in found]
        lines.append({"label": str(label), "rows": count(rows), "cells": cells})
    return lines


def roc_section(data: ReportData) -> dict[str, Any]:
    """What the section on the ROC curve shows."""
    from ..figures import roc_curve

    curve = data.evaluation.roc
    if curve is None:
        return {"absent": _NO_SCORES}
    auc = data.evaluation["auc"]
    if math.isnan(auc.value):
        return {"absent": auc.note}
    ends = between("auc", auc.low, auc.high)
    known = f"AUC {auc.value:.3f}{f' ({ends})' if ends else ''}"
    if isinstance(curve, Rocs):
        pairs = f"A row of a class scores above a row of another class in {percent(auc.value)} of all pairs"
        sentence = f"{pairs}, averaged over the classes: {known}."
    else:
        other = "the other class" if len(data.classes) == 2 else "another class"
        pairs = f"A row of {quoted(curve.positive)}, the positive class, scores above a row of {other}"
        sentence = f"{pairs} in {percent(auc.value)} of all pairs: {known}."
    if data.has_two_aucs:
        within = measured("auc", data.measure("auc").value)
        sentence += f" AUC of the curve: all rows pooled. Mean AUC of the splits: {within}."
    return {"sentence": sentence, "drawing": drawing("plot-roc", roc_curve, curve)}


def calibration_section(data: ReportData) -> dict[str, Any]:
    """What the section on calibration shows."""
    from ..figures import calibration_curve

    evaluation = data.evaluation
    if not evaluation.calibration:
        return {"absent": _NO_PROBABILITIES if evaluation.roc is not None else _NO_SCORES}
    bins, error = evaluation.calibration, evaluation["ece"]
    # Of two classes one tells all: the other's probabilities are the complement.
    shown = bins if evaluation.positive is None else {evaluation.positive: bins[evaluation.positive]}
    return {
        "distance": f"{100 * error.value:.1f}",
        "distance_interval": "" if math.isnan(error.low) else f"{100 * error.low:.1f} to {100 * error.high:.1f}",
        "sentences": _calibration_sentences(data),
        "drawing": drawing("plot-calibration", calibration_curve, shown),
    }


def _calibration_sentences(data: ReportData) -> list[str]:
    line = data.evaluation.calibration_line
    errors = {found.of: found.value for found in data.evaluation.estimates if found.metric == "ece"}
    worst = max(data.classes, key=lambda label: errors.get(label, -math.inf))
    largest = (
        [f"Largest calibration error: {quoted(worst)}, {100 * errors[worst]:.1f} points."] if len(errors) > 2 else []
    )
    if line is None:
        return largest
    return [*largest, *calibration_sentences(line, data.evaluation.positive, data.evaluation.level)]


#: Points across the picture, and points of the regions of all classes together: each is a number in the file.
_RESOLUTION, _POINTS = 120, 80_000


def regions_section(data: ReportData) -> dict[str, Any]:
    """What the section on decision regions shows."""
    if data.model is None or data.rows is None:
        return {"absent": "The fitted model and the rows are needed to draw them, and were not given to the report."}
    if len(data.rows.names) < 2:
        return {"absent": "There is only one column: its boundaries are points, not regions."}
    if sp.issparse(data.rows.X):
        return {"absent": "The rows are sparse and wide: a picture in two directions would need all of them at once."}
    drawn = drawing("plot-regions", _regions_figure, data)
    return {"drawing": drawn} if drawn.figure is not None else {"absent": drawn.reason}


def _regions_figure(data: ReportData) -> Any:
    from ..figures import decision_regions, theme

    rows = data.rows
    assert rows is not None
    finest = int(np.sqrt(_POINTS / len(data.classes)))
    known_by_name = hasattr(data.model, "feature_names_in_") and isinstance(rows.X, np.ndarray)
    X = as_rows(rows.X, rows.names) if known_by_name else rows.X
    figure = decision_regions(data.model, X, rows.y, resolution=min(_RESOLUTION, finest))
    if len(rows.names) == 2:
        figure.update_xaxes(title={"text": theme.written(rows.names[0])})
        figure.update_yaxes(title={"text": theme.written(rows.names[1])})
    return figure


def reproduction_section(data: ReportData) -> dict[str, Any]:
    """What the section on reproduction shows."""
    facts = []
    if data.comparison is not None:
        facts.append(("Splits", f"{data.comparison.cross_validation.n_splits}, the same for every model"))
        facts.append(("Random state", repr(data.random_state)))
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fingerprint": None if data.rows is None else f"sha256:{fingerprint(data.rows)}",
        "command": data.command,
        "facts": facts,
        "versions": versions(),
        "model": None if data.model is None else repr(data.model),
    }


def fingerprint(rows: TrainingRows) -> str:
    """A hash of every number and label, as the models saw them."""
    digest = hashlib.sha256()
    numbers = as_rows(rows.X)
    for start in range(0, numbers.n_rows, numbers.block_rows):
        block = numbers.block(start, min(start + numbers.block_rows, numbers.n_rows))
        for part in (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,):
            digest.update(np.ascontiguousarray(part).tobytes())
    digest.update("\x00".join(map(str, rows.y.tolist())).encode())
    return digest.hexdigest()[:32]


#: Probabilities a threshold can be set to; finer at the ends, where those of rare classes lie.
_FINE = np.array([0.001, 0.002, 0.005])
PROBABILITIES = np.concatenate(([0.0], _FINE, np.arange(1, 100) / 100, 1 - _FINE[::-1], [1.0]))
_MARGIN_STEPS = 121
#: Costs of a miss in false alarms that the slider offers, and those that are printed.
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)
PRINTED_RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Hits and false alarms of one class at each threshold."""

    label: Any
    values: Array
    hits: Array
    alarms: Array
    n_positive: float
    n_negative: float

    @property
    def share(self) -> float:
        """The share of the class among the rows."""
        return self.n_positive / (self.n_positive + self.n_negative)

    @property
    def sensitivity(self) -> Array:
        return self.hits / self.n_positive

    @property
    def specificity(self) -> Array:
        return 1 - self.alarms / self.n_negative

    def costs(self, ratio: float, share: float | None = None) -> Array:
        """The cost of 100 rows at each threshold, in false alarms, where the class has this share of the rows."""
        share = self.share if share is None else share
        return 100 * (share * (1 - self.sensitivity) * ratio + (1 - share) * (1 - self.specificity))

    def best(self, ratio: float, share: float | None = None) -> int:
        """The place of the threshold of least cost; of several the highest, as `Roc.best_threshold` has it."""
        costs = self.costs(ratio, share)
        return int(np.flatnonzero(costs <= costs.min() * (1 + 1e-9) + 1e-12)[-1])

    def never(self, place: int) -> bool:
        """Whether no row reaches the threshold at this place."""
        return not self.hits[place] + self.alarms[place] > 0


def thresholds_of(data: ReportData) -> list[Thresholds]:
    """The thresholds of each class that has rows on both sides; empty without scores."""
    curve = data.evaluation.roc
    if curve is None:
        return []
    curves: dict[Any, Roc] = dict(curve) if isinstance(curve, Rocs) else {plain(curve.positive): curve}
    sided = {label: one.ranked for label, one in curves.items() if not one.undefined}
    return [_at(label, ranked, _grid(data, label, ranked)) for label, ranked in sided.items()]


def _grid(data: ReportData, label: Any, ranked: RankedScores) -> Array:
    """Thresholds in even steps, and the cheapest of all for every ratio that is offered."""
    own = cost_ratio(data.costs, label)
    cheapest = _cheapest(ranked, RATIOS if own is None else (*RATIOS, own))
    if data.evaluation.calibration:
        decided = [] if own is None else [1 / (1 + own)]
        return np.unique(np.concatenate((PROBABILITIES, cheapest, decided)))
    high, low = float(ranked.values[0]), float(ranked.values[-1])
    # 0, where a margin changes sides, is among them, and so is one that no row reaches.
    beyond = high + (high - low) / _MARGIN_STEPS
    return np.unique([*np.linspace(low, high, _MARGIN_STEPS), 0.0 if low < 0 < high else low, beyond, *cheapest])


def _cheapest(ranked: RankedScores, ratios: Sequence[float]) -> list[float]:
    """The threshold of least cost for each ratio, unless that is to name no row; see `_in_short`."""
    found = []
    for ratio in ratios:
        costs = np.array([[0.0, 1.0], [ratio, 0.0]])
        place = int(np.argmin(expected_costs(ranked.positive, ranked.negative, costs, None)))
        if place:  # 0 is above all scores
            below = float(ranked.values[place]) if place < len(ranked.values) else -math.inf
            found.append(_in_short(float(ranked.values[place - 1]), below))
    return found


def _in_short(threshold: float, below: float) -> float:
    """The threshold in three digits, rounded down, if no score is passed on the way; ``below`` is the next one."""
    if threshold == 0:
        return threshold
    step = 10.0 ** (math.floor(math.log10(abs(threshold))) - 2)
    rounded = float(f"{math.floor(threshold / step) * step:.3g}")
    return rounded if below < rounded <= threshold else threshold


def _at(label: Any, ranked: RankedScores, values: Array) -> Thresholds:
    reached = np.searchsorted(-ranked.values.astype(np.float64), -values, side="right")
    hits, alarms = (np.append(0.0, counts)[reached] for counts in (ranked.true_positives, ranked.false_positives))
    return Thresholds(label, values, hits, alarms, ranked.n_positive, ranked.n_negative)


def cost_ratio(costs: Costs | None, label: Any) -> float | None:
    """What missing the class costs, in false alarms, under costs of two classes; None where that is not a ratio."""
    if costs is None or len(costs.classes) != 2 or not set(costs.classes) <= set(costs.actions):
        return None
    k = costs.classes.index(label)
    by_action = [[costs.values[i, costs.actions.index(name)] for name in costs.classes] for i in range(2)]
    miss = by_action[k][1 - k] - by_action[k][k]
    alarm = by_action[1 - k][k] - by_action[1 - k][1 - k]
    return float(miss / alarm) if miss > 0 and alarm > 0 else None


def standard_place(found: Thresholds, are_probabilities: bool, ratio: float | None = None) -> int:
    """The place of the threshold that decided: that of the costs, else one half; a margin of 0."""
    return int(np.argmin(np.abs(found.values - (1 / (1 + (ratio or 1.0)) if are_probabilities else 0.0))))


def thresholds_section(data: ReportData) -> dict[str, Any]:
    """What the section on costs and thresholds shows."""
    every = thresholds_of(data)
    table = _cost_table(data.costs)
    if not every:
        return {} if table is None else {"every": [], "cost_table": table}
    # First comes the positive class, else the one that is missed most often.
    recall = dict(zip(data.confusion.classes.tolist(), data.confusion.recall.tolist(), strict=True))
    first = every[0] if len(every) == 1 else min(every, key=lambda found: recall[found.label])
    ratio, are_probabilities = cost_ratio(data.costs, first.label), bool(data.evaluation.calibration)
    return {
        "every": every,
        "evaluated_on": data.evaluated_on,
        "cost_table": table,
        "first": every.index(first),
        "label": quoted(first.label),
        "sentence": _best_sentence(data, first, ratio),
        "printed": [_printed(first, r) for r in PRINTED_RATIOS],
        "state": _state(every, first, ratio, are_probabilities),
        "drawing": drawing("plot-thresholds", cost_figure, first, ratio, are_probabilities),
    }


def _cost_table(costs: Costs | None) -> dict[str, Any] | None:
    if costs is None:
        return None
    rows = zip(map(str, costs.classes), [[short(v) for v in row] for row in costs.values.tolist()], strict=True)
    return {"actions": [str(action) for action in costs.actions], "rows": list(rows)}


def _best_sentence(data: ReportData, found: Thresholds, ratio: float | None) -> str:
    """The threshold of least cost for the costs in force, with its interval."""
    curve = data.evaluation.roc
    roc = curve[found.label] if isinstance(curve, Rocs) else curve
    assert roc is not None
    interval = roc.best_threshold(cost_fp=1.0, cost_fn=ratio or 1.0, level=data.evaluation.level).interval
    place, miss = found.best(ratio or 1.0), f"missing a row of {quoted(found.label)} costs"
    known = f" ({100 * interval.level:g} % interval {short(interval.low)} to {short(interval.high)})"
    if ratio is None:
        given = f"If {miss} as much as a false alarm, it is"
    else:
        given = f"Under the costs given {miss} {short(ratio)} times as much as a false alarm; it is then"
    if found.never(place):
        return f"{given} cheapest on these rows never to name the class."
    return (
        f"{given} cheapest on these rows to set the threshold to {short(float(found.values[place]))}"
        f"{known if math.isfinite(interval.low) else ''}, which finds {percent(float(found.sensitivity[place]))} of "
        f"the class and takes {percent(1 - float(found.specificity[place]))} of the others for it."
    )


def _printed(found: Thresholds, ratio: float) -> dict[str, str]:
    place = found.best(ratio)
    return {
        "ratio": f"{ratio:g} : 1" if ratio >= 1 else f"1 : {1 / ratio:g}",
        "threshold": "never" if found.never(place) else short(float(found.values[place])),
        "sensitivity": percent(float(found.sensitivity[place])),
        "specificity": percent(float(found.specificity[place])),
        "cost": f"{found.costs(ratio)[place]:.2f}",
    }


def _state(every: list[Thresholds], first: Thresholds, ratio: float | None, are_probabilities: bool) -> dict[str, Any]:
    """What the page's sliders start from, as plain values."""
    ratios = sorted({*RATIOS, ratio or 1.0})
    return {
        "first": every.index(first),
        "ratios": ratios,
        "ratio": ratios.index(ratio or 1.0),
        "classes": [
            {
                "label": str(found.label),
                "thresholds": [float(f"{value:.6g}") for value in found.values],
                "hits": found.hits.tolist(),
                "alarms": found.alarms.tolist(),
                "positive": found.n_positive,
                "negative": found.n_negative,
                "start": standard_place(found, are_probabilities, ratio),
            }
            for found in every
        ],
    }


def cost_figure(found: Thresholds, ratio: float | None, are_probabilities: bool) -> Any:
    """Cost against threshold; the sliders move its line and its point."""
    from ..figures import theme

    place = standard_place(found, are_probabilities, ratio)
    costs = found.costs(ratio or 1.0)
    title = f"Cost of 100 rows by threshold for {theme.written(found.label)}"
    alt = "a line of the cost over all thresholds, with the one that is chosen."
    made = theme.figure(title, height=340, showlegend=False, alt=alt)
    made.add_scatter(
        x=found.values, y=costs, mode="lines", line=theme.line(0), name="cost",
        hovertemplate="threshold %{x:.3g}<br>cost of 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    made.add_scatter(
        x=[found.values[place]], y=[costs[place]], mode="markers", name="chosen",
        marker={"color": theme.colour(4), "size": 13, "line": {"color": "white", "width": 2}},
        hovertemplate="chosen threshold %{x:.3g}<br>cost of 100 rows %{y:.2f}<extra></extra>",
    )  # fmt: skip
    what = "threshold (probability)" if are_probabilities else "threshold (score)"
    made.update_xaxes(**theme.axis(what))
    made.update_yaxes(**theme.axis("cost of 100 rows, in false alarms", rangemode="tozero"))
    return made
