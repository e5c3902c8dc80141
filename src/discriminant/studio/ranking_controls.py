"""The controls of the Table page for the measure that ranks the models, and for the costs of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from .frame import text
from .narrow import fold

if TYPE_CHECKING:
    from .table_work import Ranking, Table

#: The measures that rank the models.
_METRICS: Final = {
    "": "automatic (log-loss)",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "auc": "AUC",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "cost": "expected cost",
}
COSTS: Final = "Costs of errors"


class RankingControls:
    """The measure, and below it the folded costs of errors: a cost is entered if and only if costs rank the models."""

    def __init__(self) -> None:
        self.metric = ui.select(_METRICS, value="", label="Rank the models by").props("dense outlined")
        with ui.expansion(COSTS, icon="balance").classes("copies") as self.panel:
            text(
                "If errors differ in cost, choose the positive class and the cost of a false negative: a row of this "
                "class that is assigned to another class. Any other error costs 1.",
                "remark",
            )
            with ui.element("div").classes("pair"):
                self.label = ui.select({}, label="Positive class of the costs").props("dense outlined")
                self.cost = ui.number("Cost of a false negative", min=0, step=1, placeholder="e.g. 5")
                self.cost.props("dense outlined stack-label")
            text("The models are then ranked by expected cost, and predictions minimise it.", "remark")
        self.metric.on_value_change(self._metric_chosen)
        self.cost.on_value_change(self._cost_given)

    @property
    def _given_cost(self) -> float | None:
        value = self.cost.value
        return float(value) if value and value > 0 else None

    def _metric_chosen(self, event: ValueChangeEventArguments) -> None:
        if event.value != "cost":
            self.cost.set_value(None)
        elif self._given_cost is None:
            self.panel.open()
            self.cost.set_value(1)

    def _cost_given(self) -> None:
        """Rank by expected cost if there is a cost, else by the default measure."""
        if self._given_cost is not None:
            self.metric.set_value("cost")
        elif self.metric.value == "cost":
            self.metric.set_value("")

    def offer(self, table: Table) -> None:
        """Offer the classes of a table, of which the rarest is chosen; a cost of other classes is removed."""
        options = {k: str(label) for k, label in enumerate(table.classes)}
        if options != self.label.options:
            rarest = min(table.labelled.class_rows.items(), key=lambda pair: pair[1])[0]
            self.cost.set_value(None)
            self.label.set_options(options, value=table.classes.index(rarest))

    def ranking(self, table: Table) -> Ranking:
        """The chosen measure, with the costs."""
        from .table_work import Ranking

        cost = self._given_cost
        return Ranking(self.metric.value or None) if cost is None else Ranking("cost", self._class(table), cost)

    def _class(self, table: Table) -> object:
        return table.classes[self.label.value]

    def show(self, ranking: Ranking, table: Table | None) -> None:
        """Show the measure of a comparison or project."""
        is_cost = ranking.metric == "cost" and table is not None
        if is_cost and table is not None:
            self.label.set_value(table.classes.index(ranking.label))
        self.cost.set_value(ranking.cost_ratio if is_cost else None)
        self.metric.set_value(ranking.metric or "")
        self.panel.set_value(is_cost)

    def open(self, rail: ui.element) -> None:
        """Unfold the costs, and move the keyboard to them."""
        fold(rail, False)
        self.panel.open()
        self.cost.run_method("focus")
        rail.client.run_javascript(f'getHtmlElement({self.panel.id}).scrollIntoView({{ block: "center" }})')
