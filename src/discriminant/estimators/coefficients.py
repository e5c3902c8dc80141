"""The table of coefficients of a linear model, for the command line, reports and figures.

Models with a summary have standard errors, tests and intervals (see `LogisticRegression.summary`), others estimates
only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label
from ..errors import DiscriminantError, Message, ParameterError
from ..inference.likelihood import ORDINAL_HEADINGS, Coefficient, IntervalKind, Summary, coefficient_lines
from ..moments.statistic import ClassMoments
from ..objective import column_std
from ..results import Result, jsonable, listed, plain
from ..rules import LinearRule
from ..tables.schema import Schema
from .base import PosteriorClassifier
from .formula_fit import n_offset_columns

# With more coefficients the table has no standard errors.
MAX_TESTED_COEFFICIENTS: Final = 600
INTERCEPT = "intercept"
_FIT = ("log_likelihood", "deviance", "aic", "bic", "pseudo_r2")


def column_names(model: BaseEstimator) -> list[str]:
    """The column names of a fitted model, or x0, x1, ..."""
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
        The coefficient of each term and outcome; NaN without a standard error, test or odds ratio.
    reference : a class, or None
        Reference class; None if every outcome has its own score.
    log_odds : bool
        Whether scores are log-odds, so that there are odds ratios.
    level : float
        Confidence of the intervals.
    reason : Message or None
        Why there are no standard errors.
    fit : dict
        Log-likelihood, deviance, AIC, BIC and McFadden's pseudo R2 of a summary.
    notes : list of str
        Notes on the table.
    reference_levels : dict
        The reference level of each categorical column.
    interval : {"confidence", "credible"}
        Kind of the intervals; a ridge has credible intervals and no tests.
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

    @property
    def effects(self) -> dict[Any, list[Coefficient]]:
        """The rows of columns: without intercepts and, of ordered classes, without thresholds."""
        ordinal = self.reference is None and set(self.outcomes) == set(ORDINAL_HEADINGS)
        if ordinal:
            return {"slopes": self.outcomes["slopes"]}
        return {outcome: [row for row in rows if row.term != INTERCEPT] for outcome, rows in self.outcomes.items()}

    def without(self, terms: Collection[str]) -> CoefficientTable:
        """The table without the rows of these terms."""
        return replace(self, rows=[row for row in self.rows if row.term not in terms])

    def contrast(self, outcome: Label) -> str:
        """An outcome with its reference class."""
        return str(outcome) if self.reference is None else f"{outcome} against {self.reference}"

    def heading(self, outcome: Label) -> str:
        """The heading of the coefficients of an outcome."""
        if self.reference is None and outcome in ORDINAL_HEADINGS:
            return ORDINAL_HEADINGS[str(outcome)]
        return f"{'log-odds' if self.log_odds else 'score'} of {self.contrast(outcome)}"

    def to_dict(self) -> dict[str, Any]:
        rows = [
            jsonable(row) | ({"infinite": "+" if row.estimate > 0 else "-"} if math.isinf(row.estimate) else {})
            for row in self.rows
        ]
        return {**super().to_dict(), "rows": rows, "reason": None if self.reason is None else str(self.reason)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CoefficientTable:
        """The table from the values of `to_dict`, as in model files.

        Parameters
        ----------
        values : dict
            Values of `to_dict`, with None for NaN.

        Returns
        -------
        CoefficientTable
            The table.
        """
        rows = [_stored_row(row) for row in values["rows"]]
        reason = None if values["reason"] is None else Message(values["reason"])
        return cls(**{**values, "rows": rows, "reason": reason})

    def __str__(self) -> str:
        lines = [f"Coefficients of {self.model}"]
        for outcome, rows in self.outcomes.items():
            lines += ["", self.heading(outcome)]
            lines += coefficient_lines(rows, self.level, 4, self.interval)
        notes = self.notes if self.reason is None else [*self.notes, f"no standard errors: {self.reason}"]
        return "\n".join(lines + [f"note: {note}" for note in notes])


def _stored_row(values: Mapping[str, Any]) -> Coefficient:
    """A row from JSON, which has neither NaN nor infinity."""
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
    model: BaseEstimator, names: Sequence[str] | None = None, level: float = 0.95, schema: Schema | None = None
) -> CoefficientTable:
    """The coefficients of a fitted linear model, with standard errors and intervals if it has a summary.

    Parameters
    ----------
    model : classifier
        Fitted, with ``coef_``.
    names : sequence of str, optional
        Column names. Default: those of the model.
    level : float, default=0.95
        Confidence of the intervals.
    schema : Schema, optional
        Coding of the columns, with the reference levels. Default: that of the model's encoder.

    Returns
    -------
    CoefficientTable

    See Also
    --------
    LogisticRegression.summary : With other references and covariances.
    figures.coefficients : Figure of this table.

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
        raise ParameterError(f"{type(model).__name__} has no coef_. Use a linear model.")
    columns = column_names(model) if names is None else [str(name) for name in names]
    if len(columns) != np.shape(model.coef_)[-1]:
        raise ParameterError(f"The model has {np.shape(model.coef_)[-1]} columns, got {len(columns)} names.")
    if hasattr(model, "thresholds_"):
        return _ordinal_table(model, columns, level, schema)
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


def _ordinal_table(
    model: BaseEstimator, columns: Sequence[str], level: float, schema: Schema | None
) -> CoefficientTable:
    """The slopes and thresholds of an ordinal regression."""
    summary, reason = _summary(model, level)
    levels, fit = reference_levels(model, schema), {}
    notes = reference_notes(levels)
    interval: IntervalKind = "confidence"
    places = model.parameters_of_rule(columns[: len(columns) - n_offset_columns(model)])
    if summary is not None:
        rows = [replace(row, term=term) for row, (_, term, _) in zip(summary.rows, places, strict=True)]
        fit = {name: getattr(summary, name) for name in _FIT}
        notes, interval = list(dict.fromkeys([*summary.notes, *notes])), summary.interval
    else:
        nan, odds = math.nan, model.link == "logit"
        rows = [
            Coefficient(group, term, value, nan, nan, nan, nan, nan, _exp(value) if odds and group == "slopes" else nan)
            for group, term, value in places
        ]
    name = type(model).__name__
    return CoefficientTable(name, rows, None, model.link == "logit", level, reason, fit, notes, levels, interval)


def _rows_of(
    values: Array, outcomes: Sequence[Hashable], terms: Sequence[str], deviations: Sequence[float] | None
) -> list[Coefficient]:
    """Rows without standard errors from values (outcomes, terms), log-odds if ``deviations`` are given."""
    nan, odds = math.nan, deviations is not None
    return [
        Coefficient(
            outcome, term, value, nan, nan, nan, nan, nan, _exp(value) if odds else nan, _exp(value * deviation)
        )
        for outcome, own in zip(outcomes, values.tolist(), strict=True)
        for term, value, deviation in zip(terms, own, deviations or [nan] * len(terms), strict=True)
    ]


def reference_levels(model: BaseEstimator, schema: Schema | None = None) -> dict[str, str]:
    """The reference level of each categorical column that has one."""
    if hasattr(model, "formula_"):
        return dict(model.formula_.references)
    known = schema if schema is not None else getattr(getattr(model, "encoder_", None), "schema_", None)
    columns = [] if known is None or known.width is not None else known.used
    return {
        column.name: str(column.reference)
        for column in columns
        if column.kind == "category" and column.reference is not None and column.coding == "reference"
    }


def reference_notes(levels: Mapping[str, str]) -> list[str]:
    """The reference levels as a note."""
    named = [f"{column} = {level}" for column, level in levels.items()]
    return [f"reference levels: {listed(named, 10)}"] if named else []


def column_deviations(model: BaseEstimator, schema: Schema | None = None) -> Array:
    """Standard deviations of the columns in the training data; NaN for levels, and if they are unknown."""
    n_columns = len(column_names(model)) - n_offset_columns(model)
    known = schema if schema is not None else getattr(getattr(model, "encoder_", None), "schema_", None)
    training, moments = vars(model).get("_training"), getattr(model, "moments_", None)
    if training is not None:
        data = getattr(training, "data", training)  # an objective, or rows
        found, is_indicator = column_std(data, model.n_jobs), data.rows.is_indicator
    elif isinstance(moments, ClassMoments):
        found, is_indicator = np.sqrt(moments.column_variances()), None
    else:
        return np.full(n_columns, np.nan)
    if hasattr(model, "formula_"):
        is_indicator = np.array(model.formula_.of_levels[:n_columns], dtype=bool)
    elif is_indicator is None and known is not None and known.width is None:
        is_indicator = known.marked()[0]
    return found if is_indicator is None or len(is_indicator) != len(found) else np.where(is_indicator, np.nan, found)


def member_coefficients(model: BaseEstimator, names: Sequence[str] | None = None) -> dict[str, CoefficientTable]:
    """The coefficients of the linear members of a pool.

    Parameters
    ----------
    model : AutoClassifier
        Fitted.
    names : sequence of str, optional
        Column names. Default: those of the model.

    Returns
    -------
    dict
        `CoefficientTable` by member, log-odds against the first class.

    See Also
    --------
    column_effects : Effects of columns in the whole pool.

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


def _summary(model: BaseEstimator, level: float) -> tuple[Summary | None, Message | None]:
    """The summary of a model, or the reason why it has none."""
    if not hasattr(model, "summary"):
        return None, None
    if model.coef_.size > MAX_TESTED_COEFFICIENTS:
        return None, Message(f"more than {MAX_TESTED_COEFFICIENTS} coefficients.")
    try:
        found = model.summary(level=level)
    except DiscriminantError as error:  # a lasso, or a model from a file
        return None, Message(*error.parts)
    return (None, Message(found.unfinished)) if found.unfinished else (found, None)


def _scores_by_outcome(model: BaseEstimator) -> tuple[list[Any], Array, Array, Any]:
    """Outcomes, their coefficients and intercepts, and the reference class, if any."""
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
    if isinstance(model, PosteriorClassifier):  # differences of scores are log-odds
        return classes[:-1], coef[:-1] - coef[-1], intercepts[:-1] - intercepts[-1], classes[-1]
    return classes, coef, intercepts, None


def _sides(classes: Sequence[Hashable], column: Array) -> str:
    """The classes of a binary problem."""
    first, second = ([str(k) for k, side in zip(classes, column, strict=True) if side == sign] for sign in (1, -1))
    rest = len(first) + len(second) == len(classes) and len(second) > 1
    return f"{', '.join(first)} against {'the rest' if rest else ', '.join(second)}"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
