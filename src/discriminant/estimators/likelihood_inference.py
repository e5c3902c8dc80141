"""What the intervals and tests of logistic and ordinal regressions share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Label
from ..errors import DegenerateDataError, ParameterError, Part, Setting
from ..inference.estimable import EstimableObjective, is_nested
from ..inference.likelihood import CoefficientIntervals, LikelihoodRatioTest
from ..inference.profile import ProfileDeviance
from ..objective import Objective
from .logistic_estimates import LogisticEstimates, Reported

if TYPE_CHECKING:
    from ..inference.hypotheses import HypothesisTest
    from ..inference.terms import TermTestKind, TermTests


class LikelihoodInference(LogisticEstimates):
    """Wald and profile intervals and tests, in the reported terms of a subclass."""

    #: The remedy for infinite estimates.
    _finite_estimates: Part = Setting("firth", True)

    def _named_terms(self, reported: Reported) -> tuple[list[Any], list[str]]:
        """The outcomes and the names that hypotheses use."""
        raise NotImplementedError

    def _space(self) -> Objective:
        """An objective whose columns span the linear predictors."""
        raise NotImplementedError

    @property
    def _n_estimable(self) -> int:
        return self._training.n_parameters if self.firth else self._estimated[0].n_parameters

    def _intervals(self, reported: Reported, level: float, method: str) -> CoefficientIntervals:
        """Intervals from standard errors ("wald"), or by profile likelihood."""
        if method == "wald":
            choice = self._covariance_choice(None, None, None)
            self._refuse_untestable(choice)
            rows = self._wald_rows(reported, self._estimates(reported, choice), level)
            return CoefficientIntervals([(row.outcome, row.term, row.low, row.high) for row in rows], level, method)
        limits = zip(self._terms(reported), self._profile(reported, level), strict=True)
        return CoefficientIntervals([(*term, low, high) for term, (low, high) in limits], level, method)

    def _profile(self, reported: Reported, level: float) -> list[tuple[float, float]]:
        self._require_likelihood("Profile intervals")
        problem, theta = self._estimated
        found = self._estimates(reported, self._covariance_choice("model", None, None))
        least = -self._log_likelihood() / problem.objective.total_weight
        if self.separation_ is not None:  # the limit is not attained
            least = min(least, problem.minimum(theta)[1])
        profile, limits = ProfileDeviance(problem, theta, least, level), []
        rows, constants = self._wald_rows(reported, found, level), reported.constants.tolist()
        for row, term, constant in zip(rows, reported.matrix[:, problem.places], constants, strict=True):
            is_known = not math.isnan(row.estimate)
            low, high = profile.interval(term, row.estimate - constant) if is_known else (math.nan, math.nan)
            limits.append((low + constant, high + constant))
        return limits

    def _nested_df(self, smaller: Self) -> int:
        """The difference in parameters to a nested model of the same rows."""
        if not self._training.data.has_same_rows(smaller._training.data):
            raise ParameterError("The models have different rows. Fit both to the same labels, weights and offsets.")
        df = self._n_estimable - smaller._n_estimable
        if df <= 0 or not is_nested(smaller._space(), self._space()):
            expected = "its columns must be linear functions of those of this model"
            raise ParameterError(Setting("smaller"), f" is not nested in this model (df {df}): {expected}.")
        return df

    def _ratio_test(self, smaller: Self) -> LikelihoodRatioTest:
        df = self._nested_df(smaller)
        return LikelihoodRatioTest.of(smaller._log_likelihood(), self._log_likelihood(), df)

    def _ratio_tests(
        self, kind: TermTestKind, problem: EstimableObjective, theta: Array, terms: Sequence[str]
    ) -> TermTests:
        """Likelihood-ratio tests of terms, given the term of each parameter of a linear predictor."""
        from ..inference.terms import term_tests, terms_containing  # slow to load

        places: dict[str, list[int]] = {}
        for place, name in enumerate(terms):
            places.setdefault(name, []).append(place)
        containing = terms_containing(self.formula_.factors) if hasattr(self, "formula_") else {}
        return term_tests(problem, theta, self._log_likelihood(), places, containing, kind)

    def _term_names(self) -> list[str]:
        """The term of each column."""
        names = self._column_names()
        return list(self.formula_.terms[: len(names)]) if hasattr(self, "formula_") else names

    def _wald_test(
        self, hypotheses: str | Sequence[str], reference: Label | None, covariance: tuple[Any, Any, Any], level: float
    ) -> HypothesisTest:
        """The Wald tests of linear hypotheses, with kind, clusters and weights of the covariance."""
        from ..inference.hypotheses import linear_functions, wald_test

        check_is_fitted(self, "rule_")
        self._refuse_penalty("Tests of hypotheses")
        self._refuse_unfinished("Tests of hypotheses")
        reported, choice = self._reported(reference), self._covariance_choice(*covariance)
        self._refuse_untestable(choice)
        estimates, covariances, notes = self._estimates(reported, choice)
        tested = linear_functions(hypotheses, *self._named_terms(reported))
        self._refuse_undetermined(reported, (tested.matrix != 0).any(axis=0))
        return wald_test(tested, estimates, covariances, level, notes[0])

    def _refuse_undetermined(self, reported: Reported, used: Array) -> None:
        """Raise an error if a hypothesis uses an aliased or infinite coefficient."""
        names = [name for _, name in self._terms(reported)]
        infinite, aliased = used & (self._infinite(reported) != 0), used & self._aliased(reported)
        if infinite.any():
            own = names[int(np.flatnonzero(infinite)[0])]
            reason = f"The estimate of {own!r} is infinite and has no Wald test. Leave it out, or use "
            raise DegenerateDataError(reason, self._finite_estimates, ".")
        if aliased.any():
            own = names[int(np.flatnonzero(aliased)[0])]
            raise ParameterError(Setting("hypotheses"), f" uses {own!r}, which is aliased. Leave it out.")
