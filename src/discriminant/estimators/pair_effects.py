"""Interactions of pairs of columns in a pool: what two columns change together beyond what each changes alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..results import Result, aligned, number, plain, visible
from ..rules import EffectsRule, ExpandedRule
from ..tables.schema import Schema
from .coefficients import column_names
from .explanations import InputColumn, class_scores, input_columns
from .formula_fit import input_names

# Values of a number, and levels of a category, on each side of a heat map.
N_PAIR_VALUES: Final = 9
# Pairs whose interactions are computed: those with the largest coefficients.
MAX_CANDIDATES: Final = 30


@dataclass(frozen=True, eq=False)
class PairEffect:
    """The interaction of two columns, all others at their means.

    Attributes
    ----------
    columns : tuple of str
    label : a class
        Whose score, relative to the mean of the others, changes most.
    values : tuple of list
        Values of the first and of the second column.
    effects : array
        Change of the score for each pair of values, without the effect of each column alone: rows and columns have the
        mean 0.
    """

    columns: tuple[str, str]
    label: Any
    values: tuple[list[Any], list[Any]]
    effects: Array


@dataclass(frozen=True, eq=False, repr=False)
class PairEffects(Result):
    """The strongest interactions of pairs of columns in a pool.

    Attributes
    ----------
    rows : list of PairEffect
        The largest first.

    See Also
    --------
    figures.pair_effect : Heat map of one interaction.
    """

    rows: list[PairEffect]

    def __str__(self) -> str:
        cells = [["pair", "class", "log-odds", "largest at"]]
        for row in self.rows:
            place = np.unravel_index(np.argmax(np.abs(row.effects)), row.effects.shape)
            shown = [
                own[j] if isinstance(own[j], str) else number(own[j]) for own, j in zip(row.values, place, strict=True)
            ]
            pairs = zip(row.columns, shown, strict=True)
            where = ", ".join(f"{name} = {value}" for name, value in pairs)
            cells.append([" x ".join(row.columns), visible(row.label), f"{row.effects[place]:+.3g}", where])
        head = "Interactions of pairs of columns (change beyond the effects of each, all others at their means)"
        return "\n".join([head, *aligned(cells, left=2)])


def pair_effects(
    model: BaseEstimator, means: ArrayLike, low: ArrayLike, high: ArrayLike, schema: Schema | None = None, most: int = 6
) -> PairEffects:
    """The strongest interactions of the pairs of columns that the pairs family of a pool has.

    Parameters
    ----------
    model : AutoClassifier
        Fitted.
    means, low, high : array-like of n_columns numbers
        Averages and ranges of the (coded) columns.
    schema : Schema, optional
        Coding of raw columns. Default: that of the model's encoder.
    most : int, default=6
        Maximum number of pairs.

    Returns
    -------
    PairEffects
        Empty if the pool has no pairs.

    See Also
    --------
    column_effects : Effects of single columns.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import AutoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 3, (300, 4)).astype(float)
    >>> model = AutoClassifier(["ridge", "pairs"]).fit(X, X[:, 0] == X[:, 2])
    >>> found = pair_effects(model, X.mean(axis=0), X.min(axis=0), X.max(axis=0))
    >>> found.rows[0].columns
    ('x0', 'x2')
    """
    check_is_fitted(model)
    if schema is None and hasattr(model, "encoder_"):
        schema = model.encoder_.schema_
    names = input_names(model) or column_names(model)
    bounds = [np.asarray(given, dtype=np.float64) for given in (means, low, high)]
    columns = input_columns(names, schema)
    found = [_interaction(model, names, pair, bounds) for pair in _candidates(model, columns)]
    largest = sorted((one for one in found if one.effects.any()), key=lambda one: -float(np.abs(one.effects).max()))
    return PairEffects(largest[:most])


def _candidates(model: BaseEstimator, columns: list[InputColumn]) -> list[tuple[InputColumn, InputColumn]]:
    """The pairs of raw columns of the pairs family, those with the largest coefficients first."""
    sizes: dict[tuple[int, int], float] = {}
    raw = {place: k for k, column in enumerate(columns) for place in column.places}
    rules = model.rule_.rules if hasattr(model, "members_") else ()
    for member, rule in zip(getattr(model, "members_", ()), rules, strict=True):
        places = np.arange(len(raw))
        if isinstance(rule, EffectsRule):
            places, rule = rule.columns, rule.rule
        if member.name != "pairs" or not member.weight or not isinstance(rule, ExpandedRule):
            continue
        functions = rule.basis.functions
        of_factor = np.repeat([function.column for function in functions], [each.n_outputs for each in functions])
        for (one, other), coef in zip(rule.basis.outputs.tolist(), rule.rule.coef.T, strict=True):
            inside = other >= 0 and max(of_factor[[one, other]]) < len(places)  # not the effects of sparse columns
            if inside and raw[places[of_factor[one]]] != raw[places[of_factor[other]]]:
                pair = sorted(raw[places[of_factor[j]]] for j in (one, other))
                key = pair[0], pair[1]
                sizes[key] = sizes.get(key, 0.0) + float(np.sum((coef - coef.mean()) ** 2))
    chosen = sorted(sizes, key=lambda key: -sizes[key])[:MAX_CANDIDATES]
    return [(columns[one], columns[other]) for one, other in chosen]


def _interaction(
    model: BaseEstimator, names: Any, pair: tuple[InputColumn, InputColumn], bounds: list[Array]
) -> PairEffect:
    """The doubly centred score over a grid of the values of two columns."""
    (first, own), (second, other) = (_values(column, *bounds) for column in pair)
    rows = np.tile(bounds[0], (len(first), len(second), 1))
    rows[:, :, list(pair[0].places)] = own[:, None]
    rows[:, :, list(pair[1].places)] = other[None]
    scores = class_scores(model, rows.reshape(-1, len(names)), names).reshape(len(first), len(second), -1)
    leads = scores - (scores.sum(axis=2, keepdims=True) - scores) / (scores.shape[2] - 1)
    leads = leads - leads.mean(axis=0) - leads.mean(axis=1)[:, None] + leads.mean(axis=(0, 1))
    k = leads.shape[2] - 1 - int(np.argmax(np.abs(leads).max(axis=(0, 1))[::-1]))  # of two classes the second
    return PairEffect((pair[0].name, pair[1].name), plain(model.classes_[k]), (first, second), leads[:, :, k])


def _values(column: InputColumn, means: Array, low: Array, high: Array) -> tuple[list[Any], Array]:
    """Values of a column, and its coded columns for each."""
    coding, first = column.coding, column.places[0]
    if coding is not None and column.kind == "category":
        order = np.argsort(-means[list(column.places)][: len(coding.coded_levels)], kind="stable")
        levels = list(
            dict.fromkeys([*([coding.reference] if coding.reference else []), *(coding.coded_levels[j] for j in order)])
        )
        levels = levels[:N_PAIR_VALUES]
        return levels, np.array([coding.code(level) for level in levels])
    ends = np.linspace(low[first], high[first], N_PAIR_VALUES + 1)
    points = np.unique([(one + other) / 2 for one, other in pairwise(ends)])
    if float(low[first]).is_integer() and float(high[first]).is_integer() and high[first] - low[first] < N_PAIR_VALUES:
        points = np.arange(low[first], high[first] + 1)
    coded = np.zeros((len(points), len(column.places)))
    coded[:, 0] = points
    shown = points.tolist()
    return [coding.shown(point) for point in shown] if coding is not None and column.kind == "date" else shown, coded
