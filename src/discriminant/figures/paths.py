"""The ways of solvers: over the log-likelihood, as lines that move, and as lengths that grow without end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..data import check_integer
from ..errors import ColumnError, ParameterError
from ..inference.likelihood import log_likelihoods
from ..solvers.trace import Trace
from . import theme
from .geometry import SeparatingLine, separating_plane
from .points import add_points, around, box, labelled_points
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Points of the surface of a log-likelihood along each axis.
_SURFACE = 61
#: The loss whose sum is minus a log-likelihood.
_LIKELIHOOD = "logistic"


def likelihood_paths(models: Mapping[str, Any], X: Any, y: Any, frames: int | None = None) -> Figure:
    """The log-likelihood over two parameters, and the way that each solver took over it, in the units of the data.

    Of a loss that has no likelihood the sum over the rows is drawn, which solvers descend.

    Parameters
    ----------
    models : dict of str to LogisticRegression or LossClassifier
        What each way is called, and a model fitted to two classes with ``trace=True``, of one column (drawn: intercept
        and coefficient) or of two (drawn: both coefficients, with the intercept as at the end of the last model). All
        minimise the same loss.
    X : array-like or frame of shape (n_rows, n_columns)
        The rows of fit.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, optional
        Play the ways step by step, in at most this many steps. Default: whole ways.

    Returns
    -------
    plotly.graph_objects.Figure
        Contours, and a line with a dot for each iteration.

    See Also
    --------
    boundary_paths : The lines that these coefficients stand for.
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
    loss = _common_loss(models)
    edges = box(np.concatenate(list(ways.values())))
    axes = [np.linspace(edges[0, j], edges[1, j], _SURFACE) for j in range(2)]
    first, second = (part.ravel() for part in np.meshgrid(*axes))
    points = labelled_points(next(iter(models.values())), X, y)
    coef, constant = second[:, None], first
    if intercept is not None:
        coef, constant = np.column_stack((first, second)), np.full(len(first), intercept)
    values = log_likelihoods(points.values, points.codes, coef, constant, loss)
    words = " Contours: with the intercept as at the end." if intercept is not None else ""
    made = theme.figure(
        f"The {_drawn(loss)} and the ways over it",
        f"Each dot is an iteration, in the units of the data.{words}",
        xaxis=theme.axis(names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(names[1], range=edges[:, 1].tolist()),
        alt=f"contours of a {'hill' if loss == _LIKELIHOOD else 'valley'}, and {len(ways)} paths of solvers that "
        f"{'climb it' if loss == _LIKELIHOOD else 'go down'} from the same start.",
    )
    made.add_contour(**_surface(axes, values, loss))
    longest = max(map(len, ways.values()))
    if frames is None:
        made.add_traces(_walked(ways, longest))
        return made
    check_integer("frames", frames, 2)
    moments = [
        Moment(_so_far(ways, step + 1), _reached(models, step) + words, str(step))
        for step in theme.evenly(longest, frames).tolist()
    ]
    made.add_traces(_walked(ways, 1))
    animate(made, moments, list(range(1, 1 + len(ways))))
    return made


def _surface(axes: list[Array], values: Array, loss: str) -> dict[str, Any]:
    """Contours, darkest where solvers end."""
    likely = loss == _LIKELIHOOD
    return {
        "x": axes[0], "y": axes[1],
        "z": (values if likely else -values).reshape(_SURFACE, _SURFACE).astype(np.float32),
        "ncontours": 30, "showscale": False, "name": _drawn(loss), "reversescale": not likely,
        "colorscale": [[0, "#ffffff"], [0.7, theme.tint(theme.GREY, 0.3)], [1, theme.tint(theme.GREY, 0.8)]],
        "line": {"width": 0.6, "color": "white"}, "hovertemplate": f"{_drawn(loss)} %{{z:.5g}}<extra></extra>",
    }  # fmt: skip


def _drawn(loss: str) -> str:
    """What is drawn of a loss, in words."""
    return "log-likelihood" if loss == _LIKELIHOOD else f"sum of the losses ({loss.replace('_', ' ')})"


def _common_loss(models: Mapping[str, Any]) -> str:
    """The loss that all models minimise."""
    losses = {str(getattr(model, "loss", _LIKELIHOOD)) for model in models.values()}
    if len(losses) > 1:
        raise ParameterError(f"likelihood_paths draws ways over one surface, and the losses are {sorted(losses)}.")
    return losses.pop()


def _walked(ways: Mapping[str, Array], n: int) -> list[dict[str, Any]]:
    """Lines with a dot for each of the first n points of every way."""
    return [
        {
            "type": "scatter", "x": way[:n, 0], "y": way[:n, 1], "mode": "lines+markers",
            "name": f"{theme.written(name)} ({len(way) - 1:,} iterations)",
            "line": theme.line(k + 2, width=1.5),
            "marker": theme.marker(k + 2, size=[5] * (min(n, len(way)) - 1) + [10]),
            "hovertemplate": f"{theme.written(name)}: %{{x:.4g}}, %{{y:.4g}}<extra></extra>",
        }
        for k, (name, way) in enumerate(ways.items())
    ]  # fmt: skip


def _so_far(ways: Mapping[str, Array], n: int) -> list[dict[str, Any]]:
    """What of these lines changes."""
    walked = [way[:n].astype(np.float32) for way in ways.values()]
    sizes = [[5] * (len(way) - 1) + [10] for way in walked]
    return [{"x": w[:, 0], "y": w[:, 1], "marker": {"size": s}} for w, s in zip(walked, sizes, strict=True)]


def _reached(models: Mapping[str, Any], step: int) -> str:
    """The log-likelihood, or sum of losses, of each model after so many iterations, or at its end."""
    losses = {str(getattr(models[name], "loss", _LIKELIHOOD)) for name in _traces(models)}
    sign, what = (1, _drawn(_LIKELIHOOD)) if losses <= {_LIKELIHOOD} else (-1, "sum of the losses")
    parts = [
        f"{theme.written(name)} {sign * trace.log_likelihood[min(step, len(trace.log_likelihood) - 1)]:.5g}"
        for name, trace in _traces(models).items()
    ]
    return f"After {step:,} iterations the {what} is: {', '.join(parts)}."


def _ways(models: Mapping[str, Any]) -> tuple[dict[str, Array], list[str], float | None]:
    """The two parameters of each model at every iteration, their names, and the intercept that is held, if one is."""
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("likelihood_paths draws fitted models by name, such as {'IRLS': model}.")
    traces = _traces(models)
    for name in models:
        if name not in traces:
            raise ParameterError(f"The model {name!r} kept no iterations: fit a LogisticRegression with trace=True.")
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


def _traces(models: Mapping[str, Any]) -> dict[str, Trace]:
    """The iterations of the models that kept them."""
    return {name: model.trace_ for name, model in models.items() if hasattr(model, "trace_")}


def boundary_paths(models: Mapping[str, Any], X: Any, y: Any, frames: int = 60, limits: Any = None) -> Figure:
    """The line between two classes after each iteration, one for each solver.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        What each line is called, and a model of two columns and two classes. Those fitted with ``trace=True`` move,
        others stand still.
    X : array-like or frame of shape (n_rows, 2)
        The rows of fit.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        The most steps that are shown, evenly spaced.
    limits : array-like of shape (2, 2), optional
        The lowest values of both columns to show, then the highest. Default: all rows, with some room.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows and lines, with a play button and a slider.

    See Also
    --------
    likelihood_paths : The same iterations over the log-likelihood.
    coefficient_growth : How long the coefficients become.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.datasets import crossed_normals
    >>> from discriminant.solvers import IRLS
    >>> data = crossed_normals()
    >>> model = LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y)
    >>> figure = boundary_paths({"Newton": model}, data.X, data.y)
    >>> len(figure.frames) == len(model.trace_.coef)
    True
    """
    check_integer("frames", frames, 2)
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("boundary_paths draws fitted models by name, such as {'Newton': model}.")
    points = labelled_points(next(iter(models.values())), X, y)
    if points.n_columns != 2 or len(points.classes) != 2:
        raise ColumnError("boundary_paths draws lines between two classes in the plane of two columns.")
    edges = box(points.values, limits)
    shown = theme.evenly(max((len(trace.coef) for trace in _traces(models).values()), default=1), frames)
    moments = [
        Moment([_line_at(models, name, k, step, edges) for k, name in enumerate(models)], words, str(step))
        for step in shown.tolist()
        for words in [_reached(models, step)]
    ]
    made = theme.figure(
        "The line after each iteration",
        moments[0].words,
        least_lines=2,
        xaxis=theme.axis(points.names[0], range=edges[:, 0].tolist()),
        yaxis=theme.axis(points.names[1], range=edges[:, 1].tolist()),
        legend={"title": {"text": "class, solver"}},
        alt=f"an animation of {len(models)} lines between two classes that move with the iterations of their solvers.",
    )
    add_points(made, points.values, points, lambda i: f"row {i}: {points.name_of(i)}")
    first = len(made.data)
    made.add_traces(moments[0].traces)
    animate(made, moments, list(range(first, len(made.data))))
    return made


def _line_at(models: Mapping[str, Any], name: str, k: int, step: int, edges: Array) -> dict[str, Any]:
    """The line of a model after so many iterations; at the start, where all coefficients are 0, there is none."""
    trace = _traces(models).get(name)
    if trace is None:
        line = separating_plane(models[name], "boundary_paths")
    else:
        at = min(step, len(trace.coef) - 1)
        line = SeparatingLine(trace.coef[at, 0], float(trace.intercept[at, 0]))
    ends = line.within(around(edges)) if line.length > 0 else np.empty((0, 2))
    return {
        "type": "scatter", "mode": "lines", "name": theme.written(name), "line": theme.line(k + 2),
        "x": ends[:, 0].tolist() or [None], "y": ends[:, 1].tolist() or [None], "hoverinfo": "skip",
    }  # fmt: skip


def coefficient_growth(models: Mapping[str, Any], frames: int | None = None) -> Figure:
    """How long the coefficients are after each iteration: without end where a line separates the classes.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        What each is called. Of those fitted with ``trace=True`` the length is followed, of others it is a level.
    frames : int, optional
        Play the iterations, in at most this many steps. Default: all of them at once.

    Returns
    -------
    plotly.graph_objects.Figure
        A line for each model.

    See Also
    --------
    boundary_paths : The lines that these coefficients stand for.
    discriminant.linear_separability : Whether a line separates.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant.datasets import crossed_normals
    >>> from discriminant.solvers import IRLS
    >>> data = crossed_normals()
    >>> model = LogisticRegression(solver=IRLS(), trace=True).fit(data.X, data.y)
    >>> figure = coefficient_growth({"maximum likelihood": model})
    >>> bool(figure.data[0].y[-1] > figure.data[0].y[1] > figure.data[0].y[0] == 0)
    True
    """
    if not isinstance(models, Mapping) or not models:
        raise ParameterError("coefficient_growth draws fitted models by name, such as {'Newton': model}.")
    traces = _traces(models)
    longest = max((len(trace.coef) for trace in traces.values()), default=2)
    lengths = {
        name: np.linalg.norm(traces[name].coef.reshape(len(traces[name].coef), -1), axis=1)
        if name in traces
        else np.full(longest, np.linalg.norm(model.coef_))
        for name, model in models.items()
    }
    most = max(float(values.max()) for values in lengths.values())
    ends = ", ".join(f"{theme.written(name)} {values[-1]:.4g}" for name, values in lengths.items())
    made = theme.figure(
        "The length of the coefficients",
        f"At the end: {ends}.",
        xaxis=theme.axis("iteration", range=[0, max(longest - 1, 1)]),
        yaxis=theme.axis("length of w", range=[0, 1.05 * most]),
        alt=f"{len(models)} lines of the length of coefficients against iterations.",
    )
    if frames is None:
        made.add_traces(_grown(lengths, longest))
        return made
    check_integer("frames", frames, 2)
    moments = [
        Moment(_grown(lengths, step + 1), f"After {step:,} iterations. {ends}.", str(step))
        for step in theme.evenly(longest, frames).tolist()
    ]
    made.add_traces(moments[0].traces)
    animate(made, moments, list(range(len(lengths))))
    return made


def _grown(lengths: Mapping[str, Array], n: int) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter", "x": list(range(min(n, len(values)))), "y": values[:n].tolist(), "mode": "lines+markers",
            "name": theme.written(name), "line": theme.line(k + 2), "marker": {"size": 4},
            "hovertemplate": f"{theme.written(name)}: %{{y:.4g}} after %{{x}} iterations<extra></extra>",
        }
        for k, (name, values) in enumerate(lengths.items())
    ]  # fmt: skip
