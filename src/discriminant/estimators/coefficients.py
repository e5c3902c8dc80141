"""What a linear model has learned: its coefficients, what a row's columns add to its score, and points for a nomogram.

One table of coefficients serves the command line, reports and figures. Where a model can be summarised it has
standard errors, Wald tests and intervals (see `LogisticRegression.summary`); otherwise the estimates alone.
Contributions compare a row with an average row, one column at a time. A nomogram (d'Ocagne 1899; for regression models
Lubsen, Pool and van der Does 1978) gives points to the values of each column, so that a score can be added up by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..data.rows import MixedBlock
from ..errors import DegenerateDataError, DiscriminantError, Message, ParameterError, Setting
from ..inference.likelihood import Coefficient, Summary, coefficient_lines
from ..results import Result, aligned, jsonable, number, plain
from ..rules import MixedRule
from .base import PosteriorClassifier, with_names

Array = np.ndarray[Any, Any]

#: Standard errors of more parameters than this cost more than they tell.
_MOST_TESTED = 600
INTERCEPT = "intercept"
_FIT = ("log_likelihood", "deviance", "aic", "bic", "pseudo_r2")


def column_names(model: Any) -> list[str]:
    """The columns as a fitted model knows them, or x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable(Result):
    """The coefficients of a linear model.

    Attributes
    ----------
    model : str
        The class of the model.
    rows : list of Coefficient
        What each term adds to the score of each outcome; NaN where there is no standard error, test or odds ratio.
    reference : a class, or None
        What outcomes are compared with; None where every outcome has a score of its own.
    log_odds : bool
        Whether scores are log-odds against the reference: then there are odds ratios.
    level : float
        Of the intervals.
    reason : Message or None
        Why there are no standard errors, for a model that could have some.
    fit : dict
        Log-likelihood, deviance, AIC, BIC and McFadden's pseudo R2, where the model was summarised.
    notes : list of str
        What to know when reading the table.
    """

    model: str
    rows: list[Coefficient]
    reference: Any
    log_odds: bool
    level: float
    reason: Message | None = None
    fit: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def has_errors(self) -> bool:
        """Whether there are standard errors."""
        return bool(self.fit)

    @property
    def outcomes(self) -> dict[Any, list[Coefficient]]:
        """The rows of each outcome."""
        found: dict[Any, list[Coefficient]] = {}
        for row in self.rows:
            found.setdefault(row.outcome, []).append(row)
        return found

    def contrast(self, outcome: Any) -> str:
        """An outcome with what it is compared with, in words."""
        return str(outcome) if self.reference is None else f"{outcome} against {self.reference}"

    def to_dict(self) -> dict[str, Any]:
        rows = [
            jsonable(row) | ({"infinite": "+" if row.estimate > 0 else "-"} if math.isinf(row.estimate) else {})
            for row in self.rows
        ]
        return {**super().to_dict(), "rows": rows, "reason": None if self.reason is None else str(self.reason)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CoefficientTable:
        """The table of which `to_dict` gave these values, as model files keep it.

        Parameters
        ----------
        values : dict
            None stands where there is no number.

        Returns
        -------
        CoefficientTable
        """
        rows = [_stored_row(row) for row in values["rows"]]
        reason = None if values["reason"] is None else Message(values["reason"])
        return cls(**{**values, "rows": rows, "reason": reason})

    def __str__(self) -> str:
        lines = [f"Coefficients of {self.model}"]
        for outcome, rows in self.outcomes.items():
            lines += ["", f"{'log-odds' if self.log_odds else 'score'} of {self.contrast(outcome)}"]
            lines += coefficient_lines(rows, self.level, digits=4)
        notes = self.notes if self.reason is None else [*self.notes, f"no standard errors: {self.reason}"]
        return "\n".join(lines + [f"note: {note}" for note in notes])


def _stored_row(values: Mapping[str, Any]) -> Coefficient:
    """A row as it was before JSON, which has neither NaN nor infinity."""
    known = {name: math.nan if value is None else value for name, value in values.items() if name != "infinite"}
    sign = values.get("infinite")
    if sign is not None:
        known |= (
            {"estimate": math.inf, "odds_ratio": math.inf}
            if sign == "+"
            else {"estimate": -math.inf, "odds_ratio": 0.0}
        )
    return Coefficient(**{**known, "outcome": values["outcome"], "term": values["term"]})


def coefficient_table(model: Any, names: Sequence[str] | None = None, level: float = 0.95) -> CoefficientTable:
    """The coefficients of a fitted linear model, with standard errors and intervals where it can be summarised.

    Parameters
    ----------
    model : classifier
        Fitted, with ``coef_``.
    names : sequence of str, optional
        What its columns are called, if the model does not know.
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    CoefficientTable

    See Also
    --------
    LogisticRegression.summary : The same of a logistic regression, with other references and covariances.
    figures.coefficients : Draws this table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> table = coefficient_table(LogisticRegression().fit(X[:, :2], y), ["radius", "texture"])
    >>> [row.term for row in table.rows], table.contrast(1)
    (['intercept', 'radius', 'texture'], '1 against 0')
    """
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        raise ParameterError(f"{type(model).__name__} has no coefficients (coef_): it is not linear.")
    columns = column_names(model) if names is None else [str(name) for name in names]
    if len(columns) != np.shape(model.coef_)[-1]:
        raise ParameterError(f"The model has {np.shape(model.coef_)[-1]} columns, but {len(columns)} names were given.")
    outcomes, coef, intercepts, reference = _scores_by_outcome(model)
    log_odds = reference is not None and isinstance(model, PosteriorClassifier)
    with_intercept = getattr(model, "fit_intercept", True)
    terms = [INTERCEPT] * bool(with_intercept) + columns
    summary, reason = _summary(model, level)
    if summary is not None:
        rows = [replace(row, term=term) for row, term in zip(summary.rows, cycle(terms), strict=False)]
        fit = {name: getattr(summary, name) for name in _FIT}
        return CoefficientTable(type(model).__name__, rows, reference, log_odds, level, None, fit, summary.notes)
    nan = math.nan
    values = np.column_stack((intercepts, coef)) if with_intercept else coef
    rows = [
        Coefficient(outcome, term, value, nan, nan, nan, nan, nan, _exp(value) if log_odds else nan)
        for outcome, own in zip(outcomes, values.tolist(), strict=True)
        for term, value in zip(terms, own, strict=True)
    ]
    return CoefficientTable(type(model).__name__, rows, reference, log_odds, level, reason)


def _summary(model: Any, level: float) -> tuple[Summary | None, Message | None]:
    """The summary of a model, or why it has none."""
    if not hasattr(model, "summary"):
        return None, None
    if model.coef_.size > _MOST_TESTED:
        return None, Message(f"there are more than {_MOST_TESTED} coefficients.")
    try:
        return model.summary(level=level), None
    except DiscriminantError as error:  # of a lasso, or of a model read from a file
        return None, Message(*error.parts)


def _scores_by_outcome(model: Any) -> tuple[list[Any], Array, Array, Any]:
    """Outcomes, their coefficients and intercepts, and the class they are compared with, if any."""
    classes = [plain(label) for label in model.classes_]
    if hasattr(model, "log_odds"):
        outcomes, coef, intercepts = model.log_odds()
        known = [plain(label) for label in outcomes]
        (reference,) = [label for label in classes if label not in known]
        return known, coef, intercepts, reference
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercepts = np.ravel(model.intercept_)
    if len(coef) == 1:
        return classes[1:], coef, intercepts, classes[0]
    if hasattr(model, "codebook_"):
        return [_sides(classes, column) for column in model.codebook_.matrix.T], coef, intercepts, None
    if len(coef) != len(classes):
        return [f"function {row}" for row in range(len(coef))], coef, intercepts, None
    return classes, coef, intercepts, None


def _sides(classes: list[Any], column: Array) -> str:
    """The classes that a binary problem tells apart."""
    first, second = ([str(k) for k, side in zip(classes, column, strict=True) if side == sign] for sign in (1, -1))
    rest = len(first) + len(second) == len(classes) and len(second) > 1
    return f"{', '.join(first)} against {'the rest' if rest else ', '.join(second)}"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


@dataclass(frozen=True)
class Contribution:
    """What a column adds to the lead of a class, compared with its mean."""

    column: str
    value: Any
    contribution: float


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Result):
    """Why a row gets its class: what each column adds to the lead of that class over the next.

    Attributes
    ----------
    label, against : the class of the row, and the one that comes next
    unit : str
        "log-odds", or "score".
    lead, lead_at_means : float
        Of this row, and of a row of means. Contributions to a linear or naive Bayes model add up to the difference.
    rows : list of Contribution
        The largest first.
    """

    label: Any
    against: Any
    unit: str
    lead: float
    lead_at_means: float
    rows: list[Contribution]

    def __str__(self) -> str:
        head = f"What speaks for {self.label} against {self.against}, compared with an average row"
        cells = [
            [row.column, "" if row.value is None else str(row.value), f"{row.contribution:+.4g}"] for row in self.rows
        ]
        ends = f"{self.unit} of this row {number(self.lead)}, of an average row {number(self.lead_at_means)}"
        return "\n".join([head, *aligned([["column", "value", self.unit], *cells], left=2), ends])


def contributions(
    model: Any, row: Any, means: Any, columns: Sequence[str] | None = None, values: Mapping[str, Any] | None = None
) -> Contributions:
    """How much the lead of the best class over the next would change if a column had its mean instead.

    Parameters
    ----------
    model : classifier
        Fitted, with ``decision_function``.
    row : array-like or sparse row of n_columns numbers
        The row to explain.
    means : array-like of n_columns numbers
        The row to compare with.
    columns : sequence of str, optional
        The raw column that each column of the model comes from: those of one raw column change together. By default
        every column stands for itself.
    values : dict, optional
        Raw values by column, to show with the contributions; by default those of the row.

    Returns
    -------
    Contributions

    See Also
    --------
    coefficient_table : The same model as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> found = contributions(LinearDiscriminantAnalysis().fit(X, y), X[0], X.mean(axis=0))
    >>> found.label, found.against, found.rows[0].column
    (0, 1, 'x2')
    """
    own = np.asarray(column_names(model) if columns is None else columns)
    x, at_means = np.ravel(row.toarray() if sp.issparse(row) else row).astype(np.float64), np.asarray(means, np.float64)
    if not len(x) == len(at_means) == len(own) == model.n_features_in_:
        raise ParameterError(
            f"The model has {model.n_features_in_} columns; got a row of {len(x)}, {len(at_means)} means and "
            f"{len(own)} names."
        )
    sources = list(dict.fromkeys(own.tolist()))
    changed = np.where(own == np.asarray(sources)[:, None], at_means, x)
    scores = _class_scores(model, np.vstack((x, at_means, changed)))
    labels = [plain(label) for label in model.classes_]
    best = labels.index(plain(model.predict(with_names(model, row if sp.issparse(row) else x[None]))[0]))
    rival = int(np.argmax(np.where(np.arange(scores.shape[1]) == best, -np.inf, scores[0])))
    lead = scores[:, best] - scores[:, rival]
    given = dict(zip(own.tolist(), x.tolist(), strict=True)) if values is None else values
    added = lead[0] - lead[2:]
    return Contributions(
        labels[best],
        labels[rival],
        "log-odds" if isinstance(model, PosteriorClassifier) else "score",
        float(lead[0]),
        float(lead[1]),
        [
            Contribution(sources[j], given.get(sources[j]), float(added[j]))
            for j in np.argsort(-np.abs(added), kind="stable")
        ],
    )


def _class_scores(model: Any, X: Array) -> Array:
    """The score of every class."""
    if isinstance(getattr(model, "rule_", None), MixedRule):  # predicting would refuse shares for what is 0 or 1
        return np.asarray(model.rule_.scores(MixedBlock(X, [])))
    found = np.asarray(model.decision_function(with_names(model, X)))
    return np.column_stack((np.zeros(len(found)), found)) if found.ndim == 1 else found


#: Points of the column that matters most, and the probabilities that totals are given for.
_FULL = 100
_PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Points:
    """The points of a value of a column."""

    column: str
    value: str
    points: float


@dataclass(frozen=True, eq=False, repr=False)
class Nomogram(Result):
    """Points for the values of each column, whose sum gives a row's score.

    Attributes
    ----------
    label : the class that points speak for
    rows : list of Points
        Of each level, or of the ends of a number's range (values between them get points in proportion); the column
        that can move the score most comes first and has 100 points from one end to the other.
    probabilities : dict
        The total points that stand for some probabilities; empty where scores are not log-odds.
    threshold : float
        The total points above which the class is predicted.
    """

    label: Any
    rows: list[Points]
    probabilities: dict[float, float]
    threshold: float

    def __str__(self) -> str:
        cells = [[row.column, row.value, f"{row.points:.1f}"] for row in self.rows]
        totals = [[number(p), f"{points:.1f}"] for p, points in self.probabilities.items()]
        below = aligned([["probability", "points"], *totals], left=0) if totals else []
        lines = [f"Points for {self.label}", *aligned([["column", "value", "points"], *cells], left=2), *below]
        return "\n".join([*lines, f"above {self.threshold:.1f} points in total: {self.label}"])


def nomogram(model: Any, low: Any, high: Any, schema: Any = None) -> Nomogram:
    """Points to score a row by hand, for a linear model of two classes.

    Parameters
    ----------
    model : classifier
        Fitted, linear, of two classes.
    low, high : array-like of n_columns numbers
        The range of each column of the model.
    schema : Schema, optional
        How raw columns became columns of the model: points are then given to raw values and levels.

    Returns
    -------
    Nomogram

    See Also
    --------
    coefficient_table : The coefficients of the model.

    References
    ----------
    Lubsen, J., Pool, J. & van der Does, E. (1978). A practical device for the application of a diagnostic or prognostic
    function. Methods of Information in Medicine 17.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discriminant import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, :2]  # radius and texture
    >>> found = nomogram(LogisticRegression().fit(X, y), X.min(axis=0), X.max(axis=0))
    >>> [(row.column, row.value, round(row.points)) for row in found.rows]
    [('x0', '6.981', 100), ('x0', '28.11', 0), ('x1', '9.71', 29), ('x1', '39.28', 0)]
    """
    check_is_fitted(model)
    if len(model.classes_) != 2 or not hasattr(model, "coef_") or getattr(schema, "sparse", False):
        raise ParameterError("Points are for a linear model of two classes, of columns that are not sparse.")
    if getattr(model, "separation_", None) is not None:
        raise DegenerateDataError(
            "There are no points to add up: some coefficients are infinite. A fit with ",
            Setting("firth", True),
            " has them.",
        )
    effects = _effects(model, np.asarray(low).tolist(), np.asarray(high).tolist(), schema)
    width = {name: max(own.values()) - min(own.values()) for name, own in effects.items()}
    widest = max(width.values())
    if not widest > 0:
        raise ParameterError("There are no points to add up: no column changes the score.")
    scale = _FULL / widest
    least = float(model.intercept_[0]) + sum(min(own.values()) for own in effects.values())
    totals = {}
    if isinstance(model, PosteriorClassifier):
        totals = {p: scale * (math.log(p / (1 - p)) - least) for p in _PROBABILITIES}
    return Nomogram(
        plain(model.classes_[1]),
        [
            Points(name, value, scale * (effect - min(effects[name].values())))
            for name in sorted(effects, key=lambda name: -width[name])
            for value, effect in effects[name].items()
        ],
        {p: total for p, total in totals.items() if 0 <= total <= scale * sum(width.values())},
        -scale * least,
    )


def _effects(model: Any, low: list[float], high: list[float], schema: Any) -> dict[str, dict[str, float]]:
    """What each value of a raw column adds to the score: each level, or the ends of a number's range."""
    coef = model.coef_[0].tolist()
    if schema is None:
        return {name: _ends(*ends) for name, *ends in zip(column_names(model), coef, low, high, strict=True)}
    effects, first = {}, 0
    for column in schema.used:
        own = coef[first : first + len(column.outputs)]
        if column.kind == "category":
            levels = [name.removeprefix(f"{column.name}=") for name in column.outputs]
            effects[column.name] = {str(column.reference): 0.0, **dict(zip(levels, own, strict=True))}
        else:
            effects[column.name] = _ends(own[0], low[first], high[first])
            if column.missing_column:
                effects[column.name]["(missing)"] = own[0] * (column.mean or 0.0) + own[1]
        first += len(column.outputs)
    return effects


def _ends(coef: float, low: float, high: float) -> dict[str, float]:
    return {f"{low:g}": coef * low, f"{high:g}": coef * high}
