"""Solutions for a decreasing sequence of penalty strengths.

Each strength starts from its stronger neighbour's solution, as far as that has come: a few of them are under way at
the same time and share every pass (see `coordinate`). Columns are screened by the sequential strong rule (Tibshirani et
al., 2012): a column joins when its slope at the neighbour's point says it could matter. The rule may err; whether it
did is seen in the next exact gradient, and columns left out wrongly join then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.blas import one_blas_thread
from ..errors import ParameterError
from ..objective import Objective
from .coordinate import Descent, Point, WorkingHessian, advance, anchor_points, evaluate, null_intercepts, symmetric
from .result import Solution, Trace

Array = np.ndarray[Any, Any]

#: Strengths under way at the same time.
_WINDOW = 5


def alpha_max(objective: Objective) -> float:
    """The smallest strength at which all coefficients are 0."""
    _refuse_ridge(objective)
    return _strength(objective, null_point(symmetric(objective)))


def alpha_grid(objective: Objective, n: int = 50, ratio: float = 1e-3) -> Array:
    """``n`` strengths in equal proportions, from `alpha_max` down to ``ratio`` times it."""
    return np.geomspace(1.0, ratio, n) * alpha_max(objective)


def regularisation_path(
    objective: Objective | Callable[[float], Objective],
    alphas: Sequence[float] | Array,
    tol: float = 1e-7,
    max_iter: int = 100,
    window: int = _WINDOW,
) -> list[Solution]:
    """The solutions for ``alphas`` in decreasing order.

    Parameters
    ----------
    objective : Objective or function from a strength to one
        What is minimised; of its penalty only ``l1_ratio`` matters.
    alphas : sequence of float
        Decreasing strengths.
    tol : float
        Each solution's estimated relative excess.
    max_iter : int
        Rounds for each strength.
    window : int
        Strengths under way at the same time.

    Returns
    -------
    list of Solution
        ``passes`` counts from the start of the path. With softmax ``theta`` has K rows (see `coordinate.symmetric`).
    """
    alphas = np.asarray(alphas, dtype=np.float64)
    if alphas.size == 0 or (np.diff(alphas) > 0).any():
        raise ParameterError("alphas must be a decreasing sequence of at least one strength.")
    base = symmetric(objective(alphas[0]) if callable(objective) else objective)
    with one_blas_thread():
        return _Path(base, alphas, tol, max_iter, window).run()


class _Path:
    """The descents of a path, those under way and those that are done."""

    def __init__(self, objective: Objective, alphas: Array, tol: float, max_iter: int, window: int) -> None:
        self.alphas, self.tol, self.max_iter, self.window = alphas, tol, max_iter, window
        self.objective = replace(objective, standard=objective.standardised)
        anchors = anchor_points(self.objective)
        self.start = null_point(self.objective)
        self.anchors = evaluate(self.objective, anchors) if anchors else []
        self.hessian = WorkingHessian(self.objective)
        self.descents: list[Descent] = []

    def run(self) -> list[Solution]:
        while True:
            self._admit()
            going = [descent for descent in self.descents if descent.solution is None]
            if not going:
                break
            advance(going, self.hessian, self._strong())
        return [descent.solution for descent in self.descents if descent.solution is not None]

    def _admit(self) -> None:
        """Let the next strength start, if there is room and its neighbour has a point of its own."""
        n, going = len(self.descents), sum(descent.solution is None for descent in self.descents)
        if n == len(self.alphas) or going >= self.window:
            return
        if n and self.descents[-1].solution is None and self.descents[-1].iterations == 0:
            return
        start = self.descents[-1].point if n else self.start
        penalty = replace(self.objective.penalty, alpha=float(self.alphas[n]))
        objective = replace(self.objective, penalty=penalty)
        self.descents.append(
            Descent(
                objective,
                start,
                self.tol,
                self.max_iter,
                self.anchors,
                Trace(False),
                self.descents[-1].bend if n else 1.0,
            )
        )

    def _strong(self) -> Array:
        """A mask of the parameters that the strong rule would not discard for the strength to come."""
        newest, n = self.descents[-1], len(self.descents)
        here, ahead = self.alphas[n - 1], self.alphas[min(n, len(self.alphas) - 1)]
        bound = max(2 * ahead - here, 0.0) / max(here, 1e-300)
        return np.asarray(np.abs(newest.gradient) > bound * newest.l1).ravel()


def null_point(objective: Objective) -> Point:
    """The best point without coefficients."""
    theta = np.zeros(objective.shape)
    if not objective.fit_intercept:
        return evaluate(objective, [theta])[0]
    theta[:, -1] = null_intercepts(objective)
    (point,) = evaluate(objective, [theta])
    hessian = WorkingHessian(objective)
    nobody = np.zeros_like(hessian.is_member)
    for _ in range(100):
        steepest = np.abs(point.slope[:, -1]).max()
        if steepest <= 1e-14:
            break
        hessian.renew(point.theta, nobody)
        theta = point.theta.copy()
        theta[:, -1] -= hessian.inverse @ point.slope[:, -1]
        (new,) = evaluate(objective, [theta])
        if not new.loss <= point.loss * (1 + 1e-15) or not np.abs(new.slope[:, -1]).max() < steepest:
            break
        point = new
    return point


def _strength(objective: Objective, null: Point) -> float:
    p = objective.n_columns
    slopes = np.abs(null.slope[:, :p]) * objective.standardised.scale
    return float(slopes.max() / objective.penalty.l1_ratio)


def _refuse_ridge(objective: Objective) -> None:
    if objective.penalty.l1_ratio == 0:
        raise ParameterError("With l1_ratio=0 no strength makes coefficients 0: give the strengths (alphas) yourself.")
