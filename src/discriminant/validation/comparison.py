"""Model comparison: cross-validation on the same splits, with tests of paired differences.

Differences are tested by row (`held_out`), adjusted for the number of pairs (Holm 1979); on a hold-out set with
McNemar's test.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Array, ArrayLike, MatrixLike, RandomState
from ..data import check_choice, check_number
from ..decision import Decision, posterior
from ..decision.costs import CostsLike
from ..decision.posteriors import costs_decide
from ..engine import ProgressOption
from ..errors import AliasWarning, DegenerateDataError, Message, ParameterError, Setting
from ..estimators.registry import new_model
from ..evaluation.intervals import RANGE_MARK, Interval, check_level, holm, quantile
from ..results import Result, aligned, columns_of, jsonable, listed, metric_name, p_value, percent, shown
from .cross_validation import BASELINE, CrossValidation, cross_validated, hold_out_every_row, training_inflation
from .default_models import STREAMED_MODELS, ClassShares, Holdout, default_metric, default_models, with_table_encoded
from .fold_fits import ModelsLike, ValidationTask, named_models
from .labelled_table import LabelledTable, labelled_table
from .paired import McNemar, mcnemar
from .scoring import METRICS, wanted_scoring, within_range
from .selection import ChosenFigure, in_units, selection_bias
from .splits import SplitsLike, held_out_share, plan_rounds

#: Measures that are always shown, in addition to the metric of the comparison.
SHOWN_METRICS: Final = ("log_loss", "accuracy", "balanced_accuracy", "auc")
_RANGE_NOTE: Final = (
    "*: few effective rows, or models that are hardly better than chance; the interval is a range with unknown\n"
    "coverage, and the level of the test is unknown"
)

_INTERVAL_AND_TEST = ("difference", "low", "high", "p_value")
#: Maximum number of posteriors of all models in memory (128 MB); for one model it is four times as large.
_MAX_KEPT_POSTERIORS: Final = 1 << 24


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """The measure of one model minus that of another, on the same splits.

    Attributes
    ----------
    first, second : str
        Names of the models.
    difference, low, high : float
        The difference and its interval, without adjustment for the number of pairs.
    p_value, p_adjusted : float
        Of the test of no difference, unadjusted and adjusted for the number of pairs (Holm 1979): pairs of models, or
        pairs of a model and the baseline.
    is_range : bool
        Whether the coverage of the interval and the level of the test are unknown: the difference rests on fewer than
        15 effective rows, or the models are hardly better than chance.
    holdout : McNemar or None
        The test on the hold-out set.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    is_range: bool = False
    holdout: McNemar | None = None

    def __str__(self) -> str:
        return (
            f"{self.first} minus {self.second}: {self.difference:+.4f} ({self.low:+.4f} to {self.high:+.4f}), "
            f"{p_value(self.p_value, name='p')}, {p_value(self.p_adjusted, name='p')} adjusted for the number of pairs"
        )

    def involves(self, *models: str) -> bool:
        return set(models) <= {self.first, self.second}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Models on the same splits, their differences with tests, and a summary in words.

    Attributes
    ----------
    cross_validation : CrossValidation
        Of all models and the baseline (class frequencies of the training rows).
    metric : str
        The metric of the comparison.
    differences : list of Difference
        Of all pairs.
    level : float
        A difference is significant if its adjusted p-value is below ``1 - level``.
    ranking : tuple of str
        The models by their mean score, best first.
    left_out : dict of Message
        Models that could not be fitted to some training part, with the reasons.
    reason : str
        Why this metric was chosen, if it is not the usual one.
    margin : float or None
        Models are equivalent if the interval of their difference is within the margin.
    inflation : float
        The standard error of the best model's measure with the variance due to the training rows, divided by that
        without it; NaN if unknown.
    """

    cross_validation: CrossValidation
    metric: str
    differences: list[Difference]
    level: float
    ranking: tuple[str, ...]
    left_out: dict[str, Message] = field(default_factory=dict)
    reason: str = ""
    margin: float | None = None
    inflation: float = math.nan

    @property
    def best(self) -> str:
        """The model with the best mean score."""
        return self.ranking[0]

    @property
    def best_model(self) -> str:
        """The best model except the baseline."""
        return next(name for name in self.ranking if name != BASELINE)

    @property
    def recommended(self) -> str | None:
        """The best of the models that are significantly better than the baseline; None if there is none."""
        better = self.ranking[: self.ranking.index(BASELINE)]
        return next((name for name in better if self.is_real(name, BASELINE)), None)

    @property
    def not_significantly_different(self) -> list[str]:
        """The best model and those that are not significantly different from it, best first.

        That a difference is not significant does not show that it is small: see `equivalent`.
        """
        return [name for name in self.ranking if name == self.best or not self.is_real(self.best, name)]

    @property
    def equivalent(self) -> list[str]:
        """The models equivalent to the best one: the interval of the difference is within the margin.

        None without a margin.
        """
        if self.margin is None:
            return []
        pairs = {name: self.difference(self.best, name) for name in self.ranking if name != self.best}
        return [name for name, pair in pairs.items() if max(-pair.low, pair.high) <= self.margin]

    def difference(self, first: str, second: str) -> Difference:
        """The difference of two models, in the order they are kept."""
        for pair in self.differences:
            if pair.involves(first, second) and first != second:
                return pair
        raise ParameterError(f"Unknown pair of models: {first!r} and {second!r}. Models: {', '.join(self.ranking)}.")

    def is_real(self, first: str, second: str) -> bool:
        """Whether the two models are significantly different."""
        return self.difference(first, second).p_adjusted < 1 - self.level

    @property
    def sentence(self) -> str:
        """Which models are significantly better than which, and which are equivalent."""
        top = self.not_significantly_different
        # Models that are both not significantly different from the best may differ from each other.
        apart = [pair for pair in combinations(top[1:], 2) if self.is_real(*pair)]
        parts = [self._top_statement(top)]
        parts += [f"Of these, {_named(better)} is better than {_named(worse)}." for better, worse in apart]
        others = [name for name in self.ranking if name not in top]
        beaten = [name for name in others if all(self.is_real(name, better) for better in top)]
        if beaten:
            who = {1: "It is", 2: "Both are"}.get(len(top), "All of them are")
            gaps = [self._shown(abs(self.difference(self.best, name).difference), points=True) for name in beaten]
            leads = [f"{_named(b)} ({_named(self.best)} by {gap})" for b, gap in zip(beaten, gaps, strict=True)]
            parts.append(f"{who} better than {listed(leads)}.")
        for name in [name for name in others if name not in beaten]:
            alike = [_named(better) for better in top if not self.is_real(name, better)]
            parts.append(
                f"{_named(name)} is worse than {self.best}, but not significantly different from {listed(alike)}."
            )
        if self.recommended is None:
            parts.append("No model is significantly better than the baseline: none is recommended.")
            parts += self.better_by_auc()
        elif BASELINE in top:
            parts.append(
                "A model that is not significantly different from the baseline has not been shown to be better."
            )
        parts += self._equivalence()
        if self.reason:
            parts.append(self.reason)
        return " ".join(part[0].upper() + part[1:] if part.startswith("the ") else part for part in parts)

    def _equivalence(self) -> list[str]:
        if self.margin is None:
            return []
        names, margin = list(map(_named, self.equivalent)), self._shown(self.margin, points=True)
        who = listed(names) if names else "No model"
        return [f"{who} {'are' if len(names) > 1 else 'is'} equivalent to {_named(self.best)} (margin {margin})."]

    def better_by_auc(self) -> list[str]:
        """A sentence on an AUC that is better than chance, in case no model is recommended by the metric.

        With 20 rows of a class in 40,000 and an AUC of 0.9, the log-loss was not significantly different from that of
        the baseline.
        """
        found, models = self.cross_validation, [name for name in self.ranking if name != BASELINE]
        tested = {name: found.difference(name, BASELINE, "auc", self.level) for name in models if self.metric != "auc"}
        better = [n for n, own in tested.items() if own.difference > 0 and len(models) * own.p_value < 1 - self.level]
        if not better:
            return []
        auc = found.estimate(better[0], "auc", self.level)
        kind = "range" if auc.is_range else f"{100 * self.level:g} % CI"
        return [
            f"The AUC of {better[0]} is significantly better than chance: {auc.value:.3f} ({kind} {auc.low:.3f} to "
            f"{auc.high:.3f}). Compare the models by AUC."
        ]

    @property
    def rarely_found(self) -> str:
        """A sentence on the class of low recall that the accuracy of the best model hides; empty if there is none."""
        confusion = self.cross_validation.confusion(self.best_model)
        label = confusion.hidden_class
        if label is None:
            return ""
        recall = confusion.recall[confusion.classes.tolist().index(label)]
        return (
            f"Recall of {shown(label)} by {self.best_model}: {percent(float(recall))}; balanced accuracy: "
            f"{percent(confusion.overall('balanced_accuracy'))}."
        )

    @cached_property
    def chosen(self) -> ChosenFigure | None:
        """The bias-corrected measure of the best model; None if only the baseline is left.

        The range extends from the uncorrected measure on the better side, and from the corrected one on the worse side,
        because the bias itself is uncertain.
        """
        models, found, more_is_better = self._members, self.cross_validation, METRICS[self.metric]
        if not models:
            return None
        plain, interval = found.mean(models[0], self.metric), found.interval(models[0], self.metric, self.level)
        error = self.inflation * (interval.high - interval.low) / 2 / quantile(self.level)
        measures = [found.pooled[name][self.metric] for name in models]
        bias = selection_bias(measures, more_is_better, error)
        value = plain - bias if more_is_better else plain + bias
        low = min(plain, value) - self.inflation * (plain - interval.low)
        high = max(plain, value) + self.inflation * (interval.high - plain)
        ends = within_range(self.metric, Interval(low, high, self.level, ""))
        value = within_range(self.metric, Interval(value, value, self.level, "")).low
        return ChosenFigure(models[0], self.metric, len(models), plain, value, ends.low, ends.high, self.level)

    @property
    def _members(self) -> list[str]:
        """The models without the baseline, best first."""
        return [name for name in self.ranking if name != BASELINE]

    def _top_statement(self, top: list[str]) -> str:
        value = self._shown(self.cross_validation.mean(self.best, self.metric))
        if len(top) == 2:
            names = listed(list(map(_named, top)))
            return f"{names} are not significantly different (difference {self._words(self.difference(*top))})."
        statement = f"{_named(self.best)} has the best {metric_name(self.metric)} ({value})"
        if len(top) == 1:
            return f"{statement}."
        farthest = top[-1]
        statement += f"; {listed(list(map(_named, top[1:])))} are not significantly different (largest difference: "
        return f"{statement}{_named(farthest)}, {self._words(self.difference(self.best, farthest))})."

    def _words(self, pair: Difference) -> str:
        """The absolute difference, its interval and its p-value if only adjustment makes it insignificant, in words."""
        sign = -1 if pair.difference < 0 else 1
        value, edges = abs(pair.difference), sorted((sign * pair.low, sign * pair.high))
        is_adjusted = pair.p_adjusted >= 1 - self.level > pair.p_value
        kind = f"{100 * self.level:g} % CI"
        kind = "range" if pair.is_range else f"unadjusted {kind}" if is_adjusted else kind
        words = (
            f"{self._shown(value, points=True)}; {kind} "
            f"{self._shown(edges[0], unit=False)} to {self._shown(edges[1], unit=False)}"
        )
        if is_adjusted:
            alike = [one for one in self.differences if one.involves(BASELINE) == pair.involves(BASELINE)]
            words += f"; adjusted for {len(alike)} pairs: {p_value(pair.p_adjusted, name='p')}"
        return words

    def _shown(self, value: float, points: bool = False, unit: bool = True) -> str:
        return in_units(self.metric, value, points, unit)

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each pair."""
        return columns_of(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text."""
        return jsonable(
            {
                "metric": self.metric,
                "level": self.level,
                "best": self.best,
                "recommended": self.recommended,
                "not_significantly_different": self.not_significantly_different,
                "margin": self.margin,
                "equivalent": self.equivalent,
                "sentence": self.sentence,
                "differences": self._rows(),
                "ranking": self.ranking,
                "rarely_found": self.rarely_found,
                "chosen": self.chosen,
                "left_out": {name: str(reason) for name, reason in self.left_out.items()},
                "cross_validation": self.cross_validation.to_dict(),
            }
        )

    def _rows(self) -> list[dict[str, Any]]:
        names = ("first", "second", *_INTERVAL_AND_TEST, "p_adjusted", "is_range")
        rows = [{name: getattr(pair, name) for name in names} for pair in self.differences]
        for row, pair in zip(rows, self.differences, strict=True):
            if pair.holdout is not None:
                row |= {f"holdout_{name}": getattr(pair.holdout, name) for name in _INTERVAL_AND_TEST}
        return rows

    def __str__(self) -> str:
        head = [f"{metric_name(self.metric)} of", "minus", "difference", f"{100 * self.level:g} % interval", "p (Holm)"]
        with_holdout = any(pair.holdout is not None for pair in self.differences)
        rows = [head + (["p (McNemar, hold-out)"] if with_holdout else [])]
        for pair in self.differences:
            mark, held = RANGE_MARK if pair.is_range else "", [pair.holdout.p_value] if pair.holdout else []
            interval, p = f"{pair.low:+.4f} to {pair.high:+.4f}{mark}", f"{p_value(pair.p_adjusted)}{mark}"
            rows.append([pair.first, pair.second, f"{pair.difference:+.4f}", interval, p, *map(p_value, held)])
        below = [str(line) for line in (self.chosen, self.rarely_found) if line]
        table = aligned(rows, left=2)
        table += [_RANGE_NOTE] if any(pair.is_range for pair in self.differences) else []
        return "\n".join([self.sentence, *below, "", *table, "", str(self.cross_validation)])


def _named(name: str) -> str:
    return f"the {name}" if name == BASELINE else name


def compare(
    models: ModelsLike | None, X: MatrixLike, y: ArrayLike | None = None, cv: SplitsLike = None, repeats: int = 1,
    metric: str | None = None, holdout: Holdout = None,
    groups: ArrayLike | None = None, costs: CostsLike | None = None, sample_weight: ArrayLike | None = None,
    stratify: bool = True, level: float = 0.95, margin: float | None = None, random_state: RandomState = 0,
    train_scores: bool = False, keep: Literal["predictions", "posteriors"] = "posteriors",
    on_failure: Literal["raise", "leave_out"] = "raise", positive: Hashable | None = None,
    progress: ProgressOption = None, n_jobs: int | None = None,
) -> Comparison:  # fmt: skip
    """Cross-validate models on the same splits and test which differences between them are significant.

    A baseline of class frequencies is included. Differences are tested on held-out rows: McNemar's mid-p test for
    shares of rows, Student's t for losses and costs, DeLong's test for AUCs, with Holm's adjustment for the number of
    pairs, separately for pairs of models and for pairs with the baseline. The tests are about the models of these
    splits; whether fits to other training rows would have the same order is not tested. The measure of the best model
    is corrected for the selection, and its range includes the variance due to the training rows (`Comparison.chosen`).

    Parameters
    ----------
    models : classifier, list, dict of str to classifier, or None
        The models. None: those of the following that suit the size of the table, each tuned within its training rows
        and with probabilities: logistic regression with a ridge and with a lasso, linear and regularised discriminant
        analysis, naive Bayes, a support vector machine and least squares, calibrated, and `AutoClassifier`, whose
        choice of settings and weights is repeated within each training part (nested cross-validation). If ``y`` is an
        ordered categorical, also `OrdinalLogisticRegression`.
    X : array-like, sparse matrix, frame of shape (n_rows, n_columns), or rows of `open_dataset`
        Features. With ``models=None``, text, dates and missing values of a frame are encoded first (`TableEncoder`).
    y : array-like of shape (n_rows,), optional
        Class labels. A dataset has its own.
    cv : int, float, splitter or iterable of (train, test), optional
        The splits, as in `cross_validate`; by default ten folds, or five from 5,000 rows on, if classes and
        groups are large enough.
    repeats : int, default=1
        Number of repeats of the k-fold split.
    metric : str, optional
        The metric: "log_loss", "accuracy", "balanced_accuracy", "auc", "f1" (of the positive class; without one,
        the mean over the classes), "cost", "error_rate" or "brier". By default the cost if there are costs, else the
        log-loss. If a model does not predict probabilities: accuracy, or AUC when one class exceeds 80 % of the rows.
        Log-loss, accuracy, balanced accuracy and AUC are always measured.
    holdout : float or (X, y), optional
        A hold-out set, or the share of the rows that is held out at random. The models are fitted to all other rows and
        compared on it by McNemar's test (mid-p, without weights).
    groups : array-like of shape (n_rows,), optional
        Group labels: the rows of a group are never in both the training and the test part of a split.
    costs : array-like of shape (K, K), dict or frame, optional
        Cost of each prediction (column) for each true class (row). Models with probabilities, and the baseline, then
        predict the class of least expected cost, except models with their own decisions such as `DecisionClassifier`.
    sample_weight : array-like of shape (n_rows,), optional
        Frequency or importance weights.
    stratify : bool, default=True
        Whether folds are stratified by class.
    level : float, default=0.95
        Confidence level of intervals and statements.
    margin : float, optional
        Difference of the metric that is irrelevant in practice, such as 0.01 of accuracy. Models are equivalent to the
        best one if the interval of the difference is within the margin (`Comparison.equivalent`).
    random_state : int or Generator, default=0
        For the folds and the hold-out.
    train_scores : bool, default=False
        Whether training rows are scored as well, to detect over- and underfitting.
    keep : {"posteriors", "predictions"}, default="posteriors"
        Out-of-fold predictions to keep, if the splits hold out every row once. Predicted classes are always kept.
        Posteriors (or scores) are kept of all models if repeats x rows x classes x models is at most 16 million; above
        that only of the best model, which is cross-validated once more, up to 64 million. Reports need them.
    on_failure : {"raise", "leave_out"}, default="raise"
        If a model cannot be fitted to some training part: an error, or the model is in `Comparison.left_out`.
    positive : label, optional
        The positive class, as in `cross_validate`.
    progress : bool or callable, optional
        Whether a bar is shown; None: only on a terminal, after a second. A function is called with the number of fits
        done and the total, from any thread; an exception that it raises ends the comparison.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 one for each core.

    Returns
    -------
    Comparison
        The ranking, the difference of every pair with interval and p-values, and a summary.

    See Also
    --------
    cross_validate : The scores alone.
    mcnemar : The test of two classifiers on the same rows.
    write_report : The comparison as a page to hand on.

    References
    ----------
    Bayle, P., Bayle, A., Janson, L. & Mackey, L. (2020). Cross-validation confidence intervals for test error.
    NeurIPS 33.
    Tsamardinos, I., Greasidou, E. & Borboudakis, G. (2018). Bootstrapping the out-of-sample predictions for efficient
    and accurate cross-validation. Machine Learning 107.
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6, 65-70.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y)
    >>> print(result.sentence)
    LDA and naive Bayes are not significantly different (difference 0.0750; range -0.0577 to 0.2077).
    Both are better than the baseline (LDA by 1.0372).
    >>> chosen = result.chosen  # bias-corrected, because it is the best of two
    >>> print(f"{chosen.value:.3f} ({chosen.low:.3f} to {chosen.high:.3f})")
    0.065 (0.016 to 0.214)
    """
    level = check_level(level)
    if margin is not None:
        check_number("margin", margin, 0)
    check_choice("keep", keep, ("predictions", "posteriors"))
    check_choice("on_failure", on_failure, ("raise", "leave_out"))
    if models is None:
        X, holdout = with_table_encoded(X, y, holdout)
    table = labelled_table(X, y, sample_weight, groups)
    shares = dict(zip(table.classes.tolist(), table.all_class_weights / table.all_class_weights.sum(), strict=True))
    unsuited: dict[str, Message] = {}
    if models is None and table.streamed is not None:
        models = {name: new_model(name) for name in STREAMED_MODELS}
    elif models is None:
        models, unsuited = default_models(table.indexable, len(table.classes), table.order is not None)
    named = named_models(models)
    if BASELINE in named:
        raise ParameterError(f"The name {BASELINE!r} is reserved. Rename that model.")
    named[BASELINE] = ClassShares()
    metric, reason = default_metric(costs, shares, named) if metric is None else (metric, "")
    learning, held_out = _put_aside(table, holdout, stratify, random_state)
    rounds = plan_rounds(learning, cv, repeats, stratify, random_state)
    scoring = wanted_scoring((metric, *SHOWN_METRICS), costs, table.classes, table.positive_code(positive))
    task = ValidationTask(named, learning, rounds, scoring, train_scores, leave_out=on_failure == "leave_out")
    found, errors = _cross_validated(task, metric, keep, progress, n_jobs)
    order = sorted(found.models, key=lambda name: found.mean(name, metric), reverse=METRICS[metric])
    predicted = {}
    if held_out is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AliasWarning)  # models with a penalty have a column for every level
            predicted = {name: _answers(learning.fitted(named[name]), held_out[0], costs) for name in found.models}
    differences = _differences(found, metric, level, predicted, None if held_out is None else held_out[1])
    best = next((name for name in order if name != BASELINE), None)
    inflation = math.nan if best is None else training_inflation(task, found, best, metric, n_jobs)
    left_out = unsuited | {name: Message(*error.parts) for name, error in errors.items()}
    return Comparison(found, metric, differences, level, tuple(order), left_out, reason, margin, inflation)


def _cross_validated(
    task: ValidationTask, metric: str, keep: str, progress: ProgressOption, n_jobs: int | None
) -> tuple[CrossValidation, dict[str, DegenerateDataError]]:
    """The scores of all models that could be fitted, with their out-of-fold predictions (see ``keep`` of `compare`)."""
    numbers = len(task.rounds) * task.table.n_rows * len(task.table.classes)  # posteriors of one model
    every_row, few = hold_out_every_row(task.rounds), len(task.models) * numbers <= _MAX_KEPT_POSTERIORS
    kept = None if not every_row else keep if few else "predictions"
    found, errors = cross_validated(replace(task, keep=kept), progress, n_jobs)
    if found.models == (BASELINE,):
        raise next(iter(errors.values()))
    _refuse_unmeasured(found, metric)
    if keep == "posteriors" and every_row and not few and numbers <= 4 * _MAX_KEPT_POSTERIORS:
        models = [name for name in found.models if name != BASELINE]
        best = (max if METRICS[metric] else min)(models, key=lambda name: found.mean(name, metric))
        alone, _ = cross_validated(replace(task, models={best: task.models[best]}, keep="posteriors"), False, n_jobs)
        found = replace(found, out_of_fold={**found.out_of_fold, **alone.out_of_fold})
    return found, errors


def _refuse_unmeasured(found: CrossValidation, metric: str) -> None:
    for name in found.models:
        if math.isnan(found.mean(name, metric)):
            raise ParameterError(
                f"The {metric_name(metric)} of model {name!r} is not available (its scores are not probabilities, or a "
                "class was never held out). Compare by accuracy, or leave the model out."
            )


def _put_aside(
    table: LabelledTable, holdout: Holdout, stratify: bool, random_state: RandomState
) -> tuple[LabelledTable, tuple[Any, Any] | None]:
    """The rows of the cross-validation, and the hold-out set with its labels."""
    if holdout is not None and table.streamed is not None:
        raise ParameterError(
            Setting("holdout"), " requires rows in memory. Evaluate models on a separate file instead."
        )
    if holdout is None or (isinstance(holdout, tuple) and len(holdout) == 2):
        return table, holdout
    if not isinstance(holdout, float) or not 0 < holdout < 1:
        raise ParameterError(f"holdout must be a share of the rows between 0 and 1, or a pair (X, y), got {holdout!r}.")
    split = held_out_share(table, holdout, stratify, np.random.default_rng(random_state))
    return table.take(split.train), (table.rows(split.test), table.labels(split.test))


def _answers(fitted: BaseEstimator, X: MatrixLike, costs: CostsLike | None) -> Array:
    """The predictions of a model, or the classes of least expected cost."""
    if costs is not None and costs_decide(fitted):
        return Decision(costs).decide(posterior(fitted, X))
    return np.asarray(fitted.predict(X))


def _differences(
    found: CrossValidation, metric: str, level: float, predicted: dict[str, Array], truth: Any
) -> list[Difference]:
    pairs = list(combinations(found.models, 2))
    estimates = [found.difference(*pair, metric, level) for pair in pairs]
    p_values, adjusted = np.array([estimate.p_value for estimate in estimates]), np.empty(len(pairs))
    with_baseline = np.array([BASELINE in pair for pair in pairs])
    for family in (with_baseline, ~with_baseline):
        adjusted[family] = holm(p_values[family])
    differences = []
    for (first, second), estimate, p in zip(pairs, estimates, adjusted.tolist(), strict=True):
        test = mcnemar(truth, predicted[first], predicted[second], level=level) if predicted else None
        figures = estimate.difference, estimate.low, estimate.high, estimate.p_value
        differences.append(Difference(first, second, *figures, p, estimate.is_range, test))
    return differences
