"""The list of classes on the Image page.

Its rows are updated in place: replacing them would lose events of the old rows and names that are being typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from nicegui import ui

from ..results import several
from .frame import set_text, text

if TYPE_CHECKING:
    from .image_page import ImagePage


#: The browser makes the class active at once, and the server follows.
_CHOOSE: Final = "event => { window.plane?.choose(event.currentTarget.dataset.label); emit(); }"


class Colour(ui.element, component="static/colour.js"):
    """A colour input; see static/colour.js."""

    def __init__(self, chosen: Callable[[str], Any]) -> None:
        super().__init__()
        self.on("change", lambda event: chosen(event.args))


class ClassRow:
    """A class: its name, number of areas and colour, and a button to rename, merge or delete it."""

    def __init__(self, classes: ClassList, name: str) -> None:
        self.classes, self.page, self.name = classes, classes.page, name
        with ui.element("div").classes("class-row") as self.place:
            self._button = ui.element("button").classes("class").props("type=button role=radio")
            self._button.on("click", lambda: self.page.choose_class(self.name), js_handler=_CHOOSE)
            with self._button:
                self._name = text("", tag="span")
                self._count, self._number = text("", "remark", tag="span"), text("", "remark", tag="kbd")
            self._colour = Colour(self._coloured)
            self._edit = ui.button(icon="edit", on_click=self._ask).props("flat dense round")

    def show(self, number: int, n_areas: int) -> None:
        """Show the current state of the class; ``number`` is its key on the keyboard."""
        macro = self.page.work.macros.get(self.name)
        set_text(self._name, self.name if macro is None else f"{self.name} → {macro}")
        set_text(self._count, several(n_areas, "area"))
        set_text(self._number, str(number))
        self._button.props["data-label"] = self.name
        self._button.props["aria-checked"] = "true" if self.name == self.page.active else "false"
        self._colour.props["value"] = self.page.work.colours[self.name]
        self._colour.props["aria-label"] = f"Colour of {self.name}"
        self._edit.props["aria-label"] = f"Rename, merge or delete {self.name}"

    async def _coloured(self, colour: str) -> None:
        await self.page.change(lambda: self.page.work.colour_class(self.name, colour))

    def _ask(self) -> None:
        """Open the dialog to rename, merge or delete the class."""
        with ui.dialog(value=True) as dialog, ui.card().classes("dialog"):
            dialog.props["aria-label"] = f"Class {self.name}"
            dialog.on("hide", dialog.delete)
            given = ui.input("Name of the class", value=self.name).props("dense outlined autofocus")
            macro = ui.input("Macro-class in the map", value=self.page.work.macros.get(self.name, ""))
            macro.props("dense outlined")
            text("Classes with the same macro-class are merged in map, hectares and accuracy.", "remark")

            async def act(change: Callable[[], None]) -> None:
                dialog.close()
                await self.page.change(change)

            def save() -> Any:
                return act(lambda: self.classes.save(self, given.value or "", macro.value or ""))

            for control in (given, macro):
                control.on("keydown.enter", save)
            with ui.row():
                ui.button("Save", on_click=save).props("unelevated dense")
                delete = ui.button("Delete with its training areas").props("outline dense")
                delete.on_click(lambda: act(lambda: self.page.work.delete_class(self.name)))
                ui.button("Cancel", on_click=dialog.close).props("flat dense")


class ClassList:
    """The rows of all classes in order."""

    def __init__(self, page: ImagePage) -> None:
        self.page, self._rows = page, dict[str, ClassRow]()
        self._place = ui.element("div").classes("classes").props('role=radiogroup aria-label="Class to draw"')

    def show(self) -> None:
        """Update the rows to the current classes; rows of existing classes stay."""
        work = self.page.work
        for name in self._rows.keys() - work.colours.keys():
            self._rows.pop(name).place.delete()
        shown = self._place.default_slot.children
        for number, name in enumerate(work.colours):
            if name not in self._rows:
                with self._place:
                    self._rows[name] = ClassRow(self, name)
            row = self._rows[name]
            if shown[number] is not row.place:
                row.place.move(target_index=number)
            row.show(number + 1, sum(area.label == name for area in work.areas))

    def save(self, row: ClassRow, name: str, macro: str) -> None:
        """Rename the class of a row, and set its macro-class."""
        work = self.page.work
        if name != row.name:
            self._rename(row, name)
        work.merge_class(row.name, macro)

    def _rename(self, row: ClassRow, name: str) -> None:
        work = self.page.work
        number = list(work.colours).index(row.name)
        work.rename_class(row.name, name)
        new = list(work.colours)[number]  # without spaces around it
        if self.page.active == row.name:
            self.page.active = new
        self._rows[new] = self._rows.pop(row.name)
        row.name = new
