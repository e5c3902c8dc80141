"""Image files: handles opened once per thread, reads of windows, and masks of valid pixels."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..data import check_choice
from ..dependencies import optional_module
from ..errors import DtypeError, InputError

if TYPE_CHECKING:
    from affine import Affine
    from rasterio.crs import CRS
    from rasterio.io import DatasetReader
    from rasterio.windows import Window

#: Descriptions of a band that confirm its colour interpretation as alpha.
ALPHA_DESCRIPTIONS: Final = re.compile("alpha|mask|transparen|opacity", re.IGNORECASE)
#: GDAL marks the fourth band of 8-bit images as alpha by default, although it is often near infrared. It is read as
#: transparency if at least this share of its nonzero values, in this many blocks, equals their maximum (opaque).
MIN_OPAQUE_SHARE: Final = 0.75
N_ALPHA_BLOCKS: Final = 64
#: Coordinates are exact to this part of a pixel, so that pixels do not depend on the window that is read.
WARP_TOLERANCE: Final = 1e-9
#: Methods for files on other grids.
RESAMPLING: Final = ("auto", "nearest", "bilinear", "cubic", "average")
#: Warning filters are shared by all threads, so only one thread at a time opens files with a filter changed.
_opening = threading.Lock()


def extra(name: str) -> Any:
    """Import an optional module; the error for a missing one explains how to install it.

    >>> extra("rasterio.windows").Window(0, 0, 4, 3).height
    3
    """
    return optional_module(name, "Images")


@dataclass(frozen=True)
class BandPlace:
    """Position of a band in a stack of files."""

    file: int
    index: int  # in its file, from 1
    is_marked_alpha: bool
    is_alpha: bool  # marked as alpha, and its values are those of an alpha band


@dataclass(frozen=True)
class SourceFile:
    """One file of a stack: the bands to read, and what marks its invalid pixels."""

    file: int
    path: str
    indexes: tuple[int, ...]
    nodata: tuple[float | None, ...]
    alpha: tuple[int, ...]  # bands in which 0 hides a pixel
    has_mask: bool  # a mask stored beside the bands

    def read(self, dataset: DatasetReader, window: Window, shape: tuple[int, int] | None) -> tuple[Array, Array]:
        """The values of a window, and where all bands have a value."""

        def part(read: Callable[..., Array], indexes: tuple[int, ...]) -> Array:
            return read(indexes, window=window, out_shape=None if shape is None else (len(indexes), *shape))

        with _read_errors(self.path, window):
            values = part(dataset.read, self.indexes)
            valid = _has_values(values, self.nodata)
            if self.alpha:
                valid &= (part(dataset.read, self.alpha) != 0).all(axis=0)
            if self.has_mask:
                valid &= part(dataset.read_masks, self.indexes[:1])[0] > 0
        return values, valid


def _has_values(values: Array, nodata: tuple[float | None, ...]) -> Array:
    """Where every band is finite and differs from its nodata value."""
    is_real = values.dtype.kind == "f"
    valid = np.asarray(np.isfinite(values).all(axis=0) if is_real else np.ones(values.shape[1:], dtype=bool))
    for band, value in zip(values, nodata, strict=True):
        if value is not None and np.isfinite(value):
            valid &= band != (value if band.dtype.kind == "f" or value % 1 else int(value))
    return valid


@contextmanager
def _read_errors(path: str, window: Window | None) -> Iterator[None]:
    """Turn an error of rasterio into one that names the file and the rows."""
    try:
        yield
    except extra("rasterio.errors").RasterioError as error:
        where = "" if window is None else f" in rows {window.row_off} to {window.row_off + window.height - 1}"
        reason = str(error.__cause__ or error).rstrip(".")
        raise InputError(f"Cannot read {path!r}{where}: {reason}. The file may be damaged: copy it again.") from error


class ImageFiles:
    """Files that many threads read, each thread through its own handles.

    With ``resample``, files on other grids are resampled to ``grid`` or to that of the file with the smallest pixels.
    """

    def __init__(self, paths: Sequence[str], resample: str | None = None, grid: Grid | None = None) -> None:
        self.paths, self._resample, self._grid = tuple(paths), resample, grid
        self.handles: list[DatasetReader] = []
        self._own = threading.local()
        self._closed = False

    def datasets(self) -> list[DatasetReader]:
        """The handles of this thread, opened at the first call."""
        if self._closed:
            raise InputError(f"The image {label_of(self.paths)} is closed. Open it again with open_image.")
        if not hasattr(self._own, "datasets"):
            datasets = [_open_dataset(path, self.handles) for path in self.paths]
            if self._resample is not None:
                finest = min(datasets, key=lambda one: abs(one.transform.determinant))
                grid = self._grid or Grid.of(finest)
                datasets = [grid.resampled(one, self._resample, self.handles) for one in datasets]
            self._own.datasets = datasets
        return self._own.datasets

    def close(self) -> None:
        self._closed = True
        while self.handles:
            self.handles.pop().close()


@contextmanager
def no_georeference_warning() -> Iterator[None]:
    """Suppress rasterio's warning about images that are not georeferenced: photographs never are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", extra("rasterio.errors").NotGeoreferencedWarning)
        yield


def _open_dataset(path: str, handles: list[DatasetReader]) -> DatasetReader:
    rasterio = extra("rasterio")
    if os.path.isdir(path):
        raise InputError(f"{path!r} is a folder. Expected an image file, or a list of files with one band each.")
    # GDAL also opens parts of files and members of archives by longer names; only plain paths can be checked.
    if ":" not in path and not path.startswith("/vsi"):
        check_file(path)
    try:
        with _opening, no_georeference_warning():
            dataset: DatasetReader = rasterio.open(path)
    except rasterio.errors.RasterioIOError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"Cannot open {path!r} as an image: {reason}. Give a valid GeoTIFF, PNG or JPEG.") from error
    handles.append(dataset)
    return dataset


@dataclass(frozen=True)
class Grid:
    """The size and georeference of an image, to which other files are resampled."""

    name: str
    shape: tuple[int, int]
    crs: CRS | None
    transform: Affine

    @classmethod
    def of(cls, dataset: DatasetReader) -> Grid:
        return cls(dataset.name, tuple(dataset.shape), dataset.crs, dataset.transform)

    def resampled(self, dataset: DatasetReader, method: str, handles: list[DatasetReader]) -> DatasetReader:
        """A dataset on this grid; ``auto`` is bilinear, and nearest for a band with a colour table."""
        precision = 1e-6 * max(map(abs, dataset.res))
        is_near = dataset.transform.almost_equals(self.transform, precision=precision)
        if is_near and tuple(dataset.shape) == self.shape and dataset.crs == self.crs:
            return dataset
        self._refuse_uncovered(dataset)
        palette = dataset.colorinterp[0].name == "palette"
        own = ("nearest" if palette else "bilinear") if method == "auto" else method
        vrt: DatasetReader = extra("rasterio.vrt").WarpedVRT(
            dataset, crs=self.crs, transform=self.transform, height=self.shape[0], width=self.shape[1],
            resampling=extra("rasterio.enums").Resampling[own], tolerance=WARP_TOLERANCE,
        )  # fmt: skip
        handles.append(vrt)
        return vrt

    def _refuse_uncovered(self, dataset: DatasetReader) -> None:
        """Raise an error unless a dataset covers this grid, up to one of its pixels."""
        if dataset.crs is None or self.crs is None:
            raise InputError(
                f"{dataset.name!r} or {self.name!r} has no coordinate system, so they cannot be resampled to one grid. "
                "Georeference them first."
            )
        bounds = extra("rasterio.transform").array_bounds(*self.shape, self.transform)
        if dataset.crs != self.crs:
            bounds = extra("rasterio.warp").transform_bounds(self.crs, dataset.crs, *bounds)
        x, y = (abs(side) for side in dataset.res)
        left, bottom, right, top = dataset.bounds
        if left - x > bounds[0] or bottom - y > bounds[1] or right + x < bounds[2] or top + y < bounds[3]:
            words = f"{dataset.name!r} does not cover {self.name!r}, to whose grid it is resampled."
            raise InputError(f"{words} Give files of one scene.")


def check_resampling(method: str | None) -> None:
    """Raise an error for an unknown method."""
    if method is not None:
        check_choice("resample", method, RESAMPLING)


def check_file(path: str) -> None:
    """Raise an error if a file does not exist."""
    if not os.path.exists(path):
        raise InputError(f"File not found: {path!r}. Check its name and folder.")


def label_of(paths: Sequence[str]) -> str:
    """The name of an image in messages."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{Path(paths[0]).name!r}{more}"


def band_places(file: int, dataset: DatasetReader, trust_alpha: bool) -> list[BandPlace]:
    """The bands of a file; with ``trust_alpha`` the values of bands marked as alpha are not checked."""
    found = []
    for index, kind, name in zip(dataset.indexes, dataset.colorinterp, dataset.descriptions, strict=True):
        marked = kind.name == "alpha"
        described = name and not ALPHA_DESCRIPTIONS.search(name)
        is_alpha = marked and (trust_alpha or (not described and _is_opaque_or_zero(dataset, index)))
        found.append(BandPlace(file, index, marked, is_alpha))
    return found


def _is_opaque_or_zero(dataset: DatasetReader, index: int) -> bool:
    """Whether nearly all nonzero values of a band are equal, in blocks spread over the image."""
    windows = [window for _, window in dataset.block_windows(index)]
    places = np.unique(np.linspace(0, len(windows) - 1, N_ALPHA_BLOCKS).astype(int))
    with _read_errors(dataset.name, None):
        values = np.concatenate([dataset.read(index, window=windows[i]).ravel() for i in places])
    shown = values[values > 0]
    if not shown.size or (values == shown[0]).all():
        return True
    opaque = float(shown.max())  # 255 for 8 bits, 65,535 for 16
    has_all_bits = opaque.is_integer() and (int(opaque) + 1).bit_count() == 1
    return has_all_bits and bool(np.mean(shown == opaque) >= MIN_OPAQUE_SHARE)


def source_files(
    paths: Sequence[str],
    places: Sequence[BandPlace],
    chosen: dict[BandPlace, float | None],
    datasets: Sequence[DatasetReader],
) -> list[SourceFile]:
    """The files that hold the chosen bands, in the order of the stack; ``chosen`` has the nodata value of each band."""
    flags, found = extra("rasterio.enums").MaskFlags, []
    for file in sorted({place.file for place in chosen}):
        dataset, own = datasets[file], {place: value for place, value in chosen.items() if place.file == file}
        indexes = tuple(place.index for place in own)
        for index in indexes:
            dtype = dataset.dtypes[index - 1]  # GDAL has complex integers, which NumPy does not have
            if dtype.startswith("complex") or np.dtype(dtype).kind not in "iuf":
                raise DtypeError(f"Band {index} of {paths[file]!r} has type {dtype}. Expected real numbers.")
        alpha = tuple(place.index for place in places if place.file == file and place.is_alpha and place not in own)
        # GDAL reports every band marked as alpha as a mask; whether it is one is decided by `band_places`.
        mask = dataset.mask_flag_enums[indexes[0] - 1]
        has_mask = flags.per_dataset in mask and flags.alpha not in mask
        found.append(SourceFile(file, paths[file], indexes, tuple(own.values()), alpha, has_mask))
    return found


def refuse_other_grid(first_path: str, first: DatasetReader, path: str, other: DatasetReader) -> None:
    """Raise an error unless two files have the same size, transform and coordinate system."""
    what, remedy = "grid", "Resample them to the same grid"
    if other.shape != first.shape:
        words = "has {0.width} x {0.height} pixels"
    elif not other.transform.almost_equals(first.transform, precision=1e-6 * max(map(abs, first.res))):
        words = "starts at ({0.transform.c:.10g}, {0.transform.f:.10g}) with pixels of {0.res}"
    elif first.crs and other.crs and first.crs != other.crs:
        what, words, remedy = "coordinate system", "is in {0.crs}", "Reproject them"
    else:
        return
    both = f"{first_path!r} {words.format(first)}, {path!r} {words.format(other)}"
    raise InputError(f"The files of an image must have the same {what}: {both}. {remedy} first.")
