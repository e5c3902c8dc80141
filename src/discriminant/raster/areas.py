"""Training areas: polygons and points with a class, brought to the pixels of an image."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.rows import is_missing
from ..errors import ColumnError, InputError, LabelError
from ..results import plain, quoted, suggestion
from ..tables.learning import Finding
from .bending import bent
from .extra import extra
from .grid import moved
from .image import Image
from .label_image import LabelImage, is_raster, read_label_image
from .marks import Marks, each_pixel_once, found, named_areas
from .systems import as_crs, one_system, reprojected, to_system

Array = np.ndarray[Any, Any]

_POINTS, _POLYGONS = ("Point", "MultiPoint"), ("Polygon", "MultiPolygon")
#: A large polygon is drawn in strips of at most about this many pixels.
_STRIP_PIXELS = 1 << 22


@dataclass(frozen=True, eq=False)
class Areas:
    """Polygons and points, each with a class.

    Attributes
    ----------
    geometries : array of shapely geometries
    labels : array of shape (n_areas,)
        The class of each: text or whole numbers.
    ids : array of shape (n_areas,)
        The number of each in its file.
    crs : rasterio CRS or None
    source : str
        What messages call the file.
    """

    geometries: Array
    labels: Array
    ids: Array
    crs: Any
    source: str

    def marks(self, image: Image) -> Marks:
        """The pixels of an image whose centres lie in the areas, or that hold the points."""
        shapes, notes = self._on(image)
        empty = np.empty(0, dtype=np.int64)
        parts = [(empty, empty, empty), *_polygon_pixels(shapes, image.shape), _point_pixels(shapes, image.shape)]
        rows, columns, area = (np.concatenate(part) for part in zip(*parts, strict=True))
        marks = Marks(rows, columns, area, self.ids, self.labels, tuple(notes))
        outside = self._outside(shapes, image)
        small = np.setdiff1d(np.flatnonzero(~outside), marks.area)
        if outside.any():
            words = f"Outside the image: {self._named(np.flatnonzero(outside))}."
            marks = marks.noting(found("warning", "outside", words))
        if small.size:
            words = f"Smaller than a pixel, with no pixel centre inside: {self._named(small)}."
            marks = marks.noting(found("warning", "too-small", words))
        return each_pixel_once(marks, image.shape[1])

    def _on(self, image: Image) -> tuple[Array, list[Finding]]:
        """The geometries in columns and rows of the image, and what had to be done to them."""
        if not image.georeferenced:
            return self._in_pixels()
        if one_system(self.source, self.crs, image):
            return extra("shapely").transform(self.geometries, lambda xy: moved(~image.transform, *xy.T)), []
        return self._reprojected(image), [reprojected(self.source, self.crs, image)]

    def _in_pixels(self) -> tuple[Array, list[Finding]]:
        shapely = extra("shapely")
        words = "The image has no georeference: coordinates of the areas are read as its columns and rows."
        bottom, top = (shapely.bounds(self.geometries)[:, i] for i in (1, 3))
        if not (top <= 0).all() or not (bottom < 0).any():
            return self.geometries, [found("note", "pixel-coordinates", words)]
        words += " Their y is negative, as QGIS draws over such an image, and is read downwards from 0."
        flipped = shapely.transform(self.geometries, lambda xy: xy * [1, -1])
        return flipped, [found("note", "pixel-coordinates", words)]

    def _reprojected(self, image: Image) -> Array:
        shapes = bent(self.geometries, lambda xy: moved(~image.transform, *to_system(self.crs, image.crs, xy).T))
        lost = np.flatnonzero(~np.isfinite(extra("shapely").bounds(shapes)).all(axis=1))
        if lost.size:
            raise InputError(
                f"{self.source}: {named_areas(self.ids, self.labels, lost)} cannot be brought from {self.crs} to "
                f"{image.crs}, the system of the image. Check the coordinate system of the areas."
            )
        return shapes

    def _outside(self, shapes: Array, image: Image) -> Array:
        """Which areas have nothing in common with the image; an error if none has."""
        shapely, (height, width) = extra("shapely"), image.shape
        left, top, right, bottom = shapely.bounds(shapes).T
        beside = (right <= 0) | (bottom <= 0) | (left >= width) | (top >= height)
        out = beside | ~shapely.intersects(shapes, shapely.box(0, 0, width, height))
        if out.all():
            raise InputError(
                f"All {len(shapes)} areas of {self.source} lie outside the image {image.label}: in its pixels they "
                f"reach from column {left.min():.6g} to {right.max():.6g} and from row {top.min():.6g} to "
                f"{bottom.max():.6g}, and the image has {width} columns and {height} rows. Check that they belong to "
                "this image, and their coordinate system."
            )
        return np.asarray(out)

    def _named(self, areas: Array) -> str:
        return named_areas(self.ids, self.labels, areas)


def open_areas(
    path: str | os.PathLike[str],
    class_field: str | None = None,
    layer: str | None = None,
    crs: Any = None,
    names: dict[Any, str] | None = None,
    unlabelled: Any = None,
) -> Areas | LabelImage:
    """The areas in a file: polygons or points with a class each, or an image that is painted with classes.

    Parameters
    ----------
    path : path
        GeoPackage, GeoJSON, Shapefile and what else GDAL reads as shapes; or GeoTIFF, PNG and other images.
    class_field : str, optional
        The field that holds the class, text or whole numbers. May be left out if there is one field only.
    layer : str, optional
        Of a file with several layers.
    crs : str, optional
        The coordinate system of the areas, for a file that does not say it, such as "EPSG:32632".
    names : dict, optional
        Of a painted image: class names by value or by colour, such as ``{1: "water"}`` or ``{"#0000ff": "water"}``.
    unlabelled : number or colour, optional
        Of a painted image: what stands for no class. Default: its nodata value or transparency, else 0 or black.

    Returns
    -------
    Areas or LabelImage

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from discriminant.raster import open_areas
    >>> ring = [[0, 0], [4, 0], [4, 3], [0, 3], [0, 0]]
    >>> shape = {"type": "Polygon", "coordinates": [ring]}
    >>> feature = {"type": "Feature", "geometry": shape, "properties": {"cover": "water"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "areas.geojson")
    ...     _ = path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    ...     open_areas(path, "cover").labels
    array(['water'], dtype='<U5')
    """
    source = os.fspath(path)
    if not os.path.exists(source):
        raise InputError(f"There is no file {source!r}. Check its name and folder.")
    if is_raster(source):
        _refuse_shape_options(source, class_field=class_field, layer=layer)
        return read_label_image(source, names, unlabelled, crs)
    if names is not None or unlabelled is not None:
        raise InputError(f"Names of values are for painted images; {source!r} holds shapes with a class field.")
    return _read_shapes(source, class_field, layer, crs)


def _refuse_shape_options(source: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name}={value!r} is for shapes, and {source!r} is an image painted with classes.")


def _read_shapes(path: str, class_field: str | None, layer: str | None, crs: Any) -> Areas:
    pyogrio, shapely = extra("pyogrio"), extra("shapely")
    name = repr(Path(path).name)
    try:
        layer = _one_layer(pyogrio, path, name, layer)
        info = pyogrio.read_info(path, layer=layer)
        if info["features"] == 0:
            raise InputError(f"{name} holds no areas. Draw some, and save them.")
        field = _class_field(info, name, class_field)
        meta, ids, wkb, values = pyogrio.raw.read(path, layer=layer, columns=[field], return_fids=True)
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as error:
        raise InputError(
            f"{name} cannot be read as areas: {error}. Expected a GeoPackage, GeoJSON or Shapefile (with its .dbf and "
            ".shx beside it), or an image painted with classes."
        ) from error
    labels = _classes(values[0], ids, name, field)
    try:
        geometries = shapely.from_wkb(wkb)
    except shapely.errors.ShapelyError as error:
        raise InputError(f"{name} has a shape that cannot be read: {error}. Draw it again as a polygon.") from error
    _refuse_bad_shapes(geometries, ids, labels, name)
    return Areas(geometries, labels, ids, as_crs(crs or meta["crs"], name), name)


def _one_layer(pyogrio: Any, path: str, name: str, layer: str | None) -> str:
    layers = [str(one) for one, kind in pyogrio.list_layers(path) if kind is not None]
    if layer is None and len(layers) == 1:
        return layers[0]
    if not layers:
        raise InputError(f"{name} has no layer with shapes. Give the file that holds the areas.")
    if layer is None:
        raise InputError(f"{name} has {len(layers)} layers: {quoted(layers, 20)}. Say which one (layer).")
    if layer not in layers:
        raise InputError(f"{name} has no layer {layer!r}.{suggestion(layer, layers)} Layers: {quoted(layers, 20)}.")
    return layer


def _class_field(info: dict[str, Any], name: str, wanted: str | None) -> str:
    fields = [str(field) for field in info["fields"]]
    if wanted is None and len(fields) == 1:
        return fields[0]
    if not fields:
        raise ColumnError(f"{name} has no fields, so its areas have no classes. Add a field with the class of each.")
    if wanted is None:
        raise ColumnError(f"{name} has several fields: {quoted(fields, 20)}. Say which holds the class (class_field).")
    if wanted not in fields:
        raise ColumnError(f"{name} has no field {wanted!r}.{suggestion(wanted, fields)} Fields: {quoted(fields, 20)}.")
    return wanted


def _classes(values: Array, ids: Array, name: str, field: str) -> Array:
    """The class of each area as text or whole numbers; missing ones are named."""
    without = [i for i, value in enumerate(values) if is_missing(value) or value == ""]
    if without:
        which = ", ".join(str(ids[i]) for i in without[:5]) + (", ..." if len(without) > 5 else "")
        raise LabelError(
            f"{name}: {len(without)} of {len(ids)} areas have no class in the field {field!r} (area {which}). Give "
            "them one, or delete them."
        )
    if values.dtype.kind == "f":
        odd = np.flatnonzero(values != np.rint(values))
        if odd.size:
            raise LabelError(
                f"{name}: the field {field!r} has values that are not whole numbers, such as {values[odd[0]]:g} of "
                f"area {ids[odd[0]]}. Expected classes: text or whole numbers."
            )
        return values.astype(np.int64)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind not in "OUb":
        raise LabelError(f"{name}: the field {field!r} holds {values.dtype}. Expected text or whole numbers.")
    return np.array([str(plain(value)) for value in values])


def _refuse_bad_shapes(geometries: Array, ids: Array, labels: Array, name: str) -> None:
    shapely = extra("shapely")
    empty = np.flatnonzero(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    if empty.size:
        raise InputError(f"{name}: no shape has been drawn for {named_areas(ids, labels, empty)}. Draw or delete it.")
    kinds = np.array([geometry.geom_type for geometry in geometries])
    odd = np.flatnonzero(~np.isin(kinds, _POINTS + _POLYGONS))
    if odd.size:
        raise InputError(
            f"{name}: areas must be polygons or points, got a {kinds[odd[0]]} in {named_areas(ids, labels, odd)}. "
            "Draw the outline as a polygon."
        )
    invalid = np.flatnonzero(~shapely.is_valid(geometries))
    if invalid.size:
        reason = shapely.is_valid_reason(geometries[invalid[0]])
        raise InputError(
            f"{name}: the outline of {named_areas(ids, labels, invalid)} is not valid ({reason}). Draw it again, or "
            'repair it (in QGIS: Processing, "Fix geometries").'
        )


def _polygon_pixels(shapes: Array, size: tuple[int, int]) -> list[tuple[Array, Array, Array]]:
    """Rows, columns and area of the pixels with their centres in each polygon."""
    height, width = size
    parts = []
    bounds = extra("shapely").bounds(shapes)
    for i, shape in enumerate(shapes):
        if shape.geom_type in _POLYGONS:
            left, right = (int(np.clip(edge, 0, width)) for edge in (bounds[i, 0], np.ceil(bounds[i, 2])))
            top, bottom = (int(np.clip(edge, 0, height)) for edge in (bounds[i, 1], np.ceil(bounds[i, 3])))
            for rows, columns in _inside(shape, left, right, top, bottom):
                parts.append((rows, columns, np.full(len(rows), i)))
    return parts


def _inside(shape: Any, left: int, right: int, top: int, bottom: int) -> list[tuple[Array, Array]]:
    """Rows and columns of the pixels of a rectangle whose centres lie in a shape, strip by strip."""
    rasterize, affine = extra("rasterio.features").rasterize, extra("rasterio").Affine
    found_pixels = []
    step = max(1, _STRIP_PIXELS // max(right - left, 1))
    for start in range(top, bottom if right > left else top, step):
        size = (min(step, bottom - start), right - left)
        drawn = rasterize([shape], size, transform=affine.translation(left, start), dtype="uint8")
        rows, columns = np.nonzero(drawn)
        found_pixels.append((rows + start, columns + left))
    return found_pixels


def _point_pixels(shapes: Array, size: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Rows, columns and area of the pixels that hold the points."""
    shapely = extra("shapely")
    points = np.flatnonzero([shape.geom_type in _POINTS for shape in shapes])
    xy, area = shapely.get_coordinates(shapes[points], return_index=True)
    columns, rows = np.floor(xy).astype(np.int64).reshape(-1, 2).T
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    return rows[inside], columns[inside], points[area[inside]]
