"""Cross-validation of several models on the same folds, and what scores of several splits tell together.

Models that are known once the moments of their training rows are need no fit to rows: the moments of the folds are
collected in one pass, those of each training part are merged from the folds before and after, and every such model is
read from them as its own ``fit`` would read it.

Figures and differences are those of all held-out rows together (`held_out`). Only what is not a figure of rows, such as
the gap between training and held-out scores, is judged by how it varies between splits. Two training parts of 10-fold
cross-validation have 8/9 of their rows in common, so that the usual standard error of a mean is too small there;
Nadeau & Bengio (2003) correct it: the variance of the mean of J scores is ``(1/J + n_test/n_train)`` times the variance
between them, on J - 1 degrees of freedom.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final, Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array
from ..data import LabelledRows, Source, check_choice
from ..decision.costs import read_costs
from ..decision.posteriors import Posterior, costs_decide
from ..decision.rules import DecisionProblem
from ..engine import ProgressOption, progress_bar, side_by_side
from ..errors import AliasWarning, DegenerateDataError, InputError, ParameterError
from ..estimators.base import MOST_NUMBERS_OF_FOLDS, MomentClassifier, PosteriorClassifier, collected, moments_in_folds
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.curves import auc, positive_code, rank
from ..evaluation.evaluation import Evaluation, evaluation_of
from ..evaluation.intervals import Estimate, Interval, Mean, no_interval, quantile
from ..evaluation.probabilities import LOSSES, expected_moments
from ..kernels import scores as kernels
from ..moments.statistic import ClassMoments, Needs, combined_needs, merged, narrowed
from ..results import Result, aligned, jsonable, plain, quoted, shown
from ..rules import Rule
from .held_out import (
    MANY_ROWS,
    TABLE_MEASURES,
    AreaOfRows,
    HeldOutRows,
    LabelledTable,
    MeanOfRows,
    MeasureOfTable,
    PairedDifference,
    Pooled,
    Round,
    ShareOfRows,
    Split,
    TableMeasure,
    held_out_rows,
    labelled_table,
    plan_rounds,
)
from .passes import answers_by_passes


def named_models(models: Any) -> dict[str, Any]:
    """The models by name: as a dict or (name, model) pairs give it, else by class, numbered where it repeats."""
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


def refuse_weightless_models(models: dict[str, Any]) -> None:
    """Refuse models that cannot be told of weights."""
    for name, model in models.items():
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(
                f"sample_weight is given, but the fit of model {name!r} ({type(model).__name__}) takes none. Leave the "
                "weights or the model out."
            )


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


def training_moments(
    data: LabelledRows, part: Round, needs: Needs, n_jobs: int | None
) -> list[Callable[[], ClassMoments]]:
    """For each split, what gives the moments of its training rows: merged from cells, or by a pass of their own."""
    count, fewest, p = len(part.splits), part.fewest_rows, data.rows.n_columns
    wide = p if needs.grain == "diagonal" and not needs.fourth else p * p
    per_class = needs.grain == "class" or needs.fourth or wide == p
    if (count + 1) * (len(data.classes) if per_class else 1) * wide > MOST_NUMBERS_OF_FOLDS:
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


def _moments_of(data: LabelledRows, index: Array, needs: Needs, n_jobs: int | None) -> ClassMoments:
    """The moments of some rows by themselves."""
    part = data.take(index)
    statistic = needs.statistic(part.n_rows, len(data.classes), data.rows.n_columns)
    try:
        moments: ClassMoments = collected(part, statistic, n_jobs)
    except InputError:
        data.rows.refuse_nonfinite()  # whose message has the row's number among all
        raise
    return moments


def read_rule(model: Any, moments: ClassMoments, data: LabelledRows, X: Any) -> Rule:
    """The rule of a model read from moments, over all classes; those without training rows cannot win."""
    fitted, seen = clone(model), moments.present
    fitted._check_columns(X, reset=True)
    fitted._accept(replace(data, classes=data.classes[seen]))
    fitted._adopt(narrowed(moments.only_present(), fitted._needs()))
    rule: Rule = fitted.rule_.spread_over(seen)
    return rule


#: Every measure, and whether more of it is better.
METRICS = {
    "log_loss": False, "accuracy": True, "balanced_accuracy": True, "auc": True, "f1": True, "error_rate": False,
    "brier": False, "cost": False,
}  # fmt: skip
_FROM_POSTERIORS = tuple(LOSSES)
_SHARES = ("accuracy", "error_rate")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The class codes a model gives some rows, its posteriors, and other scores where it has no posteriors."""

    codes: Array
    posterior: Array | None = None
    scores: Array | None = None


@dataclass(frozen=True, eq=False)
class RowValues:
    """What a measure is made of: a value for each row, or a score for each row and class; sums of what is expected."""

    values: Array
    expected: Array | None = None


@dataclass(frozen=True, eq=False)
class Scoring:
    """The measures that are wanted."""

    metrics: tuple[str, ...]
    n_classes: int
    costs: Array | None = None
    positive: int | None = None  #: the code of the positive class

    @property
    def areas(self) -> tuple[int, ...]:
        """The classes whose areas under the ROC curve are averaged; that of either of two is the other's."""
        if self.n_classes == 2:
            return (1,)
        return tuple(range(self.n_classes)) if self.positive is None else (self.positive,)

    def of_table(self, metric: str) -> TableMeasure:
        """A measure of the table of true and predicted classes."""
        return TableMeasure.named(metric, self.positive)

    @property
    def needs_posteriors(self) -> bool:
        return self.costs is not None or any(name in self.metrics for name in ("auc", *_FROM_POSTERIORS))

    def score(
        self, truth: Array, weight: Array | None, found: Predictions, expecting: bool = False
    ) -> tuple[Array, dict[str, RowValues]]:
        """Every measure of the predictions of rows whose classes are ``truth``, and what it is made of.

        ``expecting``: with what the model expects of it (see `Mean`), which takes longer.
        """
        rows = {name: self._rows(name, truth, weight, found, expecting) for name in self.metrics}
        values = [self._measure(name, rows[name], truth, weight, found) for name in self.metrics]
        return np.array(values), {name: own for name, own in rows.items() if own is not None}

    def _rows(
        self, name: str, truth: Array, weight: Array | None, found: Predictions, expecting: bool
    ) -> RowValues | None:
        if name in TABLE_MEASURES:
            return RowValues(found.codes)
        if name in _SHARES:
            return RowValues((found.codes == truth) if name == "accuracy" else (found.codes != truth))
        if name == "auc":
            scores = found.scores if found.posterior is None else found.posterior
            every = scores is None or len(self.areas) == scores.shape[1]
            return None if scores is None else RowValues(scores if every else scores[:, list(self.areas)])
        if name == "cost":
            assert self.costs is not None
            values, by_class = self.costs[truth, found.codes], self.costs.T[found.codes]
        elif found.posterior is None:
            return None
        else:
            values = LOSSES[name](found.posterior, truth)
            by_class = LOSSES[name](found.posterior) if expecting else values
        if not expecting:
            return RowValues(values)
        shares = np.bincount(truth, weight, by_class.shape[1])  # where nothing tells rows apart
        belief = np.tile(shares, (len(truth), 1)) if found.posterior is None else found.posterior
        return RowValues(values, expected_moments(by_class, belief, weight))

    def _measure(
        self, name: str, rows: RowValues | None, truth: Array, weight: Array | None, found: Predictions
    ) -> float:
        if rows is None or (weight is not None and not weight.any()):
            return math.nan
        if name in TABLE_MEASURES:
            counts = np.bincount(truth * self.n_classes + found.codes, weight, self.n_classes**2)
            return self.of_table(name).value(counts.reshape(self.n_classes, self.n_classes))
        if name == "auc":
            return area_under_curve(truth, weight, found, self.areas)
        return Mean.of(rows.values, weight).mean


def wanted_scoring(metrics: Any, costs: Any, classes: Array, positive: int | None = None) -> Scoring:
    """The measures asked for; by default those that cost no more than a look at each prediction."""
    table = None if costs is None else _cost_table(costs, classes)
    if metrics is None:
        default = ("accuracy", *_FROM_POSTERIORS, *(("cost",) if table is not None else ()))
        return Scoring(default, len(classes), table, positive)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics) if isinstance(metrics, Iterable) else ()
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ParameterError(f"metrics must be among {', '.join(METRICS)}; got {unknown[0] if unknown else metrics!r}.")
    if "cost" in names and table is None:
        raise ParameterError("The metric 'cost' needs costs: a table with a row for each true class.")
    return Scoring(tuple(dict.fromkeys(names)), len(classes), table, positive)


def _cost_table(costs: Any, classes: Array) -> Array:
    """The cost of each prediction (column) for each true class (row), both in the order of the classes."""
    values, actions = read_costs(costs).aligned(classes)
    names = [plain(label) for label in classes]
    unknown, absent = [a for a in actions if a not in names], [name for name in names if name not in actions]
    if unknown or absent or values.ndim != 2:
        wrong = f" Not a class: {quoted(unknown)}." if unknown else ""
        wrong += f" Without a column: {quoted(absent)}." if absent else ""
        raise ParameterError(
            f"costs must give one cost for each true class and each predicted class, of {quoted(names, 10)}; got "
            f"actions {quoted(actions, 10)} and shape {values.shape}.{wrong}"
        )
    return values[:, [actions.index(name) for name in names]]


def area_under_curve(truth: Array, weight: Array | None, found: Predictions, chosen: Iterable[int]) -> float:
    """The area under the ROC curve of a class against the rest; of several classes the mean.

    NaN without scores, and where a class has no rows.
    """
    scores = found.scores if found.posterior is None else found.posterior
    if scores is None:
        return np.nan
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
                data.rows.refuse_nonfinite()
                raise InputError(f"X has values too large for model {name!r} to score: they overflow. Use other units.")
            if with_scores:
                scores[name][where] = found
    posteriors = {
        name: softmax(found, axis=1) for name, found in scores.items() if isinstance(models[name], PosteriorClassifier)
    }
    return {
        name: Predictions(codes[name], posteriors.get(name), None if name in posteriors else scores.get(name))
        for name in rules
    }


def model_predictions(name: str, fitted: Any, table: LabelledTable, index: Array, with_scores: bool) -> Predictions:
    """What a fitted classifier, of whatever origin, predicts for some rows."""
    X = table.rows(index)
    codes = table.positions(np.asarray(fitted.predict(X)), name)
    if not with_scores:
        return Predictions(codes)
    columns = table.positions(np.asarray(fitted.classes_), name)

    def spread(values: Any, fill: float) -> Array:
        """The values of the classes the model has seen in the columns of all classes."""
        if len(columns) == len(table.classes):
            return np.asarray(values, dtype=np.float64)
        out = np.full((len(index), len(table.classes)), fill)
        out[:, columns] = values
        return out

    if hasattr(fitted, "predict_proba"):
        return Predictions(codes, spread(fitted.predict_proba(X), 0.0))
    if hasattr(fitted, "decision_function"):
        margin = np.asarray(fitted.decision_function(X), dtype=np.float64)
        by_class = np.column_stack((-margin, margin)) if margin.ndim == 1 else margin
        if by_class.shape[1] == len(columns):
            return Predictions(codes, None, spread(by_class, -np.inf))
    return Predictions(codes)


@dataclass(frozen=True, eq=False)
class SplitResult:
    """A model on one split: its scores on test rows and perhaps on training rows, counts of what it predicted."""

    held_out: Array
    train: Array | None
    counts: Array
    rows: dict[str, RowValues]
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

    @cached_property
    def held_out(self) -> HeldOutRows:
        """The test rows of all splits."""
        return held_out_rows(self.table, self.splits)

    @property
    def needs_scores(self) -> bool:
        return self.keep == "posteriors" or self.scoring.needs_posteriors

    def decided(self, found: Predictions) -> Predictions:
        """The classes of least expected cost, where there are costs and posteriors."""
        costs, classes = self.scoring.costs, self.table.classes
        if costs is None or found.posterior is None:
            return found
        problem = DecisionProblem(Posterior(found.posterior, classes), costs, classes.tolist(), None, None)
        return replace(found, codes=problem.chosen().astype(np.int32))

    def result(self, split: Split, found: Predictions, in_training: Predictions | None = None) -> SplitResult:
        """Scores and counts of what a model predicted for the test rows of a split, and for its training rows."""
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
    task: ValidationTask, progress: ProgressOption, n_jobs: int | None
) -> tuple[dict[str, list[SplitResult]], dict[str, DegenerateDataError]]:
    """The results of every model in the order of the splits, and the errors of those that are left out."""
    from_moments = {name: model for name, model in task.models.items() if read_from_moments(model)}
    if isinstance(task.table.X, Source):
        needs = shared_needs(from_moments) if from_moments else None
        parts = answers_by_passes(task, from_moments, needs, model_predictions, progress, n_jobs)
        return _sorted_out(task, {(name, number): _scored(task, number, one) for name, number, one in parts})
    jobs: list[Callable[[], Found]] = []
    if from_moments:
        needs, data = shared_needs(from_moments), task.table.labelled
        moments = [give for part in task.rounds for give in training_moments(data, part, needs, n_jobs)]
        jobs += [partial(_read, task, from_moments, give, number) for number, give in enumerate(moments)]
    for name in task.models:
        if name not in from_moments:
            jobs += [partial(_fitted, task, name, number) for number in range(len(task.splits))]
    # Split by split, so that the first shows how long all will take.
    jobs = [job for number in range(len(task.splits)) for job in jobs[number :: len(task.splits)]]
    with progress_bar("validation", len(jobs), progress) as advance:

        def done(job: Callable[[], Found]) -> Found:
            result = job()
            advance()
            return result

        found = {key: one for part in side_by_side(done, jobs, n_jobs) for key, one in part.items()}
    return _sorted_out(task, found)


def _scored(task: ValidationTask, number: int, found: Any) -> SplitResult | DegenerateDataError:
    """The scores of a model's answers to the test rows of a split, unless it has none."""
    wrong = isinstance(found, DegenerateDataError)
    return found if wrong else task.result(task.splits[number], task.decided(found))


def _sorted_out(
    task: ValidationTask, found: Found
) -> tuple[dict[str, list[SplitResult]], dict[str, DegenerateDataError]]:
    """The results of every model in the order of the splits, and the errors of those that are left out."""
    results: dict[str, list[Any]] = {name: [found[name, i] for i in range(len(task.splits))] for name in task.models}
    errors = {name: [one for one in own if isinstance(one, DegenerateDataError)] for name, own in results.items()}
    left_out = {name: own[0] for name, own in errors.items() if own}
    return {name: own for name, own in results.items() if name not in left_out}, left_out


def _read(task: ValidationTask, models: dict[str, Any], moments: Callable[[], ClassMoments], number: int) -> Found:
    """Moment models on a split."""
    data, train, split = task.table.labelled, moments(), task.splits[number]
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
    """Any other model on a split."""
    table, split = task.table, task.splits[number]
    train = split.train

    def fit() -> SplitResult:
        fitted = table.fitted(task.models[name], train)
        parts = (split.test, train) if task.train_scores else (split.test,)
        found = [model_predictions(name, fitted, table, index, task.needs_scores) for index in parts]
        return task.result(split, *(map(task.decided, found) if costs_decide(fitted) else found))

    return {(name, number): task.attempted(name, number, fit)}


#: The largest possible value of measures that have one.
_CEILINGS = dict.fromkeys(("accuracy", "error_rate", "auc", *TABLE_MEASURES), 1.0)
#: A gap between two accuracies is worth a word only from this share of the error it is measured against.
_NOTABLE = 0.1


def within_range(metric: str, interval: Interval) -> Interval:
    """An interval no wider than the range of its measure."""
    return interval.within(-math.inf if metric == "cost" else 0.0, _CEILINGS.get(metric, math.inf))


_BY_COSTS = "Classes were decided by least expected cost."
_CLASSES_ONLY = "Only predicted classes were kept in the comparison, no probabilities."


def corrected_mean(values: Array, ratio: float) -> Estimate:
    """The mean of scores of several splits; ``ratio`` is the size of a test part over that of its training part.

    Scores that are not defined (NaN) are left out; of a single one nothing is known but its value.
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
    """Scores of each model on each split, with means, intervals and what was predicted.

    Attributes
    ----------
    models : tuple of str
        Names, in the order in which they were given.
    metrics : tuple of str
        What was measured.
    classes : array of shape (K,)
        Labels, in sorted order.
    positive : label or None
        The positive class; None for more than two classes of which none was named.
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
        The class code of each row.
    weights, groups : arrays of shape (n_rows,), or None
        Of the rows, where they have any.
    pooled : dict of dict
        What each model's measures are on all held-out rows together; those it has.
    decided_by_costs : tuple of str
        The models whose classes are those of least expected cost.
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
        """The score of each split on the rows the model learned from."""
        if self.train_values is None:
            raise ParameterError("There are no scores on training rows. Ask for them: train_scores=True.")
        return self.train_values[self._place(model, metric)]

    def mean(self, model: str, metric: str = "accuracy") -> float:
        """The measure on all held-out rows together; NaN where a model has none."""
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
        counts once, however often it was held out. What another set of training rows would change is not in it.
        """
        found = self._pooled(model, metric)
        if found is None or math.isnan(found.value):
            return no_interval(level, "the model has no such score")
        return within_range(metric, found.interval(level))

    def difference(self, first: str, second: str, metric: str = "accuracy", level: float = 0.95) -> PairedDifference:
        """The first model's score minus the second's on the same rows, with interval and test.

        Shares of rows: McNemar's mid-p test and Agresti & Min's interval; means: Student's t of the differences of
        rows; AUCs: DeLong's covariance of pairs within splits; balanced accuracy and F1: the linearised variance.
        """
        one, other = self._pooled(first, metric), self._pooled(second, metric)
        if one is None or other is None:
            return PairedDifference(math.nan, math.nan, math.nan, math.nan)
        return one.minus(other, level)  # type: ignore[arg-type]  # of one metric, so of one kind

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

    def evaluation(self, model: str, costs: Any = None, level: float = 0.95, positive: Any = None) -> Evaluation:
        """The evaluation of a model's out-of-fold predictions, of repeats the first.

        Where they were not kept it is made of the counts of true and predicted classes alone. Costs decide where
        posteriors were kept, unless they have done so in the cross-validation. The positive class is that of the
        cross-validation, unless another is named.
        """
        positive = self.positive if positive is None else positive
        counts, kept, decided = self.confusion(model), self.out_of_fold.get(model), model in self.decided_by_costs
        if kept is None:
            total = float(counts.total)
            parts = self.classes, round(total), total, level
            notes = [_CLASSES_ONLY, _BY_COSTS] if decided else [_CLASSES_ONLY]
            k = positive_code(positive, self.classes, counts.counts.sum(axis=1))
            named = None if k is None else plain(self.classes[k])
            return Evaluation.of_parts(*parts, positive=named, confusion=counts, notes=notes)
        # A fold whose training part has no rows of some class has no scores for it.
        scores = kept.scores[0] if kept.scores is not None and np.isfinite(kept.scores[0]).all() else None
        decide = costs is not None and not decided and kept.posterior is not None
        found = evaluation_of(
            self.classes[self.truth],
            None if decide else self.classes[kept.codes[0]],
            None if kept.posterior is None else kept.posterior[0],
            scores,
            classes=self.classes,
            costs=costs,
            sample_weight=self.weights,
            groups=self.groups,
            positive=positive,
            level=level,
        )
        if kept.posterior is None and kept.scores is None:
            found.notes.append(_CLASSES_ONLY)
        if decided:
            found.notes.append(_BY_COSTS)
        return found

    @cached_property
    def notes(self) -> list[str]:
        """Signs of over- and underfitting in words; needs scores on the training rows.

        Overfitting: the gap between accuracy on training rows and on held-out rows is beyond chance and a notable part
        of the error. Underfitting: even on the rows it learned from, the model is hardly better than the most frequent
        class.
        """
        return [note for name in self.models for note in self._fitting_notes(name)] if self._shows_training else []

    def _fitting_notes(self, name: str) -> Iterator[str]:
        train, held_out, baseline = self.train_scores(name), self.scores(name), self.baseline
        gap, gain = self._gap(train - held_out, name), self._gap(train - baseline, name)
        if gap.interval().low > 0 and gap.value > _NOTABLE * (1 - held_out.mean()):
            yield (
                f"{name} overfits: accuracy {train.mean():.4f} on the rows it learned from, {held_out.mean():.4f} on "
                f"held-out rows (gap {gap}). More rows, fewer columns or a stronger penalty narrow it."
            )
        if gain.interval().low <= 0 or gain.value <= _NOTABLE * (1 - baseline.mean()):
            yield (
                f"{name} underfits: accuracy {train.mean():.4f} on the rows it learned from and {held_out.mean():.4f} "
                f"on held-out rows, where the most frequent class alone reaches {baseline.mean():.4f}. Other columns, "
                "terms of higher order or a weaker penalty may help."
            )

    def _gap(self, values: Array, model: str) -> Estimate:
        """The mean distance of scores of the splits; that of a single one varies as the model's accuracy does."""
        if len(values) > 1:
            return corrected_mean(values, self.ratio)
        error = self.estimate(model).reach / quantile(0.95)
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
        """Everything that is printed, and the scores it comes from, in plain numbers and text."""
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
        head = ["model", *self.metrics] + (["accuracy in training"] if self._shows_training else [])
        rows = [[name, *(self._cell(name, metric) for metric in self.metrics)] for name in self.models]
        if self._shows_training:
            rows = [[*row, f"{self.train_scores(row[0]).mean():.4f}"] for row in rows]
        how = f"rows held out in {self.n_splits} splits" if self.n_splits > 1 else "rows held out in one split"
        foot = f"{how}, 95 % intervals; the most frequent class alone reaches {self.baseline.mean():.4f}"
        foot += "" if self.positive is None else f"; positive class: {shown(self.positive)}"
        return "\n".join([*aligned([head, *rows]), foot, *self.notes])

    @property
    def _shows_training(self) -> bool:
        return self.train_values is not None and "accuracy" in self.metrics

    def _cell(self, model: str, metric: str) -> str:
        found = self.estimate(model, metric)
        if math.isnan(found.value):
            return "not available"
        return f"{found.value:.4f}" + ("" if math.isnan(found.low) else f" ({found.low:.4f} to {found.high:.4f})")

    def _model(self, name: str) -> int:
        if name not in self.models:
            raise ParameterError(f"There is no model {name!r}. Models: {', '.join(self.models)}.")
        return self.models.index(name)

    def _place(self, model: str, metric: str) -> tuple[int, slice, int]:
        """Where the scores of all splits stand."""
        if metric not in self.metrics:
            raise ParameterError(f"{metric!r} was not measured. Measured: {', '.join(self.metrics)}.")
        return self._model(model), slice(None), self.metrics.index(metric)


def cross_validate(
    models: Any, X: Any, y: Any = None, cv: Any = None, repeats: int = 1, groups: Any = None, costs: Any = None,
    metrics: Any = None, sample_weight: Any = None, stratify: bool = True, random_state: Any = 0,
    train_scores: bool = False, keep: Literal["predictions", "posteriors"] | None = None, positive: Any = None,
    progress: ProgressOption = None, n_jobs: int | None = None,
) -> CrossValidation:  # fmt: skip
    """Scores of models on rows they have not seen, all models on the same splits.

    Models that are read from class moments (`LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis`,
    `GaussianNB`, `LeastSquaresClassifier`, `FisherDiscriminant`) share one pass over the rows for all folds; the result
    is that of fitting each to each training part. Models that choose a parameter by folds of their own, and all
    others, are fitted part by part.

    Parameters
    ----------
    models : classifier, list of classifiers, or dict of str to classifier
        What is fitted to the training rows of every split. Without names they are called by their class.
    X : array-like, sparse matrix, frame of shape (n_rows, n_columns), or rows of `open_dataset`
        The rows, as ``fit`` takes them. Folds of a dataset go by the numbers of its rows.
    y : array-like of shape (n_rows,), optional
        The class of each row. A dataset has its own.
    cv : int, float, splitter or iterable of (train, test), optional
        A number of folds; by default ten (five from 5,000 rows on), or as many as the smallest class has rows and as
        there are groups. Rows are
        shuffled and dealt to the folds in turn, class after class, so that each class is spread evenly. A share such as
        0.25: a hold-out, that share of each class. Anything of scikit-learn's that splits, or row numbers, are taken
        as they are. The order of rows in time is not guessed: give ``TimeSeriesSplit()`` where it matters.
    repeats : int, default=1
        How often rows are dealt anew.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are held out together.
    costs : array-like of shape (K, K), dict or frame, optional
        Cost of predicting class j (column) where k (row) is true; adds the metric "cost". Classes are in sorted order
        or by name, ``{true: {predicted: cost}}``. Models with probabilities then decide by least expected cost, except
        those that decide themselves, such as `DecisionClassifier`.
    metrics : str or list of str, optional
        Of "accuracy", "error_rate", "balanced_accuracy", "f1" (of the positive class; without one, the mean over the
        classes), "log_loss", "brier", "auc" and "cost". By default accuracy, log-loss and Brier score, and the cost if
        there are costs; "auc" has to sort, and is computed when asked for. Log-loss and Brier score (halved for two
        classes) need posteriors.
    sample_weight : array-like of shape (n_rows,), optional
        Weights count in fitting and in scoring: weight 3 means three such rows.
    stratify : bool, default=True
        Whether classes are spread evenly over the folds; every class then needs a row for each fold.
    random_state : int or Generator, default=0
        Decides the shuffling.
    train_scores : bool, default=False
        Also score the training rows, for `CrossValidation.notes` on over- and underfitting.
    keep : {"predictions", "posteriors"}, optional
        What to keep of each row's predictions while it was held out.
    positive : label, optional
        The positive class, which F1 and evaluations are of; one of more than two stands against the rest, also in the
        AUC. Default: the rarer of two (the second, if both are equally frequent), none of more.
    progress : bool or callable, optional
        A progress bar on stderr: True, False, or None for one on a terminal if it takes longer than a second. A
        function is told the fits done and their number, from any thread; what it raises ends the work.
    n_jobs : int, optional
        Threads: None as many as BLAS uses, -1 all cores. The result does not depend on it.

    Returns
    -------
    CrossValidation
        Scores by model, split and metric, with means, intervals, confusion matrices and what was kept.

    See Also
    --------
    compare : Which differences between models are real.
    learning_curve : The error for a growing number of training rows.
    evaluate : One fitted model on rows put aside.

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
    LDA          0.9800 (0.9429 to 0.9932)
    naive Bayes  0.9533 (0.9068 to 0.9772)
    rows held out in 10 splits, 95 % intervals; the most frequent class alone reaches 0.3333
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
    """Whether every round holds out every row exactly once, so that each row has an out-of-fold prediction."""
    return all(part.fold is not None for part in rounds)


def cross_validated(
    task: ValidationTask, progress: ProgressOption, n_jobs: int | None
) -> tuple[CrossValidation, dict[str, DegenerateDataError]]:
    """The scores of all models that could be fitted, and the errors of those that are left out."""
    table = task.table
    if table.weight is not None and not isinstance(table.X, Source):
        refuse_weightless_models(task.models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AliasWarning)  # a matter of coefficients, not of predictions
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


#: Pairs of folds that models are fitted without to see what training rows change; of many rows a single one.
_PAIRS: Final = 2


def training_inflation(
    task: ValidationTask, found: CrossValidation, model: str, metric: str, n_jobs: int | None
) -> float:
    """The standard error of a figure as an estimate for new training rows, over that of its held-out rows alone.

    The losses of two held-out rows depend on each other, for each row takes part in the fit that judges the other: of
    what training rows change in a row's loss, the variance counts once more for the mean of all rows. It is found by
    the delete-group jackknife. A few models are fitted without a second fold, one of the G groups that a fold's model
    learned from; the variance of a loss is G - 1 times its mean squared change. Whether a row is correctly
    classified is no smooth function of the model: there the share of the rows that change grows with the square root
    of what is left out.

    NaN where it is not known: on datasets, for measures that are no means of rows, and where folds are fewer than three
    or splits of another kind.
    """
    whole, first = found.pooled[model].get(metric), task.rounds[0]
    if isinstance(task.table.X, Source) or first.fold is None or not isinstance(whole, ShareOfRows | MeanOfRows):
        return math.nan
    n_folds, n_rows = len(first.splits), task.table.n_rows
    if n_folds < 3:
        return math.nan
    n_pairs = min(1 if n_rows >= MANY_ROWS else _PAIRS, n_folds // 2)
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
    factor = math.sqrt((groups - 1) / 2) if metric in (*_SHARES, "cost") else groups - 1
    return math.sqrt(1 + factor * change / variance) if variance > 0 else 1.0 if change == 0 else math.nan


def _pooled_measures(task: ValidationTask, found: dict[str, list[SplitResult]]) -> dict[str, dict[str, Pooled]]:
    """What each model's measures are on the held-out rows of all splits together."""
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
    if metric in _SHARES:
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
    """Values of the test rows of all splits as an array (rounds, rows, ...); None where some split has none."""
    if any(part is None for part in parts):
        return None
    values = np.empty((len(rounds), rounds[0].splits[0].n_rows, *parts[0].shape[1:]), parts[0].dtype)
    tests = [(number, split.test) for number, one in enumerate(rounds) for split in one.splits]
    for (number, test), part in zip(tests, parts, strict=True):
        values[number, test] = part
    return values
