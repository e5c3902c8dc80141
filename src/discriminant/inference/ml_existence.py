"""Separation in logistic regression: whether maximum likelihood has a finite solution, and if not, what is infinite.

The log-likelihood has no maximum exactly if there is a *recession direction*: coefficients that give no row's own class
a lower score than any other class, and some row's own class a higher one (Albert & Anderson 1984). Going along it the
likelihood rises for ever. Separation is *complete* if a direction does so for every row and every other class, and
*quasi-complete* if there are directions but none does.

A *margin* is the score of a row's own class minus that of another; a' d for direction d. By the theorem of the
alternative (Stiemke) each margin falls into one of two sets:

- *open*: some recession direction makes it positive;
- *shut*: it is part of a combination of margins, with positive weights, that sums to 0, so it is 0 in every direction.

A linear programme finds a direction, the one with the largest sum of margins, all of them >= 0 and the coefficients
between -1 and 1 (Konis 2007); its dual is solved, which has a row for each coefficient instead of each margin. Margins
at 0 in that direction may be open or shut: they are asked again by themselves, until nothing more opens.

Which coefficients are infinite needs no further programme. Let d make all open margins positive. Any small step from d
that leaves the shut margins at 0 leads to a recession direction again, so recession directions span the null space of
the shut margins: a coefficient is finite exactly if it is 0 in that whole space.

Few margins matter. The programme is solved on a sample of them, and margins its answer makes negative are added until
there are none. If the sample is not separated, neither is the whole, which settles most data sets at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Array
from ..margins.convex_hulls import column_sizes, steepest, widest

_EPS = float(np.finfo(np.float64).eps)
#: Values this much smaller than the terms they are sums of count as 0.
_ZERO = 1e-11
#: The same for what comes out of a singular value decomposition of many rows.
_ZERO_IN_BASIS = 1e-9
#: Margins this small at a solution of the linear programme are at 0, its tolerance being 1e-10.
_SOLVED = 1e-8
#: Margins a first sample holds for each coefficient, and at least.
_PER_COEFFICIENT, _AT_LEAST = 10, 200
#: Linear programmes spent on a direction of wider margins.
_WIDENINGS = 4
#: Where all margins are open, a fit that went on towards infinity has widened them already: with more values than this
#: the programme is not asked (750 x 700: 21 s, the fit 2 s).
_MOST_WIDENED = 100_000
#: Margins are written out as a matrix in parts of this many.
_PART = 4_096


@dataclass(frozen=True)
class LogisticSeparation:
    """Whether and how classes are separated.

    Where they are, some coefficients have no finite maximum of the likelihood.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete"}
    direction : array of shape (1, p + 1) or (K, p + 1), or None
        A recession direction that makes as many margins positive as any does, the largest of them 1: coefficients of
        the score of the second of two classes, or of K classes relative to the last; the intercept comes last.
    columns : array of int
        Columns with a non-zero coefficient in some recession direction: those whose estimates are infinite. The
        intercept is not among them; see ``infinite``.
    infinite : array, shape of ``direction``
        1 and -1 where the estimate of a coefficient is infinite, 0 where it is finite. The sign is that of
        ``direction``. Other recession directions may have another one, as is usual in complete separation: the data
        then say that the coefficient is not finite, but not where it goes.
    rows : array of bool
        Rows whose own class ``direction`` puts strictly above all others: in the limit their likelihood is 1, and the
        others decide on what is finite.
    """

    kind: Literal["none", "quasi-complete", "complete"]
    direction: Array | None
    columns: Array
    infinite: Array
    rows: Array


def detect_separation(
    X: Array, codes: Array, n_classes: int, fit_intercept: bool = True, start: Array | None = None
) -> LogisticSeparation:
    """Whether a logistic regression of these rows is separated, along which direction and in which columns.

    Units and, with an intercept, origins of the columns do not matter. Columns that are linear functions of earlier
    ones are left out, with coefficient 0. Overlaps and gaps below some 1e-8 of a column's spread cannot be told from
    touching.

    Parameters
    ----------
    X : array of shape (n, p)
        Rows, without a column for the intercept; rows of weight 0 left out.
    codes : array of int of shape (n,)
        The class of each row, 0 to n_classes - 1. A class without rows is separated from the others.
    n_classes : int
    fit_intercept : bool
        Without it the last column of ``direction`` and ``infinite`` is 0.
    start : array of shape (n_classes, p + 1), optional
        Scores that may separate all rows, intercept last, as those of a fit do that went on towards infinity: where
        they do, no direction has to be looked for.

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
    """Linearly independent columns of like size, the intercept's last.

    Attributes
    ----------
    columns : array of shape (n, q)
    to_coef : array of shape (p + 1, q)
        From coefficients of these columns to those of the original ones, intercept last.
    doubt : array of shape (n, q)
        How far an entry may be from what was meant, by rounding.
    aliased : tuple of int
        Original columns that are linear functions of the intercept and of columns before them.
    """

    columns: Array
    to_coef: Array
    doubt: Array
    aliased: tuple[int, ...]


def standard_design(X: Array, fit_intercept: bool) -> StandardDesign:
    """The columns of ``X`` and the intercept as a `StandardDesign`.

    Columns are shifted by a value that occurs in them and divided by a power of 2: integers stay exact, and so do ties.
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
    doubt = _ZERO * np.abs(columns[:, kept]) + noise[kept]
    return StandardDesign(columns[:, kept], to_coef[:, kept], doubt, aliased)


def _independent(columns: Array, order: list[int], noise: Array) -> list[int]:
    """Columns, in ascending order, that are not linear functions of those before them in ``order``."""
    triangle = np.asarray(np.linalg.qr(columns, mode="r"))
    norm = np.linalg.norm(triangle, axis=0)
    basis = np.zeros((len(triangle), 0))
    kept = []
    for j in order:
        rest = triangle[:, j]
        for _ in range(2):  # once more removes what rounding left
            rest = rest - basis @ (basis.T @ rest)
        length = np.linalg.norm(rest)
        if length > _ZERO * norm[j] + noise[j] * np.sqrt(len(columns)):
            basis = np.column_stack((basis, rest / length))
            kept.append(j)
    return sorted(kept)


class _Margins:
    """All margins of some rows, numbered: that of row i over the s-th of the other classes is i (K - 1) + s.

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
        """Every margin along a direction."""
        scores = self._scores(self.columns, direction)
        return (scores[self._own] - np.take_along_axis(scores, self.others, axis=1)).ravel()

    def tolerances(self, direction: Array) -> Array:
        """How far each of `values` may be off, by rounding in the rows and in the direction."""
        doubts = self._scores(self.doubt, np.abs(direction))
        of_rows = doubts[self._own] + np.take_along_axis(doubts, self.others, axis=1)
        return (of_rows + 2 * _ZERO * np.abs(direction).max(initial=0.0) * self.sizes).ravel()

    def matrix(self, numbers: Array) -> Array:
        """A for the margins with these numbers, one a row, each divided by its largest entry."""
        row, slot = np.divmod(numbers, self.n_classes - 1)
        each = np.arange(len(numbers))
        parts = np.zeros((len(numbers), self.n_classes, self.columns.shape[1]))
        parts[each, self.codes[row]] = self.columns[row]
        parts[each, self.others[row, slot]] = -self.columns[row]
        matrix = parts[:, :-1].reshape(len(numbers), self.shape[0] * self.shape[1])
        largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
        return matrix / np.where(largest > 0, largest, 1.0)

    def sample(self, among: Array, rng: np.random.Generator) -> Array:
        """Numbers of margins to begin with, as many of each class as there are up to an equal share."""
        size = max(_AT_LEAST, _PER_COEFFICIENT * self.shape[0] * self.shape[1])
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
    """The recession directions, which are an open set, if these scores make all margins positive; None if not."""
    direction = np.linalg.lstsq(design.to_coef, (start[:-1] - start[-1]).T, rcond=None)[0].T
    opened = margins.values(direction) > margins.tolerances(direction)
    if not opened.all():
        return None
    return _RecessionCone(margins, opened, np.eye(direction.size).reshape(*margins.shape, -1), direction)


def _recession_cone(margins: _Margins) -> _RecessionCone | None:
    """The recession directions; None if there are none.

    A direction that opens some margins is found first. Those it leaves at 0 may be opened by another, which need not
    care for the former: enough of the first direction makes up for any harm. So on, until no more are opened.
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
    for part in np.split(np.flatnonzero(left), range(_PART, np.count_nonzero(left), _PART)):
        triangle = np.asarray(np.linalg.qr(np.concatenate((triangle, margins.matrix(part))), mode="r"))
    basis = _null_basis(triangle)
    cone = _RecessionCone(margins, ~left, basis.reshape(*margins.shape, basis.shape[1]), total)
    # What opens margins must still do so once the shut ones are 0 to the last digit.
    return cone if (margins.values(cone.inner)[~left] > 0).all() else None


def _combined(margins: _Margins, first: Array, second: Array, opened: Array) -> Array:
    """``first`` plus so much of ``second`` that what ``first`` opened loses no more than half."""
    gain, harm = margins.values(first)[opened], -margins.values(second)[opened]
    harmed = harm > 0
    most = float((gain[harmed] / harm[harmed]).min(initial=np.inf)) / 2
    size = np.abs(first).max() / np.abs(second).max()
    return first + min(most, size) * second


def _next_direction(margins: _Margins, left: Array, rng: np.random.Generator) -> tuple[Array | None, Array]:
    """A direction along which no margin that is left is negative, and the margins it makes positive."""
    numbers = margins.sample(left, rng)
    while True:
        matrix = margins.matrix(numbers)
        direction = steepest(matrix)
        at_zero = np.abs(matrix @ direction) <= _SOLVED
        null = _null_basis(matrix[at_zero])
        # Where the whole sample is shut, only what its null space moves could still be opened: any vector tells.
        direction = null @ (rng.standard_normal(null.shape[1]) if at_zero.all() else null.T @ direction)
        direction = direction.reshape(margins.shape)
        value, tolerance = margins.values(direction), margins.tolerances(direction)
        wrong = left & ((np.abs(value) > tolerance) if at_zero.all() else (value < -tolerance))
        added = _to_add(wrong, left & (value > tolerance), value, numbers)
        if not len(added):
            break
        numbers = np.concatenate((numbers, added))
    opened = left & (value > tolerance)
    if wrong.any() or not opened.any():  # wrong, with nothing to add: the programme's answer fails the check
        return None, np.zeros(len(left), bool)
    return direction, opened


def _to_add(wrong: Array, open_yet: Array, value: Array, known: Array) -> Array:
    """Numbers of wrong margins not known yet, and of those next to become so; at most half as many as are known."""
    fresh = wrong | open_yet
    fresh[known] = False
    if not (wrong & fresh).any():
        return np.empty(0, int)
    numbers = np.flatnonzero(fresh)
    urgent = np.lexsort((value[numbers], ~wrong[numbers]))
    return numbers[urgent[: max(_AT_LEAST, len(known) // 2)]]


def _null_basis(matrix: Array) -> Array:
    """An orthonormal basis of the null space, one vector a column."""
    if not len(matrix):
        return np.eye(matrix.shape[1])
    triangle = np.linalg.qr(matrix, mode="r")
    _, singular, axes = np.linalg.svd(triangle, full_matrices=True)
    rank = int((singular > _ZERO_IN_BASIS * singular[0]).sum()) if len(singular) else 0
    return axes[rank:].T


class _RecessionCone:
    """The recession directions: positive on the open margins, and 0 on the shut ones, whose null space ``span`` is.

    ``span`` (K - 1, q, r) is an orthonormal basis; ``inner`` is a direction within the cone.
    """

    def __init__(self, margins: _Margins, opened: Array, span: Array, direction: Array) -> None:
        self.margins, self.opened, self.span = margins, opened, span
        self.inner = span @ np.einsum("kqr,kq->r", span, direction)

    def widest_coefficients(self, to_coef: Array) -> tuple[Array, Array]:
        """Coefficients (K - 1, p + 1) of a direction of wide margins, the largest of them 1, and which are infinite."""
        units = to_coef / np.abs(to_coef).sum(axis=1, keepdims=True).clip(min=1e-300)
        infinite = np.linalg.norm(np.einsum("jq,kqr->kjr", units, self.span), axis=2) > _ZERO_IN_BASIS
        direction = self._widened()
        coef = np.abs(direction @ units.T)
        if not (coef[infinite] > _ZERO_IN_BASIS * coef.max()).all():  # some that are infinite happen to be 0 here
            nudge = self.span @ np.random.default_rng(0).standard_normal(self.span.shape[2])
            # A small part of what is possible: signs that are there should stay.
            direction = direction + 1e-3 * (_combined(self.margins, direction, nudge, self.opened) - direction)
        return np.where(infinite, direction @ to_coef.T, 0.0) / self.margins.values(direction).max(), infinite

    def _widened(self) -> Array:
        """A direction whose margins are wider: those that later directions opened may be open by little.

        Like the first direction it is sought on a sample, of the smallest margins; here any that is better will do.
        """
        margins, opened, span, best = self.margins, self.opened, self.span, self.inner
        numbers, known, value = np.flatnonzero(opened), np.empty(0, int), margins.values(best)
        size = max(_AT_LEAST, _PER_COEFFICIENT * span.shape[2])
        if opened.all() and min(size, len(numbers)) * span.shape[2] > _MOST_WIDENED:
            return best
        for _ in range(_WIDENINGS):
            known = np.union1d(known, numbers[np.argsort(value[numbers], kind="stable")[:size]])
            candidate = span @ widest(margins.matrix(known) @ span.reshape(-1, span.shape[2]))[0]
            value = margins.values(candidate)
            if _width(value, opened) > _width(margins.values(best), opened):
                best = candidate
            if value[opened].min() >= 0.5 * value[known].min():
                break
        return best


def _width(value: Array, opened: Array) -> float:
    """The smallest open margin relative to the largest."""
    return float(value[opened].min() / max(value.max(), 1e-300))
