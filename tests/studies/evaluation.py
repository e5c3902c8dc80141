"""Coverage of the intervals of an evaluation.

Rows are of two classes with normal scores of equal variance, so that every true value is known: ``shift`` is the
distance of the classes, ``sureness`` multiplies the log-odds that a model gives (1 is right, 2 twice as sure as it
should be).
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, Final

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr
from tests.studies import COVERAGE, Found, Task, generator, header, is_within, line

from discriminant.evaluation import CalibrationBins, ConfusionMatrix, roc
from discriminant.evaluation.intervals import SamplingDesign, mean_interval
from discriminant.evaluation.probabilities import LOSSES, row_losses
from discriminant.results import metric_name

TITLE: Final = "Figures of an evaluation"
TEXT: Final = """
The share of samples whose 95 % interval covers the true value. Two classes, 40 % and 60 % of the rows, have normal
scores of equal variance; hard, middling, easy and very easy ones can be classified with an accuracy of 0.63, 0.78,
0.93 and 0.99. An overconfident model gives twice the log-odds that are right. The value estimated is that of all
rows the sample is drawn from; for the calibration error (ECE) that of the sample's own ten bins: the mean distance of
the probabilities of a bin from the true share there, which is 0 for a model that is right.
"""
REPLICATIONS: Final = 2_000
SAMPLE: Final = 400

SIZES: Final = (30, 50, 100, 300, 1000)
SHIFTS: Final = {"hard": 0.5, "middling": 1.5, "easy": 3.0, "very easy": 4.5}
SURENESS: Final = {"calibrated": 1.0, "overconfident": 2.0}
PRIOR: Final = 0.4
MEASURES: Final = ("accuracy", "f1", "auc", "average_precision", "log_loss", "brier", "ece")


def log_odds(x, shift, prior=PRIOR):
    """The log-odds of class 1 at x by Bayes's rule."""
    return shift * (x - shift / 2) + math.log(prior / (1 - prior))


def true_values(shift, sureness, prior=PRIOR):
    """The measures in the population; the calibration error is that of each sample's bins."""
    x = np.linspace(-12, 12 + shift, 200_001)
    own, other = prior * stats.norm.pdf(x - shift), (1 - prior) * stats.norm.pdf(x)
    p = expit(sureness * log_odds(x, shift, prior))
    posterior, weights = np.stack((1 - p, p), axis=1), np.stack((other, own), axis=1)
    threshold = shift / 2 - math.log(prior / (1 - prior)) / shift
    tp, fp = prior * stats.norm.sf(threshold - shift), (1 - prior) * stats.norm.sf(threshold)
    found, alarms = prior * stats.norm.sf(x - shift), (1 - prior) * stats.norm.sf(x)
    precision = np.divide(found, found + alarms, out=np.ones_like(found), where=found + alarms > 0)
    predicted = tp + fp
    return {
        "accuracy": tp + (1 - prior) - fp,
        "f1": 2 * tp / (predicted + prior),
        "auc": float(ndtr(shift / math.sqrt(2))),
        "average_precision": np.trapezoid(own * precision, x) / prior,
        "balanced_accuracy": (tp / prior + 1 - fp / (1 - prior)) / 2,
        "kappa": 1 - (prior - tp + fp) / (prior * (1 - predicted) + (1 - prior) * predicted),
        **{name: np.trapezoid((by_class(posterior) * weights).sum(axis=1), x) for name, by_class in LOSSES.items()},
    }


def sample_intervals(y, p, true_p, level=0.95):
    """The interval of every measure of one sample as an evaluation makes it, and the true calibration error."""
    posterior, codes = np.stack((1 - p, p), axis=1), y.astype(int)
    table = np.bincount(2 * codes + (p > 0.5), minlength=4).reshape(2, 2)
    confusion, curve = ConfusionMatrix.from_counts(table, [0, 1]), roc(codes, p)
    found = {"accuracy": confusion.interval("accuracy", level=level), "f1": confusion.interval("f1", 1, level)}
    found |= {"auc": curve.auc_interval(level)}
    found |= {"average_precision": curve.precision_recall.average_precision_interval(level)}
    design = SamplingDesign(len(y))
    for name, losses in row_losses(posterior, codes, design).items():
        found[name] = mean_interval(losses.values, design, level, losses.expected)[1]
    bins = CalibrationBins.of(y, p).rebinned(10)
    found["ece"] = bins.calibration_error(None, level=level)[1]
    place = np.clip(np.searchsorted(bins.low, np.floor(p * 1000) / 1000 + 1e-9, side="right") - 1, 0, None)
    gaps = np.bincount(place, true_p - p, minlength=len(bins.low))
    return found, float(np.abs(gaps).sum() / len(y))


def tasks() -> list[Task]:
    """Distance of the classes, sureness, rows."""
    return [
        ("evaluation", shift, sureness, size)
        for size in reversed(SIZES)
        for shift in SHIFTS.values()
        for sureness in SURENESS.values()
    ]


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of samples whose interval covers the true value, by measure."""
    _, shift, sureness, size = task
    rng, truth = generator(task), true_values(shift, sureness)
    hits: Any = defaultdict(int)
    defined: Any = defaultdict(int)
    for _ in range(replications):
        y = rng.random(size) < PRIOR
        odds = log_odds(rng.normal(size=size) + shift * y, shift)
        found, truth["ece"] = sample_intervals(y, expit(sureness * odds), expit(odds))
        for name, interval in found.items():
            defined[name] += not math.isnan(interval.low)
            hits[name] += interval.low - 1e-12 <= truth[name] <= interval.high + 1e-12
    return {name: hits[name] / max(defined[name], 1) for name in MEASURES}


def averages(found: Found) -> dict[tuple[str, int], float]:
    """The mean over all settings of a number of rows, by measure and rows."""
    return {
        (measure, size): float(np.mean([one[measure] for task, one in found.items() if task[-1] == size]))
        for measure in MEASURES
        for size in SIZES
    }


def table(found: Found) -> list[str]:
    """One line for each measure and setting, one for the mean of a measure."""
    lines, means = header(["measure", "classes", "model", *(f"n = {n:,}" for n in SIZES)], 3), averages(found)
    for measure in MEASURES:
        for classes, shift in SHIFTS.items():
            for model, sureness in SURENESS.items():
                shares = [found["evaluation", shift, sureness, size][measure] for size in SIZES]
                lines.append(line(metric_name(measure), classes, model, *shares))
        lines.append(line(f"**{metric_name(measure)}**", "all", "all", *(means[measure, size] for size in SIZES)))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Measures whose coverage, averaged over the settings of a number of rows, is out of bounds."""
    return [
        f"{measure}, n = {size}: {share:.3f}"
        for (measure, size), share in averages(found).items()
        if not is_within(share, COVERAGE, replications, REPLICATIONS)
    ]
