"""McNemar's test: two classifiers on the same rows.

Which differences between models are real."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from ..errors import ParameterError
from ..evaluation.inputs import encoded, label_column, position_of, same_length
from ..evaluation.intervals import check_level, quantile
from ..results import aligned, frame_of, jsonable, listed, metric_name
from .cross_validation import CrossValidation, cross_validate, holm
from .out_of_fold import METRICS, named_models
from .splits import LabelledTable, group_codes, held_out_share, labelled_table

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class McNemar:
    """How two classifiers differ on the same rows.

    Attributes
    ----------
    first_only, second_only : int
        Rows only the first, or only the second, gets right (the cells b and c of the four-fold table).
    n_rows : int
    p_value : float
        Two-sided test that both are right equally often.
    difference, lower, upper : float
        Accuracy of the first minus that of the second, and its confidence interval (Agresti & Min 2005).
    level : float
    method : str
        How the p-value was computed.
    """

    first_only: int
    second_only: int
    n_rows: int
    p_value: float
    difference: float
    lower: float
    upper: float
    level: float
    method: str

    def __str__(self) -> str:
        return (
            f"McNemar ({self.method}): {self.first_only} rows only the first gets right, {self.second_only} only the "
            f"second, of {self.n_rows}; difference {self.difference:.4f} ({100 * self.level:g} % interval "
            f"{self.lower:.4f} to {self.upper:.4f}), p = {self.p_value:.4g}"
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
    method : {"mid-p", "exact"}
    level : float
        Confidence level of the interval of the difference.

    Returns
    -------
    McNemar

    Examples
    --------
    >>> test = mcnemar([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0], [0, 1, 0, 0, 1, 1])
    >>> test.first_only, test.second_only, round(test.p_value, 4)
    (3, 1, 0.375)
    """
    level = check_level(level)
    truth, a, b = (label_column(name, labels) for name, labels in (("y", y), ("first", first), ("second", second)))
    same_length(y=truth, first=a, second=b)
    right, other = _agree(a, truth), _agree(b, truth)
    only = int(np.count_nonzero(right & ~other)), int(np.count_nonzero(other & ~right))
    difference, reach = _shrunken_difference(*only, truth.size, level)
    return McNemar(
        *only,
        truth.size,
        _coin_test(*only, method),
        (only[0] - only[1]) / truth.size,
        max(difference - reach, -1.0),
        min(difference + reach, 1.0),
        level,
        method,
    )


def _agree(predicted: Array, truth: Array) -> Array:
    """Which predictions are right; they may be of several types, such as numbers beside the word "abstain"."""
    (found, codes), (classes, own) = encoded(predicted), encoded(truth)
    position = position_of(classes)
    return np.array([position.get(label, -1) for label in found])[codes] == own


def _coin_test(b: int, c: int, method: str) -> float:
    if method not in ("mid-p", "exact"):
        raise ParameterError(f"method must be 'mid-p' or 'exact', got {method!r}.")
    fewer, tosses = min(b, c), b + c
    below = 2 * float(stats.binom.cdf(fewer, tosses, 0.5))
    return min(below - (float(stats.binom.pmf(fewer, tosses, 0.5)) if method == "mid-p" else 0.0), 1.0)


def _shrunken_difference(b: int, c: int, n: int, level: float) -> tuple[float, float]:
    """Centre and reach of the interval: Wald's after half a row has been added to each of the four cells."""
    n, disagreeing, difference = n + 2, b + c + 1, b - c
    spread = np.sqrt(disagreeing - difference**2 / n) / n
    return difference / n, float(quantile(level) * spread)


_BASELINE = "baseline"


@dataclass(frozen=True)
class Difference:
    """The mean score of one model minus that of another, on the same splits.

    ``p_adjusted`` is adjusted for the number of pairs (Holm 1979); the interval is that of the pair by itself.
    """

    first: str
    second: str
    difference: float
    lower: float
    upper: float
    p_value: float
    p_adjusted: float
    holdout: McNemar | None = None

    def involves(self, *models: str) -> bool:
        return set(models) <= {self.first, self.second}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models on the same splits, the differences between them, and a plain statement on which are real.

    Attributes
    ----------
    cross_validation : CrossValidation
        Of all models, with the baseline (always the most frequent class).
    metric : str
    differences : list of Difference
        Of every pair.
    level : float
        A difference is real if its adjusted p-value is below ``1 - level``.
    ranking : tuple of str
        The models by their mean score, best first.
    """

    cross_validation: CrossValidation
    metric: str
    differences: list[Difference]
    level: float
    ranking: tuple[str, ...]

    @property
    def best(self) -> str:
        """The model with the best mean score."""
        return self.ranking[0]

    @property
    def as_good_as_best(self) -> list[str]:
        """The best model and those that cannot be told apart from it, best first."""
        return [name for name in self.ranking if name == self.best or not self.is_real(self.best, name)]

    def difference(self, first: str, second: str) -> Difference:
        """The difference of two models, in the order they are kept."""
        for pair in self.differences:
            if pair.involves(first, second) and first != second:
                return pair
        raise ParameterError(f"There is no pair of {first!r} and {second!r}. Models: {', '.join(self.ranking)}.")

    def is_real(self, first: str, second: str) -> bool:
        """Whether the two models can be told apart."""
        return self.difference(first, second).p_adjusted < 1 - self.level

    @property
    def sentence(self) -> str:
        """Which models cannot be told apart, and which are better than which."""
        top = self.as_good_as_best
        parts = [self._top_statement(top), *self._differences_within(top)]
        others = [name for name in self.ranking if name not in top]
        beaten = [name for name in others if all(self.is_real(name, better) for better in top)]
        if beaten:
            who = {1: "It", 2: "Both"}.get(len(top), "All of them")
            are = "is" if len(top) == 1 else "are"
            parts.append(f"{who} {are} better than {listed([self._beaten_by(name) for name in beaten])}.")
        for name in [name for name in others if name not in beaten]:
            alike = [_called(better) for better in top if not self.is_real(name, better)]
            parts.append(f"{_called(name)} is worse than {self.best}, but cannot be told apart from {listed(alike)}.")
        if _BASELINE in top and len(top) > 1:
            parts.append("What cannot be told apart from the baseline has learned nothing that shows.")
        return " ".join(part[0].upper() + part[1:] if part.startswith("the ") else part for part in parts)

    def _top_statement(self, top: list[str]) -> str:
        value = self._shown(self.cross_validation.mean(self.best, self.metric))
        if len(top) == 2:
            return f"{listed(list(map(_called, top)))} cannot be told apart ({self._words(self.difference(*top))})."
        statement = f"{_called(self.best)} has the best {self._metric_name} ({value})"
        if len(top) == 1:
            return f"{statement}."
        farthest = top[-1]
        statement += f"; {listed(list(map(_called, top[1:])))} cannot be told apart from it (the farthest, "
        return f"{statement}{_called(farthest)}: {self._words(self.difference(self.best, farthest))})."

    def _differences_within(self, top: list[str]) -> list[str]:
        """Statements on models that both cannot be told apart from the best, but from each other."""
        pairs = [pair for pair in combinations(top[1:], 2) if self.is_real(*pair)]
        return [f"Of these, {_called(better)} is better than {_called(worse)}." for better, worse in pairs]

    def _beaten_by(self, name: str) -> str:
        gap = abs(self.difference(self.best, name).difference)
        return f"{_called(name)} ({_called(self.best)} by {self._shown(gap, points=True)})"

    def _words(self, pair: Difference) -> str:
        """A difference and its interval, of the higher score from the lower."""
        sign = -1 if pair.difference < 0 else 1
        value, edges = abs(pair.difference), sorted((sign * pair.lower, sign * pair.upper))
        words = (
            f"difference {self._shown(value, points=True)}, {100 * self.level:g} % interval "
            f"{self._shown(edges[0], unit=False)} to {self._shown(edges[1], unit=False)}"
        )
        if pair.p_adjusted >= 1 - self.level > pair.p_value:
            words += f" by itself; adjusted for {len(self.differences)} pairs, p = {pair.p_adjusted:.2g}"
        return words

    def _shown(self, value: float, points: bool = False, unit: bool = True) -> str:
        if self.metric not in ("accuracy", "error_rate"):
            return f"{value:.4f}"
        return f"{100 * value:.1f}" + ((" points" if points else " %") if unit else "")

    @property
    def _metric_name(self) -> str:
        return metric_name(self.metric)

    def to_frame(self) -> Any:
        """A frame with one row for each pair."""
        return frame_of({name: [row[name] for row in self._rows()] for name in self._rows()[0]})

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain numbers and text."""
        return jsonable(
            {
                "metric": self.metric,
                "level": self.level,
                "best": self.best,
                "as_good_as_best": self.as_good_as_best,
                "sentence": self.sentence,
                "differences": self._rows(),
                "cross_validation": self.cross_validation.to_dict(),
            }
        )

    def _rows(self) -> list[dict[str, Any]]:
        names = ("first", "second", "difference", "lower", "upper", "p_value", "p_adjusted")
        rows = [{name: getattr(pair, name) for name in names} for pair in self.differences]
        for row, pair in zip(rows, self.differences, strict=True):
            if pair.holdout is not None:
                row |= {
                    "holdout_difference": pair.holdout.difference,
                    "holdout_lower": pair.holdout.lower,
                    "holdout_upper": pair.holdout.upper,
                    "holdout_p_value": pair.holdout.p_value,
                }
        return rows

    def __str__(self) -> str:
        head = [f"{self._metric_name} of", "minus", "difference", f"{100 * self.level:g} % interval", "p (Holm)"]
        with_holdout = any(pair.holdout is not None for pair in self.differences)
        rows = [head + (["p (McNemar, hold-out)"] if with_holdout else [])]
        for pair in self.differences:
            cells = [pair.first, pair.second, f"{pair.difference:+.4f}", f"{pair.lower:+.4f} to {pair.upper:+.4f}"]
            cells.append(f"{pair.p_adjusted:.4f}")
            rows.append(cells + ([f"{pair.holdout.p_value:.4f}"] if pair.holdout else []))
        return "\n".join([self.sentence, "", *aligned(rows, left=2), "", str(self.cross_validation)])

    __repr__ = __str__


def _called(name: str) -> str:
    return f"the {name}" if name == _BASELINE else name


def compare(
    models: Any,
    X: Any,
    y: Any,
    folds: Any = 10,
    repeats: int = 1,
    metric: str | None = None,
    holdout: Any = None,
    groups: Any = None,
    costs: Any = None,
    sample_weight: Any = None,
    stratify: bool = True,
    level: float = 0.95,
    random_state: Any = 0,
    train_scores: bool = False,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Cross-validate models on the same splits and say which differences between them are real.

    A baseline that always predicts the most frequent class takes part. Differences are judged by the corrected
    resampled t-test (Nadeau & Bengio 2003), adjusted for the number of pairs by Holm's rule.

    Parameters
    ----------
    models, X, y, folds, repeats, groups, costs, sample_weight, stratify, random_state, train_scores, progress, n_jobs
        As in `cross_validate`.
    metric : str, optional
        What is compared: "accuracy", "error_rate", "log_loss", "brier", "auc" or "cost". By default accuracy, or the
        cost if there are costs.
    holdout : float or (X, y), optional
        Rows put aside first, as a share or as they are, on which the models are compared once more by McNemar's test
        (mid-p, every row counting once), after being fitted to all others.
    level : float
        Confidence level of intervals and statements.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y)
    >>> print(result.sentence)
    LDA and naive Bayes cannot be told apart (difference 2.7 points, 95 % interval -3.2 to 8.5).
    Both are better than the baseline (LDA by 64.7 points).
    """
    level = check_level(level)
    named = _with_baseline(named_models(models))
    metric = metric if metric is not None else "accuracy" if costs is None else "cost"
    metrics = tuple(dict.fromkeys((metric, "accuracy")))
    table = labelled_table(X, y, sample_weight)
    groups = None if groups is None else group_codes(groups, table.n_rows)
    learning, kept = _put_aside(table, holdout, groups, stratify, random_state)
    rows = table if learning is None else table.take(learning)
    crossed = cross_validate(
        named,
        rows.X,
        rows.classes[rows.codes],
        folds,
        repeats,
        groups if groups is None or learning is None else groups[learning],
        costs,
        metrics,
        rows.weight,
        stratify,
        random_state,
        train_scores,
        None,
        progress,
        n_jobs,
    )
    _refuse_unmeasured(crossed, metric)
    answers = {} if kept is None else _holdout_answers(named, rows, kept[0])
    differences = _differences(crossed, metric, level, answers, None if kept is None else kept[1])
    order = sorted(named, key=lambda name: crossed.mean(name, metric), reverse=METRICS[metric])
    return Comparison(crossed, metric, differences, level, tuple(order))


def _refuse_unmeasured(crossed: CrossValidation, metric: str) -> None:
    if crossed.n_splits == 1:
        raise ParameterError(
            "One split does not show how differences vary. Use several folds, and holdout= for rows put aside."
        )
    for name in crossed.models:
        if math.isnan(crossed.mean(name, metric)):
            raise ParameterError(
                f"Model {name!r} has no {metric} (its scores are not probabilities, or a class was never held out). "
                "Compare by accuracy, or leave the model out."
            )


def _with_baseline(models: dict[str, Any]) -> dict[str, Any]:
    if _BASELINE in models:
        raise ParameterError(f"The name {_BASELINE!r} is kept for the most frequent class. Rename that model.")
    return {**models, _BASELINE: DummyClassifier(strategy="prior")}


def _put_aside(
    table: LabelledTable, holdout: Any, groups: Array | None, stratify: bool, random_state: Any
) -> tuple[Array | None, tuple[Any, Any] | None]:
    """The rows to cross-validate on (None: all), and those (with labels) that are put aside."""
    if holdout is None:
        return None, None
    if isinstance(holdout, tuple) and len(holdout) == 2:
        return None, holdout
    if not isinstance(holdout, float) or not 0 < holdout < 1:
        raise ParameterError(f"holdout must be a share of the rows between 0 and 1, or a pair (X, y), got {holdout!r}.")
    split = held_out_share(table, holdout, groups, stratify, np.random.default_rng(random_state))
    return split.train, (table.rows(split.test), table.labels(split.test))


def _holdout_answers(models: dict[str, Any], rows: LabelledTable, X: Any) -> dict[str, Array]:
    everything = np.arange(rows.n_rows)
    labels, weights = rows.labels(everything), rows.fitting(everything)
    return {name: np.asarray(clone(model).fit(rows.X, labels, **weights).predict(X)) for name, model in models.items()}


def _differences(
    crossed: CrossValidation, metric: str, level: float, answers: dict[str, Array], truth: Any
) -> list[Difference]:
    pairs = list(combinations(crossed.models, 2))
    estimates = [crossed.difference(*pair, metric) for pair in pairs]
    p_values = np.array([estimate.p_value for estimate in estimates])
    adjusted = holm(p_values)
    differences = []
    for (first, second), estimate, p, p_adjusted in zip(pairs, estimates, p_values, adjusted, strict=True):
        low, high = estimate.interval(level)
        test = mcnemar(truth, answers[first], answers[second], level=level) if answers else None
        differences.append(Difference(first, second, estimate.value, low, high, float(p), float(p_adjusted), test))
    return differences
