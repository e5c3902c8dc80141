"""Linear separability: whether a hyperplane separates the rows of two classes.

The result includes a *witness* that can be verified independently. Two classes are separable if and only if their
convex hulls are disjoint; the witness is therefore a hyperplane, or a point of both hulls as a weighted mean of a few
rows of either class.

The maximum margin is computed by an active-set method, which ends with a hyperplane or a common point. If columns of
very different sizes make it inaccurate, a linear programme decides, which does not depend on units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, MatrixLike
from ..data import LabelledRows, Rows, labelled_rows
from ..errors import DegenerateDataError, NotSeparableError
from ..margins.convex_hulls import CommonPoint, Hyperplane, centred, separator
from ..margins.hard_margin import maximum_margin
from ..results import Result, jsonable, number, plain, visible

#: Printed coordinates of a point.
MAX_COORDINATES: Final = 5


@dataclass(frozen=True, eq=False, repr=False)
class LinearSeparability(Result):
    """Linear separability of each pair of classes, with witnesses.

    Attributes
    ----------
    pairs : dict
        For each pair of classes ``(a, b)``, in sorted order, a separating `Hyperplane` with b on its positive side, or
        a `CommonPoint` of their convex hulls.
    separable : bool
        Whether all pairs are separable.
    witness : Hyperplane or CommonPoint
        The witness of the first pair that is not separable, or else of the pair with the smallest margin.

    See Also
    --------
    linear_separability : Computes it.
    """

    pairs: dict[tuple[Any, Any], Hyperplane | CommonPoint]

    @property
    def separable(self) -> bool:
        """Whether all pairs of classes are separable."""
        return all(isinstance(found, Hyperplane) for found in self.pairs.values())

    @property
    def witness(self) -> Hyperplane | CommonPoint:
        """The witness of the first pair that is not separable, or else of the pair with the smallest margin."""
        common = [found for found in self.pairs.values() if isinstance(found, CommonPoint)]
        planes = [found for found in self.pairs.values() if isinstance(found, Hyperplane)]
        return common[0] if common else min(planes, key=lambda plane: plane.margin)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        planes = [isinstance(found, Hyperplane) for found in self.pairs.values()]
        margins = [found.margin if isinstance(found, Hyperplane) else None for found in self.pairs.values()]
        first, second = ([pair[side] for pair in self.pairs] for side in (0, 1))
        return {"first": first, "second": second, "separable": planes, "margin": margins}

    def to_dict(self) -> dict[str, Any]:
        pairs = [{"classes": pair, **jsonable(found)} for pair, found in self.pairs.items()]
        return {"separable": self.separable, "pairs": jsonable(pairs)}

    def __str__(self) -> str:
        return "\n".join(visible(f"{a} and {b}: {_in_words(found)}") for (a, b), found in self.pairs.items())


def linear_separability(X: MatrixLike, y: ArrayLike) -> LinearSeparability:
    """Test whether classes are linearly separable, with a witness that can be verified.

    Separation is strict, by a hyperplane with an intercept: touching hulls are not separable, and gaps below about
    1e-10 of the values count as touching. More than two classes are tested in pairs; to test one class against all
    others use ``linear_separability(X, y == label)``.

    Parameters
    ----------
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Finite numbers; no scaling is required.
    y : array-like of shape (n_rows,)
        Class labels of at least two classes.

    Returns
    -------
    LinearSeparability
        With ``separable``, ``witness`` and ``pairs``. The witness of separable classes is the maximum-margin
        hyperplane, if it can be computed. ``witness.check(X, y)`` verifies it: it returns the margin, which must be
        positive, or the distance between two weighted means that must coincide.

    See Also
    --------
    SupportVectorClassifier : Maximum-margin classification with ``margin="hard"``.
    Perceptron : Its training terminates if and only if the classes are separable.
    LogisticRegression : Has no finite maximum-likelihood estimate for separable classes.

    References
    ----------
    .. [1] P. Gordan (1873). Ueber die Auflösung linearer Gleichungen mit reellen Coefficienten. Mathematische Annalen
       6, 23-28.
    .. [2] D. Goldfarb and A. Idnani (1983). A numerically stable dual method for solving strictly convex quadratic
       programs. Mathematical Programming 27, 1-33.

    Examples
    --------
    >>> from discriminant import linear_separability
    >>> X = [[0, 0], [2, 2], [1, 1], [3, 0], [4, 1], [4, 3]]
    >>> y = ["a", "a", "b", "c", "c", "c"]
    >>> found = linear_separability(X, y)
    >>> found
    a and b: not separable, the point (1, 1) lies in both hulls
    a and c: separable, margin 1.581
    b and c: separable, margin 2.214
    >>> found.separable
    False
    >>> found.witness.rows_first, found.witness.weights_first
    (array([0, 1]), array([0.5, 0.5]))
    >>> found.witness.check(X, y)
    0.0
    """
    data = labelled_rows(X, y)
    data.rows.refuse_nonfinite()
    pairs = combinations(range(len(data.classes)), 2)
    found = [_between(data, first, second) for first, second in pairs]
    return LinearSeparability({witness.classes: witness for witness in found})


def _between(data: LabelledRows, first: int, second: int) -> Hyperplane | CommonPoint:
    """The witness for two classes, in terms of all rows."""
    chosen = np.flatnonzero((data.codes == first) | (data.codes == second))
    rows = data.rows if len(chosen) == data.n_rows else data.rows[chosen]
    found = _witness(rows, np.where(data.codes[chosen] == second, 1.0, -1.0))
    classes = plain(data.classes[first]), plain(data.classes[second])
    if isinstance(found, Hyperplane):
        return replace(found, classes=classes)
    return replace(found, rows_first=chosen[found.rows_first], rows_second=chosen[found.rows_second], classes=classes)


def _witness(rows: Rows, sign: Array) -> Hyperplane | CommonPoint:
    try:
        found = maximum_margin(rows, sign)
    except NotSeparableError as error:
        return error.witness
    except DegenerateDataError:  # separable, with a margin too small for the units of the columns
        return separator(centred(rows, movable=True), sign)
    distance = found.margin / 2
    return Hyperplane(found.coef * distance, found.intercept * distance, found.margin)


def _in_words(found: Hyperplane | CommonPoint) -> str:
    if isinstance(found, Hyperplane):
        return f"separable, margin {number(found.margin)}"
    shown = [number(value) for value in found.point[:MAX_COORDINATES]]
    more = ["..."] if len(found.point) > MAX_COORDINATES else []
    return f"not separable, the point ({', '.join(shown + more)}) lies in both hulls"
