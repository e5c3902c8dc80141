"""Inference of a fitted logistic regression: summary, intervals, likelihood-ratio tests and effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label
from ..data import LabelledRows, as_rows, check_choice, dense_rows
from ..errors import DegenerateDataError, ParameterError, Setting
from ..evaluation.intervals import check_level
from ..inference.estimable import EstimableObjective
from ..inference.firth import FirthData, firth_nested_deviance, firth_profile_intervals, firth_profile_p_values
from ..inference.likelihood import CoefficientIntervals, Effect, EffectPoint, LikelihoodRatioTest, Summary
from ..objective import Objective
from ..results import plain, shown
from .coefficients import column_deviations, column_names
from .effect_rows import effect_rows
from .likelihood_inference import LikelihoodInference
from .logistic_estimates import CovarianceKind, Reported, WeightKind

# Profiles of Firth's likelihood take about 600 multiplications for each row and cubed number of coefficients (569 x 31:
# 13 s). With more work than this, summaries use Wald tests.
MAX_PROFILE_WORK: Final = 3e10


if TYPE_CHECKING:
    from ..inference.hypotheses import HypothesisTest
    from ..inference.terms import TermTestKind, TermTests


class LogisticInference(LikelihoodInference):
    """`summary`, `conf_int` and tests of a logistic regression."""

    _design: Any  #: the columns of the formula with other contrasts
    _objective: Callable[[LabelledRows], Objective]

    def log_odds(self, reference: Label | None = None) -> tuple[Array, Array, Array]:
        """The K - 1 log-odds against a reference class.

        Probabilities do not depend on the reference.

        Parameters
        ----------
        reference : a class, optional
            Reference class. Default: the ``reference`` of the model.

        Returns
        -------
        outcomes : array of shape (K - 1,)
            The other classes.
        coef : array of shape (K - 1, p)
            Their coefficients minus those of the reference.
        intercept : array of shape (K - 1,)
            The same for the intercepts.
        """
        check_is_fitted(self, "rule_")
        r = self._reference_code(reference)
        others = np.flatnonzero(np.arange(len(self.classes_)) != r)
        rule = self.rule_
        return self.classes_[others], rule.coef[others] - rule.coef[r], rule.intercept[others] - rule.intercept[r]

    def summary(
        self,
        reference: Label | None = None,
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> Summary:
        """The table of coefficients with standard errors, tests, intervals and odds ratios.

        Ridge estimates are biased towards 0: they have no tests, and credible intervals under the normal prior that the
        penalty implies.

        Parameters
        ----------
        reference : a class, optional
            Reference class of the log-odds.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"}, optional
            From the information matrix; a sandwich of the rows' scores (HC: White 1980, MacKinnon & White 1985), or of
            their sums over ``clusters`` (CR: Liang & Zeger 1986; CR2: Bell & McCaffrey 2002). "robust" is HC0,
            "clustered" CR1. CR2 is for two classes. Default: CR1 with ``clusters``, HC3 with importance weights
            (HC2 where only classes have weights), "model" otherwise.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row. Datasets have their own.
        weights : {"frequency", "importance"}, optional
            Whether weight 3 means three rows, or a survey weight of one row. Default: frequency if weights are whole
            numbers and there is no ``class_weight``, else importance.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        Summary
            A row for each coefficient, log-likelihoods and notes. With Firth's penalty tests and intervals are those of
            the penalised likelihood ratio.

        References
        ----------
        MacKinnon, J. G. & White, H. (1985). Some heteroskedasticity-consistent covariance matrix estimators with
        improved finite sample properties. J. Econometrics 29.
        Bell, R. M. & McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage
        samples. Survey Methodology 28.
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        reported = self._reported(reference)
        found = self._wald_summary(reported, self._covariance_choice(covariance, clusters, weights), level)
        title = f"Logistic regression ({found.title}), reference class {shown(self.classes_[reported.reference])}"
        found = replace(found, title=title)
        return self._with_penalised_tests(found, reported) if self.firth else found

    def coefficient_covariance(
        self,
        reference: Label | None = None,
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
    ) -> Array:
        """The covariance matrix of the coefficients, in the order of the rows of `summary`.

        Parameters
        ----------
        reference : a class, optional
            Reference class of the log-odds.
        covariance, clusters, weights : optional
            As in `summary`.

        Returns
        -------
        array of shape (n_coefficients, n_coefficients)
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        return self._estimates(self._reported(reference), self._covariance_choice(covariance, clusters, weights))[1]

    def _deviations(self) -> list[float]:
        return [math.nan] * bool(self.fit_intercept) + column_deviations(self).tolist()

    def _with_penalised_tests(self, found: Summary, reported: Reported) -> Summary:
        """The summary with tests and intervals of the penalised likelihood ratio, and a note."""
        objective, rows = reported.objective, found.rows
        if 600.0 * objective.data.n_rows * objective.n_parameters**3 > MAX_PROFILE_WORK:
            note = "tests and intervals: Wald; conf_int(method='profile') computes profile intervals"
            return replace(found, notes=[*found.notes, note])
        data, terms = FirthData.of(objective), self._firth_terms(reported)
        p_values = firth_profile_p_values(data, self.firth_, terms)
        limits = firth_profile_intervals(data, self.firth_, found.level, terms)
        roots = np.copysign(ndtri(1 - p_values / 2), [row.estimate for row in rows])
        tested = [
            replace(row, z=z, p_value=p, low=low, high=high)
            for row, z, p, (low, high) in zip(rows, roots.tolist(), p_values.tolist(), limits.tolist(), strict=True)
        ]
        return replace(found, rows=tested, notes=[*found.notes, "tests and intervals: penalised likelihood ratio"])

    def conf_int(
        self, level: float = 0.95, method: Literal["wald", "profile"] | None = None, reference: Label | None = None
    ) -> CoefficientIntervals:
        """Confidence intervals of the coefficients, Wald or by profile likelihood.

        Under separation the profile interval of an infinite coefficient has one finite limit.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.
        method : {"wald", "profile"}, optional
            From standard errors, or by inversion of the likelihood-ratio test. Default: "profile" with Firth's penalty,
            otherwise "wald".
        reference : a class, optional
            Reference class of the log-odds.

        Returns
        -------
        CoefficientIntervals
        """
        check_choice("method", method, (None, "wald", "profile"))
        check_level(level)
        check_is_fitted(self, "rule_")
        self._refuse_penalty("Confidence intervals")
        self._refuse_unfinished("Intervals")
        return self._intervals(self._reported(reference), level, method or ("profile" if self.firth else "wald"))

    def _profile(self, reported: Reported, level: float) -> list[tuple[float, float]]:
        if not self.firth:
            return super()._profile(reported, level)
        limits = firth_profile_intervals(
            FirthData.of(reported.objective), self.firth_, level, self._firth_terms(reported)
        )
        return [(low, high) for low, high in limits.tolist()]

    def likelihood_ratio_test(self, smaller: BaseEstimator) -> LikelihoodRatioTest:
        """The likelihood-ratio test against a nested model of the same rows.

        Both by maximum likelihood, or both by Firth's penalised likelihood with the penalty of the larger model (Heinze
        & Schemper 2002).

        Parameters
        ----------
        smaller : LogisticRegression
            Fitted to the same rows; its columns are linear functions of the columns of this model.

        Returns
        -------
        LikelihoodRatioTest
            Statistic, degrees of freedom and p-value.
        """
        if not isinstance(smaller, LogisticInference):
            raise ParameterError(Setting("smaller"), f" must be a logistic regression, got a {type(smaller).__name__}.")
        for model in (self, smaller):
            model._require_likelihood("Likelihood-ratio tests", with_firth=True)
        if self.firth != smaller.firth:
            raise ParameterError("Both models must have the same value of ", Setting("firth"), ".")
        if not self.firth:
            return self._ratio_test(smaller)
        df, columns = self._nested_df(smaller), FirthData.of(smaller._training).X
        statistic = firth_nested_deviance(FirthData.of(self._training), self.firth_, columns, smaller.fit_intercept)
        return LikelihoodRatioTest(statistic, df, float(chdtrc(df, statistic)))

    def _space(self) -> Objective:
        return self._training

    def term_tests(self, kind: TermTestKind = "II") -> TermTests:
        """Likelihood-ratio tests of the columns, or of the terms of a formula.

        Parameters
        ----------
        kind : {"II", "III", "drop1"}, default="II"
            "II": each term given all terms that do not contain it; with ``a * b``, ``a`` is tested without ``a:b``.
            "III": each term given all others, with sum-to-zero contrasts; with ``a * b`` and a number ``b``, ``a`` is
            tested at ``b = 0``. "drop1": deletion of each term that no other term contains, as R's `drop1`. "II" and
            "III" are those of R's `car::Anova`. All are the same without interactions.

        Returns
        -------
        TermTests
            A test of each term; degrees of freedom count estimable coefficients.

        See Also
        --------
        LogisticRegression.hypothesis : Tests of linear functions of coefficients.
        """
        from ..inference.terms import TERM_TEST_KINDS  # slow to load

        check_choice("kind", kind, TERM_TEST_KINDS)
        self._require_likelihood("Likelihood-ratio tests")
        (problem, theta), names = self._estimated, self._term_names()
        if kind == "III" and hasattr(self, "formula_") and hasattr(self, "_design"):
            problem, theta, names = self._coded_to_zero_sums()
        return self._ratio_tests(kind, problem, theta, names)

    def _coded_to_zero_sums(self) -> tuple[EstimableObjective, Array, list[str]]:
        """The objective with sum-to-zero contrasts, its minimum, and the terms of its columns."""
        basis, names, kept = self._design(contrast="sum")
        inputs, n_own = as_rows(self._design.keywords["X"], kept.inputs), len(names) - len(kept.offsets)
        whole = kept.expanded(basis, inputs, names)
        values = np.ascontiguousarray(dense_rows(whole.block(0, whole.n_rows))[:, :n_own])
        rows = as_rows(values, names[:n_own])
        problem = EstimableObjective.of(self._objective(replace(self._training.data.gather(), rows=rows)))
        return problem, problem.minimum(np.zeros(problem.shape))[0], kept.terms[:n_own]

    def hypothesis(
        self,
        hypotheses: str | Sequence[str],
        reference: Label | None = None,
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> HypothesisTest:
        """Wald tests of linear hypotheses about the coefficients, each alone and all together.

        Parameters
        ----------
        hypotheses : str or list of str
            Equations such as ``"sex=m = 0"``, ``"region=north = region=south"`` or ``"2 * dose - age = 0.5"``, in a
            list or separated by commas, with the names of `summary`, in backquotes if necessary. With more than two
            classes an equation applies to each outcome, or to those it names: ``"b:age = c:age"``.
        reference : a class, optional
            Reference class of the log-odds.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"}, optional
            As in `summary`.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row.
        weights : {"frequency", "importance"}, optional
            As in `summary`.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        HypothesisTest
            The joint Wald test, and the estimate, standard error and interval of each hypothesis.

        See Also
        --------
        LogisticRegression.term_tests : Likelihood-ratio tests of whole terms.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from discriminant import LogisticRegression
        >>> frame = load_breast_cancer(as_frame=True).frame
        >>> model = LogisticRegression.from_formula("target ~ `mean texture` + `mean symmetry`", frame)
        >>> found = model.hypothesis("mean texture = -0.2, mean symmetry = 0")
        >>> found.df, round(found.statistic, 1)
        (2, 53.6)
        """
        return self._wald_test(hypotheses, reference, (covariance, clusters, weights), level)

    def _named_terms(self, reported: Reported) -> tuple[list[Any], list[str]]:
        return [plain(self.classes_[k]) for k in reported.outcomes], reported.names

    def effect(
        self,
        column: str,
        values: ArrayLike | None = None,
        at: str | float | None = None,
        reference: Label | None = None,
        level: float = 0.95,
    ) -> Effect:
        """The change of the log-odds with one column, with pointwise intervals.

        The other columns are at their medians, categories at their shares. Intervals are confidence intervals, for a
        ridge credible intervals, whose coverage holds on average over the points (Nychka 1988).

        Parameters
        ----------
        column : str
            A column of the table, or of the rows.
        values : array-like, optional
            Values of the column. Default: the range of the training data, or all levels.
        at : number or level, optional
            The value of comparison. Default: the median, or the reference level.
        reference : a class, optional
            Reference class of the log-odds.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        Effect
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        if self.separation_ is not None:
            raise DegenerateDataError("Some coefficients are infinite. Use ", Setting("firth", True), ".")
        self._refuse_unfinished("Effects")
        choice = self._covariance_choice(None, None, None)
        self._refuse_untestable(choice)
        chosen, centre, rows = effect_rows(self, column, values, at)
        if hasattr(self, "formula_"):
            inputs = as_rows(rows, self.formula_.inputs)
            rows = self.formula_.expanded(self.basis_, inputs, column_names(self)).values
        n_own = len(self._column_names())
        known = (rows[:-1, n_own:] - rows[-1, n_own:]).sum(axis=1)  # offsets
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
