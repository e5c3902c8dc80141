"""Regularisation paths and cross-validation of lasso and ridge, on tall, small and wide tables.

glmnet is python-glmnet, which calls the Fortran code of R's package; R itself is not installed. It scores folds in
Python, which takes longer than in R, so the speed-up over R's cv.glmnet is smaller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

import discriminant as ours

from .measure import Case, Contender, LeftOut
from .rivals.logistic import adelie_path, glmnet_cv, glmnet_path
from .workloads import logistic_rows

Array = np.ndarray[Any, Any]
Path = list[tuple[Array, float]]
Entered = list[Contender | LeftOut]
#: Ours has the loosest of these tolerances that reaches the suboptimality of adelie.
_TOLERANCES = tuple(10.0**-k for k in range(3, 13))


def cases() -> Iterator[Case]:
    for n, p in ((500, 5_000), (72, 7_129), (2_000, 50)):
        title, bars = f"lasso path of 50 strengths, {n:,} x {p:,}", {"adelie": 1.0, "adelie, 2 threads": 1.0}
        yield Case(title, partial(_lasso_paths, n, p), bars, "worst excess", tolerance=1e-6)
    both = {"scikit-learn": 5.0, "scikit-learn, n_jobs=2": 5.0}
    yield Case("ridge by 10-fold cross-validation, 20 strengths, 20,000 x 50", _tall_ridges, both, "alpha", rounds=4)
    for l1_ratio, name in ((0.0, "ridge"), (1.0, "lasso")):
        yield Case(
            f"{name} by cross-validation, 13 small tables",
            partial(_small_tables, l1_ratio),
            {"glmnet": 1.0},
            tolerance=0.02,
        )
    yield Case("ridge, 62 x 2,000", _wide_ridge, {"scikit-learn": 2.0}, repeat=5)
    bars = {"a fit at a given shrinkage": 0.25}
    yield Case('LDA, shrinkage="cv", 150 x 8,000', _thin_shrinkage, bars)


def wide_rows(n: int, p: int, seed: int = 0) -> tuple[Array, Array]:
    """Two classes, and independent columns, ten of which have effects."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, :10].sum(axis=1) / 2))).astype(int)


def _lasso_paths(n: int, p: int) -> Entered:
    X, y = wide_rows(n, p)
    ratio, columns_first = 1e-2 if p > n else 1e-3, np.asfortranarray(X)
    alphas = ours.LogisticRegressionPath(n_alphas=50, ratio=ratio, standardize=False).fit(X, y).alphas_

    def mine(tol: float) -> Path:
        path = ours.LogisticRegressionPath(alphas, standardize=False, tol=tol).fit(X, y)
        return [(coef[0], float(b[0])) for coef, b in zip(path.coefs_, path.intercepts_, strict=True)]

    def values(found: Path) -> Array:
        margins = np.array([(2 * y - 1) * (X @ coef + b) for coef, b in found])
        return np.logaddexp(0, -margins).mean(axis=1) + alphas * [np.abs(coef).sum() for coef, _ in found]

    least = values(mine(1e-13))

    def excess(found: Path) -> float:
        return -float(((values(found) - least) / least).max())

    rivals: dict[str, Callable[[], Path]] = {
        "adelie": lambda: adelie_path(columns_first, y, alphas, None, 1),
        "adelie, 2 threads": lambda: adelie_path(columns_first, y, alphas, None, 2),
        "glmnet": lambda: glmnet_path(X, y, alphas),
    }
    entered, reached = list[Contender | LeftOut](), 1e-6
    for name, run in rivals.items():
        try:
            reached = -excess(run()) if name == "adelie" else reached
            entered.append(Contender(name, run, excess))
        except ImportError as error:
            entered.append(LeftOut(name, str(error)))
    enough = next((tol for tol in _TOLERANCES if -excess(mine(tol)) <= reached), _TOLERANCES[-1])
    return [Contender("discriminant", partial(mine, enough), excess, ours=True), *entered]


def _tall_ridges() -> Entered:
    X, y = logistic_rows(20_000, 50)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alphas = np.geomspace(1.0, 1e-6, 20)

    def theirs(n_jobs: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegressionCV(
                Cs=1 / (alphas * len(y)), cv=10, scoring="neg_log_loss", n_jobs=n_jobs, l1_ratios=(0.0,),
                use_legacy_attributes=False,
            )  # fmt: skip
            return model.fit(X, y)

    def mine() -> Any:
        return ours.LogisticRegressionCV(alphas, cv=10, standardize=False).fit(X, y)

    return [
        Contender("discriminant", mine, ours=True),
        Contender("scikit-learn", partial(theirs, 1)),
        Contender("scikit-learn, n_jobs=2", partial(theirs, 2)),
    ]


def _tables() -> list[tuple[Array, Array]]:
    """Three tables of scikit-learn, and ten simulated ones with 60 to 1,000 rows and 5 to 200 columns; two classes."""
    found = []
    for load in (load_breast_cancer, load_iris, load_wine):
        X, y = load(return_X_y=True)
        found.append((X, (y == 1).astype(int)))
    sizes = [
        (60, 5),
        (60, 200),
        (100, 10),
        (150, 40),
        (200, 100),
        (300, 8),
        (400, 30),
        (500, 60),
        (800, 20),
        (1000, 50),
    ]
    return found + [wide_rows(n, p, seed) if p > 10 else logistic_rows(n, p, seed) for seed, (n, p) in enumerate(sizes)]


def _small_tables(l1_ratio: float) -> Entered:
    tables = _tables()

    def mine() -> list[Any]:
        return [ours.LogisticRegressionCV(l1_ratio=l1_ratio, cv=10, random_state=0).fit(X, y) for X, y in tables]

    def theirs() -> list[Any]:
        return [glmnet_cv(X, y, l1_ratio) for X, y in tables]

    def accuracy(models: list[Any]) -> float:
        return float(np.mean([np.mean(model.predict(X) == y) for model, (X, y) in zip(models, tables, strict=True)]))

    entered: Entered = [Contender("discriminant", mine, accuracy, ours=True)]
    try:
        theirs()
        return [*entered, Contender("glmnet", theirs, accuracy)]
    except ImportError as error:
        return [*entered, LeftOut("glmnet", str(error))]


def _wide_ridge() -> Entered:
    X, y = wide_rows(62, 2_000)

    def mine() -> Any:
        return ours.LogisticRegression(alpha=1 / len(y), standardize=False).fit(X, y)

    def theirs() -> Any:
        return LogisticRegression(C=1.0).fit(X, y)

    return [Contender("discriminant", mine, ours=True), Contender("scikit-learn", theirs)]


def _thin_shrinkage() -> Entered:
    X, y = wide_rows(150, 8_000)

    def fitted(shrinkage: Any) -> Any:
        return ours.LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y)

    plain = Contender("a fit at a given shrinkage", partial(fitted, 0.5))
    return [Contender("discriminant", partial(fitted, "cv"), ours=True), plain]
