"""Class maps: legends with codes, names and colours, and the pixels and area of each class."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..arrays import Array
from ..data import label_array
from ..engine import parallel_map
from ..errors import InputError, LabelError, ParameterError, Setting
from ..results import Finding, Result, aligned, columns_of, jsonable, percent, plain, printed_findings, records_of
from .colours import class_colours, hex_colour, rgb
from .coordinates import PixelAreas, pixel_areas
from .image import Image, Paths, open_image, opened

if TYPE_CHECKING:
    from affine import Affine
    from rasterio.windows import Window

REJECTED: Final = "rejected"
#: Tags of a GeoTIFF with the classes by code, and with the code of rejected pixels.
CLASSES_TAG, REJECTED_TAG = "CLASSES", "REJECTED"
#: Largest code of a class, so that nodata and rejected pixels have codes in uint16, too.
MAX_CODE: Final = 65_000

_REJECT_COLOUR = "#767676"
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
#: Characters that are not allowed in XML.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QGIS_HEADER = "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n"
#: Columns of GDAL's attribute table: name, type (0 integer, 2 text) and usage, by GDAL's numbers.
_ATTRIBUTES = (("Value", 0, 5), ("Class", 2, 2), ("Red", 0, 6), ("Green", 0, 7), ("Blue", 0, 8))


@dataclass(frozen=True)
class LegendEntry:
    """A code of a map with its class and colour.

    Parameters
    ----------
    code : int
        The value of the pixels of the class.
    label : object
        The class, as in the model: text or a number.
    colour : str
        Written ``#RRGGBB``.

    See Also
    --------
    Legend : The codes of a map.
    legend_of_file : Reads the legend of a map.

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
        Code, name and colour of each class.
    nodata : int
        The code of pixels without a value, different from all others.
    rejected : LegendEntry, optional
        The code of rejected pixels.

    See Also
    --------
    make_legend : Assigns codes and colours.
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
        """The classes, followed by rejected pixels."""
        return self.classes if self.rejected is None else (*self.classes, self.rejected)

    @property
    def names(self) -> dict[int, Any]:
        """The class of each code."""
        return {entry.code: entry.label for entry in self.entries}

    @property
    def dtype(self) -> str:
        """The smallest type that can hold all codes."""
        return "uint8" if self.n_codes <= 256 else "uint16"

    @property
    def n_codes(self) -> int:
        """The largest code, with that of nodata, plus 1."""
        return 1 + max(self.nodata, *self.names)

    @property
    def codes(self) -> Array:
        """The code of each class."""
        return np.array([entry.code for entry in self.classes], dtype=self.dtype)

    @property
    def colour_table(self) -> dict[int, tuple[int, int, int, int]]:
        """Red, green, blue and opacity by code."""
        table = {entry.code: (*rgb(entry.colour), 255) for entry in self.entries}
        return {self.nodata: (0, 0, 0, 0), **table}

    def tags(self) -> dict[str, str]:
        """The legend as metadata of a GeoTIFF.

        Returns
        -------
        dict
            Text by name of the tag.
        """
        found = {CLASSES_TAG: json.dumps({str(entry.code): entry.label for entry in self.classes}, ensure_ascii=False)}
        return found if self.rejected is None else {**found, REJECTED_TAG: str(self.rejected.code)}


def make_legend(classes: Sequence[Hashable], reject: bool = False, colours: Mapping[Any, str] | None = None) -> Legend:
    """Assign codes and colours to classes.

    Classes that are whole numbers from 0 to 65,000 are their own codes; others are numbered from 1. The code of nodata
    is 0, or the first code above the classes if 0 is a class.

    Parameters
    ----------
    classes : list
        Labels, in the order of their codes.
    reject : bool, default=False
        Whether to add a code for rejected pixels.
    colours : dict, optional
        Colours by class, written ``#RRGGBB``. Other classes get the usual colour of their English name, such as water
        or forest, or a distinct one.

    Returns
    -------
    Legend

    See Also
    --------
    legend_of_file : Reads the legend of a map.
    classify_image : Writes a map with its legend.

    Examples
    --------
    >>> [(entry.code, entry.name) for entry in make_legend(["forest", "water"], reject=True).entries]
    [(1, 'forest'), (2, 'water'), (3, 'rejected')]
    >>> make_legend([0, 7]).nodata
    8
    """
    labels = [plain(label) for label in classes]
    numbered = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MAX_CODE for one in labels)
    codes = labels if numbered else list(range(1, len(labels) + 1))
    if max(codes) > MAX_CODE:
        raise InputError(
            f"A class map can have at most {MAX_CODE:,} classes, got {len(labels):,}. Merge classes first."
        )
    shades = class_colours(labels, _checked_colours(colours or {}, labels))
    entries = tuple(LegendEntry(*entry) for entry in zip(codes, labels, shades, strict=True))
    free = max(codes) + 1
    nodata = free if 0 in codes else 0
    rejected = _rejected(free + (nodata == free), labels) if reject else None
    return Legend(entries, nodata, rejected)


def _rejected(code: int, labels: Sequence[Hashable]) -> LegendEntry:
    """The legend entry of rejected pixels, with a name different from all classes."""
    return LegendEntry(code, REJECTED if REJECTED not in map(str, labels) else f"{REJECTED} (no class)", _REJECT_COLOUR)


def _checked_colours(colours: Mapping[Any, str], labels: Sequence[Hashable]) -> dict[str, str]:
    known = [str(label) for label in labels]
    for label, colour in colours.items():
        if str(label) not in known:
            raise ParameterError(Setting("colours"), f" has {str(label)!r}, which is not a class. Classes: {known}.")
        if not isinstance(colour, str) or not _COLOUR.fullmatch(colour):
            raise ParameterError(Setting("colours"), f" must be written #RRGGBB, got {colour!r} for {str(label)!r}.")
    return {str(label): colour.lower() for label, colour in colours.items()}


def written_legend(path: str | os.PathLike[str]) -> Legend | None:
    """The legend in the metadata of a class map, or None."""
    with open_image(path) as image:
        tags, palette, nodata = image.tags, image.palette or {}, image.nodata[0]
    try:
        classes = json.loads(tags[CLASSES_TAG]).items()
        labels = {int(code): label for code, label in classes if isinstance(label, (str, int))}
    except (KeyError, ValueError, AttributeError):  # other programs may use the tag otherwise
        return None
    code = tags.get(REJECTED_TAG, "")
    rejected = _rejected(int(code), list(labels.values())) if code.isdecimal() else None
    return Legend(_entries(labels, palette), _code_of(nodata, 0), rejected) if labels else None


def _code_of(nodata: float | None, default: int) -> int:
    return default if nodata is None or not np.isfinite(nodata) else int(nodata)


def legend_of_file(path: str | os.PathLike[str]) -> Legend:
    """Read the legend of a class map written by `classify_image`.

    Parameters
    ----------
    path : path
        A class map (``.tif``).

    Returns
    -------
    Legend

    See Also
    --------
    make_legend : Legends of new maps.
    read_class_map : Reads the codes, too.

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
        raise InputError(f"{os.fspath(path)!r} has no legend in its metadata. Give a class map of this package.")
    return legend


def map_legend(path: str | os.PathLike[str]) -> Legend:
    """The legend of a class map; the classes of a map without a legend are its codes, in the colours of its palette."""
    legend = written_legend(path)
    if legend is not None:
        return legend
    with open_image(path) as image:
        codes, palette, nodata = sorted(class_pixels(image)), image.palette or {}, image.nodata[0]
        if not codes:
            raise no_classes_error(image)
    return Legend(_entries({code: code for code in codes}, palette), _code_of(nodata, codes[-1] + 1))


def no_classes_error(image: Image) -> InputError:
    return InputError(f"The map {image.label} has no pixel with a class. Check its nodata value.")


def _entries(labels: Mapping[int, Hashable], palette: Mapping[int, Sequence[int]]) -> tuple[LegendEntry, ...]:
    written = {str(label): hex_colour(palette[code]) for code, label in labels.items() if code in palette}
    shades = class_colours(list(labels.values()), written)
    return tuple(LegendEntry(*entry) for entry in zip(labels, labels.values(), shades, strict=True))


def qgis_style(legend: Legend) -> str:
    """The QGIS style (``.qml``) of a map with this legend.

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
    """The categories and the attribute table of a map, as GDAL stores them in an ``.aux.xml`` file.

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
    class_map: Image | Paths, names: Mapping[int, Hashable] | None = None, n_jobs: int | None = None
) -> dict[Any, int]:
    """The number of pixels of each class of a map, without nodata pixels.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    names : dict, optional
        The class of each code. Default: the codes are the classes.
    n_jobs : int, optional
        Number of threads: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    dict
        The number of pixels by class; codes with the same class are added.

    See Also
    --------
    draw_design : Reference pixels for each class.
    area_adjusted_accuracy : Areas corrected for the errors of the map.

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
    image: Image, names: Mapping[int, Hashable] | None = None, n_jobs: int | None = None
) -> tuple[dict[Any, int], dict[Any, float] | None]:
    """The number of pixels and the hectares on the ground of each class of a map; None if hectares are unknown."""
    areas = pixel_areas(image)
    pixels: Counter[Any] = Counter()
    hectares: Counter[Any] = Counter()
    for own_pixels, own_hectares in counts_by_window(image, areas, n_jobs):
        pixels.update(own_pixels)
        hectares.update(own_hectares)
    codes = sorted(pixels)
    pixels_of: Counter[Any] = Counter()
    hectares_of: Counter[Any] = Counter()
    for label, code in zip(labels_of_codes(np.array(codes), names, image), codes, strict=True):
        pixels_of[plain(label)] += pixels[code]
        hectares_of[plain(label)] += hectares[code]
    return dict(pixels_of), None if areas is None else dict(hectares_of)


def counts_by_window(
    image: Image, areas: PixelAreas | None = None, n_jobs: int | None = None
) -> list[tuple[Counter[Any], Counter[Any]]]:
    """Pixels and hectares of each code in every window of a map, in the order of `Image.windows`."""
    refuse_many_bands(image)

    def counted(window: Window) -> tuple[Counter[Any], Counter[Any]]:
        values, valid = image.read(window)
        codes, place, counts = np.unique(values[0][valid], return_inverse=True, return_counts=True)
        hectares = np.zeros(len(codes)) if areas is None else np.bincount(place, areas.of_window(window)[valid])
        labels = codes.tolist()
        return Counter(dict(zip(labels, counts.tolist(), strict=True))), Counter(
            dict(zip(labels, hectares.tolist(), strict=True))
        )

    return parallel_map(counted, list(image.windows()), n_jobs)


def labels_of_codes(codes: Array, names: Mapping[int, Hashable] | None, image: Image) -> Array:
    """The class of each code of a map."""
    different, place = np.unique(codes, return_inverse=True)
    odd = different[different != np.rint(different)]
    if odd.size:
        raise InputError(f"{image.label} has values such as {odd[0]:g}. Expected integers (class codes).")
    whole = [int(code) for code in different]
    if names is None:
        return np.array(whole)[place]
    unknown = [code for code in whole if code not in names]
    if unknown:
        words = f" has no name for code {unknown[0]} of the map {image.label}: {dict(names)}. Add it."
        raise LabelError(Setting("names"), words)
    return label_array([names[code] for code in whole])[place]


def refuse_many_bands(image: Image) -> None:
    if image.n_bands != 1:
        bands = ", ".join(image.band_names)
        raise InputError(f"{image.label} has {image.n_bands} bands ({bands}). Expected a class map with one band.")


@dataclass(frozen=True, eq=False, repr=False)
class ClassMap(Result):
    """A class map in a file.

    Attributes
    ----------
    path : Path
    legend : Legend
        Codes, names and colours.
    pixels : dict
        The number of pixels by class, rejected ones last.
    n_nodata : int
        The number of pixels without a value.
    hectares : dict or None
        The area of each class on the ground, if the image has a coordinate system.
    files : tuple of Path
        All files that were written.
    findings : tuple of Finding
        Notes and warnings about the image.
    n_masked : int, default=0
        The number of pixels that a mask left out; they are among those without a value.

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
    n_masked: int = 0

    @property
    def written(self) -> dict[str, list[str]]:
        """The classes as text, by column, with their pixels and areas."""
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
        return jsonable(
            {
                "map": str(self.path),
                "classes": records_of(self._columns()),
                "nodata": {"code": self.legend.nodata, "pixels": self.n_nodata, "masked": self.n_masked},
                "hectares": self.hectares,
                "files": [str(path) for path in self.files],
                "findings": self.findings,
            }
        )

    def __str__(self) -> str:
        columns = self.written
        head = f"{self.path.name}: {sum(self.pixels.values()):,} valid pixels, {self.n_nodata:,} without data"
        lines = aligned([list(columns), *zip(*columns.values(), strict=True)])
        return "\n".join([head, *lines, *printed_findings(self.findings)])


def written_classes(
    legend: Legend, pixels: Mapping[Hashable, int], hectares: Mapping[Hashable, float] | None
) -> dict[str, list[str]]:
    """The classes of a map as text, by column: codes, pixels, shares and, if known, hectares."""
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


def read_class_map(path: str | os.PathLike[str]) -> tuple[Array, Legend, Affine]:
    """Read the codes of a class map written by `classify_image`, its legend and its affine transform.

    Parameters
    ----------
    path : path
        A class map (``.tif``).

    Returns
    -------
    codes : array of shape (height, width)
        The code of each pixel.
    legend : Legend
        The class of each code.
    transform : affine.Affine
        From (column, row) to coordinates.

    See Also
    --------
    classify_image : Writes the map.
    class_pixels : Counts the codes window by window.

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
