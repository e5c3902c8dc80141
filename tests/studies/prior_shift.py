"""Coverage of the intervals of class priors estimated from unlabelled rows, and errors of the test of no change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from tests.studies import COVERAGE, MIN_OFFERED, TYPE_I_ERROR, Found, Task, generator, header, is_within, line

from discriminant import LinearDiscriminantAnalysis, LogisticRegression, estimate_priors

TITLE: Final = "Priors of unlabelled rows"
TEXT: Final = """
The priors are estimated by `estimate_priors(model, X, training=...)` for classes with normal columns of equal
covariance. Training rows and new rows are random samples. The columns of the table:

- **signal**: *strong* or *weak*: the class means are 2.2 or 1.2 standard deviations apart; all columns but the first
  two or three are noise.
- **rejected**: the type I error: share of samples without prior shift in which the test of no prior shift has
  p < 0.05.
- **offered**: share of priors that have an interval; coverage and width are missing if it is less than half. Intervals
  wider than half of the range from 0 to 1 are not reported, because they are truncated at 0 and 1 and covered in up to
  98.5 % of samples.
- **covered**: coverage of the 95 % intervals of the new priors.
- **width**: their mean width.
- **bias**: bias of the first prior.

The allowance is two simulation errors (2.5 percentage points for a coverage of 95 %, less for several classes).
"""
REPLICATIONS: Final = 300
SAMPLE: Final = 20

MODELS: Final = {"lda": LinearDiscriminantAnalysis(), "logistic": LogisticRegression(alpha=1e-4)}
DISTANCES: Final = {"strong": 2.2, "weak": 1.2}
#: Priors of the training rows and of new rows.
PRIORS: Final = (
    ((0.6, 0.4), (0.6, 0.4)),
    ((0.6, 0.4), (0.9, 0.1)),
    ((0.8, 0.2), (0.5, 0.5)),
    ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)),
    ((0.4, 0.2, 0.2, 0.2), (0.25, 0.25, 0.25, 0.25)),
)
#: Training rows, new rows, columns.
SIZES: Final = ((150, 300, 6), (300, 1_200, 20), (800, 400, 8))


def tasks() -> list[Task]:
    """Model, signal, training priors, new priors, training rows, new rows, columns."""
    small, wide, large = SIZES
    return [
        *(("prior_shift", "lda", "strong", *priors, *wide) for priors in PRIORS[1:4:2]),
        *(("prior_shift", "lda", signal, *priors, *small) for signal in DISTANCES for priors in PRIORS),
        *(("prior_shift", "lda", "weak", *priors, *large) for priors in PRIORS[1:3]),
        *(("prior_shift", "logistic", "strong", *priors, *small) for priors in PRIORS[2:3]),
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
        given = ~np.isnan(found.low)
        counts["offered"] += float(given.mean())
        counts["covered"] += float(np.mean((found.low <= new) & (new <= found.high)))
        counts["width"] += float(np.sum(found.high[given] - found.low[given])) / len(new)
        counts["bias"] += float(found.priors[0] - new[0])
    offered = max(counts["offered"], 1e-9)
    shares = {what: counts[what] / offered for what in ("covered", "width")}
    return {**shares, **{what: counts[what] / replications for what in ("rejected", "offered", "bias")}}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    titles = ["model", "signal", "training priors", "new priors", "training rows", "new rows", "columns"]
    columns = ["rejected", "offered", "covered", "width", "bias"]
    lines = header([*titles, *columns], 4)
    for (_, model, signal, old, new, *sizes), one in found.items():
        priors = (", ".join(f"{prior:g}" for prior in priors) for priors in (old, new))
        figures = {what: one[what] for what in columns} | ({} if is_judged(one) else {"covered": "-", "width": "-"})
        lines.append(line(model, signal, *priors, *(f"{size:,}" for size in sizes), *figures.values()))
    return lines


def is_judged(one: Mapping[str, float]) -> bool:
    """Whether enough priors have an interval."""
    return one["offered"] >= MIN_OFFERED


def check(found: Found, replications: int) -> list[str]:
    """Settings whose coverage or error of the first kind is out of bounds."""
    outside = []
    for task, one in found.items():
        for what, bounds in {"rejected": TYPE_I_ERROR, **({"covered": COVERAGE} if is_judged(one) else {})}.items():
            if not is_within(one[what], bounds, replications):
                outside.append(f"{what} of {task[1:]}: {one[what]:.3f}")
    return outside
