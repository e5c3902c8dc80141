"""The appearance of all figures: colours, symbols, fonts, axes, alternative texts, animation, output files."""

from __future__ import annotations

import html
import math
import os
import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ..arrays import Array
from ..dependencies import optional_module
from ..errors import DependencyError, InputError, ParameterError
from ..files import write_whole
from ..results import listed, percent, plain, unbroken
from .sketch import Property, Sketch

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from sklearn.base import BaseEstimator


#: The palette of Okabe and Ito, which colour-blind readers can distinguish; the first colours also differ in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
#: Seven symbols and eight colours: 56 classes look different, and seven are distinguishable in grey.
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
PATTERNS = ("", "/", "\\", "x", ".")
INK, GREY, PALE = "#222222", "#767676", "#E4E4E4"
#: Style of reference lines, such as the ROC curve of a random classifier.
DOTTED: Final = {"color": GREY, "dash": "dot", "width": 1.5}

#: Width of a line of a subtitle in characters, and its height in pixels.
LINE_CHARACTERS: Final = 105
LINE_HEIGHT: Final = 17
#: Lines reserved above plots whose panels have titles.
PANEL_TITLE_LINES: Final = 3
#: Duration of a frame of an animation, in milliseconds.
FRAME_MILLISECONDS: Final = 350
_IMAGES: Final = (".svg", ".png", ".pdf", ".jpg", ".webp")
#: Characters that plotly would read as markup, as a template or as a formula.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "$": "&#36;"})
#: In sketches: the index of each class among all classes, which determines its colour and symbol.
_SKETCHING: ContextVar[tuple[int, ...] | None] = ContextVar("sketching", default=None)


@contextmanager
def sketches(places: Sequence[int] = ()) -> Iterator[None]:
    """Create figures as sketches; the k-th class gets the colour and symbol of number ``places[k]``."""
    token = _SKETCHING.set(tuple(places))
    try:
        yield
    finally:
        _SKETCHING.reset(token)


def is_sketching() -> bool:
    """Whether figures are created as sketches."""
    return _SKETCHING.get() is not None


def place_of(k: int) -> int:
    """The number of the colour and symbol of the k-th class."""
    places = _SKETCHING.get() or ()
    return places[k] if k < len(places) else k


def colour(k: int) -> str:
    return COLOURS[place_of(k) % len(COLOURS)]


def marker(k: int, **more: Property) -> dict[str, Any]:
    """The marker of the k-th class."""
    return {"color": colour(k), "symbol": SYMBOLS[place_of(k) % len(SYMBOLS)], **more}


def line(k: int, **more: Property) -> dict[str, Any]:
    """The line of the k-th class."""
    return {"color": colour(k), "dash": DASHES[k % len(DASHES)], "width": 2.5, **more}


def tint(shade: str, strength: float) -> str:
    """A colour mixed with white; strength 1 is the colour itself."""
    parts = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02x}" for part in parts)


def see_through(shade: str, opacity: float) -> str:
    """A transparent colour."""
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def written(label: Hashable) -> str:
    """A class, column or sentence as text of a figure, with special characters escaped."""
    return str(plain(label)).translate(_MARKUP)


def counted(number: float) -> str:
    """A number of rows, or a sum of weights."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.6g}"


def between(low: float, high: float, form: str = ".3f") -> str:
    """An interval in brackets after a space; empty if it is undefined."""
    return f" ({low:{form}} to {high:{form}})" if math.isfinite(low) and math.isfinite(high) else ""


def percents(values: Iterable[float], places: int = 2) -> list[str]:
    """Shares in percent, for hover texts: plotly's own format has no space before the sign."""
    return [unbroken(percent(value, places)) for value in values]


@cache
def template() -> Any:
    """The template of all figures, as a plotly object."""
    import plotly.graph_objects as go

    return go.layout.Template(layout=_look())


def _look() -> dict[str, Any]:
    axis = {
        "showline": True, "linecolor": INK, "ticks": "outside", "tickcolor": INK, "gridcolor": PALE, "zeroline": False,
        "title": {"standoff": 12}, "automargin": True,
    }  # fmt: skip
    title = {"x": 0.0, "xanchor": "left", "y": 1.0, "yanchor": "top", "yref": "container", "pad": {"l": 16, "t": 16}}
    fonts = {"font": {"size": 18}, "subtitle": {"font": {"size": 13, "color": "#4D4D4D"}}}
    return {
        "font": {"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        "title": {**title, **fonts},
        "margin": {"l": 70, "r": 30, "t": 64, "b": 60},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "colorway": list(COLOURS),
        "xaxis": axis,
        "yaxis": axis,
        "legend": {"bgcolor": "rgba(255,255,255,0.85)", "bordercolor": PALE, "borderwidth": 1},
        "hoverlabel": {"bgcolor": "white", "font": {"color": INK}, "align": "left"},
    }


HEIGHT: Final = 520  #: height of a plot in pixels


def layout(
    title: str, subtitle: str = "", height: int = HEIGHT, least_lines: int = 0, *, alt: str, **more: Property
) -> dict[str, Any]:
    """The layout of a figure, with space for the lines of its subtitle above the plot.

    ``alt`` describes in a sentence what is drawn, for readers who cannot see it; `alt_text` returns it.
    """
    lines = subtitle_lines(subtitle)
    subtitle_height = LINE_HEIGHT * max(len(lines), least_lines)
    words = {"text": title, "subtitle": {"text": "<br>".join(lines)}}
    look = {"layout": _look()} if is_sketching() else template()
    common = {"template": look, "title": words, "meta": {"alt": alt}}
    return {**common, "height": height + subtitle_height, "margin": {"t": 64 + subtitle_height}, **more}


def figure(
    title: str, subtitle: str = "", height: int = HEIGHT, least_lines: int = 0, *, alt: str, **more: Property
) -> Figure:
    """An empty figure with the common appearance."""
    values = layout(title, subtitle, height, least_lines, alt=alt, **more)
    if is_sketching():
        return cast("Figure", Sketch(values))
    import plotly.graph_objects as go

    return go.Figure(layout=values)


#: Formatting of plotly in a text.
_FORMATTING = re.compile(r"</?(?:b|i|em|sub|sup|span|s|u)(?:\s[^<>]*)?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def as_text(title: str) -> str:
    """A title without plotly's formatting; breaks become line ends."""
    return html.unescape(_FORMATTING.sub("", _BREAK.sub("\n", title))).strip()


def alt_text(figure: Figure) -> str:
    """Describe what a figure shows, as alternative text for web pages and images.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        A figure of `discriminant.figures`, or any other plotly figure.

    Returns
    -------
    str
        What is drawn, followed by the subtitle.

    See Also
    --------
    write_html : Writes the figure with this text.
    write_image : Writes the picture alone.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> from discriminant.figures import alt_text, roc_curve
    >>> print(alt_text(roc_curve(roc([0, 1, 0, 1], [0.2, 0.8, 0.3, 0.7]))).partition(". ")[0])
    ROC curve: true positive rate against false positive rate, with the diagonal of a random classifier
    """
    if not hasattr(figure, "to_html") and not isinstance(figure, Sketch):
        raise ParameterError(f"alt_text requires a plotly figure, got {type(figure).__name__}.")
    title, meta = figure.layout["title"], figure.layout["meta"]
    heading, below = (as_text(text or "").replace("\n", " ") for text in (title["text"], title["subtitle"]["text"]))
    drawn = meta.get("alt", "") if isinstance(meta, dict) else ""
    text = " ".join(filter(None, (f"{heading}: {drawn}" if drawn else f"{heading}.", below)))
    return text.replace("\N{NO-BREAK SPACE}", " ")


def panels(
    title: str,
    subtitle: str,
    heights: Sequence[float],
    height: int,
    alt: str,
    titles: Sequence[str] = (),
    **more: Property,
) -> Figure:
    """An empty figure of panels above each other that share the horizontal axis; ``more`` are settings of plotly."""
    from plotly.subplots import make_subplots

    form = {"shared_xaxes": True, "vertical_spacing": 0.16 / len(heights), "row_heights": list(heights), **more}
    made = make_subplots(rows=len(heights), cols=1, subplot_titles=list(titles) or None, **form)
    return made.update_layout(layout(title, subtitle, height, PANEL_TITLE_LINES * bool(titles), alt=alt))


def axis(title: str, **more: Property) -> dict[str, Any]:
    """An axis with its title."""
    return {"title": {"text": title}, **more}


#: A logarithmic axis with ticks written as full numbers: by default plotly writes 0.2 and 20 as 2.
LOG_AXIS: Final = {"type": "log", "tickformat": ".4~g"}


def names_axis(names: Sequence[str], title: str = "", **more: Property) -> dict[str, Any]:
    """A vertical axis with names at 0, 1, ..., the first on top; equal names and numbers remain separate."""
    places = list(range(len(names)))
    form: dict[str, Property] = {"tickvals": places, "ticktext": list(names), "range": [len(names) - 0.5, -0.5]}
    return axis(title, **{**form, **more})


def error_bars(values: Array, low: Array, high: Array, **more: Property) -> dict[str, Any]:
    """Error bars of intervals around values."""
    return {"array": high - values, "arrayminus": values - low, **more}


def subtitle_lines(words: str) -> list[str]:
    return [
        part
        for paragraph in words.splitlines()
        for part in textwrap.wrap(unbroken(paragraph), LINE_CHARACTERS, break_long_words=False, break_on_hyphens=False)
    ]


def add_band(made: Figure, x: Sequence[Hashable] | Array, low: Array, high: Array, k: int, name: str) -> None:
    """Draw the confidence band of a curve in the colour of the k-th class."""
    made.add_scatter(
        x=[*x, *x[::-1]], y=[*high, *low[::-1]], fill="toself", mode="none", name=name, legendgroup=name,
        fillcolor=see_through(colour(k), 0.15), showlegend=False, hoverinfo="skip",
    )  # fmt: skip


def note(made: Figure, words: str) -> None:
    """Write a remark into the centre of a figure that cannot be drawn."""
    made.add_annotation(
        text="<br>".join(textwrap.wrap(words, 60, break_long_words=False)),
        x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 15, "color": GREY},
    )  # fmt: skip


def column_names(model: BaseEstimator, n_columns: int) -> list[str]:
    """The feature names of a model, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_columns)] if names is None else [written(name) for name in names]


def expect(thing: Any, kinds: tuple[type, ...], function: str) -> None:
    """Raise an error for an object that a figure cannot draw."""
    if not isinstance(thing, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"figures.{function} requires a {wanted}, got {type(thing).__name__}.")


def thinned(x: Array, y: Array, most: int = 1_000) -> Array:
    """Indexes of about ``most`` points at most, evenly spaced along a line, including both ends."""
    if len(x) <= most:
        return np.arange(len(x))
    steps = sum(np.abs(np.diff(values)) / max(float(np.ptp(values)), 1e-300) for values in (x, y))
    length = np.append(0.0, np.cumsum(steps))
    wanted = np.searchsorted(length, np.linspace(0, length[-1], most - 1))
    return np.unique(np.append(wanted, len(x) - 1))


def evenly(n: int, most: int) -> Array:
    """At most ``most`` integers from 0 to n - 1, evenly spaced, including the first and the last."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title></head>
<body><main role="img" aria-label="{alt}">{drawn}</main></body></html>
"""


def write_html(figure: Figure, path: str | os.PathLike[str], self_contained: bool = True) -> Path:
    """Write a figure as an HTML page, and return its path.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Any plotly figure.
    path : str or path
        Output file.
    self_contained : bool, default=True
        Include plotly's library (about 5 MB), so that the page works offline; otherwise it is loaded from the network.

    Returns
    -------
    pathlib.Path
        The path of the page.

    See Also
    --------
    discriminant.write_report : All results on one page.

    Examples
    --------
    >>> import tempfile
    >>> from discriminant.evaluation import roc
    >>> from discriminant.figures import roc_curve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_html(roc_curve(roc([0, 1], [0.2, 0.8])), f"{folder}/roc.html", self_contained=False)
    ...     path.name, path.stat().st_size < 20_000
    ('roc.html', True)
    """
    if not hasattr(figure, "to_html"):
        raise ParameterError(f"write_html requires a plotly figure, got {type(figure).__name__}.")
    target = Path(path)
    program: Any = True if self_contained else "cdn"
    drawn = figure.to_html(include_plotlyjs=program, full_html=False, auto_play=False)
    title, alt = html.escape(as_text(figure.layout.title.text or "Figure")), html.escape(alt_text(figure), quote=True)
    write_whole(target, _PAGE.format(title=title, alt=alt, drawn=drawn).encode())
    return target


def write_image(figure: Figure, path: str | os.PathLike[str], width: int = 900, height: int | None = None) -> Path:
    """Write a figure as a static image, and return its path.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Any plotly figure.
    path : str or path
        Output file; format from extension: ``.svg``, ``.png``, ``.pdf``, ``.jpg`` or ``.webp``.
    width : int, default=900
        Width in pixels.
    height : int, optional
        Height in pixels. Default: that of the figure.

    Returns
    -------
    pathlib.Path
        The path of the image.

    See Also
    --------
    write_html : Writes an interactive page; requires neither kaleido nor a browser.

    Examples
    --------
    >>> from discriminant.figures import loss_curves
    >>> write_image(loss_curves(), "losses.bmp")
    Traceback (most recent call last):
        ...
    discriminant.errors.ParameterError: Cannot write an image to 'losses.bmp'. Formats: .svg, .png, .pdf, .jpg and
    .webp.
    """
    target = Path(path)
    if target.suffix.lower() not in _IMAGES:
        raise ParameterError(f"Cannot write an image to {str(path)!r}. Formats: {listed(_IMAGES)}.")
    optional_module("kaleido", "Images of figures")
    try:
        drawn = figure.to_image(target.suffix[1:].lower(), width, height or figure.layout.height, scale=1.5)
    except Exception as error:
        if "chrome" not in str(error).lower() and "browser" not in str(error).lower():
            raise
        raise DependencyError(
            "Images of figures require a browser, and none was found. Install Chromium or Chrome, set BROWSER_PATH, or "
            "write a page (.html)."
        ) from error
    write_whole(target, drawn)
    return target


@dataclass(frozen=True)
class Moment:
    """One frame of an animation: its traces, its subtitle, and the label on the slider."""

    traces: list[dict[str, Any]]
    words: str
    mark: str


def animate(made: Figure, moments: Sequence[Moment], n_drawn: int | None = None) -> Figure:
    """Add a play button and a slider; frames change the traces from the ``n_drawn``-th on, by default new ones."""
    first = len(made.data) if n_drawn is None else n_drawn
    made.add_traces(moments[0].traces[len(made.data) - first :])
    moving = list(range(first, first + len(moments[0].traces)))
    made.frames = [
        {
            "data": moment.traces, "traces": moving, "name": str(i),
            "layout": {"title": {"subtitle": {"text": "<br>".join(subtitle_lines(moment.words))}}},
        }
        for i, moment in enumerate(moments)
    ]  # fmt: skip
    if isinstance(made, Sketch):  # pages that show sketches have their own buttons
        return made
    timing = {"frame": {"duration": FRAME_MILLISECONDS, "redraw": True}, "transition": {"duration": 0}}
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    play = {"label": "play", "method": "animate", "args": [None, {**timing, "fromcurrent": True}]}
    pause = {"label": "pause", "method": "animate", "args": [[None], at_once]}
    place = {"x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "pad": {"t": 80}}
    steps = [
        {"label": moment.mark, "method": "animate", "args": [[str(i)], at_once]} for i, moment in enumerate(moments)
    ]
    made.update_layout(
        updatemenus=[{"type": "buttons", "direction": "left", "showactive": False, "buttons": [play, pause], **place}],
        sliders=[{"x": 0.25, "len": 0.75, "pad": {"t": 62}, "currentvalue": {"visible": False}, "steps": steps}],
    )
    margin = {**made.layout.margin.to_plotly_json(), "b": 145}
    return made.update_layout(margin=margin, height=made.layout.height + 85)
