"""A model as a Python module that needs nothing but the standard library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import __version__
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from .recipe import Recipe, RulePart

_TRUTH = {**dict.fromkeys(("true", "yes", "y", "t", "1"), 1), **dict.fromkeys(("false", "no", "n", "f", "0"), 0)}
_HEAD = '''"""A {name} fitted with discriminant {version}, as plain Python.

A row is a dict from column to value, or its values in the order of COLUMNS.
"""

import math

CLASSES = {classes}
COLUMNS = {columns}
CONSTANTS = {constants}
INPUTS = {inputs}
MISSING = {missing}
TRUTH = {truth}


def _values(row):
    values = dict(row) if hasattr(row, "keys") else dict(zip(COLUMNS, row))
    lacking = [name for name in COLUMNS if name not in values]
    if lacking or len(row) < len(COLUMNS):
        raise ValueError("missing column: %r" % (lacking or COLUMNS)[0])
    return [_input(values[name], name, kind, levels, fill) for name, kind, levels, fill in INPUTS]


def _input(value, name, kind, levels, fill):
    if value is None or value != value or _text(value).strip() in MISSING.get(name, ()):
        if fill is None:
            raise ValueError("missing value in column %r" % name)
        return fill
    if kind == "category":
        return value
    if kind in ("level", "other"):
        text = _text(value)
        return float((text in levels or text.strip() in levels) == (kind == "level"))
    if kind == "truth":
        word = _text(value).strip().lower()
        if word not in TRUTH:
            raise ValueError("neither true nor false in column %r: %r" % (name, value))
        return float(TRUTH[word])
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("infinite value in column %r" % name)
    return number


def _text(value):
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
'''
_PARTS = {
    LinearRule: """
def _linear(x, centre, coef):
    return [sum(w * (v - m) for v, m, w in zip(x, centre, row)) for row in coef]
""",
    DiagonalRule: """
def _diagonal(x, means, variances):
    return [
        -sum((v - m) * (v - m) / (2 * s) for v, m, s in zip(x, mean, variance))
        for mean, variance in zip(means, variances)
    ]
""",
    QuadraticRule: """
def _quadratic(x, centre, offsets, spheres):
    out = []
    for offset, sphere in zip(offsets, spheres):
        steps = [v - m - o for v, m, o in zip(x, centre, offset)]
        sphered = [sum(step * row[r] for step, row in zip(steps, sphere)) for r in range(len(sphere[0]))]
        out.append(-sum(z * z for z in sphered) / 2)
    return out
""",
    LevelRule: """
def _level(x, levels, table):
    return table[levels.index(x[0])] if x[0] in levels else [0.0] * len(CLASSES)
""",
}
_SCORES = '''
def scores(row):
    """The score of each class, in the order of CLASSES."""
    values = _values(row)
    each = [part([values[j] for j in places], *numbers) for part, places, numbers in PARTS]
    return [sum(of_class) for of_class in zip(CONSTANTS, *each)]


def predict(row):
    """The class of the highest score."""
    found = scores(row)
    return {choice}
'''
_PROBABILITIES = '''

def predict_proba(row):
    """The probability of each class, in the order of CLASSES."""
    found = scores(row)
    top = max(found)
    weights = [math.exp(score - top) for score in found]
    return [weight / sum(weights) for weight in weights]
'''


def python_module(recipe: Recipe) -> str:
    """The text of the module."""
    inputs = [(given.column, given.kind, given.levels, given.fill) for given in recipe.inputs]
    missing = {given.column: given.missing for given in recipe.inputs if given.missing}
    head = _HEAD.format(
        name=recipe.name,
        version=__version__,
        classes=_literal(recipe.classes),
        columns=_literal(recipe.columns),
        inputs=_lines(map(_literal, inputs)),
        missing=repr(missing),
        truth=repr(_TRUTH),
        constants=_literal(recipe.constants),
    )
    kinds = dict.fromkeys(type(part.rule) for part in recipe.parts)
    functions = "\n".join(_PARTS[kind] for kind in kinds)
    parts = f"\n\nPARTS = {_lines(map(_part, recipe.parts))}\n\n"
    choice = "CLASSES[int(found[1] >= found[0])]" if recipe.last_wins else "CLASSES[found.index(max(found))]"
    tail = _SCORES.format(choice=choice) + (_PROBABILITIES if recipe.answer == "probability" else "")
    return head + "\n" + functions + parts + tail


def _part(part: RulePart) -> str:
    rule = part.rule
    numbers: list[Any]
    if isinstance(rule, LinearRule):
        name, numbers = "_linear", [rule.centre, rule.coef]
    elif isinstance(rule, DiagonalRule):
        name, numbers = "_diagonal", [rule.means, rule.variances]
    elif isinstance(rule, QuadraticRule):
        name, numbers = "_quadratic", [rule.centre, rule.offsets, rule.spheres]
    else:
        name, numbers = "_level", [rule.levels, rule.table[:-1]]
    return f"({name}, {_literal(list(part.places))}, {_literal(numbers)})"


def _lines(items: Any) -> str:
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
