"""Fitted models: coefficients, effects of columns, regularisation paths, output codes, and images of coefficients."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, ArrayLike, Classifier
from ..data import check_integer
from ..errors import LabelError, Model, ParameterError, Setting
from ..estimators.coefficients import CoefficientTable, coefficient_table, reference_notes
from ..estimators.logistic_cv import LogisticRegressionCV, LogisticRegressionPath, chosen_strength
from ..estimators.pair_effects import PairEffect
from ..inference.likelihood import CategoryCurves, Effect, EffectPoint
from ..multiclass import Codebook
from ..results import capitalised, several, shown
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Panels of a regularisation path that are legible above each other.
MAX_PANELS: Final = 6
#: Unnamed lines of a regularisation path that a browser draws fast.
MAX_UNNAMED_LINES: Final = 200


def coefficients(
    model: Classifier | CoefficientTable,
    most: int = 30,
    odds_ratios: bool = False,
    level: float = 0.95,
    column_std: ArrayLike | None = None,
) -> Figure:
    """Draw the coefficients of a linear model without the intercept, with intervals if the model has a `summary`.

    Parameters
    ----------
    model : fitted linear classifier, or CoefficientTable
        A model, or its `coefficient_table`.
    most : int, default=30
        Maximum number of columns: those with the largest ``|z|``, or the largest coefficients without standard errors.
    odds_ratios : bool, default=False
        Draw ``exp(coefficient)`` instead: the factor by which the odds change per unit of the column.
    level : float, default=0.95
        Confidence level; a table has its own.
    column_std : array-like of shape (n_columns,), optional
        Standard deviations of the columns: effects are then drawn per standard deviation instead of per unit, which
        makes columns comparable.

    Returns
    -------
    plotly.graph_objects.Figure
        Dots and intervals, one row for each column.

    See Also
    --------
    discriminant.coefficient_table : The coefficients as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    >>> figure = coefficients(LogisticRegression().fit(X, y))
    >>> figure.layout.yaxis.ticktext, figure.data[0].name
    (('x0', 'x1', 'x2'), 'yes against no')
    """
    check_integer("most", most, 1)
    table = model if isinstance(model, CoefficientTable) else coefficient_table(model, level=level)
    unit = "unit" if column_std is None else "standard deviation"
    if odds_ratios and not table.log_odds:
        raise ParameterError(
            f"The coefficients of {table.model} are not log-odds. ",
            Setting("odds_ratios", True),
            " requires a model of class probabilities, such as ",
            Model("LogisticRegression"),
            ".",
        )
    effects = table.effects
    own = list(effects.values())
    numbers = np.array([[(row.estimate, row.low, row.high, row.size) for row in rows] for rows in own])
    if column_std is not None:
        sd = np.asarray(column_std, dtype=np.float64)
        if sd.shape != (len(own[0]),):
            raise ParameterError(
                Setting("column_std"),
                f" must have a value for each of the {len(own[0])} columns, got shape {sd.shape}.",
            )
        numbers[..., :3] *= sd[:, None]
    chosen, ranking = _largest(numbers, most, column_std is None)
    names, drawn = [theme.written(own[0][j].term) for j in chosen], numbers[:, chosen, :3]
    if odds_ratios:
        with np.errstate(over="ignore"):
            drawn = np.exp(drawn)
    largest = f"The {len(names)} of {len(own[0])} columns with {ranking}." if ranking else ""
    made = theme.figure(
        f"{'Odds ratios' if odds_ratios else 'Coefficients'} of {table.model}"
        + f", per {unit}" * (column_std is not None),
        _coefficients_subtitle(table, names, drawn, largest),
        height=190 + (26 + 14 * (len(own) - 1)) * len(names),
        legend={"title": {"text": "outcome"}},
        alt=f"{'odds ratios' if odds_ratios else 'coefficients'} of {len(names)} columns with intervals.",
    )
    for k, outcome in enumerate(effects):
        _add_bars(made, theme.written(table.contrast(outcome)), names, drawn, k)
    what = f"Odds ratio per {unit} (logarithmic scale)" if odds_ratios else f"Coefficient (per {unit})"
    made.add_vline(x=1 if odds_ratios else 0, line=theme.DOTTED)
    made.update_xaxes(**theme.axis(what, **(theme.LOG_AXIS if odds_ratios else {})))
    return made.update_yaxes(**theme.names_axis(names, showgrid=True))


def effect(found: Effect) -> Figure:
    """Draw the effect of a column on the log-odds, such as of a spline, with a confidence band.

    Parameters
    ----------
    found : Effect
        From `LogisticRegression.effect`, or one of `column_effects`, which have no band.

    Returns
    -------
    plotly.graph_objects.Figure
        A curve for each outcome with its band; for levels, dots with intervals.

    See Also
    --------
    coefficients : All coefficients of the model.

    References
    ----------
    Harrell, F. E. (2015). Regression Modeling Strategies, section 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> frame = load_breast_cancer(as_frame=True).frame
    >>> found = LogisticRegression.from_formula("target ~ ns(`mean texture`, df=3)", frame).effect("mean texture")
    >>> figure = effect(found)
    >>> figure.layout.title.text, figure.data[-1].name
    ('Effect of mean texture', '1 against 0')
    """
    theme.expect(found, (Effect,), "effect")
    name, continuous = theme.written(found.column), not isinstance(found.at, str)
    at = f"{found.at:.4g}" if continuous else theme.written(found.at)
    band = "" if found.level is None else f", with pointwise {100 * found.level:g} % confidence intervals"
    held = "means" if found.level is None else "medians, categories at their shares"
    made = theme.figure(
        f"Effect of {name}",
        f"Change in log-odds relative to {name} = {at}{band}. Other columns are held at their {held}.",
        xaxis=theme.axis(name, **({} if continuous else {"type": "category"})),
        yaxis=theme.axis("Change in log-odds"),
        legend={"title": {"text": "outcome"}},
        alt=f"the change in log-odds by {name}, " + ("a curve." if continuous else "a dot for each level."),
    )
    for k, outcome in enumerate(dict.fromkeys(point.outcome for point in found.points)):
        own = [point for point in found.points if point.outcome == outcome]
        _add_effect(made, f"{theme.written(outcome)} against {theme.written(found.reference)}", own, k, continuous)
    made.add_hline(y=0, line=theme.DOTTED)
    return made


def pair_effect(found: PairEffect) -> Figure:
    """Draw the interaction of two columns as a heat map.

    Parameters
    ----------
    found : PairEffect
        One of the rows of `pair_effects`.

    Returns
    -------
    plotly.graph_objects.Figure
        Values of the first column across, of the second upwards.

    See Also
    --------
    effect : The effect of a single column.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import AutoClassifier, pair_effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 3, (300, 4)).astype(float)
    >>> model = AutoClassifier(["ridge", "pairs"]).fit(X, X[:, 0] == X[:, 2])
    >>> found = pair_effects(model, X.mean(axis=0), X.min(axis=0), X.max(axis=0))
    >>> pair_effect(found.rows[0]).data[0].z.shape
    (3, 3)
    """
    theme.expect(found, (PairEffect,), "pair_effect")
    names, reach = [theme.written(name) for name in found.columns], float(np.abs(found.effects).max())
    texts = [[value if isinstance(value, str) else f"{value:.4g}" for value in own] for own in found.values]
    made = theme.figure(
        f"Interaction of {names[0]} and {names[1]}",
        f"Change in log-odds of {theme.written(found.label)} beyond the effects of both. Other columns are held "
        f"at their means; orange is positive, blue negative, at most {reach:.3g}.",
        xaxis=theme.axis(names[0], type="category", showgrid=False),
        yaxis=theme.axis(names[1], type="category", showgrid=False),
        alt=f"a heat map of the change in log-odds by {names[0]} and {names[1]}.",
    )
    made.add_heatmap(
        x=[theme.written(text) for text in texts[0]], y=[theme.written(text) for text in texts[1]],
        z=found.effects.T, zmin=-reach, zmax=reach, xgap=1, ygap=1,
        colorscale=[[0, theme.colour(0)], [0.5, "#ffffff"], [1, theme.colour(1)]],
        hovertemplate=f"{names[0]} %{{x}}, {names[1]} %{{y}}: %{{z:+.3g}}<extra></extra>",
    )  # fmt: skip
    return made


def category_curves(found: CategoryCurves, cumulative: bool = False) -> Figure:
    """Draw the probabilities of ordered classes over a column.

    Parameters
    ----------
    found : CategoryCurves
        From `OrdinalLogisticRegression.category_curves`.
    cumulative : bool, default=False
        Draw the probabilities of each class or a lower one, for all classes but the highest.

    Returns
    -------
    plotly.graph_objects.Figure
        A curve for each class; for levels, dots.

    See Also
    --------
    effect : Effect of a column on the log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from discriminant import OrdinalLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = np.digitize(X[:, 0] + rng.logistic(size=200), [-1, 1])
    >>> figure = category_curves(OrdinalLogisticRegression().fit(X, y).category_curves("x0"))
    >>> [curve.name for curve in figure.data]
    ['0', '1', '2']
    """
    theme.expect(found, (CategoryCurves,), "category_curves")
    name, continuous = theme.written(found.column), not isinstance(found.values[0], str)
    what = "Cumulative probabilities" if cumulative else "Probabilities"
    made = theme.figure(
        f"{what} of the classes by {name}",
        "Other columns are held at their medians, categories at their shares.",
        xaxis=theme.axis(name, **({} if continuous else {"type": "category"})),
        yaxis=theme.axis("Probability", range=[0, 1]),
        legend={"title": {"text": "class or lower" if cumulative else "class"}},
        alt=f"{what.lower()} of {len(found.classes)} ordered classes by {name}.",
    )
    drawn = np.cumsum(found.probabilities, axis=1)[:, :-1] if cumulative else found.probabilities
    values = found.values if continuous else [theme.written(value) for value in found.values]
    for k, (label, own) in enumerate(zip(found.classes, drawn.T, strict=False)):
        style = (
            {"mode": "lines", "line": theme.line(k)}
            if continuous
            else {"mode": "markers", "marker": theme.marker(k, size=9)}
        )
        hover = f"%{{x}}, {theme.written(label)}<br>%{{y:.4f}}<extra></extra>"
        made.add_scatter(x=values, y=own, name=theme.written(label), hovertemplate=hover, **style)
    return made


def _add_effect(made: Figure, name: str, points: list[EffectPoint], k: int, continuous: bool) -> None:
    """A curve with its band, or dots with intervals."""
    values = [point.value if continuous else theme.written(point.value) for point in points]
    estimates, low, high = np.array([(point.estimate, point.low, point.high) for point in points]).T
    hover = [
        f"{f'{value:.4g}' if continuous else value}, {name}<br>{estimate:+.4g}{theme.between(a, b, '.4g')}"
        for value, estimate, a, b in zip(values, estimates, low, high, strict=True)
    ]
    style: dict[str, Any] = {"mode": "lines", "line": theme.line(k)}
    banded = bool(np.isfinite(low).all())
    if continuous and banded:
        theme.add_band(made, values, high=high, low=low, k=k, name=name)
    if not continuous:
        bars = {"error_y": theme.error_bars(estimates, low, high, thickness=1.5, width=4)} if banded else {}
        style = {"mode": "markers", "marker": theme.marker(k, size=9), **bars}
    made.add_scatter(
        x=values, y=estimates, name=name, legendgroup=name, text=hover, hovertemplate="%{text}<extra></extra>", **style
    )


def _largest(numbers: Array, most: int, in_units: bool) -> tuple[Array, str]:
    """The columns to draw, in order, and the criterion by which they were chosen; empty if all are drawn."""
    by_z = np.isfinite(numbers[..., 3]).any(axis=1).all()
    sizes = np.abs(numbers[..., 3 if by_z else 0])
    size = np.where(np.isfinite(sizes), sizes, -1.0).max(axis=0)
    if len(size) <= most:
        return np.arange(len(size)), ""
    chosen = np.sort(np.argsort(-size, kind="stable")[:most])
    depends = " (which depends on the units of the columns)" if in_units else ""
    return chosen, f"the largest {'|coefficient| in standard errors' if by_z else f'|coefficient|{depends}'}"


def _coefficients_subtitle(table: CoefficientTable, names: list[str], drawn: Array, largest: str) -> str:
    intervals = f"{100 * table.level:g} % {table.interval} intervals; without the intercept."
    if not np.isfinite(drawn[..., 1]).any():
        why = "" if table.reason is None else f" ({theme.written(table.reason)})"
        intervals = f"No intervals{why}; without the intercept."
    lost = [name for j, name in enumerate(names) if not np.isfinite(drawn[:, j, 0]).all()]
    omitted = f"Not drawn (infinite or not estimable): {', '.join(lost)}." if lost else ""
    levels = [f"{theme.written(capitalised(note))}." for note in reference_notes(table.reference_levels)]
    return " ".join(filter(None, [intervals, largest, omitted, *levels]))


def _add_bars(made: Figure, outcome: str, names: list[str], drawn: Array, k: int) -> None:
    """Draw the estimates of one outcome with their intervals, next to those of the other outcomes."""
    finite = np.flatnonzero(np.isfinite(drawn[k, :, 0]))
    estimates, low, high = drawn[k, finite].T
    hover = [
        f"{names[j]}, {outcome}<br>{estimate:.4g}{theme.between(a, b, '.4g')}"
        for j, estimate, a, b in zip(finite, estimates, low, high, strict=True)
    ]
    bars = theme.error_bars(estimates, low, high, thickness=1.5, width=4)
    made.add_scatter(
        x=estimates, y=finite + (0.0 if len(drawn) == 1 else 0.5 * (k / (len(drawn) - 1) - 0.5)), mode="markers",
        name=outcome, marker=theme.marker(k, size=9), text=hover, hovertemplate="%{text}<extra></extra>",
        **({"error_x": bars} if np.isfinite(low).any() else {}),
    )  # fmt: skip


def regularisation_path(
    path: LogisticRegressionPath | LogisticRegressionCV,
    cross_validation: LogisticRegressionCV | None = None,
    most: int = 10,
    classes: Sequence[Hashable] | None = None,
) -> Figure:
    """Draw coefficients, the number of selected columns and the held-out loss against the penalty strength.

    Parameters
    ----------
    path : LogisticRegressionPath, or LogisticRegressionCV
        The latter has coefficients only at the selected strength: its loss alone is drawn.
    cross_validation : LogisticRegressionCV, optional
        Its held-out loss is drawn below the coefficients.
    most : int, default=10
        Number of coloured columns, those with the largest coefficient anywhere on the path; the others are grey.
    classes : list of labels, optional
        For more than two classes, the classes to draw, each in a panel of its own.

    Returns
    -------
    plotly.graph_objects.Figure
        Panels with a common axis of penalty strengths.

    See Also
    --------
    discriminant.LogisticRegressionPath : The coefficients at every strength.
    discriminant.LogisticRegressionCV : Selects a strength.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegressionPath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegressionPath(n_alphas=5, l1_ratio=1.0).fit(X, y)
    >>> figure = regularisation_path(path)
    >>> figure.data[-1].name, figure.data[-1].y.tolist()
    ('selected columns', [0, 5, 13, 22, 27])
    """
    kinds = (LogisticRegressionPath, LogisticRegressionCV)
    theme.expect(path, kinds, "regularisation_path")
    whole = path if isinstance(path, LogisticRegressionPath) else None
    crossed = path if isinstance(path, LogisticRegressionCV) else cross_validation
    if crossed is not None:
        theme.expect(crossed, kinds[1:], "regularisation_path")
    for model in filter(None, (whole, crossed)):
        check_is_fitted(model)
    check_integer("most", most, 1)
    outcomes = [] if whole is None else _outcomes(whole, classes)
    counting = whole is not None and whole.l1_ratio > 0
    heights = [1.0] * len(outcomes) + [0.45] * counting + [0.8] * (crossed is not None)
    made = theme.panels(
        "Regularisation path of logistic regression",
        _path_words(whole, crossed, most),
        heights,
        200 + int(260 * sum(heights)),
        ("coefficients" if crossed is None else "coefficients and held-out loss") + " against the penalty strength.",
    ).update_layout(legend={"title": {"text": "column"}})
    if whole is not None:
        _add_paths(made, whole, outcomes, most)
    if whole is not None and counting:
        _add_counts(made, whole, len(outcomes) + 1)
    if crossed is not None:
        _add_losses(made, crossed, len(heights))
    made.update_xaxes(**theme.LOG_AXIS)
    return made.update_xaxes(theme.axis("Penalty strength alpha (logarithmic scale)"), row=len(heights), col=1)


def _outcomes(path: LogisticRegressionPath, classes: Sequence[Hashable] | None) -> list[tuple[int, str]]:
    """The rows of the coefficients to draw, and their names."""
    known = path.classes_.tolist()
    if len(known) == 2:
        return [(0, f" ({theme.written(known[1])})")]
    chosen = known if classes is None else list(classes)
    unknown = [label for label in chosen if label not in known]
    if unknown or not chosen:
        got = shown(unknown[0]) if unknown else "none"
        raise LabelError(Setting("classes"), f" must be classes of the model ({known}), got {got}.")
    if len(chosen) > MAX_PANELS:
        raise ParameterError(
            f"At most {MAX_PANELS} classes can be drawn, got {len(chosen)}. Choose some with ", Setting("classes"), "."
        )
    return [(known.index(label), f" ({theme.written(label)})") for label in chosen]


def _path_words(path: LogisticRegressionPath | None, crossed: LogisticRegressionCV | None, most: int) -> str:
    words = []
    if path is None:
        words.append("Coefficients are stored only for the selected strength; LogisticRegressionPath has all.")
    elif path.coefs_.shape[2] > most:
        words.append(f"Coloured: the {most} of {path.coefs_.shape[2]:,} columns with the largest coefficients.")
        n_hidden = len(_ranked(path)) - most - MAX_UNNAMED_LINES
        if n_hidden > 0:
            words.append(f"{n_hidden:,} columns with smaller coefficients are not drawn.")
    if crossed is not None:
        rule = "within one standard error of the minimum" if crossed.rule == "one-se" else "minimum"
        words.append(
            f"Selected by {crossed.n_splits_}-fold cross-validation: alpha = {crossed.alpha_:.4g} (held-out loss: "
            f"{rule})."
        )
    return " ".join(words)


def _ranked(path: LogisticRegressionPath) -> list[int]:
    """The columns with a nonzero coefficient anywhere on the path, sorted by largest coefficient."""
    largest = np.abs(path.coefs_).max(axis=(0, 1))
    return [j for j in np.argsort(-largest, kind="stable").tolist() if largest[j] > 0]


def _add_paths(made: Figure, path: LogisticRegressionPath, outcomes: list[tuple[int, str]], most: int) -> None:
    names, ranked = theme.column_names(path, path.coefs_.shape[2]), _ranked(path)
    for row, (k, outcome) in enumerate(outcomes, 1):
        _add_others(made, path.alphas_, path.coefs_[:, k, ranked[most : most + MAX_UNNAMED_LINES]], row)
        for place, j in enumerate(ranked[:most]):
            made.add_scatter(
                x=path.alphas_, y=path.coefs_[:, k, j], mode="lines", name=names[j], legendgroup=names[j],
                line=theme.line(place, width=2), showlegend=row == 1, row=row, col=1,
                hovertemplate=f"{names[j]}: %{{y:.4g}}<br>at alpha = %{{x:.4g}}<extra></extra>",
            )  # fmt: skip
        made.update_yaxes(theme.axis(f"Coefficient{outcome}"), row=row, col=1)


def _add_others(made: Figure, alphas: Array, coef: Array, row: int) -> None:
    """Draw the lines of unnamed columns, as one trace with gaps."""
    if coef.shape[1]:
        gap = np.full((1, coef.shape[1]), np.nan)
        made.add_scatter(
            x=np.tile(np.append(alphas, np.nan), coef.shape[1]), y=np.concatenate((coef, gap)).T.ravel(), mode="lines",
            line={"color": theme.tint(theme.GREY, 0.5), "width": 1}, name="other columns", showlegend=row == 1,
            hoverinfo="skip", row=row, col=1,
        )  # fmt: skip


def _add_counts(made: Figure, path: LogisticRegressionPath, row: int) -> None:
    used = (path.coefs_ != 0).any(axis=1).sum(axis=1)
    made.add_scatter(
        x=path.alphas_, y=used, mode="lines", name="selected columns", showlegend=False,
        line={"color": theme.INK, "width": 2, "shape": "hv"}, row=row, col=1,
        hovertemplate="%{y} selected columns at alpha = %{x:.4g}<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(theme.axis("Selected columns", rangemode="tozero"), row=row, col=1)


def _add_losses(made: Figure, model: LogisticRegressionCV, row: int) -> None:
    made.add_scatter(
        x=model.alphas_, y=model.losses_, mode="lines+markers", name="held-out loss", showlegend=False,
        line={"color": theme.INK, "width": 1.5}, marker={"color": theme.INK, "size": 5},
        error_y={"array": model.loss_std_errors_, "thickness": 1, "width": 2}, row=row, col=1,
        customdata=model.loss_std_errors_,
        hovertemplate="held-out loss %{y:.4g}, standard error %{customdata:.2g}<br>at alpha = %{x:.4g}<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(theme.axis("Held-out log-loss"), row=row, col=1)
    least = float(model.alphas_[chosen_strength(model.losses_, model.loss_std_errors_, "min")])
    for alpha, words, dash in ((least, "minimum", "dot"), (model.alpha_, "selected", "solid")):
        if words == "selected" or alpha != model.alpha_:
            made.add_vline(x=alpha, row=row, col=1, line={"color": theme.colour(4), "width": 1.5, "dash": dash})
            # Annotations on a logarithmic axis are positioned by the logarithm.
            made.add_annotation(
                x=math.log10(alpha), y=1, xanchor="left", yanchor="top", xref="x", yref="y domain", text=words,
                showarrow=False, font={"size": 12}, row=row, col=1,
            )  # fmt: skip


def code_matrix(codebook: Codebook, classes: Sequence[Hashable] | Array | None = None) -> Figure:
    """Draw the code matrix of an output code: the side of each class in each binary problem.

    Parameters
    ----------
    codebook : Codebook
        ``codebook_`` of `OneVsRest`, `OneVsOne` or `OutputCode`, or your own.
    classes : array-like, optional
        Names of the classes. Default: their numbers.

    Returns
    -------
    plotly.graph_objects.Figure
        Rows are classes, columns binary problems.

    See Also
    --------
    discriminant.OutputCode : Fits the binary problems.

    Examples
    --------
    >>> from discriminant.multiclass import exhaustive_code
    >>> figure = code_matrix(exhaustive_code(4), ["sport", "politics", "science", "leisure"])
    >>> figure.data[0].z.shape
    (4, 7)
    """
    theme.expect(codebook, (Codebook,), "code_matrix")
    labels = range(codebook.n_classes) if classes is None else list(classes)
    names = [theme.written(label) for label in labels]
    made = theme.figure(
        "Code matrix",
        f"{codebook.n_classes} classes, {codebook.n_columns} binary problems, minimum row distance "
        f"{codebook.row_distance:g}: corrects {several(int((codebook.row_distance - 1) // 2), 'error')}.",
        height=140 + 44 * len(names),
        alt="a matrix of classes by binary problems, coloured by side: -1, 0 (left out) or +1.",
    )
    made.add_heatmap(
        z=codebook.matrix, zmin=-1, zmax=1, showscale=False, xgap=2, ygap=2,
        colorscale=[[0, theme.colour(0)], [0.5, "#ffffff"], [1, theme.colour(1)]],
        text=[[f"{int(value):+d}" if value else "0" for value in row] for row in codebook.matrix],
        texttemplate="%{text}", hovertemplate="class %{y}, problem %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    made.update_xaxes(**theme.axis("Binary problem", dtick=1, showgrid=False))
    return made.update_yaxes(**theme.names_axis(names, showgrid=False))


def images(X: ArrayLike, shape: tuple[int, int], titles: Sequence[Hashable], columns: int = 5) -> Figure:
    """Draw rows whose columns are pixels, or the coefficients of a model of pixels, as images.

    Parameters
    ----------
    X : array-like of shape (n_images, height * width)
        Rows, or ``coef_``.
    shape : tuple of (height, width)
        Shape of each image.
    titles : sequence
        Title of each image.
    columns : int, default=5
        Images side by side.

    Returns
    -------
    plotly.graph_objects.Figure
        Positive numbers are orange, negative numbers blue.

    See Also
    --------
    coefficients : Coefficients of columns that are not pixels.
    decision_regions : Any classifier in the plane of two columns.

    Examples
    --------
    >>> from discriminant.datasets import characters
    >>> data = characters()
    >>> len(images(data.X[:10], (20, 20), data.y[:10]).data)
    10
    """
    from plotly.subplots import make_subplots

    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(titles) or values.shape[1] != shape[0] * shape[1]:
        raise ParameterError(
            f"figures.images requires a title and {shape[0]} x {shape[1]} numbers for each image, got {len(titles)} "
            f"titles and an array of shape {values.shape}."
        )
    rows = math.ceil(len(values) / columns)
    made = make_subplots(
        rows=rows, cols=columns, subplot_titles=[theme.written(t) for t in titles], vertical_spacing=0.25 / rows,
        horizontal_spacing=0.02,
    )  # fmt: skip
    least, most = float(values.min()), float(values.max())
    reach = max(-least, most)
    words = f"Values from {least:.4g} to {most:.4g}; orange is positive, blue negative, white 0."
    alt = f"{len(values)} images of {shape[0]} by {shape[1]} pixels."
    made.update_layout(theme.layout("Images", words, 60 + 170 * rows, theme.PANEL_TITLE_LINES, alt=alt))
    scale = [[0, theme.colour(0)], [0.5, "#ffffff"], [1, theme.colour(1)]]
    for i, row in enumerate(values):
        made.add_heatmap(
            z=row.reshape(shape), zmin=-reach, zmax=reach, colorscale=scale, showscale=False, row=i // columns + 1,
            col=i % columns + 1, hovertemplate="row %{y}, column %{x}: %{z:.4g}<extra></extra>",
        )  # fmt: skip
    made.update_xaxes(visible=False)
    return made.update_yaxes(visible=False, autorange="reversed")
