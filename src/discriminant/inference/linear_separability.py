"""Linear separability: whether a hyperplane has the rows of one class on one side and those of another on the other.

The answer comes with a *witness*, which proves it without reference to how it was found. Two classes are separable
exactly if their convex hulls have no point in common; so the witness is the hyperplane, or a point of both hulls,
written as a weighted mean of a few rows of either class.

First the widest margin is looked for by a method of active sets. It ends with a hyperplane or with a common point.
Where columns of very different size leave room for doubt, a linear programme decides, to which units do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..arrays import Array
from ..data import LabelledRows, Rows, labelled_rows
from ..errors import DegenerateDataError, NotSeparableError
from ..margins.convex_hulls import CommonPoint, Hyperplane, centred, separator
from ..margins.hard_margin import maximum_margin
from ..results import Result, jsonable, number, plain, visible

#: Coordinates of a point that are printed.
_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class LinearSeparability(Result):
    """Whether classes are linearly separable, pair by pair, with a proof for each.

    Attributes
    ----------
    pairs : dict
        For each two classes ``(a, b)``, in sorted order, a `Hyperplane` between them with b on its positive side, or a
        `CommonPoint` of their convex hulls.
    separable : bool
        Whether every two classes are.
    witness : Hyperplane or CommonPoint
        The proof for two classes; for more, that of the first pair not separable, or of the narrowest gap.

    See Also
    --------
    linear_separability : Makes it.
    """

    pairs: dict[tuple[Any, Any], Hyperplane | CommonPoint]

    @property
    def separable(self) -> bool:
        """Whether every two classes are separable."""
        return all(isinstance(found, Hyperplane) for found in self.pairs.values())

    @property
    def witness(self) -> Hyperplane | CommonPoint:
        """The proof that tells most (see the class)."""
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


def linear_separability(X: Any, y: Any) -> LinearSeparability:
    """Whether the classes of a table are linearly separable, with a witness that a reader can check.

    Separation is strict, by a hyperplane with an intercept: hulls that touch are not separable. Gaps below some 1e-10
    of the values' own size cannot be told from touching. More than two classes are taken in pairs; to see whether one
    class can be told from all others at once, ask for ``linear_separability(X, y == label)``.

    Parameters
    ----------
    X : array-like, frame or CSR matrix of shape (n_rows, n_columns)
        Finite numbers. Columns need not be scaled.
    y : array-like of shape (n_rows,)
        The class of each row; at least two occur.

    Returns
    -------
    LinearSeparability
        With ``separable``, ``witness`` and ``pairs``. For separable classes the witness is the hyperplane with the
        widest margin, where that can be computed. ``witness.check(X, y)`` computes its proof anew: the margin, which
        has to be positive, or the distance between two means that should be the same point.

    See Also
    --------
    SupportVectorClassifier : With ``margin="hard"``, classifies by the widest margins; with "soft", classes may mix.
    Perceptron : Its training ends exactly if the classes are separable.
    LogisticRegression : Has no finite estimate of maximum likelihood for separable classes.

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
    except DegenerateDataError:  # separable, but by less than the columns' units allow to measure
        return separator(centred(rows, movable=True), sign)
    distance = found.margin / 2
    return Hyperplane(found.coef * distance, found.intercept * distance, found.margin)


def _in_words(found: Hyperplane | CommonPoint) -> str:
    if isinstance(found, Hyperplane):
        return f"separable, margin {number(found.margin)}"
    shown = [number(value) for value in found.point[:_SHOWN]]
    more = ["..."] if len(found.point) > _SHOWN else []
    return f"not separable, the point ({', '.join(shown + more)}) lies in both hulls"
