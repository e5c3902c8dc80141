"""GeoTIFFs that appear whole or not at all, on a disk that has room for them."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .extra import extra

#: Side of the tiles that are written, in pixels. Lower ones are as much wider.
_TILE = 256
#: What GeoTIFF asks the sides of tiles to be multiples of.
_TILE_STEP = 16
#: What stands behind the name of a raster in the names of the files that tell more about it.
_COMPANIONS = (".aux.xml", ".ovr", ".msk")
#: Overviews halve the image until its longer side is at most this.
_SMALLEST_OVERVIEW = 256


@dataclass(frozen=True)
class Grid:
    """Where the pixels of a raster lie."""

    height: int
    width: int
    crs: Any
    transform: Any


@dataclass(frozen=True)
class Plan:
    """A GeoTIFF that is going to be written.

    ``smooth`` says that values may be averaged in overviews; codes of classes may not.
    """

    path: Path
    grid: Grid
    dtype: str
    nodata: float
    bands: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[int, tuple[int, int, int, int]] | None = None
    overviews: bool = False
    smooth: bool = False
    tile: tuple[int, int] = (_TILE, _TILE)

    @property
    def most_bytes(self) -> int:
        """What the file takes if its values cannot be compressed at all."""
        plain = self.grid.height * self.grid.width * len(self.bands) * np.dtype(self.dtype).itemsize
        return plain * 4 // 3 if self.overviews else plain

    @property
    def profile(self) -> dict[str, Any]:
        """How rasterio opens the file."""
        grid = self.grid
        return {
            "driver": "GTiff", "width": grid.width, "height": grid.height, "crs": grid.crs,
            "transform": grid.transform, "count": len(self.bands), "dtype": self.dtype, "nodata": self.nodata,
            "tiled": True, "blockxsize": self.tile[1], "blockysize": self.tile[0],
            "bigtiff": "if_safer", "interleave": "band",
            # Level 6 makes maps a sixth smaller and takes seven times as long.
            "compress": "deflate", "zlevel": 1,
        }  # fmt: skip

    @property
    def reductions(self) -> list[int]:
        """By how much each overview is smaller."""
        found, factor = [], 2
        while self.overviews and max(self.grid.height, self.grid.width) * 2 > factor * _SMALLEST_OVERVIEW:
            found.append(factor)
            factor *= 2
        return found


def tile_of(height: int) -> tuple[int, int]:
    """Height and width of tiles for rasters that are written in windows of this height.

    A tile that lies in two windows is compressed twice, and takes its room in the file twice.

    >>> tile_of(512), tile_of(32), tile_of(100)
    ((256, 256), (32, 2048), (256, 256))
    """
    down = math.gcd(height, _TILE)
    return (_TILE, _TILE) if down < _TILE_STEP else (down, _TILE * _TILE // down)


def check_target(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """The path of a GeoTIFF that can be written; refuses another kind of file, and one that exists."""
    target = Path(os.path.realpath(Path(path).expanduser()))
    if target.suffix.lower() not in (".tif", ".tiff"):
        raise InputError(f"Maps are written as GeoTIFF: give a name that ends in .tif, got {str(path)!r}.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: there is no folder {str(target.parent)!r}. Make it first.")
    if target.is_dir():
        raise InputError(f"Cannot write {str(path)!r}: it is a folder. Give the name of a file in it.")
    return check_new(target, overwrite)


def check_new(target: Path, overwrite: bool) -> Path:
    """The path itself; refuses a file that exists and may not be replaced."""
    if target.exists() and not overwrite:
        raise InputError(f"{str(target)!r} exists. Give another name, or allow it to be replaced (overwrite).")
    return target


def check_space(plans: Sequence[Plan]) -> None:
    """Refuse to begin where the disk might not hold all files to the end."""
    needed: dict[int, int] = {}
    for plan in plans:
        folder = plan.path.parent
        disk = os.stat(folder).st_dev
        needed[disk] = needed.get(disk, 0) + plan.most_bytes
        free = shutil.disk_usage(folder).free
        if needed[disk] > free:
            raise InputError(
                f"Not enough room in {str(folder)!r}: the files may need {_size(needed[disk])}, and {_size(free)} are "
                "free. Make room, or write to another disk."
            )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.1f} MB"


@contextmanager
def new_rasters(plans: Sequence[Plan], texts: Mapping[Path, str]) -> Iterator[list[Any]]:
    """Open files to write windows to, as rasterio datasets in the order of the plans.

    When all went well and every tile is on the disk, the files take their names, and so do the ``texts`` that go with
    them. When not, none does, and nothing of them is left.
    """
    check_space(plans)
    parts = {target: _part(target) for target in (*(plan.path for plan in plans), *texts)}
    try:
        with ExitStack() as stack, _no_warning_of_missing_georeference():
            yield [stack.enter_context(_opened(plan, parts[plan.path])) for plan in plans]
        for plan in plans:
            _finish(plan, parts[plan.path])
        for target, text in texts.items():
            parts[target].write_text(text, encoding="utf-8")
        for part in parts.values():
            _settle(part)
        for target, part in parts.items():
            os.replace(part, target)
        _forget_companions(plans)
    except BaseException as error:
        for part in parts.values():
            part.unlink(missing_ok=True)
        if _is_failed_write(error):
            raise _unfinished(plans[0].path, error) from error
        raise


def _part(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(8)}.part{target.suffix}")


def _is_failed_write(error: BaseException) -> bool:
    return isinstance(error, (OSError, extra("rasterio.errors").RasterioError))


def _unfinished(path: Path, error: BaseException) -> InputError:
    cause = error.__cause__ or error
    return InputError(
        f"{str(path)!r} could not be written to its end: {cause}. Is the disk full? Nothing was left behind; files "
        "that were there are as before."
    )


@contextmanager
def _opened(plan: Plan, part: Path) -> Iterator[Any]:
    with extra("rasterio").open(part, "w", **plan.profile) as dataset:
        dataset.update_tags(**plan.tags)
        for number, name in enumerate(plan.bands, start=1):
            dataset.set_band_description(number, name)
        if plan.colours is not None:
            dataset.write_colormap(1, dict(plan.colours))
        yield dataset


def _finish(plan: Plan, part: Path) -> None:
    """Add overviews, and make sure that all of the file has reached the disk."""
    rasterio, resampling = extra("rasterio"), extra("rasterio.enums").Resampling
    with _no_warning_of_missing_georeference():
        if plan.reductions:
            with rasterio.open(part, "r+") as dataset:
                dataset.build_overviews(plan.reductions, resampling.average if plan.smooth else resampling.nearest)
        with rasterio.open(part) as dataset:
            _refuse_missing_tiles(plan, dataset, part.stat().st_size)
        for level in range(len(plan.reductions)):
            with rasterio.open(part, overview_level=level) as dataset:
                for _, window in dataset.block_windows(1):
                    dataset.read(window=window)


def _refuse_missing_tiles(plan: Plan, dataset: Any, n_bytes: int) -> None:
    """GDAL may write its last tiles when a file is closed, and then tells nobody that the disk was full."""
    for band in dataset.indexes:
        for (row, column), _ in dataset.block_windows(band):
            place = f"{column}_{row}"
            offset = dataset.get_tag_item(f"BLOCK_OFFSET_{place}", "TIFF", bidx=band)
            size = dataset.get_tag_item(f"BLOCK_SIZE_{place}", "TIFF", bidx=band)
            if offset is None or size is None or int(offset) + int(size) > n_bytes:
                raise OSError(f"tile {place} of band {band} is missing in {plan.path.name!r}")


def _forget_companions(plans: Sequence[Plan]) -> None:
    """Remove what GDAL and QGIS keep beside a raster: overviews, masks and statistics of the file that was there."""
    for plan in plans:
        for ending in _COMPANIONS:
            plan.path.with_name(plan.path.name + ending).unlink(missing_ok=True)


def _settle(part: Path) -> None:
    with open(part, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _no_warning_of_missing_georeference() -> Iterator[None]:
    """A map of a photograph has no coordinates either; that is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", extra("rasterio.errors").NotGeoreferencedWarning)
        yield
