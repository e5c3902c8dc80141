"""Area of applicability: where a map is made from pixels that resemble the training samples.

Held-out accuracy is valid for pixels like those of the training areas. The dissimilarity index of a pixel is its
distance to the nearest training pixel in the space of the standardised bands, divided by the mean distance between
training pixels. Pixels are in the area of applicability if their index is at most that of training pixels to the
nearest one in another fold of areas, excluding outliers (Meyer & Pebesma 2021). Cost: a nearest-neighbour search for
each pixel.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array, ArrayLike
from ..engine import ProgressOption, in_order, parallel_map, progress_bar
from ..errors import DegenerateDataError, InputError, ParameterError, Setting
from ..results import Result, aligned, count, jsonable, percent
from ..validation.labelled_table import labelled_table
from ..validation.splits import plan_rounds
from .classify import grid_of
from .groups import AreaGroups, area_groups, class_counts
from .image import Image, Paths, opened
from .models import N_FOLDS
from .output import RasterFile, check_raster_target, new_rasters, tile_of
from .samples import Samples

if TYPE_CHECKING:
    from rasterio.windows import Window

#: Distances to the training pixels are computed from at most this number of them, drawn at random.
MAX_TRAINING_PIXELS: Final = 5_000
#: Rows whose distances to all others are computed together.
_DISTANCE_ROWS: Final = 512
#: Minimum side of the windows that are read.
_WINDOW_SIDE: Final = 256


@dataclass(frozen=True, eq=False, repr=False)
class Applicability(Result):
    """The area of applicability of models trained on some samples.

    Attributes
    ----------
    training : array of shape (n, n_bands)
        Standardised training pixels, multiplied by the weights of the bands.
    means, scales : arrays of shape (n_bands,)
        A pixel ``x`` is compared with ``training`` as ``(x - means) * scales``.
    mean_distance : float
        The mean distance between training pixels.
    training_index : array of shape (n,)
        The dissimilarity index of each training pixel to those of the other folds.
    threshold : float
        The largest dissimilarity index in the area of applicability.

    See Also
    --------
    area_of_applicability : Computes it.
    map_applicability : Writes the dissimilarity index of the pixels of an image.
    """

    training: Array
    means: Array
    scales: Array
    mean_distance: float
    training_index: Array
    threshold: float

    def dissimilarity(self, X: ArrayLike) -> Array:
        """The dissimilarity index of pixels.

        Parameters
        ----------
        X : array-like of shape (n_pixels, n_bands)
            Values of the bands.

        Returns
        -------
        array of shape (n_pixels,)
            0 for a training pixel.
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.means):
            raise InputError(f"Expected pixels in {len(self.means)} bands, got an array of shape {rows.shape}.")
        distances, _ = self._tree.query((rows - self.means) * self.scales)
        return np.asarray(distances / self.mean_distance)

    @property
    def _tree(self) -> Any:
        tree = vars(self).get("_held_tree")
        if tree is None:
            from scipy.spatial import KDTree  # slow to load

            tree = KDTree(self.training)
            object.__setattr__(self, "_held_tree", tree)
        return tree

    def _columns(self) -> dict[str, Any]:
        quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
        return {"quantile": quantiles, "dissimilarity": np.quantile(self.training_index, quantiles)}

    def __str__(self) -> str:
        columns = self._columns()
        rows = [["quantile", "dissimilarity of training pixels"]]
        rows += [[f"{q:g}", f"{value:.3f}"] for q, value in zip(*columns.values(), strict=True)]
        return "\n".join([*aligned(rows), f"Threshold of the area of applicability: {self.threshold:.3f}"])


def area_of_applicability(
    samples: Samples, groups: AreaGroups | None = None, weights: ArrayLike | None = None
) -> Applicability:
    """Compute the area of applicability of a model trained on samples.

    Parameters
    ----------
    samples : Samples
        The training samples; at most 5,000 pixels, drawn at random, are used.
    groups : AreaGroups, optional
        Areas that are held out together. Default: `area_groups`.
    weights : array-like of shape (n_bands,), optional
        The importance of each band for the model. Default: equal weights.

    Returns
    -------
    Applicability

    See Also
    --------
    map_applicability : Writes the dissimilarity index of the pixels of an image.

    References
    ----------
    Meyer, H. & Pebesma, E. (2021). Predicting into unknown space? Estimating the area of applicability of spatial
    prediction models. Methods in Ecology and Evolution 12, 1620-1633.

    Examples
    --------
    >>> from discriminant.raster import Band, Samples, area_of_applicability
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 20
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 2))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"), Band("blue", "float64")))
    >>> found = area_of_applicability(samples)
    >>> (found.dissimilarity([[3.0, 3.0], [9.0, -9.0]]) <= found.threshold).tolist()
    [True, False]
    """
    found = groups or area_groups(samples)
    folds = min(N_FOLDS, class_counts(samples, found).shape[1])
    [plan] = plan_rounds(labelled_table(samples.X, samples.y, groups=found.groups), folds, 1, True, 0)
    fold = np.empty(samples.n_pixels, dtype=np.int64)
    for number, split in enumerate(plan.splits):
        fold[split.test] = number
    X = samples.X.astype(np.float64)
    if len(X) > MAX_TRAINING_PIXELS:
        drawn = np.sort(np.random.default_rng(0).choice(len(X), MAX_TRAINING_PIXELS, replace=False))
        X, fold = X[drawn], fold[drawn]
    sd = X.std(axis=0, ddof=1)
    if not (sd > 0).any():
        raise DegenerateDataError("All training pixels are equal. Draw areas of several classes.")
    scales = np.where(sd > 0, _checked(weights, X.shape[1]) / np.where(sd > 0, sd, 1.0), 0.0)
    means = X.mean(axis=0)
    training = (X - means) * scales
    mean_distance, nearest = _distances(training, fold)
    index = nearest / mean_distance
    low, high = np.quantile(index, (0.25, 0.75))
    threshold = float(index[index <= high + 1.5 * (high - low)].max())
    return Applicability(training, means, scales, mean_distance, index, threshold)


def _checked(weights: ArrayLike | None, n_bands: int) -> Array:
    found = np.ones(n_bands) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.shape != (n_bands,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise ParameterError(f"weights must be {n_bands} numbers, one for each band, 0 or more and not all 0.")
    return found


def _distances(training: Array, fold: Array) -> tuple[float, Array]:
    """The mean distance between training pixels, and that of each to the nearest pixel of another fold."""
    from scipy.spatial.distance import cdist  # slow to load

    n = len(training)

    def of_rows(start: int) -> tuple[float, Array]:
        rows = slice(start, start + _DISTANCE_ROWS)
        found = cdist(training[rows], training)
        total = float(found.sum())
        found[fold[rows, None] == fold[None]] = np.inf
        return total, found.min(axis=1)

    totals, nearest = zip(*parallel_map(of_rows, list(range(0, n, _DISTANCE_ROWS))), strict=True)
    return sum(totals) / (n * (n - 1)), np.concatenate(nearest)


@dataclass(frozen=True, eq=False, repr=False)
class ApplicabilityMap(Result):
    """A map of the dissimilarity index, and the share of an image in the area of applicability.

    Attributes
    ----------
    path : Path
        Bands: dissimilarity index; 1 in the area of applicability, 0 outside.
    threshold : float
        The largest dissimilarity index in the area of applicability.
    n_pixels, n_inside : int
        Valid pixels, and those in the area of applicability.

    See Also
    --------
    map_applicability : Writes it.
    """

    path: Path
    threshold: float
    n_pixels: int
    n_inside: int

    @property
    def share(self) -> float:
        """The share of the valid pixels in the area of applicability."""
        return self.n_inside / self.n_pixels if self.n_pixels else float("nan")

    def _columns(self) -> dict[str, Any]:
        return {"pixels": [self.n_pixels], "inside": [self.n_inside], "threshold": [self.threshold]}

    def to_dict(self) -> dict[str, Any]:
        """The counts and the share as plain values.

        Returns
        -------
        dict
        """
        return jsonable({**vars(self), "path": str(self.path), "share": self.share})

    def __str__(self) -> str:
        inside = f"{count(self.n_inside)} of {count(self.n_pixels)} pixels ({percent(self.share)})"
        return f"Area of applicability: {inside}, dissimilarity index up to {self.threshold:.3f}."


def map_applicability(
    found: Applicability,
    image: Image | Paths,
    output: str | os.PathLike[str],
    overwrite: bool = False,
    n_jobs: int | None = -1,
    progress: ProgressOption = False,
) -> ApplicabilityMap:
    """Write the dissimilarity index of the pixels of an image, and whether they are in the area of applicability.

    Parameters
    ----------
    found : Applicability
        The area of applicability.
    image : Image, path or list of paths
        The image, with the bands of the samples.
    output : path
        A GeoTIFF with two bands of float32; NaN for pixels without a value.
    overwrite : bool, default=False
        Replace an existing file.
    n_jobs : int, default=-1
        Number of threads: -1 all cores.
    progress : bool, callable or None, default=False
        Whether to show a progress bar, see `MapOptions`.

    Returns
    -------
    ApplicabilityMap

    See Also
    --------
    area_of_applicability : Computes threshold and index.

    Examples
    --------
    >>> import tempfile, rasterio
    >>> from discriminant.raster import Band, Samples, area_of_applicability, map_applicability
    >>> y, area = np.repeat(["sand", "water"], 60), np.arange(120) // 20
    >>> X = np.random.default_rng(0).normal(3.0 * (y == "sand")[:, None], 1.0, (120, 1))
    >>> samples = Samples(X, y, area, area, area, (Band("red", "float64"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form = {"driver": "GTiff", "count": 1, "width": 4, "height": 1, "dtype": "float64"}
    ...     with rasterio.open(f"{folder}/image.tif", "w", **form, transform=rasterio.Affine.scale(10)) as file:
    ...         file.write(np.array([[[0.0, 3.0, 2.0, 30.0]]]))
    ...     found = area_of_applicability(samples)
    ...     map_applicability(found, f"{folder}/image.tif", f"{folder}/applicability.tif").share
    0.75
    """
    target = check_raster_target(output, overwrite)
    with opened(image) as source:
        if source.n_bands != len(found.means):
            raise InputError(
                f"{source.label} has {source.n_bands} bands, but the samples have {len(found.means)}. Select the "
                "bands of the training image (",
                Setting("bands"),
                ").",
            )

        def indexed(window: Window) -> tuple[Window, Array]:
            values, valid = source.read(window)
            layers = np.full((2, *valid.shape), np.nan, dtype=np.float32)
            layers[0, valid] = found.dissimilarity(values[:, valid].T)
            layers[1, valid] = layers[0, valid] <= found.threshold
            return window, layers

        names = ("dissimilarity index", "in the area of applicability")
        tags = {"THRESHOLD": f"{found.threshold:.10g}"}
        raster = RasterFile(target, grid_of(source), "float32", float("nan"), names, tags)
        windows, tile = list(source.windows(_WINDOW_SIDE)), tile_of(source.block_shape(_WINDOW_SIDE)[0])
        n_pixels = n_inside = 0
        bar = progress_bar("Area of applicability", len(windows), progress)
        results = closing(in_order(indexed, windows, n_jobs))
        with new_rasters([raster], {}, tile) as [file], bar as advance, results as layers_of_windows:
            for window, layers in layers_of_windows:
                n_pixels += int(np.isfinite(layers[0]).sum())
                n_inside += int((layers[1] == 1).sum())
                file.write(layers, window=window)
                advance()
    return ApplicabilityMap(target, found.threshold, n_pixels, n_inside)
