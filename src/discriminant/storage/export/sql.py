"""A model as a query: each class's probability (or score) and the predicted class, for every row of a table.

The query goes in steps: raw columns as numbers and places of levels (v), the columns of the model (x), what functions
make of them (u, p, d, f, c), the scores of each member (s), their greatest (t), the exponentials of the differences
from it (e) and their sums (g), probabilities (a), answers. Every step is MATERIALIZED, for else databases compute a
value again wherever it is used, and passes on what later steps need: databases limit the columns of a step, and hardly
its text. How a value is read depends on the type that the database gave its column, see `_Dialect`; the rest is
standard SQL. Names and texts are quoted; raw columns appear with their table in front, so that a column that is not
there is an error everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...basis import Piecewise
from ...errors import ParameterError, Setting
from ...rules import DiagonalRule, LevelRule, LinearRule, QuadraticRule
from ...tables.levels import BOOLEANS
from .recipe import SPACES, Input, LevelLookup, Member, RawColumn, Recipe

#: Scores this far behind the greatest have a probability of 0 to every digit; the exponential of the difference, and
#: its product with the share of a member, are still numbers, without which PostgreSQL stops.
_FAR = 600.0
#: Functions of a value ``{0}``: where they are numbers, and how they are written.
_INNER = {
    "log": ("{0} > 0.0E0", "LN({0})"),
    "sqrt": ("{0} >= 0.0E0", "SQRT({0})"),
    "exp": ("{0} < 7.0E2", "CASE WHEN {0} < (-7.0E2) THEN 0.0E0 ELSE EXP({0}) END"),
}
#: Floats tell whole numbers below it apart.
_EXACT = 2**53
_TRUTHS = {"1.0E0": 1.0, "0.0E0": 0.0}
#: The place of a level that training had not.
_UNSEEN = -1


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
    zoned: str | None  #: whether a time has a zone
    spells_time: str  #: whether a text is a date, as 2020-12-31, maybe with a time after it, as 23:59 or 23:59:59.9
    seconds: (
        str  #: since 1970, of such a text, taken for the type ``{1}``; nothing that another text could not be given to
    )
    greatest: str = "GREATEST({0}, {1})"


_ZONED = "TIMESTAMP WITH TIME ZONE"
#: Where year, month and day begin in a text of a date, what stands between them, and where the time begins.
_DATE_PLACES: dict[str, tuple[Any, ...]] = {
    "ymd": (1, 6, 9, (5, 8), 11),
    "dmy": (7, 4, 1, (3, 6), 11),
    "mdy": (7, 1, 4, (3, 6), 11),
    "digits": (1, 5, 7, (), 9),
}
_NUMBER_PATTERN = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
_DATE_PATTERN = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]([ T][0-9][0-9]:[0-9][0-9](:[0-9][0-9]([.][0-9]+)?)?)?"
_CALENDAR_PATTERN = (
    "(?!0000)[0-9][0-9][0-9][0-9]-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    "([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)?"
)
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
        zoned="typeof({0}) = 'TIMESTAMP WITH TIME ZONE'",
        spells_time=f"(regexp_full_match({{0}}, '{_DATE_PATTERN}') AND TRY_CAST({{0}} AS TIMESTAMP) IS NOT NULL)",
        seconds="EXTRACT(EPOCH FROM CAST({0} AS {1}))",
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
        # A number too large or too small for a float would stop the query without the name of the column.
        spells_number=f"CASE WHEN {{0}} ~ '^({_NUMBER_PATTERN[:-3]}{{{{1,3}}}})?)$' THEN CAST({{0}} AS NUMERIC) = 0 OR "
        "ABS(CAST({0} AS NUMERIC)) BETWEEN 2.3E-308 AND 1.797E308 ELSE FALSE END",
        error="CAST({0} AS DOUBLE PRECISION)",  # which fails, and says what it was given
        character="CHR({0})",
        zoned="pg_typeof({0}) = 'timestamptz'::regtype",
        # So would a day or a time that there is not.
        spells_time=f"CASE WHEN {{0}} ~ '^({_CALENDAR_PATTERN})$' THEN CAST(SUBSTR({{0}}, 9, 2) AS INTEGER) <= EXTRACT("
        "DAY FROM CAST(SUBSTR({0}, 1, 8) || '01' AS DATE) + INTERVAL '1 month -1 day') ELSE FALSE END",
        seconds="CAST(EXTRACT(EPOCH FROM CAST({0} AS {1})) AS DOUBLE PRECISION)",
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
        zoned=None,
        spells_time="({0} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' AND DATE(SUBSTR({0}, 1, 10), '+0 days') = "
        "SUBSTR({0}, 1, 10) AND (LENGTH({0}) = 10 OR SUBSTR({0}, 11) GLOB '[ T][0-9][0-9]:[0-9][0-9]*' AND "
        "SUBSTR({0}, 17) NOT GLOB '*[^0-9.:]*' AND STRFTIME('%s', {0}) IS NOT NULL))",
        seconds="(CAST(STRFTIME('%s', SUBSTR({0}, 1, 19)) AS DOUBLE PRECISION) + "  # SQLite's own fractions are rounded
        "CAST('0' || SUBSTR({0}, 20) AS DOUBLE PRECISION))",
        greatest="MAX({0}, {1})",
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
_Feature = tuple[str, tuple[str, ...]]


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

    def _terms(self, rule: Any, features: list[_Feature], k: int) -> list[_Feature]:
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
                far = (f"{score} - {top} < {_number(-_FAR)}", "0.0E0")
                text = _cases([far], f"EXP({score} - {top})")
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
    """A raw column as a number or the place of a level, by the type of its values; NULL where it is missing."""

    def __init__(self, column: RawColumn, dialect: _Dialect) -> None:
        self.column, self.dialect = column, dialect
        self.raw = f"t.{identifier(column.name)}"
        self.text = f"CAST({self.raw} AS VARCHAR)"
        self.trimmed = f"TRIM({self.text}, w.spaces)"
        codes, numbers = ", ".join(map(constant, column.missing)), ", ".join(map(_number, column.missing_numbers))
        self.null_texts = [(f"{self.trimmed} IN ({codes})", "NULL")] if codes else []
        self.null_number = f"{{0}} IN ({numbers})" if numbers else None
        kinds = {"truth": self._of_truths, "category": self._of_levels, "date": self._of_dates}
        read = kinds.get(column.kind, self._of_numbers)()
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
        if self.column.kind == "amount":  # 1.234 may be a thousand
            texts = _cases(self.null_texts, self._error("holds amounts as text, of which numbers have to be made"))
        return {
            "text": texts,
            "number": _cases(self._null(number), number),
            "truth": self._truth(*_TRUTHS),
            "time": wrong,
        }

    def _of_dates(self) -> dict[str, str]:
        assert self.column.notation is not None
        order, number = self.column.notation.date, self.dialect.as_number.format(self.raw)
        wrong = self._error("should hold dates or times, written with all digits, but does not")
        digits = self._dated(f"CAST(CAST({number} AS BIGINT) AS VARCHAR)", order)
        typed = self._moment(f"'1970-01-01 ' || {self.text}" if order == "time" else self.text)
        zoned = [(self.dialect.zoned.format(self.raw), self._moment(self.text, _ZONED))] if self.dialect.zoned else []
        return {
            "text": _cases([*self.null_texts, *self._dated(self.trimmed, order)], wrong),
            "number": _cases([*self._null(number), *digits], wrong) if order == "digits" else wrong,
            "truth": wrong,
            "time": _cases(zoned, typed),
        }

    def _dated(self, text: str, order: str | None) -> list[tuple[str, str]]:
        """Whether a text is a date of an order, without or with a zone, and the days or hours that it stands for."""
        if order == "time":
            iso, between = f"'1970-01-01 ' || {text}", []
        else:
            *places, between, rest = _DATE_PLACES[order or "ymd"]
            year, month, day = (f"SUBSTR({text}, {at}, {n})" for at, n in zip(places, (4, 2, 2), strict=True))
            iso = f"{year} || '-' || {month} || '-' || {day} || SUBSTR({text}, {rest})"
        iso, tests = f"({iso})", [f"SUBSTR({text}, {at}, 1) IN ('-', '/', '.', ' ')" for at in between]
        found = [(" AND ".join([*tests, self.dialect.spells_time.format(iso)]), self._moment(iso))]
        if order != "digits":
            tests.append(f"SUBSTR({iso}, 14, 1) = ':'")  # only a time of day has a zone
            for length, is_zone, offset in _zones(iso):
                local = f"RTRIM(SUBSTR({iso}, 1, ABS(LENGTH({iso}) - {length})))"
                zoned = " AND ".join([*tests, is_zone, self.dialect.spells_time.format(local)])
                found.append((zoned, self._moment(local, offset=offset)))
        return found

    def _moment(self, text: str, kind: str = "TIMESTAMP", offset: str = "") -> str:
        """The days since 1970-01-01, or hours since midnight, of a time as ISO 8601 writes it.

        ``offset`` is how many seconds its zone is ahead.
        """
        notation = self.column.notation
        unit = 3600.0 if notation and notation.date == "time" else 86400.0
        seconds = self.dialect.seconds.format(text, kind)
        value = f"{f'({seconds} - {offset})' if offset else seconds} / {_number(unit)}"
        return _cases(self._null(value, typed=False), value)

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


def _zones(text: str) -> list[tuple[int, str, str]]:
    """The zones that a text may end in: how long each is, whether it is there, and the seconds that it is ahead."""

    def end(length: int, start: int = 1, count: int | None = None) -> str:
        """Characters of the end of the text that is so long."""
        return f"SUBSTR({text}, LENGTH({text}) - {length - start}, {length if count is None else count})"

    found = [(length, f"{end(length)} IN ({names})", "") for length, names in ((1, "'Z'"), (3, "'UTC', 'GMT'"))]
    for length, minutes in ((3, 0), (5, 4), (6, 5)):  # +02, +0200, +02:00
        numbers = [end(length, at, 2) for at in (2, minutes) if at]
        colon = [f"{end(length, 4, 1)} = ':'"] if length == 6 else []
        digits = f"TRIM({' || '.join(numbers)}, '0123456789') = ''"
        test = " AND ".join([f"{end(length, 1, 1)} IN ('+', '-')", *colon, digits])
        parts = zip(("3.6E3", "6.0E1"), numbers, strict=False)
        ahead = " + ".join(f"{unit} * CAST({number} AS DOUBLE PRECISION)" for unit, number in parts)
        found.append((length, test, f"(CASE {end(length, 1, 1)} WHEN '-' THEN (-1.0E0) ELSE 1.0E0 END * ({ahead}))"))
    return found


def _words(truth: float) -> str:
    """The words for true or false in small letters, and as databases write them that only make ASCII small."""
    words = [word for word, value in BOOLEANS.items() if value == truth]
    half = ["".join(sign.lower() if sign.isascii() else sign for sign in word.upper()) for word in words]
    return ", ".join(map(constant, dict.fromkeys([*words, *half])))


def _told(places: Mapping[Any, int | None]) -> dict[Any, int]:
    """What has one place."""
    return {key: place for key, place in places.items() if place is not None}


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
