"""A ridge path whose strengths are compared on one held-out part of the rows.

Each strength starts from the solution at the stronger one, so that ten strengths take a few times the passes of one.
The parts are copies of the rows; of the solutions only the best is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..data import Block
from ..objective import ElasticNet, Objective
from ..passes import Pass
from .choice import default_tolerance, named_solver
from .preconditioners import with_known_covariance
from .row_span import RowSpan, is_wide


@dataclass(frozen=True)
class HeldOutLosses:
    """Mean held-out losses at decreasing strengths with their standard errors, and parameters near the best one."""

    alphas: Array
    losses: Array
    errors: Array
    theta: Array | None = None


def held_out_path(
    objective: Objective, split: tuple[Array, Array], alphas: Array, tol: float | None, max_iter: int,
    max_rising: int | None,
) -> HeldOutLosses:  # fmt: skip
    """Try the strengths in turn, at most ``max_rising`` beyond the best one; ``tol=None``: the default of each fit."""
    objective = replace(objective, standard=objective.standardised)
    train, held = (replace(objective, data=objective.data.gather().take(rows)) for rows in split)
    span = RowSpan.of(train) if is_wide(train) else None
    own, found = span.objective if span else with_known_covariance(train), list[tuple[float, float]]()
    start = np.zeros(own.shape)
    for alpha in alphas:
        here = replace(own, penalty=ElasticNet(float(alpha)))
        least = default_tolerance(here) if tol is None else tol
        start = named_solver("auto", here)(here, start, least, max_iter).theta
        theta = span.to_columns(start) if span else start
        found.append(_loss_with_error(held, theta))
        place = int(np.argmin([loss for loss, _ in found]))
        if place == len(found) - 1:
            best = theta
        if max_rising is not None and len(found) > place + 1 + max_rising:
            break
    losses, errors = np.array(found).T
    return HeldOutLosses(alphas[: len(found)], losses, errors, best)


def _loss_with_error(objective: Objective, theta: Array) -> tuple[float, float]:
    """The mean loss of the rows at a point, and its standard error."""

    def add(total: Pass, part: Block) -> None:
        losses = total.loss.evaluate(total.scores(part), part.codes)[0]
        total.value = total.value + part.weight @ np.column_stack((losses, losses**2))

    objective = objective.in_single_precision()
    mean, square = objective.reduce(Pass(objective, *objective.linear(theta), add)).value / objective.total_weight
    return float(mean), float(np.sqrt(max(square - mean**2, 0.0) / max(objective.data.n_rows - 1, 1)))
