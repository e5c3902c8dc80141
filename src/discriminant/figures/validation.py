"""Validation of risk models: calibration, decision curves, instability, effects, groups, residuals, influence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import ParameterError
from ..evaluation.by_group import GroupMeasures
from ..evaluation.decision_curve import TREAT_ALL, TREAT_NONE, DecisionCurve
from ..evaluation.recalibration import CalibrationCurve
from ..results import capitalised, metric_name, percent, plain
from ..validation.validated import Instability
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ..effects import Effects
    from ..effects.results import EffectEstimate
    from ..estimators.diagnostics import Diagnostics

#: Rows that are drawn as points; more are drawn as an even sample.
MAX_POINTS: Final = 2_000
#: Points of the line from which predictions at values of a number are a curve.
MIN_CURVE_POINTS: Final = 3
#: Rows that are named in the figure of influence.
NAMED_ROWS: Final = 5


def smooth_calibration(curves: CalibrationCurve | Mapping[str, CalibrationCurve]) -> Figure:
    """Draw smooth calibration curves with pointwise 95 % bands.

    Parameters
    ----------
    curves : CalibrationCurve, or a dict of them by name
        From `discriminant.calibration_curve`, or ``curve`` of a `Validation`.

    Returns
    -------
    plotly.graph_objects.Figure
        Observed frequency against predicted probability, with the diagonal.

    See Also
    --------
    discriminant.calibration_curve : Computes the curve.
    calibration_curve : Bins instead of a smooth curve.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import calibration_curve as measured
    >>> p = np.linspace(0.05, 0.95, 200)
    >>> figure = smooth_calibration(measured(np.random.default_rng(0).uniform(size=200) < p, p))
    >>> [trace.name for trace in figure.data if trace.showlegend is not False]
    ['perfect calibration', 'model: ICI 0.069']
    """
    by_name = dict(curves) if isinstance(curves, Mapping) else {"model": curves}
    for one in by_name.values():
        theme.expect(one, (CalibrationCurve,), "smooth_calibration")
    made = theme.figure(
        "Smooth calibration curve",
        "Logistic regression of the outcome on a natural spline of the predicted log-odds; pointwise 95 % bands. ICI: "
        "integrated calibration index, the mean distance of prediction and curve.",
        xaxis=_probability("Predicted probability"),
        yaxis=_probability("Observed frequency"),
        alt="the observed frequency of the outcome as a smooth function of predicted probability, with the diagonal.",
    )
    made.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", line=theme.DOTTED, hoverinfo="skip")
    for k, (name, one) in enumerate(by_name.items()):
        words = f"{theme.written(name)}: ICI {one.integrated_index:.3f}"
        theme.add_band(made, one.predicted.tolist(), one.low, one.high, k, words)
        made.add_scatter(
            x=one.predicted, y=one.observed, mode="lines", name=words, legendgroup=words, line=theme.line(k),
            hovertemplate="predicted %{x:.3f}: observed %{y:.3f}<extra></extra>",
        )  # fmt: skip
    return made.update_layout(legend={"x": 0.01, "xanchor": "left", "y": 0.99, "yanchor": "top"})


def decision_curve(curve: DecisionCurve) -> Figure:
    """Draw the net benefit of models over thresholds, against treating all rows and none.

    Parameters
    ----------
    curve : DecisionCurve
        From `discriminant.decision_curve`.

    Returns
    -------
    plotly.graph_objects.Figure
        A line for each model with its pointwise 95 % band.

    See Also
    --------
    discriminant.decision_curve : Computes the net benefit.

    Examples
    --------
    >>> from discriminant import decision_curve as measured
    >>> figure = decision_curve(measured([1, 0, 1, 0, 0], [0.8, 0.3, 0.6, 0.5, 0.1]))
    >>> [trace.name for trace in figure.data if trace.showlegend is not False]
    ['model', 'treat all', 'treat none']
    """
    theme.expect(curve, (DecisionCurve,), "decision_curve")
    unit = "true positives per row" if curve.costs is None else "costs saved per row"
    made = theme.figure(
        "Decision curve",
        f"Net benefit of treating rows with probabilities of at least the threshold, in {unit}; pointwise 95 % bands.",
        xaxis=_probability("Probability threshold"),
        yaxis=theme.axis(f"Net benefit ({unit})"),
        alt=f"the net benefit of {len(curve.net_benefit) - 2} models over thresholds, against treating all and none.",
    )
    models = [name for name in curve.net_benefit if name not in (TREAT_ALL, TREAT_NONE)]
    for k, name in enumerate([*models, TREAT_ALL, TREAT_NONE]):
        words, values = theme.written(name), curve.net_benefit[name]
        if name in models:
            theme.add_band(made, curve.thresholds.tolist(), curve.low[name], curve.high[name], k, words)
        made.add_scatter(
            x=curve.thresholds, y=values, mode="lines", name=words, legendgroup=words,
            line=theme.line(k) if name in models else {**theme.DOTTED, "dash": "dash" if name == TREAT_ALL else "dot"},
            hovertemplate=f"{words} at threshold %{{x:.2f}}: %{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    if curve.cost_threshold is not None:
        made.add_vline(x=curve.cost_threshold, line=theme.DOTTED)
    top = max(float(np.max(curve.net_benefit[name])) for name in [*models, TREAT_ALL])
    lowest = min(float(np.min(curve.low[name])) for name in models)
    return made.update_yaxes(range=[max(lowest, -0.5 * top) - 0.02 * top, 1.1 * top] if top > 0 else None)


def instability(found: Instability) -> Figure:
    """Draw how much the predicted probability of each row varies over resamples.

    Parameters
    ----------
    found : Instability
        ``instability`` of a `Validation`.

    Returns
    -------
    plotly.graph_objects.Figure
        Ranges of the resampled probabilities against the probabilities of the model.

    See Also
    --------
    discriminant.validate : Resamples the model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, ValidationOptions, validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = validate(LogisticRegression(), X[:, :2], y, ValidationOptions(resamples=10, inner_resamples=0))
    >>> len(instability(found.instability).data[1].x)
    569
    """
    theme.expect(found, (Instability,), "instability")
    order = np.argsort(found.probability, kind="stable")
    chosen = order[theme.evenly(len(order), MAX_POINTS)]
    (low, high), p = found.ranges[:, chosen], found.probability[chosen]
    made = theme.figure(
        "Instability of predictions",
        f"Range of the predictions of {len(found.resampled):,} resampled models by row ({100 * found.level:g} %); "
        f"mean absolute difference {found.mean_absolute_error:.3f}, classes changed {percent(found.changed.mean())}.",
        xaxis=_probability("Probability predicted by the model"),
        yaxis=_probability("Probability predicted by resampled models"),
        alt="for each row the range of its predicted probability over resamples, against the probability of the model.",
    )
    x = np.column_stack((p, p, np.full(len(p), np.nan))).ravel()
    y = np.column_stack((low, high, np.full(len(p), np.nan))).ravel()
    made.add_scatter(
        x=[None if math.isnan(v) else v for v in x.tolist()], y=[None if math.isnan(v) else v for v in y.tolist()],
        mode="lines", line={"color": theme.see_through(theme.colour(0), 0.35), "width": 1}, name="range",
        hoverinfo="skip",
    )  # fmt: skip
    made.add_scatter(
        x=p, y=p, mode="markers", name="model", marker=theme.marker(0, size=4),
        customdata=np.column_stack((chosen, low, high, 100 * found.changed[chosen])),
        hovertemplate=(
            "row %{customdata[0]:.0f}: %{x:.3f} (%{customdata[1]:.3f} to %{customdata[2]:.3f})<br>class changed in "
            "%{customdata[3]:.1f} % of resamples<extra></extra>"
        ),
    )  # fmt: skip
    return made


def effects(found: Effects) -> Figure:
    """Draw effects as a forest plot; predictions at several values of a number as curves with bands.

    Parameters
    ----------
    found : Effects
        From the functions of `discriminant.effects`.

    Returns
    -------
    plotly.graph_objects.Figure
        Estimates with intervals, a line for each row of the table; ratios on a logarithmic axis.

    See Also
    --------
    discriminant.effects.comparisons : Differences and ratios.
    effect : The effect of a column on the log-odds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> from discriminant.effects import slopes
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> effects(slopes(LogisticRegression().fit(X, y), X)).layout.yaxis.ticktext
    ('mean radius', 'mean texture')
    """
    from ..effects import Effects  # reports of comparisons draw other figures of this module
    from ..effects.results import RATIOS

    theme.expect(found, (Effects,), "effects")
    column = _curve_column(found)
    if column is not None:
        return _effect_curves(found, column)
    kind, is_ratio = found.kind.replace("_", " "), found.kind in RATIOS
    names = [_estimate_name(found, row) for row in found.rows]
    made = theme.figure(
        {"prediction": "Predictions", "slope": "Slopes"}.get(found.kind, f"Comparisons: {kind}"),
        f"Averages with {100 * found.level:g} % intervals. {_notes(found)}",
        height=220 + 34 * len(names),
        xaxis=theme.axis(_AXES.get(found.kind, kind.capitalize()), **(theme.LOG_AXIS if is_ratio else {})),
        alt=f"{len(names)} estimates with their intervals.",
    )
    values, low, high = (np.array([getattr(row, end) for row in found.rows]) for end in ("estimate", "low", "high"))
    there = np.isfinite(low) & np.isfinite(high)
    hover = [
        f"{name}: {row.estimate:.4g}{theme.between(row.low, row.high, '.4g')}"
        for name, row in zip(names, found.rows, strict=True)
    ]
    made.add_scatter(
        x=values, y=np.arange(len(names)), mode="markers", name=kind, marker=theme.marker(0, size=10), text=hover,
        error_x=theme.error_bars(values, np.where(there, low, values), np.where(there, high, values), thickness=2),
        hovertemplate="%{text}<extra></extra>", showlegend=False,
    )  # fmt: skip
    if found.kind != "prediction":
        made.add_vline(x=1 if is_ratio else 0, line=theme.DOTTED)
    return made.update_yaxes(**theme.names_axis(names))


_AXES: Final = {
    "prediction": "Average probability",
    "difference": "Difference of average probabilities",
    "slope": "Average change of the probability per unit",
}


def _notes(found: Effects) -> str:
    return " ".join(f"{theme.written(capitalised(note))}." for note in found.notes)


def _estimate_name(found: Effects, row: EffectEstimate) -> str:
    """The parts of a row of the table that differ among the rows."""
    names = [name for name in ("term", "contrast", "group", "outcome") if _varies(found, name)]
    parts = [theme.written(getattr(row, name)) for name in names if getattr(row, name) not in (None, "")]
    return ", ".join(parts) or theme.written(row.term or "average")


def _varies(found: Effects, name: str) -> bool:
    return len({str(getattr(row, name)) for row in found.rows}) > 1


def _curve_column(found: Effects) -> str | None:
    """The number that predictions or effects are a function of, if there is one."""
    numeric = {
        name
        for row in found.rows
        for name, value in row.at.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name in sorted(numeric):
        values = {row.at.get(name) for row in found.rows}
        if None not in values and len(values) >= MIN_CURVE_POINTS:
            return name
    return None


def _effect_curves(found: Effects, column: str) -> Figure:
    """Estimates against the values of a number, a line for each term, group and class."""
    lines: dict[str, list[EffectEstimate]] = {}
    for row in found.rows:
        fixed = [f"{name} = {value}" for name, value in row.at.items() if name != column]
        own = [getattr(row, name) for name in ("term", "group", "outcome") if _varies(found, name)]
        lines.setdefault(", ".join(map(theme.written, [*own, *fixed])), []).append(row)
    kind = found.kind.replace("_", " ")
    made = theme.figure(
        f"{kind.capitalize()} by {theme.written(column)}",
        f"Averages over rows with {100 * found.level:g} % intervals. {_notes(found)}",
        xaxis=theme.axis(theme.written(column)),
        yaxis=theme.axis(_AXES.get(found.kind, kind.capitalize())),
        alt=f"{len(lines)} curves of the {kind} against {theme.written(column)}.",
    )
    for k, (name, rows) in enumerate(lines.items()):
        rows = sorted(rows, key=lambda row: float(row.at[column]))
        x = [float(row.at[column]) for row in rows]
        low, high = (np.array([getattr(row, end) for row in rows]) for end in ("low", "high"))
        if np.isfinite(low).all():
            theme.add_band(made, x, low, high, k, name)
        made.add_scatter(
            x=x, y=[row.estimate for row in rows], mode="lines", name=name or kind, legendgroup=name,
            line=theme.line(k), showlegend=len(lines) > 1, hovertemplate="%{x:.4g}: %{y:.4g}<extra></extra>",
        )  # fmt: skip
    return made


def group_measures(found: GroupMeasures, measures: Sequence[str] = ("auc", "brier", "calibration_slope")) -> Figure:
    """Draw measures of each group with their intervals, and those of all other rows.

    Parameters
    ----------
    found : GroupMeasures
        From `discriminant.evaluate_by_group`, or ``by_group`` of a `Validation`.
    measures : list of str, default=("auc", "brier", "calibration_slope")
        Those that are drawn; measures that are not reported are left out.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each measure, a line for each group.

    See Also
    --------
    discriminant.evaluate_by_group : Computes the measures.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, evaluate_by_group
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X[::2, :2], y[::2])
    >>> found = evaluate_by_group(model, X[1::2, :2], y[1::2], X[1::2, 0] > 14, name="large")
    >>> group_measures(found, ["accuracy"]).data[0].x.round(3)
    array([0.856, 0.872])
    """
    theme.expect(found, (GroupMeasures,), "group_measures")
    known = {name for name, _ in found.measures}
    shown = [name for name in measures if name in known]
    if not shown:
        raise ParameterError(f"measures must be reported by group, got {list(measures)}. Reported: {sorted(known)}.")
    groups = [theme.written(f"{found.by} = {plain(group)}") for group in found.groups]
    made = theme.panels(
        f"Measures by {theme.written(found.by)}",
        f"{100 * found.level:g} % intervals; crosses: all rows of other groups. p: difference to these, adjusted for "
        "the number of groups.",
        [1 / len(shown)] * len(shown),
        180 + (90 + 32 * len(groups)) * len(shown),
        f"{len(shown)} measures of {len(groups)} groups with intervals, and of the other rows.",
        [metric_name(name) for name in shown],
        shared_xaxes=False,
        vertical_spacing=0.28 / len(shown),
    )
    for i, name in enumerate(shown):
        _add_groups(made, found, name, groups, i + 1)
    return made.update_xaxes(theme.axis("Value"), row=len(shown), col=1)


def _add_groups(made: Figure, found: GroupMeasures, name: str, groups: list[str], place: int) -> None:
    rows = {theme.written(f"{found.by} = {plain(row.group)}"): row for row in found.of(name)}
    own = [(y, rows[group]) for y, group in enumerate(groups) if group in rows and math.isfinite(rows[group].value)]
    places = np.array([y for y, _ in own])
    values, low, high, rest = (
        np.array([getattr(row, part) for _, row in own]) for part in ("value", "low", "high", "rest")
    )
    hover = [
        f"{row.value:.4f}{theme.between(row.low, row.high, '.4f')}<br>difference {row.difference:+.4f}"
        f"{theme.between(row.difference_low, row.difference_high, '.4f')}, p {row.p_adjusted:.4f}"
        for _, row in own
    ]
    made.add_scatter(
        x=values, y=places, mode="markers", name="group", showlegend=place == 1, legendgroup="group",
        marker=theme.marker(0, size=10), error_x=theme.error_bars(values, low, high, thickness=2), text=hover,
        hovertemplate="%{text}<extra></extra>", row=place, col=1,
    )  # fmt: skip
    made.add_scatter(
        x=rest, y=places, mode="markers", name="other rows", showlegend=place == 1, legendgroup="rest",
        marker={"color": theme.GREY, "symbol": "x", "size": 8}, hovertemplate="other rows: %{x:.4f}<extra></extra>",
        row=place, col=1,
    )  # fmt: skip
    made.update_yaxes(**theme.names_axis(groups), row=place, col=1)


def binned_residuals(found: Diagnostics, bins: int | None = None) -> Figure:
    """Draw the mean residual of rows in bins of their fitted probability, with two standard errors.

    Parameters
    ----------
    found : Diagnostics
        From `discriminant.diagnostics`.
    bins : int, optional
        Number of bins. Default: the root of the number of rows.

    Returns
    -------
    plotly.graph_objects.Figure
        Most points lie between the lines if the model holds.

    See Also
    --------
    influence : Rows that determine the coefficients.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, diagnostics
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> len(binned_residuals(diagnostics(LogisticRegression().fit(X[:, :2], y)), bins=10).data[0].x)
    10
    """
    from ..estimators.diagnostics import Diagnostics

    theme.expect(found, (Diagnostics,), "binned_residuals")
    binned = found.binned_residuals(bins)
    made = theme.figure(
        "Binned residuals",
        "Mean of outcome minus fitted probability in bins of rows with similar probabilities; lines: two standard "
        "errors (Gelman and Hill 2007).",
        xaxis=_probability("Fitted probability"),
        yaxis=theme.axis("Mean residual"),
        alt="the mean residual in bins of the fitted probability, with two standard errors.",
    )
    names = [theme.written(plain(label)) for label in _other_classes(found)]
    for k, name in enumerate(names):
        x, y, error = (binned[part][k] for part in ("fitted", "residual", "two_standard_errors"))
        made.add_scatter(
            x=x, y=y, mode="markers", name=name, legendgroup=name, marker=theme.marker(k, size=8),
            hovertemplate="fitted %{x:.3f}: mean residual %{y:.3f}<extra></extra>", showlegend=len(names) > 1,
        )  # fmt: skip
        for sign in (-1, 1):
            made.add_scatter(
                x=x, y=sign * error, mode="lines", line={**theme.DOTTED, "color": theme.colour(k)}, name=name,
                legendgroup=name, showlegend=False, hoverinfo="skip",
            )  # fmt: skip
    made.add_hline(y=0, line={"color": theme.INK, "width": 1})
    return made


def _other_classes(found: Diagnostics) -> list[Any]:
    """The classes but the first, in order."""
    by_code = dict(zip(found.codes.tolist(), found.labels.tolist(), strict=True))
    return [by_code.get(k, k) for k in range(1, found.probabilities.shape[1])]


def influence(found: Diagnostics) -> Figure:
    """Draw Pearson residuals against leverage; the area of points is Cook's distance.

    Parameters
    ----------
    found : Diagnostics
        From `discriminant.diagnostics`.

    Returns
    -------
    plotly.graph_objects.Figure
        The five rows with the largest Cook's distances are named.

    See Also
    --------
    binned_residuals : Lack of fit over the range of probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression, diagnostics
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> influence(diagnostics(LogisticRegression().fit(X[:, :2], y))).data[1].text[:2]
    ('491', '379')
    """
    from ..estimators.diagnostics import Diagnostics

    theme.expect(found, (Diagnostics,), "influence")
    named = np.argsort(-found.cooks, kind="stable")[:NAMED_ROWS]
    rest = np.setdiff1d(np.arange(len(found.cooks)), named)
    rest = rest[theme.evenly(len(rest), MAX_POINTS)]
    made = theme.figure(
        "Influence of rows",
        "Standardised distance of rows from the fit against their leverage; the area of a point is Cook's distance. "
        f"Named: the {NAMED_ROWS} rows with the largest.",
        xaxis=theme.axis("Leverage", rangemode="tozero"),
        yaxis=theme.axis("Pearson residual"),
        alt="Pearson residuals against leverage, points sized by Cook's distance, the most influential rows named.",
    )
    largest = float(found.cooks.max()) or 1.0
    for k, (rows, name) in enumerate(((rest, "rows"), (named, "largest Cook's distances"))):
        size = 4 + 26 * np.sqrt(found.cooks[rows] / largest)
        made.add_scatter(
            x=found.leverage[rows], y=found.pearson[rows], mode="markers+text" if k else "markers", name=name,
            marker={**theme.marker(k, symbol="circle"), "size": size.tolist(), "opacity": 0.7},
            text=[str(row) for row in rows.tolist()] if k else None, textposition="top center",
            customdata=np.column_stack((rows, found.cooks[rows])),
            hovertemplate=(
                "row %{customdata[0]:.0f}: leverage %{x:.4f}, Pearson residual %{y:.3f}<br>Cook's distance "
                "%{customdata[1]:.4g}<extra></extra>"
            ),
        )  # fmt: skip
    made.add_hline(y=0, line=theme.DOTTED)
    return made


def _probability(title: str) -> dict[str, Any]:
    return theme.axis(title, range=[-0.02, 1.02])
