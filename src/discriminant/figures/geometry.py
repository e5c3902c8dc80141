"""Linear models in the space of their rows: line and margin, plane, scores as surfaces, sphering, projections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..data import check_integer
from ..errors import ColumnError, DegenerateDataError, LabelError, ParameterError
from ..estimators.discriminant import LinearDiscriminantAnalysis
from . import theme
from .points import (
    MOST_POINTS,
    LabelledPoints,
    add_points,
    around,
    box,
    equal_scales,
    in_form_of,
    labelled_points,
    shown_rows,
)
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_FEWEST_BINS, _MOST_BINS = 24, 60
#: Symbols of the classes, those of a plane as far as space has them.
_SYMBOLS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
#: Points of a surface along each axis.
_GRID = 40


@dataclass(frozen=True, eq=False)
class SeparatingLine:
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


def separating_plane(model: Any, figure: str) -> SeparatingLine:
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
    found = SeparatingLine(coef[0], float(np.ravel(model.intercept_)[0]))
    if not found.length > 0:
        raise DegenerateDataError("All coefficients are 0: the model predicts one class everywhere, without boundary.")
    return found


def boundary(model: Any, X: Any, y: Any, limits: Any = None) -> Figure:
    """The line ``w'x + b = 0`` of a linear model of two columns and two classes, its equation and distances.

    A model with support vectors is drawn with its margin, the lines ``w'x + b = -1`` and ``+1``, and its support
    vectors are ringed. Of other models the nearest row of each class is joined to the line.

    Parameters
    ----------
    model : fitted linear classifier
        Of two columns and two classes.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.

    Returns
    -------
    plotly.graph_objects.Figure
        A plane with the line in it, its equation above.

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
    points = labelled_points(model, X, y)
    plane = separating_plane(model, "boundary")
    if points.n_columns != 2:
        raise ColumnError(
            f"figures.boundary draws a line between two columns, and X has {points.n_columns}. Fit the model to two, "
            "or use figures.decision_regions or figures.projected_histograms."
        )
    edges, support = box(points.values, limits), _support_vectors(model, points)
    distances = plane.distances(points.values)
    made = theme.figure(
        f"Boundary of {type(model).__name__}",
        _geometry(plane, points, edges, support),
        legend={"title": {"text": "class"}},
        alt="a line between the rows of two classes, with "
        + ("the nearest row of each." if support is None else "its margin and rings around support vectors."),
    )
    add_points(made, points.values, points, lambda i: _distance_words(points, distances[i], i))
    _add_line(made, plane.within(around(edges)), "boundary", {"color": theme.INK, "width": 2.5})
    if support is None:
        _add_distances(made, plane, points, distances)
    else:
        _add_margin(made, plane, around(edges), support)
    made.update_xaxes(**theme.axis(points.names[0], range=edges[:, 0].tolist()))
    return made.update_yaxes(**theme.axis(points.names[1], range=edges[:, 1].tolist(), **equal_scales(edges)))


def _geometry(plane: SeparatingLine, points: LabelledPoints, edges: Array, support: Array | None) -> str:
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


def _add_margin(made: Figure, plane: SeparatingLine, edges: Array, support: Array) -> None:
    style = {"color": theme.INK, "width": 1.5, "dash": "dash"}
    _add_line(made, plane.within(edges, -1.0), "margin, -1 and +1", style)
    _add_line(made, plane.within(edges, 1.0), "margin, -1 and +1", style, show=False)
    made.add_scatter(
        x=support[:, 0], y=support[:, 1], mode="markers", name=f"support vectors ({len(support):,})",
        marker={"symbol": "circle-open", "size": 14, "color": theme.INK, "line": {"width": 1.6}}, hoverinfo="skip",
    )  # fmt: skip


def _add_distances(made: Figure, plane: SeparatingLine, points: LabelledPoints, distances: Array) -> None:
    """Join the nearest row of each class to the line."""
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(points.codes == k)
        if own.size:
            i = own[np.argmin(np.abs(distances[own]))]
            foot = points.values[i] - distances[i] * plane.w / plane.length
            words = f"nearest {name}: {abs(distances[i]):.3g}"
            _add_line(made, np.stack((points.values[i], foot)), words, theme.line(k, dash="dot", width=2))


def projected_histograms(model: Any, X: Any, y: Any) -> Figure:
    """Histograms of each class along the direction that a linear model looks in, with its threshold.

    For two classes the direction is ``w`` of ``w'x + b``, and the threshold ``-b``. For more classes it is the first
    discriminant direction of a model with ``transform`` (`LinearDiscriminantAnalysis`), which no single value cuts.

    Parameters
    ----------
    model : fitted linear classifier
        `FisherDiscriminant`, `LinearDiscriminantAnalysis`, or another one of two classes.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows to project.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        Overlaid, one for each class.

    See Also
    --------
    projections : Several directions below each other.
    boundary : The line itself, for two columns.

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
    made = theme.figure(
        f"Rows along the direction of {type(model).__name__}",
        _cut_words(points, along, cut),
        alt="a histogram of each class along one direction" + ("." if cut is None else ", cut by the threshold."),
        barmode="overlay",
        bargap=0,
        legend={"title": {"text": "class"}},
        xaxis=theme.axis("first discriminant direction" if cut is None else "w'x, the position along the direction"),
        yaxis=theme.axis("share of the rows of the class", tickformat=".0%", rangemode="tozero"),
    )
    edges = _bins(along)
    for k, name in enumerate(points.class_names):
        _add_histogram(made, along[points.codes == k], edges, k, name)
    if cut is not None and edges[0] <= cut <= edges[-1]:
        made.add_vline(
            x=cut, line={"color": theme.INK, "width": 2}, annotation={"text": f"threshold {cut:.4g}", "yanchor": "top"}
        )
    return made


def _projection(model: Any, X: Any, points: LabelledPoints) -> tuple[Array, float | None]:
    """Where each row lies, and the threshold between two classes."""
    if len(points.classes) > 2 and hasattr(model, "transform"):
        return np.asarray(model.transform(X))[:, 0], None
    plane = separating_plane(model, "projected_histograms")
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


def _add_histogram(made: Figure, along: Array, edges: Array, k: int, name: str, **place: Any) -> None:
    if not along.size:
        return
    counts = np.histogram(along, edges)[0]
    made.add_bar(
        x=(edges[:-1] + edges[1:]) / 2, y=counts / along.size, width=np.diff(edges), name=name,
        marker={
            "color": theme.see_through(theme.colour(k), 0.55),
            "line": {"color": theme.colour(k), "width": 1},
            "pattern": {"shape": theme.PATTERNS[k % len(theme.PATTERNS)], "fillmode": "overlay", "size": 6},
        },
        customdata=np.column_stack((edges[:-1], edges[1:], counts)),
        hovertemplate=(
            f"%{{customdata[2]:,}} of {along.size:,} rows of {name} (%{{y:.1%}})<br>"
            "lie between %{customdata[0]:.4g} and %{customdata[1]:.4g}<extra></extra>"
        ),
        **place,
    )  # fmt: skip


def projections(models: Mapping[str, Any], X: Any, y: Any) -> Figure:
    """Histograms of two classes along the directions of several linear models, one below the other.

    The difference of the class means (`MinimumDistance`) beside Fisher's direction shows what spread does.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        What each direction is called, and the model of two classes whose ``coef_`` it is.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows to project.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each model; positions are distances from its boundary.

    See Also
    --------
    projected_histograms : One model, in its own units.

    Examples
    --------
    >>> from discriminant import FisherDiscriminant, MinimumDistance
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals()
    >>> models = {"difference of means": MinimumDistance(), "Fisher": FisherDiscriminant()}
    >>> fitted = {name: model.fit(data.X, data.y) for name, model in models.items()}
    >>> [title.text for title in projections(fitted, data.X, data.y).layout.annotations]
    ['difference of means: 86 of 400 rows misclassified', 'Fisher: 12 of 400 rows misclassified']
    """
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("projections draws fitted models by name, such as {'Fisher': model}.")
    points = [labelled_points(model, X, y) for model in models.values()]
    along = [
        separating_plane(model, "projections").distances(one.values)
        for model, one in zip(models.values(), points, strict=True)
    ]
    titles = [
        f"{theme.written(name)}: {np.count_nonzero((where > 0) != one.codes):,} of {one.n_rows:,} rows misclassified"
        for name, where, one in zip(models, along, points, strict=True)
    ]
    made = theme.panels(
        "Rows along several directions",
        "Distances from the boundary of each model, in the units of the columns.",
        [1.0] * len(models), height=140 + 220 * len(models), titles=titles, barmode="overlay", bargap=0,
        legend={"title": {"text": "class"}},
        alt=f"{len(models)} panels, in each the histograms of two classes along one direction, cut by the boundary.",
    )  # fmt: skip
    edges = _bins(np.concatenate(along))
    for row, (where, one) in enumerate(zip(along, points, strict=True), 1):
        for k, name in enumerate(one.class_names):
            own = where[one.codes == k]
            _add_histogram(made, own, edges, k, name, row=row, col=1, legendgroup=name, showlegend=row == 1)
        made.add_vline(x=0, line={"color": theme.INK, "width": 2}, row=row, col=1)
        made.update_yaxes(theme.axis("share of the class", tickformat=".0%", rangemode="tozero"), row=row, col=1)
    return made.update_xaxes(theme.axis("distance from the boundary"), row=len(models), col=1)


#: Points of an ellipse.
_ROUND = 97


def sphering(model: LinearDiscriminantAnalysis, X: Any, y: Any) -> Figure:
    """Rows before and after sphering: within classes the columns are then uncorrelated, with variance 1.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Fitted; its pooled covariance is what is sphered. Of more than two columns the first two are drawn.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        Two planes side by side, with the ellipse of one standard deviation around each class mean.

    See Also
    --------
    discriminant.LinearDiscriminantAnalysis : Its ``sphere`` is drawn.

    Examples
    --------
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals()
    >>> figure = sphering(LinearDiscriminantAnalysis().fit(data.X, data.y), data.X, data.y)
    >>> [title.text for title in figure.layout.annotations]
    ['as measured', 'sphered']
    """
    from plotly.subplots import make_subplots

    theme.expect(model, (LinearDiscriminantAnalysis,), "sphering", "Fit discriminant's LinearDiscriminantAnalysis.")
    points = labelled_points(model, X, y)
    if points.n_columns < 2:
        raise ColumnError("sphering draws two columns, and X has one.")
    made = make_subplots(rows=1, cols=2, subplot_titles=["as measured", "sphered"], horizontal_spacing=0.1)
    words = "Ellipses: one standard deviation of the pooled covariance around the means; sphered, they are circles."
    more = "" if points.n_columns == 2 else " Drawn: the first two columns, and the first two sphered coordinates."
    alt = "rows of each class twice: with the common ellipse of their covariance, and after sphering with circles."
    made.update_layout(
        theme.layout("Sphering", words + more, least_lines=theme.TITLED, alt=alt, legend={"title": {"text": "class"}})
    )
    sphered = np.asarray(model.sphere(X))[:, :2]
    means = np.stack([sphered[points.codes == k].mean(axis=0) for k in range(len(points.classes))])
    covariance = np.asarray(model.covariance_)[:2, :2]
    _add_cloud(made, points, points.values[:, :2], np.asarray(model.means_)[:, :2], np.linalg.cholesky(covariance), 1)
    _add_cloud(made, points, sphered, means, np.eye(2), 2)
    for j, names in enumerate((points.names[:2], ["first sphered coordinate", "second sphered coordinate"]), 1):
        made.update_xaxes(theme.axis(names[0]), row=1, col=j)
        made.update_yaxes(theme.axis(names[1]), row=1, col=j)
    return made.update_yaxes(scaleanchor="x2", scaleratio=1, row=1, col=2)


def sphering_movement(
    model: LinearDiscriminantAnalysis, X: Any, y: Any, frames: int = 25, limits: Any = None
) -> Figure:
    """Sphering as a movement: rows, class means and ellipses go from where they were measured to the sphere.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Fitted to two columns; its pooled covariance is what is sphered.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=25
        Steps of the movement.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, before and after.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider. The centre of all rows stays where it is.

    See Also
    --------
    sphering : Both ends side by side.

    Examples
    --------
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals()
    >>> figure = sphering_movement(LinearDiscriminantAnalysis().fit(data.X, data.y), data.X, data.y)
    >>> len(figure.frames), figure.frames[-1].data[-1].name
    (25, 'two standard deviations')
    """
    theme.expect(
        model, (LinearDiscriminantAnalysis,), "sphering_movement", "Fit discriminant's LinearDiscriminantAnalysis."
    )
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y)
    if points.n_columns != 2:
        raise ColumnError(f"sphering_movement draws a plane of two columns, and X has {points.n_columns}.")
    root = _symmetric_root(np.asarray(model.covariance_))
    centre, maps = np.asarray(model.xbar_), _maps_between(np.linalg.inv(root), frames)
    ends = np.concatenate([centre + (points.values - centre) @ one for one in (maps[0], maps[-1])])
    edges = box(ends, limits)
    moments = [_sphering_moment(model, points, centre, root, one, i / (frames - 1)) for i, one in enumerate(maps)]
    made = theme.figure(
        "Sphering, as a movement",
        moments[0].words,
        least_lines=2,
        legend={"title": {"text": "class"}},
        xaxis=theme.axis(points.names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(points.names[1], range=edges[:, 1].tolist(), **equal_scales(edges)),
        alt="an animation of rows and the ellipses of their classes, which move until the ellipses are circles.",
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    n_clouds = len(made.data)
    made.add_traces(moments[0].traces[n_clouds:])
    animate(made, moments, list(range(len(made.data))))
    return made


def _symmetric_root(covariance: Array) -> Array:
    """The symmetric square root: the way back from the sphere that turns nothing."""
    values, axes = np.linalg.eigh(covariance)
    root: Array = (axes * np.sqrt(values)) @ axes.T
    return root


def _maps_between(last: Array, n: int) -> list[Array]:
    """Symmetric maps from none to ``last``, along the same axes, by like ratios."""
    values, axes = np.linalg.eigh(last)
    return [(axes * values**share) @ axes.T for share in np.linspace(0, 1, n)]


def _sphering_moment(
    model: LinearDiscriminantAnalysis, points: LabelledPoints, centre: Array, root: Array, by: Array, share: float
) -> Moment:
    """Rows, means and ellipses on the way, and the boundary between two classes, which moves along."""
    plane = centre + (points.values - centre) @ by
    shown = theme.evenly(len(plane), MOST_POINTS)
    traces: list[dict[str, Any]] = []
    for k in range(len(points.classes)):
        own = plane[shown[points.codes[shown] == k]]
        if len(own):
            traces.append({"x": own[:, 0].astype(np.float32), "y": own[:, 1].astype(np.float32)})
    angle = np.linspace(0, 2 * np.pi, _ROUND)
    ring = 2 * np.column_stack((np.cos(angle), np.sin(angle))) @ root @ by
    means = centre + (np.asarray(model.means_) - centre) @ by
    gap = np.full((1, 2), np.nan)  # between two rings
    rings = np.concatenate([part for mean in means for part in (mean + ring, gap)]).astype(np.float32)
    traces.append({
        "type": "scatter", "mode": "markers", "name": "means", "x": means[:, 0].tolist(), "y": means[:, 1].tolist(),
        "marker": {"symbol": "cross", "size": 13, "color": theme.INK}, "hoverinfo": "skip",
    })  # fmt: skip
    traces.append({
        "type": "scatter", "mode": "lines", "name": "two standard deviations", "x": rings[:, 0],
        "y": rings[:, 1], "line": {"color": theme.INK, "width": 2}, "hoverinfo": "skip",
    })  # fmt: skip
    left = np.linalg.eigvalsh(by @ np.asarray(model.covariance_) @ by)
    words = (
        f"{100 * share:.0f} % of the way. Variances along the axes of the ellipses: {left[1]:.3g} and {left[0]:.3g}; "
    )
    words += "sphered, both are 1, and the nearest mean decides but for the priors."
    return Moment(traces, words, f"{100 * share:.0f} %")


def _add_cloud(made: Figure, points: LabelledPoints, plane: Array, means: Array, root: Array, column: int) -> None:
    """The rows of a plane, the mean of each class, and the ellipse ``root`` times the unit circle around it."""
    angle = np.linspace(0, 2 * np.pi, _ROUND)
    ring = np.column_stack((np.cos(angle), np.sin(angle))) @ root.T
    chosen = theme.evenly(len(plane), MOST_POINTS)
    for k, name in enumerate(points.class_names):
        own = plane[chosen[points.codes[chosen] == k]]
        made.add_scatter(
            x=own[:, 0], y=own[:, 1], mode="markers", name=name, legendgroup=name, showlegend=column == 1,
            marker=theme.marker(k, size=6, opacity=0.6), hoverinfo="skip", row=1, col=column,
        )  # fmt: skip
        made.add_scatter(
            x=means[k, 0] + ring[:, 0], y=means[k, 1] + ring[:, 1], mode="lines", legendgroup=name, showlegend=False,
            line={"color": theme.INK, "width": 2}, hoverinfo="skip", row=1, col=column,
        )  # fmt: skip


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
        A surface for each class; for two classes one.

    See Also
    --------
    decision_regions : The same from above.
    hyperplane : Three columns, where scores are 0.

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
