"""What all pages share: their frame, figures and parts of reports, code to copy, uploads, and work in threads."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import textwrap
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nicegui import app, background_tasks, run, ui

from ..errors import DiscriminantError, InputError
from .visitors import Visitors

if TYPE_CHECKING:
    from ..report.page import Drawing

_PAGES = {"/": "Table", "/learn": "Learn", "/image": "Image"}
_SHADES: dict[bool | None, tuple[str, str]] = {
    None: ("brightness_auto", "Colours: as the system"),
    False: ("light_mode", "Colours: light"),
    True: ("dark_mode", "Colours: dark"),
}
#: NiceGUI asks figures to fit their place also when that has just gone; plotly's complaint is of no use.
_HEAD = """<link rel="stylesheet" href="/studio.css"><script>
addEventListener("unhandledrejection", event => {
  if (String(event.reason).includes("Resize must be passed a displayed plot")) event.preventDefault();
});
</script>"""
#: Sends the file that was chosen, unless it is larger than the server takes, and tells what came back.
_UPLOAD = """async event => {
  const file = event.target.files[0];
  if (!file) return;
  const headers = {"X-File-Name": encodeURIComponent(file.name)};
  const large = file.size > MOST;
  try {
    const answer = large ? null : await fetch("/upload", {method: "POST", body: file, headers});
    emit(large ? '{"error": true}' : await answer.text());
  } catch (error) {
    emit("{}");
  }
  event.target.value = "";
}"""
_VALUE = "event => emit(event.target.value)"
_SHOWN_SECONDS = 0.1
_AXIS_LETTERS = 42
#: Of the files that a visitor has uploaded the last so many are offered again.
_SHOWN_UPLOADS = 8
R = TypeVar("R")


class Page(Protocol):
    """What a page shows of its state."""

    state: Any


P = TypeVar("P", bound=Page)


@contextmanager
def frame(active: str) -> Iterator[None]:
    """A page within its header; ``active`` is its address."""
    ui.page_title(f"{_PAGES[active]} · discriminant studio")
    ui.add_head_html(_HEAD)
    ui.colors(primary="#0072b2", secondary="#e69f00", accent="#009e73", negative="#b34700")
    with ui.header().classes("masthead").props("role=banner"):
        with ui.element("a").props('href="/" aria-label="discriminant studio"').classes("brand"):
            ui.html("<b>discriminant</b> studio", tag="span")
        with ui.element("nav").props('aria-label="Pages"').classes("pages"):
            for address, name in _PAGES.items():
                link = ui.link(name, address)
                if address == active:
                    link.props("aria-current=page")
        _shade_button()
    with ui.element("div").classes("desk") as desk:
        yield
    ui.skip_link("Skip to the page", target=desk)


def _shade_button() -> None:
    dark = ui.dark_mode(app.storage.user.get("dark"))
    button = ui.button().props("flat round dense").classes("shade")

    def show() -> None:
        icon, words = _SHADES[dark.value]
        button.props["icon"], button.props["aria-label"] = icon, words
        button.update()

    def turn() -> None:
        order = list(_SHADES)
        dark.value = app.storage.user["dark"] = order[(order.index(dark.value) + 1) % len(order)]
        show()

    button.on_click(turn)
    show()


async def opened(address: str, make: Callable[[Visitors], P], visitors: Visitors) -> P | None:
    """The page of an address, with the state that its tab keeps over reloads; None of a tab that is gone."""
    with frame(address):
        page = make(visitors)
    await ui.context.client.connected()
    if not ui.context.client.has_socket_connection:
        return None
    page.state = app.storage.tab.get(address, page.state)
    app.storage.tab[address] = page.state  # used now
    return page


def visitor() -> str:
    """Who is looking at this page, by a signed cookie."""
    return str(app.storage.browser["id"])


@contextmanager
def step(title: str, number: int | None = None) -> Iterator[None]:
    """A group of controls with a heading."""
    with ui.element("section").classes("step"):
        numbered = "" if number is None else f'<span class="number">{number}</span> '
        ui.html(f"{numbered}{html.escape(title)}", tag="h2")
        yield


def text(words: str, *classes: str, tag: str = "p") -> Any:
    """Words as they are, whatever characters they have."""
    return ui.html(html.escape(words), tag=tag).classes(" ".join(classes))


def set_text(shown: Any, words: str) -> None:
    """Other words in the place of those of `text`."""
    shown.set_content(html.escape(words))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str, numbers: int = 0) -> str:
    """A table as HTML; the last ``numbers`` columns are numbers, the first is the head of its row."""
    first = len(head) - numbers

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = [' class="number"' if j >= first else "" for j in range(len(row))]
        tags = ["th" if j == 0 else tag for j in range(len(row))]
        scope = ' scope="col"' if tag == "th" else ' scope="row"'
        return "".join(
            f"<{one}{scope if one == 'th' else ''}{kind}>{html.escape(str(cell))}</{one}>"
            for one, kind, cell in zip(tags, kinds, row, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(name)}"><table><thead><tr>'
        f"{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def report_html(content: str) -> Any:
    """HTML in the look of the report."""
    return ui.html(content).classes("report")


def report_part(name: str, content: dict[str, Any]) -> None:
    """A section of the report, with its figures drawn live."""
    if "absent" in content:
        text(content["absent"], "absent")
        return
    from ..report.page import Section, part
    from ..report.sections import WORDS

    section = Section(name, "", content)
    report_html(part(section, words=WORDS))
    for one in section.drawings:
        figure(one)


def report_blocks(blocks: Sequence[Any]) -> None:
    """Blocks of the report of an image, with their figures drawn live."""
    from ..report.page import Drawing, Section, part

    for drawn, run_of in groupby(blocks, lambda block: isinstance(block, Drawing)):
        if not drawn:
            report_html(part(Section("blocks", "", {"blocks": list(run_of)})))
            continue
        for one in run_of:
            figure(one)


def figure(drawing: Drawing) -> Any:
    """A figure with its words below it."""
    if drawing.figure is None:
        text(drawing.reason, "absent")
        return None
    with ui.element("figure").classes("drawn"):
        plot = ui.plotly(with_config(drawing.figure))
        plot.props["role"], plot.props["aria-label"] = "img", f"{drawing.title}. {drawing.explanation}"
        caption = f"<strong>{html.escape(drawing.title)}.</strong> {html.escape(drawing.explanation)}"
        ui.html(caption, tag="figcaption")
    return plot


def with_config(values: dict[str, Any]) -> dict[str, Any]:
    """What plotly draws, without its buttons, and with the names of axes in lines that fit."""
    layout = {**values["layout"]}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")) and isinstance(axis.get("title"), dict) and axis["title"].get("text"):
            lines = textwrap.wrap(axis["title"]["text"], _AXIS_LETTERS, break_long_words=False)
            layout[name] = {**axis, "title": {**axis["title"], "text": "<br>".join(lines), "font": {"size": 12}}}
    return {**values, "layout": layout, "config": {"displayModeBar": False, "displaylogo": False}}


class Tabs:
    """Tabs whose panels are built when they are looked at; ``changed`` is told which one is."""

    def __init__(
        self, panels: dict[str, Callable[[], None]], first: str, changed: Callable[[str], None] | None = None
    ) -> None:
        self._panels, self._changed, self._built = panels, changed, set[str]()
        with ui.tabs().props("align=left inline-label outside-arrows") as self._tabs:
            for name in panels:
                ui.tab(name)
        with ui.tab_panels(self._tabs, value=first, animated=False, keep_alive=False) as shown:
            self._places = {name: ui.tab_panel(name) for name in panels}
        shown.on_value_change(lambda event: self._look_at(event.value))
        self._build(first)

    @property
    def value(self) -> str:
        """The panel that is looked at."""
        return str(self._tabs.value)

    def refresh(self) -> None:
        """Build every panel anew: the one that is looked at now, the others when they are."""
        self._built.clear()
        self._build(self.value)

    def _look_at(self, name: str) -> None:
        if self._changed is not None:
            self._changed(name)
        self._build(name)

    def _build(self, name: str) -> None:
        if name not in self._built:
            self._built.add(name)
            self._places[name].clear()
            with self._places[name]:
                self._panels[name]()


class Copies:
    """The same work as Python and as a command, to copy; made when it is opened."""

    def __init__(self) -> None:
        self.panel = ui.expansion("Copy as code", icon="content_copy", on_value_change=self._write).classes("copies")
        self._texts, self._values = dict[str, Any](), dict[str, str]()
        self.panel.visible = False

    def _one(self, name: str) -> Any:
        with ui.element("div").classes("copied"):
            text(name, tag="h3")
            ui.button("Copy", on_click=lambda: ui.clipboard.write(self._values[name])).props(
                f'flat dense aria-label="Copy as {name}"'
            )
            return ui.html("", tag="pre").props("tabindex=0 role=region").props(f'aria-label="{name}"')

    def show(self, python: str, command: str) -> None:
        """Show what was done so far."""
        self._values = {"Python": python, "Command": command}
        self.panel.visible = True
        self._write()

    def _write(self) -> None:
        if not self.panel.value:
            return
        if not self._texts:
            with self.panel:
                self._texts = {name: self._one(name) for name in self._values}
        for name, value in self._values.items():
            set_text(self._texts[name], value)


class Slider:
    """A slider with its name and what it is set to, as the report has them."""

    def __init__(self, name: str, least: float, most: float, start: float, step: float = 1) -> None:
        self.value, self._moved = start, lambda: None
        with ui.element("div").classes("sliding"):
            ui.label(name)
            self._shown = ui.label(f"{start:g}").classes("set")
            self._input = ui.element("input").props(f"type=range min={least} max={most} step={step} value={start}")
            self._input.props["aria-label"] = name
        self._input.on("input", self._heard, js_handler=_VALUE, throttle=0.05)

    def moved(self, function: Callable[[], Any]) -> Slider:
        """Call a function whenever it is moved."""
        self._moved = function
        return self

    def set(self, value: float, most: float | None = None) -> None:
        """Move it."""
        self.value = value
        if most is not None:
            self._input.props["max"] = most
        self._input.props["value"] = value
        self._input.update()
        self._moved()

    def show(self, words: str) -> None:
        """What it is set to, in words."""
        self._shown.set_text(words)
        self._input.props["aria-valuetext"] = words
        self._input.update()

    def _heard(self, event: Any) -> Any:
        self.value = float(event.args)
        with self._input.props.suspend_updates():
            self._input.props["value"] = self.value
        return self._moved()


class Cancelled(Exception):
    """Work that its user has cancelled."""


_loading = threading.Lock()


def load_libraries() -> None:
    """Load what the pages call; who comes meanwhile waits.

    Threads that load modules which import each other, each from another end, are given halves of them.
    """
    with _loading:
        from .. import report, validation  # noqa: F401
        from ..estimators.registry import MODELS, new_model

        for name in MODELS:
            new_model(name)


def _with_libraries(function: Callable[..., R], *arguments: Any, **options: Any) -> R:
    load_libraries()
    return function(*arguments, **options)


class Work:
    """Work that a control starts: in a thread, with progress and cancel; its error is told beside the control."""

    def __init__(self, name: str = "Working") -> None:
        with ui.element("div").classes("work"):
            with ui.row().classes("running") as self._running:
                self._bar = ui.linear_progress(0, show_value=False).props("instant-feedback")
                self._bar.props["aria-label"] = name
                self._words = text(name, "remark", tag="span").props("aria-live=polite")
            self._cancel: Any = None  # made when something can be cancelled
            self._error = ui.html("").classes("error").props("role=alert")
        self._name, self._stopped, self._done = name, threading.Event(), (0, 0)
        self._running.visible = self._error.visible = False

    @property
    def is_running(self) -> bool:
        """Whether it works now."""
        return bool(self._running.visible)

    def cancel(self) -> None:
        """Stop the work as soon as it looks up."""
        self._stopped.set()

    def told(self, done: int, total: int) -> None:
        """What the library tells of its progress, from any thread."""
        if self._stopped.is_set():
            raise Cancelled
        self._done = done, total

    def fail(self, error: Exception | str) -> None:
        """Tell an error here."""
        set_text(self._error, str(error))
        self._error.visible = bool(str(error))

    async def run(self, function: Callable[..., R], *arguments: Any, cancellable: bool = False) -> R | None:
        """The result, or None where there is none: an error, cancelled, or still at work."""
        if self.is_running:
            return None
        self.fail("")
        self._stopped.clear()
        self._done = (0, 0)
        self._offer_cancel(cancellable)
        self._running.visible = True
        self._show()
        showing = background_tasks.create(self._keep_showing())
        try:
            more: dict[str, Any] = {"progress": self.told} if cancellable else {}
            return await run.io_bound(_with_libraries, function, *arguments, **more)
        except Cancelled:
            self.fail("Cancelled.")
        except DiscriminantError as error:
            self.fail(error)
        except Exception as error:
            logging.getLogger("discriminant.studio").exception("unexpected")
            self.fail(f"This should not have happened ({type(error).__name__}: {error}).")
        finally:
            showing.cancel()
            self._running.visible = False
        return None

    def _offer_cancel(self, cancellable: bool) -> None:
        if cancellable and self._cancel is None:
            with self._running:
                self._cancel = ui.button("Cancel", on_click=self.cancel).props("flat dense")
        if self._cancel is not None:
            self._cancel.visible = cancellable

    async def _keep_showing(self) -> None:
        """Show how far the work is; a timer of NiceGUI's would also tick in pages that do nothing."""
        while not self._bar.is_deleted:
            await asyncio.sleep(_SHOWN_SECONDS)
            self._show()

    def _show(self) -> None:
        done, total = self._done
        self._bar.props["indeterminate"] = not total
        self._bar.set_value(done / total if total else 0)
        self._words.set_content(f"{self._name}: {done} of {total}" if total else f"{self._name}…")
        self._bar.update()


class Latest:
    """Of calls that come faster than they are answered, the one under way and one more after it."""

    def __init__(self, function: Callable[[], Awaitable[None]]) -> None:
        self._function, self._busy, self._again = function, False, False

    async def __call__(self) -> None:
        """Call the function, now or when it has ended what it does."""
        self._again = True
        if self._busy:
            return
        self._busy = True
        try:
            while self._again:
                self._again = False
                await self._function()
        finally:
            self._busy = False


@dataclass(frozen=True)
class FileChooser:
    """Three ways to a file: drop or choose one, type its path, or take a bundled one."""

    visitors: Visitors
    chosen: Callable[[Path, str], Awaitable[None]]
    work: Work
    typed: Callable[[Path, str], Awaitable[None]] | None = None  #: what opens a typed path, if not the same

    def build(self, what: str, accept: str, again: bool = False) -> None:
        """The controls; ``again`` offers what was uploaded before."""
        kinds = tuple(accept.split(","))
        # A file input is reached by the keyboard, and takes what is dropped on it.
        with ui.element("label").classes("drop"):
            text(f"Drop {what} here, or choose one", tag="span")
            upload = ui.element("input").props("type=file")
            upload.props["accept"], upload.props["aria-label"] = accept, f"Choose {what}"
        send = _UPLOAD.replace("MOST", str(self.visitors.most_bytes))
        upload.on("change", lambda event: self._uploaded(event.args, kinds), js_handler=send)
        if self.visitors.allowed:
            typed = ui.input("or type a path on this machine").props("dense outlined clearable").classes("typed")
            # The key brings the words along: until the page is connected, what was typed may arrive after the key.
            typed.on("keydown.enter", lambda event: self._type(typed, event.args), js_handler=_VALUE)
        before = self.visitors.uploads(visitor(), accept.split(",")) if again else []
        if before:
            options = {f"{path.parent.name}/{path.name}": path.name for path in before[:_SHOWN_UPLOADS]}
            earlier = ui.select(options, label="or take one you uploaded").props("dense outlined")
            earlier.on_value_change(lambda event: self._take(event.value))

    async def _uploaded(self, answer: str, kinds: tuple[str, ...]) -> None:
        """Open what arrived, or tell why it did not."""
        try:
            told = json.loads(answer)
            if "error" in told:
                raise self.visitors.too_large() if told["error"] is True else InputError(str(told["error"]))
            path = self.visitors.uploaded(visitor(), told["file"])
            if not path.name.lower().endswith(kinds):
                raise InputError(f"This page opens files of these kinds: {', '.join(kinds)}.")
        except InputError as error:
            self.work.fail(error)
        except (KeyError, TypeError, ValueError):
            self.work.fail("The upload did not arrive.")
        else:
            await self.chosen(path, path.name)

    async def _take(self, name: str) -> None:
        try:
            path = self.visitors.uploaded(visitor(), name)
        except InputError as error:
            self.work.fail(error)
            return
        await self.chosen(path, path.name)

    async def _type(self, typed: Any, words: str) -> None:
        try:
            path = self.visitors.typed(words)
        except InputError as error:
            self.work.fail(error)
            return
        typed.set_value("")
        await (self.typed or self.chosen)(path, str(path))
