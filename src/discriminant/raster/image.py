"""Images: bands read window by window by any number of threads, masks of valid pixels, and coordinate systems."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from ..arrays import Array
from ..data import check_integer
from ..errors import ColumnError, InputError, Message, Setting
from ..files import paths_of
from ..results import Finding, listed, suggestion
from .bands import MAX_NAMED_BANDS, Band
from .coordinates import MAX_DEGREES, apply_affine, as_crs
from .files import (
    BandPlace,
    ImageFiles,
    band_places,
    check_resampling,
    extra,
    label_of,
    refuse_other_grid,
    source_files,
)
from .masks import Mask, OpenMask

if TYPE_CHECKING:
    from rasterio.crs import CRS
    from rasterio.io import DatasetReader
    from rasterio.windows import Window

    from .band_math import ComputedBands

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
#: Bands by number or name, in a list or as text with commas: "1,2,4", "1-4", "red,near infrared".
Bands = str | Sequence[int | str]

#: Colour interpretations that name the bands of a photograph.
_COLOURS = ("red", "green", "blue")
#: Endings of the names of images.
IMAGE_ENDINGS: Final = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".img", ".vrt", ".jp2")
_BAND_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
#: A run of equal pixels from a corner over this share of the upper or lower edge is reported as a possible fill value.
MIN_FILLED_SHARE: Final = 0.25
#: Narrower images are not checked for fill values.
MIN_CHECKED_WIDTH: Final = 16


@dataclass(frozen=True)
class Reading:
    """How the values of an image are read, see `open_image`.

    Parameters
    ----------
    nodata : float, optional
        The nodata value of every band, instead of those declared in the files.
    mask : Mask, optional
        Pixels that are left out, such as clouds.
    resample : str, optional
        The method by which files on other grids are resampled.

    See Also
    --------
    open_image : Has the same parameters.

    Examples
    --------
    >>> from discriminant.raster.image import Reading
    >>> Reading(nodata=0).resample is None
    True
    """

    nodata: float | None = None
    mask: Mask | None = None
    resample: str | None = None

    def __post_init__(self) -> None:
        check_resampling(self.resample)


READ_AS_DECLARED: Final = Reading()


class Image:
    """The bands of one file, or of several files on the same grid, read window by window.

    Created by `open_image`; a context manager. Many threads can read from it: each has its own file handles.

    Parameters
    ----------
    paths : sequence of str
        The files whose bands are stacked.
    bands : str or list, optional
        Numbers or names of the bands to read, see `open_image`.
    crs : str, optional
        The coordinate system, if the file has none or a wrong one.
    painted : bool, default=False
        Whether every band marked as alpha is transparency, as in painted pictures; otherwise its values are checked.
    reading : Reading, default=READ_AS_DECLARED
        Nodata value, mask and resampling.

    Attributes
    ----------
    bands : tuple of Band
        The bands that are read, in the order of the files or as chosen.
    all_bands : tuple of Band
        All bands of the files.
    chosen : bool
        Whether the bands were chosen by the caller.
    findings : tuple of Finding
        Notes and warnings about alpha bands and the coordinate system.
    n_bands, band_names, dtypes : int, and tuples of str
        Number, names and types of the bands.
    dtype : numpy dtype
        The common type in which the bands are read.
    shape : tuple of int
        Height and width.
    crs : rasterio CRS or None
        The coordinate system.
    transform : affine.Affine
        From (column, row) to coordinates; the identity for an image that is not georeferenced.
    georeferenced : bool
        Whether pixels have coordinates other than their column and row.
    control_points : list
        Ground control points of an image without a georeferenced grid.
    placed_without_grid : str
        The kind of georeference if it is not a grid, else empty.
    nodata : tuple
        The nodata value of each band, or None.
    masked : bool
        Whether the files mark invalid pixels by nodata values, an alpha band or a mask.
    tags : dict
        The metadata of the first file.
    palette : dict or None
        The colour (red, green, blue, alpha) of each value of a single band with a colour table.

    See Also
    --------
    open_image : Opens an image.
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
        crs: str | CRS | None = None,
        painted: bool = False,
        reading: Reading = READ_AS_DECLARED,
    ) -> None:
        self.paths = tuple(paths)
        self._given_nodata, mask = reading.nodata, reading.mask
        self._files = ImageFiles(paths, reading.resample)
        self._mask: OpenMask | None = None
        try:
            datasets = self._files.datasets()
            if mask is not None:
                self._mask = OpenMask(mask, self.paths[0], datasets[0], reading.resample is not None)
            self._describe(datasets, painted)
            self._locate(datasets[0], crs)
            self._choose(None if bands is None else self._numbers(bands))
        except BaseException:
            self.close()
            raise

    def _describe(self, datasets: list[DatasetReader], painted: bool) -> None:
        """Set what the files have in common, and all their bands."""
        first = datasets[0]
        for path, dataset in zip(self.paths[1:], datasets[1:], strict=True):
            refuse_other_grid(self.paths[0], first, path, dataset)
        self._places = [place for file, dataset in enumerate(datasets) for place in band_places(file, dataset, painted)]
        self.all_bands = _bands(self.paths, self._places, datasets)
        self.shape: tuple[int, int] = tuple(first.shape)
        self.crs: CRS | None = next((dataset.crs for dataset in datasets if dataset.crs), None)
        self.transform = first.transform
        self.tags: dict[str, str] = first.tags()
        self._tile: list[int] = np.max([dataset.block_shapes[0] for dataset in datasets], axis=0).tolist()

    def _locate(self, first: DatasetReader, crs: str | CRS | None) -> None:
        """Set the georeference from the first file and the given coordinate system."""
        own, given = self.crs, as_crs(crs, self.label)
        points, self.control_points_crs = first.gcps
        self.georeferenced = own is not None or not self.transform.is_identity
        self.control_points: list[Any] = [] if self.georeferenced else points
        self.placed_without_grid = ""
        if self.control_points:
            self.placed_without_grid = f"{len(points)} ground control points"
        elif not self.georeferenced and first.rpcs is not None:
            self.placed_without_grid = "a camera model (RPC)"
        self._place_findings: list[Finding] = []
        if self.georeferenced and self.transform.is_degenerate:
            words = f"The pixels of {self.label} have size 0: its affine transform is {tuple(self.transform)[:6]}."
            raise InputError(f"{words} Correct the transform in the file.")
        if self.placed_without_grid:
            words = f"{self.label} {self.without_grid}"
            self._place_findings.append(Finding("note", "control-points", None, words))
        if given is not None and not self.georeferenced:
            why = self.without_grid if self.placed_without_grid else "is not georeferenced. Georeference it first."
            raise InputError(Setting("crs"), f" does not apply to {self.label}: it {why}")
        if given is not None:
            if own is not None and own != given:
                words = f"{self.label} is read as {given} instead of {own} ("
                self._place_findings.append(Finding("note", "crs", None, Message(words, Setting("crs"), ").")))
            self.crs = given
        largest = np.abs(apply_affine(self.transform, *np.array([(0, 0), self.shape[::-1]]).T)).max()
        if self.crs is not None and self.crs.is_geographic and largest > MAX_DEGREES:
            words = f"{self.label} is in {self.crs}, whose unit is degrees, but has coordinates up to {largest:,.0f}. "
            message = Message(words, "Give the correct coordinate system with ", Setting("crs"), ".")
            self._place_findings.append(Finding("warning", "crs", None, message))

    @property
    def without_grid(self) -> str:
        """The kind of georeference of an image without a grid, and the remedy."""
        warp = f"gdalwarp {Path(self.paths[0]).name} warped.tif"
        place = f"is georeferenced by {self.placed_without_grid}, not by a grid, so its pixels have no coordinates"
        return f"{place}. Warp it to a grid first: {warp}"

    def _choose(self, numbers: Sequence[int] | None) -> None:
        """Select the bands to read, in this order; None selects all but alpha bands."""
        self.chosen = numbers is not None
        if numbers is None:
            numbers = [number for number, place in enumerate(self._places, start=1) if not place.is_alpha]
        if not numbers:
            words = f"All bands of {self.label} are transparency (alpha). Select the bands with measurements ("
            raise InputError(words, Setting("bands"), ").")
        datasets, where = self._files.datasets(), [self._places[number - 1] for number in numbers]
        self.bands = tuple(self.all_bands[number - 1] for number in numbers)
        declared = [datasets[place.file].nodatavals[place.index - 1] for place in where]
        self.nodata = tuple(declared if self._given_nodata is None else [self._given_nodata] * len(where))
        self._sources = source_files(self.paths, self._places, dict(zip(where, self.nodata, strict=True)), datasets)
        files = [place.file for place in where]
        # Bands are read file by file, and then put into the chosen order.
        self._order = None if files == sorted(files) else np.argsort(np.argsort(files, kind="stable"))
        self._computed: ComputedBands | None = None
        self._set_bands(self.bands)
        hidden = self._mask is not None or any(source.has_mask or source.alpha for source in self._sources)
        self.masked = hidden or any(value is not None for value in self.nodata)
        one = datasets[where[0].file]
        coloured = self.n_bands == 1 and one.colorinterp[where[0].index - 1].name == "palette"
        self.palette: dict[int, tuple[int, ...]] | None = one.colormap(where[0].index) if coloured else None
        self.findings = (*self._place_findings, *self._alpha_findings())

    def _set_bands(self, bands: tuple[Band, ...]) -> None:
        self.bands, self.n_bands, self.band_names = bands, len(bands), tuple(band.name for band in bands)
        self.dtypes = tuple(band.dtype for band in bands)
        self.dtype = np.result_type(*map(np.dtype, self.dtypes))

    def _numbers(self, bands: Bands) -> list[int]:
        """The numbers of bands given by number or name."""
        given = bands.split(",") if isinstance(bands, str) else list(bands)
        found = [number for one in given for number in self.numbers_of(str(one).strip())]
        if not found:
            raise ColumnError(Setting("bands"), f" is empty. {self._bands_listed}")
        if len(set(found)) < len(found):
            words = f" contains the same band more than once: {given}. Name each band once."
            raise ColumnError(Setting("bands"), words)
        return found

    def numbers_of(self, text: str) -> list[int]:
        """The band numbers of a name, a number or a range of numbers.

        Parameters
        ----------
        text : str
            A name, a number or a range such as "1-3".

        Returns
        -------
        list of int
        """
        named = [band.number for band in self.all_bands if band.name == text]
        if named:
            return named
        limits = _BAND_RANGE.fullmatch(text if "-" in text else f"{text}-{text}")
        first, last = (int(limits[1]), int(limits[2])) if limits else (0, 0)
        if not 1 <= first <= last <= len(self.all_bands):
            hint = suggestion(text, [band.name for band in self.all_bands])
            words = f" must be numbers or names of bands, got {text!r}.{hint} {self._bands_listed}"
            raise ColumnError(Setting("bands"), words)
        return list(range(first, last + 1))

    @property
    def _bands_listed(self) -> str:
        """All bands, for messages."""
        named = [f"{band.number} {band.name}" if band.named else f"{band.number}" for band in self.all_bands]
        return f"Bands of {self.label}: {listed(named, MAX_NAMED_BANDS)}."

    def take(self, bands: Bands) -> Image:
        """The same image with some of its bands; both share the open files.

        Parameters
        ----------
        bands : str or list
            Numbers or names, see `open_image`.

        Returns
        -------
        Image
            It is closed together with this one.
        """
        made = copy(self)
        made._choose(self._numbers(bands))
        return made

    def computing(self, computed: ComputedBands) -> Image:
        """The same image with computed bands after its own; both share the open files.

        Parameters
        ----------
        computed : ComputedBands
            The bands, see `add_indices`.

        Returns
        -------
        Image
            It is closed together with this one.
        """
        made, own = copy(self), [band.number for band in self.bands]
        made._choose([*own, *sorted({band.number for band in computed.sources.values()}.difference(own))])
        made._computed = replace(computed, read=made.bands, n_kept=len(own))
        made.chosen, made.findings = self.chosen, self.findings
        made._set_bands((*self.bands, *computed.bands))
        return made

    def _alpha_findings(self) -> list[Finding]:
        """How bands marked as alpha are read, and the setting that changes it."""
        found, taken = [], {band.number for band in self.bands}
        for band, place in zip(self.all_bands, self._places, strict=True):
            name = f"Band {place.index} of {Path(self.paths[place.file]).name!r} is marked as alpha and"
            used = any(source.file == place.file for source in self._sources)
            if place.is_alpha and band.number not in taken and used:
                words, others = f"{name} is read as transparency. If it holds measurements: ", taken | {band.number}
            elif place.is_marked_alpha and band.number in taken and not (self.chosen or band.named):
                words, others = f"{name} is read as a measurement. To leave it out: ", taken - {band.number}
            else:
                continue
            found.append(Finding("note", "alpha", None, Message(words, _bands_setting(others), ".")))
        return found

    @property
    def label(self) -> str:
        """The name of the image in messages."""
        return label_of(self.paths)

    def fill_findings(self) -> tuple[Finding, ...]:
        """A note if equal pixels fill the upper or lower edge from a corner and are not declared as nodata.

        Returns
        -------
        tuple of Finding
            Findings of the kind "fill-value".
        """
        (height, width), window = self.shape, extra("rasterio.windows").Window
        if width < MIN_CHECKED_WIDTH:
            return ()
        for row in (0, height - 1):
            read, seen = (part.reshape(-1, width) for part in self.read(window(0, row, width, 1)))
            for values, valid in ((read, seen[0]), (read[:, ::-1], seen[0, ::-1])):
                value, stored = values[0, 0].item(), values[[not band.expression for band in self.bands]]
                filled = (stored == value).all(axis=0) & valid
                n_filled = width if filled.all() else int(np.argmin(filled))
                if n_filled >= MIN_FILLED_SHARE * width:
                    words = f"An edge of {self.label} is filled with pixels of value {value:g} in every band. If they "
                    message = Message(words, "are empty, declare them: ", Setting("nodata", value), ".")
                    return (Finding("note", "fill-value", None, message),)
        return ()

    def block_shape(self, block: int = 512) -> tuple[int, int]:
        """Height and width of a window of whole tiles that is at least ``block`` pixels high and wide.

        Parameters
        ----------
        block : int, default=512
            The minimum height and width, in pixels.

        Returns
        -------
        tuple of int
            Height and width.
        """
        check_integer("block", block, 1)
        down, across = (-(-block // side) * side for side in self._tile)
        return down, across

    def windows(self, block: int = 512) -> Iterator[Window]:
        """Windows that cover the image, row by row, each of whole tiles and at least ``block`` pixels high and wide.

        Windows are cut at the right and lower edge. Each tile belongs to one window only, so that it is decompressed
        once (in a stack of files this holds for the files with the largest tiles).

        Parameters
        ----------
        block : int, default=512
            The minimum height and width of a window.

        Yields
        ------
        rasterio Window
            The windows, in reading order.
        """
        window = extra("rasterio.windows").Window
        (height, width), (down, across) = self.shape, self.block_shape(block)
        for top in range(0, height, down):
            for left in range(0, width, across):
                yield window(left, top, min(across, width - left), min(down, height - top))

    def read(self, window: Window | None = None, shape: tuple[int, int] | None = None) -> tuple[Array, Array]:
        """The values of a window, shape (bands, height, width), and where they are valid, shape (height, width).

        A pixel is invalid if any band has its nodata value, NaN or infinity, or if an alpha band or a mask hides it
        (see `masked_pixels`).

        Parameters
        ----------
        window : rasterio Window, optional
            The part to read. Default: the whole image.
        shape : (height, width), optional
            Read at this lower resolution, by nearest neighbours and from overviews if the file has them.

        Returns
        -------
        values : array of shape (bands, height, width)
            In the common type of the bands.
        valid : bool array of shape (height, width)
            Where all bands have a value.
        """
        datasets = self._files.datasets()
        read = [source.read(datasets[source.file], window, shape) for source in self._sources]
        array = np.concatenate([values.astype(self.dtype, copy=False) for values, _ in read])
        valid = np.all([valid for _, valid in read], axis=0)
        if self._mask is not None:
            valid &= ~self._mask.read(window, shape)
        array = array if self._order is None else array[self._order]
        return (array, valid) if self._computed is None else self._computed.added(array, valid)

    def masked_pixels(self, window: Window) -> int:
        """The number of pixels of a window that the given mask leaves out.

        Parameters
        ----------
        window : rasterio Window
            The part to read.

        Returns
        -------
        int
        """
        return 0 if self._mask is None else int(np.count_nonzero(self._mask.read(window)))

    def close(self) -> None:
        """Close all files; the image can no longer be read."""
        self._files.close()
        if self._mask is not None:
            self._mask.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        height, width = self.shape
        return f"Image {self.label}: {width} x {height} pixels, bands {', '.join(self.band_names)}"


def open_image(
    paths: Paths,
    bands: Bands | None = None,
    crs: str | CRS | None = None,
    nodata: float | None = None,
    mask: Mask | None = None,
    resample: str | None = None,
) -> Image:
    """Open an image in one file, or in several files on the same grid whose bands are stacked in order.

    Parameters
    ----------
    paths : path or list of paths
        GeoTIFF, PNG, JPEG, or any other format that GDAL reads; or a folder, whose images are stacked by name.
    bands : str or list, optional
        The bands to read, by number (from 1) or name: ``[1, 2, 4]``, ``"1-3,near infrared"``. Default: all bands but
        transparency. GDAL marks the fourth band of 8-bit images as alpha by default, so a band marked as alpha is read
        as transparency only if nearly all its values are 0 or the maximum.
    crs : str, optional
        The coordinate system, such as "EPSG:32632", if the file has none or a wrong one.
    nodata : float, optional
        The nodata value of every band, instead of those declared in the files. A pixel with this value in any band is
        not read as a measurement.
    mask : Mask, optional
        Another raster on the same grid that marks pixels to leave out, such as clouds.
    resample : {"auto", "nearest", "bilinear", "cubic", "average"}, optional
        Resample files on other grids, such as bands of 20 m, to the grid of the file with the smallest pixels. ``auto``
        is bilinear, and nearest for a band with a colour table. A mask on another grid has its nearest value. Default:
        files on other grids raise an error.

    Returns
    -------
    Image

    See Also
    --------
    draw_samples : The pixels of an image in training areas.
    Image : The opened image.

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
    if len(several) == 1 and os.path.isdir(several[0]):
        folder = several[0]
        several = [path for path in paths_of(folder) if Path(path).suffix.lower() in IMAGE_ENDINGS]
        if not several:
            raise InputError(f"The folder {os.fspath(folder)!r} has no images. Give a folder with an image per band.")
    if not several:
        raise InputError("open_image needs at least one file, got an empty list. Give the path of an image.")
    return Image([os.fspath(path) for path in several], bands, crs, reading=Reading(nodata, mask, resample))


def opened(image: Image | Paths) -> AbstractContextManager[Image]:
    """Open an image and close it afterwards; an `Image` that is already open stays open."""
    return nullcontext(image) if isinstance(image, Image) else open_image(image)


def refuse_palette(image: Image) -> None:
    """Raise an error if the values of an image are indexes of a colour table."""
    if image.palette is not None:
        raise InputError(
            f"The values of {image.label} are indexes of a colour table. Expected measurements: convert the image to "
            "red, green and blue bands first, for example with gdal_translate -expand rgb."
        )


def _bands_setting(numbers: set[int]) -> Setting:
    """The setting that selects these bands."""
    ordered = sorted(numbers)
    is_range = len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1
    return Setting("bands", f"{ordered[0]}-{ordered[-1]}" if is_range else ",".join(map(str, ordered)))


def _bands(paths: Sequence[str], places: Sequence[BandPlace], datasets: Sequence[DatasetReader]) -> tuple[Band, ...]:
    """All bands of the files, with unique names."""
    n_bands = Counter(place.file for place in places if not place.is_alpha)
    found = []
    for number, place in enumerate(places, start=1):
        dataset, i = datasets[place.file], place.index - 1
        colour = dataset.colorinterp[i].name
        written = dataset.descriptions[i] or (colour if colour in _COLOURS else None)
        default = Path(paths[place.file]).stem if len(paths) > 1 else ""
        if not default or n_bands[place.file] > 1 or place.is_alpha:
            default = f"{default} band {i + 1}".lstrip()
        scaling = float(dataset.scales[i]), float(dataset.offsets[i])
        found.append(Band(written or default, dataset.dtypes[i], written is not None, number, len(places), *scaling))
    # The number of the band is added to names that are not unique.
    often = Counter(band.name for band in found)
    return tuple(
        band if often[band.name] == 1 else replace(band, name=f"{band.name} ({band.number})") for band in found
    )
