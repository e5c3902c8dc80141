"""Gradient descent as the lecture has it, and stochastic gradients on mini-batches.

Both work in standardised columns. They are here to be looked at and compared; the other solvers are faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..data import Block, LabelledRows
from ..objective import NO_PENALTY, Objective
from .descent import finished, moment_preconditioner, search
from .solution import Solution, Trace

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class GradientDescent:
    """``theta - rate_t * gradient`` over all rows.

    Parameters
    ----------
    steps : {"line-search", "constant", "decaying"}
        ``rate_t``: as far as the objective falls enough; ``rate``; or ``rate / (1 + t / 10)``.
    rate : float
        First step length (in standardised columns; 1 is safe for the logistic loss of a few columns).
    """

    steps: Literal["line-search", "constant", "decaying"] = "line-search"
    rate: float = 1.0

    def minimise(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
        """Minimise a smooth objective."""
        metric, steps, length = moment_preconditioner(objective, theta), Trace(trace), self.rate
        value, gradient = objective.value_and_gradient(theta)
        for iteration in range(max_iter + 1):
            steps.note(theta, value, gradient)
            excess = 0.5 * float(np.vdot(gradient, metric(gradient))) / max(abs(value), 1e-300)
            if not np.isfinite(excess):
                return finished(objective, theta, value, gradient, excess, iteration, "not finite", "gradient", steps)
            if excess <= tol:
                return finished(objective, theta, value, gradient, excess, iteration, "optimal", "gradient", steps)
            if iteration == max_iter:
                break
            if self.steps == "line-search":
                moved = search(objective, theta, value, length * gradient, length * float(np.vdot(gradient, gradient)))
                if moved is None:
                    reason = "optimal" if excess <= 1e-7 else "no further descent"
                    return finished(objective, theta, value, gradient, excess, iteration, reason, "gradient", steps)
                new, value, new_gradient = moved
                length = _matching_length(new - theta, new_gradient - gradient, length)
                theta, gradient = new, new_gradient
            else:
                theta = theta - self._rate(iteration) * gradient
                value, gradient = objective.value_and_gradient(theta)
        return finished(objective, theta, value, gradient, excess, max_iter, "max_iter", "gradient", steps)

    def _rate(self, t: int) -> float:
        return self.rate if self.steps == "constant" else self.rate / (1 + t / 10)


def _matching_length(step: Array, change: Array, before: float) -> float:
    """The step length that fits the curvature met on the last step (Barzilai & Borwein 1988)."""
    curvature = float(np.vdot(step, change))
    return float(np.vdot(step, step)) / curvature if curvature > 0 else 2 * before


@dataclass(frozen=True)
class StochasticGradient:
    """Steps along gradients estimated from mini-batches (mean over the batch = sum over the batch, scaled n/B).

    Parameters
    ----------
    batch : int
        Rows of a mini-batch (B).
    rate : float
        First step length.
    schedule : {"constant", "decaying", "square-root"}
        ``rate``, ``rate / (1 + t / n_batches)`` or ``rate / sqrt(1 + t / n_batches)`` for the t-th step.
    corrected : bool
        Correct each estimate by that of the epoch's starting point, where the full gradient is known (Johnson & Zhang
        2013). The steps then converge to the optimum itself; without, they end in a cloud around it.
    epochs : int or None
        At most this many (None: the solver's ``max_iter``).
    validation : float
        Share of the rows held out when stopping early.
    patience : int
        Stop early after this many epochs without a better loss on the held-out rows.
    """

    batch: int = 64
    rate: float = 0.5
    schedule: Literal["constant", "decaying", "square-root"] = "constant"
    corrected: bool = True
    epochs: int | None = None
    validation: float = 0.1
    patience: int = 5

    def minimise(
        self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False, rng: Any = None,
        held_out: Objective | None = None,
    ) -> Solution:  # fmt: skip
        """Minimise a smooth objective; with ``held_out``, stop when its loss stops falling and return the best."""
        rng = np.random.default_rng(rng)
        metric, steps = moment_preconditioner(objective, theta), Trace(trace)
        n_batches = -(-objective.data.n_rows // self.batch)
        best, waited, reason = (np.inf, theta), 0, "max_iter"
        for epoch in range((self.epochs or max_iter) + 1):
            value, gradient = objective.value_and_gradient(theta)
            steps.note(theta, value, gradient)
            excess = 0.5 * float(np.vdot(gradient, metric(gradient))) / max(abs(value), 1e-300)
            if not np.isfinite(excess) or excess <= tol:
                reason = "optimal" if excess <= tol else "not finite"
                break
            if held_out is not None:
                score = held_out.value_and_gradient(theta)[0]
                waited = 0 if score < best[0] else waited + 1
                best = min(best, (score, theta), key=lambda entry: entry[0])
                if waited >= self.patience:
                    reason, theta = "early stopping", best[1]
                    break
            if epoch == (self.epochs or max_iter):
                break
            anchor = theta
            for t, block in enumerate(batches(objective, self.batch, rng), epoch * n_batches):
                estimate = batch_gradient(objective, block, theta)
                if self.corrected:
                    estimate = estimate - batch_gradient(objective, block, anchor) + gradient
                theta = theta - self.rate_at(t, n_batches) * metric(estimate)
        return finished(objective, theta, value, gradient, excess, epoch, reason, "sgd", steps)

    def rate_at(self, t: int, n_batches: int) -> float:
        """Length of the t-th step."""
        age = 1 + t / n_batches
        return {"constant": self.rate, "decaying": self.rate / age, "square-root": self.rate / np.sqrt(age)}[
            self.schedule
        ]


def batches(objective: Objective, size: int, rng: np.random.Generator) -> Iterator[tuple[Block, Array | None]]:
    """The rows in random order, ``size`` at a time, with their offsets."""
    data = objective.data
    order = rng.permutation(data.n_rows)
    for start in range(0, data.n_rows, size):
        chosen = np.sort(order[start : start + size])
        weight = np.ones(len(chosen)) if data.weight is None else data.weight[chosen]
        offset = None if objective.offset is None else objective.offset[chosen]
        yield Block(data.rows.take(chosen), data.codes[chosen], weight), offset


def batch_gradient(objective: Objective, batch: tuple[Block, Array | None], theta: Array) -> Array:
    """The gradient estimated from some rows."""
    block, offset = batch
    return objective.gradient_of(block, offset, theta)


def split_rows(objective: Objective, share: float, rng: Any) -> tuple[Objective, Objective]:
    """The objective of most rows, and that of a ``share`` of them held out at random (without the penalty)."""
    order = np.random.default_rng(rng).permutation(objective.data.n_rows)
    held = max(1, round(share * len(order)))
    parts = []
    for chosen in (np.sort(order[held:]), np.sort(order[:held])):
        offset = None if objective.offset is None else objective.offset[chosen]
        parts.append(replace(objective, data=objective.data.take(chosen), offset=offset))
    return parts[0], replace(parts[1], penalty=NO_PENALTY, standard=parts[0].standardised)


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

    @classmethod
    def start(cls, objective: Objective) -> Stream:
        zero = np.zeros(objective.shape)
        return cls(replace(objective, standard=objective.standardised), zero, zero)

    def after(self, data: LabelledRows, rng: Any) -> Stream:
        """The stream after the rows of another chunk."""
        objective = replace(self.objective, data=data)
        theta, average, steps = self.theta, self.average, self.steps
        metric = moment_preconditioner(objective, theta) if data.n_rows > 2 * data.rows.n_columns else lambda g: g
        for batch in batches(objective, self.batch, np.random.default_rng(rng)):
            steps += 1
            theta = theta - self.rate / np.sqrt(1 + steps / 10) * metric(batch_gradient(objective, batch, theta))
            average = average + (theta - average) * max(1 / steps, 1e-3)
        return replace(
            self, objective=replace(objective, data=data.take(np.arange(1))), theta=theta, average=average, steps=steps
        )
