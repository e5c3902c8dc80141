"""Solvers of smooth objectives (Newton's method, L-BFGS), what solvers report, and which solver for which problem.

Steps go along ``-H g``, H an approximate inverse Hessian, and are shortened until the objective falls enough (Armijo
1966). An iteration costs one pass for value and gradient, and one more for each time a step is shortened.

`minimise_newton`: the first iterations run on a 64th and
an eighth of the rows, where a Hessian is cheap. Their optimum is close to that of the whole, and so is their Hessian:
it is the preconditioner of a few gradient passes over all rows. Only where that gains too little is the Hessian of all
rows computed, which costs up to as many gradients as there are parameters.

`minimise_lbfgs` (Nocedal 1980) starts from a preconditioner that costs next to nothing and corrects it by what the last
gradients have shown. Newton's method uses the same correction, to learn the difference between sample and whole.

`minimise_newton_cg` begins in the same way, for a step of L-BFGS costs one pass. Near the end, or where these steps
gain too little, the Newton system of all rows is solved by conjugate gradients, as precisely as the quadratic model
deserves (Dembo, Eisenstat & Steihaug 1982); each product with the Hessian costs a pass. So ends L-BFGS, too: what its
last steps promise is a guess, but the decrement of a Newton step (and what conjugate gradients leave of it, by the
least eigenvalue they have met) is the excess of the objective over its minimum.

`minimise_in_row_span`: a ridge penalty leaves no coefficients outside the span of the (centred, scaled) rows
``Z = U S V'``: with ``v = V u`` the scores are those of the rows ``U S`` and the penalty that of u (Hastie & Tibshirani
2004). The problem of p columns becomes one of at most n, for one product ``Z Z'``.

`ridge_paths`: ridges at a sequence of strengths, for all fits of a cross-validation at once. The fits see the same rows
with other weights, 0 for what a split holds out. Their scores are one matrix product: a pass over the rows serves all
of them, and what they say of the rows they have not seen comes with it. Each fit descends by L-BFGS of its own (Nocedal
1980) from where the stronger penalty left it; they share the preconditioner, the inverse Hessian of all rows at the
mean of their parameters, which differs little from any one fit's. A strength takes about five passes; the fit to all
rows is one more among them. Two classes of few rows descend in one compiled loop (`kernels.lbfgs`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from scipy.special import log_expit, logsumexp

from ..arrays import Array
from ..data import Block, LabelledRows, Source, SparseRows, as_rows, dense_rows
from ..engine import one_blas_thread, quiet_numbers, reduce
from ..errors import ParameterError, Setting
from ..folds import HeldOut
from ..kernels import lbfgs
from ..kernels import losses as loss_kernels
from ..moments.covariance import factorised, row_span
from ..moments.statistic import ClassMoments
from ..objective import ElasticNet, MarginLoss, Objective, Pass, Softmax, Standardisation
from ..results import Result, number, several
from .fits import Fits

#: From a gradient, or several one upon the other, to steps.
Preconditioner = Callable[[Array], Array]
Minimise = Callable[..., "Solution"]

#: Up to this many columns a p x p matrix is worth its factorisation.
_MOST_COLUMNS = 2_000
#: Rows that the covariance of the preconditioner is taken from: more make it better than the preconditioner can be.
_SAMPLE_ROWS = 8_000
#: A loss this small, without a penalty, has no minimum but 0, at infinity: the classes are separated.
VANISHING = 1e-9
#: Where no step descends, a relative excess up to this is due to rounding, and the point as good as optimal.
_AS_GOOD_AS_OPTIMAL = 1e-7
#: A step that gains less than this is not seen in the value, which is a sum over the rows, only in the gradient.
_BELOW_ROUNDING = 1e-13
#: Up to this many values all the digits there are cost next to nothing. Beyond, a pass only to look at the last step is
#: not worth its time (a fifth of a fit's).
_LARGE = 2_000_000
#: Every so-many-th row makes a sample.
_STEPS = (64, 8)
#: A sample must have this many rows for each parameter, and this many at all: a smaller one is no guide to the whole.
_ROWS_PER_PARAMETER = 20
_LEAST_ROWS = 4_000
#: The same of the rarest class, for each parameter of a score.
_ROWS_OF_A_CLASS = 3
#: With more rows the decomposition of ``Z Z'`` costs more than passes over the columns.
_MOST_WIDE_ROWS = 2_000
#: A sparse matrix is made dense for that up to so many values, 400 MB.
_MOST_DENSE = 5e7
#: A weaker ridge, relative to the largest row, leaves too few digits of Newton's steps on the Gram matrix.
_LEAST_RIDGE = 1e-7
#: Steps of L-BFGS, a pass each, before Newton systems are solved: where more are needed, these are better.
_MOST_LBFGS = 40
# L-BFGS hands over to Newton-CG when its own estimate of the relative suboptimality, which is rough, reaches this many
# tolerances: later costs passes that conjugate gradients do not need.
NEWTON_CG_START_TOLERANCES: Final = 10.0
#: Products with the Hessian in one solution by conjugate gradients. With few enough parameters to have the Hessian
#: itself, which costs a pass for about so many of them, no more than that takes.
_MOST_PRODUCTS, _LEAST_PRODUCTS, _PARAMETERS_PER_PASS = 1000, 20, 8
#: A step of conjugate gradients that is shorter has nothing left to solve for: its inverse would not be a number.
_UNDERFLOW = 1e-300
#: What may be left of a Newton step's decrement: with less known of the step, more would be wasted.
_LEAST_ACCURATE = 0.1
#: A preconditioner is made anew where the objective has changed by this share, and the excess is so many tolerances.
_STALE, _FAR = 0.3, 100.0
#: Rows for each column, from which the blocks of the preconditioner are taken, where these cost no more than so many
#: passes (in multiplications, of which matrix products make more in the same time) or have no more multiplications.
_ROWS_PER_COLUMN, _MOST_BLOCK_PASSES, _CHEAP_BLOCKS = 20, 80, 2e9
#: Beyond this many parameters a Hessian costs more than the passes it saves; so it does beyond this many
#: multiplications, if it is that of a softmax.
_MOST_NEWTON_PARAMETERS, _CHEAP_HESSIAN = 600, 1e8


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Result):
    """The point a solver stopped at, and how good it is.

    Attributes
    ----------
    theta : array
        Parameters in standardised columns.
    objective : float
        Its value at ``theta``.
    gradient_norm : float
        Largest derivative, in standardised columns (of the smooth part plus the nearest subgradient of an L1 penalty).
    excess : float
        Estimated distance of the objective from its minimum, relative to the objective.
    duality_gap : float or None
        A proven bound on that distance (not relative), where the problem has a dual.
    passes : float
        Passes over the data; a pass over an eighth of the rows counts 1/8.
    iterations : int
        Steps taken, those on samples of the rows included.
    converged : bool
    reason : str
        Why it stopped.
    solver : str
    estimated : bool
        Whether ``objective`` and ``gradient_norm`` are what the last step's quadratic model predicts at ``theta``. On
        large data the last step, which gains less than the tolerance, is taken without a pass to look at it again.
    trace : list of TracePoint
        The way there, if asked for.

    See Also
    --------
    TracePoint : One iteration.
    """

    theta: Array
    objective: float
    gradient_norm: float
    excess: float
    passes: float
    iterations: int
    converged: bool
    reason: str
    solver: str
    duality_gap: float | None = None
    estimated: bool = False
    trace: list[TracePoint] = field(default_factory=list)

    def __str__(self) -> str:
        effort = f"{several(self.iterations, 'iteration')} and {number(self.passes)} passes"
        values = f"objective {number(self.objective, 8)}, largest derivative {number(self.gradient_norm, 2)}"
        estimated = " (both estimated)" if self.estimated else ""
        excess = f"relative excess about {number(self.excess, 2)}"
        return f"Solver {self.solver}: {self.reason} after {effort}; {values}{estimated}, {excess}"


@dataclass(frozen=True)
class TracePoint:
    """One iteration: where it was, and what was known there.

    Parameters
    ----------
    theta : array
        Parameters in standardised columns.
    value : float
        The objective there.
    gradient : array
        Its derivatives in ``theta``.

    See Also
    --------
    Solution : Has them as its ``trace``.
    Trace : The same in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant.solvers import TracePoint
    >>> TracePoint(np.zeros((1, 2)), 0.69, np.array([[0.1, -0.5]])).gradient_norm
    0.5
    """

    theta: Array
    value: float
    gradient: Array

    @property
    def gradient_norm(self) -> float:
        """The largest derivative."""
        return float(np.abs(self.gradient).max())


def descends_enough(new: float, value: float, promised: float) -> bool:
    """Armijo's condition: whether ``new`` is below ``value`` by a share of what was promised, but for rounding."""
    return bool(new <= value - lbfgs.SUFFICIENT * promised + lbfgs.ROUNDING * abs(value))


def line_search(
    evaluate: Callable[[Array], Any], theta: Array, value: float, direction: Array, decrement: float
) -> tuple[Array, Any] | None:
    """The first point along ``-direction`` that descends enough, and what was found there.

    Parameters
    ----------
    evaluate : function from a point to a tuple
        Whose first entry is the function to be minimised.
    theta : array
        Where the search starts.
    value : float
        The function there.
    direction : array
    decrement : float
        ``gradient'direction``, how fast the function falls at first.

    Returns
    -------
    (array, tuple) or None
        The point and what ``evaluate`` gave; None where rounding leaves nothing to gain.
    """
    length = 1.0
    for _ in range(40):
        new = theta - length * direction
        found = evaluate(new)
        if descends_enough(found[0], value, length * decrement):
            return new, found
        if length * decrement < lbfgs.ROUNDING * abs(value):
            return None
        # The minimum of the parabola through what is known, kept within bounds.
        rise = found[0] - value + length * decrement
        guess = 0.5 * length**2 * decrement / rise if np.isfinite(rise) and rise > 0 else 0.1 * length
        length = float(np.clip(guess, 0.1 * length, 0.5 * length))
    return None


class LBFGSMemory:
    """The last pairs (step, change of gradient), and the inverse Hessian they imply."""

    def __init__(self, size: int = lbfgs.MEMORY) -> None:
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=size)

    def learn(self, step: Array, change: Array) -> None:
        """Remember a pair, unless it shows no curvature."""
        curvature = float(np.vdot(step, change))
        if curvature > 1e-14 * np.linalg.norm(step) * np.linalg.norm(change):
            self.pairs.append((step, change, 1 / curvature))

    def direction(self, gradient: Array, precondition: Preconditioner) -> Array:
        """Inverse Hessian times gradient (two-loop recursion), the preconditioner corrected by the pairs."""
        q = gradient.copy()
        shares = []
        for step, change, inverse in reversed(self.pairs):
            share = inverse * np.vdot(step, q)
            shares.append(share)
            q -= share * change
        q = precondition(q)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            q += (share - inverse * np.vdot(change, q)) * step
        return q


class Run:
    """A minimisation under way: where it is, how far it has come, and why it ended."""

    def __init__(self, objective: Objective, tol: float, max_iter: int, trace: bool, solver: str) -> None:
        self.objective, self.tol, self.max_iter, self.solver, self.traced = objective, tol, max_iter, solver, trace
        self.iterations, self.excess, self.reason, self.estimated = 0, np.inf, "", False
        self.trace: list[TracePoint] = []

    def stand_at(self, theta: Array, value: float, gradient: Array) -> None:
        self.theta, self.value, self.gradient = theta, value, gradient
        if self.traced:
            self.trace.append(TracePoint(theta.copy(), value, np.array(gradient)))

    def solution(self, duality_gap: float | None = None) -> Solution:
        return Solution(
            theta=self.theta,
            objective=self.value,
            gradient_norm=float(np.abs(self.gradient).max()),
            excess=self.excess,
            passes=self.objective.passes[0],
            iterations=self.iterations,
            converged=self.reason == "optimal",
            reason=self.reason,
            solver=self.solver,
            duality_gap=duality_gap,
            estimated=self.estimated,
            trace=self.trace,
        )


def _vanishes(objective: Objective, value: float) -> bool:
    return value < VANISHING and objective.penalty.alpha == 0


class Descent(Run):
    """The minimisation of a smooth objective, step by step."""

    #: The square of what a quadratic function would not have gained of the last step's gain, relative to it.
    missed = np.inf

    def __init__(self, objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool, solver: str) -> None:
        super().__init__(objective, tol, max_iter, trace, solver)
        self.jump(theta, steps=0)

    def is_hopeless(self, decrement: float) -> bool:
        """Note the ``decrement`` of the next step, twice what it promises to gain; whether there is no minimum."""
        self.excess = 0.5 * decrement / max(abs(self.value), 1e-300)
        if not np.isfinite(self.value) or not np.isfinite(decrement):
            self.reason = "not finite"
        elif _vanishes(self.objective, self.value):
            self.reason = "vanishing loss"
        return bool(self.reason)

    def ends(self, decrement: float) -> bool:
        """Whether the descent ends here, where the next step has this ``decrement``."""
        if self.is_hopeless(decrement):
            return True
        if self.excess <= self.tol or self.iterations >= self.max_iter:
            self.reason = "optimal" if self.excess <= self.tol else "max_iter"
        return bool(self.reason)

    def move(self, direction: Array) -> tuple[Array, Array] | None:
        """Go along ``-direction``; the step and the change of the gradient, None where no step descends."""
        decrement = float(np.vdot(self.gradient, direction))
        found = line_search(self.objective.value_and_gradient, self.theta, self.value, direction, decrement)
        if found is None and self.excess <= _BELOW_ROUNDING:
            found = self._polished(self.theta - direction)
        if found is None:
            self.reason = "optimal" if self.excess <= _AS_GOOD_AS_OPTIMAL else "no further descent"
            return None
        new, (value, gradient) = found
        step, change = new - self.theta, gradient - self.gradient
        # A quadratic function gains the mean of the slopes at both ends, and bends by their difference.
        missed = self.value - value + 0.5 * float(np.vdot(step, gradient + self.gradient))
        self.missed = (4 * missed / max(float(np.vdot(step, change)), 1e-300)) ** 2
        self.iterations += 1
        self.stand_at(new, value, gradient)
        return step, change

    def _polished(self, theta: Array) -> tuple[Array, Any] | None:
        """The point, if its gradient is smaller: values differ by the rounding of their sums alone."""
        value, gradient = self.objective.value_and_gradient(theta)
        smaller = np.abs(gradient).max() < 0.5 * np.abs(self.gradient).max()
        return (theta, (value, gradient)) if smaller and np.isfinite(value) else None

    def jump(self, theta: Array, steps: int = 1) -> None:
        """Go to a point, whether it descends or not."""
        self.iterations += steps
        self.stand_at(theta, *self.objective.value_and_gradient(theta))

    def finish(self, direction: Array, share: float) -> None:
        """End one step ahead, expected to leave a ``share`` of the excess.

        On large data without looking: what is reported there is the prediction. On others the step is checked.
        """
        self.reason, new = "optimal", self.theta - direction
        if self.objective.data.n_rows * self.objective.n_columns > _LARGE:
            self.estimated = True
            value = self.value - (1 - share) * self.excess * abs(self.value)
            gradient = np.sqrt(max(share, 0.0)) * self.gradient
        else:
            value, gradient = self.objective.value_and_gradient(new)
            if not value <= self.value * (1 + 1e-15) and np.abs(gradient).max() >= np.abs(self.gradient).max():
                return
        self.excess *= share
        self.iterations += 1
        self.stand_at(new, value, gradient)


def minimise_lbfgs(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size by L-BFGS."""
    run = Descent(objective, theta, tol, max_iter, trace, "lbfgs")
    return _descended_to_the_end(run, max_iter)


def minimise_newton_cg(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size."""
    run = Descent(objective, theta, tol, max_iter, trace, "newton-cg")
    return _descended_to_the_end(run, min(max_iter, _MOST_LBFGS))


def _descended_to_the_end(run: Descent, most: int) -> Solution:
    """At most so many steps of L-BFGS, then Newton's method by conjugate gradients until the excess is sure."""
    metric = _Metric(run)
    if _descend_by_lbfgs(run, metric, most):
        _descend_by_newton_cg(run, metric)
    return run.solution()


def _descend_by_lbfgs(run: Descent, metric: _Metric, most: int) -> bool:
    """Steps of L-BFGS until they promise little more than the tolerance; whether it is worth going on."""
    memory = LBFGSMemory()
    while True:
        if run.objective.n_columns <= _MOST_COLUMNS:  # a diagonal made anew would gain nothing here
            metric.renew()
        direction = memory.direction(run.gradient, metric.precondition)
        if run.is_hopeless(float(np.vdot(run.gradient, direction))):
            return False
        if run.excess <= NEWTON_CG_START_TOLERANCES * run.tol or run.iterations >= most:
            return True
        moved = run.move(direction)
        if moved is None:
            run.reason = ""
            return True
        memory.learn(*moved)


def _descend_by_newton_cg(run: Descent, metric: _Metric) -> None:
    """Newton steps until the excess that is left is sure to be within the tolerance."""
    while True:
        step = metric.newton_step()
        if run.ends(step.decrement + step.left):
            return
        # Newton's error squares: what the quadratic model missed of the last gain, it misses of the next slope.
        share = step.left / step.decrement + run.missed
        if run.excess * share <= 0.5 * run.tol:
            run.finish(step.direction, share)
            return
        if run.move(step.direction) is None:
            return


def moment_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """Inverse of ``A x S + ridge``: S the covariance of the rows, A the curvature of the loss at the class shares.

    Where S would be too large, the inverse of the Hessian's diagonal.
    """
    p = objective.n_columns
    if p > _MOST_COLUMNS:
        return diagonal_preconditioner(objective, theta)
    # 1. The loss's second derivatives where every row has the probabilities of the class shares.
    shares, contrasts = objective.class_weights / objective.total_weight, objective.contrasts
    if isinstance(objective.loss, MarginLoss):
        curvature = np.array([[objective.loss.usual_curvature(shares)]])
    else:
        curvature = contrasts @ (np.diag(shares) - np.outer(shares, shares)) @ contrasts.T
    values, turn = np.linalg.eigh(curvature)
    # 2. The covariance of the standardised rows, from a sample.
    data, scale = objective.data, objective.standardised.scale
    step = max(1, data.n_rows // max(_SAMPLE_ROWS, 10 * p))
    moments = reduce(data.every(step), ClassMoments(len(data.classes), p), objective.n_jobs)
    objective.passes[0] += objective.share / step
    spread = np.zeros((objective.shape[1], objective.shape[1]))
    spread[:p, :p] = moments.total().matrix / moments.total_weight / np.outer(scale, scale)
    spread[p:, p:] = 1.0
    ridge = np.diag(objective.ridge[0])
    factors = [factorised(max(value, 1e-8) * spread + ridge) for value in values]

    def precondition(gradient: Array) -> Array:
        turned = (turn.T @ gradient).reshape(-1, *gradient.shape[-2:])
        for k, factor in enumerate(factors):
            turned[:, k] = factor.solve(turned[:, k])
        return turn @ turned.reshape(gradient.shape)

    return precondition


def minimise_newton(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective with few enough parameters for a Hessian."""
    if objective.data.n_rows * objective.n_columns <= _LARGE:
        tol = min(tol, 1e-14)
    theta, precondition, before = _start(objective, theta, max_iter, trace)
    run, memory, previous = Descent(objective, theta, tol, max_iter, trace, "newton"), LBFGSMemory(), np.inf
    run.iterations = before
    while True:
        direction = memory.direction(run.gradient, precondition)
        decrement = float(np.vdot(run.gradient, direction))
        if run.is_hopeless(decrement) or (run.iterations >= max_iter and run.ends(decrement)):
            break
        # 1. Near the end the next step is sure to gain what the last one gained: it is the last.
        share = min(decrement / previous, 1.0) if np.isfinite(previous) else 1.0
        if run.excess * share <= 0.1 * tol:
            run.finish(direction, share)
            break
        # 2. Where the last step gained less than a factor of 10, the Hessian of all rows is worth its time.
        if decrement > 0.1 * previous:
            memory, precondition = LBFGSMemory(), inverse_hessian(objective.value_gradient_hessian(run.theta)[2])
            direction = precondition(run.gradient)
            decrement = float(np.vdot(run.gradient, direction))
        previous = decrement
        # 3. A step, and what it teaches of the difference between sample and whole.
        moved = run.move(direction)
        if moved is None:
            break
        memory.learn(*moved)
    return run.solution()


def _start(objective: Objective, theta: Array, max_iter: int, trace: bool) -> tuple[Array, Preconditioner, int]:
    """Newton's method on samples, or on all rows of a small table: the point reached, its Hessian, the iterations."""
    if trace:  # nothing is to be seen but steps on all rows
        return theta, inverse_hessian(objective.value_gradient_hessian(theta)[2]), 0
    precondition, iterations = None, 0
    for part in map(objective.every, _samples(objective)):
        # Closer than the sample is to the whole would be wasted.
        enough = 0.01 * part.n_parameters / part.data.n_rows
        theta, precondition, more = _damped_newton(part, theta, enough, max_iter - iterations)
        iterations += more
    if precondition is None:
        return _damped_newton(objective, theta, 1e-12, max_iter)
    return theta, precondition, iterations


def _samples(objective: Objective) -> list[int]:
    """The steps whose samples are a guide to the whole: enough rows for the parameters, also of the rarest class."""
    needed = max(_telling_rows(objective), _ROWS_PER_PARAMETER * objective.n_parameters)
    return [step for step in _STEPS if objective.data.n_rows // step >= needed]


def _telling_rows(objective: Objective) -> float:
    """The least rows of a sample that tells of all classes."""
    rarest = max(objective.class_weights.min() / objective.total_weight, 1e-300)
    return max(_LEAST_ROWS, float(_ROWS_OF_A_CLASS * objective.shape[1] / rarest))


def _damped_newton(
    objective: Objective, theta: Array, enough: float, max_iter: int
) -> tuple[Array, Preconditioner, int]:
    """Steps until the expected relative gain is ``enough``; the last point, the Hessian before it, the iterations."""
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    for iteration in range(max_iter):
        precondition = inverse_hessian(hessian)
        direction = precondition(gradient)
        decrement = float(np.vdot(gradient, direction))
        if not decrement > 0 or _vanishes(objective, value):
            return theta, precondition, iteration
        if (0.5 * decrement / max(abs(value), 1e-300)) ** 2 <= enough:
            return theta - direction, precondition, iteration + 1  # Newton's error squares: no second look is needed
        found = line_search(objective.value_gradient_hessian, theta, value, direction, decrement)
        if found is None:
            return theta, precondition, iteration
        theta, (value, gradient, hessian) = found
    return theta, inverse_hessian(hessian), max_iter


def inverse_hessian(hessian: Array) -> Preconditioner:
    """Gradient to inverse Hessian times gradient, for one gradient or several at once."""
    factors = factorised(hessian)
    return lambda gradient: factors.solve(gradient.reshape(-1, len(hessian))).reshape(gradient.shape)


class _Metric:
    """A preconditioner of the Newton systems.

    The first is that of the model without coefficients. Far from the end it is made anew where the objective has
    changed so much that rows bend otherwise; where a system took as many products as a Hessian costs, by its inverse.
    """

    def __init__(self, run: Descent) -> None:
        self.run, P = run, run.objective.n_parameters
        self.most = max(_LEAST_PRODUCTS, P // _PARAMETERS_PER_PASS) if P <= _MOST_COLUMNS else _MOST_PRODUCTS
        self._take(moment_preconditioner(run.objective, run.theta))

    def _take(self, precondition: Preconditioner) -> None:
        #: Products of the last system, and the least eigenvalue that was met.
        self.precondition, self.value, self.products, self.least = precondition, self.run.value, 0, np.inf

    def renew(self) -> None:
        """Far from the end, where the objective has changed much, take the curvature of the rows as they are now."""
        run = self.run
        if run.excess > _FAR * run.tol and not abs(run.value - self.value) <= _STALE * self.value:
            now = newton_preconditioner(run.objective, run.theta)
            # A loss is never below 0: a metric that promises more is that of rows which bend no more, far from the end.
            promised = 0.5 * float(np.vdot(run.gradient, now(run.gradient)))
            self._take(now if promised <= run.value else self.precondition)

    def newton_step(self) -> NewtonStep:
        """The next step, as precise as the run has shown its quadratic model to be."""
        run = self.run
        if self.products >= self.most:
            self._take(inverse_hessian(run.objective.value_gradient_hessian(run.theta)[2]))
        else:
            self.renew()
        share, enough = float(np.clip(run.missed, 0.01, _LEAST_ACCURATE)), 0.5 * run.tol * abs(run.value)
        product = run.objective.hessian_product(run.theta)
        step = conjugate_gradients(product, run.gradient, self.precondition, share, enough, self.least, self.most)
        self.least, self.products = step.least, step.products
        return step


def newton_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """The inverse of the Hessian's blocks for each score, from a sample of the rows.

    Where these would take as long as many passes, one block serves all scores; with very many columns, the diagonal.
    """
    (n, p), n_scores = objective.data.rows.shape, objective.contrasts.shape[1]
    rows = int(min(n, max(_telling_rows(objective), _ROWS_PER_COLUMN * p)))
    if p > _MOST_COLUMNS:
        return diagonal_preconditioner(objective, theta)
    if rows * p > _MOST_BLOCK_PASSES * n and n_scores * rows * p**2 > _CHEAP_BLOCKS:
        return moment_preconditioner(objective, theta)
    blocks, ridge = objective.every(n // rows).class_hessians(theta), np.diag(objective.ridge[0])
    factors, contrasts = [factorised(block + ridge) for block in blocks], objective.contrasts

    def precondition(gradient: Array) -> Array:
        of_scores = contrasts.T @ gradient
        return contrasts @ np.concatenate([f.solve(row[None]) for f, row in zip(factors, of_scores, strict=True)])

    return precondition


def diagonal_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """The inverse of the Hessian's diagonal after the intercepts are eliminated.

    Columns that are not centred (sparse ones) all have to do with the intercept, and by it with each other.
    """
    p, (diagonal, crossed) = objective.n_columns, objective.column_curvatures(theta)
    if objective.fit_intercept:
        shift = crossed[:, :p] / np.maximum(crossed[:, p:], 1e-300)
        diagonal[:, :p] = np.maximum(diagonal[:, :p] - shift * crossed[:, :p], objective.ridge[:, :p])
    diagonal = np.maximum(diagonal, 1e-12 * diagonal.max())

    def precondition(gradient: Array) -> Array:
        solved = gradient / diagonal
        if objective.fit_intercept:
            solved[..., :p] -= shift * gradient[..., p:] / diagonal[:, :p]
            solved[..., p] -= np.einsum("ij,...ij->...i", shift, solved[..., :p])
        return solved

    return precondition


@dataclass(frozen=True)
class Rotation:
    """A problem in the span of its rows, and the way from its parameters to those of all columns and back."""

    objective: Objective
    rows: Array  #: (n, p), as the penalty measures them
    back: Array  #: (n, r): the directions of the span are ``rows.T @ back``
    penalised: Array

    def to_columns(self, theta: Array) -> Array:
        """Parameters (..., C, r + 1) as those of all columns."""
        r = self.back.shape[1]
        return np.concatenate((theta[..., :r] @ self.back.T @ self.rows / self.penalised, theta[..., r:]), axis=-1)

    def from_columns(self, theta: Array) -> Array:
        """The part of parameters of all columns that lies in the span of the rows."""
        p = len(self.penalised)
        return np.concatenate((theta[..., :p] * self.penalised @ self.rows.T @ self.back, theta[..., p:]), axis=-1)

    def point_in_columns(self, point: TracePoint) -> TracePoint:
        """An iteration in all columns; the gradient has no part outside the span of the rows."""
        r, gradient = self.back.shape[1], point.gradient
        whole = gradient[..., :r] @ self.back.T @ self.rows * self.penalised
        return TracePoint(
            self.to_columns(point.theta), point.value, np.concatenate((whole, gradient[..., r:]), axis=-1)
        )


def is_wide(objective: Objective) -> bool:
    """Whether a smooth problem is better solved in the span of its rows."""
    rows = objective.data.rows
    n, p = rows.shape
    at_hand = not isinstance(rows, Source) and (not isinstance(rows, SparseRows) or n * p <= _MOST_DENSE)
    return n < p and n <= _MOST_WIDE_ROWS and at_hand and objective.penalty.l1 == 0


def rotated(objective: Objective) -> Rotation:
    """The problem in the span of its rows."""
    Z, penalised = _penalised_rows(objective)
    rows, back = row_span(Z, exact=objective.penalty.l2 < _LEAST_RIDGE)
    r = rows.shape[1]
    own = replace(
        objective,
        data=replace(objective.data, rows=as_rows(rows)),
        standard=Standardisation(np.zeros(r), np.ones(r)),
        spread=None,
    )
    return Rotation(own, Z, back, penalised)


def _penalised_rows(objective: Objective) -> tuple[Array, Array]:
    """All rows, standardised and in the units of the penalty, and what it multiplies coefficients by."""
    data, standard = objective.data, objective.standardised
    penalised = objective.penalised[0, : objective.n_columns]
    Z = dense_rows(data.rows.block(0, data.n_rows)) - standard.centre
    Z /= standard.scale * penalised  # in place: pages of a new array took longer than the division
    return Z, penalised


def minimise_in_row_span(
    objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False
) -> Solution:
    """Minimise a smooth problem with more columns than rows; the solution's derivatives are those in the rows' span."""
    rotation = rotated(objective)
    minimise = named_solver("auto", rotation.objective)
    found = minimise(rotation.objective, rotation.from_columns(theta), tol, max_iter, trace)
    points = [rotation.point_in_columns(point) for point in found.trace]
    return replace(found, theta=rotation.to_columns(found.theta), trace=points)


@dataclass(frozen=True)
class NewtonStep:
    """An approximate solution of ``hessian direction = gradient``, and how much of the decrement it has found."""

    direction: Array
    decrement: float  #: ``gradient' direction``
    left: float  #: estimate of what the exact solution's decrement has more
    least: float  #: estimate of the least eigenvalue of the preconditioned Hessian
    products: int


def conjugate_gradients(
    product: Callable[[Array], Array],
    target: Array,
    precondition: Preconditioner,
    share: float,
    enough: float = 0.0,
    least: float = np.inf,
    most: int = _MOST_PRODUCTS,
) -> NewtonStep:
    """``hessian^-1 target`` until what is left of its decrement is a ``share`` of what was found, or ``enough``.

    What is left is the squared residual in the inverse Hessian's norm. In the preconditioner's it is known, and the
    least eigenvalue of the one in the other is that of the tridiagonal matrix that the iterations build up (Lanczos),
    or the ``least`` that was met before.
    """
    solution, residual = np.zeros_like(target), target.copy()
    sphered = precondition(residual)
    towards, size = sphered.copy(), float(np.vdot(residual, sphered))
    found, left, diagonal, beside, carried = 0.0, np.inf, list[float](), list[float](), 0.0
    known = np.isfinite(least)  # one product alone tells of a mean eigenvalue, not of the least
    while len(diagonal) < most and size > 0:
        image = product(towards)
        curvature = float(np.vdot(towards, image))
        length = size / curvature if curvature > 0 else 0.0
        if not length > _UNDERFLOW:
            break
        solution += length * towards
        residual -= length * image
        found += length * size
        sphered = precondition(residual)
        size, before = float(np.vdot(residual, sphered)), size
        diagonal.append(1 / length + carried)
        ritz = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside), select="i", select_range=(0, 0))
        least = min(least, float(ritz[0]))
        left = size / least
        if left <= max(share * found, enough) and (known or len(diagonal) > 1):
            break
        ratio = size / before
        carried = ratio / length
        beside.append(np.sqrt(carried / length))
        towards = sphered + ratio * towards
    return NewtonStep(solution, found, left, least, len(diagonal))


def has_cheap_hessian(objective: Objective) -> bool:
    """Whether Hessians cost less than the passes they save.

    That of a softmax takes as many multiplications as a pass for each of its parameters; samples make it cheap.
    """
    P = objective.n_parameters
    cheap = objective.n_functions == 1 or objective.data.n_rows * P**2 <= _CHEAP_HESSIAN or bool(_samples(objective))
    return P <= _MOST_NEWTON_PARAMETERS and cheap


def named_solver(solver: Any, objective: Objective) -> Minimise:
    """The function behind a solver's name, or behind a solver object with a ``minimise`` of its own."""
    if hasattr(solver, "minimise"):
        return solver.minimise
    # The other solvers need this module.
    from . import coordinate
    from .gradient import minimise_gradient, minimise_sgd

    solvers: dict[str, Minimise] = {
        "newton": minimise_newton,
        "lbfgs": minimise_lbfgs,
        "newton-cg": minimise_newton_cg,
        "coordinate": coordinate.minimise,
        "gradient": minimise_gradient,
        "sgd": minimise_sgd,
    }
    name = solver
    if solver == "auto" and is_wide(objective):
        return minimise_in_row_span
    if solver == "auto":
        auto = "newton" if has_cheap_hessian(objective) else "newton-cg"
        name = "coordinate" if objective.penalty.l1 > 0 else auto
    if name not in solvers:
        raise ParameterError(f"Unknown solver {solver!r}. Solvers: 'auto', {', '.join(map(repr, solvers))}.")
    if objective.penalty.l1 > 0 and name != "coordinate":
        able = f" cannot do the penalty {objective.penalty.name!r} (l1_ratio > 0). Use 'coordinate' or 'auto'."
        raise ParameterError(Setting("solver", name), able)
    return solvers[name]


#: Passes of many fits at once go in blocks of so many multiplications, a few for each thread, but not of fewer rows.
_BLOCK_WORK, _LEAST_BLOCK = 4_000_000, 256
#: Up to this many parameters the Hessian of all rows is worth its time.
_MOST_HESSIAN = 900
# The shared Hessian of the fits of all folds is kept while the parameters move by less than this share of their norm.
HESSIAN_REUSE_DISTANCE: Final = 0.1
#: Beyond this many parameters the inverse of a Hessian takes longer than to solve with its factors, pass after pass.
_MOST_INVERTED = 500
#: The standard deviation of the logarithm of a ridge's strength, before any row is seen.
_STRENGTH_DEVIATION = 3.0


@dataclass(frozen=True)
class FoldFits:
    """All fits at one strength: parameters (fits, C, p + 1), and the scores (n_pairs, scores) of rows held out."""

    alpha: float
    theta: Array
    scores: Array
    iterations: int

    def losses(self, objective: Objective, held: HeldOut) -> Array:
        """The mean loss of each split's held-out rows."""
        codes, scores = objective.data.codes[held.rows], self.scores
        if isinstance(objective.loss, Softmax):
            loss = logsumexp(scores, axis=1) - scores[np.arange(len(scores)), codes]
        else:
            loss = -log_expit((2.0 * codes - 1.0) * scores[:, 0])
        weight = np.ones(len(loss)) if objective.data.weight is None else objective.data.weight[held.rows]
        total = np.bincount(held.fits, weight, held.n_splits)
        return np.bincount(held.fits, weight * loss, held.n_splits) / np.where(total > 0, total, 1.0)


def strength_prior(objective: Objective, alphas: Any) -> Any:
    """What a prior of a ridge's strength adds to the mean loss, less than the rows do as soon as they are many.

    A few rows hardly tell strengths apart that differ by a factor of 100: a single one that is hard to tell decides
    which has the least held-out loss. The prior is log-normal with the median root p / n in columns of unit variance,
    between 1 / n, which suits columns that tell different things, and p / n, which suits those that tell the same.
    """
    median = np.sqrt((objective.penalised_deviations**2).sum()) / objective.total_weight
    return (np.log(alphas / median) / _STRENGTH_DEVIATION) ** 2 / 2 / objective.total_weight


@dataclass(frozen=True)
class RidgeChoice:
    """Ridges at decreasing strengths, and the fits at that with the least held-out loss by a weak prior."""

    alphas: Array
    losses: Array  #: (splits, strengths)
    best: FoldFits

    @classmethod
    def among(
        cls, objective: Objective, held: HeldOut, alphas: Array, tol: float, max_iter: int, most_rising: int | None
    ) -> RidgeChoice:
        """Look at strength after strength, no further than ``most_rising`` beyond the best one.

        More columns than rows are rotated to the span of the rows.
        """
        rotation = rotated(objective) if is_wide(objective) else None
        turned, losses, judged = rotation.objective if rotation else objective, list[Array](), list[float]()
        for fits in ridge_paths(turned, held, alphas, tol, max_iter):
            losses.append(fits.losses(objective, held))
            judged.append(losses[-1].mean() + strength_prior(objective, fits.alpha))
            best = int(np.argmin(judged))
            if best == len(judged) - 1:
                found = fits
            if most_rising is not None and len(judged) > best + most_rising:
                break
        if rotation:
            found = replace(found, theta=rotation.to_columns(found.theta))
        return cls(alphas[: len(losses)], np.stack(losses, axis=1), found)


def ridge_paths(
    objective: Objective, held: HeldOut, alphas: Sequence[float] | Array, tol: float, max_iter: int
) -> Iterator[FoldFits]:
    """All fits at decreasing strengths, one strength after the other.

    Parameters
    ----------
    objective : Objective
        Of all rows, with the logistic or softmax loss; its penalty is replaced.
    held : HeldOut
        The splits.
    alphas : sequence of float
        Decreasing strengths of the L2 penalty.
    tol : float
        Estimated relative excess of a fit at which it has arrived.
    max_iter : int
        Steps at each strength.
    """
    objective = replace(objective, standard=objective.standardised)
    at_hand = _FitsAtHand.serves(objective)
    if not at_hand and _has_dense_rows(objective):
        work = objective.n_columns * objective.contrasts.shape[1] * held.seen.shape[1]
        rows = objective.data.rows.in_blocks(max(_BLOCK_WORK // work, _LEAST_BLOCK))
        objective = replace(objective, data=replace(objective.data, rows=rows))
    descent = (_FitsAtHand if at_hand else _FitsInPasses)(objective, held)
    for alpha in alphas:
        descent.descend(replace(objective, penalty=ElasticNet(float(alpha))), tol, max_iter)
        theta = descent.fits.theta.reshape(-1, *objective.shape).copy()
        yield FoldFits(float(alpha), theta, descent.held_scores(), int(descent.fits.n_steps.max()))


def _has_dense_rows(objective: Objective) -> bool:
    """Whether the rows are at hand, with all of their zeros."""
    return isinstance(objective.data, LabelledRows) and not isinstance(objective.data.rows, SparseRows)


class _FitsInPasses:
    """All fits on their way, which pass over the rows together."""

    def __init__(self, objective: Objective, held: HeldOut) -> None:
        self.held, every = held, np.arange(held.seen.shape[1])
        theta = np.zeros((len(every), *objective.shape))
        loss, slope, self.scores = _evaluated(objective, held, theta, every)
        self.fits = Fits.at(theta.reshape(len(every), -1), loss, slope)
        #: Parameters, and the Hessian of the loss there.
        self.bend: tuple[Array, Array] | None = None

    def held_scores(self) -> Array:
        """The scores (n_pairs, scores) of rows held out."""
        return self.scores.copy()

    def _preconditioner(self, objective: Objective) -> Preconditioner:
        """An inverse Hessian of all rows, near the mean of the fits' parameters; for gradients (fits, parameters)."""
        centre = self.fits.theta.mean(axis=0).reshape(objective.shape)
        if objective.n_parameters > _MOST_HESSIAN:
            precondition = moment_preconditioner(objective, centre)
            return lambda gradients: precondition(gradients.reshape(-1, *centre.shape)).reshape(gradients.shape)
        ridge = np.diag(objective.ridge.ravel())
        if self.bend is None or np.linalg.norm(centre - self.bend[0]) > HESSIAN_REUSE_DISTANCE * np.linalg.norm(centre):
            self.bend = centre, objective.value_gradient_hessian(centre)[2] - ridge
        return inverse_hessian(self.bend[1] + ridge)

    def descend(self, objective: Objective, tol: float, max_iter: int) -> None:
        """Go to where the penalised losses are least."""
        fits, ridge, aims = self.fits, objective.ridge.ravel(), np.empty_like(self.fits.theta)
        precondition = self._preconditioner(objective)
        going, q = fits.begin(ridge)
        while True:
            q = np.ascontiguousarray(precondition(q))
            going = going[: lbfgs.aim(fits, ridge, tol, max_iter, going, q, aims)]
            if going.size == 0:
                return
            loss, slope, scores = _evaluated(objective, self.held, aims[: len(going)], going)
            q = q[: len(going)]
            lbfgs.accept(fits, ridge, going, aims, loss, slope, q)
            moved = np.zeros(len(aims), dtype=bool)
            moved[going] = fits.shortened[going] == 0
            pairs = moved[self.held.fits]
            self.scores[pairs] = scores[pairs]


class _FitsAtHand(_FitsInPasses):
    """The same of few rows with one score: the whole descent is compiled, and leaves the GIL to others."""

    def __init__(self, objective: Objective, held: HeldOut) -> None:
        super().__init__(objective, held)
        data, standard, self.loss = objective.data, objective.standardised, objective.loss
        self.rows = np.ones((data.n_rows, objective.shape[1]))
        block = dense_rows(data.rows.block(0, data.n_rows))
        with quiet_numbers():
            self.rows[:, : objective.n_columns] = (block - standard.centre) / standard.scale
        weight = np.ascontiguousarray((held.seen * data.weight_of(slice(None))[:, None]).T)
        self.weight, self.codes = weight / weight.sum(axis=1, keepdims=True), data.codes
        self.offset = np.zeros(data.n_rows) if data.offset is None else data.offset.ravel()
        self.scores = np.tile(self.offset, (len(weight), 1))

    @classmethod
    def serves(cls, objective: Objective) -> bool:
        """Whether rows are so few that threads would have nothing to share."""
        narrow = objective.n_parameters <= _MOST_INVERTED
        few = _has_dense_rows(objective) and len(objective.data.spans) == 1
        return isinstance(objective.loss, MarginLoss) and narrow and few

    def held_scores(self) -> Array:
        return self.scores[self.held.fits, self.held.rows][:, None]

    def descend(self, objective: Objective, tol: float, max_iter: int) -> None:
        ridge, fits, rows = objective.ridge.ravel(), self.fits, (self.rows, self.codes, self.weight, self.offset)
        with one_blas_thread(), quiet_numbers():
            problem = self.loss.code, self.loss.width, *rows, ridge, self._inverse_hessian(ridge), tol, max_iter
            objective.passes[0] += lbfgs.descend(*problem, fits, *fits.begin(ridge), self.scores)

    def _inverse_hessian(self, ridge: Array) -> Array:
        """That of all rows, which the last fit learns from, at the mean of the fits' parameters."""
        scores = self.rows @ self.fits.theta.mean(axis=0) + self.offset
        bend = self.weight[-1] * self.loss.curvature(scores[:, None], self.codes)
        scaled = self.rows * np.sqrt(bend)[:, None]
        return np.ascontiguousarray(inverse_hessian(scaled.T @ scaled + np.diag(ridge))(np.eye(len(ridge))))


def _evaluated(objective: Objective, held: HeldOut, theta: Array, fits: Array) -> tuple[Array, Array, Array]:
    """Mean losses, their slopes (fits, parameters) and scores of rows held out of the chosen fits, in one pass."""
    theta = theta.reshape(-1, *objective.shape)
    coefs, intercepts = objective.linear(theta)
    start = _Fits(objective, coefs.reshape(-1, objective.n_columns), intercepts.ravel(), held, fits)
    total = objective.reduce(start)
    products, sums = (part.reshape(len(theta), -1, *part.shape[1:]) for part in (total.products, total.sums))
    # The sums are over other weights than the objective's own.
    share = objective.total_weight / total.weight
    slope = share[:, None, None] * objective.to_parameters(products, sums)
    return total.value / total.weight, slope.reshape(len(theta), -1), start.held_scores


class _Fits(Pass):
    """Losses and slopes of several fits, each with the rows it learns from, and the scores of rows held out."""

    summed = (*Pass.summed, "weight")

    def __init__(self, objective: Objective, coef: Array, intercept: Array, held: HeldOut, fits: Array) -> None:
        self.held, self.n_scores = held, objective.contrasts.shape[1]
        self.seen = np.ascontiguousarray(held.seen[:, fits])
        #: Place of each fit among the chosen ones; scores of the others are those of the last, and not looked at.
        self.place = np.full(held.seen.shape[1], -1)
        self.place[fits] = np.arange(len(fits))
        self.held_scores = np.empty((len(held.rows), self.n_scores))
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        super().reset()
        self.value, self.weight = np.zeros(self.seen.shape[1]), np.zeros(self.seen.shape[1])

    def add(self, part: Block) -> None:
        scores = self.scores(part).reshape(part.n_rows, -1, self.n_scores)
        rows = slice(part.start, part.start + part.n_rows)
        pairs = slice(*self.held.first[[rows.start, rows.stop]])
        self.held_scores[pairs] = scores[self.held.rows[pairs] - part.start, self.place[self.held.fits[pairs]]]
        weight = part.weight[:, None] * self.seen[rows]
        self.weight += weight.sum(axis=0)
        if self.n_scores == 1:
            slopes = np.empty_like(weight)
            args = scores.reshape(weight.shape), part.codes, weight, self.value, slopes
            loss_kernels.losses_of_scores(self.loss.code, self.loss.width, *args)
        else:
            flat, codes = scores.reshape(-1, self.n_scores), np.repeat(part.codes, scores.shape[1])
            values, slopes = self.loss.evaluate(flat, codes)
            self.value += np.einsum("ig,ig->g", weight, values.reshape(weight.shape))
            slopes = slopes.reshape(scores.shape) * weight[:, :, None]
        self.add_products(part.X, slopes.reshape(part.n_rows, -1))
