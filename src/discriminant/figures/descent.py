"""A solver going downhill, iteration by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.parameters import check_integer
from ..errors import ParameterError
from ..objective import Objective
from . import house
from .player import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]

#: Points of the contours along each axis, and rows that are enough to draw them.
_GRID, _CONTOUR_ROWS = 41, 5_000


@dataclass(frozen=True, eq=False)
class Descent:
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
        names = house.column_names(self.model, self.objective.n_columns)
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
        return smooth + objective.penalty.l1 * float(np.abs(objective.linear(theta)[0]).sum())


def descent_trace(model: Any, frames: int = 60) -> Figure:
    """The objective by iteration; of a model of one or two columns also its contours, and the way over them.

    Parameters
    ----------
    model : LogisticRegression, or another model with a ``solution_``
        Fitted with ``trace=True``.
    frames : int
        At most this many iterations are shown, evenly spaced, the first and the last among them.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider. Coefficients are those of standardised columns, in which the solver works.
        Contours of two coefficients are those with the intercept as at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X[:, 0] + rng.normal(size=200) > 0
    >>> model = LogisticRegression(alpha=0.01, solver="gradient", trace=True).fit(X, y)
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
    descent = Descent(model, steps, _drawable(model, steps))
    shown = house.evenly(len(steps), frames)
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


def _first_picture(descent: Descent, words: str) -> Figure:
    from plotly.subplots import make_subplots

    made = make_subplots(rows=1, cols=1 if descent.objective is None else 2, horizontal_spacing=0.12)
    title = f"{type(descent.model).__name__} going downhill (solver {descent.model.solution_.solver})"
    made.update_layout(house.layout(title, words, least_lines=3, showlegend=False))
    values = descent.values
    chosen = house.thinned(np.arange(len(values), dtype=float), values)
    made.add_scatter(
        x=chosen, y=values[chosen], mode="lines", line=house.line(0), name="objective",
        customdata=[descent.steps[i].gradient_norm for i in chosen],
        hovertemplate="iteration %{x}: objective %{y:.6g},<br>largest derivative %{customdata:.2g}<extra></extra>",
        row=1, col=1,
    )  # fmt: skip
    made.update_xaxes(house.axis("iteration"), row=1, col=1)
    made.update_yaxes(house.axis("objective: mean loss and penalty"), row=1, col=1)
    if descent.objective is not None:
        _add_contours(made, descent, descent.objective.every(descent.sampling))
    return made


def _add_contours(made: Figure, descent: Descent, objective: Objective) -> None:
    way = descent.way
    low, high = way.min(axis=0), way.max(axis=0)
    room = 0.25 * np.maximum(high - low, 1e-3 + 0.1 * np.abs(high))
    x, y = (np.linspace(low[j] - room[j], high[j] + room[j], _GRID) for j in range(2))
    values = np.array([[descent.value_at(objective, a, b) for a in x] for b in y])
    made.add_contour(
        x=x, y=y, z=values.astype(np.float32), showscale=False, ncontours=25, name="contours",
        colorscale=[[0, house.tint(house.colour(0), 0.9)], [0.3, house.tint(house.colour(0), 0.35)], [1, "#ffffff"]],
        line={"width": 0.6, "color": "white"}, hovertemplate="objective %{z:.5g}<extra></extra>", row=1, col=2,
    )  # fmt: skip
    for update, name in zip((made.update_xaxes, made.update_yaxes), descent.names, strict=True):
        update(house.axis(name), row=1, col=2)


def _moment(descent: Descent, shown: Array, n_frames: int) -> Moment:
    now, total = int(shown[-1]), len(descent.steps)
    value = float(descent.values[now])
    words = f"Iteration {now:,} of {total - 1:,}: objective {value:.6g}, largest derivative "
    words += f"{descent.steps[now].gradient_norm:.2g}." + _remarks(descent, n_frames)
    here = {"size": 12, "color": house.colour(4)}
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "markers", "x": [now], "y": [value], "marker": here, "hoverinfo": "skip"}
    ]
    if descent.objective is not None:
        traces.append(_way_trace(descent.way[shown]))
    return Moment(traces, words, str(now))


def _remarks(descent: Descent, n_frames: int) -> str:
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
        "marker": {"size": [5] * (len(way) - 1) + [12], "color": house.colour(4)},
        "line": {"color": house.colour(4), "width": 2}, "xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip",
    }  # fmt: skip
