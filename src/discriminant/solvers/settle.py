"""The end of the search for a wide margin: the rows that may still change sides are settled together, exactly.

All others pull with their full multiplier or not at all. A pass over all rows tells whether any of them is on the other
side of its corner now; such rows join, and those that may change are settled once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from ..data.rows import dense_rows
from ..kernels import moments
from .corner import Corner
from .margin import MarginFit, MarginProblem, balanced, finished, from_multipliers

Array = np.ndarray[Any, Any]

#: Multiplications of a step that rows can be settled with at most.
_MOST_WORK = 1e9
#: Up to this many columns they are not reduced to the dimensions of fewer rows: inner products would cost digits.
_FEW_COLUMNS = 200
_CORRECTIONS = 2


def affordable(problem: MarginProblem, n_rows: int) -> bool:
    """Whether this many rows can be settled together."""
    return n_rows * float(min(n_rows, problem.objective.shape[1])) ** 2 <= _MOST_WORK


@dataclass(frozen=True)
class Start:
    """Where settling begins.

    Attributes
    ----------
    theta : array of shape (1, q)
    near : array of bool
        Rows that may change sides.
    pulling : array of bool
        Others that have their full multiplier; none for the squared loss, whose multipliers have no largest value.
    width : float
        About how far from the corner rows are that matter at ``theta``; 1 if it is not known to be good.
    """

    theta: Array
    near: Array
    pulling: Array
    width: float = 1.0


def settled(problem: MarginProblem, start: Start, tol: float, max_iter: int, solver: str) -> MarginFit:
    """The solution from there. Rows that cannot be afforded any more stay where they are."""
    theta, near, pulling = start.theta, start.near.copy(), start.pulling.copy()
    for iteration in range(1, max_iter + 1):
        alpha = np.where(pulling, problem.cost, 0.0)
        chosen = np.flatnonzero(near)
        own = problem.objective.n_columns <= max(len(chosen), _FEW_COLUMNS)  # whether the unknowns are theta itself
        corner = _corner(problem, chosen, alpha, own)
        point, used = corner.minimise(*(theta[0], start.width) if own else (np.zeros(len(corner.ridge)), 1.0))
        alpha[near] = problem.cost[near] * used
        if own:
            fit = _at(problem, point[None], alpha, tol, iteration, solver)
        else:
            tried = [balanced(alpha, problem.sign) if problem.fit_intercept else alpha]
            tried.append(_corrected(problem, tried[0], chosen))
            fits = [from_multipliers(problem, each, tol, iteration, solver) for each in tried]
            fit = min(fits, key=lambda fit: fit.solution.excess)
        theta = fit.solution.theta
        crossed = ~near & ((fit.slacks > 0) != pulling)
        if not (crossed.any() or fit.solution.converged):
            crossed = _next(problem, theta, near)
        if not crossed.any() or not (own or affordable(problem, int(np.count_nonzero(near | crossed)))):
            break
        near |= crossed
        pulling &= ~crossed
    return fit


def _next(problem: MarginProblem, theta: Array, near: Array) -> Array:
    """As many rows again as are near, those closest to the corner: with too few of them there may be no minimum."""
    short = np.abs(1.0 - problem.sign * problem.objective.scores(theta)[:, 0])
    short[near] = np.inf
    count = min(max(np.count_nonzero(near), 1), np.count_nonzero(~near))
    joining = np.zeros_like(near)
    joining[np.argsort(short, kind="stable")[:count]] = True
    return joining


def _at(problem: MarginProblem, theta: Array, alpha: Array, tol: float, iteration: int, solver: str) -> MarginFit:
    alpha = balanced(alpha, problem.sign) if problem.fit_intercept else alpha
    slacks = problem.slacks(problem.objective.scores(theta)[:, 0])
    return finished(problem, theta, alpha, problem.pull(alpha), slacks, tol, iteration, solver)


def _corner(problem: MarginProblem, chosen: Array, pulling: Array, own: bool) -> Corner:
    """The problem of the chosen rows, while others pull with these multipliers."""
    linear, share = problem.pull(pulling)[0], problem.cost / problem.total
    rows, linear, ridge = standard_rows(problem, chosen, linear) if own else _reduced(problem, chosen, linear)
    return Corner(rows, share[chosen], linear, ridge, float(pulling.sum()) / problem.total, problem.squared)


def standard_rows(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """Some rows, standardised and times their sign, with the intercept's 1 last; linear pull and ridge."""
    objective = problem.objective
    table, standard = problem.data.rows, objective.standardised
    block = table.block(0, table.n_rows) if len(chosen) == table.n_rows else table.take(chosen)
    rows = np.empty((len(chosen), objective.shape[1]))
    moments.standardise(dense_rows(block), standard.centre, standard.scale, problem.sign[chosen], rows)
    return rows, linear, objective.ridge[0]


def _reduced(problem: MarginProblem, chosen: Array, linear: Array) -> tuple[Array, Array, Array]:
    """The same in as many dimensions as there are rows, if they are fewer than the columns.

    Only the inner products of the rows and of the linear pull matter; the penalty is that of a length.
    """
    p, unit = problem.objective.n_columns, np.sqrt(problem.total)
    pull = linear[:p] * problem.objective.standardised.scale * unit
    rows = _centred(problem, chosen) * unit
    products = np.empty((len(chosen) + 1, len(chosen) + 1))
    products[:-1, :-1] = _inner(rows)
    products[-1, :-1] = products[:-1, -1] = rows @ pull
    products[-1, -1] = pull @ pull
    values, basis = np.linalg.eigh(products)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    points = basis[:, kept] * np.sqrt(values[kept])
    own = points[:-1] * problem.sign[chosen, None]
    ridge, last = np.ones(points.shape[1]), points[-1]
    if not problem.fit_intercept:
        return own, last, ridge
    return np.column_stack((own, problem.sign[chosen])), np.append(last, linear[p]), np.append(ridge, 0.0)


def _corrected(problem: MarginProblem, alpha: Array, chosen: Array) -> Array:
    """The multipliers with those between their bounds corrected until their rows are at the corner to the last digit.

    Inner products have half the digits of the rows themselves.
    """
    bound = np.inf if problem.squared else problem.cost[chosen]
    held = chosen[(alpha[chosen] > 0) & (alpha[chosen] < bound)]
    sign, rows, m = problem.sign[held], _centred(problem, held), len(held)
    bend = 0.5 / problem.cost[held] if problem.squared else np.zeros(m)
    system = np.zeros((m + problem.fit_intercept, m + problem.fit_intercept))
    system[:m, :m] = _inner(rows) + np.diag(bend)
    system[m:, :m], system[:m, m:] = 1.0, 1.0
    for _ in range(_CORRECTIONS if m else 0):
        coef = -problem.total * problem.pull(alpha)[0, : rows.shape[1]] * problem.objective.standardised.scale
        missing = sign - rows @ coef - bend * alpha[held] * sign
        target = np.append(missing, -float(alpha @ problem.sign)) if problem.fit_intercept else missing
        change = lstsq(system, target, lapack_driver="gelsy")[0][:m]
        alpha = alpha.copy()
        alpha[held] = np.clip(alpha[held] + sign * change, 0.0, np.inf if problem.squared else problem.cost[held])
    return balanced(alpha, problem.sign) if problem.fit_intercept else alpha


def _centred(problem: MarginProblem, chosen: Array) -> Any:
    """Some rows, sparse ones as they are."""
    block = problem.data.rows.take(chosen)
    return block.astype(np.float64) if sp.issparse(block) else block - problem.objective.standardised.centre


def _inner(rows: Any) -> Array:
    """The inner products of rows."""
    products = rows @ rows.T
    return products.toarray() if sp.issparse(products) else np.asarray(products)
