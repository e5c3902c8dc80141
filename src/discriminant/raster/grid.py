"""Where the pixels of an image lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError

Array = np.ndarray[Any, Any]


def moved(transform: Sequence[float], x: Array, y: Array) -> Array:
    """The points (x, y) under an affine map, shape (n, 2).

    >>> import numpy as np
    >>> moved((30, 0, 100, 0, -30, 200), np.array([0.5]), np.array([1.5]))
    array([[115., 155.]])
    """
    a, b, c, d, e, f = transform[:6]
    with np.errstate(invalid="ignore"):  # a place without coordinates has none afterwards either
        return np.column_stack((a * x + b * y + c, d * x + e * y + f))


def refuse_other_grid(first_path: str, first: Any, path: str, other: Any) -> None:
    """Raise an error unless two files, open in rasterio, have the same pixels."""
    if other.shape != first.shape:
        raise InputError(
            f"The files of an image must have one grid: {first_path!r} has {_size(first)} pixels, {path!r} has "
            f"{_size(other)}. Resample them to the same grid first."
        )
    if not other.transform.almost_equals(first.transform, precision=1e-6 * max(map(abs, first.res))):
        raise InputError(
            f"The files of an image must have one grid: {first_path!r} begins at ({first.transform.c:.10g}, "
            f"{first.transform.f:.10g}) with pixels of {first.res}, {path!r} at ({other.transform.c:.10g}, "
            f"{other.transform.f:.10g}) with {other.res}. Resample them to the same grid first."
        )
    if first.crs and other.crs and first.crs != other.crs:
        raise InputError(
            f"The files of an image must have one coordinate system: {first_path!r} has {first.crs}, {path!r} has "
            f"{other.crs}. Reproject them first."
        )


def _size(dataset: Any) -> str:
    return f"{dataset.width} x {dataset.height}"
