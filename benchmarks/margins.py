"""Perceptron, support vector machines and one-vs-one, compared with other packages.

Support vector machines of other packages penalise the intercept; suboptimality refers to the objective of each package.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

import discriminant as ours

from .measure import Case, Contender, LeftOut, seconds_of
from .rivals.ladder import Rival, at_their_loosest, runner
from .rivals.margins import LIBSVM, RIVALS, STOPPED_RIVALS
from .workloads import (
    coded_sequences,
    digits,
    gaussian_classes,
    gene_expression,
    logistic_rows,
    text_like,
    unit_length_text,
)

Array = np.ndarray[Any, Any]
Data = Callable[[], tuple[Any, Array]]
#: The allowed time of a competitor, as a multiple of ours, and its minimum in seconds.
_PATIENCE, _MIN_PATIENCE = 8.0, 2.0


def cases() -> Iterator[Case]:
    yield _svm_case("200,000 x 50", partial(logistic_rows, 200_000, 50), 1e-6, 8.0, stopped=True)
    for title, data in (("unit-length text", unit_length_text), ("raw text", text_like)):
        for excess in (1e-4, 1e-6):
            yield _svm_case(f"{title}, 100,000 x 50,000", data, excess, 1.5)
    yield _svm_case("200 x 20,000", partial(gene_expression, 200, 20_000), 1e-6, 1.5)
    yield _svm_case("72 x 7,129, like gene expressions", partial(gene_expression, 72, 7_129), 1e-6, 1.0)
    yield _svm_case("106 x 228, coded sequences", coded_sequences, 1e-6, 1.0, repeat=20)
    yield _digits_case()
    yield _pairs_case()
    yield _epoch_case("200,000 x 50", partial(logistic_rows, 200_000, 50))
    limit = (
        "discriminant reads the rows (84 MB, at a memory bandwidth of 8 GB/s) twice, because it also counts the errors "
        "of the final weights. The updates alone take 11 ms."
    )
    yield _epoch_case("text, 100,000 x 50,000", text_like, limit)


def _svm_case(
    title: str, made: Data, good_enough: float, bar: float, stopped: bool = False, repeat: int = 1
) -> Case:  # fmt: skip
    """Ours and each competitor at its loosest sufficient tolerance; the target applies to the fastest of them."""

    def contenders() -> list[Contender | LeftOut]:
        X, y = made()
        excess, excess_of_rivals = _excess(X, y, penalised=False), _excess(X, y, penalised=True)

        def mine() -> tuple[Array, Array]:
            model = ours.SupportVectorClassifier(tol=good_enough).fit(X, y)
            return model.coef_, model.intercept_

        entered: list[Contender | LeftOut] = [Contender("discriminant", mine, excess, ours=True)]
        if stopped:
            runs = [(rival.name, runner(rival, X, y, 1.0, rival.ladder[0])) for rival in STOPPED_RIVALS]
            return entered + [Contender(name, run, excess_of_rivals) for name, run in runs]
        patience = max(_PATIENCE * seconds_of(mine), _MIN_PATIENCE)
        entered += at_their_loosest(RIVALS, X, y, 1.0, excess_of_rivals, patience, good_enough)
        few: list[Rival] = [] if sp.issparse(X) else [LIBSVM]
        return entered + at_their_loosest(few, X, y, 1.0, excess, patience, good_enough)

    name = f"support vector machine to {good_enough:g}: {title}"
    return Case(
        name, contenders, fastest_bar=bar, quality_name="excess", tolerance=good_enough, rounds=3, repeat=repeat
    )


def _excess(X: Any, y: Array, penalised: bool) -> Callable[[tuple[Array, Array]], float]:
    """The relative suboptimality, negated, of the objective with or without a penalty on the intercept."""
    ones = np.ones((X.shape[0], 1))
    table = X if not penalised else sp.hstack((X, ones), "csr") if sp.issparse(X) else np.column_stack((X, ones))
    least = _least(table, y, fit_intercept=not penalised)
    return lambda found: -(_objective(X, y, *found, penalised=penalised) / least - 1)


def _least(X: Any, y: Any, fit_intercept: bool) -> float:
    """A lower bound on the minimum, as close as the duality gap."""
    solution = ours.SupportVectorClassifier(fit_intercept=fit_intercept, tol=1e-7, max_iter=20_000).fit(X, y).solution_
    return solution.objective - solution.duality_gap


def _objective(X: Any, y: Any, coef: Array, intercept: Array, penalised: bool) -> float:
    margins = np.where(y == 1, 1.0, -1.0) * (np.asarray(X @ coef[0]).ravel() + intercept[0])
    size = float(coef[0] @ coef[0]) + (intercept[0] ** 2 if penalised else 0.0)
    return 0.5 * size + float(np.maximum(1 - margins, 0).sum())


def _digits_case() -> Case:
    """The machines of all 45 pairs of ten digits; the quality is the largest suboptimality of their objectives."""

    def contenders() -> list[Contender | LeftOut]:
        X, y = digits()
        pairs = list(combinations(range(10), 2))
        least = [_least(*_pair(X, y, *pair), fit_intercept=True) for pair in pairs]

        def excess(found: tuple[Array, Array], sign: float = -1.0) -> float:
            values = [
                _objective(*_pair(X, y, *pair), sign * coef[None], sign * b[None], penalised=False)
                for pair, coef, b in zip(pairs, *found, strict=True)
            ]
            return -max(value / low - 1 for value, low in zip(values, least, strict=True))

        def mine() -> tuple[Array, Array]:
            model = ours.SupportVectorClassifier(multiclass="one-vs-one").fit(X, y)
            return model.coef_, model.intercept_

        rivals = at_their_loosest([LIBSVM], X, y, 1.0, excess, _PATIENCE * seconds_of(mine), 1e-6)
        return [Contender("discriminant", mine, partial(excess, sign=1.0), ours=True), *rivals]

    title = "support vector machines of all pairs to 1e-06: digits (1,797 x 64, 10 classes)"
    return Case(title, contenders, fastest_bar=1.0, quality_name="worst excess", tolerance=1e-6)


def _pair(X: Array, y: Array, first: int, second: int) -> tuple[Array, Array]:
    """The rows of two classes, the second with the label 1."""
    chosen = (y == first) | (y == second)
    return X[chosen], (y[chosen] == second).astype(int)


def _pairs_case() -> Case:
    """26 classes, one against one: 325 machines with the squared hinge, scikit-learn's default."""
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import LinearSVC

    rival = "scikit-learn OneVsOneClassifier(LinearSVC())"
    makers: dict[str, Callable[[], Any]] = {
        "discriminant": lambda: ours.SupportVectorClassifier(loss="squared_hinge", multiclass="one-vs-one"),
        "discriminant OneVsOne": lambda: ours.OneVsOne(ours.SupportVectorClassifier(loss="squared_hinge")),
        rival: lambda: OneVsOneClassifier(LinearSVC()),
        f"{rival}, n_jobs=2": lambda: OneVsOneClassifier(LinearSVC(), n_jobs=2),
    }

    def contenders() -> list[Contender]:
        X, y = gaussian_classes(20_000, 16, 26)
        return [
            Contender(name, _fit(make, X, y), lambda m: float(m.score(X, y)), ours=name == "discriminant")
            for name, make in makers.items()
        ]

    bars = {rival: 3.0, f"{rival}, n_jobs=2": 3.0}
    return Case("one-vs-one, squared hinge, 26 classes, 20,000 x 16: fit", contenders, bars, rounds=4)


def _epoch_case(title: str, made: Data, limit: str = "") -> Case:
    from sklearn.linear_model import Perceptron

    def contenders() -> list[Contender]:
        X, y = made()
        return [
            Contender("discriminant", _fit(lambda: ours.Perceptron(max_iter=1), X, y), ours=True),
            Contender("scikit-learn", _fit(lambda: Perceptron(max_iter=1, tol=None, shuffle=False), X, y)),
        ]

    return Case(f"perceptron, one epoch: {title}", contenders, {"scikit-learn": 1.0}, limit=limit)


def _fit(make: Callable[[], Any], X: Any, y: Any) -> Callable[[], Any]:
    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make().fit(X, y)

    return run
