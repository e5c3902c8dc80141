"""A model as a query: each class's probability (or score) and the predicted class, for every row of a table.

The query takes three steps: the columns of the model, the scores, the answers. All of it is standard SQL but the word
MATERIALIZED, without which databases compute a score again wherever it is used. A probability is
``1 / sum_l exp(s_l - s_k)``, in which no exponential can overflow or vanish unnoticed. Names and texts are quoted; raw
columns appear with their table in front, so that a column that is not there is an error everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from .recipe import Input, Recipe, RulePart

Array = np.ndarray[Any, Any]

_SCORES = "discriminant_scores"
#: Beyond it a probability is 0 to every digit, and the exponential is near the end of the numbers.
_FAR = 700.0


def sql_query(recipe: Recipe, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """The text of the query."""
    names = [*keep, "prediction", *(f"{recipe.answer}_{label}" for label in recipe.classes)]
    if len(set(names)) < len(names):
        raise ParameterError(f"The query's columns need different names, got {names}. Keep other columns.")
    inner = [f"t.{identifier(name)} AS k{i}" for i, name in enumerate(keep)]
    inner += [f"{_input(given)} AS x{j}" for j, given in enumerate(recipe.inputs)]
    kept = [f"k{i}" for i in range(len(keep))]
    source = identifier(table) if isinstance(table, str) else ".".join(map(identifier, table))
    steps = f"SELECT {_listed(inner)}\nFROM {source} AS t"
    sphered = [column for part in recipe.parts for column in _sphered(recipe, part)]
    if sphered:
        passed = [f"x{j}" for j in range(len(recipe.inputs))]
        steps = _outer([*kept, *passed, *sphered], steps, "n")
    scores = [f"{_score(recipe, k)} AS s{k}" for k in recipe.possible]
    steps = f"WITH {_SCORES} AS MATERIALIZED (\n{_outer([*kept, *scores], steps, 'z')}\n)\n"
    answers = [f"k{i} AS {identifier(name)}" for i, name in enumerate(keep)]
    answers.append(f"{_label(recipe)} AS {identifier('prediction')}")
    for k, label in enumerate(recipe.classes):
        answers.append(f"{_answer(recipe, k)} AS {identifier(f'{recipe.answer}_{label}')}")
    return f"{steps}SELECT {_listed(answers)}\nFROM {_SCORES}\n"


def _outer(columns: list[str], inner: str, alias: str) -> str:
    return f"SELECT {_listed(columns)}\nFROM (\n{inner}\n) AS {alias}"


def _listed(columns: list[str]) -> str:
    return ",\n  ".join(columns)


def identifier(name: str) -> str:
    """A name in quotes."""
    if "\x00" in name:
        raise ParameterError(f"SQL cannot hold the name {name!r}: it has a NUL character. Rename the column.")
    return '"' + name.replace('"', '""') + '"'


def constant(value: Any) -> str:
    """A value as SQL writes it: a truth value, a number to its last digit, or text in quotes."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str) and "\x00" not in value:
        return "'" + value.replace("'", "''") + "'"
    raise ParameterError(
        f"SQL cannot hold the value {value!r}. Use numbers, truth values or text as classes and levels."
    )


def _number(value: float) -> str:
    """A floating-point number; negative ones in brackets, because two minus signs begin a comment."""
    text = np.format_float_scientific(value, unique=True, trim="0").upper()
    return f"({text})" if text.startswith("-") else text


def _input(given: Input) -> str:
    raw = f"t.{identifier(given.column)}"
    if given.kind == "category":
        return raw
    fill = "NULL" if given.fill is None else _number(given.fill)
    if given.kind == "number":
        return f"COALESCE(CAST({raw} AS DOUBLE PRECISION), {fill})"
    if given.kind == "truth":
        return f"CASE WHEN {raw} THEN 1.0E0 WHEN NOT {raw} THEN 0.0E0 ELSE {fill} END"
    text = f"CAST({raw} AS VARCHAR)"
    missing = " OR ".join([f"{raw} IS NULL", *_among(text, given.missing)])
    found, else_ = ("1.0E0", "0.0E0") if given.kind == "level" else ("0.0E0", "1.0E0")
    met = "".join(f" WHEN {among} THEN {found}" for among in _among(text, given.levels))
    return f"CASE WHEN {missing} THEN {fill}{met} ELSE {else_} END"


def _among(text: str, values: Sequence[str]) -> list[str]:
    """The comparison with some texts, if there are any."""
    return [f"{text} IN ({', '.join(map(constant, values))})"] if values else []


def _sphered(recipe: Recipe, part: RulePart) -> list[str]:
    """The steps of a row from each class's mean, on the axes along which they are independent."""
    rule = part.rule
    if not isinstance(rule, QuadraticRule):
        return []
    return [
        f"{_weighted(rule.spheres[k, :, r], rule.centre + rule.offsets[k], part.places)} AS z{k}_{r}"
        for k in recipe.possible
        for r in range(rule.spheres.shape[2])
    ]


def _weighted(weights: Array, origin: Array, places: Sequence[int]) -> str:
    steps = [f"{_number(w)} * (x{j} - {_number(m)})" for w, m, j in zip(weights, origin, places, strict=True)]
    return _sum(steps)


def _score(recipe: Recipe, k: int) -> str:
    return _sum([_number(recipe.constants[k]), *(_of_part(part, k) for part in recipe.parts)])


def _of_part(part: RulePart, k: int) -> str:
    rule = part.rule
    if isinstance(rule, LevelRule):
        return _looked_up(rule, part.places[0], k)
    if isinstance(rule, LinearRule):
        used = [i for i in range(len(part.places)) if rule.coef[:, i].any()]
        return _weighted(rule.coef[k, used], rule.centre[used], [part.places[i] for i in used])
    if isinstance(rule, DiagonalRule):
        weighted = zip(0.5 / rule.variances[k], rule.means[k], part.places, strict=True)
        squares = [f"{_number(w)} * (x{j} - {_number(m)}) * (x{j} - {_number(m)})" for w, m, j in weighted]
    else:
        squares = [f"0.5E0 * z{k}_{r} * z{k}_{r}" for r in range(rule.spheres.shape[2])]
    return f"(0.0E0 - {_sum(squares)})"


def _looked_up(rule: LevelRule, place: int, k: int) -> str:
    cases = "".join(
        f" WHEN x{place} = {constant(level)} THEN {_number(value)}"
        for level, value in zip(rule.levels, rule.table[:-1, k], strict=True)
    )
    return f"CASE{cases} WHEN x{place} IS NOT NULL THEN 0.0E0 END"


def _sum(terms: list[str]) -> str:
    """The sum in pairs of pairs: databases limit how deep an expression may be, not how long."""
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[i : i + 2])})" for i in range(0, len(terms), 2)]
    return terms[0] if terms else "0.0E0"


def _label(recipe: Recipe) -> str:
    possible, sign, cases = recipe.possible, ">" if recipe.last_wins else ">=", []
    classes = recipe.classes
    if any(isinstance(label, int) and abs(label) >= 2**63 for label in classes):
        classes = [*map(str, classes)]  # SQLite would make floats of such numbers
    for place, k in enumerate(possible):
        # Who comes later is enough: an earlier class that was passed over has a better one behind it.
        beats = " AND ".join(f"s{k} {sign} s{later}" for later in possible[place + 1 :]) or f"s{k} IS NOT NULL"
        cases.append(f"WHEN {beats} THEN {constant(classes[k])}")
    return f"CASE {' '.join(cases)} END"


def _answer(recipe: Recipe, k: int) -> str:
    if k not in recipe.possible:
        return "0.0E0" if recipe.answer == "probability" else "NULL"
    if recipe.answer == "score":
        return f"s{k}"
    return f"1.0E0 / {_sum(['1.0E0', *(_ratio(f's{other} - s{k}') for other in recipe.possible if other != k)])}"


def _ratio(difference: str) -> str:
    """The exponential of a difference, where it is neither too large nor too small for a number."""
    far, near = _number(_FAR), _number(-_FAR)
    limits = f"WHEN {difference} > {far} THEN {_number(float(np.exp(_FAR)))} WHEN {difference} < {near} THEN 0.0E0"
    return f"CASE {limits} ELSE EXP({difference}) END"
