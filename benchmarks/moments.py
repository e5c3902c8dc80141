"""LDA, QDA, naive Bayes and least squares, compared with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import discriminant as ours

from .measure import Case, Contender, in_fresh_process
from .rivals.scikit_learn import MOMENT_MODELS
from .workloads import gaussian_classes, iris

OURS: dict[str, Callable[[], Any]] = {
    "LDA": ours.LinearDiscriminantAnalysis,
    "QDA": ours.QuadraticDiscriminantAnalysis,
    "Gaussian naive Bayes": ours.GaussianNB,
    "least squares": ours.LeastSquaresClassifier,
}
_FIT_BARS = {
    "LDA": {"scikit-learn lsqr": 6.0, "scikit-learn svd (its default)": 20.0},
    "QDA": {"scikit-learn": 6.0},
    "Gaussian naive Bayes": {"scikit-learn": 3.0},
    "least squares": {"scikit-learn RidgeClassifier": 5.0},
}
_PROBA_BARS = {"LDA": 1.5, "QDA": 5.0, "Gaussian naive Bayes": 5.0}


def cases() -> Iterator[Case]:
    X, y = gaussian_classes(500_000, 50, 10)
    size = "500,000 x 50, 10 classes"
    for name, make in OURS.items():
        yield _fit_case(f"{name}: fit, {size}", name, make, X, y, _FIT_BARS[name])
    for name, bar in _PROBA_BARS.items():
        yield _proba_case(f"{name}: predict_proba, {size}", name, X, y, bar)
    yield _shrinkage_case(X, y, "LDA", ours.LinearDiscriminantAnalysis)
    yield _shrinkage_case(X, y, "QDA", ours.QuadraticDiscriminantAnalysis)
    X, y = iris()
    for name, make in OURS.items():
        bars = dict.fromkeys(_FIT_BARS[name], 1.0)
        yield _fit_case(f"{name}: fit, iris (150 x 4)", name, make, X, y, bars, repeat=200)


def _fit_case(
    title: str, name: str, make: Callable[[], Any], X: Any, y: Any, bars: dict[str, float], repeat: int = 1
) -> Case:
    def accuracy(model: Any) -> float:
        return float(np.mean(model.predict(X[:20_000]) == y[:20_000]))

    makers = {"discriminant": make} | MOMENT_MODELS[name]
    contenders = [
        Contender(label, lambda m=maker: m().fit(X, y), accuracy, ours=label == "discriminant")
        for label, maker in makers.items()
    ]
    return Case(title, contenders, bars, repeat=repeat)


def _proba_case(title: str, name: str, X: Any, y: Any, bar: float) -> Case:
    def log_likelihood(probability: Any) -> float:
        return float(np.log(probability[np.arange(len(y)), y] + 1e-300).mean())

    rival, make_rival = next(iter(MOMENT_MODELS[name].items()))
    fitted = {"discriminant": OURS[name]().fit(X, y), rival: make_rival().fit(X, y)}
    contenders = [
        Contender(label, lambda m=model: m.predict_proba(X), log_likelihood, ours=label == "discriminant")
        for label, model in fitted.items()
    ]
    return Case(title, contenders, {rival: bar}, quality_name="mean log-likelihood")


def _shrinkage_case(X: Any, y: Any, name: str, model: Callable[..., Any]) -> Case:
    contenders = [
        Contender(f"{name}, shrinkage by 10-fold cross-validation", lambda: model(shrinkage="cv").fit(X, y), ours=True),
        Contender("a plain fit", lambda: model().fit(X, y)),
    ]
    return Case(f"{name}: shrinkage='cv', 10 folds x 20 values", contenders, {"a plain fit": 1 / 3})


_PEAK = r"""
import re, numpy as np
import discriminant
def peak():  # not getrusage: its figure starts from the parent's
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
X = np.empty((500_000, 50), dtype="{dtype}")
np.random.default_rng(0).standard_normal(out=X, dtype=X.dtype)  # no copy that would raise the peak beforehand
y = np.arange(500_000) % 10
small = slice(0, 20_000)  # as many as compiled code is loaded for
model = discriminant.{model}()
model.fit(X[small], y[small])  # compiled and warm
before = peak()
model.fit(X, y)
print((peak() - before) / 1024)
"""


def facts() -> tuple[list[str], list[str]]:
    """Peak resident megabytes of a fit in addition to the input, by model and dtype."""
    lines = [
        "Peak memory of a fit in addition to the input, 500,000 x 50, 10 classes:",
        "",
        "| model | input | MB |",
        "|---|---|---:|",
    ]
    for model in (ours.LinearDiscriminantAnalysis, ours.QuadraticDiscriminantAnalysis, ours.GaussianNB):
        for dtype in ("float64", "float32"):
            peak = float(in_fresh_process(_PEAK.format(model=model.__name__, dtype=dtype)))
            lines.append(f"| {model.__name__} | {dtype} | {peak:.1f} |")
    return lines, []
