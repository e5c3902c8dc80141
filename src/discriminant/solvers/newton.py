"""Newton's method (for the logistic loss, iteratively reweighted least squares) with progressive samples.

The first iterations run on a 64th and an eighth of the rows, where a Hessian is cheap. Their optimum is close to that
of the whole, and so is their Hessian: it serves as the metric of a few gradient passes over all rows. Only where that
gains too little is the Hessian of all rows computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..moments.scatter import Covariance, factorised
from ..objective import Objective
from . import quasi_newton
from .result import Solution

Array = np.ndarray[Any, Any]

_STEPS = (64, 8)
#: A sample must have this many rows for each parameter, and this many at all.
_ROWS_PER_PARAMETER = 20
_LEAST_ROWS = 4_000
_SMALL = 2_000_000


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
    return quasi_newton.minimise(
        objective, theta, _as_metric(metric), tol, max_iter, trace, "newton", lambda point: _fresh(objective, point)
    )


def _fresh(objective: Objective, theta: Array) -> quasi_newton.Metric:
    return _as_metric(factorised(objective.value_gradient_hessian(theta)[2]))


def _as_metric(covariance: Covariance) -> quasi_newton.Metric:
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
        if not decrement > 0 or value < quasi_newton.VANISHING:
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
