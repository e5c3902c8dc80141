"""One row of the table: its prediction with the contributions of the columns, other values, and nearest changes."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from nicegui import background_tasks, run, ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import ValueChangeEventArguments

from ..errors import DiscriminantError
from ..results import listed
from .frame import Latest, Work, report_html, table, text

if TYPE_CHECKING:
    from ..estimators.counterfactuals import NearestChanges
    from ..estimators.explanations import Contributions
    from ..tables.column import Column
    from ..workflow.exploring import DecidedRow, FittedInUse
    from .table_work import Scenario

Value = str | float | None
_ROW: Final = "Row of the table (first row: 0)"
#: Controls of a page; further columns keep the values of the row.
MAX_CONTROLS: Final = 40
SHOWN_CHANGES: Final = 8
_FIRST_DAY: Final = date(1970, 1, 1)
#: A remainder of contributions below this share of the score is rounding.
NEGLIGIBLE: Final = 1e-6
#: A missing value among the levels of a control; no level of a file contains this character.
_MISSING: Final = "\0"


class WhatIf:
    """Controls for the values of a row, and its prediction."""

    def __init__(self, in_use: FittedInUse, scenario: Scenario) -> None:
        self.in_use, self.scenario = in_use, scenario
        self.columns = in_use.fitted.schema.used[:MAX_CONTROLS]
        self.controls: dict[str, ValueElement] = {}
        self.written = partial(_written, self.columns)

    def build(self) -> None:
        """Lay out the controls on one side and the prediction on the other."""
        first, changes, fixed = _start(self.in_use, self.scenario)
        if self.in_use.decision is not None:
            text(f"Decision: {self.in_use.decision}", "remark")
        with ui.element("div").classes("side"):
            with ui.element("div"):
                row = ui.number(_ROW, value=first, min=0, step=1, format="%d").props("dense outlined")
                row.on_value_change(self._take)
                self.work = Work("Predicting")
                with ui.element("div").classes("values"):
                    for column in self.columns:
                        self.controls[column.name] = _control(column)
                text("Fixed columns", tag="h3")
                names = [column.name for column in self.columns]
                fixed = [name for name in fixed if name in names]
                self.fixed = ui.select(names, multiple=True, value=fixed).props("dense outlined")
                self.fixed.props["aria-label"] = "Fixed columns"
            with ui.element("div"):
                self.shown = ui.element("div").props("aria-live=polite")
                self.searching = Work("Searching for changes")
                self.changes = ui.element("div").props("aria-live=polite")
        self._decide, self._search = Latest(self._decided), Latest(self._searched)
        self.found: DecidedRow | None = None
        self._set(first)
        for column in self.columns:
            if column.name in changes:
                self.controls[column.name].set_value(_shown(column, changes[column.name]))
        for control in (*self.controls.values(), self.fixed):
            control.on_value_change(self._decide)
        ui.timer(0, self._decide, once=True)

    def _take(self, event: ValueChangeEventArguments) -> Awaitable[None] | None:
        is_known = self.in_use.place_of(event.value) is not None
        self.work.fail("" if is_known else _unknown(event.value))
        if is_known:
            self._set(int(event.value))
            return self._decide()
        self.found = None
        self.shown.clear()
        self.changes.clear()
        return None

    def _set(self, row: int) -> None:
        place = self.in_use.place_of(row)
        assert place is not None
        self.row, self.base = row, self.in_use.coded_row(place)
        self.values = self.in_use.raw_values(self.base)
        for column in self.columns:
            self.controls[column.name].set_value(_shown(column, self.values[column.name]))

    def _chosen(self, column: Column) -> Value:
        """The value of a control; a date that is still the row's keeps its time of day."""
        given, before = self.controls[column.name].value, self.values[column.name]
        if given == _shown(column, before):
            return before
        if given in (_MISSING, None, ""):
            return None
        return float((date.fromisoformat(given) - _FIRST_DAY).days) if column.kind == "date" else given

    async def _decided(self) -> None:
        values = {column.name: self._chosen(column) for column in self.columns}
        self.scenario.row, self.scenario.fixed = self.row, list(self.fixed.value or ())
        self.scenario.values = {name: value for name, value in values.items() if value != self.values[name]}
        empty = [column.name for column in self.columns if values[column.name] is None and not column.missing_column]
        if empty:
            self.found = None
            self.shown.clear()
            self.changes.clear()
            with self.shown:
                text(f"No prediction: give a value for {listed(empty, SHOWN_CHANGES)}.", "empty")
            return
        try:
            found = await run.io_bound(self.in_use.decided, self.base, values)
        except DiscriminantError as error:
            self.work.fail(error)
            return
        if found is None or self.shown.is_deleted:  # the server stops, or another model is shown
            return
        self.found = found
        self.shown.clear()
        with self.shown:
            _prediction(found, self.written, self.row, self.in_use.true_class(self.row))
        self.changes.clear()
        background_tasks.create(self._search())

    async def _searched(self) -> None:
        """Show the nearest changes of the last prediction; of thousands of columns the search takes some seconds."""
        found = self.found
        if found is None:
            return
        changes = await self.searching.run(self.in_use.changes, found.row, list(self.fixed.value or ()))
        if changes is None or found is not self.found or self.changes.is_deleted:
            return
        self.changes.clear()
        with self.changes:
            _changes(changes, self.written)


class ExplainedRow:
    """The prediction for one row with the contributions of the columns; the row is that of the tab What if.

    ``change`` opens that tab.
    """

    def __init__(self, in_use: FittedInUse, scenario: Scenario, change: Callable[[], None]) -> None:
        self.in_use, self.scenario, self.change = in_use, scenario, change
        self.written = partial(_written, in_use.fitted.schema.used)

    def build(self) -> None:
        """Lay out the number of the row, the prediction, and a way to change the row."""
        row, values, _ = _start(self.in_use, self.scenario)
        with ui.row().classes("finding"):
            number = ui.number(_ROW, value=row, min=0, step=1, format="%d").props("dense outlined")
            ui.button("Change its values in What if", on_click=self.change).props("flat dense")
        self.work, self.shown = Work("Predicting"), ui.element("div").props("aria-live=polite")
        show = Latest(self._show)
        self.row, self.values = row, values

        def take() -> Awaitable[None] | None:
            if self.in_use.place_of(number.value) is None:
                self.work.fail(_unknown(number.value))
                self.shown.clear()
                return None
            self.row, self.values = int(number.value), {}
            self.scenario.row, self.scenario.values = self.row, {}
            return show()

        number.on_value_change(take)
        ui.timer(0, show, once=True)

    async def _show(self) -> None:
        place = self.in_use.place_of(self.row)
        assert place is not None
        found = await self.work.run(self.in_use.decided, self.in_use.coded_row(place), self.values)
        if found is None or self.shown.is_deleted:
            return
        self.shown.clear()
        with self.shown:
            if self.values:
                changed = listed([f"{name} = {self.written(name, own)}" for name, own in self.values.items()], 10)
                text(f"With the values of What if: {changed}.", "remark")
            _prediction(found, self.written, self.row, self.in_use.true_class(self.row))


def _start(in_use: FittedInUse, scenario: Scenario) -> tuple[int, dict[str, Value], list[str]]:
    """The row, its changed values and the fixed columns that the user chose before, or the first row."""
    row = scenario.row if scenario.row is not None and in_use.place_of(scenario.row) is not None else None
    if row is None:
        return in_use.first_row, {}, []
    optional = {column.name for column in in_use.fitted.schema.used if column.missing_column}
    values = {name: value for name, value in scenario.values.items() if value is not None or name in optional}
    return row, values, list(scenario.fixed)


def _unknown(row: float | None) -> str:
    named = "This row" if row is None else f"Row {row:.15g}"
    return f"{named} is not in the training data. Enter another row number."


def _written(columns: Sequence[Column], name: str, value: Value) -> str:
    """A value of a column as text: days as dates."""
    if value is None:
        return "missing"
    if any(one.name == name and one.kind == "date" for one in columns):
        return _day(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _control(column: Column) -> ValueElement:
    missing = {_MISSING: "missing"} if column.missing_column else {}
    made: ValueElement
    if column.kind == "category":
        made = ui.select({level: level for level in column.distinct_levels} | missing, label=column.name)
    elif column.kind == "boolean":
        made = ui.select({0: "no", 1: "yes"} | missing, label=column.name)
    elif column.kind == "date":
        made = ui.input(column.name).props("type=date stack-label")
    elif column.kind == "text":
        made = ui.textarea(f"{column.name} (words)").props("autogrow")
    else:
        mean = abs(column.mean or 0.0)
        made = ui.number(column.name, step=10.0 ** (len(str(int(mean))) - 2) if mean >= 1 else None)
    return made.props("dense outlined")


def _shown(column: Column, value: Value) -> Value:
    """A value as its control shows it: days as dates, and a missing number as an empty field."""
    if column.kind in ("category", "boolean"):
        return _MISSING if value is None else value
    return _day(value) if column.kind == "date" else value


def _day(value: Value) -> str:
    """The date that is a number of days after 1 January 1970."""
    return "" if value is None else (_FIRST_DAY + timedelta(days=math.floor(float(value)))).isoformat()


def _contributions(found: Contributions, written: Callable[[str, Value], str]) -> None:
    """What the columns add to the score of an average row, up to the score of the row."""
    largest, others = found.rows[:SHOWN_CHANGES], found.rows[SHOWN_CHANGES:]
    rows = [("Average row (column means)", "", f"{found.lead_at_means:+.3g}")]
    rows += [(row.column, written(row.column, row.value), f"{row.contribution:+.3g}") for row in largest]
    # Contributions to a model that is not linear do not add up to its score.
    rest = found.lead - found.lead_at_means - sum(row.contribution for row in largest)
    if others or abs(rest) > NEGLIGIBLE * max(abs(found.lead), 1.0):
        rows.append(("Other columns" if others else "Interactions", "", f"{rest:+.3g}"))
    rows.append(("This row", "", f"{found.lead:+.3g}"))
    text(f"Contributions to the {found.unit} of {found.label} vs {found.against}", tag="h3")
    report_html(table(["Column", "Value", found.unit.capitalize()], rows, "Contributions of columns", 1))


def _prediction(found: DecidedRow, written: Callable[[str, Value], str], row: int, label: Hashable) -> None:
    """The prediction with its reason and the contributions of the columns; a table has ``label`` in this row."""
    text(f"Prediction: {found.label}", "verdict", tag="h2")
    if found.reason:
        text(found.reason)
    text(f"Class of row {row} in the table: {label}.")
    for name, (low, high) in found.outside.items():
        ends = f"{written(name, low)} to {written(name, high)}"
        text(f"{name} is outside the range of the training data, {ends}: the model extrapolates.", "warning")
    if found.contributions is not None:
        _contributions(found.contributions, written)
    if found.contributions is not None and found.lead_threshold is not None:
        text(
            f"With the decision in effect, {found.label} is predicted if the log-odds are at least "
            f"{found.lead_threshold:+.3g} (without it: 0)."
        )


def _changes(changes: NearestChanges, written: Callable[[str, Value], str]) -> None:
    """The nearest changes of single columns, and of all numeric columns together."""
    text("Smallest changes that alter the prediction", tag="h3")
    joint = changes.joint
    rows = [
        (name, written(name, one.before[0]), written(name, one.after[0]), f"{one.distance:.2f}", str(one.label))
        for name, one in ((one.columns[0], one) for one in changes.single[:SHOWN_CHANGES])
    ]
    if rows:
        report_html(table(["Column", "Value", "New value", "Distance", "New prediction"], rows, "Smallest changes", 4))
        text("One column changes at a time. Distance in standard deviations; a change of level counts as 1.", "remark")
    if joint is not None:
        text(
            f"All numeric columns together: {len(joint.columns)} columns change by {joint.distance:.2f} standard "
            f"deviations in total; the prediction is then {joint.label}."
        )
    if not rows and joint is None:
        text("No change of a single column within its range alters the prediction.", "empty")
