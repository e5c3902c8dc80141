"""An active set method for support vector machines with few rows, or few rows for each column.

The multipliers strictly between their bounds (a *face* of the box) are the unknowns of a linear system, once it is
known which they are. Sweeps of dual coordinate ascent estimate that set; Newton steps on one face after the other
correct it (Moré & Toraldo 1991; for support vector machines Scheinberg 2006), and the solution is exact. It takes a few
systems, each with as many unknowns as there are support vectors at the hinge point. There is no Hessian of the columns,
and columns of different scale do not cost hundreds of sweeps.

With more columns than rows only the inner products of the rows matter. Their Cholesky factor has the same inner
products in as many columns as there are rows. So the table is read once for the inner products, and again for the
coefficients and the duality gap. The factor is that of all rows: the machines of many classes share it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..arrays import Array
from ..data import dense_rows
from ..kernels import active_set as kernels
from .dual_coordinate import PROXIMAL_WEIGHT, SEED
from .problem import MarginFit, MarginProblem, Stop, finished, from_multipliers, inner_products, is_wide

# Multiples of the rounding of inner products that make them positive definite.
DIAGONAL_ROUNDINGS: Final = 2.0


def maximise(problem: MarginProblem, tol: float, seed: int = 0) -> MarginFit | None:
    """The solution of a problem with few rows; None if the faces do not converge or rounding prevents it."""
    span = problem.span
    if span is None and is_wide(problem):
        span = row_span(problem)
        if span is None:
            return None
    rows = _centred(problem) if span is None else span
    alpha, coef, squares = np.zeros(len(rows)), np.zeros(rows.shape[1]), np.einsum("ij,ij->i", rows, rows)
    mean_square = float(squares.mean()) if problem.fit_intercept else 0.0
    fixed = problem.sign, problem.upper, problem.diagonal, squares
    bias, rounds = kernels.solve(rows, fixed, alpha, coef, mean_square, PROXIMAL_WEIGHT * mean_square, SEED + seed)
    if rounds == 0:
        return None
    problem.steps[0] += rounds
    stop, alpha = Stop("active-set", tol), problem.balanced(alpha)
    fit = _finished(problem, stop, rows, alpha, bias) if span is None else from_multipliers(problem, stop, alpha)
    return fit if fit.solution.converged else None


def row_span(problem: MarginProblem) -> Array | None:
    """As many columns as rows, with the inner products of the rows; None if rounding prevents it."""
    products, (n, p) = inner_products(problem), problem.data.rows.shape
    rounding = (n + np.sqrt(p)) * np.finfo(np.float64).eps * products.diagonal().max()
    products[np.diag_indices(n)] += DIAGONAL_ROUNDINGS * rounding
    try:
        return np.linalg.cholesky(products) if np.isfinite(rounding) else None
    except np.linalg.LinAlgError:
        return None


def _centred(problem: MarginProblem) -> Array:
    rows = dense_rows(problem.rows.block(0, problem.data.n_rows))
    return np.ascontiguousarray(rows - problem.objective.standardised.centre, dtype=np.float64)


def _finished(problem: MarginProblem, stop: Stop, rows: Array, alpha: Array, bias: float) -> MarginFit:
    """The result with balanced multipliers and this intercept, from centred rows in memory."""
    signed, scale = alpha * problem.sign, problem.objective.standardised.scale
    coef = signed @ rows
    theta, gradient = coef * scale, -coef / scale / problem.objective_scale
    if problem.fit_intercept:
        theta, gradient = np.append(theta, bias), np.append(gradient, -signed.sum() / problem.objective_scale)
    problem.objective.counter.add(1)
    return finished(problem, stop, theta[None], alpha, problem.slacks(rows @ coef + bias), gradient[None])
