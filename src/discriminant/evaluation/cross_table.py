"""Counts of pairs of true and predicted labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from ..arrays import Array, ArrayLike
from ..data import check_weights, encoded, label_column, position_of, same_length

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
