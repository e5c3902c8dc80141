"""Coverage of the intervals of measures of a confusion matrix, also of rare classes and weak signal."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Final

import numpy as np
from scipy.special import ndtr
from tests.studies import COVERAGE, Found, Task, generator, header, is_within, line

from discriminant.evaluation.confusion import OVERALL, other_intervals, table_statistic
from discriminant.evaluation.intervals import TableSample, margins

TITLE: Final = "Measures of a confusion matrix"
TEXT: Final = """
Two classes with normal scores of equal variance, classified by Bayes's rule; the *rare* class has 5 % or 40 % of the
rows, and the classes are 0.5 (weak signal), 1.5 or 3 standard deviations apart. Shares are of the samples in which the
measure is defined (*defined*: kappa). With 5 % and a weak signal hardly a row is assigned to the rare class: kappa is 0
and MCC undefined but for single rows, and their intervals cover always. Coverage is checked as the mean over the
settings of a number of rows in which at least 2 rows are expected in every cell.
"""
REPLICATIONS: Final = 2_000
SAMPLE: Final = 200

MEASURES: Final = ("balanced_accuracy", "kappa", "mcc")
PRIORS: Final = (0.4, 0.05)
SHIFTS: Final = (0.5, 1.5, 3.0)
SIZES: Final = (40, 100, 300, 1000)
MIN_CELL_ROWS: Final = 2.0


def cells(prior: float, shift: float) -> np.ndarray:
    """The shares of the cells: rows truth, columns prediction, the rare class second."""
    threshold = shift / 2 - math.log(prior / (1 - prior)) / shift
    low = ndtr([threshold, threshold - shift])
    return np.array([1 - prior, prior])[:, None] * np.column_stack((low, 1 - low))


def tasks() -> list[Task]:
    """Share of the rare class, distance of the classes, rows."""
    return [("confusion", prior, shift, n) for prior in PRIORS for shift in SHIFTS for n in SIZES]


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of intervals that cover the true value, by measure."""
    _, prior, shift, n = task
    rng, shares = generator(task), cells(prior, shift)
    truth = [float(table_statistic(metric, "overall")(margins(shares))) for metric in MEASURES]
    wanted = [(metric, "overall") for metric in MEASURES]
    covered, defined = defaultdict[str, Any](int), defaultdict[str, Any](int)
    for _ in range(replications):
        sample = TableSample(rng.multinomial(n, shares.ravel()).reshape(2, 2))
        intervals = other_intervals(sample, wanted, 0.95, rng)
        for metric, value, interval in zip(MEASURES, truth, intervals, strict=True):
            defined[metric] += not math.isnan(float(OVERALL[metric].of(sample.margins)))
            covered[metric] += interval.low <= value <= interval.high
    found = {metric: covered[metric] / defined[metric] for metric in MEASURES if defined[metric]}
    return found | {"defined": defined["kappa"] / replications}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    lines = header(["rare class", "distance", "rows", "balanced accuracy", "kappa", "MCC", "defined"], 0)
    for (_, prior, shift, n), one in found.items():
        shares = (one.get(what, "") for what in (*MEASURES, "defined"))
        lines.append(line(f"{prior:g}", f"{shift:g}", f"{n:,}", *shares))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Mean coverage of the settings of a number of rows with rows expected in every cell."""
    outside = []
    for n in SIZES:
        enough = [one for task, one in found.items() if task[3] == n and n * cells(*task[1:3]).min() >= MIN_CELL_ROWS]
        for metric in MEASURES:
            share = float(np.mean([one[metric] for one in enough]))
            if not is_within(share, COVERAGE, replications, REPLICATIONS):
                outside.append(f"{metric}, n = {n}: {share:.3f}")
    return outside
