"""How good models are: curves over all thresholds, confusion, calibration, comparisons, learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..evaluation.confusion import ConfusionMatrix
from ..evaluation.curves import (
    BestThreshold,
    PrecisionRecall,
    PrecisionRecalls,
    Roc,
    Rocs,
    expected_costs,
    threshold_costs,
)
from ..evaluation.intervals import wilson_interval
from ..evaluation.probabilities import Binning, CalibrationBins, RiskCoverage
from ..results import metric_name
from ..validation.comparison import Comparison
from ..validation.degree_curve import DegreeCurve
from ..validation.learning_curve import ErrorSources, LearningCurve
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_DOTTED = {"color": theme.GREY, "dash": "dot", "width": 1.5}


def _share_axis(title: str, **more: Any) -> dict[str, Any]:
    return theme.axis(title, range=[-0.01, 1.01], **more)


def _name(label: Any) -> str:
    return "all classes together" if label is None else theme.written(label)


def _thinning(curves: Mapping[Any, Any]) -> str:
    """A remark on points that are left out, if there are any."""
    most = max(len(_axes(curve)[0]) for curve in curves.values())
    drawn = max((len(theme.thinned(*_axes(curve))) for curve in curves.values() if not curve.undefined), default=most)
    return f"Drawn at {drawn:,} of {most:,} thresholds." if drawn < most else ""


def _axes(curve: Any) -> tuple[Array, Array]:
    return (curve.fpr, curve.tpr) if isinstance(curve, Roc) else (curve.recall, curve.precision)


def _add_undefined(made: Figure, name: str, reason: str) -> None:
    """A line of the legend for a class without a curve."""
    made.add_scatter(
        x=[None], y=[None], mode="lines", name=f"{name}: no curve, {theme.written(reason)}", line={"color": theme.PALE}
    )


def roc_curve(curve: Roc | Rocs | Mapping[str, Roc], level: float = 0.95) -> Figure:
    """The ROC curve, one for each class or one for each classifier, with the area under it and its interval.

    Parameters
    ----------
    curve : Roc, Rocs, or dict of str to Roc
        Of `discriminant.evaluation.roc`, or ``roc`` of an `Evaluation`; a dict has curves of several classifiers by
        name.
    level : float, default=0.95
        Of the intervals of the area.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class, and that of chance.

    See Also
    --------
    discriminant.roc : Makes the curve.
    cost_curve : What each threshold of it costs.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = roc_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[1].name
    'yes: AUC 0.750 (0.051 to 0.994)'
    >>> figure.data[1].x, figure.data[1].y
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    remedy = "Make one: discriminant.evaluation.roc(y, scores)."
    for one in [curve] if isinstance(curve, (Roc, Rocs)) or not isinstance(curve, Mapping) else curve.values():
        theme.expect(one, (Roc, Rocs) if one is curve else (Roc,), "roc_curve", remedy)
    made = _curve_figure(
        "ROC curve", curve, f"Area under the curve (AUC) with its {100 * level:g} % interval.",
        xaxis=_share_axis("false positive rate: share of other rows that are called positive"),
        yaxis=_share_axis("true positive rate: share of positive rows that are found"),
        legend={"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"},
        alt="the true positive rate against the false positive rate, beside the diagonal of chance.",
    )  # fmt: skip
    made.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="chance: AUC 0.5", line=_DOTTED, hoverinfo="skip")
    return _add_curves(made, curve, _add_roc, level)


def _by_class(curve: Any) -> dict[Any, Any]:
    """The curves by class; those of two classes are one, of the positive class."""
    return {curve.positive: curve} if isinstance(curve, (Roc, PrecisionRecall)) else dict(curve)


_EACH_CLASS = " of each class against the rest"


def _curve_figure(title: str, curve: Any, subtitle: str, **layout: Any) -> Figure:
    curves = _by_class(curve)
    of_each = "" if len(curves) == 1 else " of several classifiers" if isinstance(curve, dict) else _EACH_CLASS
    return theme.figure(f"{title}{of_each}", f"{subtitle} {_thinning(curves)}", **layout)


def _add_curves(made: Figure, curve: Any, add: Callable[..., None], level: float) -> Figure:
    for k, (label, one) in enumerate(_by_class(curve).items()):
        if one.undefined:
            _add_undefined(made, _name(label), one.undefined)
        else:
            add(made, one, k, _name(label), level)
    return made


def _add_roc(made: Figure, curve: Roc, k: int, name: str, level: float) -> None:
    chosen = theme.thinned(curve.fpr, curve.tpr)
    low, high = curve.auc_interval(level)
    made.add_scatter(
        x=curve.fpr[chosen], y=curve.tpr[chosen], mode="lines", line=theme.line(k),
        name=f"{name}: AUC {curve.auc:.3f}{theme.between(low, high)}",
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
    level : float, default=0.95
        Of the intervals of the average precision.

    Returns
    -------
    plotly.graph_objects.Figure
        One line for each class, and one for its share.

    See Also
    --------
    discriminant.precision_recall : Makes the curve; better than ROC for rare classes.

    Examples
    --------
    >>> from discriminant.evaluation import precision_recall
    >>> figure = precision_recall_curve(precision_recall(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]))
    >>> figure.data[0].name.partition(" (")[0]
    'yes: average precision 0.833'
    """
    remedy = "Make one: discriminant.evaluation.precision_recall(y, scores)."
    theme.expect(curve, (PrecisionRecall, PrecisionRecalls), "precision_recall_curve", remedy)
    made = _curve_figure(
        "Precision and recall", curve,
        f"Average precision with its {100 * level:g} % interval; dotted: every row called positive.",
        xaxis=_share_axis("recall: share of the positive rows that are found"),
        yaxis=_share_axis("precision: share of the rows called positive that are"),
        legend={"x": 0.01, "xanchor": "left", "y": 0.02, "yanchor": "bottom"},
        alt="the precision falls as more of the positive rows are found; dotted lines mark the share of the class.",
    )  # fmt: skip
    return _add_curves(made, curve, _add_precision_recall, level)


def _add_precision_recall(made: Figure, curve: PrecisionRecall, k: int, name: str, level: float) -> None:
    chosen = theme.thinned(curve.recall, curve.precision)
    low, high = curve.average_precision_interval(level)
    made.add_scatter(
        x=curve.recall[chosen], y=curve.precision[chosen], mode="lines", line=theme.line(k, shape="hv"),
        name=f"{name}: average precision {curve.average_precision:.3f}{theme.between(low, high)}",
        customdata=np.append(curve.thresholds, np.inf)[chosen], legendgroup=name,
        hovertemplate=(
            f"{name}, threshold %{{customdata:.4g}}<br>%{{x:.1%}} of its rows are found;<br>"
            "%{y:.1%} of the rows taken for it are<extra></extra>"
        ),
    )  # fmt: skip
    share = float(curve.precision[0])
    made.add_scatter(
        x=[0, 1], y=[share, share], mode="lines", line={**_DOTTED, "color": theme.colour(k)}, legendgroup=name,
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
    n_bins : int, default=10
        Bins to draw, at most.
    by : {"quantile", "width"}, default="quantile"
        Bins of equally many rows, or of equal width.
    level : float, default=0.95
        Of Wilson's intervals of the observed shares.

    Returns
    -------
    plotly.graph_objects.Figure
        Two panels: observed shares, and numbers of rows.

    See Also
    --------
    discriminant.CalibrationBins : The bins, and what they sum up to.

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
        theme.expect(one, (CalibrationBins,), "calibration_curve", remedy)
    how = "equally many rows" if by == "quantile" else "equal width"
    made = theme.panels(
        "Calibration",
        f"Up to {n_bins} bins of {how}, {100 * level:g} % intervals. On the dotted line, what is said to happen with "
        "probability p happens in a share p of the cases.",
        (0.78, 0.22),
        height=600,
        barmode="group",
        alt="observed shares against predicted probabilities beside the diagonal, and below it the rows in each bin.",
    )
    made.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", line=_DOTTED, hoverinfo="skip", row=1, col=1
    )
    for k, (label, one) in enumerate(by_class.items()):
        name = "outcome" if label is None else theme.written(label)
        coarse = one.rebinned(n_bins, by) if len(one.weight) > n_bins else one
        error, (low, high) = coarse.calibration_error(None, level=level)
        _add_calibration(made, coarse, k, f"{name}: error {error:.3f} ({low:.3f} to {high:.3f})", level)
    made.update_xaxes(_share_axis("predicted probability"), row=2, col=1)
    made.update_xaxes(_share_axis(""), row=1, col=1)
    made.update_yaxes(_share_axis("observed share"), row=1, col=1)
    return made.update_yaxes(theme.axis("rows", rangemode="tozero"), row=2, col=1)


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
            "%{customdata[0]:,.6g} rows, said to happen with probability %{x:.3f};<br>it happened in %{y:.1%} of them "
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
    curve: Roc, cost_fp: float = 1.0, cost_fn: float = 1.0, prior: float | None = None, costs: Any = None,
    level: float = 0.95, random_state: Any = 0,
) -> Figure:  # fmt: skip
    """The expected cost of a row for every threshold, with the best threshold and its interval.

    Parameters
    ----------
    curve : Roc
        Of `discriminant.evaluation.roc`; for more than two classes one of them, ``roc["setosa"]``.
    cost_fp, cost_fn : float, default=1.0
        What a false positive and a false negative cost.
    prior : float, optional
        The share of positive rows where decisions are made, if it is not that of the rows.
    costs : array-like of shape (2, 2), dict or frame, optional
        All four costs instead; rows are the truth.
    level : float, default=0.95
        Of the interval of the best threshold.
    random_state : int or numpy Generator, default=0
        Draws the rows of the bootstrap.

    Returns
    -------
    plotly.graph_objects.Figure

    See Also
    --------
    roc_curve : The rates at those thresholds, whatever they cost.

    Examples
    --------
    >>> from discriminant.evaluation import roc
    >>> figure = cost_curve(roc(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8]), cost_fn=5)
    >>> figure.data[1].x, figure.data[1].y
    ((0.35,), (0.25,))
    """
    remedy = "Make one: discriminant.evaluation.roc(y, scores); of several classes, give one: roc[label]."
    theme.expect(curve, (Roc,), "cost_curve", remedy)
    best = curve.best_threshold(cost_fp, cost_fn, prior, costs, level, random_state)
    table = threshold_costs(cost_fp, cost_fn, costs, curve.positive)
    made = theme.figure(
        "Expected cost against threshold",
        _cost_words(curve, best, table),
        xaxis=theme.axis(f"threshold: a row is called {_name(curve.positive)} where its score is at least this"),
        yaxis=theme.axis("expected cost of a row", rangemode="tozero"),
        alt="a line of the cost of a row over all thresholds, with the cheapest threshold marked.",
    )
    if curve.undefined:
        theme.note(made, f"No curve: {theme.written(curve.undefined)}.")
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
    chosen = theme.thinned(x, y)
    made.add_scatter(
        x=x[chosen], y=y[chosen], mode="lines", line={**theme.line(0), "shape": "vh"}, name="expected cost",
        hovertemplate="threshold %{x:.4g}: expected cost %{y:.4g} a row<extra></extra>",
    )  # fmt: skip


def _add_best(made: Figure, curve: Roc, best: BestThreshold, left: float, right: float) -> None:
    made.add_scatter(
        x=[min(best.threshold, right)], y=[best.cost], mode="markers", name="least cost",
        marker=theme.marker(4, size=12, symbol="diamond"),
        hovertemplate=(
            f"least cost %{{y:.4g}} a row<br>{best.tpr:.1%} of {_name(curve.positive)} are found,<br>"
            f"{best.fpr:.1%} of the other rows are taken for it<extra></extra>"
        ),
    )  # fmt: skip
    low, high = best.interval
    if math.isnan(low):
        return
    made.add_vrect(
        x0=max(low, left), x1=min(high, right), fillcolor=theme.tint(theme.colour(4), 0.25), line_width=0,
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

    See Also
    --------
    discriminant.risk_coverage : Makes the curve.
    discriminant.Decision : Abstains at a threshold or a cost.

    Examples
    --------
    >>> from discriminant.evaluation import risk_coverage as measured
    >>> curve = measured([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> figure = risk_coverage(curve)
    >>> figure.data[0].x, figure.data[0].y
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.  , 0.  , 0.  , 0.25]))
    """
    remedy = "Make one: discriminant.evaluation.risk_coverage(y, posterior)."
    theme.expect(curve, (RiskCoverage,), "risk_coverage", remedy)
    chosen = theme.thinned(curve.coverage, curve.risk)
    thinning = f" Drawn at {len(chosen):,} of {len(curve.risk):,} thresholds." if len(chosen) < len(curve.risk) else ""
    made = theme.figure(
        "Risk against coverage",
        f"Rows are decided in order of their largest posterior. All decided: {curve.risk[-1]:.1%} errors; on average "
        f"over all coverages: {curve.area:.1%}.{thinning}",
        xaxis=_share_axis("coverage: share of the rows that are decided", tickformat=".0%"),
        yaxis=theme.axis("risk: share of errors among them", tickformat=".1~%", rangemode="tozero"),
        alt="the share of errors among decided rows against the share of rows that are decided.",
    )
    return made.add_scatter(
        x=curve.coverage[chosen], y=curve.risk[chosen], mode="lines", name="risk", line=theme.line(0, shape="vh"),
        customdata=curve.thresholds[chosen],
        hovertemplate=(
            "decided where the largest posterior is at least %{customdata:.4g}:<br>"
            "%{x:.1%} of the rows, %{y:.2%} of them wrongly<extra></extra>"
        ),
    )  # fmt: skip


#: With more classes than this, numbers in the cells could not be read; they stand in the hover texts.
_MOST_WRITTEN = 16


def confusion(matrix: ConfusionMatrix) -> Figure:
    """The confusion matrix: a row for each true class, a column for each prediction; counts and shares of the row.

    Parameters
    ----------
    matrix : ConfusionMatrix
        Such as ``confusion`` of an `Evaluation`.

    Returns
    -------
    plotly.graph_objects.Figure
        A heat map.

    See Also
    --------
    discriminant.ConfusionMatrix : Counts the rows, and has every rate.

    Examples
    --------
    >>> from discriminant.evaluation import ConfusionMatrix
    >>> figure = confusion(ConfusionMatrix.of(["cat", "cat", "dog"], ["cat", "dog", "dog"]))
    >>> figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    ('prediction', 'truth')
    >>> figure.data[0].text
    (['1<br>50.0 %', '1<br>50.0 %'], ['0<br>0.0 %', '1<br>100.0 %'])
    """
    remedy = "Make one: ConfusionMatrix.of(y, predicted); an Evaluation has it as confusion."
    theme.expect(matrix, (ConfusionMatrix,), "confusion", remedy)
    truth = [theme.written(label) for label in matrix.classes.tolist()]
    prediction = [theme.written(label) for label in matrix.predictions.tolist()]
    shares = matrix.normalised("truth")
    made = theme.figure(
        "Confusion matrix",
        f"{theme.counted(matrix.total)} rows, accuracy {matrix.accuracy:.1%}. Cells: rows, and their share of the "
        "true class; colour: that share.",
        height=max(440, 150 + 46 * min(len(truth), 2 * _MOST_WRITTEN)),
        alt=f"a table of {len(truth)} true classes by {len(prediction)} predictions, coloured by share of the row.",
    )
    _add_cells(made, matrix.counts, shares, truth, prediction)
    made.update_xaxes(**_class_axis("prediction", prediction, side="bottom"))
    return made.update_yaxes(**_class_axis("truth", truth, autorange="reversed"))


def _class_axis(title: str, names: list[str], **more: Any) -> dict[str, Any]:
    """An axis of classes by their number: names that look alike or like numbers stay apart."""
    places = list(range(len(names)))
    return theme.axis(title, tickvals=places, ticktext=names, showgrid=False, ticks="", **more)


def _add_cells(made: Figure, counts: Array, shares: Array, truth: list[str], prediction: list[str]) -> None:
    text = [[_cell(n, share) for n, share in zip(*row, strict=True)] for row in zip(counts, shares, strict=True)]
    hover = [
        [_sentence(counts[i, j], shares[i, j], truth[i], prediction[j]) for j in range(len(prediction))]
        for i in range(len(truth))
    ]
    legible = max(len(truth), len(prediction)) <= _MOST_WRITTEN
    made.add_heatmap(
        z=shares, x=list(range(len(prediction))), y=list(range(len(truth))),
        zmin=0, zmax=1, xgap=2, ygap=2, hoverongaps=True,
        colorscale=[[0, "#ffffff"], [1, theme.colour(0)]],
        colorbar={"title": {"text": "share of true class", "side": "right"}, "tickformat": ".0%", "outlinewidth": 0},
        text=text, texttemplate="%{text}" if legible else "",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _cell(count: float, share: float) -> str:
    return theme.counted(count) if math.isnan(share) else f"{theme.counted(count)}<br>{100 * share:.1f} %"


def _sentence(count: float, share: float, truth: str, prediction: str) -> str:
    if math.isnan(share):
        return f"no row is {truth}"
    return f"{theme.counted(count)} rows that are {truth} were predicted {prediction}<br>({share:.1%} of all {truth})"


def learning_curve(curve: LearningCurve) -> Figure:
    """The error on training rows and on held-out rows against the number of training rows, and where it leads.

    Parameters
    ----------
    curve : LearningCurve
        Of `discriminant.validation.learning_curve.learning_curve`.

    Returns
    -------
    plotly.graph_objects.Figure
        Errors with bands, and the fitted law.

    See Also
    --------
    discriminant.learning_curve : Measures the curve.
    error_sources : What is left of the error, by its source.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.validation.learning_curve import learning_curve as measured
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = learning_curve(measured(LinearDiscriminantAnalysis(), X, y, sizes=[15, 30, 60, 120]))
    >>> [trace.name for trace in figure.data if trace.showlegend is not False]
    ['training rows', 'held-out rows', 'fitted power law']
    """
    theme.expect(curve, (LearningCurve,), "learning_curve", "Make one with discriminant's learning_curve(model, X, y).")
    law = curve.power_law
    made = theme.figure(
        f"Learning curve of {theme.written(curve.model)}",
        f"Means over {len(curve.validation_errors)} splits with 95 % intervals. Extrapolated to endless rows: error "
        f"{curve.limit} ({law.limit:.4f} + {law.scale:.4g} n^-{law.power:.2f}).",
        xaxis=theme.axis("training rows (logarithmic scale)", type="log", **_size_ticks(curve.sizes)),
        yaxis=theme.axis("error: share of rows misclassified", tickformat=".1~%", rangemode="tozero"),
        alt="errors on training and on held-out rows against the number of training rows, and a fitted power law.",
    )
    rows = curve.to_dict()["sizes"]
    for k, (key, name) in enumerate((("train", "training rows"), ("validation", "held-out rows"))):
        _add_errors(made, rows, key, name, k)
    sizes = np.geomspace(curve.sizes[0], 2 * curve.sizes[-1], 60)
    made.add_scatter(
        x=sizes, y=law.at(sizes), mode="lines", name="fitted power law", line=theme.line(4, dash="dot", width=1.5),
        hovertemplate="power law: %{y:.2%} at %{x:,.0f} rows<extra></extra>",
    )  # fmt: skip
    return made


def _size_ticks(sizes: Array) -> dict[str, Any]:
    """Ticks at the sizes themselves, if they are few."""
    return {"tickvals": sizes.tolist(), "ticktext": [f"{n:,}" for n in sizes]} if len(sizes) <= 10 else {}


def _add_errors(made: Figure, rows: list[dict[str, Any]], key: str, name: str, k: int) -> None:
    sizes, means = ([row[part] for row in rows] for part in ("size", f"{key}_error"))
    low, high = ([row[f"{key}_{end}"] for row in rows] for end in ("low", "high"))
    if all(value is not None for value in (*low, *high)):
        made.add_scatter(
            x=[*sizes, *sizes[::-1]], y=[*high, *low[::-1]], fill="toself", mode="none", name=name, legendgroup=name,
            fillcolor=theme.see_through(theme.colour(k), 0.15), showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    hover = [
        f"{size:,} training rows: error on {name} {mean:.2%}"
        + ("" if a is None or b is None else theme.between(a, b, ".2%"))
        for size, mean, a, b in zip(sizes, means, low, high, strict=True)
    ]
    made.add_scatter(
        x=sizes, y=means, mode="lines+markers", name=name, legendgroup=name, line=theme.line(k),
        marker=theme.marker(k, size=8), text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def comparison(result: Comparison, sentence: bool = True) -> Figure:
    """The models by their mean score with intervals, the best on top; small dots are the splits.

    Parameters
    ----------
    result : Comparison
        Of `discriminant.validation.comparison.compare`.
    sentence : bool, default=True
        Whether the subtitle says which differences are real.

    Returns
    -------
    plotly.graph_objects.Figure
        A line for each model.

    See Also
    --------
    discriminant.compare : Compares the models, and says which differences are real.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> from discriminant.validation.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = comparison(compare({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y))
    >>> figure.layout.yaxis.ticktext
    ('LDA', 'naive Bayes', 'baseline')
    """
    theme.expect(result, (Comparison,), "comparison", "Make one with discriminant's compare(models, X, y).")
    names = list(result.ranking)
    made = theme.figure(
        f"Models compared by {metric_name(result.metric)}",
        f"{theme.written(result.sentence) + ' ' if sentence else ''}Intervals: {100 * result.level:g} %, each model by "
        "itself; whether two differ is judged row by row.",
        height=220 + 44 * len(names),
        alt=f"{len(names)} models below each other, the best on top, each a dot with an interval.",
    )
    _add_splits(made, result, names)
    alike = result.not_significantly_different
    for k, (group, chosen) in enumerate(
        (
            ("best, or not significantly different", [i for i, name in enumerate(names) if name in alike]),
            ("significantly worse than the best", [i for i, name in enumerate(names) if name not in alike]),
        )
    ):
        if chosen:
            _add_means(made, result, names, chosen, group, k)
    made.update_xaxes(**theme.axis(f"{metric_name(result.metric)} on held-out rows"))
    return made.update_yaxes(**theme.names_axis([theme.written(name) for name in names]))


def _add_splits(made: Figure, result: Comparison, names: list[str]) -> None:
    scores = [result.cross_validation.scores(name, result.metric) for name in names]
    places = np.repeat(np.arange(len(names)), [len(values) for values in scores]) + 0.22
    made.add_scatter(
        x=np.concatenate(scores), y=places, mode="markers", name="single splits",
        marker={"color": theme.GREY, "size": 4, "opacity": 0.6}, hovertemplate="one split: %{x:.4g}<extra></extra>",
    )  # fmt: skip


def _add_means(made: Figure, result: Comparison, names: list[str], chosen: list[int], group: str, k: int) -> None:
    crossed = result.cross_validation
    means = np.array([crossed.mean(names[i], result.metric) for i in chosen])
    low, high = np.array([tuple(crossed.interval(names[i], result.metric, result.level)) for i in chosen]).T
    hover = [
        f"{theme.written(names[i])}: {mean:.4f}{theme.between(a, b, '.4f')}"
        for i, mean, a, b in zip(chosen, means, low, high, strict=True)
    ]
    made.add_scatter(
        x=means, y=np.array(chosen, dtype=float), mode="markers", name=group, marker=theme.marker(k, size=11),
        error_x=theme.error_bars(means, low, high, thickness=2, width=6),
        text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def degree_curve(curve: DegreeCurve) -> Figure:
    """Errors in training and on held-out rows against the degree of the polynomial: under- and overfitting.

    Parameters
    ----------
    curve : DegreeCurve
        Of `discriminant.degree_curve`.

    Returns
    -------
    plotly.graph_objects.Figure
        Two lines, and the degree of the least held-out error.

    See Also
    --------
    discriminant.degree_curve : Measures it.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant import degree_curve as measured
    >>> from discriminant.datasets import curved
    >>> data = curved(80)
    >>> figure = degree_curve(measured(LogisticRegression(alpha=1e-8), data.X, data.y, degrees=[1, 2]))
    >>> [trace.name for trace in figure.data]
    ['training rows', 'held-out rows']
    """
    theme.expect(curve, (DegreeCurve,), "degree_curve", "Make one with discriminant's degree_curve(model, X, y).")
    made = theme.figure(
        f"Under- and overfitting of {theme.written(curve.model)}",
        f"Polynomials of degree {curve.degrees[0]} ({curve.n_columns[0]:,} columns) to {curve.degrees[-1]} "
        f"({curve.n_columns[-1]:,} columns). Least held-out error at degree {curve.best}. 95 % intervals.",
        xaxis=theme.axis("degree of the polynomial", tickvals=curve.degrees.tolist()),
        yaxis=theme.axis("error: share of rows misclassified", tickformat=".1~%", rangemode="tozero"),
        alt="the error in training falls with the degree; that on held-out rows is least at the best degree.",
    )
    made.add_scatter(
        x=curve.degrees, y=curve.train_errors, mode="lines+markers", name="training rows", line=theme.line(0),
        marker=theme.marker(0, size=8), hovertemplate="degree %{x}: %{y:.2%} in training<extra></extra>",
    )  # fmt: skip
    values, low, high = np.array([(one.value, one.low, one.high) for one in curve.held_out]).T
    made.add_scatter(
        x=curve.degrees, y=values, mode="lines+markers", name="held-out rows", line=theme.line(1),
        marker=theme.marker(1, size=8), error_y=theme.error_bars(values, low, high, thickness=1, width=4),
        hovertemplate="degree %{x}: %{y:.2%} on held-out rows<extra></extra>",
    )  # fmt: skip
    made.add_vline(x=curve.best, line=_DOTTED)
    return made


def error_sources(sources: ErrorSources) -> Figure:
    """What a model's error on new rows is made of: too few rows, too simple a model, and what nothing can avoid.

    Parameters
    ----------
    sources : ErrorSources
        What `discriminant.error_sources` found.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar for each source that is known.

    See Also
    --------
    discriminant.error_sources : Takes the error apart.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.validation.learning_curve import error_sources as measured
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + y[:, None]
    >>> figure = error_sources(measured(LinearDiscriminantAnalysis(), X, y))
    >>> figure.layout.yaxis.ticktext
    ('total', 'estimation', 'approximation (unknown)', 'Bayes error (unknown)', 'optimisation')
    """
    theme.expect(sources, (ErrorSources,), "error_sources", "Make one with discriminant's error_sources(model, X, y).")
    table = sources._columns()
    values, low, high = (np.array(table[name], dtype=np.float64) for name in ("value", "low", "high"))
    low[0], high[0] = max(low[0], 0.0), min(high[0], 1.0)  # the total is a share of rows: it ends where shares do
    words = {
        "total": f"on new rows, learned from {int(sources.curve.sizes[-1]):,}",
        "estimation": "more rows could remove it",
        "approximation": "no rule of this kind can avoid it",
        "Bayes error": "no rule at all can avoid it",
        "optimisation": theme.written(sources.optimisation.words),
    }
    known = np.flatnonzero(np.isfinite(values))
    hover = [
        f"{name}: {value:.2%}{theme.between(a, b, '.2%')}<br>{why}"
        for (name, why), value, a, b in zip(words.items(), values, low, high, strict=True)
    ]
    made = theme.figure(
        f"Where the error of {theme.written(sources.model)} comes from",
        "Total = Bayes error + approximation + estimation; 95 % intervals. Optimisation is part of these and stands "
        "beside them.",
        height=420,
        xaxis=theme.axis("error: share of rows misclassified", tickformat=".1~%"),
        alt="bars of the total error and of its parts, with intervals.",
    )
    made.add_bar(
        x=values[known], y=known, orientation="h", width=0.6, name="error", showlegend=False,
        marker={"color": [theme.colour(0 if i else 6) for i in known]},
        error_x=theme.error_bars(values[known], low[known], high[known], color=theme.GREY, width=6),
        text=[hover[i] for i in known], textposition="none", hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    made.add_vline(x=0, line={"color": theme.INK, "width": 1})
    names = [name if i in known else f"{name} (unknown)" for i, name in enumerate(words)]
    return made.update_yaxes(**theme.names_axis(names))
