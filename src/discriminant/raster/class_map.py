"""Class maps: what their codes stand for, with names and colours, rejected pixels and no value; and what they count."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..data import label_array
from ..engine import side_by_side
from ..errors import InputError, LabelError, ParameterError, Setting
from ..results import Finding, Result, aligned, columns_of, jsonable, percent, plain, records_of, told_findings
from .colours import class_colours, hex_colour, rgb
from .ground import PixelAreas, pixel_areas
from .image import Array, Image, Paths, open_image, opened

REJECTED = "rejected"
#: The tag of a GeoTIFF that holds the classes, and the one that holds the code of rejected pixels.
CLASSES_TAG, REJECTED_TAG = "CLASSES", "REJECTED"

_REJECT_COLOUR = "#767676"
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
#: Characters that XML cannot hold.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QGIS_HEADER = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
#: Columns of GDAL's attribute table: name, type (0 whole number, 2 text) and what they are for, by GDAL's numbers.
_ATTRIBUTES = (("Value", 0, 5), ("Class", 2, 2), ("Red", 0, 6), ("Green", 0, 7), ("Blue", 0, 8))


@dataclass(frozen=True)
class LegendEntry:
    """A code of a map, its class, and the colour it is drawn in.

    Parameters
    ----------
    code : int
        The value of the pixels that are of it.
    label : object
        The class, as the model has it: text or a number.
    colour : str
        Written ``#RRGGBB``.

    See Also
    --------
    Legend : Several of them.
    legend_of_file : Reads those of a map that is on disk.

    Examples
    --------
    >>> from discriminant.raster import LegendEntry
    >>> LegendEntry(3, "water", "#0000ff").name
    'water'
    """

    code: int
    label: Any
    colour: str

    @property
    def name(self) -> str:
        return str(self.label)


@dataclass(frozen=True)
class Legend:
    """The codes of a class map.

    Parameters
    ----------
    classes : tuple of LegendEntry
        A code, name and colour for each class.
    nodata : int
        The code of pixels without a value; no class has it.
    rejected : LegendEntry, optional
        The code of pixels that were not given any class.

    See Also
    --------
    make_legend : Chooses codes and colours.
    legend_of_file : Reads the legend of a map.

    Examples
    --------
    >>> from discriminant.raster import Legend, LegendEntry
    >>> Legend((LegendEntry(1, "sand", "#d55e00"), LegendEntry(2, "water", "#0072b2")), nodata=0).names
    {1: 'sand', 2: 'water'}
    """

    classes: tuple[LegendEntry, ...]
    nodata: int
    rejected: LegendEntry | None = None

    @property
    def entries(self) -> tuple[LegendEntry, ...]:
        """The classes, and the rejected pixels last."""
        return self.classes if self.rejected is None else (*self.classes, self.rejected)

    @property
    def names(self) -> dict[int, Any]:
        """What each code stands for."""
        return {entry.code: entry.label for entry in self.entries}

    @property
    def dtype(self) -> str:
        """The smallest type that holds all codes."""
        return "uint8" if max(self.nodata, *(entry.code for entry in self.entries)) <= 255 else "uint16"

    @property
    def codes(self) -> np.ndarray[Any, Any]:
        """The code of each class."""
        return np.array([entry.code for entry in self.classes], dtype=self.dtype)

    @property
    def colour_table(self) -> dict[int, tuple[int, int, int, int]]:
        """Red, green, blue and opacity by code."""
        table = {entry.code: (*rgb(entry.colour), 255) for entry in self.entries}
        return {self.nodata: (0, 0, 0, 0), **table}

    def tags(self) -> dict[str, str]:
        """The legend as the map's own metadata.

        Returns
        -------
        dict
            Texts by the names of tags.
        """
        found = {CLASSES_TAG: json.dumps({str(entry.code): entry.label for entry in self.classes}, ensure_ascii=False)}
        return found if self.rejected is None else {**found, REJECTED_TAG: str(self.rejected.code)}


def make_legend(classes: Sequence[Any], reject: bool = False, colours: Mapping[Any, str] | None = None) -> Legend:
    """The codes and colours of a map of these classes.

    Classes that are whole numbers from 0 to 65,000 are their own codes; others are numbered from 1. No value is 0, or
    the first free code above the classes where 0 is a class.

    Parameters
    ----------
    classes : list
        Labels, in the order of their codes.
    reject : bool, default=False
        Whether pixels may be given no class: they have a code, too.
    colours : dict, optional
        Colours by class, written ``#RRGGBB``. Others have the colour that their name stands for, such as water or
        forest in several languages, or another that differs from all.

    Returns
    -------
    Legend

    See Also
    --------
    legend_of_file : What a map says of itself, or its style file.
    classify_image : Takes one for its map.

    Examples
    --------
    >>> [(entry.code, entry.name) for entry in make_legend(["forest", "water"], reject=True).entries]
    [(1, 'forest'), (2, 'water'), (3, 'rejected')]
    >>> make_legend([0, 7]).nodata
    8
    """
    labels = [plain(label) for label in classes]
    numbered = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= 65_000 for one in labels)
    codes = labels if numbered else list(range(1, len(labels) + 1))
    if max(codes) > 65_000:
        raise InputError(f"A class map holds at most 65,000 classes, got {len(labels)}. Merge classes first.")
    shades = class_colours(labels, _checked_colours(colours or {}, labels))
    entries = tuple(LegendEntry(*entry) for entry in zip(codes, labels, shades, strict=True))
    free = max(codes) + 1
    nodata = free if 0 in codes else 0
    rejected = _rejected(free + (nodata == free), labels) if reject else None
    return Legend(entries, nodata, rejected)


def _rejected(code: int, labels: Sequence[Any]) -> LegendEntry:
    """The entry of pixels without a class, by a name that no class has."""
    return LegendEntry(code, REJECTED if REJECTED not in map(str, labels) else f"{REJECTED} (no class)", _REJECT_COLOUR)


def _checked_colours(colours: Mapping[Any, str], labels: list[Any]) -> dict[str, str]:
    known = [str(label) for label in labels]
    for label, colour in colours.items():
        if str(label) not in known:
            raise ParameterError(f"A colour is given for {str(label)!r}, which is not a class. Classes: {known}.")
        if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
            raise ParameterError(f"The colour of {str(label)!r} must be written #RRGGBB, got {colour!r}.")
    return {str(label): colour.lower() for label, colour in colours.items()}


def written_legend(path: str | os.PathLike[str]) -> Legend | None:
    """What the codes of a class map stand for by its own metadata; None where it does not say so."""
    with open_image(path) as image:
        tags, palette, nodata = image.tags, image.palette or {}, image.nodata[0]
    labels = _tagged_classes(tags.get(CLASSES_TAG, ""))
    if not labels:
        return None
    told = tags.get(REJECTED_TAG, "")
    rejected = _rejected(int(told), list(labels.values())) if told.isdecimal() else None
    return Legend(_entries(labels, palette), _code_of(nodata, 0), rejected)


def _tagged_classes(text: str) -> dict[int, Any]:
    """The classes by code that a tag says; none where another program uses the tag for something else."""
    try:
        return {int(code): label for code, label in json.loads(text).items() if isinstance(label, (str, int))}
    except (ValueError, AttributeError):
        return {}


def _code_of(nodata: float | None, otherwise: int) -> int:
    return otherwise if nodata is None or not np.isfinite(nodata) else int(nodata)


def legend_of_file(path: str | os.PathLike[str]) -> Legend:
    """What the codes of a class map stand for that `classify_image` wrote.

    Parameters
    ----------
    path : path
        A class map (``.tif``).

    Returns
    -------
    Legend

    See Also
    --------
    make_legend : For new maps.
    read_class_map : The codes as well.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import legend_of_file, make_legend
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = rasterio.Affine.scale(30)
    ...     with rasterio.open(f"{folder}/map.tif", "w", "GTiff", 2, 1, 1, None, place, "uint8", 0) as file:
    ...         file.write(np.array([[[1, 2]]], dtype="uint8"))
    ...         file.update_tags(**make_legend(["sand", "water"]).tags())
    ...     legend_of_file(f"{folder}/map.tif").names
    {1: 'sand', 2: 'water'}
    """
    legend = written_legend(path)
    if legend is None:
        raise InputError(
            f"{os.fspath(path)!r} does not say which classes its codes stand for: it is no class map of this package."
        )
    return legend


def map_legend(path: str | os.PathLike[str]) -> Legend:
    """What the codes of a class map stand for; a map of another program has its codes as classes, in its colours."""
    legend = written_legend(path)
    if legend is not None:
        return legend
    with open_image(path) as image:
        codes, palette, nodata = sorted(class_pixels(image)), image.palette or {}, image.nodata[0]
    if not codes:
        raise InputError(f"The map {image.label} has no pixel with a class.")
    return Legend(_entries({code: code for code in codes}, palette), _code_of(nodata, codes[-1] + 1))


def _entries(labels: Mapping[int, Any], palette: Mapping[int, Sequence[int]]) -> tuple[LegendEntry, ...]:
    written = {str(label): hex_colour(palette[code]) for code, label in labels.items() if code in palette}
    shades = class_colours(list(labels.values()), written)
    return tuple(LegendEntry(*entry) for entry in zip(labels, labels.values(), shades, strict=True))


def qgis_style(legend: Legend) -> str:
    """The style of a map with this legend, as text of a ``.qml`` file.

    >>> from discriminant.raster.class_map import make_legend
    >>> print(qgis_style(make_legend(["water & ice", "forest"])).splitlines()[6].strip())
    <paletteEntry value="1" color="#f0f8ff" alpha="255" label="water &amp; ice" />
    """
    qgis = Element("qgis", version="3.0", styleCategories="Symbology")
    pipe = SubElement(qgis, "pipe")
    renderer = SubElement(
        pipe, "rasterrenderer", type="paletted", band="1", opacity="1", alphaBand="-1", nodataColor=""
    )
    SubElement(renderer, "rasterTransparency")
    palette = SubElement(renderer, "colorPalette")
    for entry in legend.entries:
        name = _NO_XML.sub("?", entry.name)
        SubElement(palette, "paletteEntry", value=str(entry.code), color=entry.colour, alpha="255", label=name)
    SubElement(qgis, "blendMode").text = "0"
    indent(qgis)
    return _QGIS_HEADER + tostring(qgis, encoding="unicode") + "\n"


def gdal_tables(legend: Legend) -> str:
    """The categories and the attribute table of a map, as GDAL keeps them in ``.aux.xml`` beside a raster.

    >>> from discriminant.raster.class_map import make_legend
    >>> text = gdal_tables(make_legend(["forest", "water"]))
    >>> [line.strip() for line in text.splitlines() if "<Category>" in line]
    ['<Category>forest</Category>', '<Category>water</Category>']
    """
    dataset = Element("PAMDataset")
    band = SubElement(dataset, "PAMRasterBand", band="1")
    names = SubElement(band, "CategoryNames")
    for code in range(1 + max(legend.names)):
        SubElement(names, "Category").text = _NO_XML.sub("?", str(legend.names.get(code, "")))
    table = SubElement(band, "GDALRasterAttributeTable", tableType="thematic")
    for number, (name, kind, usage) in enumerate(_ATTRIBUTES):
        field = SubElement(table, "FieldDefn", index=str(number))
        for tag, value in (("Name", name), ("Type", kind), ("Usage", usage)):
            SubElement(field, tag).text = str(value)
    for number, entry in enumerate(legend.entries):
        row = SubElement(table, "Row", index=str(number))
        for value in (entry.code, entry.name, *rgb(entry.colour)):
            SubElement(row, "F").text = _NO_XML.sub("?", str(value))
    indent(dataset)
    return tostring(dataset, encoding="unicode") + "\n"


def class_pixels(
    class_map: Image | Paths, names: Mapping[int, Any] | None = None, n_jobs: int | None = None
) -> dict[Any, int]:
    """How many pixels of a map each class has, by class; pixels without a value are not counted.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    names : dict, optional
        The class that each code stands for; by default the codes are the classes.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    dict
        The number of pixels by class; classes that share a name are added up.

    See Also
    --------
    draw_design : Pixels to be checked in each class.
    area_adjusted_accuracy : Areas with the errors of the map allowed for.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import class_pixels
    >>> form = {"driver": "GTiff", "count": 1, "width": 3, "height": 2, "dtype": "uint8", "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rasterio.open(f"{folder}/map.tif", "w", transform=rasterio.Affine.scale(30), **form) as file:
    ...         file.write(np.array([[[1, 1, 2], [0, 2, 2]]], dtype="uint8"))
    ...     class_pixels(f"{folder}/map.tif", {1: "sand", 2: "water"})
    {'sand': 2, 'water': 3}
    """
    with opened(class_map) as image:
        return class_extents(image, names, n_jobs)[0]


def class_extents(
    image: Image, names: Mapping[int, Any] | None = None, n_jobs: int | None = None
) -> tuple[dict[Any, int], dict[Any, float] | None]:
    """How many pixels of a map each class has, and how many hectares on the ground; None where that is not known."""
    areas = pixel_areas(image)
    by_window = _by_window(image, areas, n_jobs)
    counts: Counter[Any] = sum((pixels for pixels, _ in by_window), Counter())
    hectares: Counter[Any] = Counter()
    for _, own in by_window:
        hectares.update(own)
    codes = sorted(counts)
    pixels_of: Counter[Any] = Counter()
    hectares_of: Counter[Any] = Counter()
    for label, code in zip(labels_of_codes(np.array(codes), names, image), codes, strict=True):
        pixels_of[plain(label)] += counts[code]
        hectares_of[plain(label)] += hectares[code]
    return dict(pixels_of), None if areas is None else dict(hectares_of)


def pixels_by_window(image: Image, n_jobs: int | None = None) -> list[Counter[Any]]:
    """How many pixels of each code every window of a map has, in the order of `Image.windows`."""
    return [pixels for pixels, _ in _by_window(image, None, n_jobs)]


def _by_window(
    image: Image, areas: PixelAreas | None, n_jobs: int | None
) -> list[tuple[Counter[Any], dict[Any, float]]]:
    """Pixels of each code in every window of a map, and their hectares where areas are given."""
    refuse_many_bands(image)

    def counted(window: Any) -> tuple[Counter[Any], dict[Any, float]]:
        values, valid = image.read(window)
        codes, weight = values[0][valid], None if areas is None else areas.of_window(window)[valid]
        if codes.dtype in (np.uint8, np.uint16):
            different, place = None, codes
        else:
            different, place = np.unique(codes, return_inverse=True)
        counts = np.bincount(place)
        found = np.flatnonzero(counts)
        labels = (found if different is None else different[found]).tolist()
        hectares = [] if weight is None else np.bincount(place, weight)[found].tolist()
        return Counter(dict(zip(labels, counts[found].tolist(), strict=True))), dict(
            zip(labels, hectares, strict=False)
        )

    return side_by_side(counted, list(image.windows()), n_jobs)


def labels_of_codes(codes: Array, names: Mapping[int, Any] | None, image: Image) -> Array:
    """The classes that codes of the map stand for."""
    different, place = np.unique(codes, return_inverse=True)
    if (different != np.rint(different)).any():
        raise InputError(f"{image.label} has values that are not whole numbers: it is no class map.")
    whole = [int(code) for code in different]
    if names is None:
        return np.array(whole)[place]
    unknown = [code for code in whole if code not in names]
    if unknown:
        words = f"The map {image.label} has the code {unknown[0]}, which "
        raise LabelError(words, Setting("names"), f" does not know: {dict(names)}.")
    return label_array([names[code] for code in whole])[place]


def refuse_many_bands(image: Image) -> None:
    if image.n_bands != 1:
        raise InputError(f"A class map has one band, {image.label} has {image.n_bands}: {', '.join(image.band_names)}.")


@dataclass(frozen=True, eq=False, repr=False)
class ClassMap(Result):
    """A class map on the disk.

    Attributes
    ----------
    path : Path
    legend : Legend
        Codes, names and colours.
    pixels : dict
        How many pixels were given each class, by name; rejected ones last.
    n_nodata : int
        Pixels without a value.
    hectares : dict or None
        The area of each class on the ground, by name, where the image has a coordinate system.
    files : tuple of Path
        All files that were written.
    findings : tuple of Finding
        What had to be decided about the image.

    See Also
    --------
    classify_image : Writes the map.
    read_class_map : Reads its codes.
    """

    path: Path
    legend: Legend
    pixels: dict[Any, int]
    n_nodata: int
    hectares: dict[Any, float] | None
    files: tuple[Path, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def areas(self) -> dict[Any, float] | None:
        """The area of each class on the map, in hectares."""
        return self.hectares

    @property
    def written(self) -> dict[str, list[str]]:
        """The classes as text, by column, with how much of the map each has."""
        return written_classes(self.legend, self.pixels, self.hectares)

    def _columns(self) -> dict[str, Any]:
        code, label, colour = columns_of(self.legend.entries).values()
        return {"code": code, "class": label, "colour": colour, "pixels": [self.pixels[one] for one in label]}

    def to_dict(self) -> dict[str, Any]:
        """The map as plain values.

        Returns
        -------
        dict
            A record for each class, and the names of the files.
        """
        told = {
            "map": str(self.path),
            "classes": records_of(self._columns()),
            "nodata": {"code": self.legend.nodata, "pixels": self.n_nodata},
            "hectares": self.areas,
            "files": [str(path) for path in self.files],
            "findings": self.findings,
        }
        return jsonable(told)

    def __str__(self) -> str:
        columns = self.written
        head = f"{self.path.name}: {sum(self.pixels.values()):,} pixels with values, {self.n_nodata:,} without"
        lines = aligned([list(columns), *zip(*columns.values(), strict=True)])
        return "\n".join([head, *lines, *told_findings(self.findings)])


def written_classes(
    legend: Legend, pixels: Mapping[Any, int], hectares: Mapping[Any, float] | None
) -> dict[str, list[str]]:
    """The classes of a map as text, by column: codes, pixels, shares and, where pixels have an area, hectares."""
    counts, total = [pixels.get(entry.label, 0) for entry in legend.entries], sum(pixels.values())
    columns = {
        "class": [entry.name for entry in legend.entries],
        "code": [str(entry.code) for entry in legend.entries],
        "pixels": [f"{n:,}" for n in counts],
        "share": [percent(n / total if total else None) for n in counts],
    }
    if hectares is None:
        return columns
    return {**columns, "hectares": [f"{hectares.get(entry.label, 0.0):,.2f}" for entry in legend.entries]}


def read_class_map(path: str | os.PathLike[str]) -> tuple[Array, Legend, Any]:
    """The codes of a class map that `classify_image` wrote, its legend, and its affine transform.

    Parameters
    ----------
    path : path
        Its name ends in ``.tif``.

    Returns
    -------
    codes : array of shape (height, width)
        What each pixel holds.
    legend : Legend
        What the codes stand for.
    transform : affine.Affine
        From (column, row) to coordinates.

    See Also
    --------
    classify_image : Writes the map.
    class_pixels : Counts the codes without reading all at once.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import make_legend, read_class_map
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"height": 1, "count": 1, "dtype": "uint8", "transform": rasterio.Affine.scale(10)}
    ...     with rasterio.open(f"{folder}/map.tif", "w", driver="GTiff", width=3, **form) as map_file:
    ...         map_file.write(np.array([[[2, 1, 2]]], dtype="uint8"))
    ...         map_file.update_tags(**make_legend(["forest", "lake"]).tags())
    ...     codes, legend, _ = read_class_map(f"{folder}/map.tif")
    >>> [legend.names[code] for code in codes[0].tolist()]
    ['lake', 'forest', 'lake']
    """
    legend = legend_of_file(path)
    with open_image(path) as source:
        return source.read()[0][0], legend, source.transform
