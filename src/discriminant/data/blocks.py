"""Blocks of rows: their size, subsamples and folds of rows, dense and sparse blocks.

A block is the input of one kernel call: consecutive rows as a C-contiguous array of floats or a CSR matrix.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeGuard

import numpy as np

from ..arrays import Array, MatrixLike, RowBlock, SparseMatrix

#: Bytes of a block: large enough to amortize the overhead per block, and small compared with memory.
BLOCK_BYTES: Final = 6_600_000
#: With many columns a block has at least this many rows, because each block costs one update of a p x p matrix,
MIN_BLOCK_ROWS: Final = 256
#: but at most this many bytes.
MAX_BLOCK_BYTES: Final = 12_000_000
#: With few columns larger blocks gain nothing.
MAX_BLOCK_ROWS: Final = 16_384


@dataclass(frozen=True)
class Block:
    """Consecutive rows with their class codes and weights; ``start`` is the index of the first row.

    ``offset`` holds known parts of the rows' scores and ``cluster`` their cluster indices, if there are any.
    """

    X: Any
    codes: Array
    weight: Array
    start: int = 0
    offset: Array | None = None
    cluster: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def sparse(self) -> bool:
        return is_sparse(self.X)

    def dense_parts(self) -> Iterator[Block]:
        """The same rows as dense blocks."""
        for part, where in dense_parts(self.X):
            yield self.part(where, part)

    def part(self, where: slice, X: RowBlock) -> Block:
        """A range of the rows, with columns ``X``."""
        offset, cluster = (None if own is None else own[where] for own in (self.offset, self.cluster))
        return Block(X, self.codes[where], self.weight[where], self.start + where.start, offset, cluster)


def stratified_subsample(n_rows: int, step: int) -> Array:
    """The indices of a subsample: one random row of each ``step`` consecutive rows, with a fixed seed.

    Sorted rows are covered evenly, and periodic rows cause no bias, as taking every ``step``-th row would.
    """
    starts = np.arange(0, n_rows, step)
    numbers: Array = np.minimum(starts + np.random.default_rng(step).integers(0, step, len(starts)), n_rows - 1)
    return numbers


def fold_of_rows(first: int, count: int, n_folds: int) -> Array:
    """The folds of ``count`` consecutive rows: a fixed pseudo-random function of the row index."""
    row = np.arange(first, first + count, dtype=np.int64)
    return (row + (random_words(row // n_folds) >> np.uint64(33)).astype(np.int64)) % n_folds


def random_words(numbers: Array) -> Array:
    """A pseudo-random word of 64 bits for each number (SplitMix64; Steele, Lea & Flood 2014)."""
    word = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(word ^ (word >> np.uint64(31)))


def rows_of_width(n_columns: int) -> int:
    """The number of rows of a block with this many columns."""
    row_bytes = 8 * max(n_columns, 1)
    least = min(MIN_BLOCK_ROWS, max(MAX_BLOCK_BYTES // row_bytes, 1))
    return int(np.clip(BLOCK_BYTES // row_bytes, least, MAX_BLOCK_ROWS))


def consecutive_runs(starts: range, most: int) -> list[range]:
    """The starts in at most ``most`` consecutive runs of about equal length."""
    count = min(most, len(starts))
    edges = np.linspace(0, len(starts), count + 1).astype(int)
    return [starts[a:b] for a, b in pairwise(edges)]


def dense_rows(block: RowBlock) -> Array:
    """The block as a C-contiguous array."""
    rows: Array = block.toarray(order="C") if is_sparse(block) else block
    return rows


def dense_parts(block: RowBlock) -> Iterator[tuple[Array, slice]]:
    """The block as dense arrays with their row ranges: one, or several of a sparse block."""
    if not is_sparse(block):
        yield block, slice(0, len(block))
        return
    step = rows_of_width(block.shape[1])
    for start in range(0, block.shape[0], step):
        where = slice(start, min(start + step, block.shape[0]))
        yield block[where].toarray(order="C"), where


def largest_of_columns(block: RowBlock) -> Array:
    """The largest absolute value of each column."""
    largest = abs(block).max(axis=0)
    return np.asarray(largest.toarray()[0] if is_sparse(largest) else largest, dtype=np.float64)


def is_sparse(X: MatrixLike) -> TypeGuard[SparseMatrix]:
    """Whether this is a SciPy sparse matrix; does not import SciPy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))
