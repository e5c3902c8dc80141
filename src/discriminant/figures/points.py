"""Rows of classes as points of a plane or of space: checked, placed, named and drawn alike in every figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import Rows, as_frame, as_rows, codes_among, dense_rows, label_column, same_length
from ..errors import ColumnError, ParameterError
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: More points than this are a cloud of one colour, and slow in a browser.
MOST_POINTS = 4_000
_MANY_RINGS = 60
#: What the traces of rows are marked with, for pages that draw rows themselves.
ROWS = "rows"
#: Room around the points, as a share of their range.
_PADDING = 0.06


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """Rows with their true classes, and the names of columns and classes."""

    values: Array
    codes: Array
    classes: Array
    names: list[str]

    @property
    def n_rows(self) -> int:
        return len(self.values)

    @property
    def n_columns(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def class_names(self) -> list[str]:
        return [theme.written(label) for label in self.classes]

    def name_of(self, row: int) -> str:
        """The true class of a row."""
        return self.class_names[self.codes[row]]


def labelled_points(model: Any, X: Any, y: Any) -> LabelledPoints:
    """Rows and labels for a picture of a fitted classifier, checked."""
    check_is_fitted(model)
    if not hasattr(model, "predict") or not hasattr(model, "classes_"):
        raise ParameterError(f"{type(model).__name__} is not a classifier: it has no classes to draw.")
    rows, labels = as_rows(X), label_column("y", y)
    same_length(X=range(rows.n_rows), y=labels)
    values = dense_rows(rows.block(0, rows.n_rows)).astype(np.float64)
    if not np.isfinite(values).all():
        rows.refuse_nonfinite()
    classes = np.asarray(model.classes_)
    return LabelledPoints(values, codes_among("y", labels, classes), classes, _names(model, rows))


def _names(model: Any, rows: Any) -> list[str]:
    if rows.names is not None:
        return [theme.written(name) for name in rows.names]
    return theme.column_names(model, rows.n_columns)


def in_form_of(X: Any) -> Callable[[Array], Any]:
    """What brings numbers into the form of ``X``: a frame with the same names, or an array."""
    frame = as_frame(X)
    if isinstance(X, Rows):
        return lambda values: as_rows(values, X.names)
    if frame is None:
        return np.asarray
    names, backend = frame.columns, nw.get_native_namespace(frame)
    return lambda values: nw.from_dict(dict(zip(names, values.T, strict=True)), backend=backend).to_native()


def box(plane: Array, limits: Any = None) -> Array:
    """The smallest and the largest value to show of each axis, (2, 2): the limits given, or around all rows."""
    if limits is not None:
        try:
            given = np.asarray(limits, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (2, 2) or not np.isfinite(given).all() or not (given[0] < given[1]).all():
            raise ParameterError(f"limits must be the two lowest and the two highest values to show, got {limits!r}.")
        return given
    low, high = plane.min(axis=0), plane.max(axis=0)
    reach = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    return np.stack((low - _PADDING * reach, high + _PADDING * reach))


def around(edges: Array) -> Array:
    """A rectangle far around another: lines drawn in it reach the edges of the picture, however it is stretched."""
    size = edges[1] - edges[0]
    return np.stack((edges[0] - 4 * size, edges[1] + 4 * size))


def equal_scales(edges: Array) -> dict[str, Any]:
    """Settings that make right angles look right, where the ranges of the two axes allow it."""
    width, height = edges[1] - edges[0]
    return {"scaleanchor": "x", "scaleratio": 1} if 0.25 <= width / height <= 4 else {}


def add_points(
    made: Figure,
    plane: Array,
    points: LabelledPoints,
    hover: Callable[[int], str],
    colours: Sequence[str] | None = None,
    known: Array | None = None,
) -> None:
    """Draw the rows, one colour and symbol for each class.

    ``hover`` says something of a row; ``known`` are numbers of each row that go with its point.
    """
    shades = [theme.colour(k) for k in range(len(points.class_names))] if colours is None else colours
    shown = theme.evenly(len(plane), MOST_POINTS)
    for k, name in enumerate(points.class_names):
        chosen = shown[points.codes[shown] == k]
        if chosen.size:
            made.add_scatter(
                x=plane[chosen, 0], y=plane[chosen, 1], mode="markers", name=name, legendgroup=name,
                marker=theme.marker(k, size=8, color=shades[k], line={"color": "white", "width": 0.8}), meta=ROWS,
                text=[hover(int(i)) for i in chosen], hovertemplate="%{text}<extra></extra>",
                **({} if known is None else {"customdata": known[chosen].tolist()}),
            )  # fmt: skip


def add_rings(made: Figure, plane: Array, chosen: Array, name: str) -> None:
    """Ring some of the rows; their number stands in the legend."""
    if chosen.any():
        shown = theme.evenly(len(plane), MOST_POINTS)
        ringed = plane[shown[chosen[shown]]]
        # Many rings lie over each other and hide the rows: they are smaller and thinner.
        size, width = (14, 1.6) if len(ringed) <= _MANY_RINGS else (9, 1.0)
        made.add_scatter(
            x=ringed[:, 0], y=ringed[:, 1], mode="markers", name=f"{name} ({np.count_nonzero(chosen):,})",
            marker={"symbol": "circle-open", "size": size, "color": theme.INK, "line": {"width": width}},
            hoverinfo="skip",
        )  # fmt: skip


def shown_rows(n: int) -> str:
    """A remark on rows that are not drawn, if there are any."""
    return "" if n <= MOST_POINTS else f" {MOST_POINTS:,} of {n:,} rows are drawn."


def scatter(X: Any, y: Any, limits: Any = None, columns: Sequence[str] | None = None) -> Figure:
    """Rows of classes in a plane, before any model.

    Parameters
    ----------
    X : array-like or frame of shape (n_rows, 1) or (n_rows, 2)
        The rows; those of one column lie on lines. There may be none.
    y : array-like of shape (n_rows,)
        Their labels.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.
    columns : sequence of str, optional
        What the columns of an array are called.

    Returns
    -------
    plotly.graph_objects.Figure
        A point for each row, in the colour and symbol of its class.

    See Also
    --------
    decision_regions : With what a model says of them.

    Examples
    --------
    >>> from discriminant.datasets import triangle
    >>> data = triangle()
    >>> [trace.name for trace in scatter(data.X, data.y).data]
    ['north', 'south-east', 'south-west']
    """
    labels = np.asarray(y)
    if len(labels):
        rows = as_rows(X, columns)
        same_length(X=range(rows.n_rows), y=labels)
        values, columns = dense_rows(rows.block(0, rows.n_rows)).astype(np.float64), rows.names or columns
    else:
        values = np.empty((0, 2))
    if values.shape[1] not in (1, 2):
        raise ColumnError(f"scatter draws one or two columns, and X has {values.shape[1]}.")
    names = [theme.written(name) for name in columns or [f"x{j}" for j in range(values.shape[1])]]
    classes, codes = np.unique(labels, return_inverse=True)
    points = LabelledPoints(values, codes, classes, names)
    plane = values if values.shape[1] == 2 else np.column_stack((values, codes))
    edges = box(plane, limits if len(labels) or limits is not None else [[0, 0], [1, 1]])
    made = theme.figure(
        "Rows of each class",
        f"{theme.counted(points.n_rows)} rows of {len(classes)} classes.{shown_rows(points.n_rows)}",
        xaxis=theme.axis(names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis([*names, "class"][1], range=edges[:, 1].tolist()),
        legend={"title": {"text": "class"}},
        alt=f"a plane with points of {len(classes)} classes.",
    )
    add_points(made, plane, points, lambda i: f"row {i}: {points.name_of(i)}")
    return made
