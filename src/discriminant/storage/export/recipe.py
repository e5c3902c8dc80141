"""The common form of all exports: inputs from raw values, scores from inputs, predictions from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import count
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ...arrays import Array
from ...basis import Basis, Piecewise
from ...errors import DiscriminantWarning, InputError, ParameterError, Setting, warn
from ...estimators.base import PosteriorClassifier, RuleClassifier
from ...estimators.formula_fit import input_names
from ...multiclass import CodebookRule
from ...results import plain, quoted
from ...rules import (
    DiagonalRule,
    EffectsRule,
    ExpandedRule,
    LevelRule,
    LinearRule,
    MixedRule,
    OrdinalRule,
    PoolRule,
    QuadraticRule,
)
from ...tables.column import Column
from ...tables.levels import NUMBER, REFERENCE_PLACE, LevelPlaces
from ...tables.notation import Notation
from ...tables.schema import Schema

PartRule = LinearRule | DiagonalRule | QuadraticRule | LevelRule | Piecewise

# Code points of the characters that `str.strip` removes.
SPACES = tuple(number for number in range(0x3001) if chr(number).isspace())
# Whole numbers below it are distinct as floats.
MAX_EXACT_INTEGER: Final = 2**53
# Larger levels are floats: no database has integers of more digits.
MAX_INTEGER_LEVEL: Final = 10**30
# Members of a pool with a smaller weight change no digit of a probability and are left out.
MIN_MEMBER_SHARE: Final = 1e-30

EXPORTABLE = (
    "linear, diagonal and quadratic rules, of columns or of functions of them, and their pools: AutoClassifier, "
    "LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, RegularizedDiscriminantAnalysis, FisherDiscriminant, "
    "LeastSquaresClassifier, LogisticRegression, LogisticRegressionCV, LossClassifier, GaussianNB, NaiveBayes, "
    "OrdinalLogisticRegression, "
    "OneVsRest (of linear models, without their probabilities), Perceptron and SupportVectorClassifier (two classes, "
    "or one-vs-rest)"
)


@dataclass(frozen=True)
class RawColumn:
    """A raw column of the table.

    ==========  ========================================================================================
    kind        a value is read as
    ==========  ========================================================================================
    number      a number
    truth       1 or 0: true or false, the numbers 1 and 0, or words such as yes and no
    category    the place of its level in ``levels``, where combined levels have one place
    date        days since 1970-01-01, or hours since midnight if ``notation`` is of times of day
    amount      a number that was text with this ``notation`` in training
    ==========  ========================================================================================

    Missing values are None, NaN, NULL, the texts in ``missing`` and the numbers in ``missing_numbers``.
    """

    name: str
    kind: Literal["number", "truth", "category", "date", "amount"]
    levels: tuple[tuple[Any, ...], ...] = ()
    missing: tuple[str, ...] = ()
    missing_numbers: tuple[float, ...] = ()
    notation: Notation | None = None

    @cached_property
    def lookup(self) -> LevelLookup:
        """The places of the levels by text and by meaning."""
        places = {level: place for place, together in enumerate(self.levels) for level in together}
        if not all(isinstance(level, str | bool | int | float) for level in places):
            raise ParameterError(f"Levels of column {self.name!r} must be text or numbers, got {quoted(places)}.")
        texts = {level: place for level, place in places.items() if isinstance(level, str)}
        if len(texts) == len(places):
            known = LevelPlaces(texts)
            numbers, truths = map(_plain_numbers, (known.numbers, known.truths))
            return LevelLookup(texts, numbers, truths, known.binary)
        numbers = _plain_numbers({level: place for level, place in places.items() if level not in texts})
        return LevelLookup(texts, numbers, {truth: numbers[truth] for truth in (1, 0) if truth in numbers}, False)


class LevelLookup(NamedTuple):
    """The places of levels; None if several have the same meaning."""

    texts: dict[str, int]
    numbers: dict[int | float, int | None]
    truths: dict[int | float, int | None]
    binary: bool  #: whether all levels are words for true and false, which 1 and 0 then stand for


def _plain_numbers(places: dict[Any, int | None]) -> dict[int | float, int | None]:
    """The same for integers and floats, where several numbers may become equal."""
    found: dict[int | float, int | None] = {}
    for number, place in places.items():
        plain_number = int(number) if abs(number) < MAX_INTEGER_LEVEL and number == int(number) else float(number)
        found[plain_number] = place if found.get(plain_number, place) == place else None
    return found


@dataclass(frozen=True)
class Input:
    """One column of the model.

    ==========  =================================================================================
    kind        value
    ==========  =================================================================================
    value       the number or truth value of the raw column
    level       1 if its level has this ``place``, else 0; ``unseen`` for unseen levels
    missing     1 if it is missing, else 0
    place       the place of its level, for rules with a table of levels
    ==========  =================================================================================

    Missing raw values give ``fill``; they are refused if it is None.
    """

    column: str
    kind: Literal["value", "level", "missing", "place"]
    place: int | None = None
    fill: float | None = None
    unseen: float = 0.0


def of_schema(schema: Schema | Mapping[str, Any]) -> tuple[list[RawColumn], list[Input]]:
    """The raw columns and the inputs of a `Schema` or its dict."""
    known = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    if known.width is not None:
        return _numbers(known.names)
    raw = [_raw_column(column, known) for column in known.used]
    return raw, [made for column in known.used for made in _inputs(column, known)]


def _numbers(names: Sequence[str]) -> tuple[list[RawColumn], list[Input]]:
    return [RawColumn(name, "number") for name in names], [Input(name, "value") for name in names]


def _raw_column(column: Column, schema: Schema) -> RawColumn:
    notation = column.notation if column.notation.as_text else None
    number = "number" if notation is None else "amount" if notation.date is None else "date"
    kind: Any = {"boolean": "truth", "category": "category"}.get(column.kind, number)
    together: list[list[str]] = [[] for _ in range(len(column.coded_levels) + 1)]
    for level, place in column.places.texts.items():
        together[place - REFERENCE_PLACE].append(level)
    codes = tuple(code for code in schema.missing_codes if code not in column.places.texts)
    if kind == "category":
        numbers = tuple(float(code) for code in codes if NUMBER.fullmatch(code))
        return RawColumn(column.name, kind, tuple(map(tuple, together)), codes, numbers)
    return RawColumn(column.name, kind, (), codes, column.notation.sentinels, notation)


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
    """A term of the scores of a member; a `Piecewise` has an output for each class."""

    rule: PartRule
    places: tuple[int, ...]


@dataclass(frozen=True)
class Member:
    """Scores: constants (one for each class) plus the parts.

    Features are the inputs, then the outputs of ``functions`` (of inputs), then ``products`` of previous features.
    """

    constants: Array
    parts: tuple[RulePart, ...]
    functions: tuple[Piecewise, ...] = ()
    products: tuple[tuple[int, ...], ...] = ()
    share: float = 1.0  #: weight of its probabilities

    @property
    def possible(self) -> list[int]:
        """The classes with finite scores."""
        return np.flatnonzero(np.isfinite(self.constants)).tolist()


@dataclass(frozen=True)
class Recipe:
    """A fitted model: the scores of its members, or the weighted mean of their probabilities."""

    name: str
    classes: list[Any]
    columns: list[RawColumn]  #: the raw columns
    inputs: list[Input]  #: the columns of the model
    members: tuple[Member, ...]
    answer: Literal["probability", "score"]
    last_wins: bool  #: whether the last of several classes with equal scores is predicted
    #: Ordered classes, whose probabilities are functions of the scores of K - 1 thresholds.
    ordinal: OrdinalRule | None = None


def _linear_of_ordinal(rule: OrdinalRule) -> tuple[LinearRule, OrdinalRule | None]:
    """The linear rule of the classes, of adjacent categories; else that of the thresholds, with the ordinal rule."""
    if rule.form == "adjacent":
        return rule.of_classes(), None
    coef = np.broadcast_to(rule.coef, (len(rule.thresholds), len(rule.centre)))
    return LinearRule(rule.centre, np.ascontiguousarray(-coef), rule.thresholds), rule


def recipe(model: BaseEstimator, schema: Schema | Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of a fitted model, with raw columns by the schema or the model's encoder."""
    if isinstance(model, RuleClassifier):
        model._ready()
    rule: Any = getattr(model, "rule_", None)
    ordinal = None
    if isinstance(rule, OrdinalRule):
        rule, ordinal = _linear_of_ordinal(rule)
    if hasattr(model, "basis_"):
        rule = ExpandedRule(model.basis_, rule)
    if schema is None and hasattr(model, "encoder_"):
        schema = model.encoder_.schema_
    if schema is not None:
        schema = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
        _refuse_texts(schema)
    members = _members(rule, model)
    if not all(map(_is_sound, members)):
        raise InputError(f"This {type(model).__name__} has NaN or infinity among its numbers. Fit it again.")
    if schema is not None and isinstance(rule, MixedRule) and rule.categorical:
        raise ParameterError(
            f"This {type(model).__name__} has its own raw categories. Leave out ", Setting("schema"), "."
        )
    columns, inputs = _own_inputs(model, rule) if schema is None else of_schema(schema)
    if len(inputs) != rule.sizes[1]:
        raise ParameterError(
            Setting("schema"), f" has {len(inputs)} columns; expected {rule.sizes[1]}. Use that of the training data."
        )
    if hasattr(model, "calibrated_"):
        warn(
            f"The calibration of this {type(model).__name__} is not exported: the export has classes and scores only.",
            DiscriminantWarning,
        )
    answer: Any = "probability" if isinstance(model, PosteriorClassifier) else "score"
    classes = [plain(label) for label in model.classes_]
    last_wins = isinstance(model, RuleClassifier) and model._last_wins
    return Recipe(type(model).__name__, classes, columns, inputs, members, answer, last_wins, ordinal)


def _refuse_texts(schema: Schema) -> None:
    if texts := [column.name for column in schema.used if column.kind == "text"]:
        raise ParameterError(
            f"{quoted(texts)}: text columns cannot be exported. Predict with the model file, or fit without them."
        )


def _is_sound(member: Member) -> bool:
    """Whether its numbers are finite, and a class can be predicted."""
    records: list[Any] = [*member.functions, *(part.rule for part in member.parts)]
    values = [getattr(own, part.name) for own in records for part in fields(own) if part.name != "constants"]
    numbers = [value for value in values if isinstance(value, np.ndarray)]
    winning = bool((member.constants < np.inf).all()) and bool(member.possible)
    return winning and all(bool(np.isfinite(value).all()) for value in numbers)


def _own_inputs(model: BaseEstimator, rule: Any) -> tuple[list[RawColumn], list[Input]]:
    names = [str(name) for name in input_names(model) or (f"x{j}" for j in range(rule.sizes[1]))]
    columns, inputs = _numbers(names)
    if isinstance(rule, MixedRule):
        for j, own in zip(_categorical(model), rule.categorical, strict=True):
            columns[j] = RawColumn(names[j], "category", tuple((plain(level),) for level in own.levels))
            inputs[j] = Input(names[j], "place")
    return columns, inputs


def _categorical(model: BaseEstimator) -> list[int]:
    """The categorical columns of naive Bayes."""
    return [j for j, kind in enumerate(model.distributions_) if kind == "categorical"]


def _plain_member(rule: LinearRule | DiagonalRule | QuadraticRule, places: Sequence[int] | None = None) -> Member:
    """The member of a rule of columns."""
    if isinstance(rule, QuadraticRule):
        rule = _triangular(rule)
    return Member(rule.constants, (RulePart(rule, tuple(range(rule.sizes[1]) if places is None else places)),))


def _triangular(rule: QuadraticRule) -> QuadraticRule:
    """The same rule with triangular matrices."""
    if not np.tril(rule.spheres, -1).any():
        return rule
    factors = [np.asarray(np.linalg.qr(sphere.T, mode="r")).T for sphere in rule.spheres]
    return replace(rule, spheres=np.stack(factors))


def _mixed_member(rule: MixedRule, model: BaseEstimator) -> Member:
    levels = _categorical(model)
    numbers = np.setdiff1d(np.arange(model.n_features_in_), levels)
    parts = (
        RulePart(rule.linear, tuple(numbers[rule.linear_columns].tolist())),
        RulePart(rule.normal, tuple(numbers[rule.normal_columns].tolist())),
        *(RulePart(own, (j,)) for own, j in zip(rule.categorical, levels, strict=True)),
    )
    return Member(rule.linear.constants + rule.normal.constants, tuple(part for part in parts if part.places))


def _coded_member(rule: CodebookRule, model: BaseEstimator) -> Member:
    """The linear rule of binary problems whose scores are summed."""
    columns, book = rule.columns, rule.codebook
    added = book.n_classes == 2 or rule.decoding == "confidence"
    if not added or not isinstance(columns, LinearRule):
        raise ParameterError(
            f"{type(model).__name__} of {book.n_classes} classes with decoding {rule.decoding!r} cannot be exported. "
            f"Supported: {EXPORTABLE}."
        )
    own = 0.5 * book.matrix if book.n_classes == 2 else book.own
    return _plain_member(LinearRule(columns.centre, own @ columns.coef, own @ columns.constants))


def _expanded_member(rule: ExpandedRule) -> Member:
    if isinstance(rule.rule, LinearRule):
        return _summed_member(rule.basis, rule.rule)
    if rule.basis.contrasts is not None:
        return _contrasts_member(rule.basis, rule.rule)
    products, places = _features(rule.basis)
    return replace(_plain_member(rule.rule, places), functions=tuple(rule.basis.functions), products=products)


def _contrasts_member(basis: Basis, rule: DiagonalRule | QuadraticRule) -> Member:
    """The member of a rule of squared distances of contrasts: distances of linear maps of the products."""
    contrasts = np.asarray(basis.contrasts)
    if isinstance(rule, DiagonalRule):
        spheres = np.stack([np.diag(own) for own in 1 / np.sqrt(rule.variances)])
        means = rule.means
    else:
        spheres, means = rule.spheres, rule.centre + rule.offsets
    n_products, n_columns = contrasts.shape
    # Zero columns make the maps square; contrasts have full column rank, so that means have preimages.
    wide = np.pad(contrasts @ spheres, ((0, 0), (0, 0), (0, n_products - n_columns)))
    offsets = means @ np.linalg.pinv(contrasts)
    own = ExpandedRule(
        replace(basis, contrasts=None), QuadraticRule(np.zeros(n_products), offsets, wide, rule.constants)
    )
    return _expanded_member(own)


def _features(basis: Basis) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    """The products of a basis, and the places of its outputs among the features."""
    n_made = basis.n_factors - len(basis.columns)
    of_factor = np.r_[basis.columns, basis.n_columns + np.arange(n_made)]
    factors = [tuple(of_factor[row[row >= 0]].tolist()) for row in basis.outputs]
    after = count(basis.n_columns + n_made)
    places = [own[0] if len(own) == 1 else next(after) for own in factors]
    return tuple(own for own in factors if len(own) != 1), places


def _summed_member(basis: Basis, rule: LinearRule) -> Member:
    """The member of a linear rule of a basis, with one function for each column and class."""
    if basis.contrasts is not None:
        basis, rule = _without_contrasts(basis, rule)
    n_own, counted = len(basis.columns), rule.coef.any(axis=0)
    single, factor = (basis.outputs >= 0).sum(axis=1) == 1, basis.outputs.max(axis=1)
    as_is, of_one = counted & single & (factor < n_own), counted & single & (factor >= n_own)
    multiplied = counted & ~single
    weights = np.zeros((basis.n_factors, len(rule.constants)))
    np.add.at(weights, factor[of_one], rule.coef.T[of_one])
    parts = []
    first = n_own
    for function in basis.functions:
        own = weights[first : first + function.n_outputs].T
        first += function.n_outputs
        if own.any():
            parts.append(RulePart(function.combined(own), (function.column,)))
    linear = LinearRule(rule.centre[as_is], rule.coef[:, as_is], rule.constants)
    parts.append(RulePart(linear, tuple(basis.columns[factor[as_is]].tolist())))
    needed = _with_outputs(basis, multiplied)
    products, places = _features(needed)
    parts.append(RulePart(LinearRule(np.zeros(len(places)), rule.coef[:, multiplied], rule.constants), tuple(places)))
    constants = rule.constants - rule.coef[:, ~as_is] @ rule.centre[~as_is]
    return Member(constants, tuple(part for part in parts if part.places), tuple(needed.functions), products)


def _without_contrasts(basis: Basis, rule: LinearRule) -> tuple[Basis, LinearRule]:
    """The same scores as a rule of products instead of contrasts."""
    constants = rule.constants - rule.coef @ rule.centre
    coef = rule.coef @ np.asarray(basis.contrasts).T
    return replace(basis, contrasts=None), LinearRule(np.zeros(len(basis.outputs)), coef, constants)


def _with_outputs(basis: Basis, wanted: Array) -> Basis:
    """The basis of some of the outputs."""
    n_own, outputs = len(basis.columns), basis.outputs[wanted]
    used = np.unique(outputs[outputs >= 0])
    functions = []
    first = n_own
    for function in basis.functions:
        own = used[(used >= first) & (used < first + function.n_outputs)] - first
        first += function.n_outputs
        if own.size:
            functions.append(replace(function, coefficients=function.coefficients[:, own]))
    renumbered = np.where(outputs >= 0, np.searchsorted(used, outputs), -1)
    return Basis(basis.n_columns, basis.columns[used[used < n_own]], functions, renumbered)


def _pool_members(rule: PoolRule) -> tuple[Member, ...]:
    shares = (rule.weights / rule.weights.sum()).tolist()
    pairs = [(own, share) for own, share in zip(rule.rules, shares, strict=True) if share >= MIN_MEMBER_SHARE]
    if any(isinstance(own, EffectsRule) for own, _ in pairs):
        raise ParameterError(
            "An averaged model with effects of a category with many levels cannot be exported. Predict with the model "
            "file, fit again with all levels in dense columns (larger max_levels), or use another model such as ridge."
        )
    return tuple(replace(_RULES[type(own)](own), share=share) for own, share in pairs)


_RULES: dict[type, Callable[[Any], Member]] = {
    LinearRule: _plain_member,
    DiagonalRule: _plain_member,
    QuadraticRule: _plain_member,
    ExpandedRule: _expanded_member,
}
_MODELS: dict[type, Callable[[Any, Any], Member]] = {MixedRule: _mixed_member, CodebookRule: _coded_member}


def _members(rule: Any, model: BaseEstimator) -> tuple[Member, ...]:
    """The members of a model with this rule."""
    if isinstance(rule, PoolRule):
        return _pool_members(rule)
    if type(rule) in _MODELS:
        return (_MODELS[type(rule)](rule, model),)
    if type(rule) in _RULES and not (isinstance(rule, ExpandedRule) and type(rule.rule) not in _RULES):
        return (_RULES[type(rule)](rule),)
    inside = f" with a {type(rule).__name__}" if rule is not None else ""
    raise ParameterError(f"{type(model).__name__}{inside} cannot be exported. Supported: {EXPORTABLE}.")
