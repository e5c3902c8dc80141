"""Mosaics of tiles: a virtual raster (VRT) over images or class maps on one grid, which is read like one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..files import check_target, write_whole
from .class_map import CLASSES_TAG, REJECTED_TAG
from .files import extra, label_of
from .image import open_image

if TYPE_CHECKING:
    from rasterio.io import DatasetReader

#: Largest distance of the corners of tiles from a common grid, in pixels.
MAX_SHIFT: Final = 1e-3


def mosaic_tiles(
    tiles: Sequence[str | os.PathLike[str]], output: str | os.PathLike[str], overwrite: bool = False
) -> Path:
    """Write a virtual raster (VRT) over tiles, which other functions open like one image or class map.

    No pixel is copied: the file refers to the tiles. Where tiles overlap, the last one with a value is used.

    Parameters
    ----------
    tiles : list of paths
        Images or class maps on one grid, with the same bands, types and nodata values, and the same legend.
    output : path
        The mosaic (``.vrt``).
    overwrite : bool, default=False
        Replace an existing file.

    Returns
    -------
    Path
        The mosaic.

    See Also
    --------
    open_image : Opens the mosaic.
    classify_image : Maps it.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import mosaic_tiles, open_image
    >>> form = {"driver": "GTiff", "count": 1, "width": 3, "height": 2, "dtype": "uint8", "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tiles = [f"{folder}/{name}.tif" for name in ("west", "east")]
    ...     for number, tile in enumerate(tiles):
    ...         place = rasterio.Affine(10, 0, 30 * number, 0, -10, 0)
    ...         with rasterio.open(tile, "w", transform=place, **form) as file:
    ...             file.write(np.full((1, 2, 3), number + 1, dtype="uint8"))
    ...     with open_image(mosaic_tiles(tiles, f"{folder}/all.vrt")) as image:
    ...         image.read()[0][0].tolist()
    [[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2]]
    """
    target, paths = check_target(output, overwrite), [os.path.realpath(tile) for tile in tiles]
    if target.suffix.lower() != ".vrt":
        raise InputError(f"Mosaics are virtual rasters, got {str(target)!r}. Give a name that ends in .vrt.")
    if not paths:
        raise InputError("mosaic_tiles needs at least one tile, got an empty list. Give the paths of images.")
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(open_image(path))  # raises the errors of files that cannot be read
        datasets = [stack.enter_context(extra("rasterio").open(path)) for path in paths]
        _refuse_different(datasets)
        places = _places(datasets)
        if datasets[0].nodatavals[0] is None and not _is_covered(places):
            raise InputError(
                f"The tiles leave gaps in the mosaic {target.name!r}, but have no nodata value for them. Declare one "
                "in each tile, such as gdal_edit.py -a_nodata 0 TILE."
            )
        document = _document(datasets, places, target)
    indent(document)
    write_whole(target, tostring(document, encoding="utf-8"))
    return target


def _refuse_different(datasets: Sequence[DatasetReader]) -> None:
    """Raise an error unless all tiles have the same bands, grid size, coordinate system and legend."""
    first = datasets[0]
    step = 1e-6 * max(map(abs, first.res))
    for one in datasets:
        found = {
            "coordinate system": one.crs == first.crs,
            "pixel size": np.allclose(_steps(one), _steps(first), rtol=0, atol=step),
            "number of bands": one.count == first.count,
            "types": one.dtypes == first.dtypes,
            "nodata values": np.array_equal(_numbers(one.nodatavals), _numbers(first.nodatavals), equal_nan=True),
            "names of bands": one.descriptions == first.descriptions,
            "scale factors": (one.scales, one.offsets) == (first.scales, first.offsets),
            "legend": all(one.tags().get(tag) == first.tags().get(tag) for tag in (CLASSES_TAG, REJECTED_TAG)),
        }
        for what, is_same in found.items():
            if not is_same:
                both = f"{label_of([first.name])} and {label_of([one.name])}"
                raise InputError(f"Tiles of a mosaic must have the same {what}: {both} differ. Convert them first.")
        flags = extra("rasterio.enums").MaskFlags
        if any(flags.per_dataset in kinds and flags.alpha not in kinds for kinds in one.mask_flag_enums):
            words = "has a mask band, which a mosaic does not keep. Set its masked pixels to a nodata value first."
            raise InputError(f"The tile {label_of([one.name])} {words}")
    if first.transform.is_identity or first.transform.b or first.transform.d:
        raise InputError(f"The tile {label_of([first.name])} must be georeferenced by a grid without rotation.")


def _steps(dataset: DatasetReader) -> Array:
    """The terms of the affine transform without its offsets."""
    return np.array(dataset.transform[:6])[[0, 1, 3, 4]]


def _numbers(values: Sequence[float | None]) -> Array:
    """Nodata values as numbers; infinity for none."""
    return np.array([np.inf if value is None else value for value in values], dtype=np.float64)


def _places(datasets: Sequence[DatasetReader]) -> Array:
    """Column, row, width and height of each tile in the mosaic, shape (n, 4)."""
    first = datasets[0].transform
    corners = np.array([~first @ (one.transform.c, one.transform.f) for one in datasets])
    places = np.rint(corners).astype(np.int64)
    if np.abs(corners - places).max() > MAX_SHIFT:
        shifted = int(np.abs(corners - places).max(axis=1).argmax())
        raise InputError(
            f"The pixels of {label_of([datasets[shifted].name])} and {label_of([datasets[0].name])} are not on one "
            "grid: they are shifted by a part of a pixel. Resample them to the same grid first."
        )
    return np.column_stack((places - places.min(axis=0), [(one.width, one.height) for one in datasets]))


def _is_covered(places: Array) -> bool:
    """Whether tiles cover the rectangle around them."""
    x, y = (np.unique(np.concatenate((places[:, i], places[:, i] + places[:, i + 2]))) for i in (0, 1))
    covered = np.zeros((len(y) - 1, len(x) - 1), dtype=bool)
    for column, row, width, height in places:
        rows, columns = np.searchsorted(y, (row, row + height)), np.searchsorted(x, (column, column + width))
        covered[rows[0] : rows[1], columns[0] : columns[1]] = True
    return bool(covered.all())


def _document(datasets: Sequence[DatasetReader], places: Array, target: Path) -> Element:
    """The VRT document."""
    first, low = datasets[0], (places[:, :2]).argmin(axis=0)
    width, height = (places[:, :2] + places[:, 2:]).max(axis=0).tolist()
    root = Element("VRTDataset", rasterXSize=str(width), rasterYSize=str(height))
    if first.crs is not None:
        SubElement(root, "SRS", dataAxisToSRSAxisMapping="1,2").text = first.crs.to_wkt()
    a, b, _, d, e, _ = first.transform[:6]
    corner = datasets[low[0]].transform.c, datasets[low[1]].transform.f
    SubElement(root, "GeoTransform").text = ", ".join(map(repr, (corner[0], a, b, corner[1], d, e)))
    tags = set(first.tags().items()).intersection(*(one.tags().items() for one in datasets))
    metadata = SubElement(root, "Metadata")
    for key, value in sorted(tags - {("AREA_OR_POINT", "Area")}):
        SubElement(metadata, "MDI", key=key).text = value
    for index in first.indexes:
        _add_band(root, datasets, places, index, target)
    return root


def _add_band(root: Element, datasets: Sequence[DatasetReader], places: Array, index: int, target: Path) -> None:
    """Add a band of all tiles to a VRT document."""
    first, i = datasets[0], index - 1
    dtype, nodata, kind = first.dtypes[i], first.nodatavals[i], first.colorinterp[i].name
    name = {"uint8": "Byte"}.get(dtype, f"UI{dtype[2:]}" if dtype.startswith("u") else dtype.capitalize())
    band = SubElement(root, "VRTRasterBand", dataType=name, band=str(index))
    texts: dict[str, Any] = {
        "Description": first.descriptions[i],
        "NoDataValue": nodata,
        "ColorInterp": kind.capitalize(),
    }
    texts |= {"Offset": first.offsets[i] or None, "Scale": None if first.scales[i] == 1 else first.scales[i]}
    for tag, text in texts.items():
        if text is not None:
            SubElement(band, tag).text = str(text)
    if kind == "palette":
        table, colours = SubElement(band, "ColorTable"), first.colormap(index)
        for code in range(max(colours) + 1):
            shades = zip(("c1", "c2", "c3", "c4"), colours.get(code, (0, 0, 0, 0)), strict=True)
            SubElement(table, "Entry", {key: str(value) for key, value in shades})
    for one, (column, row, width, height) in zip(datasets, places.tolist(), strict=True):
        source = SubElement(band, "SimpleSource" if nodata is None else "ComplexSource")
        path = Path(os.path.relpath(one.name, target.parent)).as_posix()
        SubElement(source, "SourceFilename", relativeToVRT="1").text = path
        SubElement(source, "SourceBand").text = str(index)
        size = {"xSize": str(width), "ySize": str(height)}
        SubElement(source, "SrcRect", {"xOff": "0", "yOff": "0", **size})
        SubElement(source, "DstRect", {"xOff": str(column), "yOff": str(row), **size})
        if nodata is not None:
            SubElement(source, "NODATA").text = str(nodata)
