"""The table of coefficients of a linear model, which serves the command line, reports and figures.

Where a model can be summarised it has standard errors, tests and intervals (see `LogisticRegression.summary`);
otherwise the estimates alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..errors import DiscriminantError, Message, ParameterError
from ..inference.likelihood import Coefficient, IntervalKind, Summary, coefficient_lines
from ..moments.statistic import ClassMoments
from ..objective import column_spread
from ..results import Result, jsonable, listed, plain
from ..rules import LinearRule
from .base import PosteriorClassifier, n_offset_columns

#: Standard errors of more parameters than this cost more than they tell.
_MOST_TESTED = 600
INTERCEPT = "intercept"
#: Points of a curve.
_GRID = 101
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
    reference_levels : dict
        The level that the levels of each categorical column are compared with.
    interval : {"confidence", "credible"}
        What ``low`` and ``high`` are ends of; of a ridge they are credible intervals, and there are no tests.
    """

    model: str
    rows: list[Coefficient]
    reference: Any
    log_odds: bool
    level: float
    reason: Message | None = None
    fit: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reference_levels: dict[str, str] = field(default_factory=dict)
    interval: IntervalKind = "confidence"

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
            What `to_dict` gave: None stands where there is no number.

        Returns
        -------
        CoefficientTable
            With the numbers as they were.
        """
        rows = [_stored_row(row) for row in values["rows"]]
        reason = None if values["reason"] is None else Message(values["reason"])
        return cls(**{**values, "rows": rows, "reason": reason})

    def __str__(self) -> str:
        lines = [f"Coefficients of {self.model}"]
        for outcome, rows in self.outcomes.items():
            lines += ["", f"{'log-odds' if self.log_odds else 'score'} of {self.contrast(outcome)}"]
            lines += coefficient_lines(rows, self.level, 4, self.interval)
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


def coefficient_table(
    model: Any, names: Sequence[str] | None = None, level: float = 0.95, schema: Any = None
) -> CoefficientTable:
    """The coefficients of a fitted linear model, with standard errors and intervals where it can be summarised.

    Parameters
    ----------
    model : classifier
        Fitted, with ``coef_``.
    names : sequence of str, optional
        What its columns are called, if the model does not know.
    level : float, default=0.95
        Of the intervals.
    schema : Schema, optional
        How its columns were coded, if the model does not know: it has the reference levels of categories.

    Returns
    -------
    CoefficientTable

    See Also
    --------
    LogisticRegression.summary : The same of a logistic regression, with other references and covariances.
    figures.coefficients : This table as a picture.

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
    n_estimated = len(columns) - n_offset_columns(model)
    columns, coef = columns[:n_estimated], coef[:, :n_estimated]
    log_odds = reference is not None and isinstance(model, PosteriorClassifier)
    with_intercept = getattr(model, "fit_intercept", True)
    terms = [INTERCEPT] * bool(with_intercept) + columns
    summary, reason = _summary(model, level)
    levels, fit = reference_levels(model, schema), {}
    interval: IntervalKind = "confidence"
    notes = reference_notes(levels)
    if summary is not None:
        rows = [replace(row, term=term) for row, term in zip(summary.rows, cycle(terms), strict=False)]
        fit = {name: getattr(summary, name) for name in _FIT}
        notes, interval = list(dict.fromkeys([*summary.notes, *notes])), summary.interval
    else:
        deviations = [math.nan] * bool(with_intercept) + column_deviations(model, schema).tolist()
        values = np.column_stack((intercepts, coef)) if with_intercept else coef
        rows = _rows_of(values, outcomes, terms, deviations if log_odds else None)
    name = type(model).__name__
    return CoefficientTable(name, rows, reference, log_odds, level, reason, fit, notes, levels, interval)


def _rows_of(
    values: Array, outcomes: Sequence[Any], terms: Sequence[str], deviations: Sequence[float] | None
) -> list[Coefficient]:
    """Rows without standard errors, of values (outcomes, terms); with standard deviations they are log-odds."""
    nan, odds = math.nan, deviations is not None
    return [
        Coefficient(
            outcome, term, value, nan, nan, nan, nan, nan, _exp(value) if odds else nan, _exp(value * deviation)
        )
        for outcome, own in zip(outcomes, values.tolist(), strict=True)
        for term, value, deviation in zip(terms, own, deviations or [nan] * len(terms), strict=True)
    ]


def reference_levels(model: Any, schema: Any = None) -> dict[str, str]:
    """The level that the levels of each categorical column are compared with, where it has one."""
    if hasattr(model, "formula_"):
        return dict(model.formula_.references)
    known = schema if schema is not None else getattr(getattr(model, "encoder_", None), "schema_", None)
    columns = [] if known is None or known.width is not None else known.used
    return {
        column.name: str(column.reference)
        for column in columns
        if column.kind == "category" and column.reference is not None and column.coding != "full"
    }


def reference_notes(levels: Mapping[str, str]) -> list[str]:
    """The reference levels as a note."""
    named = [f"{column} = {level}" for column, level in levels.items()]
    return [f"reference levels: {listed(named, 10)}"] if named else []


def column_deviations(model: Any, schema: Any = None) -> Array:
    """Standard deviations of the columns of the training rows; NaN of levels, and where a model does not know them."""
    n_columns = len(column_names(model)) - n_offset_columns(model)
    known = schema if schema is not None else getattr(getattr(model, "encoder_", None), "schema_", None)
    training, moments = vars(model).get("_training"), getattr(model, "moments_", None)
    if training is not None:
        data = getattr(training, "data", training)  # an objective, or rows
        found, marks = column_spread(data, model.n_jobs), data.rows.marks
    elif isinstance(moments, ClassMoments):
        found, marks = np.sqrt(moments.column_variances()), None
    else:
        return np.full(n_columns, np.nan)
    if hasattr(model, "formula_"):
        marks = np.array(model.formula_.of_levels[:n_columns], dtype=bool)
    elif marks is None and known is not None and known.width is None:
        marks = known.marked()[0]
    return found if marks is None or len(marks) != len(found) else np.where(marks, np.nan, found)


def member_coefficients(model: Any, names: Sequence[str] | None = None) -> dict[str, CoefficientTable]:
    """The coefficients of those members of a pool that are linear in its columns.

    Parameters
    ----------
    model : AutoClassifier
        Fitted.
    names : sequence of str, optional
        What its columns are called, if the model does not know.

    Returns
    -------
    dict
        A `CoefficientTable` by the name of each such member, log-odds of the classes against the first.

    See Also
    --------
    column_effects : What the whole pool makes of each column.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from discriminant import AutoClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = member_coefficients(AutoClassifier(["ridge", "splines"]).fit(X.iloc[:, :3], y))
    >>> list(found), [row.term for row in found["ridge"].rows[:2]]
    (['ridge'], ['intercept', 'alcohol'])
    """
    check_is_fitted(model)
    terms = [INTERCEPT, *(column_names(model) if names is None else names)]
    first, *others = (plain(label) for label in model.classes_)
    found = {}
    for member, rule in zip(model.members_, model.rule_.rules, strict=True):
        if isinstance(rule, LinearRule) and rule.coef.any():
            values = np.column_stack((rule.intercept, rule.coef))
            rows = _rows_of(values[1:] - values[0], others, terms, [math.nan] * len(terms))
            found[member.name] = CoefficientTable(member.name, rows, first, True, 0.95)
    return found


def _summary(model: Any, level: float) -> tuple[Summary | None, Message | None]:
    """The summary of a model, or why it has none."""
    if not hasattr(model, "summary"):
        return None, None
    if model.coef_.size > _MOST_TESTED:
        return None, Message(f"there are more than {_MOST_TESTED} coefficients.")
    try:
        found = model.summary(level=level)
    except DiscriminantError as error:  # of a lasso, or of a model read from a file
        return None, Message(*error.parts)
    return (None, Message(found.unfinished)) if found.unfinished else (found, None)


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
    if isinstance(model, PosteriorClassifier):  # scores whose differences are log-odds, as a multinomial model has them
        return classes[:-1], coef[:-1] - coef[-1], intercepts[:-1] - intercepts[-1], classes[-1]
    return classes, coef, intercepts, None


def _sides(classes: list[Any], column: Array) -> str:
    """The classes that a binary problem tells apart."""
    first, second = ([str(k) for k, side in zip(classes, column, strict=True) if side == sign] for sign in (1, -1))
    rest = len(first) + len(second) == len(classes) and len(second) > 1
    return f"{', '.join(first)} against {'the rest' if rest else ', '.join(second)}"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
