"""The Learn page: points to paint, and models that are watched at work; every view has an address to hand out."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import nicegui
from nicegui import ui

from ..errors import DiscriminantError
from ..figures.theme import COLOURS, SYMBOLS, as_text
from .frame import Copies, Latest, Slider, Work, opened, report_html, step, text
from .table_panels import keys
from .visitors import Visitors

if TYPE_CHECKING:
    from ..report.page import Drawing
    from .learn_points import Points
    from .learn_views import Choice, Shown, View

_PLOTLY = Path(nicegui.__file__).parent / "elements" / "plotly" / "dist"
#: How figures stand on the board: as wide as they can, what is drawn named above them.
_LAYOUT = {
    "dragmode": False, "autosize": True, "margin": {"t": 40, "r": 10, "l": 55, "b": 50}, "height": 520,
    "legend": {
        "orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "borderwidth": 0, "bgcolor": "rgba(0,0,0,0)",
    },
}  # fmt: skip
#: An address with more letters than this is not handed out: programs cut it.
_LONGEST_ADDRESS = 8_000


class Board(ui.element, component="static/board.js", esm={"nicegui-plotly": str(_PLOTLY)}):
    """Figures side by side, the first of them a plane to paint on; see the component."""

    def __init__(self) -> None:
        super().__init__()
        self._props.update(
            figures=[], points={"revision": 0, "rows": []}, classes=[], paint=False, lesson="", start=False
        )

    def show(self, view: View, drawings: Sequence[Drawing], points: Points, revision: int) -> None:
        """Draw figures, and the points where their revision is not the one that is painted on."""
        self._props["lesson"], self._props["start"] = view.name, view.from_start
        self._props["figures"] = [_figure(one) for one in drawings]
        self._props["paint"] = points.paintable
        self._props["classes"] = [
            {"name": str(label), "colour": COLOURS[k % len(COLOURS)], "symbol": SYMBOLS[k % len(SYMBOLS)]}
            for k, label in enumerate(points.labels)
        ]
        if revision != self._props["points"]["revision"]:
            self._props["points"] = {"revision": revision, "rows": _rows(points)}
        self.update()


def _rows(points: Points) -> list[list[float]]:
    if not points.paintable:
        return []
    return [[int(i), *map(float, v), int(k)] for i, v, k in zip(points.ids, points.values, points.codes, strict=True)]


def _figure(one: Drawing) -> dict[str, Any]:
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
    """A formula as browsers draw it."""
    from latex2mathml.converter import convert

    return str(convert(tex, display="block"))


@dataclass
class State:
    """What a tab works on."""

    view: str = "model"
    settings: dict[str, str] = field(default_factory=dict)
    points: Points | None = None
    revision: int = 1


def install(visitors: Visitors, file: Path | None) -> None:  # noqa: ARG001
    """Make the page known to the server."""

    @ui.page("/learn")
    async def learn() -> None:
        asked = dict(ui.context.client.request.query_params)
        page = await opened("/learn", LearnPage, visitors)
        if page is None:
            return
        await page.open(asked)


class LearnPage:
    """The controls on the left, the board on the right."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitors, self.state, self._asked = visitors, State(), Latest(self._draw)
        with ui.element("div").classes("rail teaching"):
            self._view_controls()
            self._point_controls()
            with step("Hand out", 3):
                self.address = ui.button("Copy the address", icon="link", on_click=self._copy_address)
                self.address.props("outline dense")
                self.copies = Copies()
        with ui.element("div").classes("stage learn"):
            self.title, self.lead = text("", tag="h1"), text("", "lead")
            self.formulas = ui.element("div").classes("formulas")
            self.board = Board().on("edit", self._edited)
            self.facts = report_html("").props("aria-live=polite")

    def _view_controls(self) -> None:
        from .learn_catalogue import VIEWS

        with step("View", 1):
            titles = {name: view.title for name, view in VIEWS.items()}
            self.view = ui.select(titles, value="model", label="What to watch").props("dense outlined")
            self.controls = ui.element("div").classes("step")
            self.work = Work("Drawing")
            self.view.on_value_change(lambda event: self._choose_view(event.value))

    def _point_controls(self) -> None:
        from .learn_points import PRESETS

        with step("Points", 2):
            self.preset = ui.select(PRESETS, label="Begin with").props("dense outlined")
            self.preset.on_value_change(lambda event: self._choose_points(event.value))
            self.counted = text("", "remark")
            self.painting = Work("Reading")
            self.download = ui.button("points.csv", icon="download", on_click=self._download).props("outline dense")

    @property
    def _now(self) -> View:
        from .learn_catalogue import VIEWS

        return VIEWS[self.state.view]

    async def open(self, asked: Mapping[str, str]) -> None:
        """Show what the address asks for, or what this tab showed before."""
        from .learn_catalogue import VIEWS
        from .learn_points import preset

        state = self.state
        if "view" in asked or state.points is None:
            state.view = asked.get("view", state.view) if asked.get("view", state.view) in VIEWS else state.view
            state.settings = {name: value for name, value in asked.items() if name not in ("view", "points", "drawn")}
            try:
                state.points = preset(asked.get("points", self._now.points))
                if "drawn" in asked:
                    state.points = state.points.unpacked(asked["drawn"])
            except DiscriminantError as error:
                self.painting.fail(error)
                state.points = preset(self._now.points)
            state.revision += 1
        self._show_controls()
        await self._asked()

    async def _choose_view(self, name: str) -> None:
        from .learn_points import preset

        if name == self.state.view:
            return
        self.state.view, self.state.settings = name, {}
        points = self.state.points
        if points is None or not points.edited:
            self.state.points = preset(self._now.points)
            self.state.revision += 1
        self._show_controls()
        await self._asked()

    async def _choose_points(self, name: str) -> None:
        from .learn_points import preset

        if self.state.points is not None and name == self.state.points.source:
            return
        self.state.points = preset(name)
        self.state.revision += 1
        await self._asked()

    def _show_controls(self) -> None:
        """The view's words, formulas and controls."""
        view, settings = self._now, self._now.settings(self.state.settings)
        self.title.set_content(html.escape(view.title))
        self.lead.set_content(html.escape(view.lead))
        self.formulas.clear()
        with self.formulas:
            for caption, tex in view.formulas:
                with ui.element("figure").classes("formula"):
                    ui.html(mathml(tex), sanitize=False)
                    text(caption, tag="figcaption")
        self.controls.clear()
        with self.controls:
            for control in view.controls:
                self._control(control, settings[control.name])
        self.view.set_value(view.name)

    def _control(self, control: Choice, value: Any) -> None:
        from .learn_views import Scale

        if not isinstance(control, Scale):
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

    async def _set(self, name: str, value: Any) -> None:
        self.state.settings[name] = str(value)
        await self._asked()

    async def _edited(self, event: Any) -> None:
        points, args = self.state.points, event.args
        if points is None or not isinstance(args, dict) or args.get("revision") != self.state.revision:
            return
        try:
            self.state.points = points.changed(args["changes"])
            self.painting.fail("")
        except DiscriminantError as error:
            self.painting.fail(error)
            self.state.revision += 1  # the plane shows what is kept
        except (KeyError, TypeError, ValueError):
            return
        await self._asked()

    async def _draw(self) -> None:
        """Draw what is asked for now."""
        state, view = self.state, self._now
        points = state.points
        assert points is not None
        shown: Shown | None = await self.work.run(_shown, view, points, view.settings(state.settings))
        if shown is None:
            from .learn_views import bare

            shown = bare(points)
        self.board.show(view, shown.drawings, points, state.revision)
        self.facts.set_content(keys(shown.facts) if shown.facts else "")
        if shown.python:
            self.copies.show(shown.python, shown.command)
        self.counted.set_content(html.escape(str(points)))
        self.preset.set_value(points.source)

    def _link(self) -> str:
        points = self.state.points
        assert points is not None
        asked = {"view": self.state.view, "points": points.source, **self.state.settings}
        if points.edited and points.paintable:
            asked["drawn"] = points.packed()
        return "/learn?" + urlencode(asked)

    def _copy_address(self) -> None:
        link = self._link()
        if len(link) > _LONGEST_ADDRESS:
            self.painting.fail("There are too many points for an address: download them, or hand out fewer.")
            return
        ui.run_javascript(f"navigator.clipboard.writeText(location.origin + {link!r})")
        ui.navigate.history.replace(link)

    def _download(self) -> None:
        assert self.state.points is not None
        ui.download.content(self.state.points.csv(), "points.csv")


def _shown(view: View, points: Points, settings: Mapping[str, Any]) -> Shown:
    return view.shown(points, settings)
