"""The calibration line and the smooth calibration curve of predicted probabilities.

The line is the logistic regression of the outcome on the predicted log-odds; the curve is the logistic regression of
the outcome on a spline of the predicted log-odds.

References
----------
Austin, P. C. & Steyerberg, E. W. (2019). The Integrated Calibration Index (ICI) and related metrics for quantifying the
calibration of logistic regression models. Statistics in Medicine 38.
Harrell, F. E. (2015). Regression Modeling Strategies, 2nd ed., section 10.11. Springer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import expit, logit, ndtri

from ..arrays import Array, ArrayLike
from ..basis import natural_splines
from ..data import check_integer
from ..errors import DegenerateDataError
from ..results import Result, decimal
from ..solvers.weightings import logistic, logistic_fits
from .inputs import predicted_outcomes
from .sampling import SamplingDesign

#: Larger log-odds are due to rounding of the probability.
_MAX_LOG_ODDS: Final = 36.0
#: Newton decrement, relative to the total weight, at which a line is exact up to rounding.
DECREMENT: Final = 1e-20
MAX_NEWTON_STEPS: Final = 12


@dataclass(frozen=True, repr=False)
class CalibrationLine(Result):
    """Log-odds of the outcome as ``intercept + slope * predicted log-odds``; 0 and 1 for a calibrated model.

    A slope below 1 indicates overconfident probabilities, above 1 underconfident ones. The calibration in the large,
    the intercept for slope 1, is positive if the outcome is more frequent than predicted.

    Parameters
    ----------
    intercept, slope : float
        Of the line.
    intercept_error, slope_error : float
        Their standard errors.
    in_the_large, in_the_large_error : float
        The intercept of the line with slope 1, and its standard error.

    See Also
    --------
    calibration_line : Fits it.

    References
    ----------
    Van Calster, B. et al. (2019). Calibration: the Achilles heel of predictive analytics. BMC Medicine 17.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    in_the_large: float = math.nan
    in_the_large_error: float = math.nan

    def __str__(self) -> str:
        return (
            f"calibration line: intercept {self.intercept:.4f} (standard error {self.intercept_error:.4f}), "
            f"slope {self.slope:.4f} ({self.slope_error:.4f}); calibration in the large (intercept at slope 1): "
            f"{self.in_the_large:.4f} ({self.in_the_large_error:.4f})"
        )


def calibration_line(
    outcome: ArrayLike, probability: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
) -> CalibrationLine:
    """The logistic regression of an outcome on the log-odds of its predicted probability.

    NaN if it has no finite solution: a constant outcome, constant probabilities, or probabilities that separate the
    outcomes perfectly.

    Parameters
    ----------
    outcome : array-like of shape (n_rows,)
        True or False, 1 or 0.
    probability : array-like of shape (n_rows,)
        Predicted, from 0 to 1.
    sample_weight : array-like of shape (n_rows,), optional
        Whole weights are frequencies; others are importances, with sandwich standard errors.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent: standard errors are clustered.

    Returns
    -------
    CalibrationLine
        Intercept, slope and calibration in the large with their standard errors.

    See Also
    --------
    CalibrationBins : Where on the scale probabilities are off.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=5_000)
    >>> too_sure = p**2 / (p**2 + (1 - p) ** 2)
    >>> round(calibration_line(rng.uniform(size=5_000) < p, too_sure).slope, 2)
    0.51
    """
    return calibration_line_of(*predicted_outcomes(outcome, probability, sample_weight, groups))


def calibration_line_of(is_event: Array, p: Array, design: SamplingDesign) -> CalibrationLine:
    """`calibration_line` of checked outcomes and probabilities."""
    weight = design.weight
    x, there = log_odds(p), slice(None) if weight is None else weight > 0
    in_the_large = _in_the_large(x, is_event, design)
    fitted = fitted_line(x[there], is_event[there], design.weights[there])
    if fitted is None:
        return CalibrationLine(math.nan, math.nan, math.nan, math.nan, *in_the_large)
    intercept, slope = map(float, fitted)
    columns = np.column_stack((np.ones_like(x), x))
    covariance = logistic_covariance(columns, is_event, expit(intercept + slope * x), design)
    first, second = np.sqrt(np.diagonal(covariance))
    return CalibrationLine(intercept, slope, float(first), float(second), *in_the_large)


def log_odds(p: Array) -> Array:
    """The log-odds of predicted probabilities; finite also for 0 and 1."""
    return np.clip(logit(p), -_MAX_LOG_ODDS, _MAX_LOG_ODDS)


def fitted_line(x: Array, is_event: Array, weights: Array) -> Array | None:
    """Intercept and slope of the logistic regression on x; None if these are not finite."""
    theta = fitted_lines(x[None], is_event, weights[None])[0]
    return None if np.isnan(theta).any() else theta


def fitted_lines(x: Array, is_event: Array, weights: Array) -> Array:
    """Intercepts and slopes (m, 2) of the logistic regressions on the rows of x (m, n), with weights (m, n).

    All take their Newton steps together; NaN where a line is not finite.
    """
    theta = np.tile([0.0, 1.0], (len(x), 1))
    overlap = _overlap(x, is_event, weights)
    active = np.flatnonzero(overlap)
    found, total = np.full_like(theta, np.nan), weights.sum(axis=1)
    for _ in range(MAX_NEWTON_STEPS):
        if not active.size:
            break
        step, gain = _newton_steps(theta[active], x[active], is_event, weights[active])
        theta[active] -= step
        done = gain <= DECREMENT * total[active]
        found[active[done]] = theta[active[done]]
        active = active[~done & np.isfinite(gain)]
    for i in np.flatnonzero(overlap & np.isnan(found[:, 0])):
        Z = np.column_stack((np.ones_like(x[i]), x[i]))
        fit = logistic_fits(Z, is_event.astype(np.float64), weights[i][None])  # halves its steps
        found[i] = fit.theta[0] if fit.converged[0] else np.nan
    return found


def _overlap(x: Array, is_event: Array, weights: Array) -> Array:
    """Whether both outcomes occur and their ranges overlap, for each row of x."""
    low, high = np.where(weights > 0, x, np.inf), np.where(weights > 0, x, -np.inf)
    lows = [low[:, rows].min(axis=1, initial=np.inf) for rows in (is_event, ~is_event)]
    highs = [high[:, rows].max(axis=1, initial=-np.inf) for rows in (is_event, ~is_event)]
    return (lows[0] < highs[1]) & (lows[1] < highs[0])


def _newton_steps(theta: Array, x: Array, is_event: Array, weights: Array) -> tuple[Array, Array]:
    """Newton steps (m, 2) of intercepts and slopes, and their decrements; NaN where the Hessian is singular."""
    p = logistic(theta[:, :1] + theta[:, 1:] * x)
    residual = weights * (p - is_event)
    curvature = weights * p * (1 - p)
    gradient = residual.sum(axis=1), np.einsum("mn,mn->m", residual, x)
    weighted = curvature * x
    a, b, c = curvature.sum(axis=1), weighted.sum(axis=1), np.einsum("mn,mn->m", weighted, x)
    determinant = a * c - b * b
    determinant = np.where(determinant > 0, determinant, np.nan)
    steps = c * gradient[0] - b * gradient[1], a * gradient[1] - b * gradient[0]
    step = np.column_stack(steps) / determinant[:, None]
    return step, gradient[0] * step[:, 0] + gradient[1] * step[:, 1]


def logistic_covariance(columns: Array, is_event: Array, p: Array, design: SamplingDesign) -> Array:
    """The covariance at the maximum of a logistic likelihood; for clusters and importances the sandwich (CR1)."""
    weights = design.weights
    bread = np.linalg.inv(columns.T @ (columns * (weights * p * (1 - p))[:, None]))
    if design.clusters is None:
        return bread
    scores = columns * (weights * (is_event - p))[:, None]
    sums = np.column_stack([design.sums(column) for column in scores.T])
    return bread @ (sums.T @ sums) @ bread * design.n_clusters / (design.n_clusters - 1)


def _in_the_large(x: Array, is_event: Array, design: SamplingDesign) -> tuple[float, float]:
    """The intercept of the logistic regression with slope 1, and its standard error; NaN if it is infinite."""
    from scipy.optimize import brentq  # slow to load

    weights = design.weights
    total = float(weights @ is_event)
    if not 0 < total < weights.sum():
        return math.nan, math.nan
    # The expected number of outcomes increases with the intercept, from none to all rows.
    bound = 2 * _MAX_LOG_ODDS + 40.0
    found = float(brentq(lambda a: weights @ expit(a + x) - total, -bound, bound, xtol=1e-12))
    covariance = logistic_covariance(np.ones((len(x), 1)), is_event, expit(found + x), design)
    return found, math.sqrt(covariance[0, 0])


#: Confidence of the pointwise band.
LEVEL: Final = 0.95
#: The curve extends between these quantiles of the predictions.
ENDS: Final = (0.01, 0.99)
GRID_POINTS: Final = 101


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Result):
    """Observed frequency of the outcome as a smooth function of the predicted probability.

    Attributes
    ----------
    predicted, observed, low, high : arrays of shape (n_points,)
        The curve, and its pointwise 95 % band.
    integrated_index : float
        Integrated calibration index (ICI): the mean distance between prediction and curve over the rows.
    median_error, error_90, largest_error : float
        Median, 90 % quantile and maximum of these distances (E50, E90, Emax).

    See Also
    --------
    calibration_curve : Computes it.
    calibration_line : A straight line instead of the curve.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    integrated_index: float
    median_error: float
    error_90: float
    largest_error: float

    def _columns(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in ("predicted", "observed", "low", "high")}

    def __str__(self) -> str:
        parts = {
            "integrated calibration index": self.integrated_index,
            "E50": self.median_error,
            "E90": self.error_90,
            "Emax": self.largest_error,
        }
        return "calibration curve: " + ", ".join(f"{name} {decimal(value)}" for name, value in parts.items())


def calibration_curve(
    outcome: ArrayLike,
    probability: ArrayLike,
    df: int = 4,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> CalibrationCurve:
    """The smooth calibration curve with a pointwise band, and the integrated calibration index.

    Parameters
    ----------
    outcome : array-like of shape (n_rows,)
        True or False, 1 or 0.
    probability : array-like of shape (n_rows,)
        Predicted, from 0 to 1.
    df : int, default=4
        Degrees of freedom of the natural cubic spline of the log-odds; 1 is the calibration line.
    sample_weight : array-like of shape (n_rows,), optional
        Whole weights are frequencies; with others the band has a sandwich covariance.
    groups : array-like of shape (n_rows,), optional
        Rows of one group are not independent: the covariance is clustered.

    Returns
    -------
    CalibrationCurve

    See Also
    --------
    calibration_line : Intercept and slope.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.95, size=5_000)
    >>> print(calibration_curve(rng.uniform(size=5_000) < p, p))
    calibration curve: integrated calibration index 0.0119, E50 0.0116, E90 0.0232, Emax 0.0242
    """
    check_integer("df", df, 1)
    truth, p, design = predicted_outcomes(outcome, probability, sample_weight, groups)
    x = log_odds(p)
    columns, theta = _fitted_spline(x, truth, design.weights, df)
    first, last = np.quantile(x, ENDS)
    Z, grid = columns(x), np.linspace(first, last, GRID_POINTS)
    at_grid, distance = columns(grid), np.abs(expit(Z @ theta) - p)
    covariance = logistic_covariance(Z, truth, expit(Z @ theta), design)
    scores = at_grid @ theta
    half_width = float(ndtri(0.5 + LEVEL / 2)) * np.sqrt(np.einsum("ij,jk,ik->i", at_grid, covariance, at_grid))
    band = expit(scores - half_width), expit(scores + half_width)
    return CalibrationCurve(expit(grid), expit(scores), *band, *_errors(distance, design.weights))


class CorrectedCurve:
    """The calibration curve of a model on its training rows, corrected for optimism (Harrell 2015, section 10.11).

    The curve of each resample on its own rows less that on the original rows, in log-odds, is its optimism at each
    predicted probability; the mean over resamples is subtracted.
    """

    def __init__(self, truth: Array, p: Array, weight: Array, apparent: CalibrationCurve) -> None:
        self.truth, self.p, self.weight, self.apparent = truth, p, weight, apparent
        self.grid = log_odds(apparent.predicted)
        self.optimism: list[Array] = []

    @classmethod
    def of(cls, truth: Array, p: Array, weight: Array) -> CorrectedCurve:
        """The curve of the model itself."""
        return cls(truth, p, weight, calibration_curve(truth, p, sample_weight=weight))

    def add(self, p: Array, own: Array) -> None:
        """Add the model of a resample, with its predictions for the original rows and the weights of its own."""
        with suppress(DegenerateDataError):  # a curve that is not finite
            training, test = (self._scores(p, weight) for weight in (own, self.weight))
            self.optimism.append(training - test)

    def _scores(self, p: Array, weight: Array) -> Array:
        """The log-odds of the curve of these predictions at the grid."""
        there = weight > 0
        columns, theta = _fitted_spline(log_odds(p)[there], self.truth[there], weight[there])
        return columns(self.grid) @ theta

    def corrected(self) -> CalibrationCurve:
        """The corrected curve; its band is that of the apparent curve, moved with it."""
        if not self.optimism:
            raise DegenerateDataError("No resample has a finite calibration curve: predictions separate the outcomes.")
        shift = np.mean(self.optimism, axis=0)
        found = self.apparent
        observed, low, high = (expit(log_odds(one) - shift) for one in (found.observed, found.low, found.high))
        at_rows = np.interp(log_odds(self.p), self.grid, observed)
        return CalibrationCurve(found.predicted, observed, low, high, *_errors(np.abs(at_rows - self.p), self.weight))


def _fitted_spline(x: Array, truth: Array, weight: Array, df: int = 4) -> tuple[Callable[[Array], Array], Array]:
    """The columns of the spline at log-odds, and their coefficients."""
    knots = np.unique(np.quantile(x, np.linspace(0, 1, df + 1)))
    if len(knots) < 2:
        raise DegenerateDataError("All predicted probabilities are equal: there is no curve. See calibration_line.")
    spline = natural_splines(0, knots)

    def columns(x: Array) -> Array:
        return np.column_stack((np.ones_like(x), spline.evaluate(x)))

    fit = logistic_fits(columns(x), truth.astype(np.float64), weight[None])
    if not fit.converged[0]:
        raise DegenerateDataError("The predictions separate the outcomes: the calibration curve is not finite.")
    return columns, fit.theta[0]


def _errors(distance: Array, weight: Array) -> tuple[float, float, float, float]:
    """Mean, median, 90 % quantile and maximum of the distances between prediction and curve."""
    median, high = _weighted_quantiles(distance, weight, (0.5, 0.9))
    return float(weight @ distance / weight.sum()), median, high, float(distance.max())


def _weighted_quantiles(values: Array, weights: Array, shares: tuple[float, ...]) -> list[float]:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, shares), len(values) - 1)
    return [float(value) for value in values[order][places]]
