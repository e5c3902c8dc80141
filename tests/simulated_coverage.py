"""How often intervals hold the true value, and tests find a difference, in simulated samples.

``python -m tests.simulated_coverage`` writes the tables of docs/coverage.md; the slow tests hold their averages.

Rows are of two classes with normal scores of equal variance, so that every true value is known: ``shift`` is the
distance of the classes, ``sureness`` multiplies the log-odds that a model gives (1 is right, 2 twice as sure as it
should be).
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr

from discriminant.evaluation import CalibrationBins, ConfusionMatrix, roc
from discriminant.evaluation.intervals import SamplingDesign, mean_interval
from discriminant.evaluation.probabilities import LOSSES, expected_moments, row_losses
from discriminant.results import metric_name
from discriminant.validation.held_out import AreaOfRows, HeldOutRows, MeanOfRows, ShareOfRows

SIZES = (30, 50, 100, 300, 1000)
SHIFTS = {"hard": 0.5, "middling": 1.5, "easy": 3.0, "very easy": 4.5}
SURENESS = (1.0, 2.0)
PRIOR = 0.4
MEASURES = ("accuracy", "f1", "auc", "average_precision", "log_loss", "brier", "ece")
COMPARED = ("accuracy", "log_loss", "brier", "auc")
COMPARED_SIZES = (30, 100, 300, 1000)
FOLDS = 10
#: Nodes at which losses of new rows are averaged.
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(60)
_SHARES = _SHARES / _SHARES.sum()


def log_odds(x, shift, prior=PRIOR):
    """The log-odds of class 1 at x by Bayes's rule."""
    return shift * (x - shift / 2) + math.log(prior / (1 - prior))


def true_values(shift, sureness):
    """The measures in the population; the calibration error is that of each sample's bins."""
    x = np.linspace(-12, 12 + shift, 200_001)
    own, other = PRIOR * stats.norm.pdf(x - shift), (1 - PRIOR) * stats.norm.pdf(x)
    p = expit(sureness * log_odds(x, shift))
    posterior, weights = np.stack((1 - p, p), axis=1), np.stack((other, own), axis=1)
    threshold = shift / 2 - math.log(PRIOR / (1 - PRIOR)) / shift
    tp, fp = PRIOR * stats.norm.sf(threshold - shift), (1 - PRIOR) * stats.norm.sf(threshold)
    found, alarms = PRIOR * stats.norm.sf(x - shift), (1 - PRIOR) * stats.norm.sf(x)
    precision = np.divide(found, found + alarms, out=np.ones_like(found), where=found + alarms > 0)
    return {
        "accuracy": tp + (1 - PRIOR) - fp,
        "f1": 2 * tp / (tp + fp + PRIOR),
        "auc": float(ndtr(shift / math.sqrt(2))),
        "average_precision": np.trapezoid(own * precision, x) / PRIOR,
        "balanced_accuracy": (tp / PRIOR + 1 - fp / (1 - PRIOR)) / 2,
        "kappa": 1 - (PRIOR - tp + fp) / (PRIOR * (1 - tp - fp) + (1 - PRIOR) * (tp + fp)),
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


def evaluation_coverage(size, replications, seed=0):
    """The share of samples whose interval holds the true value: {measure: {(shift, sureness): share}}."""
    covered = {name: {} for name in MEASURES}
    for shift in SHIFTS.values():
        for sureness in SURENESS:
            rng, truth = (
                np.random.default_rng([seed, size, int(10 * shift), int(sureness)]),
                true_values(shift, sureness),
            )
            hits, defined = defaultdict(int), defaultdict(int)
            for _ in range(replications):
                y = rng.random(size) < PRIOR
                odds = log_odds(rng.normal(size=size) + shift * y, shift)
                found, truth["ece"] = sample_intervals(y, expit(sureness * odds), expit(odds))
                for name, interval in found.items():
                    defined[name] += not math.isnan(interval.low)
                    hits[name] += interval.low - 1e-12 <= truth[name] <= interval.high + 1e-12
            for name in MEASURES:
                covered[name][shift, sureness] = hits[name] / max(defined[name], 1)
    return covered


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


#: Two models, each by the shift of the column it sees; None is the baseline. The last of a group have a difference.
PAIRS = {
    "equal, hard": (0.8, 0.8),
    "equal, middling": (1.5, 1.5),
    "equal, easy": (3.0, 3.0),
    "useless, and the baseline": (0.0, None),
    "nearly equal": (1.5, 1.3),
    "different": (2.2, 1.4),
    "good, and the baseline": (1.0, None),
}


def comparison_coverage(size, metric, replications, seed=0):
    """By pair of `PAIRS`: how often intervals hold and tests reject, as a dict of shares."""
    found = {}
    for name, shifts in PAIRS.items():
        rng = np.random.default_rng([seed, size, *map(ord, name[:6])])
        # Rows in order of their classes and dealt in turn: folds are stratified, as by default.
        y = np.sort(rng.random((replications, size)) < PRIOR, axis=1)
        fold = np.tile(np.arange(size) % FOLDS, (replications, 1))
        columns = [None if shift is None else rng.normal(size=y.shape) + shift * y for shift in shifts]
        rules = [Rule.fitted(x, y, fold) for x in columns]
        odds = [rule.log_odds(0.0 if x is None else x, fold) for rule, x in zip(rules, columns, strict=True)]
        truths = [rule.truth(shift or 0.0)[metric] for rule, shift in zip(rules, shifts, strict=True)]
        counts = defaultdict(float)
        for r in range(replications):
            rows = HeldOutRows(fold[r], np.arange(size), y[r].astype(int), SamplingDesign(size), 1.0)
            one, other = (pooled(rows, values[r], metric) for values in odds)
            interval, pair = one.interval(0.95), one.minus(other, 0.95)
            gap = truths[0][r] - truths[1][r]
            counts["figure"] += interval.low <= truths[0][r] <= interval.high
            counts["figure of the method"] += interval.low <= truths[0].mean() <= interval.high
            counts["difference"] += pair.low <= gap <= pair.high
            counts["difference of the method"] += pair.low <= (truths[0] - truths[1]).mean() <= pair.high
            counts["told apart"] += pair.p_value < 0.05
            counts["first better"] += pair.p_value < 0.05 and (pair.difference > 0) == (metric in ("accuracy", "auc"))
        found[name] = {what: total / replications for what, total in counts.items()}
    return found


def averages(covered):
    """The mean over the values of a setting."""
    return {name: float(np.mean(list(by_value.values()))) for name, by_value in covered.items()}


def stable(found, what):
    """The mean over the pairs whose rules do not hang on single rows; see docs/coverage.md."""
    return float(np.mean([shares[what] for name, shares in found.items() if not name.startswith("useless")]))


def tasks(replications):
    """What is simulated, each as the arguments of `done`."""
    compared = [("comparison", n, metric, replications) for metric in COMPARED for n in COMPARED_SIZES]
    return [("evaluation", n, replications) for n in SIZES] + compared


def done(task):
    kind, *given = task
    return evaluation_coverage(*given) if kind == "evaluation" else comparison_coverage(*given)


def main(replications=2_000, workers=2):
    """Write the tables."""
    wanted = tasks(replications)
    with ProcessPoolExecutor(workers) as pool:
        found = dict(zip(wanted, pool.map(done, wanted), strict=True))
    target = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"
    target.write_text(page(found, replications), encoding="utf-8")


def page(found, replications):
    """The tables as text, from what was found of each task."""
    lines = [_HEAD.format(replications=replications)]
    lines += _table(["measure", "classes", "model", *(f"n = {n:,}" for n in SIZES)], 3)
    for measure in MEASURES:
        by_size = [found["evaluation", n, replications][measure] for n in SIZES]
        for word, shift in SHIFTS.items():
            for sureness in SURENESS:
                shares = [f"{one[shift, sureness]:.3f}" for one in by_size]
                lines.append(_line(metric_name(measure), word, "right" if sureness == 1 else "too sure", *shares))
        means = [f"**{np.mean(list(one.values())):.3f}**" for one in by_size]
        lines.append(_line(f"**{metric_name(measure)}**", "all", "all", *means))
    compared = {task: shares for task, shares in found.items() if task[0] == "comparison"}
    columns = list(next(iter(next(iter(compared.values())).values())))
    lines += [_COMPARED, *_table(["measure", "models", "n", *columns], 2)]
    for (_, n, metric, _), shares in compared.items():
        for name, one in shares.items():
            lines.append(_line(metric_name(metric), name, f"{n:,}", *(f"{value:.3f}" for value in one.values())))
    return "\n".join(lines) + "\n"


def _table(head, names):
    return [_line(*head), "|" + "---|" * names + "---:|" * (len(head) - names)]


def _line(*cells):
    return f"| {' | '.join(cells)} |"


_HEAD = """# What intervals hold

Written by `python -m tests.simulated_coverage` ({replications:,} samples for each number, so that a share of 0.95 has
a standard error of 0.005). The slow tests (`make test-all`) hold the averages between 0.93 and 0.975.

## Figures of an evaluation

The share of samples whose 95 % interval holds the true value. Two classes, 40 % and 60 % of the rows, have normal
scores of equal variance; hard, middling, easy and very easy ones can be told apart with an accuracy of 0.63, 0.78,
0.93 and 0.99. A model that is too sure gives twice the log-odds that are right. The value estimated is that of all
rows the sample is drawn from; for the calibration error (ECE) that of the sample's own ten bins: the mean distance of
the probabilities of a bin from the true share there, which is 0 for a model that is right.
"""

_COMPARED = """
## Figures and differences of a comparison

Ten stratified folds; each model is a linear discriminant of one column, fitted anew in every fold. *Figure* and
*difference* are the shares of samples whose interval holds the mean, over the ten fitted rules, of the figure on new
rows (of the first model, and of the difference), which is what the intervals are of. *Of the method* is how often
they also hold the mean over all training sets of this size: what another set of training rows would change is not in
the intervals, and with 30 rows that can matter (Bates, Hastie and Tibshirani 2023). *Told apart* is the share of
samples with p < 0.05, which for equal models is the error of the first kind and else the power; *first better* those
that favour the first model.

A useless model beside the baseline is the hard case of cross-validation: a row that is held out moves the rules fitted
to the others away from itself, so that figures come out a little worse than by chance. Intervals of the difference miss
for that; the model is told to be better than the baseline in no more than 5 % of samples.
"""


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
