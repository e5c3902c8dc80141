"""The perceptron in its primal and its dual form (Rosenblatt 1958), and the bound on its updates (Novikoff 1962).

Both forms visit the same rows in the same order. The primal form stores the weights ``w``, the dual form the number
``alpha`` of updates of each row, ``w = eta sum alpha_i y_i x_i``. Training uses steps of length 1, and the result is
multiplied by ``eta``: training starts at 0, so nothing else depends on it, and whole numbers stay exact. A score that
is 0 except for rounding is a tie (see `kernels.perceptron`). The bound comes from the maximum margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, NumericMatrix
from ..data import DenseRows, Rows, SparseRows, check_shapes, dense_rows
from ..errors import InputError
from ..kernels import csr_parts
from ..kernels import perceptron as kernels
from ..results import Result
from .hard_margin import maximum_margin
from .problem import squared_lengths

Kernel = Callable[..., int]

# More updates than any pass makes.
UNLIMITED: Final = 1 << 62


@dataclass(frozen=True)
class PerceptronSettings:
    """Parameters of training."""

    nonpositive: bool
    eta: float = 1.0
    fit_intercept: bool = True
    max_iter: int = 1000
    shuffle: bool = False
    average: bool = False
    trace: bool = False
    seed: int = 0


@dataclass(frozen=True)
class BinaryTask:
    """A binary problem: the indices of its rows, and the side (+1 or -1) of each."""

    chosen: Array
    sides: Array
    number: int = 0


@dataclass(frozen=True)
class PerceptronState:
    """The state of training, which can continue with other rows."""

    weights: Array  #: (p + 1,), the intercept last, in units of ``eta``
    lag: Array  #: visits times the difference between the weights and their mean, in the same units
    visits: int = 0
    updates: int = 0
    epochs: int = 0
    eta: float = 1.0
    path_length: float = 0.0  #: the sum of the lengths of the rows of all updates, in the same units

    def _check_parts(self) -> None:
        check_shapes(self, weights="q", lag="q")

    def in_steps_of(self, eta: float) -> PerceptronState:
        """The same state in units of another step length."""
        factor = self.eta / eta
        path_length = self.path_length * factor
        return replace(self, weights=self.weights * factor, lag=self.lag * factor, eta=eta, path_length=path_length)

    def result(self, average: bool) -> Array:
        """The final weights, or the average of the weights after each visit, times ``eta``."""
        lag = self.lag / max(self.visits, 1) if average else 0.0
        return self.eta * (self.weights - lag)


@dataclass(frozen=True)
class PerceptronUpdate:
    """One update: its epoch (from 1) and row, the weights after it, and the number of updates so far."""

    epoch: int
    row: int
    coef: Array
    intercept: float
    updates: int


@dataclass(frozen=True)
class PerceptronRun:
    """The result of training: ``weights`` classify, ``reached`` is the last state."""

    weights: Array
    reached: PerceptronState
    mistakes: int
    converged: bool
    alpha: Array | None
    cycle: tuple[int, int] | None  #: two epochs with the same weights at their ends
    trace: list[PerceptronUpdate]


class RowBlocks:
    """Rows in the forms that kernels take: without a copy if possible, else block by block."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._whole = _in_place(rows)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Start and stop of each block."""
        return list(self.rows.edges(range(0, self.rows.n_rows, self.rows.block_rows)))

    def blocks(self, numbers: Array) -> Iterator[tuple[Any, Array, slice]]:
        """Yields a block, the places of rows in it, and the slice of ``numbers`` they are; together all in order."""
        if self._whole is not None:
            yield self._whole, numbers, slice(0, len(numbers))
            return
        for start in range(0, len(numbers), self.rows.block_rows):
            where = slice(start, min(start + self.rows.block_rows, len(numbers)))
            yield self.rows.take(numbers[where]), np.arange(where.stop - start), where

    def refuse_row(self, row: int) -> None:
        """Raise an `InputError` for a row whose score is not finite."""
        self.rows.refuse_nonfinite()
        self.refuse_column(int(np.argmax(np.abs(dense_rows(self.rows.block(row, row + 1))))))

    def refuse_column(self, j: int) -> None:
        """Raise an `InputError` for a column whose finite values are too large."""
        raise InputError(
            f"Values of {self.rows.column_label(j)} are too large: their sums or products overflow. Rescale the column."
        )


def _in_place(rows: Rows) -> Any:
    """The whole table in the form that kernels take, unless that needs a copy of more than one block."""
    if isinstance(rows, SparseRows):
        return csr_parts(rows.values)
    if rows.n_rows <= rows.block_rows:
        return rows.block(0, rows.n_rows)
    if isinstance(rows, DenseRows) and rows.values.flags.c_contiguous and rows.values.dtype == rows.dtype:
        return rows.values
    return None


class PrimalPerceptron:
    """A perceptron that stores its weights.

    ``parameters`` are the weights, in the dual form the numbers of updates. ``state`` determines the scores: an epoch
    that ends in an earlier state begins a cycle. ``mutable_arrays`` are the arrays that the kernel changes in place.
    """

    def __init__(
        self, table: RowBlocks, task: BinaryTask, settings: PerceptronSettings, start: PerceptronState | None = None
    ) -> None:
        self.table, self.task, self.settings, self.trace = table, task, settings, list[PerceptronUpdate]()
        size = table.rows.n_columns + 1
        start = PerceptronState(np.zeros(size), np.zeros(size)) if start is None else start.in_steps_of(settings.eta)
        self.counts = np.array([start.visits, start.updates], dtype=np.int64)
        self.parameters = self.state = start.weights.copy()
        self.lag = start.lag.copy() if settings.average else np.empty(0)
        self.path_length = np.array([start.path_length])
        self.mutable_arrays: tuple[Array, ...] = self.state, self.lag, self.counts, self.path_length
        constant = float(settings.fit_intercept)
        self.rule = constant, settings.nonpositive

    def blocks(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        """Yields the kernels that train on some rows and count mistakes among them, and these rows."""
        for block, places, where in self.table.blocks(numbers):
            yield partial(kernels.walk, block), partial(kernels.mistakes, block), places, where

    def weights(self, parameters: Array) -> Array:
        """The weights of some parameters."""
        return parameters.copy()

    def state_of(self, parameters: Array) -> Array:
        """The state of some parameters."""
        return parameters

    def reached(self, epochs: int) -> PerceptronState:
        """The present state."""
        lag = self.weights(self.lag) if self.lag.size else np.zeros(self.table.rows.n_columns + 1)
        visits, updates = (int(count) for count in self.counts)
        weights, eta = self.weights(self.parameters), self.settings.eta
        return PerceptronState(weights, lag, visits, updates, epochs, eta, float(self.path_length[0]))

    def pass_over(self, epoch: int) -> int:
        """Visit every row once; the number of updates, which are added to ``trace`` if they are traced."""
        settings, chosen, sides = self.settings, self.task.chosen, self.task.sides
        if settings.shuffle:  # an order that depends on seed, task and epoch alone
            order = np.random.default_rng([settings.seed, self.task.number, epoch]).permutation(len(sides))
            chosen, sides = chosen[order], sides[order]
        before, most = int(self.counts[1]), 1 if settings.trace else UNLIMITED
        for walk, _, places, where in self.blocks(chosen):
            numbers, place = chosen[where], 0
            while place < len(numbers):
                updates = int(self.counts[1])
                place = walk(places, sides[where], self.rule, self.mutable_arrays, place, most)
                if place < 0:
                    self.table.refuse_row(int(numbers[-1 - place]))
                if settings.trace and self.counts[1] > updates:
                    weights, row = settings.eta * self.weights(self.parameters), int(numbers[place - 1])
                    self.trace.append(PerceptronUpdate(epoch, row, weights[:-1], float(weights[-1]), updates + 1))
        return int(self.counts[1]) - before

    def mistakes(self, state: Array) -> int:
        """The number of misclassified rows in this state."""
        total = 0
        for _, count, places, where in self.blocks(self.task.chosen):
            found = count(places, self.task.sides[where], self.rule, state, self.path_length)
            if found < 0:
                self.table.refuse_row(int(self.task.chosen[where][-1 - found]))
            total += found
        return total


class DualPerceptron(PrimalPerceptron):
    """A perceptron that stores the number of updates of each row, and needs only their inner products."""

    def __init__(self, table: RowBlocks, task: BinaryTask, settings: PerceptronSettings, gram: Array) -> None:
        super().__init__(table, task, settings)
        self.gram = gram
        self.parameters, self.state = np.zeros(len(gram), dtype=np.int64), np.zeros(len(gram))
        self.lag = np.zeros(len(gram) if settings.average else 0)
        self.mutable_arrays = self.parameters, self.state, self.lag, self.counts, self.path_length
        self._sides = np.zeros(len(gram))
        self._sides[task.chosen] = task.sides

    def blocks(self, numbers: Array) -> Iterator[tuple[Kernel, Kernel, Array, slice]]:
        walk, count = partial(kernels.gram_walk, self.gram), partial(kernels.gram_mistakes, self.gram)
        yield walk, count, numbers, slice(0, len(numbers))

    def weights(self, parameters: Array) -> Array:
        total, signed = np.zeros(self.table.rows.n_columns + 1), parameters * self._sides
        for start, stop in self.table.edges:
            total[:-1] += np.asarray(self.table.rows.block(start, stop).T @ signed[start:stop])
        total[-1] = signed.sum() * self.settings.fit_intercept
        return total

    def state_of(self, parameters: Array) -> Array:
        return self.gram @ (parameters * self._sides)


def gram_matrix(table: RowBlocks, fit_intercept: bool) -> Array:
    """The inner products of all pairs of rows, with a 1 appended to each for the intercept."""
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
    """Pass over the rows until a pass makes no mistake, a cycle begins, or the iterations are used up.

    Without a pass free of mistakes, the result is the weights with the fewest mistakes on all rows at the end of a
    pass, the earliest of several (the pocket algorithm, Gallant 1990). With ``average`` it is the mean of the weights
    after each visit (Freund & Schapire 1999). Cycles are found by storing one state at a time (Brent 1980).
    """
    settings, pocket, fewest = form.settings, form.parameters, UNLIMITED
    since, remembered, cycle = 1, np.empty(0), None
    for epoch in range(1, settings.max_iter + 1):
        converged = form.pass_over(epoch) == 0
        if converged:
            pocket, fewest = form.parameters, 0
            break
        if settings.average:
            continue
        mistakes = form.mistakes(form.state)
        if mistakes < fewest:
            pocket, fewest = form.parameters.copy(), mistakes
        if not settings.shuffle and np.array_equal(form.state, remembered):
            cycle = (since, epoch)
            break
        if epoch >= 2 * since or epoch == 1:
            since, remembered = epoch, form.state.copy()
    if settings.average:
        pocket = form.parameters - form.lag / max(int(form.counts[0]), 1)
        fewest = form.mistakes(form.state_of(pocket))
    alpha = (form.parameters if settings.average else pocket) if isinstance(form, DualPerceptron) else None
    separated = converged or (fewest == 0 and not settings.average)
    weights = settings.eta * form.weights(pocket)
    return PerceptronRun(weights, form.reached(epoch), fewest, separated, alpha, cycle, form.trace)


@dataclass(frozen=True, eq=False, repr=False)
class PerceptronCertificate(Result):
    """The quantities of the perceptron convergence theorem.

    Every update moves the weights ``(w, b)`` by at least ``gamma`` along the direction of the maximum margin, and adds
    at most ``R^2`` to their squared length. After t updates their length is between ``t gamma`` and ``sqrt(t) R`` (in
    units of ``eta``), so ``t <= R^2 / gamma^2``, and their cosine with that direction is at least
    ``sqrt(t) gamma / R``.

    Attributes
    ----------
    R : float
        Largest length of a row ``(x, 1)``; of ``x`` without an intercept.
    gamma : float
        Half of the maximum margin: the maximum over unit vectors ``(w, b)`` of the smallest ``y (w'x + b)``.
    updates : int
        Number of updates.
    alignment : float
        Cosine between the last weights and the direction of the maximum margin.
    bound : float
        Upper bound on the number of updates.
    least_alignment : float
        Lower bound on the cosine after this many updates.

    See Also
    --------
    Perceptron.certificate : Computes it.

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
        """Upper bound on the number of updates."""
        return (self.R / self.gamma) ** 2

    @property
    def least_alignment(self) -> float:
        """Lower bound on the cosine after this many updates."""
        return float(np.sqrt(self.updates)) * self.gamma / self.R

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "bound": self.bound, "least_alignment": self.least_alignment}

    def __str__(self) -> str:
        return (
            f"Updates: {self.updates} (bound R^2/gamma^2: {self.bound:.6g}, R: {self.R:.6g}, gamma: {self.gamma:.6g})\n"
            f"Cosine with the direction of the maximum margin: {self.alignment:.4f} (lower bound: "
            f"{self.least_alignment:.4f})"
        )


def certified(
    block: NumericMatrix, sides: Array, weights: Array, updates: int, fit_intercept: bool
) -> PerceptronCertificate:
    """The certificate of weights (p + 1 numbers, the intercept last) after this many updates from 0.

    Raises `NotSeparableError` if there is no margin.
    """
    ones = np.ones((block.shape[0], int(fit_intercept)))
    rows: Any = sp.csr_array(sp.hstack((block, ones))) if sp.issparse(block) else np.hstack((block, ones))
    widest = maximum_margin(rows, sides, fit_intercept=False)
    lengths = float(np.linalg.norm(weights) * np.linalg.norm(widest.coef))
    alignment = float(weights[: rows.shape[1]] @ widest.coef) / lengths if lengths else 0.0
    return PerceptronCertificate(float(np.sqrt(squared_lengths(rows).max())), widest.margin / 2, updates, alignment)
