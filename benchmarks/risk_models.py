"""Bootstrap validation and average slopes of risk models, compared with statsmodels and scikit-learn.

The refits of the other packages are measured with what their users have: scikit-learn's metrics, and for the
calibration line one more fit of the same kind, to the log-odds. The measures are those of `discriminant.validate`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final

import numpy as np

import discriminant as ours
from discriminant import effects

from .measure import Case, Contender, in_fresh_process, seconds_of

Array = np.ndarray[Any, Any]
#: A logistic regression by maximum likelihood: from columns, classes and weights to intercept and slopes.
Fit = Callable[[Array, Array, Array], Array]

RESAMPLES: Final = 500
STATSMODELS, SCIKIT_LEARN = "statsmodels, refits", "scikit-learn newton-cholesky, refits"
#: Targets for average slopes of 1,000,000 x 20: gradient passes over the same rows, and bytes.
MAX_PASSES: Final = 20.0
MAX_BYTES: Final = 1e9


def cases() -> Iterator[Case]:
    yield validation_case(1_000, 10, RESAMPLES)
    yield slopes_case(100_000, 20)


def risk_rows(n: int, p: int, seed: int = 0) -> tuple[Array, Array]:
    """Rows of a logistic model, with probabilities around 0.3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    eta = X @ rng.normal(scale=0.3, size=p) - 1
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)


def validation_case(n: int, p: int, resamples: int) -> Case:
    """The optimism bootstrap with the same resamples, and all measures of `validate`."""
    data = cache(partial(risk_rows, n, p))
    drawn = cache(lambda: np.random.default_rng(1).integers(n, size=(resamples, n)))

    def mine() -> float:
        options = ours.ValidationOptions(resamples=drawn(), inner_resamples=0)
        return float(ours.validate(ours.LogisticRegression(), *data(), options)["auc"].corrected)

    contenders = [
        Contender("discriminant", mine, float, ours=True),
        Contender(STATSMODELS, lambda: by_refits(statsmodels_fit, *data(), drawn())["auc"], float),
        Contender(SCIKIT_LEARN, lambda: by_refits(scikit_learn_fit, *data(), drawn())["auc"], float),
    ]
    title = f"{resamples} optimism resamples of a logistic regression, {n:,} x {p}"
    bars = {STATSMODELS: 20.0, SCIKIT_LEARN: 5.0}
    return Case(title, contenders, bars, "corrected AUC", tolerance=1e-4, rounds=2)


def by_refits(fit: Fit, X: Array, y: Array, drawn: Array) -> dict[str, float]:
    """The corrected measures by one fit after the other, on its own rows and on all rows."""
    ones, optimism = np.ones(len(y)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apparent = measures(fit, y, _scores(fit(X, y, ones), X), ones)
        for rows in drawn:
            scores = _scores(fit(X[rows], y[rows], ones), X)
            own = np.bincount(rows, minlength=len(y)).astype(float)
            training, test = (measures(fit, y, scores, weight) for weight in (own, ones))
            optimism.append([training[name] - test[name] for name in apparent])
    means = np.mean(optimism, axis=0)
    return {name: value - float(mean) for (name, value), mean in zip(apparent.items(), means, strict=True)}


def measures(fit: Fit, y: Array, scores: Array, weight: Array) -> dict[str, float]:
    """The measures of `validate`, of log-odds for weighted rows."""
    from sklearn import metrics

    p, weighted = 1 / (1 + np.exp(-scores)), {"sample_weight": weight}
    intercept, slope = fit(scores[:, None], y, weight)
    line = 1 / (1 + np.exp(-(intercept + slope * scores)))
    share = np.average(y, weights=weight)
    null = metrics.log_loss(y, np.full(len(y), share), **weighted)
    explained = 1 - np.exp(2 * (metrics.log_loss(y, line, **weighted) - null))
    return {
        "auc": metrics.roc_auc_score(y, p, **weighted),
        "brier": metrics.brier_score_loss(y, p, **weighted),
        "log_loss": metrics.log_loss(y, p, **weighted),
        "r2": explained / (1 - np.exp(-2 * null)),
        "calibration_intercept": float(intercept),
        "calibration_slope": float(slope),
        "accuracy": metrics.accuracy_score(y, p > 0.5, **weighted),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, p > 0.5, **weighted),
    }


def _scores(coefficients: Array, X: Array) -> Array:
    return coefficients[0] + X @ coefficients[1:]


def statsmodels_fit(X: Array, y: Array, weight: Array) -> Array:
    """Rows are repeated, because Logit has no weights (GLM has, and takes longer)."""
    import statsmodels.api as sm

    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    found = sm.Logit(y[rows], sm.add_constant(X[rows], has_constant="add")).fit(disp=0)
    return np.asarray(found.params)


def scikit_learn_fit(X: Array, y: Array, weight: Array) -> Array:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(X, y, sample_weight=weight)
    return np.append(model.intercept_, model.coef_[0])


def slopes_case(n: int, p: int) -> Case:
    """Average slopes of all columns with standard errors, of a fitted model."""
    import statsmodels.api as sm

    data = cache(partial(risk_rows, n, p))
    model = cache(lambda: ours.LogisticRegression().fit(*data()))
    theirs = cache(lambda: sm.Logit(data()[1], sm.add_constant(data()[0])).fit(disp=0))

    def mine() -> Any:
        return effects.slopes(model(), data()[0]).rows

    def quality(errors: Array) -> float:
        return -float(np.abs(np.log(errors)).sum())

    contenders = [
        Contender("discriminant", mine, lambda rows: quality(np.array([row.std_error for row in rows])), ours=True),
        Contender("statsmodels get_margeff", lambda: theirs().get_margeff().margeff_se, quality),
    ]
    title = f"average slopes with standard errors, {n:,} x {p}"
    return Case(title, contenders, {"statsmodels get_margeff": 20.0}, "- sum of log errors", tolerance=1e-3, rounds=2)


#: The memory that slopes add to that of the rows and the fit.
_MEMORY: Final = """
import resource, sys
from benchmarks.risk_models import risk_rows
from discriminant import LogisticRegression, effects
X, y = risk_rows(int(sys.argv[1]), int(sys.argv[2]))
model = LogisticRegression().fit(X, y)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
effects.slopes(model, X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - X.nbytes, before)
"""


def facts(n: int = 1_000_000, p: int = 20) -> tuple[list[str], list[str]]:
    """Average slopes in gradient passes over the same rows, and the memory of the process without the rows."""
    X, y = risk_rows(n, p)
    model = ours.LogisticRegression().fit(X, y)
    objective, theta = model._training, model.solution_.theta
    passes = seconds_of(lambda: effects.slopes(model, X)) / seconds_of(lambda: objective.value_and_gradient(theta), 3)
    used = float(in_fresh_process(_MEMORY, [str(n), str(p)]).split()[0])
    found = f"Average slopes with standard errors of {n:,} x {p}: {passes:.1f} gradient passes, {used / 1e6:,.0f} MB."
    missed = []
    if passes > MAX_PASSES:
        missed.append(f"Average slopes take {passes:.1f} gradient passes; at most {MAX_PASSES:g} are allowed.")
    if used > MAX_BYTES:
        missed.append(f"Average slopes need {used / 1e6:,.0f} MB; at most {MAX_BYTES / 1e6:,.0f} are allowed.")
    return [found], missed
