"""The memory of L-BFGS (Nocedal 1980), for one descent or for several in parallel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np

from ..arrays import Array

#: A function from a gradient, or several stacked, to approximate inverse Hessian times gradient.
Preconditioner = Callable[[Array], Array]

# Pairs (s, y) in memory: more save few passes, and take two inner products each at every step.
MEMORY_SIZE: Final = 12
# A pair with less curvature s'y, relative to |s| |y|, is rounding; the inverse of less than `MIN_CURVATURE` overflows.
RELATIVE_ZERO: Final = 1e-14
MIN_CURVATURE: Final = 1e-300


class LBFGSMemory:
    """The last pairs s (step) and y (change of the gradient), and the inverse Hessian that they imply.

    Arrays have the descents in their first dimension, if there are several.
    """

    def __init__(self, n_descents: int = 1, size: int = MEMORY_SIZE) -> None:
        self.n_descents = n_descents
        #: s, y and rho = 1 / s'y of each pair, the oldest first.
        self.pairs: deque[tuple[Array, Array, Array]] = deque(maxlen=size)

    def add(self, s: Array, y: Array) -> None:
        """Add a pair; it has no effect on descents for which its curvature is not positive."""
        s, y = s.reshape(self.n_descents, -1), y.reshape(self.n_descents, -1)
        curvature = _inner(s, y)
        lengths = np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
        is_positive = curvature > np.maximum(RELATIVE_ZERO * lengths, MIN_CURVATURE)
        if is_positive.any():
            self.pairs.append((s, y, is_positive / np.where(is_positive, curvature, 1.0)))

    def direction(self, gradient: Array, precondition: Preconditioner, is_scaled: bool = False) -> Array:
        """Inverse Hessian times gradient by the two-loop recursion, with the preconditioner as its first estimate.

        If ``is_scaled``, that is multiplied by the factor that suits the last pair, ``s'y / y'Hy`` for H the
        preconditioner (Shanno & Phua 1978): it was computed where the Hessian had another size.
        """
        q = gradient.reshape(self.n_descents, -1).copy()
        coefficients = []
        for s, y, rho in reversed(self.pairs):
            a = rho * _inner(s, q)
            coefficients.append(a)
            q -= a[:, None] * y
        r = precondition(q.reshape(gradient.shape)).reshape(q.shape)
        if is_scaled and self.pairs:
            _, y, rho = self.pairs[-1]
            size = _inner(y, precondition(y.reshape(gradient.shape)).reshape(y.shape))
            # A pair without positive curvature has rho 0.
            r *= np.where(rho > 0, 1 / np.where(rho > 0, rho * size, 1.0), 1.0)[:, None]
        for (s, y, rho), a in zip(self.pairs, reversed(coefficients), strict=True):
            r += (a - rho * _inner(y, r))[:, None] * s
        return r.reshape(gradient.shape)


def _inner(a: Array, b: Array) -> Array:
    """The inner product of each row with that of the other; matrix products go through BLAS."""
    return np.asarray((a[:, None, :] @ b[:, :, None])[:, 0, 0])
