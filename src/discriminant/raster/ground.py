"""Where pixels lie on the ground, and how large they are there: on the ellipsoid, whatever the projection.

Areas are those on the WGS 84 ellipsoid. Longitude and the area between the equator and a parallel, divided by the
square of the semi-major axis, are equal-area coordinates (Snyder 1987, equations 3-12 and 10-17), so that the area of a
small pixel is the determinant of their derivatives by column and row. It is computed at places of a lattice and
interpolated between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from .image import as_crs, extra, transform_points

if TYPE_CHECKING:
    from .samples import Samples

#: The WGS 84 ellipsoid: semi-major axis in metres, and the square of the eccentricity.
SEMI_MAJOR_AXIS: Final = 6_378_137.0
SQUARED_ECCENTRICITY: Final = 0.00669437999014


def geographic(crs: Any, xy: Array) -> Array | None:
    """Longitudes and latitudes of points in degrees, shape (n, 2); None where the system has no place on the Earth."""
    rasterio = extra("rasterio")
    try:
        found = transform_points(crs, rasterio.crs.CRS.from_epsg(4326), xy)
    except rasterio.errors.RasterioError:
        return None
    return found if np.isfinite(found).all() else None


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
