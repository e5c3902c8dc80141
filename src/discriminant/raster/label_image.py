"""Training areas that are painted: a raster of class numbers, or an image whose colours are the classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..decision.posteriors import label_array
from ..errors import InputError, LabelError, ParameterError
from ..results import plain
from ..tables.learning import Finding
from .extra import extra
from .grid import moved
from .image import Image, open_image
from .legend import Legend, has_legend, legend_of_file
from .marks import Marks, touching_areas
from .systems import as_crs, one_system, reprojected, to_system

Array = np.ndarray[Any, Any]
#: From a window to the values in it and where there are any.
Reader = Callable[[Any], tuple[Array, Array]]

_ENDINGS = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".img", ".vrt", ".jp2")
#: Programs that paint write these, and number the colours as they like.
_PAINTED = (".png", ".gif", ".bmp")
#: More values than this are shades of a photograph, of soft edges or of lossy compression, not classes.
_MOST_CLASSES = 65_535
_MOST_COLOURS = 256
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, eq=False)
class LabelImage:
    """An image painted with classes: whole numbers in one band, or colours.

    Pixels of one class that touch, also at corners, are one area.

    Attributes
    ----------
    path : str
    source : str
        What messages call the file.
    coloured : bool
        Whether classes are colours, written "#rrggbb".
    unlabelled : int, str or None
        The number or colour that stands for no class; None where the image itself says where it holds none.
    names : dict
        Class names by number or colour.
    legend : Legend or None
        Of a class map: the classes its codes stand for, where ``names`` says nothing.
    crs : rasterio CRS or None
        Of an image that does not say its own.
    """

    path: str
    source: str
    coloured: bool
    unlabelled: Any
    names: dict[Any, str]
    crs: Any = None
    legend: Legend | None = None

    def marks(self, image: Image) -> Marks:
        """The pixels of an image that are painted with a class."""
        with self._on(image) as (read, notes):
            parts = [self._painted(read, window) for window in image.windows()]
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not len(rows):
            raise InputError(
                f"{self.source} marks no pixel of the image {image.label}. Paint its classes first, and on that image: "
                "labels that lie elsewhere mark nothing."
            )
        order = np.lexsort((columns, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        area = touching_areas(rows, columns, values, image.shape[1])
        _, first = np.unique(area, return_index=True)
        labels = self._labels(values)[first]
        return Marks(rows, columns, area, np.arange(1, len(first) + 1), labels, tuple(notes))

    @contextmanager
    def _on(self, image: Image) -> Iterator[tuple[Reader, list[Finding]]]:
        """What reads the labels of a window of the image, and what had to be done for it."""
        with open_image(self.path) as own:
            if not own.georeferenced or not image.georeferenced or self.coloured:
                _refuse_other_size(self.source, own, image)
                yield self._reader(own), []
                return
            crs = own.crs or self.crs
            same = one_system(self.source, crs, image)
            if same and own.shape == image.shape and own.transform.almost_equals(image.transform):
                yield self._reader(own), []
                return
            where = None if same else crs
            yield self._at_centres(own, where, image), [] if same else [reprojected(self.source, crs, image)]

    def _reader(self, own: Image) -> Reader:
        colours = None if own.palette is None else _colours_of(own.palette)

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
            xy = _centres(image, window)
            xy = xy if crs is None else to_system(image.crs, crs, xy)
            columns, rows = np.floor(moved(~own.transform, *xy.T)).T
            inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
            shape = (window.height, window.width)
            if not inside.any():
                return np.zeros(shape, np.int32), np.zeros(shape, bool)
            columns, rows = columns[inside].astype(np.int64), rows[inside].astype(np.int64)
            left, top = columns.min(), rows.min()
            part = extra("rasterio.windows").Window(
                int(left), int(top), int(columns.max() - left + 1), int(rows.max() - top + 1)
            )
            labels, seen = read_own(part)
            values, valid = np.zeros(inside.shape, labels.dtype), np.zeros(inside.shape, bool)
            values[inside], valid[inside] = labels[rows - top, columns - left], seen[rows - top, columns - left]
            return values.reshape(shape), valid.reshape(shape)

        return read

    def _painted(self, read: Reader, window: Any) -> tuple[Array, Array, Array]:
        values, valid = read(window)
        if self.unlabelled is not None:
            none = int(self.unlabelled[1:], 16) if self.coloured else self.unlabelled
            valid = valid & (values != none)
        rows, columns = np.nonzero(valid)
        return rows + window.row_off, columns + window.col_off, values[rows, columns]

    def _labels(self, values: Array) -> Array:
        """The class of each value."""
        different, code = np.unique(values, return_inverse=True)
        most = _MOST_COLOURS if self.coloured else _MOST_CLASSES
        if len(different) > most:
            what = "colours" if self.coloured else "values"
            raise LabelError(
                f"{self.source} is painted with {len(different):,} {what}: those are shades, not classes. Paint with "
                "hard edges and save without loss, as PNG or GeoTIFF."
            )
        classes = self._classes(different)
        missing = [key for key in self.names if key not in classes]
        if missing:
            raise LabelError(
                f"names= calls {missing[0]!r} {self.names[missing[0]]!r}, and {self.source} has no such class. It has "
                f"{', '.join(map(str, classes[:20]))}."
            )
        if self.names:
            classes = [str(self.names.get(label, label)) for label in classes]
        elif self.legend is not None:
            classes = [self.legend.names.get(label, label) for label in classes]
        return label_array(classes)[code]

    def _classes(self, values: Array) -> list[Any]:
        if self.coloured:
            return [f"#{value:06x}" for value in values]
        odd = values[values != np.rint(values)]
        if odd.size:
            raise LabelError(
                f"{self.source} has values that are not whole numbers, such as {odd[0]:g}. Expected a class number in "
                "each pixel."
            )
        return [int(value) for value in values]


def is_raster(path: str) -> bool:
    """Whether a file is an image, by the ending of its name."""
    return Path(path).suffix.lower() in _ENDINGS


def read_label_image(path: str, names: dict[Any, str] | None, unlabelled: Any, crs: Any = None) -> LabelImage:
    """The painted image in a file, see `open_areas`."""
    source = repr(Path(path).name)
    with open_image(path) as image:
        if image.n_bands not in (1, 3):
            raise InputError(
                f"{source} has {image.n_bands} bands. Expected an image painted with classes: one band of class "
                "numbers, or the bands red, green and blue."
            )
        coloured = image.n_bands == 3 or (image.palette is not None and Path(path).suffix.lower() in _PAINTED)
        if coloured and image.dtype != np.uint8:
            raise InputError(f"{source} holds {image.dtype}. Expected colours from 0 to 255 in each band.")
        silent = not image.masked
    if unlabelled is None and silent:
        unlabelled = "#000000" if coloured else 0
    legend = legend_of_file(path) if has_legend(path) else None
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


def _colours_of(palette: dict[int, tuple[int, ...]]) -> Array:
    """The colour of each number, coded."""
    return _colour_codes(np.array([palette.get(i, (0, 0, 0))[:3] for i in range(max(palette) + 1)]).T)


def _colour_codes(bands: Array) -> Array:
    red, green, blue = bands.astype(np.int32)
    return (red << 16) | (green << 8) | blue


def _centres(image: Image, window: Any) -> Array:
    """The coordinates of the centres of a window's pixels, row by row."""
    rows, columns = np.mgrid[: window.height, : window.width].reshape(2, -1)
    return moved(image.transform, columns + (window.col_off + 0.5), rows + (window.row_off + 0.5))


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
