"""Penalties on coefficients, the intercept excepted.

``alpha * ((1 - l1_ratio) / 2 * |w|^2 + l1_ratio * |w|_1)``: none, L2, L1 and elastic net are its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .data.parameters import check_number

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ElasticNet:
    """The penalty of strength ``alpha``, a share ``l1_ratio`` of it on absolute values."""

    alpha: float = 0.0
    l1_ratio: float = 0.0

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0)
        check_number("l1_ratio", self.l1_ratio, 0, 1)

    @property
    def l2(self) -> float:
        """Factor of ``|w|^2 / 2``."""
        return self.alpha * (1 - self.l1_ratio)

    @property
    def l1(self) -> float:
        """Factor of ``|w|_1``."""
        return self.alpha * self.l1_ratio

    @property
    def name(self) -> str:
        """What users call it."""
        if self.alpha == 0:
            return "none"
        return {0.0: "l2", 1.0: "l1"}.get(self.l1_ratio, "elastic net")

    def value(self, coef: Array) -> float:
        return 0.5 * self.l2 * float(np.vdot(coef, coef)) + self.l1 * float(np.abs(coef).sum())


NO_PENALTY = ElasticNet()
