"""How precisely parameters are known: covariance of the estimates, in several senses.

All work in the parameters of an `Objective` (standardised columns), where every quantity one may want to report is a
linear function of ``theta``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data import Block
from ..engine import reduce
from ..moments.covariance import Covariance, factorised
from ..objective import Objective, Pass

Array = np.ndarray[Any, Any]


def information(objective: Objective, theta: Array) -> Array:
    """Fisher information of all rows: total weight times the Hessian of the mean loss, without the penalty."""
    hessian = objective.value_gradient_hessian(theta)[2]
    hessian[np.diag_indices(len(hessian))] -= objective.ridge.ravel()
    return objective.total_weight * hessian


def inverse(matrix: Array) -> tuple[Array, Covariance]:
    """The (pseudo-)inverse of a symmetric matrix, and the factorisation it came from."""
    factor = factorised(matrix)
    root = factor.from_sphere(np.eye(factor.rank))
    return root @ root.T, factor


def penalised_covariance(objective: Objective, theta: Array) -> Array:
    """``(I + R)^-1 I (I + R)^-1``: the spread of a ridge estimate, whose bias it does not know (I information)."""
    unpenalised = information(objective, theta)
    bread = inverse(unpenalised + objective.total_weight * np.diag(objective.ridge.ravel()))[0]
    return bread @ unpenalised @ bread


def sandwich_covariance(
    objective: Objective, theta: Array, clusters: Array | None = None, importance: bool = False
) -> Array:
    """``H^-1 M H^-1`` with M the sum of outer products of the rows' (or clusters') score vectors.

    With frequency weights a row of weight w counts as w rows; with importance weights as one row whose score is w
    times as large.
    """
    hessian = objective.total_weight * objective.value_gradient_hessian(theta)[2]
    bread = inverse(hessian)[0]
    groups = None if clusters is None else np.unique(clusters, return_inverse=True)
    count = 0 if groups is None else len(groups[0])
    statistic = _ScoreProducts(
        objective, *objective.linear(theta), None if groups is None else groups[1], count, importance
    )
    total = reduce(objective.data, statistic, objective.n_jobs)
    scale = np.append(objective.standardised.scale, 1.0)[: objective.shape[1]]
    scale = np.tile(scale, objective.n_functions)
    if groups is None:
        meat = total.outer / np.outer(scale, scale)
    else:
        scaled = total.by_group / scale
        meat = scaled.T @ scaled * count / max(count - 1, 1)
    return bread @ meat @ bread


class _ScoreProducts(Pass):
    """Outer products of the rows' score vectors, or their sums by cluster."""

    densify = True

    def __init__(
        self, objective: Objective, coef: Array, intercept: Array, groups: Array | None, count: int, importance: bool
    ) -> None:
        super().__init__(objective, coef, intercept)
        self.groups, self.count, self.importance = groups, count, importance
        size = objective.n_parameters
        self.outer, self.by_group = np.zeros((size, size)), np.zeros((count, size))
        self.start = 0

    def fresh(self) -> Self:
        return type(self)(self.objective, self.coef, self.intercept, self.groups, self.count, self.importance)

    def merge(self, other: Self) -> None:
        self.outer += other.outer
        self.by_group += other.by_group

    def update(self, block: Block) -> None:
        self.start = block.start
        super().update(block)

    def add(self, part: Any, codes: Array, weight: Array, offset: Array | None) -> None:
        slopes = self.loss.evaluate(self.scores(part, self.coef, self.intercept, offset), codes)[1]
        slopes = slopes @ self.objective.contrasts.T
        rows = part if self.standard.far else part - self.standard.centre
        if self.objective.fit_intercept:
            rows = np.concatenate((rows, np.ones((len(rows), 1))), axis=1)
        scores = (slopes[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        if self.groups is not None:
            np.add.at(self.by_group, self.groups[self.start : self.start + len(rows)], weight[:, None] * scores)
            self.start += len(rows)
        else:
            scores *= (weight if self.importance else np.sqrt(weight))[:, None]
            self.outer += scores.T @ scores
