"""First-order solvers in standardised columns: gradient steps on all rows, and on mini-batches.

`minimise_gradient` takes steps of the length that fits the curvature of the last one (Barzilai & Borwein 1988). An
iteration costs a pass.

`minimise_sgd` corrects the gradient of each mini-batch by the one it had at the start of the epoch, where that of all
rows is known (Johnson & Zhang 2013), and so converges with steps of constant length. An epoch costs three passes. It
can stop early, where rows held out are predicted no better. `Stream` takes such steps over rows that come in chunks,
and `streamed` over those of a dataset, in one pass.

`solvers.plain` has gradient descent as it is taught.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..data import Block, LabelledRows, as_rows, require
from ..engine import reduce
from ..objective import NO_PENALTY, Objective
from .smooth import Descent, Solution, moment_preconditioner

#: Of `minimise_sgd`: rows of a mini-batch, length of its steps, share of the rows held out when stopping early, and
#: after how many epochs without a better loss on these it stops.
_BATCH, _RATE, HELD_OUT_SHARE, _PATIENCE = 64, 0.5, 0.1, 5


def minimise_gradient(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective along its gradients, in steps whose length fits the curvature met on the last one."""
    run, length = Descent(objective, theta, tol, max_iter, trace, "gradient"), 1.0
    precondition = moment_preconditioner(objective, theta)
    while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
        moved = run.move(length * run.gradient)
        if moved is None:
            break
        step, curvature = moved[0], float(np.vdot(*moved))
        length = float(np.vdot(step, step)) / curvature if curvature > 0 else 2 * length
    return run.solution()


def minimise_sgd(
    objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False, rng: Any = None,
    held_out: Objective | None = None,
) -> Solution:  # fmt: skip
    """Minimise by gradients of mini-batches, corrected by that of all rows; an iteration is an epoch.

    With ``held_out``, the objective of rows held out, stop where it stops falling, at the point where it was least.
    """
    rng, run = np.random.default_rng(rng), Descent(objective, theta, tol, max_iter, trace, "sgd")
    best, least, waited = run.solution(), np.inf, 0
    precondition = moment_preconditioner(objective, theta)
    while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
        if held_out is not None:
            score = held_out.value_and_gradient(run.theta)[0]
            waited = 0 if score < least else waited + 1
            if score < least:
                best, least = run.solution(), score
            if waited >= _PATIENCE:
                return replace(best, reason="early stopping", iterations=run.iterations, passes=objective.passes[0])
        theta = run.theta
        for batch in batches(objective, _BATCH, rng):
            difference = objective.gradient_of(batch, theta) - objective.gradient_of(batch, run.theta)
            theta = theta - _RATE * precondition(difference + run.gradient)
        run.jump(theta)
    return run.solution()


def batches(objective: Objective, size: int, rng: np.random.Generator) -> Iterator[Block]:
    """The rows in random order, ``size`` at a time."""
    data = objective.data
    order = rng.permutation(data.n_rows)
    for start in range(0, data.n_rows, size):
        chosen = np.sort(order[start : start + size])
        weight = np.ones(len(chosen)) if data.weight is None else data.weight[chosen]
        offset = None if data.offset is None else data.offset[chosen]
        yield Block(data.rows.take(chosen), data.codes[chosen], weight, offset=offset)


def split_rows(objective: Objective, share: float, rng: Any) -> tuple[Objective, Objective]:
    """The objective of most rows, and that of a ``share`` of them held out at random (without the penalty)."""
    order = np.random.default_rng(rng).permutation(objective.data.n_rows)
    held = max(1, round(share * len(order)))
    chosen, standard = (np.sort(order[held:]), np.sort(order[:held])), objective.standardised
    most, few = (replace(objective, data=objective.data.take(rows), standard=standard) for rows in chosen)
    return most, replace(few, penalty=NO_PENALTY)


@dataclass(frozen=True)
class Stream:
    """Stochastic gradient steps over rows that come in chunks.

    Steps shrink like the square root of the rows seen; their average is the estimate (Polyak & Juditsky 1992).
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

    def after(self, data: LabelledRows, rng: Any) -> Stream:
        """The stream after the rows of another chunk."""
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


def streamed(objective: Objective, rng: Any) -> Solution:
    """One pass of such steps over the rows of a dataset; what was reached is told by its sample.

    Every part goes its own way from the same start, and the ways are averaged (Zinkevich et al. 2010): parts may lie
    anywhere, and the result does not depend on who reads them.
    """
    zero, seed = np.zeros(objective.shape), int(np.random.default_rng(rng).integers(1 << 32))
    data = objective.data
    none = LabelledRows(as_rows(np.zeros((1, objective.n_columns))), data.classes, np.zeros(1, np.int32))
    start = Stream(replace(objective, data=none, standard=objective.standardised, passes=[0.0]), zero, zero)
    found = reduce(data, _Way(start, seed, none), objective.n_jobs).stream
    objective.passes[0] += 1
    some = objective.every(1)
    value, gradient = some.value_and_gradient(found.average)
    excess = 0.5 * float(np.vdot(gradient, moment_preconditioner(some, found.average)(gradient))) / max(value, 1e-300)
    return Solution(
        theta=found.average, objective=value, gradient_norm=float(np.abs(gradient).max()), excess=excess,
        passes=objective.passes[0], iterations=found.steps, converged=False, reason=ONE_PASS, solver="sgd",
        estimated=True,
    )  # fmt: skip


#: Why `streamed` ends.
ONE_PASS = "one pass"


class _Way:
    """The steps over the rows of a part, as a statistic of them."""

    def __init__(self, stream: Stream, seed: int, none: LabelledRows) -> None:
        self.stream, self.seed, self.none, self.first = stream, seed, none, stream

    def fresh(self) -> Self:
        return type(self)(self.first, self.seed, self.none)

    def update(self, block: Block) -> None:
        rows = LabelledRows(as_rows(block.X), self.none.classes, block.codes, block.weight, block.offset)
        after = self.stream.after(rows, [self.seed, block.start])
        self.stream = replace(after, objective=replace(after.objective, data=self.none))  # no row stays

    def merge(self, other: Self) -> None:
        mine, theirs = self.stream, other.stream
        share = theirs.steps / max(mine.steps + theirs.steps, 1)
        theta = mine.theta + share * (theirs.theta - mine.theta)
        average = mine.average + share * (theirs.average - mine.average)
        self.stream = replace(mine, theta=theta, average=average, steps=mine.steps + theirs.steps)
