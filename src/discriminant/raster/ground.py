"""Where pixels lie on the ground, and how large they are there: on the ellipsoid, whatever the projection.

Areas are those on the WGS 84 ellipsoid. Longitude and the area between the equator and a parallel, divided by the
square of the semi-major axis, are equal-area coordinates (Snyder 1987, equations 3-12 and 10-17), so that the area of a
small pixel is the determinant of their derivatives by column and row. It is computed at places of a lattice and
interpolated between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..errors import InputError
from .image import Image, apply_affine, as_crs, extra, transform_points

if TYPE_CHECKING:
    from .samples import Samples

#: The WGS 84 ellipsoid: semi-major axis in metres, and the square of the eccentricity.
SEMI_MAJOR_AXIS: Final = 6_378_137.0
SQUARED_ECCENTRICITY: Final = 0.00669437999014

_SQUARE_METRES_PER_HECTARE: Final = 10_000
#: Rows and columns of the lattice at most: between 512 parallels the area in degrees is right to 5 in a million.
LATTICE_ROWS: Final = 512
LATTICE_COLUMNS: Final = 64


def geographic(crs: Any, xy: Array) -> Array | None:
    """Longitudes and latitudes of points in degrees, shape (n, 2); None where the system has no place on the Earth.

    Single points beyond the edge of the system are infinite.
    """
    rasterio = extra("rasterio")
    try:
        found = transform_points(crs, rasterio.crs.CRS.from_epsg(4326), xy)
    except InputError:
        return None
    return found if np.isfinite(found).any() else None


def ground_plane(samples: Samples) -> tuple[Array, str]:
    """Places of pixels in a plane with ground distances, shape (n, 2), and their unit.

    The sinusoidal projection about the middle of the samples: right to 1 % within some 500 km. Without a coordinate
    system places are columns and rows.
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
    """The area of each pixel of an image on the ground, in hectares.

    Parameters
    ----------
    rows, columns : arrays
        Where the area is known, as numbers of pixels.
    hectares : array of shape (rows, columns)
        The area there; between them it is interpolated.
    """

    rows: Array
    columns: Array
    hectares: Array

    def of_window(self, window: Any) -> Array:
        """The areas of the pixels of a window, shape (height, width)."""
        by_row = _interpolated(self.rows, self.hectares, window.row_off + np.arange(window.height))
        return _interpolated(self.columns, by_row.T, window.col_off + np.arange(window.width)).T


def pixel_areas(image: Image) -> PixelAreas | None:
    """The areas of the pixels of an image on the ellipsoid; None where it has no coordinate system.

    A system that has no known place on the Earth has the areas of its own plane.
    """
    if image.crs is None or not image.georeferenced:
        return None
    height, width = image.shape
    rows = np.linspace(0, height - 1, min(height, LATTICE_ROWS))
    columns = np.linspace(0, width - 1, min(width, LATTICE_COLUMNS))
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


#: The corners of a pixel in turn: right and down from its own.
_CORNERS: Final = ((0, 0), (1, 0), (1, 1), (0, 1))


def _quadrilaterals(places: Array) -> Array:
    """The areas in square metres of small quadrilaterals with these longitudes and latitudes, shape (4, n, 2)."""
    known: Array = np.asarray(np.isfinite(places).all(axis=(0, 2)))
    degrees = np.where(known[None, :, None], places, 0.0)
    # Longitudes are measured from the first corner: a pixel may lie across the date line.
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
