"""Linear regression with its classical inference, through the moments and the least squares of the classifier."""

from types import SimpleNamespace

import numpy as np

from discriminant.data import Block
from discriminant.moments.covariance import Scatter
from discriminant.moments.statistic import ClassMoments


def linear_regression(X, response, weight=None):
    joint = np.ascontiguousarray(np.column_stack([np.asarray(X, dtype=float), response]))
    moments = ClassMoments(1, joint.shape[1])
    weight = np.ones(len(joint)) if weight is None else weight.astype(float)
    moments.update(Block(joint, np.zeros(len(joint), dtype=np.int32), weight))
    p, n = joint.shape[1] - 1, moments.total_weight
    matrix, mean = moments.within().matrix, moments.mean[0]
    scatter, cross, total = matrix[:p, :p], matrix[p, :p], float(matrix[p, p])
    factor = Scatter(scatter).covariance()
    coef = factor.solve(cross[None])
    residual = float(total - 2 * coef[0] @ cross + coef[0] @ scatter @ coef[0])
    variance = residual / (n - p - 1)
    spheres, towards_mean = factor.from_whitened(np.eye(factor.rank)), factor.whiten(mean[None, :p])[0]
    return SimpleNamespace(
        coef=coef[0],
        intercept=mean[p] - mean[:p] @ coef[0],
        std_error=np.sqrt(variance * np.einsum("jr,jr->j", spheres, spheres)),
        intercept_std_error=np.sqrt(variance * (1 / n + towards_mean @ towards_mean)),
        residual_sum_of_squares=residual,
        residual_sd=np.sqrt(variance),
        r_squared=1 - residual / total,
        f_statistic=(total - residual) / p / variance,
    )
