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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import shapely

from ..arrays import Array
from ..data import as_rows
from ..decision.posteriors import posterior
from ..engine import ProgressOption
from ..errors import DiscriminantError, InputError
from ..files import write_whole
from ..raster.areas import Areas
from ..raster.class_map import ClassMap, Legend, written_classes
from ..raster.classify import MapOptions, classify_image
from ..raster.colours import class_colours
from ..raster.coordinates import apply_affine, code_areas, pixel_areas
from ..raster.figures import shown_bands
from ..raster.files import extra
from ..raster.image import Image, open_image
from ..raster.models import MapRule, fit_image_model, held_out_accuracy, image_model, pixel_classifier
from ..raster.preview import Preview, preview_extents, preview_of, uncertain_place
from ..raster.rendering import PixelMap
from ..raster.samples import Samples, draw_samples
from ..raster.separability import ClassSeparability, best_bands, class_separability
from ..raster.smoothing import Smoothing
from ..raster.smoothing_choice import SmoothingChoice, choose_smoothing
from ..report.raster_page import RasterReport, write_raster_report
from ..results import plain, visible
from .image_tiles import PixelCache, class_png, coloured_png, image_png, stretched

if TYPE_CHECKING:
    from rasterio.windows import Window

F = TypeVar("F")
_TILE = 256
#: First bytes of the accepted formats: TIFF, BigTIFF, PNG and JPEG. Formats that refer to other files are refused.
_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"\x89PNG", b"\xff\xd8\xff")
#: Percentiles of a band that are shown black and white.
STRETCHES = {"2 to 98 %": (2.0, 98.0), "0.5 to 99.5 %": (0.5, 99.5), "Lowest to highest": (0.0, 100.0)}
#: A pixel is unlike a class if it is outside the region that contains this share of the class.
REJECT = 0.99


#: The rule of a map without smoothing.
PLAIN: Final = MapRule()
#: Fixed smoothings of the map, which the page names; "auto" is chosen by held-out areas.
SMOOTHINGS: Final = {f"majority-{side}": Smoothing("majority", side) for side in (3, 5, 9)}
#: A tile of a smoothed map is computed from at most this many pixels of the image, half a second for six bands; a tile
#: that covers more shows the map before smoothing.
MAX_SMOOTHED_PIXELS: Final = 1 << 22

#: Exceptions of reading a file that another program has changed.
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError)


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


def stroke(path: Sequence[Place], radius: float, shape: tuple[int, int]) -> Any:
    """The outline of a brush stroke within an image of this height and width."""
    line = shapely.LineString(path) if len(path) > 1 else shapely.Point(path[0])
    outline = line.buffer(radius, quad_segs=4).simplify(radius / 10)
    return shapely.intersection(outline, shapely.box(0, 0, shape[1], shape[0]))


def shape_of(corners: Sequence[Place], *holes: Sequence[Place]) -> Any:
    """A point, or a polygon with these corners and holes."""
    return shapely.Point(corners[0]) if len(corners) < 3 else shapely.Polygon(corners, holes)


#: Areas and class colours before a change.
Drawn = tuple[list[Area], dict[str, str]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A model fitted to the areas, with its legend, and the bands that separate the classes best.

    ``unlike`` marks pixels that are unlike any class. ``extents`` are the pixels and hectares of each class of the map,
    estimated from a preview of the image.
    """

    name: str
    model: Any
    samples: Samples
    rendered: PixelMap
    unlike: tuple[Legend, Any] | None
    bands: tuple[str, ...]
    extents: tuple[dict[Any, int], dict[Any, float] | None]
    choice: SmoothingChoice | None = None  #: if the smoothing was chosen by held-out areas

    @property
    def legend(self) -> Legend:
        """The legend of the map."""
        return self.rendered.legend

    @property
    def rule(self) -> MapRule:
        """The decision rule of the map."""
        return self.rendered.rule

    def window_codes(self, image: Image, window: Window, shape: tuple[int, int]) -> Array:
        """The codes of a window at a lower resolution, by nearest neighbours."""
        codes = self.rendered.of_window(image, window).codes
        rows, columns = (((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(shape, codes.shape, strict=True))
        return codes[rows][:, columns]


@dataclass(frozen=True)
class PixelValues:
    """A pixel: column, row, coordinates if known, values of the bands (none without data), class and probabilities."""

    column: int
    row: int
    place: Place | None
    bands: dict[str, float]
    label: str = ""
    probabilities: dict[str, float] = field(default_factory=dict)


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
    _proposed: list[Array] = field(default_factory=list)  #: places that were proposed for labelling
    _written: bytes | None = None  #: the content of the file of areas when it was last read or written
    _pixels: PixelCache = field(default_factory=PixelCache)

    @classmethod
    def opened(cls, path: Path, label: str, folder: Path | None = None) -> ImageWork:
        """Open an image with the areas that were drawn before, beside it or, if that is read-only, in ``folder``."""
        with path.open("rb") as file:
            if not file.read(8).startswith(_SIGNATURES):
                raise InputError(f"{path.name} is not a TIFF, PNG or JPEG image. Convert it to GeoTIFF.")
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
    def is_small(self) -> bool:
        """Whether a smoothed map of the whole image is computed after every change."""
        return self.image.shape[0] * self.image.shape[1] <= MAX_SMOOTHED_PIXELS

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
    def preview(self) -> Preview:
        """Pixels all over the image."""
        return preview_of(self.image)

    def _ends(self, band: int) -> tuple[float, float]:
        """The values of a band that are shown black and white."""
        values = self.preview.values[band][self.preview.valid]
        low, high = np.percentile(values, STRETCHES[self.stretch]).tolist() if values.size else (0.0, 1.0)
        return low, high if high > low else low + 1

    def tile(self, layer: str, zoom: int, x: int, y: int) -> bytes | None:
        """A tile as PNG; None if there is nothing to show."""
        trained = self.trained
        found = self._pixels.get((zoom, x, y), lambda: self._read(zoom, x, y))
        if found is None or (layer != "image" and trained is None):
            return None
        values, valid = found
        if trained is not None and layer == "map":
            return class_png(trained.legend, self._codes(trained, zoom, x, y, found), valid)
        if trained is not None and layer != "image":
            return coloured_png(trained, layer, values, valid)
        return image_png(np.stack([stretched(values[band], *self._ends(band)) for band in self.bands]), valid)

    def _codes(self, trained: Trained, zoom: int, x: int, y: int, found: tuple[Array, Array]) -> Array:
        """The codes of a tile; a smoothed map is computed at full resolution, unless that takes too long."""
        values, valid = found
        window, shape = self._window(zoom, x, y)
        if not trained.rendered.margin or window.width * window.height > MAX_SMOOTHED_PIXELS:
            flat = np.ascontiguousarray(values.reshape(len(values), -1))
            return trained.rendered.score(flat, valid.ravel()).reshape(valid.shape)
        codes = np.full(valid.shape, trained.legend.nodata, dtype=trained.legend.dtype)
        codes[: shape[0], : shape[1]] = trained.window_codes(self.image, window, shape)
        return codes

    def _window(self, zoom: int, x: int, y: int) -> tuple[Window, tuple[int, int]]:
        """The window of a tile, and its height and width on the tile."""
        step = 2 ** (self.zooms - zoom)
        (height, width), top, left = self.image.shape, y * _TILE * step, x * _TILE * step
        rows, columns = min(height - top, _TILE * step), min(width - left, _TILE * step)
        return extra("rasterio.windows").Window(left, top, columns, rows), (-(-rows // step), -(-columns // step))

    def _read(self, zoom: int, x: int, y: int) -> tuple[Array, Array] | None:
        """The pixels of a tile and their mask; None outside the image."""
        if not 0 <= zoom <= self.zooms or min(x, y) < 0:
            return None
        window, shape = self._window(zoom, x, y)
        if min(window.width, window.height) <= 0:
            return None
        part, seen = self.image.read(window, shape)
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

    def train(self, name: str, smoothing: str = "", rule: MapRule = PLAIN) -> Trained:
        """Fit a model to the areas; ``smoothing`` is "auto" or a key of `SMOOTHINGS`."""
        if len({area.label for area in self.areas}) < 2:
            raise InputError("Draw areas of at least two classes first.")
        samples = draw_samples(self.image, self.drawn_areas())
        _ = samples.statistics  # computed here, in a thread
        model = fit_image_model(image_model(name, samples.classes.tolist()), samples)
        choice, smoothed = None, SMOOTHINGS.get(smoothing)
        if smoothing == "auto":
            choice = choose_smoothing(model, self.image, samples, rule=rule)
            smoothed = choice.chosen
        shades = self._shades(samples)
        rendered = PixelMap.of(model, replace(rule, smoothing=smoothed), shades)
        unlike = _if_known(lambda: pixel_classifier(model, MapRule(reject=REJECT), shades))
        bands = _if_known(lambda: best_bands(samples.statistics, 2)) or samples.band_names[:2]
        self.trained = Trained(name, model, samples, rendered, unlike, bands, self._extents(rendered), choice)
        self.version += 1
        return self.trained

    def _extents(self, rendered: PixelMap) -> tuple[dict[Any, int], dict[Any, float] | None]:
        """Pixels and hectares of the classes: of the whole map if it is small and smoothed, else by the preview."""
        height, width = self.image.shape
        if not rendered.margin or not self.is_small:
            return preview_extents(self.preview, rendered.legend, rendered.score)
        whole, areas = extra("rasterio.windows").Window(0, 0, width, height), pixel_areas(self.image)
        pixels, hectares = code_areas(
            rendered.of_window(self.image, whole).codes, whole, rendered.legend.n_codes, areas
        )
        by_class = {plain(entry.label): entry.code for entry in rendered.legend.entries}
        on_ground = None if areas is None else {label: float(hectares[code]) for label, code in by_class.items()}
        return {label: int(pixels[code]) for label, code in by_class.items()}, on_ground

    def _shades(self, samples: Samples) -> dict[str, str]:
        known = dict(self.colours)  # a class may be renamed meanwhile
        return {label: known[label] for label in map(str, samples.classes.tolist()) if label in known}

    def shares(self) -> list[tuple[str, str, str, str]]:
        """Name, colour, hectares (empty if unknown) and share of each class of the map."""
        assert self.trained is not None
        columns = written_classes(self.trained.legend, *self.trained.extents)
        colours = [entry.colour for entry in self.trained.legend.entries]
        hectares = columns.get("hectares", [""] * len(colours))
        return list(zip(columns["class"], colours, hectares, columns["share"], strict=True))

    def next_place(self) -> tuple[float, float] | None:
        """The column and row where a label would help the model most; None if all places are near known ones."""
        assert self.trained is not None
        samples = self.trained.samples
        known = np.concatenate([np.column_stack([samples.columns, samples.rows]), *self._proposed])
        place = uncertain_place(self.preview, self.trained.model, samples.band_names, known)
        if place is not None:
            self._proposed.append(np.array([place]))
        return place

    def pixel_values(self, column: float, row: float) -> PixelValues:
        """The values of a pixel, and the probabilities of its classes."""
        height, width = self.image.shape
        place = min(int(column), width - 1), min(int(row), height - 1)
        values, valid = self.image.read(extra("rasterio.windows").Window(*place, 1, 1))
        bands = dict(zip(self.image.band_names, values[:, 0, 0].tolist(), strict=True)) if valid.all() else {}
        x, y = self.outwards(np.array([place]) + 0.5)[0].tolist()
        found = PixelValues(*place, (x, y) if self.image.georeferenced else None, bands)
        if self.trained is None or not bands:
            return found
        rows = as_rows(values.reshape(1, -1).astype(np.float64), list(self.trained.samples.band_names))
        labels = map(str, self.trained.model.classes_.tolist())
        probabilities = dict(zip(labels, posterior(self.trained.model, rows).probabilities[0].tolist(), strict=True))
        window = extra("rasterio.windows").Window(*place, 1, 1)
        code = int(self.trained.rendered.of_window(self.image, window).codes[0, 0])
        return replace(found, label=str(self.trained.legend.names[code]), probabilities=probabilities)

    def accuracy(self) -> Any:
        """The accuracy on held-out areas."""
        trained = self.trained
        assert trained is not None
        return (
            held_out_accuracy(trained.model, trained.samples, rule=trained.rule)
            if trained.choice is None
            else trained.choice.accuracy
        )

    def write_map(self, path: Path, rule: MapRule, progress: ProgressOption = None) -> ClassMap:
        """Write the class map of the whole image, with its style."""
        trained = self.trained
        if trained is None:
            raise InputError("Draw areas of at least two classes first.")
        shades = self._shades(trained.samples)
        options = MapOptions(colours=shades, overwrite=True, progress=progress)
        return classify_image(trained.model, self.image, path, rule, options)

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
            smoothing=trained.choice,
            **more,
        )
        return write_raster_report(path, report)

    def code(self) -> tuple[str, str]:
        """The Python code and the command."""
        name = "auto" if self.trained is None else self.trained.name
        rule = PLAIN if self.trained is None else self.trained.rule
        parts = {"reject": rule.reject, "smoothing": rule.smoothing}
        given = [f"{part}={value!r}" for part, value in parts.items() if value is not None]
        given += [f"min_pixels={rule.min_pixels}"] * (rule.min_pixels > 1)
        used = ["MapRule", *["Smoothing"] * (rule.smoothing is not None), "classify_image", "draw_samples"]
        areas = self.store.name
        python = (
            f"from discriminant.raster import {', '.join(used)}, fit_image_model, image_model\n\n"
            f"samples = draw_samples({self.label!r}, {areas!r}, 'class')\nprint(samples.statistics)\n"
            f"model = fit_image_model(image_model({name!r}, samples.classes.tolist()), samples)\n"
            f"classify_image(model, {self.label!r}, 'map.tif', MapRule({', '.join(given)}))\n"
        )
        words = ["discriminant", "raster", "classify", self.label, "--areas", areas, "--class-field", "class"]
        words += ["--model", name, *([] if rule.reject is None else ["--reject", str(rule.reject)])]
        if rule.smoothing is not None:
            words += ["--smoothing", rule.smoothing.method]
            words += ["--smoothing-window", str(rule.smoothing.window)] * (rule.smoothing.method != "potts")
            words += ["--smoothing-strength", str(rule.smoothing.strength)] * (rule.smoothing.method != "majority")
        words += ["--min-pixels", str(rule.min_pixels)] * (rule.min_pixels > 1)
        return python, shlex.join([*words, "-o", "map.tif"])


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
