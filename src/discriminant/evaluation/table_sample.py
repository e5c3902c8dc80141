"""Measures of a table of counts: their margins, influences and intervals.

Proportions have Wilson's interval. Other measures have Jeffreys's interval of the table with two classes, and the BCa
bootstrap of the table (Efron 1987) with more. For rows in clusters the variance is that between clusters of the
linearised measure; for proportions it is expressed as a number of independent rows.

Counts of pairs of true and predicted labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from ..arrays import Array, ArrayLike, RandomState
from ..data import check_integer, check_weights, encoded, label_column, position_of, same_length
from .intervals import Interval, Scale, bca_interval, no_interval, normal_interval, wilson_interval

if TYPE_CHECKING:
    from scipy.sparse import spmatrix


#: Cells of resampled tables in memory at once (32 MB).
_MAX_RESAMPLED_CELLS: Final = 4_000_000
#: Relative step of the numerical derivative of a measure in the margins of the table.
_DERIVATIVE_STEP: Final = 1e-4


@dataclass(frozen=True)
class Margins:
    """The margins of a table of counts: each class against all others; float64.

    ``tp`` and ``truth`` have shape (..., K): rows of the class that were predicted so, and all rows of the class.
    ``columns`` has shape (..., A): rows by prediction.
    """

    tp: Array
    truth: Array
    columns: Array

    @property
    def predicted(self) -> Array:
        """Rows predicted as each class."""
        return self.columns[..., : self.truth.shape[-1]]

    @property
    def total(self) -> Array:
        return self.truth.sum(axis=-1)

    @property
    def covered(self) -> Array:
        """Rows predicted as any class."""
        return self.predicted.sum(axis=-1)

    @property
    def negative(self) -> Array:
        """Rows of other classes; exactly 0 if there are none, for any weights."""
        return self.truth.sum(axis=-1, keepdims=True) - self.truth

    @property
    def predicted_negative(self) -> Array:
        """Rows predicted as anything else; exactly 0 if there are none."""
        return self.columns.sum(axis=-1, keepdims=True) - self.predicted

    def combined(self, coefficients: dict[str, float]) -> Array:
        return np.asarray(sum(c * getattr(self, name) for name, c in coefficients.items()))


Statistic = Callable[[Margins], Array]


def margins(tables: ArrayLike) -> Margins:
    """The margins of tables (..., K, A)."""
    counts = np.asarray(tables, dtype=np.float64)
    tp = np.diagonal(counts[..., : counts.shape[-2]], axis1=-2, axis2=-1)
    return Margins(tp, counts.sum(axis=-1), counts.sum(axis=-2))


class TableSample:
    """A table of counts as a random sample, with intervals of its measures.

    Parameters
    ----------
    counts : array of shape (K, A)
    by_cluster : sparse matrix of shape (clusters, K A), optional
        The counts of each cluster. Default: independent rows.
    """

    def __init__(self, counts: Array, by_cluster: spmatrix | None = None) -> None:
        self.counts = np.asarray(counts, dtype=np.float64)
        self.margins = margins(self.counts)
        self.by_cluster = by_cluster

    def share_intervals(
        self, share: Statistic, base: Statistic, level: float, method: str = "Wilson"
    ) -> list[Interval]:
        """Wilson's intervals of proportions; for clusters with an effective number of rows. That number is ``p (1 - p)
        / variance``, with the linearised variance between clusters; for p = 0 or 1, without an observed variance, it is
        ``(sum of sizes)^2 / sum of squared sizes`` of the clusters.
        """
        values, bases = share(self.margins), base(self.margins)
        if self.by_cluster is None:
            return [
                wilson_interval(float(p), float(n), level, method=method) for p, n in zip(values, bases, strict=True)
            ]
        variances = self._clustered_variance(share)
        sizes = self.by_cluster @ cell_response(base, self.counts)
        method = f"{method}, effective n from {self.by_cluster.shape[0]:,} clusters"
        found = []
        for p, variance, size in zip(values, variances, sizes.T, strict=True):
            inside = 0 < p < 1 and variance > 0
            n = p * (1 - p) / variance if inside else size.sum() ** 2 / max(float(size @ size), 1e-300)
            degrees = max(float(np.count_nonzero(size > 1e-9 * size.max())) - 1, 1.0)
            found.append(wilson_interval(float(p), float(n), level, degrees, method))
        return found

    def intervals(
        self,
        statistic: Statistic,
        scales: list[Scale],
        level: float,
        random_state: RandomState,
        n_resamples: int = 2_000,
    ) -> list[Interval]:
        """Intervals of smooth measures of the table; ``statistic`` returns several, each with a scale.

        Independent rows: Jeffreys's interval for two classes, else the BCa bootstrap, with tables drawn from a
        multinomial distribution. Clusters: linearised variance between clusters, on the scale.
        """
        check_integer("n_resamples", n_resamples, 1)
        values = statistic(self.margins)
        if self.by_cluster is not None:
            n_clusters, variances = self.by_cluster.shape[0], self._clustered_variance(statistic)
            method = f"linearised between {n_clusters:,} clusters, Student's t"
            return [
                normal_interval(float(value), float(variance), level, method, n_clusters - 1.0, scale)
                for value, variance, scale in zip(values, variances, scales, strict=True)
            ]
        if self.counts.sum() < 2:
            return [no_interval(level, "the rows' weights sum to less than two") for _ in values]
        if len(self.counts) == 2:
            return self._jeffreys_intervals(statistic, values, level, random_state, n_resamples)
        # Efron's acceleration, from the influence of each cell's rows.
        influence, cells = cell_response(statistic, self.counts), self.counts.ravel()
        second, third = cells @ influence**2, cells @ influence**3
        acceleration = np.divide(third, 6 * second**1.5, out=np.zeros_like(third), where=second > 0)
        resampled = self._resampled(statistic, np.random.default_rng(random_state), n_resamples)
        method = f"BCa bootstrap of the table, {n_resamples:,} resamples"
        return [
            bca_interval(float(value), column, float(a), level, method)
            for value, column, a in zip(values, resampled.T, acceleration, strict=True)
        ]

    def _jeffreys_intervals(
        self, statistic: Statistic, values: Array, level: float, random_state: RandomState, n_draws: int
    ) -> list[Interval]:
        """Quantiles of the measures in tables drawn from the posterior; the prior of a class has the weight of one row.

        With few rows in a cell resamples of the table show too little variation, or leave the measure undefined: of 100
        rows, 5 % of one class, the BCa bootstrap covered kappa in 69 % of the 62 % of samples that had an interval. An
        interval contains the estimate, also at a bound of its range (Brown, Cai & DasGupta 2001).
        """
        prior = 1 / self.counts.shape[1]
        tables = np.random.default_rng(random_state).dirichlet(self.counts.ravel() + prior, n_draws)
        drawn = statistic(margins(tables.reshape(-1, *self.counts.shape)))
        method, tails = f"Jeffreys, {n_draws:,} draws", (0.5 - level / 2, 0.5 + level / 2)
        return [
            no_interval(level, "the measure is undefined")
            if math.isnan(value)
            else Interval(min(value, low), max(value, high), level, method)
            for value, low, high in zip(values.tolist(), *np.quantile(drawn, tails, axis=0).tolist(), strict=True)
        ]

    def _clustered_variance(self, statistic: Statistic) -> Array:
        sums = self.by_cluster @ cell_response(statistic, self.counts)
        return np.square(sums).sum(axis=0) * len(sums) / (len(sums) - 1)

    def _resampled(self, statistic: Statistic, rng: np.random.Generator, n_resamples: int) -> Array:
        flat = self.counts.ravel()
        filled = np.flatnonzero(flat)
        n, shares = max(round(flat.sum()), 1), flat[filled] / flat.sum()
        found, most = [], max(1, _MAX_RESAMPLED_CELLS // flat.size)
        for start in range(0, n_resamples, most):
            size = min(most, n_resamples - start)
            tables = np.zeros((size, flat.size))
            tables[:, filled] = rng.multinomial(n, shares, size=size)
            found.append(statistic(margins(tables.reshape(size, *self.counts.shape))))
        return np.concatenate(found)


def cell_response(statistic: Statistic, counts: Array) -> Array:
    """The change of measures with one more row in each cell, (cells, measures).

    A row of cell (i, j) adds to the margins of its row and its column, and to the diagonal if i = j.
    """
    K, A = counts.shape
    found = margins(counts)
    vector = np.concatenate((found.tp, found.truth, found.columns))
    # Derivatives in each entry of the margins, by differences; 0 for entries that are 0.
    step = _DERIVATIVE_STEP * vector
    upper, lower = (
        statistic(Margins(*np.split(vector + sign * np.diag(step), [K, 2 * K], axis=1))) for sign in (1.0, -1.0)
    )
    change = (upper - lower).reshape(len(vector), -1)
    slope = np.divide(change, 2 * step[:, None], out=np.zeros_like(change), where=step[:, None] > 0)
    tp, truth, columns = np.split(slope, [K, 2 * K])
    response = truth[:, None, :] + columns[None, :, :]
    response[np.arange(K), np.arange(K)] += tp
    return response.reshape(K * A, -1)


#: Integers are counted without encoding if a table of their range has at most this many cells.
MAX_INTEGER_CELLS: Final = 1 << 16


class Mergeable:
    """A mergeable statistic: ``a + b`` is the statistic of the rows of both, and changes neither."""

    def __add__(self, other: Self) -> Self:
        return deepcopy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def merge(self, other: Self) -> Self:
        raise NotImplementedError


@dataclass(frozen=True)
class CrossTable:
    """Counts of pairs of true and predicted labels, in no particular order."""

    truth: list[Any]
    prediction: list[Any]
    counts: Array

    def arranged(self, rows: Sequence[Hashable], columns: Sequence[Hashable]) -> Array:
        """The counts for these labels of rows and columns; labels that do not occur have count 0."""
        out = np.zeros((len(rows), len(columns)), dtype=self.counts.dtype)
        row, column = position_of(rows), position_of(columns)
        chosen = np.ix_([row[label] for label in self.truth], [column[label] for label in self.prediction])
        out[chosen] = self.counts
        return out


def cross_table(y: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike | None = None) -> CrossTable:
    """The cross table of two label columns: int64 counts, or float64 sums of weights."""
    truth, prediction = label_column("y", y), label_column("predicted", predicted)
    same_length(y=truth, predicted=prediction)
    weight = check_weights(sample_weight, len(truth))
    if weight is None and truth.dtype.kind in "iub" and prediction.dtype.kind in "iub":
        least = min(int(truth.min()), int(prediction.min()))
        size = max(int(truth.max()), int(prediction.max())) - least + 1
        if size * size <= MAX_INTEGER_CELLS and least + size <= 2**63:
            return _integer_table(truth, prediction, least, size)
    rows, row_codes = encoded(truth)
    columns, column_codes = encoded(prediction)
    cell = row_codes * np.int64(len(columns)) + column_codes
    counts = np.bincount(cell, weights=weight, minlength=len(rows) * len(columns))
    return CrossTable(rows, columns, counts.reshape(len(rows), len(columns)))


def _integer_table(truth: Array, prediction: Array, least: int, size: int) -> CrossTable:
    row, column = (labels.astype(np.int64) - least for labels in (truth, prediction))
    counts = np.bincount(row * size + column, minlength=size**2).reshape(size, size)
    rows, columns = np.flatnonzero(counts.any(axis=1)), np.flatnonzero(counts.any(axis=0))
    boolean = truth.dtype.kind == "b" and prediction.dtype.kind == "b"
    names = [(bool(label) if boolean else label) for label in range(least, least + size)]
    return CrossTable([names[i] for i in rows], [names[j] for j in columns], counts[np.ix_(rows, columns)])
