"""How accurate a map is, by the counts of a reference sample."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..errors import DegenerateDataError, InputError, LabelError, ParameterError
from ..evaluation.confusion import ConfusionMatrix, CrossTable
from ..evaluation.intervals import Interval, check_level
from ..evaluation.rates import ratio
from ..results import aligned, frame_of, matrix_frame, plain, shortened, shown
from ..tables.learning import Finding
from .areas import open_areas
from .class_map import class_pixels, labels_of_codes, refuse_many_bands
from .image import Image, Paths, opened
from .samples import pixel_values

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


_WHOLE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, eq=False)
class MapAssessment:
    """What a map shows where the truth is known.

    Attributes
    ----------
    accuracy : MapAccuracy
        All reference pixels counted alike.
    map_pixels : dict
        How many pixels of the whole map each class has.
    hectares : float or None
        The area of a pixel, where the map is in metres or a multiple of them.
    findings : tuple of Finding
    """

    accuracy: MapAccuracy
    map_pixels: dict[Any, int]
    hectares: float | None
    findings: tuple[Finding, ...]

    def area_adjusted(self, level: float = 0.95) -> AreaAdjusted:
        """Accuracies and areas that weight the map classes by their area: right for a sample drawn by map class.

        Areas are in hectares where the size of a pixel is known, else in pixels. Reference areas that were chosen by
        hand are no such sample: their estimates say nothing about the rest of the map.
        """
        unit = 1.0 if self.hectares is None else self.hectares
        areas = {label: unit * pixels for label, pixels in self.map_pixels.items()}
        return area_adjusted_accuracy(self.accuracy, areas, level=level)


def assess_map(
    class_map: Image | Paths,
    reference: Any,
    class_field: str | None = None,
    names: Mapping[int, Any] | None = None,
    others: tuple[Any, ...] = (),
    n_jobs: int | None = None,
) -> MapAssessment:
    """How far a class map agrees with reference areas, points or painted labels.

    Parameters
    ----------
    class_map : path or Image
        One band of class codes.
    reference : path, or what `open_areas` gives
    class_field : str, optional
        For a path: the field that holds the true class.
    names : dict, optional
        The class that each code of the map stands for; by default the codes are the classes. A reference whose
        classes are written alike, such as the text "3" for the number 3, means the same.
    others : tuple
        What the map shows that is no class, such as "rejected", as ``names`` calls it.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    MapAssessment

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> form = {"driver": "GTiff", "count": 1, "width": 8, "height": 4, "dtype": "uint8", "nodata": 0}
    >>> form |= {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000)}
    >>> truth = np.repeat(np.array([[[1, 2]]], dtype="uint8"), 4, axis=2).repeat(4, axis=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, values in (("truth", truth), ("map", np.roll(truth, 1, axis=2))):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", **form) as file:
    ...             file.write(values)
    ...     found = assess_map(f"{folder}/map.tif", f"{folder}/truth.tif")
    >>> found.accuracy.overall_accuracy, found.map_pixels, found.hectares
    (0.75, {1: 16, 2: 16}, 1.0)
    """
    if isinstance(reference, (str, os.PathLike)):
        reference = open_areas(reference, class_field)
    with opened(class_map) as image:
        refuse_many_bands(image)
        values, pixels = pixel_values(image, reference.pixels(image), n_jobs)
        if not pixels.n_pixels:
            why = " ".join(finding.message for finding in pixels.findings)
            raise DegenerateDataError(f"The map {image.label} has no class where {reference.source} lies. {why}")
        shown_classes = labels_of_codes(values[:, 0], names, image)
        known = {*shown_classes.tolist(), *(plain(label) for label in (names or {}).values())} - {*others}
        truth = _as_on_map(pixels.labels, known)[pixels.area]
        _refuse_no_common_class(truth, shown_classes, reference.source, image)
        seen = {*truth.tolist(), *shown_classes.tolist()}
        classes = sorted(seen - {*others}, key=lambda label: (isinstance(label, str), label))
        accuracy = map_accuracy(truth, shown_classes, classes, [label for label in others if label in seen])
        return MapAssessment(accuracy, class_pixels(image, names, n_jobs), image.pixel_hectares, pixels.findings)


def _as_on_map(labels: Array, classes: set[Any]) -> Array:
    """The labels of a reference as the map would have them: in a text field the class 3 is written "3"."""
    texts = [str(plain(label)) for label in labels]
    if all(isinstance(label, str) for label in classes):
        return np.array(texts)
    if all(isinstance(label, int) for label in classes) and all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts])
    return labels


def _refuse_no_common_class(truth: Array, mapped: Array, source: str, image: Image) -> None:
    known, drawn = (sorted({plain(label) for label in labels}, key=str) for labels in (truth, mapped))
    if not set(known) & set(drawn):
        raise LabelError(
            f"{source} has the classes {', '.join(map(shown, known))}, and the map {image.label} shows "
            f"{', '.join(map(shown, drawn))}: none is in both. Use the same names, or "
            "say what the codes of the map stand for (names)."
        )
