"""L-BFGS in a metric: steps start from an approximate inverse Hessian and are corrected by what the gradients show.

With the inverse of a sample's Hessian as metric this is a Newton method that learns the difference between sample and
whole; with a covariance or a diagonal it is preconditioned L-BFGS. An iteration costs one pass for value and gradient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..objective import Objective
from .result import Solution, Trace

Array = np.ndarray[Any, Any]
Metric = Callable[[Array], Array]

_MEMORY = 12
_SUFFICIENT = 1e-4
#: A loss this small has no minimum but 0, at infinity: the classes are separated.
VANISHING = 1e-9
#: Beyond this many numbers a pass only to confirm a step is not worth its time.
_LARGE = 2_000_000


class Corrections:
    """The last pairs (step, change of gradient), and the inverse Hessian they imply."""

    def __init__(self, metric: Metric, memory: int = _MEMORY) -> None:
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
    metric: Metric,
    tol: float,
    max_iter: int,
    trace: bool = False,
    solver: str = "lbfgs",
    slow: Callable[[Array], Metric] | None = None,
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
