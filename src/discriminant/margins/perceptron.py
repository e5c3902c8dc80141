"""The perceptron in its primal and its dual form (Rosenblatt 1958), and the bound on its updates (Novikoff 1962).

Both forms go through the same rows in the same order and differ in what they keep: the weights ``w``, or for every row
the number ``alpha`` of updates it caused, ``w = eta sum alpha_i y_i x_i``. Training goes in steps of length 1, and
weights are multiplied by ``eta`` when they are handed out: training starts at 0, so nothing else depends on it, and
whole numbers stay exact. The bound comes from the widest margin between the two classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Rows
from ..data.rows import DenseRows, SparseRows, dense_rows
from ..errors import InputError
from ..kernels import perceptron as kernels
from .hard_margin import maximum_margin

Array = np.ndarray[Any, Any]
Kernel = Callable[..., int]

#: More updates than any walk makes.
_ALL = 1 << 62


@dataclass(frozen=True)
class PerceptronSettings:
    """How to walk, and when to stop."""

    nonpositive: bool
    eta: float = 1.0
    fit_intercept: bool = True
    max_epochs: int = 1000
    shuffle: bool = False
    average: bool = False
    trace: bool = False
    seed: int = 0

    def in_turn(self, problem: TwoSides, epoch: int) -> TwoSides:
        """The problem's rows in the order an epoch visits them: a matter of seed, problem and epoch alone."""
        if not self.shuffle:
            return problem
        order = np.random.default_rng([self.seed, problem.number, epoch]).permutation(len(problem.sides))
        return TwoSides(problem.chosen[order], problem.sides[order], problem.number)


@dataclass(frozen=True)
class TwoSides:
    """Two sides to be told apart: the numbers of the rows that take part, and the side (+1 or -1) of each."""

    chosen: Array
    sides: Array
    number: int = 0


@dataclass(frozen=True)
class PerceptronState:
    """Where a perceptron stands: from here it can go on with other rows."""

    weights: Array  #: (p + 1,), the intercept last, in steps of ``eta``
    lag: Array  #: what the mean of all weights so far lags behind, times the visits, in the same steps
    visits: int = 0
    updates: int = 0
    epochs: int = 0
    eta: float = 1.0

    def in_steps_of(self, eta: float) -> PerceptronState:
        """The same place, to go on from in steps of another length."""
        factor = self.eta / eta
        return replace(self, weights=self.weights * factor, lag=self.lag * factor, eta=eta)

    def read(self, average: bool) -> Array:
        """The weights, or the mean of the weights after every visit."""
        lag = self.lag / max(self.visits, 1) if average else 0.0
        return self.eta * (self.weights - lag)


@dataclass(frozen=True)
class PerceptronUpdate:
    """One update: the epoch (from 1) and the row that caused it, the weights after it, and the updates so far."""

    epoch: int
    row: int
    coef: Array
    intercept: float
    updates: int


@dataclass(frozen=True)
class PerceptronRun:
    """What training came to: ``weights`` are those to classify with, ``walk`` is where it stopped."""

    weights: Array
    walk: PerceptronState
    mistakes: int
    converged: bool
    alpha: Array | None
    circle: tuple[int, int] | None  #: two epochs that ended with the same weights
    steps: list[PerceptronUpdate]


class RowBlocks:
    """Rows in the forms that kernels read: in place where that is possible, else block by block."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._whole = _in_place(rows)

    def pieces(self, numbers: Array) -> Iterator[tuple[Any, Array, slice]]:
        """A block, the places of rows in it, and which of ``numbers`` they are; together all of them in order."""
        if self._whole is not None:
            yield self._whole, numbers, slice(0, len(numbers))
            return
        for start in range(0, len(numbers), self.rows.block_rows):
            where = slice(start, min(start + self.rows.block_rows, len(numbers)))
            yield self._block(numbers[where]), np.arange(where.stop - start), where

    def _block(self, numbers: Array) -> Any:
        first, last = int(numbers[0]), int(numbers[-1])
        consecutive = last - first == len(numbers) - 1 and bool((np.diff(numbers) == 1).all())
        return self.rows.block(first, last + 1) if consecutive else self.rows.take(numbers)

    def refuse_row(self, row: int) -> None:
        """Raise an `InputError` for a row whose score is not finite."""
        self.rows.refuse_nonfinite()
        self.refuse_column(int(np.argmax(np.abs(dense_rows(self.rows.block(row, row + 1))))))

    def refuse_column(self, j: int) -> None:
        """Raise an `InputError` for a column whose finite values are too large."""
        raise InputError(
            f"Values of {self.rows.column_label(j)} are too large: their sums or products overflow. Use larger units "
            "(divide it)."
        )


def _in_place(rows: Rows) -> Any:
    """The whole table as a kernel reads it, unless that takes a copy of more than one block."""
    if isinstance(rows, SparseRows):
        return rows.values
    if rows.n_rows <= rows.block_rows:
        return rows.block(0, rows.n_rows)
    if isinstance(rows, DenseRows) and rows.values.flags.c_contiguous and rows.values.dtype == rows.dtype:
        return rows.values
    return None


class PerceptronForm(ABC):
    """What a perceptron keeps while it walks.

    ``kept`` is what it learns; ``state`` is what its scores come from, so that an epoch that ends in a state of before
    begins a circle.
    """

    kept: Array
    state: Array
    lag: Array

    def __init__(self, table: RowBlocks, problem: TwoSides, settings: PerceptronSettings, clock: Array) -> None:
        self.table, self.problem, self.settings, self.clock = table, problem, settings, clock

    @abstractmethod
    def pieces(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        """Kernels that walk through some rows and count mistakes among them, and which rows these are."""

    @abstractmethod
    def weights(self, kept: Array) -> Array:
        """The weights that belong to what was learned."""

    @abstractmethod
    def state_of(self, kept: Array) -> Array:
        """What scores come from, for something learned that is not the latest."""

    @property
    def average(self) -> Array:
        """The mean of what was learned over all visits."""
        return self.kept - self.lag / max(int(self.clock[0]), 1)

    def walk(self, epochs: int) -> PerceptronState:
        """Where it stands."""
        lag = self.weights(self.lag) if self.lag.size else np.zeros(self.table.rows.n_columns + 1)
        visits, updates = (int(count) for count in self.clock)
        return PerceptronState(self.weights(self.kept), lag, visits, updates, epochs, self.settings.eta)

    def pass_over(self, epoch: int, note: Callable[[int], None] | None = None) -> int:
        """Visit every row once; the number of updates. ``note`` is called with the row after each of them."""
        before = int(self.clock[1])
        turn = self.settings.in_turn(self.problem, epoch)
        for walk, _, places, where in self.pieces(turn.chosen):
            self._walk(partial(walk, places, turn.sides[where]), turn.chosen[where], note)
        return int(self.clock[1]) - before

    def _walk(self, kernel: Kernel, numbers: Array, note: Callable[[int], None] | None) -> None:
        place, most = 0, _ALL if note is None else 1
        while place < len(numbers):
            updates = self.clock[1]
            place = kernel(place, most, self.settings.nonpositive, self.state, self.lag, self.clock)
            if place < 0:
                self.table.refuse_row(int(numbers[-1 - place]))
            if note is not None and self.clock[1] > updates:
                note(int(numbers[place - 1]))

    def mistakes(self, state: Array) -> int:
        """How many rows are on the wrong side of the weights in this state."""
        total = 0
        for _, count, places, where in self.pieces(self.problem.chosen):
            found = count(places, self.problem.sides[where], self.settings.nonpositive, state)
            if found < 0:
                self.table.refuse_row(int(self.problem.chosen[where][-1 - found]))
            total += found
        return total


class PrimalPerceptron(PerceptronForm):
    """The weights themselves."""

    def __init__(
        self, table: RowBlocks, problem: TwoSides, settings: PerceptronSettings, start: PerceptronState | None = None
    ) -> None:
        size = table.rows.n_columns + 1
        start = PerceptronState(np.zeros(size), np.zeros(size)) if start is None else start.in_steps_of(settings.eta)
        super().__init__(table, problem, settings, np.array([start.visits, start.updates], dtype=np.int64))
        self.kept = self.state = start.weights.copy()
        self.lag = start.lag.copy() if settings.average else np.empty(0)

    def pieces(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        constant = float(self.settings.fit_intercept)
        for block, places, where in self.table.pieces(numbers):
            if sp.issparse(block):
                parts = (block.data, block.indices, block.indptr)
                walk, count = partial(kernels.csr_walk, *parts, constant), partial(kernels.csr_mistakes, *parts)
            else:
                walk, count = partial(kernels.dense_walk, block, constant), partial(kernels.dense_mistakes, block)
            yield walk, count, places, where

    def weights(self, kept: Array) -> Array:
        return kept.copy()

    def state_of(self, kept: Array) -> Array:
        return kept


class DualPerceptron(PerceptronForm):
    """How often each row caused an update; rows are seen through the products of every two of them only."""

    def __init__(self, table: RowBlocks, problem: TwoSides, settings: PerceptronSettings, gram: Array) -> None:
        super().__init__(table, problem, settings, np.zeros(2, dtype=np.int64))
        self.gram = gram
        self.kept, self.state = np.zeros(len(gram), dtype=np.int64), np.zeros(len(gram))
        self.lag = np.zeros(len(gram) if settings.average else 0)
        self._sides = np.zeros(len(gram))
        self._sides[problem.chosen] = problem.sides

    def pieces(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        yield partial(kernels.gram_walk, self.gram, self.kept), kernels.score_mistakes, numbers, slice(0, len(numbers))

    def weights(self, kept: Array) -> Array:
        total, pulls = np.zeros(self.table.rows.n_columns + 1), kept * self._sides
        for start, stop in _edges(self.table.rows):
            total[:-1] += np.asarray(self.table.rows.block(start, stop).T @ pulls[start:stop])
        total[-1] = pulls.sum() * self.settings.fit_intercept
        return total

    def state_of(self, kept: Array) -> Array:
        return self.gram @ (kept * self._sides)


def gram_matrix(table: RowBlocks, fit_intercept: bool) -> Array:
    """The products of every two rows, with a 1 appended to each for the intercept."""
    rows = table.rows
    gram = np.empty((rows.n_rows, rows.n_rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for start, stop in _edges(rows):
            left = rows.block(start, stop).astype(np.float64)
            for first, last in _edges(rows):
                gram[start:stop, first:last] = dense_rows(left @ rows.block(first, last).astype(np.float64).T)
    gram += float(fit_intercept)
    finite = np.isfinite(gram.diagonal())
    if not finite.all():
        table.refuse_row(int(np.argmin(finite)))
    return gram


def _edges(rows: Rows) -> Iterator[tuple[int, int]]:
    return pairwise([*range(0, rows.n_rows, rows.block_rows), rows.n_rows])


def train(form: PerceptronForm) -> PerceptronRun:
    """Pass over the rows until a pass makes no mistake, runs in a circle, or is the last allowed.

    Without a pass free of mistakes, the weights that stand are the best of those at the end of each pass: those with
    the fewest mistakes counted over all rows, the earliest of several. With ``average`` it is always the mean of
    the weights after every visit.
    """
    settings, steps = form.settings, list[PerceptronUpdate]()
    pocket, circle = Pocket(), CycleDetector()
    converged = False
    for epoch in range(1, settings.max_epochs + 1):
        note = partial(_note, form, epoch, steps) if settings.trace else None
        converged = form.pass_over(epoch, note) == 0
        if converged:
            break
        if not settings.average:
            pocket.offer(form)
            if not settings.shuffle and circle.closed_by(form.state, epoch):
                break
    if settings.average:
        kept, mistakes = form.average, form.mistakes(form.state_of(form.average))
    elif converged:
        kept, mistakes = form.kept, 0
    else:
        kept, mistakes = pocket.kept, pocket.mistakes
    alpha = (form.kept if settings.average else kept) if isinstance(form, DualPerceptron) else None
    separated = converged or (mistakes == 0 and not settings.average)
    weights = settings.eta * form.weights(kept)
    return PerceptronRun(weights, form.walk(epoch), mistakes, separated, alpha, circle.epochs, steps)


def one_pass(form: PrimalPerceptron, epoch: int) -> tuple[PerceptronState, list[PerceptronUpdate]]:
    """Where the walk stands after one more pass, and its updates if they were to be traced."""
    steps: list[PerceptronUpdate] = []
    form.pass_over(epoch, partial(_note, form, epoch, steps) if form.settings.trace else None)
    return form.walk(epoch), steps


def _note(form: PerceptronForm, epoch: int, steps: list[PerceptronUpdate], row: int) -> None:
    weights = form.settings.eta * form.weights(form.kept)
    steps.append(PerceptronUpdate(epoch, row, weights[:-1], float(weights[-1]), int(form.clock[1])))


class Pocket:
    """The best offered so far, judged by its mistakes over all rows."""

    def __init__(self) -> None:
        self.kept = np.empty(0)
        self.mistakes = _ALL

    def offer(self, form: PerceptronForm) -> None:
        mistakes = form.mistakes(form.state)
        if mistakes < self.mistakes:
            self.kept, self.mistakes = form.kept.copy(), mistakes


class CycleDetector:
    """Finds a state that comes back, remembering one at a time (Brent 1980)."""

    def __init__(self) -> None:
        self.epochs: tuple[int, int] | None = None
        self._remembered: tuple[int, Array | None] = (1, None)

    def closed_by(self, state: Array, epoch: int) -> bool:
        since, before = self._remembered
        if before is not None and np.array_equal(state, before):
            self.epochs = (since, epoch)
        elif epoch >= 2 * since or before is None:
            self._remembered = (epoch, state.copy())
        return self.epochs is not None


@dataclass(frozen=True)
class PerceptronCertificate:
    """The proof that a perceptron stops, in numbers.

    Every update takes the weights ``(w, b)`` forward by at least ``gamma`` along the best direction, and lengthens
    their square by at most ``R^2``. After t updates they are at least ``t gamma`` and at most ``sqrt(t) R`` long (in
    steps of ``eta``), so ``t <= R^2 / gamma^2``, and their cosine with the best direction is at least
    ``sqrt(t) gamma / R``.

    Attributes
    ----------
    R : float
        Largest length of a row ``(x, 1)``; of ``x`` without an intercept.
    gamma : float
        Widest margin: the largest, over unit vectors ``(w, b)``, of the least ``y (w'x + b)``.
    updates : int
        Updates made.
    alignment : float
        Cosine between the last weights and the direction of the widest margin.
    """

    R: float
    gamma: float
    updates: int
    alignment: float

    @property
    def bound(self) -> float:
        """The most updates that training can make."""
        return (self.R / self.gamma) ** 2

    @property
    def least_alignment(self) -> float:
        """The smallest cosine that this many updates allow."""
        return float(np.sqrt(self.updates)) * self.gamma / self.R

    def __str__(self) -> str:
        return (
            f"{self.updates} updates made, at most R^2/gamma^2 = {self.bound:.6g} (R = {self.R:.6g}, gamma = "
            f"{self.gamma:.6g})\ncosine with the direction of the widest margin {self.alignment:.4f}, at least "
            f"{self.least_alignment:.4f}"
        )


def certified(block: Any, sides: Array, weights: Array, updates: int, fit_intercept: bool) -> PerceptronCertificate:
    """The certificate of weights (p + 1 numbers, the intercept last) that came from 0 by this many updates.

    Raises `NotSeparableError` where there is no margin.
    """
    rows = _augmented(block) if fit_intercept else block.astype(np.float64)
    widest = maximum_margin(rows, sides, fit_intercept=False)
    squares = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    alignment = _cosine(weights[: rows.shape[1]], widest.coef)
    return PerceptronCertificate(float(np.sqrt(np.max(squares))), widest.margin, updates, alignment)


def _augmented(block: Any) -> Any:
    """The rows as float64, with a 1 appended to each for the intercept."""
    ones = np.ones((block.shape[0], 1))
    if sp.issparse(block):
        return sp.csr_array(sp.hstack((block.astype(np.float64), ones)))
    return np.hstack((block, ones))


def _cosine(first: Array, second: Array) -> float:
    """The cosine of the angle between two vectors; 0 if one has no direction."""
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0
