"""What every export says in its own language: how a row's values become scores, and scores an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...errors import DiscriminantWarning, ParameterError, warn
from ...estimators.base import PosteriorClassifier, RuleClassifier
from ...multiclass import CodebookRule
from ...results import plain
from ...rules import DiagonalRule, LevelRule, LinearRule, MixedRule, QuadraticRule
from ...tables.schema import Column, Schema

Array = np.ndarray[Any, Any]
PartRule = LinearRule | DiagonalRule | QuadraticRule | LevelRule

EXPORTABLE = "linear, diagonal and quadratic rules: " + ", ".join(
    (
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
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
class Input:
    """One column of the model.

    ==========  ==============================================================
    kind        value
    ==========  ==============================================================
    number      the raw value
    truth       1 for a true raw value, 0 for a false one
    level       1 where the raw value, as text, is one of ``levels``, else 0
    other       0 where the raw value, as text, is one of ``levels``, else 1
    category    the raw value itself, for rules with a table of levels
    ==========  ==============================================================

    A missing raw value gives ``fill`` instead, and is refused where that is None. Missing are None, NaN, NULL and the
    texts in ``missing``.
    """

    column: str
    kind: Literal["number", "truth", "level", "other", "category"]
    levels: tuple[str, ...] = ()
    fill: float | None = None
    missing: tuple[str, ...] = ()


def inputs_of_schema(schema: Any) -> tuple[Input, ...]:
    """The inputs that a `Schema`, or the dict that it can be written as, makes of raw columns."""
    known = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    if known.width is not None:
        return tuple(Input(name, "number") for name in known.names)
    return tuple(made for column in known.used for made in _inputs(column, known))


def _inputs(column: Column, schema: Schema) -> Iterator[Input]:
    """The coded columns of one raw column, in the order of ``column.outputs``."""
    if column.kind == "date" or column.notation.as_text or column.notation.sentinels:
        raise ParameterError(
            f"Column {column.name!r} is a date, or a number written as text or with codes for missing values, which is "
            "not exported. Write it as plain numbers in the table, and fit the model anew."
        )
    complete = schema.missing != "indicator"
    levels = column.written(*column.levels, *column.rare_levels)
    codes = tuple(code for code in schema.missing_codes if code not in levels)
    none, marked = (None, None) if complete else (0.0, 1.0)
    if column.kind == "category":
        for level in column.levels:
            if level != column.reference:
                yield Input(column.name, "level", column.written(level), none, codes)
        if column.other_column:
            yield Input(column.name, "other", column.written(*column.levels), none, codes)
    else:
        kind: Any = "truth" if column.kind == "boolean" else "number"
        yield Input(column.name, kind, (), None if complete else column.mean, codes)
    if column.missing_column:
        # What was never seen counts as missing, unless there is a column for other levels.
        unseen = column.kind == "category" and not column.pooled
        yield Input(column.name, "other" if unseen else "level", levels if unseen else (), marked, codes)


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
    inputs: tuple[Input, ...]  #: one for each column of the model
    parts: tuple[RulePart, ...]
    constants: Array
    answer: Literal["probability", "score"]
    last_wins: bool  #: whether of classes with equal scores the last is taken instead of the first

    @property
    def columns(self) -> list[str]:
        """The raw columns that are read, each once."""
        return list(dict.fromkeys(given.column for given in self.inputs))

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
    parts, kinds = _PARTS[type(rule)](rule, model)
    if schema is not None and "category" in kinds:
        raise ParameterError(f"This {type(model).__name__} reads raw categories itself: leave the schema out.")
    inputs = _own_inputs(model, kinds) if schema is None else inputs_of_schema(schema)
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
    return Recipe(type(model).__name__, classes, inputs, used, np.asarray(constants), answer, last_wins)


def _own_inputs(model: Any, kinds: Sequence[str]) -> tuple[Input, ...]:
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    return tuple(Input(str(name), kind) for name, kind in zip(names, kinds, strict=True))  # type: ignore[arg-type]


def _one_part(rule: Any, model: Any) -> tuple[tuple[RulePart, ...], list[str]]:
    places = tuple(range(model.n_features_in_))
    return (RulePart(rule, places),), ["number"] * len(places)


def _mixed_parts(rule: MixedRule, model: Any) -> tuple[tuple[RulePart, ...], list[str]]:
    plan = model.distributions_
    numbers = np.flatnonzero([kind != "categorical" for kind in plan])
    levels = np.flatnonzero([kind == "categorical" for kind in plan])
    parts = [
        RulePart(rule.linear, tuple(numbers[rule.linear_columns].tolist())),
        RulePart(rule.normal, tuple(numbers[rule.normal_columns].tolist())),
    ]
    parts += [RulePart(own, (int(j),)) for own, j in zip(rule.categorical, levels, strict=True)]
    return tuple(parts), ["category" if kind == "categorical" else "number" for kind in plan]


def _coded_parts(rule: CodebookRule, model: Any) -> tuple[tuple[RulePart, ...], list[str]]:
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


_PARTS: dict[type, Callable[[Any, Any], tuple[tuple[RulePart, ...], list[str]]]] = {
    LinearRule: _one_part,
    DiagonalRule: _one_part,
    QuadraticRule: _one_part,
    MixedRule: _mixed_parts,
    CodebookRule: _coded_parts,
}
