"""Coordinate systems: affine transforms of pixels, and reprojection of points and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import Array
from ..errors import InputError, Setting
from ..kernels import pixels as kernels
from .files import extra

if TYPE_CHECKING:
    from rasterio.crs import CRS
    from rasterio.windows import Window

    from .image import Image
    from .samples import Samples


#: Longitudes range from -180 to 180 or from 0 to 360; larger values are not degrees.
MAX_DEGREES: Final = 361

#: Before reprojection, edges are cut into pieces of at most the extent of all shapes divided by this. A straight edge
#: of 1,000 km then deviates by less than a centimetre from its curve in the other system.
PIECES_PER_EXTENT: Final = 4096


def apply_affine(transform: Sequence[float], x: Array, y: Array) -> Array:
    """The points (x, y) under an affine transform, shape (n, 2).

    >>> import numpy as np
    >>> apply_affine((30, 0, 100, 0, -30, 200), np.array([0.5]), np.array([1.5]))
    array([[115., 155.]])
    """
    a, b, c, d, e, f = transform[:6]
    with np.errstate(invalid="ignore"):  # infinite coordinates stay infinite
        return np.column_stack((a * x + b * y + c, d * x + e * y + f))


def as_crs(given: str | CRS | None, name: str) -> CRS | None:
    """A coordinate system as a rasterio object, or None."""
    if not given:
        return None
    try:
        return extra("rasterio.crs").CRS.from_user_input(given)
    except extra("rasterio.errors").CRSError as error:
        raise InputError(
            f"{name}: unknown coordinate system {given!r} ({str(error).rstrip('.')}). Give a code such as EPSG:32632, "
            "WKT or PROJ text."
        ) from error


def same_crs(source: str, crs: CRS | None, image: Image) -> bool:
    """Whether areas and a georeferenced image have the same coordinate system; an error if only one has any."""
    if (crs is None) != (image.crs is None):
        unknown, known, own = (source, image.label, image.crs) if crs is None else (image.label, source, crs)
        words = f"{unknown} has no coordinate system, but {known} is in {own}. Give it with "
        raise InputError(words, Setting("areas_crs" if crs is None else "crs"), ".")
    # Systems with an unknown datum compare equal; their EPSG codes may still differ.
    return crs is None or bool(crs == image.crs and crs.to_epsg() == image.crs.to_epsg())


def transform_points(crs: CRS, target: CRS, xy: Array) -> Array:
    """Points, shape (n, 2), transformed to another coordinate system; infinite where that is undefined."""
    try:
        return np.column_stack(extra("rasterio.warp").transform(crs, target, xy[:, 0], xy[:, 1]))
    except (extra("rasterio.errors").RasterioError, extra("rasterio._err").CPLE_BaseError) as error:
        raise InputError(
            f"Cannot transform coordinates from {crs} to {target}: {error}. Check the coordinate systems of the image "
            "(",
            Setting("crs"), ") and of the areas (", Setting("areas_crs"), ").",
        ) from error  # fmt: skip


def transform_shapes(geometries: Array, transform: Callable[[Array], Array]) -> Array:
    """Shapes whose points, shape (n, 2), were transformed, with points added to edges so that they can curve.

    An edge is straight in the system in which it was drawn. Transforming only its ends would draw a chord: a parallel
    of 100 km at latitude 45 deviates from it by 200 m.

    >>> import shapely
    >>> strip = np.array([shapely.box(0, 0, 4, 1)])
    >>> [bow] = transform_shapes(strip, lambda xy: np.column_stack((xy[:, 0], xy[:, 1] + xy[:, 0] ** 2)))
    >>> bow.contains(shapely.Point(2, 4.5)), bow.contains(shapely.Point(2, 8.5))  # the second lies between its corners
    (True, False)
    """
    shapely = extra("shapely")
    left, bottom, right, top = shapely.total_bounds(geometries)
    longest = max(right - left, top - bottom) / PIECES_PER_EXTENT
    cut = shapely.segmentize(geometries, longest) if longest > 0 else geometries
    return np.asarray(shapely.transform(cut, transform))


#: WGS 84 ellipsoid: semi-major axis in metres, and squared eccentricity.
SEMI_MAJOR_AXIS: Final = 6_378_137.0
SQUARED_ECCENTRICITY: Final = 0.00669437999014

_SQUARE_METRES_PER_HECTARE: Final = 10_000
#: Size of the lattice: with 512 parallels the relative error of pixel areas in degrees is 5e-6.
MAX_LATTICE_ROWS: Final = 512
MAX_LATTICE_COLUMNS: Final = 64


def geographic(crs: CRS, xy: Array) -> Array | None:
    """Longitudes and latitudes of points in degrees, shape (n, 2); None if the system has no position on the Earth.

    Points outside the domain of the system are infinite.
    """
    rasterio = extra("rasterio")
    try:
        found = transform_points(crs, rasterio.crs.CRS.from_epsg(4326), xy)
    except InputError:
        return None
    return found if np.isfinite(found).any() else None


def ground_plane(samples: Samples) -> tuple[Array, str]:
    """Positions of pixels in a plane with ground distances, shape (n, 2), and their unit.

    The sinusoidal projection about the centre of the samples: distances are correct to 1 % within about 500 km. Without
    a coordinate system, positions are columns and rows.
    """
    pixels = np.column_stack((samples.columns + 0.5, samples.rows + 0.5)).astype(np.float64)
    crs = as_crs(samples.origin.crs, "The samples")
    if crs is None:
        return pixels, "pixels"
    places = geographic(crs, samples.coordinates)
    if places is None:
        return samples.coordinates, "units of the coordinate system"
    longitude, latitude = np.radians(places).T
    east = np.remainder(longitude - longitude[0] + np.pi, 2 * np.pi) - np.pi
    plane = np.column_stack(((east - east.mean()) * np.cos(latitude), latitude - latitude.mean()))
    return SEMI_MAJOR_AXIS * plane, "m"


def authalic(latitude: Array) -> Array:
    """The area between the equator and a parallel over one radian of longitude, divided by the squared semi-major axis.

    >>> round(float(4 * np.pi * authalic(np.array([90.0]))[0] * SEMI_MAJOR_AXIS**2 / 1e12), 3)  # the Earth, in 10^6 km2
    510.066
    """
    sine, e = np.sin(np.radians(latitude)), np.sqrt(SQUARED_ECCENTRICITY)
    found = sine / (1 - SQUARED_ECCENTRICITY * sine**2) + np.arctanh(e * sine) / e
    return np.asarray((1 - SQUARED_ECCENTRICITY) / 2 * found)


@dataclass(frozen=True, eq=False)
class PixelAreas:
    """Areas of pixels on the ground, in hectares, on a lattice between whose nodes they are interpolated."""

    rows: Array
    columns: Array
    hectares: Array

    def of_window(self, window: Window) -> Array:
        """The areas of the pixels of a window, shape (height, width)."""
        return _interpolated(self.columns, self.of_rows(window).T, window.col_off + np.arange(window.width)).T

    def of_rows(self, window: Window) -> Array:
        """The areas at the columns of the lattice in the rows of a window, shape (height, columns)."""
        return _interpolated(self.rows, self.hectares, window.row_off + np.arange(window.height))

    def at(self, rows: Array, columns: Array) -> Array:
        """The areas of the pixels in these rows and columns, shape (rows, columns)."""
        return _interpolated(self.columns, _interpolated(self.rows, self.hectares, rows).T, columns).T


def code_areas(codes: Array, window: Window, n_codes: int, areas: PixelAreas | None) -> tuple[Array, Array]:
    """The number of pixels and the hectares of each code below ``n_codes`` in a window; hectares are 0 without areas.

    ``codes`` are uint8 or uint16, shape (height, width).
    """
    pixels, hectares = np.zeros(n_codes, dtype=np.int64), np.zeros(n_codes)
    if areas is None:
        nodes, values = np.array([0.0, 1.0]), np.zeros((window.height, 2))
    elif len(areas.columns) == 1:
        nodes, values = np.array([0.0, 1.0]), np.repeat(areas.of_rows(window), 2, axis=1)
    else:
        nodes, values = areas.columns - window.col_off, areas.of_rows(window)
    kernels.code_areas(codes, nodes, np.ascontiguousarray(values), pixels, hectares)
    return pixels, hectares


def pixel_areas(image: Image) -> PixelAreas | None:
    """The areas of the pixels of an image on the ellipsoid; None if it has no coordinate system.

    For a local system without a position on the Earth they are the areas in its plane.
    """
    if image.crs is None or not image.georeferenced:
        return None
    height, width = image.shape
    rows = np.linspace(0, height - 1, min(height, MAX_LATTICE_ROWS))
    columns = np.linspace(0, width - 1, min(width, MAX_LATTICE_COLUMNS))
    column, row = (part.ravel() for part in np.meshgrid(columns, rows))
    corners = [apply_affine(image.transform, column + right, row + down) for right, down in _CORNERS]
    places = geographic(image.crs, np.concatenate(corners))
    if places is None:
        if not image.crs.is_projected:
            return None
        metres = image.crs.linear_units_factor[1]
        areas = np.full(len(row), abs(image.transform.determinant) * metres**2)
    else:
        areas = _quadrilaterals(places.reshape(len(_CORNERS), -1, 2))
    return PixelAreas(rows, columns, areas.reshape(len(rows), len(columns)) / _SQUARE_METRES_PER_HECTARE)


#: Corners of a pixel in order, as offsets of column and row.
_CORNERS: Final = ((0, 0), (1, 0), (1, 1), (0, 1))


def _quadrilaterals(places: Array) -> Array:
    """The areas in square metres of small quadrilaterals with these longitudes and latitudes, shape (4, n, 2)."""
    known: Array = np.asarray(np.isfinite(places).all(axis=(0, 2)))
    degrees = np.where(known[None, :, None], places, 0.0)
    # Longitudes are relative to the first corner: a pixel may cross the date line.
    x = np.radians(np.remainder(degrees[..., 0] - degrees[0, :, 0] + 180, 360) - 180)
    y = authalic(np.clip(degrees[..., 1], -90, 90))
    y = y - y[0]
    twice = (x[2] - x[0]) * (y[3] - y[1]) - (x[3] - x[1]) * (y[2] - y[0])
    return np.asarray(np.where(known, np.abs(twice) / 2 * SEMI_MAJOR_AXIS**2, 0.0))


def _interpolated(places: Array, values: Array, wanted: Array) -> Array:
    """Linear interpolation along the first axis."""
    if len(places) == 1:
        return np.repeat(values, len(wanted), axis=0)
    below = np.clip(np.searchsorted(places, wanted, side="right") - 1, 0, len(places) - 2)
    share = ((wanted - places[below]) / (places[below + 1] - places[below]))[:, None]
    return np.asarray((1 - share) * values[below] + share * values[below + 1])
