"""How accurate a map is: agreement with a reference, estimates of a stratified sample, and the map held against areas.

A reference sample that was drawn within each map class (see `design`) is weighted by the areas of the map: Olofsson et
al. (2014), "Good practices for estimating area and assessing accuracy of land change", Remote Sensing of Environment.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from ..data.checks import check_choice
from ..errors import InputError, LabelError, ParameterError, Setting
from ..evaluation.confusion import ConfusionMatrix, CrossTable, ratio
from ..evaluation.intervals import Interval, check_level, quantile
from ..results import (
    Finding,
    Result,
    aligned,
    count,
    jsonable,
    matrix_frame,
    percent,
    plain,
    shortened,
    shown,
    told_findings,
)
from .areas import as_areas
from .class_map import class_pixels, labels_of_codes, refuse_many_bands
from .image import Array, Image, Paths, opened
from .samples import pixel_values

_BY_CLASS = ("producers_accuracy", "users_accuracy")
_CLASS_MEASURES = ("users_accuracy", "producers_accuracy", "area")
_WITH_ERRORS = tuple(name for measure in _CLASS_MEASURES for name in (measure, f"{measure}_se"))
_WHOLE = re.compile(r"-?[0-9]+")


def _of_confusion(name: str, doc: str) -> Any:
    """A property that the confusion matrix has already."""
    return property(attrgetter(f"confusion.{name}"), doc=doc)


@dataclass(frozen=True, eq=False, repr=False)
class MapAccuracy(Result):
    """The agreement of a map with a reference sample, pixel by pixel.

    Attributes
    ----------
    confusion : ConfusionMatrix
        Rows are the reference, columns the map.
    overall_accuracy, kappa : float
    producers_accuracy, users_accuracy : arrays of shape (classes,)
    quantity_disagreement, allocation_disagreement : float

    See Also
    --------
    map_accuracy : Of two columns of labels.
    assess_map : Of a map and a reference in files.

    Notes
    -----
    Producer's accuracy of a class: the share of its reference pixels that the map shows as the class. User's accuracy:
    the share of the pixels mapped as the class that are of the class. All counts are taken as they are; for a sample
    that was drawn by map class, `area_adjusted_accuracy` weights them by the areas of the map.

    References
    ----------
    Pontius, R. G. & Millones, M. (2011). Death to Kappa: birth of quantity disagreement and allocation disagreement for
    accuracy assessment. International Journal of Remote Sensing 32, 4407-4429.

    Examples
    --------
    >>> found = map_accuracy(["water", "water", "sand", "sand", "sand"], ["water", "sand", "sand", "sand", "water"])
    >>> found.producers_accuracy, found.users_accuracy
    (array([0.66666667, 0.5       ]), array([0.66666667, 0.5       ]))
    >>> round(found.quantity_disagreement, 3), round(found.allocation_disagreement, 3)
    (0.0, 0.4)
    """

    confusion: ConfusionMatrix

    classes = _of_confusion("classes", "The classes of the reference.")
    overall_accuracy = _of_confusion("accuracy", "The share of all reference pixels that are mapped as their class.")
    producers_accuracy = _of_confusion("recall", "Of each class: the share of its reference pixels mapped as it.")
    users_accuracy = _of_confusion("precision", "Of each class: the share of the pixels mapped as it that are of it.")
    kappa = _of_confusion("kappa", "Cohen's kappa.")

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

    def _columns(self) -> dict[str, Any]:
        return {"class": self.classes.tolist(), **{name: getattr(self, name) for name in _BY_CLASS}}

    def to_frame(self, backend: Any = None) -> Any:
        """The counts with named axes, rows reference and columns map; by ``backend``, the accuracies of each class.

        Parameters
        ----------
        backend : str, optional
            Of the accuracies: "pandas", "polars" or "pyarrow".

        Returns
        -------
        frame
            A row for each class (users' and producers' accuracy).
        """
        if backend is not None:
            return super().to_frame(backend)
        matrix = self.confusion
        return matrix_frame(matrix.counts, matrix.classes.tolist(), matrix.predictions.tolist(), "reference", "map")

    def to_dict(self) -> dict[str, Any]:
        """Counts and measures as plain values; what is undefined is None.

        Returns
        -------
        dict
            Rows are the reference, columns the map.
        """
        overall = ("overall_accuracy", "kappa", "quantity_disagreement", "allocation_disagreement")
        told = {
            "rows": "reference",
            "columns": "map",
            "reference_classes": self.confusion.classes,
            "map_classes": self.confusion.predictions,
            "counts": self.confusion.counts,
            **{name: getattr(self, name) for name in overall},
            **{name: dict(zip(self.classes, getattr(self, name), strict=True)) for name in _BY_CLASS},
        }
        return jsonable(told)

    @property
    def written(self) -> list[list[str]]:
        """The counts as text, a row for each class with its producer's accuracy, the totals, and user's accuracies."""
        matrix, total = self.confusion, self.confusion.counts.sum(axis=0)
        rows = [
            [str(label), *map(count, counts), count(counts.sum()), percent(share)]
            for label, counts, share in zip(matrix.classes, matrix.counts, self.producers_accuracy, strict=True)
        ]
        users = [*map(percent, self.users_accuracy), *[""] * (len(total) - len(self.classes))]
        last = ["user's", *users, "", percent(self.overall_accuracy)]
        return [*rows, ["total", *map(count, total), count(total.sum()), ""], last]

    def __str__(self) -> str:
        rows = [["reference", *map(str, self.confusion.predictions), "total", "producer's"], *self.written]
        lines = [
            "rows = reference, columns = map; producer's accuracy by row, user's by column, overall in the corner",
            *aligned([list(map(shortened, row)) for row in rows]),
            f"kappa {self.kappa:.4f}, quantity disagreement {percent(self.quantity_disagreement)}, "
            f"allocation disagreement {percent(self.allocation_disagreement)}",
        ]
        return "\n".join(lines)


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

    See Also
    --------
    assess_map : The same for a map and areas in files.

    Examples
    --------
    >>> from discriminant.raster import map_accuracy
    >>> map_accuracy(["a", "a", "b", "b"], ["a", "b", "b", "b"]).overall_accuracy
    0.75
    """
    return MapAccuracy(ConfusionMatrix.of(reference, mapped, classes, actions=actions))


@dataclass(frozen=True, eq=False, repr=False)
class AreaAdjusted(Result):
    """Accuracies and areas with standard errors, from a sample stratified by map class (Olofsson et al. 2014).

    Attributes
    ----------
    strata : list
        What the map shows: the classes, and what else was sampled, such as "rejected". Rows of the matrices.
    classes : list
        The classes of the reference. Columns of the matrices.
    counts : array of shape (strata, classes)
        Sampled pixels; rows are the map, columns the reference.
    map_areas : array of shape (strata,)
        The area of each stratum on the map.
    level : float
        Of the intervals.
    proportions : array of shape (strata, classes)
        The estimated share of the whole area with this map class and this reference class.
    overall_accuracy, overall_accuracy_se : float
    users_accuracy, users_accuracy_se, producers_accuracy, producers_accuracy_se : arrays of shape (classes,)
        NaN where a class is not on the map, or not in the reference.
    area, area_se : arrays of shape (classes,)
        The estimated area of each class on the ground, in the unit of ``map_areas``.

    See Also
    --------
    area_adjusted_accuracy : Estimates them.
    """

    strata: list[Any]
    classes: list[Any]
    counts: Array
    map_areas: Array
    level: float
    proportions: Array
    overall_accuracy: float
    overall_accuracy_se: float
    users_accuracy: Array
    users_accuracy_se: Array
    producers_accuracy: Array
    producers_accuracy_se: Array
    area: Array
    area_se: Array

    @property
    def total_area(self) -> float:
        """The area of the whole map."""
        return float(self.map_areas.sum())

    @property
    def class_map_areas(self) -> Array:
        """The area of each class on the map."""
        return self.map_areas[[self.strata.index(label) for label in self.classes]]

    def halfwidth(self, measure: str) -> Any:
        """Half the width of the interval of a measure: "overall_accuracy", or of each class one of the others.

        Parameters
        ----------
        measure : str
            A name of a measure.

        Returns
        -------
        float or array of shape (classes,)
            NaN where the standard error is not known.
        """
        check_choice("measure", measure, ("overall_accuracy", *_CLASS_MEASURES))
        return quantile(self.level) * getattr(self, f"{measure}_se")

    def interval(self, measure: str, of: Any = None) -> Interval:
        """The confidence interval of the overall accuracy, or of a measure of one class, cut off at 0 and at its most.

        Parameters
        ----------
        measure : {"overall_accuracy", "users_accuracy", "producers_accuracy", "area"}
            What it is an interval of.
        of : object, optional
            The class, for all but the overall accuracy.

        Returns
        -------
        Interval
            With ``low`` and ``high``.
        """
        value, width = getattr(self, measure, None), self.halfwidth(measure)
        if measure != "overall_accuracy":
            if of not in self.classes:
                known = ", ".join(map(str, self.classes))
                raise ParameterError(Setting("of"), f" must be a class ({known}), got {of!r}.")
            k = self.classes.index(of)
            value, width = float(getattr(self, measure)[k]), float(width[k])
        if np.isnan(width):
            return Interval(np.nan, np.nan, self.level, "not known")
        most = self.total_area if measure == "area" else 1.0
        return Interval(max(value - width, 0.0), min(value + width, most), self.level, "stratified")

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be estimated, and why."""
        sampled, told = self.counts.sum(axis=1), []
        for k, label in enumerate(self.classes):
            if self.class_map_areas[k] == 0:
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
        users, producers, areas = (
            zip(getattr(self, measure), self.halfwidth(measure), strict=True) for measure in _CLASS_MEASURES
        )
        shares = [[_percent(*one) for one in measure] for measure in (users, producers)]
        grounds = [_plus_minus(*one, "", decimals) for one in areas]
        on_map = [f"{area:,.{decimals}f}" for area in self.class_map_areas]
        return [list(cells) for cells in zip(*shares, grounds, on_map, strict=True)]

    @property
    def written_overall(self) -> str:
        """The overall accuracy with its interval."""
        return _percent(self.overall_accuracy, self.halfwidth("overall_accuracy"))

    def _columns(self) -> dict[str, Any]:
        measures = {name: getattr(self, name) for name in _WITH_ERRORS}
        return {"class": self.classes, **measures, "map_area": self.class_map_areas}

    def to_dict(self) -> dict[str, Any]:
        """Estimates as plain values; what is undefined is None.

        Returns
        -------
        dict
            Measures of classes by class, areas of the map by stratum.
        """
        told = {**super().to_dict(), "rows": "map", "columns": "reference", "notes": list(self.notes)}
        by_class = {name: dict(zip(self.classes, getattr(self, name), strict=True)) for name in _WITH_ERRORS}
        return {**told, **jsonable({**by_class, "map_areas": dict(zip(self.strata, self.map_areas, strict=True))})}

    def __str__(self) -> str:
        rows = [["class", "user's accuracy", "producer's accuracy", "area", "area on the map"]]
        rows += [[shortened(label), *cells] for label, cells in zip(self.classes, self.written, strict=True)]
        head = f"area-adjusted estimates of a sample stratified by map class; ± is a {100 * self.level:g} % interval"
        return "\n".join([head, *aligned(rows), f"overall accuracy {self.written_overall}", *self.notes])


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
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    AreaAdjusted

    See Also
    --------
    map_accuracy : Plain counts.
    draw_design : Draws such a sample.

    References
    ----------
    Olofsson, P. et al. (2014). Good practices for estimating area and assessing accuracy of land change. Remote Sensing
    of Environment 148, 42-57.

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
    areas = _areas(map_areas, table.truth)
    for label, n, area in zip(table.truth, table.counts.sum(axis=1), areas, strict=True):
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
    return _estimated(table.truth, table.prediction, table.counts, areas, check_level(level))


def _estimated(strata: list[Any], classes: list[Any], counts: Array, map_areas: Array, level: float) -> AreaAdjusted:
    """The estimators of a stratified random sample (Cochran 1977), equations 1 to 11 of Olofsson et al. (2014)."""
    total = float(map_areas.sum())
    weights, n = (map_areas / total)[:, None], counts.sum(axis=1, keepdims=True)
    within = np.where(weights > 0, ratio(counts, n), 0.0)  # of each stratum, the share of each class
    spread = np.where(weights > 0, ratio(within * (1 - within), n - 1.0), 0.0)  # the variances of those shares
    proportions, variances = weights * within, weights**2 * spread
    own = np.array([strata.index(label) for label in classes]), np.arange(len(classes))
    right, variance, weight = proportions[own], variances[own], weights[own[0], 0]
    on_ground = proportions.sum(axis=0)
    producers = ratio(right, on_ground)
    producers_squares = (1 - producers) ** 2 * variance + producers**2 * (variances.sum(axis=0) - variance)
    return AreaAdjusted(
        strata, classes, counts, map_areas, level, proportions,
        overall_accuracy=float(right.sum()),
        overall_accuracy_se=float(np.sqrt(variance.sum())),
        users_accuracy=ratio(right, weight),
        users_accuracy_se=np.sqrt(np.where(weight > 0, spread[own], np.nan)),
        producers_accuracy=producers,
        producers_accuracy_se=np.sqrt(ratio(producers_squares, on_ground**2)),
        area=total * on_ground,
        area_se=total * np.sqrt(variances.sum(axis=0)),
    )  # fmt: skip


def _table(confusion: Any, classes: Any) -> CrossTable:
    """The counts, rows what the map shows and columns all classes; the classes come first among the rows."""
    if isinstance(confusion, MapAccuracy):
        confusion = confusion.confusion
    if isinstance(confusion, ConfusionMatrix):
        strata, columns = confusion.predictions.tolist(), confusion.classes.tolist()
        return CrossTable(strata, columns, confusion.counts.T.astype(np.float64))
    framed = hasattr(confusion, "columns")
    if framed and classes is not None:
        raise InputError(
            "classes= is for an array; a frame names its classes itself: index the map, columns the reference."
        )
    if framed and not hasattr(confusion, "index"):
        raise InputError(
            "A polars frame does not say what its rows are. Give an array, with classes=, or a pandas frame whose "
            "index is the map and whose columns are the reference."
        )
    counts = _counts(confusion)
    given = range(1, len(counts) + 1) if classes is None else classes
    mapped = _each_once("the index of confusion", confusion.index) if framed else _each_once("classes", given)
    reference = _each_once("the columns of confusion", confusion.columns) if framed else mapped
    if not framed and counts.shape != (len(mapped), len(mapped)):
        raise InputError(
            f"confusion must have {len(mapped)} rows (map) and as many columns (reference), got shape {counts.shape}. "
            "Where map and reference have different classes give a frame or a ConfusionMatrix, which name them."
        )
    labels = list(dict.fromkeys([*reference, *mapped]))
    return CrossTable(labels, labels, CrossTable(mapped, reference, counts).arranged(labels, labels))


def _each_once(where: str, given: Any) -> list[Any]:
    labels = [plain(label) for label in given]
    twice = [label for label, n in Counter(labels).items() if n > 1]
    if twice:
        raise InputError(f"Each class must come once in {where}, got {shown(twice[0])} more than once. Add them up.")
    return labels


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


def _plus_minus(value: float, width: float, unit: str, decimals: int = 1) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:,.{decimals}f} ± {'-' if np.isnan(width) else f'{width:,.{decimals}f}'}{unit}"


def _percent(share: float, width: float) -> str:
    return _plus_minus(100 * share, 100 * width, " %")


@dataclass(frozen=True, eq=False, repr=False)
class MapAssessment(Result):
    """A map held against the truth, where that is known.

    Attributes
    ----------
    accuracy : MapAccuracy
        With all reference pixels counted alike.
    map_pixels : dict
        How many pixels of the whole map each class has.
    hectares : float or None
        The area of a pixel, where the map is in metres or a multiple of them.
    findings : tuple of Finding

    See Also
    --------
    assess_map : Makes it.
    """

    accuracy: MapAccuracy
    map_pixels: dict[Any, int]
    hectares: float | None
    findings: tuple[Finding, ...]

    def area_adjusted(self, level: float = 0.95) -> AreaAdjusted:
        """Accuracies and areas that weight the map classes by their area: right for a sample drawn by map class.

        Areas are in hectares where the size of a pixel is known, else in pixels. Reference areas that were chosen by
        hand are no such sample: their estimates say nothing about the rest of the map.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        AreaAdjusted
            Estimates with standard errors.
        """
        unit = 1.0 if self.hectares is None else self.hectares
        areas = {label: unit * pixels for label, pixels in self.map_pixels.items()}
        return area_adjusted_accuracy(self.accuracy, areas, level=level)

    def _columns(self) -> dict[str, Any]:
        return self.accuracy._columns()

    def __str__(self) -> str:
        return "\n".join([str(self.accuracy), *told_findings(self.findings)])


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
        The map to be judged: one band of class codes.
    reference : path, Areas or LabelImage
        Where the truth is known, see `open_areas`.
    class_field : str, optional
        For a path: the field that holds the true class.
    names : dict, optional
        The class that each code of the map stands for; by default the codes are the classes. A reference whose
        classes are written alike, such as the text "3" for the number 3, means the same.
    others : tuple, default=()
        What the map shows that is no class, such as "rejected", as ``names`` calls it.
    n_jobs : int, optional
        Threads that read: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    MapAssessment

    See Also
    --------
    draw_design : Points to be checked, drawn at random within each map class.

    Examples
    --------
    >>> import tempfile, rasterio, numpy as np
    >>> truth = np.repeat(np.array([[[1, 2]]], dtype="uint8"), 4, axis=2).repeat(4, axis=1)
    >>> form = {"crs": "EPSG:32632", "transform": rasterio.Affine(100, 0, 500_000, 0, -100, 200_000), "nodata": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, values in (("truth", truth), ("map", np.roll(truth, 1, axis=2))):
    ...         with rasterio.open(f"{folder}/{name}.tif", "w", "GTiff", 8, 4, 1, dtype="uint8", **form) as file:
    ...             file.write(values)
    ...     found = assess_map(f"{folder}/map.tif", f"{folder}/truth.tif")
    >>> found.accuracy.overall_accuracy, found.map_pixels, found.hectares
    (0.75, {1: 16, 2: 16}, 1.0)
    """
    reference = as_areas(reference, class_field)
    with opened(class_map) as image:
        refuse_many_bands(image)
        nothing = f"The map {image.label} has no class where {reference.source} lies."
        values, pixels = pixel_values(image, reference.pixels(image), nothing, n_jobs)
        mapped = labels_of_codes(values[:, 0], names, image)
        known = {*mapped.tolist(), *(plain(label) for label in (names or {}).values())} - {*others}
        truth = _as_on_map(pixels.labels, known)[pixels.area]
        seen = {*truth.tolist(), *mapped.tolist()}
        if not set(truth.tolist()) & set(mapped.tolist()):
            marked, drawn = (", ".join(sorted(map(shown, {*labels.tolist()}))) for labels in (truth, mapped))
            words = f"{reference.source} has the classes {marked}, and the map {image.label} shows {drawn}: none is in "
            words += "both. Use the same names, or say what the codes of the map stand for ("
            raise LabelError(words, Setting("names"), ").")
        classes = sorted(seen - {*others}, key=lambda label: (isinstance(label, str), label))
        accuracy = map_accuracy(truth, mapped, classes, [label for label in others if label in seen])
        return MapAssessment(accuracy, class_pixels(image, names, n_jobs), image.pixel_hectares, pixels.findings)


def _as_on_map(labels: Array, classes: set[Any]) -> Array:
    """The labels of a reference as the map would have them: in a text field the class 3 is written "3"."""
    texts = [str(plain(label)) for label in labels]
    if all(isinstance(label, str) for label in classes):
        return np.array(texts)
    if all(isinstance(label, int) for label in classes) and all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts])
    return labels
