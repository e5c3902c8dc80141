"""Curves over the thresholds of a score: ROC, precision-recall, calibration, expected cost, risk-coverage."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..evaluation.calibration import Binning, CalibrationBins
from ..evaluation.class_curves import ClassCurves, Curves
from ..evaluation.curves import BestThreshold, ThresholdCurve, expected_costs, threshold_costs
from ..evaluation.intervals import RANGE_MARK, wilson_interval
from ..evaluation.probabilities import RiskCoverage
from ..results import percent
from . import theme
from .sketch import Property

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def _share_axis(title: str, **more: Property) -> dict[str, Any]:
    return theme.axis(title, range=[-0.01, 1.01], **more)


def _name(label: Hashable) -> str:
    return "all classes" if label is None else theme.written(label)


def _named_curves(curve: Curves | Mapping[str, ThresholdCurve], figure: str) -> tuple[dict[Any, ThresholdCurve], str]:
    """The curves to draw by class or classifier, and a title suffix."""
    if isinstance(curve, (ThresholdCurve, ClassCurves)):
        curves, of_each = curve.by_class, " (one-vs-rest)"
    else:
        theme.expect(curve, (ThresholdCurve, ClassCurves, Mapping), figure)
        curves, of_each = dict(curve), " by classifier"
        for one in curves.values():
            theme.expect(one, (ThresholdCurve,), figure)
    return curves, of_each if len(curves) > 1 else ""


def _drawable(made: Figure, curves: dict[Hashable, ThresholdCurve]) -> Iterator[tuple[int, str, ThresholdCurve]]:
    """The curves that are defined; undefined ones are only listed in the legend."""
    for k, (label, curve) in enumerate(curves.items()):
        if not curve.undefined:
            yield k, _name(label), curve
            continue
        name = f"{_name(label)}: undefined, {theme.written(curve.undefined)}"
        made.add_scatter(x=[None], y=[None], mode="lines", name=name, line={"color": theme.PALE})


def roc_curve(curve: Curves | Mapping[str, ThresholdCurve], level: float = 0.95) -> Figure:
    """Draw the ROC curve of each class or classifier, with the area under it (AUC) and its confidence interval.

    Parameters
    ----------
    curve : ThresholdCurve, ClassCurves, or dict of str to ThresholdCurve
        From `discriminant.evaluation.roc`, or ``roc`` of an `Evaluation`; a dict has curves of several classifiers by
        name.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    discriminant.roc : Computes the curve.
    cost_curve : The expected cost by threshold.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = roc_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[1].name
    'yes: AUC 0.750 (0.051 to 0.994)*'
    >>> figure.data[1].x, figure.data[1].y
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    curves, of_each = _named_curves(curve, "roc_curve")
    made = theme.figure(
        f"ROC curve{of_each}", f"AUC with {100 * level:g} % confidence interval (* range of unknown coverage).",
        xaxis=_share_axis("False positive rate (1 - specificity)"), yaxis=_share_axis("True positive rate (recall)"),
        legend={"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"},
        alt="true positive rate against false positive rate, with the diagonal of a random classifier.",
    )  # fmt: skip
    made.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="random classifier: AUC 0.5", line=theme.DOTTED, hoverinfo="skip"
    )
    for k, name, one in _drawable(made, curves):
        chosen, found = theme.thinned(one.fpr, one.tpr), one.auc_interval(level)
        made.add_scatter(
            x=one.fpr[chosen], y=one.tpr[chosen], mode="lines", line=theme.line(k),
            name=f"{name}: AUC {one.auc:.3f}{theme.between(*found)}{RANGE_MARK if found.is_range else ''}",
            customdata=one.thresholds[chosen],
            hovertemplate=(
                f"{name}, threshold %{{customdata:.4g}}<br>true positive rate %{{y:.1%}},<br>"
                "false positive rate %{x:.1%}<extra></extra>"
            ),
        )  # fmt: skip
    return made


def precision_recall_curve(curve: Curves | Mapping[str, ThresholdCurve], level: float = 0.95) -> Figure:
    """Draw the precision-recall curve of each class or classifier, with the average precision and its interval.

    The dotted line is the precision when every row is predicted positive: the prevalence of the class.

    Parameters
    ----------
    curve : ThresholdCurve, ClassCurves, or dict of str to ThresholdCurve
        From `discriminant.evaluation.roc`, or ``roc`` of an `Evaluation`; a dict has curves of several classifiers by
        name.
    level : float, default=0.95
        Confidence level.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    discriminant.roc : Computes the curve.
    roc_curve : The rates of both kinds of errors; precision and recall are preferable for rare classes.

    Examples
    --------
    >>> from discriminant.evaluation import precision_recall
    >>> figure = precision_recall_curve(precision_recall(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[0].name.partition(" (")[0]
    'yes: AP 0.833'
    """
    curves, of_each = _named_curves(curve, "precision_recall_curve")
    made = theme.figure(
        f"Precision-recall curve{of_each}",
        "Average precision (AP) with a range (coverage varies). Dotted: prevalence of the class.",
        xaxis=_share_axis("Recall"),
        yaxis=_share_axis("Precision"),
        legend={"x": 0.01, "xanchor": "left", "y": 0.02, "yanchor": "bottom"},
        alt="precision against recall, with the prevalence of the class as a dotted line.",
    )
    for k, name, one in _drawable(made, curves):
        chosen, share = theme.thinned(one.recall, one.precision), float(one.precision[-1])
        interval = theme.between(*one.average_precision_interval(level))
        made.add_scatter(
            x=one.recall[chosen], y=one.precision[chosen], mode="lines", line=theme.line(k, shape="vh"),
            name=f"{name}: AP {one.average_precision:.3f}{interval}",
            customdata=one.thresholds[chosen], legendgroup=name,
            hovertemplate=(
                f"{name}, threshold %{{customdata:.4g}}<br>recall %{{x:.1%}},<br>precision %{{y:.1%}}<extra></extra>"
            ),
        )  # fmt: skip
        made.add_scatter(
            x=[0, 1], y=[share, share], mode="lines", line={**theme.DOTTED, "color": theme.colour(k)}, showlegend=False,
            legendgroup=name, name=name, hovertemplate=f"prevalence of {name}: {percent(share)}<extra></extra>",
        )  # fmt: skip
    return made


def calibration_curve(
    bins: CalibrationBins | Mapping[Any, CalibrationBins], n_bins: int = 10, by: Binning = "quantile",
    level: float = 0.95,
) -> Figure:  # fmt: skip
    """Draw the calibration curve: observed frequency against predicted probability, and the number of rows in each bin.

    Parameters
    ----------
    bins : CalibrationBins, or a dict of them by class
        Such as ``calibration`` of an `Evaluation`, or one class of it.
    n_bins : int, default=10
        Maximum number of bins.
    by : {"quantile", "width"}, default="quantile"
        Bins with equal numbers of rows, or of equal width.
    level : float, default=0.95
        Confidence level of Wilson's intervals of the observed frequencies.

    Returns
    -------
    plotly.graph_objects.Figure
        Two panels: observed frequencies, and numbers of rows.

    See Also
    --------
    discriminant.CalibrationBins : The bins and their summary.

    Examples
    --------
    >>> from discriminant.evaluation import CalibrationBins
    >>> found = CalibrationBins.of([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8, 0.9])
    >>> figure = calibration_curve(found, n_bins=2, by="width")
    >>> figure.data[1].x.round(3), figure.data[1].y.round(3)
    (array([0.167, 0.8  ]), array([0.333, 0.667]))
    """
    by_class = dict(bins) if isinstance(bins, Mapping) else {None: bins}
    for one in by_class.values():
        theme.expect(one, (CalibrationBins,), "calibration_curve")
    how = "equal numbers of rows" if by == "quantile" else "equal width"
    made = theme.panels(
        "Calibration curve",
        f"Up to {n_bins} bins with {how}; {100 * level:g} % confidence intervals.",
        (0.78, 0.22),
        600,
        "observed frequency against predicted probability with the diagonal, and the number of rows in each bin.",
    ).update_layout(legend={"x": 0.01, "xanchor": "left", "y": 0.99, "yanchor": "top"})
    made.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", line=theme.DOTTED, hoverinfo="skip", row=1, col=1
    )
    for k, (label, one) in enumerate(by_class.items()):
        name = "outcome" if label is None else theme.written(label)
        coarse = one.rebinned(n_bins, by) if len(one.weight) > n_bins else one
        _add_calibration(made, coarse, k, name, level)
    made.update_xaxes(_share_axis("Predicted probability"), row=2, col=1)
    made.update_xaxes(_share_axis(""), row=1, col=1)
    made.update_yaxes(_share_axis("Observed frequency"), row=1, col=1)
    return made.update_yaxes(theme.axis("Rows", rangemode="tozero"), row=2, col=1)


def _add_calibration(made: Figure, bins: CalibrationBins, k: int, name: str, level: float) -> None:
    filled = bins.weight > 0
    weight, predicted, observed = bins.weight[filled], bins.predicted[filled], bins.observed[filled]
    ends = [tuple(wilson_interval(share, n, level)) for share, n in zip(observed, weight, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    made.add_scatter(
        x=predicted, y=observed, mode="lines+markers", name=name, legendgroup=name,
        line=theme.line(k, width=1.5), marker=theme.marker(k, size=8),
        error_y=theme.error_bars(observed, low, high, thickness=1, width=3),
        customdata=np.column_stack((weight, low, high)),
        hovertemplate=(
            "%{customdata[0]:,.6g} rows<br>predicted probability %{x:.3f}<br>observed frequency %{y:.3f} "
            "(%{customdata[1]:.3f} to %{customdata[2]:.3f})<extra></extra>"
        ),
        row=1, col=1,
    )  # fmt: skip
    made.add_scatter(
        x=predicted, y=weight, mode="markers", legendgroup=name, name=name, showlegend=False,
        marker=theme.marker(k, size=7),
        hovertemplate="%{y:,.6g} rows<extra></extra>", row=2, col=1,
    )  # fmt: skip


def cost_curve(
    curve: ThresholdCurve,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prior: float | None = None,
    costs: ArrayLike | Mapping[Any, Any] | None = None,
    level: float = 0.95,
) -> Figure:
    """Draw the expected cost per row by threshold, with the optimal threshold and its confidence interval.

    Parameters
    ----------
    curve : ThresholdCurve
        From `discriminant.evaluation.roc`; for more than two classes one of its curves, ``roc["setosa"]``.
    cost_fp, cost_fn : float, default=1.0
        Costs of a false positive and of a false negative.
    prior : float, optional
        Prior probability of the positive class in the target population. Default: its share of the rows.
    costs : array-like of shape (2, 2), dict or frame, optional
        All four costs instead; rows are the truth.
    level : float, default=0.95
        Confidence level of the interval of the optimal threshold.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    roc_curve : The rates at those thresholds.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = cost_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]), cost_fn=5)
    >>> figure.data[1].x, figure.data[1].y
    ((0.35,), (0.25,))
    """
    theme.expect(curve, (ThresholdCurve,), "cost_curve")
    best = curve.best_threshold(cost_fp, cost_fn, prior, costs, level)
    table = threshold_costs(cost_fp, cost_fn, costs, curve.positive)
    made = theme.figure(
        "Expected cost by threshold",
        _cost_words(curve, best, table),
        xaxis=theme.axis(f"Threshold (predict {_name(curve.positive)} if the score is at least this)"),
        yaxis=theme.axis("Expected cost per row", rangemode="tozero"),
        alt="the expected cost per row over all thresholds, with the optimal threshold marked.",
    )
    if curve.undefined:
        theme.note(made, f"Undefined: {theme.written(curve.undefined)}.")
        return made
    scores, expected = curve.ranked.values, expected_costs(curve.ranked.positive, curve.ranked.negative, table, prior)
    low, high = float(scores.min()), float(scores.max())
    padding = 0.06 * (high - low) or max(abs(high), 1.0)
    # Beyond the smallest and the largest score the cost is that of predicting every row or none as positive.
    x = np.concatenate(([low - padding], scores[::-1], [high + padding]))
    y = np.append(expected[-1], expected[::-1])
    chosen = theme.thinned(x, y)
    made.add_scatter(
        x=x[chosen], y=y[chosen], mode="lines", line={**theme.line(0), "shape": "vh"}, name="expected cost",
        hovertemplate="threshold %{x:.4g}: expected cost %{y:.4g} per row<extra></extra>",
    )  # fmt: skip
    _add_best(made, best, x[[0, -1]])
    return made.update_xaxes(range=x[[0, -1]])


def _cost_words(curve: ThresholdCurve, best: BestThreshold, costs: Array) -> str:
    words = f"Cost of a false positive: {costs[0, 1]:g}, of a false negative: {costs[1, 0]:g}"
    if costs[0, 0] or costs[1, 1]:
        words += f", of a true negative: {costs[0, 0]:g}, of a true positive: {costs[1, 1]:g}"
    if math.isnan(best.cost):
        return f"{words}."
    at = f"{best.threshold:.4g}" if math.isfinite(best.threshold) else f"predict no row as {_name(curve.positive)}"
    return (
        f"{words}. Optimal threshold: {at}, cost {best.cost:.4g} per row. Interval of the threshold: {best.interval}."
    )


def _add_best(made: Figure, best: BestThreshold, ends: Array) -> None:
    left, right = ends.tolist()
    made.add_scatter(
        x=[min(best.threshold, right)], y=[best.cost], mode="markers", name="optimal threshold",
        marker=theme.marker(4, size=12, symbol="diamond"),
        hovertemplate=(
            f"optimal threshold: cost %{{y:.4g}} per row<br>true positive rate {percent(best.tpr)},<br>"
            f"false positive rate {percent(best.fpr)}<extra></extra>"
        ),
    )  # fmt: skip
    low, high = best.interval
    if math.isnan(low):
        return
    made.add_vrect(
        x0=max(low, left), x1=min(high, right), fillcolor=theme.tint(theme.colour(4), 0.25), line_width=0,
        layer="below", annotation={"text": "range", "font": {"size": 12}},
        annotation_position="top left",
    )  # fmt: skip


def risk_coverage(curve: RiskCoverage | Mapping[str, RiskCoverage]) -> Figure:
    """Draw the risk-coverage curve: the error rate of the decided rows against their share of all rows.

    Parameters
    ----------
    curve : RiskCoverage, or dict of them by name
        From `discriminant.evaluation.risk_coverage`, or ``risk_coverage`` of an `Evaluation` or `SetEvaluation`.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    discriminant.risk_coverage : Computes the curve.
    discriminant.Decision : Abstains at a threshold or a cost.

    Examples
    --------
    >>> from discriminant.evaluation import risk_coverage as measured
    >>> curve = measured([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> figure = risk_coverage(curve)
    >>> figure.data[0].x, figure.data[0].y
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    """
    curves = dict(curve) if isinstance(curve, Mapping) else {"risk": curve}
    for one in curves.values():
        theme.expect(one, (RiskCoverage,), "risk_coverage")
    words = [
        f"{f'{theme.written(name)}: ' if len(curves) > 1 else ''}Rows are decided in order of their {one.certainty}. "
        f"Error rate of all rows: {percent(one.risk[-1])}; area under the curve: {percent(one.area)}."
        for name, one in curves.items()
    ]
    made = theme.figure(
        "Risk-coverage curve",
        "\n".join(words),
        xaxis=_share_axis("Coverage (share of rows decided)", tickformat=".0%"),
        yaxis=theme.axis("Risk (error rate of decided rows)", tickformat=".1~%", rangemode="tozero"),
        alt="the error rate of decided rows against their share of all rows.",
    )
    for k, (name, one) in enumerate(curves.items()):
        chosen = theme.thinned(one.coverage, one.risk)
        made.add_scatter(
            x=one.coverage[chosen], y=one.risk[chosen], mode="lines", name=theme.written(name),
            line=theme.line(k, shape="vh"), customdata=one.thresholds[chosen],
            hovertemplate=(
                f"{one.certainty} at least %{{customdata:.4g}}<br>coverage %{{x:.1%}}, risk %{{y:.2%}}<extra></extra>"
            ),
        )  # fmt: skip
    return made
