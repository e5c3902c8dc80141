"""The style of a report for other pages, such as those of the studio, without imports that are slow to load."""

from pathlib import Path


def style() -> str:
    """The style sheet: colours of the light and dark modes, and the elements within the class ``report``."""
    light, dark, parts, raster, figures = (
        Path(__file__).with_name("templates").joinpath(f"{name}.css").read_text(encoding="utf-8")
        for name in ("light", "dark", "style", "raster", "figures")
    )
    return f":root {{\n{light}}}\n.body--dark {{\n{dark}}}\n.report {{\n{parts}\n{raster}}}\n{figures}"
