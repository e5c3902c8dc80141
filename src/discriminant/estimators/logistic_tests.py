"""Tests of the terms and of linear hypotheses of a fitted logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..data import LabelledRows, as_rows, check_choice, dense_rows
from ..errors import DegenerateDataError, ParameterError, Setting
from ..inference.estimable import EstimableObjective
from ..objective import Objective
from ..results import plain
from .logistic_estimates import CovarianceKind, LogisticEstimates, Reported, WeightKind

if TYPE_CHECKING:
    from ..inference.hypotheses import HypothesisTest
    from ..inference.terms import TermTestKind, TermTests


class LogisticTests(LogisticEstimates):
    """`term_tests` and `hypothesis` of a logistic regression."""

    _design: Any  #: makes the columns of the formula again, with other contrasts
    _objective: Callable[[LabelledRows], Objective]

    def term_tests(self, kind: TermTestKind = "II") -> TermTests:
        """Likelihood-ratio tests of the columns, or of the terms of a formula.

        Parameters
        ----------
        kind : {"II", "III", "drop1"}, default="II"
            "II": each term beside all terms that do not contain it; with ``a * b``, ``a`` is tested without ``a:b``.
            "III": each term beside all others, with contrasts of factors that sum to zero, whatever the formula says;
            with ``a * b`` and a number ``b``, ``a`` is then tested at ``b = 0``. "drop1": single-term deletions, as by
            R's `drop1`, of the terms that no other contains. Without products of terms all are the same. "II" and "III"
            are those of R's `car::Anova`.

        Returns
        -------
        TermTests
            A test for each term, by its name; degrees of freedom are those of the estimable coefficients.

        See Also
        --------
        LogisticRegression.hypothesis : Tests of linear functions of coefficients.
        """
        from ..inference.terms import TERM_TEST_KINDS, term_tests, terms_containing  # loaded by who asks for tests

        check_choice("kind", kind, TERM_TEST_KINDS)
        check_is_fitted(self, "rule_")
        self._refuse_penalty("Likelihood-ratio tests")
        self._refuse_importance("Likelihood-ratio tests")
        self._refuse_unfinished("Likelihood-ratio tests")
        (problem, theta), names = self._estimated, self._column_names()
        if hasattr(self, "formula_"):
            names = self.formula_.terms[: len(names)]
            if kind == "III" and hasattr(self, "_design"):
                problem, theta, names = self._coded_to_zero_sums()
        columns: dict[str, list[int]] = {}
        for j, name in enumerate(names):
            columns.setdefault(name, []).append(j)
        containing = terms_containing(self.formula_.factors) if hasattr(self, "formula_") else {}
        return term_tests(problem, theta, self._log_likelihood(), columns, containing, kind)

    def _coded_to_zero_sums(self) -> tuple[EstimableObjective, Array, list[str]]:
        """The objective of the same model with contrasts that sum to zero, its minimum, and the terms of columns."""
        basis, names, kept = self._design(contrast="sum")
        inputs, n_own = as_rows(self._design.keywords["X"], kept.inputs), len(names) - len(kept.offsets)
        whole = kept.expanded(basis, inputs, names)
        values = np.ascontiguousarray(dense_rows(whole.block(0, whole.n_rows))[:, :n_own])
        rows = as_rows(values, names[:n_own])
        problem = EstimableObjective.of(self._objective(replace(self._training.data, rows=rows)))
        return problem, problem.minimum(np.zeros(problem.shape))[0], kept.terms[:n_own]

    def hypothesis(
        self,
        hypotheses: str | Sequence[str],
        reference: Any = None,
        covariance: CovarianceKind | None = None,
        clusters: Any = None,
        weights: WeightKind | None = None,
        level: float = 0.95,
    ) -> HypothesisTest:
        """Wald tests of linear hypotheses about the coefficients, each alone and all together.

        Parameters
        ----------
        hypotheses : str or list of str
            Equations such as ``"sex=m = 0"``, ``"region=north = region=south"`` or ``"2 * dose - age = 0.5"``, several
            in a list or between commas. Names are those of `summary`; odd ones may stand in backquotes. Of more than
            two classes an equation is about each outcome, or about those it names: ``"b:age = c:age"``.
        reference : a class, optional
            What outcomes are compared with.
        covariance : {"model", "HC0", "HC1", "HC2", "HC3", "CR0", "CR1", "CR2"}, optional
            As in `summary`, and so is the default.
        clusters : array-like of shape (n_rows,), optional
            The cluster of each row.
        weights : {"frequency", "importance"}, optional
            As in `summary`.
        level : float, default=0.95
            Confidence of the intervals.

        Returns
        -------
        HypothesisTest
            Wald's chi-square of all hypotheses, and each with its estimate, standard error and interval.

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
        from ..inference.hypotheses import linear_functions, wald_test

        check_is_fitted(self, "rule_")
        self._refuse_l1()
        self._refuse_ridge("Tests of hypotheses")
        self._refuse_unfinished("Tests of hypotheses")
        reported = self._reported(reference)
        choice = self._covariance_choice(covariance, clusters, weights)
        self._refuse_untestable(choice)
        estimates, covariances, notes = self._estimates(reported, choice)
        outcomes = [plain(self.classes_[k]) for k in reported.outcomes]
        texts, matrix, values = linear_functions(hypotheses, outcomes, reported.names)
        self._refuse_undetermined(reported, (matrix != 0).any(axis=0))
        return wald_test(texts, matrix, values, estimates, covariances, level, notes[0])

    def _refuse_undetermined(self, reported: Reported, used: Array) -> None:
        """Raise an error where a hypothesis names a coefficient that is aliased or infinite."""
        names = [name for _, name in self._terms(reported)]
        infinite, aliased = used & (self._infinite(reported) != 0), used & self._aliased(reported)
        if infinite.any():
            own = names[int(np.flatnonzero(infinite)[0])]
            raise DegenerateDataError(
                f"The estimate of {own!r} is infinite, and has no Wald test. A fit with ",
                Setting("firth", True),
                " has one.",
            )
        if aliased.any():
            own = names[int(np.flatnonzero(aliased)[0])]
            raise ParameterError(
                Setting("hypothesis"),
                f": {own!r} is aliased: these rows do not determine its coefficient. Leave it out of the hypothesis.",
            )
