"""The solver "coordinate": L1 and elastic-net penalties, one strength or a path of decreasing strengths.

Tables in memory are stored by columns (`columns`); large dense tables and streamed rows are solved by
proximal Newton steps (`proximal_newton`). On a path each strength starts from the solution of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ..arrays import Array
from ..errors import ParameterError, Setting
from ..objective import Objective
from .columns import ColumnPath, Columns
from .l1_penalty import LossPoint, PenalisedRun, evaluate, null_intercepts, reference_points, symmetric
from .proximal_newton import WorkingModel, minimise_proximal_newton
from .solution import Solution

# Gradients summed in another order differ by rounding; at the largest strength all coefficients are to be 0.
ABOVE_ROUNDING: Final = 1.0 + 1e-12
# Newton steps of the intercepts of the model without coefficients, which offsets make necessary.
MAX_INTERCEPT_STEPS: Final = 100
# Number of strengths that a fold solves before the folds synchronise.
HELD_OUT_STRENGTHS: Final = 3


def minimise(objective: Objective, theta: Array, tol: float, max_iter: int, trace: bool = False) -> Solution:
    """Minimise loss plus penalty; with softmax the solution's ``theta`` has K rows (see `l1_penalty.symmetric`)."""
    n_scores = objective.contrasts.shape[1]
    theta = objective.contrasts.T @ theta if len(theta) < n_scores else np.array(theta, dtype=float)
    objective = symmetric(objective)
    if not theta.any() and objective.fit_intercept and not objective.data.has_offset:
        theta[:, -1] = null_intercepts(objective)
    thetas = [theta, *reference_points(objective)]
    if columns := Columns.of(objective):
        start, *references = columns.points(objective, thetas)
        return columns.minimise(PenalisedRun(objective, start, references, tol, max_iter, trace))
    start, *references = evaluate(objective, thetas)
    return minimise_proximal_newton(PenalisedRun(objective, start, references, tol, max_iter, trace))


def alpha_max(objective: Objective) -> float:
    """The smallest strength at which all coefficients are 0."""
    if objective.penalty.l1_ratio == 0:
        raise ParameterError(
            "There is no default path for ", Setting("l1_ratio", 0),
            ": no penalty strength sets all coefficients to 0. Give ",
            Setting("alphas"), ".",
        )  # fmt: skip
    symmetrical, p = symmetric(objective), objective.n_columns
    slopes = np.abs(null_point(symmetrical).slope[:, :p]) / symmetrical.penalty_factor[:, :p]
    return float(slopes.max() / objective.penalty.l1_ratio) * ABOVE_ROUNDING


def alpha_grid(objective: Objective, n: int = 50, ratio: float = 1e-3) -> Array:
    """``n`` strengths in equal proportions, from `alpha_max` down to ``ratio`` times it."""
    return np.geomspace(1.0, ratio, n) * alpha_max(objective)


def regularisation_path(
    objective: Objective,
    alphas: Sequence[float] | Array,
    tol: float = 1e-7,
    max_iter: int = 100,
    columns: Columns | None = None,
) -> list[Solution]:
    """The solutions for ``alphas`` in decreasing order.

    Parameters
    ----------
    objective : Objective
        The objective; of its penalty only ``l1_ratio`` is used.
    alphas : sequence of float
        Decreasing strengths.
    tol : float
        Estimated relative suboptimality of each solution.
    max_iter : int
        Iterations for each strength.
    columns : Columns, optional
        Stored columns of the objective's table, if available.

    Returns
    -------
    list of Solution
        ``passes`` counts from the start of the path. With softmax ``theta`` has K rows (see `l1_penalty.symmetric`).
    """
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.size == 0 or (np.diff(alphas) > 0).any():
        raise ParameterError(Setting("alphas"), " must be a decreasing sequence of at least one strength.")
    objective = replace(symmetric(objective), standard=objective.standardised)
    if columns := columns or Columns.of(objective):
        return list(ColumnPath(columns, objective).solutions(alphas, tol, max_iter))
    return list(_path_by_proximal_newton(objective, alphas, tol, max_iter))


def _path_by_proximal_newton(objective: Objective, alphas: Array, tol: float, max_iter: int) -> Iterator[Solution]:
    """Yields the solutions one after the other, each from the one before."""
    point, intercepts = null_point(objective), reference_points(objective)
    references = evaluate(objective, intercepts) if intercepts else []
    model = WorkingModel(objective)
    for alpha in alphas:
        penalty = replace(objective.penalty, alpha=float(alpha))
        run = PenalisedRun(replace(objective, penalty=penalty), point, references, tol, max_iter)
        yield minimise_proximal_newton(run, model)
        point = run.point


def held_out_losses(
    train: Objective, held: Objective, alphas: Array, tol: float, max_iter: int, columns: Columns | None
) -> Iterator[float]:
    """Yields the mean loss on held-out rows at each strength of a path."""
    if columns is None:
        train = replace(symmetric(train), standard=train.standardised)
        for solution in _path_by_proximal_newton(train, alphas, tol, max_iter):
            yield held.mean_loss(solution.theta)
        return
    path, held = ColumnPath(columns, symmetric(train)), symmetric(held)
    for first in range(0, len(alphas), HELD_OUT_STRENGTHS):
        points, _ = path.minima(alphas[first : first + HELD_OUT_STRENGTHS], tol, max_iter)
        yield from (columns.mean_loss(held, theta) for theta in points.theta)


def null_point(objective: Objective) -> LossPoint:
    """The minimum without coefficients."""
    theta = np.zeros(objective.shape)
    if not objective.fit_intercept:
        return evaluate(objective, [theta])[0]
    theta[:, -1] = null_intercepts(objective)
    (point,) = evaluate(objective, [theta])
    is_intercept = np.arange(objective.shape[1]) == np.full(len(theta), objective.n_columns)[:, None]
    for _ in range(MAX_INTERCEPT_STEPS):
        steepest = np.abs(point.slope[:, -1]).max()
        if steepest <= 1e-14:
            break
        hessian = objective.member_hessian(point.theta, is_intercept)
        theta = point.theta.copy()
        theta[:, -1] -= np.linalg.pinv(hessian, rcond=1e-10, hermitian=True) @ point.slope[:, -1]
        (new,) = evaluate(objective, [theta])
        if not new.loss <= point.loss * (1 + 1e-15) or not np.abs(new.slope[:, -1]).max() < steepest:
            break
        point = new
    return point
