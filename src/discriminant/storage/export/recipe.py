"""What every export says in its own language: how a row's values become scores, and scores an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ...errors import DiscriminantWarning, ParameterError, warn
from ...estimators.base import PosteriorClassifier, RuleClassifier
from ...multiclass import CodebookRule
from ...results import plain, quoted
from ...rules import DiagonalRule, LevelRule, LinearRule, MixedRule, QuadraticRule
from ...tables.levels import NUMBER, REFERENCE_PLACE, LevelPlaces
from ...tables.schema import Column, Schema

Array = np.ndarray[Any, Any]
PartRule = LinearRule | DiagonalRule | QuadraticRule | LevelRule

#: Whole numbers below it are written with all their digits.
_LARGEST = 10**30

EXPORTABLE = "linear, diagonal and quadratic rules: " + ", ".join(
    (
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
        "RegularizedDiscriminantAnalysis",
        "FisherDiscriminant",
        "LeastSquaresClassifier",
        "LogisticRegression",
        "LogisticRegressionCV",
        "GaussianNB",
        "NaiveBayes",
        "OneVsRest (of linear models, without their probabilities)",
        "Perceptron and SupportVectorClassifier (two classes, or one-vs-rest)",
    )
)


@dataclass(frozen=True)
class RawColumn:
    """A column of the table.

    ==========  ========================================================================================
    kind        a value is read as
    ==========  ========================================================================================
    number      a number
    truth       1 or 0: true or false, the numbers 1 and 0, or words such as yes and no
    category    the place of its level in ``levels``, in which levels that count as one stand together
    ==========  ========================================================================================

    Missing are None, NaN, NULL, the texts in ``missing`` and the numbers in ``missing_numbers``.
    """

    name: str
    kind: Literal["number", "truth", "category"]
    levels: tuple[tuple[Any, ...], ...] = ()
    missing: tuple[str, ...] = ()
    missing_numbers: tuple[float, ...] = ()

    @cached_property
    def lookup(self) -> LevelLookup:
        """The places of the levels by what they are called and by what they mean."""
        places = {level: place for place, together in enumerate(self.levels) for level in together}
        if not all(isinstance(level, str | bool | int | float) for level in places):
            raise ParameterError(f"Levels of column {self.name!r} are neither text nor numbers: {quoted(places)}.")
        texts = {level: place for level, place in places.items() if isinstance(level, str)}
        if len(texts) == len(places):
            known = LevelPlaces(texts)
            numbers, truths = map(_plain_numbers, (known.numbers, known.truths))
            return LevelLookup(texts, numbers, truths, known.binary, known.times)
        numbers = _plain_numbers({level: place for level, place in places.items() if level not in texts})
        return LevelLookup(texts, numbers, {truth: numbers[truth] for truth in (1, 0) if truth in numbers}, False, {})


class LevelLookup(NamedTuple):
    """The places of levels; None where a meaning has several."""

    texts: dict[str, int]
    numbers: dict[int | float, int | None]
    truths: dict[int | float, int | None]
    binary: bool  #: whether 1 and 0 mean the words for true and false that the levels are
    times: dict[str, int]  #: dates and times as ISO 8601 writes them


def _plain_numbers(places: dict[Any, int | None]) -> dict[int | float, int | None]:
    """The same for whole numbers and floats, of which several numbers may be one."""
    found: dict[int | float, int | None] = {}
    for number, place in places.items():
        plain_number = int(number) if abs(number) < _LARGEST and number == int(number) else float(number)
        found[plain_number] = place if found.get(plain_number, place) == place else None
    return found


@dataclass(frozen=True)
class Input:
    """One column of the model.

    ==========  =================================================================================
    kind        value
    ==========  =================================================================================
    value       the number or truth value of the raw column
    level       1 where its level is at ``place``, else 0; ``unseen`` for a level it has not got
    missing     1 where it is missing, else 0
    place       the place of its level, for rules with a table of levels
    ==========  =================================================================================

    A missing raw value gives ``fill`` instead, and is refused where that is None.
    """

    column: str
    kind: Literal["value", "level", "missing", "place"]
    place: int | None = None
    fill: float | None = None
    unseen: float = 0.0


def of_schema(schema: Any) -> tuple[list[RawColumn], list[Input]]:
    """The raw columns, and the inputs made of them, by a `Schema` or the dict that it can be written as."""
    known = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    if known.width is not None:
        return _numbers(known.names)
    raw = [_raw_column(column, known) for column in known.used]
    return raw, [made for column in known.used for made in _inputs(column, known)]


def _numbers(names: Sequence[str]) -> tuple[list[RawColumn], list[Input]]:
    return [RawColumn(name, "number") for name in names], [Input(name, "value") for name in names]


def _raw_column(column: Column, schema: Schema) -> RawColumn:
    if column.notation.as_text:
        raise ParameterError(
            f"Column {column.name!r} is a date, or a number that is not written plainly, which is not exported. Write "
            "it as plain numbers in the table, and fit the model anew."
        )
    kind: Any = {"boolean": "truth", "category": "category"}.get(column.kind, "number")
    together: list[list[str]] = [[] for _ in range(len(column.coded_levels) + 1)]
    for level, place in column.places.texts.items():
        together[place - REFERENCE_PLACE].append(level)
    codes = tuple(code for code in schema.missing_codes if code not in column.places.texts)
    if kind == "category":
        numbers = tuple(float(code) for code in codes if NUMBER.fullmatch(code))
        return RawColumn(column.name, kind, tuple(map(tuple, together)), codes, numbers)
    return RawColumn(column.name, kind, (), codes, column.notation.sentinels)


def _inputs(column: Column, schema: Schema) -> Iterator[Input]:
    """The coded columns of one raw column, in the order of ``column.outputs``."""
    complete = schema.missing != "indicator"
    if column.kind == "category":
        for place in range(len(column.coded_levels)):
            unseen = column.shares[place] if column.knows_levels else float(place == column.place_of_other)
            fill = float(place == column.place_of_reference and not column.missing_column)
            yield Input(column.name, "level", place - REFERENCE_PLACE, None if complete else fill, unseen)
    else:
        yield Input(column.name, "value", fill=None if complete else column.mean)
    if column.missing_column:
        yield Input(column.name, "missing", fill=1.0)


@dataclass(frozen=True)
class RulePart:
    """A rule for some of the model's columns, without its constants."""

    rule: PartRule
    places: tuple[int, ...]


@dataclass(frozen=True)
class Recipe:
    """A fitted model: scores are its constants (one for each class) plus what the parts make of its inputs."""

    name: str
    classes: list[Any]
    columns: list[RawColumn]  #: the raw columns that are read
    inputs: list[Input]  #: one for each column of the model
    parts: tuple[RulePart, ...]
    constants: Array
    answer: Literal["probability", "score"]
    last_wins: bool  #: whether of classes with equal scores the last is taken instead of the first

    @property
    def possible(self) -> list[int]:
        """The classes that can win: those without a score of minus infinity."""
        return np.flatnonzero(np.isfinite(self.constants)).tolist()


def recipe(model: Any, schema: Any = None) -> Recipe:
    """The recipe of a fitted model, reading raw values as the schema says where there is one."""
    if isinstance(model, RuleClassifier):
        model._ready()
    rule = getattr(model, "rule_", None)
    if type(rule) not in _PARTS:
        inside = f" with a {type(rule).__name__}" if rule is not None else ""
        raise ParameterError(f"A {type(model).__name__}{inside} cannot be exported. What can be: {EXPORTABLE}.")
    parts = _PARTS[type(rule)](rule, model)
    if schema is not None and any(isinstance(part.rule, LevelRule) for part in parts):
        raise ParameterError(f"This {type(model).__name__} reads raw categories itself: leave the schema out.")
    columns, inputs = _own_inputs(model, rule) if schema is None else of_schema(schema)
    if len(inputs) != model.n_features_in_:
        raise ParameterError(
            f"The schema makes {len(inputs)} columns, the model was fitted to {model.n_features_in_}. Give the schema "
            "of the rows it was fitted to."
        )
    if hasattr(model, "calibrated_"):
        warn(
            f"The probabilities of this {type(model).__name__} are calibrated, and the calibration is not exported: "
            "what is written gives its classes and scores, but no probabilities.",
            DiscriminantWarning,
        )
    answer: Any = "probability" if isinstance(model, PosteriorClassifier) else "score"
    classes = [plain(label) for label in model.classes_]
    constants = sum(part.rule.constants for part in parts if not isinstance(part.rule, LevelRule))
    used = tuple(part for part in parts if part.places)
    last_wins = isinstance(model, RuleClassifier) and model._last_wins
    return Recipe(type(model).__name__, classes, columns, inputs, used, np.asarray(constants), answer, last_wins)


def _own_inputs(model: Any, rule: Any) -> tuple[list[RawColumn], list[Input]]:
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])]
    columns, inputs = _numbers(names)
    if isinstance(rule, MixedRule):
        for j, own in zip(_categorical(model), rule.categorical, strict=True):
            columns[j] = RawColumn(names[j], "category", tuple((plain(level),) for level in own.levels))
            inputs[j] = Input(names[j], "place")
    return columns, inputs


def _categorical(model: Any) -> list[int]:
    """The columns that naive Bayes reads as levels."""
    return [j for j, kind in enumerate(model.distributions_) if kind == "categorical"]


def _one_part(rule: Any, model: Any) -> tuple[RulePart, ...]:
    places = tuple(range(model.n_features_in_))
    return (RulePart(rule, places),)


def _mixed_parts(rule: MixedRule, model: Any) -> tuple[RulePart, ...]:
    levels = _categorical(model)
    numbers = np.setdiff1d(np.arange(model.n_features_in_), levels)
    return (
        RulePart(rule.linear, tuple(numbers[rule.linear_columns].tolist())),
        RulePart(rule.normal, tuple(numbers[rule.normal_columns].tolist())),
        *(RulePart(own, (j,)) for own, j in zip(rule.categorical, levels, strict=True)),
    )


def _coded_parts(rule: CodebookRule, model: Any) -> tuple[RulePart, ...]:
    """Binary problems whose scores are only added up are one linear rule."""
    columns, book = rule.columns, rule.codebook
    added = book.n_classes == 2 or rule.decoding == "confidence"
    if not added or not isinstance(columns, LinearRule):
        raise ParameterError(
            f"A {type(model).__name__} of {book.n_classes} classes decided by {rule.decoding!r} cannot be exported: "
            f"its scores are no sums of columns. What can be: {EXPORTABLE}."
        )
    own = 0.5 * book.matrix if book.n_classes == 2 else book.own
    linear = LinearRule(columns.centre, own @ columns.coef, own @ columns.constants)
    return _one_part(linear, model)


_PARTS: dict[type, Callable[[Any, Any], tuple[RulePart, ...]]] = {
    LinearRule: _one_part,
    DiagonalRule: _one_part,
    QuadraticRule: _one_part,
    MixedRule: _mixed_parts,
    CodebookRule: _coded_parts,
}
