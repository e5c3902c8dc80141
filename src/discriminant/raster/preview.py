"""An image at reduced resolution, in memory: extents of map classes, and the place whose class is least certain.

Both are computed after every change of the training areas, without reading the image again. A place is proposed for
labelling where the two most probable classes are closest, on average over a window, because single pixels are noisy
("breaking ties", Tuia et al. 2011, IEEE Journal of Selected Topics in Signal Processing 5, 606-617).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import ndimage

from ..arrays import Array, Classifier
from ..data import as_rows
from ..decision.posteriors import posterior
from ..results import plain
from .class_map import Legend
from .coordinates import pixel_areas
from .image import Image
from .models import Scorer, valued_rows

#: Sides of a preview, and of its part for which probabilities are computed: a quarter of a second for a million pixels.
PREVIEW_SIDE: Final = 512
PROBABILITY_SIDE: Final = 192
#: Side of the window over which uncertainty is averaged, in pixels of that part.
WINDOW_SIDE: Final = 5
#: Distance of a proposed place from known ones, as a share of the longer side: nearby labels add little.
MIN_DISTANCE_SHARE: Final = 0.04


@dataclass(frozen=True, eq=False)
class Preview:
    """Pixels at regular intervals: values (bands, height, width), where they are valid, their rows and columns.

    ``hectares`` are the areas of the pixels, ``weight`` is the number of image pixels for each of them.
    """

    values: Array
    valid: Array
    rows: Array
    columns: Array
    hectares: Array | None
    weight: float

    def every(self, side: int) -> Preview:
        """A coarser preview with at most about this many pixels along each side."""
        n_rows, n_columns = self.valid.shape
        rows, columns = (slice(step // 2, None, step) for step in (-(-n_rows // side), -(-n_columns // side)))
        hectares = None if self.hectares is None else self.hectares[rows, columns]
        valid = self.valid[rows, columns]
        weight = self.weight * self.valid.size / valid.size
        values = self.values[:, rows, columns]
        return Preview(values, valid, self.rows[rows], self.columns[columns], hectares, weight)


def preview_of(image: Image, side: int = PREVIEW_SIDE) -> Preview:
    """A preview of an image with at most this many pixels along each side."""
    shape = tuple(min(length, side) for length in image.shape)
    values, valid = image.read(None, (shape[0], shape[1]))
    rows, columns = (((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(shape, image.shape, strict=True))
    areas = pixel_areas(image)
    hectares = None if areas is None else areas.at(rows, columns)
    return Preview(values, valid, rows, columns, hectares, np.prod(image.shape) / valid.size)


def preview_extents(preview: Preview, legend: Legend, score: Scorer) -> tuple[dict[Any, int], dict[Any, float] | None]:
    """The estimated number of pixels and hectares of each class of a map, as `class_extents` for a whole one."""
    pixels = np.ascontiguousarray(preview.values.reshape(len(preview.values), -1))
    codes = score(pixels, preview.valid.ravel()).astype(np.int64)
    entries = [(plain(entry.label), entry.code) for entry in legend.entries]
    n = max(code for _, code in entries) + 1
    counts = preview.weight * np.bincount(codes, minlength=n)
    hectares = None
    if preview.hectares is not None:
        total = preview.weight * np.bincount(codes, preview.hectares.ravel(), minlength=n)
        hectares = {label: float(total[code]) for label, code in entries}
    return {label: round(counts[code]) for label, code in entries}, hectares


def uncertain_place(
    preview: Preview, model: Classifier, band_names: Sequence[str], known: Array
) -> tuple[float, float] | None:
    """The column and row whose two most probable classes are closest, away from known places, shape (n, 2).

    None if every place is near a known one.
    """
    coarse = preview.every(PROBABILITY_SIDE)
    pixels, ties = coarse.values.reshape(len(coarse.values), -1), np.zeros(coarse.valid.size)
    for rows, where in valued_rows(pixels, coarse.valid.ravel()):
        ordered = np.sort(posterior(model, as_rows(rows, list(band_names))).probabilities, axis=1)
        ties[where] = 1 - (ordered[:, -1] - ordered[:, -2])
    shape = coarse.valid.shape
    share = ndimage.uniform_filter(coarse.valid.astype(float), WINDOW_SIDE, mode="constant")
    summed = ndimage.uniform_filter(ties.reshape(shape), WINDOW_SIDE, mode="constant")
    mean = np.divide(summed, share, out=np.zeros(shape), where=share > 0)
    free = coarse.valid.copy()
    if len(known):
        places = np.array(np.meshgrid(coarse.columns, coarse.rows)).reshape(2, -1).T
        limit = MIN_DISTANCE_SHARE * max(coarse.columns[-1], coarse.rows[-1])
        free &= (_distances(places, known) > limit).reshape(shape)
    if not free.any():
        return None
    row, column = np.unravel_index(np.argmax(np.where(free, mean, -1.0)), shape)
    return float(coarse.columns[column]) + 0.5, float(coarse.rows[row]) + 0.5


def _distances(places: Array, known: Array) -> Array:
    """The distance of each place from the nearest known one."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(known).query(places)[0])
