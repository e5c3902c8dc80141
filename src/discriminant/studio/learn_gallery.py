"""The start of the Learn page: a card for each lesson with its points, and the worked examples."""

from __future__ import annotations

from functools import cache
from typing import Final
from urllib.parse import urlencode

from nicegui import run, ui

from .frame import text
from .learn_views import VIEWS
from .narrow import shade

#: The name of the gallery in addresses, in the place of a lesson.
GALLERY: Final = "lessons"
#: Points of a picture: enough to see the classes.
MAX_DOTS: Final = 90
_SIZE: Final = (120, 72)


def build() -> None:
    """Lay out the cards; pictures follow, because datasets take some time to load."""
    text("Learn linear classification", tag="h1")
    text(
        "Each lesson fits models to points that you can paint, move and erase. Choose a lesson; each lesson has "
        "questions with hidden answers and a link that you can share.",
        "lead",
    )
    pictures = {}
    with ui.element("div").classes("lessons"):
        for name, view in VIEWS.items():
            with ui.element("a").classes("lesson-card").props(f'href="/learn?view={name}"'):
                pictures[name] = ui.html("", sanitize=False).classes("picture")
                text(view.title, tag="h2")
                text(view.lead.split(". ")[0].rstrip(".") + ".")
    text("Worked examples of the lecture notes", tag="h2")
    examples = ui.element("ul").classes("examples")

    async def fill() -> None:
        from .learn_points import example_titles

        found = await run.io_bound(_pictures)
        if found is None or examples.is_deleted:
            return
        for name, drawn in found.items():
            pictures[name].set_content(drawn)
        with examples:
            for name, title in example_titles().items():
                with ui.element("li"):
                    ui.link(title, f"/learn?{urlencode({'example': name})}")

    ui.timer(0, fill, once=True)


@cache
def _pictures() -> dict[str, str]:
    """The points of each lesson as a small picture."""
    from .learn_points import preset

    drawn = {}
    for name, view in VIEWS.items():
        points = preset(view.points)
        step = max(1, len(points.values) // MAX_DOTS)
        x = points.values[::step, 0]
        y = points.values[::step, 1] if points.paintable else points.codes[::step].astype(float)
        low, high = points.limits
        across = _SIZE[0] * (x - low[0]) / (high[0] - low[0])
        up = (y - low[1]) / (high[1] - low[1]) if points.paintable else (y + 1) / (len(points.labels) + 1)
        dots = "".join(
            f'<circle cx="{a:.0f}" cy="{_SIZE[1] * (1 - b):.0f}" r="2.4" style="fill:{shade(k)}"/>'
            for a, b, k in zip(across.tolist(), up.tolist(), points.codes[::step].tolist(), strict=True)
        )
        drawn[name] = f'<svg viewBox="0 0 {_SIZE[0]} {_SIZE[1]}" aria-hidden="true">{dots}</svg>'
    return drawn
