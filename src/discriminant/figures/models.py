"""Models judged on rows they have not seen: learning curves, comparisons, sources of error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..validation.compare import Comparison
from ..validation.curves import LearningCurve
from ..validation.resampled import Estimate
from ..validation.sources import ErrorSources
from . import house

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]
_METRICS = {"log_loss": "log-loss", "brier": "Brier score", "auc": "AUC"}


def learning_curve(curve: LearningCurve) -> Figure:
    """The error on training rows and on held-out rows against the number of training rows, and where it leads.

    Parameters
    ----------
    curve : LearningCurve
        Of `discriminant.validation.curves.learning_curve`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.validation.curves import learning_curve as measured
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = learning_curve(measured(LinearDiscriminantAnalysis(), X, y, sizes=[15, 30, 60, 120]))
    >>> [trace.name for trace in figure.data if trace.showlegend is not False]
    ['training rows', 'held-out rows', 'fitted power law']
    """
    house.expect(curve, (LearningCurve,), "learning_curve", "Make one with discriminant's learning_curve(model, X, y).")
    law = curve.power_law
    made = house.figure(
        f"Learning curve of {house.written(curve.model)}",
        f"Means over {len(curve.validation_errors)} splits with 95 % intervals. Extrapolated to endless rows: error "
        f"{curve.limit} ({law.limit:.4f} + {law.scale:.4g} n^-{law.power:.2f}).",
        xaxis=house.axis("training rows (logarithmic scale)", type="log", **_size_ticks(curve.sizes)),
        yaxis=house.axis("error: share of rows misclassified", tickformat=".1~%", rangemode="tozero"),
    )
    rows = curve.to_dict()["sizes"]
    for k, (key, name) in enumerate((("train", "training rows"), ("validation", "held-out rows"))):
        _add_errors(made, rows, key, name, k)
    sizes = np.geomspace(curve.sizes[0], 2 * curve.sizes[-1], 60)
    made.add_scatter(
        x=sizes, y=law.at(sizes), mode="lines", name="fitted power law", line=house.line(4, dash="dot", width=1.5),
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
            fillcolor=house.see_through(house.colour(k), 0.15), showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    hover = [
        f"{size:,} training rows: error on {name} {mean:.2%}"
        + ("" if a is None or b is None else house.between(a, b, ".2%"))
        for size, mean, a, b in zip(sizes, means, low, high, strict=True)
    ]
    made.add_scatter(
        x=sizes, y=means, mode="lines+markers", name=name, legendgroup=name, line=house.line(k),
        marker=house.marker(k, size=8), text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def comparison(result: Comparison) -> Figure:
    """The models by their mean score with intervals, the best on top; small dots are the splits.

    Parameters
    ----------
    result : Comparison
        Of `discriminant.validation.compare.compare`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import GaussianNB, LinearDiscriminantAnalysis
    >>> from discriminant.validation.compare import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = comparison(compare({"LDA": LinearDiscriminantAnalysis(), "naive Bayes": GaussianNB()}, X, y))
    >>> figure.layout.yaxis.ticktext
    ('LDA', 'naive Bayes', 'baseline')
    """
    house.expect(result, (Comparison,), "comparison", "Make one with discriminant's compare(models, X, y).")
    names = list(result.ranking)
    made = house.figure(
        f"Models compared by {_METRICS.get(result.metric, result.metric)}",
        f"{house.written(result.sentence)} Intervals: {100 * result.level:g} %, each model by itself; whether two "
        "differ is judged split by split.",
        height=220 + 44 * len(names),
    )
    _add_splits(made, result, names)
    alike = result.as_good_as_best
    for k, (group, chosen) in enumerate(
        (
            ("best, or not told apart from it", [i for i, name in enumerate(names) if name in alike]),
            ("worse than the best", [i for i, name in enumerate(names) if name not in alike]),
        )
    ):
        if chosen:
            _add_means(made, result, names, chosen, group, k)
    made.update_xaxes(**house.axis(f"{_METRICS.get(result.metric, result.metric)} on held-out rows"))
    places = list(range(len(names)))
    ticks = [house.written(name) for name in names]
    return made.update_yaxes(**house.axis("", tickvals=places, ticktext=ticks, range=[len(names) - 0.5, -0.5]))


def _add_splits(made: Figure, result: Comparison, names: list[str]) -> None:
    scores = [result.cross_validation.scores(name, result.metric) for name in names]
    places = np.repeat(np.arange(len(names)), [len(values) for values in scores]) + 0.22
    made.add_scatter(
        x=np.concatenate(scores), y=places, mode="markers", name="single splits",
        marker={"color": house.GREY, "size": 4, "opacity": 0.6}, hovertemplate="one split: %{x:.4g}<extra></extra>",
    )  # fmt: skip


def _add_means(made: Figure, result: Comparison, names: list[str], chosen: list[int], group: str, k: int) -> None:
    crossed = result.cross_validation
    means = np.array([crossed.mean(names[i], result.metric) for i in chosen])
    low, high = np.array([tuple(crossed.interval(names[i], result.metric, result.level)) for i in chosen]).T
    hover = [
        f"{house.written(names[i])}: {mean:.4f}{house.between(a, b, '.4f')}"
        for i, mean, a, b in zip(chosen, means, low, high, strict=True)
    ]
    made.add_scatter(
        x=means, y=np.array(chosen, dtype=float), mode="markers", name=group, marker=house.marker(k, size=11),
        error_x={"array": high - means, "arrayminus": means - low, "thickness": 2, "width": 6},
        text=hover, hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def error_sources(sources: ErrorSources) -> Figure:
    """What a model's error on new rows is made of: too few rows, too simple a model, and what nothing can avoid.

    Parameters
    ----------
    sources : ErrorSources
        Of `discriminant.validation.sources.error_sources`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> from discriminant.validation.sources import error_sources as measured
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + y[:, None]
    >>> figure = error_sources(measured(LinearDiscriminantAnalysis(), X, y))
    >>> figure.layout.yaxis.ticktext
    ('total', 'estimation', 'approximation (unknown)', 'Bayes error (unknown)', 'optimisation')
    """
    house.expect(sources, (ErrorSources,), "error_sources", "Make one with discriminant's error_sources(model, X, y).")
    parts = _parts(sources)
    known = [part for part in parts if part.value is not None]
    made = house.figure(
        f"Where the error of {house.written(sources.model)} comes from",
        "Total = Bayes error + approximation + estimation; 95 % intervals. Optimisation is part of these and stands "
        "beside them.",
        height=420,
        xaxis=house.axis("error: share of rows misclassified", tickformat=".1~%"),
    )
    values, low, high = (np.array([getattr(part, end) for part in known]) for end in ("value", "low", "high"))
    made.add_bar(
        x=values, y=[parts.index(part) for part in known], orientation="h", width=0.6, name="error", showlegend=False,
        marker={"color": [house.colour(6 if part.name == "total" else 0) for part in known]},
        error_x={"array": high - values, "arrayminus": values - low, "color": house.GREY, "width": 6},
        text=[str(part) for part in known], textposition="none", hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    made.add_vline(x=0, line={"color": house.INK, "width": 1})
    names = [part.name if part.value is not None else f"{part.name} (unknown)" for part in parts]
    places = list(range(len(parts)))
    return made.update_yaxes(**house.axis("", tickvals=places, ticktext=names, range=[len(parts) - 0.5, -0.5]))


@dataclass(frozen=True)
class Part:
    """A source of error: how large it is, if that is known, and what it is."""

    name: str
    words: str
    value: float | None
    low: float = math.nan
    high: float = math.nan

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.2%}{house.between(self.low, self.high, '.2%')}<br>{self.words}"


def _parts(sources: ErrorSources) -> list[Part]:
    low, high = sources.total.interval()
    rows = int(sources.curve.sizes[-1])
    return [
        # The total is a share of rows: its interval ends where shares do.
        Part("total", f"on new rows, learned from {rows:,}", sources.total.value, max(low, 0.0), min(high, 1.0)),
        _part("estimation", "more rows could remove it", sources.estimation),
        _part("approximation", "no rule of this kind can avoid it", sources.approximation),
        Part("Bayes error", "no rule at all can avoid it", sources.bayes_error),
        Part("optimisation", house.written(sources.optimisation.words), sources.optimisation.error),
    ]


def _part(name: str, words: str, estimate: Estimate | None) -> Part:
    return Part(name, words, None) if estimate is None else Part(name, words, estimate.value, *estimate.interval())
