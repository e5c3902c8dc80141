"""Decision regions and boundaries in a plane, posteriors over one column, ambiguous regions of binary models."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, ArrayLike, Classifier, MatrixLike
from ..decision.posteriors import posterior
from ..errors import ColumnError, DiscriminantWarning, ParameterError, Setting
from ..estimators.discriminant import LinearDiscriminantAnalysis
from ..results import listed
from . import theme
from .points import (
    LabelledPoints,
    add_points,
    add_rings,
    box,
    grid,
    in_form_of,
    labelled_points,
    named_points,
    plane_figure,
    shown_rows,
)
from .sketch import Property

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ..decision.rules import Decision


#: Opacity of a region where its class is no better than a guess, and where it is certain.
MIN_OPACITY: Final = 0.10
MAX_OPACITY: Final = 0.50
#: Points of the grid between two marks of ambiguous regions.
MARK_STEP: Final = 3
#: Halvings of a side of a grid cell, to a thousandth of its length.
BISECTIONS: Final = 10
#: Points of a curve over one column.
CURVE_POINTS: Final = 600


@dataclass(frozen=True, eq=False)
class View:
    """The drawn plane: coordinates of the rows, names of the axes, and the model whose regions are drawn."""

    plane: Array
    names: list[str]
    model: Any
    form: Callable[[Array], Any]
    words: str = ""

    def predictions(self, plane: Array) -> Array:
        return np.asarray(self.model.predict(self.form(plane)))


def decision_regions(
    model: Classifier,
    X: MatrixLike,
    y: ArrayLike,
    features: Sequence[int | str] | None = None,
    resolution: int = 120,
    limits: ArrayLike | None = None,
) -> Figure:
    """Draw the regions in which a model predicts each class, with the rows and rings around misclassified ones.

    A model of one column is drawn as posteriors over that column. For a model made of binary models (`OneVsRest`,
    `OneVsOne`, `OutputCode`), ambiguous regions (no class or several classes) are marked. For a model of more than
    two columns, a model of the same kind and parameters is fitted to the two coordinates that are drawn: the first two
    discriminant directions, or two ``features``. The subtitle reports this, with the errors of both models.

    Parameters
    ----------
    model : fitted classifier
        Any model with ``predict`` and ``classes_``.
    X : array-like or frame of shape (n_rows, n_columns)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    features : two column names or numbers, optional
        The columns to draw.
    resolution : int, default=120
        Points of the grid along each axis.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    moving_boundary : The boundary under several priors and costs.
    boundary : The boundary of a linear model of two classes, with distances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = decision_regions(LinearDiscriminantAnalysis().fit(X[:, :2], y), X[:, :2], y)
    >>> [trace.name for trace in figure.data if trace.type == "scatter"]
    ['0', '1', '2', 'misclassified (30)']
    """
    points = labelled_points(model, X, y, "decision_regions")
    if points.n_columns == 1:
        return _over_one_column(model, X, points)
    view = _view(model, X, points, features)
    predicted = view.predictions(view.plane)
    wrong, edges = _is_wrong(predicted, points), box(view.plane, limits)
    made = plane_figure(
        f"Decision regions of {type(model).__name__}",
        _regions_subtitle(view, model, X, points, predicted),
        view.names,
        edges,
        f"a plane coloured by predicted class, with rows of {len(points.classes)} classes and rings around errors.",
    )
    made.update_xaxes(showgrid=False)
    made.update_yaxes(showgrid=False)
    x, y_, rows = grid(edges, resolution)
    _add_regions(made, view, points, x, y_, view.form(rows))
    _add_ambiguous(made, view, rows, resolution)
    add_points(made, view.plane, points, lambda i: _words(points, predicted[i], i))
    add_rings(made, view.plane, wrong, "misclassified")
    return made


def _view(model: Classifier, X: MatrixLike, points: LabelledPoints, features: Sequence[int | str] | None) -> View:
    if features is None and points.n_columns > 2:
        return _refitted(model, _projected(points), points)
    chosen = [0, 1] if features is None else _columns(features, points)
    names = [points.names[j] for j in chosen]
    if points.n_columns == 2:
        form = in_form_of(X)
        # The model expects the columns in the order of fit, whichever is drawn horizontally.
        return View(points.values[:, chosen], names, model, lambda plane: form(plane[:, chosen]))
    words = f"the columns {names[0]} and {names[1]} of {points.n_columns}"
    return _refitted(model, View(points.values[:, chosen], names, model, np.asarray, words), points)


def _columns(features: Sequence[int | str], points: LabelledPoints) -> list[int]:
    """The indexes of the two columns."""
    wanted = [] if isinstance(features, str) else [_column(name, points) for name in features]
    if len(set(wanted)) != 2 or len(wanted) != 2:
        raise ParameterError(Setting("features"), f" must be two different columns, got {features!r}.")
    return wanted


def _column(name: int | str, points: LabelledPoints) -> int:
    if isinstance(name, str) and theme.written(name) in points.names:
        return points.names.index(theme.written(name))
    if isinstance(name, (int, np.integer)) and 0 <= name < points.n_columns:
        return int(name)
    raise ColumnError(
        Setting("features"), f" has {name!r}, which is not a column. Columns: {listed(points.names, 20)}."
    )


def _projected(points: LabelledPoints) -> View:
    """The first two discriminant directions; for two classes the only one, and the largest remaining variation."""
    labels, p = points.classes[points.codes], points.n_columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscriminantWarning)
        along = LinearDiscriminantAnalysis().fit(points.values, labels).transform(points.values)
    if along.shape[1] >= 2:
        names = ["First discriminant direction", "Second discriminant direction"]
        return View(along[:, :2], names, None, np.asarray, f"the first two discriminant directions of {p} columns")
    names = ["Discriminant direction", "First principal component of the residuals"]
    words = f"the discriminant direction of {p} columns and the first principal component of the residuals"
    plane = np.column_stack((along[:, 0], _residual_component(points.values, along[:, 0])))
    return View(plane, names, None, np.asarray, words)


def _residual_component(values: Array, along: Array) -> Array:
    """The first principal component of the standardised columns after regression on a coordinate."""
    sd = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    unit = along - along.mean()
    unit = unit / np.linalg.norm(unit)
    return PCA(1, svd_solver="full").fit_transform(standard - np.outer(unit, unit @ standard))[:, 0]


def _refitted(model: Classifier, view: View, points: LabelledPoints) -> View:
    labels = points.classes[points.codes]
    try:
        with warnings.catch_warnings():
            # Warnings of the fit to two coordinates are not about the user's model.
            warnings.simplefilter("ignore", DiscriminantWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            drawn = clone(model).fit(view.plane, labels)
    except Exception as error:
        error.add_note(f"The error occurred while a model of the same kind was fitted to {view.words} for the figure.")
        raise
    return replace(view, model=drawn)


def _regions_subtitle(view: View, model: Classifier, X: MatrixLike, points: LabelledPoints, predicted: Array) -> str:
    n, n_wrong = points.n_rows, np.count_nonzero(_is_wrong(predicted, points))
    shading = " Stronger colour: higher posterior." if hasattr(view.model, "predict_proba") else ""
    shading += " Marked: ambiguous (no class or several classes)." if hasattr(view.model, "ambiguous") else ""
    if view.model is model:
        undecided = n - np.count_nonzero(np.isin(predicted, points.classes))
        more = f", undecided: {undecided:,}" if undecided else ""
        return f"Misclassified rows: {n_wrong:,} of {n:,}{more}.{shading}{shown_rows(n)}"
    own = np.count_nonzero(np.asarray(model.predict(X)) != points.classes[points.codes])
    return (
        f"A model of the same kind, fitted to {view.words}. Misclassified rows: {n_wrong:,} of {n:,} (model on "
        f"these two axes), {own:,} (model on all columns).{shading}{shown_rows(n)}"
    )


def _is_wrong(predicted: Array, points: LabelledPoints) -> Array:
    """Which rows are misclassified; undecided ones are not."""
    return (predicted != points.classes[points.codes]) & np.isin(predicted, points.classes)


def _words(points: LabelledPoints, predicted: Hashable, row: int) -> str:
    wrong = "" if predicted == points.classes[points.codes[row]] else " (wrong)"
    return f"row {row}: {points.name_of(row)}, predicted {theme.written(predicted)}{wrong}"


def _add_regions(made: Figure, view: View, points: LabelledPoints, x: Array, y: Array, rows: MatrixLike) -> None:
    predicted = np.asarray(view.model.predict(rows))
    known = points.classes.tolist()
    labels = [*known, *sorted({label for label in predicted.tolist() if label not in known}, key=str)]
    strength, words = np.full(len(predicted), 0.5 + 0.5 / len(known)), ""
    if hasattr(view.model, "predict_proba"):
        strength, words = view.model.predict_proba(rows).max(axis=1), "<br>largest posterior %{z:.3f}"
    for k, label in enumerate(labels):
        inside = predicted == label
        if inside.any():
            shade = theme.colour(k) if k < len(known) else theme.GREY
            made.add_heatmap(
                x=x, y=y, z=np.where(inside, strength, np.nan).reshape(len(y), len(x)).astype(np.float32),
                zmin=1 / len(known), zmax=1, showscale=False, hoverongaps=False,
                colorscale=[[0, theme.see_through(shade, MIN_OPACITY)], [1, theme.see_through(shade, MAX_OPACITY)]],
                hovertemplate=f"predicted: {theme.written(label)}{words}<extra></extra>",
            )  # fmt: skip
    style: dict[str, Property] = {"color": theme.INK, "width": 1.4}
    if hasattr(view.model, "ambiguous"):
        codes = np.array([labels.index(label) for label in predicted.tolist()]).reshape(len(y), len(x))
        line = _boundary_lines(
            codes, lambda plane: [labels.index(own) for own in view.predictions(plane).tolist()], x, y
        )
        made.add_scatter(x=line[:, 0], y=line[:, 1], mode="lines", line=style, hoverinfo="skip", showlegend=False)
        return
    for margin in _margins(view.model, rows, predicted, labels):
        _add_zero(made, x, y, margin, style)


def _boundary_lines(codes: Array, predict: Callable[[Array], Sequence[int]], x: Array, y: Array) -> Array:
    """Lines between regions, for scores that jump at the boundaries, such as votes: x and y, NaN between two lines.

    The place where the prediction changes is bisected on every side of a grid cell. In each cell these places are
    joined with their mean: a straight boundary stays straight, and three regions meet in a point.
    """
    ny, nx = codes.shape
    total, n = np.zeros((ny - 1, nx - 1, 2)), np.zeros((ny - 1, nx - 1, 1))
    sides: list[tuple[Array, Array]] = []  # cells, and the place on one of their sides
    for along in (0, 1):  # sides between neighbours in a row, and in a column
        step = np.array([0, 1]) if along == 0 else np.array([1, 0])
        first = np.argwhere(np.diff(codes, axis=1 - along) != 0)
        second = first + step
        a, b = (np.column_stack((x[place[:, 1]], y[place[:, 0]])) for place in (first, second))
        own = codes[first[:, 0], first[:, 1]]
        for _ in range(BISECTIONS if len(first) else 0):
            middle = (a + b) / 2
            stays = (np.asarray(predict(middle)) == own)[:, None]
            a, b = np.where(stays, middle, a), np.where(stays, b, middle)
        for cells in (first, first - step[::-1]):  # the cells on both sides
            inside = (cells >= 0).all(axis=1) & (cells < (ny - 1, nx - 1)).all(axis=1)
            sides.append((cells[inside], b[inside]))
    for cells, places in sides:
        np.add.at(total, tuple(cells.T), places)
        np.add.at(n, tuple(cells.T), 1)
    means = total / np.maximum(n, 1)
    lines = [np.stack((places, means[tuple(cells.T)], np.full_like(places, np.nan)), 1) for cells, places in sides]
    return np.concatenate(lines).reshape(-1, 2).astype(np.float32)


def _margins(model: Classifier, rows: MatrixLike, predicted: Array, labels: Sequence[Hashable]) -> list[Array]:
    """For each region (one of two) the difference between its score and the largest other, which is 0 on its boundary.

    Scores of the model give smooth boundaries; where their maximum is not the prediction, 0 and 1 are used instead.
    """
    inside = np.column_stack([predicted == label for label in labels]).astype(float)
    scores = _scores(model, rows)
    if scores is None or scores.shape != inside.shape or not (scores.argmax(axis=1) == inside.argmax(axis=1)).all():
        scores = inside
    margins = []
    for k in range(len(labels)):
        others = np.delete(scores, k, axis=1)
        if 0 < inside[:, k].sum() < len(inside):
            margins.append(scores[:, k] - others.max(axis=1))
    return margins[:1] if len(labels) == 2 else margins


def _scores(model: Classifier, rows: MatrixLike) -> Array | None:
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            found = np.asarray(getattr(model, name)(rows), dtype=np.float64)
            return np.column_stack((-found, found)) if found.ndim == 1 else found
    return None


def _add_ambiguous(made: Figure, view: View, rows: Array, resolution: int) -> None:
    """Mark ambiguous points: no class or several classes before ties are broken."""
    if not hasattr(view.model, "ambiguous"):
        return
    row, column = np.divmod(np.arange(len(rows)), resolution)
    marked = rows[(row % MARK_STEP == 0) & (column % MARK_STEP == 0)]
    found, labels = view.model.ambiguous(view.form(marked)), np.array(list(map(theme.written, view.model.classes_)))
    tied = [f"ambiguous: tie of {listed(labels[own], len(labels))}" for own in found.candidates]
    words = np.where(found.none, "ambiguous: no class", tied)
    for mask, name, symbol in (
        (found.none, "no class", "line-ne-open"),
        (found.several, "several classes", "line-nw-open"),
    ):
        if mask.any():
            made.add_scatter(
                x=marked[mask, 0], y=marked[mask, 1], mode="markers", name=f"ambiguous: {name}",
                text=words[mask].tolist(), hovertemplate="%{text}<extra></extra>",
                marker={"symbol": symbol, "size": 7, "color": theme.INK, "line": {"width": 1.2}},
            )  # fmt: skip


def _over_one_column(model: Classifier, X: MatrixLike, points: LabelledPoints) -> Figure:
    """The posteriors or scores of a model of one column over that column, with the rows below."""
    plane = np.column_stack((points.values[:, 0], np.zeros(points.n_rows)))
    low, high = box(plane)[:, 0]
    x = np.linspace(low, high, CURVE_POINTS)
    rows = in_form_of(X)(x[:, None])
    has_posteriors = hasattr(model, "predict_proba")
    values = np.asarray(model.predict_proba(rows)) if hasattr(model, "predict_proba") else _scores(model, rows)
    assert values is not None
    predicted = np.asarray(model.predict(in_form_of(X)(points.values)))
    wrong, along = np.count_nonzero(predicted != points.classes[points.codes]), np.asarray(model.predict(rows))
    changed = np.flatnonzero(along[1:] != along[:-1])
    thresholds = ((x[changed] + x[changed + 1]) / 2).tolist()
    where = listed(f"{threshold:.4g}" for threshold in thresholds) or "none"
    made = theme.figure(
        f"{'Posterior' if has_posteriors else 'Score'} of {type(model).__name__} by {points.names[0]}",
        f"Thresholds: {where}. Misclassified rows: {wrong:,} of {points.n_rows:,}.{shown_rows(points.n_rows)}",
        xaxis=theme.axis(points.names[0], range=[low, high]),
        yaxis=theme.axis("Posterior probability" if has_posteriors else "Score"),
        legend={"title": {"text": "class"}},
        alt=f"a curve for each of {len(points.classes)} classes over one column, with the rows below.",
    )
    for k, name in enumerate(points.class_names):
        made.add_scatter(
            x=x, y=values[:, k], mode="lines", name=name, legendgroup=name, showlegend=False, line=theme.line(k),
            hovertemplate=f"{name}: %{{y:.3f}} at %{{x:.4g}}<extra></extra>",
        )  # fmt: skip
    base, step = (0.0, 0.05) if has_posteriors else (float(values.min()), 0.05 * float(np.ptp(values)))
    plane[:, 1] = base - step * (1 + points.codes)
    add_points(made, plane, points, lambda i: _words(points, predicted[i], i))
    for threshold in thresholds:
        made.add_vline(x=threshold, line={"color": theme.INK, "width": 1.5, "dash": "dash"})
    return made


def moving_boundary(
    model: Classifier,
    X: MatrixLike,
    y: ArrayLike,
    decisions: Mapping[str, Decision],
    resolution: int = 120,
    limits: ArrayLike | None = None,
) -> Figure:
    """Draw the boundary of one model under several priors and costs.

    Parameters
    ----------
    model : fitted classifier of two columns and two classes
        A model with predicted probabilities.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    decisions : dict of str to Decision
        Costs and priors of each boundary, by name.
    resolution : int, default=120
        Points of the grid along each axis.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows, and a line for each decision, on which the risks of both classes are equal.

    See Also
    --------
    discriminant.Decision : Costs, priors, rejection.

    Examples
    --------
    >>> from discriminant import Decision, LinearDiscriminantAnalysis
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals()
    >>> model = LinearDiscriminantAnalysis().fit(data.X, data.y)
    >>> dear = Decision({"second": {"first": 10.0}, "first": {"second": 1.0}})
    >>> decisions = {"equal costs": Decision(), "missing the second costs 10": dear}
    >>> [trace.name for trace in moving_boundary(model, data.X, data.y, decisions).data][2:]
    ['equal costs', 'missing the second costs 10']
    """
    points = labelled_points(model, X, y, "moving_boundary", 2)
    if len(points.classes) != 2 or not hasattr(model, "predict_proba"):
        raise ParameterError("figures.moving_boundary requires a model of two classes with predicted probabilities.")
    edges = box(points.values, limits)
    made = plane_figure(
        f"Boundaries of {type(model).__name__} under several priors and costs",
        f"{points.class_names[1]} is predicted on the side of its rows.{shown_rows(points.n_rows)}",
        points.names,
        edges,
        f"rows of two classes and {len(decisions)} boundaries between them, one for each decision.",
        legend={"title": {"text": "class, decision"}},
    )
    add_points(made, points.values, points)
    across, up, rows = grid(edges, resolution)
    posteriors = posterior(model, in_form_of(X)(rows))
    for k, (name, decision) in enumerate(decisions.items()):
        risk = decision.risk(posteriors)
        _add_zero(made, across, up, risk[:, 1] - risk[:, 0], theme.line(k + 2, width=2.5), theme.written(name))
    return made


def boundaries(
    models: Mapping[str, Classifier],
    X: MatrixLike,
    y: ArrayLike,
    resolution: int = 120,
    limits: ArrayLike | None = None,
) -> Figure:
    """Draw the decision boundaries of several models in one plane.

    Parameters
    ----------
    models : dict of str to fitted classifier
        Models of two columns and the same classes, by name.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    resolution : int, default=120
        Points of the grid along each axis.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows, and a line for each model; the subtitle has the errors of each.

    See Also
    --------
    moving_boundary : One model under several priors and costs.
    decision_regions : One model, with its regions.

    Examples
    --------
    >>> from discriminant import LeastSquaresClassifier, LogisticRegression
    >>> from discriminant.datasets import far_rows
    >>> data = far_rows()
    >>> models = {"least squares": LeastSquaresClassifier(), "ridge": LogisticRegression(alpha=0.01)}
    >>> fitted = {name: model.fit(data.X, data.y) for name, model in models.items()}
    >>> boundaries(fitted, data.X, data.y).layout.title.subtitle.text
    'Misclassified rows of 90: least squares 12, ridge 0.'
    """
    points = named_points(models, X, y, "boundaries")
    edges, labels = box(points.values, limits), points.classes[points.codes]
    wrong = [
        f"{theme.written(name)} {np.count_nonzero(model.predict(X) != labels):,}" for name, model in models.items()
    ]
    made = plane_figure(
        "Decision boundaries",
        f"Misclassified rows of {points.n_rows:,}: {', '.join(wrong)}.{shown_rows(points.n_rows)}",
        points.names,
        edges,
        f"rows of {len(points.classes)} classes and the boundaries of {len(models)} models between them.",
        legend={"title": {"text": "class, model"}},
    )
    add_points(made, points.values, points)
    across, up, rows = grid(edges, resolution)
    rows = in_form_of(X)(rows)
    for k, (name, model) in enumerate(models.items()):
        margins = _margins(model, rows, np.asarray(model.predict(rows)), points.classes.tolist())
        for first, margin in enumerate(margins):
            shown = theme.written(name) if first == 0 else ""
            _add_zero(made, across, up, margin, theme.line(k + 2, width=2.5), shown)
    return made


def _add_zero(made: Figure, x: Array, y: Array, values: Array, style: Mapping[str, Property], name: str = "") -> None:
    """Draw the line on which the values of a grid are 0."""
    made.add_contour(
        x=x, y=y, z=values.reshape(len(y), len(x)).astype(np.float32), showscale=False, hoverinfo="skip",
        autocontour=False, contours={"start": 0, "end": 0, "size": 1, "coloring": "none"}, line=style,
        name=name, showlegend=bool(name),
    )  # fmt: skip
