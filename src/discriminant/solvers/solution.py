"""What a solver reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TracePoint:
    """One iteration, for pictures of the way to the optimum."""

    theta: Array
    value: float
    gradient_norm: float


@dataclass(frozen=True)
class Solution:
    """The point a solver stopped at, and how good it is.

    Attributes
    ----------
    theta : array
        Parameters in standardised columns.
    objective : float
    gradient_norm : float
        Largest derivative, in standardised columns (of the smooth part plus the nearest subgradient of an L1 penalty).
    excess : float
        Estimated distance of the objective from its minimum, relative to the objective.
    duality_gap : float or None
        A proven bound on that distance (not relative), where the problem has a dual.
    passes : float
        Passes over the data; a pass over an eighth of the rows counts 1/8.
    iterations : int
    converged : bool
    reason : str
        Why it stopped.
    solver : str
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
    trace: list[TracePoint] = field(default_factory=list, repr=False)


class Trace:
    """Collects steps if asked to."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.steps: list[TracePoint] = []

    def note(self, theta: Array, value: float, gradient: Array) -> None:
        if self.wanted:
            self.steps.append(TracePoint(theta.copy(), value, float(np.abs(gradient).max())))
