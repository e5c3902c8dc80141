"""A model as a Python module that needs nothing but the standard library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import __version__
from ...basis import Piecewise
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from ...tables.recognition import ALIKE, MONTHS, SPACES, Notation
from .recipe import Member, Recipe, RulePart

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
NOTATIONS = {notations}


def _values(row):
    values = dict(row) if hasattr(row, "keys") else dict(zip(COLUMNS, row))
    lacking = [name for name in COLUMNS if name not in values]
    if lacking or len(row) < len(COLUMNS):
        raise ValueError("missing column: %r" % (lacking or COLUMNS)[0])
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
    """A number, or the place of a level, -1 for one that training had not; None for a missing value."""
    if value is None or value != value:
        return None
    text = value if isinstance(value, str) else _text(value)
    if kind == "category":
        return _place(value, text, name, missing)
    if text.strip() in missing:
        return None
    if kind == "truth":
        if text.strip().casefold() not in TRUTH:
            raise ValueError("neither true nor false in column %r: %r" % (name, value))
        return TRUTH[text.strip().casefold()]
    if type(value).__name__ in ("bool", "bool_") and kind != "date":
        return float(value)
    if kind == "date" or kind == "amount" and isinstance(value, str):
        number = _notated(value, text, *NOTATIONS[name])
    else:
        number = _number(text.strip())
    if number is None:
        raise ValueError("not a %s in column %r: %r" % ("date" if kind == "date" else "number", name, value))
    if not math.isfinite(number):
        raise ValueError("infinite value in column %r" % name)
    return None if number in missing_numbers else float(number)


def _place(value, text, name, missing):
    """Text is a level as it is written, anything else the one level that means the same."""
    texts, numbers, truths, binary, times = LEVELS[name]
    if isinstance(value, str):
        known, key, new = texts, text if text in texts else text.strip(), bool(texts)
        meant = TRUTH.get(key.strip().casefold()) if binary else _number(key)
        if key not in texts and (truths if binary else numbers).get(meant) is not None:
            known, key = truths if binary else numbers, meant
    elif type(value).__name__ in ("bool", "bool_"):
        known, key, new = truths, float(value), bool(truths)
    elif hasattr(value, "isoformat"):
        known, key, new = times, text, any(len(text) == len(time) for time in times)
    else:
        known, key = truths if binary else numbers, _number(text)
        new = bool(numbers) and key is not None
    place = known.get(key, -1)
    if place == -1 and text.strip() in missing:
        return None
    if place is None or place == -1 and not new:
        raise ValueError("cannot tell which level of column %r is %r: give it as text" % (name, value))
    return place


def _number(text):
    if "_" in text:
        return None
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None


def _text(value):
    text = str(value)
    return text[:-2] if text.endswith(".0") else text
'''
#: How dates and amounts are read, as `Notation` does.
_NOTATED = '''
MONTHS = {months}
ALIKE = {alike}
ISO = {iso}


def _notated(value, text, pattern, order, decimal, grouping):
    """Days since 1970-01-01, hours since midnight, or an amount; None for what is none."""
    if hasattr(value, "total_seconds"):
        return value.total_seconds() / 3600 if order == "time" else None
    if hasattr(value, "isoformat") or type(value).__name__ == "datetime64":
        pattern = ISO["time" if order == "time" else "ymd"]
        text = value.isoformat() if hasattr(value, "isoformat") else text
    elif not isinstance(value, str) and order != "digits":
        return None
    for other, sign in ALIKE:
        text = re.sub(other, sign, text)
    found = re.match(pattern, text.strip())
    if found is None:
        return None
    parts = {{name: part or "" for name, part in found.groupdict().items()}}
    return _amount(parts, decimal, grouping) if order is None else _moment(parts, order)


def _amount(parts, decimal, grouping):
    number = float(parts["number"].replace(grouping, "").replace(decimal, "."))
    signs = [parts["sign"] == "-", parts["inner"] == "-", parts["after"] == "-", parts["open"] == "("]
    if (parts["open"] == "(") != (parts["close"] == ")") or sum(signs) > 1:
        return None
    return -number if any(signs) else number


def _moment(parts, order):
    hour, minute = (int(parts.get(name) or 0) for name in ("hour", "minute"))
    second, half = float((parts.get("second") or "0").replace(",", ".")), (parts.get("half") or "")[:1].lower()
    if hour > (12 if half else 24) or minute > 59 or second > 60:
        return None
    hour = (hour % 12 if half else hour) + 12 * (half == "p")
    microseconds = (hour * 60 + minute - _zone(parts.get("zone") or "")) * 60000000 + round(second * 1e6)
    if order == "time":
        return microseconds / 3600000000
    year, month, day = int(parts["year"].lstrip("\'")), parts["month"], int(parts["day"] or 1)
    if len(parts["year"]) < 4:
        year += 2000 if year < 69 else 1900
    month = int(month) if month.isdigit() else MONTHS.get(month.casefold()[:3], 0)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        return None
    return (_days(year, month, day) * 86400000000 + microseconds) / 86400000000


def _days(year, month, day):
    """Days since 1970-01-01: years begin in March here, so that February ends them."""
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469


def _zone(text):
    if text[:1] not in ("+", "-"):
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (-1 if text[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:]))
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
    notations = {column.name: _notation(column.notation) for column in recipe.columns if column.notation is not None}
    head = _HEAD.format(
        imports="import math\nimport re" if notations else "import math",
        notations=repr(notations),
        name=recipe.name,
        version=__version__,
        classes=_literal(recipe.classes),
        columns=_literal([column.name for column in recipe.columns]),
        reading=repr({column.name: (column.kind, column.missing, column.missing_numbers) for column in recipe.columns}),
        levels=repr(levels),
        inputs=_lines(map(_literal, inputs)),
        truth=repr(BOOLEANS),
    )
    kinds = dict.fromkeys(type(part.rule) for member in recipe.members for part in (*_functions(member), *member.parts))
    iso = {order: _notation(Notation(date=order))[0] for order in ("ymd", "time")}
    notated = _NOTATED.format(months=repr(MONTHS), alike=repr((SPACES, *ALIKE)), iso=repr(iso))
    functions = "\n".join([notated] * bool(notations) + [_PARTS[kind] for kind in kinds])
    members = f"\n\nMEMBERS = {_lines(map(_member, recipe.members))}\n"
    pooled = len(recipe.members) > 1
    shares = f"SHARES = {_literal([member.share for member in recipe.members])}\n" if pooled else ""
    choice = "CLASSES[int(found[1] >= found[0])]" if recipe.last_wins else "CLASSES[found.index(max(found))]"
    answers = _SCORES + (_POOL if pooled else _ONE) + _PREDICTION.format(choice=choice)
    return (
        head
        + "\n"
        + functions
        + members
        + shares
        + "\n"
        + answers
        + (_PROBABILITIES if recipe.answer == "probability" else "")
    )


def _notation(notation: Notation) -> tuple[Any, ...]:
    """The pattern of texts and what tells how its parts are read; digits are those of ASCII."""
    return notation.pattern.replace(r"\d", "[0-9]"), notation.date, notation.decimal, notation.grouping


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
