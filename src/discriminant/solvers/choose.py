"""Which solver for which problem; the tables are in the package's docstring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ParameterError, Setting
from ..objective import Objective
from . import coordinate, descent, newton
from .gradient import GradientDescent, StochasticGradient
from .solution import Solution

Array = np.ndarray[Any, Any]
Minimise = Callable[..., Solution]

#: Beyond this many parameters a Hessian costs more than the passes it saves.
_MOST_NEWTON_PARAMETERS = 600

SOLVERS: dict[str, Minimise] = {
    "newton": newton.minimise,
    "lbfgs": descent.minimise,
    "newton-cg": newton.minimise_cg,
    "coordinate": coordinate.minimise,
    "gradient": GradientDescent().minimise,
    "sgd": StochasticGradient().minimise,
}


def choose_solver(objective: Objective) -> str:
    """The name of the solver that fits the problem; see the table of the package."""
    if objective.penalty.l1 > 0:
        return "coordinate"
    return "newton" if objective.n_parameters <= _MOST_NEWTON_PARAMETERS else "lbfgs"


def named_solver(solver: Any, objective: Objective) -> Minimise:
    """The function behind a solver's name, or behind a solver object with a ``minimise`` of its own."""
    if hasattr(solver, "minimise"):
        return solver.minimise
    name = choose_solver(objective) if solver == "auto" else solver
    if name not in SOLVERS:
        raise ParameterError(f"Unknown solver {solver!r}. Solvers: 'auto', {', '.join(map(repr, SOLVERS))}.")
    if objective.penalty.l1 > 0 and name != "coordinate":
        able = f" cannot do the penalty {objective.penalty.name!r} (l1_ratio > 0). Use 'coordinate' or 'auto'."
        raise ParameterError(Setting("solver", name), able)
    return SOLVERS[name]
