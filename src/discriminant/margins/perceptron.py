"""The perceptron in its primal and its dual form (Rosenblatt 1958), and the bound on its updates (Novikoff 1962).

Both forms go through the same rows in the same order and differ in what they keep: the weights ``w``, or for every row
the number ``alpha`` of updates it caused, ``w = eta sum alpha_i y_i x_i``. Training goes in steps of length 1, and
weights are multiplied by ``eta`` when they are handed out: training starts at 0, so nothing else depends on it, and
whole numbers stay exact. A score that is 0 but for rounding is a tie (see `kernels.perceptron`). The bound comes from
the widest margin between the two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array
from ..data import DenseRows, Rows, SparseRows, check_shapes, consecutive_runs, dense_rows
from ..engine import in_order
from ..errors import InputError
from ..kernels import csr_parts, dual_coordinate
from ..kernels import perceptron as kernels
from ..results import Result
from .hard_margin import maximum_margin

Kernel = Callable[..., int]

#: More updates than any pass makes.
_ALL = 1 << 62
#: Mistakes are counted in so many parts at most, on threads: a count is a count in any order, a walk is not.
_MOST_PARTS = 16


@dataclass(frozen=True)
class PerceptronSettings:
    """How to train, and when to stop."""

    nonpositive: bool
    eta: float = 1.0
    fit_intercept: bool = True
    max_iter: int = 1000
    shuffle: bool = False
    average: bool = False
    trace: bool = False
    seed: int = 0
    n_jobs: int | None = None  #: threads that count mistakes


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
    reach: float = 0.0  #: the lengths of the rows that caused updates, added up, in the same steps

    def _check_parts(self) -> None:
        check_shapes(self, weights="q", lag="q")

    def in_steps_of(self, eta: float) -> PerceptronState:
        """The same place, to go on from in steps of another length."""
        factor = self.eta / eta
        return replace(self, weights=self.weights * factor, lag=self.lag * factor, eta=eta, reach=self.reach * factor)

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
    """What training came to: ``weights`` are those to classify with, ``reached`` is where it stopped."""

    weights: Array
    reached: PerceptronState
    mistakes: int
    converged: bool
    alpha: Array | None
    cycle: tuple[int, int] | None  #: two epochs that ended with the same weights
    trace: list[PerceptronUpdate]


class RowBlocks:
    """Rows in the forms that kernels read: in place where that is possible, else block by block."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._whole = _in_place(rows)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Start and stop of each block."""
        return list(self.rows.edges(range(0, self.rows.n_rows, self.rows.block_rows)))

    def pieces(self, numbers: Array) -> Iterator[tuple[Any, Array, slice]]:
        """A block, the places of rows in it, and which of ``numbers`` they are; together all of them in order."""
        if self._whole is not None:
            yield self._whole, numbers, slice(0, len(numbers))
            return
        for start in range(0, len(numbers), self.rows.block_rows):
            where = slice(start, min(start + self.rows.block_rows, len(numbers)))
            some = numbers[where]
            consecutive = some[-1] - some[0] == len(some) - 1 and bool((np.diff(some) == 1).all())
            block = self.rows.block(int(some[0]), int(some[-1]) + 1) if consecutive else self.rows.take(some)
            yield block, np.arange(len(some)), where

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


def _squared_lengths(block: Any) -> Array:
    """The squared length of each row."""
    if sp.issparse(block):
        squares = np.empty(block.shape[0])
        dual_coordinate.row_squares(csr_parts(block), squares)
        return squares
    return np.asarray(np.einsum("ij,ij->i", block, block, dtype=np.float64))


def _in_place(rows: Rows) -> Any:
    """The whole table as a kernel reads it, unless that takes a copy of more than one block."""
    if isinstance(rows, SparseRows):
        return csr_parts(rows.values)
    if rows.n_rows <= rows.block_rows:
        return rows.block(0, rows.n_rows)
    if isinstance(rows, DenseRows) and rows.values.flags.c_contiguous and rows.values.dtype == rows.dtype:
        return rows.values
    return None


class PrimalPerceptron:
    """A perceptron that walks through the rows and keeps its weights.

    ``kept`` is what it learns; ``state`` is what its scores come from, so that an epoch that ends in a state of before
    begins a cycle; ``learned`` is what a walk changes in place, as its kernel takes it.
    """

    def __init__(
        self, table: RowBlocks, task: TwoSides, settings: PerceptronSettings, start: PerceptronState | None = None
    ) -> None:
        self.table, self.task, self.settings, self.trace = table, task, settings, list[PerceptronUpdate]()
        size = table.rows.n_columns + 1
        start = PerceptronState(np.zeros(size), np.zeros(size)) if start is None else start.in_steps_of(settings.eta)
        self.clock = np.array([start.visits, start.updates], dtype=np.int64)
        self.kept = self.state = start.weights.copy()
        self.lag = start.lag.copy() if settings.average else np.empty(0)
        self.reach = np.array([start.reach])
        self.learned: tuple[Array, ...] = self.state, self.lag, self.clock, self.reach
        constant = float(settings.fit_intercept)
        self.rule = constant, settings.nonpositive

    def pieces(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        """Kernels that walk through some rows and count mistakes among them, and which rows these are."""
        for block, places, where in self.table.pieces(numbers):
            yield partial(kernels.walk, block), partial(kernels.mistakes, block), places, where

    def weights(self, kept: Array) -> Array:
        """The weights that belong to what was learned."""
        return kept.copy()

    def state_of(self, kept: Array) -> Array:
        """What scores come from, for something learned that is not the latest."""
        return kept

    def reached(self, epochs: int) -> PerceptronState:
        """Where it stands."""
        lag = self.weights(self.lag) if self.lag.size else np.zeros(self.table.rows.n_columns + 1)
        visits, updates = (int(count) for count in self.clock)
        weights, eta = self.weights(self.kept), self.settings.eta
        return PerceptronState(weights, lag, visits, updates, epochs, eta, float(self.reach[0]))

    def pass_over(self, epoch: int) -> int:
        """Visit every row once; the number of updates, which are added to ``trace`` if the settings ask for it."""
        settings, chosen, sides = self.settings, self.task.chosen, self.task.sides
        if settings.shuffle:  # an order that depends on seed, task and epoch alone
            order = np.random.default_rng([settings.seed, self.task.number, epoch]).permutation(len(sides))
            chosen, sides = chosen[order], sides[order]
        before, most = int(self.clock[1]), 1 if settings.trace else _ALL
        for walk, _, places, where in self.pieces(chosen):
            numbers, place = chosen[where], 0
            while place < len(numbers):
                updates = int(self.clock[1])
                place = walk(places, sides[where], self.rule, self.learned, place, most)
                if place < 0:
                    self.table.refuse_row(int(numbers[-1 - place]))
                if settings.trace and self.clock[1] > updates:
                    weights, row = settings.eta * self.weights(self.kept), int(numbers[place - 1])
                    self.trace.append(PerceptronUpdate(epoch, row, weights[:-1], float(weights[-1]), updates + 1))
        return int(self.clock[1]) - before

    def mistakes(self, state: Array) -> int:
        """How many rows are on the wrong side of the weights in this state."""
        total = 0
        for _, count, places, where in self.pieces(self.task.chosen):
            numbers, sides = self.task.chosen[where], self.task.sides[where]
            parts = consecutive_runs(range(0, len(numbers), self.table.rows.block_rows), _MOST_PARTS)

            def in_part(part: range, count: Kernel = count, places: Array = places, sides: Array = sides) -> int:
                some = slice(part.start, part.stop)
                return count(places[some], sides[some], self.rule, state, self.reach)

            counts = in_order(in_part, parts, self.settings.n_jobs) if len(parts) > 1 else map(in_part, parts)
            for part, found in zip(parts, counts, strict=True):
                if found < 0:
                    self.table.refuse_row(int(numbers[part.start - 1 - found]))
                total += found
        return total


class DualPerceptron(PrimalPerceptron):
    """The same, but it keeps how often each row caused an update.

    Rows are seen through the products of every two of them only.
    """

    def __init__(self, table: RowBlocks, task: TwoSides, settings: PerceptronSettings, gram: Array) -> None:
        super().__init__(table, task, settings)
        self.gram = gram
        self.kept, self.state = np.zeros(len(gram), dtype=np.int64), np.zeros(len(gram))
        self.lag = np.zeros(len(gram) if settings.average else 0)
        self.learned = self.kept, self.state, self.lag, self.clock, self.reach
        self._sides = np.zeros(len(gram))
        self._sides[task.chosen] = task.sides

    def pieces(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        walk, count = partial(kernels.gram_walk, self.gram), partial(kernels.gram_mistakes, self.gram)
        yield walk, count, numbers, slice(0, len(numbers))

    def weights(self, kept: Array) -> Array:
        total, pulls = np.zeros(self.table.rows.n_columns + 1), kept * self._sides
        for start, stop in self.table.edges:
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
        for start, stop in table.edges:
            left = rows.block(start, stop).astype(np.float64)
            for first, last in table.edges:
                gram[start:stop, first:last] = dense_rows(left @ rows.block(first, last).astype(np.float64).T)
    gram += float(fit_intercept)
    finite = np.isfinite(gram.diagonal())
    if not finite.all():
        table.refuse_row(int(np.argmin(finite)))
    return gram


def train(form: PrimalPerceptron) -> PerceptronRun:
    """Pass over the rows until a pass makes no mistake, runs in a cycle, or is the last allowed.

    Without a pass free of mistakes, the weights that stand are the best of those at the end of each pass: those with
    the fewest mistakes counted over all rows, the earliest of several (the pocket algorithm, Gallant 1990). With
    ``average`` it is always the mean of the weights after every visit (Freund & Schapire 1999). A state that comes back
    is found by remembering one at a time (Brent 1980).
    """
    settings, pocket, fewest = form.settings, form.kept, _ALL
    since, remembered, cycle = 1, np.empty(0), None
    for epoch in range(1, settings.max_iter + 1):
        converged = form.pass_over(epoch) == 0
        if converged:
            pocket, fewest = form.kept, 0
            break
        if settings.average:
            continue
        mistakes = form.mistakes(form.state)
        if mistakes < fewest:
            pocket, fewest = form.kept.copy(), mistakes
        if not settings.shuffle and np.array_equal(form.state, remembered):
            cycle = (since, epoch)
            break
        if epoch >= 2 * since or epoch == 1:
            since, remembered = epoch, form.state.copy()
    if settings.average:
        pocket = form.kept - form.lag / max(int(form.clock[0]), 1)
        fewest = form.mistakes(form.state_of(pocket))
    alpha = (form.kept if settings.average else pocket) if isinstance(form, DualPerceptron) else None
    separated = converged or (fewest == 0 and not settings.average)
    weights = settings.eta * form.weights(pocket)
    return PerceptronRun(weights, form.reached(epoch), fewest, separated, alpha, cycle, form.trace)


@dataclass(frozen=True, eq=False, repr=False)
class PerceptronCertificate(Result):
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
        Half of the widest margin: the largest, over unit vectors ``(w, b)``, of the least ``y (w'x + b)``.
    updates : int
        Updates made.
    alignment : float
        Cosine between the last weights and the direction of the widest margin.
    bound : float
        The most updates that training can make.
    least_alignment : float
        The smallest cosine that this many updates allow.

    See Also
    --------
    Perceptron.certificate : Makes it.

    References
    ----------
    .. [1] A. B. J. Novikoff (1962). On convergence proofs on perceptrons. Proceedings of the Symposium on the
       Mathematical Theory of Automata 12, 615-622.
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

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "bound": self.bound, "least_alignment": self.least_alignment}

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
    ones = np.ones((block.shape[0], int(fit_intercept)))
    rows: Any = sp.csr_array(sp.hstack((block, ones))) if sp.issparse(block) else np.hstack((block, ones))
    widest = maximum_margin(rows, sides, fit_intercept=False)
    lengths = float(np.linalg.norm(weights) * np.linalg.norm(widest.coef))
    alignment = float(weights[: rows.shape[1]] @ widest.coef) / lengths if lengths else 0.0
    return PerceptronCertificate(float(np.sqrt(_squared_lengths(rows).max())), widest.margin / 2, updates, alignment)
