"""The tabs of the Image page: areas, signatures, separability, accuracy, and a check with labelled points."""

from __future__ import annotations

import base64
import re
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from nicegui import run, ui

from ..errors import DiscriminantError, InputError
from ..results import several
from .frame import Work, computed, figure, report_blocks, set_text, text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..report.page import Drawing
    from .image_areas import Area
    from .image_page import ImagePage

R = TypeVar("R")
#: An array as Plotly writes it: packed in base64, or a list.
Packed = dict[str, str] | list[float]

#: Number of areas in the list: a browser takes seconds for thousands of rows.
MAX_LISTED_AREAS: Final = 100
#: Default number of points of the check, in total and at least in each class.
DEFAULT_POINTS: Final = 60
DEFAULT_POINTS_PER_CLASS: Final = 10
#: Zoom levels beyond the resolution of the image at which a point is shown.
CHECK_ZOOM_LEVELS: Final = 2
_RING = "circle-open"


class AreaRow:
    """An area in the list, and a button to delete it."""

    def __init__(self, page: ImagePage, key: int) -> None:
        with ui.element("div").classes("area") as self.place:
            self._swatch = ui.element("span").classes("swatch")
            self._button = ui.element("button").props("type=button").classes("plain")
            self._button.on("click", lambda: page.choose(None if page.chosen == key else key))
            with self._button:
                self._name, self._kind = text("", tag="span"), text("", "remark", tag="span")
            self._delete = ui.button(icon="delete", on_click=partial(page.delete_area, key)).props("flat dense round")
        self._shown: tuple[int, Area, str, bool] | None = None

    def show(self, number: int, area: Area, colour: str, is_chosen: bool) -> None:
        """Show the current state of the area."""
        if self._shown == (number, area, colour, is_chosen):
            return
        self._shown = number, area, colour, is_chosen
        set_text(self._name, f"{number}. {area.label}")
        n = sum(map(len, area.rings))
        set_text(self._kind, "point" if n == 1 else f"{area.shape.geom_type.lower()}, {n} corners")
        self._swatch.style(f"background: {colour}")
        self._button.props["aria-pressed"] = "true" if is_chosen else "false"
        self._delete.props["aria-label"] = f"Delete area {number}"


class AreaPanel:
    """All areas; the selected one with the coordinates of its corners.

    Its rows are updated in place, as those of the classes: replacing them would lose clicks on the old rows.
    """

    def __init__(self, page: ImagePage) -> None:
        self.page, self._rows = page, dict[int, AreaRow]()
        self._place: Any = None
        self._shown: Area | None = None  #: the area whose corners are shown

    def build(self) -> None:
        """Build the list."""
        self._hint = text("", "remark")
        self._corners = ui.input("").props("dense outlined").classes("typed")
        self._corners.on("keydown.enter", self._move)
        self._place = ui.element("div").classes("areas")
        self._more = text("", "remark")
        self.show()

    def show(self) -> None:
        """Update the rows to the current areas; rows of existing areas stay."""
        if self._place is None:
            return
        work, chosen = self.page.work, self.page.work.place_of(self.page.chosen)
        set_text(
            self._hint,
            "Select an area, here or on the image, to move its corners or delete it."
            if work.areas
            else "Add a class and draw its areas with a tool above the image, or import training areas (step 2).",
        )
        self._hint.visible = chosen is None
        self._show_corners(chosen)
        listed = [(place, area) for place, area in enumerate(work.areas) if place < MAX_LISTED_AREAS or place == chosen]
        for key in self._rows.keys() - {area.key for _, area in listed}:
            self._rows.pop(key).place.delete()
        shown = self._place.default_slot.children
        for position, (place, area) in enumerate(listed):
            if area.key not in self._rows:
                with self._place:
                    self._rows[area.key] = AreaRow(self.page, area.key)
            row = self._rows[area.key]
            if shown[position] is not row.place:
                row.place.move(target_index=position)
            row.show(place + 1, area, work.colours[area.label], place == chosen)
        n_more = len(work.areas) - len(listed)
        set_text(self._more, f"and {several(n_more, 'more area')}: select them on the image" if n_more else "")

    def _show_corners(self, place: int | None) -> None:
        """Show the corners of the selected area; what is typed stays until the area changes."""
        area, shown = None if place is None else self.page.work.areas[place], self._shown
        self._corners.visible = area is not None and area.shape.geom_type != "LineString"
        if area is None or place is None:
            return
        self._corners.props["label"] = f"Corners of area {place + 1}: x and y of each, in pixels"
        if shown is None or (area.key, area.shape) != (shown.key, shown.shape):
            self._shown = area
            self._corners.set_value("  ".join(f"{column:.1f}, {row:.1f}" for column, row in area.rings[0]))

    async def _move(self) -> None:
        if self._shown is not None:
            await self.page.move_by_numbers(self._shown.key, self._corners.value or "")


def corners_of(given: str) -> list[tuple[float, float]]:
    """The corners of an area: two numbers are a point, four a rectangle, more the corners of a polygon.

    >>> corners_of("10, 20, 30, 40")
    [(10.0, 20.0), (30.0, 20.0), (30.0, 40.0), (10.0, 40.0)]
    """
    numbers = [float(part) for part in re.findall(r"\d+(?:\.\d+)?", given)]
    if len(numbers) == 4 and numbers[0] < numbers[2] and numbers[1] < numbers[3]:
        left, top, right, bottom = numbers
        return [(left, top), (right, top), (right, bottom), (left, bottom)]
    if len(numbers) == 2 or (len(numbers) >= 6 and len(numbers) % 2 == 0):
        return list(zip(numbers[::2], numbers[1::2], strict=True))
    raise InputError(
        "These are not coordinates of an area. Give left, top, right and bottom of a rectangle, x and y of a point, "
        "or x and y of each corner of a polygon, in pixels."
    )


class SignaturePanel:
    """Pixel counts, spectra, and a scatter plot linked with the areas on the image."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        self.plot: Any = None
        self._axes: tuple[str, str] | None = None  #: bands that the user has chosen; by default the best ones

    def build(self) -> None:
        """Build the table of classes, the spectra and the scatter plot."""
        from ..raster.figures import band_scatter, signatures
        from ..report.page import Block, drawing
        from ..report.raster_page import samples_blocks

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
                        for words, value in zip(("Horizontal axis", "Vertical axis"), self._bands(names), strict=True)
                    )
                place = ui.element("div")

                def choose() -> None:
                    self._axes = across.value, up.value
                    draw()

                def draw() -> None:
                    place.clear()
                    with place:
                        self._scatter(drawing("scatter", band_scatter, found, across.value, up.value, colours))

                across.on_value_change(choose)
                up.on_value_change(choose)
                draw()

    def _bands(self, names: list[str]) -> tuple[str, str]:
        """The bands of the scatter plot: those that the user has chosen, or that separate the classes best."""
        trained = self.page.work.trained
        assert trained is not None
        if self._axes is not None and set(self._axes) <= set(names):
            return self._axes
        return trained.bands[0], trained.bands[1]

    def _scatter(self, made: Drawing) -> None:
        assert made.figure is not None
        self.traces = [trace for trace in made.figure["data"] if "customdata" in trace]
        made.figure["data"].append(
            {
                "type": "scatter", "mode": "markers", "name": "selected area", "x": [], "y": [], "hoverinfo": "skip",
                "showlegend": False, "marker": {"symbol": _RING, "size": 12, "color": "#222222"},
            }
        )  # fmt: skip
        self.plot = figure(made)
        point = "event => event.points[0].customdata && emit(event.points[0].customdata)"
        self.plot.on("plotly_click", lambda event: self._pointed(event.args, choose=True), js_handler=point)
        self.plot.on("plotly_hover", lambda event: self._pointed(event.args), js_handler=point, throttle=0.1)
        self.mark()

    def _pointed(self, pixel: list[int], choose: bool = False) -> None:
        area, column, row = map(int, pixel)
        self.page.call("showSpot", self.page.work.place(column + 0.5, row + 0.5), False)
        if choose and area <= len(self.page.work.areas):
            self.page.choose(self.page.work.areas[area - 1].key)

    def mark(self) -> None:
        """Mark the pixels of the selected area."""
        if self.plot is None or self.plot.is_deleted:
            return
        place = self.page.work.place_of(self.page.chosen)
        rings: dict[str, list[float]] = {"x": [], "y": []}
        for trace in self.traces:
            own = np.array(_numbers(trace["customdata"])).reshape(-1, 3)[:, 0] == (0 if place is None else place + 1)
            for axis, values in rings.items():
                values += np.asarray(_numbers(trace[axis]))[own].tolist()
        self.plot.figure["data"][-1] |= rings
        self.plot.update()


def _numbers(values: Packed) -> ArrayLike:
    """The numbers of a figure, which Plotly packs in base64."""
    if not isinstance(values, dict):
        return values
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def separability_panel(page: ImagePage) -> None:
    """The separability of the classes, and by which bands."""
    from ..report.raster_page import separability_blocks

    computed("Computing separability", page.work.separability, separability_blocks)


def accuracy_panel(page: ImagePage) -> None:
    """The accuracy on held-out training areas."""
    from ..report.raster_page import agreement_blocks

    trained = page.work.trained
    is_merged = trained is not None and trained.rule.macro is not None
    if is_merged:
        text("Macro-classes", tag="h2")
    computed("Cross-validating by area", page.work.accuracy, agreement_blocks)
    if is_merged:
        text("Classes before merging", tag="h2")
        computed("Cross-validating by area", page.work.class_accuracy, agreement_blocks)


class CheckPanel:
    """Points sampled by map class, labelled one by one without the map, and the estimated accuracy of the map."""

    def __init__(self, page: ImagePage) -> None:
        self.page, self.at = page, None if page.state.check is None else page.state.check.next
        self._is_waiting = False  #: whether the panel waits for a map

    @property
    def is_asking(self) -> bool:
        """Whether a point is waiting for its label."""
        return self.at is not None

    def trained(self) -> None:
        """Show whether there is a map to check; numbers that are being typed stay."""
        if self._is_waiting and self.page.work.trained is not None:
            self._show()

    def build(self) -> None:
        """Build the current step: draw points, label a point, or show the estimates."""
        self.place = ui.element("div")
        self.work = Work("Sampling points")
        self._show()

    def _show(self) -> None:
        check = self.page.state.check
        self.place.clear()
        with self.place:
            self._is_waiting = check is None and self.page.work.trained is None
            if check is None:
                if self._is_waiting:
                    text("Draw areas of at least two classes.", "empty")
                else:
                    self._drawing()
                return
            text(f"{check.n_labelled} of {len(check.labels)} points are labelled.", "remark")
            if self.at is not None:
                self._asking(self.at)
            else:
                self.page.call("showSpot", None, False)
                # The map was hidden while points were labelled.
                self.page.call("setOpacity", self.page.map.opacity.value / 100)
            if check.n_labelled and self.at is None:
                ui.timer(0, self._estimate, once=True)
            with ui.row():
                if check.n_labelled and self.at is not None:
                    ui.button("Current estimates", on_click=self._estimate).props("outline dense")
                ui.button("Sample other points", on_click=self._again).props("flat dense")
            self.estimates = ui.element("div")

    def _drawing(self) -> None:
        text(
            "The accuracy of a map is estimated from a sample of points, drawn at random within each class of the map. "
            "Label the points without seeing the map; accuracies and hectares are then estimated with intervals."
        )
        with ui.element("div").classes("thirds"):
            total = ui.number("Number of points", value=DEFAULT_POINTS, min=2, step=1, format="%d").props(
                "dense outlined"
            )
            least = ui.number("Minimum per class", value=DEFAULT_POINTS_PER_CLASS, min=2, step=1, format="%d").props(
                "dense outlined"
            )
        ui.button("Sample points", on_click=lambda: self._draw(total.value, least.value)).props("unelevated")

    async def _draw(self, total: float | None, least: float | None) -> None:
        from .image_check import drawn_check

        work, numbers = self.page.work, (int(total or 0), int(least or 0))
        found = await self.work.run(lambda progress: drawn_check(work, *numbers, progress), cancellable=True)
        if found is not None:
            self.page.state.check, self.at = found, 0
            self._show()

    def _again(self) -> None:
        self.page.state.check, self.at = None, None
        self.page.call("showSpot", None, False)
        self._show()

    def _asking(self, at: int) -> None:
        check, page = self.page.state.check, self.page
        assert check is not None
        place = page.work.place(*check.places[at])
        page.call("setOpacity", 0)
        page.call("lookAt", place, page.work.zooms + CHECK_ZOOM_LEVELS)
        page.call("showSpot", place, True)
        column, row = check.places[at]
        now = "" if check.labels[at] is None else f" Label: {check.labels[at]}."
        text(f"Point {at + 1} of {len(check.labels)}: which class is it?", tag="h3")
        text(f"Column {int(column)}, row {int(row)}.{now}", "remark")
        with ui.element("div").classes("answers").props('role=group aria-label="Class of the point"'):
            for number, (name, colour) in enumerate(page.work.map_colours.items(), 1):
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
        """Label the point; the label is on disk before the next point is shown."""
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
                text("Estimated accuracy and hectares of the classes", tag="h3")
                report_blocks(adjusted_blocks(adjusted, "pixels" if found.hectares is None else "hectares"))
                text(shlex.join(command(work, check)), tag="pre")
