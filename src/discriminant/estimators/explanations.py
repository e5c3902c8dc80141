"""Explanations of a model: contributions of a row's columns to its score, effects of columns, a nomogram.

Contributions compare a row with an average row, one column at a time. A nomogram (d'Ocagne 1899; for regression models
Lubsen, Pool and van der Does 1978) assigns points to the values of each column, whose sum gives the score.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import MixedBlock, SparseRows
from ..errors import DegenerateDataError, ParameterError, Setting
from ..inference.likelihood import Effect, EffectPoint
from ..results import Result, aligned, number, plain, visible
from ..rules import MixedRule
from ..tables.column import Column
from ..tables.schema import Schema
from .base import PosteriorClassifier, with_names
from .coefficients import column_names
from .formula_fit import input_names


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    """Contributions of each column to the lead of a class, by default the predicted one, over the runner-up.

    Attributes
    ----------
    label, against : the class, and the best of the others
    unit : str
        "log-odds", or "score".
    lead, lead_at_means : float
        Of the row, and of a row of means. Contributions to a linear or naive Bayes model add up to the difference.
    rows : list of Contribution
        The largest first.
    """

    label: Any
    against: Any
    unit: str
    lead: float
    lead_at_means: float
    rows: list[Contribution]

    def __str__(self) -> str:
        classes = f"{visible(self.label)} vs {visible(self.against)}"
        head = f"Contributions to the {self.unit} of {classes}, relative to an average row"
        cells = [
            [row.column, "" if row.value is None else str(row.value), f"{row.contribution:+.4g}"] for row in self.rows
        ]
        ends = f"{self.unit} of the row: {number(self.lead)}; of an average row: {number(self.lead_at_means)}"
        return "\n".join([head, *aligned([["column", "value", self.unit], *cells], left=2), ends])


@dataclass(frozen=True)
class Contribution:
    """The contribution of a column to the lead of a class, relative to its mean."""

    column: str
    value: Any
    contribution: float


def contributions(
    model: BaseEstimator,
    row: Any,
    means: ArrayLike,
    columns: Schema | Sequence[str] | None = None,
    values: Mapping[str, Hashable] | None = None,
    label: Hashable | None = None,
) -> Contributions:
    """The change of the lead of the predicted class over the runner-up if a column had its mean instead.

    For a category the lead is averaged over its levels, by their shares. The words of a text contribute separately.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    row : array-like or sparse row of n_columns numbers
        Row to explain.
    means : array-like of n_columns numbers
        Row of comparison.
    columns : Schema, or sequence of str, optional
        The raw column of each column of the model, which change together; a schema also has the categories. Default:
        each column separately.
    values : dict, optional
        Raw values by column, for display. Default: those of the row.
    label : class, optional
        The class whose lead over the best other class is explained, for example that of a decision with costs. Default:
        the predicted class.

    Returns
    -------
    Contributions
        Of every column, the largest first.

    See Also
    --------
    coefficient_table : The coefficients of the model.
    column_effects : Effects of each column over its range.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> found = contributions(LinearDiscriminantAnalysis().fit(X, y), X[0], X.mean(axis=0))
    >>> found.label, found.against, found.rows[0].column
    (0, 1, 'x2')
    """
    names = input_names(model) or column_names(model)
    schema = columns if isinstance(columns, Schema) else None
    own = np.asarray(names if columns is None else columns if schema is None else schema.sources)
    row = row.values if isinstance(row, SparseRows) else row
    x, at_means = np.ravel(row.toarray() if sp.issparse(row) else row).astype(np.float64), np.asarray(means, np.float64)
    if not len(x) == len(at_means) == len(own) == len(names):
        raise ParameterError(
            f"Expected {len(names)} columns; got a row of {len(x)}, {len(at_means)} means and {len(own)} names."
        )
    own = own if schema is None else _with_words(schema, own, x)
    sources = list(dict.fromkeys(own.tolist()))
    few = [] if schema is None or schema.width is not None else [each for each in schema.used if not each.is_sparse]
    categories = {each.name for each in few if each.kind == "category"}
    changed = [_averaged(x, at_means, own == name, name in categories) for name in sources]
    every = [x[None], at_means[None], *(rows for rows, _ in changed)]
    stacked = sp.vstack([sp.csr_matrix(rows) for rows in every], "csr") if sp.issparse(row) else np.vstack(every)
    scores = class_scores(model, stacked, names)
    labels = [plain(label) for label in model.classes_]
    if label is None:
        label = model.predict(with_names(model, row if sp.issparse(row) else x[None], names))[0]
    best = labels.index(plain(label))
    rival = int(np.argmax(np.where(np.arange(scores.shape[1]) == best, -np.inf, scores[0])))
    lead = scores[:, best] - scores[:, rival]
    given = dict(zip(own.tolist(), x.tolist(), strict=True)) if values is None else values
    ends = np.cumsum([len(rows) for rows, _ in changed])[:-1]
    averages = [own @ share for own, (_, share) in zip(np.split(lead[2:], ends), changed, strict=True)]
    added = lead[0] - np.array(averages)
    return Contributions(
        labels[best],
        labels[rival],
        "log-odds" if isinstance(model, PosteriorClassifier) else "score",
        float(lead[0]),
        float(lead[1]),
        [
            Contribution(sources[j], given.get(sources[j]), float(added[j]))
            for j in np.argsort(-np.abs(added), kind="stable")
        ],
    )


def _with_words(schema: Schema, sources: Array, x: Array) -> Array:
    """The raw column of each column of the model; for each word of the row the word, for all others together one."""
    found = sources.astype(object)
    for column in input_columns(schema.names, schema):
        if column.kind == "text" and column.coding is not None:
            for place, word in zip(column.places, column.coding.outputs, strict=True):
                found[place] = word if x[place] else f"{column.name}: (other words)"
    return found


def _averaged(x: Array, means: Array, chosen: Array, is_category: bool) -> tuple[Array, Array]:
    """Rows whose scores are averaged for the chosen columns at their means, and their weights."""
    if not is_category:
        return np.where(chosen, means, x)[None], np.ones(1)
    held, places = np.where(chosen, 0.0, x), np.flatnonzero(chosen)
    rows, share = np.tile(held, (len(places) + 1, 1)), np.append(means[places], max(1.0 - means[places].sum(), 0.0))
    rows[np.arange(len(places)), places] = 1.0  # the last row has the reference level
    there = share > 0
    return rows[there], share[there] / share.sum()


def class_scores(model: BaseEstimator, X: Any, names: Sequence[str]) -> Array:
    """The score of every class."""
    if isinstance(getattr(model, "rule_", None), MixedRule):  # predict would refuse shares of indicators
        return np.asarray(model.rule_.scores(MixedBlock(X, [])))
    found = np.asarray(model.decision_function(with_names(model, X, names)))
    return np.column_stack((np.zeros(len(found)), found)) if found.ndim == 1 else found


# Words of each class.
MAX_SHOWN_WORDS: Final = 12


@dataclass(frozen=True)
class WordEffect:
    """The change of the score of a class, relative to the mean of the others, by a word in an empty text."""

    column: str
    label: Any
    word: str
    effect: float


@dataclass(frozen=True, eq=False, repr=False)
class WordEffects(Result):
    """The words of text columns that favour each class most.

    Attributes
    ----------
    rows : list of WordEffect
        By column and class, the largest effect first.
    unit : str
        "log-odds", or "score".
    """

    rows: list[WordEffect]
    unit: str

    def __str__(self) -> str:
        words: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            words.setdefault((row.column, visible(row.label)), []).append(f"{row.word} {row.effect:+.3g}")
        cells = [[*key, ", ".join(own)] for key, own in words.items()]
        head = f"Words that favour each class ({self.unit}, relative to a text without words)"
        return "\n".join([head, *aligned([["column", "class", "words"], *cells], left=3)])


def word_effects(model: BaseEstimator, means: ArrayLike, schema: Schema) -> WordEffects | None:
    """The words that favour each class most, all other columns at their means; None without text columns.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    means : array-like of n_columns numbers
        Averages of the coded columns.
    schema : Schema
        Coding of the raw columns.

    Returns
    -------
    WordEffects
    """
    names, rows = schema.names, list[WordEffect]()
    texts = [each for each in input_columns(names, schema) if each.kind == "text" and each.coding is not None]
    base = np.array(means, dtype=np.float64)
    for column in texts:
        base[list(column.places)] = 0.0
    for column in texts:
        words = column.coding.levels  # type: ignore[union-attr]
        places = np.arange(column.places[0], column.places[0] + len(words))
        one = (np.ones(len(words)), (np.arange(1, len(words) + 1), places))
        n_rows = len(words) + 1
        others = sp.csr_matrix(np.ones((n_rows, 1))) @ sp.csr_matrix(base)
        scores = class_scores(model, sp.csr_matrix(one, shape=(n_rows, len(base))) + others, names)
        leads = scores - (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
        changes = leads[1:] - leads[0]
        for label, own in zip(model.classes_, changes.T, strict=True):
            largest = np.argsort(-own, kind="stable")[:MAX_SHOWN_WORDS]
            rows += [WordEffect(column.name, plain(label), words[j], float(own[j])) for j in largest if own[j] > 0]
    return WordEffects(rows, "log-odds" if isinstance(model, PosteriorClassifier) else "score") if texts else None


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffects(Result):
    """Effects of each column on the score, all others at their averages.

    Attributes
    ----------
    effects : dict
        `Effect` by column, without intervals, the largest first.
    unit : str
        "log-odds", or "score".

    See Also
    --------
    figures.effect : Figure of one effect.
    """

    effects: dict[str, Effect]
    unit: str

    def __getitem__(self, column: str) -> Effect:
        return self.effects[column]

    def _columns(self) -> dict[str, list[Any]]:
        points = [(name, point) for name, effect in self.effects.items() for point in effect.points]
        values = {name: [getattr(point, name) for _, point in points] for name in ("outcome", "value", "estimate")}
        return {"column": [name for name, _ in points], **values}

    def __str__(self) -> str:
        rows = [
            [name, *(v if isinstance(v, str) else number(v) for v in (p.value, p.estimate)), str(p.outcome)]
            for name, effect in self.effects.items()
            for p in (effect.points if isinstance(effect.at, str) else effect.points[:: N_EFFECT_POINTS // 4])
        ]
        head = f"Effects on the {self.unit}, all other columns at their means"
        return "\n".join([head, *aligned([["column", "value", "change", "outcome"], *rows], left=1)])


# Points of the effect of a number.
N_EFFECT_POINTS: Final = 21
AVERAGE: Final = "(average)"


def column_effects(
    model: BaseEstimator, means: ArrayLike, low: ArrayLike, high: ArrayLike, schema: Schema | None = None
) -> ColumnEffects:
    """Effects of each column on the log-odds of any model, all others at their averages.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    means : array-like of n_columns numbers
        Averages of the (coded) columns.
    low, high : array-like of n_columns numbers
        Range of each column.
    schema : Schema, optional
        Coding of raw columns, for effects of raw columns and levels. Default: that of the model's encoder.

    Returns
    -------
    ColumnEffects
        By column, the largest first.

    See Also
    --------
    contributions : The contributions to the score of one row.
    LogisticRegression.effect : With intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> found = column_effects(model, X.mean(axis=0), X.min(axis=0), X.max(axis=0))
    >>> list(found.effects)
    ['x2', 'x3', 'x1', 'x0']
    """
    check_is_fitted(model)
    if schema is None and hasattr(model, "encoder_"):
        schema = model.encoder_.schema_
    names = input_names(model) or column_names(model)
    typical, lowest, highest = (np.asarray(given, dtype=np.float64) for given in (means, low, high))
    if {typical.shape, lowest.shape, highest.shape} != {(len(names),)}:
        raise ParameterError(f"means, low and high must have one value for each of {len(names)} columns.")
    scans = list(_scans(names, typical, lowest, highest, schema))
    unit = "log-odds" if isinstance(model, PosteriorClassifier) else "score"
    if not scans:
        return ColumnEffects({}, unit)
    scores = class_scores(model, np.vstack([scan.rows for scan in scans]), names)
    first, *outcomes = (plain(label) for label in model.classes_)
    effects, widths, stop = {}, {}, 0
    for scan in scans:
        own, values, share = scores[stop : stop + len(scan.rows)], scan.values, scan.share
        stop += len(scan.rows)
        with np.errstate(invalid="ignore"):  # scores may be minus infinity
            changes = own[: len(values)] - share @ own[-len(share) :]
            changes = (changes - changes[:, :1])[:, 1:]
        widths[scan.name] = float(np.nanmax(np.abs(changes), initial=0.0))
        points = [
            EffectPoint(outcome, value, change, math.nan, math.nan)
            for outcome, own_changes in zip(outcomes, changes.T.tolist(), strict=True)
            for value, change in zip(values, own_changes, strict=True)
        ]
        effects[scan.name] = Effect(scan.name, scan.at, first, None, points)
    return ColumnEffects({name: effects[name] for name in sorted(effects, key=lambda name: -widths[name])}, unit)


@dataclass(frozen=True)
class InputColumn:
    """A raw column, its places among the coded columns, and its coding if it is known."""

    name: str
    places: range
    coding: Column | None = None

    @property
    def kind(self) -> str:
        return "number" if self.coding is None else self.coding.kind

    @property
    def levels(self) -> list[str]:
        """The levels of the coded columns of a category."""
        return [] if self.coding is None else [name.removeprefix(f"{self.name}=") for name in self.coding.outputs]

    @property
    def has_missing(self) -> bool:
        """Whether a missing-value indicator follows the values of a number."""
        return self.coding is not None and bool(self.coding.missing_column)


def input_columns(names: Sequence[str], schema: Schema | None) -> list[InputColumn]:
    """The raw columns of a model: those of its schema, else its columns."""
    if schema is None or schema.width is not None:
        return [InputColumn(name, range(j, j + 1)) for j, name in enumerate(names)]
    stops = accumulate(len(column.outputs) for column in schema.used)
    return [
        InputColumn(column.name, range(stop - len(column.outputs), stop), column)
        for column, stop in zip(schema.used, stops, strict=True)
    ]


@dataclass(frozen=True)
class _Scan:
    """Rows with some values of a column; effects are relative to the mean of the last rows, with these weights."""

    name: str
    at: float | str
    values: list[Any]
    rows: Array
    share: Array


def _scans(names: Sequence[str], typical: Array, low: Array, high: Array, schema: Schema | None) -> Iterator[_Scan]:
    """The rows that the effects of all columns need."""
    whole = np.ones(1)
    for column in input_columns(names, schema):
        own, first, held = list(column.places), column.places[0], typical.copy()
        if column.kind == "text":  # see `word_effects`
            continue
        held[own] = 0.0
        if column.coding is not None and column.kind == "category":
            rows = np.tile(held, (len(own), 1))
            rows[np.arange(len(own)), own] = 1.0
            reference = [] if column.coding.reference in column.coding.coded_levels else [str(column.coding.reference)]
            share = np.maximum(typical[own], 0.0)
            share = np.concatenate([np.full(len(reference), max(1.0 - share.sum(), 0.0)), share])
            share = share / share.sum() if share.any() else np.full(len(share), 1 / len(share))
            every = np.vstack((*[held] * len(reference), rows))
            yield _Scan(column.name, AVERAGE, [*reference, *column.levels], every, share)
            continue
        grid = np.linspace(low[first], high[first], {"boolean": 2, "date": 5}.get(column.kind, N_EFFECT_POINTS))
        points = np.append(np.unique(grid), typical[first])
        rows = np.tile(held, (len(points), 1))
        rows[:, first] = points
        shown = points.tolist()
        if column.coding is not None and column.kind == "date":
            shown = [column.coding.shown(point) for point in shown]
        yield _Scan(column.name, shown[-1], shown[:-1], rows, whole)
        if column.coding is not None and column.has_missing:
            present, missing = held.copy(), held.copy()
            present[first] = missing[first] = typical[first]
            missing[first + 1] = 1.0
            indicator = column.coding.outputs[-1]
            yield _Scan(indicator, "given", [column.levels[-1]], np.vstack((missing, present)), whole)


# Points of the widest column.
MAX_POINTS: Final = 100
# The probabilities whose total points are listed.
PROBABILITIES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True, eq=False, repr=False)
class Nomogram(Result):
    """Points for the values of each column, whose sum gives a row's score.

    Attributes
    ----------
    label : the class whose score is the sum of points
    rows : list of Points
        Of each level, or of the ends of a number's range, between which points are linear. The column with the widest
        range of scores comes first and has 100 points.
    probabilities : dict
        Total points of some probabilities; empty if scores are not log-odds.
    threshold : float
        Total points above which the class is predicted.
    """

    label: Any
    rows: list[Points]
    probabilities: dict[float, float]
    threshold: float

    def __str__(self) -> str:
        cells = [[row.column, row.value, f"{row.points:.1f}"] for row in self.rows]
        totals = [[number(p), f"{points:.1f}"] for p, points in self.probabilities.items()]
        below = aligned([["probability", "points"], *totals], left=0) if totals else []
        label = visible(self.label)
        lines = [f"Points for {label}", *aligned([["column", "value", "points"], *cells], left=2), *below]
        return "\n".join([*lines, f"threshold: {self.threshold:.1f} points, above: {label}"])


@dataclass(frozen=True)
class Points:
    """The points of a value of a column."""

    column: str
    value: str
    points: float


def nomogram(model: BaseEstimator, low: ArrayLike, high: ArrayLike, schema: Schema | None = None) -> Nomogram:
    """The nomogram of a linear model of two classes: points for the values of each column.

    Parameters
    ----------
    model : classifier
        Fitted, linear, of two classes.
    low, high : array-like of n_columns numbers
        Range of each column of the model.
    schema : Schema, optional
        Coding of raw columns, for points of raw values and levels.

    Returns
    -------
    Nomogram
        Points for the values of each column, and total points of probabilities.

    See Also
    --------
    coefficient_table : The coefficients of the model.
    contributions : Contributions to the score of one row.

    References
    ----------
    Lubsen, J., Pool, J. & van der Does, E. (1978). A practical device for the application of a diagnostic or prognostic
    function. Methods of Information in Medicine 17.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, :2]  # radius and texture
    >>> found = nomogram(LogisticRegression().fit(X, y), X.min(axis=0), X.max(axis=0))
    >>> [(row.column, row.value, round(row.points)) for row in found.rows]
    [('x0', '6.981', 100), ('x0', '28.11', 0), ('x1', '9.71', 29), ('x1', '39.28', 0)]
    """
    check_is_fitted(model)
    if len(model.classes_) != 2 or not hasattr(model, "coef_") or getattr(schema, "sparse", False):
        raise ParameterError("A nomogram needs a linear model of two classes with dense columns.")
    if hasattr(model, "formula_"):
        raise ParameterError("A nomogram needs a model of columns, not of a formula.")
    if getattr(model, "separation_", None) is not None:
        raise DegenerateDataError("Some coefficients are infinite. Use ", Setting("firth", True), ".")
    effects = _effects(model, np.asarray(low).tolist(), np.asarray(high).tolist(), schema)
    width = {name: max(own.values()) - min(own.values()) for name, own in effects.items()}
    widest = max(width.values())
    if not widest > 0:
        raise ParameterError("All coefficients are 0, so a nomogram cannot be drawn. Choose another model.")
    scale = MAX_POINTS / widest
    least = float(model.intercept_[0]) + sum(min(own.values()) for own in effects.values())
    totals = {}
    if isinstance(model, PosteriorClassifier):
        totals = {p: scale * (math.log(p / (1 - p)) - least) for p in PROBABILITIES}
    return Nomogram(
        plain(model.classes_[1]),
        [
            Points(name, value, scale * (effect - min(effects[name].values())))
            for name in sorted(effects, key=lambda name: -width[name])
            for value, effect in effects[name].items()
        ],
        {p: total for p, total in totals.items() if 0 <= total <= scale * sum(width.values())},
        -scale * least,
    )


def _effects(
    model: BaseEstimator, low: list[float], high: list[float], schema: Schema | None
) -> dict[str, dict[str, float]]:
    """The score of each level of a raw column, or of the ends of a number's range."""
    coef, effects = model.coef_[0], dict[str, dict[str, float]]()
    for column in input_columns(column_names(model), schema):
        own, first = coef[list(column.places)].tolist(), column.places[0]
        if column.coding is not None and column.kind == "category":
            levels = zip(column.levels, own, strict=True)
            effects[column.name] = {str(column.coding.reference): 0.0, **dict(levels)}
        else:
            effects[column.name] = _ends(own[0], low[first], high[first])
            if column.coding is not None and column.has_missing:
                effects[column.name]["(missing)"] = own[0] * (column.coding.mean or 0.0) + own[1]
    return effects


def _ends(coef: float, low: float, high: float) -> dict[str, float]:
    return {f"{low:g}": coef * low, f"{high:g}": coef * high}
