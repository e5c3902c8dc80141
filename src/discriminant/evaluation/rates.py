"""Every measure that is a function of a table of counts, for one table or a stack of them.

A table has a row for each true class and a column for each class that can be predicted, in the same order; further
columns are actions that are no class ("abstain"). All measures need only its diagonal and its margins (`Margins`).
Arrays may have leading axes, so that the formula of the estimate is also that of its bootstrap. A measure whose
denominator is 0 is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..data.parameters import check_number
from ..errors import ParameterError

Array = np.ndarray[Any, Any]
Average = Literal["macro", "micro", "weighted"]
Undefined = Literal["nan", "skip"]


@dataclass(frozen=True)
class Margins:
    """What a table of counts says about each class against all others; float64.

    ``tp`` and ``truth`` have shape (..., K): rows of the class that were predicted so, and all rows of the class.
    ``columns`` has shape (..., A): rows that were given each prediction.
    """

    tp: Array
    truth: Array
    columns: Array

    @property
    def predicted(self) -> Array:
        """Rows predicted as each class."""
        return self.columns[..., : self.truth.shape[-1]]

    @property
    def total(self) -> Array:
        return self.truth.sum(axis=-1)

    @property
    def others(self) -> Array:
        """Rows of other classes; exactly 0 where there are none, whatever the weights."""
        return self.truth.sum(axis=-1, keepdims=True) - self.truth

    @property
    def otherwise(self) -> Array:
        """Rows predicted as anything else; exactly 0 where there are none."""
        return self.columns.sum(axis=-1, keepdims=True) - self.predicted

    def combined(self, coefficients: dict[str, float]) -> Array:
        return np.asarray(sum(c * getattr(self, name) for name, c in coefficients.items()))


Statistic = Callable[[Margins], Array]


def margins(tables: Any) -> Margins:
    """The margins of tables (..., K, A)."""
    counts = np.asarray(tables, dtype=np.float64)
    tp = np.diagonal(counts[..., : counts.shape[-2]], axis1=-2, axis2=-1)
    return Margins(tp, counts.sum(axis=-1), counts.sum(axis=-2))


@dataclass(frozen=True)
class Rate:
    """A ratio of counts of each class, and the words for a denominator of 0."""

    part: dict[str, float]
    base: dict[str, float]
    undefined: str

    def of(self, counts: Margins) -> Array:
        return ratio(counts.combined(self.part), counts.combined(self.base))

    def base_of(self, counts: Margins) -> Array:
        return counts.combined(self.base)


_ABSENT, _ALONE = "no row is of class {label}", "every row is of class {label}"
_NEITHER = "no row is of class {label} or was predicted so"

RATES = {
    "recall": Rate({"tp": 1}, {"truth": 1}, _ABSENT),
    "precision": Rate({"tp": 1}, {"predicted": 1}, "no row was predicted {label}"),
    "specificity": Rate({"others": 1, "predicted": -1, "tp": 1}, {"others": 1}, _ALONE),
    "fnr": Rate({"truth": 1, "tp": -1}, {"truth": 1}, _ABSENT),
    "fpr": Rate({"predicted": 1, "tp": -1}, {"others": 1}, _ALONE),
    "npv": Rate({"otherwise": 1, "truth": -1, "tp": 1}, {"otherwise": 1}, "every row was predicted {label}"),
    "jaccard": Rate({"tp": 1}, {"truth": 1, "predicted": 1, "tp": -1}, _NEITHER),
}


def f_rate(m: float = 1.0) -> Rate:
    """F_m = (m + 1) P R / (R + m P), written in counts; m is beta squared in the other convention."""
    check_number("m", m, 0)
    return Rate({"tp": 1 + m}, {"truth": m, "predicted": 1}, _NEITHER if m > 0 else RATES["precision"].undefined)


def named_rate(metric: str, m: float = 1.0) -> Rate:
    """The rate of this name; "f" takes ``m``, "f1" is "f" with m = 1."""
    if metric in ("f", "f1"):
        return f_rate(m if metric == "f" else 1.0)
    if metric not in RATES:
        raise ParameterError(f"Unknown measure {metric!r}. Rates: 'f', 'f1', {_listed(RATES)}; {_listed(OVERALL)}.")
    return RATES[metric]


def averaged(counts: Margins, rate: Rate, how: Average, undefined: Undefined = "nan") -> Array:
    """The rate averaged over classes.

    "macro": every class counts the same; "weighted": by its rows; "micro": counts are added before dividing. A class
    for which the rate is undefined makes macro and weighted averages NaN; "skip" leaves it out.
    """
    if undefined not in ("nan", "skip"):
        raise ParameterError(f"undefined must be 'nan' or 'skip', got {undefined!r}.")
    if how == "micro":
        return ratio(counts.combined(rate.part).sum(axis=-1), counts.combined(rate.base).sum(axis=-1))
    if how not in ("macro", "weighted"):
        raise ParameterError(f"The average must be 'macro', 'micro' or 'weighted', got {how!r}.")
    values = rate.of(counts)
    weight = np.ones(values.shape) if how == "macro" else counts.truth
    counted = (weight > 0) & ~np.isnan(values) if undefined == "skip" else weight > 0
    weight = np.where(counted, weight, 0.0)
    return ratio((weight * np.where(counted, values, 0.0)).sum(axis=-1), weight.sum(axis=-1))


def accuracy(counts: Margins) -> Array:
    """The share of rows given their own class; abstaining is not."""
    return ratio(counts.tp.sum(axis=-1), counts.total)


def error_rate(counts: Margins) -> Array:
    """The share of rows not given their own class."""
    return ratio((counts.truth - counts.tp).sum(axis=-1), counts.total)


def coverage(counts: Margins) -> Array:
    """The share of rows given any class at all."""
    return ratio(counts.predicted.sum(axis=-1), counts.columns.sum(axis=-1))


def accuracy_when_decided(counts: Margins) -> Array:
    """The share of rows given their own class among those given a class."""
    return ratio(counts.tp.sum(axis=-1), counts.predicted.sum(axis=-1))


def balanced_accuracy(counts: Margins) -> Array:
    """The mean recall of all classes."""
    return averaged(counts, RATES["recall"], "macro")


def kappa(counts: Margins) -> Array:
    """Cohen's kappa: agreement beyond that of independent labels with the same margins."""
    return ratio(_beyond_chance(counts), (counts.truth * counts.otherwise).sum(axis=-1))


def mcc(counts: Margins) -> Array:
    """Matthews's correlation of truth and prediction, for any number of classes."""
    of_truth = (counts.truth * counts.others).sum(axis=-1)
    of_prediction = (counts.columns * (counts.columns.sum(axis=-1, keepdims=True) - counts.columns)).sum(axis=-1)
    return ratio(_beyond_chance(counts), np.sqrt(of_truth) * np.sqrt(of_prediction))


OVERALL: dict[str, Statistic] = {
    "accuracy": accuracy,
    "error rate": error_rate,
    "coverage": coverage,
    "accuracy when decided": accuracy_when_decided,
    "balanced accuracy": balanced_accuracy,
    "kappa": kappa,
    "mcc": mcc,
}


def ratio(part: Array, base: Array) -> Array:
    """``part / base``, NaN where the base is 0."""
    part, base = np.asarray(part, dtype=np.float64), np.asarray(base, dtype=np.float64)
    return np.divide(part, base, out=np.full(np.broadcast(part, base).shape, np.nan), where=base != 0)


def _beyond_chance(counts: Margins) -> Array:
    return counts.total * counts.tp.sum(axis=-1) - (counts.truth * counts.predicted).sum(axis=-1)


def _listed(names: Any) -> str:
    return ", ".join(map(repr, names))
