"""The columns of a model from the terms of a formula and training rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np

from ..arrays import Array
from ..basis import Basis, Piecewise
from ..data import as_frame
from ..errors import ColumnError, DiscriminantError
from ..results import quoted
from ..tables.column import OTHER, Column
from ..tables.levels import number_meant
from ..tables.schema import Schema
from .terms import Contrast, Factor, FormulaTerms, quantiles, refuse, refuse_undefined, term_name

if TYPE_CHECKING:
    from .reading import Formula

# Maximum number of categories in one term, and of columns of all terms.
MAX_CROSSED_CATEGORIES: Final = 6
MAX_COLUMNS: Final = 10_000
# Maximum number of columns with contrasts other than treatment: their weights are a matrix.
MAX_CONTRAST_COLUMNS: Final = 2000
#: A column before contrasts: weights by products of factors.
_Products = dict[tuple[int, ...], float]


@dataclass
class Designer:
    """The basis of a formula; its factors are all coded columns, then the functions."""

    formula: Formula
    schema: Schema
    X: Array
    weight: Array | None
    orders: Mapping[str, Sequence[str]]
    contrast: Contrast | None = None  #: replaces the contrasts of the formula
    functions: list[Piecewise] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = {column.name: column for column in self.schema.used}
        self.places = {name: j for j, name in enumerate(self.schema.names)}
        self.made: dict[str, list[tuple[int, str]]] = {}  #: places and names of the functions of a factor
        self.references: dict[str, str] = {}  #: reference levels
        #: By numbers: products of categories, each without one level, that earlier terms span.
        self.spanned: dict[frozenset[Factor], set[frozenset[str]]] = {}
        if self.formula.intercept:
            self.spanned[frozenset()] = {frozenset()}

    def design(self) -> tuple[Basis, list[str], FormulaTerms]:
        made: list[tuple[str, _Products, str]] = []
        factors: dict[str, list[str]] = {}
        for term in self.formula.terms:
            own = [f.column if self._is_category(f) else f.text for f in term]
            factors[term_name(term)] = list(dict.fromkeys(own))
            made += [(term_name(term), *column) for column in self._term(term)]
            if len(made) > MAX_COLUMNS:
                refuse(f"more than {MAX_COLUMNS:,} columns.")
        for column in self.schema.used:
            if column.kind != "category" and column.missing_column:  # indicators of imputed means
                name = column.outputs[-1]
                factors[name] = [name]
                made.append((name, {(self.places[name],): 1.0}, name))
        for factor in self.formula.offsets:
            if self._is_category(factor):
                refuse(f"{factor.text} needs numbers, but {factor.column!r} is a category.")
            made.append((factor.text, {(self._functions(factor)[0][0],): 1.0}, factor.text))
        terms, products, names = map(list, zip(*made, strict=True))
        twice, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise ColumnError(f"Two columns of the formula have the name {twice!r}. Rename a column of the table.")
        basis = self._basis(products)
        low, middle, high = np.array([quantiles(x, np.array([0.0, 0.5, 1.0]), self.weight) for x in self.X.T]).T
        marks = np.array([mark for column in self.schema.used for mark in column.is_indicator])
        middle = np.where(marks, np.average(self.X, axis=0, weights=self.weight), middle)
        offsets = [factor.text for factor in self.formula.offsets]
        known = (list(self.places), terms, low, middle, high, offsets, factors, self.references)
        kept = FormulaTerms(self.formula.text, *known)
        return basis, names, kept

    def _basis(self, columns: Sequence[_Products]) -> Basis:
        """The basis of columns that are weighted sums of products of factors."""
        places: dict[tuple[int, ...], int] = {}
        for column in columns:
            for product_ in column:
                places.setdefault(product_, len(places))
        outputs = np.full((len(places), max(map(len, places))), -1)
        for row, own in zip(outputs, places, strict=True):
            row[: len(own)] = own
        contrasts = None
        if any(list(column.values()) != [1.0] for column in columns):
            if len(places) > MAX_CONTRAST_COLUMNS:
                refuse(f"with contrasts at most {MAX_CONTRAST_COLUMNS:,} columns are supported.")
            contrasts = np.zeros((len(places), len(columns)))
            for j, column in enumerate(columns):
                for product_, weight in column.items():
                    contrasts[places[product_], j] = weight
        return Basis(len(self.places), np.arange(len(self.places)), self.functions, outputs, contrasts)

    def _term(self, term: tuple[Factor, ...]) -> Iterator[tuple[_Products, str]]:
        """The products and names of the columns of a term, the first factor varying fastest.

        A category has all its levels if earlier terms do not span the term without it, else one column fewer.
        """
        crossed = dict.fromkeys(factor.column for factor in term if self._is_category(factor))
        if len(crossed) > MAX_CROSSED_CATEGORIES:
            refuse(f"{term_name(term)} has {len(crossed)} categories; at most {MAX_CROSSED_CATEGORIES} are supported.")
        spanned = self.spanned.setdefault(frozenset(f for f in term if f.column not in crossed), set())
        every = chain.from_iterable(combinations(crossed, size) for size in range(len(crossed) + 1))
        new = [part for part in map(frozenset, every) if part not in spanned]
        spanned.update(new)
        for full in _codings(new):
            used = [factor for factor in term if factor.column not in crossed or factor.column in full]
            used = list({f.column if f.column in full else f.text: f for f in used}.values())
            parts = [
                self._levels(f.column, full[f.column])
                if f.column in full
                else [({j: 1.0}, name) for j, name in self._functions(f)]
                for f in used
            ]
            if np.prod([float(len(part)) for part in parts]) > MAX_COLUMNS:
                refuse(f"{term_name(term)} has more than {MAX_COLUMNS:,} columns.")
            for chosen in product(*reversed(parts)):
                weights, names = zip(*reversed(chosen), strict=True) if chosen else ((), ())
                yield _multiplied(weights), ":".join(names)

    def _is_category(self, factor: Factor) -> bool:
        if self.columns[factor.column].kind != "category":
            return False
        if factor.make is not None:
            refuse(f"{factor.text} needs numbers, but {factor.column!r} is a category.")
        return True

    def _levels(self, name: str, full: bool) -> list[tuple[dict[int, float], str]]:
        """The columns of a category: all its levels, or contrasts of these."""
        column = self.columns[name]
        contrast, levels = self._contrast(column)
        special = len(levels) - 1 if contrast.kind == "sum" else 0
        if contrast.level is not None:
            special = levels.index(_level_of(column, contrast.level, levels))
        if full:
            weights, named = np.eye(len(levels)), [f"={level}" for level in levels]
        else:
            weights, named = contrast.columns(levels, special)
            compared = {"treatment": levels[special], "sum": "mean of all levels", "helmert": "mean of earlier levels"}
            if contrast.kind in compared:
                self.references[name] = compared[contrast.kind]
        own = [self.places[f"{name}={level}"] for level in levels]
        found = [
            ({place: w for place, w in zip(own, column_weights, strict=True) if w}, f"{name}{suffix}")
            for column_weights, suffix in zip(weights.T.tolist(), named, strict=True)
        ]
        marks = column.outputs[len(column.coded_levels) :]  # of missing values
        return [*found, *(({self.places[mark]: 1.0}, mark) for mark in marks)]

    def _contrast(self, column: Column) -> tuple[Contrast, list[str]]:
        """The contrast and the ordered levels of a category: those of the formula, of the frame, or sorted."""
        factors = [f for f in self.formula.factors if f.column == column.name and f.category]
        stated = list(dict.fromkeys(f.contrast for f in factors if f.contrast is not None))
        given = list(dict.fromkeys(f.levels for f in factors if f.levels is not None))
        if len(stated) > 1 or len(given) > 1:
            texts = list(dict.fromkeys(f.text for f in factors))
            refuse(f"{column.name!r} has several codings: {', '.join(texts)}. Use one.")
        contrast = self.contrast or (stated[0] if stated else Contrast("treatment"))
        levels = _in_order(column)
        if given:
            named = [_level_of(column, level, levels) for level in given[0]]
            if sorted(named) != sorted(levels):
                refuse(f"levels of {column.name!r} must be a permutation of {quoted(levels, 20)}.")
            return contrast, named
        known = [column.places.place(level, "text") for level in self.orders.get(column.name, ())]
        first = [column.coded_levels[place] for place in known if place is not None and place >= 0]
        if contrast.kind == "treatment" and first:  # columns are in sorted order
            return (contrast if contrast.level is not None else replace(contrast, level=first[0])), levels
        return contrast, [*first, *(level for level in levels if level not in first)]

    def _functions(self, factor: Factor) -> list[tuple[int, str]]:
        """The places and names of a number, or of its functions."""
        place, name = self.places[factor.column], factor.text
        if factor.make is None:
            return [(place, factor.column)]
        if factor.text not in self.made:
            n_before = len(self.places) + sum(function.n_outputs for function in self.functions)
            function = self._function(factor, place)
            self.functions.append(function)
            names = [f"{name}[{i + 1}]" for i in range(function.n_outputs)] if factor.numbered else [name]
            self.made[factor.text] = list(enumerate(names, n_before))
        return self.made[factor.text]

    def _function(self, factor: Factor, place: int) -> Piecewise:
        """The function of a factor, estimated from present values with weight."""
        column, weight = self.columns[factor.column], self.weight
        there = np.ones(len(self.X), dtype=bool) if weight is None else weight > 0
        if column.missing_column:
            there &= self.X[:, self.places[column.outputs[-1]]] == 0
        assert factor.make is not None
        try:
            made = factor.make(place, self.X[there, place], None if weight is None else weight[there])
        except DiscriminantError:
            raise
        except ValueError as error:
            refuse(f"{factor.text} cannot be computed from {factor.column!r}: {error}.")
        refuse_undefined(factor.text, factor.column, made.argument(self.X[:, place]), self.X[:, place])
        return made


def _multiplied(parts: Iterable[Mapping[int, float]]) -> _Products:
    """The product of weighted sums of factors, as a weighted sum of products."""
    found: _Products = {(): 1.0}
    for part in parts:
        found = {(*own, place): w * weight for own, w in found.items() for place, weight in part.items()}
    return found


def _level_of(column: Column, wanted: str, levels: Sequence[str]) -> str:
    """The level with this text."""
    found = column.places.place(wanted, "text")
    if found is None or found < 0:
        raise ColumnError(f"Unknown level {wanted!r} of {column.name!r}. Levels: {quoted(levels, 20)}.")
    return column.coded_levels[found]


def level_orders(frame: Any) -> dict[str, list[str]]:
    """The levels of ordered categorical columns of a frame, in their order."""
    table, found = as_frame(frame), dict[str, list[str]]()
    for name, kind in {} if table is None else table.schema.items():
        if kind == nw.Enum or (kind == nw.Categorical and table.implementation.is_pandas()):
            there = set(table[name].drop_nulls().cast(nw.String).unique().to_list())
            levels = [level for level in table[name].cat.get_categories().cast(nw.String).to_list() if level in there]
            found |= {name: levels} if levels else {}
    return found


def _in_order(column: Column) -> list[str]:
    """The levels: sorted numbers, then texts; combined levels come last."""

    def order(level: str) -> tuple[bool, bool, Any, str]:
        number = number_meant(level)
        return level == OTHER, number is None, number or 0, level

    return sorted(column.coded_levels, key=order)


def _codings(new: list[frozenset[str]]) -> list[dict[str, bool]]:
    """Products of categories, with or without all levels, that span the same as these without one level each.

    ``a`` with all levels of ``b`` spans ``a`` and ``a b`` (Nathaniel Smith's algorithm, as in patsy).

    >>> _codings([frozenset("a"), frozenset("b"), frozenset("ab")])
    [{'b': False}, {'a': False, 'b': True}]
    """
    found = [dict.fromkeys(sorted(part), False) for part in new]
    while True:
        pairs = ((short, long) for i, short in enumerate(found) for long in found[i + 1 :])
        absorbed = next(((s, g) for s, g in pairs if len(g) == len(s) + 1 and s.items() <= g.items()), None)
        if absorbed is None:
            return found
        short, long = absorbed
        long.update(dict.fromkeys(long.keys() - short.keys(), True))
        found.remove(short)
