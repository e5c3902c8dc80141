"""The smooth calibration curve: a logistic regression of the outcome on a spline of the predicted log-odds.

References
----------
Austin, P. C. & Steyerberg, E. W. (2019). The Integrated Calibration Index (ICI) and related metrics for quantifying the
calibration of logistic regression models. Statistics in Medicine 38.
Harrell, F. E. (2015). Regression Modeling Strategies, 2nd ed., section 10.11. Springer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from ..arrays import Array
from ..basis import natural_splines
from ..data import check_integer
from ..errors import DegenerateDataError
from ..results import Result, decimal
from ..solvers.weightings import logistic_fits
from .inputs import predicted_outcomes
from .recalibration import log_odds, logistic_covariance

#: Confidence of the pointwise band.
LEVEL: Final = 0.95
#: The curve extends between these quantiles of the predictions.
ENDS: Final = (0.01, 0.99)
GRID_POINTS: Final = 101


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(Result):
    """Observed share of the outcome as a smooth function of the predicted probability.

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
