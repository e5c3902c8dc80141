"""Projections of rows on directions, as histograms, and sphering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array, ArrayLike, Classifier, MatrixLike
from ..data import check_integer
from ..errors import ColumnError
from ..estimators.discriminant import LinearDiscriminantAnalysis
from . import theme
from .geometry import separating_plane
from .points import (
    MAX_POINTS,
    LabelledPoints,
    add_points,
    box,
    equal_scales,
    labelled_points,
    plane_figure,
    refuse_unnamed,
)
from .sketch import Property
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Limits for the number of bins of NumPy's rule: fewer hide the shape, more are indistinguishable.
MIN_BINS: Final = 24
MAX_BINS: Final = 60
#: Points of an ellipse.
ELLIPSE_POINTS: Final = 97


def projected_histograms(model: Classifier, X: MatrixLike, y: ArrayLike) -> Figure:
    """Draw histograms of each class along the direction of a linear model, with its threshold.

    For two classes the direction is ``w`` of ``w'x + b``, and the threshold is ``-b``. For more classes it is the first
    discriminant direction of a model with ``transform`` (`LinearDiscriminantAnalysis`), without a threshold.

    Parameters
    ----------
    model : fitted linear classifier
        `FisherDiscriminant`, `LinearDiscriminantAnalysis`, or another linear model of two classes.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows to project.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        Overlaid histograms, one for each class.

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
    points = labelled_points(model, X, y, "projected_histograms")
    along, threshold = _projection(model, X, points)
    made = theme.figure(
        f"Projection on the direction of {type(model).__name__}",
        _threshold_words(points, along, threshold),
        alt="a histogram of each class along one direction" + ("." if threshold is None else ", with the threshold."),
        barmode="overlay",
        bargap=0,
        legend={"title": {"text": "class"}},
        xaxis=theme.axis("First discriminant direction" if threshold is None else "Projection w'x"),
        yaxis=theme.axis("Share of the rows of the class", tickformat=".0%", rangemode="tozero"),
    )
    edges = _bins(along)
    for k, name in enumerate(points.class_names):
        _add_histogram(made, along[points.codes == k], edges, k, name)
    if threshold is not None and edges[0] <= threshold <= edges[-1]:
        label = {"text": f"threshold {threshold:.4g}", "yanchor": "top"}
        made.add_vline(x=threshold, line={"color": theme.INK, "width": 2}, annotation=label)
    return made


def _projection(model: Classifier, X: MatrixLike, points: LabelledPoints) -> tuple[Array, float | None]:
    """The projection of each row, and the threshold between two classes."""
    if len(points.classes) > 2 and hasattr(model, "transform"):
        return np.asarray(model.transform(X))[:, 0], None
    plane = separating_plane(model, "projected_histograms")
    if points.n_columns != len(plane.w):
        raise ColumnError(f"X has {points.n_columns} columns, but the model was fitted to {len(plane.w)}.")
    return points.values @ plane.w, -plane.b


def _bins(along: Array) -> Array:
    wanted = len(np.histogram_bin_edges(along, bins="auto")) - 1
    return np.histogram_bin_edges(along, bins=min(max(wanted, MIN_BINS), MAX_BINS))


def _threshold_words(points: LabelledPoints, along: Array, threshold: float | None) -> str:
    if threshold is None:
        return f"{len(points.classes)} classes: a single threshold cannot separate them."
    names, totals = points.class_names, np.bincount(points.codes, minlength=2)
    wrong = [np.count_nonzero(((along > threshold) != bool(k))[points.codes == k]) for k in range(2)]
    words = (
        f"Predicted {names[1]} above the threshold {threshold:.4g}. Misclassified: {wrong[0]:,} of {totals[0]:,} rows "
        f"of {names[0]}, {wrong[1]:,} of {totals[1]:,} of {names[1]}."
    )
    inside = along.min() <= threshold <= along.max()
    return words if inside else f"{words} The threshold is outside the range of the rows."


def _add_histogram(made: Figure, along: Array, edges: Array, k: int, name: str, **place: Property) -> None:
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
            f"{name}: %{{customdata[2]:,}} of {along.size:,} rows (%{{y:.1%}})<br>"
            "from %{customdata[0]:.4g} to %{customdata[1]:.4g}<extra></extra>"
        ),
        **place,
    )  # fmt: skip


def projections(models: Mapping[str, Classifier], X: MatrixLike, y: ArrayLike) -> Figure:
    """Draw histograms of two classes along the directions of several linear models.

    Compare the difference of the class means (`MinimumDistance`) with Fisher's direction.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        Models of two classes by name; the direction is their ``coef_``.
    X : array-like or frame of shape (n_rows, n_columns)
        Rows to project.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each model, over the distance from its boundary.

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
    refuse_unnamed(models, "projections")
    points = [labelled_points(model, X, y, "projections") for model in models.values()]
    along = [
        separating_plane(model, "projections").distances(one.values)
        for model, one in zip(models.values(), points, strict=True)
    ]
    titles = [
        f"{theme.written(name)}: {np.count_nonzero((where > 0) != one.codes):,} of {one.n_rows:,} rows misclassified"
        for name, where, one in zip(models, along, points, strict=True)
    ]
    made = theme.panels(
        "Projections on several directions",
        "Distances from the boundary of each model, in the units of the columns.",
        [1.0] * len(models), 140 + 220 * len(models),
        f"{len(models)} panels with histograms of two classes along one direction, and the boundary.",
        titles,
    ).update_layout(barmode="overlay", bargap=0, legend={"title": {"text": "class"}})  # fmt: skip
    edges = _bins(np.concatenate(along))
    for row, (where, one) in enumerate(zip(along, points, strict=True), 1):
        for k, name in enumerate(one.class_names):
            own = where[one.codes == k]
            _add_histogram(made, own, edges, k, name, row=row, col=1, legendgroup=name, showlegend=row == 1)
        made.add_vline(x=0, line={"color": theme.INK, "width": 2}, row=row, col=1)
        made.update_yaxes(theme.axis("Share of the class", tickformat=".0%", rangemode="tozero"), row=row, col=1)
    return made.update_xaxes(theme.axis("Distance from the boundary"), row=len(models), col=1)


def sphering(model: LinearDiscriminantAnalysis, X: MatrixLike, y: ArrayLike) -> Figure:
    """Draw rows before and after sphering, which makes columns uncorrelated with variance 1 within classes.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Fitted model, whose pooled covariance is used. Of more than two columns the first two are drawn.
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
    ['original columns', 'sphered']
    """
    from plotly.subplots import make_subplots

    theme.expect(model, (LinearDiscriminantAnalysis,), "sphering")
    points = labelled_points(model, X, y, "sphering")
    if points.n_columns < 2:
        raise ColumnError("figures.sphering requires two columns; X has one.")
    titles = ["original columns", "sphered"]
    made = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.1)
    words = "Ellipses: one standard deviation of the pooled covariance around the means; after sphering, circles."
    more = "" if points.n_columns == 2 else " Drawn: the first two columns, and the first two sphered coordinates."
    alt = "rows of each class twice: with the ellipses of their pooled covariance, and after sphering with circles."
    legend = {"title": {"text": "class"}}
    made.update_layout(
        theme.layout("Sphering", words + more, least_lines=theme.PANEL_TITLE_LINES, alt=alt, legend=legend)
    )
    sphered = np.asarray(model.sphere(X))[:, :2]
    means = np.stack([sphered[points.codes == k].mean(axis=0) for k in range(len(points.classes))])
    covariance = np.asarray(model.covariance_)[:2, :2]
    _add_cloud(made, points, points.values[:, :2], np.asarray(model.means_)[:, :2], np.linalg.cholesky(covariance), 1)
    _add_cloud(made, points, sphered, means, np.eye(2), 2)
    for j, names in enumerate((points.names[:2], ["First sphered coordinate", "Second sphered coordinate"]), 1):
        made.update_xaxes(theme.axis(names[0]), row=1, col=j)
        made.update_yaxes(theme.axis(names[1]), row=1, col=j)
    return made.update_yaxes(scaleanchor="x2", scaleratio=1, row=1, col=2)


def sphering_movement(
    model: LinearDiscriminantAnalysis, X: MatrixLike, y: ArrayLike, frames: int = 25, limits: ArrayLike | None = None
) -> Figure:
    """Draw sphering as an animation of rows, class means and ellipses.

    Parameters
    ----------
    model : LinearDiscriminantAnalysis
        Model fitted to two columns, whose pooled covariance is used.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=25
        Number of frames.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, before and after.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider. The centre of all rows is fixed.

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
    theme.expect(model, (LinearDiscriminantAnalysis,), "sphering_movement")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y, "sphering_movement", 2)
    variances, axes = np.linalg.eigh(np.asarray(model.covariance_))
    # Symmetric maps, which do not rotate, from the identity to the inverse square root of the covariance.
    maps = [(axes * variances ** (-share / 2)) @ axes.T for share in np.linspace(0, 1, frames)]
    root, centre = (axes * np.sqrt(variances)) @ axes.T, np.asarray(model.xbar_)
    ends = np.concatenate([centre + (points.values - centre) @ one for one in (maps[0], maps[-1])])
    edges = box(ends, limits)
    moments = [_sphering_moment(model, points, centre, root, one, i / (frames - 1)) for i, one in enumerate(maps)]
    alt = "an animation of rows and the ellipses of their classes, which become circles."
    made = plane_figure("Sphering (animation)", moments[0].words, points.names, edges, alt, least_lines=2)
    add_points(made, points.values, points)
    return animate(made.update_yaxes(**equal_scales(edges)), moments, n_drawn=0)


def _ellipse(root: Array) -> Array:
    """Points of the unit circle times a matrix."""
    angle = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    return np.asarray(np.column_stack((np.cos(angle), np.sin(angle))) @ root)


def _sphering_moment(
    model: LinearDiscriminantAnalysis, points: LabelledPoints, centre: Array, root: Array, by: Array, share: float
) -> Moment:
    """The rows, means and ellipses after a share of the way."""
    plane = centre + (points.values - centre) @ by
    shown = theme.evenly(len(plane), MAX_POINTS)
    traces: list[dict[str, Any]] = []
    for k in range(len(points.classes)):
        own = plane[shown[points.codes[shown] == k]]
        if len(own):
            traces.append({"x": own[:, 0].astype(np.float32), "y": own[:, 1].astype(np.float32)})
    means = centre + (np.asarray(model.means_) - centre) @ by
    gap = np.full((1, 2), np.nan)  # between two ellipses
    rings = np.concatenate([part for mean in means for part in (mean + 2 * _ellipse(root @ by), gap)])
    traces.append({
        "type": "scatter", "mode": "markers", "name": "means", "x": means[:, 0].tolist(), "y": means[:, 1].tolist(),
        "marker": {"symbol": "cross", "size": 13, "color": theme.INK}, "hoverinfo": "skip",
    })  # fmt: skip
    traces.append({
        "type": "scatter", "mode": "lines", "name": "two standard deviations", "x": rings[:, 0].astype(np.float32),
        "y": rings[:, 1].astype(np.float32), "line": {"color": theme.INK, "width": 2}, "hoverinfo": "skip",
    })  # fmt: skip
    variances = np.linalg.eigvalsh(by @ np.asarray(model.covariance_) @ by)
    words = f"{100 * share:.0f} % of the way. Variances of the principal axes: {variances[1]:.3g}, {variances[0]:.3g}. "
    words += "After sphering both are 1, and with equal priors the nearest mean is predicted."
    return Moment(traces, words, f"{100 * share:.0f} %")


def _add_cloud(made: Figure, points: LabelledPoints, plane: Array, means: Array, root: Array, column: int) -> None:
    """Draw the rows of a plane, and for each class the ellipse ``root`` times the unit circle around its mean."""
    ring = _ellipse(root.T)
    chosen = theme.evenly(len(plane), MAX_POINTS)
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
