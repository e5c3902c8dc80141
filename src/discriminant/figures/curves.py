"""Curves over all thresholds: ROC, precision and recall, calibration, expected cost, risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.calibration import Binning, CalibrationBins
from ..evaluation.curves import PrecisionRecall, Roc
from ..evaluation.intervals import wilson_interval
from ..evaluation.many import PrecisionRecalls, Rocs
from ..evaluation.selective import RiskCoverage
from ..evaluation.thresholds import BestThreshold, expected_costs, threshold_costs
from . import house

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]
_DOTTED = {"color": house.GREY, "dash": "dot", "width": 1.5}


def _share_axis(title: str, **more: Any) -> dict[str, Any]:
    return house.axis(title, range=[-0.01, 1.01], **more)


def _name(label: Any) -> str:
    return "all classes together" if label is None else house.written(label)


def _thinning(curves: Mapping[Any, Any]) -> str:
    """A remark on points that are left out, if there are any."""
    most = max(len(_axes(curve)[0]) for curve in curves.values())
    drawn = max((len(house.thinned(*_axes(curve))) for curve in curves.values() if not curve.undefined), default=most)
    return f"Drawn at {drawn:,} of {most:,} thresholds." if drawn < most else ""


def _axes(curve: Any) -> tuple[Array, Array]:
    return (curve.fpr, curve.tpr) if isinstance(curve, Roc) else (curve.recall, curve.precision)


def _add_undefined(made: Figure, name: str, reason: str) -> None:
    """A line of the legend for a class without a curve."""
    made.add_scatter(
        x=[None], y=[None], mode="lines", name=f"{name}: no curve, {house.written(reason)}", line={"color": house.PALE}
    )


def roc_curve(curve: Roc | Rocs, level: float = 0.95) -> Figure:
    """The ROC curve, or one for each class, with the area under it and its interval.

    Parameters
    ----------
    curve : Roc or Rocs
        Of `discriminant.evaluation.roc`, or ``roc`` of an `Evaluation`.
    level : float
        Of the intervals of the area.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = roc_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[1].name
    'yes: AUC 0.750 (0.069 to 0.992)'
    >>> figure.data[1].x, figure.data[1].y
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    house.expect(curve, (Roc, Rocs), "roc_curve", "Make one: discriminant.evaluation.roc(y, scores).")
    curves = {curve.positive: curve} if isinstance(curve, Roc) else dict(curve)
    made = house.figure(
        "ROC curve" if isinstance(curve, Roc) else "ROC curve of each class against the rest",
        f"Area under the curve (AUC) with its {100 * level:g} % interval. {_thinning(curves)}",
        xaxis=_share_axis("false positive rate: share of other rows that are called positive"),
        yaxis=_share_axis("true positive rate: share of positive rows that are found"),
        legend={"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"},
    )
    made.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="chance: AUC 0.5", line=_DOTTED, hoverinfo="skip")
    for k, (label, one) in enumerate(curves.items()):
        if one.undefined:
            _add_undefined(made, _name(label), one.undefined)
        else:
            _add_roc(made, one, k, _name(label), level)
    return made


def _add_roc(made: Figure, curve: Roc, k: int, name: str, level: float) -> None:
    chosen = house.thinned(curve.fpr, curve.tpr)
    low, high = curve.auc_interval(level)
    made.add_scatter(
        x=curve.fpr[chosen], y=curve.tpr[chosen], mode="lines", line=house.line(k),
        name=f"{name}: AUC {curve.auc:.3f}{house.between(low, high)}",
        customdata=curve.thresholds[chosen],
        hovertemplate=(
            f"{name}, threshold %{{customdata:.4g}}<br>%{{y:.1%}} of its rows are found,<br>"
            "%{x:.1%} of the other rows are taken for it<extra></extra>"
        ),
    )  # fmt: skip


def precision_recall_curve(curve: PrecisionRecall | PrecisionRecalls, level: float = 0.95) -> Figure:
    """The precision-recall curve, or one for each class, with the average precision and its interval.

    The dotted line is what calling every row positive would reach: the share of the class.

    Parameters
    ----------
    curve : PrecisionRecall or PrecisionRecalls
        Of `discriminant.evaluation.precision_recall`, or ``precision_recall`` of an `Evaluation`.
    level : float
        Of the intervals of the average precision.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.evaluation import precision_recall
    >>> figure = precision_recall_curve(precision_recall(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[0].name.partition(" (")[0]
    'yes: average precision 0.833'
    """
    remedy = "Make one: discriminant.evaluation.precision_recall(y, scores)."
    house.expect(curve, (PrecisionRecall, PrecisionRecalls), "precision_recall_curve", remedy)
    curves = {curve.positive: curve} if isinstance(curve, PrecisionRecall) else dict(curve)
    one_only = isinstance(curve, PrecisionRecall)
    made = house.figure(
        "Precision and recall" if one_only else "Precision and recall of each class against the rest",
        f"Average precision with its {100 * level:g} % interval; dotted: every row called positive. "
        + _thinning(curves),
        xaxis=_share_axis("recall: share of the positive rows that are found"),
        yaxis=_share_axis("precision: share of the rows called positive that are"),
        legend={"x": 0.01, "xanchor": "left", "y": 0.02, "yanchor": "bottom"},
    )
    for k, (label, one) in enumerate(curves.items()):
        if one.undefined:
            _add_undefined(made, _name(label), one.undefined)
        else:
            _add_precision_recall(made, one, k, _name(label), level)
    return made


def _add_precision_recall(made: Figure, curve: PrecisionRecall, k: int, name: str, level: float) -> None:
    chosen = house.thinned(curve.recall, curve.precision)
    low, high = curve.average_precision_interval(level)
    made.add_scatter(
        x=curve.recall[chosen], y=curve.precision[chosen], mode="lines", line=house.line(k, shape="hv"),
        name=f"{name}: average precision {curve.average_precision:.3f}{house.between(low, high)}",
        customdata=np.append(curve.thresholds, np.inf)[chosen], legendgroup=name,
        hovertemplate=(
            f"{name}, threshold %{{customdata:.4g}}<br>%{{x:.1%}} of its rows are found;<br>"
            "%{y:.1%} of the rows taken for it are<extra></extra>"
        ),
    )  # fmt: skip
    share = float(curve.precision[0])
    made.add_scatter(
        x=[0, 1], y=[share, share], mode="lines", line={**_DOTTED, "color": house.colour(k)}, legendgroup=name,
        showlegend=False, name=name, hovertemplate=f"{share:.1%} of all rows are {name}<extra></extra>",
    )  # fmt: skip


def calibration_curve(
    bins: CalibrationBins | Mapping[Any, CalibrationBins], n_bins: int = 10, by: Binning = "quantile",
    level: float = 0.95,
) -> Figure:  # fmt: skip
    """How often things happened that were said to happen with each probability, and for how many rows that was said.

    Parameters
    ----------
    bins : CalibrationBins, or a dict of them by class
        Such as ``calibration`` of an `Evaluation`, or one class of it.
    n_bins, by
        Bins to draw, as for `CalibrationBins.rebinned`.
    level : float
        Of Wilson's intervals of the observed shares.

    Returns
    -------
    plotly.graph_objects.Figure

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
        remedy = "Take calibration of an Evaluation, or CalibrationBins.of(outcome, probability)."
        house.expect(one, (CalibrationBins,), "calibration_curve", remedy)
    how = "equally many rows" if by == "quantile" else "equal width"
    made = house.panels(
        "Calibration",
        f"Up to {n_bins} bins of {how}, {100 * level:g} % intervals. On the dotted line, what is said to happen with "
        "probability p happens in a share p of the cases.",
        (0.78, 0.22),
        height=600,
        barmode="group",
    )
    made.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", line=_DOTTED, hoverinfo="skip", row=1, col=1
    )
    for k, (label, one) in enumerate(by_class.items()):
        name = "outcome" if label is None else house.written(label)
        coarse = one.rebinned(n_bins, by) if len(one.weight) > n_bins else one
        _add_calibration(made, coarse, k, f"{name}: mean error {coarse.ece(None):.3f}", level)
    made.update_xaxes(_share_axis("predicted probability"), row=2, col=1)
    made.update_xaxes(_share_axis(""), row=1, col=1)
    made.update_yaxes(_share_axis("observed share"), row=1, col=1)
    return made.update_yaxes(house.axis("rows", rangemode="tozero"), row=2, col=1)


def _add_calibration(made: Figure, bins: CalibrationBins, k: int, name: str, level: float) -> None:
    filled = bins.weight > 0
    weight, predicted, observed = bins.weight[filled], bins.predicted[filled], bins.observed[filled]
    ends = [tuple(wilson_interval(share, n, level)) for share, n in zip(observed, weight, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    made.add_scatter(
        x=predicted, y=observed, mode="lines+markers", name=name, legendgroup=name,
        line=house.line(k, width=1.5), marker=house.marker(k, size=8),
        error_y={"array": high - observed, "arrayminus": observed - low, "thickness": 1, "width": 3},
        customdata=np.column_stack((weight, low, high)),
        hovertemplate=(
            "%{customdata[0]:,.6g} rows, said to happen with probability %{x:.3f};<br>it happened in %{y:.1%} of them "
            "(%{customdata[1]:.3f} to %{customdata[2]:.3f})<extra></extra>"
        ),
        row=1, col=1,
    )  # fmt: skip
    made.add_scatter(
        x=predicted, y=weight, mode="markers", legendgroup=name, name=name, showlegend=False,
        marker=house.marker(k, size=7),
        hovertemplate="%{y:,.6g} rows<extra></extra>", row=2, col=1,
    )  # fmt: skip


def cost_curve(
    curve: Roc, cost_fp: float = 1.0, cost_fn: float = 1.0, prior: float | None = None, costs: Any = None,
    level: float = 0.95, random_state: Any = 0,
) -> Figure:  # fmt: skip
    """The expected cost of a row for every threshold, with the best threshold and its interval.

    Parameters
    ----------
    curve : Roc
        Of `discriminant.evaluation.roc`; for more than two classes one of them, ``roc["setosa"]``.
    cost_fp, cost_fn, prior, costs, level, random_state
        As for `Roc.best_threshold`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = cost_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]), cost_fn=5)
    >>> figure.data[1].x, figure.data[1].y
    ((0.35,), (0.25,))
    """
    remedy = "Make one: discriminant.evaluation.roc(y, scores); of several classes, give one: roc[label]."
    house.expect(curve, (Roc,), "cost_curve", remedy)
    best = curve.best_threshold(cost_fp, cost_fn, prior, costs, level, random_state)
    table = threshold_costs(cost_fp, cost_fn, costs, curve.positive)
    made = house.figure(
        "Expected cost against threshold",
        _cost_words(curve, best, table),
        xaxis=house.axis(f"threshold: a row is called {_name(curve.positive)} where its score is at least this"),
        yaxis=house.axis("expected cost of a row", rangemode="tozero"),
    )
    if curve.undefined:
        house.note(made, f"No curve: {house.written(curve.undefined)}.")
        return made
    expected = expected_costs(curve.ranked.positive, curve.ranked.negative, table, prior)
    left, right = _reach(curve.thresholds[1:])
    _add_costs(made, curve, expected, left, right)
    _add_best(made, curve, best, left, right)
    return made.update_xaxes(range=[left, right])


def _cost_words(curve: Roc, best: BestThreshold, costs: Array) -> str:
    name = _name(curve.positive)
    words = (
        f"Cost {costs[0, 1]:g} for calling another row {name}, {costs[1, 0]:g} for missing a {name}"
        + (f"; {costs[0, 0]:g} and {costs[1, 1]:g} for being right" if costs[0, 0] or costs[1, 1] else "")
        + "."
    )
    if math.isnan(best.cost):
        return words
    at = f"threshold {best.threshold:.4g}" if math.isfinite(best.threshold) else f"calling no row {name}"
    return f"{words} Least: {best.cost:.4g} a row at {at}. Interval of the threshold: {best.interval}."


def _reach(scores: Array) -> tuple[float, float]:
    """A little beyond all scores to both sides."""
    low, high = float(scores.min()), float(scores.max())
    room = 0.06 * (high - low) or max(abs(high), 1.0)
    return low - room, high + room


def _add_costs(made: Figure, curve: Roc, expected: Array, left: float, right: float) -> None:
    # From the smallest score up; beyond the ends the cost stays that of calling every row, or none, positive.
    x = np.concatenate(([left], curve.thresholds[:0:-1], [right]))
    y = np.append(expected[-1], expected[::-1])
    chosen = house.thinned(x, y)
    made.add_scatter(
        x=x[chosen], y=y[chosen], mode="lines", line={**house.line(0), "shape": "vh"}, name="expected cost",
        hovertemplate="threshold %{x:.4g}: expected cost %{y:.4g} a row<extra></extra>",
    )  # fmt: skip


def _add_best(made: Figure, curve: Roc, best: BestThreshold, left: float, right: float) -> None:
    made.add_scatter(
        x=[min(best.threshold, right)], y=[best.cost], mode="markers", name="least cost",
        marker=house.marker(4, size=12, symbol="diamond"),
        hovertemplate=(
            f"least cost %{{y:.4g}} a row<br>{best.tpr:.1%} of {_name(curve.positive)} are found,<br>"
            f"{best.fpr:.1%} of the other rows are taken for it<extra></extra>"
        ),
    )  # fmt: skip
    low, high = best.interval
    if math.isnan(low):
        return
    made.add_vrect(
        x0=max(low, left), x1=min(high, right), fillcolor=house.tint(house.colour(4), 0.25), line_width=0,
        layer="below", annotation={"text": f"{100 * best.interval.level:g} % interval", "font": {"size": 12}},
        annotation_position="top left",
    )  # fmt: skip


def risk_coverage(curve: RiskCoverage) -> Figure:
    """The share of errors among the rows that are decided, against the share of rows that are.

    Parameters
    ----------
    curve : RiskCoverage
        Of `discriminant.evaluation.risk_coverage`, or ``risk_coverage`` of an `Evaluation`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from discriminant.evaluation import risk_coverage as measured
    >>> curve = measured([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> figure = risk_coverage(curve)
    >>> figure.data[0].x, figure.data[0].y
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    """
    remedy = "Make one: discriminant.evaluation.risk_coverage(y, posterior)."
    house.expect(curve, (RiskCoverage,), "risk_coverage", remedy)
    chosen = house.thinned(curve.coverage, curve.risk)
    thinning = f" Drawn at {len(chosen):,} of {len(curve.risk):,} thresholds." if len(chosen) < len(curve.risk) else ""
    made = house.figure(
        "Risk against coverage",
        f"Rows are decided in order of their largest posterior. All decided: {curve.risk[-1]:.1%} errors; on average "
        f"over all coverages: {curve.area:.1%}.{thinning}",
        xaxis=_share_axis("coverage: share of the rows that are decided", tickformat=".0%"),
        yaxis=house.axis("risk: share of errors among them", tickformat=".1~%", rangemode="tozero"),
    )
    return made.add_scatter(
        x=curve.coverage[chosen], y=curve.risk[chosen], mode="lines", name="risk", line=house.line(0, shape="vh"),
        customdata=curve.thresholds[chosen],
        hovertemplate=(
            "decided where the largest posterior is at least %{customdata:.4g}:<br>"
            "%{x:.1%} of the rows, %{y:.2%} of them wrongly<extra></extra>"
        ),
    )  # fmt: skip
