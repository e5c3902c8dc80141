"""Separation in logistic regression: whether maximum-likelihood estimates are finite, and which are not.

The log-likelihood has no maximum if and only if there is a *recession direction*: coefficients for which no row's true
class scores lower than another class, and some row's true class scores higher (Albert & Anderson 1984). The likelihood
increases along it without bound. Separation is *complete* if a direction has all margins positive, and
*quasi-complete* if there are directions but none with all margins positive.

A *margin* is the score of a row's true class minus that of another, a' d for direction d. By Stiemke's theorem of the
alternative each margin is one of two kinds:

- *open*: positive in some recession direction;
- *shut*: part of a positive combination of margins that is 0, and therefore 0 in every recession direction.

A linear programme maximises the sum of the margins, all >= 0, with coefficients between -1 and 1 (Konis 2007). Its dual
is solved, which has a row for each coefficient instead of each margin. Margins that are 0 in that direction may be open
or shut: the programme is repeated for them alone until no more margins open.

Let d be a direction with all open margins positive. Any small step from d that keeps the shut margins at 0 gives
another recession direction. Recession directions therefore span the null space of the shut margins, and a coefficient
is finite if and only if it is 0 in that space.

The programme is solved on a sample of margins, and violated margins are added until there are none. If the sample is
not separated, neither are all rows, which decides most datasets at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from ..arrays import Array
from ..margins.convex_hulls import column_sizes, largest_margin, largest_margin_sum

_EPS: Final = float(np.finfo(np.float64).eps)
#: Sums smaller than this share of their terms count as 0,
SUM_ROUNDING: Final = 1e-11
#: and results of a singular value decomposition of many rows smaller than this share.
BASIS_ROUNDING: Final = 1e-9
#: Margins smaller than the first of these at a solution of the linear programme, whose tolerance is 1e-10, count as 0;
#: if no margins open then, some are small gaps between the classes, and the next of these is tried.
PROGRAMME_ROUNDINGS: Final = (1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
#: Margins per coefficient in the first sample, and their minimum number.
MARGINS_PER_COEFFICIENT: Final = 10
MIN_SAMPLE_MARGINS: Final = 200
#: Linear programmes used to widen the margins of a direction.
MAX_WIDENING_STEPS: Final = 4
#: Margins are not widened if all are open and the programme has more values (750 x 700: 21 s, the fit 2 s).
MAX_WIDENED_VALUES: Final = 100_000
#: Margins are written as matrices of this many rows.
MATRIX_MARGINS: Final = 4_096


@dataclass(frozen=True)
class LogisticSeparation:
    """Separation of the classes, for which some maximum-likelihood estimates are infinite.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete"}
    direction : array of shape (1, p + 1) or (K, p + 1), or None
        A recession direction with a maximal set of positive margins, the largest of them 1: coefficients of the score
        of the second of two classes, or of K classes relative to the last, with the intercept last.
    columns : array of int
        Columns whose estimates are infinite: those with a non-zero coefficient in some recession direction. The
        intercept is excluded; see ``infinite``.
    infinite : array, shape of ``direction``
        1 and -1 for coefficients with infinite estimates, 0 for finite ones. The sign is that of ``direction``; other
        recession directions may have other signs, usually in complete separation.
    rows : array of bool
        Rows whose true class scores strictly highest in ``direction``: their likelihood tends to 1, and the finite
        estimates depend on the other rows only.
    """

    kind: Literal["none", "quasi-complete", "complete"]
    direction: Array | None
    columns: Array
    infinite: Array
    rows: Array


def detect_separation(
    X: Array, codes: Array, n_classes: int, fit_intercept: bool = True, start: Array | None = None
) -> LogisticSeparation:
    """The separation of the classes in a logistic regression: its kind, a direction, and the columns involved.

    The result does not depend on the units or, with an intercept, the origins of the columns. Aliased columns have
    coefficient 0. Overlaps and gaps below about 1e-10 of a column's range count as touching.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows with positive weight, without a column for the intercept.
    codes : array of int of shape (n,)
        The class of each row, 0 to n_classes - 1. A class without rows is separated from the others.
    n_classes : int
    fit_intercept : bool
        If False, the last column of ``direction`` and ``infinite`` is 0.
    start : array of shape (n_classes, p + 1), optional
        Scores that may separate all rows, intercept last, such as those of a diverging fit. If they do, no linear
        programme is solved.

    Returns
    -------
    LogisticSeparation

    Examples
    --------
    Every row with x1 = 1 is in class 1, and x2 overlaps:

    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
    >>> found = detect_separation(X, np.array([0, 1, 0, 1, 1, 1]), n_classes=2)
    >>> found.kind
    'quasi-complete'
    >>> found.columns
    array([0])
    >>> found.infinite
    array([[1, 0, 0]])
    >>> found.rows
    array([False, False, False, False,  True,  True])
    """
    X, codes = np.asarray(X, dtype=np.float64), np.asarray(codes)
    design = standard_design(X, fit_intercept)
    margins = _Margins(design, codes, n_classes)
    cone = (None if start is None else _open_cone(margins, design, start)) or _recession_cone(margins)
    if cone is None:
        shape = (1 if n_classes == 2 else n_classes, X.shape[1] + 1)
        return LogisticSeparation("none", None, np.empty(0, int), np.zeros(shape, int), np.zeros(len(X), bool))
    coef, infinite = cone.widest_coefficients(design.to_coef)
    coef = -coef if n_classes == 2 else np.vstack((coef, np.zeros(coef.shape[1])))
    return LogisticSeparation(
        kind="complete" if cone.opened.all() else "quasi-complete",
        direction=coef,
        columns=np.flatnonzero(infinite[:, :-1].any(axis=0)),
        infinite=np.sign(coef).astype(int),
        rows=np.all(cone.opened.reshape(len(X), -1), axis=1),
    )


@dataclass(frozen=True)
class StandardDesign:
    """Linearly independent columns of similar size, with the intercept's last.

    Attributes
    ----------
    columns : array of shape (n, q)
    to_coef : array of shape (p + 1, q)
        Maps coefficients of these columns to those of the original columns, intercept last.
    doubt : array of shape (n, q)
        Bounds on the rounding errors of the entries.
    aliased : tuple of int
        Original columns that are linear functions of the intercept and earlier columns.
    """

    columns: Array
    to_coef: Array
    doubt: Array
    aliased: tuple[int, ...]


def standard_design(X: Array, fit_intercept: bool) -> StandardDesign:
    """The columns of ``X`` and the intercept as a `StandardDesign`.

    Columns are shifted by one of their values and divided by a power of 2, so that integers and ties stay exact.
    """
    n, p = X.shape
    centre = np.partition(X, n // 2, axis=0)[n // 2] if fit_intercept else np.zeros(p)
    shifted = X - centre
    scale = column_sizes(shifted)
    noise = 2 * _EPS * np.abs(X).max(axis=0, initial=0.0) / scale
    columns = np.column_stack((shifted / scale, np.ones(n)))
    noise = np.append(noise, 0.0)
    to_coef = np.diag(np.append(1 / scale, 1.0))
    to_coef[-1, :-1] = -centre / scale
    first = [p] if fit_intercept else []
    kept = _independent(columns, first + list(range(p)), noise)
    aliased = tuple(j for j in range(p) if j not in kept)
    doubt = SUM_ROUNDING * np.abs(columns[:, kept]) + noise[kept]
    return StandardDesign(columns[:, kept], to_coef[:, kept], doubt, aliased)


def _independent(columns: Array, order: list[int], noise: Array) -> list[int]:
    """Columns, in ascending order, that are not linear functions of earlier columns in ``order``."""
    triangle = np.asarray(np.linalg.qr(columns, mode="r"))
    norm = np.linalg.norm(triangle, axis=0)
    basis = np.zeros((len(triangle), 0))
    kept = []
    for j in order:
        rest = triangle[:, j]
        for _ in range(2):  # the second time removes rounding errors
            rest = rest - basis @ (basis.T @ rest)
        length = np.linalg.norm(rest)
        if length > SUM_ROUNDING * norm[j] + noise[j] * np.sqrt(len(columns)):
            basis = np.column_stack((basis, rest / length))
            kept.append(j)
    return sorted(kept)


class _Margins:
    """The margins of all rows; the margin of row i over the s-th of the other classes has index i (K - 1) + s.

    A direction is an array (K - 1, q): the coefficients of all classes but the last, whose score is 0.
    """

    def __init__(self, design: StandardDesign, codes: Array, n_classes: int) -> None:
        self.columns, self.doubt, self.codes = design.columns, design.doubt, codes
        self.n_classes = n_classes
        self.sizes = np.abs(self.columns).sum(axis=1, keepdims=True)
        slots = np.arange(n_classes - 1)
        self.others = slots + (slots >= codes[:, None])

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_classes - 1, self.columns.shape[1]

    def values(self, direction: Array) -> Array:
        """All margins in a direction."""
        scores = self._scores(self.columns, direction)
        return (scores[self._own] - np.take_along_axis(scores, self.others, axis=1)).ravel()

    def tolerances(self, direction: Array) -> Array:
        """Bounds on the rounding errors of `values`."""
        doubts = self._scores(self.doubt, np.abs(direction))
        of_rows = doubts[self._own] + np.take_along_axis(doubts, self.others, axis=1)
        return (of_rows + 2 * SUM_ROUNDING * np.abs(direction).max(initial=0.0) * self.sizes).ravel()

    def matrix(self, numbers: Array) -> Array:
        """The rows a of the margins a' d with these indices, each divided by its largest entry."""
        row, slot = np.divmod(numbers, self.n_classes - 1)
        each = np.arange(len(numbers))
        parts = np.zeros((len(numbers), self.n_classes, self.columns.shape[1]))
        parts[each, self.codes[row]] = self.columns[row]
        parts[each, self.others[row, slot]] = -self.columns[row]
        matrix = parts[:, :-1].reshape(len(numbers), self.shape[0] * self.shape[1])
        largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
        return matrix / np.where(largest > 0, largest, 1.0)

    def sample(self, among: Array, rng: np.random.Generator) -> Array:
        """Indices of a random sample of margins, with at most an equal share of each class."""
        size = max(MIN_SAMPLE_MARGINS, MARGINS_PER_COEFFICIENT * self.shape[0] * self.shape[1])
        numbers = rng.permutation(np.flatnonzero(among))
        if len(numbers) <= 2 * size:
            return numbers
        of_class = self.codes[numbers // (self.n_classes - 1)]
        share = -(-size // self.n_classes)
        return np.concatenate([numbers[of_class == k][:share] for k in range(self.n_classes)])

    @property
    def _own(self) -> tuple[Array, Array]:
        return np.arange(len(self.codes))[:, None], self.codes[:, None]

    def _scores(self, columns: Array, direction: Array) -> Array:
        return np.column_stack((columns @ direction.T, np.zeros(len(columns))))


def _open_cone(margins: _Margins, design: StandardDesign, start: Array) -> _RecessionCone | None:
    """The recession directions if these scores make all margins positive; else None."""
    direction = np.linalg.lstsq(design.to_coef, (start[:-1] - start[-1]).T, rcond=None)[0].T
    opened = margins.values(direction) > margins.tolerances(direction)
    if not opened.all():
        return None
    return _RecessionCone(margins, opened, np.eye(direction.size).reshape(*margins.shape, -1), direction)


def _recession_cone(margins: _Margins) -> _RecessionCone | None:
    """The recession directions; None if there are none.

    Directions are found one after another, each for the margins that are still 0; it may make earlier margins smaller,
    because a sufficient multiple of the earlier directions compensates.
    """
    rng = np.random.default_rng(0)
    total: Array | None = None
    left = np.ones(len(margins.codes) * margins.shape[0], bool)
    while left.any():
        direction, opened = _next_direction(margins, left, rng)
        if direction is None:
            break
        total = direction if total is None else _combined(margins, total, direction, ~left)
        left &= ~opened
    if total is None:
        return None
    triangle: Array = np.zeros((0, margins.shape[0] * margins.shape[1]))
    for part in np.split(np.flatnonzero(left), range(MATRIX_MARGINS, np.count_nonzero(left), MATRIX_MARGINS)):
        triangle = np.asarray(np.linalg.qr(np.concatenate((triangle, margins.matrix(part))), mode="r"))
    basis = _null_basis(triangle)
    cone = _RecessionCone(margins, ~left, basis.reshape(*margins.shape, basis.shape[1]), total)
    # The open margins must remain positive after projection onto the null space of the shut ones.
    return cone if (margins.values(cone.inner)[~left] > 0).all() else None


def _combined(margins: _Margins, first: Array, second: Array, opened: Array) -> Array:
    """``first`` plus a multiple of ``second`` that reduces no open margin of ``first`` by more than half."""
    gain, harm = margins.values(first)[opened], -margins.values(second)[opened]
    harmed = harm > 0
    most = float((gain[harmed] / harm[harmed]).min(initial=np.inf)) / 2
    size = np.abs(first).max() / np.abs(second).max()
    return first + min(most, size) * second


def _next_direction(margins: _Margins, left: Array, rng: np.random.Generator) -> tuple[Array | None, Array]:
    """A direction in which no remaining margin is negative, and the margins that are positive in it."""
    numbers = margins.sample(left, rng)
    while True:
        matrix = margins.matrix(numbers)
        direction = largest_margin_sum(matrix)
        for rounding in PROGRAMME_ROUNDINGS:
            at_zero = np.abs(matrix @ direction) <= rounding
            null = _null_basis(matrix[at_zero])
            # If the whole sample is shut, only margins that vary in its null space can be open: try a random vector.
            found = null @ (rng.standard_normal(null.shape[1]) if at_zero.all() else null.T @ direction)
            found = found.reshape(margins.shape)
            value, tolerance = margins.values(found), margins.tolerances(found)
            violated = left & ((np.abs(value) > tolerance) if at_zero.all() else (value < -tolerance))
            if at_zero.all() or (not violated[numbers].any() and (left & (value > tolerance)).any()):
                break
        added = _rows_to_add(violated, left & (value > tolerance), value, numbers)
        if not len(added):
            break
        numbers = np.concatenate((numbers, added))
    opened = left & (value > tolerance)
    if violated.any() or not opened.any():  # violated margins in the sample: the programme was solved inaccurately
        return None, np.zeros(len(left), bool)
    return found, opened


def _rows_to_add(violated: Array, positive: Array, value: Array, known: Array) -> Array:
    """Indices of new violated margins, then of the smallest positive ones; up to half the sample size."""
    fresh = violated | positive
    fresh[known] = False
    if not (violated & fresh).any():
        return np.empty(0, int)
    numbers = np.flatnonzero(fresh)
    order = np.lexsort((value[numbers], ~violated[numbers]))
    return numbers[order[: max(MIN_SAMPLE_MARGINS, len(known) // 2)]]


def _null_basis(matrix: Array) -> Array:
    """An orthonormal basis of the null space, in columns."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    triangle = np.linalg.qr(matrix, mode="r")
    _, singular, axes = np.linalg.svd(triangle, full_matrices=True)
    rank = int((singular > BASIS_ROUNDING * singular[0]).sum()) if len(singular) else 0
    return axes[rank:].T


class _RecessionCone:
    """The recession directions, with positive open margins and shut margins 0.

    ``span`` (K - 1, q, r) is an orthonormal basis of the null space of the shut margins; ``inner`` is a direction with
    all open margins positive.
    """

    def __init__(self, margins: _Margins, opened: Array, span: Array, direction: Array) -> None:
        self.margins, self.opened, self.span = margins, opened, span
        self.inner = span @ np.einsum("kqr,kq->r", span, direction)

    def widest_coefficients(self, to_coef: Array) -> tuple[Array, Array]:
        """Coefficients (K - 1, p + 1) of a direction with large margins, the largest being 1; which are infinite."""
        units = to_coef / np.abs(to_coef).sum(axis=1, keepdims=True).clip(min=1e-300)
        infinite = np.linalg.norm(np.einsum("jq,kqr->kjr", units, self.span), axis=2) > BASIS_ROUNDING
        direction = self._widened()
        coef = np.abs(direction @ units.T)
        if not (coef[infinite] > BASIS_ROUNDING * coef.max()).all():  # 0 in this direction, but not in all
            nudge = self.span @ np.random.default_rng(0).standard_normal(self.span.shape[2])
            # A small step, which keeps the signs of the other coefficients.
            direction = direction + 1e-3 * (_combined(self.margins, direction, nudge, self.opened) - direction)
        return np.where(infinite, direction @ to_coef.T, 0.0) / self.margins.values(direction).max(), infinite

    def _widened(self) -> Array:
        """A direction with larger margins, which may be small in `inner`; optimised on a sample of the smallest."""
        margins, opened, span, best = self.margins, self.opened, self.span, self.inner
        numbers, known, value = np.flatnonzero(opened), np.empty(0, int), margins.values(best)
        size = max(MIN_SAMPLE_MARGINS, MARGINS_PER_COEFFICIENT * span.shape[2])
        if opened.all() and min(size, len(numbers)) * span.shape[2] > MAX_WIDENED_VALUES:
            return best
        for _ in range(MAX_WIDENING_STEPS):
            known = np.union1d(known, numbers[np.argsort(value[numbers], kind="stable")[:size]])
            candidate = span @ largest_margin(margins.matrix(known) @ span.reshape(-1, span.shape[2]))[0]
            value = margins.values(candidate)
            if _width(value, opened) > _width(margins.values(best), opened):
                best = candidate
            if value[opened].min() >= 0.5 * value[known].min():
                break
        return best


def _width(value: Array, opened: Array) -> float:
    """The smallest open margin relative to the largest."""
    return float(value[opened].min() / max(value.max(), 1e-300))
