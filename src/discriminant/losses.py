"""Losses of a row as functions of its scores: values, derivatives and properties that solvers need.

Two-class losses are functions of the margin ``m = y * score``, y = -1 or +1. With their derivatives in m:

==============  ==================  ==========================  =======================
loss            f(m)                f'(m)                       f''(m)
==============  ==================  ==========================  =======================
logistic        log(1 + e^-m)       -1 / (1 + e^m)              e^m / (1 + e^m)^2
hinge           max(1 - m, 0)       -1 where m < 1              0
squared hinge   max(1 - m, 0)^2     -2 max(1 - m, 0)            2 where m < 1
smoothed hinge  (u + r) / 2         -(1 + u / r) / 2            2 width^2 / r^3
perceptron      max(-m, 0)          -1 where m < 0              0
squared         u^2 / 2             -u                          1
squared sigm.   (1 - s)^2           -2 s (1 - s)^2              2 s (1 - s)^2 (3 s - 1)
==============  ==================  ==========================  =======================

with u = 1 - m, r = sqrt(u^2 + 4 width^2) and s = 1 / (1 + e^-m): the smoothed hinge exceeds the hinge by at most
``width``. The squared loss is ``(y - score)^2 / 2``; the squared error of a sigmoid is not convex.

Softmax is a function of K scores s: ``log(sum_k e^s_k) - s_y``, with gradient ``p - e_y`` and Hessian
``diag(p) - p p'``, p the probabilities.

The loss of ordered classes (`OrdinalLoss`) is a function of K - 1 scores, see `ordinal`.

The other formulas are in ``src/native/losses.hpp``; passes over dense rows evaluate them there (`kernels.losses`).
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from scipy.linalg import helmert

from .arrays import Array
from .kernels import losses as kernels
from .ordinal import Derivatives, OrderedClasses


class Loss:
    """A loss of the scores of a row: one score for losses of a margin, one for each class for softmax.

    Scores are float64 arrays (rows, scores), codes the class of each row. Second derivatives are represented by their
    *curvatures* (rows, scores), the IRLS weights: the second derivative in the score, or the softmax probabilities.
    """

    code: ClassVar[int]
    #: The largest difference between a smoothed loss and the loss that it replaces.
    width: float = 0.0
    #: Rows with less curvature are omitted from Hessians.
    negligible_curvature: float = 0.0
    is_convex: ClassVar[bool] = True
    #: Whether gradient methods converge.
    is_smooth: ClassVar[bool] = True
    #: Whether it is a negative log-likelihood, whose derivatives at any scores are a dual point.
    has_dual: ClassVar[bool] = False
    #: Whether a row has one residual, y - p, whose variance is its curvature.
    has_one_residual: ClassVar[bool] = False
    #: The largest curvature divided by that at score 0.
    max_curvature_ratio: ClassVar[float] = 1.0

    def contrasts(self, n_classes: int, symmetric: bool) -> Array:  # noqa: ARG002
        """The matrix (C, scores) from C linear predictors to scores."""
        return np.ones((1, 1))

    def null_scores(self, class_weights: Array) -> Array:
        """The scores with the smallest mean loss if all rows have the same scores."""
        logs = np.log(np.maximum(class_weights, 1e-300))
        return np.array([logs[1] - logs[0]])

    def expected_curvature(self, class_shares: Array) -> Array:
        """The second derivatives (scores, scores) of a row whose class probabilities are the class proportions."""
        return np.array([[class_shares.prod()]])

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        """The loss of each row (rows,) and its derivatives in the scores (rows, scores).

        If there are m times as many rows of scores as codes, each code applies to m consecutive rows of scores.
        """
        values, slopes = np.empty(len(scores)), np.empty_like(scores)
        kernels.evaluate(self.code, self.width, scores, codes, values, slopes)
        return values, slopes

    def curvatures(self, scores: Array, codes: Array) -> Array:
        """The IRLS weight of each score, for softmax its probability, (rows, scores)."""
        found = scores.copy()
        kernels.curvatures(self.code, self.width, found, codes)
        return found

    def multiply(self, curvatures: Array, weight: Array, change: Array) -> None:
        """Multiply a change of the scores (rows, scores) by the weighted second derivatives of each row, in place."""
        kernels.multiply_by_curvatures(self.code, curvatures, weight, change)

    def curvature_matrices(self, curvatures: Array, contrasts: Array) -> Array:  # noqa: ARG002
        """The second derivatives of each row's loss in the linear predictors, (rows, C, C)."""
        return curvatures[:, :, None]

    def diagonal_curvatures(self, curvatures: Array, contrasts: Array) -> Array:  # noqa: ARG002
        """The diagonals of `curvature_matrices`, (rows, C)."""
        return curvatures


class MarginLoss(Loss):
    """A loss of the margin of a row."""

    def value_and_slope(self, margin: Array) -> tuple[Array, Array]:
        """f and f' of margins in an array of any shape."""
        flat = np.ascontiguousarray(margin, dtype=np.float64).reshape(-1, 1)
        values, slopes = self.evaluate(flat, np.ones(len(flat), dtype=np.int32))
        return values.reshape(margin.shape), slopes.reshape(margin.shape)


class Logistic(MarginLoss):
    """``log(1 + e^-m)``."""

    code = kernels.LOGISTIC
    has_dual = True
    has_one_residual = True


class SquaredHinge(MarginLoss):
    """``max(1 - m, 0)^2``."""

    code = kernels.SQUARED_HINGE


class SmoothedHinge(MarginLoss):
    """``(u + sqrt(u^2 + 4 width^2)) / 2`` with u = 1 - m."""

    code = kernels.SMOOTHED_HINGE

    def __init__(self, width: float) -> None:
        self.width = width
        # The curvature at 20 widths from margin 1: rows with larger distances add less than a hundredth.
        self.negligible_curvature = 2.5e-4 / width


class Squared(MarginLoss):
    """``(1 - m)^2 / 2``, which is ``(y - score)^2 / 2`` (least mean squares, Widrow & Hoff 1960)."""

    code = kernels.SQUARED

    def expected_curvature(self, class_shares: Array) -> Array:  # noqa: ARG002
        return np.ones((1, 1))


class SquaredSigmoid(MarginLoss):
    """``(1 - s)^2``, s = 1 / (1 + e^-m): the squared error of a sigmoid whose target is 0 or 1."""

    code = kernels.SQUARED_SIGMOID
    is_convex = False
    #: At s = (9 + sqrt(33)) / 24, where ``2 s (1 - s)^2 (3 s - 1)`` is largest; at s = 1/2 it is 1/8.
    max_curvature_ratio = 1.2325

    def expected_curvature(self, class_shares: Array) -> Array:
        return 0.5 * super().expected_curvature(class_shares)


class PerceptronLoss(MarginLoss):
    """``max(-m, 0)``."""

    code = kernels.PERCEPTRON
    is_smooth = False


class Hinge(MarginLoss):
    """``max(1 - m, 0)``."""

    code = kernels.HINGE
    is_smooth = False


#: Losses of a margin by their names.
MARGIN_LOSSES: Final[dict[str, MarginLoss]] = {
    "perceptron": PerceptronLoss(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "squared": Squared(),
    "logistic": Logistic(),
    "squared_sigmoid": SquaredSigmoid(),
}


class Softmax(Loss):
    """``log(sum_k e^s_k) - s_y``."""

    code = kernels.SOFTMAX
    has_dual = True

    def contrasts(self, n_classes: int, symmetric: bool) -> Array:
        """Orthonormal contrasts between the K scores, or (``symmetric``) the scores themselves."""
        return np.eye(n_classes) if symmetric else np.asarray(helmert(n_classes))

    def null_scores(self, class_weights: Array) -> Array:
        logs = np.log(np.maximum(class_weights, 1e-300))
        centred: Array = logs - logs.mean()
        return centred

    def expected_curvature(self, class_shares: Array) -> Array:
        curvature: Array = np.diag(class_shares) - np.outer(class_shares, class_shares)
        return curvature

    def curvature_matrices(self, curvatures: Array, contrasts: Array) -> Array:
        mean = curvatures @ contrasts.T
        second: Array = np.einsum("ak,nk,bk->nab", contrasts, curvatures, contrasts)
        second -= mean[:, :, None] * mean[:, None, :]
        return second

    def diagonal_curvatures(self, curvatures: Array, contrasts: Array) -> Array:
        diagonals: Array = curvatures @ (contrasts**2).T - (curvatures @ contrasts.T) ** 2
        return diagonals


class OrdinalLoss(Loss):
    """The negative log-likelihood of ordered classes in K - 1 scores, thresholds minus a linear predictor.

    ``rank`` is the rank of each of the sorted classes in their order. `ordinal_objective` has the passes for this loss.
    """

    def __init__(self, ordered: OrderedClasses, rank: Array) -> None:
        self.ordered, self.rank = ordered, rank

    def null_scores(self, class_weights: Array) -> Array:
        by_rank = np.empty(len(self.rank))
        by_rank[self.rank] = class_weights
        return self.ordered.null_scores(by_rank)

    def evaluate(self, scores: Array, codes: Array) -> tuple[Array, Array]:
        found = self.ordered.derivatives(scores, self.rank[codes], second=False)
        return found.values, found.slopes

    def derivatives(self, scores: Array, codes: Array) -> Derivatives:
        """The loss of each row with its first and second derivatives in the scores."""
        return self.ordered.derivatives(scores, self.rank[codes])


def log_loss(n_classes: int) -> Loss:
    """The negative log-likelihood of two classes or of many."""
    return Logistic() if n_classes == 2 else Softmax()
