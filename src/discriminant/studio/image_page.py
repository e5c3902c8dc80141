"""The Image page: training areas drawn on an image, and the class map that is fitted to them."""

from __future__ import annotations

import html
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from fastapi import Request, Response
from nicegui import app, ui
from nicegui.events import GenericEventArguments, KeyEventArguments

from ..errors import DiscriminantError, InputError
from .frame import Copies, FileChooser, Latest, Tabs, Work, load_libraries, opened, set_text, step, text, visitor
from .image_classes import ClassList
from .image_downloads import Downloads
from .image_legend import MapLegend
from .image_map_controls import MapControls
from .narrow import fold, settings_bar
from .visitors import Visitors

if TYPE_CHECKING:
    from ..raster.areas import Areas
    from .image_areas import Area
    from .image_check import Check
    from .image_work import ImageWork

KINDS = (".tif", ".tiff", ".png", ".jpg", ".jpeg")
#: Drawing tools: name, icon and key, which plane.js has, too.
_TOOLS = {"rectangle": ("Rectangle", "crop_din", "R"), "polygon": ("Polygon", "pentagon", "P"),
          "point": ("Point", "place", "O"), "brush": ("Brush", "brush", "B"),
          "inspect": ("Inspect", "colorize", "I")}  # fmt: skip
#: Zoom levels beyond one image pixel per screen pixel.
EXTRA_ZOOM_LEVELS: Final = 4
#: The width of the brush, which the browser keeps.
_BRUSH: Final = (
    '<label>Brush <input type="range" min="1" max="40" value="4" aria-label="Radius of the brush in pixels" '
    "oninput=\"this.nextElementSibling.value = this.value + ' px'; window.plane.radius = Number(this.value)\">"
    "<output>4 px</output></label>"
)
_SCRIPT = Path(__file__).with_name("static") / "plane.js"


class State:
    """The image of a tab; ``key`` is the secret in the addresses of its tiles, which only ``owner`` may see."""

    def __init__(self) -> None:
        self.work: ImageWork | None = None
        self.check: Check | None = None
        self.key, self.owner = secrets.token_urlsafe(12), ""


#: States whose tiles are served, by key, as long as their tab keeps them.
_SERVED: WeakValueDictionary[str, State] = WeakValueDictionary()


def install(visitors: Visitors, file: Path | None) -> None:
    """Add the page and its tiles to the server."""
    app.add_api_route("/tiles/{key}/{layer}/{version}/{zoom}/{x}/{y}.png", _tile)
    script = _SCRIPT.read_text(encoding="utf-8")
    app.add_api_route("/plane.js", lambda: Response(script, media_type="text/javascript"))

    @ui.page("/image")
    async def image() -> None:
        page = await opened("/image", ImagePage, visitors)
        if page is None:
            return
        state = page.state
        state.owner = visitor()
        _SERVED[state.key] = state
        if state.work is None and file is not None and file.suffix.lower() in KINDS:
            await page.open(file, str(file))
        elif state.work is not None:
            await page.reopened()


def _tile(request: Request, key: str, layer: str, zoom: int, x: int, y: int) -> Response:
    """A tile of an image of this visitor; runs in a thread."""
    state = _SERVED.get(key)
    if state is None or state.work is None or state.owner != request.session.get("id"):
        return Response(status_code=404)
    found = state.work.tile(layer, zoom, x, y)
    return Response(status_code=204) if found is None else Response(found, media_type="image/png")


class ImagePage:
    """The controls on the left, the image with its areas and results on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self.active, self.tab = visitors, State(), "", "Training areas"
        self._browser_class = ""  #: the active class of the browser as far as it is known here
        self.chosen: int | None = None  #: the key of the selected area
        self._drawn_areas: dict[int, tuple[Area, str]] = {}  #: what the browser shows, with its colour
        self._n_moves = 0  #: drags of areas in the browser of which this page knows
        self.plane: Any = None
        self._is_set = False
        self.panels: dict[str, Any] = {}
        self.learn = Latest(self._learned)
        with ui.element("div").classes("rail") as self.rail:
            with settings_bar():
                self.drawn_class = ui.select([], label="Draw areas of").props("dense outlined").classes("drawn-class")
                self.drawn_class.on_value_change(lambda event: self._choose_in_bar(event.value))
            self._image_controls()
            self._class_controls()
            self.map = MapControls(self)
            Downloads(self)
            self.copies = Copies()
        with ui.element("div").classes("stage"):
            self.stage = ui.element("div")
        with self.stage, ui.element("div").classes("welcome"):
            text("Classify the pixels of an image", tag="h1")
            text(
                "Open a GeoTIFF, PNG or JPEG of any size, or the example image. Add classes and draw or import "
                "training areas; the class map and the hectares of each class are updated after every change. Areas "
                "are saved as you draw them."
            )
        ui.keyboard(self._key, ignore=["input", "select", "textarea"])

    def _image_controls(self) -> None:
        with step("Image", 1):
            self.opening = Work("Opening")
            FileChooser(self.visitors, self._open, self.opening, self.open).build(
                "an image", ",".join(KINDS), again=True
            )
            ui.button("Open the example image", icon="image", on_click=self._example).props("outline dense")
            self.opened = text("", "remark")
            with ui.element("div").classes("thirds") as self.looks:
                self.bands = [ui.select([], label=name).props("dense outlined") for name in ("Red", "Green", "Blue")]
            self.stretch = ui.select([], label="Stretch").props("dense outlined")
            for control in (*self.bands, self.stretch):
                control.on_value_change(self._show_bands)
            self.looks.visible = self.stretch.visible = False

    def _class_controls(self) -> None:
        with step("Classes and training areas", 2):
            with ui.row().classes("adding"):
                self.naming = ui.input("New class").props("dense outlined").on("keydown.enter", self._name)
                ui.button("Add", on_click=self._name).props("outline dense")
            self.classes = ClassList(self)
            ui.button("Import training areas", icon="upload_file", on_click=self._import).props("outline dense")
            text("GeoJSON, GeoPackage, KML or zipped Shapefile", "remark")
            self.notes = text("", "remark").props("aria-live=polite")
            self.corners = ui.input("Add a training area by coordinates").props("dense outlined")
            self.corners.props["hint"] = "Pixels: left, top, right, bottom; or x, y; or all corners"
            self.corners.on("keydown.enter", self._by_numbers)
            self.drawing = Work("Fitting")

    @property
    def work(self) -> ImageWork:
        """The open image."""
        if self.state.work is None:
            raise InputError("No image is open. Open an image first.")
        return self.state.work

    async def open(self, path: Path, label: str) -> None:
        """Open an image of this machine; areas are stored beside it if the folder is writable."""
        await self._open(path, label, self.visitors.folder(visitor()))

    async def _open(self, path: Path, label: str, folder: Path | None = None) -> None:
        await self.opening.run(load_libraries)

        from .image_check import kept_check
        from .image_work import ImageWork

        work = await self.opening.run(ImageWork.opened, path, label, folder)
        if work is not None:
            self.state.work, self.state.check = work, await self.opening.run(kept_check, work)
            self.chosen = None
            self.show()
            await self.learn()

    async def _example(self) -> None:
        """Open the example image, which has a file of areas beside it."""
        from .bundled import write_scene

        path = await self.opening.run(write_scene, self.visitors.folder(visitor()))
        if path is not None:
            await self._open(path, path.name)

    def folders(self) -> list[Path]:
        """The folders from which the visitor may open files."""
        return [*self.visitors.allowed, self.visitors.folder(visitor()).resolve()]

    def files_beside(self, kinds: Sequence[str]) -> list[Path]:
        """Files of these kinds in the folder of the image, if the visitor may open them; without those of this page."""
        image = self.work.path.resolve()
        if not any(map(image.is_relative_to, self.folders())):
            return []
        own = {image.name, f"{image.stem}.areas.geojson", f"{image.stem}.points.geojson", f"{image.stem}.check-map.tif"}
        files = [path for path in sorted(image.parent.iterdir()) if path.suffix.lower() in kinds]
        return [path for path in files if path.name not in own and path.is_file() and not path.is_symlink()]

    async def reopened(self) -> None:
        """Show the image of this tab, with the areas as they are on disk."""
        await self.opening.run(self.work.refresh)
        self.show()
        await self.learn()

    def show(self) -> None:
        """Show the image with its areas."""
        from .image_work import STRETCHES

        work = self.work
        height, width = work.image.shape
        name = html.escape(work.path.name)
        self.opened.set_content(f"<b>{name}</b>, {width:,} x {height:,} pixels, {work.image.n_bands} bands")
        self.looks.visible = self.stretch.visible = True
        self._is_set = False  # ignore the choices for the previous image
        for select, band in zip(self.bands, work.bands, strict=True):
            select.set_options(dict(enumerate(work.image.band_names)), value=band)
        self.stretch.set_options(list(STRETCHES), value=work.stretch)
        self._is_set = True
        self.stage.clear()
        with self.stage, ui.element("div").classes("image-desk"):
            with ui.element("div").classes("image-view"):
                text(work.path.name, "name", tag="h1")
                self._build_tools()
                self._build_plane(work)
                self.legend = MapLegend(self)
            with ui.element("div"):
                self._build_tabs()
        self._show_classes()
        self.map.show_mask()
        fold(self.rail)

    def _build_tools(self) -> None:
        self.tools: dict[str, Any] = {}
        with ui.element("div").classes("tools").props('role=toolbar aria-label="Tools of the image"'):
            for name, (words, icon, key) in _TOOLS.items():
                button = ui.button(words, icon=icon).props("outline dense no-caps aria-pressed=false")
                button.on("click", js_handler=f"() => window.plane?.useTool({name!r})")
                button.props["aria-keyshortcuts"], button.props["data-tool"] = key, name
                with button:
                    text(key, tag="kbd")
                self.tools[name] = button
            self._brush = ui.html(_BRUSH, sanitize=False).classes("brush")
            button = ui.button(
                "Next uncertain pixel", icon="my_location", on_click=lambda: self.legend.propose()
            ).props("flat dense no-caps")
            button.props["aria-keyshortcuts"] = "N"
            button.tooltip("Go to the pixel whose class is least certain (key N)")
            for words, icon, key, act in (
                ("Delete", "delete", "Delete", self._delete),
                ("Undo", "undo", "Control+Z", lambda: self.change(self.work.undo)),
                ("Redo", "redo", "Control+Y", lambda: self.change(self.work.redo)),
            ):  # fmt: skip
                button = ui.button(words, icon=icon, on_click=act).props("flat dense no-caps")
                button.props["aria-keyshortcuts"] = key

    def _build_plane(self, work: ImageWork) -> None:
        height, width = work.image.shape
        none = dict.fromkeys(("polygon", "rectangle", "circlemarker", "marker", "circle", "polyline"), False)
        plane = ui.leaflet(
            center=work.place(width / 2, height / 2),
            zoom=max(work.zooms - 1, 0),
            options={
                "attributionControl": False,
                "zoomSnap": 0.25,
                "maxZoom": work.zooms + EXTRA_ZOOM_LEVELS,
                "minZoom": 0,
            },
            draw_control={"draw": none, "edit": {"remove": False}},
            hide_drawn_items=True,
            additional_resources=["/plane.js"],
        ).classes("plane")
        plane.props["aria-label"], plane.props["role"] = f"Image {work.path.name}", "application"
        plane.clear_layers()
        self.plane = plane
        plane.on("init", self._show_plane)
        plane.on("area-drawn", self._drawn)
        plane.on("area-moved", self._moved)
        plane.on("area-chosen", lambda event: self.choose(event.args))
        plane.on("tool", self._used)
        plane.on("swiped", lambda event: self.map.swiped(event.args))
        plane.on("pixel", lambda event: self.legend.inspect(event.args))

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method of the plane once it is initialised; its first state includes everything."""
        if self.plane is not None and self.plane.is_initialized:
            self.plane.run_map_method(method, *arguments)

    def _show_plane(self) -> None:
        work = self.work
        height, width = work.image.shape
        self.call("prepare", self.plane.id, [work.place(0, 0), work.place(width, height)], work.zooms)
        self._browser_class, self._n_moves, self._drawn_areas = "", 0, {}
        self._show_classes()
        self._show_image()
        self.show_map()
        self.show_areas()
        self.map.set_swipe()

    def _show_image(self) -> None:
        from .image_work import STRETCHES

        work = self.work
        mask = round(1e6 * work.masked_share)  # the stretch is that of the pixels that are not masked
        self._show_tiles("image", "image", "-".join(map(str, (*work.bands, list(STRETCHES).index(work.stretch), mask))))

    def _show_tiles(self, pane: str, layer: str, version: str, opacity: float = 1.0) -> None:
        work = self.work
        height, width = work.image.shape
        options = {
            "maxNativeZoom": work.zooms,
            "maxZoom": work.zooms + EXTRA_ZOOM_LEVELS,
            "noWrap": True,
            "bounds": [work.place(0, 0), work.place(width, height)],
            "opacity": opacity,
        }
        address = f"/tiles/{self.state.key}/{layer}/{version}/{{z}}/{{x}}/{{y}}.png"
        self.call("showTiles", pane, address, version, options)

    def _show_bands(self) -> None:
        if self._is_set:
            self.work.bands = tuple(select.value for select in self.bands)
            self.work.stretch = self.stretch.value
            self._show_image()

    def show_map(self) -> None:
        """Show the map of the last model; every version has its own address."""
        work = self.state.work
        if work is None:
            return
        self.legend.show()
        if work.trained is None:
            self.call("showTiles", "classes", "", "", {})
        else:
            self._show_tiles("classes", self.map.layer.value, f"{work.version}", self.map.opacity.value / 100)

    def show_areas(self) -> None:
        """Draw the areas that have changed; the corners of the selected one can be moved."""
        work = self.work
        shown = {area.key: (area, work.colours[area.label]) for area in work.areas}
        changed = [
            {
                "key": key,
                "kind": area.shape.geom_type,
                "name": area.label,
                "colour": colour,
                "rings": [[work.place(*corner) for corner in ring] for ring in area.rings],
            }
            for key, (area, colour) in shown.items()
            if self._drawn_areas.get(key) != (area, colour)
        ]
        self._drawn_areas = shown
        self.call("showAreas", list(shown), changed, self.chosen, self._n_moves)
        self.panels["Training areas"].show()

    def _show_classes(self) -> None:
        """Show the classes; areas are drawn for the active one."""
        colours = self.work.colours
        self.active = self.active if self.active in colours else next(iter(colours), "")
        self.classes.show()
        self.drawn_class.set_options(list(colours), value=self.active or None)
        chosen = "" if self.active == self._browser_class else self.active
        self.call("showClasses", [{"name": name, "colour": colour} for name, colour in colours.items()], chosen)
        self._browser_class = self.active

    def _choose_in_bar(self, name: str | None) -> None:
        """Make the class that is selected above folded controls the active one."""
        if name and name != self.active:
            self.call("choose", name)
            self.choose_class(name)

    def choose_class(self, name: str) -> None:
        """Make this class the active one, as it already is in the browser."""
        self.active = self._browser_class = name
        self._show_classes()

    def _used(self, event: GenericEventArguments) -> None:
        """Show which tool the browser uses; it uses none without a class."""
        name, is_used = event.args["name"], event.args["isUsed"]
        self.drawing.fail("" if self.active else "There is no class yet. Add a class before drawing areas.")
        for own, button in self.tools.items():
            button.props["aria-pressed"] = "true" if is_used and own == name else "false"
        if not is_used and self.active:  # the class was on its way to the browser
            self.call("useTool", name)

    async def _key(self, event: KeyEventArguments) -> None:
        if self.state.work is None or not event.action.keydown or event.action.repeat:
            return
        key = event.key
        command = event.modifiers.ctrl or event.modifiers.meta
        if command and key.name.lower() in ("z", "y"):
            await self.change(self.work.redo if key.name == "y" or event.modifiers.shift else self.work.undo)
        elif command or event.modifiers.alt:
            return
        elif key.number is not None:
            await self._number_key(key.number)
        elif key.escape:
            self.choose(None)
        elif key.name.lower() == "n":
            await self.legend.propose()
        elif key.delete or key.backspace:
            await self._delete()

    async def _number_key(self, number: int) -> None:
        """Label a point, or choose a class to draw."""
        panel = self.panels.get("Map accuracy")
        is_asking = self.tab == "Map accuracy" and panel is not None and panel.is_asking
        names = list(self.work.map_colours if is_asking else self.work.colours)
        if 1 <= number <= len(names):
            if panel is not None and is_asking:
                await panel.label(names[number - 1])
            else:
                self.choose_class(names[number - 1])

    async def _name(self) -> None:
        name = (self.naming.value or "").strip()

        def named() -> None:
            self.work.name_class(name)
            # Before the model is fitted: what the user types meanwhile is neither cleared nor of another class.
            self.active = name
            self._show_classes()
            self.naming.set_value("")

        await self.change(named)

    async def change(self, change: Callable[[], None]) -> bool:
        """Make a change and fit the model again; return whether it succeeded. Errors appear beside the controls."""
        self.drawing.fail("")
        try:
            change()
        except (DiscriminantError, OSError) as error:
            self.drawing.fail(error)
            if self.state.work is not None:
                self.show_areas()
            return False
        self.show_areas()
        self._show_classes()
        await self.learn()
        return True

    async def _drawn(self, event: GenericEventArguments) -> None:
        from .image_areas import shape_of, stroke

        label = event.args["label"] if event.args["label"] in self.work.colours else self.active
        corners = [self.work.pixel(*place) for place in event.args["corners"]]
        radius = event.args.get("radius")
        shape = stroke(corners, radius, self.work.image.shape) if radius else shape_of(corners)
        await self.change(lambda: self.work.draw(label, shape))

    async def _moved(self, event: GenericEventArguments) -> None:
        self._n_moves = event.args["move"]
        self._drawn_areas.pop(event.args["key"], None)  # a move that is refused is taken back
        rings = [[self.work.pixel(*place) for place in ring] for ring in event.args["rings"]]
        await self.change(lambda: self.work.move(event.args["key"], rings))

    def _import(self) -> None:
        from .image_import import ImportDialog

        if self.state.work is None:
            self.drawing.fail("No image is open. Open an image first.")
        else:
            ImportDialog(self)

    async def imported(self, areas: Areas) -> None:
        """Add the areas of a file."""
        from .image_import import counted

        if await self.change(lambda: self.work.add(areas)):
            notes = [str(finding.message) for finding in areas.findings]
            set_text(self.notes, " ".join([f"Imported {counted(areas)}", *notes]))

    async def _by_numbers(self) -> None:
        from .image_areas import shape_of
        from .image_panels import corners_of

        def drawn() -> None:
            self.work.draw(self.active, shape_of(corners_of(self.corners.value or "")))
            self.corners.set_value("")  # before the model is fitted, as the user may type the next area meanwhile

        await self.change(drawn)

    async def move_by_numbers(self, key: int, given: str) -> None:
        """Move an area to the corners that were typed."""
        from .image_panels import corners_of

        place = self.work.place_of(key)
        holes = [] if place is None else self.work.areas[place].rings[1:]
        await self.change(lambda: self.work.move(key, [corners_of(given), *holes]))

    async def _delete(self) -> None:
        if self.chosen is None:
            self.drawing.fail("No area is selected. Click an area on the image or in the list.")
            return
        await self.delete_area(self.chosen)

    async def delete_area(self, key: int) -> None:
        """Delete an area."""
        if self.chosen == key:
            self.chosen = None
        await self.change(lambda: self.work.delete(key))

    def choose(self, key: int | None) -> None:
        """Select an area: its corners can be moved, and its pixels are marked in the scatter plot."""
        if key == self.chosen:
            return
        self.chosen = key
        self.show_areas()
        self.panels["Signatures"].mark()

    async def _learned(self) -> None:
        """Fit the model to the current areas and show the results."""
        work = self.state.work
        if work is None:
            return
        if len({area.label for area in work.areas}) < 2:
            work.trained = None
        else:
            choices = self.map
            await self.drawing.run(work.train, choices.model.value, choices.smoothing.value, choices.rule())
        self.show_map()
        self.copies.show(*work.code())
        self.tabs.refresh("Signatures", "Separability", "Validation")
        self.panels["Map accuracy"].trained()

    def _build_tabs(self) -> None:
        """The tabs with the results."""
        from .image_panels import AreaPanel, CheckPanel, SignaturePanel, accuracy_panel, separability_panel

        areas, check = AreaPanel(self), CheckPanel(self)
        self.panels = {"Training areas": areas, "Signatures": SignaturePanel(self), "Map accuracy": check}
        trained = {
            "Signatures": self.panels["Signatures"].build,
            "Separability": lambda: separability_panel(self),
            "Validation": lambda: accuracy_panel(self),
        }
        builders = {name: partial(self._if_trained, build) for name, build in trained.items()}
        self.tab = "Training areas"
        self.tabs = Tabs({self.tab: areas.build, **builders, "Map accuracy": check.build}, self.tab, self._tabbed)

    def _if_trained(self, build: Callable[[], None]) -> None:
        if self.work.trained is None:
            text("Draw areas of at least two classes.", "empty")
        else:
            build()

    def _tabbed(self, name: str) -> None:
        if self.tab == "Map accuracy":
            self.call("showSpot", None, False)
            self.call("setOpacity", self.map.opacity.value / 100)
        self.tab = name
