"""The objective: derivatives agree with values; weights count rows; all forms of rows are equivalent."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from discriminant.data import Block, LabelledRows, labelled_rows, stratified_subsample, with_offset
from discriminant.errors import ParameterError
from discriminant.losses import Logistic, SmoothedHinge, Softmax, SquaredHinge
from discriminant.objective import ElasticNet, Objective

STEP = 1e-6
each_loss = pytest.mark.parametrize(("loss", "K"), [(Logistic(), 2), (SquaredHinge(), 2), (Softmax(), 3)])
every_loss = pytest.mark.parametrize(
    ("loss", "K"), [(Logistic(), 2), (SquaredHinge(), 2), (SmoothedHinge(2.0), 2), (Softmax(), 3), (Softmax(), 12)]
)


def rows_of(K, n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(n, p)) + 7, rng.permutation(np.arange(n) % K), rng.uniform(0.1, 3, n), rng


def everything(objective, theta):
    """Value and derivatives at a point, in the units of the data."""
    value, gradient, hessian = objective.value_gradient_hessian(theta)
    return value, gradient, hessian, objective.hessian_product(theta)(theta), *objective.column_curvatures(theta)


@pytest.mark.parametrize("K", [3, 4, 6, 13])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("known", [False, True])
def test_large_blocks_of_several_classes_agree_with_their_hessian(K, kind, known):
    n, p = 40_003 // K, 30  # each block has more multiplications than a small product
    X, y, weight, rng = rows_of(K, n, p)
    data = labelled_rows(X.astype(kind), y, weight)
    assert {block.X.size * K > 1_000_000 for partition in data.partitions for block in data.blocks(partition)} == {True}
    data = with_offset(data, rng.normal(size=(n, K))) if known else data
    objective = Objective(data, Softmax(), ElasticNet(0.1))
    theta, direction = 0.3 * rng.normal(size=(2, *objective.shape))
    expected, slope, hessian = objective.value_gradient_hessian(theta)
    value, gradient = objective.value_and_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-13)
    assert_allclose(gradient, slope, rtol=1e-10, atol=1e-13)
    multiply = objective.hessian_product(theta)
    for _ in range(2):  # the first finds the probabilities, the second has them
        assert_allclose(multiply(direction).ravel(), hessian @ direction.ravel(), rtol=1e-9, atol=1e-12)


@every_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_hessian_and_product_agree_with_differences(loss, K, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = 3 * rng.normal(size=(200, 4)) + 7, rng.permutation(np.arange(200) % K)
    weight = rng.uniform(0.1, 3, 200)
    offset = rng.normal(size=200 if K == 2 else (200, K))
    data = labelled_rows(X, y, weight)
    objective = Objective(with_offset(data, offset), loss, ElasticNet(0.1), fit_intercept)
    theta, direction = rng.normal(size=(2, *objective.shape))
    _, gradient, hessian = objective.value_gradient_hessian(theta)
    assert_allclose(objective.value_and_gradient(theta)[1], gradient, rtol=1e-12, atol=1e-14)
    ends = [objective.value_and_gradient(theta + s * direction) for s in (STEP, -STEP)]
    assert np.vdot(gradient, direction) == pytest.approx((ends[0][0] - ends[1][0]) / (2 * STEP), rel=1e-5)
    multiply = objective.hessian_product(theta)
    product = multiply(direction)
    assert_allclose(product.ravel(), hessian @ direction.ravel(), rtol=1e-10, atol=1e-12)
    assert_allclose(multiply(theta).ravel(), hessian @ theta.ravel(), rtol=1e-10, atol=1e-12)
    if not isinstance(loss, SquaredHinge):  # whose slope has kinks between the two points
        assert_allclose(product, (ends[0][1] - ends[1][1]) / (2 * STEP), rtol=1e-5, atol=1e-7)
    diagonal, crossed = objective.column_curvatures(theta)
    assert_allclose(diagonal.ravel(), np.diagonal(hessian), rtol=1e-10)
    if fit_intercept:
        cells = hessian.reshape(*objective.shape, *objective.shape)
        expected = [cells[a, :, a, -1] for a in range(objective.n_linear_predictors)]
        assert_allclose(crossed, expected, rtol=1e-10, atol=1e-12)


@every_loss
def test_blocks_of_the_scores_are_those_of_the_hessian(loss, K):
    X, y, weight, rng = rows_of(K)
    objective = Objective(labelled_rows(X, y, weight), loss, symmetric=True)
    theta = rng.normal(size=objective.shape)
    hessian = objective.value_gradient_hessian(theta)[2].reshape(*objective.shape, *objective.shape)
    expected = [hessian[a, :, a] for a in range(objective.n_linear_predictors)]
    assert_allclose(objective.class_hessians(theta), expected, rtol=1e-9, atol=1e-12)


@each_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_value_is_mean_loss_plus_penalty(loss, K, fit_intercept):
    X, y, weight, rng = rows_of(K)
    objective = Objective(labelled_rows(X, y, weight), loss, ElasticNet(0.3), fit_intercept)
    theta = rng.normal(size=objective.shape)
    coef, intercept = objective.linear(theta)
    scores = (X - objective.standardised.centre) @ coef.T + intercept
    mean = np.average(loss.evaluate(scores.copy(), y)[0], weights=weight)
    assert_allclose(objective.value_and_gradient(theta)[0], mean + 0.15 * (coef**2).sum(), rtol=1e-12)
    assert_allclose(objective.mean_loss(theta), mean, rtol=1e-12)
    assert_allclose(objective.scores(theta), scores, rtol=1e-10, atol=1e-10)
    width = np.abs(scores) if K == 2 else np.ptp(scores, axis=1)
    assert objective.largest_score(theta) == pytest.approx(width.max())


@each_loss
def test_an_integer_weight_is_a_repeated_row(loss, K):
    X, y, _, rng = rows_of(K)
    times = rng.integers(1, 4, len(X))
    weighted = Objective(labelled_rows(X, y, times), loss, ElasticNet(0.1))
    repeated = Objective(labelled_rows(np.repeat(X, times, axis=0), np.repeat(y, times)), loss, ElasticNet(0.1))
    repeated = replace(repeated, standard=weighted.standardised)
    theta = rng.normal(size=weighted.shape)
    for a, b in zip(everything(weighted, theta), everything(repeated, theta), strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@each_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_are_dense_ones(loss, K, fit_intercept):
    X, y, weight, rng = rows_of(K)
    X *= rng.random(X.shape) < 0.3
    sparse = Objective(labelled_rows(sp.csr_matrix(X), y, weight), loss, ElasticNet(0.1), fit_intercept)
    dense = Objective(labelled_rows(X, y, weight), loss, ElasticNet(0.1), fit_intercept, sparse.standardised)
    theta = rng.normal(size=dense.shape)
    for a, b in zip(everything(sparse, theta), everything(dense, theta), strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    slopes = rng.normal(size=(len(X), 1 if K == 2 else K))
    assert_allclose(sparse.products(slopes), dense.products(slopes), rtol=1e-10, atol=1e-12)


@each_loss
def test_an_offset_common_to_all_columns_costs_no_digits(loss, K):
    X, y, weight, rng = rows_of(K)
    near, far = (Objective(labelled_rows(X + shift, y, weight), loss, ElasticNet(0.1)) for shift in (0.0, 2.0**20))
    far = replace(far, standard=replace(near.standardised, centre=near.standardised.centre + 2.0**20))
    assert far.standardised.needs_centering
    theta = rng.normal(size=near.shape)
    for a, b in zip(everything(near, theta), everything(far, theta), strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@each_loss
def test_the_gradients_of_batches_average_to_that_of_all_rows(loss, K):
    X, y, weight, rng = rows_of(K)
    offset = rng.normal(size=len(X) if K == 2 else (len(X), K))
    objective = Objective(with_offset(labelled_rows(X, y, weight), offset), loss, ElasticNet(0.1))
    theta = rng.normal(size=objective.shape)
    parts = [
        objective.gradient_of(Block(X[part], y[part], weight[part], offset=offset[part]), theta)
        for part in (slice(0, 70), slice(70, None))
    ]
    shares = [weight[:70].sum() / weight.sum(), weight[70:].sum() / weight.sum()]
    expected = objective.value_and_gradient(theta)[1]
    assert_allclose(np.tensordot(shares, parts, axes=1), expected, rtol=1e-10, atol=1e-12)


def test_a_sample_of_the_rows_is_on_the_same_scale():
    X, y, weight, rng = rows_of(2)
    data = with_offset(labelled_rows(X, y, weight), rng.normal(size=len(X)))
    objective = Objective(data, Logistic())
    part = objective.sample(4)
    theta = rng.normal(size=objective.shape)
    alone = Objective(data.take(stratified_subsample(len(X), 4)), Logistic(), standard=objective.standardised)
    assert_allclose(part.value_and_gradient(theta)[1], alone.value_and_gradient(theta)[1], rtol=1e-12)
    assert objective.counter.count == 0.25  # a quarter of the rows, on the common account


@each_loss
def test_statistics_of_rows_take_no_rows_along(loss, K):
    X, y, weight, rng = rows_of(K, n=20_000)
    objective = Objective(with_offset(labelled_rows(X, y, weight), rng.normal(size=(len(X), K)[: 1 + (K > 2)])), loss)
    statistics = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LabelledRows, "reduce", lambda _, statistic, n_jobs: statistics.append(statistic))
        for ask in (objective.value_and_gradient, objective.value_gradient_hessian, objective.largest_score):
            with pytest.raises((AttributeError, TypeError)):
                ask(np.zeros(objective.shape))
    assert len(statistics) == 3
    assert max(len(pickle.dumps(statistic)) for statistic in statistics) < 5_000


@pytest.mark.parametrize(
    ("alpha", "l1_ratio", "name"), [(0, 0.5, "none"), (1, 0, "l2"), (1, 1, "l1"), (1, 0.2, "elastic net")]
)
def test_penalties_have_the_names_users_know(alpha, l1_ratio, name):
    assert ElasticNet(alpha, l1_ratio).name == name


@pytest.mark.parametrize(("alpha", "l1_ratio"), [(-1.0, 0.0), (1.0, 1.5), (np.nan, 0.0)])
def test_impossible_penalties_are_refused(alpha, l1_ratio):
    with pytest.raises(ParameterError):
        ElasticNet(alpha, l1_ratio)
