"""Ridge-penalised logistic regression at a sequence of strengths, for all fits of a cross-validation at once.

The fits see the same rows with other weights, 0 for what a split holds out. Their scores are one matrix product: a pass
over the rows serves all of them, and what they say of the rows they have not seen comes with it. Each fit descends by
L-BFGS of its own (Nocedal 1980) from where the stronger penalty left it; they share the preconditioner, the inverse
Hessian of all rows at the mean of their parameters, which differs little from any one fit's. A strength takes about
five passes; the fit to all rows is one more among them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from ..data import Block
from ..objective import ElasticNet, Objective, Pass, Softmax
from .smooth import MEMORY, Preconditioner, inverse_hessian, is_wide, moment_preconditioner, rotated

Array = np.ndarray[Any, Any]

#: Up to this many parameters the Hessian of all rows is worth its time at every strength.
_MOST_HESSIAN = 900
#: Folds are dealt anew until about so many pairs of a row and a split are there.
_STEADY_PAIRS = 2_000
#: The standard deviation of the logarithm of a ridge's strength, before any row is seen.
_STRENGTH_DEVIATION = 3.0
#: Shares by which a step that does not descend enough is shortened, and how often.
_SHORTER, _MOST_SHORTER = 0.4, 12


@dataclass(frozen=True)
class HeldOut:
    """Which rows each split holds out, as pairs of a row and a split, in the order of the rows.

    Parameters
    ----------
    rows, fits : arrays of shape (n_pairs,)
    first : array of shape (n_rows + 1,)
        Where the pairs of each row begin.
    seen : bool array of shape (n_rows, n_splits + 1)
        Which rows each fit learns from; the last one from all.
    """

    rows: Array
    fits: Array
    first: Array
    seen: Array

    @classmethod
    def by_splits(cls, splits: Sequence[tuple[Array, Array]], n_rows: int) -> HeldOut:
        """From pairs of the rows to train on and the rows held out."""
        seen, held = np.ones((n_rows, len(splits) + 1), dtype=bool), np.zeros((n_rows, len(splits)), dtype=bool)
        for split, (train, out) in enumerate(splits):
            seen[:, split] = False
            seen[train, split] = True
            held[out, split] = True
        rows, fits = np.nonzero(held)
        return cls(rows, fits, np.searchsorted(rows, np.arange(n_rows + 1)), seen)

    @classmethod
    def repeated(cls, codes: Array, n_folds: int = 5, seed: int = 0) -> HeldOut:
        """By `repeated_folds`."""
        return cls.by_splits(repeated_folds(codes, n_folds, seed), len(codes))

    @property
    def n_splits(self) -> int:
        return self.seen.shape[1] - 1


def repeated_folds(codes: Array, n_folds: int = 5, seed: int = 0, most: int = 5) -> list[tuple[Array, Array]]:
    """Folds with equal shares of every class, dealt anew up to ``most`` times where rows are few.

    The classes of the rows count, not the order of the classes; the same rows have the same folds every time. The
    only row of a class is never held out: no fit could know its class.
    """
    n_rows, splits = len(codes), list[tuple[Array, Array]]()
    n_folds = min(n_folds, n_rows)
    for repeat in range(int(np.clip(_STEADY_PAIRS // n_rows, 1, most))):
        order = np.random.default_rng(seed + repeat).permutation(n_rows)
        _, first, of_class = np.unique(codes[order], return_index=True, return_inverse=True)
        sorted_rows = np.argsort(of_class, kind="stable")
        rank = np.empty(n_rows, dtype=np.int64)
        rank[sorted_rows] = np.arange(n_rows) - np.searchsorted(of_class[sorted_rows], of_class[sorted_rows])
        fold = np.empty(n_rows, dtype=np.int64)
        fold[order] = (first[of_class] + rank) % n_folds
        fold[np.bincount(of_class)[of_class[np.argsort(order)]] == 1] = -1
        splits += [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in np.unique(fold[fold >= 0])]
    return splits


@dataclass(frozen=True)
class TunedRule:
    """A rule fitted to all rows, and how its kind did on rows that it had not seen.

    Parameters
    ----------
    rule : Rule
        Its scores are log-posteriors, but for a constant of each row.
    settings : dict
        What was chosen, by the name of the parameter.
    loss : float
        The mean log-loss of the pairs held out, with these settings.
    log_posteriors : array of shape (n_pairs, K)
        Of the pairs; minus infinity for a class of which the fit has seen no row.
    """

    rule: Any
    settings: dict[str, float]
    loss: float
    log_posteriors: Array


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
    units = objective.standardised.scale / (1.0 if objective.spread is None else objective.spread)
    median = np.sqrt((units**2).sum()) / objective.total_weight
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
    point = _evaluated(objective, held, np.zeros((held.seen.shape[1], *objective.shape)), slice(None))
    for alpha in alphas:
        penalised = replace(objective, penalty=ElasticNet(float(alpha)))
        theta, iterations = _descended(penalised, held, point, tol, max_iter)
        point = _evaluated(objective, held, theta, slice(None))
        yield FoldFits(float(alpha), theta, point.scores, iterations)


@dataclass(frozen=True)
class _FitPoints:
    """Parameters of some fits with their mean losses and slopes, penalties left out."""

    theta: Array
    loss: Array
    slope: Array
    scores: Array

    def penalised(self, objective: Objective) -> tuple[Array, Array]:
        """Values and gradients with the penalty."""
        pull = objective.ridge * self.theta
        return self.loss + 0.5 * np.einsum("gij,gij->g", pull, self.theta), self.slope + pull


def _evaluated(objective: Objective, held: HeldOut, theta: Array, fits: Any) -> _FitPoints:
    """The chosen fits at these parameters, in one pass."""
    coefs, intercepts = objective.linear(theta)
    start = _Fits(objective, coefs.reshape(-1, objective.n_columns), intercepts.ravel(), held, fits)
    total = objective.reduce(start)
    products, sums = (part.reshape(len(theta), -1, *part.shape[1:]) for part in (total.products, total.sums))
    # The sums are over other weights than the objective's own.
    share = objective.total_weight / total.weight
    slope = share[:, None, None] * objective.to_parameters(products, sums)
    return _FitPoints(theta, total.value / total.weight, slope, start.held_scores)


class _Fits(Pass):
    """Losses and slopes of several fits, each with the rows it learns from, and the scores of rows held out."""

    summed = (*Pass.summed, "weight")

    def __init__(self, objective: Objective, coef: Array, intercept: Array, held: HeldOut, fits: Any) -> None:
        self.held, self.seen = held, held.seen[:, fits]
        self.n_scores, self.complete = objective.contrasts.shape[1], isinstance(fits, slice)
        self.held_scores = np.empty((len(held.rows) if self.complete else 0, self.n_scores))
        super().__init__(objective, coef, intercept)

    def reset(self) -> None:
        super().reset()
        self.value, self.weight = np.zeros(self.seen.shape[1]), np.zeros(self.seen.shape[1])

    def add(self, part: Block) -> None:
        scores = self.scores(part).reshape(part.n_rows, -1, self.n_scores)
        rows = slice(part.start, part.start + part.n_rows)
        if self.complete:
            pairs = slice(*self.held.first[[rows.start, rows.stop]])
            self.held_scores[pairs] = scores[self.held.rows[pairs] - part.start, self.held.fits[pairs]]
        weight = part.weight[:, None] * self.seen[rows]
        self.weight += weight.sum(axis=0)
        flat = scores.reshape(-1, self.n_scores)
        values, slopes = self.loss.evaluate(flat, np.repeat(part.codes, scores.shape[1]))
        self.value += np.einsum("ig,ig->g", weight, values.reshape(weight.shape))
        slopes = slopes.reshape(scores.shape) * weight[:, :, None]
        self.add_products(part.X, slopes.reshape(part.n_rows, -1))


def _descended(objective: Objective, held: HeldOut, start: _FitPoints, tol: float, max_iter: int) -> tuple[Array, int]:
    """The parameters of all fits where their penalised losses are least, and the steps of the longest descent."""
    theta, memory = start.theta.copy(), _FitMemory()
    value, gradient = start.penalised(objective)
    precondition, going = _shared_preconditioner(objective, theta), np.arange(len(theta))
    for iteration in range(max_iter):
        if going.size == 0:
            return theta, iteration
        direction = memory.directions(gradient, precondition, going)
        decrement = np.einsum("gij,gij->g", gradient[going], direction)
        far = decrement > 2 * tol * np.abs(value[going])
        going, direction, decrement = going[far], direction[far], decrement[far]
        if going.size == 0:
            return theta, iteration
        before, slope = theta.copy(), gradient.copy()
        length, waiting = np.ones(len(going)), np.arange(len(going))
        for _ in range(_MOST_SHORTER):
            fits = going[waiting]
            found = _evaluated(objective, held, theta[fits] - length[waiting, None, None] * direction[waiting], fits)
            values, gradients = found.penalised(objective)
            enough = values <= value[fits] - 1e-4 * length[waiting] * decrement[waiting] + 1e-15 * np.abs(value[fits])
            arrived = fits[enough]
            theta[arrived], value[arrived], gradient[arrived] = found.theta[enough], values[enough], gradients[enough]
            waiting = waiting[~enough]
            if waiting.size == 0:
                break
            length[waiting] *= _SHORTER
        memory.learn(theta - before, gradient - slope)
        going = np.delete(going, waiting)  # where no step descends, rounding has the last word
    return theta, max_iter


def _shared_preconditioner(objective: Objective, theta: Array) -> Preconditioner:
    """An inverse Hessian of all rows, at the mean of the fits' parameters."""
    centre = theta.mean(axis=0)
    if objective.n_parameters > _MOST_HESSIAN:
        of_one = moment_preconditioner(objective, centre)
        return lambda gradients: np.stack([of_one(gradient) for gradient in gradients])
    return inverse_hessian(objective.value_gradient_hessian(centre)[2])


class _FitMemory:
    """The last steps of all fits and how their gradients changed: L-BFGS for each of them."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array, Array]] = deque(maxlen=MEMORY)

    def learn(self, step: Array, change: Array) -> None:
        """Remember the pairs that show curvature."""
        curvature = np.einsum("gij,gij->g", step, change)
        size = np.linalg.norm(step, axis=(1, 2)) * np.linalg.norm(change, axis=(1, 2))
        shown = curvature > np.maximum(1e-14 * size, np.finfo(float).tiny)
        self.pairs.append((step, change, np.divide(1.0, curvature, out=np.zeros_like(size), where=shown)))

    def directions(self, gradient: Array, precondition: Preconditioner, fits: Array) -> Array:
        """Inverse Hessian times gradient of the chosen fits (two-loop recursion)."""
        q, shares = gradient[fits].copy(), []
        for step, change, inverse in reversed(self.pairs):
            share = inverse[fits] * np.einsum("gij,gij->g", step[fits], q)
            shares.append(share)
            q -= share[:, None, None] * change[fits]
        q = precondition(q)
        for (step, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            back = inverse[fits] * np.einsum("gij,gij->g", change[fits], q)
            q += (share - back)[:, None, None] * step[fits]
        return q
