"""Algorithms at work, frame by frame: the perceptron's updates, and a solver going downhill."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import check_integer
from ..errors import ColumnError, LabelError, ParameterError
from ..estimators.perceptron import Perceptron
from ..inference.likelihood import log_likelihoods
from ..objective import Objective
from ..solvers.trace import Trace
from . import theme
from .geometry import SeparatingLine
from .points import LabelledPoints, add_points, around, box, equal_scales, labelled_points, shown_rows
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def perceptron_trace(model: Perceptron, X: Any, y: Any, frames: int = 60) -> Figure:
    """The perceptron's line after each update, step by step, with the row that caused it.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``trace=True`` to two columns and two classes.
    X : array-like or frame of shape (n_rows, 2)
        The rows of fit.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        At most this many steps are shown, evenly spaced, the first and the last among them.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider.

    See Also
    --------
    descent_trace : The iterations of other models.

    Examples
    --------
    >>> from discriminant.estimators.perceptron import Perceptron
    >>> X = [[1, 1], [0, 1], [2, 0], [0, -1], [1, 2], [-1, 0]]
    >>> y = ["up", "down", "up", "down", "up", "down"]
    >>> figure = perceptron_trace(Perceptron(trace=True).fit(X, y), X, y)
    >>> len(figure.frames)
    4
    """
    theme.expect(model, (Perceptron,), "perceptron_trace", "Fit discriminant's Perceptron with trace=True.")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y)
    _refuse_untraced(model, points)
    edges = box(points.values)
    trace: list[Any] = model.trace_
    shown = theme.evenly(len(trace) + 1, frames)
    skipping = f" {len(shown)} of {len(trace) + 1:,} steps are shown." if len(shown) <= len(trace) else ""
    moments = [_perceptron_moment(trace, points, edges, int(step), skipping) for step in shown]
    made = theme.figure(
        "The perceptron, step by step",
        moments[0].words,
        least_lines=2,
        legend={"title": {"text": "class"}},
        alt=f"an animation of the line between two classes as it moves with each of {len(trace):,} updates.",
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    first = len(made.data)
    made.add_traces(moments[0].traces)
    _add_kept(made, model, edges)
    made.update_xaxes(**theme.axis(points.names[0], range=edges[:, 0].tolist()))
    made.update_yaxes(**theme.axis(points.names[1], range=edges[:, 1].tolist(), **equal_scales(edges)))
    animate(made, moments, [first, first + 1])
    return made


def _refuse_untraced(model: Perceptron, points: LabelledPoints) -> None:
    if len(points.classes) != 2:
        raise LabelError(
            f"perceptron_trace draws the line between two classes; the model was fitted to {len(points.classes)}. "
            "Fit it to two of them, or to one against the rest: y == label."
        )
    if points.n_columns != 2:
        raise ColumnError(f"perceptron_trace draws a line between two columns, and X has {points.n_columns}.")
    if not hasattr(model, "trace_"):
        raise ParameterError("The updates were not kept: fit Perceptron(trace=True).")
    trace: list[Any] = model.trace_
    if max((step.row for step in trace), default=-1) >= points.n_rows:
        raise ParameterError("The trace names rows that X does not have: give perceptron_trace the rows of fit.")
    if trace and trace[0].updates != 1:
        raise ParameterError("The trace begins in the middle: partial_fit keeps its last pass only. Use fit.")


def _perceptron_moment(trace: list[Any], points: LabelledPoints, edges: Array, step: int, more: str) -> Moment:
    """The picture after some updates; before the first there is no line."""
    total = len(trace)
    ends, row = np.empty((0, 2)), np.empty((0, 2))
    if step == 0:
        words = f"Start at w = 0, b = 0; {total:,} updates follow."
    else:
        update = trace[step - 1]
        line = SeparatingLine(update.coef, update.intercept)
        ends = line.within(around(edges))
        row = points.values[[update.row]]
        w = ", ".join(f"{value:.4g}" for value in update.coef)
        words = (
            f"Update {update.updates:,} of {total:,}, pass {update.epoch:,}: row {update.row:,} "
            f"({points.name_of(update.row)}) was on the wrong side. Now w = ({w}), b = {update.intercept:.4g}."
        )
        if not len(line.within(edges)):
            words += " The line lies outside the picture."
    return Moment([_line_trace(ends), _row_trace(row)], words + more + shown_rows(points.n_rows), str(step))


def _line_trace(ends: Array) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "name": "boundary", "line": {"color": theme.INK, "width": 2.5},
        "hoverinfo": "skip", **_coordinates(ends),
    }  # fmt: skip


def _row_trace(row: Array) -> dict[str, Any]:
    ring = {"symbol": "circle-open", "size": 18, "color": theme.colour(4), "line": {"width": 3}}
    return {
        "type": "scatter", "mode": "markers", "name": "row of the update", "marker": ring, "hoverinfo": "skip",
        **_coordinates(row),
    }  # fmt: skip


def _coordinates(points: Array) -> dict[str, Any]:
    """Coordinates of a trace; one empty point keeps its place in the legend."""
    return {axis: points[:, j].tolist() or [None] for j, axis in enumerate("xy")}


def _add_kept(made: Figure, model: Perceptron, edges: Array) -> None:
    """The line that classifies, where it is not that of the last update."""
    trace: list[Any] = model.trace_
    last = trace[-1] if trace else None
    kept = SeparatingLine(model.coef_[0], float(model.intercept_[0]))
    if last is not None and np.array_equal(last.coef, kept.w) and last.intercept == kept.b:
        return
    ends = kept.within(around(edges))
    if len(ends):
        made.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", name="line that is kept", hoverinfo="skip",
            line={"color": theme.GREY, "width": 2, "dash": "dash"},
        )  # fmt: skip


#: Points of the contours along each axis, and rows that are enough to draw them.
_GRID, _CONTOUR_ROWS = 41, 5_000


@dataclass(frozen=True, eq=False)
class FollowedDescent:
    """The iterations of a fit: objective and parameters, and the objective itself where it can be drawn."""

    model: Any
    steps: list[Any]
    objective: Objective | None

    @property
    def values(self) -> Array:
        return np.array([step.value for step in self.steps])

    @property
    def way(self) -> Array:
        """The two parameters that are drawn: both coefficients, or the only one and the intercept."""
        return np.array([step.theta[0, :2] for step in self.steps])

    @property
    def names(self) -> list[str]:
        """What the two parameters are."""
        assert self.objective is not None
        names = theme.column_names(self.model, self.objective.n_columns)
        return [f"coefficient of {name}, standardised" for name in names] + ["intercept"] * (len(names) == 1)

    @property
    def sampling(self) -> int:
        """The contours are drawn from one row of so many."""
        return 1 if self.objective is None else max(1, self.objective.data.n_rows // _CONTOUR_ROWS)

    def value_at(self, objective: Objective, first: float, second: float) -> float:
        """The objective with the two parameters set and the intercept as at the end."""
        theta = self.steps[-1].theta.copy()
        theta[0, :2] = first, second
        smooth = objective.value_and_gradient(theta)[0]
        return smooth + float((objective.lasso * np.abs(theta)).sum())


def descent_trace(model: Any, frames: int = 60) -> Figure:
    """The objective by iteration; of a model of one or two columns also its contours, and the way over them.

    Parameters
    ----------
    model : LogisticRegression, or another model with a ``solution_``
        Fitted with ``trace=True``.
    frames : int, default=60
        At most this many iterations are shown, evenly spaced, the first and the last among them.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider. Coefficients are those of standardised columns, in which the solver works.
        Contours of two coefficients are those with the intercept as at the end.

    See Also
    --------
    perceptron_trace : The updates of a perceptron.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.datasets import crossed_normals
    >>> data = crossed_normals(200)
    >>> model = LogisticRegression(alpha=0.01, solver="gradient", trace=True).fit(data.X, data.y)
    >>> figure = descent_trace(model)
    >>> len(figure.frames) == len(model.solution_.trace)
    True
    """
    check_is_fitted(model)
    check_integer("frames", frames, 2)
    steps = getattr(getattr(model, "solution_", None), "trace", [])
    if not steps:
        raise ParameterError(
            f"{type(model).__name__} kept no iterations: fit a LogisticRegression with trace=True, and a solver that "
            "iterates."
        )
    descent = FollowedDescent(model, steps, _drawable(model, steps))
    shown = theme.evenly(len(steps), frames)
    moments = [_moment(descent, shown[: i + 1], len(shown)) for i in range(len(shown))]
    made = _first_picture(descent, moments[0].words)
    first = len(made.data)
    made.add_traces(moments[0].traces)
    animate(made, moments, list(range(first, len(made.data))))
    return made


def _drawable(model: Any, steps: list[Any]) -> Objective | None:
    """The objective, if it has two coefficients, or one and an intercept, and the rows are still at hand."""
    objective = getattr(model, "_training", None)
    if not isinstance(objective, Objective) or len(steps[0].theta) != 1:
        return None
    return objective if objective.n_columns <= 2 <= steps[0].theta.shape[1] else None


def _first_picture(descent: FollowedDescent, words: str) -> Figure:
    from plotly.subplots import make_subplots

    made = make_subplots(rows=1, cols=1 if descent.objective is None else 2, horizontal_spacing=0.12)
    title = f"{type(descent.model).__name__} going downhill (solver {descent.model.solution_.solver})"
    way = "." if descent.objective is None else ", and the way over the contours of the objective."
    alt = f"an animation of the objective falling over {len(descent.steps) - 1:,} iterations{way}"
    made.update_layout(theme.layout(title, words, least_lines=3, showlegend=False, alt=alt))
    values = descent.values
    chosen = theme.thinned(np.arange(len(values), dtype=float), values)
    made.add_scatter(
        x=chosen, y=values[chosen], mode="lines", line=theme.line(0), name="objective",
        customdata=[descent.steps[i].gradient_norm for i in chosen],
        hovertemplate="iteration %{x}: objective %{y:.6g},<br>largest derivative %{customdata:.2g}<extra></extra>",
        row=1, col=1,
    )  # fmt: skip
    made.update_xaxes(theme.axis("iteration"), row=1, col=1)
    made.update_yaxes(theme.axis("objective: mean loss and penalty"), row=1, col=1)
    if descent.objective is not None:
        _add_contours(made, descent, descent.objective.every(descent.sampling))
    return made


def _add_contours(made: Figure, descent: FollowedDescent, objective: Objective) -> None:
    way = descent.way
    low, high = way.min(axis=0), way.max(axis=0)
    room = 0.25 * np.maximum(high - low, 1e-3 + 0.1 * np.abs(high))
    x, y = (np.linspace(low[j] - room[j], high[j] + room[j], _GRID) for j in range(2))
    values = np.array([[descent.value_at(objective, a, b) for a in x] for b in y])
    made.add_contour(
        x=x, y=y, z=values.astype(np.float32), showscale=False, ncontours=25, name="contours",
        colorscale=[[0, theme.tint(theme.colour(0), 0.9)], [0.3, theme.tint(theme.colour(0), 0.35)], [1, "#ffffff"]],
        line={"width": 0.6, "color": "white"}, hovertemplate="objective %{z:.5g}<extra></extra>", row=1, col=2,
    )  # fmt: skip
    for update, name in zip((made.update_xaxes, made.update_yaxes), descent.names, strict=True):
        update(theme.axis(name), row=1, col=2)


def _moment(descent: FollowedDescent, shown: Array, n_frames: int) -> Moment:
    now, total = int(shown[-1]), len(descent.steps)
    value = float(descent.values[now])
    words = f"Iteration {now:,} of {total - 1:,}: objective {value:.6g}, largest derivative "
    words += f"{descent.steps[now].gradient_norm:.2g}." + _remarks(descent, n_frames)
    here = {"size": 12, "color": theme.colour(4)}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "markers", "x": [now], "y": [value], "marker": here, "hoverinfo": "skip"}
    ]
    if descent.objective is not None:
        traces.append(_way_trace(descent.way[shown]))
    return Moment(traces, words, str(now))


def _remarks(descent: FollowedDescent, n_frames: int) -> str:
    total, remarks = len(descent.steps), ""
    if n_frames < total:
        remarks += f" {n_frames} of {total:,} iterations are shown."
    if descent.objective is not None and descent.objective.shape[1] > 2:
        remarks += " Contours: with the intercept as at the end."
    if descent.sampling > 1:
        remarks += f" Contours are drawn from one row of {descent.sampling}."
    return remarks


def _way_trace(way: Array) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines+markers", "x": way[:, 0].tolist(), "y": way[:, 1].tolist(),
        "marker": {"size": [5] * (len(way) - 1) + [12], "color": theme.colour(4)},
        "line": {"color": theme.colour(4), "width": 2}, "xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip",
    }  # fmt: skip


#: Points of the surface of a log-likelihood along each axis.
_SURFACE = 61


def likelihood_paths(models: Mapping[str, Any], X: Any, y: Any) -> Figure:
    """The log-likelihood over two parameters, and the way that each solver took over it, in the units of the data.

    Parameters
    ----------
    models : dict of str to LogisticRegression
        What each way is called, and a model fitted to two classes with ``trace=True``, of one column (drawn: intercept
        and coefficient) or of two (drawn: both coefficients, with the intercept as at the end of the last model).
    X : array-like or frame of shape (n_rows, n_columns)
        The rows of fit.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
        Contours, and a line with a dot for each iteration.

    See Also
    --------
    descent_trace : One solver, step by step.
    discriminant.solvers.Trace : What is drawn.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.datasets import six_rows
    >>> from discriminant.solvers import IRLS, GradientDescent
    >>> data = six_rows()
    >>> models = {"IRLS": LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y)}
    >>> figure = likelihood_paths(models, data.X, data.y)
    >>> figure.data[1].x[:3].round(3), figure.data[1].y[:3].round(3)
    (array([ 0.   , -2.8  , -3.884]), array([0.  , 0.8 , 1.11]))
    """
    ways, names, intercept = _ways(models)
    edges = box(np.concatenate(list(ways.values())))
    axes = [np.linspace(edges[0, j], edges[1, j], _SURFACE) for j in range(2)]
    first, second = (part.ravel() for part in np.meshgrid(*axes))
    points = labelled_points(next(iter(models.values())), X, y)
    if intercept is None:
        values = log_likelihoods(points.values, points.codes, second[:, None], first)
    else:
        both = np.column_stack((first, second))
        values = log_likelihoods(points.values, points.codes, both, np.full(len(first), intercept))
    words = " Contours: with the intercept as at the end." if intercept is not None else ""
    made = theme.figure(
        "The log-likelihood and the ways over it",
        f"Each dot is an iteration, in the units of the data.{words}",
        xaxis=theme.axis(names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(names[1], range=edges[:, 1].tolist()),
        alt=f"contours of a hill, and {len(ways)} paths of solvers that climb it from the same start.",
    )
    made.add_contour(
        x=axes[0], y=axes[1], z=values.reshape(_SURFACE, _SURFACE).astype(np.float32), ncontours=30, showscale=False,
        name="log-likelihood",
        colorscale=[[0, "#ffffff"], [0.7, theme.tint(theme.GREY, 0.3)], [1, theme.tint(theme.GREY, 0.8)]],
        line={"width": 0.6, "color": "white"}, hovertemplate="log-likelihood %{z:.5g}<extra></extra>",
    )  # fmt: skip
    for k, (name, way) in enumerate(ways.items()):
        made.add_scatter(
            x=way[:, 0], y=way[:, 1], mode="lines+markers", name=f"{theme.written(name)} ({len(way) - 1:,} iterations)",
            line=theme.line(k, width=1.5), marker=theme.marker(k, size=5),
            hovertemplate=f"{theme.written(name)}: %{{x:.4g}}, %{{y:.4g}}<extra></extra>",
        )  # fmt: skip
    return made


def _ways(models: Mapping[str, Any]) -> tuple[dict[str, Array], list[str], float | None]:
    """The two parameters of each model at every iteration, their names, and the intercept that is held, if one is."""
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("likelihood_paths draws fitted models by name, such as {'IRLS': model}.")
    for name, model in models.items():
        if not hasattr(model, "trace_"):
            raise ParameterError(f"The model {name!r} kept no iterations: fit a LogisticRegression with trace=True.")
    traces: dict[str, Trace] = {name: model.trace_ for name, model in models.items()}
    widths = {trace.coef.shape[1:] for trace in traces.values()}
    if len(widths) != 1 or not widths <= {(1, 1), (1, 2)}:
        raise ColumnError("likelihood_paths draws models of two classes and the same one or two columns.")
    columns = [theme.written(name) for name in next(iter(traces.values())).columns]
    if len(columns) == 1:
        pairs = {name: np.column_stack((trace.intercept[:, 0], trace.coef[:, 0, 0])) for name, trace in traces.items()}
        return pairs, ["intercept", f"coefficient of {columns[0]}"], None
    last = list(traces.values())[-1]
    pairs = {name: trace.coef[:, 0, :] for name, trace in traces.items()}
    return pairs, [f"coefficient of {name}" for name in columns], float(last.intercept[-1, 0])
