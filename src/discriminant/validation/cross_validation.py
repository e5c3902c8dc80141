"""What scores of several splits tell together, although the splits share most of their rows.

Two training parts of 10-fold cross-validation have 8/9 of their rows in common, so their scores vary together and the
usual standard error of a mean is too small. Nadeau & Bengio (2003) correct it: the variance of the mean of J scores is
``(1/J + n_test/n_train)`` times the variance between them, on J - 1 degrees of freedom.


Over- and underfitting in words, from scores on training rows and on held-out rows.

What cross-validation found.

Cross-validation of several models on the same folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import ParameterError
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.intervals import Estimate, Interval, wilson_interval
from ..results import aligned, frame_of, jsonable, plain
from .out_of_fold import (
    CEILINGS,
    Judge,
    SplitResult,
    named_models,
    refuse_weightless_models,
    scored_models,
    wanted_scoring,
)
from .splits import LabelledTable, Round, Split, labelled_table, plan_rounds

Array = np.ndarray[Any, Any]


def _by_splits(value: float, standard_error: float, degrees: float) -> Estimate:
    """A mean over splits, or over the rows of one, with its standard error and degrees of freedom."""
    method = "mean over rows" if math.isinf(degrees) else "corrected resampled t"
    return Estimate.by_standard_error(float(value), standard_error, degrees, method=method)


def corrected_mean(values: Array, ratio: float) -> Estimate:
    """The mean of scores of several splits; ``ratio`` is the size of a test part over that of its training part.

    Scores that are not defined (NaN) are left out; of a single one nothing is known but its value.
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return _by_splits(known[0] if known.size else np.nan, np.nan, np.nan)
    # Equal scores have no variance at all, not that of the rounding of their mean.
    variance = 0.0 if np.ptp(known) == 0 else float(known.var(ddof=1))
    return _by_splits(known.mean(), float(np.sqrt((1 / known.size + ratio) * variance)), known.size - 1)


def holm(p_values: Array) -> Array:
    """P-values adjusted for their number by Holm's (1979) step-down rule.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    stepped = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


#: A difference is worth a word only from this share of the error it is measured against.
_NOTABLE = 0.1


def fitting_notes(
    name: str, train: Array, held_out: Array, baseline: Array, ratio: float, one_split_error: float = np.nan
) -> list[str]:
    """What accuracies on training rows and on held-out rows say about a model, a sentence for each sign.

    Overfitting: the gap between the two is beyond chance and a notable part of the error. Underfitting: even on the
    rows it learned from, the model is hardly better than the most frequent class.
    """
    gap = _paired(train - held_out, ratio, one_split_error)
    notes = []
    if gap.interval().low > 0 and gap.value > _NOTABLE * (1 - held_out.mean()):
        notes.append(
            f"{name} overfits: accuracy {train.mean():.4f} on the rows it learned from, {held_out.mean():.4f} on "
            f"held-out rows (gap {gap}). More rows, fewer columns or a stronger penalty "
            "narrow it."
        )
    gain = _paired(train - baseline, ratio, one_split_error)
    if gain.interval().low <= 0 or gain.value <= _NOTABLE * (1 - baseline.mean()):
        notes.append(
            f"{name} underfits: accuracy {train.mean():.4f} on the rows it learned from and {held_out.mean():.4f} on "
            f"held-out rows, where the most frequent class alone reaches {baseline.mean():.4f}. Other columns, terms "
            "of higher order or a weaker penalty may help."
        )
    return notes


def _paired(differences: Array, ratio: float, one_split_error: float) -> Estimate:
    if len(differences) == 1:
        return _by_splits(differences[0], one_split_error, np.inf)
    return corrected_mean(differences, ratio)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of each model on each split, with means, intervals and what was predicted.

    Attributes
    ----------
    models : tuple of str
    metrics : tuple of str
    classes : array of shape (K,)
    values : array of shape (models, splits, metrics)
        Scores on the held-out rows; NaN where a model has no such score (posteriors from a model without them).
    train_values : array of the same shape, or None
        Scores on the rows learned from, if asked for.
    baseline : array of shape (splits,)
        Accuracy on the held-out rows of always predicting the class that is most frequent among the training rows.
    counts : array of shape (models, K, K)
        Held-out rows by true class (rows) and predicted class (columns), over all splits.
    ratio : float
        Size of a test part over that of its training part, on average.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    classes: Array
    values: Array
    baseline: Array
    counts: Array
    ratio: float
    train_values: Array | None = None
    errors: Array = field(default_factory=lambda: np.empty(0), repr=False)  #: within one split, as means over rows
    kept_codes: dict[str, Array] = field(default_factory=dict, repr=False)
    kept_posteriors: dict[str, Array] = field(default_factory=dict, repr=False)

    @property
    def n_splits(self) -> int:
        return int(self.values.shape[1])

    def scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split."""
        return self.values[self._model(model), :, self._metric(metric)]

    def train_scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split on the rows the model learned from."""
        if self.train_values is None:
            raise ParameterError("There are no scores on training rows. Ask for them: train_scores=True.")
        return self.train_values[self._model(model), :, self._metric(metric)]

    def mean(self, model: str, metric: str = "accuracy") -> float:
        """The mean over the splits."""
        return self.estimate(model, metric).value

    def estimate(self, model: str, metric: str = "accuracy") -> Estimate:
        """The mean with a standard error that allows for the rows the splits share (Nadeau & Bengio 2003).

        Of a single split the standard error is that of a mean over its rows.
        """
        scores = self.scores(model, metric)
        if len(scores) == 1:
            error = float(self.errors[self._model(model), 0, self._metric(metric)])
            return _by_splits(scores[0], error, math.inf)
        return corrected_mean(scores, self.ratio)

    def interval(self, model: str, metric: str = "accuracy", level: float = 0.95) -> Interval:
        """A confidence interval of the mean, cut off where the measure ends; Wilson's for a share in a single split."""
        estimate = self.estimate(model, metric)
        if self.n_splits == 1 and metric in ("accuracy", "error_rate"):
            return wilson_interval(estimate.value, float(self.counts[self._model(model)].sum()), level)
        floor = -math.inf if metric == "cost" else 0.0
        return estimate.interval(level).within(floor, CEILINGS.get(metric, math.inf))

    def difference(self, first: str, second: str, metric: str = "accuracy") -> Estimate:
        """The first model's mean minus the second's, split by split, with its standard error."""
        gaps = self.scores(first, metric) - self.scores(second, metric)
        if len(gaps) == 1:
            return _by_splits(gaps[0], math.nan, math.nan)
        return corrected_mean(gaps, self.ratio)

    def confusion(self, model: str) -> ConfusionMatrix:
        """Held-out rows by true and predicted class, over all splits."""
        return ConfusionMatrix.from_counts(self.counts[self._model(model)], self.classes)

    def predictions(self, model: str) -> Array:
        """The class predicted for each row while it was held out; with repeats, a row of the result for each."""
        return self.classes[self._kept(self.kept_codes, model, "predictions")]

    def posteriors(self, model: str) -> Array:
        """The posteriors of each row while it was held out; with repeats, along a first axis."""
        return self._kept(self.kept_posteriors, model, "posteriors")

    def _kept(self, kept: dict[str, Array], model: str, what: str) -> Array:
        self._model(model)
        if model not in kept:
            raise ParameterError(
                f"No {what} of model {model!r} were kept. Ask for them with keep={what!r}; models whose scores are not "
                "probabilities have no posteriors."
            )
        return kept[model][0] if len(kept[model]) == 1 else kept[model]

    @cached_property
    def notes(self) -> list[str]:
        """Signs of over- and underfitting in words; needs scores on the training rows."""
        if self.train_values is None or "accuracy" not in self.metrics:
            return []
        notes = []
        for name in self.models:
            notes += fitting_notes(
                name, self.train_scores(name), self.scores(name), self.baseline, self.ratio, self._one_split_error(name)
            )
        return notes

    def _one_split_error(self, model: str) -> float:
        """The standard error of one split's accuracy, all there is to judge by if there is but one."""
        return float(self.errors[self._model(model), 0, self._metric("accuracy")])

    def to_frame(self) -> Any:
        """A frame with one row for each model and split: the scores, and those on training rows if there are any."""
        pairs = [(name, split) for name in self.models for split in range(self.n_splits)]
        columns: dict[str, list[Any]] = {"model": [name for name, _ in pairs], "split": [split for _, split in pairs]}
        for m, metric in enumerate(self.metrics):
            columns[metric] = self.values[:, :, m].ravel().tolist()
            if self.train_values is not None:
                columns[f"train_{metric}"] = self.train_values[:, :, m].ravel().tolist()
        return frame_of(columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything that is printed, and the scores it comes from, in plain numbers and text."""
        return jsonable(
            {
                "classes": [plain(label) for label in self.classes],
                "splits": self.n_splits,
                "models": {
                    name: {metric: self._summary(name, metric) for metric in self.metrics} for name in self.models
                },
                "confusion": {name: self.counts[i].tolist() for i, name in enumerate(self.models)},
                "baseline_accuracy": float(self.baseline.mean()),
                "notes": self.notes,
            }
        )

    def _summary(self, model: str, metric: str) -> dict[str, Any]:
        lower, upper = self.interval(model, metric)
        summary = {"mean": self.mean(model, metric), "lower": lower, "upper": upper}
        summary["scores"] = self.scores(model, metric).tolist()
        if self.train_values is not None:
            summary["train_scores"] = self.train_scores(model, metric).tolist()
        return summary

    def __str__(self) -> str:
        head = ["model", *self.metrics] + (["accuracy in training"] if self._shows_training else [])
        lines = aligned([head, *([name, *self._cells(name)] for name in self.models)])
        how = f"mean of {self.n_splits} splits" if self.n_splits > 1 else "one split"
        foot = f"{how}, 95 % intervals; the most frequent class alone reaches {self.baseline.mean():.4f}"
        return "\n".join([*lines, foot, *self.notes])

    __repr__ = __str__

    @property
    def _shows_training(self) -> bool:
        return self.train_values is not None and "accuracy" in self.metrics

    def _cells(self, model: str) -> Sequence[str]:
        cells = [self._cell(model, metric) for metric in self.metrics]
        return [*cells, f"{self.train_scores(model).mean():.4f}"] if self._shows_training else cells

    def _cell(self, model: str, metric: str) -> str:
        estimate = self.estimate(model, metric)
        if not math.isfinite(estimate.value):
            return "not available"
        if self.n_splits > 1 and math.isfinite(estimate.standard_error):
            return str(estimate)
        low, high = self.interval(model, metric)
        return f"{estimate.value:.4f}" + (f" ({low:.4f} to {high:.4f})" if math.isfinite(low) else "")

    def _model(self, name: str) -> int:
        if name not in self.models:
            raise ParameterError(f"There is no model {name!r}. Models: {', '.join(self.models)}.")
        return self.models.index(name)

    def _metric(self, name: str) -> int:
        if name not in self.metrics:
            raise ParameterError(f"{name!r} was not measured. Measured: {', '.join(self.metrics)}.")
        return self.metrics.index(name)


def cross_validate(
    models: Any,
    X: Any,
    y: Any,
    folds: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    costs: Any = None,
    metrics: Any = None,
    sample_weight: Any = None,
    stratify: bool = True,
    random_state: Any = 0,
    train_scores: bool = False,
    keep: Literal["predictions", "posteriors"] | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Scores of models on rows they have not seen, all models on the same splits.

    Models that are read from class moments (`LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis`,
    `GaussianNB`, `LeastSquaresClassifier`, `FisherDiscriminant`) share one pass over the rows for all folds; the result
    is that of fitting each to each training part. Models that choose a parameter by folds of their own, and all
    others, are fitted part by part.

    Parameters
    ----------
    models : a classifier, a list of them, or a dict from names to classifiers
    X, y, sample_weight
        As in ``fit``. Weights count in fitting and in scoring: weight 3 means three such rows.
    folds : int, float, splitter or iterable of (train, test)
        A number of folds: rows are shuffled and dealt to the folds in turn, class after class, so that each class is
        spread evenly. A share such as 0.25: a hold-out, that share of each class. Anything of scikit-learn's that
        splits, or row numbers, are taken as they are. The order of rows in time is not guessed: give
        ``TimeSeriesSplit()`` where it matters.
    repeats : int
        How often rows are dealt anew.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are held out together.
    costs : array-like of shape (K, K), dict or frame, optional
        Cost of predicting class j (column) where k (row) is true; adds the metric "cost". Classes are in sorted order
        or by name, ``{true: {predicted: cost}}``.
    metrics : str or list of str, optional
        Of "accuracy", "error_rate", "log_loss", "brier", "auc" and "cost". By default accuracy, log-loss and Brier
        score, and the cost if there are costs; "auc" has to sort, and is computed when asked for. Log-loss and Brier
        score (halved for two classes) need posteriors.
    stratify : bool
        Whether classes are spread evenly over the folds.
    random_state : int or Generator
        Decides the shuffling.
    train_scores : bool
        Also score the training rows, for `CrossValidation.notes` on over- and underfitting.
    keep : {"predictions", "posteriors"}, optional
        What to keep of each row's answers while it was held out.
    progress : bool, optional
        A progress bar on stderr: True, False, or None for one on a terminal if it takes longer than a second.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> print(cross_validate({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y))
    model               accuracy         log_loss            brier
    LDA          0.9800 ± 0.0335  0.0615 ± 0.0697  0.0381 ± 0.0498
    naive Bayes  0.9533 ± 0.0657  0.1365 ± 0.1599  0.0781 ± 0.0954
    mean of 10 splits, 95 % intervals; the most frequent class alone reaches 0.3333
    """
    named, table = named_models(models), labelled_table(X, y, sample_weight)
    if table.weight is not None:
        refuse_weightless_models(named)
    scoring = wanted_scoring(metrics, costs, table.classes, posteriors=_checked_keep(keep) == "posteriors")
    rounds = plan_rounds(table, folds, repeats, groups, stratify, random_state)
    if keep is not None and any(part.fold is None for part in rounds):
        raise ParameterError(f"keep={keep!r} needs splits that hold out every row exactly once; these do not.")
    judge = Judge(table, scoring, train_scores, keep)
    return _gathered(named, rounds, judge, scored_models(named, rounds, judge, progress, n_jobs))


def _checked_keep(keep: Any) -> Any:
    if keep not in (None, "predictions", "posteriors"):
        raise ParameterError(f"keep must be None, 'predictions' or 'posteriors', got {keep!r}.")
    return keep


def _gathered(
    models: dict[str, Any], rounds: list[Round], judge: Judge, outcomes: list[list[SplitResult]]
) -> CrossValidation:
    table, splits = judge.table, [split for part in rounds for split in part.splits]
    weights = [_class_weights(table, split) for split in splits]
    learned, held = (np.array(part) for part in zip(*weights, strict=True))
    return CrossValidation(
        models=tuple(models),
        metrics=judge.scoring.metrics,
        classes=table.classes,
        values=np.array([[outcome.held_out.values for outcome in own] for own in outcomes]),
        errors=np.array([[outcome.held_out.errors for outcome in own] for own in outcomes]),
        train_values=_train_values(outcomes),
        baseline=held[np.arange(len(splits)), learned.argmax(axis=1)] / held.sum(axis=1),
        counts=np.array([sum(outcome.counts for outcome in own) for own in outcomes]),
        ratio=float(held.sum() / learned.sum()),
        kept_codes=_kept(models, outcomes, rounds, "codes"),
        kept_posteriors=_kept(models, outcomes, rounds, "posterior"),
    )


def _train_values(outcomes: list[list[SplitResult]]) -> Array | None:
    values = [[None if outcome.train is None else outcome.train.values for outcome in own] for own in outcomes]
    return None if values[0][0] is None else np.array(values)


def _class_weights(table: LabelledTable, split: Split) -> tuple[Array, Array]:
    """The weight of each class among the training rows and among the test rows of a split."""
    test = table.class_weights(split.test)
    if split.given is None:
        return table.all_class_weights - test, test
    return table.class_weights(split.given), test


def _kept(
    models: dict[str, Any], outcomes: list[list[SplitResult]], rounds: list[Round], what: str
) -> dict[str, Array]:
    """What was kept of each row's answers, by model: arrays (rounds, rows, ...) in row order."""
    kept = {}
    for name, own in zip(models, outcomes, strict=True):
        parts = iter(getattr(outcome, what) for outcome in own)
        if getattr(own[0], what) is not None:
            kept[name] = np.stack([_in_row_order([next(parts) for _ in part.splits], part) for part in rounds])
    return kept


def _in_row_order(parts: list[Array], part: Round) -> Array:
    rows = np.concatenate([split.test for split in part.splits])
    values = np.concatenate(parts)
    ordered = np.empty_like(values)
    ordered[rows] = values
    return ordered
