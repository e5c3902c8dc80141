"""The sections of a table's report: the content of each, for its template."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Classifier
from ..data import as_rows
from ..estimators.coefficients import CoefficientTable, coefficient_table, reference_notes
from ..evaluation.class_curves import ClassCurves
from ..evaluation.intervals import RANGE_MARK, Estimate
from ..evaluation.model_evaluation import NO_PROBABILITIES, NO_SCORES
from ..inference.likelihood import Coefficient
from ..moments.collinearity import collinearity_findings
from ..moments.statistic import column_moments
from ..results import Finding, capitalised, count, exponential, metric_name, p_value, percent
from ..tables.classes import imbalance_findings
from ..validation.comparison import Comparison
from .page import SHARES, between, drawing, measured, quoted, signed, significant, versions, with_minus
from .risk_blocks import smooth_calibration_blocks
from .sentences import calibration_sentences, few_rows_sentence, learning_sentence

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ..tables.column import Column
    from .table_report import TableReport, TrainingRows


#: Titles and definitions of terms, by their key.
WORDS: Final = {
    term: (entry["called"], entry["meaning"])
    for term, entry in tomllib.loads(
        Path(__file__).with_name("templates").joinpath("glossary.toml").read_text(encoding="utf-8")
    ).items()
}
# Columns that are listed at once; the others can be unfolded.
SHOWN_COLUMNS: Final = 20


def data_section(data: TableReport) -> dict[str, Any]:
    """The section on the data."""
    rows = data.rows
    if rows is not None:
        findings = [] if data.comparison is None else _findings(data, rows)
        return rows_section(rows, class_lines(data.classes, data.class_rows), findings, data.comparison is not None)
    return _rows_content(count(data.evaluation.n_rows), class_lines(data.classes, data.class_rows))


def rows_section(
    rows: TrainingRows, classes: list[dict[str, Any]], findings: list[Finding], checked: bool = True
) -> dict[str, Any]:
    """The content for training data."""
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
    """The content for rows of which only the classes are known."""
    unknown: dict[str, Any] = dict.fromkeys(("n_columns", "n_coded"), None)
    unknown |= {name: [] for name in ("columns", "more_columns", "findings")}
    unknown |= dict.fromkeys(("known", "checked", "in_words"), False)
    return {**unknown, "n_rows": n_rows, "n_dropped": 0, "classes": classes}


def _findings(data: TableReport, rows: TrainingRows) -> list[Finding]:
    """The data issues of the compared rows, warnings first."""
    if data.comparison is None:
        return []
    own = () if rows.schema is not None else imbalance_findings(data.classes, data.class_rows)
    findings = [*rows.findings, *own, *collinear_columns(rows)]
    return sorted(findings, key=lambda found: found.severity != "warning")


def collinear_columns(rows: TrainingRows) -> list[Finding]:
    """Collinear columns, except those that are redundant because every level of a category has a column."""
    X: Any = rows.X
    names = np.array(rows.names, dtype=object)
    if rows.schema is not None and rows.schema.used:
        needed = ~np.array([one for column in rows.schema.used for one in column.redundant])
        X, names = (X, names) if needed.all() else (X[:, needed], names[needed])
    return collinearity_findings(X, names.tolist(), rows.weights)


def class_lines(classes: Sequence[Hashable], weight: Array) -> list[dict[str, Any]]:
    """Each class with its rows, and the width of its bar relative to the longest."""
    total, most = float(weight.sum()), float(weight.max())
    return [
        {"label": str(label), "rows": count(n), "share": percent(n / total), "width": n / most}
        for label, n in zip(classes, weight.tolist(), strict=True)
    ]


def _columns(rows: TrainingRows) -> list[dict[str, str]]:
    """The description of each column by the schema, or else its mean and standard deviation."""
    if rows.schema is not None and rows.schema.columns:
        return [_described(column) for column in rows.schema.columns]
    means, variances = column_moments(as_rows(rows.X), rows.weights)
    return [
        {"name": name, "words": "", "mean": significant(mean), "deviation": significant(deviation)}
        for name, mean, deviation in zip(rows.names, means.tolist(), np.sqrt(variances).tolist(), strict=True)
    ]


def _described(column: Column) -> dict[str, str]:
    words = column.treatment
    if column.dropped is None and column.kind == "number" and column.mean is not None:
        words = column.missing_treatment or f"mean {significant(column.mean)}"
    kind = {"boolean": "0 or 1"}.get(column.kind, column.kind)
    return {"name": column.name, "kind": kind, "missing": count(column.missing), "words": words}


def models_section(data: TableReport) -> dict[str, Any]:
    """The section on the model comparison."""
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
        "sentence": with_minus(comparison.sentence),
        "notes": [*_notes(comparison), *validation.notes],
        "drawing": drawing("plot-comparison", _comparison_figure, comparison),
    }


def _notes(comparison: Comparison) -> list[str]:
    """The metric of the best model after correction for selection, and the excluded models."""
    chosen = [] if comparison.chosen is None else [str(comparison.chosen)]
    return chosen + [f"Excluded: {name} ({reason})" for name, reason in comparison.left_out.items()]


def _comparison_figure(comparison: Comparison) -> Figure:
    from ..figures import comparison as comparison_figure

    figure = comparison_figure(comparison, sentence=False)  # it is text of the page
    validation = comparison.cross_validation
    scores = np.concatenate([validation.scores(name, comparison.metric) for name in validation.models])
    if np.ptp(scores) < 1e-9:  # plotly has no ticks for differences at rounding level
        figure.update_xaxes(range=[scores[0] - 0.05, scores[0] + 0.05])
    return figure


def _line(comparison: Comparison, name: str, winner: str) -> dict[str, Any]:
    """A model, its scores with intervals, and its difference from the best model."""
    validation, metric, best = comparison.cross_validation, comparison.metric, comparison.best
    found = [validation.estimate(name, one, comparison.level) for one in validation.metrics]
    scores = [(measured(one.metric, one.value), between(one.metric, one.low, one.high, one.is_range)) for one in found]
    line = {"name": name, "scores": scores, "winner": name == winner}
    if name == best:
        return line | {"difference": "", "interval": "", "p_value": "", "verdict": "best"}
    pair = comparison.difference(name, best)
    sign = 1 if pair.first == name else -1
    low, high = sorted((sign * pair.low, sign * pair.high))
    return line | {
        "difference": _difference(metric, sign * pair.difference),
        "interval": f"{_difference(metric, low)} to {_difference(metric, high)}{RANGE_MARK if pair.is_range else ''}",
        "p_value": p_value(pair.p_adjusted, 3) + (RANGE_MARK if pair.is_range else ""),
        "verdict": "worse" if comparison.is_real(name, best) else "not significantly different",
    }


def _difference(metric: str, value: float) -> str:
    """A difference of scores, in points for shares."""
    return signed(100 * value, 1) if metric in SHARES else signed(value, 3)


# Terms that are listed, the largest effects first.
SHOWN_TERMS: Final = 30


def coefficients_section(data: TableReport) -> dict[str, Any]:
    """The section on the coefficients."""
    from ..figures import coefficients

    if data.model is None:
        return {"skipped": "The report has no fitted model."}
    model = next((one for one in (data.model, getattr(data.model, "estimator_", None)) if hasattr(one, "coef_")), None)
    if model is None:
        reason = (
            f"{data.winner} has no coefficients: its boundaries are not linear in the columns, or it combines other "
            "models."
        )
        return {"skipped": reason}
    n_columns = np.shape(model.coef_)[-1]
    rows = data.rows if data.rows is not None and len(data.rows.names) == n_columns else None
    names = None if rows is None else rows.names
    schema = None if data.rows is None else data.rows.schema
    table = data.coefficients or coefficient_table(model, names, data.evaluation.level, schema)
    unit = np.full(n_columns, np.nan)
    if rows is not None:
        unit = np.sqrt(column_moments(as_rows(rows.X), rows.weights)[1])
    effects = [row for rows in table.effects.values() for row in rows]
    has_units = rows is not None and len(effects) % n_columns == 0
    ranked = sorted(zip(effects, cycle(unit.tolist()), strict=False), key=lambda pair: -_size(*pair))
    return {
        "terms": [_term(row, deviation) for row, deviation in ranked[:SHOWN_TERMS]],
        "left_out": max(len(ranked) - SHOWN_TERMS, 0),
        "inferred": table.has_errors,
        "tested": table.has_errors and table.interval == "confidence",
        "with_odds": table.log_odds,
        "with_outcomes": len(table.effects) > 1,
        "reference": "" if table.reference is None else quoted(table.reference),
        "with_standardised": not np.isnan(unit).all(),
        "about": quoted(effects[0].outcome) if effects else "",
        "reason": _no_errors(model, table),
        "reference_levels": reference_notes(table.reference_levels),
        "drawing": drawing("plot-coefficients", coefficients, table, column_std=unit if has_units else None),
    }


def _no_errors(model: Classifier, table: CoefficientTable) -> str:
    """Why there are no standard errors or confidence intervals; empty if there are."""
    if table.has_errors:
        notes = [] if table.interval == "confidence" else table.notes
        return " ".join(f"{capitalised(note)}." for note in notes)
    if hasattr(model, "summary"):
        return f"No confidence intervals: {table.reason}"
    return "No confidence intervals: this model has no standard errors."


def _term(row: Coefficient, deviation: float) -> dict[str, str]:
    """The effect of a column on the score of a class, as text."""
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


# Log odds ratios in this range are printed like other numbers: not 1 after rounding, and no overflow.
_MIN_LOG_ODDS, _MAX_LOG_ODDS = 0.01, 700.0


def _odds(log: float) -> str:
    """An odds ratio by its logarithm, as text."""
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


#: Notes of an evaluation that other sections have.
_NOTES_ELSEWHERE = (NO_PROBABILITIES, NO_SCORES)
CLASS_MEASURES = ("recall", "precision", "f1", "auc")
_NO_SCORES = "No scores: the comparison did not keep probabilities or margins of held-out rows."
_NO_PROBABILITIES = (
    "The model does not predict probabilities: its scores are distances from the boundary. Use "
    "DecisionClassifier(calibration=…) for calibrated probabilities."
)


def confusions(data: TableReport) -> list[str]:
    """Every pair of confused classes with its number of rows, the most frequent first."""
    counts = data.confusion.counts
    found = [
        (float(counts[i, j]), quoted(truth), f"{quoted(prediction)} ({count(counts[i, j])} of {count(counts[i].sum())}")
        for i, truth in enumerate(data.confusion.classes.tolist())
        for j, prediction in enumerate(data.confusion.predictions.tolist())
        if i != j and counts[i, j] > 0
    ]
    ranked = sorted(found, key=lambda pair: -pair[0])
    return [f"{truth} predicted as {rows} rows of {truth})" for _, truth, rows in ranked]


def confusion_section(data: TableReport) -> dict[str, Any]:
    """The section on the performance by class."""
    from ..figures import confusion as confusion_figure
    from ..figures import learning_curve

    evaluation, curve = data.evaluation, data.learning_curve
    return {
        "evaluated_on": data.evaluated_on,
        "is_held_out": data.comparison is not None and data.given_evaluation is None,
        "counted": "Weight" if data.is_weighted else "Rows",
        "n_rows": count(evaluation.n_rows),
        "worst": confusions(data)[:3],
        "classes": _class_lines(data),
        "measures": _measures(data),
        "notes": [*(note for note in evaluation.notes if note not in _NOTES_ELSEWHERE), *_more_rows(data)],
        "learning": None if curve is None else drawing("plot-learning", learning_curve, curve),
        "drawing": drawing("plot-confusion", confusion_figure, data.confusion),
    }


def _more_rows(data: TableReport) -> list[str]:
    """The learning curve, if there is one, and the classes with few rows."""
    curve, found = data.learning_curve, [few_rows_sentence(data.classes, data.class_counts.tolist())]
    if curve is not None:
        found.append(learning_sentence(int(curve.sizes[-1]), curve.validation(), curve.limit, curve.estimation))
    return [sentence for sentence in found if sentence]


def _measures(data: TableReport) -> list[str]:
    """The measures of each class; the AUC of the positive class is in the section with its curve."""
    known = {found.metric for found in data.evaluation.estimates}
    return [m for m in CLASS_MEASURES if m in known and (m != "auc" or data.evaluation.positive is None)]


def _class_lines(data: TableReport) -> list[dict[str, Any]]:
    lines = []
    for label, rows in zip(data.classes, data.confusion.counts.sum(axis=1).tolist(), strict=True):
        found = [data.evaluation[metric, label] for metric in _measures(data)]
        cells = [
            (measured(one.metric, one.value), between(one.metric, one.low, one.high, one.is_range)) for one in found
        ]
        lines.append({"label": str(label), "rows": count(rows), "cells": cells})
    return lines


def roc_section(data: TableReport) -> dict[str, Any]:
    """The section on the ROC and precision-recall curves."""
    from ..figures import precision_recall_curve, roc_curve

    curve = data.evaluation.roc
    if curve is None:
        return {"skipped": _NO_SCORES}
    auc = data.evaluation["auc"]
    if math.isnan(auc.value):
        return {"skipped": auc.note}
    ends = between("auc", auc.low, auc.high, auc.is_range)
    of = "mean of the classes" if isinstance(curve, ClassCurves) else f"positive class {quoted(curve.positive)}"
    pooled = ", all rows pooled" if data.has_two_aucs else ""
    sentence = f"AUC ({of}{pooled}): {auc.value:.3f}{f' ({ends})' if ends else ''}."
    if data.has_two_aucs:
        sentence += f" Mean AUC over folds: {measured('auc', data.measure('auc').value)}."
    precision = data.evaluation.precision_recall
    return {
        "sentence": sentence,
        "drawing": drawing("plot-roc", roc_curve, curve),
        "precision": None if precision is None else drawing("plot-precision", precision_recall_curve, precision),
    }


#: A bias-corrected calibration error that is 0 at the precision of the page.
NEGLIGIBLE_ERROR: Final = 5e-4


def calibration_section(data: TableReport) -> dict[str, Any]:
    """The section on calibration.

    Its one measure of the error is the integrated calibration index of the smooth curves, or without them the
    calibration error of the bins: their numbers differ, because bins average errors and are corrected for bias.
    """
    from ..figures import calibration_curve

    evaluation = data.evaluation
    if not evaluation.calibration:
        return {"skipped": _NO_PROBABILITIES if evaluation.roc is not None else _NO_SCORES}
    bins, smooth = evaluation.calibration, smooth_calibration_blocks(data)
    # For two classes one curve is enough: the other probabilities are the complement.
    shown = bins if evaluation.positive is None else {evaluation.positive: bins[evaluation.positive]}
    return {
        "error": "" if smooth else _calibration_error(evaluation["ece"]),
        "sentences": _calibration_sentences(data, bool(smooth)),
        "drawing": drawing("plot-calibration", calibration_curve, shown),
        "blocks": smooth,
    }


def _calibration_error(error: Estimate) -> str:
    """The calibration error in percentage points with its range; one that was corrected to 0 has the range only."""
    if math.isnan(error.low):
        return f"{100 * error.value:.1f} percentage points"
    ends = f"{100 * error.low:.1f} to {100 * error.high:.1f}"
    if error.value < NEGLIGIBLE_ERROR:
        return f"no larger than random variation (range {ends} percentage points)"
    return f"{100 * error.value:.1f} percentage points ({ends})"


def _calibration_sentences(data: TableReport, is_smooth: bool) -> list[str]:
    """Calibration slope and intercept; the largest error of a class if no smooth curves measure the errors."""
    line = data.evaluation.calibration_line
    errors = {found.of: found.value for found in data.evaluation.estimates if found.metric == "ece" and not is_smooth}
    worst = max(data.classes, key=lambda label: errors.get(label, -math.inf))
    largest = (
        [f"Largest calibration error: {quoted(worst)}, {100 * errors[worst]:.1f} percentage points."]
        if len(errors) > 2
        else []
    )
    if line is None:
        return largest
    return [*largest, *calibration_sentences(line, data.evaluation.positive, data.evaluation.level)]


# Points across the figure of decision regions, and in all classes together: each is a number in the file.
MAX_RESOLUTION: Final = 120
MAX_REGION_POINTS: Final = 80_000


def regions_section(data: TableReport) -> dict[str, Any]:
    """The section on decision regions."""
    if data.model is None or data.rows is None:
        return {"skipped": "The report has no fitted model or no rows."}
    if len(data.rows.names) < 2:
        return {"skipped": "There is only one column."}
    if sp.issparse(data.rows.X):
        return {"skipped": "The rows are sparse."}
    drawn = drawing("plot-regions", _regions_figure, data)
    return {"drawing": drawn} if drawn.figure is not None else {"skipped": drawn.reason}


def _regions_figure(data: TableReport) -> Figure:
    from ..figures import decision_regions, theme

    rows = data.rows
    assert rows is not None
    assert data.model is not None
    finest = int(np.sqrt(MAX_REGION_POINTS / len(data.classes)))
    known_by_name = hasattr(data.model, "feature_names_in_") and isinstance(rows.X, np.ndarray)
    X = as_rows(rows.X, rows.names) if known_by_name else rows.X
    figure = decision_regions(data.model, X, rows.y, resolution=min(MAX_RESOLUTION, finest))
    if len(rows.names) == 2:
        figure.update_xaxes(title={"text": theme.written(rows.names[0])})
        figure.update_yaxes(title={"text": theme.written(rows.names[1])})
    return figure


def reproduction_section(data: TableReport) -> dict[str, Any]:
    """The section on reproducing the report."""
    facts = []
    if data.comparison is not None:
        facts.append(("Splits", str(data.comparison.cross_validation.n_splits)))
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
    """A hash of all numbers and labels of the coded rows."""
    digest = hashlib.sha256()
    numbers = as_rows(rows.X)
    for start in range(0, numbers.n_rows, numbers.block_rows):
        block = numbers.block(start, min(start + numbers.block_rows, numbers.n_rows))
        for part in (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,):
            digest.update(np.ascontiguousarray(part).tobytes())
    digest.update("\x00".join(map(str, rows.y.tolist())).encode())
    return digest.hexdigest()[:32]
