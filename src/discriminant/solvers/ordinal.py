"""Minimisation of ordinal objectives: Newton's method, L-BFGS with many parameters, proximal Newton with L1."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..arrays import Array
from ..ordinal_objective import OrdinalObjective
from .descent import Descent
from .l1_penalty import PenalisedRun, evaluate
from .lbfgs import LBFGSMemory
from .newton import minimise_newton
from .proximal_newton import minimise_proximal_newton
from .solution import Solution

# With more parameters a factorisation of the Hessian takes longer than the passes that it saves.
MAX_HESSIAN_PARAMETERS: Final = 1_000


def minimise_ordinal(
    objective: OrdinalObjective, theta: Array, tol: float, max_iter: int, trace: bool = False
) -> Solution:
    """Minimise an ordinal objective."""
    if objective.penalty.l1 > 0:
        (start,) = evaluate(objective, [theta])
        return minimise_proximal_newton(PenalisedRun(objective, start, [], tol, max_iter, trace))
    if objective.n_parameters <= MAX_HESSIAN_PARAMETERS:
        return minimise_newton(objective, theta, tol, max_iter, trace)
    run, memory = Descent(objective, theta, tol, max_iter, trace, "lbfgs"), LBFGSMemory()
    while True:
        direction = memory.direction(run.gradient, lambda gradient: gradient / _curvatures(objective))
        if run.ends(float(np.vdot(run.gradient, direction))):
            break
        pair = run.step_along(direction)
        if pair is None:
            break
        memory.add(*pair)
    return run.solution()


def _curvatures(objective: OrdinalObjective) -> Array:
    """Second derivatives of the order of those at the null model: 1/4 for standardised columns, plus the ridge."""
    return 0.25 + objective.ridge
