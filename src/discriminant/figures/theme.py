"""The look of every figure: colours, symbols, dashes and fonts; how names and numbers are written; frames that play."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
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
from ..results import plain
from .sketch import Sketch

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: The colours of Okabe and Ito, which colour-blind readers can tell apart, ordered so that the first differ in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
#: Seven symbols beside eight colours: 56 classes look different, and a print in grey tells the first seven apart.
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
PATTERNS = ("", "/", "\\", "x", ".")
INK, GREY, PALE = "#222222", "#767676", "#E4E4E4"

_LINE_CHARACTERS, _LINE_PIXELS = 105, 17
#: Lines above a plot whose panels have titles.
TITLED = 3
#: Characters that plotly would read as markup, as a template or as a formula.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "{": "&#123;", "$": "&#36;"})
#: The places of the classes among all that there are, where figures are now made as sketches.
_SKETCHING: ContextVar[tuple[int, ...] | None] = ContextVar("sketching", default=None)


@contextmanager
def sketches(places: Sequence[int] = ()) -> Iterator[None]:
    """Within it, figures are made as sketches; the k-th class looks as the ``places[k]``-th would."""
    token = _SKETCHING.set(tuple(places))
    try:
        yield
    finally:
        _SKETCHING.reset(token)


def is_sketching() -> bool:
    """Whether figures are now made as sketches."""
    return _SKETCHING.get() is not None


def place_of(k: int) -> int:
    """Which of the looks the k-th class has."""
    places = _SKETCHING.get() or ()
    return places[k] if k < len(places) else k


def colour(k: int) -> str:
    return COLOURS[place_of(k) % len(COLOURS)]


def marker(k: int, **more: Any) -> dict[str, Any]:
    """The marker of the k-th class."""
    return {"color": colour(k), "symbol": SYMBOLS[place_of(k) % len(SYMBOLS)], **more}


def line(k: int, **more: Any) -> dict[str, Any]:
    """The line of the k-th class."""
    return {"color": colour(k), "dash": DASHES[k % len(DASHES)], "width": 2.5, **more}


def tint(shade: str, strength: float) -> str:
    """A colour mixed with white; strength 1 is the colour itself."""
    parts = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02x}" for part in parts)


def see_through(shade: str, opacity: float) -> str:
    """A colour through which what lies below can be seen."""
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def written(label: Any) -> str:
    """A class, column or sentence as it stands in a figure, whatever characters it has."""
    return str(plain(label)).translate(_MARKUP)


def counted(number: float) -> str:
    """A number of rows, or a sum of weights."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.6g}"


def between(low: float, high: float, form: str = ".3f") -> str:
    """An interval in brackets after a space, or nothing where there is none."""
    return f" ({low:{form}} to {high:{form}})" if math.isfinite(low) and math.isfinite(high) else ""


@cache
def template() -> Any:
    """The template of all figures, as plotly takes it."""
    import plotly.graph_objects as go

    return go.layout.Template(layout=_look())


def _look() -> dict[str, Any]:
    axis = {
        "showline": True,
        "linecolor": INK,
        "ticks": "outside",
        "tickcolor": INK,
        "gridcolor": PALE,
        "zeroline": False,
        "title": {"standoff": 12},
        "automargin": True,
    }
    return {
        "font": {"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        "title": {
            "font": {"size": 18},
            "subtitle": {"font": {"size": 13, "color": "#4D4D4D"}},
            "x": 0.0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "top",
            "yref": "container",
            "pad": {"l": 16, "t": 16},
        },
        "margin": {"l": 70, "r": 30, "t": 64, "b": 60},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "colorway": list(COLOURS),
        "xaxis": axis,
        "yaxis": axis,
        "legend": {"bgcolor": "rgba(255,255,255,0.85)", "bordercolor": PALE, "borderwidth": 1},
        "hoverlabel": {"bgcolor": "white", "font": {"color": INK}, "align": "left"},
    }


def layout(
    title: str, subtitle: str = "", height: int = 520, least_lines: int = 0, *, alt: str, **more: Any
) -> dict[str, Any]:
    """The layout of a figure: its subtitle broken into lines, and as much room above the plot as they need.

    ``alt`` says in a sentence what is drawn, for those who cannot see it; `alt_text` reads it.
    """
    lines = subtitle_lines(subtitle)
    room = _LINE_PIXELS * max(len(lines), least_lines)
    words = {"text": title, "subtitle": {"text": "<br>".join(lines)}}
    look = {"layout": _look()} if is_sketching() else template()
    common = {"template": look, "title": words, "meta": {"alt": alt}}
    return {**common, "height": height + room, "margin": {"t": 64 + room}, **more}


def figure(title: str, subtitle: str = "", height: int = 520, *, alt: str, **more: Any) -> Figure:
    """An empty figure in the common look."""
    values = layout(title, subtitle, height, alt=alt, **more)
    if is_sketching():
        return cast("Figure", Sketch(values))
    import plotly.graph_objects as go

    return go.Figure(layout=values)


#: What plotly reads as formatting in a text.
_FORMATTING = re.compile(r"</?(?:b|i|em|sub|sup|span|s|u)(?:\s[^<>]*)?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def as_text(title: str) -> str:
    """A title without plotly's formatting; its breaks as line ends."""
    return html.unescape(_FORMATTING.sub("", _BREAK.sub("\n", title))).strip()


def alt_text(figure: Figure) -> str:
    """What a figure shows, in words: for pages that are read aloud, and for images.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Of `discriminant.figures`, or any other of plotly.

    Returns
    -------
    str
        What is drawn, then what is said below the title.

    See Also
    --------
    write_html : Writes the figure with these words.
    write_image : The picture alone.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> from discriminant.figures import alt_text, roc_curve
    >>> print(alt_text(roc_curve(roc([0, 1, 0, 1], [0.2, 0.8, 0.3, 0.7]))).partition(". ")[0])
    ROC curve: the true positive rate against the false positive rate, beside the diagonal of chance
    """
    if not hasattr(figure, "to_html") and not isinstance(figure, Sketch):
        raise ParameterError(f"alt_text describes a plotly figure, got {type(figure).__name__}.")
    title, meta = figure.layout["title"], figure.layout["meta"]
    heading, below = (as_text(text or "").replace("\n", " ") for text in (title["text"], title["subtitle"]["text"]))
    drawn = meta.get("alt", "") if isinstance(meta, dict) else ""
    return " ".join(filter(None, (f"{heading}: {drawn}" if drawn else f"{heading}.", below)))


def panels(
    title: str,
    subtitle: str,
    heights: Sequence[float],
    height: int = 520,
    titles: Sequence[str] = (),
    *,
    alt: str,
    **more: Any,
) -> Figure:
    """An empty figure of several panels above each other that share the horizontal axis."""
    from plotly.subplots import make_subplots

    made = make_subplots(
        rows=len(heights), cols=1, shared_xaxes=True, vertical_spacing=0.16 / len(heights),
        row_heights=list(heights), subplot_titles=list(titles) or None,
    )  # fmt: skip
    return made.update_layout(layout(title, subtitle, height, TITLED * bool(titles), alt=alt, **more))


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its name."""
    return {"title": {"text": title}, **more}


#: Decades up to which a logarithmic axis has ticks at 1, 2 and 5, and powers of 10 that a longer one shows at most.
MAX_FINE_DECADES: Final = 2.5
MAX_DECADE_TICKS: Final = 8


def log_ticks(values: Array) -> dict[str, Any]:
    """A logarithmic axis with ticks written as numbers: plotly writes 0.2 and 20 as 2."""
    found = np.asarray(values)[np.isfinite(values) & (np.asarray(values) > 0)]
    low, high = (float(np.log10(end)) for end in (found.min(initial=1.0), found.max(initial=1.0)))
    first, last = int(np.floor(low)), int(np.ceil(high))
    if high - low > MAX_FINE_DECADES:
        step = -(-(last - first) // MAX_DECADE_TICKS)
        ticks = [10.0**power for power in range(first, last + 1, step)]
    else:
        digits = (1, 2, 5) if high - low > 0.3 else (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
        ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
        if high - low < 0.1:  # a narrow range about 1
            ticks = [float(tick) for tick in np.linspace(10**low, 10**high, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:.4g}" for tick in ticks]}


def names_axis(names: Sequence[str], **more: Any) -> dict[str, Any]:
    """A vertical axis with names at 0, 1, ..., the first on top: names that look alike or like numbers stay apart."""
    places = list(range(len(names)))
    return axis("", tickvals=places, ticktext=list(names), range=[len(names) - 0.5, -0.5], **more)


def error_bars(values: Array, low: Array, high: Array, **more: Any) -> dict[str, Any]:
    """Bars from the low to the high end of intervals around values."""
    return {"array": high - values, "arrayminus": values - low, **more}


def subtitle_lines(words: str) -> list[str]:
    return [
        part
        for paragraph in words.splitlines()
        for part in textwrap.wrap(paragraph, _LINE_CHARACTERS, break_long_words=False, break_on_hyphens=False)
    ]


def note(made: Figure, words: str) -> None:
    """Write a remark into the middle of a figure, for what cannot be drawn."""
    made.add_annotation(
        text="<br>".join(textwrap.wrap(words, 60, break_long_words=False)),
        x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 15, "color": GREY},
    )  # fmt: skip


def column_names(model: Any, n_columns: int) -> list[str]:
    """The columns as the model knows them, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_columns)] if names is None else [written(name) for name in names]


def expect(thing: Any, kinds: tuple[type, ...], function: str, remedy: str) -> None:
    """Refuse what a figure is not made for."""
    if not isinstance(thing, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"figures.{function} draws a {wanted}, got {type(thing).__name__}. {remedy}")


def thinned(x: Array, y: Array, most: int = 1_000) -> Array:
    """Places of at most about ``most`` points of a line, evenly spaced along it, both ends among them."""
    if len(x) <= most:
        return np.arange(len(x))
    steps = sum(np.abs(np.diff(values)) / max(float(np.ptp(values)), 1e-300) for values in (x, y))
    length = np.append(0.0, np.cumsum(steps))
    wanted = np.searchsorted(length, np.linspace(0, length[-1], most - 1))
    return np.unique(np.append(wanted, len(x) - 1))


def evenly(n: int, most: int) -> Array:
    """At most ``most`` of the numbers from 0 to n - 1, evenly spaced, the first and the last among them."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title></head>
<body><main role="img" aria-label="{alt}">{drawn}</main></body></html>
"""


def write_html(figure: Figure, path: Any, self_contained: bool = True) -> Path:
    """Write a figure as a page that any browser shows, and return its path.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Any figure of plotly.
    path : str or path
        Where to write it.
    self_contained : bool, default=True
        Put plotly's program (about 5 MB) into the page, so that it opens without a network; else the page fetches it.

    Returns
    -------
    pathlib.Path
        Where the page is.

    See Also
    --------
    discriminant.write_report : Everything that was found on one page.

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
        raise ParameterError(f"write_html writes a plotly figure, got {type(figure).__name__}.")
    target = Path(path)
    program: Any = True if self_contained else "cdn"
    drawn = figure.to_html(include_plotlyjs=program, full_html=False, auto_play=False)
    title, alt = html.escape(as_text(figure.layout.title.text or "Figure")), html.escape(alt_text(figure), quote=True)
    write_whole(target, _PAGE.format(title=title, alt=alt, drawn=drawn).encode())
    return target


def write_image(figure: Figure, path: Any, width: int = 900, height: int | None = None) -> Path:
    """Write a figure as a still image, and return its path.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        Any figure of plotly.
    path : str or path
        Its ending says the format: ``.svg``, ``.png``, ``.pdf``, ``.jpg`` or ``.webp``.
    width : int, default=900
        In pixels.
    height : int, optional
        In pixels. Default: that of the figure.

    Returns
    -------
    pathlib.Path
        Where the image is.

    See Also
    --------
    write_html : A page to hover over, which needs neither kaleido nor a browser to be written.

    Examples
    --------
    >>> from discriminant.figures import loss_curves
    >>> write_image(loss_curves(), "losses.bmp")
    Traceback (most recent call last):
        ...
    discriminant.errors.ParameterError: 'losses.bmp' is no image that can be written: .svg, .png, .pdf, .jpg or .webp.
    """
    target = Path(path)
    if target.suffix.lower() not in _IMAGES:
        raise ParameterError(
            f"{str(path)!r} is no image that can be written: {', '.join(_IMAGES[:-1])} or {_IMAGES[-1]}."
        )
    optional_module("kaleido", "Images of figures")
    try:
        drawn = figure.to_image(target.suffix[1:].lower(), width, height or figure.layout.height, scale=1.5)
    except Exception as error:
        if "chrome" not in str(error).lower() and "browser" not in str(error).lower():
            raise
        raise DependencyError(
            "Images of figures are drawn by a browser, and none was found: install chromium or Chrome, or set "
            "BROWSER_PATH to one. A page (.html) needs none."
        ) from error
    write_whole(target, drawn)
    return target


_IMAGES = (".svg", ".png", ".pdf", ".jpg", ".webp")

_MILLISECONDS = 350


@dataclass(frozen=True)
class Moment:
    """One frame: what some traces look like then, the words above the plot, and the mark on the slider."""

    traces: list[dict[str, Any]]
    words: str
    mark: str


def animate(made: Figure, moments: Sequence[Moment], moving: list[int]) -> None:
    """Give a figure a play button and a slider; ``moving`` are the numbers of the traces that change."""
    made.frames = [
        {
            "data": moment.traces,
            "traces": moving,
            "name": str(i),
            "layout": {"title": {"subtitle": {"text": "<br>".join(subtitle_lines(moment.words))}}},
        }
        for i, moment in enumerate(moments)
    ]
    if isinstance(made, Sketch):  # whoever shows it has buttons of its own
        return
    timing = {"frame": {"duration": _MILLISECONDS, "redraw": True}, "transition": {"duration": 0}}
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    made.update_layout(
        updatemenus=[
            {
                "type": "buttons",
                "direction": "left",
                "showactive": False,
                "x": 0,
                "y": 0,
                "xanchor": "left",
                "yanchor": "top",
                "pad": {"t": 80},
                "buttons": [
                    {"label": "play", "method": "animate", "args": [None, {**timing, "fromcurrent": True}]},
                    {"label": "pause", "method": "animate", "args": [[None], at_once]},
                ],
            }
        ],
        sliders=[
            {
                "x": 0.2,
                "len": 0.8,
                "pad": {"t": 62},
                "currentvalue": {"visible": False},
                "steps": [
                    {"label": moment.mark, "method": "animate", "args": [[str(i)], at_once]}
                    for i, moment in enumerate(moments)
                ],
            }
        ],
    )
    made.update_layout(margin={**made.layout.margin.to_plotly_json(), "b": 145}, height=made.layout.height + 85)
