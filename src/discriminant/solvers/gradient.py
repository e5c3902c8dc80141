"""Gradient descent as the lecture has it, and stochastic gradients on mini-batches.

Both work in standardised columns. They are here to be looked at and compared; the other solvers are faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..data import Block, LabelledRows, require
from ..objective import NO_PENALTY, Objective
from .smooth import Descent, Solution, moment_preconditioner

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class GradientDescent:
    """``theta - rate_t * gradient`` over all rows.

    Parameters
    ----------
    steps : {"line-search", "constant", "decaying"}, default="line-search"
        ``rate_t``: as far as the objective falls enough; ``rate``; or ``rate / (1 + t / 10)``.
    rate : float, default=1.0
        First step length (in standardised columns; 1 is safe for the logistic loss of a few columns).

    See Also
    --------
    StochasticGradient : Steps from a few rows at a time.

    References
    ----------
    Barzilai & Borwein (1988), Two-point step size gradient methods.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.solvers import GradientDescent
    >>> model = LogisticRegression(solver=GradientDescent("constant", rate=0.5), alpha=0.1)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).solution_.solver
    'gradient'
    """

    steps: Literal["line-search", "constant", "decaying"] = "line-search"
    rate: float = 1.0

    def minimise(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
        """Minimise a smooth objective.

        Parameters
        ----------
        objective : Objective
            Loss plus penalty.
        theta : array
            Where to start.
        tol : float
            Relative excess of the objective to stop at.
        max_iter : int
            Steps at most.
        trace : bool, default=False
            Keep the way there.

        Returns
        -------
        Solution
            The point reached.
        """
        run, length = Descent(objective, theta, tol, max_iter, trace, "gradient"), self.rate
        precondition = moment_preconditioner(objective, theta)
        while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
            if self.steps != "line-search":
                age = 1.0 if self.steps == "constant" else 1 + run.iterations / 10
                run.jump(run.theta - self.rate / age * run.gradient)
                continue
            moved = run.move(length * run.gradient)
            if moved is None:
                break
            # The length that fits the curvature met on the last step (Barzilai & Borwein 1988).
            step, curvature = moved[0], float(np.vdot(*moved))
            length = float(np.vdot(step, step)) / curvature if curvature > 0 else 2 * length
        return run.solution()


@dataclass(frozen=True)
class StochasticGradient:
    """Steps along gradients estimated from mini-batches (mean over the batch = sum over the batch, scaled n/B).

    Parameters
    ----------
    batch : int, default=64
        Rows of a mini-batch (B).
    rate : float, default=0.5
        First step length.
    schedule : {"constant", "decaying", "square-root"}, default="constant"
        ``rate``, ``rate / (1 + t / n_batches)`` or ``rate / sqrt(1 + t / n_batches)`` for the t-th step.
    corrected : bool, default=True
        Correct each estimate by that of the epoch's starting point, where the full gradient is known (Johnson & Zhang
        2013). The steps then converge to the optimum itself; without, they end in a cloud around it.
    epochs : int, optional
        At most this many; by default the estimator's ``max_iter``.
    validation : float, default=0.1
        Share of the rows held out when stopping early.
    patience : int, default=5
        Stop early after this many epochs without a better loss on the held-out rows.

    See Also
    --------
    GradientDescent : Steps from all rows.

    References
    ----------
    Johnson & Zhang (2013), Accelerating stochastic gradient descent using predictive variance reduction.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.solvers import StochasticGradient
    >>> model = LogisticRegression(solver=StochasticGradient(batch=2), alpha=0.1, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).solution_.converged
    True
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
        """Minimise a smooth objective, or stop early where the loss of held-out rows stops falling.

        Parameters
        ----------
        objective : Objective
            What is minimised.
        theta : array
            First point.
        tol : float
            Stop when the estimated relative excess is at most this.
        max_iter : int
            Number of epochs at most, unless ``epochs`` says another.
        trace : bool, default=False
            Keep the point after each epoch.
        rng : int or numpy.random.Generator, optional
            For the order of the rows.
        held_out : Objective, optional
            That of the rows held out; the point where it was least is returned.

        Returns
        -------
        Solution
            The last point, or the best if stopped early.
        """
        rng, n_batches = np.random.default_rng(rng), -(-objective.data.n_rows // self.batch)
        run = Descent(objective, theta, tol, self.epochs or max_iter, trace, "sgd")
        precondition = moment_preconditioner(objective, theta)
        power = {"constant": 0.0, "decaying": 1.0, "square-root": 0.5}[self.schedule]
        best, least, waited = run.solution(), np.inf, 0
        while not run.ends(float(np.vdot(run.gradient, precondition(run.gradient)))):
            if held_out is not None:
                score = held_out.value_and_gradient(run.theta)[0]
                waited = 0 if score < least else waited + 1
                if score < least:
                    best, least = run.solution(), score
                if waited >= self.patience:
                    return replace(best, reason="early stopping", iterations=run.iterations, passes=objective.passes[0])
            theta = run.theta
            for t, batch in enumerate(batches(objective, self.batch, rng), run.iterations * n_batches):
                estimate = objective.gradient_of(*batch, theta)
                if self.corrected:
                    estimate = estimate - objective.gradient_of(*batch, run.theta) + run.gradient
                theta = theta - self.rate / (1 + t / n_batches) ** power * precondition(estimate)
            run.jump(theta)
        return run.solution()


def batches(objective: Objective, size: int, rng: np.random.Generator) -> Iterator[tuple[Block, Array | None]]:
    """The rows in random order, ``size`` at a time, with their offsets."""
    data = objective.data
    order = rng.permutation(data.n_rows)
    for start in range(0, data.n_rows, size):
        chosen = np.sort(order[start : start + size])
        weight = np.ones(len(chosen)) if data.weight is None else data.weight[chosen]
        offset = None if objective.offset is None else objective.offset[chosen]
        yield Block(data.rows.take(chosen), data.codes[chosen], weight), offset


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
            theta = theta - self.rate / np.sqrt(1 + steps / 10) * precondition(objective.gradient_of(*batch, theta))
            average = average + (theta - average) * max(1 / steps, 1e-3)
        return replace(
            self, objective=replace(objective, data=data.take(np.arange(1))), theta=theta, average=average, steps=steps
        )
