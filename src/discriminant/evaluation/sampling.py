"""Sampling designs: frequencies, importance weights and clusters, and the effective rows of a variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, ArrayLike
from ..data import check_weights, encoded, has_fractions, label_column
from ..errors import DegenerateDataError, InputError, Setting

#: With at least this many independent rows, expected losses do not change intervals (see `means.Mean`).
ENOUGH_ROWS: Final = 10_000


def effective_rows(influence: Array, weight: Array | None = None) -> float:
    """The effective number of rows of a variance, ``(sum u^2)^2 / sum u^4`` for the influences u of the rows.

    It is k if k rows have equal influence and the others none, and infinite if all influences are 0, because the
    variance is then 0.
    """
    second, fourth = power_sums(influence, weight)
    return second**2 / fourth if fourth > 0 else math.inf


def power_sums(influence: Array, weight: Array | None = None) -> tuple[float, float]:
    """The sums of the second and of the fourth powers of the influences of the rows."""
    squares = np.square(influence)
    weighted = squares if weight is None else squares * weight
    return float(weighted.sum()), float(weighted @ squares)


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """How rows were sampled: weights and clusters.

    Whole weights are frequencies: a row of weight 3 is three independent rows. Weights that are not whole numbers, such
    as survey weights, are importance weights: each row is one observation and its own cluster.
    """

    n_rows: int
    weight: Array | None = None
    clusters: Array | None = None  #: the number of each row's cluster
    n_clusters: int = 0
    is_weighted_by_importance: bool = False

    @classmethod
    def read(cls, sample_weight: ArrayLike | None, groups: ArrayLike | None, n_rows: int) -> SamplingDesign:
        """The design for weights and groups; rows without groups are independent."""
        weight = check_weights(sample_weight, n_rows)
        if groups is None:
            return cls.of_importances(weight) if has_fractions(weight) else cls(n_rows, weight)
        found, codes = encoded(label_column("groups", groups))
        if len(codes) != n_rows:
            raise InputError(f"groups has {len(codes)} values, expected {n_rows}: one group per row.")
        if len(found) < 2:
            raise DegenerateDataError(
                f"All rows are in one group, {found[0]!r}, so the variation between groups is unknown. Leave out ",
                Setting("groups"),
                ", or give one label for each independent unit.",
            )
        return cls(n_rows, weight, codes, len(found))

    @classmethod
    def of_importances(cls, weight: Array, rows: Array | None = None) -> SamplingDesign:
        """The design of importance weights; ``rows`` are row numbers, if rows are repeated."""
        if np.count_nonzero(weight) < 2:
            return cls(len(weight), weight)  # the variance cannot be estimated from one observation
        drawn = np.arange(len(weight)) if rows is None else rows
        clusters = np.zeros(len(weight), dtype=np.int64)  # rows without weight add nothing to any cluster
        found, clusters[weight > 0] = np.unique(drawn[weight > 0], return_inverse=True)
        return cls(len(weight), weight, clusters, len(found), True)

    @property
    def effective_rows(self) -> float:
        """The effective sample size of the weights (Kish 1965): ``(sum w)^2 / sum w^2``."""
        return float(self.weights.sum() ** 2 / (self.weights @ self.weights))

    @property
    def weights(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def is_large(self) -> bool:
        """Whether there are enough independent rows that expected losses do not change intervals."""
        return self.clusters is None and self.total_weight > ENOUGH_ROWS

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance between clusters."""
        return math.inf if self.clusters is None else float(self.n_clusters - 1)

    @property
    def words(self) -> str:
        """The clusters, for the description of a method."""
        if self.is_weighted_by_importance:
            return f", {self.n_clusters:,} weighted rows"
        return "" if self.clusters is None else f", {self.n_clusters:,} clusters"

    def by_cluster(self, cells: Array, n_cells: int) -> Any:
        """The weight of each cluster (row) in each cell (column); ``cells`` is the cell of each row."""
        shape = self.n_clusters, n_cells
        return sp.csr_matrix((self.weights, (self.clusters, cells)), shape=shape)

    def sums(self, values: Array) -> Array:
        """The sum of values of the rows in each cluster."""
        assert self.clusters is not None
        return np.bincount(self.clusters, weights=values, minlength=self.n_clusters)

    def variance(self, influence: Array) -> float:
        """The variance of a measure from the influence of its rows."""
        if self.clusters is None:
            return float(self.weights @ np.square(influence))
        sums = self.sums(self.weights * influence)
        return float(sums @ sums)

    def sides(self, is_positive: Array) -> tuple[float, float]:
        """The numbers of independent positive and negative rows: total weights, or clusters with such rows."""
        weights = [np.where(side, self.weights, 0.0) for side in (is_positive, ~is_positive)]
        if self.clusters is None:
            return float(weights[0].sum()), float(weights[1].sum())
        found = [np.count_nonzero(self.sums(own)) for own in weights]
        return float(found[0]), float(found[1])

    def rows_behind(self, influence: Array) -> float:
        """The effective number of rows or clusters of the variance of a measure with these row influences."""
        if self.clusters is None:
            return effective_rows(influence, self.weights)
        return effective_rows(self.sums(self.weights * influence))

    def worth(self, deviations: Array, squares: float) -> float:
        """The number of independent rows whose mean would have the same variance as that of the clusters.

        ``squares`` is the weighted sum of the squared deviations. If there are none, the number follows from the sizes
        of the clusters.
        """
        sums = self.sums(self.weights * deviations)
        between = float(sums @ sums) * self.n_clusters / (self.n_clusters - 1)
        if squares > 0 and between > 0:
            return squares * self.total_weight / between
        sizes = self.sums(self.weights)
        return float(sizes.sum() ** 2 / (sizes @ sizes))
