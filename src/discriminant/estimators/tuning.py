"""Training rows and splits that all families of `AutoClassifier` share, and the objective of their logistic fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from ..arrays import Array
from ..basis import Basis
from ..data import LabelledRows, Rows, dense_rows
from ..folds import HeldOut, TunedRule
from ..losses import log_loss
from ..objective import ElasticNet, Objective, column_units
from ..rules import LinearRule
from ..solvers.ridge_cv import RidgeChoice

# Tolerances of the fits of folds: strengths differ by far more.
FOLD_TOL: Final = 1e-5


@dataclass(frozen=True)
class Training:
    """Training rows (of many rows a subsample) and the splits of all families; ``whole`` are all rows."""

    data: LabelledRows
    held: HeldOut
    whole: LabelledRows
    n_jobs: int | None
    order: Array | None = None  #: the codes of the classes from the lowest to the highest
    best: TunedRule | None = None  #: the best of the families that were fitted before
    ridge: tuple[Objective, RidgeChoice] | None = None  #: the ridge on the columns, if it is known

    @cached_property
    def values(self) -> Array:
        """The rows as one array."""
        return np.asarray(dense_rows(self.data.rows.block(0, self.data.n_rows)), dtype=np.float64)

    @cached_property
    def weight(self) -> Array:
        """The weight of each pair of a row and a split that holds it out."""
        return np.ones(len(self.held.rows)) if self.data.weight is None else self.data.weight[self.held.rows]

    @cached_property
    def codes(self) -> Array:
        """The class of each of these pairs."""
        return self.data.codes[self.held.rows]

    def loss_of_split(self, split: int, log_posteriors: Array) -> float:
        """The mean log-loss of the rows that a split holds out."""
        own = self.held.fits == split
        return float(-np.average(log_posteriors[np.arange(own.sum()), self.codes[own]], weights=self.weight[own]))

    def loss(self, log_posteriors: Array) -> float:
        """The mean log-loss of these pairs."""
        return float(-np.average(log_posteriors[np.arange(len(self.codes)), self.codes], weights=self.weight))


class ExpandedRows(Rows):
    """Functions of the columns of other rows, computed block by block."""

    def __init__(self, rows: Rows, basis: Basis) -> None:
        self.rows, self.basis = rows, basis
        self.n_rows, self.n_columns = rows.n_rows, basis.n_outputs
        self.is_indicator = indicators(rows, basis)

    def block(self, start: int, stop: int) -> Array:
        return self.basis.expand(self.rows.block(start, stop))

    def subsample(self, step: int) -> ExpandedRows:
        return ExpandedRows(self.rows.subsample(step), self.basis)

    def take(self, chosen: Array) -> Array:
        return self.basis.expand(self.rows.take(chosen))


def indicators(rows: Rows, basis: Basis) -> Array | None:
    """Which outputs of a basis are indicators of levels or their products."""
    if rows.is_indicator is None:
        return None
    factors = np.append(np.zeros(basis.n_factors, dtype=bool), True)
    factors[: len(basis.columns)] = rows.is_indicator[basis.columns]
    return np.asarray(factors[basis.outputs].all(axis=1))


def logistic_objective(data: LabelledRows, l1_ratio: float, n_jobs: int | None) -> Objective:
    loss, penalty = log_loss(len(data.classes)), ElasticNet(1.0, l1_ratio)
    scale = column_units(data, penalty, n_jobs)
    found = Objective(data, loss, penalty, penalty_scale=scale, n_jobs=n_jobs, symmetric=l1_ratio > 0)
    return replace(found, standard=found.standardised)


def linear_rule(objective: Objective, theta: Array) -> LinearRule:
    return LinearRule.of_scores(objective.standardised.centre, *objective.linear(theta))
