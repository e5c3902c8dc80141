"""What a fitted logistic regression reports about its coefficients: summary, intervals, tests and effects."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle
from typing import Any, Final, Literal

import numpy as np
from scipy.special import chdtrc, ndtri
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import as_rows, check_choice
from ..errors import DegenerateDataError, ParameterError, Setting
from ..inference.estimable import is_nested
from ..inference.firth import firth_data, firth_nested_deviance, firth_profile_intervals, firth_profile_p_values
from ..inference.likelihood import (
    Coefficient,
    CoefficientIntervals,
    Effect,
    EffectPoint,
    IntervalKind,
    LikelihoodRatioTest,
    Summary,
    coefficient,
    effective_parameters,
    null_log_likelihood,
)
from ..inference.profile import ProfileDeviance
from ..inference.sandwich import n_counted
from ..results import plain, shown
from .coefficients import column_deviations, column_names, reference_levels, reference_notes
from .effect_rows import effect_rows
from .logistic_estimates import CovarianceKind, Estimates, Reported, WeightKind
from .logistic_tests import LogisticTests

#: Profiles of Firth's likelihood take some 600 multiplications for each row and cubed number of coefficients (569 x 31:
#: 13 s). With more work than this, summaries have Wald tests.
MAX_PROFILE_WORK: Final = 3e10


class LogisticInference(LogisticTests):
    """`summary`, `conf_int` and likelihood-ratio tests of a logistic regression."""

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
        covariance: CovarianceKind | None = None,
        clusters: Any = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> Summary:
        """The table of coefficients with standard errors, tests, intervals and odds ratios.

        A ridge has no tests and no confidence intervals, because its estimates are biased towards 0: its intervals are
        credible intervals under the normal prior that the penalty implies.

        Parameters
        ----------
        reference : a class, optional
            What outcomes are compared with.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"}, optional
            From the information matrix; a sandwich of the rows' scores (HC: White 1980, MacKinnon & White 1985), or of
            their sums over ``clusters`` (CR: Liang & Zeger 1986; CR2: Bell & McCaffrey 2002). "robust" is HC0,
            "clustered" CR1. CR2 is for two classes. Default: CR1 with ``clusters``, HC3 with importance weights,
            "model" otherwise.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row; a dataset has them in a column.
        weights : {"frequency", "importance"}, optional
            Whether weight 3 means three rows, or one row of threefold importance, such as a survey weight. Default:
            frequency where all weights are whole numbers and there is no ``class_weight``, else importance.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        Summary
            A row for each coefficient, with log-likelihoods and notes. Of Firth's likelihood tests and intervals are
            those of the penalised likelihood ratio.

        References
        ----------
        MacKinnon, J. G. & White, H. (1985). Some heteroskedasticity-consistent covariance matrix estimators with
        improved finite sample properties. J. Econometrics 29.
        Bell, R. M. & McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage
        samples. Survey Methodology 28.
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        _check_level(level)
        reported = self._reported(reference)
        choice = self._covariance_choice(covariance, clusters, weights)
        found, unfinished = self._estimates(reported, choice), self._unfinished()
        rows, notes = self._wald_rows(reported, found, level, bool(unfinished)), found.notes[bool(unfinished) :]
        if self.firth:
            rows, note = self._penalised_tests(reported, rows, level)
            notes.append(note)
        elif untestable := self._untestable(choice):
            rows = [replace(row, z=math.nan, p_value=math.nan, low=math.nan, high=math.nan) for row in rows]
            notes.append(untestable)
        notes += reference_notes(reference_levels(self))
        kind = "Firth's penalised" if self.firth else "ridge" if self.alpha else "maximum-likelihood"
        kind = "not at its optimum" if unfinished else kind
        objective = reported.objective
        return Summary(
            rows=rows,
            n_rows=n_counted(objective.data) if choice.has_importance else objective.total_weight,
            n_parameters=self._free_parameters(reported),
            log_likelihood=self._log_likelihood(),
            null_log_likelihood=null_log_likelihood(objective),
            level=level,
            title=f"Logistic regression ({kind}), against {shown(self.classes_[reported.reference])}",
            notes=notes,
            unfinished=unfinished,
            likelihood="penalised" if self.firth else "weighted" if choice.has_importance else "maximum",
            interval=self._interval,
        )

    def _wald_rows(self, reported: Reported, found: Estimates, level: float, unfinished: bool) -> list[Coefficient]:
        """The reported terms with Wald tests and intervals."""
        errors = np.sqrt(np.maximum(np.diagonal(found.covariance), 0.0))
        estimates = found.values.copy()
        if unfinished:
            errors = np.full_like(errors, np.nan)
        infinite, aliased = self._infinite(reported), self._aliased(reported)
        estimates[infinite != 0], errors[infinite != 0] = infinite[infinite != 0] * np.inf, np.inf
        estimates[aliased] = errors[aliased] = np.nan
        deviations = [math.nan] * bool(self.fit_intercept) + column_deviations(self).tolist()
        terms = zip(self._terms(reported), estimates.tolist(), errors.tolist(), cycle(deviations), strict=False)
        return [coefficient(*term, estimate, error, level, own, self._interval) for term, estimate, error, own in terms]

    @property
    def _interval(self) -> IntervalKind:
        return "credible" if self.alpha else "confidence"

    def _penalised_tests(
        self, reported: Reported, rows: list[Coefficient], level: float
    ) -> tuple[list[Coefficient], str]:
        """The rows with the tests and intervals of the penalised likelihood ratio, and a note of them."""
        objective = reported.objective
        if 600.0 * objective.data.n_rows * objective.n_parameters**3 > MAX_PROFILE_WORK:
            return rows, "tests and intervals: Wald (profiles take long here: conf_int(method='profile'))"
        given = {**firth_data(objective), "fit": self.firth_, "terms": self._firth_terms(reported)}
        p_values = firth_profile_p_values(**given)
        limits = firth_profile_intervals(**given, level=level)
        roots = np.copysign(ndtri(1 - p_values / 2), [row.estimate for row in rows])
        tested = [
            replace(row, z=z, p_value=p, low=low, high=high)
            for row, z, p, (low, high) in zip(rows, roots.tolist(), p_values.tolist(), limits.tolist(), strict=True)
        ]
        return tested, "tests and intervals: penalised likelihood ratio"

    def _free_parameters(self, reported: Reported) -> float:
        """How many parameters were estimated; a ridge does not leave all of them free."""
        if self.firth or not self.alpha:
            return int((~self._aliased(reported)).sum())
        return effective_parameters(*self._estimated)

    def conf_int(
        self, level: float = 0.95, method: Literal["wald", "profile"] | None = None, reference: Any = None
    ) -> CoefficientIntervals:
        """Confidence intervals of the coefficients, from standard errors or by profile likelihood.

        Under separation an infinite coefficient has one finite limit by profile likelihood, and none by its standard
        error.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.
        method : {"wald", "profile"}, optional
            Estimate and standard error, or the values that a likelihood-ratio test does not reject. Default: "profile"
            of Firth's likelihood, "wald" otherwise.
        reference : a class, optional
            What outcomes are compared with.

        Returns
        -------
        CoefficientIntervals
        """
        check_choice("method", method, (None, "wald", "profile"))
        _check_level(level)
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        if self.alpha > 0:
            reason = "A ridge estimate is biased towards 0 and has no confidence intervals. Credible intervals are in "
            raise ParameterError(reason, "summary(); confidence intervals need ", Setting("alpha", 0), ".")
        self._refuse_unfinished("Intervals")
        reported, choice = self._reported(reference), self._covariance_choice(None, None, None)
        chosen = method or ("profile" if self.firth else "wald")
        if chosen == "wald":
            self._refuse_untestable(choice)
            rows = self._wald_rows(reported, self._estimates(reported, choice), level, unfinished=False)
            return CoefficientIntervals([(row.outcome, row.term, row.low, row.high) for row in rows], level, chosen)
        limits = zip(self._terms(reported), self._profile(reported, level), strict=True)
        return CoefficientIntervals([(*term, low, high) for term, (low, high) in limits], level, chosen)

    def _profile(self, reported: Reported, level: float) -> list[tuple[float, float]]:
        if self.firth:
            given = {**firth_data(reported.objective), "fit": self.firth_, "terms": self._firth_terms(reported)}
            return [(low, high) for low, high in firth_profile_intervals(**given, level=level).tolist()]
        self._refuse_penalty("Profile intervals")
        self._refuse_importance("Profile intervals", " and of ", Setting("method", "wald"))
        problem, theta = self._estimated
        found = self._estimates(reported, self._covariance_choice("model", None, None))
        rows, matrix = self._wald_rows(reported, found, level, unfinished=False), reported.matrix[:, problem.places]
        least = -self._log_likelihood() / problem.objective.total_weight
        if self.separation_ is not None:  # the solver stops short of the limit
            least = min(least, problem.minimum(theta)[1])
        profile = ProfileDeviance(problem, theta, least, level)
        nowhere = (math.nan, math.nan)
        return [
            nowhere if math.isnan(row.estimate) else profile.interval(term, row.estimate)
            for row, term in zip(rows, matrix, strict=True)
        ]

    def likelihood_ratio_test(self, smaller: Any) -> LikelihoodRatioTest:
        """The test of this model against a nested one, fitted to the same rows.

        Both by maximum likelihood, or both by Firth's penalised likelihood, whose penalty is then that of all
        coefficients of the larger model (Heinze & Schemper 2002).

        Parameters
        ----------
        smaller : LogisticRegression
            Fitted to the same rows, with columns that are linear functions of this model's.

        Returns
        -------
        LikelihoodRatioTest
            Twice the difference of the log-likelihoods, and its p-value.
        """
        if not isinstance(smaller, LogisticInference):
            raise ParameterError(f"A logistic regression is compared with another, got {type(smaller).__name__}.")
        for model in (self, smaller):
            check_is_fitted(model, "rule_")
            model._refuse_ridge("Likelihood-ratio tests")
            model._refuse_unfinished("Likelihood-ratio tests")
            model._refuse_importance("Likelihood-ratio tests")
        if self.firth != smaller.firth:
            kinds = "One model has Firth's penalised likelihood, the other maximum likelihood. Fit both with the same "
            raise ParameterError(kinds, Setting("firth"), ".")
        own, other = self._training, smaller._training
        if not own.data.has_same_rows(other.data):
            raise ParameterError("The models have other rows: fit both to the same labels, weights and offsets.")
        df = self._n_estimable - smaller._n_estimable
        if df <= 0 or not is_nested(other, own):
            raise ParameterError(
                "The models are not nested: the columns of the smaller one must be linear functions of the columns of "
                f"the larger one, and fewer (difference in parameters: {df})."
            )
        if self.firth:
            columns = firth_data(other)["X"]
            statistic = firth_nested_deviance(
                **firth_data(own), fit=self.firth_, smaller=columns, smaller_intercept=smaller.fit_intercept
            )
            return LikelihoodRatioTest(statistic, df, float(chdtrc(df, statistic)))
        return LikelihoodRatioTest.of(smaller._log_likelihood(), self._log_likelihood(), df)

    @property
    def _n_estimable(self) -> int:
        return self._training.n_parameters if self.firth else self._estimated[0].n_parameters

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
        choice = self._covariance_choice(None, None, None)
        self._refuse_untestable(choice)
        chosen, centre, rows = effect_rows(self, column, values, at)
        if hasattr(self, "formula_"):
            inputs = as_rows(rows, self.formula_.inputs)
            rows = self.formula_.expanded(self.basis_, inputs, column_names(self)).values
        n_own = len(self._column_names())
        known = (rows[:-1, n_own:] - rows[-1, n_own:]).sum(axis=1)  # of offsets, which are there for two classes
        change = np.pad((rows[:-1] - rows[-1])[:, :n_own], ((0, 0), (int(self.fit_intercept), 0)))
        reported = self._reported(reference)
        estimates, covariance, _ = self._estimates(reported, choice)
        points, n_terms, z = [], change.shape[1], float(ndtri(0.5 + level / 2))
        for k, outcome in enumerate(reported.outcomes):
            own = slice(k * n_terms, (k + 1) * n_terms)
            mean = change @ estimates[own] + (known if outcome else -known)
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, covariance[own, own], change), 0.0))
            ends = zip(chosen, mean.tolist(), (mean - z * error).tolist(), (mean + z * error).tolist(), strict=True)
            points += [EffectPoint(plain(self.classes_[outcome]), *point) for point in ends]
        return Effect(column, centre, plain(self.classes_[reported.reference]), level, points)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(Setting("level"), f" must be between 0 and 1, got {level!r}.")
