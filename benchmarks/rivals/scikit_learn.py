"""scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB

MOMENT_MODELS: dict[str, dict[str, Callable[[], Any]]] = {
    "LDA": {
        "scikit-learn lsqr": lambda: LinearDiscriminantAnalysis(solver="lsqr"),
        "scikit-learn svd (its default)": lambda: LinearDiscriminantAnalysis(),
    },
    "QDA": {"scikit-learn": lambda: QuadraticDiscriminantAnalysis()},
    "Gaussian naive Bayes": {"scikit-learn": lambda: GaussianNB()},
    "least squares": {"scikit-learn RidgeClassifier": lambda: RidgeClassifier(alpha=1e-8)},
}
