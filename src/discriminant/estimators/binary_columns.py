"""Binary classifiers side by side: the rows they read, and their scores as columns."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..data import Rows
from ..data.rows import array_from, as_frame
from ..engine import side_by_side
from ..errors import DtypeError, InputError
from ..rules import LinearRule
from .base import RuleClassifier

Array = np.ndarray[Any, Any]

#: Log-odds of a probability that rounds to 1 would be infinite; this is the closest to 1 that does not.
_SURE = 1.0 - float(np.finfo(np.float64).epsneg)
#: Nothing but a sign, which half of it still has.
_ABOVE_0 = float(np.finfo(np.float64).tiny)


class TableRows(Rows):
    """Rows of any table a classifier can read, handed on as they are; whether it can, the classifier says."""

    def __init__(self, X: Any) -> None:
        plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
        self.table = X.tocsr() if sp.issparse(X) else X if plain or as_frame(X) is not None else array_from(X)
        try:
            self.n_rows = _num_samples(self.table)
        except TypeError as error:
            raise DtypeError(f"X must be a table with a row for each case. {error}") from error
        self.n_columns = self.table.shape[1] if len(self.table.shape) > 1 else 1
        if np.iscomplexobj(self.table):
            raise InputError("Complex data not supported: X has complex values. Use their real and imaginary parts.")
        if self.n_rows == 0:
            raise InputError(f"Found array with 0 sample(s) (shape={self.table.shape}): X is empty.")

    @property
    def spans(self) -> list[range]:
        """One: the classifiers work side by side, not the rows."""
        return [range(0, self.n_rows, self.block_rows)]

    def block(self, start: int, stop: int) -> Any:
        return self.table if stop - start == self.n_rows else _safe_indexing(self.table, slice(start, stop))

    def every(self, step: int) -> TableRows:
        return TableRows(self.take(np.arange(0, self.n_rows, step)))

    def take(self, chosen: Array) -> Any:
        return self.table[chosen] if type(self.table) is np.ndarray else _safe_indexing(self.table, chosen)

    def refuse_nonfinite(self, label: Callable[[int], str] | None = None) -> None:
        """Left to the classifiers: some read missing values."""


@dataclass(frozen=True)
class LabelledTable:
    """A table with a class code and a weight for each row."""

    rows: TableRows
    classes: Array
    codes: Array
    weight: Array | None

    def class_weights(self) -> Array:
        """The weight of each class, its number of rows where there are no weights."""
        return np.bincount(self.codes, weights=self.weight, minlength=len(self.classes)).astype(np.float64)


@dataclass(frozen=True)
class Committee:
    """Fitted binary classifiers as columns of scores; ``sides`` are their labels of the side +1."""

    estimators: list[Any]
    sides: Array
    n_jobs: int | None

    def scores(self, block: Any) -> Array:
        of_column = in_same_config(lambda m: binary_scores(self.estimators[m], self.sides[m], block))
        return np.column_stack(side_by_side(of_column, list(range(len(self.estimators))), self.n_jobs))


def binary_scores(estimator: Any, side: Any, X: Any) -> Array:
    """The scores for the side +1: its decision function, else log-odds, else the bare decisions -1 and +1.

    A score of exactly 0 that the classifier itself takes for the side +1 becomes the smallest one above 0.
    """
    scores = _scores(estimator, side, X)
    even = np.flatnonzero(scores == 0)
    if even.size:
        claimed = np.asarray(estimator.predict(_safe_indexing(X, even))) == side
        scores[even[claimed]] = _ABOVE_0
    return scores


def _scores(estimator: Any, side: Any, X: Any) -> Array:
    if hasattr(estimator, "decision_function"):
        return np.array(estimator.decision_function(X), dtype=np.float64).ravel()
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
        p = np.clip(p, 1.0 - _SURE, _SURE)
        return np.log(p) - np.log1p(-p)
    return np.where(np.asarray(estimator.predict(X)) == side, 1.0, -1.0)


def copies_of(estimator: Any) -> Callable[[], Any]:
    """A maker of unfitted classifiers like this one.

    Where no parameter can change, copies of one clone are as good as clones, which take as long as a small fit.
    """
    first = clone(estimator)
    plain = getattr(type(first), "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__ and all(
        value is None or isinstance(value, (bool, int, float, str)) for value in first.get_params(deep=False).values()
    )
    return partial(copy if plain else clone, first)


def forget_rows(estimator: Any) -> None:
    """Let a model of this package go of its training rows, which here are a copy that nobody else holds."""
    if isinstance(estimator, RuleClassifier):
        for name in set(estimator._own_state) & set(vars(estimator)):
            delattr(estimator, name)


def zero_is_second(estimator: Any) -> bool:
    """Whether a classifier with linear scores gives one of exactly 0 to its second class, as the perceptron does."""
    return bool(getattr(type(estimator), "_zero_is_second", False))


def gives_scores(estimator: Any) -> bool:
    return hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")


def linear_columns(estimators: list[Any]) -> LinearRule | None:
    """The scores of all columns as one linear rule, if every classifier is linear and known to score by it."""
    parts = [_linear(estimator) for estimator in estimators]
    if any(part is None for part in parts):
        return None
    centres, coef, constants = (np.stack(values) for values in zip(*parts, strict=True))
    centre = centres.mean(axis=0)
    constants = constants + np.einsum("mj,mj->m", coef, centre - centres)
    return LinearRule(centre, coef, constants) if np.isfinite(constants).all() else None


def _linear(estimator: Any) -> tuple[Array, Array, float] | None:
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


def in_same_config(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function under the caller's scikit-learn settings, which belong to one thread, on whatever thread it runs."""
    settings = get_config()

    def run(task: Any) -> Any:
        with config_context(**settings):
            return function(task)

    return run
