"""The figure of the best of several models on new rows: its bias, and the coverage of its interval."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
from tests.studies import COVERAGE, Found, Task, generator, header, is_within, line

from discriminant import (
    AutoClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from discriminant.results import metric_name
from discriminant.validation.comparison import compare

TITLE: Final = "The best of several models"
TEXT: Final = """
Models are compared by stratified ten-fold cross-validation, and the best one is fitted to all rows. Its true figure is
that on 10,000 new rows. Rows are of two classes with normal columns of variance 1; three of them differ by *shift*
between the classes (0: noise), and *share* is that of the rarer class. *Six* are linear discriminants with shrinkage
0, 0.1, 0.5 and 0.95, naive Bayes and a quadratic discriminant; *ridge* three ridges and naive Bayes; *auto* an
`AutoClassifier` of ridge, regularised discriminants and naive Bayes, which is nested: it is tuned anew in each training
part. *Before* is the mean error of the figure that chose the model (for *auto*, of the loss that chose its settings and
weights), *after* that of the figure of `Comparison.chosen`; *coverage* is that of its 95 % confidence interval, *rows
alone* that of an interval of the held-out rows alone around the same figure, which is not called a confidence interval.
Accuracy and the ridges have conservative intervals: coverage over 97 % is marked so. *Auto* has 300 samples a setting.
"""
REPLICATIONS: Final = 1_000
SAMPLE: Final = 60

N_NEW: Final = 10_000
#: Members, metric, rows, columns, shift and share of the rarer class.
SETTINGS: Final = (
    ("six", "log_loss", 40, 4, 0.0, 0.5),
    ("six", "log_loss", 100, 10, 0.0, 0.5),
    ("six", "log_loss", 400, 20, 0.0, 0.5),
    ("six", "log_loss", 60, 5, 0.3, 0.5),
    ("six", "log_loss", 100, 10, 0.3, 0.5),
    ("six", "log_loss", 400, 20, 0.2, 0.5),
    ("six", "log_loss", 60, 5, 1.0, 0.5),
    ("six", "log_loss", 200, 10, 1.0, 0.5),
    ("six", "log_loss", 200, 10, 0.3, 0.1),
    ("six", "log_loss", 400, 10, 0.0, 0.1),
    ("ridge", "log_loss", 150, 10, 0.0, 0.5),
    ("ridge", "log_loss", 150, 10, 0.3, 0.5),
    ("six", "accuracy", 100, 10, 0.0, 0.5),
    ("six", "accuracy", 100, 10, 0.3, 0.5),
    ("six", "accuracy", 200, 10, 1.0, 0.5),
    ("auto", "log_loss", 100, 5, 0.0, 0.5),
    ("auto", "log_loss", 100, 5, 0.4, 0.5),
)
#: An AutoClassifier takes as long as many other models.
AUTO_SHARE: Final = 0.3


def tasks() -> list[Task]:
    return [("choice", *setting) for setting in SETTINGS]


def members(name: str) -> dict[str, Any]:
    """The models that are compared."""
    if name == "auto":
        return {"auto": AutoClassifier(["ridge", "rda", "naive-bayes"])}
    if name == "ridge":
        return {f"ridge {a}": LogisticRegression(alpha=a) for a in (0.01, 0.1, 1.0)} | {"bayes": GaussianNB()}
    shrunken = {f"lda {s}": LinearDiscriminantAnalysis(shrinkage=s) for s in (0.0, 0.1, 0.5, 0.95)}
    return shrunken | {"bayes": GaussianNB(), "qda": QuadraticDiscriminantAnalysis(shrinkage=0.2)}


def rows(rng: np.random.Generator, n: int, p: int, shift: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, p))
    X[:, :3] += shift * y[:, None]
    return X, y


def figure(model: Any, metric: str, X: np.ndarray, y: np.ndarray) -> float:
    """The figure of a fitted model on new rows."""
    if metric == "accuracy":
        return float(np.mean(model.predict(X) == y))
    return float(-np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-300)).mean())


def run(task: Task, replications: int) -> dict[str, float]:
    rng, found = generator(task), []
    count = round(AUTO_SHARE * replications) if task[1] == "auto" else replications
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        while len(found) < count:
            one = _sample(rng, *task[1:])
            found += [one] if one else []
    names = ("before", "after", "coverage", "rows alone")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def _sample(rng: np.random.Generator, group: str, metric: str, *law: Any) -> tuple[float, ...] | None:
    """Errors of the figures, and whether intervals hold the true one; None where a class has fewer than three rows."""
    X, y = rows(rng, *law)
    if np.bincount(y, minlength=2).min() < 3:
        return None
    models = members(group)
    result = compare(models, X, y, metric=metric, progress=False, n_jobs=1, keep="predictions")
    chosen = result.chosen
    assert chosen is not None
    model = models[chosen.model].fit(X, y)
    true = figure(model, metric, *rows(rng, N_NEW, *law[1:]))
    before = model.loss_ if group == "auto" else chosen.plain
    plain = result.cross_validation.interval(chosen.model, metric)
    shift = chosen.value - chosen.plain
    held = plain.low + shift <= true <= plain.high + shift
    return before - true, chosen.value - true, chosen.low <= true <= chosen.high, held


def table(found: Found) -> list[str]:
    titles = ["models", "metric", "n", "columns", "shift", "share", "before", "after", "rows alone", "coverage"]
    lines = header(titles, 6)
    for task, one in found.items():
        group, metric, *law = task[1:]
        errors = (f"{one['before']:+.4f}", f"{one['after']:+.4f}")
        coverage = f"{one['coverage']:.3f}{' (conservative)' if one['coverage'] > COVERAGE[1] else ''}"
        lines.append(line(group, metric_name(metric), *map(str, law), *errors, one["rows alone"], coverage))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Coverage below the bounds; a conservative interval is marked in the table, and is within them."""
    outside = []
    for task, one in found.items():
        own = round(AUTO_SHARE * replications) if task[1] == "auto" else replications
        if not is_within(one["coverage"], (COVERAGE[0], 1.0), own, REPLICATIONS):
            outside.append(f"{task}: coverage {one['coverage']:.3f}")
    return outside
