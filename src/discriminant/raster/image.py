"""Images: bands read window by window on any number of threads, masks of what holds values, and coordinate systems."""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..data.checks import check_integer
from ..errors import ColumnError, DiscriminantError, DtypeError, InputError, Setting

Array = np.ndarray[Any, Any]
#: From points of shape (n, 2) to where they lie in the other system.
PointTransform = Callable[[Array], Array]
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

#: The colours by which GDAL knows the bands of a photograph.
_COLOURS = ("red", "green", "blue")
#: What a library changes in the settings of warnings holds for all threads: files are opened one after another.
_opening = threading.Lock()
_SQUARE_METRES_PER_HECTARE = 10_000
#: How far an edge may be from where it belongs, in units of the other system: a thousandth of a pixel.
_EDGE_TOLERANCE = 0.001
#: An edge is cut into at most this many pieces at a time, in so many rounds: an edge that ends where the other system
#: has no places would ask for ever more.
_MOST_PIECES, _MOST_ROUNDS = 256, 3
#: Where edges are looked at. Not the middle alone: an edge that bends like an S is in its place there.
_LOOKED_AT = (0.25, 0.5, 0.75)


def extra(name: str) -> Any:
    """The module of that name, or an error that says how to install it.

    >>> extra("rasterio.windows").Window(0, 0, 4, 3).height
    3
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise DiscriminantError(
            f"Images need the package {package!r}, which cannot be loaded ({error}). "
            "Install it with: pip install discriminant[raster]"
        ) from error


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


@dataclass(frozen=True)
class _Source:
    """One file of a stack: which of its bands count, and what says where they hold values."""

    path: str
    indexes: tuple[int, ...]
    nodata: tuple[float | None, ...]
    alpha: int | None  # the band that hides pixels by 0
    masked: bool  # whether a mask beside the bands does

    def read(self, dataset: Any, window: Any) -> tuple[Array, Array | bool]:
        """The values of a window, and where neither an alpha band nor a mask hides them; True without either."""
        try:
            values, hiding = dataset.read(self.indexes, window=window), None
            if self.alpha is not None:
                hiding = dataset.read(self.alpha, window=window)
            elif self.masked:
                hiding = dataset.read_masks(self.indexes[0], window=window)
        except extra("rasterio.errors").RasterioError as error:
            where = "" if window is None else f" in rows {window.row_off} to {window.row_off + window.height - 1}"
            raise InputError(
                f"{self.path!r} cannot be read{where}: {error.__cause__ or error}. The file seems to be damaged or cut "
                "short: copy it again."
            ) from error
        return values, True if hiding is None else hiding > 0


class Image:
    """The bands of one file, or of several files of one grid, read window by window.

    Made by `open_image`; a context manager, and safe to read from many threads: each has file handles of its own.

    Parameters
    ----------
    paths : sequence of str
        The files whose bands are stacked.

    Attributes
    ----------
    bands : tuple of Band
        In the order of the files.
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

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self._own = threading.local()
        self._handles: list[Any] = []
        self._closed = False
        try:
            self._describe(self._datasets())
        except BaseException:
            self.close()
            raise

    def _describe(self, datasets: list[Any]) -> None:
        first = datasets[0]
        for path, dataset in zip(self.paths[1:], datasets[1:], strict=True):
            _refuse_other_grid(self.paths[0], first, path, dataset)
        self._sources = [_source(path, dataset) for path, dataset in zip(self.paths, datasets, strict=True)]
        self.bands = _bands(self._sources, datasets)
        self.n_bands, self.band_names = len(self.bands), tuple(band.name for band in self.bands)
        self.dtypes = tuple(band.dtype for band in self.bands)
        self.dtype = np.result_type(*map(np.dtype, self.dtypes))
        self.shape: tuple[int, int] = tuple(first.shape)
        self.crs = next((dataset.crs for dataset in datasets if dataset.crs), None)
        self.transform = first.transform
        self.georeferenced = self.crs is not None or not self.transform.is_identity
        self.nodata = tuple(value for source in self._sources for value in source.nodata)
        hidden = any(source.masked or source.alpha is not None for source in self._sources)
        self.masked = hidden or any(value is not None for value in self.nodata)
        self.tags: dict[str, str] = first.tags()
        coloured = self.n_bands == 1 and first.colorinterp[0].name == "palette"
        self.palette: dict[int, tuple[int, ...]] | None = first.colormap(1) if coloured else None
        self._tile: list[int] = np.max([dataset.block_shapes[0] for dataset in datasets], axis=0).tolist()

    @property
    def alpha_bands(self) -> list[str]:
        """Which bands of which files are read as transparency, in words."""
        named = [(source.alpha, Path(source.path).name) for source in self._sources if source.alpha is not None]
        return [f"band {alpha} of {name!r}" for alpha, name in named]

    @property
    def pixel_hectares(self) -> float | None:
        """The area of a pixel in hectares, or None where the image is not in a projected system."""
        if self.crs is None or not self.crs.is_projected:
            return None
        metres = self.crs.linear_units_factor[1]
        return abs(self.transform.determinant) * metres**2 / _SQUARE_METRES_PER_HECTARE

    @property
    def label(self) -> str:
        """How messages call the image."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{Path(self.paths[0]).name!r}{more}"

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

    def read(self, window: Any = None) -> tuple[Array, Array]:
        """The values of a window, shape (bands, height, width), and where all bands hold one, shape (height, width).

        A pixel holds no value where a band has its nodata value, NaN or infinity, or where an alpha band or a mask
        hides it. Without a window the whole image is read.

        Parameters
        ----------
        window : rasterio Window, optional
            The part to read.

        Returns
        -------
        values : array of shape (bands, height, width)
            In the type of the image.
        valid : bool array of shape (height, width)
            Where all bands hold a value.
        """
        parts: list[Array] = []
        valid: Any = True
        for source, dataset in zip(self._sources, self._datasets(), strict=True):
            values, seen = source.read(dataset, window)
            parts.append(values)
            valid = valid & seen & _holding_values(values, source.nodata)
        array = parts[0] if len(parts) == 1 else np.concatenate([part.astype(self.dtype) for part in parts])
        return array.astype(self.dtype, copy=False), np.ones(array.shape[1:], bool) if valid is True else valid

    def close(self) -> None:
        """Close all files; the image cannot be read after that."""
        self._closed = True
        while self._handles:
            self._handles.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        height, width = self.shape
        return f"Image {self.label}: {width} x {height} pixels, bands {', '.join(self.band_names)}"

    def _datasets(self) -> list[Any]:
        """This thread's own handles on the files."""
        if self._closed:
            raise InputError(f"The image {self.label} is closed. Open it again with open_image.")
        if not hasattr(self._own, "datasets"):
            self._own.datasets = [_dataset(path, self._handles) for path in self.paths]
        return self._own.datasets


def open_image(paths: Paths) -> Image:
    """The image in a file, or in several files of the same grid whose bands are stacked in their order.

    Parameters
    ----------
    paths : path or list of paths
        GeoTIFF, PNG, JPEG, and whatever else GDAL reads.

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
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise InputError("open_image needs at least one file, got an empty list.")
    return Image([os.fspath(path) for path in listed])


def opened(image: Image | Paths) -> AbstractContextManager[Image]:
    """The image: one that came open stays open."""
    return nullcontext(image) if isinstance(image, Image) else open_image(image)


def refuse_other_bands(trained: Sequence[Band], image: Image) -> None:
    """Raise an error unless an image has the bands a model was trained on: as many, in the same order, of one type.

    Names that were written in the files must agree. Names taken from file names may differ from scene to scene, so of
    those only one that stands in another place is refused.

    Parameters
    ----------
    trained : sequence of Band
        Of the image the model has learned from.
    image : Image
        Another one, to be classified.

    See Also
    --------
    classify_image : Refuses other bands before it begins.
    open_image : Opens the image.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> from discriminant.raster import Band, open_image, refuse_other_bands
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"transform": rasterio.Affine.scale(10), "count": 3, "dtype": "uint8"}
    ...     with rasterio.open(f"{folder}/new.tif", "w", driver="GTiff", width=2, height=2, **form) as file:
    ...         file.write(np.ones((3, 2, 2), dtype="uint8"))
    ...     with open_image(f"{folder}/new.tif") as image:
    ...         refuse_other_bands([Band(name, "uint8", True) for name in ("red", "green", "blue")], image)
    """
    wanted, found = [band.name for band in trained], list(image.band_names)
    both = f"Trained on {', '.join(wanted)}; {image.label} has {', '.join(found)}."
    if len(wanted) != len(found):
        raise ColumnError(
            f"The image must have the {len(wanted)} bands of the training image, got {len(found)}. {both} "
            "Give those bands, in that order."
        )
    for number, (old, new) in enumerate(zip(trained, image.bands, strict=True), start=1):
        if old.name != new.name and ((old.named and new.named) or new.name in wanted):
            raise ColumnError(
                f"Band {number} of the image must be {old.name!r}, as in the training image, got {new.name!r}. {both} "
                "Give the bands in that order."
            )
        if old.dtype != new.dtype and not (old.dtype[:5] == new.dtype[:5] == "float"):
            raise ColumnError(
                f"Band {new.name!r} holds {new.dtype}, and in the training image it held {old.dtype}: its values may "
                "be on another scale. Convert the image to the type and scale of the training image."
            )


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


def _source(path: str, dataset: Any) -> _Source:
    kinds = [kind.name for kind in dataset.colorinterp]
    # Programs mark the fourth band of bytes as alpha unasked; a name of its own shows that it holds values.
    hiding = [i for i in dataset.indexes if kinds[i - 1] == "alpha" and not dataset.descriptions[i - 1]]
    alpha = hiding[0] if hiding else None
    indexes = tuple(i for i in dataset.indexes if i not in hiding)
    if not indexes:
        raise InputError(f"{path!r} has no band that holds values, only a mask. Give an image.")
    for i in indexes:
        kind = dataset.dtypes[i - 1]  # GDAL has complex types that NumPy does not have
        if kind.startswith("complex") or np.dtype(kind).kind not in "iuf":
            raise DtypeError(f"Band {i} of {path!r} holds {kind}; expected real numbers.")
    masked = alpha is None and extra("rasterio.enums").MaskFlags.per_dataset in dataset.mask_flag_enums[indexes[0] - 1]
    return _Source(path, indexes, tuple(dataset.nodatavals[i - 1] for i in indexes), alpha, masked)


def _bands(sources: list[_Source], datasets: list[Any]) -> tuple[Band, ...]:
    found = []
    for source, dataset in zip(sources, datasets, strict=True):
        for i in source.indexes:
            colour = dataset.colorinterp[i - 1].name
            written = dataset.descriptions[i - 1] or (colour if colour in _COLOURS else None)
            made_up = Path(source.path).stem if len(sources) > 1 else ""
            made_up += (" " if made_up else "") + f"band {i}" if len(source.indexes) > 1 or not made_up else ""
            found.append(Band(written or made_up, dataset.dtypes[i - 1], written is not None))
    # All names differ: those that several bands have get the number of the band in the image.
    often = Counter(band.name for band in found)
    return tuple(
        band if often[band.name] == 1 else replace(band, name=f"{band.name} ({number})")
        for number, band in enumerate(found, start=1)
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
        raise InputError(f"{name}: the coordinate system {given!r} is not known: {error}.") from error


def same_crs(source: str, crs: Any, image: Image) -> bool:
    """Whether areas and a georeferenced image have one coordinate system; an error if only one of them says its own."""
    if (crs is None) != (image.crs is None):
        silent, other = (source, image.label) if crs is None else (image.label, source)
        known = image.crs if crs is None else crs
        write = ('write it into the file, for example with "rio edit-info --crs".',)
        raise InputError(
            f"{silent} does not say its coordinate system (CRS), and {other} is in {known}: where they meet is not "
            f"known. Find out the system of {silent} and ",
            *(("give it (", Setting("crs"), ").") if crs is None else write),
        )
    # Systems with an unknown datum count as equal to all like them; their numbers in the EPSG list may still differ.
    return crs is None or bool(crs == image.crs and crs.to_epsg() == image.crs.to_epsg())


def transform_points(crs: Any, other: Any, xy: Array) -> Array:
    """Points of one coordinate system, shape (n, 2), in another; infinite where it has no such place."""
    return np.column_stack(extra("rasterio.warp").transform(crs, other, xy[:, 0], xy[:, 1]))


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
    parts, part_of = shapely.get_parts(geometries, return_index=True)
    rings, ring_of = shapely.get_rings(parts, return_index=True)
    xy, of = shapely.get_coordinates(rings, return_index=True)
    one_ring = of[1:] == of[:-1]
    starts, ends, owner = xy[:-1][one_ring], xy[1:][one_ring], part_of[ring_of[of[:-1][one_ring]]]
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
