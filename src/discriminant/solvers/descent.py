"""Descent on a smooth objective: the line search, L-BFGS, and preconditioners that cost next to nothing.

Steps go along ``-H g``, H an approximate inverse Hessian. L-BFGS (Nocedal 1980) starts from a preconditioner and
corrects it by what the last gradients have shown; with the inverse of a sample's Hessian it is a Newton method that
learns the difference between sample and whole (`newton`). A step is shortened until the objective falls enough (Armijo
1966). An iteration costs one pass for value and gradient, and one more for each time a step is shortened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import reduce
from ..moments import ClassMoments
from ..moments.covariance import factorised
from ..objective import Objective
from .solution import Solution, Trace

Array = np.ndarray[Any, Any]
Preconditioner = Callable[[Array], Array]

#: Pairs of steps and gradient changes that L-BFGS remembers.
_MEMORY = 12
#: The share of the gain promised by the slope that a step must bring (Armijo's condition).
_SUFFICIENT = 1e-4
#: A value this many relative units above another is as good: rounding of the sums over the rows.
_ROUNDING = 4 * float(np.finfo(float).eps)
#: Up to this many columns a p x p matrix is worth its factorisation.
_MOST_COLUMNS = 2_000
#: Rows that the covariance of the preconditioner is taken from: more make it better than the preconditioner can be.
_SAMPLE_ROWS = 20_000
#: A loss this small has no minimum but 0, at infinity: the classes are separated.
VANISHING = 1e-9
#: Where no step descends, a relative excess up to this is due to rounding, and the point as good as optimal.
_AS_GOOD_AS_OPTIMAL = 1e-7
#: Beyond this many values a pass only to look at the last step is not worth its time (a fifth of a fit's).
_LARGE = 2_000_000


def descends_enough(new: float, value: float, promised: float) -> bool:
    """Armijo's condition: whether ``new`` is below ``value`` by a share of what was promised, but for rounding."""
    return bool(new <= value - _SUFFICIENT * promised + _ROUNDING * abs(value))


def line_search(
    evaluate: Callable[[Array], Any], theta: Array, value: float, direction: Array, decrement: float
) -> tuple[Array, Any] | None:
    """The first point along ``-direction`` that descends enough, and what was found there.

    Parameters
    ----------
    evaluate : function from a point to a tuple
        Whose first entry is the function to be minimised.
    theta : array
        Where the search starts.
    value : float
        The function there.
    direction : array
    decrement : float
        ``gradient'direction``, how fast the function falls at first.

    Returns
    -------
    (array, tuple) or None
        The point and what ``evaluate`` gave; None where rounding leaves nothing to gain.
    """
    length = 1.0
    for _ in range(40):
        new = theta - length * direction
        found = evaluate(new)
        if descends_enough(found[0], value, length * decrement):
            return new, found
        if length * decrement < _ROUNDING * abs(value):
            return None
        # The minimum of the parabola through what is known, kept within bounds.
        rise = found[0] - value + length * decrement
        guess = 0.5 * length**2 * decrement / rise if np.isfinite(rise) and rise > 0 else 0.1 * length
        length = float(np.clip(guess, 0.1 * length, 0.5 * length))
    return None


class LBFGSMemory:
    """The last pairs (step, change of gradient), and the inverse Hessian they imply."""

    def __init__(self, size: int = _MEMORY) -> None:
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=size)

    def learn(self, step: Array, change: Array) -> None:
        """Remember a pair, unless it shows no curvature."""
        curvature = float(np.vdot(step, change))
        if curvature > 1e-14 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs.append((step, change, 1 / curvature))

    def direction(self, gradient: Array, precondition: Preconditioner) -> Array:
        """Inverse Hessian times gradient (two-loop recursion), the preconditioner corrected by the pairs."""
        q = gradient.copy()
        shares = []
        for step, change, inverse in reversed(self.pairs):
            share = inverse * np.vdot(step, q)
            shares.append(share)
            q -= share * change
        q = precondition(q)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            q += (share - inverse * np.vdot(change, q)) * step
        return q


class Descent:
    """A minimisation under way: where it is, how far it has come, and why it ended."""

    def __init__(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool, solver: str) -> None:
        self.objective, self.tol, self.max_iter, self.solver = objective, tol, max_iter, solver
        self.iteration, self.excess, self.reason, self.estimated = 0, np.inf, "", False
        self._trace = Trace(trace)
        self._stand_at(theta, *objective.value_and_gradient(theta))

    def _stand_at(self, theta: Array, value: float, gradient: Array) -> None:
        self.theta, self.value, self.gradient = theta, value, gradient
        self._trace.note(theta, value, gradient)

    def is_hopeless(self, decrement: float) -> bool:
        """Note the ``decrement`` of the next step, twice what it promises to gain; whether there is no minimum."""
        self.excess = 0.5 * decrement / max(abs(self.value), 1e-300)
        if not np.isfinite(self.value) or not np.isfinite(decrement):
            self.reason = "not finite"
        elif self.value < VANISHING:
            self.reason = "vanishing loss"
        return bool(self.reason)

    def ends(self, decrement: float) -> bool:
        """Whether the descent ends here, where the next step has this ``decrement``."""
        if self.is_hopeless(decrement):
            return True
        if self.excess <= self.tol or self.iteration >= self.max_iter:
            self.reason = "optimal" if self.excess <= self.tol else "max_iter"
        return bool(self.reason)

    def move(self, direction: Array) -> tuple[Array, Array] | None:
        """Go along ``-direction``; the step and the change of the gradient, None where no step descends."""
        decrement = float(np.vdot(self.gradient, direction))
        found = line_search(self.objective.value_and_gradient, self.theta, self.value, direction, decrement)
        if found is None:
            self.reason = "optimal" if self.excess <= _AS_GOOD_AS_OPTIMAL else "no further descent"
            return None
        (new, (value, gradient)), before, slope = found, self.theta, self.gradient
        self.iteration += 1
        self._stand_at(new, value, gradient)
        return new - before, gradient - slope

    def jump(self, theta: Array) -> None:
        """Go to a point, whether it descends or not."""
        self.iteration += 1
        self._stand_at(theta, *self.objective.value_and_gradient(theta))

    def finish(self, direction: Array, share: float) -> None:
        """End one step ahead, expected to leave a ``share`` of the excess.

        On large data without looking: what is reported there is the prediction. On others the step is checked.
        """
        self.reason, new = "optimal", self.theta - direction
        if self.objective.data.n_rows * self.objective.n_columns > _LARGE:
            self.estimated = True
            value = self.value - (1 - share) * self.excess * abs(self.value)
            gradient = np.sqrt(max(share, 0.0)) * self.gradient
        else:
            value, gradient = self.objective.value_and_gradient(new)
            if not value <= self.value * (1 + 1e-15):
                return
        self.excess *= share
        self.iteration += 1
        self._stand_at(new, value, gradient)

    def solution(self) -> Solution:
        return Solution(
            theta=self.theta,
            objective=self.value,
            gradient_norm=float(np.abs(self.gradient).max()),
            excess=self.excess,
            passes=self.objective.passes[0],
            iterations=self.iteration,
            converged=self.reason == "optimal",
            reason=self.reason,
            solver=self.solver,
            estimated=self.estimated,
            trace=self._trace.points,
        )


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size by L-BFGS."""
    run, memory = Descent(objective, theta, tol, max_iter, trace, "lbfgs"), LBFGSMemory()
    precondition = moment_preconditioner(objective, theta)
    while True:
        direction = memory.direction(run.gradient, precondition)
        if run.ends(float(np.vdot(run.gradient, direction))):
            return run.solution()
        moved = run.move(direction)
        if moved is None:
            return run.solution()
        memory.learn(*moved)


def moment_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """Inverse of ``A x S + ridge``: S the covariance of the rows, A the curvature of the loss at the class shares.

    Where S would be too large, the inverse of the Hessian's diagonal.
    """
    p = objective.n_columns
    if p > _MOST_COLUMNS:
        diagonal = objective.column_curvatures(theta)
        diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())
        return lambda gradient: gradient / diagonal
    values, turn = np.linalg.eigh(_curvature_at_shares(objective))
    spread = np.zeros((objective.shape[1], objective.shape[1]))
    spread[:p, :p] = _covariance(objective)
    spread[p:, p:] = 1.0
    ridge = np.diag(objective.ridge[0])
    factors = [factorised(max(value, 1e-8) * spread + ridge) for value in values]

    def precondition(gradient: Array) -> Array:
        turned = turn.T @ gradient
        return turn @ np.concatenate([f.solve(row[None]) for f, row in zip(factors, turned, strict=True)])

    return precondition


def _curvature_at_shares(objective: Objective) -> Array:
    """The loss's second derivatives where every row has the probabilities of the class shares."""
    shares = objective.class_weights / objective.total_weight
    if objective.n_functions == 1:
        return np.array([[shares[0] * shares[1]]])
    contrasts = objective.contrasts
    return contrasts @ (np.diag(shares) - np.outer(shares, shares)) @ contrasts.T


def _covariance(objective: Objective) -> Array:
    """Covariance of the standardised rows, from a sample."""
    data, scale = objective.data, objective.standardised.scale
    step = max(1, data.n_rows // max(_SAMPLE_ROWS, 10 * data.rows.n_columns))
    sample = data.every(step)
    moments = reduce(sample, ClassMoments(len(data.classes), data.rows.n_columns), objective.n_jobs)
    objective.passes[0] += objective.share / step
    return moments.total().matrix / moments.total_weight / np.outer(scale, scale)
