"""What would turn a decision: the nearest rows that are decided otherwise.

Problem: a counterfactual explanation (Wachter, Mittelstadt & Russell 2018) of a decision on a row x is the row of least
distance from x on which another decision is taken, within what columns can be. A change of a number is measured in
standard deviations of its column, a change of level counts one.

Method: one column at a time, numbers are scanned over their range and the turning point is bisected, levels are tried
in turn; that works for any classifier. All numbers together, for a linear one: a class's region is an intersection of
half-spaces, so the nearest point outside lies on one of their faces. The nearest point of a face within the ranges has
the steps ``clip(t s² w)`` for one t, which is bisected.

Cost: for p columns about (grid + 50) p predicted rows, and for the faces K p arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import ParameterError
from ..results import Result, aligned, plain
from .base import input_names, with_names
from .coefficients import column_names

#: Points at which a column is looked at, from one end of its range to the other: narrower islands are missed.
_GRID = 81
#: The range of a turning point is halved this often: to the last digits of its column.
_HALVINGS = 50
#: A point on a face belongs to either side; so much of the step more is beyond it.
_BEYOND = 1e-9


@dataclass(frozen=True)
class Change:
    """Columns that change together, and what is decided then.

    Attributes
    ----------
    columns : tuple of str
    before, after : tuple
        The values of these columns: numbers, or levels.
    distance : float
        In standard deviations; a change of level counts one, several columns add their squares.
    label : what is decided after the change
    """

    columns: tuple[str, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    distance: float
    label: Any


@dataclass(frozen=True, eq=False, repr=False)
class NearestChanges(Result):
    """What would turn a decision.

    Changes are measured in standard deviations, so that those of unlike columns can be compared.

    Attributes
    ----------
    label : what is decided now
    single : tuple of Change
        Of each column that can turn the decision alone its smallest change, the nearest first.
    joint : Change or None
        The smallest change of all numbers together; None where there is none, or the decision is not linear in them.
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
            return f"{self.label}: no change within the ranges of the columns that may change turns it."
        head = f"What would turn {self.label}, the nearest first"
        cells = [[one.columns[0], *map(_written, (*one.before, *one.after)), f"{one.distance:.2f}", str(one.label)]
                 for one in self.single]  # fmt: skip
        lines = [head, *aligned([["column", "now", "then", "distance", "decided"], *cells], left=3)]
        if self.joint is not None:
            lines.append(f"all numbers together: distance {self.joint.distance:.2f}, {self.joint.label}")
        return "\n".join(lines)


def _written(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Free:
    """A raw column that may change: its places among the coded columns, and its levels with their codes."""

    name: str
    places: Array
    levels: dict[str, Array]


def nearest_changes(
    model: Any,
    row: Any,
    spread: Any,
    low: Any,
    high: Any,
    *,
    fixed: Sequence[str] = (),
    schema: Any = None,
    decide: Callable[[Any], Any] | None = None,
) -> NearestChanges:
    """The smallest changes of a row that turn the decision on it.

    Parameters
    ----------
    model : classifier
        Fitted.
    row : array-like of n_columns numbers
        The row, as the model takes it.
    spread : array-like of n_columns numbers
        The standard deviation of each column: what distances are measured in.
    low, high : array-like of n_columns numbers
        The range within which each column may change.
    fixed : sequence of str, default=()
        Columns that may not change.
    schema : Schema, optional
        How raw columns became columns of the model: categories then change from level to level.
    decide : callable, optional
        From rows to decisions, for example with costs; by default the model's ``predict``.

    Returns
    -------
    NearestChanges
        Of each column alone, and of all numbers together.

    See Also
    --------
    contributions : What each column adds to a decision.
    Decision.explain : At which probabilities a decision turns.

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
    given = [np.asarray(values, np.float64).ravel() for values in (row, spread, low, high)]
    if any(len(values) != len(names) for values in given):
        lengths = ", ".join(str(len(values)) for values in given)
        raise ParameterError(f"The model has {len(names)} columns; got row, spread, low and high of {lengths}.")
    every = _columns_of(names, schema)
    unknown = set(fixed) - {column.name for column in every}
    if unknown:
        raise ParameterError(f"fixed names {sorted(unknown)}, which are no columns of the model.")
    free = [column for column in every if column.name not in fixed]
    as_rows = (lambda X: with_names(model, X, names)) if schema is None else schema.rows

    def decided(X: Array) -> Array:
        return np.asarray((decide or model.predict)(as_rows(X)))

    x, scale, lowest, highest = given
    search = _Search(x, scale, lowest, highest, decided, plain(decided(x[None])[0]))
    single = [change for column in free if (change := search.single(column)) is not None]
    linear = decide is None and hasattr(model, "coef_") and not hasattr(model, "formula_")
    numbers = np.array([column.places[0] for column in free if not column.levels], dtype=np.intp)
    joint = search.joint(model, numbers, names) if linear and len(numbers) else None
    return NearestChanges(search.label, tuple(sorted(single, key=lambda change: change.distance)), joint)


def _columns_of(names: Sequence[str], schema: Any) -> list[_Free]:
    if schema is None:
        return [_Free(name, np.array([j]), {}) for j, name in enumerate(names)]
    found, first = [], 0
    for column in schema.used:
        places = np.arange(first, first + len(column.outputs))
        levels = {level: column.code(level) for level in column.told_apart} if column.kind == "category" else {}
        found.append(_Free(column.name, places, levels))
        first += len(column.outputs)
    return found


@dataclass(frozen=True)
class _Search:
    """A row, what distances are measured in, and what decides."""

    x: Array
    spread: Array
    low: Array
    high: Array
    decided: Callable[[Array], Array]
    label: Any

    def single(self, column: _Free) -> Change | None:
        """The smallest change of one column that turns the decision."""
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
        now, spread = float(self.x[j]), float(self.spread[j])
        if not spread > 0:
            return None
        ends = [self._turn(j, end) for end in (self.low[j], self.high[j])]
        found = sorted((abs(value - now) / spread, value, label) for value, label in filter(None, ends))
        return Change((name,), (now,), (found[0][1],), found[0][0], found[0][2]) if found else None

    def _turn(self, j: int, end: float) -> tuple[float, Any] | None:
        """The value nearest to that of the row, on the way to one end, at which another decision is taken."""
        values = np.linspace(self.x[j], end, _GRID)
        turned = np.flatnonzero([plain(label) != self.label for label in self._at(j, values)])
        if not len(turned):
            return None
        same, other = float(values[turned[0] - 1]), float(values[turned[0]])
        for _ in range(_HALVINGS):
            middle = (same + other) / 2
            if plain(self._at(j, np.array([middle]))[0]) == self.label:
                same = middle
            else:
                other = middle
        return other, plain(self._at(j, np.array([other]))[0])

    def _at(self, j: int, values: Array) -> Array:
        rows = np.tile(self.x, (len(values), 1))
        rows[:, j] = values
        return self.decided(rows)

    def joint(self, model: Any, places: Array, names: Sequence[str]) -> Change | None:
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
        after[places] += step * (1 + _BEYOND)
        label = plain(self.decided(after[None])[0])
        if label == self.label:  # rounding left it on the face
            return None
        changed = [j for j in places.tolist() if after[j] != self.x[j]]
        columns = tuple(names[j] for j in changed)
        return Change(columns, tuple(self.x[changed].tolist()), tuple(after[changed].tolist()), distance, label)

    def _to_face(self, places: Array, slope: Array, lead: float) -> tuple[float, Array] | None:
        """The smallest step that adds ``lead`` along a slope within the ranges, and its length; None for none."""
        spread = self.spread[places]
        least, most = (np.asarray(end)[places] - self.x[places] for end in (self.low, self.high))
        direction = spread**2 * slope

        def step(t: float) -> Array:
            return np.clip(t * direction, np.minimum(least, 0), np.maximum(most, 0))

        farthest = np.where(slope > 0, np.maximum(most, 0), np.minimum(least, 0)) @ slope
        if not farthest > lead or not np.any(direction):
            return None
        below, above = 0.0, 1.0
        while step(above) @ slope < lead:
            below, above = above, 2 * above
        for _ in range(2 * _HALVINGS):
            middle = (below + above) / 2
            below, above = (middle, above) if step(middle) @ slope < lead else (below, middle)
        found = step(above)
        return float(np.linalg.norm(found / np.where(spread > 0, spread, np.inf))), found
