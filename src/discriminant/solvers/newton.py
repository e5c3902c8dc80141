"""Newton's method on samples of the rows, then a quasi-Newton method on all rows.

The first iterations run on a 64th and an eighth of the rows, where a Hessian is cheap. Their optimum and their Hessian
are close to those of all rows: the Hessian preconditions a few gradient passes over all rows, corrected by L-BFGS
pairs. If these steps gain too little, the Hessian of all rows is computed, which costs up to as many gradients as there
are parameters.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..arrays import Array
from ..objective import Objective
from .descent import Descent, has_vanished
from .lbfgs import LBFGSMemory, Preconditioner
from .line_search import line_search
from .preconditioners import inverse_hessian, min_sample_rows
from .solution import Solution

# Tables of up to this many values are minimised to machine precision, which costs next to nothing.
MAX_POLISHED_VALUES: Final = 2_000_000
# A sample has one in this many rows; a full Hessian costs the time of tens of gradients.
SAMPLE_STEPS: Final = (64, 8)
# Rows for each parameter that a sample needs to have an optimum close to that of all rows.
SAMPLE_ROWS_PER_PARAMETER: Final = 20
# Beyond this many parameters a Hessian costs more than the passes it saves; so it does beyond this many
# multiplications, if it has several linear predictors and no sample is large enough.
MAX_NEWTON_PARAMETERS: Final = 600
CHEAP_HESSIAN_OPERATIONS: Final = 1e8
# A step that leaves more than this share of the decrement is followed by a Hessian of all rows.
SLOW_DECREMENT_RATIO: Final = 0.1


def has_cheap_hessian(objective: Objective) -> bool:
    """Whether Hessians cost less than the passes they save.

    That of a softmax takes as many multiplications as a pass for each of its parameters; samples make it cheap.
    """
    P = objective.n_parameters
    cheap = (
        objective.n_linear_predictors == 1
        or objective.data.n_rows * P**2 <= CHEAP_HESSIAN_OPERATIONS
        or bool(sample_steps(objective))
    )
    return P <= MAX_NEWTON_PARAMETERS and cheap


def minimise_newton(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective with few enough parameters for a Hessian."""
    if objective.data.n_rows * objective.n_columns <= MAX_POLISHED_VALUES:
        tol = min(tol, 1e-14)
    theta, precondition, iterations = _start(objective, theta, max_iter, trace)
    run, memory, before = Descent(objective, theta, tol, max_iter, trace, "newton"), LBFGSMemory(), np.inf
    run.iterations = iterations
    while True:
        direction = memory.direction(run.gradient, precondition)
        decrement = float(np.vdot(run.gradient, direction))
        if run.has_diverged(decrement) or (run.iterations >= max_iter and run.ends(decrement)):
            break
        # 1. Near the end the next step reduces the decrement as much as the last one did: it is the last.
        share = min(decrement / before, 1.0) if np.isfinite(before) else 1.0
        if run.suboptimality * share <= 0.1 * tol:
            run.last_step(direction, share)
            break
        # 2. After a slow step the Hessian of all rows is worth its time.
        if decrement > SLOW_DECREMENT_RATIO * before:
            memory, precondition = LBFGSMemory(), inverse_hessian(objective.value_gradient_hessian(run.theta)[2])
            direction = precondition(run.gradient)
            decrement = float(np.vdot(run.gradient, direction))
        before = decrement
        # 3. A step; its pair corrects the preconditioner.
        pair = run.step_along(direction)
        if pair is None:
            break
        memory.add(*pair)
    return run.solution()


def _start(objective: Objective, theta: Array, max_iter: int, trace: bool) -> tuple[Array, Preconditioner, int]:
    """The point that Newton's method reaches on samples, or all rows of a small table; its Hessian; the iterations."""
    if trace:  # only steps on all rows are traced
        return theta, inverse_hessian(objective.value_gradient_hessian(theta)[2]), 0
    precondition, iterations = None, 0
    for sample in map(objective.sample, sample_steps(objective)):
        # More precision than the distance between the optima of the sample and of all rows would be wasted.
        tolerance = 0.01 * sample.n_parameters / sample.data.n_rows
        theta, precondition, more = _damped_newton(sample, theta, tolerance, max_iter - iterations)
        iterations += more
    if precondition is None:
        return _damped_newton(objective, theta, 1e-12, max_iter)
    return theta, precondition, iterations


def sample_steps(objective: Objective) -> list[int]:
    """The steps whose samples represent all rows: enough rows for the parameters, also of the rarest class."""
    needed = max(min_sample_rows(objective), SAMPLE_ROWS_PER_PARAMETER * objective.n_parameters)
    return [step for step in SAMPLE_STEPS if objective.data.n_rows // step >= needed]


def _damped_newton(
    objective: Objective, theta: Array, tolerance: float, max_iter: int
) -> tuple[Array, Preconditioner, int]:
    """Newton steps until the expected relative gain is ``tolerance``; the last point, its Hessian, the iterations."""
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for iteration in range(max_iter):
        precondition = inverse_hessian(hessian)
        direction = precondition(gradient)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > 0 or has_vanished(objective, value):
            return theta, precondition, iteration
        if (0.5 * decrement / max(abs(value), 1e-300)) ** 2 <= tolerance:
            # Convergence is quadratic: the step is precise enough, and its end point is evaluated by the caller.
            return theta - direction, precondition, iteration + 1
        found = line_search(objective.value_gradient_hessian, theta, value, direction, decrement)
        if found is None:
            return theta, precondition, iteration
        theta, (value, gradient, hessian) = found
    return theta, inverse_hessian(hessian), max_iter
