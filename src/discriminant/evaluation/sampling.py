"""What varies from sample to sample: rows drawn independently, or clusters of rows drawn together.

Weights are frequencies: a row of weight 3 is three independent rows. Where weights are importances instead, each row
is one draw whatever its weight: give every row a group of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.parameters import check_integer
from ..errors import DegenerateDataError, InputError
from .coding import coded, label_column
from .intervals import Interval, Scale, bca_interval, no_interval, normal_interval, wilson_interval
from .rates import Margins, Rate, Statistic, margins

Array = np.ndarray[Any, Any]

#: Cells of tables that are worked on at once.
_MOST_CELLS = 4_000_000
#: Share of a count that it is moved by to see how a measure responds.
_STEP = 1e-4


@dataclass(frozen=True)
class Clusters:
    """The cluster of each row, as a number."""

    codes: Array
    count: int

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance between clusters."""
        return float(self.count - 1)

    @property
    def words(self) -> str:
        return f"{self.count:,} clusters"

    def sums(self, contributions: Array) -> Array:
        return np.bincount(self.codes, weights=contributions, minlength=self.count)

    def spread(self, sums: Array) -> float:
        """The variance of a total of independent clusters whose contributions have mean 0."""
        return float(sums @ sums) * self.count / (self.count - 1)


def read_clusters(groups: Any, n_rows: int) -> Clusters | None:
    """The clusters of the rows, or None where rows are independent."""
    if groups is None:
        return None
    found, codes = coded(label_column("groups", groups))
    if len(codes) != n_rows:
        raise InputError(f"groups has {len(codes)} values for {n_rows} rows: give the group of each row.")
    if len(found) < 2:
        raise DegenerateDataError(
            f"All rows are of one group, {found[0]!r}: how much groups differ cannot be seen. Leave groups= out, or "
            "give one label for each independent unit."
        )
    return Clusters(codes, len(found))


@dataclass(frozen=True)
class Mean:
    """A weighted mean of values of rows, which can be merged with that of other rows."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0  #: weighted sum of squared deviations from the mean

    @classmethod
    def of(cls, values: Array, weight: Array | None = None) -> Mean:
        """The mean of these values."""
        if weight is None:
            mean = float(values.mean())
            return cls(float(values.size), mean, float(np.square(values - mean).sum()))
        total = float(weight.sum())
        if total == 0:
            return cls()
        mean = float(weight @ values) / total
        return cls(total, mean, float(weight @ np.square(values - mean)))

    def merged(self, other: Mean) -> Mean:
        """The mean of both (Chan, Golub & LeVeque)."""
        total = self.weight + other.weight
        if total == 0:
            return self
        shift = other.mean - self.mean
        mean = self.mean + shift * other.weight / total
        squares = self.squares + other.squares + shift * shift * self.weight * other.weight / total
        return Mean(total, mean, squares)

    @property
    def variance(self) -> float:
        """The variance of the mean."""
        return self.squares / (self.weight * (self.weight - 1)) if self.weight > 1 else math.nan

    def interval(self, level: float) -> Interval:
        """The normal interval of a mean (Student's t)."""
        if not self.weight > 1:
            return no_interval(level, "a mean of one row has no spread")
        return normal_interval(self.mean, self.variance, level, "normal interval of a mean", self.weight - 1)


def clustered_mean_interval(values: Array, weight: Array | None, clusters: Clusters, level: float) -> Interval:
    """The interval of a mean of rows in clusters: the linearised variance of a ratio of cluster totals."""
    weights = np.ones(len(values)) if weight is None else weight
    total = weights.sum()
    mean = float(weights @ values) / total
    variance = clusters.spread(clusters.sums(weights * (values - mean) / total))
    return normal_interval(mean, variance, level, f"cluster-robust mean, {clusters.words}", clusters.degrees)


class TableSample:
    """A table of counts as a sample: how far measures of it may be from those of the population.

    Parameters
    ----------
    counts : array of shape (K, A)
    by_cluster : sparse matrix of shape (clusters, K A), optional
        What each cluster adds to the table. Without it every counted row is a draw of its own.
    """

    def __init__(self, counts: Array, by_cluster: Any = None) -> None:
        self.counts = np.asarray(counts, dtype=np.float64)
        self.margins = margins(self.counts)
        self.by_cluster = by_cluster

    @classmethod
    def of_rows(cls, counts: Array, cells: Array, weight: Array | None, clusters: Clusters) -> TableSample:
        """The sample of rows in clusters; ``cells`` is the cell of the table (flat) that each row is counted in."""
        weights = np.ones(len(cells)) if weight is None else weight
        matrix = sp.csr_matrix((weights, (clusters.codes, cells)), shape=(clusters.count, counts.size))
        return cls(counts, matrix)

    def shares(self, rate: Rate, level: float) -> list[Interval]:
        """Wilson's intervals of a rate of each class whose part is contained in its base."""
        return self.share_intervals(rate.of, rate.base_of, level)

    def share_intervals(self, share: Statistic, base: Statistic, level: float) -> list[Interval]:
        """Wilson's intervals of proportions; in clusters with the number of independent rows worth as much.

        That number is ``p (1 - p) / variance``, with the linearised variance between clusters; for p of 0 or 1, where
        there is no variance to see, it is ``(sum of sizes)^2 / sum of squared sizes`` of the clusters.
        """
        values, bases = share(self.margins), base(self.margins)
        if self.by_cluster is None:
            return [wilson_interval(float(p), float(n), level) for p, n in zip(values, bases, strict=True)]
        variances = self._clustered_variance(share)
        sizes = self.by_cluster @ _cell_response(base, self.counts)
        method = f"Wilson, effective rows by {self.by_cluster.shape[0]:,} clusters"
        found = []
        for p, variance, size in zip(values, variances, sizes.T, strict=True):
            inside = 0 < p < 1 and variance > 0
            n = p * (1 - p) / variance if inside else size.sum() ** 2 / max(float(size @ size), 1e-300)
            degrees = max(float(np.count_nonzero(size > 1e-9 * size.max())) - 1, 1.0)
            found.append(wilson_interval(float(p), float(n), level, degrees, method))
        return found

    def intervals(
        self, statistic: Statistic, scales: list[Scale], level: float, random_state: Any, n_resamples: int = 2_000
    ) -> list[Interval]:
        """Intervals of any smooth measures of the table; ``statistic`` gives several, each with a scale.

        Independent rows: BCa bootstrap, the table drawn again from a multinomial distribution. Clusters: linearised
        variance between clusters, on the scale.
        """
        check_integer("n_resamples", n_resamples, 1)
        values = statistic(self.margins)
        if self.by_cluster is not None:
            return self._linearised(values, statistic, scales, level)
        if self.counts.sum() < 2:
            return [no_interval(level, "the rows' weights sum to less than two") for _ in values]
        influence = _cell_response(statistic, self.counts)
        acceleration = _acceleration(influence, self.counts.ravel())
        resampled = self._resampled(statistic, np.random.default_rng(random_state), n_resamples)
        method = f"BCa bootstrap of the table, {n_resamples:,} resamples"
        return [
            bca_interval(float(value), column, float(a), level, method)
            for value, column, a in zip(values, resampled.T, acceleration, strict=True)
        ]

    def _linearised(self, values: Array, statistic: Statistic, scales: list[Scale], level: float) -> list[Interval]:
        count = self.by_cluster.shape[0]
        variances = self._clustered_variance(statistic)
        method = f"linearised between {count:,} clusters, Student's t"
        return [
            normal_interval(float(value), float(variance), level, method, count - 1.0, scale)
            for value, variance, scale in zip(values, variances, scales, strict=True)
        ]

    def _clustered_variance(self, statistic: Statistic) -> Array:
        sums = self.by_cluster @ _cell_response(statistic, self.counts)
        return np.square(sums).sum(axis=0) * len(sums) / (len(sums) - 1)

    def _resampled(self, statistic: Statistic, rng: np.random.Generator, n_resamples: int) -> Array:
        flat = self.counts.ravel()
        filled = np.flatnonzero(flat)
        n, shares = max(round(flat.sum()), 1), flat[filled] / flat.sum()
        found = []
        for size in _portions(n_resamples, flat.size):
            tables = np.zeros((size, flat.size))
            tables[:, filled] = rng.multinomial(n, shares, size=size)
            found.append(statistic(margins(tables.reshape(size, *self.counts.shape))))
        return np.concatenate(found)


def _cell_response(statistic: Statistic, counts: Array) -> Array:
    """How measures change with one more row in each cell, (cells, measures).

    A row of cell (i, j) adds to the margins of its row and its column, and to the diagonal if i = j.
    """
    K, A = counts.shape
    tp, truth, columns = np.split(_margin_response(statistic, margins(counts)), [K, 2 * K])
    response = truth[:, None, :] + columns[None, :, :]
    response[np.arange(K), np.arange(K)] += tp
    return response.reshape(K * A, -1)


def _margin_response(statistic: Statistic, counts: Margins) -> Array:
    """Derivatives of measures in each entry of the margins, by differences; 0 for entries that are 0."""
    vector = np.concatenate((counts.tp, counts.truth, counts.columns))
    K = len(counts.truth)
    step = _STEP * vector
    upper, lower = (
        statistic(Margins(*np.split(vector + sign * np.diag(step), [K, 2 * K], axis=1))) for sign in (1.0, -1.0)
    )
    change = (upper - lower).reshape(len(vector), -1)
    return np.divide(change, 2 * step[:, None], out=np.zeros_like(change), where=step[:, None] > 0)


def _acceleration(influence: Array, counts: Array) -> Array:
    """Efron's acceleration from the influence of each cell's rows."""
    second = counts @ influence**2
    third = counts @ influence**3
    return np.divide(third, 6 * second**1.5, out=np.zeros_like(third), where=second > 0)


def _portions(total: int, width: int) -> Iterator[int]:
    """Sizes that add up to the total, of so many tables that they fit into memory."""
    most = max(1, _MOST_CELLS // width)
    for start in range(0, total, most):
        yield min(most, total - start)
