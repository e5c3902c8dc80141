"""Training areas: polygons, lines and points with a class, or an image painted with classes, and their pixels."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import Array
from ..data import is_missing, label_array
from ..errors import ColumnError, InputError, LabelError, ParameterError, Setting
from ..files import whole_file
from ..results import Finding, Severity, listed, plain, quoted, shown, suggestion
from .class_map import Legend, written_legend
from .image import MOST_DEGREES, Image, apply_affine, as_crs, check_file, densified, extra, same_crs, transform_points

#: From a window to the values in it and where there are any.
Reader = Callable[[Any], tuple[Array, Array]]

_POINTS, _POLYGONS = ("Point", "MultiPoint"), ("Polygon", "MultiPolygon")
_LINES = ("LineString", "MultiLineString", "LinearRing")
_COLLECTION = "GeometryCollection"
_MULTIPLE = ("MultiPoint", "MultiPolygon", "MultiLineString", _COLLECTION)
#: A large polygon is drawn in strips of at most about this many pixels.
_STRIP_PIXELS = 1 << 22
#: So many areas or pairs are named in a message; the others are counted.
_MOST_NAMED = 5
_IMAGE_ENDINGS = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".img", ".vrt", ".jp2")
#: Programs that paint write these, and number the colours as they like.
_PAINTED = (".png", ".gif", ".bmp")
#: More values than this are shades of a photograph, of soft edges or of lossy compression, not classes.
_MOST_CLASSES = 65_535
_MOST_COLOURS = 256
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, eq=False)
class AreaPixels:
    """Pixels that belong to areas.

    Attributes
    ----------
    rows, columns : arrays of shape (n_pixels,)
        In reading order of the image, each pixel once.
    area : array of shape (n_pixels,)
        The place of the pixel's area in ``ids`` and ``labels``.
    ids, labels : arrays of shape (n_areas,)
        What each area is called, and its class.
    findings : tuple of Finding
    """

    rows: Array
    columns: Array
    area: Array
    ids: Array
    labels: Array
    findings: tuple[Finding, ...] = ()

    def take(self, chosen: Array) -> AreaPixels:
        """The chosen pixels only."""
        return replace(self, rows=self.rows[chosen], columns=self.columns[chosen], area=self.area[chosen])

    def noting(self, severity: Severity, kind: str, message: str) -> AreaPixels:
        """The same with one more finding, where there is a message."""
        return replace(self, findings=(*self.findings, area_finding(severity, kind, message))) if message else self

    def named(self, areas: Array) -> str:
        """Some areas, by their place, as messages call them."""
        return named_areas(self.ids, self.labels, areas)


def area_finding(severity: Severity, kind: str, message: str) -> Finding:
    """A finding that is about areas, not about one column."""
    return Finding(severity, kind, None, message)


def named_areas(ids: Array, labels: Array, areas: Array) -> str:
    """``areas 3 ('forest') and 7 ('water')``; beyond a few, how many more."""
    names = [f"{ids[i]} ({shown(labels[i])})" for i in areas]
    return f"{'area' if len(names) == 1 else 'areas'} {listed(names, _MOST_NAMED)}"


def named_classes(labels: Iterable[Any], numbers: Iterable[Any] = ()) -> str:
    """``Class 'water'``, ``Classes 'water' (3) and 'sand' (9)``; beyond a few, how many more.

    >>> named_classes(["water"], [3]), named_classes(["water", "sand"], [3, 9])
    ("Class 'water'", "Classes 'water' (3) and 'sand' (9)")
    """
    names = [shown(label) for label in labels]
    if len(names) == 1:
        return f"Class {names[0]}"
    counted = [f"{name} ({number})" for name, number in zip(names, numbers, strict=False)]
    return f"Classes {listed(counted or names, _MOST_NAMED)}"


def each_pixel_once(pixels: AreaPixels, width: int) -> AreaPixels:
    """The pixels in reading order; a pixel that areas of different classes claim is left out, and they are named.

    Of several areas of one class the first keeps the pixel.
    """
    pixel = pixels.rows.astype(np.int64) * width + pixels.columns
    order = np.lexsort((pixels.area, pixel))
    pixel, pixels = pixel[order], pixels.take(order)
    first = np.append(True, pixel[1:] != pixel[:-1]) if len(pixel) else np.zeros(0, bool)
    run = np.cumsum(first) - 1
    _, code = np.unique(pixels.labels, return_inverse=True)
    own = code[pixels.area]
    disputed = np.zeros(int(first.sum()), bool)
    disputed[run[own != own[first][run]]] = True
    kept = first & ~disputed[run]
    once = pixels.take(kept).noting("warning", "overlap", _overlaps(pixels, run, disputed))
    lost = np.setdiff1d(pixels.area[~disputed[run]], once.area)
    doubled = f"Other areas of the same class hold all pixels of {pixels.named(lost)}." if lost.size else ""
    return once.noting("note", "same-pixels", doubled)


def _overlaps(pixels: AreaPixels, run: Array, disputed: Array) -> str:
    """Which areas of different classes claim the same pixels."""
    if not disputed.any():
        return ""
    starts = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    first = pixels.area[starts[run]]
    rival = disputed[run] & (pixels.labels[pixels.area] != pixels.labels[first])
    pairs, counts = np.unique(np.column_stack((first[rival], pixels.area[rival])), axis=0, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:_MOST_NAMED]
    told = "; ".join(f"{pixels.named(pairs[i])} in {counts[i]:,} pixels" for i in largest)
    more = f"; and {len(pairs) - len(largest)} more pairs" if len(pairs) > len(largest) else ""
    return (
        f"Areas of different classes overlap: {told}{more}. The {disputed.sum():,} pixels that have two classes are "
        "left out: redraw the areas."
    )


def touching_areas(rows: Array, columns: Array, labels: Array, width: int) -> Array:
    """The number of each pixel's area, where an area is all pixels of one class that touch, also at corners.

    Pixels come in reading order. Only marked pixels are held in memory, however large the image.
    """
    pixel, place = rows.astype(np.int64) * width + columns, np.arange(len(rows))
    pairs = []
    for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
        inside = (columns + right >= 0) & (columns + right < width)
        wanted = pixel + down * width + right
        there = np.minimum(np.searchsorted(pixel, wanted), len(pixel) - 1)
        linked = inside & (pixel[there] == wanted) & (labels[there] == labels)
        pairs.append((place[linked], there[linked]))
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(one), bool), (one, other)), shape=(len(rows), len(rows)))
    return connected_components(graph, directed=False)[1]


@dataclass(frozen=True, eq=False)
class Areas:
    """Polygons, lines and points, each with a class.

    Parameters
    ----------
    geometries : array of shapely geometries
        In the coordinate system of their file.
    labels : array of shape (n_areas,)
        The class of each: text or whole numbers.
    ids : array of shape (n_areas,)
        The number of each in its file.
    crs : rasterio CRS or None
        That system, where it is known.
    source : str
        What messages call the file.
    path : str, default=""
        The file.
    findings : tuple of Finding, default=()
        What was decided when the file was read.

    See Also
    --------
    open_areas : Reads them from a file.
    LabelImage : The same painted on an image.

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
    crs: Any
    source: str
    path: str = ""
    findings: tuple[Finding, ...] = ()

    def save(self, path: str | os.PathLike[str], class_field: str = "class") -> None:
        """Write the areas to a GeoPackage or GeoJSON file.

        The file appears whole or not at all, and takes the place of one of its name.

        Parameters
        ----------
        path : path
            Its name ends in ``.gpkg`` or ``.geojson``.
        class_field : str, default="class"
            The field of the classes.
        """
        crs = None if self.crs is None else self.crs.to_wkt()
        write_shapes(path, self.geometries, {class_field: self.labels.astype(object)}, crs)

    def pixels(self, image: Image) -> AreaPixels:
        """The pixels of an image whose centres lie in the areas, that lines touch, or that hold the points.

        The parts of a multi-part shape are areas by themselves.

        Parameters
        ----------
        image : Image
            Where they lie, or are brought to.

        Returns
        -------
        AreaPixels
            Each pixel once, with what was found on the way.
        """
        single, ids, labels = self._single_parts()
        shapes, notes = single._on(image)
        empty = np.empty(0, dtype=np.int64)
        parts = [(empty, empty, empty), *_drawn_pixels(shapes, image.shape), _point_pixels(shapes, image.shape)]
        rows, columns, area = (np.concatenate(column) for column in zip(*parts, strict=True))
        pixels = AreaPixels(rows, columns, area, ids, labels, (*self.findings, *notes))
        lines = np.flatnonzero([shape.geom_type in _LINES for shape in shapes])
        touched = f"Lines mark the pixels that they touch: {pixels.named(lines)}." if lines.size else ""
        pixels = pixels.noting("note", "lines", touched)
        inside = np.flatnonzero(~single._outside(shapes, image))
        outside, small = np.setdiff1d(np.arange(len(ids)), inside), np.setdiff1d(inside, area)
        for places, kind, words in (
            (outside, "outside", "Outside the image"),
            (small, "too-small", "Smaller than a pixel, with no pixel centre inside"),
        ):
            pixels = pixels.noting("warning", kind, f"{words}: {pixels.named(places)}." if places.size else "")
        return each_pixel_once(pixels, image.shape[1])

    def _named(self, chosen: Array) -> str:
        """The chosen areas as messages call them."""
        return named_areas(self.ids, self.labels, np.flatnonzero(chosen))

    def _single_parts(self) -> tuple[Areas, Array, Array]:
        """The parts of all shapes as areas; and ids and labels of them, then those of the areas without a shape."""
        shapely, shapes, owner = extra("shapely"), self.geometries, np.arange(len(self.ids))
        while any(shape.geom_type in _MULTIPLE for shape in shapes):
            shapes, of = shapely.get_parts(shapes, return_index=True)
            owner = owner[of]
        drawn = ~shapely.is_empty(shapes)
        shapes, owner = shapes[drawn], owner[drawn]
        n_parts = np.bincount(owner, minlength=len(self.ids))
        ids = self.ids[owner]
        if (n_parts > 1).any():
            number = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1
            several = n_parts[owner] > 1
            pairs = zip(ids.tolist(), number.tolist(), several.tolist(), strict=True)
            ids = np.array([f"{own}.{part}" if multiple else str(own) for own, part, multiple in pairs])
        shapeless = np.flatnonzero(n_parts == 0)
        owners = np.append(owner, shapeless)
        single = replace(self, geometries=shapes, labels=self.labels[owner], ids=ids)
        rest = self.ids[shapeless].astype(ids.dtype if ids.dtype.kind == "U" else self.ids.dtype)
        return single, np.append(ids, rest), self.labels[owners]

    def _on(self, image: Image) -> tuple[Array, list[Finding]]:
        """The geometries in columns and rows of the image, and what had to be done to them."""
        shapely, shapes = extra("shapely"), self.geometries
        if image.placed_without_grid:
            raise InputError(
                f"Where {self.source} lies in {image.label} is not known: the image {image.without_grid} "
                f"{image.warp_advice}"
            )
        if not image.georeferenced:
            words = "The image has no georeference: coordinates of the areas are read as its columns and rows."
            bottom, top = (shapely.bounds(shapes)[:, i] for i in (1, 3))
            if (top <= 0).all() and (bottom < 0).any():
                words += " Their y is negative, as QGIS draws over such an image, and is read downwards from 0."
                shapes = shapely.transform(shapes, lambda xy: xy * [1, -1])
            return shapes, [area_finding("note", "pixel-coordinates", words)]
        self._refuse_no_degrees()
        if same_crs(self.source, self.crs, image):
            return shapely.transform(shapes, lambda xy: apply_affine(~image.transform, *xy.T)), []
        shapes = densified(
            shapes, lambda xy: apply_affine(~image.transform, *transform_points(self.crs, image.crs, xy).T)
        )
        lost = ~np.isfinite(shapely.bounds(shapes)).all(axis=1)
        if lost.any():
            raise InputError(
                f"{self.source}: {self._named(lost)} cannot be brought from {self.crs} to {image.crs}, the system of "
                "the image. Check the coordinate system of the areas."
            )
        return shapes, [_reprojection_note(self.source, self.crs, image)]

    def _refuse_no_degrees(self) -> None:
        """Raise an error where coordinates are too large for the degrees that the file says they are."""
        if self.crs is None or not self.crs.is_geographic or not len(self.geometries):
            return
        most = float(np.nanmax(np.abs(extra("shapely").bounds(self.geometries))))
        if most > MOST_DEGREES:
            raise InputError(
                f"{self.source} is in {self.crs}, a system of degrees, and its coordinates reach {most:,.0f}. GeoJSON "
                "that says no coordinate system is read as degrees. Give the system of the areas (",
                Setting("areas_crs"), "), such as EPSG:32632.",
            )  # fmt: skip

    def _outside(self, shapes: Array, image: Image) -> Array:
        """Which areas have nothing in common with the image; an error if none has."""
        shapely, (height, width) = extra("shapely"), image.shape
        left, top, right, bottom = shapely.bounds(shapes).T
        beside = (right <= 0) | (bottom <= 0) | (left >= width) | (top >= height)
        out = beside | ~shapely.intersects(shapes, shapely.box(0, 0, width, height))
        if out.all():
            known = ("both coordinate systems (", Setting("crs"), " of the image, ", Setting("areas_crs"), ").")
            unknown = ("its place: it has no georeference, so that coordinates are read as its columns and rows.",)
            raise InputError(
                f"All {len(np.unique(self.ids))} areas of {self.source} lie outside the image {image.label}: in its "
                f"pixels they reach from column {left.min():.6g} to {right.max():.6g} and from row {top.min():.6g} to "
                f"{bottom.max():.6g}, and the image has {width} columns and {height} rows. Check that they belong to "
                "this image, and ",
                *(known if image.georeferenced else unknown),
            )
        return np.asarray(out)


def _reprojection_note(source: str, crs: Any, image: Image) -> Finding:
    words = f"{source} was reprojected from {crs} to {image.crs}, the system of the image."
    return area_finding("note", "reprojected", words)


def _drawn_pixels(shapes: Array, size: tuple[int, int]) -> Iterator[tuple[Array, Array, Array]]:
    """Rows, columns and shape of the pixels with their centres in each polygon or touched by a line, strip by strip."""
    rasterize, affine = extra("rasterio.features").rasterize, extra("rasterio").Affine
    bounds = extra("shapely").bounds(shapes)
    for i, shape in enumerate(shapes):
        if shape.geom_type in _POINTS:
            continue
        line = shape.geom_type in _LINES  # one that runs along the edge of pixels touches those behind it
        left, right = (int(np.clip(edge, 0, size[1])) for edge in (bounds[i, 0], np.ceil(bounds[i, 2]) + line))
        top, bottom = (int(np.clip(edge, 0, size[0])) for edge in (bounds[i, 1], np.ceil(bounds[i, 3]) + line))
        step = max(1, _STRIP_PIXELS // max(right - left, 1))
        for start in range(top, bottom if right > left else top, step):
            strip = (min(step, bottom - start), right - left)
            place = affine.translation(left, start)
            drawn = rasterize([shape], strip, transform=place, all_touched=line, dtype="uint8")
            rows, columns = np.nonzero(drawn)
            yield rows + start, columns + left, np.full(len(rows), i)


def _point_pixels(shapes: Array, size: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Rows, columns and shape of the pixels that hold the points."""
    points = np.flatnonzero([shape.geom_type in _POINTS for shape in shapes])
    xy, area = extra("shapely").get_coordinates(shapes[points], return_index=True)
    columns, rows = np.floor(xy).astype(np.int64).reshape(-1, 2).T
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    return rows[inside], columns[inside], points[area[inside]]


def _read_shapes(path: str, class_field: str | None, layer: str | None, crs: Any) -> Areas:
    pyogrio, shapely = extra("pyogrio"), extra("shapely")
    name = repr(Path(path).name)
    try:
        layers = [str(one) for one, kind in pyogrio.list_layers(path) if kind is not None]
        if not layers:
            raise InputError(f"{name} has no layer with shapes. Give the file that holds the areas.")
        layer = _chosen(name, "layer", layers, layer, InputError, " Say which one (", Setting("layer"), ").")
        info = pyogrio.read_info(path, layer=layer)
        if info["features"] == 0:
            raise InputError(f"{name} holds no areas. Draw some, and save them.")
        fields = [str(field) for field in info["fields"]]
        if not fields:
            words = "has no fields, so its areas have no classes. Add a field with the class of each."
            raise ColumnError(f"{name} {words}")
        advice = (" Say which holds the class (", Setting("class_field"), ").")
        field = _chosen(name, "field", fields, class_field, ColumnError, *advice)
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
    labels, findings = _without_respelled(labels)
    areas = Areas(geometries, labels, ids, as_crs(crs or meta["crs"], name), name, path, findings)
    _refuse_bad_shapes(areas)
    return areas


def _without_respelled(labels: Array) -> tuple[Array, tuple[Finding, ...]]:
    """Class names of one spelling each: those that differ by case and spaces alone are the most frequent of them."""
    if labels.dtype.kind != "U":
        return labels, ()
    names, place, counts = np.unique(labels, return_inverse=True, return_counts=True)
    alike: dict[str, list[int]] = {}
    for i in np.argsort(-counts, kind="stable").tolist():
        alike.setdefault(spelling(str(names[i])), []).append(i)
    kept = np.arange(len(names))
    for group in alike.values():
        kept[group] = group[0]
    texts = np.array([str(name) if len(alike[spelling(str(name))]) > 1 else str(name).strip() for name in names])
    variants = [
        f"{', '.join(shown(str(names[i])) for i in group[1:])} {'is' if len(group) == 2 else 'are'} read as "
        f"{shown(texts[group[0]].strip())}"
        for group in alike.values()
        if len(group) > 1
    ]
    words = f"Class names differ by case or spaces only: {listed(variants, _MOST_NAMED)}."
    respelled = np.array([text.strip() for text in texts[kept]])[place]
    return respelled, (area_finding("note", "spelling", words),) if variants else ()


def _chosen(
    name: str, what: str, there: list[str], wanted: str | None, error: type[InputError], *advice: str | Setting
) -> str:
    """The layer or field that is wanted; without a wish, the only one there is."""
    if wanted in there:
        return wanted
    if wanted is not None:
        hint = suggestion(wanted, there)
        raise error(f"{name} has no {what} {wanted!r}.{hint} {what.capitalize()}s: {quoted(there, 20)}.")
    if len(there) > 1:
        raise error(f"{name} has several {what}s: {quoted(there, 20)}.", *advice)
    return there[0]


def _classes(values: Array, ids: Array, name: str, field: str) -> Array:
    """The class of each area as text or whole numbers; missing ones are named."""
    without = [i for i, value in enumerate(values) if is_missing(value) or value == ""]
    if without:
        which = ", ".join(str(ids[i]) for i in without[:5]) + (", ..." if len(without) > 5 else "")
        words = f"{len(without)} of {len(ids)} areas have no class in the field {field!r} (area {which})"
        raise LabelError(f"{name}: {words}. Give them one, or delete them.")
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


def _refuse_bad_shapes(areas: Areas) -> None:
    shapely, shapes, name = extra("shapely"), areas.geometries, areas.source

    empty = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    if empty.any():
        raise InputError(f"{name}: no shape has been drawn for {areas._named(empty)}. Draw or delete it.")
    kinds = np.array([shape.geom_type for shape in shapes])
    odd = ~np.isin(kinds, (*_POINTS, *_LINES, *_POLYGONS, _COLLECTION))
    if odd.any():
        words = f"got a {kinds[odd][0]} in {areas._named(odd)}. Draw the outline as a polygon."
        raise InputError(f"{name}: areas must be polygons, lines or points, {words}")
    invalid = ~shapely.is_valid(shapes)
    if invalid.any():
        raise InputError(
            f"{name}: the outline of {areas._named(invalid)} is not valid "
            f"({shapely.is_valid_reason(shapes[invalid][0])}). Draw it again, or repair it (in QGIS: Processing, "
            '"Fix geometries").'
        )


@dataclass(frozen=True, eq=False)
class LabelImage:
    """An image painted with classes: whole numbers in one band, or colours.

    Pixels of one class that touch, also at corners, are one area.

    Parameters
    ----------
    path : str
        The file.
    source : str
        What messages call the file.
    coloured : bool
        Whether classes are colours, written "#rrggbb".
    unlabelled : int, str or None
        The number or colour that stands for no class; None where the image itself says where it holds none.
    names : dict
        Class names by number or colour; empty where none were given.
    crs : rasterio CRS, optional
        Of an image that does not say its own.
    legend : Legend, optional
        Of a class map: the classes its codes stand for, where ``names`` says nothing.

    See Also
    --------
    open_areas : Opens one, and finds out what it is painted with.
    Areas : Polygons and points.

    Examples
    --------
    >>> from discriminant.raster import LabelImage
    >>> LabelImage("painted.png", "'painted.png'", True, "#000000", {"#ff0000": "roof"}).names
    {'#ff0000': 'roof'}
    """

    path: str
    source: str
    coloured: bool
    unlabelled: Any
    names: dict[Any, str]
    crs: Any = None
    legend: Legend | None = None

    def pixels(self, image: Image) -> AreaPixels:
        """The pixels of an image that are painted with a class.

        Parameters
        ----------
        image : Image
            On whose grid the labels are read.

        Returns
        -------
        AreaPixels
            Of the painted places; touching pixels of a class are one area.
        """
        parts = []
        with self.marked(image) as (read, notes):
            for window in image.windows():
                values, valid = read(window)
                rows, columns = np.nonzero(valid)
                parts.append((rows + window.row_off, columns + window.col_off, values[rows, columns]))
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not len(rows):
            raise self._marks_nothing(image)
        order = np.lexsort((columns, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        area = touching_areas(rows, columns, values, image.shape[1])
        _, first = np.unique(area, return_index=True)
        labels = self.classes_of(values)[first]
        return AreaPixels(rows, columns, area, np.arange(1, len(first) + 1), labels, tuple(notes))

    def _marks_nothing(self, image: Image) -> InputError:
        """The error of an image on which nothing is painted."""
        return InputError(
            f"{self.source} marks no pixel of the image {image.label}. Paint its classes first, and on that image: "
            "labels that lie elsewhere mark nothing."
        )

    @contextmanager
    def marked(self, image: Image) -> Iterator[tuple[Reader, list[Finding]]]:
        """What reads the values painted on a window of the image and where there are any, and what had to be done.

        Parameters
        ----------
        image : Image
            On whose grid the labels are read.

        Yields
        ------
        read : function of a window
        findings : list of Finding
        """
        none = self.unlabelled
        if none is not None and self.coloured:
            none = int(none[1:], 16)
        with self._on(image) as (read, notes):

            def read_marked(window: Any) -> tuple[Array, Array]:
                values, valid = read(window)
                return values, valid if none is None else valid & (values != none)

            yield read_marked, notes

    @contextmanager
    def _on(self, image: Image) -> Iterator[tuple[Reader, list[Finding]]]:
        """What reads the labels of a window of the image, and what had to be done for it."""
        with _painted(self.path) as own:
            crs, placed = own.crs or self.crs, own.georeferenced and image.georeferenced and not self.coloured
            if not placed:
                _refuse_other_size(self.source, own, image)
            same = not placed or same_crs(self.source, crs, image)
            aligned = same and own.shape == image.shape and own.transform.almost_equals(image.transform)
            direct = aligned or not placed
            read = self._reader(own) if direct else self._at_centres(own, None if same else crs, image)
            yield read, [] if same else [_reprojection_note(self.source, crs, image)]

    def _reader(self, own: Image) -> Reader:
        # The colour of each number of a palette, coded like those of pixels.
        shades = [(own.palette or {}).get(i, (0, 0, 0))[:3] for i in range(1 + max(own.palette or [0]))]
        colours = None if own.palette is None else _colour_codes(np.array(shades).T)

        def read(window: Any) -> tuple[Array, Array]:
            values, valid = own.read(window)
            if not self.coloured:
                return values[0], valid
            return (_colour_codes(values) if colours is None else colours[values[0]]), valid

        return read

    def _at_centres(self, own: Image, crs: Any, image: Image) -> Reader:
        """Labels on the grid of the image: each pixel has the label at its centre, if there is one.

        ``crs`` is the coordinate system of the labels, where it is not that of the image.
        """
        read_own, (height, width) = self._reader(own), own.shape

        def read(window: Any) -> tuple[Array, Array]:
            rows, columns = np.mgrid[: window.height, : window.width].reshape(2, -1)
            xy = apply_affine(image.transform, columns + (window.col_off + 0.5), rows + (window.row_off + 0.5))
            xy = xy if crs is None else transform_points(image.crs, crs, xy)
            columns, rows = np.floor(apply_affine(~own.transform, *xy.T)).T
            inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
            shape = (window.height, window.width)
            if not inside.any():
                return np.zeros(shape, np.int32), np.zeros(shape, bool)
            columns, rows = columns[inside].astype(np.int64), rows[inside].astype(np.int64)
            left, top = columns.min(), rows.min()
            sides = columns.max() - left + 1, rows.max() - top + 1
            labels, seen = read_own(extra("rasterio.windows").Window(*map(int, (left, top, *sides))))
            values, valid = np.zeros(inside.shape, labels.dtype), np.zeros(inside.shape, bool)
            values[inside], valid[inside] = labels[rows - top, columns - left], seen[rows - top, columns - left]
            return values.reshape(shape), valid.reshape(shape)

        return read

    def classes_of(self, values: Array) -> Array:
        """The class of each value.

        Parameters
        ----------
        values : array
            What is painted.

        Returns
        -------
        array
            Of the same length.
        """
        different, code = np.unique(values, return_inverse=True)
        most, what = (_MOST_COLOURS, "colours") if self.coloured else (_MOST_CLASSES, "values")
        if len(different) > most:
            raise LabelError(
                f"{self.source} is painted with {len(different):,} {what}: those are shades, not classes. Paint with "
                "hard edges and save without loss, as PNG or GeoTIFF."
            )
        odd = different[different != np.rint(different)]
        if odd.size:
            raise LabelError(
                f"{self.source} has values that are not whole numbers, such as {odd[0]:g}. Expected a class number in "
                "each pixel."
            )
        classes: list[Any] = [f"#{value:06x}" if self.coloured else int(value) for value in different]
        missing = [key for key in self.names if key not in classes]
        if missing:
            raise LabelError(
                f"A name is given for {missing[0]!r} ({self.names[missing[0]]!r}), which {self.source} does not have. "
                f"It has {', '.join(map(str, classes[:20]))}."
            )
        if self.names:
            classes = [str(self.names.get(label, label)) for label in classes]
        elif self.legend is not None:
            classes = [self.legend.names.get(label, label) for label in classes]
        return label_array(classes)[code]


def file_digest(path: str) -> str:
    """The SHA-256 digest of a file; empty where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def spelling(label: str) -> str:
    """A class name without what is easily mistyped: upper case, and spaces around it or doubled.

    >>> spelling("Water "), spelling("open  Water")
    ('water', 'open water')
    """
    return " ".join(label.split()).casefold()


def is_image_name(path: str) -> bool:
    """Whether a file is an image, by the ending of its name."""
    return Path(path).suffix.lower() in _IMAGE_ENDINGS


def _painted(path: str) -> Image:
    """A picture of classes: its alpha is transparency, however soft the brush was."""
    return Image([path], marked_alpha=True)


def _read_label_image(path: str, names: dict[Any, str] | None, unlabelled: Any, crs: Any) -> LabelImage:
    source = repr(Path(path).name)
    with _painted(path) as image:
        if image.n_bands not in (1, 3):
            raise InputError(
                f"{source} has {image.n_bands} bands. Expected an image painted with classes: one band of class "
                "numbers, or the bands red, green and blue."
            )
        coloured = image.n_bands == 3 or (image.palette is not None and Path(path).suffix.lower() in _PAINTED)
        if coloured and image.dtype != np.uint8:
            raise InputError(f"{source} holds {image.dtype}. Expected colours from 0 to 255 in each band.")
    if unlabelled is None and not image.masked:
        unlabelled = "#000000" if coloured else 0
    legend = written_legend(path)
    if unlabelled is None and legend is not None and legend.rejected is not None:
        unlabelled = legend.rejected.code
    checked = {_key(key, coloured): str(name) for key, name in (names or {}).items()}
    return LabelImage(path, source, coloured, _key(unlabelled, coloured), checked, as_crs(crs, source), legend)


def _key(value: Any, coloured: bool) -> Any:
    """A class of the image as its owner writes it: a colour or a whole number."""
    value = plain(value)
    if value is None:
        return None
    if coloured:
        if not isinstance(value, str) or not _COLOUR.fullmatch(value.lower()):
            raise ParameterError(f'The classes of this image are colours such as "#ff0000", got {value!r}.')
        return value.lower()
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The classes of this image are whole numbers, got {value!r}.") from error


def _colour_codes(bands: Array) -> Array:
    red, green, blue = bands.astype(np.int32)
    return (red << 16) | (green << 8) | blue


def _refuse_other_size(source: str, own: Image, image: Image) -> None:
    if own.shape != image.shape:
        sizes = [f"{width} x {height}" for height, width in (own.shape, image.shape)]
        raise InputError(
            f"{source} has {sizes[0]} pixels, and the image {image.label} has {sizes[1]}: without georeference "
            "(and painted with colours) both must have the same size. Paint on a copy of the image."
        )
    if own.georeferenced and image.georeferenced and not own.transform.almost_equals(image.transform):
        raise InputError(
            f"{source} and the image {image.label} have the same size and lie in different places. Paint on a copy of "
            "the image."
        )


_DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON"}


def shapes_driver(path: str | os.PathLike[str]) -> str:
    """What writes a file of shapes, by the ending of its name; refuses other endings."""
    target = Path(path)
    if target.suffix.lower() not in _DRIVERS:
        raise InputError(f"Shapes are written to files that end in {' or '.join(_DRIVERS)}, got {target.name!r}.")
    return _DRIVERS[target.suffix.lower()]


def write_shapes(
    path: str | os.PathLike[str], shapes: Array, fields: Mapping[str, Array], crs: str | None, kind: str = "Unknown"
) -> None:
    """Write shapes with their fields to a file, which appears whole or not at all."""
    driver, form = shapes_driver(path), {"geometry_type": kind, "crs": crs, "layer": Path(path).stem}
    with whole_file(path) as part, warnings.catch_warnings():
        # pyogrio remarks on shapes without a coordinate system, which those of a plain image are.
        warnings.simplefilter("ignore", UserWarning)
        extra("pyogrio").raw.write(
            str(part), extra("shapely").to_wkb(shapes), list(fields.values()), list(fields), driver=driver, **form
        )


def open_areas(
    path: str | os.PathLike[str],
    class_field: str | None = None,
    layer: str | None = None,
    areas_crs: Any = None,
    names: dict[Any, str] | None = None,
    unlabelled: Any = None,
) -> Areas | LabelImage:
    """The areas in a file: polygons, lines or points with a class each, or an image that is painted with classes.

    Parameters
    ----------
    path : path
        GeoPackage, GeoJSON, Shapefile and what else GDAL reads as shapes; or GeoTIFF, PNG and other images.
    class_field : str, optional
        The field that holds the class, text or whole numbers. May be left out if there is one field only.
    layer : str, optional
        Of a file with several layers.
    areas_crs : str, optional
        The coordinate system of the areas, such as "EPSG:32632", for a file that says none or a wrong one.
    names : dict, optional
        Of a painted image: class names by value or by colour, such as ``{1: "water"}`` or ``{"#0000ff": "water"}``.
    unlabelled : number or colour, optional
        Of a painted image: what stands for no class; None for its nodata value or transparency, else 0 or black.

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
                raise InputError(setting, f" is for shapes, and {source!r} is an image painted with classes.")
        return _read_label_image(source, names, unlabelled, areas_crs)
    if names is not None or unlabelled is not None:
        raise InputError(f"Names of values are for painted images; {source!r} holds shapes with a class field.")
    return _read_shapes(source, class_field, layer, areas_crs)


def as_areas(areas: Any, class_field: str | None) -> Areas | LabelImage:
    """Areas that are open already, or those of a path."""
    if isinstance(areas, (str, os.PathLike)):
        return open_areas(areas, class_field)
    if class_field is not None:
        raise InputError("class_field= is for the path of areas; these are open already. Give it to open_areas.")
    return areas
