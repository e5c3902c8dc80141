"""Coverage of the intervals of an evaluation: AUC, losses, and the ranges of average precision and calibration error.

Scores have several distributions, and their true log-odds are known; ``slope`` multiplies the log-odds of a model (1:
calibrated, above 1: overconfident).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr, softmax
from tests.studies import COVERAGE, MIN_OFFERED, Found, Task, generator, header, is_within, line

from discriminant.evaluation import CalibrationBins, ConfusionMatrix, precision_recall, roc
from discriminant.evaluation.probabilities import LOSSES, row_losses
from discriminant.evaluation.sampling import SamplingDesign, mean_interval
from discriminant.results import metric_name

TITLE: Final = "AUC and losses of an evaluation"
TEXT: Final = """
The table shows the coverage of 95 % intervals, among the samples that have a confidence interval; the share of these
samples is in brackets if it is below 99 %. *Range* means that fewer than half of the samples have a confidence
interval, because the variance of the measure is determined by fewer than 15 effective rows. The columns of the table:

- **scores**: of two classes: normal, normal with a standard deviation of 2 in class 1 (unequal), exponential, from
  Student's t distribution with 3 degrees of freedom, or discrete with 7 values. The last rows have three to six classes
  with normal or t-distributed scores; their AUC and average precision are means over the classes.
- **distance**: the distance of the class means (exponential: their ratio).
- **share**: the proportion of class 1.
- **model**: its log-odds are correct (calibrated), 1.5 times (overconfident) or 0.6 times (underconfident) as large.
- **average precision**, **calibration error** (of class 1, in ten bins): coverage of their ranges. That of the average
  precision depends on the distribution of the largest scores. The calibration error of a calibrated model is 0, an
  endpoint of its range, so these ranges cover more often.

The constants of these intervals (15 effective rows, 2 rows of Newcombe's variance, 2 and 10 expected rows) were chosen
in other settings than these.
"""
REPLICATIONS: Final = 4_000
SAMPLE: Final = 200

#: Distribution, distance, share of class 1, slope, rows.
SETTINGS: Final = (
    ("normal", 0.6, 0.5, 1.0, 70),
    ("normal", 0.6, 0.15, 1.5, 250),
    ("normal", 1.2, 0.3, 1.0, 110),
    ("normal", 1.8, 0.45, 1.5, 110),
    ("normal", 1.8, 0.06, 1.0, 800),
    ("normal", 2.6, 0.5, 1.0, 250),
    ("normal", 2.6, 0.5, 1.5, 700),
    ("normal", 3.8, 0.5, 1.0, 2_000),
    ("unequal", 0.8, 0.2, 1.5, 350),
    ("unequal", 2.0, 0.3, 0.6, 600),
    ("unequal", 5.0, 0.5, 1.5, 1_200),
    ("exponential", 2.5, 0.5, 1.0, 90),
    ("exponential", 2.5, 0.1, 1.5, 500),
    ("exponential", 6.0, 0.3, 1.5, 800),
    ("exponential", 25.0, 0.4, 1.0, 600),
    ("t", 0.8, 0.5, 1.0, 80),
    ("t", 0.8, 0.15, 1.5, 400),
    ("t", 2.0, 0.3, 1.0, 180),
    ("t", 2.0, 0.3, 1.5, 700),
    ("t", 5.0, 0.5, 1.0, 500),
    ("t", 5.0, 0.2, 1.5, 1_500),
    ("discrete", 0.5, 0.4, 1.0, 100),
    ("discrete", 1.4, 0.2, 1.5, 700),
    ("discrete", 2.8, 0.4, 1.0, 300),
    ("discrete", 2.8, 0.4, 0.6, 900),
)
#: Number of classes, distribution, distance of each class from the others on its own score, slope, rows.
CLASS_SETTINGS: Final = (
    (3, "normal", 1.5, 1.0, 150),
    (4, "normal", 2.5, 1.5, 300),
    (6, "normal", 1.0, 1.0, 300),
    (6, "t", 3.0, 1.0, 900),
)
MEASURES: Final = ("auc", "log_loss", "brier")
RANGES: Final = ("average_precision", "ece")
#: Points at which the population of each class is represented, and rows by which that of several classes is.
_POINTS, _POPULATION = 60_000, 400_000
_LEVELS: Final = 7

Quantiles = Callable[[np.ndarray, bool], np.ndarray]


def cutpoints(distance: float) -> np.ndarray:
    """Where the scores of the discrete distribution change."""
    return np.linspace(-1.5, distance + 1.5, _LEVELS - 1)


def law(kind: str, distance: float) -> tuple[Quantiles, Callable[[np.ndarray], np.ndarray]]:
    """Quantiles of the scores of a class, and the log of the ratio of the densities of class 1 and class 0."""
    if kind == "normal":
        return lambda u, own: stats.norm.ppf(u) + distance * own, lambda x: distance * (x - distance / 2)
    if kind == "unequal":
        return (
            lambda u, own: stats.norm.ppf(u) * (1 + own) + distance * own,
            lambda x: x * x / 2 - ((x - distance) / 2) ** 2 / 2 - math.log(2),
        )
    if kind == "exponential":
        return (
            lambda u, own: -np.log1p(-u) * (distance if own else 1.0),
            lambda x: x - x / distance - math.log(distance),
        )
    if kind == "t":
        return (
            lambda u, own: stats.t.ppf(u, 3) + distance * own,
            lambda x: 2 * (np.log1p(x * x / 3) - np.log1p((x - distance) ** 2 / 3)),
        )
    cuts = cutpoints(distance)
    shares = [np.diff(ndtr(np.concatenate(([-np.inf], cuts - shift, [np.inf])))) for shift in (0.0, distance)]
    ratio = np.log(shares[1] / shares[0])
    return lambda u, own: np.searchsorted(cuts, stats.norm.ppf(u) + distance * own), lambda x: ratio[x]


def log_odds(kind: str, distance: float, share: float, y: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The true log-odds of class 1 of rows that are at these quantiles of their class."""
    quantiles, ratio = law(kind, distance)
    odds = np.empty(len(y))
    for own in (False, True):
        odds[y == own] = ratio(quantiles(u[y == own], own))
    return odds + math.log(share / (1 - share))


@cache
def true_values(kind: str, distance: float, share: float, slope: float) -> dict[str, float]:
    """The measures in the population; the calibration error is that of each sample's bins."""
    u = np.tile((np.arange(_POINTS) + 0.5) / _POINTS, 2)
    y = np.repeat([False, True], _POINTS)
    odds, weights = log_odds(kind, distance, share, y, u), np.where(y, share, 1 - share)
    p = expit(slope * odds)
    posterior = np.stack((1 - p, p), axis=1)
    curve = roc(y, odds, sample_weight=weights)
    found = {"auc": curve.auc, "average_precision": curve.average_precision}
    for name, losses in LOSSES.items():
        found[name] = float(np.average(losses(posterior, y.astype(int)), weights=weights))
    return found


def sample_intervals(y: np.ndarray, p: np.ndarray, true_p: np.ndarray, level: float = 0.95) -> tuple[dict, float]:
    """The interval of every measure of one sample as an evaluation makes it, and the true calibration error."""
    posterior, codes = np.stack((1 - p, p), axis=1), y.astype(int)
    table = np.bincount(2 * codes + (p > 0.5), minlength=4).reshape(2, 2)
    confusion, curve = ConfusionMatrix.from_counts(table, [0, 1]), roc(codes, p)
    found = {"accuracy": confusion.interval("accuracy", level=level), "f1": confusion.interval("f1", 1, level)}
    found |= {"auc": curve.auc_interval(level)}
    found |= {"average_precision": curve.average_precision_interval(level)}
    design = SamplingDesign(len(y))
    for name, losses in row_losses(posterior, codes, design).items():
        found[name] = mean_interval(losses.values, design, level, losses.expected)[1]
    bins = CalibrationBins.of(y, p).rebinned(10)
    found["ece"] = bins.calibration_error(None, level=level)[1]
    place = np.clip(np.searchsorted(bins.low, np.floor(p * 1000) / 1000 + 1e-9, side="right") - 1, 0, None)
    gaps = np.bincount(place, true_p - p, minlength=len(bins.low))
    return found, float(np.abs(gaps).sum() / len(y))


def class_rows(rng: np.random.Generator, n_classes: int, kind: str, distance: float, slope: float, n: int) -> Any:
    """Rows of several classes, alike in size but for the last one, which is half as large: codes and posterior."""
    shares = np.append(np.ones(n_classes - 1), 0.5)
    y = rng.choice(n_classes, size=n, p=shares / shares.sum())
    noise = rng.normal(size=(n, n_classes)) if kind == "normal" else rng.standard_t(3, size=(n, n_classes))
    ratio = law(kind, distance)[1]
    odds = ratio(noise + distance * np.eye(n_classes)[y]) + np.log(shares)
    return y, softmax(slope * odds, axis=1)


def class_measures(y: np.ndarray, posterior: np.ndarray) -> dict[str, Any]:
    """Value and interval of every measure of rows of several classes."""
    curves, precisions, design = roc(y, posterior), precision_recall(y, posterior), SamplingDesign(len(y))
    found = {"auc": (curves.auc, curves.auc_interval())}
    found["average_precision"] = precisions.average_precision, precisions.average_precision_interval()
    for name, losses in row_losses(posterior, y, design).items():
        found[name] = mean_interval(losses.values, design, 0.95, losses.expected)
    return found


@cache
def true_class_values(*setting: Any) -> dict[str, float]:
    """The measures in the population, from a large sample."""
    y, posterior = class_rows(np.random.default_rng(0), *setting, _POPULATION)
    return {name: value for name, (value, _) in class_measures(y, posterior).items()}


def tasks() -> list[Task]:
    """The settings of two classes, then those of more."""
    two = [("evaluation", *setting) for setting in SETTINGS]
    return [*two, *(("classes", *setting) for setting in CLASS_SETTINGS)]


def one_sample(task: Task, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, float]] | None:
    """The intervals of one sample and the true values; None with fewer than two rows of a class."""
    kind, *setting = task
    if kind == "classes":
        y, posterior = class_rows(rng, *setting)
        if np.bincount(y, minlength=setting[0]).min() < 2:
            return None
        return {name: interval for name, (_, interval) in class_measures(y, posterior).items()}, true_class_values(
            *setting[:-1]
        )
    law_name, distance, share, slope, n = setting
    y = rng.random(n) < share
    if not 2 <= y.sum() <= n - 2:
        return None
    odds = log_odds(law_name, distance, share, y, rng.random(n))
    found, error = sample_intervals(y, expit(slope * odds), expit(odds))
    return found, true_values(law_name, distance, share, slope) | {"ece": error}


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of intervals that cover the true value, by measure, and of samples that have one."""
    rng, counts = generator(task), defaultdict[str, Any](int)
    for _ in range(replications):
        sample = one_sample(task, rng)
        if sample is None:
            continue
        counts["samples"] += 1
        intervals, truth = sample
        for name in (*MEASURES, *RANGES):
            interval = intervals.get(name)
            if interval is None or math.isnan(interval.low) or (interval.is_range and name in MEASURES):
                continue
            counts[f"{name} offered"] += 1
            counts[name] += interval.low - 1e-12 <= truth[name] <= interval.high + 1e-12
    found = {}
    for name in (*MEASURES, *RANGES):
        offered = counts[f"{name} offered"]
        found |= {name: counts[name] / max(offered, 1), f"{name} offered": offered / counts["samples"]}
    return found


def table(found: Found) -> list[str]:
    """One line for each setting."""
    titles = [*(metric_name(name) for name in (*MEASURES, "average_precision")), "calibration error"]
    titles[3:] = [f"{title} (range)" for title in titles[3:]]
    lines = header(["scores", "classes", "distance", "share", "model", "n", *titles], 6)
    models = {1.0: "calibrated", 1.5: "overconfident", 0.6: "underconfident"}
    for task, one in found.items():
        if task[0] == "classes":
            n_classes, law_name, distance, slope, n = task[1:]
            share = ""
        else:
            n_classes, (law_name, distance, share, slope, n) = 2, task[1:]
            share = f"{100 * share:g} %"
        cells = [shown(one, name) for name in (*MEASURES, *RANGES)]
        lines.append(line(law_name, str(n_classes), f"{distance:g}", share, models[slope], f"{n:,}", *cells))
    return lines


def shown(one: Any, name: str) -> str:
    """A coverage, with the share of samples that have the interval."""
    offered = one[f"{name} offered"]
    if offered < MIN_OFFERED:
        return "range" if name in MEASURES else "-"
    return f"{one[name]:.3f}" + (f" ({100 * offered:.0f} %)" if offered < 0.99 else "")


def check(found: Found, replications: int) -> list[str]:
    """Settings in which the coverage of a confidence interval is out of bounds."""
    return [
        f"{name}, {task}: {one[name]:.4f}"
        for task, one in found.items()
        for name in MEASURES
        if one[f"{name} offered"] >= MIN_OFFERED and not is_within(one[name], COVERAGE, replications)
    ]
