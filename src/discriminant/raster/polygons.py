"""Polygons of a class map, in GeoPackage or GeoJSON: class, mean probability and hectares of each patch.

The map is read in strips of whole rows. A patch that does not reach the last row of its strip is complete and written;
the others are joined with those of the next strip. Memory is needed for a strip and for the patches that continue.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import DiscriminantError, InputError
from ..files import check_target, whole_file
from ..results import Result, aligned, jsonable
from .class_map import Legend, map_legend
from .coordinates import PixelAreas, apply_affine, pixel_areas
from .files import extra
from .image import Image, open_image

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

MapPath = str | os.PathLike[str]
#: Pixels of a strip, held with their patches, areas and probabilities.
STRIP_PIXELS: Final = 1 << 21
#: Number of polygons that are written at once.
BATCH_POLYGONS: Final = 10_000
#: Formats by ending. Coordinates of GeoJSON are longitudes and latitudes (RFC 7946).
_FORMATS: Final[dict[str, tuple[str, dict[str, str]]]] = {
    ".gpkg": ("GPKG", {}),
    ".geojson": ("GeoJSON", {"RFC7946": "YES"}),
}


@dataclass(frozen=True, eq=False, repr=False)
class MapPolygons(Result):
    """The polygons of a class map.

    Attributes
    ----------
    path : Path
        The file.
    polygons : dict
        The number of polygons by class.

    See Also
    --------
    map_polygons : Writes them.
    """

    path: Path
    polygons: dict[Any, int]

    def _columns(self) -> dict[str, Any]:
        return {"class": list(self.polygons), "polygons": list(self.polygons.values())}

    def to_dict(self) -> dict[str, Any]:
        """The number of polygons by class, and the file.

        Returns
        -------
        dict
            ``polygons`` by class, and ``file``.
        """
        return jsonable({"polygons": self.polygons, "file": str(self.path)})

    def __str__(self) -> str:
        rows = [["class", "polygons"], *([str(label), f"{n:,}"] for label, n in self.polygons.items())]
        return "\n".join([f"{self.path.name}: {sum(self.polygons.values()):,} polygons", *aligned(rows)])


def map_polygons(
    class_map: MapPath, output: MapPath, probability: MapPath | None = None, overwrite: bool = False
) -> MapPolygons:
    """Write the patches of a class map as polygons.

    A patch is a set of pixels of one class that are connected along sides. Its fields are the class, the code, the
    number of pixels, the hectares on the ellipsoid if the map has a coordinate system, and the mean probability.

    Parameters
    ----------
    class_map : path
        A map with a legend, or with one band of class codes.
    output : path
        GeoPackage (``.gpkg``), or GeoJSON (``.geojson``) in longitudes and latitudes.
    probability : path, optional
        The probability of each pixel on the same grid, as percent or share (first band), see `MapOptions`.
    overwrite : bool, default=False
        Replace an existing file.

    Returns
    -------
    MapPolygons

    See Also
    --------
    MapRule : Its minimum mapping unit reduces the number of polygons.
    classify_image : Writes class and probability maps.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import make_legend, map_polygons
    >>> form = {"driver": "GTiff", "height": 2, "width": 3, "count": 1, "dtype": "uint8", "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with rasterio.open(f"{folder}/map.tif", "w", **form, transform=rasterio.Affine.scale(10)) as file:
    ...         file.write(np.array([[[1, 2, 1], [1, 1, 1]]], dtype="uint8"))
    ...         file.update_tags(**make_legend(["forest", "water"]).tags())
    ...     print(map_polygons(f"{folder}/map.tif", f"{folder}/map.gpkg"))
    map.gpkg: 2 polygons
    class   polygons
    forest         1
    water          1
    """
    target = check_target(output, overwrite)
    if target.suffix.lower() not in _FORMATS:
        raise InputError(f"Cannot write polygons to {target.name!r}. Give a name that ends in {' or '.join(_FORMATS)}.")
    legend = map_legend(class_map)
    if probability is not None:
        open_image([os.fspath(class_map), os.fspath(probability)]).close()  # raises an error for another grid
    with open_image(class_map) as codes, open_image(class_map if probability is None else probability) as shares:
        strips = _Strips(codes, None if probability is None else shares, legend, pixel_areas(codes))
        counts: Counter[int] = Counter()
        schema = strips.schema
        _write(target, strips.batches(counts), schema, codes)
    return MapPolygons(target, {entry.label: counts[entry.code] for entry in legend.entries})


@dataclass(eq=False)
class _Patch:
    """A set of connected pixels; it may have been joined with another, its ``parent``."""

    code: int
    shapes: list[Any]  # parts of the polygon, in columns and rows
    sums: Array  # pixels, hectares, sum of probabilities, pixels with a probability
    parent: _Patch | None = field(default=None)

    @property
    def root(self) -> _Patch:
        found = self
        while found.parent is not None:
            found = found.parent
        if found is not self:
            self.parent = found
        return found

    def join(self, other: _Patch) -> None:
        """Join two patches."""
        first, second = self.root, other.root
        if first is not second:
            first.shapes += second.shapes
            first.sums = first.sums + second.sums
            second.parent, second.shapes = first, []


@dataclass(frozen=True, eq=False)
class _Strips:
    """Patches of a map, strip by strip."""

    codes: Image
    shares: Image | None
    legend: Legend
    areas: PixelAreas | None

    def _patches(self) -> Iterator[list[_Patch]]:
        """Complete patches, by strip."""
        height, width = self.codes.shape
        rows = max(STRIP_PIXELS // width, 1)
        above: list[_Patch | None] = [None] * width
        for top in range(0, height, rows):
            window = extra("rasterio.windows").Window(0, top, width, min(rows, height - top))
            patches, index = self._of_strip(window)
            # Pairs of patches above and below a side of two pixels.
            below = [patches[i - 1] if i else None for i in index[0].tolist()]
            for first, second in {(a, b) for a, b in zip(above, below, strict=True) if a and b and a.code == b.code}:
                first.join(second)
            last_row = index[-1] if top + rows < height else np.zeros(width, int)
            continued = {id(patches[i - 1].root) for i in np.unique(last_row).tolist() if i}
            before = [patch for patch in above if patch]
            roots = {id(patch.root): patch.root for patch in (*before, *patches)}
            yield [patch for key, patch in roots.items() if key not in continued]
            above = [patches[i - 1] if i else None for i in last_row.tolist()]

    def _of_strip(self, window: Any) -> tuple[list[_Patch], Array]:
        """The patches of a strip, and the index of the patch of each pixel, from 1."""
        shapely, features = extra("shapely"), extra("rasterio.features")
        values, valid = self.codes.read(window)
        valid &= np.isin(values[0], [entry.code for entry in self.legend.entries])
        found = list(features.shapes(values[0].astype(np.int32), mask=valid, connectivity=4))
        pairs = [(shape, i) for i, (shape, _) in enumerate(found, start=1)]
        index = np.zeros(valid.shape, np.int32)
        if pairs:
            features.rasterize(pairs, out=index)
        sums = self._sums(window, index, len(found))
        down = [(0.0, float(window.row_off))]
        shapes = [shapely.Polygon(shape["coordinates"][0], shape["coordinates"][1:]) for shape, _ in found]
        moved = shapely.transform(np.array(shapes, dtype=object), lambda xy: xy + down)
        parts = zip(found, moved, sums, strict=True)
        return [_Patch(int(code), [shape], own) for (_, code), shape, own in parts], index

    def _sums(self, window: Any, index: Array, n: int) -> Array:
        """Pixels, hectares, sum of probabilities and pixels with a probability of each patch, shape (n, 4)."""
        flat, sums = index.ravel(), np.zeros((n + 1, 4))
        sums[:, 0] = np.bincount(flat, minlength=n + 1)
        if self.areas is not None:
            sums[:, 1] = np.bincount(flat, self.areas.of_window(window).ravel(), n + 1)
        if self.shares is not None:
            values, known = self.shares.read(window)
            unit = 100 if values.dtype.kind in "iu" else 1
            sums[:, 2] = np.bincount(flat, np.where(known, values[0] / unit, 0).ravel(), n + 1)
            sums[:, 3] = np.bincount(flat, known.ravel(), n + 1)
        return sums[1:]

    @property
    def schema(self) -> Schema:
        """The fields of the polygons."""
        import pyarrow as pa

        numbers = all(isinstance(entry.label, int) for entry in self.legend.entries)
        fields = {"class": pa.int64() if numbers else pa.string(), "code": pa.int32(), "pixels": pa.int64()}
        fields |= {} if self.areas is None else {"hectares": pa.float64()}
        fields |= {} if self.shares is None else {"probability": pa.float64()}
        return pa.schema({**fields, "geometry": pa.binary()})

    def batches(self, counts: Counter[int]) -> Iterator[RecordBatch]:
        """The polygons as Arrow records; adds their numbers by code to ``counts``."""
        import pyarrow as pa

        for patches in self._patches():
            counts.update(patch.code for patch in patches)
            for start in range(0, len(patches), BATCH_POLYGONS):
                columns = self._fields(patches[start : start + BATCH_POLYGONS])
                yield pa.record_batch([pa.array(columns[f.name], f.type) for f in self.schema], schema=self.schema)

    def _fields(self, patches: Sequence[_Patch]) -> Mapping[str, Any]:
        shapely, transform = extra("shapely"), self.codes.transform
        shapes = [patch.shapes[0] if len(patch.shapes) == 1 else shapely.union_all(patch.shapes) for patch in patches]
        placed = shapely.transform(np.array(shapes, dtype=object), lambda xy: apply_affine(transform, *xy.T))
        sums, names = np.array([patch.sums for patch in patches]), self.legend.names
        with np.errstate(invalid="ignore"):
            means = sums[:, 2] / sums[:, 3]
        return {
            "class": [names[patch.code] for patch in patches],
            "code": [patch.code for patch in patches],
            "pixels": sums[:, 0].astype(np.int64),
            "hectares": sums[:, 1],
            "probability": [None if np.isnan(mean) else mean for mean in means.tolist()],
            "geometry": shapely.to_wkb(placed),
        }


def _write(target: Path, batches: Iterator[RecordBatch], schema: Schema, image: Image) -> None:
    """Write polygons to a file; after an error it is unchanged."""
    import pyarrow as pa

    driver, options = _FORMATS[target.suffix.lower()]
    crs = image.crs.to_wkt() if image.crs is not None and image.georeferenced else None
    form = {"layer": target.stem, "crs": crs, "geometry_name": "geometry", "geometry_type": "Polygon"}
    failed: list[Exception] = []

    def kept() -> Iterator[RecordBatch]:
        try:
            yield from batches
        except Exception as error:  # Arrow would only pass on its text
            failed.append(error)
            raise

    with whole_file(target) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about maps without a coordinate system
        try:
            reader = pa.RecordBatchReader.from_batches(schema, kept())
            extra("pyogrio").write_arrow(reader, str(part), driver=driver, layer_options=options if crs else {}, **form)
        except Exception as error:
            if failed and isinstance(failed[0], DiscriminantError):
                raise failed[0] from None
            reason = str((failed or [error])[0]).rstrip(".")
            raise InputError(f"Writing {str(target)!r} failed: {reason}. Check the free disk space.") from error
