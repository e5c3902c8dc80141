"""Linear separability of two sets of rows: a hyperplane between their convex hulls, or a point of both.

A linear programme decides. Its margins are ``sign (w'x + b)``, each divided by its largest coefficient. A direction
that makes all of them positive is a hyperplane between the hulls. Otherwise there are positive weights with which they
cancel (Gordan 1873), the weights of a point common to both hulls. The programmes are solved as their duals, which have
a row for each coefficient instead of each margin.

Few rows matter. The programme is solved for some of them. If their hulls meet, so do those of all rows. If they do not,
rows on the wrong side of the hyperplane are added, until there are none.

The rounding of geometric quantities depends on the origin and on the unit. So distances and projections are computed
from differences to a central value of each column, divided by one number for all columns, because margins depend on the
units of single columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..arrays import Array, ArrayLike, MatrixLike, NumericMatrix
from ..data import Rows, SparseRows, dense_parts, dense_rows, is_sparse, labelled_rows
from ..engine import map_rows
from ..errors import DiscriminantError, InputError
from ..results import shown

EPS: Final = float(np.finfo(np.float64).eps)
# Values this much smaller than the terms they are sums of are rounding.
RELATIVE_ZERO: Final = 1e-11
# Means that differ by less than this share of their terms are the same point.
MEETING_TOLERANCE: Final = 1e-9
# Up to this many rows all are taken at once; beyond, a sample of this many for each column, within these limits.
MAX_DIRECT_ROWS: Final = 1_000
SAMPLE_ROWS_PER_COLUMN: Final = 4
MIN_SAMPLE_ROWS: Final = 400
MAX_SAMPLE_ROWS: Final = 2_000
# Sparse rows with a larger share of stored values are centred, and may be far from the origin.
MIN_CENTRED_DENSITY: Final = 0.5
# Of sparse rows with more columns only the inner products are computed.
MAX_DENSE_COLUMNS: Final = 4_096
# Squares of larger numbers, and of the inverse of smaller ones, overflow.
LARGEST_SIZE: Final = 1e150
# Rows from which the centre is taken.
CENTRE_ROWS: Final = 1_000
# Relative rounding of coordinates: of the rows themselves, and of a factor of their inner products.
DIRECT_ROUNDING: Final = 1e-11
PRODUCT_ROUNDING: Final = 1e-7
# Weights may be below 0, and their sum differ from 1, by this much.
WEIGHT_ROUNDING: Final = 1e-9


def starting_rows(sign: Array, n_columns: int) -> Array:
    """The indices of the initial rows, with equal numbers of both signs if possible."""
    if len(sign) <= MAX_DIRECT_ROWS:
        return np.arange(len(sign))
    share = int(np.clip(SAMPLE_ROWS_PER_COLUMN * n_columns, MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS)) // 2
    sides = (np.flatnonzero(sign < 0), np.flatnonzero(sign > 0))
    return np.concatenate([side[:: max(1, len(side) // share)] for side in sides])


def rows_to_add(value: Array, wrong: Array, known: Array) -> Array:
    """The indices of wrong rows that are not known, in ascending order of value; at most half as many as are known."""
    fresh = wrong.copy()
    fresh[known] = False
    numbers = np.flatnonzero(fresh)
    most = max(MIN_SAMPLE_ROWS // 2, len(known) // 2)
    return numbers[np.argsort(value[numbers], kind="stable")[:most]]


def separator(view: CentredRows, sign: Array, fit_intercept: bool = True) -> Hyperplane | CommonPoint:
    """A hyperplane strictly between rows of sign -1 and rows of sign 1, or a point of both their convex hulls.

    The result is invariant to the units and, with an intercept, the origins of single columns. Gaps below about 1e-10
    of the terms of a row are rounding, and count as contact.
    """
    chosen = starting_rows(sign, view.rows.n_columns)
    while True:
        block = view.take(chosen)
        points = points_of(view, block)
        direction, weights = _by_programme(points, sign[chosen], fit_intercept)
        coef = in_row_space(block, points, direction)
        # Scores may be off by rounding in the rows and in the coefficients.
        scores, rounding = view.project(coef), RELATIVE_ZERO * view.sizes(coef) + view.rounding @ np.abs(coef)
        of_chosen = scores[chosen] + halfway_intercept(scores[chosen], sign[chosen], fit_intercept)
        if not (sign[chosen] * of_chosen > rounding[chosen]).all():
            break
        intercept = halfway_intercept(scores, sign, fit_intercept)
        margin = sign * (scores + intercept)
        added = rows_to_add(margin, margin <= rounding, chosen)
        if not added.size:
            unit = view.scale / float(np.linalg.norm(coef))
            return Hyperplane(
                *view.plane_in_units(coef * unit, intercept * unit), margin=2 * float(margin.min()) * unit
            )
        chosen = np.concatenate((chosen, added))
    found = common_point(view, sign, chosen, weights, cones=not fit_intercept)
    if is_common_point(view, found):
        return found
    raise DiscriminantError(
        "Linear separability of the classes could not be decided, because magnitudes of values differ too much. "
        f"Distance of two points that should be equal: {found.distance:.1g}. Standardise the columns."
    )


def is_common_point(view: CentredRows, point: CommonPoint) -> bool:
    """Whether the weighted means of the rows of the two classes agree, except for rounding."""
    rows = np.concatenate((point.rows_first, point.rows_second))
    block, weights = view.take(rows), np.concatenate((point.weights_first, -point.weights_second))
    terms = np.asarray(abs(block).T @ np.abs(weights))
    return bool((np.abs(np.asarray(block.T @ weights)) <= MEETING_TOLERANCE * terms + view.rounding).all())


def equal_rows(view: CentredRows, sign: Array) -> Array | None:
    """Two equal rows of different sign, if any: they are neighbours in the order along a random direction."""
    along = view.project(np.random.default_rng(0).standard_normal(view.rows.n_columns))
    order = np.argsort(along, kind="stable")
    close = np.diff(along[order]) <= RELATIVE_ZERO * np.abs(along).max()
    places = np.flatnonzero(close & (sign[order][1:] != sign[order][:-1]))[:MAX_DIRECT_ROWS]
    if not places.size:
        return None
    pairs = np.column_stack((order[places], order[places + 1]))
    equal = np.flatnonzero(largest_of_rows(view.rows.take(pairs[:, 0]) - view.rows.take(pairs[:, 1])) == 0)
    return pairs[equal[0]] if equal.size else None


def _by_programme(points: RowPoints, sign: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """The direction of the largest margins, and weights of the rows with which the signs cancel if there is none."""
    values = points.values
    # Columns may have different units; other coordinates may be rounding.
    scale = column_sizes(values) if points.own else np.ones(values.shape[1])
    margins = np.column_stack((values / scale, np.ones(len(values)))) if fit_intercept else values / scale
    largest = np.abs(margins).max(axis=1)
    largest[largest == 0] = 1.0
    direction, weights = largest_margin(margins * (sign / largest)[:, None])
    return direction[: values.shape[1]] / scale, weights / largest


def column_sizes(values: Array) -> Array:
    """The power of 2 nearest to the geometric mean of the nonzero values of each column: robust to outliers."""
    with np.errstate(divide="ignore"):
        logs = np.log2(np.abs(values))
    present = np.isfinite(logs)
    mean = np.where(present, logs, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    sizes: Array = np.exp2(np.round(mean))
    return sizes


def halfway_intercept(scores: Array, sign: Array, fit_intercept: bool) -> float:
    """The intercept of the hyperplane halfway between the nearest rows of the two signs; 0 without one."""
    return -float(scores[sign > 0].min() + scores[sign < 0].max()) / 2 if fit_intercept else 0.0


def common_point(view: CentredRows, sign: Array, numbers: Array, weights: Array, cones: bool) -> CommonPoint:
    """The point of both hulls that corresponds to cancelling weights.

    The weights have the tolerance of the linear programme and are corrected to the last digit.
    """
    numbers, weights = numbers[weights > 0], weights[weights > 0]
    block, side = view.take(numbers), sign[numbers]
    weights = _normalised(weights, side, cones)
    with np.errstate(invalid="ignore"):  # if the correction leaves no weight of a side, it is not used
        corrected = _normalised(np.maximum(weights + _correction(block, side, weights, cones), 0.0), side, cones)
    if _distance(block, side, corrected) < _distance(block, side, weights):
        weights = corrected
    first, second = (np.flatnonzero((side == which) & (weights > 0)) for which in (-1, 1))
    point = combination(view.rows, numbers[first], weights[first])
    distance = view.scale * _distance(block, side, weights)
    return CommonPoint(
        numbers[first], weights[first], numbers[second], weights[second], point, float(distance), cones=cones
    )


def _normalised(weights: Array, side: Array, cones: bool) -> Array:
    """The weights normalised to sum 1 on each side; for cones, the larger sum is 1."""
    first, second = weights[side < 0].sum(), weights[side > 0].sum()
    normed: Array = weights / (max(first, second) if cones else np.where(side < 0, first, second))
    return normed


def _distance(block: NumericMatrix, side: Array, weights: Array) -> float:
    return float(np.linalg.norm(block.T @ (side * weights)))


def _correction(block: NumericMatrix, side: Array, weights: Array, cones: bool) -> Array:
    """The smallest change of the weights that makes the two sides meet."""
    used = np.flatnonzero(abs(block).max(axis=0).toarray()) if is_sparse(block) else slice(None)
    values = block[:, used].toarray() if is_sparse(block) else block
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
        """The chosen rows: an array, or a CSR matrix with too many columns."""
        block = self.rows.take(chosen)
        if sp.issparse(block):
            if self.rows.n_columns > MAX_DENSE_COLUMNS:
                return block.astype(np.float64) / self.scale
            block = block.toarray()
        return self._centred(block)

    def plane_in_units(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Coefficients and intercept in the units of the data, of a hyperplane for the centred rows."""
        coef = coef / self.scale
        return coef, intercept - (0.0 if self.centre is None else float(coef @ self.centre))

    def project(self, direction: Array) -> Array:
        """The inner product of every row with a direction."""
        return self._over_rows(lambda part: part @ direction)

    def sizes(self, direction: Array) -> Array:
        """The sum of the absolute terms of these inner products, which bounds their rounding."""
        return self._over_rows(lambda part: abs(part) @ np.abs(direction))

    @property
    def rounding(self) -> Array:
        """The rounding of the values of each column, from before they were centred."""
        return np.zeros(self.rows.n_columns) if self.centre is None else 2 * EPS * np.abs(self.centre) / self.scale

    def _over_rows(self, of_rows: Callable[[NumericMatrix], Array]) -> Array:
        out = np.empty(self.rows.n_rows)

        def write(block: NumericMatrix, where: slice) -> None:
            if self.centre is None:
                out[where] = of_rows(block) / self.scale
                return
            for part, inner in dense_parts(block):
                out[where.start + inner.start : where.start + inner.stop] = of_rows(self._centred(part))

        map_rows(self.rows, write)
        return out

    def _centred(self, block: Array) -> Array:
        return np.divide(block if self.centre is None else block - self.centre, self.scale, dtype=np.float64)


def centred(rows: Rows, movable: bool) -> CentredRows:
    """The rows as `CentredRows`; without ``movable`` they keep their origin. Refuses NaN and infinity."""
    full = not isinstance(rows, SparseRows) or rows.values.nnz >= MIN_CENTRED_DENSITY * rows.n_rows * rows.n_columns
    centre = None
    if full and movable:
        # A median that occurs in the column: equal values stay equal, whole numbers whole.
        sample = dense_rows(rows.take(np.unique(np.linspace(0, rows.n_rows - 1, CENTRE_ROWS).astype(int))))
        centre = np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2].astype(np.float64)
    unscaled = CentredRows(rows, centre, 1.0)
    size = float(unscaled._over_rows(largest_of_rows).max())
    if size != 0 and not 1 / LARGEST_SIZE < size < LARGEST_SIZE:
        rows.refuse_nonfinite()
        label = rows.number_label(int(np.argmax(rows.largest_values())))
        raise InputError(f"Squares of values of {label} overflow (largest value: {size:.1g}). Rescale the column.")
    return replace(unscaled, scale=float(np.exp2(np.round(np.log2(size)))) if size > 0 else 1.0)


def largest_of_rows(part: NumericMatrix) -> Array:
    """The largest absolute value of each row of an array or sparse matrix."""
    largest = abs(part).max(axis=1)
    return np.asarray(largest.toarray().ravel() if is_sparse(largest) else largest)


@dataclass(frozen=True)
class RowPoints:
    """Points with the distances and inner products of some rows, in no more dimensions than there are rows.

    Attributes
    ----------
    values : array of shape (m, r)
    relative_rounding : float
        Lengths below this share of those they are differences of are rounding,
    absolute_rounding : float
        and so are lengths below this one.
    own : bool
        Whether the coordinates are the columns of the rows.
    """

    values: Array
    relative_rounding: float
    absolute_rounding: float
    own: bool

    def rounding(self, lengths: Array | float) -> Array:
        """The rounding of the length of a difference of vectors of these lengths."""
        return np.asarray(self.relative_rounding * lengths + self.absolute_rounding)


def points_of(view: CentredRows, block: NumericMatrix) -> RowPoints:
    """The rows of a block of ``view`` as `RowPoints`: the rows themselves if they are more than the columns."""
    if is_sparse(block):
        # Points with the same inner products, by a Cholesky factor that stops at their rank.
        factor, order, rank, _ = lapack.dpstrf((block @ block.T).toarray(), lower=1)
        values = np.empty((len(factor), rank))
        values[order - 1] = np.tril(factor)[:, :rank]
        return RowPoints(values, PRODUCT_ROUNDING, 0.0, own=False)
    rounding = float(np.linalg.norm(view.rounding))
    if block.shape[1] > block.shape[0]:
        return RowPoints(np.asarray(np.linalg.qr(block.T, mode="r")).T, DIRECT_ROUNDING, rounding, own=False)
    return RowPoints(block, DIRECT_ROUNDING, rounding, own=True)


def in_row_space(block: NumericMatrix, points: RowPoints, direction: Array) -> Array:
    """The direction in the space of the rows that corresponds to one in the space of their points."""
    if points.own:
        return direction
    weights = np.linalg.lstsq(points.values.T, direction, rcond=None)[0]
    return np.asarray(block.T @ weights)


def largest_margin_sum(matrix: Array) -> Array:
    """The direction d in [-1, 1] with the largest sum of margins ``matrix @ d``, none of them negative.

    The dual problem is ``min |matrix' (1 + w)|_1`` over w >= 0, which is 0 if some positive weights cancel the margins.
    """
    return _solved(sp.csc_array(matrix.T), -matrix.sum(axis=0), matrix.shape[1])[0]


def largest_margin(matrix: Array) -> tuple[Array, Array]:
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
        f"Linear separability of the classes could not be decided. Message of HiGHS: {found.message!r}. Standardise "
        "the columns, or use logarithms of columns with values of very different magnitude."
    )


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane ``x @ coef + intercept = 0`` strictly between two classes.

    Attributes
    ----------
    coef : array of shape (p,)
        The normal of the hyperplane, of length 1.
    intercept : float
        Minus the signed distance of the hyperplane from the origin.
    margin : float
        Twice the distance of the nearest row.
    classes : tuple
        The class on the negative side, and that on the positive side.

    See Also
    --------
    CommonPoint : Proves that classes are not separable.
    """

    coef: Array
    intercept: float
    margin: float
    classes: tuple[Any, Any] = (-1, 1)

    def check(self, X: MatrixLike, y: ArrayLike) -> float:
        """The margin for given rows of the two classes; negative if a row is on the wrong side.

        Parameters
        ----------
        X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
            Rows, not necessarily the training data.
        y : array-like of shape (n_rows,)
            Their classes; rows of other classes are ignored.

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
    """A point that is a weighted mean of rows of each of two classes: no hyperplane separates the two.

    Attributes
    ----------
    rows_first, rows_second : arrays of int
        The rows of the first and of the second class with positive weight, at most p + 2 together.
    weights_first, weights_second : arrays
        Their weights, positive and with sum 1.
    point : array of shape (p,)
        The mean of the first class's rows.
    distance : float
        Distance of the second class's mean from it: rounding.
    classes : tuple
        The first and the second class.
    cones : bool
        Whether it excludes hyperplanes through the origin only. The weights of a class then need not have sum 1, and
        the point may be the origin.

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

    def check(self, X: MatrixLike, y: ArrayLike) -> float:
        """The distance between the weighted means of the two classes' rows.

        Parameters
        ----------
        X, y : array-like
            The training data.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If a row is not of its class, or if weights are negative or have another sum.
        """
        all_rows, codes = _rows_and_codes(X, y, self.classes)
        sides = ((self.rows_first, self.weights_first), (self.rows_second, self.weights_second))
        for side, (rows, weights) in enumerate(sides):
            outside = rows[rows >= len(codes)]
            foreign = outside if outside.size else rows[codes[rows] != side]
            if foreign.size:
                raise InputError(
                    f"Row {int(foreign[0])} is not of class {shown(self.classes[side])}. Pass the training data."
                )
            if (weights < -WEIGHT_ROUNDING).any() or not (self.cones or abs(weights.sum() - 1) <= WEIGHT_ROUNDING):
                raise InputError(f"Weights must be positive with sum 1, got {weights.tolist()}.")
        first, second = (combination(all_rows, rows, weights) for rows, weights in sides)
        return float(np.linalg.norm(first - second))


def _rows_and_codes(X: MatrixLike, y: ArrayLike, classes: tuple[Hashable, Hashable]) -> tuple[Rows, Array]:
    """The rows, and 0 for those of the first class, 1 for those of the second, -1 for others."""
    data = labelled_rows(X, y)
    known = data.classes.tolist()
    missing = [label for label in classes if label not in known]
    if missing:
        raise InputError(f"y has no class {shown(missing[0])}. Classes of y: {known}.")
    codes = np.full(len(known), -1)
    codes[[known.index(label) for label in classes]] = 0, 1
    return data.rows, codes[data.codes]


def combination(rows: Rows, chosen: Array, weights: Array) -> Array:
    """The weighted sum of the chosen rows."""
    if not chosen.size:
        return np.zeros(rows.n_columns)
    return np.asarray(rows.take(chosen).T @ weights, dtype=np.float64)
