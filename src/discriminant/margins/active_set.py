"""An active set method for support vector machines with few rows, or few rows for each column.

The multipliers between their bounds are the unknowns of a system of equations, once it is known which they are: sweeps
of coordinate ascent tell that all but surely, Newton's steps on one face of the bounds after the other make it sure
(Moré & Toraldo 1991; for support vector machines Scheinberg 2006), and the solution is exact. It takes a handful of
systems, each with as many unknowns as there are support vectors at the margin; no Hessian of the columns, and no
hundreds of sweeps where columns are of unlike size.

Of rows with more columns than there are rows nothing but the inner products matter. Their Cholesky factor has the same
ones, in as many columns as there are rows. So the table is read once for its inner products, and again for the
coefficients and the proof. The factor is that of all rows: the machines of many classes share it.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..data import dense_rows
from ..kernels import active_set as kernels
from .dual_coordinate import PROXIMAL, SEED
from .problem import MarginFit, MarginProblem, Stop, finished, from_multipliers, inner_products, is_wide

#: So many times the usual rounding of inner products makes them definite.
_ROUNDING = 2.0


def maximise(problem: MarginProblem, tol: float, seed: int = 0) -> MarginFit | None:
    """The solution of a problem with few rows; None if the faces come to no end, or rounding is in the way."""
    span = problem.span
    if span is None and is_wide(problem):
        span = row_span(problem)
        if span is None:
            return None
    rows = _centred(problem) if span is None else span
    alpha, coef, squares = np.zeros(len(rows)), np.zeros(rows.shape[1]), np.einsum("ij,ij->i", rows, rows)
    mean_square = float(squares.mean()) if problem.fit_intercept else 0.0
    fixed = problem.sign, problem.upper, problem.diagonal, squares
    bias, rounds = kernels.solve(rows, fixed, alpha, coef, mean_square, PROXIMAL * mean_square, SEED + seed)
    if rounds == 0:
        return None
    problem.steps[0] += rounds
    stop, alpha = Stop("active-set", tol), problem.balanced(alpha)
    fit = _finished(problem, stop, rows, alpha, bias) if span is None else from_multipliers(problem, stop, alpha)
    return fit if fit.solution.converged else None


def row_span(problem: MarginProblem) -> Array | None:
    """As many columns as there are rows, with the inner products of the rows; None if rounding is in the way."""
    products, (n, p) = inner_products(problem), problem.data.rows.shape
    rounding = (n + np.sqrt(p)) * np.finfo(np.float64).eps * products.diagonal().max()
    products[np.diag_indices(n)] += _ROUNDING * rounding
    try:
        return np.linalg.cholesky(products) if np.isfinite(rounding) else None
    except np.linalg.LinAlgError:
        return None


def _centred(problem: MarginProblem) -> Array:
    rows = dense_rows(problem.data.rows.block(0, problem.data.n_rows))
    return np.ascontiguousarray(rows - problem.objective.standardised.centre, dtype=np.float64)


def _finished(problem: MarginProblem, stop: Stop, rows: Array, alpha: Array, bias: float) -> MarginFit:
    """What is reached with balanced multipliers and this intercept, for rows at hand."""
    pulls, scale = alpha * problem.sign, problem.objective.standardised.scale
    coef = pulls @ rows
    theta, pull = coef * scale, -coef / scale / problem.total
    if problem.fit_intercept:
        theta, pull = np.append(theta, bias), np.append(pull, -pulls.sum() / problem.total)
    problem.objective.passes[0] += 1
    return finished(problem, stop, theta[None], alpha, problem.slacks(rows @ coef + bias), pull[None])
