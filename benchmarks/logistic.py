"""Logistic regression compared with other packages, at a relative suboptimality of at most 1e-7."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import discriminant as ours

from .measure import Case, Contender, LeftOut, in_fresh_process, seconds_of
from .rivals.ladder import Rival, at_their_loosest
from .rivals.logistic import RIVALS, adelie_path, glum_path
from .workloads import iris, logistic_rows, periodic_rows, softmax_rows, text_like, text_of_topics, tf_idf_text

Array = np.ndarray[Any, Any]
GOOD_ENOUGH = 1e-7
#: The tolerance of small tables, also for large ones.
EXACT = 1e-10


def cases() -> Iterator[Case]:
    for n, p in ((500_000, 50), (1_000_000, 20)):
        yield _case(f"two classes, {n:,} x {p}", partial(logistic_rows, n, p), 0.0, 4.0)
    yield _summary_case()
    yield _ordinal_case()
    yield _case("multinomial, 60,000 x 200 x 10", lambda: softmax_rows(60_000, 200, 10), 0.0, 2.5)
    yield _case("multinomial, 200,000 x 30 x 5", lambda: softmax_rows(200_000, 30, 5), 0.0, 2.5)
    yield _case("sparse text, 100,000 x 50,000, 70 a row", text_like, 1e-5, 1.5)
    yield from _other_shapes()
    yield _path_case()
    yield _case("multinomial, iris (150 x 4)", iris, 1e-3, 1.0, repeat=50)


def _other_shapes() -> Iterator[Case]:
    """With `tol`, ours stops at the suboptimality that competitors have to reach."""
    title = "multinomial, 60,000 x 200 x 10, independent columns, to 1e-7"
    made = partial(softmax_rows, 60_000, 200, 10, correlated=False)
    yield _case(title, made, 0.0, 3.0, tol=GOOD_ENOUGH)
    title = "sparse multinomial, 20,000 x 30,000, 80 a row, 20 classes, to 1e-7"
    yield _case(title, text_of_topics, 1 / 20_000, 1.5, tol=GOOD_ENOUGH)
    title = "unit-length tf-idf text, 100,000 x 50,000, to 1e-7"
    yield _case(title, tf_idf_text, 1e-5, 1.5, tol=GOOD_ENOUGH)
    yield _case("two classes, 100,000 x 320", lambda: logistic_rows(100_000, 320), 0.0, 2.0)
    yield _solver_case()
    yield _order_case()


def _solver_case() -> Case:
    """The automatically chosen solver compared with L-BFGS."""
    X, y = softmax_rows(3_000, 10, 50, correlated=False)

    def fit(solver: str) -> float:
        return -ours.LogisticRegression(alpha=1e-3, solver=solver).fit(X, y).solution_.objective

    contenders = [
        Contender("discriminant", partial(fit, "auto"), float, ours=True),
        Contender("discriminant, lbfgs", partial(fit, "lbfgs"), float),
    ]
    # Both begin with the same steps: less than 1 is noise.
    bars = {"discriminant, lbfgs": 0.9}
    return Case("softmax, 3,000 x 10, 50 classes", contenders, bars, "objective, negative", tolerance=1e-9, repeat=5)


def _order_case() -> Case:
    """Rows whose classes have a period of eight, compared with the same rows shuffled."""

    def fit(data: Callable[[], tuple[Array, Array]]) -> float:
        return -ours.LogisticRegression().fit(*data()).solution_.objective

    orders = [cache(partial(periodic_rows, 500_000, 50, shuffled)) for shuffled in (False, True)]
    contenders = [
        Contender("discriminant, rows with a period", partial(fit, orders[0]), float, ours=True),
        Contender("discriminant, the same rows shuffled", partial(fit, orders[1]), float),
    ]
    bars = {"discriminant, the same rows shuffled": 0.5}
    return Case(
        "logistic regression: every eighth row of one class", contenders, bars, "objective, negative", tolerance=1e-8
    )


def _case(
    title: str, made: Callable[[], tuple[Any, Any]], alpha: float, bar: float, repeat: int = 1, tol: float = EXACT
) -> Case:
    """Ours and each competitor at its loosest sufficient tolerance; the target applies to the fastest of them."""

    def contenders() -> list[Contender | LeftOut]:
        X, y = made()
        best = ours.LogisticRegression(alpha=alpha, standardize=False, tol=1e-13).fit(X, y)
        least = objective_value(X, y, alpha, best.coef_, best.intercept_)

        def excess(found: tuple[Array, Array]) -> float:
            return -(objective_value(X, y, alpha, *found) - least) / least

        def mine() -> tuple[Array, Array]:
            model = ours.LogisticRegression(alpha=alpha, standardize=False, tol=tol).fit(X, y)
            return model.coef_, model.intercept_

        able = [rival for rival in RIVALS if _able(rival, X, y)]
        patience = 25 * seconds_of(mine)
        rivals = at_their_loosest(able, X, y, alpha, excess, patience, GOOD_ENOUGH)
        return [Contender("discriminant", mine, excess, ours=True), *rivals]

    return Case(
        f"logistic regression: {title}", contenders, fastest_bar=bar, quality_name="excess", tolerance=1e-7, rounds=3,
        repeat=repeat,
    )  # fmt: skip


def _able(rival: Rival, X: Any, y: Any) -> bool:
    return (rival.sparse or isinstance(X, np.ndarray)) and (rival.multinomial or len(np.unique(y)) == 2)


def objective_value(X: Any, y: Any, alpha: float, coef: Array, intercept: Array) -> float:
    """The mean loss plus the ridge penalty."""
    scores = np.asarray(X @ coef.T) + intercept
    if scores.shape[1] == 1:
        scores = np.concatenate((np.zeros_like(scores), scores), axis=1)
    top = scores.max(axis=1)
    loss = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - scores[np.arange(len(y)), y]
    return float(loss.mean() + 0.5 * alpha * (coef**2).sum())


def _summary_case() -> Case:
    data = cache(partial(logistic_rows, 500_000, 50))

    def mine() -> float:
        X, y = data()
        return ours.LogisticRegression().fit(X, y).summary().log_likelihood

    def theirs() -> float:
        import statsmodels.api as sm

        X, y = data()
        result = sm.Logit(y, sm.add_constant(X)).fit(disp=0)
        result.summary()
        return float(result.llf)

    contenders = [Contender("discriminant", mine, float, ours=True), Contender("statsmodels", theirs, float)]
    title = "logistic regression with summary(), 500,000 x 50"
    return Case(title, contenders, {"statsmodels": 8.0}, quality_name="log-likelihood", tolerance=1e-3, rounds=3)


def _ordinal_case() -> Case:
    """Proportional odds by maximum likelihood, without standard errors."""

    @cache
    def data() -> tuple[Array, Array]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200_000, 20))
        eta = X @ rng.normal(scale=0.3, size=20) + rng.logistic(size=200_000)
        return X, np.digitize(eta, [-1.5, -0.3, 0.8, 2.0])

    def mine() -> float:
        model = ours.OrdinalLogisticRegression().fit(*data())
        return -model.solution_.objective * len(data()[1])

    def theirs() -> float:
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        X, y = data()
        return float(OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=0).llf)

    contenders = [Contender("discriminant", mine, float, ours=True), Contender("statsmodels", theirs, float)]
    title = "proportional odds, 200,000 x 20 x 5"
    return Case(title, contenders, {"statsmodels": 20.0}, quality_name="log-likelihood", tolerance=1e-1, rounds=3)


def _path_case() -> Case:
    """The lasso path of 50 strengths; the quality is the largest relative suboptimality on the path, negated."""
    bars = {"adelie, tol=6e-8": 1.0, "glum, gradient_tol=1e-3": 2.0}
    title = "lasso path of 50 strengths, 20,000 x 500"
    return Case(title, _path_contenders, bars, "worst excess", tolerance=1e-7, rounds=2)


def _path_contenders() -> list[Contender]:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(20_000, 20))
    X = 0.8 * rng.normal(size=(20_000, 500)) + 0.2 * shared @ rng.normal(size=(20, 500))
    coef = np.zeros(500)
    coef[:50] = rng.normal(size=50)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-X @ coef / 2))).astype(int)

    def mine(tol: float = 1e-7) -> list[tuple[Array, float]]:
        path = ours.LogisticRegressionPath(n_alphas=50, ratio=1e-3, standardize=False, tol=tol).fit(X, y)
        return [(coef[0], float(b[0])) for coef, b in zip(path.coefs_, path.intercepts_, strict=True)]

    alphas = ours.LogisticRegressionPath(n_alphas=50, ratio=1e-3, standardize=False).fit(X, y).alphas_

    def values(found: list[tuple[Array, float]]) -> Array:
        return np.array([
            objective_value(X, y, 0.0, coef[None], np.array([b])) + alpha * np.abs(coef).sum()
            for (coef, b), alpha in zip(found, alphas, strict=True)
        ])  # fmt: skip

    least = values(mine(1e-12))

    def excess(found: list[tuple[Array, float]]) -> float:
        return -float(((values(found) - least) / least).max())

    columns_first = np.asfortranarray(X)
    return [
        Contender("discriminant", mine, excess, ours=True),
        Contender("adelie, tol=6e-8", lambda: adelie_path(columns_first, y, alphas, 6e-8), excess),
        Contender("glum, gradient_tol=1e-3", lambda: glum_path(X, y, alphas, 1e-3), excess),
    ]


_FIRST = """
import time
start = time.perf_counter()
import numpy as np, discriminant
X = np.random.default_rng(0).normal(size=(1000, 5)); y = (X[:, 0] + np.random.default_rng(1).normal(size=1000) > 0) * 1
discriminant.LogisticRegression().fit(X, y).predict(X)
print(time.perf_counter() - start)
"""


def facts() -> tuple[list[str], list[str]]:
    """Seconds from the start of a process to its first fit and prediction."""
    seconds = float(in_fresh_process(_FIRST))
    return [f"First fit and prediction (1,000 x 5), from the start of the process: {seconds:.2f} s."], []
