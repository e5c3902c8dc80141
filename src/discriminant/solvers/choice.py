"""The choice of a solver: by name, or by penalty and shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from ..arrays import Array
from ..errors import ParameterError, Setting
from ..objective import Objective
from .coordinate import minimise as minimise_coordinate
from .gradient import minimise_gradient, minimise_sgd
from .newton import has_cheap_hessian, minimise_newton
from .newton_cg import minimise_lbfgs, minimise_newton_cg
from .row_span import RowSpan, is_wide
from .solution import Solution

Minimise = Callable[..., Solution]

# The default tolerance: with fewer parameters, without a ridge, and for an L1 penalty.
EXACT_TOLERANCE: Final = 1e-10
# A ridge with more parameters serves predictions: its tolerance is this share of the sampling error of the loss.
MAX_EXACT_PARAMETERS: Final = 2_000
SAMPLING_ERROR_SHARE: Final = 0.01


class Solver(Protocol):
    """An object that minimises an objective, such as `solvers.IRLS`."""

    minimise: Minimise


def minimise_in_row_span(
    objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False
) -> Solution:
    """Minimise a smooth problem with more columns than rows; the solution's gradient norm is that in the rows' span."""
    span = RowSpan.of(objective)
    minimise = named_solver("auto", span.objective)
    found = minimise(span.objective, span.from_columns(theta), tol, max_iter, trace)
    points = [span.point_in_columns(point) for point in found.trace]
    return replace(found, theta=span.to_columns(found.theta), trace=points)


#: Solvers by name.
NAMED: Final[dict[str, Minimise]] = {
    "newton": minimise_newton,
    "lbfgs": minimise_lbfgs,
    "newton-cg": minimise_newton_cg,
    "coordinate": minimise_coordinate,
    "gradient": minimise_gradient,
    "sgd": minimise_sgd,
}

KNOWN: Final = f"Expected one of: 'auto', {', '.join(map(repr, NAMED))}, or an object with a method minimise."

#: "auto" takes the first whose condition on loss, penalty and shape holds.
AUTO: Final[tuple[tuple[Callable[[Objective], bool], Minimise], ...]] = (
    (lambda objective: objective.penalty.l1 > 0, minimise_coordinate),
    (is_wide, minimise_in_row_span),
    (has_cheap_hessian, minimise_newton),
    (lambda _: True, minimise_newton_cg),
)


def named_solver(solver: str | Solver, objective: Objective) -> Minimise:
    """The function of a solver by its name, or the ``minimise`` method of a solver object."""
    if not isinstance(solver, str):
        if hasattr(solver, "minimise"):
            return solver.minimise
        raise ParameterError(f"Unknown solver {solver!r}. {KNOWN}")
    if solver == "auto":
        return next(minimise for holds, minimise in AUTO if holds(objective))
    if solver not in NAMED:
        raise ParameterError(f"Unknown solver {solver!r}. {KNOWN}")
    if objective.penalty.l1 > 0 and solver != "coordinate":
        problem = (
            f" does not support the penalty {objective.penalty.name!r} (l1_ratio > 0). Use 'coordinate' or 'auto'."
        )
        raise ParameterError(Setting("solver", solver), problem)
    return NAMED[solver]


def default_tolerance(objective: Objective) -> float:
    """The relative suboptimality to stop at.

    A mean loss of n rows has a relative standard error of about ``1 / sqrt(n)``: losses of a row vary about as much as
    their mean. What remains below a hundredth of that changes no prediction that the rows determine.
    """
    many = objective.penalty.l2 > 0 and objective.n_parameters > MAX_EXACT_PARAMETERS
    if not many or named_solver("auto", objective) is not minimise_newton_cg:
        return EXACT_TOLERANCE
    return max(SAMPLING_ERROR_SHARE / math.sqrt(objective.data.n_rows), EXACT_TOLERANCE)
