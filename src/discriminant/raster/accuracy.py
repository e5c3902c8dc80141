"""How accurate a map is, by the counts of a reference sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.rates import ratio
from ..results import aligned, matrix_frame, plain, shortened

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class MapAccuracy:
    """The agreement of a map with a reference sample, pixel by pixel.

    Attributes
    ----------
    confusion : ConfusionMatrix
        Rows are the reference, columns the map.

    Notes
    -----
    Producer's accuracy of a class: the share of its reference pixels that the map shows as the class. User's accuracy:
    the share of the pixels mapped as the class that are of the class. All counts are taken as they are; for a sample
    that was drawn by map class, `area_adjusted_accuracy` weights them by the areas of the map.

    Examples
    --------
    >>> found = map_accuracy(["water", "water", "sand", "sand", "sand"], ["water", "sand", "sand", "sand", "water"])
    >>> found.producers_accuracy, found.users_accuracy
    (array([0.66666667, 0.5       ]), array([0.66666667, 0.5       ]))
    >>> round(found.quantity_disagreement, 3), round(found.allocation_disagreement, 3)
    (0.0, 0.4)
    """

    confusion: ConfusionMatrix

    @property
    def classes(self) -> Array:
        return self.confusion.classes

    @property
    def overall_accuracy(self) -> float:
        """The share of all reference pixels that the map shows as their class."""
        return self.confusion.accuracy

    @property
    def producers_accuracy(self) -> Array:
        """Of each class: the share of its reference pixels that are mapped as the class."""
        return self.confusion.producers_accuracy

    @property
    def users_accuracy(self) -> Array:
        """Of each class: the share of the pixels mapped as the class that are of the class."""
        return self.confusion.users_accuracy

    @property
    def kappa(self) -> float:
        """Cohen's kappa."""
        return self.confusion.kappa

    @property
    def quantity_disagreement(self) -> float:
        """Half the sum over classes of ``|share in the reference - share in the map|`` (Pontius & Millones 2011)."""
        shares = self._shares
        return float(np.abs(shares.sum(axis=1) - shares.sum(axis=0)).sum() / 2)

    @property
    def allocation_disagreement(self) -> float:
        """Half the sum over classes of ``2 min(omission, commission)``: what swapping pixels on the map could cure.

        With the quantity disagreement it sums to 1 less the overall accuracy.
        """
        shares = self._shares
        right = np.diagonal(shares)
        return float(np.minimum(shares.sum(axis=1) - right, shares.sum(axis=0) - right).sum())

    @property
    def _shares(self) -> Array:
        """All pixels by reference and map, with what only the map has (such as rejected pixels) in both."""
        counts = self.confusion.counts
        square = np.zeros((counts.shape[1], counts.shape[1]))
        square[: counts.shape[0]] = counts
        return ratio(square, square.sum())

    def to_frame(self) -> Any:
        """The counts with named axes, rows reference and columns map."""
        matrix = self.confusion
        return matrix_frame(matrix.counts, matrix.classes.tolist(), matrix.predictions.tolist(), "reference", "map")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; what is undefined is None."""
        matrix = self.confusion
        return {
            "rows": "reference",
            "columns": "map",
            "reference_classes": matrix.classes.tolist(),
            "map_classes": matrix.predictions.tolist(),
            "counts": matrix.counts.tolist(),
            "overall_accuracy": defined(self.overall_accuracy),
            "kappa": defined(self.kappa),
            "quantity_disagreement": defined(self.quantity_disagreement),
            "allocation_disagreement": defined(self.allocation_disagreement),
            "producers_accuracy": by_class(matrix.classes, self.producers_accuracy),
            "users_accuracy": by_class(matrix.classes, self.users_accuracy),
        }

    def __str__(self) -> str:
        matrix = self.confusion
        mapped = matrix.predictions.tolist()
        rows = [["reference", *map(shortened, mapped), "total", "producer's"]]
        for label, counts, share in zip(matrix.classes, matrix.counts, self.producers_accuracy, strict=True):
            rows.append([shortened(label), *(f"{n:,g}" for n in counts), f"{counts.sum():,g}", _percent(share)])
        total = matrix.counts.sum(axis=0)
        users = [*map(_percent, self.users_accuracy), *[""] * (len(mapped) - len(self.classes))]
        rows.append(["total", *(f"{n:,g}" for n in total), f"{total.sum():,g}", ""])
        rows.append(["user's", *users, "", _percent(self.overall_accuracy)])
        return "\n".join(
            [
                "rows = reference, columns = map; producer's accuracy by row, user's by column, overall in the corner",
                *aligned(rows),
                f"kappa {self.kappa:.4f}, quantity disagreement {_percent(self.quantity_disagreement)}, "
                f"allocation disagreement {_percent(self.allocation_disagreement)}",
            ]
        )

    __repr__ = __str__


def map_accuracy(reference: Any, mapped: Any, classes: Any = None, actions: Any = None) -> MapAccuracy:
    """The agreement of the classes on a map with those of a reference sample.

    Parameters
    ----------
    reference, mapped : array-like of shape (n_pixels,)
        The true class of each pixel, and what the map shows there.
    classes : array-like, optional
        All classes; a label that is not among them is then an error.
    actions : array-like, optional
        What the map shows besides the classes, such as "rejected".

    Returns
    -------
    MapAccuracy
    """
    return MapAccuracy(ConfusionMatrix.of(reference, mapped, classes, actions=actions))


def defined(value: float) -> float | None:
    """The value, or None for NaN, which JSON does not have."""
    return None if np.isnan(value) else float(value)


def by_class(classes: Any, values: Array) -> dict[str, float | None]:
    """Values by the name of their class."""
    return {str(plain(label)): defined(value) for label, value in zip(classes, values, strict=True)}


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.1f} %"
