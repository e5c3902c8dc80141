"""Where a classifier predicts what: regions of a plane, posteriors over one column, regions that several claim.

Boundaries that move with priors and costs are drawn here too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array
from ..data import check_integer
from ..decision.posteriors import posterior
from ..errors import ColumnError, DiscriminantWarning, ParameterError
from ..estimators.discriminant import LinearDiscriminantAnalysis
from . import theme
from .points import LabelledPoints, add_points, add_rings, box, in_form_of, labelled_points, shown_rows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


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
    model: Any, X: Any, y: Any, features: Sequence[Any] | None = None, resolution: int = 120, limits: Any = None
) -> Figure:
    """The regions in which a model predicts each class, with the rows and those it gets wrong.

    A model of one column is drawn as its posteriors over that column: for two classes of a logistic regression or LDA
    the sigmoid. A model of two columns is drawn as it is; where it is made of binary models (`OneVsRest`, `OneVsOne`,
    `OutputCode`), regions that no class or several classes claim are hatched. Of a model of more columns no plane shows
    its regions without hiding others, so a model of the same kind and parameters is fitted to the two coordinates that
    are drawn: the first two discriminant directions, or the two ``features``. The subtitle says so, with the errors of
    both models.

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
    limits : array-like of shape (2, 2), optional
        The lowest values of both axes to show, then the highest. Default: all rows, with some room.

    Returns
    -------
    plotly.graph_objects.Figure
        Regions, rows, and rings around what is wrong.

    See Also
    --------
    moving_boundary : How priors and costs move the boundary.
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
    if points.n_columns == 1:
        return _over_one_column(model, X, points)
    view = _view(model, X, points, features)
    answers = view.answers(view.plane)
    wrong = _wrong(answers, points)
    made = theme.figure(
        f"Decision regions of {type(model).__name__}",
        _regions_subtitle(view, model, X, points, wrong),
        legend={"title": {"text": "class"}},
        alt=f"a plane coloured by predicted class, with rows of {len(points.classes)} classes and rings around errors.",
    )
    edges = box(view.plane, limits)
    _add_regions(made, view, points, edges, resolution)
    _add_ambiguous(made, view, edges, resolution)
    add_points(made, view.plane, points, lambda i: _words(points, answers[i], i))
    add_rings(made, view.plane, wrong, "misclassified")
    made.update_xaxes(**theme.axis(view.names[0], range=edges[:, 0].tolist(), showgrid=False))
    return made.update_yaxes(**theme.axis(view.names[1], range=edges[:, 1].tolist(), showgrid=False))


def _view(model: Any, X: Any, points: LabelledPoints, features: Sequence[Any] | None) -> View:
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
    shading += " Hatched: not claimed by exactly one class." if hasattr(view.model, "ambiguous") else ""
    if view.model is model:
        undecided = n - np.count_nonzero(np.isin(view.answers(view.plane), points.classes))
        left = f", {undecided:,} left undecided" if undecided else ""
        return f"{np.count_nonzero(wrong):,} of {n:,} rows misclassified{left}.{shading}{shown_rows(n)}"
    own = np.count_nonzero(np.asarray(model.predict(X)) != points.classes[points.codes])
    return (
        f"Not the fitted model itself, but the same kind fitted to {view.words}. Misclassified here: "
        f"{np.count_nonzero(wrong):,} of {n:,} rows; by the model in all columns: {own:,}.{shading}{shown_rows(n)}"
    )


def _wrong(answers: Array, points: LabelledPoints) -> Array:
    """The rows that got another class than their own; one that got none is not wrong."""
    return (answers != points.classes[points.codes]) & np.isin(answers, points.classes)


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
        _add_zero(made, x, y, margin, {"color": theme.INK, "width": 1.4})


def _add_region(
    made: Figure, x: Array, y: Array, inside: Array, certainty: Array | None, shade: str, name: str, K: int
) -> None:
    strength = np.full(len(inside), 0.5 + 0.5 / K) if certainty is None else certainty
    says = "" if certainty is None else "<br>largest posterior %{z:.3f}"
    made.add_heatmap(
        x=x, y=y, z=np.where(inside, strength, np.nan).reshape(len(y), len(x)).astype(np.float32),
        zmin=1 / K, zmax=1, showscale=False, hoverongaps=False,
        colorscale=[[0, theme.see_through(shade, _FAINT)], [1, theme.see_through(shade, _STRONG)]],
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


#: Steps on each side of a line.
_WIDEST = 32_000
#: Points of the grid between two lines of a hatching.
_HATCH = 4


def _add_ambiguous(made: Figure, view: View, edges: Array, resolution: int) -> None:
    """Hatch what no class or several classes claim before ties are broken."""
    if not hasattr(view.model, "ambiguous"):
        return
    x, y = (np.linspace(edges[0, j], edges[1, j], resolution) for j in range(2))
    found = view.model.ambiguous(view.form(np.column_stack([part.ravel() for part in np.meshgrid(x, y)])))
    for mask, name, rising in ((found.none, "no class", True), (found.several, "several classes", False)):
        if mask.any():
            along, up = _hatching(x, y, mask.reshape(len(y), len(x)), rising)
            made.add_scatter(
                x=along, y=up, mode="lines", name=f"claimed by {name}", hoverinfo="skip",
                line={"color": theme.INK, "width": 1.2, "dash": "solid" if rising else "dot"},
            )  # fmt: skip


def _hatching(x: Array, y: Array, mask: Array, rising: bool) -> tuple[list[Any], list[Any]]:
    """Diagonal lines over the masked points of a grid, as one line with gaps."""
    across, inside = (x, mask) if rising else (x[::-1], mask[:, ::-1])
    along: list[Any] = []
    up: list[Any] = []
    for offset in range(-len(y) + 1, len(x), _HATCH):
        rows = np.arange(max(0, -offset), min(len(y), len(x) - offset))
        for run in _runs(inside[rows, rows + offset]):
            ends = rows[[run[0], run[-1]]]
            along += [*across[ends + offset].tolist(), None]
            up += [*y[ends].tolist(), None]
    return along, up


def _runs(flags: Array) -> list[Array]:
    """The runs of at least two flags that are set, as places."""
    places = np.flatnonzero(flags)
    return [run for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(run) > 1]


#: Points along the only column of a model.
_ALONG = 600


def _over_one_column(model: Any, X: Any, points: LabelledPoints) -> Figure:
    """The posteriors of a model of one column, or its scores, over that column; rows below."""
    plane = np.column_stack((points.values[:, 0], np.zeros(points.n_rows)))
    low, high = box(plane)[:, 0]
    x = np.linspace(low, high, _ALONG)
    rows = in_form_of(X)(x[:, None])
    certain = hasattr(model, "predict_proba")
    values = np.asarray(model.predict_proba(rows)) if certain else _scores(model, rows)
    answers = np.asarray(model.predict(in_form_of(X)(points.values)))
    wrong = int(np.count_nonzero(answers != points.classes[points.codes]))
    cuts = _changes(x, np.asarray(model.predict(rows)))
    where = ", ".join(f"{cut:.4g}" for cut in cuts) or "nowhere"
    made = theme.figure(
        f"Decision of {type(model).__name__} over {points.names[0]}",
        f"The class predicted changes at {where}. {wrong:,} of {points.n_rows:,} rows misclassified."
        f"{shown_rows(points.n_rows)}",
        xaxis=theme.axis(points.names[0], range=[low, high]),
        yaxis=theme.axis("posterior" if certain else "score"),
        legend={"title": {"text": "class"}},
        alt=f"a curve for each of {len(points.classes)} classes over one column, its rows as marks below.",
    )
    assert values is not None
    _add_curves(made, x, values, points)
    base, step = (0.0, 0.05) if certain else (float(values.min()), 0.05 * float(np.ptp(values)))
    plane[:, 1] = base - step * (1 + points.codes)
    add_points(made, plane, points, lambda i: _words(points, answers[i], i))
    for cut in cuts:
        made.add_vline(x=cut, line={"color": theme.INK, "width": 1.5, "dash": "dash"})
    return made


def _changes(x: Array, answers: Array) -> list[float]:
    """Where the answer changes, halfway between the points on its two sides."""
    changed = np.flatnonzero(answers[1:] != answers[:-1])
    return ((x[changed] + x[changed + 1]) / 2).tolist()


def _add_curves(made: Figure, x: Array, values: Array, points: LabelledPoints) -> None:
    for k, name in enumerate(points.class_names):
        made.add_scatter(
            x=x, y=values[:, k], mode="lines", name=name, legendgroup=name, showlegend=False, line=theme.line(k),
            hovertemplate=f"{name}: %{{y:.3f}} at %{{x:.4g}}<extra></extra>",
        )  # fmt: skip


def moving_boundary(
    model: Any, X: Any, y: Any, decisions: Mapping[str, Any], resolution: int = 120, limits: Any = None
) -> Figure:
    """How the boundary of one model moves with priors and costs: a line for each decision.

    Parameters
    ----------
    model : fitted classifier of two columns and two classes
        With probabilities.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    decisions : dict of str to Decision
        What each line is called, and the costs and priors it stands for.
    resolution : int, default=120
        Points of the grid along each axis.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows, and where the risks of the two decisions are equal.

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
    check_integer("resolution", resolution, 10)
    points = labelled_points(model, X, y)
    if points.n_columns != 2 or len(points.classes) != 2 or not hasattr(model, "predict_proba"):
        raise ParameterError("moving_boundary draws a model with probabilities of two columns and two classes.")
    edges, form = box(points.values, limits), in_form_of(X)
    made = theme.figure(
        f"The boundary of {type(model).__name__} under other priors and costs",
        f"{points.class_names[1]} is decided for on the side of its rows.{shown_rows(points.n_rows)}",
        legend={"title": {"text": "class, decision"}},
        xaxis=theme.axis(points.names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(points.names[1], range=edges[:, 1].tolist()),
        alt=f"rows of two classes and {len(decisions)} boundaries between them, one for each decision.",
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    across, up = (np.linspace(edges[0, j], edges[1, j], resolution) for j in range(2))
    said = posterior(model, form(np.column_stack([part.ravel() for part in np.meshgrid(across, up)])))
    for k, (name, decision) in enumerate(decisions.items()):
        risk = decision.risk(said)
        _add_zero(made, across, up, risk[:, 1] - risk[:, 0], theme.line(k + 2, width=2.5), theme.written(name))
    return made


def boundaries(models: Mapping[str, Any], X: Any, y: Any, resolution: int = 120, limits: Any = None) -> Figure:
    """The boundaries of several models in one plane.

    Parameters
    ----------
    models : dict of str to fitted classifier
        What each boundary is called, and a model of two columns; all of the same classes.
    X : array-like or frame of shape (n_rows, 2)
        Rows to draw.
    y : array-like of shape (n_rows,)
        Their labels.
    resolution : int, default=120
        Points of the grid along each axis.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows, and a line for each model; the subtitle counts the errors of each.

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
    'Misclassified of 90 rows: least squares 12, ridge 0.'
    """
    check_integer("resolution", resolution, 10)
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("boundaries draws fitted models by name, such as {'LDA': model}.")
    points, *_ = [labelled_points(model, X, y) for model in models.values()]
    if points.n_columns != 2:
        raise ColumnError(f"boundaries draws a plane of two columns, and X has {points.n_columns}.")
    edges, form, labels = box(points.values, limits), in_form_of(X), points.classes[points.codes]
    wrong = [
        f"{theme.written(name)} {np.count_nonzero(model.predict(X) != labels):,}" for name, model in models.items()
    ]
    made = theme.figure(
        "The boundaries of several models",
        f"Misclassified of {points.n_rows:,} rows: {', '.join(wrong)}.{shown_rows(points.n_rows)}",
        legend={"title": {"text": "class, model"}},
        xaxis=theme.axis(points.names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(points.names[1], range=edges[:, 1].tolist()),
        alt=f"rows of {len(points.classes)} classes and the boundaries of {len(models)} models between them.",
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    across, up = (np.linspace(edges[0, j], edges[1, j], resolution) for j in range(2))
    rows = form(np.column_stack([part.ravel() for part in np.meshgrid(across, up)]))
    for k, (name, model) in enumerate(models.items()):
        margins = _margins(model, rows, np.asarray(model.predict(rows)), points.classes.tolist())
        for first, margin in enumerate(margins):
            shown = theme.written(name) if first == 0 else ""
            _add_zero(made, across, up, margin, theme.line(k + 2, width=2.5), shown)
    return made


def _add_zero(made: Figure, x: Array, y: Array, values: Array, style: dict[str, Any], name: str = "") -> None:
    """The line on which values of a grid are 0."""
    made.add_contour(
        x=x, y=y, z=_about_zero(values.reshape(len(y), len(x))), showscale=False, hoverinfo="skip",
        autocontour=False, contours={"start": 0, "end": 0, "size": 1, "coloring": "none"}, line=style,
        name=name, showlegend=bool(name),
    )  # fmt: skip


def _about_zero(grid: Array) -> Array:
    """The same line in two bytes a number: values far from it are cut off, those beside it keep their ratios."""
    beside = np.zeros(grid.shape, dtype=bool)
    for axis in (0, 1):
        changes = np.diff(np.signbit(grid), axis=axis)
        for place in (slice(None, -1), slice(1, None)):
            beside[(place, slice(None)) if axis == 0 else (slice(None), place)] |= changes
    reach = np.abs(grid[beside]).max(initial=0.0) or np.abs(grid).max(initial=1e-300)
    cut: Array = np.round(_WIDEST * np.clip(grid / reach, -1, 1)).astype(np.int16)
    return cut
