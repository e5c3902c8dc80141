"""What a fitted logistic regression can say about its own coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_choice
from ..data.rows import dense_rows
from ..errors import LabelError, NotReadyError, ParameterError, Setting
from ..inference.firth import firth_profile_intervals
from ..inference.likelihood import (
    Summary,
    coefficient,
    constrained_minimum,
    information,
    inverse,
    penalised_covariance,
    sandwich_covariance,
)
from ..moments.collinearity import collinearity
from ..objective import NO_PENALTY, Objective
from ..results import Result, aligned, columns_of, number, p_value, percent, plain, shown
from .base import PosteriorClassifier

Array = np.ndarray[Any, Any]

#: The objective of rows that have not changed is the same within this share.
_SAME = 1e-6
CovarianceKind = Literal["model", "robust", "clustered"]


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatioTest(Result):
    """The likelihood-ratio test of a model against one with fewer columns.

    Parameters
    ----------
    statistic : float
        Twice the difference of the log-likelihoods.
    df : int
        Number of coefficients the smaller model does without.
    p_value : float
        Of the chi-square distribution with that many degrees of freedom.

    See Also
    --------
    LogisticRegression : Its `likelihood_ratio_test` makes one.

    References
    ----------
    Wilks, S. S. (1938). The large-sample distribution of the likelihood ratio for testing composite hypotheses. Annals
    of Mathematical Statistics 9.
    """

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, smaller: float, larger: float, df: int) -> LikelihoodRatioTest:
        """The test of two log-likelihoods."""
        statistic = max(2 * (larger - smaller), 0.0)
        return cls(statistic, df, float(chi2.sf(statistic, df)))

    def __str__(self) -> str:
        return f"Likelihood ratio: chi-square {number(self.statistic)}, df {self.df}, p {p_value(self.p_value)}"


@dataclass(frozen=True, eq=False, repr=False)
class TermTests(Result):
    """The likelihood-ratio tests of a model against those without one of its columns.

    Parameters
    ----------
    tests : mapping of str to LikelihoodRatioTest
        By the name of the column left out; ``found[name]`` looks one up.

    See Also
    --------
    LogisticRegression : Its `term_tests` makes them.
    """

    tests: Mapping[str, LikelihoodRatioTest]

    def __getitem__(self, term: str) -> LikelihoodRatioTest:
        return self.tests[term]

    def _columns(self) -> dict[str, list[Any]]:
        return {"term": list(self.tests), **columns_of(list(self.tests.values()))}

    def __str__(self) -> str:
        rows = [[term, number(t.statistic), str(t.df), p_value(t.p_value)] for term, t in self.tests.items()]
        return "\n".join(aligned([["term", "chi-square", "df", "p"], *rows]))


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientIntervals(Result):
    """Confidence intervals of the coefficients of a logistic regression.

    Parameters
    ----------
    intervals : sequence of (outcome, term, low, high)
        One for each coefficient; iteration goes over them.
    level : float
        Their confidence.
    method : {"wald", "profile"}
        From standard errors, or from the profile likelihood.

    See Also
    --------
    LogisticRegression : Its `conf_int` makes them.

    References
    ----------
    Venzon, D. J. & Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals.
    Applied Statistics 37.
    Heinze, G. & Schemper, M. (2002). A solution to the problem of separation in logistic regression. Statistics in
    Medicine 21 (profiles of Firth's likelihood).
    """

    intervals: Sequence[tuple[Any, str, float, float]]
    level: float
    method: str

    def __iter__(self) -> Iterator[tuple[Any, str, float, float]]:
        return iter(self.intervals)

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [row[j] for row in self] for j, name in enumerate(("outcome", "term", "low", "high"))}

    def __str__(self) -> str:
        rows = [[str(outcome), term, number(low), number(high)] for outcome, term, low, high in self]
        head = f"Intervals of {percent(self.level, 0)} ({self.method})"
        return "\n".join([head, *aligned([["outcome", "term", "low", "high"], *rows], left=2)])


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

        Parameters
        ----------
        reference : a class, optional
            What outcomes are compared with.
        covariance : {"model", "robust", "clustered"}, default="model"
            From the information matrix; from the rows' own scores (the sandwich of White 1982); from their sums
            over ``clusters``.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row, for "clustered".
        weights : {"frequency", "importance"}, default="frequency"
            Whether weight 3 means three rows, or one row of threefold importance (then the covariance is a sandwich).
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
        errors = np.sqrt(np.maximum(np.diagonal(covariances), 0.0))
        infinite = self._infinite(reported)
        estimates[infinite != 0], errors[infinite != 0] = infinite[infinite != 0] * np.inf, np.inf
        aliased = np.zeros((len(reported.outcomes), len(reported.names)), dtype=bool)
        aliased[:, self.fit_intercept + np.array(self.aliased_, dtype=int)] = True
        estimates[aliased.ravel()] = errors[aliased.ravel()] = np.nan
        found = zip(self._terms(reported), estimates.tolist(), errors.tolist(), strict=True)
        kind = "Firth's penalised" if self.firth else "ridge" if self.alpha else "maximum-likelihood"
        return Summary(
            rows=[coefficient(*term, estimate, error, level) for term, estimate, error in found],
            n_rows=reported.objective.total_weight,
            n_parameters=int((~aliased).sum()),
            log_likelihood=self._log_likelihood(),
            null_log_likelihood=null_log_likelihood(reported.objective),
            level=level,
            title=f"Logistic regression ({kind}), against {shown(self.classes_[reported.reference])}",
            notes=notes,
        )

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
        own, other = self._rows_again(), smaller._rows_again()
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
        """For each column, the likelihood-ratio test of the model without it.

        Returns
        -------
        TermTests
            A test for each column, by its name.
        """
        check_is_fitted(self, "rule_")
        self._refuse_penalty("likelihood-ratio tests")
        objective, theta = self._rows_again(), self.solution_.theta
        found = {}
        for j, name in enumerate(self._column_names()):
            chosen = np.eye(objective.n_parameters)[j :: objective.shape[1]]
            value = constrained_minimum(objective, theta, chosen, np.zeros(len(chosen)))[1]
            found[name] = LikelihoodRatioTest.of(-objective.total_weight * value, self._log_likelihood(), len(chosen))
        return TermTests(found)

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
        objective = self._rows_again()
        return -objective.total_weight * objective.mean_loss(self.solution_.theta)

    def _estimates(self, reported: Reported, kind: str, clusters: Any, weights: str) -> tuple[Array, Array, list[str]]:
        """Estimates and covariance of the reported terms, and what to know about them."""
        if self.firth:
            return self._firth_estimates(reported)
        objective, theta, matrix = reported.objective, self.solution_.theta, reported.matrix
        check_choice("covariance", kind, ("model", "robust", "clustered"))
        if (kind == "clustered") != (clusters is not None):
            raise ParameterError("covariance='clustered' and clusters= go together: one label per row.")
        groups, n = None if clusters is None else np.asarray(clusters), objective.data.n_rows
        if groups is not None and groups.shape != (n,):
            raise ParameterError(f"clusters must have one label for each of the {n} rows, got shape {groups.shape}.")
        if kind != "model" or weights == "importance":
            whole = sandwich_covariance(objective, theta, groups, weights == "importance")
            note = f"covariance: sandwich, {'by cluster' if groups is not None else 'robust'}"
        elif self.alpha > 0:
            whole = penalised_covariance(objective, theta)
            note = "covariance: sandwich of a ridge fit; estimates are shrunk towards 0, by how much tests do not know"
        else:
            whole, note = self._model_covariance(objective, theta), "covariance: inverse of the information matrix"
        notes = [note]
        if self.aliased_:
            found = collinearity(objective.data.rows, self._column_names(), objective.data.weight)
            aliased = [found.equations.get(j, self._columns([j])) for j in self.aliased_]
            notes.append(f"aliased, left out: {'; '.join(aliased)}")
        if self.separation_ is not None:
            notes.append(f"{self.separation_.kind} separation: infinite estimates; the others are their limits")
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
    if infinite and np.sign(towards) == infinite:
        return float(infinite * np.inf)
    centre, least = float(term @ theta.ravel()), objective.value_and_gradient(theta)[0]
    wanted = float(chi2.ppf(level, 1)) / 2 / objective.total_weight
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
    data, offset = objective.data, objective.offset
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
    if objective.offset is None:
        weight = objective.class_weights
        return float(weight @ np.log(weight / weight.sum()))
    is_column = np.arange(objective.n_parameters) % objective.shape[1] < objective.n_columns
    columns = np.eye(objective.n_parameters)[is_column]
    return -objective.total_weight * constrained_minimum(plain, start, columns, np.zeros(len(columns)))[1]
