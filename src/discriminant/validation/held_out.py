"""Rows that are held out: which they are in each split, and what they tell of a model or of the difference of two.

A table is held as its owner holds it, so that any classifier, ours or another's, can be fitted to some of its rows.

The estimand is the mean, over the models of the splits, of their error on new rows. The losses of rows that were held
out vary around it as those of test rows do (central limit theorem of cross-validation: Bayle, Bayle, Janson & Mackey
2020), so that figures have the intervals of `evaluation`, and differences those of paired rows. A row counts once
however often it was held out: repeats make an estimate steadier, not the rows more. How much a fit to other training
rows would differ is not in these intervals (Bates, Hastie & Tibshirani 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Final

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import betainc, betaln, ndtri, stdtr
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..arrays import Array
from ..data import (
    LabelledRows,
    Rows,
    Source,
    as_rows,
    as_table,
    check_integer,
    check_weights,
    encode_labels,
    encoded,
    has_fractions,
    is_collection,
    position_of,
)
from ..errors import InputError, LabelError, ParameterError, Setting, WeightError
from ..estimators.base import fit_in_groups
from ..evaluation.confusion import OVERALL, class_intervals, other_intervals, table_statistic
from ..evaluation.curves import positive_code, rank_rows
from ..evaluation.intervals import (
    Interval,
    Mean,
    SamplingDesign,
    Statistic,
    TableSample,
    cell_response,
    margins,
    newcombe_interval,
    no_interval,
    normal_interval,
    quantile,
    wilson_interval,
)
from ..results import several, shown


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

    def fitted(self, model: Any, index: Array | None = None) -> Any:
        """A copy of a model, fitted to some rows, by default to all; its own tuning holds out whole groups, too."""
        chosen = np.arange(self.n_rows) if index is None else index
        X = self.X if index is None else self.rows(index)
        if self.groups is None:
            return clone(model).fit(X, self.labels(chosen), **self.fitting(chosen))
        return fit_in_groups(clone(model), X, self.labels(chosen), self.groups[chosen], **self.fitting(chosen))

    def class_weights(self, index: Array) -> Array:
        """The weight of each class among some rows."""
        return np.bincount(self.codes[index], weights=self.weights_of(index), minlength=len(self.classes))

    @cached_property
    def all_class_weights(self) -> Array:
        return self.class_weights(np.arange(self.n_rows))

    def positive_code(self, positive: Any) -> int | None:
        """The code of the positive class, as `evaluation.curves` chooses it."""
        return positive_code(positive, self.classes, self.all_class_weights)

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
    if is_collection(X):
        from ..partitions.frames import as_source

        X, y, sample_weight = as_source(X, y, sample_weight), None, None
    if isinstance(X, Source):
        from .passes import table_of  # which needs this module

        if any(own is not None for own in (y, sample_weight, groups)):
            raise InputError("A dataset has its labels and weights in columns, and no groups: leave the others out.")
        return table_of(X)
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


#: From so many rows on, 4/5 of them make as good a model as 9/10, and half of the fits are enough.
MANY_ROWS: Final = 5_000


def usual_folds(n_rows: int) -> int:
    """Folds where nobody asks for a number and classes and groups are large enough: ten, of many rows five."""
    return 10 if n_rows < MANY_ROWS else 5


def default_folds(n_rows: int, smallest_class: int, groups: Array | None = None) -> int:
    """The usual folds; fewer where the smallest class has fewer rows, or where there are fewer groups; at least two.

    >>> default_folds(110, 6), default_folds(110, 50, groups=np.arange(110) % 4), default_folds(6_000, 50)
    (6, 4, 5)
    """
    usual = usual_folds(n_rows)
    n_groups = usual if groups is None else len(np.unique(groups))
    return max(2, min(usual, smallest_class, n_groups))


def plan_rounds(table: LabelledTable, cv: Any, repeats: int, stratify: bool, random_state: Any) -> list[Round]:
    """The rounds that ``cv`` asks for.

    A whole number of folds (None: `default_folds`), or a share of the rows to hold out, is dealt here; a splitter or a
    list of (train, test) is taken as it is.
    """
    check_integer("repeats", repeats, 1)
    if isinstance(table.X, Source):
        from .passes import folds_by_number

        return folds_by_number(table, cv, repeats)
    rng = np.random.default_rng(random_state)
    if cv is None:
        cv = default_folds(table.n_rows, int(table.class_counts.min()), table.groups)
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


#: Degrees of freedom of a paired difference are no fewer, however heavy its tails.
_FEWEST_DEGREES = 2.5
#: No AUC of fewer than a billion pairs is this near to 0 or 1 without being there.
_ROUNDING = 1e-9
#: Pairs of a split, times classes, for which the AUC's variance allows for pairs; of more it makes little difference.
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class PairedDifference:
    """A measure of one model minus that of another on the same rows, with its interval and the test that it is 0."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows while they were held out, split after split; a row is there as often as it was held out.

    Attributes
    ----------
    split, row, truth : arrays of shape (entries,)
        The number of the split and of the row, and the code of its class.
    design : SamplingDesign
        Weights and clusters of the entries.
    once : float
        The weight of the rows over that of the entries: 1 where every row is held out once.
    """

    split: Array
    row: Array
    truth: Array
    design: SamplingDesign
    once: float

    def draws(self, deviations: Array) -> float:
        """How many independent rows there are, or are worth as much where rows are in clusters."""
        if self.design.clusters is None:
            return self.design.total_weight * self.once
        return self.design.worth(deviations, float(self.design.weights @ np.square(deviations)))

    @cached_property
    def tests(self) -> list[Array]:
        """The entries of each split."""
        order = np.argsort(self.split, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.split[order])) + 1)

    def degrees(self, draws: float) -> float:
        return draws - 1 if self.design.clusters is None else self.design.degrees

    def variance(self, influence: Array, of_pairs: float = 0.0) -> float:
        """The variance of a measure that each row moves so far; a row counts once however often it was held out.

        ``of_pairs`` is what the squares contain of single pairs of rows (see `AreaOfRows`).
        """
        variance = self.design.variance(influence)
        if self.design.clusters is not None:
            return variance * self.design.n_clusters / (self.design.n_clusters - 1)
        n = self.design.total_weight * self.once
        return (variance - of_pairs) / self.once * n / (n - 1) if n > 1 else math.nan


def held_out_rows(table: LabelledTable, splits: list[Split]) -> HeldOutRows:
    """The test rows of all splits, one split after another."""
    index = np.concatenate([split.test for split in splits])
    number = np.repeat(np.arange(len(splits)), [len(split.test) for split in splits])
    weight = table.weights_of(index)
    design = SamplingDesign(len(index), weight)
    if table.groups is not None:
        found, clusters = np.unique(table.groups[index], return_inverse=True)
        design = SamplingDesign(len(index), weight, clusters, len(found)) if len(found) > 1 else design
    elif has_fractions(table.weight) and weight is not None:
        design = SamplingDesign.of_importances(weight, index)
    rows = np.unique(index)
    once = float(len(rows) if weight is None else table.weights_of(rows).sum())  # type: ignore[union-attr]
    return HeldOutRows(number, index, table.codes[index], design, once / max(design.total_weight, 1e-300))


@dataclass(frozen=True, eq=False)
class ShareOfRows:
    """A share of rows, such as those given their own class: whether each is one."""

    rows: HeldOutRows
    values: Array

    @cached_property
    def value(self) -> float:
        return Mean.of(self.values, self.rows.design.weight).mean

    def interval(self, level: float) -> Interval:
        """Wilson's interval, as that of an evaluation."""
        n = self.rows.draws(self.values - self.value)
        return wilson_interval(self.value, n, level, self.rows.design.degrees, f"Wilson{self.rows.design.words}")

    def minus(self, other: ShareOfRows, level: float) -> PairedDifference:
        """By the rows on which the two differ: Agresti & Min's interval, McNemar's mid-p test."""
        gap = self.values.astype(np.float64) - other.values
        weights, difference = self.rows.design.weights, self.value - other.value
        n = self.rows.draws(gap - difference)
        scale = n / weights.sum()
        only = float(weights @ (gap > 0)) * scale, float(weights @ (gap < 0)) * scale
        low, high = paired_shares_interval(*only, n, level, self.rows.design.degrees)
        return PairedDifference(difference, low, high, mcnemar_p_value(*only))


@dataclass(frozen=True, eq=False)
class MeanOfRows:
    """A mean over rows, such as the log-loss, with what the model expects of it (see `Mean`)."""

    rows: HeldOutRows
    values: Array
    expected: Array | None

    @cached_property
    def mean(self) -> Mean:
        return Mean.of(self.values, self.rows.design.weight, self.expected)

    @property
    def value(self) -> float:
        return self.mean.mean

    def interval(self, level: float) -> Interval:
        n = self.rows.draws(self.values - self.value)
        found = self.mean.interval(level, n, self.rows.degrees(n))
        return replace(found, method=f"{found.method}{self.rows.design.words}")

    def minus(self, other: MeanOfRows, level: float) -> PairedDifference:
        """Student's t of the differences of the rows, with the degrees of freedom that their tails leave.

        A variance from n values of kurtosis k is known as well as one from ``2 n / (k - 1)`` normal ones; half of that
        is taken, because the kurtosis of a sample is too small.
        """
        gap = self.values - other.values
        found, weights = Mean.of(gap, self.rows.design.weight), self.rows.design.weights
        n = self.rows.draws(gap - found.mean)
        if not n > 1:
            return PairedDifference(found.mean, math.nan, math.nan, math.nan)
        degrees = self.rows.degrees(n)
        if self.rows.design.clusters is None and found.squares > 0:
            kurtosis = float(weights @ (gap - found.mean) ** 4) * found.weight / found.squares**2
            degrees = min(degrees, max(n / max(kurtosis - 1, 1e-9), _FEWEST_DEGREES))
        error = math.sqrt(found.squares / found.weight / (n - 1))
        reach = quantile(level, degrees) * error
        p = _t_test(found.mean, error, degrees)
        return PairedDifference(found.mean, found.mean - reach, found.mean + reach, p)


def _t_test(value: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(degrees, -abs(value / error)))


@dataclass(frozen=True, eq=False)
class AreaOfRows:
    """The AUC of pairs of rows of the same split: scores of differently fitted models are not compared.

    Of more than two classes it is the mean of each against the rest. ``scores`` has a column for each.
    """

    rows: HeldOutRows
    scores: Array
    classes: tuple[int, ...]

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """For each entry and class how many of the pairs it is in are right, and how many there are; pairs by class."""
        shape = len(self.rows.truth), len(self.classes)
        right, pairs = np.zeros(shape), np.zeros(shape)
        weights = self.rows.design.weights
        for test in self.rows.tests:
            for j, k in enumerate(self.classes):
                positive = self.rows.truth[test] == k
                ranked, place = rank_rows(positive, np.ascontiguousarray(self.scores[test, j]), weights[test])
                if ranked.two_sided:
                    of_positive, of_negative = ranked.placements
                    share = np.where(positive, of_positive[place], of_negative[place])
                    pairs[test, j] = np.where(positive, ranked.n_negative, ranked.n_positive)
                    right[test, j] = share * pairs[test, j]
        of_class = self.rows.truth[:, None] == np.array(self.classes)
        return right, pairs, np.where(of_class, weights[:, None] * pairs, 0.0).sum(axis=0)

    @cached_property
    def _areas(self) -> Array:
        right, _, total = self._parts
        own = self.rows.truth[:, None] == np.array(self.classes)
        won = (self.rows.design.weights[:, None] * right * own).sum(axis=0)
        found = np.divide(won, total, out=np.full(len(total), np.nan), where=total > 0)
        # An order without errors is exactly that, however sums of weights are rounded.
        return np.where(np.abs(found - np.rint(found)) < _ROUNDING, np.rint(found), found)

    @property
    def value(self) -> float:
        return float(self._areas.mean())

    @cached_property
    def influence(self) -> Array:
        """How much each row moves the AUC."""
        right, pairs, total = self._parts
        return ((right - self._areas * pairs) / (total * len(self.classes))).sum(axis=1)

    def _squares_of_pairs(self, other: AreaOfRows | None = None) -> float:
        """The sum of squares of what single pairs move, which the influences of both their rows contain."""
        found, weights = 0.0, self.rows.design.weights
        for test in self.rows.tests:
            weight = weights[test]
            if len(self.classes) * len(test) ** 2 > _MOST_PAIRS:
                continue
            moved = np.zeros((len(test), len(test)))
            for sign, one in ((1.0, self), (-1.0, other)):
                if one is not None:
                    moved += sign * one._moved(test)
            both = moved + moved.T
            found += float(weight @ np.square(both) @ weight) / 2
        return found

    def _moved(self, test: Array) -> Array:
        """What each pair of a positive (row) and a negative row (column) of a split moves."""
        truth, total = self.rows.truth[test], self._parts[2]
        moved = np.zeros((len(test), len(test)))
        for j, k in enumerate(self.classes):
            score = self.scores[test, j]
            wins = 0.5 * ((score[:, None] > score).astype(float) + (score[:, None] >= score))
            is_pair = (truth == k)[:, None] & (truth != k)
            moved += np.where(is_pair, wins - self._areas[j], 0.0) / (total[j] * len(self.classes))
        return moved

    def _variance(self, influence: Array, of_pairs: float) -> float:
        """DeLong's variance with pairs within splits alone.

        The influences of rows of small splits contain those of single pairs twice. Half of that is taken off: all of it
        would be right on average, but leaves nothing in samples with few pairs.
        """
        return self.rows.variance(influence, of_pairs / 2)

    @cached_property
    def variance(self) -> float:
        return self._variance(self.influence, self._squares_of_pairs())

    def interval(self, level: float) -> Interval:
        if math.isnan(self.value):
            return no_interval(level, "a class was never held out together with another")
        if self.value in (0.0, 1.0):
            sizes = np.bincount(self.rows.truth, self.rows.design.weights)[list(self.classes)]
            total, scale = self.rows.design.total_weight, self.rows.once
            most = math.inf if self.rows.design.clusters is None else float(self.rows.design.n_clusters)
            ends = [
                tuple(newcombe_interval(self.value, min(own * scale, most), min((total - own) * scale, most), level))
                for own in sizes
            ]
            low, high = np.mean(ends, axis=0)
            return Interval(float(low), float(high), level, "Newcombe's score interval")
        method = f"DeLong within splits, logit scale{self.rows.design.words}"
        return normal_interval(self.value, self.variance, level, method, self.rows.design.degrees, "logit")

    def minus(self, other: AreaOfRows, level: float) -> PairedDifference:
        """By DeLong's variance of the difference; where no pair tells the two apart in another way, by their intervals.

        That is so for a perfect order of rows beside none at all: their difference is the same in every pair.
        """
        variance = self._variance(self.influence - other.influence, self._squares_of_pairs(other))
        return _difference_of(self, other, variance, level)


#: Measures of the table of true and predicted classes.
TABLE_MEASURES = ("balanced_accuracy", "f1")


@dataclass(frozen=True)
class TableMeasure:
    """A measure of the table of true and predicted classes, and what it is of: "overall", "macro" or one class."""

    metric: str
    of: str | int

    @classmethod
    def named(cls, metric: str, positive: int | None) -> TableMeasure:
        """F1 is that of the positive class; without one, the mean over the classes."""
        return cls(metric, "overall" if metric in OVERALL else "macro" if positive is None else positive)

    @property
    def statistic(self) -> Statistic:
        return table_statistic(self.metric, self.of)

    def value(self, counts: Array) -> float:
        """The measure of a table with true classes as rows."""
        return float(self.statistic(margins(counts)))

    def interval(self, sample: TableSample, level: float) -> Interval:
        """That of an evaluation."""
        if isinstance(self.of, int):
            return class_intervals(sample, self.metric, level)[self.of]
        return other_intervals(sample, [(self.metric, self.of)], level, 0)[0]


@dataclass(frozen=True, eq=False)
class MeasureOfTable:
    """A measure of the table of true and predicted classes, with the codes that were predicted."""

    rows: HeldOutRows
    codes: Array
    measure: TableMeasure
    n_classes: int

    @cached_property
    def _cells(self) -> Array:
        return self.rows.truth * self.n_classes + self.codes

    @cached_property
    def _counts(self) -> Array:
        counts = np.bincount(self._cells, self.rows.design.weights, self.n_classes**2)
        return counts.reshape(self.n_classes, self.n_classes)

    @cached_property
    def value(self) -> float:
        return self.measure.value(self._counts)

    @cached_property
    def influence(self) -> Array:
        """How much each row moves the measure."""
        found: Array = cell_response(self.measure.statistic, self._counts)[self._cells, 0]
        return found

    def interval(self, level: float) -> Interval:
        """That of an evaluation."""
        design = self.rows.design
        sample = TableSample(self._counts * self.rows.once)
        if design.clusters is not None:
            sample = TableSample(self._counts, design.by_cluster(self._cells, self.n_classes**2))
        return self.measure.interval(sample, level)

    def minus(self, other: MeasureOfTable, level: float) -> PairedDifference:
        """By the variance of what each row moves."""
        return _difference_of(self, other, self.rows.variance(self.influence - other.influence), level)


def _difference_of(
    one: AreaOfRows | MeasureOfTable, other: AreaOfRows | MeasureOfTable, variance: float, level: float
) -> PairedDifference:
    """The difference of two measures from its variance; where rows show none, from the intervals of the two."""
    difference, degrees = one.value - other.value, one.rows.design.degrees
    reach = quantile(level, degrees) * math.sqrt(variance)
    if variance <= 1e-24 and difference != 0:
        mine, theirs = one.interval(level), other.interval(level)
        reach = math.hypot(mine.high - mine.low, theirs.high - theirs.low)
    low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
    return PairedDifference(difference, low, high, _t_test(difference, reach / quantile(level, degrees), degrees))


Pooled = ShareOfRows | MeanOfRows | AreaOfRows | MeasureOfTable

#: Resamples of the rows, and the most parts that rows are put together to for them.
_RESAMPLES, _MOST_UNITS = 1_000, 2_000


def selection_bias(measures: Sequence[Pooled], more_is_better: bool, standard_error: float) -> float:
    """How much better the figure of the best of several models is than its true value, because it was chosen by it.

    The bootstrap bias correction of cross-validation (Tsamardinos, Greasidou & Borboudakis 2018): models are chosen on
    rows drawn with replacement, and the chosen one is judged on the rows that were not drawn; the fits stay as they
    are. The estimate is the mean difference there between the model chosen by all rows and the one chosen by the draw.
    Rows of a cluster are drawn together. A measure that is no mean of rows is taken as linear in them.

    The estimate is kept between 0 and the expected maximum of as many independent figures with the standard error of
    the best one, the most that choosing can be worth. Without that bound one row with a huge loss under another model
    decides: draws without this row choose the other model, and judge it by this row.
    """
    rows, sign = measures[0].rows, 1.0 if more_is_better else -1.0
    if len(measures) < 2:
        return 0.0
    rng = np.random.default_rng(0)
    unit = np.unique(rows.row if rows.design.clusters is None else rows.design.clusters, return_inverse=True)[1]
    n = int(unit.max()) + 1
    if n > _MOST_UNITS:
        unit, n = rng.permutation(n)[unit] % _MOST_UNITS, _MOST_UNITS
    weights = rows.design.weights
    sizes = np.bincount(unit, weights)
    sums = sign * np.column_stack([np.bincount(unit, weights * _row_values(measure)) for measure in measures])
    best, found = int(np.argmax(sums.sum(axis=0))), []
    for _ in range(_RESAMPLES):
        drawn = np.bincount(rng.integers(n, size=n), minlength=n)
        left = drawn == 0
        if sizes[left].any() and drawn @ sizes > 0:
            chosen = int(np.argmax(drawn @ sums))
            found.append((sums[left, best] - sums[left, chosen]).sum() / sizes[left].sum())
    most = expected_maximum(len(measures)) * standard_error
    return min(max(float(np.mean(found)), 0.0), most if math.isfinite(most) else math.inf) if found else 0.0


def expected_maximum(n: int) -> float:
    """The expected maximum of n independent standard normal variables (Blom 1958).

    >>> round(expected_maximum(2), 2), round(expected_maximum(10), 2)
    (0.59, 1.55)
    """
    return float(ndtri((n - 0.375) / (n + 0.25)))


def _row_values(measure: Pooled) -> Array:
    """Values of the rows whose mean is the measure, or is it to first order."""
    if isinstance(measure, ShareOfRows | MeanOfRows):
        return measure.values
    return measure.value + measure.rows.design.total_weight * measure.influence


def paired_shares_interval(
    first_only: float, second_only: float, n: float, level: float, degrees: float = math.inf
) -> tuple[float, float]:
    """The interval of a difference of two shares of the same rows (Agresti & Min 2005).

    It is Wald's after half a row has been added to each of the four cells.
    """
    difference = first_only - second_only
    centre = difference / (n + 2)
    spread = first_only + second_only + 1 - difference**2 / (n + 2)
    reach = quantile(level, degrees) * math.sqrt(spread) / (n + 2)
    return max(centre - reach, -1.0), min(centre + reach, 1.0)


def mcnemar_p_value(first_only: float, second_only: float, mid: bool = True) -> float:
    """McNemar's two-sided test of rows that only one of two gets right; counts may be sums of weights.

    "mid" counts the observed outcome half. The binomial distribution is continued between whole numbers.
    """
    tosses, fewer = first_only + second_only, min(first_only, second_only)
    if tosses == 0:
        return 1.0
    below = float(betainc(tosses - fewer, fewer + 1, 0.5))
    log_choose = -math.log(tosses + 1) - float(betaln(tosses - fewer + 1, fewer + 1))
    at = math.exp(log_choose - tosses * math.log(2))
    return min(2 * below - (at if mid else 0.0), 1.0)
