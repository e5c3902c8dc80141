"""Losses of a row, as functions of its score.

Two-class losses are functions of the margin ``m = y * score`` with y = -1 or +1; here with their derivatives in m:

==============  ==================  ==========================  =======================
loss            f(m)                f'(m)                       f''(m)
==============  ==================  ==========================  =======================
logistic        log(1 + e^-m)       -1 / (1 + e^m)              e^m / (1 + e^m)^2
hinge           max(1 - m, 0)       -1 where m < 1              0
squared hinge   max(1 - m, 0)^2     -2 max(1 - m, 0)            2 where m < 1
smoothed hinge  (u + r) / 2         -(1 + u / r) / 2            2 width^2 / r^3
==============  ==================  ==========================  =======================

with u = 1 - m and r = sqrt(u^2 + 4 width^2): the smoothed hinge lies above the hinge by at most ``width``.

Softmax is a function of K scores s: ``log(sum_k e^s_k) - s_y``, with gradient ``p - e_y`` and Hessian
``diag(p) - p p'``, p the probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import losses as loss_kernels
from .kernels import scores as kernels

Array = np.ndarray[Any, Any]


class MarginLoss:
    """A loss of one margin, its formulas in the kernels, which then pass over dense rows with it."""

    code: int
    width = 0.0
    #: Curvature that may be left out of second derivatives: less than this adds nothing worth its time.
    flat = 0.0

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        """The loss of each row, and its derivative in the score (rows, 1)."""
        sign = 2.0 * codes - 1.0
        value, slope = self.value_and_slope(sign * scores[:, 0])
        return value, (sign * slope)[:, None]

    def curvature(self, scores: Array, codes: Array) -> Array:
        """Second derivative of each row's loss in its score."""
        return self.margin_curvature((2.0 * codes - 1.0) * scores[:, 0])

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of each margin."""
        value, slope = np.empty_like(margin), np.empty_like(margin)
        loss_kernels.values_and_slopes(self.code, self.width, margin, value, slope)
        return value, slope

    def margin_curvature(self, margin: Array) -> Array:
        """f'' of each margin."""
        out = np.empty_like(margin)
        loss_kernels.curvatures(self.code, self.width, margin, out)
        return out


class Logistic(MarginLoss):
    """``log(1 + e^-m)``."""

    code = loss_kernels.LOGISTIC


class SquaredHinge(MarginLoss):
    """``max(1 - m, 0)^2``."""

    code = loss_kernels.SQUARED_HINGE


class SmoothedHinge(MarginLoss):
    """``(u + sqrt(u^2 + 4 width^2)) / 2`` with u = 1 - m."""

    code = loss_kernels.SMOOTHED_HINGE

    def __init__(self, width: float) -> None:
        self.width = width
        # At 20 widths from the kink, where all rows together bend the sum by less than a hundredth.
        self.flat = 2.5e-4 / width


class Hinge:
    """``max(1 - m, 0)``, without a second derivative to minimise it by."""

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of each margin."""
        return np.maximum(1.0 - margin, 0.0), np.where(margin < 1.0, -1.0, 0.0)


class Softmax:
    """``log(sum_k e^s_k) - s_y``."""

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        """The loss of each row, and its gradient in the scores (rows, K); overwrites ``scores``."""
        rows = np.arange(len(codes))
        kernels.subtract_row_maximum(scores)
        value = -scores[rows, codes]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        value += np.log(total)
        scores /= total[:, None]
        scores[rows, codes] -= 1.0
        return value, scores

    def probabilities(self, scores: Array) -> Array:
        """p of each row; overwrites ``scores``."""
        kernels.subtract_row_maximum(scores)
        np.exp(scores, out=scores)
        kernels.divide_rows_by_sum(scores)
        return scores
