"""The tab Columns of the Table page: the distribution of each column by class, and the types of the columns."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from nicegui import run, ui
from nicegui.events import ValueChangeEventArguments

from ..results import several
from ..workflow.columns import Distribution, distribution, table_columns
from .frame import Latest, text
from .narrow import shade
from .table_panels import advice
from .table_work import TARGET_TYPES

if TYPE_CHECKING:
    from .table_work import Table

#: Cards that are shown at once; a search finds the others.
MAX_CARDS: Final = 24
NOT_USED: Final = "not used"
#: Size of a histogram in the units of its picture.
_WIDTH: Final = 240
_HEIGHT: Final = 84
_TYPES: Final = {
    "number": "number", "category": "category", "boolean": "yes or no", "date": "date",
    "date-dmy": "date, day first", "date-mdy": "date, month first", "text": "text (words)",
    NOT_USED: "not used (identifiers)",
}  # fmt: skip


class ColumnPanel:
    """Cards of the columns, with their types; ``apply`` reads the table with other types."""

    def __init__(self, table: Table, apply: Callable[[dict[str, str]], Awaitable[None]]) -> None:
        self.table, self.apply = table, apply
        self.names = [table.target, *(name for name in table.file.columns if name != table.target)]
        self.before = dict.fromkeys(table.drop, NOT_USED) | dict(table.types)
        self.chosen = dict(self.before)

    def build(self) -> None:
        """Lay out the search field and the cards."""
        self.colours = [shade(k) for k in range(len(self.table.classes))]
        text("Proportion of each class in each bin or level. If a column type is wrong, select another one.")
        with ui.row().classes("finding"):
            self.search = ui.input("Find a column").props("dense outlined clearable type=search")
            self.change = ui.button("Apply types", on_click=self._apply).props("unelevated")
        swatches = "".join(
            f'<span><i class="swatch" style="background:{colour}"></i> {html.escape(str(label))}</span>'
            for label, colour in zip(self.table.classes, self.colours, strict=True)
        )
        ui.html(swatches, sanitize=False).classes("legend-line")
        self.counted = text("", "remark").props("aria-live=polite")
        self.cards = ui.element("div").classes("cards")
        show = Latest(self._show)
        self.search.on_value_change(show)
        self.change.set_enabled(False)
        ui.timer(0, show, once=True)

    async def _apply(self) -> None:
        await self.apply(dict(self.chosen))

    def _choose(self, name: str, kind: str) -> None:
        if kind:
            self.chosen[name] = kind
        else:
            self.chosen.pop(name, None)
        self.change.set_enabled(self.chosen != self.before)

    async def _show(self) -> None:
        wanted = (self.search.value or "").strip().lower()
        names = [name for name in self.names if wanted in name.lower()]
        found = await run.io_bound(self._distributions, names[:MAX_CARDS])
        if found is None or self.cards.is_deleted:  # the server stops, or another tab is shown
            return
        more = f"; the first {MAX_CARDS} are shown" if len(names) > MAX_CARDS else ""
        self.counted.set_content(f"{several(len(names), 'column')}{more}.")
        self.cards.clear()
        with self.cards:
            for name in names[:MAX_CARDS]:
                self._card(name, found.get(name))

    def _distributions(self, names: Sequence[str]) -> dict[str, Distribution]:
        wanted, labelled = set(names), self.table.labelled
        return {
            column.name: distribution(labelled, column, where)
            for column, where in table_columns(labelled)
            if column.name in wanted
        }

    def _card(self, name: str, found: Distribution | None) -> None:
        column = next((one for one in self.table.labelled.schema.columns if one.name == name), None)
        with ui.element("section").classes("card"):
            is_target = name == self.table.target
            text(f"{name} (target)" if is_target else name, tag="h3")
            own = column is None or name in self.before
            automatic = "automatic" if own or column is None else f"{_TYPES.get(column.kind, column.kind)} (automatic)"
            offered = {kind: words for kind, words in _TYPES.items() if not is_target or kind in TARGET_TYPES}
            kinds = ui.select({"": automatic, **offered}, value=self.chosen.get(name, "")).props("dense outlined")
            kinds.props["aria-label"] = f"Type of {name}"

            def choose(event: ValueChangeEventArguments) -> None:
                self._choose(name, event.value)

            kinds.on_value_change(choose)
            if found is not None:
                ui.html(self._picture(name, found), sanitize=False)
            if is_target:
                ui.html(self._class_shares(), sanitize=False)
            elif found is None:
                text("Not used." if column is None else f"Not used: {column.dropped}.", "remark")
            for finding in self.table.training.findings:
                if finding.column == name:
                    text(advice(finding.message), "remark")

    def _picture(self, name: str, found: Distribution) -> str:
        return histogram(name, found, self.table.classes, self.colours) if found.ends else self._levels(found)

    def _class_shares(self) -> str:
        """A bar for the share of each class."""
        shares = np.diag(list(self.table.class_shares().values()))
        return self._levels(Distribution(list(map(str, self.table.classes)), shares))

    def _levels(self, found: Distribution) -> str:
        """Bars of the classes in each level."""
        most = max(float(found.shares.max()), 1e-9)
        rows = []
        for k, level in enumerate(found.bins):
            bars = "".join(
                f'<i style="width:{100 * share / most:.1f}%;background:{colour}" title="{html.escape(str(label))}: '
                f'{100 * share:.1f} %"></i>'
                for label, colour, share in zip(self.table.classes, self.colours, found.shares[:, k], strict=True)
            )
            rows.append(f'<dt title="{html.escape(level)}">{html.escape(level)}</dt><dd>{bars}</dd>')
        return f'<dl class="levels">{"".join(rows)}</dl>'


def histogram(name: str, found: Distribution, classes: Sequence[object], colours: Sequence[str]) -> str:
    """A histogram of each class as a picture, with its range below."""
    most, n = max(float(found.shares.max()), 1e-9), len(found.bins)
    step, parts = _WIDTH / n, list[str]()
    for colour, shares in zip(colours, found.shares, strict=True):
        corners = [f"0,{_HEIGHT}"]
        for k, share in enumerate(shares.tolist()):
            y = _HEIGHT - _HEIGHT * share / most
            corners += [f"{k * step:.1f},{y:.1f}", f"{(k + 1) * step:.1f},{y:.1f}"]
        corners.append(f"{_WIDTH},{_HEIGHT}")
        parts.append(
            f'<polygon points="{" ".join(corners)}" style="fill:{colour};stroke:{colour}" '
            'fill-opacity=".28" stroke-width="1.5" vector-effect="non-scaling-stroke"/>'
        )
    for k, words in enumerate(found.bins):
        own = ", ".join(
            f"{label} {100 * share:.1f} %" for label, share in zip(classes, found.shares[:, k].tolist(), strict=True)
        )
        title = html.escape(f"{words}: {own}")
        box = f'x="{k * step:.1f}" width="{step:.1f}" height="{_HEIGHT}"'
        parts.append(f'<rect {box} fill="transparent"><title>{title}</title></rect>')
    low, high = found.ends or ("", "")
    label = html.escape(f"Histogram of {name} by class, from {low} to {high}")
    return (
        f'<svg class="histogram" viewBox="0 -2 {_WIDTH} {_HEIGHT + 2}" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg><div class="ends"><span>{html.escape(low)}</span>'
        f"<span>{html.escape(high)}</span></div>"
    )


def types_of(chosen: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The declared types, and the columns that are not used."""
    types = {name: kind for name, kind in chosen.items() if kind != NOT_USED}
    return types, [name for name, kind in chosen.items() if kind == NOT_USED]
