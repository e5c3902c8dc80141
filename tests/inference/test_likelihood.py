"""The table of coefficients as text, frame and plain values, and likelihoods under constraints by SciPy."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

from discriminant import LogisticRegression
from discriminant.data import labelled_rows
from discriminant.inference.estimable import constrained_minimum
from discriminant.inference.likelihood import coefficient, coefficient_lines
from discriminant.losses import Logistic
from discriminant.objective import Objective


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, (X @ [1.0, -0.5, 0.0] + rng.logistic(size=120) > 0).astype(int)


def test_a_wald_test_is_that_of_the_normal_distribution():
    row = coefficient(("ill", "age"), 0.5, 0.2, level=0.9)
    assert row.z == 2.5
    assert row.p_value == pytest.approx(2 * norm.sf(2.5))
    assert (row.low, row.high) == pytest.approx((0.5 - 1.6448536 * 0.2, 0.5 + 1.6448536 * 0.2))
    assert row.odds_ratio == pytest.approx(np.exp(0.5))


def test_an_infinite_estimate_has_no_test_and_every_value_in_its_interval():
    row = coefficient(("ill", "age"), np.inf, np.nan, level=0.95)
    assert (row.low, row.high) == (-np.inf, np.inf)
    assert np.isnan(row.z)
    assert coefficient_lines([row], 0.95)[1].split() == ["age", "inf", "-", "-", "-", "-inf", "inf", "inf"]


def test_a_summary_is_a_result(rows):
    summary = LogisticRegression().fit(*rows).summary()
    frame, found = summary.to_frame(), json.loads(json.dumps(summary.to_dict()))
    assert list(frame["term"]) == [row["term"] for row in found["rows"]] == ["intercept", "x0", "x1", "x2"]
    assert_allclose(frame["low"], [row.low for row in summary.rows])
    assert found["aic"] == pytest.approx(summary.deviance + 8)
    assert found["pseudo_r2"] == summary.pseudo_r2
    assert "<th>odds ratio</th>" in summary._repr_html_()
    assert repr(summary) == str(summary)


def test_a_constrained_minimum_is_that_of_a_general_method(rows):
    objective = Objective(labelled_rows(*rows), Logistic())
    constraints, values = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]), np.array([0.3, -0.2])
    theta, value = constrained_minimum(objective, np.zeros(objective.shape), constraints, values)
    assert_allclose(constraints @ theta.ravel(), values, atol=1e-12)

    def value_and_gradient(z):
        found, gradient = objective.value_and_gradient(z.reshape(objective.shape))
        return found, gradient.ravel()

    equal = {"type": "eq", "fun": lambda z: constraints @ z - values, "jac": lambda _: constraints}
    other = minimize(
        value_and_gradient, theta.ravel() + 0.1, jac=True, constraints=[equal], method="SLSQP", options={"ftol": 1e-14}
    )
    assert_allclose(value, other.fun, rtol=1e-10)
    assert_allclose(theta.ravel(), other.x, atol=1e-5)
