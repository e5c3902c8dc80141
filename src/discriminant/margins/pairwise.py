"""Sequential minimal optimisation of the soft margin, with its steps, to show how it works.

Problem: the dual maximises ``sum(a) - |sum a_i y_i x_i|^2 / 2`` with ``0 <= a <= C`` and ``sum(a_i y_i) = 0``. Method:
each step solves it for two rows, those that violate the optimality conditions most (Platt 1998; Keerthi et al. 2001).
The fits of `soft_margin` are much faster. Cost: a kernel matrix, and a pass over the rows for each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ..arrays import Array

#: The violation of the optimality conditions, in units of the margin, at which the steps end.
MAX_VIOLATION: Final = 1e-4
#: Steps at most: enough for some hundreds of rows and moderate C.
MAX_STEPS: Final = 5_000


@dataclass(frozen=True, eq=False)
class PairStep:
    """The state after a step: the pair of rows, the dual variables, the line, the dual objective and the violation."""

    pair: tuple[int, int] | None  #: None before the first step
    alpha: Array
    coef: Array
    intercept: float
    objective: float
    violation: float


def pairwise_steps(X: Array, sign: Array, C: float, max_steps: int = MAX_STEPS) -> list[PairStep]:
    """The steps for rows whose classes have the signs -1 and 1, from ``a = 0`` to the optimum."""
    kernel, alpha = X @ X.T, np.zeros(len(X))
    residual, pair, steps = sign.astype(np.float64), None, list[PairStep]()
    while True:
        can_rise = np.where(sign > 0, alpha < C, alpha > 0)
        can_fall = np.where(sign > 0, alpha > 0, alpha < C)
        i = int(np.where(can_rise, residual, -np.inf).argmax())
        j = int(np.where(can_fall, residual, np.inf).argmin())
        violation, coef = float(residual[i] - residual[j]), (alpha * sign) @ X
        objective = float(alpha.sum() - 0.5 * coef @ coef)
        middle = float(residual[i] + residual[j]) / 2
        steps.append(PairStep(pair, alpha.copy(), coef, middle, objective, max(violation, 0.0)))
        if violation <= MAX_VIOLATION or len(steps) > max_steps:
            return steps
        curvature = kernel[i, i] + kernel[j, j] - 2 * kernel[i, j]
        slack_i = C - alpha[i] if sign[i] > 0 else alpha[i]
        slack_j = alpha[j] if sign[j] > 0 else C - alpha[j]
        step = min(violation / curvature if curvature > 0 else np.inf, slack_i, slack_j)
        alpha[i] = np.clip(alpha[i] + sign[i] * step, 0.0, C)
        alpha[j] = np.clip(alpha[j] - sign[j] * step, 0.0, C)
        residual -= step * (kernel[:, i] - kernel[:, j])
        pair = i, j
