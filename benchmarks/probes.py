"""Linear probes: logistic regression on embeddings with many classes, and predictions of one row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import discriminant_analysis, linear_model, svm

import discriminant as ours

from .logistic import objective_value
from .measure import Case, Contender, LeftOut, seconds_of
from .rivals.ladder import Rival, at_their_loosest
from .rivals.logistic import RIVALS, torch_lbfgs
from .workloads import embeddings

Array = np.ndarray[Any, Any]
#: Rows, columns and classes.
SHAPES = [
    (20_000, 512, 100), (50_000, 768, 200), (20_000, 512, 1_000), (5_000, 2_048, 50), (100_000, 256, 10),
]  # fmt: skip
#: The relative suboptimality that all reach in the first job of a shape.
ENOUGH = 1e-6
#: Competitors may take this many times our seconds before they are left out.
PATIENCE = 100


def cases() -> Iterator[Case]:
    for shape in SHAPES:
        yield _equal_case(shape)
        yield _default_case(shape)
    yield _path_case(SHAPES[0])
    yield from _row_cases()


def _title(shape: tuple[int, int, int]) -> str:
    n, p, K = shape
    return f"probe, {n:,} x {p:,}, {K:,} classes, float32"


def _mine(X: Array, y: Array, tol: float | None) -> tuple[Array, Array]:
    model = ours.LogisticRegression(alpha=1 / len(y), standardize=False, tol=tol).fit(X, y)
    return model.coef_, model.intercept_


def _excess(X: Array, y: Array) -> Callable[[tuple[Array, Array]], float]:
    """The negative relative suboptimality; the minimum is computed in float64."""
    alpha = 1 / len(y)
    least = objective_value(X, y, alpha, *_mine(X, y, 1e-10))
    return lambda found: -(objective_value(X, y, alpha, *found) - least) / least


def _equal_case(shape: tuple[int, int, int]) -> Case:
    """Ours and each competitor at its loosest tolerance for the same objective."""

    def contenders() -> list[Contender | LeftOut]:
        X, y = embeddings(*shape)
        excess, run = _excess(X, y), partial(_mine, X, y, ENOUGH / 2)
        able = [rival for rival in RIVALS if rival.name == "scikit-learn lbfgs"]
        able.append(Rival("torch L-BFGS", torch_lbfgs, multinomial=True))
        rivals = at_their_loosest(able, X, y, 1 / len(y), excess, PATIENCE * seconds_of(run), ENOUGH)
        return [Contender("discriminant", run, excess, ours=True), *rivals]

    title = f"{_title(shape)}, to {ENOUGH:g}"
    return Case(title, contenders, fastest_bar=5.0, quality_name="excess", tolerance=ENOUGH, rounds=3)


def _default_case(shape: tuple[int, int, int]) -> Case:
    """Ours and scikit-learn with the tolerances of a user who sets none."""

    def contenders() -> list[Contender]:
        X, y = embeddings(*shape)
        excess = _excess(X, y)

        def theirs() -> tuple[Array, Array]:
            model = linear_model.LogisticRegression().fit(X, y)
            return model.coef_, model.intercept_

        return [
            Contender("discriminant", partial(_mine, X, y, None), excess, ours=True),
            Contender("scikit-learn lbfgs", theirs, excess),
        ]

    title = f"{_title(shape)}, default tolerances"
    return Case(title, contenders, {"scikit-learn lbfgs": 1.0}, "excess", tolerance=1e-4, rounds=3)


def _path_case(shape: tuple[int, int, int]) -> Case:
    """Ten strengths compared on a held-out part, and the fit at the best one, compared with that fit alone."""
    alphas = np.geomspace(1e-2, 1e-6, 10)

    def contenders() -> list[Contender]:
        X, y = embeddings(*shape)

        def path() -> float:
            model = ours.LogisticRegressionCV(alphas=alphas, cv="holdout", standardize=False).fit(X, y)
            return -float(model.alpha_)

        best = -path()

        def single() -> float:
            return -float(ours.LogisticRegression(best, standardize=False).fit(X, y).alpha)

        return [
            Contender("discriminant, ten strengths", path, float, ours=True), Contender("one fit", single, float)
        ]  # fmt: skip

    title = f"{_title(shape)}, ten strengths on a held-out part"
    return Case(title, contenders, {"one fit": 0.25}, "strength, negative", rounds=3)


def _row_cases() -> Iterator[Case]:
    """One row of 30 columns, as a service predicts it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 30)), rng.integers(0, 2, 2_000)
    X[y == 1, :5] += 0.7
    row, bars = X[:1].copy(), {"scikit-learn": 2.5}
    for name, mine, theirs, method in (
        ("LDA", ours.LinearDiscriminantAnalysis(), discriminant_analysis.LinearDiscriminantAnalysis(), "predict_proba"),
        ("logistic regression", ours.LogisticRegression(0.01), linear_model.LogisticRegression(), "predict_proba"),
        ("linear SVM", ours.SupportVectorClassifier(), svm.LinearSVC(), "decision_function"),
    ):
        checked, other = (getattr(model.fit(X, y), method) for model in (mine, theirs))
        plain = getattr(mine.scorer(), method)
        for title, run, bar in ((f"{name}.{method}", checked, 2.5), (f"{name}.scorer().{method}", plain, 20.0)):
            contenders = [
                Contender("discriminant", partial(run, row), ours=True), Contender("scikit-learn", partial(other, row)),
            ]  # fmt: skip
            yield Case(f"one row of 30 columns: {title}", contenders, bars | {"scikit-learn": bar}, repeat=1_000)
