"""What a model has learned: its table of coefficients, and what logistic regression can say about them.

One table of coefficients serves the command line, reports and figures. Where a model can be summarised it has
standard errors, Wald tests and intervals (see `LogisticRegression.summary`); otherwise the estimates alone.
`LogisticInference` is what a fitted logistic regression can say about them: it looks at its training rows again.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import as_rows, check_choice, dense_rows
from ..errors import (
    ColumnError,
    DegenerateDataError,
    DiscriminantError,
    LabelError,
    Message,
    NotReadyError,
    ParameterError,
    Setting,
)
from ..inference.firth import firth_profile_intervals
from ..inference.likelihood import (
    Coefficient,
    CoefficientIntervals,
    Effect,
    EffectPoint,
    IntervalKind,
    LikelihoodRatioTest,
    Summary,
    TermTests,
    coefficient,
    coefficient_lines,
    constrained_minimum,
    effective_parameters,
    information,
    inverse,
    posterior_covariance,
    sandwich_covariance,
)
from ..moments.covariance import collinearity
from ..objective import NO_PENALTY, Objective
from ..results import Result, jsonable, number, plain, quoted, several, shown, suggestion
from ..rules import LinearRule
from ..solvers.smooth import named_solver
from .base import PosteriorClassifier, input_names

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
    log_odds = reference is not None and isinstance(model, PosteriorClassifier)
    with_intercept = getattr(model, "fit_intercept", True)
    terms = [INTERCEPT] * bool(with_intercept) + columns
    summary, reason = _summary(model, level)
    if summary is not None:
        rows = [replace(row, term=term) for row, term in zip(summary.rows, cycle(terms), strict=False)]
        fit = {name: getattr(summary, name) for name in _FIT}
        name, notes = type(model).__name__, summary.notes
        return CoefficientTable(name, rows, reference, log_odds, level, None, fit, notes, summary.interval)
    values = np.column_stack((intercepts, coef)) if with_intercept else coef
    rows = _rows_of(values, outcomes, terms, log_odds)
    return CoefficientTable(type(model).__name__, rows, reference, log_odds, level, reason)


def _rows_of(values: Array, outcomes: Sequence[Any], terms: Sequence[str], log_odds: bool) -> list[Coefficient]:
    """Rows without standard errors, of values (outcomes, terms)."""
    nan = math.nan
    return [
        Coefficient(outcome, term, value, nan, nan, nan, nan, nan, _exp(value) if log_odds else nan)
        for outcome, own in zip(outcomes, values.tolist(), strict=True)
        for term, value in zip(terms, own, strict=True)
    ]


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
            rows = _rows_of(values[1:] - values[0], others, terms, log_odds=True)
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


#: So many columns that follow from others are told with their equations: of 500 columns of 40 rows, 461 do.
_MOST_ALIASED = 5
#: With fewer rows of the rarest class for each column, estimates of maximum likelihood are too large.
_ENOUGH_EVENTS = 10
#: The objective of rows that have not changed is the same within this share.
_SAME = 1e-6
#: A log-likelihood so near to its maximum is that of estimates within a tenth of a standard error of the optimum.
_AT_OPTIMUM = 0.005
_FREQUENCIES = ("need ", Setting("covariance", "model"), " and weights that are frequencies (no class_weight).")
CovarianceKind = Literal["model", "robust", "clustered"]
#: What a table of ridge coefficients has to say of its intervals.
_CREDIBLE = (
    "ridge estimates are shrunk towards 0. Intervals are credible intervals under the normal prior that the penalty "
    "implies, its strength taken as known; they cover a large effect less often than their level. Confidence intervals "
    "and tests need maximum likelihood or Firth's penalty"
)


def _along(model: Any, column: str, values: Any, at: Any) -> tuple[list[Any], Any, Array]:
    """Values of a column, the one they are compared with, and rows that have these, it last; the rest is held."""
    names, kept = input_names(model) or column_names(model), getattr(model, "formula_", None)
    own = [j for j, name in enumerate(names) if name == column or (kept and name.startswith(f"{column}="))]
    if not own:
        near = suggestion(column, names)
        raise ColumnError(f"The model has no column {column!r}.{near} Columns: {quoted(names, 20)}.")
    if kept is None:
        data = model._rows_again().data
        block = dense_rows(data.rows.block(0, data.n_rows))
        low, middle, high = block.min(axis=0), np.median(block, axis=0), block.max(axis=0)
    else:
        low, middle, high = kept.lowest, kept.middle, kept.highest
    held = np.where(np.isin(np.arange(len(names)), own), 0.0, middle)
    if names[own[0]] != column:
        unused = [j for j in own if not (model.basis_.outputs == j).any()]
        levels = {names[j].removeprefix(f"{column}="): j for j in (*unused, *own)}
        given = [str(level) for level in (levels if values is None else values)]
        given.append(next(iter(levels)) if at is None else str(at))
        for level in given:
            if level not in levels:
                raise ColumnError(f"{level!r} is no level of {column!r}: {quoted(levels, 20)}.")
        return given[:-1], given[-1], (held + np.eye(len(names)))[[levels[level] for level in given]]
    j = own[0]
    try:
        grid = np.linspace(low[j], high[j], _GRID) if values is None else np.array(values, dtype=np.float64).ravel()
        rows = np.tile(held, (len(grid) + 1, 1))
        rows[:, j] = np.append(grid, middle[j] if at is None else float(at))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{column!r} holds numbers: values and at must be some, too ({error}).") from error
    return grid.tolist(), float(rows[-1, j]), rows


@dataclass(frozen=True)
class Reported:
    """The terms one reports, as linear functions of the parameters: log-odds of outcomes against a reference."""

    objective: Objective
    outcomes: list[int]
    reference: int
    names: list[str]

    @cached_property
    def matrix(self) -> Array:
        """(outcomes x terms, parameters): the intercept first, then the columns."""
        standard, contrasts = self.objective.standardised, self.objective.contrasts
        terms = np.diag(1 / standard.scale)
        if self.objective.fit_intercept:
            first = np.append(-standard.centre / standard.scale, 1.0)
            terms = np.vstack((first, np.pad(terms, ((0, 0), (0, 1)))))
        if contrasts.shape == (1, 1):
            return terms if self.reference == 0 else -terms
        return np.concatenate([np.kron(contrasts[:, k] - contrasts[:, self.reference], terms) for k in self.outcomes])


class LogisticInference(PosteriorClassifier):
    """`summary`, `conf_int` and likelihood-ratio tests of a logistic regression.

    They look at the training rows again, which a model keeps a reference to until it is pickled.
    """

    solution_: Any
    separation_: Any
    firth_: Any
    aliased_: tuple[int, ...]
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    firth: bool = False
    tol: float
    reference: Any
    _training: Objective

    def log_odds(self, reference: Any = None) -> tuple[Array, Array, Array]:
        """The K - 1 log-odds against a reference class.

        Probabilities are the same whichever class is taken.

        Parameters
        ----------
        reference : a class, optional
            What the others are compared with. Default: the ``reference`` of the model.

        Returns
        -------
        outcomes : array of shape (K - 1,)
            The other classes.
        coef : array of shape (K - 1, p)
            Their coefficients minus those of the reference.
        intercept : array of shape (K - 1,)
            The same of the intercepts.
        """
        check_is_fitted(self, "rule_")
        r = self._reference_code(reference)
        others = np.flatnonzero(np.arange(len(self.classes_)) != r)
        rule = self.rule_
        return self.classes_[others], rule.coef[others] - rule.coef[r], rule.intercept[others] - rule.intercept[r]

    def summary(
        self,
        reference: Any = None,
        covariance: CovarianceKind = "model",
        clusters: Any = None,
        weights: Literal["frequency", "importance"] = "frequency",
        level: float = 0.95,
    ) -> Summary:
        """The table of coefficients with standard errors, tests, intervals and odds ratios.

        A ridge has no tests and no confidence intervals, because its estimates are biased towards 0: its intervals are
        credible intervals under the normal prior that the penalty implies.

        Parameters
        ----------
        reference : a class, optional
            What outcomes are compared with.
        covariance : {"model", "robust", "clustered"}, default="model"
            From the information matrix; from the rows' own scores (the sandwich of White 1982); from their sums
            over ``clusters``.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row, for "clustered"; a dataset has them in a column.
        weights : {"frequency", "importance"}, default="frequency"
            Whether weight 3 means three rows, or one row of threefold importance (then the covariance is a sandwich);
            a ``class_weight`` is importance.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        Summary
            A row for each coefficient, with log-likelihoods and notes.
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        reported = self._reported(reference)
        estimates, covariances, notes = self._estimates(reported, covariance, clusters, weights)
        errors, unfinished = np.sqrt(np.maximum(np.diagonal(covariances), 0.0)), self._unfinished()
        if unfinished:
            errors, notes = np.full_like(errors, np.nan), notes[1:]
        infinite = self._infinite(reported)
        estimates[infinite != 0], errors[infinite != 0] = infinite[infinite != 0] * np.inf, np.inf
        aliased = np.zeros((len(reported.outcomes), len(reported.names)), dtype=bool)
        aliased[:, self.fit_intercept + np.array(self.aliased_, dtype=int)] = True
        estimates[aliased.ravel()] = errors[aliased.ravel()] = np.nan
        found = zip(self._terms(reported), estimates.tolist(), errors.tolist(), strict=True)
        kind = "Firth's penalised" if self.firth else "ridge" if self.alpha else "maximum-likelihood"
        kind = "not at its optimum" if unfinished else kind
        interval: IntervalKind = "credible" if self.alpha else "confidence"
        return Summary(
            rows=[coefficient(*term, estimate, error, level, interval) for term, estimate, error in found],
            n_rows=reported.objective.total_weight,
            n_parameters=self._free_parameters(reported.objective, aliased),
            log_likelihood=self._log_likelihood(),
            null_log_likelihood=null_log_likelihood(reported.objective),
            level=level,
            title=f"Logistic regression ({kind}), against {shown(self.classes_[reported.reference])}",
            notes=notes,
            unfinished=unfinished,
            interval=interval,
        )

    def _free_parameters(self, objective: Objective, aliased: Array) -> float:
        """How many parameters were estimated; a ridge does not leave all of them free."""
        if self.firth or not self.alpha:
            return int((~aliased).sum())
        return effective_parameters(objective, self.solution_.theta)

    def conf_int(
        self, level: float = 0.95, method: Literal["wald", "profile"] = "wald", reference: Any = None
    ) -> CoefficientIntervals:
        """Confidence intervals of the coefficients, from standard errors or by profile likelihood.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.
        method : {"wald", "profile"}, default="wald"
            Estimate and standard error, or the values that a likelihood-ratio test does not reject.
        reference : a class, optional
            What outcomes are compared with.

        Returns
        -------
        CoefficientIntervals
        """
        check_choice("method", method, ("wald", "profile"))
        if not 0 < level < 1:
            raise ParameterError(Setting("level"), f" must be between 0 and 1, got {level!r}.")
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        if self.alpha > 0:
            reason = "A ridge estimate is biased towards 0 and has no confidence intervals. Credible intervals are in "
            raise ParameterError(reason, "summary(); confidence intervals need ", Setting("alpha", 0), ".")
        self._refuse_unfinished("Intervals")
        if method == "wald":
            rows = self.summary(reference=reference, level=level).rows
            return CoefficientIntervals([(row.outcome, row.term, row.low, row.high) for row in rows], level, method)
        reported = self._reported(reference)
        limits = zip(self._terms(reported), self._profile(reported, level), strict=True)
        return CoefficientIntervals([(*term, low, high) for term, (low, high) in limits], level, method)

    def likelihood_ratio_test(self, smaller: Any) -> LikelihoodRatioTest:
        """The test of this model against one with fewer columns, fitted to the same rows.

        Parameters
        ----------
        smaller : LogisticRegression
            Fitted to the same rows, with some of the columns.

        Returns
        -------
        LikelihoodRatioTest
            Twice the difference of the log-likelihoods, and its p-value.
        """
        for model in (self, smaller):
            model._refuse_unfinished("Likelihood-ratio tests")
        own, other = self._training, smaller._training
        same = own.total_weight == other.total_weight and np.array_equal(own.data.codes, other.data.codes)
        columns, fewer = own.shape[1] - len(self.aliased_), other.shape[1] - len(smaller.aliased_)
        df = own.n_functions * columns - other.n_functions * fewer
        if not same or df <= 0:
            raise ParameterError(
                "likelihood_ratio_test compares nested models of the same rows: the other model must have been fitted "
                f"to the same labels and have fewer columns (difference in parameters: {df})."
            )
        return LikelihoodRatioTest.of(smaller._log_likelihood(), self._log_likelihood(), df)

    def term_tests(self) -> TermTests:
        """For each column, or term of a formula, the likelihood-ratio test of the model without it.

        Returns
        -------
        TermTests
            A test for each term, by its name: that all of its coefficients are 0.
        """
        check_is_fitted(self, "rule_")
        self._refuse_penalty("likelihood-ratio tests")
        self._refuse_unfinished("Likelihood-ratio tests")
        objective, theta, log_likelihood = self._training, self.solution_.theta, self._log_likelihood()
        columns: dict[str, list[int]] = {}
        for j, name in enumerate(self.formula_.terms if hasattr(self, "formula_") else self._column_names()):
            columns.setdefault(name, []).append(j)
        found = {}
        for name, own in columns.items():
            free = [j for j in own if j not in self.aliased_] or own
            chosen = (
                np.eye(objective.n_parameters)
                .reshape(*objective.shape, -1)[:, free]
                .reshape(-1, objective.n_parameters)
            )
            value = constrained_minimum(objective, theta, chosen, np.zeros(len(chosen)))[1]
            found[name] = LikelihoodRatioTest.of(-objective.total_weight * value, log_likelihood, len(chosen))
        return TermTests(found)

    def effect(
        self, column: str, values: Any = None, at: Any = None, reference: Any = None, level: float = 0.95
    ) -> Effect:
        """How the log-odds go with one column, whatever functions of it the model has, with pointwise intervals.

        The other columns are held at their medians, and categories at their shares: where there are products with
        them, it is their average effect. Intervals are confidence intervals; of a ridge they are Bayesian credible
        intervals, which cover a smooth function at their level on average over its points (Nychka 1988).

        Parameters
        ----------
        column : str
            A column of the table, or of the rows.
        values : array-like, optional
            Where to look; by default the range of the training rows, or all levels.
        at : number or level, optional
            What the others are compared with; by default the median, or the reference level.
        reference : a class, optional
            What outcomes are compared with.
        level : float, default=0.95
            Of the intervals.

        Returns
        -------
        Effect
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        if self.separation_ is not None:
            reason = "There is no effect to draw: some coefficients are infinite. A fit with "
            raise DegenerateDataError(reason, Setting("firth", True), " has them all.")
        self._refuse_unfinished("Effects with their intervals")
        chosen, centre, rows = _along(self, column, values, at)
        if hasattr(self, "formula_"):
            inputs = as_rows(rows, self.formula_.inputs)
            rows = self.formula_.expanded(self.basis_, inputs, self._column_names()).values
        change = np.pad(rows[:-1] - rows[-1], ((0, 0), (int(self.fit_intercept), 0)))
        reported = self._reported(reference)
        estimates, covariance, _ = self._estimates(reported, "model", None, "frequency")
        points, n_terms, z = [], change.shape[1], float(ndtri(0.5 + level / 2))
        for k, outcome in enumerate(reported.outcomes):
            own = slice(k * n_terms, (k + 1) * n_terms)
            mean = change @ estimates[own]
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, covariance[own, own], change), 0.0))
            ends = zip(chosen, mean.tolist(), (mean - z * error).tolist(), (mean + z * error).tolist(), strict=True)
            points += [EffectPoint(plain(self.classes_[outcome]), *point) for point in ends]
        return Effect(column, centre, plain(self.classes_[reported.reference]), level, points)

    def _rows_again(self) -> Objective:
        check_is_fitted(self, "rule_")
        if not hasattr(self, "_training"):
            raise NotReadyError("This needs the training rows, which a stored model does not carry. Fit it again.")
        objective = self._training
        if not (self.firth or self.early_stopping or objective.penalty.l1):
            reached = self.solution_
            differs = abs(objective.value_and_gradient(reached.theta)[0] - reached.objective)
            if not differs <= max(_SAME, 10 * reached.excess) * max(abs(reached.objective), _SAME):
                raise NotReadyError("The training rows were changed after the fit: fit again, or fit a copy of them.")
        return objective

    def _unfinished(self) -> str:
        """How far the fit stopped short of its optimum; nothing where it did not, or where there is no optimum.

        The rows have been looked at (`_rows_again`): each look reads all of them.
        """
        if self.firth or self.separation_ is not None:
            return ""
        reached, objective = self.solution_, self._training
        total = objective.total_weight
        if reached.converged and total * abs(reached.objective) * reached.excess <= _AT_OPTIMUM:
            return ""
        best = named_solver("auto", objective)(objective, reached.theta, min(self.tol, 1e-10), 500)
        short = total * (objective.value_and_gradient(reached.theta)[0] - best.objective)
        if short <= _AT_OPTIMUM:
            return ""
        penalised = " less the penalty" if self.alpha else ""
        return (
            f"The fit stopped ({reached.reason}) before its optimum: the log-likelihood{penalised} is {number(short)} "
            "below its maximum."
        )

    def _refuse_unfinished(self, what: str) -> None:
        self._rows_again()
        told = self._unfinished()
        if told:
            more = (Setting("max_iter"), ", or use ", Setting("solver", "auto"), ".")
            raise NotReadyError(f"{told} {what} are those of the optimum. Raise ", *more)

    def _refuse_l1(self) -> None:
        if self.alpha * self.l1_ratio > 0:
            reason = "Standard errors and p-values are not defined after selection by an L1 penalty: "
            advice = ("Refit the chosen columns with ", Setting("alpha", 0), " on other rows, or use ")
            raise ParameterError(reason, "the same rows chose the terms. ", *advice, Setting("l1_ratio", 0), ".")

    def _refuse_penalty(self, what: str) -> None:
        if self.alpha > 0 or self.firth:
            needed = (Setting("alpha", 0), " and ", Setting("firth", False))
            raise ParameterError(f"{what.capitalize()} need maximum likelihood: ", *needed, ".")

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _reported(self, reference: Any) -> Reported:
        r = self._reference_code(reference)
        outcomes = [k for k in range(len(self.classes_)) if k != r]
        names = ["intercept"] * bool(self.fit_intercept) + self._column_names()
        return Reported(self._rows_again(), outcomes, r, names)

    def _reference_code(self, reference: Any) -> int:
        wanted = self.reference if reference is None else reference
        if wanted is None:
            return 0 if len(self.classes_) == 2 else len(self.classes_) - 1
        found = np.flatnonzero(self.classes_ == wanted)
        if found.size == 0:
            raise LabelError(f"The reference {wanted!r} is not a class. Classes: {self.classes_.tolist()}.")
        return int(found[0])

    def _terms(self, reported: Reported) -> list[tuple[Any, str]]:
        """Outcome and name of each reported term."""
        return [(plain(self.classes_[k]), name) for k in reported.outcomes for name in reported.names]

    def _log_likelihood(self) -> float:
        if self.firth:
            return float(self.firth_.log_likelihood)
        if self._remaining is not None:
            return self._remaining._log_likelihood()
        objective, theta = self._training, self.solution_.theta
        if self.early_stopping or objective.penalty.l1:
            return -objective.total_weight * objective.mean_loss(theta)
        penalty = 0.5 * float((objective.ridge * theta**2).sum())
        return -objective.total_weight * (self.solution_.objective - penalty)  # without reading the rows once more

    def _estimates(self, reported: Reported, kind: str, clusters: Any, weights: str) -> tuple[Array, Array, list[str]]:
        """Estimates and covariance of the reported terms, and what to know about them."""
        if self.firth:
            return self._firth_estimates(reported)
        objective, theta, matrix = reported.objective, self.solution_.theta, reported.matrix
        check_choice("covariance", kind, ("model", "robust", "clustered"))
        data = objective.data if clusters is None else objective.data.in_clusters(clusters)
        clustered = kind == "clustered"
        if (clustered and not data.n_clusters) or (clusters is not None and not clustered):
            raise ParameterError("covariance='clustered' and clusters= go together: one label per row.")
        important = weights == "importance" or self.class_weight is not None
        if self.alpha > 0 and (kind != "model" or important):
            reason = "A ridge estimate is biased, which a sandwich covariance ignores. Confidence intervals need "
            raise ParameterError(reason, Setting("alpha", 0), "; credible intervals of a ridge ", *_FREQUENCIES)
        if kind != "model" or important:
            whole = sandwich_covariance(replace(objective, data=data), theta, clustered, important)
            note = f"covariance: sandwich, {'by cluster' if clustered else 'robust'}"
        elif self.alpha > 0:
            whole, note = posterior_covariance(objective, theta), _CREDIBLE
        else:
            whole, note = self._model_covariance(objective, theta), "covariance: inverse of the information matrix"
        notes = [note]
        if self.aliased_:
            some = data.every(1)  # of a dataset its sample
            found = collinearity(some.rows, self._column_names(), some.weight)
            aliased = [found.equations.get(j, self._columns([j])) for j in self.aliased_[:_MOST_ALIASED]]
            more = len(self.aliased_) - len(aliased)
            notes.append(f"aliased, left out: {'; '.join(aliased)}{f'; and {more:,} more' if more else ''}")
        if self.separation_ is not None:
            notes.append(f"{self.separation_.kind} separation: infinite estimates; the others are their limits")
        fewest = float(objective.class_weights.min())
        if self.alpha == 0 and fewest < _ENOUGH_EVENTS * objective.n_columns:
            notes.append(
                f"{several(round(fewest), 'row')} of the rarest class for {several(objective.n_columns, 'column')}: "
                "estimates are too large (Peduzzi et al. 1996), and a penalty or AutoClassifier predicts better"
            )
        remaining = self._remaining
        if remaining is None:
            with np.errstate(over="ignore", invalid="ignore"):
                return matrix @ theta.ravel(), matrix @ whole @ matrix.T, notes
        own = remaining._reported(self.classes_[reported.reference])
        estimates, covariance, _ = remaining._estimates(own, "model", None, "frequency")
        order = np.append(np.arange(self.fit_intercept), self.fit_intercept + np.argsort(remaining._order))
        return estimates[order], covariance[np.ix_(order, order)], notes

    def _model_covariance(self, objective: Objective, theta: Array) -> Array:
        """Inverse information of the parameters that are not aliased."""
        kept = np.ones(objective.shape, dtype=bool)
        kept[:, list(self.aliased_)] = False
        free = np.ix_(kept.ravel(), kept.ravel())
        whole = np.zeros((objective.n_parameters, objective.n_parameters))
        with np.errstate(over="ignore", invalid="ignore"):  # separated classes have next to no information left
            whole[free] = inverse(information(objective, theta)[free])
        return whole

    @property
    def _intercept_first(self) -> list[int]:
        """Where the reported terms stand among coefficients whose intercept comes last."""
        p = self.n_features_in_
        return [p] * bool(self.fit_intercept) + list(range(p))

    def _infinite(self, reported: Reported) -> Array:
        """The sign of each reported term that diverges, 0 for the others."""
        if self.separation_ is None:
            return np.zeros(len(reported.outcomes) * len(reported.names))
        if len(self.classes_) == 2:
            return (1 if reported.reference == 0 else -1) * self.separation_.infinite[0, self._intercept_first]
        direction = self.separation_.direction
        steps = [direction[k] - direction[reported.reference] for k in reported.outcomes]
        signs = [np.sign(step) * (np.abs(step) > 1e-7 * np.abs(step).max(initial=1e-300)) for step in steps]
        return np.concatenate([sign[self._intercept_first] for sign in signs])

    @cached_property
    def _remaining(self) -> Any:
        """For two classes under separation: the fit to the rows that are not separated, which has the finite limits."""
        found = self.separation_
        if found is None or len(self.classes_) > 2:
            return None
        data, left = self._rows_again().data, ~found.rows
        if len(np.unique(data.codes[left])) < 2:
            return None
        X = dense_rows(data.rows.block(0, data.n_rows))[left]
        columns = np.argsort(found.infinite[0][: X.shape[1]] != 0, kind="stable")
        weight = None if data.weight is None else data.weight[left]
        model: Any = clone(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:, columns], data.classes[data.codes[left]], weight)
        model._order = columns  # the infinite ones last
        return model

    def _firth_estimates(self, reported: Reported) -> tuple[Array, Array, list[str]]:
        fit, K = self.firth_, len(self.classes_)
        # Row k of `to_class`: the log-odds of class k against the class the fit refers to.
        to_class = np.delete(np.eye(K), 0 if K == 2 else K - 1, axis=1)
        terms = np.eye(self.n_features_in_ + 1)[self._intercept_first]
        matrix = np.concatenate([np.kron(to_class[k] - to_class[reported.reference], terms) for k in reported.outcomes])
        return matrix @ fit.coef.ravel(), matrix @ fit.covariance @ matrix.T, ["Firth's penalised likelihood"]

    def _profile(self, reported: Reported, level: float) -> list[tuple[float, float]]:
        if self.firth:
            return self._firth_profile(reported, level)
        self._refuse_penalty("profile intervals")
        objective, theta = reported.objective, self.solution_.theta
        errors = np.sqrt(np.diagonal(reported.matrix @ self._model_covariance(objective, theta) @ reported.matrix.T))
        infinite = self._infinite(reported)
        return [
            tuple(_profile_end(objective, theta, a, side * error, level, infinite[i]) for side in (-1, 1))  # type: ignore[misc]
            for i, (a, error) in enumerate(zip(reported.matrix, errors, strict=True))
        ]

    def _firth_profile(self, reported: Reported, level: float) -> list[tuple[float, float]]:
        K = len(self.classes_)
        if K > 2 and reported.reference != K - 1:
            last = f"Profile intervals of Firth's likelihood are against the last class, {shown(self.classes_[-1])}: "
            raise ParameterError(last, "set reference to it, or use ", Setting("method", "wald"), ".")
        limits = firth_profile_intervals(**firth_data(reported.objective), fit=self.firth_, level=level)
        ends = limits.reshape(-1, self.n_features_in_ + 1, 2)[:, self._intercept_first].reshape(-1, 2)
        if K == 2 and reported.reference == 1:
            ends = -ends[:, ::-1]
        return [(float(low), float(high)) for low, high in ends]


def _profile_end(
    objective: Objective, theta: Array, term: Array, towards: float, level: float, infinite: float
) -> float:
    """Where the deviance, minimised over all else, has risen by the chi-square quantile."""
    from scipy.optimize import brentq  # slow to load

    if infinite and np.sign(towards) == infinite:
        return float(infinite * np.inf)
    centre, least = float(term @ theta.ravel()), objective.value_and_gradient(theta)[0]
    wanted = float(ndtri(0.5 + level / 2)) ** 2 / 2 / objective.total_weight
    place = [theta]

    def rise(value: float) -> float:
        place[0], reached = constrained_minimum(objective, place[0], term[None], np.array([value]))
        return reached - least - wanted

    far = next((far for far in 2 * towards * 1.6 ** np.arange(60) if rise(centre + far) > 0), None)
    if far is None:
        return float(np.sign(towards) * np.inf)
    place[0] = theta
    low, high = sorted((centre, centre + far))
    return float(brentq(lambda v: rise(v) if v != centre else -wanted, low, high, xtol=1e-10, rtol=1e-12))


def firth_data(objective: Objective) -> dict[str, Any]:
    """The rows as `inference.firth` takes them."""
    data, offset = objective.data, objective.data.offset
    if offset is not None and len(data.classes) > 2:
        offset = offset[:, :-1] - offset[:, -1:]
    X = dense_rows(data.rows.block(0, data.n_rows)).astype(np.float64)
    return {"X": X, "codes": data.codes, "weight": data.weight, "offset": offset}


def null_log_likelihood(objective: Objective) -> float:
    """The log-likelihood without any column: of the class shares, unless offsets make them differ."""
    plain = replace(objective, penalty=NO_PENALTY)
    start = np.zeros(objective.shape)
    if not objective.fit_intercept:
        return -objective.total_weight * plain.value_and_gradient(start)[0]
    if objective.data.offset is None:
        weight = objective.class_weights
        return float(weight @ np.log(weight / weight.sum()))
    is_column = np.arange(objective.n_parameters) % objective.shape[1] < objective.n_columns
    columns = np.eye(objective.n_parameters)[is_column]
    return -objective.total_weight * constrained_minimum(plain, start, columns, np.zeros(len(columns)))[1]
