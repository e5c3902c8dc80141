"""Gradient ascent, stochastic gradients and Newton's method as they are taught: in the units of the data.

``theta_{t+1} = theta_t + rate_t X'(y - p)`` and its likes: nothing is standardised, preconditioned or sampled, so that
every iterate is the one a reader computes by hand. Steps go along the gradient of the log-likelihood, which is the sum
over the rows (less the penalty times their number). The price is that convergence depends on the units: columns far
from 0 or of unlike size make gradient steps slow, on purpose. The solvers with names ("auto", "newton", "lbfgs") are
those to get an answer from.

A step of `GradientDescent` costs a pass; one of `StochasticGradient` the rows of its mini-batch, and with a trace a
pass to look at the point; one of `IRLS` a pass with second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..data import check_choice, check_integer, check_number
from ..engine import reduce
from ..errors import ParameterError, Setting
from ..moments.covariance import standard_deviations
from ..moments.statistic import ClassMoments
from ..objective import Objective, Standardisation
from .gradient import batches
from .smooth import Descent, Solution, inverse_hessian, moment_preconditioner

Schedule = str | Callable[[int], float]

#: What the first rate is multiplied by after so many passes over the rows.
_DECAY: dict[str, Callable[[float], float]] = {
    "constant": lambda passes: 1.0,  # noqa: ARG005
    "decaying": lambda passes: 1 / (1 + passes / 10),
    "square-root": lambda passes: 1 / np.sqrt(1 + passes / 10),
}
_SEARCH = "line-search"
#: The largest eigenvalue of a larger Hessian is not looked for: the rate must be given.
_MOST_PARAMETERS = 2_000


@dataclass(frozen=True)
class _GradientSteps:
    """Step lengths, shared by solvers that go along gradients in the units of the data."""

    rate: float | None = None
    schedule: Schedule = "constant"

    standardised: ClassVar[bool] = False  #: the objective is to be in the units of the data
    schedules: ClassVar[tuple[str, ...]] = tuple(_DECAY)

    def __post_init__(self) -> None:
        if callable(self.schedule):
            if self.rate is not None:
                both = " is a function, which gives the rates themselves: leave "
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

    Convergence is slow where columns are far from 0 or of unlike size: to look at, not to get an answer from.

    Parameters
    ----------
    rate : float, default=None
        First step length. Default: 1 over the largest curvature the log-likelihood can have, which always ascends.
    schedule : {"constant", "decaying", "square-root", "line-search"} or function, default="constant"
        ``rate_t`` of the t-th step, from 0: ``rate``, ``rate / (1 + t / 10)``, ``rate / sqrt(1 + t / 10)``, or as far
        as the log-likelihood rises enough (Armijo's condition), twice the last length tried first. A function of t
        gives the rates themselves.

    See Also
    --------
    StochasticGradient : Steps from a few rows at a time.
    IRLS : Steps that know the curvature.

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
            Where to start.
        tol : float
            Relative excess of the objective to stop at.
        max_iter : int
            Steps at most.
        trace : bool, default=False
            Keep the way there.

        Returns
        -------
        Solution
            The point reached.
        """
        run, promise = Descent(objective, theta, tol, max_iter, trace, "gradient descent"), promised(objective)
        rates, factor = self._rates(objective, theta), 1.0
        while not run.ends(promise(run.gradient)):
            step = factor * rates(run.iterations) * objective.total_weight * run.gradient
            if self.schedule != _SEARCH:
                run.jump(run.theta - step)
                continue
            moved = run.move(2 * step)
            if moved is None:
                break
            factor *= 2 * float(np.linalg.norm(moved[0]) / np.linalg.norm(2 * step))
        return run.solution()


@dataclass(frozen=True)
class StochasticGradient(_GradientSteps):
    """Steps along gradients estimated from mini-batches, in the units of the data.

    ``theta + rate_t (n / B) sum over B rows of (y - p) x``: an estimate whose mean is the gradient of the
    log-likelihood. Every epoch goes through all rows in a new random order. An iteration is one step. Steps of constant
    length end in a cloud around the optimum; those that fall come to rest, slowly.

    Parameters
    ----------
    rate : float, default=None
        First step length. Default: 1 over the largest curvature the log-likelihood can have.
    schedule : {"constant", "decaying", "square-root"} or function, default="constant"
        ``rate``, ``rate / (1 + e / 10)`` or ``rate / sqrt(1 + e / 10)`` after e epochs. A function of the number t of
        the step, from 0, gives the rates themselves.
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
        self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False, rng: Any = None
    ) -> Solution:
        """Minimise a smooth objective.

        Parameters
        ----------
        objective : Objective
            What is minimised.
        theta : array
            First point.
        tol : float
            Stop when the estimated relative excess is at most this; looked at once in an epoch.
        max_iter : int
            Number of steps at most.
        trace : bool, default=False
            Keep the point after each step.
        rng : int or numpy.random.Generator, optional
            For the order of the rows.

        Returns
        -------
        Solution
            The last point.
        """
        rng, n_batches = np.random.default_rng(rng), -(-objective.data.n_rows // self.batch)
        run, promise = Descent(objective, theta, tol, max_iter, trace, "stochastic gradient"), promised(objective)
        rates = self._rates(objective, theta, n_batches)
        while not run.ends(promise(run.gradient)):
            theta, first, step = run.theta, run.iterations, run.iterations
            for step, batch in enumerate(islice(batches(objective, self.batch, rng), max_iter - first), first + 1):
                theta = theta - rates(step - 1) * objective.total_weight * objective.gradient_of(batch, theta)
                if trace:
                    run.jump(theta)
            if not trace:
                run.jump(theta, steps=step - first)
        return run.solution()


@dataclass(frozen=True)
class IRLS:
    """Newton-Raphson, for the logistic loss iteratively reweighted least squares, in the units of the data.

    ``theta + (X'DX)^-1 X'(y - p)`` with ``D = diag(p (1 - p))``: whole steps from 0, over all rows. They need not
    ascend: far from the optimum a whole step can overshoot, and for separated classes there is no optimum.

    See Also
    --------
    GradientDescent : Steps that do not know the curvature.

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
            Of at most some thousand parameters.
        theta : array
            Starting point.
        tol : float
            Relative excess at which to stop.
        max_iter : int
            Most steps.
        trace : bool, default=False
            Whether iterates are kept.

        Returns
        -------
        Solution
            The last iterate.
        """
        if not objective.loss.convex:
            raise ParameterError(
                "Newton's steps lead to any point without a slope, and this loss is not convex: use gradient descent."
            )
        run = Descent(objective, theta, tol, max_iter, trace, "IRLS")
        while np.isfinite(run.value):
            step = inverse_hessian(objective.value_gradient_hessian(run.theta)[2])(run.gradient)
            if run.ends(float(np.vdot(run.gradient, step))):
                return run.solution()
            run.jump(run.theta - step)
        run.ends(np.inf)
        return run.solution()


def safe_rate(objective: Objective, theta: Array) -> float:
    """1 over a bound on the curvature of the log-likelihood: K / 2 times that where all K classes are alike likely."""
    if objective.n_parameters > _MOST_PARAMETERS:
        known = f" has no default for more than {_MOST_PARAMETERS:,} parameters, and the model has "
        raise ParameterError(Setting("rate"), f"{known}{objective.n_parameters:,}: give it.")
    hessian = objective.value_gradient_hessian(np.zeros_like(theta))[2]
    largest = float(np.linalg.eigvalsh(hessian)[-1]) if np.isfinite(hessian).all() else np.inf
    bound = objective.loss.steepest * largest * objective.total_weight
    return 2 / len(objective.data.classes) / max(bound, 1e-300)


def promised(objective: Objective) -> Callable[[Array], float]:
    """The map from a gradient to twice what is left to gain, by the curvature at the class shares."""
    data, p = objective.data, objective.n_columns
    moments = reduce(data, ClassMoments(len(data.classes), p, "diagonal"), objective.n_jobs)
    standard = Standardisation(moments.overall_mean(), standard_deviations(moments.column_variances()))
    precondition = moment_preconditioner(replace(objective, standard=standard), np.zeros(objective.shape))

    def decrement(gradient: Array) -> float:
        own = gradient.copy()
        if objective.fit_intercept:
            own[:, :p] -= standard.centre * own[:, p:]
        own[:, :p] /= standard.scale
        return float(np.vdot(own, precondition(own)))

    return decrement
