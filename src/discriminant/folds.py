"""Cross-validation splits for tuning.

Models with tuning parameters split their training rows into folds and choose by held-out predictions. Ridges,
discriminant analysis, naive Bayes and support vector machines share the splits (`HeldOut`) and the form of the result
(`TunedRule`). Validation of finished models, with groups and clusters, is in `validation.held_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import InputError, ParameterError, Setting

#: Small datasets are split repeatedly until there are about this many held-out predictions: more repeats reduce the
#: variance of the choice and cost time.
TARGET_HELD_OUT_PREDICTIONS: Final = 2_000


@dataclass(frozen=True)
class HeldOut:
    """The held-out rows of each split, as pairs of a row and a split in row order.

    Parameters
    ----------
    rows, fits : arrays of shape (n_pairs,)
    first : array of shape (n_rows + 1,)
        Index of the first pair of each row.
    seen : bool array of shape (n_rows, n_splits + 1)
        The training rows of each fit; the last fit uses all rows.
    columns : bool array of shape (n_splits + 1, p), optional
        The columns of each fit; the coefficients of the others are 0. Default: all.
    """

    rows: Array
    fits: Array
    first: Array
    seen: Array
    columns: Array | None = None

    @classmethod
    def by_splits(cls, splits: Sequence[tuple[Array, Array]], n_rows: int) -> HeldOut:
        """From pairs of training and held-out rows."""
        seen, held = np.ones((n_rows, len(splits) + 1), dtype=bool), np.zeros((n_rows, len(splits)), dtype=bool)
        for split, (train, out) in enumerate(splits):
            seen[:, split] = False
            seen[train, split] = True
            held[out, split] = True
        rows, fits = np.nonzero(held)
        return cls(rows, fits, np.searchsorted(rows, np.arange(n_rows + 1)), seen)

    @classmethod
    def repeated(cls, codes: Array, n_folds: int = 5, seed: int = 0, groups: Array | None = None) -> HeldOut:
        """From `repeated_folds`."""
        return cls.by_splits(repeated_folds(codes, n_folds, seed, groups=groups), len(codes))

    @cached_property
    def first_repeat(self) -> HeldOut:
        """The first splits, which hold out every row that is held out at all; itself if there are no repeats."""
        held = self.first[1:] > self.first[:-1]
        n = int(self.fits[self.first[:-1][held]].max(initial=-1)) + 1
        if n in (0, self.n_splits):
            return self
        pairs = self.fits < n
        rows = self.rows[pairs]
        first = np.searchsorted(rows, np.arange(len(self.seen) + 1))
        fits = [*range(n), -1]
        columns = None if self.columns is None else self.columns[fits]
        return HeldOut(rows, self.fits[pairs], first, np.ascontiguousarray(self.seen[:, fits]), columns)

    @property
    def n_splits(self) -> int:
        return self.seen.shape[1] - 1

    def gathered(self, parts: Sequence[Array]) -> Array:
        """Values (m, n_pairs, ...) of all pairs, from those of the held-out rows of each split."""
        out = np.empty((len(parts[0]), len(self.rows), *parts[0].shape[2:]))
        for split, part in enumerate(parts):
            out[:, self.fits == split] = part
        return out

    @property
    def is_partition(self) -> bool:
        """Whether every row is held out by exactly one split and used by all others."""
        n_rows = len(self.seen)
        return np.array_equal(self.rows, np.arange(n_rows)) and int(self.seen.sum()) == n_rows * self.n_splits


def _group_counts(codes: Array, groups: Array) -> tuple[Array, Array]:
    """The index of each row's group, and the number of rows of each class in each group."""
    label, group = np.unique(codes, return_inverse=True)[1], np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(counts, (group, label), 1.0)
    return group, counts


def group_folds(codes: Array, groups: Array, n_folds: int, seed: int = 0) -> Array:
    """The fold of each row; groups are not split, and folds have about equal shares of every class.

    Large groups are assigned first, each to the fold with the smallest share of its classes.
    """
    group, counts = _group_counts(codes, groups)
    shares = counts / counts.sum(axis=0)
    order = np.random.default_rng(seed).permutation(len(shares))
    fold, held = np.zeros(len(shares), dtype=np.int64), np.zeros((n_folds, shares.shape[1]))
    for own in order[np.argsort(-shares[order].max(axis=1), kind="stable")]:
        of_its_classes = held[:, shares[own] > 0].sum(axis=1)
        fold[own] = np.lexsort((held.sum(axis=1), of_its_classes))[0]
        held[fold[own]] += shares[own]
    return fold[group]


def grouped_folds(codes: Array, groups: Array, n_folds: int, seed: int = 0) -> Array:
    """`group_folds`, with -1 for groups that are always in training, because they hold all rows of a class."""
    group, counts = _group_counts(codes, groups)
    fold = np.zeros(len(counts), dtype=np.int64)
    fold[group] = group_folds(codes, group, min(n_folds, len(counts)), seed)
    fold[(counts == counts.sum(axis=0)).any(axis=1)] = -1
    if np.count_nonzero(fold >= 0) < 2:
        raise InputError(
            "Groups cannot be held out: fewer than two of them can be left out without losing a class. Omit ",
            Setting("groups"),
            " or collect more groups.",
        )
    for k in range(counts.shape[1]):
        own = np.flatnonzero(counts[:, k])
        if len(np.unique(fold[own])) < 2:
            fold[own[0]] = -1
    return np.asarray(fold[group])


def _splits_of(fold: Array) -> list[tuple[Array, Array]]:
    """The training and held-out rows of each fold; rows of fold -1 are never held out."""
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold[fold >= 0])]


def repeated_folds(
    codes: Array, n_folds: int = 5, seed: int = 0, most: int = 5, groups: Array | None = None
) -> list[tuple[Array, Array]]:
    """Stratified k-fold splits, repeated up to ``most`` times if there are few rows.

    Splits are deterministic and do not depend on the order of the classes. The only row of a class is never held out.
    Rows of one group are held out together.
    """
    n_rows, splits = len(codes), list[tuple[Array, Array]]()
    n_repeats = int(np.clip(TARGET_HELD_OUT_PREDICTIONS // n_rows, 1, most))
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
    """A rule fitted to all rows with settings chosen by cross-validation, and its held-out performance.

    Parameters
    ----------
    rule : Rule
        Its scores are log-posteriors up to a constant per row.
    settings : dict
        The chosen values by parameter name.
    loss : float
        Mean held-out log-loss with these settings.
    log_posteriors : array of shape (n_pairs, K)
        Held-out predictions; minus infinity for classes without training rows in the split.
    """

    rule: Any
    settings: dict[str, float]
    loss: float
    log_posteriors: Array


def forward_chaining(times: ArrayLike, y: ArrayLike, n_splits: int = 5) -> list[tuple[Array, Array]]:
    """Time-series splits: each period is predicted by a fit to all earlier rows.

    Rows are sorted by time and cut into ``n_splits + 1`` periods of about equal size; rows of equal time stay together.
    The first period is never held out, nor is a period before which some class has fewer than two rows.

    Parameters
    ----------
    times : array-like of shape (n_rows,)
        Numbers, dates or other sortable values.
    y : array-like of shape (n_rows,)
        Class labels.
    n_splits : int, default=5
        Number of held-out periods.

    Returns
    -------
    list of (train, test)
        Row indices, for the parameter ``cv`` of `compare` and `cross_validate`.

    See Also
    --------
    compare : Compares models on such splits.

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
        raise ParameterError(Setting("n_splits"), f" must be an integer of at least 1, got {n_splits!r}.")
    times, (_, codes) = np.asarray(times), np.unique(np.asarray(y), return_inverse=True)
    if times.ndim != 1 or times.shape != codes.shape or not times.size:
        raise InputError(f"times and y must have one entry per row, got shapes {times.shape} and {codes.shape}.")
    moment, n_rows = np.unique(times, return_inverse=True)[1], times.size
    # Equal times stay together, in the period that contains the middle of their rows.
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
            "No period can be held out: some class has fewer than two earlier rows. Use more splits or leave out the "
            "class."
        )
    return kept
