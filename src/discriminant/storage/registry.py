"""The classes a model file may hold. Nothing else is written, and nothing else comes out of a file."""

from __future__ import annotations

from typing import Any

from ..errors import ModelFileError
from ..moments import ThinMoments
from .calibrated import calibrated
from .forms import Form, Parts, RowsLeftOut, estimator, frame_backend, plain, record, stream, table_moments
from .soundness import check_sound

_PACKAGE = __name__.partition(".")[0]
_MOMENTS = ("grain", "fourth", "pools", "counts", "weight", "mean", "scatter", "fourth_power", "cubed")

_ESTIMATORS = {
    "decision": ("DecisionClassifier",),
    "discriminant": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "linear": ("FisherDiscriminant", "LeastSquaresClassifier", "MinimumDistance"),
    "logistic": ("LogisticRegression",),
    "logistic_path": ("LogisticRegressionCV", "LogisticRegressionPath"),
    "multiclass": ("OneVsOne", "OneVsRest", "OutputCode"),
    "naive_bayes": ("GaussianNB", "NaiveBayes"),
    "perceptron": ("Perceptron",),
    "svm": ("SupportVectorClassifier",),
}
_RECORDS = {
    "decision.rules": ("Decision",),
    "estimators.multiclass": ("BinaryClassifiers",),
    "inference.firth": ("FirthFit",),
    "multiclass": ("CodebookRule", "Codebook"),
    "objective": ("ElasticNet", "Standardisation"),
    "rules": ("DiagonalRule", "LevelRule", "LinearRule", "MixedRule", "QuadraticRule"),
    "solvers.gradient": ("GradientDescent", "StochasticGradient"),
    "solvers.solution": ("Solution", "TracePoint"),
}

#: By the name that stands in files. Classes may move and be renamed; these names stay.
FORMS: dict[str, Form] = {
    **{name: estimator(f"{_PACKAGE}.estimators.{home}", name) for home, names in _ESTIMATORS.items() for name in names},
    **{name: record(f"{_PACKAGE}.{home}", name) for home, names in _RECORDS.items() for name in names},
    "CalibratedClassifier": calibrated(),
    "ClassMoments": plain(f"{_PACKAGE}.moments.statistic", "ClassMoments", *_MOMENTS),
    "FoldMoments": plain(f"{_PACKAGE}.moments.folds", "FoldMoments", "cells", "n_folds", "first_row"),
    "FrameBackend": frame_backend("narwhals.stable.v2", "Implementation"),
    "Logistic": plain(f"{_PACKAGE}.losses", "Logistic"),
    "PerceptronStep": record(f"{_PACKAGE}.margins.perceptron", "PerceptronUpdate"),
    "RowsLeftOut": plain(f"{_PACKAGE}.storage.forms", "RowsLeftOut"),
    "Separation": record(f"{_PACKAGE}.inference.ml_existence", "LogisticSeparation"),
    "Softmax": plain(f"{_PACKAGE}.losses", "Softmax"),
    "Stream": stream(f"{_PACKAGE}.solvers.gradient", "Stream"),
    "TableMoments": table_moments(f"{_PACKAGE}.moments.statistic", "TableMoments"),
    "Walk": record(f"{_PACKAGE}.margins.perceptron", "PerceptronState"),
}


def taken_apart(value: Any, where: str) -> tuple[str, Parts]:
    """The name of the value's class in files, and its parts; ``where`` is how a message calls it."""
    if type(value) is ThinMoments:
        value = RowsLeftOut()
    for name, form in FORMS.items():
        if form.class_name == type(value).__name__ and form.kind is type(value):
            return name, form.apart(value)
    raise ModelFileError(_refusal(value, where))


def _refusal(value: Any, where: str) -> str:
    kind = type(value)
    shown = f"{where} is a {kind.__module__}.{kind.__qualname__}, which a model file cannot hold"
    if hasattr(value, "get_params"):
        return (
            f"{shown}: only this package's own estimators can be stored, because anything else needs pickle, which "
            "runs what it reads. Store it by its own means (for example skops), or use an estimator of this package."
        )
    return f"{shown}. Use plain values: numbers, text, lists, dicts or arrays (for a random_state, a whole number)."


def put_together(name: str, parts: Parts) -> Any:
    """The object of these parts, checked as far as its shapes go."""
    form = FORMS.get(name)
    if form is None:
        raise ModelFileError(f"{name!r} is not a class this version knows. Upgrade discriminant if the file is newer.")
    made = form.together(form.kind, parts)
    check_sound(made)
    return made
