"""Splits of rows into training and test parts: folds, hold-outs and splits given by the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ..arrays import Array, ArrayLike, RandomState
from ..data import check_integer
from ..errors import InputError, LabelError, ParameterError, Setting
from ..results import several, shown
from .labelled_table import LabelledTable

if TYPE_CHECKING:
    from sklearn.model_selection import BaseCrossValidator

#: Splits: a number of folds, a share to hold out, a splitter, or pairs of training and test rows.
SplitsLike: TypeAlias = "int | float | BaseCrossValidator | Iterable[Sequence[ArrayLike]] | None"


@dataclass(frozen=True, eq=False)
class Split:
    """Test rows and training rows: all others, unless training rows are ``given``."""

    n_rows: int
    test: Array
    given: Array | None = None

    @property
    def train(self) -> Array:
        if self.given is not None:
            return self.given
        others = np.ones(self.n_rows, dtype=bool)
        others[self.test] = False
        return np.flatnonzero(others)

    @property
    def n_train(self) -> int:
        return self.n_rows - len(self.test) if self.given is None else len(self.given)


@dataclass(frozen=True, eq=False)
class Round:
    """Splits that belong together, and the overlap of their rows.

    ``fold``: for each row the number of the split that holds it out, if every row is held out once and is a training
    row of all other splits. ``step``: for nested training parts the number of the first split of which a row is a
    training row; the number of splits for rows that are in no training part.
    """

    splits: list[Split]
    fold: Array | None = None
    step: Array | None = None

    @property
    def fewest_rows(self) -> int:
        """The number of rows of the smallest training part."""
        return min(split.n_train for split in self.splits)


def round_of(fold: Array, n_folds: int) -> Round:
    """The round in which each row is held out in the fold of its number."""
    order = np.argsort(fold.astype(np.int16) if n_folds < 1 << 15 else fold, kind="stable")
    edges = np.cumsum(np.bincount(fold, minlength=n_folds))[:-1]
    return Round([Split(len(fold), test) for test in np.split(order, edges)], fold)


#: From this number of rows on, five folds are the default instead of ten: training parts of 4/5 of the rows give models
#: as good as those of 9/10, in half of the time.
MANY_ROWS: Final = 5_000


def usual_folds(n_rows: int) -> int:
    """The default number of folds if classes and groups are large enough: ten, or five with many rows."""
    return 10 if n_rows < MANY_ROWS else 5


def default_folds(n_rows: int, smallest_class: int, groups: Array | None = None) -> int:
    """The default number of folds, at most the rows of the smallest class and the number of groups, and at least two.

    >>> default_folds(110, 6), default_folds(110, 50, groups=np.arange(110) % 4), default_folds(6_000, 50)
    (6, 4, 5)
    """
    usual = usual_folds(n_rows)
    n_groups = usual if groups is None else len(np.unique(groups))
    return max(2, min(usual, smallest_class, n_groups))


def plan_rounds(
    table: LabelledTable, cv: SplitsLike, repeats: int, stratify: bool, random_state: RandomState
) -> list[Round]:
    """The rounds of splits given by ``cv``.

    For a number of folds (None: `default_folds`) or a share of the rows, rows are assigned at random; the splits of a
    splitter or a list of (train, test) are used unchanged.
    """
    check_integer("repeats", repeats, 1)
    if table.streamed is not None:
        from .passes import folds_by_number

        return folds_by_number(table, cv, repeats)
    rng = np.random.default_rng(random_state)
    if cv is None:
        cv = default_folds(table.n_rows, int(table.class_counts.min()), table.groups)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        _check_fold_count(table, int(cv), stratify)
        return [round_of(_assigned_folds(table, int(cv), stratify, rng), int(cv)) for _ in range(repeats)]
    if isinstance(cv, Real) and not isinstance(cv, bool):
        share = _checked_share(float(cv))
        return [Round([held_out_share(table, share, stratify, rng) for _ in range(repeats)])]
    if repeats > 1:
        raise ParameterError(
            Setting("repeats", repeats),
            " requires a number of folds as cv. A splitter or a list of splits defines its own repeats.",
        )
    return _rounds_among(_given_splits(table, cv), table.n_rows)


def held_out_share(table: LabelledTable, share: float, stratify: bool, rng: np.random.Generator) -> Split:
    """One split that holds out a share of the rows: of each class, if stratified; of the groups, if there are any."""
    if table.groups is not None:
        from sklearn.model_selection import GroupShuffleSplit  # slow to load

        splitter = GroupShuffleSplit(1, test_size=share, random_state=_seed(rng))
        train, test = next(splitter.split(table.groups, groups=table.groups))
        return Split(table.n_rows, test, train)
    strata = table.codes if stratify else np.zeros_like(table.codes)
    order, sizes = shuffled_by_class(strata, rng), np.bincount(strata)
    held = np.rint(share * sizes).astype(int)
    if stratify and ((held < 1) | (held >= sizes)).any():
        k = int(np.argmin(np.minimum(held, sizes - held)))
        raise LabelError(
            f"Class {shown(table.classes[k])} has {sizes[k]} rows, too few to hold out a share of {share:g}: the "
            "training or the test rows would have none. Use another share, or add rows."
        )
    return Split(table.n_rows, np.sort(order[place_in_class(sizes) < np.repeat(held, sizes)]))


def place_in_class(sizes: Array) -> Array:
    """The index of each row within its class, for rows sorted by class and these class sizes."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def shuffled_by_class(codes: Array, rng: np.random.Generator) -> Array:
    """Row numbers class by class, in random order within each."""
    order = rng.permutation(len(codes))
    small = codes.max() < 1 << 15
    return order[np.argsort(codes[order].astype(np.int16) if small else codes[order], kind="stable")]


def _assigned_folds(table: LabelledTable, n_folds: int, stratify: bool, rng: np.random.Generator) -> Array:
    """The fold of each row: shuffled rows are assigned to the folds in turn, class after class if stratified."""
    fold = np.empty(table.n_rows, dtype=np.int32)
    if table.groups is None:
        order = shuffled_by_class(table.codes, rng) if stratify else rng.permutation(table.n_rows)
        fold[order] = np.arange(table.n_rows) % n_folds
        return fold
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold  # slow to load

    splitter = (StratifiedGroupKFold if stratify else GroupKFold)(n_folds, shuffle=True, random_state=_seed(rng))
    for f, (_, test) in enumerate(splitter.split(table.codes, table.codes, table.groups)):
        fold[test] = f
    return fold


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 31))


def _checked_share(share: float) -> float:
    if not 0 < share < 1:
        raise ParameterError(
            Setting("cv"), f" as a share of the rows to hold out must be between 0 and 1, got {share:g}."
        )
    return share


def _check_fold_count(table: LabelledTable, n_folds: int, stratify: bool) -> None:
    check_integer("cv", n_folds, 2)
    asked = Setting("cv", n_folds)
    if n_folds > table.n_rows:
        raise ParameterError(asked, f", but X has only {table.n_rows} rows. Use at most as many folds as rows.")
    counts = table.class_counts
    k = int(np.argmin(counts))
    if stratify and counts[k] < n_folds:
        raise LabelError(
            f"Class {shown(table.classes[k])} has {several(int(counts[k]), 'row')}, fewer than the {n_folds} folds: "
            f"some folds would have none. {'Use fewer folds, add' if counts[k] > 1 else 'Add'} rows of the "
            "class, or exclude it when the table is read: ",
            Setting("drop_classes_below", n_folds),
            ".",
        )
    if table.groups is not None:
        _check_groups(table, table.groups, asked)


def _check_groups(table: LabelledTable, groups: Array, asked: Setting) -> None:
    n_groups = int(groups.max()) + 1
    if n_groups < asked.value:
        raise ParameterError(asked, f", but there are only {n_groups} groups. Use at most as many folds.")
    pairs = np.unique(np.column_stack((table.codes, groups)), axis=0)
    k = int(np.argmin(np.bincount(pairs[:, 0])))
    if np.count_nonzero(pairs[:, 0] == k) < 2:
        raise LabelError(
            f"Class {shown(table.classes[k])} has rows in one group only, so the training rows have none when this "
            "group is held out. Collect more groups, or leave out the class."
        )


def _given_splits(table: LabelledTable, cv: Any) -> list[Split]:
    if isinstance(cv, (str, bytes)) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise ParameterError(
            Setting("cv"),
            " must be a number of folds, a share of rows to hold out, a splitter or a list of (train, test), "
            f"got {cv!r}.",
        )
    if hasattr(cv, "split"):
        try:
            cv = list(cv.split(np.zeros((table.n_rows, 1)), table.classes[table.codes], table.groups))
        except ValueError as error:
            raise InputError(f"{cv!r} cannot split these rows: {error}") from error
    splits = [_checked_split(pair, number, table.n_rows) for number, pair in enumerate(cv)]
    if not splits:
        raise ParameterError("cv is empty: give at least one pair of training and test rows.")
    return splits


def _checked_split(pair: Sequence[ArrayLike], number: int, n_rows: int) -> Split:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError(f"Split {number} of cv must be a pair (training rows, test rows), got {pair!r}.")
    train, test = (_row_numbers(part, number, n_rows) for part in pair)
    both = np.intersect1d(train, test)
    if both.size:
        raise InputError(
            f"Split {number} of cv has row {both[0]} among both its training and its test rows: its score would "
            "be optimistic. For scores of training rows use train_scores=True."
        )
    return Split(n_rows, test, train)


def _row_numbers(part: ArrayLike, number: int, n_rows: int) -> Array:
    index = np.asarray(part)
    if index.dtype == bool and index.shape == (n_rows,):
        index = np.flatnonzero(index)
    if index.ndim != 1 or index.size == 0 or index.dtype.kind not in "iu":
        raise InputError(f"Split {number} of cv must hold row numbers in both parts, got {part!r}.")
    if index.min() < 0 or index.max() >= n_rows:
        wrong = index[(index < 0) | (index >= n_rows)][0]
        raise InputError(f"Split {number} of cv names row {wrong}; rows are numbered 0 to {n_rows - 1}.")
    return index


def _rounds_among(splits: list[Split], n_rows: int) -> list[Round]:
    """The splits as rounds that hold out every row once, if they do; else all in one round."""
    remaining, rounds = iter(splits), []
    while members := list(_one_round(remaining, n_rows)):
        fold = np.full(n_rows, -1, dtype=np.int32)
        for f, split in enumerate(members):
            fold[split.test] = f
        if fold.min() < 0 or sum(len(split.test) for split in members) != n_rows:
            return [Round(splits)]
        rounds.append(round_of(fold, len(members)))
    return rounds


def _one_round(splits: Iterator[Split], n_rows: int) -> Iterator[Split]:
    """Splits until the number of held-out rows is that of all rows."""
    held = 0
    for split in splits:
        complement = len(split.test) + split.n_train == n_rows == len(np.union1d(split.test, split.train))
        held += len(split.test) if complement else n_rows + 1
        yield split
        if held >= n_rows:
            return
