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
The share of samples whose 95 % interval covers the true value, among the samples that have one. Two classes have
normal scores of equal variance; class 1, of which F1, AUC and average precision are, has 40 % or 5 % of the rows, and
the classes are 0.2 (weak signal), 0.5, 1.5, 3 or 4.5 standard deviations apart (AUC 0.56, 0.64, 0.86, 0.983, 0.9993).
An overconfident model gives twice the log-odds that are right. The value estimated is that of all rows the sample is
drawn from; for the calibration error (ECE) that of the sample's own ten bins: the mean distance of the probabilities of
a bin from the true share there, which is 0 for a model that is right. Samples with fewer than two rows of a class are
left out.

Each setting is checked: coverage is at least 93 %, and at most 97 % where it can be. It can exceed 97 % where the
sample has little to go by: fewer than 5 misclassified rows expected, fewer than 5 rows classified as class 1 (F1),
fewer than 50 of class 1 or an AUC above 0.98 (the measures that follow), or a calibration error of 0, the end of its
range. Coverage of the accuracy is that of Wilson's interval, which varies from 0.90 to 0.98 with fewer than two
misclassified rows expected. Average precision has no interval with fewer than 10 rows of class 1; where fewer than half
of the samples have an interval, the table has none.
"""
REPLICATIONS: Final = 1_000
SAMPLE: Final = 40

SIZES: Final = {0.4: (30, 50, 100, 300, 1000), 0.05: (100, 300, 1000)}
SHIFTS: Final = (0.2, 0.5, 1.5, 3.0, 4.5)
SURENESS: Final = {1.0: "calibrated", 2.0: "overconfident"}
PRIOR: Final = 0.4
MEASURES: Final = ("accuracy", "f1", "auc", "average_precision", "log_loss", "brier", "ece")
#: With less to go by an interval may cover more often than 97 %.
MIN_ROWS: Final = 5.0
MIN_CLASS_ROWS: Final = 50.0
MAX_AUC: Final = 0.98
#: Coverage is shown and checked where so many samples have an interval.
MIN_DEFINED: Final = 0.5


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
    """Share of class 1, distance of the classes, sureness, rows."""
    return [
        ("evaluation", prior, shift, sureness, size)
        for prior, sizes in SIZES.items()
        for size in reversed(sizes)
        for shift in SHIFTS
        for sureness in SURENESS
    ]


def run(task: Task, replications: int) -> dict[str, float]:
    """The share of intervals that cover the true value, by measure, where enough samples have one."""
    _, prior, shift, sureness, size = task
    rng, truth = generator(task), true_values(shift, sureness, prior)
    hits, defined = defaultdict[str, Any](int), defaultdict[str, Any](int)
    samples = 0
    for _ in range(replications):
        y = rng.random(size) < prior
        odds = log_odds(rng.normal(size=size) + shift * y, shift, prior)
        if not 2 <= y.sum() <= size - 2:
            continue
        samples += 1
        found, truth["ece"] = sample_intervals(y, expit(sureness * odds), expit(odds))
        for name, interval in found.items():
            defined[name] += not math.isnan(interval.low)
            hits[name] += interval.low - 1e-12 <= truth[name] <= interval.high + 1e-12
    return {name: hits[name] / defined[name] for name in MEASURES if defined[name] > MIN_DEFINED * samples}


def may_exceed(measure: str, task: Task) -> bool:
    """Whether a setting has so little to go by that coverage may exceed its upper bound."""
    _, prior, shift, sureness, size = task
    if measure == "ece" and sureness == 1:
        return True
    threshold = shift / 2 - math.log(prior / (1 - prior)) / shift
    errors = size * (prior * float(ndtr(threshold - shift)) + (1 - prior) * float(ndtr(-threshold)))
    named = size * (prior * float(ndtr(shift - threshold)) + (1 - prior) * float(ndtr(-threshold)))
    if measure in ("accuracy", "f1"):
        return min(errors, named if measure == "f1" else errors) < MIN_ROWS
    return errors < MIN_ROWS or prior * size < MIN_CLASS_ROWS or ndtr(shift / math.sqrt(2)) > MAX_AUC


def table(found: Found) -> list[str]:
    """One line for each measure and setting."""
    sizes = SIZES[PRIOR]
    lines = header(["measure", "class 1", "distance", "model", *(f"n = {n:,}" for n in sizes)], 4)
    for measure in MEASURES:
        for prior in SIZES:
            for shift in SHIFTS:
                for sureness, model in SURENESS.items():
                    settings = [found.get(("evaluation", prior, shift, sureness, n), {}) for n in sizes]
                    shares = [one.get(measure, "") for one in settings]
                    lines.append(line(metric_name(measure), f"{100 * prior:g} %", f"{shift:g}", model, *shares))
    return lines


def check(found: Found, replications: int) -> list[str]:
    """Settings in which the coverage of a measure is out of bounds."""
    outside = []
    for task, one in found.items():
        for measure, share in one.items():
            bounds = (COVERAGE[0], 1.0 if may_exceed(measure, task) else COVERAGE[1])
            if not is_within(share, bounds, replications, REPLICATIONS):
                outside.append(f"{measure}, {task[1:]}: {share:.3f}")
    return outside
