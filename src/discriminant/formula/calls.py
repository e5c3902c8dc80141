"""Calls in formulas: columns, constants, lists, arithmetic of one column, and a list of functions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.polynomial import polynomial

from ..arrays import Array
from ..basis import Piecewise, b_splines, cubic_regression_splines, natural_splines, orthogonal_polynomials, powers
from ..results import shortened
from .terms import Contrast, Factor, Making, quantiles, refuse_undefined

# Powers of columns and degrees of polynomials: higher ones lose precision.
MAX_DEGREE: Final = 10


@dataclass(frozen=True)
class Expression:
    """A polynomial, by rising powers, of u = inner(slope x + offset); without a column it is a number."""

    powers: Array
    column: str | None = None
    inner: str = "identity"
    slope: float = 1.0
    offset: float = 0.0

    @property
    def of(self) -> dict[str, Any]:
        """The parameters of u."""
        return {"inner": self.inner, "slope": self.slope, "offset": self.offset}

    @property
    def is_argument(self) -> bool:
        """Whether the polynomial is u itself."""
        return self.column is not None and self.powers.tolist() == [0.0, 1.0]

    @property
    def functions(self) -> Making | None:
        """The polynomial as a function of the column; None if it is the column itself."""
        if self.is_argument and self.inner == "identity":
            return None
        return lambda j, *_: Piecewise(j, np.zeros(0), np.zeros(1), self.powers[None, None], **self.of)


#: A value of a formula.
Value: TypeAlias = "Expression | Factor | Contrast | float | str | bool | list[float | str] | None"


def meaning(node: ast.expr, names: Mapping[str, str]) -> Value:
    """The value of a syntax tree, with ``names`` of columns; a ValueError for unsupported syntax."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bool)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return Expression(np.array([0.0, 1.0]), names[node.id])
    if isinstance(node, ast.Name) and node.id in WORDS:
        return WORDS[node.id]
    if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in CONTRASTS:
        return CONTRASTS[ast.unparse(node)]()
    if isinstance(node, (ast.List, ast.Tuple)):
        return _listed(*(meaning(each, names) for each in node.elts))
    if isinstance(node, ast.UnaryOp) and type(node.op) in (ast.UAdd, ast.USub):
        own = _expression(meaning(node.operand, names))
        return replace(own, powers=own.powers if isinstance(node.op, ast.UAdd) else -own.powers)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = (_expression(meaning(each, names)) for each in (node.left, node.right))
        if None not in (left.column, right.column) and (left.column, left.of) != (right.column, right.of):
            raise ValueError("arithmetic supports one column; write the product of two as a:b")
        own = left if right.column is None else right
        return _expression(replace(own, powers=_OPERATIONS[type(node.op)](left.powers, right.powers)))
    if isinstance(node, ast.Call):
        return _called(node, names)
    raise ValueError(f"{shortened(ast.unparse(node), 40)!r} is not supported in formulas")


def _called(node: ast.Call, names: Mapping[str, str]) -> Value:
    name = ast.unparse(node.func).removeprefix("np.")
    if name not in _FUNCTIONS:
        raise ValueError(f"unknown function {shortened(name, 40)!r}; expected one of: {', '.join(_FUNCTIONS)}")
    named = {each.arg: meaning(each.value, names) for each in node.keywords if each.arg is not None}
    if len(named) < len(node.keywords):
        raise ValueError("**arguments are not supported")
    bound = inspect.signature(_FUNCTIONS[name]).bind(*(meaning(each, names) for each in node.args), **named)
    return _FUNCTIONS[name](*bound.args, **bound.kwargs)


def _expression(found: Value) -> Expression:
    made = found
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        made = Expression(np.array([float(found)]))
    if not isinstance(made, Expression) or not np.isfinite(made.powers).all():
        raise ValueError("expected a number or a column")
    if len(made.powers) > MAX_DEGREE + 1:
        raise ValueError(f"the maximum power is {MAX_DEGREE}")
    return made


def _number(found: Value) -> float:
    made = _expression(found)
    if made.column is not None:
        raise ValueError("expected a number, not a column")
    return float(made.powers[0])


def _listed(*found: Value) -> list[float | str]:
    """A list of numbers and texts."""
    return [each if isinstance(each, str) else _number(each) for each in found]


def _whole(found: Value, name: str, least: int, most: int = 1000) -> int:
    number = _number(found)
    if not number.is_integer() or not least <= number <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {number:g}")
    return int(number)


def _truth(found: Value) -> bool:
    if type(found) is not bool:
        raise ValueError(f"expected True or False, got {found!r}")
    return found


def _argument(found: Value) -> Expression:
    """A column, or log, exp or sqrt of one."""
    if not isinstance(found, Expression) or not found.is_argument:
        raise ValueError("expected a column, or log, exp or sqrt of one")
    return found


def _divided(left: Array, right: Array) -> Array:
    if len(right) > 1 or right[0] == 0:
        raise ValueError("the divisor must be a number other than 0")
    return left / right[0]


def _raised(left: Array, right: Array) -> Array:
    if len(right) > 1 or right[0] not in range(MAX_DEGREE + 1):
        raise ValueError(f"powers must be integers from 0 to {MAX_DEGREE}")
    return np.asarray(polynomial.polypow(left, int(right[0]), maxpower=MAX_DEGREE))


_OPERATIONS: dict[type, Callable[[Array, Array], Array]] = {
    ast.Add: polynomial.polyadd,
    ast.Sub: polynomial.polysub,
    ast.Mult: polynomial.polymul,
    ast.Div: _divided,
    ast.Pow: _raised,
}


def _category(x: Value, contrasts: Value = None, levels: Value = None) -> Factor:
    own = x if isinstance(x, Expression) and x.functions is None else None
    if isinstance(contrasts, Expression) and contrasts.column in CONTRASTS:  # also the name of a column
        contrasts = CONTRASTS[contrasts.column]()
    if own is None or own.column is None or not (contrasts is None or isinstance(contrasts, Contrast)):
        raise ValueError("expected C(column), or C(column, contrasts) with Treatment, Sum, Helmert or Poly")
    if not (levels is None or (isinstance(levels, list) and len(levels) > 1)):
        raise ValueError("levels must be a list of all levels in order, such as ['low', 'high']")
    order = None if levels is None else tuple(each if isinstance(each, str) else f"{each:.15g}" for each in levels)
    return Factor("", own.column, True, contrasts, order)


def _treatment(reference: Value = None) -> Contrast:
    return Contrast("treatment", _level(reference, "reference"))


def _sum_to_zero(omit: Value = None) -> Contrast:
    return Contrast("sum", _level(omit, "omitted level"))


def _polynomial_contrasts(scores: Value = None) -> Contrast:
    if scores is None:
        return Contrast("poly")
    numbers = [score for score in scores if isinstance(score, float)] if isinstance(scores, list) else None
    if numbers is None or not isinstance(scores, list) or len(numbers) < len(scores):
        raise ValueError("scores must be a list of numbers, one for each level")
    return Contrast("poly", scores=tuple(numbers))


def _level(given: Value, name: str) -> str | None:
    if given is not None and type(given) not in (str, int, float, bool):
        raise ValueError(f"the {name} must be a level, as text or number")
    return None if given is None else str(given)


def _offset(x: Value) -> Factor:
    own = _expression(x)
    if own.column is None:
        raise ValueError("offset() expects a column, or log, exp, sqrt or a polynomial of one")
    return Factor("", own.column, make=own.functions, offset=True)


def _inner(function: str, factor: float = 1.0, shift: float = 0.0) -> Callable[[Any], Expression]:
    """A function of a linear function of a column, times a number."""

    def made(x: Value) -> Expression:
        own = _expression(x)
        if own.column is None or own.inner != "identity" or len(own.powers) != 2:
            raise ValueError(f"{function} expects a column or a linear function of one")
        offset, slope = own.powers.tolist()
        return Expression(np.array([0.0, factor]), own.column, function, slope, offset + shift)

    return made


def _b_splines(
    x: Value,
    df: Value = None,
    knots: Value = None,
    degree: Value = 3,
    intercept: Value = False,
    include_intercept: Value = False,
) -> Factor:
    own, order = _argument(x), _whole(degree, "degree", 1, MAX_DEGREE)
    whole = _truth(intercept) or _truth(include_intercept)
    within = _Knots(df, knots, order + whole)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        made = b_splines(j, within.placed(values, weight), order)
        return made if whole else made.combined(np.eye(made.n_outputs)[1:])

    return _of_argument(own, make)


def _natural_splines(x: Value, df: Value = None, knots: Value = None, intercept: Value = False) -> Factor:
    own, whole = _argument(x), _truth(intercept)
    within = _Knots(df, knots, 1 + whole)
    return _of_argument(own, lambda j, values, weight: natural_splines(j, within.placed(values, weight), whole))


def _regression_splines(
    x: Value,
    df: Value = None,
    knots: Value = None,
    lower_bound: Value = None,
    upper_bound: Value = None,
    constraints: Value = None,
) -> Factor:
    own, (low, high) = _argument(x), (None if end is None else _number(end) for end in (lower_bound, upper_bound))
    if constraints not in (None, "center"):
        raise ValueError("constraints must be 'center' or omitted")
    if df is None and knots is None:
        raise ValueError("set df or knots")
    centred = constraints == "center"
    within = _Knots(df, knots, 2 - centred, low, high)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        placed = within.placed(np.unique(values), None)
        made = cubic_regression_splines(j, placed)
        if not centred:
            return made
        return cubic_regression_splines(j, placed, np.average(made.evaluate(values), axis=0, weights=weight))

    return _of_argument(own, make)


def _polynomials(x: Value, degree: Value = 1, raw: Value = False) -> Factor:
    own, order, plain = _argument(x), _whole(degree, "degree", 1, MAX_DEGREE), _truth(raw)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        _refuse_few(values, order, "degree")
        return powers(j, order) if plain else orthogonal_polynomials(j, values, order, weight)

    return _of_argument(own, make)


def _scaled(divisor: Callable[[Array, Array | None], float]) -> Callable[[Any], Factor]:
    """A centred column, divided by a function of its values."""

    def made(x: Value) -> Factor:
        def make(j: int, values: Array, weight: Array | None) -> Piecewise:
            return powers(j, 1, float(np.average(values, weights=weight)), divisor(values, weight))

        return replace(_of_argument(_argument(x), make), numbered=False)

    return made


def _deviation(values: Array, weight: Array | None, less: int) -> float:
    w = np.ones(len(values)) if weight is None else weight
    return float(np.sqrt(w @ (values - np.average(values, weights=w)) ** 2 / (w.sum() - less)))


def _of_argument(own: Expression, make: Making) -> Factor:
    """Functions of u as functions of the column."""

    def of_column(j: int, x: Array, weight: Array | None) -> Piecewise:
        values = Piecewise(j, x, x, x, **own.of).argument(x)
        refuse_undefined(own.inner, str(own.column), values, x)
        return replace(make(j, values, weight), **own.of)

    return Factor("", str(own.column), make=of_column, numbered=True)


@dataclass(frozen=True)
class _Knots:
    """The knots of a spline: given, or at quantiles for ``df`` functions."""

    df: Any
    given: Any
    least: int  #: number of functions without interior knots
    low: float | None = None  #: boundary knots; default: the range of the values
    high: float | None = None

    def __post_init__(self) -> None:
        if self.df is not None and self.given is not None:
            raise ValueError("df and knots exclude each other")
        if self.df is not None:
            _whole(self.df, "df", self.least)
        numbers = isinstance(self.given, list) and all(isinstance(knot, float) for knot in self.given)
        if self.given is not None and not numbers:
            raise ValueError("knots must be a list of numbers, such as [20, 30]")

    def placed(self, values: Array, weight: Array | None) -> Array:
        """All knots for these values, with boundary knots."""
        lowest = values.min() if self.low is None else self.low
        highest = values.max() if self.high is None else self.high
        values = values[(values >= lowest) & (values <= highest)]
        if self.given is not None:
            within = np.array(sorted(self.given))
        else:
            n_within = 0 if self.df is None else int(self.df) - self.least
            _refuse_few(values, self.least + n_within, "df")
            within = quantiles(values, np.arange(1, n_within + 1) / (n_within + 1), weight)
        if not ((within > lowest) & (within < highest)).all():
            tied = "too many rows at the minimum or maximum; lower df, or set knots"
            outside = f"knots must be between {lowest:g} and {highest:g}"
            raise ValueError(tied if self.given is None else outside)
        return np.r_[lowest, within, highest]


def _refuse_few(values: Array, functions: int, name: str) -> None:
    n = len(np.unique(values))
    if n <= functions:
        raise ValueError(f"{name} must be below the number of distinct values, {n}; or use C(...)")


CONTRASTS: dict[str, Callable[..., Contrast]] = {
    "Treatment": _treatment,
    "Sum": _sum_to_zero,
    "Helmert": lambda: Contrast("helmert"),
    "Poly": _polynomial_contrasts,
    "contr.treatment": _treatment,
    "contr.sum": _sum_to_zero,
    "contr.helmert": lambda: Contrast("helmert"),
    "contr.poly": _polynomial_contrasts,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "C": _category,
    **CONTRASTS,
    "offset": _offset,
    "bs": _b_splines,
    "cr": _regression_splines,
    "ns": _natural_splines,
    "poly": _polynomials,
    "I": _expression,
    "log": _inner("log"),
    "log2": _inner("log", 1 / np.log(2)),
    "log10": _inner("log", 1 / np.log(10)),
    "log1p": _inner("log", shift=1.0),
    "exp": _inner("exp"),
    "sqrt": _inner("sqrt"),
    "center": _scaled(lambda *_: 1.0),
    "scale": _scaled(partial(_deviation, less=1)),
    "standardize": _scaled(partial(_deviation, less=0)),
    "c": _listed,
}
WORDS = {"True": True, "False": False, "TRUE": True, "FALSE": False}
