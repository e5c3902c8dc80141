"""Measures of predictions by row: losses, correctness, scores and costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..decision.costs import CostsLike, read_costs
from ..errors import ParameterError
from ..evaluation.intervals import Interval
from ..evaluation.probabilities import LOSSES, expected_moments
from ..evaluation.ranking import auc, rank
from ..evaluation.sampling import Mean
from ..results import plain, quoted
from .held_out import TABLE_MEASURES, TableMeasure

#: All measures, and whether larger values are better.
METRICS = {
    "log_loss": False, "accuracy": True, "balanced_accuracy": True, "auc": True, "f1": True, "error_rate": False,
    "brier": False, "cost": False,
}  # fmt: skip
_FROM_POSTERIORS = tuple(LOSSES)
SHARE_METRICS = ("accuracy", "error_rate")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted class codes, posteriors, and scores of a model without posteriors."""

    codes: Array
    posterior: Array | None = None
    scores: Array | None = None


@dataclass(frozen=True, eq=False)
class RowValues:
    """The values behind a measure: one for each row, or scores of each class; sums of expected moments."""

    values: Array
    expected: Array | None = None


@dataclass(frozen=True, eq=False)
class Scoring:
    """The requested measures."""

    metrics: tuple[str, ...]
    n_classes: int
    costs: Array | None = None
    positive: int | None = None  #: the code of the positive class

    @property
    def areas(self) -> tuple[int, ...]:
        """The classes whose areas under the ROC curve are averaged; that of two classes is the same for both."""
        if self.n_classes == 2:
            return (1,)
        return tuple(range(self.n_classes)) if self.positive is None else (self.positive,)

    def of_table(self, metric: str) -> TableMeasure:
        """A measure of the table of true and predicted classes."""
        return TableMeasure.named(metric, self.positive)

    @property
    def needs_posteriors(self) -> bool:
        return self.costs is not None or any(name in self.metrics for name in ("auc", *_FROM_POSTERIORS))

    def score(
        self, truth: Array, weight: Array | None, found: Predictions, expecting: bool = False
    ) -> tuple[Array, dict[str, RowValues]]:
        """Every measure of the predictions of rows with classes ``truth``, and the values of the rows.

        ``expecting``: also the moments that the model expects (see `Mean`), which takes longer.
        """
        rows = {name: self._rows(name, truth, weight, found, expecting) for name in self.metrics}
        values = [self._measure(name, rows[name], truth, weight, found) for name in self.metrics]
        return np.array(values), {name: own for name, own in rows.items() if own is not None}

    def _rows(
        self, name: str, truth: Array, weight: Array | None, found: Predictions, expecting: bool
    ) -> RowValues | None:
        if name in TABLE_MEASURES:
            return RowValues(found.codes)
        if name in SHARE_METRICS:
            return RowValues((found.codes == truth) if name == "accuracy" else (found.codes != truth))
        if name == "auc":
            scores = found.scores if found.posterior is None else found.posterior
            every = scores is None or len(self.areas) == scores.shape[1]
            return None if scores is None else RowValues(scores if every else scores[:, list(self.areas)])
        if name == "cost":
            assert self.costs is not None
            values, by_class = self.costs[truth, found.codes], self.costs.T[found.codes]
        elif found.posterior is None:
            return None
        else:
            values = LOSSES[name](found.posterior, truth)
            by_class = LOSSES[name](found.posterior) if expecting else values
        if not expecting:
            return RowValues(values)
        shares = np.bincount(truth, weight, by_class.shape[1])  # without probabilities
        belief = np.tile(shares, (len(truth), 1)) if found.posterior is None else found.posterior
        return RowValues(values, expected_moments(by_class, belief, weight))

    def _measure(
        self, name: str, rows: RowValues | None, truth: Array, weight: Array | None, found: Predictions
    ) -> float:
        if rows is None or (weight is not None and not weight.any()):
            return math.nan
        if name in TABLE_MEASURES:
            counts = np.bincount(truth * self.n_classes + found.codes, weight, self.n_classes**2)
            return self.of_table(name).value(counts.reshape(self.n_classes, self.n_classes))
        if name == "auc":
            return area_under_curve(truth, weight, found, self.areas)
        return Mean.of(rows.values, weight).mean


def wanted_scoring(
    metrics: str | Iterable[str] | None, costs: CostsLike | None, classes: Array, positive: int | None = None
) -> Scoring:
    """The requested measures; by default those that need no sorting."""
    table = None if costs is None else _cost_table(costs, classes)
    if metrics is None:
        default = ("accuracy", *_FROM_POSTERIORS, *(("cost",) if table is not None else ()))
        return Scoring(default, len(classes), table, positive)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics) if isinstance(metrics, Iterable) else ()
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ParameterError(f"metrics must be among {', '.join(METRICS)}; got {unknown[0] if unknown else metrics!r}.")
    if "cost" in names and table is None:
        raise ParameterError("The metric 'cost' needs costs: a table with a row for each true class.")
    return Scoring(tuple(dict.fromkeys(names)), len(classes), table, positive)


def _cost_table(costs: CostsLike | None, classes: Array) -> Array:
    """The cost of each prediction (column) for each true class (row), both in the order of the classes."""
    values, actions = read_costs(costs).aligned(classes)
    names = [plain(label) for label in classes]
    unknown, missing = [a for a in actions if a not in names], [name for name in names if name not in actions]
    if unknown or missing or values.ndim != 2:
        wrong = f" Not a class: {quoted(unknown)}." if unknown else ""
        wrong += f" Without a column: {quoted(missing)}." if missing else ""
        raise ParameterError(
            f"costs must give one cost for each true class and each predicted class, of {quoted(names, 10)}; got "
            f"actions {quoted(actions, 10)} and shape {values.shape}.{wrong}"
        )
    return values[:, [actions.index(name) for name in names]]


def area_under_curve(truth: Array, weight: Array | None, found: Predictions, chosen: Iterable[int]) -> float:
    """The area under the ROC curve of a class against the rest; of several classes the mean.

    NaN without scores, and where a class has no rows.
    """
    scores = found.scores if found.posterior is None else found.posterior
    if scores is None:
        return np.nan
    return float(np.mean([auc(rank(truth == k, np.ascontiguousarray(scores[:, k]), weight)) for k in chosen]))


#: Upper bounds of measures.
_CEILINGS = dict.fromkeys(("accuracy", "error_rate", "auc", *TABLE_MEASURES), 1.0)


def within_range(metric: str, interval: Interval) -> Interval:
    """An interval clipped to the range of its measure."""
    return interval.within(-math.inf if metric == "cost" else 0.0, _CEILINGS.get(metric, math.inf))
