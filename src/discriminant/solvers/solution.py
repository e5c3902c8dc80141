"""What a solver reached, and the way there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..results import Result, number, several

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TracePoint:
    """One iteration, for pictures of the way to the optimum."""

    theta: Array
    value: float
    gradient_norm: float


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Result):
    """The point a solver stopped at, and how good it is.

    Attributes
    ----------
    theta : array
        Parameters in standardised columns.
    objective : float
        Its value at ``theta``.
    gradient_norm : float
        Largest derivative, in standardised columns (of the smooth part plus the nearest subgradient of an L1 penalty).
    excess : float
        Estimated distance of the objective from its minimum, relative to the objective.
    duality_gap : float or None
        A proven bound on that distance (not relative), where the problem has a dual.
    passes : float
        Passes over the data; a pass over an eighth of the rows counts 1/8.
    iterations : int
        Steps taken, those on samples of the rows included.
    converged : bool
    reason : str
        Why it stopped.
    solver : str
    estimated : bool
        Whether ``objective`` and ``gradient_norm`` are what the last step's quadratic model predicts at ``theta``. On
        large data the last step, which gains less than the tolerance, is taken without a pass to look at it again.
    trace : list of TracePoint
        The way there, if asked for.
    """

    theta: Array
    objective: float
    gradient_norm: float
    excess: float
    passes: float
    iterations: int
    converged: bool
    reason: str
    solver: str
    duality_gap: float | None = None
    estimated: bool = False
    trace: list[TracePoint] = field(default_factory=list)

    def __str__(self) -> str:
        effort = f"{several(self.iterations, 'iteration')} and {number(self.passes)} passes"
        values = f"objective {number(self.objective, 8)}, largest derivative {number(self.gradient_norm, 2)}"
        estimated = " (both estimated)" if self.estimated else ""
        excess = f"relative excess about {number(self.excess, 2)}"
        return f"Solver {self.solver}: {self.reason} after {effort}; {values}{estimated}, {excess}"


class Trace:
    """Collects points if asked to."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.points: list[TracePoint] = []

    def note(self, theta: Array, value: float, gradient: Array) -> None:
        if self.wanted:
            self.points.append(TracePoint(theta.copy(), value, float(np.abs(gradient).max())))
