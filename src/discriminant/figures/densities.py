"""What is known before any data, drawn: class densities with the Bayes error between them, and losses of a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import check_choice
from ..errors import ParameterError
from ..estimators.given import ZERO_ONE, LinearClassifier
from ..objective import MARGIN_LOSSES
from ..results import listed
from ..theory.curves import DensityCurves
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def class_densities(curves: DensityCurves) -> Figure:
    """Class densities times their priors, the thresholds of the Bayes decision, and its error as shaded areas.

    Parameters
    ----------
    curves : DensityCurves
        Of `discriminant.theory.density_curves`.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class; shaded is what the decision gets wrong.

    See Also
    --------
    discriminant.theory.density_curves : Makes the curves.
    decision_regions : Posteriors of a model fitted to one column.

    Examples
    --------
    >>> from discriminant.datasets import avocados
    >>> from discriminant.theory import density_curves
    >>> data = avocados()
    >>> figure = class_densities(density_curves(data.distributions, data.priors))
    >>> [trace.name for trace in figure.data]
    ['ordinary', 'taken for another class', 'organic', 'taken for another class']
    """
    theme.expect(curves, (DensityCurves,), "class_densities", "Make one: theory.density_curves(distributions, priors).")
    names = [theme.written(label) for label in curves.classes.tolist()]
    made = theme.figure(
        "Class densities and the Bayes error",
        _decision_words(curves, names),
        xaxis=theme.axis("x", showgrid=False),
        yaxis=theme.axis("prior times density", rangemode="tozero"),
        legend={"title": {"text": "class"}},
        alt=f"{len(names)} density curves; the area under all but the highest, which is the Bayes error, is shaded.",
    )
    for k, name in enumerate(names):
        _add_density(made, curves, k, name)
    for threshold in curves.thresholds.tolist():
        made.add_vline(
            x=threshold,
            line={"color": theme.INK, "width": 1.5, "dash": "dash"},
            annotation={"text": f"{threshold:.4g}", "yanchor": "top"},
        )
    return made


def _decision_words(curves: DensityCurves, names: list[str]) -> str:
    priors = [f"{name} {share:.3g}" for name, share in zip(names, curves.priors, strict=True)]
    where = listed(f"{threshold:.4g}" for threshold in curves.thresholds) or "nowhere"
    return f"Priors: {listed(priors)}. The decision changes at {where}. Shaded: {curves.error}."


def _add_density(made: Figure, curves: DensityCurves, k: int, name: str) -> None:
    """The curve of a class, and the part of its area where another class is decided for."""
    made.add_scatter(
        x=curves.x, y=curves.joint[k], mode="lines", name=name, legendgroup=name, line=theme.line(k),
        hovertemplate=f"{name}: %{{y:.4g}} at %{{x:.4g}}<extra></extra>",
    )  # fmt: skip
    lost = np.where(curves.decided == k, 0.0, curves.joint[k])
    made.add_scatter(
        x=curves.x, y=lost, mode="lines", name="taken for another class", legendgroup=name, showlegend=False,
        line={"width": 0}, fill="tozeroy", fillcolor=theme.see_through(theme.colour(k), 0.35), hoverinfo="skip",
        fillpattern={"shape": theme.PATTERNS[(k + 1) % len(theme.PATTERNS)], "fillmode": "overlay", "size": 6},
    )  # fmt: skip


#: How the losses are called in a figure.
_LOSS_NAMES = {
    ZERO_ONE: "0-1", "perceptron": "perceptron, max(-m, 0)", "hinge": "hinge, max(1 - m, 0)",
    "squared_hinge": "squared hinge, max(1 - m, 0)²", "squared": "squared, (1 - m)² / 2",
    "logistic": "logistic, log(1 + exp(-m))", "squared_sigmoid": "squared error of a sigmoid, (1 - s(m))²",
}  # fmt: skip
#: Margins from minus this to this.
_FAR = 2.5


def loss_curves(losses: Sequence[Any] = (ZERO_ONE, "perceptron", "hinge", "squared", "logistic")) -> Figure:
    """Losses of two-class models against the margin ``m = y g(x)``, which is positive for rows on the right side.

    Parameters
    ----------
    losses : sequence of str, default=("zero-one", "perceptron", "hinge", "squared", "logistic")
        Also "squared_hinge" and "squared_sigmoid", which is not convex.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each.

    See Also
    --------
    discriminant.LinearClassifier : Its ``losses`` are drawn.

    Examples
    --------
    >>> [trace.name for trace in loss_curves(["hinge", "logistic"]).data]
    ['hinge, max(1 - m, 0)', 'logistic, log(1 + exp(-m))']
    """
    if isinstance(losses, str) or not len(losses):
        raise ParameterError(f"losses must be a list of names, got {losses!r}.")
    for name in losses:
        check_choice("losses", name, (ZERO_ONE, *MARGIN_LOSSES))
    made = theme.figure(
        "Losses of a margin",
        "A row is on the right side where its margin is positive. All but the 0-1 loss have slopes to follow.",
        xaxis=theme.axis("margin m = y g(x)"),
        yaxis=theme.axis("loss", range=[-0.1, 3.6]),
        legend={"x": 0.99, "xanchor": "right", "y": 0.99, "yanchor": "top"},
        alt=f"{len(losses)} lines of loss against margin, high for negative margins and falling to the right.",
    )
    margin = np.linspace(-_FAR, _FAR, 501)
    line = LinearClassifier([1.0], 0.0)
    for k, name in enumerate(losses):
        shape = "hv" if name == ZERO_ONE else "linear"
        made.add_scatter(
            x=margin, y=line.losses(margin[:, None], np.ones(len(margin), dtype=int), name), mode="lines",
            name=_LOSS_NAMES[name], line=theme.line(k, shape=shape),
            hovertemplate=f"{_LOSS_NAMES[name]}: %{{y:.3f}} at m = %{{x:.2f}}<extra></extra>",
        )  # fmt: skip
    return made
