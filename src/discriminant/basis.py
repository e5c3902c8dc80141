"""Basis expansions of columns: splines, powers and products, stored as data and evaluated with NumPy alone.

Every function of one column is a piecewise polynomial, so that one class represents powers, B-splines, natural splines
and clipped values, and exports have to support only this class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np

from .arrays import Array, RowBlock
from .data import check_shapes, dense_rows, require
from .kernels import scores as kernels

#: Transformations of a column before the polynomials are applied.
INNER: dict[str, Any] = {"identity": np.asarray, "log": np.log, "exp": np.exp, "sqrt": np.sqrt}


@dataclass(frozen=True)
class Piecewise:
    """Polynomials of one column: ``sum_d coefficients[piece, :, d] (u - origins[piece])^d`` between ``breaks``.

    u is the column itself, or ``inner(slope x + offset)``.

    Parameters
    ----------
    column : int
        The column x.
    breaks : array of shape (m,)
        Boundaries between the pieces, increasing.
    origins : array of shape (m + 1,)
        The point about which each piece is expanded.
    coefficients : array of shape (m + 1, n_outputs, degree + 1)
        Polynomial coefficients by piece and function.
    inner : {"identity", "log", "exp", "sqrt"}, default="identity"
        Transformation of the column before the polynomials; the logarithm is the natural one.
    slope, offset : float, default=1.0 and 0.0
        Linear function of the column inside the transformation.
    """

    column: int
    breaks: Array
    origins: Array
    coefficients: Array
    inner: str = "identity"
    slope: float = 1.0
    offset: float = 0.0

    @property
    def n_outputs(self) -> int:
        """The number of functions."""
        return int(self.coefficients.shape[1])

    def _check_parts(self) -> None:
        require(type(self.column) is int and self.column >= 0, self, "column")
        sizes = check_shapes(self, breaks="m", origins="q", coefficients="qod")
        require(sizes["q"] == sizes["m"] + 1 and sizes["d"] > 0, self, "number of pieces")
        require(bool((np.diff(self.breaks) > 0).all()), self, "breaks do not increase")
        own = (self.slope, self.offset)
        require(self.inner in INNER and all(type(v) is float and np.isfinite(v) for v in own), self, "inner function")
        require(self.inner != "identity" or own == (1.0, 0.0), self, "inner function")

    def argument(self, x: Array) -> Array:
        """The argument u of the polynomials; NaN or infinity where the inner function is not defined."""
        if self.inner == "identity":
            return x
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(INNER[self.inner](self.slope * x + self.offset))

    def evaluate(self, x: Array) -> Array:
        """The functions of these values, (n, n_outputs)."""
        out = np.empty((len(x), self.n_outputs))
        self.write(x, out, 0)
        return out

    def write(self, x: Array, out: Array, first: int) -> None:
        """Write the functions of these values into the columns of ``out`` from ``first`` on."""
        by_power = np.ascontiguousarray(self.coefficients.transpose(0, 2, 1))
        u = np.ascontiguousarray(self.argument(x))
        kernels.piecewise_polynomials(u, self.breaks, self.origins, by_power, first, out)

    def combined(self, weights: Array) -> Piecewise:
        """Linear combinations of the functions with weights of shape (n_sums, n_outputs)."""
        return replace(self, coefficients=np.einsum("so,mod->msd", weights, self.coefficients))


@dataclass(frozen=True)
class Basis:
    """Columns, functions of columns, their products, and linear combinations of the products.

    Parameters
    ----------
    n_columns : int
        Number of input columns.
    columns : array of int
        Columns that are used unchanged; they are the first factors.
    functions : list of Piecewise
        Their outputs are the remaining factors.
    outputs : array of int, of shape (n_products, degree)
        The factors of each product; -1 means no factor.
    contrasts : array of shape (n_products, n_outputs), optional
        Weights of the products in each output, such as contrasts of the levels of a factor. None: each product is an
        output.

    Examples
    --------
    >>> import numpy as np
    >>> basis = Basis(2, np.array([0, 1]), [powers(1, 2)], np.array([[0, -1], [1, -1], [3, -1], [0, 1]]))
    >>> basis.expand(np.array([[2.0, 3.0]]))
    array([[2., 3., 9., 6.]])
    """

    n_columns: int
    columns: Array
    functions: list[Piecewise]
    outputs: Array
    contrasts: Array | None = None

    @property
    def n_outputs(self) -> int:
        """The number of columns after the expansion."""
        return len(self.outputs) if self.contrasts is None else int(self.contrasts.shape[1])

    @property
    def n_factors(self) -> int:
        """The number of factors: unchanged columns and functions."""
        return len(self.columns) + sum(function.n_outputs for function in self.functions)

    def _check_parts(self) -> None:
        require(type(self.n_columns) is int and self.n_columns > 0, self, "number of columns")
        own = isinstance(self.functions, list) and all(type(function) is Piecewise for function in self.functions)
        require(own and all(function.column < self.n_columns for function in self.functions), self, "functions")
        for name, least, most in (("columns", 0, self.n_columns), ("outputs", -1, self.n_factors)):
            places = getattr(self, name)
            whole = isinstance(places, np.ndarray) and places.dtype == np.int64
            require(whole and bool(((places >= least) & (places < most)).all()), self, name)
        require(self.columns.ndim == 1 and self.outputs.ndim == 2 and self.outputs.shape[1] > 0, self, "shapes")
        if self.contrasts is not None:
            require(check_shapes(self, contrasts="po")["p"] == len(self.outputs), self, "contrasts")

    def expand(self, block: RowBlock) -> Array:
        """The outputs for a block of rows."""
        X = np.asarray(dense_rows(block), dtype=np.float64)
        factors, first = np.empty((len(X), self.n_factors + 1)), len(self.columns)
        factors[:, :first] = X[:, self.columns]
        for function in self.functions:
            function.write(X[:, function.column], factors, first)
            first += function.n_outputs
        factors[:, -1] = 1.0  # selected by the index -1: no factor
        out = np.empty((len(X), len(self.outputs)))
        kernels.column_products(factors, self.outputs % factors.shape[1], out)
        return out if self.contrasts is None else out @ self.contrasts


def powers(column: int, degree: int, centre: float = 0.0, scale: float = 1.0) -> Piecewise:
    """The powers 1 to ``degree`` of the column ``(x - centre) / scale``."""
    coefficients = np.zeros((1, degree, degree + 1))
    coefficients[0, np.arange(degree), np.arange(1, degree + 1)] = scale ** -np.arange(1.0, degree + 1)
    return Piecewise(column, np.zeros(0), np.array([centre]), coefficients)


def clipped(column: int, centre: float, scale: float, limit: float) -> Piecewise:
    """The column ``(x - centre) / scale``, clipped to ``[-limit, limit]``."""
    breaks = np.array([centre - limit * scale, centre + limit * scale])
    coefficients = np.array([[[-limit, 0.0]], [[0.0, 1.0 / scale]], [[limit, 0.0]]])
    return Piecewise(column, breaks, np.array([breaks[0], centre, breaks[1]]), coefficients)


def b_splines(column: int, knots: Sequence[float] | Array, degree: int = 3) -> Piecewise:
    """All B-splines on increasing knots, the first and last being the boundary; linear beyond it.

    They sum to 1. A repeated interior knot reduces the smoothness there.

    Examples
    --------
    >>> b_splines(0, [0.0, 1.0, 2.0]).evaluate(np.array([0.0, 2.0])).round(3).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    from scipy.interpolate import BSpline  # only needed to construct the splines

    knots = np.asarray(knots, dtype=np.float64)
    whole = np.r_[np.repeat(knots[0], degree), knots, np.repeat(knots[-1], degree)]
    spline, breaks = BSpline(whole, np.eye(len(whole) - degree - 1), degree), np.unique(knots)
    return _straight_beyond(column, spline, breaks, degree)


def _straight_beyond(column: int, spline: Callable[..., Array], breaks: Array, degree: int) -> Piecewise:
    """A SciPy spline between the breaks, extrapolated linearly."""
    # Taylor series at the left end of each interval; beyond the boundary only value and slope.
    taylor = [spline(breaks[:-1], nu=d) / factorial(d) for d in range(degree + 1)]
    inside = np.stack(taylor, axis=-1)
    before, after = inside[:1].copy(), np.zeros_like(inside[:1])
    last = breaks[-1]
    after[0, :, 0], after[0, :, 1] = spline(last), spline(last, nu=1)
    before[:, :, 2:] = 0.0
    return Piecewise(column, breaks, np.r_[breaks[0], breaks], np.concatenate([before, inside, after]))


def natural_splines(column: int, knots: Sequence[float] | Array, intercept: bool = False) -> Piecewise:
    """Natural cubic splines on these knots (linear beyond the boundary), in the basis of R's ``ns``.

    Without ``intercept`` they are 0 at the first knot.

    References
    ----------
    Hastie, T. J. (1992). Generalized additive models. In: Statistical Models in S, chapter 7.
    """
    whole = b_splines(column, knots)
    step = whole.breaks[-1] - whole.origins[-2]
    at_last = 2 * whole.coefficients[-2, :, 2] + 6 * whole.coefficients[-2, :, 3] * step
    second_derivatives = np.array([2 * whole.coefficients[1, :, 2], at_last])
    first = 0 if intercept else 1
    null_space = np.linalg.qr(second_derivatives[:, first:].T, mode="complete")[0][:, 2:]
    return whole.combined(np.pad(null_space.T, ((0, 0), (first, 0))))


def cubic_regression_splines(column: int, knots: Array, centred_over: Array | None = None) -> Piecewise:
    """The natural cubic splines with value 1 at one knot and 0 at the others (patsy's and mgcv's ``cr``).

    They sum to 1. Given the means of their values over the rows, ``centred_over``, they are replaced by one function
    fewer, each with mean 0 over these rows.

    References
    ----------
    Wood, S. N. (2017). Generalized Additive Models, 2nd edition, sections 5.3.1 and 5.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> cubic_regression_splines(0, np.array([0.0, 1.0, 3.0])).evaluate(np.array([1.0, 4.0])).round(3).tolist()
    [[0.0, 1.0, 0.0], [0.333, -1.0, 1.667]]
    """
    from scipy.interpolate import CubicSpline  # only needed to construct the splines

    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    whole = _straight_beyond(column, spline, np.asarray(knots, dtype=np.float64), 3)
    if centred_over is None:
        return whole
    return whole.combined(np.linalg.qr(centred_over[:, None], mode="complete")[0][:, 1:].T)


def orthogonal_polynomials(column: int, x: Array, degree: int, weight: Array | None = None) -> Piecewise:
    """Polynomials of increasing degree, orthonormal over the values and orthogonal to the constant (R's ``poly``).

    References
    ----------
    Kennedy, W. J. & Gentle, J. E. (1980). Statistical Computing, section 7.2.
    """
    centre = float(np.average(x, weights=weight))
    z, w = x - centre, np.ones(len(x)) if weight is None else weight
    made, values = [np.array([1.0])], [np.ones(len(x))]
    for _ in range(degree):
        shifted, own = np.append(0.0, made[-1]), z * values[-1]
        for coefficients, earlier in zip(made[-2:], values[-2:], strict=True):  # three-term recurrence
            share = float(w @ (own * earlier) / (w @ earlier**2))
            own = own - share * earlier
            shifted[: len(coefficients)] -= share * coefficients
        made, values = [*made, shifted], [*values, own]
    lengths = [np.sqrt(w @ own**2) for own in values[1:]]
    table = np.zeros((1, degree, degree + 1))
    for row, (coefficients, length) in enumerate(zip(made[1:], lengths, strict=True)):
        table[0, row, : len(coefficients)] = coefficients / length
    return Piecewise(column, np.zeros(0), np.array([centre]), table)
