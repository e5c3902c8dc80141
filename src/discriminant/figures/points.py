"""Rows as points of a plane, in the colours and symbols of their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, ArrayLike, Classifier, MatrixLike
from ..data import Rows, as_frame, as_rows, check_integer, codes_among, dense_rows, label_column, same_length
from ..errors import ColumnError, ParameterError, Setting
from . import theme
from .sketch import Property

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Number of points drawn: more are slow in a browser and overlap.
MAX_POINTS: Final = 4_000
#: Number of rings drawn in full size: more hide the rows.
MAX_LARGE_RINGS: Final = 60
#: Mark of the traces of rows, for pages that draw rows themselves.
ROWS: Final = "rows"
#: Padding around the points, as a share of their range.
PADDING: Final = 0.06


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """Rows with their true classes, and names of columns and classes."""

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


def labelled_points(
    model: Classifier, X: MatrixLike, y: ArrayLike, figure: str, n_columns: int | None = None
) -> LabelledPoints:
    """The checked rows and labels for a figure of a fitted classifier, which may require a number of columns."""
    check_is_fitted(model)
    if not hasattr(model, "predict") or not hasattr(model, "classes_"):
        raise ParameterError(f"figures.{figure} requires a classifier, got {type(model).__name__}.")
    rows, labels = as_rows(X), label_column("y", y)
    same_length(X=range(rows.n_rows), y=labels)
    if n_columns is not None and rows.n_columns != n_columns:
        words = f"figures.{figure} requires {n_columns} columns; X has {rows.n_columns}. Select {n_columns} columns, "
        raise ColumnError(words + "or use figures.decision_regions or figures.projected_histograms.")
    values = dense_rows(rows.block(0, rows.n_rows)).astype(np.float64)
    if not np.isfinite(values).all():
        rows.refuse_nonfinite()
    classes = np.asarray(model.classes_)
    names = theme.column_names(model, rows.n_columns) if rows.names is None else list(map(theme.written, rows.names))
    return LabelledPoints(values, codes_among("y", labels, classes), classes, names)


def in_form_of(X: MatrixLike) -> Callable[[Array], Any]:
    """A function that converts arrays to the type of ``X``: a frame with the same names, or an array."""
    frame = as_frame(X)
    if isinstance(X, Rows):
        return lambda values: as_rows(values, X.names)
    if frame is None:
        return np.asarray
    names, backend = frame.columns, nw.get_native_namespace(frame)
    return lambda values: nw.from_dict(dict(zip(names, values.T, strict=True)), backend=backend).to_native()


def box(plane: Array, limits: ArrayLike | None = None) -> Array:
    """Minimum and maximum of both axes, shape (2, 2): the limits, or all rows with padding."""
    if limits is not None:
        try:
            given = np.asarray(limits, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (2, 2) or not np.isfinite(given).all() or not (given[0] < given[1]).all():
            raise ParameterError(Setting("limits"), f" must be the minima and the maxima of both axes, got {limits!r}.")
        return given
    low, high = plane.min(axis=0), plane.max(axis=0)
    padding = PADDING * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    return np.stack((low - padding, high + padding))


def equal_scales(edges: Array) -> dict[str, Any]:
    """Axis settings for equal scales, if the ranges of the two axes allow it."""
    width, height = edges[1] - edges[0]
    return {"scaleanchor": "x", "scaleratio": 1} if 0.25 <= width / height <= 4 else {}


def add_points(
    made: Figure,
    plane: Array,
    points: LabelledPoints,
    hover: Callable[[int], str] | None = None,
    colours: Sequence[str] | None = None,
    known: Array | None = None,
) -> None:
    """Draw the rows; ``hover`` returns the text of a row, ``known`` has numbers stored with each row."""
    words = hover or (lambda i: f"row {i}: {points.name_of(i)}")
    shades = [theme.colour(k) for k in range(len(points.class_names))] if colours is None else colours
    shown = theme.evenly(len(plane), MAX_POINTS)
    for k, name in enumerate(points.class_names):
        chosen = shown[points.codes[shown] == k]
        if chosen.size:
            made.add_scatter(
                x=plane[chosen, 0], y=plane[chosen, 1], mode="markers", name=name, legendgroup=name,
                marker=theme.marker(k, size=8, color=shades[k], line={"color": "white", "width": 0.8}), meta=ROWS,
                text=[words(int(i)) for i in chosen], hovertemplate="%{text}<extra></extra>",
                **({} if known is None else {"customdata": known[chosen].tolist()}),
            )  # fmt: skip


def add_rings(made: Figure, plane: Array, chosen: Array, name: str) -> None:
    """Ring the chosen rows; the legend shows their number."""
    if chosen.any():
        shown = theme.evenly(len(plane), MAX_POINTS)
        ringed = plane[shown[chosen[shown]]]
        size, width = (14, 1.6) if len(ringed) <= MAX_LARGE_RINGS else (9, 1.0)
        made.add_scatter(
            x=ringed[:, 0], y=ringed[:, 1], mode="markers", name=f"{name} ({np.count_nonzero(chosen):,})",
            marker={"symbol": "circle-open", "size": size, "color": theme.INK, "line": {"width": width}},
            hoverinfo="skip",
        )  # fmt: skip


def plane_figure(
    title: str, subtitle: str, names: Sequence[str], edges: Array, alt: str, least_lines: int = 0, **more: Property
) -> Figure:
    """An empty plane of two columns; ``more`` are settings of the layout."""
    settings: dict[str, Property] = {"legend": {"title": {"text": "class"}}, **more}
    made = theme.figure(title, subtitle, theme.HEIGHT, least_lines, alt=alt, **settings)
    made.update_xaxes(**theme.axis(names[0], range=edges[:, 0].tolist()))
    return made.update_yaxes(**theme.axis(names[1], range=edges[:, 1].tolist()))


def grid(edges: Array, resolution: int) -> tuple[Array, Array, Array]:
    """The coordinates of a grid along each axis of a rectangle, and its points as rows."""
    check_integer("resolution", resolution, 10)
    x, y = (np.linspace(edges[0, j], edges[1, j], resolution) for j in range(2))
    return x, y, np.column_stack([part.ravel() for part in np.meshgrid(x, y)])


def named_points(models: Mapping[str, Classifier], X: MatrixLike, y: ArrayLike, figure: str) -> LabelledPoints:
    """The checked rows for a figure of several models by name in the plane of two columns."""
    refuse_unnamed(models, figure)
    points, *_ = [labelled_points(model, X, y, figure, 2) for model in models.values()]
    return points


def refuse_unnamed(models: Mapping[str, Classifier], figure: str) -> None:
    """Raise an error unless models are given by name."""
    if not isinstance(models, Mapping) or not models:
        raise ParameterError(f"figures.{figure} requires fitted models by name, such as {{'LDA': model}}.")


def shown_rows(n: int) -> str:
    """A remark on rows that are not drawn; empty if all are."""
    return "" if n <= MAX_POINTS else f" {MAX_POINTS:,} of {n:,} rows are drawn."


def scatter(
    X: MatrixLike, y: ArrayLike, limits: ArrayLike | None = None, columns: Sequence[str] | None = None
) -> Figure:
    """Draw a scatter plot of rows by class.

    Parameters
    ----------
    X : array-like or frame of shape (n_rows, 1) or (n_rows, 2)
        The rows; those of one column are drawn on a line for each class. There may be none.
    y : array-like of shape (n_rows,)
        Their labels.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.
    columns : sequence of str, optional
        Names of the columns of an array.

    Returns
    -------
    plotly.graph_objects.Figure
        A point for each row, in the colour and symbol of its class.

    See Also
    --------
    decision_regions : Rows with the predictions of a model.

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
        raise ColumnError(f"figures.scatter requires one or two columns; X has {values.shape[1]}.")
    names = [theme.written(name) for name in columns or [f"x{j}" for j in range(values.shape[1])]]
    classes, codes = np.unique(labels, return_inverse=True)
    plane = values if values.shape[1] == 2 else np.column_stack((values, codes))
    edges = box(plane, limits if len(labels) or limits is not None else [[0, 0], [1, 1]])
    points = LabelledPoints(plane, codes, classes, [*names, "class"])
    words = f"{theme.counted(points.n_rows)} rows of {len(classes)} classes.{shown_rows(points.n_rows)}"
    made = plane_figure("Scatter plot by class", words, points.names, edges, f"points of {len(classes)} classes.")
    add_points(made, plane, points)
    return made
