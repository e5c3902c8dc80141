"""The pixels of areas, each once, and the names of areas in messages."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import Array
from ..results import Finding, Severity, listed, shown

#: Number of areas or classes listed in a message.
MAX_NAMED_AREAS: Final = 5


@dataclass(frozen=True, eq=False)
class AreaPixels:
    """The pixels of areas.

    Attributes
    ----------
    rows, columns : arrays of shape (n_pixels,)
        Positions in the image, in reading order, each pixel once.
    area : array of shape (n_pixels,)
        The index of the pixel's area in ``ids`` and ``labels``.
    ids, labels : arrays of shape (n_areas,)
        The name of each area, and its class.
    findings : tuple of Finding
    """

    rows: Array
    columns: Array
    area: Array
    ids: Array
    labels: Array
    findings: tuple[Finding, ...] = ()

    def take(self, chosen: Array) -> AreaPixels:
        """Only the chosen pixels."""
        return replace(self, rows=self.rows[chosen], columns=self.columns[chosen], area=self.area[chosen])

    def with_finding(self, severity: Severity, kind: str, message: str) -> AreaPixels:
        """The same pixels with one more finding."""
        return replace(self, findings=(*self.findings, area_finding(severity, kind, message)))

    def named(self, areas: Array) -> str:
        """Names of areas, given by index, for messages."""
        return named_areas(self.ids, self.labels, areas)


def area_finding(severity: Severity, kind: str, message: str) -> Finding:
    """A finding about areas rather than a column."""
    return Finding(severity, kind, None, message)


def named_areas(ids: Array, labels: Array, areas: Array) -> str:
    """``areas 3 (class 'forest') and 7 (class 'water')``; further ones are counted."""
    names = [f"{ids[i]} (class {shown(labels[i])})" for i in areas]
    return f"{'area' if len(names) == 1 else 'areas'} {listed(names, MAX_NAMED_AREAS)}"


def named_classes(labels: Iterable[Hashable]) -> str:
    """``Class 'water'``, ``Classes 'water' and 'sand'``; further ones are counted.

    >>> named_classes(["water"]), named_classes(["water", "sand"])
    ("Class 'water'", "Classes 'water' and 'sand'")
    """
    names = [shown(label) for label in labels]
    return f"{'Class' if len(names) == 1 else 'Classes'} {listed(names, MAX_NAMED_AREAS)}"


def each_pixel_once(pixels: AreaPixels, width: int) -> AreaPixels:
    """The pixels in reading order, without those in areas of different classes.

    A pixel in several areas of one class belongs to the first of them.
    """
    pixel = pixels.rows.astype(np.int64) * width + pixels.columns
    order = np.lexsort((pixels.area, pixel))
    pixels = pixels.take(order)
    _, first, copy = np.unique(pixel[order], return_index=True, return_inverse=True)
    _, code = np.unique(pixels.labels, return_inverse=True)
    classes = code[pixels.area]
    disputed = np.zeros(len(first), bool)
    disputed[copy[classes != classes[first][copy]]] = True
    once = pixels.take(first[~disputed])
    if disputed.any():
        areas = pixels.named(np.unique(pixels.area[disputed[copy]]))
        words = f"{disputed.sum():,} pixels in overlapping areas of different classes are left out: {areas}."
        once = once.with_finding("warning", "overlap", f"{words} Redraw these areas.")
    covered = np.setdiff1d(pixels.area[~disputed[copy]], once.area)
    if covered.size:
        words = f"All pixels of {pixels.named(covered)} belong to other areas of the same class."
        once = once.with_finding("note", "same-pixels", words)
    return once


def touching_areas(rows: Array, columns: Array, labels: Array, width: int) -> Array:
    """The area number of each pixel, where an area is a set of touching pixels of one class, also at corners.

    Pixels are in reading order. Memory depends on their number, not on the size of the image.
    """
    pixel, place = rows.astype(np.int64) * width + columns, np.arange(len(rows))
    pairs = []
    for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
        inside = (columns + right >= 0) & (columns + right < width)
        neighbour = pixel + down * width + right
        found = np.minimum(np.searchsorted(pixel, neighbour), len(pixel) - 1)
        linked = inside & (pixel[found] == neighbour) & (labels[found] == labels)
        pairs.append((place[linked], found[linked]))
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(one), bool), (one, other)), shape=(len(rows), len(rows)))
    return connected_components(graph, directed=False)[1]
