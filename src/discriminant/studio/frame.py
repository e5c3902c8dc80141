"""Shared by all pages: header, figures, sections of reports, code to copy, uploads, and work in threads."""

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from nicegui import app, background_tasks, run, ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import GenericEventArguments

from ..errors import DiscriminantError, InputError
from .visitors import Visitors

if TYPE_CHECKING:
    from ..report.page import Block, Drawing

_PAGES = {"/": "Table", "/learn": "Learn", "/image": "Image"}
_SHADES: dict[bool | None, tuple[str, str]] = {
    None: ("brightness_auto", "Colours: same as the system"),
    False: ("light_mode", "Colours: light"),
    True: ("dark_mode", "Colours: dark"),
}
#: NiceGUI also resizes figures that have just been removed; the error of Plotly is harmless.
_HEAD = """<link rel="stylesheet" href="/studio.css"><script>
addEventListener("unhandledrejection", event => {
  if (String(event.reason).includes("Resize must be passed a displayed plot")) event.preventDefault();
});
</script>"""
#: Uploads the chosen file, unless it exceeds the limit of the server, and emits the answer.
_UPLOAD = """async event => {
  const file = event.target.files[0];
  if (!file) return;
  const headers = {"X-File-Name": encodeURIComponent(file.name)};
  const large = file.size > LIMIT;
  try {
    const answer = large ? null : await fetch("/upload", {method: "POST", body: file, headers});
    emit(large ? '{"error": true}' : await answer.text());
  } catch (error) {
    emit("{}");
  }
  event.target.value = "";
}"""
_VALUE = "event => emit(event.target.value)"
#: Seconds between two updates of a progress bar.
PROGRESS_SECONDS: Final = 0.1
#: Characters of a line of an axis title.
AXIS_LINE_LENGTH: Final = 38
#: The place of legends: above the plot, where they leave its width on narrow screens.
_LEGEND: Final = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "borderwidth": 0}
#: Number of a visitor's latest uploads that are offered again.
MAX_RECENT_UPLOADS: Final = 8
R = TypeVar("R")


class Page(Protocol):
    """A page with a state that its tab keeps."""

    state: Any


P = TypeVar("P", bound=Page)


@contextmanager
def frame(active: str) -> Iterator[None]:
    """Lay out a page below the header; ``active`` is its address."""
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
    ui.skip_link("Skip to the main content", target=desk)


def _shade_button() -> None:
    dark = ui.dark_mode(app.storage.user.get("dark"))
    button = ui.button().props("flat round dense").classes("shade")

    def show() -> None:
        icon, words = _SHADES[dark.value]
        button.props["icon"], button.props["aria-label"] = icon, words
        button.update()

    def switch() -> None:
        order = list(_SHADES)
        dark.value = app.storage.user["dark"] = order[(order.index(dark.value) + 1) % len(order)]
        show()

    button.on_click(switch)
    show()


async def opened(address: str, make: Callable[[Visitors], P], visitors: Visitors) -> P | None:
    """The page at an address, with the state that its tab keeps over reloads; None if the tab is closed."""
    with frame(address):
        page = make(visitors)
    await ui.context.client.connected()
    if not ui.context.client.has_socket_connection:
        return None
    page.state = app.storage.tab.get(address, page.state)
    app.storage.tab[address] = page.state
    return page


def visitor() -> str:
    """The identifier of the visitor, from a signed cookie."""
    return str(app.storage.browser["id"])


@contextmanager
def step(title: str, number: int | None = None) -> Iterator[None]:
    """A group of controls with a heading."""
    with ui.element("section").classes("step"):
        numbered = "" if number is None else f'<span class="number">{number}</span> '
        ui.html(f"{numbered}{html.escape(title)}", tag="h2")
        yield


def text(words: str, *classes: str, tag: str = "p") -> ui.html:
    """An element with a text, whose special characters are escaped."""
    return ui.html(html.escape(words), tag=tag).classes(" ".join(classes))


def set_text(shown: ui.html, words: str) -> None:
    """Change the text of an element that `text` made."""
    shown.set_content(html.escape(words))


def bring_into_view(shown: ui.element) -> None:
    """Scroll to results whose start is not visible, as below the controls of narrow screens."""
    place = f"getHtmlElement({shown.id})"
    outside = f"!({place}?.getBoundingClientRect().top > 0) || matchMedia('(max-width: 60rem)').matches"
    shown.client.run_javascript(f"if ({outside}) {place}?.scrollIntoView()")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str, numbers: int = 0) -> str:
    """A table as HTML; the last ``numbers`` columns are right-aligned, the first one is the row header."""
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


def report_html(content: str) -> ui.html:
    """HTML in the style of the report."""
    return ui.html(content).classes("report")


def report_part(name: str, content: dict[str, Any]) -> None:
    """A section of the report with interactive figures."""
    if "skipped" in content:
        text(content["skipped"], "empty")
        return
    from ..report.page import Section, part
    from ..report.sections import WORDS

    section = Section(name, "", content)
    report_html(part(section, words=WORDS))
    for one in section.drawings:
        figure(one)


def report_blocks(blocks: Sequence[Block | Drawing]) -> None:
    """Blocks of the report of an image with interactive figures."""
    from ..report.page import Drawing, Section, part

    for block in blocks:
        if isinstance(block, Drawing):
            figure(block)
        else:
            report_html(part(Section("blocks", "", {"blocks": [block]})))


def figure(drawing: Drawing) -> ui.plotly | None:
    """A figure with its caption; if it cannot be drawn, the reason."""
    if drawing.figure is None:
        text(drawing.reason, "empty")
        return None
    with ui.element("figure").classes("drawn"):
        plot = ui.plotly(with_config(drawing.figure))
        plot.props["role"], plot.props["aria-label"] = "img", f"{drawing.title}. {drawing.explanation}"
        caption = f"<strong>{html.escape(drawing.title)}.</strong> {html.escape(drawing.explanation)}"
        ui.html(caption, tag="figcaption")
    return plot


def with_config(values: dict[str, Any]) -> dict[str, Any]:
    """A Plotly figure without its toolbar, with wrapped axis titles, and with a legend that leaves its width."""
    layout = {**values["layout"]}
    if "x" not in layout.get("legend", {}):
        layout["legend"] = {**layout.get("legend", {}), **_LEGEND}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")) and isinstance(axis.get("title"), dict) and axis["title"].get("text"):
            lines = textwrap.wrap(axis["title"]["text"], AXIS_LINE_LENGTH, break_long_words=False)
            layout[name] = {**axis, "title": {**axis["title"], "text": "<br>".join(lines), "font": {"size": 12}}}
    return {**values, "layout": layout, "config": {"displayModeBar": False, "displaylogo": False}}


#: NiceGUI sets the list of the arguments of the event as the value, which is the name of no tab and of no option.
_SELECT: Final = 'name => { element.props["model-value"] = name; }'


class Choices(ui.select):
    """A list of several choices that the browser shows at once; a second click before the server's answer is kept."""

    LOOPBACK = False

    def __init__(self, options: dict[str, str], value: list[str], label: str) -> None:
        super().__init__(options, value=value, label=label, multiple=True)
        self.on("update:model-value", js_handler=_SELECT)


class _BrowserTabs(ui.tabs):
    """Tabs that the browser switches at once; a click on the old tab before the server's answer would be ignored."""

    LOOPBACK = False


class Tabs:
    """Tabs whose panels are built when they are opened; ``changed`` is called with the name of the opened one."""

    def __init__(
        self, panels: dict[str, Callable[[], None]], first: str, changed: Callable[[str], None] | None = None
    ) -> None:
        self._panels, self._changed, self._built = panels, changed, set[str]()
        with _BrowserTabs().props("align=left inline-label outside-arrows") as self._tabs:
            for name in panels:
                ui.tab(name)
        self._tabs.on("update:model-value", js_handler=_SELECT)
        with ui.tab_panels(self._tabs, value=first, animated=False, keep_alive=False) as shown:
            self._places = {name: ui.tab_panel(name) for name in panels}
        shown.on_value_change(lambda event: self._open(event.value))
        self._build(first)

    @property
    def value(self) -> str:
        """The name of the open panel."""
        return str(self._tabs.value)

    def open(self, name: str) -> None:
        """Open a panel."""
        self._tabs.set_value(name)

    def replace(self, panels: dict[str, Callable[[], None]]) -> None:
        """Build the panels by other functions: the open one now, the others when they are opened.

        The tabs stay in place, so that a click that is on its way to the server still opens its tab.
        """
        self._panels = panels
        self.refresh()

    def refresh(self, *names: str) -> None:
        """Build these panels, or all, again: the open one now, the others when they are opened."""
        self.forget(*(names or self._panels))
        self._build(self.value)

    def forget(self, *names: str) -> None:
        """Clear these panels; they are built again when they are opened."""
        self._built.difference_update(names)
        for name in names:
            self._places[name].clear()

    def _open(self, name: str) -> None:
        if self._changed is not None:
            self._changed(name)
        self._build(name)

    def _build(self, name: str) -> None:
        if name not in self._built:
            self._built.add(name)
            with self._places[name]:
                self._panels[name]()


class Copies:
    """The results as Python code and as commands, to copy."""

    def __init__(self) -> None:
        self.panel = ui.expansion("Copy as code", icon="content_copy", on_value_change=self._write).classes("copies")
        self._texts, self._values = dict[str, ui.html](), dict[str, str]()
        self.panel.visible = False

    def _one(self, name: str) -> ui.html:
        with ui.element("div").classes("copied"):
            text(name, tag="h3")
            ui.button("Copy", on_click=lambda: ui.clipboard.write(self._values[name])).props(
                f'flat dense aria-label="Copy as {name}"'
            )
            return ui.html("", tag="pre").props("tabindex=0 role=region").props(f'aria-label="{name}"')

    def show(self, python: str, command: str) -> None:
        """Show the code of the results so far."""
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
    """A slider with its name and value, as in the report.

    The browser holds the position, and the server sends one only where the page changes it: a position that came back
    while a key was pressed would undo the key. Vue sets the property ``value`` in every update of a page, so the
    position is sent as ``defaultValue`` for an input that the user has not moved, and by a script otherwise.
    """

    def __init__(self, name: str, low: float, high: float, start: float) -> None:
        self.value, self._moved = start, lambda: None
        with ui.element("div").classes("sliding"):
            ui.label(name)
            self._shown = ui.label(f"{start:g}").classes("set")
            self._input = ui.element("input").props(f"type=range min={low} max={high} step=1")
            self._input.props["aria-label"] = name
            self._input.props["defaultValue"] = start
        self._input.on("input", self._heard, js_handler=_VALUE, throttle=0.05)

    def moved(self, function: Callable[[], Any]) -> Slider:
        """Call a function whenever the user moves the slider."""
        self._moved = function
        return self

    def set(self, value: float, high: float | None = None) -> None:
        """Set the value, and its upper bound."""
        self.value = value
        if high is not None:
            self._input.props["max"] = high
        self._input.props["defaultValue"] = value
        self._input.update()
        self._input.client.run_javascript(
            f"const slider = getHtmlElement({self._input.id}); if (slider) slider.value = {value}"
        )

    def show(self, words: str) -> None:
        """Show the value as a text."""
        self._shown.set_text(words)
        self._input.props["aria-valuetext"] = words
        self._input.update()

    def _heard(self, event: GenericEventArguments) -> object:
        self.value = float(event.args)
        return self._moved()


class Cancelled(Exception):
    """The user has cancelled the work."""


_loading = threading.Lock()


def load_libraries() -> None:
    """Import the libraries that the pages call, in one thread at a time.

    Threads that import modules with circular imports at the same time get incomplete modules.
    """
    with _loading:
        from .. import report, validation  # noqa: F401


def _with_libraries(function: Callable[..., R], *arguments: Any, **options: Any) -> R:
    load_libraries()
    return function(*arguments, **options)


class Job(Generic[R]):
    """Work in a thread, with its progress; it goes on if the page that started it is closed."""

    def __init__(self, function: Callable[..., R], *arguments: Any, cancellable: bool = False) -> None:
        self.done, self.total, self.is_cancellable, self._stopped = 0, 0, cancellable, threading.Event()
        more: dict[str, Any] = {"progress": self._report_progress} if cancellable else {}
        running = run.io_bound(_with_libraries, function, *arguments, **more)
        self._task = background_tasks.create(running, handle_exceptions=False)

    async def result(self) -> R | None:
        """The result of the function, for any number of pages; None if the server stops."""
        await asyncio.wait([self._task])
        return self._task.result()

    def cancel(self) -> None:
        """Stop the work at its next report of progress."""
        self._stopped.set()

    def _report_progress(self, done: int, total: int) -> None:
        """Record the progress that the library reports, from any thread."""
        if self._stopped.is_set():
            raise Cancelled
        self.done, self.total = done, total


class Work:
    """A place that shows one job at a time, with a progress bar, a cancel button, and its error message."""

    def __init__(self, name: str = "Working") -> None:
        with ui.element("div").classes("work"):
            with ui.row().classes("running") as self._running:
                self._bar = ui.linear_progress(0, show_value=False).props("instant-feedback")
                self._bar.props["aria-label"] = name
                self._words = text(name, "remark", tag="span").props("aria-live=polite")
            self._cancel: ui.button | None = None  # made when something can be cancelled
            self._error = ui.html("").classes("error").props("role=alert")
        self._name = name
        self._job: Job[Any] | None = None  #: the job that is shown
        self._running.visible = self._error.visible = False

    @property
    def is_running(self) -> bool:
        """Whether work is in progress."""
        return self._job is not None

    def cancel(self) -> None:
        """Stop the work at its next report of progress."""
        if self._job is not None:
            self._job.cancel()

    def fail(self, error: Exception | str) -> None:
        """Show an error message; an empty one hides it."""
        set_text(self._error, str(error))
        self._error.visible = bool(str(error))

    async def run(self, function: Callable[..., R], *arguments: Any, cancellable: bool = False) -> R | None:
        """The result of the function, as `follow`."""
        return None if self.is_running else await self.follow(Job(function, *arguments, cancellable=cancellable))

    async def follow(self, job: Job[R]) -> R | None:
        """The result of a job; None after an error, if it was cancelled, or if other work is in progress."""
        if self.is_running:
            return None
        self._job = job
        self.fail("")
        self._offer_cancel(job.is_cancellable)
        self._running.visible = True
        showing = background_tasks.create(self._keep_showing(job))
        try:
            return await job.result()
        except Cancelled:
            self.fail("Cancelled.")
        except DiscriminantError as error:
            self.fail(error)
        except Exception as error:
            logging.getLogger("discriminant.studio").exception("unexpected")
            self.fail(f"Internal error ({type(error).__name__}: {error}). Please report it.")
        finally:
            showing.cancel()
            self._running.visible, self._job = False, None
        return None

    def _offer_cancel(self, is_cancellable: bool) -> None:
        if is_cancellable and self._cancel is None:
            with self._running:
                self._cancel = ui.button("Cancel", on_click=self.cancel).props("flat dense")
        if self._cancel is not None:
            self._cancel.visible = is_cancellable

    async def _keep_showing(self, job: Job[Any]) -> None:
        """Show the progress; a timer of NiceGUI would also run in idle pages."""
        while not self._bar.is_deleted:
            self._bar.props["indeterminate"] = not job.total
            self._bar.set_value(job.done / job.total if job.total else 0)
            self._words.set_content(f"{self._name}: {job.done} of {job.total}" if job.total else f"{self._name}…")
            self._bar.update()
            await asyncio.sleep(PROGRESS_SECONDS)


def computed(name: str, find: Callable[[], Any], blocks: Callable[[Any], Sequence[Block | Drawing]]) -> None:
    """Blocks of a report on a result that is computed in a thread."""
    working, place = Work(name), ui.element("div")

    async def show() -> None:
        found = await working.run(find)
        if found is not None and not place.is_deleted:
            with place:
                report_blocks(blocks(found))

    ui.timer(0, show, once=True)


class Latest:
    """Calls of a slow function: of those that arrive while it runs, only the last is carried out."""

    def __init__(self, function: Callable[[], Awaitable[None]]) -> None:
        self._function, self._busy, self._again = function, False, False

    async def __call__(self) -> None:
        """Call the function, now or when its current call has ended."""
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
    """Controls to open a file: drop or choose one, type its path, or choose an earlier upload."""

    visitors: Visitors
    chosen: Callable[[Path, str], Awaitable[None]]
    work: Work
    typed: Callable[[Path, str], Awaitable[None]] | None = None  #: opens a typed path; by default ``chosen``

    def build(self, what: str, accept: str, again: bool = False) -> None:
        """Lay out the controls; ``again`` offers earlier uploads."""
        kinds = tuple(accept.split(","))
        # A file input can be reached by the keyboard, and accepts dropped files.
        with ui.element("label").classes("drop"):
            text(f"Drop {what} here, or choose a file", tag="span")
            upload = ui.element("input").props("type=file")
            upload.props["accept"], upload.props["aria-label"] = accept, f"Choose {what}"
        send = _UPLOAD.replace("LIMIT", str(self.visitors.max_upload_bytes))
        upload.on("change", lambda event: self._uploaded(event.args, kinds), js_handler=send)
        if self.visitors.allowed:
            typed = ui.input("or type a path on this machine").props("dense outlined clearable").classes("typed")
            # The event carries the text: until the page is connected, the value may arrive after the key.
            typed.on("keydown.enter", lambda event: self._type(typed, event.args), js_handler=_VALUE)
        before = self.visitors.uploads(visitor(), accept.split(",")) if again else []
        if before:
            options = {f"{path.parent.name}/{path.name}": path.name for path in before[:MAX_RECENT_UPLOADS]}
            earlier = ui.select(options, label="or choose an earlier upload").props("dense outlined")
            earlier.on_value_change(lambda event: self._open(lambda: self.visitors.uploaded(visitor(), event.value)))

    async def _uploaded(self, answer: str, kinds: tuple[str, ...]) -> None:
        """Open an uploaded file, or show why the upload failed."""
        try:
            received = json.loads(answer)
            error, name = received.get("error"), received.get("file")
        except (AttributeError, ValueError):
            error, name = None, None

        def path() -> Path:
            if error is not None:
                raise self.visitors.too_large() if error is True else InputError(str(error))
            if not isinstance(name, str):
                raise InputError("The upload failed. Try again.")
            if not name.lower().endswith(kinds):
                raise InputError(f"This page opens files of these types: {', '.join(kinds)}.")
            return self.visitors.uploaded(visitor(), name)

        await self._open(path)

    async def _open(self, find: Callable[[], Path]) -> None:
        try:
            path = find()
        except InputError as error:
            self.work.fail(error)
        else:
            await self.chosen(path, path.name)

    async def _type(self, typed: ValueElement, given: str) -> None:
        try:
            path = self.visitors.typed(given)
        except InputError as error:
            self.work.fail(error)
            return
        typed.set_value("")
        await (self.typed or self.chosen)(path, str(path))
