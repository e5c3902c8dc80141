"""The result of a solver, its iterations, and the state of a minimisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..objective import Objective
from ..results import Result, aligned, number, several


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Result):
    """The point at which a solver stopped, with a bound or an estimate of its suboptimality.

    Attributes
    ----------
    theta : array
        Parameters in standardised columns.
    objective : float
        Its value at ``theta``.
    gradient_norm : float
        Largest derivative, in standardised columns (of the smooth part plus the nearest subgradient of an L1 penalty).
    suboptimality : float
        Estimated difference between the objective and its minimum, relative to the objective.
    duality_gap : float or None
        An upper bound on that difference (not relative), for problems with a dual.
    passes : float
        Passes over the data; a pass over an eighth of the rows counts 1/8.
    iterations : int
        Steps, including those on samples of the rows.
    converged : bool
    reason : str
        Reason for stopping.
    solver : str
    trace : list of TracePoint
        The iterations, if traced.

    See Also
    --------
    TracePoint : One iteration.
    """

    theta: Array
    objective: float
    gradient_norm: float
    suboptimality: float
    passes: float
    iterations: int
    converged: bool
    reason: str
    solver: str
    duality_gap: float | None = None
    trace: list[TracePoint] = field(default_factory=list)

    def __str__(self) -> str:
        effort = f"{several(self.iterations, 'iteration')} and {number(self.passes)} passes"
        values = f"objective {number(self.objective, 8)}, largest derivative {number(self.gradient_norm, 2)}"
        suboptimality = f"relative suboptimality about {number(self.suboptimality, 2)}"
        return f"Solver {self.solver}: {self.reason} after {effort}; {values}, {suboptimality}"


@dataclass(frozen=True)
class TracePoint:
    """One iteration of a solver.

    Parameters
    ----------
    theta : array
        Parameters in standardised columns.
    value : float
        The objective there.
    gradient : array
        Its derivatives in ``theta``.

    See Also
    --------
    Solution : Its ``trace`` is a list of these.
    Trace : The same in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant.solvers import TracePoint
    >>> TracePoint(np.zeros((1, 2)), 0.69, np.array([[0.1, -0.5]])).gradient_norm
    0.5
    """

    theta: Array
    value: float
    gradient: Array

    @property
    def gradient_norm(self) -> float:
        """The largest derivative."""
        return float(np.abs(self.gradient).max())


class Run:
    """The state of a minimisation: its point, its progress, and the reason for stopping."""

    def __init__(self, objective: Objective, tol: float, max_iter: int, trace: bool, solver: str) -> None:
        self.objective, self.tol, self.max_iter, self.solver, self.traced = objective, tol, max_iter, solver, trace
        self.iterations, self.suboptimality, self.reason = 0, np.inf, ""
        self.trace: list[TracePoint] = []

    def set_point(self, theta: Array, value: float, gradient: Array) -> None:
        """Make a point the current one, and add it to the trace if there is one."""
        self.theta, self.value, self.gradient = theta, value, gradient
        if self.traced:
            self.trace.append(TracePoint(theta.copy(), value, np.array(gradient)))

    def solution(self, duality_gap: float | None = None) -> Solution:
        """The result at the current point."""
        return Solution(
            theta=self.theta,
            objective=self.value,
            gradient_norm=float(np.abs(self.gradient).max()),
            suboptimality=self.suboptimality,
            passes=self.objective.counter.count,
            iterations=self.iterations,
            converged=self.reason == "optimal",
            reason=self.reason,
            solver=self.solver,
            duality_gap=duality_gap,
            trace=self.trace,
        )


# A printed trace has this many iterations from the beginning, and this many from the end.
SHOWN_ITERATIONS: Final = 8


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Result):
    """The iterates of a solver, from the start on, in the units of the data.

    Attributes
    ----------
    coef : array of shape (T, S, p)
        Coefficients at each of T points; S is 1 for two classes, else the number of classes.
    intercept : array of shape (T, S)
    objective : array of shape (T,)
        Mean loss plus penalty, which the solver minimises.
    log_likelihood : array of shape (T,)
        Of all rows, without the penalty; for losses other than the logistic, minus their sum.
    gradient_norm : array of shape (T,)
        Length of the gradient of the log-likelihood minus the penalty, in coefficients and intercept.
    columns : tuple of str
        Names of the p columns.

    See Also
    --------
    Solution : The result of the solver.
    figures.descent_trace : Figure of a trace.
    """

    coef: Array
    intercept: Array
    objective: Array
    log_likelihood: Array
    gradient_norm: Array
    columns: tuple[str, ...]

    @classmethod
    def of(cls, objective: Objective, points: Sequence[TracePoint]) -> Trace:
        """The points of a solver in the units of the data.

        Parameters
        ----------
        objective : Objective
            The objective that was minimised.
        points : sequence of TracePoint
            Iterations in standardised columns.

        Returns
        -------
        Trace
        """
        theta, gradient = (np.array([getattr(point, name) for point in points]) for name in ("theta", "gradient"))
        values = np.array([point.value for point in points])
        coef, intercept = objective.linear(theta)
        standard, p = objective.standardised, objective.n_columns
        slopes = gradient[..., :p] * standard.scale
        if objective.fit_intercept:
            slopes = slopes + standard.centre * gradient[..., p:]
        whole = np.concatenate((slopes, gradient[..., p:]), axis=-1).reshape(len(points), -1)
        measured = objective.penalty_factor[:1] * theta  # whose rows are alike, also where all K scores are free
        penalty = objective.penalty.l2 / 2 * measured**2 + objective.penalty.l1 * np.abs(measured)
        names = objective.data.rows.names or tuple(f"x{j}" for j in range(p))
        return cls(
            coef=coef,
            intercept=intercept - coef @ standard.centre,
            objective=values,
            log_likelihood=-objective.total_weight * (values - penalty.sum(axis=(1, 2))),
            gradient_norm=objective.total_weight * np.linalg.norm(whole, axis=1),
            columns=tuple(names),
        )

    @property
    def n_iterations(self) -> int:
        """Number of steps."""
        return len(self.objective) - 1

    def _columns(self) -> dict[str, list[Any]]:
        scores = self.intercept.shape[1]
        parameters = np.concatenate((self.intercept[..., None], self.coef), axis=2)
        measured = {name: getattr(self, name).tolist() for name in ("log_likelihood", "gradient_norm", "objective")}
        taken = {"iteration", "intercept", *measured}
        names = ["intercept", *(f"w of {name}" if name in taken else name for name in self.columns)]
        named = {
            name if scores == 1 else f"{name} ({k})": parameters[:, k, j].tolist()
            for k in range(scores)
            for j, name in enumerate(names)
        }
        return {"iteration": list(range(len(self.objective))), **named, **measured}

    def __str__(self) -> str:
        table, total = self._columns(), len(self.objective)
        shown = [t for t in range(total) if t < SHOWN_ITERATIONS or t >= total - SHOWN_ITERATIONS]
        rows = [[str(t), *(number(values[t], 6) for values in list(table.values())[1:])] for t in shown]
        if total > 2 * SHOWN_ITERATIONS:
            rows.insert(SHOWN_ITERATIONS, ["...", *[""] * (len(table) - 1)])
        return "\n".join(aligned([[name.replace("_", " ") for name in table], *rows]))
