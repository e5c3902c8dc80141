"""L-BFGS in a metric: steps start from an approximate inverse Hessian and are corrected by what the gradients show.

With the inverse of a sample's Hessian as metric this is a Newton method that learns the difference between sample and
whole; with a covariance or a diagonal it is preconditioned L-BFGS. An iteration costs one pass for value and gradient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import reduce
from ..moments import ClassMoments
from ..moments.covariance import factorised
from ..objective import Objective
from .solution import Solution, Trace

Array = np.ndarray[Any, Any]
Preconditioner = Callable[[Array], Array]

_MEMORY = 12
_SUFFICIENT = 1e-4
#: Up to this many columns a p x p matrix is worth its factorisation.
_MOST_COLUMNS = 2_000
_SAMPLE_ROWS = 20_000
#: A loss this small has no minimum but 0, at infinity: the classes are separated.
VANISHING = 1e-9
#: Beyond this many numbers a pass only to confirm a step is not worth its time.
_LARGE = 2_000_000


class Corrections:
    """The last pairs (step, change of gradient), and the inverse Hessian they imply."""

    def __init__(self, metric: Preconditioner, memory: int = _MEMORY) -> None:
        self.metric = metric
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)

    def learn(self, step: Array, change: Array) -> None:
        curvature = float(np.vdot(step, change))
        if curvature > 1e-14 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs.append((step, change, 1 / curvature))

    def apply(self, gradient: Array) -> Array:
        """Inverse Hessian times gradient (two-loop recursion)."""
        q = gradient.copy()
        shares = []
        for step, change, inverse in reversed(self.pairs):
            share = inverse * np.vdot(step, q)
            shares.append(share)
            q -= share * change
        q = self.metric(q)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            q += (share - inverse * np.vdot(change, q)) * step
        return q


def minimise(
    objective: Objective,
    theta: Array,
    metric: Preconditioner,
    tol: float,
    max_iter: int,
    trace: bool = False,
    solver: str = "lbfgs",
    slow: Callable[[Array], Preconditioner] | None = None,
) -> Solution:
    """Minimise a smooth objective from ``theta``.

    ``slow``, if given, makes a better metric at a point; it is called when an iteration gains less than a factor of 10.
    """
    corrections, steps = Corrections(metric), Trace(trace)
    value, gradient = objective.value_and_gradient(theta)
    previous = np.inf
    for iteration in range(max_iter + 1):
        steps.note(theta, value, gradient)
        direction = corrections.apply(gradient)
        decrement = float(np.vdot(gradient, direction))
        excess = 0.5 * decrement / max(abs(value), 1e-300)
        if not np.isfinite(value) or not np.isfinite(decrement):
            return finished(objective, theta, value, gradient, excess, iteration, "not finite", solver, steps)
        if value < VANISHING:
            return finished(objective, theta, value, gradient, excess, iteration, "vanishing loss", solver, steps)
        gained = min(decrement / previous, 1.0) if np.isfinite(previous) else 1.0
        if slow is not None and excess * gained <= 0.1 * tol:
            # A metric close to the Hessian: the step it suggests costs nothing, and gains what the last one gained.
            theta, value, gradient = _last_step(objective, theta, value, gradient, direction)
            excess *= gained
            return finished(objective, theta, value, gradient, excess, iteration, "optimal", solver, steps)
        if slow is None and excess <= tol:
            return finished(objective, theta, value, gradient, excess, iteration, "optimal", solver, steps)
        if slow is not None and iteration and decrement > 0.1 * previous:
            corrections = Corrections(slow(theta))
            direction = corrections.apply(gradient)
            decrement = float(np.vdot(gradient, direction))
        previous = decrement
        if iteration == max_iter:
            break
        moved = search(objective, theta, value, direction, decrement)
        if moved is None:
            reason = "optimal" if excess <= 1e-7 else "no further descent"
            return finished(objective, theta, value, gradient, excess, iteration, reason, solver, steps)
        new, new_value, new_gradient = moved
        corrections.learn(new - theta, new_gradient - gradient)
        theta, value, gradient = new, new_value, new_gradient
    return finished(objective, theta, value, gradient, excess, max_iter, "max_iter", solver, steps)


def _last_step(
    objective: Objective, theta: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array]:
    """The point one more step ahead; on data that are not large, checked to be no worse."""
    new = theta - direction
    if objective.data.n_rows * objective.n_columns > _LARGE:
        return new, value, gradient
    new_value, new_gradient = objective.value_and_gradient(new)
    return (new, new_value, new_gradient) if new_value <= value * (1 + 1e-15) else (theta, value, gradient)


def search(
    objective: Objective, theta: Array, value: float, direction: Array, decrement: float
) -> tuple[Array, float, Array] | None:
    """The first point along ``-direction`` that descends enough; None where rounding leaves nothing to gain."""
    length = 1.0
    rounding = 4 * np.finfo(float).eps * abs(value)
    for _ in range(40):
        new = theta - length * direction
        new_value, new_gradient = objective.value_and_gradient(new)
        if new_value <= value - _SUFFICIENT * length * decrement + rounding:
            return new, new_value, new_gradient
        if length * decrement < rounding:
            return None
        # The minimum of the parabola through what is known, kept within bounds.
        rise = new_value - value + length * decrement
        guess = 0.5 * length**2 * decrement / rise if np.isfinite(rise) and rise > 0 else 0.1 * length
        length = float(np.clip(guess, 0.1 * length, 0.5 * length))
    return None


def finished(
    objective: Objective, theta: Array, value: float, gradient: Array, excess: float, iterations: int, reason: str,
    solver: str, steps: Trace,
) -> Solution:  # fmt: skip
    """The solution at a point where a solver stops for a reason."""
    return Solution(
        theta=theta,
        objective=value,
        gradient_norm=float(np.abs(gradient).max()),
        excess=excess,
        passes=objective.passes[0],
        iterations=iterations,
        converged=reason == "optimal",
        reason=reason,
        solver=solver,
        trace=steps.steps,
    )


def moment_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """Inverse of ``A x S + ridge``: S the covariance of the rows, A the curvature of the loss at the class shares.

    Where S would be too large, the inverse of the Hessian's diagonal.
    """
    p = objective.n_columns
    if p > _MOST_COLUMNS:
        diagonal = objective.column_curvatures(theta)
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())
        return lambda gradient: gradient / diagonal
    values, turn = np.linalg.eigh(_curvature_at_shares(objective))
    spread = np.zeros((objective.shape[1], objective.shape[1]))
    spread[:p, :p] = _covariance(objective)
    spread[p:, p:] = 1.0
    ridge = np.diag(objective.ridge[0])
    factors = [factorised(max(value, 1e-8) * spread + ridge) for value in values]

    def metric(gradient: Array) -> Array:
        turned = turn.T @ gradient
        return turn @ np.concatenate([f.solve(row[None]) for f, row in zip(factors, turned, strict=True)])

    return metric


def _curvature_at_shares(objective: Objective) -> Array:
    """The loss's second derivatives where every row has the probabilities of the class shares."""
    data = objective.data
    shares = np.bincount(data.codes, weights=data.weight, minlength=len(data.classes)) / objective.total_weight
    if objective.n_functions == 1:
        return np.array([[shares[0] * shares[1]]])
    contrasts = objective.contrasts
    return contrasts @ (np.diag(shares) - np.outer(shares, shares)) @ contrasts.T


def _covariance(objective: Objective) -> Array:
    """Covariance of the standardised rows, from a sample."""
    data, scale = objective.data, objective.standardised.scale
    step = max(1, data.n_rows // max(_SAMPLE_ROWS, 10 * data.rows.n_columns))
    sample = data.every(step)
    moments = reduce(sample, ClassMoments(len(data.classes), data.rows.n_columns), objective.n_jobs)
    objective.passes[0] += objective.share / step
    return moments.total().as_matrix() / moments.total_weight / np.outer(scale, scale)
