"""Coverage of the intervals of measures corrected by the optimism bootstrap."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from tests.studies import COVERAGE, MIN_OFFERED, Found, Task, generator, header, is_within, line

from discriminant import LogisticRegression, ValidationOptions, validate
from discriminant.errors import InputError
from discriminant.validation.performance import performance

TITLE: Final = "Internal validation"
TEXT: Final = """
A logistic regression is fitted by maximum likelihood to a sample and validated on it by the optimism bootstrap
(`validate`, 100 resamples with 12 inner resamples each; [method](optimism-bootstrap.md)). The columns are normal with a
correlation of 0.3, and every third one is dichotomised at its mean; half of them have effects. Results refer to all
samples with finite maximum-likelihood estimates. The columns of the table:

- **share**: the proportion of the second class.
- **AUC of the model**: the AUC of the true probabilities.
- **EPV** (events per variable): the expected number of rows of the rarer class for each column.
- **AUC** to **balanced accuracy**: coverage of the 95 % intervals; the estimand is the performance of the fitted model
  on new rows (20,000 rows with their true probabilities).
- **single**: the same of intervals that use the standard deviation of the optimism alone, without inner resamples.

With at least ten rows of the rarer class for each column, `validate` reports confidence intervals of the AUC, of the
calibration slope and, with at least 50 rows of that class in all, of the Brier score. These are compared with the
bounds. All others are ranges: with fewer rows the interval of the Brier score is too wide. The limit of 50 rows was
chosen after the settings with 100 rows had been run, and evaluated in those with 150 and 200 rows. The last row has the
means over the settings with at least ten rows for each column.
"""
REPLICATIONS: Final = 4_000
SAMPLE: Final = 10

JUDGED: Final = {"auc": "AUC", "brier": "Brier score", "calibration_slope": "slope"}
MEASURES: Final = JUDGED | {
    "log_loss": "log-loss", "r2": "R2", "calibration_intercept": "intercept", "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
}  # fmt: skip
RESAMPLES: Final = 100
POPULATION: Final = 20_000
EPV: Final = 10
#: Rows, columns, share of the second class, AUC of the true probabilities.
SETTINGS: Final = (
    (100, 2, 0.3, 0.85), (100, 3, 0.4, 0.7), (250, 6, 0.3, 0.7), (500, 8, 0.2, 0.75), (500, 12, 0.3, 0.85),
    (1000, 10, 0.3, 0.65), (150, 4, 0.4, 0.7), (200, 6, 0.35, 0.75), (100, 8, 0.4, 0.75),
)  # fmt: skip


def tasks() -> list[Task]:
    """Rows, columns, share, AUC."""
    return [("internal validation", *setting) for setting in SETTINGS]


def columns(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Correlated columns, every third one of 0 and 1."""
    X = np.sqrt(0.7) * rng.normal(size=(n, p)) + np.sqrt(0.3) * rng.normal(size=(n, 1))
    X[:, 2::3] = X[:, 2::3] > 0
    return X


def weighted_auc(p: np.ndarray) -> float:
    """The AUC of true probabilities."""
    own = np.sort(p)
    negative = np.cumsum(1 - own) - (1 - own) / 2
    return float(own @ negative / own.sum() / (1 - own).sum())


@cache
def population(p: int, share: float, auc: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Columns and true probabilities of new rows, and the slopes and the intercept."""
    X = columns(POPULATION, p, np.random.default_rng(p))
    direction = np.where(np.arange(p) < (p + 1) // 2, 1.0, 0.0)
    eta = X @ direction

    def intercept(scale: float) -> float:
        return float(brentq(lambda a: expit(a + scale * eta).mean() - share, -60, 60))

    scale = float(brentq(lambda s: weighted_auc(expit(intercept(s) + s * eta)) - auc, 0.01, 10))
    return X, expit(intercept(scale) + scale * eta), scale * direction, intercept(scale)


def true_performance(model: LogisticRegression, X: np.ndarray, probability: np.ndarray) -> dict[str, float]:
    """The measures of a model on rows of both classes, weighted by their true probabilities."""
    posterior = np.tile(model.predict_proba(X), (2, 1))
    codes = np.repeat([0, 1], len(X))
    return performance(posterior, codes, np.concatenate((1 - probability, probability)))


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of samples whose intervals hold the true performance."""
    _, n, p, share, auc = task
    rng, held = generator(task), defaultdict[str, list[bool]](list)
    X_new, probability, slopes, intercept = population(p, share, auc)
    for replication in range(replications):
        X = columns(n, p, rng)
        y = (rng.random(n) < expit(intercept + X @ slopes)).astype(int)
        model = LogisticRegression()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y)
                options = {"resamples": RESAMPLES, "random_state": replication}
                double = validate(LogisticRegression(), X, y, ValidationOptions(**options))
                single = validate(LogisticRegression(), X, y, ValidationOptions(inner_resamples=0, **options))
            except InputError:
                continue
        truth = true_performance(model, X_new, probability)
        for name in MEASURES:
            for kind, found in (("interval", double[name]), ("single", single[name])):
                held[f"{name} {kind}"].append(bool(found.low <= truth[name] <= found.high))
        for name in JUDGED:
            held[f"{name} offered"].append(not double[name].is_range)
    return {what: float(np.mean(values)) for what, values in held.items()}


def events(task: Task) -> float:
    """Expected rows of the rarer class for each column."""
    _, n, p, share, _ = task
    return n * min(share, 1 - share) / p


def table(found: Found) -> list[str]:
    """One line for each setting, and the means over the settings with confidence intervals."""
    shown = [f"{name} interval" for name in MEASURES] + [f"{name} single" for name in JUDGED]
    titles = [*MEASURES.values(), *(f"{name}, single" for name in JUDGED.values())]
    lines = header(["rows", "columns", "share", "AUC of the model", "EPV", *titles], 5)
    for task, one in found.items():
        _, n, p, share, auc = task
        own = [f"{n:,}", str(p), f"{100 * share:g} %", f"{auc:g}", f"{events(task):.3g}"]
        lines.append(line(*own, *(one[what] for what in shown)))
    judged = [one for one in found.values() if one["auc offered"] >= MIN_OFFERED]
    means = [float(np.mean([one[what] for one in judged])) for what in shown]
    return [*lines, line("mean", "", "", "", "10 and more", *means)]


def check(found: Found, replications: int) -> list[str]:
    """Confidence intervals whose coverage is out of bounds."""
    return [
        f"{JUDGED[name]}, {task[1:]}: {one[f'{name} interval']:.3f}"
        for task, one in found.items()
        for name in JUDGED
        if one[f"{name} offered"] >= MIN_OFFERED and not is_within(one[f"{name} interval"], COVERAGE, replications)
    ]
