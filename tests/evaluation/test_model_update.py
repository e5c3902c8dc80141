"""Recalibration of a model on new rows: against statsmodels' generalised linear models, and by simulation."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from discriminant import recalibrate
from discriminant.errors import DegenerateDataError, InputError, ParameterError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    p = rng.beta(2, 3, size=400)
    return rng.random(400) < expit(0.4 + 0.8 * logit(p)), p


def test_likelihoods_are_those_of_generalised_linear_models(rows):
    y, p = rows
    x, family = logit(p), sm.families.Binomial()
    one = sm.GLM(y, np.ones(len(y)), family, offset=x).fit(tol=1e-12)
    two = sm.GLM(y, sm.add_constant(x), family).fit(tol=1e-12)
    none, large, line = recalibrate(y, p).rows
    assert_allclose([large.intercept, large.log_likelihood], [one.params[0], one.llf], rtol=1e-8)
    assert_allclose([line.intercept, line.slope], two.params, rtol=1e-8)
    assert line.log_likelihood == pytest.approx(two.llf, rel=1e-10)
    assert none.statistic == pytest.approx(2 * (two.llf - np.sum(y * x - np.logaddexp(0, x))))
    assert (none.df, large.df, line.df) == (2, 1, 0)


def test_the_recommended_update_is_what_the_rows_need():
    rng = np.random.default_rng(3)
    p = rng.beta(2, 3, size=3000)
    for change, expected in (
        (lambda x: x, "no update"),
        (lambda x: x + 0.5, "recalibration in the large"),
        (lambda x: 0.3 + 0.6 * x, "logistic recalibration"),
    ):
        found = recalibrate(rng.random(3000) < expit(change(logit(p))), p)
        assert found.recommended == expected
        assert_allclose(found.apply(p), expit(change(logit(p))), atol=0.06)
        assert expected in str(found)


def test_the_procedure_holds_its_level():
    rng = np.random.default_rng(0)
    updated = 0
    for _ in range(400):
        p = rng.beta(2, 3, size=200)
        updated += recalibrate(rng.random(200) < p, p).recommended != "no update"
    assert 8 <= updated <= 34  # 5 %: outside in less than one of 1,000 studies


def test_weights_are_repeated_rows(rows):
    y, p = rows
    weight = 1 + np.arange(len(y)) % 3
    once, repeated = recalibrate(y, p, weight), recalibrate(np.repeat(y, weight), np.repeat(p, weight))
    assert_allclose([row.p_value for row in once.rows[:2]], [row.p_value for row in repeated.rows[:2]], rtol=1e-6)


def test_refusals(rows):
    y, p = rows
    with pytest.raises(ParameterError, match="sample_weight"):
        recalibrate(y, p, np.full(len(y), 0.5))
    with pytest.raises(ParameterError, match="significance"):
        recalibrate(y, p, significance=0)
    with pytest.raises(DegenerateDataError):
        recalibrate(y, np.full(len(y), 0.4))
    with pytest.raises(InputError):
        recalibrate(y, p[:-1])


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(11)
    X = rng.normal([50, 1], [10, 0.2], size=(500, 2))
    old = expit(-3 + 0.05 * X[:, 0] + 0.2 * X[:, 1])
    return X, old, rng.random(500) < expit(-2 + 0.02 * X[:, 0] + 1.5 * X[:, 1])


class TestRefit:
    def test_it_is_the_largest_update_and_tests_are_against_it(self, columns):
        X, old, y = columns
        found = recalibrate(y, old, columns=X)
        fitted = sm.GLM(y, sm.add_constant(X), sm.families.Binomial()).fit(tol=1e-12)
        assert_allclose(found.coefficients, fitted.params, rtol=1e-7)
        assert found.rows[-1].log_likelihood == pytest.approx(fitted.llf)
        assert [row.df for row in found.rows] == [3, 2, 1, 0]
        without = recalibrate(y, old)
        for row, same in zip(found.rows, without.rows, strict=False):
            assert row.statistic == pytest.approx(2 * (fitted.llf - same.log_likelihood), rel=1e-6, abs=1e-8)
        assert "tests: against refit" in str(found)

    def test_constant_columns_have_no_estimate(self, columns):
        X, old, y = columns
        found = recalibrate(y, old, columns=np.column_stack((X[:, :1], np.full(len(y), 2.0), X[:, 1:])))
        expected = recalibrate(y, old, columns=X)
        assert np.isnan(found.coefficients[2])
        assert_allclose(found.coefficients[[0, 1, 3]], expected.coefficients, rtol=1e-9)
        assert [row.df for row in found.rows] == [3, 2, 1, 0]

    def test_it_is_recommended_if_the_effects_are_others(self, columns):
        X, _, _ = columns
        rng = np.random.default_rng(2)
        y = rng.random(500) < expit(10 * X[:, 1] - 10)
        found = recalibrate(y, expit(0.1 * (X[:, 0] - 50)), columns=X)
        assert found.recommended == "refit"
        with pytest.raises(ParameterError, match="refit"):
            found.apply([0.5])

    @pytest.mark.parametrize("wrong", [np.ones((500, 1)), np.ones(500), np.ones((3, 1))])
    def test_columns_that_cannot_be_refitted_are_refused(self, columns, wrong):
        _, old, y = columns
        with pytest.raises((DegenerateDataError, ParameterError)):
            recalibrate(y, old, columns=wrong)
