"""The pixels that areas mark, and what is worth knowing about areas before anything is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..results import shown
from ..tables.learning import Finding, Severity
from .image import Image

Array = np.ndarray[Any, Any]

#: So many areas or pairs are named in a message; the others are counted.
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Marks:
    """Pixels that belong to areas.

    Attributes
    ----------
    rows, columns : arrays of shape (n_pixels,)
        In reading order of the image, each pixel once.
    area : array of shape (n_pixels,)
        The place of the pixel's area in ``ids`` and ``labels``.
    ids, labels : arrays of shape (n_areas,)
        What each area is called, and its class.
    findings : tuple of Finding
    """

    rows: Array
    columns: Array
    area: Array
    ids: Array
    labels: Array
    findings: tuple[Finding, ...] = ()

    @property
    def n_pixels(self) -> int:
        return len(self.rows)

    def take(self, chosen: Array) -> Marks:
        """The chosen pixels only."""
        return replace(self, rows=self.rows[chosen], columns=self.columns[chosen], area=self.area[chosen])

    def noting(self, *more: Finding) -> Marks:
        """The same with more findings."""
        return replace(self, findings=(*self.findings, *more))

    def named(self, areas: Array) -> str:
        """Some areas, by their place, as messages call them."""
        return named_areas(self.ids, self.labels, areas)


class MarksPixels(Protocol):
    """Areas, however they came: what they mark on an image."""

    source: str

    def marks(self, image: Image) -> Marks:
        """The pixels whose centres lie in the areas."""


def found(severity: Severity, kind: str, message: str) -> Finding:
    """A finding that is about areas, not about one column."""
    return Finding(severity, kind, None, message)


def named_areas(ids: Array, labels: Array, areas: Array) -> str:
    """``areas 3 ('forest') and 7 ('water')``; beyond a few, how many more."""
    names = [f"{ids[i]} ({shown(labels[i])})" for i in areas[:_MOST_NAMED]]
    more = len(areas) - len(names)
    head = "area" if len(areas) == 1 else "areas"
    if more:
        return f"{head} {', '.join(names)} and {more} more"
    return f"{head} {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"


def each_pixel_once(marks: Marks, width: int) -> Marks:
    """The marks in reading order; a pixel that areas of different classes claim is left out, and they are named.

    Of several areas of one class the first keeps the pixel.
    """
    pixel = marks.rows.astype(np.int64) * width + marks.columns
    order = np.lexsort((marks.area, pixel))
    pixel, marks = pixel[order], marks.take(order)
    first = np.append(True, pixel[1:] != pixel[:-1]) if len(pixel) else np.zeros(0, bool)
    run = np.cumsum(first) - 1
    _, code = np.unique(marks.labels, return_inverse=True)
    own = code[marks.area]
    disputed = np.zeros(int(first.sum()), bool)
    disputed[run[own != own[first][run]]] = True
    kept = first & ~disputed[run]
    return marks.take(kept).noting(*_overlaps(marks, run, disputed), *_doubled(marks, kept, disputed[run]))


def _overlaps(marks: Marks, run: Array, disputed: Array) -> list[Finding]:
    """Which areas of different classes claim the same pixels."""
    if not disputed.any():
        return []
    starts = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    first = marks.area[starts[run]]
    rival = disputed[run] & (marks.labels[marks.area] != marks.labels[first])
    pairs, counts = np.unique(np.column_stack((first[rival], marks.area[rival])), axis=0, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:_MOST_NAMED]
    told = "; ".join(f"{marks.named(pairs[i])} in {counts[i]:,} pixels" for i in largest)
    more = f"; and {len(pairs) - len(largest)} more pairs" if len(pairs) > len(largest) else ""
    message = (
        f"Areas of different classes overlap: {told}{more}. The {disputed.sum():,} pixels that have two classes are "
        "left out: redraw the areas."
    )
    return [found("warning", "overlap", message)]


def _doubled(marks: Marks, kept: Array, disputed: Array) -> list[Finding]:
    """Areas without a pixel of their own because others of their class hold them all."""
    claimed, left = np.unique(marks.area[~disputed]), np.unique(marks.area[kept])
    lost = np.setdiff1d(claimed, left)
    if not lost.size:
        return []
    return [found("note", "same-pixels", f"Other areas of the same class hold all pixels of {marks.named(lost)}.")]


def touching_areas(rows: Array, columns: Array, labels: Array, width: int) -> Array:
    """The number of each pixel's area, where an area is all pixels of one class that touch, also at corners.

    Pixels come in reading order. Only marked pixels are held in memory, however large the image.
    """
    pixel, place = rows.astype(np.int64) * width + columns, np.arange(len(rows))
    pairs = []
    for down, right in ((0, 1), (1, -1), (1, 0), (1, 1)):
        inside = (columns + right >= 0) & (columns + right < width)
        wanted = pixel + down * width + right
        there = np.minimum(np.searchsorted(pixel, wanted), len(pixel) - 1)
        linked = inside & (pixel[there] == wanted) & (labels[there] == labels)
        pairs.append((place[linked], there[linked]))
    one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(one), bool), (one, other)), shape=(len(rows), len(rows)))
    return connected_components(graph, directed=False)[1]
