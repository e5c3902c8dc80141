"""From rows to scores: the one thing a fitted classifier does.

A rule has ``scores(block)``: a C-contiguous array of rows, or a CSR matrix, to one score per class (float64). Rows are
measured from a centre before they are multiplied, so a large common offset costs no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from .arrays import Array
from .basis import Basis
from .data import Rows, Source, check_shapes, dense_parts, dense_rows, is_single, is_sparse, require
from .engine import map_rows, quiet_numbers
from .errors import InputError
from .kernels import scores as kernels

#: The K sphered copies of this many numbers' worth of rows stay in a core's cache.
_SPHERED_NUMBERS = 1 << 18
#: Functions of columns are made and scored so many numbers at a time: they stay in a core's cache.
_EXPANDED_NUMBERS = 1 << 18
#: Triangular matrices of so many columns are multiplied in so many parts.
_SPLIT_COLUMNS, _TRIANGLE_PARTS = 32, 4


class Rule(Protocol):
    """Scores of K classes."""

    def scores(self, block: Any) -> Array:
        """The score of each class for each row of the block."""

    def spread_over(self, present: Array) -> Self:
        """The same rule among more classes, of which only those ``present`` can win."""


class ClassRule:
    """A rule whose arrays have one entry for each class first; ``absent`` fills them for classes that cannot win."""

    absent: ClassVar[dict[str, float]]
    shapes: ClassVar[dict[str, str]]  #: of the arrays, K classes and p columns

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        found = check_shapes(self, **self.shapes)
        return found["K"], found["p"]

    def _check_parts(self) -> None:
        _ = self.sizes

    def spread_over(self, present: Array) -> Self:
        """The same rule among more classes, of which only those ``present`` can win."""
        if present.all():
            return self
        wide: Any = {name: _spread(present, getattr(self, name), fill) for name, fill in self.absent.items()}
        return replace(self, **wide)  # type: ignore[type-var]


@dataclass(frozen=True)
class LinearRule(ClassRule):
    """``(x - centre) . coef_k + constant_k``."""

    absent = {"coef": 0.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"centre": "p", "coef": "Kp", "constants": "K"}  # noqa: RUF012

    centre: Array
    coef: Array
    constants: Array

    @classmethod
    def of_scores(cls, centre: Array, coef: Array, constants: Array) -> Self:
        """From the scores of all classes, or from one score, that of the second of two: the first then has 0."""
        if len(coef) == 1:
            coef, constants = np.concatenate((0 * coef, coef)), np.append(0.0, constants)
        return cls(centre, coef, constants)

    def scores(self, block: Any) -> Array:
        if is_sparse(block):
            return np.asarray(block @ self.coef.T) + self.intercept
        scores = (block - self.centre) @ self.coef.T
        scores += self.constants
        return scores

    @cached_property
    def intercept(self) -> Array:
        """The constants for rows that are not centred."""
        return self.constants - self.coef @ self.centre


@dataclass(frozen=True)
class QuadraticRule(ClassRule):
    """``constant_k - |(x - centre - offset_k) W_k|^2 / 2`` with a p x p matrix ``W_k`` for each class."""

    absent = {"offsets": 0.0, "spheres": 0.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"centre": "p", "offsets": "Kp", "spheres": "Kpp", "constants": "K"}  # noqa: RUF012

    centre: Array
    offsets: Array
    spheres: Array
    constants: Array

    @cached_property
    def _sphering(self) -> list[tuple[int, Array, Array]]:
        """Columns of the matrices side by side, how many coordinates they read, and the offsets they lead to.

        Triangular matrices, which factors of covariances are, go in parts that read no further than to the diagonal:
        of ten classes with 50 columns that left out a quarter of the time.
        """
        p, offsets = len(self.centre), np.einsum("kj,kjr->kr", self.offsets, self.spheres)
        split = p >= _SPLIT_COLUMNS and not np.tril(self.spheres, -1).any()
        parts = pairwise(np.linspace(0, p, _TRIANGLE_PARTS + 1).astype(int)) if split else [(0, p)]
        return [
            (last, np.concatenate(list(self.spheres[:, :last, first:last]), axis=1), offsets[:, first:last].copy())
            for first, last in parts
        ]

    def scores(self, block: Any) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        out[:] = self.constants
        step = max(_SPHERED_NUMBERS // max(beside.shape[1] for _, beside, _ in self._sphering), 64)
        for X, where in dense_parts(block):
            for start in range(0, len(X), step):
                part = slice(start, start + step)
                centred = X[part] - self.centre
                for last, beside, offsets in self._sphering:
                    kernels.subtract_squared_lengths(centred[:, :last] @ beside, offsets, out[where][part])
        return out


@dataclass(frozen=True)
class StudentRule(ClassRule):
    """``constant_k - power_k log(1 + rate_k |(x - centre - offset_k) W|^2)``: multivariate t densities of one shape."""

    absent = {"offsets": 0.0, "rates": 1.0, "powers": 1.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {  # noqa: RUF012
        "centre": "p", "sphere": "pr", "offsets": "Kp", "rates": "K", "powers": "K", "constants": "K"
    }  # fmt: skip

    centre: Array
    sphere: Array
    offsets: Array
    rates: Array
    powers: Array
    constants: Array

    def scores(self, block: Any) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        offsets = self.offsets @ self.sphere
        for X, where in dense_parts(block):
            sphered = (X - self.centre) @ self.sphere
            for k, offset in enumerate(offsets):
                steps = sphered - offset
                growth = np.log1p(self.rates[k] * np.einsum("ij,ij->i", steps, steps))
                out[where, k] = self.constants[k] - self.powers[k] * growth
        return out


@dataclass(frozen=True)
class DiagonalRule(ClassRule):
    """``constant_k - sum_j (x_j - mean_kj)^2 / (2 variance_kj)``."""

    absent = {"means": 0.0, "variances": 1.0, "constants": -np.inf}  # noqa: RUF012
    shapes = {"means": "Kp", "variances": "Kp", "constants": "K"}  # noqa: RUF012

    means: Array
    variances: Array
    constants: Array

    def scores(self, block: Any) -> Array:
        out = np.empty((block.shape[0], len(self.constants)))
        means, halved_precisions = map(np.ascontiguousarray, (self.means, 0.5 / self.variances))
        for X, where in dense_parts(block):
            kernels.diagonal_scores(X, means, halved_precisions, self.constants, out[where])
        return out


@dataclass(frozen=True)
class LevelRule:
    """``table[level of x]``: one score per class for each level of a categorical column; unknown levels score 0."""

    levels: list[Any]
    table: Array

    def _check_parts(self) -> None:
        check_shapes(self, table="lK")
        require(isinstance(self.levels, list) and len(self.table) == len(self.levels) + 1, self, "levels")
        require(all(map(is_single, self.levels)), self, "levels")

    @cached_property
    def _row(self) -> dict[Any, int]:
        return {level: i for i, level in enumerate(self.levels)}

    def scores(self, values: list[Any]) -> Array:
        unknown = len(self.levels)
        rows = np.fromiter((self._row.get(value, unknown) for value in values), np.int64, len(values))
        return self.table[rows]


@dataclass(frozen=True)
class MixedRule:
    """The sum of a rule for normal columns, one for columns that score linearly, and one for each categorical column.

    Blocks are `MixedBlock`; the columns are places among its numbers.
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

    def spread_over(self, present: Array) -> MixedRule:
        if present.all():
            return self
        tables = [LevelRule(rule.levels, _spread(present, rule.table.T, 0.0).T) for rule in self.categorical]
        normal, linear = self.normal.spread_over(present), self.linear.spread_over(present)
        return replace(self, normal=normal, linear=linear, categorical=tables)

    def scores(self, block: Any) -> Array:
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

    def spread_over(self, present: Array) -> ExpandedRule:
        return replace(self, rule=self.rule.spread_over(present))

    def scores(self, block: Any) -> Array:
        rows, step = dense_rows(block), max(_EXPANDED_NUMBERS // self.basis.n_outputs, 1)
        parts = [rows[start : start + step] for start in range(0, max(len(rows), 1), step)]
        return np.vstack([self.rule.scores(self.basis.expand(part)) for part in parts])


@dataclass(frozen=True)
class PoolRule:
    """The logarithm of a weighted mean of posteriors, each of which is the softmax of a rule's scores (linear pool)."""

    rules: list[Any]
    weights: Array

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of classes and of columns."""
        sizes: tuple[int, int] = self.rules[0].sizes
        return sizes

    def _check_parts(self) -> None:
        check_shapes(self, weights="m")
        plain = (LinearRule, DiagonalRule, QuadraticRule, ExpandedRule)
        require(isinstance(self.rules, list) and all(type(rule) in plain for rule in self.rules), self, "rules")
        require(len(self.rules) == len(self.weights) and bool((self.weights >= 0).all()), self, "weights")
        require(0 < float(self.weights.sum()) < np.inf, self, "weights")
        require(len({rule.sizes for rule in self.rules}) == 1, self, "sizes of its rules")

    def spread_over(self, present: Array) -> PoolRule:
        return replace(self, rules=[rule.spread_over(present) for rule in self.rules])

    def scores(self, block: Any) -> Array:
        used = np.flatnonzero(self.weights)
        logs = np.stack([log_softmax(self.rules[m].scores(block)) for m in used])
        top = logs.max(axis=0)
        top[np.isneginf(top)] = 0.0  # a class that no member thinks possible
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.tensordot(self.weights[used], np.exp(logs - top), axes=1)) + top)


@dataclass(frozen=True)
class Scorer:
    """A rule and the classes that it scores: what a fitted classifier predicts with."""

    rule: Rule
    classes: Array
    n_jobs: int | None = None

    def scores(self, rows: Rows) -> Array:
        """The score of each class for each row."""
        return self._answers(rows, np.empty((rows.n_rows, len(self.classes))), _keep_scores)

    def labels(self, rows: Rows) -> Array:
        """The class of the highest score of each row, the first of several."""
        return self.classes[self._answers(rows, np.empty(rows.n_rows, dtype=np.int32), _keep_labels)]

    def posterior(self, rows: Rows, log: bool = False) -> Array:
        """The probabilities whose logarithms the scores are, up to a constant for each row; or these logarithms."""
        out = np.empty((rows.n_rows, len(self.classes)))
        return self._answers(rows, out, _keep_log_posterior if log else _keep_posterior)

    def _answers(self, rows: Rows, out: Array, keep: Keep) -> Array:
        """What ``keep`` makes of the scores of every block, in ``out``."""
        unsound = []

        def write(block: Any, where: slice) -> None:
            if not keep(self.rule.scores(block), out[where]):
                unsound.append(where.start)

        if isinstance(rows, Source):
            answering = _Answering(rows.blocks, self.rule, keep, out[:0])
            for found in rows.executor.in_order(answering, rows.spans, self.n_jobs):
                for where, answers, sound in found:
                    out[where] = answers
                    unsound += [] if sound else [where.start]
        else:
            map_rows(rows, write, self.n_jobs)
        if unsound:
            rows.refuse_nonfinite()
            raise InputError(
                f"X has values too large to score near row {min(unsound)}: they overflow when multiplied. "
                "Use the units the model was fitted with."
            )
        return out


#: From scores to answers, written where they belong; says whether each row has a finite best score.
Keep = Callable[[Array, Array], bool]


def _keep_scores(scores: Array, out: Array) -> bool:
    out[...] = scores
    return bool(np.isfinite(scores.max(axis=1)).all())


def _keep_labels(scores: Array, out: Array) -> bool:
    return bool(kernels.best_classes(scores, out))


def _keep_posterior(scores: Array, out: Array) -> bool:
    return bool(kernels.softmax(scores, out))


def _keep_log_posterior(scores: Array, out: Array) -> bool:
    return bool(kernels.log_softmax(scores, out))


@dataclass(frozen=True)
class _Answering:
    """From a span of rows that are read where they lie to the answers; ``like`` has their type and width."""

    blocks: Callable[[Any], Any]
    rule: Rule
    keep: Keep
    like: Array

    def __call__(self, span: Any) -> list[tuple[slice, Array, bool]]:
        found = []
        with quiet_numbers():
            for block, where in self.blocks(span):
                out = np.empty((where.stop - where.start, *self.like.shape[1:]), self.like.dtype)
                found.append((where, out, bool(self.keep(self.rule.scores(block), out))))
        return found


def log_softmax(scores: Array) -> Array:
    """The logarithms of the probabilities whose logarithms the scores are, up to a constant for each row."""
    by_class = np.array(scores.T, order="C")  # few classes, one after the other, take half the time of short rows
    top = by_class.max(axis=0)
    by_class -= np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows that are no numbers show in the result
        by_class -= np.log(np.exp(by_class).sum(axis=0))
    return by_class.T


def _columns(numbers: Any, chosen: Array) -> Any:
    if len(chosen) == numbers.shape[1]:
        return numbers
    part = numbers[:, chosen]
    return part if is_sparse(part) else np.ascontiguousarray(part)


def _spread(present: Array, values: Array, fill: float) -> Array:
    """The values of the present classes in their places, ``fill`` in the others'."""
    out = np.full((len(present), *values.shape[1:]), fill)
    out[present] = values
    return out
