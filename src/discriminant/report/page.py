"""The page of a report: one HTML file of numbered sections and interactive figures that works offline.

Shared by all reports: sections and figures, the format of numbers, and the writing of the file.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DiscriminantError
from ..evaluation.intervals import RANGE_MARK
from ..figures.sketch import Sketch
from ..figures.theme import alt_text, as_text
from ..files import write_whole
from ..results import NOTHING, decimal, percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure

#: Measures that are printed in percent.
SHARES = {
    "accuracy",
    "error_rate",
    "majority",
    "balanced_accuracy",
    "recall",
    "precision",
    "specificity",
    "f1",
    "coverage",
    "selective_accuracy",
}
#: Measures with units of their own.
COSTS = {"cost"}
_PACKAGES = ("discriminant", "numpy", "scipy", "scikit-learn", "plotly")
_MINUS = "\N{MINUS SIGN}"  #: as wide as a digit, so that columns align


def significant(value: float, digits: int = 4) -> str:
    """A number with this many significant digits, trailing zeros included; a dash for NaN."""
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    text = f"{value:.{max(digits - 1 - size, 0)}f}" if -4 <= size < 6 else f"{value:.{digits - 1}e}"
    return text.replace("-", _MINUS)


def signed(value: float, digits: int) -> str:
    """A number with its sign, except for 0 after rounding."""
    text = f"{value:+.{digits}f}".replace("-", _MINUS)
    return text if text.strip(f"+{_MINUS}0.") else text[1:]


def with_minus(text: str) -> str:
    """A sentence with minus signs, instead of hyphens, before numbers."""
    return re.sub(r"(?<![\w.])-(?=\d)", _MINUS, text)


def short(value: float) -> str:
    """A number with at most three significant digits."""
    return f"{value:.3g}".replace("-", _MINUS) if math.isfinite(value) else significant(value)


def measured(metric: str, value: float) -> str:
    """A measure in percent, in significant digits or in decimals."""
    if metric in SHARES:
        return percent(value)
    return significant(value, 3) if metric in COSTS else decimal(value, 3)


def between(metric: str, low: float, high: float, is_range: bool = False) -> str:
    """The ends of an interval, marked if it is a range; empty without an interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    first = f"{100 * low:.1f}" if metric in SHARES else measured(metric, low)
    return f"{first} to {measured(metric, high)}{RANGE_MARK if is_range else ''}"


def quoted(label: Hashable) -> str:
    """A class, action or column in quotes."""
    return f"“{label}”"


# Margin above a plot in pixels, because its title is text of the page.
TOP_MARGIN: Final = 24
# Minimum height of a figure in pixels, for its axes and their titles.
MIN_HEIGHT: Final = 260


@dataclass(frozen=True)
class Drawing:
    """A figure with its element id, title and explanation; or the reason why there is none."""

    place: str
    figure: dict[str, Any] | None
    title: str = ""
    explanation: str = ""
    reason: str = ""
    alt: str = ""


def drawing(place: str, draw: Callable[..., Figure | Sketch], *arguments: Any, **options: Any) -> Drawing:
    """The figure that ``draw`` returns, or the reason of its error.

    The title becomes text of the page, which can wrap and is read by screen readers.
    """
    try:
        figure = draw(*arguments, **options)
    except DiscriminantError as error:
        return Drawing(place, None, reason=str(error))
    values = figure.in_bytes() if isinstance(figure, Sketch) else json.loads(figure.to_json())
    layout = values["layout"]
    title = layout.pop("title", None) or {}
    heading, _, rest = as_text(title.get("text", "")).partition("\n")
    below = as_text((title.get("subtitle") or {}).get("text", ""))
    explanation = " ".join(filter(None, (rest.replace("\n", " "), below.replace("\n", " "))))
    layout.pop("width", None)
    margin = layout.setdefault("margin", {})
    if "height" in layout:
        layout["height"] = max(layout["height"] - (margin.get("t", TOP_MARGIN) - TOP_MARGIN), MIN_HEIGHT)
    margin["t"] = TOP_MARGIN
    return Drawing(place, values, heading, explanation, alt=alt_text(figure))


@dataclass(frozen=True)
class Section:
    """A numbered section: its address on the page, its heading, and the content for its template.

    Figures are entries of ``content``: a `Drawing`, or a list of them.
    """

    name: str
    heading: str
    content: dict[str, Any]

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the section."""
        lists = [value if isinstance(value, list) else [value] for value in self.content.values()]
        return [entry for entries in lists for entry in entries if isinstance(entry, Drawing)]


@dataclass(frozen=True)
class Block:
    """A block of a section: the kind of element in ``blocks.html``, and its content."""

    kind: str
    content: Any


Blocks = list[Block | Drawing]


def table_block(label: str, head: Sequence[str], rows: Sequence[Sequence[str]], **more: Any) -> Block:
    """A table; ``more`` are its text columns, the colours of its rows, and a style."""
    form = {"label": label, "head": head, "rows": rows, "text_columns": (0,), "colours": (), "style": ""}
    return Block("table", {**form, **more})


def write_page(
    path: str | os.PathLike[str],
    template: str,
    title: str,
    facts: list[str],
    sections: list[Section],
    words: Mapping[str, tuple[str, str]] | None = None,
) -> Path:
    """Write sections as a page and return its path; the file is written completely or not at all.

    ``template`` extends ``base.html``; ``facts`` and the date are the subtitle; ``words`` are the glossary.
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
        words=words or {},
    )
    write_whole(path, text.encode("utf-8"))
    return Path(path)


def part(section: Section, words: Mapping[str, tuple[str, str]] | None = None) -> str:
    """The text and tables of a section as HTML, without its figures, for a page that draws them itself."""
    content = {name: _without_figures(value) for name, value in section.content.items()}
    template = "blocks.html" if section.name == "blocks" else "sections.html"
    written = _environment().get_template(template).make_module({"words": words or {}})
    return str(getattr(written, section.name)(content))


def _without_figures(value: Any) -> Any:
    if isinstance(value, list):
        return [one for one in value if not isinstance(one, Drawing)]
    return None if isinstance(value, Drawing) else value


@cache
def _environment() -> Environment:
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
    """The versions of Python and of the packages that a result depends on."""
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in (*_PACKAGES, *more))]
