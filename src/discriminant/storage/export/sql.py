"""A model as an SQL query: the probability (or score) of each class and the predicted class of every row of a table.

The query is a chain of common table expressions: raw columns as numbers or level positions (v), columns of the model
(x), functions of these (u, p, d, f, c), scores of each member (s), their maximum (t), exponentials of the differences
from it (e) and their sums (g), probabilities (a), and the result. Every step is MATERIALIZED, because databases would
otherwise compute a value again wherever it is used, and passes on only what later steps need, because databases limit
the number of columns. A column is read as the type that the database declares for it (`_Dialect`); values of any other
type stop the query with an error that names the column. The rest is standard SQL. Identifiers and texts are quoted,
and raw columns carry their table's alias, so that a missing column is an error in every database.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ...arrays import Array
from ...basis import Piecewise
from ...errors import ParameterError, Setting
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from .recipe import MAX_EXACT_INTEGER, SPACES, Input, Member, PartRule, RawColumn, Recipe

# Scores this underflow below the maximum have probability 0 in double precision. Their exponentials are not computed:
# PostgreSQL stops when one underflows.
MAX_LOG_RATIO: Final = 600.0
# Functions of a value ``{0}``: their domain, and their SQL.
_INNER = {
    "log": ("{0} > 0.0E0", "LN({0})"),
    "sqrt": ("{0} >= 0.0E0", "SQRT({0})"),
    "exp": ("{0} < 7.0E2", "CASE WHEN {0} < (-7.0E2) THEN 0.0E0 ELSE EXP({0}) END"),
}
# The position of an unseen level.
_UNSEEN: Final = -1


@dataclass(frozen=True)
class _Dialect:
    """The expressions that differ between databases; ``{0}`` is a column or text."""

    text: str  #: whether the value's type is text
    number: str
    as_number: str  #: the number, in double precision
    as_written: str  #: the number with the digits that the database prints: 0.1 for a 32-bit 0.1
    error: str  #: stop with a message
    character: str  #: the character of a code point
    seconds: str  #: seconds since 1970 of the text of a date or time, cast to the type ``{1}``
    truth: str | None = None  #: None where the database has no such type
    time: str | None = None
    is_nan: str | None = None  #: None where the database has no NaN
    has_zone: str | None = None  #: whether the type is a time with a time zone
    is_iso: str | None = None  #: whether a text is an ISO 8601 date or time, for databases without types for these
    greatest: str = "GREATEST({0}, {1})"


_ZONED: Final = "TIMESTAMP WITH TIME ZONE"
# The values of each kind of column, for messages.
_EXPECTED: Final = {
    "number": "numbers",
    "amount": "amounts as numbers",
    "truth": "true or false, 1 or 0, or words such as yes and no",
    "date": "dates or times of the database's own types (SQLite: ISO 8601 text)",
    "category": "text, or numbers or booleans that are levels",
}
_DIALECTS: Final = {
    name: _Dialect(**expressions)
    for name, expressions in tomllib.loads(
        Path(__file__).with_name("dialects.toml").read_text(encoding="utf-8")
    ).items()
}


def sql_query(recipe: Recipe, dialect: str | None, table: str | Sequence[str], keep: Sequence[str]) -> str:
    """The text of the query."""
    if dialect not in _DIALECTS:
        raise ParameterError(
            Setting("dialect"),
            f" must be one of {', '.join(_DIALECTS)}, got {dialect!r}. SQL is written for one database.",
        )
    names = [*keep, "prediction", *(f"{recipe.answer}_{label}" for label in recipe.classes)]
    if len(set(names)) < len(names):
        raise ParameterError(
            f"Duplicate column names in the query: {names}. Choose other columns to ", Setting("keep"), "."
        )
    query = _Query(recipe, _DIALECTS[dialect], keep)
    source = identifier(table) if isinstance(table, str) else ".".join(map(identifier, table))
    return query.text(source)


class _Steps:
    """Named expressions: each is computed in the step after those that it needs, and passed on while it is needed."""

    def __init__(self) -> None:
        self._columns: dict[str, tuple[int, str, tuple[str, ...]]] = {}

    def add(self, name: str, expression: str, needs: Iterable[str] = ()) -> str:
        """The name, once it stands for the expression."""
        needed = tuple(dict.fromkeys(needs))
        self._columns[name] = 1 + max((self._columns[other][0] for other in needed), default=-1), expression, needed
        return name

    def written(self, wanted: Iterable[str], source: str) -> tuple[str, str]:
        """The steps that lead to some columns, and the name of the last."""
        end = 1 + max(step for step, _, _ in self._columns.values())
        until = dict.fromkeys(wanted, end)  # the last step that reads each
        for name, (step, _, needed) in reversed(self._columns.items()):
            if name in until:
                for other in needed:
                    until[other] = max(until.get(other, 0), step)
        steps = []
        for now in range(end):
            columns = [
                name if step < now else f"{expression} AS {name}"
                for name, (step, expression, _) in self._columns.items()
                if step <= now < until.get(name, 0)
            ]
            steps.append(f"discriminant_{now} AS MATERIALIZED (\nSELECT {_listed(columns)}\nFROM {source}\n)")
            source = f"discriminant_{now}"
        return ",\n".join(steps), source


#: How a feature is written, and the columns that it needs.
_Feature: TypeAlias = tuple[str, tuple[str, ...]]


class _Query:
    """The steps from the values of a row to the answers of a recipe."""

    def __init__(self, recipe: Recipe, dialect: _Dialect, keep: Sequence[str]) -> None:
        self.recipe, self.dialect, self.keep, self.steps = recipe, dialect, keep, _Steps()
        self.shared: dict[Any, str] = {}  #: what several members need, by what it is made of
        for i, name in enumerate(keep):
            self.steps.add(f"k{i}", f"t.{identifier(name)}")
        for i, column in enumerate(recipe.columns):
            self.steps.add(f"v{i}", _Reading(column, dialect).expression)
        place = {column.name: i for i, column in enumerate(recipe.columns)}
        self.inputs: list[_Feature] = []
        for j, given in enumerate(recipe.inputs):
            i = place[given.column]
            name = self.steps.add(f"x{j}", _input(f"v{i}", recipe.columns[i], given, dialect), [f"v{i}"])
            self.inputs.append((name, (name,)))

    def text(self, source: str) -> str:
        """The query of a table."""
        recipe = self.recipe
        scores = [self._scores(m, member) for m, member in enumerate(recipe.members)]
        compared, answers = scores[0], scores[0]
        if recipe.answer == "probability":
            answers = self._probabilities(scores)
            compared = answers if len(scores) > 1 else compared
        columns = [f"k{i} AS {identifier(name)}" for i, name in enumerate(self.keep)]
        columns.append(f"{_label(recipe, compared)} AS {identifier('prediction')}")
        never = "0.0E0" if recipe.answer == "probability" else "NULL"
        for k, label in enumerate(recipe.classes):
            columns.append(f"{answers.get(k, never)} AS {identifier(f'{recipe.answer}_{label}')}")
        spaces = " || ".join(map(self.dialect.character.format, SPACES))
        raw = f"{source} AS t\nCROSS JOIN (SELECT {spaces} AS spaces) AS w"
        wanted = [*(f"k{i}" for i in range(len(self.keep))), *compared.values(), *answers.values()]
        steps, last = self.steps.written(wanted, raw)
        return f"WITH {steps}\nSELECT {_listed(columns)}\nFROM {last}\n"

    def _scores(self, m: int, member: Member) -> dict[int, str]:
        """The columns of a member's scores, by class."""
        features = [*self.inputs]
        for function in member.functions:
            for output in range(function.n_outputs):
                text, needs = self._polynomials(function, output)
                name = self.steps.add(f"f{m}_{len(features)}", text, needs)
                features.append((name, (name,)))
        for places in member.products:
            factors = [features[j] for j in places]
            text = " * ".join(["1.0E0"][len(factors) :] + [text for text, _ in factors])
            features.append((text, tuple(name for _, needs in factors for name in needs)))
        found = {}
        for k in member.possible:
            terms: list[_Feature] = [(_number(member.constants[k]), ())]
            for part in member.parts:
                terms += self._terms(part.rule, [features[j] for j in part.places], k)
            needed = (name for _, needs in terms for name in needs)
            found[k] = self.steps.add(f"s{m}_{k}", _sum([text for text, _ in terms]), needed)
        return found

    def _terms(self, rule: PartRule, features: list[_Feature], k: int) -> list[_Feature]:
        """What a part adds to the score of a class, term by term."""
        if isinstance(rule, LevelRule):
            text, needs = features[0]
            cases = "".join(f" WHEN {level} THEN {_number(value)}" for level, value in enumerate(rule.table[:-1, k]))
            return [(f"CASE {text}{cases} WHEN {_UNSEEN} THEN {_number(rule.table[-1, k])} END", needs)]
        if isinstance(rule, Piecewise):
            return [self._polynomials(rule, k)]
        if isinstance(rule, LinearRule):
            used = [(j, *features[j]) for j in np.flatnonzero(rule.coef.any(axis=0))]
            return [(f"{_number(rule.coef[k, j])} * {_minus(text, rule.centre[j])}", needs) for j, text, needs in used]
        if isinstance(rule, DiagonalRule):
            steps = [(_minus(text, mean), needs) for mean, (text, needs) in zip(rule.means[k], features, strict=True)]
            weights = map(_number, -0.5 / rule.variances[k])
            return [(f"{w} * {step} * {step}", needs) for w, (step, needs) in zip(weights, steps, strict=True)]
        return self._squares(rule, features, k)

    def _squares(self, rule: QuadraticRule, features: list[_Feature], k: int) -> list[_Feature]:
        """The squared length of the step from the mean of a class, on axes along which steps are independent."""
        centred = [self._centred(*each) for each in zip(features, rule.centre.tolist(), strict=True)]
        offsets = rule.offsets[k] @ rule.spheres[k]
        terms = []
        for axis, offset in zip(rule.spheres[k].T, offsets.tolist(), strict=True):
            used = np.flatnonzero(axis)
            steps = [f"{_number(axis[j])} * {centred[j]}" for j in used]
            length = _sum([_number(-offset), *steps])
            terms.append((f"(-0.5E0) * POWER({length}, 2.0E0)", tuple(centred[j] for j in used)))
        return terms

    def _centred(self, feature: _Feature, centre: float) -> str:
        """The column of a feature's step from a centre."""
        key = feature, centre
        if key not in self.shared:
            self.shared[key] = self.steps.add(f"c{len(self.shared)}", _minus(feature[0], centre), feature[1])
        return self.shared[key]

    def _polynomials(self, function: Piecewise, output: int) -> _Feature:
        """An output of a function."""
        u = self._argument(function)
        key = u, tuple(function.breaks.tolist()), tuple(function.origins.tolist())
        if key not in self.shared:
            n = len(self.shared)
            ends = [(f"{u} < {_number(end)}", str(i)) for i, end in enumerate(function.breaks)]
            piece = _cases([(f"{u} IS NULL", "NULL"), *ends], str(len(ends)))
            steps = [(f"{u} < {_number(end)}", _minus(u, at)) for end, at in zip(*key[1:], strict=False)]
            self.steps.add(f"p{n}", piece, [u])
            self.steps.add(f"d{n}", _cases(steps, _minus(u, function.origins[-1])), [u])
            self.shared[key] = str(n)
        piece, step = (f"{letter}{self.shared[key]}" for letter in "pd")
        values = [_polynomial(powers[output], step) for powers in function.coefficients]
        whens = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values))
        return f"CASE {piece} {whens} END", (piece, step)

    def _argument(self, function: Piecewise) -> str:
        """The column that the polynomials of a function are of."""
        x = self.inputs[function.column][0]
        if function.inner == "identity":
            return x
        key = x, function.inner, function.slope, function.offset
        if key not in self.shared:
            given = f"({_number(function.offset)} + {_number(function.slope)} * {x})"
            taken, value = (text.format(given) for text in _INNER[function.inner])
            message = constant(f"Column {self.recipe.inputs[function.column].column!r} has no {function.inner}: ")
            wrong = self.dialect.error.format(f"{message} || CAST({x} AS VARCHAR)")
            text = _cases([(f"{x} IS NULL", "NULL"), (taken, value)], wrong)
            self.shared[key] = self.steps.add(f"u{len(self.shared)}", text, [x])
        return self.shared[key]

    def _probabilities(self, scores: list[dict[int, str]]) -> dict[int, str]:
        """The columns of the classes' probabilities."""
        shares: dict[int, list[_Feature]] = {}
        for m, (member, own) in enumerate(zip(self.recipe.members, scores, strict=True)):
            top = _paired(list(own.values()), self.dialect.greatest.format)
            top = self.steps.add(f"t{m}", top, own.values())
            exponentials = {}
            for k, score in own.items():
                underflow = (f"{score} - {top} < {_number(-MAX_LOG_RATIO)}", "0.0E0")
                text = _cases([underflow], f"EXP({score} - {top})")
                exponentials[k] = self.steps.add(f"e{m}_{k}", text, [score, top])
            total = self.steps.add(f"g{m}", _sum(list(exponentials.values())), exponentials.values())
            for k, name in exponentials.items():
                text = f"{name} / {total}" if member.share == 1 else f"{_number(member.share)} * {name} / {total}"
                shares.setdefault(k, []).append((text, (name, total)))
        return {
            k: self.steps.add(f"a{k}", _sum([text for text, _ in own]), [name for _, needs in own for name in needs])
            for k, own in sorted(shares.items())
        }


class _Reading:
    """A raw column as a number or the position of a level, by its type in the database; NULL where it is missing."""

    def __init__(self, column: RawColumn, dialect: _Dialect) -> None:
        self.column, self.dialect = column, dialect
        self.raw = f"t.{identifier(column.name)}"
        self.text = f"CAST({self.raw} AS VARCHAR)"
        self.number = dialect.as_number.format(self.raw)
        self._truth = _cases([(f"LOWER({self.text}) = 'true'", "1.0E0")], "0.0E0")
        readers = {"truth": self._of_truths, "category": self._of_levels, "date": self._of_dates}
        by_type = readers.get(column.kind, self._of_numbers)()
        tests = {"text": dialect.text, "number": dialect.number, "truth": dialect.truth, "time": dialect.time}
        cases = [(test.format(self.raw), by_type[kind]) for kind, test in tests.items() if test and kind in by_type]
        wrong = self._error(f"should hold {_EXPECTED[column.kind]}")
        self.expression = _cases([(f"{self.raw} IS NULL", "NULL"), *cases], wrong, "\n    ")

    def _error(self, problem: str) -> str:
        """Stop the query with the column and the value."""
        message = constant(f"Column {self.column.name!r} {problem}, got: ")
        return self.dialect.error.format(f"{message} || {self.text}")

    def _missing(self, number: str) -> list[tuple[str, str]]:
        """The numbers that are missing values."""
        codes = ", ".join(map(_number, self.column.missing_numbers))
        return [(f"{number} IN ({codes})", "NULL")] if codes else []

    def _typed(self, number: str, cases: list[tuple[str, str]], otherwise: str) -> str:
        """Cases of a number of the database, after those where it is missing."""
        nan = [(self.dialect.is_nan.format(number), "NULL")] if self.dialect.is_nan else []
        return _cases([*nan, *self._missing(number), *cases], otherwise)

    def _of_numbers(self) -> dict[str, str]:
        return {"number": self._typed(self.number, [], self.number), "truth": self._truth}

    def _of_truths(self) -> dict[str, str]:
        wrong = self._error(f"should hold {_EXPECTED['truth']}")
        words = {truth: ", ".join(constant(w) for w, v in BOOLEANS.items() if v == truth) for truth in (1.0, 0.0)}
        texts = [(f"LOWER({self.text}) IN ({words[truth]})", _number(truth)) for truth in words]
        numbers = [(f"{self.number} = {_number(truth)}", _number(truth)) for truth in words]
        return {"text": _cases(texts, wrong), "number": self._typed(self.number, numbers, wrong), "truth": self._truth}

    def _of_dates(self) -> dict[str, str]:
        """Days since 1970-01-01, or hours since midnight."""
        of_day = self.column.notation is not None and self.column.notation.date == "time"
        text = f"('1970-01-01 ' || {self.text})" if of_day else self.text

        def moment(text: str, kind: str = "TIMESTAMP") -> str:
            value = f"{self.dialect.seconds.format(text, kind)} / {_number(3600.0 if of_day else 86400.0)}"
            return _cases(self._missing(value), value)

        if self.dialect.is_iso is not None:
            wrong = self._error(f"should hold {_EXPECTED['date']}")
            return {"text": _cases([(self.dialect.is_iso.format(text), moment(text))], wrong)}
        zone = [(self.dialect.has_zone.format(self.raw), moment(self.text, _ZONED))] if self.dialect.has_zone else []
        return {"time": _cases(zone, moment(text))}

    def _of_levels(self) -> dict[str, str]:
        """Text is looked up as it is spelled, without spaces around it; numbers and truth values by their meaning."""
        known, new, found = self.column.lookup, str(_UNSEEN), dict[str, str]()
        wrong = self._error("should hold one of its levels")

        def looked_up(value: str, places: Mapping[Any, int | None], otherwise: str) -> str:
            whens = "".join(
                f" WHEN {constant(key)} THEN {wrong if place is None else place}" for key, place in places.items()
            )
            return f"CASE {value}{whens} ELSE {otherwise} END"

        if known.texts:
            # Other spellings of numbers and truth values may be levels: they are refused, not scored as unseen levels.
            otherwise = wrong if known.binary or known.numbers else new
            if self.column.missing:
                codes = ", ".join(map(constant, self.column.missing))
                otherwise = f"CASE WHEN TRIM({self.text}, w.spaces) IN ({codes}) THEN NULL ELSE {otherwise} END"
            found["text"] = looked_up(f"TRIM({self.text}, w.spaces)", known.texts, otherwise)
            if any(level != level.strip() for level in known.texts):
                found["text"] = looked_up(self.text, known.texts, found["text"])
        number, otherwise = self.dialect.as_written.format(self.raw), wrong if known.binary else new
        numbers = {float(key): place for key, place in (known.truths if known.binary else known.numbers).items()}
        if numbers and max(map(abs, numbers)) < MAX_EXACT_INTEGER:
            found["number"] = self._typed(number, [], looked_up(number, numbers, otherwise))
        if known.truths:
            true, false = (known.truths.get(each, _UNSEEN) for each in (1, 0))
            found["truth"] = looked_up(f"LOWER({self.text})", {"true": true, "false": false}, wrong)
        return found


def _cases(cases: list[tuple[str, str]], otherwise: str, between: str = " ") -> str:
    whens = "".join(f"{between}WHEN {test} THEN {value}" for test, value in cases)
    return f"CASE{whens}{between}ELSE {otherwise} END" if whens else otherwise


def _input(value: str, column: RawColumn, given: Input, dialect: _Dialect) -> str:
    """A column of the model from the raw column that was read."""
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


def _listed(columns: list[str]) -> str:
    return ",\n  ".join(columns)


def identifier(name: str) -> str:
    """A name in quotes."""
    if "\x00" in name:
        raise ParameterError(f"SQL cannot hold the name {name!r}: it has a NUL character. Rename the column.")
    return '"' + name.replace('"', '""') + '"'


def constant(value: Hashable) -> str:
    """A value as SQL writes it: a truth value, a number to its last digit, or text in quotes."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str) and "\x00" not in value:
        return "'" + value.replace("'", "''") + "'"
    raise ParameterError(f"SQL cannot hold the value {value!r}. Use numbers, booleans or text as classes and levels.")


def _number(value: float) -> str:
    """A floating-point number; negative ones in brackets, because two minus signs begin a comment."""
    text = np.format_float_scientific(value, unique=True, trim="0").upper()
    return f"({text})" if text.startswith("-") else text


def _minus(text: str, number: float) -> str:
    """The difference of a feature from a number, in brackets."""
    return f"({text} - {_number(number)})" if number else f"({text})" if " " in text else text


def _polynomial(coefficients: Array, step: str) -> str:
    """A polynomial of a column, as few products as it can be."""
    degree = int(np.max(np.flatnonzero(coefficients), initial=0))
    text = _number(coefficients[degree])
    for coefficient in coefficients[:degree][::-1]:
        text = f"({_number(coefficient)} + {step} * {text})"
    return text


def _sum(terms: list[str]) -> str:
    return _paired(terms, "({} + {})".format) if terms else "0.0E0"


def _paired(terms: list[str], join: Callable[[str, str], str]) -> str:
    """The terms joined in pairs of pairs: databases limit how deep an expression may be, not how long."""
    while len(terms) > 1:
        last = terms[len(terms) - len(terms) % 2 :]
        terms = [join(*pair) for pair in zip(terms[::2], terms[1::2], strict=False)] + last
    return terms[0]


def _label(recipe: Recipe, compared: Mapping[int, str]) -> str:
    """The class of the greatest of the compared columns, which are by class."""
    possible, sign, cases = list(compared), ">" if recipe.last_wins else ">=", []
    classes = recipe.classes
    if any(isinstance(label, int) and abs(label) >= 2**63 for label in classes):
        classes = [*map(str, classes)]  # SQLite would make floats of such numbers
    for place, k in enumerate(possible):
        # Who comes later is enough: an earlier class that was passed over has a better one behind it.
        own, later = compared[k], [compared[other] for other in possible[place + 1 :]]
        beats = " AND ".join(f"{own} {sign} {other}" for other in later) or f"{own} IS NOT NULL"
        cases.append(f"WHEN {beats} THEN {constant(classes[k])}")
    return f"CASE {' '.join(cases)} END"
