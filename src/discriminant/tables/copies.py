"""Duplicate rows of a table, and columns that separate the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from ..arrays import Array
from ..data import is_sparse
from ..results import Finding, percent, several

#: With fewer rows, a column may separate the classes by chance.
MIN_SEPARATION_ROWS: Final = 20
#: A value goes with one class by chance unless values are repeated this often on average.
MIN_ROWS_PER_VALUE: Final = 5
#: A smaller share of duplicate rows changes no figure.
MIN_DUPLICATE_SHARE: Final = 0.05
#: Share of the distinct rows that the two columns with most values distinguish, and share of the duplicates that
#: disappear if one of these columns is shuffled, from which duplicates are not due to chance.
MIN_DISTINGUISHED_SHARE: Final = 0.8
MIN_UNLIKE_SHARE: Final = 0.5
#: Longer tables are not searched: it would take as long as reading them.
MAX_COMPARED_ROWS: Final = 100_000
#: Values hashed at a time.
_BLOCK_VALUES: Final = 1 << 20


def separates_classes(values: Array, codes: Array | None, is_ordered: bool) -> bool:
    """Whether the values of a column determine the class of every row.

    Either each value occurs in one class only, and values repeat; or, if their order has a meaning, each class has an
    interval of its own. Missing values (NaN) count as one more value.
    """
    if codes is None or codes.size < MIN_SEPARATION_ROWS:
        return False
    order = np.lexsort((codes, values))
    values, classes = values[order], codes[order]
    new_class = classes[1:] != classes[:-1]
    new_value = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    if (new_class & ~new_value).any():
        return False
    n_intervals, n_values = 1 + np.count_nonzero(new_class), 1 + np.count_nonzero(new_value)
    has_intervals = is_ordered and n_intervals == np.unique(codes).size
    return bool(has_intervals or n_values <= codes.size / MIN_ROWS_PER_VALUE)


@dataclass(frozen=True)
class Copies:
    """The coded rows of a table with many duplicates, and the places of the ``first`` of equal rows.

    If one is held out and its copy is in the training data, held-out figures are too optimistic. Rows of a few
    categories, ages and the like are equal by chance, which is no error. Copies are recognised by columns with many
    values: the two with most values distinguish nearly all distinct rows, and if one of the two is shuffled, most
    duplicates disappear.
    """

    X: Array
    codes: Array
    first: Array

    @classmethod
    def of(cls, X: Array, codes: Array) -> Self | None:
        """The copies of a table; None if there are few, or no more than chance explains."""
        n_rows = len(codes)
        if is_sparse(X) or not 2 <= n_rows <= MAX_COMPARED_ROWS:
            return None
        first = np.unique(_hashed_rows(X, codes), return_index=True)[1]
        n_copies = n_rows - first.size
        if n_copies < MIN_DUPLICATE_SHARE * n_rows:
            return None
        pair = X[:, np.argsort([-np.unique(column).size for column in X.T], kind="stable")[:2]]
        n_pairs = np.unique(_hashed_rows(pair)).size
        pair[:, 0] = np.random.default_rng(0).permutation(pair[:, 0])
        n_shuffled = np.unique(_hashed_rows(pair)).size
        is_distinguished = n_pairs >= MIN_DISTINGUISHED_SHARE * first.size
        is_copied = is_distinguished and n_shuffled - n_pairs >= MIN_UNLIKE_SHARE * n_copies
        return cls(X, codes, np.sort(first)) if is_copied else None

    def finding(self) -> Finding:
        """The warning about duplicate rows."""
        n_rows = len(self.codes)
        n_copies = n_rows - self.first.size
        message = (
            f"{several(n_copies, 'row')} ({percent(n_copies / n_rows)}) are duplicates of other rows, with the same "
            "class. If they are copies, held-out rows are also in the training data, and held-out performance is too "
            "optimistic: remove the copies from the table."
        )
        return Finding("warning", "duplicate rows", None, message)

    def separates_classes(self, column: int) -> bool:
        """Whether a coded column of numbers separates the classes if copies count once."""
        return separates_classes(self.X[self.first, column], self.codes[self.first], True)


def _hashed(values: Array) -> Array:
    """A 64-bit hash of each float."""
    word = (values + 0.0).view(np.uint64)  # -0.0 equals 0.0
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return word ^ (word >> np.uint64(29))


def _hashed_rows(X: Array, codes: Array | None = None) -> Array:
    """A 64-bit hash of each row, with its class: equal for equal rows, and hardly ever for others."""
    odd = np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    words = np.zeros(len(X), dtype=np.uint64) if codes is None else _hashed(codes.astype(np.float64))
    step = max(_BLOCK_VALUES // max(X.shape[1], 1), 1)
    for start in range(0, len(words), step):
        words[start : start + step] += _hashed(np.ascontiguousarray(X[start : start + step])) @ odd
    return words
