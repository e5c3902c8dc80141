"""Out-of-fold predictions: every model fitted to the training rows of every split, and scored on its test rows.

Models that are known once the moments of their training rows are need no fit to rows: the moments of the folds are
collected in one pass, those of each training part are merged from the folds before and after, and every such model is
read from them as its own ``fit`` would read it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..data import LabelledRows
from ..decision.costs import read_costs
from ..engine import side_by_side
from ..errors import DegenerateDataError, InputError, ParameterError
from ..estimators.base import MomentClassifier, PosteriorClassifier, collected
from ..evaluation.curves import auc, rank
from ..evaluation.intervals import Mean
from ..evaluation.probabilities import brier_scores, log_losses
from ..kernels import scores as kernels
from ..moments.statistic import FoldMoments, Moments, Needs, combined_needs, merged, narrowed
from ..results import plain
from ..rules import Rule
from .progress import progress_bar
from .splits import LabelledTable, Round, Split

Array = np.ndarray[Any, Any]


def named_models(models: Any) -> dict[str, Any]:
    """The models by name: as a dict or (name, model) pairs give it, else by class, numbered where it repeats."""
    if hasattr(models, "fit"):
        models = [models]
    if isinstance(models, Mapping):
        pairs = list(models.items())
    elif isinstance(models, Iterable) and not isinstance(models, (str, bytes)):
        pairs = _with_names(list(models))
    else:
        raise ParameterError(f"models must be a classifier, a list of them or a dict by name, got {models!r}.")
    _refuse_unusable(pairs)
    return dict(pairs)


def refuse_weightless_models(models: dict[str, Any]) -> None:
    """Refuse models that cannot be told of weights."""
    for name, model in models.items():
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(
                f"sample_weight is given, but the fit of model {name!r} ({type(model).__name__}) takes none. Leave the "
                "weights or the model out."
            )


def _with_names(models: list[Any]) -> list[tuple[Any, Any]]:
    if models and all(isinstance(item, tuple) and len(item) == 2 for item in models):
        return models
    kinds = [type(model).__name__ for model in models]
    total, seen, pairs = Counter(kinds), Counter[str](), []
    for kind, model in zip(kinds, models, strict=True):
        seen[kind] += 1
        pairs.append((kind if total[kind] == 1 else f"{kind} {seen[kind]}", model))
    return pairs


def _refuse_unusable(pairs: list[tuple[Any, Any]]) -> None:
    if not pairs:
        raise ParameterError("models is empty: give at least one classifier.")
    for name, model in pairs:
        if isinstance(model, type):
            raise ParameterError(f"Model {name!r} is a class, not a model: write {model.__name__}() with brackets.")
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise ParameterError(f"Model {name!r} cannot be fitted: expected a classifier, got {model!r}.")
        if not is_classifier(model):
            raise ParameterError(f"Model {name!r} is not a classifier: {type(model).__name__}.")
        if not isinstance(name, str):
            raise ParameterError(f"Names of models must be text, got {name!r}.")
    name, count = Counter(name for name, _ in pairs).most_common(1)[0]
    if count > 1:
        raise ParameterError(f"{count} models have the name {name!r}. Give each a name of its own.")


#: Moments of all folds together may take this many numbers (256 MB); beyond, training parts are passed over one by one.
_MOST_NUMBERS = 1 << 25


def read_from_moments(model: Any) -> bool:
    """Whether a model is known once the moments of its training rows are.

    Models that choose a parameter by folds of their own look at their rows again, or in other cells.
    """
    plain = isinstance(model, MomentClassifier) and model._reads_class_moments
    return plain and type(model).fit is MomentClassifier.fit and not model._needs().folds


def shared_needs(models: dict[str, Any]) -> Needs:
    """What has to be collected for all the models."""
    for model in models.values():
        model._check_parameters()
    return combined_needs(model._needs() for model in models.values())


def training_moments(data: LabelledRows, part: Round, needs: Needs, n_jobs: int | None) -> list[Callable[[], Moments]]:
    """For each split, what gives the moments of its training rows: merged from cells, or by a pass of their own."""
    count, fewest = len(part.splits), part.fewest_rows
    if _cell_numbers(data, needs, count + 1) > _MOST_NUMBERS:
        part = replace(part, fold=None, step=None)
    if part.fold is not None:
        cells = _moments_in_cells(data, needs, part.fold, count, fewest, n_jobs)
        return [partial(_itself, train) for train, _ in cells.splits()]
    if part.step is not None and fewest >= data.rows.n_columns:
        *steps, _ = _moments_in_cells(data, needs, part.step, count + 1, fewest, n_jobs).folds()
        return [partial(_itself, train) for train in accumulate(steps, merged)]
    return [partial(_moments_of, data, split.train, needs, n_jobs) for split in part.splits]


def _itself(moments: Moments) -> Moments:
    return moments


def _moments_in_cells(
    data: LabelledRows, needs: Needs, cell: Array, n_cells: int, fewest_rows: int, n_jobs: int | None
) -> FoldMoments:
    """The moments of the rows of each cell, in one pass over all rows, for models of no fewer rows than these."""
    n_classes = len(data.classes)
    empty = replace(needs, folds=n_cells).statistic(fewest_rows, n_classes, data.rows.n_columns)
    codes = cell.astype(np.int32) * np.int32(n_classes) + data.codes
    return FoldMoments(collected(replace(data, codes=codes), empty.cells, n_jobs), n_cells)


def _moments_of(data: LabelledRows, index: Array, needs: Needs, n_jobs: int | None) -> Moments:
    """The moments of some rows by themselves."""
    part = data.take(index)
    statistic = needs.statistic(part.n_rows, len(data.classes), data.rows.n_columns)
    try:
        moments: Moments = collected(part, statistic, n_jobs)
    except InputError:
        data.rows.refuse_nonfinite()  # whose message has the row's number among all
        raise
    return moments


def read_rule(model: Any, moments: Moments, data: LabelledRows, X: Any) -> Rule:
    """The rule of a model read from moments, over all classes; those without training rows cannot win."""
    fitted, seen = clone(model), moments.present
    fitted._check_columns(X, reset=True)
    fitted._accept(replace(data, classes=data.classes[seen]))
    fitted._adopt(narrowed(moments.only_present(), fitted._needs()))
    rule: Rule = fitted.rule_.spread_over(seen)
    return rule


def _cell_numbers(data: LabelledRows, needs: Needs, n_cells: int) -> int:
    p, per_class = data.rows.n_columns, needs.grain == "class" or needs.fourth
    wide = p if needs.grain == "diagonal" and not needs.fourth else p * p
    return n_cells * (len(data.classes) if per_class or wide == p else 1) * wide


#: Every measure, and whether more of it is better.
METRICS = {"accuracy": True, "error_rate": False, "log_loss": False, "brier": False, "auc": True, "cost": False}
_FROM_POSTERIORS = ("log_loss", "brier")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The class codes a model gives some rows, its posteriors, and other scores where it has no posteriors."""

    codes: Array
    posterior: Array | None = None
    scores: Array | None = None


@dataclass(frozen=True, eq=False)
class MetricValues:
    """The value of each measure, and its standard error as a mean over rows; NaN where there is none."""

    values: Array
    errors: Array


@dataclass(frozen=True, eq=False)
class Scoring:
    """The measures that are wanted."""

    metrics: tuple[str, ...]
    costs: Array | None = None

    @property
    def needs_posteriors(self) -> bool:
        return any(name in self.metrics for name in ("auc", *_FROM_POSTERIORS))

    def score(self, truth: Array, weight: Array | None, found: Predictions) -> MetricValues:
        """Every measure of the predictions of rows whose classes are ``truth``."""
        pairs = [self._measure(name, truth, weight, found) for name in self.metrics]
        return MetricValues(*np.array(pairs).T)

    def _measure(self, name: str, truth: Array, weight: Array | None, found: Predictions) -> tuple[float, float]:
        if name == "auc":
            return area_under_curve(truth, weight, found), np.nan
        if name in _FROM_POSTERIORS and found.posterior is None:
            return np.nan, np.nan
        return mean_and_error(self._of_rows(name, truth, found), weight)

    def _of_rows(self, name: str, truth: Array, found: Predictions) -> Array:
        if name == "cost":
            assert self.costs is not None
            return self.costs[truth, found.codes]
        if name == "accuracy":
            return found.codes == truth
        if name == "error_rate":
            return found.codes != truth
        posterior: Any = found.posterior
        return log_losses(posterior, truth) if name == "log_loss" else brier_scores(posterior, truth)


def wanted_scoring(metrics: Any, costs: Any, classes: Array) -> Scoring:
    """The measures asked for; by default those that cost no more than a look at each prediction."""
    table = None if costs is None else _cost_table(costs, classes)
    if metrics is None:
        return Scoring(("accuracy", *_FROM_POSTERIORS, *(("cost",) if table is not None else ())), table)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics) if isinstance(metrics, Iterable) else ()
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ParameterError(f"metrics must be among {', '.join(METRICS)}; got {unknown[0] if unknown else metrics!r}.")
    if "cost" in names and table is None:
        raise ParameterError("The metric 'cost' needs costs: a table with a row for each true class.")
    return Scoring(tuple(dict.fromkeys(names)), table)


def _cost_table(costs: Any, classes: Array) -> Array:
    """The cost of each prediction (column) for each true class (row), both in the order of the classes."""
    values, actions = read_costs(costs).aligned(classes)
    names = [plain(label) for label in classes]
    if values.ndim != 2 or sorted(map(repr, actions)) != sorted(map(repr, names)):
        raise ParameterError(
            f"costs must give one cost for each true class and each predicted class, of {names}; got actions {actions} "
            f"and shape {values.shape}."
        )
    return values[:, [actions.index(name) for name in names]]


def mean_and_error(values: Array, weight: Array | None) -> tuple[float, float]:
    """The mean over rows and its standard error, weights read as frequencies; NaN where no row has a weight."""
    if weight is not None and not weight.any():
        return np.nan, np.nan
    found = Mean.of(values, weight)
    return found.mean, math.sqrt(found.variance)


def area_under_curve(truth: Array, weight: Array | None, found: Predictions) -> float:
    """The area under the ROC curve; of more than two classes, the mean of each against the rest.

    NaN without scores, and where a class has no rows.
    """
    scores = found.scores if found.posterior is None else found.posterior
    if scores is None:
        return np.nan
    chosen = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    return float(np.mean([auc(rank(truth == k, np.ascontiguousarray(scores[:, k]), weight)) for k in chosen]))


def rule_predictions(
    rules: dict[str, Rule], models: dict[str, Any], data: LabelledRows, index: Array, with_scores: bool
) -> dict[str, Predictions]:
    """What rules predict for some rows, each of which is fetched once for all of them."""
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
                _refuse_unsound(data, name)
            if with_scores:
                scores[name][where] = found
    return {name: _with_posterior(models[name], codes[name], scores.get(name)) for name in rules}


def _with_posterior(model: Any, codes: Array, scores: Array | None) -> Predictions:
    if scores is None or not isinstance(model, PosteriorClassifier):
        return Predictions(codes, None, scores)
    return Predictions(codes, softmax(scores, axis=1))


def _refuse_unsound(data: LabelledRows, name: str) -> None:
    data.rows.refuse_nonfinite()
    raise InputError(f"X has values too large for model {name!r} to score: they overflow. Use other units.")


def model_predictions(name: str, fitted: Any, table: LabelledTable, index: Array, with_scores: bool) -> Predictions:
    """What a fitted classifier, of whatever origin, predicts for some rows."""
    X = table.rows(index)
    codes = table.positions(np.asarray(fitted.predict(X)), name)
    if not with_scores:
        return Predictions(codes)
    columns = table.positions(np.asarray(fitted.classes_), name)
    if hasattr(fitted, "predict_proba"):
        return Predictions(codes, _spread(np.asarray(fitted.predict_proba(X), dtype=np.float64), columns, table, 0.0))
    if hasattr(fitted, "decision_function"):
        margin = np.asarray(fitted.decision_function(X), dtype=np.float64)
        by_class = np.column_stack((-margin, margin)) if margin.ndim == 1 else margin
        if by_class.shape[1] == len(columns):
            return Predictions(codes, None, _spread(by_class, columns, table, -np.inf))
    return Predictions(codes)


def _spread(values: Array, columns: Array, table: LabelledTable, fill: float) -> Array:
    """The values of the classes a model has seen in the columns of all classes."""
    if len(columns) == len(table.classes):
        return values
    out = np.full((len(values), len(table.classes)), fill)
    out[:, columns] = values
    return out


@dataclass(frozen=True, eq=False)
class SplitResult:
    """A model on one split: its scores on test rows and perhaps on training rows, counts of what it predicted."""

    held_out: MetricValues
    train: MetricValues | None
    counts: Array
    predictions: Predictions | None = None


@dataclass(frozen=True, eq=False)
class ValidationTask:
    """Models to be fitted to the training rows of every split, and what is wanted of their predictions."""

    models: dict[str, Any]
    table: LabelledTable
    rounds: list[Round]
    scoring: Scoring
    train_scores: bool = False
    keep: str | None = None  #: None, "predictions" or "posteriors" (with other scores where there are none)
    leave_out: bool = False  #: models that cannot be fitted to some training part are left out instead of refused

    @cached_property
    def splits(self) -> list[Split]:
        return [split for part in self.rounds for split in part.splits]

    @property
    def needs_scores(self) -> bool:
        return self.keep == "posteriors" or self.scoring.needs_posteriors

    def result(self, split: Split, found: Predictions, in_training: Predictions | None) -> SplitResult:
        """Scores and counts of what a model predicted for the test rows of a split, and for its training rows."""
        truth, weight = self.table.codes[split.test], self.table.weights_of(split.test)
        n_classes = len(self.table.classes)
        pairs = np.bincount(truth * n_classes + found.codes, weights=weight, minlength=n_classes**2)
        train = None
        if in_training is not None:
            rows = split.train
            train = self.scoring.score(self.table.codes[rows], self.table.weights_of(rows), in_training)
        kept = {None: None, "predictions": Predictions(found.codes), "posteriors": found}[self.keep]
        return SplitResult(self.scoring.score(truth, weight, found), train, pairs.reshape(n_classes, n_classes), kept)

    def attempted(self, name: str, number: int, fit: Callable[[], Any]) -> Any:
        """What ``fit`` gives. Its error says whose it is; it is given back where such models are left out."""
        try:
            return fit()
        except Exception as error:
            if self.leave_out and isinstance(error, DegenerateDataError):
                return error
            error.add_note(f"(model {name!r}, split {number})")
            raise


#: What was found by model and number of the split; an error where the model could not be fitted.
Found = dict[tuple[str, int], SplitResult | DegenerateDataError]


def split_results(
    task: ValidationTask, progress: bool | None, n_jobs: int | None
) -> tuple[dict[str, list[SplitResult]], dict[str, DegenerateDataError]]:
    """The results of every model in the order of the splits, and the errors of those that are left out."""
    from_moments = {name: model for name, model in task.models.items() if read_from_moments(model)}
    jobs: list[Callable[[], Found]] = []
    if from_moments:
        needs, data = shared_needs(from_moments), task.table.labelled
        moments = [give for part in task.rounds for give in training_moments(data, part, needs, n_jobs)]
        jobs += [partial(_read, task, from_moments, give, number) for number, give in enumerate(moments)]
    for name in task.models:
        if name not in from_moments:
            jobs += [partial(_fitted, task, name, number) for number in range(len(task.splits))]
    found: Found = {}
    for part in _done(jobs, progress, n_jobs):
        found |= part
    results, left_out = {}, {}
    for name in task.models:
        own = [found[name, number] for number in range(len(task.splits))]
        errors = [one for one in own if isinstance(one, DegenerateDataError)]
        if errors:
            left_out[name] = errors[0]
        else:
            results[name] = [one for one in own if isinstance(one, SplitResult)]
    return results, left_out


def _done(jobs: list[Callable[[], Found]], progress: bool | None, n_jobs: int | None) -> list[Found]:
    with progress_bar("validation", len(jobs), progress) as advance:

        def stepped(job: Callable[[], Found]) -> Found:
            result = job()
            advance()
            return result

        return side_by_side(stepped, jobs, n_jobs)


def _read(task: ValidationTask, models: dict[str, Any], moments: Callable[[], Moments], number: int) -> Found:
    """Moment models on a split."""
    data, train, split = task.table.labelled, moments(), task.splits[number]
    found: Found = {}
    rules: dict[str, Rule] = {}
    for name, model in models.items():
        rule = task.attempted(name, number, partial(read_rule, model, train, data, task.table.X))
        if isinstance(rule, DegenerateDataError):
            found[name, number] = rule
        else:
            rules[name] = rule
    held_out = rule_predictions(rules, models, data, split.test, task.needs_scores)
    again = rule_predictions(rules, models, data, split.train, task.needs_scores) if task.train_scores else {}
    return found | {(name, number): task.result(split, held_out[name], again.get(name)) for name in rules}


def _fitted(task: ValidationTask, name: str, number: int) -> Found:
    """Any other model on a split."""
    table, split = task.table, task.splits[number]
    train = split.train

    def fit() -> SplitResult:
        fitted = clone(task.models[name]).fit(table.rows(train), table.labels(train), **table.fitting(train))
        held_out = model_predictions(name, fitted, table, split.test, task.needs_scores)
        again = model_predictions(name, fitted, table, train, task.needs_scores) if task.train_scores else None
        return task.result(split, held_out, again)

    return {(name, number): task.attempted(name, number, fit)}
