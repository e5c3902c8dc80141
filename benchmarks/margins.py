"""Perceptron, support vector machines and many classes from two, against everyone who installs.

The rivals' machines penalise the intercept; each one's excess is measured on the objective it minimises.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import discriminant as ours

from .measure import Case, Contender
from .rivals.ladder import Rival, loosest, runner
from .rivals.margins import PATIENT_RIVALS, SPARSE_RIVALS, STOPPED_RIVALS
from .workloads import gaussian_classes, logistic_rows, text_like

Array = np.ndarray[Any, Any]


def cases() -> Iterator[Case]:
    X, y = logistic_rows(200_000, 50)
    yield _svm_case("200,000 x 50", X, y, 1e-6, 8.0, STOPPED_RIVALS)
    for title, (X, y) in (("unit-length text", _unit_length(*text_like())), ("raw text", text_like())):
        for excess in (1e-4, 1e-6):
            rivals = PATIENT_RIVALS if (title, excess) == ("raw text", 1e-6) else SPARSE_RIVALS
            yield _svm_case(f"{title}, 100,000 x 50,000", X, y, excess, 1.5, rivals)
    yield _pairs_case()
    yield _epoch_case("200,000 x 50", *logistic_rows(200_000, 50))
    yield _epoch_case("text, 100,000 x 50,000", *text_like())


def _svm_case(title: str, X: Any, y: Any, good_enough: float, bar: float, rivals: list[Rival]) -> Case:
    """Ours against each rival at its loosest tolerance that is good enough; the bar is for the fastest of them."""
    least = _least(X, y, fit_intercept=True)
    with_ones = (
        sp.hstack((X, np.ones((X.shape[0], 1))), "csr") if sp.issparse(X) else np.column_stack((X, np.ones(len(X))))
    )
    least_of_rivals = _least(with_ones, y, fit_intercept=False)

    def excess(found: tuple[Array, Array]) -> float:
        return -(_objective(X, y, *found, penalised=False) / least - 1)

    def excess_of_rivals(found: tuple[Array, Array]) -> float:
        return -(_objective(X, y, *found, penalised=True) / least_of_rivals - 1)

    def mine() -> tuple[Array, Array]:
        model = ours.SupportVectorClassifier(tol=good_enough).fit(X, y)
        return model.coef_, model.intercept_

    contenders = [Contender("discriminant", mine, excess, ours=True)]
    mine()
    start = time.perf_counter()
    mine()
    patience = 15 * (time.perf_counter() - start)
    for rival in rivals:
        stopped = len(rival.ladder) == 1
        tolerance = rival.ladder[0] if stopped else loosest(rival, X, y, 1.0, excess_of_rivals, patience, good_enough)
        if tolerance is not None:
            name = rival.name if stopped else f"{rival.name}, tol={tolerance:g}"
            contenders.append(Contender(name, runner(rival, X, y, 1.0, tolerance), excess_of_rivals))
    name = f"support vector machine to {good_enough:g}: {title}"
    return Case(
        name, contenders, fastest_bar=bar, quality_name="excess", tolerance=good_enough, rounds=2
    )  # fmt: skip


def _least(X: Any, y: Any, fit_intercept: bool) -> float:
    """A lower bound on the minimum, as close as the duality gap."""
    solution = ours.SupportVectorClassifier(fit_intercept=fit_intercept, tol=1e-7, max_iter=20_000).fit(X, y).solution_
    return solution.objective - solution.duality_gap


def _objective(X: Any, y: Any, coef: Array, intercept: Array, penalised: bool) -> float:
    margins = np.where(y == 1, 1.0, -1.0) * (np.asarray(X @ coef[0]).ravel() + intercept[0])
    size = float(coef[0] @ coef[0]) + (intercept[0] ** 2 if penalised else 0.0)
    return 0.5 * size + float(np.maximum(1 - margins, 0).sum())


def _unit_length(X: Any, y: Array) -> tuple[Any, Array]:
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags_array(1 / lengths) @ X), y


def _pairs_case() -> Case:
    """26 classes, one against one: 325 machines with the squared hinge, scikit-learn's default."""
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import LinearSVC

    X, y = gaussian_classes(20_000, 16, 26)
    makers: dict[str, Callable[[], Any]] = {
        "discriminant": lambda: ours.SupportVectorClassifier(loss="squared_hinge", multiclass="one-vs-one"),
        "discriminant OneVsOne": lambda: ours.OneVsOne(ours.SupportVectorClassifier(loss="squared_hinge")),
        "scikit-learn OneVsOneClassifier(LinearSVC())": lambda: OneVsOneClassifier(LinearSVC()),
    }
    contenders = [
        Contender(name, _fit(make, X, y), lambda m: float(m.score(X, y)), ours=name == "discriminant")
        for name, make in makers.items()
    ]
    bars = {"scikit-learn OneVsOneClassifier(LinearSVC())": 3.0}
    return Case("one-vs-one, squared hinge, 26 classes, 20,000 x 16: fit", contenders, bars, rounds=4)


def _epoch_case(title: str, X: Any, y: Array) -> Case:
    from sklearn.linear_model import Perceptron

    contenders = [
        Contender("discriminant", _fit(lambda: ours.Perceptron(max_iter=1), X, y), ours=True),
        Contender("scikit-learn", _fit(lambda: Perceptron(max_iter=1, tol=None, shuffle=False), X, y)),
    ]
    return Case(f"perceptron, one epoch: {title}", contenders, {"scikit-learn": 1.0})


def _fit(make: Callable[[], Any], X: Any, y: Any) -> Callable[[], Any]:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make().fit(X, y)

    return run
