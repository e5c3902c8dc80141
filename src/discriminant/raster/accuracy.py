"""How accurate a map is: agreement with a reference, estimates of a stratified sample, and the map held against areas.

A reference sample that was drawn within each map class (see `design`) is weighted by the areas of the map: Olofsson et
al. (2014), "Good practices for estimating area and assessing accuracy of land change", Remote Sensing of Environment.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..data import check_choice
from ..engine import side_by_side
from ..errors import DegenerateDataError, InputError, LabelError, ParameterError, Setting
from ..evaluation.confusion import ConfusionMatrix, CrossTable, ratio
from ..evaluation.intervals import Interval, check_level, wilson_interval
from ..results import (
    NOTHING,
    Finding,
    Result,
    aligned,
    count,
    jsonable,
    listed,
    matrix_frame,
    percent,
    plain,
    shortened,
    shown,
    told_findings,
)
from .areas import Areas, LabelImage, area_finding, as_areas, file_digest, spelling
from .class_map import class_extents, labels_of_codes, refuse_many_bands
from .image import Array, Image, Paths, opened
from .samples import pixel_values

#: The tag of a map that says what its model has learned from.
TRAINING_TAG: Final = "TRAINING"
_BY_CLASS = ("producers_accuracy", "users_accuracy", "specificity")
_CLASS_MEASURES = ("users_accuracy", "producers_accuracy", "specificity", "area")
#: A matrix with more columns is printed as a list of its classes, and of more classes the first are.
_MOST_COLUMNS, _MOST_ROWS = 14, 40
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
    producers_accuracy, users_accuracy, specificity : arrays of shape (classes,)
    quantity_disagreement, allocation_disagreement : float

    See Also
    --------
    map_accuracy : Of two columns of labels.
    assess_map : Of a map and a reference in files.

    Notes
    -----
    Producer's accuracy of a class: the share of its reference pixels that the map shows as the class. User's accuracy:
    the share of the pixels mapped as the class that are of the class. Specificity: the share of the reference pixels of
    other classes that are not mapped as the class. All counts are taken as they are; for a sample
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
    specificity = _of_confusion("specificity", "Of each class: the share of the others' pixels not mapped as it.")
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
            A row for each class (producer's and user's accuracy, specificity).
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
        """The counts as text, a row for each class with its own measures, the totals, and user's accuracies."""
        matrix, total = self.confusion, self.confusion.counts.sum(axis=0)
        of_rows = zip(matrix.classes, matrix.counts, self.producers_accuracy, self.specificity, strict=True)
        rows = [
            [str(label), *map(count, counts), count(counts.sum()), percent(producers), percent(specificity)]
            for label, counts, producers, specificity in of_rows
        ]
        users = [*map(percent, self.users_accuracy), *[""] * (len(total) - len(self.classes))]
        last = ["user's", *users, "", percent(self.overall_accuracy), ""]
        return [*rows, ["total", *map(count, total), count(total.sum()), "", ""], last]

    def _classes_listed(self) -> list[str]:
        """The measures of each class, a line each, where the matrix would be too wide."""
        counts = self.confusion.counts
        rows = [["class", "reference", "map", "producer's", "user's", "specificity"]]
        totals, measures = (counts.sum(axis=1), counts.sum(axis=0)), [getattr(self, name) for name in _BY_CLASS]
        for k, label in enumerate(self.classes[:_MOST_ROWS]):
            rows.append([str(label), *(count(n[k]) for n in totals), *(percent(values[k]) for values in measures)])
        more = [f"... and {len(counts) - _MOST_ROWS} more classes"] if len(counts) > _MOST_ROWS else []
        overall = f"overall accuracy {percent(self.overall_accuracy)}"
        return [*aligned([list(map(shortened, row)) for row in rows]), *more, overall]

    def _matrix_lines(self) -> list[str]:
        rows = [["reference", *map(str, self.confusion.predictions), "total", "producer's", "specificity"]]
        words = "rows = reference, columns = map; producer's accuracy and specificity by row, user's accuracy by column"
        return [words, *aligned([list(map(shortened, row)) for row in [*rows, *self.written]])]

    def __str__(self) -> str:
        wide = len(self.confusion.predictions) > _MOST_COLUMNS
        lines = [
            *(self._classes_listed() if wide else self._matrix_lines()),
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
    users_accuracy, producers_accuracy, specificity : arrays of shape (classes,)
        NaN where a class is not on the map, not in the reference, or everywhere.
    area : array of shape (classes,)
        The estimated area of each class on the ground, in the unit of ``map_areas``.
    users_accuracy_se, producers_accuracy_se, specificity_se, area_se : arrays of shape (classes,)
        Standard errors.

    See Also
    --------
    area_adjusted_accuracy : Estimates them.

    Notes
    -----
    Standard errors are those of Olofsson et al.; where all sampled pixels of a stratum agree they are 0, however few
    there are. Intervals do not use them: every measure is a function of shares within strata, which were sampled
    independently. Each share is moved to the limits of its Wilson interval, and what that changes is squared and added
    (Zou et al. 2009).

    References
    ----------
    Zou, G. Y., Huang, W. & Zhang, X. (2009). A note on confidence interval estimation for a linear function of binomial
    proportions. Computational Statistics & Data Analysis 53, 1080-1085.
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
    specificity: Array
    specificity_se: Array
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

    def interval(self, measure: str, of: Any = None) -> Interval:
        """The confidence interval of the overall accuracy, or of a measure of one class.

        Parameters
        ----------
        measure : {"overall_accuracy", "users_accuracy", "producers_accuracy", "specificity", "area"}
            What it is an interval of.
        of : object, optional
            The class, for all but the overall accuracy.

        Returns
        -------
        Interval
            With ``low`` and ``high``; NaN where the measure is undefined.
        """
        check_choice("measure", measure, ("overall_accuracy", *_CLASS_MEASURES))
        k = 0
        if measure != "overall_accuracy":
            if of not in self.classes:
                known = ", ".join(map(str, self.classes))
                raise ParameterError(Setting("of"), f" must be a class ({known}), got {of!r}.")
            k = self.classes.index(of)
        low, high = (float(ends[k]) for ends in self._intervals[measure])
        return Interval(low, high, self.level, "not known" if np.isnan(low) else "Wilson in each stratum, combined")

    @cached_property
    def _intervals(self) -> dict[str, tuple[Array, Array]]:
        """Lower and upper ends of each measure, an array of one for the overall accuracy and of classes for others."""
        within, low, high = self._within
        weights = self.map_areas / self.total_area
        own = [self.strata.index(label) for label in self.classes]
        cells = (own, range(len(own)))
        right = [limits[cells] for limits in (within, low, high)]
        ends = {"overall_accuracy": [_combined(lambda shares: shares @ weights[own], *right)]}
        for measure in _CLASS_MEASURES:
            ends[measure] = [
                _combined(_measure_of_class(measure, weights, own[k], self.total_area), *column)
                for k, column in enumerate(zip(within.T, low.T, high.T, strict=True))
            ]
        most = {"area": self.total_area}
        clipped = {measure: np.clip(found, 0.0, most.get(measure, 1.0)) for measure, found in ends.items()}
        return {measure: (found[:, 0], found[:, 1]) for measure, found in clipped.items()}

    @property
    def _within(self) -> tuple[Array, Array, Array]:
        """Of each stratum the share of each class and the limits of its Wilson interval; 0 where the map has none."""
        n = np.broadcast_to(self.counts.sum(axis=1, keepdims=True), self.counts.shape)
        shares = np.where(n > 0, ratio(self.counts, n), 0.0)
        limits = {pair: wilson_interval(*pair, self.level) for pair in {*zip(shares.flat, n.flat, strict=True)}}
        found = [limits[pair] for pair in zip(shares.flat, n.flat, strict=True)]
        low, high = (
            np.where(n > 0, np.reshape([getattr(one, end) for one in found], n.shape), 0.0) for end in ("low", "high")
        )
        return shares, low, high

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be estimated, and why."""
        sampled, labels = self.counts.sum(axis=1), np.array(self.classes, dtype=object)
        unmapped, unseen = labels[self.class_map_areas == 0], labels[self.counts.sum(axis=0) == 0]
        single = [self.strata[i] for i in np.flatnonzero((sampled == 1) & (self.map_areas > 0))]
        told = [
            (unmapped, "not on the map", "no user's accuracy"),
            (unseen, "not in the reference", "no producer's accuracy"),
        ]
        notes = [
            f"{listed(names, 5)} {'is' if len(names) == 1 else 'are'} {where}: there is {what}."
            for names, where, what in told
            if len(names)
        ]
        if single:
            has = "has" if len(single) == 1 else "have"
            notes.append(f"{listed(single, 5)} {has} one sampled pixel: standard errors need at least two.")
        return tuple(notes)

    @property
    def written(self) -> list[list[str]]:
        """Of each class as text: its measures, each with its interval, its area, and its area on the map.

        The smaller the whole map is in its unit, the more decimals areas have.
        """
        decimals = max(1, 4 - math.floor(math.log10(self.total_area)))
        columns = [
            [
                _with_interval(*one, decimals) if measure == "area" else _percent_with_interval(*one)
                for one in zip(getattr(self, measure), *self._intervals[measure], strict=True)
            ]
            for measure in _CLASS_MEASURES
        ]
        on_map = [f"{area:,.{decimals}f}" for area in self.class_map_areas]
        return [list(cells) for cells in zip(*columns, on_map, strict=True)]

    @property
    def written_overall(self) -> str:
        """The overall accuracy with its interval."""
        low, high = self.interval("overall_accuracy")
        return _percent_with_interval(self.overall_accuracy, low, high)

    def _columns(self) -> dict[str, Any]:
        return {"class": self.classes, **self._by_class, "map_area": self.class_map_areas}

    @property
    def _by_class(self) -> dict[str, Array]:
        """Every measure of the classes, with its standard error and interval."""
        found: dict[str, Array] = {}
        for measure in _CLASS_MEASURES:
            low, high = self._intervals[measure]
            found |= {measure: getattr(self, measure), f"{measure}_se": getattr(self, f"{measure}_se")}
            found |= {f"{measure}_low": low, f"{measure}_high": high}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Estimates as plain values; what is undefined is None.

        Returns
        -------
        dict
            Measures of classes by class, areas of the map by stratum.
        """
        told = {**super().to_dict(), "rows": "map", "columns": "reference", "notes": list(self.notes)}
        low, high = self.interval("overall_accuracy")
        told |= {"overall_accuracy_low": low, "overall_accuracy_high": high}
        by_class = {name: dict(zip(self.classes, values, strict=True)) for name, values in self._by_class.items()}
        return jsonable({**told, **by_class, "map_areas": dict(zip(self.strata, self.map_areas, strict=True))})

    def __str__(self) -> str:
        names, written = [shortened(label) for label in self.classes[:_MOST_ROWS]], self.written[:_MOST_ROWS]
        head = f"area-adjusted estimates of a sample stratified by map class, with {100 * self.level:g} % intervals"
        accuracies = [["class", "user's accuracy", "producer's accuracy", "specificity"]]
        areas = [["class", "area", "area on the map"]]
        for name, cells in zip(names, written, strict=True):
            accuracies.append([name, *cells[:3]])
            areas.append([name, *cells[3:]])
        more = [f"... and {len(self.classes) - len(names)} more classes"] if len(self.classes) > len(names) else []
        overall = f"overall accuracy {self.written_overall}"
        return "\n".join([head, *aligned(accuracies), *more, overall, "", *aligned(areas), *more, *self.notes])


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
    area-adjusted estimates of a sample stratified by map class, with 95 % intervals
    class                    user's accuracy    producer's accuracy            specificity
    deforestation      88.0 % (78.7 to 93.6)  74.9 % (44.1 to 86.7)  99.8 % (99.6 to 99.9)
    forest gain        73.3 % (62.4 to 82.0)  84.7 % (37.9 to 97.0)  99.6 % (99.4 to 99.7)
    stable forest      92.7 % (87.7 to 95.8)  93.5 % (89.0 to 96.0)  96.6 % (94.4 to 98.0)
    stable non-forest  96.3 % (93.7 to 97.9)  96.2 % (93.9 to 97.6)  93.3 % (89.0 to 96.0)
    overall accuracy 94.7 % (92.3 to 96.1)
    <BLANKLINE>
    class                                            area  area on the map
    deforestation         21,157.8 (17,757.7 to 33,417.5)         18,000.0
    forest gain            11,686.2 (9,599.5 to 22,292.3)         13,500.0
    stable forest      285,769.9 (269,447.6 to 302,412.8)        288,000.0
    stable non-forest  581,386.2 (563,846.2 to 598,227.9)        580,500.0
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
    elsewhere = variances.sum(axis=0) - variance
    producers_squares = (1 - producers) ** 2 * variance + producers**2 * elsewhere
    # Specificity is the producer's accuracy of "not this class": right in all strata but its own.
    others = 1 - on_ground
    specificity = ratio(others - (weight - right), others)
    specificity_squares = (1 - specificity) ** 2 * elsewhere + specificity**2 * variance
    return AreaAdjusted(
        strata, classes, counts, map_areas, level, proportions,
        overall_accuracy=float(right.sum()),
        overall_accuracy_se=float(np.sqrt(variance.sum())),
        users_accuracy=ratio(right, weight),
        users_accuracy_se=np.sqrt(np.where(weight > 0, spread[own], np.nan)),
        producers_accuracy=producers,
        producers_accuracy_se=np.sqrt(ratio(producers_squares, on_ground**2)),
        specificity=specificity,
        specificity_se=np.sqrt(ratio(specificity_squares, others**2)),
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
        in_order = np.asarray(map_areas)
        if in_order.shape != (len(strata),):
            raise InputError(
                f"map_areas must have one area for each of the {len(strata)} map classes "
                f"({', '.join(map(str, strata))}), got shape {in_order.shape}."
            )
        given = dict(zip(strata, in_order.tolist(), strict=True))
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


def _measure_of_class(measure: str, weights: Array, own: int, total: float) -> Callable[[Array], Array]:
    """A measure of one class as a function of its share in each stratum (last axis); ``own`` is the class's stratum."""
    if measure == "users_accuracy":
        return lambda shares: np.where(weights[own] > 0, shares[..., own], np.nan)
    if measure == "area":
        return lambda shares: total * (shares @ weights)
    if measure == "producers_accuracy":
        return lambda shares: ratio(weights[own] * shares[..., own], shares @ weights)
    return lambda shares: 1 - ratio(weights[own] * (1 - shares[..., own]), (1 - shares) @ weights)


def _combined(value: Callable[[Array], Array], shares: Array, low: Array, high: Array) -> tuple[float, float]:
    """The interval of a function of independent shares, each with limits (Zou, Huang & Zhang 2009)."""
    one = np.eye(len(shares), dtype=bool)
    found = float(value(shares))
    changes = np.stack([value(np.where(one, limit, shares)) - found for limit in (low, high)])
    down, up = (np.sqrt(np.square(extreme(changes, 0.0).sum(axis=0)).sum()) for extreme in (np.minimum, np.maximum))
    return found - float(down), found + float(up)


def _with_interval(value: float, low: float, high: float, decimals: int = 1, unit: str = "") -> str:
    ends = f"{low:,.{decimals}f} to {high:,.{decimals}f}"
    return NOTHING if np.isnan(value) else f"{value:,.{decimals}f}{unit} ({ends})"


def _percent_with_interval(share: float, low: float, high: float) -> str:
    return _with_interval(100 * share, 100 * low, 100 * high, unit=" %")


@dataclass(frozen=True, eq=False, repr=False)
class MapAssessment(Result):
    """A map held against the truth, where that is known.

    Attributes
    ----------
    accuracy : MapAccuracy
        With all reference pixels counted alike.
    map_pixels : dict
        How many pixels of the whole map each class has.
    hectares : dict or None
        The area of each class of the map on the ground, where the map has a coordinate system.
    findings : tuple of Finding
    not_a_sample : str, default=""
        Why the reference is no random sample of single pixels; empty where nothing speaks against it.

    See Also
    --------
    assess_map : Makes it.
    """

    accuracy: MapAccuracy
    map_pixels: dict[Any, int]
    hectares: dict[Any, float] | None
    findings: tuple[Finding, ...]
    not_a_sample: str = ""

    def area_adjusted(self, level: float = 0.95) -> AreaAdjusted:
        """Accuracies and areas that weight the map classes by their area: right for a sample drawn by map class.

        Areas are in hectares on the ground where the map has a coordinate system, else in pixels. A reference that
        holds the training areas of the map, or areas of several pixels, is refused: it is no random sample, and its
        estimates would say nothing about the rest of the map.

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        AreaAdjusted
            Estimates with standard errors.
        """
        if self.not_a_sample:
            raise InputError(
                f"{self.not_a_sample} Draw points at random within each map class (sample-design, draw_design), and "
                "give their true classes."
            )
        areas: dict[Any, Any] = self.map_pixels if self.hectares is None else self.hectares
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
    >>> found.accuracy.overall_accuracy, found.map_pixels
    (0.75, {1: 16, 2: 16})
    >>> {code: round(area, 3) for code, area in found.hectares.items()}  # the scale of UTM is 0.9996 there
    {1: 16.013, 2: 16.013}
    """
    reference = as_areas(reference, class_field)
    with opened(class_map) as image:
        refuse_many_bands(image)
        counted = _counted_by_window if isinstance(reference, LabelImage) else _counted_in_areas
        found = counted(reference, image, n_jobs)
        mapped = labels_of_codes(found.codes, names, image)
        known = {*mapped.tolist(), *(plain(label) for label in (names or {}).values())} - {*others}
        truth = _as_on_map(found.labels, known)
        seen = {*truth.tolist(), *mapped.tolist()}
        if not set(truth.tolist()) & set(mapped.tolist()):
            marked, drawn = (", ".join(sorted(map(shown, {*labels.tolist()}))) for labels in (truth, mapped))
            words = f"{reference.source} has the classes {marked}, and the map {image.label} shows {drawn}: none is in "
            words += "both. Use the same names, or say what the codes of the map stand for ("
            raise LabelError(words, Setting("names"), ").")
        classes = sorted(seen - {*others}, key=lambda label: (isinstance(label, str), label))
        actions = [label for label in others if label in seen]
        accuracy = MapAccuracy(ConfusionMatrix.of_counts(truth, mapped, found.counts, classes, actions))
        pixels, hectares = class_extents(image, names, n_jobs)
        findings, reason = found.findings, ""
        if _holds_training_areas(image, reference):
            reason = f"{reference.source} holds the training areas of the map {image.label}, as its metadata say."
            words = f"{reason} The model has seen these pixels: their accuracy is too high."
            findings = (*findings, area_finding("warning", "training-areas", words))
        elif found.has_patches and found.counts.sum() < sum(pixels.values()):
            reason = f"{reference.source} has areas of several pixels: they are no random sample of the map."
        return MapAssessment(accuracy, pixels, hectares, findings, reason)


@dataclass(frozen=True)
class _Counted:
    """Reference labels and codes of the map, how many pixels have both, and whether some of them are neighbours."""

    labels: Array
    codes: Array
    counts: Array
    has_patches: bool
    findings: tuple[Finding, ...]


def _counted_in_areas(reference: Areas, image: Image, n_jobs: int | None) -> _Counted:
    """The reference pixels in areas, one by one."""
    nothing = f"The map {image.label} has no class where {reference.source} lies."
    values, pixels = pixel_values(image, reference.pixels(image), nothing, n_jobs)
    has_patches = len(np.unique(pixels.area)) < len(pixels.area)
    ones = np.ones(len(pixels.area), dtype=np.int64)
    return _Counted(pixels.labels[pixels.area], values[:, 0], ones, has_patches, pixels.findings)


def _counted_by_window(reference: LabelImage, image: Image, n_jobs: int | None) -> _Counted:
    """The reference pixels of a painted image, counted window by window: the image may cover the whole map."""
    with reference.marked(image) as (read, notes):

        def counted(window: Any) -> tuple[Array, Array, Array, int, bool]:
            values, marked = read(window)
            codes, seen = image.read(window)
            both = marked & seen
            pairs = _pairs_of(values[both], codes[0][both])
            touching = (marked[:, 1:] & marked[:, :-1]).any() or (marked[1:] & marked[:-1]).any()
            return *pairs, int(np.count_nonzero(marked)), bool(touching)

        labels, codes, counts, n_marked, touching = zip(
            *side_by_side(counted, list(image.windows()), n_jobs), strict=True
        )
    whole, total = sum(n_marked), np.concatenate(counts)
    if not whole:
        raise InputError(f"{reference.source} marks no pixel of the image {image.label}.")
    if not total.size:
        raise DegenerateDataError(f"The map {image.label} has no class where {reference.source} lies.")
    lost = whole - int(total.sum())
    words = f"{lost:,} of {whole:,} marked pixels hold no value (nodata, or hidden by transparency) and are left out."
    findings = (*notes, area_finding("note", "nodata", words)) if lost else tuple(notes)
    return _Counted(reference.classes_of(np.concatenate(labels)), np.concatenate(codes), total, any(touching), findings)


#: Cells of the largest table in which pairs of whole numbers are counted; others are sorted.
MOST_CELLS: Final = 1 << 20


def _pairs_of(values: Array, codes: Array) -> tuple[Array, Array, Array]:
    """The different pairs, and how often each is there."""
    whole = values.dtype.kind in "iu" and codes.dtype.kind in "iu" and len(values) > 0
    if whole and values.min() >= 0 and codes.min() >= 0:
        width = int(codes.max()) + 1
        if (int(values.max()) + 1) * width <= MOST_CELLS:
            table = np.bincount(values.astype(np.int64) * width + codes)
            found = np.flatnonzero(table)
            return found // width, found % width, table[found]
    pairs, counts = np.unique(np.column_stack((values, codes)), axis=0, return_counts=True)
    return pairs[:, 0].astype(values.dtype), pairs[:, 1].astype(codes.dtype), counts


def _holds_training_areas(image: Image, reference: Areas | LabelImage) -> bool:
    """Whether a reference is the file that the model of the map has learned from, by what the map's metadata say."""
    try:
        training = json.loads(image.tags.get(TRAINING_TAG, ""))
    except ValueError:
        return False
    if not isinstance(training, dict) or not reference.path:
        return False
    if training.get("areas_sha256"):
        return bool(training["areas_sha256"] == file_digest(reference.path))
    return bool(training.get("areas")) and training["areas"] == Path(reference.path).name


def _as_on_map(labels: Array, classes: set[Any]) -> Array:
    """The labels of a reference as the map would have them: in a text field the class 3 is written "3"."""
    texts = [str(plain(label)) for label in labels]
    if all(isinstance(label, str) for label in classes):
        alike = {spelling(label): label for label in classes}
        return np.array([text if text in classes else alike.get(spelling(text), text) for text in texts])
    if all(isinstance(label, int) for label in classes) and all(_WHOLE.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts])
    return labels
