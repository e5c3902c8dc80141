"""Images painted with classes: whole numbers in one band, or colours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..data import label_array
from ..engine import parallel_map
from ..errors import InputError, LabelError, ParameterError
from ..results import Finding, listed, plain
from .area_pixels import AreaPixels, area_finding, touching_areas
from .class_map import Legend, written_legend
from .coordinates import apply_affine, as_crs, same_crs, transform_points
from .files import extra
from .image import IMAGE_ENDINGS, Image

if TYPE_CHECKING:
    from rasterio.crs import CRS
    from rasterio.windows import Window

#: Reads the values of a window, and where they are valid.
Reader = Callable[["Window"], tuple[Array, Array]]

#: Formats of painting programs, which number the colours of a palette arbitrarily.
_PAINTED = (".png", ".gif", ".bmp")

#: Images with more painted pixels are sampled: this number of each class trains any linear or quadratic model, and
#: single pixels can be held out by their distance.
MAX_PAINTED_PIXELS: Final = 1_000_000
MAX_SAMPLED_PIXELS: Final = 2_000

#: More values or colours are shades of a photograph, of soft edges or of lossy compression, not classes.
MAX_CLASSES: Final = 65_535
MAX_COLOURS: Final = 256

_COLOUR = re.compile(r"#[0-9a-f]{6}")


def reprojection_note(source: str, crs: CRS | None, image: Image) -> Finding:
    words = f"{source} was reprojected from {crs} to the coordinate system of the image, {image.crs}."
    return area_finding("note", "reprojected", words)


@dataclass(frozen=True, eq=False)
class LabelImage:
    """An image painted with classes: whole numbers in one band, or colours.

    Pixels of one class that touch, also at corners, are one area.

    Parameters
    ----------
    path : str
        The file.
    source : str
        The name of the file in messages.
    coloured : bool
        Whether classes are colours, written "#rrggbb".
    unlabelled : int, str or None
        The number or colour without class; None if the image itself marks pixels without class.
    names : dict
        Class names by number or colour; may be empty.
    crs : rasterio CRS, optional
        The coordinate system, for an image without one.
    legend : Legend, optional
        The legend of a class map, used if ``names`` is empty.

    See Also
    --------
    open_areas : Opens an image and detects how it is painted.
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
    unlabelled: int | str | None
    names: dict[int | str, str]
    crs: CRS | None = None
    legend: Legend | None = None

    def pixels(self, image: Image) -> AreaPixels:
        """The pixels of an image that are painted with a class.

        Parameters
        ----------
        image : Image
            The image on whose grid the labels are read.

        Returns
        -------
        AreaPixels
            Painted pixels; touching pixels of a class are one area. If more than a million pixels are painted, a random
            sample of at most 2,000 pixels of each class, each an area of its own.
        """
        parts = []
        with self.marked(image) as (read, notes):
            counts = parallel_map(lambda window: _counted(*read(window)), list(image.windows()))
            if sum(n for own in counts for n in own.values()) > MAX_PAINTED_PIXELS:
                return self._sampled(image, read, counts, notes)
            for window in image.windows():
                values, valid = read(window)
                rows, columns = np.nonzero(valid)
                parts.append((rows + window.row_off, columns + window.col_off, values[rows, columns]))
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not len(rows):
            raise no_labels_error(self.source, image)
        order = np.lexsort((columns, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        area = touching_areas(rows, columns, values, image.shape[1])
        _, first = np.unique(area, return_index=True)
        labels = self.classes_of(values)[first]
        return AreaPixels(rows, columns, area, np.arange(1, len(first) + 1), labels, tuple(notes))

    def _sampled(
        self, image: Image, read: Reader, counts: Sequence[Mapping[Any, int]], notes: Sequence[Finding]
    ) -> AreaPixels:
        """A random sample of the painted pixels of each class; ``counts`` are those of each value by window."""
        totals: Counter[Any] = Counter()
        for own in counts:
            totals.update(own)
        rng, drawn = np.random.default_rng(0), {}
        for value in sorted(totals):
            drawn[value] = np.sort(rng.choice(totals[value], min(totals[value], MAX_SAMPLED_PIXELS), replace=False))
        ends = {value: np.cumsum([own.get(value, 0) for own in counts]) for value in drawn}

        def located(task: tuple[int, Window]) -> list[tuple[Array, Array, Array]]:
            number, window = task
            values, valid = read(window)
            found = []
            for value, own in counts[number].items():
                stop = ends[value][number]
                chosen = drawn[value][slice(*np.searchsorted(drawn[value], (stop - own, stop)))] - (stop - own)
                pixel = np.flatnonzero(valid & (values == value))[chosen]
                rows, columns = np.divmod(pixel, window.width)
                found.append((rows + window.row_off, columns + window.col_off, np.full(len(pixel), value)))
            return found

        parts = [part for own in parallel_map(located, list(enumerate(image.windows()))) for part in own]
        rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((columns, rows))
        n, size = len(order), f"{totals.total():,} pixels"
        words = f"{self.source} labels {size}: a random sample of at most {MAX_SAMPLED_PIXELS:,} of each class is used."
        findings = (*notes, area_finding("note", "label-sample", words))
        labels = self.classes_of(values[order])
        return AreaPixels(rows[order], columns[order], np.arange(n), np.arange(1, n + 1), labels, findings)

    @contextmanager
    def marked(self, image: Image) -> Iterator[tuple[Reader, list[Finding]]]:
        """A function that reads the painted values of a window and where there are any, and findings.

        Parameters
        ----------
        image : Image
            The image on whose grid the labels are read.

        Yields
        ------
        read : function of a window
        findings : list of Finding
        """
        none = int(self.unlabelled[1:], 16) if isinstance(self.unlabelled, str) else self.unlabelled
        with _painted(self.path) as own:
            crs, placed = own.crs or self.crs, own.georeferenced and image.georeferenced and not self.coloured
            if not placed:
                _refuse_other_size(self.source, own, image)
            same = not placed or same_crs(self.source, crs, image)
            aligned = same and own.shape == image.shape and own.transform.almost_equals(image.transform)
            read = self._reader(own)
            if placed and not aligned:
                read = _at_centres(read, own, None if same else crs, image)

            def read_marked(window: Window) -> tuple[Array, Array]:
                values, valid = read(window)
                return values, valid if none is None else valid & (values != none)

            yield read_marked, [] if same else [reprojection_note(self.source, crs, image)]

    def _reader(self, own: Image) -> Reader:
        """Reads class numbers, or colours as 24-bit numbers."""
        palette = None
        if own.palette is not None:
            shades = [own.palette.get(i, (0, 0, 0))[:3] for i in range(1 + max(own.palette))]
            palette = _colour_codes(np.array(shades).T)

        def read(window: Window) -> tuple[Array, Array]:
            values, valid = own.read(window)
            if not self.coloured:
                return values[0], valid
            return (_colour_codes(values) if palette is None else palette[values[0]]), valid

        return read

    def classes_of(self, values: Array) -> Array:
        """The class of each value.

        Parameters
        ----------
        values : array
            Painted values.

        Returns
        -------
        array
            Classes, of the same length.
        """
        different, code = np.unique(values, return_inverse=True)
        most, what = (MAX_COLOURS, "colours") if self.coloured else (MAX_CLASSES, "values")
        if len(different) > most:
            raise LabelError(
                f"{self.source} has {len(different):,} different {what}, more than the {most:,} that can be classes. "
                "Paint with hard edges, and save in a lossless format: PNG or GeoTIFF."
            )
        odd = different[different != np.rint(different)]
        if odd.size:
            raise LabelError(f"{self.source} has values such as {odd[0]:g}. Expected integers (class numbers).")
        classes: list[Hashable] = [f"#{value:06x}" if self.coloured else int(value) for value in different]
        missing = [key for key in self.names if key not in classes]
        if missing:
            raise LabelError(
                f"{self.source} has no value {missing[0]!r}, which is named {self.names[missing[0]]!r}. Values: "
                f"{listed(classes, 20)}."
            )
        names = self.names or ({} if self.legend is None else self.legend.names)
        classes = [names.get(label, label) for label in classes]  # type: ignore[call-overload]
        return label_array([str(label) for label in classes] if self.names else classes)[code]


def _counted(values: Array, valid: Array) -> dict[Any, int]:
    """The number of pixels of each painted value in a window."""
    own = values[valid]
    if own.dtype in (np.uint8, np.uint16):
        counts = np.bincount(own)
        codes = np.flatnonzero(counts)
        return dict(zip(codes.tolist(), counts[codes].tolist(), strict=True))
    codes, counts = np.unique(own, return_counts=True)
    return dict(zip(codes.tolist(), counts.tolist(), strict=True))


def _at_centres(read_own: Reader, own: Image, crs: CRS | None, image: Image) -> Reader:
    """Reads labels on the grid of the image: each pixel has the label at its centre.

    ``crs`` is the coordinate system of the labels if it differs from that of the image.
    """
    height, width = own.shape

    def read(window: Window) -> tuple[Array, Array]:
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


def is_image_name(path: str) -> bool:
    """Whether a file name ends like that of an image."""
    return Path(path).suffix.lower() in IMAGE_ENDINGS


def no_labels_error(source: str, image: Image) -> InputError:
    return InputError(f"{source} labels no pixel of the image {image.label}. Paint classes on a copy of that image.")


def _painted(path: str) -> Image:
    """An image of classes; its alpha band is transparency, even with soft edges."""
    return Image([path], painted=True)


def read_label_image(
    path: str, names: Mapping[Any, str] | None, unlabelled: int | str | None, crs: str | CRS | None
) -> LabelImage:
    """Open an image painted with classes, and detect how it is painted."""
    source = repr(Path(path).name)
    with _painted(path) as image:
        if image.n_bands not in (1, 3):
            raise InputError(
                f"{source} has {image.n_bands} bands. Expected an image painted with classes: one band of class "
                "numbers, or red, green and blue bands."
            )
        coloured = image.n_bands == 3 or (image.palette is not None and Path(path).suffix.lower() in _PAINTED)
        if coloured and image.dtype != np.uint8:
            raise InputError(f"{source} has values of type {image.dtype}. Expected colours from 0 to 255 in each band.")
    if unlabelled is None and not image.masked:
        unlabelled = "#000000" if coloured else 0
    legend = written_legend(path)
    if unlabelled is None and legend is not None and legend.rejected is not None:
        unlabelled = legend.rejected.code
    checked = {_key(key, coloured): str(name) for key, name in (names or {}).items()}
    none = None if unlabelled is None else _key(unlabelled, coloured)
    return LabelImage(path, source, coloured, none, checked, as_crs(crs, source), legend)


def _key(value: int | str, coloured: bool) -> int | str:
    """A painted value as the user writes it: a colour or a whole number."""
    value = plain(value)
    if coloured:
        if not isinstance(value, str) or not _COLOUR.fullmatch(value.lower()):
            raise ParameterError(
                f'The classes of this image are colours. Expected one such as "#ff0000", got {value!r}.'
            )
        return value.lower()
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The classes of this image are integers, got {value!r}.") from error


def _colour_codes(bands: Array) -> Array:
    """Red, green and blue as one number."""
    red, green, blue = bands.astype(np.int32)
    return (red << 16) | (green << 8) | blue


def _refuse_other_size(source: str, own: Image, image: Image) -> None:
    if own.shape != image.shape:
        sizes = [f"{width} x {height}" for height, width in (own.shape, image.shape)]
        raise InputError(
            f"{source} has {sizes[0]} pixels, the image {image.label} has {sizes[1]}. If an image is not "
            "georeferenced, or is painted with colours, both must have the same size: paint on a copy of the image."
        )
    if own.georeferenced and image.georeferenced and not own.transform.almost_equals(image.transform):
        raise InputError(
            f"{source} is georeferenced differently from the image {image.label}. Paint on a copy of the image."
        )
