"""Linear models in the space of their columns: boundary with margin, hyperplane, score surfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..arrays import Array, ArrayLike, Classifier, MatrixLike
from ..errors import DegenerateDataError, LabelError, ParameterError
from . import theme
from .points import (
    MAX_POINTS,
    LabelledPoints,
    add_points,
    add_rings,
    box,
    equal_scales,
    grid,
    in_form_of,
    labelled_points,
    plane_figure,
    shown_rows,
)
from .sketch import Property

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Symbols of the classes in three dimensions.
_SYMBOLS: Final = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
#: Points of a surface along each axis.
SURFACE_POINTS: Final = 40
#: Length of a drawn line in sizes of the picture: it reaches the edges after zooming out, too.
LINE_LENGTH: Final = 10.0


@dataclass(frozen=True, eq=False)
class SeparatingLine:
    """The line ``w'x + b = 0``; the second class is predicted on the positive side."""

    w: Array
    b: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.w))

    def distances(self, values: Array) -> Array:
        """The signed distance of each row, ``(w'x + b) / |w|``."""
        return (values @ self.w + self.b) / self.length

    def crosses(self, edges: Array) -> bool:
        """Whether the line crosses a rectangle."""
        values = self.distances(np.array([(x, y) for x in edges[:, 0] for y in edges[:, 1]]))
        return bool(values.min() <= 0 <= values.max())

    def ends(self, edges: Array, level: float = 0.0) -> Array:
        """Two points of the line ``w'x + b = level`` far outside a rectangle, as rows of an array."""
        # In the unit square both columns have the same weight, whatever their units.
        size = edges[1] - edges[0]
        w, b = self.w * size, float(self.w @ edges[0] + self.b - level)
        middle = 0.5 - (0.5 * w.sum() + b) * w / (w @ w)
        along = LINE_LENGTH * np.array([-w[1], w[0]]) / np.linalg.norm(w)
        return np.asarray(edges[0] + size * np.stack((middle - along, middle + along)))

    def sides(self, edges: Array) -> tuple[Array, Array]:
        """The corners of both parts of a rectangle: of the first class, and of the second, on the positive side."""
        x, y = edges.T
        corners = np.array([[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]])
        values = corners @ self.w + self.b
        found: tuple[list[Array], list[Array]] = ([], [])
        for k in range(4):
            here, there = values[k], values[(k + 1) % 4]
            found[int(here > 0)].append(corners[k])
            if (here > 0) != (there > 0):
                crossing = corners[k] + here / (here - there) * (corners[(k + 1) % 4] - corners[k])
                found[0].append(crossing)
                found[1].append(crossing)
        return np.array(found[0]).reshape(-1, 2), np.array(found[1]).reshape(-1, 2)

    def equation(self, names: list[str]) -> str:
        """The equation of the line."""
        terms = [(float(weight), f" {name}") for weight, name in zip(self.w, names, strict=True)] + [(self.b, "")]
        words = "".join(f" {'-' if value < 0 else '+'} {abs(value):.4g}{name}" for value, name in terms)
        return f"{words.removeprefix(' + ').removeprefix(' ')} = 0"


def separating_plane(model: Classifier, figure: str) -> SeparatingLine:
    """The separating hyperplane of a linear model of two classes."""
    if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
        raise ParameterError(
            f"figures.{figure} requires a linear model with coef_ and intercept_; {type(model).__name__} has none. Use "
            "figures.decision_regions for other classifiers."
        )
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(coef) != 1:
        raise LabelError(
            f"figures.{figure} requires two classes; {type(model).__name__} was fitted to {len(model.classes_)}. Use "
            "figures.decision_regions."
        )
    found = SeparatingLine(coef[0], float(np.ravel(model.intercept_)[0]))
    if not found.length > 0:
        raise DegenerateDataError("All coefficients are 0, so there is no boundary: one class is predicted everywhere.")
    return found


def boundary(model: Classifier, X: MatrixLike, y: ArrayLike, limits: ArrayLike | None = None) -> Figure:
    """Draw the boundary ``w'x + b = 0`` of a linear model of two columns and two classes, with equation and distances.

    A model with support vectors is drawn with its margin, the lines ``w'x + b = -1`` and ``+1``, and rings around the
    support vectors. For other models, the nearest row of each class is joined to the line.

    Parameters
    ----------
    model : fitted linear classifier
        Of two columns and two classes.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure
        A plane with the line, its equation in the subtitle.

    See Also
    --------
    decision_regions : Any classifier, any number of classes.
    projected_histograms : Any number of columns.

    Examples
    --------
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = [[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 4]], ["low"] * 3 + ["high"] * 3
    >>> figure = boundary(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data][:3]
    ['high', 'low', 'boundary']
    """
    points, plane = labelled_points(model, X, y, "boundary", 2), separating_plane(model, "boundary")
    edges, support = box(points.values, limits), _support_vectors(model, points)
    distances = plane.distances(points.values)
    alt = "the nearest row of each." if support is None else "its margin and rings around support vectors."
    title = f"Decision boundary of {type(model).__name__}"
    subtitle = _geometry(plane, points, edges, support)
    made = plane_figure(title, subtitle, points.names, edges, f"a line between the rows of two classes, with {alt}")
    made.update_yaxes(**equal_scales(edges))
    add_points(made, points.values, points, lambda i: _distance_words(points, distances[i], i))
    _add_line(made, plane.ends(edges), "boundary", {"color": theme.INK, "width": 2.5})
    if support is None:
        for k, words, ends in _nearest(plane, points, distances):
            _add_line(made, ends, words, theme.line(k, dash="dot", width=2))
    else:
        style: dict[str, Property] = {"color": theme.INK, "width": 1.5, "dash": "dash"}
        for level in (-1.0, 1.0):
            _add_line(made, plane.ends(edges, level), "margin, -1 and +1", style, show=level < 0)
        add_rings(made, support, np.ones(len(support), dtype=bool), "support vectors")
    return made


def _geometry(plane: SeparatingLine, points: LabelledPoints, edges: Array, support: Array | None) -> str:
    words = [_equation_words(plane, points)]
    if support is not None:
        words.append(f"Margin 2 / |w| = {2 / plane.length:.4g}, {len(support):,} support vectors.")
    if not plane.crosses(edges):
        words.append("The boundary is outside the plot.")
    if not equal_scales(edges):
        words.append("The axes have different scales.")
    return " ".join(words) + shown_rows(points.n_rows)


def _equation_words(plane: SeparatingLine, points: LabelledPoints) -> str:
    return (
        f"{plane.equation(points.names)}; predicts {points.class_names[1]} where the left side is positive. "
        f"Distance of the origin |b| / |w| = {abs(plane.b) / plane.length:.4g}."
    )


def _support_vectors(model: Classifier, points: LabelledPoints) -> Array | None:
    """The support vectors of a model, or None."""
    if hasattr(model, "support_vectors_"):
        found = model.support_vectors_
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    rows = getattr(model, "support_", None)
    if rows is None:
        return None
    if len(rows) and int(np.max(rows)) >= points.n_rows:
        raise ParameterError("X must be the training rows, because support vectors refer to them. Give those rows.")
    return points.values[np.asarray(rows)]


def _distance_words(points: LabelledPoints, distance: float, row: int) -> str:
    side = points.class_names[int(distance > 0)]
    return f"row {row}: {points.name_of(row)}<br>distance {abs(distance):.4g}, predicted {side}"


def _add_line(made: Figure, ends: Array, name: str, style: Mapping[str, Property], show: bool = True) -> None:
    made.add_scatter(
        x=ends[:, 0], y=ends[:, 1], mode="lines", name=name, line=style, showlegend=show,
        hovertemplate=f"{name}<extra></extra>",
    )  # fmt: skip


def _nearest(plane: SeparatingLine, points: LabelledPoints, distances: Array) -> Iterator[tuple[int, str, Array]]:
    """For each class its number, the distance of its nearest row in words, and that row and its projection."""
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(points.codes == k)
        if own.size:
            i = own[np.argmin(np.abs(distances[own]))]
            foot = points.values[i] - distances[i] * plane.w / plane.length
            yield k, f"nearest {name}: {abs(distances[i]):.3g}", np.stack((points.values[i], foot))


def hyperplane(model: Classifier, X: MatrixLike, y: ArrayLike) -> Figure:
    """Draw the separating plane ``w'x + b = 0`` of a linear model of three columns and two classes, in 3D.

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
        Rotatable; the nearest row of each class is joined to the plane.

    See Also
    --------
    boundary : The line of a model of two columns.
    projected_histograms : Any number of columns, along the normal.

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
    points, plane = labelled_points(model, X, y, "hyperplane", 3), separating_plane(model, "hyperplane")
    distances = plane.distances(points.values)
    made = _space(
        f"Separating plane of {type(model).__name__}",
        _equation_words(plane, points) + shown_rows(points.n_rows),
        points.names,
        alt="a plane in three dimensions between the rows of two classes, joined to the nearest of each.",
    )
    _add_rows(made, points.values, points, [f"distance {distance:.4g}" for distance in np.abs(distances)])
    _add_plane(made, plane.w, plane.b, points.values)
    for k, words, ends in _nearest(plane, points, distances):
        made.add_scatter3d(
            x=ends[:, 0], y=ends[:, 1], z=ends[:, 2], mode="lines", name=words,
            line={"color": theme.colour(k), "width": 6}, hoverinfo="skip",
        )  # fmt: skip
    return made


def score_surface(model: Classifier, X: MatrixLike, y: ArrayLike) -> Figure:
    """Draw the scores of a model as surfaces over the plane of its two columns.

    For a least-squares classifier these are the planes fitted to the class indicators.

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
        A surface for each class; a single one for two classes.

    See Also
    --------
    decision_regions : The regions seen from above.
    hyperplane : The plane of score 0 of a model of three columns.

    Examples
    --------
    >>> from discriminant import LeastSquaresClassifier
    >>> from discriminant.datasets import far_rows
    >>> data = far_rows()
    >>> figure = score_surface(LeastSquaresClassifier().fit(data.X, data.y), data.X, data.y)
    >>> figure.layout.scene.zaxis.title.text
    'Score'
    """
    points = labelled_points(model, X, y, "score_surface", 2)
    rule = f"{points.class_names[1]} is predicted where the surface is above 0."
    made = _space(
        f"Scores of {type(model).__name__}",
        ("The class of the highest surface is predicted." if len(points.classes) > 2 else rule)
        + shown_rows(points.n_rows),
        [*points.names, "Score"],
        alt="surfaces of scores over the plane of two columns, with the rows on the floor.",
    )
    x, y_, rows = grid(box(points.values), SURFACE_POINTS)
    decision_function: Callable[[MatrixLike], Array] = model.decision_function  # type: ignore[attr-defined]
    scores = np.asarray(decision_function(in_form_of(X)(rows)), dtype=np.float64).reshape(len(rows), -1)
    floor = np.full(points.n_rows, min(0.0, float(scores.min())))
    for k in range(scores.shape[1]):
        shade = theme.colour(k if scores.shape[1] > 1 else 1)
        made.add_surface(
            x=x, y=y_, z=scores[:, k].reshape(SURFACE_POINTS, -1), showscale=False, opacity=0.6,
            name=points.class_names[k], colorscale=[[0, theme.tint(shade, 0.35)], [1, shade]],
            hovertemplate="score %{z:.3f}<extra></extra>",
            contours={"z": {"show": scores.shape[1] == 1, "start": 0, "end": 0.01, "size": 1, "color": theme.INK}},
        )  # fmt: skip
    _add_rows(made, np.column_stack((points.values, floor)), points, [""] * points.n_rows)
    return made


def _space(title: str, subtitle: str, names: list[str], alt: str) -> Figure:
    """An empty figure of three dimensions."""
    grid = {"backgroundcolor": "white", "gridcolor": theme.PALE, "zerolinecolor": theme.PALE}
    axes: dict[str, Property] = {
        f"{axis}axis": {"title": {"text": name}, **grid} for axis, name in zip("xyz", names, strict=True)
    }
    return theme.figure(
        title, subtitle, height=620, alt=alt, scene={**axes, "camera": {"eye": {"x": 1.5, "y": -1.6, "z": 0.7}}},
        legend={"title": {"text": "class"}},
    )  # fmt: skip


def _add_rows(made: Figure, values: Array, points: LabelledPoints, words: list[str]) -> None:
    shown = theme.evenly(len(values), MAX_POINTS)
    for k, name in enumerate(points.class_names):
        own = shown[points.codes[shown] == k]
        made.add_scatter3d(
            x=values[own, 0], y=values[own, 1], z=values[own, 2], mode="markers", name=name,
            marker={"size": 4, "color": theme.colour(k), "symbol": _SYMBOLS[k % len(_SYMBOLS)]},
            text=[f"row {i}: {name} {words[i]}" for i in own], hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip


def _add_plane(made: Figure, w: Array, b: float, values: Array) -> None:
    """Draw the plane within the range of the rows, as a surface over the two axes along which it is flattest."""
    edges = box(values)
    steep = int(np.argmax(np.abs(w) * (edges[1] - edges[0])))
    flat = [j for j in range(3) if j != steep]
    first, second = np.meshgrid(*(np.linspace(edges[0, j], edges[1, j], SURFACE_POINTS) for j in flat))
    height = -(b + w[flat[0]] * first + w[flat[1]] * second) / w[steep]
    height = np.where((height >= edges[0, steep]) & (height <= edges[1, steep]), height, np.nan)
    places = dict(zip([*flat, steep], (first, second, height), strict=True))
    made.add_surface(
        x=places[0], y=places[1], z=places[2], showscale=False, opacity=0.5, name="plane", hoverinfo="skip",
        colorscale=[[0, theme.GREY], [1, theme.GREY]],
    )  # fmt: skip
