"""Models in pictures: their regions and boundaries in a plane of rows, rows projected across them, and coefficients.

Coefficients are drawn by themselves or along a path of penalty strengths, with the choice of a strength.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data import Rows, as_frame, as_rows, check_integer, codes_among, dense_rows, label_column, same_length
from ..errors import ColumnError, DegenerateDataError, DiscriminantWarning, LabelError, Model, ParameterError, Setting
from ..estimators.coefficients import INTERCEPT, CoefficientTable, Effect, EffectPoint, coefficient_table
from ..estimators.discriminant import LinearDiscriminantAnalysis
from ..estimators.logistic import LogisticRegressionCV, LogisticRegressionPath, chosen_strength
from ..results import shown
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


Array = np.ndarray[Any, Any]

#: More points than this are a cloud of one colour, and slow in a browser.
MOST_POINTS = 4_000
_MANY_RINGS = 60
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


def box(plane: Array) -> Array:
    """The smallest and the largest value to show of each axis, (2, 2)."""
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
) -> None:
    """Draw the rows, one colour and symbol for each class; ``hover`` says something of a row."""
    shades = [theme.colour(k) for k in range(len(points.class_names))] if colours is None else colours
    shown = theme.evenly(len(plane), MOST_POINTS)
    for k, name in enumerate(points.class_names):
        chosen = shown[points.codes[shown] == k]
        if chosen.size:
            made.add_scatter(
                x=plane[chosen, 0], y=plane[chosen, 1], mode="markers", name=name, legendgroup=name,
                marker=theme.marker(k, size=8, color=shades[k], line={"color": "white", "width": 0.8}),
                text=[hover(int(i)) for i in chosen], hovertemplate="%{text}<extra></extra>",
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


#: How strongly a region is coloured where its class is as good as a guess, and where it is certain.
_FAINT, _STRONG = 0.10, 0.50


@dataclass(frozen=True, eq=False)
class View:
    """The plane that is drawn: coordinates of the rows, names of the axes, and the model whose regions they are."""

    plane: Array
    names: list[str]
    model: Any
    form: Callable[[Array], Any]
    words: str = ""

    def answers(self, plane: Array) -> Array:
        return np.asarray(self.model.predict(self.form(plane)))


def decision_regions(
    model: Any, X: Any, y: Any, features: Sequence[Any] | None = None, resolution: int = 120
) -> Figure:
    """The regions in which a model predicts each class, with the rows and those it gets wrong.

    A model of two columns is drawn as it is. Of a model of more columns no plane shows its regions without hiding
    others, so a model of the same kind and parameters is fitted to the two coordinates that are drawn: the first two
    discriminant directions, or the two ``features``. The subtitle says so, with the errors of both models.

    Parameters
    ----------
    model : fitted classifier
        Of any kind with ``predict`` and ``classes_``.
    X : array-like or frame of shape (n_rows, n_columns)
        The rows it was fitted to.
    y : array-like of shape (n_rows,)
        Their labels.
    features : two column names or numbers, optional
        The columns to draw.
    resolution : int, default=120
        Points of the grid along each axis.

    Returns
    -------
    plotly.graph_objects.Figure
        Regions, rows, and rings around what is wrong.

    See Also
    --------
    boundary : The line of a linear model of two classes, with distances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = decision_regions(LinearDiscriminantAnalysis().fit(X[:, :2], y), X[:, :2], y)
    >>> [trace.name for trace in figure.data if trace.type == "scatter"]
    ['0', '1', '2', 'misclassified (30)']
    """
    check_integer("resolution", resolution, 10)
    points = labelled_points(model, X, y)
    view = _view(model, X, points, features)
    answers = view.answers(view.plane)
    wrong = answers != points.classes[points.codes]
    made = theme.figure(
        f"Decision regions of {type(model).__name__}",
        _regions_subtitle(view, model, X, points, wrong),
        legend={"title": {"text": "class"}},
    )
    edges = box(view.plane)
    _add_regions(made, view, points, edges, resolution)
    add_points(made, view.plane, points, lambda i: _words(points, answers[i], i))
    add_rings(made, view.plane, wrong, "misclassified")
    made.update_xaxes(**theme.axis(view.names[0], range=edges[:, 0].tolist(), showgrid=False))
    return made.update_yaxes(**theme.axis(view.names[1], range=edges[:, 1].tolist(), showgrid=False))


def _view(model: Any, X: Any, points: LabelledPoints, features: Sequence[Any] | None) -> View:
    if points.n_columns < 2:
        raise ColumnError("decision_regions draws a plane, and X has one column. See projected_histograms.")
    if features is None and points.n_columns > 2:
        return _refitted(model, _projected(points), points)
    chosen = [0, 1] if features is None else _columns(features, points)
    names = [points.names[j] for j in chosen]
    if points.n_columns == 2:
        form = in_form_of(X)  # whose columns are in the order of fit, whichever is drawn across
        return View(points.values[:, chosen], names, model, lambda plane: form(plane[:, chosen]))
    words = f"the columns {names[0]} and {names[1]} of {points.n_columns}"
    return _refitted(model, View(points.values[:, chosen], names, model, np.asarray, words), points)


def _columns(features: Sequence[Any], points: LabelledPoints) -> list[int]:
    """The numbers of the two columns."""
    wanted = [] if isinstance(features, str) else [_column(name, points) for name in features]
    if len(wanted) != 2 or wanted[0] == wanted[1]:
        raise ParameterError(f"features must be two different columns, got {features!r}.")
    return wanted


def _column(name: Any, points: LabelledPoints) -> int:
    if isinstance(name, str) and theme.written(name) in points.names:
        return points.names.index(theme.written(name))
    if isinstance(name, Integral) and 0 <= int(name) < points.n_columns:
        return int(name)
    listed = ", ".join(points.names[:20]) + (", ..." if points.n_columns > 20 else "")
    raise ColumnError(f"features names {name!r}, which is not a column. Columns: {listed}.")


def _projected(points: LabelledPoints) -> View:
    """The first two discriminant directions; two classes have one, beside it stands what varies most otherwise."""
    labels, p = points.classes[points.codes], points.n_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscriminantWarning)
        along = LinearDiscriminantAnalysis().fit(points.values, labels).transform(points.values)
    if along.shape[1] >= 2:
        names = ["first discriminant direction", "second discriminant direction"]
        return View(along[:, :2], names, None, np.asarray, f"the first two discriminant directions of {p} columns")
    names = ["discriminant direction", "largest variation beside it"]
    words = f"the discriminant direction of {p} columns and the largest variation beside it"
    return View(np.column_stack((along[:, 0], _beside(points.values, along[:, 0]))), names, None, np.asarray, words)


def _beside(values: Array, along: Array) -> Array:
    """The first principal component of the standardised columns after what goes along with a coordinate is removed."""
    spread = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    unit = along - along.mean()
    unit = unit / np.linalg.norm(unit)
    return PCA(1, svd_solver="full").fit_transform(standard - np.outer(unit, unit @ standard))[:, 0]


def _refitted(model: Any, view: View, points: LabelledPoints) -> View:
    labels = points.classes[points.codes]
    try:
        with warnings.catch_warnings():
            # What the fit on two coordinates has to remark is not about the user's model.
            warnings.simplefilter("ignore", DiscriminantWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            drawn = clone(model).fit(view.plane, labels)
    except Exception as error:
        error.add_note(f"This happened while fitting a model of the same kind to {view.words}, for the picture.")
        raise
    return replace(view, model=drawn)


def _regions_subtitle(view: View, model: Any, X: Any, points: LabelledPoints, wrong: Array) -> str:
    n = points.n_rows
    shading = " Stronger colour: higher posterior." if hasattr(view.model, "predict_proba") else ""
    if view.model is model:
        return f"{np.count_nonzero(wrong):,} of {n:,} rows misclassified.{shading}{shown_rows(n)}"
    own = np.count_nonzero(np.asarray(model.predict(X)) != points.classes[points.codes])
    return (
        f"Not the fitted model itself, but the same kind fitted to {view.words}. Misclassified here: "
        f"{np.count_nonzero(wrong):,} of {n:,} rows; by the model in all columns: {own:,}.{shading}{shown_rows(n)}"
    )


def _words(points: LabelledPoints, answer: Any, row: int) -> str:
    wrong = "" if answer == points.classes[points.codes[row]] else " (wrong)"
    return f"row {row}: {points.name_of(row)}, predicted {theme.written(answer)}{wrong}"


def _add_regions(made: Figure, view: View, points: LabelledPoints, edges: Array, resolution: int) -> None:
    x, y = (np.linspace(edges[0, j], edges[1, j], resolution) for j in range(2))
    rows = view.form(np.column_stack([part.ravel() for part in np.meshgrid(x, y)]))
    answers = np.asarray(view.model.predict(rows))
    known = points.classes.tolist()
    labels = [*known, *sorted({label for label in answers.tolist() if label not in known}, key=str)]
    certainty = view.model.predict_proba(rows).max(axis=1) if hasattr(view.model, "predict_proba") else None
    for k, label in enumerate(labels):
        inside = answers == label
        if inside.any():
            shade = theme.colour(k) if k < len(known) else theme.GREY
            _add_region(made, x, y, inside, certainty, shade, theme.written(label), len(known))
    for margin in _margins(view.model, rows, answers, labels):
        made.add_contour(
            x=x, y=y, z=margin.reshape(len(y), len(x)).astype(np.float32), showscale=False, hoverinfo="skip",
            autocontour=False, contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
            line={"color": theme.INK, "width": 1.4}, showlegend=False,
        )  # fmt: skip


def _add_region(
    made: Figure, x: Array, y: Array, inside: Array, certainty: Array | None, shade: str, name: str, K: int
) -> None:
    strength = np.full(len(inside), 0.5 + 0.5 / K) if certainty is None else certainty
    says = "" if certainty is None else "<br>largest posterior %{z:.3f}"
    made.add_heatmap(
        x=x, y=y, z=np.where(inside, strength, np.nan).reshape(len(y), len(x)).astype(np.float32),
        zmin=1 / K, zmax=1, showscale=False, hoverongaps=False,
        colorscale=[[0, theme.tint(shade, _FAINT)], [1, theme.tint(shade, _STRONG)]],
        hovertemplate=f"predicted here: {name}{says}<extra></extra>",
    )  # fmt: skip


def _margins(model: Any, rows: Any, answers: Array, labels: list[Any]) -> list[Array]:
    """For each region but one of two a number for each point that is positive inside and 0 on the boundary.

    A model's scores are used where their maximum is what it predicts; they are smooth, so that boundaries are too.
    """
    inside = np.column_stack([answers == label for label in labels]).astype(float)
    scores = _scores(model, rows)
    if scores is None or scores.shape != inside.shape or not (scores.argmax(axis=1) == inside.argmax(axis=1)).all():
        scores = inside
    margins = []
    for k in range(len(labels)):
        others = np.delete(scores, k, axis=1)
        if 0 < inside[:, k].sum() < len(inside):
            margins.append(scores[:, k] - others.max(axis=1))
    return margins[:1] if len(labels) == 2 else margins


def _scores(model: Any, rows: Any) -> Array | None:
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            found = np.asarray(getattr(model, name)(rows), dtype=np.float64)
            return np.column_stack((-found, found)) if found.ndim == 1 else found
    return None


_FEWEST_BINS, _MOST_BINS = 24, 60


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


def hyperplane(model: Any, figure: str) -> SeparatingLine:
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


def boundary(model: Any, X: Any, y: Any) -> Figure:
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
    plane = hyperplane(model, "boundary")
    if points.n_columns != 2:
        raise ColumnError(
            f"figures.boundary draws a line between two columns, and X has {points.n_columns}. Fit the model to two, "
            "or use figures.decision_regions or figures.projected_histograms."
        )
    edges, support = box(points.values), _support_vectors(model, points)
    distances = plane.distances(points.values)
    made = theme.figure(
        f"Boundary of {type(model).__name__}",
        _geometry(plane, points, edges, support),
        legend={"title": {"text": "class"}},
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
            "color": theme.see_through(theme.colour(k), 0.55),
            "line": {"color": theme.colour(k), "width": 1},
            "pattern": {"shape": theme.PATTERNS[k % len(theme.PATTERNS)], "fillmode": "overlay", "size": 6},
        },
        customdata=np.column_stack((edges[:-1], edges[1:], counts)),
        hovertemplate=(
            f"%{{customdata[2]:,}} of {along.size:,} rows of {name} (%{{y:.1%}})<br>"
            "lie between %{customdata[0]:.4g} and %{customdata[1]:.4g}<extra></extra>"
        ),
    )  # fmt: skip


def coefficients(model: Any, most: int = 30, odds_ratios: bool = False, level: float = 0.95) -> Figure:
    """The coefficients of a linear model, with intervals where the model has a `summary`; the intercept is left out.

    Parameters
    ----------
    model : fitted linear classifier, or CoefficientTable
        A model, or what `coefficient_table` made of one.
    most : int, default=30
        Draw at most this many columns: those of the largest ``|z|``, or of the largest coefficient without one.
    odds_ratios : bool, default=False
        Draw ``exp(coefficient)`` instead: the factor by which the odds change with each unit of the column.
    level : float, default=0.95
        Of the intervals; a table has its own.

    Returns
    -------
    plotly.graph_objects.Figure
        Dots and intervals, one row for each column.

    See Also
    --------
    discriminant.coefficient_table : The numbers that are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    >>> figure = coefficients(LogisticRegression().fit(X, y))
    >>> figure.layout.yaxis.ticktext, figure.data[0].name
    (('x0', 'x1', 'x2'), 'yes against no')
    """
    check_integer("most", most, 1)
    table = model if isinstance(model, CoefficientTable) else coefficient_table(model, level=level)
    if odds_ratios and not table.log_odds:
        raise ParameterError(
            f"The coefficients of {table.model} are not log-odds: ",
            Setting("odds_ratios", True),
            " is for models of probabilities that compare classes with one, such as ",
            Model("LogisticRegression"),
            ".",
        )
    own = [[row for row in rows if row.term != INTERCEPT] for rows in table.outcomes.values()]
    numbers = np.array([[(row.estimate, row.low, row.high, row.z) for row in rows] for rows in own])
    chosen, ranking = _largest(numbers, most)
    names, drawn = [theme.written(own[0][j].term) for j in chosen], numbers[:, chosen, :3]
    if odds_ratios:
        with np.errstate(over="ignore"):
            drawn = np.exp(drawn)
    made = theme.figure(
        f"{'Odds ratios' if odds_ratios else 'Coefficients'} of {table.model}",
        _bars_subtitle(
            table, names, drawn, f"The {len(names)} of {len(own[0])} columns with {ranking}." if ranking else ""
        ),
        height=190 + (26 + 14 * (len(own) - 1)) * len(names),
        legend={"title": {"text": "outcome"}},
    )
    for k, outcome in enumerate(table.outcomes):
        _add_bars(made, theme.written(table.contrast(outcome)), names, drawn, k)
    what = "odds ratio (logarithmic scale)" if odds_ratios else "coefficient: change of the score with each unit"
    made.add_vline(x=1 if odds_ratios else 0, line={"color": theme.GREY, "width": 1.5, "dash": "dot"})
    made.update_xaxes(**theme.axis(what, **({"type": "log"} if odds_ratios else {})))
    return made.update_yaxes(**theme.names_axis(names, showgrid=True))


def effect(found: Effect) -> Figure:
    """How the log-odds go with a column, such as one that a model has splines of, with a confidence band.

    Parameters
    ----------
    found : Effect
        Of `LogisticRegression.effect`, or of a column of `column_effects`, which has no band.

    Returns
    -------
    plotly.graph_objects.Figure
        A curve for each outcome with its band; for levels, dots with intervals.

    See Also
    --------
    coefficients : All coefficients of the model.

    References
    ----------
    Harrell, F. E. (2015). Regression Modeling Strategies, section 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> model = LogisticRegression.from_formula("target ~ ns(`mean texture`, df=3)", frame)
    >>> figure = effect(model.effect("mean texture"))
    >>> figure.layout.title.text, figure.data[-1].name
    ('Effect of mean texture', '1 against 0')
    """
    theme.expect(found, (Effect,), "effect", "Make one with model.effect(column).")
    name, continuous = theme.written(found.column), not isinstance(found.at, str)
    at = f"{found.at:.4g}" if continuous else theme.written(found.at)
    band = "" if found.level is None else f", with {100 * found.level:g} % intervals at each point"
    held = "averages" if found.level is None else "medians, categories at their shares"
    made = theme.figure(
        f"Effect of {name}",
        f"Change of the log-odds compared with {name} = {at}{band}. Other columns are held at their {held}.",
        xaxis=theme.axis(name, **({} if continuous else {"type": "category"})),
        yaxis=theme.axis("change of the log-odds"),
        legend={"title": {"text": "outcome"}},
    )
    for k, outcome in enumerate(dict.fromkeys(point.outcome for point in found.points)):
        own = [point for point in found.points if point.outcome == outcome]
        _add_effect(made, f"{theme.written(outcome)} against {theme.written(found.reference)}", own, k, continuous)
    made.add_hline(y=0, line={"color": theme.GREY, "width": 1.5, "dash": "dot"})
    return made


def _add_effect(made: Figure, name: str, points: list[EffectPoint], k: int, continuous: bool) -> None:
    """A curve with its band, or dots with intervals."""
    values = [point.value if continuous else theme.written(point.value) for point in points]
    estimates, low, high = np.array([(point.estimate, point.low, point.high) for point in points]).T
    hover = [
        f"{f'{value:.4g}' if continuous else value}, {name}<br>{estimate:+.4g}{theme.between(a, b, '.4g')}"
        for value, estimate, a, b in zip(values, estimates, low, high, strict=True)
    ]
    style: dict[str, Any] = {"mode": "lines", "line": theme.line(k)}
    banded = bool(np.isfinite(low).all())
    if continuous and banded:
        made.add_scatter(
            x=[*values, *values[::-1]], y=[*high, *low[::-1]], fill="toself", mode="none", name=name, legendgroup=name,
            fillcolor=theme.see_through(theme.colour(k), 0.15), showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    if not continuous:
        bars = {"error_y": theme.error_bars(estimates, low, high, thickness=1.5, width=4)} if banded else {}
        style = {"mode": "markers", "marker": theme.marker(k, size=9), **bars}
    made.add_scatter(
        x=values, y=estimates, name=name, legendgroup=name, text=hover, hovertemplate="%{text}<extra></extra>", **style
    )


def _largest(numbers: Array, most: int) -> tuple[Array, str]:
    """The columns to draw, in their order, and by what they were chosen where some are left out."""
    by_z = np.isfinite(numbers[..., 3]).any(axis=1).all()
    sizes = np.abs(numbers[..., 3 if by_z else 0])
    size = np.where(np.isfinite(sizes), sizes, -1.0).max(axis=0)
    if len(size) <= most:
        return np.arange(len(size)), ""
    chosen = np.sort(np.argsort(-size, kind="stable")[:most])
    return chosen, f"the largest {'|z|' if by_z else '|coefficient| (which depends on the units of the columns)'}"


def _bars_subtitle(table: CoefficientTable, names: list[str], drawn: Array, chosen: str) -> str:
    words = [f"{100 * table.level:g} % intervals; the intercept is left out."]
    if not np.isfinite(drawn[..., 1]).any():
        why = "." if table.reason is None else f": {theme.written(table.reason)}"
        words = [f"Without intervals{why} The intercept is left out."]
    lost = [name for j, name in enumerate(names) if not np.isfinite(drawn[:, j, 0]).all()]
    if lost:
        lost = [f"Not drawn, because infinite or not estimable: {', '.join(lost)}."]
    return " ".join([*words, *filter(None, [chosen]), *lost])


def _add_bars(made: Figure, outcome: str, names: list[str], drawn: Array, k: int) -> None:
    """The estimates of one outcome with their intervals, beside those of the others."""
    finite = np.flatnonzero(np.isfinite(drawn[k, :, 0]))
    estimates, low, high = drawn[k, finite].T
    hover = [
        f"{names[j]}, {outcome}<br>{estimate:.4g}{theme.between(a, b, '.4g')}"
        for j, estimate, a, b in zip(finite, estimates, low, high, strict=True)
    ]
    bars = theme.error_bars(estimates, low, high, thickness=1.5, width=4)
    made.add_scatter(
        x=estimates, y=finite + (0.0 if len(drawn) == 1 else 0.5 * (k / (len(drawn) - 1) - 0.5)), mode="markers",
        name=outcome, marker=theme.marker(k, size=9), text=hover, hovertemplate="%{text}<extra></extra>",
        **({"error_x": bars} if np.isfinite(low).any() else {}),
    )  # fmt: skip


#: Panels above each other that can still be read, and lines without a name that a browser draws at ease.
_MOST_PANELS, _MOST_GREY = 6, 200


def regularisation_path(
    path: LogisticRegressionPath | LogisticRegressionCV,
    cross_validation: LogisticRegressionCV | None = None,
    most: int = 10,
    classes: Sequence[Any] | None = None,
) -> Figure:
    """Coefficients against the strength of the penalty, the number of columns used, and the held-out loss.

    Parameters
    ----------
    path : LogisticRegressionPath, or LogisticRegressionCV
        The latter keeps no coefficients of other strengths than the chosen one: its loss alone is drawn.
    cross_validation : LogisticRegressionCV, optional
        Draws its held-out loss below the coefficients.
    most : int, default=10
        Columns drawn in colours, those of the largest coefficient anywhere on the path; the others are grey.
    classes : list of labels, optional
        For more than two classes, those to draw; each has a panel of its own.

    Returns
    -------
    plotly.graph_objects.Figure
        Panels above each other with one axis of strengths.

    See Also
    --------
    discriminant.LogisticRegressionPath : The coefficients at every strength.
    discriminant.LogisticRegressionCV : Chooses a strength.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegressionPath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegressionPath(n_alphas=5, l1_ratio=1.0).fit(X, y)
    >>> figure = regularisation_path(path)
    >>> figure.data[-1].name, figure.data[-1].y.tolist()
    ('columns used', [0, 5, 13, 22, 27])
    """
    kinds = (LogisticRegressionPath, LogisticRegressionCV)
    theme.expect(path, kinds, "regularisation_path", "Fit one of these to the rows.")
    whole = path if isinstance(path, LogisticRegressionPath) else None
    crossed = path if isinstance(path, LogisticRegressionCV) else cross_validation
    if crossed is not None:
        theme.expect(crossed, kinds[1:], "regularisation_path", "cross_validation= takes no other model.")
    for model in filter(None, (whole, crossed)):
        check_is_fitted(model)
    check_integer("most", most, 1)
    outcomes = [] if whole is None else _outcomes(whole, classes)
    counting = whole is not None and whole.l1_ratio > 0
    heights = [1.0] * len(outcomes) + [0.45] * counting + [0.8] * (crossed is not None)
    made = theme.panels(
        "Regularisation path of logistic regression",
        _path_words(whole, crossed, most),
        heights,
        height=200 + int(260 * sum(heights)),
        legend={"title": {"text": "column"}},
    )
    if whole is not None:
        _add_paths(made, whole, outcomes, most)
    if whole is not None and counting:
        _add_counts(made, whole, len(outcomes) + 1)
    if crossed is not None:
        _add_losses(made, crossed, len(heights))
    made.update_xaxes(type="log")
    return made.update_xaxes(theme.axis("strength of the penalty, alpha (logarithmic scale)"), row=len(heights), col=1)


def _outcomes(path: LogisticRegressionPath, classes: Sequence[Any] | None) -> list[tuple[int, str]]:
    """The rows of the coefficients to draw, and how they are called."""
    known = path.classes_.tolist()
    if len(known) == 2:
        return [(0, f" ({theme.written(known[1])})")]
    chosen = known if classes is None else list(classes)
    unknown = [label for label in chosen if label not in known]
    if unknown or not chosen:
        raise LabelError(f"classes must be among {known}, got {shown(unknown[0]) if unknown else 'none'}.")
    if len(chosen) > _MOST_PANELS:
        raise ParameterError(
            f"{len(chosen)} classes would need as many panels: name up to {_MOST_PANELS}, classes={known[:2]}."
        )
    return [(known.index(label), f" ({theme.written(label)})") for label in chosen]


def _path_words(path: LogisticRegressionPath | None, crossed: LogisticRegressionCV | None, most: int) -> str:
    words = []
    if path is None:
        words.append("Only the chosen strength's coefficients are kept; LogisticRegressionPath has them all.")
    else:
        words += _left_out(path, most)
    if crossed is not None:
        rule = "within one standard error of the least" if crossed.rule == "one-se" else "the least"
        words.append(
            f"Chosen by {crossed.n_splits_}-fold cross-validation: alpha = {crossed.alpha_:.4g} (held-out loss {rule})."
        )
    return " ".join(words)


def _left_out(path: LogisticRegressionPath, most: int) -> list[str]:
    """Remarks on columns that are not coloured, or not drawn at all."""
    n_columns, ranked = path.coefs_.shape[2], _ranked(path)
    words = []
    if n_columns > most:
        words.append(f"Coloured: the {most} of {n_columns:,} columns with the largest coefficients.")
    if len(ranked) > most + _MOST_GREY:
        words.append(f"{len(ranked) - most - _MOST_GREY:,} columns with smaller ones are not drawn.")
    return words


def _ranked(path: LogisticRegressionPath) -> list[int]:
    """The columns that are used anywhere on the path, those of the largest coefficient first."""
    largest = np.abs(path.coefs_).max(axis=(0, 1))
    return [j for j in np.argsort(-largest, kind="stable").tolist() if largest[j] > 0]


def _add_paths(made: Figure, path: LogisticRegressionPath, outcomes: list[tuple[int, str]], most: int) -> None:
    names, ranked = theme.column_names(path, path.coefs_.shape[2]), _ranked(path)
    for row, (k, outcome) in enumerate(outcomes, 1):
        _add_others(made, path.alphas_, path.coefs_[:, k, ranked[most : most + _MOST_GREY]], row)
        for place, j in enumerate(ranked[:most]):
            made.add_scatter(
                x=path.alphas_, y=path.coefs_[:, k, j], mode="lines", name=names[j], legendgroup=names[j],
                line=theme.line(place, width=2), showlegend=row == 1, row=row, col=1,
                hovertemplate=f"{names[j]}: %{{y:.4g}}<br>at alpha = %{{x:.4g}}<extra></extra>",
            )  # fmt: skip
        made.update_yaxes(theme.axis(f"coefficient{outcome}"), row=row, col=1)


def _add_others(made: Figure, alphas: Array, coef: Array, row: int) -> None:
    """Lines of columns that are not named, as one trace with gaps."""
    if coef.shape[1]:
        gap = np.full((1, coef.shape[1]), np.nan)
        made.add_scatter(
            x=np.tile(np.append(alphas, np.nan), coef.shape[1]), y=np.concatenate((coef, gap)).T.ravel(), mode="lines",
            line={"color": theme.tint(theme.GREY, 0.5), "width": 1}, name="other columns", showlegend=row == 1,
            hoverinfo="skip", row=row, col=1,
        )  # fmt: skip


def _add_counts(made: Figure, path: LogisticRegressionPath, row: int) -> None:
    used = (path.coefs_ != 0).any(axis=1).sum(axis=1)
    made.add_scatter(
        x=path.alphas_, y=used, mode="lines", name="columns used", line={"color": theme.INK, "width": 2, "shape": "hv"},
        showlegend=False, hovertemplate="%{y} columns used at alpha = %{x:.4g}<extra></extra>", row=row, col=1,
    )  # fmt: skip
    made.update_yaxes(theme.axis("columns used", rangemode="tozero"), row=row, col=1)


def _add_losses(made: Figure, model: LogisticRegressionCV, row: int) -> None:
    made.add_scatter(
        x=model.alphas_, y=model.losses_, mode="lines+markers", name="held-out loss", showlegend=False,
        line={"color": theme.INK, "width": 1.5}, marker={"color": theme.INK, "size": 5},
        error_y={"array": model.loss_std_errors_, "thickness": 1, "width": 2}, row=row, col=1,
        customdata=model.loss_std_errors_,
        hovertemplate="held-out loss %{y:.4g}, standard error %{customdata:.2g}<br>at alpha = %{x:.4g}<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(theme.axis("held-out log-loss"), row=row, col=1)
    least = float(model.alphas_[chosen_strength(model.losses_, model.loss_std_errors_, "min")])
    for alpha, words, dash in ((least, "least", "dot"), (model.alpha_, "chosen", "solid")):
        if words == "chosen" or alpha != model.alpha_:
            made.add_vline(x=alpha, row=row, col=1, line={"color": theme.colour(4), "width": 1.5, "dash": dash})
            # Annotations of a logarithmic axis are placed by the logarithm.
            made.add_annotation(
                x=math.log10(alpha), y=1, xanchor="left", yanchor="top", xref="x", yref="y domain", text=words,
                showarrow=False, font={"size": 12}, row=row, col=1,
            )  # fmt: skip
