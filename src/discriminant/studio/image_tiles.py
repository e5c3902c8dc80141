"""Tiles of the Image page: cached pixels, and their pictures by bands, classes and probabilities."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..data import as_rows
from ..raster.colours import rgb
from ..raster.figures import png
from ..raster.models import valued_rows

if TYPE_CHECKING:
    from ..raster.class_map import Legend
    from .image_work import Trained

#: Bytes of cached pixels: several times those of a large screen.
MAX_CACHED_BYTES: Final = 96 << 20
UNLIKE_COLOUR: Final = "#d55e00"
#: Colours of the highest probability, from that of equally probable classes to 1: even steps of lightness (cividis).
PROBABILITY_COLOURS: Final = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")


class PixelCache:
    """A cache of tile pixels, bounded by bytes; used by several threads."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, tuple[Array, Array] | None] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    def get(
        self, key: tuple[int, int, int, bool], read: Callable[[], tuple[Array, Array] | None]
    ) -> tuple[Array, Array] | None:
        """The cached values and their mask, or those that ``read`` returns."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        found: tuple[Array, Array] | None = read()
        with self._lock:
            if key not in self._found:
                self._found[key] = found
                self._bytes += _n_bytes(found)
            while self._bytes > MAX_CACHED_BYTES and len(self._found) > 1:
                self._bytes -= _n_bytes(self._found.popitem(last=False)[1])
        return found


def _n_bytes(found: tuple[Array, Array] | None) -> int:
    return 0 if found is None else found[0].nbytes + found[1].nbytes


def stretched(band: Array, low: float, high: float) -> Array:
    """A band as grey levels, of which these values are black and white."""
    return np.rint(255 * np.clip((band.astype(np.float64) - low) / (high - low), 0, 1)).astype(np.uint8)


def image_png(shades: Array, valid: Array) -> bytes:
    """Colours as PNG, transparent where pixels have no value."""
    shades = np.broadcast_to(shades, (3, *valid.shape))
    return png(np.concatenate((shades, 255 * valid[None].astype(np.uint8))))


def coloured_png(trained: Trained, layer: str, values: Array, valid: Array) -> bytes:
    """Pixels by their highest probability, or marked if they are unlike any class."""
    pixels, seen = np.ascontiguousarray(values.reshape(len(values), -1)), valid.ravel()
    if layer == "probability":
        p = np.zeros(seen.size)
        for rows, where in valued_rows(pixels, seen):
            named = as_rows(rows, trained.samples.band_names)
            p[where] = trained.model.predict_proba(named).max(axis=1)
        steps = np.linspace(1 / len(trained.samples.classes), 1, len(PROBABILITY_COLOURS))
        anchors = np.array([rgb(colour) for colour in PROBABILITY_COLOURS]).T
        levels = [np.interp(p, steps, anchor).reshape(valid.shape) for anchor in anchors]
        return image_png(np.rint(levels).astype(np.uint8), valid)
    if trained.unlike is None:
        return image_png(np.zeros((1, *valid.shape), dtype=np.uint8), np.zeros_like(valid))
    legend, score = trained.unlike
    marked = score(pixels, seen).reshape(valid.shape) == (legend.rejected.code if legend.rejected else -1)
    shade = np.array(rgb(UNLIKE_COLOUR), dtype=np.uint8)
    return image_png(np.broadcast_to(shade[:, None, None], (3, *valid.shape)), valid & marked)


def class_png(legend: Legend, codes: Array, valid: Array) -> bytes:
    """Class codes in the colours of a legend."""
    shades = np.zeros((legend.n_codes, 3), dtype=np.uint8)
    for entry in legend.entries:
        shades[entry.code] = rgb(entry.colour)
    return image_png(shades[codes].transpose(2, 0, 1), valid & (codes != legend.nodata))
