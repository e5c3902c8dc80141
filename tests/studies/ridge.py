"""Coverage of the credible intervals of a ridge whose strength is chosen by cross-validation."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import numpy as np
from scipy.special import expit
from tests.studies import COVERAGE, Found, Task, generator, header, is_within, line

from discriminant import LogisticRegression, LogisticRegressionCV

TITLE: Final = "Credible intervals of a ridge"
TEXT: Final = """
A ridge logistic regression is fitted to standard normal columns with a correlation of 0.3. The columns of the table:

- **effects**: *normal* effects are drawn from a normal distribution in every sample, as the penalty assumes; *sparse*
  means one effect of 1 and all others 0; *none* means that all effects are 0.
- **strength**: the penalty strength is that of the distribution of the effects (*known*) or is chosen by
  cross-validation (*chosen*, `LogisticRegressionCV`).
- **all effects**: share of effects in their 95 % credible intervals.
- **largest**: the same for the largest effect of each sample.

Given the strength, credible intervals cover 95 % of effects drawn from the prior. They are not confidence intervals,
because they do not cover every fixed effect at their level, and a ridge has no p-values. The results with known
strength are compared with the bounds, with an allowance of two simulation errors (1 percentage point).
"""
REPLICATIONS: Final = 2_000
SAMPLE: Final = 100

EFFECTS: Final = (("normal", "known"), ("normal", "chosen"), ("sparse", "chosen"), ("none", "chosen"))
SIZES: Final = ((100, 5), (300, 5), (300, 20))
CORRELATION: Final = 0.3
SLOPE_SD: Final = 0.5


def tasks() -> list[Task]:
    """Effects, strength of the penalty, rows, columns."""
    return [("ridge", *kind, n, p) for kind in EFFECTS for n, p in SIZES]


def true_effects(kind: str, p: int, rng: np.random.Generator) -> np.ndarray:
    """The coefficients of one sample."""
    if kind == "normal":
        return rng.normal(0, SLOPE_SD, p)
    return np.append(1.0 if kind == "sparse" else 0.0, np.zeros(p - 1))


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of effects, and of largest effects, within their intervals."""
    _, effects, strength, n, p = task
    known = LogisticRegression(1 / (n * SLOPE_SD**2), standardize=False)
    model = known if strength == "known" else LogisticRegressionCV(random_state=0)
    rng, counts = generator(task), defaultdict[str, Any](float)
    root = np.linalg.cholesky((1 - CORRELATION) * np.eye(p) + CORRELATION)
    for _ in range(replications):
        slopes = true_effects(effects, p, rng)
        X = rng.normal(size=(n, p)) @ root.T
        y = rng.random(n) < expit(X @ slopes)
        rows = model.fit(X, y).summary().rows[1:]
        covered = np.array([row.low <= slope <= row.high for row, slope in zip(rows, slopes, strict=True)])
        counts["all effects"] += covered.mean()
        counts["largest"] += covered[np.argmax(np.abs(slopes))]
    return {what: float(total) / replications for what, total in counts.items()}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    lines = header(["effects", "strength", "rows", "columns", "all effects", "largest"], 2)
    for (_, effects, strength, n, p), one in found.items():
        lines.append(line(effects, strength, str(n), str(p), one["all effects"], one["largest"]))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Effects of the prior that are not covered at the level; the intervals claim nothing of others."""
    shares = {task[3:]: one["all effects"] for task, one in found.items() if task[2] == "known"}
    return [
        f"n = {n}, p = {p}: {share:.3f}"
        for (n, p), share in shares.items()
        if not is_within(share, COVERAGE, replications)
    ]
