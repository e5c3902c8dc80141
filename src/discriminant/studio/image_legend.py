"""The legend below the map of the Image page, and the values of a pixel, as HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nicegui import ui

from ..results import percent
from .frame import Work, set_text, text

if TYPE_CHECKING:
    from .image_page import ImagePage
    from .image_work import ImageWork, PixelValues

#: Number of bands and classes that the values of a pixel list.
MAX_LISTED_BANDS: Final = 12
MAX_LISTED_CLASSES: Final = 6
#: Zoom levels beyond the resolution of the image at which a proposed place is shown.
PROPOSAL_ZOOM_LEVELS: Final = 1


class MapLegend:
    """The legend below the map with a note; it also shows the values of a pixel and the next place to label."""

    def __init__(self, page: ImagePage) -> None:
        self.page = page
        self._entries, self._note = ui.html("").classes("map-legend"), text("", "remark", "map-note")
        self._place = text("", "map-note").props("aria-live=polite")
        self._work = Work("Searching")

    def show(self) -> None:
        """Show the legend of the current layer."""
        layer = self.page.map.layer.value
        self._entries.set_content(legend(self.page.work, layer))
        set_text(self._note, legend_note(self.page.work) if layer == "map" else "")

    def inspect(self, place: Sequence[float]) -> None:
        """Show the values of a pixel beside it."""
        work = self.page.work
        self.page.call("showPixel", place, pixel_table(work.pixel_values(*work.pixel(place[0], place[1]))))

    async def propose(self) -> None:
        """Go to the pixel whose class is least certain."""
        page, work = self.page, self.page.work
        if work.trained is None:
            page.drawing.fail("Draw areas of at least two classes first.")
            return
        found = await self._work.run(lambda: (work.next_place(),))
        if found is None:
            return
        if found[0] is None:
            message = (
                "No further suggestions: every remaining location is close to a training area or an earlier suggestion."
            )
            set_text(self._place, message)
            return
        where = work.place(*found[0])
        set_text(self._place, place_note(work.pixel_values(*found[0])))
        page.call("lookAt", where, work.zooms + PROPOSAL_ZOOM_LEVELS)
        page.call("showSpot", where, False)


def legend(work: ImageWork, layer: str) -> str:
    """The legend of a layer of the map: classes with hectares and share, or the scale of probabilities."""
    from .image_tiles import PROBABILITY_COLOURS, UNLIKE_COLOUR

    if work.trained is None:
        return ""
    if layer == "unlike":
        words = "Unlike any class: outside the region that contains 99 % of the nearest class"
        return _entry(UNLIKE_COLOUR, html.escape(words))
    if layer == "probability":
        ramp = f'<i class="ramp" style="background: linear-gradient(to right, {", ".join(PROBABILITY_COLOURS)})"></i>'
        lowest = f"{100 / len(work.trained.samples.classes):.0f} %"
        return f"<span>Probability of the most probable class: {lowest} {ramp} 100 %</span>"
    macro = work.trained.rule.macro
    merged = {} if macro is None else macro.of
    entries = []
    for name, colour, hectares, share in work.shares():
        classes = ", ".join(own for own, to in merged.items() if to == name)
        words = f"{html.escape(name)} <b>{hectares + ' ha' if hectares else share}</b> {share if hectares else ''}"
        entries.append(_entry(colour, words + (f" <i>({html.escape(classes)})</i>" if classes else "")))
    return "".join(entries)


def legend_note(work: ImageWork) -> str:
    """How the hectares and shares in the legend were computed."""
    if work.trained is None:
        return ""
    smoothed, choice = work.trained.rendered.margin > 0, work.trained.choice
    whole = work.preview.weight == 1 or (smoothed and work.is_small)
    before = " before smoothing" if smoothed and not work.is_small else ""
    sampled = "" if whole else f", estimated from {percent(1 / work.preview.weight)} of the pixels"
    chosen = "" if choice is None else f" {choice.sentence}"
    return (
        f"Hectares (ha) and shares on the map{before}{sampled}, not corrected for its errors. The tab Map accuracy "
        f"estimates the true areas with confidence intervals.{chosen}"
    )


def _entry(colour: str, words: str) -> str:
    return f'<span><i class="swatch" style="background: {colour}"></i> {words}</span>'


def pixel_table(found: PixelValues) -> str:
    """The values of a pixel and the probabilities of its classes."""
    place = "" if found.place is None else f"<br>{found.place[0]:,.6g}, {found.place[1]:,.7g}"
    head = f"<b>Column {found.column:,}, row {found.row:,}</b>{place}"
    if not found.bands:
        return f"{head}<br>No data"
    classes = sorted(found.probabilities.items(), key=lambda one: -one[1])
    rows = [(name, f"{100 * p:.1f} %") for name, p in classes[:MAX_LISTED_CLASSES]]
    bands = [(name, f"{value:g}") for name, value in list(found.bands.items())[:MAX_LISTED_BANDS]]
    more = len(found.bands) - len(bands)
    label = f"<br>Class: <b>{html.escape(found.label)}</b>" if found.label else ""
    return f"{head}{label}{_table(rows)}{_table(bands)}{f'and {more} more bands' if more > 0 else ''}"


def _table(rows: list[tuple[str, str]]) -> str:
    cells = [f'<tr><th scope="row">{html.escape(name)}</th><td>{value}</td></tr>' for name, value in rows]
    return f"<table>{''.join(cells)}</table>" if rows else ""


def place_note(found: PixelValues) -> str:
    """Why a place is proposed for labelling, as plain text."""
    classes = sorted(found.probabilities.items(), key=lambda one: -one[1])[:2]
    likely = " and ".join(f"{name} ({100 * p:.0f} %)" for name, p in classes)
    return (
        f"Uncertain pixel at column {found.column:,}, row {found.row:,}: most probable classes {likely}. Choose its "
        "class and draw an area."
    )
