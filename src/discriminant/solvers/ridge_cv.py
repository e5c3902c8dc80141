"""Ridge fits at a sequence of strengths, for all splits of a cross-validation at once.

The fits have the same rows with different weights, 0 for the held-out rows of a split. Their scores are one matrix
product: one pass over the rows serves all fits and yields the scores of the held-out rows. Each fit descends by its own
L-BFGS (Nocedal 1980) from its solution at the stronger penalty. They share the preconditioner, the inverse Hessian of
all rows at the mean of their parameters, which is close to that of each fit. A strength takes about five passes; the
fit to all rows is one of the fits.

With one held-out part of the rows (`held_out_path`) each strength starts from the solution at the stronger one. The
parts are copies of the rows; of the solutions only the best is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ..arrays import Array
from ..data import Block, SparseRows
from ..folds import HeldOut
from ..objective import ElasticNet, Objective
from ..passes import Pass
from .choice import default_tolerance, named_solver
from .lbfgs import LBFGSMemory, Preconditioner
from .line_search import ROUNDING, decreases_enough, shortened
from .newton import MAX_NEWTON_PARAMETERS
from .preconditioners import inverse_hessian, moment_preconditioner, newton_preconditioner, with_known_covariance
from .row_span import RowSpan, is_wide

# Multiplications in a block of a pass of many fits, which leaves a few blocks for each thread; and its fewest rows.
BLOCK_OPERATIONS: Final = 4_000_000
MIN_BLOCK_ROWS: Final = 256
# The shared Hessian of the fits of all folds is kept while the parameters move by less than this share of their norm.
HESSIAN_REUSE_DISTANCE: Final = 0.1
# Standard deviation of the log-strength in its prior: large, so that the prior matters only with few rows.
LOG_STRENGTH_STD: Final = 3.0


@dataclass(frozen=True)
class FoldFits:
    """All fits at one strength: parameters (fits, C, p + 1), and the scores (n_pairs, scores) of rows held out."""

    alpha: float
    theta: Array
    scores: Array
    iterations: int

    def losses(self, objective: Objective, held: HeldOut) -> Array:
        """The mean loss of each split's held-out rows."""
        data = objective.data.gather()
        loss, weight = objective.loss.evaluate(self.scores, data.codes[held.rows])[0], data.weight_of(held.rows)
        total = np.bincount(held.fits, weight, held.n_splits)
        return np.bincount(held.fits, weight * loss, held.n_splits) / np.where(total > 0, total, 1.0)


def strength_prior(objective: Objective, alphas: Array | float) -> Array:
    """Minus the log-density of a prior of the strength, per row; it matters only with few rows.

    Few rows hardly distinguish strengths that differ by a factor of 100: a single row that is hard to classify decides
    which has the least held-out loss. The prior is log-normal with the median root p / n in columns of unit variance,
    between 1 / n, which suits independent columns, and p / n, which suits identical ones.
    """
    median = np.sqrt((objective.scaled_std**2).sum()) / objective.total_weight
    prior: Array = (np.log(alphas / median) / LOG_STRENGTH_STD) ** 2 / 2 / objective.total_weight
    return prior


@dataclass(frozen=True)
class RidgeChoice:
    """Held-out losses at decreasing strengths, and the fits at the best strength under a weak prior."""

    alphas: Array
    losses: Array  #: (splits, strengths)
    best: FoldFits

    @classmethod
    def among(
        cls, objective: Objective, held: HeldOut, alphas: Array, tol: float, max_rising: int | None, max_iter: int = 200
    ) -> RidgeChoice:
        """Try the strengths in turn, at most ``max_rising`` beyond the best one."""
        span = RowSpan.of(objective) if held.columns is None and is_wide(objective) else None
        own, losses, criteria = span.objective if span else objective, list[Array](), list[float]()
        for fits in ridge_paths(own, held, alphas, tol, max_iter):
            losses.append(fits.losses(objective, held))
            criteria.append(losses[-1].mean() + strength_prior(objective, fits.alpha))
            best = int(np.argmin(criteria))
            if best == len(criteria) - 1:
                found = fits
            if max_rising is not None and len(criteria) > best + max_rising:
                break
        if span:
            found = replace(found, theta=span.to_columns(found.theta))
        return cls(alphas[: len(losses)], np.stack(losses, axis=1), found)


def ridge_paths(
    objective: Objective, held: HeldOut, alphas: Sequence[float] | Array, tol: float, max_iter: int
) -> Iterator[FoldFits]:
    """All fits at decreasing strengths, one strength after the other.

    Parameters
    ----------
    objective : Objective
        Of all rows, with a smooth loss; its penalty is replaced.
    held : HeldOut
        The splits.
    alphas : sequence of float
        Decreasing strengths of the L2 penalty.
    tol : float
        Estimated relative suboptimality of a fit at which it has converged.
    max_iter : int
        Steps at each strength.
    """
    objective = replace(objective, standard=objective.standardised)
    if objective.n_parameters > MAX_NEWTON_PARAMETERS:
        objective = with_known_covariance(objective)
    if not objective.data.is_streamed and not isinstance(objective.data.rows, SparseRows):
        work = objective.n_columns * objective.form.n_scores * held.seen.shape[1]
        data = objective.data.gather()
        rows = data.rows.in_blocks(max(BLOCK_OPERATIONS // work, MIN_BLOCK_ROWS))
        objective = replace(objective, data=replace(data, rows=rows))
    fits = _Fits(objective, held)
    for alpha in alphas:
        iterations = fits.descend(replace(objective, penalty=ElasticNet(float(alpha))), tol, max_iter)
        theta = fits.theta.reshape(-1, *objective.shape).copy()
        yield FoldFits(float(alpha), theta, fits.scores.copy(), iterations)


class _Fits:
    """The state of all fits: parameters (fits, parameters), mean losses and gradients, and scores of held-out rows."""

    def __init__(self, objective: Objective, held: HeldOut) -> None:
        self.held, self.theta = held, np.zeros((held.seen.shape[1], objective.n_parameters))
        #: 1 for the parameters of each fit, 0 for the others; None if every fit has all.
        self.free: Array | None = None
        if held.columns is not None:
            n_intercepts = objective.shape[1] - objective.n_columns
            own = np.pad(held.columns.astype(float), ((0, 0), (0, n_intercepts)), constant_values=1.0)
            self.free = np.tile(own, (1, objective.n_linear_predictors))
        self.loss, self.slope, self.scores = self._evaluated(objective, self.theta, np.arange(len(self.theta)))
        #: Parameters, and the Hessian of the loss there.
        self.hessian: tuple[Array, Array] | None = None

    def descend(self, objective: Objective, tol: float, max_iter: int) -> int:
        """Minimise the penalised losses; the number of steps."""
        ridge, whole = objective.ridge.ravel(), self._preconditioner(objective)

        def precondition(gradients: Array) -> Array:
            return self._projected(whole(gradients))

        memory, length = LBFGSMemory(len(self.theta)), np.ones(len(self.theta))
        moved = np.ones(len(self.theta), dtype=bool)
        for iteration in range(max_iter):
            value = self._penalised(self.loss, self.theta, ridge)
            if moved.any():
                gradient = self._projected(self.slope + ridge * self.theta)
                direction = memory.direction(gradient, precondition)
                decrement = np.einsum("fp,fp->f", gradient, direction)
            is_active = (decrement > 2 * tol * np.abs(value)) & (length * decrement >= ROUNDING * np.abs(value))
            active = np.flatnonzero(is_active)
            if active.size == 0:
                return iteration
            trial = self.theta[active] - length[active, None] * direction[active]
            loss, slope, scores = self._evaluated(objective, trial, active)
            predicted, reached = length[active] * decrement[active], self._penalised(loss, trial, ridge)
            moved[:] = False
            moved[active] = decreased = decreases_enough(reached, value[active], predicted)
            length[active] = np.where(decreased, 1.0, shortened(length[active], predicted, reached - value[active]))
            step, change = np.zeros_like(self.theta), np.zeros_like(self.theta)
            step[moved] = trial[decreased] - self.theta[moved]
            change[moved] = slope[decreased] - self.slope[moved] + ridge * step[moved]
            change = self._projected(change)
            memory.add(step, change)
            self.theta[moved], self.loss[moved], self.slope[moved] = trial[decreased], loss[decreased], slope[decreased]
            pairs = moved[self.held.fits]
            self.scores[pairs] = scores[pairs]
        return max_iter

    def _projected(self, vectors: Array) -> Array:
        """Vectors (fits, parameters) with 0 for the parameters that a fit does not have."""
        return vectors if self.free is None else vectors * self.free

    def _penalised(self, loss: Array, theta: Array, ridge: Array) -> Array:
        return np.asarray(loss + 0.5 * theta**2 @ ridge)

    def _preconditioner(self, objective: Objective) -> Preconditioner:
        """An inverse Hessian of all rows, near the mean of the fits' parameters; for gradients (fits, parameters)."""
        centre = self.theta.mean(axis=0).reshape(objective.shape)
        if objective.n_parameters > MAX_NEWTON_PARAMETERS:
            own = newton_preconditioner(objective, centre) if self.free is None else None
            precondition = own or moment_preconditioner(objective, centre)  # blocks of columns that a fit lacks mislead
            return lambda gradients: precondition(gradients.reshape(-1, *centre.shape)).reshape(gradients.shape)
        ridge, known = np.diag(objective.ridge.ravel()), self.hessian
        if known is None or np.linalg.norm(centre - known[0]) > HESSIAN_REUSE_DISTANCE * np.linalg.norm(centre):
            known = self.hessian = centre, objective.value_gradient_hessian(centre)[2] - ridge
        return inverse_hessian(known[1] + ridge)

    def _evaluated(self, objective: Objective, theta: Array, fits: Array) -> tuple[Array, Array, Array]:
        """Mean losses, their slopes (fits, parameters) and held-out scores of the chosen fits, in one pass."""
        theta = theta.reshape(-1, *objective.shape)
        coefs, intercepts = objective.linear(theta)
        start = _FoldsPass(objective, coefs.reshape(-1, objective.n_columns), intercepts.ravel(), self.held, fits)
        total = objective.reduce(start)
        products, sums = (part.reshape(len(theta), -1, *part.shape[1:]) for part in (total.products, total.sums))
        # The sums are over other weights than the objective's own.
        share = objective.total_weight / total.weight
        slope = share[:, None, None] * objective.to_parameters(products, sums)
        return total.value / total.weight, slope.reshape(len(theta), -1), start.held_scores


class _FoldsPass(Pass):
    """Losses and gradients of several fits, each of its training rows, and the scores of held-out rows."""

    summed = (*Pass.summed, "weight")

    def __init__(self, objective: Objective, coef: Array, intercept: Array, held: HeldOut, fits: Array) -> None:
        self.held, self.n_scores = held, objective.form.n_scores
        self.seen = np.ascontiguousarray(held.seen[:, fits])
        #: Place of each fit among the active ones; -1, whose scores are not used, for the others.
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
        values, slopes = self.loss.evaluate(scores.reshape(-1, self.n_scores), part.codes)
        self.value += np.einsum("ig,ig->g", weight, values.reshape(weight.shape))
        slopes *= weight.reshape(-1, 1)
        self.add_products(part.X, slopes.reshape(part.n_rows, -1))


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
