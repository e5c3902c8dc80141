"""Figures as data for the page: drawn by the browser, described and captioned for everybody."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import DiscriminantError

#: What plotly reads as formatting in a text.
_FORMATTING = re.compile(r"</?(?:b|i|em|sub|sup|span|s|u)(?:\s[^<>]*)?>", re.IGNORECASE)
#: Room above a plot, in pixels, once its title is text of the page.
_TOP = 24
#: Less than this leaves no room for axes and their names.
_LEAST_HEIGHT = 260
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


@dataclass(frozen=True)
class Drawing:
    """A figure: its place on the page, what plotly draws, and what is said about it; or why there is none."""

    place: str
    figure: dict[str, Any] | None
    title: str = ""
    explanation: str = ""
    reason: str = ""


def drawing(place: str, draw: Callable[..., Any], *arguments: Any, explanation: str = "", **options: Any) -> Drawing:
    """The figure that ``draw`` returns; where it refuses, its reason."""
    try:
        figure = draw(*arguments, **options)
    except DiscriminantError as error:
        return Drawing(place, None, reason=str(error))
    return drawn(place, figure, explanation)


def drawn(place: str, figure: Any, explanation: str = "") -> Drawing:
    """A plotly figure with its title taken out: as text of the page it can wrap and be read aloud."""
    values = json.loads(figure.to_json())
    layout = values["layout"]
    title = layout.pop("title", None) or {}
    heading, _, rest = as_text(title.get("text", "")).partition("\n")
    below = as_text((title.get("subtitle") or {}).get("text", ""))
    said = " ".join(filter(None, (rest.replace("\n", " "), below.replace("\n", " "), explanation)))
    layout.pop("width", None)
    margin = layout.setdefault("margin", {})
    if "height" in layout:
        layout["height"] = max(layout["height"] - (margin.get("t", _TOP) - _TOP), _LEAST_HEIGHT)
    margin["t"] = _TOP
    return Drawing(place, values, heading, said)


def as_text(title: str) -> str:
    """A title without plotly's formatting; its breaks as line ends."""
    return html.unescape(_FORMATTING.sub("", _BREAK.sub("\n", title))).strip()
