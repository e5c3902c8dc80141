"""The state of a descent on a smooth objective, with the step that all methods share.

Steps go along ``-H g`` for an approximate inverse Hessian H and are shortened until the objective decreases enough. An
iteration costs one pass for value and gradient, and one more each time a step is shortened.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..arrays import Array
from ..objective import Objective
from .line_search import line_search
from .solution import Run

# A loss this small, without a penalty, has its infimum 0 at infinity: the classes are separated.
VANISHING_LOSS: Final = 1e-9
# If the line search fails, accept the point when its relative suboptimality is at rounding level.
ROUNDING_SUBOPTIMALITY: Final = 1e-7
# A smaller relative decrease is below the rounding of the value, a sum over the rows; only the gradient shows it.
MIN_RESOLVED_SUBOPTIMALITY: Final = 1e-13


def has_vanished(objective: Objective, value: float) -> bool:
    """Whether the loss goes to 0 as parameters diverge."""
    return value < VANISHING_LOSS and objective.penalty.alpha == 0


class Descent(Run):
    """The minimisation of a smooth objective, step by step."""

    #: The squared share of the last step's decrease that the quadratic model missed.
    model_error = np.inf

    def __init__(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool, solver: str) -> None:
        super().__init__(objective, tol, max_iter, trace, solver)
        self.move_to(theta, steps=0)

    def has_diverged(self, decrement: float) -> bool:
        """Whether there is no minimum; estimates the suboptimality by half the Newton ``decrement`` ``g'Hg``."""
        self.suboptimality = 0.5 * decrement / max(abs(self.value), 1e-300)
        if not np.isfinite(self.value) or not np.isfinite(decrement):
            self.reason = "not finite"
        elif has_vanished(self.objective, self.value):
            self.reason = "vanishing loss"
        return bool(self.reason)

    def ends(self, decrement: float) -> bool:
        """Whether the descent ends at a point with this Newton ``decrement``."""
        if self.has_diverged(decrement):
            return True
        if self.suboptimality <= self.tol or self.iterations >= self.max_iter:
            self.reason = "optimal" if self.suboptimality <= self.tol else "max_iter"
        return bool(self.reason)

    def step_along(self, direction: Array) -> tuple[Array, Array] | None:
        """Move along ``-direction``; the L-BFGS pair (s, y) of the step, None where no step descends."""
        decrement = float(np.vdot(self.gradient, direction))
        found = line_search(self.objective.value_and_gradient, self.theta, self.value, direction, decrement)
        if found is None and self.suboptimality <= MIN_RESOLVED_SUBOPTIMALITY:
            found = self._with_smaller_gradient(self.theta - direction)
        if found is None:
            self.reason = "optimal" if self.suboptimality <= ROUNDING_SUBOPTIMALITY else "no further descent"
            return None
        new, (value, gradient) = found
        s, y = new - self.theta, gradient - self.gradient
        # A quadratic function decreases by the mean of its slopes at both ends.
        missed = self.value - value + 0.5 * float(np.vdot(s, gradient + self.gradient))
        ratio = 4 * missed / max(float(np.vdot(s, y)), 1e-300)
        self.model_error = min(abs(ratio), 1.0) ** 2
        self.iterations += 1
        self.set_point(new, value, gradient)
        return s, y

    def _with_smaller_gradient(self, theta: Array) -> tuple[Array, tuple[float, Array]] | None:
        """The point, if its gradient is smaller: its value differs by the rounding of the sums only."""
        value, gradient = self.objective.value_and_gradient(theta)
        smaller = np.abs(gradient).max() < 0.5 * np.abs(self.gradient).max()
        return (theta, (value, gradient)) if smaller and np.isfinite(value) else None

    def move_to(self, theta: Array, steps: int = 1) -> None:
        """Move to a point without a line search."""
        self.iterations += steps
        self.set_point(theta, *self.objective.value_and_gradient(theta))

    def last_step(self, direction: Array, share: float) -> None:
        """Take a step that is expected to leave this ``share`` of the suboptimality, and end."""
        expected = self.suboptimality * share
        if self.step_along(direction) is not None:
            self.suboptimality, self.reason = expected, "optimal"
