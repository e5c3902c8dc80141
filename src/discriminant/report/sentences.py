"""Sentences of a table's report, each a function of the quantities that it states and of nothing else.

A claim such as "significantly better" is derived here from these quantities, so that tests can check it for any values.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..evaluation.evaluation import Evaluation
from ..evaluation.intervals import Estimate, quantile
from ..evaluation.recalibration import CalibrationLine
from ..results import count, decimal, listed, metric_name, percent
from ..validation.comparison import Comparison
from ..validation.cross_validation import BASELINE
from .page import between, measured, quoted

# Relative difference up to which two accuracies are equal: sums of the same rows in another order.
ROUNDING_DIFFERENCE: Final = 1e-9
# Recall and precision of a class with fewer rows are imprecise.
FEW_ROWS: Final = 20


def written(metric: str, found: Estimate, with_level: bool = False) -> str:
    """A measure with its interval; ``with_level`` adds the confidence level."""
    ends = between(metric, found.low, found.high)
    kind = "range " if found.is_range else f"{100 * found.level:g} % CI " if with_level else ""
    return f"{measured(metric, found.value)}{f' ({kind}{ends})' if ends else ''}"


def accuracy_sentence(name: str, accuracy: Estimate, majority: tuple[Hashable, float]) -> str:
    """The accuracy of a model, which ``name`` introduces, and that of the majority-class baseline."""
    label, share = majority
    verdict = "no better than the " if accuracy.value <= share * (1 + ROUNDING_DIFFERENCE) else ""
    return (
        f"{name}: {written('accuracy', accuracy, with_level=True)}; {verdict}majority-class baseline "
        f"({quoted(label)}): {percent(share)}."
    )


def class_sentence(label: Hashable, share: float, recall: Estimate, precision: Estimate, part: str = "") -> str:
    """Recall and precision of a class; the precision of a class that is never predicted is undefined."""
    own = "precision undefined (never predicted)"
    if not math.isnan(precision.value):
        own = f"precision {percent(precision.value)}"
    return f"Recall of {quoted(label)} ({percent(share)} of the rows{part}): {written('recall', recall)}; {own}."


def error_sentence(model: str, error_rate: float, n_errors: float, most_frequent: str | None) -> str:
    """The error rate of a model, and its most frequent error."""
    if n_errors == 0:
        return f"Error rate of {model}: 0 errors on these rows."
    most = "" if most_frequent is None else f"; most frequent error: {most_frequent}"
    return f"Error rate of {model}: {percent(error_rate)}{most}."


def cost_sentence(name: str, cost: Estimate, cheapest: tuple[Hashable, float] | None, is_least_expected: bool) -> str:
    """The cost per row, which ``name`` introduces, with that of the best constant prediction."""
    how = " (decisions minimise expected cost)" if is_least_expected else ""
    constant = ""
    if cheapest is not None:
        constant = f"; always {quoted(cheapest[0])}: {measured('cost', cheapest[1])}"
    return f"{name}{how}: {written('cost', cost, with_level=True)}{constant}."


@dataclass(frozen=True)
class Standing:
    """The rank of a model among the compared models, by the pairwise tests.

    ``better`` and ``alike`` are other models, without the baseline: those that are significantly better, and those
    that are not significantly different. ``recommended`` is the best model that is significantly better than the
    baseline. ``by_auc`` compares the AUC with the baseline if no model is better. ``means`` has the mean of the
    metric by model.
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
    means: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, comparison: Comparison, model: str) -> Standing:
        """The rank of a model of a comparison, which may be the baseline."""
        others = [name for name in comparison.ranking if name not in (model, BASELINE)]
        recommended, validation = comparison.recommended, comparison.cross_validation
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
            {name: validation.mean(name, comparison.metric) for name in comparison.ranking},
        )

    @property
    def measure(self) -> str:
        """The metric of the comparison, as text."""
        return metric_name(self.metric)

    @property
    def sentence(self) -> str:
        """The models that are better than this one or not significantly different; empty without other models."""
        limit, found = f"{1 - self.level:.3g}", []
        if self.better:
            found.append(f"Significantly better than {self.model} (Holm-adjusted p < {limit}): {listed(self.better)}.")
        if self.alike:
            found.append(f"Not significantly different from {self.model}: {listed(self.alike)}.")
        if not found and self.n_models > 1:
            found.append(f"All other models are significantly worse than {self.model} (Holm-adjusted p < {limit}).")
        return " ".join(found)

    def against_baseline(self, majority: tuple[Hashable, float]) -> str:
        """That the model is not better than the baseline, and which model is; empty if the model is better."""
        if self.beats_baseline:
            return ""
        label, share = majority
        baseline = f"the baseline by {self.measure} (majority class {quoted(label)}: {percent(share)} of the rows)"
        if self.recommended is None:
            return f"No model is significantly better than {baseline}.{f' {self.by_auc}' if self.by_auc else ''}"
        return f"{self.model} is not significantly better than {baseline}; {self.recommended} is."

    def _means(self, other: str) -> str:
        """The metric of another model and of this one, if they are known."""
        if not self.means:
            return ""
        values = (f"{name} {measured(self.metric, self.means[name])}" for name in (other, self.model))
        return f" ({', '.join(values)})"

    def recommendation(self, lowest: tuple[Hashable, float] | None) -> str:
        """The recommended model; ``lowest`` is a class that accuracy hides and its recall, if no costs were given."""
        if not self.beats_baseline:
            if self.recommended is not None:
                return f"Use {self.recommended} instead of {self.model}: it is significantly better than the baseline."
            if self.by_auc:
                return (
                    "Do not use the predicted classes of these models. Their scores rank rows better than chance: "
                    "compare the models by AUC, or choose a threshold from the costs of errors."
                )
            return (
                "Do not use these models: none is significantly better than the baseline. Add informative columns or "
                "more rows."
            )
        best = self.better[0] if self.better else self.recommended or self.model
        by = f"{self.measure}{self._means(best)}"
        if self.better:
            return f"Use {best} instead of {self.model}: it is significantly better by {by}."
        if best != self.model:
            return " ".join([f"Use {best}. {self.model} is not significantly different by {by}.", *_low_recall(lowest)])
        others = ", or the simplest of the models that are not significantly different from it" if self.alike else ""
        return " ".join([f"Use {self.model}{others}.", *_low_recall(lowest)])


def _low_recall(lowest: tuple[Hashable, float] | None) -> list[str]:
    if lowest is None:
        return []
    label, recall = lowest
    return [
        f"The recall of {quoted(label)} is {percent(recall)}: to increase it, set misclassification costs or lower its "
        "threshold."
    ]


def is_better(comparison: Comparison, first: str, second: str) -> bool:
    """Whether the first of two models is significantly better."""
    ranks = comparison.ranking.index(first), comparison.ranking.index(second)
    return ranks[0] < ranks[1] and comparison.is_real(first, second)


def above_chance(evaluation: Evaluation) -> list[Estimate]:
    """The measures of an evaluation whose intervals exclude the value of uninformative columns."""
    chance = {"balanced_accuracy": 1 / len(evaluation.classes), "auc": 0.5}
    found = [(evaluation[metric], level) for metric, level in chance.items() if metric in evaluation]
    # Without an interval, as when every row is correct, the value itself counts.
    return [one for one, level in found if (one.value if math.isnan(one.low) else one.low) > level]


def evaluated_recommendation(model: str, evaluation: Evaluation, lowest: tuple[Hashable, float] | None) -> str:
    """The recommendation for a model that was evaluated without others."""
    evidence = [one.metric for one in above_chance(evaluation)]
    if not evidence:
        return f"Do not use {model}: it is not significantly better than chance on these rows."
    if evidence == ["auc"]:
        return (
            f"Do not use the predicted classes of {model}: balanced accuracy is not significantly above chance. Its "
            "scores rank rows better than chance: choose a threshold from the costs of errors."
        )
    return " ".join([f"{model} is significantly better than chance on rows like these.", *_low_recall(lowest)])


def precision_at(share: float, sensitivity: float, specificity: float) -> float:
    """The precision of a class with this share of the rows; NaN if it is never predicted."""
    true_positives = share * sensitivity
    predicted = true_positives + (1 - share) * (1 - specificity)
    return true_positives / predicted if predicted > 0 else math.nan


def prevalence_sentence(label: Hashable, share: float, sensitivity: float, specificity: float) -> str:
    """The precision of a class at its share of the rows, and at a tenth of it."""
    now, rarer = (precision_at(part, sensitivity, specificity) for part in (share, share / 10))
    if math.isnan(now):
        return f"Precision of {quoted(label)}: undefined (never predicted)."
    return (
        f"Precision of {quoted(label)}: {percent(now)} at prevalence {percent(share)} (these rows), {percent(rarer)} "
        f"at prevalence {percent(share / 10)}."
    )


def few_rows_sentence(classes: Sequence[Hashable], rows: Sequence[float]) -> str:
    """The classes with few rows; empty without any."""
    few = [f"{quoted(label)} ({count(n)})" for label, n in zip(classes, rows, strict=True) if n < FEW_ROWS]
    if not few:
        return ""
    return f"Classes with fewer than {FEW_ROWS} rows: {listed(few, most=5)}. Their recall and precision are imprecise."


def calibration_sentences(line: CalibrationLine, label: Hashable, level: float) -> list[str]:
    """Slope and intercept of the calibration line, and whether each differs significantly from the ideal."""
    slope, error = line.slope, line.slope_error
    found = []
    if math.isfinite(slope) and math.isfinite(error):
        verdict = _against(slope, error, 1, level, "overconfident probabilities", "underconfident probabilities")
        found.append(f"Calibration slope: {decimal(slope, 2)} (standard error {decimal(error, 2)}), {verdict}.")
    large, error = line.in_the_large, line.in_the_large_error
    if math.isfinite(large) and math.isfinite(error):
        of = f"probabilities of {quoted(label)} too"
        verdict = _against(large, error, 0, level, f"{of} high on average", f"{of} low on average")
        found.append(f"Calibration in the large: {decimal(large, 2)} (standard error {decimal(error, 2)}), {verdict}.")
    return found


def confidence_sentence(line: CalibrationLine | None, model: str, level: float) -> str:
    """That the probabilities of a model are over- or underconfident; empty if this is not significant."""
    if line is None or not abs(line.slope - 1) > quantile(level) * line.slope_error:
        return ""
    return (
        f"The probabilities of {model} are significantly {'over' if line.slope < 1 else 'under'}confident (calibration "
        f"slope {decimal(line.slope, 2)}); thresholds and costs assume calibrated probabilities."
    )


def _against(value: float, error: float, ideal: int, level: float, below: str, above: str) -> str:
    """Whether a value differs significantly from the ideal, and what this implies."""
    if abs(value - ideal) <= quantile(level) * error:
        return f"not significantly different from {ideal}"
    return f"significantly {'below' if value < ideal else 'above'} {ideal}: {below if value < ideal else above}"


def learning_sentence(n_rows: int, error: Estimate, limit: Estimate, estimation: Estimate) -> str:
    """The error now, and the estimated one with unlimited training data."""
    margin = f" ± {100 * estimation.half_width:.1f}" if math.isfinite(estimation.half_width) else ""
    return (
        f"Error with {count(n_rows)} training rows: {percent(error.value)}; estimated limit with unlimited rows: "
        f"{percent(limit.value)} (difference {100 * estimation.value:.1f}{margin} percentage points)."
    )
