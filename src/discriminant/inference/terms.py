"""Likelihood-ratio tests of the terms of a model.

A type II test compares models without the terms that contain the tested one: with ``a * b``, the main effect of ``a``
is tested in the model without ``a:b``. It does not depend on the coding of factors. A type III test omits the columns
of one term and keeps all others; it depends on the coding, and requires contrasts that sum to zero. Degrees of freedom
are numbers of estimable coefficients.

References
----------
Nelder, J. A. (1977). A reformulation of linear models. Journal of the Royal Statistical Society A 140 (marginality).
Fox, J. (2016). Applied Regression Analysis and Generalized Linear Models, 3rd edition, sections 8.2.5 and 15.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..arrays import Array
from ..results import Result, aligned, columns_of, number, p_value
from .estimable import EstimableObjective
from .likelihood import LikelihoodRatioTest

TermTestKind = Literal["II", "III", "drop1"]
TERM_TEST_KINDS: tuple[TermTestKind, ...] = ("II", "III", "drop1")


@dataclass(frozen=True, eq=False, repr=False)
class TermTests(Result):
    """The likelihood-ratio tests of the terms of a model.

    Parameters
    ----------
    tests : mapping of str to LikelihoodRatioTest
        By term, a column or a term of a formula; ``found[name]`` returns one.
    kind : {"II", "III", "drop1"}
        The submodels that are compared, see `LogisticRegression.term_tests`.

    See Also
    --------
    LogisticRegression : Its `term_tests` computes them.
    HypothesisTest : Tests of linear functions of coefficients.
    """

    tests: Mapping[str, LikelihoodRatioTest]
    kind: TermTestKind = "II"

    def __getitem__(self, term: str) -> LikelihoodRatioTest:
        return self.tests[term]

    def _columns(self) -> dict[str, list[Any]]:
        return {"term": list(self.tests), **columns_of(list(self.tests.values()))}

    def __str__(self) -> str:
        rows = [[term, number(t.statistic), str(t.df), p_value(t.p_value)] for term, t in self.tests.items()]
        title = "single-term deletions" if self.kind == "drop1" else f"terms, type {self.kind}"
        return "\n".join([f"Likelihood-ratio tests of {title}", *aligned([["term", "chi-square", "df", "p"], *rows])])


def terms_containing(factors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each term, the terms that contain all of its factors and more.

    >>> terms_containing({"a": ["a"], "b": ["b"], "a:b": ["a", "b"]})
    {'a': ['a:b'], 'b': ['a:b'], 'a:b': []}
    """
    own = {name: frozenset(parts) for name, parts in factors.items()}
    return {name: [other for other, more in own.items() if parts < more] for name, parts in own.items()}


def term_tests(
    problem: EstimableObjective,
    theta: Array,
    log_likelihood: float,
    columns: Mapping[str, Sequence[int]],
    containing: Mapping[str, Sequence[str]],
    kind: TermTestKind,
) -> TermTests:
    """The tests of terms with these columns; ``log_likelihood`` is that of the full model."""
    total, start = problem.objective.total_weight, problem.whole(theta)
    known: dict[frozenset[str], tuple[float, int]] = {frozenset(): (log_likelihood, problem.n_parameters)}

    def without(names: frozenset[str]) -> tuple[float, int]:
        """The log-likelihood without some terms, and the number of parameters."""
        if names not in known:
            smaller = problem.without(j for name in names for j in columns[name])
            same = smaller.n_parameters == problem.n_parameters
            value = -log_likelihood / total if same else smaller.minimum(smaller.nearest(start))[1]
            known[names] = -total * value, smaller.n_parameters
        return known[names]

    found = {}
    for name in columns:
        higher = frozenset(containing.get(name, ()) if kind != "III" else ())
        if kind == "drop1" and higher:
            continue  # terms contained in others are not dropped alone (marginality)
        larger, smaller = without(higher), without(higher | {name})
        found[name] = LikelihoodRatioTest.of(smaller[0], larger[0], larger[1] - smaller[1])
    return TermTests(found, kind)
