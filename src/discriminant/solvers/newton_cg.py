"""Newton's method with the system solved by conjugate gradients: needs Hessian times direction only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..objective import Objective
from .metric import moment_metric
from .quasi_newton import Metric, finished, search
from .result import Solution, Trace

Array = np.ndarray[Any, Any]

_MOST_PRODUCTS = 200


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size."""
    steps = Trace(trace)
    metric = moment_metric(objective, theta)
    value, gradient = objective.value_and_gradient(theta)
    for iteration in range(max_iter + 1):
        steps.note(theta, value, gradient)
        size = float(np.vdot(gradient, metric(gradient)))
        # Solve as precisely as the distance from the optimum deserves.
        accuracy = min(0.3, np.sqrt(size / max(abs(value), 1e-300)))
        direction = conjugate_gradients(objective.hessian_product(theta), gradient, metric, accuracy)
        decrement = float(np.vdot(gradient, direction))
        excess = 0.5 * decrement / max(abs(value), 1e-300)
        if not np.isfinite(value) or not np.isfinite(excess):
            return finished(objective, theta, value, gradient, excess, iteration, "not finite", "newton-cg", steps)
        if excess <= tol:
            return finished(objective, theta, value, gradient, excess, iteration, "optimal", "newton-cg", steps)
        if iteration == max_iter:
            break
        moved = search(objective, theta, value, direction, decrement)
        if moved is None:
            reason = "optimal" if excess <= 1e-7 else "no further descent"
            return finished(objective, theta, value, gradient, excess, iteration, reason, "newton-cg", steps)
        theta, value, gradient = moved
    return finished(objective, theta, value, gradient, excess, max_iter, "max_iter", "newton-cg", steps)


def conjugate_gradients(product: Callable[[Array], Array], target: Array, metric: Metric, accuracy: float) -> Array:
    """``hessian^-1 target`` until the residual, measured in the metric, has shrunk by ``accuracy``."""
    solution, residual = np.zeros_like(target), target.copy()
    sphered = metric(residual)
    towards, size = sphered.copy(), float(np.vdot(residual, sphered))
    enough = accuracy**2 * size
    for _ in range(_MOST_PRODUCTS):
        if size <= enough or size <= 0:
            break
        image = product(towards)
        curvature = float(np.vdot(towards, image))
        if curvature <= 0:
            break
        length = size / curvature
        solution += length * towards
        residual -= length * image
        sphered = metric(residual)
        size, before = float(np.vdot(residual, sphered)), size
        towards = sphered + (size / before) * towards
    return solution if solution.any() else metric(target)
