"""Which differences between models are real.

Models are cross-validated on the same splits, and differences are judged row by row (`held_out`), adjusted for the
number of pairs (Holm 1979); on rows put aside by McNemar's test.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Final, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from ..arrays import Array
from ..data import Source, check_choice, check_number, encode_labels, encoded, label_column, position_of, same_length
from ..decision import Decision, posterior
from ..decision.posteriors import costs_decide
from ..engine import ProgressOption
from ..errors import AliasWarning, DegenerateDataError, Message, ParameterError, Setting
from ..estimators.registry import new_model
from ..evaluation.intervals import Interval, check_level, quantile
from ..results import Result, aligned, columns_of, jsonable, listed, metric_name, p_value, percent, shown
from .cross_validation import (
    METRICS,
    CrossValidation,
    ValidationTask,
    cross_validated,
    hold_out_every_row,
    named_models,
    training_inflation,
    wanted_scoring,
    within_range,
)
from .held_out import (
    LabelledTable,
    held_out_share,
    labelled_table,
    mcnemar_p_value,
    paired_shares_interval,
    plan_rounds,
    selection_bias,
)


@dataclass(frozen=True, repr=False)
class McNemar(Result):
    """How two classifiers differ on the same rows.

    Attributes
    ----------
    first_only, second_only : int
        Rows only the first, or only the second, gets right (the cells b and c of the four-fold table).
    n_rows : int
        All rows.
    p_value : float
        Two-sided test that both are right equally often.
    difference, low, high : float
        Accuracy of the first minus that of the second, and its confidence interval (Agresti & Min 2005).
    level : float
        Of the interval.
    method : str
        How the p-value was computed.
    """

    first_only: int
    second_only: int
    n_rows: int
    p_value: float
    difference: float
    low: float
    high: float
    level: float
    method: str

    def __str__(self) -> str:
        return (
            f"McNemar ({self.method}): {self.first_only} rows only the first gets right, {self.second_only} only the "
            f"second, of {self.n_rows}; difference {self.difference:.4f} ({100 * self.level:g} % interval "
            f"{self.low:.4f} to {self.high:.4f}), {p_value(self.p_value, name='p')}"
        )


def mcnemar(
    y: Any, first: Any, second: Any, method: Literal["mid-p", "exact"] = "mid-p", level: float = 0.95
) -> McNemar:
    """McNemar's test of the predictions of two classifiers on the same rows.

    Only rows on which one is right and the other wrong tell them apart; if both were equally good, each such row would
    be a toss of a fair coin. "exact" is the binomial test, which is cautious; "mid-p" counts the observed outcome
    half, and holds its level better (Fagerland, Lydersen & Laake 2013).

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    first, second : array-like of shape (n_rows,)
        What the two classifiers predict.
    method : {"mid-p", "exact"}, default="mid-p"
        How the p-value is computed.
    level : float, default=0.95
        Confidence level of the interval of the difference.

    Returns
    -------
    McNemar
        Counts, p-value, and the difference of the two accuracies with its interval.

    See Also
    --------
    compare : Cross-validates models, and applies this test to rows put aside.
    compare_auc : The same question for two rankings.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 153-157.
    Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs data: mid-p and
    asymptotic are better than exact conditional. BMC Medical Research Methodology 13, 91.
    Agresti, A. & Min, Y. (2005). Simple improved confidence intervals for comparing matched proportions. Statistics in
    Medicine 24, 729-740.

    Examples
    --------
    >>> test = mcnemar([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 1, 1])
    >>> test.first_only, test.second_only, round(test.p_value, 4)
    (3, 1, 0.375)
    """
    level = check_level(level)
    check_choice("method", method, ("mid-p", "exact"))
    truth, a, b = (label_column(name, labels) for name, labels in (("y", y), ("first", first), ("second", second)))
    same_length(y=truth, first=a, second=b)
    right, other = _agree(a, truth), _agree(b, truth)
    only = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(other & ~right))
    low, high = paired_shares_interval(*only, truth.size, level)
    p, difference = mcnemar_p_value(*only, mid=method == "mid-p"), (only[0] - only[1]) / truth.size
    return McNemar(*only, truth.size, p, difference, low, high, level, method)


def _agree(predicted: Array, truth: Array) -> Array:
    """Which predictions are right; they may be of several types, such as numbers beside the word "abstain"."""
    (found, codes), (classes, own) = encoded(predicted), encoded(truth)
    position = position_of(classes)
    return np.array([position.get(label, -1) for label in found])[codes] == own


BASELINE = "baseline"  #: the name of what always predicts the most frequent class


class ClassShares(ClassifierMixin, BaseEstimator):
    """The shares of the classes in the training rows, whatever the row: the baseline.

    scikit-learn's ``DummyClassifier`` says the same, but to fit it loads libraries for as long as all folds take.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        if isinstance(X, Source):
            data = X.labelled()
            self.classes_, self.shares_ = data.classes, data.class_weights / data.total_weight
            return self
        self.classes_, codes = encode_labels(y, X.shape[0])
        weight = np.bincount(codes, sample_weight, len(self.classes_))
        self.shares_ = weight / weight.sum()
        return self

    def predict(self, X: Any) -> Any:
        return np.full(X.shape[0], self.classes_[np.argmax(self.shares_)])

    def predict_proba(self, X: Any) -> Any:
        return np.tile(self.shares_, (X.shape[0], 1))


#: What is shown beside the measure that models are compared by.
SHOWN_METRICS = ("log_loss", "accuracy", "balanced_accuracy", "auc")
#: A class with more than this share of the rows dominates them: see `default_metric`.
_DOMINANT = 0.8
_INTERVAL_AND_TEST = ("difference", "low", "high", "p_value")
#: Posteriors of all models are kept up to this many numbers (128 MB), those of one model up to four times as many.
_MOST_KEPT = 1 << 24
#: Models that invert a covariance, or hold its parts, take part by default up to this many columns or rows.
_INVERTED_COLUMNS = 1000
#: A support vector machine takes part up to this many values times machines,
_SVM_VALUES = 3_000_000
#: and a lasso up to this many values (of as many columns as can matter) times scores squared: its second derivatives.
_LASSO_WORK = 1_000_000
#: and the pool of families up to this much work of its second derivatives: values of its sample times columns times
#: scores squared. The nested fits then add 1 to 30 s of CPU on real tables of up to 3,000 rows (26 classes of 4,800
#: rows would take 150 s).
_MAX_AUTO_WORK: Final = 5e8


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """The mean score of one model minus that of another, on the same splits.

    Attributes
    ----------
    first, second : str
        Names of the models.
    difference, low, high : float
        The difference of their means, and its interval, that of the pair by itself.
    p_value, p_adjusted : float
        Test that there is no difference, by itself and adjusted for the number of pairs (Holm 1979): of models among
        each other, or of models with the baseline.
    holdout : McNemar or None
        The test on rows put aside.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    holdout: McNemar | None = None

    def __str__(self) -> str:
        return (
            f"{self.first} minus {self.second}: {self.difference:+.4f} ({self.low:+.4f} to {self.high:+.4f}), "
            f"{p_value(self.p_value, name='p')}, {p_value(self.p_adjusted, name='p')} adjusted for the number of pairs"
        )

    def involves(self, *models: str) -> bool:
        return set(models) <= {self.first, self.second}


@dataclass(frozen=True, repr=False)
class ChosenFigure(Result):
    """The figure of the best model as an estimate for new rows, corrected for its having been chosen by the same rows.

    Attributes
    ----------
    model, metric : str
        The model, and what it was chosen by.
    n_models : int
        Among how many it was chosen.
    plain : float
        Its figure as it stands in the comparison; the more models, and the fewer rows, the more optimistic it is.
    value : float
        The bias-corrected figure; that of a single model is not corrected.
    low, high : float
        Its confidence interval, which also contains what other training rows would change; NaN for measures that are
        no means of rows (AUC, F1, balanced accuracy), where it is not known.
    level : float
        Of the interval.
    """

    model: str
    metric: str
    n_models: int
    plain: float
    value: float
    low: float
    high: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """The figures, and a sentence with them."""
        return {**super().to_dict(), "sentence": str(self)}

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f" ({_in_units(self.metric, self.low, unit=False)} to "
        interval += f"{_in_units(self.metric, self.high)})" if interval else ""
        chosen = f" after correction for choosing among {self.n_models} models" if self.n_models > 1 else ""
        interval = interval.replace(" (", f" ({100 * self.level:g} % confidence interval ")
        return (
            f"Expected {metric_name(self.metric)} of {self.model} on new rows: "
            f"{_in_units(self.metric, self.value)}{chosen}{interval}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Models on the same splits, the differences between them, and a plain statement on which are real.

    Attributes
    ----------
    cross_validation : CrossValidation
        Of all models, with the baseline (always the most frequent class).
    metric : str
        What is compared.
    differences : list of Difference
        Of every pair.
    level : float
        A difference is real if its adjusted p-value is below ``1 - level``.
    ranking : tuple of str
        The models by their mean score, best first.
    left_out : dict of Message
        The models that could not be fitted to some training part, with the reason.
    reason : str
        Why this metric was chosen, where that needs saying.
    margin : float or None
        Models whose whole interval of the difference lies within it are equivalent.
    inflation : float
        The standard error of the best model's figure with the variance that comes from the training rows, over that
        without; NaN where it is not known.
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
        """The same, the baseline excepted."""
        return next(name for name in self.ranking if name != BASELINE)

    @property
    def recommended(self) -> str | None:
        """The best of the models that are better than the baseline beyond chance; None where no model is."""
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
        """The models equivalent to the best one: their whole interval of the difference lies within the margin.

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
        raise ParameterError(f"There is no pair of {first!r} and {second!r}. Models: {', '.join(self.ranking)}.")

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
        parts += [f"Of these, {_called(better)} is better than {_called(worse)}." for better, worse in apart]
        others = [name for name in self.ranking if name not in top]
        beaten = [name for name in others if all(self.is_real(name, better) for better in top)]
        if beaten:
            who = {1: "It is", 2: "Both are"}.get(len(top), "All of them are")
            gaps = [self._shown(abs(self.difference(self.best, name).difference), points=True) for name in beaten]
            leads = [f"{_called(b)} ({_called(self.best)} by {gap})" for b, gap in zip(beaten, gaps, strict=True)]
            parts.append(f"{who} better than {listed(leads)}.")
        for name in [name for name in others if name not in beaten]:
            alike = [_called(better) for better in top if not self.is_real(name, better)]
            parts.append(
                f"{_called(name)} is worse than {self.best}, but not significantly different from {listed(alike)}."
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
        names, margin = list(map(_called, self.equivalent)), self._shown(self.margin, points=True)
        who = listed(names) if names else "No model"
        return [f"{who} {'are' if len(names) > 1 else 'is'} equivalent to {_called(self.best)} (margin {margin})."]

    def better_by_auc(self) -> list[str]:
        """What AUC shows where the measure does not: a class of few rows hardly moves the mean of all rows.

        With 20 rows of a class in 40,000 and an AUC of 0.9, the log-loss was not told apart from the baseline's.
        """
        found, models = self.cross_validation, [name for name in self.ranking if name != BASELINE]
        tested = {name: found.difference(name, BASELINE, "auc", self.level) for name in models if self.metric != "auc"}
        better = [n for n, own in tested.items() if own.difference > 0 and len(models) * own.p_value < 1 - self.level]
        if not better:
            return []
        auc = found.estimate(better[0], "auc", self.level)
        told = f"Yet {better[0]} puts rows in order better than chance: its AUC is {auc.value:.3f} "
        return [f"{told}({100 * self.level:g} % interval {auc.low:.3f} to {auc.high:.3f}). Compare the models by AUC."]

    @property
    def rarely_found(self) -> str:
        """The class that the accuracy of the best model hides, in words; empty where there is none."""
        confusion = self.cross_validation.confusion(self.best_model)
        label = confusion.hidden_class
        if label is None:
            return ""
        recall = confusion.recall[confusion.classes.tolist().index(label)]
        return (
            f"Of the rows of {shown(label)}, {self.best_model} finds only {percent(float(recall))}; its balanced "
            f"accuracy is {percent(confusion.overall('balanced_accuracy'))}."
        )

    @cached_property
    def chosen(self) -> ChosenFigure | None:
        """The best model's figure as an estimate for new rows, bias-corrected; None where only the baseline is left.

        The interval reaches from the figure before the correction to the better side, and from the corrected one to
        the worse: how large the bias is, is itself uncertain.
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
        """The models, the baseline excepted, best first."""
        return [name for name in self.ranking if name != BASELINE]

    def _top_statement(self, top: list[str]) -> str:
        value = self._shown(self.cross_validation.mean(self.best, self.metric))
        if len(top) == 2:
            names = listed(list(map(_called, top)))
            return f"{names} are not significantly different ({self._words(self.difference(*top))})."
        statement = f"{_called(self.best)} has the best {metric_name(self.metric)} ({value})"
        if len(top) == 1:
            return f"{statement}."
        farthest = top[-1]
        statement += f"; {listed(list(map(_called, top[1:])))} are not significantly different (the farthest, "
        return f"{statement}{_called(farthest)}: {self._words(self.difference(self.best, farthest))})."

    def _words(self, pair: Difference) -> str:
        """A difference and its interval, of the higher score from the lower."""
        sign = -1 if pair.difference < 0 else 1
        value, edges = abs(pair.difference), sorted((sign * pair.low, sign * pair.high))
        words = (
            f"difference {self._shown(value, points=True)}, {100 * self.level:g} % interval "
            f"{self._shown(edges[0], unit=False)} to {self._shown(edges[1], unit=False)}"
        )
        if pair.p_adjusted >= 1 - self.level > pair.p_value:
            alike = [one for one in self.differences if one.involves(BASELINE) == pair.involves(BASELINE)]
            words += f" by itself; adjusted for {len(alike)} pairs, {p_value(pair.p_adjusted, name='p')}"
        return words

    def _shown(self, value: float, points: bool = False, unit: bool = True) -> str:
        return _in_units(self.metric, value, points, unit)

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
        names = ("first", "second", *_INTERVAL_AND_TEST, "p_adjusted")
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
            p_values = [pair.p_adjusted, *([pair.holdout.p_value] if pair.holdout else [])]
            interval = f"{pair.low:+.4f} to {pair.high:+.4f}"
            rows.append([pair.first, pair.second, f"{pair.difference:+.4f}", interval, *map(p_value, p_values)])
        below = [str(line) for line in (self.chosen, self.rarely_found) if line]
        return "\n".join([self.sentence, *below, "", *aligned(rows, left=2), "", str(self.cross_validation)])


def _in_units(metric: str, value: float, points: bool = False, unit: bool = True) -> str:
    """A figure as sentences have it: shares of rows in percent, their differences in points."""
    if metric not in ("accuracy", "error_rate", "balanced_accuracy", "f1"):
        return f"{value:.4f}"
    shown_value = round(100 * value, 1) + 0.0  # not -0.0
    return f"{shown_value:.1f}" + ((" points" if points else " %") if unit else "")


def _called(name: str) -> str:
    return f"the {name}" if name == BASELINE else name


def compare(
    models: Any, X: Any, y: Any = None, cv: Any = None, repeats: int = 1, metric: str | None = None,
    holdout: Any = None, groups: Any = None, costs: Any = None, sample_weight: Any = None, stratify: bool = True,
    level: float = 0.95, margin: float | None = None, random_state: Any = 0, train_scores: bool = False,
    keep: Literal["predictions", "posteriors"] = "posteriors",
    on_failure: Literal["raise", "leave_out"] = "raise", positive: Any = None, progress: ProgressOption = None,
    n_jobs: int | None = None,
) -> Comparison:  # fmt: skip
    """Cross-validate models on the same splits and test which differences between them are significant.

    A baseline that knows the shares of the classes alone takes part. Differences are judged row by row while rows are
    held out: McNemar's mid-p test for shares of rows, Student's t for losses and costs, DeLong's for AUCs, adjusted for
    the number of pairs by Holm's rule, those of models and those with the baseline each for themselves. These
    tests are about the models of these splits; that a fit to other training rows would rank them likewise is not
    tested. The best model's own figure is corrected for its having been chosen, and its interval contains what other
    training rows would change (`Comparison.chosen`).

    Parameters
    ----------
    models : classifier, list, dict of str to classifier, or None
        The competitors. None: those of these that suit the size of the table, each tuned within its training rows and
        with probabilities: logistic regression with a ridge and with a lasso, linear and regularised discriminant
        analysis, naive Bayes, a support vector machine and least squares, calibrated, and `AutoClassifier`, whose
        choice of settings and weights is repeated within each training part (nested cross-validation).
    X : array-like, sparse matrix, frame of shape (n_rows, n_columns), or rows of `open_dataset`
        Rows to learn from and to be judged by. With ``models=None`` text, dates and missing values of a frame are coded
        first (`TableEncoder`).
    y : array-like of shape (n_rows,), optional
        Their classes. A dataset has its own.
    cv : int, float, splitter or iterable of (train, test), optional
        The splits, as in `cross_validate`; by default ten folds, or five from 5,000 rows on, where classes and
        groups allow.
    repeats : int, default=1
        How often the folds are dealt.
    metric : str, optional
        What is compared: "log_loss", "accuracy", "balanced_accuracy", "auc", "f1" (of the positive class; without one,
        the mean over the classes), "cost", "error_rate" or "brier". By default the cost if there are costs, else the
        log-loss; where a model has no probabilities accuracy, or AUC if one class has more than 80 % of the rows.
        Log-loss, accuracy, balanced accuracy and AUC are measured in any case.
    holdout : float or (X, y), optional
        Rows put aside first, as a share or as they are, on which the models are compared once more by McNemar's test
        (mid-p, every row counting once), after being fitted to all others.
    groups : array-like of shape (n_rows,), optional
        Which rows belong together: a group is never learned from and judged by at the same time.
    costs : array-like of shape (K, K), dict or frame, optional
        What each prediction (column) costs for each true class (row). Models with probabilities, and the baseline,
        then decide by least expected cost, except those that decide themselves, such as `DecisionClassifier`.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each one stands for.
    stratify : bool, default=True
        Spread every class evenly over the folds.
    level : float, default=0.95
        Confidence level of intervals and statements.
    margin : float, optional
        Difference of the metric that does not matter in practice, such as 0.01 of accuracy. Models whose whole
        interval of the difference from the best one lies within it are equivalent (`Comparison.equivalent`).
    random_state : int or Generator, default=0
        Decides how folds are dealt and which rows are put aside.
    train_scores : bool, default=False
        Whether over- and underfitting are looked for as well.
    keep : {"posteriors", "predictions"}, default="posteriors"
        What is kept of each row while it was held out, where the splits hold out every row once. Predicted classes
        always are. Posteriors (scores of models that have none) are kept of all models while repeats x rows x classes
        x models is at most 16 million; beyond that of the best model, which is cross-validated once more, up to 64
        million. A report is made of them.
    on_failure : {"raise", "leave_out"}, default="raise"
        What becomes of a model that cannot be fitted to some training part: an error, or `Comparison.left_out`.
    positive : label, optional
        The positive class, as in `cross_validate`.
    progress : bool or callable, optional
        Whether a bar is shown; None: only on a terminal, after a second. A function is told the fits done and their
        number, from any thread; what it raises ends the work.
    n_jobs : int, optional
        How many threads work: None as many as BLAS, -1 one for each core.

    Returns
    -------
    Comparison
        The ranking, the difference of every pair with interval and p-values, and a sentence on which are significant.

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
    LDA and naive Bayes are not significantly different (difference 0.0750, 95 % interval -0.0562 to 0.2062).
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
        X, holdout = _coded(X, y, holdout)
    table = labelled_table(X, y, sample_weight, groups)
    shares = dict(zip(table.classes.tolist(), table.all_class_weights / table.all_class_weights.sum(), strict=True))
    unsuited: dict[str, Message] = {}
    if models is None and isinstance(table.X, Source):
        models = {name: new_model(name) for name in _BY_PASSES}
    elif models is None:
        models, unsuited = default_models(table.indexable, len(table.classes))
    named = named_models(models)
    if BASELINE in named:
        raise ParameterError(f"The name {BASELINE!r} is kept for the most frequent class. Rename that model.")
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
            warnings.simplefilter("ignore", AliasWarning)  # every level has a column, for models with a penalty
            predicted = {name: _answers(learning.fitted(named[name]), held_out[0], costs) for name in found.models}
    differences = _differences(found, metric, level, predicted, None if held_out is None else held_out[1])
    best = next((name for name in order if name != BASELINE), None)
    inflation = math.nan if best is None else training_inflation(task, found, best, metric, n_jobs)
    left_out = unsuited | {name: Message(*error.parts) for name, error in errors.items()}
    return Comparison(found, metric, differences, level, tuple(order), left_out, reason, margin, inflation)


def _coded(X: Any, y: Any, holdout: Any) -> tuple[Any, Any]:
    """A frame with text or gaps, and rows put aside, coded as numbers; others as they are."""
    from ..estimators.auto import needs_coding  # not needed where models are named
    from ..tables.encoder import TableEncoder

    if not needs_coding(X):
        return X, holdout
    encoder = TableEncoder(coding="full").fit(X, y)
    return encoder.rows(X), (encoder.rows(holdout[0]), holdout[1]) if isinstance(holdout, tuple) else holdout


#: What is compared on a dataset unless models are named: fitted by passes over its rows.
_BY_PASSES = ("logistic", "lda", "qda", "gaussian-nb")


def default_metric(costs: Any, shares: dict[Any, float], models: dict[str, Any]) -> tuple[str, str]:
    """What models are compared by, and why where that needs saying.

    The cost if there are costs, else the log-loss, which sees how sure each answer is, and rare classes as well as
    others. Where a model has no probabilities it is accuracy; and where one class has more than four fifths of the rows
    the AUC: there always naming it is nearly as accurate as anything can be, and accuracy hardly sees the others.
    """
    if costs is not None:
        return "cost", ""
    without = [name for name, model in models.items() if not hasattr(model, "predict_proba")]
    if not without:
        return "log_loss", ""
    has = "has" if len(without) == 1 else "have"
    reason = f"Models are compared by {{}}, not by log-loss, because {listed(without, most=3)} {has} no probabilities"
    label = max(shares, key=lambda name: shares[name])
    if shares[label] <= _DOMINANT:
        return "accuracy", f"{reason.format('accuracy')}."
    why = f"{shown(label)} is {percent(shares[label])} of the rows: accuracy hardly sees the others."
    if all(hasattr(models[name], "decision_function") for name in without):
        return "auc", f"{reason.format('AUC')}, and {why}"
    return "accuracy", f"{reason.format('accuracy')} (nor scores, for an AUC); but {why}"


def default_models(X: Any, n_classes: int) -> tuple[dict[str, Any], dict[str, Message]]:
    """The models that suit a table of this size, by their short names, and why others are left out.

    Each tunes itself within the rows it is given, and has probabilities; naive Bayes has its pooling and temperature
    from rows held out, for columns that depend on each other make its own far too sure.
    """
    from ..estimators.auto import ENOUGH_ROWS  # which loads all families

    (n, p), scores = X.shape, 1 if n_classes == 2 else n_classes
    dense, sample = not sp.issparse(X), min(n, ENOUGH_ROWS)
    size = f"{n:,} rows, {p:,} columns and {n_classes} classes"
    is_sparse = "sparse rows would have to be held whole"
    many_columns = is_sparse if not dense else f"a covariance of {p:,} columns would have to be inverted"
    long = f"with {size} this would take longer than all other models together"
    invertible = dense and min(n, p) <= _INVERTED_COLUMNS  # few rows span few dimensions
    suits = {
        "ridge": (True, ""),
        "lasso": (n * min(n, p) * scores**2 <= _LASSO_WORK, long),
        "lda": (invertible, many_columns),
        "rda": (invertible, many_columns),
        "naive-bayes-calibrated": (dense, is_sparse),
        "svm-calibrated": (n * p * scores <= _SVM_VALUES, long),
        "least-squares-calibrated": (invertible, many_columns),
        "auto": (dense and sample * p * min(sample, p) * scores**2 <= _MAX_AUTO_WORK, long if dense else is_sparse),
    }
    models = {name: new_model(name) for name, (fits, _) in suits.items() if fits}
    remedy = ("; to include it, name it in ", Setting("models"), ".")
    return models, {name: Message(why, *remedy) for name, (fits, why) in suits.items() if not fits}


def _cross_validated(
    task: ValidationTask, metric: str, keep: str, progress: ProgressOption, n_jobs: int | None
) -> tuple[CrossValidation, dict[str, DegenerateDataError]]:
    """The scores of all models that could be fitted, with what is kept of their predictions: see `compare`."""
    numbers = len(task.rounds) * task.table.n_rows * len(task.table.classes)  # posteriors of one model
    every_row, few = hold_out_every_row(task.rounds), len(task.models) * numbers <= _MOST_KEPT
    kept = None if not every_row else keep if few else "predictions"
    found, errors = cross_validated(replace(task, keep=kept), progress, n_jobs)
    if found.models == (BASELINE,):
        raise next(iter(errors.values()))
    _refuse_unmeasured(found, metric)
    if keep == "posteriors" and every_row and not few and numbers <= 4 * _MOST_KEPT:
        models = [name for name in found.models if name != BASELINE]
        best = (max if METRICS[metric] else min)(models, key=lambda name: found.mean(name, metric))
        alone, _ = cross_validated(replace(task, models={best: task.models[best]}, keep="posteriors"), False, n_jobs)
        found = replace(found, out_of_fold={**found.out_of_fold, **alone.out_of_fold})
    return found, errors


def _refuse_unmeasured(found: CrossValidation, metric: str) -> None:
    for name in found.models:
        if math.isnan(found.mean(name, metric)):
            raise ParameterError(
                f"Model {name!r} has no {metric} (its scores are not probabilities, or a class was never held out). "
                "Compare by accuracy, or leave the model out."
            )


def _put_aside(
    table: LabelledTable, holdout: Any, stratify: bool, random_state: Any
) -> tuple[LabelledTable, tuple[Any, Any] | None]:
    """The rows to cross-validate on, and those (with labels) that are put aside."""
    if holdout is not None and isinstance(table.X, Source):
        raise ParameterError(Setting("holdout"), " is for rows in memory: evaluate models on files put aside.")
    if holdout is None or (isinstance(holdout, tuple) and len(holdout) == 2):
        return table, holdout
    if not isinstance(holdout, float) or not 0 < holdout < 1:
        raise ParameterError(f"holdout must be a share of the rows between 0 and 1, or a pair (X, y), got {holdout!r}.")
    split = held_out_share(table, holdout, stratify, np.random.default_rng(random_state))
    return table.take(split.train), (table.rows(split.test), table.labels(split.test))


def _answers(fitted: Any, X: Any, costs: Any) -> Array:
    """What a model predicts, or what the costs decide on its probabilities."""
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
    for family in (with_baseline, ~with_baseline):  # what has learned anything, and what is better than what
        adjusted[family] = holm(p_values[family])
    differences = []
    for (first, second), estimate, p in zip(pairs, estimates, adjusted.tolist(), strict=True):
        test = mcnemar(truth, predicted[first], predicted[second], level=level) if predicted else None
        differences.append(Difference(first, second, **vars(estimate), p_adjusted=p, holdout=test))
    return differences


def holm(p_values: Array) -> Array:
    """P-values adjusted for their number by Holm's (1979) step-down rule.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(stepped, 1.0)[np.argsort(order)]
