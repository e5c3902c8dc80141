"""Registry of models by short names, with their parameters and descriptions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..results import suggestion

if TYPE_CHECKING:
    from ..tables.column import Coding
    from ..tables.schema import Schema

#: The class of each model.
MODELS = {
    "auto": "AutoClassifier",
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "bayesian-lda": "BayesianLinearDiscriminantAnalysis",
    "rda": "RegularizedDiscriminantAnalysis",
    "logistic": "LogisticRegression",
    "ordinal": "OrdinalLogisticRegression",
    "ridge": "LogisticRegressionCV",
    "lasso": "LogisticRegressionCV",
    "svm": "SupportVectorClassifier",
    "svm-calibrated": "SupportVectorClassifier",
    "naive-bayes": "NaiveBayes",
    "naive-bayes-calibrated": "AutoClassifier",
    "gaussian-nb": "GaussianNB",
    "perceptron": "Perceptron",
    "least-squares": "LeastSquaresClassifier",
    "least-squares-calibrated": "LeastSquaresClassifier",
    "lms": "LossClassifier",
    "fisher": "FisherDiscriminant",
    "minimum-distance": "MinimumDistance",
    "spectral-angle": "SpectralAngle",
}
#: Parameters that differ from the defaults of the class.
SETTINGS: dict[str, dict[str, Any]] = {
    "lasso": {"l1_ratio": 1.0, "n_alphas": 25},
    "svm-calibrated": {"standardize": True, "calibration": "sigmoid"},
    "least-squares-calibrated": {"calibration": "sigmoid"},
    "naive-bayes-calibrated": {"families": ["naive-bayes"], "choose": "best"},
}
#: Models without a penalty or shrinkage by default, for which one column for each level is redundant.
UNPENALISED = (
    "lda", "qda", "bayesian-lda", "logistic", "ordinal", "gaussian-nb", "perceptron", "lms", "least-squares",
    "least-squares-calibrated", "fisher", "minimum-distance", "spectral-angle",
)  # fmt: skip


#: Models with a penalty that keep sparse rows sparse.
SPARSE = ("auto", "ridge", "lasso", "svm", "svm-calibrated")


def known_name(name: str, names: Collection[str] = MODELS, what: str = "model") -> str:
    """The name if it is known, else an error with suggestions."""
    if name not in names:
        raise ParameterError(f"Unknown {what} {name!r}.{suggestion(name, names)} Expected one of: {', '.join(names)}.")
    return name


def new_model(name: str, schema: Schema | None = None) -> Any:
    """An unfitted model by its short name; naive Bayes gets its distributions from the schema.

    >>> new_model("lda"), new_model("lasso")
    (LinearDiscriminantAnalysis(), LogisticRegressionCV(l1_ratio=1.0, n_alphas=25))
    """
    model = getattr(import_module(__name__.partition(".")[0]), MODELS[known_name(name)])(**SETTINGS.get(name, {}))
    if name == "naive-bayes" and schema is not None and not schema.sparse:
        model.set_params(distributions=_distributions(schema))
    return model


def coding_for(name: str, settings: Mapping[str, float | str | None]) -> Coding:
    """The coding of categories for a model: all levels with a penalty, a reference level for inference.

    Settings are values, or their texts on the command line.

    >>> coding_for("logistic", {}), coding_for("logistic", {"alpha": "0.1"}), coding_for("svm", {})
    ('reference', 'full', 'sparse')
    """
    if name in SPARSE:
        return "sparse"
    penalised = name not in UNPENALISED or any(_is_set(settings.get(name)) for name in ("alpha", "shrinkage"))
    return "full" if penalised else "reference"


def common_coding(names: Sequence[str] | None) -> Coding:
    """The coding of categories for a comparison: all levels with a penalty, except with class covariances.

    Sparse columns of many levels need models that all keep them sparse.

    >>> common_coding(None), common_coding(["lda", "ridge"]), common_coding(["qda", "ridge"])
    ('full', 'full', 'reference')
    """
    if names and all(known_name(name) in SPARSE for name in names):
        return "sparse"
    penalised = names is None or any(coding_for(known_name(name), {}) != "reference" for name in names)
    return "full" if penalised and "qda" not in (names or ()) else "reference"


def _is_set(strength: float | str | None) -> bool:
    """Whether a penalty strength is other than 0 and None; names such as "cv" are."""
    if strength is None:
        return False
    try:
        return float(strength) != 0
    except (TypeError, ValueError):
        return str(strength).strip().lower() not in ("none", "null")


def _distributions(schema: Schema) -> list[str]:
    """The distribution of each coded column: numbers gaussian, all levels multinomial, indicators bernoulli."""
    found: list[str] = []
    for column in schema.used:
        levels = "multinomial" if any(column.redundant) else "bernoulli"
        found += [
            levels if column.kind == "category" else "bernoulli" if mark else "gaussian" for mark in column.is_indicator
        ]
    return found


def short_name(class_name: str) -> str:
    """The short name of a class, or its own name."""
    return next((name for name, known in MODELS.items() if known == class_name), class_name)
