"""Areas and accuracies of a map, estimated from a reference sample that was stratified by its classes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..errors import InputError, ParameterError
from ..evaluation.confusion import ConfusionMatrix, CrossTable
from ..evaluation.intervals import Interval, check_level
from ..evaluation.rates import ratio
from ..results import aligned, frame_of, plain, shortened, shown
from .accuracy import MapAccuracy, by_class, defined

Array = np.ndarray[Any, Any]

_CLASS_MEASURES = ("users_accuracy", "producers_accuracy", "area")


@dataclass(frozen=True, eq=False)
class AreaAdjusted:
    """Accuracies and areas with standard errors, from a sample stratified by map class (Olofsson et al. 2014).

    Attributes
    ----------
    strata : list
        What the map shows: the classes, and what else was sampled, such as "rejected". Rows of the matrices.
    classes : list
        The classes of the reference. Columns of the matrices.
    counts : array of shape (strata, classes)
        Sampled pixels; rows are the map, columns the reference.
    proportions : array of the same shape
        The estimated share of the whole area with this map class and this reference class.
    map_areas : array of shape (strata,)
        The area of each stratum on the map.
    overall_accuracy, overall_se : float
    users_accuracy, users_accuracy_se, producers_accuracy, producers_accuracy_se : arrays of shape (classes,)
        NaN where a class is not on the map, or not in the reference.
    area, area_se : arrays of shape (classes,)
        The estimated area of each class on the ground, in the unit of ``map_areas``.
    level : float
        Of the intervals.
    """

    strata: list[Any]
    classes: list[Any]
    counts: Array
    map_areas: Array
    level: float = 0.95

    @property
    def total_area(self) -> float:
        return float(self.map_areas.sum())

    @cached_property
    def _weights(self) -> Array:
        """The share of each stratum in the map."""
        return self.map_areas / self.total_area

    @cached_property
    def _within(self) -> Array:
        """Of each stratum, the share of its sampled pixels that is of each class."""
        shares = ratio(self.counts, self.counts.sum(axis=1, keepdims=True))
        return np.where(self._weights[:, None] > 0, shares, 0.0)

    @cached_property
    def _variances(self) -> Array:
        """The variances of those shares; unknown for a stratum with one sampled pixel."""
        n = self.counts.sum(axis=1, keepdims=True)
        spread = self._within * (1 - self._within)
        known = np.divide(spread, n - 1.0, out=np.full(spread.shape, np.nan), where=n > 1)
        return np.where(self._weights[:, None] > 0, known, 0.0)

    @cached_property
    def _own(self) -> Array:
        """The row of each class: the stratum of its name."""
        return np.array([self.strata.index(label) for label in self.classes])

    @property
    def proportions(self) -> Array:
        return self._weights[:, None] * self._within

    @property
    def overall_accuracy(self) -> float:
        return float(self._right.sum())

    @property
    def overall_se(self) -> float:
        columns = np.arange(len(self.classes))
        return float(np.sqrt((self._weights[self._own] ** 2 * self._variances[self._own, columns]).sum()))

    @property
    def _right(self) -> Array:
        return self.proportions[self._own, np.arange(len(self.classes))]

    @property
    def users_accuracy(self) -> Array:
        return ratio(self._right, self._weights[self._own])

    @property
    def users_accuracy_se(self) -> Array:
        variance = self._variances[self._own, np.arange(len(self.classes))]
        return np.sqrt(np.where(self._weights[self._own] > 0, variance, np.nan))

    @property
    def producers_accuracy(self) -> Array:
        return ratio(self._right, self.proportions.sum(axis=0))

    @property
    def producers_accuracy_se(self) -> Array:
        columns = np.arange(len(self.classes))
        accuracy, variance = self.producers_accuracy, self._weights[:, None] ** 2 * self._variances
        own = variance[self._own, columns]
        others = variance.sum(axis=0) - own
        squares = (1 - accuracy) ** 2 * own + accuracy**2 * others
        return np.sqrt(ratio(squares, self.proportions.sum(axis=0) ** 2))

    @property
    def area(self) -> Array:
        return self.total_area * self.proportions.sum(axis=0)

    @property
    def area_se(self) -> Array:
        return self.total_area * np.sqrt((self._weights[:, None] ** 2 * self._variances).sum(axis=0))

    def halfwidth(self, measure: str) -> Any:
        """Half the width of the interval of "overall", "users_accuracy", "producers_accuracy" or "area"."""
        if measure == "overall":
            return self._z * self.overall_se
        if measure not in _CLASS_MEASURES:
            raise ParameterError(f"measure must be 'overall' or one of {_CLASS_MEASURES}, got {measure!r}.")
        return self._z * getattr(self, f"{measure}_se")

    def interval(self, measure: str, of: Any = None) -> Interval:
        """The confidence interval of "overall", or of another measure of one class, cut off at 0 and at its most."""
        width = self.halfwidth(measure)
        if measure == "overall":
            value, most = self.overall_accuracy, 1.0
        else:
            if of not in self.classes:
                raise ParameterError(f"of must be a class ({', '.join(map(str, self.classes))}), got {of!r}.")
            k, most = self.classes.index(of), self.total_area if measure == "area" else 1.0
            value, width = float(getattr(self, measure)[k]), float(width[k])
        if np.isnan(width):
            return Interval(np.nan, np.nan, self.level, "not known")
        return Interval(max(value - width, 0.0), min(value + width, most), self.level, "stratified")

    @property
    def _z(self) -> float:
        return float(ndtri((1 + self.level) / 2))

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be estimated, and why."""
        sampled, told = self.counts.sum(axis=1), []
        for k, label in enumerate(self.classes):
            if self.map_areas[self._own[k]] == 0:
                told.append(f"{label} is not on the map: it has no user's accuracy.")
            if self.counts[:, k].sum() == 0:
                told.append(f"{label} is not in the reference: it has no producer's accuracy.")
        for i in np.flatnonzero((sampled == 1) & (self.map_areas > 0)):
            told.append(f"{self.strata[i]} has one sampled pixel: standard errors need at least two.")
        return tuple(told)

    @property
    def written(self) -> list[list[str]]:
        """Of each class: user's and producer's accuracy and area, each with its interval, and the area on the map.

        The smaller the whole map is in its unit, the more decimals areas have.
        """
        decimals = max(1, 4 - math.floor(math.log10(self.total_area)))
        users, producers, areas = (self.halfwidth(measure) for measure in _CLASS_MEASURES)
        return [
            [
                _plus_minus(100 * self.users_accuracy[k], 100 * users[k], " %"),
                _plus_minus(100 * self.producers_accuracy[k], 100 * producers[k], " %"),
                _plus_minus(self.area[k], areas[k], "", decimals),
                _number(self.map_areas[self._own[k]], decimals),
            ]
            for k in range(len(self.classes))
        ]

    @property
    def written_overall(self) -> str:
        """The overall accuracy with its interval."""
        return _plus_minus(100 * self.overall_accuracy, 100 * self.halfwidth("overall"), " %")

    def to_frame(self) -> Any:
        """A frame with a row for each class: accuracies and area with standard errors, and the area on the map."""
        columns = {"class": self.classes}
        for measure in _CLASS_MEASURES:
            columns[measure], columns[f"{measure}_se"] = getattr(self, measure), getattr(self, f"{measure}_se")
        return frame_of({**columns, "map_area": self.map_areas[self._own]})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; what is undefined is None."""
        measures = {
            measure: by_class(self.classes, values)
            for name in _CLASS_MEASURES
            for measure, values in ((name, getattr(self, name)), (f"{name}_se", getattr(self, f"{name}_se")))
        }
        return {
            "rows": "map",
            "columns": "reference",
            "strata": self.strata,
            "classes": self.classes,
            "counts": self.counts.tolist(),
            "proportions": self.proportions.tolist(),
            "map_areas": dict(zip(map(str, self.strata), self.map_areas.tolist(), strict=True)),
            "level": self.level,
            "overall_accuracy": self.overall_accuracy,
            "overall_accuracy_se": defined(self.overall_se),
            **measures,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        rows = [["class", "user's accuracy", "producer's accuracy", "area", "area on the map"]]
        rows += [[shortened(label), *cells] for label, cells in zip(self.classes, self.written, strict=True)]
        overall = self.written_overall
        head = f"area-adjusted estimates of a sample stratified by map class; ± is a {100 * self.level:g} % interval"
        return "\n".join([head, *aligned(rows), f"overall accuracy {overall}", *self.notes])

    __repr__ = __str__


def area_adjusted_accuracy(confusion: Any, map_areas: Any, classes: Any = None, level: float = 0.95) -> AreaAdjusted:
    """Accuracies and areas of the classes on the ground, from a sample that was stratified by the classes of a map.

    Parameters
    ----------
    confusion : array-like, pandas DataFrame, ConfusionMatrix or MapAccuracy
        Sampled pixels. As an array: rows are the map, columns the reference, as Olofsson et al. print it, both in the
        order of ``classes``. A frame has map classes as its index and reference classes as its columns. A
        ConfusionMatrix, whose rows are the reference, says so itself and is turned.
    map_areas : dict or array-like
        The area of each map class, in any unit (pixels, hectares); in the order of ``classes``, or by class.
    classes : list, optional
        For an array: the classes. Default: 1, 2, ...
    level : float
        Of the intervals.

    Returns
    -------
    AreaAdjusted

    Examples
    --------
    The example of Olofsson et al. (2014), areas in hectares:

    >>> counts = [[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]]
    >>> names = ["deforestation", "forest gain", "stable forest", "stable non-forest"]
    >>> print(area_adjusted_accuracy(counts, [18_000, 13_500, 288_000, 580_500], names))
    area-adjusted estimates of a sample stratified by map class; ± is a 95 % interval
    class              user's accuracy  producer's accuracy                  area  area on the map
    deforestation         88.0 ± 7.4 %        74.9 ± 21.3 %    21,157.8 ± 6,157.5         18,000.0
    forest gain          73.3 ± 10.1 %        84.7 ± 25.4 %    11,686.2 ± 3,755.8         13,500.0
    stable forest         92.7 ± 4.0 %         93.5 ± 3.4 %  285,769.9 ± 15,509.6        288,000.0
    stable non-forest     96.3 ± 2.1 %         96.2 ± 1.8 %  581,386.2 ± 16,281.4        580,500.0
    overall accuracy 94.7 ± 1.8 %
    """
    table = _table(confusion, classes)
    strata, counts = table.truth, table.counts
    areas = _areas(map_areas, strata)
    _refuse_unsampled(strata, counts, areas)
    return AreaAdjusted(strata, table.prediction, counts, areas, check_level(level))


def _table(confusion: Any, classes: Any) -> CrossTable:
    """The counts, rows what the map shows and columns all classes; the classes come first among the rows."""
    if isinstance(confusion, MapAccuracy):
        confusion = confusion.confusion
    if isinstance(confusion, ConfusionMatrix):
        strata, columns = confusion.predictions.tolist(), confusion.classes.tolist()
        return CrossTable(strata, columns, confusion.counts.T.astype(np.float64))
    if classes is not None and hasattr(confusion, "columns"):
        raise InputError(
            "classes= is for an array; a frame names its classes itself: index the map, columns the reference."
        )
    if hasattr(confusion, "columns") and not hasattr(confusion, "index"):
        raise InputError(
            "A polars frame does not say what its rows are. Give an array, with classes=, or a pandas frame whose "
            "index is the map and whose columns are the reference."
        )
    if hasattr(confusion, "columns"):
        mapped, reference = ([plain(label) for label in axis] for axis in (confusion.index, confusion.columns))
        _refuse_twice(mapped, "the index of confusion")
        _refuse_twice(reference, "the columns of confusion")
        labels = list(dict.fromkeys([*reference, *mapped]))
        counts = CrossTable(mapped, reference, _counts(confusion.to_numpy())).arranged(labels, labels)
        return CrossTable(labels, labels, counts)
    counts = _counts(confusion)
    labels = list(range(1, len(counts) + 1)) if classes is None else [plain(label) for label in classes]
    _refuse_twice(labels, "classes")
    if counts.shape != (len(labels), len(labels)):
        raise InputError(
            f"confusion must have {len(labels)} rows (map) and as many columns (reference), got shape {counts.shape}. "
            "Where map and reference have different classes give a frame or a ConfusionMatrix, which name them."
        )
    return CrossTable(labels, labels, counts)


def _refuse_twice(labels: list[Any], where: str) -> None:
    twice = [label for label, n in Counter(labels).items() if n > 1]
    if twice:
        raise InputError(f"Each class must come once in {where}, got {shown(twice[0])} more than once. Add them up.")


def _counts(given: Any) -> Array:
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"confusion must be a table of counts: {error}.") from error
    if counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError("confusion must be a table of finite counts, 0 or more: rows the map, columns the reference.")
    return counts


def _areas(map_areas: Any, strata: list[Any]) -> Array:
    """The area of each row, 0 for a class that the map does not have."""
    if hasattr(map_areas, "items"):
        given = {plain(label): area for label, area in map_areas.items()}
    else:
        listed = np.asarray(map_areas)
        if listed.shape != (len(strata),):
            raise InputError(
                f"map_areas must have one area for each of the {len(strata)} map classes "
                f"({', '.join(map(str, strata))}), got shape {listed.shape}."
            )
        given = dict(zip(strata, listed.tolist(), strict=True))
    unknown = [label for label, area in given.items() if label not in strata and area]
    if unknown:
        raise InputError(
            f"map_areas has the class {shown(unknown[0])}, of which no pixel was sampled: its part of the map cannot "
            "be judged. Sample it, or leave it out of the areas if it is not to be judged."
        )
    try:
        areas = np.array([float(given.get(label, 0.0)) for label in strata])
    except (TypeError, ValueError) as error:
        raise InputError(f"map_areas must be areas, got {map_areas!r}: {error}.") from error
    if not np.isfinite(areas).all() or (areas < 0).any() or not areas.any():
        raise InputError(f"map_areas must be areas, 0 or more and not all 0, got {map_areas!r}.")
    return areas


def _refuse_unsampled(strata: list[Any], counts: Array, areas: Array) -> None:
    sampled = counts.sum(axis=1)
    for label, n, area in zip(strata, sampled, areas, strict=True):
        if area > 0 and n == 0:
            raise InputError(
                f"The map class {shown(label)} has an area of {area:g}, and no pixel of it was sampled: its accuracy "
                "is not known. Sample every map class (rows are the map, columns the reference)."
            )
        if area == 0 and n > 0:
            raise InputError(
                f"{n:g} pixels were sampled where the map shows {shown(label)}, and its area in map_areas is 0. Give "
                "its area (rows are the map, columns the reference)."
            )


def _number(value: float, decimals: int = 1) -> str:
    return "-" if np.isnan(value) else f"{value:,.{decimals}f}"


def _plus_minus(value: float, width: float, unit: str, decimals: int = 1) -> str:
    if np.isnan(value):
        return "-"
    return f"{_number(value, decimals)} ± {_number(width, decimals)}{unit}"
