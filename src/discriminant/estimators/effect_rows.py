"""Rows for the effect of a column, with all other columns held fixed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..arrays import Array
from ..data import dense_rows
from ..errors import ColumnError, ParameterError
from ..results import quoted, suggestion
from .coefficients import column_names
from .formula_fit import input_names

# Points of a curve.
GRID_POINTS: Final = 101


def effect_rows(
    model: BaseEstimator, column: str, values: ArrayLike | None, at: str | float | None
) -> tuple[list[Any], Any, Array]:
    """Values of a column, the value of comparison, and rows with these (it last), the other columns fixed."""
    names, kept = input_names(model) or column_names(model), getattr(model, "formula_", None)
    own = [j for j, name in enumerate(names) if name == column or (kept and name.startswith(f"{column}="))]
    if not own:
        near = suggestion(str(column), names)
        raise ColumnError(f"Unknown column {column!r}.{near} Columns: {quoted(names, 20)}.")
    if kept is None:
        data = model._rows_again().data
        block = dense_rows(data.rows.block(0, data.n_rows))
        low, middle, high = block.min(axis=0), np.median(block, axis=0), block.max(axis=0)
    else:
        low, middle, high = kept.lowest, kept.middle, kept.highest
    held = np.where(np.isin(np.arange(len(names)), own), 0.0, middle)
    if names[own[0]] != column:
        unused = [j for j in own if not (model.basis_.outputs == j).any()]
        levels = {names[j].removeprefix(f"{column}="): j for j in (*unused, *own)}
        given = [str(level) for level in (levels if values is None else np.ravel(values).tolist())]
        given.append(next(iter(levels)) if at is None else str(at))
        for level in given:
            if level not in levels:
                raise ColumnError(f"Unknown level {level!r} of column {column!r}. Levels: {quoted(levels, 20)}.")
        return given[:-1], given[-1], (held + np.eye(len(names)))[[levels[level] for level in given]]
    j = own[0]
    try:
        grid = (
            np.linspace(low[j], high[j], GRID_POINTS) if values is None else np.array(values, dtype=np.float64).ravel()
        )
        rows = np.tile(held, (len(grid) + 1, 1))
        rows[:, j] = np.append(grid, middle[j] if at is None else float(at))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"values and at must be numbers for column {column!r}: {error}.") from error
    return grid.tolist(), float(rows[-1, j]), rows
