"""A model as a Python module that needs nothing but the standard library."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ... import __version__
from ...basis import Piecewise
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from .recipe import Member, RawColumn, Recipe, RulePart

_TEMPLATE: Final = "module.py.jinja"
#: The function of the module that computes a part of the scores, and its numbers.
_FUNCTIONS: dict[type, tuple[str, tuple[str, ...]]] = {
    LinearRule: ("_linear", ("centre", "coef")),
    DiagonalRule: ("_diagonal", ("means", "variances")),
    QuadraticRule: ("_quadratic", ("centre", "offsets", "spheres")),
    LevelRule: ("_level", ("table",)),
    Piecewise: ("_piecewise", ("breaks", "origins", "coefficients")),
}


def python_module(recipe: Recipe) -> str:
    """The text of the module."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # slow to load

    form: dict[str, Any] = {"trim_blocks": True, "keep_trailing_newline": True, "undefined": StrictUndefined}
    template = Environment(loader=PackageLoader("discriminant.storage", "export"), **form).get_template(_TEMPLATE)
    rule, pooled = recipe.ordinal, len(recipe.members) > 1
    inputs = [(given.column, given.kind, given.place, given.fill, given.unseen) for given in recipe.inputs]
    parts = [part for member in recipe.members for part in (*_functions(member), *member.parts)]
    return template.render(
        name=recipe.name,
        version=__version__,
        has_dates=any(column.kind == "date" for column in recipe.columns),
        classes=_literal(recipe.classes),
        columns=_literal([column.name for column in recipe.columns]),
        reading=repr({one.name: (_kind(one), one.missing, one.missing_numbers) for one in recipe.columns}),
        levels=repr({one.name: tuple(one.lookup) for one in recipe.columns if one.kind == "category"}),
        inputs=_lines(map(_literal, inputs)),
        truth=repr(BOOLEANS),
        functions={_FUNCTIONS[type(part.rule)][0] for part in parts},
        members=_lines(map(_member, recipe.members)),
        shares=_literal([member.share for member in recipe.members]) if pooled else None,
        ordinal=rule,
        is_sorted=rule is not None and len(rule.coef) > 1 and rule.form == "cumulative",
        last_wins=recipe.last_wins,
        has_probabilities=recipe.answer == "probability",
    )


def _kind(column: RawColumn) -> str:
    """How the module reads a column."""
    return "time" if column.notation is not None and column.notation.date == "time" else column.kind


def _functions(member: Member) -> list[RulePart]:
    return [RulePart(function, (function.column,)) for function in member.functions]


def _member(member: Member) -> str:
    functions, parts = (", ".join(map(_part, parts)) for parts in (_functions(member), member.parts))
    products = _literal([list(places) for places in member.products])
    return f"({_literal(member.constants)}, [{functions}], {products}, [{parts}])"


def _part(part: RulePart) -> str:
    name, fields = _FUNCTIONS[type(part.rule)]
    if isinstance(part.rule, Piecewise) and part.rule.inner != "identity":
        fields += ("inner", "slope", "offset")
    return f"({name}, {_literal(list(part.places))}, {_literal([getattr(part.rule, field) for field in fields])})"


def _lines(items: Iterable[str]) -> str:
    return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def _literal(value: Any) -> str:
    """The value as Python writes it; numbers to the last digit."""
    if isinstance(value, np.ndarray):
        return _literal(value.tolist())
    if isinstance(value, tuple):
        return "(" + "".join(f"{_literal(item)}, " for item in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "math.inf", -math.inf: "-math.inf"}.get(value, "math.nan")
    return repr(value)
