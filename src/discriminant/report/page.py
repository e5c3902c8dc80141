"""The page of a report: one HTML file of numbered sections, with figures that the browser draws and nothing to fetch.

What all reports share: the sections and figures a page is made of, numbers as pages print them, and the writing of the
file.
"""

from __future__ import annotations

import html
import json
import math
import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import DiscriminantError
from ..files import write_whole

#: Measures that are shares of rows and read best in percent.
SHARES = {
    "accuracy",
    "error_rate",
    "balanced_accuracy",
    "recall",
    "precision",
    "specificity",
    "f1",
    "coverage",
    "selective_accuracy",
}
#: Measures in units of their own, of any size.
COSTS = {"cost", "cost_least_risk"}
NOTHING = "\N{EN DASH}"
_PACKAGES = ("discriminant", "numpy", "scipy", "scikit-learn", "numba", "plotly")
_MINUS = "\N{MINUS SIGN}"  #: as wide as a digit, so that columns align


def count(value: float) -> str:
    """A number of rows, or a sum of weights, with thousands set apart."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(value: float, digits: int = 1) -> str:
    """A share in percent; a dash where there is none."""
    return NOTHING if math.isnan(value) else f"{100 * value:.{digits}f} %"


def decimal(value: float, digits: int = 4) -> str:
    """A number to so many significant digits; a dash where there is none."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    size = 0 if value == 0 else math.floor(math.log10(abs(value)))
    if not -4 <= size < 6:
        return f"{value:.{digits - 1}e}".replace("-", _MINUS)
    return f"{value:.{max(digits - 1 - size, 0)}f}".replace("-", _MINUS)


def signed(value: float, digits: int) -> str:
    """A number with its sign; what rounds to 0 has none."""
    text = f"{value:+.{digits}f}".replace("-", _MINUS)
    return text if text.strip(f"+{_MINUS}0.") else text[1:]


def short(value: float) -> str:
    """A number to three digits at most, such as a threshold or a cost."""
    if math.isinf(value):
        return decimal(value)
    return NOTHING if math.isnan(value) else f"{value:.3g}".replace("-", _MINUS)


def measured(metric: str, value: float) -> str:
    """A measure as it reads best."""
    if metric in SHARES:
        return percent(value)
    if metric in COSTS:
        return decimal(value, 3)
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def between(metric: str, low: float, high: float) -> str:
    """The ends of an interval; an empty text where there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    if metric in SHARES:
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    if metric in COSTS:
        return f"{decimal(low, 3)} to {decimal(high, 3)}"
    return f"{low:.3f} to {high:.3f}"


def significance(p: float) -> str:
    """A p-value; very small ones as what they are below."""
    if math.isnan(p):
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def quoted(label: Any) -> str:
    """A class, action or column named in a sentence."""
    return f"“{label}”"


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


@dataclass(frozen=True)
class Section:
    """A numbered section: its address on the page, its heading, and what its template shows.

    Figures are entries of ``content``: a `Drawing`, or a list of them.
    """

    name: str
    heading: str
    content: dict[str, Any]

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the section."""
        entries = [
            entry for value in self.content.values() for entry in (value if isinstance(value, list) else [value])
        ]
        return [entry for entry in entries if isinstance(entry, Drawing)]


def write_page(
    path: str | os.PathLike[str], template: str, title: str, facts: list[str], sections: list[Section], **more: Any
) -> Path:
    """Write sections as a page and return its path; the file appears whole or not at all.

    ``template`` extends ``base.html``; ``facts`` and the date stand below the title; ``more`` is what else the template
    reads.
    """
    from plotly.offline import get_plotlyjs

    figures = {one.place: one.figure for section in sections for one in section.drawings if one.figure is not None}
    today = datetime.now(UTC)
    page = _environment().get_template(template)
    text = page.render(
        title=title,
        subtitle=" · ".join([*facts, f"{today.day} {today:%B %Y}"]),
        sections=sections,
        figures=figures,
        plotly=get_plotlyjs() if figures else "",
        **more,
    )
    write_whole(path, text.encode("utf-8"))
    return Path(path)


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("discriminant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "allow_nan": False, "separators": (",", ":")}
    return made


def versions(*more: str) -> list[tuple[str, str]]:
    """Python's version, and those of the packages a result depends on."""
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in (*_PACKAGES, *more))]
