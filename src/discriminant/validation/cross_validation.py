"""Cross-validation of several models on the same folds, and what scores of several splits tell together.

Two training parts of 10-fold cross-validation have 8/9 of their rows in common, so their scores vary together and the
usual standard error of a mean is too small. Nadeau & Bengio (2003) correct it (corrected resampled t-test): the
variance of the mean of J scores is ``(1/J + n_test/n_train)`` times the variance between them, on J - 1 degrees of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import DegenerateDataError, ParameterError
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation, evaluation_of
from ..evaluation.intervals import Estimate, Interval, wilson_interval
from ..results import Result, aligned, jsonable, plain
from .out_of_fold import (
    Predictions,
    SplitResult,
    ValidationTask,
    named_models,
    refuse_weightless_models,
    split_results,
    wanted_scoring,
)
from .splits import LabelledTable, Round, Split, labelled_table, plan_rounds

Array = np.ndarray[Any, Any]

#: The largest possible value of measures that have one.
_CEILINGS = {"accuracy": 1.0, "error_rate": 1.0, "auc": 1.0}
#: A gap between two accuracies is worth a word only from this share of the error it is measured against.
_NOTABLE = 0.1
_CLASSES_ONLY = "Only predicted classes were kept in the comparison, no probabilities."


def _over_splits(value: float, standard_error: float, degrees: float) -> Estimate:
    """A mean over splits, or over the rows of one, with its standard error and degrees of freedom."""
    method = "mean over rows" if math.isinf(degrees) else "corrected resampled t"
    return Estimate.by_standard_error(float(value), standard_error, degrees, method=method)


def corrected_mean(values: Array, ratio: float) -> Estimate:
    """The mean of scores of several splits; ``ratio`` is the size of a test part over that of its training part.

    Scores that are not defined (NaN) are left out; of a single one nothing is known but its value.
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return _over_splits(known[0] if known.size else np.nan, np.nan, np.nan)
    # Equal scores have no variance at all, not that of the rounding of their mean.
    variance = 0.0 if np.ptp(known) == 0 else float(known.var(ddof=1))
    return _over_splits(known.mean(), float(np.sqrt((1 / known.size + ratio) * variance)), known.size - 1)


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
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
    truth : array of shape (n_rows,)
        The class code of each row; ``weights`` and ``groups`` where rows have any.
    out_of_fold : dict of Predictions
        What was kept of each model's predictions of the rows while they were held out, by round and row.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    classes: Array
    values: Array
    baseline: Array
    counts: Array
    ratio: float
    truth: Array
    weights: Array | None = None
    groups: Array | None = None
    train_values: Array | None = None
    errors: Array = field(default_factory=lambda: np.empty(0))  #: within one split, as means over rows
    out_of_fold: dict[str, Predictions] = field(default_factory=dict)

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
        return self._mean(self.scores(model, metric), model, metric)

    def _mean(self, values: Array, model: str, metric: str = "accuracy") -> Estimate:
        """The mean of scores of a model, or of their distance from others; a single one has the error of the score."""
        if len(values) > 1:
            return corrected_mean(values, self.ratio)
        error = float(self.errors[self._model(model), 0, self._metric(metric)])
        return _over_splits(values[0], error, math.inf)

    def interval(self, model: str, metric: str = "accuracy", level: float = 0.95) -> Interval:
        """A confidence interval of the mean, cut off where the measure ends; Wilson's for a share in a single split."""
        estimate = self.estimate(model, metric)
        if self.n_splits == 1 and metric in ("accuracy", "error_rate"):
            return wilson_interval(estimate.value, float(self.counts[self._model(model)].sum()), level)
        floor = -math.inf if metric == "cost" else 0.0
        return estimate.interval(level).within(floor, _CEILINGS.get(metric, math.inf))

    def difference(self, first: str, second: str, metric: str = "accuracy") -> Estimate:
        """The first model's mean minus the second's, split by split, with its standard error."""
        gaps = self.scores(first, metric) - self.scores(second, metric)
        if len(gaps) == 1:
            return _over_splits(gaps[0], math.nan, math.nan)
        return corrected_mean(gaps, self.ratio)

    def confusion(self, model: str) -> ConfusionMatrix:
        """Held-out rows by true and predicted class, over all splits."""
        return ConfusionMatrix.from_counts(self.counts[self._model(model)], self.classes)

    def predictions(self, model: str) -> Array:
        """The class predicted for each row while it was held out; with repeats, a row of the result for each."""
        return self.classes[self._kept(model, "codes", "predictions")]

    def posteriors(self, model: str) -> Array:
        """The posteriors of each row while it was held out; with repeats, along a first axis."""
        return self._kept(model, "posterior", "posteriors")

    def _kept(self, model: str, what: str, keep: str) -> Array:
        self._model(model)
        kept = getattr(self.out_of_fold.get(model), what, None)
        if kept is None:
            raise ParameterError(
                f"No {keep} of model {model!r} were kept. Ask for them with keep={keep!r}; models whose scores are not "
                "probabilities have no posteriors."
            )
        return kept[0] if len(kept) == 1 else kept

    def evaluation(self, model: str, costs: Any = None, level: float = 0.95) -> Evaluation:
        """The evaluation of a model's out-of-fold predictions, of repeats the first.

        Where they were not kept it is made of the counts of true and predicted classes alone.
        """
        counts, kept = self.confusion(model), self.out_of_fold.get(model)
        if kept is None:
            total = float(counts.total)
            parts = self.classes, round(total), total, level
            return Evaluation.of_parts(*parts, confusion=counts, notes=[_CLASSES_ONLY])
        # A fold whose training part has no rows of some class has no scores for it.
        scores = kept.scores[0] if kept.scores is not None and np.isfinite(kept.scores[0]).all() else None
        found = evaluation_of(
            self.classes[self.truth],
            self.classes[kept.codes[0]],
            None if kept.posterior is None else kept.posterior[0],
            scores,
            classes=self.classes,
            costs=costs,
            sample_weight=self.weights,
            groups=self.groups,
            level=level,
        )
        if kept.posterior is None and kept.scores is None:
            found.notes.append(_CLASSES_ONLY)
        return found

    @cached_property
    def notes(self) -> list[str]:
        """Signs of over- and underfitting in words; needs scores on the training rows.

        Overfitting: the gap between accuracy on training rows and on held-out rows is beyond chance and a notable part
        of the error. Underfitting: even on the rows it learned from, the model is hardly better than the most frequent
        class.
        """
        return [note for name in self.models for note in self._fitting_notes(name)] if self._shows_training else []

    def _fitting_notes(self, name: str) -> list[str]:
        train, held_out, baseline = self.train_scores(name), self.scores(name), self.baseline
        gap, gain = self._mean(train - held_out, name), self._mean(train - baseline, name)
        notes = []
        if gap.interval().low > 0 and gap.value > _NOTABLE * (1 - held_out.mean()):
            notes.append(
                f"{name} overfits: accuracy {train.mean():.4f} on the rows it learned from, {held_out.mean():.4f} on "
                f"held-out rows (gap {gap}). More rows, fewer columns or a stronger penalty "
                "narrow it."
            )
        if gain.interval().low <= 0 or gain.value <= _NOTABLE * (1 - baseline.mean()):
            notes.append(
                f"{name} underfits: accuracy {train.mean():.4f} on the rows it learned from and {held_out.mean():.4f} "
                f"on held-out rows, where the most frequent class alone reaches {baseline.mean():.4f}. Other columns, "
                "terms of higher order or a weaker penalty may help."
            )
        return notes

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each model and split: the scores, and those on training rows if there are any."""
        pairs = [(name, split) for name in self.models for split in range(self.n_splits)]
        columns: dict[str, list[Any]] = {"model": [name for name, _ in pairs], "split": [split for _, split in pairs]}
        for m, metric in enumerate(self.metrics):
            columns[metric] = self.values[:, :, m].ravel().tolist()
            if self.train_values is not None:
                columns[f"train_{metric}"] = self.train_values[:, :, m].ravel().tolist()
        return columns

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
        low, high = self.interval(model, metric)
        summary = {"mean": self.mean(model, metric), "low": low, "high": high, "scores": self.scores(model, metric)}
        if self.train_values is not None:
            summary["train_scores"] = self.train_scores(model, metric)
        return summary

    def __str__(self) -> str:
        head = ["model", *self.metrics] + (["accuracy in training"] if self._shows_training else [])
        lines = aligned([head, *([name, *self._cells(name)] for name in self.models)])
        how = f"mean of {self.n_splits} splits" if self.n_splits > 1 else "one split"
        foot = f"{how}, 95 % intervals; the most frequent class alone reaches {self.baseline.mean():.4f}"
        return "\n".join([*lines, foot, *self.notes])

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
    cv: Any = None,
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
    cv : int, float, splitter or iterable of (train, test), optional
        A number of folds; by default ten, or as many as the smallest class has rows and as there are groups. Rows are
        shuffled and dealt to the folds in turn, class after class, so that each class is spread evenly. A share such as
        0.25: a hold-out, that share of each class. Anything of scikit-learn's that splits, or row numbers, are taken
        as they are. The order of rows in time is not guessed: give ``TimeSeriesSplit()`` where it matters.
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
        Whether classes are spread evenly over the folds; every class then needs a row for each fold.
    random_state : int or Generator
        Decides the shuffling.
    train_scores : bool
        Also score the training rows, for `CrossValidation.notes` on over- and underfitting.
    keep : {"predictions", "posteriors"}, optional
        What to keep of each row's predictions while it was held out.
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
    named, table = named_models(models), labelled_table(X, y, sample_weight, groups)
    scoring = wanted_scoring(metrics, costs, table.classes)
    rounds = plan_rounds(table, cv, repeats, stratify, random_state)
    task = ValidationTask(named, table, rounds, scoring, train_scores, _checked_keep(keep, rounds))
    return cross_validated(task, progress, n_jobs)[0]


def _checked_keep(keep: Any, rounds: list[Round]) -> Any:
    if keep not in (None, "predictions", "posteriors"):
        raise ParameterError(f"keep must be None, 'predictions' or 'posteriors', got {keep!r}.")
    if keep is not None and not hold_out_every_row(rounds):
        raise ParameterError(f"keep={keep!r} needs splits that hold out every row exactly once; these do not.")
    return keep


def hold_out_every_row(rounds: list[Round]) -> bool:
    """Whether every round holds out every row exactly once, so that each row has an out-of-fold prediction."""
    return all(part.fold is not None for part in rounds)


def cross_validated(
    task: ValidationTask, progress: bool | None, n_jobs: int | None
) -> tuple[CrossValidation, dict[str, DegenerateDataError]]:
    """The scores of all models that could be fitted, and the errors of those that are left out."""
    table = task.table
    if table.weight is not None:
        refuse_weightless_models(task.models)
    found, left_out = split_results(task, progress, n_jobs)
    results = list(found.values())
    learned, held = np.array([_class_weights(table, split) for split in task.splits]).swapaxes(0, 1)
    result = CrossValidation(
        models=tuple(found),
        metrics=task.scoring.metrics,
        classes=table.classes,
        values=np.array([[one.held_out.values for one in own] for own in results]),
        baseline=held[np.arange(len(held)), learned.argmax(axis=1)] / held.sum(axis=1),
        counts=np.array([sum(one.counts for one in own) for own in results]),
        ratio=float(held.sum() / learned.sum()),
        truth=table.codes,
        weights=table.weight,
        groups=table.groups,
        train_values=_train_values(results) if task.train_scores else None,
        errors=np.array([[one.held_out.errors for one in own] for own in results]),
        out_of_fold={name: _out_of_fold(own, task.rounds) for name, own in found.items()} if task.keep else {},
    )
    return result, left_out


def _train_values(results: list[list[SplitResult]]) -> Array:
    return np.array([[one.train.values for one in own if one.train is not None] for own in results])


def _class_weights(table: LabelledTable, split: Split) -> tuple[Array, Array]:
    """The weight of each class among the training rows and among the test rows of a split."""
    test = table.class_weights(split.test)
    if split.given is None:
        return table.all_class_weights - test, test
    return table.class_weights(split.given), test


def _out_of_fold(results: list[SplitResult], rounds: list[Round]) -> Predictions:
    """The predictions of a model by round and row."""
    kept = [one.predictions for one in results]
    return Predictions(*(_by_row([getattr(one, what) for one in kept], rounds) for what in vars(kept[0])))


def _by_row(parts: list[Array | None], rounds: list[Round]) -> Any:
    """Values of the test rows of all splits as an array (rounds, rows, ...); None where some split has none."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    values = np.empty((len(rounds), rounds[0].splits[0].n_rows, *known[0].shape[1:]), known[0].dtype)
    remaining = iter(known)
    for own, part in zip(values, rounds, strict=True):
        for split in part.splits:
            own[split.test] = next(remaining)
    return values
