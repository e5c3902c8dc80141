"""Losses and objectives: derivatives are those of the values, and the textbook's figures come out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discriminant.data import labelled_rows
from discriminant.losses import Hinge, Logistic, SmoothedHinge, Softmax, SquaredHinge
from discriminant.objective import ElasticNet, Objective

MARGINS = np.array([-40.3, -3.7, -0.2, 0.4, 0.9, 1.6, 35.1])  # none at a kink
STEP = 1e-6


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), SquaredHinge(), SmoothedHinge(0.3)])
def test_slopes_and_curvatures_are_derivatives(loss):
    up, down = loss.value_and_slope(MARGINS + STEP), loss.value_and_slope(MARGINS - STEP)
    assert_allclose((up[0] - down[0]) / (2 * STEP), loss.value_and_slope(MARGINS)[1], rtol=1e-6, atol=1e-7)
    if not isinstance(loss, Hinge):
        assert_allclose((up[1] - down[1]) / (2 * STEP), loss.margin_curvature(MARGINS), rtol=1e-6, atol=1e-7)


def test_values_of_the_textbook():
    at = np.array([-1.0, 0.5, 2.0])
    assert_allclose(Logistic().value_and_slope(at)[0], np.log(1 + np.exp(-at)))
    assert_allclose(Hinge().value_and_slope(at)[0], [2.0, 0.5, 0.0])
    assert_allclose(SquaredHinge().value_and_slope(at)[0], [4.0, 0.25, 0.0])


@pytest.mark.parametrize(("loss", "K"), [(Logistic(), 2), (SquaredHinge(), 2), (SmoothedHinge(2.0), 2), (Softmax(), 3)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_hessian_and_product_agree_with_differences(loss, K, fit_intercept):
    rng = np.random.default_rng(0)
    X, y = 3 * rng.normal(size=(200, 4)) + 7, rng.permutation(np.arange(200) % K)
    weight = rng.uniform(0.1, 3, 200)
    offset = rng.normal(size=200 if K == 2 else (200, K))
    data = labelled_rows(X, y, weight)
    objective = Objective(data, loss, ElasticNet(0.1), fit_intercept, offset=offset)
    theta, direction = rng.normal(size=(2, *objective.shape))
    _, gradient, hessian = objective.value_gradient_hessian(theta)
    assert_allclose(objective.value_and_gradient(theta)[1], gradient, rtol=1e-12, atol=1e-14)
    ends = [objective.value_and_gradient(theta + s * direction) for s in (STEP, -STEP)]
    assert np.vdot(gradient, direction) == pytest.approx((ends[0][0] - ends[1][0]) / (2 * STEP), rel=1e-5)
    product = objective.hessian_product(theta)(direction)
    assert_allclose(product.ravel(), hessian @ direction.ravel(), rtol=1e-10, atol=1e-12)
    if not isinstance(loss, SquaredHinge):  # whose slope has kinks between the two points
        assert_allclose(product, (ends[0][1] - ends[1][1]) / (2 * STEP), rtol=1e-5, atol=1e-7)
    assert_allclose(objective.column_curvatures(theta).ravel(), np.diagonal(hessian), rtol=1e-10)
