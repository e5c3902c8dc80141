"""The minimum of an objective under linear constraints: nested models and profile likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..moments.covariance import factorised
from ..objective import Objective

Array = np.ndarray[Any, Any]


def constrained_minimum(
    objective: Objective, theta: Array, constraints: Array, values: Array, tol: float = 1e-12, max_iter: int = 100
) -> tuple[Array, float]:
    """The point and the value of the least objective with ``constraints @ theta.ravel() == values``.

    Newton's method within the constraints, from the point that meets them nearest to ``theta``.
    """
    flat = theta.ravel().copy()
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for _ in range(max_iter):
        factor = factorised(hessian)
        across = factor.solve(constraints)
        inner = constraints @ across.T
        newton = factor.solve(gradient.ravel()[None])[0]
        pull = np.linalg.solve(inner, values - constraints @ flat + constraints @ newton)
        step = across.T @ pull - newton
        missing = float(np.abs(values - constraints @ flat).max(initial=0.0))
        gain = -float(gradient.ravel() @ step)
        if missing < 1e-10 * (1 + np.abs(values).max(initial=0.0)) and gain <= tol * max(abs(value), 1e-300):
            break
        flat, value, gradient, hessian = _damped(
            objective, flat, step, value, gain if missing < 1e-10 else np.inf, theta.shape
        )
    return flat.reshape(theta.shape), value


def _damped(
    objective: Objective, flat: Array, step: Array, value: float, gain: float, shape: tuple[int, ...]
) -> tuple[Array, float, Array, Array]:
    """The next point: the whole step until the constraints hold, then as far as the objective falls."""
    length = 1.0
    while True:
        new = flat + length * step
        new_value, gradient, hessian = objective.value_gradient_hessian(new.reshape(shape))
        if not np.isfinite(gain) or new_value <= value - 1e-4 * length * gain + 1e-14 * abs(value) or length < 1e-6:
            return new, new_value, gradient, hessian
        length *= 0.5
