"""Change between two class maps: a change map, and the cross-tabulation of their classes by pixels and hectares.

Change areas obtained by pixel counting are biased by the errors of both maps. The change map is a class map: a
stratified sample of its pixels (`draw_design`) gives unbiased change areas with intervals (`area_adjusted_accuracy`;
Olofsson et al. 2014).
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..arrays import Array
from ..engine import in_order
from ..errors import InputError, LabelError
from ..files import check_target
from ..results import Result, aligned, jsonable, shortened
from .class_map import ClassMap, Legend, gdal_tables, make_legend, map_legend, qgis_style
from .classify import grid_of
from .coordinates import code_areas, pixel_areas
from .image import Image, open_image
from .macro import MacroClasses
from .output import RasterFile, beside, check_raster_target, new_rasters, tile_of

if TYPE_CHECKING:
    from rasterio.windows import Window

MapPath = str | os.PathLike[str]


@dataclass(frozen=True, eq=False, repr=False)
class MapChange(Result):
    """The change between two class maps.

    Attributes
    ----------
    before, after : list
        The classes of both maps.
    pixels : array of shape (before, after)
        The number of pixels by class in the first map (rows) and in the second map (columns).
    hectares : array of shape (before, after) or None
        Their area on the ground, if the maps have a coordinate system.
    change_map : ClassMap
        The change map, with a class for each pair of classes, or for each macro-class of such pairs.

    See Also
    --------
    map_change : Computes it.
    """

    before: list[Any]
    after: list[Any]
    pixels: Array
    hectares: Array | None
    change_map: ClassMap

    @property
    def unchanged(self) -> int:
        """The number of pixels with the same class in both maps."""
        same = [(self.before.index(label), self.after.index(label)) for label in self.before if label in self.after]
        return int(sum(self.pixels[place] for place in same))

    def _columns(self) -> dict[str, Any]:
        """A row for each pair of classes with pixels."""
        rows, columns = np.nonzero(self.pixels)
        found = {
            "before": [self.before[row] for row in rows],
            "after": [self.after[column] for column in columns],
            "pixels": self.pixels[rows, columns],
        }
        return found if self.hectares is None else {**found, "hectares": self.hectares[rows, columns]}

    def to_dict(self) -> dict[str, Any]:
        """The cross-tabulation as plain values.

        Returns
        -------
        dict
            Rows are the first map, columns the second.
        """
        values = {"before": self.before, "after": self.after, "pixels": self.pixels, "hectares": self.hectares}
        return jsonable({**values, "unchanged": self.unchanged, "change_map": self.change_map.to_dict()})

    def __str__(self) -> str:
        values, unit = (self.pixels, "pixels") if self.hectares is None else (self.hectares, "hectares")
        decimals = 0 if self.hectares is None else 2
        rows = [["before", *(shortened(label) for label in self.after), "total"]]
        for label, line in zip(self.before, values, strict=True):
            rows.append([shortened(label), *(f"{value:,.{decimals}f}" for value in (*line, line.sum()))])
        rows.append(["total", *(f"{value:,.{decimals}f}" for value in (*values.sum(axis=0), values.sum()))])
        return "\n".join([f"Rows: first map; columns: second map; {unit}.", *aligned(rows)])


def map_change(
    before: MapPath, after: MapPath, output: MapPath, macro: MacroClasses | None = None, overwrite: bool = False
) -> MapChange:
    """Compare two class maps on one grid, and write the change map.

    Parameters
    ----------
    before, after : path
        Class maps with a legend, or with one band of class codes.
    output : path
        The change map (``.tif``). Its classes are the pairs that occur, such as "forest > water", and the classes
        of unchanged pixels. Pixels without a class in either map have none.
    macro : MacroClasses, optional
        Strata of change by pair, such as ``{"forest > water": "deforestation"}``.
    overwrite : bool, default=False
        Replace an existing file.

    Returns
    -------
    MapChange

    See Also
    --------
    draw_design : A sample of the change map for unbiased change areas.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import make_legend, map_change
    >>> form = {"driver": "GTiff", "height": 1, "width": 4, "count": 1, "dtype": "uint8", "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, codes in (("a", [1, 1, 2, 0]), ("b", [1, 2, 2, 2])):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", **form, transform=rasterio.Affine.scale(10)) as file:
    ...             file.write(np.array([[codes]], dtype="uint8"))
    ...             file.update_tags(**make_legend(["forest", "water"]).tags())
    ...     found = map_change(f"{folder}/a.tif", f"{folder}/b.tif", f"{folder}/change.tif")
    >>> found.change_map.pixels
    {'forest': 1, 'forest > water': 1, 'water': 1}
    """
    target = check_raster_target(output, overwrite)
    style = check_target(target.with_suffix(".qml"), overwrite)
    legends = map_legend(before), map_legend(after)
    with open_image([os.fspath(before), os.fspath(after)]) as image:
        if image.n_bands != 2:
            raise InputError(
                f"The maps {image.label} have {image.n_bands} bands. Expected two class maps with one band each."
            )
        pixels, hectares = _crossed(image, legends)
        labels = _labels(legends, pixels, macro)
        legend = make_legend(list(dict.fromkeys(label for label in labels.ravel() if label is not None)))
        codes = _codes(labels, legend)
        tags = {"TIFFTAG_SOFTWARE": f"discriminant {__version__}", "BEFORE": str(before), "AFTER": str(after)}
        texts = {style: qgis_style(legend), beside(target, ".aux.xml"): gdal_tables(legend)}
        raster = RasterFile(
            target, grid_of(image), legend.dtype, legend.nodata, ("change",), {**tags, **legend.tags()},
            legend.colour_table,
        )  # fmt: skip

        def coded(window: Window) -> tuple[Window, Array]:
            return window, codes[_pairs(image, window, legends)]

        windows, tile = list(image.windows()), tile_of(image.block_shape()[0])
        with new_rasters([raster], texts, tile) as [file], closing(in_order(coded, windows, -1)) as results:
            for window, found in results:
                file.write(found[None], window=window)
        size = image.shape[0] * image.shape[1]
    counted, areas = (
        {entry.label: part[codes == entry.code].sum().item() for entry in legend.entries}
        for part in (pixels, pixels if hectares is None else hectares)
    )
    on_ground = None if hectares is None else areas
    n_nodata = int(size - pixels.sum())
    made = ClassMap(target, legend, counted, n_nodata, on_ground, (target, *texts), image.findings)
    own = [[entry.label for entry in one.entries] for one in legends]
    return MapChange(own[0], own[1], pixels[1:, 1:], None if hectares is None else hectares[1:, 1:], made)


def _codes(labels: Array, legend: Legend) -> Array:
    """The code of each pair of classes; nodata for pairs that do not occur."""
    codes = np.full(labels.shape, legend.nodata, dtype=legend.dtype)
    for entry in legend.classes:
        codes[labels == entry.label] = entry.code
    return codes


def _pairs(image: Image, window: Window, legends: tuple[Legend, Legend]) -> tuple[Array, Array]:
    """The index of the class of each pixel in both maps, from 1; 0 for no class."""
    values, valid = image.read(window)
    found = []
    for codes, legend in zip(values, legends, strict=True):
        known = np.array([entry.code for entry in legend.entries])
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known[order], codes), len(known) - 1)
        index = order[place]
        found.append(np.where(valid & (known[index] == codes), index + 1, 0))
    return found[0], found[1]


def _crossed(image: Image, legends: tuple[Legend, Legend]) -> tuple[Array, Array | None]:
    """Pixels and hectares by class in both maps; index 0 is no class."""
    shape = tuple(1 + len(legend.entries) for legend in legends)
    if shape[0] * shape[1] > np.iinfo(np.uint16).max:
        raise InputError(
            f"The maps have {shape[0] - 1} and {shape[1] - 1} classes, too many pairs for a change map. Merge "
            "classes first."
        )
    areas = pixel_areas(image)

    def counted(window: Window) -> tuple[Array, Array]:
        first, second = _pairs(image, window, legends)
        pair = np.where((first > 0) & (second > 0), first * shape[1] + second, 0).astype(np.uint16)
        return code_areas(np.ascontiguousarray(pair), window, shape[0] * shape[1], areas)

    pixels, hectares = np.zeros(shape[0] * shape[1], dtype=np.int64), np.zeros(shape[0] * shape[1])
    for own_pixels, own_hectares in in_order(counted, list(image.windows()), -1):
        pixels += own_pixels
        hectares += own_hectares
    pixels[0], hectares[0] = 0, 0.0
    return pixels.reshape(shape), None if areas is None else hectares.reshape(shape)


def _labels(legends: tuple[Legend, Legend], pixels: Array, macro: MacroClasses | None) -> Array:
    """The class of each pair in the change map, None for pairs that do not occur."""
    labels = np.full(pixels.shape, None, dtype=object)
    names = [[str(entry.label) for entry in legend.entries] for legend in legends]
    for (i, old), (j, new) in product(enumerate(names[0], start=1), enumerate(names[1], start=1)):
        if pixels[i, j]:
            labels[i, j] = old if old == new else f"{old} > {new}"
    present = [label for label in labels.ravel() if label is not None]
    if not present:
        raise LabelError("No pixel has a class in both maps. Check that they cover the same area.")
    if macro is not None:
        macro.check(present)
        labels[pixels > 0] = macro.labels(present)
    return labels
