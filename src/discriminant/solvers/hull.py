"""Whether the convex hulls of two sets of rows are apart: a hyperplane between them, or a point of both.

A linear programme decides. Its margins are ``sign (w'x + b)``, each divided by its largest coefficient. If no direction
makes all of them positive, there are positive weights with which they cancel (Gordan), and these are the weights of a
point common to both hulls; if there is one, it is a hyperplane between them.

Few rows matter. The programme is solved for some of them. If their hulls meet, so do those of all rows. If they do not,
rows on the wrong side of the hyperplane that was found are added, until there are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DiscriminantError
from .centred import CentredRows, Points, largest_of_rows, lifted, points_of
from .linear_programme import widest
from .witness import CommonPoint, Hyperplane, combination

Array = np.ndarray[Any, Any]

#: Values this much smaller than the terms they are sums of count as 0.
_ZERO = 1e-11
#: Means that differ by this part of their terms are the same point.
_MET = 1e-9
#: Up to this many rows all are taken at once; beyond, a sample of this many for each column, at least and at most.
_ALL, _PER_COLUMN, _AT_LEAST, _AT_MOST = 1_000, 4, 400, 2_000


def starting_rows(sign: Array, n_columns: int) -> Array:
    """Numbers of rows to begin with, as many of one sign as of the other up to an equal share."""
    if len(sign) <= _ALL:
        return np.arange(len(sign))
    share = int(np.clip(_PER_COLUMN * n_columns, _AT_LEAST, _AT_MOST)) // 2
    sides = (np.flatnonzero(sign < 0), np.flatnonzero(sign > 0))
    return np.concatenate([side[:: max(1, len(side) // share)] for side in sides])


def to_add(value: Array, wrong: Array, known: Array) -> Array:
    """Numbers of wrong rows not known yet, those of the lowest value first; at most half as many as are known."""
    fresh = wrong.copy()
    fresh[known] = False
    numbers = np.flatnonzero(fresh)
    most = max(_AT_LEAST // 2, len(known) // 2)
    return numbers[np.argsort(value[numbers], kind="stable")[:most]]


def separator(view: CentredRows, sign: Array, fit_intercept: bool = True) -> Hyperplane | CommonPoint:
    """A hyperplane strictly between rows of sign -1 and rows of sign 1, or a point of both their convex hulls.

    Units and, with an intercept, origins of single columns do not matter. Gaps below some 1e-10 of a row's terms cannot
    be told from touching, and count as such.
    """
    chosen = starting_rows(sign, view.rows.n_columns)
    while True:
        block = view.take(chosen)
        points = points_of(view, block)
        direction, weights = _by_programme(points, sign[chosen], fit_intercept)
        coef = lifted(block, points, direction)
        scores, doubt = view.project(coef), doubts(view, coef)
        if not (_margins(scores[chosen], sign[chosen], fit_intercept) > doubt[chosen]).all():
            return _proven(view, sign, chosen, weights, cones=not fit_intercept)
        margin = _margins(scores, sign, fit_intercept)
        added = to_add(margin, margin <= doubt, chosen)
        if not added.size:
            return _hyperplane(view, sign, coef, scores, fit_intercept)
        chosen = np.concatenate((chosen, added))


def doubts(view: CentredRows, coef: Array) -> Array:
    """How far each row's score may be off, by rounding in the row and in the coefficients."""
    return _ZERO * view.sizes(coef) + view.rounding @ np.abs(coef)


def _proven(view: CentredRows, sign: Array, chosen: Array, weights: Array, cones: bool) -> CommonPoint:
    found = common_point(view, sign, chosen, weights, cones)
    if not meets(view, found):
        raise DiscriminantError(
            "Whether a hyperplane separates the classes could not be decided: values of very different size leave "
            f"{found.distance:.1g} between points that should be one. Bring the columns to like units."
        )
    return found


def meets(view: CentredRows, point: CommonPoint) -> bool:
    """Whether the two means that should be one point differ, in each column, by no more than rounding."""
    rows = np.concatenate((point.rows_first, point.rows_second))
    block, weights = view.take(rows), np.concatenate((point.weights_first, -point.weights_second))
    terms = np.asarray(abs(block).T @ np.abs(weights))
    return bool((np.abs(np.asarray(block.T @ weights)) <= _MET * terms + view.rounding).all())


def equal_rows(view: CentredRows, sign: Array) -> Array | None:
    """Two equal rows of different sign, if there are any: found next to each other in their order along any line."""
    along = view.project(np.random.default_rng(0).standard_normal(view.rows.n_columns))
    order = np.argsort(along, kind="stable")
    close = np.diff(along[order]) <= _ZERO * np.abs(along).max()
    places = np.flatnonzero(close & (sign[order][1:] != sign[order][:-1]))[:_ALL]
    if not places.size:
        return None
    pairs = np.column_stack((order[places], order[places + 1]))
    equal = np.flatnonzero(largest_of_rows(view.rows.take(pairs[:, 0]) - view.rows.take(pairs[:, 1])) == 0)
    return pairs[equal[0]] if equal.size else None


def _by_programme(points: Points, sign: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """The direction of the widest margins, and weights of the rows with which the signs cancel if it has none."""
    values = points.values
    # Columns may have units of their own, other coordinates may be nothing but rounding.
    scale = column_sizes(values) if points.own else np.ones(values.shape[1])
    margins = np.column_stack((values / scale, np.ones(len(values)))) if fit_intercept else values / scale
    largest = np.abs(margins).max(axis=1)
    largest[largest == 0] = 1.0
    direction, weights = widest(margins * (sign / largest)[:, None])
    return direction[: values.shape[1]] / scale, weights / largest


def column_sizes(values: Array) -> Array:
    """The power of 2 next to the geometric mean of a column's values other than 0: an outlier does not rule it."""
    with np.errstate(divide="ignore"):
        logs = np.log2(np.abs(values))
    present = np.isfinite(logs)
    mean = np.where(present, logs, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    return np.exp2(np.round(mean))


def halfway(scores: Array, sign: Array) -> float:
    """The intercept that puts the hyperplane half-way between the nearest rows of the two signs."""
    return -float(scores[sign > 0].min() + scores[sign < 0].max()) / 2


def _margins(scores: Array, sign: Array, fit_intercept: bool) -> Array:
    return sign * (scores + halfway(scores, sign)) if fit_intercept else sign * scores


def _hyperplane(view: CentredRows, sign: Array, coef: Array, scores: Array, fit_intercept: bool) -> Hyperplane:
    """The hyperplane in the rows' own units, with a direction of length 1."""
    unit = view.scale / float(np.linalg.norm(coef))
    intercept = halfway(scores, sign) if fit_intercept else 0.0
    plane = view.plane_in_units(coef * unit, intercept * unit)
    return Hyperplane(*plane, margin=float(_margins(scores, sign, fit_intercept).min()) * unit)


def common_point(view: CentredRows, sign: Array, numbers: Array, weights: Array, cones: bool) -> CommonPoint:
    """The point that two signs' rows make with weights that cancel each other.

    The weights are those of a method that was content with less than can be had: they are corrected to the last digit.
    """
    numbers, weights = numbers[weights > 0], weights[weights > 0]
    block, side = view.take(numbers), sign[numbers]
    weights = _normed(weights, side, cones)
    corrected = _normed(np.maximum(weights + _correction(block, side, weights, cones), 0.0), side, cones)
    if _distance(block, side, corrected) < _distance(block, side, weights):
        weights = corrected
    first, second = (np.flatnonzero((side == which) & (weights > 0)) for which in (-1, 1))
    point = combination(view.rows, numbers[first], weights[first])
    distance = view.scale * _distance(block, side, weights)
    return CommonPoint(
        numbers[first], weights[first], numbers[second], weights[second], point, float(distance), cones=cones
    )


def _normed(weights: Array, side: Array, cones: bool) -> Array:
    """The weights of each side with sum 1; for cones, with sum 1 on the side that has more."""
    first, second = weights[side < 0].sum(), weights[side > 0].sum()
    return weights / (max(first, second) if cones else np.where(side < 0, first, second))


def _distance(block: Any, side: Array, weights: Array) -> float:
    return float(np.linalg.norm(block.T @ (side * weights)))


def _correction(block: Any, side: Array, weights: Array, cones: bool) -> Array:
    """The smallest change of the weights that makes the two sides meet."""
    used = np.flatnonzero(abs(block).max(axis=0).toarray()) if sp.issparse(block) else slice(None)
    values = block[:, used].toarray() if sp.issparse(block) else block
    meeting = (values / column_sizes(values) * side[:, None]).T
    sums = np.ones((1, len(side))) if cones else np.vstack((side < 0, side > 0)).astype(np.float64)
    system = np.vstack((meeting, sums))
    change: Array = np.linalg.lstsq(system, np.append(-meeting @ weights, np.zeros(len(sums))), rcond=None)[0]
    return change
