"""Figures of gallery examples: interactive figures that the browser of the reader draws.

``figure.show()`` in an example passes the figure to a Plotly renderer that stores it. After each block of code the
scraper writes the stored figures into the page, as reports do, and a static image for the thumbnail.
"""

from __future__ import annotations

import html
import json
import logging
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import kaleido
import plotly
import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import ExternalRenderer
from sphinx.application import Sphinx

from discriminant.figures import alt_text
from discriminant.report.page import drawing

#: Figures shown since the last block of code, in the form of Plotly's renderers.
_shown: list[dict[str, Any]] = []
#: Size of the still images.
_WIDTH, _HEIGHT = 800, 560


class Kept(ExternalRenderer):
    """A renderer that stores figures for the scraper."""

    def render(self, figure: dict[str, Any]) -> None:
        _shown.append(figure)


pio.renderers["kept"] = Kept()
for name in ("kaleido", "choreographer"):  # which log every step
    logging.getLogger(name).setLevel(logging.ERROR)


def begin_example(*_: Any) -> None:
    """Prepare the settings before an example runs."""
    pio.renderers.default = "kept"
    _shown.clear()


class PlotlyScraper:
    """Adds the figures of a block of code to its page."""

    def __repr__(self) -> str:
        return "PlotlyScraper"

    def __call__(self, block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:  # noqa: ARG002
        written = []
        while _shown:
            figure = go.Figure(_shown.pop(0), skip_invalid=True)
            path = Path(next(block_vars["image_path_iterator"]))
            _write_still(figure, path)
            written.append(_directive(embedded(figure, f"figure-{path.stem}")))
        return "\n".join(written)


def _write_still(figure: go.Figure, path: Path) -> None:
    """Write a static image for the thumbnail; all images share one browser."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kaleido.start_sync_server(silence_warnings=True)
    kaleido.write_fig_sync(figure, str(path), opts={"format": "png", "width": _WIDTH, "height": _HEIGHT})


def embedded(figure: go.Figure, place: str) -> str:
    """A figure as HTML: the drawing, its caption and its text alternative."""
    if figure.frames:  # its caption changes with every step and stays in the figure
        values, caption = json.loads(figure.to_json()), ""
    else:
        made = drawing(place, lambda: figure)
        assert made.figure is not None
        words = f"<strong>{html.escape(made.title)}.</strong> {html.escape(made.explanation)}"
        values, caption = made.figure, f"<figcaption>{words}</figcaption>"
    data = json.dumps(values).replace("</", "<\\/")
    alt = html.escape(alt_text(figure), quote=True)
    return (
        f'<figure class="drawn"><div class="plot" id="{place}" role="img" aria-label="{alt}"></div>{caption}</figure>'
        f'<script type="application/json" data-figure="{place}">{data}</script>'
    )


def _directive(text: str) -> str:
    return f"\n.. raw:: html\n\n    {text}\n\n"


def _add_programs(app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any) -> None:  # noqa: ARG001
    """Load the scripts that draw figures on pages with figures."""
    if 'data-figure="' in context.get("body", ""):
        for name in ("plotly.min.js", "collect.js", "figures.js"):
            app.add_js_file(name, loading_method="defer")


def _copy_programs(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        static = Path(app.outdir, "_static")
        shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", static)
        (static / "figures.js").write_text((files("discriminant.report") / "templates" / "figures.js").read_text())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the handlers of pages and files."""
    app.connect("html-page-context", _add_programs)
    app.connect("build-finished", _copy_programs)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
