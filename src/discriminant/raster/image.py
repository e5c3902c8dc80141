"""Images: bands read window by window on any number of threads, masks of what holds values, and coordinate systems."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np

from ..arrays import Array
from ..data import check_integer
from ..dependencies import optional_module
from ..errors import ColumnError, DtypeError, InputError, Message, Part, Setting
from ..results import Finding, listed, suggestion

#: From points of shape (n, 2) to where they lie in the other system.
PointTransform = Callable[[Array], Array]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: Bands by number or name, in a list or as text with commas: "1,2,4", "1-4", "red,near infrared".
Bands = str | Sequence[int | str]

#: The colours by which GDAL knows the bands of a photograph.
_COLOURS = ("red", "green", "blue")
_BAND_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
#: Words in the description of a band that is transparency indeed.
_TRANSPARENCY = re.compile("alpha|mask|transparen|opacity", re.IGNORECASE)
#: Of a band that is marked as alpha about so many pixels are looked at, in blocks all over the image.
_LOOKED_AT_PIXELS, _LEAST_ROWS = 1 << 20, 16
#: What alpha bands hold: of all that is not 0, this share is the value for opaque. Wide soft edges leave less, but they
#: are even slopes: this is how far (in levels of 8 bits) a pixel may lie from between its neighbours.
_OPAQUE, _SOFT_OPAQUE, _EVEN_SLOPE = 0.75, 0.15, 8
#: What a library changes in the settings of warnings holds for all threads: files are opened one after another.
_opening = threading.Lock()
#: Longitudes are written from -180 to 180 or from 0 to 360, and no place is further from 0 than that.
MOST_DEGREES = 361
#: So many bands are named in a message; the others are counted.
_MOST_NAMED = 20
#: How far an edge may be from where it belongs, in units of the other system: a thousandth of a pixel.
_EDGE_TOLERANCE = 0.001
#: An edge is cut into at most this many pieces at a time, in so many rounds: an edge that ends where the other system
#: has no places would ask for ever more.
_MOST_PIECES, _MOST_ROUNDS = 256, 3
#: Pixels of one value from a corner along this share of an edge are taken for places without a measurement; edges
#: shorter than this are not looked at, and of the left and right edge so many rows.
LEAST_FILLED: Final = 0.25
LEAST_EDGE: Final = 16
EDGE_ROWS: Final = 64
#: Where edges are looked at. Not the middle alone: an edge that bends like an S is in its place there.
_LOOKED_AT = (0.25, 0.5, 0.75)


def extra(name: str) -> Any:
    """The module of that name, or an error that says how to install it.

    >>> extra("rasterio.windows").Window(0, 0, 4, 3).height
    3
    """
    return optional_module(name, "Images")


@dataclass(frozen=True)
class Band:
    """A band of an image: what it is called, what its values are, and whether its name was written in the file.

    A band without a name of its own is called after its number or, in a stack of files, after its file.

    Parameters
    ----------
    name : str
        What the band is called.
    dtype : str
        The type of its values, such as "uint16".
    named : bool, default=False
        Whether the file says the name.
    number : int, default=0
        Its number in the image, from 1; bands that are left out count, too.
    of : int, default=0
        How many bands the image has, those that are left out included.
    scale, offset : float, default=1.0 and 0.0
        What the file says its values stand for: ``scale * value + offset``.

    See Also
    --------
    Image : Has bands.
    refuse_other_bands : Compares them.

    Examples
    --------
    >>> from discriminant.raster import Band
    >>> Band("near infrared", "uint16", named=True).name
    'near infrared'
    """

    name: str
    dtype: str
    named: bool = False
    number: int = 0
    of: int = 0
    scale: float = 1.0
    offset: float = 0.0


def stored_bands(values: Any, source: str) -> tuple[Band, ...]:
    """The bands that a file of samples or of a model says it is for."""
    kinds: dict[str, Any] = {"name": str, "dtype": str, "named": bool, "number": int, "of": int, "scale": (int, float)}
    kinds["offset"] = kinds["scale"]
    told = isinstance(values, list) and all(
        isinstance(one, dict) and set(one) == set(kinds) and all(isinstance(one[key], kinds[key]) for key in kinds)
        for one in values
    )
    if not told or not values:
        raise InputError(f"{source} does not say which bands of an image it is for. It may be damaged: make it again.")
    return tuple(Band(**one) for one in values)


@dataclass(frozen=True)
class _Place:
    """Where a band stands: the number of its file in the stack, and its own in the file."""

    file: int
    index: int
    marked: bool  # as alpha
    transparent: bool  # marked so, and its values are those of an alpha band
    blank: bool  # marked so, and 0 everywhere: it would hide an image that is there


@dataclass(frozen=True)
class _Source:
    """One file of a stack: which of its bands count, and what says where they hold values."""

    file: int
    path: str
    indexes: tuple[int, ...]
    nodata: tuple[float | None, ...]
    alpha: tuple[int, ...]  # bands that hide pixels by 0
    masked: bool  # whether a mask beside the bands does

    def read(self, dataset: Any, window: Any, shape: tuple[int, int] | None) -> tuple[Array, Array | bool]:
        """The values of a window, and where neither an alpha band nor a mask hides them; True without either."""
        seen: Array | bool = True

        def form(indexes: Any) -> dict[str, Any]:
            return {"window": window} | ({} if shape is None else {"out_shape": (len(indexes), *shape)})

        with _reading(self.path, window):
            values = dataset.read(self.indexes, **form(self.indexes))
            if self.alpha:
                seen = (dataset.read(self.alpha, **form(self.alpha)) != 0).all(axis=0)
            if self.masked:
                seen = seen & (dataset.read_masks(self.indexes[:1], **form(self.indexes[:1]))[0] > 0)
        return values, seen


@contextmanager
def _reading(path: str, window: Any) -> Iterator[None]:
    """What goes wrong while a window is read is told by the name of the file."""
    try:
        yield
    except extra("rasterio.errors").RasterioError as error:
        where = "" if window is None else f" in rows {window.row_off} to {window.row_off + window.height - 1}"
        raise InputError(
            f"{path!r} cannot be read{where}: {error.__cause__ or error}. The file seems to be damaged or cut short: "
            "copy it again."
        ) from error


class _Files:
    """Files that many threads read, each with handles of its own."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self.handles: list[Any] = []
        self._own = threading.local()
        self._closed = False

    def datasets(self) -> list[Any]:
        """This thread's handles, opened when first asked for."""
        if self._closed:
            raise InputError(f"The image {_label(self.paths)} is closed. Open it again with open_image.")
        if not hasattr(self._own, "datasets"):
            self._own.datasets = [_dataset(path, self.handles) for path in self.paths]
        return self._own.datasets

    def close(self) -> None:
        self._closed = True
        while self.handles:
            self.handles.pop().close()


class Image:
    """The bands of one file, or of several files of one grid, read window by window.

    Made by `open_image`; a context manager, and safe to read from many threads: each has file handles of its own.

    Parameters
    ----------
    paths : sequence of str
        The files whose bands are stacked.
    bands : str or list, optional
        Numbers or names of the bands to read, see `open_image`.
    crs : str, optional
        The coordinate system, where the file says none or a wrong one.
    marked_alpha : bool, default=False
        Whether every band that is marked as alpha is one, whatever its values: so it is in pictures that were painted.
    nodata : float, optional
        The value that means "no value" in every band, instead of those that the files say.

    Attributes
    ----------
    bands : tuple of Band
        In the order of the files, or in which they were chosen.
    all_bands : tuple of Band
        All that the files hold, also those that are not read.
    chosen : bool
        Whether the bands were chosen by who opened the image.
    findings : tuple of Finding
        What had to be decided about the image: alpha bands, its coordinate system.
    n_bands, band_names, dtypes : int, and tuples of str
        Of the bands.
    dtype : numpy dtype
        The type in which all bands are read together.
    shape : tuple of int
        Height and width.
    crs : rasterio CRS or None
        The coordinate system.
    transform : affine.Affine
        From (column, row) to coordinates; the identity for an image without georeference.
    georeferenced : bool
        Whether pixels have coordinates other than their column and row.
    control_points : list
        Of an image that is placed by ground control points, and not by a grid.
    placed_without_grid : str
        By what else than a grid of coordinates the image is placed, or nothing.
    nodata : tuple
        The value of each band that means "no value", or None.
    masked : bool
        Whether the files say where they hold no values: by nodata values, an alpha band or a mask.
    tags : dict
        The metadata of the first file.
    palette : dict or None
        Of an image whose only band holds numbers of colours: the colour (red, green, blue, alpha) of each number.

    See Also
    --------
    open_image : Makes one.
    draw_samples : Pixels of training areas.
    classify_image : The class of every pixel.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grid = {"transform": rasterio.Affine.scale(30), "dtype": "uint8"}
    ...     with rasterio.open(f"{folder}/photo.tif", "w", "GTiff", 4, 3, 3, **grid) as file:
    ...         file.write(np.zeros((3, 3, 4), dtype="uint8"))
    ...     with Image([f"{folder}/photo.tif"]) as image:
    ...         image
    Image 'photo.tif': 4 x 3 pixels, bands red, green, blue
    """

    def __init__(
        self,
        paths: Sequence[str],
        bands: Bands | None = None,
        crs: Any = None,
        marked_alpha: bool = False,
        nodata: float | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self._given_nodata = nodata
        self._files = _Files(paths)
        try:
            datasets = self._files.datasets()
            self._describe(datasets, marked_alpha)
            self._locate(datasets[0], crs)
            self._choose(None if bands is None else self._numbers(bands))
        except BaseException:
            self.close()
            raise

    def _describe(self, datasets: list[Any], marked_alpha: bool) -> None:
        """What the files have in common, and all their bands."""
        first = datasets[0]
        for path, dataset in zip(self.paths[1:], datasets[1:], strict=True):
            _refuse_other_grid(self.paths[0], first, path, dataset)
        self._places = [
            place for file, dataset in enumerate(datasets) for place in _places(file, dataset, marked_alpha)
        ]
        self.all_bands = _bands(self.paths, self._places, datasets)
        self.shape: tuple[int, int] = tuple(first.shape)
        self.crs = next((dataset.crs for dataset in datasets if dataset.crs), None)
        self.transform = first.transform
        self.tags: dict[str, str] = first.tags()
        self._tile: list[int] = np.max([dataset.block_shapes[0] for dataset in datasets], axis=0).tolist()

    def _locate(self, first: Any, crs: Any) -> None:
        """Where the image lies, by its file and by the coordinate system that was given."""
        own, given = self.crs, as_crs(crs, self.label)
        points, points_crs = first.gcps
        placed = own is not None or not self.transform.is_identity
        self.control_points: list[Any] = [] if placed else points
        self.control_points_crs = points_crs
        self.georeferenced = placed
        self.placed_without_grid = ""
        if self.control_points:
            self.placed_without_grid = f"{len(points)} ground control points"
        elif not placed and first.rpcs is not None:
            self.placed_without_grid = "a model of the camera (RPC)"
        self._place_findings: list[Finding] = []
        if placed and self.transform.is_degenerate:
            raise InputError(
                f"The pixels of {self.label} have no size: its affine transform is {tuple(self.transform)[:6]}. Write "
                "the right one into the file."
            )
        if self.placed_without_grid:
            words = f"{self.label} {self.without_grid} Its pixels are known by column and row only."
            self._place_findings.append(Finding("note", "control-points", None, f"{words} {self.warp_advice}"))
        if given is not None:
            self._take_crs(own, given)
        corners = apply_affine(self.transform, *np.array([(0, 0), self.shape[::-1]]).T)
        if self.crs is not None and self.crs.is_geographic and (np.abs(corners) > MOST_DEGREES).any():
            words = (
                f"{self.label} is in {self.crs}, a system of degrees, and its coordinates reach {corners.max():,.0f}: "
            )
            parts = (words, "its coordinate system seems to be wrong. Give the right one (", Setting("crs"), ").")
            self._place_findings.append(Finding("warning", "crs", None, Message(*parts)))

    def _take_crs(self, own: Any, given: Any) -> None:
        """The coordinate system that was given instead of that of the file."""
        if not self.georeferenced:
            why, what = self.without_grid, self.warp_advice
            if not self.placed_without_grid:
                why = "has no georeference: its pixels have no coordinates."
                what = "Georeference it first, or leave the coordinate system out."
            raise InputError(
                f"{self.label} {why} A coordinate system alone (", Setting("crs"), f") is no place. {what}"
            )
        if own is not None and own != given:
            words = f"{self.label} says that its coordinate system is {own}. It is read as {given}, as was asked for ("
            self._place_findings.append(Finding("note", "crs", None, Message(words, Setting("crs"), ").")))
        self.crs = given

    @property
    def without_grid(self) -> str:
        """How an image is placed that has no grid of coordinates, in words."""
        return f"is placed by {self.placed_without_grid}, not by a grid of coordinates."

    @property
    def warp_advice(self) -> str:
        """What to do about such an image."""
        return f"Bring it to a grid first, for example: gdalwarp {Path(self.paths[0]).name} warped.tif"

    def _choose(self, numbers: Sequence[int] | None) -> None:
        """Read these bands, in this order; None for all but those that are transparency."""
        self.chosen = numbers is not None
        if numbers is None:
            held = (not (place.transparent or place.blank) for place in self._places)
            numbers = [band.number for band, holds in zip(self.all_bands, held, strict=True) if holds]
        if not numbers:
            raise InputError(
                f"{self.label} has no band that holds values, only transparency (alpha). Give an image, or say which "
                "bands hold values (", Setting("bands"), ").",
            )  # fmt: skip
        datasets, where = self._files.datasets(), [self._places[number - 1] for number in numbers]
        self.bands = tuple(self.all_bands[number - 1] for number in numbers)
        declared = [datasets[place.file].nodatavals[place.index - 1] for place in where]
        self.nodata = tuple(declared if self._given_nodata is None else [self._given_nodata] * len(where))
        self._sources = _sources(self.paths, self._places, dict(zip(where, self.nodata, strict=True)), datasets)
        files = [place.file for place in where]
        # Files are read one after another: where bands alternate between them they are put in their order again.
        self._order = None if files == sorted(files) else np.argsort(np.argsort(files, kind="stable"))
        self.n_bands, self.band_names = len(self.bands), tuple(band.name for band in self.bands)
        self.dtypes = tuple(band.dtype for band in self.bands)
        self.dtype = np.result_type(*map(np.dtype, self.dtypes))
        hidden = any(source.masked or source.alpha for source in self._sources)
        self.masked = hidden or any(value is not None for value in self.nodata)
        one = datasets[where[0].file]
        coloured = self.n_bands == 1 and one.colorinterp[where[0].index - 1].name == "palette"
        self.palette: dict[int, tuple[int, ...]] | None = one.colormap(where[0].index) if coloured else None
        self.findings = (*self._place_findings, *self._alpha_findings())

    def _numbers(self, bands: Bands) -> list[int]:
        """The numbers of bands that were chosen by number or name."""
        given = bands.split(",") if isinstance(bands, str) else list(bands)
        found = [number for one in given for number in self._numbers_of(one)]
        twice = [number for number, n in Counter(found).items() if n > 1]
        if not found or twice:
            got = f"band {twice[0]} more than once" if twice else "none"
            raise ColumnError(Setting("bands"), f" must be different bands, got {got}. {self._all_told}")
        return found

    def _numbers_of(self, one: int | str) -> list[int]:
        """A name, a number, or from one number to another."""
        text = str(one).strip()
        named = [band.number for band in self.all_bands if band.name == text]
        if named:
            return named
        span = _BAND_RANGE.fullmatch(text)
        first, last = (int(span[1]), int(span[2])) if span else (int(text), int(text)) if text.isdecimal() else (0, 0)
        if not 1 <= first <= last <= len(self.all_bands):
            hint = suggestion(text, [band.name for band in self.all_bands])
            raise ColumnError(
                Setting("bands"), f" must be numbers or names of bands, got {text!r}.{hint} {self._all_told}"
            )
        return list(range(first, last + 1))

    @property
    def _all_told(self) -> str:
        named = [f"{band.number} {band.name}" if band.named else f"{band.number}" for band in self.all_bands]
        return f"{self.label} has {len(named)}: {listed(named, _MOST_NAMED)}."

    def take(self, bands: Bands) -> Image:
        """The same image with some of its bands; both have the same files open.

        Parameters
        ----------
        bands : str or list
            Numbers or names, see `open_image`.

        Returns
        -------
        Image
            Closed with this one.
        """
        made = copy(self)
        made._choose(self._numbers(bands))
        return made

    def _alpha_findings(self) -> list[Finding]:
        """What was decided about bands that are marked as alpha, and what changes it."""
        found, taken = [], [band.number for band in self.bands]
        read = {(source.file, index) for source in self._sources for index in source.alpha}
        for band, place in zip(self.all_bands, self._places, strict=True):
            name = f"Band {place.index} of {Path(self.paths[place.file]).name!r}"
            if (place.file, place.index) in read:
                words = (
                    f"{name} is read as transparency (alpha): it hides pixels where it is 0, and is no band to learn "
                )
                parts: tuple[Part, ...] = (words + "from. If it holds values: ", _choice({*taken, band.number}))
            elif place.blank and band.number not in taken:
                words = (
                    f"{name} is marked as transparency (alpha) and is 0 everywhere: it is left out, and hides nothing"
                )
                parts = (words,)
            elif place.marked and band.number in taken and not self.chosen and not band.named:
                words = f"{name} is marked as transparency (alpha), but holds many values: it is read as a measurement."
                others = {*taken} - {band.number}
                parts = (words, *((" To leave it out: ", _choice(others)) if others else ()))
            else:
                continue
            found.append(Finding("note", "alpha", None, Message(*parts, ".")))
        return found

    @property
    def label(self) -> str:
        """How messages call the image."""
        return _label(self.paths)

    def fill_findings(self) -> tuple[Finding, ...]:
        """A note where pixels of one value fill an edge from its corner, and the files do not say that they are empty.

        Returns
        -------
        tuple of Finding
            Of the kind "fill-value".
        """
        (height, width), window = self.shape, extra("rasterio.windows").Window
        if min(height, width) < LEAST_EDGE:
            return ()
        # Rows of the upper and lower edge are looked at whole, the others in some rows: a file of lines is read by row.
        some = np.unique(np.linspace(0, height - 1, EDGE_ROWS).astype(int)).tolist()
        sides = [[window(left, row, 1, 1) for row in some] for left in (0, width - 1)]
        strips = [[window(0, row, width, 1)] for row in (0, height - 1)] + sides
        for parts in strips:
            read = [self.read(part) for part in parts]
            values = np.concatenate([own.reshape(len(own), -1) for own, _ in read], axis=1)
            valid = np.concatenate([seen.ravel() for _, seen in read])
            for step in (1, -1):
                ordered, corner = values[:, ::step], values[:, ::step][:, :1]
                same = (ordered == corner).all(axis=0) & valid[::step]
                run = len(same) if same.all() else int(np.argmin(same))
                if run >= LEAST_FILLED * len(same) and (corner == corner[0]).all():
                    return (self._fill_finding(corner[0, 0].item()),)
        return ()

    def _fill_finding(self, value: float) -> Finding:
        words = (
            f"Pixels with the value {value:g} in every band fill an edge of {self.label}, and the file has no nodata "
            "value: they are read as measurements. If they are empty: "
        )
        return Finding("note", "fill-value", None, Message(words, Setting("nodata", value), "."))

    def block_shape(self, block: int = 512) -> tuple[int, int]:
        """Height and width of a window of whole tiles that is at least ``block`` pixels high and wide.

        Parameters
        ----------
        block : int, default=512
            The least side, in pixels.

        Returns
        -------
        tuple of int
            Height and width.
        """
        check_integer("block", block, 1)
        down, across = (-(-block // side) * side for side in self._tile)
        return down, across

    def windows(self, block: int = 512) -> Iterator[Any]:
        """Windows that cover the image, row by row, each of whole tiles and at least ``block`` pixels high and wide.

        Those at the right and lower edge end with the image. A tile belongs to one window only, so that none is
        decompressed twice (in a stack of files that holds for those with the largest tiles).

        Parameters
        ----------
        block : int, default=512
            The least height and width of a window.

        Yields
        ------
        rasterio Window
            The next one.
        """
        window = extra("rasterio.windows").Window
        (height, width), (down, across) = self.shape, self.block_shape(block)
        for top in range(0, height, down):
            for left in range(0, width, across):
                yield window(left, top, min(across, width - left), min(down, height - top))

    def read(self, window: Any = None, shape: tuple[int, int] | None = None) -> tuple[Array, Array]:
        """The values of a window, shape (bands, height, width), and where all bands hold one, shape (height, width).

        A pixel holds no value where a band has its nodata value, NaN or infinity, or where an alpha band or a mask
        hides it. Without a window the whole image is read.

        Parameters
        ----------
        window : rasterio Window, optional
            The part to read.
        shape : (height, width), optional
            How many rows and columns to read it in, if fewer than it has: pixels near even places, from overviews
            where the file has them.

        Returns
        -------
        values : array of shape (bands, height, width)
            In the type of the image.
        valid : bool array of shape (height, width)
            Where all bands hold a value.
        """
        parts: list[Array] = []
        valid: Any = True
        datasets = self._files.datasets()
        for source in self._sources:
            values, seen = source.read(datasets[source.file], window, shape)
            parts.append(values)
            valid = valid & seen & _holding_values(values, source.nodata)
        array = parts[0] if len(parts) == 1 else np.concatenate([part.astype(self.dtype) for part in parts])
        if self._order is not None:
            array = array[self._order]
        return array.astype(self.dtype, copy=False), np.ones(array.shape[1:], bool) if valid is True else valid

    def close(self) -> None:
        """Close all files; the image cannot be read after that."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        height, width = self.shape
        return f"Image {self.label}: {width} x {height} pixels, bands {', '.join(self.band_names)}"


def open_image(paths: Paths, bands: Bands | None = None, crs: Any = None, nodata: float | None = None) -> Image:
    """The image in a file, or in several files of the same grid whose bands are stacked in their order.

    Parameters
    ----------
    paths : path or list of paths
        GeoTIFF, PNG, JPEG, and whatever else GDAL reads.
    bands : str or list, optional
        The bands to read, by number (from 1) or name: ``[1, 2, 4]``, ``"1-3,near infrared"``. By default all but those
        that are transparency: programs mark the fourth band of bytes as alpha unasked, so a band that is marked so
        counts as transparency only if its values are those of transparency (nearly all 0 or the largest).
    crs : str, optional
        The coordinate system, such as "EPSG:32632", of an image whose file says none or a wrong one.
    nodata : float, optional
        The value that means "no value" in every band, instead of those that the files say: a pixel with it in any band
        is not read as a measurement.

    Returns
    -------
    Image

    See Also
    --------
    draw_samples : The pixels of an image in training areas.
    Image : What is opened.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"driver": "GTiff", "count": 1, "width": 5, "height": 4, "dtype": "uint8", "nodata": 0}
    ...     form["transform"] = rasterio.Affine(30, 0, 500_000, 0, -30, 200_000)
    ...     for name in ("red", "infrared"):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", **form) as file:
    ...             file.write(np.arange(20, dtype="uint8").reshape(1, 4, 5))
    ...     with open_image([f"{folder}/red.tif", f"{folder}/infrared.tif"]) as image:
    ...         values, valid = image.read()
    ...         image.band_names, values.shape, int(valid.sum())
    (('red', 'infrared'), (2, 4, 5), 19)
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise InputError("open_image needs at least one file, got an empty list.")
    return Image([os.fspath(path) for path in several], bands, crs, nodata=nodata)


def opened(image: Image | Paths) -> AbstractContextManager[Image]:
    """The image: one that came open stays open."""
    return nullcontext(image) if isinstance(image, Image) else open_image(image)


def refuse_other_bands(trained: Sequence[Band], image: Image) -> None:
    """Raise an error unless an image has the bands a model was trained on: as many, in the same order, of one type.

    Names that were written in the files must agree, unless the bands of the image were chosen. Names taken from file
    names may differ from scene to scene, so of those only one that stands in another place is refused.

    Parameters
    ----------
    trained : sequence of Band
        Of the image the model has learned from.
    image : Image
        Another one, to be classified.

    See Also
    --------
    bands_like : Finds the bands of a model by name or number.
    classify_image : Refuses other bands before it begins.
    open_image : Opens the image.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import Band, Image, refuse_other_bands
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grid = {"transform": rasterio.Affine.scale(10), "dtype": "uint8"}
    ...     rasterio.open(f"{folder}/new.tif", "w", "GTiff", 2, 2, 3, **grid).close()
    ...     with Image([f"{folder}/new.tif"]) as image:
    ...         refuse_other_bands([Band(name, "uint8", True) for name in ("red", "green", "blue")], image)
    """
    wanted = [band.name for band in trained]
    both = f"Trained on {listed(wanted, _MOST_NAMED)}; {image.label} has {listed(image.band_names, _MOST_NAMED)}."
    advice = " Give those bands, in that order (", Setting("bands"), ")."
    if len(wanted) != image.n_bands:
        words = f"The image must have the {len(wanted)} bands of the training image, got {image.n_bands}. {both}"
        raise ColumnError(words, *advice)
    for number, (old, new) in enumerate(zip(trained, image.bands, strict=True), start=1):
        moved = new.name in wanted and (new.named or not image.chosen)
        if old.name != new.name and ((old.named and new.named and not image.chosen) or moved):
            words = f"Band {number} of the image must be {old.name!r}, as in the training image, got {new.name!r}."
            raise ColumnError(f"{words} {both}", *advice)
        if old.dtype != new.dtype and not (old.dtype[:5] == new.dtype[:5] == "float"):
            raise ColumnError(
                f"Band {new.name!r} holds {new.dtype}, and in the training image it held {old.dtype}: its values may "
                "be on another scale. Convert the image to the type and scale of the training image."
            )
        if (old.scale, old.offset) != (new.scale, new.offset):
            raise ColumnError(
                f"The values of band {new.name!r} stand for {_scaling(new)}, and those of the training image for "
                f"{_scaling(old)}: they are on another scale. Convert the image to that of the training image."
            )


def _scaling(band: Band) -> str:
    return f"{band.scale:.10g} x value + {band.offset:.10g}"


def bands_like(trained: Sequence[Band], image: Image) -> Image:
    """The image with the bands a model was trained on, as far as they can be told.

    Bands go by the names that are written in the files; without such names by their numbers, in an image with as many
    bands as that of the training. Where neither serves, or the bands of the image were chosen already, it stays as it
    is.

    Parameters
    ----------
    trained, image : sequence of Band, and Image
        As in `refuse_other_bands`.

    Returns
    -------
    Image
        Whose bands `refuse_other_bands` judges.

    See Also
    --------
    refuse_other_bands : Refuses what does not fit.
    open_image : Chooses bands.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import Band, bands_like, open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"transform": rasterio.Affine.scale(10), "count": 3, "dtype": "uint8"}
    ...     with rasterio.open(f"{folder}/new.tif", "w", driver="GTiff", width=2, height=2, **form) as file:
    ...         file.write(np.ones((3, 2, 2), dtype="uint8"))
    ...     with open_image(f"{folder}/new.tif") as image:
    ...         bands_like([Band("blue", "uint8", True), Band("red", "uint8", True)], image).band_names
    ('blue', 'red')
    """
    if image.chosen or not trained:
        return image
    places = {band.name: band.number for band in image.all_bands if band.named}
    if all(band.named and band.name in places for band in trained):
        numbers, by = [places[band.name] for band in trained], "names"
    elif all(band.of == len(image.all_bands) and band.number for band in trained):
        numbers, by = [band.number for band in trained], "numbers"
    else:
        return image
    if numbers == [band.number for band in image.bands]:
        return image
    found = image.take(numbers)
    words = f"Of {image.label} are read, as in the training and by {by}: bands {listed(numbers, _MOST_NAMED)}."
    found.chosen, found.findings = False, (*found.findings, Finding("note", "bands", None, words))
    return found


def refuse_palette(image: Image) -> None:
    """Raise an error where the values of an image are no measurements."""
    if image.palette is not None:
        raise InputError(
            f"The values of {image.label} are numbers of colours in a table, not measurements. Convert it to red, "
            "green and blue bands first, for example with gdal_translate -expand rgb."
        )


@contextmanager
def no_georeference_warning() -> Iterator[None]:
    """A photograph, and a map of it, has no coordinates; that is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", extra("rasterio.errors").NotGeoreferencedWarning)
        yield


def _dataset(path: str, handles: list[Any]) -> Any:
    rasterio = extra("rasterio")
    if os.path.isdir(path):
        raise InputError(f"{path!r} is a folder. Give the image file, or a list of its bands' files.")
    # Only of plain paths is it known: GDAL also opens parts of files and archives by longer names.
    if ":" not in path and not path.startswith("/vsi"):
        check_file(path)
    try:
        with _opening, no_georeference_warning():
            dataset = rasterio.open(path)
    except rasterio.errors.RasterioIOError as error:
        raise InputError(
            f"{path!r} cannot be opened as an image: {error}. Expected a GeoTIFF, PNG, JPEG or another image; if it is "
            "one, it may be damaged: copy it again."
        ) from error
    handles.append(dataset)
    return dataset


def check_file(path: str) -> None:
    """Refuse what is not there."""
    if not os.path.exists(path):
        raise InputError(f"There is no file {path!r}. Check its name and folder.")


def _label(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{Path(paths[0]).name!r}{more}"


def _choice(numbers: set[int]) -> Setting:
    """The setting that chooses these bands."""
    ordered = sorted(numbers)
    whole = len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1
    return Setting("bands", f"{ordered[0]}-{ordered[-1]}" if whole else ",".join(map(str, ordered)))


def _places(file: int, dataset: Any, marked_alpha: bool) -> list[_Place]:
    """The bands of a file."""
    kinds = [kind.name for kind in dataset.colorinterp]
    found = []
    for index in dataset.indexes:
        marked, name = kinds[index - 1] == "alpha", dataset.descriptions[index - 1]
        unnamed = not name or _TRANSPARENCY.search(name) is not None
        kind = "transparency" if marked_alpha else "values"
        if marked and unnamed and not marked_alpha:
            kind = _kind_of_alpha(dataset, index, kinds)
        found.append(_Place(file, index, marked, marked and kind == "transparency", kind == "blank"))
    return found


def _kind_of_alpha(dataset: Any, index: int, kinds: Sequence[str]) -> Literal["transparency", "blank", "values"]:
    """What a band that is marked as alpha holds.

    Transparency has one value, or next to only 0 and opaque. Between them lie the soft edges of a mosaic or a brush.
    """
    others = [other for other in dataset.indexes if kinds[other - 1] != "alpha"][:3]
    windows, read = _windows_all_over(dataset), []
    for window in windows:
        with _reading(dataset.name, window):
            read.append(dataset.read([index, *others], window=window))
    shades, *beside = np.concatenate([values.reshape(len(values), -1) for values in read], axis=1)
    seen = shades[np.isfinite(shades) & (shades != 0)]
    if not seen.size:  # a tile beyond the edge of a mosaic is blank in all bands, and transparent indeed
        shown = len(shades) == dataset.width * dataset.height and any(np.ptp(band) > 0 for band in beside)
        return "blank" if shown else "transparency"
    if (shades == seen[0]).all():
        return "transparency"
    largest = float(seen.max())
    # 1, 255, 65,535: the largest value of some number of bits.
    if not largest.is_integer() or largest < 1 or int(largest) & (int(largest) + 1):
        return "values"
    opaque = float(np.mean(seen == largest))
    soft = opaque >= _SOFT_OPAQUE and seen.size < shades.size and _even_slopes([one[0] for one in read], largest)
    return "transparency" if opaque >= _OPAQUE or soft else "values"


def _even_slopes(parts: Sequence[Array], largest: float) -> bool:
    """Whether what lies between 0 and opaque is mostly even slopes, and neither texture nor plains."""
    slopes, bends = [], []
    for part in parts:
        values = part.astype(np.float64) * 255 / largest
        middle = values[1:-1, 1:-1]
        between = (middle > 0) & (middle < 255)
        around = ((values[1:-1, :-2], values[1:-1, 2:]), (values[:-2, 1:-1], values[2:, 1:-1]))
        slopes.append(np.maximum(*(np.abs(after - before) for before, after in around))[between])
        bends.append(np.maximum(*(np.abs(before + after - 2 * middle) for before, after in around))[between])
    slope, bend = np.concatenate(slopes), np.concatenate(bends)
    return bool(slope.size and np.mean(slope > 0) > 0.5 and np.median(bend) <= _EVEN_SLOPE)


def _windows_all_over(dataset: Any) -> list[Any]:
    """Windows from all over an image that hold about so many pixels as are looked at, or all."""
    window, (height, width), (down, across) = extra("rasterio.windows").Window, dataset.shape, dataset.block_shapes[0]
    if width * height <= _LOOKED_AT_PIXELS:
        return [window(0, 0, width, height)]
    # Large blocks are looked at in parts, and of low ones several together: edges are seen where there are neighbours.
    rows = max(1, min(max(down, _LEAST_ROWS), _LOOKED_AT_PIXELS // 16 // across))
    pieces = [(left, top) for top in range(0, height, rows) for left in range(0, width, across)]
    most = max(1, _LOOKED_AT_PIXELS // (rows * across))
    chosen = np.linspace(0, len(pieces) - 1, min(len(pieces), most)).astype(int)
    places = [pieces[i] for i in chosen]
    return [window(left, top, min(across, width - left), min(rows, height - top)) for left, top in places]


def _sources(
    paths: Sequence[str], places: Sequence[_Place], chosen: dict[_Place, float | None], datasets: Sequence[Any]
) -> list[_Source]:
    """The files that hold the chosen bands, in their order; with the nodata value of each band."""
    flags, found = extra("rasterio.enums").MaskFlags, []
    for file in sorted({place.file for place in chosen}):
        dataset, indexes = datasets[file], tuple(place.index for place in chosen if place.file == file)
        for index in indexes:
            kind = dataset.dtypes[index - 1]  # GDAL has complex types that NumPy does not have
            if kind.startswith("complex") or np.dtype(kind).kind not in "iuf":
                raise DtypeError(f"Band {index} of {paths[file]!r} holds {kind}; expected real numbers.")
        own = [place for place in places if place.file == file and place.index not in indexes]
        # GDAL takes every band that is marked as alpha for a mask of the others; that is decided here.
        beside = dataset.mask_flag_enums[indexes[0] - 1]
        masked = flags.per_dataset in beside and flags.alpha not in beside
        alpha, nodata = (
            (place.index for place in own if place.transparent),
            (value for place, value in chosen.items() if place.file == file),
        )
        found.append(_Source(file, paths[file], indexes, tuple(nodata), tuple(alpha), masked))
    return found


def _bands(paths: Sequence[str], places: Sequence[_Place], datasets: Sequence[Any]) -> tuple[Band, ...]:
    """All bands of the files, by different names."""
    holding = Counter(place.file for place in places if not place.transparent)
    found = []
    for number, place in enumerate(places, start=1):
        dataset, i = datasets[place.file], place.index - 1
        colour = dataset.colorinterp[i].name
        written = dataset.descriptions[i] or (colour if colour in _COLOURS else None)
        made_up = Path(paths[place.file]).stem if len(paths) > 1 else ""
        alone = made_up and holding[place.file] == 1 and not place.transparent
        made_up = made_up if alone else f"{made_up} band {i + 1}".lstrip()
        scaling = float(dataset.scales[i]), float(dataset.offsets[i])
        found.append(Band(written or made_up, dataset.dtypes[i], written is not None, number, len(places), *scaling))
    # All names differ: those that several bands have get the number of the band in the image.
    often = Counter(band.name for band in found)
    return tuple(
        band if often[band.name] == 1 else replace(band, name=f"{band.name} ({band.number})") for band in found
    )


def _holding_values(values: Array, nodata: tuple[float | None, ...]) -> Array | bool:
    """Where every band has a value, or True where that is everywhere."""
    valid: Any = np.isfinite(values).all(axis=0) if values.dtype.kind == "f" else True
    for band, value in zip(values, nodata, strict=True):
        whole = band.dtype.kind != "f"
        if value is not None and np.isfinite(value) and (not whole or float(value).is_integer()):
            # No pixel equals a whole number beyond the type of the band.
            valid = valid & (band != (int(value) if whole else value))
    return valid


def apply_affine(transform: Sequence[float], x: Array, y: Array) -> Array:
    """The points (x, y) under an affine map, shape (n, 2).

    >>> import numpy as np
    >>> apply_affine((30, 0, 100, 0, -30, 200), np.array([0.5]), np.array([1.5]))
    array([[115., 155.]])
    """
    a, b, c, d, e, f = transform[:6]
    with np.errstate(invalid="ignore"):  # a place without coordinates has none afterwards either
        return np.column_stack((a * x + b * y + c, d * x + e * y + f))


def _refuse_other_grid(first_path: str, first: Any, path: str, other: Any) -> None:
    """Raise an error unless two files, open in rasterio, have the same pixels."""
    what, remedy = "grid", "Resample them to the same grid"
    if other.shape != first.shape:
        words = "has {0.width} x {0.height} pixels"
    elif not other.transform.almost_equals(first.transform, precision=1e-6 * max(map(abs, first.res))):
        words = "begins at ({0.transform.c:.10g}, {0.transform.f:.10g}) with pixels of {0.res}"
    elif first.crs and other.crs and first.crs != other.crs:
        what, words, remedy = "coordinate system", "has {0.crs}", "Reproject them"
    else:
        return
    both = f"{first_path!r} {words.format(first)}, {path!r} {words.format(other)}"
    raise InputError(f"The files of an image must have one {what}: {both}. {remedy} first.")


def as_crs(given: Any, name: str) -> Any:
    """A coordinate system as rasterio has it, or None."""
    if not given:
        return None
    try:
        return extra("rasterio.crs").CRS.from_user_input(given)
    except extra("rasterio.errors").CRSError as error:
        raise InputError(
            f"{name}: the coordinate system {given!r} is not known ({str(error).rstrip('.')}). Expected a code such as "
            "EPSG:32632, or a definition as WKT or PROJ text."
        ) from error


def same_crs(source: str, crs: Any, image: Image) -> bool:
    """Whether areas and a georeferenced image have one coordinate system; an error if only one of them says its own."""
    if (crs is None) != (image.crs is None):
        silent, other = (source, image.label) if crs is None else (image.label, source)
        known = image.crs if crs is None else crs
        raise InputError(
            f"{silent} does not say its coordinate system (CRS), and {other} is in {known}: where they meet is not "
            f"known. Find out the system of {silent} and give it (", Setting("areas_crs" if crs is None else "crs"),
            ").",
        )  # fmt: skip
    # Systems with an unknown datum count as equal to all like them; their numbers in the EPSG list may still differ.
    return crs is None or bool(crs == image.crs and crs.to_epsg() == image.crs.to_epsg())


def transform_points(crs: Any, other: Any, xy: Array) -> Array:
    """Points of one coordinate system, shape (n, 2), in another; infinite where it has no such place."""
    try:
        return np.column_stack(extra("rasterio.warp").transform(crs, other, xy[:, 0], xy[:, 1]))
    except (extra("rasterio.errors").RasterioError, extra("rasterio._err").CPLE_BaseError) as error:
        raise InputError(
            f"No place can be brought from {crs} to {other}: {error}. Give the right coordinate systems (",
            Setting("crs"), " of the image, ", Setting("areas_crs"), " of the areas).",
        ) from error  # fmt: skip


def densified(geometries: Array, move: PointTransform) -> Array:
    """The shapes with all their points moved, and with points added to edges that are not straight any more.

    An edge is straight in the system it was drawn in. Moving its ends alone would draw a chord: a parallel of 100 km at
    latitude 45 leaves it by 200 m.

    >>> import shapely
    >>> strip = np.array([shapely.box(0, 0, 4, 1)])
    >>> [bow] = densified(strip, lambda xy: np.column_stack((xy[:, 0], xy[:, 1] + xy[:, 0] ** 2)))
    >>> bow.contains(shapely.Point(2, 4.5)), bow.contains(shapely.Point(2, 8.5))  # the second is between its corners
    (True, False)
    """
    shapely = extra("shapely")
    for _ in range(_MOST_ROUNDS):
        longest = _longest_straight(geometries, move)
        long = np.flatnonzero(np.isfinite(longest))
        if not long.size:
            break
        geometries = geometries.copy()
        geometries[long] = shapely.segmentize(geometries[long], longest[long])
    return np.asarray(shapely.transform(geometries, move))


def _longest_straight(geometries: Array, move: PointTransform) -> Array:
    """How long the edges of each shape may be, so that their chords are in their places; infinite where they are."""
    shapely = extra("shapely")
    # Outlines of areas, lines as they are; points have no edges.
    edges = np.where(shapely.get_dimensions(geometries) == 2, shapely.boundary(geometries), geometries)
    parts, part_of = shapely.get_parts(edges, return_index=True)
    xy, of = shapely.get_coordinates(parts, return_index=True)
    one_line = of[1:] == of[:-1]
    starts, ends, owner = xy[:-1][one_line], xy[1:][one_line], part_of[of[:-1][one_line]]
    pieces = np.clip(np.ceil(np.sqrt(_departure(starts, ends, move) / _EDGE_TOLERANCE)), 1, _MOST_PIECES)
    length = np.where(pieces > 1, np.hypot(*(ends - starts).T) / pieces, np.inf)
    longest = np.full(len(geometries), np.inf)
    np.minimum.at(longest, owner, length)
    return longest


def _departure(starts: Array, ends: Array, move: PointTransform) -> Array:
    """How far each moved edge is from the chord between its moved ends; 0 where that is not known."""
    first, last = move(starts), move(ends)
    with np.errstate(invalid="ignore"):
        off = [np.hypot(*(move(starts + t * (ends - starts)) - first - t * (last - first)).T) for t in _LOOKED_AT]
    return np.max(np.where(np.isfinite(off), off, 0.0), axis=0)
