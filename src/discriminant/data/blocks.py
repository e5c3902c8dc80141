"""Labelled rows in blocks, the one form in which data reach the statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import LabelError
from .labels import encode_labels
from .naming import shown
from .rows import Array, Rows, as_rows, dense_parts
from .weights import check_weights


@dataclass(frozen=True)
class Block:
    """Some consecutive rows with their class codes and weights; ``start`` is the number of the first one."""

    X: Any
    codes: Array
    weight: Array
    start: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    def dense_parts(self) -> Iterator[Block]:
        """The same rows as dense blocks."""
        for part, where in dense_parts(self.X):
            yield Block(part, self.codes[where], self.weight[where], self.start + where.start)


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a class code and a weight each."""

    rows: Rows
    classes: Array
    codes: Array
    weight: Array | None = None

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def every(self, step: int) -> LabelledRows:
        """Every ``step``-th row with its label and weight."""
        weight = None if self.weight is None else self.weight[::step]
        return LabelledRows(self.rows.every(step), self.classes, np.ascontiguousarray(self.codes[::step]), weight)

    def take(self, chosen: Array) -> LabelledRows:
        """The chosen rows, copied."""
        weight = None if self.weight is None else self.weight[chosen]
        return LabelledRows(as_rows(self.rows.take(chosen)), self.classes, self.codes[chosen], weight)

    @property
    def spans(self) -> list[range]:
        return self.rows.spans

    @cached_property
    def _ones(self) -> Array:
        return np.ones(min(self.rows.block_rows, self.n_rows))

    def blocks(self, span: range) -> Iterator[Block]:
        """The blocks of one span, in order."""
        for start, stop in self.rows.edges(span):
            weight = self._ones[: stop - start] if self.weight is None else self.weight[start:stop]
            yield Block(self.rows.block(start, stop), self.codes[start:stop], weight, start)


def labelled_rows(X: Any, y: Any, sample_weight: Any = None, classes: Array | None = None) -> LabelledRows:
    """``X``, ``y`` and ``sample_weight`` checked and brought together, without copying ``X``."""
    rows = as_rows(X)
    found, codes = encode_labels(y, rows.n_rows, classes)
    if classes is None and found.size < 2:
        raise LabelError(
            f"y has only one class, {shown(found[0])}: a classifier needs at least two classes. Check the label column."
        )
    return LabelledRows(rows, found, codes, check_weights(sample_weight, rows.n_rows))
