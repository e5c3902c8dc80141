"""The usual codes: one-versus-rest, one-versus-one, exhaustive, and random ones with distant rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.parameters import check_integer
from ..engine.blas import one_blas_thread
from ..errors import ParameterError
from .codebook import Codebook, equal_rows, row_distances, same_lead

Array = np.ndarray[Any, Any]

#: Random codes drawn, of which the one with the largest row distance is taken.
_DRAWS = 300
#: More classes would need more than 2,047 exhaustive columns.
_MOST_EXHAUSTIVE = 12


def one_vs_rest(n_classes: int) -> Codebook:
    """Each class against all others: K columns, for two classes one.

    >>> one_vs_rest(3).matrix
    array([[ 1, -1, -1], [-1,  1, -1], [-1, -1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    matrix = 2 * np.eye(n_classes, dtype=np.int8) - 1
    return Codebook(matrix[:, 1:] if n_classes == 2 else matrix)


def one_vs_rest_default(n_classes: int) -> Codebook:
    """Each class but the last against all others: K - 1 columns, the last class for rows that none of them claims."""
    check_integer("n_classes", n_classes, 2)
    return Codebook(2 * np.eye(n_classes, n_classes - 1, dtype=np.int8) - 1)


def one_vs_one(n_classes: int) -> Codebook:
    """Each pair of classes: K (K - 1) / 2 columns in the order (0, 1), (0, 2), ..., the second class on the side +1.

    >>> one_vs_one(3).matrix
    array([[-1, -1,  0], [ 1,  0, -1], [ 0,  1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    first, second = np.triu_indices(n_classes, k=1)
    matrix = np.zeros((n_classes, len(first)), dtype=np.int8)
    columns = np.arange(len(first))
    matrix[first, columns], matrix[second, columns] = -1, 1
    return Codebook(matrix)


def exhaustive_code(n_classes: int) -> Codebook:
    """Every way to part the classes in two: 2^(K-1) - 1 columns, with row distance 2^(K-2).

    >>> exhaustive_code(3).matrix
    array([[-1, -1, -1], [ 1, -1,  1], [-1,  1,  1]], dtype=int8)
    """
    check_integer("n_classes", n_classes, 2)
    count = _dense_columns(n_classes)
    if n_classes > _MOST_EXHAUSTIVE:
        raise ParameterError(
            f"An exhaustive code of {n_classes} classes has {count:,} columns; at most {_MOST_EXHAUSTIVE} classes "
            f"({_dense_columns(_MOST_EXHAUSTIVE):,} columns) are allowed. Use a dense or sparse code."
        )
    bits = (np.arange(1, count + 1) >> np.arange(n_classes - 1)[:, None]) & 1
    return Codebook(np.concatenate((np.full((1, count), -1), 2 * bits - 1)))


def dense_code(n_classes: int, rng: Any = None, length: int | None = None) -> Codebook:
    """A random code of -1 and +1, by default of 10 log2 K columns: the best row distance of many draws.

    Fewer classes than six have fewer different columns than that: they get all of them.

    >>> code = dense_code(8, rng=0)
    >>> code.n_columns, code.row_distance
    (30, 14.0)
    """
    check_integer("n_classes", n_classes, 2)
    available = _dense_columns(n_classes)
    length = _length(n_classes, length, 10, available, symbols=2)
    return _best_of_draws(n_classes, length, available, np.array([-1, 1], dtype=np.int8), rng)


def sparse_code(n_classes: int, rng: Any = None, length: int | None = None) -> Codebook:
    """A random code of -1, 0 and +1, one half 0, by default of 15 log2 K columns: the best row distance of many draws.

    Fewer classes than five have fewer different columns than that: they get all of them.
    """
    check_integer("n_classes", n_classes, 2)
    available = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    length = _length(n_classes, length, 15, available, symbols=3)
    return _best_of_draws(n_classes, length, available, np.array([-1, 0, 0, 1], dtype=np.int8), rng)


def _length(n_classes: int, length: int | None, per_bit: int, available: int, symbols: int) -> int:
    if length is None:
        return min(math.ceil(per_bit * math.log2(n_classes)), available)
    least = next(m for m in range(1, n_classes) if symbols**m >= n_classes)
    check_integer("length", length, least)
    if length > available:
        raise ParameterError(
            f"length={length} is more than the {available:,} different columns that {n_classes} classes allow. "
            "Leave it out, or ask for fewer."
        )
    return int(length)


def _best_of_draws(n_classes: int, length: int, available: int, symbols: Array, rng: Any) -> Codebook:
    rng = np.random.default_rng(rng)
    best, farthest = None, -1.0
    with one_blas_thread():
        for _ in range(_DRAWS if length < available else 1):  # all columns there are can be had in one way only
            matrix = _distinct_columns(n_classes, length, symbols, rng)
            distance = row_distances(matrix)[np.triu_indices(n_classes, k=1)].min()
            if distance > farthest and matrix.any(axis=1).all() and equal_rows(matrix) is None:
                best, farthest = matrix, distance
    if best is None:
        raise ParameterError(
            f"None of {_DRAWS} random codes of length {length} tells all {n_classes} classes apart. Use a longer code."
        )
    return Codebook(best)


def _distinct_columns(n_classes: int, length: int, symbols: Array, rng: np.random.Generator) -> Array:
    """Random columns with both sides, none equal or opposite to another: as many as asked for, in the order drawn."""
    kept = np.empty((n_classes, 0), dtype=np.int8)
    while kept.shape[1] < length:
        fresh = symbols[rng.integers(len(symbols), size=(n_classes, 2 * length))]
        fresh = fresh[:, (fresh > 0).any(axis=0) & (fresh < 0).any(axis=0)]
        kept = np.concatenate((kept, same_lead(fresh)), axis=1)
        kept = kept[:, np.sort(np.unique(kept, axis=1, return_index=True)[1])]
    return kept[:, :length]


def _dense_columns(n_classes: int) -> int:
    """The number of ways to part the classes in two."""
    return int(2 ** (n_classes - 1) - 1)
