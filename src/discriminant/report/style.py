"""The style of a page, for pages that are not written as reports; it needs no library, so that they begin at once."""

from pathlib import Path


def style() -> str:
    """The style of a page: its colours on light and on dark paper, and its parts within the class ``report``."""
    light, dark, parts, raster, figures = (
        Path(__file__).with_name("templates").joinpath(f"{name}.css").read_text(encoding="utf-8")
        for name in ("light", "dark", "style", "raster", "figures")
    )
    return f":root {{\n{light}}}\n.body--dark {{\n{dark}}}\n.report {{\n{parts}\n{raster}}}\n{figures}"
