"""A model as an ONNX graph of plain operators in double precision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...basis import Piecewise
from ...data import exact_array
from ...dependencies import optional_module
from ...errors import ParameterError
from ...rules import DiagonalRule, LevelRule, LinearRule
from ...tables.levels import BOOLEANS
from .recipe import MAX_EXACT_INTEGER, SPACES, Input, Member, RawColumn, Recipe, RulePart

# Versions of 2023: operators that compare text, file layout, and operators with regular expressions.
_OPERATORS, _LAYOUT, _WITH_PATTERNS = 19, 9, 20
# A pattern (RE2) of spaces around a text.
_AROUND = "[" + "".join(f"\\x{{{number:x}}}" for number in SPACES) + "]*"
# A pattern of text that can be cast to a number: leading ASCII spaces, no overflow.
_CASTABLE = r"[\t-\r ]*[-+]?(\d{1,200}\.?\d{0,200}|\.\d{1,200})([eE][-+]?\d{1,2})?" + _AROUND


def onnx_file(recipe: Recipe) -> bytes:
    """The content of the file."""
    graph = _Graph(recipe)
    scores = [graph.scores(member) for member in recipe.members]
    compared = scores[0]
    if len(scores) > 1:
        members = zip(recipe.members, scores, strict=True)
        shares = [
            graph.node("Mul", graph.node("Softmax", own, axis=1), graph.constant(member.share))
            for member, own in members
        ]
        compared = graph.node("Sum", *shares)
    best = graph.node("ArgMax", compared, axis=1, keepdims=0, select_last_index=int(recipe.last_wins))
    label = graph.node("Gather", graph.constant(_same_kind(recipe.classes, "classes")), best, result="label")
    if recipe.answer == "score":
        answer = graph.node("Identity", compared, result="score")
    elif len(scores) > 1:
        answer = graph.node("Identity", compared, result="probability")
    else:
        answer = graph.node("Softmax", compared, axis=1, result="probability")
    return graph.serialised(recipe, label, answer)


def _same_kind(values: Any, what: str) -> Array:
    """An array of numbers, truth values, or text as objects."""
    kinds, array = {type(value) for value in values}, exact_array(values)
    if len(kinds) != 1 or not kinds <= {bool, int, float, str} or (kinds == {int} and array.dtype == object):
        raise ParameterError(
            f"ONNX needs {what} of one type (64-bit numbers, booleans or text), got {list(values)}. Convert them "
            "to one type."
        )
    return array.astype(object) if kinds == {str} else array


@dataclass(frozen=True)
class _Columns:
    """A matrix, and the features of its columns."""

    name: str
    places: list[int]

    def chosen(self, graph: _Graph, places: Sequence[int]) -> str:
        """The matrix of these features."""
        if list(places) == self.places:
            return self.name
        at = {place: i for i, place in enumerate(self.places)}
        return graph.node("Gather", self.name, graph.constant([at[place] for place in places]), axis=1)

    def beside(self, graph: _Graph, blocks: list[str], places: Iterable[int]) -> _Columns:
        """The matrix with more features."""
        return _Columns(graph.beside([self.name, *blocks]), [*self.places, *places])


class _Graph:
    """The nodes and constants of a graph; every value has a row for each row."""

    def __init__(self, recipe: Recipe) -> None:
        self.onnx = optional_module("onnx", "ONNX files")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.declared: list[Any] = []
        self.operators = _OPERATORS
        self.inputs = recipe.inputs
        self.raw = {column.name: column for column in recipe.columns}
        plain = all(given == Input(given.column, "value") for given in recipe.inputs)
        self.whole = plain and not any(column.missing_numbers for column in recipe.columns)
        if self.whole:
            self._declare("X", "DOUBLE", len(recipe.inputs))
        else:
            self.types = {column.name: _type_of(column) for column in recipe.columns}
            for column, kind in self.types.items():
                _refuse_taken(column)
                self._declare(column, kind, 1)

    def node(self, operator: str, *inputs: str, result: str | None = None, **settings: Any) -> str:
        """The name of the result of a new node."""
        name = result or f"/value/{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **settings))
        return name

    def constant(self, values: ArrayLike) -> str:
        """The name of an array."""
        name = f"/constant/{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def scores(self, member: Member) -> str:
        """The scores of a member."""
        features = self._features(member)
        terms = [self._of_part(part, features) for part in member.parts]
        return self.node("Sum", self.constant(member.constants[None]), *terms)

    def _features(self, member: Member) -> _Columns:
        """The inputs, functions and products of a member."""
        made = [self._evaluated(function) for function in member.functions]
        n_inputs, n_made = len(self.inputs), sum(function.n_outputs for function in member.functions)
        factors = self.known.beside(self, made, range(n_inputs, n_inputs + n_made))
        by_length: dict[int, dict[int, tuple[int, ...]]] = {}
        for place, factored in enumerate(member.products, n_inputs + n_made):
            by_length.setdefault(len(factored), {})[place] = factored
        found = factors
        for length, products in by_length.items():
            made = [factors.chosen(self, places) for places in zip(*products.values(), strict=True)]
            if not length:  # an empty product is 1
                ones = np.ones((1, len(products), 1))
                made = [self._evaluated(Piecewise(self.known.places[0], np.zeros(0), np.zeros(1), ones))]
            multiplied = made[0]
            for each in made[1:]:
                multiplied = self.node("Mul", multiplied, each)
            found = found.beside(self, [multiplied], products)
        return found

    def _evaluated(self, function: Piecewise) -> str:
        """The outputs of a piecewise polynomial."""
        x = self.known.chosen(self, [function.column])
        if function.inner != "identity":
            x = self.node("Add", self.node("Mul", x, self.constant(function.slope)), self.constant(function.offset))
            x = self.node(function.inner.capitalize(), x)
        beyond = self._cast(self.node("GreaterOrEqual", x, self.constant(function.breaks[None])), "INT64")
        piece = self.node("ReduceSum", beyond, self.constant([1]), keepdims=0)
        step = self.node("Sub", x, self.node("Gather", self.constant(function.origins[:, None]), piece))
        *lower, highest = (
            self.node("Gather", self.constant(own), piece) for own in np.moveaxis(function.coefficients, 2, 0)
        )
        for own in reversed(lower):
            highest = self.node("Add", self.node("Mul", highest, step), own)
        return highest

    def _of_part(self, part: RulePart, features: _Columns) -> str:
        """The scores of a part."""
        rule = part.rule
        if isinstance(rule, LevelRule):
            return self._looked_up(rule, self.inputs[part.places[0]].column)
        if isinstance(rule, Piecewise):
            return self._evaluated(rule)
        x = features.chosen(self, part.places)
        if isinstance(rule, LinearRule):
            return self.node("MatMul", self._minus(x, rule.centre), self.constant(rule.coef.T))
        if isinstance(rule, DiagonalRule):
            steps = self._minus(self.node("Unsqueeze", x, self.constant([1])), rule.means)
            steps = self.node("Mul", steps, self.constant(1 / np.sqrt(rule.variances)))
        else:
            steps = self._minus(self.node("Unsqueeze", x, self.constant([1])), rule.centre + rule.offsets)
            steps = self.node("MatMul", self.node("Unsqueeze", steps, self.constant([2])), self.constant(rule.spheres))
            steps = self.node("Squeeze", steps, self.constant([2]))
        squared = self.node("ReduceSum", self.node("Mul", steps, steps), self.constant([2]), keepdims=0)
        return self.node("Mul", squared, self.constant(-0.5))

    def serialised(self, recipe: Recipe, *results: str) -> bytes:
        """The bytes of the file."""
        helper, inferred = self.onnx.helper, self.onnx.ValueInfoProto
        outputs = [inferred(name=name) for name in results]
        graph = helper.make_graph(self.nodes, recipe.name, self.declared, outputs, self.constants)
        operators = [helper.make_opsetid("", self.operators)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=_LAYOUT, producer_name="discriminant")
        model = self.onnx.shape_inference.infer_shapes(model, strict_mode=True)
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _declare(self, name: str, kind: str, width: int) -> None:
        element = getattr(self.onnx.TensorProto, kind)
        self.declared.append(self.onnx.helper.make_tensor_value_info(name, element, ["rows", width]))

    def _minus(self, first: str, second: Array) -> str:
        return self.node("Sub", first, self.constant(second))

    @cached_property
    def known(self) -> _Columns:
        """The numeric inputs."""
        places = [j for j, given in enumerate(self.inputs) if given.kind != "place"]
        if self.whole:
            return _Columns("X", places)
        groups = groupby((self.inputs[j] for j in places), lambda given: given.column)
        return _Columns(self.beside([self._block(column, list(inputs)) for column, inputs in groups]), places)

    def _block(self, column: str, inputs: list[Input]) -> str:
        """The columns of the model from one raw column."""
        if self.types[column] != "STRING":
            return self.beside([self._of_number(given) for given in inputs])
        raw = self.raw[column]
        known, rest = self._places_of_text(raw)
        missing = self.node("Mul", self._matched(column, _spelled(["", *raw.missing])), rest)
        unseen = self.node("Sub", rest, missing)
        at = np.array([[float(given.place == place) for given in inputs] for place in range(len(raw.levels))])
        block = self.node("MatMul", known, self.constant(at))
        block = self.node("Add", block, self.node("MatMul", unseen, self.constant([[g.unseen for g in inputs]])))
        fill = [[np.nan if given.fill is None else given.fill for given in inputs]]
        return self.node("Where", self._cast(missing, "BOOL"), self.constant(fill), block)

    def _places_of_text(self, raw: RawColumn) -> tuple[str, str]:
        """Indicators of the place of a text, and whether it has none; the first match counts."""
        known, rest = "", self.constant(1.0)
        for found in self._readings(raw):
            known = self.node("Add", known, self.node("Mul", found, rest)) if known else found
            rest = self.node("Sub", self.constant(1.0), self._sum(known))
        return known, rest

    def _readings(self, raw: RawColumn) -> Iterator[str]:
        """The place of a text: exact, without spaces around it, and by its meaning."""
        texts, n_places = raw.lookup.texts, len(raw.levels)
        if any(text != text.strip() for text in texts):
            yield self.node("MatMul", self._equal(raw.name, list(texts)), self._at(list(texts.values()), n_places))
        plain = {text: place for text, place in texts.items() if text == text.strip()}
        patterns = {place: _spelled(text for text in plain if plain[text] == place) for place in plain.values()}
        yield self._in_places(raw.name, patterns, n_places)
        if raw.lookup.binary:
            placed = {truth: place for truth, place in raw.lookup.truths.items() if place is not None}
            words = {place: [w for w in BOOLEANS if placed.get(BOOLEANS[w]) == place] for place in placed.values()}
            yield self._in_places(raw.name, {place: f"(?i:{_spelled(own)})" for place, own in words.items()}, n_places)
        numbers = {n: p for n, p in raw.lookup.numbers.items() if p is not None and abs(n) < MAX_EXACT_INTEGER}
        if numbers:
            is_number = self._matched(raw.name, _CASTABLE, around="")
            text = self.node("Where", self._cast(is_number, "BOOL"), raw.name, self.constant(exact_array(["0"])))
            equal = self.node("Equal", self._cast(text, "DOUBLE"), self.constant(np.array([list(map(float, numbers))])))
            at = self._at(list(numbers.values()), n_places)
            yield self.node("Mul", self.node("MatMul", self._cast(equal, "DOUBLE"), at), is_number)

    def _in_places(self, column: str, patterns: Mapping[int, str], n_places: int) -> str:
        """Indicators of the places whose pattern matches a text."""
        if not patterns:
            return self.constant(np.zeros((1, n_places)))
        found = self.beside([self._matched(column, pattern) for pattern in patterns.values()])
        return self.node("MatMul", found, self._at(list(patterns), n_places))

    def _at(self, places: list[int], n_places: int) -> str:
        """The matrix that maps columns to places."""
        return self.constant(np.eye(n_places)[places])

    def _matched(self, column: str, pattern: str, around: str = _AROUND) -> str:
        """Indicator of texts that match a pattern, with spaces around it."""
        self.operators = _WITH_PATTERNS
        return self._cast(self.node("RegexFullMatch", column, pattern=f"{around}(?:{pattern}){around}"), "DOUBLE")

    def _of_number(self, given: Input) -> str:
        missing = self.node("IsNaN", given.column)
        for number in self.raw[given.column].missing_numbers:
            missing = self.node("Or", missing, self.node("Equal", given.column, self.constant(number)))
        if given.kind == "missing":
            return self._cast(missing, "DOUBLE")
        return self.node("Where", missing, self.constant(np.nan if given.fill is None else given.fill), given.column)

    def beside(self, columns: list[str]) -> str:
        """The columns as one matrix."""
        return self.node("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]

    def _sum(self, columns: str) -> str:
        return self.node("ReduceSum", columns, self.constant([1]))

    def _looked_up(self, rule: LevelRule, column: str) -> str:
        return self.node("MatMul", self._equal(column, rule.levels), self.constant(rule.table[:-1]))

    def _equal(self, column: str, levels: Any) -> str:
        return self._cast(self.node("Equal", column, self.constant(_same_kind(levels, "levels"))), "DOUBLE")

    def _cast(self, name: str, kind: str) -> str:
        return self.node("Cast", name, to=getattr(self.onnx.TensorProto, kind))


def _spelled(texts: Iterable[str]) -> str:
    """A pattern of these texts."""
    return "|".join(map(re.escape, dict.fromkeys(texts)))


def _refuse_taken(column: str) -> None:
    if column in ("", "label", "probability", "score") or column.startswith(("/value/", "/constant/")):
        raise ParameterError(f"{column!r} is a reserved name in ONNX graphs. Rename the column.")


def _type_of(column: RawColumn) -> str:
    """The type of a raw column."""
    levels = (level for together in column.levels for level in together)
    kind = type(next(levels)) if column.kind == "category" else float
    return {bool: "BOOL", int: "INT64", float: "DOUBLE"}.get(kind, "STRING")
