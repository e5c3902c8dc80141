"""Separability of the classes of samples before classification, and the bands that contribute to it.

Classes are modelled as normal distributions with a covariance each; their Jeffries-Matusita distance is interpreted as
usual in remote sensing (Richards 2013, Remote Sensing Digital Image Analysis). Bands are ranked by forward selection.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass
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
    printed_findings,
    records_of,
    several,
    shortened,
)
from ..theory.distances import ClassDistances, class_distances, unbiased_bhattacharyya
from ..theory.distributions import Gaussian
from .area_pixels import area_finding, named_classes
from .groups import area_groups
from .samples import ClassStatistics, Samples

#: Limits of the Jeffries-Matusita distance, which ranges from 0 to 2, for good, fair and poor separability (Richards).
GOOD_DISTANCE: Final = 1.9
FAIR_DISTANCE: Final = 1.7
POOR_DISTANCE: Final = 1.0
#: Random permutations of the class labels of areas: they determine the mean distance by chance to 0.05.
N_PERMUTATIONS: Final = 20
#: Number of pairs described in sentences, and printed in the table.
MAX_SENTENCES: Final = 10
MAX_PRINTED_PAIRS: Final = 40
#: Number of ranked bands. Each step of the forward selection computes the distances for every remaining band.
MAX_RANKED_BANDS: Final = 12
BIAS: Final = (
    "Bias-corrected: Jeffries-Matusita distance corrected for the numbers of pixels and bands. Expected by chance: "
    "mean of the bias-corrected distance when class labels are permuted among areas."
)
SCALE: Final = "0 = identical, 2 = no overlap"


@dataclass(frozen=True)
class ClassPair:
    """The distances between two classes.

    Jeffries-Matusita distance and transformed divergence range from 0 (identical) to 2 (no overlap).

    Parameters
    ----------
    first, second : object
        The classes.
    bhattacharyya : float
        Bhattacharyya distance B, 0 or more.
    jeffries_matusita : float
        ``2 (1 - exp(-B))``.
    transformed_divergence : float
        ``2 (1 - exp(-D / 8))`` of the divergence D.
    corrected : float, default=nan
        Bias-corrected Jeffries-Matusita distance, see `discriminant.theory.unbiased_bhattacharyya`.
    by_chance : float, default=nan
        The mean of that distance when the labels of the two classes are permuted among their areas; NaN if areas are
        unknown.

    See Also
    --------
    class_separability : The distances of all pairs of classes.

    Examples
    --------
    >>> from discriminant.raster import ClassPair
    >>> ClassPair("pine", "spruce", 0.4, 0.66, 0.71).reading
    'very poor'
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
        """The separability of the classes: "good", "fair", "poor" or "very poor", by the bias-corrected distance.

        It is very poor for classes that are not further apart than by chance.
        """
        distance = self.jeffries_matusita if np.isnan(self.corrected) else self.corrected
        if distance <= self.by_chance or distance < POOR_DISTANCE:
            return "very poor"
        return "good" if distance >= GOOD_DISTANCE else "fair" if distance >= FAIR_DISTANCE else "poor"

    @property
    def sentence(self) -> str:
        """The separability of the pair in a sentence."""
        corrected = "" if np.isnan(self.corrected) else f", bias-corrected {self.corrected:.2f}"
        distance = f"Jeffries-Matusita distance {self.jeffries_matusita:.2f} of 2{corrected}"
        return f"Separability of {self.first} and {self.second}: {self.reading} ({distance})."


@dataclass(frozen=True)
class BandGain:
    """The distances of all pairs of classes, from 0 to 2, when a band is added to those ranked before it.

    ``alone`` is the mean distance with only this band, ``mean`` and ``least`` those with all bands up to this one.
    """

    band: str
    alone: float
    mean: float
    least: float


@dataclass(frozen=True, eq=False, repr=False)
class ClassSeparability(Result):
    """The distances of all pairs of classes, closest first, and a ranking of the bands.

    Attributes
    ----------
    band_names : tuple of str
    distances : ClassDistances
        The distances as matrices.
    pairs : tuple of ClassPair
        Sorted by Jeffries-Matusita distance, the least separable first.
    bands : tuple of BandGain
        Forward selection: the band with the largest mean Jeffries-Matusita distance alone, then the one that increases
        it most, and so on, at most twelve.
    findings : tuple of Finding
        Classes that were left out.

    See Also
    --------
    class_separability : Computes the distances.
    """

    band_names: tuple[str, ...]
    distances: ClassDistances
    pairs: tuple[ClassPair, ...]
    bands: tuple[BandGain, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def readings(self) -> tuple[str, ...]:
        """An interpretation of the distances, in sentences."""
        weak = [pair for pair in self.pairs if pair.reading != "good"]
        sentences = [pair.sentence for pair in weak[:MAX_SENTENCES]]
        if not weak:
            sentences.append("The separability of all pairs of classes is good.")
        if len(weak) > len(sentences):
            sentences.append(
                f"{len(weak)} of {len(self.pairs)} pairs of classes are not well separable; see the table."
            )
        return (*sentences, self._band_sentence())

    def _band_sentence(self) -> str:
        if len(self.bands) == 1:
            return f"There is only one band: {self.bands[0].band}."
        total = float(np.mean([pair.jeffries_matusita for pair in self.pairs]))
        n = next((i for i, gain in enumerate(self.bands, start=1) if gain.mean >= 0.99 * total), len(self.bands))
        if n == len(self.band_names):
            return f"All bands contribute; {self.bands[0].band} alone has the largest mean distance."
        return (
            f"Mean Jeffries-Matusita distance: {self.bands[n - 1].mean:.3f} with "
            f"{listed(gain.band for gain in self.bands[:n])}, {total:.3f} with all {len(self.band_names)} bands."
        )

    def _columns(self) -> dict[str, Any]:
        """A row for each pair of classes."""
        return {**columns_of(self.pairs), "separability": [pair.reading for pair in self.pairs]}

    def to_dict(self) -> dict[str, Any]:
        """Distances, ranking of bands and interpretation as plain values.

        Returns
        -------
        dict
            With the scale of the distances.
        """
        return jsonable(
            {
                "scale": f"Jeffries-Matusita and transformed divergence: {SCALE}",
                "pairs": records_of(self._columns()),
                "bands": self.bands,
                "readings": self.readings,
                "findings": self.findings,
            }
        )

    @property
    def written_pairs(self) -> list[list[str]]:
        """A row of text for each of the closest pairs: classes, distances and separability."""
        return [
            [str(pair.first), str(pair.second), *map(_distance, astuple(pair)[2:]), pair.reading]
            for pair in self.pairs[:MAX_PRINTED_PAIRS]
        ]

    @property
    def written_bands(self) -> list[list[str]]:
        """A row of text for each band: its name and the distances with it."""
        return [[gain.band, *map(_distance, (gain.alone, gain.mean, gain.least))] for gain in self.bands]

    def __str__(self) -> str:
        head = ["class", "class", "Bhattacharyya", "Jeffries-Matusita", "transformed divergence", "bias-corrected"]
        head += ["expected by chance", "separability"]
        gains = [["band", "alone", "cumulative mean", "cumulative minimum"], *self.written_bands]
        more, unranked = len(self.pairs) - MAX_PRINTED_PAIRS, len(self.band_names) - len(self.bands)
        return "\n".join([
            *aligned([head, *(list(map(shortened, row)) for row in self.written_pairs)], left=2),
            *([f"... and {more:,} more pairs with larger distances"] if more > 0 else []),
            f"Jeffries-Matusita and transformed divergence: {SCALE}.",
            BIAS,
            "",
            "Jeffries-Matusita distance of all pairs of classes, bands in the order of forward selection:",
            *aligned([list(map(shortened, row)) for row in gains]),
            *([f"... and {several(unranked, 'band')} not ranked"] if unranked else []),
            "",
            *self.readings,
            *printed_findings(self.findings),
        ])  # fmt: skip


def class_separability(samples: Samples | ClassStatistics, bands: Sequence[str] | None = None) -> ClassSeparability:
    """Compute the separability of all pairs of classes, modelled as normal distributions with a covariance each.

    Parameters
    ----------
    samples : Samples or ClassStatistics
        Pixels with their classes, or their statistics.
    bands : list of str, optional
        The bands to use. Default: all.

    Returns
    -------
    ClassSeparability

    See Also
    --------
    draw_samples : Samples the pixels of an image.

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
    Separability of versicolor and virginica: poor (Jeffries-Matusita distance 1.72 of 2, bias-corrected 1.67).
    >>> [gain.band for gain in found.bands][:2]
    ['petal width (cm)', 'petal length (cm)']
    """
    statistics = samples.statistics if isinstance(samples, Samples) else samples
    if not isinstance(statistics, ClassStatistics):
        raise InputError(f"class_separability needs Samples or their statistics, got {type(samples).__name__}.")
    chosen = _columns(statistics, bands)
    usable, findings = _usable_classes(statistics, chosen)
    gaussians = _gaussians(statistics, usable, chosen)
    distances = class_distances(gaussians)
    columns = distances._columns()
    del columns["divergence"]
    first, second = np.triu_indices(len(usable), 1)
    corrected = unbiased_bhattacharyya(gaussians, statistics.counts[usable])[first, second]
    columns["corrected"] = _jeffries_matusita(corrected).tolist()
    if isinstance(samples, Samples):
        labels, groups = distances.classes.tolist(), area_groups(samples).groups
        columns["by_chance"] = [
            _by_chance(samples, groups, (labels[i], labels[j]), chosen) for i, j in zip(first, second, strict=True)
        ]
    pairs = sorted((ClassPair(**pair) for pair in records_of(columns)), key=lambda pair: pair.bhattacharyya)
    names = tuple(statistics.band_names[j] for j in chosen)
    return ClassSeparability(names, distances, tuple(pairs), _gains(statistics, usable, chosen), tuple(findings))


def _jeffries_matusita(bhattacharyya: Array) -> Array:
    return np.asarray(-2 * np.expm1(-bhattacharyya))


def _distance(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value:.3f}"


def _by_chance(samples: Samples, groups: Array, pair: tuple[Hashable, Hashable], chosen: list[int]) -> float:
    """The mean bias-corrected distance of two classes when labels are permuted among areas; NaN with two areas.

    Whole areas are permuted, so the differences between areas of one class contribute to the distance by chance.
    """
    parts = [np.flatnonzero(samples.y == label) for label in pair]
    areas = [rows[groups[rows] == group] for rows in parts for group in np.unique(groups[rows])]
    n_first = len(np.unique(groups[parts[0]]))
    if len(areas) < 3:
        return float("nan")
    centre = samples.X[np.concatenate(parts)][:, chosen].mean(axis=0, dtype=np.float64)
    deviations = [samples.X[rows][:, chosen].astype(np.float64) - centre for rows in areas]
    n = np.array([len(own) for own in deviations], dtype=np.float64)
    sums = np.stack([own.sum(axis=0) for own in deviations])
    products = np.stack([own.T @ own for own in deviations])
    rng, found = np.random.default_rng(0), []
    for _ in range(N_PERMUTATIONS):
        order = rng.permutation(len(areas))
        halves = order[:n_first], order[n_first:]
        counts = [n[half].sum() for half in halves]
        if min(counts) <= len(chosen):
            continue
        try:
            both = [_gaussian(sums[half].sum(axis=0), products[half].sum(axis=0), n[half].sum()) for half in halves]
        except DegenerateDataError:
            continue
        found.append(_jeffries_matusita(unbiased_bhattacharyya(both, counts)[0, 1]))
    return float(np.mean(found)) if found else float("nan")


def _gaussian(total: Array, products: Array, n: float) -> Gaussian:
    """The normal distribution estimated from the sum and the sum of products of n deviations."""
    mean = total / n
    return Gaussian(mean, (products - n * np.outer(mean, mean)) / (n - 1))


def _columns(statistics: ClassStatistics, bands: Sequence[str] | None) -> list[int]:
    names = list(statistics.band_names)
    if bands is None:
        return list(range(len(names)))
    unknown = [band for band in bands if band not in names]
    if unknown:
        words = f" contains {unknown[0]!r}, which is not a band of the samples. Bands: {', '.join(names)}."
        raise ColumnError(Setting("bands"), words)
    if not bands:
        raise ColumnError(Setting("bands"), f" is empty. Bands: {', '.join(names)}.")
    if len(set(bands)) < len(bands):
        words = f" contains a band more than once: {list(bands)}. Name each band once."
        raise ColumnError(Setting("bands"), words)
    return [names.index(band) for band in bands]


def _usable_classes(statistics: ClassStatistics, chosen: list[int]) -> tuple[list[int], list[Finding]]:
    """The classes with an invertible covariance, and a finding for each reason why others are left out."""
    reasons = [_why_singular(statistics, k, chosen) for k in range(len(statistics.classes))]
    usable = [k for k, reason in enumerate(reasons) if reason is None]
    findings = []
    for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
        labels = [label for label, why in zip(statistics.classes, reasons, strict=True) if why == reason]
        verb = "is" if len(labels) == 1 else "are"
        findings.append(area_finding("warning", "left-out", f"{named_classes(labels)} {verb} left out: {reason}"))
    if len(usable) < 2:
        words = f"Separability requires two classes with an invertible covariance, got {len(usable)}."
        raise DegenerateDataError(" ".join([words, *(str(finding.message) for finding in findings)]))
    return usable, findings


def _why_singular(statistics: ClassStatistics, k: int, chosen: list[int]) -> str | None:
    n, p = int(statistics.counts[k]), len(chosen)
    if n <= p:
        return f"a covariance in {several(p, 'band')} requires more than {several(p, 'pixel')}."
    covariance = statistics.covariances[k][np.ix_(chosen, chosen)]
    for j, variance in zip(chosen, np.diagonal(covariance), strict=True):
        if not variance > 0:
            return f"band {statistics.band_names[j]!r} is constant."
    if not isinstance(factorised(covariance), CholeskyCovariance):
        return "its bands are linearly dependent. Use fewer bands."
    return None


def _gaussians(statistics: ClassStatistics, classes: list[int], columns: Sequence[int]) -> dict[Any, Gaussian]:
    where = np.ix_(columns, columns)
    return {
        plain(statistics.classes[k]): Gaussian(statistics.means[k][list(columns)], statistics.covariances[k][where])
        for k in classes
    }


def best_bands(statistics: ClassStatistics, n_bands: int) -> tuple[str, ...]:
    """The bands that together separate the classes best, by forward selection."""
    chosen = _columns(statistics, None)
    usable, _ = _usable_classes(statistics, chosen)
    return tuple(gain.band for gain in _gains(statistics, usable, chosen, n_bands))


def _gains(
    statistics: ClassStatistics, classes: list[int], chosen: list[int], n_bands: int = MAX_RANKED_BANDS
) -> tuple[BandGain, ...]:
    """Forward selection of bands by the mean distance of all pairs."""

    def mean_and_least(columns: Sequence[int]) -> tuple[float, float]:
        distances = class_distances(_gaussians(statistics, classes, columns)).jeffries_matusita
        values = distances[np.triu_indices(len(classes), 1)]
        return float(values.mean()), float(values.min())

    alone = {j: mean_and_least([j])[0] for j in chosen}
    taken: list[int] = []
    gains = []
    while len(taken) < min(len(chosen), n_bands):
        options = {j: mean_and_least([*taken, j]) for j in chosen if j not in taken}
        best = max(options, key=lambda j: options[j])
        taken.append(best)
        gains.append(BandGain(statistics.band_names[best], alone[best], *options[best]))
    return tuple(gains)
