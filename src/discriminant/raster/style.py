"""The style file beside a class map, by which QGIS shows its classes with their names and colours."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .legend import Legend

_HEADER = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"


def style_path(path: Path) -> Path:
    """Where QGIS looks for the style of a map."""
    return path.with_suffix(".qml")


def qgis_style(legend: Legend) -> str:
    """The style of a map with this legend, as text of a ``.qml`` file.

    >>> from discriminant.raster.legend import make_legend
    >>> print(qgis_style(make_legend(["water & ice", "forest"])).splitlines()[6].strip())
    <paletteEntry value="1" color="#0072B2" alpha="255" label="water &amp; ice" />
    """
    qgis = Element("qgis", version="3.0", styleCategories="Symbology")
    pipe = SubElement(qgis, "pipe")
    renderer = SubElement(
        pipe, "rasterrenderer", type="paletted", band="1", opacity="1", alphaBand="-1", nodataColor=""
    )
    SubElement(renderer, "rasterTransparency")
    palette = SubElement(renderer, "colorPalette")
    for entry in legend.entries:
        SubElement(palette, "paletteEntry", value=str(entry.code), color=entry.colour, alpha="255", label=entry.name)
    SubElement(qgis, "blendMode").text = "0"
    indent(qgis)
    return _HEADER + tostring(qgis, encoding="unicode") + "\n"
