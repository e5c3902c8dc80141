"""Why a model answers as it does: what a row's columns add to its score, what columns do over their range, a nomogram.

Contributions compare a row with an average row, one column at a time. A nomogram (d'Ocagne 1899; for regression models
Lubsen, Pool and van der Does 1978) gives points to the values of each column, so that a score can be added up by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import MixedBlock
from ..errors import DegenerateDataError, ParameterError, Setting
from ..inference.likelihood import Effect, EffectPoint
from ..results import Result, aligned, number, plain
from ..rules import MixedRule
from ..tables.schema import Schema
from .base import PosteriorClassifier, input_names, with_names
from .coefficients import column_names


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    """Why a row gets its class: what each column adds to the lead of that class over the next.

    Attributes
    ----------
    label, against : the class of the row, and the one that comes next
    unit : str
        "log-odds", or "score".
    lead, lead_at_means : float
        Of this row, and of a row of means. Contributions to a linear or naive Bayes model add up to the difference.
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
        head = f"What speaks for {self.label} against {self.against}, compared with an average row"
        cells = [
            [row.column, "" if row.value is None else str(row.value), f"{row.contribution:+.4g}"] for row in self.rows
        ]
        ends = f"{self.unit} of this row {number(self.lead)}, of an average row {number(self.lead_at_means)}"
        return "\n".join([head, *aligned([["column", "value", self.unit], *cells], left=2), ends])


@dataclass(frozen=True)
class Contribution:
    """What a column adds to the lead of a class, compared with its mean."""

    column: str
    value: Any
    contribution: float


def contributions(
    model: Any, row: Any, means: Any, columns: Any = None, values: Mapping[str, Any] | None = None
) -> Contributions:
    """How much the lead of the best class over the next would change if a column had its mean instead.

    Of a category it is the mean of the leads with each of its levels, by their shares: some levels lie above it, others
    below.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    row : array-like or sparse row of n_columns numbers
        The row to explain.
    means : array-like of n_columns numbers
        The row to compare with.
    columns : Schema, or sequence of str, optional
        The raw column that each column of the model comes from: those of one raw column change together, and a schema
        knows categories. By default every column stands for itself.
    values : dict, optional
        Raw values by column, to show with the contributions; by default those of the row.

    Returns
    -------
    Contributions
        Of every column to the lead of the class of the row, the largest first.

    See Also
    --------
    coefficient_table : The same model as a table.
    column_effects : What each column does, over its whole range.

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
    x, at_means = np.ravel(row.toarray() if sp.issparse(row) else row).astype(np.float64), np.asarray(means, np.float64)
    if not len(x) == len(at_means) == len(own) == len(names):
        raise ParameterError(
            f"The model has {len(names)} columns; got a row of {len(x)}, {len(at_means)} means and {len(own)} names."
        )
    sources = list(dict.fromkeys(own.tolist()))
    kinds = {} if schema is None or schema.width is not None else {each.name: each.kind for each in schema.used}
    changed = [_averaged(x, at_means, own == name, kinds.get(name) == "category") for name in sources]
    scores = _class_scores(model, np.vstack((x, at_means, *(rows for rows, _ in changed))), names)
    labels = [plain(label) for label in model.classes_]
    best = labels.index(plain(model.predict(with_names(model, row if sp.issparse(row) else x[None], names))[0]))
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


def _averaged(x: Array, means: Array, chosen: Array, is_category: bool) -> tuple[Array, Array]:
    """Rows whose scores are averaged for the chosen columns at their means, and the share of each row."""
    if not is_category:
        return np.where(chosen, means, x)[None], np.ones(1)
    held, places = np.where(chosen, 0.0, x), np.flatnonzero(chosen)
    rows, share = np.tile(held, (len(places) + 1, 1)), np.append(means[places], max(1.0 - means[places].sum(), 0.0))
    rows[np.arange(len(places)), places] = 1.0  # the last row has the level without a column
    there = share > 0
    return rows[there], share[there] / share.sum()


def _class_scores(model: Any, X: Array, names: Sequence[str]) -> Array:
    """The score of every class."""
    if isinstance(getattr(model, "rule_", None), MixedRule):  # predicting would refuse shares for what is 0 or 1
        return np.asarray(model.rule_.scores(MixedBlock(X, [])))
    found = np.asarray(model.decision_function(with_names(model, X, names)))
    return np.column_stack((np.zeros(len(found)), found)) if found.ndim == 1 else found


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffects(Result):
    """What a model makes of each column, all others at their averages.

    Attributes
    ----------
    effects : dict
        An `Effect` by the name of each column, without intervals; what moves the log-odds most comes first.
    unit : str
        "log-odds", or "score".

    See Also
    --------
    figures.effect : Draws one of them.
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
            for p in (effect.points if isinstance(effect.at, str) else effect.points[:: _EFFECT_GRID // 4])
        ]
        head = f"Change of the {self.unit} with each column, all others at their averages"
        return "\n".join([head, *aligned([["column", "value", "change", "outcome"], *rows], left=1)])


#: Values of a number that its effect is looked at.
_EFFECT_GRID = 21
_AVERAGE = "(average)"


def column_effects(model: Any, means: Any, low: Any, high: Any, schema: Any = None) -> ColumnEffects:
    """How the log-odds go with each column of any model while all other columns are at their averages.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    means : array-like of n_columns numbers
        The averages of the (coded) columns, with which effects are compared.
    low, high : array-like of n_columns numbers
        The range of each column.
    schema : Schema, optional
        How raw columns became columns of the model: effects are then those of raw columns and their levels. By default
        what the model learned itself, where it takes raw columns.

    Returns
    -------
    ColumnEffects
        By column, what moves the log-odds most first.

    See Also
    --------
    contributions : The same question of one row.
    LogisticRegression : Its `effect` has intervals.

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
        raise ParameterError(f"The model has {len(names)} columns: give a mean, a low and a high value of each.")
    raw = None if schema is None or schema.width is not None else schema
    looked = list(_looked_at(names, typical, lowest, highest, raw))
    scores = _class_scores(model, np.vstack([rows for *_, rows, _ in looked]), names)
    first, *outcomes = (plain(label) for label in model.classes_)
    effects, widths, stop = {}, {}, 0
    for name, at, values, rows, share in looked:
        own = scores[stop : stop + len(rows)]
        stop += len(rows)
        with np.errstate(invalid="ignore"):  # scores of classes that cannot win are minus infinity
            changes = own[: len(values)] - share @ own[-len(share) :]
            changes = (changes - changes[:, :1])[:, 1:]
        widths[name] = float(np.nanmax(np.abs(changes), initial=0.0))
        points = [
            EffectPoint(outcome, value, change, math.nan, math.nan)
            for outcome, own_changes in zip(outcomes, changes.T.tolist(), strict=True)
            for value, change in zip(values, own_changes, strict=True)
        ]
        effects[name] = Effect(name, at, first, None, points)
    unit = "log-odds" if isinstance(model, PosteriorClassifier) else "score"
    return ColumnEffects({name: effects[name] for name in sorted(effects, key=lambda name: -widths[name])}, unit)


def _looked_at(
    names: Sequence[str], typical: Array, low: Array, high: Array, schema: Any
) -> Iterator[tuple[str, Any, list[Any], Array, Array]]:
    """Columns, what their effects are compared with, values, and rows that have these.

    Effects are compared with the average of the last rows, of which each has a share.
    """
    whole = np.ones(1)

    def numbers(j: int, n_points: int, held: Array) -> tuple[Any, list[Any], Array]:
        grid = np.unique(np.linspace(low[j], high[j], n_points))
        rows = np.tile(held, (len(grid) + 1, 1))
        rows[:, j] = np.append(grid, typical[j])
        return float(typical[j]), grid.tolist(), rows

    if schema is None:
        for j, name in enumerate(names):
            yield name, *numbers(j, _EFFECT_GRID, typical), whole
        return
    stop = 0
    for column in schema.used:
        first, stop = stop, stop + len(column.outputs)
        held = typical.copy()
        held[first:stop] = 0.0
        if column.kind == "category":
            levels = [name.removeprefix(f"{column.name}=") for name in column.outputs]
            rows = np.tile(held, (len(levels), 1))
            rows[np.arange(len(levels)), np.arange(first, stop)] = 1.0
            others = [] if column.reference in column.coded_levels else [str(column.reference)]
            share = np.maximum(typical[first:stop], 0.0)
            share = np.concatenate([np.full(len(others), max(1.0 - share.sum(), 0.0)), share])
            share = share / share.sum() if share.any() else np.full(len(share), 1 / len(share))
            yield column.name, _AVERAGE, [*others, *levels], np.vstack((*[held] * len(others), rows)), share
            continue
        at, values, rows = numbers(first, {"boolean": 2, "date": 5}.get(column.kind, _EFFECT_GRID), held)
        if column.kind == "date":
            at, *values = map(column.shown, (at, *values))
        yield column.name, at, values, rows, whole
        if column.missing_column:
            held[first] = typical[first]
            gap = held.copy()
            gap[first + 1] = 1.0
            marked = column.outputs[-1]
            yield marked, "given", [marked.removeprefix(f"{column.name}=")], np.vstack((gap, held)), whole


#: Points of the column that matters most, and the probabilities that totals are given for.
_FULL = 100
_PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True, eq=False, repr=False)
class Nomogram(Result):
    """Points for the values of each column, whose sum gives a row's score.

    Attributes
    ----------
    label : the class that points speak for
    rows : list of Points
        Of each level, or of the ends of a number's range (values between them get points in proportion); the column
        that can move the score most comes first and has 100 points from one end to the other.
    probabilities : dict
        The total points that stand for some probabilities; empty where scores are not log-odds.
    threshold : float
        The total points above which the class is predicted.
    """

    label: Any
    rows: list[Points]
    probabilities: dict[float, float]
    threshold: float

    def __str__(self) -> str:
        cells = [[row.column, row.value, f"{row.points:.1f}"] for row in self.rows]
        totals = [[number(p), f"{points:.1f}"] for p, points in self.probabilities.items()]
        below = aligned([["probability", "points"], *totals], left=0) if totals else []
        lines = [f"Points for {self.label}", *aligned([["column", "value", "points"], *cells], left=2), *below]
        return "\n".join([*lines, f"above {self.threshold:.1f} points in total: {self.label}"])


@dataclass(frozen=True)
class Points:
    """The points of a value of a column."""

    column: str
    value: str
    points: float


def nomogram(model: Any, low: Any, high: Any, schema: Any = None) -> Nomogram:
    """Points to score a row by hand, for a linear model of two classes.

    Parameters
    ----------
    model : classifier
        Fitted, linear, of two classes.
    low, high : array-like of n_columns numbers
        The range of each column of the model.
    schema : Schema, optional
        How raw columns became columns of the model: points are then given to raw values and levels.

    Returns
    -------
    Nomogram
        Points for the values of each column, and the probability at each sum.

    See Also
    --------
    coefficient_table : The coefficients of the model.
    contributions : The same for one row, in log-odds.

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
        raise ParameterError("Points are for a linear model of two classes, of columns that are not sparse.")
    if hasattr(model, "formula_"):
        raise ParameterError("Points are for columns as they are, not for the terms of a formula.")
    if getattr(model, "separation_", None) is not None:
        raise DegenerateDataError(
            "There are no points to add up: some coefficients are infinite. A fit with ",
            Setting("firth", True),
            " has them.",
        )
    effects = _effects(model, np.asarray(low).tolist(), np.asarray(high).tolist(), schema)
    width = {name: max(own.values()) - min(own.values()) for name, own in effects.items()}
    widest = max(width.values())
    if not widest > 0:
        raise ParameterError("There are no points to add up: no column changes the score.")
    scale = _FULL / widest
    least = float(model.intercept_[0]) + sum(min(own.values()) for own in effects.values())
    totals = {}
    if isinstance(model, PosteriorClassifier):
        totals = {p: scale * (math.log(p / (1 - p)) - least) for p in _PROBABILITIES}
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


def _effects(model: Any, low: list[float], high: list[float], schema: Any) -> dict[str, dict[str, float]]:
    """What each value of a raw column adds to the score: each level, or the ends of a number's range."""
    coef = model.coef_[0].tolist()
    if schema is None:
        return {name: _ends(*ends) for name, *ends in zip(column_names(model), coef, low, high, strict=True)}
    effects, first = {}, 0
    for column in schema.used:
        own = coef[first : first + len(column.outputs)]
        if column.kind == "category":
            levels = [name.removeprefix(f"{column.name}=") for name in column.outputs]
            effects[column.name] = {str(column.reference): 0.0, **dict(zip(levels, own, strict=True))}
        else:
            effects[column.name] = _ends(own[0], low[first], high[first])
            if column.missing_column:
                effects[column.name]["(missing)"] = own[0] * (column.mean or 0.0) + own[1]
        first += len(column.outputs)
    return effects


def _ends(coef: float, low: float, high: float) -> dict[str, float]:
    return {f"{low:g}": coef * low, f"{high:g}": coef * high}
