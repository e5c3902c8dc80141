"""Coefficients of linear models."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.parameters import check_integer
from ..errors import NotReadyError, ParameterError
from . import house

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Terms:
    """Coefficients of one outcome: estimates, and interval ends and z where there are any (else NaN)."""

    outcome: str
    names: list[str]
    estimates: Array
    low: Array
    high: Array
    z: Array

    def only(self, chosen: Array) -> Terms:
        names = [self.names[j] for j in chosen]
        return Terms(self.outcome, names, self.estimates[chosen], self.low[chosen], self.high[chosen], self.z[chosen])

    def as_odds(self) -> Terms:
        with np.errstate(over="ignore"):
            return replace(self, estimates=np.exp(self.estimates), low=np.exp(self.low), high=np.exp(self.high))

    @property
    def has_intervals(self) -> bool:
        return bool(np.isfinite(self.low).any())


def coefficients(model: Any, most: int = 30, odds_ratios: bool = False, level: float = 0.95) -> Figure:
    """The coefficients of a linear model, with intervals where the model has a `summary`; the intercept is left out.

    Parameters
    ----------
    model : fitted linear classifier
    most : int
        Draw at most this many columns: those of the largest ``|z|``, or of the largest coefficient without one.
    odds_ratios : bool
        Draw ``exp(coefficient)`` instead: the factor by which the odds change with each unit of the column.
    level : float
        Of the intervals.

    Returns
    -------
    plotly.graph_objects.Figure

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
    check_is_fitted(model)
    check_integer("most", most, 1)
    if odds_ratios and not hasattr(model, "log_odds"):
        raise ParameterError(
            f"The coefficients of {type(model).__name__} are not reported as log-odds: odds_ratios=True is for "
            "LogisticRegression."
        )
    groups, why_no_interval = _terms(model, level)
    chosen, ranking = _largest(groups, most)
    drawn = [group.only(chosen).as_odds() if odds_ratios else group.only(chosen) for group in groups]
    made = house.figure(
        f"{'Odds ratios' if odds_ratios else 'Coefficients'} of {type(model).__name__}",
        _terms_subtitle(drawn, len(groups[0].names), ranking, why_no_interval, level),
        height=190 + (26 + 14 * (len(groups) - 1)) * len(chosen),
        legend={"title": {"text": "outcome"}},
    )
    for k, group in enumerate(drawn):
        _add_terms(made, group, k, len(drawn))
    what = "odds ratio (logarithmic scale)" if odds_ratios else "coefficient: change of the score with each unit"
    made.add_vline(x=1 if odds_ratios else 0, line={"color": house.GREY, "width": 1.5, "dash": "dot"})
    made.update_xaxes(**house.axis(what, **({"type": "log"} if odds_ratios else {})))
    places = list(range(len(chosen)))
    return made.update_yaxes(
        **house.axis("", tickvals=places, ticktext=drawn[0].names, range=[len(chosen) - 0.5, -0.5], showgrid=True)
    )


def _terms(model: Any, level: float) -> tuple[list[Terms], str]:
    """The coefficients by outcome, and why there are no intervals."""
    if hasattr(model, "summary"):
        try:
            return _summarised(model, level), ""
        except (ParameterError, NotReadyError) as error:
            return _bare(model), str(error)
    return _bare(model), ""


def _summarised(model: Any, level: float) -> list[Terms]:
    rows = [row for row in model.summary(level=level).rows if row.term != "intercept"]
    against = _against(model)
    groups = []
    for outcome in dict.fromkeys(row.outcome for row in rows):
        own = [row for row in rows if row.outcome == outcome]
        columns = [np.array([getattr(row, c) for row in own]) for c in ("estimate", "ci_lower", "ci_upper", "z")]
        groups.append(Terms(f"{house.written(outcome)}{against}", [house.written(r.term) for r in own], *columns))
    return groups


def _against(model: Any) -> str:
    outcomes = model.log_odds()[0].tolist()
    (reference,) = [label for label in model.classes_.tolist() if label not in outcomes]
    return f" against {house.written(reference)}"


def _bare(model: Any) -> list[Terms]:
    """Coefficients as they stand, without intervals."""
    if hasattr(model, "log_odds"):
        outcomes, coef, _ = model.log_odds()
        labels = [f"{house.written(label)}{_against(model)}" for label in outcomes]
    elif hasattr(model, "coef_"):
        coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        labels = _row_names(model, len(coef))
    else:
        raise ParameterError(f"{type(model).__name__} has no coefficients (coef_) to draw: it is not linear.")
    names, nothing = house.column_names(model, coef.shape[1]), np.full(coef.shape[1], np.nan)
    return [Terms(label, names, row, nothing, nothing, nothing) for label, row in zip(labels, coef, strict=True)]


def _row_names(model: Any, n_rows: int) -> list[str]:
    """What each row of ``coef_`` tells apart."""
    classes = [house.written(label) for label in model.classes_]
    if n_rows == 1:
        return [f"{classes[1]} against {classes[0]}"]
    if n_rows == len(classes) and not hasattr(model, "codebook_"):
        return classes
    if not hasattr(model, "codebook_"):
        return [f"function {row}" for row in range(n_rows)]
    return [_sides(classes, column) for column in model.codebook_.matrix.T]


def _sides(classes: list[str], column: Array) -> str:
    first, second = ([name for name, side in zip(classes, column, strict=True) if side == s] for s in (1, -1))
    rest = len(first) + len(second) == len(classes) and len(second) > 1
    return f"{', '.join(first)} against {'the rest' if rest else ', '.join(second)}"


def _largest(groups: list[Terms], most: int) -> tuple[Array, str]:
    """The columns to draw, in their order, and by what they were chosen where some are left out."""
    by_z = all(np.isfinite(group.z).any() for group in groups)
    sizes = np.array([np.abs(group.z if by_z else group.estimates) for group in groups])
    size = np.where(np.isfinite(sizes), sizes, -1.0).max(axis=0)
    if len(size) <= most:
        return np.arange(len(size)), ""
    chosen = np.sort(np.argsort(-size, kind="stable")[:most])
    return chosen, "|z|" if by_z else "|coefficient| (which depends on the units of the columns)"


def _terms_subtitle(groups: list[Terms], n_columns: int, ranking: str, why: str, level: float) -> str:
    words = [f"{100 * level:g} % intervals; the intercept is left out."]
    if not any(group.has_intervals for group in groups):
        words = [f"Without intervals{': ' + house.written(why) if why else '.'} The intercept is left out."]
    if ranking:
        words.append(f"The {len(groups[0].names)} of {n_columns} columns with the largest {ranking}.")
    lost = [name for name in groups[0].names if any(not math.isfinite(_estimate(group, name)) for group in groups)]
    if lost:
        words.append(f"Not drawn, because infinite or not estimable: {', '.join(lost)}.")
    return " ".join(words)


def _estimate(group: Terms, name: str) -> float:
    return float(group.estimates[group.names.index(name)])


def _add_terms(made: Figure, group: Terms, k: int, n_groups: int) -> None:
    drawn = np.flatnonzero(np.isfinite(group.estimates))
    places = drawn + (0.0 if n_groups == 1 else 0.5 * (k / (n_groups - 1) - 0.5))
    estimates, low, high = group.estimates[drawn], group.low[drawn], group.high[drawn]
    hover = [
        f"{group.names[j]}, {group.outcome}<br>{estimate:.4g}{house.between(a, b, '.4g')}"
        for j, estimate, a, b in zip(drawn, estimates, low, high, strict=True)
    ]
    reach = {}
    if np.isfinite(low).any():
        reach = {"error_x": {"array": high - estimates, "arrayminus": estimates - low, "thickness": 1.5, "width": 4}}
    made.add_scatter(
        x=estimates, y=places, mode="markers", name=group.outcome, marker=house.marker(k, size=9),
        text=hover, hovertemplate="%{text}<extra></extra>", **reach,
    )  # fmt: skip
