"""Performance of models: confusion matrix, model comparison, learning curves, sources of error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Array
from ..evaluation.confusion import ConfusionMatrix
from ..results import metric_name, percent
from ..validation.comparison import Comparison
from ..validation.degree_curve import DegreeCurve
from ..validation.learning_curve import ErrorSources, LearningCurve
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


#: With more classes, numbers in the cells are illegible and shown on hover only.
MAX_WRITTEN_CLASSES: Final = 16


def confusion(matrix: ConfusionMatrix) -> Figure:
    """Draw the confusion matrix with counts and shares of the true class.

    Parameters
    ----------
    matrix : ConfusionMatrix
        Such as ``confusion`` of an `Evaluation`.

    Returns
    -------
    plotly.graph_objects.Figure
        A heat map; rows are true classes, columns predicted classes.

    See Also
    --------
    discriminant.ConfusionMatrix : Counts the rows, and has every rate.

    Examples
    --------
    >>> from discriminant.evaluation import ConfusionMatrix
    >>> figure = confusion(ConfusionMatrix.of(["cat", "cat", "dog"], ["cat", "dog", "dog"]))
    >>> figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    ('Predicted class', 'True class')
    >>> figure.data[0].text
    (['1<br>50.0 %', '1<br>50.0 %'], ['0<br>0.0 %', '1<br>100.0 %'])
    """
    theme.expect(matrix, (ConfusionMatrix,), "confusion")
    truth = [theme.written(label) for label in matrix.classes.tolist()]
    prediction = [theme.written(label) for label in matrix.predictions.tolist()]
    shares = matrix.normalised("truth")
    made = theme.figure(
        "Confusion matrix",
        f"{theme.counted(matrix.total)} rows, accuracy {percent(matrix.accuracy)}. Cells: number of rows and share of "
        "the true class.",
        height=max(440, 150 + 46 * min(len(truth), 2 * MAX_WRITTEN_CLASSES)),
        alt=f"a matrix of {len(truth)} true classes by {len(prediction)} predicted classes, coloured by share.",
    )
    _add_cells(made, matrix.counts, shares, truth, prediction)
    made.update_xaxes(**theme.names_axis(prediction, "Predicted class", ticks="", showgrid=False, range=None))
    return made.update_yaxes(**theme.names_axis(truth, "True class", ticks="", showgrid=False))


def _add_cells(made: Figure, counts: Array, shares: Array, truth: list[str], prediction: list[str]) -> None:
    text = [[_cell(n, share) for n, share in zip(*row, strict=True)] for row in zip(counts, shares, strict=True)]
    hover = [
        [f"true {truth[i]}, predicted {prediction[j]}<br>{text[i][j]}" for j in range(len(prediction))]
        for i in range(len(truth))
    ]
    legible = max(len(truth), len(prediction)) <= MAX_WRITTEN_CLASSES
    made.add_heatmap(
        z=shares, x=list(range(len(prediction))), y=list(range(len(truth))),
        zmin=0, zmax=1, xgap=2, ygap=2, hoverongaps=True,
        colorscale=[[0, "#ffffff"], [1, theme.colour(0)]],
        colorbar={"title": {"text": "share of true class", "side": "right"}, "tickformat": ".0%", "outlinewidth": 0},
        text=text, texttemplate="%{text}" if legible else "",
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _cell(count: float, share: float) -> str:
    return theme.counted(count) if math.isnan(share) else f"{theme.counted(count)}<br>{percent(share)}"


def learning_curve(curve: LearningCurve) -> Figure:
    """Draw the error rate on training and test data against the number of training rows, with a fitted power law.

    Parameters
    ----------
    curve : LearningCurve
        From `discriminant.validation.learning_curve.learning_curve`.

    Returns
    -------
    plotly.graph_objects.Figure
        Error rates with confidence bands, and the fitted power law.

    See Also
    --------
    discriminant.learning_curve : Computes the curve.
    error_sources : Decomposes the error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.validation.learning_curve import learning_curve as measured
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = learning_curve(measured(LinearDiscriminantAnalysis(), X, y, sizes=[15, 30, 60, 120]))
    >>> [trace.name for trace in figure.data if trace.showlegend is not False]
    ['training error', 'held-out error', 'fitted power law']
    """
    theme.expect(curve, (LearningCurve,), "learning_curve")
    law = curve.power_law
    made = theme.figure(
        f"Learning curve of {theme.written(curve.model)}",
        f"Means over {len(curve.validation_errors)} splits with 95 % confidence intervals. Extrapolated error rate: "
        f"{curve.limit} ({law.limit:.4f} + {law.scale:.4g} n^-{law.power:.2f}).",
        xaxis=theme.axis("Training rows (logarithmic scale)", type="log", **_size_ticks(curve.sizes)),
        yaxis=theme.axis("Error rate", tickformat=".1~%", rangemode="tozero"),
        alt="training error and held-out error against the number of training rows, with a fitted power law.",
    )
    rows = curve.to_dict()["sizes"]
    for k, (key, name) in enumerate((("train", "training error"), ("validation", "held-out error"))):
        _add_errors(made, rows, key, name, k)
    sizes = np.geomspace(curve.sizes[0], 2 * curve.sizes[-1], 60)
    made.add_scatter(
        x=sizes, y=law.at(sizes), mode="lines", name="fitted power law", line=theme.line(4, dash="dot", width=1.5),
        customdata=theme.percents(law.at(sizes)),
        hovertemplate="power law: %{customdata} at %{x:,.0f} rows<extra></extra>",
    )  # fmt: skip
    return made


def _size_ticks(sizes: Array) -> dict[str, Any]:
    """Ticks at the sizes, if they are few."""
    return {"tickvals": sizes.tolist(), "ticktext": [f"{n:,}" for n in sizes]} if len(sizes) <= 10 else {}


def _add_errors(made: Figure, rows: Sequence[Mapping[str, Any]], key: str, name: str, k: int) -> None:
    sizes, means = ([row[part] for row in rows] for part in ("size", f"{key}_error"))
    low, high = ([row[f"{key}_{end}"] for row in rows] for end in ("low", "high"))
    if all(value is not None for value in (*low, *high)):
        theme.add_band(made, sizes, np.array(low), np.array(high), k, name)
    hover = [
        f"{size:,} training rows: {name} {_rate(mean, a, b)}"
        for size, mean, a, b in zip(sizes, means, low, high, strict=True)
    ]
    made.add_scatter(
        x=sizes, y=means, mode="lines+markers", name=name, legendgroup=name, line=theme.line(k),
        marker=theme.marker(k, size=8), text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _rate(value: float, low: float | None, high: float | None) -> str:
    """An error rate with its interval, if it has one."""
    known = low is not None and high is not None and math.isfinite(low) and math.isfinite(high)
    return percent(value, 2) + (f" ({percent(low, 2)} to {percent(high, 2)})" if known else "")


def comparison(result: Comparison, sentence: bool = True) -> Figure:
    """Draw the mean scores of models with confidence intervals, the best on top, and the scores of single splits.

    Parameters
    ----------
    result : Comparison
        From `discriminant.validation.comparison.compare`.
    sentence : bool, default=True
        Whether the subtitle reports which differences are significant.

    Returns
    -------
    plotly.graph_objects.Figure
        A line for each model.

    See Also
    --------
    discriminant.compare : Compares the models, and tests the differences.

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
    theme.expect(result, (Comparison,), "comparison")
    names = list(result.ranking)
    made = theme.figure(
        f"Model comparison: {metric_name(result.metric)}",
        f"{theme.written(result.sentence) + ' ' if sentence else ''}Intervals: {100 * result.level:g} % for each "
        "model; differences between models are tested on paired rows.",
        height=220 + 44 * len(names),
        alt=f"the score of {len(names)} models with confidence intervals, the best on top.",
    )
    _add_splits(made, result, names)
    alike = result.not_significantly_different
    for k, (group, chosen) in enumerate(
        (
            ("best or not significantly different", [i for i, name in enumerate(names) if name in alike]),
            ("significantly worse than the best", [i for i, name in enumerate(names) if name not in alike]),
        )
    ):
        if chosen:
            _add_means(made, result, names, chosen, group, k)
    made.update_xaxes(**theme.axis(f"{metric_name(result.metric)} on held-out data"))
    return made.update_yaxes(**theme.names_axis([theme.written(name) for name in names]))


def _add_splits(made: Figure, result: Comparison, names: list[str]) -> None:
    scores = [result.cross_validation.scores(name, result.metric) for name in names]
    places = np.repeat(np.arange(len(names)), [len(values) for values in scores]) + 0.22
    made.add_scatter(
        x=np.concatenate(scores), y=places, mode="markers", name="splits",
        marker={"color": theme.GREY, "size": 4, "opacity": 0.6}, hovertemplate="split: %{x:.4g}<extra></extra>",
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
    """Draw training and held-out error against the degree of a polynomial: under- and overfitting.

    Parameters
    ----------
    curve : DegreeCurve
        From `discriminant.degree_curve`.

    Returns
    -------
    plotly.graph_objects.Figure
        Two lines, and the degree with the smallest held-out error.

    See Also
    --------
    discriminant.degree_curve : Computes the curve.

    Examples
    --------
    >>> from discriminant import LogisticRegression
    >>> from discriminant import degree_curve as measured
    >>> from discriminant.datasets import curved
    >>> data = curved(80)
    >>> figure = degree_curve(measured(LogisticRegression(alpha=1e-8), data.X, data.y, degrees=[1, 2]))
    >>> [trace.name for trace in figure.data]
    ['training error', 'held-out error']
    """
    theme.expect(curve, (DegreeCurve,), "degree_curve")
    made = theme.figure(
        f"Under- and overfitting of {theme.written(curve.model)}",
        f"Polynomials of degree {curve.degrees[0]} ({curve.n_columns[0]:,} columns) to {curve.degrees[-1]} "
        f"({curve.n_columns[-1]:,} columns). Smallest held-out error: degree {curve.best}. 95 % confidence intervals.",
        xaxis=theme.axis("Degree of the polynomial", tickvals=curve.degrees.tolist()),
        yaxis=theme.axis("Error rate", tickformat=".1~%", rangemode="tozero"),
        alt="training error and held-out error against the degree, with the best degree marked.",
    )
    made.add_scatter(
        x=curve.degrees, y=curve.train_errors, mode="lines+markers", name="training error", line=theme.line(0),
        marker=theme.marker(0, size=8), customdata=theme.percents(curve.train_errors),
        hovertemplate="degree %{x}: training error %{customdata}<extra></extra>",
    )  # fmt: skip
    values, low, high = np.array([(one.value, one.low, one.high) for one in curve.held_out]).T
    made.add_scatter(
        x=curve.degrees, y=values, mode="lines+markers", name="held-out error", line=theme.line(1),
        marker=theme.marker(1, size=8), error_y=theme.error_bars(values, low, high, thickness=1, width=4),
        customdata=theme.percents(values), hovertemplate="degree %{x}: held-out error %{customdata}<extra></extra>",
    )  # fmt: skip
    made.add_vline(x=curve.best, line=theme.DOTTED)
    return made


def error_sources(sources: ErrorSources) -> Figure:
    """Draw the decomposition of a model's error rate on new rows into its sources.

    Parameters
    ----------
    sources : ErrorSources
        From `discriminant.error_sources`.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar for each known source.

    See Also
    --------
    discriminant.error_sources : Decomposes the error.

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
    theme.expect(sources, (ErrorSources,), "error_sources")
    table = sources._columns()
    values, low, high = (np.array(table[name], dtype=np.float64) for name in ("value", "low", "high"))
    low[0], high[0] = max(low[0], 0.0), min(high[0], 1.0)  # the total is a share of rows
    words = {
        "total": f"error rate on new rows, trained with {int(sources.curve.sizes[-1]):,} rows",
        "estimation": "decreases with more training rows",
        "approximation": "unavoidable for models of this kind",
        "Bayes error": "unavoidable for any model",
        "optimisation": theme.written(sources.optimisation.words),
    }
    known = np.flatnonzero(np.isfinite(values))
    hover = [
        f"{name}: {_rate(value, a, b)}<br>{why}"
        for (name, why), value, a, b in zip(words.items(), values, low, high, strict=True)
    ]
    made = theme.figure(
        f"Sources of error of {theme.written(sources.model)}",
        "Total = Bayes error + approximation + estimation; 95 % confidence intervals. The optimisation error is "
        "contained in these.",
        height=420,
        xaxis=theme.axis("Error rate", tickformat=".1~%"),
        alt="bars of the total error rate and of its sources, with confidence intervals.",
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
