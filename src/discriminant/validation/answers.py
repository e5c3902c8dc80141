"""What models say of held-out rows, and how good it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from ..data import LabelledRows
from ..decision.costs import read_costs
from ..errors import InputError, ParameterError
from ..estimators.base import PosteriorClassifier
from ..evaluation.probabilities import brier_scores, log_losses
from ..evaluation.ranking import auc, rank
from ..kernels import scores as kernels
from ..results import plain
from ..rules import Rule
from .table import Table

Array = np.ndarray[Any, Any]

#: Every measure, and whether more of it is better.
METRICS = {"accuracy": True, "error": False, "log_loss": False, "brier": False, "auc": True, "cost": False}
#: Their largest possible value.
CEILINGS = {"accuracy": 1.0, "error": 1.0, "auc": 1.0}
_FROM_POSTERIORS = ("log_loss", "brier")


@dataclass(frozen=True, eq=False)
class Answers:
    """The class codes a model gives some rows, its posteriors, and other scores where it has no posteriors."""

    codes: Array
    posterior: Array | None = None
    scores: Array | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """The value of each measure, and its standard error as a mean over rows; NaN where there is none."""

    values: Array
    errors: Array


@dataclass(frozen=True, eq=False)
class Scoring:
    """The measures that are wanted."""

    metrics: tuple[str, ...]
    costs: Array | None = None
    posteriors: bool = False  #: posteriors are wanted for themselves

    @property
    def needs_posteriors(self) -> bool:
        return self.posteriors or "auc" in self.metrics or any(name in self.metrics for name in _FROM_POSTERIORS)

    def score(self, truth: Array, weight: Array | None, answers: Answers) -> Scored:
        """Every measure of answers to rows whose classes are ``truth``."""
        pairs = [self._measure(name, truth, weight, answers) for name in self.metrics]
        return Scored(*np.array(pairs).T)

    def _measure(self, name: str, truth: Array, weight: Array | None, answers: Answers) -> tuple[float, float]:
        if name == "auc":
            return area_under_curve(truth, weight, answers), np.nan
        if name in _FROM_POSTERIORS and answers.posterior is None:
            return np.nan, np.nan
        return mean_and_error(self._of_rows(name, truth, answers), weight)

    def _of_rows(self, name: str, truth: Array, answers: Answers) -> Array:
        if name == "cost":
            assert self.costs is not None
            return self.costs[truth, answers.codes]
        if name == "accuracy":
            return answers.codes == truth
        if name == "error":
            return answers.codes != truth
        posterior: Any = answers.posterior
        return log_losses(posterior, truth) if name == "log_loss" else brier_scores(posterior, truth)


def wanted_scoring(metrics: Any, costs: Any, classes: Array, posteriors: bool = False) -> Scoring:
    """The measures asked for; by default those that cost no more than a look at each answer."""
    table = None if costs is None else _cost_table(costs, classes)
    if metrics is None:
        return Scoring(("accuracy", *_FROM_POSTERIORS, *(("cost",) if table is not None else ())), table, posteriors)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics) if isinstance(metrics, Iterable) else ()
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ParameterError(f"metrics must be among {', '.join(METRICS)}; got {unknown[0] if unknown else metrics!r}.")
    if "cost" in names and table is None:
        raise ParameterError("The metric 'cost' needs costs: a table with a row for each true class.")
    return Scoring(tuple(dict.fromkeys(names)), table, posteriors)


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
    """The mean over rows and its standard error, weights read as frequencies."""
    total = float(len(values) if weight is None else weight.sum())
    if total == 0:
        return np.nan, np.nan
    mean = float(values.sum() if weight is None else weight @ values) / total
    if total <= 1:
        return mean, np.nan
    squares = (values - mean) ** 2
    return mean, float(np.sqrt((squares.sum() if weight is None else weight @ squares) / (total - 1) / total))


def area_under_curve(truth: Array, weight: Array | None, answers: Answers) -> float:
    """The area under the ROC curve; of more than two classes, the mean of each against the rest.

    NaN without scores, and where a class has no rows.
    """
    scores = answers.scores if answers.posterior is None else answers.posterior
    if scores is None:
        return np.nan
    chosen = [1] if scores.shape[1] == 2 else range(scores.shape[1])
    return float(np.mean([auc(rank(truth == k, np.ascontiguousarray(scores[:, k]), weight)) for k in chosen]))


def rule_answers(
    rules: dict[str, Rule], models: dict[str, Any], data: LabelledRows, index: Array, posteriors: bool
) -> dict[str, Answers]:
    """What rules say of some rows, each of which is fetched once for all of them."""
    n, n_classes = len(index), len(data.classes)
    codes = {name: np.empty(n, dtype=np.int32) for name in rules}
    scores = {name: np.empty((n, n_classes)) for name in rules} if posteriors else {}
    step = data.rows.block_rows
    for start in range(0, n, step):
        where = slice(start, start + step)
        block = data.rows.take(index[where])
        for name, rule in rules.items():
            found = rule.scores(block)
            if not kernels.best_classes(found, codes[name][where]):
                _refuse_unsound(data, name)
            if posteriors:
                scores[name][where] = found
    return {name: _rule_answer(models[name], codes[name], scores.get(name)) for name in rules}


def _rule_answer(model: Any, codes: Array, scores: Array | None) -> Answers:
    if scores is None or not isinstance(model, PosteriorClassifier):
        return Answers(codes, None, scores)
    return Answers(codes, softmax(scores, axis=1))


def _refuse_unsound(data: LabelledRows, name: str) -> None:
    data.rows.refuse_nonfinite()
    raise InputError(f"X has values too large for model {name!r} to score: they overflow. Use other units.")


def model_answers(name: str, fitted: Any, table: Table, index: Array, posteriors: bool) -> Answers:
    """What a fitted classifier, of whatever origin, says of some rows."""
    X = table.rows(index)
    codes = table.positions(np.asarray(fitted.predict(X)), name)
    if not posteriors:
        return Answers(codes)
    columns = table.positions(np.asarray(fitted.classes_), name)
    if hasattr(fitted, "predict_proba"):
        return Answers(codes, _spread(np.asarray(fitted.predict_proba(X), dtype=np.float64), columns, table, 0.0))
    if hasattr(fitted, "decision_function"):
        margin = np.asarray(fitted.decision_function(X), dtype=np.float64)
        by_class = np.column_stack((-margin, margin)) if margin.ndim == 1 else margin
        if by_class.shape[1] == len(columns):
            return Answers(codes, None, _spread(by_class, columns, table, -np.inf))
    return Answers(codes)


def _spread(values: Array, columns: Array, table: Table, fill: float) -> Array:
    """The values of the classes a model has seen in the columns of all classes."""
    if len(columns) == len(table.classes):
        return values
    out = np.full((len(values), len(table.classes)), fill)
    out[:, columns] = values
    return out
