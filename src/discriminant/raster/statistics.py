"""What the samples of each class look like: counts, means, spread and covariances by band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import LabelledRows, as_rows, encode_labels
from ..engine import reduce
from ..moments import ClassMoments
from ..results import aligned, frame_of, plain, shortened

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """Counts, means, spread and covariances of K classes in p bands.

    Attributes
    ----------
    classes : array of shape (K,)
    band_names : tuple of str
    counts, areas : arrays of shape (K,)
        Pixels, and areas they come from.
    means, sds, minima, maxima : arrays of shape (K, p)
    covariances : array of shape (K, p, p)
        Divided by the count less 1; NaN for a class of one pixel, like its standard deviations.
    """

    classes: Array
    band_names: tuple[str, ...]
    counts: Array
    areas: Array
    means: Array
    covariances: Array
    minima: Array
    maxima: Array

    @property
    def sds(self) -> Array:
        return np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))

    def to_frame(self) -> Any:
        """A frame with a row for each class and band."""
        K, p = self.means.shape
        return frame_of(
            {
                "class": [plain(label) for label in self.classes for _ in range(p)],
                "band": list(self.band_names) * K,
                "pixels": np.repeat(self.counts, p),
                "areas": np.repeat(self.areas, p),
                "mean": self.means.ravel(),
                "sd": self.sds.ravel(),
                "min": self.minima.ravel(),
                "max": self.maxima.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, with the covariances; what is not known is None."""
        return {
            "bands": list(self.band_names),
            "classes": [
                {
                    "class": plain(label),
                    "pixels": int(self.counts[k]),
                    "areas": int(self.areas[k]),
                    "mean": self.means[k].tolist(),
                    "sd": _known(self.sds[k]),
                    "min": self.minima[k].tolist(),
                    "max": self.maxima[k].tolist(),
                    "covariance": [_known(row) for row in self.covariances[k]],
                }
                for k, label in enumerate(self.classes)
            ],
        }

    def __str__(self) -> str:
        head = ["class", "pixels", "areas", *(shortened(band) for band in self.band_names)]
        rows = [
            [
                shortened(label),
                f"{self.counts[k]:,}",
                f"{self.areas[k]:,}",
                *map(_mean_and_sd, self.means[k], self.sds[k]),
            ]
            for k, label in enumerate(self.classes)
        ]
        return "\n".join([*aligned([head, *rows]), "mean ± standard deviation in each band"])

    __repr__ = __str__


def class_statistics(X: Array, y: Array, areas: Array, band_names: tuple[str, ...]) -> ClassStatistics:
    """The statistics of pixels by class."""
    rows = as_rows(X)
    classes, codes = encode_labels(y, rows.n_rows)
    moments = reduce(LabelledRows(rows, classes, codes), ClassMoments(len(classes), rows.n_columns, "class"))
    divisor = np.where(moments.counts > 1, moments.counts - 1.0, np.nan)
    own = [X[codes == k] for k in range(len(classes))]
    return ClassStatistics(
        classes=classes,
        band_names=band_names,
        counts=moments.counts.astype(np.int64),
        areas=np.array([len(np.unique(areas[codes == k])) for k in range(len(classes))]),
        means=moments.mean,
        covariances=moments.scatter / divisor[:, None, None],
        minima=np.array([part.min(axis=0) for part in own]),
        maxima=np.array([part.max(axis=0) for part in own]),
    )


def _known(values: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _mean_and_sd(mean: float, sd: float) -> str:
    return f"{mean:.4g} ± {'-' if np.isnan(sd) else f'{sd:.3g}'}"
