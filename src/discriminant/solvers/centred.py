"""Rows seen from their middle and in units of their size, and the shape that a few of them make.

Geometry does not depend on the origin or, but for a factor, on the unit; its rounding does. So distances and
projections are computed from differences to a value in the middle of each column, divided by one number. It is the same
for all columns, because margins are not indifferent to the units of single columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..data.rows import Rows, SparseRows, dense_parts, dense_rows
from ..engine import map_rows
from ..errors import InputError

Array = np.ndarray[Any, Any]

_EPS = float(np.finfo(np.float64).eps)
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
    as_they_are = CentredRows(rows, _middle(rows) if full and movable else None, 1.0)
    size = float(as_they_are._over_rows(largest_of_rows).max())
    if size != 0 and not 1 / _LARGEST < size < _LARGEST:
        rows.refuse_nonfinite()
        raise InputError(f"X has values of size {size:.1g}, whose squares cannot be computed with. Use other units.")
    return replace(as_they_are, scale=float(np.exp2(np.round(np.log2(size)))) if size > 0 else 1.0)


def _middle(rows: Rows) -> Array:
    """A value from the middle of each column. Since it occurs, what was equal or a whole number stays so."""
    sample = dense_rows(rows.take(np.unique(np.linspace(0, rows.n_rows - 1, _SAMPLE).astype(int))))
    return np.partition(sample, len(sample) // 2, axis=0)[len(sample) // 2].astype(np.float64)


def largest_of_rows(part: Any) -> Array:
    """The largest absolute value of each row of an array or sparse matrix."""
    largest = abs(part).max(axis=1)
    return largest.toarray().ravel() if sp.issparse(largest) else largest


@dataclass(frozen=True)
class Points:
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


def points_of(view: CentredRows, block: Any) -> Points:
    """The rows of a block taken from ``view`` as `Points`: themselves, if there are more of them than columns."""
    if sp.issparse(block):
        return Points(_from_products((block @ block.T).toarray()), _FROM_PRODUCTS, 0.0, own=False)
    floor = float(np.linalg.norm(view.rounding))
    if block.shape[1] > block.shape[0]:
        return Points(np.asarray(np.linalg.qr(block.T, mode="r")).T, _EXACT, floor, own=False)
    return Points(block, _EXACT, floor, own=True)


def _from_products(products: Array) -> Array:
    """Points with these inner products, by a Cholesky factor that stops at their rank."""
    factor, order, rank, _ = lapack.dpstrf(products, lower=1)
    values = np.empty((len(products), rank))
    values[order - 1] = np.tril(factor)[:, :rank]
    return np.ascontiguousarray(values)


def lifted(block: Any, points: Points, direction: Array) -> Array:
    """The direction in the space of the rows that a direction in that of their points stands for."""
    if points.own:
        return direction
    weights = np.linalg.lstsq(points.values.T, direction, rcond=None)[0]
    return np.asarray(block.T @ weights)
