"""L-BFGS, and Newton's method with conjugate gradients, for objectives of any size.

A step of L-BFGS (Nocedal 1980) costs one pass, so both methods start with such steps, from a cheap preconditioner. Near
the end, or after a number of steps, the Newton system of all rows is solved by preconditioned conjugate gradients, with
a tolerance adapted to the accuracy of the quadratic model (Dembo, Eisenstat & Steihaug 1982); each product with the
Hessian costs a pass. The final steps of L-BFGS are also of this kind, because they determine the suboptimality, from
the decrement of a Newton step and the residual of conjugate gradients; L-BFGS steps give only a rough estimate of it.

With many classes the first phase has float32 products (`Objective.in_single_precision`), to a tolerance that they can
reach; the second goes on from there in float64, if a smaller tolerance is wanted. The first phase ends without a Newton
step, when the decreases of the last steps, continued as a geometric sequence, add up to less than the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from ..arrays import Array
from ..objective import Objective
from .descent import Descent
from .lbfgs import LBFGSMemory, Preconditioner
from .preconditioners import MAX_MATRIX_COLUMNS, inverse_hessian, moment_preconditioner, newton_preconditioner
from .solution import Solution

# Steps of L-BFGS, a pass each, before Newton systems are solved: problems that need more are solved faster by these.
MAX_LBFGS_STEPS: Final = 40
# L-BFGS hands over to Newton-CG when its own estimate of the relative suboptimality, which is rough, reaches this many
# tolerances: a later change costs passes that conjugate gradients do not need.
NEWTON_CG_START_TOLERANCES: Final = 10.0
# The relative suboptimality that float32 products reach: values have errors of about 1e-9.
MIN_SINGLE_TOLERANCE: Final = 1e-7
# Steps whose decrease is compared with that of as many steps before them: single steps of L-BFGS differ much.
EXTRAPOLATED_STEPS: Final = 3
# Products with the Hessian in one solution by conjugate gradients. If the Hessian itself is affordable (about a pass
# for each `PARAMETERS_PER_HESSIAN_PASS` parameters), their number is limited to its cost.
MAX_CG_PRODUCTS: Final = 1_000
MIN_CG_PRODUCTS: Final = 20
PARAMETERS_PER_HESSIAN_PASS: Final = 8
# A shorter step of conjugate gradients would have an infinite inverse: the system is solved.
MIN_CG_LENGTH: Final = 1e-300
# The share of a Newton step's decrement that conjugate gradients may leave.
MIN_CG_RESIDUAL: Final = 0.01
MAX_CG_RESIDUAL: Final = 0.1
# A preconditioner is renewed when the objective has changed by this share, and the suboptimality is above this many
# tolerances.
STALE_CHANGE: Final = 0.3
STALE_TOLERANCES: Final = 100.0


def minimise_lbfgs(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size by L-BFGS."""
    run = Descent(objective, theta, tol, max_iter, trace, "lbfgs")
    _minimise(run, _Preconditioning(run), max_iter)
    return run.solution()


def minimise_newton_cg(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise a smooth objective of any size by a few steps of L-BFGS, then by Newton-CG."""
    first, most = objective.in_single_precision(), min(max_iter, MAX_LBFGS_STEPS)
    least = MIN_SINGLE_TOLERANCE if first.single else 0.0
    run = Descent(first, theta, max(tol, least), max_iter, trace, "newton-cg")
    preconditioning = _Preconditioning(run)
    _minimise(run, preconditioning, most)
    if run.tol > tol and run.reason in ("optimal", "no further descent"):
        run.objective, run.tol, run.reason = replace(first, single=False), tol, ""
        run.move_to(run.theta, steps=0)
        _minimise(run, preconditioning, most)
    return run.solution()


def _minimise(run: Descent, preconditioning: _Preconditioning, max_lbfgs_steps: int) -> None:
    _descend_by_lbfgs(run, preconditioning, max_lbfgs_steps)
    if not run.reason:
        _descend_by_newton_cg(run, preconditioning)


def _descend_by_lbfgs(run: Descent, preconditioning: _Preconditioning, max_steps: int) -> None:
    """Take L-BFGS steps until the suboptimality is near the tolerance, or to the tolerance in single precision."""
    memory, values = LBFGSMemory(), [run.value]
    while True:
        if run.objective.n_columns <= MAX_MATRIX_COLUMNS:  # a new diagonal would gain nothing here
            preconditioning.renew()
        direction = memory.direction(run.gradient, preconditioning.precondition, is_scaled=True)
        if run.has_diverged(float(np.vdot(run.gradient, direction))):
            return
        if run.objective.single:
            remaining = max(run.suboptimality, extrapolated_decrease(values) / abs(run.value))
            if remaining <= run.tol:
                run.suboptimality, run.reason = remaining, "optimal"
                return
        elif run.suboptimality <= NEWTON_CG_START_TOLERANCES * run.tol:
            return
        if run.iterations >= max_steps:
            return
        pair = run.step_along(direction)
        if pair is None:
            run.reason = ""
            return
        memory.add(*pair)
        values.append(run.value)


def extrapolated_decrease(values: Sequence[float]) -> float:
    """The sum of further decreases if those of the last steps continue as a geometric sequence; infinite at first."""
    steps = min(EXTRAPOLATED_STEPS, (len(values) - 1) // 2)
    if steps == 0:
        return np.inf
    first, middle, last = (values[-1 - k * steps] for k in (2, 1, 0))
    ratio = (middle - last) / max(first - middle, 1e-300)
    return max(middle - last, 0.0) * ratio / (1 - ratio) if ratio < 1 else np.inf


def _descend_by_newton_cg(run: Descent, preconditioning: _Preconditioning) -> None:
    """Take Newton steps until the suboptimality is within the tolerance."""
    while True:
        step = preconditioning.newton_step()
        if run.ends(step.decrement + step.remaining):
            return
        # Newton's method converges quadratically: the error of the next model is at most that of the last one.
        share = step.remaining / step.decrement + run.model_error
        if run.suboptimality * share <= 0.5 * run.tol:
            run.last_step(step.direction, share)
            return
        if run.step_along(step.direction) is None:
            return


class _Preconditioning:
    """The preconditioner of L-BFGS and of the Newton systems, and its renewal.

    The first is that of the model without coefficients. Far from the minimum it is renewed when the objective has
    changed enough to change the IRLS weights; after a system that took as many products as a Hessian costs, the inverse
    Hessian takes its place.
    """

    def __init__(self, run: Descent) -> None:
        self.run, P = run, run.objective.n_parameters
        has_hessian = P <= MAX_MATRIX_COLUMNS
        self.max_products = max(MIN_CG_PRODUCTS, P // PARAMETERS_PER_HESSIAN_PASS) if has_hessian else MAX_CG_PRODUCTS
        self._take(moment_preconditioner(run.objective, run.theta))

    def _take(self, precondition: Preconditioner) -> None:
        #: Products of the last system, and the smallest eigenvalue found.
        self.precondition, self.value, self.products, self.min_eigenvalue = precondition, self.run.value, 0, np.inf

    def renew(self) -> None:
        """Take the IRLS weights at the current point, if the objective has changed much and the minimum is far."""
        run = self.run
        if run.suboptimality <= STALE_TOLERANCES * run.tol or abs(run.value - self.value) <= STALE_CHANGE * self.value:
            return
        precondition = newton_preconditioner(run.objective, run.theta)
        if precondition is None:
            return
        # A loss is not negative: a preconditioner that predicts a larger decrease comes from vanishing IRLS weights.
        predicted = 0.5 * float(np.vdot(run.gradient, precondition(run.gradient)))
        self._take(precondition if predicted <= run.value else self.precondition)

    def newton_step(self) -> NewtonStep:
        """The next Newton step, with a tolerance that follows from the error of the last quadratic model."""
        run = self.run
        if self.products >= self.max_products:
            self._take(inverse_hessian(run.objective.value_gradient_hessian(run.theta)[2]))
        else:
            self.renew()
        forcing_term = float(np.clip(run.model_error, MIN_CG_RESIDUAL, MAX_CG_RESIDUAL))
        limits = CGLimits(forcing_term, 0.5 * run.tol * abs(run.value), self.min_eigenvalue, self.max_products)
        product = run.objective.hessian_product(run.theta)
        step = conjugate_gradients(product, run.gradient, self.precondition, limits)
        self.min_eigenvalue, self.products = step.min_eigenvalue, step.products
        return step


@dataclass(frozen=True)
class NewtonStep:
    """An approximate solution of ``hessian direction = gradient``, and the decrement that it reaches."""

    direction: Array
    decrement: float  #: ``gradient' direction``
    remaining: float  #: estimated difference to the decrement of the exact solution
    min_eigenvalue: float  #: estimate of the smallest eigenvalue of the preconditioned Hessian
    products: int


@dataclass(frozen=True)
class CGLimits:
    """Conjugate gradients end if the remaining decrement is at most ``forcing_term`` times the one reached."""

    forcing_term: float
    tolerance: float = 0.0  #: an absolute limit of the remaining decrement, which also ends the iterations
    min_eigenvalue: float = np.inf  #: the smallest eigenvalue known
    products: int = MAX_CG_PRODUCTS


def conjugate_gradients(
    product: Callable[[Array], Array], target: Array, precondition: Preconditioner, limits: CGLimits
) -> NewtonStep:
    """``A^-1 target`` for the Hessian A, ``product(p) = A p``, to the precision of the limits.

    The remaining decrement is the squared residual r in the norm of A^-1. In the preconditioner's norm it is ``r'z``;
    the smallest eigenvalue of the one norm in the other is that of the tridiagonal Lanczos matrix of the iterations.
    """
    x, r = np.zeros_like(target), target.copy()
    z = precondition(r)
    p, rz = z.copy(), float(np.vdot(r, z))
    decrement, remaining, diagonal, off_diagonal, carried = 0.0, np.inf, list[float](), list[float](), 0.0
    # The first iteration gives a mean of the eigenvalues, not the smallest.
    min_eigenvalue, is_known = limits.min_eigenvalue, np.isfinite(limits.min_eigenvalue)
    while len(diagonal) < limits.products and rz > 0:
        Ap = product(p)
        pAp = float(np.vdot(p, Ap))
        alpha = rz / pAp if pAp > 0 else 0.0
        if not alpha > MIN_CG_LENGTH:
            break
        x += alpha * p
        r -= alpha * Ap
        decrement += alpha * rz
        z = precondition(r)
        rz, before = float(np.vdot(r, z)), rz
        diagonal.append(1 / alpha + carried)
        ritz = eigvalsh_tridiagonal(np.array(diagonal), np.array(off_diagonal), select="i", select_range=(0, 0))
        min_eigenvalue = min(min_eigenvalue, float(ritz[0]))
        remaining = rz / min_eigenvalue
        if remaining <= max(limits.forcing_term * decrement, limits.tolerance) and (is_known or len(diagonal) > 1):
            break
        beta = rz / before
        carried = beta / alpha
        off_diagonal.append(np.sqrt(carried / alpha))
        p = z + beta * p
    return NewtonStep(x, decrement, remaining, min_eigenvalue, len(diagonal))
