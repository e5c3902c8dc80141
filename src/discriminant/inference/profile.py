"""Profile-likelihood intervals: the values of a coefficient that the likelihood-ratio test does not reject.

The profile deviance, minimised over all other parameters, increases on both sides of the estimate; the limits are where
it exceeds its minimum by the chi-square quantile with one degree of freedom (Venzon & Moolgavkar 1988). For separated
classes the minimum is a limit of the deviance: infinite estimates have one finite limit, finite ones have two.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtri

from ..arrays import Array
from ..moments.covariance import Covariance, factorised
from .estimable import EstimableObjective, constrained_minimum

#: Number of multiplications of the distance from the estimate by `BRACKET_GROWTH` before a limit counts as infinite.
MAX_BRACKET_STEPS: Final = 60
BRACKET_GROWTH: Final = 1.6
#: The first step, in standard errors at the null model.
FIRST_STEP: Final = 2.0


class ProfileDeviance:
    """The profile of the mean loss: its minimum for each value of a linear function of the parameters.

    Parameters
    ----------
    problem : EstimableObjective
    theta : array
        The estimates.
    least : float
        The minimum of the mean loss.
    level : float
        Confidence level.
    """

    def __init__(self, problem: EstimableObjective, theta: Array, least: float, level: float) -> None:
        self.problem, self.theta, self.least = problem, theta, least
        self.allowed = float(ndtri(0.5 + level / 2)) ** 2 / 2 / problem.objective.total_weight

    def interval(self, term: Array, estimate: float) -> tuple[float, float]:
        """The interval of ``term @ theta.ravel()``, whose estimate may be infinite."""
        step = FIRST_STEP * self._standard_error(term)
        if math.isinf(estimate):
            finite = self._finite_end(term, math.copysign(step, estimate))
            return (finite, math.inf) if estimate > 0 else (-math.inf, finite)
        low, high = (self._end(term, estimate, side * step) for side in (-1, 1))
        return low, high

    def _standard_error(self, term: Array) -> float:
        """The standard error at the null model, where the information is regular also for separated classes."""
        along = self._null_information.solve(term[None])[0]
        return float(np.sqrt(max(along @ term, 0.0) / self.problem.objective.total_weight))

    @cached_property
    def _null_information(self) -> Covariance:
        """The mean information at the null model."""
        return factorised(self.problem.value_gradient_hessian(np.zeros_like(self.theta))[2])

    def _rise(self, term: Array, value: float, start: Array) -> tuple[float, Array]:
        """The profile at a value minus the threshold of the interval, and the minimiser."""
        theta, reached = constrained_minimum(self.problem, start, term[None], np.array([value]))
        return reached - self.least - self.allowed, theta

    def _end(self, term: Array, inside: float, step: float) -> float:
        """The limit of the interval in the direction of a step from a value inside."""
        start, nearest = self.theta, inside
        for k in range(MAX_BRACKET_STEPS):
            value = inside + step * BRACKET_GROWTH**k
            rise, start = self._rise(term, value, start)
            if rise > 0:
                return self._root(term, nearest, value, start)
            nearest = value
        return math.copysign(math.inf, step)

    def _finite_end(self, term: Array, outwards: float) -> float:
        """The finite limit of an infinite estimate; ``outwards`` points towards infinity."""
        rise, start = self._rise(term, 0.0, np.zeros_like(self.theta))
        if rise <= 0:
            return self._end(term, 0.0, -outwards)
        outside = 0.0
        for k in range(MAX_BRACKET_STEPS):
            value = outwards * BRACKET_GROWTH**k
            rise, start = self._rise(term, value, start)
            if rise <= 0:
                return self._root(term, value, outside, start)
            outside = value
        return math.copysign(math.inf, outwards)

    def _root(self, term: Array, inside: float, outside: float, start: Array) -> float:
        """The limit between a value inside the interval and one outside."""
        from scipy.optimize import brentq  # slow to import

        def rise(value: float) -> float:
            nonlocal start
            found, start = self._rise(term, value, start)
            return found

        ends = sorted((inside, outside))
        if rise(inside) >= 0:  # by rounding, at the estimate
            return inside
        return float(brentq(rise, *ends, xtol=1e-10, rtol=1e-12))
