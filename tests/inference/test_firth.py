"""Firth's estimate: published figures, brute force, exact cases, and what must not matter."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

from discriminant.errors import DegenerateDataError
from discriminant.inference.firth import FirthData, firth_fit, firth_profile_intervals, firth_profile_p_values


def binary(X, codes, weight=None, offset=None, **options):
    return firth_fit(FirthData(X, codes, weight, offset), **options)


def multinomial(X, codes, n_classes, weight=None):
    return firth_fit(FirthData(X, codes, weight), n_classes)


def profile_intervals(X, codes, fit, weight=None, offset=None, **options):
    return firth_profile_intervals(FirthData(X, codes, weight, offset), fit, **options)


def profile_p_values(X, codes, fit):
    return firth_profile_p_values(FirthData(X, codes), fit)


REFERENCE = Path(__file__).parent.parent / "reference"
NAMES = ("NV", "PI", "EH", "intercept")


def endometrial():
    table = np.genfromtxt(REFERENCE / "endometrial.csv", delimiter=",", names=True)
    return np.column_stack([table[name] for name in NAMES[:3]]), table["HG"].astype(int)


@pytest.fixture(scope="module")
def published():
    reference = json.loads((REFERENCE / "endometrial.json").read_text())
    return reference["expected"], reference["tolerance"]


def penalised(coef, X, codes, n_classes, fit_intercept=True):
    """log L + log det I / 2 by the definition, row by row; coef (K - 1, p + 1), the reference class last."""
    rows = np.column_stack((X, np.ones(len(X)))) if fit_intercept else X
    coef = np.asarray(coef).reshape(n_classes - 1, -1)
    value, information = 0.0, 0.0
    for row, code in zip(rows, codes, strict=True):
        scores = np.append(coef @ row, 0.0)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        value += np.log(p[code])
        information = information + np.kron(np.diag(p[:-1]) - np.outer(p[:-1], p[:-1]), np.outer(row, row))
    sign, log_det = np.linalg.slogdet(information)
    return value + log_det / 2 if sign > 0 else -np.inf


def brute_force(X, codes, n_classes, fit_intercept=True):
    """The maximum by a method that uses no derivative formulas."""
    size = (n_classes - 1) * (X.shape[1] + fit_intercept)

    def loss(coef):
        return -penalised(coef, X, codes, n_classes, fit_intercept)

    best = minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-7})
    best = minimize(loss, best.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
    return best.x, -best.fun


def as_binary(codes):
    """Codes whose last class is 0, to be described by the log-odds of 1."""
    return 1 - codes


class TestPublishedFigures:
    def test_coefficients(self, published):
        expected, tolerance = published
        fit = binary(*endometrial())
        assert fit.converged
        for j, name in enumerate(NAMES):
            assert fit.coef[j] == pytest.approx(expected["firth_coef"][name], abs=tolerance["firth_coef"])

    def test_exact_optimum(self):
        """The digits that the reference's notes give for Newton's method run to 1e-11."""
        exact = [2.9292733532, -0.0347517599, -2.6041639253, 3.7745597136]
        np.testing.assert_allclose(binary(*endometrial()).coef, exact, rtol=0, atol=2e-10)

    def test_standard_errors(self, published):
        expected, tolerance = published
        errors = np.sqrt(np.diagonal(binary(*endometrial()).covariance))
        for j, name in enumerate(NAMES):
            assert errors[j] == pytest.approx(expected["firth_se"][name], abs=tolerance["firth_se"])

    def test_penalised_log_likelihood(self, published):
        expected, tolerance = published
        fit = binary(*endometrial())
        assert fit.penalised_log_likelihood == pytest.approx(
            expected["firth_penalised_loglik"], abs=tolerance["firth_penalised_loglik"]
        )

    def test_profile_intervals(self, published):
        expected, tolerance = published
        X, codes = endometrial()
        intervals = profile_intervals(X, codes, binary(X, codes))
        for j, name in enumerate(NAMES):
            np.testing.assert_allclose(
                intervals[j], expected["firth_ci_profile_95"][name], rtol=0, atol=tolerance["firth_ci_profile_95"]
            )


class TestAgainstBruteForce:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_two_classes(self, seed, fit_intercept):
        rng = np.random.default_rng(seed)
        X = rng.normal((0.5, -1.0), size=(25, 2))
        codes = (X @ [1.5, -1.0] + rng.logistic(size=25) > 0).astype(int)
        coef, value = brute_force(X, as_binary(codes), 2, fit_intercept)
        fit = binary(X, codes, fit_intercept=fit_intercept)
        assert fit.converged
        np.testing.assert_allclose(fit.coef[: len(coef)], coef, atol=1e-5)
        assert fit.penalised_log_likelihood == pytest.approx(value, abs=1e-9)
        assert fit.penalised_log_likelihood >= value - 1e-11
        assert fit.coef.shape == (3,)
        assert fit_intercept or fit.coef[-1] == 0

    def test_separated(self):
        X, codes = np.array([[1.0], [2.0], [3.5], [4.0], [7.0]]), np.array([0, 0, 0, 1, 1])
        coef, value = brute_force(X, as_binary(codes), 2)
        fit = binary(X, codes)
        np.testing.assert_allclose(fit.coef, coef, atol=1e-5)
        assert fit.penalised_log_likelihood == pytest.approx(value, abs=1e-9)

    @pytest.mark.parametrize("seed", range(3))
    def test_many_classes(self, seed):
        rng = np.random.default_rng(seed)
        X, codes = rng.normal(size=(20, 1)), rng.integers(0, 3, 20)
        codes = np.where(X[:, 0] > 1, 0, codes)
        coef, value = brute_force(X, codes, 3)
        fit = multinomial(X, codes, 3)
        assert fit.converged
        assert fit.coef.shape == (2, 2)
        assert fit.covariance.shape == (4, 4)
        np.testing.assert_allclose(fit.coef.ravel(), coef, atol=1e-5)
        assert fit.penalised_log_likelihood == pytest.approx(value, abs=1e-9)

    def test_many_classes_separated(self):
        X, codes = np.arange(9.0)[:, None] / 2, np.repeat([0, 1, 2], 3)
        coef, value = brute_force(X, codes, 3)
        fit = multinomial(X, codes, 3)
        assert fit.converged
        assert fit.penalised_log_likelihood == pytest.approx(value, abs=1e-8)
        np.testing.assert_allclose(fit.coef.ravel(), coef, atol=1e-3)

    def test_score_vanishes(self):
        """Central differences of the definition at the estimate, for more columns than a simplex search can do."""
        rng = np.random.default_rng(3)
        X, codes = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
        fit = multinomial(X, codes, 4)
        for j in range(fit.coef.size):
            step = np.zeros(fit.coef.size)
            step[j] = 1e-4
            up, down = (penalised(fit.coef.ravel() + s * step, X, codes, 4) for s in (1, -1))
            assert (up - down) / 2e-4 == pytest.approx(0, abs=1e-6)

    def test_covariance_is_the_inverse_information(self):
        X, codes = endometrial()
        fit = binary(X, codes)
        rows = np.column_stack((X, np.ones(len(X))))
        p = 1 / (1 + np.exp(-rows @ fit.coef))
        np.testing.assert_allclose(fit.covariance, np.linalg.inv(rows.T @ (rows * (p * (1 - p))[:, None])), rtol=1e-9)
        assert fit.log_likelihood == pytest.approx(np.log(np.where(codes == 1, p, 1 - p)).sum(), abs=1e-10)


class TestProfiles:
    def test_intervals_by_the_definition(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(15, 1))
        codes = (X[:, 0] + rng.logistic(size=15) > 0).astype(int)
        fit = binary(X, codes)

        def loss(value):
            held = minimize(lambda b: -penalised([value, b[0]], X, as_binary(codes), 2), [0.0], tol=1e-10)
            return 2 * (fit.penalised_log_likelihood + held.fun) - chi2.ppf(0.9, 1)

        ends = [brentq(loss, fit.coef[0] + a, fit.coef[0] + b, xtol=1e-9) for a, b in ((-9, -1e-3), (1e-3, 9))]
        np.testing.assert_allclose(profile_intervals(X, codes, fit, level=0.9)[0], ends, atol=1e-6)

    def test_intervals_and_p_values_agree(self):
        """A coefficient whose p-value is 1 - level has 0 as an end of its interval."""
        X, codes = endometrial()
        fit = binary(X, codes)
        for j, p_value in enumerate(profile_p_values(X, codes, fit)):
            interval = profile_intervals(X, codes, fit, level=1 - p_value)[j]
            assert np.abs(interval / fit.coef[j]).min() < 1e-6

    def test_p_value_by_the_definition(self):
        X, codes = endometrial()
        fit = binary(X, codes)
        held = minimize(
            lambda b: -penalised([0.0, *b], X, as_binary(codes), 2), fit.coef[1:], method="BFGS", options={"gtol": 1e-6}
        )
        statistic = 2 * (fit.penalised_log_likelihood + held.fun)
        assert profile_p_values(X, codes, fit)[0] == pytest.approx(chi2.sf(statistic, 1), rel=1e-6)

    def test_separated(self):
        X, codes = np.arange(10.0)[:, None], np.repeat([0, 1], 5)
        intervals = profile_intervals(X, codes, binary(X, codes))
        assert np.isfinite(intervals).all()
        assert intervals[0, 0] > 0

    def test_many_classes(self):
        """With two classes they are those of the binary model; with three, those of the classes merged cannot be."""
        X, codes = endometrial()
        two, fit = multinomial(X, 1 - codes, 2), binary(X, codes)
        np.testing.assert_allclose(profile_intervals(X, 1 - codes, two)[0], profile_intervals(X, codes, fit), rtol=1e-7)
        np.testing.assert_allclose(profile_p_values(X, 1 - codes, two)[0], profile_p_values(X, codes, fit), rtol=1e-7)
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
        fit = multinomial(X, codes, 3)
        intervals = profile_intervals(X, codes, fit)
        assert intervals.shape == (2, 3, 2)
        assert (intervals[..., 0] < fit.coef).all()
        assert (intervals[..., 1] > fit.coef).all()

    def test_without_intercept(self):
        X, codes = endometrial()
        fit = binary(X, codes, fit_intercept=False)
        np.testing.assert_array_equal(profile_intervals(X, codes, fit)[-1], 0)
        p_values = profile_p_values(X, codes, fit)
        assert np.isnan(p_values[-1])
        assert np.isfinite(p_values[:-1]).all()


class TestExactCases:
    @pytest.mark.parametrize("table", [[[3, 5], [7, 2]], [[0, 5], [7, 2]], [[0, 5], [7, 0]]])
    def test_two_by_two_table_adds_one_half_to_each_cell(self, table):
        (a, b), (c, d) = np.array(table) + 0.5
        codes, x = np.array([1, 0, 1, 0]), np.array([[0.0], [0.0], [1.0], [1.0]])
        fit = binary(x, codes, weight=np.ravel(table))
        np.testing.assert_allclose(fit.coef, [np.log(c * b / (d * a)), np.log(a / b)], rtol=1e-8)

    def test_saturated_model_of_three_classes(self):
        """For K classes Jeffreys' prior of a multinomial distribution likewise is 1/2 for each cell."""
        table = np.array([[4, 0, 2], [1, 6, 0]])
        x, codes = np.repeat([[0.0], [1.0]], 3, axis=0), np.tile([0, 1, 2], 2)
        fit = multinomial(x, codes, 3, weight=table.ravel())
        odds = np.log(table[:, :2] + 0.5) - np.log(table[:, 2:] + 0.5)
        np.testing.assert_allclose(fit.coef, np.column_stack((odds[1] - odds[0], odds[0])), rtol=1e-8)

    def test_a_class_without_rows(self):
        fit = binary(np.empty((7, 0)), np.zeros(7, int))
        np.testing.assert_allclose(fit.coef, [np.log(0.5 / 7.5)], rtol=1e-8)


class TestWhatMustNotMatter:
    def test_weights_are_repeated_rows(self):
        rng = np.random.default_rng(0)
        X, codes, weight = rng.normal(size=(30, 2)), rng.integers(0, 3, 30), rng.integers(0, 4, 30)
        again = np.repeat(np.arange(30), weight)
        for once, repeated in (
            (multinomial(X, codes, 3, weight), multinomial(X[again], codes[again], 3)),
            (binary(X, codes > 0, weight), binary(X[again], codes[again] > 0)),
        ):
            np.testing.assert_allclose(once.coef, repeated.coef, rtol=1e-8)
            np.testing.assert_allclose(once.covariance, repeated.covariance, rtol=1e-8)
            assert once.penalised_log_likelihood == pytest.approx(repeated.penalised_log_likelihood, rel=1e-12)
        fit = binary(X, codes > 0, weight)
        np.testing.assert_allclose(
            profile_intervals(X, codes > 0, fit, weight=weight),
            profile_intervals(X[again], codes[again] > 0, fit),
            rtol=1e-7,
        )

    def test_two_classes_as_many(self):
        X, codes = endometrial()
        two, several = binary(X, codes), multinomial(X, codes, 2)
        np.testing.assert_allclose(several.coef, -two.coef[None], rtol=1e-9)
        np.testing.assert_allclose(several.covariance, two.covariance, rtol=1e-9)
        assert several.penalised_log_likelihood == pytest.approx(two.penalised_log_likelihood, abs=1e-12)

    def test_order_of_classes(self):
        rng = np.random.default_rng(6)
        X, codes = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
        before = multinomial(X, codes, 3)
        after = multinomial(X, (codes + 1) % 3, 3)  # classes 2, 0, 1: the reference is now 1
        np.testing.assert_allclose(after.coef[0], -before.coef[1], atol=1e-9)
        np.testing.assert_allclose(after.coef[1], before.coef[0] - before.coef[1], atol=1e-9)
        assert after.penalised_log_likelihood == pytest.approx(before.penalised_log_likelihood, abs=1e-11)

    @pytest.mark.parametrize("factors", [(1e-8, 1e8, 1.0), (1e8, 1e-8, -1e3), (1e-8, 1e-8, 1e-8), (1e8, 1e8, 1e8)])
    def test_units(self, factors):
        X, codes = endometrial()
        before, after = binary(X, codes), binary(X * factors, codes)
        np.testing.assert_allclose(after.coef * [*factors, 1], before.coef, rtol=1e-8)
        assert after.penalised_log_likelihood == pytest.approx(
            before.penalised_log_likelihood + np.log(np.abs(factors)).sum(), abs=1e-9
        )
        np.testing.assert_allclose(
            profile_p_values(X * factors, codes, after), profile_p_values(X, codes, before), rtol=1e-6
        )
        intervals = profile_intervals(X * factors, codes, after) * np.array([*factors, 1])[:, None]
        np.testing.assert_allclose(np.sort(intervals), profile_intervals(X, codes, before), rtol=1e-7)

    def test_units_of_many_classes(self):
        rng = np.random.default_rng(7)
        X, codes = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
        before, after = multinomial(X, codes, 3), multinomial(X * [1e-8, 1e8], codes, 3)
        np.testing.assert_allclose(after.coef * [1e-8, 1e8, 1], before.coef, rtol=1e-7, atol=1e-9)

    def test_origins(self):
        X, codes = endometrial()
        before, after = binary(X, codes), binary(X + np.array([1, 1000, -50]), codes)
        np.testing.assert_allclose(after.coef[:3], before.coef[:3], rtol=1e-8)
        assert after.penalised_log_likelihood == pytest.approx(before.penalised_log_likelihood, abs=1e-9)
        np.testing.assert_allclose(
            profile_intervals(X + np.array([1, 1000, -50]), codes, after)[:3],
            profile_intervals(X, codes, before)[:3],
            rtol=1e-6,
        )

    def test_near_collinear_columns(self):
        """b1 x1 + b2 (x1 + 1e-6 x2) is (b1 + b2) x1 + 1e-6 b2 x2."""
        X, codes = endometrial()
        plain = binary(X[:, 1:], codes)
        skew = binary(np.column_stack((X[:, 1], X[:, 1] + 1e-6 * X[:, 2])), codes)
        assert skew.converged
        np.testing.assert_allclose(skew.coef[1] * 1e-6, plain.coef[1], rtol=1e-6)

    def test_offset_shifts_coefficients(self):
        X, codes = endometrial()
        before, after = binary(X, codes), binary(X, codes, offset=0.5 * X[:, 2] - 1)
        np.testing.assert_allclose(after.coef, before.coef - [0, 0, 0.5, -1], rtol=1e-8)
        np.testing.assert_allclose(
            profile_intervals(X, codes, after, offset=0.5 * X[:, 2] - 1),
            profile_intervals(X, codes, before) - np.array([[0, 0, 0.5, -1]]).T,
            rtol=1e-6,
        )


class TestErrors:
    def test_collinear_columns_are_named(self):
        X, codes = endometrial()
        with pytest.raises(DegenerateDataError, match=r"columns \[3\]"):
            binary(np.column_stack((X, X @ [1, 2, 3])), codes)

    def test_constant_column(self):
        with pytest.raises(DegenerateDataError, match=r"columns \[0\]"):
            binary(np.ones((5, 1)), np.array([0, 1, 0, 1, 1]))
