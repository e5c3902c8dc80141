"""A model as a query: each class's probability (or score) and the predicted class, for every row of a table.

The query takes four steps: raw columns as numbers and places of levels, the columns of the model, the scores, the
answers. How a value is read depends on the type that the database gave its column, see `_Dialect`; the rest is standard
SQL but the word MATERIALIZED, without which databases compute a value again wherever it is used. A probability is
``1 / sum_l exp(s_l - s_k)``, in which no exponential can overflow or vanish unnoticed. Names and texts are quoted; raw
columns appear with their table in front, so that a column that is not there is an error everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ParameterError, Setting
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from .recipe import Input, LevelLookup, RawColumn, Recipe, RulePart

Array = np.ndarray[Any, Any]

_VALUES, _SCORES = "discriminant_values", "discriminant_scores"
#: Beyond it a probability is 0 to every digit, and the exponential is near the end of the numbers.
_FAR = 700.0
#: Floats tell whole numbers below it apart.
_EXACT = 2**53
_TRUTHS = {"1.0E0": 1.0, "0.0E0": 0.0}
#: The place of a level that training had not.
_UNSEEN = -1
#: Spaces around a text that do not count, by their numbers.
_SPACES = (9, 10, 11, 12, 13, 28, 29, 30, 31, 133, 160)


@dataclass(frozen=True)
class _Dialect:
    """What differs between databases; ``{0}`` stands for a column or text."""

    text: str  #: whether a value is text
    number: str
    truth: str | None  #: whether it is true or false; None where there is no such type
    time: str | None
    as_number: str  #: the number of a column of numbers; nothing that a column of another type could not be given to
    as_written: str  #: the same as its digits say: floats of 32 bits have others than floats of 64
    not_a_number: str | None  #: whether a number is NaN; None where there is no such number
    spells_number: str  #: whether a text is a number
    error: str  #: stop with a message
    character: str  #: the character of a number


_NUMBER_PATTERN = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
_DIALECTS = {
    "duckdb": _Dialect(
        text="(typeof({0}) = 'VARCHAR' OR typeof({0}) LIKE 'ENUM%')",
        number="(typeof({0}) IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', "
        "'UINTEGER', 'UBIGINT', 'UHUGEINT', 'FLOAT', 'DOUBLE') OR typeof({0}) LIKE 'DECIMAL%')",
        truth="typeof({0}) = 'BOOLEAN'",
        time="(typeof({0}) LIKE 'DATE%' OR typeof({0}) LIKE 'TIME%')",
        as_number="TRY_CAST({0} AS DOUBLE)",
        as_written="TRY_CAST(CAST({0} AS VARCHAR) AS DOUBLE)",
        not_a_number="isnan({0})",
        spells_number=f"regexp_full_match({{0}}, '{_NUMBER_PATTERN}')",
        error="error({0})",
        character="CHR({0})",
    ),
    "postgresql": _Dialect(
        text="(pg_typeof({0}) IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) OR EXISTS (SELECT 1 FROM "
        "pg_catalog.pg_type WHERE oid = pg_typeof({0}) AND typcategory IN ('S', 'E')))",
        number="pg_typeof({0}) IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, "
        "'double precision'::regtype, 'numeric'::regtype)",
        truth="pg_typeof({0}) = 'boolean'::regtype",
        time="pg_typeof({0}) IN ('date'::regtype, 'time'::regtype, 'timetz'::regtype, 'timestamp'::regtype, "
        "'timestamptz'::regtype)",
        as_number="CAST(CAST({0} AS VARCHAR) AS DOUBLE PRECISION)",
        as_written="CAST(CAST({0} AS VARCHAR) AS DOUBLE PRECISION)",
        not_a_number="{0} = 'NaN'",
        spells_number=f"{{0}} ~ '^({_NUMBER_PATTERN})$'",
        error="CAST({0} AS DOUBLE PRECISION)",  # which fails, and says what it was given
        character="CHR({0})",
    ),
    "sqlite": _Dialect(
        text="typeof({0}) = 'text'",
        number="typeof({0}) IN ('integer', 'real')",
        truth=None,  # true and false are 1 and 0
        time=None,
        as_number="CAST({0} AS DOUBLE PRECISION)",
        as_written="CAST({0} AS DOUBLE PRECISION)",
        not_a_number=None,
        spells_number="{0} = CAST({0} AS DOUBLE PRECISION)",  # compared as numbers only if all of the text is one
        error="json_extract('{{}}', {0})",  # which fails, and says what it was given
        character="CHAR({0})",
    ),
}


def sql_query(recipe: Recipe, dialect: str | None, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """The text of the query."""
    if dialect not in _DIALECTS:
        raise ParameterError(
            "SQL is written for one database: choose ",
            Setting("dialect"),
            f" from {', '.join(_DIALECTS)}, got {dialect!r}.",
        )
    names = [*keep, "prediction", *(f"{recipe.answer}_{label}" for label in recipe.classes)]
    if len(set(names)) < len(names):
        raise ParameterError(f"The query's columns need different names, got {names}. Keep other columns.")
    kept = [f"k{i}" for i in range(len(keep))]
    inner = [f"{_input(recipe, given, _DIALECTS[dialect])} AS x{j}" for j, given in enumerate(recipe.inputs)]
    steps = f"SELECT {_listed([*kept, *inner])}\nFROM {_VALUES} AS t"
    sphered = [column for part in recipe.parts for column in _sphered(recipe, part)]
    if sphered:
        passed = [f"x{j}" for j in range(len(recipe.inputs))]
        steps = _outer([*kept, *passed, *sphered], steps, "n")
    scores = [f"{_score(recipe, k)} AS s{k}" for k in recipe.possible]
    answers = [f"k{i} AS {identifier(name)}" for i, name in enumerate(keep)]
    answers.append(f"{_label(recipe)} AS {identifier('prediction')}")
    for k, label in enumerate(recipe.classes):
        answers.append(f"{_answer(recipe, k)} AS {identifier(f'{recipe.answer}_{label}')}")
    return (
        f"WITH {_VALUES} AS MATERIALIZED (\n{_values(recipe, _DIALECTS[dialect], table, keep)}\n),\n"
        f"{_SCORES} AS MATERIALIZED (\n{_outer([*kept, *scores], steps, 'z')}\n)\n"
        f"SELECT {_listed(answers)}\nFROM {_SCORES}\n"
    )


def _values(recipe: Recipe, dialect: _Dialect, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """The step in which raw columns are read."""
    source = identifier(table) if isinstance(table, str) else ".".join(map(identifier, table))
    columns = [f"t.{identifier(name)} AS k{i}" for i, name in enumerate(keep)]
    columns += [f"{_Reading(column, dialect).expression} AS v{i}" for i, column in enumerate(recipe.columns)]
    spaces = " || ".join(["' '", *(dialect.character.format(number) for number in _SPACES)])
    return f"SELECT {_listed(columns)}\nFROM {source} AS t\nCROSS JOIN (SELECT {spaces} AS spaces) AS w"


class _Reading:
    """A raw column as a number or the place of a level, by the type of its values; NULL where it is missing."""

    def __init__(self, column: RawColumn, dialect: _Dialect) -> None:
        self.column, self.dialect = column, dialect
        self.raw = f"t.{identifier(column.name)}"
        self.text = f"CAST({self.raw} AS VARCHAR)"
        self.trimmed = f"TRIM({self.text}, w.spaces)"
        codes, numbers = ", ".join(map(constant, column.missing)), ", ".join(map(_number, column.missing_numbers))
        self.null_texts = [(f"{self.trimmed} IN ({codes})", "NULL")] if codes else []
        self.null_number = f"{{0}} IN ({numbers})" if numbers else None
        read = {"number": self._of_numbers, "truth": self._of_truths, "category": self._of_levels}[column.kind]()
        tests = {"text": dialect.text, "number": dialect.number, "truth": dialect.truth, "time": dialect.time}
        cases = [(test.format(self.raw), read[kind]) for kind, test in tests.items() if test is not None]
        self.expression = _cases([(f"{self.raw} IS NULL", "NULL"), *cases], self._error("has another type"), "\n    ")

    def _error(self, what: str) -> str:
        """Stop, and name the column and the value."""
        message = constant(f"Column {self.column.name!r} {what}: ")
        return self.dialect.error.format(f"{message} || {self.text}")

    def _null(self, number: str, typed: bool = True) -> list[tuple[str, str]]:
        """Which numbers are missing values."""
        tests = [self.dialect.not_a_number if typed else None, self.null_number]
        return [(test.format(number), "NULL") for test in tests if test]

    def _truth(self, true: str, false: str) -> str:
        return _cases([(f"LOWER({self.text}) = 'true'", true)], false)

    def _of_numbers(self) -> dict[str, str]:
        wrong = self._error("should hold numbers, but does not")
        number, spelled = self.dialect.as_number.format(self.raw), f"CAST({self.trimmed} AS DOUBLE PRECISION)"
        no_number = (f"NOT {self.dialect.spells_number.format(self.trimmed)}", wrong)
        texts = _cases([*self.null_texts, no_number, *self._null(spelled, typed=False)], spelled)
        return {
            "text": texts,
            "number": _cases(self._null(number), number),
            "truth": self._truth(*_TRUTHS),
            "time": wrong,
        }

    def _of_truths(self) -> dict[str, str]:
        wrong = self._error("should hold true or false (0 or 1), but does not")
        number = self.dialect.as_number.format(self.raw)
        texts, numbers = [], []
        for truth, meant in _TRUTHS.items():
            texts.append((f"LOWER({self.trimmed}) IN ({_words(meant)})", truth))
            numbers.append((f"{number} = {truth}", truth))
        return {
            "text": _cases([*texts, *self.null_texts], wrong),
            "number": _cases([*self._null(number), *numbers], wrong),
            "truth": self._truth(*_TRUTHS),
            "time": wrong,
        }

    def _meant(self, known: LevelLookup) -> list[tuple[str, str]]:
        """The places of words for true and false."""
        return [
            (f"LOWER({self.trimmed}) IN ({_words(truth)})", str(place)) for truth, place in _told(known.truths).items()
        ]

    def _of_levels(self) -> dict[str, str]:
        known, new = self.column.lookup, str(_UNSEEN)
        unsure = self._error("holds a value of which it cannot be told what level of training it is (give it as text)")

        def of(place: int | None) -> str:
            return unsure if place is None else str(place)

        def looked_up(value: str, places: Mapping[Any, int | None], otherwise: str) -> str:
            whens = "".join(f" WHEN {constant(key)} THEN {of(place)}" for key, place in places.items())
            return f"CASE {value}{whens} ELSE {otherwise} END" if whens else otherwise

        exact = {float(key): place for key, place in known.numbers.items() if abs(key) < _EXACT}
        meant = self._meant(known) if known.binary else []
        spelled = looked_up(f"CAST({self.trimmed} AS DOUBLE PRECISION)", _told(exact), new)
        if spelled != new:
            meant = [(self.dialect.spells_number.format(self.trimmed), spelled)]
        texts = looked_up(self.trimmed, known.texts, _cases([*self.null_texts, *meant], new if known.texts else unsure))
        if any(level != level.strip() for level in known.texts):
            texts = looked_up(self.text, known.texts, texts)
        number = self.dialect.as_written.format(self.raw)
        large = {str(key): place for key, place in known.numbers.items() if abs(key) >= _EXACT}
        exact |= {float(key): None for key in large}
        numbers = looked_up(self.text, large, looked_up(number, exact, new)) if known.numbers else unsure
        numbers = looked_up(number, known.truths, unsure) if known.binary else numbers
        lengths = ", ".join(map(str, sorted({len(time) for time in known.times})))
        other_time = _cases([(f"LENGTH({self.text}) IN ({lengths})", new)] if lengths else [], unsure)
        truth, falsehood = (of(known.truths.get(each, _UNSEEN)) for each in (1, 0))
        return {
            "text": texts,
            "number": _cases(self._null(number), numbers),
            "truth": self._truth(truth, falsehood) if known.truths else unsure,
            "time": looked_up(self.text, known.times, other_time),
        }


def _words(truth: float) -> str:
    """The words for true or false."""
    return ", ".join(constant(word) for word, value in BOOLEANS.items() if value == truth)


def _told(places: Mapping[Any, int | None]) -> dict[Any, int]:
    """What has one place."""
    return {key: place for key, place in places.items() if place is not None}


def _cases(cases: list[tuple[str, str]], otherwise: str, between: str = " ") -> str:
    whens = "".join(f"{between}WHEN {test} THEN {value}" for test, value in cases)
    return f"CASE{whens}{between}ELSE {otherwise} END" if whens else otherwise


def _input(recipe: Recipe, given: Input, dialect: _Dialect) -> str:
    """A column of the model from the raw column that was read."""
    place, column = next((i, column) for i, column in enumerate(recipe.columns) if column.name == given.column)
    value = f"t.v{place}"
    if given.kind == "place":
        return value
    fill = "NULL" if given.fill is None else _number(given.fill)
    missing = (f"{value} IS NULL", fill)
    if given.kind == "missing":
        return _cases([missing], "0.0E0")
    if given.kind == "level":
        levels = [(f"{value} = {given.place}", "1.0E0"), (f"{value} = {_UNSEEN}", _number(given.unseen))]
        return _cases([missing, *levels], "0.0E0")
    if column.kind == "truth":
        return _cases([missing], value)
    message = constant(f"Column {column.name!r} holds infinity: ")
    infinite = dialect.error.format(f"{message} || CAST({value} AS VARCHAR)")
    return _cases([missing, (f"ABS({value}) <= {_number(np.finfo(float).max)}", value)], infinite)


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
    cases = "".join(f" WHEN {level} THEN {_number(value)}" for level, value in enumerate(rule.table[:-1, k]))
    return f"CASE x{place}{cases} WHEN {_UNSEEN} THEN {_number(rule.table[-1, k])} END"


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
