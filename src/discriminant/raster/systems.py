"""Coordinate systems of areas and images: known, the same, or said to be different."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..tables.learning import Finding
from .extra import extra
from .image import Image
from .marks import found

Array = np.ndarray[Any, Any]


def as_crs(given: Any, name: str) -> Any:
    """A coordinate system as rasterio has it, or None."""
    if not given:
        return None
    try:
        return extra("rasterio.crs").CRS.from_user_input(given)
    except extra("rasterio.errors").CRSError as error:
        raise InputError(f"{name}: the coordinate system {given!r} is not known: {error}.") from error


def one_system(source: str, crs: Any, image: Image) -> bool:
    """Whether areas and a georeferenced image have one coordinate system; an error if only one of them says its own."""
    if (crs is None) != (image.crs is None):
        silent, other = (source, image.label) if crs is None else (image.label, source)
        known = image.crs if crs is None else crs
        how = "give it (crs)" if crs is None else 'write it into the file, for example with "rio edit-info --crs"'
        raise InputError(
            f"{silent} does not say its coordinate system (CRS), and {other} is in {known}: where they meet is not "
            f"known. Find out the system of {silent} and {how}."
        )
    # Systems with an unknown datum count as equal to all like them; their numbers in the EPSG list may still differ.
    return crs is None or bool(crs == image.crs and crs.to_epsg() == image.crs.to_epsg())


def to_system(crs: Any, other: Any, xy: Array) -> Array:
    """Points of one coordinate system, shape (n, 2), in another; infinite where it has no such place."""
    return np.column_stack(extra("rasterio.warp").transform(crs, other, xy[:, 0], xy[:, 1]))


def reprojected(source: str, crs: Any, image: Image) -> Finding:
    """The note that areas were brought to the coordinate system of the image."""
    return found("note", "reprojected", f"{source} was reprojected from {crs} to {image.crs}, the system of the image.")
