"""What a model has learned: coefficients, effects of columns, and the path of coefficients along penalty strengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import check_integer
from ..errors import LabelError, Model, ParameterError, Setting
from ..estimators.coefficients import INTERCEPT, CoefficientTable, coefficient_table, reference_notes
from ..estimators.logistic import LogisticRegressionCV, LogisticRegressionPath, chosen_strength
from ..inference.likelihood import Effect, EffectPoint
from ..multiclass import Codebook
from ..results import several, shown
from . import theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def coefficients(
    model: Any, most: int = 30, odds_ratios: bool = False, level: float = 0.95, spread: Any = None
) -> Figure:
    """The coefficients of a linear model, with intervals where the model has a `summary`; the intercept is left out.

    Parameters
    ----------
    model : fitted linear classifier, or CoefficientTable
        A model, or what `coefficient_table` made of one.
    most : int, default=30
        Draw at most this many columns: those of the largest ``|z|``, or of the largest coefficient without one.
    odds_ratios : bool, default=False
        Draw ``exp(coefficient)`` instead: the factor by which the odds change with each unit of the column.
    level : float, default=0.95
        Of the intervals; a table has its own.
    spread : array-like of shape (n_columns,), optional
        Standard deviations of the columns: effects are then drawn per standard deviation, which compares columns in
        any units, instead of per unit.

    Returns
    -------
    plotly.graph_objects.Figure
        Dots and intervals, one row for each column.

    See Also
    --------
    discriminant.coefficient_table : The numbers that are drawn.

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
    standardised, unit = spread is not None, "unit" if spread is None else "standard deviation"
    if odds_ratios and not table.log_odds:
        raise ParameterError(
            f"The coefficients of {table.model} are not log-odds: ",
            Setting("odds_ratios", True),
            " is for models of probabilities that compare classes with one, such as ",
            Model("LogisticRegression"),
            ".",
        )
    own = [[row for row in rows if row.term != INTERCEPT] for rows in table.outcomes.values()]
    numbers = np.array([[(row.estimate, row.low, row.high, row.size) for row in rows] for rows in own])
    numbers[..., :3] *= 1.0 if not standardised else _one_for_each_column(spread, len(own[0]))[:, None]
    chosen, ranking = _largest(numbers, most, not standardised)
    names, drawn = [theme.written(own[0][j].term) for j in chosen], numbers[:, chosen, :3]
    if odds_ratios:
        with np.errstate(over="ignore"):
            drawn = np.exp(drawn)
    made = theme.figure(
        f"{'Odds ratios' if odds_ratios else 'Coefficients'} of {table.model}{f', per {unit}' * standardised}",
        _bars_subtitle(
            table, names, drawn, f"The {len(names)} of {len(own[0])} columns with {ranking}." if ranking else ""
        ),
        height=190 + (26 + 14 * (len(own) - 1)) * len(names),
        legend={"title": {"text": "outcome"}},
        alt=f"{len(names)} columns below each other, each a dot with its interval beside the line of no effect.",
    )
    for k, outcome in enumerate(table.outcomes):
        _add_bars(made, theme.written(table.contrast(outcome)), names, drawn, k)
    what = f"odds ratio of each {unit} (logarithmic scale)" if odds_ratios else f"change of the score with each {unit}"
    made.add_vline(x=1 if odds_ratios else 0, line={"color": theme.GREY, "width": 1.5, "dash": "dot"})
    made.update_xaxes(**theme.axis(what, **(theme.log_ticks(drawn) if odds_ratios else {})))
    return made.update_yaxes(**theme.names_axis(names, showgrid=True))


def effect(found: Effect) -> Figure:
    """How the log-odds go with a column, such as one that a model has splines of, with a confidence band.

    Parameters
    ----------
    found : Effect
        Of `LogisticRegression.effect`, or of a column of `column_effects`, which has no band.

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
    theme.expect(found, (Effect,), "effect", "Make one with model.effect(column).")
    name, continuous = theme.written(found.column), not isinstance(found.at, str)
    at = f"{found.at:.4g}" if continuous else theme.written(found.at)
    band = "" if found.level is None else f", with {100 * found.level:g} % intervals at each point"
    held = "averages" if found.level is None else "medians, categories at their shares"
    made = theme.figure(
        f"Effect of {name}",
        f"Change of the log-odds compared with {name} = {at}{band}. Other columns are held at their {held}.",
        xaxis=theme.axis(name, **({} if continuous else {"type": "category"})),
        yaxis=theme.axis("change of the log-odds"),
        legend={"title": {"text": "outcome"}},
        alt=f"the change of the log-odds over {name}, " + ("a curve." if continuous else "a dot for each level."),
    )
    for k, outcome in enumerate(dict.fromkeys(point.outcome for point in found.points)):
        own = [point for point in found.points if point.outcome == outcome]
        _add_effect(made, f"{theme.written(outcome)} against {theme.written(found.reference)}", own, k, continuous)
    made.add_hline(y=0, line={"color": theme.GREY, "width": 1.5, "dash": "dot"})
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
        made.add_scatter(
            x=[*values, *values[::-1]], y=[*high, *low[::-1]], fill="toself", mode="none", name=name, legendgroup=name,
            fillcolor=theme.see_through(theme.colour(k), 0.15), showlegend=False, hoverinfo="skip",
        )  # fmt: skip
    if not continuous:
        bars = {"error_y": theme.error_bars(estimates, low, high, thickness=1.5, width=4)} if banded else {}
        style = {"mode": "markers", "marker": theme.marker(k, size=9), **bars}
    made.add_scatter(
        x=values, y=estimates, name=name, legendgroup=name, text=hover, hovertemplate="%{text}<extra></extra>", **style
    )


def _one_for_each_column(spread: Any, n_columns: int) -> Array:
    found = np.asarray(spread, dtype=np.float64)
    if found.shape != (n_columns,):
        raise ParameterError(Setting("spread"), f" has {found.size} values, but the model has {n_columns} columns.")
    return found


def _largest(numbers: Array, most: int, in_units: bool) -> tuple[Array, str]:
    """The columns to draw, in their order, and by what they were chosen where some are left out."""
    by_z = np.isfinite(numbers[..., 3]).any(axis=1).all()
    sizes = np.abs(numbers[..., 3 if by_z else 0])
    size = np.where(np.isfinite(sizes), sizes, -1.0).max(axis=0)
    if len(size) <= most:
        return np.arange(len(size)), ""
    chosen = np.sort(np.argsort(-size, kind="stable")[:most])
    depends = " (which depends on the units of the columns)" if in_units else ""
    return chosen, f"the largest {'|coefficient| in standard errors' if by_z else f'|coefficient|{depends}'}"


def _bars_subtitle(table: CoefficientTable, names: list[str], drawn: Array, chosen: str) -> str:
    words = [f"{100 * table.level:g} % {table.interval} intervals; the intercept is left out."]
    if not np.isfinite(drawn[..., 1]).any():
        why = "." if table.reason is None else f": {theme.written(table.reason)}"
        words = [f"Without intervals{why} The intercept is left out."]
    lost = [name for j, name in enumerate(names) if not np.isfinite(drawn[:, j, 0]).all()]
    if lost:
        lost = [f"Not drawn, because infinite or not estimable: {', '.join(lost)}."]
    levels = [f"{note[0].upper()}{theme.written(note[1:])}." for note in reference_notes(table.reference_levels)]
    return " ".join([*words, *filter(None, [chosen]), *lost, *levels])


def _add_bars(made: Figure, outcome: str, names: list[str], drawn: Array, k: int) -> None:
    """The estimates of one outcome with their intervals, beside those of the others."""
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


#: Panels above each other that can still be read, and lines without a name that a browser draws at ease.
_MOST_PANELS, _MOST_GREY = 6, 200


def regularisation_path(
    path: LogisticRegressionPath | LogisticRegressionCV,
    cross_validation: LogisticRegressionCV | None = None,
    most: int = 10,
    classes: Sequence[Any] | None = None,
) -> Figure:
    """Coefficients against the strength of the penalty, the number of columns used, and the held-out loss.

    Parameters
    ----------
    path : LogisticRegressionPath, or LogisticRegressionCV
        The latter keeps no coefficients of other strengths than the chosen one: its loss alone is drawn.
    cross_validation : LogisticRegressionCV, optional
        Draws its held-out loss below the coefficients.
    most : int, default=10
        Columns drawn in colours, those of the largest coefficient anywhere on the path; the others are grey.
    classes : list of labels, optional
        For more than two classes, those to draw; each has a panel of its own.

    Returns
    -------
    plotly.graph_objects.Figure
        Panels above each other with one axis of strengths.

    See Also
    --------
    discriminant.LogisticRegressionPath : The coefficients at every strength.
    discriminant.LogisticRegressionCV : Chooses a strength.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegressionPath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = LogisticRegressionPath(n_alphas=5, l1_ratio=1.0).fit(X, y)
    >>> figure = regularisation_path(path)
    >>> figure.data[-1].name, figure.data[-1].y.tolist()
    ('columns used', [0, 5, 13, 22, 27])
    """
    kinds = (LogisticRegressionPath, LogisticRegressionCV)
    theme.expect(path, kinds, "regularisation_path", "Fit one of these to the rows.")
    whole = path if isinstance(path, LogisticRegressionPath) else None
    crossed = path if isinstance(path, LogisticRegressionCV) else cross_validation
    if crossed is not None:
        theme.expect(crossed, kinds[1:], "regularisation_path", "cross_validation= takes no other model.")
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
        height=200 + int(260 * sum(heights)),
        legend={"title": {"text": "column"}},
        alt="lines against the strength of the penalty: "
        + ("coefficients that shrink to 0." if crossed is None else "coefficients, and the held-out loss."),
    )
    if whole is not None:
        _add_paths(made, whole, outcomes, most)
    if whole is not None and counting:
        _add_counts(made, whole, len(outcomes) + 1)
    if crossed is not None:
        _add_losses(made, crossed, len(heights))
    made.update_xaxes(type="log")
    return made.update_xaxes(theme.axis("strength of the penalty, alpha (logarithmic scale)"), row=len(heights), col=1)


def _outcomes(path: LogisticRegressionPath, classes: Sequence[Any] | None) -> list[tuple[int, str]]:
    """The rows of the coefficients to draw, and how they are called."""
    known = path.classes_.tolist()
    if len(known) == 2:
        return [(0, f" ({theme.written(known[1])})")]
    chosen = known if classes is None else list(classes)
    unknown = [label for label in chosen if label not in known]
    if unknown or not chosen:
        raise LabelError(f"classes must be among {known}, got {shown(unknown[0]) if unknown else 'none'}.")
    if len(chosen) > _MOST_PANELS:
        raise ParameterError(
            f"{len(chosen)} classes would need as many panels: name up to {_MOST_PANELS}, classes={known[:2]}."
        )
    return [(known.index(label), f" ({theme.written(label)})") for label in chosen]


def _path_words(path: LogisticRegressionPath | None, crossed: LogisticRegressionCV | None, most: int) -> str:
    words = []
    if path is None:
        words.append("Only the chosen strength's coefficients are kept; LogisticRegressionPath has them all.")
    else:
        words += _left_out(path, most)
    if crossed is not None:
        rule = "within one standard error of the least" if crossed.rule == "one-se" else "the least"
        words.append(
            f"Chosen by {crossed.n_splits_}-fold cross-validation: alpha = {crossed.alpha_:.4g} (held-out loss {rule})."
        )
    return " ".join(words)


def _left_out(path: LogisticRegressionPath, most: int) -> list[str]:
    """Remarks on columns that are not coloured, or not drawn at all."""
    n_columns, ranked = path.coefs_.shape[2], _ranked(path)
    words = []
    if n_columns > most:
        words.append(f"Coloured: the {most} of {n_columns:,} columns with the largest coefficients.")
    if len(ranked) > most + _MOST_GREY:
        words.append(f"{len(ranked) - most - _MOST_GREY:,} columns with smaller ones are not drawn.")
    return words


def _ranked(path: LogisticRegressionPath) -> list[int]:
    """The columns that are used anywhere on the path, those of the largest coefficient first."""
    largest = np.abs(path.coefs_).max(axis=(0, 1))
    return [j for j in np.argsort(-largest, kind="stable").tolist() if largest[j] > 0]


def _add_paths(made: Figure, path: LogisticRegressionPath, outcomes: list[tuple[int, str]], most: int) -> None:
    names, ranked = theme.column_names(path, path.coefs_.shape[2]), _ranked(path)
    for row, (k, outcome) in enumerate(outcomes, 1):
        _add_others(made, path.alphas_, path.coefs_[:, k, ranked[most : most + _MOST_GREY]], row)
        for place, j in enumerate(ranked[:most]):
            made.add_scatter(
                x=path.alphas_, y=path.coefs_[:, k, j], mode="lines", name=names[j], legendgroup=names[j],
                line=theme.line(place, width=2), showlegend=row == 1, row=row, col=1,
                hovertemplate=f"{names[j]}: %{{y:.4g}}<br>at alpha = %{{x:.4g}}<extra></extra>",
            )  # fmt: skip
        made.update_yaxes(theme.axis(f"coefficient{outcome}"), row=row, col=1)


def _add_others(made: Figure, alphas: Array, coef: Array, row: int) -> None:
    """Lines of columns that are not named, as one trace with gaps."""
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
        x=path.alphas_, y=used, mode="lines", name="columns used", line={"color": theme.INK, "width": 2, "shape": "hv"},
        showlegend=False, hovertemplate="%{y} columns used at alpha = %{x:.4g}<extra></extra>", row=row, col=1,
    )  # fmt: skip
    made.update_yaxes(theme.axis("columns used", rangemode="tozero"), row=row, col=1)


def _add_losses(made: Figure, model: LogisticRegressionCV, row: int) -> None:
    made.add_scatter(
        x=model.alphas_, y=model.losses_, mode="lines+markers", name="held-out loss", showlegend=False,
        line={"color": theme.INK, "width": 1.5}, marker={"color": theme.INK, "size": 5},
        error_y={"array": model.loss_std_errors_, "thickness": 1, "width": 2}, row=row, col=1,
        customdata=model.loss_std_errors_,
        hovertemplate="held-out loss %{y:.4g}, standard error %{customdata:.2g}<br>at alpha = %{x:.4g}<extra></extra>",
    )  # fmt: skip
    made.update_yaxes(theme.axis("held-out log-loss"), row=row, col=1)
    least = float(model.alphas_[chosen_strength(model.losses_, model.loss_std_errors_, "min")])
    for alpha, words, dash in ((least, "least", "dot"), (model.alpha_, "chosen", "solid")):
        if words == "chosen" or alpha != model.alpha_:
            made.add_vline(x=alpha, row=row, col=1, line={"color": theme.colour(4), "width": 1.5, "dash": dash})
            # Annotations of a logarithmic axis are placed by the logarithm.
            made.add_annotation(
                x=math.log10(alpha), y=1, xanchor="left", yanchor="top", xref="x", yref="y domain", text=words,
                showarrow=False, font={"size": 12}, row=row, col=1,
            )  # fmt: skip


def code_matrix(codebook: Codebook, classes: Any = None) -> Figure:
    """The table of an output code: which side each class is on in each binary problem.

    Parameters
    ----------
    codebook : Codebook
        ``codebook_`` of `OneVsRest`, `OneVsOne` or `OutputCode`, or one of your own.
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
    theme.expect(codebook, (Codebook,), "code_matrix", "Give a codebook, such as codebook_ of a fitted OutputCode.")
    labels = range(codebook.n_classes) if classes is None else list(classes)
    names = [theme.written(label) for label in labels]
    made = theme.figure(
        "Output code",
        f"{codebook.n_classes} classes, {codebook.n_columns} binary problems, rows at least {codebook.row_distance:g} "
        f"apart; always corrected: {several(int((codebook.row_distance - 1) // 2), 'wrong answer')}.",
        height=140 + 44 * len(names),
        alt="a table of classes by binary problems, coloured by side: -1, 0 (left out) or +1.",
    )
    signs = {-1: "-1", 0: "0", 1: "+1"}
    made.add_heatmap(
        z=codebook.matrix, zmin=-1, zmax=1, showscale=False, xgap=2, ygap=2,
        colorscale=[[0, theme.colour(0)], [0.5, "#ffffff"], [1, theme.colour(1)]],
        text=[[signs[int(value)] for value in row] for row in codebook.matrix], texttemplate="%{text}",
        hovertemplate="class %{y}, problem %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    made.update_xaxes(**theme.axis("binary problem", dtick=1, showgrid=False))
    return made.update_yaxes(**theme.names_axis(names, showgrid=False))


def images(X: Any, shape: tuple[int, int], titles: Sequence[Any], columns: int = 5) -> Figure:
    """Rows whose columns are pixels, or the coefficients of a model of them, as images.

    Parameters
    ----------
    X : array-like of shape (n_images, height * width)
        Such as some rows, or ``coef_``.
    shape : tuple of (height, width)
        Of each image.
    titles : sequence
        What stands above each.
    columns : int, default=5
        Images side by side.

    Returns
    -------
    plotly.graph_objects.Figure
        Negative numbers are drawn in another colour than positive ones.

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
            f"images draws rows of {shape[0]} x {shape[1]} numbers with a title each, got an array of {values.shape}."
        )
    rows = math.ceil(len(values) / columns)
    made = make_subplots(
        rows=rows, cols=columns, subplot_titles=[theme.written(t) for t in titles], vertical_spacing=0.25 / rows,
        horizontal_spacing=0.02,
    )  # fmt: skip
    least, most = float(values.min()), float(values.max())
    reach = max(-least, most)
    words = f"Numbers from {least:.4g} to {most:.4g}; orange is positive, blue negative, white 0."
    alt = f"{len(values)} images of {shape[0]} by {shape[1]} pixels."
    made.update_layout(theme.layout("Columns as pixels", words, 60 + 170 * rows, theme.TITLED, alt=alt))
    scale = [[0, theme.colour(0)], [0.5, "#ffffff"], [1, theme.colour(1)]]
    for i, row in enumerate(values):
        made.add_heatmap(
            z=row.reshape(shape), zmin=-reach, zmax=reach, colorscale=scale, showscale=False, row=i // columns + 1,
            col=i % columns + 1, hovertemplate="row %{y}, column %{x}: %{z:.4g}<extra></extra>",
        )  # fmt: skip
    made.update_xaxes(visible=False)
    return made.update_yaxes(visible=False, autorange="reversed")
