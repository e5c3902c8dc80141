"""A model as a Python module that needs nothing but the standard library."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import __version__
from ...basis import Piecewise
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from .recipe import Member, RawColumn, Recipe, RulePart

_HEAD = '''"""A {name} fitted with discriminant {version}, as plain Python.

A row is a dict from column to value, or its values in the order of COLUMNS.
"""

{imports}

CLASSES = {classes}
COLUMNS = {columns}
READING = {reading}
LEVELS = {levels}
INPUTS = {inputs}
TRUTH = {truth}


def _values(row):
    values = dict(row) if hasattr(row, "keys") else dict(zip(COLUMNS, row))
    missing = [name for name in COLUMNS if name not in values]
    if missing or len(row) < len(COLUMNS):
        raise ValueError("missing column: %r" % (missing or COLUMNS)[0])
    read = {{name: _read(values[name], name, *READING[name]) for name in COLUMNS}}
    return [_input(read[name], name, kind, place, fill, unseen) for name, kind, place, fill, unseen in INPUTS]


def _input(value, name, kind, place, fill, unseen):
    if value is None:
        if fill is None and kind != "missing":
            raise ValueError("missing value in column %r" % name)
        return fill
    if kind == "missing":
        return 0.0
    if kind == "level":
        return unseen if value < 0 else float(value == place)
    return value


def _read(value, name, kind, missing, missing_numbers):
    """The number, or the position of the level (-1: unseen), of a value; None for a missing value."""
    if value is None or value != value:
        return None
    text = value if isinstance(value, str) else str(value).removesuffix(".0")
    if kind == "category":
        return _place(value, text, name, missing)
    if text.strip() in missing:
        return None
    if kind == "truth":
        number = TRUTH.get(text.strip().casefold())
    elif kind in ("date", "time"):
        number = _moment(text.strip(), kind)
    elif type(value).__name__ in ("bool", "bool_"):
        number = float(value)
    else:
        number = None if kind == "amount" and isinstance(value, str) else _number(text.strip())
    if number is None:
        raise ValueError("column %r should hold %s, got %r" % (name, EXPECTED[kind], value))
    if not math.isfinite(number):
        raise ValueError("infinite value in column %r" % name)
    return None if number in missing_numbers else float(number)


EXPECTED = {{
    "number": "numbers",
    "amount": "amounts as numbers, not as text",
    "truth": "true or false",
    "date": "dates, or their ISO 8601 text",
    "time": "times of day, or their ISO 8601 text",
}}


def _place(value, text, name, missing):
    """Text is looked up as it is spelled, else by its meaning, as numbers and truth values are."""
    texts, numbers, truths, binary = LEVELS[name]
    key = text if text in texts else text.strip()
    known, meant = (truths, TRUTH.get(key.casefold())) if binary else (numbers, _number(key))
    new = bool(numbers) and meant is not None
    if isinstance(value, str):
        if key in texts or known.get(meant) is None:
            known, meant, new = texts, key, bool(texts)
    elif type(value).__name__ in ("bool", "bool_"):
        known, meant, new = truths, float(value), bool(truths)
    elif binary:
        meant = _number(key)
    place = known.get(meant, -1)
    if place == -1 and text.strip() in missing:
        return None
    if place is None or place == -1 and not new:
        raise ValueError("column %r should hold one of its levels, got %r" % (name, value))
    return place


def _number(text):
    if "_" in text:
        return None
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None
'''
# Dates, times and datetimes of any package, and ISO 8601 text.
_MOMENT = '''

def _moment(text, kind):
    """Days since 1970-01-01 (UTC), or hours since midnight; None for other text."""
    if kind == "time":
        text = "1970-01-01T" + text
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if text[4] + text[7] != "--" or (len(text) > 10 and (text[10] not in " T" or text[13:14] != ":")):
        return None
    unit = datetime.timedelta(hours=1 if kind == "time" else 24)
    return (found.replace(tzinfo=found.tzinfo or datetime.timezone.utc) - EPOCH) / unit


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
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
def _level(x, table):
    return table[x[0]]
""",
    Piecewise: """
def _piecewise(x, breaks, origins, coefficients, inner="identity", slope=1.0, offset=0.0):
    value = x[0] if inner == "identity" else _inner(x[0], inner, slope, offset)
    piece = sum(value >= end for end in breaks)
    step, out = value - origins[piece], []
    for powers in coefficients[piece]:
        value = 0.0
        for coefficient in reversed(powers):
            value = value * step + coefficient
        out.append(value)
    return out


def _inner(value, name, slope, offset):
    try:
        return getattr(math, name)(slope * value + offset)
    except (ValueError, OverflowError):
        raise ValueError("%r has no %s" % (value, name)) from None
""",
}
_SCORES = """
def _scores(values, constants, functions, products, parts):
    features = list(values)
    for function, places, numbers in functions:
        features += function([features[j] for j in places], *numbers)
    for places in products:
        features.append(math.prod(features[j] for j in places))
    each = [part([features[j] for j in places], *numbers) for part, places, numbers in parts]
    return [sum(of_class) for of_class in zip(constants, *each)]
"""
_ONE = '''

def scores(row):
    """The score of each class, in the order of CLASSES."""
    return _scores(_values(row), *MEMBERS[0])
'''
_ORDINAL = '''

def scores(row):
    """The log-probability of each class, in the order of CLASSES."""
    limits = _scores(_values(row), *MEMBERS[0])
    if SORTED:
        limits.sort()
    found = [-math.inf] * len(CLASSES)
    left = 1.0
    for place, k in enumerate(ORDER):
        low, high = [-math.inf, *limits, math.inf][place : place + 2]
        if FORM == "continuation":
            share, low = left * _between(-math.inf, high), high
            left *= _between(low, math.inf)
        else:
            share = _between(low, high)
        found[k] = math.log(share) if share > 0 else -math.inf
    return found


def _between(low, high):
    """The probability between two scores, from the tail in which it is precise."""
    if high <= low:
        return 0.0
    return _below(high) - _below(low) if low < 0 else _above(low) - _above(high)
'''
_LINKS = {
    "logit": """

def _below(s):
    return 1 / (1 + math.exp(-s)) if s > -700 else math.exp(max(s, -745.0)) if s > -math.inf else 0.0


def _above(s):
    return _below(-s)
""",
    "probit": """

def _below(s):
    return math.erfc(-s / math.sqrt(2)) / 2


def _above(s):
    return _below(-s)
""",
    "cloglog": """

def _below(s):
    return -math.expm1(-math.exp(min(s, 700.0)))


def _above(s):
    return math.exp(-math.exp(min(s, 700.0)))
""",
}
_POOL = '''

def scores(row):
    """The logarithm of the weighted mean of the members' probabilities of each class, in the order of CLASSES."""
    values = _values(row)
    logs = [_log_shares(_scores(values, *member), share) for share, member in zip(SHARES, MEMBERS)]
    return [_log_sum(of_class) for of_class in zip(*logs)]


def _log_shares(found, share):
    top = max(found)
    rest = _log_sum([score - top for score in found]) - math.log(share)
    return [score - top - rest for score in found]


def _log_sum(logs):
    top = max(logs)
    return top if top == -math.inf else top + math.log(sum(math.exp(log - top) for log in logs))
'''
_PREDICTION = '''

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
    inputs = [(given.column, given.kind, given.place, given.fill, given.unseen) for given in recipe.inputs]
    levels = {column.name: tuple(column.lookup) for column in recipe.columns if column.kind == "category"}
    has_dates = any(column.kind == "date" for column in recipe.columns)
    head = _HEAD.format(
        imports="import datetime\nimport math" if has_dates else "import math",
        name=recipe.name,
        version=__version__,
        classes=_literal(recipe.classes),
        columns=_literal([column.name for column in recipe.columns]),
        reading=repr(
            {column.name: (_kind(column), column.missing, column.missing_numbers) for column in recipe.columns}
        ),
        levels=repr(levels),
        inputs=_lines(map(_literal, inputs)),
        truth=repr(BOOLEANS),
    )
    kinds = dict.fromkeys(type(part.rule) for member in recipe.members for part in (*_functions(member), *member.parts))
    functions = "\n".join(_PARTS[kind] for kind in kinds)
    members = f"\n\nMEMBERS = {_lines(map(_member, recipe.members))}\n"
    pooled = len(recipe.members) > 1
    shares = f"SHARES = {_literal([member.share for member in recipe.members])}\n" if pooled else ""
    choice = "CLASSES[int(found[1] >= found[0])]" if recipe.last_wins else "CLASSES[found.index(max(found))]"
    scores = _SCORES + (_POOL if pooled else _ONE)
    if recipe.ordinal is not None:
        rule = recipe.ordinal
        is_sorted = len(rule.coef) > 1 and rule.form == "cumulative"
        shares = f"FORM = {rule.form!r}\nORDER = {rule.order.tolist()}\nSORTED = {is_sorted}\n"
        scores = _SCORES + _ORDINAL + _LINKS[rule.link]
    answers = scores + _PREDICTION.format(choice=choice) + _PROBABILITIES * (recipe.answer == "probability")
    return head + _MOMENT * has_dates + "\n" + functions + members + shares + "\n" + answers


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
    rule = part.rule
    numbers: list[Any]
    if isinstance(rule, LinearRule):
        name, numbers = "_linear", [rule.centre, rule.coef]
    elif isinstance(rule, DiagonalRule):
        name, numbers = "_diagonal", [rule.means, rule.variances]
    elif isinstance(rule, QuadraticRule):
        name, numbers = "_quadratic", [rule.centre, rule.offsets, rule.spheres]
    elif isinstance(rule, Piecewise):
        name, numbers = "_piecewise", [rule.breaks, rule.origins, rule.coefficients]
        numbers += [] if rule.inner == "identity" else [rule.inner, rule.slope, rule.offset]
    else:
        name, numbers = "_level", [rule.table]
    return f"({name}, {_literal(list(part.places))}, {_literal(numbers)})"


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
