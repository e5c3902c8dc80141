"""The Image page: training areas drawn on an image, and the map that is learned from them while they are drawn."""

from __future__ import annotations

import html
import re
import secrets
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from nicegui import app, run, ui

from ..errors import DiscriminantError, InputError
from .frame import Copies, FileChooser, Latest, Slider, Work, figure, opened, report_html, step, text, visitor
from .frame import table as table_html
from .table_page import tabbed
from .visitors import Visitors

if TYPE_CHECKING:
    from ..raster import ClassMap
    from .image_work import ImageWork

_MODELS = {
    "maximum-likelihood": "Maximum likelihood",
    "lda": "Linear discriminant analysis",
    "minimum-distance": "Nearest mean",
    "gaussian-nb": "Naive Bayes",
    "logistic": "Logistic regression",
}
_DRAWING = {
    "polygon": True,
    "rectangle": True,
    "circlemarker": True,
    "marker": False,
    "circle": False,
    "polyline": False,
}
_KINDS = ".tif,.tiff,.png,.jpg,.jpeg"
_LAYERS = {"map": "Classes", "probability": "Probability"}
_REJECT = 0.99
#: A pixel can be shown this many doublings larger than one of the screen.
_CLOSER = 4


class State:
    """What a tab works on; ``key`` is the secret in the addresses of its tiles."""

    def __init__(self) -> None:
        self.work: ImageWork | None = None
        self.key = secrets.token_urlsafe(12)


#: Whose tiles are served: visitor and state by key.
_SERVED: dict[str, tuple[str, State]] = {}


def install(visitors: Visitors, file: Path | None) -> None:
    """Make the page and its tiles known to the server."""
    app.add_api_route("/tiles/{key}/{layer}/{version}/{zoom}/{x}/{y}.png", _tile)

    @ui.page("/image")
    async def image() -> None:
        page = await opened("/image", ImagePage, visitors)
        if page is None:
            return
        _SERVED[page.state.key] = visitor(), page.state
        if page.state.work is None and file is not None and file.suffix.lower() not in (".csv", ".parquet", ".xlsx"):
            await page.open(file, str(file))
        else:
            page.show()


def _tile(request: Request, key: str, layer: str, zoom: int, x: int, y: int) -> Response:
    """A tile of an image that this visitor has opened; runs in a thread."""
    owner, state = _SERVED.get(key, (None, None))
    if state is None or state.work is None or owner != request.session.get("id"):
        return Response(status_code=404)
    found = state.work.tile(layer, zoom, x, y)
    return Response(status_code=204) if found is None else Response(found, media_type="image/png")


class ImagePage:
    """The controls on the left, the image and what is known of its areas on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self.active = visitors, State(), ""
        self._learn = Latest(self._learned)
        with ui.element("div").classes("rail"):
            with step("Image", 1):
                self.opening = Work("Opening")
                FileChooser(visitors, self._upload, self.opening, self.open).build(
                    "an image", ".tif,.tiff,.png,.jpg,.jpeg"
                )
                self.opened = text("", "remark")
                self.bands = ui.select([], label="Bands shown as red, green, blue", multiple=True).props(
                    "dense outlined"
                )
                self.bands.on_value_change(self._show_bands)
            self._class_controls()
            self._map_controls()
            self.copies = Copies()
        with ui.element("div").classes("stage"):
            self.stage = ui.element("div")
        with self.stage, ui.element("div").classes("welcome"):
            text("Draw what you know, see what follows", tag="h1")
            text(
                "Open a GeoTIFF, PNG or JPEG of any size. Name classes, draw areas where you know them, and the map of "
                "what is visible follows every change. Areas are kept as you draw them."
            )
        ui.keyboard(self._key)

    def _class_controls(self) -> None:
        with step("Classes and areas", 2):
            with ui.row().classes("adding"):
                self.naming = ui.input("New class").props("dense outlined").on("keydown.enter", self._name)
                ui.button("Add", on_click=self._name).props("outline dense")
            self.classes = ui.element("div").classes("classes").props('role=radiogroup aria-label="Class to draw"')
            self.corners = ui.input("Area by numbers: left, top, right, bottom").props("dense outlined")
            self.corners.on("keydown.enter", self._by_numbers)
            with ui.row():
                ui.button("Undo", on_click=self._undo, icon="undo").props("outline dense")
            self.drawing = Work("Learning")

    def _map_controls(self) -> None:
        with step("Map", 3):
            self.model = ui.select(_MODELS, value="maximum-likelihood", label="Model").props("dense outlined")
            self.layer = ui.select(_LAYERS, value="map", label="Layer").props("dense outlined")
            self.reject = ui.checkbox("Leave out pixels unlike any class")
            self.opacity = Slider("Opacity of the map", 0, 100, 60).moved(self._set_opacity)
            with ui.row().classes("buttons"):
                for name, act in (("Areas", self._areas), ("Map", self._map), ("Report", self._report)):
                    ui.button(name, on_click=act, icon="download").props(f'outline dense aria-label="Download {name}"')
            self.writing = Work("Writing")
            self.model.on_value_change(self._learn)
            self.reject.on_value_change(self._learn)
            self.layer.on_value_change(self._map_layer)

    async def _upload(self, path: Path, label: str) -> None:
        await self._open(path, label, beside=False)

    async def open(self, path: Path, label: str) -> None:
        """Open an image of this machine; areas are kept beside it."""
        await self._open(path, label, beside=True)

    async def _open(self, path: Path, label: str, beside: bool) -> None:
        from .image_work import ImageWork

        work = await self.opening.run(ImageWork.opened, path, label, beside)
        if work is not None:
            self.state.work = work
            self.show()
            await self._learn()

    def show(self) -> None:
        """The image with its areas."""
        work = self.state.work
        if work is None:
            return
        height, width = work.image.shape
        name = html.escape(work.path.name)
        self.opened.set_content(f"<b>{name}</b>, {width:,} x {height:,} pixels, {work.image.n_bands} bands")
        self.bands.set_options(dict(enumerate(work.image.band_names)), value=list(work.bands))
        self.stage.clear()
        with self.stage:
            self._build_map(work)
            self.found = ui.element("div")
        self._show_classes()
        self.copies.show(*work.code())

    def _build_map(self, work: ImageWork) -> None:
        height, width = work.image.shape
        plane = ui.leaflet(
            center=work.place(width / 2, height / 2),
            zoom=max(work.zooms - 1, 0),
            options={"attributionControl": False, "maxZoom": work.zooms + _CLOSER, "minZoom": 0},
            draw_control={"draw": _DRAWING, "edit": {"remove": False}},
            hide_drawn_items=True,
        ).classes("plane")
        plane.props["aria-label"], plane.props["role"] = f"Image {work.path.name}", "application"
        plane.clear_layers()
        self.plane, self.map_tiles = plane, None
        self.shapes: list[Any] = []
        self._corner = work.place(width, height)
        self.image_tiles = self._tiles("image", "-".join(map(str, work.bands)))
        plane.on("draw:created", self._drawn)
        self._draw_areas()
        self._map_layer()

    def _tiles(self, layer: str, version: str, opacity: float = 1.0) -> Any:
        work = self.state.work
        assert work is not None
        return self.plane.tile_layer(
            url_template=f"/tiles/{self.state.key}/{layer}/{version}/{{z}}/{{x}}/{{y}}.png",
            options={
                "maxNativeZoom": work.zooms,
                "maxZoom": work.zooms + _CLOSER,
                "noWrap": True,
                "bounds": [work.place(0, 0), self._corner],
                "opacity": opacity,
            },
        )

    def _show_bands(self) -> None:
        work = self.state.work
        chosen = tuple(self.bands.value or ())
        if work is None or chosen == work.bands or len(chosen) not in (1, 3):
            return
        work.bands = chosen
        self.plane.remove_layer(self.image_tiles)
        self.image_tiles = self._tiles("image", "-".join(map(str, chosen)))
        self._map_layer()

    def _map_layer(self) -> None:
        """Show the map of the last model; another version is another address."""
        work = self.state.work
        if work is None:
            return
        if self.map_tiles is not None:
            self.plane.remove_layer(self.map_tiles)
            self.map_tiles = None
        if work.trained is not None:
            self.map_tiles = self._tiles(self.layer.value, f"{work.version}", self.opacity.value / 100)

    def _set_opacity(self) -> None:
        self.opacity.show(f"{self.opacity.value:.0f} %")
        if self.map_tiles is not None:
            self.map_tiles.run_method("setOpacity", self.opacity.value / 100)

    def _draw_areas(self) -> None:
        work = self.state.work
        assert work is not None
        for shape in self.shapes:
            self.plane.remove_layer(shape)
        self.shapes = []
        for area in work.areas:
            colour = work.colours.get(area.label, "#000000")
            style = {"color": colour, "weight": 2.5, "fillOpacity": 0.15, "interactive": False, "radius": 6}
            places = [work.place(*corner) for corner in area.corners]
            kind, where = ("circleMarker", places[0]) if len(places) < 3 else ("polygon", places)
            self.shapes.append(self.plane.generic_layer(name=kind, args=[where, style]))

    def _show_classes(self) -> None:
        """The classes with their colours and counts of areas; one of them is drawn."""
        work = self.state.work
        self.classes.clear()
        if work is None:
            return
        names = list(work.colours)
        self.active = self.active if self.active in names else (names[0] if names else "")
        with self.classes:
            for number, name in enumerate(names, 1):
                n_areas = sum(area.label == name for area in work.areas)
                button = ui.element("button").classes("class").props("type=button role=radio")
                button.props["aria-checked"] = "true" if name == self.active else "false"
                button.on("click", lambda _, name=name: self._choose(name))
                with button:
                    ui.element("span").classes("swatch").style(f"background: {_safe_colour(work.colours[name])}")
                    text(name, tag="span")
                    text(f"{n_areas} area{'' if n_areas == 1 else 's'}", "remark", tag="span")
                    text(str(number), "remark", tag="kbd")

    def _choose(self, name: str) -> None:
        self.active = name
        self._show_classes()

    def _key(self, event: Any) -> None:
        work = self.state.work
        if work is None or not event.action.keydown or event.action.repeat:
            return
        names = list(work.colours)
        if event.key.number is not None and 1 <= event.key.number <= len(names):
            self._choose(names[event.key.number - 1])

    def _name(self) -> None:
        work = self.state.work
        if self._told(lambda: _needed(work).name_class(self.naming.value or "")):
            self.active = (self.naming.value or "").strip()
            self.naming.set_value("")
            self._show_classes()

    def _told(self, change: Callable[[], None]) -> bool:
        """Whether a change could be made; why not is told beside the controls."""
        self.drawing.fail("")
        try:
            change()
        except (DiscriminantError, OSError) as error:
            self.drawing.fail(error)
            return False
        return True

    async def _drawn(self, event: Any) -> None:
        work = _needed(self.state.work)
        layer = event.args["layer"]
        points = layer["_latlngs"][0] if "_latlngs" in layer else [layer["_latlng"]]
        await self._add([work.pixel(point["lat"], point["lng"]) for point in points])

    async def _by_numbers(self) -> None:
        numbers = [float(part) for part in re.findall(r"\d+(?:\.\d+)?", self.corners.value or "")]
        if len(numbers) != 4 or numbers[0] >= numbers[2] or numbers[1] >= numbers[3]:
            self.drawing.fail("An area is four numbers: its left and top column and row, its right and bottom ones.")
            return
        left, top, right, bottom = numbers
        await self._add([(left, top), (right, top), (right, bottom), (left, bottom)])

    async def _add(self, corners: list[tuple[float, float]]) -> None:
        if self._told(lambda: _needed(self.state.work).draw(self.active, corners)):
            await self._changed()

    async def _undo(self) -> None:
        if self._told(lambda: _needed(self.state.work).undo()):
            await self._changed()

    async def _delete(self, place: int) -> None:
        if self._told(lambda: _needed(self.state.work).delete(place)):
            await self._changed()

    async def _changed(self) -> None:
        self._draw_areas()
        self._show_classes()
        await self._learn()

    async def _learned(self) -> None:
        """Learn from the areas as they are now, and show what came of it."""
        work = self.state.work
        if work is None:
            return
        reject = _REJECT if self.reject.value else None
        if len({area.label for area in work.areas}) < 2:
            work.trained = None
        else:
            await self.drawing.run(work.train, self.model.value, reject)
        self._map_layer()
        self.copies.show(*work.code())
        self.found.clear()
        with self.found:
            panels = {"Areas": self._area_panel}
            if work.trained is not None:
                panels |= {
                    "Signatures": self._signatures,
                    "Separability": self._separability,
                    "Accuracy": self._accuracy,
                }
            tabbed(panels, "Areas")

    def _area_panel(self) -> None:
        work = _needed(self.state.work)
        if not work.areas:
            text("Name a class on the left, then draw its areas with the tools of the image.", "absent")
            return
        with ui.element("div").classes("areas"):
            for place, area in enumerate(work.areas):
                with ui.element("div").classes("area"):
                    ui.element("span").classes("swatch").style(f"background: {_safe_colour(work.colours[area.label])}")
                    text(f"{place + 1}. {area.label}", tag="span")
                    button = ui.button(icon="delete", on_click=lambda place=place: self._delete(place))
                    button.props(f'flat dense round aria-label="Delete area {place + 1}"')

    def _signatures(self) -> None:
        from ..raster.figures import discriminant_scatter, signatures
        from ..report.page import drawing

        work = _needed(self.state.work)
        assert work.trained is not None
        found = work.trained.samples
        report_html(html.escape(str(found.statistics)).join(("<pre>", "</pre>")))
        for notes in found.findings:
            text(str(notes.message), "remark")
        with ui.element("div").classes("side"):
            figure(drawing("signatures", signatures, found, work.colours))
            figure(drawing("scatter", discriminant_scatter, found, work.colours))

    def _separability(self) -> None:
        from ..raster.separability import class_separability

        trained = _needed(self.state.work).trained
        assert trained is not None
        try:
            found = class_separability(trained.samples)
        except DiscriminantError as error:
            text(str(error), "absent")
            return
        for sentence in found.readings:
            text(sentence)
        report_html(html.escape(str(found)).join(("<pre>", "</pre>")))

    def _accuracy(self) -> None:
        place = ui.element("div")
        ui.timer(0, lambda: self._measure(place), once=True)

    async def _measure(self, place: Any) -> None:
        try:
            found = await run.io_bound(_needed(self.state.work).accuracy)
            words = [str(found)]
        except DiscriminantError as error:
            found, words = None, [str(error)]
        with place:
            for sentence in words:
                if found is None:
                    text(sentence, "absent")
                else:
                    report_html(html.escape(sentence).join(("<pre>", "</pre>")))

    def _areas(self) -> None:
        work = self.state.work
        if work is not None:
            ui.download.file(work.store, f"{work.path.stem}.areas.geojson")

    async def _written(self) -> tuple[ImageWork, Path, ClassMap] | None:
        """The work, its folder, and the map of the whole image in it; None if there is none."""
        work = self.state.work
        if work is None or work.trained is None:
            self.writing.fail("Draw areas of two classes or more.")
            return None
        folder = self.visitors.folder(visitor())
        made = await self.writing.run(lambda progress: work.write_map(folder, progress), cancellable=True)
        return None if made is None else (work, folder, made)

    async def _map(self) -> None:
        if (written := await self._written()) is not None:
            _, folder, made = written
            packed = folder / f"{made.path.stem}.zip"
            await self.writing.run(_pack, packed, made.files)
            rows = [(str(name), f"{n:,}") for name, n in made.pixels.items()]
            with self.found:
                report_html(table_html(["Class", "Pixels"], rows, "Pixels of classes", 1))
            ui.download.file(packed, packed.name)

    async def _report(self) -> None:
        if (written := await self._written()) is not None:
            work, folder, made = written
            path = await self.writing.run(work.write_report, folder / "image-report.html", made)
            if path is not None:
                ui.download.file(path, "report.html")


def _pack(path: Path, files: tuple[Path, ...]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.write(file, file.name)
    return path


def _needed(work: ImageWork | None) -> ImageWork:
    if work is None:
        raise InputError("Open an image first.")
    return work


def _safe_colour(colour: str) -> str:
    return colour if re.fullmatch(r"#[0-9a-fA-F]{6}", colour) else "#000000"
