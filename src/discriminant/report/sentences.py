"""Sentences of a table's report, each a function of the quantities that it states and of nothing else.

What a sentence claims beside its numbers, such as "significantly better", follows from these quantities here, so that
tests can check it for any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..evaluation.evaluation import Evaluation
from ..evaluation.intervals import Estimate, quantile
from ..evaluation.probabilities import CalibrationLine
from ..results import count, decimal, listed, metric_name, percent
from ..validation.comparison import BASELINE, Comparison
from ..validation.cross_validation import METRICS
from .page import between, measured, quoted

#: Relative difference up to which two measures are equal: they may be sums of the same rows in another order.
_ROUNDING: Final = 1e-9
#: A class with fewer rows than this has imprecise recall and precision.
FEW_ROWS: Final = 20


def written(metric: str, found: Estimate, named: bool = False) -> str:
    """A measure and the ends of its interval, whose level is named where it is the first of a text."""
    ends = between(metric, found.low, found.high)
    level = f"{100 * found.level:g} % interval " if named else ""
    return f"{measured(metric, found.value)}{f' ({level}{ends})' if ends else ''}"


def accuracy_sentence(model: str, rows: str, accuracy: Estimate, majority: tuple[Any, float]) -> str:
    """The accuracy of a model beside the share of the most frequent class."""
    label, share = majority
    no_better = ", at least as accurate" if accuracy.value <= share * (1 + _ROUNDING) else ""
    return (
        f"Accuracy of {model} on {rows}: {written('accuracy', accuracy, named=True)}; majority class {quoted(label)}: "
        f"{percent(share)}{no_better}."
    )


def class_sentence(label: Any, share: float, recall: Estimate, precision: Estimate, part: str = "") -> str:
    """Recall and precision of a class; the precision of a class that is never predicted is undefined."""
    own = "never predicted" if math.isnan(precision.value) else f"precision {percent(precision.value)}"
    return f"Recall of {quoted(label)} ({percent(share)} of the rows{part}): {written('recall', recall)}; {own}."


def error_sentence(model: str, error_rate: float, n_errors: float, most_frequent: str | None) -> str:
    """The error rate of a model, and which error is the most frequent."""
    if n_errors == 0:
        return f"Error rate of {model}: 0 errors on these rows."
    most = "" if most_frequent is None else f"; most frequent error: {most_frequent}"
    return f"Error rate of {model}: {percent(error_rate)}{most}."


def hidden_class_sentence(label: Any, recall: Estimate, balanced: Estimate, part: str = "") -> str:
    """The class of the lowest recall, which the accuracy hides."""
    return (
        f"Lowest recall{part}: {quoted(label)}, {written('recall', recall)}. Balanced accuracy, the accuracy if all "
        f"classes were equally frequent: {percent(balanced.value)}."
    )


def cost_sentence(cost: Estimate, cheapest: tuple[Any, float] | None, is_least_expected: bool) -> str:
    """The mean cost of a row, beside that of the answer that costs least if it is always given."""
    how = ", each row given the class of least expected cost" if is_least_expected else ""
    always = "" if cheapest is None else f"; always {quoted(cheapest[0])}: {measured('cost', cheapest[1])}"
    return f"Mean cost of a row under the costs given{how}: {written('cost', cost)}{always}."


@dataclass(frozen=True)
class Standing:
    """How a model stands among those it was compared with, by the tests of pairs.

    ``better`` and ``alike`` are other models, the baseline excepted: those that are significantly better, and those
    that are not significantly different. ``recommended`` is the best that is significantly better than the baseline.
    ``by_auc`` says what the AUC shows where no model is better than the baseline.
    """

    model: str
    metric: str
    level: float
    n_models: int
    better: tuple[str, ...]
    alike: tuple[str, ...]
    beats_baseline: bool
    recommended: str | None
    by_auc: str = ""

    @classmethod
    def of(cls, comparison: Comparison, model: str) -> Standing:
        """Of a model of a comparison, which may be the baseline."""
        others = [name for name in comparison.ranking if name not in (model, BASELINE)]
        recommended = comparison.recommended
        return cls(
            model,
            comparison.metric,
            comparison.level,
            len(comparison.ranking) - 1,
            tuple(name for name in others if is_better(comparison, name, model)),
            tuple(name for name in others if not comparison.is_real(name, model)),
            model != BASELINE and is_better(comparison, model, BASELINE),
            recommended,
            " ".join(comparison.better_by_auc()) if recommended is None else "",
        )

    @property
    def measure(self) -> str:
        """What the models were compared by, as text calls it."""
        return metric_name(self.metric)

    @property
    def sentence(self) -> str:
        """The model's place among the others; empty where it is alone."""
        limit, told = f"{1 - self.level:.3g}", []
        if self.better:
            told.append(f"Significantly better than {self.model} (Holm-adjusted p < {limit}): {listed(self.better)}.")
        if self.alike:
            told.append(f"Not significantly different from {self.model}: {listed(self.alike)}.")
        if not told and self.n_models > 1:
            told.append(f"All other models are significantly worse than {self.model} (Holm-adjusted p < {limit}).")
        return " ".join(told)

    def against_baseline(self, majority: tuple[Any, float]) -> str:
        """That the model is not better than the baseline, and what is; empty where it is better."""
        if self.beats_baseline:
            return ""
        label, share = majority
        baseline = f"the baseline by {self.measure} (majority class {quoted(label)}: {percent(share)} of the rows)"
        if self.recommended is None:
            return f"No model is significantly better than {baseline}.{f' {self.by_auc}' if self.by_auc else ''}"
        return f"{self.model} is not significantly better than {baseline}; {self.recommended} is."

    @property
    def order(self) -> str:
        """Whether the model's place would hold with other rows."""
        if not self.beats_baseline:
            return f"{self.model} is not significantly better than the baseline by {self.measure}."
        return self.sentence or f"{self.model} was the only model compared."

    def recommendation(self, lowest: tuple[Any, float] | None) -> str:
        """What to do; ``lowest`` is a class that accuracy hides and its recall, where no costs were given."""
        if not self.beats_baseline:
            if self.recommended is not None:
                return f"Use {self.recommended} instead of {self.model}: it is significantly better than the baseline."
            if self.by_auc:
                return (
                    "Do not use the predicted classes of these models. Scores rank rows better than chance: compare "
                    "the models by AUC, or set a threshold by the costs of errors."
                )
            return (
                "Do not use these models: none is significantly better than the baseline. Look for more informative "
                "columns, or for more rows."
            )
        if self.better:
            return f"Use {self.better[0]} instead of {self.model}: it is significantly better by {self.measure}."
        told = [f"Use {self.model}.", *_about_lowest(lowest)]
        if self.alike:
            told.append(f"{listed(self.alike)} {_are(self.alike)} not significantly different: prefer the simplest.")
        return " ".join(told)


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _about_lowest(lowest: tuple[Any, float] | None) -> list[str]:
    if lowest is None:
        return []
    label, recall = lowest
    return [
        f"Its recall of {quoted(label)} is {percent(recall)}: if that is too low, give costs or move its threshold."
    ]


def is_better(comparison: Comparison, first: str, second: str) -> bool:
    """Whether the first of two models scores better, and by more than chance."""
    places = comparison.ranking.index(first), comparison.ranking.index(second)
    return places[0] < places[1] and comparison.is_real(first, second)


def above_chance(evaluation: Evaluation) -> list[Estimate]:
    """The measures of an evaluation whose intervals lie above what columns without information reach."""
    chance = {"balanced_accuracy": 1 / len(evaluation.classes), "auc": 0.5}
    found = [(evaluation[metric], level) for metric, level in chance.items() if metric in evaluation]
    # Without an interval, as where every row is right, the value itself counts.
    return [one for one, level in found if (one.value if math.isnan(one.low) else one.low) > level]


def evaluated_recommendation(model: str, evaluation: Evaluation, lowest: tuple[Any, float] | None) -> str:
    """What to do with a model that was evaluated alone."""
    evidence = [one.metric for one in above_chance(evaluation)]
    if not evidence:
        return f"Do not use {model}: it is not significantly better than chance on these rows."
    if evidence == ["auc"]:
        return (
            f"Do not use the predicted classes of {model}: balanced accuracy is not significantly above chance. Its "
            "scores rank rows better than chance: set a threshold by the costs of errors."
        )
    return " ".join([f"{model} is significantly better than chance on rows like these.", *_about_lowest(lowest)])


def best_by_metric(means: Mapping[str, Mapping[str, float]], model: str) -> list[str]:
    """By which measures another model has a strictly better mean; ``means`` is by measure, then by model."""
    told = []
    for metric, values in means.items():
        known = {name: value for name, value in values.items() if name != BASELINE and not math.isnan(value)}
        if not known:
            continue
        best = (max if METRICS[metric] else min)(known, key=lambda name: known[name])
        if model not in known:
            told.append(f"Best {metric_name(metric)}: {best} ({model} has none).")
        elif not math.isclose(known[best], known[model], rel_tol=_ROUNDING):
            told.append(f"Best {metric_name(metric)}: {best}.")
    return told


def precision_at(share: float, sensitivity: float, specificity: float) -> float:
    """Of the rows called positive, the share that is of a class with this share; NaN where none is called so."""
    right = share * sensitivity
    called = right + (1 - share) * (1 - specificity)
    return right / called if called > 0 else math.nan


def prevalence_sentence(label: Any, share: float, sensitivity: float, specificity: float) -> str:
    """The precision of a class at its share among the rows, and where it is ten times rarer."""
    now, rarer = (precision_at(part, sensitivity, specificity) for part in (share, share / 10))
    if math.isnan(now):
        return f"{quoted(label)} was never predicted: its precision is undefined."
    return (
        f"Precision of {quoted(label)} at its present share of {percent(share)}: {percent(now)}; were it ten times "
        f"rarer, {percent(rarer)}, with the same model and threshold."
    )


def equal_shares_sentence(balanced: float) -> str:
    """The accuracy if all classes were equally frequent."""
    return f"Accuracy if all classes were equally frequent: {percent(balanced)}."


def few_rows_sentence(classes: Sequence[Any], rows: Sequence[float]) -> str:
    """The classes of few rows; empty where there are none."""
    few = [f"{quoted(label)} ({count(n)})" for label, n in zip(classes, rows, strict=True) if n < FEW_ROWS]
    if not few:
        return ""
    return f"Classes with fewer than {FEW_ROWS} rows: {listed(few, most=5)}. Their recall and precision are imprecise."


def precision_of_accuracy_sentence(accuracy: Estimate) -> str:
    """How precisely the accuracy is known; empty without an interval."""
    if math.isnan(accuracy.low):
        return ""
    ends = f"{percent(accuracy.low)} to {percent(accuracy.high)}"
    return (
        f"{100 * accuracy.level:g} % interval of the accuracy: {ends}; four times as many rows would about halve its "
        "width."
    )


def calibration_sentences(line: CalibrationLine, label: Any, level: float) -> list[str]:
    """Slope and intercept of the calibration line, and whether each is significantly off."""
    slope, error = line.slope, line.slope_error
    found = []
    if math.isfinite(slope) and math.isfinite(error):
        reading = _against(
            slope, error, 1, level, "probabilities are overconfident", "probabilities are underconfident"
        )
        found.append(f"Calibration slope: {decimal(slope, 2)} (standard error {decimal(error, 2)}), {reading}.")
    large, error = line.in_the_large, line.in_the_large_error
    if math.isfinite(large) and math.isfinite(error):
        of = f"the probabilities of {quoted(label)} are too"
        reading = _against(large, error, 0, level, f"{of} high on average", f"{of} low on average")
        found.append(f"Calibration in the large: {decimal(large, 2)} (standard error {decimal(error, 2)}), {reading}.")
    return found


def _against(value: float, error: float, right: int, level: float, below: str, above: str) -> str:
    """Whether a value differs significantly from the right one, and what it means."""
    if abs(value - right) <= quantile(level) * error:
        return f"not significantly different from {right}"
    return f"significantly {'below' if value < right else 'above'} {right}: {below if value < right else above}"


def learning_sentence(n_rows: int, error: Estimate, limit: Estimate, estimation: Estimate) -> str:
    """The error now, and the estimated one with unlimited training rows."""
    margin = f" ± {100 * estimation.reach:.1f}" if math.isfinite(estimation.reach) else ""
    return (
        f"Error with {count(n_rows)} training rows: {percent(error.value)}; estimated limit with unlimited rows: "
        f"{percent(limit.value)} (difference {100 * estimation.value:.1f}{margin} points)."
    )
