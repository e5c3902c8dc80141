"""Coverage of intervals and level of tests with importance weights: weights of classes and survey weights."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from typing import Any, Final

import numpy as np
from scipy.special import expit
from tests.studies import COVERAGE, MIN_OFFERED, TYPE_I_ERROR, Found, Task, generator, header, is_within, line

from discriminant import LogisticRegression
from discriminant.errors import SeparationWarning

TITLE: Final = "Importance weights in logistic regression"
TEXT: Final = """
Half of the columns of the logistic regressions are standard normal, the others are binary with probability 0.3; one
effect is 0.5, all others are 0. Rows are independent of their weights. Intervals and tests are the defaults of
`summary()`: Wald's with the sandwich HC3, or with HC2 for balanced classes. The columns of the table:

- **weights**: *balanced* is `class_weight="balanced"`; the others are lognormal survey weights, whose logarithms have a
  standard deviation of 0.4 or 0.9.
- **effective**: mean effective sample size of the rarest class, (sum of weights)^2 / sum of squared weights.
- **refused**: share of the samples in which tests and intervals are refused, because there are fewer than 25 effective
  rows, or fewer than 3 for each column. Without this rule the type I error was up to 9 %.
- **type I**: share of the tests of normal and of binary columns without effect that have p < 0.05.

Likelihood-ratio tests, profile intervals, AIC and BIC are refused for all importance weights, because with balanced
classes the likelihood-ratio test had a type I error of 20 %.
"""
REPLICATIONS: Final = 4_000
SAMPLE: Final = 200

EFFECT: Final = 0.5
BINARY_SHARE: Final = 0.3
#: Rows, share of the rarer class, columns.
SIZES: Final = ((300, 0.15, 5), (400, 0.1, 3), (600, 0.07, 3), (700, 0.12, 8))
WEIGHTS: Final = ("balanced", 0.4, 0.9)
#: Settings that are refused in most samples.
TOO_SMALL: Final = ((150, 0.1, 3),)
THREE_CLASSES: Final = ((300, 3), (800, 5))
#: Settings that are refused in more samples than this have no figures.
MAX_REFUSED: Final = 1 - MIN_OFFERED


def tasks() -> list[Task]:
    """Kind of weights, number of classes, rows, share of the rarest class, columns."""
    two = [("importance weights", kind, 2, *size) for kind in WEIGHTS for size in (*SIZES, *TOO_SMALL)]
    three = [("importance weights", kind, 3, n, 1 / 3, p) for kind in (0.4, 0.9) for n, p in THREE_CLASSES]
    return two + three


def sample(task: Task, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns and classes of one sample; the first column has the effect, on the last class against the first."""
    _, _, n_classes, n, share, p = task
    numbers = (p + 1) // 2
    X = np.column_stack((rng.normal(size=(n, numbers)), rng.random((n, p - numbers)) < BINARY_SHARE))
    if n_classes == 2:
        return X, (rng.random(n) < expit(math.log(share / (1 - share)) + EFFECT * X[:, 0])).astype(int)
    scores = np.zeros((n, n_classes))
    scores[:, 0] = EFFECT * X[:, 0]
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def run(task: Task, replications: int) -> dict[str, float]:
    """Coverage of the effect, shares of false rejections among normal and binary columns, and of samples refused."""
    _, kind, _, n, _, p = task
    rng, counts = generator(task), defaultdict[str, Any](float)
    model = LogisticRegression(class_weight="balanced" if kind == "balanced" else None)
    for _ in range(replications):
        X, y = sample(task, rng)
        weight = None if kind == "balanced" else np.exp(kind * rng.normal(size=n))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SeparationWarning)
            model.fit(X, y, weight)
        own = np.ones(n) if weight is None else weight
        counts["effective"] += min(own[y == k].sum() ** 2 / (own[y == k] ** 2).sum() for k in np.unique(y))
        rows = model.summary().rows[1 : 1 + p]
        if caught or math.isnan(rows[0].p_value):
            counts["refused"] += 1
            continue
        rejected = np.array([row.p_value < 0.05 for row in rows])
        counts["coverage"] += rows[0].low <= EFFECT <= rows[0].high
        counts["normal"] += rejected[1 : (p + 1) // 2].mean()
        counts["binary"] += rejected[(p + 1) // 2 :].mean()
    offered = max(replications - counts["refused"], 1)
    shares = {what: float(counts[what]) / offered for what in ("coverage", "normal", "binary")}
    return {**shares, **{what: float(counts[what]) / replications for what in ("effective", "refused")}}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    titles = ["weights", "classes", "rows", "rarest class", "columns", "effective", "refused"]
    lines = header([*titles, "coverage", "type I, normal", "type I, binary"], 1)
    for (_, kind, n_classes, n, share, p), one in found.items():
        weights = kind if kind == "balanced" else f"lognormal, {kind}"
        figures = [one["coverage"], one["normal"], one["binary"]] if one["refused"] <= MAX_REFUSED else ["-"] * 3
        size = [str(n_classes), str(n), f"{100 * share:.0f} %", str(p), f"{one['effective']:.0f}"]
        lines.append(line(weights, *size, one["refused"], *figures))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """What does not hold its level where tests and intervals are given."""
    bounds = {"coverage": COVERAGE, "normal": TYPE_I_ERROR, "binary": TYPE_I_ERROR}
    return [
        f"{task[1:]}, {what}: {one[what]:.4f}"
        for task, one in found.items()
        if one["refused"] <= MAX_REFUSED
        for what, bound in bounds.items()
        if not is_within(one[what], bound, replications)
    ]
