"""Newton's method (for the logistic loss, iteratively reweighted least squares), on samples and with few Hessians.

`minimise`: the first iterations run on a 64th and an eighth of the rows, where a Hessian is cheap. Their optimum is
close to that of the whole, and so is their Hessian: it is the preconditioner of a few gradient passes over all rows.
Only where that gains too little is the Hessian of all rows computed, which costs up to as many gradients as there are
parameters.

`minimise_cg`: the Newton system of all rows is solved by conjugate gradients, as precisely as the distance from the
optimum deserves (Dembo, Eisenstat & Steihaug 1982); each product with the Hessian costs a pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..moments.covariance import factorised
from ..objective import Objective
from .descent import VANISHING, Descent, LBFGSMemory, Preconditioner, line_search, moment_preconditioner
from .solution import Solution

Array = np.ndarray[Any, Any]

#: Every so-many-th row makes a sample.
_STEPS = (64, 8)
#: A sample must have this many rows for each parameter, and this many at all: a smaller one is no guide to the whole.
_ROWS_PER_PARAMETER = 20
_LEAST_ROWS = 4_000
#: Up to this many values all the digits there are cost next to nothing.
_SMALL = 2_000_000
#: Products with the Hessian in one solution by conjugate gradients.
_MOST_PRODUCTS = 200


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective with few enough parameters for a Hessian."""
    if objective.data.n_rows * objective.n_columns <= _SMALL:
        tol = min(tol, 1e-14)
    theta, precondition, before = _start(objective, theta, max_iter, trace)
    run, memory, previous = Descent(objective, theta, tol, max_iter, trace, "newton"), LBFGSMemory(), np.inf
    run.iteration = before
    while True:
        direction = memory.direction(run.gradient, precondition)
        decrement = float(np.vdot(run.gradient, direction))
        if run.is_hopeless(decrement) or (run.iteration >= max_iter and run.ends(decrement)):
            break
        # 1. Near the end the next step is sure to gain what the last one gained: it is the last.
        share = min(decrement / previous, 1.0) if np.isfinite(previous) else 1.0
        if run.excess * share <= 0.1 * tol:
            run.finish(direction, share)
            break
        # 2. Where the last step gained less than a factor of 10, the Hessian of all rows is worth its time.
        if decrement > 0.1 * previous:
            memory, precondition = LBFGSMemory(), _inverse(objective.value_gradient_hessian(run.theta)[2])
            direction = precondition(run.gradient)
            decrement = float(np.vdot(run.gradient, direction))
        previous = decrement
        # 3. A step, and what it teaches of the difference between sample and whole.
        moved = run.move(direction)
        if moved is None:
            break
        memory.learn(*moved)
    return run.solution()


def _start(objective: Objective, theta: Array, max_iter: int, trace: bool) -> tuple[Array, Preconditioner, int]:
    """Newton's method on samples, or on all rows of a small table: the point reached, its Hessian, the iterations."""
    if trace:  # nothing is to be seen but steps on all rows
        return theta, _inverse(objective.value_gradient_hessian(theta)[2]), 0
    precondition, iterations = None, 0
    needed = max(_LEAST_ROWS, _ROWS_PER_PARAMETER * objective.n_parameters)
    for part in [objective.every(step) for step in _STEPS if objective.data.n_rows // step >= needed]:
        # Closer than the sample is to the whole would be wasted.
        enough = 0.01 * part.n_parameters / part.data.n_rows
        theta, precondition, more = _damped_newton(part, theta, enough, max_iter - iterations)
        iterations += more
    if precondition is None:
        return _damped_newton(objective, theta, 1e-12, max_iter)
    return theta, precondition, iterations


def _damped_newton(
    objective: Objective, theta: Array, enough: float, max_iter: int
) -> tuple[Array, Preconditioner, int]:
    """Steps until the expected relative gain is ``enough``; the last point, the Hessian before it, the iterations."""
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for iteration in range(max_iter):
        precondition = _inverse(hessian)
        direction = precondition(gradient)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > 0 or value < VANISHING:
            return theta, precondition, iteration
        if (0.5 * decrement / max(abs(value), 1e-300)) ** 2 <= enough:
            return theta - direction, precondition, iteration + 1  # Newton's error squares: no second look is needed
        found = line_search(objective.value_gradient_hessian, theta, value, direction, decrement)
        if found is None:
            return theta, precondition, iteration
        theta, (value, gradient, hessian) = found
    return theta, _inverse(hessian), max_iter


def _inverse(hessian: Array) -> Preconditioner:
    """Gradient to inverse Hessian times gradient."""
    factors = factorised(hessian)
    return lambda gradient: factors.solve(gradient.ravel()[None])[0].reshape(gradient.shape)


def minimise_cg(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size."""
    run = Descent(objective, theta, tol, max_iter, trace, "newton-cg")
    precondition = moment_preconditioner(objective, theta)
    while True:
        size = float(np.vdot(run.gradient, precondition(run.gradient)))
        accuracy = min(0.3, np.sqrt(size / max(abs(run.value), 1e-300)))
        product = objective.hessian_product(run.theta)
        direction = conjugate_gradients(product, run.gradient, precondition, accuracy)
        if run.ends(float(np.vdot(run.gradient, direction))) or run.move(direction) is None:
            return run.solution()


def conjugate_gradients(
    product: Callable[[Array], Array], target: Array, precondition: Preconditioner, accuracy: float
) -> Array:
    """``hessian^-1 target`` until the preconditioned residual has shrunk by ``accuracy``."""
    solution, residual = np.zeros_like(target), target.copy()
    sphered = precondition(residual)
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
        sphered = precondition(residual)
        size, before = float(np.vdot(residual, sphered)), size
        towards = sphered + (size / before) * towards
    return solution if solution.any() else precondition(target)
