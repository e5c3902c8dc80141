"""The bound on a perceptron's updates, from the widest margin between the two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .hard_margin import maximum_margin

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PerceptronCertificate:
    """The proof that a perceptron stops, in numbers.

    Every update takes the weights ``(w, b)`` forward by at least ``gamma`` along the best direction, and lengthens
    their square by at most ``R^2``. After t updates they are at least ``t gamma`` and at most ``sqrt(t) R`` long (in
    steps of ``eta``), so ``t <= R^2 / gamma^2``, and their cosine with the best direction is at least
    ``sqrt(t) gamma / R``.

    Attributes
    ----------
    R : float
        Largest length of a row ``(x, 1)``; of ``x`` without an intercept.
    gamma : float
        Widest margin: the largest, over unit vectors ``(w, b)``, of the least ``y (w'x + b)``.
    updates : int
        Updates made.
    alignment : float
        Cosine between the last weights and the direction of the widest margin.
    """

    R: float
    gamma: float
    updates: int
    alignment: float

    @property
    def bound(self) -> float:
        """The most updates that training can make."""
        return (self.R / self.gamma) ** 2

    @property
    def least_alignment(self) -> float:
        """The smallest cosine that this many updates allow."""
        return float(np.sqrt(self.updates)) * self.gamma / self.R

    def __str__(self) -> str:
        return (
            f"{self.updates} updates made, at most R^2/gamma^2 = {self.bound:.6g} (R = {self.R:.6g}, gamma = "
            f"{self.gamma:.6g})\ncosine with the direction of the widest margin {self.alignment:.4f}, at least "
            f"{self.least_alignment:.4f}"
        )


def certified(block: Any, sides: Array, weights: Array, updates: int, fit_intercept: bool) -> PerceptronCertificate:
    """The certificate of weights (p + 1 numbers, the intercept last) that came from 0 by this many updates.

    Raises `NotSeparableError` where there is no margin.
    """
    rows = _augmented(block) if fit_intercept else block.astype(np.float64)
    widest = maximum_margin(rows, sides, fit_intercept=False)
    squares = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    alignment = _cosine(weights[: rows.shape[1]], widest.coef)
    return PerceptronCertificate(float(np.sqrt(np.max(squares))), widest.margin, updates, alignment)


def _augmented(block: Any) -> Any:
    """The rows as float64, with a 1 appended to each for the intercept."""
    ones = np.ones((block.shape[0], 1))
    if sp.issparse(block):
        return sp.csr_array(sp.hstack((block.astype(np.float64), ones)))
    return np.hstack((block, ones))


def _cosine(first: Array, second: Array) -> float:
    """The cosine of the angle between two vectors; 0 if one has no direction."""
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0
