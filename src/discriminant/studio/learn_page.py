"""The Learn page: points to paint, and lessons that show models and algorithms; every lesson has an address."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import nicegui
from nicegui import background_tasks, json, run, ui
from nicegui.events import GenericEventArguments

from ..errors import DiscriminantError
from . import learn_gallery
from .frame import Copies, FileChooser, Latest, Slider, Work, opened, report_html, set_text, step, table, text
from .learn_gallery import GALLERY
from .learn_views import EXAMPLES, PRESETS, VIEWS, bare
from .narrow import fold, settings_bar
from .table_page import KINDS
from .visitors import Visitors

if TYPE_CHECKING:
    from ..report.page import Drawing
    from .learn_points import Columns, Points
    from .learn_views import Choice, Shown, View

_PLOTLY = Path(nicegui.__file__).parent / "elements" / "plotly" / "dist"
#: The layout of figures on the board: full width, with the legend above.
_LAYOUT: Final = {
    "dragmode": False, "autosize": True, "margin": {"t": 40, "r": 10, "l": 55, "b": 50}, "height": 520,
    "legend": {
        "orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "borderwidth": 0, "bgcolor": "rgba(0,0,0,0)",
    },
}  # fmt: skip
#: Lessons drawn at once: more threads would compete for the interpreter and delay other answers.
_DRAWING: Final = asyncio.Semaphore(2)
#: The parameters of an address that are not settings.
_PLACES: Final = ("view", "points", "drawn", "example")
#: Shows the lesson without controls and in large type, or ends that.
_PRESENT: Final = """event => {
  const on = document.body.classList.toggle("presenting");
  event.currentTarget.setAttribute("aria-pressed", String(on));
  dispatchEvent(new Event("resize"));
}"""
#: Seconds between two changes of the address: browsers refuse more than some hundred changes in half a minute.
FOLLOW_SECONDS: Final = 0.5
#: Characters of an address; some programs cut longer ones.
MAX_ADDRESS_LENGTH: Final = 8_000


class Board(ui.element, component="static/board.js", esm={"nicegui-plotly": str(_PLOTLY)}):
    """Figures side by side, the first of them a plane to paint on; see static/board.js."""

    def __init__(self) -> None:
        super().__init__()
        self._props.update(
            drawn="[]", points={"revision": 0, "rows": "[]"}, classes=[], paint=False, lesson="", start=False
        )

    def show(self, view: View, drawn: str, points: Points, revision: int) -> None:
        """Show figures, and the points if their revision has changed."""
        from ..figures.theme import COLOURS, SYMBOLS

        self._props["lesson"], self._props["start"], self._props["drawn"] = view.name, view.from_start, drawn
        self._props["paint"] = points.paintable
        self._props["classes"] = [
            {"name": str(label), "colour": COLOURS[k % len(COLOURS)], "symbol": SYMBOLS[k % len(SYMBOLS)]}
            for k, label in enumerate(points.labels)
        ]
        if revision != self._props["points"]["revision"]:
            self._props["points"] = {"revision": revision, "rows": _rows(points)}
        self.update()


def _rows(points: Points) -> str:
    parts = zip(points.ids, points.values, points.codes, strict=True) if points.paintable else ()
    return str(json.dumps([[int(i), *map(float, v), int(k)] for i, v, k in parts]))


def _drawn(drawings: Sequence[Drawing]) -> str:
    """Figures as JSON for the board. As Python values NiceGUI would observe each: a tenth of the time of a class."""
    return str(json.dumps([_figure(one) for one in drawings]))


def _figure(one: Drawing) -> dict[str, Any]:
    from ..figures.theme import as_text

    made = one.figure or {"data": [], "layout": {}}
    subtitles = [frame["layout"]["title"]["subtitle"]["text"] for frame in made.get("frames", ())]
    return {
        "figure": {**made, "layout": {**made["layout"], **_LAYOUT}},
        "title": one.title,
        "explanation": one.explanation or one.reason,
        "alt": one.alt or one.reason,
        "words": [as_text(words).replace("\n", " ") for words in subtitles],
    }


@cache
def mathml(tex: str) -> str:
    """A TeX formula as MathML."""
    from latex2mathml.converter import convert

    return str(convert(tex, display="block"))


@dataclass
class State:
    """The lesson, its settings and the points of a tab."""

    view: str = "model"
    settings: dict[str, str] = field(default_factory=dict)
    example: str = ""
    points: Points | None = None
    revision: int = 1
    link: str = ""  #: the address that the browser shows


def install(visitors: Visitors, file: Path | None) -> None:  # noqa: ARG001
    """Add the page to the server."""

    @ui.page("/learn")
    async def learn() -> None:
        parameters = dict(ui.context.client.request.query_params)
        page = await opened("/learn", LearnPage, visitors)
        if page is not None:
            await page.open(parameters)


class LearnPage:
    """The controls on the left, the board on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self._asked = visitors, State(), Latest(self._draw)
        self._table: Columns | None = None
        self._following: asyncio.Task[None] | None = None
        with ui.element("div").classes("rail teaching") as self.rail:
            with settings_bar():
                pass
            self._view_controls()
            self._point_controls()
            with step("Share", 3):
                self.address = ui.button("Copy the link", icon="link", on_click=self._copy_address)
                self.address.props("outline dense")
                self.handing = Work("Copying")
                self.copies = Copies()
        wanted = _with_example(ui.context.client.request.query_params)
        is_gallery = wanted.get("view", GALLERY) == GALLERY
        with ui.element("div").classes("stage gallery") as self.gallery:
            if is_gallery:
                learn_gallery.build()
        with ui.element("div").classes("stage learn") as self.lesson:
            with ui.element("div").classes("heading"):
                self.title = text("", tag="h1")
                ui.link("All lessons", f"/learn?view={GALLERY}")
                present = ui.button("Present", icon="slideshow").props("outline dense aria-pressed=false")
                present.on("click", js_handler=_PRESENT)
            self.lead = text("", "lead")
            with ui.element("div").classes("folds"):
                with ui.element("details"):
                    text("Formulas", tag="summary")
                    self.formulas = ui.element("div").classes("formulas")
                with ui.element("details"):
                    text("Questions", tag="summary")
                    self.prompts = ui.element("div").classes("prompts")
                self.result = text("", "result").props("aria-live=polite")
            self.board = Board().on("edit", self._edited)
            self.facts = report_html("").props("aria-live=polite")
            self.worked = report_html("")
        self._show_gallery(is_gallery)
        self.announce(VIEWS.get(wanted.get("view", ""), self.view_now))

    def _show_gallery(self, shown: bool) -> None:
        """Show the gallery of lessons, or else one lesson with its controls."""
        self.gallery.visible = shown
        self.rail.visible = self.lesson.visible = not shown

    def _view_controls(self) -> None:
        with step("Lesson", 1):
            titles = {name: view.title for name, view in VIEWS.items()}
            self.view = ui.select(titles, value="model", label="Lesson").props("dense outlined")
            self.example = ui.select([], label="or a worked example").props("dense outlined clearable")
            self.example.on_value_change(lambda event: self._choose_example(event.value))
            self.controls = ui.element("div").classes("step")
            self.work = Work("Drawing")
            self.view.on_value_change(lambda event: self._choose_view(event.value))

    def _point_controls(self) -> None:
        with step("Points", 2):
            self.preset = ui.select(dict(PRESETS), label="Dataset").props("dense outlined")
            self.preset.on_value_change(lambda event: self._choose_points(event.value))
            self.painting = Work("Reading")
            FileChooser(self.visitors, self._open_table, self.painting).build("a table", KINDS)
            self.table = ui.element("div").classes("step")
            self.columns: list[Any] = []  # made when there is a table
            self.table.visible = False
            self.counted = text("", "remark")
            self.download = ui.button("points.csv", icon="download", on_click=self._download).props("outline dense")

    @property
    def view_now(self) -> View:
        """The lesson that is shown."""
        return VIEWS[self.state.view]

    async def open(self, asked: Mapping[str, str]) -> None:
        """Show the lesson of the address, or the one that this tab showed before."""
        state, kept = self.state, dict(asked) == dict(parse_qsl(urlsplit(self.state.link).query))
        asked = _with_example(asked)
        if asked.get("view") == GALLERY or (not asked and state.points is None):
            return
        self._show_gallery(False)
        fold(self.rail)
        titles = await self.painting.run(_example_titles)
        if self.board.is_deleted:  # the page was closed
            return
        self.example.set_options(titles or {})
        if ("view" in asked and not kept) or state.points is None:
            state.view = asked["view"] if asked.get("view") in VIEWS else state.view
            state.settings = {name: value for name, value in asked.items() if name not in _PLACES}
            state.example = asked["example"] if asked.get("example") in EXAMPLES else ""
            found = await self.painting.run(_points, asked.get("points", self.view_now.points), asked.get("drawn"))
            state.points = found or await run.io_bound(_points, self.view_now.points)
            state.revision += 1
        if state.points is not None and not self.board.is_deleted:
            self._show_controls()
            await self._asked()
            if not kept and asked.get("view", state.view) != state.view:
                names = ", ".join(VIEWS)
                self.work.fail(f"There is no lesson {asked['view']!r}; {state.view!r} is shown. Lessons: {names}.")

    async def _choose_example(self, name: str | None) -> None:
        if name and name != self.state.example:
            await self.open({"example": name})

    async def _choose_view(self, name: str) -> None:
        if name == self.state.view:
            return
        self.state.view, self.state.settings, self.state.example = name, {}, ""
        points = self.state.points
        if points is None or not points.edited:
            self.state.points = await run.io_bound(_points, self.view_now.points)
            self.state.revision += 1
        self._show_controls()
        await self._asked()

    async def _choose_points(self, name: str) -> None:
        if name is None or (self.state.points is not None and name == self.state.points.source):
            return
        points = await self.painting.run(_points, name)
        if points is None:
            return
        self._place(points)
        self.table.visible = False
        await self._asked()

    def _place(self, points: Points) -> None:
        """Replace the points and their plane."""
        self.state.points = points
        self.state.revision += 1
        self._leave_example()

    def _leave_example(self) -> None:
        """Hide the worked example: its numbers hold for its own points only."""
        if self.state.example:
            self.state.example = ""
            self.example.set_value(None)
            self.worked.set_content("")

    async def _open_table(self, path: Path, label: str) -> None:
        from .learn_points import Columns

        await self._read_columns(await self.painting.run(Columns.opened, path, label))

    async def _read_columns(self, found: Columns | None) -> None:
        """Offer the columns of a table, and choose the first two numeric ones."""
        if found is None:
            return
        self._table = None  # while the lists change
        self._column_controls()
        across, up = (*found.numbers, found.numbers[0])[:2]
        for control, names, name in zip(
            self.columns, (found.names, found.numbers, found.numbers), (found.target, across, up), strict=True
        ):
            control.set_options(list(names), value=name)
        self._table, self.table.visible = found, True
        await self._choose_columns()

    def _column_controls(self) -> None:
        if self.columns:
            return
        with self.table:
            labels = ("Target column", "Horizontal axis", "Vertical axis")
            self.columns = [ui.select([], label=label).props("dense outlined") for label in labels]
        for control in self.columns:
            control.on_value_change(self._choose_columns)

    async def _choose_columns(self) -> None:
        found = self._table
        target, across, up = (control.value for control in self.columns)
        if found is None or None in (target, across, up):
            return
        if target != found.target:
            from .learn_points import Columns

            await self._read_columns(await self.painting.run(Columns.opened, found.path, found.label, target))
            return
        points = await self.painting.run(found.points, across, up)
        if points is not None:
            self._place(points)
            await self._asked()

    def _show_controls(self) -> None:
        """Show the text, the formulas and the controls of the lesson."""
        view, settings = self.view_now, self.view_now.settings(self.state.settings)
        self.announce(view)
        self._show_formulas(view)
        self._show_prompts(view)
        self.controls.clear()
        with self.controls:
            for control in view.controls:
                self._control(control, settings[control.name])
        self.view.set_value(view.name)
        self.example.set_value(self.state.example or None)
        self.worked.set_content(_worked(self.state.example))

    def announce(self, view: View) -> None:
        """Show the title and the text of a lesson, before its figures are drawn."""
        set_text(self.title, view.title)
        set_text(self.lead, view.lead)

    def _show_formulas(self, view: View) -> None:
        """Show the formulas; their converter takes 0.1 s to load, after the first paint."""
        self.formulas.clear()
        with self.formulas:
            for caption, tex in view.formulas:
                with ui.element("figure").classes("formula"):
                    ui.html(mathml(tex), sanitize=False)
                    text(caption, tag="figcaption")

    def _show_prompts(self, view: View) -> None:
        """Show the questions; their answers are folded."""
        self.prompts.clear()
        with self.prompts:
            for question, answer in view.prompts:
                text(question)
                with ui.element("details"):
                    text("Answer", tag="summary")
                    text(answer)

    def _control(self, control: Choice, value: str | float) -> None:
        if not control.is_scale:
            made = ui.select(dict(control.options), value=value, label=control.label).props("dense outlined")
            made.on_value_change(lambda event: self._set(control.name, event.value))
            return
        values = list(control.options)
        slider = Slider(control.label, 0, len(values) - 1, values.index(value))
        slider.show(control.options[value])

        async def moved() -> None:
            chosen = values[int(slider.value)]
            slider.show(control.options[chosen])
            await self._set(control.name, chosen)

        slider.moved(moved)

    async def _set(self, name: str, value: str | float) -> None:
        self.state.settings[name] = str(value)
        await self._asked()

    async def _edited(self, event: GenericEventArguments) -> None:
        points, args = self.state.points, event.args
        if points is None or not isinstance(args, dict) or args.get("revision") != self.state.revision:
            return
        try:
            self.state.points = points.changed(args["changes"])
            self.painting.fail("")
            self._leave_example()
        except DiscriminantError as error:
            self.painting.fail(error)
            self.state.revision += 1  # the plane returns to the valid points
        except (KeyError, TypeError, ValueError):
            return
        await self._asked()

    async def _draw(self) -> None:
        """Draw the lesson with its current settings and points."""
        from .table_panels import keys

        state, view = self.state, self.view_now
        points = state.points
        assert points is not None
        async with _DRAWING:
            found = await self.work.run(_shown, view, points, view.settings(state.settings))
        if self.board.is_deleted:
            return
        shown, drawn = found or _with_figures(bare(points))
        self.board.show(view, drawn, points, state.revision)
        set_text(self.result, shown.result)
        self.facts.set_content(keys(shown.facts) if shown.facts else "")
        self.copies.panel.visible = bool(shown.python)
        if shown.python:
            self.copies.show(shown.python, shown.command)
        set_text(self.counted, str(points))
        self.preset.set_value(points.source if points.source in PRESETS else None)
        self._follow()

    def _follow(self) -> None:
        """Let the address of the browser follow the lesson, once for the changes of half a second."""
        if self._following is None or self._following.done():
            self._following = background_tasks.create(self._followed())

    async def _followed(self) -> None:
        """Set the address; points that an address cannot hold stay in the tab."""
        await asyncio.sleep(FOLLOW_SECONDS)
        if self.board.is_deleted:
            return
        link = self._link()
        if len(link) > MAX_ADDRESS_LENGTH:
            link = self._link(with_points=False)
        if link != self.state.link:
            self.state.link = link
            with self.board:
                ui.navigate.history.replace(link)

    def _link(self, with_points: bool = True) -> str:
        points = self.state.points
        assert points is not None
        asked = {"view": self.state.view, **self.state.settings}
        if points.source in PRESETS:
            asked["points"] = points.source
        if self.state.example:
            asked["example"] = self.state.example
        if with_points and points.edited and points.paintable and points.source in PRESETS:
            asked["drawn"] = points.packed()
        return "/learn?" + urlencode(asked)

    def _copy_address(self) -> None:
        assert self.state.points is not None
        if self.state.points.source not in PRESETS:
            self.handing.fail("A link cannot contain the points of a file. Share the file, or points.csv.")
            return
        self.handing.fail("")
        link = self._link()
        if len(link) > MAX_ADDRESS_LENGTH:
            self.handing.fail("There are too many points for a link. Share points.csv, or use fewer points.")
            return
        ui.run_javascript(f"navigator.clipboard.writeText(location.origin + {link!r})")

    def _download(self) -> None:
        assert self.state.points is not None
        ui.download.content(self.state.points.csv(), "points.csv")


def _with_example(asked: Mapping[str, str]) -> dict[str, str]:
    """The parameters of an address, with the lesson, points and settings of its worked example."""
    if asked.get("example") not in EXAMPLES:
        return dict(asked)
    view, points, settings = EXAMPLES[asked["example"]]
    return {"view": view, "points": points, **settings, **asked}


def _points(name: str, drawn: str | None = None) -> Points:
    """Points of a preset, or others on its plane; what makes them is loaded here, in a thread."""
    from .learn_points import preset

    found = preset(name)
    return found if drawn is None else found.unpacked(drawn)


def _example_titles() -> dict[str, str]:
    from .learn_points import example_titles

    return example_titles()


@cache
def _worked(name: str) -> str:
    """The question of a worked example, and the numbers that the notes give."""
    from ..datasets import worked_example

    if not name:
        return ""
    example = worked_example(name)
    rows = [(what, _written(value)) for what, value in example.numbers.items()]
    numbers = table(["Expected result", "Value"], rows, "Numbers of the worked example", 1)
    source = f"{example.note}, {example.section}. Numbers: {example.origin}."
    asked = f"<h2>{html.escape(example.title)}</h2><p>{html.escape(example.question)}</p>"
    return f"{asked}{numbers}<p class='remark'>{html.escape(source)}</p>"


def _written(value: str | float | list[Any]) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(_written, value)) if isinstance(value, list) else str(value)


def _shown(view: View, points: Points, settings: Mapping[str, str | float]) -> tuple[Shown, str]:
    if points.edited or points.source not in PRESETS:
        return _with_figures(view.shown(points, settings))
    return _first_shown(view.name, points, tuple(settings.items()))


@lru_cache(maxsize=64)
def _first_shown(name: str, points: Points, settings: tuple[tuple[str, str | float], ...]) -> tuple[Shown, str]:
    """What a class sees that opens the same address at once."""
    return _with_figures(VIEWS[name].shown(points, dict(settings)))


def _with_figures(shown: Shown) -> tuple[Shown, str]:
    return shown, _drawn(shown.drawings)
