"""The state of the Image page: an image as tiles, the areas drawn on it, and the model fitted to them.

An image is shown as a plane of tiles of 256 pixels, with half the resolution at every zoom level, independent of its
coordinate system: Leaflet treats the plane as the Mercator square, and a position is a column and a row of the image. A
tile reads its pixels, from overviews if the file has them. The class map is computed for the visible tiles from cached
pixels: nothing is read again after a change of areas.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from ..arrays import Array
from ..data import as_rows
from ..decision.posteriors import posterior
from ..engine import ProgressOption
from ..errors import DiscriminantError, InputError
from ..raster.class_map import ClassMap, Legend, written_classes
from ..raster.classify import MapOptions, classify_image
from ..raster.coordinates import code_areas, pixel_areas
from ..raster.figures import shown_bands
from ..raster.files import extra
from ..raster.image import Image, open_image
from ..raster.macro import MacroClasses
from ..raster.masks import Mask
from ..raster.models import HeldOutAccuracy, MapRule, fit_image_model, held_out_accuracy, image_model, pixel_classifier
from ..raster.preview import Preview, preview_extents, preview_of, uncertain_place
from ..raster.rendering import PixelMap
from ..raster.samples import Samples, draw_samples
from ..raster.separability import ClassSeparability, best_bands, class_separability
from ..raster.smoothing import Smoothing
from ..raster.smoothing_choice import SmoothingChoice, choose_smoothing
from ..report.raster_page import RasterReport, write_raster_report
from ..results import plain
from .image_areas import DrawnAreas, Place
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


@dataclass(eq=False, kw_only=True)
class ImageWork(DrawnAreas):
    """An image, its areas, and the model fitted to them."""

    path: Path
    label: str
    bands: tuple[int, ...] = ()
    stretch: str = next(iter(STRETCHES))
    trained: Trained | None = None
    version: int = 0
    mask: Mask | None = None
    masked_share: float = 0.0  #: of the pixels, estimated from the preview
    _unmasked: Image | None = None  #: the image without its mask
    _proposed: list[Array] = field(default_factory=list)  #: places that were proposed for labelling
    _pixels: PixelCache = field(default_factory=PixelCache)

    @classmethod
    def opened(cls, path: Path, label: str, folder: Path | None = None) -> ImageWork:
        """Open an image with the areas that were drawn before, beside it or, if that is read-only, in ``folder``."""
        _refuse_other_formats(path)
        image = open_image(str(path))
        own = path.parent if folder is None or os.access(path.parent, os.W_OK) else folder
        shown = shown_bands(image)
        bands = tuple(shown if len(shown) == 3 else [shown[0]] * 3)
        store = own / f"{path.stem}.areas.geojson"
        work = cls(path=path, label=label, image=image, store=store, bands=bands)
        work.refresh()
        return work

    def use_mask(self, mask: Mask | None) -> float:
        """Leave out the pixels that a mask marks, or none, and return their share; after an error nothing changes."""
        if mask is None:
            image = open_image(str(self.path))
        else:
            _refuse_other_formats(Path(mask.path))
            image = open_image(str(self.path), mask=mask, resample="auto")
        preview, whole = preview_of(image), image if mask is None else open_image(str(self.path))
        self.masked_share = float(preview_of(whole).valid.mean() - preview.valid.mean())
        self.image, self._unmasked, self.preview, self.mask, self.trained = image, whole, preview, mask, None
        self._pixels = PixelCache()
        self.version += 1
        return self.masked_share

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
        trained, image = self.trained, self.image
        if layer == "image" and self._unmasked is not None:
            image = self._unmasked
        found = self._pixels.get((zoom, x, y, image is self.image), lambda: self._read(image, zoom, x, y))
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
            return trained.rendered.codes(flat, valid.ravel()).reshape(valid.shape)
        codes = np.full(valid.shape, trained.legend.nodata, dtype=trained.legend.dtype)
        codes[: shape[0], : shape[1]] = trained.window_codes(self.image, window, shape)
        return codes

    def _window(self, zoom: int, x: int, y: int) -> tuple[Window, tuple[int, int]]:
        """The window of a tile, and its height and width on the tile."""
        step = 2 ** (self.zooms - zoom)
        (height, width), top, left = self.image.shape, y * _TILE * step, x * _TILE * step
        rows, columns = min(height - top, _TILE * step), min(width - left, _TILE * step)
        return extra("rasterio.windows").Window(left, top, columns, rows), (-(-rows // step), -(-columns // step))

    def _read(self, image: Image, zoom: int, x: int, y: int) -> tuple[Array, Array] | None:
        """The pixels of a tile and their mask; None outside the image."""
        if not 0 <= zoom <= self.zooms or min(x, y) < 0:
            return None
        window, shape = self._window(zoom, x, y)
        if min(window.width, window.height) <= 0:
            return None
        part, seen = image.read(window, shape)
        values = np.zeros((len(part), _TILE, _TILE), dtype=part.dtype)
        valid = np.zeros((_TILE, _TILE), dtype=bool)
        values[:, : shape[0], : shape[1]], valid[: shape[0], : shape[1]] = part, seen
        return values, valid

    def train(self, name: str, smoothing: str = "", rule: MapRule = PLAIN) -> Trained:
        """Fit a model to the areas; ``smoothing`` is "auto" or a key of `SMOOTHINGS`."""
        if len({area.label for area in self.areas}) < 2:
            raise InputError("Draw areas of at least two classes first.")
        samples = draw_samples(self.image, self.drawn_areas())
        _ = samples.statistics  # computed here, in a thread
        model = fit_image_model(image_model(name, samples.classes.tolist()), samples)
        choice, smoothed = None, SMOOTHINGS.get(smoothing)
        rule = replace(rule, macro=self._merged(samples))
        if smoothing == "auto":
            choice = choose_smoothing(model, self.image, samples, rule=rule)
            smoothed = choice.chosen
        shades = self._shades(samples)
        colours = shades if rule.macro is None else shades | self.macro_colours
        rendered = PixelMap.of(model, replace(rule, smoothing=smoothed), colours)
        unlike = _if_known(lambda: pixel_classifier(model, MapRule(reject=REJECT), shades))
        bands = _if_known(lambda: best_bands(samples.statistics, 2)) or samples.band_names[:2]
        self.trained = Trained(name, model, samples, rendered, unlike, bands, self._extents(rendered), choice)
        self.version += 1
        return self.trained

    def _extents(self, rendered: PixelMap) -> tuple[dict[Any, int], dict[Any, float] | None]:
        """Pixels and hectares of the classes: of the whole map if it is small and smoothed, else by the preview."""
        height, width = self.image.shape
        if not rendered.margin or not self.is_small:
            return preview_extents(self.preview, rendered.legend, rendered.codes)
        whole, areas = extra("rasterio.windows").Window(0, 0, width, height), pixel_areas(self.image)
        pixels, hectares = code_areas(
            rendered.of_window(self.image, whole).codes, whole, rendered.legend.n_codes, areas
        )
        by_class = {plain(entry.label): entry.code for entry in rendered.legend.entries}
        on_ground = None if areas is None else {label: float(hectares[code]) for label, code in by_class.items()}
        return {label: int(pixels[code]) for label, code in by_class.items()}, on_ground

    def _merged(self, samples: Samples) -> MacroClasses | None:
        """The macro-classes of the classes with areas; None if no classes are merged."""
        labels = set(map(str, samples.classes.tolist()))
        own = {name: macro for name, macro in self.macros.items() if name in labels}
        return MacroClasses(own) if own else None

    @property
    def macro_colours(self) -> dict[str, str]:
        """The colour of each macro-class: of the class of its name, else of its first class."""
        found: dict[str, str] = {}
        for name, colour in self.colours.items():
            if name in self.macros:
                found.setdefault(self.macros[name], self.colours.get(self.macros[name], colour))
        return found

    @property
    def map_colours(self) -> dict[str, str]:
        """The classes of the map with their colours: macro-classes in place of the classes that they merge."""
        merged = self.macro_colours
        names = dict.fromkeys(self.macros.get(name, name) for name in self.colours)
        return {name: merged.get(name, self.colours.get(name, "")) for name in names}

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

    def accuracy(self) -> HeldOutAccuracy:
        """The accuracy on held-out areas, by macro-class if classes are merged."""
        trained = self.trained
        assert trained is not None
        return (
            held_out_accuracy(trained.model, trained.samples, rule=trained.rule)
            if trained.choice is None
            else trained.choice.accuracy
        )

    def class_accuracy(self) -> HeldOutAccuracy:
        """The accuracy of the classes before they are merged, without smoothing."""
        trained = self.trained
        assert trained is not None
        return held_out_accuracy(trained.model, trained.samples, rule=replace(trained.rule, macro=None, smoothing=None))

    def write_map(self, path: Path, rule: MapRule, progress: ProgressOption = None) -> ClassMap:
        """Write the class map of the whole image, with its style."""
        trained = self.trained
        if trained is None:
            raise InputError("Draw areas of at least two classes first.")
        shades = self._shades(trained.samples) | ({} if rule.macro is None else self.macro_colours)
        below = None if rule.macro is None else path.with_name(f"{path.stem}-subclasses.tif")
        options = MapOptions(colours=shades, overwrite=True, progress=progress, subclass_map=below)
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
        parts = {"reject": rule.reject, "smoothing": rule.smoothing, "macro": rule.macro}
        given = [f"{part}={value!r}" for part, value in parts.items() if value is not None]
        given += [f"min_pixels={rule.min_pixels}"] * (rule.min_pixels > 1)
        used = ["MapRule", *["Smoothing"] * (rule.smoothing is not None), *["MacroClasses"] * (rule.macro is not None)]
        image, areas, first = repr(self.label), self.store.name, ""
        if self.mask is not None:
            used += ["Mask", "open_image"]
            mask = f"Mask({Path(self.mask.path).name!r}, {self.mask.masked!r})"
            first, image = f"image = open_image({image}, mask={mask}, resample='auto')\n", "image"
        used += ["classify_image", "draw_samples", "fit_image_model", "image_model"]
        python = (
            f"from discriminant.raster import {', '.join(used)}\n\n{first}"
            f"samples = draw_samples({image}, {areas!r}, 'class')\nprint(samples.statistics)\n"
            f"model = fit_image_model(image_model({name!r}, samples.classes.tolist()), samples)\n"
            f"classify_image(model, {image}, 'map.tif', MapRule({', '.join(given)}))\n"
        )
        words = ["discriminant", "raster", "classify", self.label, "--areas", areas, "--class-field", "class"]
        words += ["--model", name, *([] if rule.reject is None else ["--reject", str(rule.reject)])]
        if rule.smoothing is not None:
            words += ["--smoothing", rule.smoothing.method]
            words += ["--smoothing-window", str(rule.smoothing.window)] * (rule.smoothing.method != "potts")
            words += ["--smoothing-strength", str(rule.smoothing.strength)] * (rule.smoothing.method != "majority")
        words += ["--min-pixels", str(rule.min_pixels)] * (rule.min_pixels > 1)
        if self.mask is not None:
            words += ["--mask", Path(self.mask.path).name, "--resample", "auto"]
            words += [] if self.mask.masked is None else ["--mask-values", self.mask.masked]
        merged = {} if rule.macro is None else rule.macro.of
        words += [word for label, macro in merged.items() for word in ("--macro", f"{label}={macro}")]
        return python, shlex.join([*words, "-o", "map.tif"])


def _refuse_other_formats(path: Path) -> None:
    """Raise an error unless a file is a TIFF, PNG or JPEG image: other formats can refer to other files."""
    with path.open("rb") as file:
        if not file.read(8).startswith(_SIGNATURES):
            raise InputError(f"{path.name} is not a TIFF, PNG or JPEG image. Convert it to GeoTIFF.")


def _if_known(find: Callable[[], F]) -> F | None:
    """The result, or None after an error: a single area cannot be held out, some models have no distances."""
    try:
        return find()
    except DiscriminantError:
        return None
