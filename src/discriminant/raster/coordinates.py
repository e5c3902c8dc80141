"""Coordinate systems of areas and images, and shapes brought from one to another with their edges densified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError, Setting
from .image import Image, extra

Array = np.ndarray[Any, Any]
#: From points of shape (n, 2) to where they lie in the other system.
PointTransform = Callable[[Array], Array]

#: How far an edge may be from where it belongs, in units of the other system: a thousandth of a pixel.
_TOLERANCE = 0.001
#: An edge is cut into at most this many pieces at a time, in so many rounds: an edge that ends where the other system
#: has no places would ask for ever more.
_MOST_PIECES, _MOST_ROUNDS = 256, 3
#: Where edges are looked at. Not the middle alone: an edge that bends like an S is in its place there.
_LOOKED_AT = (0.25, 0.5, 0.75)


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
    starts, ends, owner = _edges(geometries)
    pieces = np.clip(np.ceil(np.sqrt(_departure(starts, ends, move) / _TOLERANCE)), 1, _MOST_PIECES)
    length = np.where(pieces > 1, np.hypot(*(ends - starts).T) / pieces, np.inf)
    longest = np.full(len(geometries), np.inf)
    np.minimum.at(longest, owner, length)
    return longest


def _departure(starts: Array, ends: Array, move: PointTransform) -> Array:
    """How far each moved edge is from the chord between its moved ends; 0 where that is not known."""
    first, last = move(starts), move(ends)
    farthest = np.zeros(len(starts))
    for share in _LOOKED_AT:
        with np.errstate(invalid="ignore"):
            off = np.hypot(*(move(starts + share * (ends - starts)) - first - share * (last - first)).T)
        farthest = np.fmax(farthest, np.where(np.isfinite(off), off, 0.0))
    return farthest


def _edges(geometries: Array) -> tuple[Array, Array, Array]:
    """Where the edges of all polygons start and end, and whose they are."""
    shapely = extra("shapely")
    parts, part_of = shapely.get_parts(geometries, return_index=True)
    rings, ring_of = shapely.get_rings(parts, return_index=True)
    xy, of = shapely.get_coordinates(rings, return_index=True)
    one_ring = of[1:] == of[:-1]
    return xy[:-1][one_ring], xy[1:][one_ring], part_of[ring_of[of[:-1][one_ring]]]
