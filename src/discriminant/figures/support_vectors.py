"""The soft margin of a support vector machine, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, ArrayLike, MatrixLike
from ..data import check_integer
from ..errors import LabelError, ParameterError, Setting
from ..estimators.svm import SupportVectorClassifier
from ..margins.pairwise import PairStep, pairwise_steps
from . import theme
from .geometry import SeparatingLine
from .points import LabelledPoints, add_points, box, equal_scales, labelled_points, plane_figure, shown_rows
from .theme import Moment, animate

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def support_vector_steps(
    model: SupportVectorClassifier, X: MatrixLike, y: ArrayLike, frames: int = 60, limits: ArrayLike | None = None
) -> Figure:
    """Draw the steps of sequential minimal optimisation: boundary, margin, support vectors and the pair of each step.

    Parameters
    ----------
    model : SupportVectorClassifier
        With a soft margin, fitted to two columns and two classes. The steps are those for its ``C``, from zero.
    X : array-like or frame of shape (n_rows, 2)
        The training data.
    y : array-like of shape (n_rows,)
        Their labels.
    frames : int, default=60
        Maximum number of frames, evenly spaced, including the start and the last step.
    limits : array-like of shape (2, 2), optional
        Minimum, then maximum of both axes. Default: all rows, with padding.

    Returns
    -------
    plotly.graph_objects.Figure
        With a play button and a slider.

    See Also
    --------
    boundary : The fitted model.
    perceptron_trace : The updates of the perceptron.

    References
    ----------
    Platt, J. C. (1998). Sequential minimal optimization. Microsoft Research MSR-TR-98-14.
    Keerthi, S. S. et al. (2001). Improvements to Platt's SMO algorithm. Neural Computation 13.

    Examples
    --------
    >>> from discriminant import SupportVectorClassifier
    >>> X, y = [[0, 0], [1, 0], [0, 1], [3, 3], [4, 3], [3, 4]], ["low"] * 3 + ["high"] * 3
    >>> figure = support_vector_steps(SupportVectorClassifier().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data][2:]
    ['boundary', 'margin, -1 and +1', 'margin', 'support vectors', 'rows of the step']
    """
    theme.expect(model, (SupportVectorClassifier,), "support_vector_steps")
    check_integer("frames", frames, 2)
    points = labelled_points(model, X, y, "support_vector_steps", 2)
    if len(points.classes) != 2:
        raise LabelError(
            f"The steps require two classes; the model was fitted to {len(points.classes)}. Fit it to two."
        )
    usual = {"margin": "soft", "loss": "hinge", "standardize": False, "fit_intercept": True, "class_weight": None}
    for name, value in usual.items():
        if getattr(model, name) != value:
            found = f"The steps are those of a soft margin with the hinge loss; the model has {name}="
            raise ParameterError(f"{found}{getattr(model, name)!r}. Fit it with ", Setting(name, value), ".")
    edges = box(points.values, limits)
    steps = pairwise_steps(points.values, np.where(points.codes == 1, 1.0, -1.0), float(model.C))
    shown = theme.evenly(len(steps), frames)
    more = f" {len(shown)} of {len(steps):,} steps are shown." if len(shown) < len(steps) else ""
    moments = [_moment(steps, int(k), points, edges, more) for k in shown]
    alt = f"an animation of the boundary and the margin over {len(steps) - 1:,} steps."
    made = plane_figure("Steps of the soft margin", moments[0].words, points.names, edges, alt, least_lines=2)
    add_points(made, points.values, points)
    return animate(made, moments).update_yaxes(**equal_scales(edges))


def _moment(steps: list[PairStep], k: int, points: LabelledPoints, edges: Array, more: str) -> Moment:
    """The frame after some steps; before the first there is no boundary."""
    step, last = steps[k], len(steps) - 1
    line, nowhere = SeparatingLine(step.coef, step.intercept), np.full((1, 2), None)
    supports, rows = points.values[step.alpha > 0], nowhere
    if step.pair is None:
        words = f"Start at a = 0; {last:,} steps follow."
    else:
        i, j = step.pair
        rows = points.values[[i, j]]
        words = (
            f"Step {k:,} of {last:,}: the dual variables of the rows {i:,} ({points.name_of(i)}) and {j:,} "
            f"({points.name_of(j)}) change. Support vectors: {len(supports):,}. Dual objective {step.objective:.4g}, "
            f"violation {step.violation:.3g}."
        )
    levels = {0.0: nowhere, -1.0: nowhere, 1.0: nowhere}
    if line.length > 0:
        levels = {level: line.ends(edges, level) for level in levels}
    dashed = {"color": theme.INK, "width": 1.5, "dash": "dash"}
    ring = {"symbol": "circle-open", "size": 11, "color": theme.INK, "line": {"width": 1.5}}
    pair = {"symbol": "circle-open", "size": 18, "color": theme.colour(4), "line": {"width": 3}}
    traces: list[dict[str, Any]] = [
        {"mode": "lines", "name": "boundary", "line": {"color": theme.INK, "width": 2.5}, **_place(levels[0.0])},
        {"mode": "lines", "name": "margin, -1 and +1", "line": dashed, **_place(levels[-1.0])},
        {"mode": "lines", "name": "margin", "showlegend": False, "line": dashed, **_place(levels[1.0])},
        {
            "mode": "markers",
            "name": "support vectors",
            "marker": ring,
            **_place(supports if len(supports) else nowhere),
        },
        {"mode": "markers", "name": "rows of the step", "marker": pair, **_place(rows)},
    ]
    return Moment(traces, words + more + shown_rows(points.n_rows), str(k))


def _place(points: Array) -> dict[str, Any]:
    return {"type": "scatter", "hoverinfo": "skip", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
