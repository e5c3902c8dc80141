"""What the Image page shows below the image: areas, signatures, separability, accuracy, and points to be checked."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from nicegui import run, ui

from ..errors import DiscriminantError
from .frame import Work, figure, report_blocks, text

if TYPE_CHECKING:
    from .image_page import ImagePage

#: Points that are drawn to be checked if nothing else is asked for, and of each class at least.
_POINTS, _AT_LEAST = 60, 10
#: Doublings beyond the image's own pixels at which a point is looked at.
_CLOSE = 2
_CROSSED_OUT = "circle-open"


class AreaPanel:
    """All areas; the chosen one with its corners as numbers."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        self.place: Any = None

    def build(self) -> None:
        """The list."""
        self.place = None
        if not self.page.work.areas:
            text("Name a class on the left, then draw its areas: take a tool above the image.", "absent")
            return
        self.place = ui.element("div")
        self.chosen(self.page.chosen)

    def chosen(self, place: int | None) -> None:
        """Show which area is chosen."""
        if self.place is None or self.place.is_deleted:
            return
        self.place.clear()
        with self.place:
            if place is None:
                text("Choose an area, here or on the image, to move its corners or delete it.", "remark")
            else:
                self._corners(place)
            with ui.element("div").classes("areas"):
                for number in range(len(self.page.work.areas)):
                    self._area(number, number == place)

    def _corners(self, place: int) -> None:
        area = self.page.work.areas[place]
        written = "  ".join(f"{column:.1f}, {row:.1f}" for column, row in area.corners)
        given = ui.input(f"Corners of area {place + 1}: column and row of each", value=written).props("dense outlined")
        given.classes("typed")
        given.on("keydown.enter", lambda: self.page.move_by_numbers(place, given.value or ""))

    def _area(self, place: int, is_chosen: bool) -> None:
        work = self.page.work
        area = work.areas[place]
        kind = "point" if len(area.corners) < 3 else f"{len(area.corners)} corners"
        with ui.element("div").classes("area"):
            ui.element("span").classes("swatch").style(f"background: {work.colours[area.label]}")
            button = ui.element("button").props("type=button").classes("plain")
            button.props["aria-pressed"] = "true" if is_chosen else "false"
            button.on("click", lambda: self.page.choose(None if is_chosen else place))
            with button:
                text(f"{place + 1}. {area.label}", tag="span")
                text(kind, "remark", tag="span")
            delete = ui.button(icon="delete", on_click=partial(self.page.delete_area, place)).props("flat dense round")
            delete.props["aria-label"] = f"Delete area {place + 1}"


class SignaturePanel:
    """Counts, spectra, and a scatter whose points know their area: either side shows what is chosen on the other."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        self.plot: Any = None

    def build(self) -> None:
        """The table of classes, the spectra and the scatter."""
        from ..raster.figures import band_scatter, signatures
        from ..report.page import drawing
        from ..report.raster_page import Block, samples_blocks

        work = self.page.work
        assert work.trained is not None
        found, colours = work.trained.samples, work.colours
        report_blocks([block for block in samples_blocks(found, None, colours) if isinstance(block, Block)])
        names = list(found.band_names)
        with ui.element("div").classes("side"):
            figure(drawing("signatures", signatures, found, colours))
            with ui.element("div"):
                if len(names) < 2:
                    return
                with ui.element("div").classes("thirds"):
                    axes = {name: name for name in names}
                    across, up = (
                        ui.select(axes, value=value, label=words).props("dense outlined")
                        for words, value in (("Across", names[0]), ("Up", names[1]))
                    )
                place = ui.element("div")

                def draw() -> None:
                    place.clear()
                    with place:
                        self._scatter(drawing("scatter", band_scatter, found, across.value, up.value, colours))

                across.on_value_change(draw)
                up.on_value_change(draw)
                draw()

    def _scatter(self, made: Any) -> None:
        self.traces = [trace for trace in made.figure["data"] if "customdata" in trace]
        made.figure["data"].append(
            {
                "type": "scatter", "mode": "markers", "name": "chosen area", "x": [], "y": [], "hoverinfo": "skip",
                "showlegend": False, "marker": {"symbol": _CROSSED_OUT, "size": 12, "color": "#222222"},
            }
        )  # fmt: skip
        self.plot = figure(made)
        point = "event => event.points[0].customdata && emit(event.points[0].customdata)"
        self.plot.on("plotly_click", lambda event: self._pointed(event.args, choose=True), js_handler=point)
        self.plot.on("plotly_hover", lambda event: self._pointed(event.args), js_handler=point, throttle=0.1)
        self.chosen(self.page.chosen)

    def _pointed(self, pixel: list[int], choose: bool = False) -> None:
        area, column, row = map(int, pixel)
        self.page.call("showSpot", self.page.work.place(column + 0.5, row + 0.5))
        if choose:
            self.page.choose(area - 1)

    def chosen(self, place: int | None) -> None:
        """Ring the pixels of an area."""
        if self.plot is None or self.plot.is_deleted:
            return
        rings: dict[str, list[float]] = {"x": [], "y": []}
        for trace in self.traces:
            own = np.array(_numbers(trace["customdata"])).reshape(-1, 3)[:, 0] == (0 if place is None else place + 1)
            for axis, values in rings.items():
                values += np.asarray(_numbers(trace[axis]))[own].tolist()
        self.plot.figure["data"][-1] |= rings
        self.plot.update()


def _numbers(values: Any) -> Any:
    """Numbers of a figure, which plotly packs."""
    if not isinstance(values, dict):
        return values
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def separability_panel(page: ImagePage) -> None:
    """How well the classes can be told apart, and by which bands."""
    from ..report.raster_page import separability_blocks

    _worked_out("Comparing the classes", page.work.separability, separability_blocks)


def accuracy_panel(page: ImagePage) -> None:
    """How right the map would be on areas the model has not seen."""
    from ..report.raster_page import agreement_blocks

    _worked_out("Holding areas out in turn", page.work.accuracy, agreement_blocks)


def _worked_out(name: str, find: Callable[[], Any], blocks: Callable[[Any], Any]) -> None:
    """Blocks of the report on what is worked out in a thread."""
    working, place = Work(name), ui.element("div")

    async def show() -> None:
        found = await working.run(find)
        if found is not None:
            with place:
                report_blocks(blocks(found))

    ui.timer(0, show, once=True)


class CheckPanel:
    """Points drawn by map class, shown one by one without the map; then what the map is worth."""

    def __init__(self, page: ImagePage) -> None:
        self.page, self.at = page, None if page.state.check is None else page.state.check.next

    @property
    def is_asking(self) -> bool:
        """Whether a point is waiting for its class."""
        return self.at is not None

    def chosen(self, place: int | None) -> None:
        """Areas do not matter here."""

    def build(self) -> None:
        """What to do next: draw points, label one, or read what came of it."""
        self.place = ui.element("div")
        self.work = Work("Drawing points")
        self._show()

    def _show(self) -> None:
        check = self.page.state.check
        self.place.clear()
        with self.place:
            if check is None:
                if self.page.work.trained is None:
                    text("Draw areas of two classes or more.", "absent")
                else:
                    self._drawing()
                return
            text(f"{check.n_labelled} of {len(check.labels)} points have a class.", "remark")
            if self.at is not None:
                self._asking(self.at)
            else:
                self.page.call("showSpot", None)
            if check.n_labelled and self.at is None:
                ui.timer(0, self._estimate, once=True)
            with ui.row():
                if check.n_labelled and self.at is not None:
                    ui.button("Estimates so far", on_click=self._estimate).props("outline dense")
                ui.button("Draw other points", on_click=self._again).props("flat dense")
            self.estimates = ui.element("div")

    def _drawing(self) -> None:
        text(
            "A map is worth what a sample of it says. Points are drawn at random within each class of the map; you say "
            "what each is, without seeing the map, and accuracies and areas are estimated with their intervals."
        )
        with ui.element("div").classes("thirds"):
            total = ui.number("Points in all", value=_POINTS, min=2, step=1, format="%d").props("dense outlined")
            least = ui.number("At least in each class", value=_AT_LEAST, min=2, step=1, format="%d").props(
                "dense outlined"
            )
        ui.button("Draw points", on_click=lambda: self._draw(total.value, least.value)).props("unelevated")

    async def _draw(self, total: Any, least: Any) -> None:
        from .image_check import drawn_check

        work, numbers = self.page.work, (int(total or 0), int(least or 0))
        found = await self.work.run(lambda progress: drawn_check(work, *numbers, progress), cancellable=True)
        if found is not None:
            self.page.state.check, self.at = found, 0
            self._show()

    def _again(self) -> None:
        self.page.state.check, self.at = None, None
        self.page.call("showSpot", None)
        self._show()

    def _asking(self, at: int) -> None:
        check, page = self.page.state.check, self.page
        assert check is not None
        place = page.work.place(*check.places[at])
        page.call("setOpacity", 0)
        page.call("lookAt", place, page.work.zooms + _CLOSE)
        page.call("showSpot", place)
        column, row = check.places[at]
        now = "" if check.labels[at] is None else f" Said: {check.labels[at]}."
        text(f"Point {at + 1} of {len(check.labels)}: what is there?", tag="h3")
        text(f"Column {column:.0f}, row {row:.0f}.{now}", "remark")
        with ui.element("div").classes("answers").props('role=group aria-label="Class of the point"'):
            for number, (name, colour) in enumerate(page.work.colours.items(), 1):
                button = ui.element("button").props("type=button").classes("class")
                button.on("click", partial(self.label, name))
                with button:
                    ui.element("span").classes("swatch").style(f"background: {colour}")
                    text(name, tag="span")
                    text(str(number), "remark", tag="kbd")
        with ui.row():
            for words, icon, to in (("Back", "arrow_back", at - 1), ("Skip", "arrow_forward", at + 1)):
                button = ui.button(words, icon=icon, on_click=partial(self._go, to)).props("flat dense")
                button.set_enabled(0 <= to < len(check.labels))

    def _go(self, at: int) -> None:
        self.at = at
        self._show()

    async def label(self, name: str) -> None:
        """Say what the point is; the answer is on the disk before the next is asked for."""
        from .image_check import keep_check

        check, at = self.page.state.check, self.at
        if check is None or at is None:
            return
        found = check.labelled(at, name)
        try:
            await run.io_bound(keep_check, self.page.work, found)
        except (DiscriminantError, OSError) as error:
            self.work.fail(error)
            return
        self.page.state.check = found
        later = [i for i in range(at + 1, len(found.labels)) if found.labels[i] is None]
        self.at = later[0] if later else found.next
        self._show()

    async def _estimate(self) -> None:
        from ..report.raster_page import adjusted_blocks
        from .image_check import assessment, command

        check, work = self.page.state.check, self.page.work
        assert check is not None
        found = await self.work.run(assessment, work, check)
        adjusted = None if found is None else await self.work.run(found.area_adjusted)
        if found is not None and adjusted is not None:
            self.estimates.clear()
            with self.estimates:
                text("What the map is worth", tag="h3")
                report_blocks(adjusted_blocks(adjusted, "pixels" if found.hectares is None else "hectares"))
                text(shlex.join(command(work, check)), tag="pre")
