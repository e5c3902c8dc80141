"""Losses: derivatives are those of the values, and the textbook's figures come out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from discriminant.losses import Hinge, Logistic, SmoothedHinge, Softmax, SquaredHinge

MARGINS = np.array([-40.3, -3.7, -0.2, 0.4, 0.9, 1.6, 35.1])  # none where a derivative jumps
STEP = 1e-6


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), SquaredHinge(), SmoothedHinge(0.3)])
def test_slopes_and_curvatures_are_derivatives(loss):
    up, down = loss.value_and_slope(MARGINS + STEP), loss.value_and_slope(MARGINS - STEP)
    assert_allclose((up[0] - down[0]) / (2 * STEP), loss.value_and_slope(MARGINS)[1], rtol=1e-6, atol=1e-7)
    if not isinstance(loss, Hinge):
        assert_allclose(
            (up[1] - down[1]) / (2 * STEP),
            loss.curvatures(MARGINS[:, None], np.ones(len(MARGINS), dtype=int))[:, 0],
            rtol=1e-6,
            atol=1e-7,
        )


def test_values_of_the_textbook():
    at = np.array([-1.0, 0.5, 2.0])
    assert_allclose(Logistic().value_and_slope(at)[0], np.log(1 + np.exp(-at)))
    assert_allclose(Hinge().value_and_slope(at)[0], [2.0, 0.5, 0.0])
    assert_allclose(SquaredHinge().value_and_slope(at)[0], [4.0, 0.25, 0.0])


def test_softmax_is_minus_the_log_probability():
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(20, 4)) + 700, rng.integers(0, 4, 20)
    odds = np.exp(scores - 700)
    probability = odds / odds.sum(axis=1, keepdims=True)
    value, slope = Softmax().evaluate(scores.copy(), codes)
    assert_allclose(value, -np.log(probability[np.arange(20), codes]), rtol=1e-10)
    assert_allclose(slope, probability - np.eye(4)[codes], rtol=1e-10, atol=1e-12)
    assert_allclose(Softmax().curvatures(scores, codes), probability, rtol=1e-10)
