"""The report of a validated risk model, in the order in which TRIPOD+AI asks for its parts, with a checklist.

References
----------
Collins, G. S. et al. (2024). TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use
regression or machine learning methods. BMJ 385.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..arrays import Array, Classifier
from ..effects import Effects
from ..estimators.coefficients import CoefficientTable
from ..estimators.diagnostics import Diagnostics
from ..evaluation.decision_curve import DecisionCurve
from ..evaluation.intervals import RANGE_MARK, RANGE_NOTE
from ..results import Finding, capitalised, count, decimal, metric_name, number, p_value, percent, several
from ..validation.sample_size import SampleSize
from ..validation.validated import Validation
from .page import Block, Blocks, Section, drawing, quoted, significant, table_block, versions, write_page
from .risk_blocks import calibration_blocks, decision_blocks, group_blocks, with_ends

#: The items of the checklist.
ITEMS: Final[list[dict[str, str]]] = tomllib.loads(Path(__file__).with_name("tripod.toml").read_text(encoding="utf-8"))[
    "item"
]
#: Rows of the tables of coefficients and effects.
MAX_ROWS: Final = 40


@dataclass(frozen=True, eq=False)
class ValidationReport:
    """The parts of the report of a validated model; the page has the sections of the parts that are given.

    Parameters
    ----------
    validation : Validation
        From `validate`.
    model : fitted classifier
        The model, fitted to all rows.
    model_name, source : str
        Its name, and that of the table.
    class_rows : dict
        Rows of each class.
    columns : list of (name, treatment)
        The columns and how they are coded.
    n_dropped : int
        Rows that were left out.
    findings : list of Finding
        Data issues.
    coefficients : CoefficientTable, optional
    diagnostics : Diagnostics, optional
        Of a logistic regression.
    effects : Effects, optional
    decision : DecisionCurve, optional
        Of predictions of held-out rows.
    sample_size : SampleSize, optional
        What the criteria of Riley et al. ask for.
    row_numbers : array, optional
        The rows of the table that the model was fitted to. Default: all.
    command : str, optional
        The command that wrote the report.
    """

    validation: Validation
    model: Classifier
    model_name: str
    source: str
    class_rows: Mapping[Any, int]
    columns: Sequence[tuple[str, str]] = ()
    n_dropped: int = 0
    findings: Sequence[Finding] = ()
    coefficients: CoefficientTable | None = None
    diagnostics: Diagnostics | None = None
    effects: Effects | None = None
    decision: DecisionCurve | None = None
    sample_size: SampleSize | None = None
    row_numbers: Array | None = None
    command: str | None = None

    @property
    def n_rows(self) -> int:
        """Rows that the model was fitted to."""
        return sum(self.class_rows.values())

    def row(self, i: int) -> str:
        """The number of a training row in the table."""
        return str(i if self.row_numbers is None else int(self.row_numbers[i]))


def write_validation_report(path: str | os.PathLike[str], report: ValidationReport) -> Path:
    """Write the report as one HTML file that needs no network, and return its path.

    Parameters
    ----------
    path : str or path
        The file; it is written completely or not at all.
    report : ValidationReport
        Its parts.

    Returns
    -------
    Path
    """
    parts: list[tuple[str, str, Blocks]] = [
        ("summary", "Summary", _summary(report)),
        ("data", "Data", _data(report)),
        ("sample-size", "Sample size", _sample_size(report)),
        ("model", "Model specification", _model(report)),
        ("diagnostics", "Diagnostics", _diagnostics(report)),
        ("effects", "Effects", _effects(report)),
        ("performance", "Performance", _performance(report)),
        ("calibration", "Calibration", _calibration(report)),
        ("decision", "Decision curve", _decision(report)),
        ("stability", "Stability of predictions", _stability(report)),
        ("groups", "Performance by group", _groups(report)),
    ]
    parts = [part for part in parts if part[2]]
    names = {name: heading for name, heading, _ in parts} | {"reproduction": _REPRODUCTION}
    parts.append(("tripod", "TRIPOD+AI checklist", checklist(names)))
    parts.append(("reproduction", _REPRODUCTION, _reproduction(report)))
    sections = [Section(name, heading, {"blocks": blocks}) for name, heading, blocks in parts]
    facts = [
        Path(report.source).name,
        f"{count(report.n_rows)} rows",
        several(len(report.class_rows), "class", "classes"),
    ]
    return write_page(path, "validation.html", f"Validation of {report.model_name}", facts, sections)


_REPRODUCTION: Final = "Reproducing this report"


def checklist(names: Mapping[str, str]) -> Blocks:
    """Which items of TRIPOD+AI the sections answer; ``names`` are headings by the name of the section."""
    rows = []
    for item in ITEMS:
        heading, left = names.get(item.get("section", "")), item.get("left", "")
        missing = "Not in this report." if "section" in item and heading is None else ""
        rows.append([item["number"], item["asks"], heading or "", " ".join(filter(None, (missing, left)))])
    head = ["Item", "Requirement", "Section of this report", "To be added by the authors"]
    answered = sum(bool(row[2]) for row in rows)
    return [
        Block("words", f"This report addresses {answered} of {len(rows)} item groups, fully or partly."),
        table_block("TRIPOD+AI checklist", head, rows, text_columns=(0, 1, 2, 3)),
        Block("remark", "TRIPOD+AI: Collins, G. S. et al. (2024), BMJ 385:e078378."),
    ]


def _summary(report: ValidationReport) -> Blocks:
    found = report.validation
    auc, slope = found["auc"], found["calibration_slope"]
    how = "optimism bootstrap" if found.method == "bootstrap" else "repeated cross-validation"
    bullets = [
        f"AUC corrected for optimism: {with_ends(auc.corrected, auc.low, auc.high, auc.is_range)} "
        f"(apparent {decimal(auc.apparent, 3)}).",
        f"Calibration slope: {with_ends(slope.corrected, slope.low, slope.high, slope.is_range)}.",
        f"Method: {how}, {several(found.n_resamples, 'resample' if found.method == 'bootstrap' else 'repeat')}.",
    ]
    if sum(found.failed.values()):
        bullets.append(f"Resamples that failed: {count(sum(found.failed.values()))}.")
    content = {"bullets": bullets, "recommendation": _advice(report), "keys": []}
    return [Block("answer", content)]


def validation_blocks(report: ValidationReport) -> Blocks:
    """Performance, calibration, decision curve and stability, for a page that has other sections as well."""
    found: Blocks = [Block("heading", "Performance"), *_performance(report)]
    parts = {"Calibration": _calibration, "Decision curve": _decision, "Stability of predictions": _stability}
    for heading, blocks in parts.items():
        content = blocks(report)
        found += [Block("heading", heading), *content] if content else []
    return found


def effect_blocks(report: ValidationReport) -> Blocks:
    """Effects and diagnostics, for a page that has other sections as well."""
    found: Blocks = []
    for heading, blocks in {"Effects": _effects, "Diagnostics": _diagnostics}.items():
        content = blocks(report)
        found += [Block("heading", heading), *content] if content else []
    return found or [Block("words", "Effects need a numeric column; diagnostics need a logistic regression.")]


#: A calibration slope below this means predictions that are clearly too extreme for new rows.
MIN_SLOPE: Final = 0.9


def _advice(report: ValidationReport) -> str:
    slope = report.validation["calibration_slope"].corrected
    if slope < MIN_SLOPE:
        words = f"The model is overfitted (calibration slope {decimal(slope, 2)})"
        return f"{words}: use a penalty, fewer terms, or more rows."
    return "Validate the model on data from another time or place before use."


def _data(report: ValidationReport) -> Blocks:
    rows = [[str(label), count(n), percent(n / report.n_rows)] for label, n in report.class_rows.items()]
    found: Blocks = [table_block("Table of classes", ["Class", "Rows", "Share"], rows)]
    if report.n_dropped:
        found.append(Block("words", f"Rows excluded (no class or missing values): {count(report.n_dropped)}."))
    if report.columns:
        cells = [[name, treatment] for name, treatment in report.columns]
        found += [Block("heading", "Columns")]
        found.append(table_block("Table of columns", ["Column", "Type and coding"], cells, text_columns=(0, 1)))
    if report.findings:
        found += [Block("heading", "Data issues"), Block("findings", list(report.findings))]
    return found


def _sample_size(report: ValidationReport) -> Blocks:
    found = report.sample_size
    if found is None:
        return []
    enough = "at least" if report.n_rows >= found.n_rows else "fewer than"
    rarest = min(report.class_rows.values())
    return [
        Block(
            "words",
            f"Rows: {count(report.n_rows)}, {enough} the {count(found.n_rows)} required by the criteria of Riley et "
            f"al. (2020) for {several(found.n_parameters, 'parameter')} and a Cox-Snell R2 of {number(found.r2, 3)}. "
            f"Rows of the rarest class per parameter: {number(rarest / found.n_parameters, 3)}.",
        ),
        table_block(
            "Table of criteria", ["Criterion", "Rows"], [[one.criterion, count(one.n_rows)] for one in found.rows]
        ),
    ]


def _model(report: ValidationReport) -> Blocks:
    from ..figures import coefficients

    table = report.coefficients
    if table is None:
        return [
            Block("words", f"{report.model_name} has no coefficients; its full specification is in the model file.")
        ]
    head = ["Term", "Class", "Coefficient", "Odds ratio" if table.log_odds else "", "95 % interval", "p"]
    rows = [
        [
            row.term,
            str(row.outcome),
            significant(row.estimate),
            significant(row.odds_ratio) if table.log_odds else "",
            "" if math.isnan(row.low) else f"{significant(row.low)} to {significant(row.high)}",
            p_value(row.p_value, 3),
        ]
        for row in table.rows[:MAX_ROWS]
    ]
    more = len(table.rows) - MAX_ROWS
    note = (
        [Block("remark", f"{several(more, 'more coefficient')}; discriminant explain lists all.")] if more > 0 else []
    )
    return [
        table_block("Table of coefficients", head, rows, text_columns=(0, 1)),
        *note,
        drawing("plot-coefficients", coefficients, table),
    ]


def _diagnostics(report: ValidationReport) -> Blocks:
    from ..figures import binned_residuals, influence

    found = report.diagnostics
    if found is None:
        return []
    tests = [[one.name, number(one.statistic), str(one.df or ""), p_value(one.p_value)] for one in found.tests]
    rows = [
        [report.row(one.row), str(one.label), number(one.probability), number(one.pearson), number(one.cooks)]
        for one in found.most_influential()
    ]
    largest = max((one.scaled for one in found.inflation), default=math.nan)
    collinear = "" if math.isnan(largest) else f" Largest GVIF^(1/(2 df)) of a term: {number(largest, 3)}."
    head = ["Row", "Class", "Fitted probability", "Pearson residual", "Cook's distance"]
    return [
        Block("words", f"Rows are numbered as in the table, from 0.{collinear}"),
        table_block("Goodness-of-fit tests", ["Test", "Statistic", "df", "p"], tests),
        Block("heading", "Rows with the largest influence"),
        table_block("Most influential rows", head, rows, text_columns=(0, 1)),
        drawing("plot-residuals", binned_residuals, found),
        drawing("plot-influence", influence, found),
    ]


def _effects(report: ValidationReport) -> Blocks:
    from ..figures import effects

    found = report.effects
    if found is None:
        return []
    rows = [
        [row.term, str(row.outcome), number(row.estimate), number(row.low), number(row.high), p_value(row.p_value)]
        for row in found.rows[:MAX_ROWS]
    ]
    level = f"{100 * found.level:g} % CI"
    head = ["Column", "Class", "Change of the probability per unit", f"{level} low", f"{level} high", "p"]
    return [
        Block("words", "Average change of the predicted probability per unit of each numeric column, over all rows."),
        table_block("Table of effects", head, rows, text_columns=(0, 1)),
        drawing("plot-effects", effects, found),
        *(Block("remark", f"{capitalised(note)}.") for note in found.notes),
    ]


def _performance(report: ValidationReport) -> Blocks:
    found = report.validation
    rows = [
        [
            metric_name(row.measure),
            decimal(row.apparent),
            decimal(row.optimism),
            decimal(row.corrected),
            f"{decimal(row.low)} to {decimal(row.high)}{RANGE_MARK * row.is_range}",
        ]
        for row in found.rows
    ]
    ends = f"{100 * found.level:g} % interval"
    failed = [f"{several(n, 'resample')} excluded: {reason}." for reason, n in found.failed.items()]
    return [
        table_block("Table of performance", ["Measure", "Apparent", "Optimism", "Corrected", ends], rows),
        *(Block("remark", text) for text in failed),
        *(Block("remark", f"{capitalised(note)}") for note in found.notes),
        *([Block("remark", RANGE_NOTE)] if any(row.is_range for row in found.rows) else []),
    ]


def _calibration(report: ValidationReport) -> Blocks:
    curve = report.validation.curve
    if curve is None:
        return []
    return calibration_blocks({"corrected": curve}, f"Corrected for optimism. {capitalised(str(curve))}.")


def _decision(report: ValidationReport) -> Blocks:
    lead = "Net benefit of predictions for held-out rows (10-fold cross-validation)."
    return [] if report.decision is None else decision_blocks(report.decision, lead)


def _stability(report: ValidationReport) -> Blocks:
    from ..figures import instability

    found = report.validation.instability
    if found is None:
        return []
    rows = [
        [report.row(one.row), number(one.probability), f"{number(one.low)} to {number(one.high)}", percent(one.changed)]
        for one in found.least_stable()
    ]
    head = ["Row", "Probability", f"{100 * found.level:g} % range", "Resamples with another class"]
    return [
        Block("words", f"{capitalised(str(found))}."),
        drawing("plot-instability", instability, found),
        Block("heading", "Least stable predictions"),
        table_block("Least stable predictions", head, rows),
    ]


def _groups(report: ValidationReport) -> Blocks:
    found = report.validation.by_group
    return [] if found is None else group_blocks(found, "Corrected")


def _reproduction(report: ValidationReport) -> Blocks:
    packages = ", ".join(f"{name} {version}" for name, version in versions())
    code = [text for text in (report.command, repr(report.model)) if text]
    lead = Block("words", f"Model {quoted(report.model_name)}, fitted to {count(report.n_rows)} rows.")
    return [lead, *(Block("code", text) for text in code), Block("versions", packages)]
