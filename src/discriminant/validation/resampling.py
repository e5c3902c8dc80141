"""Bootstrap resamples of a labelled table, and the refits of a model to them.

A resample is a count of each unit: a row, a copy of a row with a frequency, or a cluster of rows. Resamples of a
resample, for the double bootstrap, are drawn with probabilities proportional to its counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import has_fit_parameter

from ..arrays import Array
from ..data import as_rows, dense_rows, is_sparse
from ..decision.posteriors import innermost
from ..engine import parallel_map
from ..errors import DiscriminantError, LabelError, ParameterError, Setting
from ..estimators.logistic import LogisticRegression
from ..solvers.weightings import MAX_COLUMNS, logistic_fits
from .labelled_table import LabelledTable

#: Why a resample has no maximum-likelihood estimate.
SEPARATED: Final = "maximum likelihood has no finite solution (separation)"
#: Models that are fitted before their predictions are measured.
BLOCK_FITS: Final = 32
#: A column with a smaller part that earlier columns do not explain, relative to its size, is one of their functions.
MIN_INDEPENDENT: Final = 1e-8


@dataclass(frozen=True)
class Units:
    """What is drawn: ``counts`` of each unit in the original rows, the unit of each row, and the weight of its copies.

    ``member`` is None where every row is a unit.
    """

    counts: Array
    member: Array | None
    row_weight: Array

    @classmethod
    def of(cls, table: LabelledTable) -> Units:
        """Clusters; or copies of rows, if weights are frequencies; or rows."""
        weight = np.ones(table.n_rows) if table.weight is None else table.weight
        if table.groups is not None:
            return cls(np.ones(int(table.groups.max()) + 1), table.groups, weight)
        if table.weight is not None and np.array_equal(weight, np.rint(weight)):
            return cls(weight, None, np.ones(table.n_rows))
        return cls(np.ones(table.n_rows), None, weight)

    def drawn(self, counts: Array, size: int, rng: np.random.Generator) -> Array:
        """Counts (size, units) of resamples of a sample with these counts."""
        total = counts.sum()
        return rng.multinomial(int(total), counts / total, size=size).astype(np.float64)

    def given(self, resamples: ArrayLike) -> Array:
        """Counts of resamples that are given as numbers of rows."""
        rows, n = np.asarray(resamples), len(self.row_weight)
        if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
            expected = f"an integer, or arrays of row numbers from 0 to {n - 1}"
            raise ParameterError(Setting("resamples"), f" must be {expected}.")
        return np.stack([np.bincount(own, minlength=n) for own in rows]).astype(np.float64)

    def weights(self, counts: Array) -> Array:
        """The weight of each row (..., n) in samples with these counts."""
        return (counts if self.member is None else counts[..., self.member]) * self.row_weight


@dataclass(frozen=True)
class Refit:
    """Probabilities of all original rows by the model of one resample, or why there are none."""

    posterior: Array | None
    failure: str = ""


class Refits:
    """A model that is fitted to resamples of a table."""

    def __init__(self, model: Any, table: LabelledTable, n_jobs: int | None) -> None:
        self.model, self.table, self.n_jobs = model, table, n_jobs
        self._columns = _columns_of_likelihood(model, table)

    @property
    def is_likelihood(self) -> bool:
        """Whether many resamples are fitted together, by maximum likelihood of two classes."""
        return self._columns is not None

    def of(self, weights: Array) -> Iterator[Refit]:
        """The model of each weighting of the rows (B, n), in order."""
        if self._columns is not None:
            yield from _likelihood_refits(self._columns, self.table, weights)
            return
        for start in range(0, len(weights), BLOCK_FITS):
            # Filters of warnings are global, so they are changed here and not in the threads.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = list(parallel_map(self._refit, list(weights[start : start + BLOCK_FITS]), self.n_jobs))
            yield from found

    def _refit(self, own: Array) -> Refit:
        table, model = self.table, self.model
        if (np.bincount(table.codes, own, len(table.classes)) == 0).any():
            return Refit(None, "a class has no rows in the resample")
        rows = np.flatnonzero(own)
        if not has_fit_parameter(model, "sample_weight"):
            rows = np.repeat(rows, own[rows].astype(np.int64))
            part = table.take(rows)
        else:
            part = replace(table.take(rows), weight=own[rows])
        try:
            fitted = part.fitted(model)
        except DiscriminantError as error:
            return Refit(None, str(error))
        inner = innermost(fitted)
        if getattr(inner, "separation_", None) is not None and not getattr(inner, "alpha", 0):
            return Refit(None, SEPARATED)
        return Refit(posterior_of(fitted, table))


def posterior_of(fitted: Any, table: LabelledTable) -> Array:
    """The probabilities of all rows, with the classes of the table."""
    posterior = np.asarray(fitted.predict_proba(table.X))
    if list(fitted.classes_) != list(table.classes):
        raise LabelError(f"The model has the classes {list(fitted.classes_)}, y has {table.classes.tolist()}.")
    return posterior


def _columns_of_likelihood(model: Any, table: LabelledTable) -> Array | None:
    """Standardised columns with the intercept, for maximum likelihood of two classes; None for other models."""
    plain_likelihood = type(model) is LogisticRegression and not (
        model.alpha or model.firth or model.class_weight is not None or model.early_stopping
    )
    if not plain_likelihood or len(table.classes) != 2 or table.n_columns >= MAX_COLUMNS or is_sparse(table.X):
        return None
    if table.n_rows <= table.n_columns:
        return None
    rows = as_rows(table.X)
    X = dense_rows(rows.block(0, rows.n_rows)).astype(np.float64)
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0) if model.fit_intercept else X
    # Columns that are linear functions of earlier ones do not change the probabilities.
    size = np.sqrt(np.square(Z).sum(axis=0))
    Z = Z[:, np.abs(np.diagonal(np.linalg.qr(Z, mode="r"))) > MIN_INDEPENDENT * np.maximum(size, 1e-300)]
    return np.column_stack((Z, np.ones(len(Z)))) if model.fit_intercept else Z


def _likelihood_refits(Z: Array, table: LabelledTable, weights: Array) -> Iterator[Refit]:
    fits = logistic_fits(Z, (table.codes == 1).astype(np.float64), weights)
    for theta, converged in zip(fits.theta, fits.converged, strict=True):
        if converged:
            p = 1 / (1 + np.exp(-(Z @ theta)))
            yield Refit(np.column_stack((1 - p, p)))
        else:
            yield Refit(None, SEPARATED)
