"""Iterations of solvers: paths over the log-likelihood, moving boundaries, norms of coefficients, the objective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, ArrayLike, Classifier, MatrixLike
from ..data import check_integer
from ..errors import ColumnError, LabelError, ParameterError, Setting
from ..inference.likelihood import log_likelihoods
from ..solvers.solution import Trace
from . import theme
from .geometry import SeparatingLine, separating_plane
from .points import add_points, box, labelled_points, named_points, plane_figure, refuse_unnamed
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: Points of the surface of a log-likelihood along each axis.
SURFACE_POINTS: Final = 61
#: The loss whose sum is the negative log-likelihood.
_LIKELIHOOD: Final = "logistic"

Models = Mapping[str, Classifier]


def likelihood_paths(models: Models, X: MatrixLike, y: ArrayLike, frames: int | None = None) -> Figure:
    """Draw the log-likelihood over two parameters, and the path of each solver, in the units of the data.

    For a loss without a likelihood, the sum of the losses is drawn.

    Parameters
    ----------
    models : dict of str to LogisticRegression or LossClassifier
        Models of two classes by name, fitted with ``trace=True`` and the same loss. Of one column (drawn: intercept and
        coefficient) or of two (drawn: both coefficients, with the final intercept of the last model).
    X : array-like or frame of shape (n_rows, n_columns)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, optional
        Maximum number of frames of an animation. Default: complete paths, not animated.

    Returns
    -------
    plotly.graph_objects.Figure
        Contours, and a line with a dot for each iteration.

    See Also
    --------
    boundary_paths : The boundaries of these coefficients.
    descent_trace : The objective of one solver.
    discriminant.solvers.Trace : The iterations of a solver.

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
    paths, names, intercept = _paths(models)
    loss = _common_loss(models)
    edges = box(np.concatenate(list(paths.values())))
    axes = [np.linspace(edges[0, j], edges[1, j], SURFACE_POINTS) for j in range(2)]
    first, second = (part.ravel() for part in np.meshgrid(*axes))
    points = labelled_points(next(iter(models.values())), X, y, "likelihood_paths")
    coef, constant = second[:, None], first
    if intercept is not None:
        coef, constant = np.column_stack((first, second)), np.full(len(first), intercept)
    values = log_likelihoods(points.values, points.codes, coef, constant, loss)
    words = " Contours: with the final intercept." if intercept is not None else ""
    made = plane_figure(
        f"Paths of solvers over the {_drawn(loss)}",
        f"Each dot is an iteration, in the units of the data.{words}",
        names,
        edges,
        f"contours of the {_drawn(loss)}, and the paths of {len(paths)} solvers.",
        legend={},
    )
    made.add_contour(**_surface(axes, values, loss))
    longest = max(map(len, paths.values()))
    if frames is None:
        return made.add_traces(_path_traces(paths, longest))
    check_integer("frames", frames, 2)
    moments = [
        Moment(_path_traces(paths, step + 1), _reached(models, step) + words, str(step))
        for step in theme.evenly(longest, frames).tolist()
    ]
    return animate(made, moments)


def _surface(axes: list[Array], values: Array, loss: str) -> dict[str, Any]:
    """A contour trace, darkest at the optimum."""
    likely = loss == _LIKELIHOOD
    return {
        "x": axes[0], "y": axes[1],
        "z": (values if likely else -values).reshape(SURFACE_POINTS, SURFACE_POINTS).astype(np.float32),
        "ncontours": 30, "showscale": False, "name": _drawn(loss), "reversescale": not likely,
        "colorscale": [[0, "#ffffff"], [0.7, theme.tint(theme.GREY, 0.3)], [1, theme.tint(theme.GREY, 0.8)]],
        "line": {"width": 0.6, "color": "white"}, "hovertemplate": f"{_drawn(loss)} %{{z:.5g}}<extra></extra>",
    }  # fmt: skip


def _drawn(loss: str) -> str:
    """The name of the drawn function."""
    return "log-likelihood" if loss == _LIKELIHOOD else f"sum of the losses ({loss.replace('_', ' ')})"


def _common_loss(models: Models) -> str:
    """The loss of all models."""
    losses = {str(getattr(model, "loss", _LIKELIHOOD)) for model in models.values()}
    if len(losses) > 1:
        raise ParameterError(f"figures.likelihood_paths requires models with the same loss, got {sorted(losses)}.")
    return losses.pop()


def _path_traces(paths: Mapping[str, Array], n: int) -> list[dict[str, Any]]:
    """A line through the first n points of every path, the last one larger."""
    return [
        {
            "type": "scatter", "x": path[:n, 0], "y": path[:n, 1], "mode": "lines+markers",
            "name": f"{theme.written(name)} ({len(path) - 1:,} iterations)", "line": theme.line(k + 2, width=1.5),
            "marker": theme.marker(k + 2, size=[5] * (min(n, len(path)) - 1) + [10]),
            "hovertemplate": f"{theme.written(name)}: %{{x:.4g}}, %{{y:.4g}}<extra></extra>",
        }
        for k, (name, path) in enumerate(paths.items())
    ]  # fmt: skip


def _reached(models: Models, step: int) -> str:
    """The log-likelihood or sum of losses of each model after a number of iterations, or its final one."""
    losses = {str(getattr(models[name], "loss", _LIKELIHOOD)) for name in _traces(models)}
    sign, what = (1, _drawn(_LIKELIHOOD)) if losses <= {_LIKELIHOOD} else (-1, "sum of the losses")
    parts = [
        f"{theme.written(name)} {sign * trace.log_likelihood[min(step, len(trace.log_likelihood) - 1)]:.5g}"
        for name, trace in _traces(models).items()
    ]
    return f"Iteration {step:,}, {what}: {', '.join(parts)}."


def _paths(models: Models) -> tuple[dict[str, Array], list[str], float | None]:
    """The two parameters of each model at every iteration, their names, and the fixed intercept, if any."""
    refuse_unnamed(models, "likelihood_paths")
    traces = _traces(models)
    for name in models:
        if name not in traces:
            words = f"Model {name!r} has no trace of its iterations. Fit a LogisticRegression with "
            raise ParameterError(words, Setting("trace", True), ".")
    shapes = {trace.coef.shape[1:] for trace in traces.values()}
    if len(shapes) != 1 or not shapes <= {(1, 1), (1, 2)}:
        raise ColumnError(
            "figures.likelihood_paths requires models of two classes that have the same one or two columns."
        )
    columns = [theme.written(name) for name in next(iter(traces.values())).columns]
    if len(columns) == 1:
        pairs = {name: np.column_stack((trace.intercept[:, 0], trace.coef[:, 0, 0])) for name, trace in traces.items()}
        return pairs, ["Intercept", f"Coefficient of {columns[0]}"], None
    last = list(traces.values())[-1]
    pairs = {name: trace.coef[:, 0, :] for name, trace in traces.items()}
    return pairs, [f"Coefficient of {name}" for name in columns], float(last.intercept[-1, 0])


def _traces(models: Models) -> dict[str, Trace]:
    """The iterations of the models that have a trace."""
    return {name: model.trace_ for name, model in models.items() if hasattr(model, "trace_")}


def boundary_paths(
    models: Models, X: MatrixLike, y: ArrayLike, frames: int = 60, limits: ArrayLike | None = None
) -> Figure:
    """Draw the boundary between two classes after each iteration of several solvers, as an animation.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        Models of two columns and two classes by name. Those fitted with ``trace=True`` move.
    X : array-like or frame of shape (n_rows, 2)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        Maximum number of frames, evenly spaced.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows and boundaries, with a play button and a slider.

    See Also
    --------
    likelihood_paths : The same iterations over the log-likelihood.
    coefficient_growth : The norm of the coefficients.

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
    points = named_points(models, X, y, "boundary_paths")
    if len(points.classes) != 2:
        raise LabelError(f"figures.boundary_paths requires two classes, got {len(points.classes)}.")
    edges = box(points.values, limits)
    shown = theme.evenly(max((len(trace.coef) for trace in _traces(models).values()), default=1), frames)
    moments = [
        Moment([_line_at(models, name, k, step, edges) for k, name in enumerate(models)], words, str(step))
        for step in shown.tolist()
        for words in [_reached(models, step)]
    ]
    made = plane_figure(
        "Boundary by iteration",
        moments[0].words,
        points.names,
        edges,
        f"an animation of the boundaries of {len(models)} models between two classes over the iterations of solvers.",
        least_lines=2,
        legend={"title": {"text": "class, solver"}},
    )
    add_points(made, points.values, points)
    return animate(made, moments)


def _line_at(models: Models, name: str, k: int, step: int, edges: Array) -> dict[str, Any]:
    """The boundary of a model after a number of iterations; at the start, with coefficients of 0, there is none."""
    trace = _traces(models).get(name)
    if trace is None:
        line = separating_plane(models[name], "boundary_paths")
    else:
        at = min(step, len(trace.coef) - 1)
        line = SeparatingLine(trace.coef[at, 0], float(trace.intercept[at, 0]))
    ends = line.ends(edges) if line.length > 0 else np.full((1, 2), None)
    return {
        "type": "scatter", "mode": "lines", "name": theme.written(name), "line": theme.line(k + 2),
        "x": ends[:, 0].tolist(), "y": ends[:, 1].tolist(), "hoverinfo": "skip",
    }  # fmt: skip


def coefficient_growth(models: Models, frames: int | None = None) -> Figure:
    """Draw the norm of the coefficients by iteration; it diverges if the classes are linearly separable.

    Parameters
    ----------
    models : dict of str to fitted linear classifier
        Models by name. Those without ``trace=True`` are drawn as a constant.
    frames : int, optional
        Maximum number of frames of an animation. Default: all iterations, not animated.

    Returns
    -------
    plotly.graph_objects.Figure
        A line for each model.

    See Also
    --------
    boundary_paths : The boundaries of these coefficients.
    discriminant.linear_separability : Tests for linear separability.

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
    refuse_unnamed(models, "coefficient_growth")
    traces = _traces(models)
    longest = max((len(trace.coef) for trace in traces.values()), default=2)
    norms = {
        name: np.linalg.norm(traces[name].coef.reshape(len(traces[name].coef), -1), axis=1)
        if name in traces
        else np.full(longest, np.linalg.norm(model.coef_))  # type: ignore[attr-defined]
        for name, model in models.items()
    }
    largest = max(float(values.max()) for values in norms.values())
    ends = ", ".join(f"{theme.written(name)} {values[-1]:.4g}" for name, values in norms.items())
    made = theme.figure(
        "Norm of the coefficients",
        f"Final norm: {ends}.",
        xaxis=theme.axis("Iteration", range=[0, max(longest - 1, 1)]),
        yaxis=theme.axis("Norm of w", range=[0, 1.05 * largest]),
        alt=f"the norm of the coefficients of {len(models)} models against iterations.",
    )
    if frames is None:
        return made.add_traces(_norm_traces(norms, longest))
    check_integer("frames", frames, 2)
    moments = [
        Moment(_norm_traces(norms, step + 1), f"Iteration {step:,}. Final norm: {ends}.", str(step))
        for step in theme.evenly(longest, frames).tolist()
    ]
    return animate(made, moments)


def _norm_traces(norms: Mapping[str, Array], n: int) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter", "x": list(range(min(n, len(values)))), "y": values[:n].tolist(), "mode": "lines+markers",
            "name": theme.written(name), "line": theme.line(k + 2), "marker": {"size": 4},
            "hovertemplate": f"{theme.written(name)}: %{{y:.4g}} after %{{x}} iterations<extra></extra>",
        }
        for k, (name, values) in enumerate(norms.items())
    ]  # fmt: skip


def descent_trace(model: BaseEstimator, frames: int = 60) -> Figure:
    """Draw the objective by iteration, as an animation.

    Parameters
    ----------
    model : LogisticRegression, or another model with a ``solution_``
        Fitted with ``trace=True``.
    frames : int, default=60
        Maximum number of frames, evenly spaced, including the first and the last iteration.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider.

    See Also
    --------
    likelihood_paths : The path over the contours of the likelihood.
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
            f"{type(model).__name__} has no trace of its iterations. Fit a LogisticRegression with an iterative "
            "solver and ",
            Setting("trace", True), ".",
        )  # fmt: skip
    values, shown = np.array([step.value for step in steps]), theme.evenly(len(steps), frames)
    left_out = f" {len(shown)} of {len(steps):,} iterations are shown." if len(shown) < len(steps) else ""
    here = {"size": 12, "color": theme.colour(4)}
    moments = [
        Moment(
            [{"type": "scatter", "mode": "markers", "x": [now], "y": [values[now]], "marker": here, "name": "now"}],
            f"Iteration {now:,} of {len(steps) - 1:,}: objective {values[now]:.6g}, largest derivative "
            f"{steps[now].gradient_norm:.2g}.{left_out}",
            str(now),
        )
        for now in shown.tolist()
    ]
    made = theme.figure(
        f"Objective of {type(model).__name__} by iteration (solver: {model.solution_.solver})",
        moments[0].words,
        least_lines=2,
        showlegend=False,
        xaxis=theme.axis("Iteration"),
        yaxis=theme.axis("Objective: mean loss + penalty"),
        alt=f"the objective against {len(steps) - 1:,} iterations, with a moving point.",
    )
    chosen = theme.thinned(np.arange(len(values), dtype=float), values)
    made.add_scatter(
        x=chosen, y=values[chosen], mode="lines", line=theme.line(0), name="objective",
        customdata=[steps[i].gradient_norm for i in chosen],
        hovertemplate="iteration %{x}: objective %{y:.6g},<br>largest derivative %{customdata:.2g}<extra></extra>",
    )  # fmt: skip
    return animate(made, moments)
