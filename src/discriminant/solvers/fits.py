"""Many fits of the same rows under way together, as the kernels of L-BFGS take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..kernels import lbfgs


class Fits(NamedTuple):
    """Where each fit is, its loss without the penalty, and what it remembers."""

    theta: Array  #: (fits, parameters)
    loss: Array  #: (fits,)
    slope: Array  #: (fits, parameters)
    value: Array  #: (fits,), with the penalty
    steps: Array  #: (fits, memory, parameters)
    changes: Array
    inverses: Array  #: (fits, memory), of the products of the two; 0 where they show no curvature
    shares: Array  #: what each pair explains of the gradient
    n_steps: Array  #: (fits,), taken
    direction: Array  #: (fits, parameters)
    decrement: Array  #: (fits,), what a step along it promises
    length: Array
    shortened: Array  #: how often the step has been

    @classmethod
    def at(cls, theta: Array, loss: Array, slope: Array) -> Fits:
        """Fits at these points."""
        (n, p), memory = theta.shape, lbfgs.MEMORY
        (steps, changes), (inverses, shares) = np.empty((2, n, memory, p)), np.empty((2, n, memory))
        (value, decrement, length), (n_steps, shortened) = np.empty((3, n)), np.zeros((2, n), dtype=np.int64)
        remembered = steps, changes, inverses, shares, n_steps
        own = theta.copy(), loss.copy(), slope.copy(), value
        return cls(*own, *remembered, np.empty((n, p)), decrement, length, shortened)

    def begin(self, ridge: Array) -> tuple[Array, Array]:
        """Go on under another penalty, without the pairs: all fits, and their gradients."""
        pull = ridge * self.theta
        self.value[:] = self.loss + 0.5 * np.einsum("gj,gj->g", pull, self.theta)
        self.n_steps[:], self.length[:], self.shortened[:] = 0, 1.0, 0
        return np.arange(len(pull)), self.slope + pull
