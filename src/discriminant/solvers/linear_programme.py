"""Directions along which margins are positive, by linear programmes.

A *margin* is a linear function of a direction, a row of a matrix. The programmes are solved as their duals, which have
a row for each coefficient instead of each margin. By the theorems of the alternative the dual answers the opposite
question: whether margins can be combined to nothing with positive weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..errors import DiscriminantError

Array = np.ndarray[Any, Any]


def steepest(matrix: Array) -> Array:
    """The direction d in [-1, 1] with the largest sum of margins ``matrix @ d``, none of them negative.

    The dual problem is ``min |matrix' (1 + w)|_1`` over w >= 0, which is 0 if some positive weights cancel the margins.
    """
    d = matrix.shape[1]
    return _solved(sp.csc_array(matrix.T), -matrix.sum(axis=0), d)[0]


def widest(matrix: Array) -> tuple[Array, Array]:
    """The direction d in [-1, 1] whose smallest margin ``matrix @ d`` is largest, and weights w of the margins.

    The dual problem is ``min |matrix' w|_1`` over w >= 0 with sum 1. It is 0 exactly if no direction makes all margins
    positive, and then the weights cancel them; at most one more than there are coefficients are positive.
    """
    m, d = matrix.shape
    return _solved(sp.csc_array(np.vstack((matrix.T, np.ones(m)))), np.append(np.zeros(d), 1.0), d)


def _solved(weights: sp.csc_array, right: Array, d: int) -> tuple[Array, Array]:
    """Minus d multipliers of ``min |e|_1``, e of length d, over w >= 0 with ``weights @ w + (e, 0) = right``; and w."""
    k, m = weights.shape
    cost = np.repeat((0.0, 1.0), (m, 2 * d))
    sums = sp.hstack((weights, sp.eye_array(k, d), -sp.eye_array(k, d)), format="csc")
    # The tolerances as tight as HiGHS allows; the second and third are for the rare case that it gives up.
    for method, tolerance in (("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-7)):
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        found = linprog(cost, A_eq=sums, b_eq=right, bounds=(0, None), method=method, options=options)
        if found.status == 0:
            return -found.eqlin.marginals[:d], found.x[:m]
    raise DiscriminantError(
        f"whether the classes are separated could not be decided: HiGHS says '{found.message}'. Rescale columns with "
        "values of very different size, for instance to logarithms"
    )
