"""Models by short names: the same name is the same class, with the same parameters, wherever it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

from ..errors import ParameterError
from ..results import suggestion

#: The class of each model, as it is called in the package.
MODELS = {
    "auto": "AutoClassifier",
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "bayesian-lda": "BayesianLinearDiscriminantAnalysis",
    "rda": "RegularizedDiscriminantAnalysis",
    "logistic": "LogisticRegression",
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
}
#: What a name stands for beside the defaults of its class.
SETTINGS: dict[str, dict[str, Any]] = {
    "lasso": {"l1_ratio": 1.0, "n_alphas": 25},
    "svm-calibrated": {"standardize": True, "calibration": "sigmoid"},
    "least-squares-calibrated": {"calibration": "sigmoid"},
    "naive-bayes-calibrated": {"families": ["naive-bayes"], "choose": "best"},
}
#: Without a penalty, or shrinkage, by default: to them a column for each level is one too many.
UNPENALISED = (
    "lda", "qda", "bayesian-lda", "logistic", "gaussian-nb", "perceptron", "lms", "least-squares",
    "least-squares-calibrated", "fisher", "minimum-distance",
)  # fmt: skip


def known_name(name: str, names: Any = MODELS, what: str = "model") -> str:
    """The name itself, or an error with those that come near."""
    if name not in names:
        raise ParameterError(f"There is no {what} {name!r}.{suggestion(name, names)} Known: {', '.join(names)}.")
    return name


def new_model(name: str, schema: Any = None) -> Any:
    """A model by its short name, not yet fitted; naive Bayes takes coded columns for what the schema says they are.

    >>> new_model("lda"), new_model("lasso")
    (LinearDiscriminantAnalysis(), LogisticRegressionCV(l1_ratio=1.0, n_alphas=25))
    """
    model = getattr(import_module(__name__.partition(".")[0]), MODELS[known_name(name)])(**SETTINGS.get(name, {}))
    if name == "naive-bayes" and schema is not None and not schema.sparse:
        model.set_params(distributions=_distributions(schema))
    return model


def coding_for(name: str, settings: Mapping[str, Any]) -> Literal["reference", "full"]:
    """How the levels of categories are coded for a model: a penalty should treat them alike, inference compares them.

    Settings may be values, or texts as they are written on the command line.

    >>> coding_for("logistic", {}), coding_for("logistic", {"alpha": "0.1"}), coding_for("svm", {})
    ('reference', 'full', 'full')
    """
    penalised = name not in UNPENALISED or any(_is_set(settings.get(name)) for name in ("alpha", "shrinkage"))
    return "full" if penalised else "reference"


def common_coding(names: Sequence[str] | None) -> Literal["reference", "full"]:
    """How levels are coded for models that are compared: in full where a penalty is at work, and no class covariance.

    >>> common_coding(None), common_coding(["lda", "ridge"]), common_coding(["qda", "ridge"])
    ('full', 'full', 'reference')
    """
    penalised = names is None or any(coding_for(known_name(name), {}) == "full" for name in names)
    return "full" if penalised and "qda" not in (names or ()) else "reference"


def _is_set(strength: Any) -> bool:
    """Whether the strength of a penalty is not 0 and not none; what is neither has a name, such as "cv"."""
    try:
        return float(strength) != 0
    except (TypeError, ValueError):
        return str(strength).strip().lower() not in ("none", "null")


def _distributions(schema: Any) -> list[str]:
    """Of each coded column: numbers are normal, of all levels of a category a row has one, marks are 0 or 1."""
    found: list[str] = []
    for column in schema.used:
        levels = "multinomial" if any(column.redundant) else "bernoulli"
        found += [levels if column.kind == "category" else "bernoulli" if mark else "gaussian" for mark in column.marks]
    return found


def short_name(class_name: str) -> str:
    """The short name of a class of models; its own name where it has none."""
    return next((name for name, known in MODELS.items() if known == class_name), class_name)
