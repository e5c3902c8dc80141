"""Columns of a table: their distribution in each class, their importance for a model, odds ratios of their levels."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..engine import ProgressOption
from ..errors import DiscriminantError
from .fitting import FittedModel
from .tables import LabelledTable

if TYPE_CHECKING:
    from ..tables.column import Column

#: Numbers from this on are written as integers.
MIN_INTEGER: Final = 1e4
#: Bins of a histogram: enough to show two modes in a picture of 300 pixels.
MAX_BINS: Final = 24
#: Levels of a category that are shown; the others are summed.
MAX_LEVELS: Final = 8
#: Shares of the values beyond which the outermost bins are open, so that an outlier does not hide the others.
TAILS: Final = (0.005, 0.995)
IMPORTANCE_FOLDS: Final = 5
#: Permutations of a column in each fold; one of more columns than this, which have more rows of results to average.
PERMUTATIONS: Final = 5
MAX_REPEATED_COLUMNS: Final = 200
#: Values scored in all permutations: about a minute. Of more, fewer held-out rows are permuted.
MAX_SCORED_VALUES: Final = 1e10
MIN_PROBABILITY: Final = 1e-12
#: The normal quantile of a 95 % interval.
NORMAL_95: Final = 1.959964


def significant(value: float) -> str:
    """A number with four significant digits, or as an integer if it has more."""
    return f"{value:.4g}" if abs(value) < MIN_INTEGER else f"{value:,.0f}"


def table_columns(labelled: LabelledTable) -> list[tuple[Column, slice]]:
    """Each used column of a table, and its place among the coded columns."""
    found, end = [], 0
    for column in labelled.schema.used:
        start, end = end, end + len(column.outputs)
        found.append((column, slice(start, end)))
    return found


@dataclass(frozen=True, eq=False)
class Distribution:
    """The share of the rows of each class in each bin or level of a column."""

    bins: list[str]
    shares: Array  #: (classes, bins)
    ends: tuple[str, str] | None = None  #: the lowest and the highest value of numbers and dates


def distribution(labelled: LabelledTable, column: Column, where: slice) -> Distribution:
    """The distribution of a used column in each class; imputed values are left out if they have an indicator."""
    X: Any = labelled.training.X[:, where]
    if column.kind == "text":
        return _words(column, X, labelled.training.codes)
    coded = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    codes, n_classes = labelled.training.codes, len(labelled.class_rows)
    if column.kind in ("number", "date"):
        present = coded[:, -1] == 0 if column.missing_column else np.ones(len(coded), dtype=bool)
        return _binned(
            coded[present, 0], codes[present], n_classes, column.shown if column.kind == "date" else significant
        )
    if column.kind == "boolean":
        names, place = ["no", "yes"], (coded[:, 0] > 0).astype(np.int64)
    else:
        names, place = _levels(column, coded)
    if column.missing_column:
        names, place = [*names, "missing"], np.where(coded[:, -1] == 1, len(names), place)
    counts = np.zeros((n_classes, len(names)))
    np.add.at(counts, (codes, place), 1.0)
    names, counts = _most_frequent(names, counts)
    return Distribution(names, _shares(counts))


def _words(column: Column, X: Any, codes: Array) -> Distribution:
    """The share of the rows of each class that have a word, for the words whose shares differ most."""
    rows = np.eye(codes.max() + 1)[codes]
    shares = (X > 0).T.dot(rows).T[:, : len(column.levels)] / rows.sum(axis=0)[:, None]
    chosen = np.argsort(-np.ptp(shares, axis=0), kind="stable")[:MAX_LEVELS]
    return Distribution([column.levels[place] for place in chosen], shares[:, chosen])


def _levels(column: Column, coded: Array) -> tuple[list[str], Array]:
    """The levels of a category, and the place of each row's level."""
    names = list(column.coded_levels)
    own = coded[:, : len(names)] == 1
    place = own.argmax(axis=1)
    if column.reference is not None and column.reference not in names:
        names, place = [*names, column.reference], np.where(own.any(axis=1), place, len(names))
    return names, place


def _most_frequent(names: list[str], counts: Array) -> tuple[list[str], Array]:
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    shown, rest = order[:MAX_LEVELS], order[MAX_LEVELS:]
    found, kept = [names[k] for k in shown], counts[:, shown]
    if rest.size:
        found.append(f"{len(rest)} other levels")
        kept = np.column_stack((kept, counts[:, rest].sum(axis=1)))
    return found, kept


def _binned(values: Array, codes: Array, n_classes: int, written: Callable[[float], str]) -> Distribution:
    """The histogram of numbers in each class, with open bins at the ends."""
    distinct = np.unique(values)
    if len(distinct) <= MAX_BINS:
        edges = np.concatenate((distinct, distinct[-1:] + 1))
        bins = [written(value) for value in distinct.tolist()]
    else:
        low, high = np.quantile(values, TAILS)
        edges = np.linspace(low, high if high > low else low + 1, MAX_BINS + 1)
        bins = [f"{written(low)} to {written(high)}" for low, high in pairwise(edges.tolist())]
        bins[0], bins[-1] = f"up to {written(edges[1])}", f"from {written(edges[-2])}"
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(bins) - 1)
    counts = np.zeros((n_classes, len(bins)))
    np.add.at(counts, (codes, place), 1.0)
    return Distribution(bins, _shares(counts), (written(float(distinct[0])), written(float(distinct[-1]))))


def _shares(counts: Array) -> Array:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


@dataclass(frozen=True)
class ColumnImportance:
    """How much the held-out loss of a model increases if the values of a column are permuted."""

    column: str
    increase: float
    deviation: float  #: the standard deviation over the folds


def permutation_importance(fitted: FittedModel, progress: ProgressOption = None) -> tuple[str, list[ColumnImportance]]:
    """The loss, and the importance of each column of a table for a model, the most important first (Breiman 2001).

    The model is fitted again without each of five folds. In the held-out rows the coded columns of one column of the
    table are permuted together, so that a category has one importance.
    """
    from sklearn.base import clone

    from ..folds import repeated_folds

    labelled = fitted.labelled
    assert isinstance(labelled, LabelledTable)
    training, columns = labelled.training, table_columns(labelled)
    splits = repeated_folds(training.codes, IMPORTANCE_FOLDS, most=1, groups=training.groups)
    rng, n_repeats = np.random.default_rng(0), PERMUTATIONS if len(columns) <= MAX_REPEATED_COLUMNS else 1
    size = int(MAX_SCORED_VALUES / (len(columns) * n_repeats * training.X.shape[1] * len(splits)))
    found = np.empty((len(splits), len(columns)))
    for fold, (seen, held_out) in enumerate(splits):
        weights = {name: value[seen] for name, value in labelled.weights.items()}
        model = clone(fitted.model).fit(labelled.schema.rows(training.X[seen]), training.y[seen], **weights)
        held_out = rng.permutation(held_out)[: max(size, 50)]
        loss = _Loss(labelled, model, held_out)
        for j, (_, where) in enumerate(columns):
            found[fold, j] = np.mean([loss.increase(where, rng) for _ in range(n_repeats)])
            if callable(progress):
                progress(fold * len(columns) + j + 1, found.size)
    deviations = found.std(axis=0, ddof=1).tolist()
    rows = [
        ColumnImportance(column.name, increase, deviation)
        for (column, _), increase, deviation in zip(columns, found.mean(axis=0).tolist(), deviations, strict=True)
    ]
    measure = "log-loss" if hasattr(fitted.model, "predict_proba") else "error rate"
    return measure, sorted(rows, key=lambda row: -row.increase)


class _Loss:
    """The mean held-out log-loss of a model, or its error rate if it does not predict probabilities."""

    def __init__(self, labelled: LabelledTable, model: Any, rows: Array) -> None:
        X: Any = labelled.training.X[rows]
        self.X = np.array(X.toarray() if hasattr(X, "toarray") else X)
        self.schema, self.model, weights = labelled.schema, model, labelled.training.weights
        self.weights = None if weights is None else weights[rows]
        self.y = labelled.training.y[rows]
        places = {label: k for k, label in enumerate(model.classes_.tolist())}
        self.place = np.array([places[label] for label in self.y.tolist()])
        self.before = self._mean()

    def increase(self, where: slice, rng: np.random.Generator) -> float:
        """The increase of the loss if some coded columns are permuted together."""
        kept = self.X[:, where].copy()
        self.X[:, where] = kept[rng.permutation(len(kept))]
        after = self._mean()
        self.X[:, where] = kept
        return after - self.before

    def _mean(self) -> float:
        rows = self.schema.rows(self.X)
        if hasattr(self.model, "predict_proba"):
            own = self.model.predict_proba(rows)[np.arange(len(self.place)), self.place]
            losses = -np.log(np.maximum(own, MIN_PROBABILITY))
        else:
            losses = (self.model.predict(rows) != self.y).astype(np.float64)
        return float(np.average(losses, weights=self.weights))


@dataclass(frozen=True)
class LevelOdds:
    """The odds ratio of a class for a level relative to the reference level, with its 95 % interval if it is known."""

    outcome: Hashable
    level: str
    odds_ratio: float
    low: float
    high: float


def categories_with_odds(fitted: FittedModel) -> dict[str, list[str]]:
    """The levels of each category, the usual reference level first, if the coefficients of the model are log-odds."""
    from ..estimators.coefficients import coefficient_table

    labelled, model = fitted.labelled, fitted.model
    if not isinstance(labelled, LabelledTable) or not hasattr(model, "coef_") or hasattr(model, "thresholds_"):
        return {}
    try:
        if not coefficient_table(model, schema=labelled.schema).log_odds:
            return {}
    except DiscriminantError:
        return {}
    return {
        column.name: sorted(column.distinct_levels, key=lambda level: level != column.reference)
        for column, _ in table_columns(labelled)
        if column.kind == "category"
    }


def level_odds(fitted: FittedModel, name: str, reference: str) -> list[LevelOdds]:
    """The odds ratios of the levels of a category relative to any of them."""
    from ..estimators.coefficients import INTERCEPT, coefficient_table

    labelled, model = fitted.labelled, fitted.model
    assert isinstance(labelled, LabelledTable)
    column, where = next(found for found in table_columns(labelled) if found[0].name == name)
    table, covariance = coefficient_table(model, schema=labelled.schema), None
    if hasattr(model, "coefficient_covariance") and table.has_errors:
        covariance = model.coefficient_covariance()
    n_terms, found = len(next(iter(table.outcomes.values()))), list[LevelOdds]()
    for number, (outcome, rows) in enumerate(table.outcomes.items()):
        first = where.start + sum(row.term == INTERCEPT for row in rows)
        places = {level: first + k for k, level in enumerate(column.coded_levels)}
        for level in column.distinct_levels:
            contrast = np.zeros(n_terms)
            if level != reference:
                for own, sign in ((level, 1.0), (reference, -1.0)):
                    if own in places:
                        contrast[places[own]] = sign
            estimate = float(contrast @ np.nan_to_num([row.estimate for row in rows]))
            half = np.nan
            if covariance is not None and level != reference:
                block = slice(number * n_terms, (number + 1) * n_terms)
                half = NORMAL_95 * float(np.sqrt(contrast @ covariance[block, block] @ contrast))
            found.append(LevelOdds(outcome, level, *np.exp([estimate, estimate - half, estimate + half]).tolist()))
    return found
