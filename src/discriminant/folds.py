"""Splits of rows for tuning: which rows are held out, and what rules that had not seen them said of them.

Models that tune themselves deal their training rows into folds once, and choose by what is said of the rows held out:
ridges, discriminant analysis, naive Bayes and margins share the dealing (`HeldOut`) and the form of the outcome
(`TunedRule`). Validation from outside, with groups and clusters, is `validation.held_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .errors import InputError, ParameterError, Setting

#: Folds are dealt anew until about so many pairs of a row and a split are there.
_STEADY_PAIRS = 2_000


@dataclass(frozen=True)
class HeldOut:
    """Which rows each split holds out, as pairs of a row and a split, in the order of the rows.

    Parameters
    ----------
    rows, fits : arrays of shape (n_pairs,)
    first : array of shape (n_rows + 1,)
        Where the pairs of each row begin.
    seen : bool array of shape (n_rows, n_splits + 1)
        Which rows each fit learns from; the last one from all.
    """

    rows: Array
    fits: Array
    first: Array
    seen: Array

    @classmethod
    def by_splits(cls, splits: Sequence[tuple[Array, Array]], n_rows: int) -> HeldOut:
        """From pairs of the rows to train on and the rows held out."""
        seen, held = np.ones((n_rows, len(splits) + 1), dtype=bool), np.zeros((n_rows, len(splits)), dtype=bool)
        for split, (train, out) in enumerate(splits):
            seen[:, split] = False
            seen[train, split] = True
            held[out, split] = True
        rows, fits = np.nonzero(held)
        return cls(rows, fits, np.searchsorted(rows, np.arange(n_rows + 1)), seen)

    @classmethod
    def repeated(cls, codes: Array, n_folds: int = 5, seed: int = 0, groups: Array | None = None) -> HeldOut:
        """By `repeated_folds`."""
        return cls.by_splits(repeated_folds(codes, n_folds, seed, groups=groups), len(codes))

    @property
    def n_splits(self) -> int:
        return self.seen.shape[1] - 1

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out by one split, and seen by all others."""
        n_rows = len(self.seen)
        return np.array_equal(self.rows, np.arange(n_rows)) and int(self.seen.sum()) == n_rows * self.n_splits


def group_folds(codes: Array, groups: Array, n_folds: int, seed: int = 0) -> Array:
    """The fold of each row, the rows of a group in one fold, with about equal shares of every class in all folds.

    Large groups are assigned first, each to the fold that has least of its classes.
    """
    label, group = np.unique(codes, return_inverse=True)[1], np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(counts, (group, label), 1.0)
    shares = counts / counts.sum(axis=0)
    order = np.random.default_rng(seed).permutation(len(shares))
    fold, held = np.zeros(len(shares), dtype=np.int64), np.zeros((n_folds, shares.shape[1]))
    for own in order[np.argsort(-shares[order].max(axis=1), kind="stable")]:
        of_its_classes = held[:, shares[own] > 0].sum(axis=1)
        fold[own] = np.lexsort((held.sum(axis=1), of_its_classes))[0]
        held[fold[own]] += shares[own]
    return fold[group]


def grouped_folds(codes: Array, groups: Array, n_folds: int, seed: int = 0) -> Array:
    """`group_folds`, with -1 for groups that are never held out: without them a fit could not learn some class."""
    label, group = np.unique(codes, return_inverse=True)[1], np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(counts, (group, label), 1.0)
    fold = np.zeros(len(counts), dtype=np.int64)
    fold[group] = group_folds(label, group, min(n_folds, len(counts)), seed)
    fold[(counts == counts.sum(axis=0)).any(axis=1)] = -1
    if np.count_nonzero(fold >= 0) < 2:
        raise InputError(
            "Groups cannot be held out: fewer than two groups leave rows of every class to learn from. Leave ",
            Setting("groups"),
            " out, or collect more groups.",
        )
    for k in range(counts.shape[1]):
        own = np.flatnonzero(counts[:, k])
        if len(np.unique(fold[own])) < 2:
            fold[own[0]] = -1
    return np.asarray(fold[group])


def _splits_of(fold: Array) -> list[tuple[Array, Array]]:
    """The rows to train on and the rows held out of each fold; rows of the fold -1 are never held out."""
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold[fold >= 0])]


def repeated_folds(
    codes: Array, n_folds: int = 5, seed: int = 0, most: int = 5, groups: Array | None = None
) -> list[tuple[Array, Array]]:
    """Folds with equal shares of every class, dealt anew up to ``most`` times where rows are few.

    The classes of the rows count, not the order of the classes; the same rows have the same folds every time. The
    only row of a class is never held out: no fit could know its class. Rows of one group are held out together.
    """
    n_rows, splits = len(codes), list[tuple[Array, Array]]()
    n_repeats = int(np.clip(_STEADY_PAIRS // n_rows, 1, most))
    if groups is not None:
        folds = (grouped_folds(codes, groups, n_folds, seed + repeat) for repeat in range(n_repeats))
        return [split for fold in folds for split in _splits_of(fold)]
    n_folds = min(n_folds, n_rows)
    for repeat in range(n_repeats):
        order = np.random.default_rng(seed + repeat).permutation(n_rows)
        _, first, of_class = np.unique(codes[order], return_index=True, return_inverse=True)
        sorted_rows = np.argsort(of_class, kind="stable")
        rank = np.empty(n_rows, dtype=np.int64)
        rank[sorted_rows] = np.arange(n_rows) - np.searchsorted(of_class[sorted_rows], of_class[sorted_rows])
        fold = np.empty(n_rows, dtype=np.int64)
        fold[order] = (first[of_class] + rank) % n_folds
        fold[np.bincount(of_class)[of_class[np.argsort(order)]] == 1] = -1
        splits += _splits_of(fold)
    return splits


@dataclass(frozen=True)
class TunedRule:
    """A rule fitted to all rows, and how its kind did on rows that it had not seen.

    Settings are chosen by the rows held out; the rule itself is then fitted with them to all rows.

    Parameters
    ----------
    rule : Rule
        Its scores are log-posteriors, but for a constant of each row.
    settings : dict
        What was chosen, by the name of the parameter.
    loss : float
        The mean log-loss of the pairs held out, with these settings.
    log_posteriors : array of shape (n_pairs, K)
        Of the pairs; minus infinity for a class of which the fit has seen no row.
    """

    rule: Any
    settings: dict[str, float]
    loss: float
    log_posteriors: Array


def forward_chaining(times: Any, y: Any, n_splits: int = 5) -> list[tuple[Array, Array]]:
    """Splits in time: each part of the rows is held out by a fit to all earlier rows, and to no later one.

    Rows are sorted by time and cut into ``n_splits + 1`` parts of about equal size; rows of the same time are in the
    same part. The first part is not held out, nor are parts before whose begin some class has fewer than two rows.

    Parameters
    ----------
    times : array-like of shape (n_rows,)
        Numbers, dates or anything else that can be sorted.
    y : array-like of shape (n_rows,)
        Class labels.
    n_splits : int, default=5
        How many parts are held out.

    Returns
    -------
    list of (train, test)
        Row numbers, as ``cv`` of `compare` and `cross_validate` takes them.

    See Also
    --------
    compare : Takes them as ``cv``.

    References
    ----------
    Tashman, L. J. (2000). Out-of-sample tests of forecasting accuracy. International Journal of Forecasting 16.

    Examples
    --------
    >>> for train, test in forward_chaining([2018, 2018, 2019, 2019, 2020, 2020], list("abbaab"), n_splits=2):
    ...     print(train, test)
    [0 1 2 3] [4 5]
    """
    if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 1:
        raise ParameterError(Setting("n_splits"), f" must be a whole number of 1 or more, got {n_splits!r}.")
    times, (_, codes) = np.asarray(times), np.unique(np.asarray(y), return_inverse=True)
    if times.ndim != 1 or times.shape != codes.shape or not times.size:
        raise InputError(f"times and y must have one entry for each row, got shapes {times.shape} and {codes.shape}.")
    moment, n_rows = np.unique(times, return_inverse=True)[1], times.size
    # A moment belongs to the part in which the rows up to the middle of it end.
    ends = np.cumsum(np.bincount(moment))
    part = ((ends - np.bincount(moment) / 2) * (n_splits + 1) / n_rows).astype(np.int64)[moment]
    splits = [(np.flatnonzero(part < k), np.flatnonzero(part == k)) for k in range(1, n_splits + 1)]
    n_classes = int(codes.max()) + 1
    kept = [
        (train, test)
        for train, test in splits
        if test.size and np.bincount(codes[train], minlength=n_classes).min() > 1
    ]
    if not kept:
        raise InputError(
            "No part of the rows can be held out in time: some class has fewer than two earlier rows. Use more splits, "
            "or leave out the class."
        )
    return kept
