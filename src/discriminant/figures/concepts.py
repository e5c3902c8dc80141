"""Textbook concepts: class densities with the Bayes error, loss functions, updates of the perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import check_choice, check_integer
from ..errors import LabelError, ParameterError, Setting
from ..estimators.given import ZERO_ONE, LinearClassifier, MarginLossName
from ..estimators.perceptron import Perceptron
from ..losses import MARGIN_LOSSES
from ..margins.perceptron import PerceptronUpdate
from ..results import listed
from ..theory.bayes import DensityCurves
from . import theme
from .geometry import SeparatingLine
from .points import LabelledPoints, add_points, box, equal_scales, labelled_points, plane_figure, shown_rows
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def class_densities(curves: DensityCurves) -> Figure:
    """Draw class densities times priors, the thresholds of the Bayes decision, and the Bayes error as shaded areas.

    Parameters
    ----------
    curves : DensityCurves
        Computed by `discriminant.theory.density_curves`.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class; misclassified parts are shaded.

    See Also
    --------
    discriminant.theory.density_curves : Computes the curves.
    decision_regions : Posteriors of a model fitted to one column.

    Examples
    --------
    >>> from discriminant.datasets import avocados
    >>> from discriminant.theory import density_curves
    >>> data = avocados()
    >>> figure = class_densities(density_curves(data.distributions, data.priors))
    >>> [trace.name for trace in figure.data]
    ['ordinary', 'misclassified', 'organic', 'misclassified']
    """
    theme.expect(curves, (DensityCurves,), "class_densities")
    names = [theme.written(label) for label in curves.classes.tolist()]
    made = theme.figure(
        "Class densities and the Bayes error",
        _decision_words(curves, names),
        xaxis=theme.axis("x", showgrid=False),
        yaxis=theme.axis("Prior times density", rangemode="tozero"),
        legend={"title": {"text": "class"}},
        alt=f"{len(names)} density curves; the shaded area under all but the highest is the Bayes error.",
    )
    for k, name in enumerate(names):
        _add_density(made, curves, k, name)
    for threshold in curves.thresholds.tolist():
        label = {"text": f"{threshold:.4g}", "yanchor": "top"}
        made.add_vline(x=threshold, line={"color": theme.INK, "width": 1.5, "dash": "dash"}, annotation=label)
    return made


def _decision_words(curves: DensityCurves, names: list[str]) -> str:
    priors = [f"{name} {share:.3g}" for name, share in zip(names, curves.priors, strict=True)]
    where = listed(f"{threshold:.4g}" for threshold in curves.thresholds) or "none"
    return f"Priors: {listed(priors)}. Thresholds: {where}. Shaded: {curves.error}."


def _add_density(made: Figure, curves: DensityCurves, k: int, name: str) -> None:
    """Draw the curve of a class, and the part of its area where another class is predicted."""
    made.add_scatter(
        x=curves.x, y=curves.joint[k], mode="lines", name=name, legendgroup=name, line=theme.line(k),
        hovertemplate=f"{name}: %{{y:.4g}} at %{{x:.4g}}<extra></extra>",
    )  # fmt: skip
    lost = np.where(curves.decided == k, 0.0, curves.joint[k])
    made.add_scatter(
        x=curves.x, y=lost, mode="lines", name="misclassified", legendgroup=name, showlegend=False,
        line={"width": 0}, fill="tozeroy", fillcolor=theme.see_through(theme.colour(k), 0.35), hoverinfo="skip",
        fillpattern={"shape": theme.PATTERNS[(k + 1) % len(theme.PATTERNS)], "fillmode": "overlay", "size": 6},
    )  # fmt: skip


#: Names and formulas of the losses.
_LOSS_NAMES: Final = {
    ZERO_ONE: "0-1", "perceptron": "perceptron, max(-m, 0)", "hinge": "hinge, max(1 - m, 0)",
    "squared_hinge": "squared hinge, max(1 - m, 0)²", "squared": "squared, (1 - m)² / 2",
    "logistic": "logistic, log(1 + exp(-m))", "squared_sigmoid": "squared error of a sigmoid, (1 - s(m))²",
}  # fmt: skip
#: Largest absolute margin.
MAX_MARGIN: Final = 2.5


def loss_curves(losses: Sequence[MarginLossName] = (ZERO_ONE, "perceptron", "hinge", "squared", "logistic")) -> Figure:
    """Draw loss functions of two-class models against the margin ``m = y g(x)``, positive if classified correctly.

    Parameters
    ----------
    losses : sequence of str, default=("zero-one", "perceptron", "hinge", "squared", "logistic")
        Also "squared_hinge" and "squared_sigmoid", which is not convex.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each loss.

    See Also
    --------
    discriminant.LinearClassifier : Its ``losses`` are drawn.

    Examples
    --------
    >>> [trace.name for trace in loss_curves(["hinge", "logistic"]).data]
    ['hinge, max(1 - m, 0)', 'logistic, log(1 + exp(-m))']
    """
    if isinstance(losses, str) or not len(losses):
        raise ParameterError(Setting("losses"), f" must be a list of names, got {losses!r}.")
    for name in losses:
        check_choice("losses", name, (ZERO_ONE, *MARGIN_LOSSES))
    made = theme.figure(
        "Loss functions",
        "A row is classified correctly if its margin is positive. Only the 0-1 loss cannot be minimised by its "
        "gradient.",
        xaxis=theme.axis("Margin m = y g(x)"),
        yaxis=theme.axis("Loss", range=[-0.1, 3.6]),
        legend={"x": 0.99, "xanchor": "right", "y": 0.99, "yanchor": "top"},
        alt=f"{len(losses)} curves of loss against margin, which decrease from negative to positive margins.",
    )
    margin = np.linspace(-MAX_MARGIN, MAX_MARGIN, 501)
    line = LinearClassifier([1.0], 0.0)
    for k, name in enumerate(losses):
        shape = "hv" if name == ZERO_ONE else "linear"
        made.add_scatter(
            x=margin, y=line.losses(margin[:, None], np.ones(len(margin), dtype=int), name), mode="lines",
            name=_LOSS_NAMES[name], line=theme.line(k, shape=shape),
            hovertemplate=f"{_LOSS_NAMES[name]}: %{{y:.3f}} at m = %{{x:.2f}}<extra></extra>",
        )  # fmt: skip
    return made


#: Opacity of the side of each class: rows on it stay legible.
SIDE_OPACITY: Final = 0.12
#: Width of the sides beyond the plane, in widths of the plane.
SIDE_MARGIN: Final = 4.0


def perceptron_trace(
    model: Perceptron, X: MatrixLike, y: ArrayLike, frames: int = 60, limits: ArrayLike | None = None
) -> Figure:
    """Draw the boundary of the perceptron after each update, as an animation, with the row that caused it.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``trace=True`` to two columns and two classes.
    X : array-like or frame of shape (n_rows, 2)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        Maximum number of frames, evenly spaced, including the first and the last update.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

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
    theme.expect(model, (Perceptron,), "perceptron_trace")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y, "perceptron_trace", 2)
    _refuse_untraced(model, points)
    edges = box(points.values, limits)
    trace: list[Any] = model.trace_
    shown = theme.evenly(len(trace) + 1, frames)
    more = f" {len(shown)} of {len(trace) + 1:,} steps are shown." if len(shown) <= len(trace) else ""
    moments = [_perceptron_moment(trace, points, edges, int(step), more) for step in shown]
    alt = f"an animation of the boundary between two classes over {len(trace):,} updates."
    made = plane_figure("Updates of the perceptron", moments[0].words, points.names, edges, alt, least_lines=2)
    add_points(made, points.values, points)
    animate(made, moments)
    _add_final(made, model, edges)
    return made.update_yaxes(**equal_scales(edges))


def _refuse_untraced(model: Perceptron, points: LabelledPoints) -> None:
    if len(points.classes) != 2:
        raise LabelError(
            f"Traces of the perceptron require two classes; the model was fitted to {len(points.classes)}. Fit it to "
            "two of them, or to one against the rest: y == label."
        )
    if not hasattr(model, "trace_"):
        raise ParameterError("The model has no trace of its updates. Fit it with ", Setting("trace", True), ".")
    trace: list[Any] = model.trace_
    if max((step.row for step in trace), default=-1) >= points.n_rows:
        raise ParameterError("X must be the training rows, because the trace refers to them. Give those rows.")
    if trace and trace[0].updates != 1:
        raise ParameterError("The trace is incomplete: partial_fit keeps only its last pass. Use fit.")


def _perceptron_moment(
    trace: list[PerceptronUpdate], points: LabelledPoints, edges: Array, step: int, more: str
) -> Moment:
    """The frame after some updates; before the first there is no boundary."""
    ends = row = np.full((1, 2), None)  # an empty point keeps the place of a trace in the legend
    if step == 0:
        words = f"Start at w = 0, b = 0; {len(trace):,} updates follow."
    else:
        update = trace[step - 1]
        line = SeparatingLine(update.coef, update.intercept)
        ends = line.ends(edges) if line.length > 0 else ends
        row = points.values[[update.row]]
        w = ", ".join(f"{value:.4g}" for value in update.coef)
        words = (
            f"Update {update.updates:,} of {len(trace):,}, pass {update.epoch:,}: row {update.row:,} "
            f"({points.name_of(update.row)}) was misclassified. New w = ({w}), b = {update.intercept:.4g}."
        )
        if line.length == 0 or not line.crosses(edges):
            words += " The line is outside the picture."
    ring = {"symbol": "circle-open", "size": 18, "color": theme.colour(4), "line": {"width": 3}}
    sides = [side.tolist() for side in line.sides(_wider(edges))] if step and line.length > 0 else [[], []]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "hoverinfo": "skip",
            "fillcolor": theme.see_through(theme.colour(k), SIDE_OPACITY),
            "showlegend": False,
            "name": f"side of {name}",
            "x": [x for x, _ in side],
            "y": [y for _, y in side],
        }
        for (k, name), side in zip(enumerate(points.class_names), sides, strict=True)
    ] + [
        {"mode": "lines", "name": "boundary", "line": {"color": theme.INK, "width": 2.5}, **_coordinates(ends)},
        {"mode": "markers", "name": "row of the update", "marker": ring, **_coordinates(row)},
    ]
    return Moment(traces, words + more + shown_rows(points.n_rows), str(step))


def _wider(edges: Array) -> Array:
    """A rectangle around a plane whose axes are extended to equal scales."""
    return np.asarray(edges + SIDE_MARGIN * np.array([[-1.0], [1.0]]) * (edges[1] - edges[0]))


def _coordinates(points: Array) -> dict[str, Any]:
    return {"type": "scatter", "hoverinfo": "skip", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}


def _add_final(made: Figure, model: Perceptron, edges: Array) -> None:
    """Draw the boundary of the fitted model, if it is not that of the last update."""
    trace: list[Any] = model.trace_
    last = trace[-1] if trace else None
    final = SeparatingLine(model.coef_[0], float(model.intercept_[0]))
    if last is not None and np.array_equal(last.coef, final.w) and last.intercept == final.b:
        return
    if final.length > 0:
        ends = final.ends(edges)
        made.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", name="fitted model", hoverinfo="skip",
            line={"color": theme.GREY, "width": 2, "dash": "dash"},
        )  # fmt: skip


def dual_trace(model: Perceptron, X: MatrixLike, y: ArrayLike, frames: int = 60) -> Figure:
    """Draw the dual form of the perceptron, the number of updates caused by each row, as an animation.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``trace=True`` to two classes; both forms make the same updates.
    X : array-like or frame of shape (n_rows, n_columns)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        Maximum number of frames, as in `perceptron_trace`.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar for each row, with a play button and a slider.

    See Also
    --------
    perceptron_trace : The boundaries after these updates.

    Examples
    --------
    >>> from discriminant import Perceptron
    >>> from discriminant.datasets import load
    >>> data = load("and")
    >>> figure = dual_trace(Perceptron("dual", trace=True).fit(data.X, data.y), data.X, data.y)
    >>> len(figure.frames), sum(bar for trace in figure.frames[-1].data[:2] for bar in trace.y)
    (12, 11)
    """
    theme.expect(model, (Perceptron,), "dual_trace")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y, "dual_trace")
    _refuse_untraced(model, points)
    trace: list[Any] = model.trace_
    caused = np.array([update.row for update in trace], dtype=np.int64)
    shown = theme.evenly(len(caused) + 1, frames)
    most = int(np.bincount(caused, minlength=1).max()) if len(caused) else 1
    moments = [_dual_moment(points, caused[:step], model.eta) for step in shown.tolist()]
    made = theme.figure(
        "Updates by row (dual form)",
        moments[0].words,
        least_lines=2,
        xaxis=theme.axis("Row", range=[-0.7, points.n_rows - 0.3]),
        yaxis=theme.axis("Updates caused by the row", range=[0, 1.05 * most + 0.5]),
        legend={"title": {"text": "class"}},
        alt=f"an animation of a bar for each of {points.n_rows:,} rows over {len(caused):,} updates.",
    )
    return animate(made, moments)


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
    words = (
        f"w = {step}sum of a_i y_i x_i; rows with a_i > 0: {np.count_nonzero(alpha):,} of {points.n_rows:,}; updates: "
    )
    words += f"{len(caused):,}."
    if len(caused):
        words += f" Last update: row {caused[-1]:,} ({points.name_of(int(caused[-1]))})."
    return Moment(traces, words, str(len(caused)))
