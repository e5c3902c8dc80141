"""The estimated performance of the best of several models: its bias, and the coverage of its range."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
from tests.studies import Found, Task, generator, header, line

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
Models are compared by stratified ten-fold cross-validation, and the best one is fitted to all rows. Its true
performance is that on 10,000 new rows. The columns of the table:

- **models**: *mixed* models are two linear discriminants, naive Bayes, a quadratic discriminant and logistic
  regression; *discriminants* are three linear and three quadratic ones with shrinkage; *ridges* are three ridge
  logistic regressions; *auto* is an `AutoClassifier` of ridge, regularised discriminants and naive Bayes, which is
  nested: it is tuned within each training part. *Auto* has a fifth of the replications.
- **columns**: the distribution of the p columns: normal, normal with a correlation of 0.6, or Student's t with 4
  degrees of freedom.
- **shift**: the mean of class k is shifted by this in one column and by half of it in the next (0: no signal).
- **shares**: the class proportions.
- **before**: mean error of the estimate by which the model was selected (for *auto*, of the loss by which its settings
  and weights were selected).
- **after**: mean error of the corrected estimate, `Comparison.chosen`.
- **rows alone**: coverage of an interval around the same estimate that accounts for the held-out rows alone; the
  package does not report it.
- **range**: share of samples in which the range of `Comparison.chosen` covers the true performance. The range is
  constructed to cover at least at its level and is mostly conservative; it is therefore not called a confidence
  interval.

The standard error of a share is 2 percentage points. There is no criterion for these results, because a range has no
stated coverage.
"""
REPLICATIONS: Final = 100
SAMPLE: Final = 10

N_NEW: Final = 10_000
#: Members, metric, distribution of the columns, rows, columns, shift and shares of the classes.
SETTINGS: Final = (
    ("mixed", "log_loss", "normal", 60, 5, 0.0, (0.5, 0.5)),
    ("mixed", "log_loss", "normal", 200, 8, 0.0, (0.7, 0.3)),
    ("mixed", "log_loss", "normal", 120, 6, 1.2, (0.4, 0.3, 0.3)),
    ("mixed", "log_loss", "correlated", 160, 8, 0.5, (0.7, 0.3)),
    ("mixed", "log_loss", "normal", 300, 6, 0.6, (0.9, 0.1)),
    ("mixed", "brier", "t", 130, 5, 0.8, (0.25, 0.25, 0.25, 0.25)),
    ("mixed", "accuracy", "t", 150, 5, 0.6, (0.6, 0.4)),
    ("mixed", "accuracy", "correlated", 90, 5, 1.5, (0.4, 0.3, 0.3)),
    ("ridges", "log_loss", "correlated", 120, 8, 0.4, (0.6, 0.4)),
    ("discriminants", "log_loss", "correlated", 100, 6, 0.6, (0.5, 0.5)),
    ("discriminants", "log_loss", "t", 300, 6, 0.4, (0.85, 0.15)),
    ("auto", "log_loss", "normal", 90, 6, 0.0, (0.6, 0.4)),
)
#: An AutoClassifier takes as long as many other models.
AUTO_SHARE: Final = 0.2
MIN_CLASS_ROWS: Final = 3


def tasks() -> list[Task]:
    return [("choice", *setting) for setting in SETTINGS]


def members(name: str) -> dict[str, Any]:
    """The models that are compared."""
    if name == "auto":
        return {"auto": AutoClassifier(["ridge", "rda", "naive-bayes"])}
    if name == "ridges":
        return {f"ridge {a}": LogisticRegression(alpha=a) for a in (0.003, 0.03, 0.3)}
    if name == "discriminants":
        linear = {f"lda {s}": LinearDiscriminantAnalysis(shrinkage=s) for s in (0.0, 0.2, 0.6)}
        return linear | {f"qda {s}": QuadraticDiscriminantAnalysis(shrinkage=s) for s in (0.1, 0.3, 0.7)}
    linear = {f"lda {s}": LinearDiscriminantAnalysis(shrinkage=s) for s in (0.0, 0.3)}
    quadratic = QuadraticDiscriminantAnalysis(shrinkage=0.4)
    return linear | {"bayes": GaussianNB(), "qda": quadratic, "logistic": LogisticRegression(alpha=0.03)}


def rows(
    rng: np.random.Generator, law: str, n: int, p: int, shift: float, shares: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray]:
    y = rng.choice(len(shares), size=n, p=shares)
    if law == "t":
        X = rng.standard_t(4, size=(n, p))
    elif law == "correlated":
        X = np.sqrt(0.6) * rng.normal(size=(n, 1)) + np.sqrt(0.4) * rng.normal(size=(n, p))
    else:
        X = rng.normal(size=(n, p))
    means = np.zeros((len(shares), p))
    for k in range(1, len(shares)):
        means[k, (k - 1) % p], means[k, k % p] = shift, shift / 2
    return X + means[y], y


def figure(model: Any, metric: str, X: np.ndarray, y: np.ndarray) -> float:
    """The figure of a fitted model on new rows."""
    if metric == "accuracy":
        return float(np.mean(model.predict(X) == y))
    posterior = model.predict_proba(X)
    if metric == "log_loss":
        return float(-np.log(np.maximum(posterior[np.arange(len(y)), y], 1e-300)).mean())
    squares = np.square(posterior - np.eye(posterior.shape[1])[y]).sum(axis=1)
    return float(squares.mean() / (2 if posterior.shape[1] == 2 else 1))


def run(task: Task, replications: int) -> dict[str, float]:
    rng, found = generator(task), []
    count = max(round(AUTO_SHARE * replications), 1) if task[1] == "auto" else replications
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        while len(found) < count:
            one = _sample(rng, *task[1:])
            found += [one] if one else []
    names = ("before", "after", "range", "rows alone")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def _sample(rng: np.random.Generator, group: str, metric: str, *law: Any) -> tuple[float, ...] | None:
    """Errors of the figures, and whether ranges hold the true one; None where a class has too few rows."""
    X, y = rows(rng, *law)
    if np.bincount(y, minlength=len(law[-1])).min() < MIN_CLASS_ROWS:
        return None
    models = members(group)
    result = compare(models, X, y, metric=metric, progress=False, n_jobs=1, keep="predictions")
    chosen = result.chosen
    assert chosen is not None
    name, _, *others = law
    model = models[chosen.model].fit(X, y)
    true = figure(model, metric, *rows(rng, name, N_NEW, *others))
    before = model.loss_ if group == "auto" else chosen.plain
    plain = result.cross_validation.interval(chosen.model, metric)
    shift = chosen.value - chosen.plain
    held = plain.low + shift <= true <= plain.high + shift
    return before - true, chosen.value - true, chosen.low <= true <= chosen.high, held


def table(found: Found) -> list[str]:
    titles = ["models", "metric", "columns", "n", "p", "shift", "shares", "before", "after", "rows alone", "range"]
    lines = header(titles, 7)
    for task, one in found.items():
        group, metric, law, *sizes, shares = task[1:]
        errors = (f"{one['before']:+.4f}", f"{one['after']:+.4f}")
        names = (group, metric_name(metric), law, *map(str, sizes), ", ".join(f"{share:g}" for share in shares))
        lines.append(line(*names, *errors, one["rows alone"], one["range"]))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """No criterion, because a range has no stated coverage."""
    return []
