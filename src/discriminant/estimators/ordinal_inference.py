"""Inference of a fitted ordinal regression: summary, intervals, tests of coefficients, terms and parallel lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import as_rows, check_choice
from ..errors import DegenerateDataError, ParameterError, Setting
from ..evaluation.intervals import check_level
from ..inference.likelihood import (
    CategoryCurves,
    Coefficient,
    CoefficientIntervals,
    LikelihoodRatioTest,
    OrdinalSummary,
)
from ..objective import Objective
from ..results import plain
from .coefficients import column_deviations
from .effect_rows import effect_rows
from .formula_fit import input_names
from .logistic_estimates import CovarianceKind, Estimates, Reported, WeightKind
from .ordinal_estimates import SLOPES, OrdinalEstimates, OrdinalTerms

if TYPE_CHECKING:
    from ..inference.hypotheses import HypothesisTest
    from ..inference.parallel_lines import ParallelLinesMethod, ParallelLinesTest
    from ..inference.terms import TermTests


class OrdinalInference(OrdinalEstimates):
    """`summary`, `conf_int` and tests of an ordinal regression."""

    _summary_type = OrdinalSummary
    _finite_estimates = Setting("alpha", 0.01)

    def summary(
        self,
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> OrdinalSummary:
        """The table of slopes and thresholds with standard errors, tests, intervals and odds ratios.

        Parameters
        ----------
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1"}, optional
            From the information matrix, or a sandwich as in `LogisticRegression.summary`. Default: CR1 with
            ``clusters``, HC3 with importance weights (HC2 where only classes have weights), "model" otherwise.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row. Datasets have their own.
        weights : {"frequency", "importance"}, optional
            As in `LogisticRegression.summary`.
        level : float, default=0.95
            Confidence of the intervals; for a ridge penalty credible intervals.

        Returns
        -------
        OrdinalSummary
            A row for each slope and threshold, log-likelihoods and notes. Positive slopes favour higher classes.
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        reported = self._reported()
        found = self._wald_summary(reported, self._covariance_choice(covariance, clusters, weights), level)
        order = " < ".join(map(str, self.classes_order_))
        title = f"Ordinal regression ({self.form} {self.link}, {found.title}), {order}"
        return cast(OrdinalSummary, replace(found, title=title, notes=found.notes + self._crossing_note()))

    def coefficient_covariance(
        self,
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
    ) -> Array:
        """The covariance matrix of slopes and thresholds, in the order of the rows of `summary`.

        Parameters
        ----------
        covariance, clusters, weights : optional
            As in `summary`.

        Returns
        -------
        array of shape (n_parameters, n_parameters)
        """
        check_is_fitted(self, "rule_")
        self._refuse_l1()
        return self._estimates(self._reported(), self._covariance_choice(covariance, clusters, weights)).covariance

    def _crossing_note(self) -> list[str]:
        if not self.n_crossed_:
            return []
        return [f"cumulative probabilities cross in {self.n_crossed_:,} training rows; predictions sort them"]

    def _deviations(self) -> list[float]:
        places = self._training.parameters
        return [*column_deviations(self)[places.slope_columns].tolist(), *[math.nan] * places.n_scores]

    def _wald_rows(
        self, reported: Reported, found: Estimates, level: float, unfinished: bool = False
    ) -> list[Coefficient]:
        rows = super()._wald_rows(reported, found, level, unfinished)
        return [row if row.outcome == SLOPES and self.link == "logit" else _without_odds(row) for row in rows]

    def conf_int(self, level: float = 0.95, method: Literal["wald", "profile"] = "wald") -> CoefficientIntervals:
        """Confidence intervals of slopes and thresholds, Wald or by profile likelihood.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.
        method : {"wald", "profile"}, default="wald"
            From standard errors, or by inversion of the likelihood-ratio test.

        Returns
        -------
        CoefficientIntervals
        """
        check_choice("method", method, ("wald", "profile"))
        check_level(level)
        check_is_fitted(self, "rule_")
        self._refuse_penalty("Confidence intervals")
        self._refuse_unfinished("Intervals")
        return self._intervals(self._reported(), level, method)

    def likelihood_ratio_test(self, smaller: BaseEstimator) -> LikelihoodRatioTest:
        """The likelihood-ratio test against a nested model of the same rows.

        Parameters
        ----------
        smaller : OrdinalLogisticRegression
            Fitted to the same rows with the same form and link; its columns are linear functions of the columns of
            this model, and its nonparallel columns are nonparallel in this model.

        Returns
        -------
        LikelihoodRatioTest
            Statistic, degrees of freedom and p-value.
        """
        if not isinstance(smaller, OrdinalInference):
            raise ParameterError(Setting("smaller"), f" must be an ordinal regression, got a {type(smaller).__name__}.")
        for model in (self, smaller):
            model._require_likelihood("Likelihood-ratio tests")
        same = (self.form, self.link, list(self.classes_order_)) == (
            smaller.form, smaller.link, list(smaller.classes_order_),
        )  # fmt: skip
        if not same:
            raise ParameterError(
                "Both models must have the same ",
                Setting("form"),
                ", ",
                Setting("link"),
                " and ",
                Setting("classes_order"),
                ".",
            )
        return self._ratio_test(smaller)

    def _space(self) -> Objective:
        return self._training.as_parallel()

    def term_tests(self, kind: Literal["II", "drop1"] = "II") -> TermTests:
        """Likelihood-ratio tests of the columns, or of the terms of a formula.

        Parameters
        ----------
        kind : {"II", "drop1"}, default="II"
            "II": each term given all terms that do not contain it. "drop1": deletion of each term that no other term
            contains.

        Returns
        -------
        TermTests
            The test of each term.
        """
        check_choice("kind", kind, ("II", "drop1"))
        self._require_likelihood("Likelihood-ratio tests")
        names = self._term_names()
        return self._ratio_tests(kind, *self._estimated, [names[j] for j in self._training.parameters.slope_columns])

    def hypothesis(
        self,
        hypotheses: str | Sequence[str],
        covariance: CovarianceKind | None = None,
        clusters: ArrayLike | None = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> HypothesisTest:
        """Wald tests of linear hypotheses about slopes and thresholds, each alone and all together.

        Parameters
        ----------
        hypotheses : str or list of str
            Equations such as ``"age = 0"`` or ``"sex=m = 2 * dose"`` with the names of `summary`, in backquotes if
            necessary; slopes of nonparallel columns are called ``low|medium:age``.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1"}, optional
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
        """
        return self._wald_test(hypotheses, None, (covariance, clusters, weights), level)

    def _named_terms(self, reported: Reported) -> tuple[list[Any], list[str]]:
        assert isinstance(reported, OrdinalTerms)
        return [""], reported.labels

    def category_curves(self, column: str, values: ArrayLike | None = None) -> CategoryCurves:
        """The probabilities of the classes over one column, with the others at their medians.

        Parameters
        ----------
        column : str
            A column of the table, or of the rows.
        values : array-like, optional
            Values of the column. Default: the range of the training data, or all levels.

        Returns
        -------
        CategoryCurves
        """
        check_is_fitted(self, "rule_")
        chosen, _, rows = effect_rows(self, column, values, None)
        names = input_names(self)
        posterior = self.predict_proba(rows[:-1] if names is None else as_rows(rows[:-1], names))
        classes = [plain(label) for label in self.classes_order_]
        return CategoryCurves(column, chosen, classes, posterior[:, np.argsort(self._training.loss.rank)])

    def parallel_lines_test(self, method: ParallelLinesMethod = "score") -> ParallelLinesTest:
        """Tests that each column, and all together, have the same slope at all thresholds (parallel lines).

        Parameters
        ----------
        method : {"score", "likelihood-ratio", "brant"}, default="score"
            "score": from this fit alone. "likelihood-ratio": against models with a slope for each threshold. "brant":
            Brant's (1990) Wald test of the slopes of separate binary logistic regressions, which it also lists; for the
            cumulative logit.

        Returns
        -------
        ParallelLinesTest
            A test for each term, and one for all.

        References
        ----------
        Brant, R. (1990). Assessing proportionality in the proportional odds model for ordinal logistic regression.
        Biometrics 46.
        Peterson, B. & Harrell, F. E. (1990). Partial proportional odds models for ordinal response variables. Applied
        Statistics 39.
        """
        from ..inference.parallel_lines import PARALLEL_LINES_METHODS, parallel_lines_test

        check_choice("method", method, PARALLEL_LINES_METHODS)
        self._require_likelihood("Tests of parallel lines")
        if len(self.classes_) < 3:
            raise ParameterError("Two classes have one threshold, so there is no test. Use three or more classes.")
        if self.separation_ is not None:
            raise DegenerateDataError(
                "Some estimates are infinite. Leave out columns that separate the classes, or use ",
                Setting("alpha"), " > 0.",
            )  # fmt: skip
        if method == "brant" and (self.form, self.link) != ("cumulative", "logit"):
            raise ParameterError("method 'brant' is for the cumulative logit. Use ", Setting("method", "score"), ".")
        columns: dict[str, list[int]] = {}
        aliased = {self._training.parameters.slope_columns[place] for place in self._estimated[0].aliased}
        for j, name in enumerate(self._term_names()):
            if j not in self._training.nonparallel and j not in aliased:
                columns.setdefault(name, []).append(j)
        if not columns:
            raise ParameterError("All columns are nonparallel. Leave one out of ", Setting("nonparallel"), ".")
        return parallel_lines_test(self._training, self.solution_.theta, columns, self._cuts, method)


def _without_odds(row: Coefficient) -> Coefficient:
    return replace(row, odds_ratio=math.nan, odds_ratio_per_sd=math.nan)
