"""Rules score rows by their formulas, dense and sparse alike, and classes that are not there never win."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from discriminant.rules import DiagonalRule, LevelRule, LinearRule, MixedRule, QuadraticRule

RNG = np.random.default_rng(0)
K, P = 3, 4
X = RNG.normal(size=(50, P)) * (RNG.random((50, P)) < 0.7)
CENTRE, CONSTANTS = RNG.normal(size=P), RNG.normal(size=K)
COEF, SPHERES = RNG.normal(size=(K, P)), RNG.normal(size=(K, P, P))
VARIANCES = RNG.uniform(0.5, 2, (K, P))

RULES = {
    "linear": (LinearRule(CENTRE, COEF, CONSTANTS), (X - CENTRE) @ COEF.T + CONSTANTS),
    "quadratic": (
        QuadraticRule(CENTRE, COEF, SPHERES, CONSTANTS),
        CONSTANTS - 0.5 * (np.einsum("ikj,kjr->ikr", (X - CENTRE)[:, None] - COEF, SPHERES) ** 2).sum(axis=2),
    ),
    "diagonal": (
        DiagonalRule(COEF, VARIANCES, CONSTANTS),
        CONSTANTS - ((X[:, None] - COEF) ** 2 / (2 * VARIANCES)).sum(axis=2),
    ),
}
each_rule = pytest.mark.parametrize("name", RULES)


@each_rule
@pytest.mark.parametrize("form", [np.ascontiguousarray, sp.csr_matrix])
def test_scores_are_the_formula(name, form):
    rule, expected = RULES[name]
    assert_allclose(rule.scores(form(X)), expected, rtol=1e-10, atol=1e-10)


@each_rule
def test_absent_classes_never_win(name):
    rule, expected = RULES[name]
    present = np.array([True, False, True, True, False])
    spread = rule.expand_classes(present).scores(X)
    assert_allclose(spread[:, present], expected, rtol=1e-10, atol=1e-10)
    assert_array_equal(spread[:, ~present], -np.inf)
    assert rule.expand_classes(np.ones(K, dtype=bool)) is rule


def test_quadratic_scores_do_not_depend_on_the_parts_of_a_block():
    many = RNG.normal(size=(30_000, P))  # more than one part
    rule, _ = RULES["quadratic"]
    one_by_one = np.concatenate([rule.scores(rows) for rows in np.split(many, 300)])
    assert_allclose(rule.scores(many), one_by_one, rtol=1e-13)  # products of other shapes may round otherwise


def test_a_far_centre_costs_no_digits():
    far = LinearRule(CENTRE + 1e8, COEF, CONSTANTS)
    assert_allclose(far.scores(X + 1e8), RULES["linear"][1], atol=1e-6)


def test_levels_are_looked_up_and_unknown_ones_say_nothing():
    table = np.vstack([RNG.normal(size=(2, K)), np.zeros(K)])
    assert_array_equal(LevelRule(["a", 1], table).scores([1, "b", "a"]), table[[1, 2, 0]])


@pytest.mark.parametrize("form", [np.ascontiguousarray, sp.csr_matrix])
def test_a_mixed_rule_is_a_sum(form):
    table = np.vstack([RNG.normal(size=(2, K)), np.zeros(K)])
    normal, linear = (
        DiagonalRule(COEF[:, :2], VARIANCES[:, :2], CONSTANTS),
        LinearRule(CENTRE[2:], COEF[:, 2:], 0 * CONSTANTS),
    )
    rule = MixedRule(normal, np.array([0, 2]), linear, np.array([1, 3]), [LevelRule(["a", "b"], table)])
    levels = RNG.choice(["a", "b", "c"], len(X)).tolist()
    expected = (
        normal.scores(X[:, [0, 2]].copy()) + linear.scores(X[:, [1, 3]].copy()) + rule.categorical[0].scores(levels)
    )
    block = SimpleNamespace(numbers=form(X), levels=[levels])
    assert_allclose(rule.scores(block), expected, rtol=1e-12, atol=1e-12)
    present = np.array([True, True, False, True])
    assert_allclose(rule.expand_classes(present).scores(block)[:, present], expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(rule.expand_classes(present).scores(block)[:, 2], -np.inf)


@pytest.mark.parametrize("p", [5, 33, 50])
@pytest.mark.parametrize("triangular", [True, False])
def test_quadratic_scores_are_those_of_the_definition_however_they_are_cut(p, triangular):
    rng = np.random.default_rng(p)
    X, centre, offsets, constants = (rng.normal(size=shape) for shape in ((2_500, p), p, (3, p), 3))
    spheres = rng.normal(size=(3, p, p))
    spheres = np.triu(spheres) if triangular else spheres
    sphered = np.einsum("ikj,kjr->ikr", X[:, None] - centre - offsets, spheres)
    rule = QuadraticRule(centre, offsets, spheres, constants)
    assert_allclose(rule.scores(X), constants - 0.5 * (sphered**2).sum(axis=2), rtol=1e-11)
