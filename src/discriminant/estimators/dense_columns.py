"""Families of models that need dense rows, fitted to sparse ones: to dense columns and to the effects of the others.

Words and rare levels are too many for splines, products or covariances. A ridge on all columns gives their effects: the
part of its scores that depends on them. In training, the effects of a row are those of the fits that hold it out, so
that they do not contain its own class (stacking, Wolpert 1992); in prediction, those of the fit to all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, SparseRows, as_rows
from ..errors import DegenerateDataError
from ..folds import TunedRule
from ..rules import EffectsRule, LinearRule
from .families import FAMILIES, FOR_SPARSE, ridge_choice
from .tuning import Training

# Columns with at least this share of nonzero values are dense: at most 100 levels of a category.
MIN_DENSE_SHARE: Final = 0.01


def dense_columns(rows: SparseRows) -> Array:
    """The columns of sparse rows that are numbers, or indicators of frequent levels."""
    assert rows.is_indicator is not None
    n_nonzero = rows.values.getnnz(axis=0)
    n_ones = np.bincount(rows.values.indices, rows.values.data == 1, rows.n_columns)  # words have other weights
    is_frequent = (n_ones == n_nonzero) & (n_nonzero >= MIN_DENSE_SHARE * rows.n_rows)
    return np.flatnonzero(~rows.is_indicator | is_frequent)


@dataclass(frozen=True)
class Families:
    """The families of models on the same training rows; ``dense`` are sparse rows as dense ones."""

    training: Training
    columns: Array | None = None  #: the dense columns of sparse rows
    effects: LinearRule | None = None  #: of the other columns
    dense: Training | None = None

    @classmethod
    def of(cls, training: Training) -> Self:
        """With the effects of sparse columns, if these are words or levels."""
        rows = training.data.rows
        if not isinstance(rows, SparseRows) or rows.is_indicator is None:
            return cls(training)
        training = replace(training, ridge=ridge_choice(training))
        columns = dense_columns(rows)
        held_out, effects = _effects(training, columns)
        data = _dense(training.data, columns, held_out)
        whole = data
        if training.whole is not training.data:
            whole = _dense(training.whole, columns, effects.scores(training.whole.rows.block(0, training.whole.n_rows)))
        return cls(training, columns, effects, replace(training, data=data, whole=whole, ridge=None))

    def rule(self, name: str, best: TunedRule | None) -> TunedRule:
        """A tuned family; ``best`` is the best of those fitted before."""
        if name in FOR_SPARSE or not isinstance(self.training.data.rows, SparseRows):
            return FAMILIES[name](replace(self.training, best=best))
        if self.dense is None or self.columns is None or self.effects is None:
            raise DegenerateDataError("sparse rows.")
        found = FAMILIES[name](replace(self.dense, best=best))
        return replace(found, rule=_for_all_columns(found.rule, self.columns, self.effects))


def _effects(training: Training, dense: Array) -> tuple[Array, LinearRule]:
    """The effects of the sparse columns of each row, by the fits that hold it out, and those of the fit to all rows."""
    assert training.ridge is not None
    objective, choice = training.ridge
    held, data = training.held, training.data
    coefs = np.array(objective.linear(choice.best.theta)[0])
    coefs[..., dense] = 0.0
    coefs = coefs[:, : max(coefs.shape[1] - 1, 1)]  # scores of several classes sum to 0
    whole = LinearRule(np.zeros(coefs.shape[-1]), np.ascontiguousarray(coefs[-1]), np.zeros(coefs.shape[1]))
    total, count = np.zeros((data.n_rows, coefs.shape[1])), np.bincount(held.rows, minlength=data.n_rows)[:, None]
    for split in range(held.n_splits):
        rows = held.rows[held.fits == split]
        total[rows] += data.rows.take(rows) @ coefs[split].T
    never = whole.scores(data.rows.block(0, data.n_rows))  # the only row of a class
    return np.where(count > 0, total / np.maximum(count, 1), never), whole


def _dense(data: LabelledRows, columns: Array, effects: Array) -> LabelledRows:
    """The rows with the dense columns and the effects of the others."""
    values, rows = data.rows.block(0, data.n_rows)[:, columns].toarray(), data.rows
    known = (own for own in (rows.is_indicator, rows.redundant) if own is not None)
    marks = (np.pad(own[columns], (0, effects.shape[1])) for own in known)
    return replace(data, rows=as_rows(np.hstack((values, effects)), None, *marks))


def _for_all_columns(rule: Any, columns: Array, effects: LinearRule) -> LinearRule | EffectsRule:
    """The rule of dense columns and effects for rows with all columns."""
    if not isinstance(rule, LinearRule):
        return EffectsRule(columns, effects, rule)
    n = len(columns)
    coef = rule.coef[:, n:] @ effects.coef
    coef[:, columns] = rule.coef[:, :n]
    return LinearRule(np.zeros(coef.shape[1]), coef, rule.intercept)
