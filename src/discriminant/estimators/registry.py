"""Models by short names: the same name is the same class, with the same parameters, wherever it is written."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import ParameterError
from ..results import suggestion

#: The class of each model, as it is called in the package.
MODELS = {
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "logistic": "LogisticRegression",
    "svm": "SupportVectorClassifier",
    "naive-bayes": "NaiveBayes",
    "gaussian-nb": "GaussianNB",
    "perceptron": "Perceptron",
    "least-squares": "LeastSquaresClassifier",
    "fisher": "FisherDiscriminant",
    "minimum-distance": "MinimumDistance",
}
#: Their scores are not probabilities.
WITHOUT_PROBABILITIES = ("svm", "perceptron", "least-squares", "fisher", "minimum-distance")


def known_name(name: str, names: Any = MODELS, what: str = "model") -> str:
    """The name itself, or an error with those that come near."""
    if name not in names:
        raise ParameterError(f"There is no {what} {name!r}.{suggestion(name, names)} Known: {', '.join(names)}.")
    return name


def model_class(name: str) -> Any:
    """The class of a model, by its short name.

    >>> model_class("lda").__name__
    'LinearDiscriminantAnalysis'
    """
    return getattr(import_module(__name__.partition(".")[0]), MODELS[known_name(name)])


def short_name(class_name: str) -> str:
    """The short name of a class of models; its own name where it has none."""
    return next((name for name, known in MODELS.items() if known == class_name), class_name)


def weak_penalty(n_rows: int) -> float:
    """A ridge penalty that keeps logistic regression finite and changes little else: 1 / rows, to two digits."""
    return float(f"{1 / n_rows:.2g}")
