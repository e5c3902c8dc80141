"""Training areas: polygons, lines and points with a class, and their pixels."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..data import is_missing
from ..errors import ColumnError, InputError, LabelError, Setting
from ..files import whole_files
from ..results import Finding, listed, plain, quoted, suggestion
from .area_pixels import MAX_NAMED_AREAS, AreaPixels, area_finding, each_pixel_once, named_areas
from .coordinates import MAX_DEGREES, apply_affine, as_crs, same_crs, transform_points, transform_shapes
from .files import check_file, extra
from .image import Image
from .label_image import LabelImage, is_image_name, read_label_image, reprojection_note

if TYPE_CHECKING:
    from rasterio.crs import CRS

_POINTS, _POLYGONS = ("Point", "MultiPoint"), ("Polygon", "MultiPolygon")
_LINES = ("LineString", "MultiLineString", "LinearRing")
_COLLECTION = "GeometryCollection"
_MULTIPLE = ("MultiPoint", "MultiPolygon", "MultiLineString", _COLLECTION)
_DRIVERS: Final = {".gpkg": "GPKG", ".geojson": "GeoJSON"}
#: Formats for points, which the others read, too; a Shapefile has several files, .prj only with a coordinate system.
_POINT_DRIVERS: Final = {".shp": "ESRI Shapefile", ".kml": "LIBKML", ".csv": "CSV"}
_SHAPEFILE_PARTS: Final = (".shx", ".dbf", ".cpg", ".prj")
#: The names of columns of coordinates in a CSV file.
_CSV_COORDINATES: Final = {"X_POSSIBLE_NAMES": "x,lon,longitude", "Y_POSSIBLE_NAMES": "y,lat,latitude"}
WGS84: Final = "EPSG:4326"
#: A large polygon is rasterised in strips of at most about this many pixels, to bound memory.
MAX_STRIP_PIXELS: Final = 1 << 22


@dataclass(frozen=True, eq=False)
class Areas:
    """Polygons, lines and points, each with a class.

    Parameters
    ----------
    geometries : array of shapely geometries
        Shapes in the coordinate system of their file.
    labels : array of shape (n_areas,)
        The class of each: text or whole numbers.
    ids : array of shape (n_areas,)
        The number of each in its file.
    crs : rasterio CRS or None
        The coordinate system, if known.
    source : str
        The name of the file in messages.
    path : str, default=""
        The file.
    findings : tuple of Finding, default=()
        Notes from reading the file.

    See Also
    --------
    open_areas : Reads areas from a file.
    LabelImage : Areas painted on an image.

    Examples
    --------
    >>> import numpy as np, shapely
    >>> from discriminant.raster import Areas
    >>> places = np.array([shapely.box(0, 0, 2, 2), shapely.Point(5, 1)])
    >>> areas = Areas(places, np.array(["water", "sand"]), np.array([1, 2]), None, "by hand")
    >>> areas.labels.tolist()
    ['water', 'sand']
    """

    geometries: Array
    labels: Array
    ids: Array
    crs: CRS | None
    source: str
    path: str = ""
    findings: tuple[Finding, ...] = ()

    def save(self, path: str | os.PathLike[str], class_field: str = "class") -> None:
        """Write the areas to a GeoPackage or GeoJSON file.

        An existing file is replaced; after an error it is left unchanged.

        Parameters
        ----------
        path : path
            Output file (``.gpkg`` or ``.geojson``).
        class_field : str, default="class"
            The name of the field for the classes.
        """
        crs = None if self.crs is None else self.crs.to_wkt()
        write_shapes(path, self.geometries, {class_field: self.labels.astype(object)}, crs)

    def pixels(self, image: Image) -> AreaPixels:
        """The pixels of an image whose centre lies in a polygon, that a line touches, or that contain a point.

        The parts of a multi-part shape are separate areas.

        Parameters
        ----------
        image : Image
            The image, to whose coordinate system the areas are reprojected.

        Returns
        -------
        AreaPixels
            Each pixel once, with findings.
        """
        single, ids, labels = self._single_parts()
        shapes, notes = single._in_pixels(image)
        empty = np.empty(0, dtype=np.int64)
        parts = [(empty, empty, empty), *_drawn_pixels(shapes, image.shape), _point_pixels(shapes, image.shape)]
        rows, columns, area = (np.concatenate(column) for column in zip(*parts, strict=True))
        pixels = AreaPixels(rows, columns, area, ids, labels, (*self.findings, *notes))
        lines = np.flatnonzero([shape.geom_type in _LINES for shape in shapes])
        if lines.size:
            pixels = pixels.with_finding("note", "lines", f"Lines select the pixels they touch: {pixels.named(lines)}.")
        inside = np.flatnonzero(~single._outside(shapes, image))
        outside, small = np.setdiff1d(np.arange(len(ids)), inside), np.setdiff1d(inside, area)
        if outside.size:
            words = f"Outside the image and left out: {pixels.named(outside)}."
            pixels = pixels.with_finding("warning", "outside", words)
        if small.size:
            words = f"No pixel centre inside, because the area is too small or too narrow: {pixels.named(small)}."
            pixels = pixels.with_finding("warning", "too-small", words)
        return each_pixel_once(pixels, image.shape[1])

    def in_image(self, image: Image) -> Areas:
        """The areas in columns and rows of an image, without those outside it.

        The parts of a multi-part shape are separate areas.

        Parameters
        ----------
        image : Image
            The image, to whose coordinate system the areas are reprojected.

        Returns
        -------
        Areas
            With findings on what was reprojected or left out.
        """
        single, ids, _ = self._single_parts()
        shapes, notes = single._in_pixels(image)
        outside = single._outside(shapes, image)
        if outside.any():
            words = f"Outside the image and left out: {single._named(outside)}."
            notes = [*notes, area_finding("warning", "outside", words)]
        kept = np.flatnonzero(~outside)
        flat = extra("shapely").force_2d(shapes[kept])
        findings = (*self.findings, *notes)
        return replace(single, geometries=flat, labels=single.labels[kept], ids=ids[kept], crs=None, findings=findings)

    def _named(self, chosen: Array) -> str:
        """Names of the chosen areas, for messages."""
        return named_areas(self.ids, self.labels, np.flatnonzero(chosen))

    def _single_parts(self) -> tuple[Areas, Array, Array]:
        """The parts of all shapes as areas; and ids and labels of these, followed by those of empty shapes."""
        shapely, shapes, owner = extra("shapely"), self.geometries, np.arange(len(self.ids))
        while any(shape.geom_type in _MULTIPLE for shape in shapes):
            shapes, of = shapely.get_parts(shapes, return_index=True)
            owner = owner[of]
        drawn = ~shapely.is_empty(shapes)
        shapes, owner = shapes[drawn], owner[drawn]
        n_parts = np.bincount(owner, minlength=len(self.ids))
        owners = np.append(owner, np.flatnonzero(n_parts == 0))
        ids, labels = self.ids[owners], self.labels[owners]
        if (n_parts > 1).any():
            part = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
            ids = ids.astype(str).astype(object)
            ids[: len(owner)] += np.where(n_parts[owner] > 1, [f".{k}" for k in part], "")
            ids = ids.astype(str)
        n = len(owner)
        return replace(self, geometries=shapes, labels=labels[:n], ids=ids[:n]), ids, labels

    def _in_pixels(self, image: Image) -> tuple[Array, list[Finding]]:
        """The geometries in columns and rows of the image, and notes on how they were transformed."""
        shapely, shapes = extra("shapely"), self.geometries
        if image.placed_without_grid:
            raise InputError(f"Cannot locate {self.source} in {image.label}: the image {image.without_grid}")
        if not image.georeferenced:
            words = "The image is not georeferenced: coordinates of the areas are read as its columns and rows."
            bottom, top = (shapely.bounds(shapes)[:, i] for i in (1, 3))
            if (top <= 0).all() and (bottom < 0).any():
                words += " Their y is negative, as QGIS writes it for such an image; its sign is changed."
                shapes = shapely.transform(shapes, lambda xy: xy * [1, -1])
            return shapes, [area_finding("note", "pixel-coordinates", words)]
        self._refuse_large_degrees()
        if same_crs(self.source, self.crs, image):
            return shapely.transform(shapes, lambda xy: apply_affine(~image.transform, *xy.T)), []
        shapes = transform_shapes(
            shapes, lambda xy: apply_affine(~image.transform, *transform_points(self.crs, image.crs, xy).T)
        )
        undefined = ~np.isfinite(shapely.bounds(shapes)).all(axis=1)
        if undefined.any():
            raise InputError(
                f"{self.source}: {self._named(undefined)} cannot be reprojected from {self.crs} to {image.crs}, the "
                "coordinate system of the image. Check the coordinate system of the areas (",
                Setting("areas_crs"), ").",
            )  # fmt: skip
        return shapes, [reprojection_note(self.source, self.crs, image)]

    def _refuse_large_degrees(self) -> None:
        """Raise an error if coordinates in degrees are too large to be degrees."""
        if self.crs is None or not self.crs.is_geographic or not len(self.geometries):
            return
        largest = float(np.nanmax(np.abs(extra("shapely").bounds(self.geometries))))
        if largest > MAX_DEGREES:
            raise InputError(
                f"{self.source} is in {self.crs}, whose unit is degrees, but has coordinates up to {largest:,.0f}. "
                "GeoJSON without a coordinate system is read as degrees. Give the coordinate system of the areas with ",
                Setting("areas_crs"), ", such as EPSG:32632.",
            )  # fmt: skip

    def _outside(self, shapes: Array, image: Image) -> Array:
        """Which areas do not intersect the image; an error if none does."""
        shapely, (height, width) = extra("shapely"), image.shape
        left, top, right, bottom = shapely.bounds(shapes).T
        beside = (right <= 0) | (bottom <= 0) | (left >= width) | (top >= height)
        out = np.asarray(beside | ~shapely.intersects(shapes, shapely.box(0, 0, width, height)))
        if out.all():
            remedy: tuple[str | Setting, ...] = (
                "The image is not georeferenced, so coordinates must be columns and rows.",
            )
            if image.georeferenced:
                systems = Setting("crs"), " of the image, ", Setting("areas_crs")
                remedy = ("Check both coordinate systems (", *systems, " of the areas).")
            raise InputError(
                f"No area of {self.source} is in the image {image.label}. Columns of the areas: {left.min():.6g} to "
                f"{right.max():.6g}, rows: {top.min():.6g} to {bottom.max():.6g}; the image has {width} columns and "
                f"{height} rows. ",
                *remedy,
            )
        return out


def _drawn_pixels(shapes: Array, size: tuple[int, int]) -> Iterator[tuple[Array, Array, Array]]:
    """Rows, columns and shape of the pixels with their centre in a polygon or touched by a line, strip by strip."""
    rasterize, affine = extra("rasterio.features").rasterize, extra("rasterio").Affine
    bounds = extra("shapely").bounds(shapes)
    for i, shape in enumerate(shapes):
        if shape.geom_type in _POINTS:
            continue
        line = shape.geom_type in _LINES  # a line along the edge between two pixels touches the second one
        left, right = (int(np.clip(edge, 0, size[1])) for edge in (bounds[i, 0], np.ceil(bounds[i, 2]) + line))
        top, bottom = (int(np.clip(edge, 0, size[0])) for edge in (bounds[i, 1], np.ceil(bounds[i, 3]) + line))
        step = max(1, MAX_STRIP_PIXELS // max(right - left, 1))
        for start in range(top, bottom if right > left else top, step):
            strip = (min(step, bottom - start), right - left)
            place = affine.translation(left, start)
            drawn = rasterize([shape], strip, transform=place, all_touched=line, dtype="uint8")
            rows, columns = np.nonzero(drawn)
            yield rows + start, columns + left, np.full(len(rows), i)


def _point_pixels(shapes: Array, size: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Rows, columns and shape of the pixels that contain points."""
    points = np.flatnonzero([shape.geom_type in _POINTS for shape in shapes])
    xy, area = extra("shapely").get_coordinates(shapes[points], return_index=True)
    columns, rows = np.floor(xy).astype(np.int64).reshape(-1, 2).T
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    return rows[inside], columns[inside], points[area[inside]]


def fields_by_layer(path: str) -> dict[str, list[str]]:
    """The fields of each layer with shapes; a CSV file has shapes if it has coordinates."""
    pyogrio, opening = extra("pyogrio"), _opening(path)
    with _readable(path):
        layers = [str(one) for one, kind in pyogrio.list_layers(path) if kind is not None or opening]
        if not layers:
            raise InputError(f"{Path(path).name!r} has no layer with shapes. Give the file with the areas.")
        return {
            one: [str(field) for field in pyogrio.read_info(path, layer=one, **opening)["fields"]] for one in layers
        }


def _opening(path: str) -> dict[str, str]:
    """The options of reading a file."""
    return _CSV_COORDINATES if path.lower().endswith(".csv") else {}


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Explain what cannot be read from a file."""
    errors = extra("pyogrio").errors
    try:
        yield
    except (errors.DataSourceError, errors.DataLayerError) as error:
        raise InputError(
            f"Cannot read areas from {Path(path).name!r}: {str(error).rstrip('.')}. Expected a GeoPackage, GeoJSON or "
            "Shapefile (with its .dbf and .shx files), or an image painted with classes."
        ) from error


def _read_shapes(path: str, class_field: str | None, layer: str | None, crs: str | CRS | None) -> Areas:
    pyogrio, shapely = extra("pyogrio"), extra("shapely")
    name, known, opening = repr(Path(path).name), fields_by_layer(path), _opening(path)
    layer = _chosen(name, "layer", layer, list(known), InputError)
    with _readable(path):
        if pyogrio.read_info(path, layer=layer, **opening)["features"] == 0:
            raise InputError(f"{name} has no areas. Draw areas and save them.")
        if not known[layer]:
            raise ColumnError(f"{name} has no fields. Add a field with the class of each area.")
        field = _chosen(name, "class_field", class_field, known[layer], ColumnError)
        meta, ids, wkb, values = pyogrio.raw.read(path, layer=layer, columns=[field], return_fids=True, **opening)
    try:
        geometries = shapely.from_wkb(wkb)
    except shapely.errors.ShapelyError as error:
        raise InputError(f"{name} has an invalid shape: {error}. Draw it again as a polygon.") from error
    labels, findings = _one_spelling(_classes(values[0], ids, name, field))
    areas = Areas(geometries, labels, ids, as_crs(crs or meta["crs"], name), name, path, findings)
    _refuse_bad_shapes(areas)
    return areas


def _one_spelling(labels: Array) -> tuple[Array, tuple[Finding, ...]]:
    """Class names in which those that differ only by case and spaces are replaced by the most frequent one."""
    if labels.dtype.kind != "U":
        return labels, ()
    names, counts = np.unique(labels, return_counts=True)
    kept = {spelling(name): name.strip() for name in names[np.argsort(counts, kind="stable")].tolist()}
    changed = [name for name in names.tolist() if name.strip() != kept[spelling(name)]]
    words = f"Class names that differ only by case or spaces were merged with the most frequent one: {quoted(changed)}."
    found = np.array([kept[spelling(label)] for label in labels.tolist()])
    return found, (area_finding("note", "spelling", words),) if changed else ()


def _chosen(name: str, parameter: str, wanted: str | None, known: list[str], error: type[InputError]) -> str:
    """The layer or field with the wanted name; if none is wanted, the only one."""
    what = parameter.removeprefix("class_")
    if wanted is None and len(known) == 1:
        return known[0]
    if wanted is None:
        raise error(f"{name} has several {what}s: {quoted(known, 20)}. Choose one with ", Setting(parameter), ".")
    if wanted not in known:
        hint = suggestion(wanted, known)
        raise error(f"{name} has no {what} {wanted!r}.{hint} {what.capitalize()}s: {quoted(known, 20)}.")
    return wanted


def _classes(values: Array, ids: Array, name: str, field: str) -> Array:
    """The class of each area as text or whole numbers."""
    missing = [str(ids[i]) for i, value in enumerate(values) if is_missing(value) or value == ""]
    if missing:
        words = f"field {field!r} is empty for {len(missing)} of {len(ids)} areas: {listed(missing, MAX_NAMED_AREAS)}"
        raise LabelError(f"{name}: {words}. Enter their class, or delete them.")
    if values.dtype.kind == "f":
        odd = values[values != np.rint(values)]
        if odd.size:
            words = f"field {field!r} has values that are not integers, such as {odd[0]:g}"
            raise LabelError(f"{name}: {words}. Expected text or integers.")
        return values.astype(np.int64)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind not in "OUb":
        raise LabelError(f"{name}: field {field!r} has type {values.dtype}. Expected text or integers.")
    return np.array([str(plain(value)) for value in values])


def _refuse_bad_shapes(areas: Areas) -> None:
    shapely, shapes, name = extra("shapely"), areas.geometries, areas.source
    empty = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    if empty.any():
        raise InputError(f"{name}: {areas._named(empty)} has no shape. Draw or delete it.")
    kinds = np.array([shape.geom_type for shape in shapes])
    odd = ~np.isin(kinds, (*_POINTS, *_LINES, *_POLYGONS, _COLLECTION))
    if odd.any():
        words = f"areas must be polygons, lines or points; {areas._named(odd)} is a {kinds[odd][0]}. Draw a polygon."
        raise InputError(f"{name}: {words}")
    invalid = ~shapely.is_valid(shapes)
    if invalid.any():
        reason = shapely.is_valid_reason(shapes[invalid][0])
        words = f"invalid outline of {areas._named(invalid)}: {reason}. Draw it again, or repair it "
        raise InputError(f'{name}: {words}(in QGIS: Processing, "Fix geometries").')


def file_digest(path: str) -> str:
    """The SHA-256 digest of a file; empty if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def spelling(label: str) -> str:
    """A class name in lower case without extra spaces.

    >>> spelling("Water "), spelling("open  Water")
    ('water', 'open water')
    """
    return " ".join(label.split()).casefold()


def shapes_driver(path: str | os.PathLike[str], points: bool = False) -> str:
    """The driver that writes shapes, or points only, to a file of this name; an error for other endings."""
    target, drivers = Path(path), _DRIVERS | (_POINT_DRIVERS if points else {})
    if target.suffix.lower() not in drivers:
        raise InputError(f"Cannot write shapes to {target.name!r}. Give a name that ends in {' or '.join(drivers)}.")
    return drivers[target.suffix.lower()]


def write_shapes(
    path: str | os.PathLike[str], shapes: Array, fields: Mapping[str, Array], crs: str | None, kind: str = "Unknown"
) -> None:
    """Write shapes with their fields to a file; KML has longitudes and latitudes, CSV the columns x and y."""
    driver, shapely = shapes_driver(path, kind == "Point"), extra("shapely")
    if driver == "LIBKML":
        own = as_crs(crs, repr(Path(path).name))
        if own is None:
            raise InputError("KML has longitudes and latitudes, but the map has no coordinate system. Write a .gpkg.")
        shapes, crs = transform_shapes(shapes, lambda xy: transform_points(own, as_crs(WGS84, ""), xy)), WGS84
    geometry = None if driver == "CSV" else shapely.to_wkb(shapes)
    if driver == "CSV":
        fields = {**fields, **dict(zip("xy", shapely.get_coordinates(shapes).T, strict=True))}
    form = {"geometry_type": None if driver == "CSV" else kind, "crs": crs, "layer": Path(path).stem}
    companions = _SHAPEFILE_PARTS[: None if crs else -1] if driver == "ESRI Shapefile" else ()
    targets = [Path(path), *(Path(path).with_suffix(ending) for ending in companions)]
    with whole_files(targets) as parts, warnings.catch_warnings():
        # pyogrio warns about shapes without a coordinate system, such as those of an image that is not georeferenced.
        warnings.simplefilter("ignore", UserWarning)
        extra("pyogrio").raw.write(str(parts[0]), geometry, list(fields.values()), list(fields), driver=driver, **form)


def open_areas(
    path: str | os.PathLike[str],
    class_field: str | None = None,
    layer: str | None = None,
    areas_crs: str | CRS | None = None,
    names: Mapping[Any, str] | None = None,
    unlabelled: int | str | None = None,
) -> Areas | LabelImage:
    """Read areas from a file: polygons, lines or points with a class each, or an image painted with classes.

    Parameters
    ----------
    path : path
        GeoPackage, GeoJSON, Shapefile or another vector format of GDAL; or GeoTIFF, PNG or another image.
    class_field : str, optional
        The field with the class, text or whole numbers. May be omitted if there is only one field.
    layer : str, optional
        The layer, for a file with several layers.
    areas_crs : str, optional
        The coordinate system of the areas, such as "EPSG:32632", if the file has none or a wrong one.
    names : dict, optional
        For a painted image: class names by value or by colour, such as ``{1: "water"}`` or ``{"#0000ff": "water"}``.
    unlabelled : number or colour, optional
        For a painted image: the value without class. Default: its nodata value or transparency, else 0 or black.

    Returns
    -------
    Areas or LabelImage

    See Also
    --------
    draw_samples : The pixels in the areas.

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
    check_file(source)
    if is_image_name(source):
        for setting in (Setting("class_field", class_field), Setting("layer", layer)):
            if setting.value is not None:
                raise InputError(
                    setting, f" applies to shapes, but {source!r} is an image painted with classes. Omit it."
                )
        return read_label_image(source, names, unlabelled, areas_crs)
    if names is not None or unlabelled is not None:
        raise InputError(
            Setting("names"), " and ", Setting("unlabelled"), f" apply to painted images, but {source!r} has shapes. "
            "Omit them; the class field has the names.",
        )  # fmt: skip
    return _read_shapes(source, class_field, layer, areas_crs)


def as_areas(areas: str | os.PathLike[str] | Areas | LabelImage, class_field: str | None) -> Areas | LabelImage:
    """Areas that are already open, or those of a path."""
    if isinstance(areas, (str, os.PathLike)):
        return open_areas(areas, class_field)
    if class_field is not None:
        raise InputError(Setting("class_field"), " applies to a path; these areas are already open. Omit it.")
    return areas
