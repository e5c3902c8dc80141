"""Coverage of the intervals of measures of a confusion matrix, also of rare classes and weak signal."""

from __future__ import annotations

import math
from typing import Final

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
and MCC undefined but for single rows, and their intervals cover always.

In the lower part there are three or five classes, alike in size but for the *rare* one, of whose rows a share
(*recall*) is classified correctly; seven tenths of the errors go to the next class and the others to the rest. Macro
averages (balanced accuracy, macro F1) of three classes or more have no interval with fewer than 15 rows of a class,
macro F1 none where no row is assigned to a class; shares are of the samples that have one, and missing where those are
fewer than half.

Each setting is checked: coverage is at least 93 %, and at most 97 % where at least 2 rows are expected in every cell.
"""
REPLICATIONS: Final = 600
SAMPLE: Final = 30

MEASURES: Final = ("balanced_accuracy", "kappa", "mcc")
WANTED: Final = (*((metric, "overall") for metric in MEASURES), ("f1", "macro"))
N_CLASSES: Final = (3, 5)
RECALLS: Final = (0.6, 0.9)
CLASS_SIZES: Final = (60, 200, 600)
PRIORS: Final = (0.4, 0.05)
SHIFTS: Final = (0.5, 1.5, 3.0)
SIZES: Final = (40, 100, 300, 1000)
MIN_CELL_ROWS: Final = 2.0
#: Coverage is shown where so many samples have an interval.
MIN_DEFINED: Final = 0.5


def cells(prior: float, shift: float) -> np.ndarray:
    """The shares of the cells: rows truth, columns prediction, the rare class second."""
    threshold = shift / 2 - math.log(prior / (1 - prior)) / shift
    low = ndtr([threshold, threshold - shift])
    return np.array([1 - prior, prior])[:, None] * np.column_stack((low, 1 - low))


def class_cells(n_classes: int, rare: float, recall: float) -> np.ndarray:
    """The shares of the cells of several classes, the rare one last."""
    sizes = np.append(np.full(n_classes - 1, (1 - rare) / (n_classes - 1)), rare)
    given = np.full((n_classes, n_classes), 0.3 * (1 - recall) / (n_classes - 2))
    given += 0.7 * (1 - recall) * np.roll(np.eye(n_classes), 1, axis=1)
    np.fill_diagonal(given, recall)
    return sizes[:, None] * given / given.sum(axis=1, keepdims=True)


def shares_of(task: Task) -> np.ndarray:
    """The shares of the cells of a setting."""
    return cells(*task[1:3]) if task[0] == "confusion" else class_cells(*task[1:4])


def tasks() -> list[Task]:
    """Two classes: share of the rare class, distance, rows. More: their number, rare share, recall, rows."""
    several = [
        ("classes", n_classes, rare, recall, n)
        for n_classes in N_CLASSES
        for rare in (round(1 / n_classes, 3), 0.05)
        for recall in RECALLS
        for n in CLASS_SIZES
    ]
    return [("confusion", prior, shift, n) for prior in PRIORS for shift in SHIFTS for n in SIZES] + several


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of intervals that cover the true value, by measure, and of samples in which kappa is defined."""
    rng, shares, n = generator(task), shares_of(task), task[-1]
    truth = [float(table_statistic(*one)(margins(shares))) for one in WANTED]
    covered, has_one, defined = np.zeros(len(WANTED)), np.zeros(len(WANTED)), 0
    for _ in range(replications):
        sample = TableSample(rng.multinomial(n, shares.ravel()).reshape(shares.shape))
        ends = np.array([tuple(one) for one in other_intervals(sample, list(WANTED), 0.95, rng)])
        has_one += ~np.isnan(ends[:, 0])
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        defined += not math.isnan(float(OVERALL["kappa"].of(sample.margins)))
    names = (*MEASURES, "f1")
    enough = has_one >= MIN_DEFINED * replications
    found = {name: covered[i] / has_one[i] for i, name in enumerate(names) if enough[i]}
    return found | {"defined": defined / replications}


def table(found: Found) -> list[str]:
    """One line for each setting, first those of two classes."""
    titles = ["balanced accuracy", "kappa", "MCC", "macro F1", "defined"]
    lines = header(["classes", "rare class", "distance or recall", "rows", *titles], 0)
    for task, one in found.items():
        shares = (one.get(what, "") for what in (*MEASURES, "f1", "defined"))
        n_classes, rare, signal, n = task[1:] if task[0] == "classes" else (2, *task[1:])
        signal_name = f"recall {signal:g}" if task[0] == "classes" else f"{signal:g}"
        lines.append(line(str(n_classes), f"{rare:g}", signal_name, f"{n:,}", *shares))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Settings in which the coverage of a measure is out of bounds."""
    outside = []
    for task, one in found.items():
        has_rows = task[-1] * shares_of(task).min() >= MIN_CELL_ROWS
        bounds = (COVERAGE[0], COVERAGE[1] if has_rows else 1.0)
        outside += [
            f"{name}, {task}: {share:.3f}"
            for name, share in one.items()
            if name != "defined" and not is_within(share, bounds, replications, REPLICATIONS)
        ]
    return outside
