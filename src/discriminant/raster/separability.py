"""How well the classes of samples can be told apart, before anything is classified, and which bands do it.

Classes are normal distributions with a covariance each; their Jeffries-Matusita distance is read as remote sensing does
(Richards 2013, Remote Sensing Digital Image Analysis). Bands are ordered by forward selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..errors import ColumnError, DegenerateDataError, InputError, Setting
from ..moments.covariance import CholeskyCovariance, factorised
from ..results import (
    NOTHING,
    Finding,
    Result,
    aligned,
    columns_of,
    jsonable,
    listed,
    plain,
    records_of,
    several,
    shortened,
    told_findings,
)
from ..theory.distances import ClassDistances, class_distances, unbiased_bhattacharyya
from ..theory.distributions import Gaussian
from .areas import area_finding, named_classes
from .groups import area_groups
from .samples import ClassStatistics, Samples

#: Readings of the Jeffries-Matusita distance on its scale from 0 to 2, as remote sensing has them (Richards 2013).
_GOOD, _FAIR, _POOR = 1.9, 1.7, 1.0
#: Random permutations of the names of two classes among their areas: their mean distance is known to 0.05.
PERMUTATIONS: Final = 20
#: Of more pairs than this, the others are counted.
_MOST_SENTENCES = 10
#: So many pairs are printed, the closest; and so many bands are ranked: each takes as many distances as there are
#: bands, which grow with their number.
MOST_PAIRS, _MOST_RANKED = 40, 12
BIAS: Final = (
    "Without bias: Jeffries-Matusita corrected for the numbers of pixels and bands; by chance: the same with the names "
    "of the two classes given to their areas at random."
)
SCALE = "0 = the same, 2 = no overlap"


@dataclass(frozen=True)
class ClassPair:
    """Two classes and how far apart they are.

    Jeffries-Matusita and transformed divergence go from 0 (the same distribution) to 2 (no overlap).

    Parameters
    ----------
    first, second : object
        The classes.
    bhattacharyya : float
        From 0 without a bound.
    jeffries_matusita : float
        ``2 (1 - exp(-B))`` of the Bhattacharyya distance B.
    transformed_divergence : float
        ``2 (1 - exp(-D / 8))`` of the divergence D.
    corrected : float, default=nan
        The Jeffries-Matusita distance freed of what estimates from few pixels in many bands add, see
        `discriminant.theory.unbiased_bhattacharyya`.
    by_chance : float, default=nan
        The mean of that distance where the names of the two classes are given to their areas at random; NaN where
        areas are not known.

    See Also
    --------
    class_separability : All pairs, and the bands that tell them apart.

    Examples
    --------
    >>> from discriminant.raster import ClassPair
    >>> ClassPair("pine", "spruce", 0.4, 0.66, 0.71).reading
    'hardly'
    """

    first: Any
    second: Any
    bhattacharyya: float
    jeffries_matusita: float
    transformed_divergence: float
    corrected: float = float("nan")
    by_chance: float = float("nan")

    @property
    def reading(self) -> str:
        """How separable the two are: "well", "fairly", "poorly" or "hardly", by the corrected distance.

        Classes that are no further apart than random names of their areas are hardly so.
        """
        jm = self.jeffries_matusita if np.isnan(self.corrected) else self.corrected
        if jm <= self.by_chance:
            return "hardly"
        return "well" if jm >= _GOOD else "fairly" if jm >= _FAIR else "poorly" if jm >= _POOR else "hardly"

    @property
    def sentence(self) -> str:
        """The reading in a sentence."""
        how = {"poorly": "are confusable", "hardly": "are easily confusable"}
        told = how.get(self.reading, f"can be told apart {self.reading}")
        jm = f"(Jeffries-Matusita {self.jeffries_matusita:.2f} of 2"
        corrected = f"{self.corrected:.2f}"
        alike = np.isnan(self.corrected) or corrected == f"{self.jeffries_matusita:.2f}"
        jm += ")" if alike else f", {corrected} without bias)"
        return f"{self.first} and {self.second} {told} in these bands {jm}."


@dataclass(frozen=True)
class BandGain:
    """What a band adds to those chosen before it: the distances of all pairs with it, on the scale from 0 to 2.

    ``alone`` is the mean of the band by itself, ``mean`` and ``least`` those of all bands up to and with it.
    """

    band: str
    alone: float
    mean: float
    least: float


@dataclass(frozen=True, eq=False, repr=False)
class ClassSeparability(Result):
    """The distances of each pair of classes, closest first, and the bands in the order in which they help.

    Attributes
    ----------
    band_names : tuple of str
    distances : ClassDistances
        The same as matrices.
    pairs : tuple of ClassPair
        By the Jeffries-Matusita distance, the hardest to tell apart first.
    bands : tuple of BandGain
        The band that separates best alone, then the one that adds most to it, and so on: each raises the mean
        Jeffries-Matusita distance of all pairs by the most. Of many bands, the first twelve of this order.
    findings : tuple of Finding
        Classes that had to be left out.

    See Also
    --------
    class_separability : Finds it.
    """

    band_names: tuple[str, ...]
    distances: ClassDistances
    pairs: tuple[ClassPair, ...]
    bands: tuple[BandGain, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def readings(self) -> tuple[str, ...]:
        """What the distances mean, in sentences."""
        weak = [pair for pair in self.pairs if pair.reading != "well"]
        told = [pair.sentence for pair in weak[:_MOST_SENTENCES]]
        if not weak:
            told.append("Every two classes can be told apart well in these bands.")
        if len(weak) > len(told):
            told.append(f"Of {len(self.pairs)} pairs of classes, {len(weak)} are not told apart well; see the table.")
        return (*told, self._band_sentence())

    def _band_sentence(self) -> str:
        if len(self.bands) == 1:
            return f"There is one band, {self.bands[0].band}."
        last = float(np.mean([pair.jeffries_matusita for pair in self.pairs]))
        enough = next((i for i, gain in enumerate(self.bands, start=1) if gain.mean >= 0.99 * last), len(self.bands))
        names = [gain.band for gain in self.bands[:enough]]
        if enough == len(self.band_names):
            return f"All bands help; {names[0]} separates best alone."
        verb = "reaches" if enough == 1 else "reach"
        return (
            f"{listed(names)} alone {verb} a mean distance of {self.bands[enough - 1].mean:.3f}; all "
            f"{len(self.band_names)} bands reach {last:.3f}."
        )

    def _columns(self) -> dict[str, Any]:
        """A row for each pair of classes."""
        return {**columns_of(self.pairs), "told_apart": [pair.reading for pair in self.pairs]}

    def to_dict(self) -> dict[str, Any]:
        """Distances, gains and readings as plain values.

        Returns
        -------
        dict
            With the scale of the distances.
        """
        told = {
            "scale": f"Jeffries-Matusita and transformed divergence: {SCALE}",
            "pairs": records_of(self._columns()),
            "bands": self.bands,
            "readings": self.readings,
            "findings": self.findings,
        }
        return jsonable(told)

    @property
    def written_pairs(self) -> list[list[str]]:
        """Of the closest pairs, as text: the classes, their distances, and how well they can be told apart."""
        rows = zip(*columns_of(self.pairs[:MOST_PAIRS]).values(), strict=True)
        texts = [[str(one), str(other), *(_distance(value) for value in values)] for one, other, *values in rows]
        return [[*text, pair.reading] for text, pair in zip(texts, self.pairs, strict=False)]

    @property
    def written_bands(self) -> list[list[str]]:
        """Of each band, as text: its name and the distances with it."""
        return [[gain.band, *(f"{value:.3f}" for value in (gain.alone, gain.mean, gain.least))] for gain in self.bands]

    def __str__(self) -> str:
        head = [
            "class",
            "class",
            "Bhattacharyya",
            "Jeffries-Matusita",
            "transformed divergence",
            "without bias",
            "by chance",
        ]
        head += ["separable"]
        gains = [["band", "alone", "mean so far", "least so far"], *self.written_bands]
        more, unranked = len(self.pairs) - MOST_PAIRS, len(self.band_names) - len(self.bands)
        lines = [
            *aligned([head, *(list(map(shortened, row)) for row in self.written_pairs)], left=2),
            *([f"... and {more:,} more pairs, further apart"] if more > 0 else []),
            f"Jeffries-Matusita and transformed divergence: {SCALE}",
            BIAS,
            "",
            "Jeffries-Matusita distance of all pairs, bands added in the order in which they help:",
            *aligned([list(map(shortened, row)) for row in gains]),
            *([f"... and {several(unranked, 'band')} more, which were not ranked"] if unranked else []),
            "",
            *self.readings,
            *told_findings(self.findings),
        ]
        return "\n".join(lines)


def class_separability(samples: Samples | ClassStatistics, bands: Sequence[str] | None = None) -> ClassSeparability:
    """How well every two classes can be told apart, as normal distributions with the covariance of each.

    Parameters
    ----------
    samples : Samples or ClassStatistics
        Pixels with their classes, or what is known of them.
    bands : list of str, optional
        The bands to look at; all by default.

    Returns
    -------
    ClassSeparability
        Of every pair of classes, closest first, and the bands in the order in which they help.

    See Also
    --------
    draw_samples : The samples of an image.

    References
    ----------
    Richards, J. A. (2013). Remote Sensing Digital Image Analysis, 5th ed. Springer. Chapter 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant.raster.samples import class_statistics
    >>> iris = load_iris()
    >>> names = tuple(iris.feature_names)
    >>> found = class_separability(class_statistics(iris.data, iris.target_names[iris.target], iris.target, names))
    >>> found.pairs[0].first, found.pairs[0].second, round(found.pairs[0].jeffries_matusita, 3)
    ('versicolor', 'virginica', 1.719)
    >>> print(found.readings[0])
    versicolor and virginica are confusable in these bands (Jeffries-Matusita 1.72 of 2, 1.67 without bias).
    >>> [gain.band for gain in found.bands][:2]
    ['petal width (cm)', 'petal length (cm)']
    """
    statistics = samples.statistics if isinstance(samples, Samples) else samples
    if not isinstance(statistics, ClassStatistics):
        raise InputError(f"class_separability needs Samples or their statistics, got {type(samples).__name__}.")
    chosen = _columns(statistics, bands)
    usable, findings = _usable_classes(statistics, chosen)
    distances = class_distances(_gaussians(statistics, usable, chosen))
    columns = distances._columns()
    del columns["divergence"]
    counts = statistics.counts[usable]
    corrected = unbiased_bhattacharyya(_gaussians(statistics, usable, chosen), counts)
    first, second = np.triu_indices(len(usable), 1)
    columns["corrected"] = (-2 * np.expm1(-corrected[first, second])).tolist()
    if isinstance(samples, Samples):
        labels = distances.classes.tolist()
        units = area_groups(samples).groups
        columns["by_chance"] = [
            _by_chance(samples, units, (labels[i], labels[j]), chosen) for i, j in zip(first, second, strict=True)
        ]
    pairs = sorted((ClassPair(**pair) for pair in records_of(columns)), key=lambda pair: pair.bhattacharyya)
    names = tuple(statistics.band_names[j] for j in chosen)
    return ClassSeparability(names, distances, tuple(pairs), _gains(statistics, usable, chosen), tuple(findings))


def _distance(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value:.3f}"


def _by_chance(samples: Samples, units: Array, pair: tuple[Any, Any], chosen: list[int]) -> float:
    """The mean corrected distance of two classes whose names were given to their areas at random; NaN with two areas.

    Areas keep their pixels together, so that what areas of one class differ by is in it.
    """
    parts = [np.flatnonzero(samples.y == label) for label in pair]
    areas = [rows[units[rows] == unit] for rows in parts for unit in np.unique(units[rows])]
    n_first = len(np.unique(units[parts[0]]))
    if len(areas) < 3:
        return float("nan")
    centre = samples.X[np.concatenate(parts)][:, chosen].mean(axis=0, dtype=np.float64)
    steps = [samples.X[rows][:, chosen].astype(np.float64) - centre for rows in areas]
    n = np.array([len(own) for own in steps], dtype=np.float64)
    sums, squares = np.stack([own.sum(axis=0) for own in steps]), np.stack([own.T @ own for own in steps])
    rng, found = np.random.default_rng(0), []
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(areas))
        halves = order[:n_first], order[n_first:]
        counts = [n[half].sum() for half in halves]
        if min(counts) <= len(chosen):
            continue
        means = [sums[half].sum(axis=0) / count for half, count in zip(halves, counts, strict=True)]
        scatters = [
            squares[half].sum(axis=0) - count * np.outer(mean, mean)
            for half, count, mean in zip(halves, counts, means, strict=True)
        ]
        try:
            both = [Gaussian(m, c / (k - 1)) for m, c, k in zip(means, scatters, counts, strict=True)]
        except DegenerateDataError:
            continue
        found.append(-2 * np.expm1(-unbiased_bhattacharyya(both, counts)[0, 1]))
    return float(np.mean(found)) if found else float("nan")


def _columns(statistics: ClassStatistics, bands: Sequence[str] | None) -> list[int]:
    names = list(statistics.band_names)
    if bands is None:
        return list(range(len(names)))
    unknown = [band for band in bands if band not in names]
    if unknown or not bands or len(set(bands)) < len(bands):
        words = f" must be different bands of the image ({', '.join(names)}), got {list(bands)}."
        raise ColumnError(Setting("bands"), words)
    return [names.index(band) for band in bands]


def _usable_classes(statistics: ClassStatistics, chosen: list[int]) -> tuple[list[int], list[Finding]]:
    """The classes whose covariance can be inverted; the others are named, those with the same reason together."""
    reasons = [_why_singular(statistics, k, chosen) for k in range(len(statistics.classes))]
    usable = [k for k, reason in enumerate(reasons) if reason is None]
    findings = []
    for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
        labels = [label for label, why in zip(statistics.classes, reasons, strict=True) if why == reason]
        verb = "is" if len(labels) == 1 else "are"
        findings.append(area_finding("warning", "left-out", f"{named_classes(labels)} {verb} left out: {reason}"))
    if len(usable) < 2:
        words = f"Separability needs two classes with a covariance each, got {len(usable)}."
        raise DegenerateDataError(" ".join([words, *(str(finding.message) for finding in findings)]))
    return usable, findings


def _why_singular(statistics: ClassStatistics, k: int, chosen: list[int]) -> str | None:
    n, p = int(statistics.counts[k]), len(chosen)
    if n <= p:
        return f"a covariance in {several(p, 'band')} needs more than {several(p, 'pixel')}."
    covariance = statistics.covariances[k][np.ix_(chosen, chosen)]
    for j, variance in zip(chosen, np.diagonal(covariance), strict=True):
        if not variance > 0:
            return f"all pixels have the same value in band {statistics.band_names[j]!r}."
    if not isinstance(factorised(covariance), CholeskyCovariance):
        return "the bands are linear functions of each other there. Use fewer bands."
    return None


def _gaussians(statistics: ClassStatistics, classes: list[int], columns: Sequence[int]) -> dict[Any, Gaussian]:
    where = np.ix_(columns, columns)
    return {
        plain(statistics.classes[k]): Gaussian(statistics.means[k][list(columns)], statistics.covariances[k][where])
        for k in classes
    }


def _gains(statistics: ClassStatistics, classes: list[int], chosen: list[int]) -> tuple[BandGain, ...]:
    """Bands one after another, each the one that raises the mean distance of all pairs most."""

    def reached(columns: Sequence[int]) -> tuple[float, float]:
        jm = class_distances(_gaussians(statistics, classes, columns)).jeffries_matusita
        values = jm[np.triu_indices(len(classes), 1)]
        return float(values.mean()), float(values.min())

    alone = {j: reached([j])[0] for j in chosen}
    taken: list[int] = []
    gains = []
    while len(taken) < min(len(chosen), _MOST_RANKED):
        options = {j: reached([*taken, j]) for j in chosen if j not in taken}
        best = max(options, key=lambda j: options[j])
        taken.append(best)
        gains.append(BandGain(statistics.band_names[best], alone[best], *options[best]))
    return tuple(gains)
