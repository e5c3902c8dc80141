"""The tabs of the Table page: sections of the report with live figures, and sliders for the decision."""

from __future__ import annotations

import html
import math
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from ..errors import Message, Model, Setting
from ..workflow.columns import categories_with_odds, level_odds
from ..workflow.exploring import ClassDecision
from .frame import Slider, Work, computed, figure, report_html, report_part, set_text, table, text
from .ranking_controls import COSTS
from .what_if import ExplainedRow

if TYPE_CHECKING:
    from ..report.cost_thresholds import Thresholds
    from ..workflow.columns import ColumnImportance
    from .table_work import Compared, ModelFile, Table

_POINT: Final = {
    "type": "scatter", "x": [], "y": [], "mode": "markers", "name": "the threshold", "showlegend": False,
    "marker": {"color": "#D55E00", "size": 13, "line": {"color": "white", "width": 2}},
}  # fmt: skip


def data(shown: Table) -> None:
    """The section Data of the report, whose advice on types refers to the tab Columns."""
    found = shown.described()
    issues = [replace(finding, message=advice(finding.message)) for finding in found["findings"]]
    report_part("data", {**found, "findings": issues})


def advice(message: str | Message) -> str:
    """A message whose recommended types of columns are spelled as on the page."""
    return message.render(_spelled) if isinstance(message, Message) else message


def _spelled(part: Setting | Model) -> str:
    if not isinstance(part, Setting) or part.parameter != "types" or not isinstance(part.value, dict):
        return str(part)
    given = " and ".join(f"column {name!r} the type {kind}" for name, kind in part.value.items())
    return f"{given} in the tab Columns"


def stored(found: ModelFile) -> None:
    """The training data and the coefficients of a model file."""
    report_html(table(["", ""], found.facts, "Model summary"))
    if found.coefficients is not None:
        rows = [(row.term, str(row.outcome), f"{row.estimate:.4g}") for row in found.coefficients.rows]
        text("Coefficients", tag="h2")
        report_html(table(["Column", "Class", "Coefficient"], rows, "Table of coefficients", 1))


def comparison(compared: Compared, name: str, give_costs: Callable[[], None], open_tab: Callable[[str], None]) -> None:
    """The summary with the places where costs are given, the models with their intervals, and the confusion matrix."""
    from ..report.sections import confusion_section, models_section
    from ..report.table_report import answer_section

    found = compared.data(name)
    report_part("answer", answer_section(found))
    if compared.decision is None and found.evaluation.calibration:
        with ui.row().classes("places"):
            text("If errors differ in cost, give costs or move the threshold:", tag="span")
            ui.button(f"{COSTS} (step 3)", on_click=give_costs).props("flat dense")
            ui.button("Threshold (tab Costs and thresholds)", on_click=lambda: open_tab("Costs and thresholds")).props(
                "flat dense"
            )
    text("Model comparison", tag="h2")
    report_part("models", models_section(found))
    text("Performance", tag="h2")
    report_part("confusion", confusion_section(found))


def explanation(compared: Compared, name: str, open_tab: Callable[[str], None]) -> None:
    """One prediction; then the importance of the columns, coefficients, odds ratios, a nomogram and the calibration."""
    from ..report.sections import calibration_section, coefficients_section

    found, in_use = compared.data(name), compared.in_use(name)
    points = in_use.nomogram()
    text("Prediction of one row", tag="h2")
    ExplainedRow(in_use, compared.scenario, lambda: open_tab("What if")).build()
    text("Importance of columns", tag="h2")
    importance(compared, name)
    text("Coefficients", tag="h2")
    report_part("coefficients", coefficients_section(found))
    odds = LevelOddsTable(compared, name)
    if odds.levels:
        text("Odds ratios of levels", tag="h2")
        odds.build()
    if points is not None:
        text("Nomogram", tag="h2")
        rows = [(row.column, row.value, f"{row.points:.1f}") for row in points.rows]
        totals = [(f"{100 * p:g} %", f"{total:.1f}") for p, total in points.probabilities.items()]
        with ui.element("div").classes("side"):
            report_html(table(["Column", "Value", "Points"], rows, "Points of values", 1))
            report_html(table([f"Probability of {points.label}", "Total points"], totals, "Probabilities of totals", 1))
        text(f"Predicted class above {points.threshold:.1f} total points: {points.label}.", "remark")
    text("Calibration", tag="h2")
    report_part("calibration", calibration_section(found))


class LevelOddsTable:
    """Odds ratios of the levels of a category, relative to a level that can be chosen."""

    def __init__(self, compared: Compared, name: str) -> None:
        self.fitted = compared.models.fit(name)
        self.levels = categories_with_odds(self.fitted)

    def build(self) -> None:
        """Lay out the column, its reference level and the table."""
        names = list(self.levels)
        with ui.row().classes("finding"):
            self.column = ui.select(names, value=names[0], label="Column", with_input=True).props("dense outlined")
            self.reference = ui.select([], label="Reference level").props("dense outlined")
        self.shown = report_html("")
        self.column.on_value_change(self._offer)
        self.reference.on_value_change(self._show)
        self._offer()

    def _offer(self) -> None:
        levels = self.levels[self.column.value]
        self.reference.set_options(levels, value=levels[0])
        self._show()

    def _show(self) -> None:
        if self.reference.value not in self.levels[self.column.value]:
            return
        found = level_odds(self.fitted, self.column.value, self.reference.value)
        has_intervals = any(not math.isnan(row.low) for row in found)
        several_outcomes = len({row.outcome for row in found}) > 1
        rows = [
            [
                f"{row.level} (reference)" if row.level == self.reference.value else row.level,
                *([str(row.outcome)] if several_outcomes else []),
                f"{row.odds_ratio:.3g}",
                *([] if not has_intervals else ["" if math.isnan(row.low) else f"{row.low:.3g} to {row.high:.3g}"]),
            ]
            for row in found
        ]
        head = ["Level", *(["Class"] if several_outcomes else [])]
        head += [f"Odds ratio of {found[0].outcome}" if not several_outcomes else "Odds ratio"]
        head += ["95 % interval"] if has_intervals else []
        self.shown.set_content(table(head, rows, "Odds ratios of levels", 1 + has_intervals))


def importance(compared: Compared, name: str) -> None:
    """The increase of the held-out loss if the values of each column are permuted."""
    text(
        f"Permutation importance for {name}: the increase of the held-out loss if the values of a column are permuted. "
        "Columns that are correlated share their importance."
    )
    working, shown = Work("Permuting columns"), report_html("")

    async def show() -> None:
        found = await working.run(compared.importance, name, cancellable=True)
        if found is not None and not shown.is_deleted:
            shown.set_content(_importance_table(*found))

    ui.timer(0, show, once=True)


def _importance_table(measure: str, found: Sequence[ColumnImportance]) -> str:
    most = max([row.increase for row in found] + [1e-9])
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row.column)}</th><td class="number">{row.increase:.4f}</td>'
        f'<td class="number">{row.deviation:.4f}</td>'
        f'<td class="wide"><span class="bar" style="width:{100 * max(row.increase, 0) / most:.1f}%"></span></td></tr>'
        for row in found
    )
    head = f'<th scope="col">Column</th><th scope="col" class="number">Increase in {measure}</th>'
    head += '<th scope="col" class="number">SD over 5 folds</th><th class="wide"></th>'
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Importance of columns"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def validation(compared: Compared, name: str) -> None:
    """Performance corrected for optimism, calibration, decision curve and stability of predictions."""
    from ..report.validation_page import validation_blocks

    text("The model is refitted to bootstrap resamples; measures are corrected for optimism.")
    computed("Validating", lambda: compared.validated(name), validation_blocks)


def effects(compared: Compared, name: str) -> None:
    """Average slopes of the probabilities, and diagnostics of a logistic regression."""
    from ..report.validation_page import effect_blocks

    text("Average change of the predicted probability per unit of each numeric column.")
    computed("Computing effects", lambda: compared.validated(name), effect_blocks)


class Decide:
    """Sliders for threshold, costs and class share; they move counts, figures and the decision together.

    ``changed`` is called after the decision has changed, ``interest`` to choose the positive class of two classes.
    """

    def __init__(
        self,
        compared: Compared,
        name: str,
        changed: Callable[[], None],
        interest: Callable[[Hashable], Awaitable[None]],
    ) -> None:
        from ..report.cost_thresholds import RATIOS, thresholds_of

        self.compared, self.changed, self.interest = compared, changed, interest
        self.data = compared.data(name)
        own = [] if compared.decision is None else [compared.decision.cost_ratio]
        self.ratios = sorted({*RATIOS, *own})
        self.every = {found.label: found for found in thresholds_of(self.data)}
        self.are_probabilities = bool(self.data.evaluation.calibration)

    def build(self) -> None:
        """Lay out the sliders, the counts and the figures."""
        from ..report.table_report import calibration_warning

        if not self.every:
            text("This model has no scores on held-out data: the threshold cannot be changed.", "empty")
            return
        decision, warning = self.compared.decision, calibration_warning(self.data)
        if warning:
            text(warning, "warning")
        self.label = next(iter(self.every)) if decision is None else decision.label
        text(
            "The positive class is predicted if its probability is at least the threshold. A lower threshold increases "
            "the true positives and the false positives. Changing the cost ratio or the prevalence sets the "
            "threshold of minimum expected cost."
        )
        classes = list(self.every) if self.compared.positive is None else self.compared.table.classes
        with ui.element("div").classes("sliders"):
            options, now = dict(enumerate(map(str, classes))), classes.index(self.label)
            of = ui.select(options, value=now, label="Positive class").props("dense outlined")
            of.on_value_change(lambda event: self._choose(classes[event.value]))
            self.threshold = Slider("Threshold", 0, len(self.found.values) - 1, 0).moved(self._threshold_moved)
            self.ratio = Slider("Cost ratio, FN : FP", 0, len(self.ratios) - 1, 0)
            self.share = Slider("Prevalence of the class", 1, 99, 1)
            for slider in (self.ratio, self.share):
                slider.moved(self._costs_moved)
            with ui.row():
                ui.button("Minimum cost", on_click=self._cheapest).props("outline dense")
                ui.button("Reset", on_click=self._reset).props("flat dense")
        self.in_use = text("", "remark").props("aria-live=polite")
        self.counts = report_html("")
        self.reweighted = text("", "remark").props("aria-live=polite")
        with ui.element("div").classes("side") as self.plots:
            self._draw()
        self._restore()

    @property
    def found(self) -> Thresholds:
        """The thresholds of the positive class."""
        return self.every[self.label]

    @property
    def _training_share(self) -> int:
        return min(max(round(100 * self.compared.table.class_shares()[self.label]), 1), 99)

    @property
    def _share(self) -> float:
        """The class share of the slider; at its initial place that of the held-out rows, which is in the report."""
        _, share = self._chosen()
        return self.found.share if share is None else share

    def _restore(self) -> None:
        """Set the sliders to the decision that was chosen, or to the default one."""
        chosen = self.compared.decision or self._decision()
        self.ratio.set(self.ratios.index(chosen.cost_ratio))
        self.share.set(self._training_share if chosen.share is None else round(100 * chosen.share))
        self.threshold.set(self._place_of(chosen.applied_threshold), len(self.found.values) - 1)
        self._show()

    def _decision(self, ratio: float = 1.0, share: float | None = None, place: int | None = None) -> ClassDecision:
        threshold = None if place is None else float(self.found.values[place])
        return ClassDecision(self.label, self.compared.table.class_shares(), ratio, share, threshold)

    def _place_of(self, threshold: float) -> int:
        return int(abs(self.found.values - (threshold if self.are_probabilities else 0.0)).argmin())

    def _chosen(self) -> tuple[float, float | None]:
        """The cost ratio and the class share of the sliders; None for the share of the training data."""
        share = int(self.share.value)
        return self.ratios[int(self.ratio.value)], None if share == self._training_share else share / 100

    def _costs_moved(self) -> None:
        if self.are_probabilities:
            self.threshold.set(self._place_of(self._decision(*self._chosen()).cost_threshold))
        self._threshold_moved()

    def _threshold_moved(self) -> None:
        """Take over the decision of the sliders; the default one needs none."""
        if self.are_probabilities:
            chosen, place = self._decision(*self._chosen()), int(self.threshold.value)
            if place != self._place_of(chosen.cost_threshold):
                chosen = self._decision(*self._chosen(), place)
            self.compared.decision = None if chosen == self._decision() else chosen
            self.changed()
        self._show()

    def _choose(self, label: Hashable) -> Any:
        """Another positive class starts with the default decision."""
        self.compared.decision = None
        self.changed()
        if label not in self.every:  # the other one of two classes
            return self.interest(label)
        self.label = label
        self.plots.clear()
        with self.plots:
            self._draw()
        return self._restore()

    def _cheapest(self) -> None:
        ratio, _ = self._chosen()
        self.threshold.set(self.found.best(ratio, self._share))
        self._threshold_moved()

    def _reset(self) -> None:
        self.compared.decision = None
        self.changed()
        self._restore()

    def _draw(self) -> None:
        from ..figures import roc_curve
        from ..report.cost_thresholds import cost_figure
        from ..report.page import drawing

        curves = self.data.evaluation.roc
        assert curves is not None
        made = drawing("roc", roc_curve, curves.by_class[self.label])
        assert made.figure is not None
        self.roc_traces = len(made.figure["data"])
        made.figure["data"].append(dict(_POINT))
        self.roc = figure(made)
        self.cost = figure(drawing("cost", cost_figure, self.found, None, self.are_probabilities))

    def _show(self) -> None:
        """Show counts, rates and cost at the threshold, and the decision in use."""
        from ..report.page import short
        from ..report.sentences import precision_at
        from ..results import count, percent

        found, place, share = self.found, int(self.threshold.value), self._share
        ratio, _ = self._chosen()
        hits, alarms = float(found.hits[place]), float(found.alarms[place])
        sensitivity, specificity = float(found.sensitivity[place]), float(found.specificity[place])
        costs = found.costs(ratio, share)
        self.threshold.show(short(float(found.values[place])))
        self.ratio.show(f"{ratio:.3g} : 1" if ratio >= 1 else f"1 : {1 / ratio:.3g}")
        self.share.show(percent(share))
        label, rates = str(found.label), (sensitivity, specificity, precision_at(share, sensitivity, specificity))
        rows = [
            [label, f"{count(hits)} true positives", f"{count(found.n_positive - hits)} false negatives"],
            ["other", f"{count(alarms)} false positives", f"{count(found.n_negative - alarms)} true negatives"],
        ]
        is_reweighted = self._chosen()[1] is not None
        at = f" at prevalence {percent(share)}" if is_reweighted else ""
        measures = dict(zip(("Sensitivity", "Specificity", f"Precision{at}"), map(percent, rates), strict=True))
        counted = table(["True class", f"Predicted {label}", "Predicted other"], rows, "Counts at the threshold", 2)
        self.counts.set_content(counted + keys({**measures, f"Cost per 100 rows{at}": f"{costs[place]:.2f}"}))
        counts_of = f"Counts: held-out rows, prevalence {percent(found.share)}. Precision and cost: reweighted{at}."
        set_text(self.reweighted, counts_of if is_reweighted else "")
        _redraw(self.roc, {self.roc_traces: ([1 - specificity], [sensitivity])})
        values = found.values.tolist()
        _redraw(self.cost, {0: (values, costs.tolist()), 1: ([values[place]], [float(costs[place])])})
        decision = self.compared.decision
        default = "Default decision: the most probable class is predicted."
        used = f"Decision: {decision} It applies to What if, Predict, the model file, the report and the copied code."
        self.in_use.set_content(html.escape(default if decision is None else used))


def _redraw(plot: ui.plotly | None, traces: dict[int, tuple[list[float], list[float]]]) -> None:
    """Move some traces of a figure."""
    assert plot is not None
    for number, (x, y) in traces.items():
        plot.figure["data"][number] |= {"x": x, "y": y}
    plot.update()


def keys(values: Mapping[str, str]) -> str:
    """Figures under their names, as at the head of the report."""
    parts = "".join(
        f'<div class="key"><dt>{html.escape(name)}</dt><dd><span class="value">{html.escape(value)}</span></dd></div>'
        for name, value in values.items()
    )
    return f'<dl class="keys">{parts}</dl>'
