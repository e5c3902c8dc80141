"""The way of a solver, iteration by iteration, in the units of the data, whatever units the solver worked in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..objective import Objective
from ..results import Result, aligned, number
from .smooth import TracePoint

#: A printed trace has so many iterations from the beginning, and so many from the end.
_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Result):
    """Where a solver was at each iteration, from the start on, in the units of the data.

    Attributes
    ----------
    coef : array of shape (T, S, p)
        Coefficients at each of T points; S is 1 for two classes, else the number of classes.
    intercept : array of shape (T, S)
    objective : array of shape (T,)
        Mean loss plus penalty, which the solver minimises.
    log_likelihood : array of shape (T,)
        Of all rows, without the penalty; of another loss than the logistic minus its sum.
    gradient_norm : array of shape (T,)
        Length of the gradient of the log-likelihood less the penalty, in coefficients and intercept.
    columns : tuple of str
        What the p columns are called.

    See Also
    --------
    Solution : Where the solver ended, and why.
    figures.descent_trace : Draws the way.
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
            What was minimised.
        points : sequence of TracePoint
            In the solver's own units.

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
        measured = objective.penalised[:1] * theta  # whose rows are alike, also where all K scores are free
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
        """Steps taken."""
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
        shown = [t for t in range(total) if t < _SHOWN or t >= total - _SHOWN]
        rows = [[str(t), *(number(values[t], 6) for values in list(table.values())[1:])] for t in shown]
        if total > 2 * _SHOWN:
            rows.insert(_SHOWN, ["...", *[""] * (len(table) - 1)])
        return "\n".join(aligned([[name.replace("_", " ") for name in table], *rows]))
