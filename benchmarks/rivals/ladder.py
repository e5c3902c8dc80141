"""Rivals with a ladder of tolerances, loosest first, and how far down one has to go for a good solution."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measure import Contender, LeftOut

Array = np.ndarray[Any, Any]
#: X, y, strength of the penalty, tolerance -> coefficients and intercepts
Fit = Callable[[Any, Any, float, float], tuple[Array, Array]]
#: A fit of so many seconds that leaves more than this share of the excess before it has come to its last iteration.
_LONG, _NO_GAIN = 5.0, 0.9
#: In steps of 10, so that no rival overshoots what is asked for by much.
LADDER = tuple(10.0**-k for k in range(2, 12))


@dataclass(frozen=True)
class Rival:
    """A rival's solver, its tolerances, and what it can do."""

    name: str
    fit: Fit
    ladder: tuple[float, ...] = LADDER
    multinomial: bool = False
    sparse: bool = False


def runner(rival: Rival, X: Any, y: Any, strength: float, tolerance: float) -> Callable[[], tuple[Array, Array]]:
    return lambda: quietly(rival.fit, X, y, strength, tolerance)


def at_their_loosest(
    rivals: list[Rival], X: Any, y: Any, strength: float, excess: Callable[[Any], float], patience: float, enough: float
) -> list[Contender | LeftOut]:
    """Each rival at its loosest tolerance that is good ``enough``; without one in ``patience`` seconds it is out."""
    found = list[Contender | LeftOut]()
    for rival in rivals:
        tolerance = _loosest(rival, X, y, strength, excess, patience, enough)
        if isinstance(tolerance, LeftOut):
            found.append(tolerance)
        else:
            run = runner(rival, X, y, strength, tolerance)
            found.append(Contender(f"{rival.name}, tol={tolerance:g}", run, excess))
    return found


def _loosest(
    rival: Rival, X: Any, y: Any, strength: float, excess: Callable[[Any], float], patience: float, enough: float
) -> float | LeftOut:
    before = np.inf
    for tolerance in rival.ladder:
        start = time.perf_counter()
        try:
            found = quietly(rival.fit, X, y, strength, tolerance)
        except Exception as error:
            return LeftOut(rival.name, f"{type(error).__name__}: {' '.join(str(error).split())[:100]}")
        seconds = time.perf_counter() - start
        reached = -excess(found)
        if reached <= enough:
            return tolerance
        if seconds > patience:
            return LeftOut(rival.name, f"{seconds:.1f} s to reach {reached:.1e} at tol={tolerance:g}")
        if seconds > _LONG and reached > _NO_GAIN * before:
            return LeftOut(rival.name, f"stops at {reached:.1e}, whatever the tolerance")
        before = reached
    return LeftOut(rival.name, f"reaches {reached:.1e} at tol={tolerance:g}, not {enough:g}")


def quietly(fit: Fit, *arguments: Any) -> tuple[Array, Array]:
    """A fit without the warnings of tolerances that turn out too loose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments)
