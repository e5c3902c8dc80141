"""Linear regression through the least-squares core of the classifier, with its classical inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import LabelledRows, as_rows, check_weights
from ..data.rows import dense_rows
from ..engine import reduce
from ..errors import InputError
from .covariance import DenseScatter, least_squares_coefficients
from .statistic import ClassMoments

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LinearFit:
    """Ordinary least squares: estimates and what is known of their precision."""

    coef: Array
    intercept: float
    std_error: Array
    intercept_std_error: float
    residual_sum_of_squares: float
    residual_sd: float
    r_squared: float
    f_statistic: float


def linear_regression(X: Any, response: Any, sample_weight: Any = None, n_jobs: int | None = None) -> LinearFit:
    """Fit ``response = intercept + X coef`` from the moments of X and the response, read in one pass.

    Examples
    --------
    >>> fit = linear_regression([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.1, 4.9, 7.0])
    >>> round(float(fit.coef[0]), 3), round(fit.intercept, 3)
    (1.98, 1.03)
    """
    rows = as_rows(X)
    target = np.asarray(response, dtype=np.float64)
    if target.shape != (rows.n_rows,):
        raise InputError(f"Expected one response per row ({rows.n_rows}), got an array of shape {target.shape}.")
    if rows.n_rows < rows.n_columns + 2:
        raise InputError(f"{rows.n_columns} columns need at least {rows.n_columns + 2} rows, got {rows.n_rows}.")
    joint = as_rows(np.column_stack([dense_rows(rows.block(0, rows.n_rows)), target]))
    codes = np.zeros(rows.n_rows, dtype=np.int32)
    data = LabelledRows(joint, np.array([0]), codes, check_weights(sample_weight, rows.n_rows))
    moments = reduce(data, ClassMoments(1, joint.n_columns), n_jobs)
    if not moments.finite():
        joint.refuse_nonfinite()
    return _read(moments)


def _read(moments: ClassMoments) -> LinearFit:
    p = moments.n_columns - 1
    joint = moments.within().as_matrix()
    scatter, cross, total = joint[:p, :p], joint[p, :p], float(joint[p, p])
    mean, n = moments.mean[0], moments.total_weight
    coef, factor = least_squares_coefficients(DenseScatter(scatter), cross[None])
    explained = float(coef[0] @ cross)
    residual = float(total - 2 * explained + coef[0] @ scatter @ coef[0])
    variance = residual / (n - p - 1)
    spheres = factor.from_sphere(np.eye(factor.rank))
    towards_mean = factor.to_sphere(mean[None, :p])[0]
    return LinearFit(
        coef=coef[0],
        intercept=float(mean[p] - mean[:p] @ coef[0]),
        std_error=np.sqrt(variance * np.einsum("jr,jr->j", spheres, spheres)),
        intercept_std_error=float(np.sqrt(variance * (1 / n + towards_mean @ towards_mean))),
        residual_sum_of_squares=residual,
        residual_sd=float(np.sqrt(variance)),
        r_squared=1 - residual / total,
        f_statistic=(total - residual) / p / variance,
    )
