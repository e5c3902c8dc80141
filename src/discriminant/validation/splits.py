"""Rows to be split, and which of them are held out when.

A table is held as its owner holds it, so that any classifier, ours or another's, can be fitted to some of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, StratifiedGroupKFold
from sklearn.utils import _safe_indexing

from ..data import LabelledRows, Rows, as_rows, check_weights, encode_labels
from ..data.checks import check_integer, encoded, position_of
from ..data.rows import as_table
from ..errors import InputError, LabelError, ParameterError, Setting, WeightError
from ..results import several, shown

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """``X`` as it came and in a form that rows can be taken from, with a class code for each row.

    Rows may have weights, and the numbers of the groups they belong to.
    """

    X: Any
    indexable: Any
    classes: Array
    codes: Array
    weight: Array | None = None
    groups: Array | None = None

    @cached_property
    def labelled(self) -> LabelledRows:
        """The same as rows of numbers, read in blocks."""
        return LabelledRows(as_rows(self.X), self.classes, self.codes, self.weight)

    @property
    def n_rows(self) -> int:
        return int(self.indexable.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns; texts have one."""
        return int((*self.indexable.shape, 1)[1])

    def rows(self, index: Array) -> Any:
        """Some rows in the form they came in."""
        if isinstance(self.indexable, nw.DataFrame):
            return self.indexable[index.tolist(), :].to_native()
        return _safe_indexing(self.indexable, index)

    def labels(self, index: Array) -> Array:
        return self.classes[self.codes[index]]

    def weights_of(self, index: Array) -> Array | None:
        """The weights of some rows, or None where every row counts once."""
        return None if self.weight is None else self.weight[index]

    def fitting(self, index: Array) -> dict[str, Any]:
        """The weights of some rows as ``fit`` takes them."""
        return {} if self.weight is None else {"sample_weight": self.weight[index]}

    def fitted(self, model: Any) -> Any:
        """A copy of a model, fitted to all rows."""
        everything = np.arange(self.n_rows)
        return clone(model).fit(self.X, self.labels(everything), **self.fitting(everything))

    def class_weights(self, index: Array) -> Array:
        """The weight of each class among some rows."""
        return np.bincount(self.codes[index], weights=self.weights_of(index), minlength=len(self.classes))

    @cached_property
    def all_class_weights(self) -> Array:
        return self.class_weights(np.arange(self.n_rows))

    def positions(self, labels: Array, model: str) -> Array:
        """The codes of labels a model predicted."""
        found, codes = encoded(labels)
        position = position_of(self.classes.tolist())
        unknown = [label for label in found if label not in position]
        if unknown:
            raise LabelError(
                f"Model {model!r} predicted {shown(unknown[0])}, which is not a class of y "
                f"({self.classes[:8].tolist()}). Only models that answer with a class can be cross-validated."
            )
        return np.array([position[label] for label in found], dtype=np.int32)[codes]

    def take(self, index: Array) -> LabelledTable:
        """Some rows with their labels and weights, the classes unchanged."""
        X = self.rows(index)
        groups = None if self.groups is None else self.groups[index]
        return LabelledTable(X, _indexable(X), self.classes, self.codes[index], self.weights_of(index), groups)

    @cached_property
    def class_counts(self) -> Array:
        """Rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))


def labelled_table(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> LabelledTable:
    """``X``, ``y``, ``sample_weight`` and ``groups`` checked and brought together, without copying ``X``."""
    indexable = _indexable(X)
    n_rows = int(indexable.shape[0])
    classes, codes = encode_labels(y, n_rows)
    if classes.size < 2:
        raise LabelError(f"y has only one class, {shown(classes[0])}: a classifier needs at least two classes.")
    members = None if groups is None else group_codes(groups, n_rows)
    table = LabelledTable(X, indexable, classes, codes, check_weights(sample_weight, n_rows), members)
    weightless = np.flatnonzero(table.all_class_weights == 0)
    if weightless.size:
        raise WeightError(f"All rows of class {shown(classes[weightless[0]])} have weight zero. Leave them out.")
    return table


def _indexable(X: Any) -> Any:
    """``X`` as a narwhals frame, CSR matrix, array or rows with names; texts, one a row, stay a list of texts."""
    if isinstance(X, (list, tuple, np.ndarray)) and len(X) and isinstance(X[0], str):
        return np.asarray(X, dtype=object)
    return X if isinstance(X, Rows) else as_table(X)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to score, and rows to learn from: all others, unless others are ``given``."""

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
    """Splits that belong together, and how their rows overlap.

    ``fold``: the number of each row's split, where every row is held out once and learned from in all other splits.
    ``step``: the number of the first split a row is learned from in, where each split learns from all that the one
    before did; the number of splits for rows that are never learned from.
    """

    splits: list[Split]
    fold: Array | None = None
    step: Array | None = None

    @property
    def fewest_rows(self) -> int:
        """Rows of the smallest training part."""
        return min(split.n_train for split in self.splits)


def round_of(fold: Array, n_folds: int) -> Round:
    """The round in which each row is held out in the fold of its number."""
    order = np.argsort(fold.astype(np.int16) if n_folds < 1 << 15 else fold, kind="stable")
    edges = np.cumsum(np.bincount(fold, minlength=n_folds))[:-1]
    return Round([Split(len(fold), test) for test in np.split(order, edges)], fold)


#: Folds where nobody asks for a number and classes and groups are large enough.
DEFAULT_FOLDS = 10


def default_folds(smallest_class: int, groups: Array | None = None) -> int:
    """Ten folds; fewer where the smallest class has fewer rows, or where there are fewer groups; at least two.

    >>> default_folds(6), default_folds(50, groups=np.arange(110) % 4)
    (6, 4)
    """
    n_groups = DEFAULT_FOLDS if groups is None else len(np.unique(groups))
    return max(2, min(DEFAULT_FOLDS, smallest_class, n_groups))


def plan_rounds(table: LabelledTable, cv: Any, repeats: int, stratify: bool, random_state: Any) -> list[Round]:
    """The rounds that ``cv`` asks for.

    A whole number of folds (None: `default_folds`), or a share of the rows to hold out, is dealt here; a splitter or a
    list of (train, test) is taken as it is.
    """
    check_integer("repeats", repeats, 1)
    rng = np.random.default_rng(random_state)
    if cv is None:
        cv = default_folds(int(table.class_counts.min()), table.groups)
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        _check_fold_count(table, int(cv), stratify)
        return [round_of(_dealt(table, int(cv), stratify, rng), int(cv)) for _ in range(repeats)]
    if isinstance(cv, Real) and not isinstance(cv, bool):
        share = _checked_share(float(cv))
        return [Round([held_out_share(table, share, stratify, rng) for _ in range(repeats)])]
    if repeats > 1:
        raise ParameterError(
            Setting("repeats", repeats), " needs a number of folds; a splitter or list of splits repeats itself."
        )
    return _rounds_among(_given_splits(table, cv), table.n_rows)


def held_out_share(table: LabelledTable, share: float, stratify: bool, rng: np.random.Generator) -> Split:
    """One split that holds out a share of the rows: of each class, if stratified; of the groups, if there are any."""
    if table.groups is not None:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=_seed(rng))
        train, test = next(splitter.split(table.groups, groups=table.groups))
        return Split(table.n_rows, test, train)
    strata = table.codes if stratify else np.zeros_like(table.codes)
    order, sizes = shuffled_by_class(strata, rng), np.bincount(strata)
    held = np.rint(share * sizes).astype(int)
    if stratify and ((held < 1) | (held >= sizes)).any():
        k = int(np.argmin(np.minimum(held, sizes - held)))
        raise LabelError(
            f"Class {shown(table.classes[k])} has {sizes[k]} rows: a share of {share:g} held out leaves a part without "
            "it. Hold out another share, or add rows."
        )
    return Split(table.n_rows, np.sort(order[place_in_class(sizes) < np.repeat(held, sizes)]))


def place_in_class(sizes: Array) -> Array:
    """The place of each row within its class, rows being in order of their classes, which have these sizes."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def shuffled_by_class(codes: Array, rng: np.random.Generator) -> Array:
    """Row numbers class by class, in random order within each."""
    order = rng.permutation(len(codes))
    small = codes.max() < 1 << 15
    return order[np.argsort(codes[order].astype(np.int16) if small else codes[order], kind="stable")]


def _dealt(table: LabelledTable, n_folds: int, stratify: bool, rng: np.random.Generator) -> Array:
    """The fold of each row: shuffled rows dealt one to each fold in turn, class after class if stratified."""
    fold = np.empty(table.n_rows, dtype=np.int32)
    if table.groups is None:
        order = shuffled_by_class(table.codes, rng) if stratify else rng.permutation(table.n_rows)
        fold[order] = np.arange(table.n_rows) % n_folds
        return fold
    splitter = (StratifiedGroupKFold if stratify else GroupKFold)(n_folds, shuffle=True, random_state=_seed(rng))
    for f, (_, test) in enumerate(splitter.split(table.codes, table.codes, table.groups)):
        fold[test] = f
    return fold


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 31))


def _checked_share(share: float) -> float:
    if not 0 < share < 1:
        raise ParameterError(
            Setting("cv"), f" as a share of the rows to hold out must lie between 0 and 1, got {share:g}."
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
            f"not every fold could hold it out. {'Use fewer folds, add' if counts[k] > 1 else 'Add'} rows of the "
            "class, or leave it out where the table is read: ",
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
            f"Class {shown(table.classes[k])} occurs in one group only: whenever that group is held out, no model has "
            "seen the class. Collect more groups, or leave out the class."
        )


def group_codes(groups: Any, n_rows: int) -> Array:
    """The groups of the rows as numbers from 0."""
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise InputError(f"groups must have one entry for each of the {n_rows} rows, got shape {values.shape}.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"groups contains NaN: row {int(np.argmax(np.isnan(values)))}. Give every row a group.")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError as error:
        raise InputError(f"groups mixes types that have no common order: {error}. Use one type.") from error


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


def _checked_split(pair: Any, number: int, n_rows: int) -> Split:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError(f"Split {number} of cv must be a pair (training rows, test rows), got {pair!r}.")
    train, test = (_row_numbers(part, number, n_rows) for part in pair)
    both = np.intersect1d(train, test)
    if both.size:
        raise InputError(
            f"Split {number} of cv has row {both[0]} among both its training and its test rows: its score would "
            "flatter the model. Score training rows with train_scores=True."
        )
    return Split(n_rows, test, train)


def _row_numbers(part: Any, number: int, n_rows: int) -> Array:
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
    """The splits in rounds that hold out every row once, if they are of that kind; else all in one round."""
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
    """Splits up to the one with which as many rows have been held out as there are."""
    held = 0
    for split in splits:
        complement = len(split.test) + split.n_train == n_rows == len(np.union1d(split.test, split.train))
        held += len(split.test) if complement else n_rows + 1
        yield split
        if held >= n_rows:
            return
