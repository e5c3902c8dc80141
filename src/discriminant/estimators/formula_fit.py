"""Fits by a formula, with offsets, and the columns that such a model takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..arrays import Array
from ..data import Rows, as_rows, dense_rows
from ..errors import Model, ParameterError, Setting
from ..rules import with_known

if TYPE_CHECKING:
    from ..formula import Formula
    from ..tables import TrainingTable


def fit_formula(
    model: BaseEstimator, formula: Formula, training: TrainingTable, orders: Mapping[str, Sequence[str]] | None = None
) -> Any:
    """The model, fitted to a training table by a formula; ``orders`` has the levels of columns with an own order."""
    if not formula.intercept:
        if "fit_intercept" not in model.get_params(deep=False):
            without = f"{type(model).__name__} always has an intercept. Leave out - 1 and + 0."
            raise ParameterError(Setting("formula"), ": ", without)
        model.set_params(fit_intercept=False)
    formula = replace(formula, intercept=getattr(model, "fit_intercept", True))
    basis, names, terms = formula.design(training.schema, training.X, training.weights, orders)
    rows = terms.expanded(basis, training.rows, names)
    weights = {} if training.weights is None else {"sample_weight": training.weights}
    if formula.offsets:
        _fit_with_offsets(model, rows, len(formula.offsets), training.y, weights)
    else:
        model.fit(rows, training.y, **weights)
    model.basis_, model.formula_ = basis, terms
    if "_design" in getattr(model, "_own_state", ()):
        model._design = partial(
            formula.design, schema=training.schema, X=training.X, weight=training.weights, orders=orders
        )
    return model


def _fit_with_offsets(
    model: BaseEstimator, rows: Rows, n_offsets: int, y: ArrayLike, weights: dict[str, Array]
) -> None:
    """Fit a model to all columns but the last, which are known parts of the score; its rule then adds them up."""
    if "offset" not in inspect.signature(model.fit).parameters:
        without = f"{type(model).__name__} does not support offsets. Leave out offset(), or use "
        raise ParameterError(Setting("formula"), ": ", without, Model("LogisticRegression"), ".")
    values, names = dense_rows(rows.block(0, rows.n_rows)), list(rows.names or ())
    if len(np.unique(y)) > 2 and not getattr(model, "_has_one_score", False):
        no_effect = ": offset() requires two classes; added to the scores of all classes it has no effect."
        raise ParameterError(Setting("formula"), no_effect)
    own = as_rows(np.ascontiguousarray(values[:, :-n_offsets]), names[:-n_offsets])
    model.fit(own, y, offset=values[:, -n_offsets:].sum(axis=1), **weights)
    model.rule_ = model.rule_.with_offset_columns(n_offsets)
    model.coef_ = with_known(model.coef_, n_offsets)
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)


def n_offset_columns(model: BaseEstimator) -> int:
    """How many of the last columns of a model are offsets of its formula, whose coefficient is 1."""
    return len(model.formula_.offsets) if hasattr(model, "formula_") else 0


def input_names(model: BaseEstimator) -> list[str] | None:
    """The names of the coded columns that a classifier of this package takes, if it knows them."""
    if hasattr(model, "formula_"):
        return list(model.formula_.inputs)
    return model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None
