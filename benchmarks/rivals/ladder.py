"""The loosest tolerance at which the solver of another package reaches a given suboptimality."""

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
#: A fit that takes more seconds than the first, and leaves more than the second share of the suboptimality at the
#: previous tolerance, has reached its maximum number of iterations.
_LONG, _NO_GAIN = 5.0, 0.9
#: Steps of a factor of 10, so that no package exceeds the required precision by much.
LADDER = tuple(10.0**-k for k in range(2, 12))


@dataclass(frozen=True)
class Rival:
    """A solver of another package, its tolerances, and the problems that it supports."""

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
    """Each competitor at its loosest tolerance with a suboptimality of at most ``enough``.

    Those that do not reach it within ``patience`` seconds are left out.
    """
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
            return LeftOut(rival.name, f"suboptimality {reached:.1e} after {seconds:.1f} s, at tol={tolerance:g}")
        if seconds > _LONG and reached > _NO_GAIN * before:
            return LeftOut(rival.name, f"suboptimality {reached:.1e} at every tolerance")
        before = reached
    return LeftOut(rival.name, f"suboptimality {reached:.1e} at tol={tolerance:g}, required: {enough:g}")


def quietly(fit: Fit, *arguments: Any) -> tuple[Array, Array]:
    """A fit without convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments)
