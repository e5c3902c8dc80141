"""The perceptron's line moving from update to update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.parameters import check_integer
from ..errors import ColumnError, LabelError, ParameterError
from ..estimators.perceptron import Perceptron
from . import house
from .lines import Hyperplane
from .player import Moment, animate
from .rows import LabelledPoints, add_points, around, box, equal_scales, labelled_points, shown_rows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]


def perceptron_trace(model: Perceptron, X: Any, y: Any, frames: int = 60) -> Figure:
    """The perceptron's line after each update, step by step, with the row that caused it.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``trace=True`` to two columns and two classes.
    X, y : the rows of fit, with their labels
    frames : int
        At most this many steps are shown, evenly spaced, the first and the last among them.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider.

    Examples
    --------
    >>> from discriminant.estimators.perceptron import Perceptron
    >>> X = [[1, 1], [0, 1], [2, 0], [0, -1], [1, 2], [-1, 0]]
    >>> y = ["up", "down", "up", "down", "up", "down"]
    >>> figure = perceptron_trace(Perceptron(trace=True).fit(X, y), X, y)
    >>> len(figure.frames)
    4
    """
    house.expect(model, (Perceptron,), "perceptron_trace", "Fit discriminant's Perceptron with trace=True.")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y)
    _refuse_untraced(model, points)
    edges = box(points.values)
    trace: list[Any] = model.trace_
    shown = house.evenly(len(trace) + 1, frames)
    skipping = f" {len(shown)} of {len(trace) + 1:,} steps are shown." if len(shown) <= len(trace) else ""
    moments = [_perceptron_moment(trace, points, edges, int(step), skipping) for step in shown]
    made = house.figure(
        "The perceptron, step by step",
        moments[0].words,
        least_lines=2,
        legend={"title": {"text": "class"}},
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    first = len(made.data)
    made.add_traces(moments[0].traces)
    _add_kept(made, model, edges)
    made.update_xaxes(**house.axis(points.names[0], range=edges[:, 0].tolist()))
    made.update_yaxes(**house.axis(points.names[1], range=edges[:, 1].tolist(), **equal_scales(edges)))
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
        line = Hyperplane(update.coef, update.intercept)
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
        "type": "scatter", "mode": "lines", "name": "boundary", "line": {"color": house.INK, "width": 2.5},
        "hoverinfo": "skip", **_coordinates(ends),
    }  # fmt: skip


def _row_trace(row: Array) -> dict[str, Any]:
    ring = {"symbol": "circle-open", "size": 18, "color": house.colour(4), "line": {"width": 3}}
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
    kept = Hyperplane(model.coef_[0], float(model.intercept_[0]))
    if last is not None and np.array_equal(last.coef, kept.w) and last.intercept == kept.b:
        return
    ends = kept.within(around(edges))
    if len(ends):
        made.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", name="line that is kept", hoverinfo="skip",
            line={"color": house.GREY, "width": 2, "dash": "dash"},
        )  # fmt: skip
