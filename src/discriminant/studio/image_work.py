"""The state of the Image page: an image as tiles, the areas drawn on it, and the model fitted to them.

An image is shown as a plane of tiles of 256 pixels, with half the resolution at every zoom level, independent of its
coordinate system: Leaflet treats the plane as the Mercator square, and a position is a column and a row of the image. A
tile reads its pixels, from overviews if the file has them. The class map is computed for the visible tiles from cached
pixels: nothing is read again after a change of areas.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import shapely

from ..arrays import Array
from ..data import as_rows
from ..engine import ProgressOption
from ..errors import DiscriminantError, InputError
from ..files import write_whole
from ..raster.areas import Areas
from ..raster.class_map import ClassMap, Legend
from ..raster.classify import MapOptions, classify_image
from ..raster.colours import class_colours, rgb
from ..raster.coordinates import apply_affine
from ..raster.figures import png, shown_bands
from ..raster.files import extra
from ..raster.image import Image, open_image
from ..raster.models import MapRule, fit_image_model, held_out_accuracy, image_model, pixel_classifier, valued_rows
from ..raster.samples import Samples, draw_samples
from ..raster.separability import ClassSeparability, best_bands, class_separability
from ..report.raster_page import RasterReport, write_raster_report
from ..results import visible

F = TypeVar("F")
_TILE = 256
#: First bytes of the accepted formats: TIFF, BigTIFF, PNG and JPEG. Formats that refer to other files are refused.
_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"\x89PNG", b"\xff\xd8\xff")
#: Percentiles of a band that are shown black and white.
STRETCHES = {"2 to 98 %": (2.0, 98.0), "0.5 to 99.5 %": (0.5, 99.5), "Lowest to highest": (0.0, 100.0)}
_SAMPLE = 512
#: A pixel is unlike a class if it is outside the region that contains this share of the class.
REJECT = 0.99
#: Bytes of cached pixels: several times those of a large screen.
MAX_CACHED_BYTES = 96 << 20


#: Exceptions of reading a file that another program has changed.
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError)
_UNLIKE = "#d55e00"


#: A column and a row of the image, as numbers with fractions.
Place = tuple[float, float]


@dataclass(frozen=True)
class Area:
    """An area: its class, and a polygon, line or point in columns and rows.

    The key identifies the area on the page, also after it is moved or its class is renamed.
    """

    label: str
    shape: Any
    key: int = field(default_factory=partial(next, itertools.count(1)), compare=False)

    @property
    def rings(self) -> list[list[Place]]:
        """The corners of the outline, and those of the holes; the corners of a line; a point."""
        if self.shape.geom_type != "Polygon":
            return [list(self.shape.coords)]
        return [list(ring.coords)[:-1] for ring in (self.shape.exterior, *self.shape.interiors)]

    def moved(self, rings: Sequence[Sequence[Place]]) -> Area:
        """The area with other corners."""
        is_line = self.shape.geom_type == "LineString"
        return replace(self, shape=shapely.LineString(rings[0]) if is_line else shape_of(*rings))


def shape_of(corners: Sequence[Place], *holes: Sequence[Place]) -> Any:
    """A point, or a polygon with these corners and holes."""
    return shapely.Point(corners[0]) if len(corners) < 3 else shapely.Polygon(corners, holes)


#: Areas and class colours before a change.
Drawn = tuple[list[Area], dict[str, str]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A model fitted to the areas, with its legend, and the bands that separate the classes best.

    ``unlike`` marks pixels that are unlike any class.
    """

    name: str
    model: Any
    samples: Samples
    legend: Legend
    score: Any
    reject: float | None
    unlike: tuple[Legend, Any] | None
    bands: tuple[str, ...]


class _PixelCache:
    """A cache of tile pixels, bounded by bytes; used by several threads."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, tuple[Array, Array] | None] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    def get(
        self, key: tuple[int, int, int], read: Callable[[], tuple[Array, Array] | None]
    ) -> tuple[Array, Array] | None:
        """The cached values and their mask, or those that ``read`` returns."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found: tuple[Array, Array] | None = read()
        with self._lock:
            if key not in self._found:
                self._found[key] = found
                self._bytes += _n_bytes(found)
            while self._bytes > MAX_CACHED_BYTES and len(self._found) > 1:
                self._bytes -= _n_bytes(self._found.popitem(last=False)[1])
        return found


def _n_bytes(found: tuple[Array, Array] | None) -> int:
    return 0 if found is None else found[0].nbytes + found[1].nbytes


@dataclass(eq=False)
class ImageWork:
    """An image, its areas, and the model fitted to them."""

    path: Path
    label: str
    image: Image
    store: Path  #: the file of the areas
    areas: list[Area] = field(default_factory=list)
    colours: dict[str, str] = field(default_factory=dict)  #: of classes, in the order in which they were added
    bands: tuple[int, ...] = ()
    stretch: str = next(iter(STRETCHES))
    trained: Trained | None = None
    version: int = 0
    _past: list[Drawn] = field(default_factory=list)
    _future: list[Drawn] = field(default_factory=list)
    _written: bytes | None = None  #: the content of the file of areas when it was last read or written
    _pixels: _PixelCache = field(default_factory=_PixelCache)

    @classmethod
    def opened(cls, path: Path, label: str, folder: Path | None = None) -> ImageWork:
        """Open an image with the areas that were drawn before, beside it or, if that is read-only, in ``folder``."""
        with path.open("rb") as file:
            if not file.read(8).startswith(_SIGNATURES):
                raise InputError(f"{path.name} is not a TIFF, PNG or JPEG image.")
        image = open_image(str(path))
        own = path.parent if folder is None or os.access(path.parent, os.W_OK) else folder
        shown = shown_bands(image)
        bands = tuple(shown if len(shown) == 3 else [shown[0]] * 3)
        work = cls(path, label, image, own / f"{path.stem}.areas.geojson", bands=bands)
        work.refresh()
        return work

    @property
    def zooms(self) -> int:
        """The zoom at which a pixel of the image is one of the screen."""
        return max(math.ceil(math.log2(max(max(self.image.shape) / _TILE, 1))), 0)

    @property
    def side(self) -> int:
        """The side of the plane, in pixels of the image."""
        return _TILE * 2**self.zooms

    def place(self, column: float, row: float) -> tuple[float, float]:
        """Where Leaflet has a place of the image: latitude and longitude of its Mercator square."""
        y = math.pi * (1 - 2 * row / self.side)
        return math.degrees(math.atan(math.sinh(y))), column / self.side * 360 - 180

    def pixel(self, latitude: float, longitude: float) -> tuple[float, float]:
        """The column and row of a place, within the image."""
        height, width = self.image.shape
        row = (1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2 * self.side
        column = (longitude + 180) / 360 * self.side
        return min(max(column, 0.0), float(width)), min(max(row, 0.0), float(height))

    @cached_property
    def _preview(self) -> Array:
        """The values of pixels all over the image, shape (bands, pixels)."""
        height, width = self.image.shape
        values, valid = self.image.read(None, (min(height, _SAMPLE), min(width, _SAMPLE)))
        return values[:, valid]

    def _ends(self, band: int) -> tuple[float, float]:
        """The values of a band that are shown black and white."""
        values = self._preview[band]
        low, high = np.percentile(values, STRETCHES[self.stretch]).tolist() if values.size else (0.0, 1.0)
        return low, high if high > low else low + 1

    def tile(self, layer: str, zoom: int, x: int, y: int) -> bytes | None:
        """A tile as PNG; None if there is nothing to show."""
        trained = self.trained
        found = self._pixels.get((zoom, x, y), lambda: self._read(zoom, x, y))
        if found is None or (layer != "image" and trained is None):
            return None
        values, valid = found
        if trained is not None and layer != "image":
            return _coloured(trained, layer, values, valid)
        return _png(np.stack([_stretched(values[band], *self._ends(band)) for band in self.bands]), valid)

    def _read(self, zoom: int, x: int, y: int) -> tuple[Array, Array] | None:
        """The pixels of a tile and their mask; None outside the image."""
        if not 0 <= zoom <= self.zooms:
            return None
        step = 2 ** (self.zooms - zoom)
        (height, width), top, left = self.image.shape, y * _TILE * step, x * _TILE * step
        rows, columns = min(height - top, _TILE * step), min(width - left, _TILE * step)
        if min(x, y) < 0 or rows <= 0 or columns <= 0:
            return None
        shape = -(-rows // step), -(-columns // step)
        part, seen = self.image.read(extra("rasterio.windows").Window(left, top, columns, rows), shape)
        values = np.zeros((len(part), _TILE, _TILE), dtype=part.dtype)
        valid = np.zeros((_TILE, _TILE), dtype=bool)
        values[:, : shape[0], : shape[1]], valid[: shape[0], : shape[1]] = part, seen
        return values, valid

    def draw(self, label: str, shape: Any) -> None:
        """Add an area and save it."""
        if label not in self.colours:
            raise InputError("There is no class yet. Add a class before drawing areas.")
        self._change([*self.areas, Area(label, shape)], self.colours)

    def add(self, areas: Areas) -> None:
        """Add areas of a file, which are in columns and rows, with their classes."""
        labels = [str(label) for label in areas.labels.tolist()]
        names = list(dict.fromkeys([*self.colours, *labels]))
        colours = dict(zip(names, class_colours(names, self.colours), strict=True))
        shapes = areas.geometries.tolist()
        self._change([*self.areas, *map(Area, labels, shapes)], colours)

    def place_of(self, key: int | None) -> int | None:
        """The place of an area in the list; None if it does not exist."""
        return next((place for place, area in enumerate(self.areas) if area.key == key), None)

    def move(self, key: int, rings: Sequence[Sequence[Place]]) -> None:
        """Change the corners of an area; one that was deleted meanwhile stays deleted."""
        place = self.place_of(key)
        if place is None:
            return
        moved = self.areas[place].moved(rings)
        if not moved.shape.is_valid:
            raise InputError("The sides of this area cross. Move its corners apart.")
        self._change([*self.areas[:place], moved, *self.areas[place + 1 :]], self.colours)

    def delete(self, key: int) -> None:
        """Delete an area, unless it is deleted already."""
        if self.place_of(key) is not None:
            self._change([area for area in self.areas if area.key != key], self.colours)

    def name_class(self, name: str) -> None:
        """Add a class."""
        name = _class_name(name)
        if name in self.colours:
            raise InputError(f"Class {visible(name)} already exists. Choose another name.")
        self._change(self.areas, {**self.colours, name: class_colours([*self.colours, name], self.colours)[-1]})

    def rename_class(self, old: str, new: str) -> None:
        """Rename a class and its areas."""
        new = _class_name(new)
        if new in self.colours and new != old:
            raise InputError(f"Class {visible(new)} already exists. Choose another name.")
        colours = {new if name == old else name: colour for name, colour in self.colours.items()}
        self._change([replace(area, label=new) if area.label == old else area for area in self.areas], colours)

    def colour_class(self, name: str, colour: str) -> None:
        """Change the colour of a class."""
        self._change(self.areas, {**self.colours, name: as_colour(colour)})

    def delete_class(self, name: str) -> None:
        """Delete a class with its areas."""
        kept = {known: colour for known, colour in self.colours.items() if known != name}
        self._change([area for area in self.areas if area.label != name], kept)

    def undo(self) -> None:
        """Undo the last change."""
        self._step(self._past, self._future)

    def redo(self) -> None:
        """Redo the change that was undone last."""
        self._step(self._future, self._past)

    def _step(self, source: list[Drawn], target: list[Drawn]) -> None:
        if source:
            now, (areas, colours) = (self.areas, self.colours), source[-1]
            self._keep(areas, colours)
            source.pop()
            target.append(now)

    def _change(self, areas: list[Area], colours: dict[str, str]) -> None:
        """Make a change that can be undone, after it is saved."""
        now = self.areas, self.colours
        self._keep(areas, colours)
        self._past.append(now)
        self._future.clear()

    def collection(self, shapes: Sequence[tuple[Any, dict[str, Any]]], **more: Any) -> bytes:
        """Shapes in pixels, with their properties, as GeoJSON in the coordinates of the image."""
        features = [
            {"type": "Feature", "properties": properties, "geometry": json.loads(shapely.to_geojson(moved))}
            for moved, properties in ((shapely.transform(shape, self.outwards), own) for shape, own in shapes)
        ]
        epsg = None if self.image.crs is None else self.image.crs.to_epsg()
        named = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{epsg}"}}
        known = {"crs": named} if epsg else {}
        return json.dumps({"type": "FeatureCollection", **more, **known, "features": features}, indent=1).encode()

    def shapes(self, feature: dict[str, Any]) -> list[Any]:
        """The parts of a GeoJSON feature in columns and rows."""
        shape = shapely.from_geojson(json.dumps(feature["geometry"]))
        return list(shapely.get_parts(shapely.transform(shape, self._inwards)))

    def outwards(self, places: Array) -> Array:
        """Coordinates of columns and rows."""
        return apply_affine(self.image.transform, places[:, 0], places[:, 1])

    def _inwards(self, places: Array) -> Array:
        return apply_affine(~self.image.transform, places[:, 0], places[:, 1])

    def _keep(self, areas: list[Area], colours: dict[str, str]) -> None:
        """Save areas atomically, unless another tab has changed the file."""
        if (self.store.read_bytes() if self.store.exists() else None) != self._written:
            raise InputError(f"{self.store.name} was changed by another tab or program. Reload the page to continue.")
        content = self.collection([(area.shape, {"class": area.label}) for area in areas], classes=colours)
        write_whole(self.store, content)
        self.areas, self.colours, self._written = areas, colours, content

    def refresh(self) -> None:
        """Read the areas again if their file has changed."""
        content = self.store.read_bytes() if self.store.exists() else None
        if content == self._written:
            return
        try:
            kept = {"classes": {}, "features": []} if content is None else json.loads(content)
            colours = {str(name): as_colour(str(colour)) for name, colour in kept["classes"].items()}
            areas = [
                Area(str(one["properties"]["class"]), shape) for one in kept["features"] for shape in self.shapes(one)
            ]
            unnamed = {area.label: shade for area, shade in zip(areas, _shades_of(areas), strict=True)}
        except UNREADABLE as error:
            raise InputError(
                f"The file of areas {self.store.name} cannot be read ({error}). Move or delete it."
            ) from None
        self.areas, self.colours, self._written = areas, {**unnamed, **colours}, content
        self._past.clear()
        self._future.clear()

    def drawn_areas(self) -> Areas:
        """The areas as an object of the library."""
        shapes = np.array([shapely.transform(area.shape, self.outwards) for area in self.areas], dtype=object)
        labels = np.array([area.label for area in self.areas])
        numbers = np.arange(1, len(shapes) + 1)
        return Areas(shapes, labels, numbers, self.image.crs, "the drawn areas", str(self.store))

    def save_areas(self, path: Path) -> Path:
        """Write the areas; the format (GeoJSON or GeoPackage) follows from the extension."""
        if not self.areas:
            raise InputError("There are no areas. Draw some first.")
        self.drawn_areas().save(path)
        return path

    def train(self, name: str, reject: float | None = None) -> Trained:
        """Fit a model to the areas."""
        if len({area.label for area in self.areas}) < 2:
            raise InputError("Draw areas of at least two classes first.")
        samples = draw_samples(self.image, self.drawn_areas())
        _ = samples.statistics  # computed here, in a thread
        model = fit_image_model(image_model(name, samples.classes.tolist()), samples)
        legend, score = pixel_classifier(model, MapRule(reject=reject), self._shades(samples))
        unlike = _if_known(lambda: pixel_classifier(model, MapRule(reject=REJECT), self._shades(samples)))
        bands = _if_known(lambda: best_bands(samples.statistics, 2)) or samples.band_names[:2]
        self.trained = Trained(name, model, samples, legend, score, reject, unlike, bands)
        self.version += 1
        return self.trained

    def _shades(self, samples: Samples) -> dict[str, str]:
        known = dict(self.colours)  # a class may be renamed meanwhile
        return {label: known[label] for label in map(str, samples.classes.tolist()) if label in known}

    def accuracy(self) -> Any:
        """The accuracy on held-out areas."""
        assert self.trained is not None
        return held_out_accuracy(self.trained.model, self.trained.samples, rule=MapRule(reject=self.trained.reject))

    def write_map(self, path: Path, reject: float | None, progress: ProgressOption = None) -> ClassMap:
        """Write the class map of the whole image, with its style."""
        trained = self.trained
        if trained is None:
            raise InputError("Draw areas of at least two classes first.")
        shades = self._shades(trained.samples)
        options = MapOptions(colours=shades, overwrite=True, progress=progress)
        return classify_image(trained.model, self.image, path, MapRule(reject=reject), options)

    def separability(self) -> ClassSeparability:
        """The separability of the classes."""
        assert self.trained is not None
        return class_separability(self.trained.samples)

    def write_report(self, path: Path, made: ClassMap, **more: Any) -> Path:
        """Write the report of the samples, the map and its accuracy."""
        trained = self.trained
        assert trained is not None
        report = RasterReport(
            self.image,
            samples=trained.samples,
            separability=_if_known(self.separability),
            class_map=made.path,
            model=trained.model,
            held_out=_if_known(self.accuracy),
            command=self.code()[1],
            **more,
        )
        return write_raster_report(path, report)

    def code(self) -> tuple[str, str]:
        """The Python code and the command."""
        name = "auto" if self.trained is None else self.trained.name
        reject = None if self.trained is None else self.trained.reject
        areas = self.store.name
        python = (
            "from discriminant.raster import MapRule, classify_image, draw_samples, fit_image_model, image_model\n\n"
            f"samples = draw_samples({self.label!r}, {areas!r}, 'class')\nprint(samples.statistics)\n"
            f"model = fit_image_model(image_model({name!r}, samples.classes.tolist()), samples)\n"
            f"classify_image(model, {self.label!r}, 'map.tif', MapRule(reject={reject!r}))\n"
        )
        words = ["discriminant", "raster", "classify", self.label, "--areas", areas, "--class-field", "class"]
        words += ["--model", name, *([] if reject is None else ["--reject", str(reject)]), "-o", "map.tif"]
        return python, shlex.join(words)


def _if_known(find: Callable[[], F]) -> F | None:
    """The result, or None after an error: a single area cannot be held out, some models have no distances."""
    try:
        return find()
    except DiscriminantError:
        return None


def as_colour(colour: str) -> str:
    """A validated colour; it becomes part of the style of a page."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        raise InputError(f"A colour must have the form #RRGGBB, got {visible(colour)}.")
    return colour


def _class_name(name: str) -> str:
    if not name.strip():
        raise InputError("The name of the class is empty. Enter a name.")
    return name.strip()


def _shades_of(areas: Sequence[Area]) -> list[str]:
    labels = list(dict.fromkeys(area.label for area in areas))
    shades = dict(zip(labels, class_colours(labels, {}), strict=True))
    return [shades[area.label] for area in areas]


def _stretched(band: Array, low: float, high: float) -> Array:
    return np.rint(255 * np.clip((band.astype(np.float64) - low) / (high - low), 0, 1)).astype(np.uint8)


def _png(shades: Array, valid: Array) -> bytes:
    shades = np.broadcast_to(shades, (3, *valid.shape))
    return png(np.concatenate((shades, 255 * valid[None].astype(np.uint8))))


def _coloured(trained: Trained, layer: str, values: Array, valid: Array) -> bytes:
    """Pixels in the colours of their classes, or as grey levels of the highest probability."""
    pixels, seen = np.ascontiguousarray(values.reshape(len(values), -1)), valid.ravel()
    if layer == "probability":
        p = np.zeros(seen.size)
        for rows, where in valued_rows(pixels, seen):
            named = as_rows(rows, trained.samples.band_names)
            p[where] = trained.model.predict_proba(named).max(axis=1)
        return _png((255 * p).astype(np.uint8).reshape(1, *valid.shape), valid)
    if layer == "unlike":
        if trained.unlike is None:
            return _png(np.zeros((1, *valid.shape), dtype=np.uint8), np.zeros_like(valid))
        legend, score = trained.unlike
        marked = score(pixels, seen).reshape(valid.shape) == (legend.rejected.code if legend.rejected else -1)
        shade = np.array(rgb(_UNLIKE), dtype=np.uint8)
        return _png(np.broadcast_to(shade[:, None, None], (3, *valid.shape)), valid & marked)
    codes = trained.score(pixels, seen).reshape(valid.shape)
    shades = np.zeros((int(codes.max()) + 1, 3), dtype=np.uint8)
    for entry in trained.legend.entries:
        if entry.code < len(shades):
            shades[entry.code] = rgb(entry.colour)
    return _png(shades[codes].transpose(2, 0, 1), valid & (codes != trained.legend.nodata))
