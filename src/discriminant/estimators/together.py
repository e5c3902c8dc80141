"""Several moment models from one pass over the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar

from ..errors import ParameterError
from ..moments import narrowed, together
from .base import MomentClassifier, all_or_nothing, collected
from .naive_bayes import NaiveBayes

M = TypeVar("M", bound=MomentClassifier)


def fit_all(models: Iterable[M], X: Any, y: Any, sample_weight: Any = None, n_jobs: int | None = None) -> list[M]:
    """Fit several moment models in one pass over the rows; each ends as its own ``fit`` would leave it.

    Parameters
    ----------
    models : estimators read from class moments, or a dict of them
    X, y, sample_weight
        As in ``fit``.
    n_jobs : int, optional
        Threads of the pass: None as many as BLAS uses, -1 all cores.

    Returns
    -------
    list of the same estimators, fitted

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> [model.score(X, y) for model in fit_all([LinearDiscriminantAnalysis(), GaussianNB()], X, y)]
    [0.98, 0.96]
    """
    chosen = list(models.values()) if isinstance(models, Mapping) else list(models)
    _refuse_other_models(chosen)
    with ExitStack() as stack:
        for model in chosen:
            stack.enter_context(all_or_nothing(model))
            model._forget()
            model._check_parameters()
        data = chosen[0]._labelled(X, y, sample_weight)
        for model in chosen[1:]:
            model._check_columns(X, reset=True)
            model._accept(data)
        needs = together(model._needs() for model in chosen)
        moments = collected(data, needs.statistic(data.n_rows, len(data.classes), data.rows.n_columns), n_jobs)
        for model in chosen:
            model._adopt(narrowed(moments, model._needs()))
            model._refine(data)
    return chosen


def _refuse_other_models(models: list[Any]) -> None:
    if not models:
        raise ParameterError("fit_all needs at least one model.")
    for model in models:
        if not isinstance(model, MomentClassifier) or isinstance(model, NaiveBayes):
            raise ParameterError(
                f"{type(model).__name__} is not read from class moments and cannot share a pass. Fit it on its own."
            )
