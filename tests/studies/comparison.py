"""Coverage of the estimates of a comparison and of their differences, and type I errors of its tests.

Two classes with normal columns of equal variance; a model is a linear discriminant of one column, for which the
true performance of every fitted rule is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import expit, ndtr
from tests.studies import COVERAGE, MIN_OFFERED, TYPE_I_ERROR, Found, Task, generator, header, is_within, line

from discriminant.evaluation.probabilities import LOSSES, expected_moments
from discriminant.evaluation.sampling import SamplingDesign
from discriminant.results import metric_name
from discriminant.validation.held_out import (
    AreaOfRows,
    HeldOutRows,
    MeanOfRows,
    ModelMeasure,
    ShareOfRows,
    difference_of,
)
from discriminant.validation.scoring import METRICS

TITLE: Final = "Estimates and differences of a comparison"
TEXT: Final = """
Two models are compared by cross-validation with ten stratified folds. Each model is a linear discriminant of one
column, fitted in every fold. Results refer to the samples with a confidence interval or a test; their share is in
brackets if it is below 99 %; *range* means fewer than half of the samples. The columns of the table:

- **models**: two numbers are the distances between the class means in the columns of the two models; *baseline* is the
  model that predicts the class proportions.
- **share**: the proportion of the positive class.
- **estimate**: coverage of the interval of the measure of the first model; the estimand is the mean over the ten fitted
  rules of the measure on new rows.
- **difference**: coverage of the interval of the difference between the models.
- **significant**: share of tests with p < 0.05, which for models with equal performance is the type I error.
- **first better**: share of all samples in which the first model is significantly better. For a model of noise
  (distance 0) compared with the baseline by AUC, which is 0.5 for both, this is the type I error of a one-sided test;
  the true log-loss of such a model is worse than that of the baseline.

A sample has no confidence interval if the variance is determined by fewer than 15 effective rows. Rules fitted to noise
depend on individual rows, and held-out rows are not independent of them: the estimate of a model and its difference
from the baseline have a confidence interval only if the AUC of the model is above chance. The difference between two
models has one if their common advantage over the baseline, whose estimate is uncorrelated with the difference, is
significant at 0.01 %. If the models differ at 0.01 %, the worse one also needs an AUC above chance. At a level of
0.1 %, which was chosen in other settings than these, one of the tests was conservative (p < 0.05 in 3.3 % of the
samples). The intervals of the Brier score are computed like those of the log-loss.

Accuracy has few possible values; the criterion is the mean over a grid of ten distances from 0.3 to 3 with 1,000
samples each, reported with minimum and maximum. Every sample has an interval of the accuracy. Differences have an
interval and McNemar's mid-p test if the models differ in at least 15 effective rows, and are evaluated at the points
of the grid where half of the samples have them.

None of these intervals includes the variance due to the training rows (Bates, Hastie and Tibshirani 2023).
"""
REPLICATIONS: Final = 12_000
SAMPLE: Final = 200

MEASURES: Final = ("log_loss", "auc")
#: Share of the positive class, and rows.
SIZES: Final = ((0.5, 60), (0.5, 150), (0.2, 150), (0.3, 500))
FOLDS: Final = 10
#: Samples with fewer rows of a class are left out.
MIN_ROWS: Final = 5
_COLUMNS: Final = ("figure", "difference", "significant")
_OFFERED: Final = ("figure", "difference", "difference")
#: Each point of the grid has this part of the replications.
GRID_PARTS: Final = 4
GRID: Final = tuple(round(0.3 * step, 1) for step in range(1, 11))
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

    def truth(self, shift, share):
        """The mean over the folds' rules of each measure on new rows."""
        found = dict.fromkeys(("accuracy", "log_loss", "brier", "auc"), 0.0)
        for centre, side, part in ((0.0, 0, 1 - share), (shift, 1, share)):
            # A new row's log-odds are normal.
            mean, deviation = self.slope * centre + self.intercept, np.abs(self.slope)
            right = ndtr((2 * side - 1) * mean / np.maximum(deviation, 1e-300))
            found["accuracy"] += part * right
            odds = mean[..., None] + deviation[..., None] * _NODES
            wrong = expit(odds if side == 0 else -odds)
            found["log_loss"] += -np.log(np.maximum(1 - wrong, 1e-16)) @ _SHARES * part
            found["brier"] += np.square(wrong) @ _SHARES * part
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


#: Two models, each by the shift of the column that it has; None is the baseline.
PAIRS: Final = (
    (0.5, 0.5), (0.9, 0.9), (1.2, 1.2), (2.2, 2.2), (1.8, 1.2), (0.8, 0.5), (1.3, 0.0),
    (0.9, None), (1.5, None), (0.0, None),
)  # fmt: skip


def tasks() -> list[Task]:
    """Measure, shifts of the two models, share of the positive class, rows; of the accuracy over a grid."""
    others = [("comparison", metric, *pair, share, n) for metric in MEASURES for pair in PAIRS for share, n in SIZES]
    pairs = [(shift, second) for shift in GRID for second in (shift, round(0.6 * shift, 2), None)]
    accuracies = [("comparison", "accuracy", *pair, *size) for size in SIZES if size[0] == 0.5 for pair in pairs]
    return [*others, *accuracies]


def samples(task: Task, replications: int) -> Iterator[tuple[Any, ...]]:
    """Both models and the baseline (unless it is the second model) in each sample, and the true values of both."""
    _, metric, first, second, share, n = task
    rng = generator(task)
    # Rows in order of their classes are assigned to folds in turn: folds are stratified, as by default.
    y = np.sort(rng.random((replications, n)) < share, axis=1)
    y = y[(y.sum(axis=1) >= MIN_ROWS) & (y.sum(axis=1) <= n - MIN_ROWS)]
    fold = np.tile(np.arange(n) % FOLDS, (len(y), 1))
    columns = [None if shift is None else rng.normal(size=y.shape) + shift * y for shift in (first, second)]
    rules = [Rule.fitted(x, y, fold) for x in (*columns, None)]
    odds = [rule.log_odds(0.0 if x is None else x, fold) for rule, x in zip(rules, (*columns, None), strict=True)]
    truths = [rule.truth(shift or 0.0, share)[metric] for rule, shift in zip(rules, (first, second), strict=False)]
    for r in range(len(y)):
        rows = HeldOutRows(fold[r], np.arange(n), y[r].astype(int), SamplingDesign(n), 1.0)
        areas = [pooled(rows, values[r], "auc") for values in odds[:2]]
        measures = areas if metric == "auc" else [pooled(rows, values[r], metric) for values in odds[:2]]
        models = [ModelMeasure(measure, METRICS[metric], area) for measure, area in zip(measures, areas, strict=True)]
        baseline = pooled(rows, odds[2][r], metric)
        models[1] = ModelMeasure(baseline, METRICS[metric]) if second is None else models[1]
        yield *models, None if second is None else baseline, truths[0][r], truths[1][r]


def run(task: Task, replications: int) -> dict[str, float]:
    """How often intervals cover and tests reject, of the samples that have one, and how many these are."""
    metric = task[1]
    more_is_better, counts = METRICS[metric], defaultdict[str, Any](float)
    replications = max(replications // GRID_PARTS, 1) if metric == "accuracy" else replications
    for one, other, baseline, true_one, true_other in samples(task, replications):
        interval, pair = one.interval(0.95), difference_of(one, other, baseline, 0.95)
        has_figure, has_difference = not interval.is_range, not pair.is_range
        gap = true_one - true_other
        counts["samples"] += 1
        counts["figure offered"] += has_figure
        counts["figure"] += has_figure and interval.low <= true_one <= interval.high
        counts["difference offered"] += has_difference
        counts["difference"] += has_difference and pair.low <= gap <= pair.high
        counts["significant"] += has_difference and pair.p_value < 0.05
        counts["first better"] += pair.p_value < 0.05 and (pair.difference > 0) == more_is_better
    offered = {f"{what} offered": counts[f"{what} offered"] / counts["samples"] for what in ("figure", "difference")}
    found = {"figure": counts["figure"] / max(counts["figure offered"], 1)}
    for what in ("difference", "significant"):
        found[what] = counts[what] / max(counts["difference offered"], 1)
    return {**found, **offered, "first better": counts["first better"] / counts["samples"]}


def named(second: float | None) -> str:
    """The second model."""
    return "baseline" if second is None else f"{second:g}"


def table(found: Found) -> list[str]:
    """One line for each setting; for the accuracy one for each grid."""
    lines = header(["measure", "models", "share", "n", "estimate", *_COLUMNS[1:], "first better"], 2)
    for task, one in found.items():
        _, metric, first, second, share, n = task
        if metric != "accuracy":
            cells = [shown(one, what, kind) for what, kind in zip(_COLUMNS, _OFFERED, strict=True)]
            models = f"{first:g}, {named(second)}"
            lines.append(line(metric_name(metric), models, f"{100 * share:g} %", f"{n:,}", *cells, one["first better"]))
    for (kind, n), part in grids(found).items():
        cells = [f"{np.mean(own):.3f} ({min(own):.3f} to {max(own):.3f})" if own else "range" for own in part.values()]
        lines.append(line("accuracy", kind, "50 %", f"{n:,}", *cells, ""))
    return lines


def shown(one: Mapping[str, float], what: str, kind: str) -> str:
    """A share, with the share of samples that it is of."""
    offered = one[f"{kind} offered"]
    if offered < MIN_OFFERED:
        return "range"
    return f"{one[what]:.3f}" + (f" ({100 * offered:.0f} %)" if offered < 0.99 else "")


def grids(found: Found) -> dict[tuple[str, int], dict[str, list[float]]]:
    """The figures of the accuracy over its grid, by kind of models and rows."""
    parts: dict[tuple[str, int], dict[str, list[float]]] = {}
    for (_, metric, first, second, _, n), one in found.items():
        if metric == "accuracy":
            kind = "baseline" if second is None else "equal" if first == second else "different"
            own = parts.setdefault((kind, n), {what: [] for what in _COLUMNS})
            for what, offered in zip(_COLUMNS, _OFFERED, strict=True):
                if one[f"{offered} offered"] >= MIN_OFFERED:
                    own[what].append(one[what])
    return parts


def check(found: Found, replications: int) -> list[str]:
    """Coverage and errors of the first kind that are out of bounds."""
    outside = []
    for task, one in found.items():
        _, metric, first, second, _, _ = task
        bounds = {"figure": COVERAGE, "difference": COVERAGE}
        bounds |= {"significant": TYPE_I_ERROR} if first == second else {}
        for what, bound in bounds.items():
            offered = one["figure offered" if what == "figure" else "difference offered"]
            if metric != "accuracy" and offered >= MIN_OFFERED and not is_within(one[what], bound, replications):
                outside.append(f"{what}, {task}: {one[what]:.4f}")
        if (metric, first, second) == ("auc", 0.0, None) and not is_within(
            one["first better"], TYPE_I_ERROR, replications
        ):
            outside.append(f"first better, {task}: {one['first better']:.4f}")
    for (kind, n), part in grids(found).items():
        bounds = {"figure": COVERAGE, "difference": COVERAGE} | (
            {"significant": TYPE_I_ERROR} if kind == "equal" else {}
        )
        for what, (low, high) in bounds.items():
            if part[what] and not low <= np.mean(part[what]) <= high:
                outside.append(f"{what}, {kind}, {n}: {np.mean(part[what]):.4f}")
    return outside
