"""Binary classifiers of any package: their scores, and one linear rule if all are linear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeGuard, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..arrays import Array, Label, MatrixLike
from ..data import Rows, array_from, as_frame, csr_of_floats, is_sparse, require, stratified_subsample
from ..engine import parallel_map
from ..errors import DtypeError, InputError
from ..rules import LinearRule
from .base import RuleClassifier

# The smallest positive score; half of it is still positive.
MIN_POSITIVE_SCORE: Final = float(np.finfo(np.float64).tiny)
# The largest probability with finite log-odds.
MAX_PROBABILITY: Final = 1.0 - float(np.finfo(np.float64).epsneg)

T = TypeVar("T")
R = TypeVar("R")


class Table(Protocol):
    """An array, CSR matrix, frame or rows, which classifiers check themselves."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, and of columns unless there is one dimension."""

    def __array__(self) -> Array:
        """The values as an array."""


def _is_table(X: MatrixLike) -> TypeGuard[Table]:
    plain = isinstance(X, (np.ndarray, Rows)) and not isinstance(X, np.ma.MaskedArray)
    return plain or as_frame(X) is not None


class TableRows(Rows):
    """Rows of any table, passed unchanged to classifiers, which check it themselves."""

    def __init__(self, X: MatrixLike) -> None:
        self.table: Table = csr_of_floats(X) if is_sparse(X) else X if _is_table(X) else array_from(X)
        try:
            self.n_rows = _num_samples(self.table)
        except TypeError as error:
            raise DtypeError(f"X must be a table of rows: {error}") from error
        self.n_columns = self.table.shape[1] if len(self.table.shape) > 1 else 1
        if np.iscomplexobj(self.table):
            raise InputError("Complex data not supported. Use the real and imaginary parts of X.")
        if self.n_rows == 0:
            raise InputError(f"Found array with 0 sample(s) (shape={self.table.shape}). X must have rows.")

    @property
    def partitions(self) -> list[range]:
        """One: classifiers run in parallel, not rows."""
        return [range(0, self.n_rows, self.block_rows)]

    def block(self, start: int, stop: int) -> Any:
        return self.table if stop - start == self.n_rows else _safe_indexing(self.table, slice(start, stop))

    def subsample(self, step: int) -> TableRows:
        return TableRows(self.take(stratified_subsample(self.n_rows, step)))

    def take(self, chosen: Array) -> Any:
        return self.table[chosen] if type(self.table) is np.ndarray else _safe_indexing(self.table, chosen)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Nothing: some classifiers accept missing values."""


@dataclass(frozen=True)
class BinaryClassifiers:
    """Fitted binary classifiers as columns of scores; ``sides`` are their labels for the side +1."""

    estimators: list[Any]
    sides: Array
    n_jobs: int | None

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classifiers, and of columns of their rows."""
        return len(self.estimators), self.estimators[0].n_features_in_

    def _check_parts(self) -> None:
        own = self.estimators
        require(isinstance(own, list) and bool(own) and all(hasattr(one, "rule_") for one in own), self, "classifiers")
        require(len({one.n_features_in_ for one in own}) == 1, self, "numbers of columns")
        require(isinstance(self.sides, np.ndarray) and len(self.sides) == len(own), self, "sides")

    def scores(self, block: Array) -> Array:
        tasks = list(zip(self.estimators, self.sides, strict=True))
        return np.column_stack(on_threads(lambda task: binary_scores(task[0], task[1], block), tasks, self.n_jobs))


def binary_scores(estimator: BaseEstimator, side: Label, X: MatrixLike) -> Array:
    """The scores for the side +1: the decision function, else log-odds, else the predictions as -1 and +1.

    A score of 0 that the classifier predicts as the side +1 becomes the smallest positive score.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.array(estimator.decision_function(X), dtype=np.float64).ravel()
    elif hasattr(estimator, "predict_proba"):
        p = np.clip(
            np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1], 1.0 - MAX_PROBABILITY, MAX_PROBABILITY
        )
        scores = np.log(p) - np.log1p(-p)
    else:
        return np.where(np.asarray(estimator.predict(X)) == side, 1.0, -1.0)
    even = np.flatnonzero(scores == 0)
    if even.size:
        claimed = np.asarray(estimator.predict(_safe_indexing(X, even))) == side
        scores[even[claimed]] = MIN_POSITIVE_SCORE
    return scores


def linear_columns(estimators: list[BaseEstimator]) -> LinearRule | None:
    """The scores of all columns as one linear rule, if every classifier is linear."""
    parts = [_linear(estimator) for estimator in estimators]
    if any(part is None for part in parts):
        return None
    centres, coef, constants = (np.stack(values) for values in zip(*parts, strict=True))
    centre = centres.mean(axis=0)
    constants = constants + np.einsum("mj,mj->m", coef, centre - centres)
    return LinearRule(centre, coef, constants) if np.isfinite(constants).all() else None


def _linear(estimator: BaseEstimator) -> tuple[Array, Array, float] | None:
    """Centre, coefficients and constant of a linear classifier of two classes."""
    scoring = getattr(type(estimator), "decision_function", None)
    rule = getattr(estimator, "rule_", None)
    if scoring is RuleClassifier.decision_function and isinstance(rule, LinearRule):
        return rule.centre, rule.coef[1] - rule.coef[0], rule.constants[1] - rule.constants[0]
    coef = getattr(estimator, "coef_", None)
    if not isinstance(coef, np.ndarray) or len(coef) != 1:
        return None
    from sklearn.linear_model._base import LinearClassifierMixin  # slow to load

    if scoring is LinearClassifierMixin.decision_function:
        return np.zeros(coef.shape[1]), coef[0].astype(np.float64), float(np.ravel(estimator.intercept_)[0])
    return None


def on_threads(function: Callable[[T], R], tasks: list[T], n_jobs: int | None) -> list[R]:
    """`parallel_map` with the caller's scikit-learn configuration, which is thread-local."""
    settings = get_config()

    def run(task: T) -> R:
        with config_context(**settings):
            return function(task)

    return parallel_map(run, tasks, n_jobs)
