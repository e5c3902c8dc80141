"""Whether the convex hulls of two sets of rows are apart: a hyperplane between them, or a point of both.

A linear programme decides. Its margins are ``sign (w'x + b)``, each divided by its largest coefficient. If no direction
makes all of them positive, there are positive weights with which they cancel (Gordan 1873), and these are the weights
of a point common to both hulls; if there is one, it is a hyperplane between them. The programmes are solved as their
duals, which have a row for each coefficient instead of each margin.

Few rows matter. The programme is solved for some of them. If their hulls meet, so do those of all rows. If they do not,
rows on the wrong side of the hyperplane that was found are added, until there are none.

Geometry does not depend on the origin or, but for a factor, on the unit; its rounding does. So distances and
projections are computed from differences to a value in the middle of each column, divided by one number. It is the same
for all columns, because margins depend on the units of single columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..arrays import Array
from ..data import Rows, SparseRows, dense_parts, dense_rows, labelled_rows
from ..engine import map_rows
from ..errors import DiscriminantError, InputError
from ..results import shown

_EPS = float(np.finfo(np.float64).eps)
#: Values this much smaller than the terms they are sums of count as 0.
_ZERO = 1e-11
#: Means that differ by this part of their terms are the same point.
_MET = 1e-9
#: Up to this many rows all are taken at once; beyond, a sample of this many for each column, at least and at most.
_ALL, _PER_COLUMN, _AT_LEAST, _AT_MOST = 1_000, 4, 400, 2_000
#: Sparse rows as full as this lose nothing by being centred, and may be far from the origin.
_FULL = 0.5
#: Sparse rows with more columns than this are never written out: only their inner products are formed.
_WIDE = 4_096
#: Squares of larger numbers, and of the inverse of smaller ones, overflow.
_LARGEST = 1e150
#: Rows from which the middle is taken.
_SAMPLE = 1_000
#: Coordinates are as exact as the rows themselves, or as the square root of their inner products.
_EXACT, _FROM_PRODUCTS = 1e-11, 1e-7
#: Weights may miss non-negativity and their sum by this much, their rounding.
_ROUNDING = 1e-9


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
        # Scores may be off by rounding in the rows and in the coefficients.
        scores, doubt = view.project(coef), _ZERO * view.sizes(coef) + view.rounding @ np.abs(coef)
        of_chosen = scores[chosen] + halfway(scores[chosen], sign[chosen], fit_intercept)
        if not (sign[chosen] * of_chosen > doubt[chosen]).all():
            break
        intercept = halfway(scores, sign, fit_intercept)
        margin = sign * (scores + intercept)
        added = to_add(margin, margin <= doubt, chosen)
        if not added.size:
            unit = view.scale / float(np.linalg.norm(coef))
            return Hyperplane(
                *view.plane_in_units(coef * unit, intercept * unit), margin=2 * float(margin.min()) * unit
            )
        chosen = np.concatenate((chosen, added))
    found = common_point(view, sign, chosen, weights, cones=not fit_intercept)
    if meets(view, found):
        return found
    raise DiscriminantError(
        "Whether a hyperplane separates the classes could not be decided: values of very different size leave "
        f"{found.distance:.1g} between points that should be one. Bring the columns to like units."
    )


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


def _by_programme(points: RowPoints, sign: Array, fit_intercept: bool) -> tuple[Array, Array]:
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


def halfway(scores: Array, sign: Array, fit_intercept: bool) -> float:
    """The intercept that puts the hyperplane half-way between the nearest rows of the two signs; 0 without one."""
    return -float(scores[sign > 0].min() + scores[sign < 0].max()) / 2 if fit_intercept else 0.0


def common_point(view: CentredRows, sign: Array, numbers: Array, weights: Array, cones: bool) -> CommonPoint:
    """The point that two signs' rows make with weights that cancel each other.

    The weights are those of a method that was content with less than can be had: they are corrected to the last digit.
    """
    numbers, weights = numbers[weights > 0], weights[weights > 0]
    block, side = view.take(numbers), sign[numbers]
    weights = _normed(weights, side, cones)
    with np.errstate(invalid="ignore"):  # where the correction leaves nothing of a side, it is no better
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


@dataclass(frozen=True)
class CentredRows:
    """``(x - centre) / scale`` for every row x; sparse rows keep their zeros and are not centred.

    Attributes
    ----------
    rows : Rows
    centre : array of shape (p,) or None
    scale : float
        A power of 2: dividing by it rounds nothing.
    """

    rows: Rows
    centre: Array | None
    scale: float

    def take(self, chosen: Array) -> Any:
        """The chosen rows: an array, or a CSR matrix where it would be too wide."""
        block = self.rows.take(chosen)
        if sp.issparse(block):
            if self.rows.n_columns > _WIDE:
                return block.astype(np.float64) / self.scale
            block = block.toarray()
        return self._placed(block)

    def plane_in_units(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Coefficients and intercept for the rows in their own units, of a hyperplane for them as seen here."""
        coef = coef / self.scale
        return coef, intercept - (0.0 if self.centre is None else float(coef @ self.centre))

    def project(self, direction: Array) -> Array:
        """The inner product of every row with a direction."""
        return self._over_rows(lambda part: part @ direction)

    def sizes(self, direction: Array) -> Array:
        """The sum of the absolute terms of the same inner products, which their rounding is a small part of."""
        return self._over_rows(lambda part: abs(part) @ np.abs(direction))

    @property
    def rounding(self) -> Array:
        """How far a value of each column may be from what was meant, because it was rounded at its own size."""
        return np.zeros(self.rows.n_columns) if self.centre is None else 2 * _EPS * np.abs(self.centre) / self.scale

    def _over_rows(self, of_rows: Any) -> Array:
        out = np.empty(self.rows.n_rows)

        def write(block: Any, where: slice) -> None:
            if self.centre is None:
                out[where] = of_rows(block) / self.scale
                return
            for part, inner in dense_parts(block):
                out[where.start + inner.start : where.start + inner.stop] = of_rows(self._placed(part))

        map_rows(self.rows, write)
        return out

    def _placed(self, block: Array) -> Array:
        return np.divide(block if self.centre is None else block - self.centre, self.scale, dtype=np.float64)


def centred(rows: Rows, movable: bool) -> CentredRows:
    """The rows as `CentredRows`; those that are not ``movable`` keep their origin. Refuses NaN and infinity."""
    full = not isinstance(rows, SparseRows) or rows.values.nnz >= _FULL * rows.n_rows * rows.n_columns
    centre = None
    if full and movable:
        # A value from the middle of each column. Since it occurs, what was equal or a whole number stays so.
        sample = dense_rows(rows.take(np.unique(np.linspace(0, rows.n_rows - 1, _SAMPLE).astype(int))))
        centre = np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2].astype(np.float64)
    as_they_are = CentredRows(rows, centre, 1.0)
    size = float(as_they_are._over_rows(largest_of_rows).max())
    if size != 0 and not 1 / _LARGEST < size < _LARGEST:
        rows.refuse_nonfinite()
        label = rows.number_label(int(np.argmax(rows.largest_values())))
        raise InputError(f"Values of {label} are of size {size:.1g}: they cannot be squared. Use other units.")
    return replace(as_they_are, scale=float(np.exp2(np.round(np.log2(size)))) if size > 0 else 1.0)


def largest_of_rows(part: Any) -> Array:
    """The largest absolute value of each row of an array or sparse matrix."""
    largest = abs(part).max(axis=1)
    return largest.toarray().ravel() if sp.issparse(largest) else largest


@dataclass(frozen=True)
class RowPoints:
    """Points with the distances and inner products of some rows, in no more dimensions than there are rows.

    Attributes
    ----------
    values : array of shape (m, r)
    blur : float
        Lengths below this part of those they are differences of are rounding,
    floor : float
        and lengths below this one are in any case.
    own : bool
        Whether the coordinates are the rows' own columns.
    """

    values: Array
    blur: float
    floor: float
    own: bool

    def rounding(self, lengths: Any) -> Any:
        """The lengths that cannot be told from 0 in differences of vectors of these lengths."""
        return self.blur * lengths + self.floor


def points_of(view: CentredRows, block: Any) -> RowPoints:
    """The rows of a block taken from ``view`` as `RowPoints`: themselves, if there are more of them than columns."""
    if sp.issparse(block):
        # Points with the same inner products, by a Cholesky factor that stops at their rank.
        factor, order, rank, _ = lapack.dpstrf((block @ block.T).toarray(), lower=1)
        values = np.empty((len(factor), rank))
        values[order - 1] = np.tril(factor)[:, :rank]
        return RowPoints(values, _FROM_PRODUCTS, 0.0, own=False)
    floor = float(np.linalg.norm(view.rounding))
    if block.shape[1] > block.shape[0]:
        return RowPoints(np.asarray(np.linalg.qr(block.T, mode="r")).T, _EXACT, floor, own=False)
    return RowPoints(block, _EXACT, floor, own=True)


def lifted(block: Any, points: RowPoints, direction: Array) -> Array:
    """The direction in the space of the rows that a direction in that of their points stands for."""
    if points.own:
        return direction
    weights = np.linalg.lstsq(points.values.T, direction, rcond=None)[0]
    return np.asarray(block.T @ weights)


def steepest(matrix: Array) -> Array:
    """The direction d in [-1, 1] with the largest sum of margins ``matrix @ d``, none of them negative.

    The dual problem is ``min |matrix' (1 + w)|_1`` over w >= 0, which is 0 if some positive weights cancel the margins.
    """
    return _solved(sp.csc_array(matrix.T), -matrix.sum(axis=0), matrix.shape[1])[0]


def widest(matrix: Array) -> tuple[Array, Array]:
    """The direction d in [-1, 1] whose smallest margin ``matrix @ d`` is largest, and weights w of the margins.

    The dual problem is ``min |matrix' w|_1`` over w >= 0 with sum 1. It is 0 exactly if no direction makes all margins
    positive, and then the weights cancel them; at most one more than there are coefficients are positive.
    """
    m, d = matrix.shape
    return _solved(sp.csc_array(np.vstack((matrix.T, np.ones(m)))), np.append(np.zeros(d), 1.0), d)


def _solved(weights: sp.csc_array, right: Array, d: int) -> tuple[Array, Array]:
    """Minus d multipliers of ``min |e|_1``, e of length d, over w >= 0 with ``weights @ w + (e, 0) = right``; and w."""
    from scipy.optimize import linprog  # slow to load

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


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane ``x @ coef + intercept = 0`` with each of two classes strictly on a side of its own.

    Attributes
    ----------
    coef : array of shape (p,)
        The direction, of length 1, at right angles to the hyperplane.
    intercept : float
        Minus the hyperplane's distance from the origin along that direction.
    margin : float
        The width of the strip without rows around it: twice the distance of the nearest row.
    classes : tuple
        The class on the negative side, and that on the positive side.

    See Also
    --------
    CommonPoint : The opposite.
    """

    coef: Array
    intercept: float
    margin: float
    classes: tuple[Any, Any] = (-1, 1)

    def check(self, X: Any, y: Any) -> float:
        """The margin between rows of the two classes, computed anew; negative for a row on the wrong side.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, not necessarily those it was found in.
        y : array-like of shape (n_rows,)
            Their classes; rows of others than the two do not count.

        Returns
        -------
        float
        """
        all_rows, codes = _rows_and_codes(X, y, self.classes)
        scores = CentredRows(all_rows, None, 1.0).project(self.coef) + self.intercept
        distances = np.where(codes == 1, scores, -scores)[codes >= 0]
        return float(2 * distances.min(initial=np.inf) / np.linalg.norm(self.coef))


@dataclass(frozen=True)
class CommonPoint:
    """A point that is a weighted mean of rows of one class, and of rows of another: no hyperplane separates the two.

    Attributes
    ----------
    rows_first, rows_second : arrays of int
        The rows of the first and of the second class it is made of, at most p + 2 together.
    weights_first, weights_second : arrays
        Their weights, positive and with sum 1.
    point : array of shape (p,)
        The mean of the first class's rows.
    distance : float
        How far the second class's mean is from it: 0 but for rounding.
    classes : tuple
        The first and the second class.
    cones : bool
        Whether hyperplanes through the origin were asked for, without an intercept. The weights of a class then need
        not have sum 1: a positive multiple of a row is as good as the row. The point may be the origin.

    See Also
    --------
    Hyperplane : Proves that classes are separable.
    """

    rows_first: Array
    weights_first: Array
    rows_second: Array
    weights_second: Array
    point: Array
    distance: float
    classes: tuple[Any, Any] = (-1, 1)
    cones: bool = False

    def check(self, X: Any, y: Any) -> float:
        """The distance between the means of the two classes' rows, computed anew.

        Parameters
        ----------
        X, y : array-like
            The rows it was found in, and their classes.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If a row is not of its class, or if the weights are not those of a mean.
        """
        all_rows, codes = _rows_and_codes(X, y, self.classes)
        sides = ((self.rows_first, self.weights_first), (self.rows_second, self.weights_second))
        for side, (rows, weights) in enumerate(sides):
            outside = rows[rows >= len(codes)]
            foreign = outside if outside.size else rows[codes[rows] != side]
            if foreign.size:
                raise InputError(
                    f"Row {int(foreign[0])} is not a row of class {shown(self.classes[side])}: give the X and y the "
                    "witness was found in."
                )
            if (weights < -_ROUNDING).any() or not (self.cones or abs(weights.sum() - 1) <= _ROUNDING):
                raise InputError(f"Weights must be positive and have sum 1, got {weights.tolist()}.")
        first, second = (combination(all_rows, rows, weights) for rows, weights in sides)
        return float(np.linalg.norm(first - second))


def _rows_and_codes(X: Any, y: Any, classes: tuple[Any, Any]) -> tuple[Rows, Array]:
    """The rows, and 0 for those of the first class, 1 for those of the second, -1 for others."""
    data = labelled_rows(X, y)
    known = data.classes.tolist()
    missing = [label for label in classes if label not in known]
    if missing:
        raise InputError(f"y has no class {shown(missing[0])}, of which this is a witness; it has {known}.")
    codes = np.full(len(known), -1)
    codes[[known.index(label) for label in classes]] = 0, 1
    return data.rows, codes[data.codes]


def combination(rows: Rows, chosen: Array, weights: Array) -> Array:
    """The sum of the chosen rows, each times its weight."""
    if not chosen.size:
        return np.zeros(rows.n_columns)
    return np.asarray(rows.take(chosen).T @ weights, dtype=np.float64)
