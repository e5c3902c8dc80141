"""Algorithms at work, frame by frame: the perceptron's updates, and a solver going downhill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import check_integer
from ..errors import ColumnError, LabelError, ParameterError
from ..estimators.perceptron import Perceptron
from ..objective import Objective
from . import theme
from .geometry import SeparatingLine
from .points import LabelledPoints, add_points, around, box, equal_scales, labelled_points, shown_rows
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def perceptron_trace(model: Perceptron, X: Any, y: Any, frames: int = 60, limits: Any = None) -> Figure:
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
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.

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
    edges = box(points.values, limits)
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


def dual_trace(model: Perceptron, X: Any, y: Any, frames: int = 60) -> Figure:
    """The perceptron in its dual form: how many updates each row has caused, step by step.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``trace=True`` to two classes; both forms make the same updates.
    X : array-like or frame of shape (n_rows, 2)
        The rows of fit.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        At most this many steps, as in `perceptron_trace`.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar for each row, with a play button and a slider.

    See Also
    --------
    perceptron_trace : The line that these numbers stand for.

    Examples
    --------
    >>> from discriminant import Perceptron
    >>> from discriminant.datasets import load
    >>> data = load("and")
    >>> figure = dual_trace(Perceptron("dual", trace=True).fit(data.X, data.y), data.X, data.y)
    >>> len(figure.frames), sum(bar for trace in figure.frames[-1].data[:2] for bar in trace.y)
    (12, 11)
    """
    theme.expect(model, (Perceptron,), "dual_trace", "Fit discriminant's Perceptron with trace=True.")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y)
    _refuse_untraced(model, points)
    trace: list[Any] = model.trace_
    caused = np.array([update.row for update in trace], dtype=np.int64)
    shown = theme.evenly(len(caused) + 1, frames)
    most = int(np.bincount(caused, minlength=1).max()) if len(caused) else 1
    moments = [_dual_moment(points, caused[:step], model.eta) for step in shown.tolist()]
    made = theme.figure(
        "The same in numbers of updates",
        moments[0].words,
        least_lines=2,
        xaxis=theme.axis("row", range=[-0.7, points.n_rows - 0.3]),
        yaxis=theme.axis("updates caused by the row", range=[0, 1.05 * most + 0.5]),
        legend={"title": {"text": "class"}},
        alt=f"an animation of bars that grow, one for each of {points.n_rows:,} rows, over {len(caused):,} updates.",
    )
    made.add_traces(moments[0].traces)
    animate(made, moments, list(range(len(moments[0].traces))))
    return made


def _dual_moment(points: LabelledPoints, caused: Array, eta: float) -> Moment:
    alpha = np.bincount(caused, minlength=points.n_rows)
    traces: list[dict[str, Any]] = []
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(points.codes == k)
        traces.append({
            "type": "bar", "x": own.tolist(), "y": alpha[own].tolist(), "name": name,
            "marker": {"color": theme.colour(k)},
            "hovertemplate": f"row %{{x}} ({name}): %{{y}} updates<extra></extra>",
        })  # fmt: skip
    step = "" if eta == 1 else f"{eta:g} "
    words = f"w = {step}sum of a_i y_i x_i over {np.count_nonzero(alpha):,} of {points.n_rows:,} rows with a_i > 0; "
    words += f"{len(caused):,} updates so far."
    if len(caused):
        words += f" The last was caused by row {caused[-1]:,} ({points.name_of(int(caused[-1]))})."
    return Moment(traces, words, str(len(caused)))


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
        units = "" if (self.objective.standardised.scale == 1).all() else ", standardised"
        return [f"coefficient of {name}{units}" for name in names] + ["intercept"] * (len(names) == 1)

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
        With a play button and a slider. Coefficients are those of the columns in which the solver works: standardised
        ones, or as they are where it is a solver as it is taught. Contours of two coefficients are those with the
        intercept as at the end.

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
