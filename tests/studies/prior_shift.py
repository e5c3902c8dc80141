"""Coverage of the intervals of class priors estimated from unlabelled rows, and errors of the test of no change."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import numpy as np
from tests.studies import COVERAGE, TYPE_I_ERROR, Found, Task, generator, header, is_within, line

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, estimate_priors

TITLE: Final = "Priors of unlabelled rows"
TEXT: Final = """
`estimate_priors(model, X, training=...)` of classes with normal columns of equal covariance: *strong* and *weak* signal
have a distance of the class means of 2 and 1 standard deviations; all columns but the first two or three are noise.
Training rows and new rows are random samples. *Rejected* is the share of samples without change of the priors in which
the test of no change has p < 0.05; *covered* the share of the new priors in their 95 % intervals; *bias* and *width*
are those of the first prior and of the intervals. Intervals of more than half of the range are cut off at 0 and 1, and
cover more often.
"""
REPLICATIONS: Final = 1_000
SAMPLE: Final = 20

MODELS: Final = {"lda": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(alpha=1e-4)}
DISTANCES: Final = {"strong": 2.0, "weak": 1.0}
#: Priors of the training rows and of new rows.
PRIORS: Final = (
    ((0.5, 0.5), (0.5, 0.5)),
    ((0.5, 0.5), (0.8, 0.2)),
    ((0.5, 0.5), (0.98, 0.02)),
    ((0.85, 0.15), (0.6, 0.4)),
    ((0.4, 0.3, 0.3), (0.6, 0.3, 0.1)),
)
#: Training rows, new rows, columns.
SIZES: Final = ((200, 200, 10), (200, 2_000, 30), (1_000, 500, 10))


def tasks() -> list[Task]:
    """Model, signal, training priors, new priors, training rows, new rows, columns."""
    small, wide, large = SIZES
    return [
        *(("prior_shift", "lda", signal, *priors, *wide) for signal in DISTANCES for priors in PRIORS),
        *(("prior_shift", "lda", signal, *priors, *small) for signal in DISTANCES for priors in PRIORS),
        *(("prior_shift", "lda", "strong", *priors, *large) for priors in PRIORS[2:]),
        *(("prior_shift", "logistic", "strong", *priors, *small) for priors in PRIORS[1:4]),
    ]


def sample(rng: np.random.Generator, priors: tuple[float, ...], n: int, p: int, distance: float) -> Any:
    """Rows of classes whose means are the corners of a simplex, and their classes."""
    y = rng.choice(len(priors), size=n, p=priors)
    X = rng.normal(size=(n, p))
    X[:, : len(priors)] += distance / np.sqrt(2) * np.eye(len(priors))[y]
    return X, y


def run(task: Task, replications: int) -> dict[str, float]:
    """How often priors are covered, and no change is rejected."""
    _, name, signal, old, new, n, m, p = task
    rng, distance, counts = generator(task), DISTANCES[signal], defaultdict[str, Any](float)
    for _ in range(replications):
        training = sample(rng, old, n, p, distance)
        model = MODELS[name].fit(*training)
        same, other = (sample(rng, priors, m, p, distance)[0] for priors in (old, new))
        counts["rejected"] += estimate_priors(model, same, training=training).p_value < 0.05
        found = estimate_priors(model, other, training=training)
        counts["covered"] += float(np.mean((found.low <= new) & (new <= found.high)))
        counts["bias"] += float(found.priors[0] - new[0])
        counts["width"] += float(np.mean(found.high - found.low))
    return {what: float(total) / replications for what, total in counts.items()}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    titles = ["model", "signal", "training priors", "new priors", "training rows", "new rows", "columns"]
    columns = ["rejected", "covered", "bias", "width"]
    lines = header([*titles, *columns], 4)
    for (_, model, signal, old, new, *sizes), one in found.items():
        priors = (", ".join(f"{prior:g}" for prior in priors) for priors in (old, new))
        lines.append(line(model, signal, *priors, *(f"{size:,}" for size in sizes), *(one[what] for what in columns)))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Settings whose coverage or error of the first kind is out of bounds."""
    outside = []
    for task, one in found.items():
        covered = COVERAGE if one["width"] < 0.5 else (COVERAGE[0], 1.0)
        for what, bounds in {"rejected": TYPE_I_ERROR, "covered": covered}.items():
            if not is_within(one[what], bounds, replications, REPLICATIONS):
                outside.append(f"{what} of {task[1:]}: {one[what]:.3f}")
    return outside
