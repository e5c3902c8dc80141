"""GeoTIFF files written window by window; a file gets its name only when it is complete."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import InputError
from ..files import check_target, whole_files
from .files import extra, no_georeference_warning

if TYPE_CHECKING:
    from rasterio.io import DatasetWriter

#: Side of the tiles that are written, in pixels. Tiles of smaller height are wider by the same factor.
TILE_SIDE: Final = 256
#: GeoTIFF requires the sides of tiles to be multiples of this.
TILE_STEP: Final = 16
#: Overviews halve the image until its longer side is at most this.
MAX_OVERVIEW_SIDE: Final = 256
#: Endings of the files that GDAL and QGIS keep beside a raster: statistics, overviews and masks.
_COMPANIONS: Final = (".aux.xml", ".ovr", ".msk")


@dataclass(frozen=True)
class RasterFile:
    """A GeoTIFF to be written.

    ``grid`` has its height, width, crs and transform. ``smooth`` allows overviews to average values, which codes of
    classes must not be. ``cog``: write a cloud-optimised GeoTIFF.
    """

    path: Path
    grid: Mapping[str, Any]
    dtype: str
    nodata: float
    bands: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[int, tuple[int, int, int, int]] | None = None
    overviews: bool = False
    smooth: bool = False
    cog: bool = False

    @property
    def pixel_bytes(self) -> int:
        """Uncompressed bytes per pixel."""
        return len(self.bands) * np.dtype(self.dtype).itemsize

    @property
    def max_bytes(self) -> int:
        """Size of the file if compression has no effect."""
        plain = self.grid["height"] * self.grid["width"] * self.pixel_bytes
        return plain * 4 // 3 * (1 + self.cog) if self.overviews or self.cog else plain

    @property
    def reductions(self) -> list[int]:
        """The reduction factors of the overviews."""
        longest = max(self.grid["height"], self.grid["width"]) if self.overviews else 0
        return [2**k for k in range(1, 32) if 2 * longest > 2**k * MAX_OVERVIEW_SIDE]


def tile_of(height: int) -> tuple[int, int]:
    """Height and width of tiles for rasters that are written in windows of this height.

    A tile that belongs to two windows would be compressed and stored twice.

    >>> tile_of(512), tile_of(32), tile_of(100)
    ((256, 256), (32, 2048), (256, 256))
    """
    down = math.gcd(height, TILE_SIDE)
    return (TILE_SIDE, TILE_SIDE) if down < TILE_STEP else (down, TILE_SIDE * TILE_SIDE // down)


def check_raster_target(path: str | os.PathLike[str], overwrite: bool) -> Path:
    """The path of a GeoTIFF to be written; an error for other formats and for files that must not be overwritten."""
    if Path(path).suffix.lower() not in (".tif", ".tiff"):
        raise InputError(f"Maps are written as GeoTIFF, got {str(path)!r}. Give a name that ends in .tif.")
    return check_target(path, overwrite)


def check_space(rasters: Sequence[RasterFile]) -> None:
    """Raise an error if the disk might not hold all files."""
    needed: dict[int, int] = {}
    for raster in rasters:
        folder = raster.path.parent
        disk = os.stat(folder).st_dev
        needed[disk] = needed.get(disk, 0) + raster.max_bytes
        free = shutil.disk_usage(folder).free
        if needed[disk] > free:
            need, available = (f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.1f} MB" for n in (needed[disk], free))
            raise InputError(
                f"Not enough disk space in {str(folder)!r}: the files may need {need}, but only {available} is free. "
                "Free some space, or write to another disk."
            )


@contextmanager
def new_rasters(
    rasters: Sequence[RasterFile], texts: Mapping[Path, str], tile: tuple[int, int] = (TILE_SIDE, TILE_SIDE)
) -> Iterator[list[DatasetWriter]]:
    """Open datasets of rasterio to write windows to, in the order of ``rasters``.

    When everything has reached the disk, the rasters and ``texts`` get their names. After an error nothing is left.
    """
    check_space(rasters)
    try:
        with whole_files([*(raster.path for raster in rasters), *texts]) as parts, no_georeference_warning():
            with ExitStack() as stack:
                yield [stack.enter_context(_create(*pair, tile)) for pair in zip(rasters, parts, strict=False)]
            for raster, part in zip(rasters, parts, strict=False):
                _finish(raster, part)
            for part, text in zip(parts[len(rasters) :], texts.values(), strict=True):
                part.write_text(text, encoding="utf-8")
    except (OSError, extra("rasterio.errors").RasterioError) as error:
        raise InputError(
            f"Writing {str(rasters[0].path)!r} failed: {error.__cause__ or error}. Existing files were not changed. "
            "Check the free disk space."
        ) from error
    # Those of a file that was replaced are out of date.
    for path in (beside(raster.path, ending) for raster in rasters for ending in _COMPANIONS):
        if path not in texts:
            path.unlink(missing_ok=True)


def beside(path: Path, ending: str) -> Path:
    """The file with this ending that describes a raster."""
    return path.with_name(path.name + ending)


def _create(raster: RasterFile, part: Path, tile: tuple[int, int]) -> DatasetWriter:
    dataset = extra("rasterio").open(
        part, "w", driver="GTiff", **raster.grid, count=len(raster.bands), dtype=raster.dtype, nodata=raster.nodata,
        tiled=True, blockxsize=tile[1], blockysize=tile[0], bigtiff="if_safer", interleave="band",
        # Level 6 makes maps one sixth smaller and takes seven times as long.
        compress="deflate", zlevel=1,
    )  # fmt: skip
    dataset.update_tags(**raster.tags)
    dataset.descriptions = raster.bands
    if raster.colours is not None:
        dataset.write_colormap(1, dict(raster.colours))
    return dataset


def _finish(raster: RasterFile, part: Path) -> None:
    """Add overviews, and check that the file is complete."""
    rasterio, resampling = extra("rasterio"), extra("rasterio.enums").Resampling
    if raster.reductions:
        with rasterio.open(part, "r+") as dataset:
            dataset.build_overviews(raster.reductions, resampling.average if raster.smooth else resampling.nearest)
    if raster.cog:
        _make_cog(part, raster.smooth)
    # GDAL may write its last tiles when a file is closed, and then does not report a full disk.
    with rasterio.open(part) as dataset:
        dataset.read(window=extra("rasterio.windows").Window(dataset.width - 1, dataset.height - 1, 1, 1))


def _make_cog(part: Path, smooth: bool) -> None:
    """Replace a GeoTIFF by a cloud-optimised one: tiles in order, overviews first, all in one file."""
    made = part.with_suffix(".cog.tif")
    form = {"compress": "deflate", "overview_resampling": "average" if smooth else "nearest", "bigtiff": "if_safer"}
    with no_georeference_warning():
        extra("rasterio.shutil").copy(part, made, driver="COG", **form)
    made.replace(part)
