"""Formulas such as ``ill ~ age + sex * dose + bs(bmi, df=4)``: from text to terms, and with training rows to a `Basis`.

Nothing in a formula is run. Its calls are read here, by their syntax tree, from a list of functions of one column with
plain arguments. What is left are names and operators, of which formulaic's parser makes terms as R and patsy do. Which
levels, knots and polynomials these stand for is found in the training rows and kept as data: a fitted model needs
neither the formula nor formulaic again.

References
----------
Wilkinson, G. N. & Rogers, C. E. (1973). Symbolic description of factorial models for analysis of variance. Applied
Statistics 22.
Chambers, J. M. & Hastie, T. J., eds. (1992). Statistical Models in S.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, combinations, product
from typing import Any, Literal, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.polynomial import polynomial

from .arrays import Array
from .basis import (
    Basis,
    Piecewise,
    b_splines,
    cubic_regression_splines,
    natural_splines,
    orthogonal_polynomials,
    powers,
)
from .data import Rows, as_frame, as_rows, check_shapes, dense_rows, require
from .dependencies import optional_module
from .errors import ColumnError, DiscriminantError, InputError, ParameterError, Setting
from .results import quoted, shortened, suggestion
from .tables.levels import number_meant
from .tables.schema import OTHER, Column, Schema

ContrastKind = Literal["treatment", "sum", "helmert", "poly"]
#: Functions of a column, made from its place, its values and their weights.
Making = Callable[[int, Array, Array | None], Piecewise]

#: Letters of a formula and of a call in it, parentheses within each other: more than people write.
_MOST_LETTERS, _MOST_CALL_LETTERS, _MOST_DEPTH = 100_000, 1000, 20
#: Terms, categories that are multiplied in one, columns made of all of them, and powers.
_MOST_TERMS, _MOST_CROSSED, _MOST_COLUMNS, _MOST_DEGREE = 5000, 6, 10_000, 10
_TOKEN = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<number>\d+)(?![\w.])|(?P<all>\.)(?![\w.])"
    r"|(?P<operator>\*\*|[~+\-:*/^()]))"
)
_CALL, _POWER = re.compile(r"\s*\("), re.compile(r"\s*(?:\*\*|\^)\s*(\d+)(?![\w.])")
#: Columns of a formula with contrasts other than comparisons with a reference: their weights are a matrix.
_MOST_COMBINED = 2000
#: Levels of polynomial contrasts, as R has it: beyond, they are no longer orthogonal to rounding.
_MOST_SCORES = 95
#: What a call is made of, as far as its end and its columns are concerned.
_IN_CALL = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)(?P<next>\s*(?:\(|=(?!=)))?"""
    r"|\d[\w.]*|(?P<bracket>[()])|(?P<caret>\^)"
)


@dataclass(frozen=True)
class Contrast:
    """The coding of a factor: the columns that take the place of those of its levels where one column is redundant.

    References
    ----------
    Chambers, J. M. & Hastie, T. J., eds. (1992). Statistical Models in S, section 2.3.2.
    """

    kind: ContrastKind
    level: str | None = None  #: the reference level of "treatment", by default the first; of "sum" the last
    scores: tuple[float, ...] | None = None  #: of the levels, for "poly"; by default 1, 2, 3, ...

    def columns(self, levels: Sequence[str], special: int) -> tuple[Array, list[str]]:
        """The weights of levels in each column (n_levels, n_levels - 1), and what to append to the factor's name.

        ``special`` is the place of the reference or omitted level.
        """
        n = len(levels)
        others = [level for j, level in enumerate(levels) if j != special]
        if self.kind == "treatment":
            return np.delete(np.eye(n), special, axis=1), [f"={level}" for level in others]
        if self.kind == "sum":
            weights = np.delete(np.eye(n), special, axis=1)
            weights[special] = -1.0
            return weights, [f"[S.{level}]" for level in others]
        if self.kind == "helmert":
            weights = np.diag(np.arange(n, dtype=np.float64))[:, 1:] - np.triu(np.ones((n, n)), 1)[:, 1:]
            return weights, [f"[H.{level}]" for level in levels[1:]]
        scores = np.arange(1.0, n + 1) if self.scores is None else np.array(self.scores)
        if len(scores) != n or len(np.unique(scores)) < n:
            _refuse(f"Poly needs {n} different scores for the levels {quoted(levels, 20)}, got {scores.tolist()}.")
        if n > _MOST_SCORES:
            _refuse(f"Poly takes up to {_MOST_SCORES} levels, not {n}. Take poly() of numbers instead.")
        q, r = np.linalg.qr((scores - scores.mean())[:, None] ** np.arange(n))
        names = [".Linear", ".Quadratic", ".Cubic", *(f"^{degree}" for degree in range(4, n))]
        return (q * np.sign(np.diagonal(r)))[:, 1:], names[: n - 1]


@dataclass(frozen=True)
class Factor:
    """What terms are products of: a column, the levels of a category, or functions of a column."""

    text: str
    column: str
    category: bool = False
    contrast: Contrast | None = None
    levels: tuple[str, ...] | None = None  #: of a category, in the order that the formula gives
    make: Making | None = None
    numbered: bool = False  #: whether its functions are told apart by numbers
    offset: bool = False  #: whether it is a known part of the score, without a coefficient


@dataclass(frozen=True)
class FormulaTerms:
    """What a fitted model keeps of its formula.

    Parameters
    ----------
    formula : str
        Its text, as it was written.
    inputs : list of str
        The coded columns of the table that its basis takes.
    terms : list of str
        The term that each column of the model belongs to.
    lowest, middle, highest : arrays of shape (n_inputs,)
        The range of each input in the training rows, and its median; of levels and marks the share of their rows.
    offsets : list of str
        The terms of the last columns, whose coefficient is 1: known parts of the score.
    factors : dict
        The factors of each term by its name: marginality is seen in them.
    references : dict
        What the levels of each categorical column are compared with.
    """

    formula: str
    inputs: list[str]
    terms: list[str]
    lowest: Array
    middle: Array
    highest: Array
    offsets: list[str] = field(default_factory=list)
    factors: dict[str, list[str]] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)

    @property
    def of_levels(self) -> list[bool]:
        """Which columns of the model are made of levels of categories alone."""
        own = set(self.inputs)

        def is_category(factor: str) -> bool:
            return factor not in own and any(name.startswith(f"{factor}=") for name in own)

        found = {term: all(map(is_category, factors)) for term, factors in self.factors.items()}
        return [found.get(term, False) for term in self.terms]

    def _check_parts(self) -> None:
        own = (self.inputs, self.terms, self.offsets)
        require(isinstance(self.formula, str) and all(map(_is_texts, own)), self, "formula")
        require(self.offsets == self.terms[len(self.terms) - len(self.offsets) :], self, "offsets")
        named = isinstance(self.factors, dict) and all(map(_is_texts, self.factors.values()))
        require(named and _is_texts(list(self.factors)), self, "factors")
        known = isinstance(self.references, dict) and _is_texts([*self.references, *self.references.values()])
        require(known, self, "references")
        sizes = check_shapes(self, lowest="p", middle="p", highest="p")
        require(sizes["p"] == len(self.inputs), self, "ranges")

    def expanded(self, basis: Basis, rows: Rows, names: Sequence[str]) -> Rows:
        """Coded rows as rows of the columns of the model, which have these names."""
        if rows.n_columns != basis.n_columns or (rows.names is not None and list(rows.names) != self.inputs):
            raise ColumnError(
                f"The model was fitted by {self.formula!r}: give it a frame, or rows coded by its schema, with the "
                f"columns {quoted(self.inputs, 20)}."
            )
        block = np.asarray(dense_rows(rows.block(0, rows.n_rows)), dtype=np.float64)
        for function in basis.functions:
            if function.inner != "identity":
                own = block[:, function.column]
                refuse_undefined(function.inner, self.inputs[function.column], function.argument(own), own)
        return as_rows(basis.expand(block), names)


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


@dataclass(frozen=True)
class Formula:
    """A formula that has been read: its terms in the order of their degree, offsets, and if there is an intercept."""

    text: str
    target: str
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    offsets: tuple[Factor, ...] = ()

    @classmethod
    def parse(cls, text: Any, columns: Iterable[str], apart: Iterable[str | None] = ()) -> Formula:
        """The formula of a table with these columns, some of which stand ``apart``: a dot does not mean them.

        >>> formula = Formula.parse("ill ~ age + C(race) * bs(bmi, df=4) - 1", ["ill", "age", "race", "bmi"])
        >>> [term_name(term) for term in formula.terms], formula.intercept
        (['age', 'C(race)', 'bs(bmi, df=4)', 'C(race):bs(bmi, df=4)'], False)
        """
        if not isinstance(text, str) or not text.strip() or len(text) > _MOST_LETTERS:
            must = f" must be text such as 'y ~ a + b', of at most {_MOST_LETTERS:,} letters."
            raise ParameterError(Setting("formula"), must)
        return _Reader(text.strip(), tuple(columns), {*apart}).formula()

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table that it names, but for the target."""
        return list(dict.fromkeys(factor.column for factor in self.factors))

    @property
    def factors(self) -> list[Factor]:
        """The factors of all terms, and the offsets."""
        return [*chain.from_iterable(self.terms), *self.offsets]

    @cached_property
    def types(self) -> dict[str, str]:
        """What it says that columns are."""
        factors = self.factors
        stated = {factor.column: "category" for factor in factors if factor.category}
        for factor in factors:
            if (factor.make is not None or factor.offset) and factor.column in stated:
                both = f"both a category, C({factor.column}), and a number, {factor.text}"
                _refuse(f"{factor.column!r} is {both}. Copy the column under another name for one of them.")
        return stated

    def training(self, table: Any, **options: Any) -> Any:
        """The rows of an opened table as `read_training` has them, with the columns of the formula alone.

        Each level of a category has a column, of which the basis takes those it needs. Columns are what their type
        says, unless ``C(...)`` says otherwise. One that cannot be used is an error.
        """
        from .tables import read_training

        roles = {self.target, options.get("weights"), options.get("groups")}
        drop = [name for name in table.columns if name not in roles and name not in self.columns]
        types = {**(options.pop("types", None) or {}), **self.types}
        training = read_training(table, self.target, drop=drop, types=types, coding="full", by_type=True, **options)
        for column in training.schema.columns:
            if column.name in self.columns and column.dropped is not None:
                raise ColumnError(
                    f"Column {column.name!r} of the formula cannot be used: {column.dropped}. Leave it out of the "
                    "formula, or put the table right."
                )
        return training

    def design(
        self,
        schema: Schema,
        X: Any,
        weight: Array | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        contrast: ContrastKind | None = None,
    ) -> tuple[Basis, list[str], FormulaTerms]:
        """The basis that training rows give to the formula, the names of its columns, and what a model keeps of it.

        ``orders`` has the levels of columns whose categories have an order of their own; ``contrast`` takes the place
        of the contrasts that the formula gives.
        """
        rows = np.asarray(dense_rows(X), dtype=np.float64)
        stated = None if contrast is None else Contrast(contrast)
        return _Designer(self, schema, rows, weight, orders or {}, stated).design()


def term_name(term: Sequence[Factor]) -> str:
    """How a term is called."""
    return ":".join(factor.text for factor in term)


def _refuse(reason: str) -> NoReturn:
    raise ParameterError(Setting("formula"), f": {reason}")


@dataclass
class _Reader:
    """Reads the text of a formula. What formulaic gets has ``v0``, ``v1``, ... for the factors, and operators."""

    text: str
    columns: tuple[str, ...]
    apart: set[str | None]
    factors: dict[str, Factor] = field(default_factory=dict)  #: by what stands for them
    pieces: list[str] = field(default_factory=list)
    placed: dict[Any, str] = field(default_factory=dict)  #: what stands for a factor

    def formula(self) -> Formula:
        at = depth = 0
        while at < len(self.text):
            found = _TOKEN.match(self.text, at)
            if found is None:
                here = self.text[at:].lstrip()[:1]
                _refuse(f"{here!r} (at letter {self.text.index(here, at) + 1}) has no meaning in a formula.")
            at = self._read(found)
            depth += (self.pieces[-1] == "(") - (self.pieces[-1] == ")")
            if depth > _MOST_DEPTH:
                _refuse(f"more than {_MOST_DEPTH} parentheses within each other.")
        left, right = self.pieces[:2], self.pieces[2:]
        if "~" not in left or "~" in right or left[0] not in self.factors:
            _refuse(f"expected a column, ~ and terms, such as y ~ a + b; got {shortened(self.text, 80)!r}.")
        target = self.factors[left[0]]
        if target != Factor(target.text, target.text):
            _refuse(f"the left side must be the column of classes, got {target.text}.")
        terms, intercept = _parsed(" ".join(right), self.factors)
        for factor in chain.from_iterable(terms):
            if factor.column == target.column:
                _refuse(f"the target {target.column!r} also stands on the right side, in {factor.text}.")
        for term in terms:
            if len(term) > 1 and any(factor.offset for factor in term):
                _refuse(f"{term_name(term)} multiplies an offset: it has no coefficient, and stands alone.")
        offsets = tuple(term[0] for term in terms if term[0].offset)
        terms = sorted((term for term in terms if not term[0].offset), key=len)
        if not terms:
            _refuse("no term is left on its right side. Name the columns that the classes depend on.")
        made = Formula(self.text, target.column, tuple(terms), intercept, offsets)
        _ = made.types
        return made

    def _read(self, found: re.Match[str]) -> int:
        """Take the token, or the call or power that begins with it; gives the place after it."""
        kind, at = found.lastgroup, found.end()
        if kind == "number":
            exponent = self.pieces[-1:] in (["**"], ["^"]) and found[kind] in map(str, range(2, _MOST_DEGREE + 1))
            if not exponent and found[kind] not in ("0", "1"):
                number = shortened(found[kind], 20)
                _refuse(f"the number {number} has no meaning here: 1 and 0 stand for the intercept and its absence.")
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
        """What stands for a factor; the same text is the same factor."""
        name = self.placed.setdefault((factor.text, factor.make is None), f"v{len(self.factors)}")
        self.factors.setdefault(name, factor)
        return name

    def _known(self, name: str) -> str:
        if name not in self.columns:
            near = suggestion(name, self.columns)
            raise ColumnError(
                f"The formula names {shortened(name, 80)!r}, and the table has no such column.{near} Columns: "
                f"{quoted(self.columns, 20)}."
            )
        return name

    def _end_of_call(self, at: int) -> int:
        """Where the parenthesis is closed that was opened just before."""
        depth, start = 1, at
        while depth:
            found = _IN_CALL.search(self.text, at)
            if found is None or at - start > _MOST_CALL_LETTERS:
                call = shortened(self.text[start - 1 :], 80)
                _refuse(f"a parenthesis is not closed within {_MOST_CALL_LETTERS:,} letters: {call!r}.")
            depth += {"(": 1, ")": -1}.get((found["bracket"] or found["next"] or "").strip(), 0)
            at = found.end()
            if depth > _MOST_DEPTH:
                _refuse(f"more than {_MOST_DEPTH} parentheses within each other.")
        return at

    def _computed(self, text: str) -> Factor:
        """The factor that a call, or a power of one or of a column, stands for."""
        names: dict[str, str] = {}

        def placed(found: re.Match[str]) -> str:
            name = found["quoted"] or found["name"]
            word = found["quoted"] is None and (name in _WORDS or (name in _CONTRASTS and name not in self.columns))
            if name is None or found["next"] or word:
                return "**" if found["caret"] else found[0]
            names[f"_{len(names)}_"] = self._known(name)
            return f"_{len(names) - 1}_"

        def told(made: Any) -> str:
            written = re.sub(r"\b_\d+_\b", lambda found: names.get(found[0], found[0]), str(made))
            return written.replace(" ** ", "**")

        whole = text.strip()
        try:
            tree = ast.parse(_IN_CALL.sub(placed, whole), mode="eval").body
            whole = told(ast.unparse(tree))
            with np.errstate(all="ignore"):
                found = _meaning(tree, names)
            if isinstance(found, _Expression) and found.column is not None:
                found = Factor("", found.column, make=found.functions)
            if not isinstance(found, Factor):
                raise ValueError("it stands for no column")
        except DiscriminantError:
            raise
        except (SyntaxError, ValueError, TypeError, ArithmeticError, MemoryError, RecursionError) as error:
            _refuse(f"{shortened(whole, 80)} cannot be read: {shortened(told(error), 200)}.")
        return replace(found, text=whole)


def _sum(names: Sequence[str]) -> str:
    """The sum of all names, nested evenly: the parser takes the square of the time for a long one."""
    half = len(names) // 2
    return f"({_sum(names[:half])} + {_sum(names[half:])})" if half else names[0] if names else "0"


def _parsed(expression: str, factors: Mapping[str, Factor]) -> tuple[list[tuple[Factor, ...]], bool]:
    """The terms of names and operators, by formulaic's parser, and whether there is an intercept."""
    parser = optional_module("formulaic.parser", "Formulas").DefaultFormulaParser(feature_flags=set())
    try:
        if _size(parser.get_ast(expression)) > _MOST_TERMS:
            _refuse(f"it has more than {_MOST_TERMS:,} terms. Multiply fewer columns.")
        found = [[factor.expr for factor in term.factors] for term in parser.get_terms(expression)]
    except ParameterError:
        raise
    except Exception as error:  # whatever the parser makes of what is no formula
        said = re.sub(r"\bv\d+\b", lambda name: factors[name[0]].text if name[0] in factors else name[0], str(error))
        _refuse(f"its right side cannot be read. {shortened((said or type(error).__name__).splitlines()[0], 200)}")
    terms = [tuple(factors[name] for name in term if name in factors) for term in found]
    return [term for term in terms if term], len(terms) > len([term for term in terms if term])


def _size(node: Any) -> int:
    """How many terms the parser would go through, or more than it may."""
    size = 0
    while hasattr(node, "operator") and node.operator.symbol in ("+", "-") and len(node.args) == 2:
        size, node = size + _size(node.args[1]), node.args[0]  # long sums nest to the left
    if not hasattr(node, "operator"):
        return size + 1
    sizes = [min(_size(each), _MOST_TERMS + 1) for each in node.args]
    if node.operator.symbol in ("**", "^"):
        return size + sizes[0] ** min(int(str(node.args[1])), _MOST_DEGREE)
    return size + int(np.prod([1 + own for own in sizes]))


# Calls. What stands in them is a column, a number, a text or a list, or arithmetic of one column.


@dataclass(frozen=True)
class _Expression:
    """A polynomial, by rising powers, of u = inner(slope x + offset); without a column it is a number."""

    powers: Array
    column: str | None = None
    inner: str = "identity"
    slope: float = 1.0
    offset: float = 0.0

    @property
    def of(self) -> dict[str, Any]:
        """What u is."""
        return {"inner": self.inner, "slope": self.slope, "offset": self.offset}

    @property
    def is_argument(self) -> bool:
        """Whether it is u itself."""
        return self.column is not None and self.powers.tolist() == [0.0, 1.0]

    @property
    def functions(self) -> Making | None:
        """The polynomial as a function of the column, None where it is the column."""
        if self.is_argument and self.inner == "identity":
            return None
        return lambda j, *_: Piecewise(j, np.zeros(0), np.zeros(1), self.powers[None, None], **self.of)


def _meaning(node: ast.expr, names: Mapping[str, str]) -> Any:
    """What a syntax tree stands for, in which ``names`` are those of columns; a ValueError where it may not stand."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return _Expression(np.array([0.0, 1.0]), names[node.id])
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in _CONTRASTS:
        return _CONTRASTS[ast.unparse(node)]()
    if isinstance(node, (ast.List, ast.Tuple)):
        return _listed(*(_meaning(each, names) for each in node.elts))
    if isinstance(node, ast.UnaryOp) and type(node.op) in (ast.UAdd, ast.USub):
        own = _expression(_meaning(node.operand, names))
        return replace(own, powers=own.powers if isinstance(node.op, ast.UAdd) else -own.powers)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = (_expression(_meaning(each, names)) for each in (node.left, node.right))
        if None not in (left.column, right.column) and (left.column, left.of) != (right.column, right.of):
            raise ValueError("arithmetic is of one column; a product of two is written a:b")
        own = left if right.column is None else right
        return _expression(replace(own, powers=_OPERATIONS[type(node.op)](left.powers, right.powers)))
    if isinstance(node, ast.Call):
        return _called(node, names)
    raise ValueError(f"{shortened(ast.unparse(node), 40)!r} may not stand in a formula")


def _called(node: ast.Call, names: Mapping[str, str]) -> Any:
    name = ast.unparse(node.func).removeprefix("np.")
    if name not in _FUNCTIONS:
        raise ValueError(f"there is no function {shortened(name, 40)!r}, but {', '.join(_FUNCTIONS)}")
    named = {each.arg: _meaning(each.value, names) for each in node.keywords if each.arg is not None}
    if len(named) < len(node.keywords):
        raise ValueError("** may not stand before an argument")
    bound = inspect.signature(_FUNCTIONS[name]).bind(*(_meaning(each, names) for each in node.args), **named)
    return _FUNCTIONS[name](*bound.args, **bound.kwargs)


def _expression(found: Any) -> _Expression:
    made = _Expression(np.array([float(found)])) if type(found) in (int, float) else found
    if not isinstance(made, _Expression) or not np.isfinite(made.powers).all():
        raise ValueError("a number or a column was expected")
    if len(made.powers) > _MOST_DEGREE + 1:
        raise ValueError(f"powers go up to {_MOST_DEGREE}")
    return made


def _number(found: Any) -> float:
    made = _expression(found)
    if made.column is not None:
        raise ValueError("a number was expected, not a column")
    return float(made.powers[0])


def _listed(*found: Any) -> list[float | str]:
    """The numbers and texts of a list."""
    return [each if isinstance(each, str) else _number(each) for each in found]


def _whole(found: Any, name: str, least: int, most: int = 1000) -> int:
    number = _number(found)
    if not number.is_integer() or not least <= number <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, got {number:g}")
    return int(number)


def _truth(found: Any) -> bool:
    if type(found) is not bool:
        raise ValueError(f"True or False was expected, got {found!r}")
    return found


def _argument(found: Any) -> _Expression:
    """A column, or log, exp or sqrt of one."""
    if not isinstance(found, _Expression) or not found.is_argument:
        raise ValueError("it is of a column, or of log, exp or sqrt of one")
    return found


def _divided(left: Array, right: Array) -> Array:
    if len(right) > 1 or right[0] == 0:
        raise ValueError("division is by a number other than 0")
    return left / right[0]


def _raised(left: Array, right: Array) -> Array:
    if len(right) > 1 or right[0] not in range(_MOST_DEGREE + 1):
        raise ValueError(f"powers are whole numbers from 0 to {_MOST_DEGREE}")
    return np.asarray(polynomial.polypow(left, int(right[0]), maxpower=_MOST_DEGREE))


_OPERATIONS: dict[type, Callable[[Array, Array], Array]] = {
    ast.Add: polynomial.polyadd,
    ast.Sub: polynomial.polysub,
    ast.Mult: polynomial.polymul,
    ast.Div: _divided,
    ast.Pow: _raised,
}


def _category(x: Any, contrasts: Any = None, levels: Any = None) -> Factor:
    own = x if isinstance(x, _Expression) and x.functions is None else None
    if isinstance(contrasts, _Expression) and contrasts.column in _CONTRASTS:  # a column has this name, too
        contrasts = _CONTRASTS[contrasts.column]()
    if own is None or own.column is None or not (contrasts is None or isinstance(contrasts, Contrast)):
        raise ValueError("it is C(column), or C(column, contrasts) with Treatment, Sum, Helmert or Poly")
    if not (levels is None or (isinstance(levels, list) and len(levels) > 1)):
        raise ValueError("levels must be a list of all levels in their order, such as ['low', 'high']")
    order = None if levels is None else tuple(each if isinstance(each, str) else f"{each:.15g}" for each in levels)
    return Factor("", own.column, True, contrasts, order)


def _treatment(reference: Any = None) -> Contrast:
    return Contrast("treatment", _level(reference, "reference"))


def _sum_to_zero(omit: Any = None) -> Contrast:
    return Contrast("sum", _level(omit, "omitted level"))


def _polynomial_contrasts(scores: Any = None) -> Contrast:
    if scores is None:
        return Contrast("poly")
    if not isinstance(scores, list) or not all(isinstance(score, float) for score in scores):
        raise ValueError("scores must be a list of numbers, one for each level")
    return Contrast("poly", scores=tuple(scores))


def _level(given: Any, name: str) -> str | None:
    if given is not None and type(given) not in (str, int, float, bool):
        raise ValueError(f"the {name} must be a level, as text or number")
    return None if given is None else str(given)


def _offset(x: Any) -> Factor:
    own = _expression(x)
    if own.column is None:
        raise ValueError("an offset is a column, or log, exp, sqrt or a polynomial of one")
    return Factor("", own.column, make=own.functions, offset=True)


def _inner(function: str, factor: float = 1.0, shift: float = 0.0) -> Callable[[Any], _Expression]:
    """A function of a straight line of a column, times a number."""

    def made(x: Any) -> _Expression:
        own = _expression(x)
        if own.column is None or own.inner != "identity" or len(own.powers) != 2:
            raise ValueError(f"{function} is of a column, or of a column times and plus numbers")
        offset, slope = own.powers.tolist()
        return _Expression(np.array([0.0, factor]), own.column, function, slope, offset + shift)

    return made


def _b_splines(
    x: Any, df: Any = None, knots: Any = None, degree: Any = 3, intercept: Any = False, include_intercept: Any = False
) -> Factor:
    own, order = _argument(x), _whole(degree, "degree", 1, _MOST_DEGREE)
    whole = _truth(intercept) or _truth(include_intercept)
    within = _Knots(df, knots, order + whole)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        made = b_splines(j, within.placed(values, weight), order)
        return made if whole else made.combined(np.eye(made.n_outputs)[1:])

    return _of_argument(own, make)


def _natural_splines(x: Any, df: Any = None, knots: Any = None, intercept: Any = False) -> Factor:
    own, whole = _argument(x), _truth(intercept)
    within = _Knots(df, knots, 1 + whole)
    return _of_argument(own, lambda j, values, weight: natural_splines(j, within.placed(values, weight), whole))


def _regression_splines(
    x: Any, df: Any = None, knots: Any = None, lower_bound: Any = None, upper_bound: Any = None, constraints: Any = None
) -> Factor:
    own, (low, high) = _argument(x), (None if end is None else _number(end) for end in (lower_bound, upper_bound))
    if constraints not in (None, "center"):
        raise ValueError("constraints is 'center', or left out")
    if df is None and knots is None:
        raise ValueError("give df, or knots")
    centred = constraints == "center"
    within = _Knots(df, knots, 2 - centred, low, high)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        placed = within.placed(np.unique(values), None)
        made = cubic_regression_splines(j, placed)
        if not centred:
            return made
        return cubic_regression_splines(j, placed, np.average(made.evaluate(values), axis=0, weights=weight))

    return _of_argument(own, make)


def _polynomials(x: Any, degree: Any = 1, raw: Any = False) -> Factor:
    own, order, plain = _argument(x), _whole(degree, "degree", 1, _MOST_DEGREE), _truth(raw)

    def make(j: int, values: Array, weight: Array | None) -> Piecewise:
        _refuse_few(values, order, "degree")
        return powers(j, order) if plain else orthogonal_polynomials(j, values, order, weight)

    return _of_argument(own, make)


def _scaled(divisor: Callable[[Array, Array | None], float]) -> Callable[[Any], Factor]:
    """A column measured from its mean, in units that its values give."""

    def made(x: Any) -> Factor:
        def make(j: int, values: Array, weight: Array | None) -> Piecewise:
            return powers(j, 1, float(np.average(values, weights=weight)), divisor(values, weight))

        return replace(_of_argument(_argument(x), make), numbered=False)

    return made


def _deviation(values: Array, weight: Array | None, less: int) -> float:
    w = np.ones(len(values)) if weight is None else weight
    return float(np.sqrt(w @ (values - np.average(values, weights=w)) ** 2 / (w.sum() - less)))


def _of_argument(own: _Expression, make: Making) -> Factor:
    """The functions of u, told as functions of the column."""

    def of_column(j: int, x: Array, weight: Array | None) -> Piecewise:
        values = Piecewise(j, x, x, x, **own.of).argument(x)
        refuse_undefined(own.inner, str(own.column), values, x)
        return replace(make(j, values, weight), **own.of)

    return Factor("", str(own.column), make=of_column, numbered=True)


@dataclass(frozen=True)
class _Knots:
    """The knots of a spline: at quantiles, as many as ``df`` functions take, or as they were given."""

    df: Any
    given: Any
    least: int  #: functions without any knot within
    low: float | None = None  #: the first and the last knot, by default the range of the values
    high: float | None = None

    def __post_init__(self) -> None:
        if self.df is not None and self.given is not None:
            raise ValueError("df and knots are two ways to say one thing: give one of them")
        if self.df is not None:
            _whole(self.df, "df", self.least)
        numbers = isinstance(self.given, list) and all(isinstance(knot, float) for knot in self.given)
        if self.given is not None and not numbers:
            raise ValueError("knots must be a list of numbers, such as [20, 30]")

    def placed(self, values: Array, weight: Array | None) -> Array:
        """All knots of these values, with those at the ends of their range."""
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
            tied = "many rows have its lowest or highest value. Lower df, or give knots"
            outside = f"knots must lie between {lowest:g} and {highest:g}"
            raise ValueError(tied if self.given is None else outside)
        return np.r_[lowest, within, highest]


def _refuse_few(values: Array, functions: int, name: str) -> None:
    n = len(np.unique(values))
    if n <= functions:
        raise ValueError(f"there are only {n} different values: {name} must be below {n}; C(...) takes each as a level")


def quantiles(values: Array, at: Array, weight: Array | None = None) -> Array:
    """Quantiles of values of which each stands for ``weight`` rows; between two rows in proportion (R's type 7)."""
    order = np.argsort(values, kind="stable")
    counts = np.cumsum(np.ones(len(values)) if weight is None else weight[order])
    place = np.maximum(at * (counts[-1] - 1), 0.0)
    low, high = (
        values[order][np.minimum(np.searchsorted(counts, rank, side="right"), len(values) - 1)]
        for rank in (np.floor(place), np.ceil(place))
    )
    return np.asarray(low + (high - low) * (place - np.floor(place)))


_CONTRASTS: dict[str, Callable[..., Contrast]] = {
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
    **_CONTRASTS,
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
_WORDS = {"True": True, "False": False, "TRUE": True, "FALSE": False}


# From terms to columns.


#: A column before contrasts: the weights of products, by the factors of each.
_Products = dict[tuple[int, ...], float]


@dataclass
class _Designer:
    """Makes the basis of a formula: the factors are all coded columns, and after them the functions."""

    formula: Formula
    schema: Schema
    X: Array
    weight: Array | None
    orders: Mapping[str, Sequence[str]]
    contrast: Contrast | None = None  #: instead of those of the formula
    functions: list[Piecewise] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = {column.name: column for column in self.schema.used}
        self.places = {name: j for j, name in enumerate(self.schema.names)}
        self.made: dict[str, list[tuple[int, str]]] = {}  #: the functions of factors, by their text
        self.references: dict[str, str] = {}  #: what levels of categories are compared with
        #: Which categories, each without one level, are multiplied with which numbers already.
        self.spanned: dict[frozenset[Factor], set[frozenset[str]]] = {}
        if self.formula.intercept:
            self.spanned[frozenset()] = {frozenset()}

    def design(self) -> tuple[Basis, list[str], FormulaTerms]:
        made: list[tuple[str, _Products, str]] = []
        factors: dict[str, list[str]] = {}
        for term in self.formula.terms:
            own = [f.column if self._is_category(f) else f.text for f in term]
            factors[term_name(term)] = list(dict.fromkeys(own))
            made += [(term_name(term), *column) for column in self._term(term)]
            if len(made) > _MOST_COLUMNS:
                _refuse(f"its terms have more than {_MOST_COLUMNS:,} columns.")
        for column in self.schema.used:
            if column.kind != "category" and column.missing_column:  # where the mean stands in, that is marked
                name = column.outputs[-1]
                factors[name] = [name]
                made.append((name, {(self.places[name],): 1.0}, name))
        for factor in self.formula.offsets:
            if self._is_category(factor):
                _refuse(f"{factor.text} is of numbers, and {factor.column!r} is a category.")
            made.append((factor.text, {(self._functions(factor)[0][0],): 1.0}, factor.text))
        terms, products, names = map(list, zip(*made, strict=True))
        twice, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise ColumnError(f"Two columns of the formula would be called {twice!r}. Rename a column of the table.")
        basis = self._basis(products)
        low, middle, high = np.array([quantiles(x, np.array([0.0, 0.5, 1.0]), self.weight) for x in self.X.T]).T
        marks = np.array([mark for column in self.schema.used for mark in column.marks])
        middle = np.where(marks, np.average(self.X, axis=0, weights=self.weight), middle)
        offsets = [factor.text for factor in self.formula.offsets]
        known = (list(self.places), terms, low, middle, high, offsets, factors, self.references)
        kept = FormulaTerms(self.formula.text, *known)
        return basis, names, kept

    def _basis(self, columns: Sequence[_Products]) -> Basis:
        """The basis of columns that are weighted sums of products of factors."""
        places: dict[tuple[int, ...], int] = {}
        for column in columns:
            for product_ in column:
                places.setdefault(product_, len(places))
        outputs = np.full((len(places), max(map(len, places))), -1)
        for row, own in zip(outputs, places, strict=True):
            row[: len(own)] = own
        contrasts = None
        if any(list(column.values()) != [1.0] for column in columns):
            if len(places) > _MOST_COMBINED:
                _refuse(f"with contrasts, its terms may have at most {_MOST_COMBINED:,} columns.")
            contrasts = np.zeros((len(places), len(columns)))
            for j, column in enumerate(columns):
                for product_, weight in column.items():
                    contrasts[places[product_], j] = weight
        return Basis(len(self.places), np.arange(len(self.places)), self.functions, outputs, contrasts)

    def _term(self, term: tuple[Factor, ...]) -> Iterator[tuple[_Products, str]]:
        """The products and the name of each column of a term; of the first factor the next comes first.

        A category has all its levels where the term without it is not spanned by those before, else one column fewer.
        """
        crossed = dict.fromkeys(factor.column for factor in term if self._is_category(factor))
        if len(crossed) > _MOST_CROSSED:
            _refuse(f"{term_name(term)} multiplies {len(crossed)} categories; at most {_MOST_CROSSED} can be.")
        spanned = self.spanned.setdefault(frozenset(f for f in term if f.column not in crossed), set())
        every = chain.from_iterable(combinations(crossed, size) for size in range(len(crossed) + 1))
        new = [part for part in map(frozenset, every) if part not in spanned]
        spanned.update(new)
        for full in _codings(new):
            used = [factor for factor in term if factor.column not in crossed or factor.column in full]
            used = list({f.column if f.column in full else f.text: f for f in used}.values())
            parts = [
                self._levels(f.column, full[f.column])
                if f.column in full
                else [({j: 1.0}, name) for j, name in self._functions(f)]
                for f in used
            ]
            if np.prod([float(len(part)) for part in parts]) > _MOST_COLUMNS:
                _refuse(f"{term_name(term)} would have more than {_MOST_COLUMNS:,} columns.")
            for chosen in product(*reversed(parts)):
                weights, names = zip(*reversed(chosen), strict=True) if chosen else ((), ())
                yield _multiplied(weights), ":".join(names)

    def _is_category(self, factor: Factor) -> bool:
        if self.columns[factor.column].kind != "category":
            return False
        if factor.make is not None:
            _refuse(f"{factor.text} is of numbers, and {factor.column!r} is a category.")
        return True

    def _levels(self, name: str, full: bool) -> list[tuple[dict[int, float], str]]:
        """The columns of a category: of all its levels, or the contrasts of these, one fewer."""
        column = self.columns[name]
        contrast, levels = self._contrast(column)
        special = len(levels) - 1 if contrast.kind == "sum" else 0
        if contrast.level is not None:
            special = levels.index(_level_of(column, contrast.level, levels))
        if full:
            weights, named = np.eye(len(levels)), [f"={level}" for level in levels]
        else:
            weights, named = contrast.columns(levels, special)
            compared = {"treatment": levels[special], "sum": "mean of all levels", "helmert": "mean of earlier levels"}
            if contrast.kind in compared:
                self.references[name] = compared[contrast.kind]
        own = [self.places[f"{name}={level}"] for level in levels]
        found = [
            ({place: w for place, w in zip(own, column_weights, strict=True) if w}, f"{name}{suffix}")
            for column_weights, suffix in zip(weights.T.tolist(), named, strict=True)
        ]
        marks = column.outputs[len(column.coded_levels) :]  # of missing values, where these are a level
        return [*found, *(({self.places[mark]: 1.0}, mark) for mark in marks)]

    def _contrast(self, column: Column) -> tuple[Contrast, list[str]]:
        """The contrast of a category, and its levels in order: as the formula says, as the frame does, or sorted."""
        factors = [f for f in self.formula.factors if f.column == column.name and f.category]
        stated = list(dict.fromkeys(f.contrast for f in factors if f.contrast is not None))
        given = list(dict.fromkeys(f.levels for f in factors if f.levels is not None))
        if len(stated) > 1 or len(given) > 1:
            texts = list(dict.fromkeys(f.text for f in factors))
            _refuse(f"{column.name!r} is coded in several ways, {', '.join(texts)}: give one.")
        contrast = self.contrast or (stated[0] if stated else Contrast("treatment"))
        levels = _in_order(column)
        if given:
            named = [_level_of(column, level, levels) for level in given[0]]
            if sorted(named) != sorted(levels):
                _refuse(f"levels of {column.name!r} must be all of {quoted(levels, 20)}, each once.")
            return contrast, named
        known = [column.places.place(level, "text") for level in self.orders.get(column.name, ())]
        first = [column.coded_levels[place] for place in known if place is not None and place >= 0]
        if contrast.kind == "treatment" and first:  # columns stand in the sorted order, as they always have
            return (contrast if contrast.level is not None else replace(contrast, level=first[0])), levels
        return contrast, [*first, *(level for level in levels if level not in first)]

    def _functions(self, factor: Factor) -> list[tuple[int, str]]:
        """The places and names of a number, or of the functions of one."""
        place, name = self.places[factor.column], factor.text
        if factor.make is None:
            return [(place, factor.column)]
        if factor.text not in self.made:
            n_before = len(self.places) + sum(function.n_outputs for function in self.functions)
            function = self._function(factor, place)
            self.functions.append(function)
            names = [f"{name}[{i + 1}]" for i in range(function.n_outputs)] if factor.numbered else [name]
            self.made[factor.text] = list(enumerate(names, n_before))
        return self.made[factor.text]

    def _function(self, factor: Factor, place: int) -> Piecewise:
        """Made of the values that are there and count."""
        column, weight = self.columns[factor.column], self.weight
        there = np.ones(len(self.X), dtype=bool) if weight is None else weight > 0
        if column.missing_column:
            there &= self.X[:, self.places[column.outputs[-1]]] == 0
        assert factor.make is not None
        try:
            made = factor.make(place, self.X[there, place], None if weight is None else weight[there])
        except DiscriminantError:
            raise
        except ValueError as error:
            _refuse(f"{factor.text} cannot be made of these rows: {error}.")
        refuse_undefined(factor.text, factor.column, made.argument(self.X[:, place]), self.X[:, place])
        return made


def _multiplied(parts: Iterable[Mapping[int, float]]) -> _Products:
    """The product of sums of factors, each factor with its weight, as a sum of products."""
    found: _Products = {(): 1.0}
    for part in parts:
        found = {(*own, place): w * weight for own, w in found.items() for place, weight in part.items()}
    return found


def _level_of(column: Column, wanted: str, levels: Sequence[str]) -> str:
    """The level that is meant."""
    found = column.places.place(wanted, "text")
    if found is None or found < 0:
        raise ColumnError(f"The reference {wanted!r} is no level of {column.name!r}: {quoted(levels, 20)}.")
    return column.coded_levels[found]


def level_orders(frame: Any) -> dict[str, list[str]]:
    """The levels of the columns of a frame whose categories have an order of their own, in that order."""
    table, found = as_frame(frame), dict[str, list[str]]()
    for name, kind in {} if table is None else table.schema.items():
        if kind == nw.Enum or (kind == nw.Categorical and table.implementation.is_pandas()):
            there = set(table[name].drop_nulls().cast(nw.String).unique().to_list())
            levels = [level for level in table[name].cat.get_categories().cast(nw.String).to_list() if level in there]
            found |= {name: levels} if levels else {}
    return found


def refuse_undefined(name: str, column: str, made: Array, values: Array) -> None:
    """Raise an error for the first row in which a function of a column is no number."""
    wrong = np.flatnonzero(~np.isfinite(made))
    if wrong.size:
        raise InputError(
            f"{name} is not defined in row {wrong[0]} of these, where {column!r} is {values[wrong[0]]:g}. Correct the "
            "value, or leave such rows out."
        )


def _in_order(column: Column) -> list[str]:
    """The levels: numbers by their size, then texts; what stands for several levels comes last."""

    def order(level: str) -> tuple[bool, bool, Any, str]:
        number = number_meant(level)
        return level == OTHER, number is None, number or 0, level

    return sorted(column.coded_levels, key=order)


def _codings(new: list[frozenset[str]]) -> list[dict[str, bool]]:
    """Products of categories, each with or without all its levels, that span what these span without one level each.

    What ``a`` and ``a b`` span, ``a`` with all levels of ``b`` does (Nathaniel Smith's algorithm, as in patsy).

    >>> _codings([frozenset("a"), frozenset("b"), frozenset("ab")])
    [{'b': False}, {'a': False, 'b': True}]
    """
    found = [dict.fromkeys(sorted(part), False) for part in new]
    while True:
        pairs = ((short, long) for i, short in enumerate(found) for long in found[i + 1 :])
        absorbed = next(((s, g) for s, g in pairs if len(g) == len(s) + 1 and s.items() <= g.items()), None)
        if absorbed is None:
            return found
        short, long = absorbed
        long.update(dict.fromkeys(long.keys() - short.keys(), True))
        found.remove(short)
