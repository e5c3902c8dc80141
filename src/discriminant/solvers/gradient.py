"""First-order solvers in standardised columns: gradient steps on all rows, and on mini-batches.

`minimise_gradient` takes steps whose length follows from the curvature along the last one (Barzilai & Borwein 1988). An
iteration costs a pass.

`minimise_sgd` corrects the gradient of each mini-batch by the one at the start of the epoch, where the gradient of all
rows is known (SVRG, Johnson & Zhang 2013), and so converges with a constant step length. An epoch costs three passes.
Early stopping uses held-out rows. `Stream` takes stochastic gradient steps over rows that arrive in chunks, and
`minimise_streamed` over those of a dataset, in one pass.

`solvers.textbook` has textbook gradient descent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, as_rows, require
from ..objective import NO_PENALTY, Objective, PassCounter
from .descent import Descent
from .preconditioners import moment_preconditioner
from .solution import Solution

#: What `numpy.random.default_rng` takes.
Seed = int | list[int] | np.random.Generator | np.random.RandomState | None

# Rows of a mini-batch of `minimise_sgd`: smaller ones are slow in Python, larger ones waste gradients.
BATCH_ROWS: Final = 64
# The length of its steps in units of the preconditioner: longer ones may diverge.
STEP_LENGTH: Final = 0.5
# The share of the rows held out for early stopping, and the epochs without a smaller held-out loss that end it.
HELD_OUT_SHARE: Final = 0.1
MAX_EPOCHS_WITHOUT_GAIN: Final = 5
# The reason for stopping of `minimise_streamed`.
ONE_PASS: Final = "one pass"


def minimise_gradient(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective along its gradients, with steps of Barzilai and Borwein's length."""
    run, length = Descent(objective, theta, tol, max_iter, trace, "gradient"), 1.0
    precondition = moment_preconditioner(objective, theta)
    while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
        moved = run.step_along(length * run.gradient)
        if moved is None:
            break
        step, curvature = moved[0], float(np.vdot(*moved))
        length = float(np.vdot(step, step)) / curvature if curvature > 0 else 2 * length
    return run.solution()


@dataclass(frozen=True)
class Epochs:
    """The random order of the rows, and the objective of held-out rows for early stopping."""

    rng: Seed = None
    held_out: Objective | None = None


def minimise_sgd(
    objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False, epochs: Epochs = Epochs()
) -> Solution:
    """Minimise by gradients of mini-batches, corrected by that of all rows; an iteration is an epoch."""
    rng, held_out = np.random.default_rng(epochs.rng), epochs.held_out
    run = Descent(objective, theta, tol, max_iter, trace, "sgd")
    best, least, n_waited = run.solution(), np.inf, 0
    precondition = moment_preconditioner(objective, theta)
    while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
        if held_out is not None:
            score = held_out.value_and_gradient(run.theta)[0]
            n_waited = 0 if score < least else n_waited + 1
            if score < least:
                best, least = run.solution(), score
            if n_waited >= MAX_EPOCHS_WITHOUT_GAIN:
                return replace(best, reason="early stopping", iterations=run.iterations, passes=objective.counter.count)
        theta = run.theta
        for batch in batches(objective, BATCH_ROWS, rng):
            difference = objective.gradient_of(batch, theta) - objective.gradient_of(batch, run.theta)
            theta = theta - STEP_LENGTH * precondition(difference + run.gradient)
        run.move_to(theta)
    return run.solution()


def batches(objective: Objective, size: int, rng: np.random.Generator) -> Iterator[Block]:
    """Yields the rows in random order, ``size`` at a time."""
    data = objective.data.gather()
    order = rng.permutation(data.n_rows)
    for start in range(0, data.n_rows, size):
        chosen = np.sort(order[start : start + size])
        offset = None if data.offset is None else data.offset[chosen]
        yield Block(data.rows.take(chosen), data.codes[chosen], data.weight_of(chosen), offset=offset)


def split_rows(objective: Objective, share: float, rng: Seed) -> tuple[Objective, Objective]:
    """The objective of the training rows, and the loss of a ``share`` of the rows held out at random."""
    order = np.random.default_rng(rng).permutation(objective.data.n_rows)
    held = max(1, round(share * len(order)))
    chosen, standard = (np.sort(order[held:]), np.sort(order[:held])), objective.standardised
    train, held_out = (
        replace(objective, data=objective.data.gather().take(rows), standard=standard) for rows in chosen
    )
    return train, replace(held_out, penalty=NO_PENALTY)


@dataclass(frozen=True)
class Stream:
    """Averaged stochastic gradient descent over rows that arrive in chunks.

    Step lengths decrease as one over the square root of the number of steps; the average of the iterates is the
    estimate (Polyak & Juditsky 1992).
    """

    objective: Objective
    theta: Array
    average: Array
    steps: int = 0
    batch: int = 32
    rate: float = 0.5

    def _check_parts(self) -> None:
        for theta in (self.theta, self.average):
            require(isinstance(theta, np.ndarray) and theta.shape == self.objective.shape, self, "parameters")

    @classmethod
    def start(cls, objective: Objective) -> Stream:
        zero = np.zeros(objective.shape)
        return cls(replace(objective, standard=objective.standardised), zero, zero)

    def after(self, data: LabelledRows, rng: Seed) -> Stream:
        """The stream after the rows of one more chunk."""
        objective = replace(self.objective, data=data)
        theta, average, steps = self.theta, self.average, self.steps
        precondition = moment_preconditioner(objective, theta) if data.n_rows > 2 * data.rows.n_columns else lambda g: g
        for batch in batches(objective, self.batch, np.random.default_rng(rng)):
            steps += 1
            theta = theta - self.rate / np.sqrt(1 + steps / 10) * precondition(objective.gradient_of(batch, theta))
            average = average + (theta - average) * max(1 / steps, 1e-3)
        return replace(
            self, objective=replace(objective, data=data.take(np.arange(1))), theta=theta, average=average, steps=steps
        )


def minimise_streamed(objective: Objective, rng: Seed) -> Solution:
    """One pass of stochastic gradient steps over a dataset; the solution has the objective of a sample of its rows.

    Each partition takes steps from the same start, and the results are averaged (Zinkevich et al. 2010), so the result
    does not depend on which process reads which partition.
    """
    zero, seed = np.zeros(objective.shape), int(np.random.default_rng(rng).integers(1 << 32))
    data = objective.data
    empty = LabelledRows(as_rows(np.zeros((1, objective.n_columns))), data.classes, np.zeros(1, np.int32))
    start = Stream(replace(objective, data=empty, standard=objective.standardised, counter=PassCounter()), zero, zero)
    found = data.reduce(_StreamStatistic(start, seed, empty), objective.n_jobs).stream
    objective.counter.add(1)
    sample = objective.sample(1)
    value, gradient = sample.value_and_gradient(found.average)
    suboptimality = (
        0.5 * float(np.vdot(gradient, moment_preconditioner(sample, found.average)(gradient))) / max(value, 1e-300)
    )
    return Solution(
        theta=found.average, objective=value, gradient_norm=float(np.abs(gradient).max()), suboptimality=suboptimality,
        passes=objective.counter.count, iterations=found.steps, converged=False, reason=ONE_PASS, solver="sgd",
    )  # fmt: skip


class _StreamStatistic:
    """The steps over the rows of a partition, as a statistic of them."""

    def __init__(self, stream: Stream, seed: int, empty: LabelledRows) -> None:
        self.stream, self.seed, self.empty, self.first = stream, seed, empty, stream

    def fresh(self) -> Self:
        return type(self)(self.first, self.seed, self.empty)

    def update(self, block: Block) -> None:
        rows = LabelledRows(as_rows(block.X), self.empty.classes, block.codes, block.weight, block.offset)
        after = self.stream.after(rows, [self.seed, block.start])
        self.stream = replace(after, objective=replace(after.objective, data=self.empty))  # keeps no row

    def merge(self, other: Self) -> None:
        mine, theirs = self.stream, other.stream
        share = theirs.steps / max(mine.steps + theirs.steps, 1)
        theta = mine.theta + share * (theirs.theta - mine.theta)
        average = mine.average + share * (theirs.average - mine.average)
        self.stream = replace(mine, theta=theta, average=average, steps=mine.steps + theirs.steps)
