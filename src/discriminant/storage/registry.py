"""The classes that a model file can hold, and their conversion to parts and back without running code from the file.

Compiled code trusts shapes: every class checks in ``_check_parts`` that the parts from a file are consistent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arrays import Array
from ..basis import Basis
from ..data import LabelledRows, as_rows, check_shapes, is_single, require
from ..errors import ModelFileError
from ..tables.schema import Schema

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Parts = dict[str, Any]
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class Form:
    """A class by name, with the conversions of its objects to parts and back."""

    module: str
    class_name: str
    apart: Callable[[Any], Parts]
    together: Callable[[Any, Parts], Any]

    @cached_property
    def kind(self) -> Any:
        """The class; its module is named here, never in a file."""
        return getattr(import_module(self.module), self.class_name)


def record(module: str, name: str, **in_files: str) -> Form:
    """A dataclass: its fields, and its own constructor, which checks them; some fields have another name in files."""
    attributes = {stored: name for name, stored in in_files.items()}

    def apart(value: Any) -> Parts:
        names = [field.name for field in fields(value) if field.init]
        return {in_files.get(name, name): getattr(value, name) for name in names}

    def together(kind: type, parts: Parts) -> Any:
        return kind(**{attributes.get(name, name): part for name, part in parts.items()})

    return Form(module, name, apart, together)


def plain(module: str, name: str, *names: str) -> Form:
    """A class whose objects have some of these attributes."""

    def apart(value: Any) -> Parts:
        unknown = set(vars(value)) - set(names)
        if unknown:
            raise ModelFileError(f"Attribute {min(unknown)!r} of {type(value).__name__} cannot be stored.")
        return {name: value.__dict__[name] for name in names if name in vars(value)}

    def together(kind: type, parts: Parts) -> Any:
        if not set(parts) <= set(names):
            raise ModelFileError(f"{kind.__name__} has no part {min(set(parts) - set(names))!r}.")
        return _with_attributes(kind, parts)

    return Form(module, name, apart, together)


def _with_attributes(kind: type, parts: Parts) -> Any:
    made: Any = object.__new__(kind)
    vars(made).update(parts)
    return made


def estimator(name: str) -> Form:
    """A public estimator: its parameters and fitted attributes, without training rows."""
    return Form(_PACKAGE, name, _learned, _fitted)


def _learned(model: BaseEstimator) -> Parts:
    state = dict(vars(model))
    for name in getattr(model, "_own_state", ()):
        state.pop(name, None)
    return {**model.get_params(deep=False), **state}


class _Parametrised(Protocol):
    """An estimator class with the names of its constructor's parameters."""

    @classmethod
    def _get_param_names(cls) -> list[str]: ...


def _fitted(kind: type[_Parametrised], parts: Parts) -> Any:
    names = _parameters(kind)
    model = kind(**{name: parts[name] for name in names if name in parts})
    learned = {name: value for name, value in parts.items() if name not in names}
    for name in learned:
        _refuse_strange_attribute(kind, name)
    vars(model).update(learned)
    check_learned(model)
    return model


# Shapes of fitted arrays: K classes, o scores, p columns (m of them numbers), r directions.
_LEARNED = {
    "coef_": "op", "intercept_": "o", "means_": "Km", "priors_": "K", "scalings_": "pr", "variances_": "Km",
    "xbar_": "p",
}  # fmt: skip


def check_learned(model: BaseEstimator) -> None:
    """Refuse a model with inconsistent classes, columns, rule or inner classifiers: kernels trust shapes."""
    learned = vars(model)
    classes, count, names = (learned.get(name) for name in ("classes_", "n_features_in_", "feature_names_in_"))
    count = getattr(model, "n_features_in_", None) if count is None and names is not None else count
    one_list = classes is None or (isinstance(classes, np.ndarray) and classes.ndim == 1)
    require(one_list, model, "classes_ is no list of classes")
    counted = "n_features_in_" not in learned or (type(count) is int and count > 0)
    require(counted, model, "n_features_in_ is no number of columns")
    if names is not None:
        named = isinstance(names, np.ndarray) and names.shape == (count,) and all(isinstance(n, str) for n in names)
        require(named, model, "feature_names_in_ does not name each column")
    for part in ("calibrated_", "estimator_"):
        if part in learned:  # an inner classifier has the same classes and probabilities
            require(hasattr(learned[part], "predict_proba"), model, f"{part} does not predict probabilities")
            same = classes is not None and np.array_equal(learned[part].classes_, classes)
            require(same, model, f"classes of {part}")
    there = {name: letters for name, letters in _LEARNED.items() if learned.get(name) is not None}
    sizes = check_shapes(model, **there)
    same = sizes.get("p", count) == count and ("K" not in sizes or (classes is not None and sizes["K"] == len(classes)))
    require(same, model, f"the shapes of {', '.join(there)}")
    _check_inputs(model, learned.get("encoder_"), learned.get("basis_"), learned.get("formula_"))
    rule = learned.get("rule_")
    if rule is not None:
        require(hasattr(type(rule), "sizes"), model, f"rule_ is a {type(rule).__name__}")
        n_classes, n_columns = rule.sizes
        require(classes is not None and len(classes) == n_classes, model, f"rule_ scores {n_classes} classes")
        require(count == n_columns, model, f"rule_ takes {n_columns} columns")


def _check_inputs(model: BaseEstimator, encoder: Any, basis: Any, formula: Any) -> None:
    """Refuse an encoder, basis or formula that does not give the columns of the rule."""
    if encoder is basis is formula is None:
        return
    from ..formula import FormulaTerms
    from ..tables import TableEncoder

    require((basis is None) == (formula is None), model, "formula_ without basis_, or basis_ without formula_")
    own = [] if "feature_names_in_" not in vars(model) else model.feature_names_in_.tolist()
    if basis is not None:
        require(type(basis) is Basis and type(formula) is FormulaTerms, model, "basis_ and formula_")
        require(basis.n_columns == len(formula.inputs), model, "formula_ names other columns than basis_ takes")
        require(basis.n_outputs == len(formula.terms) == len(own), model, "basis_ makes other columns than rule_ takes")
        own = formula.inputs
    if encoder is not None:
        require(type(encoder) is TableEncoder and list(encoder.schema_.names) == own, model, "encoder_")


@cache
def _parameters(kind: type[_Parametrised]) -> tuple[str, ...]:
    return tuple(kind._get_param_names())


@cache
def _methods(kind: type) -> frozenset[str]:
    return frozenset(name for base in kind.__mro__ for name, value in vars(base).items() if hasattr(value, "__get__"))


def _refuse_strange_attribute(kind: type, name: str) -> None:
    """Refuse attributes without a leading or trailing underscore, and names of methods."""
    if name.startswith("__") or not (name.endswith("_") or name.startswith("_")) or name in _methods(kind):
        raise ModelFileError(f"{kind.__name__} has no fitted attribute {name!r}.")


def table_moments(module: str, name: str) -> Form:
    """Moments with levels; the counts of a column are one array."""
    names = ("structure", "fourth", "pools", "counts", "weight", "mean", "scatter")

    def apart(value: Any) -> Parts:
        kept: Parts = {name: vars(value)[name] for name in names}
        shape = (-1, len(value.weight))
        kept["levels"] = [list(table) for table in value.tables]
        kept["level_counts"] = [np.array(list(table.values())).reshape(shape) for table in value.tables]
        return kept

    def together(kind: type, parts: Parts) -> Any:
        made = _with_attributes(kind, {name: parts[name] for name in names})
        if not all(map(is_single, chain.from_iterable(parts["levels"]))):
            raise ModelFileError("Levels must be numbers or text.")
        pairs = zip(parts["levels"], parts["level_counts"], strict=True)
        made.tables = [dict(zip(levels, counts.copy(), strict=True)) for levels, counts in pairs]
        return made

    return Form(module, name, apart, together)


def stream(module: str, name: str) -> Form:
    """A stochastic gradient stream; its objective gets a row of zeros, because only the shape matters."""
    own = ("theta", "average", "steps", "batch", "rate")
    # Attributes by their names in files.
    of_objective = {
        "loss": "loss", "penalty": "penalty", "fit_intercept": "fit_intercept", "standard": "standard",
        "spread": "penalty_scale", "n_jobs": "n_jobs", "share": "share",
    }  # fmt: skip

    def apart(value: Any) -> Parts:
        kept = {name: getattr(value, name) for name in own}
        kept["classes"] = value.objective.data.classes
        return {**kept, **{stored: getattr(value.objective, name) for stored, name in of_objective.items()}}

    def together(kind: type[Any], parts: Parts) -> Any:
        from ..objective import Objective

        rows = as_rows(np.zeros((1, len(parts["standard"].centre))))
        data = LabelledRows(rows, parts["classes"], np.zeros(1, dtype=np.int32))
        objective = Objective(data, **{name: parts[stored] for stored, name in of_objective.items()})
        return kind(objective, **{name: parts[name] for name in own})

    return Form(module, name, apart, together)


def frame_backend(module: str, name: str) -> Form:
    """The library of the training frame, by name."""
    return Form(module, name, lambda value: {"name": value.value}, lambda kind, parts: kind(parts["name"]))


def table_encoder() -> Form:
    """A table encoder: its parameters and schema as plain values."""

    def apart(value: Any) -> Parts:
        kept = {**value.get_params(), "feature_names_in_": value.feature_names_in_}
        return {**kept, "schema": json.dumps(value.schema_.to_dict())}

    def together(kind: type[Any], parts: Parts) -> Any:
        given, schema = parts.pop("feature_names_in_"), Schema.from_dict(json.loads(parts.pop("schema")))
        names = [column.name for column in schema.columns]
        if schema.width is not None or list(given) != names:
            raise ModelFileError("The columns of an encoder differ from its schema.")
        made = kind(**parts)
        made.schema_, made.findings_ = schema, ()
        made.feature_names_in_, made.n_features_in_ = np.array(names, dtype=object), len(names)
        return made

    return Form(_PACKAGE, "TableEncoder", apart, together)


_PARAMETERS = ("estimator", "method", "cv", "n_jobs", "ensemble")
_METHODS = ("sigmoid", "isotonic")


def calibrated() -> Form:
    """Scikit-learn's ``CalibratedClassifierCV`` of classifiers of this package, with curves as plain arrays.

    The private classes of scikit-learn are rebuilt from the arrays, so that they can change without a new format.
    """
    return Form("sklearn.calibration", "CalibratedClassifierCV", _calibration_parts, _calibration)


def _calibration_parts(model: BaseEstimator) -> Parts:
    if model.method not in _METHODS:
        raise ModelFileError(f"Calibration method {model.method!r} cannot be stored. Use one of {_METHODS}.")
    names = getattr(model, "feature_names_in_", None)
    return {
        **{name: getattr(model, name) for name in _PARAMETERS},
        "classes": model.classes_,
        **({} if names is None else {"names": names}),
        "members": [member.estimator for member in model.calibrated_classifiers_],
        "curves": [[_curve(curve) for curve in member.calibrators] for member in model.calibrated_classifiers_],
    }


def own_calibration() -> Form:
    """The calibration of this package: one member and its curves."""

    def apart(value: Any) -> Parts:
        return {
            "method": value.method, "folds": value.n_folds, "classes": value.classes_, "members": [value.estimator],
            "curves": [value.curves],
        }  # fmt: skip

    def together(kind: type[Any], parts: Parts) -> Any:
        _check_calibration(parts)
        _fits(len(parts["members"]) == 1 and type(parts["folds"]) is int, "members")
        return kind(parts["members"][0], parts["method"], parts["folds"], parts["classes"], parts["curves"][0])

    return Form(f"{_PACKAGE}.estimators.calibration", "Calibration", apart, together)


def _curve(fitted: Any) -> Array:
    """Slope and intercept of a sigmoid, or the corners of an isotonic curve, scores above probabilities."""
    if hasattr(fitted, "a_"):
        return np.array([fitted.a_, fitted.b_], dtype=np.float64)
    corners = np.array([fitted.X_thresholds_, fitted.y_thresholds_])
    if not fitted.increasing_ or (fitted.X_min_, fitted.X_max_) != (corners[0, 0], corners[0, -1]):
        raise ModelFileError("A decreasing isotonic curve cannot be stored. Fit the calibration again.")
    return corners


def _calibration(kind: type[Any], parts: Parts) -> Any:
    from sklearn.calibration import _CalibratedClassifier

    classes, members, curves, method = (parts[name] for name in ("classes", "members", "curves", "method"))
    _check_calibration(parts)
    made = _sigmoid if method == "sigmoid" else _isotonic
    model = kind(**{name: parts[name] for name in _PARAMETERS})
    model.calibrated_classifiers_ = [
        _CalibratedClassifier(member, [made(curve) for curve in own], classes=classes, method=method)
        for member, own in zip(members, curves, strict=True)
    ]
    model.classes_ = classes
    model.n_features_in_ = members[0].n_features_in_
    if "names" in parts:
        model.feature_names_in_ = parts["names"]
    return model


def _sigmoid(curve: Array) -> Any:
    from sklearn.calibration import _SigmoidCalibration

    made = _SigmoidCalibration()
    made.a_, made.b_ = curve
    return made


def _isotonic(corners: Array) -> Any:
    from sklearn.isotonic import IsotonicRegression

    margins, probabilities = corners
    made = IsotonicRegression(out_of_bounds="clip")
    state = {
        "increasing_": True, "X_min_": margins[0], "X_max_": margins[-1],
        "X_thresholds_": margins, "y_thresholds_": probabilities,
    }  # fmt: skip
    made.__setstate__({**made.__getstate__(), **state})  # sets its interpolating function
    return made


def _check_calibration(parts: Parts) -> None:
    """Refuse inconsistent parts; those of the members are checked already."""
    classes, members, curves, method = (parts[name] for name in ("classes", "members", "curves", "method"))
    _fits(method in _METHODS, "method")
    _fits(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "classes")
    _fits(isinstance(members, list) and len(members) > 0, "members")
    _fits(all(hasattr(member, "decision_function") or hasattr(member, "predict_proba") for member in members), "kind")
    _fits(len({member.n_features_in_ for member in members}) == 1, "numbers of columns")
    known = set(classes.tolist())
    _fits(all(known.issuperset(member.classes_.tolist()) for member in members), "classes of members")
    _fits(isinstance(curves, list) and len(curves) == len(members), "number of curves")
    for member, own in zip(members, curves, strict=True):
        _fits(isinstance(own, list) and len(own) == (1 if len(classes) == 2 else len(member.classes_)), "curves")
        for curve in own:
            _check_curve(curve, method)


def _check_curve(curve: Any, method: str) -> None:
    _fits(isinstance(curve, np.ndarray) and curve.dtype == np.float64 and bool(np.isfinite(curve).all()), "curve")
    if method == "sigmoid":
        _fits(curve.shape == (2,), "curve")
        return
    _fits(curve.ndim == 2 and len(curve) == 2 and curve.shape[1] > 0, "curve")
    steps = np.diff(curve)
    _fits(bool((steps[0] > 0).all() and (steps[1] >= 0).all()), "corners of a curve")
    _fits(bool(curve[1].min() >= 0 and curve[1].max() <= 1), "probabilities of a curve")


def _fits(holds: bool, reason: str) -> None:
    if not holds:
        raise ModelFileError(f"Inconsistent parts of a calibrated classifier: {reason}.")


_MOMENTS = ("structure", "fourth", "pools", "counts", "weight", "mean", "scatter", "fourth_power", "cubed")

#: Attributes that are stored under another name, so that files of earlier versions can be read.
_NAMES_IN_FILES = {"structure": "grain"}

_ESTIMATORS = (
    "AutoClassifier",
    "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "FisherDiscriminant", "GaussianNB", "NaiveBayes",
    "LogisticRegression", "LogisticRegressionCV", "LogisticRegressionPath", "LeastSquaresClassifier",
    "MinimumDistance", "Perceptron", "SupportVectorClassifier", "OneVsOne", "OneVsRest", "OutputCode",
    "DecisionClassifier", "LinearClassifier", "RegularizedDiscriminantAnalysis",
    "BayesianLinearDiscriminantAnalysis", "LossClassifier", "OrdinalLogisticRegression",
    "PredictionSets", "SpectralAngle",
)  # fmt: skip
_RECORDS = {
    "basis": ("Basis", "Piecewise"),
    "decision.rules": ("Decision",),
    "estimators.auto": ("Member",),
    "estimators.class_sets": ("CalibrationScores",),
    "formula": ("FormulaTerms",),
    "estimators.multiclass": ("BinaryClassifiers",),
    "inference.firth": ("FirthFit",),
    "inference.ml_existence": ("LogisticSeparation",),
    "margins.perceptron": ("PerceptronUpdate",),
    "multiclass": ("CodebookRule", "Codebook"),
    "objective": ("ElasticNet", "Standardisation"),
    "rules": (
        "DiagonalRule",
        "EffectsRule",
        "ExpandedRule",
        "LevelRule",
        "LinearRule",
        "MixedRule",
        "OrdinalRule",
        "PoolRule",
        "QuadraticRule",
        "StudentRule",
    ),
    "solvers.textbook": ("IRLS", "GradientDescent", "StochasticGradient"),
    "solvers.solution": ("TracePoint", "Trace"),
}

#: By the name in files, which does not change when a class moves.
FORMS: dict[str, Form] = {
    **{name: estimator(name) for name in _ESTIMATORS},
    **{name: record(f"{_PACKAGE}.{home}", name) for home, names in _RECORDS.items() for name in names},
    "CalibratedClassifier": calibrated(),
    "Calibration": own_calibration(),
    "ClassMoments": plain(f"{_PACKAGE}.moments.statistic", "ClassMoments", *_MOMENTS),
    "FoldMoments": plain(f"{_PACKAGE}.moments.folds", "FoldMoments", "cells", "n_folds", "first_row"),
    "FrameBackend": frame_backend("narwhals.stable.v2", "Implementation"),
    "Logistic": plain(f"{_PACKAGE}.losses", "Logistic"),
    "PerceptronState": record(f"{_PACKAGE}.margins.perceptron", "PerceptronState", path_length="reach"),
    "RowsLeftOut": plain(f"{_PACKAGE}.moments.statistic", "RowsLeftOut"),
    "Softmax": plain(f"{_PACKAGE}.losses", "Softmax"),
    "Solution": record(f"{_PACKAGE}.solvers.solution", "Solution", suboptimality="excess"),
    "Stream": stream(f"{_PACKAGE}.solvers.gradient", "Stream"),
    "TableEncoder": table_encoder(),
    "TableMoments": table_moments(f"{_PACKAGE}.moments.levels", "TableMoments"),
}


def taken_apart(value: Any, where: str) -> tuple[str, Parts]:
    """The class name of a value in files, and its parts; ``where`` names the value in messages."""
    if type(value).__name__ == "RowMoments":
        value = FORMS["RowsLeftOut"].kind()
    for name, form in FORMS.items():
        if form.class_name == type(value).__name__ and form.kind is type(value):
            return name, {_NAMES_IN_FILES.get(part, part): own for part, own in form.apart(value).items()}
    raise ModelFileError(refusal(value, where))


def refusal(value: Any, where: str) -> str:
    """The message for a value that cannot be stored."""
    kind = type(value)
    problem = f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be stored"
    if hasattr(value, "get_params"):
        return f"{problem}. Use an estimator of this package, or store the model by other means (skops)."
    return f"{problem}. Use numbers, text, lists, dicts or arrays (for a random_state, an integer)."


def put_together(name: str, parts: Parts) -> Any:
    """The object of these parts, with checked shapes."""
    form = FORMS.get(name)
    if form is None:
        raise ModelFileError(f"Unknown class {name!r}. Upgrade discriminant if the file is newer.")
    own = {stored: name for name, stored in _NAMES_IN_FILES.items()}
    made = form.together(form.kind, {own.get(part, part): value for part, value in parts.items()})
    if hasattr(type(made), "_check_parts"):
        type(made)._check_parts(made)
    return made
