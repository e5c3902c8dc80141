"""Proximal Newton for an L1 penalty on rows that are streamed, or on tables too large to be copied by columns.

Each iteration takes a pass for the loss and its gradient. In between, the quadratic model of the loss with the Hessian
of the *working set* is minimised with the penalty unchanged, by coordinate descent (Friedman, Hastie & Tibshirani
2010). Parameters whose gradient exceeds the penalty join the working set. The Hessian takes a pass of its own and is
kept until the set grows or the iterations become slow. Gradients are always exact, so an old Hessian affects the speed
of convergence, but not the solution.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..arrays import Array
from ..kernels import coordinate as kernels
from ..objective import Objective
from .l1_penalty import LossPoint, PenalisedRun, evaluate
from .line_search import line_search
from .solution import Solution

# A working set starts with at most this many parameters and then at most doubles: Hessians grow with its square. It
# grows by at least this share, because all of the Hessian is computed again.
INITIAL_WORKING_SET_SIZE: Final = 256
MIN_GROWTH: Final = 0.25
# The Hessian is renewed if the predicted gain of an iteration exceeds this share of the gain of the one before. A
# new Hessian reduces the gain to about a hundredth.
SLOW_GAIN_RATIO: Final = 0.1
# After this many sweeps of coordinate descent, a Newton step on the support; at most this many of them.
MAX_SWEEPS: Final = 50
MAX_SUPPORT_STEPS: Final = 40
# Relative increase of the diagonal of a singular matrix, which makes its Cholesky factor exist.
DIAGONAL_INCREASE: Final = 1e-10
# The model's estimate of the suboptimality may be too low by about this factor.
SUBOPTIMALITY_FACTOR: Final = 2.0
# If the line search fails, the point is accepted as optimal below this relative suboptimality.
ROUNDING_SUBOPTIMALITY: Final = 1e-7


def minimise_proximal_newton(run: PenalisedRun, model: WorkingModel | None = None) -> Solution:
    """Minimise by proximal Newton steps, with a pass over the rows for each gradient and Hessian.

    On a path ``model`` is that of the previous strength.
    """
    model, gain_before = model or WorkingModel(run.objective), np.inf
    while True:
        joining = _violators(run, model.is_member)
        if joining.any():
            model.renew(run.point.theta, joining)
        target, run.gain = model.minimum(run)
        if run.gain > SLOW_GAIN_RATIO * gain_before and model.theta is not run.point.theta:
            model.renew(run.point.theta, joining)
            target, run.gain = model.minimum(run)
        scale = max(abs(run.value), 1e-300)
        is_complete = not _violators(run, model.is_member).any()
        if not run.point.is_finite or not np.isfinite(run.gain):
            return run.finish("not finite")
        if run.gain <= run.tol * scale / SUBOPTIMALITY_FACTOR and is_complete:
            return run.finish("optimal")
        if run.iterations >= run.max_iter:
            return run.finish("max_iter")
        found = _line_search_point(run, target)
        if found is not None:
            gain_before = run.gain
            run.iterations += 1
            run.move_to(found)
        elif model.theta is run.point.theta:
            is_optimal = run.gain <= ROUNDING_SUBOPTIMALITY * scale and is_complete
            return run.finish("optimal" if is_optimal else "no further descent")
        else:
            gain_before = 0.0  # the Hessian is too old for this point


def _line_search_point(run: PenalisedRun, target: Array) -> LossPoint | None:
    """The first point on the line to the model's minimum at which the objective decreases sufficiently."""

    def at(theta: Array) -> tuple[float, LossPoint]:
        (point,) = evaluate(run.objective, [theta])
        return run.value_at(point) if point.is_finite else np.inf, point

    theta = run.point.theta
    found = line_search(at, theta, run.value, theta - target, run.gain)
    return None if found is None else found[1][1]


def _violators(run: PenalisedRun, is_member: Array) -> Array:
    """A mask of parameters outside the working set that are not 0 or cannot stay 0; at most the largest violations.

    If there are few of them, those with the next largest gradients are added.
    """
    theta, l1 = run.point.theta, run.l1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(l1 > 0, np.abs(run.smooth_gradient) / l1, np.inf)
    ratio = np.where(is_member, 0.0, np.where(theta != 0, np.inf, ratio))
    violators, n_members = ratio > 1.0, int(is_member.sum())
    n_violators = int(violators.sum())
    if n_violators == 0 or run.objective.penalty.l1 == 0:
        return np.asarray(violators)
    n_joining = min(max(n_violators, round(MIN_GROWTH * n_members)), max(INITIAL_WORKING_SET_SIZE, n_members))
    n_joining = min(n_joining, ratio.size)
    return np.asarray(~is_member & (ratio >= np.partition(ratio, -n_joining, axis=None)[-n_joining]))


class WorkingModel:
    """The quadratic model of the mean loss in the parameters of the working set; intercepts are always members."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.is_member = np.zeros(objective.shape, dtype=bool)
        self.is_member[:, objective.n_columns :] = True
        self.theta: Array | None = None  #: where the Hessian was computed
        self.hessian = np.zeros((0, 0))

    def renew(self, theta: Array, joining: Array) -> None:
        """Compute the Hessian at ``theta``, with further members (a mask)."""
        self.theta, self.is_member = theta, self.is_member | joining
        self.hessian = self.objective.member_hessian(theta, self.is_member)

    def minimum(self, run: PenalisedRun) -> tuple[Array, float]:
        """The parameters at which the penalised model around the run's point is least, and the decrease from there."""
        if self.theta is None:
            self.renew(run.point.theta, np.zeros_like(self.is_member))
        members, theta = self.is_member, run.point.theta
        origin, ridge, l1 = theta[members], run.objective.ridge[members], run.l1[members]
        slope = run.point.slope[members] + ridge * origin
        x, slope_at_x = self._minimised(slope, origin, ridge, l1, 1e-3 * run.tol * abs(run.value))
        gain = -0.5 * float((x - origin) @ (slope + slope_at_x)) - float(l1 @ (np.abs(x) - np.abs(origin)))
        target = theta.copy()
        target[members] = x
        return target, gain

    def _minimised(self, slope: Array, origin: Array, ridge: Array, l1: Array, tolerance: float) -> tuple[Array, Array]:
        """Parameters that minimise the model, and its gradient there."""
        x = origin.copy()
        for _ in range(MAX_SUPPORT_STEPS):
            slope_at_x = slope.copy()
            sweeps = kernels.minimise_quadratic(
                self.hessian, ridge, l1, origin, slope_at_x, x, tolerance, 1e-4, MAX_SWEEPS
            )
            if sweeps < MAX_SWEEPS:
                break
            x = self._support_step(slope_at_x, ridge, l1, x)
        return x, slope_at_x

    def _support_step(self, slope: Array, ridge: Array, l1: Array, x: Array) -> Array:
        """The minimum over the parameters that are not 0, or the first point on the way there where one becomes 0.

        Sweeps are slow where columns are nearly collinear; once the signs are known, one linear system remains.
        """
        support = np.flatnonzero((x != 0) | (l1 == 0))
        matrix = self.hessian[np.ix_(support, support)] + np.diag(ridge[support])
        matrix[np.diag_indices(len(support))] *= 1 + DIAGONAL_INCREASE
        try:
            change = -cho_solve(cho_factor(matrix), slope[support] + l1[support] * np.sign(x[support]))
        except np.linalg.LinAlgError:
            return x
        approaches_zero = (change * x[support] < 0) & (l1[support] > 0)
        crossing = np.where(approaches_zero, -x[support] / np.where(change == 0, 1.0, change), np.inf)
        length = min(1.0, crossing.min(initial=np.inf))
        new = x.copy()
        new[support] = np.where(crossing <= length, 0.0, x[support] + length * change)
        return new
