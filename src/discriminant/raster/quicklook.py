"""Small pictures of images and maps, for looking at."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from .assess import class_pixels
from .extra import extra
from .image import Image, open_image
from .legend import Entry, Legend, default_colour, has_legend, legend_of_file, rgb, written_rgb

Array = np.ndarray[Any, Any]

#: The longer side of a picture, in pixels.
_SIDE = 900
#: Values outside these percentiles are drawn as the darkest or the brightest.
_STRETCH = (2.0, 98.0)


def shown_bands(image: Image) -> tuple[int, ...]:
    """The places of the bands that are drawn as red, green and blue, or of the one that is drawn in grey.

    They are those of these names; else the third, second and first of four or more, as most satellites order them.
    """
    names = [name.lower() for name in image.band_names]
    if {"red", "green", "blue"} <= set(names):
        return tuple(names.index(name) for name in ("red", "green", "blue"))
    if image.n_bands < 3:
        return (0,)
    return (2, 1, 0) if image.n_bands > 3 else (0, 1, 2)


def image_picture(image: Image, side: int = _SIDE) -> bytes:
    """A picture of an image as PNG, each band stretched to its own range; pixels without a value are transparent."""
    bands = shown_bands(image)
    values, valid = _thinned(image, lambda array: array[list(bands)], side)
    shades = np.stack([_stretched(band, valid) for band in values])
    if len(shades) == 1:
        shades = shades.repeat(3, axis=0)
    return _png(np.concatenate((shades, 255 * valid[None].astype(np.uint8))))


def map_picture(path: str | os.PathLike[str], side: int = _SIDE) -> tuple[bytes, Legend]:
    """A picture of a class map in the colours of its legend as PNG, and the legend."""
    legend = map_legend(path)
    with open_image(path) as image:
        codes, valid = _thinned(image, lambda array: array[:1], side)
    entries = sorted(legend.entries, key=lambda entry: entry.code)
    known, colours = np.array([entry.code for entry in entries]), np.array([rgb(entry.colour) for entry in entries])
    place = np.minimum(np.searchsorted(known, codes[0]), len(known) - 1)
    drawn = valid & (known[place] == codes[0])
    shades = np.concatenate((colours[place].transpose(2, 0, 1), np.full((1, *drawn.shape), 255)))
    return _png(np.where(drawn, shades, 0).astype(np.uint8)), legend


def map_legend(path: str | os.PathLike[str]) -> Legend:
    """What the codes of a class map stand for; a map of another program has its codes as classes, in its colours."""
    if has_legend(path):
        return legend_of_file(path)
    with open_image(path) as image:
        codes, palette, nodata = sorted(class_pixels(image)), image.palette or {}, image.nodata[0]
    if not codes:
        raise InputError(f"The map {image.label} has no pixel with a class.")
    entries = (Entry(code, code, written_rgb(palette.get(code)) or default_colour(k)) for k, code in enumerate(codes))
    return Legend(tuple(entries), codes[-1] + 1 if nodata is None else int(nodata))


def _thinned(image: Image, part: Callable[[Array], Array], side: int) -> tuple[Array, Array]:
    """Every n-th row and column of an image, read window by window."""
    step = max(1, -(-max(image.shape) // side))
    height, width = (-(-length // step) for length in image.shape)
    values: Array | None = None
    valid = np.zeros((height, width), dtype=bool)
    for window in image.windows():
        array, seen = image.read(window)
        top, left = -window.row_off % step, -window.col_off % step
        chosen = part(array)[:, top::step, left::step]
        if values is None:
            values = np.zeros((len(chosen), height, width), dtype=chosen.dtype)
        row, column = (window.row_off + top) // step, (window.col_off + left) // step
        where = (slice(row, row + chosen.shape[1]), slice(column, column + chosen.shape[2]))
        values[:, *where], valid[where] = chosen, seen[top::step, left::step]
    assert values is not None
    return values, valid


def _stretched(band: Array, valid: Array) -> Array:
    if not valid.any():
        return np.zeros(band.shape, dtype=np.uint8)
    low, high = np.percentile(band[valid].astype(np.float64), _STRETCH)
    with np.errstate(invalid="ignore"):
        share = (np.where(valid, band, low) - low) / max(high - low, np.finfo(float).tiny)
    return np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)


def _png(values: Array) -> bytes:
    rasterio = extra("rasterio")
    count, height, width = values.shape
    form = {"driver": "PNG", "count": count, "height": height, "width": width, "dtype": "uint8"}
    with warnings.catch_warnings(), extra("rasterio.io").MemoryFile() as memory:
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with memory.open(**form) as file:
            file.write(values)
        return bytes(memory.read())
