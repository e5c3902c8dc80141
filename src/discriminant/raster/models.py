"""Classifiers of images by the names they have in remote sensing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ..errors import ParameterError
from ..results import plain

#: Where each model is, and what it is in words.
_HOME = {
    "maximum-likelihood": ("discriminant", "QuadraticDiscriminantAnalysis"),
    "qda": ("discriminant", "QuadraticDiscriminantAnalysis"),
    "lda": ("discriminant", "LinearDiscriminantAnalysis"),
    "minimum-distance": ("linear", "MinimumDistance"),
    "logistic": ("logistic", "LogisticRegression"),
    "naive-bayes": ("naive_bayes", "GaussianNB"),
    "svm": ("svm", "SupportVectorClassifier"),
}
NAMES = tuple(_HOME)
_WITH_PRIORS = ("maximum-likelihood", "qda", "lda", "naive-bayes")


def image_model(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None = None) -> Any:
    """The classifier that goes by this name, not yet fitted.

    Parameters
    ----------
    name : str
        ``maximum-likelihood``: normal classes with a covariance each, all equally likely beforehand; with ``priors``
        the most probable class (MAP). ``qda``: the same with the shares of the samples as priors. ``lda``: one
        covariance for all classes. ``minimum-distance``: the nearest class mean. ``naive-bayes``: bands independent
        within classes. ``logistic``: logistic regression with a weak penalty. ``svm``: support vector machine.
    classes : list
        The classes that are going to be told apart.
    priors : dict, optional
        How frequent each class is on the ground, by name.

    Examples
    --------
    >>> image_model("maximum-likelihood", ["forest", "water"])
    QuadraticDiscriminantAnalysis(priors=[0.5, 0.5])
    """
    if name not in _HOME:
        raise ParameterError(f"There is no model {name!r}. Known: {', '.join(NAMES)}.")
    if priors is not None and name not in _WITH_PRIORS:
        raise ParameterError(f"{name} does not look at priors. Leave them out, or use {', '.join(_WITH_PRIORS)}.")
    home, kind = _HOME[name]
    return getattr(import_module(f"..estimators.{home}", __package__), kind)(**_settings(name, classes, priors))


def _settings(name: str, classes: Sequence[Any], priors: Mapping[Any, float] | None) -> dict[str, Any]:
    if priors is not None:
        return {"priors": {plain(label): share for label, share in priors.items()}}
    if name == "maximum-likelihood":
        return {"priors": [1 / len(classes)] * len(classes)}
    # Areas that can be told apart without error would have infinite coefficients without any penalty.
    return {"alpha": 1e-4} if name == "logistic" else {}
