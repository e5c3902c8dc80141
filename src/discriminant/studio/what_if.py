"""What if: one row of the table, changed column by column; the decision in words, and what would turn it."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from nicegui import run, ui

from ..errors import DiscriminantError
from .frame import Latest, Work, report_html, table, text

if TYPE_CHECKING:
    from .table_work import Compared

#: More columns are not laid out as controls; they keep the values of the row.
_MOST_COLUMNS = 40
_SHOWN_CHANGES = 8
_FIRST_DAY = date(1970, 1, 1)
#: What stands for a missing value among the levels of a control: no level of a file has this letter.
_MISSING = "\0"


class WhatIf:
    """Controls for the values of a row, and what is decided for them."""

    def __init__(self, compared: Compared, name: str) -> None:
        self.compared, self.name = compared, name
        self.columns = compared.table.training.schema.used[:_MOST_COLUMNS]
        self.controls: dict[str, Any] = {}

    def build(self) -> None:
        """The controls on one side, the decision on the other."""
        rows = self.compared.table.training.row_numbers
        with ui.element("div").classes("side"):
            with ui.element("div"):
                row = ui.number("Row of the table", value=int(rows[0]), min=0, step=1, format="%d").props(
                    "dense outlined"
                )
                row.on_value_change(self._take)
                self.work = Work("Deciding")
                with ui.element("div").classes("values"):
                    for column in self.columns:
                        self.controls[column.name] = self._control(column)
                text("Columns that may not change", tag="h3")
                fixed = ui.select([column.name for column in self.columns], multiple=True, value=[]).props(
                    "dense outlined"
                )
                fixed.props["aria-label"] = "Columns that may not change"
                self.fixed = fixed
            self.shown = ui.element("div").props("aria-live=polite")
        self._decide = Latest(self._decided)
        self._set(int(rows[0]))
        for control in (*self.controls.values(), fixed):
            control.on_value_change(self._decide)
        ui.timer(0, self._decide, once=True)

    def _control(self, column: Any) -> Any:
        made: Any
        missing = {_MISSING: "missing"} if column.missing_column else {}
        if column.kind == "category":
            made = ui.select({level: level for level in column.told_apart} | missing, label=column.name)
        elif column.kind == "boolean":
            made = ui.select({0: "no", 1: "yes"} | missing, label=column.name)
        elif column.kind == "date":
            made = ui.input(column.name).props("type=date stack-label")
        else:
            made = ui.number(column.name, step=_step(column))
        return made.props("dense outlined")

    def _take(self, event: Any) -> None:
        place = self.compared.place_of_row(event.value)
        if place is None:
            self.work.fail(f"The table has no row {event.value} that was learned from.")
            return
        self.work.fail("")
        self._set(event.value)

    def _set(self, row: int) -> None:
        self.base = self.compared.coded_row(row)
        self.values = self.compared.raw_values(self.base)
        for column in self.columns:
            self.controls[column.name].set_value(_shown(column, self.values[column.name]))

    def _chosen(self, column: Any) -> Any:
        """The value of a control; a day that is still the row's is the row's moment of it."""
        given, before = self.controls[column.name].value, self.values[column.name]
        if given == _shown(column, before):
            return before
        if given in (_MISSING, None, ""):
            return None
        return float((date.fromisoformat(given) - _FIRST_DAY).days) if column.kind == "date" else given

    async def _decided(self) -> None:
        values = {column.name: self._chosen(column) for column in self.columns}
        if any(values[column.name] is None and not column.missing_column for column in self.columns):
            return
        fixed = list(self.fixed.value or ())
        try:
            found = await run.io_bound(self.compared.what_if, self.name, self.base, values, fixed)
        except DiscriminantError as error:
            self.work.fail(error)
            return
        self.shown.clear()
        with self.shown:
            _decision(found, {column.name for column in self.columns if column.kind == "date"})


def _shown(column: Any, value: Any) -> Any:
    """A value as its control takes it: days are dates, and a missing number is an empty field."""
    if column.kind in ("category", "boolean"):
        return _MISSING if value is None else value
    return _day(value) if column.kind == "date" else value


def _day(value: float | None) -> str:
    """The date of a number of days since the first of 1970."""
    return "" if value is None else (_FIRST_DAY + timedelta(days=math.floor(value))).isoformat()


def _step(column: Any) -> float | None:
    mean = abs(column.mean or 0.0)
    return 10.0 ** (len(str(int(mean))) - 2) if mean >= 1 else None


def _decision(found: Any, dates: set[str]) -> None:
    """The decision in words, what speaks for it, and what would turn it."""

    def written(column: str, value: Any) -> str:
        if value is None:
            return "missing"
        if column in dates:
            return _day(value)
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    text(f"Decided: {found.label}", "verdict", tag="h2")
    if found.why:
        text(found.why)
    if found.contributions is not None:
        rows = [
            (row.column, written(row.column, row.value), f"{row.contribution:+.3g}") for row in found.contributions.rows
        ]
        head = f"for {found.contributions.label}"
        text("What speaks for it", tag="h3")
        report_html(table(["Column", "Value", head], rows[:_SHOWN_CHANGES], "Contributions of columns", 1))
    text("What would turn it", tag="h3")
    changes = found.changes
    turning = [
        (name, written(name, one.before[0]), written(name, one.after[0]), f"{one.distance:.2f}", str(one.label))
        for name, one in ((one.columns[0], one) for one in changes.single[:_SHOWN_CHANGES])
    ]
    if turning:
        report_html(table(["Column alone", "Now", "From", "Distance", "Then"], turning, "Nearest changes", 4))
        text("Distances are in standard deviations of the column; another level counts one.", "remark")
    if changes.joint is not None:
        text(
            f"All numbers together: {len(changes.joint.columns)} columns change by {changes.joint.distance:.2f} "
            f"standard deviations in all, and the decision is {changes.joint.label}."
        )
    if not turning and changes.joint is None:
        text("No change within the ranges of the columns that may change turns it.", "absent")
