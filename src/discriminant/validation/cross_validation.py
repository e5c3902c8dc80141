"""Cross-validation of several models on the same folds.

Measures and differences are those of all held-out rows together (`held_out`). Only quantities that are not measures of
rows, such as the gap between training and held-out scores, are judged by their variance between splits. Two training
parts of 10-fold cross-validation have 8/9 of their rows in common, and the usual standard error of a mean is then too
small; Nadeau & Bengio (2003) correct it: the variance of the mean of J scores is ``(1/J + n_test/n_train)`` times the
variance between them, on J - 1 degrees of freedom.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from ..arrays import Array, ArrayLike, MatrixLike, RandomState
from ..data import check_choice
from ..decision.costs import CostsLike
from ..decision.posteriors import costs_decide
from ..engine import ProgressOption
from ..errors import AliasWarning, DegenerateDataError, ParameterError
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.evaluation import Evaluation
from ..evaluation.inputs import positive_code
from ..evaluation.intervals import RANGE_MARK, RANGE_NOTE, Estimate, Interval, no_interval, quantile
from ..evaluation.model_evaluation import evaluation_of
from ..evaluation.predictions import EvaluationOptions, LabelledPredictions
from ..evaluation.sampling import Mean
from ..results import Result, aligned, jsonable, plain, shown
from .fold_fits import ModelsLike, SplitResult, ValidationTask, named_models, refuse_weightless_models, split_results
from .held_out import (
    TABLE_MEASURES,
    AreaOfRows,
    HeldOutRows,
    MeanOfRows,
    MeasureOfTable,
    ModelMeasure,
    Pooled,
    ShareOfRows,
    difference_of,
)
from .labelled_table import labelled_table
from .paired import PairedDifference
from .scoring import METRICS, SHARE_METRICS, Predictions, Scoring, wanted_scoring, within_range
from .splits import MANY_ROWS, Round, Split, SplitsLike, plan_rounds

#: Name of the baseline, which predicts the class frequencies of the training rows.
BASELINE: Final = "baseline"
#: Minimum gap between two accuracies, as a share of the error, for a note on over- or underfitting.
_MIN_NOTABLE_GAP: Final = 0.1
_BY_COSTS: Final = "Predictions are the classes of minimum expected cost."
_CLASSES_ONLY: Final = "Only predicted classes were kept in the comparison, no probabilities."


def corrected_mean(values: Array, ratio: float) -> Estimate:
    """The mean of scores of several splits; ``ratio`` is the size of a test part over that of its training part.

    Undefined scores (NaN) are left out; a single score has no standard error.
    """
    known, method = values[np.isfinite(values)], "corrected resampled t"
    if known.size < 2:
        return Estimate.by_standard_error(
            float(known[0]) if known.size else math.nan, math.nan, math.nan, method=method
        )
    # Equal scores have no variance at all, not that of the rounding of their mean.
    variance = 0.0 if np.ptp(known) == 0 else float(known.var(ddof=1))
    error = math.sqrt((1 / known.size + ratio) * variance)
    return Estimate.by_standard_error(float(known.mean()), error, known.size - 1, method=method)


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
    """Scores of each model on each split, with means, intervals and predictions.

    Attributes
    ----------
    models : tuple of str
        Names, in the given order.
    metrics : tuple of str
        The measures.
    classes : array of shape (K,)
        Labels, in sorted order.
    positive : label or None
        The positive class; None for more than two classes if none was named.
    values : array of shape (models, splits, metrics)
        Scores on the held-out rows; NaN where a model has no such score (posteriors from a model without them).
    train_values : array of the same shape, or None
        Scores on the training rows, if requested.
    baseline : array of shape (splits,)
        Accuracy on the held-out rows of the most frequent class of the training rows.
    counts : array of shape (models, K, K)
        Held-out rows by true class (rows) and predicted class (columns), over all splits.
    ratio : float
        Mean size of a test part divided by that of its training part.
    truth : array of shape (n_rows,)
        The class code of each row.
    weights, groups : arrays of shape (n_rows,), or None
        Of the rows, or None.
    pooled : dict of dict
        The measures of each model on all held-out rows together.
    decided_by_costs : tuple of str
        Models whose predictions are the classes of minimum expected cost.
    out_of_fold : dict of Predictions
        Out-of-fold predictions of each model, by round and row.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    classes: Array
    values: Array
    baseline: Array
    counts: Array
    ratio: float
    truth: Array
    positive: Any = None
    weights: Array | None = None
    groups: Array | None = None
    train_values: Array | None = None
    pooled: dict[str, dict[str, Pooled]] = field(default_factory=dict)
    decided_by_costs: tuple[str, ...] = ()
    out_of_fold: dict[str, Predictions] = field(default_factory=dict)

    @property
    def n_splits(self) -> int:
        return int(self.values.shape[1])

    def scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split."""
        return self.values[self._place(model, metric)]

    def train_scores(self, model: str, metric: str = "accuracy") -> Array:
        """The score of each split on its training rows."""
        if self.train_values is None:
            raise ParameterError("There are no scores on training rows. Use train_scores=True.")
        return self.train_values[self._place(model, metric)]

    def mean(self, model: str, metric: str = "accuracy") -> float:
        """The measure on all held-out rows together; NaN if the model has none."""
        found = self._pooled(model, metric)
        return math.nan if found is None else found.value

    def _pooled(self, model: str, metric: str) -> Pooled | None:
        self._place(model, metric)
        return self.pooled[model].get(metric)

    def estimate(self, model: str, metric: str = "accuracy", level: float = 0.95) -> Estimate:
        """The measure on all held-out rows together, with its interval."""
        interval = self.interval(model, metric, level)
        return Estimate.by_interval(
            metric, "overall", self.mean(model, metric), interval, "the model has no such score"
        )

    def interval(self, model: str, metric: str = "accuracy", level: float = 0.95) -> Interval:
        """A confidence interval of the mean over the splits' models of their score on new rows.

        It is that of `evaluate`: Wilson's for shares, DeLong's for an AUC, that of skewed means for losses. A row
        counts once for any number of repeats. The variance due to the training rows is not included. If the AUC was
        measured and is not better than chance, other intervals than those of shares are ranges.
        """
        found = self._pooled(model, metric)
        if found is None or math.isnan(found.value):
            return no_interval(level, "the model has no such score")
        return within_range(metric, self._measure(model, metric).interval(level))

    def _measure(self, model: str, metric: str) -> ModelMeasure:
        area = None if model == BASELINE else self.pooled[model].get("auc")
        area = area if isinstance(area, AreaOfRows) else None
        return ModelMeasure(self.pooled[model][metric], METRICS[metric], area)

    def difference(self, first: str, second: str, metric: str = "accuracy", level: float = 0.95) -> PairedDifference:
        """The first model's score minus the second's on the same rows, with interval and test.

        Shares of rows: McNemar's mid-p test and Agresti & Min's interval; means: Student's t of the differences of
        rows; AUCs: DeLong's covariance of pairs within splits; balanced accuracy and F1: the linearised variance. If
        the difference rests on few rows, or the models are hardly better than chance, the coverage of the interval and
        the level of the test are unknown (``is_range``).
        """
        if self._pooled(first, metric) is None or self._pooled(second, metric) is None:
            return PairedDifference(math.nan, math.nan, math.nan, math.nan)
        baseline = None if BASELINE in (first, second) else self.pooled.get(BASELINE, {}).get(metric)
        one, other = self._measure(first, metric), self._measure(second, metric)
        return difference_of(one, other, baseline, level)

    def confusion(self, model: str) -> ConfusionMatrix:
        """Held-out rows by true and predicted class, over all splits."""
        return ConfusionMatrix.from_counts(self.counts[self._model(model)], self.classes)

    def predictions(self, model: str) -> Array:
        """The out-of-fold predictions; with repeats, a row of the result for each repeat."""
        return self.classes[self._kept(model, "codes", "predictions")]

    def posteriors(self, model: str) -> Array:
        """The out-of-fold posteriors; with repeats, along a first axis."""
        return self._kept(model, "posterior", "posteriors")

    def _kept(self, model: str, what: str, keep: str) -> Array:
        self._model(model)
        kept = getattr(self.out_of_fold.get(model), what, None)
        if kept is None:
            raise ParameterError(
                f"No {keep} of model {model!r} were kept. Use keep={keep!r}; models whose scores are not "
                "probabilities have no posteriors."
            )
        return kept[0] if len(kept) == 1 else kept

    def evaluation(
        self, model: str, costs: CostsLike | None = None, level: float = 0.95, positive: Hashable | None = None
    ) -> Evaluation:
        """The evaluation of a model's out-of-fold predictions, of the first repeat.

        If they were not kept, it is that of the confusion matrix alone. With costs and posteriors, predictions are the
        classes of minimum expected cost, unless they already are in the cross-validation. The default positive class is
        that of the cross-validation.
        """
        positive = self.positive if positive is None else positive
        counts, kept, decided = self.confusion(model), self.out_of_fold.get(model), model in self.decided_by_costs
        if kept is None:
            total = float(counts.total)
            notes = [_CLASSES_ONLY, _BY_COSTS] if decided else [_CLASSES_ONLY]
            k = positive_code(positive, self.classes, counts.counts.sum(axis=1))
            named = None if k is None else plain(self.classes[k])
            counted = Evaluation(
                self.classes, round(total), total, level, positive=named, confusion=counts, notes=notes
            )
            return counted.with_estimates()
        rows = self.labelled_predictions(model, decide=costs is not None)
        found = evaluation_of(rows, EvaluationOptions(costs=costs, positive=positive, level=level))
        if kept.posterior is None and kept.scores is None:
            found.notes.append(_CLASSES_ONLY)
        if decided:
            found.notes.append(_BY_COSTS)
        return found

    def labelled_predictions(self, model: str, decide: bool = False) -> LabelledPredictions:
        """The out-of-fold predictions of the first repeat, with the true classes.

        Without predicted classes if these are to be decided by costs, and were not in the cross-validation.
        """
        self._kept(model, "codes", "predictions")
        kept = self.out_of_fold[model]
        # Without training rows of a class, a fold has no scores of it.
        scores = kept.scores[0] if kept.scores is not None and np.isfinite(kept.scores[0]).all() else None
        decide = decide and model not in self.decided_by_costs and kept.posterior is not None
        return LabelledPredictions(
            self.classes[self.truth],
            None if decide else self.classes[kept.codes[0]],
            None if kept.posterior is None else kept.posterior[0],
            scores,
            self.classes,
            self.weights,
            self.groups,
        )

    @cached_property
    def notes(self) -> list[str]:
        """Notes on over- and underfitting; needs scores on the training rows.

        Overfitting: the gap between training and held-out accuracy is significant and a notable part of the error.
        Underfitting: the training accuracy is hardly better than that of the most frequent class.
        """
        return [note for name in self.models for note in self._fitting_notes(name)] if self._shows_training else []

    def _fitting_notes(self, name: str) -> Iterator[str]:
        train, held_out, baseline = self.train_scores(name), self.scores(name), self.baseline
        gap, gain = self._gap(train - held_out, name), self._gap(train - baseline, name)
        if gap.interval().low > 0 and gap.value > _MIN_NOTABLE_GAP * (1 - held_out.mean()):
            yield (
                f"{name} overfits: training accuracy {train.mean():.4f}, held-out accuracy {held_out.mean():.4f} (gap "
                f"{gap}). Use more rows, fewer columns or a stronger penalty."
            )
        if gain.interval().low <= 0 or gain.value <= _MIN_NOTABLE_GAP * (1 - baseline.mean()):
            yield (
                f"{name} underfits: training accuracy {train.mean():.4f}, held-out accuracy {held_out.mean():.4f}, "
                f"majority-class baseline {baseline.mean():.4f}. Use other columns, terms of higher order or a weaker "
                "penalty."
            )

    def _gap(self, values: Array, model: str) -> Estimate:
        """The mean gap of scores of the splits; for a single split with the standard error of the accuracy."""
        if len(values) > 1:
            return corrected_mean(values, self.ratio)
        error = self.estimate(model).half_width / quantile(0.95)
        return Estimate.by_standard_error(float(values[0]), error, math.inf, method="mean over rows")

    def _columns(self) -> dict[str, list[Any]]:
        """One row for each model and split: the scores, and those on training rows if there are any."""
        pairs = [(name, split) for name in self.models for split in range(self.n_splits)]
        columns: dict[str, list[Any]] = {"model": [name for name, _ in pairs], "split": [split for _, split in pairs]}
        scores = {"": self.values} | ({} if self.train_values is None else {"train_": self.train_values})
        return columns | {
            part + metric: values[:, :, m].ravel().tolist()
            for m, metric in enumerate(self.metrics)
            for part, values in scores.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """All printed values and the scores of the splits, as plain numbers and text."""
        return jsonable(
            {
                "classes": [plain(label) for label in self.classes],
                "positive": self.positive,
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
        head = ["model", *self.metrics] + (["training accuracy"] if self._shows_training else [])
        rows = [[name, *(self._cell(name, metric) for metric in self.metrics)] for name in self.models]
        if self._shows_training:
            rows = [[*row, f"{self.train_scores(row[0]).mean():.4f}"] for row in rows]
        how = f"rows held out in {self.n_splits} splits" if self.n_splits > 1 else "rows held out in one split"
        foot = f"{how}, 95 % CI; accuracy of the majority-class baseline: {self.baseline.mean():.4f}"
        foot += "" if not any(RANGE_MARK in cell for row in rows for cell in row[1:]) else f"; {RANGE_NOTE}"
        foot += "" if self.positive is None else f"; positive class: {shown(self.positive)}"
        return "\n".join([*aligned([head, *rows]), foot, *self.notes])

    @property
    def _shows_training(self) -> bool:
        return self.train_values is not None and "accuracy" in self.metrics

    def _cell(self, model: str, metric: str) -> str:
        found = self.estimate(model, metric)
        if math.isnan(found.value):
            return "not available"
        mark = RANGE_MARK if found.is_range else ""
        return f"{found.value:.4f}" + ("" if math.isnan(found.low) else f" ({found.low:.4f} to {found.high:.4f}){mark}")

    def _model(self, name: str) -> int:
        if name not in self.models:
            raise ParameterError(f"There is no model {name!r}. Models: {', '.join(self.models)}.")
        return self.models.index(name)

    def _place(self, model: str, metric: str) -> tuple[int, slice, int]:
        """The index of the scores of all splits in ``values``."""
        if metric not in self.metrics:
            raise ParameterError(f"{metric!r} was not computed. Computed: {', '.join(self.metrics)}.")
        return self._model(model), slice(None), self.metrics.index(metric)


def cross_validate(
    models: ModelsLike, X: MatrixLike, y: ArrayLike | None = None, cv: SplitsLike = None, repeats: int = 1,
    groups: ArrayLike | None = None, costs: CostsLike | None = None, metrics: str | Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None, stratify: bool = True, random_state: RandomState = 0,
    train_scores: bool = False, keep: Literal["predictions", "posteriors"] | None = None,
    positive: Hashable | None = None, progress: ProgressOption = None, n_jobs: int | None = None,
) -> CrossValidation:  # fmt: skip
    """Scores of models on held-out rows, with the same splits for all models.

    Models that are functions of class moments (`LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis`,
    `GaussianNB`, `LeastSquaresClassifier`, `FisherDiscriminant`) share one pass over the rows for all folds; the result
    is that of fitting each to each training part. All other models are fitted to each training part.

    Parameters
    ----------
    models : classifier, list of classifiers, or dict of str to classifier
        Models to be fitted to the training rows of every split. The default names are their classes.
    X : array-like, sparse matrix, frame of shape (n_rows, n_columns), or rows of `open_dataset`
        Features, as for ``fit``. Folds of a dataset are assigned by row number.
    y : array-like of shape (n_rows,), optional
        The class of each row. A dataset has its own.
    cv : int, float, splitter or iterable of (train, test), optional
        A number of folds; by default ten (five from 5,000 rows on), at most the rows of the smallest class and the
        number of groups. Rows are shuffled and assigned to the folds in turn, class after class (stratified). A share
        such as 0.25: a hold-out of that share of each class. Or a splitter of scikit-learn, or row numbers. Use
        ``TimeSeriesSplit()`` for rows in order of time.
    repeats : int, default=1
        Number of repeats of the k-fold split.
    groups : array-like of shape (n_rows,), optional
        Group labels; rows of one group are held out together.
    costs : array-like of shape (K, K), dict or frame, optional
        Cost of predicting class j (column) where k (row) is true; adds the metric "cost". Classes are in sorted order
        or by name, ``{true: {predicted: cost}}``. Models with probabilities then predict the class of least expected
        cost, except models with their own decisions such as `DecisionClassifier`.
    metrics : str or list of str, optional
        Of "accuracy", "error_rate", "balanced_accuracy", "f1" (of the positive class; without one, the mean over the
        classes), "log_loss", "brier", "auc" and "cost". By default accuracy, log-loss and Brier score, and the cost if
        there are costs; "auc" needs sorting and is not a default. Log-loss and Brier score (halved for two classes)
        need posteriors.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of fitting and scoring: weight 3 means three such rows.
    stratify : bool, default=True
        Whether folds are stratified by class; every class then needs a row for each fold.
    random_state : int or Generator, default=0
        For the shuffling.
    train_scores : bool, default=False
        Also score the training rows, for `CrossValidation.notes` on over- and underfitting.
    keep : {"predictions", "posteriors"}, optional
        Out-of-fold predictions to keep.
    positive : label, optional
        The positive class of F1 and evaluations; of more than two classes, against the rest, also in the AUC. Default:
        the rarer of two (the second, if both are equally frequent), none of more.
    progress : bool or callable, optional
        A progress bar on stderr: True, False, or None for one on a terminal if it takes longer than a second. A
        function is called with the number of fits done and the total, from any thread; an exception that it raises ends
        the cross-validation.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on their number.

    Returns
    -------
    CrossValidation
        Scores by model, split and metric, with means, intervals, confusion matrices and out-of-fold predictions.

    See Also
    --------
    compare : Tests of the differences between models.
    learning_curve : The error for a growing number of training rows.
    evaluate : One fitted model on a test set.

    References
    ----------
    Bayle, P., Bayle, A., Janson, L. & Mackey, L. (2020). Cross-validation confidence intervals for test error.
    NeurIPS 33.
    Bates, S., Hastie, T. & Tibshirani, R. (2023). Cross-validation: what does it estimate and how well does it do it?
    JASA 119.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}
    >>> print(cross_validate(models, X, y, metrics="accuracy"))
    model                         accuracy
    LDA          0.9800 (0.9429 to 0.9959)
    naive Bayes  0.9533 (0.9068 to 0.9772)
    rows held out in 10 splits, 95 % CI; accuracy of the majority-class baseline: 0.3333
    """
    named, table = named_models(models), labelled_table(X, y, sample_weight, groups)
    scoring = wanted_scoring(metrics, costs, table.classes, table.positive_code(positive))
    rounds = plan_rounds(table, cv, repeats, stratify, random_state)
    check_choice("keep", keep, (None, "predictions", "posteriors"))
    if keep is not None and not hold_out_every_row(rounds):
        raise ParameterError(f"keep={keep!r} needs splits that hold out every row exactly once; these do not.")
    task = ValidationTask(named, table, rounds, scoring, train_scores, keep)
    return cross_validated(task, progress, n_jobs)[0]


def hold_out_every_row(rounds: list[Round]) -> bool:
    """Whether every round holds out every row exactly once: each row then has an out-of-fold prediction."""
    return all(part.fold is not None for part in rounds)


def cross_validated(
    task: ValidationTask, progress: ProgressOption, n_jobs: int | None
) -> tuple[CrossValidation, dict[str, DegenerateDataError]]:
    """The scores of all models that could be fitted, and the errors of those that are left out."""
    table = task.table
    if table.weight is not None and table.streamed is None:
        refuse_weightless_models(task.models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AliasWarning)  # predictions do not depend on aliased coefficients
        found, left_out = split_results(task, progress, n_jobs)
    results = list(found.values())
    trained = [[one.train for one in own if one.train is not None] for own in results]
    held = np.array([table.class_weights(split.test) for split in task.splits])
    learned = np.array(
        [
            table.all_class_weights - test if split.given is None else table.class_weights(split.given)
            for split, test in zip(task.splits, held, strict=True)
        ]
    )
    result = CrossValidation(
        models=tuple(found),
        metrics=task.scoring.metrics,
        classes=table.classes,
        values=np.array([[one.held_out for one in own] for own in results]),
        baseline=held[np.arange(len(held)), learned.argmax(axis=1)] / held.sum(axis=1),
        counts=np.array([sum(one.counts for one in own) for own in results]),
        ratio=float(held.sum() / learned.sum()),
        truth=table.codes,
        positive=None if task.scoring.positive is None else plain(table.classes[task.scoring.positive]),
        weights=table.weight,
        groups=table.groups,
        train_values=np.array(trained) if task.train_scores else None,
        pooled=_pooled_measures(task, found),
        decided_by_costs=tuple(n for n in found if task.scoring.costs is not None and costs_decide(task.models[n])),
        out_of_fold={name: _out_of_fold(own, task.rounds) for name, own in found.items()} if task.keep else {},
    )
    return result, left_out


#: Number of pairs of folds that are left out to estimate the variance due to the training rows; one with many rows.
_N_JACKKNIFE_PAIRS: Final = 2


def training_inflation(
    task: ValidationTask, found: CrossValidation, model: str, metric: str, n_jobs: int | None
) -> float:
    """The standard error of a measure as an estimate for new training rows, divided by that of its held-out rows alone.

    The losses of two held-out rows are dependent, because each is a training row of the model of the other: the
    variance of a row's loss due to the training rows counts once more for the mean of all rows. It is estimated by the
    delete-group jackknife. A few models are fitted without a second fold, one of the G groups of the training rows of a
    fold; the variance of a loss is G - 1 times its mean squared change. Correct classification is not a smooth function
    of the model: there the share of the rows that change grows with the square root of the share that is left out.

    NaN for datasets, measures that are not means of rows, fewer than three folds and other kinds of splits.
    """
    whole, first = found.pooled[model].get(metric), task.rounds[0]
    if task.table.streamed is not None or first.fold is None or not isinstance(whole, ShareOfRows | MeanOfRows):
        return math.nan
    n_folds, n_rows = len(first.splits), task.table.n_rows
    if n_folds < 3:
        return math.nan
    n_pairs = min(1 if n_rows >= MANY_ROWS else _N_JACKKNIFE_PAIRS, n_folds // 2)
    tests = [np.sort(np.concatenate([one.test for one in first.splits[2 * i : 2 * i + 2]])) for i in range(n_pairs)]
    pairs = [Split(n_rows, test, Split(n_rows, test).train) for test in tests]
    apart = replace(
        task, models={model: task.models[model]}, rounds=[Round(pairs)], keep=None, train_scores=False, leave_out=True
    )
    left, errors = cross_validated(apart, False, n_jobs)
    if errors:
        return math.nan
    own = left.pooled[model][metric]
    assert isinstance(own, ShareOfRows | MeanOfRows)
    values, once = np.empty(n_rows), whole.rows.split < n_folds
    values[whole.rows.row[once]] = whole.values[once]
    change = np.average(np.square(values[own.rows.row] - own.values), weights=own.rows.design.weight)
    variance = Mean.of(whole.values, whole.rows.design.weight).squares / whole.rows.design.total_weight
    groups = n_folds - 1
    factor = math.sqrt((groups - 1) / 2) if metric in (*SHARE_METRICS, "cost") else groups - 1
    return math.sqrt(1 + factor * change / variance) if variance > 0 else 1.0 if change == 0 else math.nan


def _pooled_measures(task: ValidationTask, found: dict[str, list[SplitResult]]) -> dict[str, dict[str, Pooled]]:
    """The measures of each model on the held-out rows of all splits together."""
    rows = task.held_out
    measures: dict[str, dict[str, Pooled]] = {}
    for name, results in found.items():
        measures[name] = {}
        for metric in task.scoring.metrics:
            if all(metric in one.rows for one in results):
                values = np.concatenate([one.rows[metric].values for one in results])
                expected = [one.rows[metric].expected for one in results]
                measures[name][metric] = _pooled(metric, rows, values, expected, task.scoring)
    return measures


def _pooled(metric: str, rows: HeldOutRows, values: Array, expected: list[Any], scoring: Scoring) -> Pooled:
    if metric in SHARE_METRICS:
        return ShareOfRows(rows, values)
    if metric in TABLE_MEASURES:
        return MeasureOfTable(rows, values, scoring.of_table(metric), scoring.n_classes)
    if metric == "auc":
        return AreaOfRows(rows, values, scoring.areas)
    return MeanOfRows(rows, values, None if expected[0] is None else np.sum(expected, axis=0))


def _out_of_fold(results: list[SplitResult], rounds: list[Round]) -> Predictions:
    """The predictions of a model by round and row."""
    kept = [one.predictions for one in results]
    return Predictions(*(_by_row([getattr(one, what) for one in kept], rounds) for what in vars(kept[0])))


def _by_row(parts: list[Any], rounds: list[Round]) -> Any:
    """Values of the test rows of all splits as an array (rounds, rows, ...); None if some split has none."""
    if any(part is None for part in parts):
        return None
    values = np.empty((len(rounds), rounds[0].splits[0].n_rows, *parts[0].shape[1:]), parts[0].dtype)
    tests = [(number, split.test) for number, one in enumerate(rounds) for split in one.splits]
    for (number, test), part in zip(tests, parts, strict=True):
        values[number, test] = part
    return values
