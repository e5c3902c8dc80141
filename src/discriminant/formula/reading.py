"""Parsing of formulas, without evaluation of code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np

from ..arrays import Array, MatrixLike
from ..basis import Basis
from ..data import dense_rows
from ..dependencies import optional_module
from ..errors import ColumnError, DiscriminantError, ParameterError, Setting
from ..results import quoted, shortened, suggestion
from ..tables.schema import Schema
from .calls import CONTRASTS, MAX_DEGREE, WORDS, Expression, meaning
from .design import Designer
from .terms import Contrast, ContrastKind, Factor, FormulaTerms, Making, refuse, term_name

# Maximum length of a formula and of a call, and depth of parentheses.
MAX_FORMULA_LENGTH: Final = 100_000
MAX_CALL_LENGTH: Final = 1000
MAX_DEPTH: Final = 20
# Maximum number of terms: the parser expands products term by term.
MAX_TERMS: Final = 5000
_TOKEN = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<number>\d+)(?![\w.])|(?P<all>\.)(?![\w.])"
    r"|(?P<operator>\*\*|[~+\-:*/^()]))"
)
_CALL, _POWER = re.compile(r"\s*\("), re.compile(r"\s*(?:\*\*|\^)\s*(\d+)(?![\w.])")
# The tokens of a call: texts, names, numbers, brackets.
_IN_CALL = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)(?P<next>\s*(?:\(|=(?!=)))?"""
    r"|\d[\w.]*|(?P<bracket>[()])|(?P<caret>\^)"
)


@dataclass(frozen=True)
class Formula:
    """A parsed formula: terms by degree, offsets, and whether there is an intercept."""

    text: str
    target: str
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    offsets: tuple[Factor, ...] = ()

    @classmethod
    def parse(cls, text: Any, columns: Iterable[str], apart: Iterable[str | None] = ()) -> Formula:
        """The formula of a table with these columns; a dot does not include those in ``apart``.

        >>> formula = Formula.parse("ill ~ age + C(race) * bs(bmi, df=4) - 1", ["ill", "age", "race", "bmi"])
        >>> [term_name(term) for term in formula.terms], formula.intercept
        (['age', 'C(race)', 'bs(bmi, df=4)', 'C(race):bs(bmi, df=4)'], False)
        """
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_FORMULA_LENGTH:
            must = f" must be text such as 'y ~ a + b' of at most {MAX_FORMULA_LENGTH:,} characters."
            raise ParameterError(Setting("formula"), must)
        return _Reader(text.strip(), tuple(columns), {*apart}).formula()

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the formula, without the target."""
        return list(dict.fromkeys(factor.column for factor in self.factors))

    @property
    def factors(self) -> list[Factor]:
        """The factors of all terms, and the offsets."""
        return [*chain.from_iterable(self.terms), *self.offsets]

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of columns in the formula."""
        factors = self.factors
        stated = {factor.column: "category" for factor in factors if factor.category}
        for factor in factors:
            if (factor.make is not None or factor.offset) and factor.column in stated:
                refuse(f"{factor.column!r} is a category and a number, {factor.text}. Copy the column for one of them.")
        return stated

    def training(self, table: Any, **options: Any) -> Any:
        """The training rows of an opened table (`read_training`), with the columns of the formula only.

        Each level of a category has a column. Types are those of the table, or categories by ``C(...)``.
        """
        from ..tables import read_training

        roles = {self.target, options.get("weights"), options.get("groups")}
        drop = [name for name in table.columns if name not in roles and name not in self.columns]
        types = {**(options.pop("types", None) or {}), **self.types}
        training = read_training(table, self.target, drop=drop, types=types, coding="full", by_type=True, **options)
        for column in training.schema.columns:
            if column.name in self.columns and column.dropped is not None:
                raise ColumnError(
                    f"Column {column.name!r} of the formula cannot be used: {column.dropped}. Leave it out, or correct "
                    "the table."
                )
        return training

    def design(
        self,
        schema: Schema,
        X: MatrixLike,
        weight: Array | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        contrast: ContrastKind | None = None,
    ) -> tuple[Basis, list[str], FormulaTerms]:
        """The basis of the formula for training rows, the names of its columns, and its terms.

        ``orders`` are the levels of ordered categories; ``contrast`` replaces the contrasts of the formula.
        """
        rows = np.asarray(dense_rows(X), dtype=np.float64)
        stated = None if contrast is None else Contrast(contrast)
        return Designer(self, schema, rows, weight, orders or {}, stated).design()


@dataclass
class _Reader:
    """Parser of a formula; formulaic gets the operators, and ``v0``, ``v1``, ... for the factors."""

    text: str
    columns: tuple[str, ...]
    apart: set[str | None]
    factors: dict[str, Factor] = field(default_factory=dict)  #: by variable name
    pieces: list[str] = field(default_factory=list)
    placed: dict[Any, str] = field(default_factory=dict)  #: variable names of factors

    def formula(self) -> Formula:
        at = depth = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                here = self.text[at:].lstrip()[:1]
                refuse(f"unexpected {here!r} at position {self.text.index(here, at) + 1}.")
            at = self._read(found)
            depth += (self.pieces[-1] == "(") - (self.pieces[-1] == ")")
            if depth > MAX_DEPTH:
                refuse(f"more than {MAX_DEPTH} nested parentheses.")
        left, right = self.pieces[:2], self.pieces[2:]
        if "~" not in left or "~" in right or left[0] not in self.factors:
            refuse(f"expected a column, ~ and terms, such as y ~ a + b; got {shortened(self.text, 80)!r}.")
        target = self.factors[left[0]]
        if target != Factor(target.text, target.text):
            refuse(f"the left side must be the target column, got {target.text}.")
        terms, intercept = _parsed(" ".join(right), self.factors)
        for factor in chain.from_iterable(terms):
            if factor.column == target.column:
                refuse(f"the target {target.column!r} is also on the right side, in {factor.text}.")
        for term in terms:
            if len(term) > 1 and any(factor.offset for factor in term):
                refuse(f"{term_name(term)} multiplies an offset, which must be a term of its own.")
        offsets = tuple(term[0] for term in terms if term[0].offset)
        terms = sorted((term for term in terms if not term[0].offset), key=len)
        if not terms:
            refuse("no terms on the right side. Add columns.")
        made = Formula(self.text, target.column, tuple(terms), intercept, offsets)
        _ = made.types
        return made

    def _read(self, found: re.Match[str]) -> int:
        """Read a token, or the call or power that begins with it; returns the position after it."""
        kind, at = found.lastgroup, found.end()
        if kind == "number":
            exponent = self.pieces[-1:] in (["**"], ["^"]) and found[kind] in map(str, range(2, MAX_DEGREE + 1))
            if not exponent and found[kind] not in ("0", "1"):
                number = shortened(found[kind], 20)
                refuse(f"unexpected number {number}; only 1 and 0 are terms, for the intercept and its absence.")
        if kind == "all":
            target = next(iter(self.factors.values())).column if self.factors else None
            others = [self._placed(Factor(c, c)) for c in self.columns if c != target and c not in self.apart]
            self.pieces += ["(", _sum(others), ")"]
        elif kind in ("number", "operator"):
            self.pieces.append(found[kind])
        else:
            called = kind == "name" and _CALL.match(self.text, at)
            at = self._end_of_call(called.end()) if called else at
            power = _POWER.match(self.text, at)
            at = power.end() if power else at
            whole = self.text[found.start() : at]
            name = str(found[str(kind)])
            factor = self._computed(whole) if called or power else Factor(name, self._known(name))
            self.pieces.append(self._placed(factor))
        return at

    def _placed(self, factor: Factor) -> str:
        """The variable name of a factor; the same text is the same factor."""
        name = self.placed.setdefault((factor.text, factor.make is None), f"v{len(self.factors)}")
        self.factors.setdefault(name, factor)
        return name

    def _known(self, name: str) -> str:
        if name not in self.columns:
            near = suggestion(name, self.columns)
            raise ColumnError(
                f"Unknown column {shortened(name, 80)!r} in the formula.{near} Columns: {quoted(self.columns, 20)}."
            )
        return name

    def _end_of_call(self, at: int) -> int:
        """The position after the closing parenthesis of a call."""
        depth, start = 1, at
        while depth:
            found = _IN_CALL.search(self.text, at)
            if found is None or at - start > MAX_CALL_LENGTH:
                call = shortened(self.text[start - 1 :], 80)
                refuse(f"unclosed parenthesis within {MAX_CALL_LENGTH:,} characters: {call!r}.")
            depth += {"(": 1, ")": -1}.get((found["bracket"] or found["next"] or "").strip(), 0)
            at = found.end()
            if depth > MAX_DEPTH:
                refuse(f"more than {MAX_DEPTH} nested parentheses.")
        return at

    def _computed(self, text: str) -> Factor:
        """The factor of a call, or of a power of a call or column."""
        names: dict[str, str] = {}

        def column(name: str, is_quoted: bool) -> str | None:
            word = not is_quoted and (name in WORDS or (name in CONTRASTS and name not in self.columns))
            return None if word else self._known(name)

        def restored(made: Any) -> str:
            written = re.sub(r"\b_\d+_\b", lambda found: names.get(found[0], found[0]), str(made))
            return written.replace(" ** ", "**")

        whole = text.strip()
        try:
            tree = ast.parse(with_placeholders(whole, names, column), mode="eval").body
            whole = restored(ast.unparse(tree))
            with np.errstate(all="ignore"):
                found = meaning(tree, names)
            if isinstance(found, Expression) and found.column is not None:
                found = Factor("", found.column, make=found.functions)
            if not isinstance(found, Factor):
                raise ValueError("it has no column")
        except DiscriminantError:
            raise
        except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
            refuse(f"{shortened(whole, 80)} is invalid: {shortened(restored(error), 200)}.")
        return replace(found, text=whole)


def with_placeholders(text: str, names: dict[str, str], column: Callable[[str, bool], str | None]) -> str:
    """The text with placeholders for columns, which are added to ``names``, as Python.

    ``column`` returns the column of a name, given whether it is quoted by backticks, or None for another word.
    """

    def placed(found: re.Match[str]) -> str:
        name = found["quoted"] or found["name"]
        known = None if name is None or found["next"] else column(name, found["quoted"] is not None)
        if known is None:
            return "**" if found["caret"] else found[0]
        names[f"_{len(names)}_"] = known
        return f"_{len(names) - 1}_"

    return _IN_CALL.sub(placed, text)


def _sum(names: Sequence[str]) -> str:
    """A balanced sum of all names: the parser's time grows with the square of the depth."""
    half = len(names) // 2
    return f"({_sum(names[:half])} + {_sum(names[half:])})" if half else names[0] if names else "0"


def _parsed(expression: str, factors: Mapping[str, Factor]) -> tuple[list[tuple[Factor, ...]], bool]:
    """The terms of an expression, by formulaic's parser, and whether there is an intercept."""
    parser = optional_module("formulaic.parser", "Formulas").DefaultFormulaParser(feature_flags=set())
    try:
        if _size(parser.get_ast(expression)) > MAX_TERMS:
            refuse(f"more than {MAX_TERMS:,} terms. Multiply fewer columns.")
        found = [[factor.expr for factor in term.factors] for term in parser.get_terms(expression)]
    except ParameterError:
        raise
    except Exception as error:  # of the parser
        reason = re.sub(r"\bv\d+\b", lambda name: factors[name[0]].text if name[0] in factors else name[0], str(error))
        refuse(f"invalid right side. {shortened((reason or type(error).__name__).splitlines()[0], 200)}")
    terms = [tuple(factors[name] for name in term if name in factors) for term in found]
    return [term for term in terms if term], len(terms) > len([term for term in terms if term])


def _size(node: Any) -> int:
    """An upper bound on the number of expanded terms."""
    size = 0
    while hasattr(node, "operator") and node.operator.symbol in ("+", "-") and len(node.args) == 2:
        size, node = size + _size(node.args[1]), node.args[0]  # long sums nest to the left
    if not hasattr(node, "operator"):
        return size + 1
    sizes = [min(_size(each), MAX_TERMS + 1) for each in node.args]
    if node.operator.symbol in ("**", "^"):
        return size + sizes[0] ** min(int(str(node.args[1])), MAX_DEGREE)
    return size + int(np.prod([1 + own for own in sizes]))


#: Functions that do not depend on training rows.
_ROW_FREE: Final = ("I", "log", "log2", "log10", "log1p", "exp", "sqrt")


def known_function(text: str) -> tuple[str, Making | None, str]:
    """The column of a factor, what makes its function (None: the column itself), and its name.

    >>> known_function("log(bmi / 10)")[::2], known_function("age")[::2]
    (('bmi', 'log(bmi / 10)'), ('age', 'age'))
    """
    whole = text.strip()
    if not re.search(r"[(^]|\*\*", whole):
        name = whole.removeprefix("`").removesuffix("`")
        return name, None, name
    called = whole.partition("(")[0].strip().removeprefix("np.")
    if called and called not in _ROW_FREE and not _POWER.search(whole):
        refuse(f"{shortened(whole, 80)} is computed from the rows of the fit. Use one of {', '.join(_ROW_FREE)}.")
    words = {*WORDS, *_ROW_FREE, "np"}
    names = [found["quoted"] or found["name"] for found in _IN_CALL.finditer(whole) if found.lastgroup]
    columns = tuple(dict.fromkeys(name for name in names if name and name not in words))
    made = _Reader(whole, columns, set())._computed(whole)
    return made.column, made.make, made.text
