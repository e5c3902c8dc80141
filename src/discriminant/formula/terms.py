"""Terms of formulas: contrasts, factors, and the terms that a fitted model keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn

import numpy as np

from ..arrays import Array
from ..basis import Basis, Piecewise
from ..data import Rows, as_rows, check_shapes, dense_rows, require
from ..errors import ColumnError, InputError, ParameterError, Setting
from ..results import quoted

ContrastKind = Literal["treatment", "sum", "helmert", "poly"]
#: Functions of a column from its place, its values and their weights.
Making = Callable[[int, Array, Array | None], Piecewise]
# Maximum number of levels of polynomial contrasts (as R): more are not orthogonal up to rounding.
MAX_POLY_LEVELS: Final = 95


@dataclass(frozen=True)
class Contrast:
    """The contrasts of a factor, which replace its indicator columns if one of them is redundant.

    References
    ----------
    Chambers, J. M. & Hastie, T. J., eds. (1992). Statistical Models in S, section 2.3.2.
    """

    kind: ContrastKind
    level: str | None = None  #: the reference ("treatment", default: first) or omitted level ("sum", default: last)
    scores: tuple[float, ...] | None = None  #: scores of the levels for "poly"; default: 1, 2, 3, ...

    def columns(self, levels: Sequence[str], special: int) -> tuple[Array, list[str]]:
        """The weights of levels (n_levels, n_levels - 1), and the suffixes of the column names.

        ``special`` is the place of the reference or omitted level.
        """
        n = len(levels)
        others = [level for j, level in enumerate(levels) if j != special]
        if self.kind == "treatment":
            return np.delete(np.eye(n), special, axis=1), [f"={level}" for level in others]
        if self.kind == "sum":
            weights = np.delete(np.eye(n), special, axis=1)
            weights[special] = -1.0
            return weights, [f"[S.{level}]" for level in others]
        if self.kind == "helmert":
            weights = np.diag(np.arange(n, dtype=np.float64))[:, 1:] - np.triu(np.ones((n, n)), 1)[:, 1:]
            return weights, [f"[H.{level}]" for level in levels[1:]]
        scores = np.arange(1.0, n + 1) if self.scores is None else np.array(self.scores)
        if len(scores) != n or len(np.unique(scores)) < n:
            refuse(f"Poly needs {n} distinct scores for the levels {quoted(levels, 20)}, got {scores.tolist()}.")
        if n > MAX_POLY_LEVELS:
            refuse(f"Poly supports up to {MAX_POLY_LEVELS} levels, got {n}. Use poly() of numbers.")
        q, r = np.linalg.qr((scores - scores.mean())[:, None] ** np.arange(n))
        names = [".Linear", ".Quadratic", ".Cubic", *(f"^{degree}" for degree in range(4, n))]
        return (q * np.sign(np.diagonal(r)))[:, 1:], names[: n - 1]


@dataclass(frozen=True)
class Factor:
    """A factor of terms: a column, the levels of a category, or functions of a column."""

    text: str
    column: str
    category: bool = False
    contrast: Contrast | None = None
    levels: tuple[str, ...] | None = None  #: the order of levels in the formula
    make: Making | None = None
    numbered: bool = False  #: whether the names of its functions are numbered
    offset: bool = False  #: whether it has coefficient 1


@dataclass(frozen=True)
class FormulaTerms:
    """The terms of the formula of a fitted model.

    Parameters
    ----------
    formula : str
        Text of the formula.
    inputs : list of str
        The coded columns that the basis needs.
    terms : list of str
        The term of each column of the model.
    lowest, middle, highest : arrays of shape (n_inputs,)
        Range and median of each input in the training data; for indicators the share.
    offsets : list of str
        The terms of the last columns, with coefficient 1.
    factors : dict
        The factors of each term, for marginality.
    references : dict
        The reference level of each categorical column.
    """

    formula: str
    inputs: list[str]
    terms: list[str]
    lowest: Array
    middle: Array
    highest: Array
    offsets: list[str] = field(default_factory=list)
    factors: dict[str, list[str]] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)

    @property
    def of_levels(self) -> list[bool]:
        """Which columns of the model are products of categories only."""
        own = set(self.inputs)

        def is_category(factor: str) -> bool:
            return factor not in own and any(name.startswith(f"{factor}=") for name in own)

        found = {term: all(map(is_category, factors)) for term, factors in self.factors.items()}
        return [found.get(term, False) for term in self.terms]

    def _check_parts(self) -> None:
        own = (self.inputs, self.terms, self.offsets)
        require(isinstance(self.formula, str) and all(map(_is_texts, own)), self, "formula")
        require(self.offsets == self.terms[len(self.terms) - len(self.offsets) :], self, "offsets")
        named = isinstance(self.factors, dict) and all(map(_is_texts, self.factors.values()))
        require(named and _is_texts(list(self.factors)), self, "factors")
        known = isinstance(self.references, dict) and _is_texts([*self.references, *self.references.values()])
        require(known, self, "references")
        sizes = check_shapes(self, lowest="p", middle="p", highest="p")
        require(sizes["p"] == len(self.inputs), self, "ranges")

    def expanded(self, basis: Basis, rows: Rows, names: Sequence[str]) -> Rows:
        """Rows of the model's columns, with these names, from coded rows."""
        if rows.n_columns != basis.n_columns or (rows.names is not None and list(rows.names) != self.inputs):
            raise ColumnError(
                f"Wrong columns for the formula {self.formula!r}. Use a data frame like the training table, or the "
                f"coded columns {quoted(self.inputs, 20)}."
            )
        block = np.asarray(dense_rows(rows.block(0, rows.n_rows)), dtype=np.float64)
        for function in basis.functions:
            if function.inner != "identity":
                own = block[:, function.column]
                refuse_undefined(function.inner, self.inputs[function.column], function.argument(own), own)
        return as_rows(basis.expand(block), names)


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def term_name(term: Sequence[Factor]) -> str:
    """The name of a term."""
    return ":".join(factor.text for factor in term)


def refuse(reason: str) -> NoReturn:
    raise ParameterError(Setting("formula"), f": {reason}")


def quantiles(values: Array, at: Array, weight: Array | None = None) -> Array:
    """Quantiles of values with frequencies ``weight``, interpolated (R's type 7)."""
    order = np.argsort(values, kind="stable")
    counts = np.cumsum(np.ones(len(values)) if weight is None else weight[order])
    place = np.maximum(at * (counts[-1] - 1), 0.0)
    low, high = (
        values[order][np.minimum(np.searchsorted(counts, rank, side="right"), len(values) - 1)]
        for rank in (np.floor(place), np.ceil(place))
    )
    return np.asarray(low + (high - low) * (place - np.floor(place)))


def refuse_undefined(name: str, column: str, made: Array, values: Array) -> None:
    """Raise an error for the first row in which a function of a column is undefined."""
    wrong = np.flatnonzero(~np.isfinite(made))
    if wrong.size:
        raise InputError(
            f"{name} is undefined in row {wrong[0]}, where {column!r} is {values[wrong[0]]:g}. Correct or drop the row."
        )
