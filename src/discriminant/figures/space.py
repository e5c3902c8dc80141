"""Linear models in three dimensions: a plane between rows of three columns, and scores as surfaces over two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import ColumnError
from . import theme
from .geometry import separating_plane
from .points import MOST_POINTS, LabelledPoints, box, in_form_of, labelled_points, shown_rows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Symbols of the classes, those of a plane as far as space has them.
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
#: Points of a surface along each axis.
_GRID = 40


def hyperplane(model: Any, X: Any, y: Any) -> Figure:
    """The plane ``w'x + b = 0`` of a linear model of three columns and two classes, and how far rows are from it.

    Parameters
    ----------
    model : fitted linear classifier
        Of three columns and two classes.
    X : array-like or frame of shape (n_rows, 3)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        To be turned with the mouse; the normal ``w`` and the nearest row of each class are joined to the plane.

    See Also
    --------
    boundary : The line of a model of two columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:, :3], y[50:]
    >>> figure = hyperplane(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data][:3]
    ['1', '2', 'plane']
    """
    points, plane = labelled_points(model, X, y), separating_plane(model, "hyperplane")
    if points.n_columns != 3:
        raise ColumnError(f"figures.hyperplane draws three columns, and X has {points.n_columns}.")
    distances = plane.distances(points.values)
    made = _space(
        f"The plane of {type(model).__name__}",
        f"{plane.equation(points.names)}; {points.class_names[1]} where the left side is positive. Distance of the "
        f"origin |b| / |w| = {abs(plane.b) / plane.length:.4g}.{shown_rows(points.n_rows)}",
        points.names,
        alt="a plane in the space of three columns between the rows of two classes, joined to the nearest of each.",
    )
    _add_rows(made, points.values, points, [f"distance {distance:.4g}" for distance in np.abs(distances)])
    _add_plane(made, plane.w, plane.b, points.values)
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(points.codes == k)
        i = own[np.argmin(np.abs(distances[own]))]
        foot = points.values[i] - distances[i] * plane.w / plane.length
        ends = np.stack((points.values[i], foot)).T
        made.add_scatter3d(
            x=ends[0], y=ends[1], z=ends[2], mode="lines", name=f"nearest {name}: {abs(distances[i]):.3g}",
            line={"color": theme.colour(k), "width": 6}, hoverinfo="skip",
        )  # fmt: skip
    return made


def score_surface(model: Any, X: Any, y: Any) -> Figure:
    """The scores of a model as surfaces over the plane of its two columns, with the rows at 0 and 1 that they fit.

    For a least-squares classifier these are the planes that are fitted to the indicators of the classes.

    Parameters
    ----------
    model : fitted classifier with ``decision_function``
        Of two columns.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        One surface for each class, or one for two classes.

    See Also
    --------
    decision_regions : The same from above.

    Examples
    --------
    >>> from discriminant import LeastSquaresClassifier
    >>> from discriminant.datasets import far_rows
    >>> data = far_rows()
    >>> figure = score_surface(LeastSquaresClassifier().fit(data.X, data.y), data.X, data.y)
    >>> figure.layout.scene.zaxis.title.text
    'score'
    """
    points = labelled_points(model, X, y)
    if points.n_columns != 2:
        raise ColumnError(f"figures.score_surface draws two columns, and X has {points.n_columns}.")
    made = _space(
        f"The scores of {type(model).__name__}",
        f"The class of the highest surface is predicted.{shown_rows(points.n_rows)}"
        if len(points.classes) > 2
        else f"{points.class_names[1]} is predicted where the surface is above 0.{shown_rows(points.n_rows)}",
        [*points.names, "score"],
        alt="surfaces of scores over the plane of two columns, with the rows on the floor.",
    )
    edges, form = box(points.values), in_form_of(X)
    x, y_ = (np.linspace(edges[0, j], edges[1, j], _GRID) for j in range(2))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y_)])
    scores = np.asarray(model.decision_function(form(grid)), dtype=float).reshape(len(grid), -1)
    floor = np.full(points.n_rows, min(0.0, float(scores.min())))
    for k in range(scores.shape[1]):
        shade = theme.colour(k if scores.shape[1] > 1 else 1)
        made.add_surface(
            x=x, y=y_, z=scores[:, k].reshape(_GRID, _GRID), showscale=False, opacity=0.6, name=points.class_names[k],
            colorscale=[[0, theme.tint(shade, 0.35)], [1, shade]], hovertemplate="score %{z:.3f}<extra></extra>",
            contours={"z": {"show": scores.shape[1] == 1, "start": 0, "end": 0.01, "size": 1, "color": theme.INK}},
        )  # fmt: skip
    _add_rows(made, np.column_stack((points.values, floor)), points, [""] * points.n_rows)
    return made


def _space(title: str, subtitle: str, names: list[str], alt: str) -> Figure:
    """An empty figure of three dimensions."""
    grid = {"backgroundcolor": "white", "gridcolor": theme.PALE, "zerolinecolor": theme.PALE}
    axes: Mapping[str, Any] = {
        f"{axis}axis": {"title": {"text": name}, **grid} for axis, name in zip("xyz", names, strict=True)
    }
    return theme.figure(
        title, subtitle, height=620, alt=alt, scene={**axes, "camera": {"eye": {"x": 1.5, "y": -1.6, "z": 0.7}}},
        legend={"title": {"text": "class"}},
    )  # fmt: skip


def _add_rows(made: Figure, values: Array, points: LabelledPoints, words: list[str]) -> None:
    shown = theme.evenly(len(values), MOST_POINTS)
    for k, name in enumerate(points.class_names):
        own = shown[points.codes[shown] == k]
        made.add_scatter3d(
            x=values[own, 0], y=values[own, 1], z=values[own, 2], mode="markers", name=name,
            marker={"size": 4, "color": theme.colour(k), "symbol": _SYMBOLS[k % len(_SYMBOLS)]},
            text=[f"row {i}: {name} {words[i]}" for i in own], hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip


def _add_plane(made: Figure, w: Array, b: float, values: Array) -> None:
    """The plane within the box of the rows, as a surface along the axis that it is steepest against."""
    edges = box(values)
    steep = int(np.argmax(np.abs(w) * (edges[1] - edges[0])))
    flat = [j for j in range(3) if j != steep]
    first, second = np.meshgrid(*(np.linspace(edges[0, j], edges[1, j], _GRID) for j in flat))
    height = -(b + w[flat[0]] * first + w[flat[1]] * second) / w[steep]
    height = np.where((height >= edges[0, steep]) & (height <= edges[1, steep]), height, np.nan)
    places = dict(zip([*flat, steep], (first, second, height), strict=True))
    made.add_surface(
        x=places[0], y=places[1], z=places[2], showscale=False, opacity=0.5, name="plane", hoverinfo="skip",
        colorscale=[[0, theme.GREY], [1, theme.GREY]],
    )  # fmt: skip
