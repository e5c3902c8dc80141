"""Linear classification, whole: from a table, a text matrix or an image to a decision that can be defended.

Everything public is here; modules below are private to the package. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from .estimators.fisher import FisherDiscriminant
    from .estimators.least_squares import LeastSquaresClassifier
    from .estimators.logistic import LogisticRegression
    from .estimators.logistic_path import LogisticRegressionCV, LogisticRegressionPath
    from .estimators.naive_bayes import GaussianNB, NaiveBayes
    from .estimators.together import fit_all

__version__ = "0.1.0"

_HOME = {
    "FisherDiscriminant": "estimators.fisher",
    "GaussianNB": "estimators.naive_bayes",
    "LeastSquaresClassifier": "estimators.least_squares",
    "LinearDiscriminantAnalysis": "estimators.discriminant",
    "LogisticRegression": "estimators.logistic",
    "LogisticRegressionCV": "estimators.logistic_path",
    "LogisticRegressionPath": "estimators.logistic_path",
    "NaiveBayes": "estimators.naive_bayes",
    "QuadraticDiscriminantAnalysis": "estimators.discriminant",
    "fit_all": "estimators.together",
}

__all__ = [
    "FisherDiscriminant",
    "GaussianNB",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LogisticRegressionPath",
    "NaiveBayes",
    "QuadraticDiscriminantAnalysis",
    "__version__",
    "fit_all",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
