"""Bootstrap of effects: the model is fitted again to rows, or clusters of rows, drawn with replacement."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone

from ..arrays import Array
from ..errors import DiscriminantError, InputError, ParameterError, Setting
from ..estimators.base import PosteriorClassifier
from .options import EffectOptions
from .rows import Population

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def resampled(
    model: PosteriorClassifier, population: Population, options: EffectOptions, estimate: Callable[[Any], Array]
) -> tuple[Array, int]:
    """Estimates of the resamples (resamples, ...), and how many fits failed.

    A resample whose classes are not those of the training rows, or that cannot be fitted, is left out and counted.
    """
    rng = np.random.default_rng(options.random_state)
    units, refit = _units(population, options), _refitting(model, population, options)
    found, failed = [], 0
    for _ in range(options.resamples):
        drawn = rng.integers(len(units), size=len(units))
        rows = np.concatenate([units[i] for i in drawn])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = refit(rows)
            complete = len(fitted.classes_) == len(model.classes_)
        except DiscriminantError:
            complete = False
        if complete:
            found.append(estimate(fitted))
        else:
            failed += 1
    if len(found) < 2:
        raise InputError(
            f"The model could not be fitted to {failed} of {options.resamples} resamples with all classes. Merge rare "
            "classes, or use a penalty."
        )
    return np.stack(found), failed


def _units(population: Population, options: EffectOptions) -> list[Array]:
    """The rows of each unit that is drawn: single rows, or clusters."""
    if options.clusters is None:
        return [np.array([row]) for row in range(population.n_rows)]
    labels = np.asarray(options.clusters)
    if labels.shape != (population.n_rows,):
        raise InputError(f"clusters has shape {labels.shape}, expected ({population.n_rows},).")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _refitting(
    model: BaseEstimator, population: Population, options: EffectOptions
) -> Callable[[Array], PosteriorClassifier]:
    """A function that fits the model to some of the rows."""
    weights = None if options.weights is None else population.weights
    if hasattr(model, "formula_"):
        text, parameters = model.formula_.formula, model.get_params()

        def by_formula(rows: Array) -> PosteriorClassifier:
            own = None if weights is None else weights[rows]
            return type(model).from_formula(text, population.table.taken(rows), sample_weight=own, **parameters)

        return by_formula
    if options.y is None:
        raise ParameterError("Resamples need the classes of the rows. Give ", Setting("y"), " in EffectOptions.")
    y = nw.from_native(options.y, allow_series=True, pass_through=True)
    labels = y.to_numpy() if isinstance(y, nw.Series) else np.asarray(y)
    if labels.shape != (population.n_rows,):
        raise InputError(f"y has shape {labels.shape}, expected ({population.n_rows},).")

    encoder = getattr(model, "encoder_", None)

    def by_rows(rows: Array) -> PosteriorClassifier:
        given = {} if weights is None else {"sample_weight": weights[rows]}
        drawn = population.table.taken(rows)
        if encoder is None:
            return clone(model).fit(drawn, labels[rows], **given)
        names = encoder.feature_names_in_.tolist()
        coded = encoder.rows(nw.from_native(drawn).select(names).to_native())
        fitted = clone(model).fit(coded, labels[rows], **given)
        fitted.encoder_ = encoder
        return fitted

    return by_rows
