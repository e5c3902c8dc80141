"""Coverage of the intervals of proportions and of other measures of a table of counts."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Final

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom
from tests.studies import COVERAGE, MIN_OFFERED, Found, Task, generator, header, line

from discriminant.evaluation.intervals import wilson_interval
from discriminant.evaluation.rates import class_intervals, other_intervals, table_statistic
from discriminant.evaluation.table_sample import TableSample, margins

TITLE: Final = "Proportions and other measures of a table of counts"
TEXT: Final = """
These measures have few possible values. The criterion is their mean coverage over a grid of true values; minimum and
maximum over the grid are also reported. The interval of a proportion (accuracy, recall, precision and the like) is the
modified Wilson interval. Its coverage, in the first table, is computed exactly at 2,000 true values from 0 to 1:

- **mean**, **minimum**, **maximum**: over all true values. Near 0 and 1 the coverage of any interval differs strongly
  from its level. Wilson's interval without the modification has a minimum of 0.839 with 100 rows.
- **inner minimum**, **inner maximum**: over the true values between 5 expected events and 5 expected non-events.

The other measures, in the second table, are simulated at 15 points of a grid, with three or more classes at 8. Means
are over the samples that have an interval (*offered*: their share) and over the points of the grid at which at least
half of the samples have one.

- **classes**: two classes have normal scores whose means are 0.3 to 3.5 standard deviations apart, and are classified
  with a threshold between that of equal proportions and the Bayes threshold. Three or more classes have recalls from
  0.35 to 0.97, and half of the errors are predicted as the preceding class.
- **share**: the proportion of the second of two classes, to which F1 refers; of three or more, that of the last class,
  the others are equally frequent.
- **balanced accuracy**, **macro F1**: with three or more classes they have no interval with fewer than 15 rows of a
  class, and macro F1 has none if a class is not predicted.
"""
REPLICATIONS: Final = 300
SAMPLE: Final = 10

PROPORTION_ROWS: Final = (20, 40, 75, 150, 400, 1_000)
TRUE_SHARES: Final = (np.arange(2_000) + 0.5) / 2_000
MIN_EVENTS: Final = 5

POINTS: Final = 15
CLASS_POINTS: Final = 8
SHARES: Final = (0.5, 0.1)
SIZES: Final = (60, 180, 600)
#: Classes, share of the last one.
CLASSES: Final = ((3, 0.3), (4, 0.08), (6, 0.1))
CLASS_SIZES: Final = (120, 360, 900)
MEASURES: Final = {
    "f1": "F1 of class 2",
    "balanced_accuracy": "balanced accuracy",
    "kappa": "kappa",
    "mcc": "MCC",
    "macro_f1": "macro F1",
}


def tasks() -> list[Task]:
    """Proportions by number of rows; two classes by share and rows; more by number, share of the last and rows."""
    several = [("classes", *kind, n) for kind in CLASSES for n in CLASS_SIZES]
    two = [("confusion", share, n) for share in SHARES for n in SIZES]
    return [*(("proportion", n) for n in PROPORTION_ROWS), *two, *several]


def cells(share: float, distance: float) -> np.ndarray:
    """The shares of the cells of two classes: rows truth, columns prediction."""
    threshold = distance / 2 - 0.5 * math.log(share / (1 - share)) / distance
    low = ndtr([threshold, threshold - distance])
    return np.array([1 - share, share])[:, None] * np.column_stack((low, 1 - low))


def class_cells(n_classes: int, share: float, recall: float) -> np.ndarray:
    """The shares of the cells of several classes."""
    sizes = np.append(np.full(n_classes - 1, (1 - share) / (n_classes - 1)), share)
    given = np.full((n_classes, n_classes), 0.5 * (1 - recall) / (n_classes - 2))
    given[np.arange(n_classes), np.arange(n_classes) - 1] = 0.5 * (1 - recall)
    np.fill_diagonal(given, recall)
    return sizes[:, None] * given / given.sum(axis=1, keepdims=True)


def grid(task: Task) -> list[np.ndarray]:
    """The tables of the grid of a setting."""
    if task[0] == "confusion":
        return [cells(task[1], distance) for distance in np.linspace(0.3, 3.5, POINTS)]
    return [class_cells(*task[1:3], recall) for recall in np.linspace(0.35, 0.97, CLASS_POINTS)]


def of_proportion(n: int) -> dict[str, float]:
    """The exact coverage of the interval of a proportion of n rows."""
    counts = np.arange(n + 1)
    low, high = np.array([tuple(wilson_interval(k / n, n)) for k in counts]).T
    within = (low[:, None] <= TRUE_SHARES) & (high[:, None] >= TRUE_SHARES)
    coverage = (binom.pmf(counts[:, None], n, TRUE_SHARES) * within).sum(axis=0)
    inner = coverage[n * np.minimum(TRUE_SHARES, 1 - TRUE_SHARES) >= MIN_EVENTS]
    return {**summary("share", coverage.tolist(), 1.0), "inner min": inner.min(), "inner max": inner.max()}


def summary(name: str, coverages: list[float], offered: float) -> dict[str, float]:
    """Mean and extremes of coverages over a grid; nothing where no point of it has any."""
    found = {f"{name} offered": offered}
    if coverages:
        found |= {name: float(np.mean(coverages)), f"{name} min": min(coverages), f"{name} max": max(coverages)}
    return found


def intervals(sample: TableSample, rng: np.random.Generator) -> dict[str, Any]:
    """The interval of every measure of a table."""
    wanted = [*((name, "overall") for name in ("balanced_accuracy", "kappa", "mcc")), ("f1", "macro")]
    found = dict(zip(list(MEASURES)[1:], other_intervals(sample, wanted, 0.95, rng), strict=True))
    return {"f1": class_intervals(sample, "f1", 0.95)[1], **found}


def true_value(name: str, shares: np.ndarray) -> float:
    """A measure of the population."""
    named: dict[str, tuple[str, str | int]] = {"f1": ("f1", 1), "macro_f1": ("f1", "macro")}
    return float(table_statistic(*named.get(name, (name, "overall")))(margins(shares)))


def run(task: Task, replications: int) -> dict[str, float]:
    """Mean, minimum and maximum over the grid of the share of intervals that cover the true value."""
    if task[0] == "proportion":
        return of_proportion(task[1])
    rng, coverages, offered = generator(task), defaultdict[str, list](list), defaultdict[str, list](list)
    for shares in grid(task):
        counts, truth = defaultdict[str, Any](int), {name: true_value(name, shares) for name in MEASURES}
        for _ in range(replications):
            sample = TableSample(rng.multinomial(task[-1], shares.ravel()).reshape(shares.shape))
            for name, interval in intervals(sample, rng).items():
                if not (math.isnan(interval.low) or interval.is_range):
                    counts[f"{name} offered"] += 1
                    counts[name] += interval.low - 1e-12 <= truth[name] <= interval.high + 1e-12
        for name in MEASURES:
            own = counts[f"{name} offered"]
            offered[name].append(own / replications)
            if own >= MIN_OFFERED * replications:
                coverages[name].append(counts[name] / own)
    found: dict[str, float] = {}
    for name in MEASURES:
        found |= summary(name, coverages[name], float(np.mean(offered[name])))
    return found


def table(found: Found) -> list[str]:
    """Proportions, then one line for each setting."""
    lines = header(["rows", "mean", "minimum", "maximum", "inner minimum", "inner maximum"], 0)
    for task, one in found.items():
        if task[0] == "proportion":
            figures = (one[f"share{what}"] for what in ("", " min", " max"))
            lines.append(line(f"{task[1]:,}", *figures, one["inner min"], one["inner max"]))
    lines += ["", "Mean coverage, with minimum and maximum over the grid:", ""]
    lines += header(["classes", "share", "rows", *MEASURES.values()], 0)
    for task, one in found.items():
        if task[0] != "proportion":
            n_classes = 2 if task[0] == "confusion" else task[1]
            lines.append(
                line(str(n_classes), f"{task[-2]:g}", f"{task[-1]:,}", *(shown(one, name) for name in MEASURES))
            )
    return lines


def shown(one: Any, name: str) -> str:
    """Mean, minimum and maximum of a measure."""
    if name not in one:
        return "none"
    offered = "" if one[f"{name} offered"] > 0.99 else f", offered {100 * one[f'{name} offered']:.0f} %"
    return f"{one[name]:.3f} ({one[f'{name} min']:.3f} to {one[f'{name} max']:.3f}{offered})"


def check(found: Found, replications: int) -> list[str]:
    """Settings in which the mean coverage of a measure is out of bounds."""
    return [
        f"{name}, {task}: {one[name]:.4f}"
        for task, one in found.items()
        for name in ("share", *MEASURES)
        if name in one and not COVERAGE[0] <= one[name] <= COVERAGE[1]
    ]
