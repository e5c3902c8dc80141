"""What proves that two classes can, or cannot, be separated by a hyperplane, in a form that a reader can check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import LabelledRows, Rows, labelled_rows
from ..errors import InputError
from ..results import shown

Array = np.ndarray[Any, Any]

#: Weights may miss non-negativity and their sum by this much, their rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane ``x @ coef + intercept = 0`` with each of two classes strictly on a side of its own.

    Attributes
    ----------
    coef : array of shape (p,)
    intercept : float
    margin : float
        The distance of the nearest row.
    classes : tuple
        The class on the negative side, and that on the positive side.
    """

    coef: Array
    intercept: float
    margin: float
    classes: tuple[Any, Any] = (-1, 1)

    def check(self, X: Any, y: Any) -> float:
        """The distance of the nearest row of the two classes, computed anew; negative for a row on the wrong side."""
        data = labelled_rows(X, y)
        codes = _codes(data, self.classes)
        distances = [
            np.where(codes[start:stop] == 1, score, -score)[codes[start:stop] >= 0].min(initial=np.inf)
            for start, stop, score in self._scores(data)
        ]
        return float(min(distances) / np.linalg.norm(self.coef))

    def _scores(self, data: LabelledRows) -> Any:
        for span in data.spans:
            for start, stop in data.rows.edges(span):
                yield start, stop, data.rows.block(start, stop) @ self.coef + self.intercept


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

        Raises an `InputError` if a row is not of its class, or if the weights are not those of a mean.
        """
        data = labelled_rows(X, y)
        codes = _codes(data, self.classes)
        sides = ((self.rows_first, self.weights_first), (self.rows_second, self.weights_second))
        for side, (rows, weights) in enumerate(sides):
            _refuse_foreign(rows, codes, side, self.classes[side])
            _refuse_weights(weights, self.cones)
        first, second = (combination(data.rows, rows, weights) for rows, weights in sides)
        return float(np.linalg.norm(first - second))


def _codes(data: LabelledRows, classes: tuple[Any, Any]) -> Array:
    """0 for rows of the first class, 1 for rows of the second, -1 for others."""
    known = data.classes.tolist()
    missing = [label for label in classes if label not in known]
    if missing:
        raise InputError(f"y has no class {shown(missing[0])}, of which this is a witness; it has {known}.")
    codes = np.full(len(known), -1)
    codes[[known.index(label) for label in classes]] = 0, 1
    return codes[data.codes]


def _refuse_foreign(rows: Array, codes: Array, side: int, label: Any) -> None:
    outside = rows[rows >= len(codes)]
    foreign = outside if outside.size else rows[codes[rows] != side]
    if foreign.size:
        raise InputError(
            f"Row {int(foreign[0])} is not a row of class {shown(label)}: give the X and y the witness was found in."
        )


def _refuse_weights(weights: Array, cones: bool) -> None:
    if (weights < -_ROUNDING).any() or not (cones or abs(weights.sum() - 1) <= _ROUNDING):
        raise InputError(f"Weights must be positive and have sum 1, got {weights.tolist()}.")


def combination(rows: Rows, chosen: Array, weights: Array) -> Array:
    """The sum of the chosen rows, each times its weight."""
    if not chosen.size:
        return np.zeros(rows.n_columns)
    return np.asarray(rows.take(chosen).T @ weights, dtype=np.float64)
