"""Functions of columns: what they are, that they are kept by files, and rules made of them."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.special import softmax

from discriminant.basis import Basis, Piecewise, b_splines, clipped, natural_splines, orthogonal_polynomials, powers
from discriminant.errors import InputError
from discriminant.rules import DiagonalRule, ExpandedRule, LinearRule, PoolRule
from discriminant.storage.archive import Decoder, Encoder

KNOTS = np.array([-1.0, 0.5, 1.0, 4.0])
X = np.random.default_rng(0).normal(size=(40, 3)) * 3


def some_basis():
    functions = [b_splines(0, KNOTS), powers(1, 2, centre=0.5, scale=2.0), clipped(2, 1.0, 0.5, 2.0)]
    n_factors = 2 + 6 + 2 + 1
    outputs = np.full((n_factors + 2, 3), -1)
    outputs[:n_factors, 0] = np.arange(n_factors)
    outputs[n_factors:] = [[0, 10, -1], [0, 1, 2]]
    return Basis(3, np.array([0, 2]), functions, outputs)


def linear_rule(p, K=3, seed=1):
    rng = np.random.default_rng(seed)
    return LinearRule(rng.normal(size=p), rng.normal(size=(K, p)) / 5, rng.normal(size=K))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_are_scipys_inside_and_straight_outside(degree):
    functions = b_splines(0, KNOTS, degree)
    inside = np.linspace(-1, 4, 101)
    whole = np.r_[np.repeat(-1.0, degree), KNOTS, np.repeat(4.0, degree)]
    expected = BSpline(whole, np.eye(len(whole) - degree - 1), degree)(inside)
    np.testing.assert_allclose(functions.evaluate(inside), expected, atol=1e-14)
    for edge, way in ((-1.0, -1.0), (4.0, 1.0)):
        at, near, far = functions.evaluate(np.array([edge, edge + way, edge + 5 * way]))
        np.testing.assert_allclose(far - at, 5 * (near - at), atol=1e-12)
        just_inside = functions.evaluate(np.array([edge - 1e-7 * way]))[0]
        np.testing.assert_allclose((at - just_inside) / 1e-7, (near - at), atol=1e-5)


def test_natural_splines_are_those_of_r():
    """The example of R's ns: weights of American women by height, with the coefficients of its manual."""
    height = np.arange(58.0, 73.0)
    weight = [115, 117, 120, 123, 126, 129, 132, 135, 139, 142, 146, 150, 154, 159, 164]
    knots = np.quantile(height, np.linspace(0, 1, 6))
    design = np.column_stack([np.ones(15), natural_splines(0, knots).evaluate(height)])
    coefficients = np.linalg.lstsq(design, weight, rcond=None)[0]
    np.testing.assert_allclose(coefficients, [114.7447, 15.9474, 25.1695, 33.2582, 50.7894, 45.0363], atol=5e-5)


@pytest.mark.parametrize("intercept", [False, True])
def test_natural_splines_are_the_straight_ended_ones(intercept):
    made = natural_splines(0, KNOTS, intercept)
    assert made.n_outputs == len(KNOTS) - 1 + intercept
    x = np.linspace(-1, 4, 400)
    columns, cubic = made.evaluate(x), b_splines(0, KNOTS).evaluate(x)
    np.testing.assert_allclose(cubic @ np.linalg.lstsq(cubic, columns, rcond=None)[0], columns, atol=1e-10)
    for edge, within in ((-1.0, -0.999), (4.0, 3.999)):  # no second derivative there
        beyond, at, inside = made.evaluate(np.array([2 * edge - within, edge, within]))
        np.testing.assert_allclose(beyond - 2 * at + inside, 0, atol=1e-8)


def test_a_knot_given_twice_leaves_a_kink():
    made = b_splines(0, [0.0, 1.0, 1.0, 2.0])
    whole = np.r_[[0.0] * 4, 1.0, 1.0, [2.0] * 4]
    x = np.linspace(0, 2, 41)
    np.testing.assert_allclose(made.evaluate(x), BSpline(whole, np.eye(6), 3)(x), atol=1e-13)


def test_polynomials_are_orthonormal_over_the_values_and_weights_are_repeated_rows():
    x, weight = X[:, 0] + 100, np.arange(40) % 3 + 1
    made = orthogonal_polynomials(0, x, 4).evaluate(x)
    np.testing.assert_allclose(made.T @ np.column_stack([np.ones(40), made]), np.eye(5)[1:], atol=1e-12)
    weighted = orthogonal_polynomials(0, x, 3, weight.astype(float))
    repeated = orthogonal_polynomials(0, np.repeat(x, weight), 3)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-9, atol=1e-15)


def test_polynomials_of_a_function_of_a_column():
    made = Piecewise(0, np.zeros(0), np.zeros(1), np.array([[[1.0, 0.0, 2.0]]]), "log", 0.5, 3.0)
    x = np.array([0.0, 1.0, 8.0])
    np.testing.assert_allclose(made.evaluate(x)[:, 0], 1 + 2 * np.log(0.5 * x + 3) ** 2)
    assert not np.isfinite(made.evaluate(np.array([-7.0, -6.0]))).any()


def test_outputs_are_products_of_columns_and_functions():
    made = some_basis().expand(X)
    z = (X[:, 1] - 0.5) / 2
    cut = np.clip((X[:, 2] - 1) / 0.5, -2, 2)
    spline = b_splines(0, KNOTS).evaluate(X[:, 0])
    expected = np.column_stack([X[:, [0, 2]], spline, z, z**2, cut, X[:, 0] * cut, X[:, 0] * X[:, 2] * spline[:, 0]])
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)


def test_sums_of_functions_are_functions():
    functions = b_splines(0, KNOTS)
    weights = np.random.default_rng(3).normal(size=(2, functions.n_outputs))
    summed = functions.combined(weights).evaluate(X[:, 0])
    np.testing.assert_allclose(summed, functions.evaluate(X[:, 0]) @ weights.T, rtol=1e-10, atol=1e-10)


def test_a_pool_is_the_weighted_mean_of_posteriors():
    basis = some_basis()
    rules = [
        ExpandedRule(basis, linear_rule(basis.n_outputs)),
        linear_rule(3, seed=2),
        DiagonalRule(np.zeros((3, 3)), np.ones((3, 3)), np.arange(3.0)),
    ]
    weights = np.array([0.5, 0.5, 0.0])
    pool = PoolRule(rules, weights)
    pool._check_parts()
    expected = sum(w * softmax(rule.scores(X), axis=1) for w, rule in zip(weights, rules, strict=True))
    np.testing.assert_allclose(np.exp(pool.scores(X)), expected, rtol=1e-12)
    assert pool.sizes == (3, 3)
    spread = pool.expand_classes(np.array([True, False, True, True]))
    np.testing.assert_allclose(np.exp(spread.scores(X))[:, [0, 2, 3]], expected, rtol=1e-12)
    assert (np.exp(spread.scores(X))[:, 1] == 0).all()


def stored(value):
    encoder = Encoder()
    node = encoder.encode(value, "value")
    return Decoder(dict(encoder.arrays)).decode(node)


def test_files_keep_them_to_the_last_bit():
    basis = some_basis()
    pool = PoolRule([ExpandedRule(basis, linear_rule(basis.n_outputs)), linear_rule(3)], np.array([0.25, 0.75]))
    np.testing.assert_array_equal(stored(pool).scores(X), pool.scores(X))


@pytest.mark.parametrize(
    "change",
    [
        {"n_columns": 1},
        {"columns": np.array([0, 9])},
        {"columns": np.array([0.0, 1.0])},
        {"outputs": np.array([[99]])},
        {"outputs": np.array([0, 1])},
        {"functions": [3]},
    ],
    ids=["columns", "place", "floats", "factor", "flat", "function"],
)
def test_parts_that_do_not_fit_are_refused(change):
    with pytest.raises(InputError):
        Basis(**{**vars(some_basis()), **change})._check_parts()


@pytest.mark.parametrize("weights", [[0.0], [np.inf], [np.nan], [-1.0], [0.5, 0.5], []], ids=str)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(InputError, match="weights"):
        PoolRule([linear_rule(3)], np.array(weights))._check_parts()
