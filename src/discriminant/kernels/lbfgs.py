"""L-BFGS of many fits at once, each with pairs and a line search of its own (Nocedal 1980; Armijo 1966).

A few fits of a small table are a thousand products of short vectors: in NumPy each costs more than its arithmetic.
`aim` says where the fits look next, `accept` is told what was found there; between them gradients ``q`` are multiplied
by an inverse Hessian that all share, and the rows are passed over, by whoever calls. `descend` does both for rows at
hand. ``going`` are the fits on their way, which the lines of ``q``, ``aims`` and of what was found belong to; ``ridge``
(parameters,) is the second derivative of the penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import kernel, summing_kernel
from .losses import derivatives

#: Pairs of steps and gradient changes that are remembered.
MEMORY = 12
#: The share of the gain promised by the slope that a step must bring (Armijo's condition).
SUFFICIENT = 1e-4
#: A value this many relative units above another is as good: rounding of the sums over the rows.
ROUNDING = 4 * float(np.finfo(float).eps)
#: What a step that does not descend enough is shortened by, and how often: then rounding has the last word.
_SHORTER, _MOST_SHORTER = 0.4, 12


class Fits(NamedTuple):
    """Where each fit is, its loss without the penalty, and what it remembers."""

    theta: Any  #: (fits, parameters)
    loss: Any  #: (fits,)
    slope: Any  #: (fits, parameters)
    value: Any  #: (fits,), with the penalty
    steps: Any  #: (fits, memory, parameters)
    changes: Any
    inverses: Any  #: (fits, memory), of the products of the two; 0 where they show no curvature
    shares: Any  #: what each pair explains of the gradient
    count: Any  #: (fits,), steps taken
    direction: Any  #: (fits, parameters)
    decrement: Any  #: (fits,), what a step along it promises
    length: Any
    shortened: Any  #: how often the step has been

    @classmethod
    def at(cls, theta: Any, loss: Any, slope: Any) -> Fits:
        """Fits at these points."""
        n, p = theta.shape
        (steps, changes), (inverses, shares) = np.empty((2, n, MEMORY, p)), np.empty((2, n, MEMORY))
        (value, decrement, length), (count, shortened) = np.empty((3, n)), np.zeros((2, n), dtype=np.int64)
        memory = steps, changes, inverses, shares, count
        own = theta.copy(), loss.copy(), slope.copy(), value
        return cls(*own, *memory, np.empty((n, p)), decrement, length, shortened)

    def begin(self, ridge: Any) -> tuple[Any, Any]:
        """Go on under another penalty, without the pairs: all fits, and their gradients."""
        pull = ridge * self.theta
        self.value[:] = self.loss + 0.5 * np.einsum("gj,gj->g", pull, self.theta)
        self.count[:], self.length[:], self.shortened[:] = 0, 1.0, 0
        return np.arange(len(pull)), self.slope + pull


@summing_kernel
def _learn(fits, ridge, g, aim, slope):  # type: ignore[no-untyped-def]
    """Remember the step of a fit to ``aim``, where its loss has this ``slope``."""
    steps, changes = fits.steps[g, fits.count[g] % MEMORY], fits.changes[g, fits.count[g] % MEMORY]
    curvature, long, wide = 0.0, 0.0, 0.0
    for j in range(ridge.size):
        step = aim[j] - fits.theta[g, j]
        change = slope[j] - fits.slope[g, j] + ridge[j] * step
        curvature += step * change
        long += step * step
        wide += change * change
        steps[j], changes[j] = step, change
    shown = curvature > max(1e-14 * np.sqrt(long * wide), 1e-300)
    fits.inverses[g, fits.count[g] % MEMORY] = 1.0 / curvature if shown else 0.0


@summing_kernel
def first_loop(steps, changes, inverses, shares, count, q):  # type: ignore[no-untyped-def]
    """From the newest pair of a fit to the oldest: take what they explain off its gradient ``q``; writes ``shares``."""
    for t in range(count - 1, max(count - MEMORY, 0) - 1, -1):
        pair, product = t % MEMORY, 0.0
        for j in range(q.size):
            product += steps[pair, j] * q[j]
        shares[pair] = inverses[pair] * product
        for j in range(q.size):
            q[j] -= shares[pair] * changes[pair, j]


@summing_kernel
def second_loop(steps, changes, inverses, shares, count, q):  # type: ignore[no-untyped-def]
    """From the oldest pair to the newest: add what they explain to the direction ``q``."""
    for t in range(max(count - MEMORY, 0), count):
        pair, product = t % MEMORY, 0.0
        for j in range(q.size):
            product += changes[pair, j] * q[j]
        share = shares[pair] - inverses[pair] * product
        for j in range(q.size):
            q[j] += share * steps[pair, j]


@summing_kernel
def accept(fits, ridge, going, aims, losses, slopes, q):  # type: ignore[no-untyped-def]
    """Move the fits that descend enough to where they aimed, and write their gradients; shorten the others' steps."""
    for i in range(going.size):
        g, value = going[i], losses[i]
        for j in range(ridge.size):
            value += 0.5 * ridge[j] * aims[i, j] * aims[i, j]
        promised = SUFFICIENT * fits.length[g] * fits.decrement[g]
        if value <= fits.value[g] - promised + ROUNDING * abs(fits.value[g]):
            _learn(fits, ridge, g, aims[i], slopes[i])
            for j in range(ridge.size):
                fits.theta[g, j], fits.slope[g, j] = aims[i, j], slopes[i, j]
                q[i, j] = slopes[i, j] + ridge[j] * aims[i, j]
            fits.loss[g], fits.value[g], fits.length[g], fits.shortened[g] = losses[i], value, 1.0, 0
            fits.count[g] += 1
            first_loop(fits.steps[g], fits.changes[g], fits.inverses[g], fits.shares[g], fits.count[g], q[i])
        else:
            fits.length[g] *= _SHORTER
            fits.shortened[g] += 1


@summing_kernel
def aim(fits, ridge, tol, most, going, q, aims):  # type: ignore[no-untyped-def]
    """Write where the fits look next, and return how many go on: these come first in ``going`` and ``aims``.

    Others have arrived, where a step promises less than a share ``tol`` of the value, or have taken ``most`` steps.
    """
    kept = 0
    for i in range(going.size):
        g, goes_on = going[i], fits.shortened[going[i]] < _MOST_SHORTER
        if fits.shortened[g] == 0:
            second_loop(fits.steps[g], fits.changes[g], fits.inverses[g], fits.shares[g], fits.count[g], q[i])
            decrement = 0.0
            for j in range(ridge.size):
                fits.direction[g, j] = q[i, j]
                decrement += (fits.slope[g, j] + ridge[j] * fits.theta[g, j]) * q[i, j]
            fits.decrement[g] = decrement
            goes_on = decrement > 2.0 * tol * abs(fits.value[g]) and fits.count[g] < most
        if goes_on:
            going[kept] = g
            for j in range(ridge.size):
                aims[kept, j] = fits.theta[g, j] - fits.length[g] * fits.direction[g, j]
            kept += 1
    return kept


@kernel
def _losses(loss, width, codes, weight, offset, going, scores, losses):  # type: ignore[no-untyped-def]
    """Write the mean loss of each fit; returns its slopes in the scores, to which offsets are added."""
    slopes = np.empty(scores.shape)
    for i in range(going.size):
        losses[i] = 0.0
        for r in range(codes.size):
            sign, own = 2.0 * codes[r] - 1.0, weight[going[i], r]
            scores[i, r] += offset[r]
            value, slope, _ = derivatives(loss, width, sign * scores[i, r])
            losses[i] += own * value
            slopes[i, r] = sign * own * slope
    return slopes


@kernel
def descend(loss, width, rows, codes, weight, offset, ridge, inverse, tol, most, fits, going, q, scores):  # type: ignore[no-untyped-def]
    """Bring all fits to their minima, and the ``scores`` (fits, n) of all rows; returns the passes it took.

    ``rows`` (n, parameters) are standardised, a column of ones among them; the ``weight`` (fits, n) of each fit sums to
    1. Two-class losses alone: one score for each row and fit.
    """
    aims, losses, passes = np.empty(q.shape), np.empty(going.size), 0
    while True:
        q = np.dot(q, inverse)
        going = going[: aim(fits, ridge, tol, most, going, q, aims)]
        if going.size == 0:
            return passes
        q, found = q[: going.size], np.dot(aims[: going.size], rows.T)
        slopes = _losses(loss, width, codes, weight, offset, going, found, losses)
        accept(fits, ridge, going, aims, losses, np.dot(slopes, rows), q)
        for i in range(going.size):
            if fits.shortened[going[i]] == 0:
                for r in range(codes.size):  # the assignment of a row takes 3 s to compile
                    scores[going[i], r] = found[i, r]
        passes += 1
