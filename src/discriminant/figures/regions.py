"""Decision regions in a plane."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import check_integer
from ..errors import ColumnError, DiscriminantWarning, ParameterError
from ..estimators.discriminant import LinearDiscriminantAnalysis
from . import house
from .rows import LabelledPoints, add_points, add_rings, box, in_form_of, labelled_points, shown_rows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]

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
    X, y : the rows it was fitted to, with their labels
    features : two column names or numbers, optional
        The columns to draw.
    resolution : int
        Points of the grid along each axis.

    Returns
    -------
    plotly.graph_objects.Figure

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
    made = house.figure(
        f"Decision regions of {type(model).__name__}",
        _subtitle(view, model, X, points, wrong),
        legend={"title": {"text": "class"}},
    )
    edges = box(view.plane)
    _add_regions(made, view, points, edges, resolution)
    add_points(made, view.plane, points, lambda i: _words(points, answers[i], i))
    add_rings(made, view.plane, wrong, "misclassified")
    made.update_xaxes(**house.axis(view.names[0], range=edges[:, 0].tolist(), showgrid=False))
    return made.update_yaxes(**house.axis(view.names[1], range=edges[:, 1].tolist(), showgrid=False))


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
    if isinstance(name, str) and house.written(name) in points.names:
        return points.names.index(house.written(name))
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


def _subtitle(view: View, model: Any, X: Any, points: LabelledPoints, wrong: Array) -> str:
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
    return f"row {row}: {points.name_of(row)}, predicted {house.written(answer)}{wrong}"


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
            shade = house.colour(k) if k < len(known) else house.GREY
            _add_region(made, x, y, inside, certainty, shade, house.written(label), len(known))
    for margin in _margins(view.model, rows, answers, labels):
        made.add_contour(
            x=x, y=y, z=margin.reshape(len(y), len(x)).astype(np.float32), showscale=False, hoverinfo="skip",
            autocontour=False, contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
            line={"color": house.INK, "width": 1.4}, showlegend=False,
        )  # fmt: skip


def _add_region(
    made: Figure, x: Array, y: Array, inside: Array, certainty: Array | None, shade: str, name: str, K: int
) -> None:
    strength = np.full(len(inside), 0.5 + 0.5 / K) if certainty is None else certainty
    says = "" if certainty is None else "<br>largest posterior %{z:.3f}"
    made.add_heatmap(
        x=x, y=y, z=np.where(inside, strength, np.nan).reshape(len(y), len(x)).astype(np.float32),
        zmin=1 / K, zmax=1, showscale=False, hoverongaps=False,
        colorscale=[[0, house.tint(shade, _FAINT)], [1, house.tint(shade, _STRONG)]],
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
