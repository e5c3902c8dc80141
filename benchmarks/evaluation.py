"""Confusion matrices, AUC and cross-validation, compared with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import discriminant as ours

from .measure import Case, Contender
from .rivals.scikit_learn import MOMENT_MODELS
from .workloads import gaussian_classes

Array = np.ndarray[Any, Any]


def cases() -> Iterator[Case]:
    yield _confusion_case()
    yield _auc_case()
    yield _validation_case()


def _confusion_case() -> Case:
    from sklearn.metrics import confusion_matrix

    @cache
    def labels() -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10, 10_000_000)
        return y, np.where(rng.random(len(y)) < 0.8, y, rng.integers(0, 10, len(y)))

    contenders = [
        Contender(
            "discriminant", lambda: ours.ConfusionMatrix.of(*labels()), lambda m: float(m.accuracy), ours=True
        ),
        Contender(
            "scikit-learn", lambda: confusion_matrix(*labels()), lambda m: float(np.trace(m) / m.sum())
        ),
    ]  # fmt: skip
    return Case("confusion matrix of 10,000,000 labels", contenders, {"scikit-learn": 10.0}, tolerance=1e-12, rounds=3)


def _auc_case() -> Case:
    from sklearn.metrics import roc_auc_score

    @cache
    def scored() -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 10_000_000)
        return y, rng.normal(size=len(y)) + y

    def mine() -> float:
        curve = ours.roc(*scored())
        curve.auc_interval()
        return float(curve.auc)

    contenders = [
        Contender("discriminant, with DeLong's interval", mine, float, ours=True),
        Contender("scikit-learn", lambda: roc_auc_score(*scored()), float),
    ]
    return Case("AUC of 10,000,000 scores", contenders, {"scikit-learn": 2.0}, "AUC", tolerance=1e-12, rounds=3)


def _validation_case() -> Case:
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    data = cache(partial(gaussian_classes, 200_000, 50, 10))
    makers: dict[str, Any] = {
        "LDA": ours.LinearDiscriminantAnalysis,
        "QDA": ours.QuadraticDiscriminantAnalysis,
        "Gaussian naive Bayes": ours.GaussianNB,
        "least squares": ours.LeastSquaresClassifier,
    }

    def mine() -> float:
        X, y = data()
        models = {name: make() for name, make in makers.items()}
        result = ours.cross_validate(models, X, y, cv=10, metrics=("accuracy",))
        return float(np.mean([result.mean(name) for name in makers]))

    def theirs(n_jobs: int) -> float:
        X, y = data()
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        rivals = [next(iter(MOMENT_MODELS[name].values())) for name in makers]
        return float(np.mean([cross_val_score(make(), X, y, cv=folds, n_jobs=n_jobs).mean() for make in rivals]))

    rival = "scikit-learn, four cross_val_score"
    contenders = [
        Contender("discriminant", mine, float, ours=True),
        Contender(rival, partial(theirs, 1), float),
        Contender(f"{rival}, n_jobs=2", partial(theirs, 2), float),
    ]
    title = "10-fold cross-validation of LDA, QDA, naive Bayes and least squares, 200,000 x 50, 10 classes"
    return Case(title, contenders, {rival: 15.0, f"{rival}, n_jobs=2": 15.0}, tolerance=1e-3, rounds=2)
