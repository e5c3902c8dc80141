"""Fits of models to the training parts of all splits, and their predictions of the test parts.

Models that are functions of class moments (LDA, QDA, Gaussian naive Bayes, least squares) need no fit to rows: the
moments of all folds are collected in one pass, those of each training part are merged from the folds before and after
it, and each model is estimated from them as by its own ``fit``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import LabelledRows
from ..decision.posteriors import Posterior, costs_decide
from ..decision.rules import DecisionProblem
from ..engine import ProgressOption, parallel_map, progress_bar
from ..errors import DegenerateDataError, InputError, ParameterError
from ..estimators.base import PosteriorClassifier
from ..estimators.moment_classifier import MAX_FOLD_MOMENT_NUMBERS, MomentClassifier, collected, moments_in_folds
from ..kernels import scores as kernels
from ..moments.folds import MomentsSpec, combined_spec, merged
from ..moments.statistic import ClassMoments
from ..rules import Rule
from .held_out import HeldOutRows, held_out_rows
from .labelled_table import LabelledTable
from .passes import answers_by_passes, estimated_model
from .scoring import Predictions, RowValues, Scoring
from .splits import Round, Split

R = TypeVar("R")
#: Models: one, several, or by name.
ModelsLike: TypeAlias = "BaseEstimator | Iterable[BaseEstimator] | Mapping[str, BaseEstimator]"


def named_models(models: ModelsLike) -> dict[str, Any]:
    """The models by name: from a dict or (name, model) pairs, else by class name, numbered if it repeats."""
    if hasattr(models, "fit"):
        models = [models]
    if not isinstance(models, Iterable) or isinstance(models, (str, bytes)):
        raise ParameterError(f"models must be a classifier, a list of them or a dict by name, got {models!r}.")
    pairs = list(models.items()) if isinstance(models, Mapping) else list(models)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        kinds = [type(model).__name__ for model in pairs]
        places = [f" {kinds[:i].count(kind) + 1}" if kinds.count(kind) > 1 else "" for i, kind in enumerate(kinds)]
        pairs = [(kind + place, model) for kind, place, model in zip(kinds, places, pairs, strict=True)]
    _refuse_unusable(pairs)
    return dict(pairs)


def _refuse_unusable(pairs: list[tuple[str, BaseEstimator]]) -> None:
    if not pairs:
        raise ParameterError("models is empty: give at least one classifier.")
    for name, model in pairs:
        if isinstance(model, type):
            raise ParameterError(f"Model {name!r} is a class, not a model: write {model.__name__}() with parentheses.")
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise ParameterError(f"Model {name!r} cannot be fitted: expected a classifier, got {model!r}.")
        if not is_classifier(model):
            raise ParameterError(f"Model {name!r} is not a classifier: {type(model).__name__}.")
        if not isinstance(name, str):
            raise ParameterError(f"Names of models must be text, got {name!r}.")
    name, count = Counter(name for name, _ in pairs).most_common(1)[0]
    if count > 1:
        raise ParameterError(f"{count} models have the name {name!r}. Give each model a different name.")


def refuse_weightless_models(models: dict[str, BaseEstimator]) -> None:
    """Refuse models whose ``fit`` takes no weights."""
    for name, model in models.items():
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(
                f"sample_weight is not supported by model {name!r} ({type(model).__name__}). Leave out the weights or "
                "the model."
            )


def read_from_moments(model: BaseEstimator) -> bool:
    """Whether a model is a function of the class moments of its training rows.

    Models that tune a parameter by cross-validation need the rows again, or moments of other folds.
    """
    plain = isinstance(model, MomentClassifier) and model._reads_class_moments
    return plain and type(model).fit is MomentClassifier.fit and not model._moments_spec().folds


def shared_needs(models: dict[str, BaseEstimator]) -> MomentsSpec:
    """The moments needed by all the models."""
    for model in models.values():
        model._check_parameters()
    return combined_spec(model._moments_spec() for model in models.values())


def training_moments(
    data: LabelledRows, part: Round, needs: MomentsSpec, n_jobs: int | None
) -> list[Callable[[], ClassMoments]]:
    """For each split a function that returns the moments of its training rows: merged from folds, or collected."""
    count, fewest, p = len(part.splits), part.fewest_rows, data.rows.n_columns
    n_moments = p if needs.structure == "diagonal" and not needs.fourth else p * p
    per_class = needs.structure == "class" or needs.fourth or n_moments == p
    if (count + 1) * (len(data.classes) if per_class else 1) * n_moments > MAX_FOLD_MOMENT_NUMBERS:
        part = replace(part, fold=None, step=None)
    if part.fold is not None:
        cells = moments_in_folds(data, needs, part.fold, count, fewest, n_jobs)
        return [partial(_itself, train) for train, _ in cells.splits()]
    if part.step is not None and fewest >= p:
        *steps, _ = moments_in_folds(data, needs, part.step, count + 1, fewest, n_jobs).folds()
        return [partial(_itself, train) for train in accumulate(steps, merged)]
    return [partial(_moments_of, data, split.train, needs, n_jobs) for split in part.splits]


def _itself(moments: ClassMoments) -> ClassMoments:
    return moments


def _moments_of(data: LabelledRows, index: Array, needs: MomentsSpec, n_jobs: int | None) -> ClassMoments:
    """The moments of some rows, collected from them."""
    part = data.take(index)
    statistic = needs.statistic(part.n_rows, len(data.classes), data.rows.n_columns)
    try:
        moments: ClassMoments = collected(part, statistic, n_jobs)
    except InputError:
        data.rows.refuse_nonfinite()  # whose message has the row's number among all
        raise
    return moments


def read_rule(model: MomentClassifier, moments: ClassMoments, data: LabelledRows, X: MatrixLike) -> Rule:
    """The rule of a model estimated from moments, over all classes; those without training rows are never predicted."""
    return estimated_model(model, moments, data.classes, X).rule_.expand_classes(moments.present)


def rule_predictions(
    rules: dict[str, Rule], models: dict[str, BaseEstimator], data: LabelledRows, index: Array, with_scores: bool
) -> dict[str, Predictions]:
    """The predictions of rules for some rows, which are read once for all rules."""
    n, n_classes = len(index), len(data.classes)
    codes = {name: np.empty(n, dtype=np.int32) for name in rules}
    scores = {name: np.empty((n, n_classes)) for name in rules} if with_scores else {}
    step = data.rows.block_rows
    for start in range(0, n, step):
        where = slice(start, start + step)
        block = data.rows.take(index[where])
        for name, rule in rules.items():
            found = rule.scores(block)
            if not kernels.best_classes(found, codes[name][where]):
                data.rows.refuse_nonfinite()
                raise InputError(
                    f"Values of X are too large for model {name!r} to score: they overflow. Rescale the columns."
                )
            if with_scores:
                scores[name][where] = found
    posteriors = {
        name: softmax(found, axis=1) for name, found in scores.items() if isinstance(models[name], PosteriorClassifier)
    }
    return {
        name: Predictions(codes[name], posteriors.get(name), None if name in posteriors else scores.get(name))
        for name in rules
    }


def model_predictions(
    name: str, fitted: BaseEstimator, table: LabelledTable, index: Array, with_scores: bool
) -> Predictions:
    """The predictions of any fitted classifier for some rows."""
    X = table.rows(index)
    codes = table.positions(np.asarray(fitted.predict(X)), name)
    if not with_scores:
        return Predictions(codes)
    columns = table.positions(np.asarray(fitted.classes_), name)

    def expanded(values: ArrayLike, fill: float) -> Array:
        """The values of the classes of the training part in the columns of all classes."""
        if len(columns) == len(table.classes):
            return np.asarray(values, dtype=np.float64)
        out = np.full((len(index), len(table.classes)), fill)
        out[:, columns] = values
        return out

    if hasattr(fitted, "predict_proba"):
        return Predictions(codes, expanded(fitted.predict_proba(X), 0.0))
    if hasattr(fitted, "decision_function"):
        margin = np.asarray(fitted.decision_function(X), dtype=np.float64)
        by_class = np.column_stack((-margin, margin)) if margin.ndim == 1 else margin
        if by_class.shape[1] == len(columns):
            return Predictions(codes, None, expanded(by_class, -np.inf))
    return Predictions(codes)


@dataclass(frozen=True, eq=False)
class SplitResult:
    """A model on one split: scores on test rows and perhaps on training rows, and its confusion matrix."""

    held_out: Array
    train: Array | None
    counts: Array
    rows: dict[str, RowValues]
    predictions: Predictions | None = None


@dataclass(frozen=True, eq=False)
class ValidationTask:
    """Models to be fitted to the training rows of every split, and the measures of their predictions."""

    models: dict[str, Any]
    table: LabelledTable
    rounds: list[Round]
    scoring: Scoring
    train_scores: bool = False
    keep: str | None = None  #: None, "predictions" or "posteriors" (with other scores where there are none)
    #: Whether models that cannot be fitted to some training part are left out; otherwise that is an error.
    leave_out: bool = False

    @cached_property
    def splits(self) -> list[Split]:
        return [split for part in self.rounds for split in part.splits]

    @cached_property
    def held_out(self) -> HeldOutRows:
        """The test rows of all splits."""
        return held_out_rows(self.table, self.splits)

    @property
    def needs_scores(self) -> bool:
        return self.keep == "posteriors" or self.scoring.needs_posteriors

    def decided(self, found: Predictions) -> Predictions:
        """The classes of minimum expected cost, where there are costs and posteriors."""
        costs, classes = self.scoring.costs, self.table.classes
        if costs is None or found.posterior is None:
            return found
        problem = DecisionProblem(Posterior(found.posterior, classes), costs, classes.tolist(), None, None)
        return replace(found, codes=problem.chosen().astype(np.int32))

    def result(self, split: Split, found: Predictions, in_training: Predictions | None = None) -> SplitResult:
        """Scores and counts of the predictions for the test rows of a split, and for its training rows."""
        truth, weight = self.table.codes[split.test], self.table.weights_of(split.test)
        n_classes = len(self.table.classes)
        pairs = np.bincount(truth * n_classes + found.codes, weights=weight, minlength=n_classes**2)
        train = None
        if in_training is not None:
            rows = split.train
            train, _ = self.scoring.score(self.table.codes[rows], self.table.weights_of(rows), in_training)
        kept = {None: None, "predictions": Predictions(found.codes), "posteriors": found}[self.keep]
        values, of_rows = self.scoring.score(truth, weight, found, not self.held_out.design.is_large)
        return SplitResult(values, train, pairs.reshape(n_classes, n_classes), of_rows, kept)

    def attempted(self, name: str, number: int, fit: Callable[[], R]) -> R | DegenerateDataError:
        """The result of ``fit``. Errors get a note with model and split, and are returned if models may be left out."""
        try:
            return fit()
        except Exception as error:
            if self.leave_out and isinstance(error, DegenerateDataError):
                return error
            error.add_note(f"(model {name!r}, split {number})")
            raise


#: Results by model and number of the split; an error if the model could not be fitted.
Found = dict[tuple[str, int], SplitResult | DegenerateDataError]


def split_results(
    task: ValidationTask, progress: ProgressOption, n_jobs: int | None
) -> tuple[dict[str, list[SplitResult]], dict[str, DegenerateDataError]]:
    """The results of every model in the order of the splits, and the errors of those that are left out."""
    from_moments = {name: model for name, model in task.models.items() if read_from_moments(model)}
    if task.table.streamed is not None:
        needs = shared_needs(from_moments) if from_moments else None
        parts = answers_by_passes(task, from_moments, needs, model_predictions, progress, n_jobs)
        return _sorted_out(task, {(name, number): _scored(task, number, one) for name, number, one in parts})
    jobs: list[Callable[[], Found]] = []
    if from_moments:
        needs, data = shared_needs(from_moments), task.table.in_memory
        moments = [give for part in task.rounds for give in training_moments(data, part, needs, n_jobs)]
        jobs += [partial(_read, task, from_moments, give, number) for number, give in enumerate(moments)]
    for name in task.models:
        if name not in from_moments:
            jobs += [partial(_fitted, task, name, number) for number in range(len(task.splits))]
    # Split by split: the time of the first one predicts that of all.
    jobs = [job for number in range(len(task.splits)) for job in jobs[number :: len(task.splits)]]
    with progress_bar("validation", len(jobs), progress) as advance:

        def done(job: Callable[[], Found]) -> Found:
            result = job()
            advance()
            return result

        found = {key: one for part in parallel_map(done, jobs, n_jobs) for key, one in part.items()}
    return _sorted_out(task, found)


def _scored(
    task: ValidationTask, number: int, found: Predictions | DegenerateDataError
) -> SplitResult | DegenerateDataError:
    """The scores of a model's predictions of the test rows of a split, or the error of its fit."""
    if isinstance(found, DegenerateDataError):
        return found
    return task.result(task.splits[number], task.decided(found))


def _sorted_out(
    task: ValidationTask, found: Found
) -> tuple[dict[str, list[SplitResult]], dict[str, DegenerateDataError]]:
    """The results of every model in the order of the splits, and the errors of those that are left out."""
    results: dict[str, list[Any]] = {name: [found[name, i] for i in range(len(task.splits))] for name in task.models}
    errors = {name: [one for one in own if isinstance(one, DegenerateDataError)] for name, own in results.items()}
    left_out = {name: own[0] for name, own in errors.items() if own}
    return {name: own for name, own in results.items() if name not in left_out}, left_out


def _read(
    task: ValidationTask, models: dict[str, BaseEstimator], moments: Callable[[], ClassMoments], number: int
) -> Found:
    """The results of moment models on a split."""
    data, train, split = task.table.in_memory, moments(), task.splits[number]
    read: dict[str, Any] = {
        name: task.attempted(name, number, partial(read_rule, model, train, data, task.table.X))
        for name, model in models.items()
    }
    rules = {name: rule for name, rule in read.items() if not isinstance(rule, DegenerateDataError)}
    parts = (split.test, split.train) if task.train_scores else (split.test,)
    found = [rule_predictions(rules, models, data, index, task.needs_scores) for index in parts]
    results = {name: task.result(split, *(task.decided(one[name]) for one in found)) for name in rules}
    return {(name, number): one for name, one in (read | results).items()}


def _fitted(task: ValidationTask, name: str, number: int) -> Found:
    """The result of any other model on a split."""
    table, split = task.table, task.splits[number]
    train = split.train

    def fit() -> SplitResult:
        fitted = table.fitted(task.models[name], train)
        parts = (split.test, train) if task.train_scores else (split.test,)
        found = [model_predictions(name, fitted, table, index, task.needs_scores) for index in parts]
        return task.result(split, *(map(task.decided, found) if costs_decide(fitted) else found))

    return {(name, number): task.attempted(name, number, fit)}
