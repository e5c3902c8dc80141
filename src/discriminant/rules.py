"""Rules of fitted classifiers: from rows to one score per class.

``scores(block)`` takes a C-contiguous array of rows or a CSR matrix and returns float64 scores. Rows are centred before
they are multiplied, so that a large common offset costs no precision.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Final, Protocol, Self, get_args

import numpy as np

from .arrays import Array, RowBlock
from .basis import Basis
from .data import AnyRows, MixedBlock, Rows, check_shapes, dense_parts, dense_rows, is_single, is_sparse, require
from .engine import quiet_numbers
from .errors import InputError
from .kernels import scores as kernels
from .ordinal import LINKS, OrderedClasses, OrdinalForm, OrdinalLink

#: Whitened and expanded copies of rows are computed in parts of this many numbers, which fit into a core's cache.
CACHED_VALUES: Final = 1 << 18
#: Triangular whitening matrices of at least this many columns are multiplied in this many column groups, which skips
#: the zeros below the diagonal (10 classes, 50 columns: a quarter of the time).
MIN_TRIANGLE_COLUMNS: Final = 32
TRIANGLE_GROUPS: Final = 4
#: Products of so few numbers stay on one thread of BLAS; holding it to one takes longer than the scores of a row.
MAX_SERIAL_PRODUCTS: Final = 9_000
#: Rows of a block for a pool, which computes much for each row: all threads have some of a batch.
MAX_POOL_ROWS: Final = 512


class Rule(Protocol):
    """Scores of K classes."""

    def scores(self, block: RowBlock) -> Array:
        """The score of each class for each row of the block."""

    def expand_classes(self, present: Array) -> Self:
        """The rule for more classes, of which only those ``present`` can be predicted."""


class ClassRule:
    """A rule whose arrays have the classes as first axis; ``fill_values`` stand for classes without rows."""

    fill_values: ClassVar[dict[str, float]]
    shapes: ClassVar[dict[str, str]]  #: of the arrays, for K classes and p columns

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        found = check_shapes(self, **self.shapes)
        return found["K"], found["p"]

    def _check_parts(self) -> None:
        _ = self.sizes

    def expand_classes(self, present: Array) -> Self:
        """The rule for more classes, of which only those ``present`` can be predicted."""
        if present.all():
            return self
        arrays: Any = {name: _expanded(present, getattr(self, name), fill) for name, fill in self.fill_values.items()}
        return replace(self, **arrays)  # type: ignore[type-var]


@dataclass(frozen=True)
class LinearRule(ClassRule):
    """``(x - centre) . coef_k + constant_k``."""

    fill_values = {"coef": 0.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"centre": "p", "coef": "Kp", "constants": "K"}  # noqa: RUF012

    centre: Array
    coef: Array
    constants: Array

    @classmethod
    def of_scores(cls, centre: Array, coef: Array, constants: Array) -> Self:
        """From the scores of all classes, or from the score of the second of two classes; the first then scores 0."""
        if len(coef) == 1:
            coef, constants = np.concatenate((0 * coef, coef)), np.append(0.0, constants)
        return cls(centre, coef, constants)

    def scores(self, block: RowBlock) -> Array:
        if is_sparse(block):
            return np.asarray(block @ self.coef.T) + self.intercept
        scores = (block - self.centre) @ self.coef.T
        scores += self.constants
        return scores

    def with_offset_columns(self, n_offsets: int) -> LinearRule:
        """The rule of two classes with columns at the end that are known parts of the score of the second."""
        known = np.repeat([[0.0], [1.0]], n_offsets, axis=1)
        coef = np.ascontiguousarray(np.hstack((self.coef, known)))
        return replace(self, centre=np.pad(self.centre, (0, n_offsets)), coef=coef)

    @cached_property
    def intercept(self) -> Array:
        """The constants for rows without centring."""
        return self.constants - self.coef @ self.centre


@dataclass(frozen=True)
class OrdinalRule:
    """Log-probabilities of ordered classes; their scores are ``thresholds - (x - centre) . coef``.

    ``coef`` has one row, or one for each threshold; then scores of the cumulative form are sorted, so that
    probabilities are not negative where lines cross (rearrangement, Chernozhukov, Fernandez-Val & Galichon 2010).
    ``order`` has the code of each class with rows, from the lowest to the highest, among ``n_classes``.
    """

    centre: Array
    coef: Array
    thresholds: Array
    order: Array
    n_classes: int
    form: OrdinalForm
    link: OrdinalLink

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        return self.n_classes, len(self.centre)

    def _check_parts(self) -> None:
        m = check_shapes(self, centre="p", coef="op", thresholds="m")["m"]
        require(len(self.coef) in (1, m), self, "number of predictors")
        require(self.order.dtype.kind == "i" and self.order.shape == (m + 1,), self, "order")
        places = np.unique(self.order)
        inside = len(places) == m + 1 and places[0] >= 0 and places[-1] < self.n_classes
        require(type(self.n_classes) is int and bool(inside), self, "order of classes")
        require(self.form in get_args(OrdinalForm) and self.link in LINKS, self, "form and link")

    def expand_classes(self, present: Array) -> OrdinalRule:
        """The rule for more classes, of which only those ``present`` can be predicted."""
        return replace(self, order=np.flatnonzero(present)[self.order], n_classes=len(present))

    def with_offset_columns(self, n_offsets: int) -> OrdinalRule:
        """The rule with columns at the end that are known parts of the linear predictor."""
        return replace(self, centre=np.pad(self.centre, (0, n_offsets)), coef=with_known(self.coef, n_offsets))

    def of_classes(self) -> LinearRule:
        """The linear rule of the classes, of adjacent categories: sums of the scores from each class on."""
        require(self.form == "adjacent", self, "form of linear scores")
        sums = np.triu(np.ones((len(self.order), len(self.thresholds))))
        coef = np.broadcast_to(self.coef, (len(self.thresholds), len(self.centre)))
        codes = np.argsort(self.order)
        return LinearRule(self.centre, (-sums @ coef)[codes], (sums @ self.thresholds)[codes])

    def ordered_scores(self, block: RowBlock) -> Array:
        """Thresholds minus linear predictors, (rows, K - 1)."""
        if is_sparse(block):
            predictors = np.asarray(block @ self.coef.T) - self.coef @ self.centre
        else:
            predictors = (block - self.centre) @ self.coef.T
        scores = self.thresholds - predictors
        if len(self.coef) > 1 and self.form == "cumulative":
            scores.sort(axis=1)
        return scores

    def scores(self, block: RowBlock) -> Array:
        logs = OrderedClasses(self.form, self.link).log_probabilities(self.ordered_scores(block))
        out = np.full((len(logs), self.n_classes), -np.inf)
        out[:, self.order] = logs
        return out


def with_known(coef: Array, n_offsets: int) -> Array:
    """Coefficients with more columns, whose coefficients are 1."""
    return np.ascontiguousarray(np.hstack((coef, np.ones((len(coef), n_offsets)))))


@dataclass(frozen=True)
class QuadraticRule(ClassRule):
    """``constant_k - |(x - centre - offset_k) W_k|^2 / 2`` with a p x p matrix ``W_k`` for each class."""

    fill_values = {"offsets": 0.0, "spheres": 0.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"centre": "p", "offsets": "Kp", "spheres": "Kpp", "constants": "K"}  # noqa: RUF012

    centre: Array
    offsets: Array
    spheres: Array
    constants: Array

    @cached_property
    def _whitening(self) -> list[tuple[int, Array, Array]]:
        """Column groups of the matrices of all classes: the rows they use, the concatenated columns, and the offsets.

        Columns of triangular matrices use only the rows down to the diagonal.
        """
        p, offsets = len(self.centre), np.einsum("kj,kjr->kr", self.offsets, self.spheres)
        split = p >= MIN_TRIANGLE_COLUMNS and not np.tril(self.spheres, -1).any()
        groups = pairwise(np.linspace(0, p, TRIANGLE_GROUPS + 1).astype(int)) if split else [(0, p)]
        return [
            (last, np.concatenate(list(self.spheres[:, :last, first:last]), axis=1), offsets[:, first:last].copy())
            for first, last in groups
        ]

    def scores(self, block: RowBlock) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        out[:] = self.constants
        step = max(CACHED_VALUES // max(matrix.shape[1] for _, matrix, _ in self._whitening), 64)
        for X, where in dense_parts(block):
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                centred = X[part] - self.centre
                for last, matrix, offsets in self._whitening:
                    kernels.subtract_squared_lengths(centred[:, :last] @ matrix, offsets, out[where][part])
        return out


@dataclass(frozen=True)
class StudentRule(ClassRule):
    """``constant_k - power_k log(1 + rate_k |(x - centre - offset_k) W|^2)``: multivariate t with a common shape."""

    fill_values = {"offsets": 0.0, "rates": 1.0, "powers": 1.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {  # noqa: RUF012
        "centre": "p", "sphere": "pr", "offsets": "Kp", "rates": "K", "powers": "K", "constants": "K"
    }  # fmt: skip

    centre: Array
    sphere: Array
    offsets: Array
    rates: Array
    powers: Array
    constants: Array

    def scores(self, block: RowBlock) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        offsets = self.offsets @ self.sphere
        for X, where in dense_parts(block):
            whitened = (X - self.centre) @ self.sphere
            for k, offset in enumerate(offsets):
                steps = whitened - offset
                growth = np.log1p(self.rates[k] * np.einsum("ij,ij->i", steps, steps))
                out[where, k] = self.constants[k] - self.powers[k] * growth
        return out


@dataclass(frozen=True)
class DiagonalRule(ClassRule):
    """``constant_k - sum_j (x_j - mean_kj)^2 / (2 variance_kj)``."""

    fill_values = {"means": 0.0, "variances": 1.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"means": "Kp", "variances": "Kp", "constants": "K"}  # noqa: RUF012

    means: Array
    variances: Array
    constants: Array

    def scores(self, block: RowBlock) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        means, halved_precisions = map(np.ascontiguousarray, (self.means, 0.5 / self.variances))
        for X, where in dense_parts(block):
            kernels.diagonal_scores(X, means, halved_precisions, self.constants, out[where])
        return out


@dataclass(frozen=True)
class LevelRule:
    """``table[level of x]``: one score per class for each level of a categorical column; unseen levels score 0."""

    levels: list[Any]
    table: Array

    def _check_parts(self) -> None:
        check_shapes(self, table="lK")
        require(isinstance(self.levels, list) and len(self.table) == len(self.levels) + 1, self, "levels")
        require(all(map(is_single, self.levels)), self, "levels")

    @cached_property
    def _row(self) -> dict[Any, int]:
        return {level: i for i, level in enumerate(self.levels)}

    def scores(self, values: Sequence[Hashable]) -> Array:
        unknown = len(self.levels)
        rows = np.fromiter((self._row.get(value, unknown) for value in values), np.int64, len(values))
        return self.table[rows]


@dataclass(frozen=True)
class MixedRule:
    """The sum of a Gaussian rule, a linear rule, and one rule for each categorical column.

    Blocks are `MixedBlock`; columns are indices into its numeric columns.
    """

    normal: DiagonalRule
    normal_columns: Array
    linear: LinearRule
    linear_columns: Array
    categorical: list[LevelRule]

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        n_classes, n_linear = self.linear.sizes
        return n_classes, self.normal.sizes[1] + n_linear + len(self.categorical)

    def _check_parts(self) -> None:
        require(type(self.normal) is DiagonalRule and type(self.linear) is LinearRule, self, "rules of its columns")
        levels = isinstance(self.categorical, list) and all(type(part) is LevelRule for part in self.categorical)
        require(levels, self, "rules of its categories")
        places = [self.normal_columns, self.linear_columns]
        require(all(isinstance(p, np.ndarray) and p.dtype.kind == "i" and p.ndim == 1 for p in places), self, "columns")
        own = [self.normal.sizes[1], self.linear.sizes[1]]
        require([len(p) for p in places] == own, self, "columns")
        require(np.array_equal(np.sort(np.concatenate(places)), np.arange(sum(own))), self, "columns")
        tables = {part.table.shape[1] for part in self.categorical}
        require(len({self.normal.sizes[0], self.linear.sizes[0], *tables}) == 1, self, "numbers of classes")

    def expand_classes(self, present: Array) -> MixedRule:
        if present.all():
            return self
        tables = [LevelRule(rule.levels, _expanded(present, rule.table.T, 0.0).T) for rule in self.categorical]
        normal, linear = self.normal.expand_classes(present), self.linear.expand_classes(present)
        return replace(self, normal=normal, linear=linear, categorical=tables)

    def scores(self, block: MixedBlock) -> Array:
        scores = self.linear.scores(_columns(block.numbers, self.linear_columns))
        if self.normal_columns.size:
            scores += self.normal.scores(_columns(block.numbers, self.normal_columns))
        for rule, values in zip(self.categorical, block.levels, strict=True):
            scores += rule.scores(values)
        return scores


@dataclass(frozen=True)
class ExpandedRule:
    """A rule for functions of the columns."""

    basis: Basis
    rule: Any

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        return self.rule.sizes[0], self.basis.n_columns

    def _check_parts(self) -> None:
        plain = type(self.rule) in (LinearRule, DiagonalRule, QuadraticRule)
        require(type(self.basis) is Basis and plain, self, "parts")
        require(self.rule.sizes[1] == self.basis.n_outputs, self, "numbers of columns")

    def expand_classes(self, present: Array) -> ExpandedRule:
        return replace(self, rule=self.rule.expand_classes(present))

    def scores(self, block: RowBlock) -> Array:
        rows, step = dense_rows(block), max(CACHED_VALUES // self.basis.n_outputs, 1)
        parts = [rows[start : start + step] for start in range(0, max(len(rows), 1), step)]
        return np.vstack([self.rule.scores(self.basis.expand(part)) for part in parts])


@dataclass(frozen=True)
class EffectsRule:
    """A rule for some columns, followed by effects, which are linear functions of all columns."""

    columns: Array
    effects: LinearRule
    rule: Any

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        return self.rule.sizes[0], self.effects.sizes[1]

    def _check_parts(self) -> None:
        plain = type(self.rule) in (LinearRule, DiagonalRule, QuadraticRule, ExpandedRule)
        require(type(self.effects) is LinearRule and plain, self, "parts")
        own, (n_effects, p) = self.columns, self.effects.sizes
        whole = isinstance(own, np.ndarray) and own.dtype == np.int64 and own.ndim == 1
        require(whole and bool(((own >= 0) & (own < p)).all()), self, "columns")
        require(self.rule.sizes[1] == len(own) + n_effects, self, "numbers of columns")

    def expand_classes(self, present: Array) -> EffectsRule:
        return replace(self, rule=self.rule.expand_classes(present))

    def scores(self, block: RowBlock) -> Array:
        return np.asarray(self.rule.scores(np.hstack((dense_rows(block[:, self.columns]), self.effects.scores(block)))))


@dataclass(frozen=True)
class PoolRule:
    """The logarithm of a weighted mean of posteriors, each the softmax of a rule's scores (linear opinion pool)."""

    rules: list[Any]
    weights: Array

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        sizes: tuple[int, int] = self.rules[0].sizes
        return sizes

    def _check_parts(self) -> None:
        check_shapes(self, weights="m")
        plain = (LinearRule, DiagonalRule, QuadraticRule, ExpandedRule, EffectsRule)
        require(isinstance(self.rules, list) and all(type(rule) in plain for rule in self.rules), self, "rules")
        require(len(self.rules) == len(self.weights) and bool((self.weights >= 0).all()), self, "weights")
        require(0 < float(self.weights.sum()) < np.inf, self, "weights")
        require(len({rule.sizes for rule in self.rules}) == 1, self, "sizes of its rules")

    def expand_classes(self, present: Array) -> PoolRule:
        return replace(self, rules=[rule.expand_classes(present) for rule in self.rules])

    def scores(self, block: RowBlock) -> Array:
        used = np.flatnonzero(self.weights)
        logs = np.stack([log_softmax(self.rules[m].scores(block)) for m in used])
        top = logs.max(axis=0)
        top[np.isneginf(top)] = 0.0  # classes with probability 0 in all members
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.tensordot(self.weights[used], np.exp(logs - top), axes=1)) + top)


@dataclass(frozen=True)
class Scorer:
    """A rule with its class labels; computes the predictions of a fitted classifier."""

    rule: Rule
    classes: Array
    n_jobs: int | None = None

    def scores(self, rows: AnyRows) -> Array:
        """The score of each class for each row."""
        return self._predictions(rows, np.empty((rows.n_rows, len(self.classes))), "scores")

    def labels(self, rows: AnyRows) -> Array:
        """The class with the highest score of each row; the first in case of ties."""
        return self.classes[self._predictions(rows, np.empty(rows.n_rows, dtype=np.int32), "best_classes")]

    def posterior(self, rows: AnyRows, log: bool = False) -> Array:
        """The posterior probabilities, the softmax of the scores; or their logarithms."""
        out = np.empty((rows.n_rows, len(self.classes)))
        return self._predictions(rows, out, "log_softmax" if log else "softmax")

    def _predictions(self, rows: AnyRows, out: Array, kind: str) -> Array:
        """The scores of all blocks, transformed and written into ``out``."""
        write = partial(_predict_block, self.rule, kind)
        few = isinstance(self.rule, LinearRule) and rows.n_rows * self.rule.coef.size <= MAX_SERIAL_PRODUCTS
        if few and isinstance(rows, Rows) and self.n_jobs is None:
            with quiet_numbers():
                overflowing = [] if write(rows.block(0, rows.n_rows), out) else [0]
        else:
            if isinstance(self.rule, PoolRule) and isinstance(rows, Rows):
                rows = rows.in_blocks(MAX_POOL_ROWS)
            overflowing = rows.fill(out, write, self.n_jobs)
        if overflowing:
            rows.refuse_nonfinite()
            raise InputError(
                f"X has values near row {min(overflowing)} that are too large: their scores overflow. Use the units "
                "of the training data."
            )
        return out


@dataclass(frozen=True)
class ArrayScorer:
    """Predictions of a fitted classifier for arrays, without any check of them.

    Rows are C-contiguous float arrays with the columns of the training data. Predictions for rows with NaN or infinity
    have no meaning.
    """

    rule: Rule
    classes: Array
    #: Whether rows with equal scores get the second of two classes instead of the first.
    last_wins: bool = False

    def decision_function(self, X: Array) -> Array:
        """The score of each class; for two classes, the second's minus the first's."""
        scores = self.rule.scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes) == 2 else scores

    def predict(self, X: Array) -> Array:
        """The class of the highest score of each row."""
        if len(self.classes) == 2:
            scores = self.decision_function(X)
            return self.classes[(scores >= 0 if self.last_wins else scores > 0).astype(np.intp)]
        return self.classes[self.rule.scores(X).argmax(axis=1)]


class ArrayPosteriors(ArrayScorer):
    """The same for a classifier with posterior probabilities."""

    def predict_proba(self, X: Array) -> Array:
        """The posterior probability of each class."""
        scores = self.rule.scores(X)
        kernels.softmax(scores, scores)
        return scores


def _predict_block(rule: Rule, kind: str, block: RowBlock, out: Array) -> bool:
    """Write the transformed scores of a block; whether each row has a finite best score."""
    scores = rule.scores(block)
    if kind == "scores":
        out[...] = scores
        return bool(np.isfinite(scores.max(axis=1)).all())
    return bool(getattr(kernels, kind)(scores, out))


def log_softmax(scores: Array) -> Array:
    """The logarithm of the softmax of the scores of each row."""
    by_class = np.array(scores.T, order="C")  # summing long rows of few classes takes half the time of short rows
    top = by_class.max(axis=0)
    by_class -= np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows with NaN give NaN
        by_class -= np.log(np.exp(by_class).sum(axis=0))
    return by_class.T


def _columns(numbers: RowBlock, chosen: Array) -> Any:
    if len(chosen) == numbers.shape[1]:
        return numbers
    part = numbers[:, chosen]
    return part if is_sparse(part) else np.ascontiguousarray(part)


def _expanded(present: Array, values: Array, fill: float) -> Array:
    """The values of the present classes, with ``fill`` for the others."""
    out = np.full((len(present), *values.shape[1:]), fill)
    out[present] = values
    return out
