"""Rivals with a ladder of tolerances, loosest first, and how far down one has to go for a good solution."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
#: X, y, strength of the penalty, tolerance -> coefficients and intercepts
Fit = Callable[[Any, Any, float, float], tuple[Array, Array]]


@dataclass(frozen=True)
class Rival:
    """A rival's solver, its tolerances, and what it can do."""

    name: str
    fit: Fit
    ladder: tuple[float, ...] = (1e-4, 1e-6, 1e-8, 1e-10)
    multinomial: bool = False
    sparse: bool = False


def runner(rival: Rival, X: Any, y: Any, strength: float, tolerance: float) -> Callable[[], tuple[Array, Array]]:
    return lambda: quietly(rival.fit, X, y, strength, tolerance)


def loosest(
    rival: Rival, X: Any, y: Any, strength: float, excess: Callable[[Any], float], patience: float, good_enough: float
) -> float | None:
    """The loosest tolerance that is good enough; None where there is none within ``patience`` seconds a fit."""
    for tolerance in rival.ladder:
        start = time.perf_counter()
        try:
            found = quietly(rival.fit, X, y, strength, tolerance)
        except Exception as error:
            return _left_out(rival, f"{type(error).__name__}: {str(error)[:100]}")
        seconds = time.perf_counter() - start
        reached = -excess(found)
        if seconds > patience:
            return _left_out(rival, f"{seconds:.1f} s to reach {reached:.1e} at tol={tolerance:g}")
        if reached <= good_enough:
            return tolerance
    return _left_out(rival, f"reaches {reached:.1e} at tol={tolerance:g}, not {good_enough:g}")


def _left_out(rival: Rival, why: str) -> None:
    print(f"  left out: {rival.name}: {why}", flush=True)


def quietly(fit: Fit, *arguments: Any) -> tuple[Array, Array]:
    """A fit without the warnings of tolerances that turn out too loose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments)
