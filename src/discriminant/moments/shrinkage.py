"""How far a covariance is shrunk towards ``(tr S / p) I``: by formula, or by held-out likelihood.

All formulas take the scatter about the class means and the total weight n, and work with S = scatter / n.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from .folds import FoldMoments
from .scatter import Scatter
from .statistic import ClassMoments

Array = np.ndarray[Any, Any]

#: The values that "cv" tries.
SHRINKAGE_GRID = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 19)))


def oas(scatter: Scatter, n: float) -> float:
    """Oracle approximating shrinkage (Chen, Wiesel, Eldar & Hero 2010), as scikit-learn computes it."""
    p = scatter.n_columns
    mean_square = scatter.relative_norm() / p**2  # in units of the squared trace, which cancels
    squared_mean = 1 / p**2
    distance = (n + 1) * (mean_square - squared_mean / p)
    return 1.0 if distance <= 0 else min((mean_square + squared_mean) / distance, 1.0)


def ledoit_wolf(scatter: Scatter, n: float, mean_fourth_power: float) -> float:
    """Ledoit & Wolf (2004); ``mean_fourth_power`` is the mean of ``|z|^4`` over the centred rows."""
    p, trace = scatter.n_columns, scatter.trace() / n
    fourth = mean_fourth_power / trace / trace if trace > 0 else 0.0
    if trace > 0 and not 0 < fourth < np.inf:
        raise InputError(
            "Ledoit-Wolf shrinkage needs fourth powers of the values, which are too large or too small to be "
            "represented. Use other units."
        )
    noise = (fourth - scatter.relative_norm()) / (n * p)
    distance = scatter.relative_norm() / p - 1 / p**2
    return 0.0 if distance <= 0 or noise <= 0 else min(noise / distance, 1.0)


def cross_validated(folds: FoldMoments, per_class: bool) -> tuple[float, Array]:
    """The shrinkage with the best held-out Gaussian likelihood, and the mean loss at each value of the grid.

    Needs nothing but the moments of the folds: a held-out fold's likelihood under a normal distribution is a function
    of the fold's own moments.
    """
    losses, weight = np.zeros(len(SHRINKAGE_GRID)), 0.0
    for train, held in folds.splits():
        for fitted, divisor, unseen, n in _scatters(train, held, per_class):
            losses += _gaussian_losses(fitted, divisor, unseen, n)
            weight += n
    losses /= max(weight, 1.0)
    return float(SHRINKAGE_GRID[int(np.argmin(losses))]), losses


def _scatters(train: Any, held: Any, per_class: bool) -> Iterable[tuple[Scatter, float, Scatter, float]]:
    """Training scatter with its divisor, held-out scatter about the training means with its weight."""
    known = train.present & held.present
    steps = np.where(known[:, None], np.sqrt(held.weight)[:, None] * (held.mean - train.mean), 0.0)
    if per_class:
        yield from _class_scatters(train.at("class"), held.at("class"), steps)
        return
    divisor = train.total_weight - np.count_nonzero(train.present)
    if divisor > 0 and held.total_weight > 0:
        yield train.within(), divisor, held.within().plus(steps), held.total_weight


def _class_scatters(
    train: ClassMoments, held: ClassMoments, steps: Array
) -> Iterator[tuple[Scatter, float, Scatter, float]]:
    for k in np.flatnonzero(held.present & (train.weight > 1)):
        unseen = held.of_class(int(k)).plus(steps[k : k + 1])
        yield train.of_class(int(k)), float(train.weight[k]) - 1, unseen, float(held.weight[k])


def _gaussian_losses(fitted: Scatter, divisor: float, unseen: Scatter, n: float) -> Array:
    """Minus log-likelihood (up to a constant) of the unseen rows at each value of the grid."""
    target = fitted.mean_variance(divisor)
    if target <= 0:
        return np.zeros(len(SHRINKAGE_GRID))
    basis, values = fitted.spectrum()
    along = unseen.along(basis)
    across = max(unseen.trace() - float(along.sum()), 0.0)
    missing = fitted.n_columns - len(values)
    rest = SHRINKAGE_GRID * target
    variances = (1 - SHRINKAGE_GRID)[:, None] * values / divisor + rest[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_determinant = np.log(variances).sum(axis=1) + (missing * np.log(rest) if missing else 0.0)
        distance = (along / variances).sum(axis=1) + (across / rest if missing else 0.0)
        losses = 0.5 * (n * log_determinant + distance)
    if fitted.covariance(divisor).rank < fitted.n_columns:
        losses[SHRINKAGE_GRID == 0] = np.inf  # a flat distribution gives rows outside it no likelihood at all
    return losses
