"""Area-adjusted accuracy: estimates from a reference sample stratified by map class (see `design`).

Strata are weighted by their area on the map: Olofsson et al. (2014), "Good practices for estimating area and assessing
accuracy of land change", Remote Sensing of Environment.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import ndtri

from ..arrays import Array, ArrayLike, PerClass
from ..data import check_choice
from ..errors import InputError, ParameterError, Setting
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.intervals import Interval, check_level, wilson_interval
from ..evaluation.rates import ratio
from ..evaluation.table_sample import CrossTable
from ..results import NOTHING, Result, aligned, jsonable, listed, plain, shortened, shown

if TYPE_CHECKING:
    from pandas import DataFrame

    from .accuracy import MapAccuracy

#: Number of classes printed in a table.
MAX_PRINTED_CLASSES: Final = 40

_CLASS_MEASURES = ("users_accuracy", "producers_accuracy", "specificity", "area")


@dataclass(frozen=True, eq=False, repr=False)
class AreaAdjusted(Result):
    """Accuracies and areas with standard errors, from a sample stratified by map class (Olofsson et al. 2014).

    Attributes
    ----------
    strata : list
        The map classes, and other sampled values of the map such as "rejected". Rows of the matrices.
    classes : list
        The classes of the reference. Columns of the matrices.
    counts : array of shape (strata, classes)
        Sampled pixels; rows are the map, columns the reference.
    map_areas : array of shape (strata,)
        The area of each stratum on the map.
    level : float
        Confidence level of the intervals.
    proportions : array of shape (strata, classes)
        The estimated share of the total area with this map class and this reference class.
    overall_accuracy, overall_accuracy_se : float
    users_accuracy, producers_accuracy, specificity : arrays of shape (classes,)
        NaN if a class is not on the map, not in the reference, or everywhere.
    area : array of shape (classes,)
        The estimated area of each class on the ground, in the unit of ``map_areas``.
    users_accuracy_se, producers_accuracy_se, specificity_se, area_se : arrays of shape (classes,)
        Standard errors.

    See Also
    --------
    area_adjusted_accuracy : Computes the estimates.

    Notes
    -----
    Standard errors are those of Olofsson et al.; if all sampled pixels of a stratum agree, they are 0 whatever the
    sample size. Intervals do not use them: every measure is a function of shares within strata, which were sampled
    independently. Each share is moved to the limits of its Wilson interval, and the squared changes are added (Zou et
    al. 2009). The usual Wald intervals, such as +- 1.96 standard errors, are also reported for comparison with others.

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

    def interval(self, measure: str, of: Hashable = None) -> Interval:
        """The confidence interval of the overall accuracy, or of a measure of one class.

        Parameters
        ----------
        measure : {"overall_accuracy", "users_accuracy", "producers_accuracy", "specificity", "area"}
            The measure.
        of : object, optional
            The class, for all measures but the overall accuracy.

        Returns
        -------
        Interval
            With ``low`` and ``high``; NaN if the measure is undefined.
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
        """Lower and upper limits of each measure, of length 1 for the overall accuracy, else one for each class."""
        within, low, high = self._within
        weights = self.map_areas / self.total_area
        own = [self.strata.index(label) for label in self.classes]
        cells = (own, range(len(own)))
        correct = [limits[cells] for limits in (within, low, high)]
        found = {"overall_accuracy": np.array([_combined(lambda shares: shares @ weights[own], *correct)])}
        for measure in _CLASS_MEASURES:
            limits = [
                _combined(_measure_of_class(measure, weights, own[k], self.total_area), *column)
                for k, column in enumerate(zip(within.T, low.T, high.T, strict=True))
            ]
            found[measure] = np.array(limits)
        largest = {"area": self.total_area}
        return {measure: tuple(np.clip(ends, 0.0, largest.get(measure, 1.0)).T) for measure, ends in found.items()}

    @property
    def _within(self) -> tuple[Array, Array, Array]:
        """The share of each class in each stratum and the limits of its Wilson interval; 0 in strata without sample."""
        n = np.broadcast_to(self.counts.sum(axis=1, keepdims=True), self.counts.shape)
        shares = np.where(n > 0, ratio(self.counts, n), 0.0)
        found = [tuple(wilson_interval(*pair, self.level)) for pair in zip(shares.flat, n.flat, strict=True)]
        low, high = (np.where(n > 0, np.reshape(limits, n.shape), 0.0) for limits in zip(*found, strict=True))
        return shares, low, high

    @property
    def notes(self) -> tuple[str, ...]:
        """Measures that could not be estimated, and why."""
        sampled, labels = self.counts.sum(axis=1), np.array(self.classes, dtype=object)
        single = [self.strata[i] for i in np.flatnonzero((sampled == 1) & (self.map_areas > 0))]
        cases = [
            (labels[self.class_map_areas == 0], "not on the map: user's accuracy is undefined."),
            (labels[self.counts.sum(axis=0) == 0], "not in the reference: producer's accuracy is undefined."),
            (single, "only one sampled pixel: standard errors are undefined."),
        ]
        return tuple(f"{listed(names, 5)}: {words}" for names, words in cases if len(names))

    @property
    def written(self) -> list[list[str]]:
        """A row of text for each class: measures with intervals, estimated area, and area on the map.

        Areas have more decimals the smaller the whole map is in their unit.
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
    def wald_factor(self) -> float:
        """The number of standard errors in half of a Wald interval, 1.96 for 95 %."""
        return float(ndtri(0.5 + self.level / 2))

    @property
    def written_wald(self) -> list[list[str]]:
        """Half the usual Wald interval of each measure as text, a row for each class.

        It is undefined where all sampled pixels agree: the standard error is then 0 whatever the sample size.
        """
        decimals, z = max(1, 4 - math.floor(math.log10(self.total_area))), self.wald_factor
        return [
            [_half_width(z * se, 100, 1, " %") for se in errors[:-1]] + [_half_width(z * errors[-1], 1, decimals)]
            for errors in zip(*(getattr(self, f"{measure}_se") for measure in _CLASS_MEASURES), strict=True)
        ]

    @property
    def wald_sentence(self) -> str:
        """What the Wald intervals are, and that of the overall accuracy."""
        overall = _half_width(self.wald_factor * self.overall_accuracy_se, 100, 1, " %")
        return f"±: usual Wald intervals ({self.wald_factor:.2f} standard errors); overall accuracy: {overall}."

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
            found[f"{measure}_wald"] = self.wald_factor * getattr(self, f"{measure}_se")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Estimates as plain values; undefined ones are None.

        Returns
        -------
        dict
            Measures of classes by class, areas of the map by stratum.
        """
        values = {**super().to_dict(), "rows": "map", "columns": "reference", "notes": list(self.notes)}
        low, high = self.interval("overall_accuracy")
        values |= {"overall_accuracy_low": low, "overall_accuracy_high": high}
        values["overall_accuracy_wald"] = self.wald_factor * self.overall_accuracy_se
        by_class = {name: dict(zip(self.classes, values, strict=True)) for name, values in self._by_class.items()}
        return jsonable({**values, **by_class, "map_areas": dict(zip(self.strata, self.map_areas, strict=True))})

    def __str__(self) -> str:
        names, written = (
            [shortened(label) for label in self.classes[:MAX_PRINTED_CLASSES]],
            self.written[:MAX_PRINTED_CLASSES],
        )
        head = f"Area-adjusted estimates from a sample stratified by map class, {100 * self.level:g} % intervals"
        accuracies = [["class", "user's accuracy", "producer's accuracy", "specificity"]]
        areas = [["class", "area", "area on the map", "± area", "± user's", "± producer's"]]
        for name, cells, halves in zip(names, written, self.written_wald, strict=False):
            accuracies.append([name, *cells[:3]])
            areas.append([name, *cells[3:], halves[3], *halves[:2]])
        more = [f"... and {len(self.classes) - len(names)} more classes"] if len(self.classes) > len(names) else []
        overall = f"overall accuracy {self.written_overall}"
        return "\n".join(
            [head, *aligned(accuracies), *more, overall, "", *aligned(areas), *more, self.wald_sentence, *self.notes]
        )


def area_adjusted_accuracy(
    confusion: ArrayLike | DataFrame | ConfusionMatrix | MapAccuracy,
    map_areas: PerClass,
    classes: Iterable[Hashable] | None = None,
    level: float = 0.95,
) -> AreaAdjusted:
    """Estimate accuracies and areas of classes on the ground from a sample stratified by the classes of a map.

    Parameters
    ----------
    confusion : array-like, pandas DataFrame, ConfusionMatrix or MapAccuracy
        Sampled pixels. In an array, rows are the map and columns the reference, as in Olofsson et al., both in the
        order of ``classes``. A frame has map classes as its index and reference classes as its columns. A
        ConfusionMatrix has the reference in its rows and is transposed.
    map_areas : dict or array-like
        The area of each map class, in any unit (pixels, hectares), by class or in the order of ``classes``.
    classes : list, optional
        The classes of an array. Default: 1, 2, ...
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    AreaAdjusted

    See Also
    --------
    map_accuracy : Accuracies from plain counts.
    draw_design : Draws a stratified sample.

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
    Area-adjusted estimates from a sample stratified by map class, 95 % intervals
    class                    user's accuracy    producer's accuracy            specificity
    deforestation      88.0 % (78.7 to 93.6)  74.9 % (44.1 to 89.5)  99.8 % (99.6 to 99.9)
    forest gain        73.3 % (62.4 to 82.0)  84.7 % (37.9 to 99.6)  99.6 % (99.4 to 99.7)
    stable forest      92.7 % (87.7 to 95.8)  93.5 % (89.0 to 96.0)  96.6 % (94.4 to 98.0)
    stable non-forest  96.3 % (93.7 to 97.9)  96.2 % (93.9 to 97.6)  93.3 % (89.0 to 96.0)
    overall accuracy 94.7 % (92.3 to 96.1)
    <BLANKLINE>
    class                                            area  area on the map    ± area  ± user's  ± producer's
    deforestation         21,157.8 (17,217.0 to 33,417.5)         18,000.0   6,157.5     7.4 %        21.3 %
    forest gain            11,686.2 (9,401.0 to 22,292.3)         13,500.0   3,755.8    10.1 %        25.4 %
    stable forest      285,769.9 (269,447.6 to 302,412.8)        288,000.0  15,509.6     4.0 %         3.4 %
    stable non-forest  581,386.2 (563,846.2 to 598,227.9)        580,500.0  16,281.4     2.1 %         1.8 %
    ±: usual Wald intervals (1.96 standard errors); overall accuracy: 1.8 %.
    """
    table = _table(confusion, classes)
    areas = _areas(map_areas, table.truth)
    for label, n, area in zip(table.truth, table.counts.sum(axis=1), areas, strict=True):
        if (area > 0) != (n > 0):
            raise InputError(
                f"Map class {shown(label)} has area {area:g}, but {n:g} sampled pixels: both must be positive, or "
                "both 0. Sample every map class, and give its area (rows are the map, columns the reference)."
            )
    return _estimated(table.truth, table.prediction, table.counts, areas, check_level(level))


def _estimated(
    strata: list[Hashable], classes: list[Hashable], counts: Array, map_areas: Array, level: float
) -> AreaAdjusted:
    """The estimators of a stratified random sample (Cochran 1977), equations 1 to 11 of Olofsson et al. (2014)."""
    total = float(map_areas.sum())
    weights, n = (map_areas / total)[:, None], counts.sum(axis=1, keepdims=True)
    within = np.where(weights > 0, ratio(counts, n), 0.0)  # the share of each class in each stratum
    share_variances = np.where(weights > 0, ratio(within * (1 - within), n - 1.0), 0.0)
    proportions, variances = weights * within, weights**2 * share_variances
    own = np.array([strata.index(label) for label in classes]), np.arange(len(classes))
    correct, variance, weight = proportions[own], variances[own], weights[own[0], 0]
    on_ground = proportions.sum(axis=0)
    producers = ratio(correct, on_ground)
    elsewhere = variances.sum(axis=0) - variance
    producers_squares = (1 - producers) ** 2 * variance + producers**2 * elsewhere
    # Specificity is the producer's accuracy of "not this class", which is correct in all strata but its own.
    others = 1 - on_ground
    specificity = ratio(others - (weight - correct), others)
    specificity_squares = (1 - specificity) ** 2 * elsewhere + specificity**2 * variance
    return AreaAdjusted(
        list(strata), list(classes), counts, map_areas, level, proportions,
        overall_accuracy=float(correct.sum()),
        overall_accuracy_se=float(np.sqrt(variance.sum())),
        users_accuracy=ratio(correct, weight),
        users_accuracy_se=np.sqrt(np.where(weight > 0, share_variances[own], np.nan)),
        producers_accuracy=producers,
        producers_accuracy_se=np.sqrt(ratio(producers_squares, on_ground**2)),
        specificity=specificity,
        specificity_se=np.sqrt(ratio(specificity_squares, others**2)),
        area=total * on_ground,
        area_se=total * np.sqrt(variances.sum(axis=0)),
    )  # fmt: skip


def _table(
    confusion: ArrayLike | DataFrame | ConfusionMatrix | MapAccuracy, classes: Iterable[Hashable] | None
) -> CrossTable:
    """The counts with map classes in rows and all classes in columns; the classes come first among the rows."""
    confusion = getattr(confusion, "confusion", confusion)
    if isinstance(confusion, ConfusionMatrix):
        strata, columns = confusion.predictions.tolist(), confusion.classes.tolist()
        return CrossTable(strata, columns, confusion.counts.T.astype(np.float64))
    counts, index, columns = _counts(confusion), getattr(confusion, "index", None), getattr(confusion, "columns", None)
    if columns is not None:
        if classes is not None or index is None:
            raise InputError(
                "A data frame of counts must be a pandas DataFrame with the map classes in the index and the reference "
                "classes in the columns; omit ", Setting("classes"), ".",
            )  # fmt: skip
        mapped, reference = _unique("the index of confusion", index), _unique("its columns", columns)
    else:
        mapped = reference = _unique("classes", range(1, len(counts) + 1) if classes is None else classes)
        if counts.shape != (len(mapped), len(mapped)):
            raise InputError(
                f"confusion must have {len(mapped)} rows (map) and columns (reference), got shape {counts.shape}. If "
                "map and reference have different classes, give a pandas DataFrame or a ConfusionMatrix."
            )
    labels = list(dict.fromkeys([*reference, *mapped]))
    return CrossTable(labels, labels, CrossTable(mapped, reference, counts).arranged(labels, labels))


def _unique(where: str, given: Iterable[Hashable]) -> list[Any]:
    labels = [plain(label) for label in given]
    twice = [label for label, n in Counter(labels).items() if n > 1]
    if twice:
        raise InputError(f"Classes must be unique in {where}, got {shown(twice[0])} more than once. Add their counts.")
    return labels


def _counts(given: ArrayLike | DataFrame) -> Array:
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"confusion must be a table of counts: {error}.") from error
    if counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any():
        raise InputError("confusion must be a table of finite counts, 0 or more: rows the map, columns the reference.")
    return counts


def _areas(map_areas: Mapping[Any, float] | ArrayLike, strata: Sequence[Hashable]) -> Array:
    """The area of each row, 0 for a class that is not on the map."""
    if isinstance(map_areas, Mapping) or hasattr(map_areas, "items"):
        given = {plain(label): area for label, area in map_areas.items()}
    else:
        in_order = np.asarray(map_areas)
        if in_order.shape != (len(strata),):
            expected = f"one area for each of the {len(strata)} map classes ({', '.join(map(str, strata))})"
            raise InputError(f"map_areas must have {expected}, got shape {in_order.shape}.")
        given = dict(zip(strata, in_order.tolist(), strict=True))
    unknown = [label for label, area in given.items() if label not in strata and area]
    if unknown:
        raise InputError(
            f"map_areas has the class {shown(unknown[0])}, but no sampled pixel has it. Sample it, or leave it out of "
            "the areas."
        )
    try:
        areas = np.array([float(given.get(label, 0.0)) for label in strata])
    except (TypeError, ValueError) as error:
        raise InputError(f"map_areas must be areas, got {map_areas!r}: {error}.") from error
    if not np.isfinite(areas).all() or (areas < 0).any() or not areas.any():
        raise InputError(f"map_areas must be areas, 0 or more and not all 0, got {map_areas!r}.")
    return areas


def _measure_of_class(measure: str, weights: Array, own: int, total: float) -> Callable[[Array], Array]:
    """A measure of one class as a function of its shares in the strata (last axis); ``own`` is its own stratum."""
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
    limits = f"{low:,.{decimals}f} to {high:,.{decimals}f}"
    return NOTHING if np.isnan(value) else f"{value:,.{decimals}f}{unit} ({limits})"


def _half_width(value: float, unit: float, decimals: int, name: str = "") -> str:
    return f"{unit * value:,.{decimals}f}{name}" if value > 0 else NOTHING


def _percent_with_interval(share: float, low: float, high: float) -> str:
    return _with_interval(100 * share, 100 * low, 100 * high, unit=" %")
