"""The state of solvers for an L1 or elastic-net penalty, with a duality gap that needs no pass over the rows.

The penalty applies to all K coefficient vectors. An L1 penalty depends on the basis of the scores, so softmax is solved
in its K scores (`symmetric`), not in contrasts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..objective import Objective
from .solution import Run, Solution


def symmetric(objective: Objective) -> Objective:
    """The objective with a linear predictor for each score; the same object if it has that already."""
    if objective.form.n_scores == 1 or objective.symmetric:
        return objective
    return replace(objective, symmetric=True)


@dataclass(frozen=True)
class LossPoint:
    """Parameters with the mean loss and its gradient there, without the penalty; one point, or several stacked."""

    theta: Array
    loss: Any
    slope: Array

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.loss) and np.isfinite(self.slope).all())


def evaluate(objective: Objective, thetas: list[Array]) -> list[LossPoint]:
    """The loss and its gradient at several points, in one pass."""
    found = zip(thetas, objective.losses_and_gradients(thetas), strict=True)
    return [LossPoint(theta, loss, slope) for theta, (loss, slope) in found]


class PenalisedRun(Run):
    """The minimisation for one penalty; ``references`` are for `duality_gaps`."""

    def __init__(
        self, objective: Objective, start: LossPoint, references: list[LossPoint], tol: float, max_iter: int,
        trace: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(objective, tol, max_iter, trace, "coordinate")
        self.references, self.l1, self.gain = references, objective.lasso, np.inf
        self.found: Solution | None = None
        self.move_to(start)

    def move_to(self, point: LossPoint) -> None:
        self.point = point
        self.set_point(
            point.theta, self.value_at(point), minimum_norm_subgradients(point, self.l1, self.objective.ridge)
        )

    def value_at(self, point: LossPoint) -> float:
        return float(penalised_values(point, self.l1, self.objective.ridge))

    @property
    def smooth_gradient(self) -> Array:
        """The gradient of the loss and the L2 penalty."""
        gradient: Array = self.point.slope + self.objective.ridge * self.point.theta
        return gradient

    def finish(self, reason: str) -> Solution:
        """End at the current point, where the next step would decrease the objective by ``gain``."""
        self.reason = reason
        self.suboptimality = max(self.gain, 0.0) / max(abs(self.value), 1e-300)
        self.theta = with_centred_intercepts(self.objective, self.theta)
        point = LossPoint(self.point.theta[None], np.array([self.point.loss]), self.point.slope[None])
        (gap,) = duality_gaps(
            self.objective, point, np.array([self.value]), self.l1, self.objective.ridge, self.references
        )
        self.found = self.solution(None if np.isnan(gap) else float(gap))
        return self.found


def penalised_values(points: LossPoint, l1: Array, ridge: Array) -> Array:
    """The objective at points."""
    size = np.abs(points.theta)
    return np.asarray(points.loss + (size * (l1 + 0.5 * ridge * size)).sum(axis=(-2, -1)))


def minimum_norm_subgradients(points: LossPoint, l1: Array, ridge: Array) -> Array:
    """The subgradient of minimum norm of the objective at points; 0 at the minimum."""
    slope = points.slope + ridge * points.theta
    at_zero = slope - np.clip(slope, -l1, l1)
    found: Array = np.where(points.theta != 0, slope + np.sign(points.theta) * l1, at_zero)
    return found


def with_centred_intercepts(objective: Objective, theta: Array) -> Array:
    """The same softmax model with intercepts that sum to 0 in the units of the data."""
    if objective.form.n_scores == 1 or not objective.form.fit_intercept:
        return theta
    coef, intercept = objective.linear(theta)
    shared = (intercept - coef @ objective.standardised.centre).mean(axis=-1)
    return np.concatenate((theta[..., :-1], theta[..., -1:] - shared[..., None, None]), axis=-1)


def reference_points(objective: Objective) -> list[Array]:
    """Parameters without coefficients, with intercepts around those of the class proportions, for `duality_gaps`."""
    if not objective.fit_intercept or not objective.loss.has_dual:
        return []
    null = null_intercepts(objective)
    changes = np.eye(len(null)) if len(null) > 1 else np.array([[-1.0], [1.0]])
    references = np.zeros((len(changes), *objective.shape))
    references[:, :, -1] = null + changes
    return list(references)


def null_intercepts(objective: Objective) -> Array:
    """The intercepts of the model without coefficients, if there are no offsets."""
    return objective.loss.null_scores(objective.class_weights)


def duality_gaps(
    objective: Objective, points: LossPoint, values: Array, l1: Array, ridge: Array, references: list[LossPoint]
) -> Array:
    """Upper bounds on the suboptimality of stacked points, NaN where there is none.

    The derivatives of the losses with respect to the scores are a dual point; its value is ``loss - slope'theta`` and
    needs no row. It is mixed with the references so that the derivatives in the intercepts vanish, and shrunk until no
    derivative exceeds the penalty. The dual function is concave and 0 at 0, which bounds its value from below in both
    cases.
    """
    p, none = objective.n_columns, np.full(len(values), np.nan)
    if not objective.loss.has_dual or not np.isfinite(points.slope).all():
        return none
    weights, exists = _dual_weights(objective, points, references)
    dual_values, slopes = points.loss - (points.slope * points.theta).sum(axis=(1, 2)), points.slope[..., :p]
    dual_values, slopes = weights[:, 0] * dual_values, weights[:, 0, None, None] * slopes
    for weight, reference in zip(weights[:, 1:].T, references, strict=True):
        dual_values += weight * (reference.loss - float(np.vdot(reference.slope, reference.theta)))
        slopes += weight[:, None, None] * reference.slope[:, :p]
    size, l1, ridge = np.abs(slopes), l1[..., :p], ridge[..., :p]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrink = np.where(size > l1, l1 / size, 1.0).min(axis=(1, 2), initial=1.0)
        over = np.maximum(size - l1, 0.0)
        conjugate = np.where(over > 0, over**2 / (2 * ridge), 0.0).sum(axis=(1, 2))
    lower_bounds = np.maximum(dual_values - conjugate, shrink * dual_values)
    return np.where(exists, np.maximum(values - lower_bounds, 0.0), none)


def _dual_weights(objective: Objective, points: LossPoint, references: list[LossPoint]) -> tuple[Array, Array]:
    """Weights of each point and the references in a mixture without intercept gradient, and whether it exists."""
    weights, exists = np.zeros((len(points.theta), 1 + len(references))), np.ones(len(points.theta), dtype=bool)
    weights[:, 0] = 1.0
    if not objective.fit_intercept:
        return weights, exists
    if not references:
        return weights, ~exists
    A = np.array([reference.slope[:, -1] for reference in references]).T
    for k, slope in enumerate(points.slope[:, :, -1]):
        weights[k, 1:], residual = _nonnegative_least_squares(A, -slope)
        exists[k] = residual <= 1e-14
    return weights / weights.sum(axis=1, keepdims=True), exists


def _nonnegative_least_squares(A: Array, b: Array) -> tuple[Array, float]:
    """The x >= 0 with the smallest ``|A x - b|``, and that distance; one equation needs no iterations."""
    if len(b) > 1:
        from scipy.optimize import nnls  # slow to load

        solution, distance = nnls(A, b)
        return np.asarray(solution), float(distance)
    found, best = np.zeros(A.shape[1]), int(np.argmax(A[0] * b[0]))
    if A[0, best] * b[0] <= 0:
        return found, abs(float(b[0]))
    found[best] = b[0] / A[0, best]
    return found, 0.0
