"""Newton's method (for the logistic loss, iteratively reweighted least squares) with progressive samples.

The first iterations run on a 64th and an eighth of the rows, where a Hessian is cheap. Their optimum is close to that
of the whole, and so is their Hessian: it serves as the metric of a few gradient passes over all rows. Only where that
gains too little is the Hessian of all rows computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..moments.covariance import Covariance, factorised
from ..objective import Objective
from . import descent
from .descent import Preconditioner, finished, moment_preconditioner, search
from .solution import Solution, Trace

Array = np.ndarray[Any, Any]

_STEPS = (64, 8)
#: A sample must have this many rows for each parameter, and this many at all.
_ROWS_PER_PARAMETER = 20
_LEAST_ROWS = 4_000
_SMALL = 2_000_000
_MOST_PRODUCTS = 200


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective with few enough parameters for a Hessian."""
    metric: Covariance | None = None
    needed = max(_LEAST_ROWS, _ROWS_PER_PARAMETER * objective.n_parameters)
    for step in _STEPS:
        if objective.data.n_rows // step >= needed and not trace:
            part = objective.every(step)
            # Closer than the sample is to the whole would be wasted.
            theta, metric = _descend(part, theta, 0.01 * part.n_parameters / part.data.n_rows, max_iter)
    if objective.data.n_rows * objective.n_columns <= _SMALL:
        tol = min(tol, 1e-14)  # all the digits there are cost next to nothing
    if metric is None:
        theta, metric = _descend(objective, theta, 1e-12, 0 if trace else max_iter)
    return descent.minimise(
        objective, theta, _as_metric(metric), tol, max_iter, trace, "newton", lambda point: _fresh(objective, point)
    )


def _fresh(objective: Objective, theta: Array) -> Preconditioner:
    return _as_metric(factorised(objective.value_gradient_hessian(theta)[2]))


def _as_metric(covariance: Covariance) -> Preconditioner:
    def metric(gradient: Array) -> Array:
        return covariance.solve(gradient.ravel()[None])[0].reshape(gradient.shape)

    return metric


def _descend(objective: Objective, theta: Array, enough: float, max_iter: int) -> tuple[Array, Covariance]:
    """Damped Newton steps until the expected gain is ``enough``; the last point and the Hessian before it."""
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for _ in range(max_iter):
        metric = factorised(hessian)
        direction = metric.solve(gradient.ravel()[None])[0].reshape(gradient.shape)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > 0 or value < descent.VANISHING:
            return theta, metric
        if (0.5 * decrement / max(abs(value), 1e-300)) ** 2 <= enough:
            return theta - direction, metric  # Newton's error squares at each step: no second look is needed
        length, new_value = 1.0, np.inf
        while length > 1e-6:
            new = theta - length * direction
            new_value, new_gradient, new_hessian = objective.value_gradient_hessian(new)
            if new_value <= value - 1e-4 * length * decrement + 1e-15 * abs(value):
                break
            length *= 0.25
        else:
            return theta, metric
        theta, value, gradient, hessian = new, new_value, new_gradient, new_hessian
    return theta, factorised(hessian)


def minimise_cg(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size."""
    steps = Trace(trace)
    metric = moment_preconditioner(objective, theta)
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


def conjugate_gradients(
    product: Callable[[Array], Array], target: Array, metric: Preconditioner, accuracy: float
) -> Array:
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
