"""Textbook gradient ascent, stochastic gradient ascent and Newton's method, in the units of the data.

``theta_{t+1} = theta_t + rate_t X'(y - p)`` and its variants: nothing is standardised, preconditioned or sampled, so
every iterate can be checked by hand. Steps go along the gradient of the log-likelihood, the sum over the rows (minus
the penalty times their number). Convergence depends on the units: columns with a large mean or of different scale make
gradient steps slow. To fit models, use the named solvers ("auto", "newton", "lbfgs").

A step of `GradientDescent` costs a pass; one of `StochasticGradient` the rows of its mini-batch, and with a trace a
pass to evaluate the point; one of `IRLS` a pass with second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Final

import numpy as np

from ..arrays import Array
from ..data import check_choice, check_integer, check_number
from ..errors import ParameterError, Setting
from ..moments.covariance import standard_deviations
from ..moments.statistic import ClassMoments
from ..objective import Objective, Standardisation
from .descent import Descent
from .gradient import Seed, batches
from .preconditioners import inverse_hessian, moment_preconditioner
from .solution import Solution

Schedule = str | Callable[[int], float]

#: The rate after a number of passes over the rows, relative to the first.
_DECAY: Final[dict[str, Callable[[float], float]]] = {
    "constant": lambda passes: 1.0,  # noqa: ARG005
    "decaying": lambda passes: 1 / (1 + passes / 10),
    "square-root": lambda passes: 1 / np.sqrt(1 + passes / 10),
}
_SEARCH: Final = "line-search"
# The largest eigenvalue of a larger Hessian takes too long: the rate must be given.
MAX_RATE_PARAMETERS: Final = 2_000


@dataclass(frozen=True)
class _GradientSteps:
    """Step lengths of solvers that go along gradients in the units of the data."""

    rate: float | None = None
    schedule: Schedule = "constant"

    standardised: ClassVar[bool] = False  #: whether the objective has standardised columns
    schedules: ClassVar[tuple[str, ...]] = tuple(_DECAY)

    def __post_init__(self) -> None:
        if callable(self.schedule):
            if self.rate is not None:
                both = " is a function, which returns the rates: leave "
                raise ParameterError(Setting("schedule"), both, Setting("rate"), " out.")
            return
        check_choice("schedule", self.schedule, self.schedules)
        if self.rate is not None:
            check_number("rate", self.rate, 0, open_below=True)

    def _rates(self, objective: Objective, theta: Array, steps_per_pass: int = 1) -> Callable[[int], float]:
        """The rate of each step, counted from 0."""
        if callable(self.schedule):
            return self.schedule
        first = safe_rate(objective, theta) if self.rate is None else self.rate
        decay = _DECAY.get(self.schedule, _DECAY["constant"])
        return lambda step: first * decay(step / steps_per_pass)


@dataclass(frozen=True)
class GradientDescent(_GradientSteps):
    """Gradient ascent on the log-likelihood: ``theta + rate_t X'(y - p)``, in the units of the data.

    Convergence is slow if columns have a large mean or different scales: for demonstration, not for fitting models.

    Parameters
    ----------
    rate : float, default=None
        First step length. Default: 1 over the largest curvature of the log-likelihood, with which every step ascends.
    schedule : {"constant", "decaying", "square-root", "line-search"} or function, default="constant"
        ``rate_t`` of the t-th step, from 0: ``rate``, ``rate / (1 + t / 10)``, ``rate / sqrt(1 + t / 10)``, or by a
        line search for Armijo's condition that begins at twice the last length. A function of t returns the rates.

    See Also
    --------
    StochasticGradient : Steps from a few rows at a time.
    IRLS : Steps with second derivatives.

    References
    ----------
    Böhning, D. & Lindsay, B. G. (1988). Monotonicity of quadratic-approximation algorithms (the bound on the
    curvature).

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.solvers import GradientDescent
    >>> X, y = [[1], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1]
    >>> model = LogisticRegression(solver=GradientDescent(0.1), max_iter=5_000, tol=1e-6, trace=True).fit(X, y)
    >>> model.trace_.coef[1], model.trace_.intercept[1]
    (array([[0.35]]), array([0.]))
    """

    schedules: ClassVar[tuple[str, ...]] = (*_DECAY, _SEARCH)

    def minimise(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
        """Minimise a smooth objective.

        Parameters
        ----------
        objective : Objective
            Loss plus penalty.
        theta : array
            Starting point.
        tol : float
            Relative suboptimality at which to stop.
        max_iter : int
            Maximum number of steps.
        trace : bool, default=False
            Keep the iterates.

        Returns
        -------
        Solution
            The point reached.
        """
        run, decrement = (
            Descent(objective, theta, tol, max_iter, trace, "gradient descent"),
            newton_decrement(objective),
        )
        rates, factor = self._rates(objective, theta), 1.0
        while not run.ends(decrement(run.gradient)):
            step = factor * rates(run.iterations) * objective.total_weight * run.gradient
            if self.schedule != _SEARCH:
                run.move_to(run.theta - step)
                continue
            moved = run.step_along(2 * step)
            if moved is None:
                break
            factor *= 2 * float(np.linalg.norm(moved[0]) / np.linalg.norm(2 * step))
        return run.solution()


@dataclass(frozen=True)
class StochasticGradient(_GradientSteps):
    """Steps along gradients estimated from mini-batches, in the units of the data.

    ``theta + rate_t (n / B) sum over B rows of (y - p) x``: an estimate whose mean is the gradient of the
    log-likelihood. Every epoch goes through all rows in a new random order. An iteration is one step. With a constant
    rate the iterates keep fluctuating around the optimum; with a decaying rate they converge, slowly.

    Parameters
    ----------
    rate : float, default=None
        First step length. Default: 1 over the largest curvature of the log-likelihood.
    schedule : {"constant", "decaying", "square-root"} or function, default="constant"
        ``rate``, ``rate / (1 + e / 10)`` or ``rate / sqrt(1 + e / 10)`` after e epochs. A function of the step number
        t, from 0, returns the rates.
    batch : int, default=1
        Rows of a mini-batch (B).

    See Also
    --------
    GradientDescent : Steps from all rows.

    References
    ----------
    Robbins, H. & Monro, S. (1951). A stochastic approximation method. Annals of Mathematical Statistics 22.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.solvers import StochasticGradient
    >>> X, y = [[1], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1]
    >>> solver = StochasticGradient(batch=2, schedule="decaying")
    >>> model = LogisticRegression(solver=solver, max_iter=5_000, tol=0.1, random_state=0).fit(X, y)
    >>> model.predict([[0], [7]])
    array([0, 1])
    """

    batch: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("batch", self.batch, 1)

    def minimise(
        self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False, rng: Seed = None
    ) -> Solution:
        """Minimise a smooth objective.

        Parameters
        ----------
        objective : Objective
            Loss plus penalty.
        theta : array
            Starting point.
        tol : float
            Relative suboptimality at which to stop; checked once in an epoch.
        max_iter : int
            Maximum number of steps.
        trace : bool, default=False
            Keep the iterates.
        rng : int or numpy.random.Generator, optional
            Random state for the order of the rows.

        Returns
        -------
        Solution
            The last point.
        """
        rng, n_batches = np.random.default_rng(rng), -(-objective.data.n_rows // self.batch)
        run, decrement = (
            Descent(objective, theta, tol, max_iter, trace, "stochastic gradient"),
            newton_decrement(objective),
        )
        rates = self._rates(objective, theta, n_batches)
        while not run.ends(decrement(run.gradient)):
            theta, first, step = run.theta, run.iterations, run.iterations
            for step, batch in enumerate(islice(batches(objective, self.batch, rng), max_iter - first), first + 1):
                theta = theta - rates(step - 1) * objective.total_weight * objective.gradient_of(batch, theta)
                if trace:
                    run.move_to(theta)
            if not trace:
                run.move_to(theta, steps=step - first)
        return run.solution()


@dataclass(frozen=True)
class IRLS:
    """The Newton-Raphson method, for the logistic loss iteratively reweighted least squares, in the units of the data.

    ``theta + (X'DX)^-1 X'(y - p)`` with ``D = diag(p (1 - p))``: full steps from 0, over all rows. They need not
    ascend: a full step can overshoot, and for separated classes there is no optimum.

    See Also
    --------
    GradientDescent : Steps without second derivatives.

    References
    ----------
    McCullagh, P. & Nelder, J. A. (1989). Generalized Linear Models.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.solvers import IRLS
    >>> X, y = [[1], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1]
    >>> trace = LogisticRegression(solver=IRLS(), trace=True).fit(X, y).trace_
    >>> trace.intercept[2].round(3), trace.coef[2].round(3)
    (array([-3.884]), array([[1.11]]))
    """

    standardised: ClassVar[bool] = False

    def minimise(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
        """Minimise a smooth objective.

        Parameters
        ----------
        objective : Objective
            Loss plus penalty, with at most a few thousand parameters.
        theta : array
            Starting point.
        tol : float
            Relative suboptimality at which to stop.
        max_iter : int
            Maximum number of steps.
        trace : bool, default=False
            Keep the iterates.

        Returns
        -------
        Solution
            The last iterate.
        """
        if not objective.loss.is_convex:
            raise ParameterError(
                "IRLS needs a convex loss: Newton's method finds any stationary point. Use GradientDescent."
            )
        run = Descent(objective, theta, tol, max_iter, trace, "IRLS")
        while np.isfinite(run.value):
            step = inverse_hessian(objective.value_gradient_hessian(run.theta)[2])(run.gradient)
            if run.ends(float(np.vdot(run.gradient, step))):
                return run.solution()
            run.move_to(run.theta - step)
        run.ends(np.inf)
        return run.solution()


def safe_rate(objective: Objective, theta: Array) -> float:
    """1 over a bound on the curvature of the log-likelihood, K / 2 times that at equal class probabilities."""
    if objective.n_parameters > MAX_RATE_PARAMETERS:
        problem = f" has no default for more than {MAX_RATE_PARAMETERS:,} parameters. Parameters of this model: "
        raise ParameterError(Setting("rate"), f"{problem}{objective.n_parameters:,}. Set ", Setting("rate"), ".")
    hessian = objective.value_gradient_hessian(np.zeros_like(theta))[2]
    largest = float(np.linalg.eigvalsh(hessian)[-1]) if np.isfinite(hessian).all() else np.inf
    bound = objective.loss.max_curvature_ratio * largest * objective.total_weight
    return 2 / len(objective.data.classes) / max(bound, 1e-300)


def newton_decrement(objective: Objective) -> Callable[[Array], float]:
    """The function from a gradient to an estimate of the Newton decrement, by the curvature at class proportions."""
    data, p = objective.data, objective.n_columns
    moments = data.reduce(ClassMoments(len(data.classes), p, "diagonal"), objective.n_jobs)
    standard = Standardisation(moments.overall_mean(), standard_deviations(moments.column_variances()))
    precondition = moment_preconditioner(replace(objective, standard=standard), np.zeros(objective.shape))

    def decrement(gradient: Array) -> float:
        own = gradient.copy()
        if objective.fit_intercept:
            own[:, :p] -= standard.centre * own[:, p:]
        own[:, :p] /= standard.scale
        return float(np.vdot(own, precondition(own)))

    return decrement
