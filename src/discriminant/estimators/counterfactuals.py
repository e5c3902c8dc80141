"""Counterfactual explanations: the nearest rows with another decision.

Problem: a counterfactual explanation (Wachter, Mittelstadt & Russell 2018) of a decision on a row x is the nearest row
with another decision, within the ranges of the columns. A change of a number is measured in standard deviations of its
column, a change of level counts 1.

Method: for single columns of any classifier, a number is scanned over its range and the boundary is bisected; all
levels are tried. All numbers together, for linear classifiers: the region of a class is an intersection of half-spaces,
so the nearest point outside lies on a face. The nearest point of a face within the ranges has the steps
``clip(t s² w)`` for one t, which is bisected.

Cost: for p columns about (grid + 50) p predicted rows, and for the faces K p arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..arrays import Array, MatrixLike
from ..errors import ParameterError, Setting
from ..results import Result, aligned, plain, quoted
from ..tables.schema import Schema
from .base import with_names
from .coefficients import column_names
from .explanations import input_columns
from .formula_fit import input_names

# Points of the scan of a column; narrower regions are missed.
N_SCAN_POINTS: Final = 81
# Bisections of a boundary, to the last digits of its column.
N_BISECTIONS: Final = 50
# Relative length of the step beyond a face.
OVERSTEP: Final = 1e-9


@dataclass(frozen=True)
class Change:
    """A change of columns, and the decision after it.

    Attributes
    ----------
    columns : tuple of str
    before, after : tuple
        Their values: numbers, or levels.
    distance : float
        In standard deviations; a change of level counts 1, several columns add their squares.
    label : the decision after the change
    """

    columns: tuple[str, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    distance: float
    label: Any


@dataclass(frozen=True, eq=False, repr=False)
class NearestChanges(Result):
    """The nearest rows with another decision.

    Attributes
    ----------
    label : the decision
    single : tuple of Change
        The smallest change of each single column that changes the decision, the nearest first.
    joint : Change or None
        The smallest change of all numbers together; None if there is none or the classifier is not linear.
    """

    label: Any
    single: tuple[Change, ...]
    joint: Change | None

    def _columns(self) -> dict[str, list[Any]]:
        return {
            "column": [one.columns[0] for one in self.single],
            "before": [one.before[0] for one in self.single],
            "after": [one.after[0] for one in self.single],
            "distance": [one.distance for one in self.single],
            "label": [one.label for one in self.single],
        }

    def __str__(self) -> str:
        if not self.single and self.joint is None:
            return f"{self.label}: no change within the ranges changes the decision."
        head = f"Smallest changes of the decision {self.label}"
        cells = [[one.columns[0], *map(_written, (*one.before, *one.after)), f"{one.distance:.2f}", str(one.label)]
                 for one in self.single]  # fmt: skip
        lines = [head, *aligned([["column", "now", "then", "distance", "decision"], *cells], left=3)]
        if self.joint is not None:
            lines.append(f"all numbers together: distance {self.joint.distance:.2f}, decision {self.joint.label}")
        return "\n".join(lines)


def _written(value: Hashable) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Free:
    """A raw column, its places among the coded columns, and the codes of its levels."""

    name: str
    places: Array
    levels: dict[str, Array]


def nearest_changes(
    model: BaseEstimator,
    row: ArrayLike,
    column_std: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    fixed: Sequence[str] = (),
    whole: Sequence[str] = (),
    schema: Schema | None = None,
    decide: Callable[[MatrixLike], ArrayLike] | None = None,
) -> NearestChanges:
    """The smallest changes of a row that change its decision.

    Parameters
    ----------
    model : classifier
        Fitted.
    row : array-like of n_columns numbers
        The (coded) row.
    column_std : array-like of n_columns numbers
        Standard deviation of each column, the unit of distances.
    low, high : array-like of n_columns numbers
        Range of each column.
    fixed : sequence of str, default=()
        Columns that cannot change.
    whole : sequence of str, default=()
        Columns of integers: changes of one of them are rounded away from the row.
    schema : Schema, optional
        Coding of raw columns, for changes of levels.
    decide : callable, optional
        Function from rows to decisions, for example with costs. Default: ``predict``.

    Returns
    -------
    NearestChanges
        Of single columns, and of all numbers together.

    See Also
    --------
    contributions : Contributions of columns to a decision.
    Decision.explain : The probabilities at which a decision changes.

    References
    ----------
    Wachter, S., Mittelstadt, B. & Russell, C. (2018). Counterfactual explanations without opening the black box.
    Harvard Journal of Law & Technology 31.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis, nearest_changes
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> found = nearest_changes(model, X.iloc[70], X.std(), X.min(), X.max(), fixed=["sepal length (cm)"])
    >>> found.label, [(one.columns[0], round(one.after[0], 2), one.label) for one in found.single]
    (2, [('petal length (cm)', 4.66, 1), ('petal width (cm)', 1.73, 1), ('sepal width (cm)', 3.52, 1)])
    >>> round(found.joint.distance, 3)
    0.062
    """
    names = input_names(model) or column_names(model)
    given = [np.asarray(values, np.float64).ravel() for values in (row, column_std, low, high)]
    if any(len(values) != len(names) for values in given):
        lengths = ", ".join(str(len(values)) for values in given)
        raise ParameterError(f"row, column_std, low and high must have {len(names)} values; got {lengths}.")
    every = _columns_of(names, schema)
    unknown = set(fixed) - {column.name for column in every}
    if unknown:
        raise ParameterError(Setting("fixed"), f" has unknown columns {sorted(unknown)}. Columns: {quoted(names)}.")
    texts = () if schema is None else [column.name for column in schema.used if column.kind == "text"]
    free = [column for column in every if column.name not in (*fixed, *texts)]
    as_rows = (lambda X: with_names(model, X, names)) if schema is None else schema.rows

    def decided(X: Array) -> Array:
        return np.asarray((decide or model.predict)(as_rows(X)))

    x, scale, lowest, highest = given
    integers = {int(column.places[0]) for column in every if column.name in whole}
    search = _Search(x, scale, lowest, highest, decided, plain(decided(x[None])[0]), integers)
    single = [change for column in free if (change := search.single(column)) is not None]
    linear = decide is None and hasattr(model, "coef_") and not hasattr(model, "formula_")
    numbers = np.array([column.places[0] for column in free if not column.levels], dtype=np.intp)
    joint = search.joint(model, numbers, names) if linear and len(numbers) else None
    return NearestChanges(search.label, tuple(sorted(single, key=lambda change: change.distance)), joint)


def _columns_of(names: Sequence[str], schema: Schema | None) -> list[_Free]:
    return [
        _Free(
            column.name,
            np.array(column.places),
            {level: column.coding.code(level) for level in column.coding.distinct_levels}
            if column.coding is not None and column.kind == "category"
            else {},
        )
        for column in input_columns(names, schema)
    ]


@dataclass(frozen=True)
class _Search:
    """A row, the units and ranges of its columns, and the decision function."""

    x: Array
    column_std: Array
    low: Array
    high: Array
    decided: Callable[[Array], Array]
    label: Any
    integers: set[int]

    def single(self, column: _Free) -> Change | None:
        """The smallest change of one column that changes the decision."""
        return self._level(column) if column.levels else self._number(column.name, int(column.places[0]))

    def _level(self, column: _Free) -> Change | None:
        others = [name for name, code in column.levels.items() if not np.array_equal(code, self.x[column.places])]
        if not others:
            return None
        rows = np.tile(self.x, (len(others), 1))
        rows[:, column.places] = [column.levels[name] for name in others]
        for name, label in zip(others, map(plain, self.decided(rows)), strict=True):
            if label != self.label:
                now = [own for own, code in column.levels.items() if np.array_equal(code, self.x[column.places])]
                return Change((column.name,), (now[0] if now else "(missing)",), (name,), 1.0, label)
        return None

    def _number(self, name: str, j: int) -> Change | None:
        now, column_std = float(self.x[j]), float(self.column_std[j])
        if not column_std > 0:
            return None
        ends = [self._turn(j, end) for end in (self.low[j], self.high[j])]
        found = sorted((abs(value - now) / column_std, value, label) for value, label in filter(None, ends))
        return Change((name,), (now,), (found[0][1],), found[0][0], found[0][2]) if found else None

    def _turn(self, j: int, end: float) -> tuple[float, Any] | None:
        """The nearest value with another decision between the row's and one end of the range."""
        values = np.linspace(self.x[j], end, N_SCAN_POINTS)
        turned = np.flatnonzero([plain(label) != self.label for label in self._at(j, values)])
        if not len(turned):
            return None
        same, other = float(values[turned[0] - 1]), float(values[turned[0]])
        for _ in range(N_BISECTIONS):
            middle = (same + other) / 2
            if plain(self._at(j, np.array([middle]))[0]) == self.label:
                same = middle
            else:
                other = middle
        if j in self.integers:
            other = float(np.ceil(other) if other > self.x[j] else np.floor(other))
        label = plain(self._at(j, np.array([other]))[0])
        return None if label == self.label else (other, label)

    def _at(self, j: int, values: Array) -> Array:
        rows = np.tile(self.x, (len(values), 1))
        rows[:, j] = values
        return self.decided(rows)

    def joint(self, model: BaseEstimator, places: Array, names: Sequence[str]) -> Change | None:
        """The smallest change of these columns together, for scores that are linear in them."""
        coef = np.atleast_2d(model.coef_)
        coef = np.vstack((np.zeros_like(coef), coef)) if len(coef) == 1 else coef
        scores = np.asarray(model.decision_function(with_names(model, self.x[None], list(names))))[0]
        scores = np.array([0.0, float(scores)]) if np.ndim(scores) == 0 else scores
        own = [plain(label) for label in model.classes_].index(self.label)
        steps = [
            self._to_face(places, (coef[k] - coef[own])[places], float(scores[own] - scores[k]))
            for k in range(len(coef))
            if k != own
        ]
        found = [step for step in steps if step is not None]
        if not found:
            return None
        distance, step = min(found, key=lambda pair: pair[0])
        after = self.x.copy()
        after[places] += step * (1 + OVERSTEP)
        label = plain(self.decided(after[None])[0])
        if label == self.label:
            return None
        changed = [j for j in places.tolist() if after[j] != self.x[j]]
        columns = tuple(names[j] for j in changed)
        return Change(columns, tuple(self.x[changed].tolist()), tuple(after[changed].tolist()), distance, label)

    def _to_face(self, places: Array, slope: Array, lead: float) -> tuple[float, Array] | None:
        """The length and the smallest step within the ranges that adds ``lead`` along a slope, if there is one."""
        column_std = self.column_std[places]
        least, most = (np.asarray(end)[places] - self.x[places] for end in (self.low, self.high))
        direction = column_std**2 * slope

        def step(t: float) -> Array:
            return np.clip(t * direction, np.minimum(least, 0), np.maximum(most, 0))

        farthest = np.where(slope > 0, np.maximum(most, 0), np.minimum(least, 0)) @ slope
        if not farthest > lead or not np.any(direction):
            return None
        below, above = 0.0, 1.0
        while step(above) @ slope < lead:
            below, above = above, 2 * above
        for _ in range(2 * N_BISECTIONS):
            middle = (below + above) / 2
            below, above = (middle, above) if step(middle) @ slope < lead else (below, middle)
        found = step(above)
        return float(np.linalg.norm(found / np.where(column_std > 0, column_std, np.inf))), found
