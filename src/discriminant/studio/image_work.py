"""What the Image page works on: an image as tiles, the areas drawn on it, and what the library learns from them.

An image is shown as a plane of tiles of 256 pixels, zoom by zoom half as large, whatever its coordinate system: Leaflet
takes that plane for the Mercator square, so a place on the map is a column and a row of the image. A tile reads the
pixels it shows, from overviews where the file has them; the map of classes is made tile by tile, where one looks.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from rio_tiler.errors import TileOutsideBounds
from rio_tiler.io import ImageReader
from rio_tiler.utils import render

from ..arrays import Array
from ..engine import ProgressOption
from ..errors import InputError
from ..files import write_whole
from ..raster.areas import Areas
from ..raster.class_map import ClassMap, Legend
from ..raster.classify import classify_image
from ..raster.colours import class_colours, rgb
from ..raster.figures import shown_bands
from ..raster.image import Image, apply_affine, open_image
from ..raster.models import held_out_accuracy, image_model, pixel_classifier
from ..raster.samples import Samples, draw_samples
from ..raster.separability import class_separability
from ..report.raster_page import write_raster_report

_TILE = 256
#: What the files begin with that the page opens: TIFF, BigTIFF, PNG and JPEG. Formats that name other files are not.
_SIGNS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"\x89PNG", b"\xff\xd8\xff")
#: The darkest and brightest percent of a band look alike.
_STRETCH = (2.0, 98.0)
_SAMPLE = 512


@dataclass(frozen=True)
class Area:
    """A drawn area: its class, and the corners of a polygon, or one place."""

    label: str
    corners: tuple[tuple[float, float], ...]

    @property
    def shape(self) -> Any:
        """Its shape in columns and rows."""
        return shapely.Point(self.corners[0]) if len(self.corners) < 3 else shapely.Polygon(self.corners)


@dataclass(frozen=True, eq=False)
class Trained:
    """A model of the drawn areas, and how it colours pixels."""

    name: str
    model: Any
    samples: Samples
    legend: Legend
    score: Any
    reject: float | None


@dataclass(eq=False)
class ImageWork:
    """An image, its areas, and the model that was learned from them."""

    path: Path
    label: str
    image: Image
    store: Path  #: where areas are kept
    areas: list[Area] = field(default_factory=list)
    colours: dict[str, str] = field(default_factory=dict)  #: of classes, in the order in which they were named
    bands: tuple[int, ...] = ()
    trained: Trained | None = None
    version: int = 0
    undone: list[list[Area]] = field(default_factory=list)

    @classmethod
    def opened(cls, path: Path, label: str, beside: bool) -> ImageWork:
        """An image with the areas that were drawn on it before; these are kept beside it, or with an upload."""
        with path.open("rb") as file:
            if not file.read(8).startswith(_SIGNS):
                raise InputError(f"{path.name} is no TIFF, PNG or JPEG image.")
        store = path.with_name(f"{path.stem}.areas.geojson") if beside else path.parent / "areas.geojson"
        image = open_image(str(path))
        work = cls(path, label, image, store, bands=tuple(shown_bands(image)))
        work.load()
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
    def _stretch(self) -> list[tuple[float, float]]:
        """What is black and what is white in each band, from a small copy of the image."""
        with ImageReader(str(self.path)) as reader:
            found = reader.preview(max_size=_SAMPLE, indexes=self._numbers)
        parts = [band.compressed() for band in found.array]
        ends = [np.percentile(part, _STRETCH).tolist() if part.size else [0.0, 1.0] for part in parts]
        return [(low, high if high > low else low + 1) for low, high in ends]

    @property
    def _numbers(self) -> list[int]:
        return [band.number or place + 1 for place, band in enumerate(self.image.bands)]

    def tile(self, layer: str, zoom: int, x: int, y: int) -> bytes | None:
        """A tile as PNG; None where there is nothing to show."""
        wanted = [self._numbers[place] for place in self.bands] if layer == "image" else self._numbers
        try:
            with ImageReader(str(self.path)) as reader:
                found = reader.tile(x, y, zoom, tilesize=_TILE, indexes=wanted)
        except TileOutsideBounds:
            return None
        values = found.array.data
        valid: Array = np.logical_not(np.ma.getmaskarray(found.array).any(axis=0))
        if layer == "image":
            ends = [self._stretch[place] for place in self.bands]
            return _png(np.stack([_stretched(band, *end) for band, end in zip(values, ends, strict=True)]), valid)
        return None if self.trained is None else _coloured(self.trained, layer, values, valid)

    def draw(self, label: str, corners: Sequence[tuple[float, float]]) -> None:
        """Add an area, and keep it."""
        if label not in self.colours:
            raise InputError("Name a class first: areas are drawn by class.")
        self._change([*self.areas, Area(label, tuple(corners))])

    def delete(self, place: int) -> None:
        """Take an area away."""
        self._change([area for i, area in enumerate(self.areas) if i != place])

    def undo(self) -> None:
        """Take the last change back."""
        if self.undone:
            self.areas = self.undone.pop()
            self.keep()

    def _change(self, areas: list[Area]) -> None:
        self.undone.append(self.areas)
        self.areas = areas
        self.keep()

    def name_class(self, name: str, colour: str | None = None) -> None:
        """Make a class known."""
        name = name.strip()
        if not name:
            raise InputError("A class needs a name.")
        own = {known: shade for known, shade in self.colours.items() if known != name}
        shades = class_colours([*own, name], {**own, **({name: colour} if colour else {})})
        self.colours[name] = shades[-1]
        self.keep()

    def geojson(self) -> dict[str, Any]:
        """The areas in the coordinates of the image."""
        features = [
            {
                "type": "Feature",
                "properties": {"class": area.label},
                "geometry": json.loads(shapely.to_geojson(shapely.transform(area.shape, self._outwards))),
            }
            for area in self.areas
        ]
        epsg = None if self.image.crs is None else self.image.crs.to_epsg()
        named = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{epsg}"}}
        return {
            "type": "FeatureCollection",
            "classes": self.colours,
            **({"crs": named} if epsg else {}),
            "features": features,
        }

    def _outwards(self, places: Array) -> Array:
        return apply_affine(self.image.transform, places[:, 0], places[:, 1])

    def _inwards(self, places: Array) -> Array:
        return apply_affine(~self.image.transform, places[:, 0], places[:, 1])

    def keep(self) -> None:
        """Write the areas, whole or not at all."""
        write_whole(self.store, json.dumps(self.geojson(), indent=1).encode())

    def load(self) -> None:
        """Read the areas that were kept."""
        if not self.store.exists():
            return
        try:
            kept = json.loads(self.store.read_text(encoding="utf-8"))
            self.colours = {str(name): str(colour) for name, colour in kept["classes"].items()}
            for feature in kept["features"]:
                shape = shapely.from_geojson(json.dumps(feature["geometry"]))
                corners = shapely.get_coordinates(shapely.transform(shape, self._inwards))
                closed = len(corners) > 1
                self.areas.append(
                    Area(
                        str(feature["properties"]["class"]),
                        tuple(map(tuple, corners[: -1 if closed else None].tolist())),
                    )
                )
        except (KeyError, TypeError, ValueError, AttributeError, shapely.errors.ShapelyError) as error:
            raise InputError(f"{self.store.name}, which keeps areas, cannot be read ({error}). Move it away.") from None

    def samples(self) -> Samples:
        """The pixels of the areas."""
        shapes = np.array([shapely.transform(area.shape, self._outwards) for area in self.areas], dtype=object)
        labels = np.array([area.label for area in self.areas])
        areas = Areas(shapes, labels, np.arange(1, len(shapes) + 1), self.image.crs, "the drawn areas", str(self.store))
        return draw_samples(self.image, areas)

    def train(self, name: str, reject: float | None = None) -> Trained:
        """Learn a model from the areas."""
        if len({area.label for area in self.areas}) < 2:
            raise InputError("Draw areas of two classes or more.")
        samples = self.samples()
        X, y, _ = samples.to_training()
        model = image_model(name, samples.classes.tolist()).fit(X, y)
        legend, score = pixel_classifier(model, None, reject, self._shades(samples))
        self.trained = Trained(name, model, samples, legend, score, reject)
        self.version += 1
        return self.trained

    def _shades(self, samples: Samples) -> dict[str, str]:
        return {label: self.colours[label] for label in map(str, samples.classes.tolist())}

    def accuracy(self) -> Any:
        """How right the map would be on areas the model has not seen."""
        assert self.trained is not None
        return held_out_accuracy(self.trained.model, self.trained.samples, reject=self.trained.reject)

    def write_map(self, folder: Path, progress: ProgressOption = None) -> ClassMap:
        """The class map of the whole image, with its style."""
        trained = self.trained
        assert trained is not None
        shades = self._shades(trained.samples)
        path = folder / f"{self.path.stem}-map.tif"
        return classify_image(
            trained.model, self.image, path, reject=trained.reject, colours=shades, overwrite=True, progress=progress
        )

    def write_report(self, path: Path, made: ClassMap) -> Path:
        """The report of the samples, the map and its accuracy."""
        trained = self.trained
        assert trained is not None
        return write_raster_report(
            path,
            self.image,
            samples=trained.samples,
            separability=class_separability(trained.samples),
            class_map=made.path,
            model=trained.model,
            held_out=self.accuracy(),
            command=self.code()[1],
        )

    def code(self) -> tuple[str, str]:
        """The same as Python and as a command."""
        name = "maximum-likelihood" if self.trained is None else self.trained.name
        reject = None if self.trained is None else self.trained.reject
        areas = self.store.name
        python = (
            "from discriminant.raster import classify_image, draw_samples, image_model\n\n"
            f"samples = draw_samples({self.label!r}, {areas!r}, 'class')\nprint(samples.statistics)\n"
            "X, y, area = samples.to_training()\n"
            f"model = image_model({name!r}, samples.classes.tolist()).fit(X, y)\n"
            f"classify_image(model, {self.label!r}, 'map.tif', reject={reject!r})\n"
        )
        words = ["discriminant", "raster", "classify", self.label, "--areas", areas, "--class-field", "class"]
        words += ["--model", name, *([] if reject is None else ["--reject", str(reject)]), "-o", "map.tif"]
        return python, shlex.join(words)


def _stretched(band: Array, low: float, high: float) -> Array:
    return np.rint(255 * np.clip((band.astype(np.float64) - low) / (high - low), 0, 1)).astype(np.uint8)


def _png(shades: Array, valid: Array) -> bytes:
    shades = shades.repeat(3, axis=0) if len(shades) == 1 else shades
    return bytes(render(shades[:3], valid.astype(np.uint8) * 255, img_format="PNG"))


def _coloured(trained: Trained, layer: str, values: Array, valid: Array) -> bytes:
    """Pixels in the colours of their classes, or as light as the most probable class is probable."""
    rows = np.ascontiguousarray(values.reshape(len(values), -1).T)
    seen = valid.ravel()
    if layer == "probability":
        p = np.zeros(len(rows))
        if seen.any():
            p[seen] = trained.model.predict_proba(rows[seen].astype(np.float64)).max(axis=1)
        return _png((255 * p).astype(np.uint8).reshape(1, *valid.shape), valid)
    codes = trained.score(rows, seen).reshape(valid.shape)
    shades = np.zeros((int(codes.max()) + 1, 3), dtype=np.uint8)
    for entry in trained.legend.entries:
        if entry.code < len(shades):
            shades[entry.code] = rgb(entry.colour)
    return _png(shades[codes].transpose(2, 0, 1), valid & (codes != trained.legend.nodata))
