"""Coverage of the figures of a comparison and of their differences, and errors of its tests.

Two classes with normal columns of equal variance; a model is a linear discriminant of one column, so that the figures
of every fitted rule on new rows are known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import expit, ndtr
from tests.studies import COVERAGE, TYPE_I_ERROR, Found, Task, generator, header, is_within, line

from discriminant.evaluation.intervals import SamplingDesign
from discriminant.evaluation.probabilities import LOSSES, expected_moments
from discriminant.results import metric_name
from discriminant.validation.held_out import AreaOfRows, HeldOutRows, MeanOfRows, ShareOfRows

TITLE: Final = "Figures and differences of a comparison"
TEXT: Final = """
Ten stratified folds; each model is a linear discriminant of one column, fitted anew in every fold. *Figure* and
*difference* are the shares of samples whose interval holds the mean, over the ten fitted rules, of the figure on new
rows (of the first model, and of the difference), which is what the intervals are of. *Of the method* is how often
they also hold the mean over all training sets of this size: what another set of training rows would change is not in
the intervals, and with 30 rows that can matter (Bates, Hastie and Tibshirani 2023). *Significant* is the share of
samples with p < 0.05, which for equal models is the error of the first kind and else the power; *first better* those
that favour the first model.

A useless model beside the baseline is the hard case of cross-validation: a row that is held out moves the rules fitted
to the others away from itself, so that figures come out a little worse than by chance. Intervals of the difference miss
for that; the model is significantly better than the baseline in no more than 5 % of samples.
"""
REPLICATIONS: Final = 2_000
SAMPLE: Final = 120

PRIOR: Final = 0.4
MEASURES: Final = ("accuracy", "log_loss", "brier", "auc")
SIZES: Final = (30, 100, 300, 1000)
FOLDS: Final = 10
#: Nodes at which losses of new rows are averaged.
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(60)
_SHARES = _SHARES / _SHARES.sum()


@dataclass(frozen=True)
class Rule:
    """Linear discriminants of one column, one for each sample and fold: log-odds ``slope x + intercept``."""

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fitted(cls, x, y, fold):
        """To the rows of all other folds; ``x`` None: the shares of the classes alone."""
        held = fold[:, :, None] == np.arange(FOLDS)
        weights = [np.einsum("rn,rnf->rf", side.astype(float), held) for side in (~y, y)]
        counts = [w.sum(axis=1, keepdims=True) - w for w in weights]
        odds = np.log(np.maximum(counts[1], 0.5) / np.maximum(counts[0], 0.5))
        if x is None:
            return cls(np.zeros_like(odds), odds)
        sums = [np.einsum("rn,rnf->rf", side * x, held) for side in (~y, y)]
        squares = np.einsum("rn,rnf->rf", x * x, held)
        means = [(s.sum(axis=1, keepdims=True) - s) / c for s, c in zip(sums, counts, strict=True)]
        within = (
            squares.sum(axis=1, keepdims=True) - squares - sum(c * m * m for c, m in zip(counts, means, strict=True))
        )
        slope = (means[1] - means[0]) / (within / (counts[0] + counts[1] - 2))
        return cls(slope, odds - slope * (means[0] + means[1]) / 2)

    def log_odds(self, x, fold):
        slope, intercept = (np.take_along_axis(part, fold, axis=1) for part in (self.slope, self.intercept))
        return slope * x + intercept

    def truth(self, shift):
        """The mean over the folds' rules of each measure on new rows."""
        found = dict.fromkeys(("accuracy", "log_loss", "brier", "auc"), 0.0)
        for centre, side, share in ((0.0, 0, 1 - PRIOR), (shift, 1, PRIOR)):
            # A new row's log-odds are normal.
            mean, deviation = self.slope * centre + self.intercept, np.abs(self.slope)
            right = ndtr((2 * side - 1) * mean / np.maximum(deviation, 1e-300))
            found["accuracy"] += share * right
            odds = mean[..., None] + deviation[..., None] * _NODES
            wrong = expit(odds if side == 0 else -odds)
            found["log_loss"] += -np.log(np.maximum(1 - wrong, 1e-16)) @ _SHARES * share
            found["brier"] += np.square(wrong) @ _SHARES * share
        found["auc"] = np.where(self.slope == 0, 0.5, ndtr(np.sign(self.slope) * shift / math.sqrt(2)))
        return {name: values.mean(axis=1) for name, values in found.items()}


def pooled(rows, odds, metric):
    """A measure of the held-out rows of one sample, as a cross-validation makes it."""
    if metric == "accuracy":
        return ShareOfRows(rows, (odds > 0) == rows.truth)
    if metric == "auc":
        return AreaOfRows(rows, odds[:, None], (1,))
    posterior = np.stack((expit(-odds), expit(odds)), axis=1)
    by_class = LOSSES[metric](posterior)
    return MeanOfRows(rows, by_class[np.arange(len(odds)), rows.truth], expected_moments(by_class, posterior))


#: Two models, each by the shift of the column it sees; None is the baseline.
PAIRS: Final = {
    "equal, hard": (0.8, 0.8),
    "equal, middling": (1.5, 1.5),
    "equal, easy": (3.0, 3.0),
    "useless, and the baseline": (0.0, None),
    "nearly equal": (1.5, 1.3),
    "different": (2.2, 1.4),
    "good, and the baseline": (1.0, None),
}


def tasks() -> list[Task]:
    """Measure, models, rows."""
    return [("comparison", metric, models, size) for size in reversed(SIZES) for metric in MEASURES for models in PAIRS]


def run(task: Task, replications: int) -> dict[str, float]:
    """How often intervals cover and tests reject."""
    _, metric, models, size = task
    rng, shifts = generator(task), PAIRS[models]
    # Rows in order of their classes and dealt in turn: folds are stratified, as by default.
    y = np.sort(rng.random((replications, size)) < PRIOR, axis=1)
    fold = np.tile(np.arange(size) % FOLDS, (replications, 1))
    columns = [None if shift is None else rng.normal(size=y.shape) + shift * y for shift in shifts]
    rules = [Rule.fitted(x, y, fold) for x in columns]
    odds = [rule.log_odds(0.0 if x is None else x, fold) for rule, x in zip(rules, columns, strict=True)]
    truths = [rule.truth(shift or 0.0)[metric] for rule, shift in zip(rules, shifts, strict=True)]
    counts: Any = defaultdict(float)
    for r in range(replications):
        rows = HeldOutRows(fold[r], np.arange(size), y[r].astype(int), SamplingDesign(size), 1.0)
        one, other = (pooled(rows, values[r], metric) for values in odds)
        interval, pair = one.interval(0.95), one.minus(other, 0.95)
        gap = truths[0][r] - truths[1][r]
        counts["figure"] += interval.low <= truths[0][r] <= interval.high
        counts["figure of the method"] += interval.low <= truths[0].mean() <= interval.high
        counts["difference"] += pair.low <= gap <= pair.high
        counts["difference of the method"] += pair.low <= (truths[0] - truths[1]).mean() <= pair.high
        counts["significant"] += pair.p_value < 0.05
        counts["first better"] += pair.p_value < 0.05 and (pair.difference > 0) == (metric in ("accuracy", "auc"))
    return {what: total / replications for what, total in counts.items()}


def table(found: Found) -> list[str]:
    """One line for each setting."""
    columns = list(next(iter(found.values())))
    lines = header(["measure", "models", "n", *columns], 2)
    for metric in MEASURES:
        for size in SIZES:
            for models in PAIRS:
                shares = found["comparison", metric, models, size]
                lines.append(line(metric_name(metric), models, f"{size:,}", *(shares[what] for what in columns)))
    return lines


def stable(found: Found, metric: str, size: int, what: str) -> float:
    """The mean over the pairs whose rules do not depend on single rows; see `TEXT`."""
    pairs = [models for models in PAIRS if not models.startswith("useless")]
    return float(np.mean([found["comparison", metric, models, size][what] for models in pairs]))


def check(found: Found, replications: int) -> list[str]:
    """Coverage averaged over pairs, and errors of the first kind averaged over equal ones, that are out of bounds."""
    outside = []
    for metric in MEASURES:
        for size in SIZES:
            shares = {what: stable(found, metric, size, what) for what in ("figure", "difference")}
            for what, share in shares.items():
                # Rules fitted to 27 rows depend on single rows a little: the log-loss of 30 rows has 0.925.
                bounds = (0.915, COVERAGE[1]) if (what, size) == ("figure", 30) else COVERAGE
                if not is_within(share, bounds, replications, REPLICATIONS):
                    outside.append(f"{what} of {metric}, n = {size}: {share:.3f}")
            equal = [
                found["comparison", metric, models, size]["significant"] for models in PAIRS if "equal, " in models
            ]
            useless = found["comparison", metric, "useless, and the baseline", size]["first better"]
            # Tests that reject less often than their level are not counted as wrong.
            for what, share in {"equal models": float(np.mean(equal)), "useless model": useless}.items():
                if not is_within(share, (0.0, TYPE_I_ERROR[1]), replications, REPLICATIONS):
                    outside.append(f"{what} differ in {metric}, n = {size}: {share:.3f}")
    return outside
