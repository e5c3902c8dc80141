"""STAC items: the description of a class map for catalogues (SpatioTemporal Asset Catalog 1.0)."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..errors import InputError, ParameterError, Setting
from ..files import check_target, write_whole
from ..results import jsonable
from .class_map import Legend, map_legend
from .coordinates import apply_affine, geographic
from .files import extra
from .image import Image, open_image

STAC_VERSION: Final = "1.0.0"
EXTENSIONS: Final = tuple(
    f"https://stac-extensions.github.io/{name}/v1.1.0/schema.json"
    for name in ("projection", "raster", "classification")
)
#: Points along each side of the footprint, because sides may be curves in longitudes and latitudes.
SIDE_POINTS: Final = 8
_COG, _TIFF = "image/tiff; application=geotiff; profile=cloud-optimized", "image/tiff; application=geotiff"


def map_item(
    class_map: str | os.PathLike[str], output: str | os.PathLike[str], date: str | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Write the STAC item of a class map.

    It has the footprint in longitudes and latitudes, the fields of the projection extension, and the data type, nodata
    value and classes of the map (raster and classification extensions).

    Parameters
    ----------
    class_map : path
        A georeferenced map with a legend, or with one band of class codes.
    output : path
        The item (``.json``). Its asset refers to the map by a relative path.
    date : str, optional
        The date and time of the image in ISO 8601, such as ``"2024-06-01"`` (UTC), or a range with ``/``. Default:
        when the map was made.
    overwrite : bool, default=False
        Replace an existing file.

    Returns
    -------
    dict
        The item.

    See Also
    --------
    map_polygons : The polygons of a map.

    References
    ----------
    https://github.com/radiantearth/stac-spec/blob/v1.0.0/item-spec/item-spec.md

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import make_legend, map_item
    >>> form = {"driver": "GTiff", "height": 1, "width": 2, "count": 1, "dtype": "uint8", "crs": "EPSG:4326"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rasterio.open(f"{folder}/map.tif", "w", **form, transform=rasterio.Affine(1, 0, 7, 0, -1, 50)) as file:
    ...         file.write(np.array([[[1, 2]]], dtype="uint8"))
    ...         file.update_tags(**make_legend(["forest", "water"]).tags())
    ...     item = map_item(f"{folder}/map.tif", f"{folder}/map.json", "2024-06-01")
    >>> item["bbox"], item["properties"]["datetime"]
    ([7.0, 49.0, 9.0, 50.0], '2024-06-01T00:00:00Z')
    """
    target, path = check_target(output, overwrite), Path(os.path.realpath(class_map))
    if target.suffix.lower() != ".json":
        raise InputError(f"STAC items are JSON, got {str(target)!r}. Give a name that ends in .json.")
    legend = map_legend(class_map)
    with open_image(class_map) as image:
        outline = _footprint(image)
        asset = _asset(image, legend, os.path.relpath(path, target.parent))
        properties = _times(date, path) | _projection(image)
    low, high = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    item = jsonable(
        {
            "type": "Feature",
            "stac_version": STAC_VERSION,
            "stac_extensions": list(EXTENSIONS),
            "id": path.stem,
            "geometry": {"type": "Polygon", "coordinates": [outline.tolist()]},
            "bbox": [*low, *high],
            "properties": properties,
            "links": [],
            "assets": {"map": asset},
        }
    )
    write_whole(target, json.dumps(item, indent=2, ensure_ascii=False).encode())
    return item


def _footprint(image: Image) -> Array:
    """The outline of an image in longitudes and latitudes, closed and counterclockwise, shape (n, 2)."""
    height, width = image.shape
    t = np.linspace(0, 1, SIDE_POINTS, endpoint=False)
    x, y = np.r_[t, 1 + 0 * t, 1 - t, 0 * t, 0], np.r_[0 * t, t, 1 + 0 * t, 1 - t, 0]
    corners = apply_affine(image.transform, width * x, height * y)
    found = None if image.crs is None or not image.georeferenced else geographic(image.crs, corners)
    if found is None or not np.isfinite(found).all():
        raise InputError(
            f"{image.label} has no position on the Earth, which a STAC item requires. Georeference it first."
        )
    if np.ptp(found[:, 0]) > 180:
        raise InputError(f"{image.label} crosses the date line. Split the map there, and write an item for each part.")
    x, y = found.T
    is_clockwise = np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) < 0
    return np.round(found[::-1] if is_clockwise else found, 7)


def _times(date: str | None, path: Path) -> dict[str, Any]:
    """The datetime of an item, or the start and end of a range."""
    made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    times = [made] if date is None else [_time(part) for part in date.split("/")]
    if len(times) > 2 or times != sorted(times):
        raise ParameterError(Setting("date"), f" must be a date or a range START/END, got {date!r}.")
    written = [time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for time in times]
    if len(written) == 1:
        return {"datetime": written[0]}
    return {"datetime": None, "start_datetime": written[0], "end_datetime": written[1]}


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ParameterError(
            Setting("date"), f" must be written as 2024-06-01 or 2024-06-01T10:30, got {text!r}."
        ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _projection(image: Image) -> dict[str, Any]:
    assert image.crs is not None
    code = image.crs.to_epsg()
    wkt = {} if code is not None else {"proj:wkt2": image.crs.to_wkt(version="WKT2_2019")}
    return {"proj:epsg": code, **wkt, "proj:shape": list(image.shape), "proj:transform": list(image.transform[:6])}


def _asset(image: Image, legend: Legend, path: str) -> dict[str, Any]:
    """The map as an asset, with its classes."""
    with extra("rasterio").open(image.paths[0]) as dataset:
        is_cog = dataset.tags(ns="IMAGE_STRUCTURE").get("LAYOUT") == "COG"
    classes = [
        {
            "value": entry.code,
            "name": re.sub("[^0-9A-Za-z_-]", "_", entry.name),
            "description": entry.name,
            "color-hint": entry.colour[1:].upper(),
        }
        for entry in legend.entries
    ]
    known = {"data_type": image.dtypes[0], "nodata": legend.nodata}
    return {
        "href": Path(path).as_posix() if path.startswith("..") else f"./{Path(path).as_posix()}",
        "type": _COG if is_cog else _TIFF,
        "title": "Class map",
        "roles": ["data"],
        "raster:bands": [known],
        "classification:classes": classes,
    }
