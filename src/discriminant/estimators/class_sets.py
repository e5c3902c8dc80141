"""Sets of classes: conformity scores, sets of rows, and their coverage.

A set contains the classes whose conformity score is not too large compared with those of the calibration rows for their
true classes. If rows are exchangeable, it contains the true class of a new row with the chosen probability, whatever
the model.

=======  ===========================================================================================================
score    of class k, with probabilities p
=======  ===========================================================================================================
lac      ``1 - p_k``: the smallest sets on average (Sadinle, Lei & Wasserman 2019)
aps      sum of the probabilities of the classes that are at least as probable as k, itself included: sets that
         are larger where classes are hard to distinguish (Romano, Sesia & Candes 2020)
raps     aps plus ``penalty`` for each class beyond ``free_classes`` of higher probability: without long tails of
         improbable classes (Angelopoulos et al. 2021)
=======  ===========================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array
from ..data import label_array
from ..errors import LabelError
from ..evaluation.intervals import Interval, wilson_interval
from ..evaluation.probabilities import RiskCoverage
from ..evaluation.sampling import SamplingDesign, mean_interval
from ..results import Result, aligned, columns_of, decimal, plain, quoted, shown

ConformityScore = Literal["lac", "aps", "raps"]
SetRows = Literal["all", "class", "group"]
CONFORMITY_SCORES: Final = ("lac", "aps", "raps")
# Ranks of calibration rows are compared with a multiple of the coverage, which has rounding errors.
RANK_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class ScoreOptions:
    """The conformity score, with the penalty of "raps"."""

    kind: ConformityScore = "aps"
    penalty: float = 0.01
    free_classes: int = 1

    def scores(self, posterior: Array, uniform: Array | None = None) -> Array:
        """The conformity scores of all classes, (n, K); a ``uniform`` number for each row breaks ties of "aps"."""
        if self.kind == "lac":
            return 1.0 - posterior
        order = np.argsort(-posterior, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(posterior, order, axis=1), axis=1)
        if self.kind == "raps":
            sums += self.penalty * np.maximum(np.arange(1, posterior.shape[1] + 1) - self.free_classes, 0)
        found = np.empty_like(posterior)
        np.put_along_axis(found, order, sums, axis=1)
        return found if uniform is None else found - uniform[:, None] * posterior


@dataclass(frozen=True)
class CalibrationScores:
    """The sorted scores of some calibration rows, with the cumulative weights before each of them."""

    values: Array
    cumulative: Array

    @classmethod
    def of(cls, scores: Array, weight: Array) -> CalibrationScores:
        """The scores with their weights."""
        order = np.argsort(scores)
        return cls(scores[order], np.append(0.0, np.cumsum(weight[order])))

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.cumulative[-1])

    def below(self, scores: Array) -> Array:
        """The weight of calibration rows with a smaller score than each of these."""
        return self.cumulative[np.searchsorted(self.values, scores, side="left")]


def is_contained(n_below: Array, total: float, coverage: float) -> Array:
    """Whether a class with this weight of smaller calibration scores is in the set."""
    return n_below < math.ceil(coverage * (total + 1) - RANK_ROUNDING)


@dataclass(frozen=True, eq=False, repr=False)
class ClassSets(Result):
    """A set of classes for each row.

    Parameters
    ----------
    contains : bool array of shape (n_rows, K)
        Whether the set of a row contains a class.
    classes : array of shape (K,)
        The classes.

    See Also
    --------
    PredictionSets : Predicts them.

    Examples
    --------
    >>> import numpy as np
    >>> found = ClassSets(np.array([[True, False, True], [False, True, False]]), np.array(["a", "b", "c"]))
    >>> list(found), found.decide().tolist()
    ([['a', 'c'], ['b']], ['abstain', 'b'])
    """

    contains: Array
    classes: Array

    def __len__(self) -> int:
        return len(self.contains)

    def __iter__(self) -> Iterator[list[Any]]:
        labels = np.array([plain(label) for label in self.classes], dtype=object)
        return (labels[own].tolist() for own in self.contains)

    @property
    def sizes(self) -> Array:
        """The number of classes in each set."""
        return np.asarray(self.contains.sum(axis=1))

    def decide(self, otherwise: Hashable = "abstain") -> Array:
        """The class of each set that has exactly one.

        Parameters
        ----------
        otherwise : label, default="abstain"
            The answer for other sets.

        Returns
        -------
        array of shape (n_rows,)
        """
        best = self.contains.argmax(axis=1)
        answers = [plain(self.classes[k]) if n == 1 else otherwise for k, n in zip(best, self.sizes, strict=True)]
        return label_array(answers)

    def _columns(self) -> dict[str, list[Any]]:
        joined = ["|".join(map(str, own)) for own in self]
        return {"set": joined, "size": self.sizes.tolist()}

    def __str__(self) -> str:
        counts = np.bincount(self.sizes, minlength=len(self.classes) + 1)
        rows = [[str(size), f"{count:,}"] for size, count in enumerate(counts.tolist()) if count]
        return "\n".join([f"Sets of {len(self):,} rows", *aligned([["classes in the set", "rows"], *rows])])


@dataclass(frozen=True)
class SetMeasure:
    """Coverage and size of the sets of some rows.

    Attributes
    ----------
    kind : {"all", "class", "group"}
        Whether these are all rows, or those of a class or of a group.
    of : label
        "all", or the class or group.
    n_rows : float
        Number of rows, or their total weight.
    coverage, coverage_low, coverage_high : float
        The share of sets that contain the true class, with its interval.
    mean_size, size_low, size_high : float
        The mean number of classes in a set, with its interval.
    answered : float
        The share of sets with exactly one class.
    error : float
        The share of errors among these; NaN without any.
    """

    kind: SetRows
    of: Any
    n_rows: float
    coverage: float
    coverage_low: float
    coverage_high: float
    mean_size: float
    size_low: float
    size_high: float
    answered: float
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class SetEvaluation(Result):
    """Coverage and size of prediction sets on held-out rows.

    Parameters
    ----------
    rows : list of SetMeasure
        Of all rows, then of each class, then of each group.
    nominal : float
        The coverage that was asked for.
    level : float
        Confidence of the intervals.
    risk_coverage : RiskCoverage
        The error rate of rows whose set has one class by their share, as the nominal coverage decreases. Empty sets
        count as sets of the most probable class.

    See Also
    --------
    PredictionSets : Its `evaluate` computes one.
    figures.risk_coverage : Draws the curve.
    """

    rows: list[SetMeasure]
    nominal: float
    level: float
    risk_coverage: RiskCoverage

    def __getitem__(self, of: Hashable | tuple[SetRows, Hashable]) -> SetMeasure:
        """The measures of "all" rows, or of a class or group: its label, ``("class", a)`` or ``("group", a)``."""
        if of == "all":
            return self.rows[0]
        found = [row for row in self.rows[1:] if of in (row.of, (row.kind, row.of))]
        if len(found) == 1:
            return found[0]
        if found:
            raise LabelError(f"{of!r} is both a class and a group. Use ('class', {of!r}) or ('group', {of!r}).")
        known = quoted([row.of for row in self.rows[1:]], 20)
        raise LabelError(f"There are no rows of {of!r}. Classes and groups: {known}.")

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.rows)

    def __str__(self) -> str:
        names = ["rows of", "coverage", "low", "high", "mean size", "low", "high", "one class", "error of these"]
        table = [
            [
                row.of if row.kind == "all" else f"group {shown(row.of)}" if row.kind == "group" else shown(row.of),
                *map(decimal, (row.coverage, row.coverage_low, row.coverage_high)),
                *map(decimal, (row.mean_size, row.size_low, row.size_high, row.answered, row.error)),
            ]
            for row in self.rows
        ]
        head = f"Prediction sets, nominal coverage {100 * self.nominal:g} %; {100 * self.level:g} % intervals"
        return "\n".join([head, *aligned([names, *table]), f"answers of sets with one class: {self.risk_coverage}"])

    def to_dict(self) -> dict[str, Any]:
        """The measures and the risk-coverage curve as plain values.

        Returns
        -------
        dict
            By name of the field.
        """
        return {**super().to_dict(), "risk_coverage": self.risk_coverage.to_dict()}


def set_measures(
    sets: ClassSets, codes: Array, design: SamplingDesign, groups: Array | None, level: float
) -> list[SetMeasure]:
    """The coverage and size of sets for rows with these true classes, by class and by group."""
    counted = design.weights > 0
    parts: list[tuple[tuple[SetRows, Any], Array]] = [(("all", "all"), counted)]
    parts += [(("class", plain(label)), counted & (codes == k)) for k, label in enumerate(sets.classes)]
    if groups is not None:
        parts += [(("group", plain(label)), counted & (groups == label)) for label in np.unique(groups)]
    return [_measured(of, sets, codes, design, own, level) for of, own in parts if own.any()]


def _measured(
    of: tuple[SetRows, Any], sets: ClassSets, codes: Array, whole: SamplingDesign, own: Array, level: float
) -> SetMeasure:
    """The measures of the rows ``own``."""
    weight = whole.weights[own]
    clusters, n_clusters = None, 0
    if whole.clusters is not None:
        clusters = np.unique(whole.clusters[own], return_inverse=True)[1]
        n_clusters = int(clusters.max()) + 1
    grouped = n_clusters > 1
    design = SamplingDesign(len(weight), weight, *((clusters, n_clusters) if grouped else (None, 0)))
    is_covered = sets.contains[own, codes[own]].astype(np.float64)
    sizes = sets.sizes[own].astype(np.float64)
    share, n = float(np.average(is_covered, weights=weight)), float(weight.sum())
    if grouped and 0 < share < 1:
        deviations = is_covered - share
        n = design.worth(deviations, float(weight @ deviations**2))
    covered: Interval = wilson_interval(share, n, level)
    mean, interval = mean_interval(sizes, design, level)
    one = weight * (sizes == 1)
    answered, wrong = float(one.sum()), float(one @ (1 - is_covered))
    return SetMeasure(
        *of, float(weight.sum()), share, covered.low, covered.high, mean, interval.low, interval.high,
        answered / float(weight.sum()), wrong / answered if answered else math.nan,
    )  # fmt: skip
