"""What the Table page shows: the parts of the report, live, and sliders that move several of them together."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nicegui import ui

from ..errors import DiscriminantError
from .frame import Slider, figure, report_html, report_part, table, text

if TYPE_CHECKING:
    from .table_work import Compared, StoredTableModel, Table


def data(shown: Table) -> None:
    """What is in the table, and what to beware of."""
    report_part("data", shown.described())


def stored(found: StoredTableModel) -> None:
    """What a model file tells of its model."""
    report_html(table(["", ""], found.facts, "Facts of the model"))
    rows = found.coefficients()
    if rows:
        text("What the model has learned", tag="h2")
        report_html(table(["Column", "Class", "Coefficient"], rows, "Table of coefficients", 1))


def comparison(compared: Compared, name: str) -> None:
    """The answer, and the models with their intervals."""
    from ..report.sections import confusion_section, models_section
    from ..report.table_report import answer_section

    found = compared.data(name)
    report_part("answer", answer_section(found))
    text("The comparison", tag="h2")
    report_part("models", models_section(found))
    text("Where it is right and wrong", tag="h2")
    report_part("confusion", confusion_section(found))


def explanation(compared: Compared, name: str) -> None:
    """Coefficients, points to add up by hand, and whether probabilities come true."""
    from ..estimators.explanations import nomogram
    from ..report.sections import calibration_section, coefficients_section

    found = compared.data(name)
    text("What the model has learned", tag="h2")
    report_part("coefficients", coefficients_section(found))
    seen, schema = compared.table.training.seen(), compared.table.training.schema
    try:
        points = nomogram(compared.model(name), seen["lowest"], seen["highest"], schema)
    except DiscriminantError:
        points = None
    if points is not None:
        text("Points to add up by hand", tag="h2")
        rows = [(row.column, row.value, f"{row.points:.1f}") for row in points.rows]
        totals = [(f"{100 * p:g} %", f"{total:.1f}") for p, total in points.probabilities.items()]
        with ui.element("div").classes("side"):
            report_html(table(["Column", "Value", "Points"], rows, "Points of values", 1))
            report_html(table([f"Probability of {points.label}", "Total points"], totals, "Probabilities of totals", 1))
        text(f"Above {points.threshold:.1f} points in total the answer is {points.label}.", "remark")
    text("Whether its probabilities come true", tag="h2")
    report_part("calibration", calibration_section(found))


class Decide:
    """Threshold, costs and share of a class: one slider moves the counts, the point of the ROC curve and the cost."""

    def __init__(self, compared: Compared, name: str) -> None:
        from ..report.sections import RATIOS, thresholds_of

        self.data = compared.data(name)
        self.every, self.ratios = thresholds_of(self.data), RATIOS

    def build(self) -> None:
        """The sliders, and what they move."""
        from ..report.sections import standard_place

        if not self.every:
            text("There are no scores of held-out rows, so that other thresholds cannot be tried.", "absent")
            return
        self.found = self.every[0]
        are_probabilities = bool(self.data.evaluation.calibration)
        text(
            "A row is called one of the class where its score reaches the threshold. A lower one finds more of the "
            "class and raises more false alarms; which is better depends on what the two errors cost."
        )
        with ui.element("div").classes("sliders"):
            if len(self.every) > 1:
                labels = {i: str(one.label) for i, one in enumerate(self.every)}
                of = ui.select(labels, value=0, label="Class against all others").props("dense outlined")
                of.on_value_change(lambda event: self._choose(event.value))
            start = standard_place(self.found, are_probabilities)
            self.threshold = Slider("Threshold", 0, len(self.found.values) - 1, start).moved(self._show)
            equal = self.ratios.index(1.0)
            self.ratio = Slider("Cost of a miss : of a false alarm", 0, len(self.ratios) - 1, equal).moved(self._show)
            share = min(max(round(100 * self.found.share), 1), 99)
            self.share = Slider("Share of the class where it is used", 1, 99, share).moved(self._show)
            self.cheapest = ui.button("Go to the cheapest threshold", on_click=self._cheapest).props("outline dense")
        self.counts = report_html("")
        with ui.element("div").classes("side") as self.plots:
            self._draw()
        self._show()

    def _draw(self) -> None:
        from ..evaluation.curves import Rocs
        from ..figures import roc_curve
        from ..report.page import drawing
        from ..report.sections import cost_figure

        curve = self.data.evaluation.roc
        one = curve[self.found.label] if isinstance(curve, Rocs) else curve
        made = drawing("roc", roc_curve, one)
        assert made.figure is not None
        self.roc_traces = len(made.figure["data"])
        made.figure["data"].append(_point("the threshold"))
        self.roc = figure(made)
        self.cost = figure(drawing("cost", cost_figure, self.found, None, bool(self.data.evaluation.calibration)))

    def _choose(self, place: int) -> None:
        """Another class: its curve is drawn, and its thresholds are others."""
        from ..report.sections import standard_place

        self.found = self.every[place]
        self.plots.clear()
        with self.plots:
            self._draw()
        start = standard_place(self.found, bool(self.data.evaluation.calibration))
        self.threshold.set(start, len(self.found.values) - 1)

    def _cheapest(self) -> None:
        self.threshold.set(self.found.best(self.ratios[int(self.ratio.value)], self.share.value / 100))

    def _show(self) -> None:
        """Counts, rates and cost at the threshold, in all places at once."""
        from ..report.page import short
        from ..report.sentences import precision_at
        from ..results import count, percent

        found, place, share = self.found, int(self.threshold.value), self.share.value / 100
        ratio = self.ratios[int(self.ratio.value)]
        hits, alarms = float(found.hits[place]), float(found.alarms[place])
        sensitivity, specificity = float(found.sensitivity[place]), float(found.specificity[place])
        costs = found.costs(ratio, share)
        self.threshold.show(short(float(found.values[place])))
        self.ratio.show(f"{ratio:.3g} : 1" if ratio >= 1 else f"1 : {1 / ratio:.3g}")
        self.share.show(f"{100 * share:.0f} %")
        label, rates = str(found.label), (sensitivity, specificity, precision_at(share, sensitivity, specificity))
        rows = [
            [label, f"{count(hits)} hits", f"{count(found.n_positive - hits)} misses"],
            ["others", f"{count(alarms)} false alarms", f"{count(found.n_negative - alarms)} rightly left"],
        ]
        figures = dict(zip(("Sensitivity", "Specificity", "Precision"), map(percent, rates), strict=True))
        counted = table(["Truth", f"called {label}", "called otherwise"], rows, "Counts at the threshold", 2)
        self.counts.set_content(counted + keys({**figures, "Cost of 100 rows": f"{costs[place]:.2f}"}))
        _redraw(self.roc, {self.roc_traces: ([1 - specificity], [sensitivity])})
        values = found.values.tolist()
        _redraw(self.cost, {0: (values, costs.tolist()), 1: ([values[place]], [float(costs[place])])})


def _redraw(plot: Any, traces: dict[int, tuple[list[float], list[float]]]) -> None:
    """Move some traces of a figure."""
    for number, (x, y) in traces.items():
        plot.figure["data"][number] |= {"x": x, "y": y}
    plot.update()


def _point(name: str) -> dict[str, Any]:
    return {
        "type": "scatter", "x": [], "y": [], "mode": "markers", "name": name, "showlegend": False,
        "marker": {"color": "#D55E00", "size": 13, "line": {"color": "white", "width": 2}},
    }  # fmt: skip


def keys(values: Mapping[str, str]) -> str:
    """Figures under their names, as at the head of the report."""
    parts = "".join(
        f'<div class="key"><dt>{html.escape(name)}</dt><dd><span class="value">{html.escape(value)}</span></dd></div>'
        for name, value in values.items()
    )
    return f'<dl class="keys">{parts}</dl>'
