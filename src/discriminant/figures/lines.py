"""The line that separates two classes in a plane, and the rows projected on the direction across it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ColumnError, DegenerateDataError, LabelError, ParameterError
from . import house
from .rows import LabelledPoints, add_points, around, box, equal_scales, labelled_points, shown_rows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]
_FEWEST_BINS, _MOST_BINS = 24, 60


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """``w'x + b = 0``; rows on the positive side are of the second class."""

    w: Array
    b: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.w))

    def distances(self, values: Array) -> Array:
        """The signed distance of each row, ``(w'x + b) / |w|``."""
        return (values @ self.w + self.b) / self.length

    def within(self, edges: Array, level: float = 0.0) -> Array:
        """The two ends of the line ``w'x + b = level`` within a rectangle, or nothing, as rows of an array."""
        # In a unit square the two columns weigh alike, whatever their units.
        size = edges[1] - edges[0]
        w, b = self.w * size, float(self.w @ edges[0] + self.b - level)
        ends = []
        for j in range(2):
            for side in (0.0, 1.0):
                if w[1 - j] != 0:
                    across = -(b + w[j] * side) / w[1 - j]
                    if 0 <= across <= 1:
                        ends.append((side, across) if j == 0 else (across, side))
        if len(ends) < 2:
            return np.empty((0, 2))
        found = np.array(ends)
        pair = found[[0, int(np.argmax(np.abs(found - found[0]).sum(axis=1)))]]
        return edges[0] + pair * size

    def equation(self, names: list[str]) -> str:
        """The line in words."""
        terms = [(float(weight), f" {name}") for weight, name in zip(self.w, names, strict=True)] + [(self.b, "")]
        words = "".join(f" {'-' if value < 0 else '+'} {abs(value):.4g}{name}" for value, name in terms)
        return f"{words.removeprefix(' + ').removeprefix(' ')} = 0"


def hyperplane(model: Any, figure: str) -> Hyperplane:
    """The separating hyperplane of a linear model of two classes."""
    if not hasattr(model, "coef_"):
        raise ParameterError(
            f"figures.{figure} needs a linear model with coef_; {type(model).__name__} has none. "
            "figures.decision_regions draws any classifier."
        )
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(coef) != 1:
        raise LabelError(
            f"figures.{figure} draws the boundary between two classes; {type(model).__name__} was fitted to "
            f"{len(model.classes_)}. Use figures.decision_regions."
        )
    found = Hyperplane(coef[0], float(np.ravel(model.intercept_)[0]))
    if not found.length > 0:
        raise DegenerateDataError("All coefficients are 0: the model predicts one class everywhere, without boundary.")
    return found


def boundary(model: Any, X: Any, y: Any) -> Figure:
    """The line ``w'x + b = 0`` of a linear model of two columns and two classes, its equation and distances.

    A model with support vectors is drawn with its margin, the lines ``w'x + b = -1`` and ``+1``, and its support
    vectors are ringed. Of other models the nearest row of each class is joined to the line.

    Parameters
    ----------
    model : fitted linear classifier of two columns and two classes
    X, y : rows with their labels

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = [[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 4]], ["low"] * 3 + ["high"] * 3
    >>> figure = boundary(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data][:3]
    ['high', 'low', 'boundary']
    """
    points = labelled_points(model, X, y)
    plane = hyperplane(model, "boundary")
    if points.n_columns != 2:
        raise ColumnError(
            f"figures.boundary draws a line between two columns, and X has {points.n_columns}. Fit the model to two, "
            "or use figures.decision_regions or figures.projected_histograms."
        )
    edges, support = box(points.values), _support_vectors(model, points)
    distances = plane.distances(points.values)
    made = house.figure(
        f"Boundary of {type(model).__name__}",
        _geometry(plane, points, edges, support),
        legend={"title": {"text": "class"}},
    )
    add_points(made, points.values, points, lambda i: _distance_words(points, distances[i], i))
    _add_line(made, plane.within(around(edges)), "boundary", {"color": house.INK, "width": 2.5})
    if support is None:
        _add_distances(made, plane, points, distances)
    else:
        _add_margin(made, plane, around(edges), support)
    made.update_xaxes(**house.axis(points.names[0], range=edges[:, 0].tolist()))
    return made.update_yaxes(**house.axis(points.names[1], range=edges[:, 1].tolist(), **equal_scales(edges)))


def _geometry(plane: Hyperplane, points: LabelledPoints, edges: Array, support: Array | None) -> str:
    words = [
        f"{plane.equation(points.names)}; {points.class_names[1]} where the left side is positive.",
        f"Distance of the origin |b| / |w| = {abs(plane.b) / plane.length:.4g}.",
    ]
    if support is not None:
        words.append(f"Margin 2 / |w| = {2 / plane.length:.4g}, {len(support):,} support vectors.")
    if not len(plane.within(edges)):
        words.append("The line lies outside the picture.")
    if not equal_scales(edges):
        words.append("The axes have different scales, so right angles do not look right.")
    return " ".join(words) + shown_rows(points.n_rows)


def _support_vectors(model: Any, points: LabelledPoints) -> Array | None:
    """The support vectors of a model that has some, else None."""
    if hasattr(model, "support_vectors_"):
        found = model.support_vectors_
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    rows = getattr(model, "support_", None)
    if rows is None:
        return None
    if len(rows) and int(np.max(rows)) >= points.n_rows:
        raise ParameterError("The support vectors are rows of fit: give figures.boundary the rows of fit.")
    return points.values[np.asarray(rows)]


def _distance_words(points: LabelledPoints, distance: float, row: int) -> str:
    side = points.class_names[int(distance > 0)]
    return f"row {row}: {points.name_of(row)}<br>{abs(distance):.4g} from the boundary, on the side of {side}"


def _add_line(made: Figure, ends: Array, name: str, style: dict[str, Any], show: bool = True) -> None:
    if len(ends):
        made.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", name=name, line=style, showlegend=show,
            hovertemplate=f"{name}<extra></extra>",
        )  # fmt: skip


def _add_margin(made: Figure, plane: Hyperplane, edges: Array, support: Array) -> None:
    style = {"color": house.INK, "width": 1.5, "dash": "dash"}
    _add_line(made, plane.within(edges, -1.0), "margin, -1 and +1", style)
    _add_line(made, plane.within(edges, 1.0), "margin, -1 and +1", style, show=False)
    made.add_scatter(
        x=support[:, 0], y=support[:, 1], mode="markers", name=f"support vectors ({len(support):,})",
        marker={"symbol": "circle-open", "size": 14, "color": house.INK, "line": {"width": 1.6}}, hoverinfo="skip",
    )  # fmt: skip


def _add_distances(made: Figure, plane: Hyperplane, points: LabelledPoints, distances: Array) -> None:
    """Join the nearest row of each class to the line."""
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(points.codes == k)
        if own.size:
            i = own[np.argmin(np.abs(distances[own]))]
            foot = points.values[i] - distances[i] * plane.w / plane.length
            words = f"nearest {name}: {abs(distances[i]):.3g}"
            _add_line(made, np.stack((points.values[i], foot)), words, house.line(k, dash="dot", width=2))


def projected_histograms(model: Any, X: Any, y: Any) -> Figure:
    """Histograms of each class along the direction that a linear model looks in, with its threshold.

    For two classes the direction is ``w`` of ``w'x + b``, and the threshold ``-b``. For more classes it is the first
    discriminant direction of a model with ``transform`` (`LinearDiscriminantAnalysis`), which no single value cuts.

    Parameters
    ----------
    model : FisherDiscriminant, LinearDiscriminantAnalysis, or another fitted linear classifier of two classes
    X, y : rows with their labels

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import FisherDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> figure = projected_histograms(FisherDiscriminant().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data]
    ['0', '1']
    >>> round(float(figure.data[0].y.sum()), 6)
    1.0
    """
    points = labelled_points(model, X, y)
    along, cut = _projection(model, X, points)
    made = house.figure(
        f"Rows along the direction of {type(model).__name__}",
        _cut_words(points, along, cut),
        barmode="overlay",
        bargap=0,
        legend={"title": {"text": "class"}},
        xaxis=house.axis("first discriminant direction" if cut is None else "w'x, the position along the direction"),
        yaxis=house.axis("share of the rows of the class", tickformat=".0%", rangemode="tozero"),
    )
    edges = _bins(along)
    for k, name in enumerate(points.class_names):
        _add_histogram(made, along[points.codes == k], edges, k, name)
    if cut is not None and edges[0] <= cut <= edges[-1]:
        made.add_vline(
            x=cut, line={"color": house.INK, "width": 2}, annotation={"text": f"threshold {cut:.4g}", "yanchor": "top"}
        )
    return made


def _projection(model: Any, X: Any, points: LabelledPoints) -> tuple[Array, float | None]:
    """Where each row lies, and the threshold between two classes."""
    if len(points.classes) > 2 and hasattr(model, "transform"):
        return np.asarray(model.transform(X))[:, 0], None
    plane = hyperplane(model, "projected_histograms")
    if points.n_columns != len(plane.w):
        in_columns, of_model = points.n_columns, len(plane.w)
        raise ColumnError(f"X has {in_columns} columns, and the model was fitted to {of_model}.")
    return points.values @ plane.w, -plane.b


def _bins(along: Array) -> Array:
    wanted = len(np.histogram_bin_edges(along, bins="auto")) - 1
    return np.histogram_bin_edges(along, bins=min(max(wanted, _FEWEST_BINS), _MOST_BINS))


def _cut_words(points: LabelledPoints, along: Array, cut: float | None) -> str:
    if cut is None:
        return f"{len(points.classes)} classes: no single value of one direction separates them."
    names = points.class_names
    sides = [np.count_nonzero(((along > cut) != bool(k))[points.codes == k]) for k in range(2)]
    totals = np.bincount(points.codes, minlength=2)
    words = (
        f"Above the threshold {cut:.4g} a row is called {names[1]}. On the wrong side: {sides[0]:,} of {totals[0]:,} "
        f"rows of {names[0]}, {sides[1]:,} of {totals[1]:,} of {names[1]}."
    )
    return words if along.min() <= cut <= along.max() else f"{words} The threshold lies beyond all rows."


def _add_histogram(made: Figure, along: Array, edges: Array, k: int, name: str) -> None:
    if not along.size:
        return
    counts = np.histogram(along, edges)[0]
    made.add_bar(
        x=(edges[:-1] + edges[1:]) / 2, y=counts / along.size, width=np.diff(edges), name=name,
        marker={
            "color": house.see_through(house.colour(k), 0.55),
            "line": {"color": house.colour(k), "width": 1},
            "pattern": {"shape": house.PATTERNS[k % len(house.PATTERNS)], "fillmode": "overlay", "size": 6},
        },
        customdata=np.column_stack((edges[:-1], edges[1:], counts)),
        hovertemplate=(
            f"%{{customdata[2]:,}} of {along.size:,} rows of {name} (%{{y:.1%}})<br>"
            "lie between %{customdata[0]:.4g} and %{customdata[1]:.4g}<extra></extra>"
        ),
    )  # fmt: skip
