"""Whether parts that came out of a file fit each other, so that a model that loads can also be used.

Compiled code trusts shapes: what it is given must be checked before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..data.rows import DISTRIBUTIONS
from ..errors import ModelFileError
from ..estimators.multiclass import BinaryClassifiers
from ..margins.perceptron import PerceptronState
from ..moments import ClassMoments, FoldMoments
from ..moments.statistic import TableMoments
from ..multiclass import DECODINGS, LOSSES, Codebook, CodebookRule
from ..objective import Standardisation
from ..rules import DiagonalRule, LevelRule, LinearRule, MixedRule, QuadraticRule
from ..solvers.gradient import Stream
from .forms import RowsLeftOut

Array = np.ndarray[Any, Any]

#: Shapes in letters: equal letters of one object are equal lengths.
_SHAPES: dict[type, dict[str, str]] = {
    LinearRule: {"centre": "p", "coef": "Kp", "constants": "K"},
    QuadraticRule: {"centre": "p", "offsets": "Kp", "spheres": "Kpp", "constants": "K"},
    DiagonalRule: {"means": "Kp", "variances": "Kp", "constants": "K"},
    LevelRule: {"table": "lK"},
    PerceptronState: {"weights": "q", "lag": "q"},
    Standardisation: {"centre": "p", "scale": "p"},
    ClassMoments: {"weight": "K", "mean": "Kp"},
    TableMoments: {"weight": "K", "mean": "Kp", "scatter": "Kp"},
}
_SCATTERS = {"diagonal": "Kp", "pooled": "gpp", "class": "Kpp"}


def check_sound(value: Any) -> None:
    """Refuse an object whose parts do not fit each other."""
    kind = type(value)
    if kind in _SHAPES:
        _sizes(value, _SHAPES[kind])
    if kind in _CHECKS:
        _CHECKS[kind](value)
    elif isinstance(value, BaseEstimator):
        _check_model(value)


def _sizes(value: Any, shapes: dict[str, str]) -> dict[str, int]:
    """The length each letter stands for, if the arrays are numbers of these shapes."""
    sizes: dict[str, int] = {}
    for name, letters in shapes.items():
        array = getattr(value, name)
        _require(isinstance(array, np.ndarray) and array.dtype == np.float64, value, f"{name} is no array of floats")
        _require(array.ndim == len(letters), value, f"{name} has {array.ndim} dimensions instead of {len(letters)}")
        for letter, length in zip(letters, array.shape, strict=True):
            _require(sizes.setdefault(letter, length) == length, value, f"{name} has the wrong shape {array.shape}")
    return sizes


def _require(holds: bool, value: Any, reason: str) -> None:
    if not holds:
        raise ModelFileError(f"The parts of a {type(value).__name__} do not fit each other: {reason}.")


def _check_levels(rule: LevelRule) -> None:
    _require(isinstance(rule.levels, list) and len(rule.table) == len(rule.levels) + 1, rule, "levels")
    _ = rule._row  # levels that cannot be looked up show here


def _check_mixed(rule: MixedRule) -> None:
    _require(type(rule.normal) is DiagonalRule and type(rule.linear) is LinearRule, rule, "rules of its columns")
    levels = isinstance(rule.categorical, list) and all(type(part) is LevelRule for part in rule.categorical)
    _require(levels, rule, "rules of its categories")
    places = [rule.normal_columns, rule.linear_columns]
    _require(all(isinstance(p, np.ndarray) and p.dtype.kind == "i" and p.ndim == 1 for p in places), rule, "columns")
    count = rule.normal.means.shape[1] + rule.linear.coef.shape[1]
    _require(np.array_equal(np.sort(np.concatenate(places)), np.arange(count)), rule, "columns")
    own = [rule.normal.means.shape[1], rule.linear.coef.shape[1]]
    _require([len(p) for p in places] == own, rule, "columns")
    classes = {len(rule.normal.means), len(rule.linear.coef), *(part.table.shape[1] for part in rule.categorical)}
    _require(len(classes) == 1, rule, "numbers of classes")


def _check_coded(rule: CodebookRule) -> None:
    columns: Any = rule.columns
    _require(type(columns) in (LinearRule, BinaryClassifiers) and type(rule.codebook) is Codebook, rule, "kinds")
    count = len(columns.coef if isinstance(columns, LinearRule) else columns.estimators)
    _require(count == rule.codebook.n_columns, rule, "number of columns")
    _require(rule.decoding in DECODINGS and rule.loss in LOSSES, rule, "decoding")
    present = rule.present
    if present is not None:
        _require(isinstance(present, np.ndarray) and present.dtype == bool and present.ndim == 1, rule, "classes")
        _require(np.count_nonzero(present) == rule.codebook.n_classes, rule, "number of classes")


def _check_committee(committee: BinaryClassifiers) -> None:
    members = committee.estimators
    _require(isinstance(members, list) and all(hasattr(member, "rule_") for member in members), committee, "members")
    _require(len({member.n_features_in_ for member in members}) == 1, committee, "numbers of columns")
    _require(isinstance(committee.sides, np.ndarray) and len(committee.sides) == len(members), committee, "sides")


def _check_moments(moments: ClassMoments) -> None:
    shapes = {**_SHAPES[ClassMoments], "scatter": _SCATTERS[moments.grain]}
    if moments.fourth:
        shapes |= {"fourth_power": "K", "cubed": "Kp"}
    sizes = _sizes(moments, shapes)
    _check_counts(moments)
    pools = moments.pools
    _require(type(pools) is int and pools > 0 and sizes["K"] % pools == 0, moments, "number of pools")
    _require(sizes.get("g", pools) == pools, moments, "number of scatter matrices")


def _check_counts(moments: ClassMoments) -> None:
    counts = moments.counts
    _require(isinstance(counts, np.ndarray) and counts.dtype.kind == "i", moments, "counts are no whole numbers")
    _require(counts.shape == moments.weight.shape, moments, "counts")


def _check_table(moments: TableMoments) -> None:
    _check_counts(moments)
    _require(moments.grain == "diagonal" and not moments.fourth and moments.pools == 1, moments, "kind")
    counts = (row for table in moments.tables for row in table.values())
    _require(all(row.shape == moments.weight.shape for row in counts), moments, "counts of levels")


def _check_folds(moments: FoldMoments) -> None:
    _require(type(moments.n_folds) is int and type(moments.first_row) is int, moments, "number of folds")
    if type(moments.cells) is not RowsLeftOut:
        _require(type(moments.cells) is ClassMoments and moments.cells.pools == moments.n_folds, moments, "cells")


def _check_stream(stream: Stream) -> None:
    for theta in (stream.theta, stream.average):
        _require(isinstance(theta, np.ndarray) and theta.shape == stream.objective.shape, stream, "parameters")


_CHECKS: dict[type, Callable[[Any], None]] = {
    LevelRule: _check_levels,
    MixedRule: _check_mixed,
    CodebookRule: _check_coded,
    BinaryClassifiers: _check_committee,
    ClassMoments: _check_moments,
    TableMoments: _check_table,
    FoldMoments: _check_folds,
    Stream: _check_stream,
}


def _check_model(model: Any) -> None:
    learned = vars(model)
    classes, rule = learned.get("classes_"), learned.get("rule_")
    if classes is not None:
        _require(isinstance(classes, np.ndarray) and classes.ndim == 1, model, "classes_ is no list of classes")
    if "n_features_in_" in learned:
        _check_columns(model, learned["n_features_in_"], learned.get("feature_names_in_"))
    for walk in learned.get("walks_", ()):
        _require(len(walk.weights) == learned["n_features_in_"] + 1, model, "walks_")
    if "_codes_" in learned:
        _check_multipliers(model)
    for part in ("calibrated_", "estimator_"):
        if part in learned:
            _check_inner(model, learned[part], part)
    if rule is not None:
        _require(type(rule) in _RULE_SIZES, model, f"rule_ is a {type(rule).__name__}")
        n_classes, n_columns = _RULE_SIZES[type(rule)](rule)
        _require(classes is not None and len(classes) == n_classes, model, f"rule_ scores {n_classes} classes")
        if type(rule) is MixedRule:
            _check_plan(model, rule, n_columns)
        else:
            _require(learned.get("n_features_in_") == n_columns, model, f"rule_ takes {n_columns} columns")


def _check_inner(model: Any, inner: Any, part: str) -> None:
    """A classifier inside another tells the same classes apart, by probabilities."""
    _require(hasattr(inner, "predict_proba"), model, f"{part} has no probabilities")
    classes = vars(model).get("classes_")
    _require(classes is not None and np.array_equal(inner.classes_, classes), model, f"classes of {part}")


def _check_multipliers(model: Any) -> None:
    """Those of a support vector machine: one for each row of each binary problem."""
    learned = vars(model)
    codes, book = learned["_codes_"], learned.get("codebook_")
    _require(isinstance(book, Codebook) and isinstance(codes, np.ndarray) and codes.dtype.kind == "i", model, "codes")
    _require(codes.ndim == 1 and codes.size > 0 and 0 <= codes.min() <= codes.max() < book.n_classes, model, "codes")
    rows = np.bincount(codes, minlength=book.n_classes) @ np.abs(book.matrix)
    for name in ("_alpha_", "_slack_"):
        values = learned.get(name)
        sound = isinstance(values, np.ndarray) and values.dtype == np.float64
        _require(sound and values.shape == (int(rows.sum()),), model, name)


def _check_columns(model: Any, count: Any, names: Any) -> None:
    _require(type(count) is int and count > 0, model, "n_features_in_ is no number of columns")
    if names is not None:
        named = isinstance(names, np.ndarray) and names.shape == (count,) and all(isinstance(n, str) for n in names)
        _require(named, model, "feature_names_in_ does not name each column")


def _check_plan(model: Any, rule: MixedRule, n_numeric: int) -> None:
    plan = vars(model).get("distributions_")
    _require(isinstance(plan, tuple) and all(kind in DISTRIBUTIONS for kind in plan), model, "distributions_")
    categorical = list(plan).count("categorical")
    _require(len(plan) == vars(model).get("n_features_in_"), model, "distributions_ has another number of columns")
    _require((categorical, len(plan) - categorical) == (len(rule.categorical), n_numeric), model, "distributions_")


def _coded_sizes(rule: CodebookRule) -> tuple[int, int]:
    classes = rule.codebook.n_classes if rule.present is None else len(rule.present)
    columns: Any = rule.columns
    linear = isinstance(columns, LinearRule)
    return classes, columns.coef.shape[1] if linear else columns.estimators[0].n_features_in_


#: How many classes a rule scores, and how many columns it takes.
_RULE_SIZES: dict[type, Callable[[Any], tuple[int, int]]] = {
    LinearRule: lambda rule: rule.coef.shape,
    QuadraticRule: lambda rule: rule.offsets.shape,
    DiagonalRule: lambda rule: rule.means.shape,
    MixedRule: lambda rule: (len(rule.linear.coef), rule.normal.means.shape[1] + rule.linear.coef.shape[1]),
    CodebookRule: _coded_sizes,
}
